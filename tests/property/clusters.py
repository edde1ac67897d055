"""clusters.py - counter tables in several files, and coordinators in front of them.

The arithmetic of consistency levels stands here once more, written from what Cassandra's names
mean.
"""

import contextlib
import os
import pathlib
import subprocess
import sys

from files import EXTENSION, connect

TABLE = ("CREATE VIRTUAL TABLE page_views USING counter("
         "path TEXT, hour INTEGER, hits COUNTER, bytes COUNTER, PRIMARY KEY (path, hour))")
KEY = ("/", 12)
ADD = "INSERT INTO traffic(path, hour, hits) VALUES ('/', 12, ?)"
HITS = "SELECT hits FROM {} WHERE path = '/' AND hour = 12"
LEVELS = ["ONE", "TWO", "THREE", "QUORUM", "ALL", "LOCAL_ONE", "LOCAL_QUORUM", "EACH_QUORUM"]
HOLDER = """
import sqlite3, sys
how, held = sys.argv[1], []
for path in sys.argv[2:]:
    held.append(sqlite3.connect(path, isolation_level=None))
    held[-1].execute("BEGIN " + how)
print("held", flush=True)
sys.stdin.read()
"""


def new_file(path, journal="WAL", name=None, table=TABLE):
    """A file with the table; its path as text."""
    with contextlib.closing(connect(str(path))) as db:
        db.execute(f"PRAGMA journal_mode = {journal}")
        db.execute("PRAGMA synchronous = OFF")
        if name:
            db.execute("SELECT counter_init(?)", [name])
        if table:
            db.execute(table)
    return str(path)


def new_files(folder, names, journal="WAL", table=TABLE):
    """A dict from name to path."""
    return {name: new_file(pathlib.Path(folder) / f"{name}.db", journal, table=table)
            for name in names}


def open_files(files, timeout=0.0):
    """A connection with all files attached under their names; without main that is a memory
    database."""
    db = connect(files.get("main", ":memory:"), timeout)
    for name, path in files.items():
        if name != "main":
            db.execute(f"ATTACH ? AS {name}", [path])
    return db


def set_durable(db, names, synchronous="EXTRA"):
    for name in names:
        db.execute(f"PRAGMA {name}.synchronous = {synchronous}")


def create(db, names, table="page_views", **options):
    clauses = "".join(f", {name}={value}" for name, value in options.items())
    db.execute(f"CREATE VIRTUAL TABLE temp.traffic USING counter_cluster("
               f"{table}, replicas='{' '.join(names)}'{clauses})")


def coordinator(files, timeout=0.0, **options):
    """A connection with the table traffic in front of all files."""
    db = open_files(files, timeout)
    set_durable(db, files)
    create(db, files, **options)
    return db


def set_option(db, option):
    db.execute("INSERT INTO traffic(traffic) VALUES (?)", [option])


def rows(db, sql, *values):
    return db.execute(sql, values).fetchall()


def hits(db, table="traffic"):
    """The counter of the one row that most tests look at; None if there is no such row."""
    found = rows(db, HITS.format(table))
    return found[0][0] if found else None


def everywhere(files, sql):
    """What each file answers, asked for by a connection of its own."""
    answers = {}
    for name, path in files.items():
        with contextlib.closing(connect(path)) as db:
            answers[name] = rows(db, sql)
    return answers


@contextlib.contextmanager
def held(how, paths):
    """Another process holds the locks of a transaction, IMMEDIATE or EXCLUSIVE, on these files."""
    command = [sys.executable, "-c", HOLDER, how, *paths]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"held\n"
        try:
            yield
        finally:
            process.stdin.close()


class Watched:
    """What stands in files, in their logs and in their journals. The descriptors of databases stay
    open to the end: closing one would drop the locks that SQLite has here."""

    def __init__(self, paths):
        self.paths = list(paths)
        self.databases = [os.open(path, os.O_RDONLY) for path in self.paths]

    def close(self):
        for database in self.databases:
            os.close(database)

    def contents(self):
        found = {}
        for path, database in zip(self.paths, self.databases):
            found[path] = os.pread(database, os.fstat(database).st_size, 0)
            for suffix in ("-wal", "-journal"):
                log = pathlib.Path(path + suffix)
                found[path + suffix] = log.read_bytes() if log.exists() else b""
        return found


# ---- the arithmetic ----

def groups(level, dcs, local):
    """What must be had: pairs of a set of replicas and how many of them. `dcs` are the data centers
    of the replicas, `local` the one of main."""
    here = {i for i, dc in enumerate(dcs) if dc == local}
    each = [{i for i, dc in enumerate(dcs) if dc == one} for one in dict.fromkeys(dcs)]
    everyone = set(range(len(dcs)))
    numbers = {"ONE": 1, "TWO": 2, "THREE": 3, "QUORUM": len(dcs) // 2 + 1, "ALL": len(dcs)}
    if level in numbers:
        return [(everyone, numbers[level])]
    if level == "LOCAL_ONE":
        return [(here, 1)]
    if level == "LOCAL_QUORUM":
        return [(here, len(here) // 2 + 1)]
    return [(of, len(of) // 2 + 1) for of in each]


def shortages(level, dcs, local, available):
    """The groups that have too few: (of how many, needed, available), for any of which a statement
    may be refused."""
    return [(len(of), needed, len(of & available)) for of, needed in groups(level, dcs, local)
            if len(of & available) < needed]


def contacts(level, dcs, local, available):
    """Which replicas a read asks: of each group the first ones that are available."""
    return {i for of, needed in groups(level, dcs, local) for i in sorted(of & available)[:needed]}
