"""test_deltas.py - files that pull what is new from each other, by marks and by the change
feed, while they are copied, restored and purged, and while their tables are dropped, renamed
and made again.

Each file must show what the sets of oracle.py say. A pull must report as many rows as the whole
table of the giver would have changed, though it reads but what is new; a batch of the feed that is
marked as seen must have left nothing behind. In the end everybody takes what is new from everybody,
and all are the same.
"""

import collections
import contextlib
import json
import os
import pathlib
import random
import shutil
import sqlite3
import tempfile

import pytest

from conftest import EXAMPLES
from files import connect
from oracle import Increments, Refused, Table
from randomly import (Machine, booleans, initialize, integers, lists, precondition, rule,
                      run_machine, sampled_from, tuples)

MOST_FILES = 4

# What a table is created with: its key, its counters, few keys so that files meet in
# them, its floors.
Kind = collections.namedtuple("Kind", "declaration keys counters values floors")
KINDS = {
    "views": Kind("path TEXT, hour INTEGER, hits COUNTER, bytes COUNTER, PRIMARY KEY (path, hour)",
                  ["path", "hour"], ["hits", "bytes"],
                  [(path, hour) for path in ("/", "/a") for hour in range(3)],
                  [(1, hour) for hour in range(4)] + [(0, "/a")]),
    "votes": Kind("topic TEXT COLLATE NOCASE PRIMARY KEY, n COUNTER", ["topic"], ["n"],
                  [("a",), ("b",), ("c",)], [(0, "b"), (0, "c"), (0, "d")]),
}
VERBS = {"views": ["reset", "reset hits", "delete bytes"], "votes": ["reset", "delete n"]}


def folded(key):
    """As the oracle knows it; NOCASE keeps the letters of whoever was first."""
    return tuple(part.lower() if isinstance(part, str) else part for part in key)


class Held:
    """A table of a file: the name it has now, and what is in it."""

    def __init__(self, name, table):
        self.name, self.table = name, table

    def copy(self):
        return Held(self.name, self.table.copy())


def copied(tables):
    return {birth: held.copy() for birth, held in tables.items()}


class File:
    """`committed` is what others find in it, `pending` what a transaction has made of it,
    `savepoint` an older copy of that; each maps the name at birth to what is held. A reader keeps
    a snapshot."""

    def __init__(self, path, journal, committed):
        self.path, self.journal, self.committed = path, journal, committed
        self.pending = self.savepoint = self.reader = None
        self.open()

    def open(self):
        self.db = connect(self.path)
        self.db.execute(f"PRAGMA journal_mode = {self.journal}")
        self.db.execute("PRAGMA synchronous = OFF")

    def close(self):
        """What is pending is gone."""
        self.let_go()
        self.db.close()
        self.pending = self.savepoint = None

    def let_go(self):
        if self.reader:
            db, held = self.reader
            for birth, one in held.items():
                assert shown(db, birth, one) == one.table.visible(), "the snapshot has changed"
            db.close()
            self.reader = None

    @property
    def tables(self):
        return self.committed if self.pending is None else self.pending

    def keep(self, tables):
        if self.pending is None:
            self.committed = tables
        else:
            self.pending = tables

    def raise_number(self):
        """As if the clock had been ahead when the file changed last. By another connection, for this one knows the
        numbers that it has given."""
        with contextlib.closing(connect(self.path)) as db:
            for held in self.committed.values():
                raise_number(db, held.name)


def raise_number(db, table):
    """A change of later is behind this one by some twenty minutes. What stands behind it stays behind: who has read
    the journal reads all of it again if its last row is gone."""
    number, = db.execute("SELECT number FROM counter_tables WHERE name = ?", [table]).fetchone()
    last = f"(SELECT max(_seq) FROM counter_journal WHERE tabs >> {number % 63} & 1)"
    db.execute(f"UPDATE counter_journal SET _seq = _seq + {2**32} WHERE _seq >= {last}")


def shown(db, birth, held):
    kind = KINDS[birth]
    rows = db.execute(f"SELECT {', '.join(kind.keys + kind.counters)} FROM {held.name}")
    width = len(kind.keys)
    return {folded(row[:width]): row[width:] for row in rows}


# A batch of the feed: what came out, what the oracle makes of each row, and what the
# giver held then.
Batch = collections.namedtuple("Batch", "rows changes source since upto held whole")

FEED, FLOORS = "table_name, key, change, seq, source", b"\x02"
numbers = integers(0, MOST_FILES - 1)
births = sampled_from(["views", "views", "votes"])
amounts = integers(-3, 5) | sampled_from([10**12])
places = integers(0, 5)


class Deltas(Machine):
    files = ()

    @initialize(journals=lists(sampled_from(["WAL", "DELETE"]), min_size=3, max_size=3),
                names=lists(sampled_from([False, False, True]), min_size=3, max_size=3),
                chance=integers(0, 2**32),
                rows=lists(tuples(numbers, births, places, amounts), max_size=8),
                acquainted=booleans())
    def start(self, journals, names, chance, rows, acquainted):
        """Three files with some rows; they may know each other, by marks of some time ago."""
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="counter-"))
        self.any_named = any(names)
        self.random, self.increments = random.Random(chance), Increments()
        self.files, self.backups, self.batches, self.paths = [], [], [], 0
        for i, (journal, is_named) in enumerate(zip(journals, names)):
            one = File(self.new_path(), journal, {})
            self.files.append(one)
            if is_named:
                one.db.execute("SELECT counter_init(?)", [f"dc:rack{i}"]).fetchone()
            for birth in KINDS:
                self.create(i, birth)
            # Else a restore could be less than a renewal younger than the content, which
            # nobody sees.
            one.db.execute("UPDATE counter_replica SET renewal = 0")
        for number, birth, place, amount in rows:
            self.insert(number, birth, "ABORT", [(place, amount)])
        if acquainted:
            self.bring_what_is_new_to_everyone(1)
            for number in range(len(self.files)):
                self.hurry(number)

    def new_path(self):
        self.paths += 1
        return str(self.folder / f"{self.paths}.db")

    def pick(self, number):
        return self.files[number % len(self.files)]

    def two(self, number, other):
        """Two files, the second another one."""
        number %= len(self.files)
        return self.files[number], self.files[(number + 1 + other % (len(self.files) - 1)) %
                                              len(self.files)]

    # How a statement is run and judged.

    def run(self, one, sql, arguments=()):
        """A named file that may have a twin says so: then it takes another id, as it is told to."""
        try:
            cursor = one.db.execute(sql, arguments)
            rows = cursor.fetchall()
        except sqlite3.OperationalError as error:
            if "counter_fork" not in str(error):
                raise
            one.db.execute("SELECT counter_fork()").fetchone()
            one.db.execute("UPDATE counter_replica SET renewal = 0")
            cursor = one.db.execute(sql, arguments)
            rows = cursor.fetchall()
        return cursor.rowcount, rows

    def change(self, one, birth, sql, arguments, foresee):
        """Runs a statement on a table. `foresee` does it to a copy: the rows it counts,
        or Refused."""
        tables = copied(one.tables)
        try:
            expected = foresee(tables[birth].table)
        except Refused as refusal:
            wanted = sqlite3.IntegrityError if refusal.kind == "constraint" else sqlite3.Error
            with pytest.raises(wanted):
                self.run(one, sql, arguments)
        else:
            done, _ = self.run(one, sql, arguments)
            assert expected in (None, done), f"{done} rows changed, not {expected}"
            one.keep(tables)
        self.look(one, birth)

    def look(self, one, *births):
        for birth in births or one.tables:
            held = one.tables[birth]
            assert shown(one.db, birth, held) == held.table.visible(), f"{birth} of {one.path}"

    def key(self, birth, place):
        """Some key, and the oracle's."""
        values = KINDS[birth].values
        key = values[place % len(values)]
        return tuple(part.upper() if part == "a" and place % 2 else part for part in key), key

    # What an application does.

    @rule(number=numbers, birth=births, conflict=sampled_from(["ABORT"] * 3 + ["IGNORE"]),
          rows=lists(tuples(places, amounts), min_size=1, max_size=3))
    def insert(self, number, birth, conflict, rows):
        one, kind = self.pick(number), KINDS[birth]
        if birth not in one.tables:
            return
        width = len(kind.counters)
        given = [(self.key(birth, place), (amount, None)[:width]) for place, amount in rows]
        marks = ", ".join("?" * (len(kind.keys) + width))
        self.change(one, birth, f"INSERT OR {conflict} INTO {one.tables[birth].name} VALUES "
                    + ", ".join([f"({marks})"] * len(rows)),
                    [x for (key, _), amounts in given for x in (*key, *amounts)],
                    lambda table: sum(table.insert(known, amounts, conflict)
                                      for (_, known), amounts in given))

    def where(self, birth, place):
        """A condition, and the keys that satisfy it."""
        kind, (key, known) = KINDS[birth], self.key(birth, place)
        if place == 5:
            return "1", [], kind.values
        return " AND ".join(f"{column} = ?" for column in kind.keys), list(key), [known]

    @rule(number=numbers, birth=births, place=places, amount=amounts)
    def update(self, number, birth, place, amount):
        one = self.pick(number)
        if birth not in one.tables:
            return
        condition, arguments, keys = self.where(birth, place)
        counter, width = KINDS[birth].counters[-1], len(KINDS[birth].counters)

        def foresee(table):
            hit = [key for key in keys if table.is_visible(key)]
            for key in hit:
                table.update(key, [0] * (width - 1) + [amount])
            return len(hit)
        self.change(one, birth, f"UPDATE {one.tables[birth].name} SET {counter} = {counter} + ? "
                    f"WHERE {condition}", [amount, *arguments], foresee)

    @rule(number=numbers, birth=births, place=places)
    def delete(self, number, birth, place):
        one = self.pick(number)
        if birth not in one.tables:
            return
        condition, arguments, keys = self.where(birth, place)

        def foresee(table):
            hit = [key for key in keys if table.is_visible(key)]
            for key in hit:
                table.delete(key)
            return len(hit)
        self.change(one, birth, f"DELETE FROM {one.tables[birth].name} WHERE {condition}", arguments,
                    foresee)

    @rule(number=numbers, birth=births, place=places, verb=places)
    def command(self, number, birth, place, verb):
        one, kind = self.pick(number), KINDS[birth]
        if birth not in one.tables:
            return
        verb = VERBS[birth][verb % len(VERBS[birth])]
        word, *name = verb.split()
        named = [kind.counters.index(n) for n in name] or range(len(kind.counters))
        key, known = self.key(birth, place)
        table = one.tables[birth].name
        marks = ", ".join("?" * (1 + len(key)))

        def foresee(oracle):
            oracle.command(known, word, named, [None] * len(kind.counters))
        self.change(one, birth,
                    f"INSERT INTO {table}({', '.join([table, *kind.keys])}) VALUES ({marks})",
                    [verb, *key], foresee)

    @rule(number=numbers, birth=births, floor=places)
    def purge(self, number, birth, floor):
        one, kind = self.pick(number), KINDS[birth]
        if birth not in one.tables:
            return
        position, value = kind.floors[floor % len(kind.floors)]
        table = one.tables[birth].name

        def foresee(oracle):
            oracle.raise_floors({position: value})
            return 1  # the command
        self.change(one, birth,
                    f"INSERT INTO {table}({table}, {kind.keys[position]}) VALUES (?, ?)",
                    ["purge below", value], foresee)

    @rule(number=numbers)
    def hurry(self, number):
        """A file that is restored gives lower numbers then than it gave before. Not in a copy that
        has yet to count: its numbers are still those of the original, whose clock was not ahead."""
        one = self.pick(number)
        if one.pending is not None:
            return
        source = self.source_of(one)
        if all(self.source_of(other) != source for other in self.files if other is not one):
            one.raise_number()

    @staticmethod
    def source_of(one):
        return one.db.execute("SELECT source FROM counter_changes(0) LIMIT 1").fetchone()

    @rule(number=numbers, birth=births)
    def optimize(self, number, birth):
        one = self.pick(number)
        if birth in one.tables:
            name = one.tables[birth].name
            self.run(one, f"INSERT INTO {name}({name}) VALUES ('optimize')")
            self.look(one, birth)

    # Tables come and go.

    @rule(number=numbers, birth=births)
    def create(self, number, birth):
        one = self.pick(number)
        if birth in one.tables:
            return
        one.db.execute(f"CREATE VIRTUAL TABLE {birth} USING counter({KINDS[birth].declaration})")
        tables = copied(one.tables)
        tables[birth] = Held(birth, Table(self.increments, len(KINDS[birth].counters)))
        one.keep(tables)

    @rule(number=numbers, birth=births, again=booleans())
    def drop(self, number, birth, again):
        one = self.pick(number)
        if birth not in one.tables:
            return
        one.db.execute(f"DROP TABLE {one.tables[birth].name}")
        tables = copied(one.tables)
        del tables[birth]
        one.keep(tables)
        if again:
            self.create(number, birth)

    @rule(number=numbers, birth=births)
    def rename(self, number, birth):
        one = self.pick(number)
        if birth not in one.tables:
            return
        tables = copied(one.tables)
        held = tables[birth]
        name = f"{birth}{self.paths}"
        if name != held.name:
            one.db.execute(f"ALTER TABLE {held.name} RENAME TO {name}")
        held.name = name
        one.keep(tables)
        self.look(one, birth)

    # Transactions and snapshots.

    @rule(number=numbers)
    def begin(self, number):
        one = self.pick(number)
        if one.pending is None:
            one.db.execute("BEGIN IMMEDIATE")
            one.pending, one.savepoint = copied(one.committed), None

    @precondition(lambda self: any(one.pending is not None for one in self.files))
    @rule(number=numbers, how=sampled_from(["COMMIT", "ROLLBACK", "SAVEPOINT s", "ROLLBACK TO s"]))
    def go_on(self, number, how):
        inside = [one for one in self.files if one.pending is not None]
        one = inside[number % len(inside)]
        if how == "ROLLBACK TO s" and one.savepoint is None:
            return
        one.db.execute(how)
        if how == "SAVEPOINT s":
            one.savepoint = copied(one.pending)
        elif how == "ROLLBACK TO s":
            one.pending = copied(one.savepoint)
        else:
            one.committed = one.pending if how == "COMMIT" else one.committed
            one.pending = None
        self.look(one)

    @rule(number=numbers)
    def read_on(self, number):
        """A snapshot that stands while others go on, or the end of it."""
        one = self.pick(number)
        if one.reader or one.journal == "DELETE":
            return one.let_go()
        db = connect(one.path)
        db.execute("BEGIN")
        db.execute("SELECT * FROM counter_tables").fetchall()
        one.reader = db, copied(one.committed)

    # Pulls.

    def merged(self, tables, given):
        """The tables after a merge, and for each birth how many rows that changed."""
        after, changed = copied(tables), {}
        for birth, held in given.items():
            if birth not in after:
                after[birth] = Held(birth, Table(self.increments, held.table.width))
            changed[birth] = after[birth].table.merge(held.table)
        return after, changed

    @staticmethod
    def reported(tables, changed):
        return sorted((tables[birth].name, n) for birth, n in changed.items())

    def exchange(self, one, call, arguments, given):
        """One takes; what is read is returned, by name."""
        tables, changed = self.merged(one.tables, given)
        if not given:
            with pytest.raises(sqlite3.Error, match="no counter tables"):
                self.run(one, f"SELECT * FROM {call}", arguments)
            return {}
        _, rows = self.run(one, f"SELECT table_name, rows_changed, rows_read FROM {call}",
                           arguments)
        assert sorted(row[:2] for row in rows) == self.reported(tables, changed)
        one.keep(tables)
        self.look(one)
        return {name: read for name, _, read in rows}

    @rule(number=numbers, other=numbers, how=sampled_from(["path"] * 3 + ["schema", "full"]),
          again=booleans())
    def pull(self, number, other, how, again):
        one, other = self.two(number, other)
        if how == "schema" and one.pending is None:
            one.db.execute("ATTACH ? AS guest", [other.path])
            self.exchange(one, "counter_pull('guest')", [], other.committed)
            one.db.execute("DETACH guest")
        elif how == "full":
            read = self.exchange(one, "counter_pull(?, 'full')", [other.path], other.committed)
            assert read == {one.tables[birth].name: len(held.table.rows)
                            for birth, held in other.committed.items()}
        else:
            self.exchange(one, "counter_pull(?)", [other.path], other.committed)
        if again:
            self.pull_again(one, other)

    def pull_again(self, one, other):
        """Nothing is read again."""
        if other.pending is not None or not other.committed:
            return
        if self.any_named:  # what it has proved of a twin may have made its own marks void
            self.exchange(one, "counter_pull(?)", [other.path], other.committed)
        read = self.exchange(one, "counter_pull(?)", [other.path], other.committed)
        assert read == {one.tables[birth].name: 0 for birth in other.committed}

    @rule(number=numbers, other=numbers, both=booleans())
    def push(self, number, other, both):
        one, other = self.two(number, other)
        if one.pending is not None or other.pending is not None or not one.committed:
            return
        theirs, pushed = self.merged(other.committed, one.committed)
        mine, pulled = self.merged(one.committed, other.committed) if both else (one.committed, {})
        if both and not other.committed:
            return
        one.db.execute("ATTACH ? AS guest", [other.path])
        _, rows = self.run(one, "SELECT table_name, rows_changed "
                           f"FROM {'counter_sync' if both else 'counter_push'}('guest')")
        one.db.execute("DETACH guest")
        total = {birth: pushed.get(birth, 0) + pulled.get(birth, 0) for birth in {**pushed, **pulled}}
        assert sorted(rows) == self.reported({**theirs, **mine}, total)
        one.committed, other.committed = mine, theirs
        self.look(one)
        self.look(other)

    # The feed.

    def take(self, giver, since, bucket=None, held=None):
        """A batch, None if it is empty."""
        arguments = [since] + ([bucket] if bucket else [])
        rows = giver.db.execute(f"SELECT {FEED}, upto, counter_key_json(key) FROM counter_changes("
                                f"{', '.join('?' * len(arguments))})", arguments).fetchall()
        if not rows:
            return None
        held = copied(giver.committed)
        changes = [self.change_of(row, held) for row in rows]
        assert len({row[4] for row in rows}) == 1 and all(since <= row[3] for row in rows)
        assert all(row[5] is None if bucket else row[3] <= row[5] for row in rows)
        return Batch([row[:5] for row in rows], changes, rows[0][4], since, rows[0][5], held,
                     not bucket)

    @staticmethod
    def change_of(row, held):
        """What a row of the feed does to a table of the oracle."""
        birth, _, change = row[:3]
        key, table = folded(json.loads(row[6])), held[birth].table
        if change == FLOORS:
            floors = {i: floor for i, floor in enumerate(key) if floor is not None}
            assert floors == table.floors, "other floors than the file has"
            return birth, lambda oracle: oracle.raise_floors(floors)
        counters = list(table.rows[key])

        def merge(oracle):
            for i, counter in enumerate(counters):
                oracle.merge_cell(key, i, counter)
        return birth, merge

    def apply(self, one, changes):
        """Rows with what they do, in one transaction if they are to be seen whole."""
        tables = copied(one.tables)
        for row, (birth, change) in changes:
            if birth in tables:
                one.db.execute(f"INSERT INTO counter_changes({FEED}) VALUES (?, ?, ?, ?, ?)",
                               row)
                change(tables[birth].table)
            else:
                with pytest.raises(sqlite3.Error, match="no counter table was created"):
                    one.db.execute(
                        f"INSERT INTO counter_changes({FEED}) VALUES (?, ?, ?, ?, ?)", row)
        one.keep(tables)
        self.look(one)

    def apply_whole(self, one, batch):
        """Then nothing below the mark is missing, which the mark must not say too early."""
        if not one.tables:
            return
        alone = one.pending is None
        if alone:
            one.db.execute("BEGIN")
        self.apply(one, list(zip(batch.rows, batch.changes)))
        mark, = one.db.execute("SELECT counter_seen(?, ?, ?)",
                               [batch.source, batch.since, batch.upto]).fetchone()
        if alone:
            one.db.execute("COMMIT")
        assert (mark,) == one.db.execute("SELECT counter_mark(?)", [batch.source]).fetchone()
        if mark >= batch.upto:
            self.has_all_of(one, batch.held)

    def has_all_of(self, one, given):
        for birth, held in given.items():
            if birth in one.tables:
                assert one.tables[birth].table.has_all_of(held.table), "marked, but not all is here"

    def mark_of(self, one, giver):
        """Where one would ask the giver's feed from."""
        source = self.source_of(giver)
        if not source or not one.tables:
            return 0
        return one.db.execute("SELECT counter_mark(?)", source).fetchone()[0]

    @rule(number=numbers, other=numbers)
    def follow(self, number, other):
        """What is new, at once: then one has everything."""
        one, other = self.two(number, other)
        batch = self.take(other, self.mark_of(one, other))
        if batch:
            self.apply_whole(one, batch)
        if one.tables:
            self.has_all_of(one, other.committed)

    @rule(number=numbers, other=numbers, all_of_it=booleans())
    def take_batch(self, number, other, all_of_it):
        taker, giver = self.two(number, other)
        batch = self.take(giver, 0 if all_of_it else self.mark_of(taker, giver))
        if batch:
            self.batches.append((taker, batch))

    @precondition(lambda self: self.batches)
    @rule(number=numbers, which=integers(0, 9),
          how=sampled_from(["whole", "whole", "cut", "doubled", "shuffled"]), forget=booleans())
    def apply_batch(self, number, which, how, forget):
        """Late, perhaps to another file, perhaps in disorder."""
        which %= len(self.batches)
        taker, batch = self.batches[which]
        if forget:
            del self.batches[which]
        one = taker if number % 2 and taker in self.files else self.pick(number)
        if how == "whole":
            return self.apply_whole(one, batch)
        changes = list(zip(batch.rows, batch.changes))
        if how == "cut":
            changes = changes[self.random.randrange(len(changes)):][:3]
        elif how == "doubled":
            changes += self.random.sample(changes, min(3, len(changes)))
        else:
            self.random.shuffle(changes)
        self.apply(one, changes)

    @rule(number=numbers, other=numbers, birth=births, n=sampled_from([1, 2, 5, 64]))
    def repair(self, number, other, birth, n):
        """The parts whose digests differ go both ways: then the tables are equal."""
        one, other = self.two(number, other)
        if one.pending is not None or other.pending is not None:
            return
        if birth not in one.tables or birth not in other.tables:
            return
        digests = [dict(each.db.execute("SELECT bucket, digest FROM counter_digests(?, ?)",
                                        [each.tables[birth].name, n])) for each in (one, other)]
        for bucket, digest in digests[0].items():
            if digest != digests[1][bucket] or n == 1:
                for giver, taker in ((one, other), (other, one)):
                    batch = self.take(giver, 0, bucket)
                    if batch:
                        self.apply(taker, [(row, change) for row, change in
                                           zip(batch.rows, batch.changes) if row[0] == birth])
        here, there = one.tables[birth].table, other.tables[birth].table
        if here.floors == there.floors:
            assert here.rows == there.rows
        self.compare(one, other, birth)

    # Copies and restores.

    def leave(self, one):
        """Closes a file, so that it can be copied in this process. An empty WAL stays if nobody but a
        pull, which opens the file read-only, has used it."""
        one.close()
        for suffix in ("-wal", "-journal"):
            assert not os.path.exists(one.path + suffix) or os.path.getsize(one.path + suffix) == 0

    @rule(number=numbers)
    def back_up(self, number):
        one, path = self.pick(number), self.new_path()
        self.leave(one)
        shutil.copyfile(one.path, path)
        one.open()
        self.backups.append((one, path, copied(one.committed)))

    @staticmethod
    def overwrite(path, source, by):
        if by == "cp":
            shutil.copyfile(source, path)
        else:
            shutil.copyfile(source, path + ".new")
            os.replace(path + ".new", path)

    @precondition(lambda self: self.backups)
    @rule(which=integers(0, 9), by=sampled_from(["cp", "rename"]))
    def restore(self, which, by):
        """What only the lost content had is lost."""
        one, path, held = self.backups[which % len(self.backups)]
        if one in self.files:
            self.put(one, path, held, by)

    def put(self, one, path, held, by):
        self.leave(one)
        self.overwrite(one.path, path, by)
        one.committed = copied(held)
        one.open()
        self.look(one)

    @rule(number=numbers, other=numbers, by=sampled_from(["cp", "rename"]))
    def copy(self, number, other, by):
        """A new file, or where there are too many, in the place of another."""
        one, target = self.two(number, other)
        self.leave(one)
        if len(self.files) < MOST_FILES:
            path = self.new_path()
            shutil.copyfile(one.path, path)
            self.files.append(File(path, one.journal, copied(one.committed)))
        else:
            self.put(target, one.path, one.committed, by)
        one.open()

    # Digests.

    def content(self, one, birth):
        """The rows that are stored with their complete cells, and the floors."""
        kind, name = KINDS[birth], one.tables[birth].name
        keys = ", ".join(kind.keys)
        rows = {folded(row): {} for row in one.db.execute(f"SELECT {keys} FROM {name}_cells")}
        for key, column, digest in one.db.execute(
                "SELECT key, column_name, counter_digest(cell) FROM counter_cells(?)", [name]):
            rows[folded(json.loads(key))][column] = digest
        floors = one.db.execute("SELECT counter_key_json(value) FROM counter_state WHERE kind = 'floors' "
                                "AND tab = (SELECT number FROM counter_tables AS t WHERE t.name = ?)", [name]).fetchall()
        return sorted(rows.items()), [folded(json.loads(key)) for key, in floors]

    @rule(number=numbers, other=numbers, birth=births)
    def digests_tell_whether_contents_are_equal(self, number, other, birth):
        one, other = self.two(number, other)
        if birth in one.tables and birth in other.tables:
            self.compare(one, other, birth)

    def compare(self, one, other, birth):
        contents, wholes, parts = [], [], []
        for each in (one, other):
            name = each.tables[birth].name
            wholes.append(each.db.execute("SELECT counter_table_digest(?)", [name]).fetchone())
            parts.append(each.db.execute("SELECT * FROM counter_digests(?, 3)", [name]).fetchall())
            contents.append(self.content(each, birth))
            table = each.tables[birth].table
            assert [row[0] for row in contents[-1][0]] == sorted(table.rows), "rows that are stored"
            assert sum(rows for _, rows, _ in parts[-1]) == len(table.rows)
            floors = each.db.execute("SELECT * FROM counter_floors(?)", [name])
            assert {KINDS[birth].keys.index(column): folded([floor])[0]
                    for column, floor in floors} == table.floors
        assert (wholes[0] == wholes[1]) == (contents[0] == contents[1])
        assert (parts[0] == parts[1]) == (contents[0][0] == contents[1][0])

    # The end.

    def finish(self):
        self.settle()
        self.bring_what_is_new_to_everyone(2)
        self.all_are_the_same()
        for one in self.files:
            one.db.close()

    def teardown(self):
        for one in self.files:
            with contextlib.suppress(sqlite3.Error):
                one.close()
        if self.files:
            shutil.rmtree(self.folder)

    def settle(self):
        for number, one in enumerate(self.files):
            one.let_go()
            if one.pending is not None:
                one.db.execute("ROLLBACK")
                one.pending = None
            for birth in KINDS:
                self.create(number, birth)

    def bring_what_is_new_to_everyone(self, times):
        pairs = [(a, b) for a in range(len(self.files)) for b in range(len(self.files) - 1)]
        for _ in range(times):
            self.random.shuffle(pairs)
            for number, other in pairs:
                if self.random.random() < 0.5:
                    self.pull(number, other, "path", False)
                else:
                    self.follow(number, other)

    def all_are_the_same(self):
        first = self.files[0]
        for one in self.files:
            for birth, held in one.committed.items():
                expected = first.committed[birth].table
                assert (held.table.rows, held.table.floors) == (expected.rows, expected.floors)
                assert self.content(one, birth) == self.content(first, birth)
                self.compare(one, first, birth)
                one.db.execute(f"INSERT INTO {held.name}({held.name}) VALUES ('integrity-check')")
            faults = {why for why, in one.db.execute("SELECT why FROM counter_conflicts")}
            assert faults <= ({"source", "own"} if self.any_named else {"source"})
            assert one.db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


# ---- what the marks are named after --------------------------------------------------------------

VOTES = f"CREATE VIRTUAL TABLE votes USING counter({KINDS['votes'].declaration})"


def run(path, *statements):
    """Each may have arguments; what the last gives."""
    with contextlib.closing(connect(path)) as db:
        for sql, *arguments in statements:
            rows = db.execute(sql, arguments).fetchall()
    return rows


def pull_new(path, source):
    run(path, ("SELECT * FROM counter_pull(?)", source))


def follow_new(path, source):
    """By the feed, with a mark for the next time."""
    with contextlib.closing(connect(path)) as db, contextlib.closing(connect(source)) as giver:
        name, = giver.execute("SELECT source FROM counter_changes(0)").fetchone()
        since, = db.execute("SELECT counter_mark(?)", [name]).fetchone()
        rows = giver.execute(f"SELECT {FEED}, upto FROM counter_changes(?)", [since]).fetchall()
        db.execute("BEGIN")
        for row in rows:
            db.execute("INSERT INTO counter_changes VALUES (?, ?, ?, ?, ?)", row[:5])
        if rows:
            db.execute("SELECT counter_seen(?, ?, ?)", [name, since, rows[0][5]]).fetchone()
        db.execute("COMMIT")


ways = pytest.mark.parametrize("way", [pytest.param(way, id=way.__name__)
                                       for way in (pull_new, follow_new)])

def run_ahead(path, *statements):
    """The same by a clock that is ahead: what follows has lower numbers, but for what runs ahead, too."""
    rows = run(path, *statements)
    with contextlib.closing(connect(path)) as db:
        raise_number(db, "votes")
    return rows


def add(topic):
    return "INSERT INTO votes VALUES (?, 1)", topic


def delete(topic):
    return "DELETE FROM votes WHERE topic = ?", topic


def shown_topics(path):
    return {topic for topic, in run(path, ("SELECT topic FROM votes",))}


@ways
@pytest.mark.parametrize("by", ["cp", "rename"])
@pytest.mark.parametrize("named", [False, True])
def test_a_file_that_was_restored_is_read_whole_though_its_numbers_have_passed_the_mark(
        tmp_path, way, by, named):
    """A named one that deletes does not count, and keeps its id."""
    source, taker, backup = (str(tmp_path / name) for name in ("source", "taker", "backup"))
    if named:
        run(source, ("SELECT counter_init('dc:rack')",))
    run(source, (VOTES,), ("UPDATE counter_replica SET renewal = 0",), add("a"), add("b"))
    run(taker, (VOTES,))
    shutil.copyfile(source, backup)
    run_ahead(source, add("c"))
    way(taker, source)
    Deltas.overwrite(source, backup, by)
    run(source, delete("a"))
    run_ahead(source, delete("b"))
    way(taker, source)
    assert shown_topics(taker) == {"c"}


@ways
@pytest.mark.parametrize("named", [False, True])
def test_a_copy_is_read_whole_though_its_numbers_have_passed_the_mark(tmp_path, way, named):
    source, taker, copy = (str(tmp_path / name) for name in ("source", "taker", "copy"))
    if named:
        run(source, ("SELECT counter_init('dc:rack')",))
    run(source, (VOTES,), ("UPDATE counter_replica SET renewal = 0",), add("a"), add("b"))
    run(taker, (VOTES,))
    shutil.copyfile(source, copy)
    run_ahead(source, add("c"))
    way(taker, source)
    run(copy, delete("a"))
    run_ahead(copy, delete("b"))
    way(taker, copy)
    way(taker, source)
    assert shown_topics(taker) == {"c"}


@ways
@pytest.mark.parametrize("again", ["source", "taker"])
def test_a_table_made_again_is_read_whole(tmp_path, way, again):
    source, taker, third = (str(tmp_path / name) for name in ("source", "taker", "third"))
    for path in (source, taker, third):
        run(path, (VOTES,), ("CREATE VIRTUAL TABLE other USING counter(k PRIMARY KEY, n COUNTER)",))
    run_ahead(source, add("a"), ("INSERT INTO other VALUES ('x', 1)",), add("b"))
    way(third, source)
    way(taker, source)
    run({"source": source, "taker": taker}[again], ("DROP TABLE votes",), (VOTES,))
    if again == "source":
        pull_new(source, third)
        run(taker, ("DROP TABLE votes",), (VOTES,))
    way(taker, source)
    assert shown_topics(taker) == {"a", "b"}


@ways
def test_a_second_look_reads_little(tmp_path, way):
    source, taker = (str(tmp_path / name) for name in ("source", "taker"))
    many = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < 5000) "
    run(source, (VOTES,), (f"{many} INSERT INTO votes SELECT x, 1 FROM c",))
    run(taker, (VOTES,))
    way(taker, source)
    first = [(0,)] if way is pull_new else [(5000,)]  # a pull has marks of its own
    assert run(taker, ("SELECT rows_read FROM counter_pull(?)", source)) == first
    assert run(taker, ("SELECT rows_read FROM counter_pull(?)", source)) == [(0,)]
    run(source, add("x"))
    assert run(taker, ("SELECT rows_read FROM counter_pull(?)", source)) == [(1,)]
    run(source, *[add(f"y{n}") for n in range(3)])
    assert run(taker, ("SELECT rows_read FROM counter_pull(?)", source)) == [(3,)]
    run(source, ("INSERT INTO votes(votes) VALUES ('optimize')",))
    assert run(taker, ("SELECT rows_read FROM counter_pull(?)", source)) == [(0,)]
    run(source, add("x"), ("INSERT INTO votes(votes) VALUES ('optimize')",))
    assert run(taker, ("SELECT rows_read FROM counter_pull(?)", source)) == [(1,)]


def test_what_is_new_is_all_that_is_needed():
    run_machine(Deltas, max(20, EXAMPLES // 2), steps=40)
