"""Workers: killed, stopped, started again; and what becomes of their jobs."""
import os
import signal
import socket
import sys

from frame import equal, main, says
from stores import STORE, add, belay, is_there, jobs, read, state, wait_for, work, worker

HOLDS = "echo $$ >> pids; while [ ! -e go ]; do sleep 0.02; done; echo end"


def pids():
    return [int(pid) for pid in read("pids").split()] if os.path.exists("pids") else []


def test_a_killed_worker_loses_nothing():
    numbers = [add(HOLDS) for _ in range(3)]
    with worker("-j3") as process:
        wait_for(lambda: len(pids()) == 3, "three jobs")
        before = pids()
        process.send_signal(signal.SIGKILL)
        process.wait()
    open("go", "w", encoding="utf-8").close()
    work()
    equal([is_there(pid) for pid in before], [False] * 3)
    equal(len(pids()), 6)
    for number in numbers:
        equal((state(number), jobs()[number]["lost"]), ("done", 1))
        equal(belay("logs", number).out, b"end\n")


def test_looking_frees_the_jobs_of_a_dead_worker():
    """Nobody works, and yet nothing is stuck: whoever looks sees to it."""
    for _ in range(10):
        add(HOLDS)
    with worker("-j10") as process:
        wait_for(lambda: len(pids()) == 10, "ten jobs")
        process.send_signal(signal.SIGKILL)
        process.wait()
    wait_for(lambda: {job["state"] for job in jobs().values()} == {"ready"}, "all ready")
    equal([is_there(pid) for pid in pids()], [False] * 10)


def test_a_killed_worker_changes_no_order_and_no_count():
    numbers = [add("--priority", priority, "--tries", "2", f"echo {priority} >> order; {HOLDS}") for priority in "132"]
    with worker("-j1") as process:
        wait_for(pids, "the first job")
        process.send_signal(signal.SIGKILL)
        process.wait()
    open("go", "w", encoding="utf-8").close()
    work("-j1")
    equal(read("order").split(), ["3", "3", "2", "1"])
    equal([jobs()[number]["failed"] for number in numbers], [0, 0, 0])


def test_a_canceled_job_leaves_no_child_of_its_shell():
    number = add("sh -c 'echo $$ >> pids; sleep 1000 & echo $! >> pids; wait' & wait")
    with worker():
        wait_for(lambda: len(pids()) == 2, "two processes")
        says(belay("cancel", number), "told to end", status=0)
        equal(belay("wait", number).status, 125)
        equal([is_there(pid) for pid in pids()], [False, False])


def test_lost_fail():
    number = add("--lost", "fail", HOLDS)
    with worker() as process:
        wait_for(pids, "the job")
        process.send_signal(signal.SIGKILL)
        process.wait()
    equal(belay("wait", number).status, 125)
    equal(state(number), "failed")


def test_the_first_term_waits():
    first, second = add(HOLDS), add("true")
    with worker("-j1") as process:
        wait_for(pids, "the job")
        process.send_signal(signal.SIGTERM)
        equal(b"waiting for 1" in process.stderr.readline(), True)
        open("go", "w", encoding="utf-8").close()
        equal(process.wait(), 143)
    equal((state(first), state(second)), ("done", "ready"))


def test_the_second_term_gives_jobs_back():
    number = add("--tries", "1", HOLDS)
    with worker() as process:
        wait_for(pids, "the job")
        process.send_signal(signal.SIGTERM)
        process.stderr.readline()
        process.send_signal(signal.SIGTERM)
        equal(process.wait(), 143)
    equal((state(number), jobs()[number]["failed"]), ("ready", 0))
    equal(is_there(pids()[0]), False)
    open("go", "w", encoding="utf-8").close()
    work()
    equal(state(number), "done")


def test_several_workers_share_the_jobs():
    numbers = [add(f"echo {i} >> done.{i}") for i in range(40)]
    with worker("--until-idle") as one, worker("--until-idle") as two:
        equal((one.wait(), two.wait()), (0, 0))
    equal([read(f"done.{i}") for i in range(40)], [f"{i}\n" for i in range(40)])
    equal(belay("wait", *numbers).status, 0)


def test_a_worker_takes_jobs_as_they_come():
    with worker() as process:
        for i in range(3):
            equal(belay("wait", add(f"echo {i} > at.{i}")).status, 0)
        process.send_signal(signal.SIGINT)
        equal(process.wait(), 130)


def test_what_a_job_leaves_is_ended():
    number = add("(trap '' HUP; sleep 1000) & echo $! > child")
    work()
    equal(state(number), "done")
    equal(is_there(int(read("child"))), False)
    equal("left" in jobs()[number]["message"], True, jobs()[number])


def test_logs_are_followed():
    number = add("echo one; echo two >&2; while [ ! -e go ]; do sleep 0.02; done; echo three")
    with worker():
        wait_for(lambda: belay("logs", number).out == b"one\n", "the first line")
        equal(belay("logs", number).err, b"two\n")
        open("go", "w", encoding="utf-8").close()
        ran = belay("logs", "-f", number)
        equal((ran.status, ran.out, ran.err), (0, b"one\nthree\n", b"two\n"))


def test_every_runs_again():
    number = add("--id", "tick", "--every", "50ms", "echo $BELAY_JOB >> ticks")
    with worker():
        wait_for(lambda: os.path.exists("ticks") and len(read("ticks").split()) >= 3, "three runs")
        equal(belay("cancel", "tick").status, 0)
    ticks = read("ticks").split()
    equal((ticks[0], len(set(ticks))), (number, len(ticks)), "each run is a job")
    work()


def test_a_supervisor_is_told():
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as told:
        told.bind("notify")
        told.settimeout(60)
        env = {"NOTIFY_SOCKET": os.path.abspath("notify"), "WATCHDOG_USEC": "60000000"}
        add("true")
        work(env=env)
        equal([told.recv(100) for _ in range(2)], [b"READY=1", b"WATCHDOG=1"])


def test_words_are_refused():
    says(belay("work", "echo"), "echo", "belay add")
    says(belay("work", "-j", "many"), "--jobs many")


def test_a_damaged_store_is_refused():
    os.mkdir("store", mode=0o700)
    with open(STORE, "wb") as file:
        file.write(b"this is no database, but long enough to look at" * 100)
    os.chmod(STORE, 0o600)
    for command in (("work",), ("ls",), ("add", "true"), ("with", "x", "--", "true")):
        ran = belay(*command)
        says(ran, STORE, status=125 if command[0] == "with" else 255)


if __name__ == "__main__":
    main(sys.modules[__name__])
