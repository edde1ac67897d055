"""test_lives.py - connections that live for one statement, and connections that stay while others count and fold.

Whatever the age of a connection, and however full the journal is that it finds, it reads what has been committed, and
counts on top of it. What it keeps in memory stays within bounds, and is given back when it closes. COUNTER_EXAMPLES
scales the numbers.
"""

import contextlib
import ctypes
import gc
import json
import os
import random
import resource
import sqlite3
import statistics
import subprocess
import sys
import time

import pytest

from conftest import EXAMPLES, SEED
from files import connect, optimize
from oracle import Increments, Table

TABLE = "CREATE VIRTUAL TABLE t USING counter(k TEXT PRIMARY KEY, n COUNTER)"
ADD = "INSERT INTO t VALUES (?, ?)"
MOST = 48 * 2**20  # bytes that a connection may keep: its caches and SQLite's pages, several times over

journals = pytest.mark.parametrize("journal", ["WAL", "DELETE"])


def new_file(path, journal, *, rows=0):
    """With so many rows that have been counted in once, in one transaction."""
    with contextlib.closing(connect(path)) as db:
        db.execute(f"PRAGMA journal_mode = {journal}")
        db.execute(TABLE)
        count(db, [(key_of(i), 1) for i in range(rows)])
    return str(path)


def key_of(i):
    return f"key {i:06}"


def count(db, amounts):
    """In one transaction."""
    db.execute("PRAGMA synchronous = OFF")  # no power is cut here
    db.execute("BEGIN IMMEDIATE")
    db.executemany(ADD, amounts)
    db.execute("COMMIT")


def check_whole(path, truth):
    """By all ways of reading, and by those who pull."""
    with contextlib.closing(connect(path)) as db, contextlib.closing(connect(":memory:")) as taker:
        db.execute("INSERT INTO t(t) VALUES ('integrity-check')")
        taker.execute("SELECT * FROM counter_pull(?)", [path]).fetchall()
        for each in db, taker:
            assert dict(each.execute("SELECT k, n FROM t")) == truth
        digests = [each.execute("SELECT counter_table_digest('t')").fetchone() for each in (db, taker)]
        assert digests[0] == digests[1]
        optimize(db, "t")
        assert db.execute("SELECT counter_table_digest('t')").fetchone() == digests[0]
        assert db.execute("SELECT why FROM counter_identity()").fetchall() == [("created",)]


class Truth(dict):
    """What the file must show, by key."""

    def add(self, amounts):
        for key, n in amounts:
            self[key] = self.get(key, 0) + n

    def check_by_key(self, db, keys):
        for key in keys:
            assert db.execute("SELECT n FROM t WHERE k = ?", [key]).fetchone() == (self[key],)

    def check_sum(self, db):
        assert db.execute("SELECT count(*), sum(n) FROM t").fetchone() == (len(self), sum(self.values()))

    def check_range(self, db, first, last):
        rows = db.execute("SELECT k, n FROM t WHERE k BETWEEN ? AND ? ORDER BY k DESC", [first, last]).fetchall()
        assert rows == sorted(((key, n) for key, n in self.items() if first <= key <= last), reverse=True)


# ---- memory ----

def sqlite_memory():
    """Bytes that SQLite and the extension have of its allocator in this process; None if that is another SQLite."""
    try:
        used = ctypes.CDLL("libsqlite3.so.0").sqlite3_memory_used
    except OSError:
        return None
    used.restype = ctypes.c_int64
    gc.collect()
    return used()


def resident():
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * resource.getpagesize()


@pytest.fixture
def memory():
    """Nothing that a test has opened leaves anything behind."""
    before, began = sqlite_memory(), resident()
    if before is None:
        pytest.skip("Python has a SQLite of its own")
    yield lambda: sqlite_memory() - before
    print(f"resident: {began >> 10} KiB before, {resident() >> 10} KiB behind;"
          f" {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss} KiB at most")
    assert sqlite_memory() <= before, "memory that nobody gives back"


# ---- short lives ----

def lifetime(path, live):
    """Opens the file, lives, closes it; how long that took."""
    began = time.perf_counter()
    with contextlib.closing(connect(path, timeout=5)) as db:
        db.execute("PRAGMA synchronous = OFF")
        live(db)
    return time.perf_counter() - began


def milliseconds(times):
    return f"{1000 * statistics.median(times):.2f} ms"


@journals
@pytest.mark.parametrize("beside", [False, True], ids=["alone", "beside one that stays"])
def test_connections_that_count_once_and_close_lose_nothing(tmp_path, memory, journal, beside):
    path, truth, chance = new_file(tmp_path / "one.db", journal), Truth(), random.Random(SEED)
    ways = [ADD, "SELECT counter_add('t', 'n', ?2, ?1)", "UPDATE t SET n = n + ?2 WHERE k = ?1",
            "REPLACE INTO t SELECT ?1, n + ?2 FROM t WHERE k = ?1"]
    times = []
    with contextlib.closing(connect(path if beside else ":memory:")) as stays:
        for _ in range(EXAMPLES):
            amount = key_of(chance.randrange(300)), chance.randint(-3, 9)
            sql = chance.choice(ways) if amount[0] in truth else ADD
            times.append(lifetime(path, lambda db: db.execute(sql, amount).fetchall()))
            truth.add([amount])
            if beside:
                truth.check_by_key(stays, [amount[0]])
    print(f"{journal}: {EXAMPLES} lives, the first of {milliseconds(times[:50])}, the last of"
          f" {milliseconds(times[-50:])}")
    check_whole(path, truth)


def test_what_is_refused_leaves_no_memory_while_the_connection_lives(tmp_path, memory):
    """A write that the trigger of a tracked table refuses, and a commit that a reader keeps out."""
    with contextlib.closing(connect(tmp_path / "one.db")) as db, contextlib.closing(connect(tmp_path / "one.db")) as other:
        db.execute("CREATE TABLE t(k TEXT PRIMARY KEY NOT NULL, n INTEGER DEFAULT 0)")
        db.execute("SELECT counter_replicate('t', 'n')").fetchall()
        db.execute("INSERT INTO t VALUES ('a', 1), ('b', 1)")

        def refused_write():
            with pytest.raises(sqlite3.Error, match="takes an INTEGER, not TEXT 'x'"):
                db.execute("UPDATE t SET n = 'x'")

        def kept_out():
            reads = other.execute("SELECT k FROM t")
            reads.fetchone()
            db.execute("BEGIN")
            db.execute("UPDATE t SET n = n + 1")
            with pytest.raises(sqlite3.OperationalError, match="locked"):
                db.execute("COMMIT")
            db.execute("ROLLBACK")
            reads.close()

        for refused, least in (refused_write, 40), (kept_out, 8):  # bytes of what would be left each time
            for _ in range(20):
                refused()
            used = memory()
            for _ in range(200):
                refused()
            assert memory() - used < 200 * least


@journals
def test_connections_that_read_once_see_all_however_full_the_journal_is(tmp_path, memory, journal):
    """Transactions enough to fill it, and to have it folded, while new connections read: a key, a range, all."""
    path, chance = new_file(tmp_path / "one.db", journal, rows=5000), random.Random(SEED)
    truth, times = Truth((key_of(i), 1) for i in range(5000)), []
    with contextlib.closing(connect(path)) as db:
        for step in range(max(10, EXAMPLES // 50)):
            for _ in range(500):
                amounts = [(key_of(chance.randrange(5500)), chance.randint(-3, 9)) for _ in range(14)]
                count(db, amounts)
                truth.add(amounts)
            keys = chance.sample(sorted(truth), 3)
            times += [lifetime(path, lambda db: truth.check_by_key(db, [key])) for key in keys]
            lifetime(path, truth.check_sum)
            lifetime(path, lambda db: truth.check_range(db, *sorted(keys[:2])))
            lifetime(f"file:{path}?mode=ro", lambda db: truth.check_by_key(db, keys))
    print(f"{journal}: to open, read a key and close took {milliseconds(times)}, {1000 * max(times):.2f} ms at most")
    check_whole(path, truth)


def test_a_connection_that_may_not_write_reads_a_full_journal(tmp_path, memory):
    """It cannot fold."""
    path = new_file(tmp_path / "one.db", "DELETE", rows=1000)
    truth = Truth((key_of(i), 1) for i in range(1000))
    with contextlib.closing(connect(path)) as db:
        for i in range(4000):
            count(db, [(key_of(i % 1000), i)])
            truth.add([(key_of(i % 1000), i)])
    os.chmod(path, 0o444)
    for name in (f"file:{path}?mode=ro", f"file:{path}?immutable=1"):
        with contextlib.closing(connect(name)) as db:
            truth.check_by_key(db, [key_of(7), key_of(999)])
            truth.check_sum(db)
            db.execute("SELECT counter_table_digest('t')").fetchall()
            with pytest.raises(sqlite3.OperationalError, match="readonly"):
                db.execute(ADD, ["x", 1])
            truth.check_sum(db)
    os.chmod(path, 0o644)
    check_whole(path, truth)


# ---- long lives ----

def serve(path):
    """Another process: a line of JSON is a list of transactions, which are lists of keys and amounts, or "optimize"."""
    db = connect(path, timeout=20)
    for line in sys.stdin:
        for one in json.loads(line):
            optimize(db, "t") if one == "optimize" else count(db, one)
        print("done", flush=True)
    db.close()


class Other:
    """The process."""

    def __init__(self, path):
        self.process = subprocess.Popen([sys.executable, __file__, path], text=True, bufsize=1,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def begin(self, transactions):
        self.process.stdin.write(json.dumps(transactions) + "\n")

    def end(self):
        assert self.process.stdout.readline() == "done\n"

    def do(self, transactions):
        self.begin(transactions)
        self.end()

    def count_and_fold(self, truth, transactions):
        for one in transactions:
            truth.add(one)
        self.do([*transactions, "optimize"])

    def close(self):
        self.process.stdin.close()
        assert self.process.wait() == 0
        self.process.stdout.close()


@contextlib.contextmanager
def long_life(folder, journal, rows):
    """Another process on a file with so many rows, a connection that stays, and what they must find."""
    path, truth = new_file(folder / "one.db", journal, rows=rows), Truth((key_of(i), 1) for i in range(rows))
    with contextlib.closing(Other(path)) as other, contextlib.closing(connect(path, timeout=20)) as stays:
        yield other, stays, truth, random.Random(SEED)
    check_whole(path, truth)


def batches(chance, rows, transactions, size):
    return [[(key_of(chance.randrange(rows)), chance.randint(1, 9)) for _ in range(size)] for _ in range(transactions)]


@journals
def test_a_connection_that_stays_reads_the_truth_within_bounded_memory_while_others_fold(tmp_path, memory, journal):
    rows, used = 20000, []
    with long_life(tmp_path, journal, rows) as (other, stays, truth, chance):
        for _ in range(max(6, EXAMPLES // 100)):
            sum_before = sum(truth.values())
            told = batches(chance, rows, 1000, 14)
            for one in told:
                truth.add(one)
            other.begin(told)
            for _ in range(20):  # in its midst
                found = stays.execute("SELECT sum(n) FROM t").fetchone()[0]
                assert sum_before <= found <= sum(truth.values())
                sum_before = found
            other.end()
            truth.check_by_key(stays, chance.sample(sorted(truth), 2000))
            truth.check_sum(stays)
            mine = batches(chance, rows, 1, 500)[0]
            count(stays, mine)
            truth.add(mine)
            truth.check_by_key(stays, [key for key, _ in mine])
            truth.check_range(stays, key_of(100), key_of(300))
            optimize(stays, "t") if chance.random() < 0.5 else other.do(["optimize"])
            truth.check_by_key(stays, chance.sample(sorted(truth), 200))
            used.append(memory())
        print(f"{journal}: in use {', '.join(f'{n >> 10}' for n in used)} KiB; resident {resident() >> 10} KiB")
        assert max(used) < MOST
        assert used[-1] < max(used[:len(used) // 2 + 1]) + 2**20, "it grows"


def test_a_reader_that_stands_on_a_row_ends_as_it_began_while_others_fold(tmp_path, memory):
    """Several statements of one connection, begun at several moments, stand at once: SQLite keeps one snapshot."""
    rows = 3000
    with long_life(tmp_path, "WAL", rows) as (other, stays, truth, chance):
        for _ in range(3):
            then, readers = Truth(truth), []
            for order in ("k", "k DESC", "n, k"):
                readers.append(stays.execute(f"SELECT k, n FROM t ORDER BY {order}"))
                first = readers[-1].fetchone()
                assert then[first[0]] == first[1]
                other.count_and_fold(truth, batches(chance, rows, 300, 7))
                then.check_by_key(stays, chance.sample(sorted(then), 50))
            for reader in readers:
                assert all(then[key] == n for key, n in reader)
                reader.close()
            truth.check_by_key(stays, chance.sample(sorted(truth), 50))
            truth.check_sum(stays)


def test_a_read_transaction_keeps_its_snapshot_while_others_fold(tmp_path, memory):
    """What the connection remembers of rows is of that snapshot too; behind it the rows are as the others left them."""
    rows = 3000
    with long_life(tmp_path, "WAL", rows) as (other, stays, truth, chance):
        for end in ("COMMIT", "ROLLBACK", "COMMIT"):
            stays.execute("BEGIN")
            then = Truth(truth)
            then.check_by_key(stays, chance.sample(sorted(then), 100))
            for _ in range(3):
                other.count_and_fold(truth, batches(chance, rows, 300, 7))
                then.check_by_key(stays, chance.sample(sorted(then), 100))
                then.check_sum(stays)
            with pytest.raises(sqlite3.OperationalError, match="locked"):
                stays.execute(ADD, [key_of(0), 1])  # on top of what it cannot see
            stays.execute(end)
            mine = batches(chance, rows, 1, 100)[0]
            count(stays, mine)
            truth.add(mine)
            truth.check_by_key(stays, chance.sample(sorted(truth), 100))
            truth.check_sum(stays)


class Pair:
    """Two connections on one file, and a third file that both pull from; what the file and that one must show."""

    def __init__(self, folder, journal):
        self.path, self.peer_path = new_file(folder / "one.db", journal), new_file(folder / "peer.db", journal)
        self.both, self.peer = [connect(self.path), connect(self.path)], connect(self.peer_path)
        increments = Increments()
        self.table, self.given = Table(increments, 1), Table(increments, 1)
        self.chance, self.name = random.Random(SEED), "t"

    def close(self):
        for db in (*self.both, self.peer):
            db.close()

    def key(self):
        return f"k{self.chance.randrange(12)}"

    def insert(self, db, table):
        key, n, how = self.key(), self.chance.randint(-3, 9), self.chance.choice(["ABORT", "REPLACE", "IGNORE"])
        db.execute(f"INSERT OR {how} INTO {self.name} VALUES (?, ?)", [key, n])
        table.insert(key, [n], how)

    def update(self, db, table):
        n = self.chance.randint(-3, 9)
        db.execute(f"UPDATE {self.name} SET n = n + ?", [n])
        for key in table.visible():
            table.update(key, [n])

    def delete(self, db, table):
        key = self.key()
        db.execute(f"DELETE FROM {self.name} WHERE k = ?", [key])
        if table.is_visible(key):
            table.delete(key)

    def reset(self, db, table):
        key = self.key()
        db.execute(f"INSERT INTO {self.name}({self.name}, k, n) VALUES ('reset', ?, 4)", [key])
        table.command(key, "reset", [0], [4])

    def pull(self, db, table):
        """After the other file has counted."""
        key = self.key()
        self.peer.execute("INSERT INTO t VALUES (?, 3)", [key])
        self.given.insert(key, [3], "ABORT")
        db.execute("SELECT * FROM counter_pull(?)", [self.peer_path]).fetchall()
        table.merge(self.given)

    def rename(self, db, table):
        name = "u" if self.name == "t" else "t"
        db.execute(f"ALTER TABLE {self.name} RENAME TO {name}")
        self.name = name

    def optimize(self, db, table):
        optimize(db, self.name)

    def fork(self, db, table):
        """The file takes another id."""
        db.execute("SELECT counter_fork()").fetchone()

    def changes(self, db, table, most):
        for _ in range(self.chance.randint(1, most)):
            change = self.chance.choice([self.insert] * 8 + [self.update, self.delete, self.reset, self.pull,
                                                             self.optimize])
            change(db, table)

    def transaction(self, db):
        """Some of it is taken back, or all."""
        table = self.table.copy()
        db.execute("BEGIN IMMEDIATE")
        self.changes(db, table, 4)
        db.execute("SAVEPOINT s")
        inner = table.copy()
        self.changes(db, inner, 4)
        back = self.chance.choice(["RELEASE s", "ROLLBACK TO s"])
        db.execute(back)
        table = inner if back == "RELEASE s" else table
        self.look(db, table)
        end = self.chance.choice(["COMMIT", "COMMIT", "ROLLBACK"])
        db.execute(end)
        self.table = table if end == "COMMIT" else self.table

    def step(self, db):
        if self.chance.random() < 0.3:
            self.transaction(db)
        elif self.chance.random() < 0.05:
            self.chance.choice([self.rename, self.fork])(db, self.table)
        else:
            self.changes(db, self.table, 1)

    def look(self, db, table):
        shown = {key: n for key, (n,) in table.visible().items()}
        keys = [key for key in sorted(shown) if self.chance.random() < 0.5]
        for key in keys:
            assert db.execute(f"SELECT n FROM {self.name} WHERE k = ?", [key]).fetchone() == (shown[key],)
        if self.chance.random() < 0.5:
            assert dict(db.execute(f"SELECT k, n FROM {self.name}")) == shown


@journals
def test_two_connections_that_stay_see_each_others_changes_and_neither_what_was_taken_back(tmp_path, memory, journal):
    with contextlib.closing(Pair(tmp_path, journal)) as pair:
        for db in (*pair.both, pair.peer):
            db.execute("PRAGMA synchronous = OFF")
        for _ in range(2 * EXAMPLES):
            one, two = pair.chance.sample(pair.both, 2)
            pair.step(one)
            pair.look(two, pair.table)
            if pair.chance.random() < 0.3:
                pair.look(one, pair.table)
        for db in pair.both:
            db.execute(f"INSERT INTO {pair.name}({pair.name}) VALUES ('integrity-check')")
            assert len({db.execute("SELECT counter_table_digest(?)", [pair.name]).fetchone() for db in pair.both}) == 1


if __name__ == "__main__":
    serve(sys.argv[1])


def test_names_of_schemas_that_are_detached_keep_no_memory(tmp_path):
    for n in range(4):
        with contextlib.closing(connect(tmp_path / f"{n}.db")) as db:
            db.execute("CREATE VIRTUAL TABLE t USING counter(k TEXT PRIMARY KEY, n COUNTER)")
            db.execute("PRAGMA synchronous = OFF")
    used = []
    with contextlib.closing(connect(tmp_path / "app.db")) as db:
        for tenant in range(3000):
            name = f"tenant{tenant}"
            db.execute(f"ATTACH '{tmp_path}/{tenant % 4}.db' AS {name}")
            db.execute(f"PRAGMA {name}.synchronous = OFF")
            db.execute(f"INSERT INTO {name}.t VALUES ('a', 1)")
            assert db.execute(f"SELECT count(*) FROM {name}.t WHERE k = 'a'").fetchall() == [(1,)]
            db.execute(f"DETACH {name}")
            if tenant in (999, 2999):
                used.append(sqlite_memory())
    assert used[1] - used[0] < 400_000, used  # each name kept 18 kB
    with contextlib.closing(connect(tmp_path / "0.db")) as db:
        assert db.execute("SELECT n FROM t").fetchall() == [(750,)]
