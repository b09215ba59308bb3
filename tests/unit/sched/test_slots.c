/*
 * test_slots.c: the table behind handles.
 */
#include "unit.h"

#include "sched/slots_int.h"

#define JOBS 5000

static bly_job jobs[JOBS];
static bool is_in[JOBS];

static void give(bly_slots *slots)
{
    size_t size = 0;
    while ((size = bly_slots_want(slots)) != 0) {
        void *block = bly_alloc(size);
        ck_assert_ptr_nonnull(block);
        ck_assert(bly_slots_give(slots, block, size));
    }
}

static uint64_t random_state = 1;

static uint32_t next_random(void)
{
    random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(random_state >> 33);
}

START_TEST(handle_finds_exactly_its_version)
{
    bly_slots slots;
    bly_slots_init(&slots);
    ck_assert_ptr_null(bly_slots_find(&slots, (belay_job_handle){0, 0}));
    give(&slots);
    jobs[0].version = 1;
    jobs[1].version = 2;
    bly_slots_put(&slots, &jobs[0]);
    belay_job_handle first = bly_job_handle(&jobs[0]);
    ck_assert_ptr_eq(bly_slots_find(&slots, first), &jobs[0]);
    bly_free(bly_slots_take(&slots, &jobs[0]));
    ck_assert_ptr_null(bly_slots_find(&slots, first));
    give(&slots);
    bly_slots_put(&slots, &jobs[1]);
    ck_assert_uint_eq(jobs[1].place, jobs[0].place);
    ck_assert_ptr_null(bly_slots_find(&slots, first));
    ck_assert_ptr_eq(bly_slots_find(&slots, bly_job_handle(&jobs[1])), &jobs[1]);
    ck_assert_ptr_null(bly_slots_find(&slots, (belay_job_handle){2, UINT64_MAX}));
    bly_free(bly_slots_take(&slots, &jobs[1]));
    bly_slots_destroy(&slots);
}
END_TEST

START_TEST(random_history_agrees_with_the_model)
{
    bly_slots slots;
    bly_slots_init(&slots);
    uint64_t version = 0;
    uint32_t live = 0;
    for (int step = 0; step < 200000; step++) {
        uint32_t i = next_random() % (step / 50000 % 2 == 0 ? JOBS : JOBS / 20);
        if (is_in[i]) {
            ck_assert_ptr_eq(bly_slots_find(&slots, bly_job_handle(&jobs[i])), &jobs[i]);
            bly_free(bly_slots_take(&slots, &jobs[i]));
            ck_assert_ptr_null(bly_slots_find(&slots, bly_job_handle(&jobs[i])));
            live--;
        } else {
            give(&slots);
            jobs[i].version = ++version;
            bly_slots_put(&slots, &jobs[i]);
            live++;
        }
        is_in[i] = !is_in[i];
    }
    for (uint32_t i = 0; i < JOBS; i++) {
        if (is_in[i]) {
            ck_assert_ptr_eq(bly_slots_find(&slots, bly_job_handle(&jobs[i])), &jobs[i]);
            bly_free(bly_slots_take(&slots, &jobs[i]));
            live--;
        }
    }
    ck_assert_uint_eq(live, 0);
    bly_slots_destroy(&slots);
}
END_TEST

START_TEST(blocks_go_back_after_a_burst)
{
    bly_slots slots;
    bly_slots_init(&slots);
    uint32_t numbers = 0;
    for (int burst = 0; burst < 3; burst++) {
        for (uint32_t i = 0; i < JOBS; i++) {
            give(&slots);
            jobs[i].version = i + 1;
            bly_slots_put(&slots, &jobs[i]);
        }
        belay_job_handle last = bly_job_handle(&jobs[JOBS - 1]);
        uint32_t blocks = 0;
        for (uint32_t i = 0; i < JOBS; i++) {
            void *block = bly_slots_take(&slots, &jobs[i]);
            blocks += block != NULL;
            bly_free(block);
        }
        /* All but the one that is kept for the next. */
        ck_assert_uint_eq(blocks, (JOBS + BLY_SLOTS_BLOCK - 1) / BLY_SLOTS_BLOCK - 1);
        ck_assert_uint_eq(bly_slots_want(&slots), 0);
        ck_assert_ptr_null(bly_slots_find(&slots, last));
        /* The numbers of blocks that are gone are used again. */
        ck_assert(burst == 0 || slots.numbers.used == numbers);
        numbers = slots.numbers.used;
    }
    bly_slots_destroy(&slots);
}
END_TEST

START_TEST(block_that_is_no_longer_wanted_is_refused)
{
    bly_slots slots;
    bly_slots_init(&slots);
    size_t size = bly_slots_want(&slots);
    void *late = bly_alloc(size);
    give(&slots);
    ck_assert(!bly_slots_give(&slots, late, size));
    bly_free(late);
    bly_slots_destroy(&slots);
}
END_TEST

UNIT_MAIN("sched/slots", handle_finds_exactly_its_version, random_history_agrees_with_the_model,
          blocks_go_back_after_a_burst, block_that_is_no_longer_wanted_is_refused)
