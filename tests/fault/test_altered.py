"""A column command, or a pull that brings columns, that is interrupted or finds the disk full:
whole or not at all."""
import os
import pathlib
import shutil
import sqlite3

import pytest

LIBRARY = pathlib.Path(__file__).parents[2] / "build" / "counter"
EVERY, STEP = 20, 5

COMMANDS = ["INSERT INTO v(v) VALUES('add column f')", "INSERT INTO v(v) VALUES('drop column m')",
            "INSERT INTO v(v) VALUES('drop column m'), ('add column f'), ('add column m')"]
PULL = "SELECT * FROM counter_pull('peer.db')"


def connect(path):
    db = sqlite3.connect(path, isolation_level=None)
    db.enable_load_extension(True)
    db.load_extension(str(LIBRARY))
    db.execute("PRAGMA synchronous = OFF")
    return db


@pytest.fixture(autouse=True)
def files(tmp_path):
    os.chdir(tmp_path)
    for path in ("first.db", "peer.db"):
        db = connect(path)
        db.execute("CREATE VIRTUAL TABLE v USING counter(k INTEGER PRIMARY KEY, n COUNTER, m COUNTER)")
        db.execute("CREATE TABLE other(x)")
        db.executemany("INSERT INTO v VALUES(?, 1, 2)", [(i,) for i in range(200)])
        if path == "peer.db":
            db.execute("INSERT INTO v(v) VALUES('drop column m'), ('add column e')")
            db.execute("INSERT INTO v(k, n, e) VALUES(1, 5, 6), (201, 7, 8)")
        db.close()


def state(db):
    columns = db.execute("SELECT name, value FROM counter_state WHERE kind = 'counter' ORDER BY name").fetchall()
    return columns, db.execute("SELECT * FROM v ORDER BY k").fetchall()


def begin(transaction):
    shutil.copyfile("first.db", "main.db")
    db = connect("main.db")
    before = state(db)
    if transaction:
        db.execute("BEGIN")
        db.execute("INSERT INTO other VALUES(1)")
    return db, before


def finished(sql):
    db, _ = begin(False)
    db.execute(sql).fetchall()
    after = state(db)
    db.close()
    return after


def end(db, failed):
    """Half a command cannot be committed."""
    if db.in_transaction:
        try:
            db.execute("COMMIT")
        except sqlite3.Error as error:
            assert failed and "could not be undone" in str(error)
    assert not db.in_transaction


def go_on(db, sql, before, after):
    """Nothing has been done, and the next run works."""
    assert state(db) == before
    db.execute(sql).fetchall()
    assert state(db) == after
    db.execute("INSERT INTO v(v) VALUES('integrity-check')")
    assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


def interrupt(db, at, lasting):
    calls = 0

    def ring():
        nonlocal calls
        calls += 1
        if calls == at and lasting:
            db.interrupt()
        return calls == at and not lasting
    db.set_progress_handler(ring, EVERY)
    return lambda: calls


@pytest.mark.parametrize("transaction", [False, True])
@pytest.mark.parametrize("lasting", [pytest.param(False, marks=pytest.mark.long), True])
@pytest.mark.parametrize("sql", COMMANDS + [PULL])
def test_what_is_interrupted_is_done_whole_or_not_at_all(sql, lasting, transaction):
    after, at, failures = finished(sql), 1, 0
    while True:
        db, before = begin(transaction)
        calls, failed = interrupt(db, at, lasting), False
        try:
            db.execute(sql).fetchall()
        except sqlite3.Error:
            failed = True
        db.set_progress_handler(None, 0)
        over = calls() < at
        end(db, failed)
        if failed and state(db) != after:
            go_on(db, sql, before, after)
            failures += 1
        assert state(db) == after
        db.close()
        if over:
            break
        at += STEP
    assert failures > 4


LONG = "x" * 9000


@pytest.mark.parametrize("transaction", [False, True])
@pytest.mark.parametrize("sql", [f"INSERT INTO v(v) VALUES('add column {LONG}')",
                                 f"INSERT INTO v(v) VALUES('drop column m'), ('add column {LONG}')", PULL])
def test_a_full_disk_is_an_error_and_nothing_is_half_done(sql, transaction):
    db = connect("peer.db")
    db.executemany("INSERT INTO v(k, e) VALUES(?, 1)", [(i,) for i in range(1000)])
    db.close()
    after, failures = finished(sql), 0
    for more in range(40):
        db, before = begin(transaction)
        pages, = db.execute("PRAGMA page_count").fetchone()
        db.execute(f"PRAGMA max_page_count = {pages + more}")
        failed = False
        try:
            db.execute(sql).fetchall()
        except sqlite3.Error as error:
            assert "full" in str(error)
            failed = True
        end(db, failed)
        db.execute("PRAGMA max_page_count = 100000")
        if failed:
            go_on(db, sql, before, after)
            failures += 1
        assert state(db) == after
        db.close()
    assert 0 < failures < 40
