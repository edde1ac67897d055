"""test_cluster_names.py - clusters that are created, dropped and renamed within transactions and savepoints, of which some
are rolled back: whoever counts through a name counts in the table that the cluster of this name was declared for, and a
name that has no cluster is refused. Statements that are still read hold clusters that are no more.
"""

import contextlib
import copy
import sqlite3

from files import connect
from randomly import given, just, lists, one_of, sampled_from, tuples

NAMES = "c", "d", "e"
CHANGED = "it has changed while another statement reads it"  # the schema, of temp for one
TABLES = "u", "v", "w"
names, tables = sampled_from(NAMES), sampled_from(TABLES)
steps = one_of(
    tuples(just("create"), names, tables), tuples(just("drop"), names),
    tuples(just("rename"), names, names), tuples(just("insert"), names),
    tuples(just("add"), names), tuples(just("hold"), names),
    tuples(sampled_from(["let go", "vacuum", "begin", "commit", "rollback", "savepoint",
                         "release", "back"])))


class Clusters:
    """The connection, and what it must show: `declared` from name to table, `sums` from table to sum."""

    def __init__(self, db):
        self.db, self.held = db, []
        self.declared, self.sums = {}, dict.fromkeys(TABLES, 0)
        self.before, self.stack = None, []  # at BEGIN and at each savepoint
        for table in TABLES:
            db.execute(f"CREATE VIRTUAL TABLE {table} USING counter(k TEXT PRIMARY KEY, n COUNTER)")

    def state(self):
        return copy.deepcopy((self.declared, self.sums))

    def go_back(self, state):
        self.declared, self.sums = copy.deepcopy(state)

    def run(self, sql, refused=None):
        """What it gives; None: it was refused by one of these sentences."""
        try:
            return self.db.execute(sql).fetchall()
        except sqlite3.OperationalError as error:
            allowed = (refused or []) + ([CHANGED] if self.held else [])
            assert any(words in str(error) for words in allowed), (sql, str(error))
            return None

    # ---- clusters

    def create(self, name, table):
        sql = f"CREATE VIRTUAL TABLE temp.{name} USING counter_cluster({table}, replicas='main')"
        done = self.run(sql, ["already exists"] if name in self.declared else None)
        if done is not None:
            assert name not in self.declared
            self.declared[name] = table

    def drop(self, name):
        """One that has written in the transaction, or is being read, is locked."""
        if self.run(f"DROP TABLE temp.{name}", ["locked"] if name in self.declared else ["no such table"]) is not None:
            del self.declared[name]

    def rename(self, name, to):
        refused = ["no such table"] if name not in self.declared else \
            ["already another table"] if to in self.declared else ["locked"]
        if self.run(f"ALTER TABLE temp.{name} RENAME TO {to}", refused) is not None:
            self.declared[to] = self.declared.pop(name)

    # ---- counting

    def insert(self, name):
        if self.run(f"INSERT INTO {name} VALUES ('k', 1)", None if name in self.declared else ["no such table"]) is not None:
            self.sums[self.declared[name]] += 1

    def add(self, name):
        refused = None if name in self.declared else ["there is no counter table"]
        told = self.run(f"SELECT counter_add('{name}', 'n', 1, 'k')", refused)
        if told is not None:
            self.sums[self.declared[name]] += 1
            assert told == [(self.sums[self.declared[name]],)]

    def hold(self, name):
        if name in self.declared:
            self.held.append(self.db.cursor())
            with contextlib.suppress(sqlite3.OperationalError):  # CHANGED
                self.held[-1].execute(f"SELECT count(*) FROM {name} UNION ALL SELECT 1 UNION ALL SELECT 2").fetchone()

    def let_go(self):
        for statement in self.held:
            statement.close()
        self.held = []

    def vacuum(self):
        """SQLite reads the schemas anew, and lets go of all tables."""
        if self.before is None and not self.stack and not self.held:
            self.run("VACUUM")

    # ---- transactions

    def begin(self):
        if self.before is None and not self.stack:
            self.before = self.state()
            self.run("BEGIN")

    def commit(self):
        if self.before is not None or self.stack:
            self.run("COMMIT")
            self.before, self.stack = None, []

    def rollback(self):
        if self.before is not None or self.stack:
            self.run("ROLLBACK")
            self.go_back(self.before if self.before is not None else self.stack[0])
            self.before, self.stack = None, []

    def savepoint(self):
        self.stack.append(self.state())
        self.run(f"SAVEPOINT s{len(self.stack)}")

    def release(self):
        if self.stack:
            self.run(f"RELEASE s{len(self.stack)}")
            self.stack.pop()

    def back(self):
        if self.stack:
            self.run(f"ROLLBACK TO s{len(self.stack)}")
            self.go_back(self.stack[-1])

    # ---- what stands

    def check(self):
        for table in TABLES:
            assert self.db.execute(f"SELECT coalesce(sum(n), 0) FROM {table}").fetchone() == (self.sums[table],)
        for name in NAMES:
            status = f"SELECT count(*) FROM counter_cluster_status('{name}')"
            if name in self.declared:
                told = self.run(f"SELECT coalesce(sum(n), 0) FROM {name}")
                assert told in (None, [(self.sums[self.declared[name]],)]), name
                assert self.run(status) in (None, [(1,)]), name
            else:
                assert self.run(f"SELECT * FROM {name}", ["no such table"]) is None
                assert self.run(status, ["no cluster has the name"]) is None


@given(plan=lists(steps, max_size=30))
def test_a_name_counts_where_its_cluster_was_declared_to(plan):
    with contextlib.closing(connect(":memory:")) as db:
        clusters = Clusters(db)
        for what, *arguments in plan:
            getattr(clusters, what.replace(" ", "_"))(*arguments)
            clusters.check()
        clusters.let_go()
        clusters.rollback()
        clusters.check()
