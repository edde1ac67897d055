"""applications.py - a world of three files of one application, adopted and copied, and a model of what they must show.

A file does what its application does, in plain SQL or through an ORM. What a statement did, its triggers and cascades
included, is read from the tables, and taken into the model of the file: for each row a life, a stamp and a value for each
column, and for each counter the set of the operations. A merge joins models. Beside them stand the numbers that were given
out, and the sums that the application meant to count.

In a calm world nothing is refused: a row is either shared and never deleted, or its home, the file that inserted it, alone
deletes it and lets others refer to it; UNIQUE values are new. Then each file shows its model after each merge, and lists nothing.
In any other world all of that happens: rows that are not as the model has them must be listed, and have a reason.
"""

import contextlib
import json
import os
import re
import sqlite3
import subprocess
import time

from files import ROOT, connect, copy_live

PROGRAM = ROOT / "build" / "sqlite-counter"
SCHEMAS = ROOT / "tests" / "schemas"
OF_MACHINE = {"updated_at"}  # a trigger writes the time


class Row:
    """A version of a row, which nobody changes."""

    def __init__(self, life=0, columns=None, counts=None):
        self.life, self.columns, self.counts = life, columns or {}, counts or {}

    def is_live(self):
        return self.life % 2 == 1

    def join(self, other):
        if self.life != other.life:
            return max(self, other, key=lambda row: row.life)
        columns = {name: max(mine, other.columns[name], key=lambda written: written[0]) for name, mine in self.columns.items()}
        return Row(self.life, columns, {name: {**mine, **other.counts[name]} for name, mine in self.counts.items()})

    def values(self):
        return {**{name: value for name, (_, value) in self.columns.items()},
                **{name: sum(counted.values()) for name, counted in self.counts.items()}}


class Table:
    def __init__(self, db, name, counters):
        sql, = db.execute("SELECT sql FROM sqlite_master WHERE name = ?", [name]).fetchone()
        self.name, self.folds, self.spread = name, "NOCASE" in sql, "AUTOINCREMENT" in sql
        columns = [row for row in db.execute(f'PRAGMA table_xinfo("{name}")') if not row[6]]
        self.key = [row[1] for row in sorted(columns, key=lambda row: row[5]) if row[5]]
        self.counters = [row[1] for row in columns if row[1] in counters]
        self.regular = [row[1] for row in columns if row[1] not in [*self.key, *counters, *OF_MACHINE]]
        self.links = [(row[3], row[2].lower()) for row in db.execute(f'PRAGMA foreign_key_list("{name}")')]
        self.unique = []
        for _, index, unique, origin, partial in db.execute(f'PRAGMA index_list("{name}")').fetchall():
            if unique and origin != "pk" and not partial:
                self.unique.append([row[2] for row in db.execute(f'PRAGMA index_info("{index}")')])
        listed = ", ".join(f'"{column}"' for column in [*self.key, *self.regular, *self.counters])
        self.query = f'SELECT {listed} FROM "{name}"'

    def rows(self, db):
        names = [*self.regular, *self.counters]
        found = {}
        for row in db.execute(self.query):
            found[self.key_of(row)] = dict(zip(names, row[len(self.key):]))
        return found

    def key_of(self, row):
        return tuple(value.lower() if self.folds and isinstance(value, str) else value for value in row[:len(self.key)])

    def clashes(self, key, row, shown):
        """The rows that have a value of a UNIQUE index which this one should have."""
        def of(columns, key, values):
            return [str(value).lower() for value in map({**values, **dict(zip(self.key, key))}.get, columns) if value is not None]
        return [other for columns in self.unique for other, there in shown.items() if other != key
                and len(of(columns, key, row.values())) == len(columns) and of(columns, key, row.values()) == of(columns, other, there)]

    def where(self):
        return " AND ".join(f'"{column}" = ?' for column in self.key)


class World:
    def __init__(self, draw, application, folder, is_calm=True):
        self.draw, self.application, self.folder, self.is_calm = draw, application, folder, is_calm
        self.home, self.given, self.sums, self.made, self.last, self.bound, self.step = {}, {}, {}, 0, None, 0, 0
        self.tables, self.seconds = [], {}
        self.files = self.copies(self.adopted())
        self.start()

    def adopted(self):
        path = str(self.folder / "0.db")
        db = sqlite3.connect(path, isolation_level=None)
        db.execute("PRAGMA synchronous = OFF")
        db.executescript((SCHEMAS / f"{self.application.name}.sql").read_text())
        db.execute("PRAGMA journal_mode = " + self.draw.choice(["WAL", "DELETE"]))
        db.close()
        words = [word for counter in self.application.counters for word in ("--counter", counter)]
        words += [word for table in self.application.left for word in ("--leave", table)]
        for command in ["plan", path], ["adopt", *words, path]:
            begin = time.monotonic()
            done = subprocess.run([PROGRAM, *command], capture_output=True, text=True, check=True)
            self.seconds[command[0]] = time.monotonic() - begin
        db = connect(path)
        for line in done.stdout.splitlines():
            name, what, _ = line.split("\t")
            if what.startswith("replicated"):
                counters = [counter.split(".")[1] for counter in self.application.counters if counter.split(".")[0] == name]
                self.tables.append(Table(db, name, counters))
        db.close()
        return path

    def copies(self, path):
        files = [File(self, path, 0)]
        for number in 1, 2:
            to, one = str(self.folder / f"{number}.db"), self.draw.choice(files)
            way = self.draw.choice(["copy", "vacuum", "backup"])
            if way == "copy":
                copy_live(one.path, to)
            elif way == "vacuum":
                one.db.execute("VACUUM INTO ?", [to])
            else:
                other = sqlite3.connect(to)
                one.db.backup(other)
                other.close()
            files.append(File(self, to, number))
        return files

    def start(self):
        shown = self.files[0].shown
        for table in self.tables:
            self.given[table.name] = {key for key in shown[table.name] if table.spread}
            for key, row in shown[table.name].items():
                columns = {name: ((0, 0), row[name]) for name in table.regular}
                counts = {name: {"opening": row[name]} for name in table.counters}
                for file in self.files:
                    file.model[table.name][key] = Row(1, columns, counts)
                for name in table.counters:
                    self.sums[table.name, key, name] = row[name]

    def uid(self):
        self.made += 1
        return f"u{self.made}"

    def close(self):
        for file in self.files:
            file.db.close()


class Undo(Exception):
    pass


class File:
    def __init__(self, world, path, number):
        self.world, self.draw, self.path, self.number = world, world.draw, path, number
        self.db = connect(path, timeout=10)
        self.db.execute("PRAGMA synchronous = OFF")
        self.db.execute("PRAGMA foreign_keys = ON")
        self.model = {table.name: {} for table in world.tables}
        self.shown = self.rows()

    def rows(self):
        return {table.name: table.rows(self.db) for table in self.world.tables}

    def listed(self):
        return self.db.execute("SELECT state, table_name, row_key, column_name, shown, merged, why FROM counter_tracked"
                               " WHERE row_key IS NOT NULL AND column_name IS NOT 'updated_at'").fetchall()

    # ---- what an application does

    def do(self, sql, *values, home="new", rewrites=None):
        """Runs a statement and takes what it did into the model. What fails is told by None. `rewrites`: the row of which a REPLACE
        writes all columns."""
        self.wait()
        try:
            found = self.db.execute(sql, values).fetchall()
        except sqlite3.IntegrityError:
            found = None
        self.take(home, rewrites)
        return found

    def insert(self, table, home="new", verb="INSERT", **values):
        """The key that was given out, told by RETURNING or by last_insert_rowid(); None where the INSERT failed."""
        names, marks = ", ".join(f'"{name}"' for name in values), ", ".join("?" * len(values))
        returning = sqlite3.sqlite_version_info >= (3, 35) and self.draw.random() < .5
        keys, before = self.world_table(table).key, self.shown
        found = self.do(f'{verb} INTO "{table}"({names}) VALUES ({marks})' + f' RETURNING "{keys[0]}"' * returning, *values.values(),
                        home=home, rewrites=(table, tuple(map(values.get, keys))) if "REPLACE" in verb else None)
        if found is None or self.shown == before:
            return None
        key = found[0][0] if returning else self.db.execute("SELECT last_insert_rowid()").fetchone()[0]
        assert not self.world_table(table).spread or (key,) in self.shown[table]
        return key

    def world_table(self, name):
        return next(table for table in self.world.tables if table.name == name)

    def ask(self, call, *values, home="new"):
        """A call of the program of the application, which is a transaction: what it answers, None where it failed."""
        self.wait()
        answer = self.world.application.worker.call(self.path, call, *values)
        self.take(home)
        return answer.get("value")

    def count(self, table, key, name, n):
        """As the application counts: the sum is kept beside the model."""
        self.do(f'UPDATE "{table}" SET "{name}" = "{name}" + ? WHERE {self.world_table(table).where()}', n, *key)
        self.mean(table, key, name, n)

    def mean(self, table, key, name, n):
        if (table, key, name) in self.world.sums:  # no file has deleted it
            self.world.sums[table, key, name] += n

    def wait(self):
        """No two files write in one millisecond: of their stamps the higher one is the later one."""
        while self.world.last is not self and time.time() * 1000 <= self.world.bound:
            time.sleep(.0003)
        self.world.last = self

    def take(self, home="new", rewrites=None):
        world, before, self.shown = self.world, self.shown, self.rows()
        world.step += 1
        step = world.step, self.number
        for table in world.tables:
            was, now, model = before[table.name], self.shown[table.name], self.model[table.name]
            if was == now and not rewrites:
                continue
            for key in was.keys() - now.keys():
                model[key] = Row(model[key].life + 1)
                for name in table.counters:
                    world.sums.pop((table.name, key, name), None)
            for key, row in now.items():
                if key not in was:
                    self.born(table, key, row, step, home)
                elif row != was[key] or rewrites == (table.name, key):
                    mine = model[key]
                    columns = {name: (step, row[name]) if row[name] != was[key][name] or rewrites == (table.name, key) else written
                               for name, written in mine.columns.items()}
                    counts = {name: {**counted, step: row[name] - was[key][name]} for name, counted in mine.counts.items()}
                    model[key] = Row(mine.life, columns, counts)
        world.bound = max(world.bound + 1, time.time() * 1000 + 1)

    def born(self, table, key, row, step, home):
        world = self.world
        if table.spread:
            assert key not in world.given[table.name], f"the number {key} of {table.name} is given twice"
            world.given[table.name].add(key)
        life = self.model[table.name].get(key, Row()).life + 1
        self.model[table.name][key] = Row(life, {name: (step, row[name]) for name in table.regular},
                                          {name: {step: row[name]} for name in table.counters})
        for name in table.counters:
            world.sums[table.name, key, name] = world.sums.get((table.name, key, name), 0) + row[name]
        if (table.name, key) not in world.home:
            world.home[table.name, key] = self.draw.choice([None, self.number]) if home == "new" else home

    # ---- whom it may choose

    def is_open(self, table, key):
        """Whether this file may let a row refer to this one."""
        return not self.world.is_calm or self.world.home.get((table, key)) in (None, self.number)

    def is_own(self, table, key):
        """Whether this file may delete the row."""
        return not self.world.is_calm or self.world.home.get((table, key)) == self.number

    def home(self, table, key):
        """Of a child that goes with its parent."""
        home = self.world.home.get((table, key))
        return "new" if home is None else home

    def any(self, table):
        return self.choose(sorted(self.shown[table], key=repr))

    def parent(self, table, home="any"):
        """A row that may be referred to: by a row of that home, where that goes with it."""
        return self.choose([key for key in sorted(self.shown[table], key=repr) if self.is_open(table, key)
                            and (home == "any" or self.world.home.get((table, key)) in (None, home))])

    def own(self, table):
        return self.choose([key for key in sorted(self.shown[table], key=repr) if self.is_own(table, key)])

    def choose(self, keys):
        return self.draw.choice(keys) if keys else None

    def refers(self, table, column, key):
        return any(row.get(column) == key for row in self.shown[table].values())

    def once(self, *pool):
        """A value of a UNIQUE column."""
        return self.world.uid() if self.world.is_calm or not pool or self.draw.random() < .4 else self.draw.choice(pool)

    def is_mine(self, *values):
        """Whether this file alone inserts rows with these values."""
        return not self.world.is_calm or sum(map(ord, repr(values))) % 3 == self.number

    # ---- transactions

    @contextlib.contextmanager
    def atomically(self):
        """A transaction, or a savepoint in it. Undo takes it back."""
        kept = self.remember()
        begin, commit, back = ("SAVEPOINT s", "RELEASE s", "ROLLBACK TO s") if self.db.in_transaction else ("BEGIN", "COMMIT", "ROLLBACK")
        self.wait()
        self.db.execute(begin)
        try:
            yield
            self.db.execute(commit)
            self.world.bound += 1
        except (Undo, sqlite3.IntegrityError):
            self.db.execute(back)
            if begin != "BEGIN":
                self.db.execute(commit)
            self.restore(kept)

    def remember(self):
        world = self.world
        return ({name: dict(model) for name, model in self.model.items()}, self.shown, dict(world.home),
                {name: set(keys) for name, keys in world.given.items()}, dict(world.sums))

    def restore(self, kept):
        self.model, self.shown, self.world.home, self.world.given, self.world.sums = kept
        assert self.rows() == self.shown, "what was taken back is there"

    # ---- merges

    def pull(self, other):
        self.wait()
        self.world.last = None
        way = self.draw.choice(["pull", "pull", "attached", "push", "feed", "lines", "sync", "program"])
        both = way in ("sync", "program")
        if way == "pull":
            notes = self.db.execute("SELECT note FROM counter_pull(?)", [other.path]).fetchall()
        elif way in ("attached", "sync"):
            self.db.execute("ATTACH ? AS other", [other.path])
            notes = self.db.execute(f"SELECT note FROM counter_{'sync' if both else 'pull'}('other')").fetchall()
            self.db.execute("DETACH other")
        elif way == "push":
            notes = other.db.execute("SELECT note FROM counter_push(?)", [self.path]).fetchall()
        elif way == "program":
            done = subprocess.run([PROGRAM, "sync", self.path, other.path], capture_output=True, text=True, check=True)
            notes = [(line.split("\t")[-1],) for line in done.stdout.splitlines()]
        else:
            source, = other.db.execute("SELECT counter_source()").fetchone()
            since = self.db.execute("SELECT counter_mark(?)", [source]).fetchone()[0] if source else 0
            notes = []
            if way == "feed" and source:
                batch = other.db.execute("SELECT table_name, key, change, seq, source, upto FROM counter_changes(?)", [since]).fetchall()
                self.db.execute("BEGIN")
                self.db.executemany("INSERT INTO counter_changes(table_name, key, change, seq, source) VALUES (?, ?, ?, ?, ?)",
                                    [row[:5] for row in batch])
                self.db.execute("SELECT counter_seen(?, ?, ?)", [source, since, batch[0][5] if batch else since]).fetchall()
                self.db.execute("COMMIT")
            elif source:
                for line, in other.db.execute("SELECT line FROM counter_lines(?)", [since]).fetchall():
                    self.db.execute("SELECT counter_take(?)", [line]).fetchall()
        self.join(other)
        if both:
            other.join(self)
        self.world.bound = max(self.world.bound, time.time() * 1000 + 1)
        return notes

    def join(self, other):
        for name, theirs in other.model.items():
            mine = self.model[name]
            for key, row in theirs.items():
                mine[key] = mine[key].join(row) if key in mine else row
        self.shown = self.rows()

    # ---- what it must show

    def check(self):
        assert self.db.execute("PRAGMA foreign_key_check").fetchall() == []
        wanted = {name: {key: row.values() for key, row in model.items() if row.is_live()} for name, model in self.model.items()}
        if self.world.is_calm:
            assert self.shown == wanted, [(name, key, self.shown[name].get(key), wanted[name].get(key)) for name in wanted
                                          for key in wanted[name].keys() | self.shown[name].keys()
                                          if self.shown[name].get(key) != wanted[name].get(key)]
            assert self.listed() == []
        else:
            self.check_listed(wanted)

    def check_listed(self, wanted):
        """What is not as the model has it is listed, and has a reason; nothing else is listed."""
        lower = {name.lower(): name for name in wanted}
        listed = {(name, self.key_of(name, key)) for _, name, key, *_ in self.listed()}
        for table in self.world.tables:
            shown, mine = self.shown[table.name], wanted[table.name]
            for key in shown.keys() | mine.keys():
                is_as_wanted = shown.get(key) == mine.get(key)
                assert is_as_wanted == ((table.name, key) not in listed), (table.name, key, shown.get(key), mine.get(key), self.listed())
                if is_as_wanted:
                    continue
                if key in mine:
                    row = {**mine[key], **dict(zip(table.key, key))}
                    lacks = any(row[column] is not None and (row[column],) not in self.shown[lower[parent]]
                                for column, parent in table.links if parent in lower)
                    assert lacks or table.clashes(key, self.model[table.name][key], shown), (table.name, key, row, self.listed())
                else:
                    assert self.below(table.name, key), (table.name, key, "nobody refers to it")

    def key_of(self, name, told):
        return self.world_table(name).key_of(self.db.execute(f"SELECT {told[1:-1]}").fetchone())

    def below(self, name, key):
        """The rows that refer to this one."""
        return [(child.name, of) for child in self.world.tables for column, parent in child.links if parent == name.lower()
                for of, row in self.shown[child.name].items() if {**row, **dict(zip(child.key, of))}[column] == key[0]]

    def delete(self, name, key):
        """A row, with those that refer to it. Returns what is gone."""
        tree, before = [(name, key)], self.rows()
        for one in tree:
            tree += [other for other in self.below(*one) if other not in tree]
        self.db.execute("BEGIN")
        self.db.execute("PRAGMA defer_foreign_keys = ON")
        for name, key in tree[::-1]:
            self.db.execute(f'DELETE FROM "{name}" WHERE {self.world_table(name).where()}', key)
        self.db.execute("COMMIT")
        self.shown = self.rows()
        return {(name, key) for name, there in before.items() for key in there.keys() - self.shown[name].keys()}

    def check_sums(self):
        """What was counted and not deleted is there, by what the application meant to count."""
        for (name, key, column), n in self.world.sums.items():
            if key in self.shown[name] and self.model[name][key].life == 1:
                assert self.shown[name][key][column] == n, (name, key, column, n)


# ---- a life of a world ---------------------------------------------------------------------------

def work(world, file, steps):
    for _ in range(steps):
        way = world.draw.random()
        if way < .6 or not world.application.transactions:
            world.application.step(file)
            continue
        with file.atomically():
            for _ in range(world.draw.randint(1, 4)):
                if world.draw.random() < .25:
                    with file.atomically():
                        world.application.step(file)
                        if world.draw.random() < .5:
                            raise Undo
                world.application.step(file)
            if world.draw.random() < .25:
                raise Undo


def ring(world, partially):
    steps = [(0, 1), (1, 2), (2, 0)]
    if world.draw.random() < .3:
        steps = [(j, i) for i, j in steps]
    world.draw.shuffle(steps)
    if partially:
        steps = steps[:world.draw.randint(0, 3)]
    notes = []
    for i, j in steps:
        notes += [note for note, in world.files[i].pull(world.files[j]) if note]
        if world.is_calm:
            assert not [note for note in notes if "inserted in two files under one number" not in note], notes
            world.files[i].check()
            world.files[j].check()
    return notes


def is_quiet(world):
    first = world.files[0]
    return all({name: {key: (row.life, row.values()) for key, row in model.items()} for name, model in file.model.items()} ==
               {name: {key: (row.life, row.values()) for key, row in model.items()} for name, model in first.model.items()}
               for file in world.files)


def end(world):
    """Rings until all have heard of all; then all files agree."""
    for _ in range(4):
        ring(world, False)
    assert is_quiet(world)
    for file in world.files:
        file.check()
        assert file.db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        for table in world.tables:
            assert len({each.db.execute("SELECT counter_table_digest(?)", [table.name]).fetchone() for each in world.files}) == 1
    if world.is_calm:
        for file in world.files:
            file.check_sums()
    world.application.check(world)


def settle(world):
    """In one file after another, what stands in the way of rows is deleted, until nothing is listed: all files show the same rows,
    those of the model but for what was deleted."""
    wanted = {name: {key for key, row in model.items() if row.is_live()} for name, model in world.files[0].model.items()}
    gone = set()
    for _ in range(40):
        listing = [file for file in world.files if file.listed()]
        if not listing:
            break
        file = world.draw.choice(listing)
        for _, name, key, _, _, _, why in file.listed():
            found = re.search(r"the row (\(.*?\)) (?:has|of (\w+) refers)", why or "")
            if found:
                gone |= file.delete(found[2] or name, file.key_of(found[2] or name, found[1]))
            else:
                key = file.key_of(name, key)
                for other in file.world_table(name).clashes(key, file.model[name][key], file.shown[name]):
                    gone |= file.delete(name, other)
        for _ in range(3):
            ring(world, False)
    shown = [file.rows() for file in world.files]
    assert not any(file.listed() for file in world.files), [file.listed() for file in world.files]
    assert shown[0] == shown[1] == shown[2]
    for name, rows in shown[0].items():
        assert {key for key in wanted[name] if (name, key) not in gone} == set(rows), name


def play(world):
    rounds = world.draw.randint(2, 4) if world.is_calm else 1
    for _ in range(rounds):
        for _ in range(world.draw.randint(2, 5)):
            work(world, world.draw.choice(world.files), world.draw.randint(3, 12))
            if world.is_calm and world.draw.random() < .6:
                ring(world, True)
        if world.is_calm:
            ring(world, world.draw.random() < .5)
    end(world)
    if not world.is_calm:
        settle(world)


# ---- an application that is not in this process --------------------------------------------------

class Worker:
    """A program with an ORM: a line with a call, and a line with its answer."""

    def __init__(self, command, **environment):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={**os.environ, **environment})

    def call(self, path, name, *values):
        self.process.stdin.write(json.dumps([path, name, *values]) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        assert answer, f"{name} ended the program"
        return json.loads(answer)

    def close(self):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait()
