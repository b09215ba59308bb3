/* Who may look for a while before sleeping, and for how long. */
#include "../unit.h"

#include "time/spin.h"

START_TEST(nobody_spins_where_there_is_one_cpu)
{
    bly_spin spin;
    bly_spin_prepare();
    ck_assert_uint_ge(bly_spin_set_cpus(1), 1);
    ck_assert(!bly_spin_begin(&spin, 1000));
    ck_assert_uint_eq(bly_spin_set_cpus(0), 1);
    ck_assert(!bly_spin_begin(&spin, 1000));
}
END_TEST

START_TEST(one_cpu_is_left_to_those_that_work)
{
    bly_spin first, second, third;
    bly_spin_set_cpus(3);
    ck_assert(bly_spin_begin(&first, 1000));
    ck_assert(bly_spin_begin(&second, 1000));
    ck_assert(!bly_spin_begin(&third, 1000));
    bly_spin_end();
    ck_assert(bly_spin_begin(&third, 1000));
    bly_spin_end();
    bly_spin_end();
}
END_TEST

START_TEST(a_limit_of_nothing_is_no_spin)
{
    bly_spin spin;
    bly_spin_set_cpus(2);
    ck_assert(!bly_spin_begin(&spin, 0));
    ck_assert(bly_spin_begin(&spin, 1));
    bly_spin_end();
}
END_TEST

START_TEST(a_spin_goes_on_for_a_while_and_ends)
{
    bly_spin spin;
    bly_spin_set_cpus(2);
    ck_assert(bly_spin_begin(&spin, 1000));
    ck_assert(bly_spin_go_on(&spin));
    while (bly_spin_go_on(&spin)) {
    }
    ck_assert_int_ne(spin.end_ns, 0);
    bly_spin_end();
}
END_TEST

UNIT_MAIN("time/spin", nobody_spins_where_there_is_one_cpu, one_cpu_is_left_to_those_that_work,
          a_limit_of_nothing_is_no_spin, a_spin_goes_on_for_a_while_and_ends)
