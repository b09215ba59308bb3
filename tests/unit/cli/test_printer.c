/* What jobs wrote, shown in pieces, in order, by lines. */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "cli/files.h"
#include "cli/printer.h"
#include "ran.h"

static bly_proc *proc;
static int out_fd, err_fd;
static struct bly_printer printer;

static int temporary(void)
{
    int fd = open(".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    ck_assert_int_ge(fd, 0);
    return fd;
}

static void open_printer(bool keeps_order)
{
    proc = ran_open();
    out_fd = temporary();
    err_fd = temporary();
    bly_printer_init(&printer, out_fd, err_fd, keeps_order);
}

static void close_printer(void)
{
    bly_printer_free(&printer);
    bly_proc_destroy(proc);
    close(out_fd);
    close(err_fd);
}

/* What has been shown so far on a descriptor. */
static const char *shown(int fd)
{
    static struct bly_bytes text;
    bly_bytes_clear(&text);
    lseek(fd, 0, SEEK_SET);
    ck_assert_int_eq(bly_files_read_all(fd, &text, 1 << 24), 0);
    return bly_bytes_c(&text);
}

static int leave(uint64_t seq, const char *line, const char *tag)
{
    struct ran ran = ran_line(proc, line);
    struct bly_leaving leaving = {.out = ran.end.out, .err = ran.end.err, .tag = tag};
    return bly_printer_leave(&printer, seq, &leaving);
}

START_TEST(without_order_outputs_are_shown_as_they_come)
{
    open_printer(false);
    ck_assert_int_eq(leave(2, "echo b; echo err >&2", NULL), 0);
    ck_assert_int_eq(leave(1, "printf a", NULL), 0);
    ck_assert_int_eq(leave(3, ":", NULL), 0);
    ck_assert_str_eq(shown(out_fd), "b\na");
    ck_assert_str_eq(shown(err_fd), "err\n");
    close_printer();
}
END_TEST

START_TEST(in_order_outputs_wait_for_their_turn)
{
    open_printer(true);
    ck_assert_int_eq(leave(3, "echo c", NULL), 0);
    ck_assert_int_eq(leave(2, "echo b", "t"), 0);
    ck_assert_str_eq(shown(out_fd), "");
    ck_assert(bly_printer_is_turn(&printer, 1));
    ck_assert(!bly_printer_is_turn(&printer, 2));
    ck_assert_int_eq(leave(1, "echo a", NULL), 0);
    ck_assert_str_eq(shown(out_fd), "a\nt\tb\nc\n");
    ck_assert(bly_printer_is_turn(&printer, 4));
    close_printer();
}
END_TEST

START_TEST(skipped_jobs_hold_nothing_up)
{
    open_printer(true);
    ck_assert_int_eq(leave(4, "echo d", NULL), 0);
    ck_assert_int_eq(bly_printer_skip(&printer, 3), 0);
    ck_assert_int_eq(bly_printer_skip(&printer, 1), 0);
    ck_assert_str_eq(shown(out_fd), "");
    ck_assert_int_eq(leave(2, "echo b", NULL), 0);
    ck_assert_str_eq(shown(out_fd), "b\nd\n");
    close_printer();
}
END_TEST

START_TEST(at_the_end_all_that_waits_is_shown_in_order)
{
    open_printer(true);
    ck_assert_int_eq(leave(5, "echo e", NULL), 0);
    ck_assert_int_eq(leave(3, "echo c", NULL), 0);
    ck_assert_int_eq(bly_printer_finish(&printer), 0);
    ck_assert_str_eq(shown(out_fd), "c\ne\n");
    close_printer();
}
END_TEST

START_TEST(tags_and_heads_stand_at_the_start_of_lines)
{
    open_printer(false);
    struct ran ran = ran_line(proc, "printf '1\\n\\n2'");
    struct bly_leaving leaving = {.out = ran.end.out, .head = "the command\n", .tag = "x"};
    ck_assert_int_eq(bly_printer_leave(&printer, 1, &leaving), 0);
    ck_assert_str_eq(shown(out_fd), "the command\nx\t1\nx\t\nx\t2");
    close_printer();
}
END_TEST

START_TEST(a_tag_stands_once_on_a_line_longer_than_a_block)
{
    open_printer(false);
    ck_assert_int_eq(leave(1, "head -c 100000 /dev/zero | tr '\\0' x; echo; echo y", "t"), 0);
    const char *text = shown(out_fd);
    ck_assert_uint_eq(strlen(text), 2 + 100000 + 1 + 2 + 2);
    ck_assert_str_eq(text + 2 + 100000, "\nt\ty\n");
    close_printer();
}
END_TEST

START_TEST(what_was_shown_by_lines_is_not_shown_again)
{
    open_printer(false);
    struct ran ran = ran_line(proc, "echo one; echo two");
    struct bly_leaving leaving = {.out = ran.end.out, .out_from = 4};
    ck_assert_int_eq(bly_printer_leave(&printer, 1, &leaving), 0);
    ck_assert_str_eq(shown(out_fd), "two\n");
    close_printer();
}
END_TEST

START_TEST(a_descriptor_that_cannot_be_written_is_an_error)
{
    open_printer(true);
    bly_printer_free(&printer);
    int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
    bly_printer_init(&printer, full, full, true);
    ck_assert_int_eq(leave(2, "echo b", NULL), 0);
    ck_assert_int_eq(leave(1, "echo a", NULL), -1);
    ck_assert_int_eq(errno, ENOSPC);
    close(full);
    close_printer();
}
END_TEST

/* Shows lines of a job that runs, until `expected` is there. */
struct live {
    uint64_t from;
    uint64_t id;
    bool is_over;
};

static void on_wrote(uint64_t id, void *arg)
{
    struct live *live = arg;
    ck_assert_int_eq(bly_printer_lines(&printer, proc, id, 1, &live->from, "t"), 0);
}

static void on_ended(const bly_proc_end *end, void *arg)
{
    struct live *live = arg;
    struct bly_leaving leaving = {
        .out = end->out, .err = end->err, .out_from = live->from, .tag = "t"};
    ck_assert_int_eq(bly_printer_leave(&printer, 1, &leaving), 0);
    live->is_over = true;
}

START_TEST(whole_lines_are_shown_while_the_job_runs)
{
    open_printer(false);
    struct live live = {0};
    char line[] =
        "echo one; printf tw; while [ ! -e shown_by_the_test ]; do sleep 0.01; done; echo o";
    char *argv[] = {(char[]){"/bin/sh"}, (char[]){"-c"}, line, NULL};
    bly_proc_spec spec = {.size = sizeof spec,
                          .flags = BLY_PROC_WATCH_OUTPUT,
                          .argv = argv,
                          .wrote = on_wrote,
                          .ended = on_ended,
                          .arg = &live};
    unlink("shown_by_the_test");
    ck_assert_int_eq(bly_proc_spawn(proc, &spec, NULL), 0);
    while (live.from == 0) {
        bly_proc_poll(proc, BELAY_FOREVER);
    }
    ck_assert_str_eq(shown(out_fd), "t\tone\n");
    close(open("shown_by_the_test", O_CREAT | O_WRONLY, 0600));
    while (!live.is_over) {
        bly_proc_poll(proc, BELAY_FOREVER);
    }
    ck_assert_str_eq(shown(out_fd), "t\tone\nt\ttwo\n");
    unlink("shown_by_the_test");
    close_printer();
}
END_TEST

UNIT_MAIN("cli/printer", without_order_outputs_are_shown_as_they_come,
          in_order_outputs_wait_for_their_turn, skipped_jobs_hold_nothing_up,
          at_the_end_all_that_waits_is_shown_in_order, tags_and_heads_stand_at_the_start_of_lines,
          a_tag_stands_once_on_a_line_longer_than_a_block,
          what_was_shown_by_lines_is_not_shown_again,
          a_descriptor_that_cannot_be_written_is_an_error, whole_lines_are_shown_while_the_job_runs)
