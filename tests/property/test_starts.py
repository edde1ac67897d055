"""test_starts.py - counter_track and counter_replicate at each start of an application."""
import sqlite3

import pytest

from files import connect

SETUP = ["CREATE TABLE t(k TEXT PRIMARY KEY, n INTEGER NOT NULL DEFAULT 0, m INTEGER, name TEXT)",
         "INSERT INTO t VALUES ('a', 1, 2, 'A'), ('b', 3, NULL, 'B')",
         "CREATE TABLE s(id INTEGER PRIMARY KEY AUTOINCREMENT, n INTEGER)", "INSERT INTO s(n) VALUES (1), (2)"]
AT_A_START = {  # the set-up, and what the same program or an older one asks for again
    "SELECT counter_track('t', 'n', 'm')": ["SELECT counter_track('t', 'n', 'm')", "SELECT counter_track('t', 'M')",
                                            "SELECT counter_track('t', 'n', 'keys=assigned', 'opening=same', 'values=again')"],
    "SELECT counter_replicate('t', 'n')": ["SELECT counter_replicate('t', 'n')", "SELECT counter_replicate('t')",
                                           "SELECT counter_replicate('main.T', 'N', 'opening=add')", "SELECT counter_track('t', 'n')"],
    "SELECT counter_replicate('s', 'n', 'keys=spread')": ["SELECT counter_replicate('s', 'n', 'keys=spread')", "SELECT counter_replicate('s')"],
}


def run(db, *statements):
    return [row for statement in statements for row in db.execute(statement).fetchall()]


@pytest.fixture(params=AT_A_START)
def started(tmp_path, request):
    """A file that is set up, and the calls that ask for nothing new."""
    db = connect(tmp_path / "file.db")
    run(db, "PRAGMA journal_mode = WAL", *SETUP)
    assert run(db, request.param) == [(2,)]
    db.close()
    return tmp_path / "file.db", AT_A_START[request.param]


def test_a_start_goes_on_beside_a_writer(started):
    path, calls = started
    writer = connect(path)
    run(writer, "BEGIN IMMEDIATE", "UPDATE t SET n = n + 1", "INSERT INTO s(n) VALUES (7)")
    db = connect(path)
    for call in calls:
        assert run(db, call) == [(0,)]
        assert not db.in_transaction
    run(writer, "COMMIT")


def test_a_start_needs_no_right_to_write(started):
    path, calls = started
    for uri, pragma in (f"file:{path}?mode=ro", "SELECT 1"), (f"file:{path}", "PRAGMA query_only = ON"):
        db = connect(uri, uri=True)
        run(db, pragma)
        for call in calls:
            assert run(db, call) == [(0,)]


def test_a_start_goes_on_in_a_transaction_that_reads_what_is_not_the_newest(started):
    path, calls = started
    db, writer = connect(path), connect(path)
    run(db, "BEGIN", "SELECT * FROM t")
    run(writer, "UPDATE t SET n = n + 1")
    for call in calls:
        assert run(db, call) == [(0,)]
    run(db, "COMMIT")


def test_a_start_changes_nothing(started):
    path, calls = started
    db = connect(path)
    before = run(db, "PRAGMA data_version", "PRAGMA schema_version", "SELECT total_changes()", "SELECT counter_changes_end()")
    for call in calls:
        assert run(db, call) == [(0,)]
    assert run(db, "PRAGMA data_version", "PRAGMA schema_version", "SELECT total_changes()", "SELECT counter_changes_end()") == before


def test_a_start_asks_for_more_only_by_what_is_new(tmp_path):
    db, other = connect(tmp_path / "file.db"), connect(tmp_path / "file.db")
    run(db, "PRAGMA journal_mode = WAL", *SETUP, "SELECT counter_replicate('t', 'n')", "ALTER TABLE t ADD COLUMN price REAL DEFAULT 1")
    run(other, "BEGIN IMMEDIATE")
    for call in "counter_replicate('t', 'n')", "counter_track('t', 'm')", "counter_replicate('t', 'm')", "counter_track('t')":
        with pytest.raises(sqlite3.Error):
            run(db, f"SELECT {call}")
    run(other, "ROLLBACK")
    assert run(db, "SELECT counter_replicate('t', 'n')") == [(0,)]
    run(db, "ALTER TABLE t RENAME COLUMN price TO cost")
    run(db, "SELECT counter_replicate('t', 'n')")  # notes the name
    run(other, "BEGIN IMMEDIATE")
    assert run(db, "SELECT counter_replicate('t', 'n')") == [(0,)]


def test_untracking_stays_strict(tmp_path):
    db = connect(tmp_path / "file.db")
    run(db, *SETUP, "SELECT counter_track('t', 'n')", "SELECT counter_untrack('t')")
    with pytest.raises(sqlite3.Error, match="t is not a tracked table"):
        run(db, "SELECT counter_untrack('t')")


REBUILD = ["PRAGMA foreign_keys = OFF", "BEGIN",
           "CREATE TABLE new(k TEXT PRIMARY KEY, name TEXT DEFAULT 'x', m INTEGER, n INTEGER NOT NULL DEFAULT 0 CHECK (n > -100))",
           "INSERT INTO new(k, n, m, name) SELECT k, n, m, name FROM t {}", "DROP TABLE t", "ALTER TABLE new RENAME TO t",
           "CREATE INDEX names ON t(name)", "PRAGMA foreign_key_check", "COMMIT", "PRAGMA foreign_keys = ON"]


@pytest.mark.parametrize("setup", list(AT_A_START)[:2])
@pytest.mark.parametrize("lacks", ["", "WHERE k = 'a'", "WHERE 0"])
@pytest.mark.parametrize("option", ["", "missing=deleted", "missing=restored"])
def test_a_table_that_was_rebuilt_is_taken_and_no_missing_row_is_a_deletion(tmp_path, setup, lacks, option):
    db, other = connect(tmp_path / "file.db"), connect(tmp_path / "other.db")
    run(db, *SETUP, "CREATE TABLE part(t REFERENCES t(k) ON DELETE CASCADE)", "INSERT INTO part VALUES ('a')", setup)
    run(db, f"VACUUM INTO '{tmp_path / 'copy.db'}'")
    other = connect(tmp_path / "copy.db")
    run(other, "UPDATE t SET n = n + 10")
    run(db, *(step.format(lacks) for step in REBUILD))
    call = f"{setup[:-1]}, '{option}')" if option else setup
    missing = {"": 0, "WHERE k = 'a'": 1, "WHERE 0": 2}[lacks]
    if missing and not option:
        with pytest.raises(sqlite3.Error, match=f"{missing} of its rows (is|are) missing"):
            run(db, call)
        return
    assert run(db, call) == [(missing,)]
    assert run(db, setup) == [(0,)]
    run(db, f"SELECT * FROM counter_sync('{tmp_path / 'copy.db'}')")
    here = run(db, "SELECT k, n FROM t ORDER BY k")
    kept = [("a", 11), ("b", 13)]
    assert here == (kept if option != "missing=deleted" else kept[:2 - missing]) == run(other, "SELECT k, n FROM t ORDER BY k")
