"""test_durable.py - a power cut takes back nothing that another file has seen, and what it does
take back is noticed."""

import os
import subprocess
import sys

import pytest

import files
import powercut

WORKER = """
import os, sys
sys.path.insert(0, sys.argv[1])
import powercut
db = powercut.connect(sys.argv[2])
for statement in sys.argv[3:]:
    db.execute(statement).fetchall()
os._exit(1)
"""

CREATE = "CREATE VIRTUAL TABLE t USING counter(k TEXT PRIMARY KEY, n COUNTER)"
RENEW = "UPDATE counter_replica SET renewal = 0"
CHECKPOINT = "PRAGMA wal_checkpoint(TRUNCATE)"


def run_and_die(path, *statements):
    """In a process of its own, which leaves everything as it is; syncs by path are seen too."""
    command = [sys.executable, "-c", WORKER, os.path.dirname(__file__), str(path)]
    ended = subprocess.run(command + list(statements), env=powercut.preloaded())
    assert ended.returncode == 1


def count(*amounts):
    return [f"INSERT INTO t VALUES ('x', {n})" for n in amounts]


def open_as(journal, synchronous):
    return f"PRAGMA journal_mode = {journal}", f"PRAGMA synchronous = {synchronous}"


def ask(path, sql):
    db = powercut.connect(path)
    found = db.execute(sql).fetchall()
    db.close()
    return found


def value(path):
    return ask(path, "SELECT n FROM t")[0][0]


def shards(path):
    return ask(path, "SELECT count(*) FROM counter_cells('t') AS c, counter_shards(c.cell)")[0][0]


def two_files(folder):
    """Each in a folder of its own: to sync one folder says nothing about the other."""
    paths = folder / "till" / "till.db", folder / "shop" / "shop.db"
    for path in paths:
        path.parent.mkdir()
    return paths


MODES = [("WAL", "NORMAL"), ("DELETE", "FULL"), ("TRUNCATE", "FULL"), ("PERSIST", "FULL")]


@pytest.mark.parametrize("journal, synchronous", MODES)
@pytest.mark.parametrize("way", ["pull", "push"])
def test_what_a_peer_has_seen_survives_a_power_cut(tmp_path, way, journal, synchronous):
    till, shop = two_files(tmp_path)
    mode = open_as(journal, synchronous)
    run_and_die(till, *mode, CREATE, RENEW, *count(1), CHECKPOINT)
    run_and_die(shop, *open_as("WAL", "FULL"), "SELECT counter_init()")
    if way == "pull":
        run_and_die(till, *mode, *count(2, 4))
        run_and_die(shop, f"SELECT * FROM counter_pull('{till}')")
    else:
        run_and_die(till, *mode, f"ATTACH '{shop}' AS shop", *count(2, 4),
                    "SELECT * FROM counter_push('shop')")
    assert value(shop) == 7
    powercut.cut(till)
    assert value(till) == 7
    run_and_die(till, *mode, *count(8))
    run_and_die(till, f"ATTACH '{shop}' AS shop", "SELECT * FROM counter_sync('shop')")
    assert (value(till), value(shop), shards(shop)) == (15, 15, 1)


def test_commits_that_a_power_cut_takes_back_cost_an_id(tmp_path):
    till, shop = two_files(tmp_path)
    mode = open_as("WAL", "NORMAL")
    run_and_die(till, *mode, CREATE, RENEW, *count(1), CHECKPOINT)
    if ask(till, "SELECT witness FROM counter_identity")[0][0] != "armed":
        pytest.skip("the file system has no extended attributes")
    run_and_die(till, *mode, *count(2))
    powercut.cut(till)
    assert value(till) == 1
    run_and_die(till, *mode, *count(4, 8))
    assert ask(till, "SELECT why FROM counter_identity") == [("restore",), ("created",)]
    run_and_die(shop, CREATE, *count(16), f"SELECT * FROM counter_pull('{till}')")
    assert (value(till), shards(till), value(shop), shards(shop)) == (13, 2, 29, 3)
