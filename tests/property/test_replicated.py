"""test_replicated.py - files with replicated tables that merge show what the lattice of core/row_cell.h says.

A model of each file has the state of each row: its life, the stamp of its INSERT, for each regular column a stamp and a
value, and its counters as sets of operations. The stamps are read from the file after each write, and must be higher
than those that they replace. After each merge the file must show the rows of the joined models, exactly.
"""

import random

import pytest

from conftest import EXAMPLES, SEED
from files import connect
from test_tracked import Counter, rows

KEYS = ["tea", "jam", "salt", "Tea"]
VALUES = [None, 0, 1, 1.0, -5, 2.5, "a", "A", "", "1", b"", b"\x00a", "jam", 10**15]


def varint(data, at):
    n = shift = 0
    while True:
        byte = data[at]
        at, n, shift = at + 1, n | (byte & 127) << shift, shift + 7
        if byte < 128:
            return n, at


def read_cell(data, writers, columns):
    """Returns the life, the stamp of the row, and the stamp of each column by its number; None: it has none."""
    life, at = varint(data, 0)
    if life % 2 == 0:
        assert at == len(data)
        return life, None, {}

    def stamp(at):
        number, at = varint(data, at)
        writer, at = varint(data, at)
        return (number, writers[writer]), at

    row, at = stamp(at)
    known, at = varint(data, at)
    stamps = {column: row if column < known else None for column in range(columns)}
    while at < len(data):
        code, at = varint(data, at)
        stamps[code // 2] = None
        if code % 2 == 0:
            stamps[code // 2], at = stamp(at)
    return life, row, stamps


class Row:
    """A row of the model: `columns` has a (stamp, value) for each regular column, None without a stamp."""

    def __init__(self, names, counters):
        self.life, self.row, self.columns = 0, None, dict.fromkeys(names)
        self.counters = {name: Counter() for name in counters}

    def copy(self):
        row = Row(self.columns, self.counters)
        row.life, row.row, row.columns = self.life, self.row, dict(self.columns)
        for name, counter in self.counters.items():
            row.counters[name].life, row.counters[name].operations = counter.life, counter.operations
        return row

    def is_live(self):
        return self.life % 2 == 1

    def end(self):
        self.life += 1
        self.row, self.columns = None, dict.fromkeys(self.columns)
        self.counters = {name: Counter() for name in self.counters}

    def join(self, other):
        if other.life > self.life:
            mine = other.copy()
            self.life, self.row, self.columns, self.counters = mine.life, mine.row, mine.columns, mine.counters
        elif other.life == self.life and self.is_live():
            self.row = max(self.row, other.row)
            for name, theirs in other.columns.items():
                mine = self.columns[name]
                if theirs and (not mine or theirs[0] > mine[0]):
                    self.columns[name] = theirs
            for name, counter in other.counters.items():
                self.counters[name].merge(counter)

    def shown(self):
        return tuple(self.columns[name] and self.columns[name][1] for name in self.columns) + tuple(
            counter.value() for counter in self.counters.values())


def same(a, b):
    return type(a) is type(b) and a == b


class File:
    regular, counters = ("name", "price", "note"), ("stock", "sold")

    def __init__(self, path, kind):
        self.path, self.model = str(path), {}
        self.db = connect(self.path)
        self.db.execute("PRAGMA synchronous = OFF")
        counters = ", ".join(f"{name} INTEGER" for name in self.counters)
        regular = ", ".join(self.regular)
        self.db.execute(f"CREATE TABLE t(k TEXT NOT NULL PRIMARY KEY, {regular}{', ' + counters if counters else ''}) {kind}")
        names = "".join(f", '{name}'" for name in self.counters)
        assert rows(self.db, f"SELECT counter_replicate('t'{names})") == [(0,)]

    def row(self, key):
        return self.model.setdefault(key, Row(self.regular, self.counters))

    def cell(self, key):
        """The row cell as the file has it."""
        writers = {n: bytes(id) for id, n in rows(
            self.db, "SELECT _name, _value FROM t_counters_state WHERE _kind = 'writer'")}
        numbers = dict(rows(self.db, "SELECT _name, _row FROM t_counters_state WHERE _kind = 'regular'"))
        data, = rows(self.db, "SELECT _row FROM t_counters_cells WHERE k = ?", key)[0]
        life, row, stamps = read_cell(data, writers, len(numbers))
        return life, row, {name: stamps.get(number) for name, number in numbers.items()}

    def stamp(self, key, values, names):
        """Takes the stamps of the columns with these names from the file; they must be new and higher."""
        row = self.row(key)
        life, stamp, stamps = self.cell(key)
        assert life == row.life
        row.row = stamp
        for name in self.regular:
            old = row.columns[name]
            if name in names:
                assert stamps[name] is not None and (old is None or stamps[name][0] > old[0][0])
                row.columns[name] = (stamps[name], values[name])
            else:
                assert stamps[name] == (old and old[0])

    def inserted(self, key, values):
        row = self.row(key)
        if not row.is_live():
            row.life += 1
        for name, counter in row.counters.items():
            counter.set(values[name])
        self.stamp(key, values, self.regular)

    def updated(self, key, values):
        row = self.row(key)
        now = dict(zip(self.regular + self.counters, row.shown()))
        for name in self.counters:
            if name in values:
                row.counters[name].set(values[name])
        self.stamp(key, values, {name for name in self.regular if name in values and not same(values[name], now[name])})

    def deleted(self, key):
        self.row(key).end()
        assert self.cell(key)[0] == self.row(key).life

    def values(self, draw, names):
        return {name: draw.choice([None, 0, 1, 5, -3, 40]) if name in self.counters else draw.choice(VALUES)
                for name in names}

    def act(self, draw):
        key = draw.choice(KEYS)
        row, everything = self.row(key), self.regular + self.counters
        act = draw.choice(["insert", "update", "update", "update", "delete", "replace", "upsert", "key", "add"])
        if act == "insert" and not row.is_live() or act == "replace":
            values = self.values(draw, everything)
            self.db.execute(f"{'REPLACE' if act == 'replace' else 'INSERT'} INTO t(k, {', '.join(everything)}) "
                            f"VALUES (?{', ?' * len(everything)})", (key, *values.values()))
            self.inserted(key, values)
        elif act == "update" and row.is_live():
            values = self.values(draw, draw.sample(everything, draw.randint(1, len(everything))))
            self.db.execute(f"UPDATE t SET {', '.join(f'{name} = ?' for name in values)} WHERE k = ?", (*values.values(), key))
            self.updated(key, values)
        elif act == "add" and row.is_live() and self.counters:
            name, n = draw.choice(self.counters), draw.randint(-9, 9)
            self.db.execute(f"UPDATE t SET {name} = {name} + ? WHERE k = ?", (n, key))
            if row.counters[name].value() is not None and n != 0:
                row.counters[name].add(n)
        elif act == "delete" and row.is_live():
            self.db.execute("DELETE FROM t WHERE k = ?", (key,))
            self.deleted(key)
        elif act == "upsert":
            values = self.values(draw, everything)
            name = draw.choice(self.regular)
            self.db.execute(f"INSERT INTO t(k, {', '.join(everything)}) VALUES (?{', ?' * len(everything)}) "
                            f"ON CONFLICT (k) DO UPDATE SET {name} = excluded.{name}", (key, *values.values()))
            if row.is_live():
                self.updated(key, {name: values[name]})
            else:
                self.inserted(key, values)
        elif act == "key" and row.is_live():
            to = draw.choice([k for k in KEYS if not self.row(k).is_live()] or [key])
            if to != key:
                values = dict(zip(everything, row.shown()))
                self.db.execute("UPDATE t SET k = ? WHERE k = ?", (to, key))
                self.deleted(key)
                self.inserted(to, values)

    def transact(self, draw):
        """Writes in a transaction or without one; what is rolled back has not happened."""
        if draw.random() < .5:
            self.act(draw)
            return
        self.db.execute("BEGIN")
        before = {key: row.copy() for key, row in self.model.items()}
        for _ in range(draw.randint(1, 4)):
            kept = {key: row.copy() for key, row in self.model.items()}
            back = draw.random() < .3
            if back:
                self.db.execute("SAVEPOINT s")
            self.act(draw)
            if back:
                self.db.execute("ROLLBACK TO s")
                self.db.execute("RELEASE s")
                self.model = kept
        if draw.random() < .8:
            self.db.execute("COMMIT")
        else:
            self.db.execute("ROLLBACK")
            self.model = before

    def merge(self, other):
        for key, row in other.model.items():
            self.row(key).join(row)

    def check(self):
        wanted = sorted((key, *row.shown()) for key, row in self.model.items() if row.is_live())
        found = sorted(rows(self.db, f"SELECT k, {', '.join(self.regular + self.counters)} FROM t"), key=lambda row: row[0])
        wanted.sort(key=lambda row: row[0])
        assert [tuple(map(repr, row)) for row in found] == [tuple(map(repr, row)) for row in wanted]
        for key, row in self.model.items():
            if row.life:
                life, stamp, stamps = self.cell(key)
                assert (life, stamp) == (row.life, row.row)
                assert stamps == {} or stamps == {name: value and value[0] for name, value in row.columns.items()} or life % 2 == 0
        assert rows(self.db, "SELECT count(*) FROM t_counters_state WHERE _kind IN ('apart', 'merged', 'refused')") == [(0,)]
        assert rows(self.db, "SELECT * FROM counter_tracked WHERE state NOT IN ('tracked', 'regular')") == []


class Columns(File):
    """A table without any counter."""
    counters = ()


def meet(draw, one, other):
    way = draw.choice(["pull", "push", "sync", "full", "feed"])
    name = other.path
    attached = draw.random() < .5
    if attached:
        one.db.execute("ATTACH ? AS other", (other.path,))
        name = "other"
    begun = draw.random() < .2 and attached is False and way == "pull"
    if begun:
        one.db.execute("BEGIN")
        one.act(draw)
    if way == "feed":  # in any order, some rows twice
        feed = rows(other.db, "SELECT * FROM counter_changes(0)")
        feed += draw.sample(feed, len(feed) // 3)
        draw.shuffle(feed)
        for row in feed:
            one.db.execute("INSERT INTO counter_changes VALUES (?, ?, ?, ?, ?, ?, ?)", row[:7])
    elif way == "full":
        rows(one.db, "SELECT * FROM counter_pull(?, 'full')", name)
    else:
        rows(one.db, f"SELECT * FROM counter_{way}(?)", name)
    if way != "push":
        one.merge(other)
    if begun:
        one.act(draw)
        one.db.execute("COMMIT")
    if attached:
        one.db.execute("DETACH other")
    if way in ("push", "sync"):
        other.merge(one)


@pytest.mark.parametrize("number", range(EXAMPLES // 4))
def test_files_that_merge_show_the_rows_of_the_lattice(tmp_path, number):
    draw = random.Random(f"{SEED} replicated {number}")
    kind = draw.choice(["", "", "WITHOUT ROWID"])
    made = draw.choice([File, File, Columns])
    files = [made(tmp_path / f"{i}.db", kind) for i in range(draw.randint(2, 4))]
    for step in range(draw.choice([10, 40, 80])):
        one, other = draw.sample(files, 2)
        if draw.random() < .7:
            one.transact(draw)
        else:
            meet(draw, one, other)
            other.check()
        one.check()
    for _ in range(2):
        for one in files:
            for other in files:
                if one is not other:
                    rows(one.db, "SELECT * FROM counter_sync(?)", other.path)
                    one.merge(other)
                    other.merge(one)
    for file in files:
        file.check()
        assert [file.row(key).shown() for key in KEYS] == [files[0].row(key).shown() for key in KEYS]
