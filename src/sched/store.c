/*
 * store.c: see store_int.h.
 */
#include "sched/store_int.h"

#include "sync/grow.h"

static bly_heap *heap_of(bly_store *store, uint8_t where)
{
    bly_assert_debug(where == BLY_IN_FUTURE || where == BLY_IN_DUE);
    return where == BLY_IN_FUTURE ? &store->future : &store->due;
}

static const bly_heap *const_heap_of(const bly_store *store, uint8_t where)
{
    return where == BLY_IN_FUTURE ? &store->future : &store->due;
}

/* How many places a heap must have free so that it has room for all who live, and one more. */
static uint32_t extra_of(const bly_store *store, const bly_heap *heap)
{
    return store->live + 1 - bly_heap_count(heap);
}

static bool has_room(const bly_store *store)
{
    return bly_chunks_want(&store->future.slots, extra_of(store, &store->future)) == 0 &&
           bly_chunks_want(&store->due.slots, extra_of(store, &store->due)) == 0 &&
           bly_chunks_want(&store->ids.buckets, 1) == 0 && bly_slots_want(&store->slots) == 0;
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

int bly_store_grow(bly_store *store, bly_mutex *lock)
{
    /* While the lock is given up for one part, others may use up the room of another. */
    while (bly_unlikely(!has_room(store))) {
        bly_chunks *const parts[] = {&store->future.slots, &store->due.slots, &store->ids.buckets};
        const uint32_t extra[] = {extra_of(store, &store->future), extra_of(store, &store->due), 1};
        for (size_t i = 0; i < bly_count(parts); i++) {
            if (bly_chunks_grow(parts[i], extra[i], lock) != 0) {
                return BELAY_ENOMEM;
            }
        }
        if (grow_slots(&store->slots, lock) != 0) {
            return BELAY_ENOMEM;
        }
    }
    return 0;
}

int bly_store_init(bly_store *store, int64_t aging_ns)
{
    bly_heap_init(&store->future, offsetof(bly_job, heap_place));
    bly_heap_init(&store->due, offsetof(bly_job, heap_place));
    bly_map_init(&store->ids);
    bly_slots_init(&store->slots);
    store->aging_ns = aging_ns;
    store->live = 0;
    bly_mutex nobody = {0};
    bly_mutex_lock(&nobody);
    int result = bly_store_grow(store, &nobody);
    bly_mutex_unlock(&nobody);
    bly_mutex_destroy(&nobody);
    if (result != 0) {
        bly_store_destroy(store);
    }
    return result;
}

void bly_store_destroy(bly_store *store)
{
    bly_assert(store->live == 0);
    bly_heap_destroy(&store->future);
    bly_heap_destroy(&store->due);
    bly_map_destroy(&store->ids);
    bly_slots_destroy(&store->slots);
}

/* A heap's last chunk, when those before it are twice what all living versions need. */
static void *spare_of_heap(const bly_store *store, bly_heap *heap)
{
    uint32_t without_last = bly_chunks_capacity(&heap->slots) / 2 - BLY_CHUNKS_FIRST / 2;
    uint32_t needed = store->live + 1 + heap->slots.used - bly_heap_count(heap);
    return needed <= without_last / 2 ? bly_chunks_spare(&heap->slots) : NULL;
}

void *bly_store_spare(bly_store *store)
{
    void *block = spare_of_heap(store, &store->future);
    if (block == NULL) {
        block = spare_of_heap(store, &store->due);
    }
    return block != NULL ? block : bly_chunks_spare(&store->ids.buckets);
}

void bly_store_add(bly_store *store, bly_job *job)
{
    bly_assert(store->live < BLY_LIVE_MAX);
    store->live++;
    bly_slots_put(&store->slots, job);
}

void *bly_store_remove(bly_store *store, bly_job *job)
{
    bly_assert(store->live > 0 && job->where == BLY_IN_NONE);
    store->live--;
    return bly_slots_take(&store->slots, job);
}

void bly_store_name(bly_store *store, bly_job *job)
{
    if (job->id_kind != BLY_ID_NONE) {
        bly_map_insert(&store->ids, &job->named, job->hash);
    }
}

void bly_store_unname(bly_store *store, bly_job *job)
{
    if (job->id_kind != BLY_ID_NONE) {
        bly_map_remove(&store->ids, &job->named);
    }
}

bly_job *bly_store_find(const bly_store *store, const bly_id *id)
{
    if (id->kind == BLY_ID_NONE) {
        return NULL;
    }
    bly_map_link *named = bly_map_find(&store->ids, id->hash, bly_job_is_named, id);
    return named == NULL ? NULL : bly_container(named, bly_job, named);
}

void bly_store_queue(bly_store *store, bly_job *job, uint8_t where)
{
    bly_assert(job->where == BLY_IN_NONE);
    job->where = where;
    int64_t aging = where == BLY_IN_DUE ? store->aging_ns : 0;
    bly_heap_push(heap_of(store, where), job, bly_job_key(job, aging));
}

void bly_store_unqueue(bly_store *store, bly_job *job)
{
    bly_heap_remove(heap_of(store, job->where), job);
    job->where = BLY_IN_NONE;
}

bly_job *bly_store_first(const bly_store *store, uint8_t where)
{
    return bly_heap_first(const_heap_of(store, where));
}

uint32_t bly_store_count(const bly_store *store, uint8_t where)
{
    return bly_heap_count(const_heap_of(store, where));
}

bool bly_store_is_sound(const bly_store *store)
{
    return bly_heap_is_sound(&store->future) && bly_heap_is_sound(&store->due) &&
           bly_map_is_sound(&store->ids) &&
           bly_heap_count(&store->future) + bly_heap_count(&store->due) <= store->live;
}
