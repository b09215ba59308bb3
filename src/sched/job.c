/*
 * job.c: what a version of a job is made of: its states, its id, its jitter. See job_int.h.
 */
#include "sched/job_int.h"

#include "base/hash.h"
#include "base/opts.h"

#include <string.h>

static const char *const names[] = {"NEW",    "PENDING",  "HELD",     "RUNNING", "COMPLETED",
                                    "FAILED", "CANCELED", "REPLACED", "DROPPED"};

/* A version ends by a drop before it ran, or, when it is a series, after its last occurrence. */
#define BY_DROP (BLY_TO(BLY_JOB_CANCELED) | BLY_TO(BLY_JOB_REPLACED) | BLY_TO(BLY_JOB_DROPPED))

static const uint32_t moves[] = {
    [BLY_JOB_NEW] = BLY_TO(BLY_JOB_PENDING) | BLY_TO(BLY_JOB_HELD),
    [BLY_JOB_PENDING] = BLY_TO(BLY_JOB_RUNNING) | BY_DROP,
    [BLY_JOB_HELD] = BLY_TO(BLY_JOB_PENDING) | BY_DROP,
    [BLY_JOB_RUNNING] =
        BLY_TO(BLY_JOB_COMPLETED) | BLY_TO(BLY_JOB_FAILED) | BLY_TO(BLY_JOB_PENDING) | BY_DROP,
    [BLY_JOB_DROPPED] = 0,
};

const bly_state_table bly_job_states = {"job", names, moves, bly_count(names)};

int bly_id_read(bly_id *id, const belay_id *from, bool may_be_none, uint64_t seed)
{
    *id = (bly_id){.number = from->number};
    if (from->data != NULL) {
        if (from->len == 0 || from->len > BELAY_ID_MAX) {
            return BELAY_EINVAL;
        }
        id->kind = BLY_ID_IS_BYTES;
        id->data = from->data;
        id->hash = bly_hash_bytes(seed, from->data, from->len);
    } else if (from->len == sizeof id->number) {
        id->kind = BLY_ID_IS_NUMBER;
        id->data = &id->number;
        id->hash = bly_hash_u64(seed, id->number);
    } else if (from->len != 0 || !may_be_none) {
        return BELAY_EINVAL;
    }
    id->len = (uint8_t)from->len;
    return 0;
}

/* Whether what is said of a series makes sense. */
static bool is_series_valid(const belay_job *job)
{
    if (job->next == belay_every || job->next == belay_after_each) {
        int64_t period = job->next_arg != NULL ? *(const int64_t *)job->next_arg : job->period_ns;
        if (period < 1 || (job->next == belay_every && job->jitter_ns >= period)) {
            return false;
        }
    }
    return job->missed <= BELAY_MISSED_ALL && job->late_max_ns >= 0 && job->ends_on_failure <= 1;
}

int bly_job_copy(belay_job *job, const belay_job *from)
{
    if (from == NULL || bly_opts_read(job, sizeof *job, from) != 0 || job->fn == NULL) {
        return BELAY_EINVAL;
    }
    if (job->priority < BELAY_PRIORITY_MIN || job->priority > BELAY_PRIORITY_MAX) {
        return BELAY_EINVAL;
    }
    if (job->no_replace > 1 || job->jitter_ns < 0) {
        return BELAY_EINVAL;
    }
    return job->next == NULL || is_series_valid(job) ? 0 : BELAY_EINVAL;
}

static void fill_series(bly_series *series, const belay_job *job)
{
    series->next = job->next;
    series->next_arg = job->next_arg;
    series->period_ns = job->period_ns;
    series->late_max_ns = job->late_max_ns != 0 ? job->late_max_ns : BELAY_SCHED_LATE_DEFAULT_NS;
    series->missed_max = job->missed_max != 0 ? job->missed_max : BELAY_SCHED_MISSED_MAX_DEFAULT;
    series->policy = (uint8_t)job->missed;
    series->ends_on_failure = job->ends_on_failure != 0;
}

bly_job *bly_job_create(const belay_job *from, const bly_id *id)
{
    size_t align = _Alignof(bly_series);
    size_t series_at = (sizeof(bly_job) + id->len + align - 1) / align * align;
    bly_job *job =
        bly_alloc(from->next == NULL ? sizeof *job + id->len : series_at + sizeof(bly_series));
    if (job == NULL) {
        return NULL;
    }
    job->fn = from->fn;
    job->arg = from->arg;
    job->drop = from->drop;
    job->run_at_ns = from->run_at_ns;
    job->slot_ns = from->run_at_ns;
    job->jitter_ns = from->jitter_ns;
    job->priority = (int16_t)from->priority;
    job->id_kind = id->kind;
    job->id_len = id->len;
    job->hash = id->hash;
    if (id->len != 0) {
        memcpy(job->id, id->data, id->len);
    }
    if (from->next != NULL) {
        job->series = (bly_series *)(void *)((char *)job + series_at);
        fill_series(job->series, from);
    }
    return job;
}

bool bly_job_is_named(const bly_map_link *named, const void *key)
{
    const bly_job *job = bly_container(named, bly_job, named);
    const bly_id *id = key;
    return job->id_kind == id->kind && job->id_len == id->len &&
           memcmp(job->id, id->data, id->len) == 0;
}

/* A due key needs 15 bits more than a time has: |run_at - A * priority| < 2^79. */
__extension__ typedef __int128 wide;
__extension__ typedef unsigned __int128 unsigned_wide;

#define KEY_OFFSET ((wide)1 << 79)

bly_heap_key bly_job_key(const bly_job *job, int64_t aging_ns)
{
    uint64_t rank = (uint64_t)(INT16_MAX - job->priority); /* 16 bits; lower comes first */
    if (aging_ns == BELAY_FOREVER) {
        return (bly_heap_key){rank, bly_heap_order(job->run_at_ns), job->version};
    }
    wide at = (wide)job->run_at_ns - (wide)aging_ns * job->priority;
    unsigned_wide shifted = (unsigned_wide)(at + KEY_OFFSET); /* 80 bits */
    return (bly_heap_key){(uint64_t)(shifted >> 16), (uint64_t)(shifted & 0xffff) << 16 | rank,
                          job->version};
}

bool bly_job_is_before(const bly_job *a, const bly_job *b)
{
    if (a->run_at_ns != b->run_at_ns) {
        return a->run_at_ns < b->run_at_ns;
    }
    return a->priority != b->priority ? a->priority > b->priority : a->version < b->version;
}

belay_id bly_job_id(const bly_job *job)
{
    switch (job->id_kind) {
    case BLY_ID_IS_BYTES:
        return belay_id_bytes(job->id, job->id_len);
    case BLY_ID_IS_NUMBER: {
        uint64_t number = 0;
        memcpy(&number, job->id, sizeof number);
        return belay_id_number(number);
    }
    default:
        return BELAY_NO_ID;
    }
}

belay_job_handle bly_job_handle(const bly_job *job)
{
    return (belay_job_handle){.version = job->version, .place = job->place};
}

int64_t bly_job_start_of(const bly_job *job, int64_t slot_ns)
{
    if (job->jitter_ns == 0) {
        return slot_ns;
    }
    /* A fixed seed: the same id and slot give the same jitter in every process. A job without an id
     * takes its version for one. */
    uint64_t hash = job->id_kind == BLY_ID_NONE ? bly_hash_u64(0, job->version)
                                                : bly_hash_bytes(0, job->id, job->id_len);
    hash = bly_hash_u64(hash, (uint64_t)slot_ns);
    return belay_time_add(slot_ns, (int64_t)(hash % ((uint64_t)job->jitter_ns + 1)));
}
