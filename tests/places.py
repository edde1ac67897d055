"""places.py - places in the sources, by function and line: they stay the same where code moves.

A list of places, such as tests/uncovered.txt, is made of paragraphs: a reason, in lines that begin
with "# ", then the places to which it applies:

    function(): text    the lines of this function with this text
    function()          all its lines
    *: text             the lines with this text, in any function

In a text * stands for anything. Outside of a function the function is none().
"""
import functools
import glob
import pathlib
import re

NONE = "none"


@functools.lru_cache(None)
def read(path):
    """Its lines, without what surrounds them, and the name of the function that each is in."""
    lines = pathlib.Path(path).read_text().splitlines()
    functions, begin = [NONE] * len(lines), None
    for number, line in enumerate(lines):
        if re.match(r"[a-z][^;=]*\(", line):
            begin = number
        elif line == "}" and begin is not None:
            name = re.search(r"(\w+)\(", lines[begin])[1]
            functions[begin:number + 1] = [name] * (number + 1 - begin)
            begin = None
    return [line.strip() for line in lines], functions


def entries(path):
    """place -> reason"""
    found, reason, in_reason = {}, "", False
    for line in pathlib.Path(path).read_text().splitlines():
        if line.startswith("# "):
            reason = f"{reason} {line[2:]}" if in_reason else line[2:]
        elif line:
            found[line] = reason
        in_reason = line.startswith("# ")
    return found


def is_anywhere(place):
    return place.startswith("*: ")


def matches(pattern, text):
    return re.fullmatch(".*".join(map(re.escape, pattern.split("*"))), text) is not None


def lines_of(place):
    """(path, number) of each line of a place."""
    function, _, text = place.partition("(): ")
    if is_anywhere(place):
        function, text = None, place.removeprefix("*: ")
    elif not text:
        function, text = place.removesuffix("()"), "*"
    for path in sorted(glob.glob("ext/**/*.[ch]", recursive=True)):
        lines, functions = read(path)
        for number, (line, name) in enumerate(zip(lines, functions), 1):
            if function in (None, name) and matches(text, line):
                yield path, number
