"""test_openings.py - values that two files had when they began to track a table are never added up without an answer.

Files make a table with values of their own, track it sooner or later, count, delete, are copied, report, merge by
pulls, pushes and feeds; answers come before or after. The model knows of each file which openings, counts and answers
it has heard of, and adds them up by the rule: of a group of openings the greatest. A merge that would show two
openings without an answer is refused and changes nothing; every other merge goes through. In the end everything is
answered and merged, and all files show the same.
"""

import contextlib
import copy
import os
import re
import sqlite3
import sys
import tempfile

import pytest

from conftest import EXAMPLES
from files import connect
from randomly import Machine, booleans, initialize, integers, lists, precondition, rule, run_machine, sampled_from, tuples

KEYS, MOST = "abc", 4
keys, choices, values = sampled_from(KEYS), integers(0, 99), sampled_from([0, 0, 3, 7, 7, -2])
FEED = "table_name, key, change, seq, source"


class Counter:
    """What a file has heard of one counter: its life, openings by id, and counts by the number of their operation."""

    def __init__(self, life=1):
        self.life, self.openings, self.counts = life, {}, {}

    def joined(self, other):
        if other.life != self.life:
            return copy.deepcopy(max(self, other, key=lambda one: one.life))
        both = copy.deepcopy(self)
        both.openings.update(other.openings)
        both.counts.update(other.counts)
        return both


class Answers:
    def __init__(self, edges):
        self.adds = [pair for pair, answer in edges if answer == "add"]
        self.group = {}
        for pair, answer in edges:
            if answer == "same":
                a, b = (self.group.get(one, frozenset([one])) for one in pair)
                for one in a | b:
                    self.group[one] = a | b

    def of(self, opening):
        return self.group.get(opening, frozenset([opening]))

    def greatest(self, openings):
        """Of each group, with its value."""
        best = {}
        for opening, value in openings.items():
            group = self.of(opening)
            best[group] = max(best.get(group, (value, opening)), (value, opening))
        return best

    def are_answered(self, openings):
        groups = list(self.greatest(openings))
        return all(any({self.of(a), self.of(b)} == {one, two} for a, b in self.adds)
                   for i, one in enumerate(groups) for two in groups[:i])

    def value(self, counter):
        return sum(counter.counts.values()) + sum(value for value, _ in self.greatest(counter.openings).values())


class Known:
    """What a file has heard of: rows, and answers as ((a, b), answer)."""

    def __init__(self):
        self.rows, self.edges = {}, frozenset()

    def joined(self, other):
        both = Known()
        both.edges = self.edges | other.edges
        both.rows = {key: self.rows.get(key, Counter(0)).joined(other.rows.get(key, Counter(0)))
                     for key in self.rows.keys() | other.rows.keys()}
        return both

    def is_answered(self):
        answers = Answers(self.edges)
        return all(answers.are_answered(row.openings) for row in self.rows.values() if row.life % 2)

    def shown(self):
        answers = Answers(self.edges)
        return {key: answers.value(row) for key, row in self.rows.items() if row.life % 2}


class File:
    def __init__(self, path):
        self.path, self.known, self.tracked, self.made = path, Known(), False, None
        self.db = connect(path)
        self.db.execute("PRAGMA synchronous = OFF")

    def run(self, sql, *values):
        return self.db.execute(sql, values).fetchall()

    def shown(self):
        return dict(self.run("SELECT k, n FROM t"))

    def own(self):
        return [row[0] for row in self.run("SELECT name FROM counter_state WHERE kind = 'opening'")] if self.tracked else []


def text(opening):
    digits = opening.hex()
    return "-".join([digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]])


class Openings(Machine):
    @initialize(first=lists(tuples(keys, values), max_size=3), second=lists(tuples(keys, values), max_size=3))
    def start(self, first, second):
        self.folder, self.files, self.operations = tempfile.TemporaryDirectory(prefix="counter-"), [], 0
        for rows in first, second:
            self.new_file(rows)
            self.track(len(self.files) - 1)

    def new_file(self, rows):
        one = File(os.path.join(self.folder.name, f"{len(self.files)}.db"))
        one.run("CREATE TABLE t(k TEXT PRIMARY KEY, n INTEGER NOT NULL DEFAULT 0)")
        for key, value in rows:
            one.run("INSERT OR REPLACE INTO t VALUES (?, ?)", key, value)
        one.rows = one.shown()
        self.files.append(one)

    def at(self, choice, tracked=None):
        files = [one for one in self.files if tracked is None or one.tracked == tracked]
        return files[choice % len(files)] if files else None

    def peers(self, choice, other):
        """Two files that can merge."""
        able = [one for one in self.files if one.tracked or one.made]
        if len(able) < 2:
            return None, None
        taker = able.pop(choice % len(able))
        return taker, able[other % len(able)]

    # Files.

    @precondition(lambda self: len(self.files) < MOST)
    @rule(rows=lists(tuples(keys, values), max_size=3))
    def another_file(self, rows):
        self.new_file(rows)

    @rule(choice=choices)
    def track_a_file(self, choice):
        one = self.at(choice, tracked=False)
        if one and not one.made:
            self.track(self.files.index(one))

    def track(self, number):
        one = self.files[number]
        if not one.run("SELECT 1 FROM counter_tracked"):
            one.run("SELECT counter_track('t', 'n')")
        one.tracked = True
        own = one.own()
        assert len(own) == any(one.rows.values()), "an opening for values other than 0, and for nothing else"
        for key, value in one.rows.items():
            one.known.rows[key] = row = Counter()
            if value:
                row.openings[own[0]] = value
            else:
                self.count(row, 0)

    @rule(choice=choices, again=booleans())
    def track_a_file_anew(self, choice, again):
        """Its values are not counted again without a word, for other files may have them as counts."""
        one = self.at(choice, tracked=True)
        counted = one.run("SELECT 1 FROM t_counters_cells LIMIT 1")
        one.run("SELECT counter_untrack('t')")
        if counted and any(one.shown().values()):
            with pytest.raises(sqlite3.OperationalError, match="t: n was tracked in this file before"):
                one.run("SELECT counter_track('t', 'n', 'opening=same')")
            if again:
                one.run("SELECT counter_track('t', 'n', 'values=again')")
            else:
                one.run("UPDATE t SET n = 0")
        one.known, one.rows = Known(), one.shown()
        self.track(self.files.index(one))

    def count(self, row, n):
        self.operations += 1
        row.counts[self.operations] = n

    @precondition(lambda self: len(self.files) < MOST)
    @rule(choice=choices)
    def copy_a_file(self, choice):
        """Made after tracking, it never asks: the openings are the same."""
        one = self.at(choice, tracked=True)
        path = os.path.join(self.folder.name, f"{len(self.files)}.db")
        one.run("VACUUM INTO ?", path)
        made = File(path)
        made.known, made.tracked, made.rows = copy.deepcopy(one.known), True, {}
        self.files.append(made)

    @precondition(lambda self: len(self.files) < MOST)
    @rule(choice=choices)
    def a_file_that_reports(self, choice):
        """It holds cells without a table that shows them, so it takes everything."""
        one = self.at(choice, tracked=True)
        made = File(os.path.join(self.folder.name, f"{len(self.files)}.db"))
        made.run("SELECT * FROM counter_pull(?, 'create tables')", one.path)
        made.known, made.made, made.rows = copy.deepcopy(one.known), True, {}
        self.files.append(made)

    # Rows.

    @rule(choice=choices, key=keys, n=integers(-5, 9))
    def count_in_a_row(self, choice, key, n):
        one = self.at(choice, tracked=True)
        one.run("INSERT INTO t VALUES (?, ?) ON CONFLICT(k) DO UPDATE SET n = n + excluded.n", key, n)
        row = one.known.rows.setdefault(key, Counter())
        if row.life % 2 == 0:
            row = one.known.rows[key] = Counter(row.life + 1)
        self.count(row, n)

    @rule(choice=choices, key=keys)
    def delete_a_row(self, choice, key):
        one = self.at(choice, tracked=True)
        there = key in one.shown()
        one.run("DELETE FROM t WHERE k = ?", key)
        row = one.known.rows.get(key)
        if row and row.life % 2 and there:
            one.known.rows[key] = Counter(row.life + 1)

    # Merges.

    def merge(self, taker, giver, way, feeds=False):
        """Runs way(). A pull or push is refused if the taker would show openings that are not answered, and changes nothing,
        unless a feed has brought them before; a feed merges them, and the taker does not show them."""
        merged = taker.known.joined(giver.known)
        if not taker.tracked or merged.is_answered() or feeds:
            way()
            taker.known = merged
            return
        before = taker.shown(), taker.run("SELECT * FROM t_counters_cells ORDER BY 1")
        try:
            way()
            assert not taker.known.is_answered(), "openings without an answer were added up"
            taker.known = merged
            return
        except sqlite3.OperationalError as error:
            assert "two files counted the values that they had when they began to track it" in str(error), error
        if taker.db.in_transaction:
            taker.run("ROLLBACK")
        assert (taker.shown(), taker.run("SELECT * FROM t_counters_cells ORDER BY 1")) == before

    @rule(choice=choices, other=choices, full=booleans())
    def pull(self, choice, other, full):
        taker, giver = self.peers(choice, other)
        if taker:
            self.merge(taker, giver, lambda: taker.run("SELECT * FROM counter_pull(?, ?)", giver.path, "full" if full else ""))

    @rule(choice=choices, other=choices)
    def push(self, choice, other):
        taker, giver = self.peers(choice, other)
        if taker:
            self.merge(taker, giver, lambda: giver.run("SELECT * FROM counter_push(?)", taker.path))

    @rule(choice=choices, other=choices)
    def feed(self, choice, other):
        taker, giver = self.peers(choice, other)

        def way():
            rows = giver.run(f"SELECT {FEED} FROM counter_changes(0)")
            taker.run("BEGIN")
            taker.db.executemany(f"INSERT INTO counter_changes({FEED}) VALUES (?, ?, ?, ?, ?)", rows)
            taker.run("SELECT counter_seen('7529cd67-394b-3247-8020-f2a7272fc8d9', 0, 0)")
            taker.run("COMMIT")
        if taker:
            self.merge(taker, giver, way, feeds=True)

    # Answers.

    def answer(self, one, answer, *openings):
        one.run(f"SELECT counter_opening('t', ?{', ?' * len(openings)})", answer, *map(text, openings))
        pairs = [tuple(openings)] if len(openings) == 2 else [(own, openings[0]) for own in one.own() if own != openings[0]]
        one.known.edges |= {(tuple(sorted(pair)), answer) for pair in pairs}

    @rule(choice=choices, a=choices, b=choices, answer=sampled_from(["same", "same", "add"]), both=booleans())
    def answer_about_two(self, choice, a, b, answer, both):
        one = self.at(choice)
        everything = sorted({opening for each in self.files for opening in each.own()})
        if not (one.tracked or one.made) or len(everything) < 2:
            return
        a = everything.pop(a % len(everything))
        b = everything[b % len(everything)]
        if both:
            self.answer(one, answer, a, b)
        elif one.own() and a not in one.own():
            self.answer(one, answer, a)

    @rule(choice=choices)
    def answer_for_all(self, choice):
        """As in a migration that runs everywhere: the openings of all files that say so are one."""
        one = self.at(choice, tracked=True)
        one.run("SELECT counter_opening('t', 'same')")
        one.known.edges |= {((b"the name", own), "same") for own in one.own()}

    # What must hold.

    def check(self, one):
        """Rows that await an answer do not show their sum, and say what to answer."""
        if not one.tracked and not one.made:
            return
        answers = Answers(one.known.edges)
        asked = {key for key, row in one.known.rows.items() if one.tracked and row.life % 2 and not answers.are_answered(row.openings)}
        shown, known = ({key: n for key, n in each.items() if key not in asked} for each in (one.shown(), one.known.shown()))
        assert shown == known
        if one.tracked:
            assert {row for row, in one.run("SELECT row_key FROM counter_tracked WHERE why LIKE 'two files counted%'")} == {
                f"('{key}')" for key in asked}

    @rule()
    def look(self):
        for one in self.files:
            self.check(one)

    def teardown(self):
        if not sys.exc_info()[0]:
            self.answer_and_merge_everything()
        for one in self.files:
            one.db.close()
        self.folder.cleanup()

    def answer_and_merge_everything(self):
        """Answers what is asked, one question after the other, until all have merged with all."""
        able = [one for one in self.files if one.tracked or one.made]
        for turn in range(200):
            asked = False
            for taker in able:
                for giver in able:
                    if taker is giver:
                        continue
                    try:
                        before = taker.known
                        taker.run("SELECT * FROM counter_pull(?)", giver.path)
                        taker.known = taker.known.joined(giver.known)
                        assert not taker.tracked or taker.known.is_answered() or not before.is_answered()
                        for why, in taker.run("SELECT why FROM counter_tracked WHERE why LIKE 'two files counted%' LIMIT 1"):
                            raise sqlite3.OperationalError(why)
                    except sqlite3.OperationalError as error:
                        answer = "add" if (turn + len(str(error))) % 3 == 0 else "same"
                        call = re.search(f"SELECT counter_opening\\('t', '{answer}'([^)]*)\\)", str(error))
                        ids = [bytes.fromhex(one.replace("-", "")) for one in re.findall("[0-9a-f-]{36}", call.group(1))]
                        self.answer(taker, answer, *ids)
                        asked = True
            if not asked:
                break
        for _ in range(2):
            for taker in able:
                for giver in able:
                    if taker is not giver:
                        taker.run("SELECT * FROM counter_pull(?)", giver.path)
                        taker.known = taker.known.joined(giver.known)
        for one in able:
            self.check(one)
            counters = "t" if one.made else "t_counters"
            one.run(f"INSERT INTO {counters}({counters}) VALUES ('integrity-check')")
        digests = {one.run("SELECT counter_table_digest(?)", "t" if one.made else "t_counters")[0] for one in able}
        assert len(digests) <= 1, "files that have heard of the same differ"


def test_opening_values_add_up_only_where_an_answer_says_so():
    run_machine(Openings, examples=max(20, EXAMPLES // 2), steps=40)


def test_an_answer_about_two_openings_says_nothing_of_two_others_in_the_next_row(tmp_path):
    opened = []
    for name, row in ("a", (1, 10)), ("b", (1, 10)), ("c", (2, 20)), ("d", (2, 30)):
        db = connect(tmp_path / f"{name}.db")
        db.execute("CREATE TABLE p(k INTEGER PRIMARY KEY, stock INTEGER NOT NULL DEFAULT 0)")
        db.execute("INSERT INTO p VALUES (?, ?)", row)
        assert db.execute("SELECT counter_track('p', 'stock', 'keys=assigned')").fetchall() == [(1,)]
        opened.append(db)
    a, b, c, d = opened
    opening = a.execute("SELECT name FROM counter_state WHERE kind = 'opening'").fetchone()
    b.execute("SELECT counter_opening('p', 'add', ?)", opening)
    b.execute("SELECT * FROM counter_pull(?)", [str(tmp_path / "a.db")]).fetchall()
    c.execute("SELECT * FROM counter_pull(?)", [str(tmp_path / "b.db")]).fetchall()
    assert c.execute("SELECT * FROM p").fetchall() == [(1, 20), (2, 20)]
    with pytest.raises(sqlite3.Error, match=r"\(2\): 30 here, 20 in .*c.db: if they were copies"):
        d.execute("SELECT * FROM counter_pull(?)", [str(tmp_path / "c.db")]).fetchall()
    assert d.execute("SELECT * FROM p").fetchall() == [(2, 30)]


@pytest.mark.parametrize("way", ["pull", "push", "feed", "turned"])
@pytest.mark.parametrize("rowid", ["", "WITHOUT ROWID"])
def test_a_row_that_an_answer_changes_and_a_floor_removes_is_not_shown(tmp_path, rowid, way):
    shop, office = (connect(tmp_path / name) for name in ("shop.db", "office.db"))
    for db in shop, office:
        db.execute(f"CREATE TABLE t(k TEXT PRIMARY KEY NOT NULL, n INTEGER NOT NULL DEFAULT 0) {rowid}")
        db.execute("INSERT INTO t VALUES ('a', 4)")
        db.execute("SELECT counter_replicate('t', 'n')").fetchall()
    told = office.execute(f"SELECT {FEED} FROM counter_changes(0)").fetchall()
    shop.executemany(f"INSERT INTO counter_changes({FEED}) VALUES (?, ?, ?, ?, ?)", told)
    assert shop.execute("SELECT row_key, merged FROM counter_tracked WHERE state = 'differs'").fetchall() == [("('a')", 8)]
    opening, = shop.execute("SELECT name FROM counter_state WHERE kind = 'opening'").fetchone()
    office.execute("SELECT counter_opening('t', 'same', ?)", (text(opening),)).fetchall()
    office.execute("INSERT INTO t_counters(t_counters, k) VALUES ('purge below', 'c')")
    office.execute("INSERT INTO t VALUES ('d', 1)")
    if way == "pull":
        shop.execute("SELECT * FROM counter_pull(?)", (str(tmp_path / "office.db"),)).fetchall()
    elif way == "push":
        office.execute("SELECT * FROM counter_push(?)", (str(tmp_path / "shop.db"),)).fetchall()
    else:
        told = office.execute(f"SELECT {FEED} FROM counter_changes(0)").fetchall()
        shop.execute("BEGIN")
        shop.executemany(f"INSERT INTO counter_changes({FEED}) VALUES (?, ?, ?, ?, ?)", told if way == "feed" else told[::-1])
        shop.execute("COMMIT")
    assert [db.execute("SELECT * FROM t").fetchall() for db in (shop, office)] == [[("d", 1)]] * 2
    shop.execute("INSERT INTO t_counters(t_counters) VALUES ('integrity-check')")
