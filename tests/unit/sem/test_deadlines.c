/* The index of deadlines, against a plain array. */
#include "unit.h"

#include "sem/deadlines.h"

#include <string.h>

#define MANY 400

static bly_deadlines deadlines;
static belay_lease leases[MANY];
static uint64_t seed;

static uint64_t random_number(void)
{
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return seed >> 33;
}

static void open_index(void)
{
    memset(leases, 0, sizeof leases);
    bly_deadlines_init(&deadlines);
}

static void add(int index, int64_t deadline_ns, int64_t now_ns)
{
    leases[index].phase.timing = (struct bly_lease_timing){.deadline_ns = deadline_ns};
    bly_deadlines_add(&deadlines, &leases[index], now_ns);
}

/* The index of the lease that has expired, -1 when there is none. */
static int expired(int64_t now_ns)
{
    uint32_t budget = UINT32_MAX;
    belay_lease *lease = bly_deadlines_expired(&deadlines, now_ns, &budget);
    return lease != NULL ? (int)(lease - leases) : -1;
}

START_TEST(an_empty_index_has_no_deadline)
{
    open_index();
    ck_assert_int_eq(bly_deadlines_next(&deadlines), BELAY_FOREVER);
    ck_assert_int_eq(expired(BELAY_FOREVER - 1), -1);
}
END_TEST

START_TEST(a_lease_expires_at_its_deadline_and_not_before)
{
    open_index();
    add(0, 5000000, 10);
    ck_assert_int_eq(bly_deadlines_next(&deadlines), 5000000);
    ck_assert_int_eq(expired(4999999), -1);
    ck_assert_int_eq(expired(5000000), 0);
    ck_assert_int_eq(expired(BELAY_FOREVER - 1), -1);
}
END_TEST

START_TEST(leases_expire_in_the_order_of_their_deadlines)
{
    open_index();
    add(0, 300, 0);
    add(1, 100, 0);
    add(2, 200, 0);
    ck_assert_int_eq(expired(1000), 1);
    ck_assert_int_eq(expired(1000), 2);
    ck_assert_int_eq(expired(1000), 0);
}
END_TEST

START_TEST(equal_deadlines_expire_in_the_order_of_adding)
{
    open_index();
    for (int i = 0; i < 20; i++) {
        add(i, 123456789, 0);
    }
    ck_assert_int_eq(expired(123000000), -1);
    for (int i = 20; i < 40; i++) {
        add(i, 123456789, 123000000);
    }
    for (int i = 0; i < 40; i++) {
        ck_assert_int_eq(expired(123456789), i);
    }
}
END_TEST

START_TEST(a_removed_lease_does_not_expire)
{
    open_index();
    add(0, 100, 0);
    add(1, 100, 0);
    add(2, 70000, 0);
    bly_deadlines_remove(&deadlines, &leases[0]);
    bly_deadlines_remove(&deadlines, &leases[2]);
    bly_deadlines_remove(&deadlines, &leases[2]);
    ck_assert_int_eq(expired(100000), 1);
    ck_assert_int_eq(expired(100000), -1);
    ck_assert_int_eq(bly_deadlines_next(&deadlines), BELAY_FOREVER);
}
END_TEST

START_TEST(a_deadline_before_the_last_reading_has_expired)
{
    open_index();
    add(0, 900, 0);
    ck_assert_int_eq(expired(500), -1);
    add(1, 400, 300);
    ck_assert_int_le(bly_deadlines_next(&deadlines), 500);
    ck_assert_int_eq(expired(500), 1);
    ck_assert_int_eq(expired(500), -1);
}
END_TEST

START_TEST(a_reading_that_steps_back_expires_nothing_new)
{
    open_index();
    add(0, 900, 0);
    ck_assert_int_eq(expired(500), -1);
    ck_assert_int_eq(expired(100), -1);
    ck_assert_int_eq(expired(900), 0);
}
END_TEST

START_TEST(times_below_zero_are_times)
{
    open_index();
    add(0, 50, -1000);
    add(1, -50, -1000);
    ck_assert_int_eq(bly_deadlines_next(&deadlines), -50);
    ck_assert_int_eq(expired(-51), -1);
    ck_assert_int_eq(expired(0), 1);
    ck_assert_int_eq(expired(50), 0);
}
END_TEST

START_TEST(the_farthest_deadline_is_kept)
{
    open_index();
    add(0, BELAY_FOREVER - 1, BELAY_NOW + 1);
    ck_assert_int_eq(bly_deadlines_next(&deadlines), BELAY_FOREVER - 1);
    ck_assert_int_eq(expired(BELAY_FOREVER - 2), -1);
    ck_assert_int_eq(expired(BELAY_FOREVER - 1), 0);
}
END_TEST

START_TEST(expired_stops_when_its_budget_is_spent)
{
    open_index();
    for (int i = 0; i < 100; i++) {
        add(i, 100000 + i, 0);
    }
    uint32_t budget = 10;
    ck_assert_ptr_null(bly_deadlines_expired(&deadlines, 100060, &budget));
    ck_assert_uint_eq(budget, 0);
    /* It goes on where it stopped, and what is removed or added meanwhile does no harm. */
    ck_assert_int_le(bly_deadlines_next(&deadlines), 100000);
    bly_deadlines_remove(&deadlines, &leases[99]);
    add(99, 100050, 100000);
    bool is_out[100] = {false};
    for (int count = 0; count < 62; count++) {
        int found = expired(100060);
        ck_assert(found >= 0 && (found <= 60 || found == 99) && !is_out[found]);
        is_out[found] = true;
    }
    ck_assert_int_eq(expired(100060), -1);
}
END_TEST

START_TEST(the_last_lease_of_a_slot_that_spills_can_be_removed)
{
    open_index();
    add(0, 100000, 0);
    add(1, 100001, 0);
    uint32_t budget = 2;
    ck_assert_ptr_null(bly_deadlines_expired(&deadlines, 100000, &budget));
    ck_assert_ptr_nonnull(deadlines.spilling);
    bly_deadlines_remove(&deadlines, &leases[1]);
    ck_assert_ptr_null(deadlines.spilling);
    ck_assert_int_eq(expired(100000), 0);
    ck_assert_int_eq(expired(200000), -1);
}
END_TEST

START_TEST(a_slot_that_has_passed_as_a_whole_is_not_spilled)
{
    open_index();
    for (int i = 0; i < 100; i++) {
        add(i, 100000 + (i * 37) % 100, 0);
    }
    for (int i = 0; i < 100; i++) {
        uint32_t budget = 1; /* none is left for spilling */
        ck_assert_ptr_nonnull(bly_deadlines_expired(&deadlines, 1000000, &budget));
    }
    ck_assert_int_eq(expired(1000000), -1);
}
END_TEST

START_TEST(next_of_many_is_never_after_the_earliest)
{
    open_index();
    for (int i = 0; i < 9; i++) {
        add(i, 1000500 + i, 1000000);
    }
    ck_assert_int_le(bly_deadlines_next(&deadlines), 1000500);
    bly_deadlines_remove(&deadlines, &leases[8]);
    ck_assert_int_eq(bly_deadlines_next(&deadlines), 1000500);
}
END_TEST

/* The lease that ends first, by (deadline, adding), of those in the array; -1: none is due. */
static int first_of(const bool *is_in, const uint32_t *added, int64_t now_ns)
{
    int first = -1;
    for (int i = 0; i < MANY; i++) {
        if (!is_in[i] || leases[i].phase.timing.deadline_ns > now_ns) {
            continue;
        }
        if (first < 0 ||
            leases[i].phase.timing.deadline_ns < leases[first].phase.timing.deadline_ns ||
            (leases[i].phase.timing.deadline_ns == leases[first].phase.timing.deadline_ns &&
             added[i] < added[first])) {
            first = i;
        }
    }
    return first;
}

/* Takes out all that is due, in order where the reading `is_timely`, and checks them. */
static void expire_all(bool *is_in, const uint32_t *added, int64_t now_ns, bool is_timely)
{
    for (int due = first_of(is_in, added, now_ns); due >= 0; due = first_of(is_in, added, now_ns)) {
        ck_assert_int_le(bly_deadlines_next(&deadlines), now_ns);
        int found = expired(now_ns);
        ck_assert(found >= 0 && is_in[found]);
        ck_assert_int_le(leases[found].phase.timing.deadline_ns, now_ns);
        ck_assert(!is_timely || found == due);
        is_in[found] = false;
    }
    ck_assert_int_eq(expired(now_ns), -1);
    ck_assert_int_gt(bly_deadlines_next(&deadlines), now_ns);
}

START_TEST(random_histories_agree_with_a_plain_array)
{
    for (seed = 1; seed <= 60; seed++) {
        open_index();
        uint64_t mix = seed;
        static bool is_in[MANY];
        static uint32_t added[MANY];
        memset(is_in, 0, sizeof is_in);
        int64_t now_ns = 0;
        int64_t range = INT64_C(1) << (mix % 40 + 2);
        for (uint32_t step = 0; step < 3000; step++) {
            int index = (int)(random_number() % MANY);
            if (!is_in[index]) {
                add(index, now_ns + 1 + (int64_t)(random_number() % (uint64_t)range), now_ns);
                is_in[index] = true;
                added[index] = step;
            } else if (step % 3 == 0) {
                bly_deadlines_remove(&deadlines, &leases[index]);
                is_in[index] = false;
            } else {
                /* Who looks when the next is due gets them in order. */
                bool is_timely = step % 2 == 0;
                int64_t next_ns = bly_deadlines_next(&deadlines);
                int64_t later_ns = now_ns + (int64_t)(random_number() % (uint64_t)range) / 8;
                now_ns = !is_timely ? later_ns : next_ns != BELAY_FOREVER ? next_ns : now_ns;
                expire_all(is_in, added, now_ns, is_timely);
            }
        }
        seed = mix;
    }
}
END_TEST

UNIT_MAIN("sem/deadlines", an_empty_index_has_no_deadline,
          a_lease_expires_at_its_deadline_and_not_before,
          leases_expire_in_the_order_of_their_deadlines,
          equal_deadlines_expire_in_the_order_of_adding, a_removed_lease_does_not_expire,
          a_deadline_before_the_last_reading_has_expired,
          a_reading_that_steps_back_expires_nothing_new, times_below_zero_are_times,
          the_farthest_deadline_is_kept, expired_stops_when_its_budget_is_spent,
          the_last_lease_of_a_slot_that_spills_can_be_removed,
          a_slot_that_has_passed_as_a_whole_is_not_spilled,
          next_of_many_is_never_after_the_earliest, random_histories_agree_with_a_plain_array)
