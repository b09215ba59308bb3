/* Messages on stderr. */
#include "unit.h"

#include <string.h>
#include <unistd.h>

#include "cli/say.h"

static char text[2000];
static int calls;

static void say_both(void)
{
    bly_say("job %d: %s", 3, "so it is");
    ck_assert_int_eq(bly_say_about("a\x1b[31m\n", "there is no %s; try %d", "such", 5), 255);
}

/* What the messages are, read from a pipe in the place of stderr. */
static const char *said(void)
{
    int ends[2];
    int old = dup(2);
    ck_assert_int_eq(pipe(ends), 0);
    dup2(ends[1], 2);
    close(ends[1]);
    say_both();
    dup2(old, 2);
    close(old);
    ssize_t got = read(ends[0], text, sizeof text - 1);
    text[got > 0 ? got : 0] = '\0';
    close(ends[0]);
    return text;
}

START_TEST(each_is_a_line_without_control_characters)
{
    ck_assert_str_eq(said(), "belay run: job 3: so it is\n"
                             "belay run: a\\x1b[31m\\n: there is no such; try 5\n");
}
END_TEST

static void count_call(void *arg)
{
    (*(int *)arg)++;
}

START_TEST(what_is_drawn_is_taken_away_first)
{
    bly_say_before(count_call, &calls);
    said();
    ck_assert_int_eq(calls, 2);
    bly_say_before(NULL, NULL);
    said();
    ck_assert_int_eq(calls, 2);
}
END_TEST

UNIT_MAIN("cli/say", each_is_a_line_without_control_characters, what_is_drawn_is_taken_away_first)
