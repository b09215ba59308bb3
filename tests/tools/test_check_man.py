"""check-man finds missing pages, missing sections, broken references and what mandoc finds."""
import unittest

from tool_case import ToolCase

PAGE = """.Dd $Mdocdate$
.Dt BELAY_ONE 3
.Os
.Sh NAME
.Nm belay_one
.Nd gives one
.Sh SYNOPSIS
.In belay/base.h
.Ft int
.Fn belay_one void
.Sh DESCRIPTION
Gives one.
.Sh RETURN VALUES
One.
.Sh CONTEXT
Any thread.
.Sh EXAMPLES
.Bd -literal
belay_one();
.Ed
.Sh SEE ALSO
.Xr belay_two 3
"""


class CheckMan(ToolCase):
    def setUp(self):
        super().setUp()
        self.plant("cmake/libbelay.symbols", "belay_one\nbelay_two\n")
        self.plant("docs/man/belay_one.3", PAGE)
        self.plant("docs/man/belay_two.3", PAGE.replace("_one", "_two").replace("_ONE", "_TWO")
                   .replace("Xr belay_two", "Xr belay_one"))

    def assert_refused(self, expected):
        self.assertEqual(self.run_tool("check-man"), (1, expected + "\n"))

    def test_accepts_a_sound_page_for_each_function(self):
        self.assertEqual(self.run_tool("check-man"), (0, ""))

    def test_finds_a_function_without_a_page(self):
        self.plant("cmake/libbelay.symbols", "belay_one\nbelay_three\nbelay_two\n")
        self.assert_refused("docs/man/belay_three.3: is missing")

    def test_finds_a_function_of_the_test_kit_without_a_page(self):
        self.plant("include/belay/test.h", "/* belay_x(): */\nint belay_one(int a);\n"
                   "const char *belay_four(void);\ntypedef int (*belay_fn)(void);\n")
        self.plant("include/belay/model.h", "#define belay_five(x) ((x) ? 0 : belay_one(1))\n")
        self.assert_refused("docs/man/belay_four.3: is missing\ndocs/man/belay_five.3: is missing")

    def test_finds_a_missing_section(self):
        self.plant("docs/man/belay_one.3", PAGE.replace(".Sh CONTEXT\nAny thread.\n", ""))
        self.assert_refused("belay_one.3: no section CONTEXT")

    def test_finds_sections_out_of_order(self):
        self.plant("docs/man/belay_one.3", PAGE.replace("Sh CONTEXT", "Sh X").replace(
            "Sh RETURN VALUES", "Sh CONTEXT").replace("Sh X", "Sh ERRORS"))
        self.assert_refused("belay_one.3: its sections are not in the usual order")

    def test_finds_a_reference_to_no_page(self):
        self.plant("docs/man/belay_one.3", PAGE.replace("Xr belay_two", "Xr belay_none"))
        self.assert_refused("belay_one.3: refers to belay_none(3), which does not exist")

    def test_finds_what_mandoc_finds(self):
        self.plant("docs/man/belay_one.3", PAGE.replace(".Ed\n", ""))
        code, output = self.run_tool("check-man")
        self.assertEqual(code, 1)
        self.assertIn("belay_one.3:", output)


if __name__ == "__main__":
    unittest.main()
