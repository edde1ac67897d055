"""test_hostile.py - files that somebody else has made, to hang or to mislead who pulls from them."""

import contextlib
import pathlib
import re
import shutil
import sqlite3
import subprocess
import sys
import threading
import time

import pytest

from conftest import needs_journal
from files import EXTENSION, connect

FAILS = "abs(-9223372036854775808)"  # an error, if it is ever evaluated
STORED = ["t_cells"]
OF_FILE = ["counter_replica", "counter_tables", "counter_sources", "counter_peers", "counter_conflicts", "counter_journal", "counter_segments",
           "counter_state", "counter_requests"]
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
        before = {"t_cells": "UNIQUE(", "counter_requests": "UNIQUE (",
                  **dict.fromkeys(("counter_peers", "counter_segments", "counter_state"), "PRIMARY KEY (")}
        constraint = before.get(table)  # columns must stand before it
        at = f"wicked INT AS ({FAILS})"
        rewrite(tmp_path / "source.db", table, lambda sql: (
            sql.replace(constraint, f"{at}, {constraint}") if constraint else f"{sql[:sql.rindex(')')]}, {at})"))
        with pytest.raises(sqlite3.Error, match="generated column wicked"):
            pull(db, tmp_path / "source.db", how)


@pytest.mark.parametrize("how", ["path", "attached"])
@pytest.mark.parametrize("name, column", [
    ("t_cells", '"n"'), ("counter_journal", "tabs INTEGER NOT NULL"), ("counter_journal", "entries BLOB NOT NULL"),
    ("counter_segments", "level INTEGER NOT NULL"),
    ("counter_tables", "token BLOB NOT NULL"), ("counter_replica", "format INTEGER NOT NULL"),
    ("counter_replica", "instance BLOB")])
def test_a_column_that_became_an_expression_is_refused_before_it_is_read(tmp_path, name, column, how):
    make_source(tmp_path / "source.db")
    wicked = column.split(" ")[0] + f" AS ({FAILS})"
    rewrite(tmp_path / "source.db", name, lambda sql: sql.replace(column, wicked, 1))
    with contextlib.closing(connect(tmp_path / "app.db")) as db:
        with pytest.raises(sqlite3.Error, match="generated column"):
            pull(db, tmp_path / "source.db", how)


@pytest.mark.parametrize("what", ["counter_replica", "counter_tables", "t_cells", "counter_journal", "counter_segments",
                                  "counter_state", "counter_requests"])
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
                   " INSERT INTO counter_tables SELECT 'x' || i, 'x' || i, randomblob(16), 1000 + i FROM c")


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


# ---- what the host does not allow ----

ANSWERS = pytest.mark.parametrize("answer", [sqlite3.SQLITE_DENY, sqlite3.SQLITE_IGNORE])


@ANSWERS
@pytest.mark.parametrize("begins", [False, True])
def test_a_stored_table_that_an_authorizer_keeps_stays_with_all_others(answer, begins):
    with contextlib.closing(connect(":memory:")) as db:
        db.execute("CREATE VIRTUAL TABLE t USING counter(k TEXT PRIMARY KEY, n COUNTER)")
        db.execute("INSERT INTO t VALUES ('a', 1)")
        db.execute("DROP TABLE t")
        stored = rows(db, "SELECT name FROM sqlite_master WHERE type = 'table'")
        before = rows(db, "SELECT * FROM counter_replica")
        assert len(stored) == 9
        if begins:
            db.execute("BEGIN")
        for name, in stored:
            db.set_authorizer(lambda action, first, *_: answer if (action, first) == (sqlite3.SQLITE_DROP_TABLE, name) else sqlite3.SQLITE_OK)
            with pytest.raises(sqlite3.Error, match="^counter_remove: (not authorized|an authorizer of this connection ignores DROP TABLE)$"):
                rows(db, "SELECT counter_remove()")
            db.set_authorizer(None)
            assert rows(db, "SELECT name FROM sqlite_master WHERE type = 'table'") == stored
            assert rows(db, "SELECT * FROM counter_replica") == before
        assert rows(db, "SELECT counter_remove()") == [(9,)]
        assert rows(db, "SELECT count(*) FROM sqlite_master") == [(0,)]


@ANSWERS
@pytest.mark.parametrize("function", ["counter_pull", "counter_push", "counter_sync"])
def test_a_path_that_may_not_be_attached_is_not_opened(tmp_path, function, answer):
    make_source(tmp_path / "source.db")
    with contextlib.closing(connect(tmp_path / "app.db")) as db:
        db.execute("CREATE VIRTUAL TABLE t USING counter(k TEXT PRIMARY KEY, n COUNTER)")
        asked = []
        db.set_authorizer(lambda action, path, *_: (
            asked.append(path) or answer if action == sqlite3.SQLITE_ATTACH else sqlite3.SQLITE_OK))
        with pytest.raises(sqlite3.Error, match=f"{function}: the authorizer .* does not allow to ATTACH '.*source.db'"):
            rows(db, f"SELECT * FROM {function}('{tmp_path}/source.db')")
        assert asked == [f"{tmp_path}/source.db"]
        db.set_authorizer(None)
        assert rows(db, "SELECT * FROM t") == []
        rows(db, f"SELECT * FROM {function}('{tmp_path}/source.db')")


@pytest.mark.parametrize("ignored", [(31, None, "coalesce"), (sqlite3.SQLITE_UPDATE, "t_cells", "n")])
def test_a_pull_that_an_authorizer_keeps_from_writing_a_cell_fails(tmp_path, ignored):
    """SQLite then writes NULL, or leaves the column out of the UPDATE, without a word."""
    dbs = [connect(tmp_path / name) for name in ("app.db", "source.db")]
    for db in dbs:
        db.execute("CREATE VIRTUAL TABLE t USING counter(k TEXT PRIMARY KEY, n COUNTER)")
        for _ in range(3):
            db.execute("INSERT INTO t VALUES ('a', 5)")
    dbs[0].set_authorizer(lambda action, first, second, *_: (
        sqlite3.SQLITE_IGNORE if (action, first, second) == ignored else sqlite3.SQLITE_OK))
    with pytest.raises(sqlite3.Error, match="an authorizer of this connection hides columns of t_cells"):
        rows(dbs[0], f"SELECT * FROM counter_pull('{tmp_path}/source.db')")
    dbs[0].set_authorizer(None)
    assert rows(dbs[0], "SELECT * FROM t") == [("a", 15)]
    rows(dbs[0], f"SELECT * FROM counter_pull('{tmp_path}/source.db')")
    assert rows(dbs[0], "SELECT * FROM t") == [("a", 30)]
    for db in dbs:
        db.close()


def test_a_feed_that_an_authorizer_keeps_from_reading_a_cell_fails(tmp_path):
    """Its statement was proven before, and SQLite prepares it anew."""
    with contextlib.closing(connect(":memory:")) as db:
        db.execute("CREATE VIRTUAL TABLE t USING counter(k TEXT PRIMARY KEY, n COUNTER)")
        db.execute("INSERT INTO t VALUES ('a', 5)")
        whole = rows(db, "SELECT * FROM counter_changes(0)")
        assert len(whole) == 1 and rows(db, "SELECT * FROM counter_changes(0)") == whole
        db.set_authorizer(lambda action, first, second, *_: (
            sqlite3.SQLITE_IGNORE if (action, first, second) == (sqlite3.SQLITE_READ, "t_cells", "n") else sqlite3.SQLITE_OK))
        with pytest.raises(sqlite3.Error, match="an authorizer of this connection hides columns of t_cells"):
            rows(db, "SELECT * FROM counter_changes(0)")
        db.set_authorizer(None)
        assert rows(db, "SELECT * FROM counter_changes(0)") == whole


@pytest.mark.parametrize("rowids", ["", " WITHOUT ROWID"])
def test_a_row_that_an_authorizer_hid_is_found_when_it_is_gone(tmp_path, rowids):
    """To take an authorizer off does not make SQLite prepare a statement anew."""
    dbs = [connect(tmp_path / name) for name in ("app.db", "source.db")]
    for db in dbs:
        db.execute(f"CREATE TABLE t(k TEXT PRIMARY KEY NOT NULL, n INTEGER NOT NULL DEFAULT 0){rowids}")
        db.execute("SELECT counter_track('t', 'n')")
    dbs[0].execute("INSERT INTO t VALUES ('a', 1)")
    rows(dbs[1], f"SELECT * FROM counter_pull('{tmp_path}/app.db')")
    dbs[1].execute("UPDATE t SET n = n + 1")
    dbs[0].set_authorizer(lambda action, first, second, *_: (
        sqlite3.SQLITE_IGNORE if (action, first, second) == (sqlite3.SQLITE_READ, "t", "k") else sqlite3.SQLITE_OK))
    with pytest.raises(sqlite3.Error):
        rows(dbs[0], f"SELECT * FROM counter_pull('{tmp_path}/source.db')")
    dbs[0].set_authorizer(None)
    rows(dbs[0], f"SELECT * FROM counter_pull('{tmp_path}/source.db')")
    assert rows(dbs[0], "SELECT * FROM t") == [("a", 2)]
    for db in dbs:
        db.close()


def test_a_pull_merges_all_the_same_where_an_authorizer_denies_the_function_that_merges_in_an_update(tmp_path):
    dbs = [connect(tmp_path / name) for name in ("app.db", "source.db")]
    for db in dbs:
        db.execute("CREATE VIRTUAL TABLE t USING counter(k TEXT PRIMARY KEY, n COUNTER)")
        db.execute("INSERT INTO t VALUES ('a', 5), ('b', 1)")
    denied = []
    dbs[0].set_authorizer(lambda action, _, name, *__: (
        denied.append(name) or sqlite3.SQLITE_DENY if (action, name) == (31, "counter_joining") else sqlite3.SQLITE_OK))
    assert rows(dbs[0], f"SELECT rows_changed FROM counter_pull('{tmp_path}/source.db')") == [(2,)]
    assert denied and rows(dbs[0], "SELECT * FROM t") == [("a", 10), ("b", 2)]
    for db in dbs:
        db.close()


def make_tracked(path, name):
    with contextlib.closing(connect(path / "source.db")) as db:
        db.execute(f"CREATE TABLE {name}(k INTEGER PRIMARY KEY, n INTEGER NOT NULL)")
        db.execute(f"WITH RECURSIVE c(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM c WHERE i < 2000)"
                   f" INSERT INTO {name} SELECT i, 5 FROM c")
        db.execute(f"SELECT counter_track('{name}', 'n', 'keys=assigned')")
        db.execute(f"VACUUM INTO '{path}/app.db'")
        db.execute(f"UPDATE {name} SET n = n + 100")
    return connect(path / "app.db")


def test_a_value_that_an_authorizer_keeps_from_a_tracked_table_is_listed(tmp_path):
    """Where it ignores the UPDATE of a column, SQLite changes the row and leaves the column."""
    with contextlib.closing(make_tracked(tmp_path, "p")) as db:
        db.set_authorizer(lambda action, first, second, *_: (
            sqlite3.SQLITE_IGNORE if (action, first, second) == (sqlite3.SQLITE_UPDATE, "p", "n") else sqlite3.SQLITE_OK))
        rows(db, f"SELECT * FROM counter_pull('{tmp_path}/source.db')")
        db.set_authorizer(None)
        assert rows(db, "SELECT state, shown, merged FROM counter_tracked WHERE row_key = '(1)'") == [("differs", 5, 105)]
        db.execute("UPDATE p SET n = n + 1 WHERE k = 1")
        assert rows(db, "SELECT n FROM p WHERE k < 3") == [(106,), (5,)], "the counts of the source are lost"
        rows(db, f"SELECT * FROM counter_pull('{tmp_path}/source.db')")
        assert rows(db, "SELECT sum(n) FROM p") == rows(db, "SELECT sum(n) FROM p_counters") == [(2000 * 105 + 1,)]


def test_a_pull_fails_where_an_authorizer_hides_the_rowids_of_a_tracked_table(tmp_path):
    with contextlib.closing(connect(tmp_path / "app.db")) as db:
        db.executescript("CREATE TABLE p(k TEXT PRIMARY KEY, n INTEGER); INSERT INTO p VALUES ('a', 1); SELECT counter_track('p', 'n')")
        db.execute("VACUUM INTO ?", (str(tmp_path / "source.db"),))
        with contextlib.closing(connect(tmp_path / "source.db")) as source:
            source.execute("UPDATE p SET n = 6")
        db.set_authorizer(lambda action, first, second, *_: (
            sqlite3.SQLITE_IGNORE if (action, first, second) == (sqlite3.SQLITE_READ, "p", "ROWID") else sqlite3.SQLITE_OK))
        with pytest.raises(sqlite3.Error, match="hides columns of p"):
            pull(db, tmp_path / "source.db", "path")
        db.set_authorizer(None)
        pull(db, tmp_path / "source.db", "path")
        assert rows(db, "SELECT k, n FROM p") == [("a", 6)]


@pytest.mark.parametrize("how", ["pull", "sync"])
def test_the_cache_of_a_pull_that_was_interrupted_is_lowered_by_the_next_one(tmp_path, how):
    """An interrupt lasts as long as the statement, and no PRAGMA runs meanwhile."""
    def settings():
        return [rows(db, f"PRAGMA {setting}") for setting in ("cache_size", "cache_spill")]

    with contextlib.closing(make_tracked(tmp_path, "p")) as db:
        before = settings()
        db.execute("ATTACH ? AS source", [f"{tmp_path}/source.db"])
        db.create_function("stop", 0, db.interrupt)
        db.execute("CREATE TRIGGER app AFTER UPDATE OF n ON p BEGIN SELECT stop(); END")
        with pytest.raises(sqlite3.OperationalError, match="interrupted"):
            rows(db, f"SELECT * FROM counter_{how}('source')")
        db.execute("DROP TRIGGER app")
        rows(db, f"SELECT * FROM counter_{how}('source')")
        assert settings() == before
        assert rows(db, "SELECT sum(n) FROM p") == [(2000 * 105,)]


@pytest.mark.parametrize("begins", [False, True])
def test_a_progress_handler_that_goes_on_interrupting_leaves_no_half_of_counter_untrack(begins):
    """As with a deadline: the savepoint is rolled back although ROLLBACK is interrupted, too."""
    for steps in range(1, 20000, 4):
        with contextlib.closing(connect(":memory:")) as db:
            db.execute("CREATE TABLE t(k TEXT PRIMARY KEY, n INTEGER)")
            db.execute("INSERT INTO t VALUES('a', 1)")
            rows(db, "SELECT counter_track('t', 'n')")
            if begins:
                db.execute("BEGIN")
            left = [steps]

            def is_late():
                left[0] -= 1
                return left[0] < 0

            db.set_progress_handler(is_late, 1)
            with contextlib.suppress(sqlite3.OperationalError):
                rows(db, "SELECT counter_untrack('t')")
            db.set_progress_handler(None, 1)
            done = rows(db, "SELECT name FROM sqlite_master WHERE name GLOB 't_counters*'") == []
            assert done or rows(db, "SELECT state FROM counter_tracked") == [("tracked",)], steps
            assert begins or not db.in_transaction, steps
            if left[0] >= 0:
                assert done
                return
    raise AssertionError("it never ends")


@pytest.mark.parametrize("column", ["_id", "k", "n"])
def test_a_scan_of_which_an_authorizer_hides_a_column_fails_each_time(tmp_path, column):
    """UPDATE t SET n = n + 1 would add to what it is shown, and be counted from what there is. A statement that was
    prepared under an authorizer goes on to hide when that is removed, so none is kept."""
    make_source(tmp_path / "app.db")
    with contextlib.closing(connect(tmp_path / "app.db")) as db:
        db.execute("INSERT INTO t(t) VALUES ('optimize')")
        db.execute("INSERT INTO t VALUES ('a', 1)")
        db.set_authorizer(lambda action, first, second, *_: (
            sqlite3.SQLITE_IGNORE if (action, first, second) == (sqlite3.SQLITE_READ, "t_cells", column) else sqlite3.SQLITE_OK))
        for sql in ("SELECT * FROM t", "UPDATE t SET n = n + 1", "UPDATE t SET n = n + 1 WHERE n > 1 AND k > ''",
                    "SELECT * FROM t WHERE k = 'a'", "SELECT * FROM counter_cells('t')", "SELECT counter_table_digest('t')"):
            for _ in range(3):
                with pytest.raises(sqlite3.Error, match="an authorizer of this connection hides columns of t_cells"):
                    rows(db, sql)
        db.set_authorizer(None)
        assert rows(db, "SELECT * FROM t") == [("a", 101), ("b", 7)]


@pytest.mark.skipif(not hasattr(sqlite3.Connection, "setlimit"), reason="Python 3.11")
def test_a_path_counts_as_one_more_attached_database(tmp_path):
    make_source(tmp_path / "source.db")
    with contextlib.closing(connect(tmp_path / "app.db")) as db:
        db.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
        with pytest.raises(sqlite3.Error, match="allows 0 attached databases and has 0"):
            rows(db, f"SELECT * FROM counter_pull('{tmp_path}/source.db')")
        db.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 1)
        rows(db, f"SELECT * FROM counter_pull('{tmp_path}/source.db')")
        db.execute("ATTACH ':memory:' AS one")
        with pytest.raises(sqlite3.Error, match="allows 1 attached databases and has 1"):
            rows(db, f"SELECT * FROM counter_pull('{tmp_path}/source.db')")


def columns_of_ours(path):
    with contextlib.closing(connect(path)) as db:
        for table, in rows(db, "SELECT name FROM sqlite_master WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%'"):
            yield from [(table, None), *((table, name) for _, name, *_ in rows(db, f'PRAGMA table_info("{table}")'))]


@pytest.mark.parametrize("late", [False, True])
def test_what_an_authorizer_hides_of_our_tables_is_never_lost(tmp_path, late):
    with contextlib.closing(connect(tmp_path / "0.db")) as db:
        db.execute("CREATE VIRTUAL TABLE t USING counter(k TEXT PRIMARY KEY, n COUNTER, m COUNTER)")
        db.execute("INSERT INTO t VALUES ('a', 60, 5)")
        db.execute("INSERT INTO t(t) VALUES ('optimize')")
        db.execute("INSERT INTO t VALUES ('a', 40, 5)")
        db.execute("INSERT INTO t(k, m) VALUES ('z', 1)")
    make_source(tmp_path / "source.db")
    for number, (table, column) in enumerate(columns_of_ours(tmp_path / "0.db"), 1):
        path = tmp_path / f"{number}.db"
        with contextlib.closing(connect(tmp_path / "0.db")) as db:
            db.execute("VACUUM INTO ?", [str(path)])
        counted = 100
        with contextlib.closing(connect(path)) as db:
            if late:  # the statements that read and write a row are prepared
                rows(db, "SELECT * FROM t")
                db.execute("INSERT INTO t VALUES ('q', 1, 1)")
                db.execute("DELETE FROM t WHERE k = 'q'")
            db.set_authorizer(lambda action, one, other, *_: (
                sqlite3.SQLITE_IGNORE if action == sqlite3.SQLITE_READ and one == table and column in (None, other)
                else sqlite3.SQLITE_OK))
            for sql, n in [("INSERT INTO t VALUES ('a', 1, 1)", 1), ("INSERT INTO t(t) VALUES ('optimize')", 0),
                           ("INSERT INTO t(k, n) VALUES ('z', 1)", 0), ("UPDATE t SET n = n WHERE k = 'a'", 0),
                           ("INSERT INTO t(t) VALUES ('optimize')", 0), ("DELETE FROM t WHERE k = 'z'", 0)]:
                try:
                    db.execute(sql)
                    counted += n
                except sqlite3.Error:
                    pass
        with contextlib.closing(connect(path)) as db:
            assert rows(db, "SELECT n FROM t WHERE k = 'a'") == [(counted,)], (table, column)
            assert rows(db, "SELECT m FROM t WHERE k = 'z'") in ([], [(1,)]), (table, column)
            db.execute("INSERT INTO t(t) VALUES ('integrity-check')")


def test_a_row_whose_number_an_authorizer_hides_is_not_counted_in(tmp_path):
    make_source(tmp_path / "app.db")
    with contextlib.closing(connect(tmp_path / "app.db")) as db:
        db.set_authorizer(lambda action, one, other, *_: (
            sqlite3.SQLITE_IGNORE if (action, one, other) == (sqlite3.SQLITE_READ, "t_cells", "_id") else sqlite3.SQLITE_OK))
        for sql in ("INSERT INTO t VALUES ('a', 1)", "UPDATE t SET n = n + 1 WHERE k = 'a'"):
            with pytest.raises(sqlite3.Error, match="an authorizer of this connection hides columns of t_cells"):
                db.execute(sql)
        db.set_authorizer(None)
        assert rows(db, "SELECT * FROM t") == [("a", 100), ("b", 7)]
        db.execute("INSERT INTO t(t) VALUES ('integrity-check')")


def make_counted(path):
    with contextlib.closing(connect(path)) as db:
        db.execute("CREATE VIRTUAL TABLE t USING counter(k TEXT PRIMARY KEY, n COUNTER, m COUNTER)")
        db.execute("INSERT INTO t VALUES ('a', 60, 5), ('d', 3, 3)")
        db.execute("INSERT INTO t(t) VALUES ('optimize')")
        db.execute("INSERT INTO t VALUES ('a', 40, 5)")
        db.execute("CREATE TABLE p(id INTEGER PRIMARY KEY, s INTEGER)")
        db.execute("INSERT INTO p VALUES (1, 60), (2, 5)")
        db.execute("SELECT counter_track('p', 's', 'keys=assigned')")


def count_in_all_ways(path, source, ignored, warm):
    """Returns the questions to the authorizer, and the tables as the statements without an error leave them."""
    asked, model = set(), {"t": {"a": 100, "d": 3}, "p": {1: 60, 2: 5}}

    def add(table, key, n):
        model[table][key] = model[table].get(key, 0) + n

    def take():
        for table, key, n in (("t", "a", 1000), ("t", "new", 2), ("p", 1, 1000), ("p", 3, 9)):
            add(table, key, n)

    steps = [(["INSERT INTO t VALUES ('a', 1, 1)"], lambda: add("t", "a", 1)),
             (["INSERT INTO t VALUES ('b', 7, 7)"], lambda: add("t", "b", 7)),
             (["UPDATE t SET n = n + 1 WHERE k = 'a'"], lambda: add("t", "a", 1)),
             (["INSERT INTO t(t) VALUES ('optimize')"], None),
             (["BEGIN", "INSERT INTO t VALUES ('a', 1, 1)", "SAVEPOINT s", "INSERT INTO t VALUES ('a', 1, 1)", "COMMIT"],
              lambda: add("t", "a", 2)),
             (["INSERT INTO t(k, n, request_id) VALUES ('a', 1, 'r')"], lambda: add("t", "a", 1)),
             (["DELETE FROM t WHERE k = 'd'"], lambda: model["t"].pop("d")),
             (["UPDATE p SET s = s + 1 WHERE id = 1"], lambda: add("p", 1, 1)),
             (["INSERT INTO p VALUES (7, 4)"], lambda: add("p", 7, 4)),
             (["DELETE FROM p WHERE id = 2"], lambda: model["p"].pop(2)),
             ([f"SELECT * FROM counter_pull('{source}')"], take),
             (["INSERT INTO t VALUES ('a', 1, 1)"], lambda: add("t", "a", 1)),
             (["UPDATE p SET s = s + 1 WHERE id = 1"], lambda: add("p", 1, 1)),
             (["INSERT INTO t(t) VALUES ('optimize')"], None)]
    with contextlib.closing(connect(path)) as db:
        if warm:
            rows(db, "SELECT * FROM t")
            db.execute("INSERT INTO t VALUES ('a', 0, 0)")
            db.execute("UPDATE p SET s = s")

        def answer(action, one, other, *_):
            asked.add((action, one, other))
            return sqlite3.SQLITE_IGNORE if (action, one, other) == ignored else sqlite3.SQLITE_OK

        db.set_authorizer(answer)
        for statements, change in steps:
            try:
                for sql in statements:
                    rows(db, sql)
                if change:
                    change()
            except sqlite3.Error:
                if db.in_transaction:
                    db.execute("ROLLBACK")
        db.set_authorizer(None)
        if "counter_replica" not in str(ignored):  # what the file knows of itself may stop it from counting
            for sql in ("SELECT * FROM t", "UPDATE p SET s = s", "INSERT INTO t VALUES ('a', 0, 0)"):
                rows(db, sql)  # the statements of that authorizer are gone with it
    return asked, model


@needs_journal
@pytest.mark.parametrize("warm", [False, True])
def test_a_statement_of_which_an_authorizer_ignores_a_part_fails_or_is_whole(tmp_path, warm):
    """The authorizer ignores each action of the library once. A row of p that does not show its counter is listed."""
    make_counted(tmp_path / "0.db")
    shutil.copy(tmp_path / "0.db", tmp_path / "source.db")
    with contextlib.closing(connect(tmp_path / "source.db")) as db:
        for sql in ("INSERT INTO t VALUES ('a', 1000, 5), ('new', 2, 2)", "UPDATE p SET s = s + 1000 WHERE id = 1",
                    "INSERT INTO p VALUES (3, 9)"):
            db.execute(sql)
    shutil.copy(tmp_path / "0.db", tmp_path / "1.db")
    asked, model = count_in_all_ways(tmp_path / "1.db", tmp_path / "source.db", None, warm)
    assert model["t"] == {"a": 1106, "b": 7, "new": 2} and model["p"] == {1: 1062, 7: 4, 3: 9}
    ours = [it for it in asked if it[1] and re.match("(t|p_counters)_|counter_|sqlite_master", it[1]) or it[0] == 32]
    assert len(ours) > 80
    for number, ignored in enumerate(sorted(ours, key=str), 2):
        path = tmp_path / f"{number}.db"
        shutil.copy(tmp_path / "0.db", path)
        _, model = count_in_all_ways(path, tmp_path / "source.db", ignored, warm)
        with contextlib.closing(connect(path)) as db, contextlib.closing(connect(":memory:")) as other:
            rows(other, f"SELECT * FROM counter_pull('{path}', 'create tables')")
            for table, columns in (("t", "k, n"), ("p", "id, s")):
                for of in (db, other):
                    shown = dict(rows(of, f"SELECT {columns} FROM {table}"))
                    if of is db and table == "p":
                        shown.update((int(key.strip("()")), value) for _, _, state, key, _, value, _ in
                                     rows(db, "SELECT * FROM counter_tracked") if state in ("differs", "waits"))
                    assert shown == model[table], ignored
            db.execute("INSERT INTO t(t) VALUES ('integrity-check')")
            db.execute("INSERT INTO p_counters(p_counters) VALUES ('integrity-check')")


@pytest.mark.parametrize("ignored", [("counter_tables", "name"), ("sqlite_master", "name"), ("sqlite_master", "type")])
def test_a_count_does_not_go_to_an_attached_table_because_an_authorizer_hides_that_of_main(tmp_path, ignored):
    make_counted(tmp_path / "main.db")
    shutil.copy(tmp_path / "main.db", tmp_path / "other.db")
    with contextlib.closing(connect(tmp_path / "main.db")) as db:
        db.execute("ATTACH ? AS other", [str(tmp_path / "other.db")])
        before = rows(db, "SELECT k, n FROM other.t")
        db.set_authorizer(lambda action, first, second, *_: (
            sqlite3.SQLITE_IGNORE if (action, first, second) == (sqlite3.SQLITE_READ, *ignored) and _[0] == "main"
            else sqlite3.SQLITE_OK))
        with pytest.raises(sqlite3.Error, match=f"hides columns of {ignored[0]}"):
            rows(db, "SELECT counter_add('t', 'n', 5, 'a')")
        db.set_authorizer(None)
        assert rows(db, "SELECT k, n FROM other.t") == before
        assert rows(db, "SELECT counter_add('t', 'n', 5, 'a')") == [(before[0][1] + 5,)]
        assert rows(db, "SELECT k, n FROM other.t") == before


@pytest.mark.parametrize("row", ["'name' || i, x'', 1, NULL", "randomblob(16), randomblob(16), 1, 'name' || i"])
def test_what_a_source_knows_of_others_is_bounded(tmp_path, row):
    make_source(tmp_path / "source.db")
    with contextlib.closing(connect(tmp_path / "source.db")) as db:
        db.execute("BEGIN")
        for i in range(10001):
            db.execute(f"INSERT INTO counter_sources(holder, id, epoch, name) SELECT {row} FROM (SELECT {i} AS i)")
        db.execute("UPDATE counter_replica SET names = 7")
        db.execute("COMMIT")
    with contextlib.closing(connect(tmp_path / "app.db")) as db:
        with pytest.raises(sqlite3.Error, match="counter_sources of the giving file has more than 10000 rows"):
            pull(db, tmp_path / "source.db", "path")
        assert rows(db, "SELECT count(*) FROM sqlite_master WHERE name = 't'") == [(0,)]


PULL_IN_LITTLE_MEMORY = """
import sys; sys.path.insert(0, {folder!r})
from files import connect
db = connect({taker!r})
db.execute("PRAGMA hard_heap_limit = {limit}")
print(*db.execute("SELECT rows_changed FROM counter_pull({source!r})").fetchone())
"""


def test_a_row_that_a_journal_names_millions_of_times_takes_the_memory_of_one(tmp_path):
    make_source(tmp_path / "source.db")
    with contextlib.closing(connect(tmp_path / "app.db")) as db:
        pull(db, tmp_path / "source.db", "path")
    with contextlib.closing(connect(tmp_path / "source.db")) as db:
        db.execute("INSERT INTO t VALUES ('a', 1)")
        header, changed_row_1, again = b"\xe4\x01\x82\xad\xe2\x04", b"\x02\x00", b"\x00\x00"  # of 10000002 bytes
        db.execute("INSERT INTO counter_journal SELECT max(_seq) + 1, 2, ? FROM counter_journal", [header + changed_row_1 + again * 5000000])
    script = PULL_IN_LITTLE_MEMORY.format(folder=str(pathlib.Path(__file__).parent), taker=str(tmp_path / "app.db"),
                                          source=str(tmp_path / "source.db"), limit=4 * 10000000)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("1\n", "")
