"""test_adopt.py - plan and adopt on the schemas of real applications: what stands in the way is told, adopt does the rest, and
copies of the file that change apart agree again. What cannot be adopted is named, and nothing is changed."""

import json
import os
import pathlib
import random
import re
import shutil
import sqlite3
import subprocess
import zlib

import pytest

from program import PROGRAM, ROOT, connect, fails, ok, run, table

SEED = int(os.environ.get("COUNTER_SEED") or random.randrange(2**32))
ROUNDS = int(os.environ.get("COUNTER_ROUNDS") or 4)
SCHEMAS = ROOT / "tests" / "schemas"
COUNTERS = {"shop": ["products.stock", "products.sold", "customer_details.points"], "notes": ["notes.views"],
            "music": ["Track.PlayCount"], "rails": ["posts.comments_count", "users.sign_in_count"], "django": ["library_item.stock"]}
LEFT = {"shop": ["price_log"]}  # a trigger inserts into it
OF_MACHINE = {"updated_at"}     # a trigger writes the time


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def application(name, path="app.db"):
    db = sqlite3.connect(path, isolation_level=None)
    db.executescript((SCHEMAS / f"{name}.sql").read_text())
    db.close()
    return path


def create(path, *sql):
    db = sqlite3.connect(path, isolation_level=None)
    for statement in sql:
        db.execute(statement)
    db.close()
    return path


def plan(path="app.db"):
    """{(table, kind): [(column, finding, remedy)]}"""
    found = {}
    for line in ok("plan", "--json", path).splitlines():
        row = json.loads(line)
        found.setdefault((row["table"], row["kind"]), []).append((row["column"], row["finding"], row["remedy"]))
    return found


def schema(path):
    db = sqlite3.connect(path)
    try:
        return db.execute("SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY 1, 2").fetchall()
    finally:
        db.close()


def stands(path, sql):
    db = sqlite3.connect(path)
    try:
        return db.execute(sql).fetchall()
    finally:
        db.close()


# ---- what plan says of each ----

def test_plan_tells_what_stands_in_the_way_of_a_shop():
    application("shop")
    found = plan()
    assert {kind for table, kind in found if table == "products"} == {"autoincrement", "unique", "counter", "trigger"}
    assert {column for column, *_ in found["products", "counter"]} == {"stock", "sold"}
    assert found["customer_details", "replicate"] == [
        ("customer_id", "its key customer_id is that of its row of customers", "counter_replicate('customer_details', 'keys=assigned')")]
    assert "log_price inserts into price_log" in found["products", "trigger"][0][1]
    assert "WHEN NOT counter_merging()" in found["products", "trigger"][0][2]
    assert ("sessions", "home") in found and ("order_items", "replicate") in found
    assert [column for column, *_ in found["price_log", "reference"]] == ["product_id"]
    assert not any(column in ("position", "version", "status", "is_hidden", "quantity")
                   for (_, kind), rows in found.items() if kind == "counter" for column, *_ in rows)


def test_plan_tells_what_stands_in_the_way_of_notes():
    application("notes")
    found = plan()
    assert {table for table, kind in found if kind == "virtual"} >= {"notes_fts", "notes_fts_data", "recent", "recent_content"}
    assert [column for column, *_ in found["note_tags", "key"]] == ["note_id, tag"]
    assert ("schema_migrations", "home") in found and ("notes", "autoincrement") in found
    assert not any(kind in ("foreign key", "trigger") for _, kind in found)  # the triggers fill the index, in each file


def test_plan_tells_what_stands_in_the_way_of_rails():
    application("rails")
    found = plan()
    assert {table for table, kind in found if kind == "home"} == {"schema_migrations", "ar_internal_metadata", "solid_queue_jobs"}
    assert found["posts_tags", "key"][0][0] == "post_id, tag_id" and found["memberships", "key"][0][0] == "group_id, user_id"
    assert {(table, row[0]) for (table, kind), rows in found.items() if kind == "reference" for row in rows} == {
        ("comments", "user_id"), ("memberships", "group_id"), ("memberships", "user_id"), ("posts_tags", "post_id"), ("posts_tags", "tag_id")}
    assert {(table, row[0]) for (table, kind), rows in found.items() if kind == "counter" for row in rows} == {
        ("posts", "comments_count"), ("users", "sign_in_count")}


def test_plan_tells_what_stands_in_the_way_of_django():
    application("django")
    found = plan()
    assert {table for table, kind in found if kind == "each file"} == {"django_content_type", "auth_permission"}
    assert {table for table, kind in found if kind == "home"} == {"django_migrations", "django_session"}
    assert found["library_profile", "replicate"][0][2] == "counter_replicate('library_profile', 'keys=assigned')"
    assert found["library_book", "replicate"][0][2] == "counter_replicate('library_book')"


def test_plan_prints_a_line_for_each_table_then_what_to_think_of():
    application("music")
    tables, _, matters = ok("plan", "app.db").partition("\n\n")
    assert len(table(tables)) == 11 and table(tables)[-2] == ["PlaylistTrack", "replicate", "PlaylistId, TrackId", "its key is (PlaylistId, TrackId)"]
    assert table(matters) == [["counter", "Track.PlayCount: it looks like a number that is counted: name it as a counter, "
                                          "'Track.PlayCount', if changes made apart are to add up: else the last write wins"]]


# ---- adopt, then change copies apart ----

class Worker:
    """Writes random rows as an application does, whatever the schema is."""

    def __init__(self, r, path, number, tables):
        self.r, self.number, self.db = r, number, connect(path)
        self.db.execute("PRAGMA foreign_keys = ON")
        self.tables, self.unique = {}, set()
        for name in tables:
            columns = [row for row in self.db.execute(f'PRAGMA table_xinfo("{name}")') if not row[6]]
            links = {}
            for row in self.db.execute(f'PRAGMA foreign_key_list("{name}")'):
                links[row[3]] = row[2], row[4] or self.db.execute(f'SELECT name FROM pragma_table_info("{row[2]}") WHERE pk = 1').fetchone()[0]
            numbered = not any(row[3] == "pk" for row in self.db.execute(f'PRAGMA index_list("{name}")'))
            self.tables[name] = columns, links, numbered
            self.unique.update((name, column) for _, index, _, origin, *_ in self.db.execute(f'PRAGMA index_list("{name}")') if origin != "pk"
                               for _, _, column, _, _, key in self.db.execute(f'PRAGMA index_xinfo("{index}")') if key and column in links)
        self.parents = {parent.lower() for _, links, _ in self.tables.values() for parent, _ in links.values()}

    def some(self, listed, table):
        rows = sorted(self.db.execute(f'SELECT {listed} FROM "{table}"').fetchall(), key=repr)
        return self.r.choice(rows) if rows else None

    def value(self, kind, table, column, links):
        """A parent, of which each file has its own where two must not have one child alone."""
        name, declared = column[1], column[2].lower()
        if name in links:
            parent, key = links[name]
            row = self.some(f'"{key}"', parent)
            return None if not row or (table, name) in self.unique and zlib.crc32(repr(row).encode()) % 2 != self.number else row[0]
        if "int" in declared or "num" in declared or "real" in declared or "bool" in declared:
            return self.r.randrange(2) if "bool" in declared else self.r.randrange(1000)
        return f"{kind}{self.r.getrandbits(60)}"

    def key(self, columns):
        return " AND ".join(f'"{column[1]}" IS ?' for column in columns if column[5])

    def step(self):
        name = self.r.choice(list(self.tables))
        columns, links, numbered = self.tables[name]
        keys = [column for column in columns if column[5]]
        row = self.some(", ".join(f'"{column[1]}"' for column in keys), name)
        what = self.r.choice(["insert", "insert", "update", "update", "update", "delete"])
        try:
            if what == "insert":
                given = [column for column in columns if not (numbered and column[5] and column[1] not in links)]
                values = [self.value("t", name, column, links) for column in given]
                self.db.execute(f'INSERT INTO "{name}"({", ".join(chr(34) + column[1] + chr(34) for column in given)})'
                                f' VALUES ({", ".join("?" * len(given))})', values)
            elif what == "update" and row:
                others = [column for column in columns if not column[5] and (name, column[1]) not in self.unique]
                if others:
                    column = self.r.choice(others)
                    change = '"%s" + 1' % column[1] if "int" in column[2].lower() and column[1] not in links else "?"
                    given = [] if change != "?" else [self.value("u", name, column, links)]
                    self.db.execute(f'UPDATE "{name}" SET "{column[1]}" = {change} WHERE {self.key(columns)}', [*given, *row])
            elif what == "delete" and row and name.lower() not in self.parents:
                self.db.execute(f'DELETE FROM "{name}" WHERE {self.key(columns)}', row)
        except sqlite3.IntegrityError:
            pass


def rows_of(path, tables):
    db = connect(path)
    found = {}
    for name in tables:
        listed = ", ".join(f'"{row[1]}"' for row in db.execute(f'PRAGMA table_xinfo("{name}")') if row[1] not in OF_MACHINE)
        found[name] = sorted(map(repr, db.execute(f'SELECT {listed} FROM "{name}"')))
    apart = db.execute("SELECT * FROM counter_tracked WHERE row_key IS NOT NULL AND column_name NOT IN ('updated_at')").fetchall()
    assert db.execute("PRAGMA foreign_key_check").fetchall() == [] and db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    db.close()
    return found, apart


@pytest.mark.parametrize("name", ["shop", "notes", "music", "rails", "django"])
def test_copies_of_an_adopted_file_that_change_apart_agree_again(name):
    path = application(name)
    before = schema(path)
    told = plan(path)
    words = [word for counter in COUNTERS[name] for word in ("--counter", counter)]
    words += [word for left in LEFT.get(name, []) for word in ("--leave", left)]
    ok("adopt", "--dry-run", *words, path)
    assert schema(path) == before
    done = {line[0]: line[1] for line in table(ok("adopt", *words, path))}
    tables = [table for table, what in done.items() if what.startswith("replicated")]
    assert set(tables) == {table for table, kind in told if kind in ("replicate", "autoincrement", "key")} - set(LEFT.get(name, []))
    # What was there is there still, but for the words that were written.
    written = {table for table, kind in told if kind in ("autoincrement", "key")}
    after = dict(((kind, object), (on, sql)) for kind, object, on, sql in schema(path))
    for kind, object, on, sql in before:
        assert after[kind, object] == (on, sql) or (kind == "table" and object in written)
        assert after[kind, object][0] == on
    again = ok("adopt", *(word for left in LEFT.get(name, []) for word in ("--leave", left)), path)
    assert not any(line[1].startswith("replicated") for line in table(again))
    shutil.copy(path, "copy.db")
    r = random.Random(f"{SEED} {name}")
    print("COUNTER_SEED", SEED)
    for _ in range(ROUNDS):
        for number, file in enumerate((path, "copy.db")):
            worker = Worker(r, file, number, tables)
            for _ in range(60):
                worker.step()
            worker.db.close()
        for _ in range(2):
            status, _, error = run("sync", path, "copy.db")
            assert status == 0, error
        (mine, waits), (theirs, others) = rows_of(path, tables), rows_of("copy.db", tables)
        assert mine == theirs, (waits, others)
        assert not waits and not others
    if name == "notes":
        for file in (path, "copy.db"):
            db = connect(file)
            db.execute("INSERT INTO notes_fts(notes_fts, rank) VALUES ('integrity-check', 1)")
            db.close()


# ---- words and keys in declarations ----

def test_a_number_that_was_given_is_not_given_again_after_adopt():
    create("a.db", "CREATE TABLE t(id INTEGER PRIMARY KEY, v)", "INSERT INTO t VALUES (7, 'x'), (9, 'y')")
    before = stands("a.db", "PRAGMA schema_version")[0][0]
    ok("adopt", "a.db")
    assert stands("a.db", "PRAGMA schema_version")[0][0] > before
    assert stands("a.db", "SELECT * FROM sqlite_sequence") == [("t", 9)]
    db = connect("a.db")
    db.execute("DELETE FROM t")
    assert db.execute("INSERT INTO t(v) VALUES ('z')").lastrowid > 9
    db.close()


def rebuild(db, *columns):
    """Builds the table t anew as change_column of ActiveRecord 6.1 does: without AUTOINCREMENT."""
    for sql in ("BEGIN", f"CREATE TABLE new_t(id integer NOT NULL PRIMARY KEY, {', '.join(columns)})",
                "INSERT INTO new_t SELECT * FROM t", "DROP TABLE t", "ALTER TABLE new_t RENAME TO t", "COMMIT"):
        db.execute(sql)


def test_a_table_that_has_lost_the_word_by_a_migration_gets_it_back_and_files_keep_all_rows():
    create("a.db", "CREATE TABLE t(id INTEGER PRIMARY KEY, v)", "INSERT INTO t(v) VALUES ('both')")
    ok("adopt", "a.db")
    shutil.copy("a.db", "b.db")
    for name in ("a.db", "b.db"):
        db = connect(name)
        rebuild(db, "v TEXT")
        with pytest.raises(sqlite3.OperationalError, match="has lost AUTOINCREMENT"):
            db.execute("SELECT counter_replicate_all()").fetchall()
        db.close()
        assert plan(name)["t", "autoincrement"][0][:1] == ("id",)
        assert table(ok("adopt", name)) == [["t", "replicated, AUTOINCREMENT was written", "id"]]
        db = connect(name)
        assert db.execute("SELECT kind FROM counter_plan").fetchall() == [("done",)]
        db.execute("INSERT INTO t(v) VALUES (?)", (name,))
        db.close()
    ok("sync", "a.db", "b.db")
    for name in ("a.db", "b.db"):
        assert sorted(v for v, in stands(name, "SELECT v FROM t")) == ["a.db", "b.db", "both"]


@pytest.mark.parametrize("word", ["", " AUTOINCREMENT"])
@pytest.mark.parametrize("more", [[], ["more TEXT"]])
def test_rows_that_were_inserted_between_a_migration_and_adopt_are_rows_of_their_own(word, more):
    create("a.db", "CREATE TABLE t(id INTEGER PRIMARY KEY, v, n INTEGER NOT NULL DEFAULT 0)",
           "CREATE TABLE line(id INTEGER PRIMARY KEY, t INTEGER REFERENCES t, v)",
           "INSERT INTO t(v) VALUES ('both')", "INSERT INTO line(t, v) VALUES (1, 'both')")
    ok("adopt", "--counter", "t.n", "a.db")
    db = connect("a.db")
    greatest = db.execute("INSERT INTO t(v) VALUES ('since')").lastrowid
    db.close()
    shutil.copy("a.db", "b.db")
    for number, name in enumerate(("a.db", "b.db"), 1):
        db = connect(name)
        columns = ", ".join(["v TEXT", "n INTEGER NOT NULL DEFAULT 0", *more])
        for sql in ("BEGIN", f"CREATE TABLE new_t(id INTEGER NOT NULL PRIMARY KEY{word}, {columns})",
                    "INSERT INTO new_t(id, v, n) SELECT id, v, n FROM t", "DROP TABLE t", "ALTER TABLE new_t RENAME TO t", "COMMIT"):
            db.execute(sql)
        assert db.execute("INSERT INTO t(v, n) VALUES (?, ?)", (name, number)).lastrowid == greatest + 1
        db.execute("INSERT INTO line(t, v) VALUES (?, ?)", (greatest + 1, name))
        db.close()
        ok("adopt", name)
    assert "1 row has a number that another row had first" in run("sync", "a.db", "b.db")[2]
    run("sync", "a.db", "b.db")
    for name in ("a.db", "b.db"):
        assert sorted(stands(name, "SELECT v, n FROM t")) == [("a.db", 1), ("b.db", 2), ("both", 0), ("since", 0)]
        assert sorted(stands(name, "SELECT t.v, line.v FROM line JOIN t ON line.t = t.id")) == [
            ("a.db", "a.db"), ("b.db", "b.db"), ("both", "both")]


def test_a_row_that_got_the_number_of_one_that_waits_while_triggers_were_gone_is_refused_until_it_has_another():
    create("a.db", "CREATE TABLE t(id INTEGER PRIMARY KEY AUTOINCREMENT, v, mail UNIQUE, n INTEGER NOT NULL DEFAULT 0)")
    ok("adopt", "--counter", "t.n", "a.db")
    shutil.copy("a.db", "b.db")
    db = connect("a.db")
    greatest = db.execute("INSERT INTO t(v, mail, n) VALUES ('first', 'ann', 1)").lastrowid
    db.close()
    db = connect("b.db")
    db.execute("INSERT INTO t VALUES (?, 'waits', 'ann', 20)", (greatest + 1,))
    db.close()
    run("sync", "a.db", "b.db")
    db = connect("a.db")
    rebuild(db, "v", "mail UNIQUE", "n INTEGER NOT NULL DEFAULT 0")
    assert db.execute("INSERT INTO t(v, n) VALUES ('new', 300)").lastrowid == greatest + 1
    assert f"t: the row ({greatest + 1}) was inserted while its triggers did not run" in run("adopt", "a.db")[2]
    db.execute("UPDATE t SET id = id + 1 WHERE v = 'new'")
    ok("adopt", "a.db")
    db.execute("UPDATE t SET mail = 'anna' WHERE v = 'first'")
    db.close()
    run("sync", "a.db", "b.db")
    run("sync", "a.db", "b.db")
    for name in ("a.db", "b.db"):
        assert sorted(stands(name, "SELECT v, mail, n FROM t")) == [("first", "anna", 1), ("new", None, 300), ("waits", "ann", 20)]


def test_a_row_that_got_the_number_of_a_deleted_one_while_triggers_were_gone_is_refused_until_it_has_another():
    create("a.db", "CREATE TABLE t(id INTEGER PRIMARY KEY AUTOINCREMENT, v)")
    ok("adopt", "a.db")
    for name, sql in ("a.db", "INSERT INTO t(v) VALUES ('stays'), ('gone')"), ("b.db", "DELETE FROM t WHERE v = 'gone'"):
        if name == "b.db":
            shutil.copy("a.db", name)
        db = connect(name)
        db.execute(sql)
        db.close()
    ok("sync", "a.db", "b.db")
    for name in ("a.db", "b.db"):
        db = connect(name)
        rebuild(db, "v")
        db.execute("INSERT INTO t(v) VALUES (?)", (name,))
        assert "its number is that of a deleted row, which it would bring back" in run("adopt", name)[2]
        db.execute("UPDATE t SET id = id + abs(random()) % 1000000000 WHERE v = ?", (name,))
        ok("adopt", name)
        db.close()
    ok("sync", "a.db", "b.db")
    for name in ("a.db", "b.db"):
        assert sorted(v for v, in stands(name, "SELECT v FROM t")) == ["a.db", "b.db", "stays"]


@pytest.mark.parametrize("missing, left", [("deleted", ["both", "new"]), ("restored", ["both", "gone", "new"])])
def test_a_row_that_was_deleted_after_the_table_lost_the_word_is_deleted_or_comes_back(missing, left):
    create("a.db", "CREATE TABLE t(id INTEGER PRIMARY KEY, v, n INTEGER NOT NULL DEFAULT 0)", "INSERT INTO t VALUES (1, 'gone', 3), (2, 'both', 4)")
    ok("adopt", "--counter", "t.n", "a.db")
    shutil.copy("a.db", "b.db")
    db = connect("a.db")
    rebuild(db, "v", "n INTEGER NOT NULL DEFAULT 0")
    db.execute("DELETE FROM t WHERE id = 1")
    db.execute("INSERT INTO t(v) VALUES ('new')")
    with pytest.raises(sqlite3.OperationalError, match="rows that are missing are 'missing=deleted' or 'missing=restored', not 'missing=lost'"):
        db.execute("SELECT counter_replicate_all('missing=lost')")
    with pytest.raises(sqlite3.OperationalError, match="'missing=restored' contradicts the option before it"):
        db.execute("SELECT counter_replicate_all('missing=deleted', 'missing=restored')")
    db.close()
    assert "1 of its rows is missing, (1), and no DELETE of them was seen" in run("adopt", "a.db")[2]
    ok("adopt", "--missing", missing, "a.db")
    run("sync", "a.db", "b.db")
    for name in ("a.db", "b.db"):
        assert sorted(v for v, in stands(name, "SELECT v FROM t")) == left


def test_a_row_that_lost_its_number_comes_back_with_its_lines_though_the_file_has_dropped_a_counter():
    create("a.db", "CREATE TABLE t(id INTEGER PRIMARY KEY AUTOINCREMENT, v)",
           "CREATE TABLE line(id INTEGER PRIMARY KEY AUTOINCREMENT, t INTEGER REFERENCES t, v)",
           "CREATE TABLE stock(item TEXT PRIMARY KEY, pieces INTEGER DEFAULT 0, seen INTEGER DEFAULT 0)", "INSERT INTO stock VALUES ('tea', 1, 1)")
    ok("adopt", "--counter", "stock.pieces", "--counter", "stock.seen", "a.db")
    shutil.copy("a.db", "b.db")
    for name in ("a.db", "b.db"):
        db = connect(name)
        db.execute("INSERT INTO t(id, v) VALUES (?, ?)", (1 << 45, name))  # as in a copy that nobody noticed
        db.execute("INSERT INTO line(t, v) VALUES (?, ?)", (1 << 45, name))
        db.execute("SELECT counter_untrack('stock', 'seen')")
        db.execute("INSERT INTO line(t, v) VALUES (?, ?)", (1 << 45, name))
        db.close()
    assert "a number that another row had first" in run("sync", "a.db", "b.db")[2]
    ok("sync", "a.db", "b.db")
    for name in ("a.db", "b.db"):
        assert sorted(stands(name, "SELECT v FROM t")) == [("a.db",), ("b.db",)]
        assert stands(name, "SELECT count(*) FROM line JOIN t ON t.id = line.t AND t.v = line.v") == [(4,)]


def test_a_table_that_has_lost_the_word_unseen_is_told_and_gets_it_back():
    create("a.db", "CREATE TABLE t(id INTEGER PRIMARY KEY AUTOINCREMENT, v)")
    ok("adopt", "a.db")
    create("a.db", "PRAGMA writable_schema = ON", "UPDATE sqlite_master SET sql = replace(sql, ' AUTOINCREMENT', '') WHERE name = 't'")
    assert any(line[:2] == ["warning", "t"] and "has lost AUTOINCREMENT" in line[2] for line in table(ok("status", "a.db")))
    assert ("t", "autoincrement") in plan("a.db")
    ok("adopt", "a.db")
    assert not any(line[0] == "warning" for line in table(ok("status", "a.db")))
    db = connect("a.db")
    assert db.execute("INSERT INTO t(v) VALUES (1)").lastrowid > 1 << 32
    db.close()


def test_columns_that_were_added_travel_after_adopt():
    create("a.db", "CREATE TABLE t(k TEXT PRIMARY KEY, v)", "INSERT INTO t VALUES ('tea', 1)")
    ok("adopt", "a.db")
    shutil.copy("a.db", "b.db")
    for name in ("a.db", "b.db"):
        db = connect(name)
        db.execute("ALTER TABLE t ADD COLUMN more TEXT")
        db.close()
        assert plan(name)["t", "replicate"] == [("k", "it is replicated, and column more does not travel yet", "counter_replicate('t')")]
        assert table(ok("adopt", name)) == [["t", "replicated", "k"]]
        assert table(ok("adopt", name)) == [["t", "counts already", "k"]]
    db = connect("a.db")
    db.execute("UPDATE t SET more = 'green'")
    db.close()
    ok("sync", "a.db", "b.db")
    assert stands("b.db", "SELECT more FROM t") == [("green",)]


def test_a_connection_that_is_open_sees_the_word_at_once():
    create("a.db", "CREATE TABLE t(id INTEGER PRIMARY KEY, v)", "CREATE TABLE pairs(a_id INT, b_id INT)", "INSERT INTO pairs VALUES (1, 2)")
    other = connect("a.db")
    assert other.execute("INSERT INTO t(v) VALUES (1)").lastrowid == 1
    ok("adopt", "a.db")
    other.execute("INSERT INTO t(v) VALUES (2)")
    assert other.execute("SELECT count(*) FROM sqlite_sequence WHERE name = 't'").fetchall() == [(1,)]
    with pytest.raises(sqlite3.IntegrityError, match="UNIQUE constraint failed: pairs.a_id, pairs.b_id"):
        other.execute("INSERT INTO pairs VALUES (1, 2)")
    other.close()


def test_keys_get_an_index_as_if_the_table_had_been_declared_so():
    create("a.db", "CREATE TABLE p(x_id INT, y_id TEXT COLLATE NOCASE, z UNIQUE, UNIQUE (z, x_id))",
           "CREATE TABLE q(x_id INT NOT NULL, y_id INT NOT NULL, more, UNIQUE (y_id, x_id))",
           "CREATE TABLE s(x_id INT NOT NULL, y_id INT NOT NULL)", "CREATE UNIQUE INDEX s_once ON s(x_id, y_id)",
           "INSERT INTO p VALUES (1, 'a', 1), (1, 'b', 2)", "INSERT INTO q VALUES (1, 1, 1), (1, 2, 2)", "INSERT INTO s VALUES (1, 1)")
    ok("adopt", "a.db")
    declared = connect(":memory:")
    for name, sql in stands("a.db", "SELECT name, sql FROM sqlite_master WHERE name IN ('p', 'q', 's')"):
        declared.execute(sql)
        index = f"SELECT name, \"unique\", origin, partial FROM pragma_index_list('{name}') WHERE origin <> 'c' ORDER BY name"
        assert stands("a.db", index) == declared.execute(index).fetchall()
    assert stands("a.db", "PRAGMA integrity_check") == [("ok",)]
    assert stands("a.db", "SELECT sql FROM sqlite_master WHERE name = 'q'")[0][0].endswith('UNIQUE (y_id, x_id), PRIMARY KEY ("y_id", "x_id"))')
    db = connect("a.db")
    db.execute("VACUUM")
    assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    db.close()
    shutil.copy("a.db", "b.db")
    db = connect("b.db")
    db.execute("INSERT INTO p VALUES (2, 'a', 3)")
    db.execute("DELETE FROM q WHERE y_id = 1")
    db.close()
    ok("sync", "a.db", "b.db")
    assert len(stands("a.db", "SELECT * FROM p")) == 3 and len(stands("a.db", "SELECT * FROM q")) == 1


KEYLESS = [
    "k TEXT NOT NULL UNIQUE, v; CREATE UNIQUE INDEX i ON t(k)", "k TEXT NOT NULL UNIQUE, v; CREATE UNIQUE INDEX i ON t(k COLLATE NOCASE)",
    "k TEXT NOT NULL, v, UNIQUE (k COLLATE NOCASE)", "k TEXT NOT NULL COLLATE NOCASE, v, UNIQUE (k); CREATE UNIQUE INDEX i ON t(k COLLATE BINARY)",
    "k INTEGER NOT NULL, v TEXT NOT NULL UNIQUE; CREATE UNIQUE INDEX i ON t(k)", "k_id INTEGER, v_id INTEGER, UNIQUE (k_id, v_id)",
    "k_id INTEGER, v_id INTEGER COLLATE RTRIM, UNIQUE (k_id, v_id COLLATE BINARY)", "k_id, v_id, UNIQUE (v_id, k_id)",
    "k INT NOT NULL UNIQUE, v", "k_id, v_id; CREATE UNIQUE INDEX i ON t(k_id, v_id)", "k NOT NULL, v NOT NULL, w NOT NULL UNIQUE, UNIQUE (k, v DESC)"]


@pytest.mark.parametrize("sql", KEYLESS)
def test_a_table_gets_a_key_beside_any_unique_indexes(sql):
    columns, _, index = sql.partition("; ")
    create("a.db", f"CREATE TABLE t({columns})", index, "INSERT INTO t SELECT 1, 2" + (", 3" if "w" in columns else ""))
    assert table(ok("adopt", "a.db"))[0][1] == "replicated, got a key"
    assert stands("a.db", "PRAGMA integrity_check") == [("ok",)]
    declared = sqlite3.connect(":memory:")
    declared.execute(stands("a.db", "SELECT sql FROM sqlite_master WHERE name = 't'")[0][0])
    of = "SELECT name, origin FROM pragma_index_list('t') WHERE origin <> 'c' ORDER BY name"
    assert stands("a.db", of) == declared.execute(of).fetchall()


def test_indexes_views_triggers_and_statistics_stay_untouched():
    create("a.db", "CREATE TABLE t(a_id INT, b_id INT, n)", "INSERT INTO t VALUES (1, 1, 1), (1, 2, 1)", "CREATE INDEX i ON t(n)",
           "CREATE VIEW v AS SELECT * FROM t", "CREATE TRIGGER g AFTER INSERT ON t BEGIN SELECT 1; END",
           "CREATE TABLE child(id TEXT PRIMARY KEY, a INT, b INT)", "CREATE VIEW broken AS SELECT * FROM nowhere", "ANALYZE")
    before = schema("a.db"), stands("a.db", "SELECT * FROM sqlite_stat1")
    ok("adopt", "a.db")
    assert set(row for row in before[0] if row[1] != "t") <= set(schema("a.db"))
    assert before[1] == stands("a.db", "SELECT * FROM sqlite_stat1")


@pytest.mark.parametrize("encoding", ["UTF-8", "UTF-16le", "UTF-16be"])
def test_declarations_of_any_encoding_and_names_of_any_letters_are_written(encoding):
    strict = " STRICT" if sqlite3.sqlite_version_info >= (3, 37) else ""
    create("a.db", f"PRAGMA encoding = '{encoding}'", f'CREATE TABLE "Käse ""neu"" (1)"("n°" INTEGER PRIMARY KEY, _rowid_ TEXT){strict}',
           """CREATE TABLE "it's"("ä_id" TEXT, "b'_id" TEXT)""", """INSERT INTO "Käse ""neu"" (1)" VALUES (41, 'x')""",
           """INSERT INTO "it's" VALUES ('ß', 'ü')""")
    assert {line[1] for line in table(ok("adopt", "a.db"))} == {"replicated, AUTOINCREMENT was written", "replicated, got a key"}
    assert stands("a.db", "SELECT * FROM sqlite_sequence") == [('Käse "neu" (1)', 41)]
    assert stands("a.db", "PRAGMA integrity_check") == [("ok",)]
    db = connect("a.db")
    with pytest.raises(sqlite3.IntegrityError):
        db.execute("""INSERT INTO "it's" VALUES ('ß', 'ü')""")
    db.close()


def test_what_was_wrong_before_keeps_no_application_from_being_adopted():
    """A foreign key to columns that are no key, a child without a parent, a view of no table, a file under WAL."""
    create("a.db", "PRAGMA journal_mode = WAL", "CREATE TABLE p(id INTEGER PRIMARY KEY, name TEXT)",
           "CREATE TABLE c(id INTEGER PRIMARY KEY, p TEXT REFERENCES p(name), q INT REFERENCES p(id))", "INSERT INTO c VALUES (1, 'x', 7)",
           "CREATE VIEW v AS SELECT * FROM nowhere", "CREATE TRIGGER g AFTER INSERT ON c BEGIN INSERT INTO nowhere VALUES (1); END")
    assert [line[1] for line in table(ok("adopt", "a.db"))] == ["replicated, AUTOINCREMENT was written"] * 2
    assert stands("a.db", "PRAGMA journal_mode") == [("wal",)]


@pytest.mark.parametrize("sql", [
    "mail TEXT CHECK (matches(mail))", "mail TEXT CHECK (mail <> 'a@b')", "mail TEXT, n AS (matches(mail)) UNIQUE"])
@pytest.mark.parametrize("name", ["logs", "post_tags"])
def test_what_an_integrity_check_cannot_check_or_found_before_stops_no_adoption(sql, name):
    """A CHECK or an index with a function of the application, a row that breaks its CHECK since long, in a table that gets a key or not."""
    db = sqlite3.connect("a.db", isolation_level=None)
    db.create_function("matches", 1, lambda text: True, deterministic=True)
    db.execute("PRAGMA ignore_check_constraints = ON")
    if name == "logs":
        db.executescript("CREATE TABLE post_tags(post_id INTEGER NOT NULL, tag_id TEXT NOT NULL); INSERT INTO post_tags VALUES (1, 'x')")
    db.execute(f"CREATE TABLE {name}(a_id INT, b_id INT, {sql})")
    db.execute(f"INSERT INTO {name}(a_id, b_id, mail) VALUES (1, 1, 'a@b')")
    db.close()
    assert {line[1] for line in table(ok("adopt", "a.db"))} == {"replicated, got a key"}


def test_a_foreign_key_to_columns_that_become_a_key_stops_no_adoption():
    create("a.db", "CREATE TABLE p(a_id INT, b_id INT, n)", "INSERT INTO p VALUES (1, 1, 1)",
           "CREATE TABLE c(id TEXT PRIMARY KEY, x INT, y INT, FOREIGN KEY (x, y) REFERENCES p(a_id, b_id))", "INSERT INTO c VALUES ('c', 1, 1)")
    assert [line[1] for line in table(ok("adopt", "a.db"))] == ["replicated", "replicated, got a key"]


# ---- refused ----

REFUSED = {
    "a table without a key": ("CREATE TABLE t(a, b, c)", "it has no PRIMARY KEY, which identifies rows in all files: give it a key"),
    "rows that are twice there": ("CREATE TABLE t(a_id, b_id); INSERT INTO t VALUES (1, 2), (1, 2)",
                                  "it has no PRIMARY KEY, and rows that are equal in a_id, b_id: make these rows differ"),
    "NULL in a pair": ("CREATE TABLE t(a_id, b_id); INSERT INTO t VALUES (1, NULL)",
                       "it has no PRIMARY KEY, and NULL in a_id, b_id: give it a key"),
    "NULL in a key": ("CREATE TABLE t(k TEXT PRIMARY KEY); INSERT INTO t VALUES (NULL)",
                      "it has rows with NULL in the key k: give these rows a key"),
    "a key above 2^53": ("CREATE TABLE t(id INTEGER PRIMARY KEY); INSERT INTO t VALUES (9007199254740993)",
                         "it has the key 9007199254740993, and files give out keys below 2^53: give its rows smaller keys"),
    "a name that is taken": ("CREATE TABLE t(k TEXT PRIMARY KEY); CREATE VIEW t_counters AS SELECT 1",
                             "another table has the name t_counters: rename that table"),
    "a key as on Android": ("CREATE TABLE t(_id INTEGER PRIMARY KEY AUTOINCREMENT, title)",
                            "the column name _id is reserved: rename the column, here and in the other files"),
    "a type in parentheses": ("CREATE TABLE t(k \"a'b\" PRIMARY KEY)",
                              "the type of the key column k must be plain words, not a'b: change its declaration"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_table_that_cannot_be_adopted_is_named_and_nothing_is_changed(case):
    sql, sentence = REFUSED[case]
    create("a.db", *sql.split("; "), "CREATE TABLE other(id INTEGER PRIMARY KEY)")
    before = schema("a.db")
    fails(re.escape(f"a.db: t: {sentence}, or leave it at home (--leave t)"), "adopt", "a.db")
    assert schema("a.db") == before
    assert plan("a.db")["t", "refused"][0][1:] == tuple((sentence + ", or leave it at home").rsplit(": ", 1))
    done = dict(line[:2] for line in table(ok("adopt", "--leave", "T", "a.db")))
    assert done["t"] == "was left as it is" and done["other"] == "replicated, AUTOINCREMENT was written"


def test_a_trigger_that_compiles_no_longer_is_named_and_nothing_is_changed():
    create("a.db", "CREATE TABLE p(id INTEGER PRIMARY KEY)", "CREATE TABLE c(id TEXT PRIMARY KEY)",
           "CREATE TRIGGER g AFTER INSERT ON c BEGIN INSERT INTO p_counters(lost) VALUES (1); END")
    before = schema("a.db")
    fails("a.db: triggers of the table c no longer compile: .*lost.*", "adopt", "a.db")
    assert schema("a.db") == before
    ok("adopt", "--leave", "p", "a.db")


def test_wrong_options_of_adopt_are_named_and_nothing_is_changed():
    create("a.db", "CREATE TABLE t(k TEXT PRIMARY KEY, n INTEGER NOT NULL DEFAULT 0, s TEXT)", "CREATE TABLE sessions(id TEXT PRIMARY KEY, data)",
           "INSERT INTO t VALUES ('a', 1, 'x')")
    before = schema("a.db")
    fails("a.db: --leave u: there is no such table", "adopt", "--leave", "u", "a.db")
    fails("a.db: there is no table for the counter 'u.n'", "adopt", "--counter", "u.n", "a.db")
    fails("a.db: a counter must be a table and a column, such as 'products.stock', not 'n'", "adopt", "--counter", "n", "a.db")
    fails("a.db: t: there is no column 'm'", "adopt", "--counter", "t.m", "a.db")
    fails("a.db: t: column s holds TEXT by its type TEXT, but a tracked column must hold integers", "adopt", "--counter=t.s", "a.db")
    fails("a.db: sessions: its rows do not travel, so data cannot count", "adopt", "--counter", "sessions.data", "a.db")
    fails("a.db: t: it is left, so n cannot count", "adopt", "--counter", "t.n", "--leave", "t", "a.db")
    fails("--counter needs a table and a column, such as --counter products.stock", "adopt", "a.db", "--counter", status=2)
    fails("plan has no option --counter: see sqlite-counter plan --help", "plan", "--counter", "t.n", "a.db", status=2)
    assert schema("a.db") == before


def test_a_declaration_with_a_comment_behind_it_is_written():
    create("a.db", "CREATE TABLE t(id INTEGER PRIMARY KEY)", "PRAGMA writable_schema = ON",
           "UPDATE sqlite_master SET sql = 'CREATE TABLE t(id INTEGER PRIMARY KEY) -- (' WHERE name = 't'")
    ok("adopt", "a.db")
    assert stands("a.db", "SELECT sql FROM sqlite_master WHERE name = 't'") == [("CREATE TABLE t(id INTEGER PRIMARY KEY AUTOINCREMENT) -- (",)]


def test_a_file_that_others_write_is_left_alone_and_one_that_is_read_only_is_refused():
    create("a.db", "CREATE TABLE t(id INTEGER PRIMARY KEY)")
    other = sqlite3.connect("a.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    fails("a.db: busy for . seconds: database is locked", "adopt", "a.db")
    other.execute("ROLLBACK")
    other.close()
    assert plan("a.db")["t", "autoincrement"]


def test_a_kill_at_any_moment_leaves_all_or_nothing():
    application("rails")
    before = schema("app.db")
    shutil.copy("app.db", "fresh.db")
    for delay in (0.001, 0.003, 0.006, 0.01, 0.015, 0.02, 0.03):
        shutil.copy("fresh.db", "app.db")
        process = subprocess.Popen([PROGRAM, "adopt", "app.db"], stdout=subprocess.DEVNULL)
        try:
            process.wait(delay)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        now = schema("app.db")
        kinds = {kind for _, kind in plan()}
        assert now == before or not kinds & {"replicate", "autoincrement", "key"}, delay
        assert stands("app.db", "PRAGMA integrity_check") == [("ok",)]
        for rest in pathlib.Path().glob("app.db-*"):
            rest.unlink()


def test_where_memory_ends_all_or_nothing_is_done():
    application("rails", "fresh.db")
    subprocess.run(["cc", "-shared", "-fPIC", ROOT / "tests" / "cli" / "fail_malloc.c", "-o", "fail.so", "-ldl"], check=True)
    shutil.copy("fresh.db", "app.db")
    before, whole, endings, at = schema("fresh.db"), ok("adopt", "app.db"), set(), 1
    while endings != {0, 1}:
        shutil.copy("fresh.db", "app.db")
        done = subprocess.run([PROGRAM, "adopt", "app.db"], env={**os.environ, "LD_PRELOAD": "./fail.so", "FAIL_MALLOC_AT": str(at)},
                              capture_output=True, text=True)
        assert done.returncode == 0 or done.stderr.startswith("sqlite-counter: "), (at, done)
        assert done.returncode == 1 or schema("app.db") != before, at
        if schema("app.db") != before:
            assert not {kind for _, kind in plan()} & {"replicate", "autoincrement", "key"}, at
        if done.returncode == 1 or done.stdout == whole:
            endings.add(done.returncode)
        at += 401
