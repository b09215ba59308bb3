/* Ends of runs in the job log. */
#include "unit.h"

#include "cli/outcome.h"
#include "ran.h"

static struct bly_joblog_entry entry_of(const bly_proc_end *end)
{
    static struct bly_bytes text;
    static const struct bly_template_opts literal = {.is_literal = true};
    bly_job *job = bly_job_make(3);
    ck_assert_ptr_null(bly_template_line(&job->own, "a; b", 4, &literal));
    job->template = &job->own;
    job->start_wall_ns = 5;
    struct bly_joblog_entry entry = bly_outcome_entry(job, end, &text);
    ck_assert_uint_eq(entry.seq, 3);
    ck_assert_int_eq(entry.start_wall_ns, 5);
    ck_assert_uint_eq(entry.command_len, 4);
    ck_assert_mem_eq(entry.command, "a; b", 4);
    bly_job_free(job);
    return entry;
}

START_TEST(exits_signals_and_timeouts_are_told_apart)
{
    bly_proc_end end = {.how = BLY_PROC_EXITED, .code = 7, .start_ns = 100, .end_ns = 350};
    struct bly_joblog_entry entry = entry_of(&end);
    ck_assert_int_eq(entry.exit_value, 7);
    ck_assert_int_eq(entry.signal, 0);
    ck_assert_int_eq(entry.run_ns, 250);
    end = (bly_proc_end){.how = BLY_PROC_SIGNALED, .code = 9, .start_ns = 1, .end_ns = 2};
    entry = entry_of(&end);
    ck_assert_int_eq(entry.exit_value, 0);
    ck_assert_int_eq(entry.signal, 9);
    end = (bly_proc_end){.how = BLY_PROC_SIGNALED, .code = 9, .is_timed_out = true};
    entry = entry_of(&end);
    ck_assert_int_eq(entry.exit_value, -1);
    ck_assert_int_eq(entry.signal, 15);
}
END_TEST

START_TEST(what_did_not_start_has_a_status_and_no_time)
{
    bly_proc_end end = {.how = BLY_PROC_FAILED, .stage = BLY_PROC_AT_EXEC, .code = 2, .end_ns = 9};
    struct bly_joblog_entry entry = entry_of(&end);
    ck_assert_int_eq(entry.exit_value, 127);
    ck_assert_int_eq(entry.run_ns, 0);
}
END_TEST

START_TEST(received_is_what_stdout_got)
{
    bly_proc *proc = ran_open();
    struct ran ran = ran_line(proc, "echo four; echo not >&2");
    ck_assert_uint_eq(entry_of(&ran.end).received, 5);
    bly_output_free(ran.end.out);
    bly_output_free(ran.end.err);
    bly_proc_destroy(proc);
}
END_TEST

UNIT_MAIN("cli/outcome", exits_signals_and_timeouts_are_told_apart,
          what_did_not_start_has_a_status_and_no_time, received_is_what_stdout_got)
