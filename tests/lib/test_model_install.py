"""An installed explorer finds the fault of a program outside the tree, by pkg-config and by CMake."""
import os
import subprocess
import tempfile
import unittest
from pathlib import Path

import tutorial

SOURCE = Path(__file__).resolve().parent.parent.parent
BUILD = Path(os.environ["BELAY_BUILD"])
EXPLORED = SOURCE / "tests/lib/explored"
STRICT = ["-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]


def run(*command, status=0, **variables):
    """The standard output of a command that must end with that status."""
    done = subprocess.run([str(word) for word in command], text=True, check=False, timeout=100,
                          env={**os.environ, **variables}, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT)
    if done.returncode != status:
        raise AssertionError(f"{command} ended with {done.returncode}:\n{done.stdout}")
    return done.stdout


class InstalledExplorer(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = Path(folder.name)
        cls.prefix = cls.folder / "prefix"
        run("cmake", "--install", BUILD, "--prefix", cls.prefix)

    def explore(self, program):
        """The right program passes; of the wrong one the fault is found, shown and replayed."""
        self.assertEqual(run(program, "right"), "BELAY_OK: nothing found\n")
        output = run(program, "wrong", status=1)
        self.assertIn("BELAY_ECANCELED: data race", output)
        self.assertIn("\nreplayed\n", output)
        self.assertIn("explored.c:", output)
        self.assertEqual(run(program, "wrong", status=1), output)

    def test_pkg_config_builds_an_explored_program(self):
        program = self.folder / "explored"
        flags = run("pkg-config", "--cflags", "--libs", "belay-model",
                    PKG_CONFIG_LIBDIR=str(self.prefix / "lib/pkgconfig")).split()
        run("cc", *STRICT, EXPLORED / "explored.c", *flags, "-o", program)
        self.explore(program)

    def test_the_cmake_package_offers_the_explorer(self):
        build = self.folder / "build"
        run("cmake", "-G", "Ninja", "-S", EXPLORED, "-B", build, f"-DCMAKE_PREFIX_PATH={self.prefix}")
        run("cmake", "--build", build)
        self.explore(build / "explored")

    def test_the_commands_of_the_tutorial_explore_the_queue(self):
        status, output = tutorial.follow("belay-model", "model", self.prefix, self.folder)
        self.assertRegex(output, r"\A[0-9]+ executions, which are all\n\Z")
        self.assertEqual(status, 0)

    def test_the_fault_that_the_tutorial_plants_is_found(self):
        store = "belay_store(&before->next, added, BELAY_RELEASE)"
        copy = self.folder / "planted"
        copy.mkdir()
        run("cp", "-r", SOURCE / "examples/model", copy)
        header = copy / "model/queue.h"
        text = header.read_text()
        self.assertEqual(text.count(store), 1)
        header.write_text(text.replace(store, store.replace("RELEASE", "RELAXED")))
        flags = run("pkg-config", "--cflags", "--libs", "belay-model",
                    PKG_CONFIG_LIBDIR=str(self.prefix / "lib/pkgconfig")).split()
        run("cc", copy / "model/explore_queue.c", *flags, "-o", copy / "a.out")
        self.assertIn("data race", run(copy / "a.out", status=1))

    def test_the_headers_come_along(self):
        for name in ("model.h", "seam.h", "test.h", "detail/atomic.h"):
            self.assertTrue((self.prefix / "include/belay" / name).exists(), name)


if __name__ == "__main__":
    unittest.main()
