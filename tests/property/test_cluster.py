"""test_cluster.py - counter_cluster: what reads see, what writes reach, what is refused and why."""

import contextlib
import sqlite3

import pytest

import clusters
from clusters import ADD, coordinator, create, everywhere, held, hits, new_files, rows, set_option
from files import connect

NAMES = ["main", "east", "west"]
SELECT = "SELECT * FROM page_views ORDER BY path, hour"

journals = pytest.mark.parametrize("journal", ["WAL", "DELETE"])


@pytest.fixture
def files(tmp_path):
    return new_files(tmp_path, NAMES)


def count_alone(files, **amounts):
    """Each file counts by itself."""
    for name, amount in amounts.items():
        with contextlib.closing(connect(files[name])) as db:
            db.execute("INSERT INTO page_views VALUES ('/', 12, ?, 0)", [amount])


def refused(db, sql, *values):
    """The sentence with which a statement is refused."""
    with pytest.raises(sqlite3.Error) as raised:
        db.execute(sql, values).fetchall()
    return str(raised.value)


def shards(db, schema="main"):
    """How many replicas have counted."""
    return rows(db, "SELECT count(*) FROM counter_cells('page_views', ?) AS c, counter_shards(c.cell) "
                "WHERE c.column_name = 'hits'", schema)[0][0]


# ---- levels ----

A, B, C = (bytes([letter]) * 16 for letter in b"ABC")


def store_shards(path, *of):
    with contextlib.closing(connect(path)) as db:
        db.execute("CREATE TEMP TABLE shard(id, clock, value)")
        db.executemany("INSERT INTO shard VALUES (?, ?, ?)", of)
        db.execute("INSERT INTO page_views_cells(path, hour, hits) "
                   "SELECT '/', 12, counter_collect(id, clock, value) FROM shard")


@pytest.fixture
def seeds(files):
    store_shards(files["main"], (A, 1, 100), (B, 1, 50))
    store_shards(files["east"], (A, 1, 100), (B, 1, 50), (C, 1, 30))
    store_shards(files["west"], (A, 1, 100), (B, 2, 55), (C, 1, 30))
    return files


@pytest.mark.parametrize("level, value", [("ONE", 150), ("QUORUM", 180), ("TWO", 180), ("ALL", 185)])
def test_a_read_merges_as_many_replicas_as_its_level_asks(seeds, level, value):
    db = coordinator(seeds, read=level)
    assert hits(db) == value
    db.close()


def test_blocking_repair_gives_contacted_replicas_what_they_lack_and_the_others_nothing(seeds):
    db = coordinator(seeds, read="QUORUM", read_repair="blocking")
    assert hits(db) == 180
    assert [hits(db, f"{name}.page_views") for name in NAMES] == [180, 180, 185]
    set_option(db, "read=ONE")
    assert hits(db) == 180
    db.close()
    assert everywhere(seeds, "SELECT hits FROM page_views") == {
        "main": [(180,)], "east": [(180,)], "west": [(185,)]}


def test_without_repair_a_read_leaves_all_files_as_they_are(seeds):
    db = coordinator(seeds, read="ALL")
    watched = clusters.Watched(seeds.values())
    before = watched.contents()
    assert hits(db) == 185
    assert watched.contents() == before
    db.close()
    watched.close()


@pytest.mark.parametrize("how, repaired", [("IMMEDIATE", [185, 180, 185]), ("none", [185] * 3)])
def test_repair_leaves_out_a_replica_that_is_locked(seeds, how, repaired):
    db = coordinator(seeds, read="ALL", read_repair="blocking")
    with held(how, [seeds["east"]]) if how != "none" else contextlib.nullcontext():
        assert hits(db) == 185
        assert [hits(db, f"{name}.page_views") for name in NAMES] == repaired
    db.close()


def test_repair_does_not_need_main_if_main_is_no_replica(tmp_path):
    files = new_files(tmp_path, NAMES, "DELETE")
    count_alone(files, east=1, west=2)
    db = clusters.open_files(files)
    create(db, ["east", "west"], read="ALL", read_repair="blocking")
    with held("EXCLUSIVE", [files["main"]]):
        assert hits(db) == 3
        assert [hits(db, f"{name}.page_views") for name in NAMES[1:]] == [3, 3]
    db.close()


def test_repair_covers_the_rows_that_a_read_shows_and_no_others(files):
    for number, name in enumerate(NAMES):
        with contextlib.closing(connect(files[name])) as db:
            for hour in range(number, 30, 3):
                db.execute("INSERT INTO page_views VALUES ('/', ?, 1, 1)", [hour])
    db = coordinator(files, read="ALL", read_repair="blocking")
    db.execute("SELECT * FROM traffic WHERE path = '/' AND hour < 15").fetchall()
    for name in NAMES:
        assert rows(db, f"SELECT count(*) FROM {name}.page_views WHERE hour < 15") == [(15,)]
        assert rows(db, f"SELECT count(*) FROM {name}.page_views WHERE hour >= 15") == [(5,)]
    assert rows(db, "SELECT count(*) FROM traffic") == [(30,)]
    assert [rows(db, f"SELECT count(*) FROM {name}.page_views") for name in NAMES] == [[(30,)]] * 3
    db.close()


def test_repair_inside_a_transaction_is_rolled_back_with_it(seeds):
    db = coordinator(seeds, read="ALL", read_repair="blocking")
    db.execute("BEGIN")
    assert hits(db) == 185
    assert hits(db, "main.page_views") == 185
    db.execute("ROLLBACK")
    assert hits(db, "main.page_views") == 150
    db.close()


def test_repair_brings_deletes_and_resets(files):
    db = coordinator(files, read="ALL", read_repair="blocking")
    db.executemany("INSERT INTO traffic VALUES (?, 1, 1, 1)", [["a"], ["b"]])
    db.execute("DELETE FROM west.page_views WHERE path = 'a'")
    db.execute("INSERT INTO east.page_views(page_views, path, hour, hits) VALUES ('reset', 'b', 1, 7)")
    assert rows(db, "SELECT * FROM traffic") == [("b", 1, 7, 0)]
    for name in NAMES:
        assert rows(db, f"SELECT * FROM {name}.page_views") == [("b", 1, 7, 0)]
    db.close()


# ---- writes ----

@journals
def test_each_of_three_replicas_leads_once_and_there_are_three_ids(tmp_path, journal):
    paths = list(new_files(tmp_path, NAMES, journal).values())
    for turn in range(3):
        files = dict(zip(NAMES, paths[turn:] + paths[:turn]))
        db = coordinator(files, read="ONE", write="ALL")
        db.execute(ADD, [1])
        assert hits(db) == turn + 1
        assert shards(db) == turn + 1
        db.close()
    assert everywhere(dict(enumerate(paths)), "SELECT hits FROM page_views") == {
        n: [(3,)] for n in range(3)}


def test_a_replica_that_was_away_catches_up_at_its_next_write(files):
    db = coordinator(files, write="QUORUM")
    db.execute("DETACH west")
    for _ in range(5):
        db.execute(ADD, [1])
    db.execute("ATTACH ? AS west", [files["west"]])
    assert hits(db, "west.page_views") is None
    clusters.set_durable(db, NAMES)
    db.execute(ADD, [1])
    assert hits(db, "west.page_views") == 6
    db.close()


def test_a_replica_that_was_away_catches_up_by_sync(files):
    db = coordinator(files)
    db.execute("DETACH west")
    db.execute("INSERT INTO traffic VALUES ('/', 1, 1, 1), ('/', 2, 2, 2)")
    db.execute("ATTACH ? AS west", [files["west"]])
    rows(db, "SELECT * FROM counter_sync('west')")
    assert rows(db, "SELECT different FROM counter_cluster_status('traffic')") == [(0,)] * 3
    db.close()


def test_what_a_lagging_leader_counts_adds_to_what_the_others_have(files):
    """Main was away while the others counted, its own id included in what they have."""
    count_alone(files, main=1, east=2, west=4)
    db = coordinator(files, read="ONE")
    db.execute(ADD, [8])
    assert hits(db) == 15
    db.close()
    assert everywhere(files, "SELECT hits FROM page_views") == {name: [(15,)] for name in NAMES}


def test_an_update_adds_to_rows_that_only_one_replica_has(files):
    count_alone(files, west=4)
    db = coordinator(files, read="ALL", write="ALL")
    assert db.execute("UPDATE traffic SET hits = hits + 1").rowcount == 1
    db.close()
    assert everywhere(files, "SELECT hits FROM page_views") == {name: [(5,)] for name in NAMES}


def test_the_leader_is_main_or_else_the_earliest_attached(files):
    db = connect(files["east"])
    db.execute("ATTACH ? AS west", [files["west"]])
    db.execute("ATTACH ? AS main2", [files["main"]])
    clusters.set_durable(db, ["main", "west", "main2"])
    create(db, ["main2", "west"])
    db.execute(ADD, [1])
    west = rows(db, "SELECT counter_id('west')")
    ids = ("SELECT s.id FROM counter_cells('page_views', 'main2') AS c, counter_shards(c.cell) AS s "
           "WHERE c.column_name = 'hits'")
    assert rows(db, ids) == west
    db.execute("DROP TABLE traffic")
    create(db, ["main2", "west", "main"])
    db.execute("INSERT INTO traffic VALUES ('/new', 1, 1, 1)")
    assert rows(db, f"{ids} AND c.key = '[\"/new\",1]'") == rows(db, "SELECT counter_id()")
    db.close()


# ---- refusals ----

def test_what_a_replica_has_counted_in_this_transaction_is_not_given_to_others(files):
    db = coordinator(files)
    db.execute("BEGIN")
    db.execute("INSERT INTO east.page_views VALUES ('/', 12, 1, 1)")
    assert refused(db, ADD, 1) == (
        "traffic: east has counted in this transaction, and only committed changes go to other "
        "replicas: COMMIT first")
    db.execute("COMMIT")
    db.execute(ADD, [1])
    assert hits(db) == 2
    db.close()


@pytest.mark.parametrize("journal, synchronous, needed", [
    ("WAL", "OFF", "FULL"), ("WAL", "NORMAL", "FULL"), ("WAL", "FULL", None), ("WAL", "EXTRA", None),
    ("DELETE", "OFF", "NORMAL"), ("DELETE", "NORMAL", None), ("DELETE", "FULL", None)])
def test_a_leader_whose_commits_would_not_outlive_a_power_cut_is_refused(tmp_path, journal,
                                                                        synchronous, needed):
    files = new_files(tmp_path, NAMES, journal)
    db = coordinator(files)
    db.execute(f"PRAGMA main.synchronous = {synchronous}")
    if not needed:
        db.execute(ADD, [1])
        db.close()
        return
    message = refused(db, ADD, 1)
    assert message.startswith("traffic: main is the leader, and a power cut must not undo its commits")
    assert message.endswith(f"journal_mode={journal.lower()} needs PRAGMA main.synchronous={needed}, "
                            f"not {synchronous}")
    db.close()
    assert everywhere(files, SELECT) == {name: [] for name in NAMES}


@pytest.mark.parametrize("synchronous, refuses", [("FULL", True), ("EXTRA", False)])
def test_a_delete_journal_that_is_written_alone_needs_extra(tmp_path, synchronous, refuses):
    files = new_files(tmp_path, NAMES, "DELETE")
    db = coordinator(files, write="ONE")
    db.execute("DETACH east")
    db.execute("DETACH west")
    db.execute(f"PRAGMA main.synchronous = {synchronous}")
    if refuses:
        assert "PRAGMA main.synchronous=EXTRA, not FULL" in refused(db, ADD, 1)
    else:
        db.execute(ADD, [1])
    db.close()


def test_replicas_that_follow_may_have_any_setting(files):
    db = coordinator(files)
    for name in ("east", "west"):
        db.execute(f"PRAGMA {name}.synchronous = OFF")
    db.execute(ADD, [1])
    assert hits(db, "west.page_views") == 1
    db.close()


def new_cluster(clauses, schema="temp."):
    return f"CREATE VIRTUAL TABLE {schema}traffic USING counter_cluster({clauses})"


@pytest.mark.parametrize("clauses, message", [
    ("", "the first argument must be the name of a counter table"),
    ("replicas='main'", "the first argument must be the name of a counter table"),
    ("page_views", "replicas is needed: names of attached databases, replicas='main east'"),
    ("page_views, replicas=''", "replicas is needed: names of attached databases, replicas='main east'"),
    ("page_views, replicas='main east main'", "replicas: main is named twice"),
    ("page_views, replicas='main temp'", "replicas: temp cannot be a replica"),
    ("page_views, replicas='main', replicas='east'", "replicas is given twice"),
    ("page_views, replicas='main', read=ANY",
     "read=ANY: counters have no such level, because a hint is not a replica"),
    ("page_views, replicas='main', write=serial",
     "write=serial: counters have no conditional updates and no such level"),
    ("page_views, replicas='main', write=FOUR",
     "write=FOUR: unknown level; there are ONE, TWO, THREE, QUORUM, ALL, LOCAL_ONE, LOCAL_QUORUM and "
     "EACH_QUORUM"),
    ("page_views, replicas='main', read_repair=async", "read_repair must be blocking or none, not async"),
    ("page_views, replicas='main', speed=high",
     "unknown option 'speed'; there are replicas, read, write and read_repair"),
    ("page_views, replicas='main', QUORUM", "cannot read the option 'QUORUM'"),
    ("no_views, replicas='main'", "no attached replica has a counter table with the name no_views"),
])
def test_a_declaration_that_says_nothing_useful_is_refused(files, clauses, message):
    db = clusters.open_files(files)
    assert refused(db, new_cluster(clauses)) == f"traffic: {message}"
    db.close()


@pytest.mark.parametrize("schema", ["", "main.", "east."])
def test_a_cluster_stands_in_temp(files, schema):
    db = clusters.open_files(files)
    assert refused(db, new_cluster("page_views, replicas='main'", schema)) == (
        "traffic: a cluster belongs to a connection: CREATE VIRTUAL TABLE temp.traffic")
    db.close()


OTHER_TABLES = {
    "another counter": "path TEXT, hour INTEGER, hits COUNTER, PRIMARY KEY (path, hour)",
    "another key": "path TEXT, hits COUNTER, bytes COUNTER, PRIMARY KEY (path)",
    "another collation":
        "path TEXT COLLATE NOCASE, hour INTEGER, hits COUNTER, bytes COUNTER, PRIMARY KEY (path, hour)",
    "another affinity": "path TEXT, hour TEXT, hits COUNTER, bytes COUNTER, PRIMARY KEY (path, hour)",
    "another order": "path TEXT, hour INTEGER, hits COUNTER, bytes COUNTER, PRIMARY KEY (hour, path)",
}


@pytest.mark.parametrize("columns", OTHER_TABLES.values(), ids=OTHER_TABLES)
def test_replicas_whose_columns_disagree_are_refused(tmp_path, columns):
    files = new_files(tmp_path, ["main", "west"])
    files["east"] = clusters.new_file(
        tmp_path / "east.db", table=f"CREATE VIRTUAL TABLE page_views USING counter({columns})")
    db = clusters.open_files(files)
    assert "east" in refused(db, new_cluster("page_views, replicas='main west east'"))
    db.close()


def test_a_replica_whose_columns_are_in_another_order_is_one_all_the_same(tmp_path):
    files = new_files(tmp_path, ["main", "west"])
    files["east"] = clusters.new_file(
        tmp_path / "east.db", table="CREATE VIRTUAL TABLE page_views USING counter("
        "bytes COUNTER, hour INTEGER, hits COUNTER, path TEXT, PRIMARY KEY (path, hour))")
    db = coordinator(files, read="ALL", write="ALL")
    db.execute("INSERT INTO traffic VALUES ('/', 12, 1, 5120)")
    assert rows(db, "SELECT path, hour, hits, bytes FROM east.page_views") == [("/", 12, 1, 5120)]
    assert rows(db, "SELECT * FROM traffic") == [("/", 12, 1, 5120)]
    db.close()


def test_a_request_id_is_refused(files):
    db = coordinator(files)
    sql = "INSERT INTO traffic(path, hour, hits, request_id) VALUES ('/', 12, 1, 'r1')"
    assert refused(db, sql) == ("traffic: a cluster takes no request_id: under another leader, a repeated request would count twice")
    db.close()


@pytest.mark.parametrize("level", ["LOCAL_ONE", "LOCAL_QUORUM", "EACH_QUORUM"])
def test_levels_of_data_centres_refuse_a_replica_without_a_name_by_name(tmp_path, level):
    files = {name: clusters.new_file(tmp_path / f"{name}.db", name=None if name == "east" else f"dc:{name}")
             for name in NAMES}
    db = coordinator(files, read=level, write=level)
    for which, sql in (("read", "SELECT * FROM traffic"), ("write", ADD.replace("?", "1"))):
        assert refused(db, sql) == (
            f"traffic: {which}={level} needs the data center of each replica, and east has no "
            "name: SELECT counter_init('dc:rack') before its first counter table")
    db.close()


def test_a_local_level_without_a_name_of_main_is_refused(tmp_path):
    files = {name: clusters.new_file(tmp_path / f"{name}.db", name=f"dc:{name}") for name in NAMES[1:]}
    db = coordinator(files, read="LOCAL_ONE")
    assert refused(db, "SELECT * FROM traffic") == (
        "traffic: read=LOCAL_ONE needs the data center of main, and main has no name")
    set_option(db, "read=EACH_QUORUM")
    assert hits(db) is None
    db.close()


def test_the_local_data_centre_is_that_of_main_even_if_main_is_no_replica(tmp_path):
    files = {name: clusters.new_file(tmp_path / f"{name}.db", name=f"{dc}:{name}")
             for name, dc in (("east", "dc1"), ("west", "dc2"), ("main", "dc2"))}
    count_alone(files, east=1, west=2)
    db = clusters.open_files(files)
    clusters.set_durable(db, files)
    create(db, ["east", "west"], read="LOCAL_ONE", write="LOCAL_QUORUM")
    assert hits(db) == 2
    db.execute("DETACH east")
    db.execute(ADD, [4])
    assert hits(db) == 6
    assert rows(db, "SELECT * FROM main.page_views") == []
    db.execute("ATTACH ? AS east", [files["east"]])
    db.execute("DETACH west")
    assert refused(db, "SELECT * FROM traffic") == (
        "traffic: read=LOCAL_ONE needs 1 of 1 replica in dc2, 0 are available: west: it is not attached")
    assert refused(db, ADD, 1) == (
        "traffic: write=LOCAL_QUORUM needs 1 of 1 replica in dc2, 0 are available: west: it is not "
        "attached")
    db.close()


def test_a_stored_table_with_a_trigger_makes_a_replica_unavailable(files):
    db = coordinator(files, write="ALL")
    db.execute("CREATE TRIGGER east.stop BEFORE INSERT ON page_views_cells BEGIN "
               "SELECT RAISE(ABORT, 'stop'); END")
    message = refused(db, ADD, 1)
    assert message.startswith("traffic: write=ALL needs 3 of 3 replicas, 2 are available: east: ")
    assert "trigger" in message
    db.close()


# ---- halfway ----

@journals
@pytest.mark.parametrize("begin", ["BEGIN", "SAVEPOINT s", None])
@pytest.mark.parametrize("full", NAMES)
def test_a_write_that_fails_in_one_replica_leaves_nothing_anywhere(tmp_path, journal, begin, full):
    files = new_files(tmp_path, NAMES, journal)
    db = coordinator(files, write="ONE")
    db.execute(ADD, [1])
    pages = rows(db, f"PRAGMA {full}.page_count")[0][0]
    db.execute(f"PRAGMA {full}.max_page_count = {pages}")
    if begin:
        db.execute(begin)
    with pytest.raises(sqlite3.OperationalError, match="full"):
        for n in range(2000):
            db.execute("INSERT INTO traffic VALUES (?, 1, 1, 1)", ["long" * 100 + str(n)])
    if begin:
        with pytest.raises(sqlite3.Error):
            db.execute("COMMIT")
        with contextlib.suppress(sqlite3.Error):
            db.execute("ROLLBACK")
        assert not db.in_transaction
    shown = [rows(db, f"SELECT * FROM {name}.page_views") for name in NAMES]
    assert shown[0] == shown[1] == shown[2]
    assert begin is None or shown[0] == [("/", 12, 1, 0)]
    db.execute(f"PRAGMA {full}.max_page_count = 100000")
    db.execute(ADD, [1])
    assert [hits(db, f"{name}.page_views") for name in NAMES] == [2, 2, 2]
    db.close()


def test_a_savepoint_from_before_the_failed_write_saves_the_transaction(files):
    db = coordinator(files)
    db.execute("BEGIN")
    db.execute(ADD, [1])
    pages = rows(db, "PRAGMA east.page_count")[0][0]
    db.execute("SAVEPOINT before")
    db.execute(f"PRAGMA east.max_page_count = {pages}")
    with pytest.raises(sqlite3.OperationalError, match="full"):
        for n in range(2000):
            db.execute("INSERT INTO traffic VALUES (?, 1, 1, 1)", ["long" * 100 + str(n)])
    if db.in_transaction:
        db.execute("ROLLBACK TO before")
        db.execute("COMMIT")
    left = [rows(db, f"SELECT * FROM {name}.page_views") for name in NAMES]
    assert left in ([[("/", 12, 1, 0)]] * 3, [[]] * 3)
    db.close()


def forbid(db, schema):
    """Rows of this schema cannot be written; that is found out when the first one is to be."""
    def decide(action, table, _, database, __):
        written = action in (sqlite3.SQLITE_INSERT, sqlite3.SQLITE_UPDATE)
        stops = written and table == "page_views_cells" and database == schema
        return sqlite3.SQLITE_DENY if stops else sqlite3.SQLITE_OK
    db.set_authorizer(decide)


HALFWAY = ("COMMIT: a statement of this transaction failed half-way and could not be undone: the transaction is rolled back")


@journals
def test_a_write_that_fails_in_the_second_replica_spoils_the_transaction(tmp_path, journal):
    files = new_files(tmp_path, NAMES, journal)
    db = coordinator(files, write="ONE")
    db.execute("BEGIN")
    db.execute(ADD, [1])
    forbid(db, "east")
    assert refused(db, ADD, 2) == "traffic: not authorized"
    db.set_authorizer(None)
    assert refused(db, "COMMIT") == HALFWAY
    assert not db.in_transaction
    db.execute(ADD, [4])
    db.close()
    assert everywhere(files, "SELECT hits FROM page_views") == {name: [(4,)] for name in NAMES}


@journals
def test_a_savepoint_before_the_half_written_statement_saves_the_transaction(tmp_path, journal):
    files = new_files(tmp_path, NAMES, journal)
    db = coordinator(files, write="ONE")
    db.execute("BEGIN")
    db.execute(ADD, [1])
    db.execute("SAVEPOINT before")
    forbid(db, "east")
    assert refused(db, ADD, 2) == "traffic: not authorized"
    db.set_authorizer(None)
    db.execute("ROLLBACK TO before")
    db.execute("COMMIT")
    db.close()
    assert everywhere(files, "SELECT hits FROM page_views") == {name: [(1,)] for name in NAMES}


@pytest.mark.parametrize("sql", [
    "UPDATE traffic SET hits = hits + 1", "DELETE FROM traffic",
    "INSERT INTO traffic(traffic, path, hour) VALUES ('reset', '/', 12)",
    "INSERT INTO traffic VALUES ('/', 12, 1, 1), ('/', 13, 1, 1)"])
def test_a_statement_that_fails_in_the_second_replica_leaves_nothing_in_autocommit(files, sql):
    db = coordinator(files, write="ONE")
    db.execute(ADD, [1])
    forbid(db, "east")
    assert refused(db, sql) == "traffic: not authorized"
    db.set_authorizer(None)
    db.execute(ADD, [2])
    db.close()
    assert everywhere(files, SELECT) == {name: [("/", 12, 3, 0)] for name in NAMES}


def test_a_transaction_with_a_half_written_row_over_a_damaged_page_cannot_be_committed(files):
    """The page is not looked at before the row is put there."""
    fill(files)
    spoil_page(files["east"], 999)
    db = coordinator(files, write="ONE")
    db.execute("BEGIN")
    db.execute("UPDATE traffic SET hits = hits + 1 WHERE path = '/3'")
    with pytest.raises(sqlite3.DatabaseError, match="malformed"):
        db.execute("INSERT INTO traffic VALUES ('/new', 1, 1, 1)")
    refused(db, "COMMIT")
    assert not db.in_transaction
    for name in ("main", "west"):
        assert rows(db, f"SELECT sum(hits) FROM {name}.page_views") == [(1000,)]
    db.close()


# ---- reads that go on elsewhere ----

def fill(files, n=1000):
    """The same rows in all files, stored in one order."""
    with contextlib.closing(clusters.open_files(files)) as db:
        db.execute("WITH RECURSIVE i(n) AS (VALUES (0) UNION ALL SELECT n + 1 FROM i WHERE n < ?) "
                   "INSERT INTO page_views SELECT printf('/%d', n / 10), n % 10, 1, n FROM i", [n - 1])
        for name in files:
            if name != "main":
                rows(db, f"SELECT * FROM counter_push('{name}')")


def spoil_cell(path, n):
    with contextlib.closing(connect(path)) as db:
        db.execute("UPDATE page_views_cells SET bytes = x'c101ff' WHERE path = ? AND hour = ?",
                   [f"/{n // 10}", n % 10])


def spoil_page(path, n):
    """The leaf that row n stands in."""
    with contextlib.closing(connect(path)) as db:
        size = rows(db, "PRAGMA page_size")[0][0]
        needle = rows(db, "SELECT bytes FROM page_views_cells WHERE path = ? AND hour = ?",
                      f"/{n // 10}", n % 10)[0][0]
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    with open(path, "r+b") as file:
        content = file.read()
        at = content.index(needle) // size * size
        file.seek(at)
        file.write(b"\xa5" * size)


@pytest.mark.parametrize("spoil", [spoil_cell, spoil_page])
@pytest.mark.parametrize("damaged", NAMES)
@pytest.mark.parametrize("order", ["path, hour", "path DESC, hour DESC"])
def test_a_scan_that_meets_damage_goes_on_in_another_replica(files, spoil, damaged, order):
    fill(files)
    spoil(files[damaged], 500)
    db = coordinator(files, read="QUORUM")
    sql = f"SELECT path, hour, hits, bytes FROM {{}} ORDER BY {order}"
    whole = [name for name in NAMES if name != damaged][0]
    expected = rows(db, sql.format(f"{whole}.page_views"))
    assert len(expected) == 1000
    assert rows(db, sql.format("traffic")) == expected
    db.close()


def test_a_scan_that_meets_damage_everywhere_is_refused(files):
    fill(files)
    spoil_cell(files["main"], 300)
    spoil_cell(files["west"], 700)
    db = coordinator(files, read="QUORUM")
    message = refused(db, "SELECT * FROM traffic")
    assert message.startswith("traffic: read=QUORUM needs 2 of 3 replicas, 1 is available: ")
    assert "main: column bytes of ('/30', 0)" in message
    set_option(db, "read=ONE")
    assert len(rows(db, "SELECT * FROM traffic")) == 1000
    db.close()


# ---- floors ----

def test_a_key_below_a_floor_of_a_contacted_replica_is_hidden_and_refused(files):
    db = coordinator(files, read="QUORUM", write="ALL")
    db.execute("INSERT INTO traffic VALUES ('/', 1, 1, 1), ('/', 2, 2, 2), ('/', 3, 3, 3)")
    db.execute("INSERT INTO east.page_views(page_views, hour) VALUES ('purge below', 3)")
    assert rows(db, "SELECT hour FROM traffic") == [(3,)]
    assert rows(db, "SELECT * FROM traffic WHERE path = '/' AND hour = 2") == []
    with pytest.raises(sqlite3.IntegrityError, match="floor|purge|below"):
        db.execute("INSERT INTO traffic VALUES ('/', 2, 1, 1)")
    assert db.execute("INSERT OR IGNORE INTO traffic VALUES ('/', 2, 1, 1)").rowcount == 0
    assert db.execute("UPDATE traffic SET hits = hits + 1").rowcount == 1
    set_option(db, "read=ONE")
    assert rows(db, "SELECT hour FROM traffic ORDER BY hour") == [(1,), (2,), (3,)]
    db.close()


def test_a_floor_is_raised_in_all_replicas(files):
    db = coordinator(files)
    db.execute("INSERT INTO traffic VALUES ('/', 1, 1, 1), ('/', 2, 2, 2), ('/', 3, 3, 3)")
    db.execute("INSERT INTO traffic(traffic, hour) VALUES ('purge below', 2)")
    for name in NAMES:
        assert rows(db, f"SELECT hour FROM {name}.page_views") == [(2,), (3,)]
        with pytest.raises(sqlite3.IntegrityError):
            db.execute(f"INSERT INTO {name}.page_views VALUES ('/', 1, 1, 1)")
    db.close()


# ---- settings ----

def level(db):
    """3, 5 or 7: which replicas a read has asked for a row that counts 1, 2 and 4 in them."""
    return hits(db)


def test_levels_that_were_set_survive_detach_schema_changes_and_rollback(files):
    count_alone(files, main=1, east=2, west=4)
    db = coordinator(files)
    assert level(db) == 3
    set_option(db, "read=ALL")
    assert level(db) == 7
    db.execute("DETACH west")
    db.execute("ATTACH ? AS west", [files["west"]])
    assert level(db) == 7
    db.execute("CREATE TABLE main.other(x)")
    db.execute("CREATE TABLE temp.other(x)")
    assert level(db) == 7
    db.execute("BEGIN")
    set_option(db, "read=ONE")
    db.execute("CREATE TABLE another(x)")
    db.execute("ROLLBACK")
    assert level(db) == 1
    db.execute("DROP TABLE traffic")
    create(db, NAMES)
    assert level(db) == 3
    db.close()


def test_a_renamed_cluster_keeps_its_levels(files):
    count_alone(files, main=1, east=2, west=4)
    db = coordinator(files)
    set_option(db, "read=ALL")
    db.execute("ALTER TABLE temp.traffic RENAME TO visits")
    assert hits(db, "visits") == 7
    db.close()


@pytest.mark.parametrize("option", ["read = all", "READ=All", " read= ALL "])
def test_a_level_is_set_in_any_case_and_spacing(files, option):
    count_alone(files, main=1, east=2, west=4)
    db = coordinator(files, read="ONE")
    set_option(db, option)
    assert level(db) == 7
    db.close()


@pytest.mark.parametrize("option, message", [
    ("read=ANY", "read=ANY: counters have no such level, because a hint is not a replica"),
    ("write=5", "write=5: unknown level; there are ONE, TWO, THREE, QUORUM, ALL, LOCAL_ONE, LOCAL_QUORUM "
     "and EACH_QUORUM"),
    ("read_repair=yes", "read_repair must be blocking or none, not yes"),
    ("replicas=main", "unknown command TEXT 'replicas=main'; the commands are 'read=', 'write=', 'read_repair=', "
     "'integrity-check'; these delete counts: 'purge below', 'reset', 'reset <counter>', 'delete <counter>'"),
])
def test_a_setting_that_does_not_exist_is_refused_and_changes_nothing(files, option, message):
    count_alone(files, main=1, east=2, west=4)
    db = coordinator(files, read="ALL")
    assert refused(db, "INSERT INTO traffic(traffic) VALUES (?)", option) == f"traffic: {message}"
    assert level(db) == 7
    db.close()


def test_a_setting_takes_no_values(files):
    db = coordinator(files)
    sql = "INSERT INTO traffic(traffic, path) VALUES ('read=ONE', '/')"
    assert refused(db, sql) == "traffic: read=ONE takes no value for column path"
    db.close()


def test_settings_of_one_connection_are_not_those_of_another(files):
    count_alone(files, main=1, east=2, west=4)
    one, other = coordinator(files), coordinator(files)
    set_option(one, "read=ALL")
    assert (level(one), level(other)) == (7, 3)
    one.close()
    other.close()


# ---- status ----

STATUS = "SELECT * FROM counter_cluster_status('traffic')"


def test_status_tells_who_the_replicas_are_and_how_they_stand(tmp_path):
    files = {name: clusters.new_file(tmp_path / f"{name}.db", name=f"dc{n}:{name}")
             for n, name in enumerate(NAMES)}
    db = coordinator(files)
    db.execute("INSERT INTO traffic VALUES ('/', 1, 1, 1), ('/', 2, 2, 2)")
    db.execute("INSERT INTO west.page_views VALUES ('/', 2, 1, 1), ('/', 3, 1, 1)")
    found = rows(db, STATUS)
    assert [row[0] for row in found] == NAMES
    assert [row[1] for row in found] == [rows(db, f"SELECT counter_id('{n}')")[0][0] for n in NAMES]
    assert [row[2:6] for row in found] == [(f"dc{n}", name, 1, None) for n, name in enumerate(NAMES)]
    assert [row[6] for row in found] == [2, 2, 3]
    assert [row[7] for row in found] == [
        rows(db, "SELECT counter_table_digest('page_views', ?)", name)[0][0] for name in NAMES]
    assert [row[8] for row in found] == [0, 0, 2]
    assert not db.in_transaction
    db.close()


def reasons(db):
    return {row[0]: (row[4], row[5]) for row in rows(db, STATUS)}


@journals
def test_status_gives_the_reason_why_a_replica_is_not_available(tmp_path, journal):
    files = new_files(tmp_path, [*NAMES, "north"], journal)
    files["south"] = clusters.new_file(tmp_path / "south.db", journal, table=None)
    db = coordinator(files)
    db.execute("DETACH west")
    with held("IMMEDIATE", [files["east"]]):
        assert reasons(db) == {
            "main": (1, None), "east": (0, "database is locked"), "west": (0, "it is not attached"),
            "north": (1, None), "south": (0, "it has no counter tables")}
    assert reasons(db)["east"] == (1, None)
    db.close()


@pytest.mark.parametrize("how, locked", [
    *(("IMMEDIATE", name) for name in NAMES), ("EXCLUSIVE", "east"), ("EXCLUSIVE", "west")])
def test_status_answers_while_a_replica_is_locked(tmp_path, how, locked):
    files = new_files(tmp_path, NAMES, "DELETE")
    db = coordinator(files)
    db.execute(ADD, [1])
    with held(how, [files[locked]]):
        assert reasons(db) == {name: (0, "database is locked") if name == locked else (1, None)
                               for name in NAMES}
    db.close()


def test_status_of_a_cluster_that_is_not_there_is_refused(files):
    db = coordinator(files)
    assert "nosuch" in refused(db, "SELECT * FROM counter_cluster_status('nosuch')")
    db.close()


def test_status_inside_a_transaction_leaves_it_open(files):
    db = coordinator(files)
    db.execute("BEGIN")
    db.execute(ADD, [1])
    assert len(rows(db, STATUS)) == 3
    db.execute("COMMIT")
    assert hits(db, "west.page_views") == 1
    db.close()
