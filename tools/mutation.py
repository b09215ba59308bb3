"""The places of a source file that tools/mutate changes, and the list of changes that make no
difference.

A change is named by file, function, line and what is exchanged in it, without a line number, which
moves:

    src/time/cancel.c: unref: return before [== -> !=] 1;

When a function has the same line twice, the second one ends in ` #2`.
"""
import re
from dataclasses import dataclass

# What is tried at each place: a pattern, and what stands there instead.
RULES = [
    ("comparison", re.compile(r" (==) "), ["!="]),
    ("comparison", re.compile(r" (!=) "), ["=="]),
    ("comparison", re.compile(r" (<=) "), ["<", ">"]),
    ("comparison", re.compile(r" (>=) "), [">", "<"]),
    ("comparison", re.compile(r" (<) "), ["<=", ">="]),
    ("comparison", re.compile(r" (>) "), [">=", "<="]),
    ("condition", re.compile(r" (&&) "), ["||"]),
    ("condition", re.compile(r" (\|\|) "), ["&&"]),
    ("condition", re.compile(r"if \((!)"), [""]),
    ("arithmetic", re.compile(r" (\+) "), ["-"]),
    ("arithmetic", re.compile(r" (-) "), ["+"]),
    ("arithmetic", re.compile(r"(\+\+)"), ["--"]),
    ("arithmetic", re.compile(r"(--)"), ["++"]),
    ("arithmetic", re.compile(r" (\+=) "), ["-="]),
    ("arithmetic", re.compile(r" (-=) "), ["+="]),
    ("constant", re.compile(r"[ (](0)[;,)]"), ["1"]),
    ("constant", re.compile(r"[ (](1)[;,)]"), ["0", "2"]),
    ("constant", re.compile(r"\b(true)\b"), ["false"]),
    ("constant", re.compile(r"\b(false)\b"), ["true"]),
    ("order", re.compile(r"\b(BLY_SEQ_CST)\b"), ["BLY_ACQ_REL"]),
    ("order", re.compile(r"\b(BLY_ACQ_REL)\b"), ["BLY_RELAXED"]),
    ("order", re.compile(r"\b(BLY_ACQUIRE)\b"), ["BLY_RELAXED"]),
    ("order", re.compile(r"\b(BLY_RELEASE)\b"), ["BLY_RELAXED"]),
    ("deleted", re.compile(r"^\s+([\w>.\[\]-]+(?: [-+|&]?=|\(|\+\+|--)[^{}]*;)\s*$"), [";"]),
]
# Lines whose change only the compiler or an assertion would tell.
IGNORED = re.compile(r"bly_assert|^\s*(static|const|extern|typedef|#|\*|/\*|//)|static_assert")
FUNCTION = re.compile(r"^\w[^=;]*?\b(\w+)\(")


@dataclass(frozen=True)
class Mutant:
    path: str
    line: int
    column: int
    old: str
    new: str
    kind: str
    function: str
    key: str

    def apply(self, text):
        lines = text.split("\n")
        line = lines[self.line - 1]
        lines[self.line - 1] = line[:self.column] + self.new + line[self.column + len(self.old):]
        return "\n".join(lines)


def without_comments(text):
    """The lines with blanks where comments were."""
    blank = re.sub(r"/\*.*?\*/", lambda match: re.sub(r"[^\n]", " ", match.group(0)), text, flags=re.S)
    return blank.split("\n")


def functions_of(codes):
    """For each line the name of the function around it, or `-`."""
    names, current, last = [], "-", "-"
    for code in codes:
        match = FUNCTION.match(code)
        if match:
            last = match.group(1)
        if code == "{":
            current = last
        names.append(current)
        if code.startswith("}"):
            current = "-"
    return names


def changes_of(code):
    """The changes of one line of code: (column, old, new, kind)."""
    if IGNORED.search(code):
        return
    for kind, pattern, replacements in RULES:
        if kind == "deleted" and re.match(r"\s*return\b", code):
            continue
        for match in pattern.finditer(code):
            for new in replacements:
                yield match.start(1), match.group(1), new, kind


def mutants_of(path, text):
    """All changes of one file."""
    found = []
    seen = {}
    codes = without_comments(text)
    for number, (code, function) in enumerate(zip(codes, functions_of(codes)), 1):
        for column, old, new, kind in changes_of(code):
            shown = f"{code[:column]}[{old} -> {new}]{code[column + len(old):]}".strip()
            key = f"{path}: {function}: {shown}"
            seen[key] = seen.get(key, 0) + 1
            if seen[key] > 1:
                key += f" #{seen[key]}"
            found.append(Mutant(path, number, column, old, new, kind, function, key))
    return found


def read_equivalents(text):
    """The keys of a list of equivalent changes with their reasons, and what is wrong with it."""
    reasons, wrong, block = {}, [], []
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip() or line.startswith("#"):
            continue
        if not line.startswith(" "):
            if block and reasons[block[-1]]:
                block = []
            if line in reasons:
                wrong.append(f"line {number}: stands here twice: {line}")
            block.append(line)
            reasons[line] = ""
        else:
            for key in block:
                reasons[key] = (reasons[key] + " " + line.strip()).strip()
    wrong += [f"no reason: {key}" for key, reason in reasons.items() if not reason]
    return reasons, wrong
