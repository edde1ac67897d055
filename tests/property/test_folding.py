"""test_folding.py - processes that count in one file, read it, fold its journals, pull from it and into it, while some
are killed: each read is of one moment, and in the end every amount is there once.

Each transaction adds one amount to two rows of a table and to another table. A read transaction must find three equal
sums, between what was acknowledged before it and what was attempted behind it, and never less than the one before.
COUNTER_SECONDS is how long each test goes on.
"""

import contextlib
import os
import pathlib
import random
import subprocess
import sys
import time

import pytest

from conftest import SEED
from files import connect, optimize
from folding_worker import TABLES, Ledger, Reader, sums, sums_of_one_statement

WORKER = str(pathlib.Path(__file__).with_name("folding_worker.py"))
SECONDS = float(os.environ.get("COUNTER_SECONDS") or 1.5)
PATIENCE = 60  # seconds to the end of a worker
BETWEEN_KILLS = 0.3

journals = pytest.mark.parametrize("journal", ["WAL", "DELETE"])


class Crew:
    """The processes on one file, each with what it does."""

    def __init__(self, folder, journal):
        self.folder, self.path, self.follower = folder, str(folder / "one.db"), str(folder / "follower.db")
        self.ledger, self.random = Ledger(folder / "ledger"), random.Random(SEED)
        self.workers, self.killed, self.sources = [], 0, []
        with contextlib.closing(connect(self.path)) as db:
            db.execute(f"PRAGMA journal_mode = {journal}")
            for sql in [*TABLES, "INSERT INTO t VALUES ('all', 0), ('-', 0)", "INSERT INTO v VALUES ('all', 0)"]:
                db.execute(sql)
        with contextlib.closing(connect(self.follower)) as db:
            db.execute("SELECT * FROM counter_pull(?)", [self.path]).fetchall()

    def start(self, what):
        slot, other = self.ledger.new_slot(), []
        if what == "take":
            self.sources.append(str(self.folder / f"source{slot}.db"))
            other = self.sources[-1:]
        elif what == "follow":
            other = [self.follower]
        command = [sys.executable, WORKER, what, self.path, str(self.folder / "ledger"), str(slot), str(SEED + slot)]
        self.workers.append((what, subprocess.Popen(command + other, stderr=subprocess.PIPE, text=True)))

    def kill_one(self):
        """By kill -9; another one takes its place, but for the work of the dead."""
        one = self.random.randrange(len(self.workers))
        what, worker = self.workers.pop(one)
        assert worker.poll() is None, worker.stderr.read()
        worker.kill()
        worker.communicate()
        self.killed += 1
        self.start(what)

    def end(self):
        """The others end by themselves and have nothing to say."""
        self.ledger.stop()
        for _, worker in self.workers:
            try:
                said = worker.communicate(timeout=PATIENCE)[1]
            except subprocess.TimeoutExpired:
                worker.kill()
                said = "killed: it hung"
            assert (worker.returncode, said) == (0, "")

    def read_meanwhile(self, kills):
        """By a connection that stays and by new ones, in transactions and in statements."""
        reader, began = Reader(self.ledger), time.monotonic()
        next_kill = began + BETWEEN_KILLS
        with contextlib.closing(connect(self.path, timeout=5)) as db:
            while time.monotonic() < began + SECONDS:
                for read in (sums, sums_of_one_statement):
                    reader.look(lambda: read(db))
                with contextlib.closing(connect(self.path, timeout=5)) as new:
                    reader.look(lambda: sums(new))
                if kills and time.monotonic() > next_kill:
                    self.kill_one()
                    next_kill = time.monotonic() + self.random.uniform(0, 2 * BETWEEN_KILLS)
        return reader

    def check(self):
        """Of a process that was killed the last transaction may be there or not, as a whole."""
        with contextlib.closing(connect(self.path)) as db:
            counted = dict(db.execute("SELECT CAST(k AS INTEGER), sum(n) FROM t WHERE k <> 'all' GROUP BY 1"))
            for slot in range(1, self.ledger.numbers[1] + 1):
                assert counted.pop(slot, 0) in self.ledger.of(slot), f"process {slot}"
            assert not any(counted.values())
            if not self.killed:
                assert sums(db)[0] == self.ledger.acknowledged() == self.ledger.attempted()
            found = sums(db), self.digests(db)
            for table in ("t", "v"):
                db.execute(f"INSERT INTO {table}({table}) VALUES ('integrity-check')")
                optimize(db, table)
            assert (sums(db), self.digests(db)) == found, "a fold has changed the content"
            assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        for path, how in (self.follower, ""), (str(self.folder / "new.db"), ", 'full'"):
            with contextlib.closing(connect(path)) as db:
                db.execute(f"SELECT * FROM counter_pull(?{how})", [self.path]).fetchall()
                assert (sums(db), self.digests(db)) == found, "what was pulled is something else"

    @staticmethod
    def digests(db):
        return [db.execute("SELECT counter_table_digest(?)", [table]).fetchone() for table in ("t", "v")]


@journals
@pytest.mark.parametrize("kills", [False, True], ids=["all end", "some are killed"])
@pytest.mark.parametrize("crew", ["count count optimize follow", "count take optimize follow"])
def test_each_read_is_of_one_moment_and_in_the_end_all_is_there_once(tmp_path, journal, kills, crew):
    ours = Crew(tmp_path, journal)
    for what in crew.split():
        ours.start(what)
    reader = ours.read_meanwhile(kills)
    ours.end()
    ours.check()
    print(f"{journal}, {crew}: {ours.ledger.acknowledged()} counted, {reader.looks} looks, {ours.killed} killed")
