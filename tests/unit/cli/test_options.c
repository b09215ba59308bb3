/* A table of options: parsing, help, names. */
#include "unit.h"

#include <string.h>

#include "cli/options.h"

struct target {
    bool has_flag;
    const char *value;
};

static const char *set_flag(void *target, const char *value)
{
    ck_assert_ptr_null(value);
    ((struct target *)target)->has_flag = true;
    return NULL;
}

static const char *set_value(void *target, const char *value)
{
    ((struct target *)target)->value = value;
    return strcmp(value, "bad") == 0 ? "it is bad" : NULL;
}

static const struct bly_option table[] = {
    {.help = "Things:"},
    {"flag", 'f', NULL, "a flag", set_flag, NULL},
    {"value", 'v', "N", "a value", set_value, NULL},
    {"valued", 0, "N", NULL, set_value, NULL},
    {NULL, 'x', NULL, "no long name", set_flag, NULL},
    {"pipe", 'p', NULL, NULL, NULL, "use a file"},
};

static const struct bly_options options = {table, sizeof table / sizeof table[0], "run", false};

static int parse(struct target *target, int *ret_rest, const char *const *words)
{
    char *argv[10] = {(char[]){"run"}};
    int argc = 1;
    for (; *words != NULL; words++) {
        argv[argc++] = (char *)*words;
    }
    *target = (struct target){0};
    return bly_options_parse(&options, argc, argv, target, ret_rest);
}

#define PARSE(...) parse(&target, &rest, (const char *const[]){__VA_ARGS__, NULL})

START_TEST(options_end_at_the_first_word)
{
    struct target target;
    int rest = 0;
    ck_assert_int_eq(PARSE("-f", "--value", "3", "cmd", "-v", "4"), 0);
    ck_assert(target.has_flag);
    ck_assert_str_eq(target.value, "3");
    ck_assert_int_eq(rest, 4);
    ck_assert_int_eq(PARSE("-fv3", "--", "-x"), 0);
    ck_assert_str_eq(target.value, "3");
    ck_assert_int_eq(rest, 3);
    ck_assert_int_eq(PARSE("--value=5", ":::", "-f"), 0);
    ck_assert(!target.has_flag);
    ck_assert_int_eq(rest, 2);
}
END_TEST

START_TEST(options_may_be_anywhere_where_no_command_follows)
{
    static const struct bly_options anywhere = {table, sizeof table / sizeof table[0], "show",
                                                true};
    char *argv[] = {(char[]){"show"}, (char[]){"12"}, (char[]){"--value=3"}, (char[]){"13"},
                    (char[]){"-f"},   (char[]){"--"}, (char[]){"-x"},        NULL};
    struct target target = {0};
    int rest = 0;
    ck_assert_int_eq(bly_options_parse(&anywhere, 7, argv, &target, &rest), 0);
    ck_assert(target.has_flag);
    ck_assert_str_eq(target.value, "3");
    ck_assert_int_eq(rest, 4);
    ck_assert_str_eq(argv[4], "12");
    ck_assert_str_eq(argv[5], "13");
    ck_assert_str_eq(argv[6], "-x");
}
END_TEST

START_TEST(wrong_options_are_refused)
{
    struct target target;
    int rest = 0;
    ck_assert_int_eq(PARSE("--none"), -1);
    ck_assert_int_eq(PARSE("-z"), -1);
    ck_assert_int_eq(PARSE("--value"), -1);
    ck_assert_int_eq(PARSE("-v"), -1);
    ck_assert_int_eq(PARSE("-v", "bad"), -1);
    ck_assert_int_eq(PARSE("--flag=1"), -1);
    ck_assert_int_eq(PARSE("--val", "1"), -1); /* value or valued */
    ck_assert_int_eq(PARSE("--pipe"), -1);
    ck_assert_int_eq(PARSE("-p"), -1);
}
END_TEST

START_TEST(the_help_lists_what_is_offered)
{
    struct bly_bytes text = {0};
    bly_options_help(&options, &text);
    ck_assert_str_eq(bly_bytes_c(&text), "\nThings:\n"
                                         "  -f, --flag               a flag\n"
                                         "  -v, --value N            a value\n"
                                         "  -x                       no long name\n");
    bly_bytes_free(&text);
}
END_TEST

START_TEST(names_are_for_completions)
{
    struct bly_bytes text = {0};
    bly_options_names(&options, &text, false);
    ck_assert_str_eq(bly_bytes_c(&text), "--flag -f --value -v -x");
    bly_bytes_clear(&text);
    bly_options_names(&options, &text, true);
    ck_assert_str_eq(bly_bytes_c(&text), "--value -v");
    bly_bytes_free(&text);
}
END_TEST

UNIT_MAIN("cli/options", options_end_at_the_first_word,
          options_may_be_anywhere_where_no_command_follows, wrong_options_are_refused,
          the_help_lists_what_is_offered, names_are_for_completions)
