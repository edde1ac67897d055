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
           f" INSERT INTO counter_state(tab, kind, name, value) SELECT 1, 'counter', 'gone' || i, 2 FROM ({NUMBERS} SELECT i FROM c);")
AN_ID = "44444444-4444-4444-8444-444444444444"
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
    **{f"marks of {what} where many are known": (
        f"BEGIN; SELECT counter_mark(s) + counter_seen(s, 0, 9) FROM (SELECT {source} AS s FROM ({NUMBERS} SELECT i FROM c)); COMMIT",
        f"{TABLE} INSERT INTO counter_peers SELECT {known}, token, 1 FROM counter_tables, ({NUMBERS} SELECT i FROM c),"
        f" (WITH RECURSIVE c(j) AS (VALUES (1) UNION ALL SELECT j + 1 FROM c WHERE j < 100) SELECT j FROM c)", "")
       for what, source, known in [
           ("new files", f"'{AN_ID[:-8]}' || printf('%08d own', i)", "CAST(printf('%016d', i * 100 + j) AS BLOB), ' own'"),
           ("new lineages of one file", f"'{AN_ID}/' || printf('%016d', i)", f"x'{AN_ID.replace('-', '')}', -(i * 100 + j)"),
           ("new scopes of one file", f"'{AN_ID} [' || i || ']'", f"x'{AN_ID.replace('-', '')}', ' [\"' || (i * 100 + j) || '\"]'")]},
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


def sizes(name):
    n = N // 5 if "make room" in name else N  # which takes a million instructions a row
    return n, 2 * n


def prepared(folder, work, n):
    """Makes the files for it; returns the commands of the shell that do it between two `.version`."""
    folder.mkdir()
    sql, main, source = (text.replace("{n}", str(n)) for text in work)
    if source:
        shell(folder, "source.db", source)
    shell(folder, "main.db", main)
    return f".cd '{folder}'\n.open main.db\n.load '{EXTENSION}'\n.version\n{sql};\n.version\n"


@pytest.fixture(scope="module")
def instructions(tmp_path_factory):
    """How many each work takes with n rows, and what takes nothing, as (None, 0). One process does all, for valgrind
    needs a second to start; a first connection keeps the library loaded. The shell's `.version` asks for the
    source id, and with each such call a file of the counts since the last one ends."""
    works = [(None, 0), *((name, n) for name in WORK for n in sizes(name))]
    folder = tmp_path_factory.mktemp("growth")
    commands = [prepared(folder / str(i), WORK.get(name, ("SELECT counter_value(NULL)", TABLE, "")), n)
                for i, (name, n) in enumerate(works)]
    shell(folder, ":memory:", ".connection 1\n" + "".join(commands), "valgrind", "--tool=callgrind",
          "--dump-before=sqlite3_sourceid", f"--callgrind-out-file={folder}/counted")
    files = sorted(folder.glob("counted.*"), key=lambda path: int(path.suffix[1:]))
    counted = [int(re.search(r"^totals: (\d+)", path.read_text(), re.M)[1]) for path in files]
    return dict(zip(works, counted[-2 * len(works) + 1::2], strict=True))


@pytest.mark.parametrize("name", WORK)
def test_twice_the_input_takes_about_twice_the_instructions(name, instructions):
    none, once, twice = (instructions[work] for work in [(None, 0), *((name, n) for n in sizes(name))])
    assert twice - none < RATIO * (once - none), (none, once, twice)
