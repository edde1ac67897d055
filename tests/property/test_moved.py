"""test_moved.py - a tracked table becomes a replicated one, or gets another key, while one file of several writes a row.

All files have merged, then each row has one file that writes it, before its call and after: whatever that file does, all show
what it shows. In one row all files count, and that adds up, but in counters that a deletion had ended (docs/replicated-tables.md).
Before a call with 'keys=changed' no row is deleted, for that would be undone (docs/recipes/changed-key.md).
"""
import json
import random

import pytest

from conftest import EXAMPLES, SEED
from files import connect

KEYS = "abcde"
REBUILD = ["BEGIN", "CREATE TABLE new(shop TEXT PRIMARY KEY NOT NULL, k TEXT, n INTEGER, m INTEGER)",
           "INSERT INTO new SELECT k || k, k, n, m FROM t", "DROP TABLE t", "ALTER TABLE new RENAME TO t"]
CALLS = {  # of the first call, and of the one that moves the table
    "becomes replicated": ("counter_track", ["SELECT counter_replicate('t')"]),
    "is rekeyed": ("counter_track", [*REBUILD, "SELECT counter_track('t', 'n', 'm', 'keys=changed')", "COMMIT"]),
    "is replicated and rekeyed": ("counter_replicate", [*REBUILD, "SELECT counter_replicate('t', 'n', 'm', 'keys=changed')", "COMMIT"])}


def run(db, *statements):
    return [row for statement in statements for row in db.execute(statement).fetchall()]


def write(draw, db, key, rekeyed, deletes):
    value = draw.choice(["NULL", "0", str(draw.randint(1, 9))])
    column = draw.choice("nm")
    by, name = ("shop", key * 2) if rekeyed else ("k", key)
    there = run(db, f"SELECT {column} FROM t WHERE {by} = '{name}'")
    if not there:
        return f"INSERT INTO t({by}, {column}) VALUES ('{name}', {value})"
    steps = [f"UPDATE t SET {column} = {column} + {draw.randint(-5, 5)} WHERE {by} = '{name}'",
             f"UPDATE t SET {column} = ifnull({column}, 0) + 1 WHERE {by} = '{name}'",
             f"UPDATE t SET {column} = {value} WHERE {by} = '{name}'"]
    if there[0][0] is not None:
        steps.append(f"INSERT INTO t_counters(t_counters, {by}, {column}) VALUES ('reset {column}', '{name}', {draw.randint(0, 9)})")
    return draw.choice(steps + [f"DELETE FROM t WHERE {by} = '{name}'"] * 2 * deletes)


def merge(folder, dbs):
    for _ in range(2):
        for i, db in enumerate(dbs):
            run(db, f"SELECT * FROM counter_sync('{folder / str((i + 1) % len(dbs))}.db')")


@pytest.mark.parametrize("kind", CALLS)
@pytest.mark.parametrize("nth", range(EXAMPLES))
def test_what_the_one_file_that_writes_a_row_shows_all_show_when_the_table_has_moved(tmp_path, nth, kind):
    draw = random.Random(f"{SEED} moved {nth} {kind}")
    first, moves = CALLS[kind]
    dbs = [connect(tmp_path / "0.db")]
    run(dbs[0], "PRAGMA synchronous = OFF", "CREATE TABLE t(k TEXT PRIMARY KEY NOT NULL, n INTEGER, m INTEGER)", f"SELECT {first}('t', 'n', 'm')")
    for i in range(1, draw.randint(2, 3)):
        run(dbs[0], f"VACUUM INTO '{tmp_path / str(i)}.db'")
        dbs.append(connect(tmp_path / f"{i}.db"))
    log = []

    def play(i, key, rekeyed, deletes=True):
        sql = write(draw, dbs[i], key, rekeyed, deletes)
        log.append((i, sql))
        run(dbs[i], sql)

    def count(i):
        column, n = draw.choice(open_columns), draw.randint(1, 9)
        by, name = ("shop", together * 2) if "rekeyed" in kind and i in moved else ("k", together)
        log.append((i, f"UPDATE t SET {'nm'[column]} = ifnull({'nm'[column]}, 0) + {n} WHERE {by} = '{name}'"))
        counts[column] += n * dbs[i].execute(log[-1][1]).rowcount  # a tracked row that counted nothing stayed where it was

    for _ in range(draw.randint(0, 20)):  # what all have merged
        play(draw.randrange(len(dbs)), draw.choice(KEYS), False)
        if draw.random() < .4:
            merge(tmp_path, dbs)
    merge(tmp_path, dbs)
    writers = {key: draw.randrange(len(dbs)) for key in KEYS}
    moved, together = set(), draw.choice(KEYS)  # a row in which all count
    ended = {name for name, cell in run(dbs[0], f"SELECT column_name, counter_json(cell) FROM counter_cells('t') WHERE key = '[\"{together}\"]'")
             if json.loads(cell)["life"] % 2 == 0}
    open_columns = [i for i in range(2) if "nm"[i] not in ended]
    counts = [n or 0 for row in run(dbs[0], f"SELECT n, m FROM t WHERE k = '{together}'") for n in row]
    while len(moved) < len(dbs):
        for _ in range(draw.randint(0, 6)):
            key = draw.choice(KEYS)
            if key == together:
                if counts and open_columns:
                    count(draw.randrange(len(dbs)))
                continue
            play(writers[key], key, "rekeyed" in kind and writers[key] in moved, "rekeyed" not in kind or writers[key] in moved)
        i = draw.choice([i for i in range(len(dbs)) if i not in moved])
        log.append((i, moves))
        run(dbs[i], *moves)
        moved.add(i)

    def shown(db, key):  # a row of a tracked table that counts nothing stays where it is
        by, name = ("shop", key * 2) if "rekeyed" in kind else ("k", key)
        return [row for row in run(db, f"SELECT n, m FROM t WHERE {by} = '{name}'") if first == "counter_replicate" or row != (None, None)]

    wanted = {key: shown(dbs[writers[key]], key) for key in KEYS if key != together}
    merge(tmp_path, dbs)
    for db in dbs:
        assert {key: shown(db, key) for key in KEYS if key != together} == wanted, log
        assert [n or 0 for row in shown(db, together) for n in row] == (counts if any(counts) or shown(db, together) else []), log
        run(db, "INSERT INTO t_counters(t_counters) VALUES ('integrity-check')")
    assert len({run(db, "SELECT counter_table_digest('t_counters')")[0] for db in dbs}) == 1, log
