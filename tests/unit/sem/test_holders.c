/* Who holds what, since when and from where. */
#include "sem_unit.h"

static belay_lease leases[100];

static char log_text[8192];
static int log_lines;

static void write_log(const char *line, void *arg)
{
    ck_assert_ptr_eq(arg, log_text);
    log_lines++;
    strncat(log_text, line, sizeof log_text - strlen(log_text) - 2);
    strcat(log_text, "\n");
}

static void open_tracking(uint32_t capacity)
{
    unit_open_clock();
    log_text[0] = '\0';
    log_lines = 0;
    belay_sem_opts opts = unit_opts(capacity);
    opts.track_holders = 1;
    opts.name = "pool";
    opts.log = write_log;
    opts.log_arg = log_text;
    ck_assert_int_eq(belay_sem_create(&opts, &unit_sem), 0);
}

START_TEST(holders_are_listed_oldest_first)
{
    belay_sem_holder holders[8];
    open_tracking(10);
    unit_hold(&leases[0], 3);
    unit_advance(5);
    unit_hold(&leases[1], 2);
    unit_advance(7);
    ck_assert_int_eq(belay_sem_holders(unit_sem, holders, 8), 2);
    ck_assert_ptr_eq(holders[0].lease, &leases[0]);
    ck_assert_uint_eq(holders[0].permits, 3);
    ck_assert_int_eq(holders[0].age_ns, 12);
    ck_assert_ptr_eq(holders[1].lease, &leases[1]);
    ck_assert_int_eq(holders[1].age_ns, 7);
    ck_assert_int_eq(unit_stats().oldest_held_ns, 12);
    ck_assert_uint_eq(unit_stats().granted_at_once, 2);
    ck_assert_uint_eq(unit_stats().tracks_holders, 1);
    unit_release(&leases[0]);
    ck_assert_int_eq(belay_sem_holders(unit_sem, holders, 8), 1);
    unit_release(&leases[1]);
    ck_assert_int_eq(unit_stats().oldest_held_ns, 0);
    unit_close();
}
END_TEST

START_TEST(a_holder_who_waited_is_listed_from_its_callback_on)
{
    belay_sem_holder holder;
    waiter self = unit_waiter();
    open_tracking(1);
    unit_hold(&leases[0], 1);
    unit_queue(&self, 1);
    unit_advance(100);
    unit_release(&leases[0]);
    unit_advance(9);
    ck_assert_int_eq(belay_sem_holders(unit_sem, &holder, 1), 1);
    ck_assert_ptr_eq(holder.lease, &self.lease);
    ck_assert_int_eq(holder.age_ns, 9);
    ck_assert_ptr_nonnull(holder.site);
    ck_assert_uint_eq(unit_stats().granted_at_once, 1);
    unit_release(&self.lease);
    unit_close();
}
END_TEST

/* Two places in the code; not inlined, so that each has an address of its own. */
__attribute__((noinline)) static int acquire_here(belay_lease *lease)
{
    int result = belay_sem_acquire(unit_sem, lease, 1, BELAY_NOW, NULL);
    return result * 2;
}

START_TEST(holders_tell_where_they_acquired)
{
    belay_sem_holder holders[3];
    open_tracking(3);
    ck_assert_int_eq(acquire_here(&leases[0]), 0);
    ck_assert_int_eq(acquire_here(&leases[1]), 0);
    unit_hold(&leases[2], 1);
    ck_assert_int_eq(belay_sem_holders(unit_sem, holders, 3), 3);
    ck_assert_ptr_eq(holders[0].site, holders[1].site);
    ck_assert_ptr_ne(holders[0].site, holders[2].site);
    for (int i = 0; i < 3; i++) {
        unit_release(&leases[i]);
    }
    unit_close();
}
END_TEST

START_TEST(a_moved_lease_keeps_its_place_and_age)
{
    belay_sem_holder holders[3];
    open_tracking(3);
    for (int i = 0; i < 2; i++) {
        unit_hold(&leases[i], 1);
        unit_advance(10);
    }
    ck_assert_int_eq(belay_lease_move(&leases[0], &leases[2]), 0);
    ck_assert_int_eq(belay_sem_holders(unit_sem, holders, 3), 2);
    ck_assert_ptr_eq(holders[0].lease, &leases[2]);
    ck_assert_int_eq(holders[0].age_ns, 20);
    unit_release(&leases[2]);
    unit_release(&leases[1]);
    unit_close();
}
END_TEST

START_TEST(holders_write_no_more_than_was_asked_for)
{
    belay_sem_holder holders[100];
    open_tracking(100);
    for (int i = 0; i < 100; i++) {
        unit_hold(&leases[i], 1);
    }
    ck_assert_int_eq(belay_sem_holders(unit_sem, holders, 3), 3);
    ck_assert_int_eq(belay_sem_holders(unit_sem, holders, 100), BELAY_SEM_HOLDERS_MAX);
    ck_assert_int_eq(belay_sem_holders(unit_sem, NULL, 0), 0);
    ck_assert_int_eq(belay_sem_holders(unit_sem, NULL, 1), BELAY_EINVAL);
    ck_assert_int_eq(belay_sem_holders(NULL, holders, 1), BELAY_EINVAL);
    for (int i = 0; i < 100; i++) {
        unit_release(&leases[i]);
    }
    unit_close();
}
END_TEST

START_TEST(a_refused_destroy_tells_the_log_who_holds)
{
    open_tracking(100);
    for (int i = 0; i < 20; i++) {
        unit_hold(&leases[i], i == 0 ? 5 : 1);
    }
    unit_advance(42);
    ck_assert_int_eq(belay_sem_destroy(unit_sem), BELAY_EBUSY);
    ck_assert_int_eq(log_lines, 16);
    ck_assert_ptr_nonnull(strstr(log_text, "pool: lease "));
    ck_assert_ptr_nonnull(strstr(log_text, " holds 5 for 42 ns, acquired at 0x"));
    for (int i = 0; i < 20; i++) {
        unit_release(&leases[i]);
    }
    unit_close();
    ck_assert_int_eq(log_lines, 16);
}
END_TEST

START_TEST(without_tracking_nobody_is_listed)
{
    belay_sem_holder holder;
    unit_open(1);
    unit_hold(&leases[0], 1);
    ck_assert_int_eq(belay_sem_holders(unit_sem, &holder, 1), 0);
    ck_assert_int_eq(unit_stats().oldest_held_ns, 0);
    ck_assert_int_eq(belay_sem_destroy(unit_sem), BELAY_EBUSY);
    unit_release(&leases[0]);
    unit_close();
}
END_TEST

static int look_inside(void *arg)
{
    belay_sem_holder *holder = arg;
    ck_assert_int_eq(belay_sem_holders(unit_sem, holder, 1), 1);
    return 0;
}

START_TEST(with_is_listed_under_its_caller)
{
    belay_sem_holder holder;
    belay_sem_holder other;
    open_tracking(2);
    ck_assert_int_eq(belay_sem_with(unit_sem, 2, BELAY_NOW, NULL, look_inside, &holder), 0);
    ck_assert_uint_eq(holder.permits, 2);
    ck_assert_int_eq(acquire_here(&leases[0]), 0);
    ck_assert_int_eq(belay_sem_holders(unit_sem, &other, 1), 1);
    ck_assert_ptr_ne(holder.site, other.site);
    unit_release(&leases[0]);
    unit_close();
}
END_TEST

UNIT_MAIN("sem/holders", holders_are_listed_oldest_first,
          a_holder_who_waited_is_listed_from_its_callback_on, holders_tell_where_they_acquired,
          a_moved_lease_keeps_its_place_and_age, holders_write_no_more_than_was_asked_for,
          a_refused_destroy_tells_the_log_who_holds, without_tracking_nobody_is_listed,
          with_is_listed_under_its_caller)
