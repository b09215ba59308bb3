/* Jobs made of the words behind the options, and of the options. */
#include "unit.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "belay/clock.h"
#include "cli/feed.h"
#include "cli/files.h"

#define S INT64_C(1000000000)

static struct bly_runopts usual(void)
{
    return (struct bly_runopts){.input = {.delimiter = '\n'}};
}

/* The commands of all jobs, one a line, and how the feed ended. */
static const char *feed_all(const struct bly_runopts *opts, const char **words)
{
    static struct bly_bytes text;
    struct bly_feed feed;
    bly_job *job = NULL;
    bly_bytes_clear(&text);
    int status = bly_feed_open(&feed, opts, (char **)words, 2);
    enum bly_input_result result = BLY_INPUT_BROKEN;
    while (status == 0 && (result = bly_feed_next(&feed, &job)) == BLY_INPUT_RECORD) {
        bly_job_show(job, &text);
        bly_bytes_byte(&text, '\n');
        bly_job_free(job);
    }
    bly_bytes_text(&text, result == BLY_INPUT_END ? "." : "!");
    bly_feed_close(&feed);
    return bly_bytes_c(&text);
}

#define FEED(opts, ...) feed_all(&opts, (const char *[]){__VA_ARGS__, NULL})

static void write_file(const char *name, const char *text)
{
    int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(bly_files_write(fd, text, strlen(text)), 0);
    close(fd);
}

START_TEST(one_word_is_a_line_and_several_are_words)
{
    struct bly_runopts opts = usual();
    ck_assert_str_eq(FEED(opts, "a; b", ":::", "x y"), "a; b 'x y'\n.");
    ck_assert_str_eq(FEED(opts, "a;", "b", ":::", "x"), "'a;' b x\n.");
    opts.is_joined = true;
    ck_assert_str_eq(FEED(opts, "a;", "b {}", "c", ":::", "x y"), "a; b 'x y' c\n.");
}
END_TEST

START_TEST(without_a_command_arguments_are_lines)
{
    struct bly_runopts opts = usual();
    ck_assert_str_eq(FEED(opts, ":::", "a; b", "c {}"), "a; b\nc {}\n.");
    ck_assert_str_eq(FEED(opts, ":::", "a", ":::", "b"), "a b\n.");
}
END_TEST

START_TEST(files_are_sources_beside_the_words)
{
    struct bly_runopts opts = usual();
    write_file("feed_of_the_test", "1\n2\n");
    bly_words_text(&opts.files, "feed_of_the_test");
    ck_assert_str_eq(FEED(opts, "x", "y", ":::", "a"), "x y 1 a\nx y 2 a\n.");
    struct bly_runopts others = usual();
    ck_assert_str_eq(FEED(others, "x", "y", "::::", "feed_of_the_test", ":::+", "a", "b"),
                     "x y 1 a\nx y 2 b\n.");
    bly_words_free(&opts.files);
    unlink("feed_of_the_test");
}
END_TEST

START_TEST(what_cannot_be_is_refused)
{
    struct bly_runopts opts = usual();
    ck_assert_str_eq(FEED(opts, "a `{}`", ":::", "x"), "!");
    ck_assert_str_eq(FEED(opts, "a", "{= =}", ":::", "x"), "!");
    ck_assert_str_eq(FEED(opts, "a", "b", ":::+", "x"), "!");
    ck_assert_str_eq(FEED(opts, "a", "b", "::::", "/no/such/file"), "!");
    opts.colsep = "(";
    ck_assert_str_eq(FEED(opts, "a", "b", ":::", "x"), "!");
}
END_TEST

START_TEST(jobs_have_what_the_options_say)
{
    struct bly_feed feed;
    struct bly_runopts opts = usual();
    const char *words[] = {"a", "b", ":::", "x", NULL};
    bly_job *job = NULL;
    int64_t now_ns = belay_clock_now(NULL);
    opts.priority = 5;
    opts.timeout_ns = 7;
    opts.tries = 3;
    opts.cwd = "/tmp";
    opts.start_in_ns = 100 * S;
    bly_words_text(&opts.limits, "db");
    ck_assert_int_eq(bly_feed_open(&feed, &opts, (char **)words, 1), 0);
    ck_assert_int_eq(bly_feed_next(&feed, &job), BLY_INPUT_RECORD);
    ck_assert_uint_eq(job->seq, 1);
    ck_assert_int_eq(job->priority, 5);
    ck_assert_int_eq(job->timeout_ns, 7);
    ck_assert_uint_eq(job->tries_max, 3);
    ck_assert_str_eq(job->cwd, "/tmp");
    ck_assert_int_ge(job->start_ns, now_ns + 100 * S);
    ck_assert_str_eq(bly_words_at(&job->limits, 0), "db");
    bly_job_free(job);
    ck_assert_int_eq(bly_feed_next(&feed, &job), BLY_INPUT_END);
    bly_feed_close(&feed);
    bly_words_free(&opts.limits);
}
END_TEST

START_TEST(lines_of_json_are_jobs)
{
    struct bly_runopts opts = usual();
    write_file("feed.jsonl", "\"a; b\"\n\n[\"c\"]\n{\"bad\": 1}\n");
    bly_words_text(&opts.files, "feed.jsonl");
    ck_assert_str_eq(FEED(opts, NULL), "a; b\nc\n!");
    struct bly_runopts named = usual();
    named.jsonl = "feed.jsonl";
    ck_assert_str_eq(FEED(named, NULL), "a; b\nc\n!");
    bly_words_free(&opts.files);
    unlink("feed.jsonl");
}
END_TEST

START_TEST(a_log_gives_what_failed)
{
    struct bly_joblog log;
    struct bly_feed feed;
    struct bly_runopts opts = usual();
    struct bly_bytes text = {0};
    bly_job *job = NULL;
    write_file("feed.log", "2\t:\t1.0\t1.0\t0\t0\t1\t0\ta; b\n1\t:\t1.0\t1.0\t0\t0\t0\t0\tc\n");
    ck_assert_int_eq(bly_joblog_open(&log, "feed.log", BLY_JOBLOG_LOOK), 0);
    bly_feed_open_log(&feed, &opts, &log);
    ck_assert_int_eq(bly_feed_next(&feed, &job), BLY_INPUT_RECORD);
    ck_assert_uint_eq(job->seq, 2);
    bly_job_show(job, &text);
    ck_assert_str_eq(bly_bytes_c(&text), "a; b");
    bly_job_free(job);
    ck_assert_int_eq(bly_feed_next(&feed, &job), BLY_INPUT_END);
    bly_feed_close(&feed);
    bly_joblog_close(&log);
    bly_bytes_free(&text);
    unlink("feed.log");
}
END_TEST

UNIT_MAIN("cli/feed", one_word_is_a_line_and_several_are_words,
          without_a_command_arguments_are_lines, files_are_sources_beside_the_words,
          what_cannot_be_is_refused, jobs_have_what_the_options_say, lines_of_json_are_jobs,
          a_log_gives_what_failed)
