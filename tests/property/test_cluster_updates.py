"""test_cluster_updates.py - an UPDATE through a cluster adds what its expression adds: whatever the
levels, who else has written which of the files, and which of them are locked or read-only.

The model is one number, the sum of what was added.
"""

import contextlib
import random
import sqlite3

import pytest

import clusters
from clusters import rows, set_option
from conftest import EXAMPLES, SEED
from files import connect

NAMES = ["main", "east", "west"]
PATHS = ["/", "/a", "/b"]
LEVELS = ["ONE", "TWO", "QUORUM", "ALL"]
UPDATE = "UPDATE traffic SET hits = hits + ? WHERE path = ?"
UPDATE_ALL = "UPDATE traffic SET hits = hits + ?"


@contextlib.contextmanager
def locked(path):
    """Another connection has the write lock."""
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("BEGIN IMMEDIATE")
        yield


def add_alone(path, n, row="/"):
    with contextlib.closing(connect(path, 5)) as db:
        db.execute("INSERT INTO page_views(path, hour, hits) VALUES (?, 12, ?)", [row, n])


def merged_sums(files):
    """The sum in each file, after each has pulled from each."""
    sums = []
    for _ in range(2):
        for path in files.values():
            with contextlib.closing(connect(path, 5)) as db:
                for other in files.values():
                    if other != path:
                        db.execute("SELECT * FROM counter_pull(?)", [other]).fetchall()
                sums.append(rows(db, "SELECT total(hits) FROM page_views")[0][0])
    return sums[-len(files):]


@pytest.fixture
def files(tmp_path):
    files = clusters.new_files(tmp_path, NAMES)
    with contextlib.closing(clusters.coordinator(files)) as db:
        db.execute(clusters.ADD, [10])
    return files


def test_an_update_at_one_keeps_what_its_replica_has_missed(files):
    with contextlib.closing(clusters.coordinator(files, read="ONE")) as db:
        with locked(files["main"]):
            other = {"main": files["west"], "east": files["east"], "west": files["main"]}
            with contextlib.closing(clusters.coordinator(other)) as elsewhere:
                elsewhere.execute(clusters.ADD, [100])
        db.execute(UPDATE, [1, "/"])
        assert rows(db, "SELECT (SELECT hits FROM main.page_views), (SELECT hits FROM east.page_views), "
                        "(SELECT hits FROM west.page_views)") == [(111, 111, 111)]


@pytest.mark.parametrize("alone", NAMES)
def test_an_update_at_quorum_keeps_what_any_replica_has_counted_alone(files, alone):
    add_alone(files[alone], 15)
    with contextlib.closing(clusters.coordinator(files)) as db:
        db.execute(UPDATE, [14, "/"])
        assert merged_sums(files) == [39, 39, 39]


@pytest.mark.parametrize("how, why", [("locked", "database is locked"), ("read-only", "it is read-only")])
def test_a_replica_that_cannot_be_written_is_not_read_by_an_update(files, how, why):
    add_alone(files["east"], 15)
    with contextlib.closing(clusters.coordinator(files)) as db:
        if how == "read-only":
            db.execute("DETACH east")
            db.execute("ATTACH ? AS east", [f"file:{files['east']}?mode=ro"])
        with locked(files["east"]) if how == "locked" else contextlib.nullcontext():
            db.execute(UPDATE, [14, "/"])
            set_option(db, "read=ALL")
            for sql in "UPDATE traffic SET hits = 100", "UPDATE traffic SET hits = hits + 1", "DELETE FROM traffic":
                with pytest.raises(sqlite3.OperationalError, match=f"read=ALL needs 3 of 3 replicas, 2 are available: east: {why}"):
                    db.execute(sql)
    assert merged_sums(files) == [39, 39, 39]


def test_a_level_that_is_set_within_a_transaction_does_not_change_what_an_update_adds(files):
    add_alone(files["west"], 15)
    with contextlib.closing(clusters.coordinator(files)) as db:
        db.execute("BEGIN")
        set_option(db, "read=ONE")
        db.execute(UPDATE, [14, "/"])
        db.execute("COMMIT")
    assert merged_sums(files) == [39, 39, 39]


def test_an_update_needs_a_leader_whose_commits_a_power_cut_cannot_undo(files):
    with contextlib.closing(clusters.coordinator(files)) as db:
        db.execute("PRAGMA main.synchronous = NORMAL")
        refused = pytest.raises(sqlite3.OperationalError, match="main is the leader, and a power cut must not undo")
        with refused:
            db.execute(UPDATE, [1, "/"])
        db.execute("BEGIN")
        for _ in range(2):
            with refused:
                db.execute(clusters.ADD, [1])
        db.execute("COMMIT")
    assert merged_sums(files) == [10, 10, 10]


def test_a_damaged_cell_stops_no_select_and_no_delete_but_the_update_that_has_read_rows(files):
    with contextlib.closing(clusters.coordinator(files)) as db:
        db.execute("INSERT INTO traffic(path, hour, hits) VALUES ('/a', 12, 2)")
        db.execute("INSERT INTO west.page_views(page_views) VALUES ('optimize')")
        db.execute("PRAGMA writable_schema = ON")
        db.execute("UPDATE west.page_views_cells SET hits = x'ffff01' WHERE path = '/a'")
        assert rows(db, "SELECT total(hits) FROM traffic") == [(12,)]
        with pytest.raises(sqlite3.OperationalError, match="the available replicas changed while"):
            db.execute(UPDATE_ALL, [1])
        db.execute(UPDATE, [1, "/a"])
        db.execute("BEGIN")
        db.execute(clusters.ADD, [1])
        assert rows(db, "SELECT total(hits) FROM traffic") == [(14,)]
        db.execute("COMMIT")
        db.execute("DELETE FROM traffic WHERE hits > 1")
        assert rows(db, "SELECT count(*) FROM traffic") == [(0,)]


@pytest.mark.parametrize("before", [None, "read=ALL", "nonsense"])
def test_a_select_in_a_transaction_reads_what_it_cannot_lock(files, before):
    add_alone(files["west"], 5)
    with contextlib.closing(clusters.coordinator(files, read="ALL", write="ONE", read_repair="blocking")) as db:
        with locked(files["east"]):
            db.execute("BEGIN")
            if before:
                with contextlib.suppress(sqlite3.OperationalError):
                    set_option(db, before)
            assert rows(db, "SELECT hits FROM traffic") == rows(db, "SELECT hits FROM traffic") == [(15,)]
            db.execute("COMMIT")


def test_a_cursor_of_an_earlier_transaction_keeps_no_update_from_counting(files):
    with contextlib.closing(clusters.coordinator(files)) as db:
        db.execute("INSERT INTO traffic(path, hour, hits) VALUES ('/a', 12, 2)")
        db.execute("DETACH west")
        db.execute("BEGIN")
        db.execute(UPDATE, [1, "/"])
        cursor = db.execute("SELECT hits FROM traffic")
        cursor.fetchone()
        db.execute("COMMIT")
        db.execute("ATTACH ? AS west", [files["west"]])
        db.execute("PRAGMA west.synchronous = EXTRA")
        db.execute(UPDATE_ALL, [1])
        assert len(cursor.fetchall()) == 1
    assert merged_sums(files) == [15, 15, 15]


class Updates:
    def __init__(self, files, chance, repairs):
        self.files, self.chance, self.total, self.log = files, chance, 10, []
        paths = list(files.values())
        self.coordinators = [clusters.coordinator(dict(zip(NAMES, paths[n:] + paths[:n])), read_repair=repairs)
                             for n in range(3)]

    def close(self):
        for db in self.coordinators:
            db.close()

    def run(self, db, sql, values):
        """Adds values[0] to each row that the statement changes, or nothing."""
        try:
            db.execute(sql, values)
        except sqlite3.OperationalError as error:
            self.log.append(f"{sql} {values}: {error}")
            return
        n, = db.execute("SELECT changes()").fetchone()
        self.log.append(f"{sql} {values}: {n} rows")
        self.total += values[0] * n

    def statement(self, db):
        n, path = self.chance.randint(-9, 99), self.chance.choice(PATHS)
        kind = self.chance.random()
        if kind < 0.3:
            self.run(db, "INSERT INTO traffic(hits, path, hour) VALUES (?, ?, 12)", [n, path])
        elif kind < 0.8:
            self.run(db, UPDATE, [n, path])
        else:
            self.run(db, UPDATE_ALL, [n])

    def transaction(self, db):
        before = self.total
        db.execute("BEGIN")
        for _ in range(self.chance.randint(1, 3)):
            if self.chance.random() < 0.3:
                with contextlib.suppress(sqlite3.OperationalError):
                    rows(db, "SELECT count(*), total(hits) FROM traffic")
            self.statement(db)
        keep = self.chance.random() < 0.7
        db.execute("COMMIT" if keep else "ROLLBACK")
        self.total = self.total if keep else before

    def step(self):
        chance, lock = self.chance, self.chance.choice([None, None, *self.files])
        db = chance.choice(self.coordinators)
        if chance.random() < 0.3:
            n, path = chance.randint(1, 99), chance.choice(PATHS)
            add_alone(chance.choice(list(self.files.values())), n, path)
            self.total += n
        for option in "read", "write":
            if chance.random() < 0.5:
                set_option(db, f"{option}={chance.choice(LEVELS)}")
        self.log.append(f"locked: {lock}")
        with locked(self.files[lock]) if lock else contextlib.nullcontext():
            if chance.random() < 0.3:
                self.transaction(db)
            else:
                self.statement(db)


@pytest.mark.parametrize("repairs", ["none", "blocking"])
def test_each_update_adds_what_it_says(tmp_path, repairs):
    for number in range(max(4, EXAMPLES // 20)):
        chance = random.Random(f"{SEED} {repairs} {number}")
        folder = tmp_path / str(number)
        folder.mkdir()
        files = clusters.new_files(folder, NAMES, chance.choice(["WAL", "DELETE"]))
        with contextlib.closing(clusters.coordinator(files)) as db:
            db.execute(clusters.ADD, [10])
        updates = Updates(files, chance, repairs)
        try:
            for _ in range(12):
                updates.step()
        finally:
            updates.close()
        assert merged_sums(files) == [updates.total] * 3, "\n".join(updates.log)
