"""test_contexts.py - Cassandra's counter contexts against a second reading of their format."""

import os
import struct
import subprocess
import sys

import pytest

from files import connect
from randomly import binary, dictionaries, given, integers, lists, sampled_from, tuples

GLOBAL, LOCAL, REMOTE = "global", "local", "remote"
small_ids = integers(0, 7).map(lambda i: bytes(15) + bytes([i]))
any_ids = small_ids | binary(min_size=16, max_size=16)
clocks = integers(1, 9) | integers(1, 2**62)
counts = integers(-9, 9) | integers(-2**61, 2**61)


@pytest.fixture(scope="module")
def db():
    opened = connect(":memory:")
    yield opened
    opened.close()


def shards(kinds):
    """A dict from id to (kind, clock, count)."""
    return dictionaries(any_ids, tuples(sampled_from(kinds), clocks, counts), max_size=6)


def context(one):
    """Elements point at shards by their place among the sorted ids, global ones below zero."""
    elements, body = [], b""
    for i, key in enumerate(sorted(one)):
        kind, clock, count = one[key]
        if kind != REMOTE:
            elements.append(i - 32768 if kind == GLOBAL else i)
        body += key + struct.pack(">qq", clock, count)
    return struct.pack(f">h{len(elements)}h", len(elements), *elements) + body


def merge(a, b):
    if a[0] != b[0]:
        return max(a, b, key=lambda shard: [REMOTE, LOCAL, GLOBAL].index(shard[0]))
    if a[0] == LOCAL:
        return (LOCAL, a[1] + b[1], a[2] + b[2])
    return max(a, b, key=lambda shard: shard[1:])


def merge_all(contexts):
    merged = {}
    for one in contexts:
        for key, shard in one.items():
            merged[key] = merge(merged[key], shard) if key in merged else shard
    return merged


def fits(merged):
    return all(clock < 2**63 and -2**63 <= count < 2**63 for _, clock, count in merged.values())


def shards_of(db, cell):
    return {row[0]: row[1:] for row in
            db.execute("SELECT id, clock, value FROM counter_shards(?)", [cell])}


def text(key):
    digits = key.hex()
    return "-".join([digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]])


@given(contexts=lists(shards([GLOBAL, LOCAL, REMOTE]), min_size=1, max_size=4))
def test_versions_merge_by_the_kinds_of_their_shards(db, contexts):
    merged = merge_all(contexts)
    sql = f"SELECT counter_from_cassandra({', '.join('?' * len(contexts))})"
    versions = [context(one) for one in contexts]
    if not fits(merged):
        with pytest.raises(Exception, match="local shards of .* an integer overflow"):
            db.execute(sql, versions)
        return
    cell = db.execute(sql, versions).fetchone()[0]
    assert shards_of(db, cell) == {text(key): shard[1:] for key, shard in merged.items()}


@given(one=shards([GLOBAL]))
def test_a_cell_comes_back_from_its_context_as_it_was(db, one):
    raw = context(one)
    cell = db.execute("SELECT counter_from_cassandra(?)", [raw]).fetchone()[0]
    back = db.execute("SELECT counter_to_cassandra(?)", [cell]).fetchone()[0]
    assert back == (raw if one else None)


@given(raw=binary(max_size=140) | shards([GLOBAL, LOCAL]).map(context))
def test_bytes_are_a_cell_or_an_error(db, raw):
    try:
        cell = db.execute("SELECT counter_from_cassandra(?)", [raw]).fetchone()[0]
    except Exception as error:
        assert "counter_from_cassandra: context 1 " in str(error)
        return
    if cell is None:
        return
    total = sum(count for _, count in shards_of(db, cell).values())
    if -2**63 <= total < 2**63:
        assert db.execute("SELECT counter_value(?)", [cell]).fetchone()[0] == total
    else:
        with pytest.raises(Exception, match="counter_value: integer overflow"):
            db.execute("SELECT counter_value(?)", [cell]).fetchone()


def cell_of(n):
    """n shards (i, clock 1, value 1)."""
    return b"\xc1\x01" + b"".join(i.to_bytes(16, "big") + b"\x01\x02" for i in range(1, n + 1))


def test_a_context_has_32767_shards_at_most(db):
    sql = "SELECT counter_to_cassandra(?)"
    assert len(db.execute(sql, [cell_of(32767)]).fetchone()[0]) == 2 + 34 * 32767
    with pytest.raises(Exception, match="32768 shards, a context can have 32767"):
        db.execute(sql, [cell_of(32768)]).fetchone()


MANY = """
import sys
from files import connect
db = connect(":memory:")
shards = ", ".join(f"(x'{i:032x}', 1, 1)" for i in range(5000))
one, = db.execute("SELECT counter_to_cassandra(counter_collect(column1, column2, column3)) FROM (VALUES " + shards + ")").fetchone()
db.execute("PRAGMA hard_heap_limit = 20000000")
print(db.execute("SELECT counter_value(counter_from_cassandra(" + ", ".join(["?1"] * 100) + "))", [one]).fetchone()[0])
"""


def test_many_contexts_of_the_same_shards_need_room_for_one():
    """The room grows with what was merged, and not with all arguments. In a process of its own,
    whose heap stays limited."""
    done = subprocess.run([sys.executable, "-c", MANY], cwd=os.path.dirname(__file__), capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("5000\n", "")
