"""test_requests.py - the requests of a real web server, counted by three replicas, add up exactly.

COUNTER_DATA names the file: tab separated unix_time, hour, path, status, bytes, one header line."""

import os
import random
import zlib

import pytest

from conftest import SEED
from files import connect

DATA = os.environ.get("COUNTER_DATA", "")

pytestmark = pytest.mark.skipif(not os.path.isfile(DATA),
                                reason="COUNTER_DATA names no file of requests")

TABLES = """
    CREATE VIRTUAL TABLE by_hour USING counter(
      path TEXT, hour INTEGER, hits COUNTER, bytes COUNTER, PRIMARY KEY (path, hour));
    CREATE VIRTUAL TABLE by_path USING counter(path TEXT PRIMARY KEY, hits COUNTER, bytes COUNTER);
"""


def requests():
    """Pairs of a number that scatters the lines over the replicas, and (hour, path, bytes)."""
    with open(DATA, newline="") as lines:
        next(lines)
        for line in lines:
            _, hour, path, _, size = line.rstrip("\n").split("\t")
            yield zlib.crc32(line.encode()), (int(hour), path, int(size))


def count(db, hour, path, size):
    db.execute("INSERT INTO by_hour VALUES (?, ?, 1, ?)", (path, hour, size))
    update = "UPDATE by_path SET hits = hits + 1, bytes = bytes + ? WHERE path = ?"
    if db.execute(update, (size, path)).rowcount == 0:
        db.execute("INSERT INTO by_path(path, hits, bytes) VALUES (?, 0, 0)", (path,))
        db.execute(update, (size, path))


def differences(db, table, expected):
    """How many rows one of the two has and the other has not."""
    columns = "path, hits, bytes" if table == "by_path" else "path, hour, hits, bytes"
    return len({*db.execute(f"SELECT {columns} FROM {table}")} ^ expected)


def test_totals_equal_a_plain_group_by(tmp_path, capsys):
    chance = random.Random(SEED)
    plain = connect(":memory:")
    plain.execute("CREATE TABLE request(hour INTEGER, path TEXT, bytes INTEGER)")
    paths = [str(tmp_path / f"replica{i}.db") for i in range(3)]
    replicas = [connect(path) for path in paths]
    for db in replicas:
        db.executescript(TABLES)
        db.execute("BEGIN")
    for scatter, request in requests():
        plain.execute("INSERT INTO request VALUES (?, ?, ?)", request)
        count(replicas[scatter % 3], *request)
    for db in replicas:
        db.execute("COMMIT")

    pulls = [(i, j) for i in range(3) for j in range(3) if i != j] * 3
    chance.shuffle(pulls)
    for i, j in pulls:
        replicas[i].execute("SELECT * FROM counter_pull(?)", [paths[j]]).fetchall()

    hourly = {*plain.execute("SELECT path, hour, count(*), sum(bytes) FROM request GROUP BY 1, 2")}
    by_path = {*plain.execute("SELECT path, count(*), sum(bytes) FROM request GROUP BY 1")}
    for number, db in enumerate(replicas):
        wrong = differences(db, "by_hour", hourly), differences(db, "by_path", by_path)
        with capsys.disabled():
            print(f"\nreplica {number}: {wrong[0]} differences of {len(hourly):,} rows by path and "
                  f"hour, {wrong[1]} of {len(by_path):,} by path", end="")
        assert wrong == (0, 0)
    for db in [plain, *replicas]:
        db.close()
