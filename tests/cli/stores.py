"""What tests of the commands on a store share: a store a test, workers, waiting for what happens."""
import contextlib
import json
import os
import subprocess
import time

from frame import BELAY, HANGS_AFTER_S, command, equal, lines

STORE = "store/belay.db"


def belay(*args, **more):
    """Runs `belay ARGS` on the test's store."""
    env = {"BELAY_STORE": os.path.abspath(STORE), **more.pop("env", {})}
    return command(*args, env=env, **more)


def add(*args, **more):
    """Adds a job; gives its number, as text."""
    ran = belay("add", *args, **more)
    equal(ran.status, 0, ran)
    number = ran.out.decode().strip()
    equal(number.isdigit(), True, ran)
    return number


def work(*args, **more):
    """Works until nothing is left."""
    ran = belay("work", "--until-idle", *args, **more)
    equal(ran.status, 0, ran)
    return ran


def jobs(*args):
    """The objects that `ls --json` prints, by number."""
    ran = belay("ls", "--json", "--all", *args)
    equal((ran.status, ran.err), (0, b""), ran)
    return {str(job["job"]): job for job in map(json.loads, lines(ran.out))}


def state(number):
    ran = belay("show", "--json", number)
    equal(ran.status, 0, ran)
    return json.loads(ran.out)["state"]


def wait_for(condition, what=""):
    """Returns when the condition holds; fails when that takes too long."""
    end = time.monotonic() + HANGS_AFTER_S
    while not condition():
        if time.monotonic() > end:
            raise AssertionError(f"what was waited for did not come: {what}")
        os.sched_yield()


def is_there(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@contextlib.contextmanager
def worker(*args, **more):
    """A worker in the background, killed at the end of the block if it is still there."""
    env = {**os.environ, "BELAY_STORE": os.path.abspath(STORE)}
    process = subprocess.Popen([BELAY, "work", *args], env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, **more)
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


def read(name):
    with open(name, encoding="utf-8", errors="surrogateescape") as file:
        return file.read()
