"""test_sqlite_sync.py - scenarios of sqlite-sync's merge tests, said anew in the SQL of this library.

They follow sqliteai/sqlite-sync: test/unit.c (do_test_merge and its successors, _alter, _prikey, _gos, _fill_initial_data,
_network_encode_decode, _double_init, _error_cases) and test/postgresql (04_colversion_skew.sql to 16_composite_pk...,
41_corrupted_payload.sql to 46_schema_hash_mismatch.sql, 50_block_lww..., 52_payload_chunks.sql, 56_many_columns.sql,
62_deep_savepoints.sql). A payload of theirs is the lines of a file here. What they assert of their encodings, their
algorithms by name, their network and the policies of PostgreSQL has no counterpart.
"""

import json
import random
import sqlite3

import pytest

from peers import SEED, Peer, agree, differs, later, meet

NAME, LAST = '''"customers ' and "" "''', '''"last name ' and "" "'''
KEYS = f"first TEXT NOT NULL, {LAST} TEXT NOT NULL"
CUSTOMERS = (f"CREATE TABLE {NAME}({KEYS}, age INTEGER, note TEXT, stamp TEXT, PRIMARY KEY (first, {LAST}))",
             """SELECT counter_replicate('customers '' and " ')""")
NO_COLUMNS = (f'CREATE TABLE "customers nocols"({KEYS}, PRIMARY KEY (first, {LAST}))', "SELECT counter_replicate('customers nocols')")
SMOKE = ("CREATE TABLE smoke(id TEXT PRIMARY KEY, val TEXT)", "SELECT counter_replicate('smoke')")


def customers_agree(*every):
    shown = [peer.run(f"SELECT * FROM {NAME} ORDER BY 1, 2") for peer in every]
    assert all(rows == shown[0] for rows in shown)
    return shown[0]


def insert(peer, n, table=NAME, filled=True):
    for i in range(1, n + 1):
        values = f", {i}, 'note{i}', 'stamp{i}'" if filled else ""
        peer.run(f"INSERT OR IGNORE INTO {table} VALUES ('name{i}', 'surname{i}'{values})")


def by_lines(*every, rounds=2):
    for _ in range(rounds):
        for to in every:
            for of in every:
                if to is not of: to.take(of.lines())


# ---- unit.c ----

@pytest.mark.parametrize("way", [meet, by_lines])
def test_merge_of_three_files_that_inserted_updated_and_deleted_apart(peers, way):
    every = peers(3, *CUSTOMERS)
    for i, peer in enumerate(every):
        insert(peer, 9)
        if i == 0: peer.run(f"UPDATE {NAME} SET age = age + 40, note = 'updated' WHERE age % 2 = 0")
        if i < 2: peer.run(f"DELETE FROM {NAME} WHERE age BETWEEN 4 AND 6")
    way(*every)
    assert len(customers_agree(*every)) == 6


def random_changes(chance, peer, table, filled):
    for _ in range(6):
        keys = peer.run(f"SELECT first, {LAST} FROM {table}")
        if not keys: return
        key, where = chance.choice(keys), f"first = ? AND {LAST} = ?"
        kind = chance.choice(["value", "key", "delete"] if filled else ["key", "delete"])
        if kind == "value": peer.run(f"UPDATE {table} SET age = ?, note = ? WHERE {where}", chance.randint(1, 99), "changed", *key)
        if kind == "key": peer.run(f"UPDATE OR REPLACE {table} SET first = ? WHERE {where}", f"name{chance.randint(1, 20)}", *key)
        if kind == "delete": peer.run(f"DELETE FROM {table} WHERE {where}", *key)


@pytest.mark.parametrize("table, schema, filled", [(NAME, CUSTOMERS, True), ('"customers nocols"', NO_COLUMNS, False)])
@pytest.mark.parametrize("way", [meet, by_lines])
def test_merge_2_and_3_some_files_merge_before_others_whose_keys_change(peers, table, schema, filled, way):
    chance = random.Random(f"{SEED} {filled}")
    every = peers(3, *schema)
    for peer in every[:-1]:
        insert(peer, 9, table, filled)
        random_changes(chance, peer, table, filled)
    way(*every[:-1], rounds=1)
    insert(every[-1], 9, table, filled)
    for peer in every: random_changes(chance, peer, table, filled)
    way(*every)
    shown = [peer.run(f"SELECT * FROM {table} ORDER BY 1, 2") for peer in every]
    assert shown[0] == shown[1] == shown[2]


@differs
def test_merge_4_of_columns_written_equally_often_the_later_write_wins(peers):
    """Theirs takes the greater value of each column, and makes a row that nobody wrote."""
    one, two = peers(2, *CUSTOMERS)
    for i, peer in enumerate((one, two)):
        insert(peer, 1)
        later()
        peer.run(f"UPDATE {NAME} SET age = {i + 2}, note = 'note{i + 2}', stamp = 'stamp{9 - i}'")
        later()
    meet(one, two)
    assert customers_agree(one, two) == [("name1", "surname1", 3, "note3", "stamp8")]


def test_merge_5_a_row_whose_key_changes_takes_merged_values_along(peers):
    """Theirs does so only if more than the local changes are sent."""
    one, two = peers(2, *CUSTOMERS)
    for peer in one, two: insert(peer, 1)
    later()
    one.run(f"UPDATE {NAME} SET age = 99")
    two.take(one.lines(0, own=1))
    two.run(f"UPDATE {NAME} SET first = 'name99'")
    one.take(two.lines(0, own=1))
    assert customers_agree(one, two) == [("name99", "surname1", 99, "note1", "stamp1")]


def test_merge_alter_schema_1_a_file_in_which_a_table_is_not_replicated_takes_nothing_until_it_is(peers):
    one, two = peers(2, *CUSTOMERS, NO_COLUMNS[0])
    one.run(NO_COLUMNS[1])
    insert(one, 3)
    insert(one, 3, '"customers nocols"', False)
    with pytest.raises(sqlite3.OperationalError, match="call counter_replicate\\('customers nocols'"):
        two.pull(one)
    assert two.run(f"SELECT * FROM {NAME}") == []
    two.run(NO_COLUMNS[1])
    two.pull(one)
    assert len(customers_agree(one, two)) == 3 and len(two.run('SELECT * FROM "customers nocols"')) == 3


@differs
def test_merge_alter_schema_2_rows_go_on_without_a_column_that_one_file_lacks(peers):
    """Theirs refuses the payload of the newer schema."""
    one, two = peers(2, *SMOKE)
    one.run("INSERT INTO smoke VALUES ('a', 'first')")
    one.run("ALTER TABLE smoke ADD COLUMN more TEXT DEFAULT 'none'")
    one.run("SELECT counter_replicate('smoke')")
    one.run("UPDATE smoke SET more = 'some'")
    two.pull(one)
    two.run("INSERT INTO smoke VALUES ('b', 'second')")
    one.pull(two)
    assert two.run("SELECT * FROM smoke ORDER BY 1") == [("a", "first"), ("b", "second")]
    two.run("ALTER TABLE smoke ADD COLUMN more TEXT DEFAULT 'none'")
    two.run("SELECT counter_replicate('smoke')")
    meet(one, two)
    assert agree(one, two, table="smoke") == [("a", "first", "some"), ("b", "second", "none")]


def test_prikey_an_integer_key_that_changes(peers):
    one, two = peers(2, "CREATE TABLE foo(a INTEGER PRIMARY KEY NOT NULL, b INTEGER)", "SELECT counter_replicate('foo', 'keys=assigned')")
    one.run("INSERT INTO foo VALUES (1, 2)")
    two.pull(one)
    two.run("UPDATE foo SET a = 666 WHERE a = 1")
    one.take(two.lines(0, own=1))
    assert agree(one, two, table="foo") == [(666, 2)]


def test_double_init_loading_and_replicating_again_changes_nothing(peers):
    [peer] = peers(1, *SMOKE)
    peer.run("INSERT INTO smoke VALUES ('a', 'x')")
    before = peer.parts()
    peer.db.close()
    peer.db = Peer(peer.path).db
    assert peer.run("SELECT counter_replicate('smoke')") == peer.run("SELECT counter_replicate('smoke')") == [(0,)]
    assert peer.parts() == before


def test_gos_a_log_grows_by_the_entries_of_six_files(peers):
    every = peers(6, "CREATE TABLE log(id TEXT PRIMARY KEY NOT NULL DEFAULT (lower(hex(randomblob(16)))), entry TEXT, at INTEGER,"
                     " stamp TEXT DEFAULT CURRENT_TIMESTAMP)", "SELECT counter_replicate('log')")
    for i, peer in enumerate(every):
        for j in range(10): peer.run("INSERT INTO log(entry, at) VALUES (?, ?)", f"entry {j} of {i}", 100 * i + j)
    meet(*every, rounds=1)
    assert len(agree(*every, table="log")) == 60


def test_network_encode_decode_payloads_of_two_tables(peers):
    one, two = peers(2, *CUSTOMERS, *NO_COLUMNS)
    for peer in one, two:
        insert(peer, 9)
        insert(peer, 9, '"customers nocols"', False)
    two.take(one.lines(0, own=1))
    one.take(two.lines(0, own=1))
    assert len(customers_agree(one, two)) == 9
    assert one.run('SELECT * FROM "customers nocols"') == two.run('SELECT * FROM "customers nocols"')


def test_fill_initial_data_rows_from_before_the_call_merge_where_they_are_equal(peers):
    every = peers(3, CUSTOMERS[0])
    for i, peer in enumerate(every):
        insert(peer, i)
        peer.run(CUSTOMERS[1])
    meet(*every)
    assert len(customers_agree(*every)) == 2


@differs
def test_fill_initial_data_rows_that_differ_are_asked_about(peers):
    """Theirs takes the greater value of each column."""
    one, two = peers(2, SMOKE[0])
    for peer, value in (one, "of one"), (two, "of two"):
        peer.run("INSERT INTO smoke VALUES ('id', ?)", value)
        peer.run(SMOKE[1])
    with pytest.raises(sqlite3.OperationalError, match="'values=newest'"):
        two.pull(one)
    two.run("SELECT counter_replicate('smoke', 'values=oldest')")
    meet(one, two)
    assert agree(one, two, table="smoke") == [("id", "of one")]


ALTERS = {
    "add_and_drop_columns": [f"ALTER TABLE {NAME} ADD COLUMN added TEXT DEFAULT 'new'",
                             """SELECT counter_replicate('customers '' and " ')""",
                             """SELECT counter_untrack('customers '' and " ', 'stamp')""", f"ALTER TABLE {NAME} DROP COLUMN stamp"],
    "rename_a_column": [f"ALTER TABLE {NAME} RENAME COLUMN note TO remark"],
    "build_the_table_anew": ["BEGIN", f"CREATE TABLE new(name TEXT NOT NULL, {LAST} TEXT NOT NULL, age INTEGER, note TEXT, stamp TEXT,"
                             f" first, PRIMARY KEY (name, {LAST}))",
                             f"INSERT INTO new SELECT first, {LAST}, age, note, stamp, first FROM {NAME}",
                             f"DROP TABLE {NAME}", f"ALTER TABLE new RENAME TO {NAME}",
                             """SELECT counter_replicate('customers '' and " ', 'keys=changed')""", "COMMIT",
                             """SELECT counter_untrack('customers '' and " ', 'first')""", f"ALTER TABLE {NAME} DROP COLUMN first"],
}


@pytest.mark.parametrize("name", ALTERS)
def test_alter_files_that_were_altered_before_their_first_merge(peers, name):
    every = peers(3, CUSTOMERS[0])
    for i, peer in enumerate(every):
        insert(peer, i)
        peer.run(CUSTOMERS[1])
        for sql in ALTERS[name]: peer.run(sql)
    meet(*every)
    assert len(customers_agree(*every)) == 2


def test_error_cases_are_refused(peers):
    [peer] = peers(1, *SMOKE)
    for call in "'missing_table'", "'smoke', 'missing_option=1'", "'smoke', 'missing_column'", "'sqlite_schema'":
        with pytest.raises(sqlite3.Error):
            peer.run(f"SELECT counter_replicate({call})")
    peer.run("INSERT INTO smoke VALUES ('a', 'x')")
    assert peer.lives() == {'["a"]': 1}


# ---- postgresql/ ----

def test_04_colversion_skew_files_that_wrote_two_one_and_three_times_agree(peers):
    a, b, c = every = peers(3, *SMOKE)
    a.run("INSERT INTO smoke VALUES ('id1', 'seed')")
    by_lines(*every)
    for peer, name, n in (a, "a", 2), (b, "b", 1), (c, "c", 3):
        for i in range(n): peer.run(f"UPDATE smoke SET val = '{name}{i}'")
        later()
    by_lines(*every, rounds=1)
    assert agree(*every, table="smoke") == [("id1", "c2")]


def test_05_delete_recreate_cycle(peers):
    a, b, c = every = peers(3, *SMOKE)
    for peer, sql in ((a, "INSERT INTO smoke VALUES ('id1', 'seed')"), (b, "DELETE FROM smoke"),
                      (c, "INSERT INTO smoke VALUES ('id1', 'again')"), (a, "DELETE FROM smoke"),
                      (b, "INSERT INTO smoke VALUES ('id1', 'third')")):
        peer.run(sql)
        by_lines(*every, rounds=1)
    assert agree(*every, table="smoke") == [("id1", "third")] and a.lives() == {'["id1"]': 5}


def test_06_out_of_order_delivery(peers):
    every = peers(3, *SMOKE)
    every[0].run("INSERT INTO smoke VALUES ('id1', 'seed')")
    by_lines(*every)
    sent = {}
    for turn in 2, 3:
        for name, peer in zip("abc", every):
            peer.run(f"UPDATE smoke SET val = '{name}{turn}'")
            sent[name, turn] = peer.lines()
    for name, peer in zip("abc", every):
        for turn in (3, 2) if name == "c" else (2, 3):
            for other in "abc":
                if other != name: peer.take(sent[other, turn])
    agree(*every, table="smoke")


def test_07_delete_vs_update(peers):
    every = a, b, c = peers(3, *SMOKE)
    a.run("INSERT INTO smoke VALUES ('id1', 'seed')")
    by_lines(*every)
    a.run("DELETE FROM smoke")
    later()
    b.run("UPDATE smoke SET val = 'updated'")
    by_lines(*every)
    assert agree(*every, table="smoke") == []


def test_08_resurrect_delayed_delete(peers):
    every = a, b, c = peers(3, *SMOKE)
    a.run("INSERT INTO smoke VALUES ('id1', 'seed')")
    by_lines(*every)
    a.run("DELETE FROM smoke")
    delayed = a.lines()
    b.run("INSERT INTO smoke VALUES ('id1', 'again') ON CONFLICT DO UPDATE SET val = excluded.val")
    a.take(b.lines())
    c.take(b.lines())
    for peer in b, c: peer.take(delayed)
    assert agree(*every, table="smoke") == []


def test_09_multicol_concurrent_edits(peers):
    every = peers(3, "CREATE TABLE t(id TEXT PRIMARY KEY, x TEXT, y TEXT, z TEXT)", "SELECT counter_replicate('t')")
    every[0].run("INSERT INTO t VALUES ('id1', 'x', 'y', 'z')")
    by_lines(*every)
    for column, peer in zip("xyz", every): peer.run(f"UPDATE t SET {column} = 'new ' || {column}")
    by_lines(*every, rounds=1)
    assert agree(*every, table="t") == [("id1", "new x", "new y", "new z")]


def test_10_empty_payload_noop(peers):
    every = a, b, c = peers(3, *SMOKE)
    assert json.loads(b.lines())["changes"] == []
    for payload in b.lines(), "": assert json.loads(a.one("SELECT counter_take(?)", payload))["changes"] == 0
    a.run("INSERT INTO smoke VALUES ('id1', 'seed')")
    by_lines(*every)
    for peer in every:
        for other in every:
            if peer is not other: assert other.lines(peer.one("SELECT counter_mark(?)", other.one("SELECT counter_source()"))) == ""


def test_11_multi_table_rounds(peers):
    schema = [sql for name in "pqr" for sql in (f"CREATE TABLE {name}(id TEXT PRIMARY KEY, n INTEGER NOT NULL DEFAULT 0, val TEXT)",
                                                f"SELECT counter_replicate('{name}', 'n')")]
    every = peers(3, *schema)
    for turn in range(4):
        for i, peer in enumerate(every):
            peer.transaction(*(f"INSERT INTO {name} VALUES ('{turn % 2}', 1, '{i}{turn}')"
                               " ON CONFLICT DO UPDATE SET n = n + 1, val = excluded.val" for name in "pqr"))
        for i, peer in enumerate(every): peer.take_new(every[i - 1])
    by_lines(*every)
    for name in "pqr": assert [n for _, n, _ in agree(*every, table=name)] == [6, 6]


VALUES = [None, 0, -1, 2**63 - 1, -2**63, 0.1, -1e300, 5e-324, "", "text", "ß☃🚀", "a\0b", "1", b"", b"\0\xff", b"x" * 5000]


def test_14_datatype_roundtrip(peers):
    one, two = peers(2, "CREATE TABLE t(id INTEGER PRIMARY KEY, v)", "SELECT counter_replicate('t', 'keys=assigned')")
    for i, value in enumerate(VALUES): one.run("INSERT INTO t VALUES (?, ?)", i, value)
    two.take(one.lines())
    shown = two.run("SELECT id, typeof(v), v FROM t ORDER BY id")
    assert shown == one.run("SELECT id, typeof(v), v FROM t ORDER BY id") and len(shown) == len(VALUES)


def test_16_and_44_composite_keys_of_all_types(peers):
    names = [f"k{i}" for i in range(len(VALUES) - 1)]
    columns = ", ".join(f"{name} NOT NULL" for name in names)
    one, two = peers(2, f"CREATE TABLE t({columns}, v, PRIMARY KEY ({', '.join(names)}))", "SELECT counter_replicate('t')")
    for turn in range(3):
        values = VALUES[1:][turn:] + VALUES[1:][:turn]
        one.run(f"INSERT INTO t VALUES ({', '.join('?' * len(values))}, ?)", *values, turn)
    two.take(one.lines())
    one.run("DELETE FROM t WHERE v = 1")
    two.take(one.lines())
    assert sorted(two.run("SELECT * FROM t"), key=repr) == sorted(one.run("SELECT * FROM t"), key=repr)
    assert len(two.run("SELECT * FROM t")) == 2


@pytest.mark.parametrize("broken", ["garbage", "blob", "truncated", "flipped"])
def test_41_corrupted_payload_changes_nothing(peers, broken):
    one, two = peers(2, *SMOKE)
    one.run("INSERT INTO smoke VALUES ('id1', 'one'), ('id2', 'two')")
    valid = one.lines()
    at = valid.index('"change":"') + 12
    payload = {"garbage": "deadbeefcafebabe", "blob": b"\xde\xad\xbe\xef", "truncated": valid[:-9],
               "flipped": valid[:at] + "ff" + valid[at + 2:]}[broken]
    with pytest.raises(sqlite3.Error):
        two.take(payload)
    assert two.run("SELECT * FROM smoke") == [] and two.parts() == []
    two.take(valid)
    assert agree(one, two, table="smoke") == [("id1", "one"), ("id2", "two")]


@differs
def test_41_a_flipped_letter_of_a_value_is_another_value(peers):
    """Theirs refuses it; a line has no digest, the files of a folder have."""
    one, two = peers(2, *SMOKE)
    one.run("INSERT INTO smoke VALUES ('id1', 'one')")
    two.take(one.lines().replace(b"one".hex(), b"ons".hex()))
    assert two.run("SELECT * FROM smoke") == [("id1", "ons")]


def test_42_payload_idempotency_counters_too(peers):
    one, two = peers(2, "CREATE TABLE t(id TEXT PRIMARY KEY, val TEXT, n INTEGER NOT NULL DEFAULT 0)", "SELECT counter_replicate('t', 'n')")
    one.run("INSERT INTO t VALUES ('id1', 'hello', 10), ('id2', 'world', 20)")
    two.take(one.lines())
    one.run("UPDATE t SET val = 'updated', n = n + 1 WHERE id = 'id1'")
    two.run("UPDATE t SET n = n + 1 WHERE id = 'id1'")
    for _ in range(3):
        two.take(one.lines())
        assert two.run("SELECT * FROM t ORDER BY id") == [("id1", "updated", 12), ("id2", "world", 20)]


def test_43_delete_resurrect_ordering(peers):
    a, b, c = peers(3, *SMOKE)
    a.run("INSERT INTO smoke VALUES ('row1', 'original')")
    for peer in b, c: peer.take(a.lines())
    a.run("DELETE FROM smoke")
    deleted = a.lines()
    b.take(deleted)
    b.run("INSERT INTO smoke VALUES ('row1', 'by b')")
    c.take(b.lines())
    c.take(deleted)
    a.take(b.lines())
    assert agree(a, b, c, table="smoke") == [("row1", "by b")]


@differs
def test_50_block_lww_one_of_two_edits_of_a_text_stays(peers):
    """Theirs can merge a text by its lines."""
    one, two = peers(2, *SMOKE)
    one.run("INSERT INTO smoke VALUES ('id', 'first' || char(10) || 'last')")
    two.pull(one)
    one.run("UPDATE smoke SET val = replace(val, 'first', 'FIRST')")
    later()
    two.run("UPDATE smoke SET val = replace(val, 'last', 'LAST')")
    meet(one, two)
    assert agree(one, two, table="smoke") == [("id", "first\nLAST")]


def test_52_payload_chunks_lines_of_one_file_arrive_in_any_order(peers):
    one, two = peers(2, *SMOKE)
    one.run("WITH RECURSIVE i(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM i WHERE n < 40)"
            " INSERT INTO smoke SELECT n, hex(zeroblob(40000)) FROM i")
    lines = one.lines().split("\n")
    assert len(lines) > 2
    random.Random(SEED).shuffle(lines)
    for line in lines: two.take(line)
    assert len(agree(one, two, table="smoke")) == 40


def test_56_many_columns(peers):
    names = [f"c{i}" for i in range(300)]
    one, two = peers(2, f"CREATE TABLE t(id TEXT PRIMARY KEY, {', '.join(names)})", "SELECT counter_replicate('t')")
    one.run("INSERT INTO t(id) VALUES ('a')")
    two.pull(one)
    for i, name in enumerate(names): (one, two)[i % 2].run(f"UPDATE t SET {name} = ?", i)
    meet(one, two)
    assert agree(one, two, table="t") == [("a", *range(300))]


def test_62_deep_savepoints_a_merge_is_part_of_the_transaction(peers):
    one, two = peers(2, *SMOKE)
    one.run("INSERT INTO smoke VALUES ('a', 'x')")
    two.run("BEGIN")
    for i in range(20): two.run(f"SAVEPOINT s{i}")
    two.take(one.lines())
    two.run("ROLLBACK TO s10")
    assert two.run("SELECT * FROM smoke") == []
    two.take(one.lines())
    two.run("COMMIT")
    assert agree(one, two, table="smoke") == [("a", "x")]
