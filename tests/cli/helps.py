"""What the command says about itself: help, version, completions, all from the same tables."""
import os
import re
import subprocess
import sys

from frame import BELAY, command, equal, lines, main, prints, says


def commands():
    """The names of all commands, in the order of the help."""
    found = [re.match(r"  ([a-z]+)  +\S", line) for line in lines(command("help").out)]
    return [name.group(1) for name in found if name]


def options(name):
    """The long options that the help of a command lists."""
    return re.findall(r"^  (?:-.[ ,] |   ) *(--[a-z-]+)", command("help", name).out.decode(), re.MULTILINE)


def test_help_lists_commands_that_are_there():
    listed = commands()
    equal(listed[0], "run")
    for name in listed:
        ran = command("help", name)
        equal((ran.status, ran.err), (0, b""), name)
        equal(ran.out.startswith(f"usage: belay {name}".encode()), True, ran)
    equal(command("--help").out, command("help").out)
    equal(command().out, command("help").out)


def test_every_command_with_options_tells_them():
    for name in commands():
        if options(name):
            prints(command(name, "--help"), command("help", name).out.decode())


def test_options_of_run_are_listed():
    for option in ("--jobs", "--halt", "--joblog", "--jsonl"):
        equal(option in options("run"), True, option)


def test_what_is_not_there_is_said():
    says(command("help", "weather"), "weather", "no help", "belay help")
    says(command("walk"), "walk", "no such command", "belay help")
    says(command("completions", "csh"), "csh", "bash, zsh and fish")


def test_version():
    equal(re.fullmatch(rb"belay 0\.\d+\.\d+\n", command("version").out) is not None, True)
    equal(command("--version").out, command("version").out)


def test_help_into_a_closed_pipe():
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run([BELAY, "help", "run"], stdout=write, stderr=subprocess.PIPE, check=False,
                          preexec_fn=lambda: __import__("signal").signal(13, __import__("signal").SIG_IGN))
    os.close(write)
    equal((done.returncode, done.stderr), (141, b""))


def completed(*words):
    """What bash offers for the last word."""
    script = command("completions", "bash").out.decode()
    quoted = " ".join(f"'{word}'" for word in words)
    asked = f"{script}\nCOMP_WORDS=({quoted}) COMP_CWORD={len(words) - 1}; _belay\nprintf '%s\\n' \"${{COMPREPLY[@]}}\""
    done = subprocess.run(["bash", "-c", asked], capture_output=True, check=False)
    equal((done.returncode, done.stderr), (0, b""), done)
    return lines(done.stdout)


def test_bash_completes_commands_options_and_files():
    equal(completed("belay", "ru"), ["run"])
    equal(completed("belay", "run", "--jo"), ["--jobs", "--joblog"])
    open("here.log", "w", encoding="utf-8").close()
    equal(completed("belay", "run", "--joblog", "her"), ["here.log"])
    equal("printf" in completed("belay", "run", "print"), True)
    equal(completed("belay", "help", "comp"), ["completions"])
    equal(completed("belay", "completions", "z"), ["zsh"])
    equal(completed("belay", "version", ""), [""])


def test_zsh_and_fish_know_each_command_and_option():
    zsh = command("completions", "zsh").out.decode()
    fish = command("completions", "fish").out.decode()
    for name in commands():
        equal(f"    {name})\n" in zsh, True, name)
        equal(f"-n __belay_is_first -a {name} -d '" in fish, True, name)
        for option in options(name):
            equal(f"'*{option}[" in zsh, True, option)
            equal(f"complete -c belay -n '__belay_is {name}' -l {option[2:]} " in fish, True, option)


if __name__ == "__main__":
    main(sys.modules[__name__])
