"""test_journal.py - increments that stand in the journal, and the list of changes that is left of them: whatever
savepoints, failures, readers, folds and deaths come in between, each increment that stands is counted once, none that
was taken back is, a delta has every row that has changed since and no other, and the journal stays short."""

import contextlib
import itertools
import os
import pathlib
import random
import signal
import sqlite3
import subprocess
import sys
import time

import pytest

from conftest import EXAMPLES, SEED, needs_journal
from files import connect

WORKER = str(pathlib.Path(__file__).with_name("worker.py"))
ROWS = [f"key {i}" for i in range(1000)]
AMOUNTS_MOST, TRANSACTIONS_MOST = 65536, 4096  # of a journal; then a commit folds
CARRIED_MOST = AMOUNTS_MOST // 4 * 3  # amounts that it leaves

journals = pytest.mark.parametrize("journal", ["WAL", "DELETE"])


def counter_file(path, rows=()):
    db = connect(path)
    db.execute("PRAGMA synchronous = OFF")
    db.execute("CREATE VIRTUAL TABLE t USING counter(k TEXT PRIMARY KEY, n COUNTER)")
    count(db, rows)
    return db


@pytest.fixture
def db(tmp_path):
    with contextlib.closing(counter_file(tmp_path / "a.db")) as db:
        yield db


def count(db, keys):
    db.execute("BEGIN")
    db.executemany("INSERT INTO t VALUES (?, 1)", ((key,) for key in keys))
    db.execute("COMMIT")


def optimize(db):
    db.execute("INSERT INTO t(t) VALUES ('optimize')")


def check(db):
    db.execute("INSERT INTO t(t) VALUES ('integrity-check')")


def next_number(db):
    """Behind that of the last change."""
    return db.execute("SELECT max(_seq) + 1 FROM counter_journal").fetchone()[0]


def feed_since(db, since):
    return [key for key, in db.execute("SELECT json_extract(counter_key_json(key), '$[0]') FROM counter_changes(?)",
                                       (since,))]


def changed_since(db, since):
    """Each row once."""
    keys = feed_since(db, since)
    assert len(keys) == len(set(keys))
    return set(keys)


def counted(db):
    return db.execute("SELECT sum(n) FROM t").fetchone()[0]


def folded(db):
    """What the cells alone say."""
    return db.execute("SELECT total(counter_value(n)) FROM t_cells").fetchone()[0]


def journal_bytes(db):
    return db.execute("SELECT (SELECT total(length(entries)) FROM counter_journal)"
                      " + (SELECT total(length(entries)) FROM counter_segments)").fetchone()[0]


def transactions(db):
    return db.execute("SELECT count(*) FROM counter_journal").fetchone()[0]


def segments(db):
    """How many of each level."""
    return dict(db.execute("SELECT level, count(*) FROM counter_segments WHERE level > 0 GROUP BY 1"))


# ---- the list of changes ----

def test_a_delta_has_what_has_changed_since_and_nothing_else(db):
    """Of each moment that was marked, whatever was folded since."""
    choose = random.Random(SEED)
    count(db, ROWS[:500])
    marks = []  # (number, what has changed since)
    for _ in range(80):
        keys = set(choose.choices(ROWS, k=choose.choice([1, 20, 400])))
        count(db, keys)
        for _, since in marks:
            since |= keys
        marks.append((next_number(db), set()))
        if choose.random() < 0.3:
            optimize(db)
        for mark, since in choose.sample(marks, min(3, len(marks))):
            assert changed_since(db, mark) == since
    check(db)
    for mark, since in marks:
        assert changed_since(db, mark) == since


@pytest.mark.parametrize("folds", [False, True])
@pytest.mark.parametrize("sql", [
    "INSERT INTO t VALUES ('new', 1)", "INSERT INTO t VALUES ('key 1', 1)", "UPDATE t SET n = n + 1 WHERE k = 'key 1'",
    "UPDATE t SET n = 7 WHERE k = 'key 1'", "REPLACE INTO t VALUES ('key 1', 7)", "DELETE FROM t WHERE k = 'key 1'",
    "INSERT INTO t VALUES ('deleted', 1)", "INSERT INTO t(t, k) VALUES ('reset', 'key 1')",
    "INSERT INTO t(t, k) VALUES ('delete n', 'key 1')", "SELECT counter_add('t', 'n', 5, 'key 1')"])
def test_each_way_to_change_a_row_is_in_the_delta(db, sql, folds):
    count(db, [*ROWS[:10], "deleted"])
    db.execute("DELETE FROM t WHERE k = 'deleted'")
    mark = next_number(db)
    db.execute(sql).fetchall()
    if folds:
        optimize(db)
    assert changed_since(db, mark) == {key for key in ("new", "key 1", "deleted") if f"'{key}'" in sql}
    check(db)


def test_a_delta_shows_a_row_once(db):
    for folds in (False, True):
        count(db, ["z"])
        mark = next_number(db)
        count(db, ["a", "a"])
        count(db, ["a"])
        if folds:
            optimize(db)
        count(db, ["a"])
        assert feed_since(db, mark) == ["a"]


def test_numbers_rise_from_transaction_to_transaction_and_from_table_to_table_and_are_near_to_the_time(db):
    db.execute("CREATE VIRTUAL TABLE u USING counter(k TEXT PRIMARY KEY, n COUNTER)")
    last, choose = 0, random.Random(SEED)
    for _ in range(300):
        table = choose.choice("tu")
        db.execute(f"INSERT INTO {table} VALUES ('a', 1)")
        number, = db.execute("SELECT max(_seq) FROM counter_journal").fetchone()
        assert number > last
        last = number
        if choose.random() < 0.1:
            db.execute(f"INSERT INTO {table}({table}) VALUES ('optimize')")
            last = max(last, *db.execute("SELECT max(_seq) FROM counter_journal").fetchone())
    assert abs(last / 4096 / 1000 - time.time()) < 60


@pytest.mark.parametrize("fresh", [False, True])
def test_numbers_rise_though_the_clock_goes_back(tmp_path, fresh):
    """Another connection makes the last number that of some time to come, after which each change has a higher one."""
    path = tmp_path / "a.db"
    db = counter_file(path, ROWS[:20])
    count(db, ROWS[:10])
    with contextlib.closing(connect(path)) as other:
        other.execute("UPDATE counter_journal SET _seq = _seq + 100000000000 WHERE _seq = (SELECT max(_seq) FROM counter_journal)")
    for sql in ("INSERT INTO t(t) VALUES ('optimize')", "INSERT INTO t VALUES ('key 1', 1)", "INSERT INTO t(t) VALUES ('optimize')",
                "DELETE FROM t WHERE k = 'key 2'", "INSERT INTO t(t, k) VALUES ('reset', 'key 3')", "SELECT counter_fork()",
                "INSERT INTO t(t) VALUES ('add column m')", "INSERT INTO t(t) VALUES ('drop column m')",
                "INSERT INTO t(t, k) VALUES ('purge below', 'key 1')", "INSERT INTO t(t) VALUES ('optimize')", "SELECT counter_fork()",
                "ALTER TABLE t RENAME TO u", "INSERT INTO u VALUES ('key 5', 1)", "ALTER TABLE u RENAME TO t",
                "INSERT INTO t VALUES ('key 6', 1)"):
        table, = db.execute("SELECT name FROM counter_tables").fetchone()
        last, = db.execute("SELECT max(_seq) FROM counter_journal").fetchone()
        if fresh:
            db.close()
            db = connect(path)
        db.execute(sql).fetchall()
        table, = db.execute("SELECT name FROM counter_tables").fetchone()
        number, = db.execute("SELECT max(_seq) FROM counter_journal").fetchone()
        assert number > last or number == last and "'key" not in sql, sql
        assert {seq <= upto for seq, upto in db.execute("SELECT seq, upto FROM counter_changes(0)")} == {True}
    check(db)
    db.close()


def test_a_rename_that_is_taken_back_is_followed_by_a_higher_number(db):
    db.execute("BEGIN")
    db.execute("INSERT INTO t VALUES ('a', 1)")
    db.execute("SAVEPOINT s")
    db.execute("ALTER TABLE t RENAME TO u")
    db.execute("ROLLBACK TO s")
    mark = next_number(db)
    db.execute("INSERT INTO t VALUES ('b', 1)")
    db.execute("COMMIT")
    check(db)
    assert changed_since(db, mark) == {"b"}


# ---- folds ----

@pytest.mark.parametrize("batch", [1, 7, 500])
def test_the_journal_of_many_changes_stays_in_proportion_to_the_rows(db, batch):
    """Thirty times as many changes as rows, and a fold after each thousand: a row is in the list by some bytes more than
    its id and the number of its change take."""
    choose = random.Random(batch)
    count(db, ROWS)
    for step in range(0, 30 * len(ROWS), batch):
        count(db, choose.choices(ROWS, k=batch))
        if step // 1000 != (step + batch) // 1000:
            optimize(db)
            assert journal_bytes(db) < 28 * len(ROWS)  # four times what a row and a number of its own take
            assert transactions(db) + sum(segments(db).values()) < 40
    check(db)
    assert counted(db) == folded(db)
    assert changed_since(db, 0) == set(ROWS)


@needs_journal
def test_eight_segments_of_a_level_become_one_of_the_next(db):
    """A long one first, else all become one before, as they are longer together than four times the longest."""
    count(db, ROWS[:500])
    count(db, ROWS[500:])  # of one transaction there is nothing to fold
    optimize(db)
    found = [segments(db)]
    for i in range(7 + 8 * 7):
        count(db, [f"{i} {j}" for j in range(3)])
        optimize(db)
        found.append(segments(db))
        check(db)
    assert found[:7] == [{1: n} for n in range(1, 8)]
    for i, levels in enumerate(found[7:-1], 8):
        assert levels == {level: n for level, n in ((1, i % 8), (2, i // 8)) if n}
    assert found[-1] == {3: 1}
    assert changed_since(db, 0) == {*ROWS, *(f"{i} {j}" for i in range(63) for j in range(3))}


def test_segments_of_the_same_rows_become_one_when_they_are_four_times_as_long_as_the_longest(db):
    for i in range(60):
        count(db, ROWS[:100])
        optimize(db)
        assert sum(segments(db).values()) <= 8  # the longest has each row twice: new, and its own shard
    check(db)


@needs_journal
def test_hot_rows_take_a_few_bytes(db):
    for _ in range(200):
        count(db, ["hot"])
    optimize(db)
    assert journal_bytes(db) < 20


def test_a_transaction_that_counts_in_one_row_again_and_again_has_one_amount(db):
    count(db, ["hot"])
    before = transactions(db)
    count(db, ["hot"] * 100000)
    assert transactions(db) <= before + 1
    assert journal_bytes(db) < 50 and counted(db) == 100001


@needs_journal
@pytest.mark.parametrize("what", ["amounts", "transactions"])
def test_a_commit_adds_up_a_journal_that_has_grown_in_few_rows(db, what):
    keys = [str(i) for i in range(10000)]
    count(db, keys)
    optimize(db)
    if what == "amounts":
        for _ in range(AMOUNTS_MOST // len(keys)):
            count(db, keys)
        last = keys[1:AMOUNTS_MOST % len(keys)]  # a fold leaves one entry
    else:
        for _ in range(TRANSACTIONS_MOST - 1):  # a fold leaves one
            count(db, ["0"])
        last = []
    count(db, last)
    mark = next_number(db)
    assert transactions(db) > 1
    count(db, ["0"])
    assert transactions(db) == 1 == len(segments(db))
    assert folded(db) == len(keys) and changed_since(db, mark) == {"0"}
    check(db)
    optimize(db)
    assert folded(db) == counted(db) == len(keys) + (AMOUNTS_MOST if what == "amounts" else TRANSACTIONS_MOST)


@needs_journal
def test_a_commit_folds_a_journal_that_has_grown_where_rows_lie_densest(db):
    keys = [str(i) for i in range(AMOUNTS_MOST * 2)]
    dense, thin = keys[:AMOUNTS_MOST // 2 - 1], keys[AMOUNTS_MOST // 2::3]
    count(db, keys)
    optimize(db)
    count(db, dense)
    count(db, thin)
    mark = next_number(db)
    assert folded(db) == len(keys)
    count(db, ["0"])
    left = counted(db) - folded(db)
    assert CARRIED_MOST - AMOUNTS_MOST // 16 < left <= CARRIED_MOST
    sums = "SELECT total(counter_value(n)) FROM t_cells WHERE _id "
    assert db.execute(sums + f"> {len(dense)}").fetchone()[0] == len(keys) - len(dense)
    assert changed_since(db, mark) == {"0"}
    check(db)
    for _ in range(40):
        count(db, thin)
        assert journal_bytes(db) < 2000000
    check(db)
    assert counted(db) == len(keys) + len(dense) + 41 * len(thin) + 1


@needs_journal
def test_a_fold_can_be_taken_back(db):
    count(db, ROWS[:300])
    count(db, ROWS[:200])
    mark = next_number(db)
    count(db, ROWS[:100])
    STORED = "SELECT _seq, tabs, entries FROM counter_journal UNION ALL SELECT number, level, entries FROM counter_segments"
    stored = db.execute(STORED).fetchall()
    for begin, end in (("BEGIN", "ROLLBACK"), ("SAVEPOINT s", "ROLLBACK TO s")):
        db.execute(begin)
        optimize(db)
        assert folded(db) == counted(db) == 600
        db.execute(end)
        assert folded(db) == 300 < counted(db) == 600
        assert db.execute(STORED).fetchall() == stored
    db.execute("INSERT INTO t VALUES ('more', 1)")
    db.execute("RELEASE s")
    check(db)
    assert changed_since(db, mark) == {*ROWS[:100], "more"}


class Interrupt:
    """Comes so many looks of SQLite behind the beginning of a fold."""

    def __init__(self, db, looks):
        self.db, self.looks, self.begun = db, looks, False
        db.set_trace_callback(self.see)
        db.set_progress_handler(self.look, 1)

    def see(self, sql):
        self.begun = self.begun or "optimize" in sql

    def look(self):
        self.looks -= self.begun
        if self.begun and self.looks == 0:
            self.db.interrupt()

    def end(self):
        self.db.set_trace_callback(None)
        self.db.set_progress_handler(None, 0)
        return self.looks > 0


@needs_journal
@pytest.mark.parametrize("transaction", [False, True])
def test_a_fold_that_is_interrupted_loses_nothing(tmp_path, transaction):
    """At any moment: it is done whole, or not at all, or the transaction is."""
    db = counter_file(tmp_path / "a.db", ROWS[:4])
    mark, total, since, looks, failures = next_number(db), 4, set(), 0, 0
    while True:
        looks += 1 if looks < 60 else 41  # each interrupted fold leaves a row more to read
        count(db, ROWS[looks % 2:4])
        since |= set(ROWS[looks % 2:4])
        total += 4 - looks % 2
        if transaction:
            db.execute("BEGIN")
            db.execute("INSERT INTO t VALUES ('key 0', 1)")
        interrupt = Interrupt(db, looks)
        try:
            optimize(db)
        except sqlite3.OperationalError as error:
            assert "interrupted" in str(error)
            failures += 1
        has_passed = interrupt.end()
        if transaction and db.in_transaction:
            try:
                db.execute("COMMIT")
                total, since = total + 1, since | {ROWS[0]}
            except sqlite3.OperationalError as error:
                assert "failed half-way" in str(error)
        assert not db.in_transaction
        check(db)
        assert counted(db) == total
        assert changed_since(db, mark) == since
        if has_passed:
            break
    assert failures > 60
    db.close()


def folding_looks():
    """Of the first 500 looks each, or with few examples one in three; then some."""
    step = 1 if EXAMPLES > 100 else 3
    first = random.Random(SEED).randint(1, step)
    return itertools.chain(range(first, 500, step), range(500, 10**9, 997))


def some_looks():
    choose, at = random.Random(SEED), 0
    while True:
        at += choose.randint(1, 2000 if EXAMPLES > 100 else 4000)
        yield at


@needs_journal
@pytest.mark.parametrize("amounts, looks", [(3, folding_looks), (AMOUNTS_MOST, some_looks)])
def test_a_commit_that_folds_and_is_interrupted_is_done_whole_or_not_at_all(tmp_path, amounts, looks):
    """At any moment, between two cells that are written in place, too: where SQLite has rolled back, nothing goes on."""
    path = tmp_path / "a.db"
    with contextlib.closing(counter_file(path, ROWS[:3])) as db:
        db.execute("UPDATE counter_replica SET renewal = ?", [10**15])  # so that nobody sees that it is restored
        if amounts > 3:
            more = [f"more {i}" for i in range(amounts)]
            count(db, more)
            count(db, more[1:])
        else:
            for i in range(TRANSACTIONS_MOST - 2):
                count(db, [ROWS[i % 3]])
        before, last = counted(db), next_number(db)
        cells = folded(db)
    stored, failures = path.read_bytes(), 0
    for at in looks():
        path.write_bytes(stored)
        with contextlib.closing(connect(path)) as db:
            db.execute("PRAGMA synchronous = OFF")
            if amounts == 3:
                count(db, ["key 0"])
            db.execute("BEGIN")
            db.executemany("INSERT INTO t VALUES (?, 1)", ((key,) for key in ROWS[:3]))
            calls = []
            db.set_progress_handler(lambda: calls.append(1) or len(calls) == at, 1)  # once
            done = True
            with contextlib.suppress(sqlite3.OperationalError):
                done = False
                db.execute("COMMIT")
                done = True
            db.set_progress_handler(None, 0)
            passed = len(calls) < at
            failures += not done
            if db.in_transaction:
                db.execute("ROLLBACK")
            found, all_of_it = counted(db), before + 3 + (amounts == 3)
            assert found == all_of_it or not done and found == all_of_it - 3
            if amounts > 3:
                assert (folded(db) > cells) == done
            assert changed_since(db, last) == ({*ROWS[:3]} if found == all_of_it else {"key 0"} if amounts == 3 else set())
        with contextlib.closing(connect(path)) as db:
            check(db)
            assert counted(db) == found
        if passed:
            break
    least = 100 if amounts == 3 else 10
    assert failures > (least if EXAMPLES > 100 else least // 4)


def test_a_connection_that_takes_only_short_blobs_folds_and_lists_by_rows_that_it_can_read(db):
    keys = [f"key {i}" for i in range(40000)]
    db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 20000)
    for _ in range(3):
        count(db, keys)
        check(db)
    optimize(db)
    check(db)
    assert db.execute("SELECT (SELECT max(length(entries)) FROM counter_journal) <= 20000"
                      " AND (SELECT max(length(entries)) FROM counter_segments) <= 20000").fetchone() == (1,)
    assert (folded(db), counted(db)) == (120000, 120000)
    mark = next_number(db)
    count(db, keys[:20000])
    assert changed_since(db, mark) == set(keys[:20000])


@journals
@pytest.mark.parametrize("folds", [False, pytest.param(True, marks=needs_journal)])
def test_a_commit_that_finds_the_disk_full_leaves_nothing(tmp_path, journal, folds):
    many = [f"key {i}" for i in range(AMOUNTS_MOST if folds else 20000)]
    keys = many[:20000]
    db = counter_file(tmp_path / "main.db", many)
    db.execute(f"PRAGMA journal_mode = {journal}").fetchall()
    db.execute("SELECT counter_fork()").fetchall()  # each cell gets a second shard, so that it grows
    if folds:
        count(db, many[1:])
    total, mark = counted(db), next_number(db)
    # For a fold there is room for the journal, and not for the cells.
    pages, = db.execute("PRAGMA page_count").fetchone()
    db.execute(f"PRAGMA max_page_count = {pages + 60 * folds}")
    db.execute("BEGIN")
    with pytest.raises(sqlite3.Error, match="full"):
        db.executemany("INSERT INTO t VALUES (?, 1)", ((key,) for key in keys))
        assert folds
        db.execute("COMMIT")
    assert not db.in_transaction
    assert counted(db) == total
    assert changed_since(db, mark) == set()
    check(db)
    db.execute("PRAGMA max_page_count = 100000")
    count(db, keys)
    assert counted(db) == total + len(keys)
    optimize(db)
    assert folded(db) == total + len(keys)
    assert changed_since(db, mark) == set(keys)
    check(db)
    db.close()


# ---- what is taken back ----

def test_a_rollback_to_a_savepoint_loses_no_change_and_leaves_none(db):
    """Enough rows to be written down before the end of the transaction, then taken back."""
    many = [f"row {i}" for i in range(100000)]
    count(db, ["first"])
    mark = next_number(db)
    db.execute("BEGIN")
    db.executemany("INSERT INTO t VALUES (?, 1)", ((key,) for key in many[:1500]))
    db.execute("SAVEPOINT s")
    db.executemany("INSERT INTO t VALUES (?, 1)", ((key,) for key in many[1500:]))
    db.execute("UPDATE t SET n = n + 1")
    assert db.execute("SELECT count(*) FROM counter_journal WHERE _seq >= ?", (mark,)).fetchone()[0] > 10
    db.execute("ROLLBACK TO s")
    db.execute("INSERT INTO t VALUES ('last', 1)")
    db.execute("COMMIT")
    assert changed_since(db, mark) == {*many[:1500], "last"}
    check(db)


def test_what_was_written_down_for_somebody_who_looked_is_taken_back_with_its_savepoint(db):
    count(db, ROWS[:100])
    mark = next_number(db)
    db.execute("BEGIN")
    db.execute("INSERT INTO t VALUES ('first', 1)")
    db.execute("SAVEPOINT s")
    db.execute("INSERT INTO t VALUES ('taken back', 1), ('key 5', 1)")
    check(db)
    db.execute("ROLLBACK TO s")
    db.execute("INSERT INTO t VALUES ('last', 1)")
    db.execute("COMMIT")
    assert changed_since(db, mark) == {"first", "last"}
    assert db.execute("SELECT n FROM t WHERE k = 'key 5'").fetchone() == (1,)
    check(db)


def test_a_memory_database_gives_what_is_committed_and_nothing_before(tmp_path):
    db = counter_file(":memory:")
    db.execute("ATTACH ? AS other", (str(tmp_path / "b.db"),))
    db.execute("INSERT INTO t VALUES ('a', 1)")
    db.execute("SELECT * FROM counter_push('other')").fetchall()
    since = next_number(db)
    db.execute("BEGIN")
    db.execute("INSERT INTO t VALUES ('b', 1), ('c', 5)")
    for give in ("SELECT * FROM counter_changes(0)", "SELECT * FROM counter_push('other')"):
        with pytest.raises(sqlite3.OperationalError, match="main has counted in this transaction"):
            db.execute(give).fetchall()
    db.execute("INSERT INTO t VALUES ('c', 5)")
    db.execute("COMMIT")
    assert changed_since(db, since) == {"b", "c"}
    assert db.execute("SELECT sum(value) FROM counter_changes(0) AS f, counter_change(f.change)").fetchall() == [(12,)]
    assert db.execute("SELECT rows_changed FROM counter_push('other')").fetchall() == [(2,)]
    assert db.execute("SELECT k, n FROM other.t ORDER BY k").fetchall() == [("a", 1), ("b", 1), ("c", 10)]
    check(db)
    db.close()


def test_renames_and_drops_in_a_transaction_keep_the_changes_of_tables_apart(db):
    db.execute("BEGIN")
    db.execute("INSERT INTO t VALUES ('a', 1)")
    db.execute("ALTER TABLE t RENAME TO u")
    db.execute("INSERT INTO u VALUES ('b', 1)")
    db.execute("CREATE VIRTUAL TABLE w USING counter(k TEXT PRIMARY KEY, n COUNTER)")
    db.execute("INSERT INTO w VALUES ('c', 1)")
    db.execute("ALTER TABLE u RENAME TO t")
    db.execute("INSERT INTO t VALUES ('d', 1)")
    db.execute("DROP TABLE w")
    db.execute("COMMIT")
    check(db)
    assert changed_since(db, 0) == {"a", "b", "d"}


def test_a_table_whose_creation_is_taken_back_has_no_changes(db):
    db.execute("BEGIN")
    db.execute("INSERT INTO t VALUES ('a', 1)")
    db.execute("SAVEPOINT s")
    db.execute("CREATE VIRTUAL TABLE w USING counter(k TEXT PRIMARY KEY, n COUNTER)")
    db.execute("INSERT INTO w VALUES ('b', 1)")
    db.execute("INSERT INTO t VALUES ('c', 1)")
    db.execute("ROLLBACK TO s")
    db.execute("COMMIT")
    check(db)
    assert changed_since(db, 0) == {"a"}


@pytest.mark.parametrize("taken_back", [
    ["CREATE TABLE u_cells(x)", "BEGIN", "INSERT INTO t VALUES ('a', 1)", "!ALTER TABLE t RENAME TO u"],
    ["BEGIN", "INSERT INTO t VALUES ('a', 1)", "SAVEPOINT s", "ALTER TABLE t RENAME TO u", "ROLLBACK TO s"],
    ["BEGIN", "INSERT INTO t VALUES ('a', 1)", "SAVEPOINT s", "DROP TABLE t", "ROLLBACK TO s"],
    ["CREATE TRIGGER no BEFORE DELETE ON counter_tables BEGIN SELECT raise(ABORT, 'no'); END",
     "BEGIN", "INSERT INTO t VALUES ('a', 1)", "!DROP TABLE t"]])
def test_a_rename_or_drop_that_is_taken_back_loses_no_change(db, taken_back):
    count(db, ["before", "a"])
    since = next_number(db)
    for sql in taken_back:
        if sql.startswith("!"):
            with pytest.raises(sqlite3.Error):
                db.execute(sql[1:])
        else:
            db.execute(sql)
    db.execute("COMMIT")
    check(db)
    assert changed_since(db, since) == {"a"}
    assert db.execute("SELECT n FROM t WHERE k = 'a'").fetchone() == (2,)


def test_a_source_that_renames_between_counts_gives_all(db, tmp_path):
    peer = connect(tmp_path / "b.db")
    pull = f"SELECT rows_read FROM counter_pull('{tmp_path / 'a.db'}')"
    name = "t"
    for step in range(40):
        db.execute("BEGIN")
        db.execute(f"INSERT INTO {name} VALUES (?, 1)", (f"key {step // 2}",))
        if step % 3 == 0:
            db.execute("SAVEPOINT s")
        other = "u" if name == "t" else "t"
        db.execute(f"ALTER TABLE {name} RENAME TO {other}")
        db.execute(f"INSERT INTO {other} VALUES (?, 1)", (f"other {step // 2}",))
        if step % 3 == 0:
            db.execute("ROLLBACK TO s")
        else:
            name = other
        db.execute("COMMIT")
        assert peer.execute(pull).fetchall() == [(1 if step % 3 == 0 else 2,)]
        assert (peer.execute("SELECT k, n FROM t ORDER BY k").fetchall()
                == db.execute(f"SELECT k, n FROM {name} ORDER BY k").fetchall())
    peer.close()


@pytest.mark.parametrize("end", ["COMMIT", "ROLLBACK"])
def test_a_table_dropped_in_an_attached_file_leaves_nothing_behind(db, tmp_path, end):
    db.execute("ATTACH ? AS o", (str(tmp_path / "o.db"),))
    db.execute("CREATE VIRTUAL TABLE o.t USING counter(k TEXT PRIMARY KEY, n COUNTER)")
    db.execute("BEGIN")
    db.execute("INSERT INTO o.t VALUES ('a', 1)")
    db.execute("DROP TABLE o.t")
    db.execute(end)
    db.execute("DETACH o")
    db.execute("INSERT INTO t VALUES ('b', 1)")
    check(db)
    db.execute("ATTACH ? AS o", (f"file:{tmp_path / 'o.db'}?mode=ro",))
    db.execute("INSERT INTO t VALUES ('c', 1)")
    check(db)


def test_a_table_that_is_counted_in_and_dropped_leaves_nothing(db):
    db.execute("BEGIN")
    db.execute("INSERT INTO t VALUES ('a', 1)")
    db.execute("DROP TABLE t")
    db.execute("COMMIT")
    assert db.execute("SELECT name FROM sqlite_master WHERE name LIKE 't!_%' ESCAPE '!'").fetchall() == []


# ---- transactions, savepoints and reads against a model ----

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

    def respell(self, table, key):
        """A row that is new, or new again, has the spelling of who wrote it."""
        rows, stored = self.tables[table], self.key(table, key)
        if stored in rows:
            rows[key] = rows.pop(stored)

    def add(self, table, key, n, m, skips=False):
        rows = self.tables[table]
        if rows.get(self.key(table, key)) is None:
            self.respell(table, key)
        key = self.key(table, key)
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
        self.model.respell(table, key)
        self.model.tables[table][key] = [n, 0]
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
        way = self.rng.randrange(6)
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
        elif way == 4:  # what our functions see does not change when all is written, nor when it is folded
            digests = f"SELECT digest, counter_table_digest('{table}') FROM counter_digests('{table}', 1)"
            noted = self.db.execute(digests).fetchall()
            for command in ("integrity-check", "optimize"):
                self.db.execute(f"INSERT INTO {table}({table}) VALUES(?)", [command])
                assert self.db.execute(digests).fetchall() == noted
        else:
            cells = {key: [None, None] for key, in self.db.execute(f"SELECT json_array(k) FROM {table}")}
            for key, column, value in self.db.execute(
                    "SELECT key, column_name, counter_value(cell) FROM counter_cells(?)", [table]):
                if key in cells:
                    cells[key]["nm".index(column)] = value
            assert {key: [n or 0, m or 0] for key, (n, m) in cells.items()} == {f'["{k}"]': [n, m] for k, n, m in shown}

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


TOLD = """INSERT INTO counter_changes(table_name, key, change, seq, source) VALUES ('t', counter_key(0), counter_change_of(
  '{"tells":"row","columns":[{"name":"n","kind":"counter","generation":1,"cell":' ||
  counter_json(counter_inc(NULL, 100, x'0000000000000000000000000000000a')) || '}]}'), 1, '00000000-0000-0000-0000-00000000000a')"""


def test_a_feed_row_that_comes_between_is_merged_with_what_was_counted(tmp_path):
    db = table_of(tmp_path / "main.db", rows=1)
    db.execute("BEGIN")
    db.execute("INSERT INTO t VALUES(0, 5)")
    db.execute(TOLD)
    db.execute("INSERT INTO t VALUES(0, 5)")
    db.execute("COMMIT")
    assert db.execute("SELECT n FROM t").fetchall() == [(111,)]
    db.close()


@pytest.mark.parametrize("function", ["SELECT digest FROM counter_digests('t', 1)", "SELECT counter_table_digest('t')",
                                      "SELECT bytes FROM counter_size('t')", "SELECT counter_value(cell) FROM counter_cells('t')"])
def test_functions_see_what_the_transaction_has_counted(tmp_path, function):
    db = table_of(tmp_path / "main.db", rows=1)
    db.execute("SELECT counter_fork()").fetchall()
    before = db.execute(function).fetchall()
    db.execute("BEGIN")
    db.execute("INSERT INTO t VALUES(0, 5)")
    noted = db.execute(function).fetchall()
    db.execute("COMMIT")
    assert db.execute(function).fetchall() == noted != before
    optimize(db)
    assert db.execute(function).fetchall() == noted
    db.close()


def test_rows_that_the_transaction_has_counted_in_can_be_purged(tmp_path):
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
    TOLD])
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


def test_an_error_in_a_row_that_a_function_of_the_host_removes_meanwhile_is_told_without_its_key(db):
    count(db, ["x"])
    db.execute("UPDATE t_cells SET n = counter_merge(counter_inc(NULL, 9223372036854775807, zeroblob(16)), "
               "counter_inc(NULL, 1, randomblob(16)))")
    with pytest.raises(sqlite3.Error, match=r"t: column n of \('x'\): integer overflow"):
        db.execute("SELECT k, n FROM t").fetchall()
    db.create_function("remove", 0, lambda: db.execute("DELETE FROM t_cells").rowcount)
    with pytest.raises(sqlite3.Error, match=r"t: column n of \(\): integer overflow"):
        db.execute("SELECT k, remove(), n FROM t").fetchall()


def steps_of(db, sql, *values):
    """How many steps of SQLite's machine a statement takes, with those that it runs itself."""
    steps = 0

    def look():
        nonlocal steps
        steps += 1
        return 0
    db.set_progress_handler(look, 1)
    db.execute(sql, values)
    db.set_progress_handler(None, 0)
    return steps


@needs_journal
def test_a_row_that_was_counted_in_is_found_in_memory(tmp_path):
    with contextlib.closing(counter_file(tmp_path / "a.db", ["x", "y", "z"])):
        pass
    with contextlib.closing(connect(tmp_path / "a.db")) as db:
        db.execute("BEGIN")
        first, *_, again, other, other_again = (
            steps_of(db, "INSERT INTO t VALUES (?, 1)", key) for key in ["x"] * 30 + ["y", "y"])
        db.execute("COMMIT")
    assert again == other_again < other < first


def test_room_for_rows_in_memory_is_had_back_when_they_are_forgotten(db):
    key = "x" * 250000
    for _ in range(200):
        db.execute("INSERT INTO t VALUES (?, 1)", [key])
        db.execute("INSERT INTO t(t, k, n) VALUES ('reset', ?, 0)", [key])
    assert db.execute("SELECT count(*), sum(n) FROM t").fetchall() == [(1, 0)]


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


def test_a_commit_that_would_fold_says_that_a_statement_failed_half_way():
    """And not that a table is damaged, where the fold finds the half of it."""
    failed = 0
    for limit in range(100, 800, 7):
        with contextlib.closing(counter_file(":memory:", ROWS[:8])) as db:
            db.execute("BEGIN")
            before = db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, limit)
            with contextlib.suppress(sqlite3.Error):
                db.execute("INSERT INTO t(t) VALUES ('add column d')")
            db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, before)
            with contextlib.suppress(sqlite3.Error):
                db.executemany("INSERT INTO t(k, n) VALUES (?, 1)", ((key,) for key in ROWS[:8]))
            try:
                db.execute("COMMIT")
            except sqlite3.Error as error:
                assert "half-way" in str(error)
                failed += 1
    assert failed


def test_what_a_commit_could_not_read_for_an_interrupt_is_read_by_the_next_statement(db):
    """A ROLLBACK TO makes the COMMIT read the identity; one that is interrupted there commits all the same."""
    at, calls, total, interrupted = 1, 0, 0, 0
    db.execute("INSERT INTO t VALUES ('a', 0)")

    def ring():
        nonlocal calls
        calls += 1
        if calls == at:
            db.interrupt()
        return 0
    while calls >= at - 1:
        for sql in ["BEGIN", "INSERT INTO t VALUES ('a', 1)", "SAVEPOINT s", "INSERT INTO t VALUES ('b', 1)",
                    "ROLLBACK TO s", "INSERT INTO t VALUES ('a', 1)"]:
            db.execute(sql)
        calls = 0
        db.set_progress_handler(ring, 1)
        try:
            db.execute("COMMIT")
            total += 2
        except sqlite3.OperationalError:
            interrupted += 1
        db.set_progress_handler(None, 0)
        if db.in_transaction:
            db.execute("ROLLBACK")
        db.execute("INSERT INTO t VALUES ('a', 1)")
        total += 1
        assert counted(db) == total
        at += 1
    assert interrupted > 3
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
