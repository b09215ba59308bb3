"""`belay run --name`: batches in a store, which go on after anything."""
import os
import signal
import subprocess
import sys

from frame import BELAY, equal, main, prints, says
from stores import STORE, belay, jobs, read, wait_for


def run(*args, **more):
    return belay("run", "--name", "nightly", *args, **more)


def start(*args):
    env = {**os.environ, "BELAY_STORE": os.path.abspath(STORE)}
    return subprocess.Popen([BELAY, "run", "--name", "nightly", *args], env=env, stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE)


# The third job waits for a file; each run leaves a line.
JOB = "echo {} >> ran; [ {} != 3 ] || while [ ! -e go ]; do sleep 0.02; done; echo out {}"
NUMBERS = (":::", *map(str, range(1, 7)))


def third():
    """A batch whose third job runs, and the ends of the two before are stored."""
    process = start("-j1", JOB, *NUMBERS)
    wait_for(lambda: os.path.exists("ran") and read("ran").split() == ["1", "2", "3"], "the third job")
    wait_for(lambda: [job["state"] for job in jobs().values()][:2] == ["done", "done"], "two ends")
    return process


def killed():
    """A batch that was killed while its third job ran."""
    process = third()
    process.send_signal(signal.SIGKILL)
    process.communicate()
    open("go", "w", encoding="utf-8").close()


def test_a_batch_is_as_without_a_name():
    prints(run("-k", "echo", *NUMBERS), "1\n2\n3\n4\n5\n6\n")
    equal([job["state"] for job in jobs("--batch", "nightly").values()], ["done"] * 6)
    prints(run("-k", "echo", ":::", "a"), "a\n")


def test_many_jobs():
    numbers = "".join(f"{number}\n" for number in range(1000))
    prints(run("-k", "-j4", "echo", stdin=numbers.encode()), numbers)
    equal(belay("stats", "--json").out.startswith(b'{"scheduled":0'), True)
    equal(b'"done":1000' in belay("stats", "--json").out, True)


def test_an_unfinished_batch_starts_nothing():
    killed()
    ran = run("-j1", JOB, *NUMBERS)
    says(ran, "nightly", "2 of 6 begun done", "--resume goes on", "--fresh starts over")
    equal((ran.out, read("ran").split()), (b"", ["1", "2", "3"]))


def test_resume_goes_on():
    killed()
    ran = run("-k", "-j1", "--resume", JOB, *NUMBERS)
    prints(ran, "out 3\nout 4\nout 5\nout 6\n")
    equal(read("ran").split(), ["1", "2", "3", "3", "4", "5", "6"])
    prints(run("-k", "echo", ":::", "new"), "new\n")


def test_resume_starts_what_is_not_there():
    prints(run("-k", "--resume", "echo", ":::", "a", "b"), "a\nb\n")


def test_fresh_starts_over():
    killed()
    prints(run("-k", "-j1", "--fresh", JOB, *NUMBERS), "".join(f"out {n}\n" for n in range(1, 7)))


def test_another_command_is_refused():
    killed()
    says(run("--resume", "echo {} again", *NUMBERS), "nightly", "another command", "--fresh")
    says(run("-j1", "--resume", JOB, ":::", "x", "2", "3"), "job 1", "another command under this number")
    equal(read("ran").split(), ["1", "2", "3"])


def test_what_failed_is_tried_again():
    job = "echo {} >> ran; [ -e mended ] || [ {} != 2 ]"
    prints(run("-j1", job, *NUMBERS), "", status=1)
    says(run("-j1", job, *NUMBERS), "5 of 6 begun done, 1 failed", "--resume-failed")
    prints(run("-j1", "--resume", job, *NUMBERS), "")
    open("mended", "w", encoding="utf-8").close()
    prints(run("-j1", "--resume-failed", job, *NUMBERS), "")
    equal(read("ran").split(), ["1", "2", "3", "4", "5", "6", "2"])
    prints(run("echo", ":::", "new"), "new\n")


def test_a_second_run_of_a_name_is_refused():
    process = third()
    says(run("--resume", "-j1", JOB, *NUMBERS), "nightly", "another run works on")
    says(run("-j1", JOB, *NUMBERS), "unfinished")
    open("go", "w", encoding="utf-8").close()
    process.communicate()
    equal(process.returncode, 0)
    equal(read("ran").split(), ["1", "2", "3", "4", "5", "6"])


def test_an_interrupted_batch_goes_on():
    process = third()
    process.send_signal(signal.SIGINT)
    process.stderr.readline()
    process.send_signal(signal.SIGINT)
    process.communicate()
    equal(process.returncode, 130)
    equal([job["state"] for job in jobs().values()][:3], ["done", "done", "ready"])
    open("go", "w", encoding="utf-8").close()
    prints(run("-k", "-j1", "--resume", JOB, *NUMBERS), "out 3\nout 4\nout 5\nout 6\n")


def test_the_fence_rises():
    job = "echo $BELAY_JOB $BELAY_FENCE {} >> ran; [ $BELAY_JOB != 2 ] || [ -e mended ]"
    run("-j1", job, ":::", "a", "b")
    open("mended", "w", encoding="utf-8").close()
    equal(run("-j1", "--resume-failed", job, ":::", "a", "b").status, 0)
    rows = [line.split() for line in read("ran").splitlines()]
    equal([row[0] for row in rows], ["1", "2", "2"])
    fences = [int(row[1]) for row in rows]
    equal(fences == sorted(set(fences)), True, fences)


def test_a_job_log_is_written_beside_it():
    prints(run("--joblog", "log", "-k", "echo", ":::", "a", "b"), "a\nb\n")
    equal(len(read("log").splitlines()), 3)


def test_what_does_not_go_together():
    says(run("--no-store", "echo", ":::", "a"), "--no-store", "--name")
    says(run("--fresh", "--resume", "echo", ":::", "a"), "--fresh")
    says(belay("run", "--fresh", "echo", ":::", "a"), "--fresh", "--name")
    says(belay("run", "--resume", "echo", ":::", "a"), "--resume", "--joblog", "--name")
    says(belay("run", "--name", "", "echo", ":::", "a"), "--name", "1 to 200 bytes")
    equal(os.path.exists(STORE), False)


if __name__ == "__main__":
    main(sys.modules[__name__])
