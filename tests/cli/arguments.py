"""Arguments reach commands byte for byte, whatever is in them and wherever they stand."""
import os
import sys

from frame import equal, main, prints, run, says

ODD = [
    b"plain", b"two words", b"  blanks  ", b"tab\there", b"new\nline", b"it's", b'say "x"', b"back\\slash", b"$(id)",
    b"`id`", b"$HOME", b"; id", b"& id", b"| id", b"*", b"?", b"[a]", b"~", b"#x", b"-n", b"--", b"", b"!", b"{}", b"{1}",
    b"A=1", b"caf\xc3\xa9", b"\xff\xfe", b"\xed\xa0\x80", b"\x01\x1b[31m", b"'\\''", b"\\", b"trailing\n",
]


def check(*command, prefix=b"", suffix=b""):
    """Every odd argument comes out of printf as it went in."""
    ran = run("-0", "-k", "-j4", *command, stdin=b"\0".join(ODD) + b"\0")
    equal(ran.out.split(b"\0")[:-1], [prefix + odd + suffix for odd in ODD], command)
    equal((ran.status, ran.err), (0, b""), command)


def test_as_words():
    check("printf", "%s\\0")
    check("printf", "%s\\0", "{}")
    check("printf", "%s\\0", "a{}b", prefix=b"a", suffix=b"b")


def test_in_lines_without_a_shell():
    with open("show", "w", encoding="utf-8") as file:
        file.write("#!/bin/sh\nprintf '%s\\0' \"$1\"\n")
    os.chmod("show", 0o755)
    check("./show {}")
    check("./show")
    check("./show a{}b", prefix=b"a", suffix=b"b")


def test_in_shell_lines():
    check("printf '%s\\0' {};")
    check("printf '%s\\0' a{}b;", prefix=b"a", suffix=b"b")
    check("printf '%s\\0' '{}';")
    check("printf '%s\\0' \"{}\";")
    check("printf '%s\\0' \"it's {} $(echo)\";", prefix=b"it's ", suffix=b" ")
    check("X=\"{}\"; printf '%s\\0' \"$X\"")
    check("(printf '%s\\0' {})")
    check("if :; then printf '%s\\0' {}; fi")
    check("f() { printf '%s\\0' \"$1\"; }; f {}")


def test_joined_by_shell():
    check("--shell", "printf", "'%s\\0'", "{}", ";")


def test_another_name_for_the_argument():
    check("-I", "@@", "printf", "%s\\0", "@@")
    check("-I", "@@", "printf '%s\\0' \"@@\"; : {}")


def test_places_where_nothing_is_safe_are_refused():
    for line in ("echo `echo {}`", "echo \"$(echo {})\"", "cat <<E\n{}\nE", "echo $(({}))", "echo ${x:-{}}",
                 "echo \\{}", "echo \"${}\"", "true # {}"):
        says(run(line, ":::", "a"), "cannot be put in safely", "sh -c")


def test_files_with_odd_names():
    names = [name for name in ODD if name not in (b"", b"--") and b"/" not in name]
    for name in names:
        with open(b"./" + name, "wb") as file:
            file.write(b"in " + name)
    paths = b"".join(b"./" + name + b"\0" for name in names)
    ran = run("-0", "-k", "cat {}; printf '\\0'", stdin=paths)
    equal(ran.out.split(b"\0")[:-1], [b"in " + name for name in names], ran)


def test_a_nul_byte_in_a_line_is_refused():
    says(run("echo", stdin=b"ok\na\0b\n"), "record 2", "NUL", "-0")


def test_lines_as_commands():
    prints(run("-k", stdin=b"echo a b\necho 'c  d'; echo e\n\necho {}\n"), "a b\nc  d\ne\n{}\n")
    prints(run("-k", ":::", "echo a", "printf b"), "a\nb")


def test_environment_of_a_job():
    prints(run("-k", "echo $BELAY_JOB.$BELAY_TRY {}", ":::", "a", "b"), "1.1 a\n2.1 b\n")


def test_standard_input_of_a_job_is_empty():
    prints(run("-k", "cat; echo {}", stdin=b"a\nb\n"), "a\nb\n")


def test_a_script_without_an_interpreter_line():
    with open("script", "w", encoding="utf-8") as file:
        file.write("echo $1 from a script\n")
    os.chmod("script", 0o755)
    prints(run("-k", "./script", ":::", "a"), "a from a script\n")


if __name__ == "__main__":
    main(sys.modules[__name__])
