"""test_lineage.py - files that count while they are copied, restored, cut off from power,
killed, cloned.

Each increment is an operation with an amount of its own; of each file we know the set of operations
that it must show. A copy has the set of its original, a merge makes the union, a power cut goes
back to one of the sets since the last sync. Whatever happens, a file shows the sum of its set, and
once everybody has pulled from everybody all show the sum of the union.

Left out, or followed by counter_fork(), is what the README says cannot be seen.
"""

import os
import pathlib
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from multiprocessing.connection import Client, Listener

import pytest

import powercut
from conftest import EXAMPLES
from randomly import (Machine, booleans, initialize, integers, invariant, lists, none, precondition,
                      rule, run_machine, sampled_from, tuples)

KEYS = "a", "b"
TABLE = "CREATE VIRTUAL TABLE t USING counter(k TEXT PRIMARY KEY, n COUNTER)"
ADD = "INSERT INTO t VALUES (?, ?)"
ATTRIBUTE = "user.sqlite-counter"
RENEWAL = 10  # ms
MOST_FILES, MOST_COPIES = 4, 6


# ---- operations ----

def key_of(one):
    return KEYS[one % len(KEYS)]


def amount_of(one):
    """So large that sums of different sets differ."""
    return 1 + random.Random(one).getrandbits(40)


def row(one):
    return [key_of(one), amount_of(one)]


def shown_by(operations):
    sums = {}
    for one in operations:
        sums[key_of(one)] = sums.get(key_of(one), 0) + amount_of(one)
    return sums


# ---- the processes: this file, run as a script, forks them ----

def serve():
    """Forks a worker for each address, kills one for each pid."""
    powercut.load_shim()
    for line in sys.stdin:
        what, argument = line.rstrip("\n").split(" ", 1)
        if what == "fork":
            if os.fork() == 0:
                try:
                    work(Client(argument, "AF_UNIX"))
                except EOFError:  # the caller is gone
                    os._exit(0)
        else:
            os.kill(int(argument), signal.SIGKILL)
            os.waitpid(int(argument), 0)
            print("dead", flush=True)


def work(caller):
    connections = {}
    caller.send(os.getpid())
    while True:
        what, *arguments = caller.recv()
        try:
            caller.send(globals()[f"do_{what}"](caller, connections, *arguments))
        except sqlite3.Error as error:
            caller.send(error)


def do_open(caller, connections, path):
    connections[path] = powercut.connect(path, timeout=20.0)
    return do_settle(caller, connections, path)


def do_settle(caller, connections, path):
    db = connections[path]
    db.execute("SELECT count(*) FROM sqlite_schema").fetchone()  # else the mode is that of before
    journal, = db.execute("PRAGMA journal_mode").fetchone()
    db.execute(f"PRAGMA synchronous = {'NORMAL' if journal == 'wal' else 'FULL'}")
    return journal


def do_close(caller, connections, path):
    connections.pop(path).close()


def do_run(caller, connections, path, sql, arguments):
    return connections[path].execute(sql, arguments).fetchall()


def do_count(caller, connections, path, operations):
    """One transaction and one word for each."""
    for one in operations:
        connections[path].execute(ADD, row(one))
        caller.send(one)


def do_backup(caller, connections, path, to):
    connections[path].backup(connections[to])


def do_backup_to_new(caller, connections, path, to):
    other = sqlite3.connect(to)
    connections[path].backup(other)
    other.close()


class Server:
    def __init__(self, folder):
        self.listener = Listener(str(folder / "socket"), "AF_UNIX")
        self.process = subprocess.Popen([sys.executable, __file__], text=True, bufsize=1,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        env=powercut.preloaded())

    def fork(self):
        self.process.stdin.write(f"fork {self.listener.address}\n")
        return Worker(self, self.listener.accept())

    def kill(self, pid):
        self.process.stdin.write(f"kill {pid}\n")
        assert self.process.stdout.readline() == "dead\n"

    def close(self):
        self.process.stdin.close()
        self.process.wait()
        self.listener.close()


class Worker:
    def __init__(self, server, channel):
        self.server, self.channel, self.paths = server, channel, set()
        self.pid = channel.recv()

    def call(self, *request):
        self.channel.send(request)
        answer = self.channel.recv()
        if isinstance(answer, Exception):
            raise answer
        return answer

    def die(self):
        self.server.kill(self.pid)
        self.channel.close()


# ---- what is known of a file ----

class File:
    """`history` are the sets since the last sync, the last is the present one; `attributes` the
    attributes since then and `copied` the sets that were copied since then. A shaky file has
    crashed, and its attribute may be behind until it counts again."""

    def __init__(self, path, operations):
        self.path, self.journal, self.shaky = path, None, False
        self.is_now_durable(operations)

    @property
    def operations(self):
        return self.history[-1]

    def commits(self, operations, counted=False):
        """A commit makes durable what was there before; but one that changes nothing may not
        be written."""
        operations = frozenset(operations)
        if self.journal == "delete" and (counted or operations != self.operations):
            self.history, self.attributes = self.history[-1:], self.attributes[-1:]
        self.history.append(operations)
        self.attributes.append(self.attribute())
        self.shaky = self.shaky and not counted

    def is_now_durable(self, operations):
        self.history, self.attributes = [frozenset(operations)], [self.attribute()]
        self.copied = []

    def attribute(self):
        try:
            return os.getxattr(self.path, ATTRIBUTE)
        except OSError:
            return None


class Copy:
    """Of a file; nobody counts in it."""

    def __init__(self, path, operations, origin):
        self.path, self.operations, self.origin = path, operations, origin


def side_files(path):
    names = [f"{path}{suffix}" for suffix in powercut.FILES]
    return [*(names[1:]), f"{path}-shm", *map(str, map(powercut.durable, names))]


def remove_side_files(path):
    for name in side_files(path):
        pathlib.Path(name).unlink(missing_ok=True)


numbers = integers(0, 3)
workers = integers(0, 1)
scripts = lists(sampled_from(["add"] * 4 + ["fail", "savepoint", "rollback to"]), min_size=1,
                max_size=6)


class Innocent(Machine):
    """Nothing that happens here costs an id."""

    server = None
    files, processes = (), ()

    @initialize(journals=lists(sampled_from(["WAL", "DELETE"]), min_size=2, max_size=3),
                renewal=sampled_from([0, RENEWAL]), chance=integers(0, 2**32))
    def start(self, journals, renewal, chance):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="counter-"))
        self.random, self.renewal = random.Random(chance), renewal
        self.processes = [self.server.fork(), self.server.fork()]
        self.names, self.counted, self.copies = 0, 0, []
        self.files = [self.new_file(journal) for journal in journals]
        self.ids = len(self.files)  # that there may be

    def new_file(self, journal):
        path = self.new_path()
        self.run(0, path, f"PRAGMA journal_mode = {journal}")
        self.run(0, path, "PRAGMA synchronous = EXTRA")
        for sql in ["BEGIN", TABLE, f"UPDATE counter_replica SET renewal = {self.renewal}",
                    "COMMIT", "PRAGMA wal_checkpoint(TRUNCATE)"]:
            self.run(0, path, sql)
        self.close(path)
        return File(path, ())

    def new_path(self):
        self.names += 1
        return str(self.folder / f"{self.names}.db")

    # Workers.

    def run(self, worker, path, sql, arguments=()):
        self.open(worker, path)
        return self.processes[worker].call("run", path, sql, arguments)

    def open(self, worker, path):
        worker = self.processes[worker]
        if path not in worker.paths:
            journal = worker.call("open", path)
            worker.paths.add(path)
            for file in self.files:
                if file.path == path:
                    file.journal = journal

    def close(self, path):
        for worker in self.processes:
            if path in worker.paths:
                worker.paths.remove(path)
                worker.call("close", path)

    def kill(self, worker):
        self.processes[worker].die()
        self.processes[worker] = self.server.fork()

    def pick(self, number):
        return self.files[number % len(self.files)]

    def new_operations(self, n):
        self.counted += n
        return range(self.counted - n, self.counted)

    def shown(self, path, worker=0):
        if path in self.processes[1 - worker].paths and path not in self.processes[worker].paths:
            worker = 1 - worker
        return dict(self.run(worker, path, "SELECT k, n FROM t"))

    # Counting.

    @rule(worker=workers, number=numbers, script=scripts, meanwhile=sampled_from(
        [None] * 4 + ["merge", "copy"]), other=numbers,
          end=sampled_from(["COMMIT"] * 5 + ["ROLLBACK", "kill"]))
    def transact(self, worker, number, script, meanwhile, other, end):
        file = self.pick(number)
        operations, savepoint = set(file.operations), None
        if meanwhile and self.renewal:
            time.sleep(0.011)  # a copy taken meanwhile is older than what is committed then
        self.run(worker, file.path, "BEGIN IMMEDIATE")
        for step in script:
            if step == "add":
                one, = self.new_operations(1)
                self.run(worker, file.path, ADD, row(one))
                operations.add(one)
            elif step == "fail":
                with pytest.raises(sqlite3.Error):
                    self.run(worker, file.path, "INSERT INTO t VALUES ('a', 1), (NULL, 1)")
            elif step == "savepoint":
                self.run(worker, file.path, "SAVEPOINT s")
                savepoint = set(operations)
            elif savepoint is not None:
                self.run(worker, file.path, "ROLLBACK TO s")
                operations = set(savepoint)
        if meanwhile == "merge":
            self.merge(1 - worker, self.pick(other), file, "path")
        elif meanwhile == "copy":
            self.copy_meanwhile(1 - worker, file)
        if end == "kill":
            return self.kill(worker)
        self.run(worker, file.path, end)
        if end == "COMMIT":
            file.commits(operations, counted=operations != file.operations)

    def copy_meanwhile(self, worker, file):
        pass

    def count(self, worker, file, n=1):
        operations = self.new_operations(n)
        for one in operations:
            self.run(worker, file.path, ADD, row(one))
            file.commits(file.operations | {one}, counted=True)

    @rule(worker=workers, number=numbers, n=integers(1, 3))
    def count_alone(self, worker, number, n):
        self.count(worker, self.pick(number), n)

    @rule(number=numbers, n=tuples(integers(1, 5), integers(1, 5)))
    def both_count(self, number, n):
        file = self.pick(number)
        shares = [self.new_operations(one) for one in n]
        for worker, share in enumerate(shares):
            self.open(worker, file.path)
        for worker, share in zip(self.processes, shares):
            worker.channel.send(("count", file.path, share))
        for worker, share in zip(self.processes, shares):
            assert [worker.channel.recv() for _ in (*share, None)] == [*share, None]
        self.commits_in_some_order(file, shares)

    def commits_in_some_order(self, file, shares):
        """Each of the two counts in its own order."""
        first, second = shares
        before, journal = file.operations, file.journal
        for i in range(len(first) + 1):
            for j in range(len(second) + 1):
                if journal != "delete" or i + j >= len(first) + len(second) - 1:
                    file.history.append(before | {*first[:i], *second[:j]})
        if journal == "delete":
            file.history = file.history[-3:]
        file.attributes = file.attributes[-1:] + [file.attribute()]
        file.shaky = False

    @rule(worker=workers, number=numbers, after=integers(1, 20), all_die=booleans())
    def count_until_killed(self, worker, number, after, all_die):
        """One commit may have come to pass without a word. Under WAL it may even be a thing that
        the other process does not see and a recovery would: a death or a commit there decides."""
        file = self.pick(number)
        self.open(worker, file.path)
        channel, share = self.processes[worker].channel, self.new_operations(1000)
        channel.send(("count", file.path, share))
        time.sleep(after / 1000)
        self.server.kill(self.processes[worker].pid)
        done = 0
        try:
            while channel.recv() == share[done]:
                done += 1
        except (EOFError, ConnectionError):
            pass
        channel.close()
        self.processes[worker] = self.server.fork()
        for one in share[:done]:
            file.commits(file.operations | {one})
        if all_die:
            self.kill(1 - worker)
        more = file.operations | {share[done]}
        if self.shown(file.path, 1 - worker) == shown_by(more):
            file.commits(more)
        file.shaky = True
        if not all_die:
            self.count(1 - worker, file)

    # Between files.

    @rule(worker=workers, number=numbers, other=numbers, copy=none() | integers(0, 5),
          how=sampled_from(["path", "path", "pull", "push", "sync"]))
    def exchange(self, worker, number, other, copy, how):
        if copy is not None and self.copies and how == "path":
            self.merge(worker, self.pick(number), self.copies[copy % len(self.copies)], how)
        else:
            self.merge(worker, self.pick(number), self.pick(other), how)

    def merge(self, worker, file, other, how):
        """Who gives is durable from now on, as it was before, if any row of his was looked at."""
        if file is other:
            return
        if how == "path":
            report = self.run(worker, file.path, "SELECT * FROM counter_pull(?)", [other.path])
        else:
            self.run(worker, file.path, "ATTACH ? AS other", [other.path])
            if other.journal == "wal":
                self.run(worker, file.path, "PRAGMA other.synchronous = NORMAL")
            report = self.run(worker, file.path, f"SELECT * FROM counter_{how}('other')")
            self.run(worker, file.path, "DETACH other")
        both = file.operations | other.operations
        takes, gives = how != "push", how in ("push", "sync")
        looked = how != "sync" and any(rows_read for _, rows_read, *_ in report)
        if takes and isinstance(other, File) and (looked or not other.operations <= file.operations):
            other.is_now_durable(other.operations)
        if gives and (looked or not file.operations <= other.operations):
            file.is_now_durable(file.operations)
        if takes:
            file.commits(both)
        if gives:
            other.commits(both)

    # What changes the file and not what it has counted.

    @rule(worker=workers, number=numbers, what=sampled_from(
        ["close", "VACUUM", "PRAGMA wal_checkpoint(TRUNCATE)", "WAL", "DELETE", "clock", "kill",
         "move"]), hours=sampled_from([-10, 10]))
    def tend(self, worker, number, what, hours):
        file = self.pick(number)
        if what == "kill":
            self.kill(worker)
        elif what == "move":
            self.move(file)
        elif what in ("WAL", "DELETE"):
            self.close(file.path)
            self.run(worker, file.path, f"PRAGMA journal_mode = {what}")
            self.close(file.path)
            self.open(worker, file.path)
        elif what == "clock":
            self.run(worker, file.path, "UPDATE counter_replica SET renewed = renewed + ?",
                     [hours * 3600 * 1000])
        elif what != "close":
            self.run(worker, file.path, what)
        if what == "close":
            self.close(file.path)
        file.history.append(file.operations)

    def move(self, file):
        self.close(file.path)
        path = self.new_path()
        os.unlink(f"{file.path}-shm") if os.path.exists(f"{file.path}-shm") else None
        for name in [file.path, *side_files(file.path)]:
            if os.path.exists(name):
                os.rename(name, path + name[len(file.path):])
        file.path = path

    # What must always hold, and what must hold in the end.

    @invariant()
    def every_file_shows_its_operations(self):
        for file in self.files:
            assert self.shown(file.path) == shown_by(file.operations), file.path

    def finish(self):
        self.bring_everything_to_everyone()
        self.all_are_the_same()

    def teardown(self):
        for worker in self.processes:
            worker.die()
        if self.processes:
            shutil.rmtree(self.folder)

    def bring_everything_to_everyone(self):
        pairs = [(a, b) for a in self.files for b in self.files if a is not b]
        for _ in range(2):
            self.random.shuffle(pairs)
            for one, other in pairs:
                self.merge(self.random.randrange(2), one, other, "path")
                self.every_file_shows_its_operations()
        union = frozenset().union(*(file.operations for file in self.files))
        assert all(file.operations == union for file in self.files), "oracle differs"

    def all_are_the_same(self):
        cells = [self.run(0, file.path, "SELECT key, counter_digest(cell) FROM counter_cells('t') ORDER BY key")
                 for file in self.files]
        assert all(one == cells[0] for one in cells), "digests differ"
        ids = "SELECT count(DISTINCT id) FROM counter_cells('t') AS c, counter_shards(c.cell)"
        for file in self.files:
            assert self.run(0, file.path, ids)[0][0] <= self.ids, "an id for nothing"
            self.run(0, file.path, "INSERT INTO t(t) VALUES ('integrity-check')")
            assert self.run(0, file.path, "PRAGMA integrity_check") == [("ok",)]


class InnocentAlone(Innocent):
    @invariant()
    def nobody_has_taken_a_new_id(self):
        for file in self.files:
            former = self.run(0, file.path, "SELECT why FROM counter_replica")
            assert former == [("created",)], file.path


class Eventful(Innocent):
    # Copies.

    @rule(worker=workers, number=numbers, how=sampled_from(
        ["closed", "attributes too", "live", "without WAL", "VACUUM INTO", "backup"]))
    def copy(self, worker, number, how):
        self.take_copy(worker, self.pick(number), how)

    def copy_meanwhile(self, worker, file):
        self.take_copy(worker, file, self.random.choice(["live", "VACUUM INTO", "backup"]))

    def take_copy(self, worker, file, how):
        path = self.new_path()
        if how in ("closed", "attributes too"):
            self.close(file.path)
        if how in ("closed", "attributes too", "live", "without WAL"):
            (shutil.copy2 if how == "attributes too" else shutil.copyfile)(file.path, path)
        wal = pathlib.Path(f"{file.path}-wal")  # after a kill closed files have one
        if how != "without WAL" and not os.path.exists(f"{path}-wal") and wal.exists() and how in (
                "closed", "attributes too", "live"):
            shutil.copyfile(wal, f"{path}-wal")
        if how == "VACUUM INTO":
            self.run(worker, file.path, "VACUUM INTO ?", [path])
        elif how == "backup":
            self.open(worker, file.path)
            self.processes[worker].call("backup_to_new", file.path, path)
        operations = file.operations
        if how == "without WAL":
            operations = self.set_without_wal(worker, file, path)
        else:
            assert self.shown(path) == shown_by(operations), "a copy that differs"
        self.close(path)
        remove_side_files(path)
        if operations is not None:
            file.copied.append(operations)
            self.copies = self.copies[1 - MOST_COPIES:] + [Copy(path, operations, file)]
        if self.renewal:
            time.sleep(0.011)  # so that what is counted from now on is no longer of its age

    def set_without_wal(self, worker, file, path):
        """A set that the file had at its last checkpoint, if it was still its own then."""
        try:
            shown = self.shown(path)
        except sqlite3.Error:
            return None  # not even the table
        return next((one for one in file.history if shown_by(one) == shown), None)

    @precondition(lambda self: self.copies and len(self.files) < MOST_FILES)
    @rule(which=integers(0, 5), attributes=booleans())
    def copy_becomes_a_file(self, which, attributes):
        copy = self.copies[which % len(self.copies)]
        path = self.new_path()
        (shutil.copy2 if attributes else shutil.copyfile)(copy.path, path)
        self.files.append(File(path, copy.operations))
        self.ids += 1

    # Restores. What is restored in place must not be as young as an attribute that a
    # crash has lost.

    @precondition(lambda self: self.copies)
    @rule(worker=workers, number=numbers, which=integers(0, 5), how=sampled_from(
        ["cp", "cp", "backup", "backup", "rename", "rm, cp", "rm, cp -a"]),
          witness=none() | numbers, n=integers(0, 3), own=sampled_from([True, True, False]))
    def restore(self, worker, number, which, how, witness, n, own):
        """A witness is another file that has seen what is forgotten."""
        file = self.pick(number)
        copies = [copy for copy in self.copies if copy.origin is file or not own] or self.copies
        copy = copies[which % len(copies)]
        if file.shaky or witness is not None:
            self.count(worker, file)
        if witness is not None:
            self.merge(worker, self.pick(witness), file, "path")
        self.ids += 1
        if how == "backup":
            self.back_up(worker, copy, file)
        else:
            self.put_back(copy, file, how)
        self.count(worker, file, n)

    def put_back(self, copy, file, how):
        self.close(file.path)
        remove_side_files(file.path)
        if how.startswith("rm"):
            os.unlink(file.path)
            time.sleep(0.01)  # the clock of birth times is slow
        if how == "rename":
            self.copies.remove(copy)
            remove_side_files(copy.path)
            os.rename(copy.path, file.path)
        else:
            (shutil.copy2 if how == "rm, cp -a" else shutil.copyfile)(copy.path, file.path)
        file.is_now_durable(copy.operations)

    @rule(worker=workers, number=numbers, other=numbers)
    def overwrite_by_backup(self, worker, number, other):
        file, other = self.pick(number), self.pick(other)
        if file is other:
            return
        if file.shaky:
            self.count(worker, file)
        self.ids += 1
        other.copied.append(other.operations)
        self.back_up(worker, other, file)
        if self.renewal:
            time.sleep(0.011)

    def back_up(self, worker, source, file):
        """Into the connection that the application has open."""
        self.open(worker, source.path)
        self.open(worker, file.path)
        self.processes[worker].call("backup", source.path, file.path)
        file.commits(source.operations)
        for one in self.processes:  # its journal mode may be another now
            if file.path in one.paths:
                file.journal = one.call("settle", file.path)
        if isinstance(source, Copy):
            self.close(source.path)

    # Power cuts.

    @rule(worker=workers, number=numbers, lost=none() | integers(0, 20))
    def cut(self, worker, number, lost):
        """`lost`: the attribute as well goes back to one since the last sync."""
        file = self.pick(number)
        if not powercut.durable(file.path).exists():
            return
        self.kill(0)
        self.kill(1)
        powercut.cut(file.path)
        shown = self.shown(file.path, worker)
        left = [one for one in file.history if shown_by(one) == shown]
        assert left, "a power cut took back what was durable"
        is_copied = any(one - left[-1] for one in file.copied)
        earlier = [one for one in file.attributes if one]
        if lost is not None and earlier:
            os.setxattr(file.path, ATTRIBUTE, earlier[lost % len(earlier)])
        is_unseen = lost is not None or file.shaky or self.renewal
        file.history, file.attributes = left[-1:], [file.attribute()]
        file.shaky = file.shaky or lost is not None
        self.ids += 1
        if is_copied and is_unseen:  # "a copy taken seconds before a power cut"
            self.fork(worker, file)

    @rule(number=numbers)
    def lose_the_attribute(self, number):
        if self.pick(number).attribute() is not None:
            os.removexattr(self.pick(number).path, ATTRIBUTE)
            self.ids += 1

    # By hand.

    @rule(worker=workers, number=numbers)
    def fork_by_hand(self, worker, number):
        self.fork(worker, self.pick(number))

    def fork(self, worker, file):
        for sql in ["BEGIN", "SELECT counter_fork()",
                    f"UPDATE counter_replica SET renewal = {self.renewal}", "COMMIT"]:
            self.run(worker, file.path, sql)
        file.commits(file.operations, counted=True)
        self.ids += 1

    @rule(worker=workers, number=numbers)
    def drop(self, worker, number):
        file = self.pick(number)
        for sql in ["BEGIN", "DROP TABLE t", TABLE, "COMMIT"]:
            self.run(worker, file.path, sql)
        file.commits(())
        self.ids += 1
        self.count(worker, file)

    # A clone that cannot be seen: a machine was copied whole. The first merge proves it.

    @precondition(lambda self: len(self.files) < MOST_FILES)
    @rule(worker=workers, number=numbers, n=integers(1, 3), push=booleans())
    def clone_machine(self, worker, number, n, push):
        file = self.pick(number)
        self.count(worker, file)  # so that its id is its own
        (identity,), = self.run(worker, file.path, "SELECT id FROM counter_replica WHERE one = 1")
        self.close(file.path)
        self.take_copy(worker, file, "closed")
        clone = File(self.copies.pop().path, file.operations)
        self.files.append(clone)
        self.fork(worker, clone)
        self.run(worker, clone.path, "UPDATE counter_replica SET id = ?", [identity])
        self.count(worker, clone, n)
        if push:
            self.merge(worker, clone, file, "push")
        else:
            self.merge(worker, file, clone, "path")
        self.merge(worker, clone, file, "path")
        self.ids += 1


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("server")
    try:
        os.setxattr(folder, "user.test", b"")
    except OSError:
        pytest.skip("no extended attributes here")
    server = Server(folder)
    yield server
    server.close()


def run_model(model, server):
    model.server = server
    run_machine(model, max(10, EXAMPLES // 10), steps=30)


def test_no_copy_restore_or_power_cut_loses_or_doubles_an_increment(server):
    run_model(Eventful, server)


@pytest.mark.long
def test_kills_moves_rollbacks_and_clocks_cost_no_id(server):
    run_model(InnocentAlone, server)


if __name__ == "__main__":
    serve()
