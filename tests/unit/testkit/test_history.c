#include "belay/test.h"

#include "sync/sync.h"
#include "fault.h"
#include "unit.h"

#define CAPACITY 3

static belay_history *history;

static void use_history(void)
{
    ck_assert_int_eq(belay_history_create(CAPACITY, 100, &history), 0);
}

static void end_history(void)
{
    belay_history_destroy(history);
}

static int begin(uint32_t permits)
{
    int entry = belay_history_begin(history, permits);
    ck_assert_int_ge(entry, 0);
    return entry;
}

static void end(int entry, int result)
{
    ck_assert_int_eq(belay_history_end(history, entry, result), 0);
}

static void release(int entry)
{
    ck_assert_int_eq(belay_history_release(history, entry), 0);
}

static void order(int entry, uint64_t place, uint64_t turn)
{
    ck_assert_int_eq(belay_history_order(history, entry, place, turn), 0);
}

static int granted(uint32_t permits)
{
    int entry = begin(permits);
    end(entry, 0);
    return entry;
}

/* The history breaks that rule, and that entry shows it. */
static void assert_broken(const char *rule, int entry)
{
    uint32_t shown = 9999;
    ck_assert_str_eq(belay_history_check(history, &shown), rule);
    ck_assert_int_eq((int)shown, entry);
    ck_assert_str_eq(belay_history_check(history, NULL), rule);
}

static void assert_right(void)
{
    uint32_t shown = 9999;
    const char *rule = belay_history_check(history, &shown);
    ck_assert_msg(rule == NULL, "%s", rule);
    ck_assert_uint_eq(shown, 9999);
}

START_TEST(create_refuses_bad_arguments)
{
    ck_assert_int_eq(belay_history_create(1, 1, NULL), BELAY_EINVAL);
    ck_assert_int_eq(belay_history_create(1, 0, &history), BELAY_EINVAL);
    ck_assert_int_eq(belay_history_create(1, UINT32_C(1) << 31, &history), BELAY_EINVAL);
    belay_history_destroy(NULL);
}
END_TEST

START_TEST(create_without_memory_leaves_nothing)
{
    for (uint32_t nth = 1; nth <= 3; nth++) {
        fault_alloc_once(nth);
        ck_assert_int_eq(belay_history_create(1, 1, &history), BELAY_ENOMEM);
    }
    fault_alloc_once(4);
    ck_assert_int_eq(belay_history_create(1, 1, &history), 0);
    (void)fault_alloc_stop();
    end_history();
}
END_TEST

START_TEST(a_full_history_takes_no_more)
{
    ck_assert_int_eq(belay_history_create(1, 2, &history), 0);
    ck_assert_int_eq(belay_history_begin(history, 1), 0);
    ck_assert_int_eq(belay_history_begin(history, 1), 1);
    ck_assert_int_eq(belay_history_begin(history, 1), BELAY_EFULL);
    ck_assert_int_eq(belay_history_begin(history, 1), BELAY_EFULL);
    end_history();
}
END_TEST

START_TEST(an_entry_that_has_not_begun_is_refused)
{
    use_history();
    int entry = begin(1);
    for (int wrong = -1; wrong <= 1; wrong += 2) {
        ck_assert_int_eq(belay_history_end(history, entry + wrong, 0), BELAY_EINVAL);
        ck_assert_int_eq(belay_history_release(history, entry + wrong), BELAY_EINVAL);
        ck_assert_int_eq(belay_history_order(history, entry + wrong, 1, 1), BELAY_EINVAL);
    }
    ck_assert_int_eq(belay_history_order(history, entry, 1, 0), BELAY_EINVAL);
    end_history();
}
END_TEST

START_TEST(an_empty_history_is_right)
{
    use_history();
    assert_right();
    end_history();
}
END_TEST

START_TEST(a_right_history_is_right)
{
    use_history();
    int all = granted(3);
    int first = begin(2);
    int late = begin(1);
    int second = begin(1);
    end(late, BELAY_ETIMEDOUT);
    release(all);
    end(second, 0);
    end(first, 0);
    order(first, 1, 1);
    order(second, 3, 2);
    release(second);
    end(begin(0), 0);
    end(begin(0), BELAY_EFULL);
    assert_right();
    ck_assert_uint_eq(belay_history_count(history, 0), 4);
    ck_assert_uint_eq(belay_history_count(history, BELAY_EFULL), 1);
    ck_assert_uint_eq(belay_history_count(history, BELAY_ETIMEDOUT), 1);
    end_history();
}
END_TEST

START_TEST(an_acquire_without_an_outcome_is_found)
{
    use_history();
    end(begin(1), BELAY_ECLOSED);
    int entry = begin(1);
    assert_broken("no outcome", entry);
    ck_assert_uint_eq(belay_history_count(history, 0), 0);
    end_history();
}
END_TEST

START_TEST(an_acquire_with_two_outcomes_is_found)
{
    use_history();
    int entry = begin(1);
    end(entry, BELAY_ETIMEDOUT);
    end(entry, 0);
    assert_broken("two outcomes", entry);
    ck_assert_uint_eq(belay_history_count(history, BELAY_ETIMEDOUT), 1);
    end_history();
}
END_TEST

START_TEST(a_task_that_never_ended_is_found)
{
    use_history();
    end(begin(0), 0);
    assert_broken("task lost", begin(0));
    end_history();
}
END_TEST

START_TEST(a_task_that_ended_twice_is_found)
{
    use_history();
    int refused = begin(0);
    end(refused, BELAY_ECLOSED);
    end(refused, 0);
    assert_broken("task twice", refused);
    end_history();
}
END_TEST

START_TEST(a_second_release_is_found)
{
    use_history();
    int entry = granted(1);
    release(entry);
    assert_right();
    release(entry);
    assert_broken("released twice", entry);
    end_history();
}
END_TEST

START_TEST(a_release_of_what_was_refused_is_found)
{
    use_history();
    int entry = begin(1);
    end(entry, BELAY_EAGAIN);
    release(entry);
    assert_broken("release without a grant", entry);
    end_history();
}
END_TEST

START_TEST(a_turn_of_what_was_not_granted_is_found)
{
    use_history();
    int entry = begin(1);
    end(entry, BELAY_ECANCELED);
    order(entry, 1, 1);
    assert_broken("turn without a grant", entry);
    end_history();
}
END_TEST

START_TEST(more_than_the_capacity_is_found_where_it_begins)
{
    use_history();
    release(granted(3));
    int first = granted(1);
    (void)granted(2);
    assert_right();
    int over = granted(1);
    release(first);
    assert_broken("over capacity", over);
    end_history();
}
END_TEST

/* From the record of the grant to that of the release the permits are held, not longer. */
START_TEST(only_what_is_surely_held_counts)
{
    use_history();
    int handed_on = begin(3);
    release(handed_on); /* by another thread, before the record of the grant */
    end(handed_on, 0);
    release(granted(3));
    (void)granted(3);
    assert_right();
    end_history();
}
END_TEST

START_TEST(a_turn_left_out_is_found)
{
    use_history();
    order(granted(1), 1, 1);
    int entry = granted(1);
    order(entry, 2, 3);
    assert_broken("turn left out", entry);
    end_history();
}
END_TEST

START_TEST(a_turn_given_twice_is_found)
{
    use_history();
    order(granted(1), 1, 1);
    int entry = granted(1);
    order(entry, 2, 1);
    assert_broken("turn twice", entry);
    end_history();
}
END_TEST

START_TEST(one_served_before_an_earlier_one_is_found)
{
    use_history();
    int third = granted(1);
    order(granted(1), 1, 1);
    int second = granted(1);
    order(third, 3, 2);
    order(second, 2, 3);
    assert_broken("out of order", second);
    end_history();
}
END_TEST

START_TEST(one_place_given_twice_is_out_of_order)
{
    use_history();
    order(granted(1), 1, 1);
    int entry = granted(1);
    order(entry, 1, 2);
    assert_broken("out of order", entry);
    end_history();
}
END_TEST

enum { THREADS = 4, EACH = 2000 };

/* Threads that take a permit of a lock which counts for one. */
static bly_mutex one;

static void record(void *arg)
{
    belay_history *shared = arg;
    for (int i = 0; i < EACH; i++) {
        int entry = belay_history_begin(shared, 1);
        bly_mutex_lock(&one);
        int result = belay_history_end(shared, entry, 0);
        result |= belay_history_release(shared, entry);
        bly_mutex_unlock(&one);
        if (entry < 0 || result != 0) {
            bly_abort("a thread records", __FILE__, __LINE__);
        }
    }
}

START_TEST(threads_record_at_the_same_time)
{
    bly_thread threads[THREADS];
    ck_assert_int_eq(belay_history_create(1, THREADS * EACH, &history), 0);
    for (int i = 0; i < THREADS; i++) {
        ck_assert_int_eq(bly_thread_create(&threads[i], NULL, record, history), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        bly_thread_join(&threads[i]);
    }
    assert_right();
    ck_assert_uint_eq(belay_history_count(history, 0), THREADS * EACH);
    end_history();
}
END_TEST

UNIT_MAIN("testkit/history", create_refuses_bad_arguments, create_without_memory_leaves_nothing,
          a_full_history_takes_no_more, an_entry_that_has_not_begun_is_refused,
          an_empty_history_is_right, a_right_history_is_right,
          an_acquire_without_an_outcome_is_found, an_acquire_with_two_outcomes_is_found,
          a_task_that_never_ended_is_found, a_task_that_ended_twice_is_found,
          a_second_release_is_found, a_release_of_what_was_refused_is_found,
          a_turn_of_what_was_not_granted_is_found, more_than_the_capacity_is_found_where_it_begins,
          only_what_is_surely_held_counts, a_turn_left_out_is_found, a_turn_given_twice_is_found,
          one_served_before_an_earlier_one_is_found, one_place_given_twice_is_out_of_order,
          threads_record_at_the_same_time)
