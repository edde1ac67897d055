"""test_refusing.py - rows that a table refuses by whatever error: they wait or differ, counter_tracked names the reason, and
everything else is merged."""

import sqlite3

import pytest

from files import connect
from test_tracked import rows

BAD = '{"a": 9' + "x" * 20

# What refuses the row of the key 'bad', and the reason: the words of SQLite, and the row that stands in its way.
REFUSING = {
    "UNIQUE": ("", "CREATE UNIQUE INDEX u ON t(v)", f"UNIQUE constraint failed: t.v: the row ('mine') has v '{BAD}'"),
    "CHECK": (", CONSTRAINT short CHECK (length(v) < 20)", "", "CHECK constraint failed: short"),
    "NOT NULL": (", here TEXT NOT NULL DEFAULT (nullif(1, 1))", "", "NOT NULL constraint failed: t.here"),
    "a trigger": ("", "CREATE TRIGGER no BEFORE INSERT ON t WHEN NEW.v LIKE '%x' BEGIN SELECT RAISE(ABORT, 'not such a one'); END",
                  "not such a one"),
    "a foreign key": (", FOREIGN KEY (v) REFERENCES parent(id)", "",
                      f"FOREIGN KEY constraint failed: parent has no row with id = '{BAD}'"),
    "an index on an expression": ("", "CREATE INDEX i ON t(json_extract(v, '$.a'))", "malformed JSON"),
    "a generated column": (", g AS (json_extract(v, '$.a')) STORED", "", "malformed JSON"),
    "CHECK of an expression": (", CHECK (json_extract(v, '$.a') IS NOT 1)", "", "malformed JSON"),
    "an overflow": ("", "CREATE TRIGGER no AFTER INSERT ON t WHEN NEW.k = 'bad' BEGIN "
                    "SELECT abs(-9223372036854775807 - 1); END", "integer overflow"),
}


@pytest.mark.parametrize("way", ["pull", "push", "feed"])
@pytest.mark.parametrize("function, why", [("counter_replicate", why) for why in REFUSING] +
                         [("counter_track", why) for why in ("an overflow", "NOT NULL")])  # others need a regular value
def test_a_row_that_the_table_refuses_waits_for_a_reason(tmp_path, why, way, function):
    """The other rows are shown, and so is this one when the table takes it."""
    one, two = connect(tmp_path / "a.db"), connect(tmp_path / "b.db")
    inside, behind, words = REFUSING[why]
    for db in one, two:
        db.execute("PRAGMA foreign_keys = ON")
        db.execute("CREATE TABLE parent(id TEXT PRIMARY KEY)")
        here = db is two
        rows(db, f"CREATE TABLE t(k TEXT PRIMARY KEY NOT NULL, v TEXT, n INTEGER{inside if here else ''})")
        if here and behind:
            rows(db, behind)
        rows(db, f"SELECT {function}('t', 'n')")
    good = [] if why in ("NOT NULL", "a foreign key") else [("a", '{"a": 2}', 1), ("z", '{"a": 3}', 2)]
    if why == "UNIQUE":
        rows(two, "INSERT INTO t VALUES ('mine', ?, 0)", BAD)
    for row in [*good, ("bad", BAD, 5)]:
        one.execute("INSERT INTO t VALUES (?, ?, ?)", row)

    def merge():
        if way == "pull":
            rows(two, "SELECT * FROM counter_pull(?)", str(tmp_path / "a.db"))
        elif way == "push":
            one.execute("ATTACH ? AS other", (str(tmp_path / "b.db"),))
            rows(one, "SELECT * FROM counter_push('other')")
            one.execute("DETACH other")
        else:
            for row in rows(one, "SELECT table_name, key, change, seq, source FROM counter_changes(0)"):
                two.execute("INSERT INTO counter_changes(table_name, key, change, seq, source) VALUES (?, ?, ?, ?, ?)", row[:5])
            rows(two, "SELECT counter_seen(counter_id(), 0, 0)")

    for _ in range(2):
        merge()
        shown = rows(two, "SELECT k, n FROM t WHERE k <> 'mine' ORDER BY k")
        assert shown == [(k, n) for k, _, n in good]
        listed = rows(two, "SELECT state, row_key, column_name, merged, why FROM counter_tracked WHERE row_key IS NOT NULL")
        assert {(state, key) for state, key, *_ in listed} == {("waits", "('bad')")}
        assert ("waits", "('bad')", "n", 5, words) in listed
        if function == "counter_replicate":
            assert ("waits", "('bad')", "v", BAD, words) in listed
    if why in ("NOT NULL", "CHECK", "a foreign key", "a generated column", "CHECK of an expression"):
        return
    for name in "no", "i", "u":
        two.execute(f"DROP TRIGGER IF EXISTS {name}")
        two.execute(f"DROP INDEX IF EXISTS {name}")
    if why == "UNIQUE":
        rows(two, f"SELECT {function}('t')")  # its triggers depend on the index
    merge()
    assert rows(two, "SELECT k, n FROM t WHERE k = 'bad'") == [("bad", 5)]
    assert rows(two, "SELECT * FROM counter_tracked WHERE row_key IS NOT NULL") == []
    assert rows(two, "SELECT count(*) FROM counter_state WHERE kind = 'apart'") == [(0,)]


@pytest.mark.parametrize("way", ["pull", "feed"])
def test_a_value_that_the_table_refuses_differs_for_a_reason(tmp_path, way):
    one, two = connect(tmp_path / "a.db"), connect(tmp_path / "b.db")
    for db in one, two:
        check = ", CHECK (stock >= 0)" if db is two else ""
        rows(db, f"CREATE TABLE t(k TEXT PRIMARY KEY NOT NULL, data TEXT, stock INTEGER{check})")
        if db is two:
            db.execute("CREATE INDEX i ON t(json_extract(data, '$.a') + 0)")
        rows(db, "SELECT counter_replicate('t', 'stock')")
    one.execute("INSERT INTO t VALUES ('tea', '{}', 1), ('jam', '{}', 1)")
    merge(one, two, tmp_path, way)
    assert rows(two, "SELECT * FROM counter_tracked WHERE row_key IS NOT NULL") == []
    one.execute("UPDATE t SET stock = -1 WHERE k = 'tea'")
    one.execute("UPDATE t SET data = 'no json' WHERE k = 'jam'")
    merge(one, two, tmp_path, way)
    listed = rows(two, "SELECT state, row_key, column_name, shown, merged, why FROM counter_tracked WHERE row_key IS NOT NULL")
    assert sorted(listed) == [("differs", "('jam')", "data", "{}", "no json", "malformed JSON"),
                              ("differs", "('tea')", "stock", 1, -1, "CHECK constraint failed: stock >= 0")]
    one.execute("UPDATE t SET stock = 3, data = '[]'")
    merge(one, two, tmp_path, way)
    assert rows(two, "SELECT * FROM t ORDER BY k") == [("jam", "[]", 3), ("tea", "[]", 3)]
    assert rows(two, "SELECT count(*) FROM counter_state WHERE kind = 'apart'") == [(0,)]


def merge(one, two, tmp_path, way):
    if way == "pull":
        rows(two, "SELECT * FROM counter_pull(?)", str(tmp_path / "a.db"))
        return
    for row in rows(one, "SELECT table_name, key, change, seq, source FROM counter_changes(0)"):
        two.execute("INSERT INTO counter_changes(table_name, key, change, seq, source) VALUES (?, ?, ?, ?, ?)", row[:5])
    rows(two, "SELECT counter_seen(counter_id(), 0, 0)")


@pytest.mark.parametrize("way", ["pull", "feed"])
@pytest.mark.parametrize("event", ["INSERT", "UPDATE", "DELETE"])
def test_a_trigger_that_names_a_missing_table_makes_rows_wait(tmp_path, event, way):
    """SQLite refuses to prepare such a statement, as it does for the application."""
    one, two = connect(tmp_path / "a.db"), connect(tmp_path / "b.db")
    for db in one, two:
        rows(db, "CREATE TABLE t(k TEXT PRIMARY KEY NOT NULL, v TEXT, n INTEGER)")
        rows(db, "CREATE TABLE u(k TEXT PRIMARY KEY NOT NULL, v TEXT)")
        rows(db, "SELECT counter_replicate('t', 'n'), counter_replicate('u')")
    one.execute("INSERT INTO t VALUES ('x', 'x', 1)")
    merge(one, two, tmp_path, way)
    two.execute(f"CREATE TRIGGER logs AFTER {event} ON t BEGIN INSERT INTO log VALUES (1); END")
    one.execute("UPDATE t SET v = 'y', n = 2" if event == "UPDATE" else "DELETE FROM t" if event == "DELETE" else
                "INSERT INTO t VALUES ('z', 'z', 7)")
    one.execute("INSERT INTO u VALUES ('u', 'u')")
    for _ in range(2):
        merge(one, two, tmp_path, way)
        assert rows(two, "SELECT * FROM u") == [("u", "u")]
        assert rows(two, "SELECT * FROM t") == [("x", "x", 1)]
        reasons = rows(two, "SELECT DISTINCT why FROM counter_tracked WHERE row_key IS NOT NULL")
        assert reasons == [("no such table: main.log",)]
    rows(two, "CREATE TABLE log(n)")
    merge(one, two, tmp_path, way)
    assert rows(two, "SELECT * FROM t") == rows(one, "SELECT * FROM t")


@pytest.mark.parametrize("way", ["pull", "feed"])
def test_a_lock_and_a_full_file_stay_errors_of_the_merge(tmp_path, way):
    one, two = connect(tmp_path / "a.db"), connect(tmp_path / "b.db")
    for db in one, two:
        rows(db, "CREATE TABLE t(k TEXT PRIMARY KEY NOT NULL, v TEXT)")
        rows(db, "SELECT counter_replicate('t')")
    one.execute("INSERT INTO t VALUES ('x', zeroblob(100000))")
    pages, = rows(two, "PRAGMA page_count")[0]
    two.execute(f"PRAGMA max_page_count = {pages + 5}")
    with pytest.raises(sqlite3.Error, match="full"):
        merge(one, two, tmp_path, way)
    assert rows(two, "SELECT count(*) FROM t_counters") == [(0,)]
    two.execute("PRAGMA max_page_count = 100000")
    merge(one, two, tmp_path, way)
    assert rows(two, "SELECT k FROM t") == [("x",)]
