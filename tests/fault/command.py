"""The command when it, its keeper or its machine fails: nobody survives, nothing hangs, nothing grows."""
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "cli"))
from frame import equal, main, start  # pylint: disable=wrong-import-position

PATIENCE_S = 60

# Each says one pid in the file `pid` and never ends by itself.
KINDS = {
    "child": "echo $$ >pid; exec sleep 1000",
    "background child": "sleep 1000 & echo $! >pid; wait",
    "setsid child": "setsid sh -c 'echo $$ >pid; exec sleep 1000' & wait",
    "double-forked daemon": "(setsid sh -c '(sh -c \"echo \\$PPID >pid\"; exec sleep 1000) &' &); sleep 1000",
    "one that ignores TERM": "trap '' TERM HUP INT QUIT; echo $$ >pid; while :; do sleep 1000; done",
}


def wait_for(condition, what):
    """Returns when the condition holds; fails when that takes too long."""
    end = time.monotonic() + PATIENCE_S
    while not condition():
        if time.monotonic() > end:
            raise AssertionError(f"waited for {what} in vain")
        os.sched_yield()


def field(pid, number):
    """A field of /proc/PID/stat behind the name, the state being 0; None when there is no process."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return None
    return text.rpartition(")")[2].split()[number]


def marked(mark):
    """Living processes with the mark in their environment; the dead have none."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            if f"BELAY_TEST_MARK={mark}\0".encode() in Path(f"/proc/{pid}/environ").read_bytes():
                found.append(int(pid))
        except (OSError, ProcessLookupError):
            continue
    return found


def said_pid():
    text = Path("pid").read_text(encoding="utf-8") if Path("pid").exists() else ""
    return int(text) if text.endswith("\n") else None


def keeper_of(runner):
    """The one child of the runner is its keeper."""
    children = Path(f"/proc/{runner}/task/{runner}/children").read_text(encoding="utf-8").split()
    equal(len(children), 1, "children of the runner")
    return int(children[0])


class Scene:
    """A batch of one job of a kind, which has said its pid."""

    def __init__(self, kind):
        Path("pid").unlink(missing_ok=True)
        self.mark = f"{os.getpid()}-{time.monotonic_ns()}"
        environment = {**os.environ, "BELAY_TEST_MARK": self.mark}
        self.runner = start(": {}; " + KINDS[kind], ":::", "x", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, env=environment)
        wait_for(lambda: said_pid() is not None, kind)
        self.keeper = keeper_of(self.runner.pid)
        assert field(said_pid(), 0) not in (None, "Z"), kind

    def all_gone(self, kind):
        wait_for(lambda: not marked(self.mark), f"the end of all of: {kind}")


def test_kill_9_of_the_command_leaves_none_of_five_kinds():
    for kind in KINDS:
        scene = Scene(kind)
        scene.runner.kill()
        equal(scene.runner.wait(PATIENCE_S), -signal.SIGKILL, kind)
        scene.all_gone(kind)
        scene.runner.communicate()


def test_kill_9_of_the_keeper_leaves_none_and_the_command_says_so():
    for kind in KINDS:
        scene = Scene(kind)
        os.kill(scene.keeper, signal.SIGKILL)
        _, said = scene.runner.communicate(timeout=PATIENCE_S)
        equal(scene.runner.returncode, 255, f"{kind}: {said!r}")
        assert b"keeper" in said, said
        equal(marked(scene.mark), [], kind)


def test_a_job_that_forks_and_exits_does_not_hang_the_batch():
    """The output of what stays behind is not waited for; it is told to end."""
    mark = f"{os.getpid()}-{time.monotonic_ns()}"
    batch = start("echo {}; sleep 1000 & exit 0", ":::", "a", "b", stdin=subprocess.DEVNULL,
                  stdout=subprocess.PIPE, env={**os.environ, "BELAY_TEST_MARK": mark})
    out, _ = batch.communicate(timeout=PATIENCE_S)
    equal(sorted(out.split()), [b"a", b"b"])
    equal(batch.returncode, 0)
    equal(marked(mark), [])


def test_a_canceled_batch_leaves_no_child_of_a_shell():
    scene = Scene("background child")
    scene.runner.send_signal(signal.SIGINT)
    assert b"waiting for 1" in scene.runner.stderr.readline()  # two in one moment would be one
    scene.runner.send_signal(signal.SIGINT)
    scene.runner.communicate(timeout=PATIENCE_S)
    equal(scene.runner.returncode, 130)
    equal(marked(scene.mark), [])


def peak_kib(*args):
    """The most memory that the command itself, not its jobs, was seen to take."""
    batch = start(*args, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    peak = 0
    while batch.poll() is None:
        try:
            for line in Path(f"/proc/{batch.pid}/status").read_text(encoding="utf-8").splitlines():
                if line.startswith("VmHWM:"):
                    peak = max(peak, int(line.split()[1]))
        except (FileNotFoundError, ProcessLookupError):
            pass
        try:
            batch.wait(0.05)
        except subprocess.TimeoutExpired:
            pass
    equal(batch.returncode, 0)
    return peak


def test_a_gigabyte_of_output_does_not_cost_memory():
    few = peak_kib("head -c {} /dev/zero; sleep 0.3", ":::", "1000")
    many = peak_kib("head -c {} /dev/zero", ":::", "1000000000")
    assert many <= few + 4096, f"{few} KiB for little, {many} KiB for a gigabyte"


if __name__ == "__main__":
    main(sys.modules[__name__])
