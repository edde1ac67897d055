"""test_statements.py - statements that count in many rows and fail in the middle: what they leave is what SQLite leaves
of an ordinary table.

Triggers of one table hand each of its rows to a counter table and to an ordinary one, so that SQLite itself says what
is taken back: of a statement, to a SAVEPOINT, or of everything. Between and within such statements rows are counted
directly, deleted, reset, folded and read; tables come and go within savepoints; another connection counts in turn.
"""

import contextlib
import random
import sqlite3

import pytest

from conftest import EXAMPLES, SEED
from files import connect

KEYS = [f"key {i}" for i in range(12)]
BAD = 13  # what the table refuses
SCHEMA = """
CREATE TABLE given(k TEXT, n INTEGER CHECK (n <> 13));
CREATE TABLE plain(k TEXT PRIMARY KEY, n INTEGER);
CREATE VIRTUAL TABLE t USING counter(k TEXT PRIMARY KEY, n COUNTER);
CREATE TRIGGER hand AFTER INSERT ON given BEGIN
    INSERT INTO t(k, n) VALUES (new.k, new.n);
    UPDATE plain SET n = n + new.n WHERE k = new.k;
END;
CREATE TRIGGER take AFTER DELETE ON given BEGIN
    DELETE FROM t WHERE k = old.k;
    UPDATE plain SET n = 0 WHERE k = old.k;
END;
CREATE TABLE tracked(k TEXT PRIMARY KEY, n INTEGER CHECK (n < 1000000), m INTEGER CHECK (m <> 13) DEFAULT 0);
"""


def numbers(db, table):
    return {k: n for k, n in db.execute(f"SELECT k, n FROM {table}") if n}


class World:
    def __init__(self, path, journal, random):
        self.path, self.random, self.depth, self.extra = str(path), random, 0, 0
        with contextlib.closing(connect(self.path)) as db:
            db.execute(f"PRAGMA journal_mode = {journal}")
            db.executescript(SCHEMA)
            db.executemany("INSERT INTO plain VALUES (?, 0)", [(k,) for k in KEYS])
            db.executemany("INSERT INTO tracked(k, n) VALUES (?, 0)", [(k,) for k in KEYS])
            db.execute("SELECT counter_track('tracked', 'n')").fetchall()
        self.db, self.second = connect(self.path), connect(self.path)
        for db in (self.db, self.second):
            db.execute("PRAGMA synchronous = OFF")
            db.create_function("within", 1, self.within)
        self.busy = False

    def close(self):
        self.db.close()
        self.second.close()

    def within(self, n):
        """What an application's function may do while a statement that counts is at work."""
        if self.busy:
            return n
        self.busy = True
        with contextlib.suppress(sqlite3.Error):
            self.random.choice([self.check, self.count_some, self.fold, self.count_directly, self.make_table])()
        self.busy = False
        return n

    def amounts(self, most):
        return [(self.random.choice(KEYS), self.random.randint(-5, 9)) for _ in range(self.random.randint(1, most))]

    def run(self, sql, *values):
        """An OR ROLLBACK takes the statements with it that are at work around it."""
        try:
            self.db.execute(sql, *values)
        except sqlite3.IntegrityError:
            pass
        except sqlite3.OperationalError as error:
            if "abort due to ROLLBACK" not in str(error):
                raise
        if not self.db.in_transaction:
            self.depth = 0

    def insert(self, amounts, policy, call="n"):
        rows = ", ".join(f"('{k}', {n})" for k, n in amounts)
        self.run(f"INSERT {policy} INTO given SELECT k, {call} FROM (SELECT column1 AS k, column2 AS n FROM "
                 f"(VALUES {rows}))")

    def count_some(self):
        self.insert(self.amounts(4), "")

    def count_and_fail(self):
        amounts = self.amounts(9)
        amounts.insert(self.random.randint(0, len(amounts)), (self.random.choice(KEYS), BAD))
        policy = self.random.choices(["", "OR ABORT", "OR FAIL", "OR ROLLBACK"], [6, 6, 6, 1])[0]
        self.insert(amounts, policy, self.random.choice(["n", "n", "within(n)"]))

    def count_many(self):
        """More than a batch holds."""
        key, n = self.random.choice(KEYS), self.random.choice([BAD, 2])
        self.run("WITH RECURSIVE i(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM i WHERE i < 3000) INSERT INTO given "
                 "SELECT 'key ' || (i % 12), 1 FROM i UNION ALL SELECT ?, ?", [key, n])

    def count_directly(self):
        key, n = self.amounts(1)[0]
        self.db.execute("INSERT INTO t VALUES (?, ?)", [key, n])
        self.db.execute("UPDATE plain SET n = n + ? WHERE k = ?", [n, key])

    def remove(self):
        self.run("DELETE FROM given WHERE k = ?", [self.random.choice(KEYS)])

    def track(self):
        """Rows of the tracked table, of which the last one may be refused."""
        self.run(f"UPDATE tracked SET n = n + {self.random.randint(-3, 9)}, "
                 f"m = CASE k WHEN '{self.random.choice(KEYS)}' THEN {self.random.choice([BAD, 1])} ELSE 0 END "
                 f"WHERE k >= '{self.random.choice(KEYS)}'")

    def fold(self):
        self.db.execute("INSERT INTO t(t) VALUES ('optimize')")

    def make_table(self):
        self.extra += 1
        self.db.execute(f"CREATE TABLE extra_{self.extra}(x)")

    def begin(self):
        if not self.db.in_transaction:
            self.db.execute("BEGIN")

    def end(self):
        if self.db.in_transaction:
            self.db.execute(self.random.choice(["COMMIT", "COMMIT", "ROLLBACK"]))
        self.depth = 0

    def savepoint(self):
        self.begin()
        self.depth += 1
        self.db.execute(f"SAVEPOINT s{self.depth}")

    def savepoint_ends(self):
        if self.depth == 0:
            return
        level = self.random.randint(1, self.depth)
        if self.random.random() < 0.5:
            self.db.execute(f"ROLLBACK TO s{level}")
            self.depth = level
        else:
            self.db.execute(f"RELEASE s{level}")
            self.depth = level - 1

    def table_comes_and_goes(self):
        """The counters go, and come back with the savepoint; another table has their name meanwhile."""
        self.begin()
        self.db.execute("SAVEPOINT drops")
        self.count_some()
        self.db.execute("DROP TRIGGER hand")
        self.db.execute("DROP TRIGGER take")
        self.db.execute("DROP TABLE t")
        if self.random.random() < 0.5:
            self.db.execute("CREATE VIRTUAL TABLE t USING counter(k TEXT PRIMARY KEY, m COUNTER, n COUNTER)")
            self.db.execute("INSERT INTO t VALUES ('key 1', 5, 7)")
        self.db.execute("ROLLBACK TO drops")
        self.db.execute("RELEASE drops")

    def other_counts(self):
        if self.db.in_transaction:
            return
        for key, n in self.amounts(3):
            self.second.execute("INSERT INTO given VALUES (?, ?)", [key, n])

    def check(self):
        assert numbers(self.db, "t") == numbers(self.db, "plain")

    def check_end(self):
        self.end()
        with contextlib.closing(connect(self.path)) as db, contextlib.closing(connect(":memory:")) as taker:
            assert numbers(db, "t") == numbers(db, "plain")
            assert db.execute("SELECT * FROM tracked_counters WHERE (k, n) NOT IN "
                              "(SELECT k, n FROM tracked)").fetchall() == []
            db.execute("INSERT INTO t(t) VALUES ('integrity-check')")
            taker.execute("SELECT * FROM counter_pull(?, 'create tables')", [self.path]).fetchall()
            assert numbers(taker, "t") == numbers(db, "plain")

    def step(self):
        how = {self.count_some: 6, self.count_and_fail: 8, self.count_directly: 4, self.remove: 2, self.track: 5,
               self.fold: 1, self.begin: 3, self.end: 2, self.savepoint: 3, self.savepoint_ends: 4, self.check: 2,
               self.table_comes_and_goes: 1, self.other_counts: 2, self.count_many: 0.1}
        self.random.choices(list(how), list(how.values()))[0]()


@pytest.mark.parametrize("journal", ["WAL", "DELETE"])
def test_a_statement_that_fails_leaves_what_sqlite_leaves_of_an_ordinary_table(tmp_path, journal):
    draw = random.Random(SEED)
    for example in range(max(2, EXAMPLES // 25)):
        world = World(tmp_path / f"{example}.db", journal, draw)
        for _ in range(100):
            world.step()
        world.check_end()
        world.close()
