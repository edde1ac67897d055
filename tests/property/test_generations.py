"""test_generations.py - a column that is regular, becomes a counter and a regular column again, in each file at another time.

Random worlds of two to four files, copies of one, in which calls change the kind of the column w among writes, pulls and feeds.
Advice is followed, sometimes at once and sometimes late. The model: for each row a regular value has a generation and the moment
of its write, and the higher pair wins; a counter has the increments and openings that its file has seen. The file that ends the
counter writes what it shows at that moment, whatever files show that follow it loses to that. In the end all files agree, and
show for each row the value of the model.
"""

import itertools
import random
import re
import sqlite3
import time

import pytest

from conftest import EXAMPLES, SEED
from files import connect
from test_tracked import rows

KEYS = ["tea", "jam", "salt", "oil"]
FEED = "table_name, key, change, seq, source, key_columns"
CALL = r"(counter_\w+\('\w+'(?:, '[\w=]+')*\))"
ADVICE = [  # the file that a note names, the calls
    rf"a regular column in (\S+): {CALL} there makes it a counter$",
    rf"in (\S+), call {CALL}, which takes the values of \S+, or {CALL}, which keeps its own$",
    rf"note what was written in \S+, and call {CALL} in (\S+), whose values then win$",
    rf"in (\S+), call {CALL}, then {CALL}, which takes the values of \S+, or {CALL}, which keeps its own$",
    rf"not yet in (\S+): call {CALL} there$",
    rf"(?:in (\S+): )?columns? .* (?:in other files|not travel yet): call {CALL}$"]
REFUSED = [  # the calls that an error of a feed names
    rf"a regular column here: {CALL} makes it a counter$",
    rf"a regular column at the source: call {CALL}, then {CALL}, which takes the values of the source, or {CALL}, which keeps those of this file$",
    rf"replicated at the source: call {CALL}, which takes the values of the source, or {CALL}, which keeps those of this file$",
    rf"note what was written there, and call {CALL}, by which the values of this file win$",
    rf"not yet here: call {CALL}$"]


class File:
    """`kind` of w here: regular, counter or plain. `known`: the highest generation of w that the file has heard of; `cells`: the
    counter of that generation, by key its operations and openings; `regular`: by key (generation, moment, value)."""

    ids, moments = itertools.count(1), itertools.count(10)

    def __init__(self, path):
        self.path, self.kind, self.known, self.ended = str(path), "regular", 0, False
        self.cells, self.regular, self.plain, self.v = {}, {}, {}, {}
        self.generation = 0  # of the regular column
        self.db = connect(self.path)

    def tick(self):
        time.sleep(.0021)  # stamps are in the order of the moments
        return next(self.moments)

    def run(self, sql, *values):
        return self.db.execute(sql, values).fetchall()

    def count(self, key):
        operations, openings = self.cells.get(key, ({}, {}))
        return sum(operations.values()) + max(openings.values(), default=0)

    def value(self, key):
        if self.kind == "counter":
            return self.count(key)
        if self.kind == "plain":
            return self.plain.get(key, 0)
        return self.regular[key][2] if self.regular.get(key) else 0

    def shown(self):
        return dict(rows(self.db, "SELECT k, w FROM t"))

    def check(self):
        assert self.shown() == {key: self.value(key) for key in self.v}, (self.path, self.kind, self.known)

    # ---- the application ----

    def write(self, draw):
        key, n = draw.choice(KEYS), draw.choice([1, 5, 30])
        now = self.tick()
        if key not in self.v:
            self.run("INSERT INTO t(k, w, v) VALUES (?, ?, ?)", key, n, now)
            self.v[key] = now
            if self.kind == "counter":
                self.cells.setdefault(key, ({}, {}))[0][next(self.ids)] = n
            elif self.kind == "plain":
                self.plain[key] = n
            else:
                self.regular[key] = (self.generation, now, n)
        elif draw.random() < .2:
            self.run("UPDATE t SET v = ? WHERE k = ?", now, key)
            self.v[key] = now
        else:
            self.run("UPDATE t SET w = w + ? WHERE k = ?", n, key)
            if self.kind == "counter":
                self.cells.setdefault(key, ({}, {}))[0][next(self.ids)] = n
            elif self.kind == "plain":
                self.plain[key] = self.plain.get(key, 0) + n
            else:
                before = self.regular.get(key) or (0, 0, 0)
                self.regular[key] = (max(self.generation, before[0]), now, before[2] + n)
        self.check()

    def call(self, text):
        """Makes a call, if there is still something to do, and does the same with the model."""
        values = re.search("'values=(\\w+)'", text)
        counts = "untrack" not in text and "'w'" in text
        try:
            self.run(f"SELECT {text[:-1]}, 'opening=same')" if counts else f"SELECT {text}")  # else a merge asks
        except sqlite3.Error as error:
            assert re.search("is not tracked$|is a counter in other files", str(error)), error
            return
        now = self.tick()
        if "untrack" in text:
            if self.kind == "counter":
                self.plain = {key: self.count(key) for key in self.v}
                self.known, self.cells, self.ended = self.known + 1, {}, True
            else:
                self.plain = {key: self.value(key) for key in self.v}
            self.kind = "plain"
        elif counts:
            if self.kind != "counter":
                before = {key: self.value(key) for key in self.v}
                self.known += self.known % 2 == 0
                self.kind, opening = "counter", next(self.ids)
                for key, value in before.items():
                    if value:
                        self.cells.setdefault(key, ({}, {}))[1][opening] = value
        elif self.kind == "plain":
            assert self.known % 2 == 0
            self.kind, self.generation = "regular", self.known
            self.regular = {}
            for key in self.v:
                value, ended = self.plain.get(key, 0), self.ended and not values
                if self.ended and values and value:  # whatever another file has wins, also one that never counted
                    self.regular[key] = (0, 0, value)
                elif value or ended:
                    self.regular[key] = (self.known, now if value and ended else 2 if ended else 1, value)
            self.ended = False
        self.check()

    # ---- merges ----

    def learn(self, generation):
        if generation <= self.known:
            return
        if self.kind == "counter":
            self.plain, self.kind = {key: self.count(key) for key in self.v}, "plain"
        self.known, self.cells, self.ended = generation, {}, False
        if self.kind == "regular" and generation % 2 == 0:
            self.generation = generation  # of what the file writes from now on

    def join(self, other):
        """What the rows of another file bring, which was not passed over and not refused."""
        shows = self.shown()
        self.learn(other.known)
        for key, v in other.v.items():
            if key not in self.v and self.kind == "plain":
                self.plain[key] = 0
            self.v[key] = max(v, self.v.get(key, 0))
        if other.known == self.known and self.known % 2:
            for key, (operations, openings) in other.cells.items():
                mine = self.cells.setdefault(key, ({}, {}))
                mine[0].update(operations)
                mine[1].update(openings)
        if self.kind == other.kind == "regular":
            for key, cell in other.regular.items():
                mine = self.regular.get(key)
                if mine and cell and mine[:2] == cell[:2] and mine[1] <= 1 and mine[2] != cell[2]:
                    cell = max(mine, cell, key=lambda one: one[2] == shows.get(key))  # two files that follow: any of them
                if cell and (not mine or cell[:2] > mine[:2] or mine[1] <= 1 and cell[:2] == mine[:2]):
                    self.regular[key] = cell
                    self.generation = max(self.generation, cell[0])


class World:
    def __init__(self, draw, path):
        self.draw = draw
        first = File(path / "0.db")
        first.run("CREATE TABLE t(k TEXT PRIMARY KEY NOT NULL, w INTEGER NOT NULL DEFAULT 0, v INTEGER NOT NULL DEFAULT 0)")
        first.run("SELECT counter_replicate('t')")
        for _ in range(draw.randint(0, 3)):
            first.write(draw)
        self.files = [first]
        for n in range(1, draw.choice([2, 3, 3, 4])):
            first.run("VACUUM INTO ?", str(path / f"{n}.db"))
            file = File(path / f"{n}.db")
            file.regular, file.v = dict(first.regular), dict(first.v)
            self.files.append(file)
        self.advice = []

    def follow(self, file, calls):
        self.advice = [each for each in self.advice if each[0] is not file]
        if len(calls) > 1:  # what the file shows is taken back, or kept
            calls = [*calls[:-2], self.draw.choice(calls[-2:])]
        for call in calls:
            file.call(call)

    def pull(self, taker, giver):
        (note,), = rows(taker.db, "SELECT note FROM counter_pull(?)", giver.path)
        for sentence in (note or "").split("; "):
            for pattern in ADVICE:
                said = re.search(pattern, sentence)
                if said:
                    file = giver if giver.path in said.groups() else taker
                    self.advice.append((file, [part for part in said.groups() if part and part.startswith("counter_")]))
                    break
            else:
                assert not sentence, sentence
        passed = "passed over" in (note or "")
        differ = any(one.known % 2 and other.kind == "regular" and (one.known > other.known or one.kind == "counter")
                     for one, other in ((taker, giver), (giver, taker))) or (giver.kind, taker.kind) == ("regular", "plain")
        assert passed == differ, (note, taker.kind, taker.known, giver.kind, giver.known)
        if not passed:
            taker.join(giver)
        taker.check()
        return passed

    def feed(self, taker, giver, whole=False):
        since = 0 if whole or self.draw.random() < .5 else rows(taker.db, "SELECT counter_mark(counter_source) FROM (SELECT ? AS counter_source)",
                                                                *rows(giver.db, "SELECT counter_source()")[0])[0][0]
        changes = giver.run(f"SELECT {FEED} FROM counter_changes(?)", since)
        before = taker.run("SELECT * FROM t ORDER BY k")
        taker.db.execute("BEGIN")
        try:
            for change in changes:
                taker.db.execute(f"INSERT INTO counter_changes({FEED}) VALUES (?, ?, ?, ?, ?, ?)", change)
            taker.db.execute("COMMIT")
        except sqlite3.Error as error:
            taker.db.execute("ROLLBACK")
            assert taker.run("SELECT * FROM t ORDER BY k") == before
            said = next((re.search(pattern, str(error)) for pattern in REFUSED if re.search(pattern, str(error))), None)
            assert said, error
            self.advice.append((taker, list(said.groups())))
            return False
        if taker.kind == "regular" and giver.kind == "counter":
            assert giver.known < taker.known, "a counter came to a regular column"
        taker.join(giver)
        taker.check()
        return True

    def step(self):
        draw, file = self.draw, self.draw.choice(self.files)
        act = draw.random()
        if act < .45:
            file.write(draw)
        elif act < .53 and file.kind == "regular" and file.known < 4:
            file.call("counter_replicate('t', 'w')")
        elif act < .6 and file.kind == "counter":
            file.call("counter_untrack('t', 'w')")
            if draw.random() < .8:
                file.call("counter_replicate('t')")
        elif act < .7 and self.advice:
            self.follow(*draw.choice(self.advice))
        else:
            taker, giver = draw.sample(self.files, 2)
            self.pull(taker, giver) if draw.random() < .6 else self.feed(taker, giver)

    def settle(self):
        for n in range(60):
            self.advice = []
            for taker, giver in itertools.permutations(self.files, 2):
                self.pull(taker, giver)
            if self.advice:
                self.follow(*self.draw.choice(self.advice))
            elif {file.kind for file in self.files} == {"plain"}:  # the counter was dropped everywhere, and nothing else was said
                self.draw.choice(self.files).call("counter_replicate('t')")
            elif n > 3:
                return
        raise AssertionError("the notes do not end")


@pytest.mark.parametrize("number", range(EXAMPLES))
def test_a_column_goes_from_regular_to_counter_and_back(tmp_path, number):
    draw = random.Random(f"{SEED} generations {number}")
    world = World(draw, tmp_path)
    for _ in range(draw.choice([10, 25, 50])):
        world.step()
    world.settle()
    shown = {tuple(sorted(file.shown().items())) for file in world.files}
    assert len(shown) == 1, shown
    assert len({file.kind for file in world.files}) == 1
    for taker, giver in itertools.permutations(world.files, 2):
        assert world.feed(taker, giver, whole=True)
    digests = {rows(file.db, "SELECT counter_table_digest('t')")[0] for file in world.files}
    assert len(digests) == 1, digests
