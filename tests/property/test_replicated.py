"""test_replicated.py - files with replicated tables that merge show what the lattice of core/row_cell.c says.

A model of each file has the state of each row: its life, the stamp of its INSERT, for each regular column a stamp and a
value, and its counters as sets of operations. The stamps are read from the file after each write, and must be higher
than those that they replace. After each merge the file must show the rows of the joined models, exactly.
"""

import json
import random
import shutil
import sqlite3
import time

import pytest

from conftest import EXAMPLES, SEED
from files import connect, groups, varint
from test_tracked import Counter, rows

KEYS = {"TEXT": ["tea", "jam", "salt", "Tea"], "INTEGER": [0, -7, 2**63 - 1, -2**63]}
TIME_BITS, REGULAR = 55, 2  # of a stamp; the code of the kind
LAST_NUMBER = 7289654400000 * 4096  # of a clock
VALUES = [None, 0, 1, 1.0, -5, 2.5, "a", "A", "", "1", b"", b"\x00a", "jam", 10**15]


def read_cell(data):
    """Returns the life of a replicated row that a change tells of, its stamp, and the stamp of each regular column by its name;
    None: it has none."""
    assert data[:3] == b"\x01\x01\x01"
    size, at = varint(data, 3)
    life, at = varint(data, at)
    n, begin = varint(data, 4 + size)
    if life % 2 == 0:
        assert at == 4 + size and begin == len(data)
        return life, None, {}

    def stamp(at, generation=0):
        number, at = varint(data, at)
        return (number + (generation // 2 << TIME_BITS), data[at:at + 16]), at + 16

    row, at = stamp(at)
    stamps, at = {}, begin
    for _ in range(n):
        size, at = varint(data, at)
        name, at = data[at:at + size].decode(), at + size
        generation, at = varint(data, at)
        kind, (size, at) = data[at], varint(data, at + 1)
        if kind == REGULAR:
            stamps[name] = stamp(at + 1, generation)[0] if data[at] == 1 else {0: row, 2: None}[data[at]]
        at += size
    assert at == len(data)
    return life, row, stamps


def read_stored(data, writers, columns):
    """The same for a cell as stored, its columns by their numbers."""
    life, at = varint(data, 0)
    if life % 2 == 0:
        assert at == len(data)
        return life, None, {}

    def stamp(at):
        number, at = varint(data, at)
        writer, at = varint(data, at)
        return (number, writers[writer]), at

    row, at = stamp(at)
    known, at = varint(data, at)
    stamps = {column: row if column < known else None for column in range(columns)}
    while at < len(data):
        code, at = varint(data, at)
        stamps[code // 2] = None
        if code % 2 == 0:
            stamps[code // 2], at = stamp(at)
    return life, row, stamps


def read_journal(db):
    """Returns the numbers of the stamps that the journal has, by row and number of the column."""
    stamps = {}
    table, = rows(db, "SELECT number FROM counter_tables WHERE name = 't_counters'")[0]
    journal = rows(db, "SELECT _seq, entries FROM counter_journal ORDER BY _seq")
    for number, data in ((number, data) for number, entries in journal for of, data in groups(entries) if of == table):
        row, at = 0, 0
        while at < len(data):
            moved, at = varint(data, at)
            code, at = varint(data, at)
            row = (row + (moved >> 1 ^ -(moved & 1)) + 2**63) % 2**64 - 2**63
            if code == 1:
                stamps = {}
            elif code == 4:
                word, at = varint(data, at)
                mask, at = varint(data, at)
                own, at = varint(data, at) if word % 2 else (number, at)
                stamps.update({(row, word // 2 * 60 + bit): own for bit in range(60) if mask >> bit & 1})
            elif code == 5:
                stamps = {key: n for key, n in stamps.items() if key[0] != row}
            elif code == 6:  # by what the entries behind it came
                at = varint(data, varint(data, at + 16)[1])[1]
            elif code >= 16 and code % 8 < 2:
                for _ in range(1 + code % 8):
                    at = varint(data, at)[1]
            elif code in (2, 3) or code >= 16 and code % 8 > 2:
                at = varint(data, at)[1]
    return stamps


def in_varint(n):
    return bytes([n & 127 | 128]) + in_varint(n >> 7) if n > 127 else bytes([n])


def set_clock(db, number):
    """Brings a stamp with this number, as of a file whose clock is ahead, into a table of its own."""
    row = b"\x01" + in_varint(number) + bytes(range(16))
    db.execute("INSERT INTO counter_changes VALUES ('clock', counter_key('ahead'), ?, 1, '7529cd67-394b-3247-8020-f2a7272fc8d9')",
               (b"\x01\x01\x01" + in_varint(len(row)) + row + b"\x00",))


class Later:
    """A stamp that is not known yet: higher than that of `old`, a (stamp, value) or None, or `old` may stay."""

    def __init__(self, old, may_stay=False):
        later = old and isinstance(old[0], Later)
        self.old = old[0].old if later else old
        self.may_stay = may_stay and (not later or old[0].may_stay)


class Row:
    """A row of the model: `columns` has a (stamp, value) for each regular column, None without a stamp."""

    def __init__(self, names, counters):
        self.life, self.row, self.columns = 0, None, dict.fromkeys(names)
        self.counters = {name: Counter() for name in counters}

    def copy(self):
        row = Row(self.columns, self.counters)
        row.life, row.row, row.columns = self.life, self.row, dict(self.columns)
        for name, counter in self.counters.items():
            row.counters[name].life, row.counters[name].operations = counter.life, counter.operations
        return row

    def is_live(self):
        return self.life % 2 == 1

    def end(self):
        self.life += 1
        self.row, self.columns = None, dict.fromkeys(self.columns)
        self.counters = {name: Counter() for name in self.counters}

    def join(self, other):
        if other.life > self.life:
            mine = other.copy()
            self.life, self.row, self.columns, self.counters = mine.life, mine.row, mine.columns, mine.counters
        elif other.life == self.life and self.is_live():
            self.row = max(self.row, other.row)
            for name, theirs in other.columns.items():
                mine = self.columns[name]
                if theirs and (not mine or theirs[0] > mine[0]):
                    self.columns[name] = theirs
            for name, counter in other.counters.items():
                self.counters[name].merge(counter)

    def shown(self):
        return tuple(self.columns[name] and self.columns[name][1] for name in self.columns) + tuple(
            counter.value() for counter in self.counters.values())


def same(a, b):
    return type(a) is type(b) and a == b


class File:
    regular, counters = ("name", "price", "note"), ("stock", "sold")

    def __init__(self, path, kind, type="TEXT"):
        self.path, self.model, self.keys = str(path), {}, KEYS[type]
        self.db = connect(self.path)
        self.db.execute("PRAGMA synchronous = OFF")
        rows(self.db, "CREATE TABLE clock(k TEXT NOT NULL PRIMARY KEY)")
        rows(self.db, "SELECT counter_replicate('clock')")
        counters = ", ".join(f"{name} INTEGER" for name in self.counters)
        regular = ", ".join(self.regular)
        self.db.execute(f"CREATE TABLE t(k {type} NOT NULL PRIMARY KEY, {regular}{', ' + counters if counters else ''}) {kind}")
        names = "".join(f", '{name}'" for name in self.counters)
        assert rows(self.db, f"SELECT counter_replicate('t', 'keys=assigned'{names})") == [(0,)]

    def row(self, key):
        return self.model.setdefault(key, Row(self.regular, self.counters))

    def cells(self):
        """The row cells as the feed gives them, by key."""
        return {key: read_cell(cell) for key, cell in rows(
            self.db, "SELECT json_extract(counter_key_json(key), '$[0]'), change FROM counter_changes(0) "
            "WHERE table_name = 't' AND substr(change, 1, 2) = x'0101'")}

    def cells_in_transaction(self):
        """The same of what is not committed yet, which the feed does not give."""
        rows(self.db, "SAVEPOINT appends")
        rows(self.db, "RELEASE appends")
        writers = {n: bytes(id) for id, n in rows(
            self.db, "SELECT name, value FROM counter_state WHERE kind = 'writer'")}
        numbers = dict(rows(self.db, "SELECT name, row FROM counter_state WHERE kind = 'column' AND row >= 0"))
        mine, = rows(self.db, "SELECT id FROM counter_replica")[0]
        journal, cells = read_journal(self.db), {}
        for id, key, data in rows(self.db, "SELECT _rowid_, k, _row FROM t_counters_cells WHERE _row IS NOT NULL"):
            life, row, stamps = read_stored(data, writers, len(numbers))
            stamps.update({column: (journal[id, column], mine) for column in stamps if (id, column) in journal})
            cells[key] = life, row, {name: stamps[number] for name, number in numbers.items()} if stamps else {}
        return cells

    def stamp(self, key, values, names, may_stay=()):
        """Writes the columns with these names. Their stamps are known when `learn` reads them."""
        row = self.row(key)
        for name in names:
            row.columns[name] = (Later(row.columns[name], name in may_stay), values[name])

    def learn(self, within=False):
        """Takes the stamps of what was written from the file; they must be new and higher."""
        cells = self.cells_in_transaction() if within else self.cells()
        for key, row in self.model.items():
            if not row.life:
                continue
            life, row.row, stamps = cells[key]
            assert life == row.life
            for name, written in row.columns.items() if row.is_live() else ():
                stamp = stamps[name]
                if written and isinstance(written[0], Later):
                    old = written[0].old
                    stays = old and written[0].may_stay and stamp == old[0]
                    assert stays or stamp is not None and (old is None or stamp[0] > old[0][0])
                    row.columns[name] = old if stays else (stamp, written[1])
                else:
                    assert stamp == (written and written[0])

    def inserted(self, key, values):
        row = self.row(key)
        if not row.is_live():
            row.life += 1
        for name, counter in row.counters.items():
            counter.set(values[name])
        self.stamp(key, values, self.regular)

    def updated(self, key, values):
        row = self.row(key)
        now = dict(zip(self.regular + self.counters, row.shown()))
        for name in self.counters:
            if name in values:
                row.counters[name].set(values[name])
        self.stamp(key, values, {name for name in self.regular if name in values and not same(values[name], now[name])})

    def deleted(self, key):
        self.row(key).end()

    def values(self, draw, names):
        return {name: draw.choice([None, 0, 1, 5, -3, 40]) if name in self.counters else draw.choice(VALUES)
                for name in names}

    def act(self, draw):
        key = draw.choice(self.keys)
        row, everything = self.row(key), self.regular + self.counters
        act = draw.choice(["insert", "update", "update", "update", "delete", "replace", "upsert", "key", "add"])
        if act == "insert" and not row.is_live() or act == "replace":
            values = self.values(draw, everything)
            self.db.execute(f"{'REPLACE' if act == 'replace' else 'INSERT'} INTO t(k, {', '.join(everything)}) "
                            f"VALUES (?{', ?' * len(everything)})", (key, *values.values()))
            self.inserted(key, values)
        elif act == "update" and row.is_live():
            values = self.values(draw, draw.sample(everything, draw.randint(1, len(everything))))
            self.db.execute(f"UPDATE t SET {', '.join(f'{name} = ?' for name in values)} WHERE k = ?", (*values.values(), key))
            self.updated(key, values)
        elif act == "add" and row.is_live() and self.counters:
            name, n = draw.choice(self.counters), draw.randint(-9, 9)
            self.db.execute(f"UPDATE t SET {name} = {name} + ? WHERE k = ?", (n, key))
            if row.counters[name].value() is not None and n != 0:
                row.counters[name].add(n)
        elif act == "delete" and row.is_live():
            self.db.execute("DELETE FROM t WHERE k = ?", (key,))
            self.deleted(key)
        elif act == "upsert":
            values = self.values(draw, everything)
            name = draw.choice(self.regular)
            self.db.execute(f"INSERT INTO t(k, {', '.join(everything)}) VALUES (?{', ?' * len(everything)}) "
                            f"ON CONFLICT (k) DO UPDATE SET {name} = excluded.{name}", (key, *values.values()))
            if row.is_live():
                self.updated(key, {name: values[name]})
            else:
                self.inserted(key, values)
        elif act == "key" and row.is_live():
            to = draw.choice([k for k in self.keys if not self.row(k).is_live()] or [key])
            if to != key:
                values = dict(zip(everything, row.shown()))
                self.db.execute("UPDATE t SET k = ? WHERE k = ?", (to, key))
                self.deleted(key)
                self.inserted(to, values)

    def transact(self, draw):
        """Writes in a transaction or without one; what is rolled back has not happened."""
        if draw.random() < .5:
            self.act(draw)
            self.learn()
            return
        self.db.execute("BEGIN")
        before = {key: row.copy() for key, row in self.model.items()}
        for _ in range(draw.randint(1, 4)):
            kept = {key: row.copy() for key, row in self.model.items()}
            back = draw.random() < .3
            if back:
                self.db.execute("SAVEPOINT s")
            self.act(draw)
            if back:
                self.db.execute("ROLLBACK TO s")
                self.db.execute("RELEASE s")
                self.model = kept
        if draw.random() < .8:
            self.db.execute("COMMIT")
            self.learn()
        else:
            self.db.execute("ROLLBACK")
            self.model = before

    def merge(self, other):
        for key, row in other.model.items():
            self.row(key).join(row)

    def check(self):
        wanted = sorted((key, *row.shown()) for key, row in self.model.items() if row.is_live())
        found = sorted(rows(self.db, f"SELECT k, {', '.join(self.regular + self.counters)} FROM t"), key=lambda row: row[0])
        wanted.sort(key=lambda row: row[0])
        assert [tuple(map(repr, row)) for row in found] == [tuple(map(repr, row)) for row in wanted]
        self.check_cells()
        assert rows(self.db, "SELECT count(*) FROM counter_state WHERE kind = 'apart'") == [(0,)]
        assert rows(self.db, "SELECT * FROM counter_tracked WHERE state NOT IN ('tracked', 'regular')") == []


    def check_cells(self):
        cells = self.cells()
        for key, row in self.model.items():
            stamps = {name: value and value[0] for name, value in row.columns.items()} if row.is_live() else {}
            assert not row.life or cells[key] == (row.life, row.row, stamps)


class Columns(File):
    """A table without any counter."""
    counters = ()


def meet(draw, one, other):
    way = draw.choice(["pull", "push", "sync", "full", "feed", "lines"])
    name = other.path
    attached = draw.random() < .5
    if attached:
        one.db.execute("ATTACH ? AS other", (other.path,))
        name = "other"
    begun = draw.random() < .2 and attached is False and way == "pull"
    if begun:
        one.db.execute("BEGIN")
        one.act(draw)
        one.learn(within=True)
    if way == "feed":  # in any order, some rows twice
        feed = rows(other.db, "SELECT table_name, key, change, seq, source FROM counter_changes(0)")
        feed += draw.sample(feed, len(feed) // 3)
        draw.shuffle(feed)
        for row in feed:
            one.db.execute("INSERT INTO counter_changes(table_name, key, change, seq, source) VALUES (?, ?, ?, ?, ?)", row[:5])
        if draw.random() < .5:  # the end of a batch; it tries rows that are apart again
            one.db.execute("SELECT counter_seen(counter_id(), 0, 0)").fetchall()
    elif way == "lines":
        source = rows(other.db, "SELECT counter_source()")[0][0]
        since = rows(one.db, "SELECT counter_mark(?)", source)[0][0] if source and draw.random() < .5 else 0
        lines = [line for line, in rows(other.db, "SELECT line FROM counter_lines(?)", since)]
        answer = json.loads(rows(one.db, "SELECT counter_take(?)", "\n".join(lines * draw.randint(1, 2)))[0][0])
        assert not lines or answer["marks"][source] == rows(other.db, "SELECT counter_changes_end()")[0][0]
    elif way == "full":
        rows(one.db, "SELECT * FROM counter_pull(?, 'full')", name)
    else:
        rows(one.db, f"SELECT * FROM counter_{way}(?)", name)
    if way != "push":
        one.merge(other)
    if begun:
        one.act(draw)
        one.db.execute("COMMIT")
        one.learn()
    if attached:
        one.db.execute("DETACH other")
    if way in ("push", "sync"):
        other.merge(one)


def act_and_meet(draw, files):
    """Any acts and meetings, perhaps with a clock that is ahead; at the end each file has met each other one."""
    if draw.random() < .5:
        ahead = draw.choice([1, 60, 3600, 10**7]) * 1000
        set_clock(draw.choice(files).db, (int(time.time() * 1000) + ahead) * 4096 if draw.random() < .8 else LAST_NUMBER)
    for step in range(draw.choice([10, 40, 80])):
        one, other = draw.sample(files, 2)
        if draw.random() < .7:
            one.transact(draw)
        else:
            meet(draw, one, other)
            other.check()
        one.check()
    for _ in range(2):
        for one in files:
            for other in files:
                if one is not other:
                    rows(one.db, "SELECT * FROM counter_sync(?)", other.path)
                    one.merge(other)
                    other.merge(one)


@pytest.mark.parametrize("number", range(EXAMPLES // 4))
def test_files_that_merge_show_the_rows_of_the_lattice(tmp_path, number):
    draw = random.Random(f"{SEED} replicated {number}")
    kind = draw.choice(["", "", "WITHOUT ROWID"])
    made = draw.choice([File, File, Columns])
    type = draw.choice(["TEXT", "INTEGER"])
    files = [made(tmp_path / f"{i}.db", kind, type) for i in range(draw.randint(2, 4))]
    act_and_meet(draw, files)
    for file in files:
        file.check()
        assert [file.row(key).shown() for key in file.keys] == [files[0].row(key).shown() for key in file.keys]


def test_a_write_that_fails_leaves_no_number_of_the_journal_behind(tmp_path):
    path, peer = str(tmp_path / "m.db"), str(tmp_path / "peer.db")
    one = connect(path)
    rows(one, "CREATE TABLE t(k TEXT PRIMARY KEY NOT NULL, v, n INTEGER)")
    rows(one, "INSERT INTO t VALUES ('x', 1, 1)")
    rows(one, "SELECT counter_replicate('t', 'n')")
    rows(one, "VACUUM INTO ?", peer)
    other, third = connect(path), connect(peer)
    one.set_authorizer(lambda act, name, *_: sqlite3.SQLITE_DENY if act == sqlite3.SQLITE_INSERT and name == "counter_state"
                       else sqlite3.SQLITE_OK)
    with pytest.raises(sqlite3.DatabaseError, match="not authorized"):  # the number of a writer, after that of the stamp
        rows(one, "INSERT INTO t VALUES ('new', 1, 1)")
    one.set_authorizer(None)
    time.sleep(.01)
    rows(other, "UPDATE t SET v = 'other', n = n + 1 WHERE k = 'x'")
    rows(third, "SELECT * FROM counter_pull(?)", path)
    rows(one, "UPDATE t SET v = 'one', n = n + 100 WHERE k = 'x'")
    rows(third, "SELECT * FROM counter_pull(?)", path)
    assert rows(third, "SELECT * FROM t") == rows(one, "SELECT * FROM t") == [("x", "one", 102)]
    rows(other, "INSERT INTO t_counters(t_counters) VALUES ('optimize')")
    assert rows(connect(path), "SELECT n FROM t_counters") == [(102,)]


# ---- constraints and triggers of the application ----

class Strict(File):
    """A table that refuses rows and changes them, so that what it shows is not always what was merged."""
    regular = ("name", "price", "note", "changed")
    TRIGGERS = [
        "CREATE TRIGGER touch AFTER UPDATE OF name, price ON t BEGIN UPDATE t SET changed = ifnull(changed, 0) + 1 WHERE k = NEW.k; END",
        "CREATE TRIGGER audit AFTER INSERT ON t BEGIN INSERT INTO log VALUES (NEW.k, NEW.name); END",
        "CREATE TRIGGER trim AFTER INSERT ON t WHEN typeof(NEW.name) = 'text' AND length(NEW.name) > 2 BEGIN "
        "UPDATE t SET name = substr(NEW.name, 1, 2) WHERE k = NEW.k; END",
        "CREATE TRIGGER latest AFTER UPDATE OF name ON t BEGIN INSERT OR REPLACE INTO seen VALUES (NEW.k); END",
        "CREATE TRIGGER once AFTER INSERT ON t BEGIN INSERT OR IGNORE INTO seen VALUES (NEW.k); END",
        "CREATE TRIGGER refuse BEFORE INSERT ON t WHEN NEW.price = -5 BEGIN SELECT RAISE(ABORT, 'no'); END",
        "CREATE TRIGGER skip BEFORE UPDATE ON t WHEN NEW.price = 2.5 BEGIN SELECT RAISE(IGNORE); END"]

    def __init__(self, path, kind, draw, type="TEXT"):
        self.path, self.model, self.keys = str(path), {}, KEYS[type]
        self.db = connect(self.path)
        for sql in ("PRAGMA synchronous = OFF", "CREATE TABLE log(k, name)", "CREATE TABLE seen(k PRIMARY KEY)",
                    "CREATE TABLE clock(k TEXT NOT NULL PRIMARY KEY)",
                    "SELECT counter_replicate('clock')",
                    f"CREATE TABLE t(k {type} NOT NULL PRIMARY KEY, name NOT NULL, price CHECK (price IS NOT 1), note UNIQUE, "
                    f"changed, stock INTEGER CHECK (stock > -12), sold INTEGER) {kind}"):
            self.db.execute(sql)
        triggers = draw.sample(self.TRIGGERS, draw.randint(0, 3))
        before = draw.randint(0, len(triggers))
        for sql in triggers[:before]:
            self.db.execute(sql)
        rows(self.db, "SELECT counter_replicate('t', 'stock', 'sold', 'keys=assigned')")
        for sql in triggers[before:]:
            self.db.execute(sql)

    def table(self):
        return {row[0]: row[1:] for row in rows(self.db, f"SELECT k, {', '.join(self.regular + self.counters)} FROM t")}

    def act(self, draw):
        key, everything = draw.choice(self.keys), self.regular + self.counters
        before = self.table()
        values = self.values(draw, everything)
        names = ", ".join(everything)
        marks = ", ".join("?" * len(everything))
        name = draw.choice(everything)
        stock = before.get(key, (None,) * 6)[4]
        act, given = draw.choice([
            ((f"INSERT INTO t(k, {names}) VALUES (?, {marks})", key, *values.values()), values),
            ((f"REPLACE INTO t(k, {names}) VALUES (?, {marks})", key, *values.values()), values),
            ((f"UPDATE t SET {name} = ? WHERE k = ?", values[name], key), {name: values[name]}),
            ((f"UPDATE t SET {name} = ? WHERE k = ?", values[name], key), {name: values[name]}),
            (("UPDATE t SET stock = stock - 5, note = ? WHERE k = ?", values["note"], key),
             {"stock": None if stock is None else stock - 5}),
            ((f"UPDATE OR IGNORE t SET name = ?, note = ? WHERE k = ?", values["name"], values["note"], key), {}),
            (("DELETE FROM t WHERE k = ?", key), {})])
        try:
            writes = self.db.execute(act[0], act[1:]).rowcount > 0
        except sqlite3.IntegrityError:
            assert self.table() == before
            return
        after = self.table()
        for k in before.keys() | after.keys():
            changed = before.get(k) is None or after.get(k) is None or any(
                not same(a, b) for a, b in zip(before[k], after[k]))
            inserts = act[0].startswith(("INSERT", "REPLACE")) and k == key
            if k not in after:
                self.deleted(k)
            elif k not in before or inserts:
                self.wrote(k, before.get(k), after[k], True, given)
            elif changed or given and k == key and writes:
                self.wrote(k, before[k], after[k], False, given if k == key else {})

    def wrote(self, key, before, after, inserts, given):
        row = self.row(key)
        waited = before is None and row.is_live()
        if not row.is_live():
            row.life += 1
        before = before or (None,) * len(after)
        n = len(self.regular)
        for name, was in zip(self.counters, before[n:]):
            counter, now = row.counters[name], given.get(name, was)
            if name not in given or was is None and now is None:
                continue
            if waited and now is not None:  # it is added to what others have counted
                counter.add(now)
            elif not waited and (was is None or now is None):
                counter.set(now if now is None or counter.value() is None else counter.value() + now)
            elif not waited and now != was:
                counter.add(now - was)
        values = dict(zip(self.regular, after))
        names = self.regular if inserts else {
            name for name, was, now in zip(self.regular, before, after) if not same(was, now)}
        listed = dict(rows(self.db, "SELECT name, value FROM counter_state AS s JOIN t_counters_cells AS c ON c._rowid_ = s.row "
                           "WHERE c.k = ? AND kind = 'apart' AND seq IN (2, 3)", key))
        # the table takes what it refused before, and its triggers fire: that is no write
        again = {name for name, old in row.columns.items()
                 if not inserts and old and same(listed.get(name, values[name]), old[1])}
        self.stamp(key, values, names, again)

    def check(self):
        shown = self.table()
        listed, waits = {}, set()
        waiting, shows, refused, changed, why = 0, 1, 2, 3, 7
        for what, id, name, value in rows(self.db, "SELECT seq, row, name, value FROM counter_state WHERE kind = 'apart'"):
            key = rows(self.db, "SELECT k FROM t_counters_cells WHERE _rowid_ = ?", id)
            if what in (refused, changed):
                listed[key[0][0], name] = value
            elif what == waiting:
                waits.add(key[0][0])
            elif what == shows:
                listed[key[0][0], name] = None
            else:
                assert what == why and "seen" not in value, value
        assert {key for key, row in self.model.items() if row.is_live()} == shown.keys() | waits
        assert not waits & shown.keys()
        merged = {row[0]: row[1:] for row in rows(self.db, "SELECT k, stock, sold FROM t_counters")}
        self.check_cells()
        for key, row in self.model.items():
            if not row.is_live():
                continue
            now = dict(zip(self.regular + self.counters, shown.get(key, (None,) * 6)))
            for name in self.regular:
                value = listed[key, name] if (key, name) in listed else now[name]
                assert same(value, row.columns[name] and row.columns[name][1]), (key, name)
            counts = dict(zip(self.counters, merged.get(key, (None, None))))
            for name, counter in row.counters.items():
                assert (counts[name] or 0) == (counter.value() or 0)
                if key in shown and (key, name) not in listed:
                    assert now[name] == counter.value()


@pytest.mark.parametrize("number", range(EXAMPLES // 4))
def test_what_a_table_refuses_or_changes_is_listed_and_travels_as_it_was_merged(tmp_path, number):
    draw = random.Random(f"{SEED} strict {number}")
    kind = draw.choice(["", "", "WITHOUT ROWID"])
    type = draw.choice(["TEXT", "INTEGER"])
    files = [Strict(tmp_path / f"{i}.db", kind, draw, type) for i in range(draw.randint(2, 4))]
    act_and_meet(draw, files)
    for file in files:
        file.check()


# ---- batches of a feed ----

def test_a_batch_of_a_feed_shows_children_before_their_parents_and_values_that_make_room(tmp_path):
    one, two = (connect(tmp_path / f"{name}.db") for name in ("one", "two"))
    for db in one, two:
        db.executescript("""
            PRAGMA foreign_keys = ON;
            CREATE TABLE slides(id TEXT PRIMARY KEY, deck TEXT NOT NULL REFERENCES decks, place INTEGER NOT NULL UNIQUE);
            CREATE TABLE decks(id TEXT PRIMARY KEY, views INTEGER NOT NULL DEFAULT 0);
            SELECT counter_replicate('slides');
            SELECT counter_replicate('decks', 'views')""")

    def send():
        source, = one.execute("SELECT counter_id()").fetchone()
        since, = two.execute("SELECT counter_mark(?)", (source,)).fetchone()
        batch = one.execute("SELECT table_name, key, change, seq, source, upto FROM counter_changes(?)", (since,)).fetchall()
        two.execute("BEGIN")
        two.executemany("INSERT INTO counter_changes(table_name, key, change, seq, source) VALUES (?, ?, ?, ?, ?)", [row[:5] for row in batch])
        two.execute("SELECT counter_seen(?, ?, ?)", (source, since, batch[0][-1])).fetchall()
        two.execute("COMMIT")
        shown = "SELECT * FROM slides ORDER BY id"
        assert rows(two, shown) == rows(one, shown)
        assert rows(two, "SELECT * FROM counter_tracked WHERE row_key NOT NULL") == []

    one.execute("INSERT INTO decks VALUES ('talk', 5)")
    places = random.Random(SEED).sample(range(1, 31), 30)
    one.executemany("INSERT INTO slides VALUES (?, 'talk', ?)", [(f"s{i:02}", place) for i, place in enumerate(places)])
    send()
    for place in range(30, 0, -1):
        one.execute("UPDATE slides SET place = place + 1 WHERE place = ?", (place,))
    send()
    one.execute("INSERT INTO decks VALUES ('draft', 1)")
    one.execute("UPDATE slides SET deck = 'draft'")
    one.execute("DELETE FROM decks WHERE id = 'talk'")
    send()
    assert rows(two, "SELECT * FROM decks") == [("draft", 1)]


# ---- many columns, and those that are gone ----

def two_files(tmp_path, columns):
    db = connect(tmp_path / "one.db")
    db.execute(f"CREATE TABLE wide(k TEXT PRIMARY KEY NOT NULL, {', '.join(columns)})")
    rows(db, "SELECT counter_replicate('wide')")
    db.execute("INSERT INTO wide(k) VALUES ('x')")
    db.close()
    shutil.copy(tmp_path / "one.db", tmp_path / "two.db")
    return connect(tmp_path / "one.db"), connect(tmp_path / "two.db")


def test_an_update_of_a_column_among_many_stamps_no_other_one(tmp_path):
    columns, written = [f"c{i}" for i in range(130)], [4, 67, 129]
    one, two = two_files(tmp_path, columns)
    for column in columns:
        two.execute(f"UPDATE wide SET {column} = 'two'")
    for i in written:
        one.execute(f"UPDATE wide SET c{i} = 'one'")
    rows(one, "SELECT * FROM counter_sync(?)", str(tmp_path / "two.db"))
    for db in one, two:
        assert rows(db, "SELECT * FROM wide") == [("x", *("one" if i in written else "two" for i in range(130)))]


@pytest.mark.parametrize("dropped", [False, True])
@pytest.mark.parametrize("gone", ["first", "second"])
def test_changes_pass_over_a_column_that_is_gone_or_stays_at_home_here(tmp_path, gone, dropped):
    one, two = two_files(tmp_path, ["first", "second"])
    rows(two, "SELECT counter_untrack('wide', ?)", gone)
    if dropped:
        two.execute(f"ALTER TABLE wide DROP COLUMN {gone}")
    one.execute("UPDATE wide SET first = 5, second = 6")
    changes = rows(one, "SELECT table_name, key, change, seq, source FROM counter_changes(0)")
    two.executemany("INSERT INTO counter_changes(table_name, key, change, seq, source) VALUES (?, ?, ?, ?, ?)", changes)
    stays = "second" if gone == "first" else "first"
    assert rows(two, f"SELECT {stays} FROM wide") == [(6 if stays == "second" else 5,)]
    if not dropped:
        assert rows(two, f"SELECT {gone} FROM wide") == [(None,)]
