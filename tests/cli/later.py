"""Jobs for later: adding them, working on them, waiting for them."""
import json
import os
import re
import subprocess
import sys

from frame import BELAY, equal, main, prints, says
from stores import STORE, add, belay, jobs, read, state, wait_for, work, worker


def test_what_people_know_from_tsp():
    first = add("sh", "-c", "exit 3")
    second = add("--after", first, "echo", "dep")
    work()
    ran = belay("wait", first)
    equal(ran.status, 3, ran)
    equal(state(second), "skipped")


def test_the_number_alone_is_printed():
    ran = belay("add", "true")
    equal(re.fullmatch(rb"[0-9]+\n", ran.out) is not None, True, ran)
    says(ran, "no worker", "belay work", status=0)


def test_a_command_runs_where_it_was_added():
    os.mkdir("sub dir")
    where = os.path.abspath("sub dir")
    number = add("pwd; echo $GREETING; umask; cat", cwd=where, env={"GREETING": "it's me"}, umask=0o027)
    work()
    out = belay("logs", number).out.decode().splitlines()
    equal(out[:2], [where, "it's me"])
    equal(int(out[2], 8), 0o027)
    equal(belay("wait", number).status, 0)


def test_arguments_reach_the_command_byte_for_byte():
    odd = [b"two words", b"it's", b"\xff\xfe", b"", b"$(id)", b"new\nline", b"--", b"-n", b"{}"]
    number = add("printf", "%s|", *odd)
    work()
    equal(belay("logs", number).out, b"".join(word + b"|" for word in odd))


def test_secrets_come_from_the_worker():
    number = add("echo $MY_TOKEN $PLAIN $GIVEN", env={"MY_TOKEN": "theirs", "PLAIN": "kept"})
    named = add("--env", "MY_TOKEN", "--env", "GIVEN=5", "echo $MY_TOKEN $GIVEN", env={"MY_TOKEN": "stored"})
    worker_s = add("--env-from-worker", "PLAIN", "echo $PLAIN", env={"PLAIN": "kept"})
    work(env={"MY_TOKEN": "ours", "PLAIN": "not this"})
    equal(belay("logs", number).out, b"ours kept\n")
    equal(belay("logs", named).out, b"stored 5\n")
    equal(belay("logs", worker_s).out, b"not this\n")
    with open(STORE, "rb") as file:
        stored = file.read()
    equal(b"theirs" in stored, False)
    if os.path.exists(STORE + "-wal"):
        with open(STORE + "-wal", "rb") as file:
            equal(b"theirs" in file.read(), False)


def test_a_job_knows_its_number_try_and_fence():
    number = add("--tries", "2", "echo $BELAY_JOB $BELAY_TRY $BELAY_FENCE $BELAY_STORE >> seen; exit $((2 - BELAY_TRY))")
    work()
    first, second = [line.split() for line in read("seen").splitlines()]
    equal((first[:2], second[:2]), ([number, "1"], [number, "2"]))
    equal(int(second[2]) > int(first[2]), True, (first, second))
    equal(len(first), 3, "the store is not in the environment")
    equal(belay("wait", number).status, 0)


def test_statuses():
    numbers = {add("sh", "-c", "exit 7"): 7, add("sh", "-c", "kill -9 $$"): 137, add("./missing"): 127, add("/"): 126,
               add("--timeout", "50ms", "sleep", "100"): 124, add("true"): 0}
    work()
    for number, status in numbers.items():
        equal(belay("wait", number).status, status, jobs()[number])
    equal(belay("wait", *numbers).status, 5)


def test_priority_then_order():
    for priority, name in (("0", "b"), ("5", "a"), ("0", "c"), ("-3", "d")):
        add("--priority", priority, f"echo {name} >> order")
    work("-j1")
    equal(read("order").split(), ["a", "b", "c", "d"])


def test_an_id_is_one_job():
    number = add("--id", "nightly", "echo", "one")
    ran = belay("add", "--id", "nightly", "echo", "one")
    equal(ran.out.decode().strip(), number, ran)
    says(ran, "same", status=0)
    says(belay("add", "--id", "nightly", "echo", "two"), "nightly", "--replace")
    ran = belay("add", "--id", "nightly", "--replace", "echo", "two")
    says(ran, "takes the place of job " + number, status=0)
    equal(state(number), "superseded")
    work()
    equal(belay("logs", "nightly").out, b"two\n")
    equal(belay("wait", "nightly").status, 0)
    says(belay("add", "--id", "17", "true"), "--id 17", "digits")
    says(belay("add", "--id", "a\nb", "true"), "\\n", "control")


def test_at_is_echoed_and_waits():
    ran = belay("add", "--at", "now+4h", "true")
    says(ran, "it is due 2", "in 3 h 59 min", status=0)
    number = ran.out.decode().strip()
    equal(re.fullmatch(r"at (\S+ )?\d\d:\d\d \(3 h 59 min\)|at (\S+ )?\d\d:\d\d \(4 h 0 min\)", jobs()[number]["why"]) is not None,
          True, jobs()[number])
    says(belay("add", "--at", "2001-01-01T00:00", "true"), "--at", "past")
    equal(belay("edit", number, "--in", "0").status, 0)
    work()
    equal(state(number), "done")


def test_what_is_wrong_is_said():
    says(belay("add"), "command", "missing")
    says(belay("add", "--every", "1h", "true"), "--every", "--id")
    says(belay("add", "--replace", "true"), "--replace", "--id")
    says(belay("add", "--after", "99", "true"), "--after", "no such job")
    says(belay("add", "--limit", "a=0", "true"), "--limit")
    says(belay("add", "--frequency", "true"), "--frequency", "no such option")
    says(belay("add", "  "), "no command")
    says(belay("show", "99"), "99", "no such job")
    says(belay("show", "nightly\x1b[31m"), "\\x1b", "control")
    says(belay("wait"), "--batch")
    says(belay("add", "true", env={"BELAY_STORE": "/proc/none/belay.db"}), "/proc/none/belay.db")


def test_a_store_that_is_missing():
    prints(belay("ls", "--json"), "")
    says(belay("show", "1"), "no store", "belay add")
    equal(os.path.exists(STORE), False)


def test_files_are_their_users_alone():
    number = add("echo", "secret")
    work()
    for path, mode in (("store", 0o700), (STORE, 0o600), (STORE + ".logs", 0o700), (f"{STORE}.logs/{number}.out", 0o600)):
        equal(oct(os.stat(path).st_mode & 0o777), oct(mode), path)
    equal(os.path.exists(f"{STORE}.logs/{number}.err"), False)


def test_start_starts_a_worker():
    number = add("--start", "echo started > here")
    equal(belay("wait", number).status, 0)
    equal(read("here"), "started\n")


def test_start_never_leaves_a_job_without_a_worker():
    """A worker that is about to leave sees the job, or whoever adds it sees that there is no worker."""
    for _ in range(20):
        equal(belay("wait", add("--start", "true")).status, 0)


def test_wait_follows_and_gives_up():
    number = add("true")
    says(belay("wait", "--wait-max", "0.05", number), "no worker", "belay work", status=75)
    with worker() as process:
        equal(belay("wait", number).status, 0)
        equal(process.poll(), None)


def test_limits_are_kept_and_told():
    running = "echo $BELAY_JOB > on.$BELAY_JOB; while [ ! -e go ]; do sleep 0.02; done"
    first = add("--limit", "db=1", running)
    second = add("--limit", "db", running)
    with worker("-j4"):
        wait_for(lambda: os.path.exists(f"on.{first}"), "the first job")
        wait_for(lambda: state(second) == "parked", "parked")
        equal(jobs()[second]["why"], f"limit db 1/1 held by {first}")
        equal(os.path.exists(f"on.{second}"), False)
        equal(b"db" in belay("limit").out, True)
        open("go", "w", encoding="utf-8").close()
        equal(belay("wait", first, second).status, 0)
    says(belay("add", "--limit", "db=7", "true"), "--limit", "capacity", "belay limit")


def test_ls_says_why():
    far = add("--in", "5h", "true")
    gpu = add("--queue", "gpu", "true")
    dep = add("--after", far, "echo", "\x1b[31mred")
    table = belay("ls").out.decode()
    for text in (far, "at ", "no worker for queue gpu", f"after {far} (scheduled)", "\\x1b[31mred"):
        equal(text in table, True, table)
    equal("\x1b" in table, False, table)
    shown = belay("show", dep, gpu).out.decode()
    for text in (f"Job {dep} is waiting: after {far}", "Command: echo", "queue gpu", "\n\n"):
        equal(text in shown, True, shown)


def test_what_else_there_is_is_listed():
    number = add("--id", "tick", "--every", "1h", "--in", "1h", "true")
    equal(belay("run", "--name", "nightly", "false", ":::", "a", "b").status, 2)
    batches = belay("ls", "--batches")
    prints(batches, batches.out.decode())
    equal([line.split()[1:6] for line in batches.out.decode().splitlines()[1:]],
          [["nightly", "unfinished", "0", "2", "0"]])
    equal(json.loads(belay("ls", "--batches", "--json").out)["failed"], 2)
    equal(json.loads(belay("ls", "--recurring", "--json").out)["job"], int(number))
    equal(belay("ls", "--recurring").out.decode().splitlines()[1].split()[:3], ["tick", "1", "h"])
    equal(belay("ls", "--workers", "--json").out, b"")
    with worker("-j3", "--queue", "a", "--queue", "b") as process:
        wait_for(lambda: belay("ls", "--workers", "--json").out, "the worker")
        row = json.loads(belay("ls", "--workers", "--json").out)
        equal((row["pid"], row["slots"], row["running"], row["queues"]), (process.pid, 3, 0, ["a", "b"]))
        equal(belay("ls", "--workers").out.split()[-2:], [b"a", b"b"])


def test_cancel_retry_and_pause():
    number = add("sh", "-c", "exit 1")
    equal(belay("cancel", number).status, 0)
    equal((state(number), belay("wait", number).status), ("canceled", 125))
    says(belay("cancel", number), number, "ended")
    equal(belay("retry", number).status, 0)
    equal(belay("pause", number).status, 0)
    equal(jobs()[number]["why"], "paused")
    equal(belay("unpause", number).status, 0)
    work()
    equal(state(number), "failed")
    equal(belay("retry", "--failed").status, 0)
    work()
    equal(belay("wait", number).status, 1)


def test_cancel_ends_all_that_runs():
    number = add("sleep 1000 & echo $! > child; wait")
    with worker():
        wait_for(lambda: os.path.exists("child") and read("child").endswith("\n"), "the child")
        says(belay("cancel", number), "told to end", status=0)
        equal(belay("wait", number).status, 125)
        equal(os.path.exists(f"/proc/{read('child').strip()}"), False)


def test_queues():
    number = add("--queue", "gpu", "true")
    other = add("true")
    work("--queue", "gpu")
    equal((state(number), state(other)), ("done", "ready"))
    equal(belay("queue", "gpu", "--max", "2").status, 0)
    equal(b"gpu" in belay("queue").out, True)


def test_gc_removes_what_is_old():
    number = add("echo", "x")
    kept = add("--in", "1h", "true")
    with worker():
        equal(belay("wait", number).status, 0)
    says(belay("gc", "--keep", "0", "--keep-failed", "0", "--keep-logs", "0"), status=0)
    says(belay("show", number), "no such job")
    equal(os.listdir(STORE + ".logs"), [])
    equal(state(kept), "scheduled")


def test_stats_are_numbers():
    add("--in", "1h", "true")
    equal(b'"scheduled":1' in belay("stats", "--json").out, True)
    equal(b"scheduled    1\n" in belay("stats").out, True, belay("stats"))


def test_notify_runs_when_it_has_ended():
    add("--notify", "echo $BELAY_JOB $BELAY_STATE $BELAY_STATUS > told", "exit 4; true")
    work()
    equal(read("told").split()[1:], ["failed", "4"])


def test_a_job_has_no_terminal_and_nothing_to_read():
    number = add("cat; [ -t 0 ] || echo none; (: < /dev/tty) 2> /dev/null || echo no tty")
    work()
    equal(belay("logs", number).out, b"none\nno tty\n")


def test_the_state_folder_is_the_default():
    env = {**os.environ, "XDG_STATE_HOME": os.path.abspath("state")}
    env.pop("BELAY_STORE", None)
    done = subprocess.run([BELAY, "add", "true"], env=env, capture_output=True, check=False)
    equal(done.returncode, 0, done)
    equal(os.path.exists("state/belay/belay.db"), True)


if __name__ == "__main__":
    main(sys.modules[__name__])
