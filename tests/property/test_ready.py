"""test_ready.py - within a transaction a table that is ready to count asks nobody, and notices whatever may have made
it unready: triggers and authorizers of the application, other files, rollbacks, other connections, writes by hand."""

import contextlib
import sqlite3

import pytest

from conftest import needs_journal
from files import connect

INSERT = "INSERT INTO t VALUES ('a', 1)"
HIDDEN = "an authorizer of this connection hides columns"


def rows(db, sql):
    return db.execute(sql).fetchall()


@pytest.fixture
def db(tmp_path):
    with contextlib.closing(connect(tmp_path / "app.db")) as db:
        db.execute("CREATE VIRTUAL TABLE t USING counter(k TEXT PRIMARY KEY, n COUNTER)")
        db.execute("CREATE TABLE log(n)")
        db.execute(INSERT)
        yield db


@needs_journal
def test_the_next_insert_of_a_transaction_on_a_known_row_asks_nobody(db):
    asked = []
    db.execute("BEGIN")
    db.execute(INSERT)
    db.set_trace_callback(asked.append)
    for _ in range(3):
        db.execute(INSERT)
    db.set_trace_callback(None)
    db.execute("COMMIT")
    assert asked == [INSERT] * 3
    assert rows(db, "SELECT n FROM t") == [(5,)]


@pytest.mark.parametrize("stored, change", [("counter_journal", INSERT), ("t_cells", "DELETE FROM t WHERE k = 'a'")])
@pytest.mark.parametrize("where", ["TEMP TRIGGER x", "TRIGGER x"])
def test_a_trigger_on_a_stored_table_that_is_made_within_the_transaction_is_noticed(db, where, stored, change):
    for _ in range(2):  # the statements are prepared
        db.execute("INSERT INTO t VALUES ('b', 1)")
        db.execute("DELETE FROM t WHERE k = 'b'")
    db.execute("BEGIN")
    db.execute(INSERT)
    for event in "INSERT", "UPDATE":
        db.execute(f"CREATE {where}_{event} AFTER {event} ON main.{stored} BEGIN INSERT INTO log VALUES (1); END")
    with pytest.raises(sqlite3.Error, match=f"the stored table {stored} has the trigger x_"):
        db.execute(change)
        db.execute("COMMIT")
    if db.in_transaction:
        db.execute("ROLLBACK")
    assert rows(db, "SELECT n FROM t") == [(1,)] and rows(db, "SELECT * FROM log") == []
    db.execute(INSERT)
    assert rows(db, "SELECT n FROM t") == [(2,)]


def test_a_trigger_that_was_rolled_back_hinders_nothing(db):
    db.execute("BEGIN")
    db.execute(INSERT)
    db.execute("SAVEPOINT s")
    db.execute("CREATE TRIGGER x AFTER INSERT ON counter_journal BEGIN INSERT INTO log VALUES (1); END")
    db.execute("ROLLBACK TO s")
    db.execute(INSERT)
    db.execute("COMMIT")
    assert rows(db, "SELECT n FROM t") == [(3,)] and rows(db, "SELECT * FROM log") == []


@pytest.mark.parametrize("stored, column, change", [
    ("counter_journal", "entries", INSERT), ("t_cells", "n", "DELETE FROM t WHERE k = 'a'")])
def test_an_authorizer_that_is_set_within_the_transaction_loses_nothing(db, stored, column, change):
    db.execute("INSERT INTO t VALUES ('b', 1)")
    db.execute("DELETE FROM t WHERE k = 'b'")
    db.execute("BEGIN")
    db.execute(INSERT)
    db.execute("SAVEPOINT s")
    db.set_authorizer(lambda action, table, name, *_: (
        sqlite3.SQLITE_IGNORE if (table, name) == (stored, column) else sqlite3.SQLITE_OK))
    with pytest.raises(sqlite3.Error):
        db.execute(change)
        db.execute("COMMIT")
    db.set_authorizer(None)
    if db.in_transaction:
        db.execute("ROLLBACK")
    assert rows(db, "SELECT n FROM t") == [(1,)]
    db.execute("INSERT INTO t(t) VALUES ('integrity-check')")


def test_a_pragma_within_the_transaction_changes_nothing(db):
    db.execute("BEGIN")
    for pragma in "recursive_triggers = ON", "writable_schema = ON", "writable_schema = OFF", "foreign_keys = ON":
        db.execute(INSERT)
        db.execute(f"PRAGMA {pragma}")
    db.execute(INSERT)
    db.execute("COMMIT")
    assert rows(db, "SELECT n FROM t") == [(6,)]


def test_another_file_under_the_same_name_counts_for_itself(db, tmp_path):
    for name in "one", "two":
        with contextlib.closing(connect(tmp_path / f"{name}.db")) as other:
            other.execute("CREATE VIRTUAL TABLE t USING counter(k TEXT PRIMARY KEY, n COUNTER)")
            other.execute(INSERT)
    for name in "one", "two", "one":
        db.execute("ATTACH ? AS x", [str(tmp_path / f"{name}.db")])
        for _ in range(2):
            db.execute("INSERT INTO x.t VALUES ('a', 1)")
        ids = rows(db, "SELECT id FROM counter_identity('x')")
        assert rows(db, "SELECT id FROM x.t_cells, counter_shards(n)") == ids, name
        db.execute("DETACH x")
    for name, n in ("one", 5), ("two", 3):
        with contextlib.closing(connect(tmp_path / f"{name}.db")) as other:
            assert rows(other, "SELECT n FROM t") == [(n,)]


@pytest.mark.parametrize("cache", ["private", "shared"])
def test_what_another_connection_counts_between_two_transactions_is_noticed(tmp_path, cache):
    path = f"file:{tmp_path}/app.db?cache={cache}"
    with contextlib.closing(connect(path, uri=True)) as one, contextlib.closing(connect(path, uri=True)) as other:
        one.execute("CREATE VIRTUAL TABLE t USING counter(k TEXT PRIMARY KEY, n COUNTER)")
        for n in range(1, 9, 2):
            one.execute(INSERT)
            other.execute("BEGIN")
            other.execute(INSERT)
            assert rows(other, "SELECT n FROM t") == [(n + 1,)]
            other.execute("COMMIT")
            assert rows(one, "SELECT n FROM t WHERE k = 'a'") == [(n + 1,)]


@needs_journal
def test_a_stored_table_that_is_written_by_hand_is_read_as_it_is(db):
    db.execute("INSERT INTO t VALUES ('b', 7)")
    db.execute("INSERT INTO t(t) VALUES ('optimize')")
    for n, begin, end in (7, "SELECT 1", "SELECT 1"), (9, "BEGIN", "COMMIT"):
        db.execute(begin)
        if begin == "BEGIN":
            db.execute(INSERT)
        db.execute("UPDATE t_cells SET n = (SELECT n FROM t_cells WHERE k = 'b') WHERE k = 'a'")
        for m in n, n + 1:
            assert rows(db, "SELECT n FROM t WHERE k = 'a'") == rows(db, "SELECT n FROM t WHERE +k = 'a'") == [(m,)]
            db.execute(INSERT)
        db.execute(end)
        db.execute("INSERT INTO t VALUES ('a', -1)")
        assert rows(db, "SELECT n FROM t WHERE k = 'a'") == rows(db, "SELECT n FROM t WHERE +k = 'a'")


@pytest.mark.parametrize("temp", ["", "TEMP "])
def test_a_trigger_is_noticed_after_another_counter_table_was_dropped(db, temp):
    db.execute("CREATE VIRTUAL TABLE other USING counter(k TEXT PRIMARY KEY, n COUNTER)")
    db.execute(INSERT)
    db.execute("DROP TABLE other")
    db.execute(f"CREATE {temp}TRIGGER x AFTER INSERT ON main.counter_journal BEGIN DELETE FROM counter_journal; END")
    with pytest.raises(sqlite3.Error, match="the stored table counter_journal has the trigger x"):
        db.execute(INSERT)
    assert rows(db, "SELECT n FROM t") == [(2,)]


def test_a_statement_that_was_prepared_under_an_authorizer_does_not_call_the_journal_damaged(tmp_path):
    with contextlib.closing(connect(tmp_path / "app.db")) as db:
        db.execute("CREATE VIRTUAL TABLE t USING counter(k TEXT PRIMARY KEY, n COUNTER)")
        db.set_authorizer(lambda action, table, column, *_: (
            sqlite3.SQLITE_IGNORE if (action, table, column) == (sqlite3.SQLITE_READ, "counter_journal", "entries")
            else sqlite3.SQLITE_OK))
        db.execute(INSERT)
        db.set_authorizer(None)
        db.execute("INSERT INTO t(t) VALUES ('optimize')")
        assert rows(db, "SELECT * FROM t") == [("a", 1)]


@pytest.mark.parametrize("begin, end", [("SELECT 1", "SELECT 1"), ("BEGIN", "COMMIT")])
@pytest.mark.parametrize("inner", [
    "INSERT INTO other VALUES ('a', 1)", "INSERT INTO t(t) VALUES ('optimize')",
    pytest.param("INSERT INTO t(t) VALUES ('add column z')", marks=needs_journal), "INSERT INTO t VALUES ('b', 1)", "SELECT * FROM t",
    "INSERT INTO counter_changes SELECT * FROM temp.feed", "CREATE INDEX i ON log(n)"])
def test_a_collation_of_the_key_that_runs_sql_loses_nothing(tmp_path, inner, begin, end):
    """Each call of the collation within the INSERT is tried, one after the other, until there is no more."""
    at, done = -1, False
    while not done:
        at += 1
        with contextlib.closing(connect(tmp_path / f"{at}.db")) as db:
            calls = [None]

            def compare(a, b):
                if calls[0] is not None:
                    calls[0] += 1
                    if calls[0] == at:
                        with contextlib.suppress(sqlite3.Error):
                            db.execute(inner).fetchall()
                return (a > b) - (a < b)

            db.create_collation("mine", compare)
            db.execute("CREATE TABLE log(n)")
            for name in "t", "other":
                db.execute(f"CREATE VIRTUAL TABLE {name} USING counter(k TEXT COLLATE mine PRIMARY KEY, n COUNTER)")
            db.execute("INSERT INTO t VALUES ('a', 1), ('c', 1), ('d', 1)")
            db.execute("CREATE TEMP TABLE feed AS SELECT * FROM counter_changes(0) WHERE table_name = 't'")
            db.execute(begin)
            calls[0] = -1
            with contextlib.suppress(sqlite3.Error):
                db.execute("INSERT INTO t VALUES ('x', 1), ('c', 1)")
            done, calls[0] = calls[0] < at, None
            db.execute(end)
            shown = rows(db, "SELECT k, n FROM t")
            db.execute("INSERT INTO t(t) VALUES ('integrity-check')")
        with contextlib.closing(connect(tmp_path / f"{at}.db")) as db:
            db.create_collation("mine", lambda a, b: (a > b) - (a < b))
            assert rows(db, "SELECT k, n FROM t") == shown, at
            assert dict(shown).items() >= {"a": 1, "d": 1}.items() and dict(shown)["c"] in (1, 2)
    assert at > 1


@pytest.mark.parametrize("begin", ["SELECT 1", "BEGIN"])
def test_a_table_that_a_collation_cannot_drop_while_a_row_is_searched_for_takes_no_statement_along(tmp_path, begin):
    with contextlib.closing(connect(tmp_path / "app.db")) as db:
        refused = []

        def compare(a, b):
            if refused == [None]:
                refused.clear()
                try:
                    db.execute("DROP TABLE other")
                except sqlite3.Error as error:
                    refused.append(str(error))
            return (a > b) - (a < b)

        db.create_collation("mine", compare)
        for name in "t", "other":
            db.execute(f"CREATE VIRTUAL TABLE {name} USING counter(k TEXT COLLATE mine PRIMARY KEY, n COUNTER)")
        db.execute("INSERT INTO t VALUES ('a', 1), ('b', 2)")
        db.execute(begin)
        refused.append(None)
        db.execute("INSERT INTO t VALUES ('n', 1)")
        assert refused == ["database table is locked"]
        assert rows(db, "SELECT * FROM t") == [("a", 1), ("b", 2), ("n", 1)]
