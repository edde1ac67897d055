"""test_all_ways.py - one world for all ways by which a change can come: pull, push, sync, parts, rows of the feed in any order,
lines, own lines, a directory, requests to a server. Files count, write rows that refer to each other, delete, add columns, are
copied and restored; whichever way they then meet, their states agree, no increment is lost or doubled, and where a row shows
something else, some file lists it. Values too large for lines are listed, too: no way gives another value under the stamp of
one, and pulls bring them, unless the file that had one was restored. make test-bounds has lines that carry little."""
import contextlib
import json
import os
import random
import shutil
import sqlite3

import pytest

from conftest import EXAMPLES, SEED
from files import EXTENSION, connect

TABLES = [
    "CREATE TABLE customers(id TEXT PRIMARY KEY COLLATE NOCASE NOT NULL, name TEXT, mail TEXT UNIQUE, visits INTEGER NOT NULL DEFAULT 0)",
    "CREATE TABLE orders(id TEXT PRIMARY KEY NOT NULL, customer TEXT COLLATE NOCASE REFERENCES customers(id) {0}, total INTEGER CHECK (total < 40))",
    "CREATE TABLE folders(id INTEGER PRIMARY KEY, inside INTEGER REFERENCES folders(id) {1}, name TEXT NOT NULL DEFAULT 'x')",
    "CREATE TABLE stock(sku TEXT PRIMARY KEY NOT NULL, n INTEGER NOT NULL DEFAULT 0, place TEXT)",
    "CREATE VIRTUAL TABLE hits USING counter(page TEXT PRIMARY KEY, n COUNTER, m COUNTER)",
    "CREATE TABLE notes(id TEXT PRIMARY KEY NOT NULL, more BLOB, said TEXT NOT NULL, n INTEGER NOT NULL DEFAULT 0, author TEXT REFERENCES customers(id) {1})",
    "CREATE TABLE log(said TEXT)",
    "CREATE TRIGGER orders_said AFTER UPDATE ON orders BEGIN INSERT INTO log VALUES (new.id); END"]
CALLS = ["counter_replicate('customers', 'visits')", "counter_replicate('orders', 'total')",
         "counter_replicate('folders', 'keys=assigned')", "counter_track('stock', 'n')", "counter_replicate('notes', 'n')"]
COUNTED = ["customers_counters", "orders_counters", "folders_counters", "stock_counters", "notes_counters", "hits"]
ACTIONS = ["", "ON DELETE CASCADE", "ON DELETE SET NULL", "DEFERRABLE INITIALLY DEFERRED", "ON UPDATE CASCADE ON DELETE SET NULL"]


SIZES = [0, 5, 60, 90, 170, 199, 1000]
LARGE = [2 << 20, 4 << 20]  # two of the first are too much for a line, as one of the second is
STATES = """
SELECT table_name, lower(counter_key_json(key)), column_name, life, stamp, writer, length(CAST(value AS BLOB)), hex(substr(CAST(value AS BLOB), 1, 30)), too_large
  FROM counter_changes(0) AS f, counter_change(f.change) AS c WHERE c.kind IN ('regular', 'row')"""


class File:
    """`ops`: the increments of the page 'sum' that are in it; `own`: those that it made, or first got by a merge with a file; `made`: all
    that it ever made; `shared`: what is in the directory, also of files that have lost it. A shard brings all increments up to its
    clock, so a file may have more than these: `clocks` tells the id and clock of each that was ever made."""

    def __init__(self, path, enforced, shared, clocks):
        self.path, self.enforced, self.shared, self.clocks = str(path), enforced, shared, clocks
        self.ops, self.own, self.made, self.backup = set(), set(), set(), None

    def open(self):
        self.db = connect(self.path, timeout=10)
        self.db.enable_load_extension(True)
        self.db.execute("SELECT load_extension(?, 'sqlite3_counter_folders_init')", (EXTENSION,))
        self.db.execute("PRAGMA synchronous = OFF")
        self.db.execute(f"PRAGMA foreign_keys = {self.enforced}")
        return self

    def rows(self, sql, *values):
        return self.db.execute(sql, values).fetchall()

    def value(self, sql, *values):
        return self.rows(sql, *values)[0][0]

    def count(self, op):
        self.db.execute("INSERT INTO hits(page, n) VALUES ('sum', 1)")
        self.ops.add(op)
        self.own.add(op)
        self.made.add(op)
        own = self.value("SELECT id FROM counter_identity()")
        self.clocks[op] = own, self.shards()[own]

    def shards(self):
        """The clocks of the page 'sum', by id."""
        return dict(self.rows("""SELECT s.id, s.clock FROM counter_cells('hits') AS c, counter_shards(c.cell) AS s
                                  WHERE c.key = '["sum"]' AND c.column_name = 'n'"""))

    def held(self):
        shards = self.shards()
        return {op for op, (made_by, clock) in self.clocks.items() if clock <= shards.get(made_by, 0)}

    def write_note(self, draw):
        key, author, number, n = draw.choice("abcd"), draw.choice("abcdAB"), draw.randint(1, 6), draw.randint(-5, 9)
        one, two = (f"{draw.random():.17f}" + "x" * draw.choice(SIZES if draw.random() < 0.97 else LARGE) for _ in range(2))
        mail = draw.choice([one[:3], one]) if len(one) < 1000 else "m" * 1000  # so that two are the same at times
        sql, values = draw.choice([
            ("INSERT OR IGNORE INTO notes(id, more, said, n) VALUES (?, ?, ?, ?)", [key, one.encode(), two, n]),
            ("INSERT OR IGNORE INTO notes(id, said, author) VALUES (?, ?, ?)", [key, two, author]),
            ("INSERT INTO notes(id, said) VALUES (?, ?) ON CONFLICT DO UPDATE SET said = excluded.said, n = n + 1", [key, two]),
            ("UPDATE notes SET said = ? WHERE id = ?", [two, key]), ("UPDATE notes SET more = ? WHERE id = ?", [one, key]),
            ("UPDATE notes SET n = n + 1, more = ? WHERE id = ?", [one, key]), ("UPDATE notes SET n = n + 1", []),
            ("UPDATE notes SET author = ? WHERE id = ?", [author, key]), ("DELETE FROM notes WHERE id = ?", [key]),
            ("REPLACE INTO notes(id, more, said) VALUES (?, NULL, ?)", [key, two]),
            ("UPDATE OR IGNORE notes SET id = ? WHERE id = ?", [draw.choice("abcd"), key]),
            ("UPDATE OR IGNORE customers SET mail = ? WHERE id = ?", [mail, author]),
            ("UPDATE customers SET name = ? WHERE id = ?", [one, author]), ("UPDATE folders SET name = ? WHERE id = ?", [one, number])])
        with contextlib.suppress(sqlite3.IntegrityError):
            self.db.execute(sql, values)

    def act(self, draw):
        key, other, n = draw.choice("abcd"), draw.choice("abcdAB"), draw.randint(-5, 9)
        sql, values = draw.choice([
            ("INSERT OR IGNORE INTO customers(id, name, mail, visits) VALUES (?, ?, ?, ?)", [other, f"{n}", draw.choice([None, f"{n}@"]), n]),
            ("UPDATE customers SET visits = visits + ? WHERE id = ?", [n, other]),
            ("UPDATE OR IGNORE customers SET name = ?, mail = ? WHERE id = ?", [f"{n}", f"{n}@", other]),
            ("DELETE FROM customers WHERE id = ?", [other]), ("REPLACE INTO customers(id, name) VALUES (?, 'again')", [other]),
            ("INSERT OR IGNORE INTO orders VALUES (?, ?, ?)", [key, other, n]), ("UPDATE orders SET total = total + ?", [n]),
            ("UPDATE orders SET customer = ? WHERE id = ?", [other, key]), ("DELETE FROM orders WHERE id = ?", [key]),
            ("INSERT OR IGNORE INTO folders VALUES (?, ?, ?)", [draw.randint(1, 6), draw.choice([None, draw.randint(1, 6)]), key]),
            ("UPDATE folders SET inside = ? WHERE id = ?", [draw.choice([None, draw.randint(1, 6)]), draw.randint(1, 6)]),
            ("DELETE FROM folders WHERE id = ?", [draw.randint(1, 6)]), ("UPDATE folders SET name = name || ?", [key]),
            ("INSERT OR IGNORE INTO stock VALUES (?, ?, 'here')", [key, n]), ("UPDATE stock SET n = n + ?", [n]),
            ("DELETE FROM stock WHERE sku = ?", [key]), ("INSERT INTO hits(page, n, m) VALUES (?, ?, 1)", [key, n]),
            ("DELETE FROM hits WHERE page = ?", [key]), ("INSERT INTO hits(hits, page) VALUES ('reset', ?)", [key]),
            ("INSERT INTO hits(hits) VALUES ('optimize')", [])])
        with contextlib.suppress(sqlite3.IntegrityError):
            self.db.execute(sql, values)

    def add_column(self, name):
        if name not in [row[1] for row in self.rows("PRAGMA table_info(customers)")]:
            self.db.execute(f"ALTER TABLE customers ADD COLUMN {name}{' DEFAULT 7' if name == 'y' else ''}")
            self.rows("SELECT counter_replicate('customers')")

    def keep(self):
        self.db.close()
        with open(self.path, "rb") as file:
            self.backup = file.read(), set(self.ops), set(self.own)
        self.open()

    def restore(self):
        """As cp does it: the file notices that by itself."""
        self.db.close()
        with open(self.path, "r+b") as file:
            file.write(self.backup[0])
            file.truncate()
        self.ops, self.own = set(self.backup[1]), set(self.backup[2])
        self.open()

    def digests(self):
        return [self.value("SELECT counter_table_digest(?)", table) for table in COUNTED]

    def shown(self):
        """By table and key, what is to be seen. The place of a stock stays in its file."""
        columns = {"customers": "id COLLATE NOCASE, name, mail, visits, x, y", "orders": "*", "folders": "*", "notes": "*",
                   "stock": "sku, n", "hits": "*"}
        return {(table, str(key).lower()): rest for table, names in columns.items() for key, *rest in self.rows(f"SELECT {names} FROM {table}")}

    def states(self):
        """By table and key the life of a row and its stamp, by table, key and column the stamp of a value, its size and how it begins;
        of a value that the file has only heard of, its stamp and size."""
        told, heard = {}, {}
        for table, key, column, life, stamp, writer, size, begins, too_large in self.rows(STATES):
            if column is None:
                told[table, key] = life, stamp, writer
            elif too_large:
                heard[table, key, column] = stamp, writer, too_large
            elif stamp is not None:
                told[table, key, column] = stamp, writer, size, begins
        return told, heard

    def listed(self):
        return {(row[0], row[3].strip("()'").lower()) for row in self.rows("SELECT * FROM counter_tracked WHERE row_key IS NOT NULL")}


# Each takes what `other` has into `one`, but a push, which goes the other way.

def by_file(how):
    def way(draw, one, other):
        """A file that is written by its path is one whose foreign keys are enforced as the caller's are."""
        if how in ("push", "sync") and one.enforced < other.enforced:
            return by_file("pull")(draw, other, one)
        giver, taker = (one, other) if how == "push" else (other, one)
        caller, peer = (giver, taker) if how == "push" else (taker, giver)
        caller.rows(f"SELECT * FROM counter_{'pull' if how == 'parts' else how}(?, ?)", peer.path, "part" if how == "parts" else None)
        for to, by in [(taker, giver)] + [(giver, taker)] * (how == "sync"):
            to.own |= by.ops - to.ops
            to.ops |= by.ops
    return way


def by_rows(draw, one, other):
    """In any order, some twice, in two transactions."""
    source, since = other.value("SELECT counter_source()"), one.value("SELECT counter_mark(?)", other.value("SELECT counter_source()"))
    changes = other.rows("SELECT table_name, key, change, seq, source, key_columns, upto FROM counter_changes(?)", since)
    upto = max([since] + [row[-1] for row in changes])
    columns = [row[:-1] for row in changes if row[2][:1] == b"\x03"]  # before the rows that have them
    changes = columns + draw.sample([row[:-1] for row in changes], len(changes)) + draw.sample([row[:-1] for row in changes], len(changes) // 3)
    cut = draw.randint(0, len(changes))
    for some in changes[:cut], changes[cut:]:
        one.db.execute("BEGIN")
        one.db.executemany("INSERT INTO counter_changes(table_name, key, change, seq, source, key_columns) VALUES (?, ?, ?, ?, ?, ?)", some)
        one.db.execute("COMMIT")
    one.rows("SELECT counter_seen(?, ?, ?)", source, since, upto)
    one.ops |= other.ops


def by_lines(own):
    def way(draw, one, other):
        since = one.value("SELECT counter_mark(?)", other.value("SELECT counter_source(?)", own))
        lines = [line for line, in other.rows("SELECT line FROM counter_lines(?, ?)", since, own)]
        if lines and draw.random() < 0.3:
            one.rows("SELECT counter_take(?)", "\n".join(draw.sample(lines, draw.randint(1, len(lines)))))
        if lines:
            one.rows("SELECT counter_take(?)", "\n".join(lines))
        one.ops |= other.own if own else other.ops
    return way


def by_directory(draw, one, other):
    directory = os.path.join(os.path.dirname(one.path), "shared")
    for file, gives in (other, True), (one, False):
        file.rows("SELECT counter_settle()")
        file.db.execute("BEGIN IMMEDIATE")
        notes = [note for *_, note in file.rows(f"SELECT * FROM counter_{'push' if gives else 'pull'}(?)", directory) if note]
        file.db.execute("COMMIT")
        assert notes == []
    one.shared |= other.own
    one.ops |= one.shared
    one.own |= one.shared & one.made


def by_request(draw, one, server):
    """`one` brings what it has, with the mark that it believes the server to have, and is told the rest."""
    url = f"http://{os.path.basename(server.path)}"
    of, source = one.value("SELECT counter_source(1)"), server.value("SELECT counter_source()")
    mine, before = one.value("SELECT mine FROM counter_request(?)", url), server.value("SELECT counter_mark(?)", of)
    given = [line for line, in one.rows("SELECT line FROM counter_lines(?, 1)", before)]
    if given:
        server.rows("SELECT counter_take(?)", "\n".join(given))
    server.ops |= one.own
    mark = server.value("SELECT counter_mark(?)", of)
    left_out = (of, mark) if before == mine and before else (None, None)
    answer = [line for line, in server.rows("SELECT line FROM counter_lines(?, 0, NULL, ?, ?)",
                                            one.value("SELECT counter_mark(?)", source), *left_out)]
    if draw.random() < 0.2:
        return  # the answer was lost
    if answer:
        one.rows("SELECT counter_take(?)", "\n".join(answer))
    one.ops |= server.ops
    head = {"format": 1, "source": source, "more": False, "changes": 0, "skipped": 0, "marks": {of: mark}, "warnings": []}
    one.rows("SELECT * FROM counter_heard(?, ?, ?)", url, json.dumps(head), json.loads(given[-1])["upto"] if given else before)


WAYS = {"pull": by_file("pull"), "push": by_file("push"), "sync": by_file("sync"), "parts": by_file("parts"), "rows": by_rows,
        "lines": by_lines(0), "own lines": by_lines(1), "directory": by_directory, "request": by_request}
WHOLE = ["pull", "push", "sync", "parts", "rows", "lines", "request"]  # these pass on what others have brought by a feed


class World:
    def __init__(self, folder, draw):
        self.folder, self.draw, self.written, self.was_restored = folder, draw, {}, False
        (folder / "shared").mkdir()
        (folder / "shared" / ".sqlite-counter").touch()
        first = File(folder / "0.db", 1, set(), {}).open()
        for sql in TABLES:
            first.db.execute(sql.format(*(draw.choice(ACTIONS) for _ in range(2))))
        for call in CALLS:
            first.rows(f"SELECT {call}")
        self.files = [first]
        for _ in range(draw.randint(1, 3)):
            self.copy(first)

    def copy(self, of):
        of.db.close()
        made = File(self.folder / f"{len(self.files)}.db", self.draw.choice([1, 1, 0]) * of.enforced, of.shared, of.clocks)
        shutil.copy(of.path, made.path)
        made.ops, made.own = set(of.ops), set()
        of.open()
        self.files.append(made.open())

    def meet(self, name, one, other):
        try:
            WAYS[name](self.draw, one, other)
        except sqlite3.OperationalError as error:  # one has not got the column yet: then nothing was taken
            assert "ALTER TABLE" in str(error) or "not yet here" in str(error) or "counter_replicate" in str(error), (name, error)
            if one.db.in_transaction:
                one.db.execute("ROLLBACK")

    def step(self, op):
        draw, what = self.draw, self.draw.random()
        one, other = draw.sample(self.files, 2)
        if what < 0.2:
            one.count(op)
        elif what < 0.45:
            one.act(draw)
        elif what < 0.6:
            one.write_note(draw)
        elif what < 0.62:
            one.add_column(draw.choice("xy"))
        elif what < 0.64:
            one.keep()
        elif what < 0.66 and one.backup:
            one.restore()
            self.was_restored = True
        elif what < 0.67 and len(self.files) < 5:
            self.copy(one)
        else:
            self.meet(draw.choice(list(WAYS)), one, other)
        self.look(one)
        self.look(other)

    def look(self, file):
        """In one life of a row, a stamp has the same value wherever it is."""
        told, heard = file.states()
        for place, state in told.items():
            if len(place) == 3:
                known = self.written.setdefault((*place, told[place[:2]][0], *state[:2]), state[2:])
                assert known == state[2:], (file.path, place, state, known)
        for place, (stamp, writer, size) in heard.items():
            assert self.written[(*place, told[place[:2]][0], stamp, writer)][0] == size, (file.path, place)

    def pull(self):
        """Brings what lines did not carry, unless nobody has it any more, and nothing that is older."""
        before = [file.states()[0] for file in self.files]
        for one in 2 * self.files:
            for other in self.files:
                if one is not other:
                    by_file("pull")(self.draw, one, other)
        held = {(place, *state[:2]) for file in self.files for place, state in file.states()[0].items()}
        for file in self.files:
            told, heard = file.states()
            assert not heard or self.was_restored, (file.path, heard)
            assert not held & {(place, *state[:2]) for place, state in heard.items()}
            assert len(heard) == len(file.rows("SELECT 1 FROM counter_tracked WHERE why LIKE '%lines carry%'"))
            for other in before:
                for place, state in other.items():
                    row = place[:2]
                    if len(place) == 2:
                        assert told[row][0] >= state[0], (file.path, place, state, told[row])
                    elif told[row][0] == other[row][0]:
                        assert told[place][:2] >= state[:2], (file.path, place, state, told[place])

    def agree(self, ways):
        for file in self.files:
            for name in "xy":
                file.add_column(name)
        for _ in range(12):
            for one in self.files:
                for other in self.files:
                    if one is not other:
                        WAYS[self.draw.choice(ways)](self.draw, one, other)
            if len({str(file.digests()) for file in self.files}) == 1:
                break
        for file in self.files:  # everybody tries what is listed once more
            file.rows("SELECT counter_seen(counter_source(), 0, 0)")


def check_agreement(files, but):
    """`but`: the tables of which some file has only heard of a value."""
    digests = [[digest for table, digest in zip(COUNTED, file.digests()) if table.removesuffix("_counters") not in but] for file in files]
    assert digests == [digests[0]] * len(files)
    listed = set().union(*(file.listed() for file in files))
    shown = [file.shown() for file in files]
    differ = {key for each in shown for key in set(each) | set(shown[0]) if each.get(key) != shown[0].get(key)}
    assert differ <= listed, (sorted(differ - listed), [{key: str(each.get(key))[:200] for key in differ - listed} for each in shown])


@pytest.mark.parametrize("number", range(max(8, EXAMPLES // 3)))
def test_whichever_way_changes_come_the_states_agree_and_nothing_is_lost_or_doubled(tmp_path, number):
    draw = random.Random(f"{SEED} all ways {number}")
    world = World(tmp_path, draw)
    for op in range(draw.choice([20, 60, 150])):
        world.step(op)
    world.agree(WHOLE if draw.random() < 0.7 else [draw.choice(WHOLE)])
    files = world.files
    check_agreement(files, {table for file in files for table, *_ in file.states()[1]})
    world.pull()
    check_agreement(files, [])
    surely = set().union(*(file.ops for file in files))
    for file in files:
        assert surely <= file.held()
        assert file.value("SELECT coalesce(sum(n), 0) FROM hits WHERE page = 'sum'") == len(file.held())
        if file.enforced:
            assert file.rows("PRAGMA foreign_key_check") == []
        for table in COUNTED:
            file.db.execute(f"INSERT INTO {table}({table}) VALUES ('integrity-check')")
        assert file.rows("PRAGMA integrity_check") == [("ok",)]
        file.db.close()
