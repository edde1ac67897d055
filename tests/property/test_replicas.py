"""test_replicas.py - two to five files count, assign, delete, reset, roll back and pull from each
other.

Each must show what the sets of oracle.py say, after every step; and all must be the same once
everything has reached everyone."""

import contextlib
import pathlib
import random
import shutil
import sqlite3
import tempfile

import pytest

from files import connect, copy_live, is_locked
from oracle import Increments, Refused, Table, is_live
from randomly import (Machine, booleans, initialize, integers, invariant, lists, none, precondition,
                      rule, run_machine, sampled_from, tuples)

COUNTERS = ["hits", "bytes"]

# Declaration of the key, its columns, three keys: few, so that replicas meet in the same rows.
KEYS = {
    "text": ("path TEXT PRIMARY KEY", ["path"], [("/",), ("/a",), ("/b",)]),
    "integer": ("hour INTEGER PRIMARY KEY", ["hour"], [(-1,), (0,), (12,)]),
    "pair": ("path TEXT, hour INTEGER, PRIMARY KEY (path, hour)", ["path", "hour"],
             [("/", 1), ("/", 2), ("/a", 1)]),
}


class Replica:
    """One file and the connection of the application that counts in it.

    `committed` is what any other connection must find in the file, None while it has no counter
    table. In a transaction `pending` maps the number of each replica that it has touched, by a push
    others than this one, to the table to be; `savepoints` are older copies of it."""

    def __init__(self, number, path, journal, committed):
        self.number, self.path, self.committed = number, path, committed
        self.pending, self.savepoints = None, []
        self.journal, self.attached = journal, ()
        self.open()

    def open(self):
        self.db = connect(self.path)
        self.db.execute(f"PRAGMA journal_mode = {self.journal}")
        self.db.execute("PRAGMA synchronous = OFF")
        for other in self.attached:
            self.db.execute(f"ATTACH ? AS r{other.number}", [other.path])

    def attach(self, others):
        self.attached = others
        self.db.close()
        self.open()

    @property
    def in_transaction(self):
        return self.pending is not None

    @property
    def table(self):
        """What this connection must find in its own file."""
        return (self.pending or {}).get(self.number, self.committed)


def copies(pending):
    return {number: table and table.copy() for number, table in pending.items()}


def spelled(chance, n):
    """A number as some host binds it."""
    if n is None:
        return None
    return chance.choice([n, n, n, float(n), str(n), f" {n} ", f"{n}.0", f"{n}e0"])


numbers = integers(0, 4)
amounts = integers(-3, 5) | sampled_from([10**12, -10**12])
perhaps = tuples(*[none() | amounts] * len(COUNTERS))


class Replicas(Machine):
    replicas = ()

    @initialize(key=sampled_from(sorted(KEYS)), chance=integers(0, 2**32),
                journals=lists(sampled_from(["WAL", "DELETE"]), min_size=2, max_size=5),
                bare=booleans(),
                rows=lists(tuples(numbers, integers(0, 2), perhaps), max_size=12))
    def start(self, key, chance, journals, bare, rows):
        """All replicas but perhaps the last begin with the table, and with some rows."""
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="counter-"))
        self.random = random.Random(chance)
        self.increments = Increments()
        self.declaration, self.key_columns, self.keys = KEYS[key]
        self.replicas, self.snapshots = [], []
        for number, journal in enumerate(journals):
            committed = Table(self.increments, len(COUNTERS))
            if bare and number == len(journals) - 1:
                committed = None
            one = Replica(number, str(self.folder / f"{number}.db"), journal, committed)
            one.db.execute("CREATE TABLE plain(x)")
            if committed:
                self.create_table(one)
            self.replicas.append(one)
        for one in self.replicas:
            one.attach([other for other in self.replicas if other is not one])
        for number, row, amounts in rows:
            self.insert_rows(self.pick(number), "ABORT", [(row, amounts)])

    def create_table(self, one):
        declaration = self.declaration.split(", PRIMARY KEY")
        columns = ", ".join([declaration[0], *(f"{c} COUNTER" for c in COUNTERS), *(
            f"PRIMARY KEY{tail}" for tail in declaration[1:])])
        one.db.execute(f"CREATE VIRTUAL TABLE page_views USING counter({columns})")

    # How a statement is run and judged.

    def pick(self, number):
        return self.replicas[number % len(self.replicas)]

    def run(self, one, sql, arguments=(), touches=()):
        """Runs a statement. A lock is excused where some other transaction may hold it, or where
        this one has read a file that others have written since; nothing has changed and the
        answer is None."""
        excused = any(other.in_transaction for other in self.replicas if other is not one)
        excused = excused or one.in_transaction and any(other is not one for other in touches)
        try:
            cursor = one.db.execute(sql, arguments)
            rows = cursor.fetchall()
            return cursor.rowcount, rows
        except sqlite3.OperationalError as error:
            if excused and is_locked(error):
                return None
            raise

    def change(self, one, sql, arguments, foresee):
        """Runs a statement. `foresee` does it to a copy of the table: the rows it counts,
        or Refused."""
        table, refused = one.table.copy(), None
        try:
            expected = foresee(table)
        except Refused as refusal:
            refused = sqlite3.IntegrityError if refusal.kind == "constraint" else sqlite3.Error
        if refused:
            with pytest.raises(refused):
                if self.run(one, sql, arguments) is None:
                    raise refused("locked instead")
            return
        done = self.run(one, sql, arguments)
        if done is None:
            return
        if expected is not None:
            assert done[0] == expected, f"{done[0]} rows changed, not {expected}"
        self.keep(one, one, table)

    def keep(self, one, touched, table):
        """The statement of replica `one` has made `table` of the table of replica `touched`."""
        if one.in_transaction:
            one.pending[touched.number] = table
        else:
            touched.committed = table

    # What an application does.

    wheres = sampled_from([0, 1, 2, 0, 1, 2, "all", "first"])

    def where(self, where):
        """A condition on the key, and the keys that satisfy it."""
        if where == "all":
            return "1", [], self.keys
        columns, key = self.key_columns, self.keys[0 if where == "first" else where]
        if where == "first":
            columns, key = columns[:1], key[:1]
        condition = " AND ".join(f"{column} = ?" for column in columns)
        return condition, list(key), [k for k in self.keys if k[:len(key)] == key]

    @rule(number=numbers, conflict=sampled_from(["ABORT"] * 3 + ["IGNORE", "REPLACE"]),
          rows=lists(tuples(integers(0, 2), perhaps), min_size=1, max_size=3))
    def insert(self, number, conflict, rows):
        self.insert_rows(self.pick(number), conflict, rows)

    def insert_rows(self, one, conflict, rows):
        if one.table is None:
            return
        columns = ", ".join(self.key_columns + COUNTERS)
        marks = ", ".join("?" * (len(self.key_columns) + len(COUNTERS)))
        values = ", ".join([f"({marks})"] * len(rows))
        arguments = [x for key, amounts in rows
                     for x in (*self.keys[key], *(spelled(self.random, n) for n in amounts))]
        self.change(one, f"INSERT OR {conflict} INTO main.page_views({columns}) VALUES {values}",
                    arguments,
                    lambda table: sum(table.insert(self.keys[key], amounts, conflict)
                                      for key, amounts in rows))

    @rule(number=numbers, where=wheres, amounts=tuples(amounts, amounts),
          columns=sampled_from([[0], [1], [0, 1]]))
    def update(self, number, where, amounts, columns):
        one = self.pick(number)
        if one.table is None:
            return
        sets = ", ".join(f"{COUNTERS[i]} = {COUNTERS[i]} + ?" for i in columns)
        condition, arguments, keys = self.where(where)

        def foresee(table):
            hit = [key for key in keys if table.is_visible(key)]
            for key in hit:
                table.update(key, [amounts[i] if i in columns else 0 for i in range(len(COUNTERS))])
            return len(hit)
        self.change(one, f"UPDATE main.page_views SET {sets} WHERE {condition}",
                    [*(amounts[i] for i in columns), *arguments], foresee)

    @rule(number=numbers, where=wheres, values=tuples(amounts, amounts),
          columns=sampled_from([[0], [1], [0, 1]]))
    def assign(self, number, where, values, columns):
        one = self.pick(number)
        if one.table is None:
            return
        sets = ", ".join(f"{COUNTERS[i]} = ?" for i in columns)
        condition, arguments, keys = self.where(where)

        def foresee(table):
            hit = [key for key in keys if table.is_visible(key)]
            for key in hit:
                table.assign(key, [values[i] if i in columns else None for i in range(len(COUNTERS))])
            return len(hit)
        self.change(one, f"UPDATE main.page_views SET {sets} WHERE {condition}",
                    [*(spelled(self.random, values[i]) for i in columns), *arguments], foresee)

    @rule(number=numbers, where=wheres)
    def delete(self, number, where):
        one = self.pick(number)
        if one.table is None:
            return
        condition, arguments, keys = self.where(where)

        def foresee(table):
            hit = [key for key in keys if table.is_visible(key)]
            for key in hit:
                table.delete(key)
            return len(hit)
        self.change(one, f"DELETE FROM main.page_views WHERE {condition}", arguments, foresee)

    @rule(number=numbers, key=integers(0, 2), amounts=perhaps,
          verb=sampled_from(["reset", "reset hits", "reset bytes", "delete hits", "delete bytes"]),
          careless=sampled_from([False] * 4 + [True]))
    def command(self, number, key, verb, amounts, careless):
        """Only the careless give values for counters that the command does not name: refused."""
        one = self.pick(number)
        if one.table is None:
            return
        word, *name = verb.split()
        named = [COUNTERS.index(n) for n in name] or range(len(COUNTERS))
        if not careless:
            amounts = [n if i in named and word == "reset" else None for i, n in enumerate(amounts)]
        columns = ", ".join(["page_views", *self.key_columns, *COUNTERS])
        marks = ", ".join("?" * (1 + len(self.key_columns) + len(COUNTERS)))

        def foresee(table):
            table.command(self.keys[key], word, named, amounts)
        self.change(one, f"INSERT INTO main.page_views({columns}) VALUES ({marks})",
                    [verb, *self.keys[key], *amounts], foresee)

    # Transactions. They lock their file from the start, so that what they see stands still.

    @rule(number=numbers, begin=sampled_from(["BEGIN", "SAVEPOINT begin"]))
    def begin(self, number, begin):
        one = self.pick(number)
        if one.in_transaction:
            return
        one.db.execute(begin)
        if self.run(one, "DELETE FROM plain") is None:
            one.db.execute("ROLLBACK")
        else:
            one.pending, one.savepoints = {one.number: one.committed}, []

    @precondition(lambda self: any(one.in_transaction for one in self.replicas))
    @rule(number=numbers, depth=integers(0, 2), go_on=sampled_from(
        ["savepoint", "rollback to", "commit"] * 2 + ["release", "rollback", "reopen"]))
    def go_on(self, number, go_on, depth):
        inside = [one for one in self.replicas if one.in_transaction]
        one = inside[number % len(inside)]
        if go_on == "savepoint":
            one.db.execute(f"SAVEPOINT s{len(one.savepoints)}")
            one.savepoints.append(copies(one.pending))
        elif go_on in ("release", "rollback to"):
            self.leave_savepoint(one, depth, go_on == "release")
        elif go_on == "rollback":
            self.roll_back(one)
        elif go_on == "commit":
            self.commit(one)
        else:
            self.reopen(one)

    def leave_savepoint(self, one, depth, release):
        if not one.savepoints:
            return
        depth = depth % len(one.savepoints)
        if not release:
            one.db.execute(f"ROLLBACK TO s{depth}")
            one.pending = copies(one.savepoints[depth])
        one.db.execute(f"RELEASE s{depth}")
        del one.savepoints[depth:]

    def roll_back(self, one):
        one.db.execute("ROLLBACK")
        one.pending, one.savepoints = None, []

    def commit(self, one):
        """One gives up where another transaction, a reader of a pushed file, holds the commit
        up."""
        if self.run(one, "COMMIT") is None:
            return self.roll_back(one)
        for touched, table in one.pending.items():
            self.replicas[touched].committed = table
        one.pending, one.savepoints = None, []

    def reopen(self, one):
        """What was pending is gone, the identity is still there."""
        one.db.close()
        one.pending, one.savepoints = None, []
        one.open()

    # Between files. Only committed content of the giving file travels.

    def moved(self, one, call, argument, moves):
        """Runs a sync; `moves` are pairs (giver's committed table, taker). A taker to whom nothing
        is new is not even locked."""
        tables, changed = {}, 0
        for given, taker in moves:
            seen = (one.pending or {}).get(taker.number, taker.committed)
            table = seen.copy() if seen else Table(self.increments, len(COUNTERS))
            news = table.merge(given)
            changed += news
            if news or not seen:
                tables[taker.number] = table
        done = self.run(one, f"SELECT table_name, rows_changed, conflicts FROM {call}(?)",
                        [argument], [taker for _, taker in moves])
        if done is not None:
            assert done[1] == [("page_views", changed, 0)]
            for number, table in tables.items():
                self.keep(one, self.replicas[number], table)

    @rule(number=numbers, other=numbers,
          how=sampled_from(["schema", "path", "new schema", "push", "sync"]))
    def exchange(self, number, other, how):
        one, other = self.pick(number), self.pick(other)
        if one is other:
            return
        if how == "push" and one.committed is not None:
            self.moved(one, "counter_push", f"r{other.number}", [(one.committed, other)])
        elif how == "sync" and None not in (one.committed, other.committed):
            self.moved(one, "counter_sync", f"r{other.number}",
                       [(other.committed, one), (one.committed, other)])
        elif how not in ("push", "sync"):
            self.pull(one, other, how)

    def pull(self, one, other, how):
        if other.committed is None:
            with pytest.raises(sqlite3.Error):
                one.db.execute("SELECT * FROM counter_pull(?)", [other.path]).fetchall()
        elif how == "path":
            self.moved(one, "counter_pull", other.path, [(other.committed, one)])
        elif how == "new schema" and not one.in_transaction:
            one.db.execute("ATTACH ? AS guest", [other.path])
            self.moved(one, "counter_pull", "guest", [(other.committed, one)])
            one.db.execute("DETACH guest")
        else:
            self.moved(one, "counter_pull", f"r{other.number}", [(other.committed, one)])

    # Stale copies of a file: sources of pulls, never counted in.

    @rule(number=numbers, by=sampled_from(["cp", "VACUUM INTO", "backup"]))
    def take_snapshot(self, number, by):
        one = self.pick(number)
        if one.committed is None:
            return
        path = str(self.folder / f"snapshot{len(self.snapshots)}.db")
        if by == "cp" or one.in_transaction:
            copy_live(one.path, path)
        elif by == "VACUUM INTO":
            one.db.execute("VACUUM INTO ?", [path])
        else:
            with contextlib.closing(sqlite3.connect(path)) as to:
                one.db.backup(to)
        self.snapshots.append((path, one.committed.copy()))

    @precondition(lambda self: self.snapshots)
    @rule(number=numbers, which=integers(0, 9))
    def pull_from_snapshot(self, number, which):
        path, table = self.snapshots[which % len(self.snapshots)]
        one = self.pick(number)
        self.moved(one, "counter_pull", path, [(table, one)])

    # What must always hold, and what must hold in the end.

    def shown(self, one):
        columns = ", ".join(self.key_columns + COUNTERS)
        width = len(self.key_columns)
        rows = one.db.execute(f"SELECT {columns} FROM main.page_views")
        return {row[:width]: row[width:] for row in rows}

    @invariant()
    def every_replica_shows_what_the_oracle_says(self):
        for one in self.replicas:
            if one.table is not None:
                assert self.shown(one) == one.table.visible(), f"replica {one.number}"

    def finish(self):
        self.bring_everything_to_everyone()
        self.all_are_the_same()
        self.pulling_again_changes_nothing()
        self.everything_closes()

    def teardown(self):
        for one in self.replicas:
            one.db.close()
        if self.replicas:
            shutil.rmtree(self.folder)

    def bring_everything_to_everyone(self):
        for one in self.replicas:
            if one.in_transaction:
                self.roll_back(one)
        pairs = [(a, b) for a in self.replicas for b in self.replicas if a is not b]
        for _ in range(2):
            self.random.shuffle(pairs)
            for one, other in pairs + self.random.choices(pairs, k=2):
                if other.committed is not None:
                    self.moved(one, "counter_pull", other.path, [(other.committed, one)])
        self.every_replica_shows_what_the_oracle_says()

    def all_are_the_same(self):
        digests = ", ".join(f"counter_digest({c})" for c in COUNTERS)
        lives = ", ".join(f"counter_json({c}) ->> 'life', counter_value({c})" for c in COUNTERS)
        keys = ", ".join(self.key_columns)
        first = self.replicas[0]
        for one in self.replicas:
            one.db.execute("INSERT INTO main.page_views(page_views) VALUES ('optimize')")
        sql = f"SELECT {keys}, {digests} FROM main.page_views_cells ORDER BY {keys}"
        everywhere = [one.db.execute(sql).fetchall() for one in self.replicas]
        assert all(cells == everywhere[0] for cells in everywhere), "digests differ"
        expected = first.committed.rows
        assert all(one.committed.rows == expected for one in self.replicas), "oracle differs"
        width = len(self.key_columns)
        stored = {row[:width]: row[width:] for row in first.db.execute(
            f"SELECT {keys}, {lives} FROM main.page_views_cells")}
        assert stored == {key: tuple(x for c in row for x in self.told(c))
                          for key, row in expected.items()}
        for one in self.replicas:
            one.db.execute("INSERT INTO main.page_views(page_views) VALUES ('integrity-check')")
            assert one.db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]

    def told(self, counter):
        """Life and value of a stored cell, as counter_json and counter_value tell them."""
        if is_live(counter):
            return counter.life, self.increments.value(counter)
        return counter.life if counter.life > 1 else None, None

    def pulling_again_changes_nothing(self):
        for one in self.replicas:
            for other in self.replicas:
                if one is not other:
                    self.moved(one, "counter_pull", f"r{other.number}", [(other.committed, one)])
                    rows = one.db.execute("SELECT rows_changed FROM counter_pull(?)", [other.path])
                    assert rows.fetchall() == [(0,)]

    def everything_closes(self):
        for one in self.replicas:
            one.db.close()


def test_replicas_show_every_increment_once_and_agree_in_the_end():
    run_machine(Replicas, steps=50)
