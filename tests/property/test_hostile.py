"""test_hostile.py - files that somebody else has made, to hang or to mislead who pulls from them."""

import contextlib
import sqlite3
import threading
import time

import pytest

from files import EXTENSION, connect

FAILS = "abs(-9223372036854775808)"  # an error, if it is ever evaluated
STORED = ["t_cells", "t_journal", "t_floors", "t_ops", "t_columns"]
OF_FILE = ["counter_replica", "counter_tables", "counter_names", "counter_sources", "counter_former",
           "counter_peers", "counter_conflicts"]
READ = STORED + OF_FILE


def rows(db, sql):
    return db.execute(sql).fetchall()


def make_source(path):
    with contextlib.closing(connect(path)) as db:
        db.execute("CREATE VIRTUAL TABLE t USING counter(k TEXT PRIMARY KEY, n COUNTER)")
        db.execute("INSERT INTO t VALUES ('a', 100), ('b', 7)")


def rewrite(path, table, change):
    """Changes the declaration of a table, as no library of ours would."""
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as db:
        (sql,), = rows(db, f"SELECT sql FROM sqlite_master WHERE name = '{table}'")
        db.execute("PRAGMA writable_schema = ON")
        db.execute("UPDATE sqlite_master SET sql = ? WHERE name = ?", [change(sql), table])
        (version,), = rows(db, "PRAGMA schema_version")
        db.execute(f"PRAGMA schema_version = {version + 1}")


def pull(db, path, how):
    if how == "attached":
        db.execute(f"ATTACH '{path}' AS source")
        return rows(db, "SELECT * FROM counter_pull('source')")
    return rows(db, f"SELECT * FROM counter_pull('{path}')")


@pytest.mark.parametrize("how", ["path", "attached"])
@pytest.mark.parametrize("again", [False, True])
@pytest.mark.parametrize("table", READ)
def test_no_generated_column_of_a_source_is_evaluated(tmp_path, table, again, how):
    make_source(tmp_path / "source.db")
    with contextlib.closing(connect(tmp_path / "app.db")) as db:
        if again:
            rows(db, f"SELECT * FROM counter_pull('{tmp_path}/source.db')")
        constraint = {"t_cells": "UNIQUE(", "counter_peers": "PRIMARY KEY ("}.get(table)  # columns stand before it
        at = f"wicked INT AS ({FAILS})"
        rewrite(tmp_path / "source.db", table, lambda sql: (
            sql.replace(constraint, f"{at}, {constraint}") if constraint else f"{sql[:sql.rindex(')')]}, {at})"))
        with pytest.raises(sqlite3.Error, match="generated column wicked"):
            pull(db, tmp_path / "source.db", how)


@pytest.mark.parametrize("how", ["path", "attached"])
@pytest.mark.parametrize("name, column", [
    ("t_cells", '"n"'), ("t_journal", "level INTEGER NOT NULL"), ("t_journal", "entries BLOB NOT NULL"),
    ("counter_tables", "token BLOB NOT NULL"), ("counter_replica", "format INTEGER NOT NULL"),
    ("counter_replica", "instance BLOB")])
def test_a_column_that_became_an_expression_is_refused_before_it_is_read(tmp_path, name, column, how):
    make_source(tmp_path / "source.db")
    wicked = column.split(" ")[0] + f" AS ({FAILS})"
    rewrite(tmp_path / "source.db", name, lambda sql: sql.replace(column, wicked, 1))
    with contextlib.closing(connect(tmp_path / "app.db")) as db:
        with pytest.raises(sqlite3.Error, match="generated column"):
            pull(db, tmp_path / "source.db", how)


@pytest.mark.parametrize("what", ["counter_replica", "counter_tables", "t_cells", "t_journal"])
def test_a_view_in_place_of_a_stored_table_is_not_looked_through(tmp_path, what):
    make_source(tmp_path / "source.db")
    with contextlib.closing(sqlite3.connect(tmp_path / "source.db", isolation_level=None)) as db:
        db.execute(f"ALTER TABLE {what} RENAME TO hidden")
        db.execute(f"CREATE VIEW {what} AS SELECT *, {FAILS} FROM hidden")
    with contextlib.closing(connect(tmp_path / "app.db")) as db:
        with pytest.raises(sqlite3.Error, match="not an ordinary table but a view|missing"):
            pull(db, tmp_path / "source.db", "path")


def interrupted_after(db, seconds, sql):
    """How long it took until the statement was interrupted."""
    timer = threading.Timer(seconds, db.interrupt)
    began = time.monotonic()
    timer.start()
    with pytest.raises(sqlite3.OperationalError, match="interrupted"):
        rows(db, sql)
    timer.cancel()
    return time.monotonic() - began


def make_slow(path):
    """A catalog that takes for ever to be sorted into the list of tables: no statement of the host
    runs meanwhile."""
    make_source(path)
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("WITH RECURSIVE c(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM c WHERE i < 1000000)"
                   " INSERT INTO counter_tables SELECT 'x' || i, 'x' || i, randomblob(16) FROM c")


def test_an_interrupt_and_a_progress_handler_of_the_host_reach_a_connection_of_its_own(tmp_path):
    make_slow(tmp_path / "source.db")
    with contextlib.closing(sqlite3.connect(tmp_path / "app.db", isolation_level=None, check_same_thread=False)) as db:
        db.enable_load_extension(True)
        db.load_extension(EXTENSION)
        pull_it = f"SELECT * FROM counter_pull('{tmp_path}/source.db')"
        assert interrupted_after(db, 0.1, pull_it) < 1
        calls = []
        db.set_progress_handler(lambda: calls.append(1) or len(calls) > 20, 10000)
        with pytest.raises(sqlite3.OperationalError, match="interrupted"):
            rows(db, pull_it)
        db.set_progress_handler(None, 0)
        assert rows(db, "SELECT count(*) FROM sqlite_master") == [(0,)]


def test_pulls_of_a_thousand_tables_with_nothing_new_take_work_for_each_table_and_no_more(tmp_path):
    work = {}
    for n in (100, 200, 400):
        path = tmp_path / f"{n}.db"
        with contextlib.closing(connect(path)) as db:
            db.execute("BEGIN")
            for i in range(n):
                db.execute(f"CREATE VIRTUAL TABLE t{i} USING counter(k TEXT PRIMARY KEY, n COUNTER)")
                db.execute(f"INSERT INTO t{i} VALUES ('a', 1)")
            db.execute("COMMIT")
        with contextlib.closing(connect(tmp_path / f"taker{n}.db")) as db:
            pull_it = f"SELECT count(*), sum(rows_changed) FROM counter_pull('{path}')"
            assert rows(db, pull_it) == [(n, n)]
            calls = []
            db.set_progress_handler(lambda: calls.append(1) and None, 100)
            assert rows(db, pull_it) == [(n, 0)]
            work[n] = len(calls)
    assert work[200] < 2.5 * work[100] and work[400] < 2.5 * work[200], work
