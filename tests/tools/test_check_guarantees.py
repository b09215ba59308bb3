"""check-guarantees finds promises without tests and citations without promises."""
import unittest

from tool_case import ToolCase

LIST = """# Guarantees

## Semaphore (G-SEM)
- **[G-SEM-1]** Waiters are served in order. Tests:
  `acquire_is_fifo`, `tests/cli/order.py`.
"""


class CheckGuarantees(ToolCase):
    def setUp(self):
        super().setUp()
        self.plant("docs/guarantees.md", LIST)
        self.plant("tests/unit/sem/test_sem.c", "START_TEST(acquire_is_fifo)\n")
        self.plant("tests/cli/order.py", "def test_order(self):\n")
        self.plant("include/belay/sem.h", "/* in order [G-SEM-1] */\n")

    def assert_refused(self, *expected):
        code, output = self.run_tool("check-guarantees")
        self.assertEqual(output.splitlines(), list(expected))
        self.assertEqual(code, 1)

    def add(self, text):
        self.plant("docs/guarantees.md", LIST + text)

    def test_accepts_a_promise_that_is_cited_and_held(self):
        self.assertEqual(self.run_tool("check-guarantees"), (0, ""))

    def test_refuses_a_citation_of_an_unknown_promise(self):
        self.plant("src/sem/sem.c", "/* [G-SEM-2] */\n")
        self.assert_refused("src/sem/sem.c: cites G-SEM-2, which is not in docs/guarantees.md")

    def test_refuses_an_entry_without_a_test(self):
        self.add("- **[G-SEM-2]** Permits never leak.\n")
        self.assert_refused("docs/guarantees.md: G-SEM-2 names no test")

    def test_refuses_a_test_that_does_not_exist(self):
        self.add("- **[G-SEM-2]** Permits never leak. Tests: `nothing_leaks`.\n")
        self.assert_refused("docs/guarantees.md: G-SEM-2 names the test nothing_leaks, which does not exist")

    def test_refuses_a_number_given_twice(self):
        self.add("- **[G-SEM-1]** Again. Tests: `acquire_is_fifo`.\n")
        self.assert_refused("docs/guarantees.md: G-SEM-1 is given twice")

    def test_refuses_an_entry_in_the_section_of_another_part(self):
        self.add("- **[G-EXEC-1]** Tasks run. Tests: `acquire_is_fifo`.\n")
        self.assert_refused("docs/guarantees.md: G-EXEC-1 stands in the section of G-SEM")


if __name__ == "__main__":
    unittest.main()
