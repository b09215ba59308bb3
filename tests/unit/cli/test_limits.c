/* Named limits: the words for them, their permits, and who gets them. */
#include "unit.h"

#include <stdio.h>

#include "cli/limits.h"
#include "cli/sems.h"

/* A job as far as limits know it. */
struct asker {
    struct bly_permits permits;
    int turns;   /* it was told that it holds all */
    int refused; /* it was told that the limits are closed */
};

static struct bly_limits limits;
static belay_timers *timers;

static void open_limits(void)
{
    timers = bly_sems_open();
    limits = (struct bly_limits){.timers = timers};
}

static void close_limits(void)
{
    bly_limits_free(&limits);
    bly_sems_close(timers);
}

/* Why the limits in a list that ends with NULL cannot be had. */
static const char *declare(struct bly_permits *ret_permits, const char *const *texts)
{
    struct bly_words specs = {0};
    for (; *texts != NULL; texts++) {
        bly_words_text(&specs, *texts);
    }
    const char *why = bly_limits_declare(&limits, &specs, ret_permits);
    bly_words_free(&specs);
    return why;
}

#define DECLARE(ret_permits, ...) declare(ret_permits, (const char *const[]){__VA_ARGS__, NULL})

#define ASKER(name, ...)                                                                           \
    struct asker name = {0};                                                                       \
    ck_assert_ptr_null(DECLARE(&(name).permits, __VA_ARGS__))

static void on_turn(void *arg, bool is_had)
{
    struct asker *asker = arg;
    asker->turns += is_had;
    asker->refused += !is_had;
}

/* True: it has what it wants. False: it waits. */
static bool ask(struct asker *asker)
{
    if (bly_permits_take(&asker->permits)) {
        return true;
    }
    bly_permits_await(&asker->permits, on_turn, asker);
    return false;
}

static void leave(struct asker *asker)
{
    bly_permits_give(&asker->permits);
    bly_permits_free(&asker->permits);
}

static void check_refused(const char *text)
{
    struct bly_permits permits = {0};
    ck_assert_msg(DECLARE(&permits, text) != NULL, "%s was accepted", text);
    ck_assert_ptr_null(permits.wants);
}

START_TEST(a_new_limit_has_one_permit_or_as_many_as_said)
{
    open_limits();
    ASKER(one, "db");
    ASKER(other, "db");
    ASKER(two, "gpu=3", "gpu:1");
    ASKER(third, "gpu");
    ASKER(fourth, "gpu");
    ck_assert(bly_permits_take(&one.permits));
    ck_assert(!bly_permits_take(&other.permits));
    ck_assert(bly_permits_take(&two.permits));
    ck_assert(bly_permits_take(&third.permits));
    ck_assert(!bly_permits_take(&fourth.permits));
    bly_permits_give(&one.permits);
    ck_assert(bly_permits_take(&other.permits));
    leave(&one);
    leave(&other);
    leave(&two);
    leave(&third);
    leave(&fourth);
    close_limits();
}
END_TEST

START_TEST(another_capacity_or_more_than_there_is_is_refused)
{
    open_limits();
    ASKER(first, "x=2");
    ASKER(same, "x=2");
    ASKER(all, "x:2");
    check_refused("x=3");
    check_refused("x:3");
    check_refused("y:2");
    struct bly_permits permits = {0};
    ck_assert_ptr_nonnull(DECLARE(&permits, "x:2", "x"));
    leave(&first);
    leave(&same);
    leave(&all);
    close_limits();
}
END_TEST

START_TEST(there_are_at_most_a_thousand_limits)
{
    open_limits();
    for (int i = 0; i < BLY_LIMITS_MAX; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "l%d", i);
        ASKER(asker, name);
        leave(&asker);
    }
    check_refused("one more");
    ASKER(known, "l999");
    leave(&known);
    close_limits();
}
END_TEST

START_TEST(several_limits_are_taken_together_or_not_at_all)
{
    open_limits();
    ASKER(both, "a", "b");
    ASKER(first, "a");
    ASKER(second, "b");
    ck_assert(ask(&second));
    ck_assert(!ask(&both));
    ck_assert(ask(&first));
    leave(&first);
    ck_assert_int_eq(both.turns, 0);
    leave(&second);
    ck_assert_int_eq(both.turns, 1);
    leave(&both);
    close_limits();
}
END_TEST

START_TEST(who_wants_many_permits_is_not_overtaken)
{
    open_limits();
    ASKER(small, "x=2");
    ASKER(large, "x:2");
    ASKER(late, "x");
    ck_assert(ask(&small));
    ck_assert(!ask(&large));
    ck_assert(!ask(&late));
    leave(&small);
    ck_assert_int_eq(large.turns, 1);
    ck_assert_int_eq(late.turns, 0);
    leave(&large);
    ck_assert_int_eq(late.turns, 1);
    leave(&late);
    close_limits();
}
END_TEST

/*
 * Three jobs that want both limits stand where giving back what they got would pass two permits
 * round among them without end.
 */
START_TEST(jobs_that_want_the_same_limits_all_get_them)
{
    open_limits();
    ASKER(holder_a, "a");
    ASKER(holder_b, "b");
    ASKER(one, "a", "b");
    ASKER(two, "b", "a");
    ASKER(three, "a", "b");
    struct asker *waiting[] = {&one, &two, &three};
    ck_assert(ask(&holder_b));
    ck_assert(!ask(&two)); /* waits for b */
    ck_assert(ask(&holder_a));
    ck_assert(!ask(&one));
    ck_assert(!ask(&three)); /* both wait for a */
    leave(&holder_a);
    leave(&holder_b);
    for (int done = 1; done <= 3; done++) {
        struct asker *running = NULL;
        int turns = 0;
        for (int i = 0; i < 3; i++) {
            turns += waiting[i]->turns;
            running =
                waiting[i]->turns == 1 && waiting[i]->permits.count > 0 ? waiting[i] : running;
        }
        ck_assert_int_eq(turns, done);
        ck_assert_ptr_nonnull(running);
        leave(running);
    }
    close_limits();
}
END_TEST

enum { JOBS = 12, ROUNDS = 200 };

static uint32_t draw(uint32_t *seed, uint32_t below)
{
    *seed = *seed * 1664525 + 1013904223;
    return (*seed >> 16) % below;
}

/* A job that wants some of three limits. */
static void ask_for_some(struct asker *asker, uint32_t *seed)
{
    static const char *const names[] = {"a=2", "b", "c=3"};
    uint32_t set = draw(seed, 7) + 1;
    const char *texts[4] = {0};
    for (int bit = 0, at = 0; bit < 3; bit++) {
        if ((set >> bit & 1) != 0) {
            texts[at++] = names[bit];
        }
    }
    ck_assert_ptr_null(declare(&asker->permits, texts));
    asker->turns = ask(asker);
}

/* One of the jobs that hold what they want; NULL when there is none. */
static struct asker *one_that_runs(struct asker *askers, uint32_t *seed)
{
    struct asker *found = NULL;
    for (int i = 0; i < JOBS; i++) {
        bool is_running = askers[i].turns == 1 && askers[i].permits.count > 0;
        if (is_running && (found == NULL || draw(seed, 2) == 0)) {
            found = &askers[i];
        }
    }
    return found;
}

/* Every history of a few jobs on a few limits ends with each of them served once. */
START_TEST(all_are_served_in_random_histories)
{
    uint32_t seed = 1;
    open_limits();
    for (int round = 0; round < ROUNDS; round++) {
        struct asker askers[JOBS] = {0};
        for (int i = 0; i < JOBS; i++) {
            ask_for_some(&askers[i], &seed);
        }
        for (int left = JOBS; left > 0; left--) {
            struct asker *running = one_that_runs(askers, &seed);
            ck_assert_msg(running != NULL, "round %d: nobody of %d can run", round, left);
            leave(running);
        }
        for (int i = 0; i < JOBS; i++) {
            ck_assert_int_eq(askers[i].turns, 1);
        }
    }
    close_limits();
}
END_TEST

START_TEST(closing_tells_who_waits)
{
    open_limits();
    ASKER(holder, "a", "b");
    ASKER(waiting, "b");
    ASKER(both, "a", "b");
    ck_assert(ask(&holder));
    ck_assert(!ask(&waiting));
    ck_assert(!ask(&both));
    bly_limits_close(&limits);
    ck_assert_int_eq(waiting.refused, 1);
    ck_assert_int_eq(both.refused, 1);
    ASKER(late, "a");
    ck_assert(!ask(&late));
    ck_assert_int_eq(late.refused, 1);
    leave(&late);
    leave(&waiting);
    leave(&both);
    leave(&holder);
    close_limits();
}
END_TEST

UNIT_MAIN("cli/limits", a_new_limit_has_one_permit_or_as_many_as_said,
          another_capacity_or_more_than_there_is_is_refused, there_are_at_most_a_thousand_limits,
          several_limits_are_taken_together_or_not_at_all, who_wants_many_permits_is_not_overtaken,
          jobs_that_want_the_same_limits_all_get_them, all_are_served_in_random_histories,
          closing_tells_who_waits)
