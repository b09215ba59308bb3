/* Tags of jobs. */
#include "unit.h"

#include <string.h>

#include "cli/tag.h"

static void check(struct bly_runopts opts, const char *expected)
{
    struct bly_template tag = {0};
    bly_job *job = bly_job_make(4);
    job->slot = 2;
    bly_words_text(&job->args, "/p/a.b");
    bly_words_text(&job->args, "c");
    ck_assert_int_eq(bly_tag_open(&tag, &opts), 0);
    char *text = bly_tag_make(&tag, job);
    if (expected == NULL) {
        ck_assert_ptr_null(text);
    } else {
        ck_assert_str_eq(text, expected);
    }
    bly_mem_free(text);
    bly_template_free(&tag);
    bly_job_free(job);
}

START_TEST(tags_are_arguments_or_a_text_with_them)
{
    check((struct bly_runopts){0}, NULL);
    check((struct bly_runopts){.has_tag = true}, "/p/a.b c");
    check((struct bly_runopts){.has_tag = true, .whole = "@"}, "/p/a.b c");
    check((struct bly_runopts){.has_tag = true, .tag = "{#}.{%} {1/.}!"}, "4.2 a!");
    check((struct bly_runopts){.has_tag = true, .tag = "fixed"}, "fixed");
    check((struct bly_runopts){.has_tag = true, .tag = ""}, "");
}
END_TEST

START_TEST(a_tag_without_arguments_is_empty)
{
    struct bly_template tag = {0};
    struct bly_runopts opts = {.has_tag = true};
    bly_job *job = bly_job_make(1);
    ck_assert_int_eq(bly_tag_open(&tag, &opts), 0);
    char *text = bly_tag_make(&tag, job);
    ck_assert_str_eq(text, "");
    bly_mem_free(text);
    bly_template_free(&tag);
    bly_job_free(job);
}
END_TEST

START_TEST(perl_expressions_are_refused)
{
    struct bly_template tag = {0};
    struct bly_runopts opts = {.has_tag = true, .tag = "{= 1 =}"};
    ck_assert_int_eq(bly_tag_open(&tag, &opts), 255);
    bly_template_free(&tag);
}
END_TEST

UNIT_MAIN("cli/tag", tags_are_arguments_or_a_text_with_them, a_tag_without_arguments_is_empty,
          perl_expressions_are_refused)
