"""test_at_hand.py - what a connection reads while it goes on to count itself, row by row: the rows show what was counted,
once, whatever was folded, rolled back or attached meanwhile.
"""

import contextlib
import json
import sqlite3

import pytest

from files import connect, optimize

DECLARATION = "CREATE VIRTUAL TABLE t USING counter(k TEXT PRIMARY KEY, n COUNTER, m COUNTER)"
HOUR = 3_600_000 * 4096


@pytest.fixture(name="db")
def counted():
    with contextlib.closing(connect(":memory:")) as db:
        count(db)
        yield db


def count(db):
    db.execute(DECLARATION)
    for n in 1, 10:
        db.executemany("INSERT INTO t VALUES (?, ?, ?)", [(key, n, n) for key in "abc"])


def sums(db, feed):
    """What another file makes of the cells of a feed."""
    return [db.execute("SELECT counter_value(?)", [cell]).fetchone()[0] for (cell,) in feed]


def clocks(db):
    cells = db.execute("SELECT counter_json(cell) FROM counter_cells('t')").fetchall()
    return {shard["clock"] for (cell,) in cells for shard in json.loads(cell)["shards"]}


@pytest.mark.parametrize("since", [0, 1])
def test_a_feed_of_a_database_in_memory_gives_nothing_twice_that_was_folded_meanwhile(db, since):
    feed = db.execute("SELECT c.cell FROM counter_changes(?) AS f, counter_change(f.change) AS c", [since])
    assert sums(db, [feed.fetchone()]) == [11]
    optimize(db, "t")
    assert sums(db, feed) == 5 * [11] and clocks(db) == {2}


def test_a_feed_of_a_database_in_memory_goes_on_with_what_is_counted_meanwhile(db):
    feed = db.execute("SELECT c.cell FROM counter_changes(0) AS f, counter_change(f.change) AS c")
    feed.fetchone()
    for n in 100, 1000:
        db.executemany("INSERT INTO t VALUES (?, ?, ?)", [(key, n, n) for key in "abc"])
        optimize(db, "t")
    assert sums(db, feed) == [11] + 4 * [1111]


def test_a_feed_of_a_database_in_memory_gives_nothing_that_is_not_committed(db):
    feed = db.execute("SELECT c.cell FROM counter_changes(0) AS f, counter_change(f.change) AS c")
    feed.fetchone()
    feed.fetchone()
    db.execute("BEGIN")
    db.execute("INSERT INTO t VALUES ('b', 5, 5)")
    with pytest.raises(sqlite3.OperationalError, match="only what is committed is given"):
        feed.fetchall()


def test_a_scan_goes_on_behind_a_rollback_with_what_the_journal_adds(db):
    scan = db.execute("SELECT * FROM t")
    assert scan.fetchone() == ("a", 11, 11)
    with pytest.raises(sqlite3.OperationalError, match="integer overflow"):
        db.execute("INSERT INTO t VALUES ('a', ?, 1)", [2**63 - 1])
    assert scan.fetchall() == [("b", 11, 11), ("c", 11, 11)]


@pytest.mark.parametrize("commits", range(5))
def test_numbers_rise_in_a_file_that_is_attached_in_place_of_another(tmp_path, commits):
    """In the second one the clock stood an hour ahead."""
    first, second, follower = (str(tmp_path / f"{name}.db") for name in ("first", "second", "follower"))
    for path in first, second:
        with contextlib.closing(connect(path)) as db:
            count(db)
            if path == second:
                db.execute("UPDATE counter_journal SET _seq = _seq + ?", [HOUR])
    with contextlib.closing(connect(":memory:")) as db, contextlib.closing(connect(second)) as other, \
            contextlib.closing(connect(follower)) as far:
        db.execute("ATTACH ? AS x", [first])
        db.execute("INSERT INTO x.t VALUES ('a', 1, 1)")
        db.execute("DETACH x")
        db.execute("ATTACH ? AS x", [second])
        for _ in range(commits):  # as many as make the data versions of the two equal
            other.execute("INSERT INTO t VALUES ('a', 1, 1)")
            db.execute("SELECT * FROM x.t").fetchall()
        far.execute("SELECT * FROM counter_pull(?)", [second]).fetchall()
        db.execute("INSERT INTO x.t VALUES ('a', 1000, 1000)")
        far.execute("SELECT * FROM counter_pull(?)", [second]).fetchall()
        assert far.execute("SELECT n FROM t WHERE k = 'a'").fetchone() == (1011 + commits,)
