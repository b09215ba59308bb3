/* Replacement strings and the pieces of arguments that they name. */
#include "unit.h"

#include <string.h>

#include "cli/hole.h"

static void check_scan(const char *text, size_t len, enum bly_hole_kind kind, int position)
{
    struct bly_hole hole = {0};
    const char *why = NULL;
    ck_assert_uint_eq(bly_hole_scan(text, NULL, &hole, &why), len);
    ck_assert_ptr_null(why);
    if (len > 0) {
        ck_assert_int_eq(hole.kind, kind);
        ck_assert_int_eq(hole.position, position);
    }
}

START_TEST(all_forms_are_known)
{
    check_scan("{}x", 2, BLY_HOLE_WHOLE, 0);
    check_scan("{.}", 3, BLY_HOLE_NO_EXT, 0);
    check_scan("{/}", 3, BLY_HOLE_BASE, 0);
    check_scan("{//}", 4, BLY_HOLE_DIR, 0);
    check_scan("{/.}", 4, BLY_HOLE_BASE_NO_EXT, 0);
    check_scan("{#}", 3, BLY_HOLE_SEQ, 0);
    check_scan("{%}", 3, BLY_HOLE_SLOT, 0);
    check_scan("{12}", 4, BLY_HOLE_WHOLE, 12);
    check_scan("{1.}", 4, BLY_HOLE_NO_EXT, 1);
    check_scan("{1/}", 4, BLY_HOLE_BASE, 1);
    check_scan("{1//}", 5, BLY_HOLE_DIR, 1);
    check_scan("{1/.}", 5, BLY_HOLE_BASE_NO_EXT, 1);
    check_scan("{-1}", 4, BLY_HOLE_WHOLE, -1);
}
END_TEST

START_TEST(other_braces_are_text)
{
    static const char *const texts[] = {"",     "{",     "x{}",  "{ }",       "{a}",
                                        "{0}",  "{1",    "{-}",  "{1#}",      "{...}",
                                        "{-0}", "{1,2}", "{..}", "{1234567}", "{///}"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        check_scan(texts[i], 0, BLY_HOLE_WHOLE, 0);
    }
}
END_TEST

START_TEST(another_name_replaces_the_bare_form_only)
{
    struct bly_hole hole = {0};
    const char *why = NULL;
    ck_assert_uint_eq(bly_hole_scan("@@x", "@@", &hole, &why), 2);
    ck_assert_int_eq(hole.kind, BLY_HOLE_WHOLE);
    ck_assert_uint_eq(bly_hole_scan("{}", "@@", &hole, &why), 0);
    ck_assert_uint_eq(bly_hole_scan("{.}", "@@", &hole, &why), 3);
    ck_assert_uint_eq(bly_hole_scan("{1}", "@@", &hole, &why), 3);
}
END_TEST

START_TEST(perl_expressions_are_refused)
{
    struct bly_hole hole = {0};
    const char *why = NULL;
    ck_assert_uint_eq(bly_hole_scan("{= 1 =}", NULL, &hole, &why), 0);
    ck_assert_ptr_nonnull(why);
}
END_TEST

static void check_cut(enum bly_hole_kind kind, const char *argument, const char *expected)
{
    struct bly_slice piece = bly_hole_cut(kind, argument, strlen(argument));
    ck_assert_msg(piece.len == strlen(expected) && memcmp(piece.at, expected, piece.len) == 0,
                  "%d of <%s> is <%.*s>, not <%s>", (int)kind, argument, (int)piece.len, piece.at,
                  expected);
}

START_TEST(cuts_are_those_of_parallel)
{
    check_cut(BLY_HOLE_WHOLE, "/a/b.c.gz", "/a/b.c.gz");
    check_cut(BLY_HOLE_NO_EXT, "/a/b.c.gz", "/a/b.c");
    check_cut(BLY_HOLE_BASE, "/a/b.c.gz", "b.c.gz");
    check_cut(BLY_HOLE_DIR, "/a/b.c.gz", "/a");
    check_cut(BLY_HOLE_BASE_NO_EXT, "/a/b.c.gz", "b.c");
    check_cut(BLY_HOLE_NO_EXT, "d.e", "d");
    check_cut(BLY_HOLE_DIR, "d.e", ".");
    check_cut(BLY_HOLE_NO_EXT, "a.b/c", "a.b/c");
    check_cut(BLY_HOLE_NO_EXT, ".bashrc", "");
    check_cut(BLY_HOLE_NO_EXT, "foo.", "foo.");
    check_cut(BLY_HOLE_NO_EXT, "/a/.b", "/a/");
    check_cut(BLY_HOLE_BASE, "a/", "");
    check_cut(BLY_HOLE_DIR, "/", "/");
    check_cut(BLY_HOLE_DIR, "a/", ".");
    check_cut(BLY_HOLE_DIR, "//a", "/");
    check_cut(BLY_HOLE_DIR, "a//b", "a");
    check_cut(BLY_HOLE_DIR, "/a", "/");
    check_cut(BLY_HOLE_DIR, "", ".");
    check_cut(BLY_HOLE_WHOLE, "", "");
    check_cut(BLY_HOLE_BASE_NO_EXT, "x/.y", "");
}
END_TEST

UNIT_MAIN("cli/hole", all_forms_are_known, other_braces_are_text,
          another_name_replaces_the_bare_form_only, perl_expressions_are_refused,
          cuts_are_those_of_parallel)
