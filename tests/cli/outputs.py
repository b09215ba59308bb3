"""How the output of jobs is shown, kept and logged."""
import os
import resource
import subprocess
import sys

from frame import BELAY, equal, lines, main, prints, run, says


def test_grouped_output_is_not_mixed():
    ran = run("-j4", "for i in 1 2 3 4 5; do echo {} $i; sleep 0.01; done", ":::", *"abcd")
    shown = lines(ran.out)
    equal(sorted(shown), sorted(f"{job} {number}" for job in "abcd" for number in range(1, 6)))
    for start in range(0, 20, 5):
        equal([line.split()[1] for line in shown[start:start + 5]], list("12345"), shown)


def test_standard_error_goes_to_standard_error():
    ran = run("-k", "echo out {}; echo err {} >&2", ":::", "a", "b")
    equal((ran.out, ran.err), (b"out a\nout b\n", b"err a\nerr b\n"))


def test_order_is_kept():
    prints(run("-j4", "-k", "sleep {}; echo {}", ":::", "0.3", "0.2", "0.1", "0"), "0.3\n0.2\n0.1\n0\n")


def test_tags_on_every_line():
    ran = run("-k", "--tag", "echo 1; echo 2; echo x >&2; :", ":::", "a", "b c")
    equal(ran.out, b"a\t1\na\t2\nb c\t1\nb c\t2\n")
    equal(ran.err, b"a\tx\nb c\tx\n")
    prints(run("--dry-run", "--tag", "echo", ":::", "a", "b c"), "a\techo a\nb c\techo 'b c'\n")
    prints(run("--dry-run", "--tagstring", "n{#}", "echo", ":::", "a"), "n1\techo a\n")
    prints(run("-k", "--tagstring", "{#}:{/}", "echo", "x", ":::", "/p/a", "/p/b"),
           "1:a\tx /p/a\n2:b\tx /p/b\n")


def test_lines_come_as_they_are_written():
    ran = run("-j2", "--line-buffer", "echo {} 1; sleep {}; echo {} 2", ":::", "0.4", "0")
    equal(sorted(lines(ran.out)), ["0 1", "0 2", "0.4 1", "0.4 2"])
    equal(lines(ran.out)[-1], "0.4 2")
    for name in ("--lb", "--linebuffer"):
        prints(run("-j2", name, "-k", "echo {} 1; sleep {}; echo {} 2", ":::", "0.2", "0"),
               "0.2 1\n0.2 2\n0 1\n0 2\n")
    with subprocess.Popen([BELAY, "run", "--lb", "echo {}; sleep 100; :", ":::", "a"],
                          stdout=subprocess.PIPE) as process:
        equal(process.stdout.readline(), b"a\n")
        process.kill()


def test_ungrouped_output_is_the_jobs_own():
    prints(run("-j1", "-u", "echo", ":::", "a", "b"), "a\nb\n")


def test_commands_are_shown_on_demand():
    ran = run("-k", "-t", "echo", ":::", "a b")
    equal((ran.out, ran.err), (b"a b\n", b"echo 'a b'\n"))
    prints(run("-k", "-v", "echo", ":::", "a b", "c"), "echo 'a b'\na b\necho c\nc\n")


def test_results_are_kept_by_number():
    prints(run("-k", "--results", "r", "echo {}; echo err >&2", ":::", "../../x", "b"), "../../x\nb\n")
    kept = sorted(os.path.join(folder, file) for folder, _, files in os.walk("r") for file in files)
    equal(kept, [f"r/{number}/{name}" for number in "12" for name in ("command", "stderr", "stdout")])
    with open("r/1/stdout", encoding="utf-8") as file:
        equal(file.read(), "../../x\n")
    with open("r/2/command", encoding="utf-8") as file:
        equal(file.read(), "echo b; echo err >&2\n")


def test_many_finished_jobs_behind_a_slow_one():
    """1,500 outputs wait for the first one, with 256 descriptors."""
    def few_descriptors():
        resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256))

    numbers = b"".join(b"%d\n" % number for number in range(1500))
    command = "while [ {} = 0 ] && [ ! -e last ]; do sleep 0.05; done; echo {}; [ {} != 1499 ] || : > last"
    ran = run("-j8", "-k", command, stdin=numbers, preexec_fn=few_descriptors)
    equal(ran.out, numbers)
    equal((ran.status, ran.err), (0, b""))


def test_much_output_comes_whole():
    ran = run("-j2", "-k", "head -c 3000000 /dev/zero | tr '\\0' {}; echo", ":::", "a", "b")
    equal(ran.out, b"a" * 3000000 + b"\n" + b"b" * 3000000 + b"\n")


def test_no_bar_without_a_terminal():
    ran = run("--bar", "--eta", "true", ":::", "a", "b")
    equal((ran.out, ran.err, ran.status), (b"", b"", 0))


def on_terminal(*args, env=None):
    """What a batch writes when stderr is a terminal."""
    controller, terminal = os.openpty()
    where = {**os.environ, "TERM": "xterm", **(env or {})}
    done = subprocess.run([BELAY, "run", *args], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=terminal, env=where, check=False, timeout=60)
    os.close(terminal)
    shown = b""
    while True:
        try:
            shown += os.read(controller, 65536)
        except OSError:
            break
    os.close(controller)
    return done, shown


def test_a_bar_on_a_terminal():
    done, shown = on_terminal("-j1", "--bar", "--eta", "sleep 0.15; exit {}", ":::", "0", "1", "0")
    equal(done.returncode, 1)
    equal(b"/3 done" in shown and b"[" in shown, True, shown)
    equal(b"\x1b[31m" in shown, True, shown)
    _, plain = on_terminal("-j1", "--bar", "sleep 0.15; exit {}", ":::", "0", "1", "0", env={"NO_COLOR": "1"})
    equal(b"\x1b[31m" in plain, False, plain)
    equal(b"/3 done" in plain, True, plain)


def test_the_log_of_another_command_is_refused():
    run("--joblog", "jl", "echo", ":::", "a", "b")
    says(run("--joblog", "jl", "--resume", "echo", ":::", "a", "c"), "job 2", "another command")


def test_resume_goes_on():
    prints(run("-k", "--joblog", "jl", "echo {}; exit {}", ":::", "0", "1"), "0\n1\n", status=1)
    prints(run("-k", "--joblog", "jl", "--resume", "echo {}; exit {}", ":::", "0", "1", "2"), "2\n", status=1)
    prints(run("-k", "--joblog", "jl", "--resume", "--dry-run", "echo {}; exit {}", ":::", *"0123"),
           "echo 3; exit 3\n")
    prints(run("-k", "--joblog", "jl", "--retry-failed"), "1\n2\n", status=2)
    prints(run("-k", "--joblog", "new", "--resume", "echo", ":::", "a"), "a\n")


def test_resume_after_kill():
    """Killed between two ends, with a torn line: nothing is lost, what had ended does not run again."""
    job = ("-j1", "--joblog", "jl", "echo {} >> ran; [ {} != 3 ] || sleep 100", ":::", "1", "2", "3")
    with subprocess.Popen([BELAY, "run", *job], stdout=subprocess.PIPE) as process:
        while not (os.path.exists("ran") and open("ran", encoding="utf-8").read().count("\n") == 3):
            os.sched_yield()
        process.kill()
        process.wait()
    with open("jl", "a", encoding="utf-8") as log:
        log.write("3\t:\t17960")
    again = list(job)
    again[again.index("echo {} >> ran; [ {} != 3 ] || sleep 100")] = "echo {} >> ran; [ {} != 3 ] || sleep 0"
    says(run("--resume", *again), "another command")
    with open("ran", encoding="utf-8") as file:
        equal(file.read(), "1\n2\n3\n")


if __name__ == "__main__":
    main(sys.modules[__name__])
