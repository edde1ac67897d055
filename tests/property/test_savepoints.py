"""test_savepoints.py - transactions that change tables and rows, and take some of it back: what the next delta brings
is what a full pull brings.

A file counts, creates, renames, alters and drops its counter tables, sets floors, and pulls from another file, all
within savepoints up to five deep, of which some are rolled back. A second connection counts in it between its
transactions. Followers pull what is new, or read the feed, after each commit and in the middle of transactions; another
one pulls everything. They must be the same, by their digests, and show what the oracle of test_columns.py says.
"""

import contextlib
import pathlib
import sqlite3
import subprocess
import sys
import tempfile
import types

import pytest

from conftest import EXAMPLES
from files import connect, optimize
from oracle import Increments
from randomly import booleans, given, integers, just, lists, none, one_of, sampled_from, tuples
from test_columns import DECLARATION, Columns, Replica, keys, steps as statements
from test_deltas import follow_new
from test_processes import WORKER

BIRTHS = "t", "v"
NAMES = "t", "v", "u", "w"
DEEPEST = 5


class Held(Replica):
    """What one table of a file must show; keys below its floor are gone."""

    def __init__(self, increments, name, floor=""):
        super().__init__(increments, name=name)
        self.floor = floor

    @classmethod
    def unheard_of(cls, increments, name):
        """A table that comes with a pull has no counters but those that come along."""
        held = cls(increments, name)
        held.columns = {}
        return held

    def copy(self):
        held = Held(self.increments, self.name, self.floor)
        plain = super().copy()
        held.columns, held.rows = plain.columns, plain.rows
        return held

    def put(self, key, name, counter):
        if key >= self.floor:
            super().put(key, name, counter)

    def raise_floor(self, floor):
        self.floor = max(self.floor, floor)
        self.rows = {key for key in self.rows if key >= self.floor}
        for column in self.columns.values():
            for key in [key for key in column.cells if key < self.floor]:
                del column.cells[key]

    def merge(self, other):
        self.raise_floor(other.floor)
        super().merge(other)

    def content(self):
        return super().content(), self.floor


def copied(tables):
    return {birth: held.copy() for birth, held in tables.items()}


def merged(increments, tables, given):
    tables = copied(tables)
    for birth, held in given.items():
        if birth not in tables:
            tables[birth] = Held.unheard_of(increments, birth)
        tables[birth].merge(held)
    return tables


class Statements:
    """The statements of test_columns.py on one table: `one` has run() and replica."""

    do, refused, command, alter = Columns.do, Columns.refused, Columns.command, Columns.alter
    insert, update, assign, delete = Columns.insert, Columns.update, Columns.assign, Columns.delete
    reset, reset_one, delete_one, add, drop = (
        Columns.reset, Columns.reset_one, Columns.delete_one, Columns.add, Columns.drop)

    def __init__(self, increments):
        self.increments = increments

    def run(self, db, held, statement):
        verb, key, *rest = statement
        one = types.SimpleNamespace(run=lambda *sql: db.execute(*sql).fetchall(), replica=held)
        if key < held.floor:
            with contextlib.suppress(sqlite3.IntegrityError):
                self.do(one, verb, key, *rest)
        else:
            self.do(one, verb, key, *rest)


def check_shown(db, tables):
    for held in tables.values():
        columns = ", ".join(f'"{name}"' for name in ["k", *held.present()])
        shown = {key: tuple(values) for key, *values in db.execute(f"SELECT {columns} FROM {held.name}")}
        assert shown == held.visible(), f"{held.name} shows something else"


def check_integrity(db, tables):
    for held in tables.values():
        db.execute(f"INSERT INTO {held.name}({held.name}) VALUES ('integrity-check')")


def digests(db, births):
    return {birth: db.execute("SELECT counter_table_digest(?)", [birth]).fetchone() for birth in births}


class Follower:
    """A file that takes everything from one source, by pulls or by the feed, and never counts."""

    def __init__(self, path, how, increments):
        self.path, self.how, self.tables = str(path), how, {}
        self.db = connect(self.path)
        self.db.execute("PRAGMA synchronous = OFF")
        if how == "feed":
            for birth in BIRTHS:
                self.db.execute(f"CREATE VIRTUAL TABLE {birth} USING counter({DECLARATION})")
                self.tables[birth] = Held(increments, birth)

    def follow(self, source, given, increments):
        """A feed says nothing of counters in which nobody has counted."""
        given = {birth: renamed(held, birth) for birth, held in given.items()}
        if self.how == "feed":
            given = {birth: Columns.touched(held) for birth, held in given.items()}
            with contextlib.closing(connect(source)) as db:
                is_empty = not db.execute("SELECT 1 FROM counter_changes(0)").fetchall()
            if not is_empty:
                follow_new(self.path, source)
        else:
            call = "counter_pull(?, 'full')" if self.how == "full" else "counter_pull(?)"
            self.db.execute(f"SELECT * FROM {call}", [source]).fetchall()
        self.tables = merged(increments, self.tables, given)


class World:
    """The file, where `pending` is what its open transaction shows and `stack` its savepoints; the other file that it
    pulls from; and followers. Each maps the names that tables were created with to what is held.

    The file is main, with the other file attached or not; or it is itself attached, to a main without tables."""

    def __init__(self, folder, journal, place, by_feed):
        self.path, self.other_path = str(folder / "one.db"), str(folder / "other.db")
        self.place, self.increments, self.stack = place, Increments(), []
        self.statements = Statements(self.increments)
        self.second, self.other = connect(self.path), connect(self.other_path)
        for db in (self.second, self.other):
            db.execute(f"PRAGMA journal_mode = {journal}")
            for birth in BIRTHS:
                db.execute(f"CREATE VIRTUAL TABLE {birth} USING counter({DECLARATION})")
        self.db = connect(str(folder / "blank.db") if place == "attached" else self.path)
        if place == "attached":
            self.db.execute("ATTACH ? AS one", [self.path])
        elif place == "main and other":
            self.db.execute("ATTACH ? AS other", [self.other_path])
        for db in (self.db, self.second, self.other):
            for _, schema, _ in db.execute("PRAGMA database_list").fetchall():
                db.execute(f"PRAGMA {schema}.synchronous = OFF")
        self.followers = [Follower(folder / "delta.db", "feed" if by_feed else "delta", self.increments),
                          Follower(folder / "full.db", "full", self.increments)]
        self.committed = {file: {birth: Held(self.increments, birth) for birth in BIRTHS} for file in ("one", "other")}
        self.pending, self.begun = self.copy_of(self.committed), None

    def close(self):
        for db in (self.db, self.second, self.other, *(one.db for one in self.followers)):
            db.close()

    @staticmethod
    def copy_of(state):
        return {file: copied(tables) for file, tables in state.items()}

    @property
    def tables(self):
        return self.pending["one"]

    def settle(self):
        """Outside of a transaction everything is committed at once."""
        if not self.db.in_transaction:
            self.committed = self.copy_of(self.pending)

    def perform(self, step):
        what, *rest = step
        getattr(self, what)(*rest)
        self.settle()

    def is_taken(self, name):
        return any(held.name == name for held in self.tables.values())

    # Statements and tables.

    def nothing(self):
        pass

    def statement(self, birth, statement):
        if birth in self.tables:
            self.statements.run(self.db, self.tables[birth], statement)

    def second_counts(self, birth, statement):
        """Another connection: only between transactions, for it would wait."""
        if not self.db.in_transaction and birth in self.tables:
            self.statements.run(self.second, self.tables[birth], statement)

    def other_counts(self, birth, statement):
        if self.place != "main and other" or not self.db.in_transaction:
            self.statements.run(self.other, self.pending["other"][birth], statement)
            self.committed["other"] = copied(self.pending["other"])

    def floor(self, birth, floor):
        if birth in self.tables:
            held = self.tables[birth]
            self.db.execute(f"INSERT INTO {held.name}({held.name}, k) VALUES ('purge below', ?)", [floor])
            held.raise_floor(floor)

    def create(self, birth):
        if birth not in self.tables and not self.is_taken(birth):
            schema = "one" if self.place == "attached" else "main"
            self.db.execute(f"CREATE VIRTUAL TABLE {schema}.{birth} USING counter({DECLARATION})")
            self.tables[birth] = Held(self.increments, birth)

    def drop(self, birth):
        if birth in self.tables:
            self.db.execute(f"DROP TABLE {self.tables.pop(birth).name}")

    def rename(self, birth, name):
        if birth in self.tables and not self.is_taken(name):
            held = self.tables[birth]
            self.db.execute(f"ALTER TABLE {held.name} RENAME TO {name}")
            held.name = name

    def optimize(self, birth):
        if birth in self.tables:
            optimize(self.db, self.tables[birth].name)

    def look(self):
        check_shown(self.db, self.tables)

    def check_integrity(self):
        check_integrity(self.db, self.tables)

    def digest(self, birth):
        """Reads what waits, and is of the pending content."""
        if birth in self.tables and self.place != "attached":
            self.db.execute("SELECT counter_table_digest(?)", [self.tables[birth].name]).fetchall()

    # Transactions.

    def begin(self, how, birth, statement):
        """A deferred one sees what is committed between BEGIN and its first statement."""
        if not self.db.in_transaction:
            self.db.execute(how)
            if how == "BEGIN" and statement and birth in self.tables:
                self.statements.run(self.second, self.tables[birth], statement)
                self.committed = self.copy_of(self.pending)

    def savepoint(self):
        if len(self.stack) < DEEPEST:
            if not self.db.in_transaction:
                self.begun = "SAVEPOINT"
            self.db.execute(f"SAVEPOINT s{len(self.stack)}")
            self.stack.append(self.copy_of(self.pending))

    def release(self, which):
        if self.stack:
            which %= len(self.stack)
            self.db.execute(f"RELEASE s{which}")
            del self.stack[which:]
            if not self.db.in_transaction:
                self.check()

    def rollback_to(self, which):
        if self.stack:
            which %= len(self.stack)
            self.db.execute(f"ROLLBACK TO s{which}")
            del self.stack[which + 1:]
            self.restore(self.stack[which])

    def restore(self, state):
        """What a rollback gives back; of the other file if this connection has it."""
        other = self.pending["other"]
        self.pending = self.copy_of(state)
        if self.place != "main and other":
            self.pending["other"] = other

    def commit(self):
        if self.db.in_transaction:
            self.db.execute("COMMIT")
            self.stack = []
            self.check()

    def rollback(self):
        if self.db.in_transaction:
            self.db.execute("ROLLBACK")
            self.stack = []
            self.restore(self.committed)
            self.check()

    # Other files.

    def pull(self, how, full):
        """Of the other file what it has committed."""
        given = self.committed["other"]
        if self.place == "attached" or any(birth not in self.tables and self.is_taken(birth) for birth in given):
            return
        source = "other" if how == "schema" and self.place == "main and other" else self.other_path
        call = "counter_pull(?, 'full')" if full else "counter_pull(?)"
        self.db.execute(f"SELECT * FROM {call}", [source]).fetchall()
        self.pending["one"] = merged(self.increments, self.tables, given)

    def push(self):
        """What the file has committed, whatever is pending in it; the other file joins the transaction."""
        if self.place == "main and other" and self.committed["one"]:
            self.db.execute("SELECT * FROM counter_push('other')").fetchall()
            self.pending["other"] = merged(self.increments, self.pending["other"], self.committed["one"])

    def other_pulls(self):
        """In the other direction, with a transaction of the file open or not."""
        if (self.place != "main and other" or not self.db.in_transaction) and self.committed["one"]:
            self.other.execute("SELECT * FROM counter_pull(?)", [self.path]).fetchall()
            self.pending["other"] = merged(self.increments, self.pending["other"], self.committed["one"])
            self.committed["other"] = copied(self.pending["other"])

    def follow(self):
        for one in self.followers:
            if self.committed["one"]:
                one.follow(self.path, self.committed["one"], self.increments)

    def check(self):
        """After a commit, and after a rollback: everybody has everything."""
        self.settle()
        self.follow()
        delta, full = self.followers
        for one in self.followers:
            check_shown(one.db, one.tables)
            check_integrity(one.db, one.tables)
        check_shown(self.db, self.tables)
        check_integrity(self.second, self.tables)
        check_shown(self.second, self.tables)
        assert digests(delta.db, full.tables) == digests(full.db, full.tables), "a delta is not the whole"
        for birth, held in self.tables.items():
            if held.content() == full.tables[birth].content():
                assert digests(self.second, [held.name])[held.name] == digests(full.db, [birth])[birth]


def renamed(held, name):
    held = held.copy()
    held.name = name
    return held


def step(what, *arguments):
    return tuples(just(what), *arguments)


def mixed(steps):
    """One of some steps, the more often the higher its number. The first is what an example shrinks to."""
    return one_of(*(one for one, times in steps.items() for _ in range(times)))


births, depths = sampled_from(BIRTHS), integers(0, DEEPEST - 1)
INNERMOST = just(-1)
CHANGES = {step("nothing"): 1, step("statement", births, statements): 8, step("floor", births, keys): 1,
           step("create", births): 2, step("drop", births): 5,
           step("rename", births, sampled_from(NAMES)): 6,
           step("pull", sampled_from(["path", "schema"]), booleans()): 4, step("push"): 1}
LOOKS = {step("look"): 1, step("check_integrity"): 1, step("digest", births): 1, step("follow"): 1}
OTHERS = {step("second_counts", births, statements): 2, step("other_counts", births, statements): 2,
          step("other_pulls"): 1, step("optimize", births): 1}
LEAVE = mixed({step("rollback_to", INNERMOST): 6, step("release", INNERMOST): 3, step("rollback_to", depths): 1,
               step("release", depths): 1, step("nothing"): 1})

single = mixed({**CHANGES, **LOOKS, **OTHERS})
nested = single
for _ in range(DEEPEST):
    nested = mixed({
        single: 3, tuples(step("savepoint"), lists(nested, min_size=1, max_size=4), LEAVE): 1})
begins = mixed({step("savepoint"): 1, step(
    "begin", sampled_from(["BEGIN", "BEGIN IMMEDIATE"]), births, none() | statements): 3})
ends = mixed({step("commit"): 6, step("rollback"): 1})
transactions = tuples(
    tuples(*(step("create", just(birth)) for birth in BIRTHS)), begins,
    step("statement", births, statements), lists(nested, min_size=1, max_size=4), ends,
    lists(single, max_size=2))


def flat(steps):
    """One after the other, out of lists in lists."""
    if steps and isinstance(steps[0], str):
        yield steps
    else:
        for one in steps:
            yield from flat(one)


@given(max(20, EXAMPLES // 6),
       journal=sampled_from(["WAL", "DELETE"]),
       place=sampled_from(["main", "main and other", "attached"]), by_feed=booleans(),
       first=lists(tuples(births, statements), min_size=1, max_size=4),
       taken=lists(transactions, min_size=2, max_size=6))
def test_a_delta_brings_what_a_full_pull_brings_whatever_was_changed_and_taken_back(
        journal, place, by_feed, first, taken):
    with tempfile.TemporaryDirectory(prefix="counter-") as folder:
        world = World(pathlib.Path(folder), journal, place, by_feed)
        with contextlib.closing(world):
            for birth, statement in first:
                world.perform(("statement", birth, statement))
                world.perform(("other_counts", birth, statement))
            world.check()  # the followers have marks
            for one in flat(taken):
                world.perform(one)
            world.check()


# ---- by hand ----

PULL = "SELECT * FROM counter_pull('{other}')"
COUNT = "INSERT INTO t(k, a) VALUES ('b', 5)"

# {other} is a file with a row 'c' in v, and perhaps in t. The file has 'a' in both tables, which it and its followers
# have pulled from each other.
TAKEN_BACK = {
    "DROP and a pull": ["DROP TABLE t", PULL],
    "DROP of another table and a pull": ["DROP TABLE v", PULL],
    "DROP of both and a pull": ["DROP TABLE t", "DROP TABLE v", PULL],
    "DROP and a full pull": ["DROP TABLE t", PULL.replace("')", "', 'full')")],
    "DROP, CREATE and a pull": ["DROP TABLE t", "CREATE t", PULL],
    "RENAME and a pull": ["ALTER TABLE t RENAME TO u", PULL],
    "RENAME twice": ["ALTER TABLE t RENAME TO u", "ALTER TABLE u RENAME TO w"],
    "RENAME there and back": ["ALTER TABLE t RENAME TO u", "ALTER TABLE u RENAME TO t"],
    "RENAME there and back, and a pull": ["ALTER TABLE t RENAME TO u", "ALTER TABLE u RENAME TO t", PULL],
    "RENAME twice and a pull": ["ALTER TABLE t RENAME TO u", "ALTER TABLE u RENAME TO w", PULL],
    "names that change places": ["ALTER TABLE t RENAME TO u", "ALTER TABLE v RENAME TO t", "ALTER TABLE u RENAME TO v"],
    "names that change places, and a count": [
        "ALTER TABLE t RENAME TO u", "ALTER TABLE v RENAME TO t", "INSERT INTO t(k, a) VALUES ('d', 7)"],
    "DROP and a rename of another table": ["DROP TABLE t", "ALTER TABLE v RENAME TO t"],
    "DROP and integrity-check of another table": ["DROP TABLE t", "INSERT INTO v(v) VALUES ('integrity-check')"],
    "DROP and a digest of another table": ["DROP TABLE t", "SELECT counter_table_digest('v')"],
    "DROP and a count in another table": ["DROP TABLE t", "INSERT INTO v(k, a) VALUES ('d', 7)"],
    "DROP, CREATE and RENAME": ["DROP TABLE t", "CREATE t", "ALTER TABLE t RENAME TO u"],
    "DROP, CREATE, a count and RENAME": [
        "DROP TABLE t", "CREATE t", "INSERT INTO t(k, a) VALUES ('d', 7)", "ALTER TABLE t RENAME TO u"],
    "DROP, CREATE, a count and DROP": [
        "DROP TABLE t", "CREATE t", "INSERT INTO t(k, a) VALUES ('b', 7)", "DROP TABLE t"],
    "RENAME, CREATE under another name": ["ALTER TABLE t RENAME TO u", "DROP TABLE v", "CREATE v"],
    "a column that comes": ["INSERT INTO t(t) VALUES ('add column c')", "INSERT INTO t(k, c) VALUES ('b', 7)"],
    "a column that goes": ["INSERT INTO t(t) VALUES ('drop column b')", "INSERT INTO t(k, a) VALUES ('b', 7)"],
    "the column that was counted in": ["INSERT INTO t(t) VALUES ('drop column a')"],
    "a column that goes, and a pull": ["INSERT INTO t(t) VALUES ('drop column b')", PULL],
    "a floor": ["INSERT INTO t(t, k) VALUES ('purge below', 'c')"],
    "a floor and a pull": ["INSERT INTO t(t, k) VALUES ('purge below', 'c')", PULL],
    "reset": ["INSERT INTO t(t, k) VALUES ('reset', 'b')"],
    "DELETE": ["DELETE FROM t WHERE k = 'b'", PULL],
    "a failed statement": ["!INSERT INTO t(k, a) VALUES ('d', 1), ('e', 'five')"],
    "a failed rename": ["!ALTER TABLE t RENAME TO v"],
    "a failed drop of a column": ["!INSERT INTO t(t) VALUES ('drop column z')"],
}


def table(name):
    return f"CREATE VIRTUAL TABLE {name} USING counter({DECLARATION})"


class Trio:
    """A file, another one from which it pulls, and two that pull from it. Those that have marks have pulled once."""

    def __init__(self, folder, journal="WAL", place="path", common=("v",)):
        self.path, self.other = str(folder / "one.db"), str(folder / "other.db")
        for path, key, names in (self.path, "a", BIRTHS), (self.other, "c", common):
            with contextlib.closing(connect(path)) as db:
                db.execute("PRAGMA synchronous = OFF")
                db.execute(f"PRAGMA journal_mode = {journal}")
                for name in names:
                    db.execute(table(name))
                    db.execute(f"INSERT INTO {name}(k, a) VALUES (?, 1)", [key])
        self.db = connect(self.path)
        self.source = self.other
        if place == "attached":
            self.db.execute("ATTACH ? AS other", [self.other])
            self.source = "other"
        self.followers = [connect(str(folder / name)) for name in ("delta.db", "full.db")]
        for db in (self.db, *self.followers):
            db.execute("PRAGMA synchronous = OFF")
        self.run(PULL)
        self.followers[0].execute("SELECT * FROM counter_pull(?)", [self.path]).fetchall()

    def close(self):
        for db in (self.db, *self.followers):
            db.close()

    def pull(self):
        delta, full = self.followers
        delta.execute("SELECT * FROM counter_pull(?)", [self.path]).fetchall()
        full.execute("SELECT * FROM counter_pull(?, 'full')", [self.path]).fetchall()

    def run(self, *statements):
        for sql in statements:
            sql = sql.format(other=self.source)
            if sql.startswith("CREATE "):
                sql = table(sql.split()[1])
            if sql.startswith("!"):
                with pytest.raises(sqlite3.Error):
                    self.db.execute(sql[1:])
            else:
                self.db.execute(sql).fetchall()

    def shows(self, t, v):
        """The file, and its followers, which are the same. The row 'c' is passed over."""
        self.pull()
        assert digests(self.followers[0], BIRTHS) == digests(self.followers[1], BIRTHS), "a delta is not the whole"
        for db in (self.db, *self.followers):
            for name, in db.execute("SELECT name FROM counter_tables").fetchall():
                db.execute(f"INSERT INTO {name}({name}) VALUES ('integrity-check')")
            assert [dict(db.execute(f"SELECT k, a FROM {name} WHERE k <> 'c'")) for name in BIRTHS] == [t, v]


@pytest.fixture
def trio(tmp_path):
    with contextlib.closing(Trio(tmp_path)) as trio:
        yield trio


taken_back = pytest.mark.parametrize("within", TAKEN_BACK.values(), ids=TAKEN_BACK)


@pytest.mark.parametrize("journal, place, common", [
    ("WAL", "path", ("v",)), ("DELETE", "attached", BIRTHS)], ids=["path", "attached"])
@taken_back
def test_what_was_counted_before_a_savepoint_that_is_taken_back_is_in_the_next_delta(
        tmp_path, journal, place, common, within):
    """For example: BEGIN; INSERT INTO t VALUES ('b', 5); SAVEPOINT s; DROP TABLE t; SELECT * FROM
    counter_pull('other.db'); ROLLBACK TO s; COMMIT."""
    with contextlib.closing(Trio(tmp_path, journal, place, common)) as trio:
        trio.run("BEGIN", COUNT, "SAVEPOINT s", *within, "ROLLBACK TO s", "COMMIT")
        trio.shows({"a": 1, "b": 5}, {"a": 1})


@taken_back
def test_what_was_counted_on_both_sides_of_what_is_taken_back_is_in_the_next_delta(trio, within):
    trio.run("SAVEPOINT o", COUNT, "SAVEPOINT s", "SAVEPOINT i", *within, "RELEASE i", "ROLLBACK TO s",
             "INSERT INTO t(k, a) VALUES ('b', 1), ('e', 2)", "RELEASE s", "UPDATE t SET a = a + 10 WHERE k = 'a'",
             "RELEASE o")
    trio.shows({"a": 11, "b": 6, "e": 2}, {"a": 1})


@taken_back
def test_what_is_taken_back_twice_leaves_the_next_delta_whole(trio, within):
    trio.run("BEGIN", COUNT, "SAVEPOINT s", *within, "ROLLBACK TO s", *within, "ROLLBACK TO s",
             "RELEASE s", "INSERT INTO v(k, a) VALUES ('d', 7)", "COMMIT")
    trio.shows({"a": 1, "b": 5}, {"a": 1, "d": 7})


@taken_back
def test_a_transaction_that_is_rolled_back_leaves_nothing_in_the_next_delta(trio, within):
    trio.run("BEGIN", COUNT, "SAVEPOINT s", *within, "ROLLBACK", "INSERT INTO t(k, a) VALUES ('d', 7)")
    trio.shows({"a": 1, "d": 7}, {"a": 1})


def test_what_a_pull_brings_into_a_table_that_it_makes_again_is_in_the_next_delta(tmp_path):
    """Nothing is taken back here: the table is another one, with the row that the pull has brought."""
    with contextlib.closing(Trio(tmp_path, common=BIRTHS)) as trio:
        trio.run("BEGIN", COUNT, "SAVEPOINT s", "DROP TABLE t", PULL, "RELEASE s", "COMMIT")
        trio.pull()
        assert [dict(db.execute("SELECT k, a FROM t")) for db in (trio.db, *trio.followers)] == [
            {"c": 1}, {"a": 1, "c": 1}, {"c": 1}]


@pytest.mark.parametrize("journal", ["WAL", "DELETE"])
def test_counts_of_another_process_are_in_the_deltas_of_a_file_whose_transactions_are_taken_back(tmp_path, journal):
    with contextlib.closing(Trio(tmp_path, journal)) as trio:
        for db in (trio.db, *trio.followers):  # a pull waits for its source as its own connection would
            db.execute("PRAGMA busy_timeout = 20000")
        times = 300
        worker = subprocess.Popen([sys.executable, WORKER, "count", trio.path, str(times)], stdout=subprocess.PIPE)
        counted, withins = 0, list(TAKEN_BACK.values())
        while worker.poll() is None or counted < len(withins):
            within = withins[counted % len(withins)]
            trio.run("BEGIN IMMEDIATE", COUNT, "SAVEPOINT s", *within, "ROLLBACK TO s", "COMMIT")
            counted += 1
            if counted % 5 == 0:
                trio.pull()
        assert len(worker.stdout.read()) == times
        trio.shows({"a": 1, "b": 5 * counted, "k": times}, {"a": 1})
