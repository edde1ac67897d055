"""test_cr_sqlite.py - scenarios of cr-sqlite's correctness tests, said anew in the SQL of this library.

They follow vlcn-io/cr-sqlite: py/correctness/tests (test_cl_merging.py, test_cl_triggers.py, test_schema_modification.py,
test_sync.py, test_sync_prop.py, test_dbversion.py, test_siteid.py, test_sync_bit.py, test_crsql_changes_filters.py) and
core/src (crsqlite.test.c, rows-impacted.test.c); and the user reports of vlcn-io/js (packages/node-tests). Their causal
length is the life of a row here, their db_version the number of a change, their site id the id of a file. What they assert
of their own stored tables (clock tables, sequence numbers, sentinels, ordinals) has no counterpart.

sql/rivals.sql has the rules of merging themselves, statement by statement.
"""

import random
import shutil
import sqlite3

import pytest

from peers import SEED, Peer, agree, differs, later

FOO = ("CREATE TABLE foo(a INTEGER PRIMARY KEY NOT NULL, b)", "SELECT counter_replicate('foo', 'keys=assigned')")
ALL_KEY = ("CREATE TABLE foo(a INTEGER PRIMARY KEY NOT NULL)", "SELECT counter_replicate('foo', 'keys=assigned')")
PAIRS = ("CREATE TABLE foo(a NOT NULL, b NOT NULL, c, PRIMARY KEY (a, b))", "SELECT counter_replicate('foo')")
TODO = ("CREATE TABLE todo(id PRIMARY KEY NOT NULL, name, complete, list)", "SELECT counter_replicate('todo')")
COOK = "INSERT INTO todo VALUES (1, 'cook', 0, 'home')"


@pytest.fixture(params=["file", "lines"])
def left_to_right(request):
    """Their sync_left_to_right: from the file itself, and by lines alone."""
    return (lambda left, right: right.pull(left)) if request.param == "file" else (lambda left, right: right.take(left.lines()))


def do(peer, *statements):
    for sql in statements: peer.run(sql)


# ---- test_cl_merging.py: the longer causal length wins ----

INSERT, DELETE = "INSERT INTO foo VALUES (1, 1)", "DELETE FROM foo"


def test_larger_cl_wins_all(peers, left_to_right):
    one, two = peers(2, *FOO)
    do(one, INSERT, DELETE, INSERT)
    later()
    do(two, INSERT, "UPDATE foo SET b = 3", "UPDATE foo SET b = 4")
    left_to_right(one, two)
    assert two.run("SELECT * FROM foo") == [(1, 1)] and two.lives() == {"[1]": 3}


def test_larger_cl_delete_deletes_all(peers, left_to_right):
    one, two = peers(2, *FOO)
    do(one, INSERT, DELETE)
    later()
    do(two, INSERT, "UPDATE foo SET b = 3", "UPDATE foo SET b = 4")
    left_to_right(one, two)
    assert two.run("SELECT * FROM foo") == [] and two.lives() == {"[1]": 2}
    assert agree(one, two, table="foo") == []


def test_smaller_delete_does_not_delete_larger_cl(peers, left_to_right):
    one, two = peers(2, *FOO)
    do(two, INSERT, DELETE, INSERT)
    do(one, INSERT, DELETE)
    before = two.parts()
    left_to_right(one, two)
    assert two.parts() == before and two.run("SELECT * FROM foo") == [(1, 1)]


def test_equivalent_delete_cls_is_noop(peers):
    one, two = peers(2, *FOO)
    for peer in one, two: do(peer, INSERT, DELETE)
    assert two.pull(one) == 0 and one.pull(two) == 0
    assert agree(one, two, table="foo") == []


def test_smaller_cl_loses_all(peers, left_to_right):
    one, two = peers(2, *FOO)
    do(two, INSERT, DELETE, INSERT)
    do(one, INSERT, "UPDATE foo SET b = 123")
    before = two.parts()
    left_to_right(one, two)
    assert two.parts() == before


def test_pr_299_a_resurrection_arrives_without_the_events_before_it(peers):
    one, two = peers(2, *FOO)
    do(one, INSERT)
    do(two, INSERT, *(f"UPDATE foo SET b = {n}" for n in (2, 3, 4)))
    do(one, DELETE)
    since = one.end()
    do(one, INSERT)
    two.take(one.lines(since))
    assert two.lives() == {"[1]": 3} and agree(one, two, table="foo") == [(1, 1)]
    before = two.parts()
    two.take(one.lines())
    assert two.parts() == before


def test_sync_with_siteid_what_was_merged_keeps_who_wrote_it(peers, left_to_right):
    one, two = peers(2, *FOO)
    for sql in INSERT, "UPDATE foo SET b = 2", DELETE, "INSERT INTO foo VALUES (1, 5)":
        do(one, sql)
        left_to_right(one, two)
        assert two.parts() == one.parts()
        assert {writer for *_, life, _, writer in two.parts() if writer} <= {one.id}


@pytest.mark.parametrize("dead", [False, True])
def test_resurrection_of_live_and_dead_things(peers, left_to_right, dead):
    one, two = peers(2, *FOO)
    do(one, INSERT, DELETE, INSERT)
    do(two, INSERT, *[DELETE] * dead)
    left_to_right(one, two)
    assert two.lives() == {"[1]": 3} and agree(one, two, table="foo") == [(1, 1)]
    before = two.parts()
    left_to_right(one, two)
    assert two.parts() == before


@differs
def test_resurrection_via_sentinel_a_row_never_comes_back_without_its_columns(peers):
    """Theirs sends the new causal length apart from the columns; a change here tells the row whole."""
    one, two = peers(2, *FOO)
    do(one, INSERT, DELETE, "INSERT INTO foo VALUES (1, 7)")
    assert one.run("SELECT count(*) FROM counter_changes(0)") == [(1,)]
    row = one.run("SELECT table_name, key, change, seq, source FROM counter_changes(0)")[0]
    two.run("INSERT INTO counter_changes(table_name, key, change, seq, source) VALUES (?, ?, ?, ?, ?)", *row)
    assert two.run("SELECT * FROM foo") == [(1, 7)]


def test_delete_via_sentinel(peers, left_to_right):
    one, two = peers(2, *FOO)
    do(one, INSERT)
    do(two, INSERT)
    do(one, DELETE)
    left_to_right(one, two)
    assert two.run("SELECT * FROM foo") == [] and two.lives() == {"[1]": 2}


def test_clock_zero_scenario_two_files_hear_of_a_loser_before_and_after_its_resurrection(peers):
    a, b, c, d = peers(4, *FOO)
    do(c, "INSERT INTO foo VALUES (1, 'c')", "UPDATE foo SET b = 'cc'")
    d.take_new(c)
    do(b, "INSERT INTO foo VALUES (1, 'b')")
    d.take_new(b)
    do(a, "INSERT INTO foo VALUES (1, 'a')", DELETE, "INSERT INTO foo VALUES (1, 'again')")
    b.take_new(a)
    c.take_new(b)
    d.take_new(b)
    assert agree(b, c, d, table="foo") == [(1, "again")]


ITEM = ("CREATE TABLE item(id PRIMARY KEY NOT NULL, width INTEGER, height INTEGER, name TEXT, description TEXT, weight)",
        "SELECT counter_replicate('item')")
COLUMNS = ("width", "height", "name", "description", "weight")


def random_value(chance):
    return chance.choice([chance.randint(-2**31, 2**31 - 1), chance.choice(["", "a", "ß", "✿", "☃" * 9]), None,
                          chance.choice([-1.1754943508222875e-38, -1.1754943508222872e-38, 2.0e2])])


def random_step(chance, peer):
    """An INSERT of a new row, an UPDATE or a DELETE of the first one, as in test_sync_prop.py."""
    first = peer.run("SELECT id FROM item ORDER BY id LIMIT 1")
    kind = chance.choice("IUD" if first else "I")
    columns = chance.sample(COLUMNS, chance.randint(1, 5))
    values = [random_value(chance) for _ in columns]
    if kind == "I":
        peer.run(f"INSERT INTO item(id, {', '.join(columns)}) VALUES (?{', ?' * len(columns)})",
                 f"{chance.getrandbits(64):016x}", *values)
    elif kind == "U":
        peer.run(f"UPDATE item SET {', '.join(f'{column} = ?' for column in columns)} WHERE id = ?", *values, first[0][0])
    else:
        peer.run("DELETE FROM item WHERE id = ?", first[0][0])


def random_batches(chance, peer, steps):
    """The lines of each step by themselves."""
    batches = []
    for _ in range(steps):
        since = peer.end()
        random_step(chance, peer)
        batches.append(peer.lines(since))
    chance.shuffle(batches)
    return batches


def test_out_of_order_merge(peers):
    chance = random.Random(f"{SEED} out of order")
    one, two = peers(2, *ITEM)
    for batch in random_batches(chance, one, 80): two.take(batch)
    assert agree(one, two, table="item") == one.run("SELECT * FROM item ORDER BY 1")


def test_out_of_order_merge_bidi(peers):
    chance = random.Random(f"{SEED} both ways")
    one, two = peers(2, *ITEM)
    of_one, of_two = random_batches(chance, one, 60), random_batches(chance, two, 60)
    for batch in of_one: two.take(batch)
    for batch in of_two: one.take(batch)
    agree(one, two, table="item")


def test_ordered_delta_merge_proxy(peers):
    """Two files meet through a third one alone, after each step, and hear only of what is new."""
    chance = random.Random(f"{SEED} proxy")
    a, b, c = peers(3, *ITEM)
    for _ in range(40):
        for first, last in (a, c), (c, a):
            random_step(chance, first)
            b.take_new(first)
            last.take_new(b)
    agree(a, b, c, table="item")


@differs
def test_larger_col_version_same_cl_the_later_write_wins(peers, left_to_right):
    """Theirs counts the writes of a column; here the clock decides."""
    one, two = peers(2, *FOO)
    do(one, INSERT, *(f"UPDATE foo SET b = {n}" for n in (2, 3, 4)))
    later()
    do(two, "INSERT INTO foo VALUES (1, 0)")
    left_to_right(one, two)
    assert two.run("SELECT * FROM foo") == [(1, 0)]
    left_to_right(two, one)
    assert agree(one, two, table="foo") == [(1, 0)]


@differs
def test_larger_col_value_same_cl_and_col_version_the_later_value_wins(peers, left_to_right):
    """Theirs takes the greater value of two of one version."""
    one, two = peers(2, *FOO)
    do(one, "INSERT INTO foo VALUES (1, 4)")
    later()
    do(two, INSERT)
    left_to_right(one, two)
    assert two.run("SELECT * FROM foo") == [(1, 1)]


def test_pko_create(peers, left_to_right):
    one, two = peers(2, *ALL_KEY)
    do(one, "INSERT INTO foo VALUES (1)")
    left_to_right(one, two)
    assert agree(one, two, table="foo") == [(1,)]


def test_pko_delete(peers, left_to_right):
    one, two = peers(2, *ALL_KEY)
    for peer in one, two: do(peer, "INSERT INTO foo VALUES (1)")
    do(one, DELETE)
    left_to_right(one, two)
    assert agree(one, two, table="foo") == []


def test_pko_resurrect(peers, left_to_right):
    one, two = peers(2, *ALL_KEY)
    for peer in one, two: do(peer, "INSERT INTO foo VALUES (1)", DELETE)
    do(one, "INSERT INTO foo VALUES (1)")
    left_to_right(one, two)
    assert two.lives() == {"[1]": 3} and agree(one, two, table="foo") == [(1,)]


def test_discord_report_corrosion_updates_that_overtake_the_insert_are_not_lost(peers):
    a, b, c = peers(3, "CREATE TABLE foo(a PRIMARY KEY NOT NULL, b, c, d, e)", "SELECT counter_replicate('foo')")
    batches = []
    for sql in ("INSERT INTO foo VALUES (1, 'b', 'c', 'd', 'e')", DELETE, "INSERT INTO foo VALUES (1, 'b1', 'c1', 'd1', 'e1')",
                "UPDATE foo SET b = 'b2', c = 'c2'"):
        since = c.end()
        do(c, sql)
        batches.append(c.lines(since))
    for n in 0, 1, 3, 2: a.take(batches[n])
    for n in 0, 1, 2, 3: b.take(batches[n])
    assert agree(a, b, c, table="foo") == [(1, "b2", "c2", "d1", "e1")]


# ---- test_cl_triggers.py: what a statement makes of the causal length ----

# Statements and, as theirs, the causal lengths of the keys 1 and 2.
LENGTHS = {
    "upsert_non_existing": (["INSERT OR REPLACE INTO foo VALUES (1, 2)",
                             "INSERT INTO foo VALUES (2, 3) ON CONFLICT DO UPDATE SET b = 4"], 1, 1),
    "insert_delete_insert_delete": ([INSERT, DELETE, INSERT, DELETE], 4, None),
    "upsert_previously_existing": ([INSERT, DELETE, "INSERT INTO foo VALUES (1, 4) ON CONFLICT DO UPDATE SET b = b"], 3, None),
    "replace_previously_existing": ([INSERT, DELETE, "INSERT OR REPLACE INTO foo VALUES (1, 4)"], 3, None),
    "upsert_currently_existing": ([INSERT, "INSERT OR REPLACE INTO foo VALUES (1, 3)",
                                   "INSERT INTO foo VALUES (1, 4) ON CONFLICT DO UPDATE SET b = b"], 1, None),
    "update_existing": ([INSERT, "UPDATE foo SET b = 3 WHERE a = 1", "UPDATE foo SET b = 3 WHERE a = 3"], 1, None),
    "insert_or_ignore_existing": ([INSERT, "INSERT OR IGNORE INTO foo VALUES (1, 3)"], 1, None),
    "delete_existing": ([INSERT, DELETE], 2, None),
    "delete_previously_deleted": ([INSERT, DELETE, DELETE], 2, None),
    "change_primary_key_to_something_new": ([INSERT, "UPDATE foo SET a = 2 WHERE a = 1"], 2, 1),
    "change_primary_key_to_previously_existing": (
        [INSERT, "INSERT INTO foo VALUES (2, 3)", "DELETE FROM foo WHERE a = 2", "UPDATE foo SET a = 2 WHERE a = 1"], 2, 3),
    "change_primary_key_to_currently_existing": (
        [INSERT, "INSERT INTO foo VALUES (2, 3)", "UPDATE OR REPLACE foo SET a = 2 WHERE a = 1"], 2, 1),
    "change_primary_key_away_from_thing_with_large_length": (
        [INSERT, DELETE, INSERT, DELETE, INSERT, "UPDATE foo SET a = 2 WHERE a = 1"], 6, 1),
    "insert_previously_existing": ([INSERT, DELETE, INSERT], 3, None),
}


@pytest.mark.parametrize("name", LENGTHS)
def test_a_statement_moves_the_causal_length_as_theirs(peers, name):
    statements, first, second = LENGTHS[name]
    [peer] = peers(1, *FOO)
    do(peer, *statements)
    assert (peer.lives().get("[1]"), peer.lives().get("[2]")) == (first, second)


def test_insert_existing_fails_and_changes_nothing(peers):
    [peer] = peers(1, *FOO)
    do(peer, INSERT)
    before = peer.parts()
    with pytest.raises(sqlite3.IntegrityError):
        do(peer, INSERT)
    assert peer.parts() == before


# ---- test_schema_modification.py ----

def test_c1_no_primary_keys_are_refused(peers):
    [peer] = peers(1, "CREATE TABLE foo(a)")
    with pytest.raises(sqlite3.OperationalError, match="PRIMARY KEY"):
        do(peer, "SELECT counter_replicate('foo')")


@pytest.mark.parametrize("quoted", ['"foo"', "`foo`", "[foo]"])
def test_c1_quoted_identifiers(peers, quoted):
    one, two = peers(2, f"CREATE TABLE {quoted}(a PRIMARY KEY NOT NULL)", "SELECT counter_replicate('foo')")
    do(one, "INSERT INTO foo VALUES ('x')")
    two.pull(one)
    assert agree(one, two, table="foo") == [("x",)]


def test_c1_single_and_compound_primary_keys_and_indexes(peers):
    one, two = peers(2, "CREATE TABLE foo(a NOT NULL, b NOT NULL, c, PRIMARY KEY (a, b))", "CREATE INDEX foo_c ON foo(c)",
                     "SELECT counter_replicate('foo')", "CREATE TABLE bar(a NOT NULL, b, PRIMARY KEY (a))",
                     "SELECT counter_replicate('bar')")
    do(one, "INSERT INTO foo VALUES (1, 2, 3), (1, 3, 3)", "INSERT INTO bar VALUES (1, 2)")
    two.pull(one)
    assert agree(one, two, table="foo", order="a, b") == [(1, 2, 3), (1, 3, 3)]
    assert agree(one, two, table="bar") == [(1, 2)]
    assert two.run("SELECT b FROM foo INDEXED BY foo_c WHERE c = 3 ORDER BY b") == [(2,), (3,)]


@differs
def test_drop_clock_on_col_remove_untrack_comes_before_drop_column(peers):
    """Theirs wraps any ALTER TABLE in two calls; here one call ends the column first, and none follows."""
    one, two = peers(2, *TODO)
    do(one, COOK)
    two.pull(one)
    with pytest.raises(sqlite3.Error):
        do(one, "ALTER TABLE todo DROP COLUMN list")
    do(one, "SELECT counter_untrack('todo', 'list')", "ALTER TABLE todo DROP COLUMN list", "UPDATE todo SET complete = 1")
    two.pull(one)
    assert two.run("SELECT * FROM todo") == [(1, "cook", 1, "home")]
    assert [column for _, column, *_ in one.parts()] == [None, "complete", "name"]


ADDED = {"assignee": "assignee", "due_date": "due_date DEFAULT '2018-01-01'", "age": "age INTEGER NOT NULL DEFAULT 0"}


@pytest.mark.parametrize("column", ADDED)
def test_backfill_col_add_a_default_does_not_travel_and_new_values_do(peers, column):
    one, two = peers(2, *TODO)
    do(one, COOK)
    two.pull(one)
    for peer in one, two: do(peer, f"ALTER TABLE todo ADD COLUMN {ADDED[column]}", "SELECT counter_replicate('todo')")
    assert column not in [name for _, name, _, stamp, _ in one.parts() if stamp]
    do(one, f"INSERT INTO todo(id, name, {column}) VALUES (2, 'clean', 'me')", f"UPDATE todo SET {column} = 'you' WHERE id = 1")
    two.pull(one)
    assert [row[-1] for row in agree(one, two, table="todo")] == ["you", "me"]


@differs
def test_backfill_clocks_on_rename_a_rename_is_followed_and_writes_nothing(peers):
    """Theirs takes a renamed column for a new one, whose values are all written."""
    one, two = peers(2, *TODO)
    do(one, COOK)
    two.pull(one)
    since = one.end()
    do(one, "ALTER TABLE todo RENAME name TO task")
    assert one.lines(since) == ""
    do(one, "UPDATE todo SET task = 'bake'")
    two.pull(one)
    assert two.run("SELECT name FROM todo") == [("bake",)]


def test_delete_sentinels_not_lost(peers, left_to_right):
    one, two = peers(2, *TODO)
    do(one, COOK)
    two.pull(one)
    do(one, "DELETE FROM todo", "ALTER TABLE todo RENAME name TO task", "SELECT counter_replicate('todo')")
    left_to_right(one, two)
    assert two.run("SELECT * FROM todo") == []


def test_pk_only_sentinels_survive_a_new_column(peers):
    one, two = peers(2, "CREATE TABLE assoc(id1 NOT NULL, id2 NOT NULL, PRIMARY KEY (id1, id2))",
                     "SELECT counter_replicate('assoc')")
    do(one, "INSERT INTO assoc VALUES (1, 2)", "ALTER TABLE assoc ADD COLUMN data", "SELECT counter_replicate('assoc')")
    do(two, "ALTER TABLE assoc ADD COLUMN data", "SELECT counter_replicate('assoc')")
    two.pull(one)
    assert agree(one, two, table="assoc") == [(1, 2, None)]


def test_backfill_existing_data(peers):
    one, two = peers(2, "CREATE TABLE foo(id PRIMARY KEY NOT NULL, name)")
    do(one, "INSERT INTO foo VALUES (1, 'bar'), (2, 'baz')", "INSERT INTO foo(id) VALUES (3)")
    assert one.run("SELECT counter_replicate('foo')") == [(3,)]
    do(two, "SELECT counter_replicate('foo')")
    two.pull(one)
    assert agree(one, two, table="foo") == [(1, "bar"), (2, "baz"), (3, None)]


def test_pk_only_table_backfill(peers):
    one, two = peers(2, "CREATE TABLE foo(id PRIMARY KEY NOT NULL)")
    do(one, "INSERT INTO foo VALUES (1), (2)")
    for peer in one, two: do(peer, "SELECT counter_replicate('foo')")
    two.pull(one)
    assert agree(one, two, table="foo") == [(1,), (2,)]


def rebuilt(new, *fill, call="SELECT counter_replicate('foo')"):
    """A table that is made anew, filled and renamed, in one transaction."""
    return [f"CREATE TABLE new_foo({new})", *fill, "DROP TABLE foo", "ALTER TABLE new_foo RENAME TO foo", call]


def test_add_col_through_12step(peers):
    one, two = peers(2, "CREATE TABLE foo(id PRIMARY KEY NOT NULL, name TEXT DEFAULT NULL)", "SELECT counter_replicate('foo')")
    do(one, "INSERT INTO foo(id) VALUES (3)")
    two.pull(one)
    columns = "id PRIMARY KEY NOT NULL, name TEXT DEFAULT NULL, age INTEGER DEFAULT NULL"
    copied = "INSERT INTO new_foo(id, name) SELECT id, name FROM foo"
    one.transaction(*rebuilt(columns, copied, "INSERT INTO new_foo VALUES (22, 'baz', 33)",
                             "UPDATE new_foo SET age = 44 WHERE id = 3"))
    two.transaction(*rebuilt(columns, copied))
    two.pull(one)
    assert agree(one, two, table="foo") == [(3, None, 44), (22, "baz", 33)]


def test_add_column_and_set_column_before_the_call(peers):
    one, two = peers(2, "CREATE TABLE foo(id PRIMARY KEY NOT NULL)", "SELECT counter_replicate('foo')",
                     "INSERT INTO foo VALUES (3)")
    alter = "ALTER TABLE foo ADD COLUMN age INTEGER DEFAULT NULL"
    do(one, alter, "UPDATE foo SET age = 44", "SELECT counter_replicate('foo')")
    do(two, alter, "SELECT counter_replicate('foo')")
    two.pull(one)
    assert two.run("SELECT * FROM foo") == [(3, 44)]


@differs
def test_remove_rows_on_alter_a_deletion_travels_and_a_row_that_is_missing_is_asked_about(peers):
    """Theirs forgets rows that are deleted between its two calls; other files keep them."""
    one, two = peers(2, "CREATE TABLE foo(a PRIMARY KEY NOT NULL, b)", "SELECT counter_replicate('foo')")
    do(one, "INSERT INTO foo VALUES (1, 2), (3, 4)")
    two.pull(one)
    one.transaction("ALTER TABLE foo ADD COLUMN c", "DELETE FROM foo WHERE a = 1", "SELECT counter_replicate('foo')")
    two.pull(one)
    assert two.run("SELECT a FROM foo") == [(3,)]
    without = rebuilt("a PRIMARY KEY NOT NULL, b, c")
    do(one, "BEGIN", *without[:-1])
    with pytest.raises(sqlite3.OperationalError, match="missing"):
        do(one, without[-1])
    do(one, "SELECT counter_replicate('foo', 'missing=deleted')", "COMMIT")
    two.pull(one)
    assert two.run("SELECT a FROM foo") == []


REKEYED = "SELECT counter_replicate('foo', 'keys=changed')"
OTHER_KEYS = {
    "remove_col_from_pk": (PAIRS, "a PRIMARY KEY NOT NULL, b, c", "*", []),
    "remove_pk_column": (PAIRS, "a NOT NULL, b PRIMARY KEY NOT NULL, c", "*", ["a"]),
    "add_existing_col_to_pk": (("CREATE TABLE foo(a PRIMARY KEY NOT NULL, b, c)", "SELECT counter_replicate('foo')"),
                               "a NOT NULL, b NOT NULL, c, PRIMARY KEY (a, b)", "*", []),
    "add_new_col_to_pk": (("CREATE TABLE foo(a PRIMARY KEY NOT NULL, b, c)", "SELECT counter_replicate('foo')"),
                          "a NOT NULL, b, c, d NOT NULL, PRIMARY KEY (a, d)", "a, b, c, b + 1", []),
    "rename_pk_column": (("CREATE TABLE foo(a PRIMARY KEY NOT NULL, b, c)", "SELECT counter_replicate('foo')"),
                         "a, b, c, d PRIMARY KEY NOT NULL", "a, b, c, a", ["a"]),
}


def rekey(peer, name):
    _, new, copied, dropped = OTHER_KEYS[name]
    peer.transaction(*rebuilt(new, f"INSERT INTO new_foo SELECT {copied} FROM foo", call=REKEYED))
    for column in dropped:
        do(peer, f"SELECT counter_untrack('foo', '{column}')", f"ALTER TABLE foo DROP COLUMN {column}")


@pytest.mark.parametrize("name", OTHER_KEYS)
def test_another_primary_key_is_a_migration_that_each_file_makes(peers, name):
    one, two = peers(2, *OTHER_KEYS[name][0])
    do(one, "INSERT INTO foo VALUES (1, 2, 3), (4, 5, 6)")
    two.pull(one)
    for peer in one, two: rekey(peer, name)
    do(two, "UPDATE foo SET c = 7 WHERE b = 5")
    one.pull(two)
    do(one, "UPDATE foo SET c = 8 WHERE b = 2")
    two.pull(one)
    agree(one, two, table="foo")
    assert one.run("SELECT c, b FROM foo ORDER BY b") == [(8, 2), (7, 5)]


@differs
@pytest.mark.parametrize("name", OTHER_KEYS)
def test_another_primary_key_asks_about_a_value_that_was_not_merged_before(peers, name):
    """Theirs goes by the versions of the columns, which such a migration keeps."""
    one, two = peers(2, *OTHER_KEYS[name][0])
    do(one, "INSERT INTO foo VALUES (1, 2, 3), (4, 5, 6)")
    two.pull(one)
    do(two, "UPDATE foo SET c = 7 WHERE b = 5")
    for peer in one, two: rekey(peer, name)
    with pytest.raises(sqlite3.OperationalError, match="'values=newest'"):
        one.pull(two)
    do(two, "SELECT counter_replicate('foo', 'values=newest')")
    one.pull(two)
    two.pull(one)
    agree(one, two, table="foo")
    assert one.run("SELECT c, b FROM foo ORDER BY b") == [(3, 2), (7, 5)]


def test_changing_values_in_primary_key_columns(peers, left_to_right):
    one, two = peers(2, "CREATE TABLE foo(a PRIMARY KEY NOT NULL, b)", "SELECT counter_replicate('foo')")
    do(one, "INSERT INTO foo VALUES (1, 2), (4, 5)")
    two.pull(one)
    do(one, "UPDATE foo SET a = 2 WHERE a = 1")
    left_to_right(one, two)
    assert agree(one, two, table="foo") == [(2, 2), (4, 5)]


# ---- test_sync.py, test_dbversion.py, test_crsql_changes_filters.py ----

DECKS = ('CREATE TABLE "user"(id PRIMARY KEY NOT NULL, name)', "CREATE TABLE deck(id PRIMARY KEY NOT NULL, owner_id, title)",
         'CREATE TABLE slide(id PRIMARY KEY NOT NULL, deck_id, "order")', "SELECT counter_replicate('user')",
         "SELECT counter_replicate('deck')", "SELECT counter_replicate('slide')")


def test_changes_since_has_only_what_came_later_and_a_delete_is_one_change(peers):
    [peer] = peers(1, *DECKS)
    peer.transaction("INSERT INTO user VALUES (1, 'Javi')", "INSERT INTO deck VALUES (1, 1, 'Talk')",
                     "INSERT INTO slide VALUES (1, 1, 0), (2, 1, 1)")
    assert peer.one("SELECT count(*) FROM counter_changes(0)") == 4
    since = peer.end()
    peer.transaction("UPDATE user SET name = 'Maestro'", "UPDATE deck SET title = 'Presto'", "DELETE FROM slide WHERE id = 1")
    changes = "SELECT table_name, counter_key_json(key) FROM counter_changes(?) ORDER BY table_name"
    assert peer.run(changes, since) == [("deck", "[1]"), ("slide", "[1]"), ("user", "[1]")]


@differs
@pytest.mark.parametrize("default", [0, 4])
def test_merging_on_defaults_a_value_that_was_written_wins_over_a_default(peers, left_to_right, default):
    """Theirs takes the default where it is the greater of the two."""
    one, two = peers(2, f"CREATE TABLE foo(a PRIMARY KEY NOT NULL, b DEFAULT {default})")
    do(one, "INSERT INTO foo(a) VALUES (1)", "SELECT counter_replicate('foo')")
    do(two, "SELECT counter_replicate('foo')", "INSERT INTO foo VALUES (1, 2)")
    left_to_right(two, one)
    left_to_right(one, two)
    assert agree(one, two, table="foo") == [(1, 2)]


def test_merging_on_defaults2_an_added_column_with_a_value_wins_over_its_default(peers, left_to_right):
    one, two = peers(2, "CREATE TABLE foo(a PRIMARY KEY NOT NULL, b)", "SELECT counter_replicate('foo')")
    do(one, "INSERT INTO foo(a) VALUES (1)")
    for peer in one, two: do(peer, "ALTER TABLE foo ADD COLUMN c DEFAULT 9", "SELECT counter_replicate('foo')")
    do(two, "INSERT INTO foo VALUES (1, 2, 3)")
    left_to_right(two, one)
    left_to_right(one, two)
    assert agree(one, two, table="foo") == [(1, 2, 3)]


def test_merge_same_ends_and_stays_the_same_whoever_merges_with_whom(peers):
    one, two, three = peers(3, *FOO)
    for peer in one, two, three: do(peer, INSERT)
    for to, of in (two, one), (one, two), (three, two), (one, three), (two, three): to.pull(of)
    assert agree(one, two, three, table="foo") == [(1, 1)]
    before = one.parts()
    assert sum(to.pull(of) for to in (one, two, three) for of in (one, two, three) if to is not of) == 0
    assert one.parts() == before


def test_db_version_moves_with_each_commit_and_not_with_a_rollback(peers):
    [peer] = peers(1, *FOO)
    seen = [peer.end()]
    for n in 1, 2:
        peer.transaction(f"INSERT INTO foo VALUES ({n}, 0)", f"UPDATE foo SET b = 1 WHERE a = {n}")
        seen.append(peer.end())
    assert seen == sorted(set(seen))
    do(peer, "BEGIN", "DELETE FROM foo", "ROLLBACK")
    assert peer.end() == seen[-1] and peer.lines(seen[-1]) == ""


def test_db_version_restored_from_disk(peers):
    [peer] = peers(1, *FOO)
    do(peer, INSERT)
    before = peer.end()
    peer.db.close()
    peer.db = Peer(peer.path).db
    assert peer.end() == before
    do(peer, DELETE)
    assert peer.end() > before


def test_changes_can_be_filtered_by_table_number_and_writer(peers):
    one, two = peers(2, *DECKS)
    do(two, "INSERT INTO deck VALUES (9, 1, 'theirs')")
    one.pull(two)
    do(one, "INSERT INTO user VALUES (1, 'a'), (2, 'b')", "INSERT INTO deck VALUES (1, 1, 'ours')")
    columns = "table_name, counter_key_json(key), seq FROM counter_changes(0)"
    every = one.run(f"SELECT {columns}")
    for number in sorted({seq for _, _, seq in every}):
        for sign, keeps in ("<", lambda seq: seq < number), (">", lambda seq: seq > number), ("=", lambda seq: seq == number):
            assert one.run(f"SELECT {columns} WHERE seq {sign} ?", number) == [row for row in every if keeps(row[2])]
    assert one.run(f"SELECT {columns} WHERE table_name = 'deck'") == [row for row in every if row[0] == "deck"]
    assert {key for key, *_, writer in one.parts() if writer == two.id} == {"[9]"}


# ---- test_siteid.py, test_site_id_lookaside.py ----

def test_site_id_is_made_once_and_kept(peers):
    [peer] = peers(1, *FOO)
    do(peer, INSERT)
    before = peer.id
    assert len(before) == 36
    peer.db.close()
    peer.db = Peer(peer.path).db
    assert peer.id == before and {writer for *_, writer in peer.parts()} == {before}


@differs
def test_site_id_a_copy_of_a_file_takes_another(peers, tmp_path):
    """Theirs keeps its site id in a copy, and two files write as one."""
    [peer] = peers(1, *FOO)
    do(peer, INSERT)
    peer.db.close()
    shutil.copyfile(peer.path, tmp_path / "copy.db")
    copy = Peer(tmp_path / "copy.db")
    peer.db = Peer(peer.path).db
    do(peer, "UPDATE foo SET b = 'old'")
    later()
    do(copy, "UPDATE foo SET b = 'copy'")
    assert copy.id != peer.id
    peer.pull(copy)
    copy.pull(peer)
    assert agree(peer, copy, table="foo") == [(1, "copy")]
    copy.db.close()


def test_site_id_from_merge_goes_through_a_file_in_the_middle(peers, left_to_right):
    a, b, c = peers(3, *FOO)
    do(a, "INSERT INTO foo VALUES (1, 200.0), (2, X'1232')")
    left_to_right(a, b)
    left_to_right(b, c)
    assert a.parts() == b.parts() == c.parts()


# ---- test_sync_bit.py, test_sync_prop.py, crsqlite.test.c, rows-impacted.test.c, user-reports.test.ts ----

def test_sync_bit_a_trigger_knows_that_a_merge_writes(peers, left_to_right):
    one, two = peers(2, *FOO, "CREATE TABLE log(a INTEGER PRIMARY KEY, merging)",
                     "CREATE TRIGGER foo_log AFTER INSERT ON foo BEGIN INSERT INTO log(merging) VALUES (counter_merging()); END")
    do(one, INSERT)
    left_to_right(one, two)
    do(two, "INSERT INTO foo VALUES (5, 5)")
    assert two.run("SELECT merging FROM log ORDER BY a") == [(1,), (0,)]


@pytest.mark.parametrize("number", range(3))
def test_delta_sync_of_any_files_by_any_steps(peers, number):
    chance = random.Random(f"{SEED} delta {number}")
    every = peers(chance.randint(2, 5), *ITEM)
    for _ in range(60):
        peer = chance.choice(every)
        random_step(chance, peer)
        if chance.random() < 0.1:
            for other in chance.sample(every, chance.randint(1, len(every))):
                if other is not peer: peer.take_new(other)
    for order in every, every[::-1]:  # their way: along the row of files and back
        for peer, other in zip(order, order[1:]): other.take_new(peer)
    agree(*every, table="item")


def test_lamport_condition_a_write_after_a_merge_wins(peers, left_to_right):
    one, two = peers(2, "CREATE TABLE hoot(a, b PRIMARY KEY NOT NULL, c)", "SELECT counter_replicate('hoot')")
    do(one, "INSERT INTO hoot VALUES (1, 1, 1)", *(f"UPDATE hoot SET c = {n}" for n in range(2, 9)))
    left_to_right(one, two)
    do(two, "UPDATE hoot SET c = 33")
    left_to_right(two, one)
    assert agree(one, two, table="hoot") == [(1, 1, 33)]


def test_noops_do_not_move_clocks(peers):
    [peer] = peers(1, *FOO)
    do(peer, INSERT)
    before, end = peer.parts(), peer.end()
    do(peer, "UPDATE foo SET b = 1", "UPDATE foo SET b = b", "INSERT OR IGNORE INTO foo VALUES (1, 9)", "DELETE FROM foo WHERE a = 7")
    assert peer.parts() == before and peer.lines(end) == ""


def test_pulling_only_local_changes(peers):
    one, two = peers(2, *FOO)
    do(two, "INSERT INTO foo VALUES (9, 9)")
    one.take(two.lines())
    do(one, INSERT)
    own = one.run("SELECT counter_key_json(key) FROM counter_changes(0) WHERE own = 1")
    assert own == [("[1]",)]
    assert one.one("SELECT count(*) FROM counter_changes(0)") == 2


def test_rows_impacted_counts_what_a_merge_has_changed(peers):
    one, two = peers(2, *FOO)
    do(one, "INSERT INTO foo VALUES (1, 2), (2, 2), (3, 2)")
    assert two.pull(one) == 3
    assert two.pull(one) == 0
    do(two, "UPDATE foo SET b = 3 WHERE a = 1")
    do(one, "DELETE FROM foo WHERE a = 2")
    assert (two.pull(one), one.pull(two), one.pull(two)) == (1, 1, 0)


def test_user_reports_an_insert_that_does_nothing_on_conflict_and_two_tables_in_one_transaction(peers):
    one, two = peers(2, "CREATE TABLE data(id NUMBER PRIMARY KEY)", "SELECT counter_replicate('data')",
                     "CREATE TABLE a(id PRIMARY KEY NOT NULL, data)", "SELECT counter_replicate('a')",
                     "CREATE TABLE b(id PRIMARY KEY NOT NULL, data)", "SELECT counter_replicate('b')")
    do(one, "INSERT INTO data VALUES (42) ON CONFLICT DO NOTHING", "INSERT INTO data VALUES (42) ON CONFLICT DO NOTHING",
       "INSERT INTO b VALUES (0, NULL)")
    two.pull(one)
    one.transaction("INSERT INTO a VALUES (10, 123)", "UPDATE b SET data = 10 WHERE data IS NULL")
    assert two.pull(one) == 2
    assert (two.run("SELECT * FROM data"), two.run("SELECT * FROM a"), two.run("SELECT * FROM b")) == ([(42,)], [(10, 123)], [(0, 10)])


@differs
def test_as_ordered_a_position_is_a_value_that_the_application_computes(peers):
    """Theirs gives out positions between two others; here a list is a column of positions, and two files may write the same one."""
    one, two = peers(2, "CREATE TABLE foo(a TEXT PRIMARY KEY, spot REAL)", "SELECT counter_replicate('foo')")
    do(one, "INSERT INTO foo VALUES ('first', 1), ('last', 2)")
    two.pull(one)
    for peer, name in (one, "mine"), (two, "yours"): do(peer, f"INSERT INTO foo VALUES ('{name}', 1.5)")
    one.pull(two)
    two.pull(one)
    assert agree(one, two, table="foo", order="spot, a") == [("first", 1), ("mine", 1.5), ("yours", 1.5), ("last", 2)]
