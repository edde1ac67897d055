"""test_deferred.py - rows that wait for the commit: whatever savepoints, failures, readers and
deaths come in between, each increment that stands is counted once, and none that was taken back."""

import os
import pathlib
import random
import signal
import sqlite3
import subprocess
import sys
import time

import pytest

from conftest import EXAMPLES, SEED
from files import connect

WORKER = str(pathlib.Path(__file__).with_name("worker.py"))
KEYS = ["a", "b", "c", "d", "E", "e", "new1", "new2"]
TABLES = {"t": "", "u": " COLLATE NOCASE"}


class Model:
    """Per table: key -> [n, m], None for a deleted row; the plain table is a list. A stack of
    savepoints."""

    def __init__(self):
        self.tables, self.plain, self.stack = {name: {} for name in TABLES}, [], []

    def snapshot(self):
        return {t: {k: v and list(v) for k, v in rows.items()} for t, rows in self.tables.items()}, list(self.plain)

    def restore(self, state):
        self.tables, self.plain = ({t: {k: v and list(v) for k, v in rows.items()} for t, rows in state[0].items()},
                                   list(state[1]))

    def key(self, table, key):
        """The spelling that the row has, or would have."""
        rows = self.tables[table]
        if TABLES[table]:
            return next((k for k in rows if k.lower() == key.lower()), key)
        return key

    def add(self, table, key, n, m, skips=False):
        key = self.key(table, key)
        rows = self.tables[table]
        if skips and rows.get(key):
            return
        row = rows[key] = rows.get(key) or [0, 0]
        row[0] += n
        row[1] += m or 0

    def shown(self, table):
        return sorted((k, *v) for k, v in self.tables[table].items() if v is not None)


class Run:
    """One connection, and what it should hold."""

    def __init__(self, path, rng):
        self.db, self.model, self.rng = connect(path), Model(), rng
        self.db.execute("PRAGMA synchronous = OFF")
        self.db.execute("CREATE TABLE plain(x)")
        for name, collate in TABLES.items():
            self.db.execute(f"CREATE VIRTUAL TABLE {name} USING counter(k TEXT{collate} PRIMARY KEY, n COUNTER, m COUNTER)")

    def fails(self, sql, args=()):
        with pytest.raises(sqlite3.Error):
            self.db.execute(sql, args).fetchall()

    def table(self):
        return self.rng.choice(list(TABLES))

    def insert(self):
        table, key, n = self.table(), self.rng.choice(KEYS), self.rng.randint(-3, 9)
        m = self.rng.choice([None, None, 1])
        orr = self.rng.choice(["", "", " OR IGNORE"])
        sql, args = f"INSERT{orr} INTO {table} VALUES(?, ?, ?)", (key, n, m)
        self.model.add(table, key, n, m, skips=bool(orr))
        self.db.execute(sql, args)

    def replace(self):
        table, key, n = self.table(), self.rng.choice(KEYS), self.rng.randint(-3, 9)
        self.model.tables[table][self.model.key(table, key)] = [n, 0]
        self.db.execute(f"REPLACE INTO {table}(k, n) VALUES(?, ?)", (key, n))

    def assign(self):
        table, key, n = self.table(), self.rng.choice(KEYS), self.rng.randint(-3, 9)
        row = self.model.tables[table].get(self.model.key(table, key))
        if row:
            row[0] = n
        self.db.execute(f"UPDATE {table} SET n = ? WHERE k = ?", (n, key))

    def insert_many(self):
        """A statement of several rows, of which the last may be refused: then none of
        them counts."""
        table, before = self.table(), self.model.snapshot()
        rows = [(self.rng.choice(KEYS), self.rng.randint(1, 5)) for _ in range(self.rng.randint(2, 6))]
        bad = self.rng.random() < 0.4
        for key, n in rows:
            self.model.add(table, key, n, None)
        values = ", ".join(["(?, ?)"] * len(rows) + (["('a', 1.5)"] if bad else []))
        sql, args = f"INSERT INTO {table}(k, n) VALUES {values}", [x for row in rows for x in row]
        if bad:
            self.model.restore(before)
            self.fails(sql, args)
        else:
            self.db.execute(sql, args)

    def update(self):
        table, key = self.table(), self.rng.choice(KEYS)
        stored = self.model.key(table, key)
        row = self.model.tables[table].get(stored)
        if row:
            row[0] += 2
            row[1] -= 1
        self.db.execute(f"UPDATE {table} SET n = n + 2, m = m - 1 WHERE k = ?", (key,))

    def update_all(self):
        """Fails on a row that stands in the middle, perhaps."""
        table, before = self.table(), self.model.snapshot()
        fails = self.rng.random() < 0.3 and self.model.tables[table].get("c") is not None
        for row in self.model.tables[table].values():
            if row:
                row[0] += 1
        assign = "CASE WHEN k = 'c' THEN 1.5 ELSE n + 1 END" if fails else "n + 1"
        if fails:
            self.model.restore(before)
            self.fails(f"UPDATE {table} SET n = {assign}")
        else:
            self.db.execute(f"UPDATE {table} SET n = {assign}")

    def delete(self):
        table, key = self.table(), self.rng.choice(KEYS)
        stored = self.model.key(table, key)
        if self.model.tables[table].get(stored) is not None:
            self.model.tables[table][stored] = None
        self.db.execute(f"DELETE FROM {table} WHERE k = ?", (key,))

    def reset(self):
        table, key, n = self.table(), self.rng.choice(KEYS), self.rng.randint(0, 3)
        self.model.tables[table][self.model.key(table, key)] = [n, 0]
        self.db.execute(f"INSERT INTO {table}({table}, k, n) VALUES('reset', ?, ?)", (key, n))

    def trigger(self):
        """A row of an ordinary table that counts in both, by its triggers."""
        self.model.plain.append("a")
        self.model.add("t", "a", 1, None)
        self.model.add("u", "a", 1, None)
        self.db.execute("INSERT INTO plain VALUES('a')")

    def save(self):
        if len(self.model.stack) < 5:
            self.model.stack.append(self.model.snapshot())
            self.db.execute(f"SAVEPOINT s{len(self.model.stack)}")

    def back(self):
        if self.model.stack:
            at = self.rng.randrange(len(self.model.stack))
            self.model.restore(self.model.stack[at])
            del self.model.stack[at + 1:]
            self.db.execute(f"ROLLBACK TO s{at + 1}")

    def release(self):
        if self.model.stack:
            at = self.rng.randrange(len(self.model.stack))
            del self.model.stack[at:]
            self.db.execute(f"RELEASE s{at + 1}")

    def read(self):
        """Through the table, by aggregates, by whole and part of the key, by our functions."""
        table, key = self.table(), self.rng.choice(KEYS)
        shown = self.model.shown(table)
        way = self.rng.randrange(5)
        if way == 0:
            assert sorted(self.db.execute(f"SELECT * FROM {table}")) == shown
        elif way == 1:
            sums = self.db.execute(f"SELECT count(*), total(n), total(m) FROM {table}").fetchone()
            assert sums == (len(shown), sum(r[1] for r in shown), sum(r[2] for r in shown))
        elif way == 2:
            stored = self.model.key(table, key)
            row = self.model.tables[table].get(stored)
            found = self.db.execute(f"SELECT n, m FROM {table} WHERE k = ?", (key,)).fetchall()
            assert found == ([tuple(row)] if row else [])
        elif way == 3:
            live, = self.db.execute(f"SELECT live FROM counter_size('{table}')").fetchone()
            assert live == len(shown)
        else:  # what our functions see does not change when all is written
            digests = f"SELECT digest, counter_table_digest('{table}') FROM counter_digests('{table}', 1)"
            waiting = self.db.execute(digests).fetchall()
            self.db.execute(f"INSERT INTO {table}({table}) VALUES('integrity-check')")
            assert self.db.execute(digests).fetchall() == waiting

    def check(self, db=None):
        for table in TABLES:
            assert sorted((db or self.db).execute(f"SELECT * FROM {table}")) == self.model.shown(table)
        assert [x for x, in (db or self.db).execute("SELECT x FROM plain")] == self.model.plain


STEPS = (["insert"] * 8 + ["insert_many"] * 2 + ["update"] * 3 + ["update_all", "delete", "reset", "replace", "assign", "trigger"]
         + ["save"] * 3 + ["back"] * 2 + ["release", "read", "read"])


@pytest.mark.parametrize("round_of", range(max(4, EXAMPLES // 25)))
def test_savepoints_nested_five_deep_failures_and_reads_agree_with_a_model(tmp_path, round_of):
    rng = random.Random(f"{SEED} {round_of}")
    run = Run(tmp_path / "main.db", rng)
    run.db.execute("CREATE TRIGGER count AFTER INSERT ON plain BEGIN "
                   "INSERT INTO t(k, n) VALUES(new.x, 1); INSERT INTO u(k, n) VALUES(new.x, 1); END")
    other = connect(tmp_path / "main.db")
    for _ in range(6):
        before = run.model.snapshot()
        run.db.execute("BEGIN")
        for _ in range(40):
            getattr(run, rng.choice(STEPS))()
        run.model.stack.clear()
        if rng.random() < 0.25:
            run.db.execute("ROLLBACK")
            run.model.restore(before)
        else:
            run.db.execute("COMMIT")
        run.check()
        run.check(other)
    for table in TABLES:
        run.db.execute(f"INSERT INTO {table}({table}) VALUES('integrity-check')")
    run.db.close()
    other.close()


def table_of(path, rows=50):
    db = connect(path)
    db.execute("CREATE VIRTUAL TABLE t USING counter(k INTEGER PRIMARY KEY, n COUNTER)")
    db.executemany("INSERT INTO t VALUES(?, 1)", [(i,) for i in range(rows)])
    return db


def test_pull_push_and_feed_inside_the_transaction_see_every_increment(tmp_path):
    db = table_of(tmp_path / "main.db")
    table_of(tmp_path / "peer.db").close()
    db.execute("ATTACH ? AS peer", (str(tmp_path / "peer.db"),))
    db.execute("SELECT * FROM counter_sync('peer')").fetchall()
    db.execute("BEGIN")
    for i in range(50):
        db.execute("INSERT INTO t VALUES(?, 10)", (i,))
    db.execute("INSERT INTO peer.t VALUES(1, 100)")
    db.execute("SELECT * FROM counter_pull('peer')").fetchall()  # the committed content of the peer
    assert db.execute("SELECT sum(n) FROM t").fetchone() == (50 * 12,)
    db.execute("INSERT INTO t VALUES(1, 1000)")
    db.execute("COMMIT")
    assert db.execute("SELECT sum(n) FROM t").fetchone() == (50 * 12 + 1000,)
    db.execute("SELECT * FROM counter_sync('peer')").fetchall()
    assert db.execute("SELECT (SELECT sum(n) FROM t), (SELECT sum(n) FROM peer.t)").fetchone() == (1700, 1700)
    db.close()


def test_what_waits_in_a_memory_database_is_given_by_the_feed_and_a_push_once_it_is_committed(tmp_path):
    db = table_of(":memory:", rows=1)
    db.execute("ATTACH ? AS peer", (str(tmp_path / "peer.db"),))
    db.execute("BEGIN")
    db.execute("INSERT INTO t VALUES(0, 5)")
    for give in ("SELECT * FROM counter_changes(0)", "SELECT * FROM counter_push('peer')"):
        with pytest.raises(sqlite3.OperationalError, match="main has counted in this transaction"):
            db.execute(give).fetchall()
    db.execute("INSERT INTO t VALUES(0, 5)")
    db.execute("COMMIT")
    assert db.execute("SELECT counter_value(cell) FROM counter_changes(0)").fetchall() == [(11,)]
    db.execute("SELECT * FROM counter_push('peer')").fetchall()
    assert db.execute("SELECT n FROM peer.t").fetchall() == [(11,)]
    db.close()


def test_a_feed_row_that_comes_between_is_merged_with_what_waits(tmp_path):
    db = table_of(tmp_path / "main.db", rows=1)
    db.execute("BEGIN")
    db.execute("INSERT INTO t VALUES(0, 5)")
    db.execute("INSERT INTO counter_changes(table_name, key, column_name, generation, cell, seq, source) "
               "VALUES('t', counter_key(0), 'n', 1, counter_inc(NULL, 100, x'0000000000000000000000000000000a'), 1, "
               "'00000000-0000-0000-0000-00000000000a')")
    db.execute("INSERT INTO t VALUES(0, 5)")
    db.execute("COMMIT")
    assert db.execute("SELECT n FROM t").fetchall() == [(111,)]
    db.close()


def test_a_pull_tells_keys_of_another_encoding_apart_by_their_text(tmp_path):
    peer = connect(tmp_path / "peer.db")
    peer.execute("PRAGMA encoding = 'UTF-16le'")
    db = connect(tmp_path / "main.db")
    for each, key in ((db, "aa"), (peer, "\u6161")):  # the same two bytes
        each.execute("CREATE VIRTUAL TABLE t USING counter(k TEXT PRIMARY KEY, n COUNTER)")
        each.execute("INSERT INTO t VALUES(?, 1)", (key,))
    db.execute("SELECT * FROM counter_pull(?)", (str(tmp_path / "peer.db"),)).fetchall()
    assert sorted(db.execute("SELECT * FROM t")) == [("aa", 1), ("\u6161", 1)]
    db.close()
    peer.close()


def test_a_key_that_begins_with_a_byte_order_mark_keeps_it_on_all_ways_into_a_utf_16_file(tmp_path):
    """By deltas both ways, by a feed, and by a cluster: SQLite takes the mark off a text in UTF-16 that it binds."""
    marked, taker = "\ufeffa", connect(tmp_path / "taker.db")
    wide = connect(tmp_path / "wide.db")
    wide.execute("PRAGMA encoding = 'UTF-16le'")
    for db in (wide, taker):
        db.execute("CREATE VIRTUAL TABLE t USING counter(k TEXT PRIMARY KEY, n COUNTER)")
    wide.execute("INSERT INTO t VALUES('a', 1)")
    taker.execute("SELECT * FROM counter_pull(?)", (str(tmp_path / "wide.db"),)).fetchall()
    wide.execute("INSERT INTO t VALUES(?, 30)", (marked,))
    for db, other in ((taker, "wide"), (wide, "taker")):
        db.execute("SELECT * FROM counter_pull(?)", (str(tmp_path / f"{other}.db"),)).fetchall()
    for db in (taker, wide):
        assert sorted(db.execute("SELECT * FROM t")) == [("a", 1), (marked, 30)]

    fed = connect(tmp_path / "fed.db")
    fed.execute("PRAGMA encoding = 'UTF-16be'")
    fed.execute("CREATE VIRTUAL TABLE t USING counter(k TEXT PRIMARY KEY, n COUNTER)")
    columns = "table_name, key, column_name, generation, cell, seq, source"
    for row in taker.execute(f"SELECT {columns} FROM counter_changes(0)").fetchall():
        fed.execute(f"INSERT INTO counter_changes({columns}) VALUES(?, ?, ?, ?, ?, ?, ?)", row)
    assert sorted(fed.execute("SELECT * FROM t")) == [("a", 1), (marked, 30)]

    fed.execute("PRAGMA synchronous = EXTRA")
    fed.execute("CREATE VIRTUAL TABLE temp.both USING counter_cluster(t, replicas='main')")
    fed.execute("INSERT INTO both VALUES(?, 100)", (marked,))
    assert sorted(fed.execute("SELECT * FROM both")) == [("a", 1), (marked, 130)]
    for db in (taker, wide, fed):
        db.close()


@pytest.mark.parametrize("others", [0, 7, 8, 20])
def test_a_pull_tells_its_keys_apart_however_they_were_looked_for(tmp_path, others):
    """A pull follows the rows of the taker, and looks up keys that are not there; after some it looks up all."""
    peer = connect(tmp_path / "peer.db")
    peer.execute("PRAGMA encoding = 'UTF-16le'")
    db = connect(tmp_path / "main.db")
    keys = ["aa", *(f"key {i}" for i in range(others)), "\u6161"]
    for each, its in ((db, ["zz"]), (peer, keys)):
        each.execute("CREATE VIRTUAL TABLE t USING counter(k TEXT PRIMARY KEY, n COUNTER)")
        each.executemany("INSERT INTO t VALUES(?, 1)", ((key,) for key in its))
    db.execute("SELECT * FROM counter_pull(?)", (str(tmp_path / "peer.db"),)).fetchall()
    assert sorted(db.execute("SELECT * FROM t")) == sorted((key, 1) for key in [*keys, "zz"])
    db.close()
    peer.close()


@pytest.mark.parametrize("function", ["SELECT digest FROM counter_digests('t', 1)", "SELECT counter_table_digest('t')",
                                      "SELECT bytes FROM counter_size('t')"])
def test_functions_see_what_waits(tmp_path, function):
    db = table_of(tmp_path / "main.db", rows=1)
    db.execute("SELECT counter_fork()").fetchall()
    before = db.execute(function).fetchall()
    db.execute("BEGIN")
    db.execute("INSERT INTO t VALUES(0, 5)")
    waiting = db.execute(function).fetchall()
    db.execute("COMMIT")
    assert db.execute(function).fetchall() == waiting != before
    db.close()


def test_rows_that_wait_can_be_purged(tmp_path):
    db = table_of(tmp_path / "main.db", rows=10)
    db.execute("BEGIN")
    db.execute("INSERT INTO t VALUES(1, 5), (8, 5)")
    db.execute("INSERT INTO t VALUES(2, 5)")
    db.execute("INSERT INTO t(t, k) VALUES('purge below', 5)")
    db.execute("INSERT INTO t VALUES(9, 5)")
    db.execute("COMMIT")
    assert db.execute("SELECT count(*), sum(n) FROM t").fetchone() == (5, 15)
    db.close()


@pytest.mark.parametrize("sql", [
    "INSERT INTO t VALUES(0, 100)", "UPDATE t SET n = n + 100", "INSERT INTO t(t, k, n) VALUES('reset', 0, 101)",
    "INSERT INTO counter_changes(table_name, key, column_name, generation, cell, seq, source) VALUES('t', counter_key(0), "
    "'n', 1, counter_inc(NULL, 100, x'0000000000000000000000000000000a'), 1, '00000000-0000-0000-0000-00000000000a')"])
@pytest.mark.parametrize("transaction", [False, True])
def test_an_update_shows_what_it_says_whatever_a_function_of_the_host_writes_meanwhile(tmp_path, sql, transaction):
    """As on an ordinary table: the function's 100 are overwritten."""
    db = table_of(tmp_path / "main.db", rows=1)
    db.create_function("write", 0, lambda: db.execute(sql).fetchall() and 0 or 1)
    if transaction:
        db.execute("BEGIN")
    db.execute("UPDATE t SET n = n + write() WHERE k = 0")
    if transaction:
        db.execute("COMMIT")
    assert db.execute("SELECT n FROM t").fetchall() == [(2,)]
    db.close()


@pytest.mark.parametrize("journal", ["WAL", "DELETE"])
def test_a_commit_that_finds_the_disk_full_leaves_nothing(tmp_path, journal):
    db = table_of(tmp_path / "main.db", rows=2000)
    db.execute(f"PRAGMA journal_mode = {journal}").fetchall()
    pages, = db.execute("PRAGMA page_count").fetchone()
    db.execute(f"PRAGMA max_page_count = {pages}")
    db.execute("SELECT counter_fork()").fetchall()  # each cell gets a second shard, so rows grow
    db.execute("BEGIN")
    # By COMMIT, or before where there is little room for what waits.
    with pytest.raises(sqlite3.Error, match="full"):
        for i in range(2000):
            db.execute("INSERT INTO t VALUES(?, 1)", (i,))
        db.execute("COMMIT")
    assert not db.in_transaction
    assert db.execute("SELECT sum(n) FROM t").fetchone() == (2000,)
    db.execute("PRAGMA max_page_count = 100000")
    db.execute("INSERT INTO t VALUES(0, 1)")
    assert db.execute("SELECT sum(n) FROM t").fetchone() == (2001,)
    db.execute("INSERT INTO t(t) VALUES('integrity-check')")
    db.close()


def test_an_interrupted_commit_leaves_nothing(tmp_path):
    db = table_of(tmp_path / "main.db", rows=200)
    db.execute("PRAGMA synchronous = OFF")
    total, at, failures = 200, 1, 0
    while True:
        db.execute("BEGIN")
        for i in range(200):
            db.execute("INSERT INTO t VALUES(?, 1)", (i,))
        calls = [0]

        def ring():
            calls[0] += 1
            return calls[0] == at
        db.set_progress_handler(ring, 1)
        try:
            db.execute("COMMIT")
            total += 200
        except sqlite3.Error as error:
            failures += 1
            done = str(error) == "interrupted"  # SQLite looks once more when its COMMIT is done
        else:
            done = False
        db.set_progress_handler(None, 0)
        if db.in_transaction:
            assert at <= 2  # the COMMIT had not begun yet
            db.execute("ROLLBACK")
        found, = db.execute("SELECT sum(n) FROM t").fetchone()
        assert found == total or done and found == total + 200
        total = found
        if calls[0] < at:
            break
        at += 1 if at < 20 else 50
    assert failures > 3
    db.close()


COUNT = """
import sys
sys.path.insert(0, {folder!r})
from files import connect
db = connect("main.db", timeout=60)
for i in range(100000):
    db.execute("BEGIN IMMEDIATE")
    for k in range(300):
        db.execute("INSERT INTO t VALUES(?, 1)", (k,))
        if k % 100 == 50:
            db.execute("SAVEPOINT s"); db.execute("INSERT INTO t VALUES(?, 1000)", (k,)); db.execute("ROLLBACK TO s")
    db.execute("COMMIT")
    print(i + 1, flush=True)
"""


@pytest.mark.parametrize("journal", ["WAL", "DELETE"])
def test_kill_9_at_any_moment_leaves_whole_transactions(tmp_path, journal):
    db = table_of(tmp_path / "main.db", rows=300)
    db.execute(f"PRAGMA journal_mode = {journal}").fetchall()
    db.close()
    rng, total = random.Random(f"{SEED} {journal}"), 1
    for _ in range(max(6, EXAMPLES // 40)):
        process = subprocess.Popen([sys.executable, "-c", COUNT.format(folder=str(pathlib.Path(WORKER).parent))],
                                   cwd=tmp_path, stdout=subprocess.PIPE, text=True)
        process.stdout.readline()
        time.sleep(rng.random() * 0.05)
        os.kill(process.pid, signal.SIGKILL)
        rest = process.stdout.read().split("\n")
        process.wait()
        done = 1 + sum(1 for line in rest if line)
        db = connect(tmp_path / "main.db", timeout=60)
        least, most = db.execute("SELECT min(n), max(n) FROM t").fetchone()
        assert least == most and total + done <= least <= total + done + 1
        total = least
        db.execute("INSERT INTO t(t) VALUES('integrity-check')")
        db.close()
