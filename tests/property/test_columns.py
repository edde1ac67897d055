"""test_columns.py - counters that come and go in files that exchange them by pulls,
pushes and the feed.

The oracle works by definition: a counter of a table is a generation and, while that is odd, for
each key a life and the set of increments that it has seen. The higher generation wins whole; in
the same one the sets of a life are united. In the end everybody takes from everybody, and all
show the same.
"""

import collections
import contextlib
import json
import pathlib
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile

import pytest

from conftest import EXAMPLES
from files import connect
from oracle import UNTOUCHED, Increments, delete, is_deleted, is_live, merge, reset
from randomly import (Machine, booleans, initialize, integers, lists, precondition, rule,
                      run_machine, sampled_from, tuples)

WORKER = str(pathlib.Path(__file__).with_name("worker.py"))
MOST_FILES = 5
DECLARATION = "k TEXT PRIMARY KEY, a COUNTER, b COUNTER"
FEED = "table_name, key, change, seq, source, key_columns"

# generation: 0 if nobody has heard of it; cells: a dict of key and counter, empty but in an odd
# one.
Column = collections.namedtuple("Column", "generation cells")
NOWHERE = Column(0, {})


class Replica:
    """What one file must show. `rows` are the keys that it stores, with values or without."""

    def __init__(self, increments, columns=None, rows=(), name="t"):
        self.increments, self.rows, self.name = increments, set(rows), name
        self.columns = dict(columns or {"a": Column(1, {}), "b": Column(1, {})})

    def copy(self):
        columns = {name: Column(one.generation, dict(one.cells)) for name, one in self.columns.items()}
        return Replica(self.increments, columns, self.rows, self.name)

    def present(self):
        return sorted(name for name, one in self.columns.items() if one.generation % 2)

    def row(self, key):
        return {name: self.columns[name].cells.get(key, UNTOUCHED) for name in self.present()}

    def put(self, key, name, counter):
        if counter != UNTOUCHED:
            self.columns[name].cells[key] = counter
            self.rows.add(key)

    def is_visible(self, key):
        return any(map(is_live, self.row(key).values()))

    def visible(self):
        return {key: tuple(map(self.increments.value, self.row(key).values()))
                for key in self.rows if self.is_visible(key)}

    def generations(self):
        return {name: one.generation for name, one in self.columns.items()}

    def content(self):
        """What a digest is of: a counter of the first generation counts for what is in it."""
        cells = {(key, name): counter for name, one in self.columns.items()
                 for key, counter in one.cells.items()}
        return {name: n for name, n in self.generations().items() if n > 1}, cells

    def raise_to(self, name, generation):
        if self.columns.get(name, NOWHERE).generation < generation:
            self.columns[name] = Column(generation, {})

    def take(self, name, generation, cells):
        self.raise_to(name, generation)
        if self.columns[name].generation == generation:
            for key, counter in cells.items():
                self.put(key, name, merge(self.columns[name].cells.get(key, UNTOUCHED), counter))

    def merge(self, other):
        for name, column in other.columns.items():
            self.take(name, *column)

    def has_all_of(self, other):
        merged = self.copy()
        merged.merge(other)
        return merged.columns == self.columns


class File:
    def __init__(self, path, replica):
        self.path, self.replica = path, replica
        self.db = connect(path)
        self.db.execute("PRAGMA synchronous = OFF")

    def run(self, sql, arguments=()):
        """A named file that may have a twin says so: then it takes another id, as it is told to."""
        try:
            return self.db.execute(sql, arguments).fetchall()
        except sqlite3.OperationalError as error:
            if "counter_fork" not in str(error):
                raise
            self.db.execute("SELECT counter_fork()").fetchone()
            return self.db.execute(sql, arguments).fetchall()

    def look(self):
        table, columns = self.replica.name, ", ".join(map(quoted, ["k", *self.replica.present()]))
        shown = {key: values for key, *values in self.run(f"SELECT {columns} FROM {table}")}
        assert {key: tuple(values) for key, values in shown.items()} == self.replica.visible()
        listed = dict(self.run(f"SELECT name, value FROM counter_state WHERE kind = 'counter'"))
        known = {name: listed.get(name, 1) for name in {*listed, *self.replica.present()}}
        assert known == self.replica.generations()


Batch = collections.namedtuple("Batch", "rows changes source since upto held")

numbers = integers(0, MOST_FILES - 1)
names = sampled_from(["a", "a", "b", "c", "d e"])
keys = sampled_from(["x", "y", "z"])
verbs = sampled_from(["insert"] * 5 + ["update", "assign", "delete", "reset"]
                     + ["reset one", "delete one"] + ["add"] * 2 + ["drop"] * 2)
steps = tuples(verbs, keys, names, integers(-3, 9))


def quoted(name):
    return '"' + name + '"'


class Columns(Machine):
    files = ()

    @initialize(named=lists(sampled_from([False, False, True]), min_size=3, max_size=3),
                chance=integers(0, 2**32), first=lists(tuples(numbers, steps), max_size=8))
    def start(self, named, chance, first):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="counter-"))
        self.random, self.increments = random.Random(chance), Increments()
        self.files, self.batches, self.paths = [], [], 0
        for i, is_named in enumerate(named):
            one = File(self.new_path(), Replica(self.increments))
            if is_named:
                one.run("SELECT counter_init(?)", [f"dc:rack{i}"])
            one.run(f"CREATE VIRTUAL TABLE t USING counter({DECLARATION})")
            one.run("CREATE VIEW seen AS SELECT k FROM t")
            self.files.append(one)
        for number, step in first:
            self.local(number, step)

    def new_path(self):
        self.paths += 1
        return str(self.folder / f"{self.paths}.db")

    def pick(self, number):
        return self.files[number % len(self.files)]

    def two(self, number, other):
        number %= len(self.files)
        return self.files[number], self.files[(number + 1 + other % (len(self.files) - 1))
                                              % len(self.files)]

    # What an application does in one file.

    @rule(number=numbers, step=steps)
    def local(self, number, step):
        one = self.pick(number)
        self.do(one, *step)
        one.look()

    def do(self, one, verb, key, name, amount):
        getattr(self, verb.replace(" ", "_"))(one, key, name, amount)

    def refused(self, one, kind, sql, arguments=()):
        with pytest.raises(kind):
            one.run(sql, arguments)

    def insert(self, one, key, name, amount):
        replica = one.replica
        table, counters = replica.name, [name] if amount % 2 else replica.present()
        sql = f"INSERT INTO {table}({', '.join(map(quoted, ['k', *counters]))}) VALUES (?" \
            + ", ?" * len(counters) + ")"
        arguments = [key] + [amount] * len(counters)
        row = replica.row(key)
        if not counters or not set(counters) <= set(row):
            self.refused(one, sqlite3.OperationalError, sql, arguments)
        else:
            one.run(sql, arguments)
            visible = replica.is_visible(key)
            for counter, cell in row.items():
                if is_deleted(cell) and (counter in counters or not visible):
                    cell = reset(cell)
                if counter in counters:
                    cell = self.increments.add(cell, amount)
                replica.put(key, counter, cell)

    def update(self, one, key, name, amount):
        replica = one.replica
        if name not in replica.present():
            return
        one.run(f"UPDATE {replica.name} SET {quoted(name)} = {quoted(name)} + ?", [amount])
        for each in list(replica.visible()):
            counter = replica.row(each)[name]
            if amount and not is_deleted(counter):
                replica.put(each, name, self.increments.add(counter, amount))

    def assign(self, one, key, name, amount):
        replica = one.replica
        if name not in replica.present():
            return
        one.run(f"UPDATE {replica.name} SET {quoted(name)} = ? WHERE k = ?", [amount, key])
        if not replica.is_visible(key):
            return
        counter = replica.row(key)[name]
        counter, value = (reset(counter), None) if is_deleted(counter) else (counter, self.increments.value(counter))
        if value != amount:
            replica.put(key, name, self.increments.add(counter, amount - (value or 0)))

    def delete(self, one, key, name, amount):
        replica = one.replica
        one.run(f"DELETE FROM {replica.name} WHERE k = ?", [key])
        if replica.is_visible(key):
            for counter, cell in replica.row(key).items():
                replica.put(key, counter, delete(cell))

    def command(self, one, key, words):
        table = one.replica.name
        return f"INSERT INTO {table}({table}, k) VALUES (?, ?)", [words, key]

    def reset(self, one, key, name, amount):
        replica, command = one.replica, self.command(one, key, "reset")
        if not replica.present():
            return self.refused(one, sqlite3.OperationalError, *command)
        one.run(*command)
        for counter, cell in replica.row(key).items():
            replica.put(key, counter, reset(cell))

    def reset_one(self, one, key, name, amount):
        command = self.command(one, key, f"reset {name}")
        if name not in one.replica.present():
            return self.refused(one, sqlite3.OperationalError, *command)
        one.run(*command)
        one.replica.put(key, name, reset(one.replica.row(key)[name]))

    def delete_one(self, one, key, name, amount):
        command = self.command(one, key, f"delete {name}")
        if name not in one.replica.present():
            return self.refused(one, sqlite3.OperationalError, *command)
        one.run(*command)
        if key in one.replica.rows:
            one.replica.put(key, name, delete(one.replica.row(key)[name]))

    def alter(self, one, words, name, may):
        table, replica = one.replica.name, one.replica
        command = f"INSERT INTO {table}({table}) VALUES (?)", [words]
        if not may:
            return self.refused(one, sqlite3.OperationalError, *command)
        one.run(*command)
        replica.raise_to(name, replica.columns.get(name, NOWHERE).generation + 1)

    def add(self, one, key, name, amount):
        self.alter(one, f"add column {quoted(name)}", name, name not in one.replica.present())

    def drop(self, one, key, name, amount):
        present = one.replica.present()
        self.alter(one, f"drop column {name}", name, name in present and len(present) > 1)

    @rule(number=numbers, before=lists(steps, max_size=3),
          inside=lists(steps, min_size=1, max_size=4),
          end=sampled_from(["COMMIT", "ROLLBACK", "ROLLBACK TO s"]))
    def transaction(self, number, before, inside, end):
        one = self.pick(number)
        first = one.replica.copy()
        one.run("BEGIN")
        for step in before:
            self.do(one, *step)
        one.run("SAVEPOINT s")
        middle = one.replica.copy()
        for step in inside:
            self.do(one, *step)
        one.look()
        one.run(end)
        one.replica = {"COMMIT": one.replica, "ROLLBACK": first, "ROLLBACK TO s": middle}[end]
        if end == "ROLLBACK TO s":
            one.look()
            one.run("COMMIT")
        one.look()

    @rule(number=numbers)
    def rename(self, number):
        one = self.pick(number)
        name = "u" if one.replica.name == "t" else "t"
        one.run(f"ALTER TABLE {one.replica.name} RENAME TO {name}")
        one.replica.name = name
        one.look()

    @rule(number=numbers, how=sampled_from(["VACUUM", "cp", "pull"]))
    def copy(self, number, how):
        """Another file with the same content: a fork, or one that never had the table."""
        if len(self.files) == MOST_FILES:
            return
        one, path = self.pick(number), self.new_path()
        replica = one.replica.copy()
        if how == "VACUUM":
            one.run("VACUUM INTO ?", [path])
        elif how == "cp":
            one.db.close()
            shutil.copyfile(one.path, path)
            one.db = connect(one.path)
        else:
            replica = Replica(self.increments, {"a": NOWHERE})
            replica.columns = {}
            replica.merge(one.replica)
        made = File(path, replica)
        if how == "pull":
            made.run("SELECT * FROM counter_pull(?)", [one.path])
        self.files.append(made)
        made.look()

    # Exchange.

    @rule(number=numbers, other=numbers, full=booleans())
    def pull(self, number, other, full):
        one, other = self.two(number, other)
        call = "counter_pull(?, 'full')" if full else "counter_pull(?)"
        one.run(f"SELECT * FROM {call}", [other.path])
        one.replica.merge(other.replica)
        one.look()
        one.run("SELECT * FROM counter_pull(?)", [other.path])
        assert one.run("SELECT sum(rows_changed), sum(conflicts) FROM counter_pull(?)",
                       [other.path]) == [(0, 0)]

    @rule(number=numbers, other=numbers, both=booleans())
    def push(self, number, other, both):
        one, other = self.two(number, other)
        one.run("ATTACH ? AS guest", [other.path])
        one.run(f"SELECT * FROM {'counter_sync' if both else 'counter_push'}('guest')")
        one.run("DETACH guest")
        other.replica.merge(one.replica)
        if both:
            one.replica.merge(other.replica)
        one.look()
        other.look()

    def batch(self, giver, since):
        rows = giver.run(f"SELECT {FEED}, upto, counter_change_json(change), "
                         "CASE WHEN length(key) > 0 THEN counter_key_json(key) END "
                         "FROM counter_changes(?)", [since])
        held = giver.replica.copy()
        changes = []
        for *_, told, key in rows:
            told, change = json.loads(told), []
            for column in told.get("columns", [told]):
                name, generation = column["name"], column["generation"]
                assert held.columns[name].generation == generation
                cells = {json.loads(key)[0]: None} if "cell" in column else {}
                change.append((name, generation, {k: held.columns[name].cells[k] for k in cells}))
            changes.append(change)
        return Batch([row[:6] for row in rows], changes, rows and rows[0][4], since,
                     rows and rows[0][6], held)

    def apply(self, one, changes):
        for row, change in changes:
            one.run(f"INSERT INTO counter_changes({FEED}) VALUES (?, ?, ?, ?, ?, ?)", row)
            for column in change:
                one.replica.take(*column)

    @rule(number=numbers, other=numbers)
    def follow(self, number, other):
        """What is new since the mark, at once: then one has everything."""
        one, giver = self.two(number, other)
        source = giver.run("SELECT source FROM counter_changes(0) LIMIT 1")
        since = one.run("SELECT counter_mark(?)", source[0])[0][0] if source else 0
        batch = self.batch(giver, since)
        one.run("BEGIN")
        self.apply(one, zip(batch.rows, batch.changes))
        if batch.rows:
            one.run("SELECT counter_seen(?, ?, ?)", [batch.source, batch.since, batch.upto])
        one.run("COMMIT")
        one.look()
        if batch.rows:
            assert one.replica.has_all_of(self.touched(giver.replica))

    @staticmethod
    def touched(replica):
        """What a feed tells of a file."""
        told = replica.copy()
        told.columns = {name: one for name, one in told.columns.items() if one.generation > 1 or one.cells}
        return told

    @rule(number=numbers)
    def keep_batch(self, number):
        batch = self.batch(self.pick(number), 0)
        if batch.rows:
            self.batches.append(batch)

    @precondition(lambda self: self.batches)
    @rule(number=numbers, which=numbers, how=sampled_from(["whole", "part", "twice", "disorder"]))
    def apply_batch(self, number, which, how):
        """Late, to any file, with rows missing, repeated or in disorder."""
        one, batch = self.pick(number), self.batches[which % len(self.batches)]
        changes = list(zip(batch.rows, batch.changes))
        if how == "part":
            changes = self.random.sample(changes, min(3, len(changes)))
        elif how == "twice":
            changes += changes
        elif how == "disorder":
            self.random.shuffle(changes)
        self.apply(one, changes)
        one.look()

    def digest(self, one):
        return one.run("SELECT counter_table_digest(?)", [one.replica.name])

    @rule(number=numbers, other=numbers)
    def digests_tell_whether_contents_are_equal(self, number, other):
        one, other = self.two(number, other)
        same = one.replica.content() == other.replica.content()
        assert (self.digest(one) == self.digest(other)) == same

    # The end.

    def finish(self):
        self.bring_all_to_everyone()
        self.all_are_the_same()

    def teardown(self):
        for one in self.files:
            with contextlib.suppress(sqlite3.Error):
                one.db.close()
        if self.files:
            shutil.rmtree(self.folder)

    def bring_all_to_everyone(self):
        pairs = [(a, b) for a in range(len(self.files)) for b in range(len(self.files) - 1)]
        for _ in range(2):
            self.random.shuffle(pairs)
            for number, other in pairs:
                self.pull(number, other, self.random.random() < 0.3)

    def all_are_the_same(self):
        first = self.files[0]
        for one in self.files:
            assert one.replica.columns == first.replica.columns
            assert self.digest(one) == self.digest(first)
            one.run(f"INSERT INTO {one.replica.name}({one.replica.name}) VALUES ('integrity-check')")
            assert one.run("PRAGMA integrity_check") == [("ok",)]


def test_files_agree_on_the_columns_and_on_what_was_counted_in_them():
    run_machine(Columns, max(20, EXAMPLES // 8), steps=30)


# ---- several connections and processes -----------------------------------------------------------

journals = pytest.mark.parametrize("journal", ["WAL", "DELETE"])

# A statement that names what is not there makes SQLite read the schema anew, but once: if that is out of date, too, it
# says so in the last of these ways, of any table.
GONE = ("no such column: e", "table t has no column named e", "database schema has changed")


def new_file(path, journal="WAL"):
    db = connect(str(path), timeout=20)
    db.execute(f"PRAGMA journal_mode = {journal}")
    db.execute("PRAGMA synchronous = OFF")
    db.execute("CREATE VIRTUAL TABLE t USING counter(k TEXT PRIMARY KEY, a COUNTER, b COUNTER)")
    return db


@journals
def test_counts_are_exact_while_another_process_adds_and_drops_a_column(tmp_path, journal):
    """A column that is gone just now is an error that names it."""
    db, times, counted, missing = new_file(tmp_path / "one.db", journal), 300, 0, 0
    worker = subprocess.Popen([sys.executable, WORKER, "alter", str(tmp_path / "one.db"), str(times)],
                              stdout=subprocess.PIPE)
    while worker.poll() is None or not counted:
        db.execute("INSERT INTO t(k, a, b) VALUES ('k', 1, 2)")
        db.execute("UPDATE t SET a = a + 1, b = b + 2 WHERE k = 'k'")
        counted += 2
        for sql in ("INSERT INTO t(k, e) VALUES ('k', 1)", "UPDATE t SET e = e + 1",
                    "SELECT e FROM t WHERE k = 'k'"):
            try:
                db.execute(sql).fetchall()
            except sqlite3.OperationalError as error:
                assert str(error) in GONE
                missing += 1
        assert db.execute("SELECT a, b FROM t").fetchall() == [(counted, 2 * counted)]
    acknowledged, _ = worker.communicate()
    assert (worker.returncode, len(acknowledged)) == (0, 2 * times) and missing > 0
    assert db.execute("SELECT * FROM t").fetchall() == [("k", counted, 2 * counted)]
    assert db.execute("SELECT name, value FROM counter_state").fetchall() == [("e", 2 * times)]
    db.execute("INSERT INTO t(t) VALUES ('integrity-check')")
    db.close()


@journals
def test_two_processes_that_count_see_the_columns_of_a_third(tmp_path, journal):
    db, times = new_file(tmp_path / "one.db", journal), 2000
    workers = [subprocess.Popen([sys.executable, WORKER, "count", str(tmp_path / "one.db"), str(times)],
                                stdout=subprocess.PIPE) for _ in range(2)]
    altered = 0
    while altered < 10 or any(worker.poll() is None for worker in workers):
        db.execute("INSERT INTO t(t) VALUES ('add column e')")
        db.execute("INSERT INTO t(k, e) VALUES ('k', 7)")
        assert db.execute("SELECT e FROM t").fetchall() == [(7,)]
        db.execute("INSERT INTO t(t) VALUES ('drop column e')")
        altered += 1
    for worker in workers:
        acknowledged, _ = worker.communicate()
        assert (worker.returncode, len(acknowledged)) == (0, times)
    assert db.execute("SELECT * FROM t").fetchall() == [("k", 2 * times, 2 * times)]
    assert db.execute("SELECT name, value FROM counter_state").fetchall() == [("e", 2 * altered)]
    db.close()


@journals
def test_a_statement_prepared_before_a_column_came_goes_on(tmp_path, journal):
    """Python keeps statements prepared, by their text."""
    one = new_file(tmp_path / "one.db", journal)
    two = connect(str(tmp_path / "one.db"))
    statements = ("INSERT INTO t(k, a, b) VALUES ('k', 1, 1)", "UPDATE t SET a = a + 1, b = b + 1")
    for command in ("add column e", "drop column e", "add column e", "add column f", "drop column f"):
        for sql in statements:
            two.execute(sql)
        before = two.execute("SELECT a, b FROM t").fetchall()
        one.execute("INSERT INTO t(t) VALUES (?)", [command])
        for sql in statements:
            two.execute(sql)
        assert two.execute("SELECT a, b FROM t").fetchall() == [(n + 2, n + 2) for n, _ in before]
    two.execute("INSERT INTO t(k, e) VALUES ('k', 5)")
    assert one.execute("SELECT k, a, b, e FROM t").fetchall() == [("k", 20, 20, 5)]
    one.close()
    two.close()


def test_a_reader_goes_on_with_the_columns_that_it_began_with(tmp_path):
    one = new_file(tmp_path / "one.db")
    one.executemany("INSERT INTO t VALUES (?, 1, 2)", [(f"k{n}",) for n in range(100)])
    two = connect(str(tmp_path / "one.db"))
    reader = two.execute("SELECT k, a, b FROM t ORDER BY k")
    rows = [next(reader)]
    one.execute("INSERT INTO t(t) VALUES ('drop column b')")
    one.execute("INSERT INTO t(k, a) VALUES ('k0', 10)")
    rows += reader.fetchall()
    assert rows == [(f"k{n}", 1, 2) for n in sorted(range(100), key=str)]
    with pytest.raises(sqlite3.OperationalError, match="no such column: b"):
        two.execute("SELECT k, a, b FROM t ORDER BY k")
    assert two.execute("SELECT a FROM t WHERE k = 'k0'").fetchall() == [(11,)]
    one.close()
    two.close()


@pytest.mark.parametrize("command", ["add column e", "drop column b"])
def test_a_column_changes_under_a_reader_of_the_same_connection(tmp_path, command):
    """The reader ends as it began, or with an error; the next one sees the table as it is."""
    db = new_file(tmp_path / "one.db")
    db.executemany("INSERT INTO t VALUES (?, 1, 2)", [(f"k{n}",) for n in range(100)])
    reader = db.execute("SELECT k, a FROM t ORDER BY k")
    rows = [next(reader)]
    try:
        db.execute("INSERT INTO t(t) VALUES (?)", [command])
        changed = True
    except sqlite3.OperationalError as error:
        assert "locked" in str(error)
        changed = False
    rows += reader.fetchall()
    assert rows == [(f"k{n}", 1) for n in sorted(range(100), key=str)]
    assert (len(db.execute("SELECT * FROM t").fetchone()) != 3) == changed
    db.execute("UPDATE t SET a = a + 1")
    assert db.execute("SELECT min(a), max(a), count(*) FROM t").fetchone() == (2, 2, 100)
    db.execute("INSERT INTO t(t) VALUES ('integrity-check')")
    db.close()


def test_no_column_is_added_that_an_insert_would_have_no_parameter_for(tmp_path):
    db, other = connect(tmp_path / "main.db"), connect(tmp_path / "other.db")
    for each, counters in (db, 38), (other, 39):
        names = [f"c{i}" for i in range(counters)]
        each.execute(f"CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, {' COUNTER, '.join(names)} COUNTER)")
    db.setlimit(sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER, 40)
    said = "column {} cannot be added: the table has 39 columns, and more than 39 are too many for SQLite"
    with pytest.raises(sqlite3.Error) as error:
        db.execute("INSERT INTO v(v) VALUES ('add column more')")
    assert str(error.value) == "v: " + said.format("more")
    with pytest.raises(sqlite3.Error) as error:
        db.execute("SELECT * FROM counter_pull(?)", [str(tmp_path / "other.db")]).fetchall()
    assert str(error.value) == "counter_pull: table v: " + said.format("c38")
    db.execute(f"INSERT INTO v VALUES ('x'{', 1' * 38})")
    assert db.execute("SELECT * FROM v").fetchall() == [("x", *[1] * 38)]


@pytest.mark.parametrize("commands, column", [(["drop column a"], "b"), (["add column z"], "z"),
                                              (["drop column a", "add column z"], "z")])
def test_a_statement_that_runs_while_columns_change_is_refused_and_counts_nothing(commands, column):
    """The counters of memory have other numbers then than the ones that it was prepared for."""
    with contextlib.closing(connect(":memory:")) as db:
        db.execute("CREATE VIRTUAL TABLE t USING counter(k INTEGER PRIMARY KEY, a COUNTER, b COUNTER)")
        db.executemany("INSERT INTO t VALUES (?, 1000, 2)", ((k,) for k in range(20)))
        seen = []

        def change(k):
            seen.append(k)
            if len(seen) == 3:
                for command in commands:
                    db.execute("INSERT INTO t(t) VALUES (?)", [command])
                for i in range(20):
                    db.execute(f"UPDATE t SET {column} = 5 WHERE k = ?", [i])
            return k

        db.create_function("change", 1, change)
        with pytest.raises(sqlite3.Error, match="a column was added or dropped while this statement ran"):
            db.execute("UPDATE t SET b = b + 1 WHERE change(k) >= 0")
        db.execute("INSERT INTO t(t) VALUES ('integrity-check')")
        assert len(set(db.execute("SELECT b FROM t"))) == 1
        db.execute("UPDATE t SET b = 7")
        assert set(db.execute("SELECT b FROM t")) == {(7,)}


def test_a_read_that_runs_while_columns_change_shows_no_other_counter():
    with contextlib.closing(connect(":memory:")) as db:
        db.execute("CREATE VIRTUAL TABLE t USING counter(k INTEGER PRIMARY KEY, a COUNTER, b COUNTER)")
        db.executemany("INSERT INTO t VALUES (?, 1000, 2)", ((k,) for k in range(20)))
        rows = db.execute("SELECT y.k, x.a, x.b FROM t AS y CROSS JOIN t AS x ON x.k = y.k")
        assert rows.fetchone() == (0, 1000, 2)
        for command in "drop column a", "add column z":
            db.execute("INSERT INTO t(t) VALUES (?)", [command])
        for i in range(20):
            db.execute("UPDATE t SET z = 5 WHERE k = ?", [i])
        with pytest.raises(sqlite3.Error, match="a column was added or dropped while this statement ran"):
            for row in rows:
                assert row[2] == 2
