"""test_one_state.py - tables of one file have requests, floors and counters that came or went of their own, beside a model."""

import contextlib
import copy
import random
import sqlite3

import pytest

from conftest import EXAMPLES, SEED
from files import connect

NAMES, IDS, KEYS = ["a", "b", "c"], [f"id {i}" for i in range(6)], range(8)


class Table:
    """What a table must hold: values by key and counter, the ids that it took, in order, and its floor."""

    def __init__(self):
        self.values, self.taken, self.floor, self.ended = {}, [], None, 0  # ended: how often m was dropped and added again


def step(draw, db, tables):
    name = draw.choice(NAMES)
    table = tables.get(name)
    if table is None:
        db.execute(f"CREATE VIRTUAL TABLE {name} USING counter(k INTEGER PRIMARY KEY, n COUNTER, m COUNTER)")
        tables[name] = Table()
        return
    what = draw.choice(["count"] * 6 + ["forget", "purge", "drop", "rename", "again"])
    if what == "count":
        key, id = draw.choice(KEYS), draw.choice(IDS)
        sql = f"INSERT INTO {name}(k, n, m, request_id) VALUES (?, 1, 1, ?)"
        if (id, key) in table.taken:
            db.execute(sql, (key, id))
        elif id in dict(table.taken) or (table.floor is not None and key < table.floor):
            with pytest.raises(sqlite3.Error, match="was taken before|is below a floor"):
                db.execute(sql, (key, id))
        else:
            db.execute(sql, (key, id))
            table.taken.append((id, key))
            n, m = table.values.get(key, (0, 0))
            table.values[key] = n + 1, m + 1
    elif what == "forget":
        kept = draw.randrange(3)
        db.execute(f"INSERT INTO {name}({name}) VALUES ('forget requests {kept}')")
        table.taken = table.taken[-kept:] if kept else []
    elif what == "purge":
        floor = draw.choice(KEYS) // 2
        db.execute(f"INSERT INTO {name}({name}, k) VALUES ('purge below', ?)", [floor])
        table.floor = floor if table.floor is None else max(floor, table.floor)
        table.values = {key: value for key, value in table.values.items() if key >= table.floor}
    elif what == "drop":
        db.execute(f"DROP TABLE {name}")
        del tables[name]
    elif what == "rename":
        to = draw.choice(NAMES)
        if to not in tables and not db.execute("SELECT 1 FROM counter_tables WHERE birth = ?", [to]).fetchall():
            db.execute(f"ALTER TABLE {name} RENAME TO {to}")
            db.execute(f"ALTER TABLE {to} RENAME TO {name}")
    else:
        for command in "drop column m", "add column m":
            db.execute(f"INSERT INTO {name}({name}) VALUES ('{command}')")
        table.values = {key: (n, 0) for key, (n, m) in table.values.items()}
        table.ended += 2


def check(db, tables):
    numbers = dict(db.execute("SELECT name, number FROM counter_tables")) if tables else {}
    assert set(numbers) == set(tables)
    for name, table in tables.items():
        assert {k: (n, m) for k, n, m in db.execute(f"SELECT k, n, m FROM {name}")} == table.values
        assert db.execute(f"SELECT floor FROM counter_floors('{name}')").fetchall() == [(table.floor,)] * (table.floor is not None)
        assert [id for id, in db.execute("SELECT id FROM counter_requests WHERE tab = ? ORDER BY number", [numbers[name]])] == [
            id for id, _ in table.taken]
        assert db.execute("SELECT value FROM counter_state WHERE tab = ? AND kind = 'counter'", [numbers[name]]).fetchall() == [
            (table.ended + 1,)] * (table.ended > 0)
        db.execute(f"INSERT INTO {name}({name}) VALUES ('integrity-check')")


@pytest.mark.parametrize("number", range(max(EXAMPLES // 4, 1)))
def test_tables_of_one_file_have_a_state_of_their_own(tmp_path, number):
    draw = random.Random(f"{SEED} {number}")
    with contextlib.closing(connect(tmp_path / "a.db")) as one, contextlib.closing(connect(tmp_path / "a.db")) as two:
        tables = {}
        for _ in range(25):
            db, before = draw.choice([one, two]), copy.deepcopy(tables)
            ends = draw.choice(["alone", "COMMIT", "ROLLBACK", "ROLLBACK TO s"])
            for sql in {"alone": [], "ROLLBACK TO s": ["BEGIN", "SAVEPOINT s"]}.get(ends, ["BEGIN"]):
                db.execute(sql)
            for _ in range(1 if ends == "alone" else draw.randrange(1, 6)):
                step(draw, db, tables)
            if ends == "ROLLBACK TO s":
                db.execute(ends)
                tables = copy.deepcopy(before)
                step(draw, db, tables)
                db.execute("COMMIT")
            elif ends != "alone":
                db.execute(ends)
                tables = before if ends == "ROLLBACK" else tables
            check(draw.choice([one, two]), tables)
