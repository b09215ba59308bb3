"""check-symbols finds what libraries, lists and public headers do not agree on."""
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
JOBS_HEADER = "BELAY_API int belay_jobs_one(void);\n"
JOBS_SOURCE = """__attribute__((visibility("default"))) int belay_jobs_one(void);
int belay_jobs_one(void) { return 3; }
"""


class CheckSymbols(ToolCase):
    def setUp(self):
        super().setUp()
        self.plant("include/belay/base.h", HEADER)
        self.plant("include/belay/job.h", JOBS_HEADER)
        self.plant("cmake/libbelay.symbols", "belay_one\nbelay_two\n")
        self.plant("cmake/libbelay-jobs.symbols", "belay_jobs_one\n")

    def make_library(self, name, source):
        self.plant(f"{name}.c", source)
        (self.root / "lib").mkdir(exist_ok=True)
        subprocess.run(["cc", "-shared", "-fPIC", "-fvisibility=hidden", f"{name}.c", "-o", f"lib/{name}.so"],
                       cwd=self.root, check=True)

    def check(self, source=SOURCE, *options, jobs=JOBS_SOURCE):
        self.make_library("libbelay", source)
        self.make_library("libbelay-jobs", jobs)
        return self.run_tool("check-symbols", *options, "lib")

    def test_finds_a_library_that_is_not_built(self):
        code, output = self.run_tool("check-symbols", "lib")
        self.assertEqual((code, output.splitlines()[0]), (1, "there is no lib/libbelay.so; build it first"))

    def test_finds_what_the_library_of_jobs_lacks(self):
        code, output = self.check(jobs=JOBS_SOURCE.replace("belay_jobs_one", "belay_jobs_other"))
        self.assertEqual(code, 1)
        self.assertIn("belay_jobs_other: exported, but not in cmake/libbelay-jobs.symbols", output)
        self.assertIn("belay_jobs_one: in cmake/libbelay-jobs.symbols, but no longer exported", output)

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
