/* Commands with replacement strings, and attempts to break out of every place they may stand. */
#include "unit.h"

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/template.h"

enum { OUTPUT_MAX = 65536 };

/* The words of a template of argv, expanded and joined by '|'. */
static const char *expand(const struct bly_template *t, const struct bly_words *args)
{
    static struct bly_bytes joined;
    struct bly_filling filling = {.args = args, .seq = 7, .slot = 2};
    struct bly_words words = {0};
    bly_template_expand(t, &filling, &words);
    bly_bytes_clear(&joined);
    for (size_t i = 0; i < words.count; i++) {
        bly_bytes_print(&joined, "%s%s", i > 0 ? "|" : "", bly_words_at(&words, i));
    }
    bly_words_free(&words);
    return bly_bytes_c(&joined);
}

static struct bly_words make_words(const char *const *from)
{
    struct bly_words words = {0};
    for (; *from != NULL; from++) {
        bly_words_text(&words, *from);
    }
    return words;
}

#define WORDS(...) make_words((const char *const[]){__VA_ARGS__, NULL})

static const struct bly_template_opts appending = {.appends = true};

static const char *expand_argv(struct bly_words command, struct bly_words args, bool has_context)
{
    struct bly_template t = {0};
    ck_assert_ptr_null(bly_template_argv(&t, &command, &appending));
    t.has_context = has_context;
    const char *result = expand(&t, &args);
    bly_template_free(&t);
    bly_words_free(&command);
    bly_words_free(&args);
    return result;
}

static const char *expand_line(const char *line, struct bly_words args)
{
    struct bly_template t = {0};
    ck_assert_ptr_null(bly_template_line(&t, line, strlen(line), &appending));
    const char *result = expand(&t, &args);
    bly_template_free(&t);
    bly_words_free(&args);
    return result;
}

START_TEST(argv_without_a_hole_gets_the_argument_at_its_end)
{
    ck_assert_str_eq(expand_argv(WORDS("echo", "x y"), WORDS("a b"), false), "echo|x y|a b");
}
END_TEST

START_TEST(argv_with_holes_keeps_words_whole)
{
    ck_assert_str_eq(expand_argv(WORDS("cp", "{}", "{.}.bak"), WORDS("a b.c"), false),
                     "cp|a b.c|a b.bak");
}
END_TEST

START_TEST(argv_numbers_are_of_job_and_slot)
{
    ck_assert_str_eq(expand_argv(WORDS("echo", "{#}-{%}"), WORDS("a"), false), "echo|7-2");
}
END_TEST

START_TEST(positions_count_from_both_ends)
{
    ck_assert_str_eq(expand_argv(WORDS("echo", "{2}-{1}-{-1}"), WORDS("a", "b", "c"), false),
                     "echo|b-a-c");
}
END_TEST

START_TEST(a_missing_position_alone_is_no_word)
{
    ck_assert_str_eq(expand_argv(WORDS("echo", "{3}", "{1}", "x{3}"), WORDS("a"), false),
                     "echo|a|x");
}
END_TEST

START_TEST(an_empty_argument_is_a_word)
{
    ck_assert_str_eq(expand_argv(WORDS("echo", "{}", "end"), WORDS(""), false), "echo||end");
}
END_TEST

START_TEST(several_arguments_spread_over_words)
{
    ck_assert_str_eq(expand_argv(WORDS("echo", "x{}y"), WORDS("1", "2", "3"), false),
                     "echo|x1|2|3y");
}
END_TEST

START_TEST(several_arguments_repeat_their_context)
{
    ck_assert_str_eq(expand_argv(WORDS("echo", "x{}y", "{1}"), WORDS("1", "2", "3"), true),
                     "echo|x1y|x2y|x3y|1");
}
END_TEST

START_TEST(a_renamed_hole_leaves_braces_alone)
{
    struct bly_template_opts opts = {.whole = "@", .appends = true};
    struct bly_words command = WORDS("echo", "{}", "<@>");
    struct bly_words args = WORDS("a");
    struct bly_template t = {0};
    ck_assert_ptr_null(bly_template_argv(&t, &command, &opts));
    ck_assert_str_eq(expand(&t, &args), "echo|{}|<a>");
    bly_template_free(&t);
    bly_words_free(&command);
    bly_words_free(&args);
}
END_TEST

START_TEST(perl_expressions_are_refused_by_name)
{
    struct bly_words command = WORDS("echo", "{= s/a/b/ =}");
    struct bly_template t = {0};
    const char *why = bly_template_argv(&t, &command, &appending);
    ck_assert_ptr_nonnull(why);
    ck_assert_ptr_nonnull(strstr(why, "Perl"));
    bly_template_free(&t);
    bly_words_free(&command);
}
END_TEST

START_TEST(a_plain_line_needs_no_shell)
{
    ck_assert_str_eq(expand_line("  gzip  -9\t{} ", WORDS("a b")), "gzip|-9|a b");
    ck_assert_str_eq(expand_line("echo", WORDS("$(x);")), "echo|$(x);");
    ck_assert_str_eq(expand_line("echo x{}y", WORDS("a b")), "echo|xa by");
}
END_TEST

START_TEST(a_line_with_syntax_goes_to_the_shell)
{
    ck_assert_str_eq(expand_line("echo {}; exit {}", WORDS("3")), "/bin/sh|-c|echo 3; exit 3");
    ck_assert_str_eq(expand_line("exit {}", WORDS("3")), "/bin/sh|-c|exit 3");
    ck_assert_str_eq(expand_line("A=1 env", WORDS("x")), "/bin/sh|-c|A=1 env x");
    ck_assert_str_eq(expand_line("{}", WORDS("ls")), "/bin/sh|-c|ls");
}
END_TEST

START_TEST(a_word_that_is_syntax_is_quoted)
{
    ck_assert_str_eq(expand_line("{} 2>&1", WORDS("A=1")), "/bin/sh|-c|'A=1' 2>&1");
    ck_assert_str_eq(expand_line("{} 2>&1", WORDS("if")), "/bin/sh|-c|'if' 2>&1");
    ck_assert_str_eq(expand_line("echo {}>x", WORDS("2")), "/bin/sh|-c|echo '2'>x");
}
END_TEST

START_TEST(numbers_may_stand_anywhere)
{
    ck_assert_str_eq(expand_line("echo $(({#} * 2)) `echo {%}` {}", WORDS("a")),
                     "/bin/sh|-c|echo $((7 * 2)) `echo 2` a");
}
END_TEST

START_TEST(literal_lines_keep_their_braces)
{
    static const struct bly_template_opts literal = {.is_literal = true};
    struct bly_template t = {0};
    struct bly_words none = {0};
    const char line[] = "find . -exec echo {} +";
    ck_assert_ptr_null(bly_template_line(&t, line, strlen(line), &literal));
    ck_assert_str_eq(expand(&t, &none), "/bin/sh|-c|find . -exec echo {} +");
    bly_template_free(&t);
}
END_TEST

START_TEST(an_empty_line_is_an_empty_script)
{
    static const struct bly_template_opts literal = {.is_literal = true};
    struct bly_template t = {0};
    struct bly_words none = {0};
    ck_assert_ptr_null(bly_template_line(&t, "", 0, &literal));
    ck_assert_str_eq(expand(&t, &none), "/bin/sh|-c|");
    bly_template_free(&t);
}
END_TEST

START_TEST(shown_commands_can_be_typed)
{
    struct bly_words command = WORDS("echo", "{}");
    struct bly_words args = WORDS("it's $x");
    struct bly_filling filling = {.args = &args, .seq = 1, .slot = 1};
    struct bly_template t = {0};
    struct bly_bytes text = {0};
    ck_assert_ptr_null(bly_template_argv(&t, &command, &appending));
    bly_template_show(&t, &filling, &text);
    ck_assert_str_eq(bly_bytes_c(&text), "echo 'it'\\''s $x'");
    bly_bytes_free(&text);
    bly_template_free(&t);
    bly_words_free(&command);
    bly_words_free(&args);
}
END_TEST

START_TEST(the_cost_of_an_argument_bounds_what_it_adds)
{
    struct bly_words command = WORDS("echo", "a{}b", "{}");
    struct bly_template t = {0};
    ck_assert_ptr_null(bly_template_argv(&t, &command, &appending));
    t.has_context = true;
    /* two words of ten bytes, "a" and "b", and what separates words */
    ck_assert_uint_eq(bly_template_cost(&t, "0123456789", 10), 10 + 2 + 10 + 2);
    ck_assert_uint_ge(bly_template_base(&t), 4 + 2);
    bly_template_free(&t);
    bly_words_free(&command);
}
END_TEST

START_TEST(the_cost_counts_quotes_in_a_shell_line)
{
    static const char argument[] = "'$'";
    struct bly_words args = WORDS("'$'");
    struct bly_words none = {0};
    struct bly_template t = {0};
    ck_assert_ptr_null(bly_template_line(&t, "a; b {} \"{}\"", 12, &appending));
    size_t without = strlen(expand(&t, &none));
    size_t with = strlen(expand(&t, &args));
    ck_assert_uint_ge(bly_template_cost(&t, argument, 3), with - without);
    bly_template_free(&t);
    bly_words_free(&args);
}
END_TEST

/*
 * Injection. Each template prints its argument between marks in some quoting context; each attack
 * would, if a byte of it became syntax, print something else. The shell is run for every pair.
 */
static const struct context {
    const char *line;
    const char *before; /* printed before the argument, and behind it */
    const char *behind;
} contexts[] = {
    {"printf '%s' {};", "", ""},
    {"printf '%s' x{}y;", "x", "y"},
    {"printf '%s' '{}';", "", ""},
    {"printf '%s' 'a{}b';", "a", "b"},
    {"printf '%s' \"{}\";", "", ""},
    {"printf '%s' \"a b{}c\";", "a b", "c"},
    {"printf '%s' \"'{}'\";", "'", "'"},
    {"printf '%s' '\"{}\"';", "\"", "\""},
    {"printf '%s' a'b'\"c\"{}\"d\";", "abc", "d"},
    {"printf '%s' \"\\\\{}\";", "\\", ""},
    {"printf '%s' \"\\$HOME{}\";", "$HOME", ""},
    {"X={}; printf '%s' \"$X\";", "", ""},
    {"X=\"{}\"; printf '%s' \"$X\";", "", ""},
    {"(printf '%s' {});", "", ""},
    {"(printf '%s' '{}');", "", ""},
    {"true && printf '%s' {} || :", "", ""},
    {"if true; then printf '%s' {}; fi", "", ""},
    {"{ printf '%s' {}; }", "", ""},
    {"case {} in *) printf '%s' {};; esac", "", ""},
    {"for x in {}; do printf '%s' \"$x\"; done", "", ""},
    {"f() { printf '%s' \"$1\"; }; f {}", "", ""},
    {"true # a comment 'with a quote\nprintf '%s' {}", "", ""},
    {"true;# a comment \"with a quote\nprintf '%s' {}", "", ""},
    {"printf '%s' a#'b{}'", "a#b", ""},
    {"printf '%s' \\\n{} \\\n'{}' | cat", "", NULL},
    {"set -- `echo \"'\"`; printf '%s' {}", "", ""},
    {"set -- ${X:-y}; printf '%s' {}", "", ""},
    {"set -- $((1 + 2)) $$; printf '%s' {}", "", ""},
    {"set -- \"$(echo \"'\")\"; printf '%s' {}", "", ""},
    {"set -- \"$(echo ')')\"; printf '%s' \"{}\"", "", ""},
    {"(true)# comment '\nprintf '%s' {}", "", ""},
    {"printf '%s' {} 2>&1 >&1", "", ""},
};

static const char *const attacks[] = {
    "plain",
    "",
    "a b  c",
    "; echo INJECTED",
    "\n echo INJECTED\n",
    "$(echo INJECTED)",
    "`echo INJECTED`",
    "${HOME}",
    "$HOME",
    "'",
    "\"",
    "\\",
    "\\\\",
    "'; echo INJECTED; '",
    "\"; echo INJECTED; \"",
    "'\"'\"'; echo INJECTED #",
    "\\'; echo INJECTED; \\'",
    "\\\"; echo INJECTED; \\\"",
    "'\\''; echo INJECTED; '\\''",
    "')$(echo INJECTED)('",
    "\"$(echo INJECTED)\"",
    "& echo INJECTED &",
    "| cat /etc/passwd",
    "> /dev/full",
    "*",
    "?",
    "[a-z]*",
    "~",
    "~root",
    "#comment",
    "-n",
    "A=1",
    "if",
    "done",
    "}",
    "{",
    "!",
    "!!",
    ";;",
    "esac",
    "2",
    "<<EOF",
    "a\tb",
    "\xff\xfe\x80",
    "caf\xc3\xa9",
    "$'\\n'",
    "\\\n",
    "trailing\\",
    "trailing newline\n",
    "\x01\x7f",
};

/* What a command prints; its length. */
static size_t run(char **argv, char *to)
{
    int ends[2];
    ck_assert_int_eq(pipe(ends), 0);
    pid_t pid = fork();
    if (pid == 0) {
        dup2(ends[1], 1);
        close(ends[0]);
        close(ends[1]);
        execvp(argv[0], argv);
        _exit(127);
    }
    close(ends[1]);
    size_t len = 0;
    for (ssize_t got = 1; got > 0 && len < OUTPUT_MAX; len += (size_t)got) {
        got = read(ends[0], to + len, OUTPUT_MAX - len);
        ck_assert_int_ge(got, 0);
    }
    close(ends[0]);
    waitpid(pid, NULL, 0);
    return len;
}

static void attack(const struct context *context, const char *argument)
{
    static char output[OUTPUT_MAX + 1];
    struct bly_template t = {0};
    struct bly_words args = WORDS(argument);
    struct bly_filling filling = {.args = &args, .seq = 1, .slot = 1};
    struct bly_words argv = {0};
    const char *why = bly_template_line(&t, context->line, strlen(context->line), &appending);
    ck_assert_msg(why == NULL, "%s: %s", context->line, why);
    ck_assert(t.is_shell);
    bly_template_expand(&t, &filling, &argv);
    output[run(bly_words_argv(&argv), output)] = '\0';

    struct bly_bytes expected = {0};
    bly_bytes_print(&expected, "%s%s%s", context->before, argument,
                    context->behind != NULL ? context->behind : argument);
    ck_assert_msg(strcmp(output, bly_bytes_c(&expected)) == 0,
                  "template <%s>\nscript <%s>\nprinted <%s>\nnot <%s>", context->line,
                  bly_words_at(&argv, 2), output, bly_bytes_c(&expected));
    bly_bytes_free(&expected);
    bly_words_free(&argv);
    bly_words_free(&args);
    bly_template_free(&t);
}

START_TEST(no_argument_becomes_syntax_in_any_context)
{
    for (size_t i = 0; i < sizeof contexts / sizeof contexts[0]; i++) {
        for (size_t k = 0; k < sizeof attacks / sizeof attacks[0]; k++) {
            attack(&contexts[i], attacks[k]);
        }
    }
}
END_TEST

UNIT_MAIN("cli/template", argv_without_a_hole_gets_the_argument_at_its_end,
          argv_with_holes_keeps_words_whole, argv_numbers_are_of_job_and_slot,
          positions_count_from_both_ends, a_missing_position_alone_is_no_word,
          an_empty_argument_is_a_word, several_arguments_spread_over_words,
          several_arguments_repeat_their_context, a_renamed_hole_leaves_braces_alone,
          perl_expressions_are_refused_by_name, a_plain_line_needs_no_shell,
          a_line_with_syntax_goes_to_the_shell, a_word_that_is_syntax_is_quoted,
          numbers_may_stand_anywhere, literal_lines_keep_their_braces,
          an_empty_line_is_an_empty_script, shown_commands_can_be_typed,
          the_cost_of_an_argument_bounds_what_it_adds, the_cost_counts_quotes_in_a_shell_line,
          no_argument_becomes_syntax_in_any_context)
