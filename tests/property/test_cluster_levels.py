"""test_cluster_levels.py - each level with each number of replicas that fail in each way: a
statement works, or is refused whole, as the arithmetic says."""

import contextlib
import itertools
import random
import re
import sqlite3

import pytest

import clusters
from clusters import ADD, HITS, KEY, LEVELS, TABLE, contacts, hits, rows, shortages
from conftest import SEED
from files import connect

DCS = {1: ["dc1"] * 5, 2: ["dc1", "dc1", "dc2", "dc1", "dc2"], 3: ["dc1", "dc2", "dc3", "dc1", "dc2"]}

DC_LEVELS = ["LOCAL_ONE", "LOCAL_QUORUM", "EACH_QUORUM"]


# ---- how replicas fail ----

def spoil_cell(path):
    with contextlib.closing(connect(path)) as db:
        db.execute("UPDATE page_views_cells SET hits = x'c101ff'")


def spoil_identity(path):
    with contextlib.closing(connect(path)) as db:
        db.execute("UPDATE counter_replica SET id = 'garbage'")


def spoil_page(path):
    with contextlib.closing(connect(path)) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        size = rows(db, "PRAGMA page_size")[0][0]
        page = rows(db, "SELECT rootpage FROM sqlite_master WHERE name = 'page_views_cells'")[0][0]
    with open(path, "r+b") as file:
        file.seek((page - 1) * size)
        file.write(b"\xa5" * size)


def drop_table(path):
    with contextlib.closing(connect(path)) as db:
        db.execute("CREATE VIRTUAL TABLE other USING counter(k TEXT PRIMARY KEY, n COUNTER)")
        db.execute("DROP TABLE page_views")


CELL = r"(page_views: )?column hits of \('/', 12\): the cell is truncated"

# The reason that is given, whether reads fail too, and what is done to the file before it is
# opened.
FAILURES = {
    "detached": ("it is not attached", True, None),
    "exclusive": ("database is locked", True, None),
    "immediate": ("database is locked", False, None),
    "read-only": ("it is read-only", False, None),
    "no table": ("it has no counter table page_views", True, drop_table),
    "cell": (CELL, True, spoil_cell),
    "identity": ("counter_replica is damaged: an id of 7 bytes instead of 16;.*", True,
                 spoil_identity),
    "page": ("database disk image is malformed", True, spoil_page),
}


class Case:
    """Some of the replicas fail in one way. `seen` are the increments that each file has."""

    def __init__(self, folder, dcs, failure, failed, journal):
        self.dcs, self.failure, self.failed = dcs, failure, failed
        self.reason, self.reads_fail, spoil = FAILURES[failure]
        self.names = ["main", "east", "west", "north", "south"][:len(dcs)]
        self.files = {name: clusters.new_file(folder / f"{name}.db", journal, f"{dc}:{name}")
                      for name, dc in zip(self.names, dcs)}
        self.amounts, self.seen = [], [set() for _ in dcs]
        self.start(spoil)

    def start(self, spoil):
        """Each file counts for itself, so that each has something that the others lack."""
        for i, name in enumerate(self.names):
            with contextlib.closing(connect(self.files[name])) as db:
                db.execute("INSERT INTO page_views VALUES ('/', 12, ?, 0)", [1 << i])
            self.seen[i].add(1 << i)
            if spoil and i in self.failed:
                spoil(self.files[name])
        self.next = 1 << len(self.dcs)

    @contextlib.contextmanager
    def running(self):
        db = self.connect()
        watched = clusters.Watched(self.files.values())
        paths = [self.files[self.names[i]] for i in self.failed]
        with contextlib.ExitStack() as stack:
            if self.failure in ("exclusive", "immediate"):
                stack.enter_context(clusters.held(self.failure, paths))
            stack.callback(watched.close)
            stack.callback(db.close)
            yield db, watched

    def connect(self):
        uris = {name: f"file:{path}?mode=ro" if self.failure == "read-only" and i in self.failed
                else path for i, (name, path) in enumerate(self.files.items())}
        db = open_uris(uris)
        clusters.set_durable(db, [n for i, n in enumerate(self.names) if i not in self.failed])
        clusters.create(db, self.names)
        for i in self.failed if self.failure == "detached" else ():
            db.execute(f"DETACH {self.names[i]}")
        return db

    def available(self, which):
        gone = set() if which == "read" and not self.reads_fail else self.failed
        return set(range(len(self.dcs))) - gone

    def is_nameless(self, level):
        """A replica whose identity cannot be read may be anywhere."""
        return self.failure == "identity" and self.failed and level in DC_LEVELS

    def is_refused(self, which, level):
        short = shortages(level, self.dcs, self.dcs[0], self.available(which))
        return short or self.is_nameless(level)

    def refuses(self, db, watched, which, level, work):
        """Nothing is changed, and the message has it all."""
        before = watched.contents()
        with pytest.raises(sqlite3.Error) as raised:
            work()
        assert watched.contents() == before
        if self.is_nameless(level):
            assert " has not been seen yet: counter_replica is damaged" in str(raised.value)
            return
        self.check_message(str(raised.value), which, level)

    def check_message(self, text, which, level):
        """A read that has met too many damaged rows does not look for more of them."""
        available = self.available(which)
        meets = which == "read" and self.failure in ("cell", "page")
        message = re.fullmatch(rf"traffic: {which}={level} needs (\d+) of (\d+) replicas?( in dc\d)?, "
                               r"(\d+) (?:is|are) available: (.*)", text)
        needed, n, _, found = message.groups()[:4]
        for of, least, have in shortages(level, self.dcs, self.dcs[0], available):
            right = int(n) == of and int(needed) == least
            if right and have <= int(found) < least if meets else right and have == int(found):
                break
        else:
            pytest.fail(text)
        reasons = [f"(^|; ){self.names[i]}: {self.reason}(;|$)" for i in self.failed - available]
        named = [bool(re.search(reason, message[5])) for reason in reasons]
        assert any(named) if meets else all(named), text

    def read(self, db, watched, level):
        clusters.set_option(db, f"read={level}")
        available = self.available("read")
        if self.is_refused("read", level):
            return self.refuses(db, watched, "read", level, lambda: hits(db))
        asked = contacts(level, self.dcs, self.dcs[0], available)
        assert hits(db) == sum(set().union(*(self.seen[i] for i in asked)))

    def write(self, db, watched, level):
        clusters.set_option(db, f"write={level}")
        available, one = self.available("write"), self.next
        add = lambda: db.execute(ADD, [one])  # noqa: E731
        if self.is_refused("write", level):
            return self.refuses(db, watched, "write", level, add)
        before = self.unavailable(db, watched)
        add()
        assert self.unavailable(db, watched) == before
        merged = set().union({one}, *(self.seen[i] for i in available))
        for i in available:
            self.seen[i] = merged
            assert hits(db, f"{self.names[i]}.page_views") == sum(merged)
        self.next <<= 1

    def unavailable(self, db, watched):
        """What stands in the files that cannot be written: to the byte, but where a row alone is
        damaged, which leaves a file its identity to be looked after."""
        names = [self.names[i] for i in self.failed]
        if self.failure in ("cell", "page"):
            return [stored(db, name) for name in names]
        paths = tuple(self.files[name] for name in names)
        return {path: content for path, content in watched.contents().items()
                if path.startswith(paths)}


def stored(db, name):
    """The rows as they are stored, or what is wrong with them."""
    try:
        return rows(db, f"SELECT * FROM {name}.page_views_cells")
    except sqlite3.DatabaseError as error:
        return str(error)


def open_uris(uris):
    db = sqlite3.connect(f"file:{uris['main']}" if not uris["main"].startswith("file:")
                         else uris["main"], uri=True, timeout=0, isolation_level=None)
    db.enable_load_extension(True)
    db.load_extension(clusters.EXTENSION)
    for name, uri in uris.items():
        if name != "main":
            db.execute(f"ATTACH ? AS {name}", [uri])
    return db


NEEDS_ONE = ("no table", "identity", "page")


def choices(n, kind, chance):
    """Sets of replicas that fail: all of three, one of each size of five. Main cannot be detached,
    and one table must be there to be the cluster's."""
    first = 1 if kind == "detached" else 0
    for size in range(n - first + (kind not in NEEDS_ONE)):
        sets = list(itertools.combinations(range(first, n), size))
        yield from map(frozenset, sets if n == 3 else [chance.choice(sets)])


@pytest.mark.parametrize("failure", FAILURES)
@pytest.mark.parametrize("n, n_dcs", [(3, 1), (3, 2), (3, 3), (5, 2), (5, 3)])
def test_a_level_works_or_refuses_as_its_arithmetic_says(tmp_path, n, n_dcs, failure):
    journal = "DELETE" if failure == "exclusive" or n == 5 else "WAL"
    chance = random.Random(SEED)
    for number, failed in enumerate(choices(n, failure, chance)):
        folder = tmp_path / str(number)
        folder.mkdir()
        case = Case(folder, DCS[n_dcs][:n], failure, failed, journal)
        with case.running() as (db, watched):
            for level in LEVELS:
                case.read(db, watched, level)
                case.write(db, watched, level)
