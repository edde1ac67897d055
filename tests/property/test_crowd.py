"""test_crowd.py - ten processes with two connections each on one file, three more in other files.

They count, delete and reset rows of their own, pull from the other files, rename the table, add and
drop counters, all at once, under WAL and under a rollback journal (crowd.py). What was acknowledged
is added up here. In the end each counter shows exactly that, and so do all four files once they
have pulled from each other. COUNTER_SECONDS is how long each of the two goes on.
"""

import collections
import itertools
import os
import pathlib
import subprocess
import sys
import time

import pytest

from conftest import SEED
from files import connect

CROWD = str(pathlib.Path(__file__).with_name("crowd.py"))
SECONDS = float(os.environ.get("COUNTER_SECONDS") or 4)
PROCESSES, OTHERS = 10, 3
PATIENCE = 90  # seconds that they have to end


def new_file(path, journal):
    db = connect(str(path))
    db.execute(f"PRAGMA journal_mode = {journal}")
    db.execute("CREATE VIRTUAL TABLE t USING counter(k TEXT PRIMARY KEY, a COUNTER, b COUNTER)")
    db.execute("INSERT INTO t VALUES ('all', 0, 0)")  # an UPDATE must find it
    db.close()
    return str(path)


class Member:
    """A process; its words go into a file, for a pipe would be full."""

    def __init__(self, folder, number, path, others):
        self.words, self.errors = folder / f"{number}.out", folder / f"{number}.err"
        numbers = map(str, (number, SECONDS, SEED + number))
        command = [sys.executable, CROWD, path, *numbers, *others]
        with open(self.words, "w") as out, open(self.errors, "w") as errors:
            self.process = subprocess.Popen(command, stdout=out, stderr=errors)

    def end(self, deadline):
        """Whoever is not there in time hangs: a deadlock."""
        try:
            self.process.wait(max(0.1, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            return "killed: it hung"
        return self.errors.read_text()


class Acknowledged:
    """Sums by key and counter, of what the members have said."""

    def __init__(self):
        self.sums, self.rounds, self.busy, self.lost = collections.Counter(), [], 0, 0

    def take(self, words):
        for line in words.read_text().splitlines():
            what, *rest = line.split()
            if what == "+":
                key, column, n = rest
                self.sums[key, column] += int(n)
            elif what == "=":
                self.sums[rest[0], "a"] = 0
            elif what == "drop":
                self.sums["all", rest[0]] = 0
            else:
                rounds, busy, lost = map(int, rest)
                self.rounds.append(rounds)
                self.busy, self.lost = self.busy + busy, self.lost + lost

    def nonzero(self):
        return {where: n for where, n in self.sums.items() if n}


def shown(db):
    """By key and counter, without zeros."""
    (name,), = db.execute("SELECT name FROM counter_tables")
    rows = db.execute(f"SELECT * FROM {name}")
    columns = [column for column, *_ in rows.description]
    return {(row[0], column): n for row in rows for column, n in zip(columns[1:], row[1:]) if n}


def check(db):
    (name,), = db.execute("SELECT name FROM counter_tables")
    db.execute(f"INSERT INTO {name}({name}) VALUES ('integrity-check')")
    assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    return db.execute("SELECT counter_table_digest(?)", [name]).fetchone()


@pytest.mark.parametrize("journal", ["WAL", "DELETE"])
def test_ten_processes_with_twenty_connections_lose_nothing_and_nobody_hangs(tmp_path, journal):
    path = new_file(tmp_path / "one.db", journal)
    others = [new_file(tmp_path / f"other{i}.db", journal) for i in range(OTHERS)]
    members = [Member(tmp_path, number, path, others) for number in range(PROCESSES)]
    members += [Member(tmp_path, PROCESSES + i, other, []) for i, other in enumerate(others)]
    deadline = time.monotonic() + SECONDS + PATIENCE
    ends = [member.end(deadline) for member in members]
    assert ends == [""] * len(members), "\n".join(ends)
    acknowledged = Acknowledged()
    for member in members:
        acknowledged.take(member.words)
    assert len(acknowledged.rounds) == len(members) and min(acknowledged.rounds) > 0
    assert acknowledged.busy and acknowledged.lost, "they were never in each other's way"

    connections = [connect(one) for one in (path, *others)]
    for db, (other, source) in itertools.product(connections, enumerate((path, *others))):
        if connections[other] is not db:
            db.execute("SELECT * FROM counter_pull(?)", [source]).fetchall()
    for db, source in itertools.product(connections[1:], [path]):
        db.execute("SELECT * FROM counter_pull(?)", [source]).fetchall()
    for db in connections:
        assert shown(db) == acknowledged.nonzero()
    assert len({check(db) for db in connections}) == 1
    for db in connections:
        db.close()
    print(f"{journal}: {sum(acknowledged.rounds)} rounds, {acknowledged.busy} locks,"
          f" {acknowledged.lost} renames seen")
