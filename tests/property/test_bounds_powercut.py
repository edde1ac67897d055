"""test_bounds_powercut.py - the power fails before each sync to disk of a counter_sync that levels rights: the bound holds.

The office has all of A, the door all of B, so that each grants the other half. The office sells two of A and syncs; then the
power fails in one file, or in both. Each file sells all that it may before it hears of the other: together they have sold no
more than there was, and the rights add up to what is left. A file whose attribute tells that commits were taken back has another
id, which may take nothing; where the cut takes the attribute back, too, syncs alone keep the bound.
"""

import os
import sqlite3
import subprocess
import sys

import pytest

import powercut

SEATS = 12
ATTRIBUTE = "user.sqlite-counter"
FORGETS = "attribute-taken-back"

BEGIN = """
import os, sys
sys.path.insert(0, sys.argv[1])
import powercut
office, journal, synchronous = powercut.connect(sys.argv[2]), sys.argv[4], sys.argv[5]
def do(db, sql, *arguments): return db.execute(sql, arguments).fetchall()
do(office, f"PRAGMA journal_mode = {journal}")
do(office, f"PRAGMA synchronous = {synchronous}")
"""

SET_UP = BEGIN + f"""
do(office, "CREATE VIRTUAL TABLE seats USING counter(hall TEXT PRIMARY KEY, free COUNTER)")
do(office, "SELECT counter_bound('seats', 'free')")
do(office, "INSERT INTO seats VALUES ('A', {SEATS}), ('B', {SEATS})")
door = powercut.connect(sys.argv[3])
do(door, f"PRAGMA journal_mode = {{journal}}")
do(door, "SELECT counter_init()")
door_id = do(door, "SELECT counter_id()")[0][0]
door.close()
do(office, "INSERT INTO seats(seats, hall, free) VALUES (?, 'B', {SEATS})", "grant " + door_id)
do(office, "SELECT * FROM counter_push(?)", sys.argv[3])
for path in sys.argv[2:4]:
    db = powercut.connect(path)
    do(db, "UPDATE counter_replica SET renewal = 0")
    do(db, "PRAGMA wal_checkpoint(TRUNCATE)")
    db.close()
os._exit(0)
"""

SELL_AND_SYNC = BEGIN + """
do(office, "INSERT INTO seats VALUES ('A', -2)")
print("sold", flush=True)
do(office, "SELECT * FROM counter_sync(?)", sys.argv[3])
print([tuple(row) for row in do(office, "SELECT key, rights FROM counter_rights('seats') ORDER BY key, here")], flush=True)
os._exit(0)
"""

LEVELLED = [('["A"]', 5), ('["A"]', 5), ('["B"]', 6), ('["B"]', 6)]


def run(code, paths, mode, **env):
    command = [sys.executable, "-c", code, os.path.dirname(__file__), *paths, *mode]
    return subprocess.run(command, env=dict(powercut.preloaded(), **env), capture_output=True, text=True)


def rows(db, sql, *arguments):
    return db.execute(sql, arguments).fetchall()


def sell_all(path, hall):
    """Sells one by one until it is refused. Returns how many."""
    sold, db = 0, powercut.connect(path)
    while True:
        try:
            db.execute("INSERT INTO seats VALUES (?, -1)", [hall])
            sold += 1
        except sqlite3.Error as error:
            assert "this file may take none" in str(error), error
            db.close()
            return sold


def is_armed(path):
    """Whether the file notices that commits were taken back."""
    db = powercut.connect(path)
    armed = rows(db, "SELECT witness FROM counter_identity") == [("armed",)]
    db.close()
    return armed


def adds_up(path):
    db = powercut.connect(path)
    free = rows(db, "SELECT json_array(hall), free FROM seats ORDER BY hall")
    sums = dict(rows(db, "SELECT key, sum(rights) FROM counter_rights('seats') GROUP BY key"))  # without those that are 0
    assert all(sums.get(key, 0) == n for key, n in free), (free, sums)
    owing = rows(db, "SELECT * FROM counter_rights('seats') WHERE rights < 0")
    db.close()
    return {key[2]: n for key, n in free}, owing


def attribute(path):
    return os.getxattr(path, ATTRIBUTE) if ATTRIBUTE in os.listxattr(path) else None


@pytest.mark.parametrize("cut", [[0], [1], [0, 1]], ids=["main", "the-other", "both"])
@pytest.mark.parametrize("mode", [("WAL", "FULL"), ("DELETE", "EXTRA"), ("WAL", "NORMAL"),
                                  ("WAL", "FULL", FORGETS), ("DELETE", "EXTRA", FORGETS)], ids=" ".join)
def test_a_power_cut_while_rights_move_leaves_none_with_two_files(tmp_path, mode, cut):
    at, done = 0, False
    while not done:
        at += 1
        paths = [str(tmp_path / f"{at}" / name / f"{name}.db") for name in ("office", "door")]
        for path in paths: os.makedirs(os.path.dirname(path))
        set_up = run(SET_UP, paths, mode)
        assert set_up.returncode == 0, set_up.stderr
        if mode[1] == "NORMAL" and not is_armed(paths[0]): pytest.skip("the file system has no extended attributes")
        attributes = [attribute(path) for path in paths]
        if FORGETS in mode and None in attributes: pytest.skip("the file system has no extended attributes")
        ran = run(SELL_AND_SYNC, paths, mode, POWERCUT_AT=str(at))
        done = ran.returncode == 0
        assert not ran.stderr, ran.stderr
        if done: assert ran.stdout.splitlines() == ["sold", str(LEVELLED)]
        sure = 2 if ran.stdout else 0
        for i in cut:
            powercut.cut(paths[i])
            if FORGETS in mode: os.setxattr(paths[i], ATTRIBUTE, attributes[i])
        for path in paths: adds_up(path)
        later = {hall: sum(sell_all(path, hall) for path in paths) for hall in "AB"}
        assert sure + later["A"] <= SEATS and later["B"] <= SEATS, (at, sure, later)
        db = powercut.connect(paths[0])
        for _ in range(2): rows(db, "SELECT * FROM counter_sync(?)", paths[1])
        db.close()
        for path in paths:
            free, owing = adds_up(path)
            assert all(n >= 0 for n in free.values()), (at, free)
            if mode[1] == "NORMAL": continue  # what was sold may be forgotten, with the rights of that id
            assert free["B"] == SEATS - later["B"] and free["A"] in (SEATS - sure - later["A"], SEATS - 2 - later["A"]), (at, free)
            assert owing == [], (at, owing)
    assert at > 4
