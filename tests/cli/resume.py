"""Going on from a job log: after kill -9, and beside another run."""
import os
import signal
import sys

from frame import equal, main, prints, run, says, start

# A run of a job notes its process; if an earlier run of the same job noted one, that must be gone.
# The first run of job 3 stays until it is killed.
JOB = ('f=pid.{}; if [ -e $f ]; then if kill -0 $(cat $f) 2>kill.{}; then echo {} overlaps; fi; '
       'else echo $$ >$f; if [ {} = 3 ]; then echo up >up; exec sleep 1000; fi; fi; echo {} >>done')


def test_resume_after_kill_9_runs_what_ran_and_nothing_twice():
    os.mkfifo("up")
    belay = start("-j1", "--joblog", "log", JOB, ":::", "1", "2", "3", "4")
    with open("up", encoding="utf-8") as pipe:
        equal(pipe.read(), "up\n", "job 3 runs")
    belay.send_signal(signal.SIGKILL)
    belay.wait()
    ran = run("-k", "-j1", "--joblog", "log", "--resume", JOB, ":::", "1", "2", "3", "4")
    prints(ran, "")
    with open("done", encoding="utf-8") as file:
        equal(file.read().split(), ["1", "2", "3", "4"], "each job was done once")
    with open("log", encoding="utf-8") as file:
        equal([line.split("\t")[0] for line in file][1:], ["1", "2", "3", "4"], "the log")


def test_two_runs_do_not_work_with_one_log():
    os.mkfifo("up")
    os.mkfifo("go")
    first = start("--joblog", "log", ": {}; echo up >up; read x <go", ":::", "1")
    with open("up", encoding="utf-8") as pipe:
        equal(pipe.read(), "up\n", "the job runs")
    says(run("--joblog", "log", "echo", ":::", "2"), "log", "another run works with this job log")
    with open("go", "w", encoding="utf-8") as pipe:
        pipe.write("x\n")
    equal(first.wait(), 0, "the first run")
    prints(run("--joblog", "log", "echo", ":::", "2"), "2\n")


def test_a_log_that_is_no_file_is_not_locked():
    prints(run("--joblog", "/dev/null", "echo", ":::", "1"), "1\n")


if __name__ == "__main__":
    main(sys.modules[__name__])
