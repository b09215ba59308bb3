/*
 * test_opts.c: options structs of other sizes.
 */
#include "unit.h"

#include "base/opts.h"

#include "belay/base.h"

typedef struct options {
    uint32_t size;
    uint32_t first;
    uint64_t second;
} options;

typedef struct newer_options {
    options known;
    uint64_t third;
} newer_options;

static const options before = {1, 2, 3};

static void expect(const options *read, uint32_t first, uint64_t second)
{
    ck_assert_uint_eq(read->size, sizeof(options));
    ck_assert_uint_eq(read->first, first);
    ck_assert_uint_eq(read->second, second);
}

START_TEST(same_size_is_copied)
{
    options read = before;
    const options given = {sizeof given, 5, 6};
    ck_assert_int_eq(bly_opts_read(&read, sizeof read, &given), 0);
    expect(&read, 5, 6);
}
END_TEST

START_TEST(null_means_all_defaults)
{
    options read = before;
    ck_assert_int_eq(bly_opts_read(&read, sizeof read, NULL), 0);
    expect(&read, 0, 0);
}
END_TEST

START_TEST(older_struct_lacks_only_what_it_lacks)
{
    options read = before;
    const options given = {offsetof(options, second), 5, 6};
    ck_assert_int_eq(bly_opts_read(&read, sizeof read, &given), 0);
    expect(&read, 5, 0);
    const options bare = {sizeof(uint32_t), 5, 6};
    ck_assert_int_eq(bly_opts_read(&read, sizeof read, &bare), 0);
    expect(&read, 0, 0);
}
END_TEST

START_TEST(newer_struct_passes_while_its_tail_is_zero)
{
    options read = before;
    newer_options given = {{sizeof given, 5, 6}, 0};
    ck_assert_int_eq(bly_opts_read(&read, sizeof read, &given), 0);
    expect(&read, 5, 6);
}
END_TEST

START_TEST(unknown_option_is_refused)
{
    options read = before;
    newer_options given = {{sizeof given, 5, 6}, UINT64_C(1) << 63};
    ck_assert_int_eq(bly_opts_read(&read, sizeof read, &given), BELAY_EINVAL);
    ck_assert_mem_eq(&read, &before, sizeof read);
}
END_TEST

START_TEST(impossible_sizes_are_refused)
{
    options read = before;
    static const uint32_t sizes[] = {0, 1, 3, BLY_OPTS_SIZE_MAX + 1, UINT32_MAX};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        const options given = {sizes[i], 5, 6};
        ck_assert_int_eq(bly_opts_read(&read, sizeof read, &given), BELAY_EINVAL);
    }
    ck_assert_mem_eq(&read, &before, sizeof read);
}
END_TEST

START_TEST(largest_size_is_accepted)
{
    static struct {
        options known;
        unsigned char tail[BLY_OPTS_SIZE_MAX - sizeof(options)];
    } given = {.known = {BLY_OPTS_SIZE_MAX, 5, 6}};
    options read = before;
    ck_assert_int_eq(bly_opts_read(&read, sizeof read, &given), 0);
    given.tail[sizeof given.tail - 1] = 1;
    ck_assert_int_eq(bly_opts_read(&read, sizeof read, &given), BELAY_EINVAL);
}
END_TEST

START_TEST(as_much_is_written_as_the_caller_knows)
{
    const options from = {sizeof from, 1, 2};
    options all = {sizeof all, 8, 9};
    ck_assert_int_eq(bly_opts_write(&all, &from, sizeof from), 0);
    expect(&all, 1, 2);
    options less = {offsetof(options, second), 8, 9};
    ck_assert_int_eq(bly_opts_write(&less, &from, sizeof from), 0);
    ck_assert_uint_eq(less.size, offsetof(options, second));
    ck_assert_uint_eq(less.first, 1);
    ck_assert_uint_eq(less.second, 9);
    newer_options more = {{sizeof more, 8, 9}, 7};
    ck_assert_int_eq(bly_opts_write(&more, &from, sizeof from), 0);
    ck_assert_uint_eq(more.known.second, 2);
    ck_assert_uint_eq(more.third, 7);
}
END_TEST

START_TEST(impossible_sizes_are_not_written_to)
{
    const options from = {sizeof from, 1, 2};
    static const uint32_t sizes[] = {0, 3, BLY_OPTS_SIZE_MAX + 1};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        options none = {sizes[i], 8, 9};
        ck_assert_int_eq(bly_opts_write(&none, &from, sizeof from), BELAY_EINVAL);
        ck_assert_uint_eq(none.first, 8);
        ck_assert_uint_eq(none.second, 9);
    }
}
END_TEST

UNIT_MAIN("base/opts", same_size_is_copied, null_means_all_defaults,
          older_struct_lacks_only_what_it_lacks, newer_struct_passes_while_its_tail_is_zero,
          unknown_option_is_refused, impossible_sizes_are_refused, largest_size_is_accepted,
          as_much_is_written_as_the_caller_knows, impossible_sizes_are_not_written_to)
