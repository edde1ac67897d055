"""test_tracked.py - tracked columns: a table that is tracked behaves as one that is not, its counters follow it, and
files merge.

The first test plays random statements on two tables that differ in nothing but being tracked; the second lets files
count apart and merge, against a model that keeps the ids of operations in each life of each counter.
"""

import copy
import random
import sqlite3

import pytest

from conftest import EXAMPLES, SEED
from files import connect

ROUNDS = range(max(8, EXAMPLES // 25))


def rows(db, sql, *arguments):
    return db.execute(sql, arguments).fetchall()


def apart(db):
    return rows(db, "SELECT state, row_key, shown, merged FROM counter_tracked WHERE state <> 'tracked'")


# ---- the same statements on an ordinary table ----

KEYS = {
    "text": "k TEXT PRIMARY KEY", "integer": "k INTEGER PRIMARY KEY", "two": "k TEXT, k2 INTEGER",
    "nocase": "k TEXT COLLATE NOCASE PRIMARY KEY", "real": "k REAL PRIMARY KEY", "any": "k PRIMARY KEY",
}
CLAUSES = ["", "", "", "OR REPLACE", "OR IGNORE", "OR FAIL", "OR ABORT"]


class Statements:
    """Random statements on the table t, which is one of many."""

    def __init__(self, draw):
        self.draw, self.kind = draw, draw.choice(sorted(KEYS))
        self.two = self.kind == "two"
        self.names = "k, k2" if self.two else "k"
        self.match = "k = ? AND k2 = ?" if self.two else "k = ?"
        self.marks = "?, ?" if self.two else "?"
        self.rowid = draw.random() < .6
        self.recursive = draw.random() < .4
        self.schema = [self.table(), "CREATE INDEX t_stock ON t(stock)"]
        if draw.random() < .6:
            self.schema.append("CREATE UNIQUE INDEX t_code ON t(code)" + draw.choice(["", " WHERE code > 2"]))
        if draw.random() < .5:
            also = " AND k2 = NEW.k2" if self.two else ""
            self.schema.append("CREATE TRIGGER t_log AFTER UPDATE OF stock ON t BEGIN"
                               f" UPDATE t SET sold = coalesce(sold, 0) + 1 WHERE k = NEW.k{also}; END")
        if draw.random() < .2:
            self.schema.append("CREATE TRIGGER t_first BEFORE INSERT ON t WHEN NEW.stock = 7 AND NEW.code IS NOT NULL BEGIN"
                               f" INSERT OR IGNORE INTO t({self.names}, stock) VALUES ({self.other()}, 3); END")
        self.newer = draw.sample(self.newer_triggers(), draw.choice([0, 0, 1, 2]))

    def other(self):
        """Another key than NEW's, by an expression."""
        key = {"text": "NEW.k || 'x'", "integer": "NEW.k + 20", "two": "NEW.k || 'x'", "nocase": "NEW.k || 'x'",
               "real": "NEW.k + 20", "any": "NEW.k || 'x'"}[self.kind]
        return f"{key}, NEW.k2" if self.two else key

    def newer_triggers(self):
        """They run before those that track the table."""
        draw, also = self.draw, " AND k2 = {0}.k2" if self.two else ""
        new, old = (f"k = {one}.k{also.format(one)}" for one in ("NEW", "OLD"))
        temp = draw.choice(["", "TEMP "])
        names = "OLD.k, OLD.k2" if self.two else "OLD.k"
        return [f"CREATE {temp}TRIGGER newer{i} AFTER {sql}; END" for i, sql in enumerate([
            f"DELETE ON t WHEN OLD.stock = 5 BEGIN INSERT INTO t({self.names}, stock) VALUES ({names}, 3)",
            f"INSERT ON t WHEN NEW.stock = 2 BEGIN DELETE FROM t WHERE {new}",
            f"INSERT ON t WHEN NEW.stock = 1 BEGIN UPDATE t SET k = {self.other().split(',')[0]} WHERE {new}",
            f"UPDATE OF k ON t WHEN NEW.stock > 8 BEGIN INSERT OR IGNORE INTO t({self.names}, stock) VALUES ({names}, 1)",
            f"UPDATE OF stock ON t WHEN NEW.stock > 20 BEGIN UPDATE t SET stock = 20 WHERE {new}",
            f"UPDATE OF stock ON t WHEN NEW.stock = 13 BEGIN DELETE FROM t WHERE {new}",
            f"UPDATE OF stock ON t WHEN NEW.stock < 0 AND OLD.stock > 0 BEGIN DELETE FROM t WHERE {new};"
            f" INSERT OR IGNORE INTO t({self.names}, stock, code) VALUES ({names}, OLD.stock, OLD.code)",
            f"INSERT ON t WHEN NEW.stock = 4 AND NEW.code IS NOT NULL BEGIN"
            f" INSERT OR REPLACE INTO t({self.names}, stock, code) VALUES ({self.other()}, 6, NEW.code)",
            f"UPDATE OF k ON t WHEN NEW.stock = 3 AND NEW.code IS NOT NULL BEGIN"
            f" INSERT OR REPLACE INTO t({self.names}, stock, code) VALUES ({self.other()}, 6, NEW.code)",
        ])]

    def table(self):
        stock = "stock INTEGER " + self.draw.choice(["NOT NULL DEFAULT 0 ", ""]) + "CHECK (stock > -50)"
        code = "code INTEGER" + self.draw.choice(["", "", " UNIQUE ON CONFLICT REPLACE"])
        return (f"CREATE TABLE t({KEYS[self.kind]}, name TEXT DEFAULT 'x', {stock}, sold INTEGER, {code},"
                f" twice INTEGER AS (stock * 2){', PRIMARY KEY(k, k2)' if self.two else ''})"
                + ("" if self.rowid else " WITHOUT ROWID"))

    def key(self):
        draw = self.draw
        return {"two": (draw.choice("abc"), draw.randint(1, 3)), "integer": (draw.randint(1, 8),),
                "real": (draw.choice([1, 2, 2.5, 3.0, 4]),), "any": (draw.choice([1, "1", b"1", 2.0, "a"]),),
                }.get(self.kind) or (draw.choice(["a", "b", "c", "d", "A", "B"]),)

    def value(self):
        draw = self.draw
        return draw.choice([None, 0, 1, 2, 5, -3, -60, 10, "7", 3.0]) if draw.random() < .4 else draw.randint(-5, 20)

    def code(self):
        return self.draw.choice([None, 1, 2, 3, 4, 5])

    def returning(self):
        return self.draw.choice(["", " RETURNING *"]) if sqlite3.sqlite_version_info >= (3, 35) else ""

    def write(self):
        draw, key, value, code = self.draw, self.key, self.value, self.code
        clauses = [clause for clause in CLAUSES if not (self.newer and "FAIL" in clause)]  # README: RAISE(FAIL)
        clause, names, marks, match = draw.choice(clauses), self.names, self.marks, self.match
        new_key = "k = ?, k2 = ?" if self.two else "rowid = ?" if self.kind == "integer" and self.rowid else "k = ?"
        row = "k, k2 + 1" if self.two else "k"
        if self.rowid and self.kind != "integer" and draw.random() < .1:
            given = draw.choice(["rowid", "oid", "_rowid_"])
            if self.recursive:  # after a DELETE trigger, SQLite takes the row of an UPDATE OR REPLACE for another one
                clause = ""
            return draw.choice([
                (f"INSERT {clause} INTO t({given}, {names}, stock, code) VALUES (?, {marks}, ?, ?)",
                 (draw.choice([1, 2, 3, 4, None]), *key(), value(), code())),
                (f"UPDATE {clause} t SET {given} = ? WHERE {match}", (draw.randint(1, 6), *key())),
                (f"UPDATE {clause} t SET {given} = ?, stock = coalesce(stock, 0) + 1, {new_key} WHERE {match}",
                 (draw.randint(1, 6), *key(), *key()))])
        return draw.choice([
            (f"INSERT {clause} INTO t({names}, stock, sold, code) VALUES ({marks}, ?, ?, ?)",
             (*key(), value(), value(), code())),
            (f"INSERT INTO t({names}, stock, code) VALUES ({marks}, ?, ?)"
             " ON CONFLICT DO UPDATE SET stock = stock + excluded.stock" + self.returning(), (*key(), value(), code())),
            (f"REPLACE INTO t({names}, stock, code) VALUES ({marks}, ?, ?)", (*key(), value(), code())),
            (f"UPDATE {clause} t SET stock = stock + ? WHERE {match}", (draw.randint(-9, 9), *key())),
            (f"UPDATE {clause} t SET stock = ?, sold = ? WHERE {match}" + self.returning(), (value(), value(), *key())),
            (f"UPDATE {clause} t SET code = ? WHERE {match}", (code(), *key())),
            (f"UPDATE {clause} t SET {new_key} WHERE {match}", (*key(), *key())),
            (f"UPDATE {clause} t SET {new_key}, stock = coalesce(stock, 0) + 1 WHERE {match}", (*key(), *key())),
            (f"DELETE FROM t WHERE {match}" + self.returning(), key()),
            ("DELETE FROM t WHERE stock > ?", (draw.randint(5, 30),)),
            (f"UPDATE {clause} t SET stock = stock + 1", ()),
            ("UPDATE t SET stock = t.stock + s.n FROM (SELECT 'a' AS other, 3 AS n UNION ALL SELECT 'b', 4) AS s"
             " WHERE t.k = s.other", ()),
            (f"INSERT {clause} INTO t({names}, stock) SELECT {row}, stock + 1 FROM t", ()),
        ])

    def control(self, within):
        name = f"s{self.draw.randint(0, 2)}"
        if not within:
            return "BEGIN", ()
        return self.draw.choice(["COMMIT", "COMMIT", "ROLLBACK", f"SAVEPOINT {name}", f"SAVEPOINT {name}",
                                 f"ROLLBACK TO {name}", f"RELEASE {name}"]), ()


def outcome(db, sql, values, rowid):
    """What a statement returns; changes() tells nothing of a COMMIT (README)."""
    try:
        found = rows(db, sql, *values)
    except sqlite3.Error as error:
        return type(error).__name__, str(error)
    control = sql.split()[0] in ("BEGIN", "COMMIT", "ROLLBACK", "SAVEPOINT", "RELEASE")
    return found, control or rows(db, "SELECT changes()"), rowid and rows(db, "SELECT last_insert_rowid()")


def values_of(db, table, names, fold):
    """By key; a counter that nobody has counted in reads 0 in the counter table."""
    found = {}
    for *key, stock, sold in rows(db, f"SELECT {names}, stock, sold FROM {table}"):
        key = tuple(value.lower() if fold and isinstance(value, str) else value for value in key)
        if stock or sold:
            found[key] = stock or 0, sold or 0
    return found


@pytest.mark.parametrize("number", ROUNDS)
def test_a_tracked_table_behaves_as_an_ordinary_one_and_its_counters_follow(tmp_path, number):
    statements = Statements(random.Random(f"{SEED} {number}"))
    plain, tracked = connect(tmp_path / "plain.db"), connect(tmp_path / "tracked.db")
    for db in plain, tracked:
        db.execute("PRAGMA synchronous = OFF")
        db.execute(f"PRAGMA recursive_triggers = {statements.recursive:d}")
        for sql in statements.schema:
            db.execute(sql)
    rows(tracked, "SELECT counter_track('t', 'stock', 'sold', 'keys=assigned')")
    for db in plain, tracked:
        for sql in statements.newer:
            db.execute(sql)
    for _ in range(EXAMPLES):
        sql, values = (statements.write() if statements.draw.random() < .88
                       else statements.control(plain.in_transaction))
        wanted = outcome(plain, sql, values, statements.rowid)
        assert outcome(tracked, sql, values, statements.rowid) == wanted, (sql, values, statements.schema)
        contents = f"SELECT * FROM t ORDER BY {statements.names}"
        assert rows(tracked, contents) == rows(plain, contents), (sql, values, wanted, statements.schema)
        fold = statements.kind == "nocase"
        assert (values_of(tracked, "t_counters", statements.names, fold)
                == values_of(tracked, "t", statements.names, fold)), (sql, values, wanted, statements.schema)
    if plain.in_transaction:
        tracked.execute("COMMIT")
    assert apart(tracked) == []
    tracked.execute("INSERT INTO t_counters(t_counters) VALUES ('integrity-check')")


# ---- files that count apart and merge ----

class Counter:
    """A life, and the operations that were counted in it, each with its number."""
    numbers = 0

    def __init__(self):
        self.life, self.operations = 1, {}

    def value(self):
        return sum(self.operations.values()) if self.life % 2 and self.operations else None

    def is_touched(self):
        return self.life > 1 or bool(self.operations)

    def add(self, n):
        Counter.numbers += 1
        self.operations = self.operations | {Counter.numbers: n}

    def begin(self, life):
        self.life, self.operations = life, {}

    def set(self, n):
        """The column becomes n: the difference is counted; NULL is a life in which nobody has counted."""
        if n is None and (self.operations or self.life % 2 == 0):
            self.begin(self.life + (2 if self.life % 2 else 1))
        if n is None:
            return
        if self.life % 2 == 0:
            self.begin(self.life + 1)
        if self.value() != n:
            self.add(n - (self.value() or 0))

    def delete(self):
        if self.life % 2:
            self.begin(self.life + 1)

    def reset(self, n):
        self.begin(self.life + (2 if self.life % 2 else 1))
        self.add(n)

    def merge(self, other):
        if other.life > self.life:
            self.life, self.operations = other.life, other.operations
        elif other.life == self.life:
            self.operations = self.operations | other.operations


class Shop:
    """A file with tracked products, and what it must show."""

    def __init__(self, path, table, blank):
        self.path, self.blank, self.model = str(path), blank, {}
        self.db = connect(self.path)
        self.db.execute("PRAGMA synchronous = OFF")
        self.db.execute(table)
        assert rows(self.db, "SELECT counter_track('products', 'stock', 'sold', 'keys=assigned')") == [(0,)]

    def row(self, sku):
        return self.model.setdefault(sku, (Counter(), Counter()))

    def is_there(self, sku):
        return any(counter.is_touched() and counter.life % 2 for counter in self.model.get(sku, ()))

    def shown(self, sku):
        stock, sold = (counter.value() for counter in self.row(sku))
        return self.blank if stock is None else stock, sold

    def set(self, sku, stock, sold):
        for counter, n in zip(self.row(sku), (stock, sold)):
            counter.set(n)

    def delete(self, sku):
        """All of its counters end, also those in which nobody has counted here; a row that nobody has counted in does not travel."""
        for counter in self.row(sku) if any(counter.is_touched() for counter in self.row(sku)) else ():
            counter.delete()

    def merge(self, model):
        for sku, counters in model.items():
            for mine, theirs in zip(self.row(sku), counters):
                mine.merge(theirs)

    def check(self, why):
        found = {sku: values for sku, *values in rows(self.db, "SELECT sku, stock, sold FROM products")}
        wanted = {sku: list(self.shown(sku)) for sku in self.model if self.is_there(sku)}
        assert found == wanted, why
        assert apart(self.db) == [], why


def change(draw, shop, sku):
    """One statement on one file, and on its model."""
    n, stock = draw.randint(-4, 6), draw.randint(0, 9)
    sold = draw.choice([None, draw.randint(0, 5)])
    there = shop.is_there(sku)
    what = draw.choice(["insert", "replace", "add", "add", "add", "set", "delete", "key", "reset", "rollback"])
    if what == "insert":
        shop.db.execute("INSERT OR IGNORE INTO products(sku, stock, sold) VALUES (?, ?, ?)", (sku, stock, sold))
        if not there:
            shop.set(sku, stock, sold)
    elif what == "replace":
        shop.db.execute("REPLACE INTO products(sku, stock, sold) VALUES (?, ?, ?)", (sku, stock, stock + 1))
        shop.set(sku, stock, stock + 1)
    elif what == "add":
        shop.db.execute("UPDATE products SET stock = stock + ? WHERE sku = ?", (n, sku))
        if there and n and shop.shown(sku)[0] is not None:
            shop.row(sku)[0].set(shop.shown(sku)[0] + n)
    elif what == "set":
        value = draw.choice([stock, shop.blank])
        shop.db.execute("UPDATE products SET stock = ? WHERE sku = ?", (value, sku))
        if there and shop.shown(sku)[0] != value:
            shop.row(sku)[0].set(value)
    elif what == "delete":
        shop.db.execute("DELETE FROM products WHERE sku = ?", (sku,))
        shop.delete(sku)
    elif what == "key" and shop.shown(sku) != (None, None):
        to = sku[0] + "-new" if isinstance(sku, str) else -sku // 3
        shop.db.execute("UPDATE OR IGNORE products SET sku = ? WHERE sku = ?", (to, sku))
        if there and sku != to and not shop.is_there(to):
            values = shop.shown(sku)
            shop.delete(sku)
            shop.set(to, *values)
    elif what == "reset":
        shop.db.execute("INSERT INTO products_counters(products_counters, sku, stock, sold)"
                        " VALUES ('reset', ?, ?, 2)", (sku, stock))
        for counter, value in zip(shop.row(sku), (stock, 2)):
            counter.reset(value)
    elif what == "rollback":
        shop.db.execute("BEGIN")
        shop.db.execute("UPDATE products SET stock = stock + 77, sold = 1 WHERE sku <= ?", (sku,))
        shop.db.execute("DELETE FROM products WHERE sku < 'c'")
        shop.db.execute("ROLLBACK")
    return what, sku


def meet(draw, one, other):
    """One file meets another, in one of the ways."""
    way = draw.choice(["pull", "push", "sync", "full", "feed", "lines"])
    name = other.path
    attached = draw.random() < .5
    if attached:
        one.db.execute("ATTACH ? AS other", (other.path,))
        name = "other"
    if way == "feed":
        one.db.execute("BEGIN")
        for feed_row in rows(other.db, "SELECT * FROM counter_changes(0)"):
            one.db.execute("INSERT INTO counter_changes VALUES (?, ?, ?, ?, ?)", feed_row[:5])
        one.db.execute("COMMIT")
    elif way == "lines":
        for line, in rows(other.db, "SELECT line FROM counter_lines(0)"):
            rows(one.db, "SELECT counter_take(?)", line)
    elif way == "full":
        rows(one.db, "SELECT * FROM counter_pull(?, 'full')", name)
    else:
        rows(one.db, f"SELECT * FROM counter_{way}(?)", name)
    if attached:
        one.db.execute("DETACH other")
    if way != "push":
        one.merge(other.model)
    if way in ("push", "sync"):
        other.merge(one.model)
    return way, attached


@pytest.mark.parametrize("number", ROUNDS)
def test_tracked_tables_of_files_that_merge_show_what_all_have_counted(tmp_path, number):
    draw = random.Random(f"{SEED} merge {number}")
    strict = draw.random() < .5
    type, skus = draw.choice([("TEXT", [a + b for a in "abcde" for b in ("", "-new")]),
                              ("INTEGER", [0, 7, -7, 100, 10**12, 2**63 - 1, -2**63])])
    table = (f"CREATE TABLE products(sku {type} PRIMARY KEY, name TEXT DEFAULT 'x', stock INTEGER"
             + (" NOT NULL DEFAULT 0" if strict else "") + ", sold INTEGER)" + draw.choice(["", " WITHOUT ROWID"]))
    shops = [Shop(tmp_path / f"{i}.db", table, 0 if strict else None) for i in range(draw.randint(2, 4))]
    for _ in range(EXAMPLES // 3):
        one, other = draw.sample(shops, 2)
        luck = draw.random()
        if luck < .03:
            other.db.close()
            for file in tmp_path.glob(f"{other.path.split('/')[-1]}*"):
                file.unlink()
            one.db.execute("VACUUM INTO ?", (other.path,))
            other.db, other.model, what = connect(other.path), copy.deepcopy(one.model), "copied"
        elif luck < .3:
            what = meet(draw, one, other)
        else:
            what = change(draw, one, draw.choice(skus))
        one.check(what)
        other.check(what)
    for _ in shops:
        for one, other in zip(shops, shops[1:] + shops[:1]):
            rows(one.db, "SELECT * FROM counter_sync(?)", other.path)
            one.merge(other.model)
            other.merge(one.model)
    for shop in shops:
        shop.check("at the end")
        shop.db.execute("INSERT INTO products_counters(products_counters) VALUES ('integrity-check')")
    assert len({tuple(rows(shop.db, "SELECT sku, stock, sold FROM products ORDER BY sku")) for shop in shops}) == 1


class Shelf:
    """A file whose table t refuses some values: the counter of each key, and the rows, which an ordinary table has, too."""

    def __init__(self, db, schema, check):
        self.db, self.schema, self.counters, self.plain = db, schema, {}, sqlite3.connect(":memory:", isolation_level=None)
        db.execute(f"CREATE TABLE {schema}.t(k INTEGER PRIMARY KEY, m INTEGER CHECK ({check}))")
        self.plain.execute(f"CREATE TABLE t(k INTEGER PRIMARY KEY, m INTEGER CHECK ({check}))")
        assert rows(db, f"SELECT counter_track('{schema}.t', 'm', 'keys=assigned')") == [(0,)]

    def shown(self):
        return dict(rows(self.plain, "SELECT * FROM t"))

    def is_live(self, k):
        return self.counters[k].is_touched() and self.counters[k].life % 2 == 1

    def write(self, statements):
        """What a row shows counts from its base, which it showed before; NULL is no number, and a row that waits has none."""
        before = self.shown()
        for sql, values in statements:
            self.db.execute(sql.format(self.schema + "."), values)
            self.plain.execute(sql.format(""), values)
        after = self.shown()
        for k, n in after.items():
            counter = self.counters.setdefault(k, Counter())
            if counter.life % 2 == 0 or (k in before and n is None and before[k] is not None and counter.operations):
                counter.set(n)
            elif n is not None and n != before.get(k):
                counter.add(n - (before.get(k) or 0))
        for k in before.keys() - after.keys():
            if self.counters[k].is_touched():
                self.counters[k].delete()

    def merge(self, other):
        for k, counter in other.counters.items():
            self.counters.setdefault(k, Counter()).merge(counter)

    def show(self):
        for k, counter in self.counters.items():
            if self.is_live(k):
                self.plain.execute("INSERT OR IGNORE INTO t VALUES (?, ?)", (k, counter.value()))
                self.plain.execute("UPDATE OR IGNORE t SET m = ? WHERE k = ?", (counter.value(), k))
            elif counter.is_touched():
                self.plain.execute("DELETE FROM t WHERE k = ?", (k,))

    def check(self, why):
        shown = self.shown()
        assert dict(rows(self.db, f"SELECT k, m FROM {self.schema}.t")) == shown, why
        found = rows(self.db, "SELECT row_key, shown, merged FROM counter_tracked(?) WHERE row_key NOT NULL", self.schema)
        assert sorted(found) == sorted(
            (f"({k})", shown.get(k), counter.value()) for k, counter in self.counters.items()
            if self.is_live(k) and (k not in shown or shown[k] != counter.value())), why


def shelf_statement(draw):
    values = {"k": draw.randint(1, 3), "n": draw.choice([None, draw.randint(0, 9)])}
    return draw.choice([
        "INSERT OR IGNORE INTO {}t VALUES (:k, :n)", "UPDATE OR IGNORE {}t SET m = :n WHERE k = :k",
        "INSERT OR REPLACE INTO {}t SELECT :k, :n WHERE :n IN (3, 4)", "DELETE FROM {}t WHERE k = :k",
        "UPDATE OR IGNORE {}t SET m = coalesce(m, 0) + 1 WHERE k = :k"]), values


@pytest.mark.parametrize("number", ROUNDS)
def test_what_is_written_over_a_value_that_is_not_the_counter_s_adds_the_difference(tmp_path, number):
    draw = random.Random(f"{SEED} shelf {number}")
    db = connect(tmp_path / "one.db")
    db.execute("ATTACH ? AS two", (str(tmp_path / "two.db"),))
    check = draw.choice(["m BETWEEN 2 AND 9", "m IS NULL OR m < 5", "m IS NOT NULL", "coalesce(m, 3) > 2"])
    one, two = Shelf(db, "main", check), Shelf(db, "two", "1")
    for _ in range(EXAMPLES // 3):
        shelf, luck = draw.choice([one, one, two]), draw.random()
        statements = [shelf_statement(draw)]
        if luck < .3:
            rows(db, "SELECT * FROM counter_sync('two')")
            one.merge(two)
            one.show()
            two.merge(one)
            two.show()
        elif luck < .4:
            statements += [shelf_statement(draw) for _ in range(draw.randint(0, 3))]
            for (name,) in rows(db, f"SELECT name FROM {shelf.schema}.sqlite_master WHERE type = 'trigger'"):
                db.execute(f"DROP TRIGGER {shelf.schema}.{name}")
            shelf.write(statements)
            rows(db, f"SELECT counter_track('{shelf.schema}.t', 'missing=deleted')")
            shelf.show()
        else:
            shelf.write(statements)
            shelf.show()
        one.check(statements)
        two.check(statements)


# ---- what the table does not take ----

PRODUCTS = "CREATE TABLE products(sku TEXT PRIMARY KEY, name TEXT, stock INTEGER NOT NULL DEFAULT 0);"
TEA = "INSERT INTO products VALUES ('tea', 'Tea', 10);"


def pair(tmp_path, sql, *tracked):
    """A file and a copy of it, which has taken an id of its own with its first count."""
    one = connect(tmp_path / "one.db")
    one.executescript(sql)
    for table, *columns in tracked or [("products", "stock")]:
        rows(one, f"SELECT counter_track(?{', ?' * len(columns)})", table, *columns)
    one.execute("VACUUM INTO ?", (str(tmp_path / "two.db"),))
    two = connect(tmp_path / "two.db")
    two.execute(f"PRAGMA foreign_keys = {rows(one, 'PRAGMA foreign_keys')[0][0]}")
    return one, two


def pull(db, tmp_path, name="two.db"):
    return rows(db, "SELECT * FROM counter_pull(?)", str(tmp_path / name))


def contents(db):
    return rows(db, "SELECT sku, stock FROM products ORDER BY sku")


def counters(db):
    return rows(db, "SELECT sku, stock FROM products_counters ORDER BY sku")


def test_a_condition_that_ends_in_an_open_comment_is_left_out(tmp_path):
    db = connect(str(tmp_path / "a.db"))
    db.execute("CREATE TABLE t(k INTEGER PRIMARY KEY, code TEXT, gone TEXT, n INTEGER)")
    db.execute("CREATE UNIQUE INDEX one ON t(code) WHERE gone IS NULL /* open")
    db.execute("SELECT counter_track('t', 'n', 'keys=assigned')")
    db.execute("INSERT INTO t VALUES (1, 'a', NULL, 5)")
    db.execute("REPLACE INTO t VALUES (2, 'a', NULL, 6)")
    assert db.execute("SELECT * FROM t_counters").fetchall() == [(2, 6)]


def test_a_table_of_more_unique_indexes_than_a_compound_select_has_terms_is_tracked(tmp_path):
    db = connect(str(tmp_path / "a.db"))
    db.execute("CREATE TABLE t(k INTEGER PRIMARY KEY, a TEXT, n INTEGER)")
    for i in range(600):
        db.execute(f"CREATE UNIQUE INDEX i{i} ON t(a) WHERE k <> {i}")
    db.execute("SELECT counter_track('t', 'n', 'keys=assigned')")
    db.execute("INSERT INTO t VALUES (1000, 'a', 5)")
    db.execute("REPLACE INTO t VALUES (1001, 'a', 6)")
    assert db.execute("SELECT * FROM t_counters").fetchall() == [(1001, 6)]


def test_a_replace_is_counted_where_an_index_came_after_tracking(tmp_path):
    one, _ = pair(tmp_path, PRODUCTS + TEA)
    one.execute("CREATE UNIQUE INDEX names ON products(name)")
    one.execute("REPLACE INTO products VALUES ('tea', 'Green', 3), ('cof', 'Coffee', 5)")
    assert contents(one) == counters(one) == [("cof", 5), ("tea", 3)]
    assert {state for state, in rows(one, "SELECT state FROM counter_tracked")} == {"broken"}
    one.execute("REPLACE INTO products VALUES ('new', 'Green', 7)")
    with pytest.raises(sqlite3.Error, match=r"1 of its rows is missing, \('tea'\)"):
        rows(one, "SELECT counter_track('products', 'stock')")
    assert rows(one, "SELECT counter_track('products', 'stock', 'missing=deleted')") == [(1,)]
    assert contents(one) == counters(one) == [("cof", 5), ("new", 7)]


def test_a_replace_that_might_remove_hundreds_of_rows_counts(tmp_path):
    one, _ = pair(tmp_path, "CREATE TABLE products(sku TEXT PRIMARY KEY, name TEXT, stock INT, gone INT);"
                            "CREATE UNIQUE INDEX i ON products(name) WHERE gone = 0;"
                            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300)"
                            "INSERT INTO products SELECT 'k' || i, 'same', i, 1 FROM n;"
                            "INSERT INTO products VALUES ('live', 'same', 7, 0)")
    one.execute("REPLACE INTO products VALUES ('new', 'same', 1, 0)")
    assert contents(one) == counters(one)
    assert ("live", 7) not in contents(one) and len(contents(one)) == 301


@pytest.mark.parametrize("index, statement", [
    ("CREATE UNIQUE INDEX i ON products(lower(name))", "REPLACE INTO products VALUES ('cof', 'TEA', 5)"),
    ("CREATE UNIQUE INDEX i ON products(name COLLATE NOCASE)", "REPLACE INTO products VALUES ('cof', 'TEA', 5)"),
    ("CREATE UNIQUE INDEX i ON products(name, substr(name, 1, 1) || ')')", "REPLACE INTO products VALUES ('c', 'Tea', 5)"),
    ("CREATE UNIQUE INDEX i ON products(name) WHERE stock > 3",
     "INSERT INTO products VALUES ('cof', 'Tea', 1); UPDATE OR REPLACE products SET stock = 5 WHERE sku = 'cof'"),
])
def test_rows_that_or_replace_removes_by_another_index_are_counted_as_deleted(tmp_path, index, statement):
    one, _ = pair(tmp_path, PRODUCTS + index)
    one.executescript(TEA + statement)
    assert len(contents(one)) == 1 and contents(one) == counters(one)


def test_a_row_that_differs_is_changed_though_its_own_trigger_comes_back_to_the_table(tmp_path):
    one, two = pair(tmp_path, "CREATE TABLE products(sku TEXT PRIMARY KEY, stock INTEGER UNIQUE);"
                              "INSERT INTO products VALUES ('tea', 1), ('cof', 2), ('mil', 6)")
    two.execute("UPDATE products SET stock = 5 WHERE sku = 'tea'")
    one.execute("UPDATE products SET stock = 5 WHERE sku = 'cof'")
    pull(one, tmp_path)
    assert apart(one) == [("differs", "('tea')", 1, 5)]
    one.execute("UPDATE products SET stock = 2 WHERE sku = 'tea'")
    assert apart(one) == [("differs", "('tea')", 2, 6)]
    one.execute("DELETE FROM products WHERE sku = 'mil'")
    pull(one, tmp_path)
    two.execute("UPDATE products SET stock = stock + 1 WHERE sku = 'mil'")
    pull(one, tmp_path)
    assert contents(one) == [("cof", 5), ("tea", 6)] and not apart(one)


def test_no_default_of_another_file_is_run(tmp_path):
    one, two = pair(tmp_path, PRODUCTS)
    ran = []
    two.create_function("ran", 0, lambda: ran.append(1) or 4)
    two.executescript("CREATE TABLE other(k TEXT PRIMARY KEY, n INTEGER NOT NULL DEFAULT (ran()));"
                      "SELECT counter_track('other', 'n'); INSERT INTO other VALUES ('x', 1)")
    one.create_function("ran", 0, lambda: ran.append(1) or 4)
    one.execute("ATTACH ? AS two", (str(tmp_path / "two.db"),))
    rows(one, "SELECT * FROM counter_tracked('two')")
    rows(one, "SELECT * FROM counter_pull('two', 'create tables')")
    assert not ran and rows(one, "SELECT * FROM other") == [("x", 1)]


@pytest.mark.parametrize("within", [False, True])
def test_a_table_that_rolls_back_fails_the_merge_and_nothing_is_taken_for_merged(tmp_path, within):
    one, two = pair(tmp_path, PRODUCTS)
    two.execute("INSERT INTO products VALUES ('new', 'New', 3), ('new2', 'New', 3)")
    one.execute("CREATE TRIGGER app BEFORE INSERT ON products WHEN NEW.sku = 'new'"
                " BEGIN SELECT RAISE(ROLLBACK, 'no'); END")
    if within:
        one.execute("BEGIN")
    with pytest.raises(sqlite3.Error):
        pull(one, tmp_path)
    assert contents(one) == counters(one) == [] and not one.in_transaction
    one.execute("DROP TRIGGER app")
    pull(one, tmp_path)
    assert contents(one) == counters(one) == [("new", 3), ("new2", 3)]


@pytest.mark.parametrize("clause", ["REPLACE", "IGNORE", "FAIL", "ROLLBACK"])
def test_a_constraint_that_says_how_to_go_on_makes_merged_rows_wait(tmp_path, clause):
    one, two = pair(tmp_path, "CREATE TABLE products(sku TEXT PRIMARY KEY, name TEXT NOT NULL DEFAULT 'x'"
                              f" UNIQUE ON CONFLICT {clause}, stock INTEGER NOT NULL DEFAULT 0);")
    one.execute("INSERT INTO products VALUES ('local', 'x', 6)")
    two.execute("INSERT INTO products VALUES ('tea', 'Tea', 1), ('cof', 'Cof', 2)")
    pull(one, tmp_path)
    assert contents(one) == [("local", 6)]
    assert sorted(apart(one)) == [("waits", "('cof')", None, 2), ("waits", "('tea')", None, 1)]
    one.execute("UPDATE products SET name = 'y'")
    pull(one, tmp_path)
    assert len(contents(one)) == 2 and len(apart(one)) == 1


@pytest.mark.parametrize("event, change, states", [
    ("INSERT", "INSERT INTO products VALUES ('new', 'n', 3)", [("waits", "('new')", None, 3)]),
    ("UPDATE", "UPDATE products SET stock = 2", [("differs", "('tea')", 10, 2)]),
    ("DELETE", "DELETE FROM products", [("differs", "('tea')", 10, None)]),
])
def test_a_trigger_that_ignores_a_merged_row_leaves_it_listed(tmp_path, event, change, states):
    one, two = pair(tmp_path, PRODUCTS + TEA)
    one.execute(f"CREATE TRIGGER app BEFORE {event} ON products BEGIN SELECT RAISE(IGNORE); END")
    two.execute(change)
    pull(one, tmp_path)
    assert contents(one) == [("tea", 10)] and apart(one) == states
    one.execute("DROP TRIGGER app")
    pull(one, tmp_path)
    assert contents(one) == contents(two) == counters(one) and not apart(one)


def test_children_of_a_row_that_a_deferred_foreign_key_keeps_are_kept_too(tmp_path):
    one, two = pair(tmp_path, "PRAGMA foreign_keys = ON;" + PRODUCTS + TEA
                    + "CREATE TABLE pics(id INTEGER PRIMARY KEY, sku TEXT REFERENCES products ON DELETE CASCADE);"
                      "CREATE TABLE orders(sku TEXT REFERENCES products DEFERRABLE INITIALLY DEFERRED)")
    one.executescript("INSERT INTO pics VALUES (1, 'tea'); INSERT INTO orders VALUES ('tea')")
    two.execute("DELETE FROM products")
    pull(one, tmp_path)
    assert contents(one) == [("tea", 10)] and apart(one) == [("differs", "('tea')", 10, None)]
    assert rows(one, "SELECT count(*) FROM pics") == [(1,)]
    one.execute("DELETE FROM orders")
    pull(one, tmp_path)
    assert contents(one) == rows(one, "SELECT * FROM pics") == apart(one) == []


def test_nothing_is_merged_while_a_foreign_key_of_the_transaction_is_broken(tmp_path):
    one, two = pair(tmp_path, "PRAGMA foreign_keys = ON;" + PRODUCTS + TEA
                    + "CREATE TABLE orders(sku TEXT REFERENCES products DEFERRABLE INITIALLY DEFERRED)")
    two.execute("UPDATE products SET stock = 12")
    one.execute("BEGIN")
    one.execute("INSERT INTO orders VALUES ('later')")
    with pytest.raises(sqlite3.Error, match="violates a deferred foreign key"):
        pull(one, tmp_path)
    one.execute("INSERT INTO products VALUES ('later', 'l', 1)")
    one.execute("COMMIT")
    pull(one, tmp_path)
    assert contents(one) == [("later", 1), ("tea", 12)]


def test_cascades_within_a_merge_are_followed(tmp_path):
    one, two = pair(tmp_path, "PRAGMA foreign_keys = ON;"
                              "CREATE TABLE products(sku TEXT PRIMARY KEY, parent TEXT REFERENCES products"
                              " ON DELETE CASCADE ON UPDATE CASCADE, stock INTEGER NOT NULL DEFAULT 0);"
                              "INSERT INTO products VALUES ('a', NULL, 1), ('b', 'a', 2), ('c', 'b', 3)")
    two.execute("DELETE FROM products WHERE sku = 'a'")
    pull(one, tmp_path)
    assert contents(one) == counters(one) == apart(one) == []


def test_a_row_that_another_one_kept_is_deleted_when_that_is_gone(tmp_path):
    one, two = pair(tmp_path, "PRAGMA foreign_keys = ON;"
                              "CREATE TABLE products(sku TEXT PRIMARY KEY, parent TEXT REFERENCES products,"
                              " stock INTEGER NOT NULL DEFAULT 0);"
                              "INSERT INTO products VALUES ('a', NULL, 1), ('b', 'a', 2), ('c', 'b', 3)")
    two.executescript("PRAGMA foreign_keys = OFF; DELETE FROM products")
    pull(one, tmp_path)
    assert contents(one) == counters(one) == apart(one) == []


@pytest.mark.parametrize("upsert", [False, True])
def test_a_total_that_triggers_keep_is_counted_once(tmp_path, upsert):
    totals = "CREATE TABLE totals(k TEXT PRIMARY KEY, n INTEGER NOT NULL DEFAULT 0);"
    write = ("INSERT INTO totals VALUES ('all', NEW.stock - OLD.stock) ON CONFLICT(k) DO UPDATE SET n = n + excluded.n"
             if upsert else "UPDATE totals SET n = n + NEW.stock - OLD.stock")
    one, two = pair(tmp_path, PRODUCTS + TEA + totals + ("" if upsert else "INSERT INTO totals VALUES ('all', 0);")
                    + f"CREATE TRIGGER app AFTER UPDATE OF stock ON products BEGIN {write}; END",
                    ("products", "stock"), ("totals", "n"))
    two.execute("UPDATE products SET stock = stock + 5")
    one.execute("UPDATE products SET stock = stock + 2")
    pull(one, tmp_path)
    pull(two, tmp_path, "one.db")
    for db in one, two:
        assert contents(db) == [("tea", 17)] and apart(db) == []
        assert rows(db, "SELECT * FROM totals") == rows(db, "SELECT * FROM totals_counters") == [("all", 7)]


def test_a_value_that_a_trigger_clamps_is_listed(tmp_path):
    one, two = pair(tmp_path, PRODUCTS + TEA + "CREATE TRIGGER app AFTER UPDATE OF stock ON products"
                    " WHEN NEW.stock < 0 BEGIN UPDATE products SET stock = 0 WHERE sku = NEW.sku; END")
    one.execute("UPDATE products SET stock = stock - 7")
    two.execute("UPDATE products SET stock = stock - 8")
    pull(one, tmp_path)
    assert contents(one) == [("tea", 0)] and apart(one) == [("differs", "('tea')", 0, -5)]
    one.execute("UPDATE products SET stock = stock + 9")
    assert contents(one) == counters(one) == [("tea", 4)] and not apart(one)


def test_tracking_again_counts_what_a_rebuilt_table_has_of_rows_that_were_apart(tmp_path):
    table = ("CREATE TABLE {}(sku TEXT PRIMARY KEY, name TEXT NOT NULL,"
             " stock INTEGER NOT NULL DEFAULT 0 CHECK (stock < {}));")
    rebuild = (table.format("other", 30) + "INSERT INTO other SELECT * FROM products; DROP TABLE products;"
               "ALTER TABLE other RENAME TO products;")
    one, two = pair(tmp_path, table.format("products", 20) + TEA)
    two.execute("UPDATE products SET stock = 16")
    two.execute("INSERT INTO products VALUES ('new', 'New', 5)")
    one.execute("UPDATE products SET stock = 15")
    pull(one, tmp_path)
    assert sorted(apart(one)) == [("differs", "('tea')", 15, 21), ("waits", "('new')", None, 5)]
    one.executescript(rebuild + "UPDATE products SET stock = 21; INSERT INTO products VALUES ('new', 'N', 5)")
    rows(one, "SELECT counter_track('products', 'stock')")
    assert contents(one) == counters(one) == [("new", 10), ("tea", 27)] and not apart(one)


def test_a_trigger_that_is_dropped_alone_is_put_back(tmp_path):
    for trigger in "insert", "update", "key", "delete":
        folder = tmp_path / trigger
        folder.mkdir()
        one, two = pair(folder, PRODUCTS + TEA)
        one.executescript(f"DROP TRIGGER products_counters_{trigger}; UPDATE products SET stock = stock + 1;"
                          "INSERT INTO products VALUES ('new', 'New', 1); DELETE FROM products WHERE sku = 'new'")
        two.execute("UPDATE products SET stock = stock + 1")
        with pytest.raises(sqlite3.Error, match=r"counter_track\('products', ...\) again"):
            pull(one, folder)
        rows(one, "SELECT counter_track('products', 'missing=deleted')")
        pull(one, folder)
        assert contents(one) == counters(one) == [("tea", 12)]


def test_three_copies_of_a_tracked_file_count_and_agree(tmp_path):
    one, _ = pair(tmp_path, PRODUCTS + TEA)
    shops = [one]
    for i in range(3):
        one.execute("VACUUM INTO ?", (str(tmp_path / f"copy{i}.db"),))
        shops.append(connect(tmp_path / f"copy{i}.db"))
    for n, shop in enumerate(shops):
        shop.execute("UPDATE products SET stock = stock + ?", (10 ** n,))
    for _ in range(2):
        for i in range(3):
            rows(one, "SELECT * FROM counter_sync(?)", str(tmp_path / f"copy{i}.db"))
    assert [contents(shop) for shop in shops] == [[("tea", 1121)]] * 4


def test_temp_and_attached_tables_are_tracked(tmp_path):
    db = connect(tmp_path / "main.db")
    db.execute("ATTACH ? AS aux", (str(tmp_path / "aux.db"),))
    for schema in "main", "temp", "aux":
        db.execute(f"CREATE TABLE {schema}.{schema}_t(k INTEGER PRIMARY KEY, n INTEGER)")
        db.execute(f"INSERT INTO {schema}_t VALUES (1, 2)")
        assert rows(db, "SELECT counter_track(?, 'n', 'keys=assigned')", f"{schema}_t") == [(1,)]
        db.execute(f"UPDATE {schema}_t SET n = n + 5")
        assert rows(db, f"SELECT * FROM {schema}_t_counters") == [(1, 7)]
        assert rows(db, "SELECT table_name, state FROM counter_tracked(?)", schema) == [(f"{schema}_t", "tracked")]
        assert rows(db, "SELECT counter_untrack(?)", f"{schema}.{schema}_t") == [(1,)]


# ---- what a second attack found ----

FOREIGN_KEYS = "PRAGMA foreign_keys = ON;"


@pytest.mark.parametrize("nullable", [False, True])
@pytest.mark.parametrize("pulls_first", [False, True])
def test_a_column_that_another_file_tracks_already_keeps_what_that_has_counted(tmp_path, nullable, pulls_first):
    one, two = pair(tmp_path, PRODUCTS + TEA)
    column = "ALTER TABLE products ADD COLUMN sold INTEGER" + ("" if nullable else " NOT NULL DEFAULT 0")
    for db in two, one:
        if db is one and pulls_first:
            pull(one, tmp_path)
        db.execute(column)
        rows(db, "SELECT counter_track('products', 'sold')")
        db.execute("UPDATE products SET sold = coalesce(sold, 0) + ?", (5 if db is two else 2,))
    for _ in range(2):
        pull(one, tmp_path)
        pull(two, tmp_path, "one.db")
    for db in one, two:
        assert rows(db, "SELECT stock, sold FROM products") == [(10, 7)] and not apart(db)


@pytest.mark.parametrize("temp", ["", "TEMP "])
@pytest.mark.parametrize("trigger, change, shown", [
    ("AFTER UPDATE OF stock ON products WHEN NEW.stock > 20 BEGIN UPDATE products SET stock = 20; END",
     "UPDATE products SET stock = 30", [("tea", 20)]),
    ("AFTER INSERT ON products BEGIN UPDATE products SET stock = stock * 2 WHERE sku = NEW.sku; END",
     "INSERT INTO products VALUES ('new', 'New', 4)", [("new", 8), ("tea", 10)]),
    ("AFTER UPDATE OF stock ON products WHEN NEW.stock = 0 BEGIN DELETE FROM products WHERE sku = NEW.sku; END",
     "UPDATE products SET stock = 0", []),
])
def test_triggers_that_are_newer_than_tracking_may_change_the_row_again(tmp_path, temp, trigger, change, shown):
    one, two = pair(tmp_path, PRODUCTS + TEA)
    one.execute(f"CREATE {temp}TRIGGER app {trigger}")
    one.execute(change)
    assert contents(one) == counters(one) == shown
    pull(two, tmp_path, "one.db")
    assert contents(two) == shown
    two.execute("UPDATE products SET stock = stock + 1")
    pull(one, tmp_path)


@pytest.mark.parametrize("clause", ["REPLACE", "IGNORE"])
def test_a_clause_within_a_trigger_is_left_alone_by_a_merge(tmp_path, clause):
    one, two = pair(tmp_path, PRODUCTS + TEA + "CREATE TABLE last(sku TEXT PRIMARY KEY);"
                    "CREATE TRIGGER app AFTER UPDATE ON products"
                    f" BEGIN INSERT OR {clause} INTO last VALUES (NEW.sku); END")
    one.execute("UPDATE products SET stock = stock + 1")
    two.execute("UPDATE products SET stock = stock + 100")
    pull(one, tmp_path)
    assert contents(one) == [("tea", 111)] and not apart(one)


@pytest.mark.parametrize("schema, children", [
    ("CREATE TABLE products(sku TEXT COLLATE NOCASE PRIMARY KEY, stock INTEGER);"
     "CREATE TABLE o(sku TEXT REFERENCES products DEFERRABLE INITIALLY DEFERRED);", "INSERT INTO o VALUES ('TEA')"),
    ("CREATE TABLE products(sku TEXT PRIMARY KEY, stock INTEGER);"
     "CREATE TABLE pics(id INTEGER PRIMARY KEY, sku TEXT REFERENCES products ON DELETE CASCADE);"
     "CREATE TABLE notes(pic INTEGER REFERENCES pics DEFERRABLE INITIALLY DEFERRED);",
     "INSERT INTO pics VALUES (1, 'tea'); INSERT INTO notes VALUES (1)"),
    ("CREATE TABLE products(sku TEXT PRIMARY KEY, stock INTEGER);"
     "CREATE TABLE pics(sku TEXT DEFAULT 'none' REFERENCES products ON DELETE SET DEFAULT"
     " DEFERRABLE INITIALLY DEFERRED);", "INSERT INTO pics VALUES ('tea')"),
])
def test_a_foreign_key_that_is_looked_at_later_keeps_a_row(tmp_path, schema, children):
    one, two = pair(tmp_path, FOREIGN_KEYS + schema + "INSERT INTO products VALUES ('tea', 10)")
    one.executescript(children)
    two.execute("DELETE FROM products")
    pull(one, tmp_path)
    assert contents(one) == [("tea", 10)] and apart(one) == [("differs", "('tea')", 10, None)]
    assert rows(one, "PRAGMA foreign_key_check") == []


def test_a_row_without_its_parent_waits_and_leaves_no_trace(tmp_path):
    one, two = pair(tmp_path, FOREIGN_KEYS + "CREATE TABLE parents(sku TEXT PRIMARY KEY);"
                    "CREATE TABLE products(sku TEXT PRIMARY KEY REFERENCES parents DEFERRABLE INITIALLY DEFERRED,"
                    " stock INTEGER);"
                    "CREATE TABLE log(sku TEXT REFERENCES products DEFERRABLE INITIALLY DEFERRED);"
                    "CREATE TRIGGER app AFTER INSERT ON products BEGIN INSERT INTO log VALUES (NEW.sku); END")
    two.executescript("INSERT INTO parents VALUES ('tea'), ('cof'); INSERT INTO products VALUES ('tea', 4), ('cof', 5)")
    pull(one, tmp_path)
    assert contents(one) == rows(one, "SELECT * FROM log") == [] and len(apart(one)) == 2
    one.execute("INSERT INTO parents VALUES ('tea')")
    pull(one, tmp_path)
    assert contents(one) == [("tea", 4)] and rows(one, "SELECT * FROM log") == [("tea",)]


def test_a_trigger_that_empties_a_row_which_is_to_be_deleted_does_no_harm(tmp_path):
    one, two = pair(tmp_path, "CREATE TABLE products(sku TEXT PRIMARY KEY, parent TEXT,"
                              " stock INTEGER NOT NULL DEFAULT 0);"
                              "INSERT INTO products VALUES ('a', NULL, 5), ('b', 'a', 7);"
                              "CREATE TRIGGER app AFTER UPDATE OF stock ON products WHEN NEW.stock = 0"
                              " BEGIN UPDATE products SET stock = 0 WHERE parent = NEW.sku; END")
    two.executescript("UPDATE products SET stock = 0 WHERE sku = 'a'; DELETE FROM products WHERE sku = 'b'")
    pull(one, tmp_path)
    assert contents(one) == [("a", 0)] and not apart(one)


def test_a_pull_ends_though_triggers_change_rows_in_turn(tmp_path):
    """Forwards, showing row 2 lists row 1; backwards, showing row 1 lists the rows 2 and 3."""
    one, two = pair(tmp_path, "CREATE TABLE products(sku INTEGER PRIMARY KEY, stock INTEGER NOT NULL);"
                              "INSERT INTO products VALUES (1, 0), (2, 0), (3, 0)", ("products", "stock", "keys=assigned"))
    one.executescript("CREATE TRIGGER a AFTER UPDATE OF stock ON products WHEN NEW.sku = 1 AND NEW.stock % 10 = 0"
                      " BEGIN UPDATE products SET stock = stock + 1 WHERE sku IN (2, 3); END;"
                      "CREATE TRIGGER b AFTER UPDATE OF stock ON products WHEN NEW.sku = 2 AND NEW.stock % 10 = 0"
                      " BEGIN UPDATE products SET stock = stock + 1 WHERE sku = 1; END")
    two.execute("UPDATE products SET stock = 10 WHERE sku = 1")
    calls = []
    one.set_progress_handler(lambda: calls.append(1) or len(calls) > 1000, 1000)
    pull(one, tmp_path)
    one.set_progress_handler(None, 0)
    assert counters(one) == [(1, 10), (2, 0), (3, 0)] and apart(one)
    one.executescript("DROP TRIGGER a; DROP TRIGGER b")
    pull(one, tmp_path)
    assert contents(one) == counters(one) and not apart(one)


def test_a_row_that_differs_is_changed_while_a_foreign_key_of_the_transaction_is_open(tmp_path):
    one, two = pair(tmp_path, FOREIGN_KEYS
                    + "CREATE TABLE products(sku TEXT PRIMARY KEY, stock INTEGER NOT NULL CHECK (stock >= 0));"
                      "CREATE TABLE o(sku TEXT REFERENCES products DEFERRABLE INITIALLY DEFERRED);"
                      "INSERT INTO products VALUES ('tea', 5)")
    one.execute("UPDATE products SET stock = 0")
    two.execute("UPDATE products SET stock = 1")
    pull(one, tmp_path)
    assert apart(one) == [("differs", "('tea')", 0, -4)]
    one.execute("BEGIN")
    one.execute("INSERT INTO o VALUES ('later')")
    one.execute("UPDATE products SET stock = stock + 10 WHERE sku = 'tea'")
    assert apart(one) == [("differs", "('tea')", 10, 6)]
    with pytest.raises(sqlite3.Error, match="violates a deferred foreign key"):
        one.execute("INSERT INTO products_counters(products_counters, sku) VALUES ('reset', 'tea')")
    one.execute("INSERT INTO products VALUES ('later', 1)")
    one.execute("COMMIT")
    pull(one, tmp_path)
    assert contents(one) == counters(one) == [("later", 1), ("tea", 6)]


def test_a_long_chain_of_rows_that_hold_each_other_goes_at_once(tmp_path):
    one, two = pair(tmp_path, FOREIGN_KEYS + "CREATE TABLE products(sku TEXT PRIMARY KEY,"
                    " parent TEXT REFERENCES products, stock INTEGER NOT NULL DEFAULT 0);"
                    "INSERT INTO products VALUES ('0', NULL, 0);"
                    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 59)"
                    "INSERT INTO products SELECT i, i - 1, 1 FROM n")
    two.executescript("PRAGMA foreign_keys = OFF; DELETE FROM products WHERE sku <> '0'")
    pull(one, tmp_path)
    assert contents(one) == [("0", 0)] and not apart(one)


def test_names_that_would_be_mistaken_are_refused(tmp_path):
    one, _ = pair(tmp_path, PRODUCTS + TEA)
    one.executescript("ALTER TABLE products RENAME COLUMN stock TO pieces;"
                      "ALTER TABLE products ADD COLUMN stock INTEGER DEFAULT 4")
    with pytest.raises(sqlite3.Error, match="the counter stock belongs to the column pieces"):
        one.execute("SELECT counter_track('products', 'stock')")
    assert one.execute("SELECT counter_track('products')").fetchone() == (0,)  # the rename is noted, once
    assert one.execute("SELECT counter_track('products')").fetchone() == (0,)
    if sqlite3.sqlite_version_info >= (3, 37):
        one.execute("CREATE TABLE strict(k ANY PRIMARY KEY NOT NULL, n INT) STRICT")
        with pytest.raises(sqlite3.Error, match="key column k has the type ANY"):
            one.execute("SELECT counter_track('strict', 'n')")
    one.execute("DROP TABLE products")
    with pytest.raises(sqlite3.Error, match="products is missing, and its counters are in products_counters: .* dropped for good, drop products_counters"):
        pull(one, tmp_path)
    one.execute("DROP TABLE products_counters")


def test_columns_come_and_go_beside_an_index_on_an_expression(tmp_path):
    one, two = pair(tmp_path, "CREATE TABLE products(sku TEXT PRIMARY KEY, name TEXT, stock INTEGER, note TEXT);"
                    "CREATE UNIQUE INDEX i ON products(lower(name) DESC);")
    one.execute("INSERT INTO products VALUES ('tea', 'Tea', 5, '')")
    one.execute("ALTER TABLE products ADD COLUMN more INTEGER")
    if sqlite3.sqlite_version_info >= (3, 35):
        one.execute("ALTER TABLE products DROP COLUMN note")
    one.execute("REPLACE INTO products(sku, name, stock) VALUES ('cof', 'TEA', 3)")
    assert contents(one) == counters(one) == [("cof", 3)]
    pull(two, tmp_path, "one.db")


# ---- with what else there is ----

def test_a_tracked_table_merges_with_a_counter_table_directly_and_through_a_third_file(tmp_path):
    one, two = pair(tmp_path, PRODUCTS + TEA)
    report = connect(tmp_path / "report.db")
    report.execute("CREATE VIRTUAL TABLE products USING counter(sku TEXT PRIMARY KEY, stock COUNTER)")
    one.execute("UPDATE products SET stock = stock + 5")
    two.execute("INSERT INTO products VALUES ('cof', 'Coffee', 7)")
    pull(report, tmp_path, "one.db")
    report.execute("INSERT INTO products VALUES ('tea', 100), ('new', 1)")
    pull(two, tmp_path, "report.db")
    pull(report, tmp_path)
    pull(one, tmp_path, "report.db")
    for db in one, two, report:
        assert contents(db) == [("cof", 7), ("new", 1), ("tea", 115)]
    report.execute("DELETE FROM products WHERE sku = 'new'")
    pull(one, tmp_path, "report.db")
    assert contents(one) == [("cof", 7), ("tea", 115)]


def test_a_file_that_has_the_table_untracked_says_so_and_one_without_it_gets_a_counter_table_if_it_asks(tmp_path):
    one, _ = pair(tmp_path, PRODUCTS + TEA)
    other = connect(tmp_path / "other.db")
    with pytest.raises(sqlite3.Error, match=r"main has no such table: CREATE TABLE products\(sku TEXT, stock INTEGER, "
                                            r"PRIMARY KEY \(sku\)\) .* counter_track\('products', 'stock'\)"):
        pull(other, tmp_path, "one.db")
    assert rows(other, "SELECT * FROM sqlite_master") == []
    rows(other, "SELECT * FROM counter_pull(?, 'create tables')", str(tmp_path / "one.db"))
    assert rows(other, "SELECT * FROM products") == [("tea", 10)]
    plain = connect(tmp_path / "plain.db")
    plain.executescript(PRODUCTS)
    with pytest.raises(sqlite3.Error, match=r"in main it is an ordinary table, .* counter_track\('products', \.\.\.\) there"):
        pull(plain, tmp_path, "one.db")
    rows(plain, "SELECT counter_track('products', 'stock')")
    pull(plain, tmp_path, "one.db")
    assert contents(plain) == [("tea", 10)]


def test_a_cluster_takes_no_tracked_table_and_says_why(tmp_path):
    one, _ = pair(tmp_path, PRODUCTS + TEA)
    one.execute("ATTACH ? AS two", (str(tmp_path / "two.db"),))
    with pytest.raises(sqlite3.Error, match="products is a tracked table there"):
        one.execute("CREATE VIRTUAL TABLE temp.shop USING counter_cluster(products_counters, replicas='main two')")
        rows(one, "SELECT * FROM shop")


@pytest.mark.parametrize("gone", ["a", "b", "c", "d", "ab", "ac", "bd", "cba", "acd"])
def test_whichever_columns_are_untracked_the_others_count_on_in_both_files(tmp_path, gone):
    left = [name for name in "abcd" if name not in gone]
    for name in ("main", "other"):
        with connect(tmp_path / f"{name}.db") as db:
            db.execute("CREATE TABLE t(k TEXT PRIMARY KEY, a INTEGER, x TEXT, b INTEGER, c INTEGER, d INTEGER)")
            rows(db, "SELECT counter_track('t', 'a', 'b', 'c', 'd')")
    db = connect(tmp_path / "main.db")
    db.execute(f"ATTACH '{tmp_path}/other.db' AS other")
    db.execute("INSERT INTO t VALUES ('k', 1, 'x', 1, 1, 1)")
    rows(db, "SELECT * FROM counter_sync('other')")
    rows(db, f"SELECT counter_untrack('t', {', '.join(repr(name) for name in gone)})")
    for schema, n in [("main", 10), ("other", 100), ("other", 1000), ("main", 10000)]:
        if n == 1000:
            rows(db, "SELECT * FROM counter_sync('other')")
        db.execute(f"UPDATE {schema}.t SET " + ", ".join(f"{name} = {name} + {n}" for name in left))
    rows(db, "SELECT * FROM counter_sync('other')")
    for schema in ("main", "other"):
        assert rows(db, f"SELECT {', '.join(left)} FROM {schema}.t") == [(11111,) * len(left)]
        assert rows(db, f"SELECT {', '.join(left)} FROM {schema}.t_counters") == [(11111,) * len(left)]
        assert sorted(rows(db, f"SELECT column_name, state FROM counter_tracked('{schema}')")) == [
            (name, "tracked") for name in left]
    db.close()


@pytest.mark.parametrize("how", ["path", "attached"])
def test_a_push_keeps_the_foreign_keys_that_this_connection_keeps(tmp_path, how):
    schema = ["CREATE TABLE u(id TEXT PRIMARY KEY NOT NULL)",
              "CREATE TABLE o(id TEXT PRIMARY KEY NOT NULL, uid TEXT NOT NULL DEFAULT 'none' REFERENCES u(id), n INTEGER)"]
    for name in ("main", "other"):
        with connect(tmp_path / f"{name}.db") as db:
            for sql in schema:
                db.execute(sql)
            rows(db, "SELECT counter_track('o', 'n')")
    db = connect(tmp_path / "main.db")
    db.execute("PRAGMA foreign_keys = ON")
    peer = f"{tmp_path}/other.db"
    if how == "attached":
        db.execute(f"ATTACH '{peer}' AS other")
        peer = "other"
    db.execute("INSERT INTO u VALUES ('x')")
    db.execute("INSERT INTO o VALUES ('1', 'x', 7)")
    rows(db, f"SELECT * FROM counter_push('{peer}')")
    db.close()
    with connect(tmp_path / "other.db") as other:
        assert rows(other, "SELECT * FROM o") == rows(other, "PRAGMA foreign_key_check") == []
        assert apart(other) == [("waits", "('1')", None, 7)]


# ---- what readers found ----

def two_files(tmp_path, *schema, name="two"):
    """main, and a copy of it that is attached."""
    db = connect(tmp_path / "main.db")
    for sql in schema:
        db.execute(sql)
    db.execute("VACUUM INTO ?", (str(tmp_path / "two.db"),))
    db.execute(f'ATTACH ? AS "{name}"', (str(tmp_path / "two.db"),))
    return db


def exchange(db, name="two"):
    rows(db, "SELECT * FROM counter_pull(?)", name)
    rows(db, "SELECT * FROM counter_push(?)", name)


def test_a_file_in_which_no_column_is_tracked_any_more_goes_on_to_merge(tmp_path):
    db = two_files(tmp_path, "CREATE TABLE t(k TEXT PRIMARY KEY, m INT, n INT)")
    rows(db, "SELECT counter_track('main.t', 'm')")
    rows(db, "SELECT counter_track('two.t', 'n', 'm')")
    db.execute("INSERT INTO two.t VALUES ('a', 1, 2)")
    exchange(db)
    rows(db, "SELECT counter_untrack('two.t', 'm')")
    db.execute("UPDATE two.t SET n = 5")
    db.execute("INSERT INTO two.t VALUES ('b', 1, 2)")
    exchange(db)
    assert rows(db, "SELECT * FROM main.t") == [("a", 1, None), ("b", None, None)]
    assert rows(db, "SELECT k, n FROM main.t_counters") == [("a", 5), ("b", 2)]


@pytest.mark.parametrize("null", [False, True])
@pytest.mark.parametrize("way", ["pull", "feed"])
def test_a_counter_that_was_dropped_and_added_again_elsewhere_has_no_column_until_it_is_tracked_again(tmp_path, null, way):
    db = two_files(tmp_path, "CREATE TABLE t(k TEXT PRIMARY KEY, m INT, n INT)",
                   "INSERT INTO t VALUES ('a', 5, 6), ('b', 7, 8)", "SELECT counter_track('t', 'm', 'n')")
    rows(db, "SELECT counter_untrack('two.t', 'n')")
    if null:
        db.execute("UPDATE two.t SET n = NULL WHERE k = 'b'")
    rows(db, "SELECT counter_track('two.t', 'n')")
    db.execute("UPDATE two.t SET n = n + 1 WHERE k = 'a'")
    if way == "pull":
        rows(db, "SELECT * FROM counter_pull('two')")
    else:
        with connect(tmp_path / "two.db") as two:
            changes = rows(two, "SELECT * FROM counter_changes(0)")
            names = [name for _, name, *_ in rows(two, "PRAGMA table_info(counter_changes)")]
        db.execute("BEGIN")
        for change in changes:
            rows(db, f"INSERT INTO counter_changes({', '.join(names)}) VALUES ({', '.join('?' * len(names))})", *change)
        db.execute("COMMIT")
    assert rows(db, "SELECT * FROM main.t") == [("a", 5, 6), ("b", 7, 8)]
    assert rows(db, "SELECT column_name FROM counter_tracked") == [("m",)]
    db.execute("UPDATE main.t SET n = NULL, m = m + 1")
    rows(db, "SELECT counter_track('main.t', 'n')")
    exchange(db)
    wanted = [("a", 6, 7), ("b", 8, None if null else 8)]
    assert rows(db, "SELECT * FROM main.t") == rows(db, "SELECT * FROM two.t") == wanted
    assert apart(db) == []


def test_a_row_that_a_statement_might_have_replaced_is_not_taken_for_one_that_it_has(tmp_path):
    db = two_files(tmp_path, "CREATE TABLE t(k TEXT PRIMARY KEY, n INT, c INT UNIQUE ON CONFLICT REPLACE)",
                   "INSERT INTO t VALUES ('a', 5, 1), ('z', 1, 9)", "SELECT counter_track('t', 'n')")
    for _ in range(2):
        db.execute("INSERT INTO two.t_counters(t_counters, k, n) VALUES ('reset', 'a', 60), ('reset', 'z', 70)")
    db.execute("BEGIN")
    db.execute("INSERT OR IGNORE INTO t VALUES ('y', 1, 9)")
    db.execute("DELETE FROM t")
    rows(db, "SELECT * FROM counter_pull('two')")
    db.execute("COMMIT")
    exchange(db)
    for schema in ("main", "two"):
        assert rows(db, f"SELECT k, n FROM {schema}.t ORDER BY k") == [("a", 60), ("z", 70)]


def test_or_ignore_does_not_swallow_that_a_row_is_below_a_floor(tmp_path):
    db = two_files(tmp_path, "CREATE TABLE t(k INTEGER PRIMARY KEY, n INT)", "INSERT INTO t VALUES (1, 1), (3, 3)",
                   "SELECT counter_track('t', 'n', 'keys=assigned')")
    db.execute("INSERT INTO t_counters(t_counters, k) VALUES ('purge below', 3)")
    before = rows(db, "SELECT * FROM t")
    for sql in ("INSERT OR IGNORE INTO t VALUES (0, 8)", "UPDATE OR IGNORE t SET n = 9 WHERE k = 1"):
        with pytest.raises(sqlite3.Error, match="below a floor"):
            db.execute(sql)
        assert rows(db, "SELECT * FROM t") == before


@pytest.mark.parametrize("column", ["conflicts INT", "c INT UNIQUE ON CONFLICT IGNORE",
                                    "c TEXT DEFAULT 'ON CONFLICT REPLACE' /* ON CONFLICT ROLLBACK */"])
def test_the_application_s_triggers_keep_their_conflict_clauses_while_a_merged_value_is_shown(tmp_path, column):
    db = two_files(tmp_path, f"CREATE TABLE t(k TEXT PRIMARY KEY, n INT, {column})", "INSERT INTO t(k, n) VALUES ('a', 1)",
                   "CREATE TABLE last(k TEXT PRIMARY KEY)",
                   "CREATE TRIGGER app AFTER UPDATE ON t BEGIN INSERT OR REPLACE INTO last VALUES (NEW.k); END",
                   "SELECT counter_track('t', 'n')")
    db.execute("UPDATE t SET n = n + 5")
    db.execute("UPDATE two.t SET n = n + 100")
    exchange(db)
    assert rows(db, "SELECT n FROM t") == rows(db, "SELECT n FROM two.t") == [(106,)]
    assert apart(db) == []


def test_a_trigger_may_count_in_a_row_that_has_no_counters_yet_while_a_merged_value_is_shown(tmp_path):
    db = two_files(tmp_path, "CREATE TABLE p(k TEXT PRIMARY KEY, n INT)", "CREATE TABLE tot(k TEXT PRIMARY KEY, n INT)",
                   "INSERT INTO p VALUES ('a', 1)", "INSERT INTO tot VALUES ('all', NULL)",
                   "SELECT counter_track('p', 'n'), counter_track('tot', 'n')")
    db.execute("CREATE TRIGGER main.app AFTER UPDATE OF n ON p BEGIN UPDATE tot SET n = coalesce(n, 0) + NEW.n - OLD.n; END")
    db.execute("UPDATE two.p SET n = 6")
    rows(db, "SELECT * FROM counter_pull('two')")
    assert rows(db, "SELECT n FROM tot") == rows(db, "SELECT n FROM tot_counters") == [(5,)]
    db.execute("UPDATE two.tot SET n = 1")
    rows(db, "SELECT * FROM counter_pull('two')")
    assert rows(db, "SELECT n FROM tot") == [(6,)]


def test_a_row_that_differs_takes_what_a_newer_trigger_makes_of_an_update(tmp_path):
    db = two_files(tmp_path, "CREATE TABLE t(k TEXT PRIMARY KEY, n INT CHECK (n >= 0))", "INSERT INTO t VALUES ('a', 10)",
                   "SELECT counter_track('t', 'n')")
    db.execute("CREATE TRIGGER app AFTER UPDATE ON t WHEN NEW.n > 20 BEGIN UPDATE t SET n = 20 WHERE k = NEW.k; END")
    db.execute("UPDATE t SET n = 5")
    db.execute("UPDATE two.t SET n = 0")
    db.execute("UPDATE two.t SET n = n + 1")
    db.execute("UPDATE t SET n = 0")
    exchange(db)
    db.execute("UPDATE t SET n = 30")
    assert rows(db, "SELECT n FROM t") == [(11,)]  # 10 - 10 here, 10 - 9 there, and from 0 to 20
    exchange(db)
    assert rows(db, "SELECT n FROM two.t") == [(11,)]


@pytest.mark.parametrize("name", ["x'y", 'a"b', "a]b", "%s"])
def test_a_schema_may_have_any_name(tmp_path, name):
    quoted = name.replace('"', '""')
    db = two_files(tmp_path, "CREATE TABLE t(k TEXT PRIMARY KEY, n INT, c INT UNIQUE)",
                   "CREATE TABLE child(k TEXT REFERENCES t(k))", "INSERT INTO t VALUES ('a', 1, 1)", name=quoted)
    db.execute("PRAGMA foreign_keys = ON")
    rows(db, "SELECT counter_track('main.t', 'n')")
    rows(db, "SELECT counter_track(?, 'n')", f"{name}.t")
    db.execute(f'INSERT INTO "{quoted}".t VALUES (\'b\', 5, 2)')
    db.execute(f'REPLACE INTO "{quoted}".t VALUES (\'c\', 6, 2)')
    db.execute(f'DELETE FROM "{quoted}".t WHERE k = \'a\'')
    exchange(db, name)
    for schema in ("main", quoted):
        assert rows(db, f'SELECT k, n FROM "{schema}".t ORDER BY k') in ([("a", 1), ("c", 6)], [("c", 6)])
        assert rows(db, f'SELECT k, n FROM "{schema}".t ORDER BY k') == rows(
            db, f'SELECT k, n FROM "{schema}".t_counters ORDER BY k')


@pytest.mark.parametrize("term", ['lower("a""b")', 'lower([a"b]) -- by name\n', "lower(`a\"b`) || 'x,)' /* , ) */ DESC",
                                  '1 + 1'])
def test_what_a_replace_removes_by_an_index_on_an_expression_is_known_however_it_is_written(tmp_path, term):
    db = connect(tmp_path / "main.db")
    db.execute('CREATE TABLE t(k TEXT PRIMARY KEY, n INT, "a""b" TEXT)')
    db.execute(f"CREATE UNIQUE INDEX i ON t({term})")
    rows(db, "SELECT counter_track('t', 'n')")
    db.execute("INSERT INTO t VALUES ('1', 1, 'A')")
    db.execute("REPLACE INTO t VALUES ('2', 2, 'a')")
    assert rows(db, "SELECT k, n FROM t") == rows(db, "SELECT k, n FROM t_counters") == [("2", 2)]


REBUILD = ["CREATE TABLE new({})", "INSERT INTO new SELECT * FROM t", "DROP TABLE t", "ALTER TABLE new RENAME TO t"]


def rebuild(db, columns):
    for sql in ["BEGIN", *REBUILD, "COMMIT"]:
        db.execute(sql.format(columns))


@pytest.mark.parametrize("used", [True, False])
def test_a_column_that_was_renamed_before_a_rebuild_is_found_or_asked_for(tmp_path, used):
    db = two_files(tmp_path, "CREATE TABLE t(k TEXT PRIMARY KEY, a INT, b INT)", "INSERT INTO t VALUES ('x', 1, 1)",
                   "SELECT counter_track('t', 'a', 'b')")
    db.execute("ALTER TABLE main.t RENAME COLUMN a TO c")
    if used:
        db.execute("UPDATE main.t SET c = c + 1")
    rebuild(db, "k TEXT PRIMARY KEY, c INT, b INT")
    db.execute("UPDATE main.t SET c = c + 10")
    if not used:
        with pytest.raises(sqlite3.Error, match="the column of the counter a is missing: if it was renamed, rename it back"):
            rows(db, "SELECT counter_track('main.t')")
        db.execute("ALTER TABLE main.t RENAME COLUMN c TO a")
    rows(db, "SELECT counter_track('main.t')")
    exchange(db)
    assert rows(db, "SELECT a FROM two.t") == [(12 if used else 11,)]


def test_a_column_that_is_gone_for_good_is_left_out_by_naming_the_others(tmp_path):
    db = two_files(tmp_path, "CREATE TABLE t(k TEXT PRIMARY KEY, a INT, b INT)", "INSERT INTO t VALUES ('x', 1, 1)",
                   "SELECT counter_track('t', 'a', 'b')")
    db.execute("CREATE TABLE new(k TEXT PRIMARY KEY, b INT)")
    for sql in ["INSERT INTO new SELECT k, b FROM main.t", "DROP TABLE main.t", "ALTER TABLE new RENAME TO t"]:
        db.execute(sql)
    with pytest.raises(sqlite3.Error, match=r"if it was dropped, name the remaining ones: counter_track\('t', ...\)"):
        rows(db, "SELECT counter_track('main.t')")
    rows(db, "SELECT counter_track('main.t', 'b')")
    db.execute("UPDATE main.t SET b = b + 1")
    exchange(db)
    assert rows(db, "SELECT * FROM two.t") == [("x", 1, 2)]


def test_a_table_that_was_renamed_and_back_is_found_after_a_rebuild(tmp_path):
    db = connect(tmp_path / "main.db")
    db.execute("CREATE TABLE t(k TEXT PRIMARY KEY, n INT)")
    rows(db, "SELECT counter_track('t', 'n')")
    db.execute("ALTER TABLE t RENAME TO q")
    db.execute("CREATE UNIQUE INDEX i ON q(k, n)")
    rows(db, "SELECT counter_track('q')")
    db.execute("ALTER TABLE q RENAME TO t")
    rebuild(db, "k TEXT PRIMARY KEY, n INT")
    db.execute("INSERT INTO t VALUES ('a', 5)")
    assert rows(db, "SELECT counter_track('t')") == [(1,)]
    assert rows(db, "SELECT * FROM t_counters") == [("a", 5)]


@pytest.mark.parametrize("column, what", [("n INT AS (1)", "is generated"), ("n TEXT", "holds TEXT by its type TEXT")])
def test_a_rebuild_that_makes_something_else_of_a_column_is_refused(tmp_path, column, what):
    db = connect(tmp_path / "main.db")
    db.execute("CREATE TABLE t(k TEXT PRIMARY KEY, n INT)")
    rows(db, "SELECT counter_track('t', 'n')")
    db.execute("DROP TABLE t")
    db.execute(f"CREATE TABLE t(k TEXT PRIMARY KEY, {column})")
    with pytest.raises(sqlite3.Error, match=f"t: column n {what}"):
        rows(db, "SELECT counter_track('t')")


def test_a_thread_of_comments_that_was_deleted_elsewhere_goes_from_its_end(tmp_path):
    db = two_files(tmp_path, "CREATE TABLE t(k INTEGER PRIMARY KEY, n INT, parent INT REFERENCES t(k))",
                   "INSERT INTO t(k, n, parent) WITH RECURSIVE c(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM c WHERE i < 1500)"
                   " SELECT i, 1, nullif(i - 1, 0) FROM c", "SELECT counter_track('t', 'n', 'keys=assigned')")
    db.execute("PRAGMA foreign_keys = ON")
    db.execute("DELETE FROM two.t")
    rows(db, "SELECT * FROM counter_pull('two')")
    assert rows(db, "SELECT count(*) FROM t") == [(0,)]
    assert apart(db) == []


@pytest.mark.parametrize("trigger", ["DELETE FROM t WHERE k = NEW.k; INSERT INTO t VALUES (NEW.k, NEW.n, 1)",
                                     "REPLACE INTO t VALUES (NEW.k, NEW.n, coalesce(NEW.seen, 0) + 1)"])
def test_a_row_that_a_trigger_writes_anew_while_it_is_shown_is_alive_in_both_files(tmp_path, trigger):
    db = two_files(tmp_path, "CREATE TABLE t(k TEXT PRIMARY KEY, n INT, seen INT)", "INSERT INTO t VALUES ('a', 5, 0)",
                   "SELECT counter_track('t', 'n')")
    db.execute("PRAGMA recursive_triggers = ON")
    db.execute(f"CREATE TRIGGER main.app AFTER UPDATE OF n ON t BEGIN {trigger}; END")
    db.execute("UPDATE two.t SET n = n + 1")
    exchange(db)
    assert rows(db, "SELECT n FROM main.t") == rows(db, "SELECT n FROM two.t") == [(6,)]
    assert rows(db, "SELECT n FROM main.t_counters") == [(6,)]


@pytest.mark.parametrize("taken_back", [
    ["BEGIN", "UPDATE t SET c = c + 1", "ROLLBACK"], ["SAVEPOINT s", "UPDATE t SET c = c + 1", "ROLLBACK TO s", "RELEASE s"],
    ["INSERT INTO t VALUES ('y', 1, 2), ('z', 1, 1)"]])
def test_names_are_noted_again_when_a_rollback_has_taken_the_note_back(tmp_path, taken_back):
    db = connect(tmp_path / "main.db")
    db.execute("CREATE TABLE t(k TEXT PRIMARY KEY, a INT, u INT UNIQUE)")
    db.execute("INSERT INTO t VALUES ('x', 1, 1)")
    rows(db, "SELECT counter_track('t', 'a')")
    db.execute("ALTER TABLE t RENAME COLUMN a TO c")
    for sql in taken_back:
        try:
            db.execute(sql)
        except sqlite3.IntegrityError:
            pass
    db.execute("UPDATE t SET c = c + 1")
    rebuild(db, "k TEXT PRIMARY KEY, c INT, u INT UNIQUE")
    db.execute("UPDATE t SET c = c + 1")
    assert rows(db, "SELECT counter_track('t')") == [(1,)]
    assert rows(db, "SELECT a FROM t_counters") == [(3,)]


def test_a_table_of_the_application_may_have_a_name_like_ours(tmp_path):
    db = two_files(tmp_path, "CREATE TABLE counter_log(id INTEGER PRIMARY KEY, twice AS (id * 2))",
                   "CREATE VIRTUAL TABLE t USING counter(k TEXT PRIMARY KEY, n COUNTER)")
    for schema in ("main", "two"):
        db.execute(f"INSERT INTO {schema}.t VALUES ('a', 1)")
    exchange(db)
    rows(db, "SELECT * FROM counter_sync(?)", str(tmp_path / "two.db"))
    assert rows(db, "SELECT * FROM main.t") == rows(db, "SELECT * FROM two.t") == [("a", 2)]
    assert rows(db, "SELECT * FROM counter_tracked") == []


@pytest.mark.parametrize("sql, what, shown", [
    ("UPDATE p SET n = 100 WHERE k = 'x'", "changed", [("x", 110), ("y", 12)]),
    ("DELETE FROM p WHERE k = 'x'", "deleted", [("y", 12)])])
def test_a_row_that_was_written_while_the_triggers_were_away_is_counted_by_tracking_again(tmp_path, sql, what, shown):
    one, two = connect(tmp_path / "one.db"), connect(tmp_path / "two.db")
    for db in one, two:
        db.execute("CREATE TABLE p(k TEXT PRIMARY KEY, n INTEGER NOT NULL DEFAULT 0)")
        db.execute("SELECT counter_track('p', 'n')").fetchall()
    one.execute("INSERT INTO p VALUES ('x', 1), ('y', 2)")
    pull = f"SELECT rows_read FROM counter_pull('{tmp_path}/one.db')"
    assert two.execute(pull).fetchall() == [(2,)]
    triggers = two.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
    for name, _ in triggers:
        two.execute(f'DROP TRIGGER "{name}"')
    two.execute(sql)
    for _, again in triggers:
        two.execute(again)
    one.execute("UPDATE p SET n = n + 10")
    before = two.execute("SELECT * FROM p").fetchall()
    with pytest.raises(sqlite3.Error, match=rf"the row \('x'\) of the tracked table p was {what} while its triggers did not run"):
        two.execute(pull).fetchall()
    assert two.execute("SELECT * FROM p").fetchall() == before
    if what == "deleted":
        with pytest.raises(sqlite3.Error, match=r"1 of its rows is missing, \('x'\)"):
            two.execute("SELECT counter_track('p')")
    assert two.execute("SELECT counter_track('p', 'missing=deleted')").fetchall() == [(1,)]
    two.execute(pull).fetchall()
    assert two.execute("SELECT * FROM p").fetchall() == two.execute("SELECT * FROM p_counters").fetchall() == shown


ROWIDS = {
    "in the same order": lambda draw, n: range(1, n + 1),
    "with gaps": lambda draw, n: sorted(draw.sample(range(1, 3 * n), n)),
    "in any order": lambda draw, n: draw.sample(range(-n, 9 * n), n),
    "at the ends": lambda draw, n: [(1 << 63) - 1 - i if i % 2 else -(1 << 63) + i for i in range(n)],
}


@pytest.mark.parametrize("table", [
    "k TEXT PRIMARY KEY, n INTEGER", "k TEXT PRIMARY KEY, n INTEGER, rowid TEXT",
    "k TEXT PRIMARY KEY, n INTEGER, rowid INTEGER DEFAULT 7, oid TEXT",
])
@pytest.mark.parametrize("rowids", sorted(ROWIDS))
def test_merged_values_are_shown_whatever_the_rowids(tmp_path, rowids, table):
    n, draw = 40, random.Random(f"{SEED} {rowids}{table}")
    one, two = connect(tmp_path / "one.db"), connect(tmp_path / "two.db")
    for db in (one, two):
        db.execute("BEGIN")
        db.execute(f"CREATE TABLE t({table})")
        db.executemany("INSERT INTO t(k, n, _rowid_) VALUES (?, 0, ?)",
                       zip(draw.sample([f"k{i}" for i in range(n)], n), ROWIDS[rowids](draw, n)))
        db.execute("SELECT counter_track('t', 'n')")
        db.execute("COMMIT")
    sums = dict.fromkeys([f"k{i}" for i in range(n)], 0)
    for turn in range(4):
        for db in (one, two):
            db.execute("BEGIN")
            for key in draw.sample(sorted(sums), n // 2):
                amount = draw.randint(-3, 9)
                assert db.execute("UPDATE t SET n = n + ? WHERE k = ?", (amount, key)).rowcount == 1
                sums[key] += amount
            db.execute("COMMIT")
        if turn == 1:  # the row comes back under another rowid
            one.execute("DELETE FROM t WHERE k = 'k7'")
            two.execute("DELETE FROM t WHERE k = 'k7'")
            pull(one, tmp_path)
            one.execute("INSERT INTO t(k, n) VALUES ('k7', 5)")
            sums["k7"] = 5
        pull(two, tmp_path, "one.db")
        pull(one, tmp_path)
        assert dict(rows(one, "SELECT k, n FROM t")) == dict(rows(two, "SELECT k, n FROM t")) == sums
        assert not apart(one) and not apart(two)
        assert dict(rows(one, "SELECT k, n FROM t_counters")) == sums


def test_values_that_make_room_for_each_other_in_a_unique_index_are_all_shown(tmp_path):
    """In whichever order the rows are stored; values that are exchanged are listed, for each waits for the other."""
    draw = random.Random(SEED)
    one = connect(tmp_path / "one.db")
    one.execute("CREATE TABLE t(k INTEGER PRIMARY KEY, n INTEGER, m INTEGER)")
    one.executemany("INSERT INTO t VALUES (?, ?, ?)", zip(draw.sample(range(99), 40), range(40), range(40)))
    one.execute("SELECT counter_track('t', 'n', 'm', 'keys=assigned')")
    one.execute("VACUUM INTO ?", (str(tmp_path / "two.db"),))
    two = connect(tmp_path / "two.db")
    two.executescript("CREATE UNIQUE INDEX by_n ON t(n); CREATE UNIQUE INDEX by_m ON t(m); SELECT counter_track('t')")
    for step in ("n = n + 1, m = m + 1", "n = n - 3", "m = m + 2", "n = n + (n % 2) * 100",
                 "n = CASE WHEN n > 20 THEN NULL ELSE n + 5 END, m = 7 * m % 41 + 1000"):
        one.execute(f"UPDATE t SET {step}")
        pull(two, tmp_path, "one.db")
        assert rows(two, "SELECT * FROM t") == rows(one, "SELECT * FROM t"), step
        assert not apart(two)
    first, second = (key for key, in rows(one, "SELECT k FROM t LIMIT 2"))
    one.execute("UPDATE t SET m = (SELECT sum(m) FROM t WHERE k IN (?1, ?2)) - m WHERE k IN (?1, ?2)", (first, second))
    pull(two, tmp_path, "one.db")
    assert {(state, key) for state, key, _, _ in apart(two)} == {("differs", f"({first})"), ("differs", f"({second})")}
    two.execute("UPDATE t SET m = m + 5000 WHERE k = ?", (first,))
    pull(two, tmp_path, "one.db")
    one.execute("UPDATE t SET m = m + 5000 WHERE k = ?", (first,))
    assert not apart(two)


@pytest.mark.parametrize("recursive", [False, True])
@pytest.mark.parametrize("key", ["TEXT", "INTEGER"])
def test_a_trigger_that_replaces_the_row_that_is_shown_does_not_come_back_for_ever(tmp_path, key, recursive):
    one, two = pair(tmp_path, f"CREATE TABLE t(k {key} PRIMARY KEY, n INTEGER, m INTEGER); INSERT INTO t VALUES (1, 1, 1)",
                    ("t", "n", "m", "keys=assigned"))
    one.executescript(f"PRAGMA recursive_triggers = {recursive:d};"
                      "CREATE TRIGGER a BEFORE UPDATE OF n ON t BEGIN UPDATE t SET m = coalesce(m, 0) + 1 WHERE k = NEW.k; END;"
                      "CREATE TRIGGER b AFTER UPDATE OF n ON t BEGIN REPLACE INTO t VALUES (NEW.k, NEW.n, NEW.m); END")
    two.execute("INSERT INTO t_counters(t_counters, k, n) VALUES ('reset', 1, 5)")
    pull(one, tmp_path)
    assert rows(one, "SELECT n FROM t") == rows(one, "SELECT n FROM t_counters") == [(5,)]


@pytest.mark.parametrize("temp", ["", "TEMP"])
def test_a_command_of_a_trigger_that_fires_it_again_ends_in_an_error(tmp_path, temp):
    one, two = pair(tmp_path, "CREATE TABLE t(k TEXT PRIMARY KEY, n INTEGER NOT NULL); INSERT INTO t VALUES ('b', 1)", ("t", "n"))
    two.execute("UPDATE t SET n = 5")
    one.execute(f"CREATE {temp} TRIGGER a AFTER UPDATE OF n ON t BEGIN"
                " INSERT INTO t_counters(t_counters, k, n) VALUES ('reset', NEW.k, NEW.n + 1); END")
    before = rows(one, "SELECT * FROM t")
    with pytest.raises(sqlite3.Error, match="the triggers of the tracked table t come back to it more than 20 times"):
        pull(one, tmp_path)
    assert rows(one, "SELECT * FROM t") == rows(one, "SELECT * FROM t_counters") == before


@pytest.mark.parametrize("rowids", ["", "WITHOUT ROWID"])
@pytest.mark.parametrize("trigger, left", [
    ("BEFORE UPDATE OF n ON t BEGIN DELETE FROM t WHERE k = NEW.k", []),
    ("BEFORE UPDATE OF n ON t BEGIN UPDATE t SET k = k || 'x' WHERE k = NEW.k", ["ax"]),
    ("AFTER UPDATE OF n ON t BEGIN DELETE FROM t WHERE k = NEW.k", []),
    ("AFTER UPDATE OF n ON t BEGIN UPDATE t SET k = k || 'x' WHERE k = NEW.k", ["ax"]),
])
def test_a_row_that_a_trigger_takes_away_while_it_is_shown_is_counted_as_taken_away(tmp_path, rowids, trigger, left):
    one, two = pair(tmp_path, f"CREATE TABLE t(k TEXT PRIMARY KEY, n INTEGER) {rowids}; INSERT INTO t VALUES ('a', 1)", ("t", "n"))
    one.execute(f"CREATE TRIGGER a {trigger}; END")
    two.execute("UPDATE t SET n = 5")
    pull(one, tmp_path)
    assert [key for key, _ in rows(one, "SELECT * FROM t")] == [key for key, _ in rows(one, "SELECT * FROM t_counters")] == left
    pull(two, tmp_path, "one.db")
    assert rows(two, "SELECT * FROM t") == rows(one, "SELECT * FROM t_counters")
    listed = [row_key for _, row_key, _, _ in apart(one)]
    assert all(row_key == f"('{key}')" for row_key in listed for key in left), listed


def test_a_value_that_replaces_that_of_a_trigger_is_not_listed(tmp_path):
    one, _ = pair(tmp_path, "CREATE TABLE t(k TEXT PRIMARY KEY, n INTEGER, m INTEGER); INSERT INTO t VALUES ('a', 1, 1)",
                  ("t", "n", "m"))
    one.execute("CREATE TRIGGER a BEFORE UPDATE OF n ON t BEGIN UPDATE t SET m = m + 1 WHERE k = NEW.k; END")
    one.execute("INSERT INTO t_counters(t_counters, k, n, m) VALUES ('reset', 'a', 5, 6)")
    assert rows(one, "SELECT * FROM t") == rows(one, "SELECT * FROM t_counters") == [("a", 5, 6)]
    assert apart(one) == []


def test_a_row_that_its_own_trigger_deletes_before_a_command_does_is_not_listed(tmp_path):
    one, _ = pair(tmp_path, "CREATE TABLE t(k TEXT PRIMARY KEY, n INTEGER); INSERT INTO t VALUES ('a', 1)", ("t", "n"))
    one.execute("CREATE TRIGGER a BEFORE DELETE ON t BEGIN DELETE FROM t WHERE k = OLD.k; END")
    one.execute("INSERT INTO t_counters(t_counters, k) VALUES ('delete n', 'a')")
    assert rows(one, "SELECT * FROM t") == apart(one) == []


def test_what_two_triggers_make_of_another_row_while_one_is_shown_is_listed(tmp_path):
    one, _ = pair(tmp_path, "CREATE TABLE t(k TEXT PRIMARY KEY, n INTEGER, m INTEGER); INSERT INTO t VALUES ('a', 1, 1)",
                  ("t", "n", "m"))
    one.executescript("CREATE TRIGGER a AFTER INSERT ON t BEGIN UPDATE t SET n = n + 1 WHERE k <> NEW.k; END;"
                      "CREATE TRIGGER b AFTER UPDATE OF n ON t BEGIN UPDATE t SET m = m + 1 WHERE k = NEW.k; END")
    one.execute("INSERT INTO t_counters(t_counters, k, n) VALUES ('reset', 'b', 5)")
    assert rows(one, "SELECT n, m FROM t WHERE k = 'a'") == [(2, 2)]
    assert apart(one) == [("differs", "('a')", 2, 1), ("differs", "('a')", 2, 1)]


def test_a_trigger_may_write_a_part_of_a_row_that_the_same_pull_shows_later(tmp_path):
    one, two = pair(tmp_path, "CREATE TABLE t(k TEXT PRIMARY KEY, n INTEGER, m INTEGER);"
                              "INSERT INTO t VALUES ('a', 1, 1), ('b', 1, 1)", ("t", "n", "m"))
    one.execute("CREATE TRIGGER a AFTER UPDATE OF n ON t WHEN NEW.k = 'a' BEGIN UPDATE t SET m = 12 WHERE k = 'b'; END")
    two.executescript("UPDATE t SET n = 5 WHERE k = 'a'; UPDATE t SET n = -4, m = 12 WHERE k = 'b'")
    pull(one, tmp_path)
    assert rows(one, "SELECT * FROM t") == rows(one, "SELECT * FROM t_counters") == [("a", 5, 1), ("b", -4, 12)]
    assert apart(one) == []


@pytest.mark.parametrize("temp", ["", "TEMP"])
def test_a_row_that_a_newer_trigger_inserts_again_while_it_is_shown_keeps_its_counters(tmp_path, temp):
    one, two = pair(tmp_path, "CREATE TABLE t(k TEXT PRIMARY KEY, n INTEGER);"
                              "CREATE TRIGGER a AFTER UPDATE OF n ON t BEGIN DELETE FROM t WHERE k = NEW.k; END;"
                              "INSERT INTO t VALUES ('a', 1)", ("t", "n"))
    one.execute(f"CREATE {temp} TRIGGER b AFTER DELETE ON t BEGIN INSERT INTO t VALUES (OLD.k, OLD.n); END")
    two.execute("INSERT INTO t_counters(t_counters, k, n) VALUES ('reset', 'a', 5)")
    assert rows(two, "SELECT * FROM t") == []
    two.execute("INSERT INTO t VALUES ('a', 6)")
    pull(one, tmp_path)
    assert rows(one, "SELECT * FROM t") == rows(one, "SELECT * FROM t_counters") == [("a", 6)]
    assert apart(one) == []


def test_a_row_that_a_trigger_inserts_again_and_changes_back_while_it_is_shown_is_listed(tmp_path):
    """It shows what the merge wanted, but its counters have begun a new life with what was inserted."""
    one, two = pair(tmp_path, "CREATE TABLE t(k TEXT PRIMARY KEY, n INTEGER, m INTEGER); INSERT INTO t VALUES ('a', 1, NULL)",
                    ("t", "n", "m"))
    one.execute("CREATE TRIGGER a AFTER UPDATE OF n ON t BEGIN DELETE FROM t WHERE k = NEW.k;"
                " INSERT INTO t VALUES (NEW.k, NEW.n, 4); UPDATE t SET m = NULL; END")
    for _ in range(2):
        two.execute("UPDATE t SET n = n + 1")
        pull(one, tmp_path)
        assert rows(one, "SELECT * FROM t") == [("a", 2, None)]
        assert apart(one) == [("differs", "('a')", None, 4)]


def test_a_real_number_that_is_whole_is_the_value_that_a_row_shows(tmp_path):
    one, two = pair(tmp_path, "CREATE TABLE t(k TEXT PRIMARY KEY, n CHECK (n < 9)); INSERT INTO t VALUES ('a', 5.0)", ("t", "n"))
    two.execute("UPDATE t SET n = 8")
    one.execute("UPDATE t SET n = n + 1.0")
    pull(one, tmp_path)
    assert rows(one, "SELECT n, typeof(n) FROM t") == [(6.0, "real")]
    assert apart(one) == [("differs", "('a')", 6, 9)]
    two.execute("UPDATE t SET n = 7")
    pull(one, tmp_path)
    assert rows(one, "SELECT n FROM t") == [(8,)] and apart(one) == []


def test_a_pull_ends_though_a_trigger_gives_each_row_that_is_shown_another_key(tmp_path):
    """Each time a row is listed under a new key, behind those that were listed before."""
    one, two = pair(tmp_path, "CREATE TABLE t(k TEXT PRIMARY KEY, n INTEGER, m INTEGER); INSERT INTO t VALUES ('a', 5, 1)",
                    ("t", "n", "m"))
    one.executescript("CREATE TRIGGER a AFTER INSERT ON t BEGIN UPDATE t SET m = m + 1 WHERE k <> NEW.k; END;"
                      "CREATE TRIGGER b AFTER UPDATE OF n ON t BEGIN"
                      " UPDATE t SET k = k || 'x' WHERE k = NEW.k; UPDATE t SET m = m + 1 WHERE k = NEW.k || 'x'; END")
    two.executescript("INSERT INTO t VALUES ('b', 1, 1); UPDATE t SET n = 6")
    calls = []
    one.set_progress_handler(lambda: calls.append(1) or len(calls) > 1000, 1000)
    pull(one, tmp_path)
    one.set_progress_handler(None, 0)
    assert rows(one, "SELECT k, n FROM t ORDER BY k") == rows(one, "SELECT k, n FROM t_counters ORDER BY k")
