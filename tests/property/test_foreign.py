"""test_foreign.py - foreign keys of replicated tables: a merge lets none of them act, by whatever way it comes.

Random worlds: two to four tables with foreign keys of all actions, immediate and deferred, to others and to themselves, in
two to four files. An application writes; files pull, push, sync, or take a feed in several batches and transactions.

The model of a file has the state of each row: its life, a stamp and a value for each column, counters as sets of
operations. What a statement of the application did, cascades of its own included, is read from the tables. A merge joins
models and does nothing else. Then the file must show the live rows of its model: all but those whose parent it does not
show, and, besides, deleted rows that a row which it shows refers to.
"""

import random
import re
import sqlite3
import time

import pytest

from conftest import EXAMPLES, SEED
from files import connect
from test_replicated import read_cell
from test_tracked import rows

KEYS = {"TEXT": "abcd", "INTEGER": [1, 2, 3, -4]}
ACTIONS = ["", "ON DELETE RESTRICT", "ON DELETE CASCADE", "ON DELETE SET NULL", "ON DELETE SET DEFAULT"]
UPDATES = ["", "ON UPDATE CASCADE", "ON UPDATE SET NULL", "ON UPDATE SET DEFAULT"]


class Row:
    def __init__(self):
        self.life, self.columns, self.counter = 0, {}, {}

    def copy(self):
        row = Row()
        row.life, row.columns, row.counter = self.life, dict(self.columns), dict(self.counter)
        return row

    def is_live(self):
        return self.life % 2 == 1

    def join(self, other):
        if other.life > self.life:
            self.life, self.columns, self.counter = other.life, dict(other.columns), dict(other.counter)
        elif other.life == self.life:
            for name, theirs in other.columns.items():
                self.columns[name] = max(self.columns.get(name, theirs), theirs, key=lambda written: written[0])
            for operation, n in other.counter.items():  # an opening counts as the greatest
                self.counter[operation] = max(self.counter.get(operation, n), n)

    def value(self):
        return sum(self.counter.values())


class Key:
    """A foreign key: column -> the table `parent`."""

    def __init__(self, column, parent, draw, simple):
        self.column, self.parent = column, parent
        self.deferred = simple or draw.random() < .4
        self.action, self.update = draw.choice(ACTIONS), draw.choice(UPDATES)
        self.not_null = "SET NULL" not in self.action + self.update and draw.random() < .2

    def text(self, type):
        default = f" DEFAULT {KEYS[type][0]!r}" * ("DEFAULT" in self.action + self.update)
        return (f"{self.column} {type}{' NOT NULL' * self.not_null}{default} REFERENCES {self.parent} {self.action} {self.update}"
                + " DEFERRABLE INITIALLY DEFERRED" * self.deferred)


class Table:
    def __init__(self, name, names, draw, simple, type):
        self.name, self.counts, self.type, self.keys_of = name, draw.random() < .5, type, KEYS[type]
        self.keys = [Key(f"f{i}", draw.choice(names), draw, simple) for i in range(draw.choice([0, 1, 1, 2]))]
        self.kind = draw.choice(["", "", "WITHOUT ROWID"])
        self.columns = ["name"] + [key.column for key in self.keys]

    def text(self):
        columns = [f"k {self.type} NOT NULL PRIMARY KEY", "name"] + [key.text(self.type) for key in self.keys] + ["n INTEGER"] * self.counts
        return f"CREATE TABLE {self.name}({', '.join(columns)}) {self.kind}"


class File:
    def __init__(self, path, tables, enforced):
        self.path, self.tables, self.enforced = str(path), tables, enforced
        self.db = connect(self.path)
        self.db.executescript(f"PRAGMA synchronous = OFF; PRAGMA foreign_keys = {enforced:d}")
        for table in tables:
            self.db.execute(table.text())
            rows(self.db, f"SELECT counter_replicate('{table.name}', 'keys=assigned'{', ' + repr('n') if table.counts else ''})")
        self.model = {table.name: {} for table in tables}

    def shown(self):
        shown = {}
        for table in self.tables:
            names = ["k", *table.columns] + ["n"] * table.counts
            shown[table.name] = {row[0]: dict(zip(names[1:], row[1:], strict=True))
                                 for row in rows(self.db, f"SELECT {', '.join(names)} FROM {table.name}")}
        return shown

    def write(self, script, step):
        """Runs statements as one transaction, and takes what they did into the model."""
        before, was, self.gone = self.shown(), self.copy_of_model(), []
        try:
            self.db.execute("BEGIN")
            for i, statement in enumerate(script):
                shown = self.shown()
                self.added = int((re.findall(r"coalesce\(n, 0\) \+ (\d+)", statement[0]) or [0])[0])
                self.db.execute(statement[0])
                self.take_all(shown, self.shown(), (step, i), statement[1])
            if self.enforced and rows(self.db, "PRAGMA foreign_key_check"):
                raise sqlite3.IntegrityError  # as COMMIT would, if SQLite did not let a row by that refers to itself
            self.db.execute("COMMIT")
            self.take_lives()
        except sqlite3.IntegrityError:
            if self.db.in_transaction:
                self.db.execute("ROLLBACK")
            self.model = was
            assert self.shown() == before

    def lives(self):
        return {(table, key): read_cell(cell)[0] for table, key, cell in rows(
            self.db, "SELECT table_name, json_extract(counter_key_json(key), '$[0]'), change FROM counter_changes(0) "
            "WHERE substr(change, 1, 2) = x'0101'")}

    def take_lives(self):
        """A statement that deletes a row whose merged deletion is not shown may have written it before, by ON DELETE SET NULL."""
        lives = self.lives() if self.gone else {}
        for table, key in self.gone:
            row = self.model[table][key]
            if not row.is_live():
                assert lives[table, key] % 2 == 0 and lives[table, key] >= row.life
                row.life = lives[table, key]

    def take_all(self, before, after, step, given):
        for table in self.tables:
            if given is None and table.counts:  # of the row whose key is changed
                moved = before[table.name].keys() - after[table.name].keys()
                given = sum(before[table.name][key]["n"] or 0 for key in moved) if moved else None
        for table in self.tables:
            for key in before[table.name].keys() | after[table.name].keys():
                self.take(table, key, before[table.name].get(key), after[table.name].get(key), step, given)

    def take(self, table, key, was, now, step, given):
        """`given` is the count of a row that is inserted; it is added to that of a row that waits."""
        row = self.model[table.name].setdefault(key, Row())
        if was == now:
            return
        if now is None:
            if row.is_live():
                row.life, row.columns, row.counter = row.life + 1, {}, {}
            else:
                self.gone.append((table.name, key))
            return
        revived = was is not None and not row.is_live()
        # A write to a row that differs shows what was merged, too.
        differs = was is not None and table.counts and row.is_live() and (was["n"] or 0) != row.value()
        counted = self.added * (was["n"] != now["n"]) if differs else (now.get("n") or 0) - ((was or {}).get("n") or 0)
        if not row.is_live():
            row.life, row.columns, row.counter = row.life + 1, {}, {}
        if revived and table.counts and was["n"] is not None:
            row.counter["opening", row.life] = was["n"]
        for name in table.columns:
            if was is None or revived or was[name] != now[name]:
                row.columns[name] = (step, now[name])
        if table.counts:
            row.counter[step, self.path] = counted if was else given

    def join(self, other):
        for table, theirs in other.items():
            for key, row in theirs.items():
                self.model[table].setdefault(key, Row()).join(row)

    def copy_of_model(self):
        return {table: {key: row.copy() for key, row in mine.items()} for table, mine in self.model.items()}

    # ---- what it must show ----

    def wanted(self, table, key):
        row = self.model[table.name][key]
        wanted = {name: row.columns[name][1] for name in table.columns}
        if table.counts:
            wanted["n"] = row.value()
        return wanted

    def check(self):
        shown = self.shown()
        if self.enforced:
            assert rows(self.db, "PRAGMA foreign_key_check") == []
        lives = self.lives()
        known = {(table, key): row.life for table, mine in self.model.items() for key, row in mine.items() if row.life}
        assert lives == known, (lives.items() ^ known.items())
        for table in self.tables:
            mine = self.model[table.name]
            assert shown[table.name].keys() <= {key for key, row in mine.items() if row.life > 0}
            for key, row in mine.items():
                if row.is_live() and key in shown[table.name]:
                    self.check_values(table, key, shown)
        self.check_waiting(shown)
        self.check_kept(shown)

    def lacks_parent(self, table, key, shown):
        wanted = self.wanted(table, key)
        return any(wanted[foreign.column] is not None and wanted[foreign.column] not in shown[foreign.parent]
                   for foreign in table.keys)

    def check_values(self, table, key, shown):
        now = dict(shown[table.name][key])
        wanted = self.wanted(table, key)
        if table.counts:
            now["n"] = now["n"] or 0
        assert now == wanted or (self.enforced and self.lacks_parent(table, key, shown)), (table.name, key, now, wanted)

    def check_waiting(self, shown):
        """Rows that are live and not shown lack a parent."""
        waiting = {(table.name, key) for table in self.tables for key, row in self.model[table.name].items()
                   if row.is_live() and key not in shown[table.name]}
        assert self.enforced or not waiting
        could, before = set(waiting), None
        while could != before:
            before = set(could)
            could = {(name, key) for name, key in could if all(
                parent is None or parent in shown[foreign.parent] or (foreign.parent, parent) in could
                for foreign, parent in self.parents(name, key))}
        alone = [row for row in could if not any(
            parent not in shown[foreign.parent] for foreign, parent in self.parents(*row) if parent is not None)]
        assert not alone and not could, (alone, could)

    def has_rigid_keys(self):
        return any(foreign.not_null and "RESTRICT" in foreign.action for table in self.tables for foreign in table.keys)

    def parents(self, name, key):
        table = next(table for table in self.tables if table.name == name)
        wanted = self.wanted(table, key)
        return [(foreign, wanted[foreign.column]) for foreign in table.keys]

    def check_kept(self, shown):
        """Rows that are deleted and shown are kept by a live one; or they refer to each other, by keys that restrict and may not be NULL."""
        dead = {(table.name, key) for table in self.tables for key in shown[table.name]
                if not self.model[table.name][key].is_live()}
        kept, before, refer = set(), None, {}
        for table in self.tables:
            for key, row in shown[table.name].items():
                for foreign in table.keys:
                    if row[foreign.column] is not None and (foreign.parent, row[foreign.column]) != (table.name, key):
                        refer.setdefault((foreign.parent, row[foreign.column]), []).append((table.name, key, foreign))
        while kept != before:
            before = set(kept)
            kept |= {row for row in dead if any((name, key) not in dead or (name, key) in kept for name, key, _ in refer.get(row, []))}
        loose = dead - kept
        assert all(refer.get(row) for row in loose), loose
        assert not loose or self.has_rigid_keys(), loose


# ---- what happens --------------------------------------------------------------------------------

def parent(draw, foreign, shown, keys):
    """Mostly a row that is there."""
    there = list(shown[foreign.parent])
    return repr(draw.choice(there)) if there and draw.random() < .8 else draw.choice(["NULL", *map(repr, keys)])


def statement(draw, file):
    shown = file.shown()
    table = draw.choice(file.tables)
    there = list(shown[table.name])
    keys = table.keys_of
    key = draw.choice(there) if there and draw.random() < .7 else draw.choice(keys)
    sets = [f"name = {draw.randint(0, 99)}"] + [f"{foreign.column} = {parent(draw, foreign, shown, keys)}" for foreign in table.keys] * 2
    if table.counts:
        sets.append(f"n = coalesce(n, 0) + {draw.randint(1, 9)}")
    kind = draw.choice(["insert"] * 4 + ["update"] * 4 + ["delete"] * 2 + ["key"])
    if kind == "insert":
        values = [repr(draw.choice(keys)), str(draw.randint(0, 99))] + [parent(draw, foreign, shown, keys) for foreign in table.keys]
        given = draw.randint(0, 9) if table.counts else 0
        values += [str(given)] * table.counts
        return f"INSERT OR IGNORE INTO {table.name} VALUES ({', '.join(values)})", given
    if kind == "update":
        chosen = sorted(set(draw.sample(sets, draw.randint(1, len(sets)))))
        return f"UPDATE OR IGNORE {table.name} SET {', '.join(chosen)} WHERE k = {key!r}", 0
    if kind == "key":
        return f"UPDATE OR IGNORE {table.name} SET k = {draw.choice(keys)!r} WHERE k = {key!r}", None
    return f"DELETE FROM {table.name}" + f" WHERE k = {key!r}" * (draw.random() < .8), 0


def write(draw, file, step):
    script = [statement(draw, file)]
    if draw.random() < .4:  # rows that refer to each other come and go in one transaction
        kind = draw.choice(["INSERT", "DELETE"])
        script = [one for one in script + [statement(draw, file) for _ in range(5)] if one[0].startswith(kind)]
    file.write(script, step)
    time.sleep(.0011)  # so that no two stamps have one millisecond


def feed(draw, giver, taker):
    """Several batches, each a transaction of its own or several."""
    source, = giver.db.execute("SELECT counter_id()").fetchone()
    if source is None:
        return
    since = taker.db.execute("SELECT counter_mark(?)", (source,)).fetchone()[0] if draw.random() < .7 else 0
    batch = giver.db.execute("SELECT table_name, key, change, seq, source, upto FROM counter_changes(?)",
                             (since,)).fetchall()
    if not batch:  # what an application has written since may let waiting rows in
        taker.db.execute("SELECT counter_seen(?, 0, 0)", (source,)).fetchall()
        return
    if draw.random() < .3:
        draw.shuffle(batch)
    cuts = sorted(draw.sample(range(len(batch)), min(len(batch) - 1, draw.randint(0, 3)))) + [len(batch)]
    begin = 0
    for cut in cuts:
        last = cut == len(batch)
        taker.db.execute("BEGIN")
        for i, row in enumerate(batch[begin:cut]):
            taker.db.execute("INSERT INTO counter_changes(table_name, key, change, seq, source) VALUES (?, ?, ?, ?, ?)", row[:5])
            if draw.random() < .1 and i + 1 < cut:
                taker.db.execute("COMMIT")
                taker.db.execute("BEGIN")
        if last or draw.random() < .7:
            taker.db.execute("SELECT counter_seen(?, ?, ?)", (source, since, batch[0][-1] if last else since)).fetchall()
        taker.db.execute("COMMIT")
        begin = cut
    taker.join(giver.model)


def take_lines(draw, giver, taker):
    source, = giver.db.execute("SELECT counter_source()").fetchone()
    since = taker.db.execute("SELECT counter_mark(?)", (source,)).fetchone()[0] if source and draw.random() < .7 else 0
    lines = rows(giver.db, "SELECT line FROM counter_lines(?)", since)
    for line, in lines:
        rows(taker.db, "SELECT counter_take(?)", line)
    if source and not lines:  # as by a feed
        rows(taker.db, "SELECT counter_seen(?, 0, 0)", source)
    taker.join(giver.model)


def meet(draw, one, two):
    same = one.enforced == two.enforced  # a push writes as this connection does
    way = draw.choice(["pull", "pull", "feed", "feed", "lines"] + ["push", "sync"] * same)
    if way == "lines":
        take_lines(draw, two, one)
        one.check()
        return
    if way == "feed":
        feed(draw, two, one)
        one.check()
        return
    theirs, mine = two.copy_of_model(), one.copy_of_model()
    rows(one.db, f"SELECT * FROM counter_{way}('{two.path}')")
    if way != "push":
        one.join(theirs)
        one.check()
    if way != "pull":
        two.join(one.model if way == "sync" else mine)
        two.check()


def settle(draw, files):
    """All files meet until all have all."""
    for _ in range(2):
        for one in files:
            for two in files:
                if one is not two:
                    theirs = two.copy_of_model()
                    if draw.random() < .5:
                        feed(draw, two, one)
                    else:
                        rows(one.db, f"SELECT * FROM counter_pull('{two.path}')")
                    one.join(theirs)
                    one.check()
    for table in files[0].tables:
        digests = {rows(file.db, f"SELECT counter_table_digest('{table.name}')")[0][0] for file in files}
        assert len(digests) == 1, table.name


def play(path, seed):
    draw = random.Random(seed)
    names = [f"{draw.choice('amz')}{i}" for i in range(draw.randint(1, 4))]
    simple = draw.random() < .3  # all keys are deferred, as Django's are
    type = draw.choice(["TEXT", "TEXT", "INTEGER"])
    tables = [Table(name, names, draw, simple, type) for name in names]
    enforced = draw.random() < .85
    files = [File(path / f"{i}.db", tables, enforced or draw.random() < .5) for i in range(draw.randint(2, 4))]
    for step in range(-2 * len(tables), 0):
        files[0].write([statement(draw, files[0]) for _ in range(4)], step)
        time.sleep(.0011)
    for file in files[1:]:
        meet(draw, file, files[0])
    for step in range(draw.randint(10, 50)):
        if draw.random() < .6:
            write(draw, draw.choice(files), step)
        else:
            meet(draw, *draw.sample(files, 2))
    settle(draw, files)
    for file in files:
        file.db.close()


@pytest.mark.parametrize("world", range(EXAMPLES))
def test_a_merge_lets_no_foreign_key_act_and_shows_what_the_states_say(tmp_path, world):
    play(tmp_path, f"{SEED} foreign {world}")


# ---- what worlds have found before, one by one ----

def files(tmp_path, schema, *tables, n=2):
    """Files with one schema, each of whose tables is replicated; enforced foreign keys."""
    made = []
    for i in range(n):
        db = connect(tmp_path / f"file{i}.db")
        db.executescript(f"PRAGMA foreign_keys = ON; PRAGMA synchronous = OFF; {schema}")
        for table in tables:
            name, _, counters = table.partition(" ")
            rows(db, f"SELECT counter_replicate('{name}'{''.join(f', {counter!r}' for counter in counters.split())})")
        made.append(db)
    return made


def send(giver, taker, cuts=1):
    """A feed in as many batches, each merged and seen in a transaction of its own."""
    source, = giver.execute("SELECT counter_id()").fetchone()
    since, = taker.execute("SELECT counter_mark(?)", (source,)).fetchone()
    batch = giver.execute("SELECT table_name, key, change, seq, source, upto FROM counter_changes(?)",
                          (since,)).fetchall()
    size = -(-len(batch) // cuts)
    for begin in range(0, max(len(batch), 1), size or 1):
        taker.execute("BEGIN")
        taker.executemany("INSERT INTO counter_changes(table_name, key, change, seq, source) VALUES (?, ?, ?, ?, ?)", [row[:5] for row in batch[begin:begin + size]])
        upto = batch[0][-1] if batch and begin + size >= len(batch) else since
        taker.execute("SELECT counter_seen(?, ?, ?)", (source, since, upto)).fetchall()
        taker.execute("COMMIT")


def pull(giver, taker):
    path = rows(giver, "PRAGMA database_list")[0][2]
    rows(taker, f"SELECT * FROM counter_pull('{path}')")


def listed(db):
    return rows(db, "SELECT table_name, row_key, state FROM counter_tracked WHERE row_key NOT NULL")


SHOP = """CREATE TABLE category(id TEXT PRIMARY KEY NOT NULL);
    CREATE TABLE item(id TEXT PRIMARY KEY NOT NULL, cat TEXT REFERENCES category(id) {}, name TEXT);"""


@pytest.mark.parametrize("cuts", [1, 2, 100])
@pytest.mark.parametrize("action", ["", "ON DELETE CASCADE", "ON DELETE SET NULL", "ON DELETE SET DEFAULT", "ON DELETE RESTRICT",
                                    "DEFERRABLE INITIALLY DEFERRED", "ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED"])
def test_a_child_that_was_moved_survives_the_deletion_of_its_old_parent_by_feed(tmp_path, action, cuts):
    a, b = files(tmp_path, SHOP.format(action), "category", "item")
    b.executescript("INSERT INTO category VALUES ('old'), ('new'); INSERT INTO item VALUES ('jam', 'old', 'Jam')")
    send(b, a)
    b.executescript("UPDATE item SET cat = 'new'; DELETE FROM category WHERE id = 'old'; UPDATE item SET name = 'Plum jam'")
    send(b, a, cuts)
    send(a, b)
    for db in a, b:
        assert rows(db, "SELECT * FROM item") == [("jam", "new", "Plum jam")]
        assert rows(db, "SELECT * FROM category") == [("new",)]
        assert listed(db) == []


@pytest.mark.parametrize("way", [send, pull])
def test_children_follow_a_parent_whose_key_is_changed(tmp_path, way):
    a, b = files(tmp_path, SHOP.format("ON DELETE CASCADE ON UPDATE CASCADE"), "category", "item")
    b.executescript("INSERT INTO category VALUES ('old'); INSERT INTO item VALUES ('jam', 'old', 'Jam'), ('tea', 'old', 'Tea')")
    way(b, a)
    b.executescript("UPDATE category SET id = 'new'; UPDATE item SET name = 'Plum jam' WHERE id = 'jam'")
    way(b, a)
    way(a, b)
    for db in a, b:
        assert rows(db, "SELECT * FROM item ORDER BY id") == [("jam", "new", "Plum jam"), ("tea", "new", "Tea")]


@pytest.mark.parametrize("order", [(1, 2), (2, 1)])
@pytest.mark.parametrize("way", [send, pull])
def test_of_three_devices_the_one_that_reads_a_deletion_before_the_move_keeps_the_child(tmp_path, way, order):
    """The child is moved in one file, and its old parent deleted in another that has heard of it."""
    a, b, c = three = files(tmp_path, SHOP.format("ON DELETE CASCADE"), "category", "item", n=3)
    b.executescript("INSERT INTO category VALUES ('old'), ('new'); INSERT INTO item VALUES ('jam', 'old', 'Jam')")
    way(b, a)
    way(b, c)
    b.execute("UPDATE item SET cat = 'new'")
    way(b, c)
    c.execute("DELETE FROM category WHERE id = 'old'")
    for giver in order:
        way(three[giver], a)
    assert rows(a, "SELECT * FROM item") == [("jam", "new", "Jam")]
    assert rows(a, "SELECT * FROM category") == [("new",)]


@pytest.mark.parametrize("way", [send, pull])
def test_a_child_inserted_below_a_deleted_parent_stays_there_and_waits_elsewhere(tmp_path, way):
    a, b = files(tmp_path, SHOP.format("ON DELETE CASCADE"), "category", "item")
    a.execute("INSERT INTO category VALUES ('old')")
    way(a, b)
    a.execute("INSERT INTO item VALUES ('jam', 'old', 'Jam')")
    b.execute("DELETE FROM category")
    way(a, b)
    way(b, a)
    assert rows(a, "SELECT * FROM item, category") == [("jam", "old", "Jam", "old")]
    assert rows(b, "SELECT * FROM item") == rows(b, "SELECT * FROM category") == []
    assert listed(a) == [("category", "('old')", "differs")]
    assert {row[:2] for row in listed(b)} == {("item", "('jam')")}
    a.execute("DELETE FROM item")
    way(b, a)
    assert rows(a, "SELECT * FROM category") == listed(a) == []


@pytest.mark.parametrize("way", [send, pull])
def test_foreign_keys_that_are_not_enforced_keep_a_parent_as_well(tmp_path, way):
    a, b = files(tmp_path, SHOP.format("ON DELETE CASCADE"), "category", "item")
    a.execute("INSERT INTO category VALUES ('old')")
    way(a, b)
    a.execute("INSERT INTO item VALUES ('jam', 'old', 'Jam')")
    b.execute("DELETE FROM category")
    a.execute("PRAGMA foreign_keys = OFF")
    way(b, a)
    assert rows(a, "SELECT * FROM item, category") == [("jam", "old", "Jam", "old")]


@pytest.mark.parametrize("way", [send, pull])
def test_a_deferred_foreign_key_blocks_no_batch(tmp_path, way):
    a, b = files(tmp_path, SHOP.format("DEFERRABLE INITIALLY DEFERRED") + "ALTER TABLE category ADD COLUMN name", "category", "item")
    b.executescript("INSERT INTO category VALUES ('old', 1); INSERT INTO item VALUES ('jam', 'old', 'Jam')")
    way(b, a)
    b.executescript("INSERT INTO category VALUES ('new', 1); UPDATE item SET cat = 'new'; UPDATE category SET name = 2")
    way(b, a)
    assert rows(a, "SELECT * FROM item") == [("jam", "new", "Jam")]
    assert listed(a) == []


CIRCLE = """CREATE TABLE person(id TEXT PRIMARY KEY NOT NULL, team TEXT {1} REFERENCES team {0});
    CREATE TABLE team(id TEXT PRIMARY KEY NOT NULL, lead TEXT {1} REFERENCES person {0});"""


@pytest.mark.parametrize("way", [send, pull])
def test_the_parents_within_a_table_are_shown_before_their_children(tmp_path, way):
    a, b = files(tmp_path, "CREATE TABLE note(id TEXT PRIMARY KEY NOT NULL, answers TEXT REFERENCES note DEFERRABLE INITIALLY DEFERRED)",
                 "note")
    a.executescript("BEGIN; WITH RECURSIVE i(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM i WHERE i < 500) "
                    "INSERT INTO note SELECT i, i + 1 FROM i; INSERT INTO note VALUES (501, NULL), (0, 0), (-1, -2), (-2, -1); COMMIT")
    statements = []
    b.set_trace_callback(statements.append)
    way(a, b)
    b.set_trace_callback(None)
    assert rows(b, "SELECT * FROM note ORDER BY id") == rows(a, "SELECT * FROM note ORDER BY id")
    refused = [sql for sql in statements if "ROLLBACK TO _counter_shown" in sql]
    assert len(refused) < 50, len(refused)  # the two that refer to each other, in each turn


@pytest.mark.parametrize("way", [send, pull])
def test_rows_of_a_circle_come_though_their_default_refers_to_nothing_and_a_column_may_not_be_null(tmp_path, way):
    a, b = files(tmp_path, "CREATE TABLE person(id TEXT PRIMARY KEY NOT NULL, team TEXT DEFAULT 'none' REFERENCES team, "
                 "boss TEXT NOT NULL REFERENCES person DEFERRABLE INITIALLY DEFERRED);"
                 "CREATE TABLE team(id TEXT PRIMARY KEY NOT NULL, lead TEXT DEFAULT 'none' REFERENCES person)", "person", "team")
    b.executescript("INSERT INTO person VALUES ('ann', NULL, 'ann'); INSERT INTO team VALUES ('sales', 'ann');"
                    "UPDATE person SET team = 'sales'")
    way(b, a)
    assert listed(a) == []
    assert rows(a, "SELECT * FROM person, team") == [("ann", "sales", "ann", "sales", "ann")]


@pytest.mark.parametrize("not_null", ["", "NOT NULL"])
@pytest.mark.parametrize("action", ["", "ON DELETE CASCADE"])
@pytest.mark.parametrize("way", [send, pull])
def test_rows_that_refer_to_each_other_come_and_go_together(tmp_path, way, action, not_null):
    a, b = files(tmp_path, CIRCLE.format(action + " DEFERRABLE INITIALLY DEFERRED", not_null), "person", "team")
    for i in range(3):
        b.executescript(f"BEGIN; INSERT INTO person VALUES ('p{i}', 't{i}'); INSERT INTO team VALUES ('t{i}', 'p{i}'); COMMIT")
    way(b, a)
    assert rows(a, "SELECT * FROM person, team WHERE team = team.id AND lead = person.id ORDER BY 1") == [
        (f"p{i}", f"t{i}", f"t{i}", f"p{i}") for i in range(3)]
    assert listed(a) == []
    b.executescript("BEGIN; DELETE FROM person WHERE id < 'p2'; DELETE FROM team WHERE id < 't2'; COMMIT")
    way(b, a)
    assert rows(a, "SELECT * FROM person, team") == [("p2", "t2", "t2", "p2")]
    assert listed(a) == []


@pytest.mark.parametrize("action", ["", "ON DELETE RESTRICT", "ON DELETE CASCADE", "ON DELETE SET NULL"])
@pytest.mark.parametrize("way", [send, pull])
def test_rows_that_refer_to_each_other_by_immediate_keys_come_and_go_together(tmp_path, way, action):
    """One of the columns may be NULL, or they could not have been written in the first file."""
    a, b = files(tmp_path, f"CREATE TABLE person(id TEXT PRIMARY KEY NOT NULL, team TEXT NOT NULL REFERENCES team {action.replace('SET NULL', 'CASCADE')});"
                 f"CREATE TABLE team(id TEXT PRIMARY KEY NOT NULL, lead TEXT REFERENCES person {action}, size INTEGER);", "person", "team size")
    for i in range(3):
        b.executescript(f"INSERT INTO team VALUES ('t{i}', NULL, 5); INSERT INTO person VALUES ('p{i}', 't{i}'); UPDATE team SET lead = 'p{i}' WHERE id = 't{i}'")
    way(b, a)
    assert rows(a, "SELECT team.id, lead, size, person.id FROM team JOIN person ON team = team.id AND lead = person.id ORDER BY 1") == [
        (f"t{i}", f"p{i}", 5, f"p{i}") for i in range(3)]
    assert listed(a) == []
    b.executescript("UPDATE team SET lead = NULL WHERE id < 't2'; DELETE FROM person WHERE id < 'p2'; DELETE FROM team WHERE id < 't2'")
    way(b, a)
    assert rows(a, "SELECT team.id, lead, size, person.id FROM team, person") == [("t2", "p2", 5, "p2")]
    assert listed(a) == []
    for table in "person", "team":
        assert rows(a, f"SELECT counter_table_digest('{table}')") == rows(b, f"SELECT counter_table_digest('{table}')")


@pytest.mark.parametrize("way", [send, pull])
def test_a_circle_to_which_somebody_else_refers_stays_whole(tmp_path, way):
    a, b = files(tmp_path, CIRCLE.format("ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED", "")
                 + "CREATE TABLE badge(id TEXT PRIMARY KEY NOT NULL, owner REFERENCES person ON DELETE CASCADE)", "person", "team", "badge")
    b.executescript("BEGIN; INSERT INTO person VALUES ('p', 't'); INSERT INTO team VALUES ('t', 'p'); COMMIT")
    way(b, a)
    a.execute("INSERT INTO badge VALUES ('1', 'p')")
    b.execute("DELETE FROM team")
    way(b, a)
    assert rows(a, "SELECT * FROM person, team, badge") == [("p", "t", "t", "p", "1", "p")]
    a.execute("DELETE FROM badge")
    way(b, a)
    assert rows(a, "SELECT * FROM person") == rows(a, "SELECT * FROM team") == listed(a) == []


@pytest.mark.parametrize("way", [send, pull])
@pytest.mark.parametrize("names", [("a", "b"), ("b", "a")])
@pytest.mark.parametrize("action", ["", "ON DELETE RESTRICT", "ON DELETE CASCADE", "DEFERRABLE INITIALLY DEFERRED"])
def test_parents_and_children_of_tables_without_counters_are_deleted_whatever_their_names(tmp_path, way, names, action):
    basket, item = names
    a, b = files(tmp_path, f"CREATE TABLE {basket}(id TEXT PRIMARY KEY NOT NULL); CREATE TABLE {item}(id TEXT PRIMARY KEY NOT NULL, "
                 f"basket REFERENCES {basket} {action}, above REFERENCES {item} {action})", basket, item)
    b.executescript(f"INSERT INTO {basket} VALUES ('x'); INSERT INTO {item} VALUES ('c', 'x', NULL), ('a', 'x', 'c'), ('b', 'x', 'a')")
    way(b, a)
    assert rows(a, f"SELECT count(*) FROM {item}") == [(3,)]
    b.executescript(f"BEGIN; DELETE FROM {item} WHERE id = 'b'; DELETE FROM {item} WHERE id = 'a'; DELETE FROM {item}; DELETE FROM {basket}; COMMIT")
    way(b, a)
    assert rows(a, f"SELECT * FROM {item}") == rows(a, f"SELECT * FROM {basket}") == listed(a) == []


@pytest.mark.parametrize("way", [send, pull])
@pytest.mark.parametrize("write, shown", [
    ("UPDATE p SET n = n + 1", ("x", "X", 13)), ("UPDATE p SET name = 'Y'", ("x", "Y", 12)), ("UPDATE p SET name = 'Y', n = 0", ("x", "Y", 0)),
    ("INSERT INTO p VALUES ('x', 'Z', 5) ON CONFLICT(k) DO UPDATE SET n = n + excluded.n", ("x", "X", 17)),
    ("REPLACE INTO p VALUES ('x', 'Z', 13)", ("x", "Z", 13))])
def test_a_write_to_a_row_whose_deletion_is_not_shown_begins_its_next_life(tmp_path, way, write, shown):
    schema = "CREATE TABLE p(k TEXT PRIMARY KEY NOT NULL, name, n INTEGER); CREATE TABLE c(k TEXT PRIMARY KEY NOT NULL, p REFERENCES p);"
    a, b, c = files(tmp_path, schema, "p n", "c", n=3)
    a.execute("INSERT INTO p VALUES ('x', 'X', 12)")
    for db in b, c:
        way(a, db)
        db.execute("INSERT INTO c VALUES (?, 'x')", ("b" if db is b else "c",))
    a.execute("DELETE FROM p")
    for db in b, c:
        way(a, db)
        assert rows(db, "SELECT * FROM p") == [("x", "X", 12)]
        if "REPLACE" in write:  # enforced, the foreign key refuses it
            db.execute("PRAGMA foreign_keys = OFF")
        db.execute(write)
        assert rows(db, "SELECT * FROM p") == [shown]
        assert listed(db) == []
    way(b, a)
    assert rows(a, "SELECT * FROM p") == [shown]
    way(c, a)  # what both began with counts once, what each has counted since adds up
    (k, name, n), = rows(a, "SELECT * FROM p")
    assert (k, name, n) == (*shown[:2], 12 + 2 * (shown[2] - 12))
    assert rows(a, "SELECT * FROM p JOIN c ON p = p.k ORDER BY 4") == [(k, name, n, "b", "x"), (k, name, n, "c", "x")]
    assert rows(a, "SELECT * FROM counter_conflicts") == []


@pytest.mark.parametrize("way", [send, pull])
def test_a_row_whose_deletion_is_not_shown_can_be_deleted_here(tmp_path, way):
    schema = "CREATE TABLE p(k TEXT PRIMARY KEY NOT NULL, name); CREATE TABLE c(k TEXT PRIMARY KEY NOT NULL, p REFERENCES p ON DELETE CASCADE);"
    a, b = files(tmp_path, schema, "p", "c")
    a.execute("INSERT INTO p VALUES ('x', 'X')")
    way(a, b)
    b.execute("INSERT INTO c VALUES ('b', 'x')")
    a.execute("DELETE FROM p")
    way(a, b)
    assert listed(b) == [("p", "('x')", "differs")]
    b.execute("DROP TRIGGER p_counters_insert")
    rows(b, "SELECT counter_replicate('p')")  # looks at the row, and begins no life
    assert listed(b) == [("p", "('x')", "differs")]
    way(b, a)
    assert rows(a, "SELECT * FROM p") == []
    b.execute("DELETE FROM p")
    assert listed(b) == rows(b, "SELECT * FROM c") == []
    for table in "p", "c":
        way(b, a)
        assert rows(a, f"SELECT counter_table_digest('{table}')") == rows(b, f"SELECT counter_table_digest('{table}')")


def test_a_row_inserted_by_hand_that_a_foreign_key_may_touch_is_listed_until_the_batch_is_seen(tmp_path):
    a, b = files(tmp_path, SHOP.format(""), "category", "item")
    b.executescript("INSERT INTO category VALUES ('new'); INSERT INTO item VALUES ('jam', 'new', 'Jam')")
    a.executemany("INSERT INTO counter_changes(table_name, key, change, seq, source) VALUES (?, ?, ?, ?, ?)", rows(
        b, "SELECT table_name, key, change, seq, source FROM counter_changes(0)"))
    assert rows(a, "SELECT * FROM item") == rows(a, "SELECT * FROM category") == []
    assert {row[1:] for row in listed(a)} >= {("('jam')", "waits")}
    pull(b, a)
    assert rows(a, "SELECT * FROM item, category") == [("jam", "new", "Jam", "new")]
    assert listed(a) == []


def test_an_answer_to_two_openings_may_come_behind_the_batch_that_needs_it(tmp_path):
    a, b = (connect(tmp_path / name) for name in ("a.db", "b.db"))
    for db, stock in (a, 10), (b, 12):
        db.executescript(f"CREATE TABLE t(k TEXT PRIMARY KEY NOT NULL, name, stock INTEGER); INSERT INTO t VALUES ('tea', 'Tea', {stock})")
        rows(db, "SELECT counter_replicate('t', 'stock')")
    b.execute("UPDATE t SET stock = stock - 1, name = 'Green tea'")
    send(b, a)
    assert rows(a, "SELECT name, stock FROM t") == [("Green tea", 10)]
    assert listed(a) == [("t", "('tea')", "differs")]
    a.execute("UPDATE t SET stock = stock + 5")
    assert rows(a, "SELECT stock FROM t") == [(15,)]
    send(a, b)
    assert rows(b, "SELECT name, stock FROM t") == [("Green tea", 11)]
    opening, = rows(a, "SELECT lower(hex(name)) FROM counter_state WHERE kind = 'opening'")[0]
    rows(b, f"SELECT counter_opening('t', 'same', '{opening[:8]}-{opening[8:12]}-{opening[12:16]}-{opening[16:20]}-{opening[20:]}')")
    send(b, a)
    send(a, b)
    for db in a, b:
        assert rows(db, "SELECT name, stock FROM t") == [("Green tea", 16)]  # 12 - 1 + 5
        assert listed(db) == []


@pytest.mark.parametrize("way", [send, pull])
def test_a_value_that_a_foreign_key_changes_with_its_parent_beats_no_later_write(tmp_path, way):
    schema = """CREATE TABLE category(id TEXT PRIMARY KEY NOT NULL, code TEXT UNIQUE);
        CREATE TABLE item(id TEXT PRIMARY KEY NOT NULL, cat TEXT REFERENCES category(code) ON UPDATE CASCADE)"""
    a, b, c = three = files(tmp_path, schema, "category", "item", n=3)
    b.executescript("INSERT INTO category VALUES ('1', 'old'), ('2', 'two'); INSERT INTO item VALUES ('jam', 'old'), ('tea', 'old')")
    way(b, a)
    way(b, c)
    b.execute("UPDATE category SET code = 'new' WHERE id = '1'")
    time.sleep(.0011)
    c.execute("UPDATE item SET cat = 'two' WHERE id = 'tea'")
    time.sleep(.0011)
    way(b, a)  # the cascade is no write of a
    assert rows(a, "SELECT * FROM item ORDER BY id") == [("jam", "new"), ("tea", "new")]
    for giver, taker in (c, a), (a, b), (b, c), (c, a), (a, b):
        way(giver, taker)
    for db in three:
        assert rows(db, "SELECT * FROM item ORDER BY id") == [("jam", "new"), ("tea", "two")]


@pytest.mark.parametrize("way", [send, pull])
@pytest.mark.parametrize("enforced", [False, True])
@pytest.mark.parametrize("names", [("a", "b"), ("b", "a")])
def test_a_row_below_a_floor_goes_when_its_children_have_gone(tmp_path, way, names, enforced):
    """A floor has no state of the row that could be listed: without an entry of its own nothing would come back to it."""
    parent, child = names
    schema = (f"CREATE TABLE {parent}(k TEXT PRIMARY KEY NOT NULL, name); "
              f"CREATE TABLE {child}(k TEXT PRIMARY KEY NOT NULL, up REFERENCES {parent} ON DELETE CASCADE)")
    one, two = files(tmp_path, schema, *names)
    one.executescript(f"INSERT INTO {parent} VALUES ('a', 1), ('b', 2), ('z', 3); INSERT INTO {child} VALUES ('a', 'a'), ('b', 'b'), ('y', 'z')")
    way(one, two)
    for db in one, two:
        db.execute(f"PRAGMA foreign_keys = {enforced:d}")
    two.execute(f"INSERT INTO {child} VALUES ('z', 'b')")
    for table in child, parent:
        one.execute(f"INSERT INTO {table}_counters({table}_counters, k) VALUES ('purge below', 'm')")
    assert rows(one, f"SELECT * FROM {parent}") == [("z", 3)]
    way(one, two)
    assert rows(two, f"SELECT k FROM {parent} ORDER BY k") == [("b",), ("z",)]  # which of the tables is merged first says nothing
    assert rows(two, f"SELECT k FROM {child} ORDER BY k") == [("y",), ("z",)]
    two.execute(f"UPDATE {child} SET up = 'z' WHERE k = 'z'")
    way(one, two)
    way(two, one)
    for db in one, two:
        assert rows(db, f"SELECT k FROM {parent}") == [("z",)]
        assert rows(db, f"SELECT * FROM {child} ORDER BY k") == [("y", "z"), ("z", "z")]
        assert listed(db) == []


def test_a_tree_below_a_floor_goes_at_once(tmp_path):
    one, two = files(tmp_path, "CREATE TABLE t(k TEXT PRIMARY KEY NOT NULL, up REFERENCES t)", "t")
    one.execute("INSERT INTO t VALUES ('a', NULL), ('b', 'a'), ('c', 'b'), ('d', 'c'), ('e', 'd'), ('z', NULL)")
    pull(one, two)
    one.execute("INSERT INTO t_counters(t_counters, k) VALUES ('purge below', 'm')")
    pull(one, two)
    for db in one, two:
        assert rows(db, "SELECT * FROM t") == [("z", None)]


def test_a_table_that_is_rebuilt_without_foreign_keys_shows_no_child_without_its_parent(tmp_path):
    """A migration switches foreign keys off, and looks for broken ones at its end."""
    schema = ("CREATE TABLE p(k TEXT PRIMARY KEY NOT NULL, name UNIQUE); "
              "CREATE TABLE c(k TEXT PRIMARY KEY NOT NULL, p NOT NULL REFERENCES p, n INTEGER)")
    one, two = files(tmp_path, schema, "p", "c n")
    one.executescript("INSERT INTO p VALUES ('a', 'A'); INSERT INTO c VALUES ('d', 'a', 1)")
    pull(one, two)
    one.execute("UPDATE p SET name = 'B'")
    two.executescript("INSERT INTO p VALUES ('b', 'B'); INSERT INTO c VALUES ('c', 'b', 5); UPDATE c SET p = 'b'")
    pull(two, one)
    waiting = listed(one)
    one.execute("PRAGMA foreign_keys = OFF")
    one.execute("BEGIN")
    one.execute("CREATE TABLE new_c(k TEXT PRIMARY KEY NOT NULL, p NOT NULL REFERENCES p, n INTEGER)")
    for statement in "INSERT INTO new_c SELECT * FROM c", "DROP TABLE c", "ALTER TABLE new_c RENAME TO c", "SELECT counter_replicate('c', 'n')":
        rows(one, statement)
    assert rows(one, "PRAGMA foreign_key_check") == []
    assert rows(one, "SELECT * FROM c") == [("d", "a", 1)]
    one.execute("COMMIT")
    one.execute("PRAGMA foreign_keys = ON")
    assert listed(one) == waiting
    one.execute("UPDATE p SET name = 'C'")
    pull(two, one)
    assert rows(one, "SELECT * FROM c, p ON p.k = p ORDER BY c.k") == [("c", "b", 5, "b", "B"), ("d", "b", 1, "b", "B")]
    assert listed(one) == []


@pytest.mark.parametrize("change", ["ALTER TABLE c ADD COLUMN more", "CREATE TABLE other(x)"])
def test_rows_that_a_foreign_key_refuses_block_no_transaction_that_changes_the_schema(tmp_path, change):
    """There SQLite ends all statements that stand on a row when it goes back to a savepoint."""
    schema = ("CREATE TABLE p(k TEXT PRIMARY KEY NOT NULL, name UNIQUE); CREATE TABLE c(k TEXT PRIMARY KEY NOT NULL, "
              "p REFERENCES p DEFERRABLE INITIALLY DEFERRED)")
    one, two = files(tmp_path, schema, "p", "c")
    one.execute("INSERT INTO c VALUES ('1', NULL), ('2', NULL), ('3', NULL)")
    pull(one, two)
    one.execute("INSERT INTO p VALUES ('a', 'A')")
    two.executescript("INSERT INTO p VALUES ('b', 'A'); UPDATE c SET p = 'b'")
    pull(two, one)
    waiting = listed(one)
    assert len({row[1] for row in waiting}) == 4
    one.execute("BEGIN")
    one.execute(change)
    if "ADD COLUMN" in change:
        rows(one, "SELECT counter_replicate('c')")
    else:
        pull(two, one)
    one.execute("COMMIT")
    assert {row[:2] for row in listed(one)} == {row[:2] for row in waiting}
