"""test_growth.py - twice the input, about twice the work: whatever takes a cell, rows or tables, from a stranger's
hands, too, counted in instructions of the processor."""

import re
import shutil
import subprocess

import pytest

from files import EXTENSION

N = 500  # and twice that
RATIO = 2.5
NUMBERS = "WITH RECURSIVE c(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM c WHERE i < {n})"
ID = "CAST(printf('%016d', i * 7919 % 1000003) AS BLOB)"
CELL = f"(SELECT counter_collect({ID}, 1, i) FROM ({NUMBERS} SELECT i FROM c))"
OTHER = f"(SELECT counter_collect({ID}, 1, i + (i = 7)) FROM ({NUMBERS} SELECT i FROM c))"
TABLE = "CREATE VIRTUAL TABLE t USING counter(k INTEGER PRIMARY KEY, n COUNTER);"
ROWS = f"{TABLE} INSERT INTO t SELECT i, 1 FROM ({NUMBERS} SELECT i FROM c);"
# A row of t that another file has, with n shards, one of which is the disagreement.
WIDE = f"{TABLE} INSERT INTO t VALUES (1, 1); UPDATE t_cells SET n = {{cell}}; INSERT INTO t(t) VALUES ('optimize');"
DROPPED = (f"{TABLE} INSERT INTO t VALUES (1, 1);"
           f" INSERT INTO t_state(_kind, _name, _value) SELECT 'counter', 'gone' || i, 2 FROM ({NUMBERS} SELECT i FROM c);")
SOURCE = "ATTACH 'source.db' AS source;"

# What is measured; what is made before, in main and in source.db.
WORK = {
    "functions of one cell": (f"SELECT counter_value(x), length(counter_json(x)), counter_digest(x),"
                              f" length(counter_to_cassandra(x)), length(counter_reset(x)), length(counter_delete(x))"
                              f" FROM (SELECT {CELL} AS x)", "", ""),
    "functions of two cells": (f"SELECT length(counter_merge(x, y)), counter_compare(x, y), length(counter_diff(x, y))"
                               f" FROM (SELECT {CELL} AS x, {OTHER} AS y)", "", ""),
    "counter_shards": (f"SELECT count(*) FROM counter_shards({CELL})", "", ""),
    "counter_merge of many cells": (f"SELECT length(counter_merge(x)) FROM (SELECT counter_collect({ID}, 1, 1) AS x"
                                    f" FROM ({NUMBERS} SELECT i FROM c) GROUP BY i)", "", ""),
    "a pull of one cell that disagrees": ("SELECT conflicts FROM counter_pull('source.db')", WIDE.format(cell=OTHER, n="{n}"),
                                          WIDE.format(cell=CELL, n="{n}")),
    "the feed": (f"{SOURCE} BEGIN; INSERT INTO counter_changes SELECT * FROM source.feed; COMMIT", TABLE,
                 f"{ROWS} CREATE TABLE feed AS SELECT * FROM counter_changes(0)"),
    "a pull of rows": ("SELECT rows_changed FROM counter_pull('source.db')", "", ROWS),
    "a pull of rows that differ": ("SELECT rows_changed FROM counter_pull('source.db')", ROWS, ROWS),
    "a pull of dropped counters": ("SELECT rows_changed FROM counter_pull('source.db')", TABLE, DROPPED),
    "INSERT": (ROWS, "", ""),
    "SELECT and UPDATE": ("SELECT sum(n) FROM t; SELECT count(*) FROM t WHERE n > 1; UPDATE t SET n = n + 1; DELETE FROM t",
                          ROWS, ""),
    "what an operator asks": ("SELECT * FROM counter_size('t'); SELECT count(*) FROM counter_ids('t');"
                              " SELECT count(*) FROM counter_cells('t'); SELECT counter_table_digest('t');"
                              " INSERT INTO t(t) VALUES ('integrity-check'); INSERT INTO t(t) VALUES ('optimize')", ROWS, ""),
    "counter_size of many ids": ("SELECT ids FROM counter_size('t'); SELECT count(*) FROM counter_ids('t')",
                                 WIDE.format(cell=CELL, n="{n}"), ""),
    "a tracked table": ("UPDATE p SET n = n + 1; SELECT count(*) FROM counter_tracked; DELETE FROM p",
                        f"CREATE TABLE p(k INTEGER PRIMARY KEY, n INT); INSERT INTO p SELECT i, 1 FROM ({NUMBERS} SELECT i FROM c);"
                        " SELECT counter_track('p', 'n', 'keys=assigned');", ""),
    "a tracked table with a partial UNIQUE index": (
        "UPDATE p SET n = n + 1; UPDATE p SET note = 'x'; INSERT INTO p SELECT -k, 'n' || k, NULL, NULL, 1 FROM p",
        "CREATE TABLE p(k INTEGER PRIMARY KEY, code TEXT, gone TEXT, note TEXT, n INT);"
        f" INSERT INTO p SELECT i, i, NULL, NULL, 1 FROM ({NUMBERS} SELECT i FROM c);"
        " CREATE UNIQUE INDEX one ON p(code) WHERE gone IS NULL; SELECT counter_track('p', 'n', 'keys=assigned');", ""),
    "a pull of nothing new while rows wait": (
        "SELECT count(*) FROM counter_pull('source.db')",
        "CREATE TABLE p(k INTEGER PRIMARY KEY, name TEXT NOT NULL, n INT); SELECT counter_track('p', 'n', 'keys=assigned');"
        " SELECT count(*) FROM counter_pull('source.db');",
        "CREATE TABLE p(k INTEGER PRIMARY KEY, name TEXT NOT NULL, n INT);"
        f" INSERT INTO p SELECT i, 'x', i FROM ({NUMBERS} SELECT i FROM c); SELECT counter_track('p', 'n', 'keys=assigned');"),
    "a pull of values that make room for each other in a UNIQUE index": (
        "SELECT rows_changed FROM counter_pull('source.db')",
        "CREATE TABLE p(k TEXT PRIMARY KEY, n INT UNIQUE); SELECT counter_track('p', 'n');"
        f" SELECT count(*) FROM counter_pull('source.db'); {SOURCE} UPDATE source.p SET n = n + 1;",
        "CREATE TABLE p(k TEXT PRIMARY KEY, n INT);"
        f" INSERT INTO p SELECT 'k' || i, i FROM ({NUMBERS} SELECT i FROM c) ORDER BY i * 7919 % 1000003;"
        " SELECT counter_track('p', 'n');"),
    "a pull of regular values that make room for each other in a UNIQUE index": (
        "SELECT rows_changed FROM counter_pull('source.db')",
        "CREATE TABLE p(k TEXT PRIMARY KEY, v UNIQUE); SELECT counter_replicate('p');"
        f" SELECT count(*) FROM counter_pull('source.db'); {SOURCE} UPDATE source.p SET v = 1 + v;",
        "CREATE TABLE p(k TEXT PRIMARY KEY, v);"
        f" INSERT INTO p SELECT 'k' || i, i FROM ({NUMBERS} SELECT i FROM c) ORDER BY i * 7919 % 1000003;"
        " SELECT counter_replicate('p');"),
}

pytestmark = pytest.mark.skipif(not shutil.which("valgrind"), reason="no valgrind")


def shell(folder, file, sql, *under):
    done = subprocess.run([*under, "sqlite3", "-batch", "-bail", "-init", "/dev/null", "-cmd", f".load '{EXTENSION}'", file],
                          input=sql, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stderr


def instructions(folder, work, n):
    folder.mkdir()
    sql, main, source = (text.replace("{n}", str(n)) for text in work)
    if source:
        shell(folder, "source.db", source)
    shell(folder, "main.db", main)
    told = shell(folder, "main.db", sql, "valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null")
    return int(re.search(r"I\s+refs:\s+([\d,]+)", told)[1].replace(",", ""))


@pytest.fixture(scope="module")
def none(tmp_path_factory):
    """What it takes to start and to end."""
    return instructions(tmp_path_factory.mktemp("growth") / "none", ("SELECT counter_value(NULL)", TABLE, ""), 0)


@pytest.mark.parametrize("name", WORK)
def test_twice_the_input_takes_about_twice_the_instructions(tmp_path, name, none):
    once, twice = (instructions(tmp_path / str(n), WORK[name], n) for n in (N, 2 * N))
    assert twice - none < RATIO * (once - none), (none, once, twice)
