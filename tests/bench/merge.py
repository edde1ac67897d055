#!/usr/bin/python3
"""merge.py - what sqlite-counter merge costs beside cp and sqldiff: make bench-merge.

    tests/bench/merge.py [rows]     a million, unless told otherwise

Each line is a merge of three files on one machine: the median of five runs, rows or changes a second,
and how many times as long cp takes for OURS, with sync, and sqldiff for BASE and THEIRS, if it is there.
"""
import os
import pathlib
import shutil
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = ROOT / "build" / "sqlite-counter"
RUNS = 5
TEXTS = "lorem ipsum dolor sit amet "


def fill(rows, declaration, key, body):
    db = sqlite3.connect("base.db")
    db.execute("PRAGMA synchronous = off")
    db.execute(f"CREATE TABLE t({declaration})")
    db.executemany("INSERT INTO t VALUES (?, ?, ?)", ((key(i), i % 77, body) for i in range(1, rows + 1)))
    db.commit()
    db.close()
    for name in "first.db", "theirs.db":
        shutil.copy("base.db", name)


def change(*statements):
    for name in "first.db", "theirs.db":
        db = sqlite3.connect(name)
        for statement in statements:
            db.execute(statement.replace("WHO", name))
        db.commit()
        db.close()


def median(prepare, *command):
    took = []
    for _ in range(RUNS):
        prepare()
        began = time.monotonic()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        took.append(time.monotonic() - began)
    return statistics.median(took)


def nothing():
    pass


def measure(name, units, unit):
    def ours():
        shutil.copy("first.db", "ours.db")
        os.sync()
    took = median(ours, PROGRAM, "merge", "--add", "t.n", "base.db", "ours.db", "theirs.db")
    copied = median(nothing, "sh", "-c", "cp first.db copy.db && sync copy.db")
    line = f"{name:44} {took:7.2f} s {units / took:12,.0f} {unit} a second, {took / copied:6.2f} times cp"
    if shutil.which("sqldiff"):
        line += f", {took / median(nothing, 'sqldiff', 'base.db', 'theirs.db'):6.2f} times sqldiff"
    print(line, flush=True)


def main():
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 1000000
    few = ["UPDATE t SET n = n + length('WHO') WHERE k IN (SELECT k FROM t LIMIT 1000)"]
    with tempfile.TemporaryDirectory(dir=ROOT / "build") as folder:
        os.chdir(folder)
        fill(rows, "k INTEGER PRIMARY KEY, n INTEGER, body TEXT", int, "a")
        change(*few, "INSERT INTO t(n, body) SELECT 0, 'WHO ' || k FROM t LIMIT 1000")
        measure("rows that did not change, by number", rows, "rows")
        change("UPDATE t SET n = n + length('WHO') WHERE k % 5 = 0")
        measure("a fifth of the rows changed on both sides", rows / 5, "changes")
        os.remove("base.db")
        fill(rows, "k TEXT PRIMARY KEY, n INTEGER, body TEXT", "key {}".format, "a")
        change(*few)
        measure("rows that did not change, by a TEXT key", rows, "rows")
        os.remove("base.db")
        fill(rows, "k INTEGER PRIMARY KEY, n INTEGER, body TEXT", int, TEXTS * 37)
        change(*few)
        measure(f"a file of {os.stat('base.db').st_size / 1e9:.1f} GB", rows, "rows")
        os.chdir(ROOT)


main()
