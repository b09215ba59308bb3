/* The options of `belay run`. */
#include "unit.h"

#include <string.h>

#include "cli/runopts.h"

static struct bly_runopts opts;

static int parse(const char *const *words)
{
    char *argv[20] = {(char[]){"run"}};
    int argc = 1;
    int rest = 0;
    for (; *words != NULL; words++) {
        argv[argc++] = (char *)*words;
    }
    bly_runopts_free(&opts);
    opts = (struct bly_runopts){.input = {.delimiter = '\n'}};
    return bly_options_parse(&bly_runopts_options, argc, argv, &opts, &rest);
}

#define PARSE(...)   ck_assert_int_eq(parse((const char *const[]){__VA_ARGS__, NULL}), 0)
#define REFUSED(...) ck_assert_int_eq(parse((const char *const[]){__VA_ARGS__, NULL}), -1)

START_TEST(inputs_are_read)
{
    PARSE("-a", "x", "--arg-file", "y", "-0", "-r", "-I", "@", "-C", ",", "-n", "3", "-E", "END");
    ck_assert_uint_eq(opts.files.count, 2);
    ck_assert_int_eq(opts.input.delimiter, '\0');
    ck_assert(opts.input.skips_blank);
    ck_assert_str_eq(opts.whole, "@");
    ck_assert_str_eq(opts.colsep, ",");
    ck_assert_uint_eq(opts.pack.rows_max, 3);
    ck_assert_str_eq(opts.input.end_at, "END");
    PARSE("-n0");
    ck_assert(opts.pack.is_dropped);
    ck_assert_uint_eq(opts.pack.rows_max, 1);
    PARSE("-X");
    ck_assert(opts.pack.is_filled && opts.has_context && opts.deals);
    PARSE("--xargs");
    ck_assert(opts.pack.is_filled && !opts.has_context && !opts.deals);
    PARSE("-L2");
    ck_assert(opts.input.joins_blank && opts.has_context);
}
END_TEST

START_TEST(delimiters_are_one_byte)
{
    static const struct {
        const char *text;
        char byte;
    } cases[] = {{",", ','},     {"\\n", '\n'},   {"\\t", '\t'},  {"\\0", '\0'},
                 {"\\\\", '\\'}, {"\\x1f", 0x1f}, {"\\054", ','}, {"\\", '\\'}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        PARSE("-d", cases[i].text);
        ck_assert_int_eq(opts.input.delimiter, cases[i].byte);
    }
    REFUSED("-d", "");
    REFUSED("-d", "ab");
    REFUSED("-d", "\\x");
    REFUSED("-d", "\\xfff");
    REFUSED("-d", "\\q");
}
END_TEST

START_TEST(jobs_are_read)
{
    PARSE("-j", "3", "--timeout", "1m", "--tries", "2", "--halt", "now,fail=1", "--delay", "0.5",
          "--limit", "db=2", "--limit", "gpu", "--priority", "-4");
    ck_assert_int_eq(opts.jobs.kind, BLY_AMOUNT_NUMBER);
    ck_assert_int_eq(opts.timeout_ns, INT64_C(60000000000));
    ck_assert_uint_eq(opts.tries, 2);
    ck_assert_int_eq(opts.halt.when, BLY_HALT_NOW);
    ck_assert_int_eq(opts.delay_ns, 500000000);
    ck_assert_uint_eq(opts.limits.count, 2);
    ck_assert_int_eq(opts.priority, -4);
    PARSE("-P", "0", "--timeout", "200%", "--retries", "5", "--load", "80%", "--memfree", "1G");
    ck_assert_int_eq(opts.jobs.kind, BLY_AMOUNT_ALL);
    ck_assert_double_eq(opts.timeout_percent, 200);
    ck_assert_uint_eq(opts.tries, 5);
    ck_assert_int_eq(opts.load.kind, BLY_AMOUNT_PERCENT);
    ck_assert_uint_eq(opts.memory_free, UINT64_C(1) << 30);
    REFUSED("-j", "x");
    REFUSED("--timeout", "50%");
    REFUSED("--timeout", "1y");
    REFUSED("--retries", "0");
    REFUSED("--limit", "a:0");
    REFUSED("--halt", "sometimes");
    REFUSED("--priority", "high");
    REFUSED("--priority", "32768");
    REFUSED("--in", "soon");
    REFUSED("--at", "2001-01-01");
}
END_TEST

START_TEST(outputs_are_read)
{
    PARSE("-k", "--tag", "--line-buffer", "--results", "d", "--joblog", "l", "--resume-failed",
          "--dry-run", "-t");
    ck_assert(opts.keeps_order && opts.has_tag && opts.is_dry && opts.shows_commands_err);
    ck_assert_int_eq(opts.mode, BLY_OUTPUT_LINES);
    ck_assert_str_eq(opts.results, "d");
    ck_assert_str_eq(opts.joblog, "l");
    ck_assert_int_eq(opts.resume, BLY_RESUME_FAILED);
    PARSE("-u", "--tagstring", "{#}");
    ck_assert_int_eq(opts.mode, BLY_OUTPUT_RAW);
    ck_assert_str_eq(opts.tag, "{#}");
}
END_TEST

START_TEST(options_said_no_to_are_refused)
{
    static const char *const names[] = {"--pipe",     "--sshlogin=h", "-Sh",
                                        "--transfer", "--semaphore",  "--plus",
                                        "--rpl=x",    "--tmux",       "--header=:"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        REFUSED(names[i]);
    }
}
END_TEST

START_TEST(every_option_is_offered_or_refused)
{
    const struct bly_options *options = &bly_runopts_options;
    for (size_t i = 0; i < options->count; i++) {
        const struct bly_option *option = &options->table[i];
        bool is_title = option->name == NULL && option->letter == 0;
        ck_assert_msg(is_title || (option->set != NULL) != (option->instead != NULL), "%s",
                      option->name);
        for (size_t k = 0; k < i && !is_title; k++) {
            const struct bly_option *other = &options->table[k];
            bool is_same = (option->letter != 0 && option->letter == other->letter) ||
                           (option->name != NULL && other->name != NULL &&
                            strcmp(option->name, other->name) == 0);
            ck_assert_msg(!is_same, "%s and %s", option->name, other->name);
        }
    }
}
END_TEST

UNIT_MAIN("cli/runopts", inputs_are_read, delimiters_are_one_byte, jobs_are_read, outputs_are_read,
          options_said_no_to_are_refused, every_option_is_offered_or_refused)
