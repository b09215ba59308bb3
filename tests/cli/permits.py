"""`belay with`: permits that come back however their holder ends."""
import os
import signal
import subprocess
import sys

from frame import BELAY, equal, main, prints, says
from stores import STORE, add, belay, is_there, jobs, read, state, wait_for, work


def start(*args):
    env = {**os.environ, "BELAY_STORE": os.path.abspath(STORE)}
    return subprocess.Popen([BELAY, "with", *args], env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE)


HOLD = ("sh", "-c", "echo $$ > holder; read line; exit 5")


def hold():
    """Somebody who holds x, until a line or the end of its input comes."""
    process = start("x=1", "--", *HOLD)
    wait_for(lambda: os.path.exists("holder") and read("holder").endswith("\n"), "the holder")
    return process


def test_as_sem_does():
    prints(belay("with", "x=2", "--", "echo", "hello"), "hello\n")
    prints(belay("with", "x", "--", "sh", "-c", "exit 7"), "", status=7)
    prints(belay("with", "y=3", "x", "--", "cat", stdin=b"input"), "input")
    prints(belay("with", "x", "--", "echo a; exit 4"), "a\n", status=4)
    says(belay("with", "x", "--", " "), "no command", status=125)


def test_the_command_is_here():
    """Its process group, and so its terminal, is that of who called it."""
    ran = belay("with", "x=1", "--", "sh", "-c", "ps -o pgid= -p $$", process_group=0) if sys.version_info >= (3, 11) \
        else belay("with", "x=1", "--", "sh", "-c", "ps -o pgid= -p $$; ps -o pgid= -p $PPID")
    groups = set(ran.out.split())
    equal(len(groups), 1, ran)


def on_terminal(script, typed):
    """The status and the screen of a command at a terminal, where `typed` is typed once it said "ready"."""
    pid, terminal = os.forkpty()
    if pid == 0:
        os.environ["BELAY_STORE"] = os.path.abspath(STORE)
        os.execv(BELAY, [BELAY, "with", "x", "--", "sh", "-c", script])
    screen = b""
    while b"ready" not in screen:
        screen += os.read(terminal, 1000)
    os.write(terminal, typed)
    try:
        while data := os.read(terminal, 1000):
            screen += data
    except OSError:  # the other end is closed
        pass
    os.close(terminal)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), screen


def test_the_terminal_is_the_commands():
    status, screen = on_terminal("echo ready; read line; echo got $line; [ -t 0 ] && [ -t 1 ] && exit 5", b"hello\n")
    equal((status, b"got hello" in screen), (5, True), screen)
    status, screen = on_terminal("trap 'exit 3' INT; echo ready; while :; do sleep 0.02; done", b"\x03")
    equal(status, 3, screen)
    status, screen = on_terminal("echo ready; while :; do sleep 0.02; done", b"\x03")
    equal(status, 130, screen)
    prints(belay("with", "--wait-max", "0", "x", "--", "echo", "free"), "free\n")


def test_one_at_a_time():
    first = hold()
    second = start("x", "--", "sh", "-c", "echo second; cat holder")
    wait_for(lambda: b"parked" in belay("ls", "--json").out, "the second one waits")
    equal(second.poll(), None)
    first.communicate(b"\n")
    equal(first.returncode, 5)
    equal(second.communicate()[0].startswith(b"second\n"), True)
    equal(second.returncode, 0)


def test_waiting_has_an_end():
    first = hold()
    says(belay("with", "--wait-max", "0", "x", "--", "true"), status=75)
    says(belay("with", "--wait-max", "50ms", "x", "--", "true"), status=75)
    first.communicate(b"\n")
    prints(belay("with", "--wait-max", "0", "x", "--", "echo", "free"), "free\n")


def test_no_permit_is_left_by_a_killed_holder():
    for victim in ("belay", "command"):
        if os.path.exists("holder"):
            os.remove("holder")
        first = hold()
        command_pid = int(read("holder"))
        os.kill(first.pid if victim == "belay" else command_pid, signal.SIGKILL)
        prints(belay("with", "x", "--", "echo", "next"), "next\n")
        wait_for(lambda pid=command_pid: not is_there(pid), "the killed one's command")
        first.communicate()
        equal(first.returncode, -9 if victim == "belay" else 137, victim)


def test_a_command_that_cannot_run_gives_its_permit_back():
    says(belay("with", "x=1", "--", "./missing"), "missing", "not found", status=127)
    says(belay("with", "x", "--", "/"), "/", status=126)
    prints(belay("with", "--wait-max", "0", "x", "--", "echo", "free"), "free\n")


def test_a_timeout():
    says(belay("with", "--timeout", "50ms", "x=1", "--", "sleep", "1000"), status=124)
    prints(belay("with", "--wait-max", "0", "x", "--", "echo", "free"), "free\n")


def test_signals_are_passed_on():
    first = start("x=1", "--", "sh", "-c", "trap 'exit 9' TERM; echo $$ > holder; while :; do sleep 0.02; done")
    wait_for(lambda: os.path.exists("holder") and read("holder").endswith("\n"), "the holder")
    first.send_signal(signal.SIGTERM)
    first.communicate()
    equal(first.returncode, 9)


def test_jobs_and_with_share_a_limit():
    first = hold()
    number = add("--limit", "x", "true")
    env = {"BELAY_STORE": os.path.abspath(STORE)}
    with subprocess.Popen([BELAY, "work", "--until-idle"], env={**os.environ, **env}) as process:
        wait_for(lambda: state(number) == "parked", "parked")
        first.communicate(b"\n")
        equal(process.wait(), 0)
    equal(state(number), "done")


def test_a_cancel_ends_who_holds_and_who_waits():
    first = hold()
    second = start("x", "--", "true")
    wait_for(lambda: b"parked" in belay("ls", "--json").out, "the second one waits")
    waiting, holder = (next(number for number, job in jobs().items() if job["state"] == state)
                       for state in ("parked", "running"))
    equal(belay("cancel", waiting).status, 0)
    equal(b"canceled" in second.communicate()[1], True)
    equal(second.returncode, 125)
    says(belay("cancel", holder), "told to end", status=0)
    first.communicate()
    equal((first.returncode, state(holder)), (143, "canceled"))


def test_what_is_wrong_is_said():
    says(belay("with", "x"), "NAME", "COMMAND", status=125)
    says(belay("with", "--", "true"), "NAME", status=125)
    says(belay("with", "x=0", "--", "true"), "x=0", "1 to 1000000", status=125)
    prints(belay("with", "x=2", "--", "true"), "")
    says(belay("with", "x=3", "--", "true"), "capacity", "belay limit", status=125)
    says(belay("with", "x:3", "--", "true"), "fewer permits", status=125)
    work()


if __name__ == "__main__":
    main(sys.modules[__name__])
