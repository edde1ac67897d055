"""test_added_columns.py - a column that was added is taken by a look at the rows that show something in it.

Two copies of a file, with the same rows, columns and writes, make the same call. One looks; the other, by the option
'missing=deleted', compares all rows. Then both have the same changes, and give the same rows to a third file."""
import random
import re

import pytest

from conftest import EXAMPLES, SEED
from files import connect

DEFAULTS = ["", "DEFAULT 0", "DEFAULT 'x'", "DEFAULT 1.5", "NOT NULL DEFAULT 7", "TEXT NOT NULL DEFAULT ''", "DEFAULT NULL", "DEFAULT +3",
            "DEFAULT blue", "INTEGER DEFAULT '5'", "TEXT COLLATE NOCASE DEFAULT 'A'", "REAL DEFAULT 1", "BLOB DEFAULT x'00ff'", "DEFAULT TRUE"]
VALUES = [None, 0, 1, 5, 7, 3, 1.5, "x", "a", "A", "", "blue", "5", b"\0\xff", 9.25]
UUID = re.compile("[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")


def run(db, sql, *values):
    return db.execute(sql, values).fetchall()


def changes(db):
    """What the file tells of each row, without the ids, which are drawn, and the times of writes."""
    told = run(db, "SELECT table_name, counter_key_json(key), counter_change_json(change) FROM counter_changes(0) ORDER BY 1, 2")
    return [(table, key, re.sub(r'"number":\d{6,}', '"number":"now"', UUID.sub("id", change))) for table, key, change in told]


class World:
    def __init__(self, draw, folder):
        self.draw, self.folder, self.n = draw, folder, 0
        self.columns = []
        self.db = connect(folder / "one.db")
        run(self.db, "CREATE TABLE t(k TEXT PRIMARY KEY, n INTEGER NOT NULL DEFAULT 0, u UNIQUE, was INTEGER DEFAULT 2)")
        run(self.db, "SELECT counter_replicate('t', 'n', 'was')")
        run(self.db, f"VACUUM INTO '{folder / 'peer.db'}'")
        self.peer = connect(folder / "peer.db")

    def write(self, db):
        key, value = self.draw.choice("abcdefgh"), self.draw.choice(VALUES)
        column = self.draw.choice([name for name in self.columns if db is self.db] or ["u"])
        kind = self.draw.random()
        if kind < .4:
            run(db, "INSERT OR IGNORE INTO t(k, n, u) VALUES (?, ?, ?)", key, self.draw.randint(-5, 5), self.draw.choice([None, *"xyz"]))
        elif kind < .5:
            run(db, "DELETE FROM t WHERE k = ?", key)
        elif kind < .6:
            run(db, "UPDATE t SET n = n + 1, was = was + 1 WHERE k = ?", key)
        else:
            run(db, f"UPDATE OR IGNORE t SET {column} = ? WHERE k = ?", value, key)

    def add(self):
        self.n += 1
        name = self.draw.choice([f"c{self.n}", f"d{self.draw.randint(1, 2)}"])
        if name not in self.columns:
            run(self.db, f"ALTER TABLE t ADD COLUMN {name} {self.draw.choice(DEFAULTS)}")
            self.columns.append(name)

    def drop(self):
        """A column that the file replicates goes, and may come again under the same name."""
        names = [name for name in self.columns if name in {name for name, in run(
            self.db, "SELECT column_name FROM counter_tracked WHERE state = 'regular'")}]
        if names:
            name = self.draw.choice(names)
            run(self.db, "SELECT counter_untrack('t', ?)", name)
            run(self.db, f"ALTER TABLE t DROP COLUMN {name}")
            self.columns.remove(name)

    def play(self):
        for _ in range(self.draw.randint(5, 40)):
            step = self.draw.random()
            if step < .7:
                self.write(self.draw.choice([self.db, self.db, self.peer]))
            elif step < .85:
                run(self.db, f"SELECT * FROM counter_sync('{self.folder / 'peer.db'}')")
            elif step < .93:
                self.add()
            elif step < .96:
                self.drop()
            else:
                run(self.db, "SELECT counter_replicate('t')")
        for _ in range(self.draw.randint(1, 3)):
            self.add()
            for _ in range(self.draw.randint(0, 6)):
                self.write(self.db)
        if self.draw.random() < .1:
            run(self.db, "SELECT counter_untrack('t', 'was')")


@pytest.mark.parametrize("nth", range(EXAMPLES))
def test_a_look_does_what_a_walk_does(tmp_path, nth):
    draw = random.Random(f"{SEED} {nth}")
    world = World(draw, tmp_path)
    world.play()
    option = draw.choice(["", "", ", 'values=oldest'", ", 'values=newest'"])
    run(world.db, f"VACUUM INTO '{tmp_path / 'two.db'}'")
    walk = connect(tmp_path / "two.db")
    counted = run(world.db, f"SELECT counter_replicate('t'{option})"), run(walk, f"SELECT counter_replicate('t'{option}, 'missing=deleted')")
    assert counted[0] == counted[1]
    assert changes(world.db) == changes(walk)
    for db in world.db, walk:
        run(db, "INSERT INTO t_counters(t_counters) VALUES ('integrity-check')")
        assert run(db, "SELECT counter_track('t')") == [(0,)]
        assert changes(world.db) == changes(walk)
    shown = []
    for name in "one", "two":
        third = connect(tmp_path / f"third of {name}.db")
        run(third, run(world.db, "SELECT sql FROM sqlite_master WHERE name = 't'")[0][0])
        run(third, "SELECT counter_replicate('t', 'n')" if world.columns and run(
            world.db, "SELECT 1 FROM counter_tracked WHERE column_name = 'was' AND state = 'regular'") else "SELECT counter_replicate('t', 'n', 'was')")
        run(third, f"SELECT * FROM counter_pull('{tmp_path / f'{name}.db'}')")
        shown.append(run(third, "SELECT * FROM t ORDER BY k"))
    assert shown[0] == shown[1]


def test_a_look_takes_no_missing_row_for_a_deletion_and_a_compare_finds_it(tmp_path):
    db = connect(tmp_path / "one.db")
    run(db, "CREATE TABLE t(k TEXT PRIMARY KEY, n INTEGER NOT NULL DEFAULT 0)")
    run(db, "INSERT INTO t VALUES ('a', 1), ('b', 2)")
    run(db, "SELECT counter_replicate('t', 'n')")
    run(db, "CREATE TEMP TRIGGER silent BEFORE DELETE ON t BEGIN SELECT 1; END")
    run(db, "CREATE TRIGGER silent AFTER DELETE ON t BEGIN SELECT RAISE(IGNORE); END")
    run(db, "DELETE FROM t WHERE k = 'a'")
    run(db, "DROP TRIGGER main.silent")
    run(db, "ALTER TABLE t ADD COLUMN price DEFAULT 1")
    run(db, "UPDATE t SET price = 2")
    assert run(db, "SELECT counter_replicate('t')") == [(1,)]
    assert len(changes(db)) == 2 and '"life":2' not in str(changes(db))
    with pytest.raises(Exception, match=r"1 of its rows is missing, \('a'\)"):
        run(db, "SELECT counter_track('t')")
