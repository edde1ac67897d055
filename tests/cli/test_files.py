"""test_files.py - the files that sqlite-counter is given: each error in one sentence, names, locks, and
files that cannot be written or read."""

import os
import pathlib
import re
import shutil
import sqlite3
import subprocess
import tempfile
import time

import pytest

from program import OF_COUNTERS, ON_ONE_FILE, PRODUCTS, PROGRAM, VIEWS, connect, digest, fails, make, ok, rows, run, table


@pytest.mark.parametrize("name", ["file:b.db", "file:b.db?mode=memory", ":memory:", "file::memory:", "file:b.db?immutable=1"])
def test_a_name_that_looks_like_a_uri_is_that_of_a_file(place, name):
    os.rename("a.db", name)
    before = digest("b.db")
    make("c.db", VIEWS)
    ok("sync", "c.db", name)
    assert rows("c.db") == [("/", 1, 10), ("/a", 2, 20)]
    make("c.db", "UPDATE views SET hits = 9")
    ok("sync", name, "c.db")
    ok("import", name, text=ok("export", "b.db"))
    make("d.db", VIEWS)
    ok("import", "d.db", text=ok("export", place / name))
    assert rows("d.db") == [("/", 13, 50), ("/a", 9, 20)]
    assert digest("b.db") == before and not (place / "file").exists()


def words_for(command, path):
    return {"sync": ["sync", path, "b.db"], "track": ["track", path, "t", "n"], "replicate": ["replicate", path, "t", "n"],
            "opening": ["opening", path, "products", "same"],
            "grant": ["grant", path, "products", "tea", "1", "--to", "b.db"]}.get(command, [command, path])


@pytest.mark.parametrize("command", OF_COUNTERS)
def test_a_file_that_is_missing_or_not_a_database_is_told_and_none_is_created(place, command):
    before = sorted(path.name for path in place.iterdir())
    fails(": there is no such file", *words_for(command, ""))
    fails("no.db: there is no such file", *words_for(command, "no.db"))
    said = r"the file comes first, then .*: sqlite-counter sync b\.db \." if command == "sync" else "is not a regular file"
    fails(rf"\.: {said}", *words_for(command, "."))
    fails("a.db/x: Not a directory", *words_for(command, "a.db/x"))
    if command == "sync":
        fails("no.db: there is no such file or directory", "sync", "b.db", "no.db")
    assert sorted(path.name for path in place.iterdir()) == before
    (place / "text").write_bytes(b"no database" * 100)
    fails("text: file is not a database", *words_for(command, "text"))
    assert (place / "text").read_bytes() == b"no database" * 100


@pytest.mark.parametrize("command", ON_ONE_FILE)
def test_a_file_without_counter_tables_is_told_and_how_to_go_on(place, command):
    make("plain.db", "CREATE TABLE t(a)")
    (place / "empty.db").touch()
    for name in "plain.db", "empty.db":
        fails(f"{name}: the file has no counter tables: make a table one first: sqlite-counter replicate {name} TABLE COLUMN, or track",
              command, name)


@pytest.mark.parametrize("command", ["check", "export", "import"])
def test_a_file_with_nothing_but_an_identity_has_no_counter_tables(place, command):
    make("named.db", "SELECT counter_init('home:till')")
    fails("named.db: the file has no counter tables: make .*", command, "named.db")


def test_two_files_without_counter_tables_have_nothing_to_merge(place):
    make("c.db", "CREATE TABLE t(a)")
    make("d.db", "CREATE TABLE t(a)")
    fails("neither c.db nor d.db has counter tables: track a table first: sqlite-counter track c.db TABLE COLUMN",
          "sync", "c.db", "d.db")


def test_a_file_is_not_merged_with_itself_whatever_its_name(place):
    os.link("a.db", "hard.db")
    os.symlink("a.db", "soft.db")
    for other in "a.db", "./a.db", "hard.db", "soft.db":
        fails(re.escape(f"a.db and {other} are the same file"), "sync", "a.db", other)


@pytest.mark.parametrize("command", OF_COUNTERS)
def test_a_file_of_a_newer_format_is_refused_and_not_changed(place, command):
    make("n.db", VIEWS, PRODUCTS)
    sqlite3.connect("n.db", isolation_level=None).execute("UPDATE counter_replica SET format = 99")
    before = (place / "n.db").read_bytes()
    words = [command, "n.db", "products", "stock"] if command in ("track", "replicate") else words_for(command, "n.db")
    batch = ok("export", "a.db")
    sentence = "n.db: the file was written by a newer version: format 99, this library knows 3; install .*"
    fails(sentence, *words, text=batch)
    if command == "sync":
        fails(sentence, "sync", "b.db", "n.db")
    assert (place / "n.db").read_bytes() == before


def test_a_table_or_a_column_that_is_not_there_is_named(place):
    make("a.db", PRODUCTS)
    fails("a.db: there is no table 'nothing'", "track", "a.db", "nothing", "n")
    fails("a.db: (?!counter_).*price.*", "track", "a.db", "products", "price")
    fails("a.db: (?!counter_).*name.*", "track", "a.db", "products", "name")
    assert [row[0] for row in table(ok("status", "a.db"))].count("tracked") == 0


def test_a_busy_file_is_waited_for_and_told(place):
    make("a.db", PRODUCTS, "PRAGMA journal_mode = WAL")
    locked = connect("a.db")
    locked.execute("BEGIN IMMEDIATE")
    calls = [["check", "a.db"], ["track", "a.db", "products", "stock"], ["import", "a.db"], ["sync", "a.db", "b.db"],
             ["sync", "c.db", "a.db"]]
    make("c.db", VIEWS)
    began = time.monotonic()
    running = [subprocess.Popen([PROGRAM, *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                text=True) for words in calls]
    ok("status", "a.db")
    ok("export", "a.db")
    for words, process in zip(calls, running):
        shown = "views\ta.db\tc.db\t2\t2\t0\t\n" if words[1] == "c.db" else ""
        assert process.communicate() == (shown, "sqlite-counter: a.db: busy for 5 seconds: database is locked\n")
        assert process.returncode == 1
    assert 4.5 < time.monotonic() - began < 9
    locked.close()
    assert rows("b.db") == [("/", 4, 40)] and rows("c.db") == [("/", 1, 10), ("/a", 2, 20)]


def test_a_file_that_is_free_after_a_moment_is_no_error(place):
    locked = connect("a.db")
    locked.execute("BEGIN IMMEDIATE")
    process = subprocess.Popen([PROGRAM, "check", "a.db"], stdout=subprocess.PIPE, text=True)
    time.sleep(0.5)
    locked.close()
    assert process.communicate()[0] == "views\tok\n"


@pytest.fixture
def elsewhere():
    """A folder outside of root's, and options for run: root may write everything, so another user calls."""
    other = {"user": "nobody"} if os.geteuid() == 0 else {}
    if other and subprocess.run(["su", "-s", "/bin/sh", "-c", f"test -x '{PROGRAM}'", "nobody"],
                                capture_output=True).returncode:
        pytest.skip("another user cannot run the program")
    folder = tempfile.mkdtemp()
    os.chmod(folder, 0o755)
    yield pathlib.Path(folder), {"folder": folder, **other}
    os.chmod(folder, 0o755)
    shutil.rmtree(folder)


def test_a_read_only_file_is_read_and_checked_and_not_written(elsewhere):
    folder, options = elsewhere
    for name in "a.db", "b.db":
        make(folder / name, VIEWS, PRODUCTS, "INSERT INTO views VALUES ('/', 1, 1)")
        os.chmod(folder / name, 0o444)
    batch = ok("export", "a.db", **options)
    assert table(ok("status", "a.db", **options))[5] == ["table", "views", "1"]
    assert ok("check", "a.db", **options) == "views\tok\n"
    for words in ["track", "a.db", "products", "stock"], ["import", "a.db"], ["sync", "a.db", "b.db"]:
        fails("a.db: the file cannot be written, it is read-only", *words, text=batch, **options)
    os.chmod(folder / "a.db", 0o666)
    fails("b.db: the file cannot be written, it is read-only", "sync", "a.db", "b.db", **options)


def test_damage_of_a_read_only_file_is_found(elsewhere):
    folder, options = elsewhere
    make(folder / "a.db", VIEWS, "INSERT INTO views VALUES ('/', 1, 1)", "INSERT INTO views(views) VALUES ('optimize')")
    sqlite3.connect(folder / "a.db", isolation_level=None).execute("UPDATE views_cells SET hits = x'00'")
    os.chmod(folder / "a.db", 0o444)
    status, out, error = run("check", "a.db", **options)
    assert status == 1 and table(out)[0][:2] == ["views", "damaged"]
    assert error.startswith("sqlite-counter: a.db: damaged counter tables: 1")


def test_why_a_file_cannot_be_read_is_told(elsewhere):
    folder, options = elsewhere
    make(folder / "secret.db", VIEWS)
    os.chmod(folder / "secret.db", 0)
    make(folder / "wal.db", "PRAGMA journal_mode = WAL", VIEWS)
    os.chmod(folder / "wal.db", 0o444)
    for name in "here.db", "writable.db":
        make(folder / name, VIEWS)
        os.chmod(folder / name, 0o666)
    cut = sqlite3.connect(folder / "cut.db", isolation_level=None)
    for sql in "CREATE TABLE t(a)", "PRAGMA cache_size = 1", "BEGIN", "INSERT INTO t VALUES (zeroblob(100000))":
        cut.execute(sql).fetchall()
    for name in "cut.db", "cut.db-journal":
        shutil.copy(folder / name, folder / name.replace("cut", "copy"))
        os.chmod(folder / name.replace("cut", "copy"), 0o444)
    cut.close()
    open_wal = connect(folder / "full.db")  # its changes are in the WAL still, and the index of the WAL is missing in a copy
    for sql in "PRAGMA journal_mode = WAL", VIEWS:
        open_wal.execute(sql).fetchall()
    for ending in "", "-wal":
        shutil.copy(folder / f"full.db{ending}", folder / f"left.db{ending}")
        os.chmod(folder / f"left.db{ending}", 0o444)
    open_wal.close()
    os.chmod(folder, 0o555)
    for command in "status", "check", "export":
        fails("secret.db: unable to open database file: Permission denied", command, "secret.db", **options)
        for name in "wal.db", "left.db":
            fails(f"{name}: the file and its folder are read-only: SQLite cannot read a file in WAL mode there",
                  command, name, **options)
        fails("copy.db: its last transaction was cut off, and the file is read-only: open it once where it can be written",
              command, "copy.db", **options)
    fails("here.db: taking from writable.db: SQLite cannot make its journal: the folder is read-only", "sync", "here.db", "writable.db", **options)


def test_output_that_cannot_be_written_is_told(place):
    with open("/dev/full", "w") as full:
        done = subprocess.run([PROGRAM, "export", "a.db"], stdout=full, stderr=subprocess.PIPE, text=True)
    assert (done.returncode, done.stderr) == (1, "sqlite-counter: standard output cannot be written\n")


def test_an_error_is_one_line_whatever_is_in_a_name(place):
    fails(r"a\?b\?\?\[K: there is no such file", "status", "a\nb\r\x1b[K")


def test_a_first_sync_in_parts_tells_the_sums_of_each_table(place):
    tables = ["CREATE TABLE p(k TEXT PRIMARY KEY NOT NULL, n INTEGER NOT NULL DEFAULT 0)", "SELECT counter_replicate('p', 'n')",
              "CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER)"]
    make("large.db", *tables)
    shutil.copy("large.db", "empty.db")
    numbers = "WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 60000) INSERT INTO"
    make("large.db", f"{numbers} p SELECT 'key ' || i, i FROM c", f"{numbers} v(k, n) SELECT 'key ' || i, i FROM c WHERE i <= 20000")
    begun = time.monotonic()
    told = table(ok("sync", "empty.db", "large.db"))
    assert time.monotonic() - begun > 0.1, "it took no parts: there is no pause"
    assert [row[:6] for row in told if row[1:3] == ["large.db", "empty.db"]] == [
        ["p", "large.db", "empty.db", "60000", "60000", "0"], ["v", "large.db", "empty.db", "20000", "20000", "0"]]
    for name in "empty.db", "large.db":
        assert rows(name, "SELECT (SELECT sum(n) FROM p), (SELECT sum(n) FROM v)") == [(1800030000, 200010000)]
    assert [row[3:6] for row in table(ok("sync", "empty.db", "large.db"))] == [["0", "0", "0"]] * 4
