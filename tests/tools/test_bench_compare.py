"""bench/compare runs the subjects in turn and compares the figures of the same round."""
import json
import unittest

from tool_case import ToolCase

PROGRAM = """#!/bin/sh
if [ "$1" = --list ]; then
    echo "pair ns low belay"
    echo "pair ns low mutex"
    echo "alone M/s high belay"
    exit 0
fi
echo "$1 $2" >>"${0%/*}/calls"
echo "noise"
case $2 in belay) echo 10 ;; *) echo 40 ;; esac
"""


class BenchCompare(ToolCase):
    def setUp(self):
        super().setUp()
        self.plant("build/release/bench/bench_sem", PROGRAM)
        (self.root / "build/release/bench/bench_sem").chmod(0o755)

    def compare(self, *args):
        return self.run_tool("../bench/compare", *args, BELAY_BUILD="build/release")

    def calls(self):
        return (self.root / "build/release/bench/calls").read_text().splitlines()

    def test_runs_the_subjects_in_turn_each_round_in_another_order(self):
        self.assertEqual(self.compare("sem", "pair", "--rounds", "5")[0], 0)
        self.assertEqual(self.calls()[:4], ["pair belay", "pair mutex", "pair mutex", "pair belay"])
        self.assertEqual(len(self.calls()), 10)

    def test_the_table_has_the_median_ratio(self):
        output = self.compare("sem", "pair")[1]
        self.assertRegex(output, r"\| pair +\| mutex +\| ns +\| 40 .*\| 7 +\| 0\.25 \(0\.25 to 0\.25\)")
        self.assertIn("| pair ", (self.root / "build/bench/report.md").read_text())
        self.assertIn("pair: mutex", (self.root / "build/bench/report.svg").read_text())

    def test_json_has_an_object_a_line(self):
        lines = [l for l in self.compare("sem", "alone", "--json")[1].splitlines() if l.startswith("{")]
        self.assertEqual([json.loads(l) for l in lines],
                         [{"workload": "alone", "subject": "belay", "unit": "M/s", "median": 10.0,
                           "min": 10.0, "max": 10.0, "runs": 7}])

    def test_refuses_an_unknown_workload_and_too_few_rounds(self):
        code, output = self.compare("sem", "nothing")
        self.assertEqual((code, output), (1, "bench: no workload nothing; there are: pair, alone\n"))
        self.assertEqual(self.compare("sem", "--rounds", "4")[0], 2)


if __name__ == "__main__":
    unittest.main()
