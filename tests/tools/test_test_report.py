"""test-report counts the tests inside the programs and never hides a failure."""
import unittest

from tool_case import ToolCase


def program(name, output, verdict="Passed."):
    """One program's part of CTest's log."""
    rule = "-" * 58
    return (f'1/1 Testing: {name}\n1/1 Test: {name}\nCommand: "x"\nDirectory: /\n'
            f'"{name}" start time: -\nOutput:\n{rule}\n{output}\n<end of output>\n'
            f"Test time =   0.50 sec\n{rule}\nTest {verdict}\n")


class TestReport(ToolCase):
    def report(self, *programs, ctest_log=""):
        self.plant("build/ctest.log", ctest_log)
        self.plant("build/Testing/Temporary/LastTest.log", "\n".join(programs))
        code, output = self.run_tool("test-report", "dev", "build")
        self.assertEqual(code, 0)
        return output

    def test_counts_the_checks_of_a_check_program(self):
        output = self.report(program("unit/a", "Running suite(s): a\n100%: Checks: 7, Failures: 0, Errors: 0"))
        self.assertEqual(output, "dev: 7 passed, 0 failed (0.5 s of tests)\n")

    def test_counts_unittest_programs_and_plain_lines_and_silent_programs(self):
        output = self.report(program("a", "Ran 3 tests in 0.1s\n\nOK"), program("b", "5 passed, 0 failed"),
                             program("c", ""))
        self.assertEqual(output, "dev: 9 passed, 0 failed (1.5 s of tests)\n")

    def test_shows_the_output_and_the_name_of_a_failure(self):
        output = self.report(program("unit/a", "50%: Checks: 2, Failures: 1, Errors: 0\nx.c:3:F: 1 != 2",
                                     "Failed."))
        self.assertIn("x.c:3:F: 1 != 2", output)
        self.assertIn("dev: 1 passed, 1 failed", output)
        self.assertIn("  failed: dev unit/a\n", output)

    def test_counts_a_program_that_failed_without_counting_a_failure(self):
        output = self.report(program("unit/a", "100%: Checks: 2, Failures: 0, Errors: 0", "Failed."))
        self.assertIn("dev: 2 passed, 1 failed", output)

    def test_counts_a_program_that_could_not_start(self):
        output = self.report(program("a", ""), ctest_log="2/2 Test #2: unit/b ......***Not Run   0.00 sec\n")
        self.assertIn("dev: 1 passed, 1 failed", output)
        self.assertIn("  failed: dev unit/b (not run)\n", output)

    def test_an_empty_run_is_a_failure(self):
        self.assertIn("dev: 0 passed, 1 failed", self.report(ctest_log="No tests were found!!!\n"))

    def test_reports_one_program(self):
        self.plant("log", "x  dfs  9\n5 passed, 0 failed\n")
        self.assertEqual(self.run_tool("test-report", "--program", "model", "log", "0"),
                         (0, "model: 5 passed, 0 failed\n"))
        code, output = self.run_tool("test-report", "--program", "model", "log", "139")
        self.assertIn("x  dfs  9", output)
        self.assertIn("model: 5 passed, 1 failed\n  failed: model\n", output)

    def test_sum_adds_up_and_closes_with_the_plain_line(self):
        self.plant("results", "dev: 7 passed, 0 failed (1.0 s of tests)\n"
                              "tsan: 5 passed, 2 failed (1.0 s of tests)\n  failed: tsan unit/a\n")
        code, output = self.run_tool("test-report", "--sum", "results")
        self.assertEqual(output, "failed: tsan unit/a\n12 passed, 2 failed\n")
        self.assertEqual(code, 1)

    def test_sum_of_nothing_is_a_failure(self):
        self.plant("results", "")
        self.assertEqual(self.run_tool("test-report", "--sum", "results"), (1, "0 passed, 0 failed\n"))


if __name__ == "__main__":
    unittest.main()
