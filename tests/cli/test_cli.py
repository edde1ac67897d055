"""test_cli.py - the program sqlite-counter: what each command prints, and that files which it merges, in
any order and by any way, hold the sum of what was counted."""

import os
import pathlib
import random
import re
import shutil
import sqlite3
import subprocess
import uuid

import pytest

from program import (COMMANDS, PAGE, PRODUCTS, PROGRAM, ROOT, UUID, VIEWS, connect, digest, fails, make, ok, rows, run,
                     table)

SEED = int(os.environ.get("COUNTER_SEED") or random.randrange(2**32))


# ---- usage ----

def test_help_names_every_command_and_each_has_help_of_its_own():
    told = ok("--help")
    assert told == ok("-h") == ok("help") and told.startswith("usage: sqlite-counter ")
    for command in COMMANDS:
        assert re.search(rf"^  {command} ", told, re.M)
        of = ok(command, "--help")
        assert of.startswith(f"usage: sqlite-counter {command} ") and of == ok(command, "x.db", "-h") == ok("help", command)
    assert ok("import", "--help").startswith("usage: sqlite-counter import FILE < BATCHES\n")
    assert max(len(line) for command in COMMANDS for line in ok(command, "--help").splitlines()) <= 100


def test_the_version_is_that_of_the_library_and_of_sqlite():
    version = re.search(r'COUNTER_VERSION "(.*)"', (ROOT / "include" / "counter.h").read_text())[1]
    assert re.fullmatch(rf"sqlite-counter {re.escape(version)}, SQLite 3\.\d+\.\d+\n", ok("--version"))


@pytest.mark.parametrize("words, sentence", [
    ([], "a command is missing: see sqlite-counter --help"),
    (["blend", "a.db"], "there is no command 'blend': see sqlite-counter --help"),
    (["--sideways"], "there is no command '--sideways': see sqlite-counter --help"),
    (["help", "blend"], "there is no command 'blend': see sqlite-counter --help"),
    (["sync", "a.db"], "sync takes [OPTION...] FILE OTHER, not 1 argument: see sqlite-counter sync --help"),
    (["sync", "a", "b", "c"], "sync takes [OPTION...] FILE OTHER, not 3 arguments: see sqlite-counter sync --help"),
    (["status"], "status takes FILE [DIRECTORY], not 0 arguments: see sqlite-counter status --help"),
    (["track", "a.db", "t"], "track takes FILE TABLE COLUMN..., not 2 arguments: see sqlite-counter track --help"),
    (["opening", "a.db", "t"], "opening takes FILE TABLE same|add [ID...], not 2 arguments: see sqlite-counter opening --help"),
    (["grant", "a.db", "t", "k"], "grant takes FILE TABLE KEY N --to DEVICE, not 3 arguments: see sqlite-counter grant --help"),
    (["grant", "a.db", "views", "/", "1"], "grant needs --to, the path or the id of the file that may take then: see sqlite-counter grant --help"),
    (["grant", "a.db", "views", "/", "1", "--to"], "--to needs the path or the id of a file"),
    (["check", "--all", "a.db"], "check has no option --all: see sqlite-counter check --help"),
    (["import", "--since", "1", "a.db"], "import has no option --since: see sqlite-counter import --help"),
    (["export", "--since", "5", "--since=6", "a.db"], "--since is given twice"),
    (["export", "--own=1", "a.db"], "export has no option --own=1: see sqlite-counter export --help"),
    (["export", "a.db", "--scope"], "--scope needs the first values of a key, such as --scope '[\"store 7\"]'"),
    (["export", "--watch", "a.db"], "export has no option --watch: see sqlite-counter export --help"),
    (["export", "a.db", "--since"], "--since needs a mark, such as --since 0"),
    *((["export", "--since", mark, "a.db"], f"--since needs a whole number from 0 to 9223372036854775807, not '{mark}'")
      for mark in ["", "x", "-1", "1.5", "1 ", "9223372036854775808"])])
def test_wrong_usage_is_told_with_status_2(place, words, sentence):
    fails(re.escape(sentence), *words, status=2)


def test_a_file_whose_name_begins_with_a_dash_stands_behind_two(place):
    os.rename("a.db", "-a.db")
    assert ok("status", "--", "-a.db") == ok("status", "./-a.db")
    fails("status has no option -a.db: see sqlite-counter status --help", "status", "-a.db", status=2)


def test_files_that_are_named_like_schemas_are_merged(place):
    os.rename("a.db", "main")
    os.rename("b.db", "temp")
    ok("sync", "main", "temp")
    assert rows("main") == rows("temp") == [("/", 5, 50), ("/a", 2, 20)]


# ---- sync ----

def test_sync_tells_each_table_and_direction(place):
    assert table(ok("sync", "a.db", "b.db")) == [["views", "b.db", "a.db", "1", "1", "0", ""],
                                                 ["views", "a.db", "b.db", "2", "2", "0", ""]]
    assert rows("a.db") == rows("b.db") == [("/", 5, 50), ("/a", 2, 20)]
    assert [row[4] for row in table(ok("sync", "b.db", "a.db"))] == ["0", "0"]


def test_an_empty_file_gets_the_tables_of_the_other_one_on_either_side(place):
    for name in "c.db", "d.db":
        (place / name).touch()
    assert table(ok("sync", "a.db", "c.db")) == [["views", "a.db", "c.db", "2", "2", "0", "created in c.db, which was empty"]]
    assert [row[:3] for row in table(ok("sync", "d.db", "a.db"))] == [["views", "a.db", "d.db"], ["views", "d.db", "a.db"]]
    assert digest("a.db") == digest("c.db") == digest("d.db")


def test_what_the_first_direction_brought_stays_and_is_told_if_the_second_fails(place):
    make("a.db", "CREATE VIRTUAL TABLE more USING counter(k PRIMARY KEY, n COUNTER)")
    make("b.db", "CREATE VIEW more AS SELECT 1")
    status, out, error = run("sync", "a.db", "b.db")
    assert (status, out) == (1, "views\tb.db\ta.db\t1\t1\t0\t\n")
    assert re.fullmatch("sqlite-counter: b.db: taking from a.db: table more: .*\n", error)
    assert rows("a.db") == [("/", 5, 50), ("/a", 2, 20)] and rows("b.db") == [("/", 4, 40)]


def test_a_table_that_is_not_tracked_in_the_other_file_is_told_with_what_tracks_it(place):
    make("till.db", PRODUCTS, "SELECT counter_track('products', 'stock')", "INSERT INTO products VALUES ('tea', 'Tea', 3)")
    make("plain.db", PRODUCTS)
    before = digest("till.db", "products_counters")
    sentence = ("plain.db: table products is not tracked, as it is in till.db: sqlite-counter track plain.db products stock "
                "tracks it, and the sync asks about values that both files had when they began to, and adds all others up")
    fails(sentence, "sync", "till.db", "plain.db")
    fails(sentence, "sync", "plain.db", "till.db")
    assert digest("till.db", "products_counters") == before
    make("other.db", "CREATE TABLE views(a)")
    fails("other.db: table views is an ordinary table, in a.db it is a counter table", "sync", "other.db", "a.db")
    ok("track", "plain.db", "products", "stock")
    ok("sync", "till.db", "plain.db")
    assert rows("plain.db", "SELECT sku, stock FROM products") == [("tea", 3)]


@pytest.mark.parametrize("counters", [["stock"], []])
def test_a_table_that_is_not_replicated_in_the_other_file_is_told_with_what_replicates_it(place, counters):
    names = "".join(f", '{counter}'" for counter in counters)
    make("till.db", PRODUCTS, f"SELECT counter_replicate('products'{names})", "INSERT INTO products VALUES ('tea', 'Tea', 3)")
    make("plain.db", PRODUCTS)
    call = " ".join(["replicate plain.db products", *counters])
    sentence = ("plain.db: table products is not replicated, as it is in till.db: put a copy of till.db in its place if it has no rows of "
                f"its own; else sqlite-counter {call} replicates it, and the sync asks about values that both files had when they began to, and adds all others up")
    fails(sentence, "sync", "till.db", "plain.db")
    fails(sentence, "sync", "plain.db", "till.db")
    ok(*call.split())
    ok("sync", "till.db", "plain.db")
    assert rows("plain.db", "SELECT sku, name, stock FROM products") == [("tea", "Tea", 3)]


def test_a_table_with_spread_keys_that_is_not_replicated_in_the_other_file_is_to_come_as_a_copy(place):
    """Rows that both files gave one number before they replicated would be one row."""
    orders = "CREATE TABLE orders(id INTEGER PRIMARY KEY AUTOINCREMENT, item TEXT)"
    make("till.db", orders, "INSERT INTO orders(item) VALUES ('tea')", "SELECT counter_replicate('orders', 'keys=spread')")
    make("plain.db", orders, "INSERT INTO orders(item) VALUES ('jam')")
    sentence = ("plain.db: table orders is not replicated, as it is in till.db: write what plain.db alone has into till.db, rows without "
                "their numbers, and put a copy of till.db in its place: if both replicate it apart, one number is one row")
    fails(sentence, "sync", "till.db", "plain.db")
    fails(sentence, "sync", "plain.db", "till.db")


def test_a_table_that_the_other_file_tracks_is_only_made_where_that_is_said(place):
    make("till.db", PRODUCTS, "SELECT counter_track('products', 'stock')", "INSERT INTO products VALUES ('tea', 'Tea', 3)")
    (place / "report.db").touch()
    sentence = ("report.db: taking from till.db: table products: the giving file tracks it, and main has no such table: "
                r"CREATE TABLE products\(sku TEXT, stock INTEGER, PRIMARY KEY \(sku\)\) with the other columns that it has "
                r"there, then call counter_track\('products', 'stock'\)")
    fails(sentence, "sync", "till.db", "report.db")
    fails(sentence, "sync", "report.db", "till.db")
    assert table(ok("sync", "--create-tables", "till.db", "report.db"))[0][6] == "created in report.db, which was empty"
    assert rows("report.db", "SELECT sku, stock FROM products") == [("tea", 3)]
    fails("export has no option --create-tables: see sqlite-counter export --help", "export", "--create-tables", "till.db", status=2)


def test_rows_that_a_table_does_not_take_are_told(place):
    strict = PRODUCTS.replace("name TEXT", "name TEXT NOT NULL")
    make("o.db", strict, "SELECT counter_track('products', 'stock')")
    make("p.db", strict, "SELECT counter_track('products', 'stock')", "INSERT INTO products VALUES ('tea', 'T', 5)")
    for words in ["sync", "o.db", "p.db"], ["sync", "p.db", "o.db"]:
        status, out, error = run(*words)
        assert (status, len(table(out))) == (0, 2)
        assert error == "sqlite-counter: o.db: 1 row waits for its table: see sqlite-counter status o.db\n"
    make("o.db", "INSERT INTO products VALUES ('tea', 'T', 0)")
    ok("sync", "o.db", "p.db")
    for name in "o.db", "p.db":
        make(name, "UPDATE products SET stock = stock - 4")
    status, _, error = run("sync", "o.db", "p.db")
    assert status == 0
    assert error == "".join(f"sqlite-counter: {name}: 1 row differs from what was merged: see sqlite-counter status {name}\n"
                            for name in ["o.db", "p.db"])


def test_a_merge_heeds_foreign_keys(place):
    sql = ["CREATE TABLE shops(name TEXT PRIMARY KEY)",
           "CREATE TABLE sales(shop TEXT PRIMARY KEY REFERENCES shops, n INTEGER NOT NULL DEFAULT 0)",
           "SELECT counter_track('sales', 'n')"]
    make("c.db", *sql, "INSERT INTO shops VALUES ('x')", "INSERT INTO sales VALUES ('x', 3)")
    make("d.db", *sql)
    assert run("sync", "c.db", "d.db")[0] == 0
    assert rows("d.db", "SELECT * FROM sales") == []
    assert ["waits", "sales", "n", "('x')", "", "3"] in table(ok("status", "d.db"))


def test_what_a_sync_deletes_and_columns_that_do_not_travel_are_told(place):
    many = "WITH RECURSIVE i(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM i WHERE n < 30) INSERT INTO products SELECT n, n, 0 FROM i"
    make("q.db", PRODUCTS, "SELECT counter_replicate('products', 'stock')", many)
    make("r.db", PRODUCTS, "SELECT counter_replicate('products', 'stock')")
    assert run("sync", "q.db", "r.db")[2] == ""
    make("q.db", "DELETE FROM products WHERE stock = 0 AND sku > '2'")
    make("r.db", "ALTER TABLE products ADD COLUMN weight")
    missing = "sqlite-counter: r.db: table products: column weight does not travel yet: call counter_replicate('products')\n"
    status, out, error = run("sync", "r.db", "q.db")
    gone = 30 - rows("q.db", "SELECT count(*) FROM products")[0][0]
    told = f"this merge deleted {gone} of 30 rows"
    assert (status, error) == (0, f"{missing}sqlite-counter: r.db: table products: {told}\n")
    assert [row[6] for row in table(out)] == [f"column weight does not travel yet: call counter_replicate('products'); {told}",
                                              "in ./r.db: column weight does not travel yet: call counter_replicate('products')"]
    assert ["warning", "products", "column weight does not travel yet: call counter_replicate('products')"] in table(ok("status", "r.db"))
    run("folder", "folder")
    assert run("sync", "r.db", "folder")[2] == missing
    assert run("import", "r.db", text=ok("export", "q.db"))[2] == missing


def test_a_table_that_a_sync_passes_over_is_told_with_both_files_and_is_no_error(place):
    make("q.db", PRODUCTS, "SELECT counter_replicate('products', 'stock')", "INSERT INTO products VALUES ('tea', 'Tea', 1)")
    make("r.db", PRODUCTS, "SELECT counter_replicate('products')", "INSERT INTO products VALUES ('jam', 'Jam', 2)")
    status, out, error = run("sync", "q.db", "r.db")
    told = ["passed over: column stock is a counter in q.db and a regular column in ./r.db: counter_replicate('products', 'stock') there "
            "makes it a counter", "passed over: column stock is a counter in ./q.db and a regular column in r.db: "
            "counter_replicate('products', 'stock') there makes it a counter"]
    assert (status, [row[6] for row in table(out)]) == (0, told)
    assert error == "".join(f"sqlite-counter: {file}: table products: {sentence}\n" for file, sentence in zip(["q.db", "r.db"], told))
    make("r.db", "SELECT counter_replicate('products', 'stock')")
    assert run("sync", "q.db", "r.db")[::2] == (0, "")
    for file in "q.db", "r.db":
        assert rows(file, "SELECT sku, stock FROM products ORDER BY sku") == [("jam", 2), ("tea", 1)]


def test_status_tells_of_a_foreign_key_whose_rows_do_not_travel_and_a_sync_by_a_folder_does_not(place):
    make("s.db", "CREATE TABLE shelves(id TEXT PRIMARY KEY)", "CREATE TABLE p(k TEXT PRIMARY KEY, shelf REFERENCES shelves)",
         "SELECT counter_replicate('p')")
    assert ["warning", "p", "column shelf refers to shelves, which is not replicated: rows of other files may have no parent here: "
            "replicate it, too"] in table(ok("status", "s.db"))
    run("folder", "folder")
    assert run("sync", "s.db", "folder")[2] == ""


# ---- status ----

def test_status_tells_the_identity_the_tables_and_the_conflicts(place):
    make("s.db", "SELECT counter_init('home:till')", VIEWS, PRODUCTS, "SELECT counter_track('products', 'stock')",
         "INSERT INTO products VALUES ('tea', 'Tea', 3)", "INSERT INTO views VALUES ('/', 1, 1), ('/x', 1, 1)",
         "DELETE FROM views WHERE path = '/x'")
    told = table(ok("status", "s.db"))
    assert [row[0] for row in told[:5]] == ["id", "name", "fingerprint", "witness", "refuses"]
    assert re.fullmatch(UUID, told[0][1])
    assert told[1] == ["name", "home:till"] and told[4] == ["refuses", ""]
    assert told[5:] == [["table", "products_counters", "1"], ["counter", "products_counters", "stock"],
                        ["table", "views", "1"], ["counter", "views", "hits"], ["counter", "views", "bytes"],
                        ["tracked", "products", "stock"], ["conflicts", "0"]]


def test_status_tells_a_copy_and_why_a_file_does_not_count(place):
    make("s.db", "SELECT counter_init('home:till')", VIEWS, "INSERT INTO views VALUES ('/', 1, 1)")
    shutil.copy("s.db", "copy.db")
    told = dict(row for row in table(ok("status", "copy.db")) if len(row) == 2)
    assert told["fingerprint"] == "this is a copy: the file refuses to count"
    assert told["refuses"] == told["fingerprint"]
    before = pathlib.Path("copy.db").read_bytes()
    ok("status", "copy.db")
    assert pathlib.Path("copy.db").read_bytes() == before


def test_status_shows_the_identity_of_a_file_that_has_no_counter_table_yet(place):
    make("s.db", "SELECT counter_init('home:till')")
    told = table(ok("status", "s.db"))
    assert told[1] == ["name", "home:till"] and [row[0] for row in told] == ["id", "name", "fingerprint", "witness", "refuses"]


def test_status_tells_what_waits_and_what_differs(place):
    make("c.db", PRODUCTS.replace("name TEXT", "name TEXT NOT NULL"), "SELECT counter_track('products', 'stock')")
    make("d.db", PRODUCTS, "SELECT counter_track('products', 'stock')", "INSERT INTO products VALUES ('tea', 'T', 5)")
    run("sync", "c.db", "d.db")
    assert ["waits", "products", "stock", "('tea')", "", "5"] in table(ok("status", "c.db"))
    make("c.db", "INSERT INTO products VALUES ('tea', 'T', 0)")
    run("sync", "c.db", "d.db")
    for name in "c.db", "d.db":
        make(name, "UPDATE products SET stock = stock - 4")
    run("sync", "c.db", "d.db")
    assert ["differs", "products", "stock", "('tea')", "1", "-3"] in table(ok("status", "c.db"))


def test_tabs_and_ends_of_lines_in_names_are_escaped(place):
    make("s.db", 'CREATE VIRTUAL TABLE "a\tb\\c" USING counter(k PRIMARY KEY, "n\r\nm" COUNTER)')
    told = ok("status", "s.db").splitlines()
    assert "table\ta\\tb\\\\c\t0" in told and "counter\ta\\tb\\\\c\tn\\r\\nm" in told


# ---- track ----

def test_track_counts_what_is_there_once(place):
    make("t.db", PRODUCTS, "INSERT INTO products VALUES ('tea', 'Tea', 3), ('jam', 'Jam', 4)")
    assert ok("track", "t.db", "products", "stock") == "products\t2\n"
    assert ok("track", "t.db", "products", "stock") == "products\t0\n"
    shutil.copy("t.db", "u.db")
    make("t.db", "UPDATE products SET stock = stock - 1")
    make("u.db", "UPDATE products SET stock = stock + 10 WHERE sku = 'tea'")
    ok("sync", "t.db", "u.db")
    for name in "t.db", "u.db":
        assert rows(name, "SELECT sku, stock FROM products ORDER BY sku") == [("jam", 3), ("tea", 12)]


def test_track_takes_several_columns(place):
    make("t.db", "CREATE TABLE t(k TEXT PRIMARY KEY, a INT, b INT)", "INSERT INTO t VALUES (1, 2, 3)")
    assert ok("track", "t.db", "t", "a", "b") == "t\t1\n"
    assert [row for row in table(ok("status", "t.db")) if row[0] == "tracked"] == [["tracked", "t", "a"], ["tracked", "t", "b"]]


def test_rows_of_a_replicated_table_go_whole_by_sync_and_by_batches(place):
    make("t.db", PRODUCTS)
    shutil.copy("t.db", "u.db")
    for name in "t.db", "u.db":
        assert ok("replicate", name, "products", "stock") == "products\t0\n"
    make("t.db", "INSERT INTO products VALUES ('tea', 'Tea', 3), ('jam', 'Jam', 4)")
    ok("sync", "t.db", "u.db")
    make("t.db", "UPDATE products SET name = 'Green tea', stock = stock - 1 WHERE sku = 'tea'", "DELETE FROM products WHERE sku = 'jam'")
    make("u.db", "UPDATE products SET stock = stock + 5")
    run("import", "u.db", text=ok("export", "t.db"))
    run("import", "t.db", text=ok("export", "u.db"))
    for name in "t.db", "u.db":
        assert rows(name, "SELECT sku, name, stock FROM products") == [("tea", "Green tea", 7)]
    assert [row for row in table(ok("status", "t.db")) if row[0] == "regular"] == [["regular", "products", "name"]]


def test_track_takes_an_option_among_the_columns(place):
    make("t.db", "CREATE TABLE t(id INTEGER PRIMARY KEY, a INT, b INT)", "INSERT INTO t VALUES (1, 2, 3)")
    fails(r"t\.db: t: SQLite gives out the key id by itself, .*a natural key or UUIDs.*'keys=assigned'.*", "track", "t.db", "t", "a")
    fails(r"t\.db: unknown option 'keys=given'; the options are: 'keys=assigned', 'keys=changed', 'opening=same', 'opening=add', 'values=again', 'missing=restored', 'missing=deleted'",
          "track", "t.db", "t", "a", "keys=given")
    assert run("track", "t.db", "t", "a", "keys=assigned", "b") == (0, "t\t1\n", "")


def test_values_of_copies_are_one_if_each_file_says_so_when_it_begins_to_track(place):
    for name in "t.db", "u.db":
        make(name, PRODUCTS, "INSERT INTO products VALUES ('tea', 'Tea', 3)")
        assert ok("track", name, "products", "stock", "opening=same") == "products\t1\n"
    ok("sync", "t.db", "u.db")
    assert [rows(name, "SELECT stock FROM products") for name in ("t.db", "u.db")] == [[(3,)], [(3,)]]


# ---- opening ----

def test_opening_answers_what_sync_asks_and_repairs_what_was_added_up(place):
    for name in "t.db", "u.db":
        make(name, PRODUCTS, "INSERT INTO products VALUES ('tea', 'Tea', 3)")
        ok("track", name, "products", "stock")
    status, _, asked = run("sync", "t.db", "u.db")
    id = re.search(rf"SELECT counter_opening\('products', 'add', '({UUID})'\)", asked)[1]
    assert status == 1 and "two files counted the values that they had" in asked
    assert ok("opening", "t.db", "products", "add", id) == "products\t0\n"
    ok("sync", "t.db", "u.db")
    assert [rows(name, "SELECT stock FROM products") for name in ("t.db", "u.db")] == [[(6,)], [(6,)]]
    assert ok("opening", "t.db", "products", "same", id) == "products\t1\n"
    assert ok("opening", "t.db", "products", "same", id) == "products\t0\n"
    ok("sync", "t.db", "u.db")
    assert [rows(name, "SELECT stock FROM products") for name in ("t.db", "u.db")] == [[(3,)], [(3,)]]
    own, = rows("t.db", "SELECT name FROM counter_state WHERE kind = 'opening'")[0]
    assert ok("opening", "u.db", "products", "add", id, str(uuid.UUID(bytes=own))) == "products\t0\n"


def test_an_answer_that_is_none_is_refused(place):
    make("t.db", PRODUCTS, "SELECT counter_track('products', 'stock')")
    fails(r"t\.db: the answer must be 'same' or 'add', not TEXT 'both'", "opening", "t.db", "products", "both")
    fails(r"t\.db: 'add' needs the opening of the other file, which the refused merge shows", "opening", "t.db", "products", "add")
    fails(r"t\.db: there is no tracked table 'other'", "opening", "t.db", "other", "same")


# ---- check ----

def test_check_finds_no_damage_in_sound_files(place):
    make("a.db", PRODUCTS, "SELECT counter_track('products', 'stock')")
    before = (place / "a.db").read_bytes()
    assert ok("check", "a.db") == "products_counters\tok\nviews\tok\n"
    assert (place / "a.db").read_bytes() == before


def test_check_tells_damaged_tables_and_goes_on_to_the_next(place):
    make("a.db", "INSERT INTO views(views) VALUES ('optimize')", VIEWS.replace("views", "zebras"),
         PRODUCTS, "SELECT counter_track('products', 'stock')")
    plain = sqlite3.connect("a.db", isolation_level=None)
    plain.execute("UPDATE views_cells SET hits = x'00' WHERE path = '/'")
    trigger, = plain.execute("SELECT name FROM sqlite_master WHERE type = 'trigger' AND tbl_name = 'products' LIMIT 1").fetchone()
    plain.execute(f'DROP TRIGGER "{trigger}"')
    plain.close()
    status, out, error = run("check", "a.db")
    told = table(out)
    assert status == 1
    assert [row[:2] for row in told] == [["products_counters", "ok"], ["views", "damaged"], ["zebras", "ok"],
                                         ["products", "damaged"]]
    assert told[1][2].startswith("views: ") and told[3][2] == "the triggers of the tracked table are not whole"
    assert error == "sqlite-counter: a.db: damaged counter tables: 1, tracked tables with broken triggers: 1\n"


def test_check_tells_tables_whose_pages_were_overwritten_beside_sound_ones(place):
    make("a.db", VIEWS.replace("views", "apples"), VIEWS.replace("views", "zebras"), "INSERT INTO zebras VALUES ('/', 1, 1)",
         "INSERT INTO views(views) VALUES ('optimize')")
    root, = connect("a.db").execute("SELECT rootpage FROM sqlite_master WHERE name = 'views_cells'").fetchone()
    size, = connect("a.db").execute("PRAGMA page_size").fetchone()
    with open("a.db", "r+b") as file:
        file.seek((root - 1) * size)
        file.write(b"\x55" * size)
    before = (place / "a.db").read_bytes()
    status, out, error = run("check", "a.db")
    told = table(out)
    assert status == 1 and [row[:2] for row in told] == [["apples", "ok"], ["views", "damaged"], ["zebras", "ok"]]
    assert "malformed" in told[1][2]
    assert error == "sqlite-counter: a.db: damaged counter tables: 1, tracked tables with broken triggers: 0\n"
    assert (place / "a.db").read_bytes() == before


def test_check_tells_what_it_has_found_before_an_error(place):
    make("a.db", PRODUCTS, "SELECT counter_track('products', 'stock')")
    make("a.db", "INSERT INTO views(views) VALUES ('optimize')")
    plain = sqlite3.connect("a.db", isolation_level=None)
    plain.execute("DROP TABLE views_cells")
    plain.close()
    status, out, error = run("check", "a.db")
    assert status == 1 and out.startswith("products_counters\tok\n") and len(error.splitlines()) == 1


# ---- merging equals counting in one place ----

def through_a_pipe(one, two):
    with subprocess.Popen([PROGRAM, "export", one], stdout=subprocess.PIPE) as giving:
        taking = subprocess.run([PROGRAM, "import", two], stdin=giving.stdout, capture_output=True)
    assert (giving.returncode, taking.returncode, taking.stderr) == (0, 0, b"")


def test_files_merged_at_random_and_repeatedly_show_the_sum_of_all(tmp_path, monkeypatch):
    print("COUNTER_SEED =", SEED)
    chance = random.Random(SEED)
    monkeypatch.chdir(tmp_path)
    files, counted = [f"{n}.db" for n in range(4)], {}
    for name in files:
        make(name, VIEWS, "CREATE TABLE stock(item TEXT PRIMARY KEY, n INTEGER NOT NULL DEFAULT 0)")
        ok("track", name, "stock", "n")
    for _ in range(12):
        name, sql = chance.choice(files), []
        for _ in range(chance.randrange(1, 6)):
            key, n = chance.choice("xyz"), chance.randrange(-9, 10)
            sql += [f"INSERT INTO views(path, hits) VALUES ('{key}', {n})",
                    f"INSERT INTO stock VALUES ('{key}', {n}) ON CONFLICT DO UPDATE SET n = n + {n}"]
            counted[key] = counted.get(key, 0) + n
        make(name, *sql)
        for _ in range(2):
            one, two = chance.sample(files, 2)
            chance.choice([lambda one, two: ok("sync", one, two), through_a_pipe])(one, two)
    pairs = [(one, two) for one in files for two in files if one != two]
    chance.shuffle(pairs)
    for one, two in 2 * pairs:
        through_a_pipe(one, two)
    for name in 2 * files[1:]:
        ok("sync", files[0], name)
    for name in files:
        assert dict(rows(name, "SELECT path, hits FROM views")) == counted
        assert dict(rows(name, "SELECT item, n FROM stock")) == counted
        assert set(ok("check", name).split()) == {"ok", "stock_counters", "views"}


# ---- the page of the manual ----

@pytest.mark.skipif(not shutil.which("groff"), reason="no groff")
def test_the_page_of_the_manual_is_set_without_a_warning():
    done = subprocess.run(["groff", "-ww", "-mandoc", "-Tutf8", "-z", PAGE], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_page_of_the_manual_names_every_command_and_kind():
    text = PAGE.read_text()
    for command in COMMANDS:
        assert re.search(rf"^\.It Cm {command} ", text, re.M)
    for option in re.findall(r"--([a-z-]+)", "".join(ok(command, "--help") for command in ("plan", "adopt", "merge", "grant"))):
        assert re.search(rf"Fl -{option}\b", text), option
    for kind in "id", "name", "fingerprint", "refuses", "table", "counter", "tracked", "waits", "bounded", "conflicts":
        assert re.search(rf"^\.It Cm {kind} ", text, re.M)
