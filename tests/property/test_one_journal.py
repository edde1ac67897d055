"""test_one_journal.py - the journal of a file, which all of its counter tables share: a transaction is one row of it, whatever
it writes; what is folded, damaged, dropped or renamed in one table changes nothing in the others; it stays within its limits.
"""

import contextlib
import random
import sqlite3

import pytest

from conftest import EXAMPLES, SEED, needs_journal
from files import connect, groups

LIMIT = 4096  # rows of the journal; then a commit folds


def rows(db, sql, *values):
    return db.execute(sql, values).fetchall()


def create(db, *tables):
    for table in tables:
        db.execute(f"CREATE VIRTUAL TABLE {table} USING counter(k TEXT PRIMARY KEY, n COUNTER)")


def count(db, table, key="a", n=1):
    db.execute(f"INSERT INTO {table} VALUES (?, ?)", [key, n])


def number_of(db, table):
    return rows(db, "SELECT number FROM counter_tables WHERE name = ?", table)[0][0]


def journal(db):
    """The tables of each row."""
    return [[table for table, _ in groups(entries)] for entries, in rows(db, "SELECT entries FROM counter_journal ORDER BY _seq")]


def check(db):
    assert rows(db, "PRAGMA integrity_check") == [("ok",)]
    for table, in rows(db, "SELECT name FROM counter_tables"):
        db.execute(f'INSERT INTO "{table}"("{table}") VALUES (\'integrity-check\')')
    for tabs, entries in rows(db, "SELECT tabs, entries FROM counter_journal"):
        assert tabs == sum({1 << table % 63 for table, _ in groups(entries)})


@pytest.fixture
def path(tmp_path):
    with contextlib.closing(connect(tmp_path / "a.db")) as db:
        create(db, "t", "u", "v")
        for table in "tuv":
            count(db, table)
    return tmp_path / "a.db"


@pytest.fixture
def db(path):
    with contextlib.closing(connect(path)) as db:
        yield db


@needs_journal
def test_a_transaction_over_several_tables_is_one_row(db):
    before = len(journal(db))
    db.execute("BEGIN")
    for table in "tuvut":
        count(db, table)
    db.execute("COMMIT")
    assert [sorted(tables) for tables in journal(db)[before:]] == [[number_of(db, table) for table in "tuv"]]
    db.execute("BEGIN")
    count(db, "t")
    db.execute("SAVEPOINT s")  # appends
    count(db, "u")
    count(db, "t")
    db.execute("COMMIT")
    assert len(journal(db)) == before + 2 and set(journal(db)[-1]) == {number_of(db, "t"), number_of(db, "u")}
    assert [rows(db, f"SELECT n FROM {table}") for table in "tuv"] == [[(5,)], [(4,)], [(2,)]]
    check(db)


@needs_journal
def test_a_fold_of_one_table_leaves_the_amounts_of_the_others(path, db):
    with contextlib.closing(connect(path)) as other:
        for _ in range(3):
            db.execute("BEGIN")
            for table in "tuv":
                count(db, table)
            db.execute("COMMIT")
            assert rows(other, "SELECT t.n, u.n, v.n FROM t, u, v") == rows(db, "SELECT t.n, u.n, v.n FROM t, u, v")
        db.execute("INSERT INTO t(t) VALUES ('optimize')")
        folded = [rows(db, f"SELECT counter_value(n) FROM {table}_cells")[0][0] for table in "tuv"]
        assert folded == [4, 1, 1]
        assert sum(table == number_of(db, "t") for tables in journal(db) for table in tables) == 1
        for one in db, other:
            assert rows(one, "SELECT t.n, u.n, v.n FROM t, u, v") == [(4, 4, 4)]
        count(other, "t")
        assert rows(db, "SELECT n FROM t") == [(5,)]
        for table in "uv":
            db.execute(f"INSERT INTO {table}({table}) VALUES ('optimize')")
        assert len(journal(db)) == 4  # what says that each was folded, and the last count
        check(db)


def test_a_group_that_is_damaged_leaves_the_other_tables_readable_and_committable(path):
    with contextlib.closing(connect(path)) as db:
        t = number_of(db, "t")
        db.execute("INSERT INTO counter_journal SELECT max(_seq) + 1, ?, ? FROM counter_journal", [1 << t, bytes([0xE4, t, 2, 2, 15])])
    with contextlib.closing(connect(path)) as db:
        for sql in "SELECT * FROM t", "INSERT INTO t VALUES ('a', 1)", "INSERT INTO t(t) VALUES ('optimize')":
            with pytest.raises(sqlite3.DatabaseError, match="counter_journal is damaged: row .* has entries of a newer version"):
                rows(db, sql)
        for table in "uv":
            count(db, table)
            assert rows(db, f"SELECT n FROM {table}") == [(2,)]
            db.execute(f"INSERT INTO {table}({table}) VALUES ('optimize')")
            db.execute(f"INSERT INTO {table}({table}) VALUES ('integrity-check')")
        db.execute("DROP TABLE t")
        check(db)


@needs_journal
def test_a_journal_that_is_twice_too_long_is_shortened_whoever_wrote_it(tmp_path):
    """Of many tables none has many rows, and one cannot be read."""
    tables = [f"t{i}" for i in range(150)]
    with contextlib.closing(connect(tmp_path / "a.db")) as db:
        db.execute("PRAGMA synchronous = OFF")
        db.execute("PRAGMA journal_mode = WAL").fetchall()
        create(db, *tables)
        db.execute("BEGIN")
        for table in tables:
            count(db, table)
        db.execute("COMMIT")
        db.execute("INSERT INTO counter_journal SELECT min(_seq) - 1, ?, ? FROM counter_journal",
                   [1 << number_of(db, "t0"), bytes([0xE4, number_of(db, "t0"), 2, 2, 15])])
    with contextlib.closing(connect(tmp_path / "a.db")) as db, contextlib.closing(connect(tmp_path / "a.db")) as other:
        db.execute("PRAGMA synchronous = OFF")
        longest = 0
        for i in range(60 * 149):
            count(db, tables[1 + i % 149])
            if i % 64 == 0:
                longest = max(longest, *rows(db, "SELECT count(*) FROM counter_journal")[0])
            if i % 1500 == 0:
                assert rows(other, f"SELECT n FROM {tables[1]}") == rows(db, f"SELECT n FROM {tables[1]}")
        assert LIMIT < longest < 2 * LIMIT + 200
        for one in db, other:
            assert {n for table in tables[1:] for n, in rows(one, f"SELECT n FROM {table}")} == {61}
        with pytest.raises(sqlite3.DatabaseError, match="counter_journal is damaged"):
            count(db, "t0")
        for table in tables[1:]:
            db.execute(f"INSERT INTO {table}({table}) VALUES ('integrity-check')")


def test_more_tables_than_bits(tmp_path):
    tables = [f"t{i}" for i in range(140)]
    with contextlib.closing(connect(tmp_path / "a.db")) as db, contextlib.closing(connect(tmp_path / "b.db")) as peer:
        create(db, *tables)
        create(peer, *tables[100:])
        for begin, end in ("BEGIN", "COMMIT"), ("SELECT 1", "SELECT 1"), ("BEGIN", "COMMIT"):
            rows(db, begin)
            for i, table in enumerate(tables):
                count(db, table, "a", i)
            rows(db, end)
        db.execute("INSERT INTO t1(t1) VALUES ('optimize')")  # of the same bit: t64 and t127
        db.execute("DROP TABLE t2")
        tables.remove("t2")
        check(db)
        rows(peer, f"SELECT * FROM counter_pull('{tmp_path}/a.db', 'create tables')")
        with contextlib.closing(connect(tmp_path / "a.db")) as other:
            for table in tables:
                for one in db, other, peer:
                    assert rows(one, f"SELECT n FROM {table}") == [(3 * int(table[1:]),)], table
        rows(peer, f"SELECT * FROM counter_pull('{tmp_path}/a.db')")
        check(peer)


def test_the_number_of_a_dropped_table_is_not_given_again(path, db):
    highest = number_of(db, "v")
    db.execute("DROP TABLE v")
    assert highest not in [table for tables in journal(db) for table in tables]
    assert rows(db, "SELECT * FROM counter_segments WHERE tab = ?", highest) == []
    create(db, "v")
    assert number_of(db, "v") == highest + 1 and rows(db, "SELECT * FROM v") == []
    db.execute("DROP TABLE v")
    rows(db, "SELECT counter_fork()")
    with contextlib.closing(connect(path)) as other:
        create(other, "v")
        assert number_of(db, "v") == highest + 2
    check(db)


@pytest.mark.parametrize("name", ["counter_journal", "counter_segments", "counter_state", "counter_requests"])
@pytest.mark.parametrize("what", ["TABLE {}(x)", "VIEW {} AS SELECT 1"])
def test_a_table_of_the_user_with_a_name_of_ours_is_refused_by_a_sentence(tmp_path, name, what):
    with contextlib.closing(connect(tmp_path / "a.db")) as db:
        db.execute("CREATE " + what.format(name))
        with pytest.raises(sqlite3.Error, match="t: the names counter_journal, counter_segments, .* are reserved|is damaged: it is not an"):
            create(db, "t")
        assert rows(db, "SELECT name FROM sqlite_master") == [(name,)]
        db.execute(f"DROP {what.split()[0]} {name}")
        create(db, "t")
        count(db, "t")
        assert rows(db, "SELECT n FROM t") == [(1,)]


class World:
    """Several connections to one file, and what each of its tables must show."""

    NAMES = [f"t{i}" for i in range(6)]

    def __init__(self, folder, seed):
        self.chance, self.path, self.follower = random.Random(seed), str(folder / f"{seed}.db"), str(folder / f"{seed} peer.db")
        self.all = [self.open() for _ in range(3)]
        self.tables, self.open_ones = {}, []  # by name; those of BEGIN and each savepoint
        self.db = self.all[0]
        for name in self.NAMES[:4]:
            self.create(name)

    def open(self):
        db = connect(self.path)
        db.execute("PRAGMA synchronous = OFF")
        return db

    def copy(self):
        return {name: dict(of) for name, of in self.tables.items()}

    def create(self, name):
        create(self.db, name)
        self.tables[name] = {}

    def step(self):
        chance, names = self.chance, [*self.tables]
        what = chance.choices(["count", "delete", "fold", "begin", "savepoint", "back", "end", "undo", "create", "drop", "rename",
                               "look", "reopen", "fork"], [40, 3, 4, 8, 8, 5, 8, 3, 2, 2, 2, 12, 2, 1])[0]
        if not self.open_ones:
            self.db = chance.choice(self.all)
        name = chance.choice(names) if names else None
        if what == "count" and name:
            for table in chance.sample(names, chance.randint(1, len(names))):
                key, n = chance.choice("abcd"), chance.choice([1, 1, 5, -2])
                count(self.db, table, key, n)
                self.tables[table][key] = self.tables[table].get(key, 0) + n
        elif what == "delete" and name:
            key = chance.choice("abcd")
            self.db.execute(f"DELETE FROM {name} WHERE k = ?", [key])
            self.tables[name].pop(key, None)
        elif what == "fold" and name:
            self.db.execute(f"INSERT INTO {name}({name}) VALUES ('optimize')")
        elif what == "begin" and not self.open_ones:
            self.db.execute(chance.choice(["BEGIN", "BEGIN IMMEDIATE"]))
            self.open_ones = [self.copy()]
        elif what == "savepoint" and self.open_ones:
            self.db.execute(f"SAVEPOINT s{len(self.open_ones)}")
            self.open_ones.append(self.copy())
        elif what == "back" and len(self.open_ones) > 1:
            at = chance.randrange(1, len(self.open_ones))
            self.db.execute(f"ROLLBACK TO s{at}")
            del self.open_ones[at + 1:]
            self.tables = {name: dict(of) for name, of in self.open_ones[at].items()}
        elif what in ("end", "undo") and self.open_ones:
            self.db.execute("COMMIT" if what == "end" else "ROLLBACK")
            if what == "undo":
                self.tables = self.open_ones[0]
            self.open_ones = []
        elif what == "create" and len(names) < len(self.NAMES):
            self.create(chance.choice([name for name in self.NAMES if name not in self.tables]))
        elif what == "drop" and len(names) > 2:
            self.db.execute(f"DROP TABLE {name}")
            del self.tables[name]
        elif what == "rename" and names and len(names) < len(self.NAMES) and not rows(
                self.db, "SELECT 1 FROM counter_tables WHERE birth IN (SELECT name FROM counter_tables) AND birth <> name"):
            to = chance.choice([name for name in self.NAMES if name not in self.tables])
            if not rows(self.db, "SELECT 1 FROM counter_tables WHERE birth = ?", to):
                self.db.execute(f"ALTER TABLE {name} RENAME TO {to}")
                self.tables[to] = self.tables.pop(name)
                self.db.execute("UPDATE counter_tables SET birth = name WHERE name = ?", [to])  # so that the old name is free
        elif what == "look":
            self.look(self.db, self.tables)
        elif what == "reopen" and not self.open_ones:
            i = chance.randrange(len(self.all))
            self.all[i].close()
            self.all[i] = self.open()
        elif what == "fork" and not self.open_ones:
            rows(self.db, "SELECT counter_fork()")

    def look(self, db, tables):
        for name in self.chance.sample([*tables], len(tables)):
            assert dict(rows(db, f"SELECT * FROM {name}")) == tables[name], name

    def end(self):
        if self.open_ones:
            self.db.execute("COMMIT")
        self.db = self.all[0]
        for db in self.all:
            self.look(db, self.tables)
        check(self.db)
        with contextlib.closing(connect(self.follower)) as peer:
            for _ in range(2):
                rows(peer, f"SELECT * FROM counter_pull('{self.path}', 'create tables')")
                self.look(peer, self.tables)
                for name in self.tables:
                    count(self.db, name, "z")
                    self.tables[name]["z"] = self.tables[name].get("z", 0) + 1
            rows(peer, f"SELECT * FROM counter_pull('{self.path}', 'create tables')")
            self.look(peer, self.tables)
        for db in self.all:
            db.close()


def test_whatever_happens_to_some_tables_each_shows_what_was_counted_in_it(tmp_path):
    for number in range(max(4, EXAMPLES // 2)):
        world = World(tmp_path, SEED + number)
        try:
            for _ in range(120):
                world.step()
            world.end()
        except BaseException:
            print("COUNTER_SEED =", SEED + number)
            raise


@needs_journal
def test_a_commit_after_a_savepoint_was_rolled_back_carries_over_what_two_tables_have_in_a_long_journal(tmp_path):
    path = str(tmp_path / "long.db")
    tables = ["a", "b"] + [f"z{i}" for i in range(200)]
    db = connect(path)
    db.execute("PRAGMA synchronous = OFF")
    db.execute("BEGIN")
    create(db, *tables)
    db.execute("COMMIT")
    for i in range(200):
        count(db, "ab"[i % 2])
    for i in range(2 * LIMIT - 170):  # so many tables that no commit folds any
        count(db, f"z{i % 200}")
    assert len(journal(db)) > 2 * LIMIT
    db.close()
    db = connect(path)
    db.execute("BEGIN")
    count(db, "a")
    count(db, "b")
    for sql in "SAVEPOINT s", "ROLLBACK TO s", "RELEASE s", "COMMIT":
        db.execute(sql)
    db.close()
    db = connect(path)
    assert [rows(db, f"SELECT n FROM {table}")[0][0] for table in ("a", "b")] == [101, 101]
    assert sum(rows(db, f"SELECT n FROM {table}")[0][0] for table in tables[2:]) == 2 * LIMIT - 170
    for table in "a", "b", "z7":
        db.execute(f"INSERT INTO {table}({table}) VALUES ('integrity-check')")
