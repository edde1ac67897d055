"""test_exchange.py - pull, push and sync: paths, notes of what was created, and locks, which are waited for wherever
SQLite allows it."""

import contextlib
import json
import os
import random
import sqlite3
import subprocess
import sys
import threading
import time

import pytest

from files import EXTENSION, connect

TABLE = "CREATE VIRTUAL TABLE t USING counter(k TEXT PRIMARY KEY, n COUNTER)"
SECOND = "CREATE VIRTUAL TABLE u USING counter(k TEXT PRIMARY KEY, n COUNTER)"
JOURNALS = pytest.mark.parametrize("journal", ["WAL", "DELETE"])


def new_file(path, *statements, journal="WAL", timeout=0.0):
    db = connect(path, timeout=timeout)
    db.execute(f"PRAGMA journal_mode = {journal}")
    for sql in statements:
        db.execute(sql).fetchall()
    return db


def rows(db, sql, *arguments):
    return db.execute(sql, arguments).fetchall()


def fails(db, sql, *arguments):
    with pytest.raises(sqlite3.Error) as error:
        rows(db, sql, *arguments)
    assert not db.in_transaction or sql == "COMMIT"
    return str(error.value)


# ---- paths ----

@JOURNALS
@pytest.mark.parametrize("other", ["WAL", "DELETE"])
def test_a_file_given_by_its_path_takes_what_an_attached_one_does(tmp_path, journal, other):
    one = new_file(tmp_path / "one.db", TABLE, "INSERT INTO t VALUES ('x', 1)", journal=journal)
    two = new_file(tmp_path / "it's two.db", TABLE, "INSERT INTO t VALUES ('x', 20), ('y', 3)", journal=other)
    path = str(tmp_path / "it's two.db")
    assert rows(one, "SELECT * FROM counter_push(?)", path) == [("t", 1, 1, 0, None)]
    assert rows(two, "SELECT * FROM t") == [("x", 21), ("y", 3)]
    assert rows(one, "SELECT * FROM t") == [("x", 1)]
    one.execute("INSERT INTO t VALUES ('z', 5)")
    assert rows(one, "SELECT rows_changed, note FROM counter_sync(?)", path) == [(3, None)]
    assert rows(one, "SELECT rows_changed FROM counter_sync(?)", path) == [(0,)]
    assert rows(one, "SELECT rows_changed FROM counter_sync(?, 'full')", path) == [(0,)]
    for db in one, two:
        assert rows(db, "SELECT * FROM t ORDER BY k") == [("x", 21), ("y", 3), ("z", 5)]
        db.execute("INSERT INTO t(t) VALUES ('integrity-check')")
    one.execute("ATTACH ? AS two", [path])
    assert rows(one, "SELECT counter_table_digest('t') = counter_table_digest('t', 'two')") == [(1,)]
    assert rows(one, "SELECT rows_changed FROM counter_sync('two')") == [(0,)]
    two.execute("INSERT INTO t VALUES ('x', 100)")
    one.execute("INSERT INTO t VALUES ('x', 1000)")
    rows(one, "SELECT * FROM counter_sync(?)", path)
    assert rows(one, "SELECT n FROM t WHERE k = 'x'") == rows(two, "SELECT n FROM t WHERE k = 'x'") == [(1121,)]
    one.close()
    two.close()


@pytest.mark.parametrize("call", ["counter_pull", "counter_push", "counter_sync"])
def test_a_path_that_is_no_database_is_an_error_before_anything_is_created(tmp_path, call):
    (tmp_path / "text").write_text("no database, but a text that is long enough to be looked at " * 100)
    (tmp_path / "folder").mkdir()
    one = new_file(tmp_path / "one.db", TABLE, "INSERT INTO t VALUES ('x', 1)", journal="DELETE")
    before = sorted(os.listdir(tmp_path)), rows(one, "SELECT counter_table_digest('t')")
    for name, words in [("typo.db", "neither an attached database, nor a database file"), ("text", "file is not a database"),
                        ("folder", "is a directory, and this connection has no right to use one"), ("", "neither an attached"),
                        ("no/such/folder.db", "neither an attached database, nor a database file"),
                        (":memory:", "neither an attached database, nor a database file")]:
        error = fails(one, f"SELECT * FROM {call}(?)", name if name in ("", ":memory:") else str(tmp_path / name))
        assert error.startswith(f"{call}: ") and words in error and name in error
    os.symlink("one.db", tmp_path / "link.db")
    os.link(tmp_path / "one.db", tmp_path / "hard.db")
    one.execute("ATTACH ? AS hard", [str(tmp_path / "hard.db")])
    for path in tmp_path / "one.db", tmp_path / "link.db", tmp_path / "folder" / ".." / "one.db", tmp_path / "hard.db", "hard":
        assert fails(one, f"SELECT * FROM {call}(?)", str(path)) == f"{call}: main cannot be merged with itself"
    one.execute("DETACH hard")
    for name in "link.db", "hard.db":
        os.remove(tmp_path / name)
    assert (sorted(os.listdir(tmp_path)), rows(one, "SELECT counter_table_digest('t')")) == before
    one.close()


def test_a_file_that_was_empty_is_noted(tmp_path):
    one = new_file(tmp_path / "one.db", TABLE, "INSERT INTO t VALUES ('x', 1)")
    one.execute("ATTACH ? AS phone", [str(tmp_path / "typo.db")])
    assert rows(one, "SELECT table_name, note FROM counter_push('phone')") == [("t", "created in phone, which was empty")]
    one.execute(SECOND)
    assert rows(one, "SELECT table_name, note FROM counter_sync('phone')") == [("t", None), ("u", "created in phone")]
    path = str(tmp_path / "zero.db")
    open(path, "w").close()
    one.execute("INSERT INTO u VALUES ('y', 2)")
    one.execute("INSERT INTO t(t) VALUES ('add column m')")
    one.execute("UPDATE t SET m = 3")
    assert rows(one, "SELECT table_name, note FROM counter_sync(?)", path) == [
        ("t", f"created in {path}, which was empty"), ("u", f"created in {path}, which was empty")]
    one.execute("INSERT INTO t(t) VALUES ('add column later')")
    one.execute("INSERT INTO t(t) VALUES ('drop column m')")
    one.execute("UPDATE t SET later = 4")
    assert rows(one, "SELECT rows_changed, note FROM counter_push(?)", path) == [(2, None), (0, None)]
    with contextlib.closing(connect(path)) as zero:
        assert rows(zero, "SELECT * FROM t") == [("x", 1, 4)] and rows(zero, "SELECT * FROM u") == [("y", 2)]
        zero.execute("INSERT INTO t(t) VALUES ('integrity-check')")
    new = connect(tmp_path / "new.db")
    new.execute("CREATE TABLE ordinary(x)")
    assert rows(new, "SELECT note FROM counter_pull(?)", path) == [("created in main",)] * 2
    for db in one, new:
        db.close()


def test_a_path_is_no_part_of_a_transaction(tmp_path):
    one = new_file(tmp_path / "one.db", TABLE, "INSERT INTO t VALUES ('x', 1)")
    two = new_file(tmp_path / "it's two.db", TABLE, "INSERT INTO t VALUES ('x', 20)")
    for begin in "BEGIN", "SAVEPOINT s":
        one.execute(begin)
        one.execute("INSERT INTO t VALUES ('x', 1)")
        for call in "counter_push", "counter_sync":
            with pytest.raises(sqlite3.OperationalError, match=f"{call}: .*ATTACH '.*it''s two.db', or COMMIT first"):
                rows(one, f"SELECT * FROM {call}(?)", str(tmp_path / "it's two.db"))
        assert rows(one, "SELECT rows_changed FROM counter_pull(?)", str(tmp_path / "it's two.db")) == [(1,)]
        one.execute("ROLLBACK")
    with pytest.raises(sqlite3.OperationalError, match="inside a statement that writes"):
        rows(one, "INSERT INTO t SELECT table_name, 1 FROM counter_push(?)", str(tmp_path / "it's two.db"))
    assert rows(two, "SELECT * FROM t") == [("x", 20)] and rows(one, "SELECT * FROM t") == [("x", 1)]
    one.close()
    two.close()


def test_a_sync_that_cannot_write_the_path_changes_neither_file(tmp_path):
    one = new_file(tmp_path / "one.db", TABLE, "INSERT INTO t VALUES ('x', 1)", journal="DELETE")
    new_file(tmp_path / "two.db", TABLE, "INSERT INTO t VALUES ('x', 20)", "CREATE TABLE u(k)", journal="DELETE").close()
    one.execute(SECOND)
    error = fails(one, "SELECT * FROM counter_sync(?)", str(tmp_path / "two.db"))
    assert error == (f"counter_sync: table u: in {tmp_path}/two.db it is an ordinary table, which does not count: "
                     "call counter_track('u', ...) there, and the merge asks about values that both files had when they began to, and adds all others up")
    assert rows(one, "SELECT * FROM t") == [("x", 1)]
    with contextlib.closing(connect(tmp_path / "two.db")) as two:
        assert rows(two, "SELECT * FROM t") == [("x", 20)]
    one.close()


@pytest.mark.parametrize("way", ["attached", "path"])
def test_an_empty_main_in_memory_is_synced_like_any_other(tmp_path, way):
    two = new_file(tmp_path / "two.db", TABLE, "INSERT INTO t VALUES ('x', 20)")
    one = connect(":memory:")
    one.execute("ATTACH ? AS two", [str(tmp_path / "two.db")])
    peer = "two" if way == "attached" else str(tmp_path / "two.db")
    for db, change, shown in [(one, "CREATE TABLE other(x)", 20), (one, "INSERT INTO t VALUES ('x', 1)", 21),
                              (two, "INSERT INTO t VALUES ('x', 100)", 121)]:
        db.execute(change)
        assert len(rows(one, "SELECT * FROM counter_sync(?)", peer)) == 1
        assert rows(one, "SELECT n FROM t") == rows(two, "SELECT n FROM t") == [(shown,)]
        assert rows(one, "SELECT rows_changed FROM counter_sync(?)", peer) == [(0,)]
    one.close()
    two.close()


def open_uri(uri):
    db = sqlite3.connect(uri, uri=True, timeout=0, isolation_level=None)
    db.enable_load_extension(True)
    db.load_extension(EXTENSION)
    return db


@JOURNALS
@pytest.mark.parametrize("what", ["main", "main by query_only", "the attached file", "the path"])
def test_a_file_that_cannot_be_written_gives_and_does_not_take(tmp_path, journal, what):
    if what == "the path" and os.geteuid() == 0:
        pytest.skip("root may write a file without write permission")
    new_file(tmp_path / "one.db", TABLE, "INSERT INTO t VALUES ('x', 1)", journal=journal).close()
    new_file(tmp_path / "two.db", TABLE, "INSERT INTO t VALUES ('x', 20), ('y', 3)", journal=journal).close()
    one = open_uri(f"file:{tmp_path}/one.db?mode={'ro' if what == 'main' else 'rw'}")
    peer, is_main = str(tmp_path / "two.db"), what.startswith("main")
    if what == "main by query_only":
        one.execute("PRAGMA query_only = ON")
    if what == "the attached file":
        one.execute("ATTACH ? AS two", [f"file:{peer}?mode=ro"])
        peer = "two"
    if what == "the path":
        os.chmod(peer, 0o444)

    def contents():
        with contextlib.closing(open_uri(f"file:{tmp_path}/two.db?mode=ro")) as two:
            return rows(one, "SELECT * FROM t"), rows(two, "SELECT * FROM t")

    by_path = {"main": f"'{peer}' cannot be written by its path, because main is read-only here: ATTACH it, and name the attached database",
               "main by query_only": f"'{peer}' cannot be written: PRAGMA query_only of this connection is on"}
    for call in ["counter_pull", "counter_push", "counter_sync"] if is_main else ["counter_push", "counter_sync"]:
        said = by_path[what] if is_main and call != "counter_pull" else "attempt to write a readonly database"
        before = sorted(os.listdir(tmp_path)), (tmp_path / "two.db").read_bytes()
        assert fails(one, f"SELECT * FROM {call}(?)", peer) == f"{call}: {said}"
        assert (sorted(os.listdir(tmp_path)), (tmp_path / "two.db").read_bytes()) == before or call == "counter_pull"
        assert contents() == ([("x", 1)], [("x", 20), ("y", 3)])
    if is_main:
        one.execute("PRAGMA query_only = OFF")
        one.execute("ATTACH ? AS two", [peer])
        for call in "counter_push", "counter_sync":
            one.execute(f"PRAGMA query_only = {'ON' if what == 'main by query_only' else 'OFF'}")
            if call == "counter_sync" or what == "main by query_only":
                assert fails(one, f"SELECT * FROM {call}('two')") == f"{call}: attempt to write a readonly database"
        assert contents() == ([("x", 1)], [("x", 20), ("y", 3)])
        one.execute("PRAGMA query_only = OFF")
        peer = "two"
    rows(one, f"SELECT * FROM {'counter_push' if is_main else 'counter_pull'}(?)", peer)
    both = [("x", 21), ("y", 3)]
    assert contents() == (([("x", 1)], both) if is_main else (both, [("x", 20), ("y", 3)]))
    one.close()


def test_a_connection_that_was_opened_to_read_writes_no_path(tmp_path):
    """As the shell's -readonly and better-sqlite3 open it: SQLite attaches all files to it as read-only."""
    for name in "one", "two":
        new_file(tmp_path / f"{name}.db", TABLE, f"INSERT INTO t VALUES ('{name}', 1)").close()
    for sql in (f"SELECT * FROM counter_push('{tmp_path}/two.db')", f"SELECT * FROM counter_sync('{tmp_path}/two.db')",
                f"ATTACH '{tmp_path}/two.db' AS two; SELECT * FROM counter_push('two')"):
        done = subprocess.run(["sqlite3", "-batch", "-bail", "-readonly", "-init", "/dev/null", "-cmd", f".load '{EXTENSION}'", tmp_path / "one.db", sql],
                              capture_output=True, text=True)
        assert done.returncode and ("because main is read-only here" in done.stderr or "ATTACH" in sql and "readonly" in done.stderr), done
        with contextlib.closing(connect(tmp_path / "two.db")) as two:
            assert rows(two, "SELECT k FROM t") == [("two",)]


# What SQLite lets triggers and indexes of a trusted schema use alone.
NEEDS_TRUST = {
    "FTS5": ("CREATE VIRTUAL TABLE f USING fts5(k)", "CREATE TRIGGER a AFTER INSERT ON p BEGIN INSERT INTO f(k) VALUES (NEW.k); END"),
    "R*Tree": ("CREATE VIRTUAL TABLE f USING rtree(id, a, b)", "CREATE TRIGGER a AFTER INSERT ON p BEGIN INSERT INTO f VALUES (NULL, 1, 2); END"),
    "json_extract": ("CREATE TABLE f(k)", "CREATE INDEX i ON p(json_extract(k, '$.a'))",
                     "CREATE TRIGGER a AFTER INSERT ON p BEGIN INSERT INTO f VALUES (json_extract(NEW.k, '$.a')); END"),
    "the library": ("CREATE TABLE f(k)", "CREATE TRIGGER a AFTER INSERT ON p BEGIN INSERT INTO f VALUES (counter_id()); END")}


@pytest.mark.parametrize("call", ["counter_push", "counter_sync"])
@pytest.mark.parametrize("trusted", [1, 0])
@pytest.mark.parametrize("what", NEEDS_TRUST)
def test_a_file_given_by_its_path_runs_the_triggers_that_an_attached_one_runs(tmp_path, what, trusted, call):
    tables = ["CREATE TABLE p(k TEXT PRIMARY KEY NOT NULL, n INTEGER NOT NULL DEFAULT 0)", "SELECT counter_replicate('p', 'n')"]
    seen = []
    for way in "path", "attached":
        files = [tmp_path / f"{way}-{name}.db" for name in ("one", "two")]
        one, two = (new_file(path, *tables) for path in files)
        for sql in NEEDS_TRUST[what]:
            two.execute(sql)
        two.close()
        one.execute("INSERT INTO p VALUES ('{\"a\":1}', 3)")
        one.execute(f"PRAGMA trusted_schema = {trusted}")
        try:
            if way == "attached":
                one.execute("ATTACH ? AS two", [str(files[1])])
            answer = rows(one, f"SELECT * FROM {call}(?)", "two" if way == "attached" else str(files[1]))
        except sqlite3.Error as error:
            answer = str(error)
        one.close()
        with contextlib.closing(connect(files[1])) as two:
            seen.append((answer, rows(two, "SELECT * FROM p"), rows(two, "SELECT count(*) FROM f")))
            assert rows(two, "PRAGMA integrity_check") == [("ok",)]
    waits = [(("p", 1, 1, 0, f"1 row waits in {name}: see counter_tracked({there}"), [], [(0,)])
             for name, there in ((tmp_path / "path-two.db", ") there"), ("two", "'two')"))]
    assert seen[0] == seen[1] or trusted == 0 and [([one], *others) for one, *others in waits] == seen or (
        what == "json_extract" and trusted == 0 and "unsafe use of json_extract" in seen[0][0])
    assert seen[0][1:] == ([('{"a":1}', 3)], [(1,)]) or trusted == 0


# ---- locks ----

def later(seconds, *statements, db):
    """Another connection, of this process, that goes on after a while."""
    def go_on():
        time.sleep(seconds)
        for sql in statements:
            db.execute(sql)
    thread = threading.Thread(target=go_on)
    thread.start()
    return thread


def other_writer(path, ready="BEGIN IMMEDIATE"):
    db = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    db.enable_load_extension(True)
    db.load_extension(EXTENSION)
    db.execute(ready)
    db.execute("INSERT INTO t VALUES ('other', 7)")
    return db


@JOURNALS
@pytest.mark.parametrize("way", ["attached", "path"])
@pytest.mark.parametrize("call", ["counter_push", "counter_sync"])
def test_the_file_that_takes_is_waited_for(tmp_path, journal, way, call):
    one = new_file(tmp_path / "one.db", TABLE, "INSERT INTO t VALUES ('x', 1)", journal=journal, timeout=20)
    new_file(tmp_path / "two.db", TABLE, journal=journal).close()
    path = str(tmp_path / "two.db")
    one.execute("ATTACH ? AS two", [path])
    other = other_writer(path)
    thread = later(0.2, "COMMIT", db=other)
    rows(one, f"SELECT * FROM {call}(?)", "two" if way == "attached" else path)
    thread.join()
    assert rows(other, "SELECT * FROM t ORDER BY k") == [("other", 7), ("x", 1)]
    one.execute("PRAGMA busy_timeout = 50")
    other.execute("BEGIN IMMEDIATE")
    error = fails(one, f"SELECT * FROM {call}(?)", "two" if way == "attached" else path)
    where = "two" if way == "attached" else path
    assert error == (f"{call}: database is locked: another connection has kept {where} locked for longer than the busy "
                     "timeout, 50 ms")
    other.close()
    one.close()


@pytest.mark.parametrize("way", ["attached", "path"])
@pytest.mark.parametrize("call", ["counter_pull", "counter_sync"])
def test_a_file_that_is_locked_out_between_two_looks_at_it_is_named(tmp_path, call, way):
    """It is opened before the lock of main is taken, and read behind that."""
    one = new_file(tmp_path / "one.db", TABLE, "INSERT INTO t VALUES ('x', 1)", timeout=0.05)
    path = str(tmp_path / "two.db")
    other = new_file(path, TABLE, journal="DELETE")
    one.execute("ATTACH ? AS two", [path])

    def see(sql):
        if "-- SAVEPOINT _counter" in sql and not other.in_transaction:
            other.execute("BEGIN EXCLUSIVE")
    one.set_trace_callback(see)
    where = "two" if way == "attached" else path
    if call == "counter_pull":
        assert fails(one, f"SELECT * FROM {call}(?)", where) == (
            f"{call}: database is locked: another connection has kept {where} locked for longer than the busy timeout, "
            "50 ms")
    else:
        assert f"another connection has kept {where} locked" in fails(one, f"SELECT * FROM {call}(?)", where)
    one.set_trace_callback(None)
    other.execute("ROLLBACK")
    rows(one, f"SELECT * FROM {call}(?)", where)
    other.close()
    one.close()


@pytest.mark.parametrize("call", ["counter_push", "counter_sync"])
def test_a_reader_that_holds_up_the_commit_of_a_path_is_told_of_and_main_has_what_is_new(tmp_path, call):
    one = new_file(tmp_path / "one.db", TABLE, "INSERT INTO t VALUES ('x', 1)", journal="DELETE", timeout=0.05)
    two = new_file(tmp_path / "two.db", TABLE, "INSERT INTO t VALUES ('x', 20), ('y', 3)", journal="DELETE")
    cursor = two.execute("SELECT * FROM t")
    assert cursor.fetchone() == ("x", 20)
    error = fails(one, f"SELECT * FROM {call}(?)", str(tmp_path / "two.db"))
    half = f"main has merged the changes, {tmp_path}/two.db has not: " if call == "counter_sync" else ""
    assert error == (f"{call}: {half}database is locked: another connection has kept {tmp_path}/two.db locked for longer than "
                     "the busy timeout, 50 ms")
    cursor.close()
    assert rows(one, "SELECT * FROM t") == ([("x", 21), ("y", 3)] if half else [("x", 1)])
    rows(one, f"SELECT * FROM {call}(?)", str(tmp_path / "two.db"))
    assert rows(two, "SELECT * FROM t") == [("x", 21), ("y", 3)]
    one.close()
    two.close()


# Its COMMIT waits for readers, and lets nobody else begin to read meanwhile.
COMMITS = """
import sqlite3, sys
extension, path = sys.argv[1:]
db = sqlite3.connect(path, timeout=0, isolation_level=None)
db.enable_load_extension(True)
db.load_extension(extension)
reader = sqlite3.connect(path).execute("SELECT name FROM sqlite_master")
reader.fetchone()
db.execute("BEGIN IMMEDIATE")
db.execute("INSERT INTO t VALUES ('other', 7)")
try:
    db.execute("COMMIT")
    print("committed", flush=True)
except sqlite3.OperationalError as error:
    print(error, flush=True)
sys.stdin.readline()
reader.close()
db.execute("COMMIT")
"""


@contextlib.contextmanager
def process_in_its_commit(path):
    process = subprocess.Popen([sys.executable, "-c", COMMITS, EXTENSION, str(path)], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, text=True)
    with process:
        assert process.stdout.readline() == "database is locked\n"
        try:
            yield process
        finally:
            process.stdin.close()
    assert process.returncode == 0


@pytest.mark.parametrize("way", ["attached", "path"])
@pytest.mark.parametrize("call", ["counter_pull", "counter_push", "counter_sync"])
def test_another_process_in_the_middle_of_its_commit_is_waited_for(tmp_path, call, way):
    one = new_file(tmp_path / "one.db", TABLE, "INSERT INTO t VALUES ('x', 1)", journal="DELETE")
    new_file(tmp_path / "two.db", TABLE, "INSERT INTO t VALUES ('x', 20)", journal="DELETE").close()
    one.execute("ATTACH ? AS two", [str(tmp_path / "two.db")])
    peer = "two" if way == "attached" else str(tmp_path / "two.db")
    with process_in_its_commit(tmp_path / "one.db") as process:
        assert "database is locked" in fails(one, f"SELECT * FROM {call}(?)", peer)
        assert rows(one, "SELECT * FROM two.t") == [("x", 20)]
        one.execute("PRAGMA busy_timeout = 20000")
        end = threading.Timer(0.2, process.stdin.close)
        end.start()
        rows(one, f"SELECT * FROM {call}(?)", peer)
        end.join()
    shown = {"counter_pull": (21, 20), "counter_push": (1, 21), "counter_sync": (21, 21)}[call]
    assert rows(one, "SELECT t.n, p.n FROM t JOIN two.t AS p USING (k) WHERE k = 'x'") == [shown]
    assert rows(one, "SELECT n FROM t WHERE k = 'other'") == [(7,)]
    one.close()


@pytest.mark.parametrize("call", ["counter_pull", "counter_push", "counter_sync"])
def test_a_commit_that_waits_for_the_caller_itself_is_told_as_a_lock_on_main(tmp_path, call):
    one = new_file(tmp_path / "one.db", TABLE, "INSERT INTO t VALUES ('x', 1), ('y', 2)", journal="DELETE", timeout=0.05)
    two = new_file(tmp_path / "two.db", TABLE, "INSERT INTO t VALUES ('x', 20)", journal="DELETE")
    cursor = one.execute("SELECT * FROM t")
    assert cursor.fetchone() == ("x", 1)
    other = other_writer(tmp_path / "one.db")
    other.execute("PRAGMA busy_timeout = 0")
    assert "locked" in fails(other, "COMMIT")
    error = fails(one, f"SELECT * FROM {call}(?)", str(tmp_path / "two.db"))
    assert error.startswith(f"{call}: database is locked: another connection ") and " main" in error and "two" not in error
    assert rows(two, "SELECT * FROM t") == [("x", 20)]
    cursor.close()
    other.execute("COMMIT")
    rows(one, f"SELECT * FROM {call}(?)", str(tmp_path / "two.db"))
    for db in one, two, other:
        db.close()


@pytest.mark.parametrize("begin", [None, "BEGIN"])
def test_main_is_waited_for_under_wal_until_the_other_writer_commits(tmp_path, begin):
    one = new_file(tmp_path / "one.db", TABLE, timeout=20)
    new_file(tmp_path / "two.db", TABLE, "INSERT INTO t VALUES ('x', 20)").close()
    for end, taken in ("ROLLBACK", True), ("COMMIT", False):
        other = other_writer(tmp_path / "one.db")
        if begin:
            one.execute(begin)
        thread = later(0.2, end, db=other)
        if taken:
            assert rows(one, "SELECT rows_changed FROM counter_pull(?, 'full')", str(tmp_path / "two.db")) == [(1,)]
        else:
            with pytest.raises(sqlite3.OperationalError) as error:
                rows(one, "SELECT * FROM counter_pull(?, 'full')", str(tmp_path / "two.db"))
            assert str(error.value) == (
                "counter_pull: database is locked: another connection is writing main, or has written it since this one "
                f"began to read it: {'end the transaction, ' if begin else ''}run BEGIN IMMEDIATE, which waits, and repeat "
                "the call")
        thread.join()
        if one.in_transaction:
            one.execute("ROLLBACK")
        other.close()
    one.execute("BEGIN IMMEDIATE")
    rows(one, "SELECT * FROM counter_pull(?)", str(tmp_path / "two.db"))
    one.execute("COMMIT")
    assert rows(one, "SELECT * FROM t ORDER BY k") == [("other", 7), ("x", 20)]
    one.close()


def test_main_with_a_rollback_journal_is_not_waited_for_as_nobody_could_commit_then(tmp_path):
    one = new_file(tmp_path / "one.db", TABLE, journal="DELETE", timeout=20)
    new_file(tmp_path / "two.db", TABLE, "INSERT INTO t VALUES ('x', 20)").close()
    other, begun = other_writer(tmp_path / "one.db"), time.monotonic()
    assert "run BEGIN IMMEDIATE, which waits, and repeat the call" in fails(one, "SELECT * FROM counter_pull(?)", str(tmp_path / "two.db"))
    assert time.monotonic() - begun < 5
    thread = later(0.2, "COMMIT", db=other)
    one.execute("BEGIN IMMEDIATE")
    rows(one, "SELECT * FROM counter_pull(?)", str(tmp_path / "two.db"))
    one.execute("COMMIT")
    thread.join()
    assert rows(one, "SELECT * FROM t ORDER BY k") == [("other", 7), ("x", 20)]
    other.close()
    one.close()


@pytest.mark.parametrize("call", ["counter_pull", "counter_push", "counter_sync"])
@JOURNALS
def test_a_select_that_is_left_on_its_first_row_has_committed_and_holds_no_write_lock(tmp_path, journal, call):
    """With a rollback journal it still reads, as any SELECT does: others commit when it is done."""
    one = new_file(tmp_path / "one.db", TABLE, SECOND, "INSERT INTO t VALUES ('x', 1)", journal=journal)
    two = new_file(tmp_path / "two.db", TABLE, SECOND, "INSERT INTO t VALUES ('x', 20)", journal=journal)
    one.execute("ATTACH ? AS two", [str(tmp_path / "two.db")])
    cursor = one.execute(f"SELECT table_name FROM {call}('two')")
    assert cursor.fetchone() == ("t",) and not one.in_transaction
    again = connect(tmp_path / "one.db")
    shown = {"counter_pull": [21, 20], "counter_push": [1, 21], "counter_sync": [21, 21]}[call]
    assert [rows(db, "SELECT n FROM t WHERE k = 'x'")[0][0] for db in (again, two)] == shown
    for db in again, two:
        db.execute("BEGIN IMMEDIATE")
        db.execute("INSERT INTO t VALUES ('later', 1)")
    if journal == "WAL":
        again.execute("COMMIT")
        two.execute("COMMIT")
        assert cursor.fetchone() == ("u",) and cursor.fetchone() is None
    else:
        assert "locked" in fails(again, "COMMIT")
        cursor.close()
        again.execute("COMMIT")
        two.execute("COMMIT")
    for db in one, again, two:
        db.close()


# ---- keys ----

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
    columns = "table_name, key, change, seq, source"
    for row in taker.execute(f"SELECT {columns} FROM counter_changes(0)").fetchall():
        fed.execute(f"INSERT INTO counter_changes({columns}) VALUES(?, ?, ?, ?, ?)", row)
    assert sorted(fed.execute("SELECT * FROM t")) == [("a", 1), (marked, 30)]

    fed.execute("PRAGMA synchronous = EXTRA")
    fed.execute("CREATE VIRTUAL TABLE temp.both USING counter_cluster(t, replicas='main')")
    fed.execute("INSERT INTO both VALUES(?, 100)", (marked,))
    assert sorted(fed.execute("SELECT * FROM both")) == [("a", 1), (marked, 130)]
    for db in (taker, wide, fed):
        db.close()


@pytest.mark.parametrize("way", ["pull", "feed", "lines"])
@pytest.mark.parametrize("encodings", [("UTF-16le", "UTF-8"), ("UTF-8", "UTF-16be"), ("UTF-16le", "UTF-16be")])
def test_a_regular_value_that_begins_with_a_byte_order_mark_keeps_it(tmp_path, encodings, way):
    giver, taker = connect(tmp_path / "giver.db"), connect(tmp_path / "taker.db")
    for db, encoding in zip((giver, taker), encodings):
        db.execute(f"PRAGMA encoding = '{encoding}'")
        db.execute("CREATE TABLE p(k TEXT PRIMARY KEY, v TEXT, n INT NOT NULL DEFAULT 0)")
        db.execute("SELECT counter_replicate('p', 'n')").fetchall()
    giver.execute("INSERT INTO p VALUES ('a', 'old', 1), ('b', ?, 2)", ("\ufeffinserted",))
    for new in "changed", "changed again":
        giver.execute("UPDATE p SET v = ? WHERE k = 'a'", ("\ufeff" + new,))
        if way == "pull":
            taker.execute("SELECT * FROM counter_pull(?)", (str(tmp_path / "giver.db"),)).fetchall()
        elif way == "lines":
            for line, in giver.execute("SELECT line FROM counter_lines(0)").fetchall():
                taker.execute("SELECT counter_take(?)", (line,)).fetchall()
        else:
            columns = "table_name, key, change, seq, source"
            for row in giver.execute(f"SELECT {columns} FROM counter_changes(0)").fetchall():
                taker.execute(f"INSERT INTO counter_changes({columns}) VALUES (?, ?, ?, ?, ?)", row)
        assert taker.execute("SELECT * FROM p ORDER BY k").fetchall() == [("a", "\ufeff" + new, 1), ("b", "\ufeffinserted", 2)]
    for db in giver, taker:
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


def test_a_pull_of_many_keys_in_another_order_misses_none(tmp_path):
    """The taking file rests from following the other's order, and follows it again."""
    keys = [f"key {i}" for i in range(3000)]
    db, peer = (new_file(tmp_path / name, TABLE, "PRAGMA synchronous = OFF") for name in ("a.db", "b.db"))
    for one, its in (db, random.Random(1).sample(keys, len(keys))), (peer, keys[:2000] + ["another"] + keys[2000:]):
        one.execute("BEGIN")
        one.executemany("INSERT INTO t VALUES (?, 1)", ((key,) for key in its))
        one.execute("COMMIT")
    found = rows(peer, "SELECT rows_read, rows_changed FROM counter_pull(?)", str(tmp_path / "a.db"))
    assert found == [(len(keys), len(keys))]
    assert rows(peer, "SELECT count(*), sum(n), min(n) FROM t") == [(len(keys) + 1, 2 * len(keys) + 1, 1)]
    peer.execute("INSERT INTO t(t) VALUES ('integrity-check')")
    peer.close()
    db.close()


# ---- several processes ----

PROCESS = """
import sqlite3, sys
extension, path, kind, count, number = sys.argv[1:]
statements = {
    "counter": ["INSERT INTO t VALUES ('all', 1)", "UPDATE t SET n = n + 1 WHERE k = 'all'", "INSERT INTO t VALUES (?, 1)",
                "REPLACE INTO t VALUES (?, 2)", "DELETE FROM t WHERE k = ?"],
    "ordinary": ["UPDATE o SET n = n + 1 WHERE k = 'all'", "UPDATE o SET n = n + 1 WHERE k = 'all'", "INSERT INTO o VALUES (?, 1)",
                 "REPLACE INTO o VALUES (?, 2)", "DELETE FROM o WHERE k = ?"]}[kind]
errors = 0
for i in range(int(count)):
    db = sqlite3.connect(path, timeout=60, isolation_level=None)
    db.enable_load_extension(True)
    db.load_extension(extension)
    db.execute("BEGIN")
    sql = statements[i % 5]
    try:
        db.execute(sql, [f"{number} {i // 5}"] * sql.count("?"))
        db.execute("COMMIT")
    except sqlite3.Error as error:
        print(error, file=sys.stderr)
        errors += 1
    db.close()
print(errors)
"""


@JOURNALS
@pytest.mark.parametrize("kind", ["ordinary", "counter"])
def test_processes_that_open_begin_and_write_meet_no_error(tmp_path, journal, kind):
    """Each transaction with a fresh connection, deferred; a counter table gets no error that an ordinary one does not."""
    processes, count = 4, 50
    db = new_file(tmp_path / "main.db", TABLE, "CREATE TABLE o(k TEXT PRIMARY KEY, n)", "INSERT INTO t VALUES ('all', 0)",
                  "INSERT INTO o VALUES ('all', 0)", journal=journal)
    running = [subprocess.Popen([sys.executable, "-c", PROCESS, EXTENSION, str(tmp_path / "main.db"), kind, str(count), str(i)],
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for i in range(processes)]
    for one in running:
        out, err = one.communicate(timeout=300)
        assert (one.returncode, out, err) == (0, "0\n", "")
    table = {"counter": "t", "ordinary": "o"}[kind]
    assert rows(db, f"SELECT n FROM {table} WHERE k = 'all'") == [(processes * count * 2 // 5,)]
    db.execute("INSERT INTO t(t) VALUES ('integrity-check')")
    db.close()


@pytest.mark.parametrize("way", ["pull", "push", "feed"])
def test_keys_that_a_file_in_utf_16_cannot_keep_apart_are_refused_there(tmp_path, way):
    wide = connect(tmp_path / "wide.db")
    wide.execute("PRAGMA encoding = 'UTF-16'")
    narrow = connect(tmp_path / "narrow.db")
    for db in wide, narrow:
        db.execute("CREATE VIRTUAL TABLE t USING counter(k TEXT PRIMARY KEY, n COUNTER)")
        db.execute("INSERT INTO t VALUES ('a', 1)")
    narrow.execute("INSERT INTO t VALUES ('\ufffd', 1)")
    narrow.execute("INSERT INTO t VALUES ('x\uffff', 10)")
    before = wide.execute("SELECT * FROM t").fetchall()
    with pytest.raises(sqlite3.Error, match=r"a key has U\+FFFE or U\+FFFF"):
        if way == "pull":
            wide.execute("SELECT * FROM counter_pull(?)", [str(tmp_path / "narrow.db")]).fetchall()
        elif way == "push":
            narrow.execute("SELECT * FROM counter_push(?)", [str(tmp_path / "wide.db")]).fetchall()
        else:
            names = ", ".join(name for _, name, *_ in narrow.execute("PRAGMA table_info(counter_changes)").fetchall())
            wide.execute("BEGIN")
            for row in narrow.execute(f"SELECT {names} FROM counter_changes(0)").fetchall():
                wide.execute(f"INSERT INTO counter_changes({names}) VALUES ({', '.join('?' * len(row))})", row)
    if way == "feed":
        wide.execute("ROLLBACK")
    assert wide.execute("SELECT * FROM t").fetchall() == before
    wide.close()
    narrow.close()


@pytest.mark.parametrize("journal", ["DELETE", "WAL"])
@pytest.mark.parametrize("way", ["push", "sync", "push attached", "sync attached", "feed", "attached, uncommitted"])
def test_a_file_that_its_connection_has_locked_exclusively_gives_all_the_same(tmp_path, journal, way):
    other = tmp_path / "other.db"
    with contextlib.closing(connect(other)) as db:
        db.execute("CREATE VIRTUAL TABLE t USING counter(k TEXT PRIMARY KEY, n COUNTER)")
        db.execute("INSERT INTO t VALUES ('a', 1)")
    db = connect(tmp_path / "main.db")
    db.execute(f"PRAGMA journal_mode = {journal}")
    db.execute("PRAGMA locking_mode = EXCLUSIVE")
    db.execute("CREATE VIRTUAL TABLE t USING counter(k TEXT PRIMARY KEY, n COUNTER)")
    db.execute("INSERT INTO t VALUES ('a', 10)")
    name = str(other)
    if "attached" in way:
        db.execute("ATTACH ? AS other", [name])
        name = "other"
    if way == "feed":
        assert len(db.execute("SELECT * FROM counter_changes(0)").fetchall()) == 1
    elif way == "attached, uncommitted":
        db.execute("BEGIN")
        db.execute("INSERT INTO t VALUES ('b', 1)")
        with pytest.raises(sqlite3.Error, match="it has an open write transaction: commit first"):
            db.execute("SELECT * FROM counter_push(?)", [name]).fetchall()
    else:
        for n in (10, 11):
            db.execute(f"SELECT * FROM counter_{way.split()[0]}(?)", [name]).fetchall()
            db.execute("INSERT INTO t VALUES ('a', 1)")
    db.close()
    if way.startswith(("push", "sync")):
        with contextlib.closing(connect(other)) as db:
            assert db.execute("SELECT n FROM t").fetchall() == [(12,)]


def test_a_pull_of_many_rows_leaves_the_size_of_the_cache_as_it_was(tmp_path):
    """It raises SQLite's default until it ends, and leaves alone what the application has set."""
    db, other = connect(tmp_path / "main.db"), connect(tmp_path / "other.db")
    other.execute("CREATE VIRTUAL TABLE t USING counter(k INTEGER PRIMARY KEY, n COUNTER)")
    db.executescript("""
        CREATE TABLE t(k INTEGER PRIMARY KEY, n INTEGER);
        CREATE TABLE seen(size INTEGER UNIQUE ON CONFLICT IGNORE);
        CREATE TRIGGER sees AFTER INSERT ON t BEGIN
            INSERT INTO seen SELECT cache_size FROM pragma_cache_size('main'); END;
        SELECT counter_track('t', 'n', 'keys=assigned');""")

    def pull(size, first):
        other.execute("WITH RECURSIVE c(i) AS (VALUES (?) UNION ALL SELECT i + 1 FROM c LIMIT 1500)"
                      " INSERT INTO t SELECT i, 1 FROM c", (first,))
        db.execute(f"PRAGMA main.cache_size = {size}")
        db.execute("DELETE FROM seen")
        return rows(db, "SELECT rows_changed FROM counter_pull(?)", str(tmp_path / "other.db"))

    for first, size, while_pulling in [(0, -2000, -32000), (1500, 100, 100)]:
        assert pull(size, first) == [(1500,)]
        assert rows(db, "SELECT * FROM seen") == [(while_pulling,)]
        assert rows(db, "PRAGMA main.cache_size") == [(size,)]
    db.execute("CREATE TRIGGER fails AFTER INSERT ON t WHEN NEW.k = 4499 BEGIN"
               " SELECT RAISE(ROLLBACK, 'no'); END")
    with pytest.raises(sqlite3.OperationalError, match="rolled back the transaction"):
        pull(-2000, 3000)
    assert rows(db, "PRAGMA main.cache_size") == [(-2000,)]


def test_a_pull_into_an_ordinary_table_says_what_will_replace_its_values(tmp_path):
    """Once it is replicated, too, a value that the other file has written since it began wins without a question."""
    one, two = connect(tmp_path / "one.db"), connect(tmp_path / "two.db")
    for db in one, two:
        db.executescript("CREATE TABLE t(k TEXT PRIMARY KEY NOT NULL, name)")
    two.execute("SELECT counter_replicate('t')")
    two.execute("INSERT INTO t VALUES ('a', 'theirs')")
    one.execute("INSERT INTO t VALUES ('a', 'changed here')")
    with pytest.raises(sqlite3.OperationalError) as refused:
        one.execute("SELECT * FROM counter_pull(?)", (str(tmp_path / "two.db"),))
    assert str(refused.value) == (
        "counter_pull: table t: in main it is an ordinary table, which does not count: if that file has nothing of its own, put a copy of "
        "the other one in its place; else, unless one key stands for two different rows, of which one would be lost, call "
        "counter_replicate('t', ...) there: the merge asks about values that both files had when they began, and what the other file has written since then wins, so note first what was changed "
        "in this one")
    one.execute("SELECT counter_replicate('t')")
    one.execute("SELECT * FROM counter_pull(?)", (str(tmp_path / "two.db"),)).fetchall()
    assert one.execute("SELECT name FROM t").fetchall() == [("theirs",)]


# ---- warnings ----

@pytest.mark.parametrize("way", ["pull", "take"])
def test_what_a_merge_warns_of_is_forgotten_with_its_transaction(tmp_path, way):
    replicated = ["CREATE TABLE a(k TEXT PRIMARY KEY NOT NULL, n INTEGER NOT NULL DEFAULT 0)", "SELECT counter_replicate('a', 'n')"]
    giver, taker = (new_file(tmp_path / f"{name}.db", *replicated) for name in ("giver", "taker"))
    path = str(tmp_path / "giver.db")

    def merge():
        if way == "pull":
            return rows(taker, "SELECT note FROM counter_pull(?)", path)[0][0]
        lines = "\n".join(line for line, in rows(giver, "SELECT line FROM counter_lines(0)"))
        return "; ".join(json.loads(rows(taker, "SELECT counter_take(?)", lines)[0][0])["warnings"])

    giver.executemany("INSERT INTO a VALUES (?, 1)", [(f"k{i}",) for i in range(50)])
    merge()
    giver.execute("DELETE FROM a WHERE rowid > 10")
    deleted = "this merge deleted 40 of 50 rows"
    for end in "ROLLBACK", "COMMIT":
        taker.execute("BEGIN")
        assert deleted in merge()
        assert [warning for *_, warning in rows(taker, "SELECT * FROM counter_warnings")] == [deleted]
        taker.execute(end)
        assert [warning for *_, warning in rows(taker, "SELECT * FROM counter_warnings")] == [deleted] * (end == "COMMIT")
        assert rows(taker, "SELECT count(*) FROM a") == [(50 if end == "ROLLBACK" else 10,)]


@pytest.mark.parametrize("locked", ["main", "two"])
def test_a_file_that_is_locked_when_rights_move_is_named_and_the_next_sync_moves_them(tmp_path, locked):
    """Another connection takes the lock as soon as the sync itself has committed."""
    paths = {"main": str(tmp_path / "one.db"), "two": str(tmp_path / "two.db")}
    one = new_file(paths["main"], TABLE, "INSERT INTO t VALUES ('x', 8)", timeout=0.05)
    rows(one, "SELECT counter_bound('t', 'n')")
    new_file(paths["two"], TABLE).close()
    other = sqlite3.connect(paths[locked], isolation_level=None, timeout=0)
    released = []

    def see(sql):
        if "RELEASE" in sql: released.append(sql)
        if not released or other.in_transaction: return
        try:
            other.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError:
            pass
    one.set_trace_callback(see)
    notes = rows(one, "SELECT note FROM counter_sync(?)", paths["two"])
    one.set_trace_callback(None)
    other.close()
    where = "main" if locked == "main" else paths["two"]
    told = ("rights to bounded counters were not moved: database is locked: another connection is writing "
            f"{where}, or has written it meanwhile")
    assert [note.rpartition("; ")[2] for note, in notes] == [told]
    assert rows(one, "SELECT note FROM counter_sync(?)", paths["two"]) == [(None,)]
    assert rows(one, "SELECT rights FROM counter_rights('t')") == [(4,), (4,)]
    one.close()


@pytest.mark.parametrize("own", [0, 1])
def test_lines_skip_nothing_that_another_connection_commits_at_any_moment(tmp_path, own):
    a = new_file(tmp_path / "a.db", TABLE, "INSERT INTO t VALUES ('first', 1)")
    b, reader = new_file(tmp_path / "b.db", TABLE), new_file(tmp_path / "a.db")
    (source,), = rows(reader, "SELECT counter_source(?)", own)
    moment = left = 0

    def commit_at_the_moment(*_):
        nonlocal left
        left -= 1
        if left == 0:
            rows(a, "INSERT INTO t VALUES (?, 1)", f"at {moment}")
        return sqlite3.SQLITE_OK

    def sync():
        lines = rows(reader, "SELECT line FROM counter_lines(?, ?)", *rows(b, "SELECT counter_mark(?)", source)[0], own)
        if lines:
            rows(b, "SELECT counter_take(?)", "\n".join(line for line, in lines))

    sync()
    while left <= 0:
        moment, left = moment + 1, moment + 1
        reader.set_authorizer(commit_at_the_moment)
        sync()
        reader.set_authorizer(None)
        sync()
        assert rows(b, "SELECT k FROM t ORDER BY k") == rows(a, "SELECT k FROM t ORDER BY k"), moment
    assert moment > 5
