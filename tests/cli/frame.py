"""A small frame for tests of the command: each test is a function; a failure prints what was expected and what came."""
import os
import shutil
import subprocess
import sys
import tempfile
import traceback

BELAY = os.environ.get("BELAY_COMMAND", "belay")
# Sanitizers make everything slower; nothing is judged by its speed, but what hangs is ended.
HANGS_AFTER_S = 100


class Ran:
    """How a command went: status, stdout and stderr as bytes."""

    def __init__(self, status, out, err):
        self.status, self.out, self.err = status, out, err

    def __repr__(self):
        return f"status {self.status}\nstdout {self.out!r}\nstderr {self.err!r}"


def run(*args, stdin=b"", env=None, cwd=None, **more):
    """Runs `belay run ARGS`, given `stdin` in a pipe."""
    return command("run", *args, stdin=stdin, env=env, cwd=cwd, **more)


def command(*args, stdin=b"", env=None, cwd=None, **more):
    """Runs `belay ARGS`."""
    where = {**os.environ, **(env or {})}
    done = subprocess.run([BELAY, *args], input=stdin, capture_output=True, env=where, cwd=cwd,
                          timeout=HANGS_AFTER_S, check=False, **more)
    return Ran(done.returncode, done.stdout, done.stderr)


def start(*args, **more):
    """Starts `belay run ARGS` in the background."""
    return subprocess.Popen([BELAY, "run", *args], **more)


def lines(data):
    return data.decode(errors="surrogateescape").splitlines()


def equal(got, expected, about=""):
    if got != expected:
        raise AssertionError(f"{about}\nexpected {expected!r}\ngot      {got!r}")


def prints(ran, out, status=0):
    """The command printed exactly `out` (text) and left with `status`."""
    equal(ran.out.decode(errors="surrogateescape"), out, f"stdout; {ran}")
    equal(ran.status, status, f"status; {ran}")


def says(ran, *parts, status=255):
    """The command left with `status` and its messages hold each part."""
    text = ran.err.decode(errors="surrogateescape")
    for part in parts:
        if part not in text:
            raise AssertionError(f"no {part!r} on stderr; {ran}")
    equal(ran.status, status, f"status; {ran}")


def main(module):
    """Runs the module's functions test_*, or those named on the command line, each in a folder of its own."""
    tests = {name: test for name, test in vars(module).items() if name.startswith("test_")}
    chosen = sys.argv[1:] or tests
    passed = failed = 0
    for name in chosen:
        folder = tempfile.mkdtemp(prefix="belay-test-")
        os.chdir(folder)
        try:
            tests[name]()
            passed += 1
        except Exception:  # a test may fail in any way, and the others still run
            failed += 1
            print(f"FAILED {name}")
            traceback.print_exc(file=sys.stdout)
        finally:
            os.chdir("/")
            shutil.rmtree(folder, ignore_errors=True)
    print(f"{passed} passed, {failed} failed")
    sys.exit(1 if failed or not passed else 0)
