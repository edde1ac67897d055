"""test_spread.py - keys that SQLite gives out in many files: whatever is done to the tables, their sequence and their files, no
row is lost, doubled or made one with another. Each row has a hidden identity, a text that nobody changes. Numbers are forced
to meet: two files take the same one, far above their places. Then one row keeps it, and the others come back under new ones."""
import contextlib
import importlib
import json
import os
import random
import re
import shutil
import sqlite3
import sys
import time

import pytest

from conftest import EXAMPLES, SEED
from files import ROOT, connect, copy_live
from test_directories import give_right

ORDERS = "CREATE TABLE {}(id INTEGER PRIMARY KEY AUTOINCREMENT, uid TEXT NOT NULL, note TEXT, code TEXT{}, n INTEGER NOT NULL DEFAULT 0{})"
COLUMNS = "id, uid, note, code, n"
LINES = "CREATE TABLE lines(id INTEGER PRIMARY KEY AUTOINCREMENT, uid TEXT NOT NULL, orders INTEGER REFERENCES orders(id), of TEXT)"
CALLS = "SELECT counter_replicate('orders', 'n', 'keys=spread'), counter_replicate('lines', 'keys=spread')"
FILES = ["by_path", "attached", "attached", "by_rows", "within_a_transaction"]
APART = ["by_lines", "by_scope", "by_directory"]
MOST, SAME = 2**53 - 1, range(2**45, 2**45 + 3)


class World:
    """What was done, under hidden identities."""

    def __init__(self, draw, folder, unique):
        self.draw, self.folder, self.unique, self.made = draw, folder, unique, 0
        self.sums, self.origin, self.deleted, self.keyed, self.writer = {}, {}, set(), set(), {}
        self.files, self.added, self.directory = [], "", str(folder / "shared")
        self.ways = draw.choice([FILES, FILES, FILES, *([way] for way in APART), FILES + APART])
        os.mkdir(self.directory)
        open(os.path.join(self.directory, ".sqlite-counter"), "w").close()

    def uid(self):
        self.made += 1
        return f"u{self.made}"


class File:
    def __init__(self, world, path):
        self.world, self.path = world, str(path)
        self.open()

    def open(self):
        self.db = connect(self.path, timeout=10)
        self.db.execute("PRAGMA synchronous = OFF")
        self.keep_keys()
        give_right(self.db)

    def keep_keys(self):
        self.db.execute(f"PRAGMA foreign_keys = {0 if self.world.unique else 1}")  # a key that is kept keeps what is not to be shown

    def rows(self, sql, *values):
        return self.db.execute(sql, values).fetchall()

    def id(self):
        return self.rows("SELECT counter_id()")[0][0]

    # ---- what an application does

    def insert(self, key=None):
        world, uid = self.world, self.world.uid()
        n, code = world.draw.randrange(10), world.draw.choice([None, f"c{world.draw.randrange(6)}"])
        verb = world.draw.choice(["INSERT OR IGNORE"] if key or world.unique else ["INSERT", "INSERT OR IGNORE", "INSERT OR REPLACE"])
        cursor = self.db.execute(f"{verb} INTO orders(id, uid, note, code, n) VALUES (?, ?, 'new', ?, ?) RETURNING id" if RETURNING else
                                 f"{verb} INTO orders(id, uid, note, code, n) VALUES (?, ?, 'new', ?, ?)", (key, uid, code, n))
        given = cursor.fetchall()
        found = self.rows("SELECT id FROM orders WHERE uid = ?", uid)
        if not found:
            return
        if RETURNING:
            assert given == found
        assert found[0][0] == self.rows("SELECT last_insert_rowid()")[0][0]
        world.sums[uid], world.origin[uid] = n, self.path

    def insert_many(self):
        uids = [self.world.uid() for _ in range(self.world.draw.randint(2, 5))]
        self.db.execute("INSERT INTO orders(uid, note) SELECT value, 'many' FROM json_each(?)", (json.dumps(uids),))
        for uid in uids:
            self.world.sums[uid], self.world.origin[uid] = 0, self.path

    def insert_line(self):
        key, parent = self.pick()
        uid = self.world.uid()
        number = self.world.draw.choice([None, *SAME])  # a clone takes the numbers of another one in all tables
        if number and self.rows("SELECT 1 FROM lines_counters_cells WHERE _rowid_ = ?", number):
            return
        if number:
            key, parent = next(iter(self.rows("SELECT id, uid FROM orders WHERE id = ?", number)), (key, parent))
        if parent and int(parent[1:]) % 2:  # a row with lines is not deleted: else they wait
            self.db.execute("INSERT INTO lines(id, uid, orders, of) VALUES (?, ?, ?, ?)", (number, uid, key, parent))
            self.world.writer[uid] = self.path

    def pick(self):
        found = self.rows("SELECT id, uid FROM orders")
        return self.world.draw.choice(found) if found else (None, None)

    def count(self):
        key, uid = self.pick()
        if uid:
            n = self.world.draw.randrange(-5, 10)
            self.db.execute("UPDATE orders SET n = n + ?, note = ? WHERE id = ?", (n, f"{n}", key))
            self.world.sums[uid] += n

    def delete(self):
        key, uid = self.pick()
        if uid and int(uid[1:]) % 2 == 0 and key not in SAME:  # who takes a deleted number revives its row
            self.db.execute("DELETE FROM orders WHERE id = ?", (key,))
            self.world.deleted.add(uid)

    def change_key(self):
        """Of a row that only this file has: two files that change one key make two rows."""
        self.insert()
        uid = f"u{self.world.made}"
        by = self.world.draw.randrange(1, 2**33)
        self.db.execute("UPDATE OR IGNORE orders SET id = id + ? WHERE uid = ?", (by, uid))

    def take_same_number(self):
        """As another file does: a number far above both places."""
        key = self.world.draw.choice(SAME)
        if not (self.world.unique and self.rows("SELECT 1 FROM orders_counters_cells WHERE _rowid_ = ?", key)):  # it may wait
            self.insert(key=key)

    def undone(self):
        before = self.world.sums.copy(), self.world.origin.copy(), self.world.deleted.copy(), self.world.writer.copy()
        self.db.execute(self.world.draw.choice(["SAVEPOINT s", "BEGIN"]) if not self.db.in_transaction else "SAVEPOINT s")
        outer = self.db.in_transaction
        for _ in range(self.world.draw.randint(1, 3)):
            self.world.draw.choice([self.insert, self.insert_many, self.count, self.insert_line])()
        with contextlib.suppress(sqlite3.OperationalError):
            self.db.execute("ROLLBACK TO s")
            self.db.execute("RELEASE s")
            outer = False
        if outer:
            self.db.execute("ROLLBACK")
        self.world.sums, self.world.origin, self.world.deleted, self.world.writer = before

    def fail(self):
        with pytest.raises(sqlite3.IntegrityError):
            self.db.execute("INSERT INTO orders(uid, n) VALUES ('lost', 1), (NULL, 2)")

    def several(self):
        self.db.execute("BEGIN")
        for _ in range(self.world.draw.randint(1, 5)):
            self.world.draw.choice([self.insert, self.insert, self.insert_many, self.count, self.insert_line, self.undone_within,
                                    self.fail])()
        self.db.execute("COMMIT")

    def undone_within(self):
        before = self.world.sums.copy(), self.world.origin.copy(), self.world.writer.copy()
        self.db.execute("SAVEPOINT t")
        self.world.draw.choice([self.insert, self.insert_many, self.insert_line])()
        self.db.execute("ROLLBACK TO t")
        if self.world.draw.random() < 0.5:
            self.db.execute("RELEASE t")
        self.world.sums, self.world.origin, self.world.writer = before

    def flush(self):
        self.db.execute(self.world.draw.choice(["DELETE FROM sqlite_sequence", "UPDATE sqlite_sequence SET seq = 0"]))

    def rebuild(self, unseen=None):
        """`unseen`: rows are inserted before the triggers are there again; without them SQLite goes on from the greatest number."""
        self.db.execute("PRAGMA foreign_keys = 0")
        self.db.execute("BEGIN")
        self.db.execute(ORDERS.format("new_orders", self.world.unique, self.world.added))
        self.db.execute(f"INSERT INTO new_orders({COLUMNS}) SELECT {COLUMNS} FROM orders")
        self.db.execute("DROP TABLE orders")
        self.db.execute("ALTER TABLE new_orders RENAME TO orders")
        if unseen is None:
            unseen = self.world.draw.random() < 0.5
        if unseen and self.is_greatest_shown():
            self.db.execute("COMMIT")
            for _ in range(self.world.draw.randint(1, 4)):
                self.world.draw.choice([self.insert, self.insert_many, self.insert_line])()
        self.db.execute("SELECT counter_replicate('orders')")
        if self.db.in_transaction:
            self.db.execute("COMMIT")
        self.keep_keys()

    def drop_table(self):
        """The file goes on under another id, and its rows are its own as before."""
        self.db.execute("CREATE VIRTUAL TABLE visits USING counter(page TEXT PRIMARY KEY, n COUNTER)")
        self.db.execute("INSERT INTO visits VALUES ('/', 1)")
        self.db.execute("DROP TABLE visits")

    def is_greatest_shown(self):
        """Else SQLite gives out the number of a deleted row again, which lives again by that."""
        (shown, counted), = self.rows("SELECT (SELECT max(id) FROM orders), (SELECT max(_rowid_) FROM orders_counters_cells)")
        return shown == counted

    # ---- merges

    def merge(self, other):
        getattr(self, self.world.draw.choice(self.world.ways))(other)

    def by_path(self, other):
        self.rows("SELECT * FROM counter_pull(?)", other.path)

    def attached(self, other):
        self.db.execute("ATTACH ? AS other", (other.path,))
        self.rows(f"SELECT * FROM counter_{self.world.draw.choice(['sync', 'push'])}('other')")
        self.db.execute("DETACH other")

    def by_rows(self, other):
        changes = other.rows("SELECT table_name, key, change, seq, source FROM counter_changes(0)")
        self.world.draw.shuffle(changes)
        self.db.execute("BEGIN")
        self.db.executemany("INSERT INTO counter_changes(table_name, key, change, seq, source) VALUES (?, ?, ?, ?, ?)", changes)
        self.db.execute("COMMIT")
        self.rows("SELECT * FROM counter_pull(?)", other.path)

    def within_a_transaction(self, other):
        self.db.execute("BEGIN")
        self.rows("SELECT * FROM counter_pull(?)", other.path)
        self.insert()
        self.db.execute("COMMIT")

    def by_lines(self, other):
        """All since the mark, some of them before; those that the other file made, or all."""
        draw, own = self.world.draw, self.world.draw.randrange(2)
        (source,), = other.rows("SELECT counter_source(?)", own)
        (since,), = self.rows("SELECT counter_mark(?)", source)
        lines = [line for line, in other.rows("SELECT line FROM counter_lines(?, ?)", since, own)]
        if lines:
            for some in draw.sample(lines, draw.randint(1, len(lines))), lines * draw.randint(1, 2):
                self.rows("SELECT counter_take(?)", "\n".join(some))

    def by_scope(self, other):
        """Rows of one number alone: of all tables."""
        key, _ = other.pick()
        scope = json.dumps([self.world.draw.choice([key or 1, *SAME])])
        lines = [line for line, in other.rows("SELECT line FROM counter_lines(0, 0, ?)", scope)]
        if lines:
            self.rows("SELECT counter_take(?)", "\n".join(lines))

    def by_directory(self, other):
        for file, gives in (other, True), (self, False), (self, self.world.draw.random() < 0.5):
            file.rows("SELECT counter_settle()")  # a file that has a new id gives nothing before it is committed
            assert [note for *_, note in file.rows(f"SELECT * FROM counter_{'sync' if gives else 'pull'}(?)", self.world.directory)
                    if note and "number" not in note and "wait" not in note and "differ" not in note] == []


RETURNING = sqlite3.sqlite_version_info >= (3, 35)
STEPS = ["insert"] * 6 + ["insert_many", "insert_line", "insert_line", "count", "count", "count", "delete", "change_key", "undone", "fail",
                          "several", "several", "flush", "rebuild", "drop_table", "take_same_number", "take_same_number"]


def copy_of(world, one):
    path = world.folder / f"{len(world.files)}.db"
    way = world.draw.randrange(3)
    if way == 0:
        copy_live(one.path, path)
    elif way == 1:
        one.db.execute("VACUUM INTO ?", (str(path),))
    else:
        to = sqlite3.connect(path)
        one.db.backup(to)
        to.close()
    copy = File(world, path)
    copy.insert()  # the very first statement has a right number
    return copy


def spread_of(one, table):
    return one.rows("SELECT s.seq, s.rows FROM counter_state AS s JOIN counter_tables AS t ON s.tab = t.number"
                    " WHERE t.name = ? AND s.kind = 'spread' AND s.row = 1", f"{table}_counters")


def replaced(one):
    """The identities of the rows that are listed."""
    found = one.rows("SELECT counter_change_json(value) FROM counter_state WHERE kind = 'replaced'")
    return [{c["name"]: c.get("value") for c in json.loads(change)["columns"]}["uid"] for (change,) in found]


def converge(world):
    for turn in range(3 * len(world.files)):
        for one in world.files:
            if world.unique and turn < 3:  # what one row has keeps others out
                one.db.execute("UPDATE orders SET code = NULL WHERE code IS NOT NULL")
        for one in world.files:
            for other in world.files:
                if one is not other:
                    one.rows("SELECT * FROM counter_pull(?)", other.path)
        if world.unique and turn < 3:
            continue
        shown = [(one.rows(f"SELECT {COLUMNS} FROM orders ORDER BY id"), one.rows("SELECT * FROM lines ORDER BY id")) for one in world.files]
        if all(each == shown[0] for each in shown):
            return shown[0]
    differ = [sorted(set(a) ^ set(b)) for a, b in zip(shown[0], shown[1])]
    raise AssertionError(f"the files never agree: {differ} {[one.rows('SELECT * FROM counter_tracked WHERE state NOT IN (?, ?)', 'tracked', 'regular') for one in world.files]}")


def check(world):
    orders, lines = converge(world)
    met = {uid for one in world.files for uid in replaced(one)}
    shown = [uid for _, uid, *_ in orders]
    assert len(set(shown)) == len(shown), "a row is there twice"
    assert not set(world.sums) - world.deleted - set(shown), "a row is lost"
    assert set(shown) <= set(world.sums), "a row that nobody has inserted"
    for key, uid, _, _, n in orders:
        assert key <= MOST
        if uid not in met:
            assert n == world.sums[uid], f"{uid} has another value than was counted"
    uids = dict((key, uid) for key, uid, *_ in orders)
    for _, uid, parent, of in lines:
        if of not in met or world.writer[uid] == world.origin[of]:
            assert uids[parent] == of, f"line {uid} of {of} hangs on {uids.get(parent)}"
    assert {uid for _, uid, *_ in lines} == set(world.writer), "a line is lost"
    for one in world.files:
        assert one.rows("PRAGMA foreign_key_check") == [] and one.rows("PRAGMA integrity_check") == [("ok",)]
    return met


def migrate(world):
    """All devices take the same new version of the application, after a sync."""
    for one in world.files:
        for other in world.files:
            if one is not other:
                one.rows("SELECT * FROM counter_pull(?)", other.path)
    world.added = world.draw.choice(["", ", more TEXT"])
    for one in world.files:
        one.rebuild(unseen=True)


def run(world, steps):
    first = File(world, world.folder / "0.db")
    first.db.execute("PRAGMA journal_mode = " + world.draw.choice(["WAL", "DELETE"]))
    first.db.execute(ORDERS.format("orders", world.unique, ""))
    first.db.execute(LINES)
    world.files.append(first)
    for _ in range(3):
        first.insert()
    first.rows(CALLS)
    for _ in range(world.draw.randint(1, 7)):
        world.files.append(copy_of(world, world.draw.choice(world.files)))
    migrates_at = world.draw.randrange(2 * steps)
    for step in range(steps):
        one = world.draw.choice(world.files)
        if step == migrates_at:
            migrate(world)
        elif world.draw.random() < 0.15:
            one.merge(world.draw.choice([other for other in world.files if other is not one]))
        else:
            getattr(one, world.draw.choice(STEPS))()


@pytest.mark.parametrize("number", range(max(8, EXAMPLES // 3)))
def test_no_row_is_lost_doubled_or_made_one_with_another(tmp_path, number):
    draw = random.Random(f"{SEED} {number}")
    world = World(draw, tmp_path, draw.choice(["", "", " UNIQUE"]))
    run(world, 60)
    check(world)
    for one in world.files:
        one.db.close()


def test_the_simulated_odds_of_one_number_in_two_files_are_those_that_are_drawn():
    sys.path.insert(0, os.path.join(ROOT, "tests", "model"))
    odds = importlib.import_module("spread_odds")
    ran = [odds.simulate(8, 10, 20000, step=37, seed=seed) for seed in range(12)]  # places from a range of 2^16 numbers
    expected, met = sum(each[0] for each in ran), sum(each[1] for each in ran)
    assert met > 50 and 0.7 < met / expected < 1.4, f"{met} where {expected} are expected"
    expected = odds.simulate(8, 10, 50000)[0]
    assert 20 * expected < 0.01, "a million syncs of eight files, ten rows each"


def test_a_place_that_is_drawn_while_a_feed_is_taken_is_left_for_keys_above_it(tmp_path):
    """The first row of the feed draws it, above the keys that are there by then; the next rows may lie above it."""
    for number in range(12):
        paths = [str(tmp_path / f"{number}{name}.db") for name in "abc"]
        one = connect(paths[0])
        one.executescript(f"PRAGMA synchronous = OFF; {ORDERS.format('orders', '', '')}; INSERT INTO orders(uid) VALUES ('a')")
        one.execute("SELECT counter_replicate('orders', 'n', 'keys=spread')").fetchall()
        for path in paths[1:]:
            one.execute("VACUUM INTO ?", (path,))
        two, three = connect(paths[1]), connect(paths[2])
        two.execute("INSERT INTO orders(uid) VALUES ('b')")
        three.execute("SELECT * FROM counter_pull(?)", (paths[1],)).fetchall()
        three.execute("INSERT INTO orders(uid) VALUES ('c')")
        feed = three.execute("SELECT table_name, key, change, seq, source FROM counter_changes(0)").fetchall()
        one.execute("BEGIN")
        one.executemany("INSERT INTO counter_changes(table_name, key, change, seq, source) VALUES (?, ?, ?, ?, ?)", feed)
        one.execute("COMMIT")
        given = [db.execute("INSERT INTO orders(uid) VALUES ('d')").lastrowid for db in (one, three)]
        assert given[0] != given[1]
        for db in one, two, three:
            db.close()


@pytest.mark.parametrize("how", ["restored", "moved"])
def test_a_row_that_waits_for_a_number_is_inserted_again_once_or_listed_where_its_file_is_another_one_now(tmp_path, how):
    def sync(db):
        for _ in range(2):
            db.execute("SELECT * FROM counter_sync(?)", [str(tmp_path / "b.db")]).fetchall()

    a, b = connect(tmp_path / "a.db"), connect(tmp_path / "b.db")
    for db in a, b:
        db.execute("CREATE TABLE o(id INTEGER PRIMARY KEY AUTOINCREMENT, who TEXT, n INTEGER NOT NULL DEFAULT 0)")
        db.execute("SELECT counter_replicate('o', 'n', 'keys=spread')").fetchall()
    a.execute("""CREATE TRIGGER alone BEFORE INSERT ON o WHEN NEW.who = 'ann' AND EXISTS (SELECT 1 FROM o WHERE who = 'bob')
                 BEGIN SELECT RAISE(ABORT, 'not beside bob'); END""")
    b.execute("INSERT INTO o VALUES (?, 'bob', 1)", [SAME[0]])
    time.sleep(.002)  # bob's is the first
    a.execute("INSERT INTO o VALUES (?, 'ann', 10)", [SAME[0]])
    a.execute("SELECT * FROM counter_pull(?)", [str(tmp_path / "b.db")]).fetchall()
    assert [state for state, in a.execute("SELECT state FROM counter_tracked WHERE row_key IS NOT NULL")] == ["refused"]
    a.close()
    shutil.copy(tmp_path / "a.db", tmp_path / "backup")
    b.execute("DELETE FROM o")
    if how == "restored":
        a = connect(tmp_path / "a.db")
        sync(a)
        a.close()
        shutil.copyfile(tmp_path / "backup", tmp_path / "a.db")
    else:
        (tmp_path / "a.db").unlink()
        (tmp_path / "backup").rename(tmp_path / "a.db")
    a = connect(tmp_path / "a.db")
    sync(a)
    people = ["ann"] if how == "restored" else []
    assert [[who for who, in db.execute("SELECT who FROM o ORDER BY who")] for db in (a, b)] == [people] * 2
    (state, why), = a.execute("SELECT state, why FROM counter_tracked WHERE row_key IS NOT NULL")
    assert state == "replaced" and "if the row is missing in all files, insert it here" in why
