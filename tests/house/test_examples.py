"""test_examples.py - changes.sh and json.sh carry everything from file to file, and say
what is wrong."""

import json
import pathlib
import shutil
import socket
import sqlite3
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
TABLES = [
    "page_views USING counter(path TEXT, hour INTEGER, hits COUNTER, bytes COUNTER, PRIMARY KEY (path, hour))",
    "\"it's \"\"x\"\"\" USING counter(at REAL, name TEXT COLLATE NOCASE, \"n, ü\" COUNTER, PRIMARY KEY (name, at))",
    "things USING counter(what PRIMARY KEY, n COUNTER)",
    "wide USING counter(a, b, c, d, e, f, g, n COUNTER, PRIMARY KEY (a, b, c, d, e, f, g))",
]
THINGS = [0, -1, 2**63 - 1, -2**63, 2**53 + 1, 0.1, -1e300, 1e18, 5e-324, float("inf"), float("-inf"), "7", "", "it's",
          'a"\\u0000\\', "a\nb\r\n\t\x01\x7f", "\0", "a\0b", "日🙂\uffff", b"", b"\x00\xff", b"b'", "X'00'", ".quit\n.quit"]
WAYS = ["changes.sh", "json.sh"]


def run(script, *arguments, text=None):
    return subprocess.run([ROOT / "examples" / script, *map(str, arguments)], input=text, capture_output=True)


def make(path, tables=TABLES):
    db = sqlite3.connect(path, isolation_level=None, timeout=10)
    db.enable_load_extension(True)
    db.load_extension(str(ROOT / "build" / "counter"))
    for table in tables:
        db.execute(f"CREATE VIRTUAL TABLE {table}")
    return db


def count(db):
    """Something of everything: live, deleted, reset and untouched counters, floors, keys
    of all types."""
    db.execute("INSERT INTO page_views VALUES ('/', 12, 1, 5120), ('/a', 13, 2, NULL), ('/b', 14, 3, 3), ('/c', 2, 4, 4)")
    db.execute("DELETE FROM page_views WHERE path = '/a'")
    db.execute("INSERT INTO page_views(page_views, path, hour) VALUES ('reset', '/b', 14)")
    db.execute("INSERT INTO page_views(page_views, path, hour, hits) VALUES ('reset hits', '/', 12, -7)")
    db.execute("INSERT INTO page_views(page_views, hour) VALUES ('purge below', 3)")
    db.execute("INSERT INTO page_views(page_views, path) VALUES ('purge below', '!''')")
    db.execute("INSERT INTO \"it's \"\"x\"\"\" VALUES (1, 'A', 1), (0.5, 'a', 2), ('x', x'61', 3), (9e999, 'ü', 4)")
    for thing in THINGS:
        db.execute("INSERT INTO things VALUES (?, ?)", [thing, 2**62])
    db.execute("DELETE FROM things WHERE what = '7' OR what = x'00ff'")
    db.execute("INSERT INTO wide VALUES (1, 2.5, 'c', x'00', '', x'', -1, 1)")


def state(db):
    return [(name, db.execute("SELECT counter_table_digest(?)", [name]).fetchone(),
             db.execute("SELECT * FROM counter_floors(?)", [name]).fetchall())
            for name, in db.execute("SELECT name FROM counter_tables ORDER BY name").fetchall()]


def export(script, path, mark=0):
    done = run(script, "export", path, mark)
    assert (done.returncode, done.stderr) == (0, b"")
    return done.stdout


def take(script, path, batch):
    """Imports; changes.sh reads its standard input, json.sh a file."""
    if script == "changes.sh":
        return run(script, "import", path, text=batch)
    name = path.parent / "it's a batch.json"
    name.write_bytes(batch)
    return run(script, "import", path, name)


def carry(script, one, two, mark=0):
    done = take(script, two, export(script, one, mark))
    assert (done.returncode, done.stderr) == (0, b""), done.stderr
    return done.stdout


@pytest.fixture
def paths(tmp_path):
    return tmp_path / "one.db", tmp_path / "it's two.db"


@pytest.mark.parametrize("script", WAYS)
def test_a_batch_brings_everything_and_may_be_repeated(script, paths):
    one, two = map(make, paths)
    count(one)
    two.execute("INSERT INTO page_views VALUES ('/', 12, 100, 1), ('/a', 13, 1, 1), ('/z', 2, 1, 1)")
    carry(script, *paths)
    once = state(two)
    carry(script, *paths)
    assert state(two) == once
    carry(script, paths[1], paths[0])
    assert state(one) == state(two)
    assert one.execute("SELECT * FROM page_views").fetchall() == [("/", 12, -7, 5121), ("/b", 14, 0, 0)]
    things = "SELECT what, typeof(what), n FROM things ORDER BY what"
    assert one.execute(things).fetchall() == two.execute(things).fetchall()
    assert two.execute("SELECT count(*) FROM things").fetchone() == (len(THINGS) - 2,)


@pytest.mark.parametrize("script", WAYS)
def test_a_fresh_file_is_as_if_it_had_pulled(script, paths, tmp_path):
    one, two = map(make, paths)
    count(one)
    carry(script, *paths)
    third = make(tmp_path / "third.db")
    third.execute("SELECT * FROM counter_pull(?)", [str(paths[0])]).fetchall()
    assert state(two) == state(third) == state(one)


@pytest.mark.parametrize("script", WAYS)
def test_marks_rise_by_whole_batches_in_their_order(script, paths):
    def mark():
        done = run("changes.sh", "mark", paths[1], source)
        assert (done.returncode, done.stderr) == (0, b"")
        return int(done.stdout)

    one, two = map(make, paths)
    one.execute("INSERT INTO things VALUES (1, 1)")
    source, = one.execute("SELECT counter_id()").fetchone()
    assert mark() == 0
    upto, = one.execute("SELECT DISTINCT upto FROM counter_changes(0)").fetchone()
    assert int(carry(script, *paths)) == mark() == upto
    one.execute("INSERT INTO things VALUES (2, 1)")
    later = one.execute("SELECT max(upto) FROM counter_changes(0)").fetchone()[0]
    one.execute("INSERT INTO things VALUES (3, 1)")
    latest = one.execute("SELECT max(upto) FROM counter_changes(0)").fetchone()[0]
    assert latest > later > upto
    assert int(carry(script, *paths, mark=later)) == upto  # a batch in between is missing
    assert int(carry(script, *paths, mark=upto)) == mark() == latest
    assert state(two) == state(one)
    carry(script, *paths, mark=latest)  # no news
    assert mark() == latest


@pytest.mark.parametrize("script", WAYS)
@pytest.mark.parametrize("table, said", [
    ("page_views USING counter(hour INTEGER, path TEXT, hits COUNTER, bytes COUNTER, PRIMARY KEY (hour, path))", "in the key"),
    ("page_views USING counter(page TEXT, hour INTEGER, hits COUNTER, bytes COUNTER, PRIMARY KEY (page, hour))", "in the key"),
    ("page_views USING counter(path TEXT COLLATE NOCASE, hour INTEGER, hits COUNTER, bytes COUNTER, "
     "PRIMARY KEY (path, hour))", "in the key"),
    ("page_views USING counter(path, hour INTEGER, hits COUNTER, bytes COUNTER, PRIMARY KEY (path, hour))", "in the key"),
    ("page_views USING counter(path TEXT, hour INTEGER, hits COUNTER, Bytes COUNTER, PRIMARY KEY (path, hour))",
     "is spelled"),
    ("views USING counter(path TEXT, hour INTEGER, hits COUNTER, PRIMARY KEY (path, hour))", "no counter table"),
])
def test_a_table_that_differs_refuses_the_whole_batch(script, paths, table, said):
    one, two = make(paths[0]), make(paths[1], [*TABLES[1:], table])
    count(one)
    before = state(two)
    done = take(script, paths[1], export(script, paths[0]))
    assert done.returncode == 1 and said in done.stderr.decode() and "table page_views" in done.stderr.decode()
    assert state(two) == before
    assert run("changes.sh", "mark", paths[1], one.execute("SELECT counter_id()").fetchone()[0]).stdout == b"0\n"


@pytest.mark.parametrize("script", WAYS)
def test_what_a_file_had_taken_before_it_took_over_a_name_is_carried(script, paths, tmp_path):
    def named(path, sql):
        db = make(path, [])
        db.execute(sql)
        return make(path)

    def follow(db, path):
        source, = db.execute("SELECT source FROM counter_changes(0) LIMIT 1").fetchone()
        since = run("changes.sh", "mark", paths[1], source).stdout.decode().strip()
        assert take(script, paths[1], export(script, path, since)).returncode == 0

    old, two, other = named(paths[0], "SELECT counter_init('dc1:r1')"), make(paths[1]), make(tmp_path / "other.db")
    other.execute("INSERT INTO things VALUES ('seen before', 5)")
    new = named(tmp_path / "new.db", "SELECT counter_init('dc1:r1', 'pending')")
    for path in "one.db", "other.db":
        new.execute("SELECT * FROM counter_pull(?)", [str(tmp_path / path)]).fetchall()
    old.execute("INSERT INTO things VALUES ('late', 1)")
    follow(old, paths[0])
    old.execute("SELECT counter_retire()")
    for db, path in (old, "new.db"), (other, "new.db"), (new, "one.db"), (new, "other.db"):
        db.execute("SELECT * FROM counter_pull(?)", [str(tmp_path / path)]).fetchall()
    new.execute("SELECT counter_promote()")
    new.execute("INSERT INTO things VALUES ('after', 1)")
    follow(new, tmp_path / "new.db")
    assert two.execute("SELECT what, n FROM things ORDER BY what").fetchall() == [("after", 1), ("late", 1), ("seen before", 5)]


@pytest.mark.parametrize("script", WAYS)
def test_missing_files_are_told_and_not_made(script, paths, tmp_path):
    make(paths[0])
    typo = tmp_path / "typo.db"
    for arguments in [("export", typo), ("export", typo, 7), ("import", typo, *(["x"] if script == "json.sh" else []))]:
        done = run(script, *arguments, text=b"")
        assert (done.returncode, done.stdout, done.stderr.decode()) == (1, b"", f"{typo}: no such file\n")
    done = run("changes.sh", "mark", typo, "x")
    assert (done.returncode, done.stderr.decode()) == (1, f"{typo}: no such file\n")
    done = run("json.sh", "import", paths[0], tmp_path / "no.json")
    assert (done.returncode, done.stderr.decode()) == (1, f"{tmp_path}/no.json: no such file\n")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one.db"]
    assert run(script, "sideways").returncode == 2


@pytest.mark.parametrize("script", WAYS)
@pytest.mark.parametrize("mark", ["x", "", "-1", "0); DELETE FROM page_views; --"])
def test_a_mark_that_is_no_number_is_refused_and_runs_nothing(script, mark, paths):
    one = make(paths[0])
    one.execute("INSERT INTO page_views VALUES('/', 1, 2, 3)")
    before = state(one)
    done = run(script, "export", paths[0], mark)
    assert (done.returncode, done.stdout) == (1, b"")
    assert done.stderr.decode() == f"MARK is a whole number, not '{mark}'\n"
    source = "'); DELETE FROM page_views; --"
    done = run("changes.sh", "mark", paths[0], source)
    assert (done.returncode, done.stderr.decode()) == (1, f"SOURCE is a replica id, not '{source}'\n")
    assert state(one) == before


@pytest.mark.parametrize("script", WAYS)
def test_a_file_without_counter_tables_is_told(script, tmp_path):
    sqlite3.connect(tmp_path / "plain.db").execute("CREATE TABLE t(a)")
    done = run(script, "export", tmp_path / "plain.db")
    assert (done.returncode, done.stdout, done.stderr.decode()) == (1, b"", f"{tmp_path}/plain.db: no counter tables\n")
    (tmp_path / "no.db").write_bytes(b"no database" * 100)
    done = run(script, "export", tmp_path / "no.db")
    assert done.returncode != 0 and b"not a database" in done.stderr


@pytest.mark.parametrize("script", WAYS)
def test_a_batch_that_was_cut_short_changes_nothing_and_is_told(script, paths):
    one, two = map(make, paths)
    count(one)
    batch, before = export(script, paths[0]), state(two)
    for size in [1, len(batch) // 2, len(batch) - 9] + [0] * (script == "changes.sh"):
        done = take(script, paths[1], batch[:size])
        assert done.returncode == 1 and done.stderr, size
    assert state(two) == before


def test_an_export_without_news_is_an_empty_batch(paths):
    make(paths[0])
    make(paths[1])
    assert export("json.sh", paths[0]) == b""
    assert carry("json.sh", *paths) == carry("changes.sh", *paths) == b""


def test_the_json_reads_as_json_and_tells_the_keys(paths):
    one = make(paths[0])
    one.execute("INSERT INTO page_views(path, hour, hits) VALUES ('/', 12, 5), ('/x', 1, 1)")
    one.execute("INSERT INTO page_views(page_views, hour) VALUES ('purge below', 12)")
    batch = json.loads(export("json.sh", paths[0]))
    source, = one.execute("SELECT counter_id()").fetchone()
    keys = {"table": "page_views", "key_columns": "path TEXT BINARY, hour INTEGER BINARY"}
    changes = [{name: value for name, value in change.items() if name != "seq"} for change in batch["changes"]]
    assert sorted(changes, key=lambda change: change["packed"]) == [
        {**keys, "key": [None, 12], "packed": "D1000118", "column": None, "generation": 0, "cell": None},
        {**keys, "key": ["/", 12], "packed": "D103012F0118", "column": "hits", "generation": 1,
         "cell": {"life": 1, "value": 5, "shards": [{"id": source, "clock": 1, "value": 5}]}}]


def test_the_json_of_a_counter_that_was_dropped_has_neither_key_nor_cell(paths):
    one = make(paths[0])
    one.execute("INSERT INTO page_views(page_views) VALUES ('drop column bytes')")
    change, = json.loads(export("json.sh", paths[0]))["changes"]
    assert change == {"table": "page_views", "key_columns": "path TEXT BINARY, hour INTEGER BINARY", "key": None, "packed": "",
                      "column": "bytes", "generation": 2, "cell": None, "seq": 0}


# ---- counters that come and go ----

@pytest.mark.parametrize("script", WAYS)
def test_a_batch_brings_answers_about_opening_values(script, paths):
    shops = [make(path, []) for path in paths]
    for db in shops:
        db.execute("CREATE TABLE products(sku TEXT PRIMARY KEY, stock INTEGER)")
        db.execute("INSERT INTO products VALUES ('tea', 10)")
        db.execute("SELECT counter_track('products', 'stock')").fetchall()
    assert take(script, paths[1], export(script, paths[0])).returncode == 0
    (shown, why), = shops[1].execute("SELECT shown, why FROM counter_tracked WHERE row_key NOT NULL").fetchall()
    assert shown == 10 and "two files counted the values that they had" in why
    own, = shops[1].execute("SELECT name FROM counter_state WHERE kind = 'opening'").fetchone()
    shops[0].execute("SELECT counter_opening('products', 'same', ?)", [own]).fetchall()
    carry(script, *paths)
    shops[1].execute("UPDATE products SET stock = stock - 1")
    carry(script, *paths[::-1])
    assert [db.execute("SELECT stock FROM products").fetchall() for db in shops] == [[(9,)], [(9,)]]


def alter(db, *commands):
    for command in commands:
        db.execute("INSERT INTO page_views(page_views) VALUES (?)", [command])


@pytest.mark.parametrize("script", WAYS)
def test_a_drop_and_a_new_beginning_travel(script, paths):
    one, two = map(make, paths)
    one.execute("INSERT INTO page_views VALUES ('/', 12, 1, 5120)")
    alter(one, "add column errors", 'add column "it\'s, ""ü"""')
    one.execute("INSERT INTO page_views(path, hour, errors) VALUES ('/', 12, 7)")
    carry(script, *paths)
    assert two.execute("SELECT * FROM page_views").fetchall() == [("/", 12, 1, 5120, 7, 0)]
    assert state(two) == state(one)
    old = export(script, paths[1])

    alter(one, "drop column errors", "drop column bytes")
    carry(script, *paths)
    assert two.execute("SELECT * FROM page_views").fetchall() == [("/", 12, 1, 0)]
    assert state(two) == state(one)

    alter(two, "add column errors")
    two.execute("INSERT INTO page_views(path, hour, errors) VALUES ('/', 12, 2)")
    carry(script, paths[1], paths[0])
    for path in paths:  # what was counted before the drop comes late
        assert take(script, path, old).returncode == 0
    for db in one, two:
        assert db.execute("SELECT path, hour, hits, errors FROM page_views").fetchall() == [("/", 12, 1, 2)]
    assert state(two) == state(one)


@pytest.mark.parametrize("script", WAYS)
def test_counters_come_along_with_any_mark(script, paths):
    one, two = map(make, paths)
    one.execute("INSERT INTO page_views VALUES ('/', 12, 1, 1)")
    upto = int(carry(script, *paths))
    alter(one, "drop column bytes", "add column errors")
    carry(script, *paths, mark=upto)
    assert two.execute("SELECT * FROM page_views").fetchall() == [("/", 12, 1, 0)]


def test_a_counter_that_is_new_is_added_whatever_its_name_looks_like(paths):
    one, two = map(make, paths)
    one.execute("INSERT INTO things VALUES ('a', 1)")
    batch = json.loads(export("json.sh", paths[0]))
    batch["changes"][0]["column"] = name = "n'); DROP TABLE things; --"
    assert take("json.sh", paths[1], json.dumps(batch).encode()).returncode == 0
    assert two.execute(f'SELECT what, n, "{name}" FROM things').fetchall() == [("a", 0, 1)]


@pytest.mark.parametrize("script", ["json.sh", "changes.sh"])
def test_a_text_that_is_not_utf8_is_carried(paths, script):
    one, two = map(make, paths)
    one.execute("INSERT INTO things VALUES (CAST(x'61ff' AS TEXT), 1)")
    carry(script, *paths)
    assert state(two) == state(one)


@pytest.mark.parametrize("field, value", [
    ("packed", "D1'); DROP TABLE things; --"), ("packed", "D1\n.quit"), ("packed", "D10"), ("packed", None), ("packed", 5),
    ("table", "things'); DELETE FROM things; --"), ("table", None), ("column", "_n"), ("column", "what"), ("column", "N"), ("column", 5),
    ("generation", "1, NULL, 1, 'x', 'x'); --"), ("generation", 0), ("generation", 2), ("generation", None), ("key_columns", "what"),
    ("seq", "x"), ("cell", None), ("cell", {"life": 1, "shards": [{"id": "x", "clock": 1, "value": 1}]}), ("cell", {"life": 0})])
def test_a_batch_that_was_forged_is_refused(paths, field, value):
    one, two = map(make, paths)
    one.execute("INSERT INTO things VALUES ('a', 1)")
    two.execute("INSERT INTO things VALUES ('b', 1)")
    batch, before = json.loads(export("json.sh", paths[0])), state(two)
    batch["changes"][0][field] = value
    done = take("json.sh", paths[1], json.dumps(batch).encode())
    assert done.returncode == 1 and done.stderr, done
    assert state(two) == before


def run_sql(script, path):
    done = subprocess.run(["sqlite3", "-batch", "-init", "/dev/null", path], cwd=ROOT, capture_output=True, text=True,
                          input=(ROOT / "examples" / script).read_text())
    assert done.stderr == ""
    return done.stdout.splitlines()


def test_counters_of_cassandra_are_imported_once_however_often_the_script_runs(tmp_path):
    lines = [run_sql("cassandra.sql", str(tmp_path / "main.db")) for _ in range(2)]
    for seen in lines:
        assert "a context|3" in seen
        assert [line for line in seen if line.startswith("after the totals")] == [
            "after the totals|/|42", "after the totals|/contact|-2", "after the totals|/about|1005"]


def plan_of(db, sql):
    return " / ".join(row[3] for row in db.execute("EXPLAIN QUERY PLAN " + sql))


def test_hourly_buckets_are_read_and_removed_by_the_key(tmp_path):
    first, second = (run_sql("hourly.sql", str(tmp_path / "main.db")) for _ in range(2))
    assert first[:2] == ["all pages|500000|/contact|1", "all pages|500000|/|1"]
    assert first.count("totals|/|300") == second.count("totals|/|600") == 1
    assert (first[-1], second[-1]) == ("left|47|499970", "left|47|499970")
    db = make(tmp_path / "main.db", [])
    statements = (ROOT / "examples" / "hourly.sql").read_text().split(";\n")
    db.execute("CREATE TEMP TABLE clock AS SELECT 500000 AS now")
    plans = [plan_of(db, sql) for sql in statements if "SELECT 'all pages'" in sql or "SELECT 'one page'" in sql
             or "SELECT 'totals'" in sql]
    assert [plan.split("VIRTUAL TABLE INDEX ")[1].split(" ")[0] for plan in plans] == ["0:>0.-0-1", "0:=0=1.", "0:>0."]
    assert "USE TEMP B-TREE FOR ORDER BY" not in plans[0]


def test_purge_below_looks_for_rows_by_the_key(tmp_path):
    db = make(tmp_path / "main.db", ["t USING counter(hour INTEGER, page TEXT, n COUNTER, PRIMARY KEY (hour, page))"])
    db.execute("INSERT INTO t VALUES (1, 'a', 1), (2, 'a', 1)")
    seen = []
    db.set_trace_callback(seen.append)
    db.execute("INSERT INTO t(t, hour) VALUES ('purge below', 2)")
    db.set_trace_callback(None)
    removal, = [sql.lstrip("- ") for sql in seen if "DELETE FROM" in sql and "t_cells" in sql]
    assert "USING INDEX sqlite_autoindex_t_cells_1 (hour<?)" in plan_of(db, removal.replace("?1", "2"))


def test_the_relay_of_the_example_for_browsers_listens_to_this_machine_alone(tmp_path):
    if not shutil.which("node"):
        pytest.skip("no node")
    relay = subprocess.Popen(["node", ROOT / "examples" / "browser" / "relay.mjs", "0", tmp_path / "rows"], stdout=subprocess.PIPE, text=True)
    try:
        port = int(relay.stdout.readline().rpartition(":")[2])
        socket.create_connection(("127.0.0.1", port), 10).close()
        with pytest.raises(ConnectionRefusedError):  # another address of this machine, as that of its network is
            socket.create_connection(("127.0.0.2", port), 10)
    finally:
        relay.terminate()
        relay.wait()
