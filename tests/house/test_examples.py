"""test_examples.py - lines carry everything from file to file through the sqlite3 shell, and what is
wrong is said; the scripts of examples/."""

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


def shell(path, sql):
    return subprocess.run(["sqlite3", "-batch", "-bail", "-init", "/dev/null", "-cmd", f".load '{ROOT}/build/counter'", path, sql],
                          capture_output=True)


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


def export(path, mark=0):
    done = shell(path, f"SELECT line FROM counter_lines({mark})")
    assert (done.returncode, done.stderr) == (0, b"")
    return done.stdout


def take(path, batch):
    name = path.parent / "lines of json"
    name.write_bytes(batch)
    return shell(path, f"SELECT counter_take(readfile('{name}'))")


def carry(one, two, mark=0):
    """Returns the marks that it leads to."""
    done = take(two, export(one, mark))
    assert (done.returncode, done.stderr) == (0, b""), done.stderr
    return json.loads(done.stdout)["marks"]


@pytest.fixture
def paths(tmp_path):
    return tmp_path / "one.db", tmp_path / "it's two.db"


def test_a_batch_brings_everything_and_may_be_repeated(paths):
    one, two = map(make, paths)
    count(one)
    two.execute("INSERT INTO page_views VALUES ('/', 12, 100, 1), ('/a', 13, 1, 1), ('/z', 2, 1, 1)")
    carry(*paths)
    once = state(two)
    carry(*paths)
    assert state(two) == once
    carry(paths[1], paths[0])
    assert state(one) == state(two)
    assert one.execute("SELECT * FROM page_views").fetchall() == [("/", 12, -7, 5121), ("/b", 14, 0, 0)]
    things = "SELECT what, typeof(what), n FROM things ORDER BY what"
    assert one.execute(things).fetchall() == two.execute(things).fetchall()
    assert two.execute("SELECT count(*) FROM things").fetchone() == (len(THINGS) - 2,)


def test_a_fresh_file_is_as_if_it_had_pulled(paths, tmp_path):
    one, two = map(make, paths)
    count(one)
    carry(*paths)
    third = make(tmp_path / "third.db")
    third.execute("SELECT * FROM counter_pull(?)", [str(paths[0])]).fetchall()
    assert state(two) == state(third) == state(one)


def test_marks_rise_by_whole_batches_in_their_order(paths):
    def mark():
        return two.execute("SELECT counter_mark(?)", [source]).fetchone()[0]

    one, two = map(make, paths)
    one.execute("INSERT INTO things VALUES (1, 1)")
    source, = one.execute("SELECT counter_id()").fetchone()
    assert mark() == 0
    end = "SELECT counter_changes_end()"
    upto, = one.execute(end).fetchone()
    assert carry(*paths) == {source: upto} and mark() == upto
    one.execute("INSERT INTO things VALUES (2, 1)")
    later, = one.execute(end).fetchone()
    one.execute("INSERT INTO things VALUES (3, 1)")
    latest, = one.execute(end).fetchone()
    assert latest > later > upto
    assert carry(*paths, mark=later) == {source: upto}  # a batch in between is missing
    assert carry(*paths, mark=upto) == {source: latest} and mark() == latest
    assert state(two) == state(one)
    assert carry(*paths, mark=latest) == {}  # no news
    assert mark() == latest


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
def test_a_table_that_differs_refuses_the_whole_batch(paths, table, said):
    one, two = make(paths[0]), make(paths[1], [*TABLES[1:], table])
    count(one)
    before = state(two)
    done = take(paths[1], export(paths[0]))
    assert done.returncode == 1 and said in done.stderr.decode() and "table page_views" in done.stderr.decode()
    assert state(two) == before
    assert two.execute("SELECT counter_mark(?)", one.execute("SELECT counter_id()").fetchone()).fetchone() == (0,)


def test_what_a_file_had_taken_before_it_took_over_a_name_is_carried(paths, tmp_path):
    def named(path, sql):
        db = make(path, [])
        db.execute(sql)
        return make(path)

    def follow(db, path):
        source, = db.execute("SELECT source FROM counter_changes(0) LIMIT 1").fetchone()
        since, = two.execute("SELECT counter_mark(?)", [source]).fetchone()
        assert take(paths[1], export(path, since)).returncode == 0

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


def test_a_batch_that_was_cut_short_changes_nothing_and_is_told(paths):
    one, two = map(make, paths)
    count(one)
    batch, before = export(paths[0]), state(two)
    for size in 1, len(batch) // 2, len(batch) - 9:
        done = take(paths[1], batch[:size])
        assert done.returncode == 1 and done.stderr, size
    assert state(two) == before


def test_the_json_reads_as_json_and_tells_the_keys(paths):
    one = make(paths[0])
    one.execute("INSERT INTO page_views(path, hour, hits) VALUES ('/', 12, 5), ('/x', 1, 1)")
    source, = one.execute("SELECT counter_id()").fetchone()  # that of a file that drops a counter is another one
    one.execute("INSERT INTO page_views(page_views, hour) VALUES ('purge below', 12)")
    one.execute("INSERT INTO page_views(page_views) VALUES ('drop column bytes')")
    batch = json.loads(export(paths[0]))
    told = [json.loads(one.execute("SELECT counter_change_json(?)", [bytes.fromhex(change["change"])]).fetchone()[0])
            for change in batch["changes"]]
    assert {(change["table"], change["key_columns"]) for change in batch["changes"]} == {
        ("page_views", "path TEXT BINARY, hour INTEGER BINARY")}
    assert [(change["key"], change["packed"]) for change in batch["changes"]] == [
        (None, ""), (["/", 12], "d103012f0118"), ([None, 12], "d1000118")]
    assert told == [
        {"tells": "column", "name": "bytes", "kind": "counter", "generation": 2},
        {"tells": "row", "columns": [{"name": "hits", "kind": "counter", "generation": 1, "cell": {
            "life": 1, "value": 5, "shards": [{"id": source, "clock": 1, "value": 5}]}}]},
        {"tells": "floors"}]


# ---- counters that come and go ----

def test_a_batch_brings_answers_about_opening_values(paths):
    shops = [make(path, []) for path in paths]
    for db in shops:
        db.execute("CREATE TABLE products(sku TEXT PRIMARY KEY, stock INTEGER)")
        db.execute("INSERT INTO products VALUES ('tea', 10)")
        db.execute("SELECT counter_track('products', 'stock')").fetchall()
    assert take(paths[1], export(paths[0])).returncode == 0
    (shown, why), = shops[1].execute("SELECT shown, why FROM counter_tracked WHERE row_key NOT NULL").fetchall()
    assert shown == 10 and "two files counted the values that they had" in why
    own, = shops[1].execute("SELECT name FROM counter_state WHERE kind = 'opening'").fetchone()
    shops[0].execute("SELECT counter_opening('products', 'same', ?)", [own]).fetchall()
    carry(*paths)
    shops[1].execute("UPDATE products SET stock = stock - 1")
    carry(*paths[::-1])
    assert [db.execute("SELECT stock FROM products").fetchall() for db in shops] == [[(9,)], [(9,)]]


def alter(db, *commands):
    for command in commands:
        db.execute("INSERT INTO page_views(page_views) VALUES (?)", [command])


def test_a_drop_and_a_new_beginning_travel(paths):
    one, two = map(make, paths)
    one.execute("INSERT INTO page_views VALUES ('/', 12, 1, 5120)")
    alter(one, "add column errors", 'add column "it\'s, ""ü"""')
    one.execute("INSERT INTO page_views(path, hour, errors) VALUES ('/', 12, 7)")
    carry(*paths)
    assert two.execute("SELECT * FROM page_views").fetchall() == [("/", 12, 1, 5120, 7, 0)]
    assert state(two) == state(one)
    old = export(paths[1])

    alter(one, "drop column errors", "drop column bytes")
    carry(*paths)
    assert two.execute("SELECT * FROM page_views").fetchall() == [("/", 12, 1, 0)]
    assert state(two) == state(one)

    alter(two, "add column errors")
    two.execute("INSERT INTO page_views(path, hour, errors) VALUES ('/', 12, 2)")
    carry(paths[1], paths[0])
    for path in paths:  # what was counted before the drop comes late
        assert take(path, old).returncode == 0
    for db in one, two:
        assert db.execute("SELECT path, hour, hits, errors FROM page_views").fetchall() == [("/", 12, 1, 2)]
    assert state(two) == state(one)


def test_counters_that_come_and_go_come_along_from_a_mark(paths):
    one, two = map(make, paths)
    one.execute("INSERT INTO page_views VALUES ('/', 12, 1, 1)")
    upto, = carry(*paths).values()
    alter(one, "drop column bytes", "add column errors")
    carry(*paths, mark=upto)
    assert two.execute("SELECT * FROM page_views").fetchall() == [("/", 12, 1, 0)]


def test_a_counter_that_is_new_is_added_whatever_its_name_looks_like(paths):
    one, two = map(make, paths)
    name = "n'); DROP TABLE things; --"
    one.execute("INSERT INTO things VALUES ('a', 1)")
    batch = json.loads(export(paths[0]))
    told = {"tells": "row", "columns": [{"name": name, "kind": "counter", "generation": 1, "cell": {"life": 1, "shards": [
        {"id": batch["source"], "clock": 1, "value": 1}]}}]}
    batch["changes"][0]["change"], = one.execute("SELECT hex(counter_change_of(?))", [json.dumps(told)]).fetchone()
    assert take(paths[1], json.dumps(batch).encode()).returncode == 0
    assert two.execute(f'SELECT what, n, "{name}" FROM things').fetchall() == [("a", 0, 1)]


def test_a_text_that_is_not_utf8_is_carried(paths):
    one, two = map(make, paths)
    one.execute("INSERT INTO things VALUES (CAST(x'61ff' AS TEXT), 1)")
    carry(*paths)
    assert state(two) == state(one)


@pytest.mark.parametrize("field, value", [
    ("packed", "D1'); DROP TABLE things; --"), ("packed", "D1\n.quit"), ("packed", "D10"), ("packed", None), ("packed", 5),
    ("table", "things'); DELETE FROM things; --"), ("table", None), ("key_columns", "what"), ("seq", "x"), ("seq", -1),
    ("change", None), ("change", ""), ("change", "01"), ("change", "zz"), ("change", "0x01"), ("change", {"life": 0})])
def test_a_batch_that_was_forged_is_refused(paths, field, value):
    one, two = map(make, paths)
    one.execute("INSERT INTO things VALUES ('a', 1)")
    two.execute("INSERT INTO things VALUES ('b', 1)")
    batch, before = json.loads(export(paths[0])), state(two)
    batch["changes"][0][field] = value
    done = take(paths[1], json.dumps(batch).encode())
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
