"""folding_worker.py - one of several processes that use one file at once, until the ledger says stop or it is killed.

    folding_worker.py count FILE LEDGER SLOT SEED          counts in transactions
    folding_worker.py take FILE LEDGER SLOT SEED OTHER     counts in another file, and pulls that into FILE
    folding_worker.py follow FILE LEDGER SLOT SEED OTHER   pulls FILE into another file, and looks at what has come
    folding_worker.py optimize FILE LEDGER SLOT SEED       folds the journals

Each transaction adds one amount three times: to the row 'all' of t, to a row of t that only this process has, and to
the row 'all' of v. Whoever reads in one transaction finds three sums that are equal.
"""

import contextlib
import mmap
import random
import sqlite3
import sys
import time

from files import connect, is_locked, optimize

TABLES = ["CREATE VIRTUAL TABLE t USING counter(k TEXT PRIMARY KEY, n COUNTER)",
          "CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER)"]
ROWS = 300  # of a process
SLOTS = 1 << 16
ONE_STATEMENT = """SELECT (SELECT n FROM t WHERE k = 'all'), (SELECT sum(n) FROM t WHERE k <> 'all'),
                          (SELECT sum(n) FROM v)"""


class Ledger:
    """Numbers that the processes share and that outlive a kill. Slot 0 says when to stop and how many slots there are;
    each other slot how much its process has set out to count, and how much of that was committed."""

    def __init__(self, path):
        with open(path, "a+b") as file:
            file.truncate(16 * SLOTS)
            self.memory = mmap.mmap(file.fileno(), 16 * SLOTS)
        self.numbers = memoryview(self.memory).cast("q")

    def new_slot(self):
        self.numbers[1] += 1
        return self.numbers[1]

    def attempt(self, slot, n):
        self.numbers[2 * slot] += n

    def acknowledge(self, slot, n):
        self.numbers[2 * slot + 1] += n

    def of(self, slot):
        return self.numbers[2 * slot], self.numbers[2 * slot + 1]

    def attempted(self):
        return sum(self.numbers[2:2 * self.numbers[1] + 2:2])

    def acknowledged(self):
        return sum(self.numbers[3:2 * self.numbers[1] + 2:2])

    def stop(self):
        self.numbers[0] = 1

    def has_stopped(self):
        return self.numbers[0] == 1


CUT_OFF = "its last transaction was cut off"  # by kill -9: until somebody who may write the file rolls it back


def insist(db, work):
    """Does what may find the file locked, again and again, each time from the beginning."""
    while True:
        try:
            return work()
        except sqlite3.OperationalError as error:
            if not is_locked(error) and CUT_OFF not in str(error):
                raise
            if db.in_transaction:
                db.execute("ROLLBACK")
            time.sleep(0.001)


def sums(db):
    """The three sums of one read transaction."""
    def read():
        db.execute("BEGIN")
        found = (db.execute("SELECT n FROM t WHERE k = 'all'").fetchone(),
                 db.execute("SELECT sum(n) FROM t WHERE k <> 'all'").fetchone(),
                 db.execute("SELECT sum(n) FROM v").fetchone())
        db.execute("COMMIT")
        return tuple(n for n, in found)
    return insist(db, read)


def sums_of_one_statement(db):
    return insist(db, lambda: db.execute(ONE_STATEMENT).fetchone())


class Reader:
    """Looks at sums that must be equal, within what was acknowledged and attempted, and never fall."""

    def __init__(self, ledger):
        self.ledger, self.last, self.looks = ledger, 0, 0

    def look(self, read):
        least = self.ledger.acknowledged()
        all_of_t, rows_of_t, rows_of_v = read()
        most = self.ledger.attempted()
        assert all_of_t == rows_of_t == rows_of_v, f"half a transaction: {all_of_t}, {rows_of_t}, {rows_of_v}"
        assert least <= all_of_t <= most, f"{all_of_t} is not between {least} and {most}"
        assert all_of_t >= self.last, f"{all_of_t} after {self.last}"
        self.last, self.looks = all_of_t, self.looks + 1


class Worker:
    def __init__(self, path, ledger, slot, seed, other=None):
        self.path, self.other, self.slot = path, other, slot
        self.ledger, self.random = Ledger(ledger), random.Random(seed)

    def open(self, path):
        db = connect(path, timeout=5)
        insist(db, lambda: db.execute("PRAGMA synchronous = OFF"))  # no power is cut here
        return db

    def add(self, db, n):
        """In one of several ways; the file has a row 'all'."""
        key = f"{self.slot}.{self.random.randrange(ROWS)}"
        way = self.random.randrange(4)
        if way == 0:
            db.execute("INSERT INTO t VALUES ('all', ?1), (?2, ?1)", (n, key))
        elif way == 1:
            db.execute("INSERT INTO t VALUES (?, ?)", (key, n))
            db.execute("UPDATE t SET n = n + ? WHERE k = 'all'", (n,))
        elif way == 2:
            db.execute("SELECT counter_add('t', 'n', ?, 'all')", (n,)).fetchone()
            db.execute("SAVEPOINT s")
            db.execute("INSERT INTO t VALUES (?, 1000), ('all', 1000)", (key,))
            db.execute("ROLLBACK TO s")
            db.execute("INSERT INTO t VALUES (?, ?)", (key, n))
        else:
            db.execute("INSERT INTO t VALUES (?, 0)", (key,))
            db.execute("UPDATE t SET n = n + ?1 WHERE k IN ('all', ?2)", (n, key))
        db.execute("INSERT INTO v VALUES ('all', ?)", (n,))

    def transaction(self, db, amounts, end="COMMIT"):
        def run():
            db.execute("BEGIN IMMEDIATE")
            for n in amounts:
                self.add(db, n)
            db.execute(end)
        insist(db, run)

    def amounts(self):
        return [self.random.randint(1, 9) for _ in range(self.random.choice([1, 1, 1, 2, 20]))]

    def count(self):
        db = self.open(self.path)
        while not self.ledger.has_stopped():
            amounts = self.amounts()
            if self.random.random() < 0.1:
                self.transaction(db, amounts, "ROLLBACK")
            self.ledger.attempt(self.slot, sum(amounts))
            self.transaction(db, amounts)
            self.ledger.acknowledge(self.slot, sum(amounts))
            if self.random.random() < 0.02:
                db.close()
                db = self.open(self.path)
        db.close()

    def take(self):
        """What is taken from the other file is one transaction here."""
        with contextlib.closing(self.open(self.other)) as other, contextlib.closing(self.open(self.path)) as db:
            for sql in [*TABLES, "INSERT INTO t VALUES ('all', 0)"]:
                other.execute(sql)
            while not self.ledger.has_stopped():
                amounts = self.amounts()
                self.ledger.attempt(self.slot, sum(amounts))
                self.transaction(other, amounts)
                self.pull(db, self.other)
                self.ledger.acknowledge(self.slot, sum(amounts))
                time.sleep(0.005)

    def pull(self, db, source):
        how = self.random.choice(["", "", ", 'full'"])
        insist(db, lambda: db.execute(f"SELECT * FROM counter_pull(?{how})", (source,)).fetchall())

    def follow(self):
        """The first pull may have been made by another process."""
        reader = Reader(self.ledger)

        def pulled():
            self.pull(other, self.path)
            return sums(other)
        with contextlib.closing(self.open(self.other)) as other:
            while not self.ledger.has_stopped():
                reader.look(pulled)

    def optimize(self):
        with contextlib.closing(self.open(self.path)) as db:
            while not self.ledger.has_stopped():
                for table in ("t", "v"):
                    insist(db, lambda: optimize(db, table))
                time.sleep(self.random.uniform(0, 0.02))


if __name__ == "__main__":
    what, path, ledger, slot, seed, *other = sys.argv[1:]
    getattr(Worker(path, ledger, int(slot), int(seed), *other), what)()
