/* The options of add. */
#include "unit.h"

#include <string.h>

#include "cli/addopts.h"

static int parse(struct bly_addopts *opts, const char *const *words)
{
    char *argv[20] = {(char[]){"add"}};
    int argc = 1;
    int rest = 0;
    for (; *words != NULL; words++) {
        argv[argc++] = (char *)*words;
    }
    return bly_options_parse(&bly_addopts_options, argc, argv, opts, &rest);
}

#define PARSE(...) parse(&opts, (const char *const[]){__VA_ARGS__, NULL})

#define REFUSED(...)                                                                               \
    do {                                                                                           \
        struct bly_addopts opts = {0};                                                             \
        ck_assert_int_eq(PARSE(__VA_ARGS__), -1);                                                  \
        bly_addopts_free(&opts);                                                                   \
    } while (0)

START_TEST(values_go_to_their_fields)
{
    struct bly_addopts opts = {0};
    ck_assert_int_eq(PARSE("--priority", "-4", "--limit", "db=2", "--limit", "gpu:3", "--timeout",
                           "1m", "--tries", "5", "--queue", "night", "--id", "backup", "--replace"),
                     0);
    ck_assert_int_eq(opts.priority, -4);
    ck_assert_uint_eq(opts.limits.count, 2);
    ck_assert_str_eq(bly_words_at(&opts.limits, 1), "gpu:3");
    ck_assert_int_eq(opts.timeout_ns, INT64_C(60000000000));
    ck_assert_uint_eq(opts.tries, 5);
    ck_assert_str_eq(opts.queue, "night");
    ck_assert_str_eq(opts.id, "backup");
    ck_assert(opts.is_replacing);
    bly_addopts_free(&opts);
    opts = (struct bly_addopts){0};
    ck_assert_int_eq(PARSE("--after", "17", "--after", "backup", "--after-any", "3", "--every",
                           "1h", "--env", "A=1", "--env-from-worker", "B", "--lost", "fail",
                           "--start"),
                     0);
    ck_assert_uint_eq(opts.after.count, 2);
    ck_assert_str_eq(bly_words_at(&opts.after_any, 0), "3");
    ck_assert_int_eq(opts.every_ns, INT64_C(3600000000000));
    ck_assert_str_eq(bly_words_at(&opts.env, 0), "A=1");
    ck_assert_str_eq(bly_words_at(&opts.env_from_worker, 0), "B");
    ck_assert(opts.fails_when_lost);
    ck_assert(opts.starts_worker);
    bly_addopts_free(&opts);
}
END_TEST

START_TEST(what_is_wrong_is_refused)
{
    REFUSED("--priority", "32768");
    REFUSED("--limit", "a=0");
    REFUSED("--timeout", "1y");
    REFUSED("--tries", "0");
    REFUSED("--queue", "");
    REFUSED("--id", "17");
    REFUSED("--after", "0");
    REFUSED("--after-any", "a\tb");
    REFUSED("--every", "0");
    REFUSED("--env", "=x");
    REFUSED("--env-from-worker", "A=1");
    REFUSED("--lost", "perhaps");
    REFUSED("--at", "2001-01-01");
    REFUSED("--notify", "");
    REFUSED("--store", "");
}
END_TEST

START_TEST(a_job_has_at_most_16_limits)
{
    struct bly_addopts opts = {0};
    for (int i = 0; i < 16; i++) {
        ck_assert_int_eq(PARSE("--limit", "a"), 0);
    }
    ck_assert_int_eq(PARSE("--limit", "a"), -1);
    bly_addopts_free(&opts);
}
END_TEST

UNIT_MAIN("cli/addopts", values_go_to_their_fields, what_is_wrong_is_refused,
          a_job_has_at_most_16_limits)
