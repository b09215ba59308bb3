/*
 * versions.c: see versions_int.h.
 */
#include "sched/versions_int.h"

#include "sync/grow.h"

static bly_heap *heap_of(bly_versions *versions, uint8_t where)
{
    bly_assert_debug(where == BLY_IN_FUTURE || where == BLY_IN_DUE);
    return where == BLY_IN_FUTURE ? &versions->future : &versions->due;
}

static const bly_heap *const_heap_of(const bly_versions *versions, uint8_t where)
{
    return where == BLY_IN_FUTURE ? &versions->future : &versions->due;
}

/* How many places a heap must have free so that it has room for all who live, and one more. */
static uint32_t extra_of(const bly_versions *versions, const bly_heap *heap)
{
    return versions->live + 1 - bly_heap_count(heap);
}

static bool has_room(const bly_versions *versions)
{
    return bly_chunks_want(&versions->future.slots, extra_of(versions, &versions->future)) == 0 &&
           bly_chunks_want(&versions->due.slots, extra_of(versions, &versions->due)) == 0 &&
           bly_chunks_want(&versions->ids.buckets, 1) == 0 && bly_slots_want(&versions->slots) == 0;
}

/* One block for the slots, if they want one. As bly_chunks_grow. */
static int grow_slots(bly_slots *slots, bly_mutex *lock)
{
    size_t size = bly_slots_want(slots);
    if (size == 0) {
        return 0;
    }
    bly_mutex_unlock(lock);
    void *block = bly_alloc(size);
    bly_mutex_lock(lock);
    if (block == NULL) {
        return BELAY_ENOMEM;
    }
    if (!bly_slots_give(slots, block, size)) {
        bly_mutex_unlock(lock);
        bly_free(block);
        bly_mutex_lock(lock);
    }
    return 0;
}

int bly_versions_grow(bly_versions *versions, bly_mutex *lock)
{
    /* While the lock is given up for one part, others may use up the room of another. */
    while (bly_unlikely(!has_room(versions))) {
        bly_chunks *const parts[] = {&versions->future.slots, &versions->due.slots,
                                     &versions->ids.buckets};
        const uint32_t extra[] = {extra_of(versions, &versions->future),
                                  extra_of(versions, &versions->due), 1};
        for (size_t i = 0; i < bly_count(parts); i++) {
            if (bly_chunks_grow(parts[i], extra[i], lock) != 0) {
                return BELAY_ENOMEM;
            }
        }
        if (grow_slots(&versions->slots, lock) != 0) {
            return BELAY_ENOMEM;
        }
    }
    return 0;
}

int bly_versions_init(bly_versions *versions, int64_t aging_ns)
{
    bly_heap_init(&versions->future, offsetof(bly_job, heap_place));
    bly_heap_init(&versions->due, offsetof(bly_job, heap_place));
    bly_map_init(&versions->ids);
    bly_slots_init(&versions->slots);
    versions->aging_ns = aging_ns;
    versions->live = 0;
    bly_mutex nobody = {0};
    bly_mutex_lock(&nobody);
    int result = bly_versions_grow(versions, &nobody);
    bly_mutex_unlock(&nobody);
    bly_mutex_destroy(&nobody);
    if (result != 0) {
        bly_versions_destroy(versions);
    }
    return result;
}

void bly_versions_destroy(bly_versions *versions)
{
    bly_assert(versions->live == 0);
    bly_heap_destroy(&versions->future);
    bly_heap_destroy(&versions->due);
    bly_map_destroy(&versions->ids);
    bly_slots_destroy(&versions->slots);
}

/* A heap's last chunk, when those before it are twice what all living versions need. */
static void *spare_of_heap(const bly_versions *versions, bly_heap *heap)
{
    uint32_t without_last = bly_chunks_capacity(&heap->slots) / 2 - BLY_CHUNKS_FIRST / 2;
    uint32_t needed = versions->live + 1 + heap->slots.used - bly_heap_count(heap);
    return needed <= without_last / 2 ? bly_chunks_spare(&heap->slots) : NULL;
}

void *bly_versions_spare(bly_versions *versions)
{
    void *block = spare_of_heap(versions, &versions->future);
    if (block == NULL) {
        block = spare_of_heap(versions, &versions->due);
    }
    return block != NULL ? block : bly_chunks_spare(&versions->ids.buckets);
}

void bly_versions_add(bly_versions *versions, bly_job *job)
{
    bly_assert(versions->live < BLY_LIVE_MAX);
    versions->live++;
    bly_slots_put(&versions->slots, job);
}

void *bly_versions_remove(bly_versions *versions, bly_job *job)
{
    bly_assert(versions->live > 0 && job->where == BLY_IN_NONE);
    versions->live--;
    return bly_slots_take(&versions->slots, job);
}

void bly_versions_name(bly_versions *versions, bly_job *job)
{
    if (job->id_kind != BLY_ID_NONE) {
        bly_map_insert(&versions->ids, &job->named, job->hash);
    }
}

void bly_versions_unname(bly_versions *versions, bly_job *job)
{
    if (job->id_kind != BLY_ID_NONE) {
        bly_map_remove(&versions->ids, &job->named);
    }
}

bly_job *bly_versions_find(const bly_versions *versions, const bly_id *id)
{
    if (id->kind == BLY_ID_NONE) {
        return NULL;
    }
    bly_map_link *named = bly_map_find(&versions->ids, id->hash, bly_job_is_named, id);
    return named == NULL ? NULL : bly_container(named, bly_job, named);
}

void bly_versions_queue(bly_versions *versions, bly_job *job, uint8_t where)
{
    bly_assert(job->where == BLY_IN_NONE);
    job->where = where;
    int64_t aging = where == BLY_IN_DUE ? versions->aging_ns : 0;
    bly_heap_push(heap_of(versions, where), job, bly_job_key(job, aging));
}

void bly_versions_unqueue(bly_versions *versions, bly_job *job)
{
    bly_heap_remove(heap_of(versions, job->where), job);
    job->where = BLY_IN_NONE;
}

bly_job *bly_versions_first(const bly_versions *versions, uint8_t where)
{
    return bly_heap_first(const_heap_of(versions, where));
}

uint32_t bly_versions_count(const bly_versions *versions, uint8_t where)
{
    return bly_heap_count(const_heap_of(versions, where));
}

bool bly_versions_is_sound(const bly_versions *versions)
{
    return bly_heap_is_sound(&versions->future) && bly_heap_is_sound(&versions->due) &&
           bly_map_is_sound(&versions->ids) &&
           bly_heap_count(&versions->future) + bly_heap_count(&versions->due) <= versions->live;
}
