"""test_rows.py - rows of replicated tables go through the hub, and a file that downloads has what it would have had it
pulled from all that have uploaded: the same rows, stamps and counters, byte for byte."""

import math

import pytest

from conftest import SEED
from files import connect
from test_hub import Hub, hub  # noqa: F401

KEYS = ["tea", "jam", "it's", "a,b\n\"", "ключ", "\\.", ""]
VALUES = [None, 0, 1, -1, 2**63 - 1, -2**63, 1.0, 0.1, -2.5, 1e300, 5e-324, 2.2250738585072014e-308, -1.7976931348623157e308,
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


def feed(db, columns="table_name, hex(key), column_name, generation, hex(cell)"):
    return sorted(db.execute(f"SELECT {columns} FROM counter_changes(0)"), key=repr)


def state(db):
    """All that a file has: what it shows, and its feed, which has the stamps."""
    return sorted(map(repr, db.execute("SELECT * FROM t"))), feed(db), list(db.execute("SELECT counter_table_digest('t_counters')"))


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
    return repr(float(value) if isinstance(value, int) and float(value) == value else value)


def of_json(value):
    if isinstance(value, int) and abs(value) > 2**63:  # PostgreSQL writes all digits of 1e300, and of 9e999 for an infinity
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


def hub_images(hub):
    return sorted(hub.ask("SELECT upper(encode(key, 'hex')) AS key, upper(encode(bytes, 'hex')) AS bytes "
                          "FROM counter_hub.changes(0) WHERE column_name = ''"))


def images(db):
    return sorted(db.execute("SELECT hex(key), hex(cell) FROM counter_changes(0) WHERE column_name = ''"))


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


@pytest.mark.parametrize("round", range(4))
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
    assert hub_images(hub) == images(direct), f"COUNTER_SEED={SEED}"
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
        return "NULL" if value is None else f"'{value}'"

    return [f"({', '.join(map(quoted, row))})" for row in db.execute(
        r"SELECT f.table_name, f.key_columns, '\x' || hex(f.key), CASE WHEN length(f.key) > 0 "
        "THEN replace(counter_key_json(f.key), '''', '''''') END, replace(f.column_name, '''', ''''''), f.generation, "
        "CASE WHEN f.column_name <> '' THEN json_extract(counter_json(f.cell), '$.life') END, s.id, s.clock, s.value, "
        r"CASE WHEN f.column_name <> '' THEN NULL ELSE '\x' || nullif(hex(f.cell), '') END FROM counter_changes(0) AS f "
        "LEFT JOIN counter_shards(CASE WHEN f.column_name <> '' THEN f.cell END) AS s")]


def upload(hub, rows):  # noqa: F811
    return hub.psql("--single-transaction", text="INSERT INTO counter_hub.incoming(table_name, key_columns, key, key_json, "
                    f"column_name, generation, life, id, clock, value, bytes) VALUES {', '.join(rows)};\n"
                    "SELECT rows_changed FROM counter_hub.merge();")


def told(hub):  # noqa: F811
    """What downloads and people are told."""
    return [
        hub.ask("SELECT * FROM counter_hub.rows ORDER BY 1, 2"),
        hub.ask("SELECT * FROM counter_hub.totals ORDER BY 1, 2, 3"),
        hub.ask("SELECT table_name, key, column_name, generation, life, id, clock, value, bytes FROM counter_hub.changes(0) "
                "ORDER BY table_name, key, column_name, generation, id")]


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
    wanted = None
    for _ in range(4):
        rows = come + chance.sample(come, len(come) // 3)
        chance.shuffle(rows)
        while rows:
            n = chance.randint(1, len(come) // 3)
            assert upload(hub, rows[:n]).returncode == 0, f"COUNTER_SEED={SEED}"
            rows = rows[n:]
        assert upload(hub, come).stdout == "0\n", f"COUNTER_SEED={SEED}"
        wanted = wanted or told(hub)
        assert told(hub) == wanted, f"COUNTER_SEED={SEED}"
        for table in "cells", "shards", "regular":  # nothing is kept of lives that are over
            assert hub.ask(f"SELECT count(*) FROM counter_hub.{table} AS c JOIN counter_hub.row_cells AS r USING (table_name, key) "
                           f"WHERE r.life > c.{'life' if table == 'regular' else 'generation >> 32'}") == [(0,)]
        hub.say("SELECT counter_hub.forget('t')")
        assert told(hub) == [[], [], []]
    direct = merged(tmp_path / "direct.db", [tmp_path / f"{n}.db" for n in range(3)])
    assert [(row[1], row[8]) for row in wanted[2] if row[2] == ""] == sorted(
        (f"\\x{key.lower()}", f"\\x{cell.lower()}") for key, cell in images(direct)), f"COUNTER_SEED={SEED}"
