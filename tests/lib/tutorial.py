"""What belay_test(7) shows: pieces of the examples, and the commands that build them."""
import re
import subprocess
import os
from pathlib import Path

SOURCE = Path(__file__).resolve().parent.parent.parent
PAGE = SOURCE / "docs/man/belay_test.7"


def blocks():
    """The literal blocks of the page, as its readers see them."""
    for block in re.findall(r"^\.Bd -literal\n(.*?)\n\.Ed$", PAGE.read_text(), re.M | re.S):
        yield re.sub(r"^\\&", "", block, flags=re.M).replace("\\e", "\\")


def commands(package):
    """The block that builds and runs the example which needs that package."""
    found = [block for block in blocks() if f"--libs {package})" in block]
    assert len(found) == 1, found
    return found[0]


def pieces():
    """The blocks that are code."""
    return [block for block in blocks() if "pkg-config" not in block]


def follow(package, example, prefix, folder):
    """Does as the page says in a copy of the example; the exit code and what was printed."""
    subprocess.run(["cp", "-r", SOURCE / "examples" / example, folder], check=True)
    done = subprocess.run(["sh", "-e", "-c", commands(package)], cwd=folder / example, text=True,
                          env={**os.environ, "LD_LIBRARY_PATH": str(prefix / "lib"),
                               "PKG_CONFIG_LIBDIR": str(prefix / "lib/pkgconfig")},
                          check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return done.returncode, done.stdout
