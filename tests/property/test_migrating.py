"""test_migrating.py - files whose replicated tables migrate at different times, in any way, show what a model of each says.

A migration adds columns, fills them, renames them, exchanges their names, makes regular ones counters, drops some, rebuilds the
table (as one WITHOUT ROWID, with an index that covers the counters, without some rows, with more), several of these before one
call. A file of the model knows its columns by the names between files; a row has its life, for each regular column a stamp and a
value, and for each counter what was counted: operations, and openings, of which the greatest counts. Where a column counts in
one file and is regular in the other, a merge must pass over the table, or refuse the batch, until the other file makes it a counter, too.
"""

import itertools
import random
import re
import sqlite3

import pytest

from conftest import EXAMPLES, SEED
from files import connect
from test_replicated import read_cell
from test_tracked import rows

KEYS = ["tea", "jam", "salt"]
COLUMNS = {"a": "INTEGER NOT NULL DEFAULT 0", "b": "INTEGER NOT NULL DEFAULT 0", "c": "TEXT DEFAULT 'none'", "d": "INTEGER NOT NULL DEFAULT 0",
           "e": "TEXT", "f": "DEFAULT (1 + 1)"}
DEFAULTS = {"a": 0, "b": 0, "c": "none", "d": 0, "e": None, "f": 2}
NUMBERS = ("a", "b", "d")
WORDS = [None, "", "x", "none", "Jam", "2"]
REFUSED = r"column \w+ is a (counter|regular column) .* makes it a counter"


class Row:
    def __init__(self):
        self.life, self.regular, self.counters = 0, {}, {}

    def counter(self, name):
        return self.counters.setdefault(name, ({}, {}))

    def value(self, name):
        operations, openings = self.counter(name)
        return sum(operations.values()) + max(openings.values(), default=0)


class File:
    ids = itertools.count()

    def __init__(self, path, start, kind):
        self.path, self.rows, self.kinds, self.shown, self.hidden = str(path), {}, {}, {}, set()
        self.db = connect(self.path)
        self.db.execute("PRAGMA synchronous = OFF")
        self.kinds.update(start)
        self.shown.update({name: name for name in start})
        self.db.execute(f"CREATE TABLE t(k TEXT PRIMARY KEY NOT NULL{''.join(f', {name} {COLUMNS[name]}' for name in start)}) {kind}")
        self.call([name for name in start if start[name] == "counter"])

    def call(self, counters, *options):
        words = ["t", *(self.shown[name] for name in counters), *(["opening=same"] if counters else []), *options]
        return rows(self.db, f"SELECT counter_replicate({', '.join('?' * len(words))})", *words)

    def row(self, key):
        return self.rows.setdefault(key, Row())

    def live(self):
        return {key: row for key, row in self.rows.items() if row.life % 2}

    def value(self, row, name):
        if self.kinds[name] == "counter":
            return row.value(name)
        return row.regular[name][1] if row.regular.get(name) else DEFAULTS[name]

    def learn(self, written=None):
        """Takes the stamps from the file: only those of `written`, {key: names}, may have changed."""
        cells = {key: read_cell(cell) for key, cell in rows(
            self.db, "SELECT json_extract(counter_key_json(key), '$[0]'), change FROM counter_changes(0) "
            "WHERE table_name = 't' AND substr(change, 1, 2) = x'0101'")}
        for key, row in self.rows.items():
            life, _, stamps = cells.get(key, (0, None, {}))
            assert life == row.life, (key, life, row.life)
            for name in self.regular() if life % 2 else ():
                old, stamp = row.regular.get(name), stamps[name]
                if written is None or name in written.get(key, ()):
                    row.regular[name] = stamp and (stamp, old[1])
                else:
                    assert stamp == (old and old[0]), (key, name)

    def regular(self):
        return [name for name, kind in self.kinds.items() if kind == "regular"]

    # ---- statements ----

    def draw_value(self, draw, name):
        return draw.choice([0, 1, 5, -3, 40]) if name in NUMBERS else draw.choice(WORDS)

    def set_all(self, key, values):
        """An INSERT, or a REPLACE."""
        row = self.row(key)
        if row.life % 2 == 0:
            row.life, row.counters = row.life + 1, {}
        for name, value in values.items():
            if self.kinds[name] == "counter":
                self.count(row, name, value)
            else:
                row.regular[name] = (None, value)

    def count(self, row, name, value):
        if value != row.value(name):
            row.counter(name)[0][next(self.ids)] = value - row.value(name)

    def write(self, draw):
        key = draw.choice(KEYS)
        row, names = self.row(key), list(self.shown)
        act = draw.choice(["insert", "update", "update", "delete", "replace"])
        if act == "delete" and row.life % 2:
            self.db.execute("DELETE FROM t WHERE k = ?", (key,))
            self.end(row)
        elif act == "update" and row.life % 2 and names:
            values = {name: self.draw_value(draw, name) for name in draw.sample(names, draw.randint(1, len(names)))}
            self.db.execute(f"UPDATE t SET {', '.join(f'{self.shown[name]} = ?' for name in values)} WHERE k = ?", (*values.values(), key))
            written = set()
            for name, value in values.items():
                if self.kinds[name] == "counter":
                    self.count(row, name, value)
                elif value != self.value(row, name):
                    row.regular[name] = (None, value)
                    written.add(name)
            self.learn({key: written})
            return
        elif act == "insert" and row.life % 2 == 0 or act == "replace":
            values = {name: self.draw_value(draw, name) for name in names}
            self.db.execute(f"REPLACE INTO t(k{''.join(f', {self.shown[name]}' for name in names)}) VALUES (?{', ?' * len(names)})",
                            (key, *values.values()))
            self.set_all(key, values)
        self.learn({key: set(self.regular())})

    def end(self, row):
        row.life += 1
        row.regular, row.counters = {}, {}

    # ---- migrations ----

    def migrate(self, draw):
        self.db.execute("BEGIN")
        counters, options, written = [], [], {}
        for _ in range(draw.randint(1, 4)):
            draw.choice([self.add, self.add, self.rename, self.exchange, self.convert, self.drop])(draw, counters, written)
        if draw.random() < .4:
            self.rebuild(draw, counters, options, written)
        self.finish(counters, options, written)

    def finish(self, counters, options, written):
        self.call(counters, *options)
        self.db.execute("COMMIT")
        self.learn(None if "values=newest" in options else written)

    def add(self, draw, counters, written):
        name = draw.choice(list(COLUMNS))
        if name in self.shown or name in self.shown.values():
            return
        if name in self.kinds or name in NUMBERS and draw.random() < .4:  # it counts in another file already
            counters.append(name)
            self.kinds[name] = "counter"
        else:
            self.kinds[name] = "regular"
        self.shown[name] = name
        self.db.execute(f"ALTER TABLE t ADD COLUMN {name} {COLUMNS[name]}" if "(" not in COLUMNS[name] else f"ALTER TABLE t ADD COLUMN {name} DEFAULT 2")
        for key, row in self.live().items():
            row.regular.pop(name, None)
            if draw.random() < .5:
                value = self.draw_value(draw, name)
                self.db.execute(f"UPDATE t SET {name} = ? WHERE k = ?", (value, key))
                if name in counters and value:
                    row.counter(name)[1][next(self.ids)] = value
                elif name not in counters and value != DEFAULTS[name]:
                    row.regular[name] = (None, value)
                    written.setdefault(key, set()).add(name)

    def rename(self, draw, counters, written):
        settled = [name for name in self.shown if name not in counters and not self.is_new(name)]
        if settled:
            name, to = draw.choice(settled), f"n{next(self.ids)}"
            self.db.execute(f"ALTER TABLE t RENAME COLUMN {self.shown[name]} TO {to}")
            self.shown[name] = to

    def is_new(self, name):
        """Added in this migration: it has no name between files yet."""
        return not rows(self.db, "SELECT 1 FROM counter_tracked WHERE column_name = ?", self.shown[name])

    def exchange(self, draw, counters, written):
        settled = [name for name in self.shown if name not in counters and not self.is_new(name)]
        if len(settled) > 1:
            one, two = draw.sample(settled, 2)
            for old, new in (self.shown[one], "meanwhile"), (self.shown[two], self.shown[one]), ("meanwhile", self.shown[two]):
                self.db.execute(f"ALTER TABLE t RENAME COLUMN {old} TO {new}")
            self.shown[one], self.shown[two] = self.shown[two], self.shown[one]

    def convert(self, draw, counters, written):
        names = [name for name in self.regular() if name in NUMBERS and not self.is_new(name)]
        if names:
            self.make_counter(draw.choice(names), counters)

    def make_counter(self, name, counters):
        """The values that it shows become openings."""
        counters.append(name)
        for row in self.live().values():
            value = self.value(row, name)
            if value:
                row.counter(name)[1][next(self.ids)] = value
            row.regular.pop(name, None)
        self.kinds[name] = "counter"

    def drop(self, draw, counters, written):
        names = [name for name in self.regular() if not self.is_new(name)]
        if not names or sqlite3.sqlite_version_info < (3, 35):
            return
        name = draw.choice(names)
        rows(self.db, "SELECT counter_untrack('t', ?)", self.shown[name])
        for index, in rows(self.db, "SELECT name FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL AND tbl_name = 't'"):
            self.db.execute(f"DROP INDEX {index}")
        self.db.execute(f"ALTER TABLE t DROP COLUMN {self.shown[name]}")
        del self.kinds[name], self.shown[name]
        for row in self.rows.values():
            row.regular.pop(name, None)

    def rebuild(self, draw, counters, options, written):
        self.call(counters)  # names that only the triggers know are noted first
        counters.clear()
        names = list(self.shown.items())
        draw.shuffle(names)
        columns = "".join(f", {shown} {COLUMNS[name]}" for name, shown in names)
        kind = draw.choice(["", "WITHOUT ROWID"])
        self.db.execute(f"CREATE TABLE new(k TEXT PRIMARY KEY NOT NULL{columns}) {kind}")
        same = "".join(f", {shown}" for shown in self.shown.values())
        self.db.execute(f"INSERT INTO new(k{same}) SELECT k{same} FROM t")
        self.db.execute("DROP TABLE t")
        self.db.execute("ALTER TABLE new RENAME TO t")
        numbers = [self.shown[name] for name in self.shown if self.kinds[name] == "counter"]
        if numbers and draw.random() < .5:
            self.db.execute(f"CREATE INDEX covers ON t({', '.join(numbers)}, k)")
        newest = draw.random() < .3
        if newest:
            options.append("values=newest")
        for key in KEYS:
            row, luck = self.row(key), draw.random()
            if row.life % 2 == 0 and luck < .3:
                values = {name: self.draw_value(draw, name) for name in self.shown}
                self.db.execute(f"INSERT INTO t(k{same}) VALUES (?{', ?' * len(values)})", (key, *values.values()))
                self.set_all(key, values)
                written[key] = set(self.regular())
            elif row.life % 2 and luck < .3:
                self.db.execute("DELETE FROM t WHERE k = ?", (key,))
                written.setdefault(key, set()).update(self.regular())
                options.append("missing=?")
                row.missing = True
            elif row.life % 2 and luck < .5 and numbers:
                name = draw.choice([name for name in self.shown if self.kinds[name] == "counter"])
                self.db.execute(f"UPDATE t SET {self.shown[name]} = {self.shown[name]} + 7 WHERE k = ?", (key,))
                self.count(row, name, row.value(name) + 7)
        self.answer_missing(draw, counters, options)
        if newest:
            for key, row in self.live().items():
                if not getattr(row, "restored", False):
                    for name in self.regular():
                        row.regular[name] = (None, self.value(row, name))
        for row in self.rows.values():
            row.restored = False

    def answer_missing(self, draw, counters, options):
        n = options.count("missing=?")
        if n == 0:
            return
        options[:] = [option for option in options if option != "missing=?"]
        self.db.execute("SAVEPOINT asks")
        with pytest.raises(sqlite3.Error, match=f"t: {n} of its rows (is|are) missing.*'missing=restored'.*'missing=deleted'"):
            self.call(counters, *options)
        self.db.execute("ROLLBACK TO asks")
        self.db.execute("RELEASE asks")
        answer = draw.choice(["restored", "deleted"])
        options.append(f"missing={answer}")
        for row in self.rows.values():
            if not getattr(row, "missing", False):
                continue
            row.missing = False
            if answer == "deleted":
                self.end(row)
            else:
                row.regular, row.restored = {}, True

    # ---- merges ----

    def conflicts(self, other, feed):
        """The columns with another role: counters of `other` that are regular here, and, but for a feed, the other way round."""
        here = {name for name, kind in other.kinds.items() if kind == "counter" and self.kinds.get(name) == "regular"}
        there = {name for name, kind in other.kinds.items() if kind == "regular" and self.kinds.get(name) == "counter"}
        return here, set() if feed else there

    def join(self, other):
        for name, kind in other.kinds.items():
            if kind == "counter":
                self.kinds.setdefault(name, "counter")
        for key, theirs in other.rows.items():
            mine = self.row(key)
            if theirs.life > mine.life:
                mine.life, mine.regular, mine.counters = theirs.life, {}, {}
            if theirs.life != mine.life or mine.life % 2 == 0:
                continue
            for name in self.regular():
                cell = theirs.regular.get(name) if other.kinds.get(name) == "regular" else None
                if cell and (not mine.regular.get(name) or cell[0] > mine.regular[name][0]):
                    mine.regular[name] = cell
            for name, (operations, openings) in theirs.counters.items():
                mine.counter(name)[0].update(operations)
                mine.counter(name)[1].update(openings)

    def check(self):
        names = list(self.shown)
        wanted = sorted((key, *(self.value(row, name) for name in names)) for key, row in self.live().items())
        found = sorted(rows(self.db, f"SELECT k{''.join(f', {self.shown[name]}' for name in names)} FROM t"))
        assert found == wanted, names
        states = {column: state for column, state in rows(self.db, "SELECT column_name, state FROM counter_tracked WHERE column_name IS NOT NULL")}
        assert states == {self.shown[name]: "tracked" if self.kinds[name] == "counter" else "regular" for name in names}
        self.learn({})


def make_counters(file, names):
    file.db.execute("BEGIN")
    counters = []
    for name in names:
        file.make_counter(name, counters)
    file.finish(counters, [], {})


def meet(draw, one, other):
    """`one` takes from `other`."""
    way = draw.choice(["pull", "push", "full", "feed"])
    here, there = one.conflicts(other, way == "feed")

    def merge():
        if way == "push":
            return rows(other.db, "SELECT rows_read, note FROM counter_push(?)", one.path)
        elif way != "feed":
            return rows(one.db, f"SELECT rows_read, note FROM counter_pull(?{', ?' * (way == 'full')})", other.path, *["full"] * (way == "full"))
        else:
            one.db.execute("BEGIN")
            for row in rows(other.db, "SELECT table_name, key, change, seq, source FROM counter_changes(0)"):
                one.db.execute("INSERT INTO counter_changes(table_name, key, change, seq, source) VALUES (?, ?, ?, ?, ?)", row[:5])
            rows(one.db, "SELECT counter_seen(counter_id(), 0, 0)")
            one.db.execute("COMMIT")

    if here or there:
        try:
            read = merge()
            if way == "feed":
                assert not any(row.counters.get(name) for row in other.live().values() for name in here)
            else:
                (n, note), = read
                assert n == 0
                if note is None or "passed over: " not in note:  # nothing has changed there since it was read
                    assert not here
                else:
                    assert re.search(REFUSED, note)
        except sqlite3.Error as error:
            assert way == "feed"
            if one.db.in_transaction:
                one.db.execute("ROLLBACK")
            with pytest.raises(sqlite3.Error, match=REFUSED):
                raise error
        one.check()
        make_counters(one, here)
        make_counters(other, there)
        other.check()
    merge()
    one.join(other)
    one.check()


@pytest.mark.parametrize("number", range(EXAMPLES))
def test_files_that_migrate_at_different_times_show_what_the_model_says(tmp_path, number):
    draw = random.Random(f"{SEED} migrating {number}")
    start = {name: draw.choice(["regular", "regular", "counter"]) if name in NUMBERS else "regular"
             for name in draw.sample(list(COLUMNS), draw.randint(0, 3))}
    if draw.random() < .3:  # a table without counters
        start = dict.fromkeys(start, "regular")
    files = [File(tmp_path / f"{n}.db", dict(start), draw.choice(["", "WITHOUT ROWID"])) for n in range(3)]
    for _ in range(draw.choice([10, 25, 40])):
        one, other = draw.sample(files, 2)
        act = draw.random()
        if act < .45:
            one.write(draw)
        elif act < .65:
            one.migrate(draw)
        else:
            meet(draw, one, other)
        one.check()
    for _ in range(2):
        for one, other in itertools.permutations(files, 2):
            meet(draw, one, other)
    for one in files:
        one.check()
