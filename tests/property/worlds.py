"""worlds.py - for test_merge_worlds.py: random files that came from one.

A world is a BASE, and two or more branches of it, plain SQLite files with tables of any kind. Each
row with a number carries a mark, which no statement changes and no constraint has: worldly.py knows
rows by it.
"""

import collections
import sqlite3

from randomly import Values

NAMES = ["t", "note", "moves", "my table", 'q"t', "it's", "rowid", "a#b", "x@o", "~t~", "{T}", "conflict", "d0", "select", "[b]", "ä", "T|", "main"]
COLUMNS = ["v", "w", "n", "op", "how", "was", "act", "rid", "t1", "o0", "b2", "r1", "rowid", "oid", "_rowid_", "x y", 'q"c', "#", "@o", "~", "{C, |o#}",
           "becomes", "refused", "order", "it's", "é", "note", "v|"]
TYPES = ["", "TEXT", "INTEGER", "BLOB", "NUMERIC", "REAL", "INT", "ANY", "TEXT COLLATE NOCASE", "DECIMAL(9,2)", "VARCHAR(9)"]
STRICT = ["TEXT", "INTEGER", "BLOB", "REAL", "INT", "ANY", "TEXT COLLATE NOCASE"]
VALUES = [None, 0, 1, 2, "a", "A", 1.0, "b", -1, "o'x", "a\0b", b"\0\1", b"", "", "1", 2**40, 0.5, -0.0, 2**63 - 1, "ä", 9e999, "\x1b\"\\"]
KEYS = ["a", "A", "b", "c", "d", 1, 1.0, b"a", "o'x", "a\0b", "a\0c", "", "ä"]


def quoted(name):
    return '"' + name.replace('"', '""') + '"'


def canonical(value):
    """A value that equals another if type and bytes do."""
    return type(value).__name__, value if value != 0 else abs(value) if isinstance(value, float) else value


class Draw:
    """Choices of which the lowest are the simplest."""

    def __init__(self, source):
        self.choose = source.choose

    def pick(self, several):
        return several[self.choose(len(several))]

    def rarely(self, n):
        """Once in n."""
        return self.choose(n) == n - 1


# ---- declarations --------------------------------------------------------------------------------

class Column:
    """One column for ever, whatever files call it. `to`: the table whose numbers it holds. `role`:
    id, mark, key, or value."""

    def __init__(self, name, declared, role="value", to=None, is_declared=True, adds=False, generated=False, default=None):
        self.name, self.declared, self.role, self.to, self.is_declared = name, declared, role, to, is_declared
        self.adds, self.generated, self.default = adds, generated, default

    def __repr__(self):
        return self.name


class Table:
    """kind: number, key, none, one (1:1 with `to` of its id)."""

    def __init__(self, name, kind):
        self.name, self.kind, self.columns, self.uniques, self.further = name, kind, [], [], []
        self.without_rowid = self.is_strict = self.autoincrement = False
        self.key_foreign = None  # (columns, parent, its columns): by values
        self.has_trigger = False

    def of(self, role):
        return [c for c in self.columns if c.role == role]

    def declaration(self):
        parts = [f"{quoted(c.name)} {c.declared}".rstrip() for c in self.columns]
        ends = [word for word, is_so in (("WITHOUT ROWID", self.without_rowid), ("STRICT", self.is_strict)) if is_so]
        return f"CREATE TABLE {quoted(self.name)}({', '.join(parts + self.further)}) {', '.join(ends)}".rstrip()


class Made:
    """A world as it is drawn: SQL of all branches, executed in memory."""

    def __init__(self, source, branches=("ours", "theirs"), plain=False, adds=True):
        self.draw, self.source, self.plain = Draw(source), source, plain
        self.tables, self.names, self.scripts, self.marks = [], set(), collections.defaultdict(list), 0
        self.schemas = {}  # branch -> {Column: name in it}
        self.changed = collections.defaultdict(list)  # (branch, table) -> changes of the declaration
        self.dropped, self.indexed = collections.defaultdict(set), collections.defaultdict(set)
        self.most = {}  # (branch, table) -> greatest number that it has given
        self.files = {"base": sqlite3.connect(":memory:", isolation_level=None)}
        self.enforces = not self.draw.rarely(6)
        self.encoding = self.draw.pick(["UTF-8", "UTF-8", "UTF-8", "UTF-16le", "UTF-16be"])
        self.do("base", f"PRAGMA encoding = '{self.encoding}'")
        self.do("base", f"PRAGMA foreign_keys = {int(self.enforces)}")
        for _ in source.elements(1, 5, lambda chance: chance.randrange(1, 5)):
            self.add_table("base")
        self.schemas["base"] = {c: c.name for t in self.tables for c in t.columns}
        for _ in source.elements(0, 14, lambda chance: chance.randrange(15)):
            self.change("base", fill=True)
        for c in self.schemas["base"]:
            c.adds &= adds
        for branch in branches:
            self.fork("base", branch)
        for _ in source.elements(0, 0 if plain else 3, lambda chance: chance.choice([0, 0, 0, 1, 2])):
            self.common(branches)
        for branch in branches:
            self.work(branch)

    def fork(self, branch, to):
        self.files[to] = sqlite3.connect(":memory:", isolation_level=None)
        self.files[branch].backup(self.files[to])
        self.files[to].execute(f"PRAGMA foreign_keys = {int(self.enforces)}")
        self.schemas[to] = dict(self.schemas[branch])
        for (name, t), n in list(self.most.items()):
            if name == branch:
                self.most[to, t] = n
        self.scripts[to].append(f"-- {to}: a copy of {branch}")

    def take_in(self, branch, path, names, ours):
        """A file that a merge has made is a branch."""
        self.files[branch] = sqlite3.connect(":memory:", isolation_level=None)
        db = sqlite3.connect(path)
        db.backup(self.files[branch])
        db.close()
        self.files[branch].execute(f"PRAGMA foreign_keys = {int(self.enforces)}")
        self.schemas[branch] = dict(names)
        for t in self.tables:
            if t.kind == "number" and t.columns[0] in names:
                most, = self.files[branch].execute(f"SELECT coalesce(max({quoted(names[t.columns[0]])}), 0) FROM {quoted(t.name)}").fetchone()
                self.most[branch, t.name] = max(most, self.most.get((ours, t.name), 0))
        self.scripts[branch].append(f"-- {branch}: merged")

    def work(self, branch, schema=True):
        for _ in self.source.elements(0, 12, lambda chance: chance.randrange(13)):
            if schema and not self.plain and self.draw.rarely(14):
                self.migrate(branch)
            else:
                self.change(branch)

    def do(self, branch, sql, values=()):
        """False if SQLite refuses it."""
        try:
            self.files[branch].execute(sql, values)
        except (sqlite3.IntegrityError, sqlite3.OperationalError, OverflowError):
            return False
        self.scripts[branch].append((sql, tuple(values)) if values else sql)
        return True

    def name(self, several, taken):
        free = [name for name in several if name.lower() not in taken]
        name = self.draw.pick(free)
        taken.add(name.lower())
        return name

    # ---- tables ----

    def add_table(self, branch):
        draw = self.draw
        numbers = [t for t in self.tables if t.kind == "number" and (branch == "base" or t.columns[0] in self.schemas[branch])]
        kind = draw.pick(["number", "number", "key", "none"] + (["number", "pair", "one", "other"] if numbers else []) + (["compound"]))
        t = Table(self.name(NAMES, self.names), {"pair": "key", "compound": "key", "other": "key"}.get(kind, kind))
        taken = {"id", "mark"}
        t.is_strict = draw.rarely(6)
        if kind == "number":
            t.autoincrement = draw.rarely(3)
            t.columns.append(Column("id", "INTEGER PRIMARY KEY" + " AUTOINCREMENT" * t.autoincrement, "id"))
            t.columns.append(Column("mark", "TEXT", "mark"))
        elif kind == "one":
            parent = draw.pick(numbers)
            t.columns.append(Column("id", f"INTEGER PRIMARY KEY REFERENCES {quoted(parent.name)}", "key", parent))
        elif kind == "pair":
            for name in "left", "right":
                parent = draw.pick(numbers)
                t.columns.append(Column(name, f"INTEGER NOT NULL REFERENCES {quoted(parent.name)}", "key", parent))
                taken.add(name)
            t.further.append('PRIMARY KEY ("left", "right")')
            t.without_rowid = draw.rarely(2)
        elif kind in ("key", "compound", "other"):
            names = [self.name(["k", "k y", "key", "l"], taken) for _ in range(2 if kind == "compound" else 1)]
            for name in names:
                types = ["TEXT", "TEXT COLLATE NOCASE"] + (["BLOB", "", "INT", "NUMERIC", "VARCHAR(5)"] if not t.is_strict else ["ANY", "BLOB"])
                t.columns.append(Column(name, draw.pick(types) + " NOT NULL", "key"))
            if kind == "other":
                parent = draw.pick(numbers)
                t.columns.append(Column("par", f"INTEGER NOT NULL REFERENCES {quoted(parent.name)}", "key", parent))
                names.append("par")
                taken.add("par")
            words = "UNIQUE" if draw.rarely(4) else "PRIMARY KEY"
            t.further.append(f"{words} ({', '.join(map(quoted, names))})" + (" ON CONFLICT REPLACE" if draw.rarely(6) else ""))
            t.without_rowid = words == "PRIMARY KEY" and draw.rarely(3)
        self.add_values(t, taken, numbers)
        self.add_key_foreign(t, taken)
        if not self.do(branch, t.declaration()):
            raise AssertionError(t.declaration())
        self.tables.append(t)
        if branch != "base":
            for c in t.columns:
                self.schemas[branch][c] = c.name
        if draw.rarely(5) and t.kind != "none":
            self.add_trigger(branch, t)

    def add_values(self, t, taken, numbers):
        draw = self.draw
        if numbers or t.kind == "number":
            for _ in self.source.elements(0, 2, lambda chance: chance.randrange(3)):
                parent = t if t.kind == "number" and (draw.rarely(3) or not numbers) else draw.pick(numbers)
                name = self.name(["ref", "up", "to", "x_id", "zz", "from"], taken)
                how = draw.pick(["declared", "declared", "declared", "said", "denied"])
                words = "INTEGER" + (" NOT NULL" if draw.rarely(5) and parent is not t else "")
                words += f" REFERENCES {quoted(parent.name)}" if how == "declared" else ""
                words += draw.pick(["", "", " ON DELETE CASCADE", " ON DELETE SET NULL"]) if how == "declared" else ""
                t.columns.append(Column(name, words, "value", parent if how != "denied" else None, how == "declared"))
                t.columns[-1].how = how
                t.columns[-1].meant = parent
        for _ in self.source.elements(0, 3, lambda chance: chance.randrange(4)):
            kind = draw.pick(["value", "value", "add", "generated", "check"])
            name = self.name(COLUMNS, taken)
            if kind == "generated" and t.columns:
                t.columns.append(Column(name, f"{'INT ' if t.is_strict else ''}AS (length({quoted(t.columns[-1].name)})) {draw.pick(['VIRTUAL', 'STORED'])}", generated=True))
            elif kind == "add":
                declared = "INTEGER" + draw.pick(["", " NOT NULL DEFAULT 0", " CHECK (%s < 50)" % quoted(name)])
                t.columns.append(Column(name, declared, adds=not draw.rarely(4) and t.kind != "none", default=0 if "DEFAULT" in declared else None))
                t.columns[-1].is_integer = True
            else:
                words = draw.pick(STRICT if t.is_strict else TYPES)
                words += f" CHECK ({quoted(name)} IS NOT 'b')" if kind == "check" else ""
                t.columns.append(Column(name, words))
        if t.kind == "none" and not [c for c in t.columns if not c.generated]:
            t.columns.append(Column(self.name(COLUMNS, taken), draw.pick(STRICT if t.is_strict else TYPES)))
        if t.kind != "none" and draw.rarely(3):
            some = [c for c in t.columns if c.role == "value" and not c.generated and not c.adds]
            unique = [draw.pick(some)] if some else []
            more = [c for c in some if c not in unique]
            if more and draw.rarely(2):
                unique.append(draw.pick(more))
            if unique:
                t.uniques.append(unique)
                t.further.append(f"UNIQUE ({', '.join(quoted(c.name) for c in unique)})")

    def add_key_foreign(self, t, taken):
        """References by the values of a key."""
        parents = [p for p in self.tables if p.kind == "key" and p.name != "totals" and not any(c.to for c in p.of("key"))]
        if not parents or not self.draw.rarely(3):
            return
        parent = self.draw.pick(parents)
        mine = []
        for c in parent.of("key"):
            mine.append(Column(self.name(["p", "p2", "p3", "p 4"], taken), c.declared.replace(" NOT NULL", "")))
            if t.is_strict and mine[-1].declared not in STRICT:
                mine[-1].declared = "ANY"
            t.columns.append(mine[-1])
        names = lambda several: ", ".join(quoted(c.name) for c in several)
        t.key_foreign = mine, parent, parent.of("key")
        t.further.append(f"FOREIGN KEY ({names(mine)}) REFERENCES {quoted(parent.name)}({names(parent.of('key'))})" + self.draw.pick(["", " ON UPDATE CASCADE", " ON DELETE CASCADE"]))

    def add_trigger(self, branch, t):
        if "totals" not in self.names:
            totals = Table("totals", "key")
            totals.columns = [Column("what", "TEXT PRIMARY KEY NOT NULL", "key"), Column("many", "INTEGER", adds=True)]
            totals.columns[1].is_integer = True
            self.names.add("totals")
            self.do(branch, totals.declaration())
            self.tables.append(totals)
            if branch != "base":
                for c in totals.columns:
                    self.schemas[branch][c] = c.name
        if not self.files[branch].execute("SELECT 1 FROM sqlite_master WHERE name = 'totals'").fetchone():
            return
        name = t.name.replace("'", "''")
        self.do(branch, f"INSERT INTO totals VALUES ('{name}', 0)")
        for when, by in ("INSERT", "+ 1"), ("DELETE", "- 1"), ("UPDATE", "+ 100"):
            self.do(branch, f"CREATE TRIGGER {quoted(f'{when} of {t.name}')} AFTER {when} ON {quoted(t.name)} BEGIN UPDATE totals SET many = many {by} WHERE what = '{name}'; END")

    # ---- rows ----

    def columns_in(self, branch, t):
        return [c for c in t.columns if c in self.schemas[branch]]

    def there(self, branch):
        return [t for t in self.tables if t.columns[0] in self.schemas[branch] and t.name != "totals"]

    def value(self, branch, t, c):
        draw = self.draw
        parent = getattr(c, "meant", None) or c.to
        if parent is not None and parent.columns[0] in self.schemas[branch]:
            found = [row[0] for row in self.files[branch].execute(f"SELECT {quoted(self.schemas[branch][parent.columns[0]])} FROM {quoted(parent.name)} ORDER BY 1 DESC")]
            return draw.pick((found or ["none"]) if c.role == "key" else (found or [None]) + [None])
        if t.key_foreign and c in t.key_foreign[0]:
            other = t.key_foreign[2][t.key_foreign[0].index(c)]
            if t.key_foreign[1].columns[0] not in self.schemas[branch]:
                return None
            found = [row[0] for row in self.files[branch].execute(f"SELECT {quoted(self.schemas[branch][other])} FROM {quoted(t.key_foreign[1].name)} ORDER BY 1 DESC")]
            return draw.pick((found or [None]) + [None])
        if c.role == "key":
            return draw.pick(KEYS)
        if getattr(c, "is_integer", False):
            return draw.pick([0, 1, 5, 10, 40, -3])
        return draw.pick(VALUES)

    def some_row(self, branch, t):
        """A condition that names one row, or None."""
        names = self.schemas[branch]
        if t.without_rowid:
            keys = [quoted(names[c]) for c in t.of("key")]
            found = self.files[branch].execute(f"SELECT {', '.join(keys)} FROM {quoted(t.name)} ORDER BY {', '.join(keys)}").fetchall()
            return (" AND ".join(f"{k} = ?" for k in keys), self.draw.pick(found)) if found else None
        rowid = self.rowid(branch, t)
        if not rowid:
            return None
        found = self.files[branch].execute(f"SELECT {rowid} FROM {quoted(t.name)} ORDER BY 1").fetchall()
        return (f"{rowid} = ?", self.draw.pick(found)) if found else None

    def rowid(self, branch, t):
        taken = {self.schemas[branch][c].lower() for c in self.columns_in(branch, t)}
        return next((name for name in ("rowid", "_rowid_", "oid") if name not in taken), None)

    def insert(self, branch, t, mark=None):
        columns, values = [c for c in self.columns_in(branch, t) if not c.generated], {}
        for c in columns:
            if c.role == "id":
                has, = self.files[branch].execute(f"SELECT coalesce(max({quoted(self.schemas[branch][c])}), 0) FROM {quoted(t.name)}").fetchone()
                values[c] = max(has, self.most.get((branch, t.name), 0)) + (1 if not self.draw.rarely(8) else 1 + self.draw.choose(4))
                self.most[branch, t.name] = values[c]
            elif c.role == "mark":
                self.marks += 1
                values[c] = mark or f"{branch}{self.marks}"
            elif not (c.role == "value" and self.draw.rarely(8)):
                values[c] = self.value(branch, t, c)
        names = ", ".join(quoted(self.schemas[branch][c]) for c in values)
        sql = f"INSERT INTO {quoted(t.name)}({names}) VALUES ({', '.join('?' * len(values))})" if values else f"INSERT INTO {quoted(t.name)} DEFAULT VALUES"
        return (sql, tuple(values.values())) if self.do(branch, sql, tuple(values.values())) else None

    def change(self, branch, fill=False):
        tables = self.there(branch)
        if not tables:
            return
        t = self.draw.pick(tables)
        what = "insert" if fill else self.draw.pick(["update", "insert", "update", "insert", "delete", "again", "exchange"])
        row = None if what == "insert" else self.some_row(branch, t)
        if what == "delete" and branch.startswith("merged") and t.kind == "number" and not t.autoincrement:
            return  # a merge may give its number to another row, which only AUTOINCREMENT prevents
        if what == "insert":
            self.insert(branch, t)
        elif row and what == "delete":
            self.do(branch, f"DELETE FROM {quoted(t.name)} WHERE {row[0]}", row[1])
        elif row and what == "again":
            self.delete_and_insert(branch, t, row)
        elif row and what == "exchange":
            self.exchange(branch, t, row)
        elif row:
            some = [c for c in self.columns_in(branch, t) if not c.generated and c.role in ("value", "key")]
            if t.kind != "none":
                some = [c for c in some if c.role == "value"] or some
            if some:
                c = self.draw.pick(some)
                name = quoted(self.schemas[branch][c])
                if getattr(c, "is_integer", False) and not self.draw.rarely(3):
                    self.do(branch, f"UPDATE {quoted(t.name)} SET {name} = {name} + ? WHERE {row[0]}", (self.draw.pick([1, 2, -3, 7]), *row[1]))
                else:
                    self.do(branch, f"UPDATE {quoted(t.name)} SET {name} = ? WHERE {row[0]}", (self.value(branch, t, c), *row[1]))

    def delete_and_insert(self, branch, t, row):
        """A natural key that is written anew is the same row."""
        if t.kind == "key" and self.do(branch, f"DELETE FROM {quoted(t.name)} WHERE {row[0]}", row[1]):
            self.insert(branch, t)

    def exchange(self, branch, t, row):
        other, db = self.some_row(branch, t), self.files[branch]
        some = [c for c in self.columns_in(branch, t) if c.role == "value" and not c.generated]
        if not some or other == row:
            return
        name, table = quoted(self.schemas[branch][self.draw.pick(some)]), quoted(t.name)
        a, = db.execute(f"SELECT {name} FROM {table} WHERE {row[0]}", row[1]).fetchone()
        b, = db.execute(f"SELECT {name} FROM {table} WHERE {other[0]}", other[1]).fetchone()
        self.do(branch, "BEGIN")
        done = (self.do(branch, f"UPDATE {table} SET {name} = NULL WHERE {row[0]}", row[1])
                and self.do(branch, f"UPDATE {table} SET {name} = ? WHERE {other[0]}", (a, *other[1]))
                and self.do(branch, f"UPDATE {table} SET {name} = ? WHERE {row[0]}", (b, *row[1])))
        self.do(branch, "COMMIT" if done else "ROLLBACK") or self.do(branch, "ROLLBACK")

    def common(self, branches):
        """The same row in all branches, such as an import of the same list."""
        free = [t for t in self.tables if t.name != "totals" and not t.uniques]
        if not free:
            return
        t = self.draw.pick(free)
        self.marks += 1
        made = self.insert(branches[0], t, f"common{self.marks}")
        for other in branches[1:]:
            if made:
                self.do(other, *made)
                self.most[other, t.name] = self.most.get((branches[0], t.name), 0)

    # ---- declarations that change ----

    def migrate(self, branch):
        tables = self.there(branch)
        if not tables:
            return
        t, draw = self.draw.pick(tables), self.draw
        what = draw.pick(["add", "rename", "drop", "index", "view", "new", "table", "rebuild", "unique"])
        names, columns = self.schemas[branch], self.columns_in(branch, t)
        plain = [c for c in columns if c.role == "value" and not c.generated and not c.adds and not c.to and not any(c in u for u in t.uniques)
                 and not (t.key_foreign and c in t.key_foreign[0]) and not getattr(c, "meant", None)]
        taken = {names[c].lower() for c in columns}
        if what == "add":
            name = self.name(["extra", "more", "yet more", f"of {branch}"], taken)
            default = draw.pick([None, "x", 7])
            words = {None: "", "x": "TEXT DEFAULT 'x'", 7: "INTEGER NOT NULL DEFAULT 7"}[default]
            words = words or ("ANY" if t.is_strict else "")
            if self.do(branch, f"ALTER TABLE {quoted(t.name)} ADD COLUMN {quoted(name)} {words}".rstrip()):
                c = next((c for c in t.columns if (c.name, c.declared) == (name, words) and c not in self.schemas["base"]), None)
                if c is None or c in names:  # else the other side has added the same
                    c = Column(name, words, default=default)
                    t.columns.append(c)
                names[c] = name
                self.changed[branch, t.name].append("add " + name)
        elif what == "rename" and plain and "rebuild" not in self.changed[branch, t.name]:  # that may be another column
            c, name = draw.pick(plain), self.name(["renamed", "called", "new name"], taken)
            if self.do(branch, f"ALTER TABLE {quoted(t.name)} RENAME COLUMN {quoted(names[c])} TO {quoted(name)}"):
                names[c] = name
                self.changed[branch, t.name].append("rename")
        elif what == "drop" and "rebuild" not in self.changed[branch, t.name] and plain:
            c = draw.pick(plain)
            if self.do(branch, f"ALTER TABLE {quoted(t.name)} DROP COLUMN {quoted(names[c])}"):
                del names[c]
                self.changed[branch, t.name].append("drop")
        elif what in ("index", "unique") and plain:
            c = draw.pick(plain)
            if self.do(branch, f"CREATE {'UNIQUE ' if what == 'unique' else ''}INDEX {quoted(f'i{branch}{len(self.scripts[branch])}')} ON {quoted(t.name)}({quoted(names[c])})"):
                self.indexed[branch].add(c)
            if what == "unique":
                self.changed[branch, t.name].append("unique")
        elif what == "view":
            self.do(branch, f"CREATE VIEW {quoted(f'v{branch}')} AS SELECT * FROM {quoted(t.name)}")
        elif what == "new":
            self.add_table(branch)
        elif what == "table" and t.kind == "none":
            if self.do(branch, f"DROP TABLE {quoted(t.name)}"):
                for c in columns:
                    del names[c]
                self.dropped[branch].add(t.name)
        elif what == "rebuild" and not self.changed[branch, t.name] and not self.files[branch].in_transaction:
            self.rebuild(branch, t)

    def rebuild(self, branch, t):
        """Makes the table anew with one more constraint, as tools of migrations do."""
        old, = self.files[branch].execute("SELECT sql FROM sqlite_master WHERE type = 'table' AND name = ?", (t.name,)).fetchone()
        new = Table("made anew", t.kind)
        new.columns, new.further = [c for c in self.columns_in(branch, t)], t.further + ["CHECK (1 < 2)"]
        new.without_rowid, new.is_strict = t.without_rowid, t.is_strict
        new.name = t.name
        text = new.declaration().replace(f"CREATE TABLE {quoted(t.name)}(", 'CREATE TABLE "made anew"(', 1)
        more = [sql for sql, in self.files[branch].execute("SELECT sql FROM sqlite_master WHERE type <> 'table' AND tbl_name = ? AND sql IS NOT NULL", (t.name,))]
        columns = ", ".join(quoted(c.name) for c in new.columns if not c.generated)
        rowid = self.rowid(branch, t) if not t.without_rowid and not t.of("id") and t.kind != "one" else None
        columns = f"{rowid}, {columns}" if rowid else columns
        self.do(branch, "PRAGMA foreign_keys = OFF")
        self.do(branch, "PRAGMA legacy_alter_table = ON")
        for sql in text, f'INSERT INTO "made anew"({columns}) SELECT {columns} FROM {quoted(t.name)}', f"DROP TABLE {quoted(t.name)}", f'ALTER TABLE "made anew" RENAME TO {quoted(t.name)}', *more:
            assert self.do(branch, sql), (sql, old)
        self.do(branch, "PRAGMA legacy_alter_table = OFF")
        self.do(branch, f"PRAGMA foreign_keys = {int(self.enforces)}")
        self.changed[branch, t.name].append("rebuild")

    # ---- files ----

    def write(self, branch, path):
        to = sqlite3.connect(path, isolation_level=None)
        self.files[branch].backup(to)
        to.close()

    def options(self, *branches):
        """What is said of columns that OURS and THEIRS have."""
        said = []
        for t in self.tables:
            for c in t.columns:
                if not all(c in self.schemas[branch] for branch in branches[1:]) or c.to and not all(c.to.columns[0] in self.schemas[branch] for branch in branches[1:]):
                    continue
                if c.adds:
                    said += ["--add", f"{t.name}.{c.name}"]
                if getattr(c, "how", "") == "said":
                    said += ["--ref", f"{t.name}.{c.name}={c.to.name}"]
                if getattr(c, "how", "") == "denied":
                    said += ["--no-ref", f"{t.name}.{c.name}"]
        return said

    def __repr__(self):
        lines = []
        for branch, script in self.scripts.items():
            lines.append(f"\n  {branch}:")
            for one in script:
                lines.append("    " + (one if isinstance(one, str) else literal(*one)) + ";")
        return "\n".join(lines)


def literal(sql, values):
    for value in values:
        if isinstance(value, str):
            text = "'" + value.replace("'", "''") + "'" if "\0" not in value else f"CAST(x'{value.encode().hex()}' AS TEXT)"
        elif isinstance(value, bytes):
            text = f"x'{value.hex()}'"
        else:
            text = "NULL" if value is None else repr(value).replace("inf", "9e999")
        sql = sql.replace("?", text.replace("?", "¿"), 1)
    return sql


worlds = Values(Made)


class Damaged(Made):
    """One of the files is to be cut short, or has some other bytes."""

    def __init__(self, source):
        super().__init__(source)
        self.damaged = self.draw.pick(["theirs", "base", "ours"])
        self.cut = self.draw.choose(1000) if self.draw.rarely(4) else None
        self.bytes = [(self.draw.choose(1000), self.draw.choose(4096), self.draw.choose(256)) for _ in source.elements(1, 8, lambda chance: chance.randrange(1, 9))]

    def damage(self, data):
        if self.cut is not None:
            return data[:len(data) * self.cut // 1000]
        data = bytearray(data)
        for page, at, byte in self.bytes:  # what is used stands at both ends of a page
            begin = page % max(1, len(data) // 4096) * 4096
            at = at % 160 if at % 2 else 4095 - at % 300
            if begin + at < len(data):
                data[begin + at] = byte
        return bytes(data)

    def __repr__(self):
        return f"{super().__repr__()}\n  {self.damaged} cut={self.cut} bytes={self.bytes}"


damaged_worlds = Values(Damaged)
plain_worlds = Values(lambda source: Made(source, plain=True))
worlds_of_three = Values(lambda source: Made(source, ("ours", "theirs", "third"), plain=True))
worlds_without_adds = Values(lambda source: Made(source, plain=True, adds=False))
