"""A transaction over several files of which some have committed and others could not: under WAL SQLite commits file
by file. Whoever is taken back then uses its clocks again, so nobody may have seen them."""

import os
import resource

import pytest

from files import connect

TABLE = "counter(k TEXT PRIMARY KEY, n COUNTER)"


def file_under_wal(folder, name):
    db = connect(folder / f"{name}.db")
    db.execute("PRAGMA journal_mode = WAL")
    db.execute(f"CREATE VIRTUAL TABLE t USING {TABLE}")
    db.close()


def coordinator(folder, main, others):
    db = connect(main)
    for name in others:
        db.execute("ATTACH ? AS " + name, (str(folder / f"{name}.db"),))
    return db


class Failing:
    """Within it the WAL of one file can grow no more, which has the longest."""

    def __init__(self, db, folder, name):
        db.execute("PRAGMA wal_autocheckpoint = 0")
        for _ in range(60):
            db.execute(f"INSERT INTO {name}.t VALUES ('padding', 1)")
        self.size = os.path.getsize(folder / f"{name}.db-wal")

    def __enter__(self):
        resource.setrlimit(resource.RLIMIT_FSIZE, (self.size, resource.RLIM_INFINITY))

    def __exit__(self, *_):
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))


def fails(db, sql):
    with pytest.raises(Exception, match="disk I/O error"):
        db.execute(sql)
    if db.in_transaction:
        db.execute("ROLLBACK")


def value(db, name):
    return db.execute(f"SELECT n FROM {name}.t WHERE k = 'a'").fetchall()


def check_that_main_knows_nothing_of_what_west_takes_back(db, failing):
    with failing:
        fails(db, "COMMIT")
    db.execute("INSERT INTO west.t VALUES ('a', 3)")
    db.execute("SELECT * FROM counter_sync('west')").fetchall()
    assert value(db, "main") == value(db, "west") == [(4,)]


@pytest.mark.parametrize("mode", [None, "MEMORY", "OFF", "DELETE", "WAL"])
def test_a_leader_that_is_taken_back_has_given_nothing_to_a_file_that_stays(tmp_path, mode):
    for name in ("east", "west"):
        file_under_wal(tmp_path, name)
    db = coordinator(tmp_path, tmp_path / "main.db" if mode else ":memory:", ["east", "west"])
    if mode:
        db.execute(f"PRAGMA main.journal_mode = {mode}")
    db.execute(f"CREATE VIRTUAL TABLE t USING {TABLE}")
    db.execute("CREATE VIRTUAL TABLE temp.c USING counter_cluster(t, replicas='main east west')")
    db.execute("INSERT INTO c VALUES ('a', 1)")
    with Failing(db, tmp_path, "west"):
        fails(db, "INSERT INTO c VALUES ('a', 5)")
    counted = max(value(db, name)[0][0] for name in ("main", "east"))
    db.execute("INSERT INTO main.t VALUES ('a', 3)")
    db.execute("SELECT * FROM counter_sync('east')").fetchall()
    assert value(db, "main") == value(db, "east") == [(counted + 3,)]
    assert db.execute("SELECT count(*) FROM counter_conflicts").fetchone() == (0,)
    db.close()


@pytest.mark.parametrize("second", ["INSERT INTO b VALUES ('a', 0)", "SELECT * FROM b WHERE k = 'a'"])
def test_what_is_not_committed_reaches_no_earlier_file_through_a_third(tmp_path, second):
    """The second cluster would give main what north has taken of west, which commits after main."""
    for name in ("main", "west", "north"):
        file_under_wal(tmp_path, name)
    db = coordinator(tmp_path, tmp_path / "main.db", ["west", "north"])
    db.execute("CREATE VIRTUAL TABLE temp.a USING counter_cluster(t, replicas='west north')")
    db.execute("CREATE VIRTUAL TABLE temp.b USING counter_cluster(t, replicas='main north', read=ALL, "
               "read_repair=blocking)")
    db.execute("INSERT INTO a VALUES ('a', 1)")
    failing = Failing(db, tmp_path, "west")
    db.execute("BEGIN")
    db.execute("INSERT INTO a VALUES ('a', 5)")
    if second.startswith("INSERT"):
        with pytest.raises(Exception, match="north has merged counts in this transaction"):
            db.execute(second)
    else:
        assert db.execute(second).fetchall() == [("a", 6)]
    check_that_main_knows_nothing_of_what_west_takes_back(db, failing)
    db.close()


def test_what_is_not_committed_reaches_no_earlier_file_through_a_leader_that_only_took_it(tmp_path):
    """West counts, x takes it, north leads a write of x that counts nothing, and main would be repaired from north."""
    for name in ("main", "west", "north", "x"):
        file_under_wal(tmp_path, name)
    db = coordinator(tmp_path, tmp_path / "main.db", ["west", "north", "x"])
    for name, replicas in (("a", "west x"), ("b", "north x"), ("c", "main north")):
        db.execute(f"CREATE VIRTUAL TABLE temp.{name} USING counter_cluster(t, replicas='{replicas}', read=ALL, "
                   "read_repair=blocking)")
        db.execute(f"INSERT INTO {name} VALUES ('a', {int(name == 'a')})")
    failing = Failing(db, tmp_path, "west")
    db.execute("BEGIN")
    db.execute("INSERT INTO a VALUES ('a', 5)")
    db.execute("UPDATE b SET n = n WHERE k = 'a'")
    assert db.execute("SELECT * FROM c WHERE k = 'a'").fetchall() == [("a", 6)]
    check_that_main_knows_nothing_of_what_west_takes_back(db, failing)
    db.close()


def test_a_cluster_goes_on_with_what_its_leader_has_counted_and_another_takes_of_it_in_order(tmp_path):
    """The second cluster gives only to files that commit behind the one that counted."""
    for name in ("main", "west", "north"):
        file_under_wal(tmp_path, name)
    db = coordinator(tmp_path, tmp_path / "main.db", ["west", "north"])
    db.execute("CREATE VIRTUAL TABLE temp.a USING counter_cluster(t, replicas='main west')")
    db.execute("CREATE VIRTUAL TABLE temp.b USING counter_cluster(t, replicas='west north')")
    db.execute("BEGIN")
    db.execute("INSERT INTO a VALUES ('a', 1)")
    db.execute("INSERT INTO a VALUES ('a', 1)")
    db.execute("INSERT INTO b VALUES ('a', 1)")
    db.execute("COMMIT")
    assert value(db, "north") == value(db, "west") == [(3,)]
    db.close()


@pytest.mark.parametrize("give", ["SELECT * FROM counter_pull('m')",
                                  "SELECT * FROM counter_sync('m')"])
def test_a_memory_database_gives_nothing_that_is_not_committed(tmp_path, give):
    db = connect(tmp_path / "main.db")
    db.execute("ATTACH ':memory:' AS m")
    db.execute(f"CREATE VIRTUAL TABLE m.t USING {TABLE}")
    db.execute("INSERT INTO m.t VALUES ('a', 1)")
    db.execute("BEGIN")
    db.execute("INSERT INTO m.t VALUES ('a', 5)")
    with pytest.raises(Exception, match="m has counted in this transaction"):
        db.execute(give).fetchall()
    db.execute("COMMIT")
    db.execute("SELECT * FROM counter_sync('m')").fetchall()
    assert value(db, "main") == value(db, "m") == [(6,)]
    db.close()


@pytest.mark.parametrize("give", ["SELECT * FROM counter_push('peer')", "SELECT * FROM counter_changes(0)"])
def test_main_in_memory_gives_nothing_that_is_not_committed(tmp_path, give):
    file_under_wal(tmp_path, "peer")
    db = coordinator(tmp_path, ":memory:", ["peer"])
    db.execute(f"CREATE VIRTUAL TABLE t USING {TABLE}")
    db.execute("BEGIN")
    db.execute("INSERT INTO main.t VALUES ('a', 5)")
    with pytest.raises(Exception, match="main has counted in this transaction"):
        db.execute(give).fetchall()
    db.execute("COMMIT")
    db.execute("SELECT * FROM counter_push('peer')").fetchall()
    assert value(db, "peer") == [(5,)]
    db.close()
