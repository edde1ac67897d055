"""test_replacement.py - files that take each other's place under a name, in any order, disks that
come back included: nothing is lost or doubled, and a cell has two ids for each name at most.

Every increment adds another power of four, so a value tells which of them it has, and how often.
What must be there is told by sets: an increment on a disk that was never lost, or one that had
reached such a disk when the loss was declared, if it was one of which all have heard: who takes over
a name asks all of whom he hears, and only the lost one may have heard of the other. Others of a lost
disk may be there once, or not.
"""

import json
import os
import random
import re
import sqlite3
import uuid

import pytest

from conftest import SEED
from files import connect

RUNS = int(os.environ.get("REPLACEMENT_RUNS") or 40)
STEPS, KEYS, MOST = 160, 5, 30  # increments of a key, so that 64 bits suffice
TABLE = "CREATE VIRTUAL TABLE t USING counter(k INTEGER PRIMARY KEY, n COUNTER)"
EPOCH = 1 << 32


def id_of(name):
    return str(uuid.uuid3(uuid.NAMESPACE_DNS, name))


def negated(one):
    data = bytearray(uuid.UUID(one).bytes)
    data[8] ^= 0x3F
    data[9] ^= 0xFF
    return str(uuid.UUID(bytes=bytes(data)))


class Disk:
    """A database file; gone: not reachable now; lost: it has been declared so."""

    def __init__(self, path, name, pending=False):
        self.path, self.name, self.gone, self.lost = str(path), name, False, False
        self.knows, self.retired, self.promoted = set(), False, not pending
        self.pulled_from = set()
        self.db = connect(self.path)
        self.db.execute("PRAGMA synchronous = OFF")
        init = (name, "pending") if pending else (name,) if name else ()
        self.db.execute(f"SELECT counter_init({', '.join('?' * len(init))})", init)
        if not pending:
            self.db.execute(TABLE)

    def answers_to(self, one):
        """May a refusal mean this file by that id? A pending one is called by its holder."""
        if one == self.holder():
            return True
        return self.promoted and one == (id_of(self.name) if self.name else self.id())

    def holder(self):
        row = self.db.execute("SELECT hex(holder) FROM counter_replica").fetchone()
        return str(uuid.UUID(row[0]))

    def id(self):
        return self.db.execute("SELECT counter_id()").fetchone()[0]

    def value(self, key):
        row = self.db.execute("SELECT n FROM t WHERE k = ?", (key,)).fetchone()
        return row[0] if row else 0

    def cells(self):
        return [json.loads(cell) for cell, in
                self.db.execute("SELECT counter_json(cell) FROM counter_cells('t')")]


class World:
    def __init__(self, folder, chance):
        self.folder, self.chance, self.disks = folder, chance, []
        self.increments = {key: 0 for key in range(KEYS)}
        self.made_by, self.had_by = {}, {}  # of an increment, which is (key, number)
        self.promotions = 0
        for name in ["dc1:rack1", "dc1:rack2", None]:
            self.add(name)
        for disk in self.disks * 2:
            for other in self.disks:
                self.pull(disk, other)

    def add(self, name, pending=False):
        self.disks.append(Disk(self.folder / f"{len(self.disks)}.db", name, pending))
        return self.disks[-1]

    def there(self):
        return [disk for disk in self.disks if not disk.gone]

    def increment(self, disk):
        key = self.chance.randrange(KEYS)
        number = self.increments[key]
        if number == MOST:
            return
        try:
            disk.db.execute("INSERT INTO t VALUES (?, ?)", (key, 4 ** number))
        except sqlite3.Error:
            return  # refused, or a pending file without the table
        self.increments[key] += 1
        self.made_by[key, number] = disk
        disk.knows.add((key, number))

    def pull(self, disk, other):
        if disk is other:
            return
        try:
            disk.db.execute("SELECT * FROM counter_pull(?)", (other.path,)).fetchall()
        except sqlite3.Error as error:
            assert "no counter tables" in str(error), error
            return
        disk.knows |= other.knows
        disk.pulled_from.add(other)

    def declare_lost(self, disk):
        """What had reached somebody by now is kept; later nothing of it is promised."""
        disk.lost = True
        for one, maker in self.made_by.items():
            if maker is disk:
                self.had_by[one] = [other for other in self.disks
                                    if one in other.knows and self.all_hear_of(other)]

    def all_hear_of(self, one):
        return all(one in self.heard_of(disk) for disk in self.disks if not disk.lost)

    def heard_of(self, disk):
        """By itself, or through those that it has pulled from; the lost ones tell nobody."""
        heard, asked = {disk}, [disk]
        while asked:
            new = asked.pop().pulled_from - heard
            heard |= new
            asked += [one for one in new if not one.lost]
        return heard

    def must_be_there(self, one):
        return any(not disk.lost for disk in [self.made_by[one], *self.had_by.get(one, [])])

    def lose(self, pending, one):
        """The operator declares a file lost if all are gone that may be meant."""
        meant = [disk for disk in self.disks if disk is not pending and disk.answers_to(one)]
        if not meant or not all(disk.gone for disk in meant if not disk.lost):
            return
        for disk in meant:
            if not disk.lost:
                self.declare_lost(disk)
        pending.db.execute("SELECT counter_lost(?)", (one,))

    def in_order(self, ids):
        """Random ids must not change what the seed makes."""
        return sorted(set(ids), key=lambda one: [disk.answers_to(one) for disk in self.disks],
                      reverse=True)

    def work_on(self, pending):
        """The operator looks what is missing, and does something about it."""
        what = "SELECT counter_promote()"
        try:
            pending.db.execute(what).fetchone()
            pending.promoted = True
            self.promotions += 1
            return
        except sqlite3.Error as error:
            missing = str(error)
        for one in self.in_order(re.findall(r"[0-9a-f]{8}-[0-9a-f-]{27}", missing)):
            self.lose(pending, one)
            for disk in self.there():
                if disk.answers_to(one) and self.chance.random() < 0.7:
                    self.pull(disk, pending)
                    self.pull(pending, disk)
        if "retire the holder" in missing and self.chance.random() < 0.5:
            for disk in self.there():
                if disk.name == pending.name and disk.promoted:
                    self.retire(disk)

    def retire(self, disk):
        disk.db.execute("SELECT counter_retire()")
        disk.retired = True

    def replace(self, name):
        """A new file for a name, unless one is on its way that is there."""
        holders = [disk for disk in self.disks if disk.name == name and not disk.retired]
        if any(not disk.promoted and not disk.gone for disk in holders):
            return
        pending = self.add(name, pending=True)
        for disk in self.disks:
            if disk.gone and disk.name == name and not disk.promoted and disk is not pending:
                if not disk.lost:
                    self.declare_lost(disk)
                pending.db.execute("SELECT counter_lost(?)", (negated(id_of(name)),))

    def step(self):
        disk = self.chance.choice(self.there())
        what = self.chance.choices(["increment", "pull", "work", "replace", "go", "come back"],
                                   [35, 25, 26, 8, 5, 3])[0]
        if what == "increment":
            self.increment(disk)
        elif what == "pull":
            self.pull(disk, self.chance.choice(self.there()))
        elif what == "work":
            pending = [one for one in self.there() if not one.promoted and not one.retired]
            if pending:
                self.work_on(self.chance.choice(pending))
        elif what == "replace":
            self.replace(self.chance.choice(["dc1:rack1", "dc1:rack2"]))
        elif what == "go" and disk.name and len(self.there()) > 2:
            disk.gone = True
        elif what == "come back":
            gone = [one for one in self.disks if one.gone]
            if gone:
                self.chance.choice(gone).gone = False

    def finish(self):
        """Those that were not lost come back, and all tell each other everything."""
        for disk in self.disks:
            disk.gone = disk.gone and disk.lost
        for _ in range(3):
            for disk in self.there():
                for other in self.there():
                    self.pull(disk, other)

    def check(self):
        first, *others = [disk for disk in self.there() if disk.db.execute(
            "SELECT count(*) FROM sqlite_master WHERE name = 't'").fetchone()[0]]
        for key in range(KEYS):
            value = first.value(key)
            for number in range(self.increments[key]):
                times = value >> 2 * number & 3
                assert times <= 1, (key, number, times)
                assert times or not self.must_be_there((key, number)), (key, number, "is lost")
            assert value < 4 ** self.increments[key]
            assert [disk.value(key) for disk in others] == [value] * len(others)
        known = {id_of(name) for name in ("dc1:rack1", "dc1:rack2")}
        known |= {negated(one) for one in known} | {self.disks[2].id()}
        for disk in [first, *others]:
            for cell in disk.cells():
                assert {shard["id"] for shard in cell["shards"]} <= known


@pytest.mark.parametrize("number", range(RUNS))
def test_replacements_in_any_order_lose_and_double_nothing(tmp_path, number):
    world = World(tmp_path, random.Random(SEED + number))
    for _ in range(STEPS):
        world.step()
    world.finish()
    world.check()
    for disk in world.disks:
        disk.db.close()


# ---- single rules --------------------------------------------------------------------------------


class Racks:
    """Two named files and a third that know each other, and a pending one for the name of the
    first."""

    def __init__(self, folder):
        self.old, self.second, self.third = (
            Disk(folder / f"{i}.db", name) for i, name in enumerate(["dc1:rack1", "dc1:rack2", None]))
        for disk in [self.old, self.second, self.third] * 2:
            for other in [self.old, self.second, self.third]:
                pull(disk, other)
        self.new = Disk(folder / "new.db", "dc1:rack1", pending=True)

    def close(self):
        for disk in [self.old, self.second, self.third, self.new]:
            disk.db.close()


@pytest.fixture
def racks(tmp_path):
    made = Racks(tmp_path)
    yield made
    made.close()


def pull(disk, other):
    if disk is not other:
        disk.db.execute("SELECT * FROM counter_pull(?)", (other.path,)).fetchall()


def meet(disk, *others):
    for other in others:
        pull(other, disk)
        pull(disk, other)


def count(disk, n=1):
    disk.db.execute("INSERT INTO t VALUES (1, ?)", (n,))


def lose(disk, one):
    disk.db.execute("SELECT counter_lost(?)", (one,))


def refusal(disk, sql):
    with pytest.raises(sqlite3.Error) as caught:
        disk.db.execute(sql).fetchone()
    return str(caught.value)


PROMOTE, COUNT = "SELECT counter_promote()", "INSERT INTO t VALUES (1, 1)"


def test_a_pending_file_waits_for_all_that_those_know_from_whom_it_pulls(racks):
    pull(racks.new, racks.third)
    missing = refusal(racks.new, COUNT)
    assert racks.second.id() in missing and racks.old.id() in missing
    assert racks.third.id() not in missing
    pull(racks.new, racks.second)
    pull(racks.new, racks.old)
    count(racks.new)


def test_after_the_holder_is_lost_everybody_is_pulled_from_again(racks):
    for disk in (racks.third, racks.second, racks.old):
        pull(racks.new, disk)
    count(racks.new)
    meet(racks.new, racks.second, racks.third)
    count(racks.old, 10)
    pull(racks.second, racks.old)
    lose(racks.new, id_of("dc1:rack1"))
    missing = refusal(racks.new, PROMOTE)
    assert f"pull, since the holder was lost, from {racks.second.id()}" in missing
    pull(racks.new, racks.second)
    pull(racks.new, racks.third)
    racks.new.db.execute(PROMOTE)
    count(racks.new, 100)
    pull(racks.third, racks.new)
    pull(racks.old, racks.third)
    assert [racks.third.value(1), racks.old.value(1)] == [111, 111]


def test_after_an_earlier_pending_file_is_lost_everybody_is_pulled_from_again(racks, tmp_path):
    for disk in (racks.third, racks.second, racks.old):
        pull(racks.new, disk)
    count(racks.new)
    pull(racks.third, racks.new)
    last = Disk(tmp_path / "last.db", "dc1:rack1", pending=True)
    for disk in (racks.third, racks.second, racks.old):
        pull(last, disk)
    count(racks.new)
    pull(racks.second, racks.new)
    assert "pass the holder of the lost one" in refusal(
        last, f"SELECT counter_lost('{negated(id_of('dc1:rack1'))}')")
    lose(last, racks.new.holder())
    assert f"pull from {racks.second.id()}" in refusal(last, COUNT)
    for disk in (racks.third, racks.second, racks.old):
        pull(last, disk)
    count(last, 10)
    pull(racks.third, racks.new)
    pull(racks.third, last)
    assert racks.third.value(1) == 12
    last.db.close()


def test_two_pending_files_of_one_name_do_not_both_count(racks, tmp_path):
    last = Disk(tmp_path / "last.db", "dc1:rack1", pending=True)
    for disk in (racks.third, racks.second, racks.old):
        pull(racks.new, disk)
        pull(disk, racks.new)
    for disk in (racks.third, racks.second, racks.old):
        pull(last, disk)
    assert "retire the one that was pending before" in refusal(last, COUNT)
    count(racks.new)
    racks.new.db.execute("SELECT counter_retire()")
    pull(last, racks.new)
    count(last, 10)
    assert last.value(1) == 11
    last.db.close()


def test_nobody_takes_over_a_name_while_others_do_not_know_the_epoch(racks):
    for disk in (racks.third, racks.second, racks.old):
        pull(racks.new, disk)
    racks.old.db.execute("SELECT counter_retire()")
    pull(racks.new, racks.old)
    assert "let it pull from here, then pull from it:" in refusal(racks.new, PROMOTE)
    meet(racks.new, racks.second, racks.third)
    racks.new.db.execute(PROMOTE)


def test_a_holder_that_meets_a_higher_epoch_counts_no_more(racks):
    for disk in (racks.third, racks.second, racks.old):
        pull(racks.new, disk)
    count(racks.old)
    count(racks.new)
    count(racks.old)
    pull(racks.third, racks.new)
    pull(racks.old, racks.third)
    assert "another file has taken over that name" in refusal(racks.old, COUNT)


def test_a_copy_of_a_pending_file_does_not_count(racks, tmp_path):
    for disk in (racks.third, racks.second, racks.old):
        pull(racks.new, disk)
    racks.new.db.execute("VACUUM INTO ?", (str(tmp_path / "copy.db"),))
    copy = connect(str(tmp_path / "copy.db"))
    with pytest.raises(sqlite3.Error, match="does not count"):
        copy.execute(COUNT)
    copy.close()


def test_what_the_holder_before_has_counted_is_no_proof_of_a_twin(racks):
    for disk in (racks.third, racks.second, racks.old):
        pull(racks.new, disk)
    lose(racks.new, id_of("dc1:rack1"))
    meet(racks.new, racks.second, racks.third)
    racks.new.db.execute(PROMOTE)
    racks.old.db.execute("INSERT INTO t VALUES (2, 5)")  # its disk was not so dead
    pull(racks.new, racks.old)
    racks.new.db.execute("INSERT INTO t VALUES (2, 7)")
    assert racks.new.value(2) == 12
    pull(racks.old, racks.new)
    refused = [refusal(racks.old, COUNT), racks.old.db.execute(
        "SELECT refuses FROM counter_identity()").fetchone()[0]]
    assert refused[1] == "replaced" and "taken over that name" in refused[0]
    for disk in (racks.new, racks.old):
        assert disk.db.execute("SELECT count(*) FROM counter_conflicts").fetchone()[0] == 0


def test_two_files_that_wait_for_one_name_one_after_the_other_are_two_sources_of_a_feed(racks, tmp_path):
    """They have one id: a mark that is left for the first must not pass over rows of the second."""
    for disk in (racks.third, racks.second, racks.old):
        pull(racks.new, disk)
    count(racks.new)
    later = Disk(tmp_path / "later.db", "dc1:rack1", pending=True)
    lose(later, racks.new.id())
    for disk in (racks.third, racks.second, racks.old):
        pull(later, disk)
    count(later)
    first, second = (disk.db.execute("SELECT DISTINCT source FROM counter_changes(0)").fetchall()
                     for disk in (racks.new, later))
    assert racks.new.id() == later.id() and len(first) == len(second) == 1 and first != second
    racks.third.db.execute("SELECT counter_seen(?, 0, ?)", (first[0][0], 2**50))
    assert racks.third.db.execute("SELECT counter_mark(?)", second[0]).fetchall() == [(0,)]
    later.db.close()
