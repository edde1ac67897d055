"""test_scopes.py - what a fleet needs of a hub: a device downloads a scope and has what a download of everything has in
it; one +1 among 10,000 devices is one row; and the tables of the hub may be partitioned by key."""

import json
import subprocess
import uuid

import pytest

from conftest import ROOT
from files import connect
from test_hub import hub, only_hub  # noqa: F401

KINDS = ["TEXT", "TEXT COLLATE NOCASE", "TEXT COLLATE RTRIM", "INTEGER", "REAL", "BLOB", ""]
VALUES = ["a", "A", "a ", "7", 7, 7.5, "é", -1, "", "1e3", 1000, "x\0y", "it's", 0.1, "0.1", "\t7", 1e-320, 1e306]


def make(path, kind):
    db = connect(str(path), timeout=10)
    db.execute("PRAGMA synchronous = OFF")
    db.execute(f"CREATE VIRTUAL TABLE v USING counter(k {kind}, j {kind}, n COUNTER, PRIMARY KEY (k, j))")
    db.execute(f"CREATE TABLE p(k {kind} NOT NULL, j {kind} NOT NULL, name, stock INTEGER DEFAULT 0, PRIMARY KEY (k, j))")
    db.execute("SELECT counter_replicate('p', 'stock')").fetchall()
    return db


def count(db, chance):
    key = chance.choice(VALUES), chance.choice(VALUES)
    what = chance.random()
    if what < .4:
        db.execute("INSERT INTO v VALUES (?, ?, ?)", (*key, chance.randint(-5, 9)))
    elif what < .5:
        db.execute(f"DELETE FROM {chance.choice('vp')} WHERE k = ? AND j = ?", key)
    else:
        db.execute("INSERT INTO p VALUES (?, ?, ?, 1) ON CONFLICT(k, j) DO UPDATE SET stock = stock + 1", (*key, chance.random()))


def cells(db, scope=None):
    where, values = ("WHERE scope = ?", [scope]) if scope else ("", [])
    return sorted(db.execute(f"SELECT table_name, key, change FROM counter_changes(0) {where}", values))


def down(hub, path, *scope):  # noqa: F811
    done = subprocess.run([ROOT / "examples" / "hub.sh", "down", path, *scope], env=hub.env, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return [int(n) for n in done.stdout.split("|")]


@pytest.mark.parametrize("round", range(3))
def test_a_scope_that_is_downloaded_has_what_everything_has_in_it(hub, tmp_path, chance, round):  # noqa: F811
    kind = chance.choice(KINDS)
    one, whole, part = (make(tmp_path / f"{name}.db", kind) for name in ("one", "whole", "part"))
    values = [value for value in VALUES if value != "x\0y"]  # of which JSON makes no scope
    scopes = [json.dumps([chance.choice(values) for _ in range(chance.randint(1, 2))]) for _ in range(2)]
    for _ in range(2):
        for _ in range(25):
            count(one, chance)
        hub.go("up", tmp_path / "one.db")
        down(hub, tmp_path / "whole.db")
        for scope in scopes:
            down(hub, tmp_path / "part.db", scope)
            assert cells(part, scope) == cells(whole, scope)
        assert {row[1] for row in cells(part)} == {row[1] for scope in scopes for row in cells(part, scope)}
    assert down(hub, tmp_path / "part.db", scopes[0])[0] == 0
    down(hub, tmp_path / "part.db")
    assert cells(part) == cells(whole)


def test_a_scope_that_is_none_is_refused_and_changes_nothing(hub, tmp_path):  # noqa: F811
    db = make(tmp_path / "a.db", "TEXT")
    for scope in "x", "[]", '["x"', "'); DROP TABLE p; --":
        done = subprocess.run([ROOT / "examples" / "hub.sh", "down", tmp_path / "a.db", scope], env=hub.env, capture_output=True,
                              text=True)
        assert done.returncode == 1 and "scope must be a JSON array of the first values of a key" in done.stderr
    assert cells(db) == []
    assert db.execute("SELECT * FROM counter_peers").fetchall() == []


def fill(hub, db, n):  # noqa: F811
    """A counter in which n devices have counted 1 each, in a file and in the hub."""
    shards = [{"id": str(uuid.uuid4()), "clock": 1, "value": 1} for _ in range(n)]
    change = json.dumps({"tells": "row", "columns": [{"name": "n", "kind": "counter", "generation": 1,
                                                      "cell": {"life": 1, "shards": shards}}]})
    db.execute("INSERT INTO counter_changes(table_name, key, change, seq, source) VALUES ('v', counter_key('x', 'y'), "
               "counter_change_of(?), 1, ?)", [change, shards[0]["id"]])
    done = hub.psql("--single-transaction", text="INSERT INTO counter_hub.incoming(table_name, key_columns, key, key_json, change) "
                    f"VALUES ('v', 'k TEXT BINARY, j TEXT BINARY', '\\xd1030178030179', '[\"x\",\"y\"]', '{change}');\n"
                    "SELECT counter_hub.merge();")
    assert done.returncode == 0, done.stderr


def test_one_more_among_10000_devices_is_one_row_up_and_in_the_hub(hub, tmp_path):  # noqa: F811
    db = make(tmp_path / "a.db", "TEXT")
    fill(hub, db, 10_000)
    hub.go("up", tmp_path / "a.db")
    before = hub.ask("SELECT count(*) FROM counter_hub.shards")[0][0]
    db.execute("INSERT INTO v VALUES ('x', 'y', 1)")
    [size] = db.execute("SELECT sum(length(key) + length(change)) FROM counter_changes(0) WHERE own = 1").fetchone()
    assert size <= 200
    assert hub.go("up", tmp_path / "a.db") == [1, 1]
    db.execute("INSERT INTO v VALUES ('x', 'y', 1)")
    assert hub.go("up", tmp_path / "a.db") == [1, 1]
    assert hub.ask("SELECT count(*) FROM counter_hub.shards") == [(before + 1,)]
    assert hub.ask("SELECT value FROM counter_hub.totals") == [(10_002,)]


def test_the_tables_of_the_hub_may_be_partitioned_by_the_hash_of_the_key(hub, tmp_path, chance):  # noqa: F811
    schema = (ROOT / "sql" / "hub" / "postgresql.sql").read_text()
    partitioned = ["row_cells", "cells", "shards"]
    assert hub.psql("-c", "SET client_min_messages = error", "-c", "DROP SCHEMA counter_hub CASCADE").returncode == 0
    for table in partitioned:
        begin = schema.index(f"CREATE TABLE IF NOT EXISTS counter_hub.{table}(")
        end = schema.index(";", begin)
        parts = "".join(f"CREATE TABLE counter_hub.{table}_{i} PARTITION OF counter_hub.{table} "
                        f"FOR VALUES WITH (MODULUS 4, REMAINDER {i});\n" for i in range(4))
        schema = f"{schema[:end]} PARTITION BY HASH (key);\n{parts}{schema[end + 1:]}"
    done = hub.psql("-f", "-", text=schema)
    assert done.returncode == 0, done.stderr
    one, two, whole = (make(tmp_path / f"{name}.db", "TEXT") for name in ("one", "two", "whole"))
    for _ in range(60):
        count(chance.choice([one, two]), chance)
    for name in "one", "two":
        hub.go("up", tmp_path / f"{name}.db")
    down(hub, tmp_path / "whole.db")
    two.execute("SELECT * FROM counter_pull(?)", [str(tmp_path / "one.db")]).fetchall()
    assert cells(whole) == cells(two)
    assert hub.ask("SELECT count(DISTINCT tableoid) > 1 FROM counter_hub.cells") == [(True,)]
