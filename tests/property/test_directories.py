"""test_directories.py - counter_sync, counter_pull and counter_push with a directory: who may use one, what is refused, and
that nothing of a transaction that may still be rolled back is given."""
import os
import pathlib
import random
import shutil
import sqlite3
import threading
import time

import pytest

from files import EXTENSION, connect


SEED = os.environ.get("COUNTER_SEED") or str(random.SystemRandom().randrange(2**32))
FOLDERS = "sqlite3_counter_folders_init"
CALLS = [f"SELECT * FROM {name}('shared')" for name in ("counter_sync", "counter_pull", "counter_push", "counter_folder")]


def give_right(db, library=None):
    db.enable_load_extension(True)
    if library:
        db.load_extension(str(library))
    else:
        db.execute("SELECT load_extension(?, ?)", (str(EXTENSION), FOLDERS))
    db.enable_load_extension(False)
    return db


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared" / ".sqlite-counter").touch()
    return tmp_path


def shop(path, right=True):
    db = connect(path)
    db.execute("PRAGMA busy_timeout = 20000")
    db.execute("CREATE VIRTUAL TABLE IF NOT EXISTS hits USING counter(k TEXT PRIMARY KEY, n COUNTER)")
    return give_right(db) if right else db


def content(db):
    return dict(db.execute("SELECT k, n FROM hits"))


def written(place):
    return {path.name: path.stat().st_mtime_ns for path in (place / "shared").rglob("*")}


def refused(db, sql, *values):
    with pytest.raises(sqlite3.Error) as error:
        db.execute(sql, values).fetchall()
    return str(error.value)


def test_sql_cannot_give_the_right_and_without_it_no_directory_is_touched(place):
    db = shop("a.db", right=False)
    db.execute("INSERT INTO hits VALUES ('x', 1)")
    before = written(place)
    for value in (None, 1, "x", b"x", "sqlite-counter folders"):
        assert refused(db, "SELECT counter_folders(?)", value).startswith("counter_folders: SQL cannot give a connection the right")
    for call in CALLS:
        assert "this connection has no right to use one" in refused(db, call)
    assert written(place) == before


def test_the_second_entry_point_and_the_second_library_give_it(place):
    for library in None, f"{EXTENSION}-folders":
        db = give_right(shop(f"{library is None}.db", right=False), library)
        for call in CALLS:
            db.execute(call).fetchall()


def test_the_second_library_alone_says_what_it_lacks(place):
    db = sqlite3.connect(":memory:")
    db.enable_load_extension(True)
    with pytest.raises(sqlite3.Error, match="load the library before this one"):
        db.load_extension(str(f"{EXTENSION}-folders"))


def test_triggers_and_views_cannot_call_them(place):
    db = shop("a.db")
    db.execute("CREATE TABLE t(x)")
    for call in CALLS:
        db.execute(f"CREATE VIEW v AS {call}")
        assert "unsafe use" in refused(db, "SELECT * FROM v")
        db.execute("DROP VIEW v")


def test_an_authorizer_that_forbids_ATTACH_forbids_directories(place):
    db = shop("a.db")
    db.set_authorizer(lambda action, *_: sqlite3.SQLITE_DENY if action == 24 else sqlite3.SQLITE_OK)
    for call in CALLS:
        assert "does not allow to ATTACH 'shared'" in refused(db, call)


def test_a_connection_that_writes_nothing_gives_nothing(place):
    db = shop("a.db")
    db.execute("INSERT INTO hits VALUES ('x', 1)")
    db.execute("PRAGMA query_only = 1")
    for call in CALLS[0], CALLS[2]:
        assert "PRAGMA query_only of this connection is on" in refused(db, call)
    assert list(written(place)) == [".sqlite-counter"]


def test_nothing_that_may_be_rolled_back_is_given_and_a_pull_is_rolled_back(place):
    a, b, c = shop("a.db"), shop("b.db"), shop("c.db")
    a.execute("INSERT INTO hits VALUES ('y', 5)")
    b.execute("INSERT INTO hits VALUES ('x', 2)")
    b.execute(CALLS[2]).fetchall()
    a.execute("BEGIN")
    a.execute("INSERT INTO hits VALUES ('x', 1), ('y', 1)")
    assert a.execute(CALLS[0]).fetchall()[0][1:4] == (1, 1, 0) and content(a) == {"x": 3, "y": 6}
    assert c.execute(CALLS[1]).fetchall() and content(c) == {"x": 2, "y": 5}
    a.execute("ROLLBACK")
    assert content(a) == {"y": 5}
    assert a.execute(CALLS[1]).fetchall()[0][1:4] == (1, 1, 0) and content(a) == {"x": 2, "y": 5}
    a.execute("INSERT INTO hits VALUES ('y', 10)")
    for db in a, c:
        db.execute(CALLS[0]).fetchall()
    assert content(c) == content(a) == {"x": 2, "y": 15}


def test_a_copy_that_has_not_committed_its_new_id_gives_nothing(place):
    a = shop("a.db")
    a.execute("INSERT INTO hits VALUES ('x', 1)")
    a.close()
    shutil.copy("a.db", "copy.db")
    copy = shop("copy.db")
    copy.execute("BEGIN IMMEDIATE")
    assert "main has taken an id of its own in this transaction: COMMIT first" in refused(copy, CALLS[2])
    copy.execute("COMMIT")
    copy.execute(CALLS[2]).fetchall()
    assert len([name for name in written(place) if name.endswith(".gz")]) == 1


def test_a_directory_without_its_marker_is_refused_and_nothing_is_written(place):
    db = shop("a.db")
    db.execute("INSERT INTO hits VALUES ('x', 1)")
    marker = place / "shared" / ".sqlite-counter"
    marker.unlink()
    for _ in range(2):
        for call in CALLS:
            assert "shared: it has no file .sqlite-counter, so it is not mounted" in refused(db, call)
        assert not [path for path in written(place) if path != ".sqlite-counter"]
        marker.is_symlink() or marker.symlink_to(place / "a.db")


def test_arguments_of_a_file_are_no_arguments_of_a_directory(place):
    db = shop("a.db")
    assert "the second argument is for a file, and 'shared' is a directory" in refused(db, "SELECT * FROM counter_pull('shared', 'full')")
    assert "a scope is for a directory, and 'b.db' is none" in refused(db, "SELECT * FROM counter_pull('b.db', NULL, '[1]')")
    assert "a push takes nothing" in refused(db, "SELECT * FROM counter_push('shared', NULL, '[1]')")
    assert "scope must be a JSON array" in refused(db, "SELECT * FROM counter_pull('shared', NULL, 'x')")


def test_what_a_row_tells_of_a_device(place):
    a, b = shop("a.db"), shop("b.db")
    a.execute("INSERT INTO hits VALUES ('x', 1), ('y', 2)")
    (own,), = a.execute("SELECT counter_settle()")
    (row,) = a.execute("SELECT table_name, rows_read, rows_changed, conflicts, note, source, upto FROM counter_sync('shared')")
    end, = a.execute("SELECT counter_changes_end()").fetchone()
    assert row == (f"shared/{own}", 2, 2, 0, None, own, end)
    assert b.execute("SELECT table_name, source, upto, rows_read FROM counter_sync('shared')").fetchall() == [(f"shared/{own}", own, end, 2)]
    path, source, written, upto, mark = b.execute("SELECT * FROM counter_folder('shared')").fetchone()
    assert (path, source, upto, mark) == (f"shared/{own}", own, end, end) and written > 1e9
    assert a.execute("SELECT * FROM counter_sync('shared')").fetchall() == b.execute("SELECT * FROM counter_sync('shared')").fetchall() == []


def test_a_file_whose_lines_begin_elsewhere_than_its_name_says_is_named(place):
    one, other = shop("a.db"), shop("b.db")
    for n in range(2):
        one.execute("INSERT INTO hits VALUES ('x', 1)")
        for _ in range(20 - 20 * n):  # or the second file would have what the first one has
            one.execute("INSERT INTO hits VALUES (?, 1)", (f"{random.getrandbits(200):x}",))
        one.execute("SELECT * FROM counter_sync('shared')").fetchall()
    first, second = sorted((place / "shared").rglob("*.gz"))
    first.unlink()
    second.rename(second.with_name("0" * 20 + second.name[20:]))
    for _ in range(2):
        (_, _, _, _, note), = other.execute("SELECT * FROM counter_pull('shared')")
        assert note.endswith(": its lines do not lead on as its name says, and raise no mark")
    assert content(other)["x"] == 2, "the shard of the device has its newest value"


def test_files_that_others_write_meanwhile_sync_without_an_error_and_lose_nothing(place):
    """After BEGIN IMMEDIATE, which waits for them."""
    stop, failed, counted = threading.Event(), [], {}
    for name in "abc":
        db = shop(f"{name}.db")
        db.execute("PRAGMA journal_mode = WAL")
        db.close()

    def count(name):
        try:
            db, n = shop(f"{name}.db"), 0
            while not stop.is_set():
                db.execute("INSERT INTO hits VALUES (?, 1)", (random.choice("xyz"),))
                n += 1
                time.sleep(.002)  # else nobody else gets the lock
            counted[name] = n
            db.close()
        except sqlite3.Error as error:
            failed.append(error)

    writers = [threading.Thread(target=count, args=name) for name in "abc"]
    for writer in writers:
        writer.start()
    shops = [shop(f"{name}.db") for name in "abc"]
    try:
        for _ in range(5):
            for db in shops:
                db.execute("BEGIN IMMEDIATE")
                db.execute(CALLS[0]).fetchall()
                db.execute("COMMIT")
    finally:
        stop.set()
        for writer in writers:
            writer.join()
    assert failed == []
    for _ in range(2):
        for db in shops:
            assert [note for *_, note in db.execute(CALLS[0]) if note] == []
    for db in shops:
        assert sum(content(db).values()) == sum(counted.values())


def state_of(path):
    """With the attributes, so that a file which is set back to it does not notice."""
    return pathlib.Path(path).read_bytes(), {name: os.getxattr(path, name) for name in os.listxattr(path)}


def set_back(path, content, attributes):
    with open(path, "r+b") as file:
        file.write(content)
        file.truncate()
    for name, value in attributes.items():
        os.setxattr(path, name, value)


@pytest.mark.parametrize("arrives", ["whole", "in halves"])
def test_a_machine_that_was_set_back_and_counts_learns_it_from_its_own_directory(place, arrives):
    """With its file the attributes come back, too, so the file cannot notice it. A service that carries the directory may
    bring its files after it has counted."""
    a, b = shop("a.db"), shop("b.db")
    a.execute("INSERT INTO hits VALUES ('x', 1)")
    for db in a, b, a:
        db.execute(CALLS[0]).fetchall()
    a.close()
    before_that = state_of("a.db")
    a = shop("a.db")
    for _ in range(5):
        a.execute("INSERT INTO hits VALUES ('x', 10)")
    for db in a, b:
        db.execute(CALLS[0]).fetchall()
    a.close()
    set_back("a.db", *before_that)
    a = shop("a.db")
    (before,), = a.execute("SELECT counter_settle()")
    a.execute("INSERT INTO hits VALUES ('x', 3)")
    own = {path: path.read_bytes() for path in (place / "shared" / before).glob("*.gz")} if arrives == "in halves" else {}
    for path, whole in own.items():
        path.write_bytes(whole[:len(whole) // 2])
    if own:
        assert "nothing is given until it can be read" in refused(a, CALLS[0])
    for path, whole in own.items():
        path.write_bytes(whole)
    for db in 2 * [a, b]:
        db.execute(CALLS[0]).fetchall()
    assert content(a) == content(b)
    assert a.execute("SELECT counter_settle()").fetchone() != (before,) and a.execute("SELECT count(*) FROM counter_conflicts").fetchone() == (1,)
    a.execute("INSERT INTO hits VALUES ('x', 100)")
    for db in a, b:
        db.execute(CALLS[0]).fetchall()
    assert content(a) == content(b) and content(b)["x"] >= 151


@pytest.mark.parametrize("by", ["a directory", "lines of another file"])
@pytest.mark.parametrize("notices", [False, True])
def test_what_a_restored_file_gets_back_it_gives_to_another_directory(place, notices, by):
    tables = ["CREATE TABLE products(sku TEXT PRIMARY KEY, name TEXT, stock INTEGER NOT NULL DEFAULT 0)", "SELECT counter_replicate('products', 'stock')"]
    shutil.copytree(place / "shared", place / "other")
    a, b, c = (shop(name) for name in ("a.db", "b.db", "c.db"))
    for db in a, b, c:
        for text in tables:
            db.execute(text).fetchall()

    def sync(*pairs):
        for db, peer in pairs:
            db.execute("SELECT * FROM counter_sync(?)", (peer,)).fetchall()

    a.execute("INSERT INTO products VALUES ('tea', 'Tea', 1), ('jam', 'Jam', 1), ('old', 'Old', 1)")
    a.execute("INSERT INTO hits VALUES ('x', 1)")
    sync((a, "shared"), (a, "other"), (b, "shared"), (c, "other"))
    a.close()
    before = state_of("a.db")
    a = shop("a.db")
    for text in ["INSERT INTO products VALUES ('salt', 'Salt', 5)", "INSERT INTO hits VALUES ('y', 7), ('x', 10)", "DELETE FROM products WHERE sku = 'old'",
                 "UPDATE products SET stock = stock + 3 WHERE sku = 'tea'", "UPDATE products SET name = 'Marmalade' WHERE sku = 'jam'"]:
        a.execute(text)
    lines = "\n".join(line for line, in a.execute("SELECT line FROM counter_lines(0)"))
    if by == "a directory":
        sync((a, "shared"), (b, "shared"))
    else:
        b.execute("SELECT counter_take(?)", (lines,)).fetchall()
    a.close()
    set_back("a.db", before[0], {} if notices else before[1])
    a = shop("a.db")
    if by != "a directory":
        lines = "\n".join(line for line, in b.execute("SELECT line FROM counter_lines(0)"))
        a.execute("SELECT counter_take(?)", (lines,)).fetchall()
    for _ in range(3):
        sync((a, "shared"), (a, "other"), (b, "shared"), (c, "other"))
    for text in "SELECT k, n FROM hits ORDER BY k", "SELECT * FROM products WHERE sku <> 'old' ORDER BY sku":
        assert a.execute(text).fetchall() == b.execute(text).fetchall() == c.execute(text).fetchall()
    assert a.execute("SELECT sum(n) FROM hits").fetchone() == (18,)
    if by == "a directory":  # in lines of others a deletion has no author
        assert c.execute("SELECT count(*) FROM products").fetchone() == (3,)


@pytest.mark.parametrize("notices", ["restored", "forked", "unnoticed"])
def test_a_restored_file_gets_all_that_it_had_given_back_whatever_its_scope(place, notices):
    tables = ["CREATE TABLE stock(store TEXT, sku TEXT, n INTEGER NOT NULL DEFAULT 0, PRIMARY KEY(store, sku))", "SELECT counter_replicate('stock', 'n')"]
    sync, scope = "SELECT * FROM counter_sync('shared', NULL, ?)", '["store 7"]'
    a, b = shop("a.db"), shop("b.db")
    for db in a, b:
        for text in tables:
            db.execute(text).fetchall()
    a.execute("INSERT INTO stock VALUES ('store 7', 'tea', 10)")
    b.execute("INSERT INTO stock VALUES ('store 7', 'salt', 1), ('store 9', 'salt', 1)")
    a.execute(sync, (scope,)).fetchall()
    a.close()
    before = state_of("a.db")
    a = shop("a.db")
    a.execute("INSERT INTO stock VALUES ('store 8', 'tea', 3)")
    a.execute("UPDATE stock SET n = n - 2 WHERE store = 'store 7'")
    a.execute("INSERT INTO hits VALUES ('x', 5)")
    a.execute(sync, (scope,)).fetchall()
    b.execute(CALLS[0]).fetchall()
    a.close()
    set_back("a.db", before[0], {} if notices == "restored" else before[1])
    a = shop("a.db")
    if notices == "forked":
        a.execute("SELECT counter_fork()").fetchall()
    a.execute(sync, (scope,)).fetchall()
    assert a.execute("SELECT store, sku, n FROM stock ORDER BY store, sku").fetchall() == [
        ("store 7", "salt", 1), ("store 7", "tea", 8), ("store 8", "tea", 3)]
    assert content(a) == {"x": 5}


@pytest.mark.parametrize("at_one_path", [False, True])
@pytest.mark.parametrize("harm", ["", "the other is a copy", "its place is gone"])
@pytest.mark.parametrize("then", ["nothing", "a name", "a count", "many names", "a migration", "a new table", "a fork"])
def test_a_file_set_back_unnoticed_gets_back_what_one_directory_has_though_it_gives_to_another_one_first(place, then, harm, at_one_path):
    """Sticks that are mounted at one path, too."""
    shutil.copytree(place / "shared", place / "other")
    a, b = shop("a.db"), shop("b.db")

    def sync(db, *directories):
        for directory in directories:
            if at_one_path:
                pathlib.Path(directory).rename("stick")
            db.execute("SELECT * FROM counter_sync(?)", ("stick" if at_one_path else directory,)).fetchall()
            if at_one_path:
                pathlib.Path("stick").rename(directory)

    def each(*texts):
        for db in a, b:
            for text in texts:
                db.execute(text).fetchall()

    each("CREATE TABLE p(k TEXT PRIMARY KEY, name TEXT, q INTEGER NOT NULL DEFAULT 0, n INTEGER NOT NULL DEFAULT 0)", "SELECT counter_replicate('p', 'n')")
    a.execute("INSERT INTO hits VALUES ('x', 1)")
    a.execute("INSERT INTO p(k, n) VALUES ('x', 1)")
    for db in a, b:
        sync(db, "shared", "other")
    if harm == "the other is a copy":
        shutil.rmtree("other")
        shutil.copytree("shared", "other")
        sync(a, "other")
    a.close()
    before = state_of("a.db")
    a = shop("a.db")
    a.execute("INSERT INTO hits VALUES ('x', 10), ('y', 100)")
    a.execute("INSERT INTO p(k, n) VALUES ('y', 1000)")
    sync(a, "shared")
    a.close()
    set_back("a.db", *before)
    a = shop("a.db")
    a.execute({"a name": "UPDATE p SET name = 'n'", "a count": "INSERT INTO hits VALUES ('z', 1)", "a fork": "SELECT counter_fork()"}.get(then, "SELECT 1")).fetchall()
    if then == "many names":
        a.executemany("INSERT INTO p(k) VALUES (?)", [(f"{n}",) for n in range(30)])
    if then == "a migration":
        each("SELECT counter_replicate('p', 'q')")
    if then == "a new table":
        each("CREATE VIRTUAL TABLE votes USING counter(k TEXT PRIMARY KEY, n COUNTER)", "INSERT INTO votes VALUES ('x', 1)")
    if harm == "its place is gone":
        for path in pathlib.Path("shared").rglob(".place-*"):
            path.unlink()
    sync(a, "other", "shared")
    for _ in range(3):
        for db in a, b:
            sync(db, "shared", "other")
    assert content(a) == content(b) == {"x": 11, "y": 100} | ({"z": 1} if then == "a count" else {})
    for text in "SELECT k, n FROM p WHERE n > 0 ORDER BY k", "SELECT name, q FROM p ORDER BY k":
        assert a.execute(text).fetchall() == b.execute(text).fetchall()
    assert a.execute("SELECT sum(n) FROM p").fetchone() == (1001,)


def test_a_pull_writes_nothing_into_a_directory(place):
    a = shop("a.db")
    a.execute("INSERT INTO hits VALUES ('x', 1)")
    a.execute(CALLS[0]).fetchall()
    for path in (place / "shared").rglob(".place-*"):
        path.unlink()
    before = written(place)
    a.execute(CALLS[1]).fetchall()
    assert written(place) == before
    a.execute(CALLS[0]).fetchall()
    assert len(list((place / "shared").rglob(".place-*"))) == 1


def test_a_file_whose_values_are_the_oldest_yields_though_its_own_directory_has_its_former_ones(place):
    a, b = shop("a.db"), shop("b.db")
    for db, value in (a, "A"), (b, "B"):
        db.execute("CREATE TABLE s(k TEXT PRIMARY KEY, v TEXT, n INTEGER NOT NULL DEFAULT 0)")
        db.execute("INSERT INTO s VALUES ('t', ?, 5), (?, ?, 1)", (value, value, value))
        db.execute("SELECT counter_replicate('s', 'n', 'opening=same')").fetchall()
    for db in a, b, a:
        notes = [row[4] for row in db.execute(CALLS[0]) if row[4]]
    assert "call counter_replicate('s', 'values=newest') in the file whose values win, or counter_replicate('s', 'values=oldest') in the other" in notes[0]
    a.execute("SELECT counter_replicate('s', 'values=oldest')").fetchall()
    for db in a, b, a:
        assert not [row for row in db.execute(CALLS[0]) if row[4]]
    for db in a, b:
        assert db.execute("SELECT * FROM s ORDER BY k").fetchall() == [("A", "A", 1), ("B", "B", 1), ("t", "B", 5)]


def test_what_a_migration_makes_unreadable_is_given_anew_though_a_pull_came_before(place):
    a, b = give_right(connect("a.db")), give_right(connect("b.db"))

    def each(*texts):
        for db in a, b:
            for text in texts:
                db.execute(text).fetchall()

    each("CREATE TABLE p(k TEXT PRIMARY KEY, n INTEGER NOT NULL DEFAULT 0)", "SELECT counter_replicate('p', 'n')")
    a.executemany("INSERT INTO p VALUES (?, 1)", [(f"{random.random()}",) for _ in range(2000)])
    each(CALLS[0], "ALTER TABLE p ADD COLUMN name TEXT", "SELECT counter_replicate('p')", CALLS[0])
    a.execute("UPDATE p SET name = 'v' WHERE rowid <= 20")
    each(CALLS[0])
    assert len(list((place / "shared").rglob("*.gz"))) == 2
    each("SELECT counter_untrack('p', 'name')", "SELECT counter_replicate('p', 'local=name')", "ALTER TABLE p ADD COLUMN z TEXT", "SELECT counter_replicate('p')")
    a.execute("UPDATE p SET n = n + 100 WHERE rowid <= 500")
    each(CALLS[1], CALLS[2], CALLS[1], CALLS[2])
    assert [db.execute("SELECT count(*), sum(n) FROM p").fetchone() for db in (a, b)] == [(2000, 52000)] * 2


def test_counter_folder_tells_of_a_file_behind_one_that_is_missing(place):
    a, b = shop("a.db"), shop("b.db")
    for n in 400, 40, 1:  # each file is larger than all behind it, so they are not joined
        a.executemany("INSERT INTO hits VALUES (?, 1)", [(f"{random.random()}",) for _ in range(n)])
        a.execute(CALLS[0]).fetchall()
    _, second, _ = sorted((place / "shared").rglob("*.gz"))
    second.rename(place / "on its way")
    b.execute(CALLS[0]).fetchall()
    (upto, mark), = b.execute("SELECT upto, mark FROM counter_folder('shared')")
    assert mark < upto
    (place / "on its way").rename(second)
    b.execute(CALLS[0]).fetchall()
    (upto, mark), = b.execute("SELECT upto, mark FROM counter_folder('shared')")
    assert mark == upto and len(content(b)) == 441


@pytest.mark.parametrize("forks", [False, True])
def test_while_a_file_is_missing_before_another_in_the_own_directory_nothing_is_given_and_nothing_deleted(place, forks):
    def count(db, letter, n):
        db.executemany("INSERT INTO hits VALUES (?, 1)", [(f"{letter}{i} {random.random()}",) for i in range(n)])
        return db

    def give(db, refuses=False):
        return refused(db, CALLS[0]) if refuses else db.execute(CALLS[0]).fetchall()

    a = count(shop("a.db"), "A", 900)
    give(a)
    a.close()
    before_that = state_of("a.db")
    a = count(shop("a.db"), "B", 300)
    give(a)
    give(count(a, "C", 100))
    a.close()
    first, second, third = sorted((place / "shared").rglob("*.gz"))
    set_back("a.db", *before_that)
    second.rename(place / "on its way")
    a = count(shop("a.db"), "D", 1)
    text = give(a, refuses=True)
    assert f"{third.name}: the file before it is missing" in text and "nothing is given until" in text
    assert third.exists()
    if forks:  # as the message says
        assert "SELECT counter_fork() gives this file an id" in text
        a.execute("SELECT counter_fork()").fetchall()
        give(a)
        assert third.exists()
    (place / "on its way").rename(second)
    b = shop("b.db")
    for db in a, b, a, b:
        give(db)
    assert len(content(a)) == 1301 and content(a) == content(b)


REPLICATES = ["SELECT counter_replicate('products', 'stock')"]
KINDS = {  # of a column or table, before and after
    "a tracked table": ("SELECT counter_track('products', 'stock')", REPLICATES),
    "a column that stays": (*REPLICATES, ["SELECT counter_untrack('products', 'name')", "SELECT counter_replicate('products', 'local=name')",
                                          "CREATE TABLE extra(k TEXT PRIMARY KEY)", "SELECT counter_replicate('extra')"])}


@pytest.mark.parametrize("rows", [1, 3000])
@pytest.mark.parametrize("pulls_first", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_what_a_file_gave_before_a_migration_that_makes_it_unreadable_is_given_anew(place, kind, pulls_first, rows):
    before, migration = KINDS[kind]
    a = give_right(connect("a.db"))
    a.execute("CREATE TABLE products(sku TEXT PRIMARY KEY, name TEXT, stock INTEGER NOT NULL DEFAULT 0)")
    a.executemany("INSERT INTO products VALUES (?, 'x', 10)", [(f"{random.random()}",) for _ in range(rows)])
    a.execute(before).fetchall()
    a.execute("VACUUM INTO 'b.db'")
    b = give_right(connect("b.db"))

    def sync(*texts):
        return [row[-1] for text in texts or CALLS[:1] for db in (a, b) for row in db.execute(text).fetchall()]

    for db in a, b:
        db.execute("UPDATE products SET stock = stock + 1")
    sync()
    assert set(sync()) <= {None}
    for db in a, b:
        for sql in migration:
            db.execute(sql).fetchall()
    if pulls_first:
        sync(CALLS[1], CALLS[1])
    a.execute("UPDATE products SET stock = stock + 100 WHERE rowid % 3 = 1")
    for _ in range(3):
        sync()
    assert set(sync()) <= {None}
    b.execute("UPDATE products SET stock = stock + 1000 WHERE rowid % 3 = 1")
    for _ in range(2):
        sync()
    expected = 12 * rows + 1100 * ((rows + 2) // 3)
    assert [db.execute("SELECT sum(stock) FROM products").fetchone() for db in (a, b)] == [(expected,)] * 2
    assert a.execute("SELECT count(*) FROM counter_tracked WHERE row_key IS NOT NULL").fetchone() == (0,)


CHANGED = {**KINDS, "a column that stays, and no new table": (*REPLICATES, KINDS["a column that stays"][1][:2]),
           "a column that counts now": (*REPLICATES, ["SELECT counter_replicate('products', 'stock', 'sold')"])}


@pytest.mark.parametrize("gives", ["after a write", "at once"])
@pytest.mark.parametrize("kind", CHANGED)
def test_a_device_that_joins_after_a_migration_gets_all_from_each_of_two_directories(place, kind, gives):
    before, migration = CHANGED[kind]
    create = "CREATE TABLE products(sku TEXT PRIMARY KEY, name TEXT, sold INTEGER NOT NULL DEFAULT 0, stock INTEGER NOT NULL DEFAULT 0)"
    columns = "'sold', 'stock'" if "counts now" in kind else "'stock'"
    local = ", 'local=name'" if "stays" in kind else ""
    a = give_right(connect("a.db"))
    a.execute(create)
    a.execute(before).fetchall()
    a.executemany("INSERT INTO products VALUES (?, 'x', 7, 10)", [(f"{random.random()}",) for _ in range(300)])
    shutil.copytree(place / "shared", place / "other")

    def sync(db):
        return [row[4] for peer in ("shared", "other") for row in db.execute(f"SELECT * FROM counter_sync('{peer}')").fetchall()]

    assert sync(a) == [None, None]
    a.execute("UPDATE products SET stock = stock + 1 WHERE rowid < 5")
    assert sync(a) == [None, None]
    for sql in migration:
        a.execute(sql).fetchall()
    if gives == "after a write":
        a.execute("UPDATE products SET stock = stock + 100 WHERE rowid < 5")
    assert sync(a) == [None, None]
    assert sync(a) == []
    for directory in ("shared", "other"):
        c = give_right(connect(f"{directory}.db"))
        c.execute(create)
        if "CREATE TABLE extra" in str(migration):
            c.execute("CREATE TABLE extra(k TEXT PRIMARY KEY)")
            c.execute("SELECT counter_replicate('extra')").fetchall()
        c.execute(f"SELECT counter_replicate('products', {columns}{local})").fetchall()
        assert [row[4] for row in c.execute(f"SELECT * FROM counter_pull('{directory}')")] == [None]
        for total in "count(*)", "sum(stock)", "sum(sold)":
            text = f"SELECT {total} FROM products"
            assert c.execute(text).fetchone() == a.execute(text).fetchone()


def test_a_deletion_that_waits_is_tried_by_each_pull_though_nothing_has_come(place):
    devices = [give_right(connect(name)) for name in ("a.db", "b.db")]
    for db in devices:
        db.executescript("""CREATE TABLE customers(id TEXT PRIMARY KEY NOT NULL);
            CREATE TABLE orders(id TEXT PRIMARY KEY NOT NULL, customer TEXT REFERENCES customers(id))""")
        for table in "customers", "orders":
            db.execute(f"SELECT counter_replicate('{table}')").fetchall()
    a, b = devices
    a.execute("INSERT INTO customers VALUES ('ann')")
    for db in a, b:
        db.execute(CALLS[0]).fetchall()
    b.execute("DELETE FROM customers")
    a.execute("INSERT INTO orders VALUES ('1', 'ann')")
    for db in b, a:
        db.execute(CALLS[0]).fetchall()
    customers = "SELECT count(*) FROM customers"
    assert a.execute(customers).fetchone() == (1,)
    a.execute("UPDATE orders SET customer = NULL")
    assert a.execute(customers).fetchone() == (1,)
    assert a.execute(CALLS[1]).fetchall() == []
    assert a.execute(customers).fetchone() == (0,)


MERGING = """CREATE TABLE t(id INTEGER PRIMARY KEY AUTOINCREMENT, v TEXT UNIQUE, n INTEGER NOT NULL DEFAULT 0);
CREATE TABLE part(id INTEGER PRIMARY KEY AUTOINCREMENT, t INTEGER REFERENCES t(id));
CREATE TABLE audit(what, v, merging);
CREATE TRIGGER i AFTER INSERT ON t BEGIN INSERT INTO audit VALUES ('insert', NEW.v, counter_merging()); END;
CREATE TRIGGER u BEFORE UPDATE ON t BEGIN INSERT INTO audit VALUES ('update', NEW.v, counter_merging()); END;
CREATE TRIGGER d AFTER DELETE ON t BEGIN INSERT INTO audit VALUES ('delete', OLD.v, counter_merging()); END;
CREATE TRIGGER p AFTER INSERT ON part BEGIN INSERT INTO audit VALUES ('part', NEW.t > 0, counter_merging()); END"""


def by_lines(a, b):
    lines = "\n".join(line for line, in b.execute("SELECT line FROM counter_lines(0)"))
    a.execute("SELECT counter_take(?)", (lines,)).fetchall()


def by_rows(a, b):
    for row in b.execute("SELECT table_name, key, change, seq, source FROM counter_changes(0)").fetchall():
        a.execute("INSERT INTO counter_changes(table_name, key, change, seq, source) VALUES (?, ?, ?, ?, ?)", row)
    a.execute("SELECT counter_seen(counter_id(), 0, 0)").fetchall()


def by_directory(a, b):
    b.execute(CALLS[2]).fetchall()
    a.execute(CALLS[1]).fetchall()


@pytest.mark.parametrize("merge", [by_lines, by_rows, by_directory])
def test_a_trigger_knows_that_a_merge_writes_however_the_changes_come(place, merge):
    a = give_right(connect("a.db"))
    a.executescript(MERGING)
    a.execute("SELECT counter_replicate('t', 'n', 'keys=spread'), counter_replicate('part', 'keys=spread')").fetchall()
    a.execute("INSERT INTO t(v, n) VALUES ('tea', 1), ('jam', 2)")
    a.execute("VACUUM INTO 'b.db'")
    b = give_right(connect("b.db"))
    b.execute("UPDATE t SET n = n + 5 WHERE v = 'tea'")
    b.execute("DELETE FROM t WHERE v = 'jam'")
    b.execute("INSERT INTO t(v) VALUES ('jam')")  # which one that is deleted last keeps out at first
    b.execute("INSERT INTO part(t) SELECT id FROM t WHERE v = 'jam'")
    for db in a, b:
        db.execute("INSERT INTO t(id, v) VALUES (?, ?)", (2**45, "met" if db is a else "first"))
        time.sleep(.005)  # the row of a is born before that of b
    a.execute("DELETE FROM audit")
    merge(a, b)
    merge(a, b)
    assert set(a.execute("SELECT * FROM audit")) == {("insert", "jam", 1), ("delete", "jam", 1), ("update", "tea", 1), ("part", 1, 1)}
    b.execute("DELETE FROM audit")
    merge(b, a)
    assert {row for row in b.execute("SELECT * FROM audit") if row[1] != "jam"} == {("update", "met", 1), ("insert", "first", 1)}
    b.execute("UPDATE t SET n = n + 1 WHERE v = 'tea'")
    assert b.execute("SELECT * FROM audit ORDER BY rowid DESC LIMIT 1").fetchall() == [("update", "tea", 0)]
