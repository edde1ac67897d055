#!/usr/bin/python3
"""run_shell.py - runs the scripts of this folder in the sqlite3 shell:
run_shell.py [-c case] file.sql ...

The format of the scripts stands in script.h. Each case is one shell process with build/counter.so
loaded. The shell flushes stdout before it reads a line, so `.print` marks part the rows of one
statement from those of the next; errors go to stderr with the line of their statement, which
tells them apart.
"""
import functools
import os
import pathlib
import re
import sqlite3
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field

EXTENSION = pathlib.Path(__file__).resolve().parents[2] / "build" / "counter"
MARK = "-- mark 5b0e9c37"
SETTINGS = [".mode list", ".headers off", ".nullvalue NULL"]
ERROR = re.compile(r"^(?:Parse error|Runtime error|Error) near line (\d+): ", re.M)
CONTEXT = re.compile(r"\n  .*\n *(?:\^--- error here|error here ---\^)$")

globbing = sqlite3.connect(":memory:")


class ScriptError(Exception):
    """A script that does not keep to the format: (line, what is wrong)."""


@dataclass
class Step:
    """What goes into the shell, and what must come out of it."""
    line: int
    text: list
    is_statement: bool = True
    rows: list = field(default_factory=list)  # (line, is a pattern, text)
    error: tuple = None  # the same


@dataclass
class Case:
    name: str
    line: int
    steps: list = field(default_factory=list)
    skipped: bool = False
    wrong: tuple = None  # (line, what is wrong with the script)


# Of a build or a file; all hold here.
CONDITIONS = "shell-only", "not-wal", "not-utf-16", "attributes", "journal", "whole-sqlite"


def matches(expected, is_glob, got):
    if is_glob:
        return globbing.execute("SELECT ? GLOB ?", (got, expected)).fetchone()[0] == 1
    return expected == got


# ---- reading scripts ----

@functools.cache
def version():
    said = subprocess.run(["sqlite3", "-version"], capture_output=True, text=True, check=True).stdout
    return tuple(map(int, said.split()[0].split(".")))


def is_since(text):
    return version() >= tuple(map(int, text.split(".")))


def directive(text, line):
    """The shell's lines for a directive; None for one that this shell cannot follow."""
    name, _, value = text.partition(" ")
    if name == "reopen":
        lines = [".open main.db", f".load {EXTENSION}"]
    elif name == "readonly":
        lines = [".open --readonly main.db", f".load {EXTENSION}"]
    elif name == "directory":
        lines = [f".shell mkdir {value} && touch {value}/.sqlite-counter", f".load {EXTENSION} sqlite3_counter_folders_init"]
    elif name == "defensive":
        lines = [f".dbconfig defensive {value}"]
    elif name == "trusted-schema":
        lines = [f"PRAGMA trusted_schema = {value};"]
    elif name == "columns":
        lines = [f".limit column {value}"]
    elif name in CONDITIONS or (name == "since" and is_since(value)):
        lines = []
    elif name in ("process-only", "connection", "since"):
        return None
    else:
        raise ScriptError(line, f"unknown directive '{text}'")
    return Step(line, lines, is_statement=False)


def add_expectation(case, text, line):
    kind = re.match(r"--(=|~|!~|!)(?: |$)", text)
    if not kind:
        raise ScriptError(line, f"not understood: {text}")
    if not case.steps or not case.steps[-1].is_statement:
        raise ScriptError(line, "no statement before")
    expected = (line, "~" in kind[1], text[kind.end():])
    if "!" in kind[1]:
        case.steps[-1].error = expected
    else:
        case.steps[-1].rows.append(expected)


def read_line(case, statement, text, line):
    """Takes one line into the case; gives back the lines of a statement that has not ended."""
    if re.match(r"--[=~!@]", text):
        if statement:
            raise ScriptError(line, "the statement before has no end")
        if not text.startswith("--@"):
            add_expectation(case, text, line)
            return []
        step = directive(text[4:], line)
        if step:
            case.steps.append(step)
        else:
            case.skipped = True
        return []
    if not statement and (not text or text == "--" or text.startswith("-- ")):
        return []
    statement = statement + [text]
    if text.endswith(";") and sqlite3.complete_statement("\n".join(statement)):
        case.steps.append(Step(line - len(statement) + 1, statement))
        return []
    return statement


def read_cases(path):
    cases, statement = [], []
    lines = path.read_text(errors="surrogateescape").split("\n")
    for line, text in enumerate(lines + ["-- # end"], 1):
        if text.startswith("-- # "):
            if statement and cases and not cases[-1].wrong:
                cases[-1].wrong = (line, "statement without an end")
            cases.append(Case(text[5:], line))
            statement = []
            continue
        if not cases:
            if text and not text.startswith("-- ") and text != "--":
                cases.append(Case("", line, wrong=(line, "a line outside of any case")))
            continue
        if cases[-1].wrong:
            continue
        try:
            statement = read_line(cases[-1], statement, text, line)
        except ScriptError as error:
            cases[-1].wrong = error.args
    return cases[:-1]


# ---- driving the shell ----

def drive(chunks, folder, settings=()):
    """Feeds lists of lines to one shell; gives (stdout, stderr with the line numbers) for each
    list, and what came on stderr without a line number."""
    feed, starts = list(settings), []
    for number, chunk in enumerate(chunks):
        feed.append(f".print {MARK}")
        starts.append(len(feed) + 1)
        feed += chunk
    feed.append(f".print {MARK}")
    shell = subprocess.run(
        ["sqlite3", "-batch", "-init", "/dev/null", "main.db"], cwd=folder, capture_output=True,
        input=("\n".join(feed) + "\n").encode(errors="surrogateescape"), timeout=600)

    outputs = shell.stdout.decode(errors="surrogateescape").split(MARK + "\n")[1:-1]
    outputs += ["the shell died\n"] * (len(chunks) - len(outputs))
    stray, *errors = ERROR.split(shell.stderr.decode(errors="surrogateescape"))
    at = dict(zip(map(int, errors[::2]), errors[1::2]))
    results = [(output, at.pop(start, None)) for output, start in zip(outputs, starts)]
    if shell.returncode < 0:
        stray += f"the shell died of signal {-shell.returncode}"
    return results, stray + "".join(at.values())


def message(error):
    """The bare message: no context lines, no code at the end."""
    return re.sub(r" \(\d+\)$", "", CONTEXT.sub("", error.rstrip("\n")))


def check(step, output, error):
    """Yields (line, what is wrong) for a step."""
    got = output.split("\n")[:-1]
    for n, (line, is_glob, expected) in enumerate(step.rows):
        if n >= len(got):
            yield line, f"expected row '{expected}', got no row"
        elif not matches(expected, is_glob, got[n]):
            yield line, f"expected row '{expected}', got '{got[n]}'"
    for row in got[len(step.rows):]:
        yield step.line, f"unexpected row '{row}'"
    if step.error:
        line, is_glob, expected = step.error
        if error is None:
            yield line, f"expected error '{expected}', got none"
        elif not matches(expected, is_glob, message(error)):
            yield line, f"expected error '{expected}', got '{message(error)}'"
    elif error is not None:
        yield step.line, f"unexpected error '{message(error)}'"


def run_case(case):
    """The list of (line, what is wrong) of a case."""
    if case.wrong:
        return [case.wrong]
    with tempfile.TemporaryDirectory(prefix="counter-") as folder:
        results, stray = drive([step.text for step in case.steps], folder,
                               SETTINGS + [f".load {EXTENSION}"])
    wrong = [(case.line, f"the shell said '{stray.strip()}'")] if stray.strip() else []
    for step, (output, error) in zip(case.steps, results):
        if step.is_statement:
            wrong += check(step, output, error)
        elif error is not None:
            wrong.append((step.line, f"unexpected error '{message(error)}'"))
    return wrong


def main(args):
    wanted = None
    if "-c" in args:
        at = args.index("-c")
        wanted = args[at + 1]
        del args[at:at + 2]
    passed = failed = 0
    for path in args:
        for case in read_cases(pathlib.Path(path)):
            if case.skipped or (wanted and case.name != wanted):
                continue
            wrong = run_case(case)
            for line, what in wrong:
                print(f"{path}:{line}: {case.name}: {what}".encode(errors="replace").decode())
            passed += not wrong
            failed += bool(wrong)
    print(f"{passed} passed, {failed} failed")
    return failed > 0 or passed == 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
