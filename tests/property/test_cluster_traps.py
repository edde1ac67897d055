"""test_cluster_traps.py - clusters whose replicas are damaged, doubled, foreign, or change
while they are used: who counts in the end, what is refused, and that nothing is run that
stands in a file.
"""

import contextlib
import os
import pathlib
import shutil
import sqlite3
import subprocess
import sys
import uuid

import pytest

import clusters
from clusters import ADD, TABLE, coordinator, create, hits, new_files, rows, set_option
from files import connect

NAMES = ["main", "east", "west"]
STATUS = "SELECT schema, available, reason FROM counter_cluster_status('traffic')"
STOP = "CREATE TRIGGER east.stop AFTER INSERT ON page_views_cells BEGIN SELECT 1; END"
CHANGED = "it has changed while another statement reads it"
EPOCH = 1 << 32
STRANGER = "11111111-1111-4111-8111-111111111111"


@pytest.fixture
def files(tmp_path):
    return new_files(tmp_path, NAMES)


@pytest.fixture
def named(tmp_path):
    return {name: clusters.new_file(tmp_path / f"{name}.db", name=f"dc1:{name}") for name in NAMES}


def id_of(name):
    return str(uuid.uuid3(uuid.NAMESPACE_DNS, name))


def refused(db, sql, *values):
    """The sentence with which a statement is refused."""
    with pytest.raises(sqlite3.Error) as raised:
        db.execute(sql, values).fetchall()
    return str(raised.value)


def close_for_good(db, files):
    """No statement is left: the files can be detached, and SQLite takes their logs away."""
    db.execute("DROP TABLE traffic")
    for name in files:
        if name != "main":
            db.execute(f"DETACH {name}")
    db.close()
    assert not any(pathlib.Path(path + "-wal").exists() for path in files.values())


def add_rows(db, n=20):
    db.executemany("INSERT INTO traffic VALUES (?, 1, 1, 1)", [[f"/{i:02}"] for i in range(n)])


def who_counted(db, schema="main", hour=12):
    """A dict from replica to what it has counted, as one of them has it stored."""
    ids = {rows(db, "SELECT counter_id(?)", name)[0][0]: name for name in NAMES
           if rows(db, "SELECT 1 FROM pragma_database_list WHERE name = ?", name)}
    found = rows(db, "SELECT s.id, s.value FROM counter_cells('page_views', ?) AS c, counter_shards(c.cell) "
                 "AS s WHERE c.key = ? AND c.column_name = 'hits'", schema, f'["/",{hour}]')
    return {ids.get(one, one): value for one, value in found}


def edit(db, schema, sql, *values):
    """By hand: the cells are complete before, and the connection knows none of them behind."""
    db.execute(f"INSERT INTO {schema}.page_views(page_views) VALUES ('optimize')")
    db.execute(sql.format(schema=schema), values)
    db.execute(f"INSERT INTO {schema}.page_views(page_views) VALUES ('optimize')")


def give_shard(db, schema, one, clock, value):
    """As if a file with that id had counted."""
    edit(db, schema, "UPDATE {schema}.page_views_cells SET hits = counter_merge(hits, "
         "(SELECT counter_collect(?, ?, ?)))", one, clock, value)


def damage(db, schema, hour=12):
    edit(db, schema, "UPDATE {schema}.page_views_cells SET hits = x'00' WHERE hour = ?", hour)


# ---- who leads ----

@pytest.mark.parametrize("journals, leader", [
    (["DELETE", "WAL"], "east"), (["DELETE", "WAL", "DELETE"], "east"),
    (["DELETE", "DELETE", "WAL"], "west"), (["WAL", "DELETE", "WAL"], "main"),
    (["WAL", "WAL", "WAL"], "main"), (["DELETE", "DELETE", "DELETE"], "main")])
def test_the_leader_is_the_replica_whose_file_commits_first(tmp_path, journals, leader):
    files = {name: clusters.new_file(tmp_path / f"{name}.db", journal)
             for name, journal in zip(NAMES, journals)}
    db = coordinator(files)
    db.execute(ADD, [1])
    assert [who_counted(db, name) for name in files] == [{leader: 1}] * len(files)
    db.close()


@pytest.mark.parametrize("begin", ["BEGIN", None])
def test_a_retired_replica_gets_nothing_of_what_another_leads(named, begin):
    db = coordinator(named)
    rows(db, "SELECT counter_retire('main')")
    if begin:
        db.execute(begin)
        db.execute(ADD, [1])
        db.execute("INSERT INTO traffic VALUES ('/', 13, 1, 0)")
        db.execute("COMMIT")
    else:
        db.execute("INSERT INTO traffic VALUES ('/', 12, 1, 0), ('/', 13, 1, 0)")
    assert rows(db, "SELECT * FROM main.page_views") == []
    assert who_counted(db, "west") == who_counted(db, "west", 13) == {"east": 1}
    db.close()


@pytest.mark.parametrize("begin", ["BEGIN", None])
def test_a_replica_with_a_damaged_row_gets_nothing_of_later_rows(files, begin):
    db = coordinator(files)
    db.execute("INSERT INTO traffic VALUES ('/', 12, 1, 0), ('/', 13, 1, 0)")
    damage(db, "main", 13)
    if begin:
        db.execute(begin)
        db.execute("INSERT INTO traffic VALUES ('/', 13, 1, 0)")
        db.execute(ADD, [1])
        db.execute("COMMIT")
    else:
        db.execute("INSERT INTO traffic VALUES ('/', 13, 1, 0), ('/', 12, 1, 0)")
    db.execute("INSERT INTO main.page_views(page_views) VALUES ('optimize')")
    assert rows(db, "SELECT s.id = counter_id(), s.value FROM main.page_views_cells AS c, counter_shards(c.hits) AS s "
                "WHERE c.hour = 12") == [(1, 1)]
    assert who_counted(db, "west") == {"main": 1, "east": 1}
    db.close()


@pytest.mark.parametrize("meanwhile", [f"SELECT counter_lost('{STRANGER}', 'east')",
                                       "DROP TABLE east.other"])
def test_what_a_replica_has_counted_in_this_transaction_is_not_hidden_by_other_statements(files,
                                                                                         meanwhile):
    db = coordinator(files)
    db.execute("CREATE VIRTUAL TABLE east.other USING counter(path TEXT PRIMARY KEY, hits COUNTER)")
    db.execute("BEGIN")
    db.execute("INSERT INTO east.page_views VALUES ('/', 12, 5, 0)")
    rows(db, meanwhile)
    assert "east has counted in this transaction" in refused(db, ADD, 1)
    db.execute("ROLLBACK")
    assert [hits(db, f"{name}.page_views") for name in NAMES] == [None] * 3
    db.close()


def test_a_named_leader_that_finds_a_twin_makes_way_within_the_statement(named):
    db = coordinator(named)
    db.execute(ADD, [1])
    main = id_of("dc1:main")
    for name in NAMES[1:]:
        give_shard(db, name, main, 2, 6)
    db.execute(ADD, [1])
    db.execute(ADD, [1])
    assert who_counted(db, "west") == {"main": 6, "east": 2}
    assert rows(db, "SELECT id, clock, value, their_clock, their_value, why FROM counter_conflicts") == [
        (main, 1, 1, 2, 6, "own")]
    assert rows(db, STATUS) == [("main", 1, "conflict"), ("east", 1, None), ("west", 1, None)]
    db.close()


# ---- ids and clocks ----

def test_repair_that_brings_shards_of_its_own_id_gives_main_a_new_one(files):
    db = coordinator(files, read="ALL", read_repair="blocking")
    db.execute(ADD, [1])
    before = rows(db, "SELECT counter_id()")[0][0]
    give_shard(db, "east", before, 2, 6)
    assert hits(db) == 6
    assert rows(db, "SELECT id, why FROM counter_conflicts") == [(before, "own")]
    assert rows(db, "SELECT counter_id()")[0][0] != before
    db.execute("INSERT INTO main.page_views VALUES ('/', 12, 1, 0)")
    assert who_counted(db) == {before: 6, "main": 1}
    db.close()


def test_what_a_repair_has_found_is_forgotten_when_it_is_rolled_back(named):
    db = coordinator(named, read="ALL", read_repair="blocking")
    db.execute(ADD, [1])
    give_shard(db, "east", id_of("dc1:main"), 3 * EPOCH + 1, 500)
    db.execute("BEGIN")
    assert hits(db) == 500
    db.execute("ROLLBACK")
    edit(db, "east", "DELETE FROM {schema}.page_views_cells")
    db.execute("INSERT INTO traffic VALUES ('/', 13, 1, 0)")
    assert who_counted(db, "west", 13) == {"main": 1}
    assert rows(db, "SELECT refuses FROM counter_replica") == [(None,)]
    db.close()


def test_clocks_that_reach_the_next_epoch_stop_nobody_who_was_not_replaced(named):
    db = coordinator(named, write="ALL")
    db.execute(ADD, [1])
    for name in NAMES:
        give_shard(db, name, id_of("dc1:main"), EPOCH - 1, 5)
    for _ in range(2):
        db.execute(ADD, [1])
    give_shard(db, "main", STRANGER, 3, 5)
    give_shard(db, "east", STRANGER, 3, 9)
    db.execute(ADD, [1])
    db.execute("INSERT INTO main.page_views VALUES ('/', 12, 1, 0)")
    rows(db, "SELECT * FROM counter_pull('east')")
    db.execute(ADD, [1])
    assert who_counted(db)["main"] == 10
    db.close()


def test_a_file_of_the_last_epoch_counts_and_pulls(named):
    db = coordinator(named)
    db.execute(ADD, [1])
    db.execute("UPDATE counter_replica SET epoch = ?", [2**30 - 1])
    rows(db, "SELECT * FROM counter_pull('east')")
    db.execute(ADD, [1])
    assert who_counted(db, "west") == {"main": 2}
    db.close()


# ---- damage ----

def allow_null_paths(path):
    with contextlib.closing(connect(path)) as db:
        db.execute("PRAGMA writable_schema = ON")
        db.execute("UPDATE sqlite_schema SET sql = replace(sql, '\"path\" TEXT COLLATE \"BINARY\" NOT NULL', "
                   "'\"path\" TEXT COLLATE \"BINARY\"') WHERE name = 'page_views_cells'")
        assert db.execute("SELECT changes()").fetchone() == (1,)


def add_null_row(path):
    with contextlib.closing(connect(path)) as db:
        db.execute("INSERT INTO page_views_cells(_id, path, hour, hits) "
                   "VALUES (99, NULL, 12, counter_inc(NULL, 1000, ?))", [STRANGER])


@pytest.fixture
def null_in_east(files):
    with contextlib.closing(coordinator(files)) as db:
        add_rows(db, 3)
    allow_null_paths(files["east"])
    add_null_row(files["east"])
    return files


def test_a_key_that_is_null_is_damage_and_repair_merges_it_with_no_row(null_in_east):
    db = coordinator(null_in_east, read="ALL", read_repair="blocking")
    assert refused(db, "SELECT * FROM traffic ORDER BY path, hour").endswith(
        "2 are available: east: key column path is NULL in row 99")
    assert [rows(db, f"SELECT sum(hits) FROM {name}.page_views") for name in ("main", "west")] == [[(3,)]] * 2
    db.execute("INSERT INTO east.page_views(page_views) VALUES ('optimize')")
    assert rows(db, "SELECT count(*), sum(counter_value(hits)) FROM east.page_views_cells") == [(4, 1003)]
    db.close()


def test_a_read_goes_on_without_the_replica_whose_key_is_null(null_in_east):
    db = coordinator(null_in_east, read="QUORUM", read_repair="blocking")
    assert rows(db, "SELECT path, hits FROM traffic ORDER BY path, hour") == [
        ("/00", 1), ("/01", 1), ("/02", 1)]
    db.close()


@pytest.mark.parametrize("damaged", NAMES[:2])
@pytest.mark.parametrize("one", [-7, 2**63 - 1])
def test_a_row_id_that_no_cursor_could_name_is_damage(files, damaged, one):
    db = coordinator(files)
    db.execute(ADD, [1])
    edit(db, damaged, "UPDATE {schema}.page_views_cells SET _id = ?", one)
    assert rows(db, "SELECT rowid > 0, hits FROM traffic") == [(1, 1)]
    assert db.execute("UPDATE traffic SET hits = hits + 1").rowcount == 1
    assert hits(db, "west.page_views") == 2
    set_option(db, "read=ALL")
    assert f"{damaged}: a row has the id {one}" in refused(db, "SELECT * FROM traffic")
    db.close()


def test_a_damaged_cell_in_one_replica_stops_no_read_no_count_and_no_status(files):
    db = coordinator(files)
    db.execute("INSERT INTO traffic VALUES ('/', 12, 1, 0), ('/', 13, 1, 0)")
    damage(db, "east")
    assert hits(db) == 1
    db.execute(ADD, [1])
    assert hits(db) == 2
    status = rows(db, "SELECT schema, available, rows, digest IS NULL, different "
                  "FROM counter_cluster_status('traffic')")
    assert status == [("main", 1, 2, 0, 0), ("east", 1, 2, 1, 1), ("west", 1, 2, 0, 0)]
    db.close()


def test_a_damaged_cell_in_two_of_three_replicas_is_told_of_both(files):
    db = coordinator(files)
    db.execute(ADD, [1])
    for name in NAMES[:2]:
        damage(db, name)
    for sql in ("SELECT * FROM traffic", ADD.replace("?", "1"), "UPDATE traffic SET hits = hits + 1",
                "DELETE FROM traffic"):
        message = refused(db, sql)
        assert "QUORUM needs 2 of 3 replicas, 1 is available" in message
        for name in NAMES[:2]:
            assert f"{name}: column hits of ('/', 12): the cell is no counter cell" in message
    db.close()


def test_a_full_disk_in_a_repair_that_ends_the_transaction_is_reported(tmp_path):
    files = new_files(tmp_path, NAMES[:2])
    db = coordinator(files, read="ALL", read_repair="blocking")
    db.executemany("INSERT INTO main.page_views VALUES (?, 1, 1, 1)",
                   [["long" * 50 + str(i)] for i in range(300)])
    pages = rows(db, "PRAGMA east.page_count")[0][0]
    db.execute(f"PRAGMA east.max_page_count = {pages}")
    db.execute("CREATE TABLE main.note(x)")
    db.execute("BEGIN")
    db.execute("INSERT INTO main.note VALUES (1)")
    assert refused(db, "SELECT count(*) FROM traffic") == "traffic: database or disk is full"
    assert not db.in_transaction
    assert rows(db, "SELECT * FROM main.note") == []
    db.close()


# ---- one file, two names ----

def as_itself(path):
    return path


def as_link(path):
    os.symlink(path, path + ".link")
    return path + ".link"


@pytest.mark.parametrize("other_name", [as_itself, as_link])
def test_a_file_attached_under_two_names_is_one_replica(files, other_name):
    db = coordinator(files)
    db.execute(ADD, [1])
    db.execute("DETACH west")
    db.execute("ATTACH ? AS west", [other_name(files["main"])])
    db.execute(ADD, [1])
    assert [hits(db), hits(db, "east.page_views")] == [2, 2]
    db.execute("DETACH east")
    doubled = "1 is available: east: it is not attached; west: it is the same file as main"
    assert refused(db, "SELECT * FROM traffic").endswith(doubled)
    assert refused(db, ADD, 1).endswith(doubled)
    db.close()


# ---- files that change meanwhile ----

CHANGES = {"trigger": (STOP, "DROP TRIGGER east.stop"),
           "catalog": ("UPDATE east.counter_tables SET birth = 'gone'",
                       "UPDATE east.counter_tables SET birth = 'page_views'"),
           "column": ("ALTER TABLE east.page_views_cells ADD COLUMN extra",
                      "ALTER TABLE east.page_views_cells DROP COLUMN extra")}
REASONS = {"trigger": CHANGED, "catalog": CHANGED,
           "column": "the stored table page_views_cells is damaged: a column is neither a BLOB nor "
                     "part of the key: extra"}


@pytest.mark.parametrize("kind", CHANGES)
def test_a_cursor_goes_on_over_a_replica_that_changes_and_others_do_without_it(files, kind):
    change, undo = CHANGES[kind]
    db = coordinator(files)
    add_rows(db)
    set_option(db, "read=ALL")
    cursor = db.execute("SELECT path FROM traffic ORDER BY path, hour")
    assert cursor.fetchone() == ("/00",)
    db.execute(change)
    assert refused(db, "SELECT count(*) FROM traffic").endswith(f"2 are available: east: {REASONS[kind]}")
    set_option(db, "read=QUORUM")
    assert rows(db, "SELECT count(*) FROM traffic") == [(20,)]
    assert len(cursor.fetchall()) == 19
    db.execute(undo)
    set_option(db, "read=ALL")
    assert rows(db, "SELECT count(*) FROM traffic") == [(20,)]
    db.execute(ADD, [1])
    assert hits(db, "east.page_views") == 1
    close_for_good(db, files)


@pytest.mark.parametrize("kind", CHANGES)
def test_a_connection_closes_whose_cursor_stood_in_a_replica_that_changed(files, kind):
    db = coordinator(files, read="ALL")
    add_rows(db)
    cursor = db.execute("SELECT path FROM traffic ORDER BY path, hour")
    cursor.fetchone()
    db.execute(CHANGES[kind][0])
    assert REASONS[kind] in refused(db, "SELECT count(*) FROM traffic")
    cursor.close()
    close_for_good(db, files)


def interrupt_after(db, steps):
    """Stops what runs next after so many steps of SQLite's machine."""
    left = iter(range(steps))
    db.set_progress_handler(lambda: next(left, None) is None, 1)


def test_a_cursor_goes_on_wherever_another_statement_is_interrupted(files):
    db = coordinator(files, read="ALL")
    add_rows(db)
    edit(db, "east", "DELETE FROM {schema}.page_views_cells WHERE path > '/05'")
    counted, steps = None, 0
    while counted is None:
        cursor = db.execute("SELECT path FROM traffic ORDER BY path, hour")
        cursor.fetchone()
        interrupt_after(db, steps)
        with contextlib.suppress(sqlite3.OperationalError):
            counted = rows(db, "SELECT count(*) FROM traffic")
        db.set_progress_handler(None, 0)
        assert len(cursor.fetchall()) == 19
        steps += 1
    assert counted == [(20,)] and steps > 100
    close_for_good(db, files)


def add_rows_beside_main(db):
    """Rows that a cursor names by east, for main has none."""
    for name in NAMES[1:]:
        db.executemany(f"INSERT INTO {name}.page_views VALUES (?, 1, 1, 1)", [[f"/{i}"] for i in range(4)])


def change_at_call(db, number, change):
    """The SQL function changing() does so when it is called for the nth time, and looks at
    the cluster."""
    calls = []

    def changing(_):
        calls.append(1)
        if len(calls) == number:
            db.execute(change)
            with contextlib.suppress(sqlite3.Error):
                rows(db, "SELECT count(*) FROM traffic")
        return 1
    db.create_function("changing", 1, changing)


@pytest.mark.parametrize("sql", ["DELETE FROM traffic WHERE changing(path) = 1",
                                 "UPDATE traffic SET path = path, hits = hits + changing(path)"])
@pytest.mark.parametrize("number", [1, 3])
def test_a_replica_that_goes_away_while_rows_are_written_is_an_error(files, sql, number):
    change, undo = CHANGES["catalog"]
    db = coordinator(files, read="TWO", write="ALL")
    add_rows_beside_main(db)
    change_at_call(db, number, change)
    assert refused(db, sql).endswith(f"2 are available: east: {CHANGED}")
    db.execute(undo)
    set_option(db, "read=ALL")
    assert rows(db, "SELECT count(*), sum(hits) FROM traffic") == [(4, 8)]
    db.execute(ADD, [1])
    close_for_good(db, files)


@pytest.mark.parametrize("sql, left", [
    ("DELETE FROM traffic WHERE changing(path) = 1", (None, 8)),
    ("UPDATE traffic SET path = path, hits = hits + changing(path)", (12, 8))])
def test_a_trigger_made_while_rows_are_written_leaves_all_rows_or_none_changed(files, sql, left):
    db = coordinator(files, read="TWO", write="TWO")
    add_rows_beside_main(db)
    change_at_call(db, 1, STOP)
    with contextlib.suppress(sqlite3.OperationalError):
        db.execute(sql)
    db.execute("DROP TRIGGER IF EXISTS east.stop")
    set_option(db, "read=ALL")
    assert rows(db, "SELECT sum(hits) FROM traffic")[0][0] in left
    close_for_good(db, files)


# ---- foreign files ----

def never_run(db):
    """A function that files must not have run; what it was called with."""
    calls = []

    def evil(*values):
        calls.append(values)
        return values[0] if values else 3
    db.create_function("evil", -1, evil, deterministic=True)
    return calls


def make_names_a_view(db):
    db.execute("DROP TABLE east.counter_sources")
    db.execute("CREATE VIEW east.counter_sources AS SELECT 'dc1:x' AS holder, x'' AS id, evil() AS epoch")
    db.execute("UPDATE east.counter_replica SET names = 5")


def generate_the_id(db):
    names = [row[1] for row in rows(db, "PRAGMA east.table_info(counter_replica)") if row[1] != "id"]
    columns = ", ".join(names)
    db.execute(f"CREATE TEMP TABLE kept AS SELECT id AS id0, {columns} FROM east.counter_replica")
    db.execute("DROP TABLE east.counter_replica")
    db.execute(f"CREATE TABLE east.counter_replica({columns}, id0 BLOB, "
               "id BLOB GENERATED ALWAYS AS (evil(id0)))")
    db.execute(f"INSERT INTO east.counter_replica({columns}, id0) SELECT {columns}, id0 FROM kept")


@pytest.mark.parametrize("spoil, reason", [
    (make_names_a_view, "counter_sources is damaged: it is not an ordinary table but a view"),
    (generate_the_id, "counter_replica is damaged: generated column id")])
def test_of_a_replica_whose_catalog_computes_nothing_is_run_and_the_others_count(files, spoil, reason):
    db = clusters.open_files(files)
    calls = never_run(db)
    spoil(db)
    calls.clear()
    clusters.set_durable(db, NAMES)
    create(db, NAMES)
    db.execute(ADD, [1])
    assert [hits(db), hits(db, "main.page_views"), hits(db, "west.page_views")] == [1, 1, 1]
    set_option(db, "write=ALL")
    assert refused(db, ADD, 1).endswith(f"2 are available: east: {reason}")
    assert rows(db, STATUS)[1] == ("east", 0, reason)
    assert calls == []
    db.close()


def new_pending(path, name):
    db = connect(str(path))
    db.execute("SELECT counter_init(?, 'pending')", [name])
    db.execute(TABLE)
    return db


@pytest.mark.parametrize("attached", [True, False])
def test_a_pending_file_refuses_to_pull_from_a_file_whose_names_are_a_view(tmp_path, attached):
    files = new_files(tmp_path, ["east"])
    with contextlib.closing(clusters.open_files(files)) as db:
        make_names_a_view(db)
    new = new_pending(tmp_path / "new.db", "dc1:rack1")
    calls = never_run(new)
    if attached:
        new.execute("ATTACH ? AS east", [files["east"]])
    assert refused(new, "SELECT * FROM counter_pull(?)", "east" if attached else files["east"]) == (
        "counter_pull: counter_sources is damaged: it is not an ordinary table but a view")
    assert calls == []
    new.close()


WIDE = (f"CREATE TABLE page_views_cells(_id INTEGER PRIMARY KEY, "
        f"{', '.join(f'k{i} TEXT NOT NULL' for i in range(40))}, hits BLOB, "
        f"UNIQUE ({', '.join(f'k{i}' for i in range(40))}))")


def widen_key(path):
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("DELETE FROM counter_journal")
        db.execute("DROP TABLE page_views_cells")
        db.execute(WIDE)


def test_a_foreign_table_whose_key_has_changed_since_the_last_pull_harms_no_pending_file(tmp_path):
    other = clusters.new_file(tmp_path / "other.db")
    new = new_pending(tmp_path / "new.db", "dc1:rack1")
    rows(new, "SELECT * FROM counter_pull(?)", other)
    rows(new, "SELECT counter_lost(?)", id_of("dc1:rack1"))
    rows(new, "SELECT * FROM counter_pull(?)", other)
    new.execute("INSERT INTO page_views VALUES ('/', 12, 1, 0)")
    rows(new, "SELECT * FROM counter_pull(?)", other)
    widen_key(other)
    for value in (2, 3):
        with contextlib.suppress(sqlite3.Error):
            rows(new, "SELECT * FROM counter_pull(?)", other)
        new.execute("INSERT INTO page_views VALUES ('/', 12, 1, 0)")
        assert hits(new, "page_views") == value
    new.close()


def test_a_loss_declared_before_the_first_pull_covers_the_holder_that_is_heard_of_later(tmp_path):
    old = clusters.new_file(tmp_path / "old.db", name="dc1:rack1")
    peer = clusters.new_file(tmp_path / "peer.db", name="dc1:rack2")
    for path, sql in ((old, "INSERT INTO page_views VALUES ('/', 12, 100, 0)"),
                      (peer, f"SELECT * FROM counter_pull('{old}')")):
        with contextlib.closing(connect(path)) as db:
            rows(db, sql)
    new = new_pending(tmp_path / "new.db", "dc1:rack1")
    rows(new, "SELECT counter_lost(?)", id_of("dc1:rack1"))
    rows(new, "SELECT * FROM counter_pull(?)", peer)
    new.execute("INSERT INTO page_views VALUES ('/', 12, 1, 0)")
    assert hits(new, "page_views") == 101
    new.close()


# ---- the table itself ----

def test_a_cluster_that_has_written_is_not_dropped_before_the_transaction_ends(files):
    db = coordinator(files)
    db.execute("BEGIN")
    db.execute(ADD, [1])
    assert "locked" in refused(db, "DROP TABLE traffic")
    db.execute("COMMIT")
    db.execute("DROP TABLE traffic")
    create(db, NAMES)
    assert hits(db) == 1
    with contextlib.closing(connect(files["main"])) as other:
        rows(other, "SELECT counter_fork()")
    db.execute("INSERT INTO main.page_views VALUES ('/', 13, 1, 0)")
    assert who_counted(db, "main", 13) == {"main": 1}
    db.close()


def test_status_tells_that_a_replica_was_retired(named):
    db = coordinator(named, write="ALL")
    db.execute(ADD, [1])
    rows(db, "SELECT counter_retire('main')")
    assert rows(db, STATUS) == [("main", 1, "retired"), ("east", 1, None), ("west", 1, None)]
    assert "main was retired and does not count any more" in refused(db, ADD, 1)
    assert rows(db, STATUS)[0] == ("main", 1, "retired")
    db.close()


def test_a_trigger_made_under_a_cursor_never_runs(files):
    db = coordinator(files, read="ALL", write="ALL")
    add_rows(db)
    db.execute("CREATE TABLE east.log(x)")
    rows(db, "SELECT 1 FROM traffic")
    cursor = db.execute("SELECT path FROM traffic ORDER BY path")
    cursor.fetchone()
    db.execute("CREATE TRIGGER east.stop AFTER UPDATE ON page_views_cells"
               " BEGIN INSERT INTO log VALUES (1); END")
    for _ in range(2):
        assert CHANGED in refused(db, "SELECT count(*) FROM traffic")
    cursor.close()
    assert "has the trigger stop" in refused(db, "UPDATE traffic SET hits = hits + 1")
    assert rows(db, "SELECT count(*) FROM east.log") == [(0,)]
    db.close()


def test_a_column_that_became_an_expression_since_the_last_look_is_not_computed(files):
    db = coordinator(files)
    db.execute(ADD, [1])
    calls = never_run(db)
    generate_the_id(db)
    calls.clear()
    assert hits(db) == 1
    assert (calls, rows(db, STATUS)[1][1]) == ([], 0)
    db.close()


def test_an_update_of_many_rows_counts_where_its_leader_finds_a_twin(files):
    db = coordinator(files, read="TWO", write="ALL")
    add_rows(db, 3)
    before = rows(db, "SELECT counter_id()")[0][0]
    for schema in NAMES[1:]:
        give_shard(db, schema, before, 2, 6)
    db.execute("UPDATE traffic SET hits = hits + 1")
    assert rows(db, "SELECT counter_id()")[0][0] != before
    assert rows(db, "SELECT why FROM counter_conflicts")[0] == ("own",)
    db.close()


def test_status_tells_that_a_replica_is_the_file_of_another(files):
    db = coordinator(files)
    db.execute("DETACH west")
    db.execute("ATTACH ? AS west", [files["main"]])
    assert rows(db, STATUS)[2] == ("west", 0, "it is the same file as main")
    db.close()


# ---- files that go away ----

def all_of(path):
    """A database and what belongs to it."""
    return [each for each in (path, path + "-wal", path + "-shm", path + "-journal")
            if pathlib.Path(each).exists()]


def move_all(path, to):
    for each in all_of(path):
        shutil.move(each, to + each.removeprefix(path))


def lose(path, away):
    """All that is left is a backup, as it was before."""
    with contextlib.closing(connect(path)) as db:
        db.execute("VACUUM INTO ?", [away])
    for each in all_of(path):
        os.remove(each)


@pytest.mark.parametrize("journal", ["WAL", "DELETE"])
@pytest.mark.parametrize("go_away", [move_all, lose])
def test_a_cluster_does_without_a_replica_whose_file_went_away_and_repairs_it_when_it_is_back(
        tmp_path, go_away, journal):
    files = new_files(tmp_path, NAMES, journal)
    away = str(tmp_path / "away.db")
    db = coordinator(files, read="ONE", write="ONE")
    db.execute(ADD, [1])
    go_away(files["west"], away)
    db.execute(ADD, [2])
    db.execute("UPDATE traffic SET hits = hits + 4")
    db.execute("INSERT INTO traffic VALUES ('/', 13, 1, 0)")
    assert hits(db) == hits(db, "main.page_views") == hits(db, "east.page_views") == 7
    gone = (f"the file {files['west']} was moved or replaced while it was open, and "
            "increments would be lost: close it and open it again")
    assert rows(db, STATUS) == [("main", 1, None), ("east", 1, None), ("west", 0, gone)]
    set_option(db, "write=ALL")
    assert refused(db, ADD, 8).endswith(f"2 are available: west: {gone}")
    assert hits(db) == 7

    db.execute("DETACH west")
    move_all(away, files["west"])
    db.execute("ATTACH ? AS west", [files["west"]])
    assert hits(db, "west.page_views") == 1
    set_option(db, "read=ALL")
    set_option(db, "read_repair=blocking")
    assert rows(db, "SELECT hour, hits FROM traffic") == [(12, 7), (13, 1)]
    for name in NAMES:
        assert rows(db, f"SELECT hour, hits FROM {name}.page_views") == [(12, 7), (13, 1)]
    assert rows(db, "SELECT available, reason, different FROM counter_cluster_status('traffic')"
                ) == [(1, None, 0)] * 3
    db.execute(ADD, [8])
    assert [hits(db, f"{name}.page_views") for name in NAMES] == [15] * 3
    db.close()


def test_a_replica_that_comes_within_a_transaction_is_not_written_in_it(tmp_path):
    db = connect(tmp_path / "main.db")
    west = str(tmp_path / "west.db")
    db.execute("ATTACH ? AS west", (west,))
    for schema in ("main", "west"):
        db.execute(f"CREATE VIRTUAL TABLE {schema}.v USING counter(k TEXT PRIMARY KEY, n COUNTER)")
    db.execute("CREATE VIRTUAL TABLE temp.c USING counter_cluster(v, replicas='main west', write=ALL)")
    db.execute("INSERT INTO c VALUES ('x', 1)")
    db.execute("DETACH west")
    db.execute("BEGIN")
    for why in ("it is not attached", "it was not available when the transaction took its locks: COMMIT first"):
        with pytest.raises(sqlite3.Error) as refused:
            db.execute("INSERT INTO c VALUES ('x', 1)")
        assert str(refused.value) == f"c: write=ALL needs 2 of 2 replicas, 1 is available: west: {why}"
        if why == "it is not attached":
            db.execute("ATTACH ? AS west", (west,))
    db.execute("COMMIT")
    db.execute("INSERT INTO c VALUES ('x', 1)")
    assert db.execute("SELECT n FROM main.v UNION ALL SELECT n FROM west.v").fetchall() == [(2,), (2,)]
    db.close()


# ---- a schema that changes elsewhere ----

@pytest.mark.parametrize("names", [["main"], ["east"], NAMES])
def test_a_cluster_goes_on_where_its_tables_were_renamed(files, names):
    db = coordinator(files)
    db.execute(ADD, [1])
    for name in names:
        with contextlib.closing(connect(files[name])) as other:
            other.execute("ALTER TABLE page_views RENAME TO visits")
    db.execute(ADD, [2])
    assert hits(db) == 3
    db.close()
    db = coordinator(files)  # declares the name that they were created with
    db.execute(ADD, [4])
    assert hits(db) == 7
    db.close()


def test_the_present_name_of_a_table_goes_before_the_name_that_another_was_created_with(files):
    for name in files:
        with contextlib.closing(connect(files[name])) as db:
            db.execute("ALTER TABLE page_views RENAME TO visits")
            db.execute("CREATE VIRTUAL TABLE other USING counter(path TEXT, hour INTEGER, hits COUNTER, PRIMARY KEY (path, hour))")
            db.execute("ALTER TABLE other RENAME TO page_views")
    db = clusters.open_files(files)
    create(db, files)
    db.execute("INSERT INTO traffic VALUES ('/', 12, 5)")
    assert rows(db, "SELECT hits FROM main.page_views") == [(5,)]
    assert rows(db, "SELECT * FROM main.visits") == []
    db.close()


# SQLite reads temp anew along with a schema that has changed; freed memory has other contents here.
CREATE_WHILE_OTHERS_CHANGE = """
import sys; sys.path.insert(0, {folder!r})
import clusters
from files import connect
files = {files!r}
db = clusters.open_files(files)
if {within}: db.execute("BEGIN")
db.execute("CREATE TEMP TABLE kept(x)")
db.execute("INSERT INTO kept VALUES (7)")
for name in files:
    db.execute(f"SELECT * FROM {{name}}.sqlite_master").fetchall()
if {within}: db.execute("COMMIT")
for name, path in files.items():
    connect(path).execute("CREATE TABLE more(x)")
    if {within}: db.execute("BEGIN")
    clusters.create(db, files)
    db.execute("INSERT INTO traffic(path, hour, hits) VALUES ('/', 12, 1)")
    connect(path).execute("PRAGMA journal_mode").fetchall()
    if {within}: db.execute("COMMIT")
    connect(path).execute("CREATE TABLE another(x)")
    print(*db.execute("SELECT x, hits FROM kept, traffic").fetchone())
    db.execute("DROP TABLE traffic")
"""


@pytest.mark.parametrize("within", [False, True])
def test_a_cluster_is_created_while_others_change_the_schemas_of_its_replicas(files, within):
    script = CREATE_WHILE_OTHERS_CHANGE.format(folder=str(pathlib.Path(__file__).parent), files=files, within=within)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True,
                          env={**os.environ, "MALLOC_PERTURB_": "165"})
    assert (done.stderr, done.stdout, done.returncode) == ("", "7 1\n7 2\n7 3\n", 0)


def test_a_cluster_whose_creation_was_rolled_back_is_none_while_a_statement_holds_it(files):
    with contextlib.closing(clusters.open_files(files)) as db:
        db.execute("BEGIN")
        clusters.create(db, files)
        held = db.execute("SELECT hits FROM traffic UNION ALL SELECT 1 UNION ALL SELECT 2")
        held.fetchone()
        db.execute("ROLLBACK")
        assert "there is no counter table 'traffic'" in refused(
            db, "SELECT counter_add('traffic', 'hits', 1, '/', 12)")
        assert "no cluster has the name 'traffic'" in refused(db, STATUS)
        held.close()
        assert db.execute("SELECT count(*) FROM page_views").fetchone() == (0,)


@pytest.mark.parametrize("in_transaction", [False, True])
@pytest.mark.parametrize("bounded", NAMES)
def test_an_open_cluster_hears_of_a_bound_that_another_connection_has_set(files, bounded, in_transaction):
    db = coordinator(files)
    db.execute(ADD, (5,))
    other = connect(files[bounded])
    other.execute("SELECT counter_bound('page_views', 'hits')").fetchall()
    other.close()
    if in_transaction:
        db.execute("BEGIN")
    for _ in range(2):
        assert f"{bounded} has a bounded counter, and a cluster counts in no such table" in refused(db, ADD, -9)
    if in_transaction:
        db.execute("COMMIT")
    db.close()
    for path in files.values():
        assert connect(path).execute("SELECT sum(hits) FROM page_views").fetchone() == (5,)
