/* What a batch waits for, said in time and once. */
#include "unit.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/waiting.h"

#define SECOND INT64_C(1000000000)

static char said[2000];

/* Looks at `now_ns`; what was written to stderr is in `said` then. */
static int64_t look(struct bly_waiting *waiting, const struct bly_gate *gate, int64_t until_ns,
                    int64_t now_ns)
{
    char path[] = "/tmp/belay-test-waiting-XXXXXX";
    int file = mkstemp(path);
    int kept = dup(STDERR_FILENO);
    ck_assert_int_ge(file, 0);
    unlink(path);
    dup2(file, STDERR_FILENO);
    int64_t again_ns = bly_waiting_look(waiting, gate, until_ns, now_ns);
    dup2(kept, STDERR_FILENO);
    close(kept);
    ssize_t got = pread(file, said, sizeof said - 1, 0);
    ck_assert_int_ge(got, 0);
    said[got] = '\0';
    close(file);
    return again_ns;
}

static void expect_text(const struct bly_gate *gate, int64_t left_ns, const char *expected)
{
    struct bly_bytes text = {0};
    bly_waiting_text(&text, gate, left_ns, 0);
    ck_assert_str_eq(bly_bytes_c(&text), expected);
    bly_bytes_free(&text);
}

START_TEST(the_reason_is_named_with_its_figures)
{
    setenv("TZ", "UTC0", 1);
    struct bly_gate gate = {.hold = BLY_GATE_LOAD, .load_seen = 3.25, .load_max = 2};
    expect_text(&gate, SECOND,
                "waiting: the load is 3.25, --load allows 2.00; Ctrl-C ends the run");
    gate = (struct bly_gate){
        .hold = BLY_GATE_MEMORY, .memory_seen = 1 << 20, .memory_least = UINT64_C(3) << 30};
    expect_text(&gate, SECOND,
                "waiting: 1 MiB of memory are available, --memfree wants 3072; "
                "Ctrl-C ends the run");
    gate.hold = BLY_GATE_OPEN;
    expect_text(&gate, 60 * SECOND - 1,
                "waiting: the next job starts in 1 min 0 s, at 1970-01-01T00:00:59Z; "
                "Ctrl-C ends the run");
}
END_TEST

START_TEST(it_is_said_once_and_after_a_while)
{
    struct bly_waiting waiting = {0};
    struct bly_gate gate = {0};
    int64_t until_ns = 100 * SECOND;
    int64_t say_ns = SECOND + BLY_WAITING_PATIENCE_NS;
    ck_assert_int_eq(look(&waiting, &gate, until_ns, SECOND), say_ns);
    ck_assert_int_eq(look(&waiting, &gate, until_ns, say_ns - 1), say_ns);
    ck_assert_str_eq(said, "");
    ck_assert_int_eq(look(&waiting, &gate, until_ns, say_ns), INT64_MAX);
    ck_assert_ptr_nonnull(strstr(said, "the next job starts in 1 min 37 s"));
    ck_assert_int_eq(look(&waiting, &gate, until_ns, say_ns + 1), INT64_MAX);
    ck_assert_str_eq(said, "");
}
END_TEST

START_TEST(after_a_start_it_may_be_said_again)
{
    struct bly_waiting waiting = {0};
    struct bly_gate gate = {.hold = BLY_GATE_LOAD};
    look(&waiting, &gate, SECOND, 0);
    look(&waiting, &gate, 5 * SECOND, 4 * SECOND);
    ck_assert_str_ne(said, "");
    bly_waiting_over(&waiting);
    look(&waiting, &gate, 6 * SECOND, 5 * SECOND);
    ck_assert_str_eq(said, "");
    look(&waiting, &gate, 9 * SECOND, 8 * SECOND);
    ck_assert_str_ne(said, "");
}
END_TEST

START_TEST(a_short_wait_is_not_worth_a_word)
{
    struct bly_waiting waiting = {0};
    struct bly_gate gate = {.hold = BLY_GATE_DELAY};
    ck_assert_int_eq(look(&waiting, &gate, BLY_WAITING_PATIENCE_NS, 0), INT64_MAX);
    ck_assert_int_eq(look(&waiting, &gate, BLY_WAITING_PATIENCE_NS, SECOND), INT64_MAX);
    ck_assert_str_eq(said, "");
}
END_TEST

UNIT_MAIN("cli/waiting", the_reason_is_named_with_its_figures, it_is_said_once_and_after_a_while,
          after_a_start_it_may_be_said_again, a_short_wait_is_not_worth_a_word)
