"""test_ddl.py - tables that come, go, are renamed, altered, tracked and untracked while others count: each count stays in
its own table, whatever SQLite moves within the file, and whatever savepoints take back.

The model is a copy of all contents for each open savepoint. Ordinary tables of the application are in it, too: with
auto_vacuum, SQLite moves tables within the file at each DROP.
"""

import contextlib
import copy
import os
import tempfile

from conftest import EXAMPLES
from files import connect
from randomly import (Machine, booleans, initialize, integers, invariant, precondition, rule, run_machine,
                      sampled_from)

NAMES, KEYS, DEEPEST = "abcdef", "xyz", 4
keys, amounts, choices = sampled_from(KEYS), integers(-9, 99), integers(0, 99)


class Content:
    """What the file holds: counter tables, tables that may be tracked, other tables; each by its name."""

    def __init__(self):
        self.counted, self.ordinary, self.tracked, self.plain = {}, {}, set(), {}
        self.births = {}  # of counter tables and tracked ones; no other table may have such a name
        self.altered = set()  # counter tables with a second counter

    def names(self):
        return {*self.counted, *self.ordinary, *self.plain, *self.births.values()}


class Schema(Machine):
    @initialize(auto_vacuum=integers(0, 2), journal=sampled_from(["WAL", "DELETE", "MEMORY"]))
    def start(self, auto_vacuum, journal):
        self.folder = tempfile.TemporaryDirectory(prefix="counter-")
        self.path = os.path.join(self.folder.name, "main.db")
        self.db, self.now, self.stack, self.committed = connect(self.path), Content(), [], None
        self.run(f"PRAGMA auto_vacuum = {auto_vacuum}")
        self.run(f"PRAGMA journal_mode = {journal}")
        self.run("PRAGMA synchronous = OFF")

    def run(self, sql, *values):
        return self.db.execute(sql, *values).fetchall()

    def free(self, choice):
        """A name that no table has, or None."""
        free = [name for name in NAMES if name not in self.now.names()]
        return free[choice % len(free)] if free else None

    @staticmethod
    def among(names, choice):
        return sorted(names)[choice % len(names)]

    # Tables.

    @rule(choice=choices)
    def create_counter_table(self, choice):
        if name := self.free(choice):
            self.run(f"CREATE VIRTUAL TABLE {name} USING counter(k TEXT PRIMARY KEY, n COUNTER)")
            self.now.counted[name], self.now.births[name] = {}, name

    @rule(choice=choices)
    def create_ordinary_table(self, choice):
        if name := self.free(choice):
            self.run(f"CREATE TABLE {name}(k TEXT PRIMARY KEY, n INTEGER)")
            self.now.ordinary[name] = {}

    @rule(choice=choices, indexed=booleans())
    def create_plain_table(self, choice, indexed):
        if name := self.free(choice):
            self.run(f"CREATE TABLE {name}(a INTEGER PRIMARY KEY, b, c)")
            if indexed:
                self.run(f"CREATE INDEX index_{name} ON {name}(b)")
            self.now.plain[name] = 0

    @precondition(lambda self: self.now.counted)
    @rule(choice=choices)
    def drop_counter_table(self, choice):
        name = self.among(self.now.counted, choice)
        self.run(f"DROP TABLE {name}")
        del self.now.counted[name], self.now.births[name]
        self.now.altered.discard(name)

    @precondition(lambda self: self.now.plain)
    @rule(choice=choices)
    def drop_plain_table(self, choice):
        name = self.among(self.now.plain, choice)
        self.run(f"DROP TABLE {name}")
        del self.now.plain[name]

    @precondition(lambda self: self.now.counted)
    @rule(choice=choices, to=choices)
    def rename_counter_table(self, choice, to):
        name, to = self.among(self.now.counted, choice), self.free(to)
        if to:
            self.run(f"ALTER TABLE {name} RENAME TO {to}")
            for of in self.now.counted, self.now.births:
                of[to] = of.pop(name)
            if name in self.now.altered:
                self.now.altered ^= {name, to}

    @precondition(lambda self: self.now.counted)
    @rule(choice=choices)
    def add_or_drop_a_counter(self, choice):
        name = self.among(self.now.counted, choice)
        self.run(f"INSERT INTO {name}({name}) VALUES (?)",
                 ["drop column m" if name in self.now.altered else "add column m"])
        self.now.altered ^= {name}

    @precondition(lambda self: self.now.ordinary)
    @rule(choice=choices)
    def track_or_untrack(self, choice):
        name = self.among(self.now.ordinary, choice)
        if name in self.now.tracked:
            self.run(f"SELECT counter_untrack('{name}')")
            del self.now.births[f"{name}_counters"]
        else:
            self.run(f"SELECT counter_track('{name}', 'n', 'values=again')")
            self.now.births[f"{name}_counters"] = name
        self.now.tracked ^= {name}

    # Rows.

    @precondition(lambda self: self.now.counted)
    @rule(choice=choices, key=keys, n=amounts)
    def count(self, choice, key, n):
        name = self.among(self.now.counted, choice)
        self.run(f"INSERT INTO {name}(k, n) VALUES (?, ?)", [key, n])
        rows = self.now.counted[name]
        rows[key] = rows.get(key, 0) + n

    @precondition(lambda self: self.now.counted)
    @rule(choice=choices, n=amounts)
    def count_in_all_rows(self, choice, n):
        name = self.among(self.now.counted, choice)
        self.run(f"UPDATE {name} SET n = n + ?", [n])
        self.now.counted[name] = {key: was + n for key, was in self.now.counted[name].items()}

    @precondition(lambda self: self.now.ordinary)
    @rule(choice=choices, key=keys, n=amounts)
    def count_in_an_ordinary_table(self, choice, key, n):
        name = self.among(self.now.ordinary, choice)
        self.run(f"INSERT INTO {name}(k, n) VALUES (?, ?) ON CONFLICT(k) DO UPDATE SET n = n + excluded.n", [key, n])
        rows = self.now.ordinary[name]
        rows[key] = rows.get(key, 0) + n

    @precondition(lambda self: self.now.ordinary)
    @rule(choice=choices, key=keys)
    def delete_from_an_ordinary_table(self, choice, key):
        name = self.among(self.now.ordinary, choice)
        self.run(f"DELETE FROM {name} WHERE k = ?", [key])
        self.now.ordinary[name].pop(key, None)

    @precondition(lambda self: self.now.plain)
    @rule(choice=choices)
    def write_a_plain_table(self, choice):
        name = self.among(self.now.plain, choice)
        self.now.plain[name] += 1
        self.run(f"INSERT INTO {name}(b) VALUES (?)", [self.now.plain[name]])

    # Transactions.

    @rule()
    def begin_or_savepoint(self):
        if self.committed is None:
            self.run("BEGIN")
            self.committed = copy.deepcopy(self.now)
        elif len(self.stack) < DEEPEST:
            self.run(f"SAVEPOINT s{len(self.stack)}")
            self.stack.append(copy.deepcopy(self.now))

    @precondition(lambda self: self.stack)
    @rule(choice=choices)
    def rollback_to(self, choice):
        which = choice % len(self.stack)
        self.run(f"ROLLBACK TO s{which}")
        self.now = copy.deepcopy(self.stack[which])
        del self.stack[which + 1:]

    @precondition(lambda self: self.stack)
    @rule(choice=choices)
    def release(self, choice):
        which = choice % len(self.stack)
        self.run(f"RELEASE s{which}")
        del self.stack[which:]

    @precondition(lambda self: self.committed)
    @rule(commits=integers(0, 3))
    def end(self, commits):
        self.run("COMMIT" if commits else "ROLLBACK")
        self.now = self.now if commits else self.committed
        self.committed, self.stack = None, []

    # What must hold.

    def shown(self, db):
        now = self.now
        for name, rows in [*now.counted.items(), *now.ordinary.items()]:
            assert dict(db.execute(f"SELECT k, n FROM {name}")) == rows, f"{name} shows something else"
        for name in now.tracked:
            counters = dict(db.execute(f"SELECT k, n FROM {name}_counters"))
            assert counters == now.ordinary[name], f"the counters of {name} are others"
        for name, n in now.plain.items():
            assert db.execute(f"SELECT a, b, c FROM {name}").fetchall() == [(i + 1, i + 1, None) for i in range(n)]

    @rule()
    def look(self):
        self.shown(self.db)

    @invariant()
    def another_connection_sees_what_is_committed(self):
        if self.committed is None:
            with contextlib.closing(connect(self.path)) as db:
                self.shown(db)

    def teardown(self):
        if self.committed is not None:
            self.run("COMMIT")
        self.shown(self.db)
        assert self.run("PRAGMA integrity_check") == [("ok",)]
        for name in [*self.now.counted, *(f"{name}_counters" for name in self.now.tracked)]:
            self.run(f"INSERT INTO {name}({name}) VALUES ('integrity-check')")
        self.db.close()
        self.folder.cleanup()


def test_counts_stay_in_their_tables_while_the_schema_changes():
    run_machine(Schema, examples=max(20, EXAMPLES // 2), steps=60)
