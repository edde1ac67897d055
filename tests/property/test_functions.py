"""test_functions.py - the SQL functions on ordinary tables against cells.py, byte by byte."""

import contextlib
import functools
import hashlib
import json
import random
import sqlite3
import struct
import uuid

import pytest

import cells
from cells import Cell
from conftest import EXAMPLES, SEED
from files import connect
from randomly import (binary, booleans, composite, dictionaries, example, given, integers, just,
                      lists, one_of, sampled_from, tuples)

# The first bytes 7f and 80 are in the wrong order for one who compares signed bytes.
IDS = [bytes([first]) + bytes(range(14)) + b"\x01" for first in (0x00, 0x7F, 0x80, 0xFF)]

ids = sampled_from(IDS)
small = integers(-3, 3)
int64 = one_of(small, integers(cells.INT_MIN, cells.INT_MAX), sampled_from(
    [cells.INT_MIN, cells.INT_MIN + 1, cells.INT_MAX - 1, cells.INT_MAX, 63, 64, -64, -65]))
clocks = one_of(integers(1, 3), integers(1, cells.INT_MAX), sampled_from([127, 128, cells.INT_MAX]))
lives = one_of(integers(1, 4), integers(1, cells.LIFE_MAX),
               sampled_from([127, 128, cells.LIFE_MAX - 1, cells.LIFE_MAX]))


@composite
def some_cells(draw, values=int64):
    life = draw(lives)
    if life % 2 == 0:
        return Cell(life, {})
    shards = draw(dictionaries(ids, tuples(clocks, values)))
    return None if life == 1 and not shards else Cell(life, shards)


@pytest.fixture(scope="module")
def db():
    db = connect(":memory:")
    yield db
    db.close()


def ask(db, sql, *arguments):
    """The single value of a query; cells go in and come out as bytes."""
    plain = [cells.encode(a) if isinstance(a, Cell) else a for a in arguments]
    return db.execute(sql, plain).fetchone()[0]


def refuses(db, sql, *arguments, reason=""):
    with pytest.raises(sqlite3.Error, match=reason):
        ask(db, sql, *arguments)
    return True


def fits(*numbers):
    return all(cells.INT_MIN <= n <= cells.INT_MAX for n in numbers)


def rows_of(cell):
    """The cell as rows for counter_collect: id, clock, value, life."""
    rows = [(str(uuid.UUID(bytes=i)), clock, value, cells.life(cell))
            for i, (clock, value) in cells.shards(cell).items()]
    return rows or [(None, None, None, cells.life(cell))]


def collect(rows):
    """A statement that collects rows, and its arguments."""
    values = ",".join(["(?,?,?,?)"] * len(rows))
    sql = f"SELECT counter_collect(column1, column2, column3, column4) FROM (VALUES {values})"
    return sql, *[x for row in rows for x in row]


@given(cell=some_cells(), order=integers(0, 2**32).map(random.Random))
def test_collect_writes_the_one_encoding_whatever_the_order_of_rows(db, cell, order):
    rows = rows_of(cell)
    order.shuffle(rows)
    assert ask(db, *collect(rows)) == cells.encode(cell)


@given(a=some_cells(), b=some_cells())
def test_collect_of_two_cells_of_one_life_is_their_merge(db, a, b):
    rows = rows_of(a) + rows_of(b)
    if cells.life(a) == cells.life(b):
        assert ask(db, *collect(rows)) == cells.encode(cells.merge(a, b))
    else:
        assert refuses(db, *collect(rows), reason="counter_collect")


@given(cell=some_cells())
def test_shards_are_the_rows_of_the_cell_in_order_of_id(db, cell):
    rows = db.execute("SELECT id, clock, value FROM counter_shards(?)", [cells.encode(cell)])
    assert rows.fetchall() == [(str(uuid.UUID(bytes=i)), *s) for i, s in sorted(cells.shards(cell).items())]


@given(cell=some_cells())
def test_collect_undoes_shards(db, cell):
    if cells.shards(cell):
        assert ask(db, "SELECT counter_collect(id, clock, value, ?2) FROM counter_shards(?1)",
                   cell, cell.life) == cells.encode(cell)


@given(several=lists(some_cells(), min_size=2, max_size=4))
def test_merge_is_the_join_as_function_and_as_aggregate(db, several):
    joined = cells.encode(functools.reduce(cells.merge, several))
    marks = ",".join("?" * len(several))
    rows = ",".join(["(?)"] * len(several))
    assert ask(db, f"SELECT counter_merge({marks})", *several) == joined
    assert ask(db, f"SELECT counter_merge(column1) FROM (VALUES {rows})", *several) == joined


@given(cell=some_cells(), known=some_cells())
def test_diff_is_the_least_that_brings_known_up_to_the_merge(db, cell, known):
    sent = ask(db, "SELECT counter_diff(?, ?)", cell, known)
    assert sent == cells.encode(cells.diff(cell, known))
    merged = cells.encode(cells.merge(cell, known))
    assert ask(db, "SELECT counter_merge(?, ?)", known, sent) == merged


@given(a=some_cells(), b=some_cells())
def test_compare_orders_cells_as_version_vectors(db, a, b):
    assert ask(db, "SELECT counter_compare(?, ?)", a, b) == cells.compare(a, b)


@given(cell=some_cells())
def test_value_is_the_sum_of_the_shards_or_an_overflow(db, cell):
    if cell is None or cells.is_deleted(cell):
        assert ask(db, "SELECT counter_value(?)", cell) is None
    elif fits(cells.total(cell)):
        assert ask(db, "SELECT counter_value(?)", cell) == cells.total(cell)
    else:
        assert refuses(db, "SELECT counter_value(?)", cell, reason="integer overflow")


@given(cell=some_cells())
def test_delete_and_reset_start_the_next_life_until_the_last(db, cell):
    for sql, after in (("SELECT counter_delete(?)", cells.delete(cell)),
                       ("SELECT counter_reset(?)", cells.reset(cell))):
        if after.life <= cells.LIFE_MAX:
            assert ask(db, sql, cell) == cells.encode(after)
        else:
            assert refuses(db, sql, cell)
    deleted = ask(db, "SELECT counter_is_deleted(?)", cell)
    assert deleted == (None if cell is None else cells.is_deleted(cell))


@given(cell=some_cells(values=small))
def test_json_tells_all_that_is_in_a_cell(db, cell):
    told = ask(db, "SELECT counter_json(?)", cell)
    if cell is None:
        return  # nothing is promised about NULL
    expected = {"life": cell.life}
    if not cells.is_deleted(cell):
        expected["value"] = cells.total(cell)
        expected["shards"] = [{"id": str(uuid.UUID(bytes=i)), "clock": clock, "value": value}
                              for i, (clock, value) in sorted(cell.shards.items())]
    assert told == json.dumps(expected, separators=(",", ":"))


@given(cell=some_cells())
def test_digest_is_the_name_based_uuid_of_the_bytes(db, cell):
    space = uuid.UUID("8f4c7e52-6a1d-5b0e-9c37-2d1e0a94b6f3")
    expected = None
    if cell is not None:
        sha = hashlib.sha1(space.bytes + cells.encode(cell)).digest()
        expected = str(uuid.UUID(bytes=sha[:16], version=5))
    assert ask(db, "SELECT counter_digest(?)", cell) == expected


@given(cell=some_cells(), replica=ids, n=int64, as_text=booleans())
def test_inc_and_dec_touch_one_shard_or_nothing(db, cell, replica, n, as_text):
    named = str(uuid.UUID(bytes=replica)) if as_text else replica
    for sql, added in (("SELECT counter_inc(?, ?, ?)", n), ("SELECT counter_dec(?, ?, ?)", -n)):
        after = cells.increment(cell, replica, added)
        if cells.is_deleted(cell) or not fits(added, *after.shards[replica]):
            assert refuses(db, sql, cell, n, named, reason=sql[7:18])
        else:
            assert ask(db, sql, cell, n, named) == cells.encode(after)


# Each class of values at its edges: what it stands for, or None if it is no integer. SQLite takes a
# NaN for NULL.
NUMBERS = [
    (0, 0), (2**63 - 1, 2**63 - 1), (-2**63 + 1, -2**63 + 1),
    (1.0, 1), (-0.0, 0), (1e3, 1000), (2.0**53, 2**53), (-2.0**53, -2**53),
    (2.0**53 + 2, None), (-2.0**53 - 2, None), (2.0**63, None), (-2.0**63, None), (1e19, None),
    (0.5, None), (5.5, None), (2.0**51 + 0.5, None), (1e-300, None),
    (float("inf"), None), (float("-inf"), None), (float("nan"), None), (None, None),
    ("5", 5), (" 5 ", 5), ("5 ", 5), ("\t5\n", 5), ("+5", 5), ("-5", -5), ("-0", 0), ("007", 7),
    ("5.0", 5), ("5.", 5), (".5e1", 5), ("1e3", 1000), ("1E+3", 1000), ("1000e-3", 1), ("-0.0", 0),
    ("9223372036854775807", 2**63 - 1), ("-9223372036854775807", -2**63 + 1),
    ("9223372036854775808", None), ("-9223372036854775809", None), ("1e19", None),
    ("9007199254740991.0", 2**53 - 1), ("9007199254740992.0", None), ("9007199254740993.0", None),
    ("five", None), ("", None), (" ", None), ("5.5", None), ("5 5", None), ("5x", None), ("0x10", None),
    ("1e", None), ("--5", None), ("1_000", None), ("\u0663", None), ("\u00a05", None), ("NaN", None),
    ("Infinity", None), ("5\0", None), ("\0005", None), ("5\0005", None), ("e5", None),
    (b"\x05", None), (b"5", None), (b"", None),
]


@pytest.mark.parametrize("n, value", NUMBERS)
@pytest.mark.parametrize("encoding", ["UTF-8", "UTF-16le"])
def test_a_number_is_what_integer_affinity_makes_an_integer_of_without_loss(n, value, encoding):
    with contextlib.closing(connect(":memory:")) as db:
        db.execute(f"PRAGMA encoding = '{encoding}'")
        db.execute("CREATE VIRTUAL TABLE t USING counter(k INTEGER PRIMARY KEY, n COUNTER)")
        db.execute("INSERT INTO t VALUES (0, 0)")
        before = db.execute("SELECT counter_table_digest('t')").fetchone()
        calls = ["SELECT counter_value(counter_inc(NULL, ?, x'0000000000000000000000000000000a'))",
                 "SELECT -counter_value(counter_dec(NULL, ?, x'0000000000000000000000000000000a'))",
                 "SELECT counter_value(counter_collect(x'0000000000000000000000000000000a', 1, ?))",
                 "SELECT counter_add('t', 'n', ?, 1)"]
        writes = ["INSERT INTO t VALUES (2, ?)", "REPLACE INTO t VALUES (2, ?)",
                  "INSERT INTO t(t, k, n) VALUES ('reset', 2, ?)", "UPDATE t SET n = ? WHERE k = 0"]
        for sql in calls:
            if value is None:
                assert refuses(db, sql, n, reason="INTEGER, not ")
            else:
                assert ask(db, sql, n) == value
                db.execute("DELETE FROM t WHERE k = 1")
        for sql in writes:
            nothing = n is None or n != n
            if value is None and not (nothing and "UPDATE" not in sql):
                assert refuses(db, sql, n, reason="t: column n: a counter takes an INTEGER, not ")
                if not nothing:
                    assert db.execute("SELECT n FROM t WHERE k = 0").fetchone() == (0,)
            else:
                db.execute(sql, [n])
                key = 0 if "UPDATE" in sql else 2
                assert db.execute("SELECT n FROM t WHERE k = ?", [key]).fetchone() == (value or 0,)
        if value is None and n is not None and n == n:
            assert db.execute("SELECT counter_table_digest('t')").fetchone() == before


@pytest.mark.parametrize("n", [None, 1.5, "five", b"\x05"])
def test_n_must_be_an_integer(db, n):
    assert refuses(db, "SELECT counter_inc(NULL, ?, ?)", n, IDS[0], reason="counter_inc.*INTEGER")
    assert refuses(db, "SELECT counter_dec(NULL, ?, ?)", n, IDS[0], reason="counter_dec.*INTEGER")


@pytest.mark.parametrize("replica", [None, b"", b"short", bytes(17), "", "no uuid", 1, 1.5])
def test_a_replica_is_16_bytes_or_the_text_of_a_uuid(db, replica):
    assert refuses(db, "SELECT counter_inc(NULL, 1, ?)", replica, reason="counter_inc")


# What one may do to a row of an ordinary table, and what it does to the cell.
changes = one_of(
    tuples(just("counter_inc(c, ?, ?)"), tuples(int64, ids)),
    tuples(just("counter_dec(c, ?, ?)"), tuples(int64, ids)),
    tuples(just("counter_delete(c)"), just(())),
    tuples(just("counter_reset(c)"), just(())),
    tuples(just("counter_merge(c, ?)"), tuples(some_cells(values=small))),
    tuples(just("counter_merge(c, counter_diff(?, c))"), tuples(some_cells(values=small))))


def changed(cell, expression, arguments):
    """The cell after an expression of `changes`; None if it must be refused."""
    name = expression.split("(")[0]
    if name in ("counter_inc", "counter_dec"):
        n = arguments[0] if name == "counter_inc" else -arguments[0]
        after = cells.increment(cell, arguments[1], n)
        refused = cells.is_deleted(cell) or not fits(n, *after.shards[arguments[1]])
        return None if refused else after
    if name == "counter_merge":
        return cells.merge(cell, arguments[0])
    after = cells.delete(cell) if name == "counter_delete" else cells.reset(cell)
    return after if after.life <= cells.LIFE_MAX else None


@given(script=lists(tuples(integers(0, 2), changes), max_size=20))
def test_rows_of_an_ordinary_table_go_through_the_same_states_as_the_oracle(db, script):
    db.execute("CREATE TEMP TABLE t(k INTEGER PRIMARY KEY, c BLOB)")
    try:
        db.execute("INSERT INTO t(k) VALUES (0), (1), (2)")
        oracle = [None, None, None]
        for k, (expression, arguments) in script:
            plain = [cells.encode(a) if isinstance(a, Cell) else a for a in arguments]
            after = changed(oracle[k], expression, arguments)
            update = f"UPDATE t SET c = {expression} WHERE k = ?"
            if after is None and "merge" not in expression:
                with pytest.raises(sqlite3.Error):
                    db.execute(update, [*plain, k])
            else:
                db.execute(update, [*plain, k])
                oracle[k] = after
            stored = [c for c, in db.execute("SELECT c FROM t ORDER BY k")]
            assert stored == [cells.encode(cell) for cell in oracle]
    finally:
        db.execute("DROP TABLE t")


def exact_sum(several):
    """What counter_sum gives: live cells alone count, None if there are none."""
    live = [cells.total(c) for c in several if c is not None and not cells.is_deleted(c)]
    return sum(live) if live else None


@given(several=lists(some_cells(), max_size=6))
@example(several=[Cell(1, {IDS[0]: (1, cells.INT_MAX)})] * 3
         + [Cell(1, {IDS[0]: (1, cells.INT_MIN)})] * 2)
def test_sum_is_exact_though_it_passes_beyond_int64_on_the_way(db, several):
    expected = exact_sum(several)
    rows = ",".join(f"({i}, ?)" for i in range(len(several))) or "(0, NULL)"
    sql = f"SELECT counter_sum(column2) FROM (VALUES {rows})"
    if expected is None or fits(expected):
        assert ask(db, sql, *several) == expected
    else:
        assert refuses(db, sql, *several, reason="integer overflow")


@given(several=lists(some_cells(), min_size=1, max_size=8), before=integers(0, 3),
       after=integers(0, 3))
def test_sum_over_a_moving_window_forgets_exactly_what_leaves(db, several, before, after):
    frames = [several[max(0, i - before):i + after + 1] for i in range(len(several))]
    expected = [exact_sum(frame) for frame in frames]
    rows = ",".join(f"({i}, ?)" for i in range(len(several)))
    sql = (f"SELECT counter_sum(column2) OVER (ORDER BY column1 ROWS BETWEEN {before} PRECEDING"
           f" AND {after} FOLLOWING) FROM (VALUES {rows})")
    plain = [cells.encode(cell) for cell in several]
    if all(n is None or fits(n) for n in expected):
        assert [n for n, in db.execute(sql, plain)] == expected
    else:
        with pytest.raises(sqlite3.Error, match="integer overflow"):
            db.execute(sql, plain).fetchall()


@composite
def nearly_cells(draw):
    """The bytes of a cell with one thing done to them, and anything that begins like a cell."""
    data = cells.encode(draw(some_cells())) or b"\xc1\x01"
    at = draw(integers(0, len(data)))
    return draw(sampled_from([
        data, data[:at], data[at:], data + draw(binary(min_size=1, max_size=20)),
        data[:at] + draw(binary(min_size=1, max_size=3)) + data[at + 1:],
        data[:at] + draw(binary(min_size=1, max_size=3)) + data[at:],
        data + data[2:], b"\xc1" + draw(binary(max_size=60))]))


@given(5 * EXAMPLES, data=nearly_cells())
@example(data=b"\xc1\x01")                           # untouched, which is NULL and nothing else
@example(data=b"\xc1\x00")                           # no such life
@example(data=b"\xc1\x83\x00")                       # a life longer than it need be
@example(data=b"\xc1\xff\xff\xff\xff\x0f" + IDS[0] + b"\x01\x01")   # the last life
@example(data=b"\xc1\x80\x80\x80\x80\x10")           # beyond the last life
@example(data=b"\xc1\x01" + IDS[0] + b"\x00\x00")    # clock 0
@example(data=b"\xc1\x01" + IDS[0] + b"\xff" * 8 + b"\x7f\x00")   # the last clock
@example(data=b"\xc1\x01" + IDS[0] + b"\x80" * 9 + b"\x01\x00")   # beyond the last clock
@example(data=b"\xc1\x01" + IDS[0] + b"\x01" + b"\xff" * 9 + b"\x01")   # the least value
@example(data=b"\xc1\x01" + IDS[0] + b"\x01" + b"\xff" * 9 + b"\x02")   # beyond the least value
@example(data=b"\xc1\x01" + IDS[2] + b"\x01\x00" + IDS[1] + b"\x01\x00")   # signed order
@example(data=b"\xc1\x01" + IDS[0] + b"\x01\x00" + IDS[0] + b"\x02\x00")   # one id twice
@example(data=b"\xc1\x02" + IDS[0] + b"\x01\x00")    # shards of a deleted cell
def test_what_is_no_cell_is_refused_and_nothing_else(db, data):
    try:
        cell = cells.decode(data)
    except ValueError:
        for call in ("counter_inc(?, 1, zeroblob(16))", "counter_merge(NULL, ?)", "counter_sum(?)",
                     "counter_diff(?, NULL)", "counter_compare(?, NULL)", "counter_delete(?)",
                     "counter_reset(?)", "counter_is_deleted(?)", "counter_digest(?)"):
            assert refuses(db, f"SELECT {call}", data, reason=call.split("(")[0])
    else:
        assert ask(db, "SELECT counter_merge(NULL, ?)", data) == cells.encode(cell) == data
        assert ask(db, "SELECT counter_is_deleted(?)", data) == cells.is_deleted(cell)


@pytest.mark.parametrize("value", [1, 1.5, "", "text", b""])
def test_what_is_no_blob_is_no_cell(db, value):
    assert refuses(db, "SELECT counter_value(?)", value, reason="counter_value")
    assert refuses(db, "SELECT counter_inc(?, 1, zeroblob(16))", value, reason="counter_inc")


def test_a_description_longer_than_the_connection_allows_is_an_error(db):
    cell = None
    for n in range(30):
        cell = ask(db, "SELECT counter_inc(?, 1, ?)", cell, uuid.UUID(int=n).bytes)
    before = db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 1000)
    try:
        with pytest.raises(sqlite3.DataError, match="string or blob too big"):
            ask(db, "SELECT counter_json(?)", cell)
    finally:
        db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, before)
    assert len(json.loads(ask(db, "SELECT counter_json(?)", cell))["shards"]) == 30


def test_a_real_that_goes_through_json_is_the_same_in_each_bit():
    db, chance = connect(":memory:"), random.Random(SEED)
    told = ('{"tells":"row","row":{"life":1,"stamp":{"number":1,"id":"00000000-0000-0000-0000-00000000000a"}},"columns":[{"name":"a",'
            '"kind":"regular","generation":0,"stamp":{"number":1,"id":"00000000-0000-0000-0000-00000000000a"},"value":%s}]}')
    numbers = [struct.unpack(">d", chance.randbytes(8))[0] for _ in range(50 * EXAMPLES)]
    numbers += [chance.choice([-1, 1]) * chance.random() * 10.0 ** chance.randint(-110, 110) for _ in range(50 * EXAMPLES)]
    numbers += [1.7976931348623157e308, 5e-324, 1e100, 1e-100, -1e100, 0.1, -0.0, 1e17, float("inf"), float("-inf")]
    for number in numbers:
        if number == number:  # NaN is NULL
            bits, packed = struct.pack(">d", number).hex(), db.execute("SELECT counter_key(?)", (number,)).fetchone()[0]
            change, = db.execute("SELECT counter_change_of(?)", (told % f'{{"real":"{bits}"}}',)).fetchone()
            shown, = db.execute("SELECT counter_change_json(?)", (change,)).fetchone()
            assert change.endswith(packed[1:]), number
            assert db.execute("SELECT counter_change_of(?)", (shown,)).fetchone() == (change,), (number, shown)
    db.close()
