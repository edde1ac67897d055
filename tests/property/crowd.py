"""crowd.py - one of many processes that use one file at once: two connections, by turns.

    crowd.py FILE NUMBER SECONDS SEED OTHER...

Each line on standard output is what was acknowledged, when it was acknowledged:

    + KEY COLUMN N         N was counted; the key `all` is everybody's, others are a process's own
    = KEY                  the own row KEY was deleted, or reset to what follows as `+`
    drop COLUMN            the own counter COLUMN is gone, with all that was counted in it
    done ROUNDS BUSY LOST  rounds; how often the file was locked, and the table had another name

A lock is waited for by trying again. The table is renamed now and then, by anybody: "no such table"
of the name that it had, or, if that happens again and again meanwhile, "database schema has
changed"; then its name is looked for. Anything else ends the process with a traceback.
"""

import faulthandler
import random
import sqlite3
import sys
import time

from files import connect

NAMES = "t", "u", "v"
PATIENCE = 30  # seconds to one statement


def is_lock(error):
    return error.sqlite_errorcode & 0xff in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


class Crowd:
    def __init__(self, path, number, seed, others):
        self.number, self.others, self.random = number, others, random.Random(seed)
        self.connections = [connect(path, timeout=0.05), connect(path, timeout=0.0)]
        self.name, self.busy, self.lost = "t", 0, 0
        self.own = {}  # the rows that nobody else changes
        self.column = None  # an own counter, while it is there
        for db in self.connections:
            self.insist(db, "PRAGMA synchronous = OFF")

    # Statements.

    def find_table(self, db):
        (self.name,), = self.insist(db, "SELECT name FROM counter_tables")
        self.lost += 1

    def renamed(self, error):
        return str(error) in (f"no such table: {self.name}", "database schema has changed",
                              f"counter_table_digest: main has no counter table '{self.name}'")

    def insist(self, db, sql, arguments=()):
        """`{t}` is the table, by the name that it has."""
        began = time.monotonic()
        while True:
            try:
                return db.execute(sql.format(t=self.name), arguments).fetchall()
            except sqlite3.OperationalError as error:
                if is_lock(error):
                    self.busy += 1
                elif self.renamed(error):
                    self.find_table(db)
                else:
                    raise
            if time.monotonic() - began > PATIENCE:
                raise TimeoutError(sql)
            time.sleep(self.random.uniform(0, 0.002))

    def say(self, *words):
        print(*words)

    # What is done.

    def count_for_all(self, db):
        a, b = self.random.randint(-5, 20), self.random.randint(1, 9)
        self.insist(db, "INSERT INTO {t}(k, a, b) VALUES ('all', ?, ?)", (a, b))
        self.say("+ all a", a)
        self.say("+ all b", b)

    def update_for_all(self, db):
        n = self.random.randint(1, 1000)
        self.insist(db, "UPDATE {t} SET a = a + ? WHERE k = 'all'", (n,))
        self.say("+ all a", n)

    def own_key(self):
        return f"{self.number}-{self.random.randrange(5)}"

    def count_own(self, db):
        key, n = self.own_key(), self.random.randint(1, 100)
        self.insist(db, "INSERT INTO {t}({t}, k, a) VALUES ('reset', ?, ?)", (key, n))
        self.own[key] = n
        self.say("=", key)
        self.say("+", key, "a", n)

    def delete_own(self, db):
        key = self.own_key()
        self.insist(db, "DELETE FROM {t} WHERE k = ?", (key,))
        self.own.pop(key, None)
        self.say("=", key)

    def begin(self, db):
        self.insist(db, "BEGIN IMMEDIATE" if self.random.random() < 0.8 else "BEGIN")

    def transact(self, db):
        """All or nothing; a transaction that meets a lock half-way is given up."""
        counted = []
        self.begin(db)
        try:
            for _ in range(self.random.randint(1, 8)):
                n = self.random.randint(1, 1000)
                db.execute(f"INSERT INTO {self.name}(k, b) VALUES ('all', ?)", (n,))
                counted.append(n)
            end = self.random.choice(["COMMIT", "COMMIT", "ROLLBACK"])
            db.execute(end)
        except sqlite3.OperationalError as error:
            if not is_lock(error) and not self.renamed(error):
                raise
            end = "ROLLBACK"
            if db.in_transaction:
                db.execute(end)
            if self.renamed(error):
                self.find_table(db)
            else:
                self.busy += 1
        if end == "COMMIT":
            self.say("+ all b", sum(counted))

    def pull(self, db):
        how = self.random.choice(["", "", ", 'full'"])
        self.insist(db, f"SELECT * FROM counter_pull(?{how})", (self.random.choice(self.others),))

    def rename(self, db):
        """Somebody else may be the first."""
        to = self.random.choice([name for name in NAMES if name != self.name])
        try:
            db.execute(f"ALTER TABLE {self.name} RENAME TO {to}")
            self.name = to
        except sqlite3.OperationalError as error:
            taken = f"there is already another table or index with this name: {to}"
            if is_lock(error):
                self.busy += 1
            elif self.renamed(error) or str(error) == taken:
                self.find_table(db)
            else:
                raise

    def alter(self, db):
        """Adds the own counter, counts in it, or drops it."""
        if not self.column:
            self.column = f"e{self.number}"
            self.insist(db, f"INSERT INTO {{t}}({{t}}) VALUES ('add column {self.column}')")
        elif self.random.random() < 0.6:
            n = self.random.randint(1, 100)
            self.insist(db, f"INSERT INTO {{t}}(k, {self.column}) VALUES ('all', ?)", (n,))
            self.say("+ all", self.column, n)
        else:
            self.insist(db, f"INSERT INTO {{t}}({{t}}) VALUES ('drop column {self.column}')")
            self.say("drop", self.column)
            self.column = None

    def read(self, db):
        rows = self.insist(db, "SELECT k, a FROM {t} WHERE k LIKE ?", (f"{self.number}-%",))
        assert dict(rows) == self.own
        self.insist(db, "SELECT counter_table_digest('{t}')")

    def run(self, until):
        steps = [(self.count_for_all, 10), (self.update_for_all, 8), (self.count_own, 4),
                 (self.delete_own, 2), (self.transact, 6), (self.pull, 3 if self.others else 0),
                 (self.rename, 0.3), (self.alter, 0.5), (self.read, 3)]
        rounds = 0
        while time.monotonic() < until:
            step, = self.random.choices([one for one, _ in steps], [weight for _, weight in steps])
            step(self.connections[rounds % 2])
            rounds += 1
        for db in self.connections:
            db.close()
        self.say("done", rounds, self.busy, self.lost)


if __name__ == "__main__":
    path, number, seconds, seed, *others = sys.argv[1:]
    faulthandler.dump_traceback_later(float(seconds) + PATIENCE + 20, exit=True)
    Crowd(path, int(number), int(seed), others).run(time.monotonic() + float(seconds))
