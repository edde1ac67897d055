"""test_echo.py - what a device has brought itself is not sent back to it, unless it has lost it.

Devices count, and sync with a file that serves them: each sends the mark of it that the server had confirmed before, its
own changes, and takes the answer. Answers are lost, devices and the server are restored, also by snapshots of a machine
that a file cannot notice, and devices give each other everything. Whoever has synced knows all that the server knows.
"""

import json
import os
import random

import pytest

from conftest import EXAMPLES, SEED, needs_journal
from files import connect, optimize


def rows(db, sql, *arguments):
    return db.execute(sql, arguments).fetchall()


def value(db, sql, *arguments):
    return db.execute(sql, arguments).fetchone()[0]


class File:
    """`ops`: the increments that are in it; `own`: those that it uploads."""

    def __init__(self, path):
        self.path, self.ops, self.own, self.snapshot = str(path), set(), set(), None
        self.open()
        self.db.execute("CREATE VIRTUAL TABLE t USING counter(k TEXT PRIMARY KEY, n COUNTER)")
        self.db.execute("CREATE TABLE r(k TEXT PRIMARY KEY NOT NULL, v, n INTEGER)")
        rows(self.db, "SELECT counter_replicate('r', 'n')")

    def open(self):
        self.db = connect(self.path)
        self.db.execute("PRAGMA synchronous = OFF")

    def count(self, op, draw):
        key = draw.choice("abc")
        self.db.execute("INSERT INTO t VALUES (?, 1)", [key])
        if draw.random() < 0.3:
            self.db.execute(*draw.choice([
                ("INSERT OR IGNORE INTO r VALUES (?, ?, 1)", (key, draw.random())), ("UPDATE r SET n = n + 1", ()),
                ("UPDATE r SET v = ? WHERE k = ?", (draw.random(), key)), ("DELETE FROM r WHERE k = ?", (key,))]))
        self.ops.add(op)
        self.own.add(op)

    def keep(self):
        self.db.close()
        with open(self.path, "rb") as file:
            content = file.read()
        self.snapshot = content, {name: os.getxattr(self.path, name) for name in os.listxattr(self.path)}, set(self.ops), set(self.own)
        self.open()

    def restore(self, unnoticed):
        """The snapshot of a machine brings the attributes back, too."""
        content, attributes, ops, own = self.snapshot
        self.db.close()
        with open(self.path, "r+b") as file:
            file.write(content)
            file.truncate()
        if unnoticed:
            for name in os.listxattr(self.path):
                os.removexattr(self.path, name)
            for name, bytes in attributes.items():
                os.setxattr(self.path, name, bytes)
        self.ops, self.own = set(ops), set(own)
        self.open()

    def lines(self, *arguments):
        given = ", ".join("?" * len(arguments))
        return [line for line, in rows(self.db, f"SELECT line FROM counter_lines({given})", *arguments)]

    def take(self, lines):
        return json.loads(value(self.db, "SELECT counter_take(?)", "\n".join(lines))) if lines else {}

    def mark(self, source):
        return value(self.db, "SELECT counter_mark(?)", source)

    def source(self, own=0):
        return value(self.db, "SELECT counter_source(?)", own)

    def confirmed(self):
        """What it believes the server's mark of it to be."""
        return value(self.db, "SELECT mine FROM counter_request('http://server')")

    def hear(self, source, of, mark, sent):
        head = {"format": 1, "source": source, "more": False, "changes": 0, "skipped": 0, "marks": {of: mark}, "warnings": []}
        rows(self.db, "SELECT * FROM counter_heard('http://server', ?, ?)", json.dumps(head), sent)

    def sum(self):
        return value(self.db, "SELECT total(n) FROM t")

    def digests(self):
        return [value(self.db, "SELECT counter_table_digest(?)", table) for table in ("t", "r_counters")]


def sync(device, server, lost=None):
    """One request. Returns the answer, or None if that is lost, or the request."""
    of, source, mine = device.source(1), server.source(), device.confirmed()
    if lost == "request":
        return None
    before = server.mark(of)
    given = device.lines(before, 1)
    server.take(given)
    server.ops |= device.own
    left_out = (of, server.mark(of)) if before == mine and before else (None, None)
    answer = server.lines(device.mark(source), 0, None, *left_out)
    if lost == "answer":
        return None
    device.take(answer)
    device.ops |= server.ops
    device.hear(source, of, server.mark(of), json.loads(given[-1])["upto"] if given else before)
    return answer


def told(answer):
    return [change for line in answer for change in json.loads(line)["changes"]]


@pytest.mark.parametrize("number", range(max(6, EXAMPLES // 3)))
def test_whoever_has_synced_knows_all_that_the_server_knows(tmp_path, number):
    draw = random.Random(f"{SEED} echo {number}")
    server, *devices = files = [File(tmp_path / f"{i}.db") for i in range(draw.randint(2, 4))]
    for op in range(draw.choice([20, 60, 150])):
        device, what = draw.choice(devices), draw.random()
        if what < 0.4:
            device.count(op, draw)
        elif what < 0.43:
            server.count(op, draw)
        elif what < 0.48:
            draw.choice(files).keep()
        elif what < 0.53 and device.snapshot:
            device.restore(draw.random() < 0.7)
            sync(device, server)  # before it counts: else two counts have one clock
        elif what < 0.55 and server.snapshot:
            server.restore(False)
        elif what < 0.58:
            optimize(draw.choice(files).db, "t")
        elif what < 0.64:
            other = draw.choice(devices)
            if other is not device:
                device.take(other.lines(device.mark(other.source())))
                device.ops |= other.ops
        else:
            sync(device, server, draw.choice([None, None, None, "request", "answer"]))
    for device in devices * 2:
        sync(device, server)
        was = device.digests()
        assert device.sum() >= server.sum() >= len(server.ops)
        device.take(server.lines(0))
        assert device.digests() == was
    for device in devices * 2:  # what a restored server has lost, and a device has of others, is no change of its own
        server.take(device.lines(server.mark(device.source())))
        sync(device, server)
    for device in devices:
        sync(device, server)
    assert [file.digests() for file in files] == [server.digests()] * len(files)


@pytest.fixture
def pair(tmp_path):
    files = [File(tmp_path / f"{name}.db") for name in ("server", "device")]
    yield files
    for file in files:
        file.db.close()


@needs_journal
def test_a_device_is_not_sent_back_what_it_has_brought(pair):
    server, device = pair
    server.count(1, random.Random(0))
    sync(device, server)
    for _ in range(3):
        device.db.execute("INSERT INTO t VALUES ('mine', 1)")
        device.db.execute("INSERT OR IGNORE INTO r VALUES ('mine', 1, 1)")
        answer = sync(device, server)
        assert told(answer) == [] and device.mark(server.source()) == value(server.db, "SELECT counter_changes_end()")
    server.db.execute("INSERT INTO t VALUES ('mine', 1)")
    device.db.execute("INSERT INTO t VALUES ('mine', 1)")
    change, = told(sync(device, server))
    assert len(rows(device.db, "SELECT * FROM counter_change(?)", bytes.fromhex(change["change"]))) == 1
    assert value(device.db, "SELECT n FROM t WHERE k = 'mine'") == 5


@needs_journal
@pytest.mark.parametrize("lost", ["request", "answer"])
def test_after_a_lost_answer_everything_comes(pair, lost):
    server, device = pair
    server.count(1, random.Random(0))
    sync(device, server)
    device.db.execute("INSERT INTO t VALUES ('mine', 1)")
    sync(device, server, lost)
    assert len(told(sync(device, server))) == (lost == "answer")
    device.db.execute("INSERT INTO t VALUES ('mine', 1)")
    assert told(sync(device, server)) == []


def test_a_machine_that_was_set_back_learns_it_by_its_own_counts(pair):
    server, device = pair
    server.count(1, random.Random(0))
    sync(device, server)
    device.keep()
    for _ in range(20):
        device.db.execute("INSERT INTO t VALUES ('mine', 1)")
    sync(device, server)
    device.restore(True)
    sync(device, server)
    for _ in range(7):
        device.db.execute("INSERT INTO t VALUES ('mine', 1)")
    sync(device, server)
    assert [value(file.db, "SELECT n FROM t WHERE k = 'mine'") for file in pair] == [27, 27]


def test_what_came_above_the_mark_is_no_echo(pair):
    """A batch that came before those between leaves the mark as it was, so a machine that was set back believes in it."""
    server, device = pair
    server.count(1, random.Random(0))
    sync(device, server)
    device.db.execute("INSERT INTO t VALUES ('mine', 1)")
    sync(device, server)
    device.keep()
    device.db.execute("INSERT INTO t VALUES ('mine', 1)")
    lost = value(device.db, "SELECT counter_changes_end()")
    device.db.execute("INSERT INTO t VALUES ('mine', 1)")
    server.take(device.lines(lost, 1))
    device.restore(True)
    assert server.mark(device.source(1)) == device.confirmed() > 0
    assert len(told(sync(device, server))) == 1
    assert value(device.db, "SELECT n FROM t WHERE k = 'mine'") == 3


def test_a_file_with_a_new_table_has_nothing_confirmed(pair):
    server, device = pair
    server.count(1, random.Random(0))
    sync(device, server)
    device.db.execute("INSERT INTO t VALUES ('mine', 1)")
    sync(device, server)
    assert device.confirmed() == server.mark(device.source(1)) > 0
    device.db.execute("DROP TABLE t")
    device.db.execute("CREATE VIRTUAL TABLE t USING counter(k TEXT PRIMARY KEY, n COUNTER)")
    assert device.confirmed() == 0
    sync(device, server)
    assert value(device.db, "SELECT n FROM t WHERE k = 'mine'") == 1


def test_a_mark_that_another_name_had_is_not_that_of_this_one(pair):
    server, device = pair
    server.count(1, random.Random(0))
    device.db.execute("INSERT INTO t VALUES ('mine', 1)")
    sync(device, server)
    assert device.confirmed() > 0
    rows(device.db, "SELECT counter_fork()")
    assert device.confirmed() == 0


def test_what_a_twin_brings_below_the_mark_is_told_to_the_other(pair):
    """A copy of a machine: both count under one id, and one of them had counted before the other synced."""
    server, device = pair
    device.db.execute("INSERT INTO t VALUES ('mine', 1)")
    for _ in range(2):
        sync(device, server)
    states = {}

    def as_twin(name, *steps):
        if name in states:
            device.snapshot = states[name]
            device.restore(True)
        for step in steps:
            step()
        device.keep()
        states[name] = device.snapshot

    def count(n):
        return lambda: device.db.execute("INSERT INTO t VALUES ('mine', ?)", [n])

    device.keep()
    states["one"] = states["other"] = device.snapshot
    as_twin("other", count(10))
    as_twin("one", lambda: device.db.execute("INSERT INTO t VALUES ('else', 1)"), lambda: sync(device, server))
    as_twin("other", lambda: sync(device, server))
    as_twin("one", lambda: sync(device, server), count(5), lambda: sync(device, server))
    for name in 2 * ["other", "one"]:
        as_twin(name, lambda: sync(device, server))
        assert value(device.db, "SELECT n FROM t WHERE k = 'mine'") == value(server.db, "SELECT n FROM t WHERE k = 'mine'") == 16
