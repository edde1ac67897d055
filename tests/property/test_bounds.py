"""test_bounds.py - a bounded counter never goes below zero, whoever is offline.

Files sell from one stock: they count down, up and by assignment, grant, sync, pull, push, send lines in any order and twice,
are copied (cp, VACUUM INTO, backup), restored in place and forked, roll back, and are refused. Devices send them counts under
their own ids that nobody has made, which they dismiss, or not. The oracle adds up what was really done, also in files that are lost since: that total is never below zero. In each file the rights add up to the value.
"""

import json
import os
import random
import shutil
import sqlite3
import time

import pytest

from conftest import EXAMPLES, SEED
from files import connect

KINDS = ("replicated", "tracked", "counter")
KEYS = "ab"
REFUSED = "this file may "


def rows(db, sql, *arguments):
    return db.execute(sql, arguments).fetchall()


def value(db, sql, *arguments):
    return db.execute(sql, arguments).fetchone()[0]


class World:
    def __init__(self, tmp_path, draw, ends):
        """`ends`: rows are deleted, reset and given other keys, too."""
        self.path, self.draw, self.ends, self.n, self.log = tmp_path, draw, ends, 0, []
        self.kind = draw.choice(KINDS)
        self.counters = "s" if self.kind == "counter" else "s_counters"
        self.wal = draw.random() < 0.5
        self.files, self.snapshots, self.lines = {}, {}, []
        self.total = {}  # by key: what was really done
        first = self.new_name()
        db = self.open(first)
        if self.kind == "counter":
            db.execute("CREATE VIRTUAL TABLE s USING counter(k TEXT PRIMARY KEY, n COUNTER)")
        else:
            db.execute("CREATE TABLE s(k TEXT PRIMARY KEY NOT NULL, v, n INTEGER)")
            before = draw.random() < 0.5  # the values are an opening, or counted one by one
            if before: self.fill(db)
            track = "counter_replicate" if self.kind == "replicated" else "counter_track"
            value(db, f"SELECT {track}('s', 'n')")
            if not before: self.fill(db)
        if self.kind == "counter": self.fill(db)
        assert value(db, "SELECT counter_bound('s', 'n')") == 0

    def fill(self, db):
        for key in KEYS:
            self.total[key] = self.draw.randrange(20)
            if self.kind == "counter":
                db.execute("INSERT INTO s VALUES (?, ?)", (key, self.total[key]))
            else:
                db.execute("INSERT INTO s VALUES (?, 'x', ?)", (key, self.total[key]))

    def new_name(self):
        self.n += 1
        return f"f{self.n}"

    def at(self, name):
        return str(self.path / f"{name}.db")

    def open(self, name):
        db = connect(self.at(name))
        db.execute("PRAGMA synchronous = OFF")
        if self.wal: db.execute("PRAGMA journal_mode = WAL")
        self.files[name] = db
        return db

    def id(self, name):
        return value(self.files[name], "SELECT counter_id()")

    # ---- what files do ----

    def shown(self, db, key):
        found = rows(db, "SELECT n FROM s WHERE k = ?", key)
        return found[0][0] if found else None

    def count(self, name, key):
        """A statement, perhaps in a transaction or a savepoint that is rolled back; what stays was done."""
        db, draw = self.files[name], self.draw
        before = self.shown(db, key)
        if before is None: return
        how = draw.choice(["", "", "OR IGNORE ", "OR FAIL ", "OR REPLACE "])
        n = draw.randrange(-8, 5)
        sql, values = draw.choice([
            (f"UPDATE {how}s SET n = n + ? WHERE k = ?", (n, key)),
            (f"UPDATE {how}s SET n = ? WHERE k = ?", (max(0, before + n), key)),
            (f"UPDATE {'' if self.kind == 'counter' else how}s SET n = n + ? WHERE k >= ?", (n, key)),
            ("INSERT INTO s(k, n) VALUES (?2, ?1)" + ("" if self.kind == "counter" else " ON CONFLICT DO UPDATE SET n = n + ?1"), (n, key)),
        ])
        kept = {k: self.shown(db, k) for k in KEYS}
        wrap = draw.choice(["", "", "BEGIN", "SAVEPOINT x"])
        if wrap: db.execute(wrap)
        refused = False
        try:
            db.execute(sql, values)
        except sqlite3.Error as error:
            assert REFUSED in str(error), error
            refused = True
        undone = wrap and draw.random() < 0.4
        if undone: db.execute("ROLLBACK" if wrap == "BEGIN" else "ROLLBACK TO x")
        if wrap and (wrap != "BEGIN" or not undone): db.execute("COMMIT" if wrap == "BEGIN" else "RELEASE x")
        now = {k: self.shown(db, k) for k in KEYS}
        if undone or (refused and "OR FAIL" not in sql): assert now == kept, (sql, values, kept, now)
        for k in KEYS:
            if now[k] is not None: self.total[k] += now[k] - kept[k]
        self.log.append((name, wrap, sql, values, "refused" if refused else "", "undone" if undone else "", now))

    def grant(self, name):
        db, key, other = self.files[name], self.draw.choice(KEYS), self.draw.choice(list(self.files))
        to = self.draw.choice([self.id(other), "00000000-0000-0000-0000-000000000000", self.id(name)])
        n = self.draw.randrange(-1, 9)
        before = rows(db, "SELECT key, id, rights FROM counter_rights('s') ORDER BY 1, 2")
        try:
            db.execute(f"INSERT INTO {self.counters}({self.counters}, k, n) VALUES (?, ?, ?)", (f"grant {to}", key, n))
        except sqlite3.Error as error:
            assert str(error).startswith(f"{self.counters}: "), error
            settled = rows(db, "SELECT key, id, rights FROM counter_rights('s') ORDER BY 1, 2")
            assert settled == before, error
        self.log.append((name, "grant", to, key, n))

    def meet(self, name):
        other = self.draw.choice(list(self.files))
        if other == name: return
        call = self.draw.choice(["sync", "sync", "pull", "push"])
        db = self.files[name]
        attached = self.draw.random() < 0.3
        try:
            if attached: db.execute("ATTACH ? AS phone", [self.at(other)])
            note = rows(db, f"SELECT note FROM counter_{call}(?)", "phone" if attached else self.at(other))
        finally:
            if attached: db.execute("DETACH phone")
        assert not any("not moved" in (n or "") for n, in note), note
        self.log.append((call, name, other, attached))

    def send(self, name):
        own = self.draw.random() < 0.5
        self.lines += [line for line, in rows(self.files[name], "SELECT line FROM counter_lines(?, ?)", 0, own)]
        self.log.append(("lines", name, own))

    def take(self, name):
        if not self.lines: return
        some = self.draw.sample(self.lines, self.draw.randrange(1, len(self.lines) + 1)) if self.draw.random() < 0.5 else self.lines
        value(self.files[name], "SELECT counter_take(?)", "\n".join(some))
        self.log.append(("take", name, len(some)))

    def copy(self, name):
        if len(self.files) > 4: return
        to, way = self.new_name(), self.draw.choice(["cp", "vacuum", "backup"])
        db = self.files[name]
        if way == "vacuum":
            db.execute("VACUUM INTO ?", [self.at(to)])
        elif way == "backup":
            with sqlite3.connect(self.at(to)) as target: db.backup(target)
            target.close()
        else:
            db.close()
            shutil.copyfile(self.at(name), self.at(to))
            self.open(name)
        self.open(to)
        self.log.append((way, name, to))

    def keep(self, name):
        self.files[name].close()
        with open(self.at(name), "rb") as file: self.snapshots[name] = file.read()
        time.sleep(0.02)  # the witness is renewed every 10 ms: what is committed from now on is noticed
        self.open(name)
        self.log.append(("keep", name))

    def restore(self, name):
        if name not in self.snapshots: return
        self.files[name].close()
        with open(self.at(name), "r+b") as file:
            file.write(self.snapshots[name])
            file.truncate()
        self.open(name)
        self.log.append(("restore", name))

    def end(self, name):
        """Rows go and come; what they had is another stock then."""
        db, key, draw = self.files[name], self.draw.choice(KEYS), self.draw
        other = "c" if key == "a" else "a"
        sql, values = draw.choice([
            ("DELETE FROM s WHERE k = ?", (key,)),
            (f"INSERT INTO {self.counters}({self.counters}, k, n) VALUES ('reset', ?, ?)", (key, draw.randrange(9))),
            (f"INSERT INTO {self.counters}({self.counters}, k) VALUES ('delete n', ?)", (key,)),
            ("INSERT OR IGNORE INTO s(k, n) VALUES (?, ?)", (key, draw.randrange(9))),
            ("REPLACE INTO s(k, n) VALUES (?, ?)", (key, draw.randrange(9)))] + ([] if self.kind == "counter" else [
            ("UPDATE s SET k = ? WHERE k = ?", (other, key)),
            ("UPDATE s SET k = ?, n = n - 2 WHERE k = ?", (other, key)),
            ("UPDATE s SET n = NULL WHERE k = ?", (key,))]))
        others = rows(db, "SELECT id, rights FROM counter_rights('s') WHERE key = ? AND NOT here AND rights > 0", f'["{key}"]')
        ends = sql.startswith("DELETE") or "'delete n'" in sql or "NULL" in sql or ("SET k" in sql and self.shown(db, key) is not None)
        try:
            db.execute(sql, values)
            refused = ""
            own = self.id(name)  # a copy takes another id when it writes
            assert not ends or [id for id, _ in others if id != own] == [], (name, sql, values, others)
        except sqlite3.Error as error:
            refused = str(error)
            assert any(known in refused for known in (REFUSED, "others may take", "UNIQUE", "there is no row", "has no row", "NOT NULL")), refused
        self.log.append((name, sql, values, refused))

    def receive(self, name):
        """A device sends a count that this file has never made, under its id."""
        if self.kind == "replicated": return
        db, key = self.files[name], self.draw.choice(KEYS)
        db.execute("CREATE TABLE IF NOT EXISTS counter_http_tokens(token TEXT PRIMARY KEY, device TEXT NOT NULL UNIQUE)")
        db.execute("CREATE TABLE IF NOT EXISTS counter_http_ids(id TEXT PRIMARY KEY, token TEXT NOT NULL)")
        db.execute("INSERT OR IGNORE INTO counter_http_tokens VALUES ('bb', 'phone')")
        own = value(db, "SELECT counter_settle()")  # a copy takes it first
        cell = {"life": 1, "shards": [{"id": own, "clock": self.draw.randrange(2, 99), "value": self.draw.randrange(-9, 40)}]}
        tells = {"tells": "row", "columns": [{"name": "n", "kind": "counter", "generation": 1, "cell": cell}]}
        packed, change = rows(db, "SELECT hex(counter_key(?)), hex(counter_change_of(?))", key, json.dumps(tells))[0]
        line = {"format": 1, "source": "00000000-0000-0000-0000-00000000000b", "since": 0, "upto": 9,
                "changes": [{"table": "s", "packed": packed, "seq": 1, "change": change}]}
        value(db, "SELECT counter_receive('bb', ?)", json.dumps(line))
        self.log.append(("receive", name, cell))

    def dismiss(self, name):
        try:
            moved = value(self.files[name], "SELECT counter_dismiss()")
        except sqlite3.Error as error:
            assert "there is nothing to dismiss" in str(error), error
            moved = None
        self.log.append(("dismiss", name, moved))

    # ---- what holds ----

    def check(self, name, whole):
        """`whole`: the file has heard of rows as a whole, so that nothing looks below zero for a while."""
        db = self.files[name]
        sums = dict(rows(db, "SELECT key, sum(rights) FROM counter_rights('s') GROUP BY key"))
        for key, n in rows(db, "SELECT k, n FROM s"):
            assert sums.get(f'["{key}"]', 0) == (n or 0), (name, key, n, sums)
            assert not whole or n is None or n >= 0, (name, key, n)
        if whole: assert rows(db, "SELECT * FROM counter_rights('s') WHERE rights < 0") == [], name

    def step(self):
        name, draw = self.draw.choice(list(self.files)), self.draw
        what = draw.choices(["count", "grant", "meet", "send", "take", "copy", "keep", "restore", "receive", "dismiss", "end", "fork"],
                            [10, 3, 6, 1, 1, 1, 1, 0.7, 0.7, 1, 4 if self.ends else 0, 0.3])[0]
        if what == "count":
            self.count(name, draw.choice(KEYS))
        elif what == "fork":
            value(self.files[name], "SELECT counter_fork()")
        else:
            getattr(self, what)(name)

    def close(self):
        for db in self.files.values(): db.close()


def run(tmp_path, seed, ends):
    draw = random.Random(f"bounds {seed} {ends}")
    world = World(tmp_path, draw, ends)
    partial = False
    try:
        for _ in range(draw.randrange(10, 60)):
            world.step()
            partial = partial or (world.log and world.log[-1][0] == "take")
            if not ends: assert all(n >= 0 for n in world.total.values()), world.total
            world.check(draw.choice(list(world.files)), not partial)
        names = list(world.files)
        for _ in range(3):
            for a in names:
                for b in names:
                    if a != b: rows(world.files[a], "SELECT * FROM counter_sync(?)", world.at(b))
        # A row of a tracked table that counts nothing stays at home.
        counting = " WHERE n IS NOT NULL" if world.kind == "tracked" else ""
        shows = {name: rows(world.files[name], f"SELECT k, n FROM s{counting} ORDER BY k") for name in names}
        assert len({str(show) for show in shows.values()}) == 1, shows
        for name in names:
            world.check(name, True)
            assert value(world.files[name], "SELECT count(*) FROM s WHERE n < 0") == 0
            rows(world.files[name], f"INSERT INTO {world.counters}({world.counters}) VALUES ('integrity-check')")
    except BaseException as error:
        print("\n".join(map(str, world.log)))
        print(f"seed {seed}, {world.kind}")
        raise
    finally:
        world.close()


@pytest.mark.parametrize("ends", [False, True], ids=["one-stock", "rows-that-go"])
def test_what_was_sold_in_all_files_is_never_more_than_there_was(tmp_path, ends):
    for example in range(EXAMPLES):
        here = tmp_path / str(example)
        os.mkdir(here)
        run(here, SEED + example, ends)
        shutil.rmtree(here)
