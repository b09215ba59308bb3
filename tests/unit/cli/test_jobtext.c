/* A job in words. */
#include "unit.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/jobtext.h"

#define S INT64_C(1000000000)

/* 2026-03-28T11:00:00Z */
#define NOW (INT64_C(1774695600) * S)

static void use_utc(void)
{
    setenv("TZ", "UTC0", 1);
    tzset();
}

static void check_why(const belay_jobs_row *row, const char *expected)
{
    struct bly_bytes text = {0};
    bly_jobtext_why(&text, row, NOW);
    ck_assert_str_eq(bly_bytes_c(&text), expected);
    bly_bytes_free(&text);
}

START_TEST(numbers_have_commas)
{
    static const struct {
        uint64_t number;
        const char *text;
    } cases[] = {{0, "0"}, {999, "999"}, {1000, "1,000"}, {3120, "3,120"}, {1000007, "1,000,007"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct bly_bytes text = {0};
        bly_jobtext_count(&text, cases[i].number);
        ck_assert_str_eq(bly_bytes_c(&text), cases[i].text);
        bly_bytes_free(&text);
    }
}
END_TEST

START_TEST(a_job_that_waits_for_its_time_says_which)
{
    use_utc();
    belay_jobs_row row = {.state = BELAY_JOBS_SCHEDULED,
                          .run_at_ns = NOW + (3 * 3600 + 58 * 60) * S,
                          .why = {.kind = BELAY_JOBS_WHY_AT}};
    check_why(&row, "at 14:58 (3 h 58 min)");
    row.run_at_ns = NOW + 49 * 3600 * S;
    check_why(&row, "at 2026-03-30 12:00 (2 d 1 h)");
    row.run_at_ns = NOW + 1;
    check_why(&row, "at 11:00 (1.0 s)");
}
END_TEST

START_TEST(a_retry_says_which_try_and_when)
{
    belay_jobs_row row = {.state = BELAY_JOBS_SCHEDULED,
                          .run_at_ns = NOW + 40 * S,
                          .tries = 5,
                          .tried = 1,
                          .why = {.kind = BELAY_JOBS_WHY_RETRY}};
    check_why(&row, "retry 2/5 in 40 s");
}
END_TEST

START_TEST(a_limit_says_who_holds_it)
{
    belay_jobs_row row = {.state = BELAY_JOBS_PARKED,
                          .why = {.kind = BELAY_JOBS_WHY_LIMIT,
                                  .name = belay_bytes_text("db"),
                                  .used = 3,
                                  .capacity = 3,
                                  .holders = {41, 42, 43}}};
    check_why(&row, "limit db 3/3 held by 41 42 43");
    row.why.kind = BELAY_JOBS_WHY_TOO_BIG;
    check_why(&row, "limit db has only 3");
    row.why.kind = BELAY_JOBS_WHY_LIMIT_PAUSED;
    check_why(&row, "limit db is paused");
}
END_TEST

START_TEST(what_else_a_job_waits_for)
{
    belay_jobs_row row = {
        .state = BELAY_JOBS_READY,
        .queue = belay_bytes_text("gpu"),
        .why = {.kind = BELAY_JOBS_WHY_NO_WORKER, .name = belay_bytes_text("gpu")}};
    check_why(&row, "no worker for queue gpu");
    row.why.kind = BELAY_JOBS_WHY_QUEUE_PAUSED;
    check_why(&row, "queue gpu is paused");
    row.why.kind = BELAY_JOBS_WHY_QUEUE_MAX;
    row.why.used = 4;
    row.why.capacity = 4;
    check_why(&row, "queue gpu 4/4 running");
    row.why.kind = BELAY_JOBS_WHY_BUSY;
    check_why(&row, "for a free worker");
    row.why.kind = BELAY_JOBS_WHY_PAUSED;
    check_why(&row, "paused");
    row.why.kind = BELAY_JOBS_WHY_STORE_PAUSED;
    check_why(&row, "everything is paused");
    row.why =
        (belay_jobs_why){.kind = BELAY_JOBS_WHY_AFTER, .seq = 17, .state = BELAY_JOBS_RUNNING};
    check_why(&row, "after 17 (running)");
}
END_TEST

START_TEST(names_of_users_are_escaped)
{
    belay_jobs_row row = {
        .state = BELAY_JOBS_READY,
        .why = {.kind = BELAY_JOBS_WHY_NO_WORKER, .name = belay_bytes_text("\x1b[31m")}};
    check_why(&row, "no worker for queue \\x1b[31m");
}
END_TEST

START_TEST(a_running_job_says_for_how_long)
{
    belay_jobs_row row = {.state = BELAY_JOBS_RUNNING, .start_ns = NOW - 12 * S, .tries = 1};
    check_why(&row, "for 12 s");
    row.tries = 5;
    row.tried = 1;
    check_why(&row, "try 2/5, for 12 s");
    row.is_cancel_requested = true;
    check_why(&row, "try 2/5, told to end, for 12 s");
}
END_TEST

static void check_end(uint32_t state, int how, int64_t code, const char *why, int status)
{
    belay_jobs_row row = {
        .state = state, .how = how, .code = code, .end_ns = NOW - 60 * S, .need = 7};
    check_why(&row, why);
    ck_assert_int_eq(bly_jobtext_status(&row), status);
}

START_TEST(an_ended_job_says_how_and_has_a_status)
{
    check_end(BELAY_JOBS_DONE, BELAY_JOBS_HOW_EXITED, 0, "exit 0, 1 min 0 s ago", 0);
    check_end(BELAY_JOBS_FAILED, BELAY_JOBS_HOW_EXITED, 3, "exit 3, 1 min 0 s ago", 3);
    check_end(BELAY_JOBS_FAILED, BELAY_JOBS_HOW_SIGNALED, SIGKILL, "signal 9, 1 min 0 s ago", 137);
    check_end(BELAY_JOBS_FAILED, BELAY_JOBS_HOW_TIMED_OUT, SIGTERM, "timed out, 1 min 0 s ago",
              124);
    check_end(BELAY_JOBS_FAILED, BELAY_JOBS_HOW_NOT_RUNNABLE, ENOENT,
              "not runnable: No such file or directory, 1 min 0 s ago", 127);
    check_end(BELAY_JOBS_FAILED, BELAY_JOBS_HOW_NOT_RUNNABLE, EACCES,
              "not runnable: Permission denied, 1 min 0 s ago", 126);
    check_end(BELAY_JOBS_FAILED, BELAY_JOBS_HOW_LOST, 0, "its runner died, 1 min 0 s ago", 125);
    check_end(BELAY_JOBS_SKIPPED, BELAY_JOBS_HOW_NEED, 7, "7 did not end well, 1 min 0 s ago", 125);
    check_end(BELAY_JOBS_CANCELED, BELAY_JOBS_HOW_CANCELED, 0, "1 min 0 s ago", 125);
}
END_TEST

START_TEST(a_superseded_job_says_by_which)
{
    belay_jobs_row row = {.state = BELAY_JOBS_SUPERSEDED, .replaced_by = 45};
    check_why(&row, "by 45");
}
END_TEST

#define PACKED(text) ((belay_bytes){(text), sizeof(text)})

START_TEST(show_says_all_in_sentences)
{
    use_utc();
    belay_jobs_want want = {.name = belay_bytes_text("db"), .permits = 2};
    belay_jobs_after after = {.job = {.seq = 3}};
    belay_jobs_row row = {.seq = 42,
                          .state = BELAY_JOBS_SCHEDULED,
                          .id = belay_bytes_text("nightly"),
                          .queue = belay_bytes_text("default"),
                          .priority = 5,
                          .tries = 3,
                          .tried = 1,
                          .timeout_ns = 90 * S,
                          .added_ns = NOW - 60 * S,
                          .run_at_ns = NOW + 3600 * S,
                          .wants = &want,
                          .want_count = 1,
                          .after = &after,
                          .after_count = 1,
                          .why = {.kind = BELAY_JOBS_WHY_RETRY},
                          .work = {.command = PACKED("echo\0two words"),
                                   .cwd = belay_bytes_text("/tmp/\x1b"),
                                   .env = PACKED("A=1\0B=2\0MY_TOKEN")}};
    struct bly_bytes text = {0};
    bly_jobtext_show(&text, &row, NOW);
    ck_assert_str_eq(bly_bytes_c(&text),
                     "Job 42 (id nightly) is scheduled: retry 2/3 in 1 h 0 min.\n"
                     "Command: echo 'two words'\n"
                     "Folder: /tmp/\\x1b\n"
                     "It is in the queue default, with priority 5.\n"
                     "It was added 2026-03-28T10:59:00Z, 1 min 0 s ago.\n"
                     "It is due 2026-03-28T12:00:00Z, in 1 h 0 min.\n"
                     "1 of its 3 tries has failed.\n"
                     "A run is ended after 1 min 30 s.\n"
                     "It takes 2 permits of the limit db.\n"
                     "It runs after job 3, when that ends well.\n"
                     "Its environment has 2 variables; from the worker come MY_TOKEN.\n");
    bly_bytes_free(&text);
}
END_TEST

UNIT_MAIN("cli/jobtext", numbers_have_commas, a_job_that_waits_for_its_time_says_which,
          a_retry_says_which_try_and_when, a_limit_says_who_holds_it, what_else_a_job_waits_for,
          names_of_users_are_escaped, a_running_job_says_for_how_long,
          an_ended_job_says_how_and_has_a_status, a_superseded_job_says_by_which,
          show_says_all_in_sentences)
