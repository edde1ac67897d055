"""test_drift.py - files that began to replicate a table apart, with rows that differ.

A model of each file has, for each column of each row, a stamp and a value. What was there when a file began has the stamp
(rank, call), what was written later the number of the write. A merge takes the higher stamp, and must be refused exactly if
both files have a value of one rank, from two calls, and these values differ.
"""

import random
import time

import pytest

from conftest import EXAMPLES, SEED
from files import connect

COLUMNS = ("price", "note")
BEGAN, WRITES = 1, 5000


class File:
    def __init__(self, world, path):
        self.world, self.path, self.db, self.model = world, path, connect(path), {}

    def begin(self, values, says):
        self.db.execute(f"CREATE TABLE p(k TEXT PRIMARY KEY NOT NULL, price, note{self.world.more})")
        self.db.executemany("INSERT INTO p(k, price, note) VALUES (?, ?, ?)", [(k, *row) for k, row in values.items()])
        self.db.execute(f"SELECT counter_replicate('p'{self.world.counter}{says})").fetchone()
        rank = BEGAN + ("newest" in says) - ("oldest" in says)
        call = self.world.call()
        self.model = {(k, c): ((rank, call), v) for k, row in values.items() for c, v in zip(COLUMNS, row)}

    def copy(self, path):
        """A copy of the file that has begun already."""
        self.db.execute("VACUUM INTO ?", (str(path),))
        other = File(self.world, path)
        other.model = dict(self.model)
        return other

    def keys(self):
        return {k for k, _ in self.model}

    def write(self, draw):
        key, column = draw.choice(sorted(self.world.base)), draw.randrange(2)
        time.sleep(0.002)  # so that no two writes have one number
        value = draw.randint(0, 5)
        stamp = (WRITES + self.world.call(), 0)
        if key not in self.keys():
            self.db.execute("INSERT INTO p(k, price, note) VALUES (?, ?, ?)", (key, value, value))
            self.model.update({(key, c): (stamp, value) for c in COLUMNS})
        elif self.model[key, COLUMNS[column]][1] != value:
            self.db.execute(f"UPDATE p SET {COLUMNS[column]} = ? WHERE k = ?", (value, key))
            self.model[key, COLUMNS[column]] = stamp, value

    def say(self, newest):
        self.db.execute("SELECT counter_replicate('p', ?)", ("values=newest" if newest else "values=oldest",)).fetchone()
        call = self.world.call()
        for at, ((rank, _), value) in self.model.items():
            if rank < WRITES:
                rank = rank + 1 if newest else max(rank - 1, 0)
                self.model[at] = (rank, call), value

    def asks(self, giver):
        """Returns the rows that differ."""
        rows = set()
        for at in self.model.keys() & giver.model.keys():
            (one, a), (two, b) = self.model[at], giver.model[at]
            if one[0] == two[0] and one != two and one[0] < WRITES and a != b:
                rows.add(at[0])
        return rows

    def join(self, giver):
        for at, theirs in giver.model.items():
            if at not in self.model or theirs[0] > self.model[at][0]:
                self.model[at] = theirs

    def table(self):
        return dict(((k, c), v) for row in self.db.execute("SELECT k, price, note FROM p") for k, *values in [row]
                    for c, v in zip(COLUMNS, values))

    def check(self):
        shown = self.table()
        assert shown.keys() == self.model.keys()
        for at, (stamp, value) in self.model.items():
            assert shown[at] == value, (at, stamp)


def feed(taker, giver):
    """The whole feed in one transaction."""
    batch = giver.db.execute("SELECT table_name, key, change, seq, source FROM counter_changes(0)").fetchall()
    taker.db.execute("BEGIN")
    try:
        taker.db.executemany("INSERT INTO counter_changes(table_name, key, change, seq, source) VALUES (?, ?, ?, ?, ?)", batch)
        taker.db.execute("COMMIT")
    except Exception:
        taker.db.execute("ROLLBACK")
        raise


def pull(taker, giver):
    taker.db.execute("SELECT * FROM counter_pull(?)", (str(giver.path),)).fetchall()


def push(taker, giver):
    giver.db.execute("SELECT * FROM counter_push(?)", (str(taker.path),)).fetchall()


class World:
    def __init__(self, tmp_path, draw):
        self.draw, self.calls = draw, 0
        self.base = {k: (draw.randint(0, 3), draw.choice([None, "x", 1.5])) for k in "abcd"[:draw.randint(1, 4)]}
        counted = draw.random() < 0.5
        self.more = ", n INTEGER NOT NULL DEFAULT 0" if counted else draw.choice(["", ", g AS (price) VIRTUAL"])
        self.counter = ", 'n'" if counted else ""
        self.files, self.asked = [], 0
        for i in range(draw.randint(2, 4)):
            path = tmp_path / f"{i}.db"
            if self.files and draw.random() < 0.3:
                self.files.append(draw.choice(self.files).copy(path))
                continue
            values = {k: (draw.choice([row[0], draw.randint(0, 3)]), draw.choice([row[1], row[1], "y"]))
                      for k, row in self.base.items() if draw.random() < 0.8}
            self.files.append(File(self, path))
            self.files[-1].begin(values, draw.choice(["", "", "", "", ", 'values=newest'", ", 'values=oldest'"]))

    def call(self):
        self.calls += 1
        return self.calls

    def merge(self, taker, giver):
        """Returns whether it was asked about rows, and nothing was merged."""
        asks = taker.asks(giver)
        way = self.draw.choice([pull, push, feed])
        before = taker.table()
        if not asks:
            way(taker, giver)
            self.equal_stamps(taker, giver)
            taker.join(giver)
            taker.check()
            return False
        with pytest.raises(Exception, match="two files began to replicate it apart") as refused:
            way(taker, giver)
        n = 1 if way is feed else len(asks)
        assert f" {n} row{' differs' if n == 1 else 's differ'} that both had: row ('" in str(refused.value)
        assert "'values=newest'" in str(refused.value) and "'values=oldest'" in str(refused.value)
        assert taker.table() == before
        self.asked += 1
        return True

    @staticmethod
    def equal_stamps(taker, giver):
        """Of two calls of one rank with equal values the ids decide, which show nowhere: one call stands for the other."""
        for at in taker.model.keys() & giver.model.keys():
            (one, a), (two, b) = taker.model[at], giver.model[at]
            if one[0] == two[0] < WRITES and a != b:
                assert one == two


@pytest.mark.parametrize("number", range(EXAMPLES))
def test_files_that_began_apart_are_asked_where_they_differ_and_each_answer_leads_to_one_table(tmp_path, number):
    draw = random.Random(f"{SEED} drift {number}")
    world = World(tmp_path, draw)
    for _ in range(draw.randint(5, 25)):
        taker, giver = draw.sample(world.files, 2)
        if draw.random() < 0.4:
            draw.choice(world.files).write(draw)
        elif world.merge(taker, giver) and draw.random() < 0.6:
            draw.choice([taker, giver]).say(draw.random() < 0.5)
            draw.choice([taker, giver]).write(draw)
    for turn in range(40):  # until all is said
        asked = [world.merge(taker, giver) for taker in world.files for giver in world.files if taker is not giver]
        if not any(asked):
            break
        draw.choice(world.files).say(draw.random() < 0.7)
    assert not any(asked)
    for turn in range(2):
        assert not any(world.merge(taker, giver) for taker in world.files for giver in world.files if taker is not giver)
    for file in world.files:
        assert file.table() == world.files[0].table()
        assert file.db.execute("SELECT counter_table_digest('p')").fetchone() == \
            world.files[0].db.execute("SELECT counter_table_digest('p')").fetchone()
