/* What a job for later takes along. */
#include "unit.h"

#include <string.h>

#include "cli/capture.h"

static void fill(struct bly_words *words, const char *const *from)
{
    for (; *from != NULL; from++) {
        bly_words_text(words, *from);
    }
}

static void check_words(const struct bly_words *words, const char *expected)
{
    struct bly_bytes text = {0};
    for (size_t i = 0; i < words->count; i++) {
        bly_bytes_print(&text, "%s|", bly_words_at(words, i));
    }
    ck_assert_str_eq(bly_bytes_c(&text), expected);
    bly_bytes_free(&text);
}

#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

static void check_env(const char *const *env, const char *const *stored,
                      const char *const *from_worker, const char *expected)
{
    struct bly_words to = {0};
    struct bly_words named = {0};
    struct bly_words bare = {0};
    fill(&named, stored);
    fill(&bare, from_worker);
    bly_capture_env(&to, (char *const *)env, &named, &bare);
    check_words(&to, expected);
    bly_words_free(&to);
    bly_words_free(&named);
    bly_words_free(&bare);
}

#define NONE ((const char *const[]){NULL})

START_TEST(the_environment_is_stored_but_for_belays_own)
{
    check_env(WORDS("HOME=/root", "LANG=C", "BELAY_JOB=7", "BELAY_STORE=x", "_=/bin/x", "EMPTY="),
              NONE, NONE, "HOME=/root|LANG=C|EMPTY=|");
}
END_TEST

START_TEST(what_looks_secret_is_only_named)
{
    check_env(WORDS("A=1", "AWS_SECRET_ACCESS_KEY=x", "GITHUB_TOKEN=y", "db_password=z",
                    "DATABASE_URL=postgres://me:pw@db/x", "HOME_URL=http://host:80/a@b",
                    "KEYBOARD=us", "PGPASSFILE=/root/.pgpass"),
              NONE, NONE,
              "A=1|AWS_SECRET_ACCESS_KEY|GITHUB_TOKEN|db_password|DATABASE_URL|"
              "HOME_URL=http://host:80/a@b|KEYBOARD=us|PGPASSFILE=/root/.pgpass|");
}
END_TEST

START_TEST(options_decide_what_is_stored)
{
    check_env(WORDS("A=1", "MY_TOKEN=y", "B=2", "AB=3"), WORDS("MY_TOKEN", "C=5", "A=9"),
              WORDS("B", "NEW"), "MY_TOKEN=y|AB=3|C=5|A=9|B|NEW|");
}
END_TEST

START_TEST(bare_names_get_their_value_where_the_job_runs)
{
    struct bly_words words = {0};
    struct bly_words to = {0};
    fill(&words, WORDS("A=1", "MY_TOKEN", "MISSING", "B=x=y"));
    bly_capture_restore(&to, &words, (char *const *)WORDS("A=2", "MY_TOKENS=n", "MY_TOKEN=here"));
    check_words(&to, "A=1|MY_TOKEN=here|B=x=y|");
    bly_words_free(&words);
    bly_words_free(&to);
}
END_TEST

START_TEST(what_is_no_variable_is_refused)
{
    ck_assert_ptr_null(bly_capture_env_check("A"));
    ck_assert_ptr_null(bly_capture_env_check("A="));
    ck_assert_ptr_nonnull(bly_capture_env_check("=1"));
    ck_assert_ptr_nonnull(bly_capture_env_check(""));
}
END_TEST

static void check_command(const char *const *words, const char *expected, const char *shown)
{
    struct bly_words to = {0};
    struct bly_bytes text = {0};
    ck_assert_ptr_null(bly_capture_command(&to, (char *const *)words));
    check_words(&to, expected);
    bly_capture_show(&text, &to);
    ck_assert_str_eq(bly_bytes_c(&text), shown);
    bly_bytes_free(&text);
    bly_words_free(&to);
}

START_TEST(one_word_is_a_shell_line_and_several_are_a_command)
{
    check_command(WORDS("echo", "a b", "$x"), "echo|a b|$x|", "echo 'a b' '$x'");
    check_command(WORDS("echo a  b"), "echo|a|b|", "echo a b");
    check_command(WORDS("echo a; exit 3"), "/bin/sh|-c|echo a; exit 3|", "echo a; exit 3");
    check_command(WORDS("echo {} {1}"), "/bin/sh|-c|echo {} {1}|", "echo {} {1}");
    check_command(WORDS("sh", "-c", "exit 3"), "sh|-c|exit 3|", "sh -c 'exit 3'");
}
END_TEST

START_TEST(a_blank_line_is_no_command)
{
    struct bly_words to = {0};
    ck_assert_ptr_nonnull(bly_capture_command(&to, (char *const *)WORDS("  ")));
    bly_words_free(&to);
}
END_TEST

UNIT_MAIN("cli/capture", the_environment_is_stored_but_for_belays_own,
          what_looks_secret_is_only_named, options_decide_what_is_stored,
          bare_names_get_their_value_where_the_job_runs, what_is_no_variable_is_refused,
          one_word_is_a_shell_line_and_several_are_a_command, a_blank_line_is_no_command)
