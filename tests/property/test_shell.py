"""test_shell.py - a file that is made anew from what the shell prints of another, by .schema, .dump or .clone, is a
replica like any other: it counts under an id of its own, and both agree after a sync."""

import sqlite3
import subprocess

import pytest

from files import EXTENSION, connect

FIRST = {
    "table": [],
    "id first": ["SELECT counter_init()"],
    "name first": ["SELECT counter_init('dc1:rack1')"],
    "ordinary table first": ["CREATE TABLE plain(x INTEGER PRIMARY KEY, y)", "INSERT INTO plain VALUES (1, 2)"],
}
THEN = [
    "CREATE VIRTUAL TABLE page_views USING counter(path TEXT NOT NULL, hour INTEGER, hits COUNTER NOT NULL DEFAULT 0, "
    "PRIMARY KEY (path, hour))",
    "CREATE VIRTUAL TABLE \"the \"\"votes\"\" of 'all'\" USING counter(topic COLLATE NOCASE PRIMARY KEY, up COUNTER)",
    "INSERT INTO page_views VALUES ('/', 12, 5), ('/a', 13, 6), ('/old', 1, 7)",
    "INSERT INTO page_views(page_views) VALUES ('add column errors')",
    "INSERT INTO page_views(page_views) VALUES ('add column gone')",
    "UPDATE page_views SET errors = 2, gone = 3",
    "INSERT INTO page_views(page_views) VALUES ('drop column gone')",
    "INSERT INTO page_views(page_views, hour) VALUES ('purge below', 10)",
    "INSERT INTO \"the \"\"votes\"\" of 'all'\" VALUES ('tea', 9)",
]
RENAME = "ALTER TABLE \"the \"\"votes\"\" of 'all'\" RENAME TO votes"


def shell(path, *commands, text=None):
    done = subprocess.run(["sqlite3", "-batch", "-bail", str(path), *commands], input=text, capture_output=True, text=True,
                          timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@pytest.mark.parametrize("how", [".schema", ".dump", ".schema --nosys"])
@pytest.mark.parametrize("loaded", [False, True])
@pytest.mark.parametrize("first", FIRST)
def test_what_the_shell_prints_of_a_file_makes_a_replica_of_it(tmp_path, first, loaded, how):
    load = f".load {EXTENSION}"
    one = connect(tmp_path / "one.db")
    for sql in FIRST[first] + THEN:
        one.execute(sql).fetchall()
    if how == ".dump":  # which tells the name that a table was created with; .schema cannot
        one.execute(RENAME)
    printed = shell(tmp_path / "one.db", *[load] * loaded, how)
    shell(tmp_path / "two.db", text=f"{load}\n{printed}")
    two = connect(tmp_path / "two.db")
    if first == "name first" and how == ".dump":  # a copy of a named file says so
        with pytest.raises(sqlite3.OperationalError, match="counter_fork"):
            two.execute("INSERT INTO page_views(path, hour, hits) VALUES ('/', 12, 1)")
        two.execute("SELECT counter_fork()").fetchall()
    two.execute("INSERT INTO page_views(path, hour, hits) VALUES ('/', 12, 100)")
    one.execute("INSERT INTO page_views(path, hour, hits) VALUES ('/', 12, 1000)")
    two.execute("ATTACH ? AS one", [str(tmp_path / "one.db")])
    for _ in range(2):
        done = two.execute("SELECT table_name, conflicts FROM counter_sync('one')").fetchall()
        assert {conflicts for _, conflicts in done} == {0} and len(done) == 2
    shown = {("/", 12, 1105, 2), ("/a", 13, 6, 2)}
    for schema in "main", "one":
        assert set(two.execute(f"SELECT path, hour, hits, errors FROM {schema}.page_views")) == shown
        votes, = one.execute("SELECT name FROM counter_tables WHERE name LIKE '%votes%'").fetchone()
        votes = votes.replace('"', '""')
        assert two.execute(f'SELECT * FROM {schema}."{votes}"').fetchall() == [("tea", 9)]
        two.execute(f"INSERT INTO {schema}.page_views(page_views) VALUES ('integrity-check')")
    assert two.execute("SELECT counter_id('main') <> counter_id('one'), counter_table_digest('page_views') = "
                       "counter_table_digest('page_views', 'one')").fetchone() == (1, 1)
    two.close()
    one.close()


def clone(one, two):
    """The shell leaves the virtual tables out, for the connection that writes the clone has no extension."""
    done = subprocess.run(["sqlite3", "-batch", str(one), f".load {EXTENSION}", f".clone {two}"], capture_output=True,
                          text=True, timeout=60)
    assert "no such module: counter" in done.stderr
    return connect(two)


def said(db, sql):
    with pytest.raises(sqlite3.OperationalError) as error:
        db.execute(sql).fetchall()
    return str(error.value)


def test_the_tables_of_a_clone_are_taken_up_again(tmp_path):
    one = connect(tmp_path / "one.db")
    for sql in [*THEN, RENAME]:
        one.execute(sql)
    two = clone(tmp_path / "one.db", tmp_path / "two.db")
    for name in "page_views", "votes":
        told = said(two, f"CREATE VIRTUAL TABLE {name} USING counter(k TEXT PRIMARY KEY, n COUNTER)")
        assert told.startswith(f"{name}: its stored tables exist already: CREATE VIRTUAL TABLE ") and told.endswith(" uses them")
        two.execute(told[told.index("CREATE"):-len(" uses them")])
        two.execute(f"INSERT INTO {name}({name}) VALUES ('integrity-check')")
        state = f"SELECT * FROM {name} ORDER BY 1", f"SELECT counter_table_digest('{name}')"
        for sql in state:
            assert two.execute(sql).fetchall() == one.execute(sql).fetchall()
    two.execute("UPDATE votes SET up = up + 100")
    one.execute("UPDATE votes SET up = up + 1000")
    two.execute("ATTACH ? AS one", [str(tmp_path / "one.db")])
    assert two.execute("SELECT sum(conflicts) FROM counter_sync('one')").fetchall() == [(0,)]
    for db in one, two:
        assert db.execute("SELECT * FROM votes").fetchall() == [("tea", 1109)]


def test_the_declaration_of_a_table_takes_up_its_clone_and_another_does_not(tmp_path):
    one = connect(tmp_path / "one.db")
    create = "CREATE VIRTUAL TABLE v USING counter(k text COLLATE nocase PRIMARY KEY, n COUNTER)"
    one.execute(create)
    one.execute("INSERT INTO v VALUES ('x', 5)")
    two = clone(tmp_path / "one.db", tmp_path / "two.db")
    for wrong in (create.replace(" COLLATE nocase", ""), create.replace("n C", "m C"), create.replace("n C", "N C"),
                  create.replace("text", "BLOB"), create.replace(")", ", TRACKED \"v\")")):
        assert "uses them" in said(two, wrong), wrong
        assert "no such table" in said(two, "SELECT * FROM v")
    two.execute(create)
    assert two.execute("SELECT * FROM v").fetchall() == [("x", 5)]


def test_the_tracked_table_of_a_clone_is_taken_up_by_counter_track(tmp_path):
    one = connect(tmp_path / "one.db")
    for sql in ("CREATE TABLE products(sku TEXT PRIMARY KEY, stock INTEGER, sold INTEGER)", "INSERT INTO products VALUES ('x', 5, 0)",
                "SELECT counter_track('products', 'stock')", "UPDATE products SET stock = stock + 2"):
        one.execute(sql).fetchall()
    two = clone(tmp_path / "one.db", tmp_path / "two.db")
    assert "no such table: main.products_counters" in said(two, "UPDATE products SET stock = 9")
    declared = "products_counters USING counter(sku TEXT PRIMARY KEY, stock COUNTER)"
    assert 'TRACKED "products") uses them' in said(two, f"CREATE VIRTUAL TABLE {declared}")
    two.execute("UPDATE products SET sold = 1")
    assert two.execute("SELECT counter_track('products', 'stock')").fetchall() == [(0,)]
    assert two.execute("SELECT counter_track('products', 'stock')").fetchall() == [(0,)]
    two.execute("UPDATE products SET stock = stock + 100")
    one.execute("UPDATE products SET stock = stock + 1000")
    two.execute("ATTACH ? AS one", [str(tmp_path / "one.db")])
    assert two.execute("SELECT sum(conflicts) FROM counter_sync('one')").fetchall() == [(0,)]
    for db in one, two:
        assert db.execute("SELECT stock FROM products").fetchall() == [(1107,)]


def test_the_declaration_of_a_tracked_table_takes_up_its_clone(tmp_path):
    """The table is noted by name when its counters are declared, before counter_track notes the columns."""
    one = connect(tmp_path / "one.db")
    one.execute("CREATE TABLE products(sku TEXT PRIMARY KEY, stock INTEGER)")
    create = "CREATE VIRTUAL TABLE products_counters USING counter(sku TEXT PRIMARY KEY, stock COUNTER, TRACKED \"products\")"
    one.execute(create)
    noted = "SELECT name, value FROM counter_state WHERE kind = 'column'"
    assert one.execute(noted).fetchall() == [("", "products")]
    two = clone(tmp_path / "one.db", tmp_path / "two.db")
    assert 'TRACKED "products") uses them' in said(two, create.replace(', TRACKED "products"', ""))
    two.execute(create)
    assert two.execute(noted).fetchall() == [("", "products")]


def test_a_pull_does_not_take_up_what_a_clone_has_stored_of_another_table(tmp_path):
    one, source = connect(tmp_path / "one.db"), connect(tmp_path / "source.db")
    for db, name in (one, "u"), (source, "v"):
        db.execute(f"CREATE VIRTUAL TABLE {name} USING counter(k TEXT PRIMARY KEY, n COUNTER)")
        db.execute(f"INSERT INTO {name} VALUES ('x', 1)")
    one.execute("ALTER TABLE u RENAME TO v")
    two = clone(tmp_path / "one.db", tmp_path / "two.db")
    assert "created as 'u'" in said(two, f"SELECT * FROM counter_pull('{tmp_path}/source.db')")


def test_counter_track_takes_up_the_counters_of_a_table_that_was_renamed_for_no_other_of_its_first_name(tmp_path):
    one = connect(tmp_path / "one.db")
    create = "CREATE TABLE products(sku TEXT PRIMARY KEY, stock INTEGER)"
    for sql in (create, "INSERT INTO products VALUES ('x', 5)", "SELECT counter_track('products', 'stock')",
                "ALTER TABLE products RENAME TO goods"):
        one.execute(sql).fetchall()
    two = clone(tmp_path / "one.db", tmp_path / "two.db")
    two.execute(create)
    assert "was created with this name" in said(two, "SELECT counter_track('products', 'stock')")
    assert two.execute("SELECT * FROM goods").fetchall() == [("x", 5)]
    two.execute("SELECT counter_track('goods')").fetchall()
    two.execute("UPDATE goods SET stock = stock + 20")
    one.execute("UPDATE goods SET stock = stock + 300")
    two.execute("DROP TABLE products")
    two.execute("ATTACH ? AS one", [str(tmp_path / "one.db")])
    assert two.execute("SELECT sum(conflicts) FROM counter_sync('one')").fetchall() == [(0,)]
    for db in one, two:
        assert db.execute("SELECT * FROM goods").fetchall() == [("x", 325)]


def test_stored_tables_of_a_newer_format_are_not_taken_up(tmp_path):
    one = connect(tmp_path / "one.db")
    create = "CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER)"
    one.execute(create)
    two = clone(tmp_path / "one.db", tmp_path / "two.db")
    two.execute("UPDATE counter_replica SET format = format + 1")
    assert "written by a newer version" in said(two, create)
