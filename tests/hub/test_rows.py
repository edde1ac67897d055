"""test_rows.py - rows of replicated tables go through the hub, and a file that downloads has what it would have had it
pulled from all that have uploaded: the same rows, stamps and counters, byte for byte."""

import contextlib
import json
import math
import shutil
import struct

import pytest

from conftest import EXAMPLES, SEED
from files import connect
from test_hub import Hub, hub, only_hub  # noqa: F401

KEYS = ["tea", "jam", "it's", "a,b\n\"", "ключ", "\\.", ""]
VALUES = [None, 0, 1, -1, 2**63 - 1, -2**63, 1.0, -0.0, 1e17, 0.1, -2.5, 1e300, 5e-324, 2.2250738585072014e-308, -1.7976931348623157e308,
          math.inf, -math.inf, "", "jam", "it's", 'say "x"\r\n', "日🙂", "a\0b", "1", b"", b"\x00a", b"x" * 300, "y" * 70000]
REGULAR, COUNTERS = ["name", "Price", "ünï"], ["stock", "sold"]
ALL = REGULAR + COUNTERS


def make(path, kind="WITHOUT ROWID", counters=COUNTERS, more=""):
    db = connect(str(path), timeout=10)
    db.execute("PRAGMA synchronous = OFF")
    db.execute(f"CREATE TABLE t(k TEXT NOT NULL PRIMARY KEY, {', '.join(REGULAR)}, stock INTEGER DEFAULT 0, "
               f"sold INTEGER{more}) {kind}")
    replicate(db, counters)
    return db


def replicate(db, counters=COUNTERS):
    db.execute(f"SELECT counter_replicate('t'{''.join(f', {name!r}' for name in counters)})").fetchall()


def feed(db):
    return sorted(db.execute("SELECT table_name, hex(key), hex(change) FROM counter_changes(0)"))


def state(db):
    """All that a file has: what it shows, and its feed, which has the stamps."""
    return (sorted(map(repr, db.execute("SELECT * FROM t"))), feed(db),
            db.execute("SELECT counter_table_digest('t_counters')").fetchall())


def merged(path, others, **made):
    db = make(path, **made)
    for other in others:
        db.execute("SELECT * FROM counter_pull(?)", [str(other)]).fetchall()
    return db


def in_json(value):
    """A value as the hub tells it."""
    if isinstance(value, bytes):
        return repr({"hex": value.hex()})
    if isinstance(value, str) and "\0" in value:
        return repr({"text": value.encode().hex()})
    return repr(float(value) or 0.0 if isinstance(value, (int, float)) and float(value) == value else value)


def of_json(value):
    if isinstance(value, dict) and "real" in value:
        return repr(struct.unpack(">d", bytes.fromhex(value["real"]))[0])
    if isinstance(value, int) and abs(value) > 2**63:  # jsonb has all digits of 1e300, and of 9e999 for an infinity
        return repr(float(str(value)))
    return in_json(value) if isinstance(value, int) else repr(value)


def hub_rows(hub):
    """The rows that live: key, regular columns, counters."""
    return sorted((key, sorted((name, of_json(value)) for name, value in columns.items()), sorted(counters.items()))
                  for table, (key,), deleted, columns, counters in hub.ask("SELECT * FROM counter_hub.rows") if not deleted)


def shown_rows(db):
    return sorted((key, sorted(zip(REGULAR, map(in_json, values))),
                   sorted((name, n) for name, n in zip(COUNTERS, values[len(REGULAR):]) if n is not None))
                  for key, *values in db.execute(f"SELECT k, {', '.join(ALL)} FROM t"))


def hub_feed(hub, db):
    """The rows as feed() has them."""
    return sorted((table, key, db.execute("SELECT hex(counter_change_of(?))", [change]).fetchone()[0]) for table, key, change in
                  hub.ask("SELECT table_name, upper(encode(key, 'hex')) AS key, change FROM counter_hub.changes(0) WHERE key <> ''"))


def act(db, chance):
    key, column = chance.choice(KEYS), chance.choice(REGULAR)
    values = [chance.choice(VALUES) for _ in REGULAR] + [chance.choice([None, 0, 5, -3]) for _ in COUNTERS]
    kind = chance.random()
    if kind < .25:
        db.execute(f"INSERT OR IGNORE INTO t(k, {', '.join(ALL)}) VALUES (?, ?, ?, ?, ?, ?)", [key, *values])
    elif kind < .35:
        db.execute(f"REPLACE INTO t(k, {', '.join(ALL)}) VALUES (?, ?, ?, ?, ?, ?)", [key, *values])
    elif kind < .6:
        db.execute(f'UPDATE t SET "{column}" = ? WHERE k = ?', [values[0], key])
    elif kind < .85:
        db.execute(f"UPDATE t SET {chance.choice(COUNTERS)} = ifnull({chance.choice(COUNTERS)}, 0) + ? WHERE k = ?",
                   [chance.randint(-9, 9), key])
    else:
        db.execute("DELETE FROM t WHERE k = ?", [key])


@pytest.mark.parametrize("round", range(max(1, EXAMPLES // 30)))
def test_a_file_that_downloads_has_the_rows_as_if_it_had_pulled(hub, tmp_path, chance, round):  # noqa: F811
    paths = [tmp_path / f"{n}.db" for n in range(3)]
    dbs = [make(path, chance.choice(["", "WITHOUT ROWID"])) for path in paths]
    fourth = make(tmp_path / "fourth.db")
    for _ in range(14):
        n = chance.randrange(3)
        for _ in range(chance.randint(1, 12)):
            act(dbs[n], chance)
        what = chance.random()
        if what < .5:
            hub.go("up", paths[chance.randrange(3)])
        elif what < .6:
            hub.forget_marks()
        elif what < .7:
            dbs[n].execute("SELECT * FROM counter_sync(?)", [str(paths[(n + 1) % 3])]).fetchall()
        elif what < .9:
            hub.go("down", paths[n])
        else:
            hub.go("down", tmp_path / "fourth.db")
    for path in chance.sample(paths, 3):
        hub.go("up", path)
    hub.forget_marks()
    assert hub.go("up", chance.choice(paths))[1] == 0  # nothing is news

    hub.go("down", tmp_path / "fourth.db")  # incremental, perhaps
    direct = merged(tmp_path / "direct.db", paths)
    assert state(fourth) == state(direct), f"COUNTER_SEED={SEED}"
    assert hub_feed(hub, direct) == feed(direct), f"COUNTER_SEED={SEED}"
    assert hub_rows(hub) == shown_rows(direct), f"COUNTER_SEED={SEED}"
    fifth = make(tmp_path / "fifth.db", "")
    hub.go("down", tmp_path / "fifth.db")
    assert state(fifth) == state(direct), f"COUNTER_SEED={SEED}"
    for path, db in zip(paths, dbs):
        hub.go("down", path)
        assert state(db) == state(direct), f"COUNTER_SEED={SEED}"


# ---- rows in any order ----

def lines(db):
    """The feed as rows of counter_hub.incoming, as hub.sh makes them."""
    def quoted(value):
        return "NULL" if value is None else "'" + value.replace("'", "''") + "'"

    return [f"({', '.join(map(quoted, row))})" for row in db.execute(
        r"SELECT table_name, key_columns, '\x' || hex(key), counter_key_json(key), counter_change_json(change) "
        "FROM counter_changes(0)")]


def upload(hub, rows):  # noqa: F811
    return hub.psql("--single-transaction", text="INSERT INTO counter_hub.incoming(table_name, key_columns, key, key_json, "
                    f"change) VALUES {', '.join(rows)};\nSELECT rows_changed FROM counter_hub.merge();")


def told(hub, db):  # noqa: F811
    """What downloads and people are told."""
    return [
        hub.ask("SELECT * FROM counter_hub.rows ORDER BY 1, 2"),
        hub.ask("SELECT * FROM counter_hub.totals ORDER BY 1, 2, 3"),
        hub.ask("SELECT table_name, column_name, generation, kind FROM counter_hub.columns ORDER BY 1, 2"),
        hub_feed(hub, db)]


def test_rows_and_counters_merge_in_any_order_and_any_batches(hub, tmp_path, chance):  # noqa: F811
    dbs = [make(tmp_path / f"{n}.db") for n in range(3)]
    come = []
    for _ in range(8):  # states that are over come, too
        for db in dbs:
            for _ in range(6):
                act(db, chance)
            come += lines(db)
        one, other = chance.sample(range(3), 2)
        dbs[one].execute("SELECT * FROM counter_pull(?)", [str(tmp_path / f"{other}.db")]).fetchall()
    direct = merged(tmp_path / "direct.db", [tmp_path / f"{n}.db" for n in range(3)])
    wanted = None
    for _ in range(4):
        rows = come + chance.sample(come, len(come) // 3)
        chance.shuffle(rows)
        while rows:
            n = chance.randint(1, len(come) // 3)
            assert upload(hub, rows[:n]).returncode == 0, f"COUNTER_SEED={SEED}"
            rows = rows[n:]
        assert upload(hub, come).stdout == "0\n", f"COUNTER_SEED={SEED}"
        wanted = wanted or told(hub, direct)
        assert told(hub, direct) == wanted, f"COUNTER_SEED={SEED}"
        for table in "cells", "shards":
            assert hub.ask(f"SELECT count(*) FROM counter_hub.{table} AS c JOIN counter_hub.row_cells AS r "
                           "USING (table_name, key) WHERE r.life > c.row_life") == [(0,)]  # nothing of lives that are over
        hub.say("SELECT counter_hub.forget('t')")
        assert told(hub, direct) == [[], [], [], []]
    assert wanted[3] == feed(direct), f"COUNTER_SEED={SEED}"


def test_of_a_row_that_comes_again_a_former_life_is_over(hub, tmp_path):  # noqa: F811
    db = make(tmp_path / "0.db")
    taker = make(tmp_path / "taker.db")
    db.execute("INSERT INTO t(k, name, stock) VALUES ('tea', 'Tea', 5)")
    first = lines(db)
    db.execute("DELETE FROM t")
    deleted = lines(db)
    db.execute("INSERT INTO t(k, name, stock) VALUES ('tea', 'Green tea', 7)")
    last = lines(db)
    upload(hub, first)
    assert hub.ask("SELECT columns, counters FROM counter_hub.rows") == [
        ({"name": "Tea", "Price": None, "ünï": None}, {"stock": 5})]
    upload(hub, deleted)
    assert hub.ask("SELECT deleted, columns, counters FROM counter_hub.rows") == [(True, {}, {})]
    assert hub.ask("SELECT * FROM counter_hub.totals") == hub.ask("SELECT * FROM counter_hub.cells") == []
    upload(hub, last)
    assert hub.ask("SELECT value FROM counter_hub.totals") == [(7,)]
    assert [upload(hub, old).stdout for old in (first, deleted)] == ["0\n", "0\n"]
    hub.go("down", tmp_path / "taker.db")
    assert taker.execute("SELECT k, name, stock FROM t").fetchall() == [("tea", "Green tea", 7)]
    assert hub.ask("SELECT count(*) FROM counter_hub.shards") == [(1,)]


def test_of_two_rows_with_one_stamp_the_first_stays(hub, tmp_path):  # noqa: F811
    db = make(tmp_path / "0.db")
    db.execute("INSERT INTO t(k, name) VALUES ('tea', 'Tea')")
    row, = lines(db)
    assert row.count("Tea") == 1
    assert [upload(hub, [line]).stdout for line in (row, row.replace("Tea", "Jam"))] == ["2\n", "0\n"]
    assert hub.ask("SELECT columns ->> 'name' FROM counter_hub.rows") == [("Tea",)]


# ---- what people see ----

def test_rows_show_the_values_in_json_and_deleted_rows_none(hub, tmp_path):  # noqa: F811
    db = make(tmp_path / "0.db")
    db.execute("INSERT INTO t VALUES ('jam', 'Plum jam', 4.5, x'00ff', 12, NULL), ('tea', 'Tea', 1, 2, 3, 4), "
               "('salt', CAST(x'61ff' AS TEXT), 9e999, NULL, 0, -3)")
    db.execute("DELETE FROM t WHERE k = 'tea'")
    db.execute("UPDATE t SET stock = stock - 2 WHERE k = 'jam'")
    hub.go("up", tmp_path / "0.db")
    assert hub.ask("SELECT * FROM counter_hub.rows ORDER BY key_json") == [
        ("t", ["jam"], False, {"name": "Plum jam", "Price": 4.5, "ünï": {"hex": "00ff"}}, {"stock": 10}),
        ("t", ["salt"], False, {"name": {"text": "61ff"}, "Price": 9 * 10**999, "ünï": None}, {"stock": 0, "sold": -3}),
        ("t", ["tea"], True, {}, {})]
    assert hub.ask("SELECT key_json ->> 0, column_name, value FROM counter_hub.totals ORDER BY 1, 2") == [
        ("jam", "stock", 10), ("salt", "sold", -3), ("salt", "stock", 0)]


def test_a_value_of_megabytes_goes_through(hub, tmp_path):  # noqa: F811
    db, taker = make(tmp_path / "0.db"), make(tmp_path / "taker.db")
    db.execute("INSERT INTO t(k, name, Price) VALUES ('tea', randomblob(3000000), ?)", ["ü" * 1000000])
    hub.go("up", tmp_path / "0.db")
    hub.go("down", tmp_path / "taker.db")
    assert state(taker) == state(db)


def test_a_value_that_was_too_large_for_lines_is_left_out_and_the_others_of_its_row_come(hub, tmp_path):  # noqa: F811
    db = make(tmp_path / "0.db")
    db.execute("INSERT INTO t(k, name, Price, stock) VALUES ('tea', 'Tea', 7, 3)")
    row, = lines(db)
    assert upload(hub, [row.replace('"value":"Tea"', '"too_large":5000000')]).returncode == 0
    assert hub.ask("SELECT columns, counters FROM counter_hub.rows") == [({"Price": 7, "ünï": None}, {"stock": 3})]
    assert upload(hub, [row]).returncode == 0
    assert hub.ask("SELECT columns ->> 'name' FROM counter_hub.rows") == [("Tea",)]
    counter = row.replace('"kind":"counter","generation":1,', '"kind":"counter","generation":1,"too_large":9,')
    said = upload(hub, [counter]).stderr
    assert "nothing was taken" in said, said


# ---- tables that differ and change ----

def test_a_table_is_replicated_by_all_files_or_by_none(hub, tmp_path):  # noqa: F811
    one, two = make(tmp_path / "one.db"), connect(str(tmp_path / "two.db"))
    two.execute("CREATE TABLE t(k TEXT NOT NULL PRIMARY KEY, name, Price, ünï, stock INTEGER DEFAULT 0, sold INTEGER)")
    two.execute("SELECT counter_track('t', 'stock', 'sold')").fetchall()
    for db in one, two:
        db.execute("INSERT INTO t(k, stock) VALUES ('tea', 5)")
    hub.go("up", tmp_path / "one.db")
    refused = hub.carry("up", tmp_path / "two.db")
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "table t: it is replicated in the hub, but not in the upload: nothing was taken" in refused.stderr
    assert "Call counter_replicate('t', ...) in the file" in refused.stderr
    assert "call counter_replicate('t', ...) here" in hub.carry("down", tmp_path / "two.db").stderr
    hub.say("SELECT counter_hub.forget('t')")
    hub.go("up", tmp_path / "two.db")
    refused = hub.carry("up", tmp_path / "one.db")
    assert "table t: it is replicated in the upload, but not in the hub: nothing was taken" in refused.stderr
    assert "counter_replicate: SELECT counter_hub.forget('t')" in refused.stderr
    assert hub.ask("SELECT * FROM counter_hub.rows") == []
    assert hub.ask("SELECT value FROM counter_hub.totals") == [(5,)]
    replicate(two)
    hub.say("SELECT counter_hub.forget('t')")
    for way in "up", "down":
        for name in "one.db", "two.db":
            hub.go(way, tmp_path / name)
    assert one.execute("SELECT k, stock FROM t").fetchall() == two.execute("SELECT k, stock FROM t").fetchall() == [("tea", 10)]
    assert "table t: it is replicated in the " in both_in_one_upload(hub, one)


def both_in_one_upload(hub, db):  # noqa: F811
    hub.say("SELECT counter_hub.forget('t')")
    line, = lines(db)
    change = json.loads(db.execute("SELECT counter_change_json(change) FROM counter_changes(0)").fetchone()[0])
    counters = [column for column in change["columns"] if column["kind"] == "counter"]
    alone = json.dumps({"tells": "row", "columns": counters})
    return upload(hub, [line, f"{line[:line.index(', ' + chr(39) + '{')]}, '{alone}')"]).stderr


def test_a_column_that_was_added_later_has_no_value_where_it_has_no_stamp(hub, tmp_path):  # noqa: F811
    one, two = make(tmp_path / "one.db"), make(tmp_path / "two.db")
    one.execute("INSERT INTO t(k, name) VALUES ('jam', 'Jam'), ('tea', 'Tea')")
    for db, default in (one, "'old'"), (two, "'other'"):
        db.execute(f"ALTER TABLE t ADD COLUMN note DEFAULT {default}")
        replicate(db, [])
    one.execute("UPDATE t SET note = 'new' WHERE k = 'tea'")
    hub.go("up", tmp_path / "one.db")
    assert hub.ask("SELECT columns ->> 'name' AS name, columns ->> 'note' AS note FROM counter_hub.rows ORDER BY 1") == [
        ("Jam", None), ("Tea", "new")]
    hub.go("down", tmp_path / "two.db")
    assert two.execute("SELECT name, note FROM t ORDER BY 1").fetchall() == [("Jam", "other"), ("Tea", "new")]
    direct = merged(tmp_path / "direct.db", [tmp_path / "one.db"], more=", note DEFAULT 'other'")
    assert state(direct) == state(two)


def test_a_column_that_no_file_replicates_any_more_is_forgotten(hub, tmp_path):  # noqa: F811
    one, two = make(tmp_path / "one.db"), make(tmp_path / "two.db")
    one.execute("INSERT INTO t(k, name, Price) VALUES ('tea', 'Tea', 5)")
    hub.go("up", tmp_path / "one.db")
    for db in one, two:
        db.execute("SELECT counter_untrack('t', 'Price')").fetchall()
    hub.go("down", tmp_path / "two.db")  # which passes over the column
    hub.say("SELECT counter_hub.forget('t', 'Price')")
    hub.go("down", tmp_path / "two.db")
    assert two.execute("SELECT k, name, Price FROM t").fetchall() == [("tea", "Tea", None)]
    assert hub.ask("SELECT columns FROM counter_hub.rows") == [({"name": "Tea", "ünï": None},)]


def test_a_counter_that_is_dropped_and_added_again_begins_anew_in_each_row(hub, tmp_path):  # noqa: F811
    one, two = make(tmp_path / "one.db"), make(tmp_path / "two.db")
    one.execute("INSERT INTO t(k, name, stock, sold) VALUES ('tea', 'Tea', 5, 7)")
    hub.go("up", tmp_path / "one.db")
    hub.go("down", tmp_path / "two.db")
    two.execute("DELETE FROM t")
    two.execute("INSERT INTO t(k, name, stock, sold) VALUES ('tea', 'Tea', 1, 100)")  # the third life, the first generation
    one.execute("SELECT counter_untrack('t', 'sold')").fetchall()
    hub.go("up", tmp_path / "one.db")
    assert hub.ask("SELECT counters FROM counter_hub.rows") == [({"stock": 5},)]
    replicate(one)
    hub.go("up", tmp_path / "one.db")
    hub.go("up", tmp_path / "two.db")
    assert hub.ask("SELECT counters FROM counter_hub.rows") == [({"stock": 1},)]
    assert hub.ask("SELECT column_name, generation FROM counter_hub.columns ORDER BY 1") == [("sold", 3), ("stock", 1)]
    hub.go("down", tmp_path / "one.db")
    one.execute("UPDATE t SET sold = 2")
    hub.go("up", tmp_path / "one.db")
    assert hub.ask("SELECT counters FROM counter_hub.rows") == [({"stock": 1, "sold": 2},)]
    assert hub.ask("SELECT row_life, generation FROM counter_hub.cells WHERE kind = 'counter' ORDER BY 2") == [(3, 1), (3, 3)]


def test_rows_below_a_floor_leave_the_hub_and_cannot_come_back(hub, tmp_path):  # noqa: F811
    db = make(tmp_path / "0.db")
    db.execute("INSERT INTO t(k, name, stock) VALUES ('jam', 'Jam', 1), ('tea', 'Tea', 2)")
    before = lines(db)
    upload(hub, before)
    db.execute("INSERT INTO t_counters(t_counters, k) VALUES ('purge below', 'm')")
    hub.go("up", tmp_path / "0.db")
    upload(hub, before)
    assert hub.ask("SELECT key_json, counters FROM counter_hub.rows") == [(["tea"], {"stock": 2})]
    for table in "row_cells", "cells", "shards":
        assert hub.ask(f"SELECT DISTINCT encode(key, 'hex') AS key FROM counter_hub.{table}") == [("d10303746561",)]


@pytest.mark.parametrize("answer, both", [("same", 10), ("add", 20)])
def test_two_files_that_had_a_row_agree_on_it_when_the_openings_are_answered_and_one_has_said_whose_values_win(hub, tmp_path, answer, both):  # noqa: F811
    dbs = []
    for n in range(2):
        db = connect(str(tmp_path / f"{n}.db"))
        db.execute("CREATE TABLE t(k TEXT NOT NULL PRIMARY KEY, name, price, stock INTEGER)")
        db.execute("INSERT INTO t VALUES ('tea', ?, ?, 10)", [f"name {n}", n])
        replicate(db, ["stock"])
        dbs.append(db)
    for n in range(2):
        hub.go("up", tmp_path / f"{n}.db")
    asked = [hub.carry("down", tmp_path / f"{n}.db").stderr for n in range(2)]  # the hub has the row of one of them
    assert sum("two files began to replicate it apart" in each for each in asked) == 1
    dbs[1].execute("SELECT counter_replicate('t', 'values=newest')").fetchall()
    hub.go("up", tmp_path / "1.db")
    hub.go("down", tmp_path / "1.db")
    why, = dbs[1].execute("SELECT why FROM counter_tracked WHERE why LIKE 'two files counted%'").fetchone()
    found, = {line for line in why.split("SELECT ") if f"'{answer}'" in line}
    dbs[1].execute("SELECT " + found[:found.index(")") + 1]).fetchall()
    for _ in range(2):
        for way in "up", "down":
            for n in range(2):
                hub.go(way, tmp_path / f"{n}.db")
    shown = [db.execute("SELECT * FROM t").fetchall() for db in dbs]
    assert shown[0] == shown[1] == [("tea", "name 1", 1, both)]
    assert feed(dbs[0]) == feed(dbs[1])
    assert hub.ask("SELECT columns ->> 'name' AS name, counters -> 'stock' AS stock FROM counter_hub.rows") == [
        (shown[0][0][1], both)]


@pytest.mark.parametrize("round", range(max(1, EXAMPLES // 50)))
def test_of_two_rows_under_one_number_the_first_stays_and_the_other_is_listed_and_comes_back(hub, tmp_path, chance, round):  # noqa: F811
    paths = [tmp_path / f"{n}.db" for n in range(3)]
    with contextlib.closing(connect(paths[0])) as db:
        db.execute("CREATE TABLE o(id INTEGER PRIMARY KEY AUTOINCREMENT, who TEXT, n INTEGER NOT NULL DEFAULT 0)")
        db.execute("SELECT counter_replicate('o', 'n', 'keys=spread')")
    for path in paths[1:]:
        shutil.copyfile(paths[0], path)
    dbs, who = [connect(path) for path in paths], 0
    for _ in range(14):
        n = chance.randrange(3)
        for _ in range(chance.randint(0, 3)):
            who += 1
            dbs[n].execute("INSERT OR IGNORE INTO o(id, who, n) VALUES (?, ?, ?)",
                           [chance.choice([None, 2**40, 2**40 + 1]), f"w{who}", chance.randrange(9)])
        dbs[n].execute("UPDATE o SET n = n + 1")
        hub.go(chance.choice(["up", "down"]), paths[n])
        if chance.random() < .2:
            hub.forget_marks()
    made = {name for db in dbs for (name,) in db.execute("SELECT who FROM o")}
    for _ in range(4):
        for way in "up", "down":
            for path in paths:
                hub.go(way, path)
    shown = [db.execute("SELECT * FROM o ORDER BY id").fetchall() for db in dbs]
    assert shown[0] == shown[1] == shown[2], f"COUNTER_SEED={SEED}"
    names = [name for _, name, _ in shown[0]]
    assert sorted(names) == sorted(made), f"a row is lost or doubled: COUNTER_SEED={SEED}"
    assert hub_feed(hub, dbs[0]) == feed(dbs[0]), f"COUNTER_SEED={SEED}"
    listed = {change for (change,) in hub.ask("SELECT change FROM counter_hub.replaced")}
    assert all("birth" in change and '"who"' in change for change in listed)
