"""test_cluster_history.py - three coordinators with different mains in front of the same
three files, replicas that go away and come back: a read at QUORUM sees every write at QUORUM
before it, exactly.

The model is the table of oracle.py, one for all: what a quorum has written and a quorum reads is no
different from one file.
"""

import contextlib
import random
import sqlite3

import pytest

import clusters
from clusters import rows, set_option
from conftest import EXAMPLES, SEED
from files import connect
from oracle import Increments, Refused, Table

COUNTERS = ["hits", "bytes"]
KEYS = [(path, hour) for path in ("/", "/a", "/b") for hour in (1, 2)]
NAMES = ["main", "east", "west"]


class Coordinator:
    """One connection. `away` is the name of a replica that is detached."""

    def __init__(self, files, read_repair):
        self.files, self.away = files, None
        self.db = clusters.coordinator(files, read_repair=read_repair)

    def take_away(self, chance):
        if self.away:
            self.db.execute(f"ATTACH ? AS {self.away}", [self.files[self.away]])
            clusters.set_durable(self.db, [self.away])
        self.away = chance.choice([None, "east", "west"])
        if self.away:
            self.db.execute(f"DETACH {self.away}")

    def reaches(self, locked):
        """How many replicas a write has."""
        return sum(name != self.away and path != locked for name, path in self.files.items())


class History:
    def __init__(self, folder, chance, journals, read_repair):
        self.chance = chance
        self.paths = [clusters.new_file(folder / f"{n}.db", journal)
                      for n, journal in enumerate(journals)]
        self.coordinators = [
            Coordinator(dict(zip(NAMES, self.paths[n:] + self.paths[:n])), read_repair)
            for n in range(3)]
        self.locked, self.holder, self.log = None, None, []
        self.table = Table(Increments(), len(COUNTERS))

    def close(self):
        self.unlock()
        for one in self.coordinators:
            one.db.close()

    # ---- replicas that go away ----

    def lock(self):
        self.unlock()
        self.locked = self.chance.choice(self.paths)
        self.holder = connect(self.locked)
        self.holder.execute("BEGIN IMMEDIATE")

    def unlock(self):
        if self.holder:
            self.holder.close()
        self.locked = self.holder = None

    # ---- what is done through one of them ----

    def step(self):
        one = self.chance.choice(self.coordinators)
        if self.chance.random() < 0.15:
            one.take_away(self.chance)
        elif self.chance.random() < 0.1:
            self.chance.choice([self.lock, self.unlock])()
        else:
            self.chance.choice([self.insert, self.insert, self.insert, self.update, self.update,
                                self.delete, self.command, self.several])(one)
        self.read(self.chance.choice(self.coordinators))

    def change(self, one, sql, arguments, foresee):
        """A statement does what the model says, or is refused as a whole: by the model, or because
        two replicas are not to be had."""
        table, expected = self.table.copy(), None
        try:
            foresee(table)
        except Refused as refusal:
            expected = sqlite3.IntegrityError if refusal.kind == "constraint" else sqlite3.Error
        if one.reaches(self.locked) < 2:
            if not expected and table.rows == self.table.rows:
                return self.try_in_vain(one, sql, arguments)
            expected = sqlite3.Error if expected else sqlite3.OperationalError
        self.log.append((one.files["main"], one.away, self.locked, sql, arguments, expected))
        if expected:
            with pytest.raises(expected):
                one.db.execute(sql, arguments)
            assert not one.db.in_transaction
        else:
            one.db.execute(sql, arguments)
            self.table = table

    def try_in_vain(self, one, sql, arguments):
        """What would change nothing may or may not be refused for the lack of replicas."""
        with contextlib.suppress(sqlite3.OperationalError):
            one.db.execute(sql, arguments)

    def amounts(self):
        return [self.chance.choice([None, 0, 1, 2, -3, 10**12]) for _ in COUNTERS]

    def insert(self, one):
        key, amounts = self.chance.choice(KEYS), self.amounts()
        conflict = self.chance.choice(["ABORT", "ABORT", "IGNORE", "REPLACE"])
        self.change(one, f"INSERT OR {conflict} INTO traffic VALUES (?, ?, ?, ?)", [*key, *amounts],
                    lambda table: table.insert(key, amounts, conflict))

    def several(self, one):
        some = [(self.chance.choice(KEYS), self.amounts()) for _ in range(3)]

        def foresee(table):
            for key, amounts in some:
                table.insert(key, amounts, "ABORT")
        self.change(one, "INSERT INTO traffic VALUES (?, ?, ?, ?), (?, ?, ?, ?), (?, ?, ?, ?)",
                    [x for key, amounts in some for x in (*key, *amounts)], foresee)

    def where(self):
        path, hour = self.chance.choice(KEYS)
        return self.chance.choice([
            ("path = ? AND hour = ?", [path, hour], lambda key: key == (path, hour)),
            ("path = ?", [path], lambda key: key[0] == path),
            ("hour >= ?", [hour], lambda key: key[1] >= hour)])

    def update(self, one):
        where, arguments, meant = self.where()

        def foresee(table):
            for key in filter(meant, table.visible()):
                table.update(key, [2, -1])
        self.change(one, f"UPDATE traffic SET hits = hits + 2, bytes = bytes - 1 WHERE {where}",
                    arguments, foresee)

    def delete(self, one):
        where, arguments, meant = self.where()

        def foresee(table):
            for key in filter(meant, table.visible()):
                table.delete(key)
        self.change(one, f"DELETE FROM traffic WHERE {where}", arguments, foresee)

    def command(self, one):
        key = self.chance.choice(KEYS)
        verb = self.chance.choice(["reset", "reset", "reset hits", "delete bytes"])
        word, *name = verb.split()
        named = [COUNTERS.index(n) for n in name] or range(len(COUNTERS))
        self.change(one, "INSERT INTO traffic(traffic, path, hour) VALUES (?, ?, ?)", [verb, *key],
                    lambda table: table.command(key, word, named, [None, None]))

    # ---- what is seen ----

    def read(self, one):
        found = {row[:2]: row[2:] for row in rows(one.db, "SELECT * FROM traffic")}
        assert found == self.table.visible(), "\n".join(map(str, self.log[-8:]))

    def check_in_the_end(self):
        """Once everybody has everything, every file shows the same."""
        self.unlock()
        for one in self.coordinators:
            while one.away:
                one.take_away(self.chance)
            set_option(one.db, "read=ALL")
            self.read(one)
            for name in ("east", "west"):
                rows(one.db, f"SELECT * FROM counter_sync('{name}')")
        for one in self.coordinators:
            for name in NAMES:
                shown = rows(one.db, f"SELECT * FROM {name}.page_views")
                assert {row[:2]: row[2:] for row in shown} == self.table.visible()
            assert rows(one.db, "SELECT different FROM counter_cluster_status('traffic')") == [(0,)] * 3


@pytest.mark.parametrize("read_repair", ["none", "blocking"])
@pytest.mark.parametrize("journals", [["WAL"] * 3, ["DELETE"] * 3, ["WAL", "DELETE", "WAL"]],
                         ids=["WAL", "DELETE", "mixed"])
def test_a_quorum_sees_what_a_quorum_has_written(tmp_path, journals, read_repair):
    chance = random.Random(f"{SEED} {journals} {read_repair}")
    for number in range(3):
        folder = tmp_path / str(number)
        folder.mkdir()
        history = History(folder, chance, journals, read_repair)
        try:
            for _ in range(EXAMPLES // 5):
                history.step()
            history.check_in_the_end()
        finally:
            history.close()
