/*
 * test_job.c: keys, ids and states of versions.
 */
#include "sync/sync.h"
#include "aborts.h"
#include "unit.h"

#include "sched/job_int.h"

static int compare_keys(bly_heap_key a, bly_heap_key b)
{
    const uint64_t left[] = {a.high, a.middle, a.low};
    const uint64_t right[] = {b.high, b.middle, b.low};
    for (int i = 0; i < 3; i++) {
        if (left[i] != right[i]) {
            return left[i] < right[i] ? -1 : 1;
        }
    }
    return 0;
}

static int sign(__int128 value)
{
    return (value > 0) - (value < 0);
}

/* The order as the contract words it. */
static int compare_jobs(const bly_job *a, const bly_job *b, int64_t aging)
{
    __int128 difference = 0;
    if (aging == BELAY_FOREVER) {
        difference = (__int128)b->priority - a->priority;
        if (difference == 0) {
            difference = (__int128)a->run_at_ns - b->run_at_ns;
        }
    } else {
        difference = ((__int128)a->run_at_ns - (__int128)aging * a->priority) -
                     ((__int128)b->run_at_ns - (__int128)aging * b->priority);
        if (difference == 0) {
            difference = (__int128)b->priority - a->priority;
        }
    }
    return difference != 0 ? sign(difference) : sign((__int128)a->version - b->version);
}

START_TEST(keys_order_as_the_contract_says)
{
    static const int64_t times[] = {INT64_MIN, INT64_MIN + 1, -65537,        -1,       0, 1,
                                    65535,     65536,         INT64_MAX - 1, INT64_MAX};
    static const int16_t priorities[] = {INT16_MIN, -1, 0, 1, INT16_MAX};
    static const int64_t agings[] = {0, 1, 65536, INT64_MAX - 1, BELAY_FOREVER};
    enum { N = 100 };
    bly_job jobs[N];
    for (int i = 0; i < N; i++) {
        jobs[i] = (bly_job){.run_at_ns = times[i / 10],
                            .priority = priorities[i % 5],
                            .version = i % 10 < 5 ? 1 : UINT64_MAX};
    }
    for (int k = 0; k < 5; k++) {
        for (int i = 0; i < N; i++) {
            for (int j = 0; j < N; j++) {
                int expected = compare_jobs(&jobs[i], &jobs[j], agings[k]);
                ck_assert_int_eq(compare_keys(bly_job_key(&jobs[i], agings[k]),
                                              bly_job_key(&jobs[j], agings[k])),
                                 expected);
                if (agings[k] == 0) {
                    ck_assert_int_eq(bly_job_is_before(&jobs[i], &jobs[j]), expected < 0);
                }
            }
        }
    }
}
END_TEST

START_TEST(ids_are_read_or_refused)
{
    bly_id id;
    belay_id good[] = {BELAY_ID(0), BELAY_ID(UINT64_MAX), belay_id_text("x"),
                       belay_id_bytes("abcdefgh", 8)};
    for (int i = 0; i < 4; i++) {
        ck_assert_int_eq(bly_id_read(&id, &good[i], false, 7), 0);
        ck_assert_uint_eq(id.len, good[i].len);
        ck_assert_ptr_nonnull(id.data);
    }
    belay_id none = BELAY_NO_ID;
    ck_assert_int_eq(bly_id_read(&id, &none, false, 7), BELAY_EINVAL);
    ck_assert_int_eq(bly_id_read(&id, &none, true, 7), 0);
    ck_assert_uint_eq(id.kind, BLY_ID_NONE);
    belay_id bad[] = {belay_id_bytes("", 0), belay_id_bytes("x", 256), belay_id_bytes(NULL, 7)};
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(bly_id_read(&id, &bad[i], true, 7), BELAY_EINVAL);
    }
}
END_TEST

START_TEST(jitter_saturates_and_stays_in_its_bounds)
{
    bly_job job = {.version = 3, .jitter_ns = 1000};
    for (int64_t slot = -500; slot < 500; slot++) {
        int64_t start = bly_job_start_of(&job, slot);
        ck_assert_int_ge(start, slot);
        ck_assert_int_le(start, slot + 1000);
        ck_assert_int_eq(bly_job_start_of(&job, slot), start);
    }
    job.jitter_ns = INT64_MAX;
    ck_assert_int_ge(bly_job_start_of(&job, INT64_MAX - 1), INT64_MAX - 1);
    job.jitter_ns = 0;
    ck_assert_int_eq(bly_job_start_of(&job, 5), 5);
}
END_TEST

static void end_what_is_new(void)
{
    uint8_t state = BLY_JOB_NEW;
    bly_state_move(&bly_job_states, &state, BLY_JOB_COMPLETED);
}

static void run_what_is_held(void)
{
    uint8_t state = BLY_JOB_HELD;
    bly_state_move(&bly_job_states, &state, BLY_JOB_RUNNING);
}

static void revive_what_has_ended(void)
{
    uint8_t state = BLY_JOB_DROPPED;
    bly_state_move(&bly_job_states, &state, BLY_JOB_PENDING);
}

START_TEST(moves_that_are_not_in_the_table_abort)
{
    ck_assert_aborts(end_what_is_new, "job: NEW to COMPLETED");
    ck_assert_aborts(run_what_is_held, "job: HELD to RUNNING");
    ck_assert_aborts(revive_what_has_ended, "job: DROPPED to PENDING");
}
END_TEST

/* An id that was read points into itself. */
static void read_id(bly_id *ret_id, belay_id from)
{
    ck_assert_int_eq(bly_id_read(ret_id, &from, true, 1), 0);
}

START_TEST(different_ids_have_different_hashes)
{
    bly_id ids[4];
    read_id(&ids[0], BELAY_ID(1));
    read_id(&ids[1], BELAY_ID(2));
    read_id(&ids[2], belay_id_bytes("a", 1));
    read_id(&ids[3], belay_id_bytes("b", 1));
    for (int i = 0; i < 4; i++) {
        for (int j = 0; j < i; j++) {
            ck_assert_uint_ne(ids[i].hash, ids[j].hash);
        }
    }
}
END_TEST

START_TEST(a_job_is_named_by_kind_length_and_bytes)
{
    uint64_t number = 7;
    bly_id ids[5];
    read_id(&ids[0], BELAY_ID(7));
    read_id(&ids[1], belay_id_bytes(&number, sizeof number));
    read_id(&ids[2], belay_id_bytes("a", 1));
    read_id(&ids[3], belay_id_bytes("b", 1));
    read_id(&ids[4], belay_id_bytes("ab", 2));
    belay_job from = {.size = sizeof from};
    for (int i = 0; i < 5; i++) {
        bly_job *job = bly_job_create(&from, &ids[i]);
        ck_assert_ptr_nonnull(job);
        for (int j = 0; j < 5; j++) {
            ck_assert_int_eq(bly_job_is_named(&job->named, &ids[j]), i == j);
        }
        bly_free(job);
    }
}
END_TEST

START_TEST(a_series_stands_behind_the_id_of_its_job_whatever_its_length)
{
    char bytes[2 * sizeof(bly_series)];
    belay_job from = {.size = sizeof from, .next = belay_every, .period_ns = 1};
    memset(bytes, 'x', sizeof bytes);
    for (size_t len = 1; len <= sizeof bytes; len++) {
        bly_id id;
        read_id(&id, belay_id_bytes(bytes, len));
        bly_job *job = bly_job_create(&from, &id);
        ck_assert_ptr_nonnull(job);
        ck_assert((char *)job->series >= (char *)job->id + len);
        ck_assert_uint_eq((uintptr_t)job->series % _Alignof(bly_series), 0);
        ck_assert_mem_eq(job->id, bytes, len);
        bly_free(job);
    }
}
END_TEST

START_TEST(jitter_takes_every_value_up_to_its_bound)
{
    uint32_t seen = 0, seen_without_id = 0;
    for (uint64_t i = 0; i < 200; i++) {
        bly_id id, none;
        read_id(&id, BELAY_ID(i));
        read_id(&none, BELAY_NO_ID);
        belay_job from = {.size = sizeof from, .jitter_ns = 2};
        bly_job *job = bly_job_create(&from, &id);
        ck_assert_ptr_nonnull(job);
        seen |= 1u << bly_job_start_of(job, 0);
        job->jitter_ns = 1;
        ck_assert_int_le(bly_job_start_of(job, 0), 1);
        seen |= 8u << bly_job_start_of(job, 0);
        bly_free(job);
        job = bly_job_create(&from, &none);
        ck_assert_ptr_nonnull(job);
        job->version = i;
        seen_without_id |= 1u << bly_job_start_of(job, 0);
        bly_free(job);
    }
    ck_assert_uint_eq(seen, 7 | 3 * 8);
    ck_assert_uint_eq(seen_without_id, 7);
}
END_TEST

UNIT_MAIN("sched/job", keys_order_as_the_contract_says, ids_are_read_or_refused,
          jitter_saturates_and_stays_in_its_bounds, moves_that_are_not_in_the_table_abort,
          different_ids_have_different_hashes, a_job_is_named_by_kind_length_and_bytes,
          a_series_stands_behind_the_id_of_its_job_whatever_its_length,
          jitter_takes_every_value_up_to_its_bound)
