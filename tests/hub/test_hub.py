"""test_hub.py - files upload to a hub in PostgreSQL in any way, and a file that downloads is what
it would be had it pulled from them all."""

import itertools
import json
import os
import re
import sqlite3
import subprocess
import threading
import time
import uuid

import pytest

from conftest import EXAMPLES, ROOT, SEED
from files import connect

TABLES = [
    "views USING counter(path TEXT, hour INTEGER, hits COUNTER, bytes COUNTER, PRIMARY KEY (path, hour))",
    "\"it's \"\"x\"\"\" USING counter(at REAL PRIMARY KEY, \"n, ü\" COUNTER)",
    "things USING counter(what PRIMARY KEY, n COUNTER)",
]
TEXTS = ["/", "/a", "it's", 'say "x"', "back\\slash", "ключ", "日本", "🙂", "", "a,b\nc\r\nd", "\t\x01", "\\.", "NULL"]
THINGS = [0, -1, 7, 2**63 - 1, -2**63, 0.5, -1e300, "7", "", "b", b"", b"\x00\xff", b"b", "ünï"]
ID = "00000000-0000-4000-8000-00000000000{}"
END = "-- that was all --"


class Hub:
    """The schema, as hub.sh and psql reach it."""

    def __init__(self, socket, programs):
        path = f"{programs}:{os.environ['PATH']}"  # Debian's psql is a script that looks for this one
        self.env = {**os.environ, "PATH": path, "PGHOST": str(socket), "PGUSER": "hub", "PGDATABASE": "postgres"}
        self.session = None

    def psql(self, *args, text=None):
        return subprocess.run(["psql", "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", *args], input=text, text=True,
                              capture_output=True, env=self.env)

    def load(self):
        self.say(f"\\i {ROOT / 'sql' / 'hub' / 'postgresql.sql'}\n")

    def begin(self):
        """As if nothing had been said before."""
        self.say("SET client_min_messages = error; ROLLBACK; DISCARD ALL; SET client_min_messages = error;"
                 "DROP SCHEMA IF EXISTS counter_hub CASCADE; DISCARD ALL")
        self.load()

    def say(self, sql):
        """What one psql answers that stays: to start one takes longer than most queries."""
        if not self.session:
            self.session = subprocess.Popen(["psql", "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1"], env=self.env, text=True,
                                            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.session.stdin.write(f"{sql};\n\\echo {END}\n")
        self.session.stdin.flush()
        told = ""
        for line in self.session.stdout:
            if line == f"{END}\n":
                return told
            told += line
        error, self.session = self.session.stderr.read(), None
        raise AssertionError(error)

    def ask(self, sql):
        """The rows of a query, through JSON."""
        told = self.say(f"SELECT coalesce(json_agg(row_to_json(q)), '[]') FROM ({sql}) AS q")
        return [tuple(row.values()) for row in json.loads(told)]

    def close(self):
        if self.session:
            self.session.communicate()

    def carry(self, way, path):
        return subprocess.run([ROOT / "examples" / "hub.sh", way, path], env=self.env, capture_output=True,
                              text=True)

    def go(self, way, path):
        """Carries; the numbers that hub.sh prints."""
        done = self.carry(way, path)
        assert (done.returncode, done.stderr) == (0, "")
        return [int(n) for n in done.stdout.split("|")] if done.stdout else []

    def forget_marks(self):
        """So that old batches come again."""
        self.say("DELETE FROM counter_hub.sources")


@pytest.fixture(scope="session")
def only_hub(server):
    hub = Hub(*server)
    yield hub
    hub.close()


@pytest.fixture
def hub(only_hub):
    only_hub.begin()
    return only_hub


def make(path, tables=TABLES):
    db = connect(str(path), timeout=10)
    db.execute("PRAGMA synchronous = OFF")
    for table in tables:
        db.execute(f"CREATE VIRTUAL TABLE {table}")
    return db


def names(db):
    return [name for name, in db.execute("SELECT name FROM counter_tables ORDER BY name")]


def state(db):
    """All that a file shows."""
    told = {}
    for name in names(db):
        quoted = name.replace('"', '""')
        told[name] = (sorted(map(repr, db.execute(f'SELECT * FROM "{quoted}"'))),
                      db.execute("SELECT * FROM counter_floors(?)", [name]).fetchall(),
                      db.execute("SELECT counter_table_digest(?)", [name]).fetchone())
    return told


def plain(key):
    """A key to compare: the hub writes numbers in another way."""
    return repr([value if isinstance(value, (str, dict)) else float(value) for value in key])


def totals(db):
    """What the hub's totals must be: the live cells of the file."""
    return sorted((table, plain(json.loads(key)), column, value) for table, key, column, value in db.execute(
        "SELECT f.table_name, counter_key_json(f.key), c.column_name, counter_value(c.cell) FROM counter_changes(0) AS f, "
        "counter_change(f.change) AS c WHERE f.key <> x'' AND c.kind = 'counter' AND NOT counter_is_deleted(c.cell)"))


def hub_totals(hub):
    return sorted((table, plain(key), column, value) for table, key, column, value in hub.ask(
        "SELECT table_name, key_json, column_name, value FROM counter_hub.totals"))


def merged(path, others, tables=TABLES):
    """A file that has pulled from the others."""
    db = make(path, tables)
    for other in others:
        db.execute("SELECT * FROM counter_pull(?)", [str(other)]).fetchall()
    return db


def assert_hub_brings_all(hub, tmp_path, paths, tables=TABLES):
    direct = merged(tmp_path / "direct.db", paths, tables)
    fourth = make(tmp_path / "fourth.db", tables)
    hub.go("down", tmp_path / "fourth.db")
    assert state(fourth) == state(direct)
    assert hub_totals(hub) == totals(direct)
    direct.close()
    fourth.close()


# ---- at random ----

def step(db, chance):
    """One change of any kind; that a statement is refused is a change as well as any."""
    amount = chance.choice([1, 1, 2, -5, 0, 10**12, -10**12])
    row = [chance.choice(TEXTS), chance.randint(0, 9)]
    kind = chance.random()
    try:
        if kind < 0.06:
            command = chance.choice(["add column errors", "drop column errors", "add column bytes", "drop column bytes"])
            db.execute("INSERT INTO views(views) VALUES (?)", [command])
        elif kind < 0.12:
            db.execute("INSERT INTO views(path, hour, errors) VALUES (?, ?, ?)", row + [amount])
        elif kind < 0.4:
            db.execute("INSERT INTO views(path, hour, hits, bytes) VALUES (?, ?, ?, ?)",
                       row + [amount, chance.choice([None, 512])])
        elif kind < 0.5:
            db.execute("INSERT INTO \"it's \"\"x\"\"\" VALUES (?, ?)", [chance.choice([-1.5, 0.1, 3, 1e18]), amount])
        elif kind < 0.65:
            db.execute("INSERT INTO things VALUES (?, ?)", [chance.choice(THINGS), amount])
        elif kind < 0.75:
            db.execute("DELETE FROM views WHERE path = ? AND hour <= ?", row)
        elif kind < 0.8:
            db.execute("DELETE FROM things WHERE what = ?", [chance.choice(THINGS)])
        elif kind < 0.9:
            command = chance.choice(["reset", "reset hits", "delete bytes"])
            db.execute("INSERT INTO views(views, path, hour) VALUES (?, ?, ?)", [command] + row)
        elif kind < 0.95:
            db.execute("INSERT INTO things(things, what) VALUES ('reset', ?)", [chance.choice(THINGS)])
        elif kind < 0.97:
            db.execute("INSERT INTO views(views, hour) VALUES ('purge below', ?)", [chance.randint(0, 4)])
        elif kind < 0.985:
            db.execute("INSERT INTO views(views, path) VALUES ('purge below', ?)", [chance.choice(["", "/", "\t"])])
        else:
            db.execute("INSERT INTO things(things, what) VALUES ('purge below', ?)", [chance.choice([-1, 0, 0.5, ""])])
    except Exception as error:
        if not any(known in str(error) for known in ("was deleted", "overflow", "floor", "no column named", "is not a counter",
                                                        "exists already")):
            raise


@pytest.mark.parametrize("round", range(max(1, EXAMPLES // 30)))
def test_a_file_that_downloads_is_as_if_it_had_pulled(hub, tmp_path, chance, round):
    paths = [tmp_path / f"{n}.db" for n in range(3)]
    dbs = [make(path) for path in paths]
    fourth = make(tmp_path / "fourth.db")
    for _ in range(14):
        n = chance.randrange(3)
        for _ in range(chance.randint(1, 25)):
            step(dbs[n], chance)
        what = chance.random()
        if what < 0.6:
            hub.go("up", paths[chance.randrange(3)])
        elif what < 0.7:
            hub.forget_marks()
        elif what < 0.8:
            dbs[n].execute("SELECT * FROM counter_pull(?)", [str(paths[(n + 1) % 3])]).fetchall()
        elif what < 0.9:
            hub.go("down", paths[n])
        else:
            hub.go("down", tmp_path / "fourth.db")
    for path in chance.sample(paths, 3):
        hub.go("up", path)
    hub.forget_marks()
    hub.go("up", chance.choice(paths))

    hub.go("down", tmp_path / "fourth.db")  # incremental, perhaps
    direct = merged(tmp_path / "direct.db", paths)
    assert state(fourth) == state(direct), f"COUNTER_SEED={SEED}"
    assert hub_totals(hub) == totals(direct), f"COUNTER_SEED={SEED}"
    fifth = make(tmp_path / "fifth.db")
    hub.go("down", tmp_path / "fifth.db")
    assert state(fifth) == state(direct), f"COUNTER_SEED={SEED}"


# ---- one by one ----

def shard(id, clock, value, grants=None):
    return {"id": id, "clock": clock, "value": value, **({"grants": grants} if grants else {})}


def counter(name, life, *shards, generation=1):
    """A row that tells one counter."""
    return {"tells": "row", "columns": [{"name": name, "kind": "counter", "generation": generation,
                                         "cell": {"life": life, "shards": list(shards)}}]}


def column(name, generation, kind="counter"):
    return {"tells": "column", "name": name, "kind": kind, "generation": generation}


FLOORS = {"tells": "floors"}


def incoming(changes, key_columns=None):
    """The SQL that uploads them. changes: (key_json, change) of table t; those without a key have None."""
    def columns(key):
        return key_columns or ("path TEXT BINARY, hour INTEGER BINARY" if key and len(json.loads(key)) == 2 else
                               "path TEXT BINARY")

    def line(key, change):
        key_json = "NULL" if key is None else f"'{key}'"
        return ("INSERT INTO counter_hub.incoming(table_name, key_columns, key, key_json, change) VALUES "
                f"('t', '{columns(key)}', convert_to('{key or ''}', 'UTF8'), {key_json}, $j${json.dumps(change)}$j$);")

    return "\n".join(line(*one) for one in changes) + "SELECT rows_changed FROM counter_hub.merge()"


def upload(hub, changes, key_columns=None):
    return hub.psql("--single-transaction", text=incoming(changes, key_columns))


def upload_batches(hub, batches):
    """By one psql, each in a transaction of its own; the rows that each has changed."""
    return [int(hub.say(f"BEGIN;\n{incoming(changes)};\nCOMMIT")) for changes in batches]


def told(hub, tells):
    """The changes of one kind that the hub gives: (table, change)."""
    changes = [(table, json.loads(change)) for table, change in hub.ask("SELECT table_name, change FROM counter_hub.changes(0)")]
    return [(table, change) for table, change in changes if change["tells"] == tells]


def cells(hub):
    """Of the only row: the cells of its counters, their shards in order."""
    (_, change), = told(hub, "row")
    return [(one["cell"]["life"], sorted((tuple(each.values()) for each in one["cell"]["shards"]), key=repr)) for one in change["columns"]]


VERSIONS = {
    "of two clocks the higher wins": ([(1, ID.format(1), 2, 5), (1, ID.format(1), 3, -9)], (1, [(ID.format(1), 3, -9)])),
    "of two values with one clock the higher wins":
        ([(1, ID.format(1), 2, -5), (1, ID.format(1), 2, 7)], (1, [(ID.format(1), 2, 7)])),
    "the higher life wins whole":
        ([(1, ID.format(1), 9, 5), (1, ID.format(2), 9, 5), (3, ID.format(1), 1, 1)], (3, [(ID.format(1), 1, 1)])),
    "a reset leaves nothing of the old life": ([(1, ID.format(1), 9, 5), (3,)], (3, [])),
    "a delete beats its life": ([(1, ID.format(1), 9, 5), (2,)], (2, [])),
    "a later life beats a delete": ([(2,), (3, ID.format(1), 1, 5)], (3, [(ID.format(1), 1, 5)])),
    "grants come with their clock": ([(1, ID.format(1), 2, 9, {ID.format(2): 3}), (1, ID.format(1), 3, 9, {ID.format(2): 5, ID.format(3): 1}), (1, ID.format(2), 1, 1)],
                                     (1, [(ID.format(1), 3, 9, {ID.format(2): 5, ID.format(3): 1}), (ID.format(2), 1, 1)])),
    "of two grants with one clock the greater bytes win":
        ([(1, ID.format(1), 2, 9, {ID.format(2): 128}), (1, ID.format(1), 2, 9, {ID.format(2): 127}), (1, ID.format(1), 2, 9)],
         (1, [(ID.format(1), 2, 9, {ID.format(2): 128})])),
    "numbers of any size": ([(4294967295, ID.format(1), 2**62 - 1, -2**63)],
                            (4294967295, [(ID.format(1), 2**62 - 1, -2**63)])),
}


@pytest.mark.parametrize("name", VERSIONS)
def test_versions_merge_in_any_order_and_any_batches(hub, name):
    versions, left = VERSIONS[name]
    changes = [('["/"]', counter("n", life, *([shard(*one)] if one else []))) for life, *one in versions]
    batches = [[[change] for change in order] for order in itertools.permutations(changes)]  # each alone
    batches += [[changes], [changes[::-1] + changes]]                                        # all in one
    for order in batches:
        upload_batches(hub, order)
        assert cells(hub) == [left], order
        assert upload_batches(hub, [changes]) == [0]
        hub.say("TRUNCATE counter_hub.row_cells, counter_hub.cells, counter_hub.shards, counter_hub.columns")


def bounded(name, generation=1):
    return {**column(name, generation), "bounded": True}


def test_the_hub_shows_rights_to_bounded_counters(hub):
    opening = "0" * 12 + "8" + "0" * 19
    def rights():
        return sorted(hub.ask('SELECT id, "right" FROM counter_hub.rights'))
    upload(hub, [('["/"]', counter("n", 1, shard(ID.format(1), 2, 10, {ID.format(2): 4, ID.format(3): 1}), shard(ID.format(2), 2, -3, {ID.format(3): 1})))])
    assert rights() == []
    assert upload_batches(hub, [[(None, bounded("n"))]]) == [1]
    assert rights() == [(ID.format(1), 5), (ID.format(2), 0), (ID.format(3), 2)]
    assert upload_batches(hub, [[(None, column("n", 1))], [(None, bounded("n"))]]) == [0, 0]
    assert told(hub, "column") == [("t", bounded("n"))]
    upload(hub, [('["/"]', counter("n", 1, shard(str(uuid.UUID(opening)), 1, 4)))])
    assert (str(uuid.UUID(opening)), 4) in rights()
    held = [(None, {"tells": "answer", "answer": f"b103{opening}{uuid.UUID(ID.format(n)).hex}"}) for n in (1, 2)]
    upload(hub, held[:1])
    assert rights() == [(ID.format(1), 9), (ID.format(2), 0), (ID.format(3), 2)]
    upload(hub, held[1:])
    assert rights() == [(str(uuid.UUID(int=0)), 4), (ID.format(1), 5), (ID.format(2), 0), (ID.format(3), 2)]
    assert upload_batches(hub, [[(None, column("n", 3))]]) == [1]
    assert rights() == []


def test_a_row_that_comes_in_parts_is_joined(hub):
    shards = [shard(ID.format(n), 1, n) for n in range(1, 4)]
    parts = [('["/"]', counter("n", 1, *shards[:2])), ('["/"]', counter("n", 1, *shards[1:])),
             ('["/"]', counter("m", 1, shards[0]))]
    for order in itertools.permutations(parts):
        upload_batches(hub, [[order[0]], order[1:]])
        assert hub.ask("SELECT column_name, value FROM counter_hub.totals ORDER BY 1") == [("m", 1), ("n", 6)]
        hub.say("SELECT counter_hub.forget('t')")


def test_a_mark_rises_by_batches_that_begin_where_it_stands(hub):
    def mark_after(since, upto):
        hub.psql("--single-transaction", "-c", "INSERT INTO counter_hub.incoming VALUES "
                 "('t', 'k INTEGER BINARY', '\\x01', '[1]', "
                 f"$j${json.dumps(counter('n', 2))}$j$, 'me', {since}, {upto})", "-c", "SELECT counter_hub.merge()")
        return hub.ask("SELECT counter_hub.mark('me')")[0][0]

    assert [mark_after(*batch) for batch in [(5, 9), (0, 4), (5, 9), (4, 7), (0, 6), (2, 8)]] == [0, 4, 4, 7, 7, 8]
    assert hub.ask("SELECT counter_hub.mark('another')") == [(0,)]


ONE_SHARD = shard(ID.format(1), 1, 1)
STAMP = {"number": 7, "id": ID.format(1)}


def row(*columns, **members):
    return {"tells": "row", "row": members or {"life": 1, "stamp": STAMP}, "columns": list(columns)}


def regular(name="a", generation=0, stamp=STAMP, **members):
    return {"name": name, "kind": "regular", "generation": generation, "stamp": stamp, **(members or {"value": 1})}


def without(object, member):
    return {name: value for name, value in object.items() if name != member}


N = counter("n", 1, ONE_SHARD)["columns"][0]
DAMAGED = [
    ("an empty cell", counter("n", 1)), ("a life of 0", counter("n", 0)), ("a life of 2^32", counter("n", 2**32)),
    ("a deleted cell with a shard", counter("n", 2, ONE_SHARD)), ("a clock of 0", counter("n", 1, shard(ID.format(1), 0, 1))),
    ("a clock of 2^62", counter("n", 1, shard(ID.format(1), 2**62, 1))),
    ("a shard without a value", counter("n", 1, without(ONE_SHARD, "value"))),
    ("a value beyond 64 bits", counter("n", 1, shard(ID.format(1), 1, 2**63))),
    *((f"grants {grants}", counter("n", 1, {**ONE_SHARD, "grants": grants})) for grants in
      ({}, [], 1, {ONE_SHARD["id"]: 1}, {ID.format(9): 0}, {ID.format(9): -1}, {ID.format(9): 2**63}, {ID.format(9): "1"}, {"x": 1})),
    ("no whole number", counter("n", 1, shard(ID.format(1), 1, 1.5))), ("no id", counter("n", 1, shard("x", 1, 1))),
    *((f"generation {n}", counter("n", 1, ONE_SHARD, generation=n)) for n in (0, 2, -1, 2**32 + 1)),
    ("an empty name", counter("", 1, ONE_SHARD)), ("no name", row(without(N, "name"))), ("no kind", row(without(N, "kind"))), ("no cell", {"tells": "row", "columns": [without(N, "cell")]}),
    ("a cell that is none", {"tells": "row", "columns": [{**N, "cell": 1}]}),
    ("no columns", {"tells": "row"}), ("columns that are none", {"tells": "row", "columns": {}}),
    ("a column that is none", {"tells": "row", "columns": [1]}),
    ("an unknown change", {"tells": "colour"}), ("no change", {}), ("a list", []), ("an unknown member", {**row(), "colour": 1}),
    ("one of a row", row(life=2, colour=1)), ("one of a stamp", row(life=1, stamp={**STAMP, "colour": 1})),
    ("one of a column", row({**N, "colour": 1})), ("one of a regular column", row({**regular(), "cell": N["cell"]})),
    ("one of a cell", row({**N, "cell": {**N["cell"], "colour": 1}})), ("one of a shard", counter("n", 1, {**ONE_SHARD, "colour": 1})),
    ("an unknown kind", row({**N, "kind": "colour"})),
    ("no life", row(stamp=STAMP)), ("a row of life 0", row(life=0)), ("a life beyond 31 bits", row(life=2**31, stamp=STAMP)),
    ("a live row without a stamp", row(life=1)), ("a deleted one with a stamp", row(life=2, stamp=STAMP)),
    ("a deleted one with a counter", row(N, life=2)), ("a deleted one with a regular column", row(regular(), life=2)),
    ("half a stamp", row(life=1, stamp={"number": 1})), ("a stamp below 0", row(life=1, stamp={**STAMP, "number": -1})),
    ("a stamp beyond 2200", row(life=1, stamp={**STAMP, "number": 29859523934027777})),
    ("one of a column", row(regular(stamp={**STAMP, "number": 29859523934027777}))),
    ("a regular column without a row", {"tells": "row", "columns": [regular()]}),
    ("one without a value", row(without(regular(), "value"))), ("a value without a stamp", row(regular(stamp=None))),
    ("no stamp", row(without(regular(), "stamp"))), ("an odd generation", row(regular(generation=1))),
    ("a generation beyond all stamps", row(regular(generation=512))),
    *((f"the value {value}", row(regular(value=value))) for value in (True, [], {}, {"hex": "0"}, {"hex": 1}, {"text": "zz"},
                                                                      {"hex": "00", "text": "00"}, {"colour": "00"})),
]
DAMAGED_WITHOUT_KEY = [
    ("generation 0", column("n", 0)), ("generation 2^32", column("n", 2**32)), ("no name", column("", 1)),
    ("a regular column that is odd", column("n", 1, "regular")), ("a bound of what was dropped", bounded("n", 2)),
    ("a bound that is none", {**column("n", 1), "bounded": False}), ("an unknown kind", column("n", 2, "colour")),
    ("no kind", without(column("n", 2), "kind")), ("a row", counter("n", 1, ONE_SHARD)), ("floors", FLOORS)]


@pytest.mark.parametrize("key, change", [
    *(pytest.param('["/"]', change, id=name) for name, change in DAMAGED),
    *(pytest.param(None, change, id=f"no key, {name}") for name, change in DAMAGED_WITHOUT_KEY),
    pytest.param('["/"]', column("n", 1), id="a column with a key"),
    pytest.param('{"a":1}', counter("n", 2), id="a key that is none")])
def test_what_no_change_can_be_is_refused_by_a_sentence_with_all_that_came_along(hub, key, change):
    refused = upload(hub, [('["/b"]', row(N, regular())), (key, change)])
    assert refused.returncode != 0
    assert "counter_hub: a change is damaged: " in refused.stderr or key == '{"a":1}'
    assert hub.ask("SELECT * FROM counter_hub.totals") == []
    assert hub.ask("SELECT number FROM counter_hub.hub") == [(0,)]


GOOD = [counter("n", 1, shard(ID.format(1), 2, 5, {ID.format(2): 2**63 - 1, ID.format(3): 1})), row(N, regular()), row(life=2), row(), row({"name": "a", "kind": "regular", "generation": 0, "stamp": None}),
        row(regular(generation=510)), row(regular(value={"text": "61ff"})), row(regular(value={"hex": ""})),
        row(life=2**31 - 1, stamp={**STAMP, "number": 29859523934027776}), counter("n", 1, shard(ID.format(1), 2**62 - 1, -2**63)),
        counter("n", 2**32 - 2), counter("n", 3), counter("n", 1, ONE_SHARD, generation=2**32 - 1)]


def test_the_hub_and_a_file_take_the_same_changes(hub):
    """What a file does not take it could not download."""
    def taken(change):
        table = "t" if "row" in change else "v"
        db = make(":memory:", ["v USING counter(path TEXT PRIMARY KEY, n COUNTER)"])
        db.execute("CREATE TABLE t(path TEXT NOT NULL PRIMARY KEY, a, n INTEGER)")
        db.execute("SELECT counter_replicate('t', 'n')").fetchall()
        db.execute("INSERT INTO counter_changes(table_name, key, change, seq, source) VALUES (?, counter_key('/'), "
                   "counter_change_of(?), 1, ?)", [table, json.dumps(change), ID.format(9)])

    for _, change in DAMAGED:
        with pytest.raises(sqlite3.Error, match="counter_change"):
            taken(change)
    for change in GOOD:
        taken(change)
        assert upload(hub, [('["/"]', change)]).stderr == ""
        hub.say("SELECT counter_hub.forget('t')")


ORDER = [-10**30, -7, -0.5, 0, 0.25, 9, 10, 2**63, "", "A", "Z", "a", "a\x01", "aa", "é", "日", "\U0001f642",
         {"hex": ""}, {"hex": "00"}, {"hex": "00ff"}, {"hex": "61"}, {"hex": "ff"}]


def order_of(hub, values, collation):
    """What is_less says of each pair."""
    rows = ",".join(f"({n}, $j${json.dumps(value)}$j$::jsonb)" for n, value in enumerate(values))
    return {(a, b): less for a, b, less in hub.ask(
        f"WITH v(n, j) AS (VALUES {rows}) "
        f"SELECT a.n, b.n AS m, counter_hub.is_less(a.j, b.j, '{collation}') FROM v a, v b")}


def test_keys_are_ordered_as_sqlite_orders_them(hub):
    told = order_of(hub, ORDER, "BINARY")
    assert told == {(a, b): a < b for a in range(len(ORDER)) for b in range(len(ORDER))}


@pytest.mark.parametrize("collation", ["BINARY", "NOCASE", "RTRIM"])
def test_texts_are_ordered_by_the_collation_of_the_column(hub, collation):
    texts = ["", " ", "a", "A", "a ", "A  ", "aa", "AB", "ab", "b", "[", "_", "É", "é", "é ", "\t", "a\t", "Z", "日", "🙂"]
    told = order_of(hub, texts, collation)
    db = sqlite3.connect(":memory:")
    for (a, b), less in told.items():
        assert less == bool(db.execute(f"SELECT ? < ? COLLATE {collation}", [texts[a], texts[b]]).fetchone()[0]), \
            (texts[a], texts[b])


def test_texts_of_other_collations_have_no_order_and_other_values_have(hub):
    told = order_of(hub, ["a", "b", 1, 2, {"hex": "00"}], "GERMAN")
    assert [told[pair] for pair in [(0, 1), (1, 0), (2, 3), (3, 2), (2, 0), (0, 4), (4, 2)]] == \
        [None, None, True, False, True, True, False]


@pytest.mark.parametrize("key, collations", [
    ("a TEXT NOCASE", ["NOCASE"]),
    ("a TEXT NOCASE, b c, d BLOB RTRIM, e INTEGER BINARY", ["NOCASE", "RTRIM", "BINARY"]),
    ("a TEXT BINARY, b TEXT NOCASE", [None]),      # one column of a strange name
    ("a TEXT B TEXT NOCASE", ["B TEXT NOCASE"])])  # no collation that is compared by
def test_the_collations_of_a_key(hub, key, collations):
    for n, collation in enumerate(collations):
        assert hub.ask(f"SELECT counter_hub.collation_of('{key}', {n}, {len(collations)})") == [(collation,)]


def test_floors_remove_and_keep_out_and_only_rise(hub):
    one = counter("n", 1, ONE_SHARD)
    assert upload(hub, [(f'["/", {n}]', one) for n in range(10)]).stdout == "11\n"
    floor = lambda n: [(f'[null, {n}]', FLOORS)]
    assert upload(hub, floor(6)).stdout == "1\n"
    assert upload(hub, floor(4)).stdout == "0\n"
    assert upload(hub, floor(5) + floor(6)).stdout == "0\n"
    upload(hub, [(f'["/x", {n}]', one) for n in range(10)])
    keys = [("/", n) for n in range(6, 10)] + [("/x", n) for n in range(6, 10)]
    assert sorted(tuple(key) for key, in hub.ask("SELECT key_json FROM counter_hub.totals")) == keys
    for table in "row_cells", "cells", "shards":
        assert hub.ask(f"SELECT count(*) FROM counter_hub.{table}") == [(8,)]
    assert hub.ask("SELECT key_column, floor FROM counter_hub.floors") == [(1, 6)]


def test_a_floor_and_a_row_below_it_in_one_batch(hub):
    upload(hub, [('["/", 1]', counter("n", 1, ONE_SHARD)), ('[null, 6]', FLOORS)])
    assert hub.ask("SELECT * FROM counter_hub.row_cells") == hub.ask("SELECT * FROM counter_hub.cells") == []


def test_a_row_that_is_stored_below_a_floor_is_seen_by_nobody(hub):
    upload(hub, [('[null, 6]', FLOORS), ('["/", 7]', counter("n", 1, ONE_SHARD))])
    hub.say("UPDATE counter_hub.row_cells SET key_json = '[\"/\", 5]'")
    assert hub.ask("SELECT count(*) FROM counter_hub.shards") == [(1,)]
    assert hub.ask("SELECT * FROM counter_hub.totals") == []
    assert told(hub, "row") == []


def test_the_sum_may_be_of_any_size(hub):
    upload(hub, [('["/"]', counter("n", 1, shard(ID.format(n), 1, 2**63 - 1))) for n in range(5)])
    assert hub.ask("SELECT value FROM counter_hub.totals") == [(5 * (2**63 - 1),)]


def test_the_schema_may_be_loaded_again(hub):
    upload(hub, [('["/"]', counter("n", 1, ONE_SHARD))])
    before = hub.ask("SELECT id, number FROM counter_hub.hub")
    hub.load()
    assert hub.ask("SELECT id, number FROM counter_hub.hub") == before
    assert hub.ask("SELECT value FROM counter_hub.totals") == [(1,)]


# ---- at the same time, in parts ----

ONE = ["views USING counter(path TEXT PRIMARY KEY, hits COUNTER)"]


@pytest.mark.long
def test_uploads_at_the_same_time(hub, tmp_path):
    paths = [tmp_path / f"{n}.db" for n in range(2)]
    dbs = [make(path, ONE) for path in paths]
    failed = []

    def send(path):
        done = [hub.carry("up", path) for _ in range(5)]
        failed.extend(one.stderr for one in done if one.returncode)

    for _ in range(3):
        for db in dbs:
            for n in range(200):
                db.execute("INSERT INTO views VALUES (?, 1)", [f"/{n % 50}"])
        senders = [threading.Thread(target=send, args=[path]) for path in paths]
        for one in senders:
            one.start()
        for one in senders:
            one.join()
    assert failed == []
    assert hub.ask("SELECT count(*), sum(value) FROM counter_hub.totals") == [(50, 1200)]
    assert hub.ask("SELECT count(*) FROM counter_hub.incoming") == [(0,)]
    assert_hub_brings_all(hub, tmp_path, paths, ONE)


def test_an_upload_that_commits_late_is_not_missed(hub):
    """A second one waits for it, so nobody downloads a higher number first."""
    late = subprocess.Popen(["psql", "-X", "-q", "-A", "-t"], env=hub.env, stdin=subprocess.PIPE,
                            stdout=subprocess.PIPE, text=True)
    late.stdin.write("BEGIN;\nSELECT rows_read FROM counter_hub.merge();\n")
    late.stdin.flush()
    assert late.stdout.readline() == "0\n"
    second = hub.psql("-c", "SET lock_timeout = '300ms'", "-c", "SELECT counter_hub.merge()")
    assert "lock timeout" in second.stderr
    assert hub.ask("SELECT number FROM counter_hub.hub") == [(0,)]
    late.communicate("COMMIT;\n", timeout=10)
    assert hub.ask("SELECT number FROM counter_hub.hub") == [(1,)]


def test_only_what_is_new_goes_up_and_down(hub, tmp_path):
    one, two = make(tmp_path / "one.db", ONE), make(tmp_path / "two.db", ONE)
    for n in range(100):
        one.execute("INSERT INTO views VALUES (?, 1)", [f"/{n}"])
    time.sleep(1.1)  # rows of one second have one number, and those of the last one are sent again
    one.execute("INSERT INTO views VALUES ('/6', 1)")
    assert hub.go("up", tmp_path / "one.db") == [100, 101]  # rows and the counter
    assert hub.go("down", tmp_path / "two.db")[0] == 101
    assert hub.go("down", tmp_path / "two.db")[0] == 0
    one.execute("INSERT INTO views VALUES ('/7', 1)")
    sent, changed = hub.go("up", tmp_path / "one.db")
    assert sent <= 2 and changed == 1
    assert hub.go("down", tmp_path / "two.db")[0] == 1
    assert hub.go("up", tmp_path / "one.db")[1] == 0
    assert two.execute("SELECT hits FROM views WHERE path = '/7'").fetchall() == [(2,)]
    assert state(two) == state(one)


def test_a_table_that_comes_later_is_downloaded_from_the_start(hub, tmp_path):
    other = "more USING counter(path TEXT PRIMARY KEY, n COUNTER)"
    one, two = make(tmp_path / "one.db", ONE + [other]), make(tmp_path / "two.db", ONE)
    one.execute("INSERT INTO views VALUES ('/', 1)")
    one.execute("INSERT INTO more VALUES ('/', 2)")
    hub.go("up", tmp_path / "one.db")
    hub.go("down", tmp_path / "two.db")
    two.execute(f"CREATE VIRTUAL TABLE {other}")
    hub.go("down", tmp_path / "two.db")
    assert state(two) == state(one)


def test_a_key_with_a_zero_character_has_no_json_and_goes_through(hub, tmp_path):
    one, two = make(tmp_path / "one.db", ONE), make(tmp_path / "two.db", ONE)
    one.execute("INSERT INTO views VALUES (CAST(x'610062' AS TEXT), 3)")
    hub.go("up", tmp_path / "one.db")
    hub.go("down", tmp_path / "two.db")
    assert hub.ask("SELECT key_json, value FROM counter_hub.totals") == [(None, 3)]
    assert state(two) == state(one)


def test_a_hub_that_was_restored_sends_everything_under_its_new_id(hub, tmp_path):
    one, two = make(tmp_path / "one.db", ONE), make(tmp_path / "two.db", ONE)
    one.execute("INSERT INTO views VALUES ('/', 1)")
    hub.go("up", tmp_path / "one.db")
    hub.go("down", tmp_path / "two.db")
    hub.psql("-c", "UPDATE counter_hub.hub SET id = gen_random_uuid()")
    assert hub.go("down", tmp_path / "two.db")[0] == 2
    assert state(two) == state(one)


def test_what_a_device_that_is_gone_had_sent_comes_back_to_a_restored_hub_from_a_file_that_has_it(hub, tmp_path):
    gone, two, three = (make(tmp_path / f"{name}.db", ONE) for name in ("gone", "two", "three"))
    gone.execute("INSERT INTO views VALUES ('/', 10)")
    hub.go("up", tmp_path / "gone.db")
    hub.go("down", tmp_path / "two.db")
    two.execute("INSERT INTO views VALUES ('/', 1)")
    hub.psql("-c", "SELECT counter_hub.forget('views')")  # as in a backup from before
    hub.psql("-c", "UPDATE counter_hub.hub SET id = gen_random_uuid()")
    hub.go("up", tmp_path / "two.db")
    assert hub.ask("SELECT value FROM counter_hub.totals") == [(1,)]
    for _ in range(2):
        hub.go("all", tmp_path / "two.db")
    assert hub.ask("SELECT value FROM counter_hub.totals") == [(11,)]
    hub.go("down", tmp_path / "three.db")
    assert state(three) == state(two)


def test_a_failure_changes_nothing_and_is_told(hub, tmp_path):
    one = make(tmp_path / "one.db", ONE)
    one.execute("INSERT INTO views VALUES ('/', 1)")
    other = tmp_path / "no.db"
    other.write_bytes(b"no database" * 100)
    for way in "up", "down":
        done = hub.carry(way, other)
        assert done.returncode != 0 and done.stderr, way
    upload(hub, [('["/"]', counter("n", 1, ONE_SHARD))])  # its table is t and its key not packed
    other = make(tmp_path / "other.db", ["t USING counter(path TEXT PRIMARY KEY, n COUNTER)"])
    before = state(other)
    done = hub.carry("down", tmp_path / "other.db")
    assert done.returncode != 0 and "counter_changes" in done.stderr
    assert state(other) == before
    assert hub.carry("sideways", tmp_path / "one.db").returncode == 2
    assert hub.carry("up", tmp_path / "none.db").returncode == 1


# ---- tables that differ ----

def counted(path, table, row, columns="", tables=()):
    db = make(path, [table, *tables])
    db.execute(f"INSERT INTO views{columns} VALUES {row}")
    return db


def test_another_key_under_the_same_name_is_refused_and_disturbs_nobody(hub, tmp_path):
    one, two = make(tmp_path / "one.db", ONE), make(tmp_path / "two.db", ONE)
    one.execute("INSERT INTO views VALUES ('/', 1)")
    hub.go("up", tmp_path / "one.db")
    others = ["views USING counter(path TEXT, hour INTEGER, hits COUNTER, PRIMARY KEY (path, hour))",
              "views USING counter(path TEXT COLLATE NOCASE PRIMARY KEY, hits COUNTER)",
              "views USING counter(page TEXT PRIMARY KEY, hits COUNTER)",
              "views USING counter(path PRIMARY KEY, hits COUNTER)"]
    for n, table in enumerate(others):
        path = tmp_path / f"wrong{n}.db"
        wrong = counted(path, table, "('/', 5)" if n else "('/', 1, 5)",
                        tables=["other USING counter(k PRIMARY KEY, n COUNTER)"])
        wrong.execute("INSERT INTO other VALUES (1, 1)")
        mine, = wrong.execute("SELECT key_columns FROM counter_changes(0) WHERE table_name = 'views'").fetchone()
        before = state(wrong)
        done = hub.carry("up", path)
        assert (done.returncode, done.stdout) == (1, "")
        assert f"table views: the upload has the key ({mine}), the hub has (path TEXT BINARY)" in done.stderr
        assert "counter_hub.forget('views')" in done.stderr
        done = hub.carry("down", path)
        assert done.returncode == 1 and f"(path TEXT BINARY), this file has ({mine})" in done.stderr
        assert state(wrong) == before
    assert hub.ask("SELECT table_name, key_columns FROM counter_hub.tables") == [("views", "path TEXT BINARY")]
    assert hub_totals(hub) == totals(one)
    hub.go("down", tmp_path / "two.db")
    assert state(two) == state(one)


def test_two_keys_of_one_table_in_one_upload_are_refused(hub):
    done = upload(hub, [('["/"]', counter("n", 1, ONE_SHARD)), ('["/", 1]', counter("n", 1, ONE_SHARD))])
    assert done.returncode != 0 and "table t: the upload has the key" in done.stderr
    assert hub.ask("SELECT * FROM counter_hub.tables") == []


def test_a_table_that_was_forgotten_may_come_with_another_key(hub, tmp_path):
    wrong = counted(tmp_path / "wrong.db", "views USING counter(page TEXT PRIMARY KEY, hits COUNTER)", "('/', 5)")
    wrong.execute("INSERT INTO views(views, page) VALUES ('purge below', '!')")
    right = counted(tmp_path / "right.db", ONE[0], "('/', 1)", tables=["more USING counter(k PRIMARY KEY, n COUNTER)"])
    right.execute("INSERT INTO more VALUES (1, 1)")
    fresh = make(tmp_path / "fresh.db", [ONE[0], "more USING counter(k PRIMARY KEY, n COUNTER)"])
    hub.go("up", tmp_path / "wrong.db")
    assert hub.carry("up", tmp_path / "right.db").returncode == 1
    assert hub.psql("-c", "SELECT counter_hub.forget('views')").returncode == 0
    for table in "tables", "columns", "row_cells", "cells", "shards", "floors", "sources":
        assert hub.ask(f"SELECT count(*) FROM counter_hub.{table}") == [(0,)]
    hub.go("up", tmp_path / "right.db")
    hub.go("down", tmp_path / "fresh.db")
    assert state(fresh) == state(right)
    assert hub.carry("up", tmp_path / "wrong.db").returncode == 1


def test_only_the_table_that_is_named_is_forgotten(hub, tmp_path):
    one = counted(tmp_path / "one.db", ONE[0], "('/', 1)", tables=["more USING counter(k PRIMARY KEY, n COUNTER)"])
    one.execute("INSERT INTO more VALUES (1, 7)")
    hub.go("up", tmp_path / "one.db")
    hub.psql("-c", "SELECT counter_hub.forget('views')")
    assert hub.ask("SELECT table_name, value FROM counter_hub.totals") == [("more", 7)]
    hub.go("up", tmp_path / "one.db")
    assert hub_totals(hub) == totals(one)


def test_a_counter_that_a_file_does_not_have_is_added_there(hub, tmp_path):
    wide = "views USING counter(path TEXT PRIMARY KEY, hits COUNTER, \"it's\" COUNTER)"
    counted(tmp_path / "wide.db", wide, "('/', 1, 2), ('/a', NULL, 3)")
    narrow = counted(tmp_path / "narrow.db", ONE[0], "('/', 5)")
    hub.go("up", tmp_path / "narrow.db")
    hub.go("up", tmp_path / "wide.db")
    hub.go("down", tmp_path / "narrow.db")
    assert narrow.execute("SELECT * FROM views ORDER BY 1").fetchall() == [("/", 6, 2), ("/a", 0, 3)]


def test_a_counter_in_other_letters_is_refused_on_both_ways(hub, tmp_path):
    one = counted(tmp_path / "one.db", "views USING counter(path TEXT PRIMARY KEY, hits COUNTER)", "('/', 1)")
    two = counted(tmp_path / "two.db", "views USING counter(path TEXT PRIMARY KEY, Hits COUNTER)", "('/', 2)")
    hub.go("up", tmp_path / "one.db")
    done = hub.carry("up", tmp_path / "two.db")
    assert (done.returncode, done.stdout) == (1, "")
    assert "table views: the upload has the counter Hits, the hub has hits, in other letters" in done.stderr
    done = hub.carry("down", tmp_path / "two.db")
    assert done.returncode == 1 and "the counter is spelled Hits here" in done.stderr
    assert two.execute("SELECT * FROM views").fetchall() == [("/", 2)]
    assert hub_totals(hub) == totals(one)


# ---- counters that come and go ----

def alter(db, *commands):
    for command in commands:
        db.execute("INSERT INTO views(views) VALUES (?)", [command])


def generations(hub):
    return hub.ask("SELECT column_name, generation FROM counter_hub.columns ORDER BY 1")


@pytest.fixture
def pair(tmp_path):
    paths = tmp_path / "one.db", tmp_path / "two.db"
    return [(path, make(path, ONE)) for path in paths]


def test_a_counter_travels_before_anything_is_counted(hub, pair):
    (one, a), (two, b) = pair
    alter(a, "add column errors")
    hub.go("up", one)
    hub.go("down", two)
    b.execute("INSERT INTO views(path, errors) VALUES ('/', 3)")
    assert b.execute("SELECT * FROM views").fetchall() == [("/", 0, 3)]
    assert generations(hub) == [("errors", 1)]


def test_a_drop_reaches_the_hub_and_the_others_with_all_that_was_counted(hub, pair):
    (one, a), (two, b) = pair
    alter(a, "add column errors")
    a.execute("INSERT INTO views VALUES ('/', 1, 7)")
    hub.go("up", one)
    hub.go("down", two)
    b.execute("INSERT INTO views(path, hits, errors) VALUES ('/', 1, 8)")
    hub.go("up", two)
    assert ("views", plain(["/"]), "errors", 15) in hub_totals(hub)
    alter(a, "drop column errors")
    hub.go("up", one)
    assert hub_totals(hub) == [("views", plain(["/"]), "hits", 2)]
    for table in "cells", "shards":
        assert hub.ask(f"SELECT count(*) FROM counter_hub.{table} WHERE column_name = 'errors'") == [(0,)]
    hub.go("down", two)
    assert b.execute("SELECT * FROM views").fetchall() == [("/", 2)]
    hub.go("down", one)
    assert state(a) == state(b)


def test_a_counter_that_is_added_again_begins_at_0_and_what_comes_late_is_over(hub, pair, tmp_path):
    (one, a), (two, b) = pair
    alter(a, "add column errors")
    a.execute("INSERT INTO views VALUES ('/', 1, 7)")
    hub.go("up", one)
    hub.go("down", two)
    alter(a, "drop column errors", "add column errors")
    hub.go("up", one)
    b.execute("INSERT INTO views(path, errors) VALUES ('/', 100)")  # has not heard of it
    assert hub.go("up", two)[1] == 0
    assert generations(hub) == [("errors", 3), ("hits", 1)]
    assert hub_totals(hub) == [("views", plain(["/"]), "hits", 1)]
    hub.go("down", two)
    assert b.execute("SELECT * FROM views").fetchall() == [("/", 1, 0)]
    b.execute("INSERT INTO views(path, errors) VALUES ('/', 2)")
    a.execute("INSERT INTO views(path, errors) VALUES ('/', 3)")
    hub.go("up", one)
    hub.go("up", two)
    hub.go("down", one)
    hub.go("down", two)
    assert a.execute("SELECT * FROM views").fetchall() == b.execute("SELECT * FROM views").fetchall() == [("/", 1, 5)]
    assert hub_totals(hub) == totals(a)
    assert_hub_brings_all(hub, tmp_path, [one, two], ONE)


def test_of_two_files_that_each_drop_what_the_other_keeps_none_keeps_any(hub, pair):
    (one, a), (two, b) = pair
    alter(a, "add column errors")
    a.execute("INSERT INTO views VALUES ('/', 1, 7)")
    hub.go("up", one)
    hub.go("down", two)
    alter(a, "drop column errors")
    alter(b, "drop column hits")
    for way, path in [("up", one), ("up", two), ("down", one), ("down", two)]:
        hub.go(way, path)
    assert hub_totals(hub) == []
    assert state(a) == state(b)
    alter(b, "add column hits")
    b.execute("INSERT INTO views VALUES ('/', 4)")
    hub.go("up", two)
    hub.go("down", one)
    assert a.execute("SELECT * FROM views").fetchall() == [("/", 4)]


def test_a_hub_that_forgot_a_table_learns_again_what_was_dropped(hub, pair):
    (one, a), (two, b) = pair
    alter(a, "add column errors")
    a.execute("INSERT INTO views VALUES ('/', 1, 7)")
    hub.go("up", one)
    hub.go("down", two)
    alter(a, "drop column errors")
    hub.go("up", one)
    hub.psql("-c", "SELECT counter_hub.forget('views')")
    hub.go("up", two)
    assert ("errors", 1) in generations(hub)
    hub.go("up", one)
    assert hub_totals(hub) == [("views", plain(["/"]), "hits", 1)]


def test_generations_merge_in_any_order_and_any_batches(hub):
    changes = [('["/"]', counter("n", 5, shard(ID.format(1), 9, 100))), (None, column("n", 2)),
               ('["/"]', counter("n", 1, shard(ID.format(1), 2, 7), generation=3)),
               ('["/"]', counter("n", 1, shard(ID.format(2), 1, 1), generation=3))]
    batches = [[[one] for one in order] for order in itertools.permutations(changes)] + [[changes], [changes[::-1] + changes]]
    for order in batches:
        upload_batches(hub, order)
        assert cells(hub) == [(1, [(ID.format(1), 2, 7), (ID.format(2), 1, 1)])], order
        assert hub.ask("SELECT value FROM counter_hub.totals") == [(8,)]
        assert generations(hub) == [("n", 3)]
        assert upload_batches(hub, [changes]) == [0]
        hub.say("TRUNCATE counter_hub.row_cells, counter_hub.cells, counter_hub.shards, counter_hub.columns")


def test_a_row_of_which_all_is_over_is_not_told(hub):
    upload(hub, [(None, column("n", 2))])
    assert upload(hub, [('["/"]', counter("n", 1, ONE_SHARD))]).stdout == "0\n"
    assert hub.ask("SELECT * FROM counter_hub.row_cells") == told(hub, "row") == []


def test_a_counter_that_became_a_regular_column_is_told_as_such(hub):
    changes = [(None, column("n", 2)), (None, column("n", 2, "regular")), (None, column("n", 1))]
    for order in itertools.permutations(changes):
        upload_batches(hub, [[one] for one in order])
        assert told(hub, "column") == [("t", column("n", 2, "regular"))]
        hub.say("SELECT counter_hub.forget('t')")
    upload(hub, [('["/"]', row(regular("n", 2))), ('["/x"]', row(N))])
    assert told(hub, "column") == [("t", column("n", 2, "regular"))]
    assert hub.ask("SELECT key_json ->> 0 AS key, columns, counters FROM counter_hub.rows ORDER BY 1") == [
        ("/", {"n": 1}, {}), ("/x", {}, {})]


def test_a_cell_that_is_stored_of_a_generation_that_is_over_is_seen_by_nobody(hub):
    upload(hub, [('["/"]', counter("n", 1, ONE_SHARD))])
    hub.say("UPDATE counter_hub.columns SET generation = 2")
    assert hub.ask("SELECT count(*) FROM counter_hub.shards") == [(1,)]
    assert hub.ask("SELECT * FROM counter_hub.totals") == []
    assert told(hub, "row") == []


# ---- floors of texts ----

PATHS = ["A", "a", "B", "b", "C", "c", "a ", "b ", "", " ", "É", "é"]


@pytest.mark.parametrize("collation", ["BINARY", "NOCASE", "RTRIM"])
@pytest.mark.parametrize("floor", ["B", "b "])
def test_a_floor_of_texts_removes_what_a_file_removes(hub, tmp_path, collation, floor):
    tables = [f"views USING counter(path TEXT COLLATE {collation}, hour INTEGER, hits COUNTER, PRIMARY KEY (hour, path))"]
    one, two = make(tmp_path / "one.db", tables), make(tmp_path / "two.db", tables)
    for n, path in enumerate(PATHS):
        one.execute("INSERT INTO views VALUES (?, ?, 1)", [path, n])
    two.execute("INSERT INTO views(views, path) VALUES ('purge below', ?)", [floor])
    hub.go("up", tmp_path / "one.db")
    hub.go("up", tmp_path / "two.db")
    assert_hub_brings_all(hub, tmp_path, [tmp_path / "one.db", tmp_path / "two.db"], tables)


def test_floors_that_the_hub_cannot_compare_are_all_passed_on_and_remove_nothing(hub):
    key = "path TEXT GERMAN"
    upload(hub, [(f'["{path}"]', counter("n", 1, ONE_SHARD)) for path in "abc"], key)
    floor = lambda path: [(f'["{path}"]', FLOORS)]
    assert [upload(hub, floor(path), key).stdout for path in "bab"] == ["1\n", "1\n", "0\n"]
    assert len(hub.ask("SELECT * FROM counter_hub.totals")) == 3
    assert hub.ask("SELECT floor FROM counter_hub.floors ORDER BY 1") == [("a",), ("b",)]
    assert told(hub, "floors") == [("t", FLOORS)] * 2


def test_of_floors_that_can_be_compared_the_highest_is_kept(hub):
    floor = lambda path: (f'["{path}"]', FLOORS)
    upload(hub, [floor("b"), floor("C"), floor("a")], "path TEXT NOCASE")
    assert hub.ask("SELECT floor FROM counter_hub.floors") == [("C",)]
    upload(hub, [floor("B"), floor("d")], "path TEXT NOCASE")
    assert hub.ask("SELECT floor FROM counter_hub.floors") == [("d",)]


# ---- what cannot be sent ----

def test_a_text_that_is_not_utf8_goes_up_and_comes_down(hub, tmp_path):
    one = counted(tmp_path / "one.db", ONE[0], "('ü日🙂', 1), (CAST(x'efbfbeefbfbf7f' AS TEXT), 1)")
    assert hub.go("up", tmp_path / "one.db") == [2, 3]
    for key in ["ff", "61c3", "80", "c080", "eda080", "f5808080", "e28261"]:
        one.execute(f"INSERT INTO views VALUES (CAST(x'{key}' AS TEXT), 1)")
    assert hub.go("up", tmp_path / "one.db")[0] == 7
    assert hub.ask("SELECT count(*) FROM counter_hub.totals WHERE key_json #>> '{0,text}' = 'eda080'") == [(1,)]
    two = make(tmp_path / "two.db", ONE)
    hub.go("down", tmp_path / "two.db")
    state = "SELECT counter_table_digest('views')"
    assert two.execute(state).fetchall() == one.execute(state).fetchall()


def test_of_texts_that_are_not_utf8_the_hub_does_not_know_the_order(hub):
    told = order_of(hub, ["a", 1, {"hex": "00"}, {"text": "ff"}], "BINARY")
    assert {pair for pair, less in told.items() if less is None} == {pair for pair in told if 3 in pair}


def test_a_text_with_the_letters_of_a_zero_character_has_json(hub, tmp_path):
    counted(tmp_path / "one.db", ONE[0], r"('a\u0000b', 3), ('\\u0000', 4)")
    hub.go("up", tmp_path / "one.db")
    assert hub.ask("SELECT key_json ->> 0, value FROM counter_hub.totals ORDER BY 2") == [(r"a\u0000b", 3), (r"\\u0000", 4)]


@pytest.mark.parametrize("way", ["up", "down"])
def test_what_is_missing_is_said(hub, tmp_path, way, monkeypatch):
    def said(path):
        done = hub.carry(way, path)
        assert (done.returncode, done.stdout) == (1, "")
        return done.stderr

    one = counted(tmp_path / "one.db", ONE[0], "('/', 1)")
    sqlite3.connect(tmp_path / "plain.db").execute("CREATE TABLE t(a)")
    assert said(tmp_path / "none.db") == f"{tmp_path}/none.db: no such file\n"
    assert not (tmp_path / "none.db").exists()
    assert "no counter tables" in said(tmp_path / "plain.db")
    hub.psql("-c", "SET client_min_messages = error", "-c", "DROP SCHEMA counter_hub CASCADE")
    assert "run psql -v ON_ERROR_STOP=1 -f sql/hub/postgresql.sql first" in said(tmp_path / "one.db")
    monkeypatch.setitem(hub.env, "PGHOST", str(tmp_path))
    assert "connection" in said(tmp_path / "one.db")


def test_tracked_tables_agree_through_the_hub(hub, tmp_path):
    shops = []
    for i in range(3):
        db = connect(str(tmp_path / f"{i}.db"))
        db.execute("CREATE TABLE products(sku TEXT PRIMARY KEY, name TEXT DEFAULT 'x', stock INTEGER NOT NULL DEFAULT 0)")
        db.execute("SELECT counter_track('products', 'stock')").fetchall()
        db.execute("INSERT INTO products(sku, stock) VALUES (?, 5), ('tea', ?)", [f"own {i}", 10 ** i])
        shops.append(db)
    shops[2].execute("DELETE FROM products WHERE sku = 'own 2'")
    for way in "up", "down":
        for i in range(3):
            hub.go(way, tmp_path / f"{i}.db")
    for db in shops:
        assert db.execute("SELECT sku, stock FROM products ORDER BY sku").fetchall() == \
            [("own 0", 5), ("own 1", 5), ("tea", 111)]
        assert db.execute("SELECT count(*) FROM counter_tracked WHERE state <> 'tracked'").fetchall() == [(0,)]


# ---- opening values ----

def shop(path, stock=10):
    """A file that counted its stock when it began to track it."""
    db = connect(str(path))
    db.execute("CREATE TABLE products(sku TEXT PRIMARY KEY, stock INTEGER NOT NULL DEFAULT 0)")
    db.execute("INSERT INTO products VALUES ('tea', ?)", [stock])
    db.execute("SELECT counter_track('products', 'stock')").fetchall()
    return db


def stock(db):
    return db.execute("SELECT stock FROM products").fetchone()[0]


def opening(db):
    return db.execute("SELECT name FROM counter_state WHERE kind = 'opening'").fetchone()[0]


@pytest.fixture
def shops(tmp_path):
    return shop(tmp_path / "0.db"), shop(tmp_path / "1.db")


def there_and_back(hub, tmp_path, n=2):
    for way in "up", "down":
        for i in range(n):
            hub.go(way, tmp_path / f"{i}.db")


@pytest.mark.parametrize("answer, both", [("same", 9), ("add", 19)])
def test_a_download_shows_no_openings_until_they_are_answered_and_the_answer_goes_through_the_hub(
        hub, tmp_path, shops, answer, both):
    shops[0].execute("UPDATE products SET stock = stock - 1")
    hub.go("up", tmp_path / "0.db")
    hub.go("down", tmp_path / "1.db")
    assert (stock(shops[0]), stock(shops[1])) == (9, 10)
    why, = shops[1].execute("SELECT why FROM counter_tracked WHERE row_key NOT NULL").fetchone()
    assert why.startswith("two files counted the values that they had")
    found = re.findall(f"SELECT counter_opening\\('products', '{answer}', '[0-9a-f-]*'\\)", why)
    shops[1].execute(found[0]).fetchall()
    there_and_back(hub, tmp_path)
    assert [stock(db) for db in shops] == [both, both]
    hub.go("up", tmp_path / "0.db")  # the opening that gave way
    third = shop(tmp_path / "2.db", 0)
    hub.go("down", tmp_path / "2.db")
    assert stock(third) == both
    assert hub.ask("SELECT count(*) FROM counter_hub.answers") == [(1,)]
    assert hub.ask("SELECT value FROM counter_hub.totals") == [(both,)]
    assert hub.go("up", tmp_path / "1.db")[1] == 0


def test_an_answer_that_says_same_repairs_through_the_hub_what_was_added_up(hub, tmp_path, shops):
    shops[0].execute("SELECT counter_opening('products', 'add', ?)", [opening(shops[1])]).fetchall()
    there_and_back(hub, tmp_path)
    there_and_back(hub, tmp_path)
    assert [stock(db) for db in shops] == [20, 20]
    assert hub.ask("SELECT value FROM counter_hub.totals") == [(20,)]
    shops[1].execute("SELECT counter_opening('products', 'same', ?)", [opening(shops[0])]).fetchall()
    assert stock(shops[1]) == 10
    hub.go("up", tmp_path / "1.db")
    assert hub.ask("SELECT value FROM counter_hub.totals") == [(10,)]
    hub.go("down", tmp_path / "0.db")
    assert stock(shops[0]) == 10


def upload_answer(hub, answer, table="t"):
    return hub.psql("--single-transaction", "-c", "INSERT INTO counter_hub.incoming(table_name, key_columns, key, change) VALUES "
                    f"('{table}', 'k TEXT BINARY', '', '{{\"tells\":\"answer\",\"answer\":\"{answer}\"}}')", "-c",
                    "SELECT rows_changed FROM counter_hub.merge()")


LOWER, HIGHER = "10" * 6 + "80" + "10" * 9, "20" * 6 + "8f" + "20" * 9


def test_answers_are_a_set_that_grows_and_a_table_that_is_forgotten_forgets_its_own(hub):
    same, add = f"b101{LOWER}{HIGHER}", f"b102{LOWER}{HIGHER}"
    assert [upload_answer(hub, answer).stdout for answer in (same, same, add, same)] == ["1\n", "0\n", "1\n", "0\n"]
    upload_answer(hub, same, "other")
    assert sorted((table, change["answer"]) for table, change in told(hub, "answer")) == \
        [("other", same), ("t", same), ("t", add)]
    assert hub.psql("-c", "SELECT counter_hub.forget('t')").returncode == 0
    assert hub.ask("SELECT table_name FROM counter_hub.answers") == [("other",)]


@pytest.mark.parametrize("answer", [
    "", "b1", f"b101{LOWER}{HIGHER}00", f"b101{LOWER}{HIGHER}"[:-2], f"b100{LOWER}{HIGHER}", f"b103{LOWER}{HIGHER}",
    f"b201{LOWER}{HIGHER}", f"b101{HIGHER}{LOWER}", f"b101{LOWER}{LOWER}", f"b101{'10' * 16}{HIGHER}",
    f"b101{LOWER}{'20' * 16}"])
def test_a_damaged_answer_is_refused_by_a_sentence_with_all_that_came_along(hub, answer):
    refused = upload_answer(hub, answer)
    assert "counter_hub: a change is damaged: " in refused.stderr
    assert 'constraint "an answer is about two openings, or who holds one": nothing was taken' in refused.stderr
    assert hub.ask("SELECT number, (SELECT count(*) FROM counter_hub.tables) FROM counter_hub.hub") == [(0, 0)]
