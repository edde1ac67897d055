"""test_processes.py - several connections and processes on one file: nothing is lost."""

import os
import pathlib
import random
import sqlite3
import subprocess
import sys
import time

import pytest

from conftest import SEED
from files import connect

WORKER = str(pathlib.Path(__file__).with_name("worker.py"))

journals = pytest.mark.parametrize("journal", ["WAL", "DELETE"])


def new_file(path, journal="WAL"):
    db = connect(str(path))
    db.execute(f"PRAGMA journal_mode = {journal}")
    db.execute("CREATE VIRTUAL TABLE t USING counter(k TEXT PRIMARY KEY, a COUNTER, b COUNTER)")
    return db


def start(what, path, argument):
    command = [sys.executable, WORKER, what, str(path), str(argument)]
    return subprocess.Popen(command, stdout=subprocess.PIPE)


def counts(db):
    return db.execute("SELECT a, b FROM t WHERE k = 'k'").fetchone()


@journals
@pytest.mark.parametrize("processes, times", [(2, 5000), (4, 1000)])
def test_processes_that_count_in_one_file_make_the_exact_sum(tmp_path, journal, processes, times):
    db = new_file(tmp_path / "one.db", journal)
    workers = [start("count", tmp_path / "one.db", times) for _ in range(processes)]
    for worker in workers:
        acknowledged, _ = worker.communicate()
        assert (worker.returncode, len(acknowledged)) == (0, times)
    assert counts(db) == (processes * times, processes * times)
    db.close()


@journals
def test_after_kill_9_every_acknowledged_increment_is_there_once(tmp_path, journal):
    chance, before = random.Random(SEED), 0
    path = tmp_path / "one.db"
    db = new_file(path, journal)
    db.execute("INSERT INTO t VALUES ('k', 0, 0)")
    db.close()
    for _ in range(20):
        worker = start("count", path, 10**9)
        os.read(worker.stdout.fileno(), 1)
        time.sleep(chance.uniform(0, 0.05))
        worker.kill()
        acknowledged = 1 + len(worker.stdout.read())
        worker.wait()
        db = connect(str(path))
        after, other = counts(db)
        db.execute("INSERT INTO t(t) VALUES ('integrity-check')")
        db.close()
        assert after == other, "half a statement"
        assert after - before - acknowledged in (0, 1), "one may have been cut off before its word"
        before = after


def test_200_clients_with_500_increments_of_two_counters_make_100000_each(tmp_path):
    db = connect(str(tmp_path / "plain.db"))
    db.execute("CREATE TABLE t(k TEXT PRIMARY KEY, a BLOB, b BLOB)")
    db.execute("INSERT INTO t(k) VALUES ('k')")
    turns = [bytes([client]) * 16 for client in range(200)] * 500
    random.Random(SEED).shuffle(turns)
    db.execute("BEGIN")
    db.executemany("UPDATE t SET a = counter_inc(a, 1, ?1), b = counter_inc(b, 1, ?1)",
                   ([client] for client in turns))
    db.execute("COMMIT")
    sums = db.execute("SELECT counter_value(a), counter_value(b) FROM t")
    assert sums.fetchone() == (100000, 100000)
    clocks = db.execute("SELECT count(*), min(clock), max(clock) FROM t, counter_shards(t.a)")
    assert clocks.fetchone() == (200, 500, 500)
    db.close()


@journals
def test_connections_see_each_others_renames_and_new_tables(tmp_path, journal):
    one = new_file(tmp_path / "one.db", journal)
    two = connect(str(tmp_path / "one.db"))
    one.execute("INSERT INTO t VALUES ('k', 1, 2)")
    assert counts(two) == (1, 2)
    one.execute("ALTER TABLE t RENAME TO u")
    assert two.execute("SELECT a FROM u").fetchall() == [(1,)]
    two.execute("UPDATE u SET a = a + 1")
    with pytest.raises(sqlite3.OperationalError, match="no such table"):
        two.execute("SELECT a FROM t")
    two.execute("CREATE VIRTUAL TABLE v USING counter(k INTEGER PRIMARY KEY, n COUNTER)")
    one.execute("INSERT INTO v VALUES (7, 8)")
    two.execute("DROP TABLE u")
    with pytest.raises(sqlite3.OperationalError, match="no such table"):
        one.execute("SELECT a FROM u")
    assert two.execute("SELECT * FROM v").fetchall() == [(7, 8)]
    one.close()
    two.close()


def pull(db, path):
    return db.execute("SELECT rows_changed FROM counter_pull(?)", [str(path)]).fetchall()


def test_a_pull_that_finds_a_file_with_a_rollback_journal_locked_says_so_at_once_and_changes_nothing(tmp_path):
    """Under WAL it waits: test_exchange.py."""
    journal = "DELETE"
    source = new_file(tmp_path / "source.db", journal)
    source.execute("INSERT INTO t VALUES ('k', 3, 4)")
    new_file(tmp_path / "target.db", journal).close()
    target = connect(str(tmp_path / "target.db"), timeout=20)
    holder = start("hold", tmp_path / "target.db", 1.0)
    assert holder.stdout.read(6) == b"locked"

    began = time.monotonic()
    with pytest.raises(sqlite3.OperationalError, match="database is locked"):
        pull(target, tmp_path / "source.db")
    assert time.monotonic() - began < 0.5
    assert counts(target) is None

    target.execute("BEGIN IMMEDIATE")  # waits for the holder, as the message advises
    assert pull(target, tmp_path / "source.db") == [(1,)]
    target.execute("COMMIT")
    assert counts(target) == (3, 4)
    holder.communicate()
    source.close()
    target.close()


@journals
def test_a_push_into_a_file_in_a_write_transaction_is_refused_whole(tmp_path, journal):
    main = new_file(tmp_path / "main.db", journal)
    main.execute("INSERT INTO t VALUES ('k', 3, 4)")
    other = new_file(tmp_path / "other.db", journal)
    main.execute("ATTACH ? AS other", [str(tmp_path / "other.db")])
    other.execute("BEGIN IMMEDIATE")
    for call in ("counter_push", "counter_sync"):
        with pytest.raises(sqlite3.OperationalError, match="database is locked"):
            main.execute(f"SELECT * FROM {call}('other')").fetchall()
    other.execute("COMMIT")
    assert counts(other) is None
    main.execute("SELECT * FROM counter_push('other')").fetchall()
    assert counts(other) == (3, 4)
    main.close()
    other.close()


def test_a_reader_in_a_transaction_keeps_its_snapshot(tmp_path):
    reader = new_file(tmp_path / "one.db", "WAL")
    reader.execute("INSERT INTO t VALUES ('k', 1, 1)")
    reader.execute("BEGIN")
    assert counts(reader) == (1, 1)
    assert start("count", tmp_path / "one.db", 10).wait() == 0
    assert counts(reader) == (1, 1)
    with pytest.raises(sqlite3.OperationalError, match="database is locked"):
        reader.execute("UPDATE t SET a = a + 1")  # on top of what it cannot see
    reader.execute("COMMIT")
    assert counts(reader) == (11, 11)
    reader.execute("UPDATE t SET a = a + 1")
    assert counts(reader) == (12, 11)
    reader.close()


def test_a_statement_that_waits_for_its_lock_counts_on_top_of_what_was_written_meanwhile(tmp_path):
    db = new_file(tmp_path / "one.db", "WAL")
    assert start("count", tmp_path / "one.db", 1).wait() == 0
    db.execute("PRAGMA busy_timeout = 20000")
    worker = start("count", tmp_path / "one.db", 2000)
    for _ in range(2000):
        db.execute("UPDATE t SET a = a + 1, b = b + 1 WHERE k = 'k'")
    worker.communicate()
    assert counts(db) == (4001, 4001)
    db.close()
