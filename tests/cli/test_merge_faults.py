"""test_merge_faults.py - sqlite-counter merge that is killed, or runs out of memory or disk: OURS is as it was, or complete."""

import os
import shutil
import sqlite3
import subprocess

import pytest

from program import PROGRAM, ROOT

SCHEMA = """
PRAGMA page_size = 1024;
CREATE TABLE p(id INTEGER PRIMARY KEY, name TEXT UNIQUE, n INTEGER, note TEXT);
CREATE TABLE c(p INTEGER REFERENCES p, k INTEGER, PRIMARY KEY (p, k)) WITHOUT ROWID;
CREATE TABLE log(x);
WITH RECURSIVE i(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM i WHERE i < 60) INSERT INTO p SELECT i, 'p' || i, i, hex(zeroblob(60)) FROM i;
INSERT INTO c SELECT id, 1 FROM p; INSERT INTO log SELECT id % 7 FROM p;
"""
OURS = "UPDATE p SET n = n + 1; DELETE FROM p WHERE id = 60; DELETE FROM c WHERE p = 60; INSERT INTO p VALUES (61, 'ours', 0, ''), (62, 'both', 1, ''); INSERT INTO c VALUES (62, 5)"
THEIRS = "UPDATE p SET n = n + 2, note = 'x'; INSERT INTO p VALUES (61, 'both', 0, ''), (62, 'theirs', 1, ''); INSERT INTO c VALUES (62, 7), (61, 8), (60, 3); DELETE FROM log WHERE x = 3"


def make(path, *scripts):
    db = sqlite3.connect(path, isolation_level=None)
    for script in scripts:
        db.executescript(script)
    db.close()


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in "fail_malloc", "stop_at":
        subprocess.run(["cc", "-shared", "-fPIC", ROOT / "tests" / "cli" / f"{name}.c", "-o", f"{name}.so", "-ldl"], check=True)
    return tmp_path


def files(mode=""):
    for name in os.listdir("."):
        if not name.endswith(".so"):
            os.remove(name)
    make("base.db", mode + SCHEMA)
    make("first.db", mode + SCHEMA, OURS)
    make("theirs.db", mode + SCHEMA, THEIRS)


def merge(words, **environment):
    for name in os.listdir("."):
        if name.startswith("ours.db"):
            os.remove(name)
    shutil.copy("first.db", "ours.db")
    return subprocess.run([PROGRAM, "merge", "--add", "p.n", *words, "base.db", "ours.db", "theirs.db", *(["ours.db"] if words else [])],
                          env={**os.environ, "TMPDIR": ".", **environment}, capture_output=True, text=True)


def dump(path="ours.db"):
    db = sqlite3.connect(path)
    assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    lines = list(db.iterdump())
    db.close()
    return lines


def bytes_of(path):
    with open(path, "rb") as file:
        return file.read()


@pytest.mark.parametrize("words", [[], ["--driver"]])
@pytest.mark.parametrize("mode", ["", "PRAGMA journal_mode = wal;"])
def test_a_merge_that_is_killed_anywhere_has_left_ours_as_it_was_or_complete(place, mode, words):
    files(mode)
    before = dump("first.db")
    done = merge(words)
    assert done.returncode == 1, (done.stdout, done.stderr)
    after, seen = dump(), {"before": 0, "after": 0}
    assert after != before
    for at in range(1, 5000):
        done = merge(words, LD_PRELOAD="./stop_at.so", STOP_AT=str(at))
        if words:  # git takes the file as it stands, without a journal beside it
            for end in "-journal", "-wal", "-shm":
                if os.path.exists("ours.db" + end):
                    os.remove("ours.db" + end)
        now = dump()
        assert now in (before, after), at
        seen["after" if now == after else "before"] += 1
        if done.returncode == 1:
            break
    assert done.returncode == 1 and seen["before"] > 5 and seen["after"] > 0, seen


@pytest.mark.parametrize("words", [[], ["--driver"]])
def test_a_disk_that_gets_full_leaves_ours_as_it_was(place, words):
    files()
    before, first = dump("first.db"), bytes_of("first.db")
    failed = 0
    for at in range(1, 5000):
        done = merge(words, LD_PRELOAD="./stop_at.so", STOP_AT=str(at), STOP_BY="full")
        if done.returncode == 1:
            break
        failed += 1
        assert done.returncode == 2 and done.stderr.startswith("sqlite-counter: ") and done.stderr.count("\n") == 1, (at, done.stderr)
        assert done.stdout == "" and dump() == before and bytes_of("ours.db") == first, at
        assert not [name for name in os.listdir(".") if "merging" in name or "sqlite-counter-" in name]
    assert done.returncode == 1 and failed > 5


def test_without_memory_it_says_so_and_changes_nothing(place):
    files()
    first, failed, at, done = bytes_of("first.db"), 0, 1, None
    while at < 200000:
        done = merge([], LD_PRELOAD="./fail_malloc.so", FAIL_MALLOC_AT=str(at))
        if done.returncode == 1 and done.stderr == "":
            break
        failed += 1
        assert done.returncode == 2 and done.stderr.startswith("sqlite-counter: "), (at, done)
        assert bytes_of("ours.db") == first, at
        at += 1 + at // 12
    assert failed > 50
