/* What a job log means for a job. */
#include "unit.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "cli/files.h"
#include "cli/resume.h"

static struct bly_joblog make_log(void)
{
    static const char text[] = "1\t:\t1.000\t     0.001\t0\t0\t0\t0\techo a\n"
                               "2\t:\t1.000\t     0.001\t0\t0\t1\t0\techo b\n"
                               "3\t:\t1.000\t     0.001\t0\t0\t0\t0\techo 2 c\n";
    struct bly_joblog log;
    char path[] = "resume_XXXXXX";
    int fd = mkstemp(path);
    ck_assert_int_eq(bly_files_write(fd, text, sizeof text - 1), 0);
    close(fd);
    ck_assert_int_eq(bly_joblog_open(&log, path, BLY_JOBLOG_LOOK), 0);
    unlink(path);
    return log;
}

static enum bly_resume_verdict verdict(enum bly_resume resume, uint64_t seq, const char *line)
{
    static const struct bly_template_opts opts = {0};
    struct bly_joblog log = make_log();
    struct bly_bytes text = {0};
    bly_job *job = bly_job_make(seq);
    ck_assert_ptr_null(bly_template_line(&job->own, line, strlen(line), &opts));
    job->template = &job->own;
    enum bly_resume_verdict result = bly_resume_verdict(resume, &log, job, &text);
    bly_job_free(job);
    bly_bytes_free(&text);
    bly_joblog_close(&log);
    return result;
}

START_TEST(resume_skips_what_has_a_line)
{
    ck_assert_int_eq(verdict(BLY_RESUME_REST, 1, "echo a"), BLY_RESUME_SKIP);
    ck_assert_int_eq(verdict(BLY_RESUME_REST, 2, "echo b"), BLY_RESUME_SKIP);
    ck_assert_int_eq(verdict(BLY_RESUME_REST, 4, "echo d"), BLY_RESUME_RUN);
}
END_TEST

START_TEST(resume_failed_skips_what_ended_well)
{
    ck_assert_int_eq(verdict(BLY_RESUME_FAILED, 1, "echo a"), BLY_RESUME_SKIP);
    ck_assert_int_eq(verdict(BLY_RESUME_FAILED, 2, "echo b"), BLY_RESUME_RUN);
}
END_TEST

START_TEST(another_command_is_seen)
{
    ck_assert_int_eq(verdict(BLY_RESUME_REST, 1, "echo b"), BLY_RESUME_DIFFERS);
    ck_assert_int_eq(verdict(BLY_RESUME_FAILED, 2, "echo bb"), BLY_RESUME_DIFFERS);
}
END_TEST

START_TEST(a_command_with_its_slot_is_not_compared)
{
    ck_assert_int_eq(verdict(BLY_RESUME_REST, 3, "echo {%} c"), BLY_RESUME_SKIP);
}
END_TEST

START_TEST(otherwise_everything_runs)
{
    ck_assert_int_eq(verdict(BLY_RESUME_NO, 1, "echo z"), BLY_RESUME_RUN);
    ck_assert_int_eq(verdict(BLY_RETRY_FAILED, 2, "echo b"), BLY_RESUME_RUN);
}
END_TEST

UNIT_MAIN("cli/resume", resume_skips_what_has_a_line, resume_failed_skips_what_ended_well,
          another_command_is_seen, a_command_with_its_slot_is_not_compared,
          otherwise_everything_runs)
