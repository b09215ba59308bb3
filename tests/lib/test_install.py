"""An installed belay serves programs outside the tree, by pkg-config and by CMake."""
import os
import re
import subprocess
import tempfile
import unittest
from pathlib import Path

import tutorial

SOURCE = Path(os.environ["BELAY_SOURCE"])
BUILD = Path(os.environ["BELAY_BUILD"])
CONSUMER = SOURCE / "tests/lib/consumer"
EXPECTED = "belay 0.1.0: BELAY_ECLOSED\n"
TIMED_OUT = "timed out at 1 ms\n"
DURABLE = "a durable job ran\n"
STRICT = ["-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]


def run(*command, **variables):
    """The standard output of a command that must succeed."""
    done = subprocess.run([str(word) for word in command], text=True, check=False, timeout=100,
                          env={**os.environ, **variables}, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT)
    if done.returncode != 0:
        raise AssertionError(f"{command} ended with {done.returncode}:\n{done.stdout}")
    return done.stdout


class InstalledTree(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = Path(folder.name)
        cls.prefix = cls.folder / "prefix"
        run("cmake", "--install", BUILD, "--prefix", cls.prefix)

    def flags(self, *options, prefix=None, package="belay"):
        """What pkg-config says of a package under a prefix, as words."""
        path = (prefix or self.prefix) / "lib/pkgconfig"
        return run("pkg-config", *options, package, PKG_CONFIG_LIBDIR=str(path)).split()

    def test_the_service_runs_the_installed_command(self):
        unit = (self.prefix / "lib/systemd/user/belay-work.service").read_text()
        command = re.search(r"^ExecStart=(\S+) work$", unit, re.MULTILINE).group(1)
        self.assertEqual(command, str(self.prefix / "bin/belay"))
        self.assertRegex(run(command, "version"), r"^belay 0\.")
        self.assertNotIn("@", unit)

    def run_with_library(self, program, prefix=None):
        return run(program, LD_LIBRARY_PATH=str((prefix or self.prefix) / "lib"))

    def test_pkg_config_builds_with_the_shared_library(self):
        program = self.folder / "shared"
        run("cc", *STRICT, CONSUMER / "consumer.c", *self.flags("--cflags", "--libs"), "-o", program)
        self.assertEqual(self.run_with_library(program), EXPECTED)
        self.assertRegex(run("readelf", "--dynamic", program), r"NEEDED.*libbelay\.so\.0\.1\]")

    def test_pkg_config_builds_a_static_program(self):
        program = self.folder / "static"
        run("cc", "-static", CONSUMER / "consumer.c", *self.flags("--static", "--cflags", "--libs"),
            "-o", program)
        self.assertEqual(run(program), EXPECTED)

    def test_the_test_kit_goes_with_both_libraries(self):
        shared, static = self.folder / "timeout_shared", self.folder / "timeout_static"
        run("cc", *STRICT, CONSUMER / "timeout.c",
            *self.flags("--cflags", "--libs", package="belay-test"), "-o", shared)
        run("cc", "-static", CONSUMER / "timeout.c",
            *self.flags("--static", "--cflags", "--libs", package="belay-test"), "-o", static)
        self.assertEqual(self.run_with_library(shared), TIMED_OUT)
        self.assertEqual(run(static), TIMED_OUT)

    def test_durable_jobs_are_a_shared_library_of_their_own(self):
        program = self.folder / "durable"
        run("cc", *STRICT, CONSUMER / "durable.c",
            *self.flags("--cflags", "--libs", package="belay-jobs"), "-o", program)
        self.assertEqual(self.run_with_library(program), DURABLE)
        self.assertRegex(run("readelf", "--dynamic", program), r"NEEDED.*libbelay-jobs\.so\.0\.1\]")
        self.assertFalse((self.prefix / "lib/libbelay-jobs.a").exists())

    def test_a_moved_tree_still_serves_pkg_config(self):
        moved = self.folder / "moved"
        run("cp", "-a", self.prefix, moved)
        self.assertIn(f"-I{moved}/", "\n".join(os.path.normpath(f) + "/" for f in
                                               self.flags("--cflags", prefix=moved)))

    def test_the_cmake_package_offers_both_libraries(self):
        build = self.folder / "consumer"
        run("cmake", "-G", "Ninja", "-S", CONSUMER, "-B", build, f"-DCMAKE_PREFIX_PATH={self.prefix}")
        run("cmake", "--build", build)
        self.assertEqual(run(build / "consumer_static"), EXPECTED)
        self.assertEqual(self.run_with_library(build / "consumer_shared"), EXPECTED)
        self.assertEqual(run(build / "consumer_test_static"), TIMED_OUT)
        self.assertEqual(self.run_with_library(build / "consumer_test_shared"), TIMED_OUT)
        self.assertEqual(self.run_with_library(build / "consumer_jobs"), DURABLE)

    def test_the_shared_libraries_show_their_own_names_alone(self):
        for library, name_of_ours in (("libbelay.so", r"belay_\w+@@BELAY_0\.1$"),
                                      ("libbelay-jobs.so", r"belay_(jobs|run)_\w+@@BELAY_JOBS_0\.1$")):
            listing = run("nm", "--dynamic", "--defined-only", self.prefix / "lib" / library)
            names = [line.split()[2] for line in listing.splitlines() if line.split()[1] != "A"]
            self.assertTrue(names)
            self.assertEqual([name for name in names if not re.match(name_of_ours, name)], [])

    def test_every_public_header_is_installed(self):
        ours = {p.relative_to(SOURCE / "include") for p in (SOURCE / "include").rglob("*.h")}
        theirs = {p.relative_to(self.prefix / "include") for p in (self.prefix / "include").rglob("*.h")}
        self.assertEqual(theirs, ours)

    def test_the_tutorial_shows_pieces_of_the_examples(self):
        pieces = tutorial.pieces()
        self.assertEqual(len(pieces), 10)
        sources = [path.read_text() for path in (SOURCE / "examples").rglob("*.[ch]")]
        for piece in pieces:
            self.assertTrue(any(piece in source for source in sources), piece)

    def test_the_commands_of_the_tutorial_build_and_run_the_test_of_the_pool(self):
        self.assertEqual(tutorial.follow("belay-test", "pool", self.prefix, self.folder),
                         (0, "4 passed, 0 failed\n"))

    def test_the_program_of_the_readme_prints_what_the_readme_says(self):
        readme = (SOURCE / "README.md").read_text()
        source = self.folder / "example.c"
        source.write_text(re.search(r"^```c\n(.*?)^```$", readme, re.M | re.S)[1])
        said = re.search(r"\./a\.out\n((?:    .*\n)+)", readme)[1]
        program = self.folder / "a.out"
        run("cc", *STRICT, source, *self.flags("--cflags", "--libs"), "-o", program)
        self.assertEqual(self.run_with_library(program), said.replace("    ", ""))


if __name__ == "__main__":
    unittest.main()
