"""test_parts.py - files that give each other lines, in which a row has only the parts that have changed.

Files count, reset, delete, write rows of a replicated table, fold, add and drop columns, untrack and track again, are
restored, and take lines of each other: from their mark, from any lower number, from a mark of what came by a pull, late,
twice, in another order; or lose them. Whatever comes by lines is an answer to a mark. So once all have taken what is
behind the marks, directly or through others, whole rows bring nothing more.
"""

import contextlib
import json
import os
import random
import shutil
import sqlite3

import pytest

from conftest import EXAMPLES, SEED, needs_journal
from files import connect, optimize

KEYS = "abc"
TABLES = ["t", "r_counters", "p_counters"]


def rows(db, sql, *arguments):
    return db.execute(sql, arguments).fetchall()


def value(db, sql, *arguments):
    return db.execute(sql, arguments).fetchone()[0]


class File:
    """`ops`: the increments of t that are surely in it; `perhaps`: and those that may be."""

    def __init__(self, path):
        self.path, self.ops, self.perhaps = str(path), set(), set()
        self.open()
        self.db.execute("CREATE VIRTUAL TABLE t USING counter(k TEXT PRIMARY KEY, n COUNTER, m COUNTER)")
        self.db.execute("CREATE TABLE r(k TEXT PRIMARY KEY NOT NULL, v, n INTEGER)")
        self.db.execute("CREATE TABLE p(k TEXT PRIMARY KEY NOT NULL, a INTEGER, b INTEGER)")
        rows(self.db, "SELECT counter_replicate('r', 'n')")
        rows(self.db, "SELECT counter_track('p', 'a', 'b')")
        self.backup = None

    def open(self):
        self.db = connect(self.path)
        self.db.execute("PRAGMA synchronous = OFF")

    def count(self, op):
        self.db.execute("INSERT INTO t(k, n) VALUES ('sum', 1)")
        self.ops.add(op)

    def keep(self):
        self.db.close()
        shutil.copyfile(self.path, self.path + ".backup")
        self.backup = set(self.ops), set(self.perhaps)
        self.open()

    def restore(self, draw):
        if not self.backup:
            return
        self.db.close()
        if draw.random() < 0.5:
            shutil.copyfile(self.path + ".backup", self.path)
        else:
            shutil.copyfile(self.path + ".backup", self.path + ".new")
            os.replace(self.path + ".new", self.path)
        self.ops, self.perhaps = set(self.backup[0]), set(self.backup[1])
        self.open()

    def act(self, draw):
        key = draw.choice(KEYS)
        n = draw.randint(-5, 9)
        sql, *arguments = draw.choice([
            ("INSERT INTO t(k, n) VALUES (?, ?)", key, n), (f"INSERT INTO t(k, {self.counter(draw)}) VALUES (?, ?)", key, n),
            ("INSERT INTO t(k, n) VALUES (?, ?)", key, n), ("UPDATE t SET n = n + 1 WHERE k = ?", key),
            ("INSERT INTO t(t, k) VALUES ('reset', ?)", key), ("DELETE FROM t WHERE k = ?", key),
            ("INSERT OR IGNORE INTO r(k, v, n) VALUES (?, ?, ?)", key, draw.random(), n),
            ("INSERT OR REPLACE INTO r(k, v, n) VALUES (?, ?, ?)", key, draw.random(), n),
            ("UPDATE r SET v = ? WHERE k = ?", draw.random(), key), ("UPDATE r SET n = n + 3 WHERE k = ?", key),
            ("UPDATE r SET v = ?, n = n - 1 WHERE k = ?", draw.random(), key), ("DELETE FROM r WHERE k = ?", key),
            ("INSERT OR IGNORE INTO p VALUES (?, 0, 0)", key), ("UPDATE p SET a = a + ? WHERE k = ?", n, key),
            ("UPDATE p SET b = b + 1", ), ("DELETE FROM p WHERE k = ?", key)])
        self.db.execute(sql, arguments)

    def counter(self, draw):
        return draw.choice([row[1] for row in rows(self.db, "PRAGMA table_info(t)")][1:])

    def change_columns(self, draw):
        what = draw.choice(["drop", "add", "column", "column", "write", "again", "untrack"])
        extra = [name for _, name, *_ in rows(self.db, "PRAGMA table_info(r)") if name in "xy"]
        with contextlib.suppress(sqlite3.OperationalError):
            if what == "drop":
                self.db.execute("INSERT INTO t(t) VALUES ('drop column m')")
            elif what == "add":
                self.db.execute("INSERT INTO t(t) VALUES ('add column m')")
            elif what == "column":
                self.add_column(draw.choice("xy"))
            elif what == "write" and extra:
                self.db.execute(f"UPDATE r SET {draw.choice(extra)} = ?", [draw.random()])
            elif what == "again":
                rows(self.db, "SELECT counter_replicate('r')")
            elif what == "untrack":
                rows(self.db, "SELECT counter_untrack('p', 'b')")
                rows(self.db, "SELECT counter_track('p', 'b')")

    def add_column(self, name):
        default = {"x": "", "y": " DEFAULT 7"}[name]
        if name not in [row[1] for row in rows(self.db, "PRAGMA table_info(r)")]:
            self.db.execute(f"ALTER TABLE r ADD COLUMN {name}{default}")
            rows(self.db, "SELECT counter_replicate('r')")

    def source(self, how):
        return value(self.db, "SELECT counter_source(?, ?)", *how)

    def lines(self, since, how):
        return [line for line, in rows(self.db, "SELECT line FROM counter_lines(?, ?, ?)", since, *how)]

    def mark(self, source):
        return value(self.db, "SELECT counter_mark(?)", source)

    def take(self, lines):
        """Returns whether they were taken: files that disagree on a column refuse."""
        if not lines:
            return True
        try:
            rows(self.db, "SELECT counter_take(?)", "\n".join(lines))
        except sqlite3.OperationalError:
            return False
        return True

    def digests(self):
        return [value(self.db, "SELECT counter_table_digest(?)", table) for table in TABLES]

    def shows(self):
        """Whose column b is tracked no longer has a value of its own there; a row of which only that was left stays."""
        m = "m" if "m" in [row[1] for row in rows(self.db, "PRAGMA table_info(t)")] else "NULL"
        return [sorted(rows(self.db, sql), key=repr)
                for sql in (f"SELECT k, n, {m} FROM t", "SELECT k, v, n, x, y FROM r", "SELECT k, a FROM p WHERE a IS NOT NULL")]


ALL = (0, None)
WAYS = [ALL, ALL, ALL, (1, None), (0, '["a"]'), (0, '["sum"]')]


def in_short_lines(draw, lines):
    """As the library does it if lines are full: a line ends before another number begins."""
    short = []
    for line in map(json.loads, lines):
        changes = line["changes"]
        places = [0 if change["change"].startswith(("03", "04")) else change["seq"] for change in changes]
        assert places == sorted(places)
        cuts = [i for i in range(1, len(changes)) if places[i] > places[i - 1] and places[i] > line["since"]]
        cuts = sorted(draw.sample(cuts, min(len(cuts), 3)))
        for begin, end in zip([0, *cuts], [*cuts, len(changes)]):
            short.append({**line, "since": places[begin] if begin else line["since"], "changes": changes[begin:end],
                          "upto": places[end] if end < len(changes) else line["upto"]})
    return [json.dumps(line) for line in short]


def meet(draw, one, other, late):
    how = draw.choice(WAYS)
    source = other.source(how)
    mark = one.mark(source)
    since = draw.choice([mark, mark, mark, mark, 0, draw.randint(0, mark)])
    batch = other.lines(since, how)
    fate = draw.random()
    if draw.random() < 0.3:
        batch = in_short_lines(draw, batch)
        if draw.random() < 0.5:
            one.take(batch[:draw.randint(0, len(batch))])
            one.perhaps |= other.ops | other.perhaps
            return
    if fate < 0.1:
        return
    if fate < 0.3:
        late.append((batch, set(other.ops | other.perhaps)))
        return
    if one.take(batch):
        one.perhaps |= other.ops | other.perhaps
        if how == ALL:
            one.ops |= other.ops


def take_late(draw, one, late):
    if late:
        batch, perhaps = draw.choice(late)
        if draw.random() < 0.3:
            batch = draw.sample(batch, len(batch))
        if one.take(batch):
            one.perhaps |= perhaps


def some_links(draw, files):
    """Who takes from whom: from everybody, around a ring, or through the first one."""
    kind, n = draw.choice(["all", "ring", "star"]), len(files)
    if kind == "ring":
        return [(files[i], files[(i + 1) % n]) for i in range(n)]
    return [(one, other) for one in files for other in files
            if one is not other and (kind == "all" or files[0] in (one, other))]


def take_all(links, since_mark):
    for one, other in links:
        assert one.take(other.lines(one.mark(other.source(ALL)) if since_mark else 0, ALL))


def pulls(draw, one, other):
    how = draw.choice(["counter_pull", "counter_sync", "counter_push"])
    with contextlib.suppress(sqlite3.OperationalError):
        rows(one.db, f"SELECT * FROM {how}(?)", other.path)
        for to, by in ((one, other), (other, one)) if how == "counter_sync" else \
                ((one, other),) if how == "counter_pull" else ((other, one),):
            to.ops |= by.ops
            to.perhaps |= by.perhaps


def agree(files, links):
    """All have the same columns, and take up each other's."""
    for file in files:
        for name in "xy":
            file.add_column(name)
        with contextlib.suppress(sqlite3.OperationalError):  # it has no values of its own
            rows(file.db, "SELECT counter_opening('p', 'same')")
    for _ in range(len(files) + 3):
        take_all(links, True)


@pytest.mark.parametrize("number", range(max(4, EXAMPLES // 4)))
def test_once_all_have_taken_what_is_behind_their_marks_whole_rows_bring_nothing(tmp_path, number):
    draw = random.Random(f"{SEED} parts {number}")
    files = [File(tmp_path / f"{i}.db") for i in range(draw.randint(2, 4))]
    late, links = [], some_links(draw, files)
    restores, columns, mixes = draw.random() < 0.5, draw.random() < 0.5, draw.random() < 0.3
    for op in range(draw.choice([30, 120, 300])):
        one, other = draw.choice(links)
        what = draw.random()
        if what < 0.35:
            one.act(draw)
        elif what < 0.5:
            one.count(op)
        elif what < 0.55:
            optimize(one.db, draw.choice(TABLES))
        elif what < 0.58 and restores:
            draw.choice([one.keep, lambda: one.restore(draw)])()
        elif what < 0.62 and columns:
            one.change_columns(draw)
        elif what < 0.64 and mixes:
            pulls(draw, one, other)
        elif what < 0.72:
            take_late(draw, one, late)
        else:
            meet(draw, one, other, late)
    agree(files, links)
    assert [file.digests() for file in files] == [files[0].digests()] * len(files)
    was, shown = files[0].digests(), files[0].shows()
    assert [file.shows() for file in files] == [shown] * len(files)
    surely, perhaps = set().union(*(file.ops for file in files)), set().union(*(file.ops | file.perhaps for file in files))
    total = sum(n for k, n, *_ in shown[0] if k == "sum")
    assert len(surely) <= total <= len(perhaps)
    if not restores:
        assert surely == perhaps or total >= len(surely)
    take_all(links, False)
    for file in files:
        for other in files:
            if file is not other:
                whole = rows(other.db, "SELECT table_name, key, change, seq, source FROM counter_changes(0)")
                file.db.executemany("INSERT INTO counter_changes(table_name, key, change, seq, source) VALUES (?, ?, ?, ?, ?)", whole)
    assert [file.digests() for file in files] == [was] * len(files)
    assert [file.shows() for file in files] == [shown] * len(files)
    for file in files:
        for table in TABLES:
            file.db.execute(f"INSERT INTO {table}({table}) VALUES ('integrity-check')")
        file.db.close()


@pytest.fixture
def make(tmp_path):
    made = []

    def one(name):
        made.append(File(tmp_path / f"{name}.db"))
        return made[-1]

    yield one
    for file in made:
        file.db.close()


@pytest.mark.parametrize("since", ["zero", "mark"])
@pytest.mark.parametrize("scope", [None, '["a"]'])
def test_a_row_comes_with_the_oldest_of_its_parts_so_that_no_line_raises_a_mark_past_one(make, since, scope):
    first, giver, taker = make("first"), make("giver"), make("taker")
    how = (0, scope)
    giver.db.execute("INSERT INTO t(k, n) VALUES ('z', 1)")
    if since == "mark":
        assert taker.take(giver.lines(0, how))
    first.db.execute("INSERT INTO t(k, n) VALUES ('a', 5)")
    assert giver.take(first.lines(0, ALL))
    for key in "bc" if scope is None else "":
        giver.db.execute("INSERT INTO t(k, n) VALUES (?, 1)", [key])
    giver.db.execute("INSERT INTO r(k, v, n) VALUES ('a', 'b', 1)")
    giver.db.execute("INSERT INTO t(k, n) VALUES ('a', 1)")
    giver.db.execute("UPDATE r SET n = 2")
    lines = giver.lines(taker.mark(giver.source(how)), how)
    cut = in_short_lines(random.Random(1), lines)
    assert len(cut) > 1 and taker.take(cut[:1])
    assert taker.take(giver.lines(taker.mark(giver.source(how)), how))
    assert rows(taker.db, "SELECT k, n FROM t WHERE k = 'a'") == [("a", 6)]
    assert rows(taker.db, "SELECT k, v, n FROM r") == [("a", "b", 2)]


DEVICES = 10001


def many_shards(n, clock=1):
    """A cell with the shards of n devices, as JSON of a change."""
    return f"""SELECT counter_change_of('{{"tells":"row","columns":[{{"name":"n","kind":"counter","generation":1,"cell":' ||
        counter_json(counter_collect(printf('%08x-0000-4000-8000-%012x', value * 2654435761 % 4294967296, value), {clock}, {clock}))
        || '}}]}}') FROM (WITH RECURSIVE r(value) AS (SELECT 1 UNION ALL SELECT value + 1 FROM r WHERE value < {n}) SELECT value FROM r)"""


def bring(db, change):
    db.execute("INSERT INTO counter_changes(table_name, key, change, seq, source) "
               "VALUES ('t', counter_key('a'), ?, 1, '7529cd67-394b-3247-8020-f2a7272fc8d9')", [change])


@pytest.mark.parametrize("folded", [False, True])
def test_one_increment_among_ten_thousand_devices_is_a_download_of_less_than_a_kilobyte(make, folded):
    server, device, other = make("server"), make("device"), make("other")
    bring(server.db, value(server.db, many_shards(DEVICES)))
    assert sum(map(len, server.lines(0, ALL))) > 200000
    for file in device, other:
        assert file.take(server.lines(0, ALL))
    other.db.execute("INSERT INTO t(k, n) VALUES ('a', 1)")
    assert server.take(other.lines(server.mark(other.source((1, None))), (1, None)))
    if folded:
        optimize(server.db, "t")
    lines = server.lines(device.mark(server.source(ALL)), ALL)
    assert sum(map(len, lines)) < 400 and device.take(lines)
    server.db.execute("INSERT INTO t(k, n) VALUES ('a', 1)")
    lines = server.lines(device.mark(server.source(ALL)), ALL)
    assert sum(map(len, lines)) < 400 and device.take(lines)
    assert value(device.db, "SELECT n FROM t WHERE k = 'a'") == DEVICES + 2
    assert server.digests() == device.digests()


@needs_journal
def test_a_segment_lists_255_writers_of_a_row_and_older_ones_with_the_whole_row(make):
    server, device = make("server"), make("device")
    bring(server.db, value(server.db, many_shards(300)))
    assert device.take(server.lines(0, ALL))
    marks = []
    for clock in 2, 3:
        for writer in range(1, 301):
            marks.append(value(server.db, "SELECT counter_changes_end()"))
            bring(server.db, value(server.db, many_shards(300, clock).replace("SELECT 1 UNION", f"SELECT {writer} UNION")
                                   .replace("< 300", f"< {writer}")))
        optimize(server.db, "t")
    sizes = [sum(len(change["change"]) // 2 for line in server.lines(mark, ALL) for change in json.loads(line)["changes"])
             for mark in marks]
    assert sizes[0] == sizes[300] == sizes[340] > 18 * 300 > 19 * 255 > sizes[350]  # two writers may be one part
    assert sizes[-1] < 40 and sorted(sizes, reverse=True) == sizes
    assert device.take(server.lines(marks[450], ALL)) and device.take(server.lines(device.mark(server.source(ALL)), ALL))
    assert server.digests() == device.digests()


def test_shards_that_a_token_may_not_bring_come_from_their_own_device(make):
    server, one, other = make("server"), make("one"), make("other")
    server.db.executescript("""CREATE TABLE counter_http_tokens(token TEXT PRIMARY KEY, device TEXT NOT NULL UNIQUE);
        CREATE TABLE counter_http_ids(id TEXT PRIMARY KEY, token TEXT NOT NULL);
        INSERT INTO counter_http_tokens VALUES ('1', 'one'), ('2', 'other')""")

    def upload(file, token):
        lines = file.lines(server.mark(file.source((1, None))), (1, None))
        return json.loads(value(server.db, "SELECT counter_receive(?, ?)", token, "\n".join(lines)))

    other.db.execute("INSERT INTO t(k, n) VALUES ('a', 1)")
    upload(other, "2")
    other.db.execute("INSERT INTO t(k, n) VALUES ('a', 10)")
    one.db.execute("INSERT INTO t(k, n) VALUES ('a', 100)")
    rows(one.db, "SELECT * FROM counter_pull(?)", other.path)
    assert upload(one, "1")["skipped"] == 1
    one.db.execute("INSERT INTO t(k, n) VALUES ('a', 1000)")
    assert upload(one, "1")["skipped"] == 1  # until the other one has brought it
    assert value(server.db, "SELECT n FROM t") == 1101
    upload(other, "2")
    assert value(server.db, "SELECT n FROM t") == 1111 and server.digests() == one.digests()


@pytest.mark.parametrize("what", ["table", "column", "restore", "fork"])
def test_what_voids_state_voids_marks(make, tmp_path, what):
    giver, taker = make("giver"), make("taker")
    giver.db.execute("INSERT INTO t(k, n, m) VALUES ('a', 1, 2)")
    giver.db.execute("INSERT INTO r(k, v, n) VALUES ('a', 'v', 3)")
    giver.add_column("x")
    giver.db.execute("UPDATE r SET x = 'x'")
    assert taker.take(giver.lines(0, ALL))
    if what == "restore":
        taker.keep()
        taker.db.execute("INSERT INTO t(k, n) VALUES ('b', 1)")
    giver.db.execute("INSERT INTO t(k, n) VALUES ('a', 10)")
    giver.db.execute("UPDATE r SET n = n + 10")
    assert taker.take(giver.lines(taker.mark(giver.source(ALL)), ALL))
    if what == "table":
        taker.db.execute("DROP TABLE t")
        taker.db.execute("CREATE VIRTUAL TABLE t USING counter(k TEXT PRIMARY KEY, n COUNTER, m COUNTER)")
        assert taker.mark(giver.source(ALL)) == 0
    elif what == "column":
        taker.add_column("x")
        assert taker.mark(giver.source(ALL)) == 0
    elif what == "restore":
        taker.restore(random.Random(1))
    else:
        rows(taker.db, "SELECT counter_fork()")
    giver.db.execute("INSERT INTO t(k, n) VALUES ('a', 100)")
    giver.db.execute("UPDATE r SET n = n + 100")
    taker.add_column("x")
    assert taker.take(giver.lines(taker.mark(giver.source(ALL)), ALL))
    assert rows(taker.db, "SELECT k, n, m FROM t") == [("a", 111, 2)]
    assert rows(taker.db, "SELECT k, v, n, x FROM r") == [("a", "v", 113, "x")]
    assert taker.digests() == giver.digests()
