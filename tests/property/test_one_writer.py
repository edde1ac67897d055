"""test_one_writer.py - a file that only receives shows what the writer shows, whatever its constraints are.

Random worlds: one to three replicated tables with UNIQUE columns, alone and two together, of which some may not be NULL, and
foreign keys of all actions to keys and to UNIQUE columns. One file writes transactions that move values and children from
row to row: swaps, renamed keys, rows that hand over what they had. Another one takes a transaction, or several at once, by
pulls, a feed or lines. What the writer has committed holds by itself, so the other file can show it: all of it, and nothing
waits.
"""

import random
import sqlite3
import time

import pytest

from conftest import EXAMPLES, SEED
from files import connect
from test_foreign import feed
from test_tracked import rows

ACTIONS = ["", "", "ON DELETE CASCADE", "ON DELETE SET NULL", "ON DELETE RESTRICT"]
UPDATES = ["", "", "ON UPDATE CASCADE", "ON UPDATE SET NULL"]
KEYS = "abcdef"


class Table:
    def __init__(self, name, tables, draw):
        """u0, u1: UNIQUE; a, b: UNIQUE together; f0 and so on: foreign keys."""
        self.name, self.columns, self.texts = name, ["v"], ["v"]
        self.uniques = []
        for i in range(draw.choice([0, 1, 1, 2])):
            type, not_null = draw.choice(["TEXT", "INTEGER", ""]), " NOT NULL" * (draw.random() < .5)
            self.uniques.append((f"u{i}", type, not_null))
            self.texts.append(f"u{i} {type}{not_null} UNIQUE")
        self.pair = draw.random() < .4
        if self.pair:
            self.texts += ["a INTEGER NOT NULL", "b INTEGER" + " NOT NULL" * (draw.random() < .7)]
        self.foreign = []
        for i in range(draw.choice([0, 1, 1, 2])):
            parent = draw.choice([*tables, self])
            to = draw.choice([None, None, *parent.uniques])
            update = draw.choice(UPDATES) if to is None else ""
            action = draw.choice(ACTIONS)
            deferred = " DEFERRABLE INITIALLY DEFERRED" * (draw.random() < .4)
            self.foreign.append((f"f{i}", parent, to[0] if to else "k"))
            self.texts.append(f"f{i} {to[1] if to else 'TEXT'} REFERENCES {parent.name}({to[0] if to else 'k'}) {action} {update}{deferred}")
        self.columns += [name for name, _, _ in self.uniques] + ["a", "b"] * self.pair + [name for name, _, _ in self.foreign]

    def text(self):
        return f"CREATE TABLE {self.name}(k TEXT NOT NULL PRIMARY KEY, {', '.join(self.texts)}{', UNIQUE (a, b)' * self.pair})"


def value(draw, db, table, column):
    for name, type, not_null in table.uniques:
        if name == column:
            return repr(draw.choice([f"x{draw.randint(0, 5)}", draw.randint(0, 5)]) if type == "" else
                        draw.randint(0, 5) if type == "INTEGER" else f"x{draw.randint(0, 5)}") if not_null or draw.random() < .8 else "NULL"
    for name, parent, to in table.foreign:
        if name == column:
            there = rows(db, f"SELECT quote({to}) FROM {parent.name} WHERE {to} IS NOT NULL")
            return draw.choice(there)[0] if there and draw.random() < .7 else "NULL"
    return str(draw.randint(0, 3))


def swap(draw, db, table):
    """Two rows exchange a value of a UNIQUE column, as an application does it."""
    names = [name for name, _, _ in table.uniques] + ["b"] * table.pair
    there = [key for key, in rows(db, f"SELECT k FROM {table.name}")]
    if not names or len(there) < 2:
        return []
    name, (one, two) = draw.choice(names), draw.sample(there, 2)
    (mine,), (theirs,) = (rows(db, f"SELECT quote({name}) FROM {table.name} WHERE k = ?", key)[0] for key in (one, two))
    return [f"UPDATE OR IGNORE {table.name} SET {name} = {new} WHERE k = '{key}'" for key, new in ((one, -1), (two, mine), (one, theirs))]


def statements(draw, db, tables):
    table = draw.choice(tables)
    there = [key for key, in rows(db, f"SELECT k FROM {table.name}")]
    key = draw.choice(there) if there and draw.random() < .8 else draw.choice(KEYS)
    kind = draw.choice(["insert"] * 3 + ["update"] * 4 + ["delete", "key", "swap", "hand over"])
    if kind == "swap":
        return swap(draw, db, table)
    if kind == "insert":
        values = ", ".join(value(draw, db, table, name) for name in table.columns)
        return [f"INSERT OR IGNORE INTO {table.name}(k, {', '.join(table.columns)}) VALUES ('{draw.choice(KEYS)}', {values})"]
    if kind == "key":
        return [f"UPDATE OR IGNORE {table.name} SET k = '{draw.choice(KEYS)}' WHERE k = '{key}'"]
    if kind == "hand over" and len(there) > 1 and table.uniques:  # to a row that refers to it, perhaps
        name, (one, two) = draw.choice(table.uniques)[0], draw.sample(there, 2)
        (old,), = rows(db, f"SELECT quote({name}) FROM {table.name} WHERE k = ?", one)
        first = draw.choice([f"DELETE FROM {table.name} WHERE k = '{one}'", f"UPDATE OR IGNORE {table.name} SET {name} = {value(draw, db, table, name)} WHERE k = '{one}'"])
        return [first, f"UPDATE OR IGNORE {table.name} SET {name} = {old} WHERE k = '{two}'"]
    if kind == "delete":
        return [f"DELETE FROM {table.name} WHERE k = '{key}'"]
    chosen = draw.sample(table.columns, draw.randint(1, len(table.columns)))
    return [f"UPDATE OR IGNORE {table.name} SET {', '.join(f'{name} = {value(draw, db, table, name)}' for name in chosen)} WHERE k = '{key}'"]


def write(draw, db, tables):
    """A transaction; what it did, or None if it was refused."""
    done = ["BEGIN"] + ["PRAGMA defer_foreign_keys = ON"] * (draw.random() < .5)
    try:
        for statement in done:
            db.execute(statement)
        for _ in range(draw.choice([1, 2, 3, 5, 8])):
            for statement in statements(draw, db, tables):
                done.append(statement)
                db.execute(statement)
        if rows(db, "PRAGMA foreign_key_check"):  # SQLite lets a row by that refers to itself
            raise sqlite3.IntegrityError
        db.execute("COMMIT")
        return done
    except sqlite3.IntegrityError:
        if db.in_transaction:
            db.execute("ROLLBACK")
        return None


class World:
    """What the writer and the other file are, for feed()."""

    def __init__(self, path, tables):
        self.path, self.model = str(path), {}
        self.db = connect(self.path)
        self.db.executescript("PRAGMA synchronous = OFF; PRAGMA foreign_keys = ON")
        for table in tables:
            self.db.execute(table.text())
            rows(self.db, f"SELECT counter_replicate('{table.name}', 'keys=assigned')")

    def join(self, model):
        """feed() joins models, of which these files have none."""


def shown(db, tables):
    return {table.name: rows(db, f"SELECT k, {', '.join(table.columns)} FROM {table.name} ORDER BY k") for table in tables}


def play(path, seed):
    draw = random.Random(seed)
    tables = []
    for i in range(draw.choice([1, 1, 2, 3])):
        tables.append(Table(f"t{i}", tables, draw))
    writer, reader = World(path / "writer.db", tables), World(path / "reader.db", tables)
    since = []
    for _ in range(draw.randint(4, 25)):
        for _ in range(draw.choice([1, 1, 1, 3])):
            since.append(write(draw, writer.db, tables))
            time.sleep(.0011)  # so that no two stamps have one millisecond
        before = shown(reader.db, tables)
        if draw.random() < .6:
            rows(reader.db, f"SELECT * FROM counter_pull('{writer.path}')")
        else:
            feed(draw, writer, reader)
        listed = rows(reader.db, "SELECT * FROM counter_tracked WHERE row_key IS NOT NULL")
        said = "\n".join([table.text() for table in tables] + [str(before), *map(str, since), str(shown(writer.db, tables)), str(shown(reader.db, tables)), str(listed)])
        assert shown(reader.db, tables) == shown(writer.db, tables), said
        assert listed == [] and rows(reader.db, "PRAGMA foreign_key_check") == [], said
        since = []
    writer.db.close()
    reader.db.close()


@pytest.mark.parametrize("world", range(EXAMPLES))
def test_a_file_that_only_receives_shows_what_the_writer_shows(tmp_path, world):
    play(tmp_path, f"{SEED} one writer {world}")
