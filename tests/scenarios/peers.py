"""peers.py - the files of a scenario: how they write, and how they meet."""

import os
import pathlib
import random
import sys
import time

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "property"))  # files.py
from files import connect  # noqa: E402

SEED = int(os.environ.get("COUNTER_SEED") or random.SystemRandom().randrange(2**32))
os.environ["COUNTER_SEED"] = str(SEED)  # one seed for all, property/ too
differs = pytest.mark.differs  # a scenario that ends differently here, by design: it asserts how


class Peer:
    """A file with an id of its own."""

    def __init__(self, path, *schema):
        self.path = str(path)
        self.db = connect(self.path)
        self.run("PRAGMA synchronous = OFF")
        for sql in schema: self.run(sql)

    def run(self, sql, *values):
        return self.db.execute(sql, values).fetchall()

    def one(self, sql, *values):
        return self.run(sql, *values)[0][0]

    def transaction(self, *statements):
        for sql in ("BEGIN", *statements, "COMMIT"): self.run(sql)

    @property
    def id(self):
        return self.one("SELECT counter_id()")

    # Merging: from the other file itself, and by lines that travel in any way.

    def pull(self, other):
        """Rows that changed."""
        return sum(n for n, in self.run("SELECT rows_changed FROM counter_pull(?)", other.path))

    def end(self):
        """The number below which all committed changes are."""
        return self.one("SELECT counter_changes_end()")

    def lines(self, since=0, own=0):
        return "\n".join(line for line, in self.run("SELECT line FROM counter_lines(?, ?)", since, own))

    def take(self, lines):
        if lines: self.run("SELECT counter_take(?)", lines)

    def take_new(self, other):
        """What the other file has that this one has not heard of yet."""
        self.take(other.lines(self.one("SELECT counter_mark(?)", other.one("SELECT counter_source()"))))

    # What a file knows of its rows.

    def parts(self):
        """For each row and column, by the key as JSON: its life or its value, its number and who wrote it."""
        return self.run("SELECT counter_key_json(f.key), c.column_name, coalesce(c.life, c.value), c.stamp, c.writer"
                        " FROM counter_changes(0) AS f, counter_change(f.change) AS c ORDER BY 1, 2")

    def lives(self):
        """The life of each row: odd while it is there, even when it is deleted."""
        return {key: life for key, column, life, *_ in self.parts() if column is None}

    def digest(self, table):
        return self.one("SELECT counter_table_digest(?)", f"{table}_counters")


def later():
    """The clock goes on: of two writes made apart, one is the later."""
    time.sleep(0.002)


def agree(*peers, table, order=None):
    """All show the same rows, and know the same of them. Returns the rows."""
    shown = [peer.run(f"SELECT * FROM {table} ORDER BY {order or '1'}") for peer in peers]
    assert all(rows == shown[0] for rows in shown), shown
    assert len({peer.digest(table) for peer in peers}) == 1
    return shown[0]


def meet(*peers, rounds=2):
    """Each pulls from each other one."""
    for _ in range(rounds):
        for peer in peers:
            for other in peers:
                if peer is not other: peer.pull(other)
