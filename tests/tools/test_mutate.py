"""mutate lists changes by function and line, and checks the list of those that make no difference."""
import unittest

from tool_case import ToolCase

SOURCE = """/* A part: a == b here is no code. */
static int limit = 1;

static int first(int a)
{
    bly_assert(a == 0);
    return a == 1; /* the one */
}

int second(int a,
           int b)
{
    a += 2;
    if (a == 1) {
        b = a;
    }
    if (a == 1) {
        b = a;
    }
    return b;
}
"""
FIRST = "src/time/a.c: first: return a [== -> !=] 1;"


class Mutate(ToolCase):
    def setUp(self):
        super().setUp()
        self.plant("src/time/a.c", SOURCE)

    def list(self, *args):
        code, output = self.run_tool("mutate", "--list", *args, BELAY_ROOT=str(self.root))
        return code, output.splitlines()

    def test_lists_the_changes_of_code_alone(self):
        code, lines = self.list()
        self.assertEqual(code, 0)
        self.assertIn(FIRST, lines)
        self.assertIn("src/time/a.c: second: [a += 2; -> ;]", lines)
        self.assertFalse([line for line in lines if "assert" in line or "limit" in line])

    def test_the_same_line_again_has_a_number(self):
        lines = self.list("time")[1]
        self.assertIn("src/time/a.c: second: if (a [== -> !=] 1) {", lines)
        self.assertIn("src/time/a.c: second: if (a [== -> !=] 1) { #2", lines)
        self.assertEqual(len(lines), len(set(lines)))

    def test_an_entry_that_matches_nothing_is_an_error(self):
        self.plant("tests/model/equivalent-mutants", f"{FIRST}\n    It is.\n")
        self.assertEqual(self.list()[0], 0)
        self.plant("tests/model/equivalent-mutants", "src/time/a.c: first: return [2 -> 3];\n    It is.\n")
        self.assertEqual(self.list(), (1, [
            "equivalent-mutants: no such change: src/time/a.c: first: return [2 -> 3];"]))

    def test_an_entry_needs_a_reason_and_stands_once(self):
        self.plant("tests/model/equivalent-mutants", f"{FIRST}\n")
        self.assertEqual(self.list(), (1, [f"equivalent-mutants: no reason: {FIRST}"]))
        self.plant("tests/model/equivalent-mutants", f"{FIRST}\n{FIRST}\n    It is.\n")
        self.assertEqual(self.list(), (1, [f"equivalent-mutants: line 2: stands here twice: {FIRST}"]))

    def test_refuses_what_is_no_part(self):
        code, lines = self.list("nothing")
        self.assertEqual((code, lines), (1, [
            "mutate: nothing is neither a part (time, sched, exec, deliver, sem) nor a file of one"]))


if __name__ == "__main__":
    unittest.main()
