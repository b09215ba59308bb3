/* Jobs from lines of JSON. */
#include "unit.h"

#include <string.h>

#include "belay/clock.h"
#include "cli/jsonl.h"

static const struct bly_template batch; /* a command on the command line */

static bly_job *make_job(void)
{
    bly_job *job = bly_job_make(1);
    job->template = &batch;
    return job;
}

/* The job of a line; NULL after a refusal, whose reason is in *ret_why. */
static bly_job *read_line(const char *line, bool has_template, struct bly_bytes *ret_why)
{
    bly_job *job = make_job();
    bly_bytes_clear(ret_why);
    if (bly_jsonl_read((struct bly_slice){line, strlen(line)}, has_template, job, ret_why) != 0) {
        bly_job_free(job);
        return NULL;
    }
    return job;
}

/* Checks the command of a line, as one would type it. */
static void check_command(const char *line, const char *expected)
{
    struct bly_bytes why = {0};
    struct bly_bytes shown = {0};
    bly_job *job = read_line(line, false, &why);
    ck_assert_msg(job != NULL, "%s: %s", line, bly_bytes_c(&why));
    bly_job_show(job, &shown);
    ck_assert_str_eq(bly_bytes_c(&shown), expected);
    bly_job_free(job);
    bly_bytes_free(&shown);
    bly_bytes_free(&why);
}

START_TEST(commands_are_lines_or_words)
{
    check_command("\"echo a; echo b\"", "echo a; echo b");
    check_command("[\"echo\", \"a b\", \"\"]", "echo 'a b' ''");
    check_command("{\"cmd\": \"echo {}\"}", "echo {}");
    check_command("{\"cmd\": [\"echo\", \"{}\", \"\\u00e9\"]}", "echo '{}' '\xc3\xa9'");
    check_command("{\"cmd\": [\"echo\", {\"b64\": \"/w==\"}]}", "echo '\xff'");
    check_command("{\"cmd\": {\"b64\": \"ZWNobyBhYmM=\"}}", "echo abc");
}
END_TEST

START_TEST(members_override_the_batch)
{
    struct bly_bytes why = {0};
    bly_job *job = read_line("{\"cmd\": \"x\", \"priority\": -3, \"tries\": 2, \"timeout\": \"1m\","
                             " \"limits\": [\"db\", \"gpu:2\"], \"cwd\": \"/tmp\","
                             " \"env\": {\"A\": \"1\", \"B\": \"\"}}",
                             false, &why);
    ck_assert_msg(job != NULL, "%s", bly_bytes_c(&why));
    ck_assert_int_eq(job->priority, -3);
    ck_assert_uint_eq(job->tries_max, 2);
    ck_assert_int_eq(job->timeout_ns, INT64_C(60000000000));
    ck_assert_uint_eq(job->limits.count, 2);
    ck_assert_str_eq(bly_words_at(&job->limits, 1), "gpu:2");
    ck_assert_str_eq(job->cwd, "/tmp");
    ck_assert_uint_eq(job->env.count, 2);
    ck_assert_str_eq(bly_words_at(&job->env, 0), "A=1");
    ck_assert_str_eq(bly_words_at(&job->env, 1), "B=");
    bly_job_free(job);
    bly_bytes_free(&why);
}
END_TEST

START_TEST(times_are_from_now)
{
    struct bly_bytes why = {0};
    int64_t now_ns = belay_clock_now(NULL);
    bly_job *job = read_line("{\"cmd\": \"x\", \"in\": 2.5}", false, &why);
    ck_assert_int_ge(job->start_ns, now_ns + INT64_C(2500000000));
    bly_job_free(job);
    job = read_line("{\"cmd\": \"x\", \"at\": \"now+1h\"}", false, &why);
    ck_assert_int_ge(job->start_ns, now_ns + INT64_C(3599000000000));
    bly_job_free(job);
    bly_bytes_free(&why);
}
END_TEST

START_TEST(arguments_are_for_the_command_of_the_command_line)
{
    struct bly_bytes why = {0};
    bly_job *job = read_line("{\"args\": [\"a\", \"b\"]}", true, &why);
    ck_assert_uint_eq(job->args.count, 2);
    ck_assert_ptr_eq(job->template, &batch);
    bly_job_free(job);
    job = read_line("[\"a\", \"b\"]", true, &why);
    ck_assert_uint_eq(job->args.count, 2);
    bly_job_free(job);
    bly_bytes_free(&why);
}
END_TEST

static void check_refused(const char *line, bool has_template, const char *part)
{
    struct bly_bytes why = {0};
    bly_job *job = read_line(line, has_template, &why);
    ck_assert_msg(job == NULL, "%s", line);
    ck_assert_msg(strstr(bly_bytes_c(&why), part) != NULL, "%s: %s", line, bly_bytes_c(&why));
    bly_bytes_free(&why);
}

START_TEST(what_is_wrong_is_said)
{
    check_refused("{", false, "not JSON");
    check_refused("5", false, "the line");
    check_refused("[]", false, "empty");
    check_refused("{\"cmd\": \"x\", \"cmd\": \"y\"}", false, "not JSON: duplicate");
    check_refused("{\"cmd\": \"x\", \"colour\": 1}", false, "colour: there is no such member");
    check_refused("{}", false, "cmd: it is missing");
    check_refused("{\"cmd\": \"x\"}", true, "cmd: there is a command");
    check_refused("{\"cmd\": \"x\", \"args\": []}", false, "args: there is no command");
    check_refused("{\"cmd\": 1}", false, "neither a string");
    check_refused("{\"cmd\": [1]}", false, "neither a string");
    check_refused("{\"cmd\": \"a\\u0000b\"}", false, "NUL");
    check_refused("{\"cmd\": {\"b64\": \"!\"}}", false, "base64");
    check_refused("{\"cmd\": {\"b64\": \"A\"}}", false, "base64");
    check_refused("{\"cmd\": {\"b64\": \"AA==\"}}", false, "NUL");
    check_refused("{\"cmd\": \"x\", \"priority\": \"1\"}", false, "priority: ");
    check_refused("{\"cmd\": \"x\", \"priority\": -32768}", false, "priority: ");
    check_refused("{\"cmd\": \"x\", \"tries\": 0}", false, "tries: ");
    check_refused("{\"cmd\": \"x\", \"timeout\": \"1y\"}", false, "timeout: years");
    check_refused("{\"cmd\": \"x\", \"in\": -1}", false, "in: ");
    check_refused("{\"cmd\": \"x\", \"at\": 5}", false, "at: ");
    check_refused("{\"cmd\": \"x\", \"limits\": [\"a:0\"]}", false, "limits: ");
    check_refused("{\"cmd\": \"x\", \"limits\": \"a\"}", false, "limits: ");
    check_refused("{\"cmd\": \"x\", \"cwd\": 1}", false, "cwd: ");
    check_refused("{\"cmd\": \"x\", \"env\": {\"A=B\": \"1\"}}", false, "env: ");
    check_refused("{\"cmd\": \"x\", \"env\": []}", false, "env: ");
}
END_TEST

UNIT_MAIN("cli/jsonl", commands_are_lines_or_words, members_override_the_batch, times_are_from_now,
          arguments_are_for_the_command_of_the_command_line, what_is_wrong_is_said)
