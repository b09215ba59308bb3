"""What the exit status says, of jobs and of batches, and what is said about errors."""
import os
import subprocess
import sys

from frame import BELAY, Ran, command, equal, main, prints, run, says


def log_of(*args, **more):
    """The Exitval and Signal of each job, by number."""
    run("--joblog", "jl", *args, **more)
    with open("jl", "rb") as log:
        rows = [line.split(b"\t") for line in log.read().splitlines()[1:]]
    return {int(row[0]): (int(row[6]), int(row[7])) for row in rows}


def test_all_well_and_nothing_to_do():
    prints(run("true", ":::", "a"), "")
    prints(run("echo", stdin=b""), "")
    prints(run("echo", ":::"), "")
    prints(run(stdin=b""), "")


def test_failures_are_counted():
    prints(run("-j1", "exit {}", ":::", "0", "1", "2", "0"), "", status=2)


def test_missing_and_not_executable_commands():
    with open("not-executable", "w", encoding="utf-8"):
        pass
    says(run("/no/such/command", "x", ":::", "a"), "/no/such/command", "not found", status=1)
    says(run("./not-executable", "x", ":::", "a"), "Permission denied", status=1)
    equal(log_of("/no/such/command", "x", ":::", "a"), {1: (127, 0)})
    equal(log_of("./not-executable", "x", ":::", "a"), {1: (126, 0)})
    equal(log_of("no-such-command;", ":::", "a"), {1: (127, 0)})


def test_a_huge_argument():
    ran = run("--joblog", "jl", "echo", stdin=b"x" * 10_000_000 + b"\nsmall\n")
    says(ran, "131,072", "10000000", status=1)
    equal(ran.out, b"small\n")
    with open("jl", "rb") as log:
        equal([line.split(b"\t")[6] for line in log.read().splitlines()[1:]], [b"126", b"0"])


def test_signals_and_timeouts_in_the_log():
    equal(log_of("kill -9 $$; echo", ":::", "a"), {1: (0, 9)})
    equal(log_of("--timeout", "0.2", "sleep", ":::", "100"), {1: (-1, 15)})


def test_halt_with_status():
    prints(run("-j1", "--halt", "soon,fail=1", "exit {}", ":::", "0", "7", "8"), "", status=7)
    prints(run("-j1", "--halt", "soon,fail=2", "exit {}", ":::", "1", "7", "8"), "", status=2)
    prints(run("-j1", "--halt", "now,success=1", "exit {}", ":::", "1", "0", "8"), "", status=0)
    prints(run("-j1", "--halt", "soon,fail=50%", "exit {}", ":::", "0", "1", "1", "1"), "", status=50)
    prints(run("-j1", "--halt", "now,done=1", "exit {}", ":::", "4", "1"), "", status=4)
    prints(run("-j1", "--halt", "now,fail=1", "kill -9 $$; :", ":::", "4"), "", status=137)


def test_halt_now_ends_what_runs_and_does_not_log_it():
    logged = log_of("-j2", "--halt", "now,fail=1", "sleep {}; exit 3", ":::", "0.1", "100")
    equal(logged, {1: (3, 0)})


def test_tries():
    prints(run("--tries", "3", "[ $BELAY_TRY = 3 ] && echo try $BELAY_TRY #"
               .replace(" #", "; [ $BELAY_TRY = 3 ] && : {}"), ":::", "a"), "try 3\n")
    equal(log_of("--tries", "2", "exit 5; :", ":::", "a"), {1: (5, 0)})


def test_a_folder_to_run_in():
    os.mkdir("sub")
    prints(run("--workdir", "sub", "pwd | sed s:.*/::; :", ":::", "a"), "sub\n")
    says(run("--workdir", "nowhere", "pwd; :", ":::", "a"), "nowhere", "No such file", status=1)


def test_closed_standard_output():
    with subprocess.Popen([BELAY, "run", "-j1", "echo"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE) as process:
        process.stdout.close()
        process.stdin.write(b"a\n" * 1000)
        process.stdin.close()
        equal(process.wait(60), 141)
        equal(process.stderr.read(), b"")


def test_full_standard_output():
    with open("/dev/full", "wb") as full:
        done = subprocess.run([BELAY, "run", "echo", ":::", "a"], stdout=full, stderr=subprocess.PIPE, check=False)
    equal(done.returncode, 255)
    equal(b"No space left" in done.stderr, True, done)


def test_no_standard_output_at_all():
    """Nothing else gets its number, and so nothing is written into the wrong file."""
    done = subprocess.run(["sh", "-c", '"$0" run --joblog log -k echo ::: a b >&-', BELAY],
                          capture_output=True, check=False)
    equal(done.returncode, 255)
    equal(done.stderr, b"belay run: standard output: Bad file descriptor; what follows is not shown\n")
    with open("log", encoding="utf-8") as log:
        equal([line.split("\t")[0] for line in log][0], "Seq", "the log holds lines of the log only")
    says(command_without("<", "echo"), "standard input", "Bad file descriptor")
    prints(command_without("2>", "echo", ":::", "a"), "a\n")


def command_without(stream, *args):
    """Runs `belay run ARGS` with a standard stream closed."""
    done = subprocess.run(["sh", "-c", f'"$0" run "$@" {stream}&-', BELAY, *args], capture_output=True, check=False)
    return Ran(done.returncode, done.stdout, done.stderr)


def test_options_that_are_wrong_or_refused():
    says(run("--keep-order=2", "echo", ":::", "a"), "--keep-order: it takes no value")
    says(run("--job", "2", "echo", ":::", "a"), "--job: several options begin so: --jobs --joblog\n")
    says(run("-Z", "echo", ":::", "a"), "-Z: there is no such option")
    says(run("--no-such-option", "echo", ":::", "a"), "--no-such-option", "belay help run")
    for slip in ("--taggstring=x", "--tagsrting=x", "--tagstrinq=x", "--agstring=x"):
        says(run(slip, "echo", ":::", "a"), "no such option; did you mean --tagstring?")
    says(run("--joobs", "2", "echo", ":::", "a"), "--joobs: there is no such option; did you mean --jobs?")
    says(run("-j", "many", "echo", ":::", "a"), "--jobs many", "none of N, N%")
    says(run("--load", "+1", "echo", ":::", "a"), "--load +1", "neither N nor N%")
    says(run("--pipe", "cat"), "--pipe", "split(1)")
    says(run("-S", "host", "echo"), "--sshlogin", "ssh HOST belay run")
    says(run("--transfer", "echo"), "--transfer", "rsync")
    says(run("echo", "{= s/a/b/ =}", ":::", "a"), "Perl")
    says(run("--timeout", "1y", "echo", ":::", "a"), "--timeout 1y", "years and months")
    says(run("--resume", "echo", ":::", "a"), "--joblog")
    says(run("--colsep", "(", "echo", ":::", "a"), "regular expression")
    says(run("-a", "no-such-file", "echo"), "no-such-file", "No such file")
    says(run("jobs.jsonl", stdin=b""), "jobs.jsonl", "run by --jsonl FILE")
    says(run("-a", "/dev/null", "-a", "jobs.jsonl", "echo"), "jobs.jsonl", "only source")
    says(run("echo", ":::+", "a"), "no input source before it")
    says(run("-u", "--results", "r", "echo", ":::", "a"), "--results")
    says(run("-X", "-s", "9", "echo", ":::", "a", "too long"), "too long", "9 bytes of --max-chars")
    equal(command("rn").err, b"belay: rn: there is no such command; see `belay help`\n")


def test_a_terminal_as_standard_input():
    controller, terminal = os.openpty()
    done = subprocess.run([BELAY, "run", "echo"], stdin=terminal, capture_output=True, check=False, timeout=60)
    os.close(controller)
    os.close(terminal)
    equal(done.returncode, 255)
    equal(b"terminal" in done.stderr and b"belay help run" in done.stderr, True, done)


def test_messages_hold_no_control_characters():
    ran = run("\x1b[31m\u202ered", "x", ":::", "a")
    says(ran, "\\x1b[31m\\xe2\\x80\\xaered", "not found", status=1)


if __name__ == "__main__":
    main(sys.modules[__name__])
