"""check-seam finds each use of the system outside the folders that are allowed it."""
import unittest

from tool_case import ToolCase

RULES = """class clock: clock_gettime time()
class threads: pthread_* _Atomic
class process: exec?*()
class sleep: usleep()
allow sync: clock threads
forbid tests: sleep
"""


class CheckSeam(ToolCase):
    def setUp(self):
        super().setUp()
        self.plant("src/SEAM", RULES)

    def assert_refused(self, path, text, expected):
        self.plant(path, text)
        self.assertEqual(self.run_tool("check-seam"), (1, expected + " (src/SEAM)\n"))

    def assert_accepted(self, path, text):
        self.plant(path, text)
        self.assertEqual(self.run_tool("check-seam"), (0, ""))

    def test_finds_a_call_and_tells_its_line(self):
        self.assert_refused("src/sem/a.c", "/* two\n lines */ int x = time(NULL);\n",
                            "src/sem/a.c:2: time: clock is not for this folder")

    def test_finds_a_name_that_a_star_stands_for(self):
        self.assert_refused("src/sem/a.h", "pthread_mutex_t lock;\n",
                            "src/sem/a.h:1: pthread_mutex_t: threads is not for this folder")

    def test_finds_an_exec_but_no_call_of_an_object_named_exec(self):
        self.assert_refused("src/sem/a.c", "execve(path, argv, envp); exec(x);\n",
                            "src/sem/a.c:1: execve: process is not for this folder")

    def test_accepts_what_the_folder_is_allowed(self):
        self.assert_accepted("src/sync/a.c", "clock_gettime(id, &now); pthread_self();\n")

    def test_accepts_members_longer_names_comments_and_strings(self):
        self.assert_accepted("src/sem/a.c", 'clock->time(clock); ops.time(1); bly_time(2); int time;\n'
                                            '/* time(NULL) */ // pthread_self()\nputs("time(NULL)");\n')

    def test_forbids_sleeping_in_tests_but_not_the_rest(self):
        self.assert_refused("tests/unit/sem/a.c", "pthread_self(); usleep(10);\n",
                            "tests/unit/sem/a.c:1: usleep: sleep is not for this folder")

    def test_refuses_a_rule_about_an_unknown_class(self):
        self.plant("src/SEAM", RULES + "allow sync: clocks\n")
        self.assertEqual(self.run_tool("check-seam"), (1, "src/SEAM: no class clocks\n"))


if __name__ == "__main__":
    unittest.main()
