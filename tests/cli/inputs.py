"""Where arguments come from, and how many make a job."""
import os
import subprocess
import sys

from frame import BELAY, equal, main, prints, run, says

SIX = b"1\n2\n3\n4\n5\n6\n"


def write(name, text):
    with open(name, "w", encoding="utf-8") as file:
        file.write(text)


def test_files():
    write("f", "a\nb\n")
    write("g", "1\n2\n")
    prints(run("-k", "-a", "f", "echo"), "a\nb\n")
    prints(run("-k", "echo", "::::", "f"), "a\nb\n")
    prints(run("-k", "-a", "f", "-a", "g", "echo"), "a 1\na 2\nb 1\nb 2\n")
    prints(run("-k", "echo", "::::", "f", "g"), "a 1\na 2\nb 1\nb 2\n")
    prints(run("-k", "echo", "::::", "f", "::::+", "g"), "a 1\nb 2\n")
    prints(run("-k", "echo", "::::", "-", ":::", "x", stdin=b"p\nq\n"), "p x\nq x\n")
    prints(run("-k", "--link", "echo", ":::", "a", "b", "c", ":::", "1", "2"), "a 1\nb 2\nc 1\n")


def test_delimiters():
    prints(run("-k", "-d", ",", "echo", stdin=b"a,b c,d"), "a\nb c\nd\n")
    prints(run("-k", "-d", "\\t", "echo", stdin=b"a\tb"), "a\nb\n")
    prints(run("-k", "-0", "echo", stdin=b"a\0b\0"), "a\nb\n")


def test_blank_lines():
    prints(run("-k", "echo", stdin=b"a\n\nb\n"), "a\n\nb\n")
    prints(run("-k", "-r", "echo", stdin=b"a\n \nb\n"), "a\nb\n")
    prints(run("-k", "-E", "END", "echo", stdin=b"a\nEND\nb\n"), "a\n")


def test_several_a_job():
    prints(run("-k", "-n2", "echo", "x{}y", stdin=b"1\n2\n3\n"), "x1 2y\nx3y\n")
    prints(run("-k", "-n0", "echo", "x", stdin=b"1\n2\n"), "x\nx\n")
    prints(run("-k", "-L2", "echo", "x{}y", stdin=b"a\nb \nc\nd\n"), "xay xb cy\nxdy\n")
    prints(run("-k", "--xargs", "echo", stdin=SIX), "1 2 3 4 5 6\n")
    prints(run("-k", "-j2", "-X", "echo", "x{}y", stdin=SIX), "x1y x2y x3y\nx4y x5y x6y\n")
    prints(run("-k", "-j3", "-m", "echo", stdin=SIX), "1 2\n3 4\n5 6\n")
    prints(run("-k", "-j1", "-X", "-s", "12", "echo", stdin=SIX), "1 2 3\n4 5 6\n")


def test_filled_commands_fit_the_kernel():
    words = b"".join(b"%d\n" % number for number in range(100000))
    ran = run("-k", "-j1", "--xargs", "echo", stdin=words)
    equal(ran.out.split(), words.split(), "words")
    equal(ran.status, 0)
    prints(run("-k", "-j1", "-X", "echo x{}y | wc -w; :", stdin=words[:40000]), f"{len(words[:40000].split())}\n")


def test_columns():
    prints(run("-k", "--colsep", "[,;]", "echo", "{3}-{1}-{-1}", stdin=b"a,b;c\n"), "c-a-c\n")
    prints(run("-k", "-C", "\\t", "echo", "{2}", stdin=b"a\tb\n"), "b\n")


def test_input_that_comes_slowly_delays_nothing():
    with subprocess.Popen([BELAY, "run", "echo"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        for word in (b"one", b"two"):
            process.stdin.write(word + b"\n")
            process.stdin.flush()
            equal(process.stdout.readline(), word + b"\n")
        process.stdin.close()
        equal(process.wait(60), 0)


def peak_of(count, *how):
    """Peak memory in KiB of a batch of that many lines (and of nothing it starts)."""
    with open("lines", "w", encoding="utf-8") as file:
        file.writelines(f"{number}\n" for number in range(count))
    script = ("import os, resource, subprocess, sys\n"
              "subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, check=True)\n"
              "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)\n")
    # What the address sanitizer keeps of freed memory is not the command's.
    where = {**os.environ, "ASAN_OPTIONS": "quarantine_size_mb=1"}
    done = subprocess.run([sys.executable, "-c", script, BELAY, "run", *how, "-a", "lines", "true"],
                          capture_output=True, check=True, env=where)
    return int(done.stdout)


def test_memory_is_flat():
    for how in (("--dry-run",), ("-n", "500"), ("-k", "-n", "500", "--joblog", "log")):
        small, large = peak_of(1000, *how), peak_of(100000, *how)
        equal(large <= small + 4096, True, f"{how}: {small} KiB at 1,000 lines, {large} KiB at 100,000")


def test_json_lines():
    write("jobs.jsonl", '{"cmd": "echo last", "priority": -1}\n'
                        '["echo", "a  b"]\n'
                        '"echo c; echo d"\n'
                        '{"cmd": "echo $X", "env": {"X": "y z"}}\n'
                        '{"cmd": ["printf", {"b64": "/w=="}]}\n')
    expected = b"a  b\nc\nd\ny z\n\xfflast\n"
    for how in (("--jsonl", "jobs.jsonl"), ("-a", "jobs.jsonl"), ("::::", "jobs.jsonl")):
        ran = run("-j1", *how)
        equal((ran.out, ran.status), (expected, 0), ran)
    write("args", '["a", "b"]\n{"args": ["c d", "e"]}\n')
    prints(run("-k", "--jsonl", "args", "echo", "{2}", "{1}"), "b a\ne c d\n")
    write("bad", '"echo"\n{"cmd": "echo", "colour": 1}\n')
    says(run("--jsonl", "bad"), "bad", "line 2", "colour")


def test_priorities_and_times():
    write("jobs", '{"cmd": "echo late", "in": "300ms"}\n'
                  '{"cmd": "echo low", "priority": -5}\n'
                  '{"cmd": "echo normal"}\n'
                  '{"cmd": "echo high", "priority": 5}\n')
    prints(run("-j1", "--jsonl", "jobs"), "high\nnormal\nlow\nlate\n")


def test_limits():
    job = "mkdir busy-{} && sleep 0.05 && rmdir busy-{}"
    equal(run("-j4", "--limit", "one", job.replace("{}", "x") + "; : {}", ":::", *"abcd").status, 0)
    says(run("--limit", "db:2", "echo", ":::", "a"), "permits")
    equal(run("-j4", "--limit", "three=3", "echo", ":::", *"abcd").status, 0)


def test_standard_input_as_a_file_that_is_shared():
    with open("shared", "w", encoding="utf-8") as file:
        file.write("a\nb\n")
    with open("shared", "rb") as file:
        done = subprocess.run([BELAY, "run", "-k", "echo"], stdin=file, capture_output=True, check=False)
    equal(done.stdout, b"a\nb\n")


if __name__ == "__main__":
    os.environ["LC_ALL"] = "C.UTF-8"
    main(sys.modules[__name__])
