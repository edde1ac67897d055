"""test_homes.py - the cells of a tracked table are at the row ids of its rows, wherever these go.

Random worlds: a tracked or replicated table t with a key that is not its row id, triggers of the application that write t, and
statements that move rows, take row ids again and fail. Some worlds also give the table other row ids behind the triggers, by a
dump, a rebuild or VACUUM. An ordinary table without the extension gets the same statements, and must show the same.
"""

import random
import shutil
import sqlite3
import subprocess

import pytest

from conftest import EXAMPLES, SEED
from files import EXTENSION, connect
from test_tracked import rows

KEYS = {"text": "k TEXT PRIMARY KEY", "nocase": "k TEXT COLLATE NOCASE PRIMARY KEY", "number": "k INT PRIMARY KEY",
        "two": "k TEXT NOT NULL, j INT NOT NULL", "any": "k PRIMARY KEY NOT NULL"}
UNIQUE = ["", "", " UNIQUE", " UNIQUE ON CONFLICT REPLACE"]
NAMES = ["rowid", "_rowid_", "oid"]
MAX = 2**63 - 1
# OR REPLACE removes a row at the row id -1 unseen (docs/tracked-columns.md): these are far from it, however they are combined.
ROWIDS = ["-500", "0", "1", "2", "3", "5", "17", str(-2**63), str(MAX), "(SELECT max(@) FROM t)"]
MOVES = ["@ + 1000", "-300 * @"]


class Statements:
    """A table and random statements on it; @ stands for a name of its row id."""

    def __init__(self, draw):
        self.draw, self.kind = draw, draw.choice(sorted(KEYS))
        self.keys = ["k", "j"] if self.kind == "two" else ["k"]
        conflict = draw.choice(["", "", "", " ON CONFLICT REPLACE", " ON CONFLICT IGNORE"])
        columns = [KEYS[self.kind] + ("" if self.kind == "two" else conflict),
                   "n INTEGER" + draw.choice(["", " DEFAULT 0", " NOT NULL DEFAULT 0"]) + draw.choice(["", " CHECK (n < 40)"]),
                   draw.choice(["u TEXT", "u INT"]) + draw.choice(UNIQUE)]
        if self.kind == "two":
            columns.append("PRIMARY KEY (k, j)" + conflict)
        self.table = f"CREATE TABLE t({', '.join(columns)})"
        self.function = draw.choice(["counter_track", "counter_track", "counter_replicate"])
        triggers = [self.trigger(f"app{i}") for i in range(draw.choice([0, 0, 0, 1, 2]))]
        if len(triggers) > 1:  # together they could put another row in the place of the one that is updated
            triggers = [sql for sql in triggers if "BEFORE UPDATE" not in sql]
        self.inserts_before = any("BEFORE" in sql and "INSERT" in sql.split("BEGIN")[1] for sql in triggers)
        tracked = draw.randint(0, len(triggers))
        self.fails = [] if triggers else ["OR FAIL"]  # what it keeps, triggers that have not run yet do not see
        self.earlier = [self.insert() for _ in range(draw.choice([0, 3]))] + triggers[:tracked]
        self.later = triggers[tracked:]

    def key(self):
        draw = self.draw
        first = {"text": "'a' 'b' 'c' 'd' 'e'", "nocase": "'a' 'A' 'b' 'B' 'c' 'd'", "number": "-2 0 1 2 3 4", "two": "'a' 'b' 'c'",
                 "any": "'a' 'b' 1 1.0 2 '1' x'61'"}[self.kind]
        return [draw.choice(first.split())] + [str(draw.randrange(3))] * (self.kind == "two")

    def match(self):
        return " AND ".join(f"{name} = {value}" for name, value in zip(self.keys, self.key()))

    def rows_given(self, columns, given):
        row = [*self.key(), self.draw.choice(["1", "5", "10", "0", "NULL"]), self.draw.choice("12345") if "u" in columns else "", given]
        return f"({', '.join(value for value in row if value)})"

    def insert(self):
        draw, columns = self.draw, self.keys + ["n"] + ["u"] * (self.draw.random() < .6)
        at = draw.random() < .25
        values = [self.rows_given(columns, draw.choice(ROWIDS) if at else "") for _ in range(draw.choice([1, 1, 1, 2, 3]))]
        clause = draw.choice(["", "", "OR REPLACE", "OR REPLACE", "OR IGNORE", *getattr(self, "fails", [])])
        if at and getattr(self, "inserts_before", False):
            clause = ""
        sql = f"INSERT {clause} INTO t({', '.join(columns + ['@'] * at)}) VALUES {', '.join(values)}"
        if not clause and draw.random() < .3:
            on, change = f"({', '.join(self.keys)})", draw.choice(["", f", k = {self.key()[0]}", ", u = excluded.u", ", @ = @ + 1000"])
            sql += f" ON CONFLICT {on} DO UPDATE SET n = coalesce(t.n, 0) + 1{change}"
        return sql

    def update(self):
        draw = self.draw
        to = {"number": ["k + 1", "-k"], "nocase": ["upper(k)", "lower(k)"], "text": ["k || 'x'", "substr(k, 1, 1)"]}.get(self.kind, [])
        key = draw.choice([*to, self.key()[0], "CASE k WHEN 'a' THEN 'b' WHEN 'b' THEN 'a' ELSE k END"])
        change = draw.choice([
            draw.choice(["n = n + 1", "n = n + 10", "n = coalesce(n, 0) - 3", "n = 5", "n = NULL", "n = n"]),
            draw.choice([f"k = {key}", f"k = {key}, n = n + 2", *(["j = j + 1", "j = 2 - j, n = n + 2"] * (self.kind == "two"))]),
            draw.choice(["u = u + 1", f"u = {draw.randint(1, 5)}", "u = NULL"]),
            f"@ = {draw.choice(ROWIDS + MOVES)}", f"@ = {draw.choice(ROWIDS + MOVES)}, k = {key}, n = n + 2"])
        clause = draw.choice(["", "", "OR REPLACE", "OR IGNORE", *self.fails])
        if change.startswith("@") and self.inserts_before:  # OR REPLACE removes unseen what a BEFORE trigger has just put there
            clause = ""
        if change.startswith(("@ = @", "@ = -300")):  # after a row id that is no integer, SQLite keeps what OR FAIL has done, but not
            clause = clause.replace("OR FAIL", "")    # if the table has triggers
        return f"UPDATE {clause} t SET {change} WHERE {draw.choice([self.match(), self.match(), '1', 'n > 3'])}"

    def delete(self):
        return f"DELETE FROM t WHERE {self.draw.choice([self.match(), self.match(), 'n > 8', '@ = (SELECT max(@) FROM t)'])}"

    def trigger(self, name):
        draw = self.draw
        event = draw.choice(["INSERT", "UPDATE", "DELETE", "UPDATE OF k", "UPDATE OF n"])
        row = "OLD" if event == "DELETE" else "NEW"
        columns = self.keys + ["n"]
        body = draw.choice([f"DELETE FROM t WHERE {self.match()}"] + [
            f"INSERT {clause} INTO t({', '.join(columns)}) VALUES {self.rows_given(columns, '')}" for clause in ("", "OR REPLACE", "OR IGNORE")])
        when = draw.choice(["", f"WHEN {row}.n = 5", f"WHEN {row}.k = {self.key()[0]}"])
        return f"CREATE TRIGGER {name} {draw.choice(['BEFORE', 'AFTER'])} {event} ON t {when} BEGIN {body}; END"

    def steps(self, others, length):
        """Statements and other steps, each with a seed of its own."""
        draw, steps = self.draw, []
        while len(steps) < length:
            luck = draw.random()
            if luck < .2:
                some = [draw.choice(["BEGIN", "SAVEPOINT s", "SAVEPOINT s", "ROLLBACK TO s", "ROLLBACK TO s", "COMMIT", "COMMIT", "ROLLBACK"])]
            elif luck < .3 and others:
                some = [draw.choice(others)]
            elif luck < .36:
                some = ["DELETE FROM t WHERE @ = (SELECT max(@) FROM t)", self.insert()]
            else:
                some = [draw.choice([self.insert, self.insert, self.update, self.update, self.delete])()]
            steps += [(step, draw.getrandbits(32)) for step in some]
        return steps


def outcome(db, sql):
    try:
        db.execute(sql).fetchall()
    except sqlite3.Error as error:
        return type(error).__name__, str(error)


class World:
    """A file with the table, by two connections, and an ordinary table beside it."""

    def __init__(self, folder, statements):
        self.folder, self.statements, self.n_files, self.dbs = folder, statements, 0, []
        self.path, self.names, self.keys = folder / "0.db", NAMES, ", ".join(statements.keys)
        self.track, self.unsure, self.full = f"SELECT {statements.function}('t')", None, False
        db = self.open()
        for sql in [statements.table, *statements.earlier, f"SELECT {statements.function}('t', 'n')", *statements.later]:
            if outcome(db, sql.replace("@", "rowid")):
                assert sql.startswith("INSERT"), sql
        self.reopen()
        self.copy_table()

    def open(self, path=None):
        db = connect(str(path or self.path), timeout=5)
        db.execute("PRAGMA synchronous = OFF")
        return db

    def close(self):
        for db in self.dbs:
            db.close()

    def reopen(self):
        self.close()
        self.dbs = [self.open(), self.open()]

    def triggers(self, db, like="app%"):
        return [sql for sql, in rows(db, "SELECT sql FROM sqlite_master WHERE type = 'trigger' AND name LIKE ? ORDER BY rowid", like)]

    def columns(self, db):
        return ", ".join(name for _, name, *_ in rows(db, "PRAGMA table_info(t)"))

    def rows_of(self, db):
        """All columns, and the row id, in its order."""
        return rows(db, f"SELECT *, {self.names[0] if self.names else 'NULL'} FROM t")

    def copy_table(self):
        """Makes the ordinary table anew, with the same row ids."""
        db, self.plain = self.dbs[0], sqlite3.connect(":memory:", isolation_level=None)
        self.plain.execute(*rows(db, "SELECT sql FROM sqlite_master WHERE name = 't'")[0])
        for row in self.rows_of(db):
            row = row if self.names else row[:-1]
            names = ", ".join([self.columns(db), *self.names[:1]])
            self.plain.execute(f"INSERT INTO t({names}) VALUES ({', '.join('?' * len(row))})", row)
        for sql in self.triggers(db):
            self.plain.execute(sql)

    # ---- steps ----

    def play(self, step, draw):
        active = [db for db in self.dbs if db.in_transaction]
        db = active[0] if active else draw.choice(self.dbs)
        draws = str(MAX) in step or self.is_full()
        if step in OTHERS:
            if not active:
                OTHERS[step](self, db, draw)
                self.check_key(draw)
                self.check(draw, True)
                self.copy_table()
            return
        if "@" in step and not self.names or (str(MAX) in step if active else step in ("BEGIN", "SAVEPOINT s") and draws):
            return
        sql = step.replace("@", draw.choice(self.names or NAMES))
        assert outcome(db, sql) == outcome(self.plain, sql), sql
        if not db.in_transaction:
            self.check_key(draw)
            self.check(draw, draws)
            if draws:
                self.copy_table()
        elif draw.random() < .3:
            self.check_counters(db)

    def is_full(self):
        """Whether SQLite draws row ids by chance."""
        if self.names:
            self.full = bool(rows(self.plain, f"SELECT 1 FROM t WHERE {self.names[0]} = {MAX}"))
        return self.full

    def vacuum(self, db, draw):
        db.execute("VACUUM")
        self.unsure = self.n_cells(db)

    def go_on_with_a_copy(self, db, draw):
        self.n_files += 1
        self.path = self.folder / f"{self.n_files}.db"
        db.execute("VACUUM INTO ?", (str(self.path),))
        self.reopen()
        self.unsure = self.n_cells(self.dbs[0])

    def dump(self, db, draw):
        self.close()
        shell, old = ["sqlite3", "-batch", "-init", "/dev/null", "-cmd", f".load {EXTENSION}"], self.path
        self.n_files += 1
        self.path = self.folder / f"{self.n_files}.db"
        text = subprocess.run([*shell, old, ".dump"], capture_output=True, text=True, check=True).stdout
        subprocess.run([*shell, self.path], input=text, capture_output=True, text=True, check=True)
        self.reopen()
        self.unsure = self.n_cells(self.dbs[0])

    def rebuild(self, db, draw, tracks=False):
        self.close()
        loaded = tracks or draw.random() < .5
        db = self.open() if loaded else sqlite3.connect(self.path, isolation_level=None)
        again, columns = self.triggers(db, "app%" if tracks else "%"), self.columns(db)
        sql, = rows(db, "SELECT sql FROM sqlite_master WHERE name = 't'")[0]
        order = draw.choice([f"{self.keys}", f"n, {self.keys}", "k DESC, n", "u, n"])
        for sql in ["BEGIN", f"CREATE TABLE t2{sql[sql.index('('):]}", f"INSERT INTO t2({columns}) SELECT {columns} FROM t ORDER BY {order}",
                    "DROP TABLE t", "ALTER TABLE t2 RENAME TO t", *draw.choice([[self.track, *again], [*again, self.track]] if tracks else [again]),
                    "COMMIT"]:
            db.execute(sql).fetchall()
        db.close()
        self.reopen()
        self.unsure = None if tracks else self.n_cells(self.dbs[0])

    def rebuild_and_track(self, db, draw):
        self.rebuild(db, draw, True)

    def add_column(self, db, draw):
        if self.names:
            name = draw.choice(self.names)
            for one in db, self.plain:
                one.execute(f"ALTER TABLE t ADD COLUMN {name}")
            error = outcome(db, self.track)
            assert not error or "is tracked already, and there is nothing to count" in error[1], error
            self.unsure = self.unsure if error else None
            self.names = [one for one in self.names if one != name]

    # ---- checks ----

    def n_cells(self, db):
        return rows(db, "SELECT count(*) FROM t_counters_cells")[0][0]

    def by_key(self, found):
        """key, as its collation compares it -> the rest of a row"""
        n, fold = len(self.statements.keys), self.statements.kind == "nocase"
        keyed = {tuple(value.lower() if fold else value for value in row[:n]): row[n:] for row in found}
        assert len(keyed) == len(found), found
        return keyed

    def check_key(self, draw):
        db, key = draw.choice(self.dbs), self.statements.keys
        found = rows(db, f"SELECT {self.keys}, n FROM t WHERE n IS NOT NULL")
        if found:
            *values, n = draw.choice(found)
            shown = rows(db, f"SELECT n FROM t_counters WHERE {' AND '.join(f'{name} = ?' for name in key)}", *values)
            assert shown == [(n,)], (values, n)

    def check_counters(self, db):
        table = self.by_key(rows(db, f"SELECT {self.keys}, n FROM t"))
        shown = self.by_key(rows(db, f"SELECT {self.keys}, n FROM t_counters"))
        assert shown.keys() <= table.keys(), (shown, table)
        assert {key: shown.get(key) for key, (n,) in table.items() if n is not None and shown.get(key) != (n,)} == {}, (shown, table)
        self.by_key(rows(db, f"SELECT {self.keys} FROM t_counters_cells"))

    def check(self, draw, other_ids=False):
        db = draw.choice(self.dbs)
        mine, other = self.rows_of(db), self.rows_of(self.plain)
        if other_ids:
            mine, other = (sorted((row[:-1] for row in found), key=repr) for found in (mine, other))
        assert mine == other
        self.check_counters(db)
        if self.unsure is not None and self.n_cells(db) > self.unsure:  # a new row has missed its place, and looked at all
            self.unsure = None
        if self.names and self.unsure is None:
            table = self.by_key(rows(db, f"SELECT {self.keys}, {self.names[0]} FROM t"))
            home = self.by_key(rows(db, f"SELECT {self.keys}, _id FROM t_counters_cells WHERE _away IS NULL"))
            assert home.items() <= table.items()
        db.execute("INSERT INTO t_counters(t_counters) VALUES ('integrity-check')")

    def finish(self):
        """Another file pulls and shows the same rows; then both count and merge."""
        self.play("ROLLBACK", random.Random(0))
        self.reopen()
        one, two, whole = self.dbs[0], self.open(self.folder / "second.db"), self.statements.function == "counter_replicate"
        self.dbs.append(two)
        for name, in rows(one, "SELECT name FROM sqlite_master WHERE type = 'trigger' AND name LIKE 'app%'"):
            one.execute(f"DROP TRIGGER {name}")
        two.execute(*rows(one, "SELECT sql FROM sqlite_master WHERE name = 't'")[0])
        rows(two, f"SELECT {self.statements.function}('t', 'n')")
        rows(two, "SELECT * FROM counter_pull(?)", str(self.path))
        others = [name for name in self.columns(one).split(", ") if name not in self.statements.keys]
        select = f"SELECT {self.keys}, {', '.join(others)} FROM t" if whole else f"SELECT {self.keys}, n FROM t WHERE n IS NOT NULL"
        counted = self.by_key(rows(one, select))
        assert self.by_key(rows(two, select)) == counted
        one.execute("UPDATE t SET n = n - 1")
        two.execute("UPDATE t SET n = n - 2")
        rows(one, "SELECT * FROM counter_sync(?)", str(self.folder / "second.db"))
        sums = {key: n if n is None else n - 3 for key, (n, *_) in counted.items()}
        for db in one, two:
            assert {key: n for key, (n, *_) in self.by_key(rows(db, select)).items()} == sums
            self.check_counters(db)
            db.execute("INSERT INTO t_counters(t_counters) VALUES ('integrity-check')")


OTHERS = {"REOPEN": lambda world, db, draw: world.reopen(), "VACUUM": World.vacuum, "COPY": World.go_on_with_a_copy,
          "REBUILD": World.rebuild, "REBUILD AND TRACK": World.rebuild_and_track, "ADD COLUMN": World.add_column}
if shutil.which("sqlite3"):
    OTHERS["DUMP"] = World.dump


def play(tmp_path, name, others, length):
    for number in range(EXAMPLES):
        draw = random.Random(f"{SEED} homes {name} {number}")
        statements = Statements(draw)
        steps, folder = statements.steps(others, length), tmp_path / str(number)
        folder.mkdir()
        world = World(folder, statements)
        try:
            for nth, (step, seed) in enumerate(steps):
                world.play(step, random.Random(seed))
            world.finish()
        except Exception:
            print("world", number, *[statements.table, *statements.earlier, statements.function, *statements.later], sep="\n")
            print(*[step for step, _ in steps[:nth + 1]], sep="\n")
            raise
        finally:
            world.close()
        shutil.rmtree(folder)


def test_rows_that_move_in_their_table_keep_their_counts(tmp_path):
    play(tmp_path, "moves", ["REOPEN"], 60)


def test_a_table_whose_rows_get_other_row_ids_unseen_keeps_its_counts(tmp_path):
    play(tmp_path, "renumbered", sorted(OTHERS), 50)
