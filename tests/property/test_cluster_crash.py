"""test_cluster_crash.py - coordinators that are killed, and coordinators that meet on the same
files: what was acknowledged is there once, in every file that it has reached.

Increments are powers of two, so a sum tells which of them were counted: one that is missing clears
its bit, one that is there twice clears it too and sets the next. The same rows are counted in again
after a crash, for it is then that a clock could be used twice.
"""

import contextlib
import json
import os
import pathlib
import random
import sqlite3
import subprocess
import sys
import time

import pytest

import clusters
from clusters import everywhere, rows
from conftest import SEED
from files import connect

WORKER = str(pathlib.Path(__file__).with_name("cluster_worker.py"))
ROUNDS = int(os.environ.get("CLUSTER_ROUNDS") or 40)
BITS = 10  # of one process in one round; six of them share a row
TIMEOUT = 60  # seconds, longer than a test that does not hang, on a busy machine
AGAIN = 3  # rounds that count in the same rows

setups = pytest.mark.parametrize("journal, main", [
    ("WAL", "a replica"), ("WAL", "none"), ("DELETE", "a replica"), ("DELETE", "none")])


class Process:
    """A coordinator, and what it says of each increment."""

    def __init__(self, files, chance, row, first, timeout, times=10**9, begin=(), **options):
        job = {"files": files, "options": options, "timeout": timeout, "row": row,
               "bits": [first, BITS], "seed": chance.random(), "times": times, "begin": begin}
        self.row, self.first, self.text = row, first, b""
        self.process = subprocess.Popen([sys.executable, WORKER, json.dumps(job)],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def wait_until_ready(self):
        assert self.process.stdout.readline() == b"ready\n"

    def go(self):
        self.process.stdin.write(b"\n")
        self.process.stdin.close()

    def kill(self):
        self.process.kill()
        self.end()

    def end(self):
        """Returns the exit code."""
        self.text = self.process.stdout.read()
        return self.process.wait()

    def increments(self, numbers):
        """A dict from row to the sum of these increments."""
        sums = {}
        for i in numbers:
            row = f"{self.row}.{i // BITS}"
            sums[row] = sums.get(row, 0) + (1 << self.first + i % BITS)
        return sums

    def told(self):
        """The increments that were acknowledged, and those on which it was at work in the end: one
        transaction, of which this is the least that is known, one increment."""
        acknowledged, done = [], 0
        for line in self.text.decode().splitlines(keepends=True):
            if not line.endswith("\n"):
                break
            word, count = line.split()
            if word == "a":
                acknowledged += range(done, done + int(count))
            done += int(count)
        return acknowledged, done


def add_up(*all_sums):
    total = {}
    for sums in all_sums:
        for row, value in sums.items():
            total[row] = total.get(row, 0) + value
    return total


def sums_of(db, table="page_views"):
    found = {}
    for path, hits, count in rows(db, f"SELECT path, hits, bytes FROM {table}"):
        assert hits == count, "half a statement"
        found[path] = hits
    return found


class Expected:
    """What must be counted, and what each process that was killed may have counted too."""

    def __init__(self):
        self.sums = {}

    def take(self, processes, found):
        """Compares with what was found, and settles what was left open."""
        for process in processes:
            acknowledged, done = process.told()
            self.sums = add_up(self.sums, process.increments(acknowledged))
            process.last = next(n for n in (3, 2, 1, 0) if n == 0 or self.has(process, done, n, found))
        for process in processes:
            done = process.told()[1]
            self.sums = add_up(self.sums, process.increments(range(done, done + process.last)))
        assert found == self.sums

    def has(self, process, done, n, found):
        last = process.increments(range(done, done + n))
        return all(found.get(row, 0) & bits == bits for row, bits in last.items())


def new_order(files, main, chance):
    """The files under new names: another main, or none."""
    paths = list(files.values())
    chance.shuffle(paths)
    names = ["main", "east", "west"] if main == "a replica" else ["north", "east", "west"]
    return dict(zip(names, paths))


def merged(files):
    """What the files have together; they stay as they are but for what SQLite makes good."""
    everywhere(files, "SELECT * FROM page_views")
    with contextlib.closing(connect(":memory:")) as db:
        for path in files.values():
            rows(db, "SELECT * FROM counter_pull(?)", path)
        assert rows(db, "SELECT * FROM counter_conflicts") == []
        return sums_of(db)


def bring_everything_to_everyone(files):
    for _ in range(2):
        for path in files.values():
            with contextlib.closing(connect(path)) as db:
                for other in files.values():
                    if other != path:
                        rows(db, "SELECT * FROM counter_pull(?)", other)


def check_agreement(files, expected):
    bring_everything_to_everyone(files)
    digests = set()
    for path in files.values():
        with contextlib.closing(connect(path)) as db:
            assert sums_of(db) == expected
            digests.update(rows(db, "SELECT counter_table_digest('page_views')"))
            db.execute("INSERT INTO page_views(page_views) VALUES ('integrity-check')")
            assert rows(db, "PRAGMA integrity_check") == [("ok",)]
    assert len(digests) == 1


@setups
def test_after_kill_9_of_coordinators_every_acknowledged_increment_is_there_once(tmp_path, journal,
                                                                               main):
    chance = random.Random(f"{SEED} {journal} {main}")
    files = clusters.new_files(tmp_path, ["a", "b", "c"], journal)
    expected = Expected()
    for number in range(ROUNDS // 4):
        processes = [
            Process(new_order(files, main, chance), chance, str(number // AGAIN),
                    (number % AGAIN * 2 + who) * BITS, chance.choice([0, 0.05, 0.3]),
                    begin=["BEGIN", "BEGIN IMMEDIATE"], write=chance.choice(["ONE", "QUORUM", "ALL"]))
            for who in range(2)]
        for process in processes:
            process.wait_until_ready()
        for process in processes:
            process.go()
        for process in processes:
            time.sleep(chance.uniform(0, 0.06))
            process.kill()
        expected.take(processes, merged(files))
        if chance.random() < 0.2:
            check_agreement(files, expected.sums)
    check_agreement(files, expected.sums)


@setups
def test_coordinators_with_different_mains_neither_lose_an_increment_nor_hold_each_other_up(
        tmp_path, journal, main):
    """The only excuse is a lock, for as long as was agreed upon; and no two wait for each other."""
    chance = random.Random(f"{SEED} {journal} {main}")
    files = clusters.new_files(tmp_path, ["a", "b", "c"], journal)
    paths = list(files.values())
    processes = []
    for who in range(3):
        names = ["main", "east", "west"] if main == "a replica" else ["north", "east", "west"]
        turned = dict(zip(names, paths[who:] + paths[:who]))
        processes.append(Process(turned, chance, "x", who * BITS, TIMEOUT, times=100, write="QUORUM"))
    for process in processes:
        process.wait_until_ready()
    began = time.monotonic()
    for process in processes:
        process.go()
    for process in processes:
        assert process.end() == 0
    assert time.monotonic() - began < TIMEOUT, "that long only those wait who wait for each other"
    acknowledged = [process.told()[0] for process in processes]
    assert sum(map(len, acknowledged)) > 150
    sums = add_up(*(process.increments(numbers)
                    for process, numbers in zip(processes, acknowledged)))
    assert merged(files) == sums
    check_agreement(files, sums)


@setups
def test_a_reader_and_a_writer_with_different_mains_do_not_wait_for_each_other(tmp_path, journal, main):
    chance = random.Random(f"{SEED} {journal} {main}")
    files = clusters.new_files(tmp_path, ["a", "b", "c"], journal)
    names = ["main", "east", "west"] if main == "a replica" else ["north", "east", "west"]
    writer = Process(dict(zip(names, files.values())), chance, "x", 0, TIMEOUT, times=100)
    writer.wait_until_ready()
    db = clusters.coordinator(dict(zip(names, reversed(files.values()))), TIMEOUT)
    began = time.monotonic()
    writer.go()
    while writer.process.poll() is None:
        with contextlib.suppress(sqlite3.OperationalError):
            sums_of(db, "traffic")
    assert time.monotonic() - began < TIMEOUT, "that long only those wait who wait for each other"
    assert writer.end() == 0
    assert sums_of(db, "traffic") == writer.increments(writer.told()[0])
    db.close()
