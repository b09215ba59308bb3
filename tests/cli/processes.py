"""Jobs that do what processes may do: leave others behind, ignore signals, want a terminal, fill the disk."""
import os
import signal
import subprocess
import sys
import threading
import time

from frame import BELAY, equal, main, prints, run, says, start

# A sanitizer keeps freed memory for a while; here it must not.
EXACT = {**os.environ, "ASAN_OPTIONS": "quarantine_size_mb=0:thread_local_quarantine_size_kb=0"}


def is_there(pid):
    """Does the process live? A zombie does not."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def wait_for(condition):
    """Returns when the condition holds; fails when that takes too long."""
    end = time.monotonic() + 60
    while not condition():
        if time.monotonic() > end:
            raise AssertionError("what was waited for did not come")
        os.sched_yield()


def pid_in(name):
    wait_for(lambda: os.path.exists(name) and os.path.getsize(name) > 0)
    with open(name, encoding="utf-8") as file:
        return int(file.read())


def test_a_job_ends_when_its_main_process_does():
    """A child that holds the output open is not waited for, and does not outlive the job."""
    ran = run("sleep 1000 & echo $! > left; echo done {}", ":::", "a")
    prints(ran, "done a\n")
    wait_for(lambda: not is_there(pid_in("left")))


def test_children_can_be_kept():
    prints(run("--keep-children", "setsid sleep 1000 & echo $! > kept; echo done {}", ":::", "a"), "done a\n")
    kept = pid_in("kept")
    equal(is_there(kept), True)
    os.kill(kept, signal.SIGKILL)


def test_a_job_that_ignores_term_is_killed_after_its_time():
    begin = time.monotonic()
    ran = run("--timeout", "0.3", "--joblog", "jl", "trap '' TERM; while :; do sleep 0.1; done; : {}", ":::", "a")
    equal(ran.status, 1)
    equal(time.monotonic() - begin >= 10, True, "KILL comes 10 seconds behind TERM")
    with open("jl", encoding="utf-8") as log:
        equal(log.readlines()[1].split("\t")[6:8], ["-1", "15"])


def test_a_job_that_wants_a_terminal_gets_an_error_at_once():
    ran = run("exec < /dev/tty; echo read {}", ":::", "a")
    equal((ran.out, ran.status), (b"", 1), ran)
    equal(b"/dev/tty" in ran.err, True, ran)


KINDS = ("sleep 1000 & echo $! > child",
         "(sleep 1000 & echo $! > grandchild) &",
         "setsid sh -c 'echo $$ > session; exec sleep 1000' &",
         "setsid sh -c 'setsid sh -c \"echo \\$\\$ > daemon; exec sleep 1000\" & exit' &",
         "sh -c 'trap \"\" TERM; echo $$ > stubborn; while :; do sleep 0.1; done' &")
NAMES = ("child", "grandchild", "session", "daemon", "stubborn")


def killed(find_victim):
    """Nothing that a job has started survives the victim's death."""
    process = start("-j1", "\n".join(KINDS) + "\nwait; : {}", ":::", "a", stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    pids = [pid_in(name) for name in NAMES]
    os.kill(find_victim(process.pid), signal.SIGKILL)
    process.wait(60)
    for name, pid in zip(NAMES, pids):
        wait_for(lambda pid=pid: not is_there(pid))
    return process.returncode


def keeper_of(runner):
    with open(f"/proc/{runner}/task/{runner}/children", encoding="utf-8") as file:
        return int(file.read().split()[0])


def test_nothing_survives_the_runner():
    equal(killed(lambda runner: runner), -signal.SIGKILL)


def test_nothing_survives_the_keeper():
    equal(killed(keeper_of), 255)


def with_mounts_of_its_own():
    """What a command is put behind, so that its mounts are nobody else's."""
    alone = ["unshare", "--mount"] + ([] if os.geteuid() == 0 else ["--map-root-user"])
    if subprocess.run([*alone, "true"], capture_output=True, check=False).returncode != 0:
        alone += ["--propagation", "unchanged"]  # in a chroot, whose root is no mount
    return alone


def test_a_full_disk_is_said_aloud():
    """The folder for spooled output is a small file system of its own."""
    os.mkdir("small")
    script = ("mount -t tmpfs -o size=256k tmpfs small && TMPDIR=$PWD/small \"$0\" run -j1 "
              "'head -c 1000000 /dev/zero; echo {}' ::: a b; status=$?; umount small; exit $status")
    done = subprocess.run([*with_mounts_of_its_own(), "sh", "-c", script, BELAY],
                          capture_output=True, check=False, timeout=90)
    equal(done.returncode, 255, done.stderr)
    equal(b"output is incomplete" in done.stderr, True, done.stderr)


def test_a_spool_folder_that_is_not_there_is_named():
    says(run("echo", ":::", "a", env={"TMPDIR": "/no/such/folder"}), "/no/such/folder", "writable")


def peak_of(size):
    """Peak memory in KiB of the command while a job writes that many bytes."""
    os.mkfifo(f"ended.{size}")
    job = f"head -c {size} /dev/zero\necho up >ended.{size}\n"
    with start("-j1", stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, env=EXACT) as belay:
        belay.stdin.write(job.encode())
        belay.stdin.flush()
        with open(f"ended.{size}", encoding="utf-8") as pipe:
            equal(pipe.read(), "up\n", "the second job runs")
        peak = memory_peak(belay)
        belay.stdin.close()
        equal(belay.wait(), 0, "status")
    return peak


def memory_peak(process):
    """In KiB; of a process that lives, since its usage at the end counts the program that started it."""
    with open(f"/proc/{process.pid}/status", encoding="utf-8") as file:
        return int(next(line for line in file if line.startswith("VmHWM:")).split()[1])


def peak_after(count):
    """Peak memory in KiB of the command when it has run jobs for that many lines of input."""
    with start("-k", "-n", "50", "--joblog", f"log.{count}", "echo", stdin=subprocess.PIPE,
               stdout=subprocess.PIPE, env=EXACT) as belay:
        feeder = threading.Thread(target=feed, args=(belay.stdin, count))
        feeder.start()
        last = f"{count}".encode()
        equal(any(line.split()[-1] == last for line in belay.stdout), True, "the last line came out")
        feeder.join()
        peak = memory_peak(belay)
        belay.stdin.close()
        equal(belay.wait(), 0, "status")
    return peak


def feed(pipe, count):
    for number in range(1, count + 1):
        pipe.write(b"%d\n" % number)
    pipe.flush()


def test_memory_is_flat_however_much_a_job_writes():
    small, large = peak_of(1000), peak_of(1_000_000_000)
    equal(large <= small + 4096, True, f"{small} KiB for 1 kB, {large} KiB for 1 GB")


def test_memory_is_flat_however_long_the_input_is():
    small, large = peak_after(1000), peak_after(100_000)
    equal(large <= small + 4096, True, f"{small} KiB for 1,000 lines, {large} KiB for 100,000")


if __name__ == "__main__":
    main(sys.modules[__name__])
