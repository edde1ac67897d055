"""test_homes.py - the cells of a tracked table are at the row ids of its rows, wherever these go.

Random worlds: a tracked or replicated table t whose key is not its row id, triggers of the application that write t, statements
that move rows, use row ids again and fail; dumps, rebuilds and VACUUM. An ordinary table gets the same statements.
"""

import random
import shutil
import sqlite3
import subprocess

from conftest import EXAMPLES, SEED
from files import EXTENSION, connect
from test_tracked import outcome, rows

KEYS = {  # the definition of the key, its values, expressions
    "text": ("k TEXT PRIMARY KEY", "'a' 'b' 'c' 'd' 'e'", ["k || 'x'", "substr(k, 1, 1)"]),
    "nocase": ("k TEXT COLLATE NOCASE PRIMARY KEY", "'a' 'A' 'b' 'B' 'c' 'd'", ["upper(k)", "lower(k)"]),
    "number": ("k INT PRIMARY KEY", "-2 0 1 2 3 4", ["k + 1", "-k"]),
    "two": ("k TEXT NOT NULL, j INT NOT NULL", "'a' 'b' 'c'", []), "any": ("k PRIMARY KEY NOT NULL", "'a' 'b' 1 1.0 2 '1' x'61'", [])}
NAMES, MAX = ["rowid", "_rowid_", "oid"], 2**63 - 1
# OR REPLACE removes a row at the row id -1 unseen (docs/tracked-columns.md): these are far from it, however they are combined.
ROWIDS = ["-500", "0", "1", "2", "3", "5", "17", str(-2**63), str(MAX), "(SELECT max(@) FROM t)"]
MOVES, NUMBERS = ["@ % 1000000 + 1000", "@ % 1000000 * -300"], ["1", "5", "10", "0", "NULL"]
LAST = "DELETE FROM t WHERE @ = (SELECT max(@) FROM t)"
CONTROL = ["BEGIN", "SAVEPOINT s", "SAVEPOINT s", "ROLLBACK TO s", "ROLLBACK TO s", "COMMIT", "COMMIT", "ROLLBACK"]
RENUMBER = ["VACUUM", "COPY", "REBUILD"] + ["DUMP"] * bool(shutil.which("sqlite3"))
OTHERS = ["REOPEN", "REBUILD AND TRACK", "ADD COLUMN", *RENUMBER]


class Statements:
    """A table and random statements on it; @ stands for a name of its row id."""

    def __init__(self, draw):
        self.draw, self.kind = draw, draw.choice(sorted(KEYS))
        key, self.values, self.spelled = KEYS[self.kind]
        self.keys = ["k", "j"] if self.kind == "two" else ["k"]
        conflict = draw.choice(["", "", "", " ON CONFLICT REPLACE", " ON CONFLICT IGNORE"])
        columns = [key + conflict * (self.kind != "two"),
                   "n INTEGER" + draw.choice(["", " DEFAULT 0", " NOT NULL DEFAULT 0"]) + draw.choice(["", " CHECK (n < 40)"]),
                   draw.choice(["u TEXT", "u INT"]) + draw.choice(["", "", " UNIQUE", " UNIQUE ON CONFLICT REPLACE"])]
        table = f"CREATE TABLE t({', '.join(columns)}{f', PRIMARY KEY (k, j){conflict}' * (self.kind == 'two')})"
        self.function = draw.choice(["counter_track", "counter_track", "counter_replicate"])
        triggers = [self.trigger(f"app{i}") for i in range(draw.choice([0, 0, 0, 1, 2]))]
        # Two could put another row in the place of the one that is updated.
        triggers = [sql for sql in triggers if len(triggers) == 1 or "BEFORE UPDATE" not in sql]
        self.inserts_before = any("BEFORE" in sql and "INTO t" in sql for sql in triggers)
        self.fails = [] if triggers else ["OR FAIL"]  # what it keeps, triggers that have not run yet do not see
        # counter_replicate refuses NULL where other files would show a DEFAULT, and says this.
        zero = ["UPDATE t SET n = 0 WHERE n IS NULL"] * (self.function == "counter_replicate" and "DEFAULT" in columns[1])
        self.script = [table, *[self.insert() for _ in range(draw.choice([0, 3]))], *zero, *triggers]
        self.script.insert(len(self.script) - draw.randint(0, len(triggers)), f"SELECT {self.function}('t', 'n')")

    def key(self):
        return [self.draw.choice(self.values.split())] + [str(self.draw.randrange(3))] * (self.kind == "two")

    def match(self):
        return " AND ".join(f"{name} = {value}" for name, value in zip(self.keys, self.key(), strict=True))

    def insert(self):
        draw, has_u, at = self.draw, self.draw.random() < .6, self.draw.random() < .25
        clause = draw.choice(["", "", "OR REPLACE", "OR REPLACE", "OR IGNORE", *self.fails])
        clause = clause * (not at or not self.inserts_before)  # OR REPLACE removes unseen what a BEFORE trigger has just put there
        given = [", ".join([*self.key(), draw.choice(NUMBERS), *[draw.choice("12345")] * has_u, *[draw.choice(ROWIDS)] * at])
                 for _ in range(draw.choice([1, 1, 1, 2, 3]))]
        sql = f"INSERT {clause} INTO t({', '.join([*self.keys, 'n', *['u'] * has_u, *['@'] * at])}) VALUES ({'), ('.join(given)})"
        if not clause and draw.random() < .3:
            change = draw.choice(["", f", k = {self.key()[0]}", ", u = excluded.u", ", @ = @ % 1000000 + 1000"])
            sql += f" ON CONFLICT ({', '.join(self.keys)}) DO UPDATE SET n = coalesce(t.n, 0) + 1{change}"
        return sql

    def update(self):
        draw, rowid = self.draw, self.draw.choice(ROWIDS + MOVES)
        key = draw.choice([*self.spelled, self.key()[0], "CASE k WHEN 'a' THEN 'b' WHEN 'b' THEN 'a' ELSE k END"])
        change = draw.choice([
            draw.choice(["n = n + 1", "n = n + 10", "n = coalesce(n, 0) - 3", "n = 5", "n = NULL", "n = n"]),
            draw.choice([f"k = {key}", f"k = {key}, n = n + 2", *["j = j + 1", "j = 2 - j, n = n + 2"] * (self.kind == "two")]),
            draw.choice(["u = u + 1", f"u = {draw.randint(1, 5)}", "u = NULL"]),
            f"@ = {rowid}", f"@ = {rowid}, k = {key}, n = n + 2"])
        clause = draw.choice(["", "", "OR REPLACE", "OR IGNORE", *self.fails])
        clause = clause * (change[0] != "@" or not self.inserts_before)
        return f"UPDATE {clause} t SET {change} WHERE {draw.choice([self.match(), self.match(), '1', 'n > 3'])}"

    def trigger(self, name):
        draw, event = self.draw, self.draw.choice(["INSERT", "UPDATE", "DELETE", "UPDATE OF k", "UPDATE OF n"])
        row, given = "OLD" if event == "DELETE" else "NEW", ", ".join([*self.key(), draw.choice(NUMBERS)])
        body = draw.choice([f"DELETE FROM t WHERE {self.match()}"] + [
            f"INSERT {clause} INTO t({', '.join(self.keys)}, n) VALUES ({given})" for clause in ["", "OR REPLACE", "OR IGNORE"]])
        when = draw.choice(["", f"WHEN {row}.n = 5", f"WHEN {row}.k = {self.key()[0]}"])
        return f"CREATE TRIGGER {name} {draw.choice(['BEFORE', 'AFTER'])} {event} ON t {when} BEGIN {body}; END"

    def steps(self, others):
        delete = self.draw.choice([f"DELETE FROM t WHERE {self.match()}"] * 2 + ["DELETE FROM t WHERE n > 8", LAST])
        return self.draw.choice([[self.draw.choice(CONTROL)]] * 5 + [[self.draw.choice(others)]] * 2 + [[LAST, self.insert()]] * 2 +
                                [[self.insert()], [self.update()]] * 6 + [[delete]] * 3)


def texts(db, name):
    return [sql for sql, in rows(db, "SELECT sql FROM sqlite_master WHERE type <> 'index' AND name LIKE ? ORDER BY rowid", name)]


class World:
    """A file with the table, in two connections, and an ordinary table beside it."""

    def __init__(self, folder, statements):
        self.folder, self.statements, self.draw, self.dbs = folder, statements, statements.draw, []
        self.path, self.track = str(folder / "a.db"), f"SELECT {statements.function}('t')"
        self.names, self.keys, self.columns = NAMES, ", ".join(statements.keys), [*statements.keys, "n", "u"]
        self.full, self.moved = False, None  # SQLite draws row ids by chance; what was noted after rows got other row ids
        folder.mkdir()
        self.reopen()
        for sql in statements.script:
            assert len(outcome(self.dbs[0], sql.replace("@", "rowid"), (), False)) == 3 or sql.startswith("INSERT"), sql
        self.copy_table()

    def reopen(self):
        for db in self.dbs:
            db.close()
        self.dbs = [connect(self.path, timeout=5), connect(self.path, timeout=5)]
        for db in self.dbs:
            db.execute("PRAGMA synchronous = OFF")

    def copy_table(self):  # with its row ids
        self.plain, names = sqlite3.connect(":memory:", isolation_level=None), ", ".join(self.columns + self.names[:1])
        self.plain.execute(*texts(self.dbs[0], "t"))
        for row in rows(self.dbs[0], f"SELECT {names} FROM t"):
            self.plain.execute(f"INSERT INTO t({names}) VALUES ({', '.join('?' * len(row))})", row)
        self.plain.executescript(";".join(texts(self.dbs[0], "app%")))

    def play(self, step):
        active = [db for db in self.dbs if db.in_transaction]
        db = (active or [self.draw.choice(self.dbs)])[0]
        self.full = bool(rows(self.plain, f"SELECT 1 FROM t WHERE {self.names[0]} = {MAX}")) if self.names else self.full
        draws = self.full or str(MAX) in step
        if step in OTHERS and not active:
            self.play_other(db, step)
            self.check(True)
            self.copy_table()
        elif step not in OTHERS and ("@" not in step or self.names) and not (draws and (step in ("BEGIN", "SAVEPOINT s") or active)):
            sql = step.replace("@", self.draw.choice(self.names or NAMES))
            assert outcome(db, sql, (), False) == outcome(self.plain, sql, (), False), sql
            if not db.in_transaction:
                self.check(draws)
                if draws:
                    self.copy_table()
            elif self.draw.random() < .3:
                self.check_counters(db)

    def play_other(self, db, step):
        old, self.path = self.path, self.path + "x" * (step in ("COPY", "DUMP"))
        if step == "ADD COLUMN" and self.names:
            name = self.draw.choice(self.names)
            self.columns, self.names = [*self.columns, name], [one for one in self.names if one != name]
            for one in db, self.plain:
                rows(one, f"ALTER TABLE t ADD COLUMN {name}")
            found = outcome(db, self.track, (), False)
            assert len(found) == 3, found
        elif step in ("VACUUM", "COPY"):
            rows(db, "VACUUM" if step == "VACUUM" else f"VACUUM INTO '{self.path}'")
        elif step == "DUMP":
            shell = ["sqlite3", "-batch", "-init", "/dev/null", "-cmd", f".load {EXTENSION}"]
            dump = subprocess.run([*shell, old, ".dump"], capture_output=True, text=True, check=True).stdout
            subprocess.run([*shell, self.path], input=dump, capture_output=True, text=True, check=True)
        elif step.startswith("REBUILD"):
            self.rebuild(db, step == "REBUILD AND TRACK")
        if self.path != old or step == "REOPEN" or self.draw.random() < .5:
            self.reopen()
        self.moved = self.noted(self.dbs[0]) if step in RENUMBER else self.moved

    def rebuild(self, db, tracks):
        """Those triggers that track are made again by a call, or by their own texts, perhaps without the extension."""
        db = db if tracks or self.draw.random() < .5 else sqlite3.connect(self.path, isolation_level=None)
        table, again = texts(db, "t")[0], [sql for sql in texts(db, "app%" if tracks else "%") if sql.startswith("CREATE TRIGGER")]
        again = self.draw.choice([[self.track, *again], [*again, self.track]]) if tracks else again
        order = self.draw.choice([self.keys, f"n, {self.keys}", "k DESC, n", "u, n"])
        for sql in ["BEGIN", f"CREATE TABLE t2{table[table.index('('):]}", f"INSERT INTO t2 SELECT * FROM t ORDER BY {order}",
                    "DROP TABLE t", "ALTER TABLE t2 RENAME TO t", *again, "COMMIT"]:
            rows(db, sql)

    def noted(self, db):  # for which schema and file the row ids of the cells hold: changes when all cells have been looked at
        return rows(db, "SELECT * FROM counter_state WHERE kind = 'home'")

    def by_key(self, db, select):  # key, as its collation compares it -> the rest of the row
        n, fold, found = len(self.statements.keys), self.statements.kind == "nocase", rows(db, select)
        keyed = {tuple(value.lower() if fold else value for value in row[:n]): row[n:] for row in found}
        assert len(keyed) == len(found), found
        return keyed

    def check_counters(self, db):
        table, shown = (self.by_key(db, f"SELECT {self.keys}, n FROM {name}") for name in ["t", "t_counters"])
        assert shown.keys() <= table.keys()  # where t shows NULL, there may be none
        assert {key: n for key, n in table.items() if n != (None,)}.items() <= shown.items()
        self.by_key(db, f"SELECT {self.keys} FROM t_counters_cells")
        db.execute("INSERT INTO t_counters(t_counters) VALUES ('integrity-check')")

    def check(self, other_rowids):
        db = self.draw.choice(self.dbs)
        match, found = " AND ".join(f"{name} = ?" for name in self.statements.keys), rows(db, f"SELECT {self.keys}, n FROM t")
        for *key, n in self.draw.sample(found, min(len(found), 1)):
            assert n is None or rows(db, f"SELECT n FROM t_counters WHERE {match}", *key) == [(n,)], key
        db = self.draw.choice(self.dbs)
        select = f"SELECT {', '.join(self.columns if other_rowids else self.columns + self.names[:1])} FROM t"
        mine, other = (sorted(rows(one, select), key=repr) for one in (db, self.plain))
        assert mine == other
        self.check_counters(db)
        self.moved = self.moved if self.moved == self.noted(db) else None
        if self.names and self.moved is None:
            home = self.by_key(db, f"SELECT {self.keys}, _id FROM t_counters_cells WHERE _away IS NULL")
            assert home.items() <= self.by_key(db, f"SELECT {self.keys}, {self.names[0]} FROM t").items()

    def finish(self):  # another file pulls and shows the same rows; then both count and merge
        self.reopen()
        one, path, two = self.dbs[0], str(self.folder / "b.db"), connect(str(self.folder / "b.db"))
        one.executescript("DROP TRIGGER IF EXISTS app0; DROP TRIGGER IF EXISTS app1")
        two.executescript(f"{texts(one, 't')[0]}; {self.track[:-1]}, 'n'); SELECT * FROM counter_pull('{self.path}')")
        whole, values = f"SELECT {', '.join(self.columns)} FROM t", f"SELECT {self.keys}, n FROM t WHERE n IS NOT NULL"
        select = whole if "replicate" in self.track else values
        counted = self.by_key(one, select)
        assert self.by_key(two, select) == counted
        two.execute("UPDATE t SET n = n - 2")
        one.executescript(f"UPDATE t SET n = n - 1; SELECT * FROM counter_sync('{path}')")
        wanted = {key: (n if n is None else n - 3, *more) for key, (n, *more) in counted.items()}
        for db in one, two:
            assert self.by_key(db, select) == wanted
            self.check_counters(db)
        for db in *self.dbs, two:
            db.close()


def play_worlds(folder, others, n):
    for number in range(EXAMPLES):
        statements, played = Statements(random.Random(f"{SEED} homes {number}")), []
        world = World(folder / str(number), statements)
        try:
            while len(played) < n:
                for step in statements.steps(others):
                    played.append(step)
                    world.play(step)
            world.finish()
        except Exception:
            print("world", number, *statements.script, *played, sep="\n")
            raise
        shutil.rmtree(world.folder)


def test_rows_that_move_in_their_table_keep_their_counts(tmp_path):
    play_worlds(tmp_path, ["REOPEN"], 60)


def test_a_table_whose_rows_get_other_row_ids_unseen_keeps_its_counts(tmp_path):
    play_worlds(tmp_path, OTHERS, 50)


def test_a_pull_into_a_file_whose_rows_a_dump_has_numbered_anew_finds_each_of_them(tmp_path):
    """The first row that changes is where it was, the next one is not."""
    db, other = connect(tmp_path / "a.db"), connect(tmp_path / "b.db")
    for each in db, other:
        each.execute("CREATE TABLE t(k TEXT PRIMARY KEY NOT NULL, n INTEGER)")
        each.execute("SELECT counter_track('t', 'n')").fetchall()
    db.execute("INSERT INTO t VALUES ('a', 1), ('gone', 2), ('b', 30), ('c', NULL)")
    other.execute("INSERT INTO t VALUES ('a', 0), ('b', 0), ('c', 5)")
    db.execute("SELECT * FROM counter_sync(?)", [str(tmp_path / "b.db")]).fetchall()
    db.execute("DELETE FROM t WHERE k = 'gone'")
    db.close()
    shell = ["sqlite3", "-batch", "-init", "/dev/null", "-cmd", f".load {EXTENSION}"]
    dump = subprocess.run([*shell, tmp_path / "a.db", ".dump"], capture_output=True, text=True, check=True).stdout
    subprocess.run([*shell, tmp_path / "dumped.db"], input=dump, capture_output=True, text=True, check=True)
    dumped = connect(tmp_path / "dumped.db")
    other.execute("UPDATE t SET n = n + 100")
    dumped.execute("SELECT * FROM counter_pull(?)", [str(tmp_path / "b.db")]).fetchall()
    assert rows(dumped, "SELECT * FROM t ORDER BY k") == [("a", 101), ("b", 130), ("c", 105)]
    assert sorted(rows(dumped, "SELECT k FROM t_counters_cells")) == [("a",), ("b",), ("c",), ("gone",)]
    dumped.execute("INSERT INTO t_counters(t_counters) VALUES ('integrity-check')")
    for each in dumped, other:
        each.close()


def test_a_rollback_takes_back_that_the_places_hold(tmp_path):
    db, other = connect(tmp_path / "a.db"), connect(tmp_path / "a.db")
    db.execute("CREATE TABLE t(k TEXT PRIMARY KEY, n INTEGER)")
    db.execute("SELECT counter_track('t', 'n')").fetchall()
    db.execute("INSERT INTO t VALUES ('a', 1), ('b', 2), ('d', 5)")
    triggers = other.execute("SELECT name, sql FROM sqlite_master WHERE name LIKE 't_counters%delete'").fetchall()
    for name, _ in triggers:
        other.execute(f"DROP TRIGGER {name}")
    other.execute("DELETE FROM t WHERE k = 'd'")
    for _, sql in triggers:
        other.execute(sql)
    db.execute("BEGIN")
    db.execute("INSERT INTO t(rowid, k, n) VALUES (50, 'd', 1)")
    db.execute("INSERT INTO t(rowid, k, n) VALUES (51, 'e', 1)")
    db.execute("ROLLBACK")
    db.execute("BEGIN")
    db.execute("UPDATE t SET n = n + 1 WHERE k = 'a'")
    db.execute("INSERT INTO t(rowid, k, n) VALUES (50, 'd', 1)")
    db.execute("COMMIT")
    assert db.execute("SELECT * FROM t_counters ORDER BY k").fetchall() == [("a", 2), ("b", 2), ("d", 1)]
    assert db.execute("SELECT count(*) FROM t_counters_cells").fetchall() == [(3,)]
