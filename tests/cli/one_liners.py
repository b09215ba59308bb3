"""What people type after `parallel` and `xargs`, and what they know comes out."""
import os
import sys

from frame import equal, lines, main, prints, run


def test_arguments_of_the_command_line():
    prints(run("-k", "echo", ":::", "a", "b", "c"), "a\nb\nc\n")


def test_lines_keep_their_blanks():
    prints(run("-k", "echo", stdin=b"a b\nc  d\n"), "a b\nc  d\n")


def test_two_sources_are_combined():
    prints(run("-k", "echo", "{1}-{2}", ":::", "a", "b", ":::", "1", "2"), "a-1\na-2\nb-1\nb-2\n")


def test_linked_sources_go_together():
    prints(run("-k", "echo", "{1}-{2}", ":::", "a", "b", ":::+", "1", "2"), "a-1\nb-2\n")


def test_replacement_strings():
    prints(run("-k", "echo", "{}", "{.}", "{/}", "{//}", "{/.}", "{#}", ":::", "/a/b.c.gz", "d.e"),
           "/a/b.c.gz /a/b.c b.c.gz /a b.c 1\nd.e d d.e . d 2\n")


def test_names_ended_by_nul():
    names = ["a b.txt", "c'd.txt", "e\nf.txt", "$(g).txt"]
    for name in names:
        open(name, "w", encoding="utf-8").close()
    found = "".join(f"./{name}\0" for name in names).encode()
    ran = run("-0", "-n1", "-P2", "printf", "%s\\0", stdin=found)
    equal(sorted(ran.out.split(b"\0")[:-1]), sorted(found.split(b"\0")[:-1]), ran)
    equal(ran.status, 0)
    ran = run("-0", "-n1", "-P2", "echo", stdin=b"./x y\0./z\0")
    equal(sorted(lines(ran.out)), ["./x y", "./z"], ran)


def test_three_arguments_a_job():
    numbers = b"1\n2\n3\n4\n5\n6\n"
    prints(run("-k", "-n3", "echo", stdin=numbers), "1 2 3\n4 5 6\n")
    prints(run("-k", "-N3", "echo", "{3}", "{2}", "{1}", stdin=numbers), "3 2 1\n6 5 4\n")


def test_tags():
    prints(run("-k", "--tag", "echo", ":::", "a", "b"), "a\ta\nb\tb\n")


def test_columns():
    prints(run("-k", "--colsep", ",", "echo", "{2}", "{1}", stdin=b"a,1\nb,2\n"), "1 a\n2 b\n")


def test_job_log_and_what_failed_again():
    args = ("-j2", "-k", "--joblog", "jl")
    job = ("echo {}; exit {}", ":::", "0", "1", "2")
    prints(run(*args, *job), "0\n1\n2\n", status=2)
    with open("jl", encoding="utf-8") as log:
        equal(len(log.readlines()), 4)
    prints(run(*args, "--resume-failed", *job), "1\n2\n", status=2)
    with open("jl", encoding="utf-8") as log:
        rows = [line.rstrip("\n").split("\t") for line in log]
    equal(len(rows), 6, rows)
    equal(sorted((row[0], row[6], row[8]) for row in rows[4:]),
          [("2", "1", "echo 1; exit 1"), ("3", "2", "echo 2; exit 2")])


def test_halt_at_the_first_failure():
    prints(run("-j1", "--halt", "now,fail=1", "echo {}; exit {}", ":::", "0", "3", "0", "0"),
           "0\n3\n", status=3)


def test_many_failures_are_101():
    numbers = "".join(f"{number}\n" for number in range(150)).encode()
    prints(run("false", stdin=numbers), "", status=101)


def test_dry_run():
    prints(run("--dry-run", "-k", "echo", "{}", ":::", "a b", "c;d"), "echo 'a b'\necho 'c;d'\n")


if __name__ == "__main__":
    os.environ["LC_ALL"] = "C.UTF-8"
    main(sys.modules[__name__])
