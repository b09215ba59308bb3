"""Signals to the command: what they mean to it and to its jobs."""
import contextlib
import os
import signal
import subprocess
import sys
import time

from frame import equal, main, start

SLOW = "trap 'echo TERM {}; exit 0' TERM; echo $$ > pid.{}; sleep 100 & wait; echo end {}"


def wait_for(condition):
    """Returns when the condition holds; fails when that takes too long."""
    end = time.monotonic() + 60
    while not condition():
        if time.monotonic() > end:
            raise AssertionError("what was waited for did not come")
        os.sched_yield()


def started(*numbers):
    wait_for(lambda: all(os.path.exists(f"pid.{n}") and os.path.getsize(f"pid.{n}") for n in numbers))
    return [int(open(f"pid.{n}", encoding="utf-8").read()) for n in numbers]


def is_there(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
        return file.read().rpartition(")")[2].split()[0] != "Z"


def state_of(pid):
    with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
        return file.read().rpartition(")")[2].split()[0]


@contextlib.contextmanager
def batch(*args, **more):
    """A batch in the background, killed when the test fails."""
    process = start(*args, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **more)
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


def test_the_first_interrupt_waits():
    job = "echo $$ > pid.{}; while [ ! -e go ]; do sleep 0.02; done; echo end {}"
    with batch("-j1", job, ":::", "1", "2") as process:
        started(1)
        process.send_signal(signal.SIGINT)
        equal(process.stderr.readline(),
              b"belay run: no more jobs are started; waiting for 1 (again: end them)\n")
        open("go", "w", encoding="utf-8").close()
        out, _ = process.communicate(timeout=60)
        equal((out, process.returncode), (b"end 1\n", 130))


def test_the_second_interrupt_ends_jobs_by_term():
    with batch("-j2", "--joblog", "jl", SLOW, ":::", "1", "2", "3") as process:
        pids = started(1, 2)
        process.send_signal(signal.SIGINT)
        process.stderr.readline()
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=60)
        equal(sorted(out.split(b"\n")), [b"", b"TERM 1", b"TERM 2"])
        equal(process.returncode, 130)
        equal([is_there(pid) for pid in pids], [False, False])
    with open("jl", encoding="utf-8") as log:
        equal(len(log.readlines()), 1, "jobs that were ended have no line")


def test_the_third_interrupt_kills():
    job = "trap '' TERM; echo $$ > pid.{}; while :; do sleep 0.05; done; : {}"
    with batch("-j1", job, ":::", "1") as process:
        pids = started(1)
        for _ in range(3):
            process.send_signal(signal.SIGINT)
            time_of_each_to_be_seen(process)
        process.communicate(timeout=60)
        equal(process.returncode, 130)
        equal(is_there(pids[0]), False)


def time_of_each_to_be_seen(process):
    """Signals of one kind that wait are one: the next is sent when this one was taken."""
    def is_taken():
        with open(f"/proc/{process.pid}/status", encoding="utf-8") as file:
            pending = [line.split()[1] for line in file if line.startswith(("SigPnd", "ShdPnd"))]
        return all(int(mask, 16) & (1 << (signal.SIGINT - 1)) == 0 for mask in pending)
    wait_for(lambda: process.poll() is not None or is_taken())


def test_what_is_waited_for_is_said_and_ended_by_an_interrupt():
    for option, value, reason in (("--memfree", "100T", b"--memfree wants 104857600;"),
                                  ("--in", "2h", b"the next job starts in ")):
        with batch(option, value, "echo", ":::", "1") as process:
            line = process.stderr.readline()
            equal((line[:20], reason in line), (b"belay run: waiting: ", True), line)
            process.send_signal(signal.SIGINT)
            out, _ = process.communicate(timeout=60)
            equal((out, process.returncode), (b"", 130))


def test_term_and_hangup_have_their_status():
    for number, status in ((signal.SIGTERM, 143), (signal.SIGHUP, 129)):
        job = f"echo $$ > pid.{{}}; while [ ! -e go{status} ]; do sleep 0.02; done"
        with batch("-j1", job, ":::", f"{status}", "2") as process:
            started(status)
            process.send_signal(number)
            process.stderr.readline()
            open(f"go{status}", "w", encoding="utf-8").close()
            process.communicate()
            equal(process.returncode, status)


def test_an_ignored_hangup_stays_ignored():
    job = "echo $$ > pid.{}; while [ ! -e go ]; do sleep 0.02; done; echo end {}"
    with batch("-j1", job, ":::", "1", "2",
               preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN)) as process:
        started(1)
        process.send_signal(signal.SIGHUP)
        open("go", "w", encoding="utf-8").close()
        out, _ = process.communicate(timeout=60)
        equal((out, process.returncode), (b"end 1\nend 2\n", 0))


def test_suspended_jobs_stand_still_and_go_on():
    job = "echo $$ > pid.{}; while [ ! -e go ]; do :; done; echo end {}"
    with batch("-j1", job, ":::", "1") as process:
        pids = started(1)
        process.send_signal(signal.SIGTSTP)
        wait_for(lambda: state_of(process.pid) == "T")
        wait_for(lambda: state_of(pids[0]) == "T")
        process.send_signal(signal.SIGCONT)
        wait_for(lambda: state_of(pids[0]) != "T")
        open("go", "w", encoding="utf-8").close()
        out, _ = process.communicate(timeout=60)
        equal((out, process.returncode), (b"end 1\n", 0))


def test_more_and_fewer_jobs_at_once():
    job = "echo $$ > pid.{}; while [ ! -e go{} ]; do sleep 0.02; done"
    with batch("-j1", job, ":::", "1", "2", "3", "4") as process:
        started(1)
        equal(os.path.exists("pid.2"), False)
        process.send_signal(signal.SIGUSR1)
        started(1, 2)
        process.send_signal(signal.SIGUSR2)
        open("go1", "w", encoding="utf-8").close()
        open("go2", "w", encoding="utf-8").close()
        started(3)
        equal(os.path.exists("pid.4"), False)
        open("go3", "w", encoding="utf-8").close()
        open("go4", "w", encoding="utf-8").close()
        process.communicate(timeout=60)
        equal(process.returncode, 0)


if __name__ == "__main__":
    main(sys.modules[__name__])
