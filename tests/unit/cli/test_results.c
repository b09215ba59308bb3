/* Results kept in folders of numbers. */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/files.h"
#include "cli/results.h"
#include "ran.h"

static char folder[] = "results_XXXXXX";

static const char *read_file(const char *name)
{
    static struct bly_bytes text;
    struct bly_bytes path = {0};
    bly_bytes_print(&path, "%s/%s", folder, name);
    int fd = open(path.at, O_RDONLY);
    ck_assert_msg(fd >= 0, "%s", path.at);
    bly_bytes_clear(&text);
    ck_assert_int_eq(bly_files_read_all(fd, &text, 1 << 20), 0);
    close(fd);
    bly_bytes_free(&path);
    return bly_bytes_c(&text);
}

static bly_job *make_job(void)
{
    static const struct bly_template_opts literal = {.is_literal = true};
    bly_job *job = bly_job_make(12);
    ck_assert_ptr_null(bly_template_line(&job->own, "a; b", 4, &literal));
    job->template = &job->own;
    return job;
}

START_TEST(outputs_and_command_are_kept_the_last_ones_win)
{
    bly_proc *proc = ran_open();
    bly_job *job = make_job();
    ck_assert_ptr_nonnull(mkdtemp(folder));
    ck_assert_int_eq(bly_results_open(folder), 0);
    struct ran ran = ran_line(proc, "echo a long line; echo err >&2");
    ck_assert_int_eq(bly_results_keep(folder, job, ran.end.out, ran.end.err), 0);
    ck_assert_str_eq(read_file("12/stdout"), "a long line\n");
    ck_assert_str_eq(read_file("12/stderr"), "err\n");
    ck_assert_str_eq(read_file("12/command"), "a; b\n");
    ck_assert_int_eq(bly_results_keep(folder, job, NULL, ran.end.err), 0);
    ck_assert_str_eq(read_file("12/stdout"), "");
    bly_output_free(ran.end.out);
    bly_output_free(ran.end.err);
    bly_job_free(job);
    bly_proc_destroy(proc);
}
END_TEST

START_TEST(links_are_not_followed)
{
    bly_job *job = make_job();
    struct bly_bytes path = {0};
    ck_assert_ptr_nonnull(mkdtemp(folder));
    bly_bytes_print(&path, "%s/12", folder);
    ck_assert_int_eq(symlink("/tmp", path.at), 0);
    ck_assert_int_eq(bly_results_keep(folder, job, NULL, NULL), -1);
    ck_assert_int_eq(unlink(path.at), 0);
    ck_assert_int_eq(mkdir(path.at, 0700), 0);
    bly_bytes_text(&path, "/stdout");
    ck_assert_int_eq(symlink("/tmp/elsewhere", path.at), 0);
    ck_assert_int_eq(bly_results_keep(folder, job, NULL, NULL), -1);
    ck_assert_int_eq(errno, ELOOP);
    bly_bytes_free(&path);
    bly_job_free(job);
}
END_TEST

START_TEST(a_folder_that_cannot_be_made_is_an_error)
{
    ck_assert_int_eq(bly_results_open("/no/such/folder"), -1);
    ck_assert_int_eq(errno, ENOENT);
}
END_TEST

UNIT_MAIN("cli/results", outputs_and_command_are_kept_the_last_ones_win, links_are_not_followed,
          a_folder_that_cannot_be_made_is_an_error)
