"""check-symbols finds what library, list and public headers do not agree on."""
import subprocess
import unittest

from tool_case import ToolCase

HEADER = """#define BELAY_API __attribute__((visibility("default")))
BELAY_API int belay_one(void);
BELAY_API const char *
belay_two(int (*fn)(void *arg), void *arg);
"""
SOURCE = """#include "include/belay/base.h"
int belay_one(void) { return 1; }
const char *belay_two(int (*fn)(void *arg), void *arg) { (void)fn, (void)arg; return ""; }
int hidden(void) { return 2; }
"""


class CheckSymbols(ToolCase):
    def setUp(self):
        super().setUp()
        self.plant("include/belay/base.h", HEADER)
        self.plant("cmake/libbelay.symbols", "belay_one\nbelay_two\n")

    def check(self, source=SOURCE, *options):
        self.plant("lib.c", source)
        subprocess.run(["cc", "-shared", "-fPIC", "-fvisibility=hidden", "lib.c", "-o", "lib.so"],
                       cwd=self.root, check=True)
        return self.run_tool("check-symbols", *options, "lib.so")

    def test_accepts_three_lists_that_agree(self):
        self.assertEqual(self.check(), (0, ""))

    def test_finds_a_new_export(self):
        self.plant("include/belay/more.h", "BELAY_API void belay_new(void);\n")
        code, output = self.check(SOURCE + "__attribute__((visibility(\"default\"))) void belay_new(void) { }\n")
        self.assertEqual(code, 1)
        self.assertTrue(output.startswith("belay_new: exported, but not in cmake/libbelay.symbols"))

    def test_finds_an_export_that_no_header_declares(self):
        self.plant("cmake/libbelay.symbols", "belay_new\nbelay_one\nbelay_two\n")
        found = self.check(SOURCE + "__attribute__((visibility(\"default\"))) void belay_new(void) { }\n")
        self.assertEqual(found, (1, "belay_new: exported, but declared in no public header\n"))

    def test_finds_a_lost_export_and_a_declaration_without_a_function(self):
        code, output = self.check(SOURCE.replace("int belay_one", "static int belay_lost").replace(
            "#include", "//"))
        self.assertEqual(code, 1)
        self.assertIn("belay_one: in cmake/libbelay.symbols, but no longer exported", output)
        self.assertIn("belay_one: declared BELAY_API in a public header, but not exported", output)

    def test_update_writes_what_is_exported(self):
        self.plant("cmake/libbelay.symbols", "belay_gone\n")
        self.assertEqual(self.check(SOURCE, "--update"), (0, ""))
        self.assertEqual((self.root / "cmake/libbelay.symbols").read_text(), "belay_one\nbelay_two\n")


if __name__ == "__main__":
    unittest.main()
