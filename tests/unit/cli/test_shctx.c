/* Where in a shell line a value may stand, and how it is quoted there. */
#include "unit.h"

#include <string.h>

#include "cli/shctx.h"

/* The kind of quoting at @ in a line; NULL means a refusal, whose reason is in *ret_why. */
static const char *kind_at(const char *line, const char **ret_why)
{
    static const char *const names[] = {"none", "bare", "word", "single", "double"};
    struct bly_shctx ctx = {0};
    const char *at = strchr(line, '@');
    enum bly_quote quote = BLY_QUOTE_NONE;
    bly_shctx_feed(&ctx, line, (size_t)(at - line));
    *ret_why = bly_shctx_hole(&ctx, &quote);
    if (*ret_why != NULL) {
        return "refused";
    }
    ck_assert_uint_eq(names[BLY_QUOTE_SINGLE][0], 's');
    return names[quote];
}

static const struct expectation {
    const char *line;
    const char *kind;
} expectations[] = {
    {"@", "bare"},
    {"echo a@", "bare"},
    {"echo '@", "single"},
    {"echo 'a' \"b\" '@", "single"},
    {"echo \"@", "double"},
    {"echo \"'@", "double"},
    {"echo '\"@", "single"},
    {"echo \\'@", "bare"},
    {"echo \\\"@", "bare"},
    {"echo \"\\\"@", "double"},
    {"echo '\\'@", "bare"},
    {"echo $(cat @", "bare"},
    {"echo $(cat '@", "single"},
    {"echo $(cat \"@", "double"},
    {"(a; b) @", "bare"},
    {"echo $x@", "bare"},
    {"echo ${x}@", "bare"},
    {"echo $$@", "bare"},
    {"echo `date '+%F'` @", "bare"},
    {"echo \"`date '+%F'`@", "double"},
    {"echo \"$(date \"+%F\")@", "double"},
    {"echo $((1 + (2))) @", "bare"},
    {"# it's\n@", "bare"},
    {"a#'@", "single"},
    {"echo \\# @", "bare"},
    {"case x in a) b;; esac; echo @", "bare"},
    {"case x in a) echo \"@", "double"},
    {"echo a\\\n@", "bare"},
    {"cat < @", "bare"},
    {"a <b; c < @", "bare"},
    {"echo $$( @", "bare"},
    /* refused */
    {"echo `cat @", "refused"},
    {"echo \"`cat @", "refused"},
    {"echo \"$(cat @", "refused"},
    {"echo \"$(cat \"@", "refused"},
    {"echo \"$(cat '@", "refused"},
    {"echo $(cat `@", "refused"},
    {"echo ${x:-@", "refused"},
    {"echo \"${x:-@", "refused"},
    {"echo $((@", "refused"},
    {"echo $((1)+@", "refused"},
    {"((@", "refused"},
    {"cat <<E\n@", "refused"},
    {"cat <<@", "refused"},
    {"cat <<'E'\n@", "refused"},
    {"cat <\\\n<E\n@", "refused"},
    {"cat <<E\nx\nE\necho @", "refused"},
    {"# @", "refused"},
    {"echo a # @", "refused"},
    {"echo a;#@", "refused"},
    {"(a)#@", "refused"},
    {"echo \\@", "refused"},
    {"echo \"\\@", "refused"},
    {"echo $@", "refused"},
    {"echo \"$@", "refused"},
    {"echo $\\\n@", "refused"},
    {"echo $'a' @", "refused"},
    {"echo ${x:-'a'} @", "refused"},
    {"echo ${x:-$(a)} @", "refused"},
    {"echo $(case x in a) echo \"@", "refused"},
    {"echo \"$(case x in a) b;; esac) @", "refused"},
    {"(case x in (a) b;; esac; @", "refused"},
    {"cat <(a) @", "refused"},
};

START_TEST(each_place_has_its_quoting)
{
    for (size_t i = 0; i < sizeof expectations / sizeof expectations[0]; i++) {
        const char *why = NULL;
        const char *kind = kind_at(expectations[i].line, &why);
        ck_assert_msg(strcmp(kind, expectations[i].kind) == 0, "<%s> is %s, not %s (%s)",
                      expectations[i].line, kind, expectations[i].kind, why != NULL ? why : "");
    }
}
END_TEST

START_TEST(nesting_beyond_the_bound_is_refused)
{
    struct bly_shctx ctx = {0};
    enum bly_quote quote = BLY_QUOTE_NONE;
    for (int i = 0; i < BLY_SHCTX_DEPTH_MAX; i++) {
        bly_shctx_feed(&ctx, "( ", 2);
    }
    ck_assert_ptr_null(bly_shctx_hole(&ctx, &quote));
    bly_shctx_feed(&ctx, "( ", 2);
    ck_assert_ptr_nonnull(bly_shctx_hole(&ctx, &quote));
}
END_TEST

START_TEST(a_value_continues_the_word_it_stands_in)
{
    struct bly_shctx ctx = {0};
    enum bly_quote quote = BLY_QUOTE_NONE;
    bly_shctx_feed(&ctx, "echo ", 5);
    ck_assert_ptr_null(bly_shctx_hole(&ctx, &quote));
    bly_shctx_feed(&ctx, "#'", 2); /* no comment: the word goes on */
    ck_assert_ptr_null(bly_shctx_hole(&ctx, &quote));
    ck_assert_int_eq(quote, BLY_QUOTE_SINGLE);
}
END_TEST

START_TEST(a_nul_byte_ends_all_knowledge)
{
    struct bly_shctx ctx = {0};
    enum bly_quote quote = BLY_QUOTE_NONE;
    bly_shctx_feed(&ctx, "a\0b", 3);
    ck_assert_ptr_nonnull(bly_shctx_hole(&ctx, &quote));
}
END_TEST

UNIT_MAIN("cli/shctx", each_place_has_its_quoting, nesting_beyond_the_bound_is_refused,
          a_value_continues_the_word_it_stands_in, a_nul_byte_ends_all_knowledge)
