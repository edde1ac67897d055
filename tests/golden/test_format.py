"""test_format.py - a file that was written in the present format stays readable; newer ones are refused whole, and so
are formats that were never released.

format3.db and bounded3.db were written by `make` beside this file, and stay as they are; the others during development, in
formats that were never released.
"""
import pathlib
import shutil
import sqlite3
import subprocess

import pytest

HERE = pathlib.Path(__file__).resolve().parent
EXTENSION = str(HERE.parents[1] / "build" / "counter")
VIEWS = [("/", 12, 331, 77, 2), ("/a", 12, 9, 0, None), ("/c", 15, -7, 0, 0), ("/d", 15, 6, 0, 0)]
THINGS = [(-2**63, 1), ("it's", 3), (b"\x00\xff", 4), ("zero", 2**63 - 1), ("Tea", 4)]
DIGESTS = ("56188c4e-6050-50b5-9da8-2d54d70199d5", "1482324b-4a6d-5ccf-9f3e-9aee8f250029")
MAIN, EAST = "9b39dc4c-8ea0-3144-b740-42f17abae090", "03e11928-372f-3ca6-a88c-0ecc5f255f4c"
UNRELEASED = "the file is of format {}, which was never released: this library knows format 3"
LACKS = "counter_replica lacks a column: the file is damaged, or of a version that was never released"
BEFORE_3 = ["format1", "format2", "unreleased3", "format1001"]
NEWER = "the file was written by a newer version: format 4, this library knows 3; install a newer sqlite-counter"
LEVELS = [(1, 10), (2, 3), (3, 9223372036854775008), (4, -3), *((k, k) for k in range(5, 41)), (41, 1)]


def connect(path):
    db = sqlite3.connect(path, isolation_level=None)
    db.enable_load_extension(True)
    db.load_extension(EXTENSION)
    return db


def ask(db, sql, *values):
    return db.execute(sql, values).fetchall()


def digests(db, schema="main"):
    return ask(db, "SELECT counter_table_digest('page_views', ?1), counter_table_digest('things', ?1)", schema)[0]


def check(db):
    for table in "page_views", "things", "levels":
        ask(db, f"INSERT INTO {table}({table}) VALUES ('integrity-check')")
    assert ask(db, "PRAGMA integrity_check") == [("ok",)]


@pytest.fixture
def path(tmp_path):
    return pathlib.Path(shutil.copyfile(HERE / "format3.db", tmp_path / "it.db"))


def test_everything_that_was_counted_is_there(path):
    db = connect(path)
    check(db)
    assert ask(db, "SELECT * FROM page_views") == VIEWS
    assert sorted(ask(db, "SELECT * FROM things"), key=repr) == sorted(THINGS, key=repr)
    assert digests(db) == DIGESTS
    assert ask(db, "SELECT * FROM levels") == LEVELS
    assert ask(db, "SELECT path, counter_value(views), counter_is_deleted(views) FROM page") == [("/", 5, 0), ("/deleted", None, 1)]


def test_everything_else_that_is_stored_is_there(path):
    db = connect(path)
    assert ask(db, "SELECT counter_id()") == [(MAIN,)]
    assert ask(db, "SELECT name FROM counter_identity() WHERE state = 'current'") == [("golden:main",)]
    assert ask(db, "SELECT s.id, clock, value FROM counter_cells('things') AS c, counter_shards(c.cell) AS s "
               "WHERE key = '[\"Tea\"]'") == [(EAST, 1, 4)]
    assert ask(db, "SELECT * FROM counter_floors('page_views')") == [("hour", 10)]
    assert ask(db, "SELECT rows FROM counter_purge('page_views')") == [(1,)]
    assert ask(db, "SELECT name, value FROM counter_state WHERE kind = 'counter' ORDER BY name") == [("bytes", 3), ("errors", 1)]
    assert ask(db, "SELECT rows, live, deleted FROM counter_size('page_views')") == [(6, 4, 2)]
    assert ask(db, "SELECT id, text FROM counter_requests ORDER BY number") == [
        ("order 4711", "'/c', 15: hits 1"), (b"\x00\xff", "reset of '/d', 15: hits 6")]
    assert [conflict[1:] for conflict in ask(db, "SELECT * FROM counter_conflicts")] == [
        ("things", "('tea')", "n", EAST, 1, 3, 1, 4, "values")]
    assert ask(db, "SELECT count(*) FROM counter_peers") == [(6,)]


def test_a_table_whose_keys_sqlite_gives_out_is_there(path):
    """Births, those of deleted rows, too; the place, and a column that stays."""
    db = connect(path)
    assert ask(db, "SELECT * FROM orders ORDER BY id") == [(1, "tea", 3, "counted"), (2**40, "jam", 3, "counted")]
    assert ask(db, "SELECT column_name, state FROM counter_tracked") == [
        ("pieces", "tracked"), ("item", "regular"), ("notes", "local"), ("id", "spread")]
    births = ask(db, "SELECT counter_key_json(key), json_extract(counter_change_json(change), '$.row.birth.id')"
                 " FROM counter_changes(0) WHERE table_name = 'orders'")
    assert sorted(births) == [("[1099511627776]", MAIN), ("[1099511627777]", MAIN), ("[1]", None)]
    ask(db, "SELECT counter_fork()")
    ask(db, "INSERT INTO orders(item) VALUES ('rice')")
    assert ask(db, "SELECT id > 1099511627778, pieces FROM orders WHERE item = 'rice'") == [(1, 1)]


def test_rights_to_bounded_counters_are_there_and_a_copy_has_none(tmp_path):
    db = connect(shutil.copyfile(HERE / "bounded3.db", tmp_path / "bounded.db"))
    maker, = ask(db, "SELECT counter_id()")[0]
    assert set(ask(db, "SELECT key, id, rights FROM counter_rights('seats')")) == {
        ('["A"]', maker, 5), ('["A"]', "11111111-1111-4111-8111-111111111111", 4)}
    assert set(ask(db, "SELECT key, id, rights FROM counter_rights('credits')")) == {
        ('["ann"]', maker, 4), ('["ann"]', "00000000-0000-0000-0000-000000000000", 1)}
    with pytest.raises(sqlite3.IntegrityError, match="this file may take none of the 9: as a copy it has none of its own"):
        ask(db, "UPDATE seats SET free = free - 1")
    ask(db, "UPDATE seats SET free = free + 1")
    ask(db, "UPDATE seats SET free = free - 1")
    assert ask(db, "PRAGMA integrity_check") == [("ok",)]


def test_what_is_in_the_journal_is_there(path):
    """Segments of two levels, amounts that no cell has, and what has changed since each number."""
    db = connect(path)
    table, = ask(db, "SELECT number FROM counter_tables WHERE name = 'levels'")[0]
    assert ask(db, "SELECT level, count(*) FROM counter_segments WHERE tab = ? GROUP BY level", table) == [(1, 2), (2, 1)]
    assert ask(db, "SELECT count(*) FROM counter_journal WHERE tabs >> ? & 1", table) == [(3,)]
    assert ask(db, "SELECT total(counter_value(n)) < (SELECT total(n) FROM levels) FROM levels_cells") == [(1,)]
    numbers = [0] + [n for n, in ask(
        db, "SELECT number FROM counter_segments WHERE tab = ?1 UNION SELECT _seq FROM counter_journal WHERE tabs >> ?1 & 1", table)]
    changed = [{key for key, in ask(db, "SELECT json_extract(counter_key_json(key), '$[0]') FROM counter_changes(?) "
                                    "WHERE table_name = 'levels'", number)} for number in numbers]
    assert changed == [{*range(1, 42)}, {1, 2, 3, 4, 41}, {1, 2, 3, 4, 41}, {2, 3, 4, 41}, {3, 4, 41}, {3, 4, 41}, {3}]
    for table in "page_views", "things", "levels":
        ask(db, f"INSERT INTO {table}({table}) VALUES ('optimize')")
    check(db)
    assert (ask(db, "SELECT * FROM page_views"), ask(db, "SELECT * FROM levels")) == (VIEWS, LEVELS)
    assert digests(db) == DIGESTS


def refused(db, sql, *values):
    with pytest.raises(sqlite3.Error) as error:
        ask(db, sql, *values)
    return str(error.value)


def test_requests_floors_and_tombstones_still_hold(path):
    db = connect(path)
    # The file is a copy of one that counts under a name.
    assert "does not count" in refused(db, "INSERT INTO page_views(path, hour, hits) VALUES ('/', 12, 1)")
    assert ask(db, "SELECT length(counter_fork())") == [(36,)]
    again = "INSERT INTO page_views(path, hour, hits, request_id) VALUES ('/c', 15, ?, 'order 4711')"
    ask(db, again, 1)
    assert "was taken before for '/c', 15: hits 1" in refused(db, again, 2)
    ask(db, "INSERT INTO page_views(page_views, path, hour, hits, request_id) VALUES ('reset', '/d', 15, 6, x'00ff')")
    assert "below a floor" in refused(db, "INSERT INTO page_views(path, hour, hits) VALUES ('/old', 2, 1)")
    assert ask(db, "SELECT * FROM page_views") == VIEWS
    ask(db, "INSERT INTO page_views(path, hour, hits) VALUES ('/b', 13, 1)")
    ask(db, "INSERT INTO things VALUES (2.5, 1)")
    for table, column, key in ("page_views", "hits", '["/b",13]'), ("things", "n", "[2.5]"):
        assert ask(db, "SELECT counter_json(cell) LIKE '{\"life\":3,%' FROM counter_cells(?) WHERE column_name = ? AND key = ?",
                   table, column, key) == [(1,)]


def test_it_is_counted_in(path):
    db = connect(path)
    ask(db, "SELECT counter_fork()")
    ask(db, "INSERT INTO page_views VALUES ('/', 12, 1000, 0, 5), ('/new', 20, 1, NULL, NULL)")
    ask(db, "UPDATE things SET n = n - 7 WHERE what = 'zero'")
    ask(db, "INSERT INTO page_views(page_views) VALUES ('drop column errors')")
    db.close()
    db = connect(path)
    check(db)
    assert ask(db, "SELECT * FROM page_views") == [("/", 12, 1331, 77), *((*row[:4],) for row in VIEWS[1:]), ("/new", 20, 1, 0)]
    assert ask(db, "SELECT n FROM things WHERE what = 'zero'") == [(2**63 - 8,)]


def with_orders(path):
    """A file that has the ordinary table, which no merge makes."""
    db = connect(path)
    ask(db, "CREATE TABLE orders(id INTEGER PRIMARY KEY AUTOINCREMENT, item TEXT, pieces INTEGER NOT NULL DEFAULT 1, notes TEXT)")
    ask(db, "SELECT counter_replicate('orders', 'pieces', 'keys=spread', 'local=notes')")
    return db


def test_it_is_pulled_from_by_path_and_attached_and_stays_as_it_is(path, tmp_path):
    before = path.read_bytes()
    for name, way in ("path", str(path)), ("schema", "it"):
        db = with_orders(tmp_path / f"{name}.db")
        ask(db, "ATTACH ? AS it", str(path))
        assert {name for name, *_ in ask(db, "SELECT * FROM counter_pull(?)", way)} == {"page_views", "things", "levels", "orders"}
        assert ask(db, "SELECT * FROM orders ORDER BY id") == [(1, "tea", 3, None), (2**40, "jam", 3, None)]
        assert digests(db) == DIGESTS
        assert ask(db, "SELECT * FROM page_views") == VIEWS
        check(db)
        db.close()
    assert path.read_bytes() == before


def test_it_pulls_what_others_have_counted(path, tmp_path):
    other = with_orders(tmp_path / "other.db")
    ask(other, "SELECT * FROM counter_pull(?)", str(path))
    ask(other, "INSERT INTO page_views(path, hour, hits) VALUES ('/', 12, 1000), ('/new', 20, 1)")
    ask(other, "DELETE FROM things WHERE what = 'zero'")
    db = connect(path)
    assert ask(db, "SELECT table_name, rows_changed, conflicts FROM counter_pull(?)", str(tmp_path / "other.db")) == [
        ("levels", 0, 0), ("orders", 0, 0), ("page_views", 2, 0), ("things", 1, 0)]
    assert ask(db, "SELECT * FROM page_views") == [("/", 12, 1331, 77, 2), *VIEWS[1:], ("/new", 20, 1, 0, 0)]
    assert ask(db, "SELECT * FROM things WHERE what = 'zero'") == []
    assert digests(db) == digests(other)
    check(db)


def test_the_script_still_writes_the_same(tmp_path):
    subprocess.run([HERE / "make", tmp_path], check=True)
    db = connect(tmp_path / "format3.db")
    assert digests(db) == DIGESTS
    assert ask(db, "SELECT * FROM page_views") == VIEWS
    assert ask(db, "SELECT * FROM levels") == LEVELS
    ask(db, "INSERT INTO page_views(path, hour, hits) VALUES ('/', 12, 1)")


# ---- other formats ----

@pytest.fixture(params=[*BEFORE_3, 1002, 1003, 1004, 1005, 1006, "newer"])
def strange(request, path):
    """A file of another format, and the sentence."""
    if request.param in BEFORE_3:
        shutil.copyfile(HERE / f"{request.param}.db", path)
        return path, LACKS
    if request.param != "newer":
        shutil.copyfile(HERE / f"format{request.param}.db", path)
        return path, UNRELEASED.format(request.param)
    plain = sqlite3.connect(path)
    plain.execute("UPDATE counter_replica SET format = 4")
    plain.commit()
    plain.close()
    return path, NEWER


@pytest.mark.parametrize("sql, where", [
    ("SELECT * FROM page_views", "page_views: "),
    ("SELECT n FROM things WHERE what = 'tea'", "things: "),
    ("INSERT INTO page_views(path, hour, hits) VALUES ('/', 12, 1)", "page_views: "),
    ("UPDATE things SET n = n + 1", "things: "),
    ("DELETE FROM things", "things: "),
    ("ALTER TABLE things RENAME TO others", "things: "),
    ("INSERT INTO page_views(page_views) VALUES ('integrity-check')", "page_views: "),
    ("INSERT INTO page_views(page_views) VALUES ('optimize')", "page_views: "),
    ("SELECT * FROM counter_cells('page_views')", "counter_cells: "),
    ("CREATE VIRTUAL TABLE more USING counter(k PRIMARY KEY, n COUNTER)", "more: "),
    ("SELECT counter_add('page_views', 'hits', 1, '/', 12)", "counter_add: page_views: "),
    ("UPDATE page SET views = counter_inc(views)", "counter_inc: "),
    ("SELECT counter_id()", "counter_id: "),
    ("SELECT counter_init()", "counter_init: "),
    ("SELECT counter_fork()", "counter_fork: "),
    ("SELECT * FROM counter_identity()", "counter_identity: "),
    ("SELECT counter_table_digest('things')", "counter_table_digest: "),
    ("SELECT * FROM counter_floors('page_views')", "counter_floors: "),
    ("SELECT * FROM counter_size('page_views')", "counter_size: "),
    ("SELECT * FROM counter_changes(0)", "counter_changes: the giving file: "),
    ("SELECT * FROM counter_pull('other.db')", "counter_pull: the taking file: "),
])
def test_a_file_of_another_format_is_refused_by_a_sentence_and_not_changed(strange, tmp_path, monkeypatch, sql, where):
    strange, sentence = strange
    monkeypatch.chdir(tmp_path)
    shutil.copyfile(HERE / "format3.db", "other.db")
    before = strange.read_bytes()
    db = connect(strange)
    assert refused(db, sql) == where + sentence
    db.close()
    assert strange.read_bytes() == before


def test_a_table_of_another_format_is_not_dropped(strange):
    """SQLite does not fetch what a table has to say that is to be dropped."""
    strange, _ = strange
    before = strange.read_bytes()
    db = connect(strange)
    assert refused(db, "DROP TABLE things") == "attempt to write a readonly database"
    db.close()
    assert strange.read_bytes() == before


@pytest.mark.parametrize("sql, side", [
    ("SELECT * FROM counter_pull('strange')", "counter_pull: the giving file"),
    ("SELECT * FROM counter_pull('it.db')", "counter_pull: the giving file"),
    ("SELECT * FROM counter_push('strange')", "counter_push: the taking file"),
    ("SELECT * FROM counter_sync('strange')", "counter_sync: the giving file"),
])
def test_a_file_of_another_format_neither_gives_nor_takes_and_neither_side_is_changed(
        strange, tmp_path, monkeypatch, sql, side):
    strange, sentence = strange
    monkeypatch.chdir(tmp_path)
    other = tmp_path / "other.db"
    db = connect(other)
    ask(db, "CREATE VIRTUAL TABLE things USING counter(what COLLATE NOCASE PRIMARY KEY, n COUNTER)")
    ask(db, "INSERT INTO things VALUES ('tea', 1)")
    ask(db, "ATTACH 'it.db' AS strange")
    before = strange.read_bytes(), digests_of_things(db)
    assert refused(db, sql) == f"{side}: {sentence}"
    assert (strange.read_bytes(), digests_of_things(db)) == before
    assert refused(db, "SELECT * FROM strange.things") == f"things: {sentence}"


def digests_of_things(db):
    return ask(db, "SELECT counter_table_digest('things')"), ask(db, "SELECT count(*) FROM sqlite_master")
