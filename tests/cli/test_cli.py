"""test_cli.py - the program sqlite-counter: what each command prints, each error in one sentence, and
that files which it merges, in any order and by any way, hold the sum of what was counted."""

import json
import os
import pathlib
import pty
import random
import re
import select
import shutil
import sqlite3
import subprocess
import tempfile
import time

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = ROOT / "build" / "sqlite-counter"
PAGE = ROOT / "cli" / "sqlite-counter.1"
SEED = int(os.environ.get("COUNTER_SEED") or random.randrange(2**32))
UUID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
COMMANDS = ["sync", "status", "track", "check", "export", "import"]
ON_ONE_FILE = ["status", "check", "export", "import"]


def run(*words, text="", folder=None, **options):
    """With the streams piped; the three things that a script sees."""
    done = subprocess.run([PROGRAM, *map(str, words)], input=text, cwd=folder, capture_output=True, text=True, **options)
    return done.returncode, done.stdout, done.stderr


def ok(*words, **options):
    status, out, error = run(*words, **options)
    assert (status, error) == (0, ""), error
    return out


def table(text):
    return [line.split("\t") for line in text.splitlines()]


def fails(sentence, *words, status=1, **options):
    """The sentence is a pattern; nothing is printed beside it."""
    seen, out, error = run(*words, **options)
    assert (seen, out) == (status, "")
    assert re.fullmatch(f"sqlite-counter: {sentence}\n", error), error


def connect(path, timeout=5.0):
    db = sqlite3.connect(path, timeout=timeout, isolation_level=None)
    db.enable_load_extension(True)
    db.load_extension(str(ROOT / "build" / "counter"))
    return db


def make(path, *sql):
    db = connect(path)
    for statement in sql:
        db.execute(statement).fetchall()
    db.close()


VIEWS = "CREATE VIRTUAL TABLE views USING counter(path TEXT PRIMARY KEY, hits COUNTER, bytes COUNTER)"
PRODUCTS = "CREATE TABLE products(sku TEXT PRIMARY KEY, name TEXT, stock INTEGER NOT NULL DEFAULT 0 CHECK (stock >= 0))"


def digest(path, name="views"):
    db = connect(path)
    try:
        return db.execute("SELECT counter_table_digest(?)", [name]).fetchone()[0]
    finally:
        db.close()


def rows(path, sql="SELECT path, hits, bytes FROM views ORDER BY path"):
    db = connect(path)
    try:
        return db.execute(sql).fetchall()
    finally:
        db.close()


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder with two files of their own that have counted."""
    monkeypatch.chdir(tmp_path)
    make("a.db", VIEWS, "INSERT INTO views VALUES ('/', 1, 10), ('/a', 2, 20)")
    make("b.db", VIEWS, "INSERT INTO views VALUES ('/', 4, 40)")
    return tmp_path


# ---- usage ----

def test_help_names_every_command_and_each_has_help_of_its_own():
    told = ok("--help")
    assert told == ok("-h") and told.startswith("usage: sqlite-counter ")
    for command in COMMANDS:
        assert re.search(rf"^  {command} ", told, re.M)
        of = ok(command, "--help")
        assert of.startswith(f"usage: sqlite-counter {command} ") and of == ok(command, "x.db", "-h")
    assert max(len(line) for command in COMMANDS for line in ok(command, "--help").splitlines()) <= 100


def test_the_version_is_that_of_the_library_and_of_sqlite():
    version = re.search(r'COUNTER_VERSION "(.*)"', (ROOT / "include" / "counter.h").read_text())[1]
    assert re.fullmatch(rf"sqlite-counter {re.escape(version)}, SQLite 3\.\d+\.\d+\n", ok("--version"))


@pytest.mark.parametrize("words, sentence", [
    ([], "a command is missing: see sqlite-counter --help"),
    (["merge", "a.db"], "there is no command 'merge': see sqlite-counter --help"),
    (["--sideways"], "there is no command '--sideways': see sqlite-counter --help"),
    (["sync", "a.db"], "sync takes A.db B.db, not 1 argument: see sqlite-counter sync --help"),
    (["sync", "a", "b", "c"], "sync takes A.db B.db, not 3 arguments: see sqlite-counter sync --help"),
    (["status"], "status takes FILE, not 0 arguments: see sqlite-counter status --help"),
    (["track", "a.db", "t"], "track takes FILE TABLE COLUMN..., not 2 arguments: see sqlite-counter track --help"),
    (["check", "--all", "a.db"], "check has no option --all: see sqlite-counter check --help"),
    (["import", "--since", "1", "a.db"], "import has no option --since: see sqlite-counter import --help"),
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


# ---- errors of files ----

def words_for(command, path):
    return {"sync": ["sync", path, "b.db"], "track": ["track", path, "t", "n"]}.get(command, [command, path])


@pytest.mark.parametrize("command", COMMANDS)
def test_a_file_that_is_missing_or_no_database_is_told_and_none_is_created(place, command):
    before = sorted(path.name for path in place.iterdir())
    fails(": there is no such file", *words_for(command, ""))
    fails("no.db: there is no such file", *words_for(command, "no.db"))
    fails(r"\.: it is no file, but a folder or a device", *words_for(command, "."))
    fails("a.db/x: Not a directory", *words_for(command, "a.db/x"))
    if command == "sync":
        fails("no.db: there is no such file", "sync", "b.db", "no.db")
    assert sorted(path.name for path in place.iterdir()) == before
    (place / "text").write_bytes(b"no database" * 100)
    fails("text: file is not a database", *words_for(command, "text"))
    assert (place / "text").read_bytes() == b"no database" * 100


@pytest.mark.parametrize("command", ON_ONE_FILE)
def test_a_file_without_counter_tables_is_told(place, command):
    make("plain.db", "CREATE TABLE t(a)")
    fails("plain.db: the file has no counter tables", command, "plain.db")
    (place / "empty.db").touch()
    fails("empty.db: the file has no counter tables", command, "empty.db")


def test_two_files_without_counter_tables_have_nothing_to_merge(place):
    make("c.db", "CREATE TABLE t(a)")
    make("d.db", "CREATE TABLE t(a)")
    fails("c.db: the file has no counter tables, nor has d.db", "sync", "c.db", "d.db")


def test_a_file_is_not_merged_with_itself_whatever_its_name(place):
    os.link("a.db", "hard.db")
    os.symlink("a.db", "soft.db")
    for other in "a.db", "./a.db", "hard.db", "soft.db":
        fails(re.escape(f"a.db and {other} are the same file"), "sync", "a.db", other)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_file_of_a_newer_format_is_refused_and_not_changed(place, command):
    make("n.db", VIEWS, PRODUCTS)
    sqlite3.connect("n.db", isolation_level=None).execute("UPDATE counter_replica SET format = 99")
    before = (place / "n.db").read_bytes()
    words = ["track", "n.db", "products", "stock"] if command == "track" else words_for(command, "n.db")
    batch = ok("export", "a.db")
    fails(r"n\.db: .*the file was written by a newer version: format 99, this library knows 2.*", *words, text=batch)
    assert (place / "n.db").read_bytes() == before


def test_a_table_or_a_column_that_is_not_there_is_named(place):
    make("a.db", PRODUCTS)
    fails("a.db: counter_track: .*'?nothing'?.*", "track", "a.db", "nothing", "n")
    fails("a.db: counter_track: .*price.*", "track", "a.db", "products", "price")
    fails("a.db: counter_track: .*name.*", "track", "a.db", "products", "name")
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


def test_a_read_only_file_is_read_and_not_written():
    """Root may write everything, so another user calls."""
    other = {"user": "nobody"} if os.geteuid() == 0 else {}
    if other and subprocess.run(["su", "-s", "/bin/sh", "-c", f"test -x '{PROGRAM}'", "nobody"],
                                capture_output=True).returncode:
        pytest.skip("another user cannot run the program")
    folder = tempfile.mkdtemp()
    try:
        for name in "a.db", "b.db":
            make(f"{folder}/{name}", VIEWS, PRODUCTS, "INSERT INTO views VALUES ('/', 1, 1)")
            os.chmod(f"{folder}/{name}", 0o444)
        os.chmod(folder, 0o755)
        batch = ok("export", "a.db", folder=folder, **other)
        assert table(ok("status", "a.db", folder=folder, **other))[5] == ["table", "views", "1"]
        for words in ["check", "a.db"], ["track", "a.db", "products", "stock"], ["import", "a.db"], ["sync", "a.db", "b.db"]:
            fails("a.db: the file cannot be written, it is read-only", *words, folder=folder, text=batch, **other)
        os.chmod(f"{folder}/a.db", 0o666)
        fails("b.db: the file cannot be written, it is read-only", "sync", "a.db", "b.db", folder=folder, **other)
    finally:
        shutil.rmtree(folder)


def test_output_that_cannot_be_written_is_told(place):
    with open("/dev/full", "w") as full:
        done = subprocess.run([PROGRAM, "export", "a.db"], stdout=full, stderr=subprocess.PIPE, text=True)
    assert (done.returncode, done.stderr) == (1, "sqlite-counter: standard output cannot be written\n")


def test_an_error_is_one_line_whatever_is_in_a_name(place):
    fails(r"a\?b\?\?\[K: there is no such file", "status", "a\nb\r\x1b[K")


# ---- sync ----

def test_sync_tells_each_table_and_direction(place):
    assert table(ok("sync", "a.db", "b.db")) == [["views", "b.db", "a.db", "1", "1", "0", ""],
                                                 ["views", "a.db", "b.db", "2", "2", "0", ""]]
    assert rows("a.db") == rows("b.db") == [("/", 5, 50), ("/a", 2, 20)]
    assert [row[4] for row in table(ok("sync", "b.db", "a.db"))] == ["0", "0"]


def test_an_empty_file_gets_the_tables_of_the_other_one_on_either_side(place):
    for name in "c.db", "d.db":
        (place / name).touch()
    assert table(ok("sync", "a.db", "c.db")) == [["views", "a.db", "c.db", "2", "2", "0", "created in main, which was empty"]]
    assert [row[:3] for row in table(ok("sync", "d.db", "a.db"))] == [["views", "a.db", "d.db"], ["views", "d.db", "a.db"]]
    assert digest("a.db") == digest("c.db") == digest("d.db")


def test_what_the_first_direction_brought_stays_and_is_told_if_the_second_fails(place):
    make("a.db", "CREATE VIRTUAL TABLE more USING counter(k PRIMARY KEY, n COUNTER)")
    make("b.db", "CREATE TABLE more(k)")
    status, out, error = run("sync", "a.db", "b.db")
    assert (status, out) == (1, "views\tb.db\ta.db\t1\t1\t0\t\n")
    assert re.fullmatch("sqlite-counter: b.db: counter_pull: table more: .*\n", error)
    assert rows("a.db") == [("/", 5, 50), ("/a", 2, 20)] and rows("b.db") == [("/", 4, 40)]


def test_a_merge_heeds_foreign_keys(place):
    sql = ["CREATE TABLE shops(name TEXT PRIMARY KEY)",
           "CREATE TABLE sales(shop TEXT PRIMARY KEY REFERENCES shops, n INTEGER NOT NULL DEFAULT 0)",
           "SELECT counter_track('sales', 'n')"]
    make("c.db", *sql, "INSERT INTO shops VALUES ('x')", "INSERT INTO sales VALUES ('x', 3)")
    make("d.db", *sql)
    ok("sync", "c.db", "d.db")
    assert rows("d.db", "SELECT * FROM sales") == []
    assert ["waits", "sales", "n", "('x')", "", "3"] in table(ok("status", "d.db"))


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
    assert told["fingerprint"] == "this is a copy: it is refused to count"
    before = pathlib.Path("copy.db").read_bytes()
    ok("status", "copy.db")
    assert pathlib.Path("copy.db").read_bytes() == before


def test_status_tells_what_waits_and_what_differs(place):
    make("c.db", PRODUCTS.replace("name TEXT", "name TEXT NOT NULL"), "SELECT counter_track('products', 'stock')")
    make("d.db", PRODUCTS, "SELECT counter_track('products', 'stock')", "INSERT INTO products VALUES ('tea', 'T', 5)")
    ok("sync", "c.db", "d.db")
    assert ["waits", "products", "stock", "('tea')", "", "5"] in table(ok("status", "c.db"))
    make("c.db", "INSERT INTO products VALUES ('tea', 'T', 0)")
    ok("sync", "c.db", "d.db")
    for name in "c.db", "d.db":
        make(name, "UPDATE products SET stock = stock - 4")
    ok("sync", "c.db", "d.db")
    assert ["differs", "products", "stock", "('tea')", "1", "-3"] in table(ok("status", "c.db"))


def test_tabs_and_ends_of_lines_in_names_are_escaped(place):
    make("s.db", 'CREATE VIRTUAL TABLE "a\tb\\c" USING counter(k PRIMARY KEY, "n\r\nm" COUNTER)')
    told = ok("status", "s.db").splitlines()
    assert "table\ta\\tb\\\\c\t0" in told and "counter\ta\\tb\\\\c\tn\\r\\nm" in told


# ---- track ----

def test_track_counts_what_is_there_and_refuses_a_second_time(place):
    make("t.db", PRODUCTS, "INSERT INTO products VALUES ('tea', 'Tea', 3), ('jam', 'Jam', 4)")
    assert ok("track", "t.db", "products", "stock") == "products\t2\n"
    fails(r"t\.db: counter_track: products: column stock is tracked already", "track", "t.db", "products", "stock")
    shutil.copy("t.db", "u.db")
    make("t.db", "UPDATE products SET stock = stock - 1")
    make("u.db", "UPDATE products SET stock = stock + 10 WHERE sku = 'tea'")
    ok("sync", "t.db", "u.db")
    for name in "t.db", "u.db":
        assert rows(name, "SELECT sku, stock FROM products ORDER BY sku") == [("jam", 3), ("tea", 12)]


def test_track_takes_several_columns(place):
    make("t.db", "CREATE TABLE t(k INTEGER PRIMARY KEY, a INT, b INT)", "INSERT INTO t VALUES (1, 2, 3)")
    assert ok("track", "t.db", "t", "a", "b") == "t\t1\n"
    assert [row for row in table(ok("status", "t.db")) if row[0] == "tracked"] == [["tracked", "t", "a"], ["tracked", "t", "b"]]


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


# ---- export and import ----

def test_lines_of_export_are_batches_of_json_and_import_takes_them_in(place):
    lines = ok("export", "a.db").splitlines()
    batch = json.loads(lines[0])
    assert len(lines) == 1 and list(batch) == ["source", "since", "upto", "changes"]
    assert {(change["column"], change["cell"]["value"]) for change in batch["changes"]} == {
        ("hits", 1), ("bytes", 10), ("hits", 2), ("bytes", 20)}
    assert table(ok("import", "b.db", text=lines[0])) == [[batch["source"], "4", str(batch["upto"])]]
    assert rows("b.db") == [("/", 5, 50), ("/a", 2, 20)]
    once = digest("b.db")
    ok("import", "b.db", text=2 * (lines[0] + "\n\n"))
    assert digest("b.db") == once


def test_export_since_a_mark_gives_what_is_new(place):
    mark = table(ok("import", "b.db", text=ok("export", "a.db")))[0][2]
    assert ok("export", "--since", mark, "a.db") == ok("export", "a.db", f"--since={mark}") == ""
    assert ok("import", "b.db", text="") == ""
    make("a.db", "INSERT INTO views(path, hits) VALUES ('/new', 1)")
    news = ok("export", "--since", mark, "a.db")
    assert [change["key"] for change in json.loads(news)["changes"]] == [["/new"]] * news.count('"packed"')
    assert int(table(ok("import", "b.db", text=news))[0][2]) > int(mark)
    assert ("/new", 1, 0) in rows("b.db")


def test_a_mark_that_the_file_has_not_reached_is_refused(place):
    mark = int(table(ok("import", "b.db", text=ok("export", "a.db")))[0][2])
    assert ok("export", "--since", str(mark), "a.db") == ""
    fails(rf"a\.db: --since {mark + 1} is no mark of this file, whose changes end before {mark}", "export", "--since",
          str(mark + 1), "a.db")
    make("none.db", VIEWS)
    assert ok("export", "--since", "7", "none.db") == ""


def test_many_changes_are_several_lines_whose_marks_form_a_chain(place):
    db = connect("m.db")
    db.execute(VIEWS)
    for n in range(5):
        db.execute("INSERT INTO views SELECT value, 1, NULL FROM json_each(?)", [json.dumps([f"/{n}/{i}" for i in range(500)])])
    db.close()
    make("n.db", VIEWS)
    lines = ok("export", "m.db").splitlines(keepends=True)
    batches = [json.loads(line) for line in lines]
    assert len(batches) == 3 and batches[0]["since"] == 0
    assert [batch["upto"] for batch in batches[:-1]] == [batch["since"] for batch in batches[1:]]
    for batch in batches:
        assert all(batch["since"] <= change["seq"] < batch["upto"] for change in batch["changes"])
    mark = "SELECT counter_mark(?)", [batches[0]["source"]]
    for missing in lines[1:]:  # the mark stays where the first line ended
        ok("import", "n.db", text="".join(line for line in lines if line != missing))
        assert connect("n.db").execute(*mark).fetchone()[0] == batches[lines.index(missing) - 1]["upto"]
    assert table(ok("import", "n.db", text="".join(lines)))[0][1:] == ["2500", str(batches[-1]["upto"])]
    assert digest("n.db") == digest("m.db")
    (place / "batch.json").write_text("".join(lines))
    make("o.db", VIEWS)
    subprocess.run([ROOT / "sql" / "examples" / "json.sh", "import", "o.db", "batch.json"], check=True, capture_output=True)
    assert digest("o.db") == digest("m.db")
    assert connect("o.db").execute(*mark).fetchone()[0] == batches[-1]["upto"]


def test_json_sh_and_the_program_read_what_the_other_one_prints(place):
    script = ROOT / "sql" / "examples" / "json.sh"
    make("a.db", "DELETE FROM views WHERE path = '/a'", "INSERT INTO views(views, path) VALUES ('purge below', '!')",
         "INSERT INTO views(views) VALUES ('add column errors')", "INSERT INTO views(path, errors) VALUES ('ü\"''\\', 7)")
    by_script = subprocess.run([script, "export", "a.db"], check=True, capture_output=True, text=True).stdout
    by_program = ok("export", "a.db")
    one, two = json.loads(by_script), json.loads(by_program)
    assert sorted(map(json.dumps, one.pop("changes"))) == sorted(map(json.dumps, two.pop("changes"))) and one == two
    shutil.copy("b.db", "c.db")
    ok("import", "b.db", text=by_script)
    (place / "batch.json").write_text(by_program)
    subprocess.run([script, "import", "c.db", "batch.json"], check=True, capture_output=True)
    assert rows("b.db", "SELECT * FROM views") == rows("c.db", "SELECT * FROM views")
    assert ("ü\"'\\", 0, 0, 7) in rows("b.db", "SELECT * FROM views")
    assert digest("b.db") == digest("c.db")


GOOD = '{"source":"7529cd67-394b-3247-8020-f2a7272fc8d9","since":0,"upto":1,"changes":[]}'


@pytest.mark.parametrize("line, sentence", [
    ("{", "it is no JSON, or was cut short"),
    ("hello", "it is no JSON, or was cut short"),
    ("\0", "it is no JSON, or was cut short"),
    (GOOD[:-1], "it is no JSON, or was cut short"),
    (GOOD + GOOD, "it is no JSON, or was cut short"),
    ("[]", "it is no batch, which has source, since, upto and changes"),
    ("5", "it is no batch, which has source, since, upto and changes"),
    ('{"changes":{}}', "it is no batch, which has source, since, upto and changes"),
    (GOOD.replace("0,", "null,", 1), "counter_seen: since .*"),
    (GOOD.replace(":1,", ':"x",', 1), "counter_seen: upto .*"),
    (GOOD.replace("7529", "xxxx"), "counter_seen: source .*"),
    (GOOD.replace("[]", "[5]"), "change 1: packed has to be hexadecimal, not NULL"),
    (GOOD.replace("[]", '["x"]'), "change 1: malformed JSON")])
def test_a_line_that_is_no_batch_is_told_by_its_number_and_nothing_is_imported(place, line, sentence):
    good, before = ok("export", "a.db"), digest("b.db")
    fails(f"b.db: line 3: {sentence}: nothing was imported", "import", "b.db", text=f"{good}\n{line}\n{good}")
    assert digest("b.db") == before
    assert rows("b.db", "SELECT count(*) FROM counter_peers WHERE mark > 0") == [(0,)]


@pytest.mark.parametrize("field, value, sentence", [
    ("packed", "D1'); DROP TABLE views; --", "packed has to be hexadecimal, not .*"), ("packed", "D10", ".*not 'D10'"),
    ("packed", "D1", "counter_changes: .*"), ("packed", None, "packed .*NULL"), ("table", "other", "counter_changes: table other: .*"),
    ("column", "path", "counter_changes: .*"), ("generation", 0, "counter_changes: .*"), ("seq", "x", "counter_changes: .*"),
    ("key_columns", "k TEXT BINARY", "counter_changes: .*"), ("cell", None, "counter_changes: .*"), ("cell", {"life": 0}, ".*"),
    ("cell", {"life": 1, "shards": [{"id": "x", "clock": 1, "value": 1}]}, "counter_collect: .*")])
def test_a_change_that_was_forged_is_told_by_its_number_and_nothing_is_imported(place, field, value, sentence):
    batch, before = json.loads(ok("export", "a.db")), digest("b.db")
    batch["changes"][1][field] = value
    fails(f"b.db: line 1: change 2: {sentence}: nothing was imported", "import", "b.db", text=json.dumps(batch))
    assert digest("b.db") == before


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


# ---- a terminal ----

def screen(text):
    """What is left on a terminal."""
    lines, at = [""], 0
    for part in re.findall(r"\r\n|\n|\r|\x1b\[K|[^\r\n\x1b]+", text):
        if part in ("\n", "\r\n"):
            lines.append("")
            at = 0
        elif part == "\r":
            at = 0
        elif part == "\x1b[K":
            lines[-1] = lines[-1][:at]
        else:
            lines[-1] = lines[-1][:at] + part + lines[-1][at + len(part):]
            at += len(part)
    return [line for line in lines if line]


def on_a_terminal(*words, stdin=subprocess.DEVNULL):
    """All that was written to a terminal."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen([PROGRAM, *words], stdin=stdin, stdout=theirs, stderr=theirs)
    os.close(theirs)
    text = b""
    while select.select([ours], [], [], 20)[0]:
        try:
            part = os.read(ours, 65536)
        except OSError:
            break
        if not part:
            break
        text += part
    os.close(ours)
    return process.wait(), text.decode()


@pytest.fixture(scope="module")
def much(tmp_path_factory):
    """A file with 15,000 rows, and its export of three lines."""
    folder = tmp_path_factory.mktemp("much")
    db = connect(folder / "big.db")
    db.execute(VIEWS)
    for n in range(3):
        db.execute("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000) "
                   "INSERT INTO views SELECT ? || i, 1, NULL FROM n", [n])
    db.close()
    (folder / "big.json").write_text(ok("export", folder / "big.db"))
    return folder


def slowly(path):
    """A command that prints lines with pauses, so that work on them is long on any machine."""
    return f"while read -r line; do printf '%s\\n' \"$line\"; sleep 0.5; done < {path}"


def import_on_a_terminal(path):
    with subprocess.Popen(["bash", "-c", slowly(path)], stdout=subprocess.PIPE) as lines:
        return on_a_terminal("import", "c.db", stdin=lines.stdout)


@pytest.fixture
def other(tmp_path, monkeypatch):
    """A folder with a file that has the same table."""
    monkeypatch.chdir(tmp_path)
    make("c.db", VIEWS)
    return tmp_path


def test_long_work_shows_progress_on_a_terminal_and_erases_it(much, other):
    status, text = import_on_a_terminal(much / "big.json")
    assert status == 0
    assert re.search(r"\rimport c\.db: \d s, [1-9]\d+ changes\x1b\[K", text)
    titles, row = screen(text)
    assert titles.split() == ["source", "changes", "mark"] and re.fullmatch(UUID + r"  15000    \d+", row)
    assert digest("c.db") == digest(much / "big.db")


def test_progress_is_erased_before_an_error(much, other):
    (other / "cut.json").write_text((much / "big.json").read_text() + "{\n")
    status, text = import_on_a_terminal("cut.json")
    assert status == 1 and "\rimport c.db: " in text
    assert screen(text) == ["sqlite-counter: c.db: line 4: it is no JSON, or was cut short: nothing was imported"]


def test_nothing_of_progress_is_written_where_no_terminal_is(much, other):
    with subprocess.Popen(["bash", "-c", slowly(much / "big.json")], stdout=subprocess.PIPE) as lines:
        done = subprocess.run([PROGRAM, "import", "c.db"], stdin=lines.stdout, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert re.fullmatch(UUID + r"\t15000\t\d+\n", done.stdout)


def test_rows_stand_in_columns_on_a_terminal(place):
    status, text = on_a_terminal("sync", "a.db", "b.db")
    assert (status, screen(text)) == (0, ["table  from  to    read  changed  conflicts  note",
                                          "views  b.db  a.db  1     1        0          ",
                                          "views  a.db  b.db  2     2        0          "])


@pytest.mark.skipif(not shutil.which("tmux"), reason="no tmux")
def test_tmux_shows_progress_and_then_nothing_but_the_result(much, other):
    tmux = ["tmux", "-S", str(other / "socket"), "-f", "/dev/null"]

    def shown():
        return subprocess.run([*tmux, "capture-pane", "-p"], capture_output=True, text=True, check=True).stdout

    command = f"{slowly(much / 'big.json')} | {PROGRAM} import c.db; echo status $?; sleep 60"
    subprocess.run([*tmux, "new-session", "-d", "-x", "120", "-y", "20", "-c", str(other), "bash", "-c", command], check=True)
    try:
        seen, until = [shown()], time.monotonic() + 20
        while "status" not in seen[-1] and time.monotonic() < until:
            time.sleep(0.1)
            seen.append(shown())
        assert any(re.search(r"^import c\.db: \d s, \d+ changes", text) for text in seen)
        assert re.fullmatch(rf"source +changes +mark\n{UUID} +15000 +\d+\nstatus 0", seen[-1].strip())
    finally:
        subprocess.run([*tmux, "kill-server"])


# ---- the README and the page of the manual ----

def test_the_session_in_the_readme_shows_what_happens(place):
    text = (ROOT / "README.md").read_text()
    session, = re.findall(r"^```console\n(.*?)^```$", text, re.M | re.S)
    (place / "build").symlink_to(ROOT / "build")
    steps = re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", session, re.M)
    assert len(steps) > 5
    for command, shown in steps:
        done = subprocess.run(["sh", "-c", command], capture_output=True, text=True)
        assert done.stderr == "", command
        seen = "".join(line.rstrip() + "\n" for line in done.stdout.splitlines())
        pattern = UUID.join(map(re.escape, re.split(UUID, shown)))
        assert re.fullmatch(re.sub(r"\d{16}", r"\\d{16}", pattern), seen), f"{command}: {seen}"


@pytest.mark.skipif(not shutil.which("groff"), reason="no groff")
def test_the_page_of_the_manual_is_set_without_a_warning():
    done = subprocess.run(["groff", "-ww", "-mandoc", "-Tutf8", "-z", PAGE], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_page_of_the_manual_names_every_command_and_kind():
    text = PAGE.read_text()
    for command in COMMANDS:
        assert re.search(rf"^\.It Cm {command} ", text, re.M)
    for kind in "id", "name", "fingerprint", "refuses", "table", "counter", "tracked", "waits", "conflicts":
        assert re.search(rf"^\.It Cm {kind} ", text, re.M)
