"""test_blockers.py - `why` of a row that is apart names a row that stands in its way, and no other.

Random worlds: two files with three tables, items, their makers and lines that refer to items, with random UNIQUE indexes and
foreign keys; two of the tables are replicated or not. Files write and merge, and after each step `why` is compared with what
plain SQL finds in a copy of the tables, in a connection without the extension.
"""

import random
import re
import sqlite3

import pytest

from conftest import EXAMPLES, SEED
from files import connect
from test_tracked import rows

COLUMNS = ["a", "b", "name", "code", "n", "maker", "up"]
INDEXES = {  # columns -> definition; those that only code of the file decides name no row
    ("a",): "ON item(a)", ("a", "b"): "ON item(a, b)", ("name",): "ON item(name COLLATE NOCASE)", ("n",): "ON item(n)",
    ("b", "name"): "ON item(b, name)", ("code",): "ON item(code) WHERE b > 0", "index": "ON item(abs(code))"}
NAMED = re.compile(r"(UNIQUE|FOREIGN KEY) constraint failed(?:: (item\.[a-z., ]*|index 'i\d'))?(?:: (.*))?")


class World:
    """Names the columns of keys, and whether the other tables are replicated."""

    def __init__(self, draw):
        self.key = draw.choice([["k"], ["k"], ["k", "j"]])
        self.indexes = [part for part in INDEXES if draw.random() < .35]
        self.parent = draw.choice(["id", "code"])
        self.lines = draw.choice(["replicated", "keyed", "keyless"])
        self.makers = draw.random() < .5
        self.enforced = draw.random() < .7
        self.deferred = " DEFERRABLE INITIALLY DEFERRED" * (draw.random() < .4)
        self.action = draw.choice(["", "ON DELETE RESTRICT", "ON UPDATE CASCADE"])
        self.without = draw.choice(["", "WITHOUT ROWID"])
        self.child = ["item_k", "item_j"][:len(self.key)]

    def script(self):
        up = f", up TEXT REFERENCES item(k){self.deferred}" if len(self.key) == 1 else ", up TEXT"
        refers = f"FOREIGN KEY ({', '.join(self.child)}) REFERENCES item {self.action}"
        key = {"replicated": "id TEXT NOT NULL, part INTEGER NOT NULL, ", "keyed": "id TEXT PRIMARY KEY, ", "keyless": ""}[self.lines]
        primary = "PRIMARY KEY (id, part), " * (self.lines == "replicated")
        script = ["CREATE TABLE maker(id TEXT PRIMARY KEY NOT NULL, code TEXT COLLATE NOCASE UNIQUE)",
                  f"CREATE TABLE item({', '.join(name + ' TEXT NOT NULL' for name in self.key)}, a INTEGER, b INTEGER, name TEXT, "
                  f"code INTEGER, n INTEGER, maker TEXT REFERENCES maker({self.parent}){self.deferred}{up}, "
                  f"PRIMARY KEY ({', '.join(self.key)})) {self.without}",
                  f"CREATE TABLE line({key}{', '.join(name + ' TEXT' for name in self.child)}, {primary}{refers})"]
        return script + [f"CREATE UNIQUE INDEX i{i} {INDEXES[part]}" for i, part in enumerate(self.indexes)]

    def open(self, path):
        db = connect(str(path))
        db.execute("PRAGMA synchronous = OFF")
        db.execute(f"PRAGMA foreign_keys = {self.enforced:d}")
        for statement in self.script():
            db.execute(statement)
        for table in ["maker"] * self.makers + ["line"] * (self.lines == "replicated"):
            rows(db, f"SELECT counter_replicate('{table}')")
        rows(db, "SELECT counter_replicate('item', 'n')")
        return db


def write(draw, world, db):
    keys = [draw.choice("pqrst"), draw.choice("xy")][:len(world.key)]
    match = " AND ".join(f"{name} = {value!r}" for name, value in zip(world.key, keys, strict=True))
    values = {"a": draw.choice([1, 2, 3, 4, 5, None]), "b": draw.choice([0, 1, 2]), "name": draw.choice(["tea", "Tea", "jam", "it''s", "oil", None]),
              "code": draw.choice([1, -1, 2, 3, 4, 5, 6, 7]), "n": draw.choice([1, 2, 3, 4, 5, 6, 7, 8]), "maker": draw.choice([None] * 6 + ["m", "M", "o"]),
              "up": draw.choice([None] * 6 + ["p", "q", "r"])}
    texts = {name: "NULL" if value is None else f"'{value}'" if isinstance(value, str) else str(value)
             for name, value in values.items()}
    name = draw.choice(COLUMNS)
    insert = (
        f"INSERT INTO item({', '.join(world.key + COLUMNS)}) VALUES ({', '.join(map(repr, keys))}, "
        f"{', '.join(texts[name] for name in COLUMNS)})")
    statement = draw.choice([
        insert, insert,
        f"UPDATE item SET {name} = {texts[name]} WHERE {match}",
        f"UPDATE item SET maker = '{draw.choice('mMo')}' WHERE {match}",
        f"DELETE FROM item WHERE {match}",
        f"INSERT INTO maker VALUES ('{draw.choice('mMo')}', '{draw.choice('mMo')}')",
        f"DELETE FROM maker WHERE id = '{draw.choice('mMo')}'",
        {"replicated": f"INSERT INTO line VALUES ('{draw.choice('uv')}', {draw.randrange(3)}, {', '.join(map(repr, keys))})",
         "keyed": f"INSERT INTO line VALUES ('{draw.choice('uvw')}', {', '.join(map(repr, keys))})",
         "keyless": f"INSERT INTO line VALUES ({', '.join(map(repr, keys))})"}[world.lines],
        "DELETE FROM line WHERE item_k = '%s'" % keys[0]])
    try:
        db.execute(statement)
    except sqlite3.IntegrityError:
        pass


class Plain:
    """The tables of a file in a connection without the extension."""

    def __init__(self, world, db):
        self.world, self.db = world, sqlite3.connect(":memory:", isolation_level=None)
        for statement in world.script():
            self.db.execute(statement)
        for table in ["maker", "item", "line"]:
            for row in rows(db, f"SELECT * FROM {table}"):
                self.db.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(row))})", row)

    def own(self, key):
        return " AND ".join(f"{name} = {value!r}" for name, value in zip(self.world.key, key, strict=True))

    def item(self, key):
        found = rows(self.db, f"SELECT {', '.join(COLUMNS)} FROM item WHERE {self.own(key)}")
        return dict(zip(COLUMNS, found[0], strict=True)) if found else None

    def equal(self, key, wanted, columns):
        """The rows that have these values, by the indexes that are on columns alone."""
        collation = " COLLATE NOCASE" if columns == ("name",) else ""
        match = " AND ".join(f"{name} = :{name}{collation}" for name in columns)
        select = f"SELECT {', '.join(self.world.key)} FROM item WHERE {match} AND NOT ({self.own(key)})"
        return self.db.execute(select, wanted).fetchall()

    def missing(self, key, wanted, written):
        """(table, column, value) of each parent that the row lacks."""
        lacks = []
        if "maker" in written and wanted["maker"] is not None and not rows(
                self.db, f"SELECT 1 FROM maker WHERE {self.world.parent} = ?", wanted["maker"]):
            lacks.append(("maker", self.world.parent, wanted["maker"]))
        if "up" in written and len(self.world.key) == 1 and wanted["up"] not in (None, key[0]) and not rows(
                self.db, "SELECT 1 FROM item WHERE k = ?", wanted["up"]):
            lacks.append(("item", "k", wanted["up"]))
        return lacks

    def children(self, key):
        """table -> the keys of the rows that keep the row from being deleted, in order."""
        match = " AND ".join(f"{name} = {value!r}" for name, value in zip(self.world.child, key, strict=True))
        names = {"replicated": "id, part", "keyed": "id", "keyless": "NULL"}[self.world.lines]
        keep = {}
        if self.world.lines == "replicated" or self.world.enforced:
            keep["line"] = rows(self.db, f"SELECT {names} FROM line WHERE {match} ORDER BY {names}")
        if len(self.world.key) == 1:
            keep["item"] = rows(self.db, f"SELECT k FROM item WHERE up = {key[0]!r} AND k <> {key[0]!r} ORDER BY k")
        return {table: found for table, found in keep.items() if found}

    def removes(self, key, wanted, waits):
        """The items without which the row could be written."""
        alone = []
        names = self.world.key + COLUMNS
        write = (f"INSERT INTO item({', '.join(names)}) VALUES ({', '.join(':' + name for name in names)})" if waits else
                 f"UPDATE item SET {', '.join(f'{name} = :{name}' for name in COLUMNS)} WHERE {self.own(key)}")
        values = wanted | dict(zip(self.world.key, key, strict=True))
        for other in rows(self.db, f"SELECT {', '.join(self.world.key)} FROM item WHERE NOT ({self.own(key)})"):
            self.db.execute("SAVEPOINT s")
            self.db.execute(f"DELETE FROM item WHERE {self.own(other)}")
            try:
                self.db.execute(write, values)
                alone.append(other)
            except sqlite3.IntegrityError:
                pass
            self.db.execute("ROLLBACK TO s")
            self.db.execute("RELEASE s")
        return alone


def literal(value):
    return "NULL" if value is None else "'" + value.replace("'", "''") + "'" if isinstance(value, str) else str(value)


def shown_key(key):
    return f"({', '.join(map(literal, key))})"


def check_unique(plain, key, wanted, waits, columns, name, merged):
    if columns is None or "WHERE" in INDEXES[columns]:
        assert name is None
        return
    blockers = plain.equal(key, wanted, columns)
    assert len(blockers) <= 1
    if not blockers:
        assert name is None and not merged
        return
    theirs = plain.item(blockers[0])
    assert name == f"the row {shown_key(blockers[0])} has " + " and ".join(f"{one} {literal(theirs[one])}" for one in columns)
    alone = plain.removes(key, wanted, waits)
    assert not merged or len(alone) != 1 or alone == blockers


def check_parent(plain, key, wanted, written, name, merged):
    lacks = [f"{table} has no row with {column} = {literal(value)}" for table, column, value in plain.missing(key, wanted, written)]
    if name is not None and name.startswith("the row"):  # it is referred to itself
        assert not lacks and "up" in name or "item_k" in name
    elif name is not None:
        assert name in lacks
    else:
        assert not lacks
    assert name or not merged or not lacks


def check_children(plain, key, name, merged):
    children = plain.children(key)
    texts = set()
    for table, found in children.items():
        first = "a row" if found[0][0] is None else f"the row {shown_key(found[0])}"
        by = " and ".join(plain.world.child) if table == "line" else "up"
        more = f" (and {len(found) - 1} more)" * (len(found) > 1)
        texts.add(f"{first} of {table} refers to it by {by}{more}")
    assert (name in texts) if texts else (name is None and not merged), (name, texts)


def check(world, db, merged, seen):
    apart = {}
    for column, state, text, value, why in rows(
            db, "SELECT column_name, state, row_key, merged, why FROM counter_tracked WHERE table_name = 'item' AND row_key IS NOT NULL"):
        apart.setdefault(text, (state, {}, why))[1][column] = value
    plain = Plain(world, db)
    live = set(rows(db, f"SELECT {', '.join(world.key)} FROM item_counters"))
    for text, (state, values, why) in apart.items():
        key = tuple(re.findall(r"'(\w+)'", text))
        named = NAMED.fullmatch(why or "")
        if not named:
            continue
        kind, columns, name = named.groups()
        waits = state == "waits"
        wanted = values if waits else {**plain.item(key), **values}
        seen.add((kind, "waits" if waits else "ended" if key not in live else "differs", name is not None))
        if kind == "UNIQUE":
            columns = None if columns.startswith("index") else tuple(column[5:] for column in columns.split(", "))
            check_unique(plain, key, wanted, waits, columns, name, merged)
        elif key not in live:
            check_children(plain, key, name, merged)
        else:
            check_parent(plain, key, wanted, set(COLUMNS) if waits else values.keys() | {"n"}, name, merged)


def test_a_row_that_is_apart_names_the_row_in_its_way(tmp_path):
    seen = set()
    for example in range(3 * EXAMPLES):
        draw = random.Random(f"{SEED} blockers {example}")
        world = World(draw)
        files = [world.open(tmp_path / f"{example}-{i}.db") for i in range(2)]
        paths = [str(tmp_path / f"{example}-{i}.db") for i in range(2)]
        try:
            for _ in range(16):
                i = draw.randrange(2)
                if draw.random() < .6:
                    for _ in range(draw.randrange(1, 9)):
                        write(draw, world, files[i])
                    check(world, files[i], False, seen)
                else:
                    rows(files[i], f"SELECT * FROM counter_pull('{paths[1 - i]}')")
                    check(world, files[i], True, seen)
        except Exception:
            print("example", example, world.script(), vars(world))
            raise
        for db in files:
            db.close()
    assert EXAMPLES < 100 or {("UNIQUE", "waits", True), ("UNIQUE", "differs", True), ("FOREIGN KEY", "waits", True),
                              ("FOREIGN KEY", "differs", True), ("FOREIGN KEY", "ended", True)} <= seen, seen


@pytest.mark.parametrize("answer", [sqlite3.SQLITE_DENY, sqlite3.SQLITE_IGNORE])
@pytest.mark.parametrize("column", [("maker", "id"), ("item", "name"), ("item", "k")])
def test_what_an_authorizer_hides_names_no_wrong_row(tmp_path, answer, column):
    db = connect(str(tmp_path / "a.db"))
    db.executescript("""
        PRAGMA foreign_keys = ON;
        ATTACH '%s' AS other;
        CREATE TABLE main.maker(id TEXT PRIMARY KEY);
        CREATE TABLE main.item(k TEXT PRIMARY KEY, name TEXT UNIQUE, maker TEXT REFERENCES maker);
        CREATE TABLE other.item(k TEXT PRIMARY KEY, name TEXT, maker TEXT);
        INSERT INTO maker VALUES ('m');
        """ % (tmp_path / "b.db"))
    for schema in ["main", "other"]:
        rows(db, f"SELECT counter_replicate('{schema}.item')")
    db.executescript("""
        INSERT INTO main.item VALUES ('a', 'A', NULL);
        INSERT INTO other.item VALUES ('b', 'A', NULL), ('c', 'C', 'n');
        """)
    rows(db, "SELECT * FROM counter_pull('other')")
    query = "SELECT DISTINCT row_key, why FROM counter_tracked WHERE row_key IS NOT NULL ORDER BY 1"
    told = ["UNIQUE constraint failed: item.name: the row ('a') has name 'A'",
            "FOREIGN KEY constraint failed: maker has no row with id = 'n'"]
    assert rows(db, query) == [("('b')", told[0]), ("('c')", told[1])]
    db.set_authorizer(lambda action, table, name, schema, trigger: answer if action == sqlite3.SQLITE_READ and
                      (table, name) == column else sqlite3.SQLITE_OK)
    try:
        for key, why in rows(db, query):
            full = told[key == "('c')"]
            assert full.startswith(why) and (why == full or column[0] == ("item", "maker")[key == "('c')"]), (key, why)
    except sqlite3.DatabaseError as error:
        assert "prohibited" in str(error) or "authorizer" in str(error) or "not authorized" in str(error), error
    db.set_authorizer(None)
    db.close()
