"""test_kinds.py - files that disagree on the kinds of columns pass over that table alone, and agree when the notes are followed.

Random worlds of two or three files with one to three tables. In each file a table is tracked or replicated, and each of its
columns a counter, a regular column, or neither; migrations change that in one file, rename a column, and add one. A model of
each table in each file has sets of operations for counters, openings, of which the greatest counts, and stamps for regular
values. A merge of a table on which the two files agree joins their models. One on which they disagree must change nothing of the
table, in neither file, and name it in its note if there is anything to merge. Then the calls in the notes are made, word for word,
in any order, among writes and merges, until no note has one: all files show the same rows, and what the models say.
"""

import itertools
import pathlib
import random
import re
import sqlite3

import pytest

from conftest import EXAMPLES, SEED
from files import connect, groups
from test_replicated import read_cell
from test_tracked import rows

KEYS = ["tea", "jam", "salt"]
COLUMNS = ["a", "b", "c", "d"]
CALL = r"(counter_\w+\('\w+'(?:, '[\w=]+')*\))"
ADVICE = [  # the file, then the statements
    (rf"a regular column in (\S+): {CALL} there makes it a counter$", ["SELECT {1}"]),
    (rf"a regular column in \S+: in (\S+), call {CALL}, then {CALL}, which takes the values of \S+, or {CALL}, which keeps its own$",
     ["SELECT {1}", "SELECT {2}"]),
    (rf"not yet in (\S+): call {CALL} there$", ["SELECT {1}"]),
    (rf"but not in (\S+), and a replicated table merges with replicated ones only: call {CALL} there$", ["SELECT {1}"]),
    (r"column (\w+) is another one in \S+: in (\S+) it was \w+ before it was renamed: rename it there$", None),
]
AT_HOME = rf"(?:in (\S+): )?columns? .* (?:do|does) not travel yet: call {CALL}$|(?:in (\S+): )?columns? .* (?:is a counter|are counters) in other files: call {CALL}$"


class Row:
    """`columns` has by name a (stamp, value) of a regular column or None, `counters` by name (operations, openings)."""

    def __init__(self):
        self.life, self.columns, self.counters, self.plain = 0, {}, {}, {}

    def counter(self, name):
        return self.counters.setdefault(name, ({}, {}))

    def count(self, name):
        operations, openings = self.counter(name)
        return sum(operations.values()) + max(openings.values(), default=0)


class Table:
    """A table in one file. `shown` has the present name of each column by that between files; `kinds` is "counter", "regular" or
    "plain"; `generations` of its counters, also of those that have no column here."""

    ids = itertools.count(1)

    def __init__(self, file, name, kinds, replicated):
        self.file, self.db, self.name, self.replicated = file, file.db, name, replicated
        self.kinds, self.shown, self.rows, self.generations = dict(kinds), {c: c for c in kinds}, {}, {}
        self.written = 0  # statements of the application by which something travels
        columns = "".join(f", {column} INTEGER NOT NULL DEFAULT 0" for column in kinds)
        self.db.execute(f"CREATE TABLE {name}(k TEXT PRIMARY KEY NOT NULL{columns})")
        counters = [column for column in kinds if kinds[column] == "counter"]
        self.generations.update(dict.fromkeys(counters, 1))
        words = "".join(f", '{column}'" for column in counters)
        self.db.execute(f"SELECT counter_{'replicate' if replicated else 'track'}('{name}'{words})").fetchall()

    def of_kind(self, kind):
        return [column for column in self.kinds if self.kinds[column] == kind]

    def live(self):
        return {key: row for key, row in self.rows.items() if row.life % 2}

    def value(self, row, column):
        if self.kinds[column] == "counter":
            return row.count(column)
        if self.kinds[column] == "plain":
            return row.plain.get(column, 0)
        return row.columns[column][1] if row.columns.get(column) else 0

    def table(self):
        names = [self.shown[column] for column in self.kinds]
        return {row[0]: dict(zip(self.kinds, row[1:])) for row in rows(self.db, f"SELECT k{''.join(f', {n}' for n in names)} FROM {self.name}")}

    def check(self):
        wanted = {key: {column: self.value(row, column) for column in self.kinds} for key, row in self.live().items()}
        assert self.table() == wanted, (self.file.path, self.name, self.kinds)

    def state(self):
        """Everything of the table that a merge could change, and what is known of its peers."""
        token, = rows(self.db, "SELECT token FROM counter_tables WHERE birth = ?", self.name)
        peers = rows(self.db, "SELECT 1 FROM sqlite_master WHERE name = 'counter_peers'") and rows(
            self.db, "SELECT * FROM counter_peers WHERE mine = ? ORDER BY id", *token)
        return [peers, rows(self.db, f"SELECT * FROM {self.name} ORDER BY k"), rows(
            self.db, "SELECT * FROM counter_tracked WHERE table_name = ?", self.name), rows(
            self.db, f"SELECT * FROM {self.name}_counters_cells ORDER BY 1, 2"), rows(
            self.db, "SELECT s.* FROM counter_state AS s, counter_tables AS t WHERE t.birth = ? AND s.tab = t.number", self.name)
            ] + self.journal()

    def journal(self):
        if "bounds" in pathlib.Path(__file__).parts:  # this build folds now and then, which changes nothing
            return []
        (number,), = rows(self.db, "SELECT number FROM counter_tables WHERE birth = ?", self.name)
        journal = rows(self.db, "SELECT _seq, entries FROM counter_journal ORDER BY 1")
        return [rows(self.db, "SELECT * FROM counter_segments WHERE tab = ?", number),
                [(seq, entries) for seq, row in journal for table, entries in groups(row) if table == number]]

    def learn(self):
        """Takes the stamps of the regular columns from the file, after a statement: the values are known."""
        cells = {key: read_cell(cell) for key, cell in rows(
            self.db, "SELECT json_extract(counter_key_json(key), '$[0]'), change FROM counter_changes(0) "
            "WHERE table_name = ? AND substr(change, 1, 2) = x'0101'", self.name)}
        for key, row in self.rows.items():
            life, _, stamps = cells.get(key, (row.life, None, {}))
            assert life == row.life, (key, life, row.life)
            for column in self.of_kind("regular") if life % 2 else ():
                value, stamp = self.value(row, column), stamps.get(column)
                assert not row.columns.get(column) or (stamp and stamp >= row.columns[column][0]), (key, column)
                assert stamp or value == 0
                row.columns[column] = stamp and (stamp, value)

    # ---- the application ----

    def write(self, draw):
        key = draw.choice(KEYS)
        row = self.rows.setdefault(key, Row())
        columns, travels = list(self.kinds), True
        if row.life % 2 == 0:
            values = {column: draw.randint(0, 9) for column in columns}
            self.db.execute(f"INSERT INTO {self.name}(k{''.join(f', {self.shown[c]}' for c in columns)}) VALUES (?{', ?' * len(columns)})",
                            (key, *values.values()))
            row.life += 1
            row.counters = {}
            for column, value in values.items():
                self.set(row, column, value)
            travels = self.replicated or "counter" in self.kinds.values()
        elif self.replicated and draw.random() < .2:
            self.db.execute(f"DELETE FROM {self.name} WHERE k = ?", (key,))
            row.life += 1
            row.columns, row.counters, row.plain = {}, {}, {}
        elif columns:
            column = draw.choice(columns)
            name, n = self.shown[column], draw.choice([1, 5, 30])
            self.db.execute(f"UPDATE {self.name} SET {name} = {name} + ? WHERE k = ?", (n, key))
            self.set(row, column, self.value(row, column) + n)
            travels = self.kinds[column] != "plain"
        else:
            travels = False
        self.written += travels
        self.changed()

    def changed(self):
        if self.replicated:
            self.learn()
        self.check()

    def set(self, row, column, value):
        if self.kinds[column] == "counter":
            row.counter(column)[0][next(self.ids)] = value - row.count(column)
        elif self.kinds[column] == "plain":
            row.plain[column] = value
        else:  # learn() takes the stamp, which is not below the one before
            row.columns[column] = (row.columns.get(column) or ((0, b""),))[0], value

    # ---- migrations: what a call does to the model ----

    def call(self, text):
        """Makes a call of counter_replicate or counter_untrack, and does the same with the model."""
        function, *words = re.findall(r"\w+", re.sub(", 'values=\\w+'", "", text))
        born = {shown: column for column, shown in self.shown.items()}
        columns = [born[word] for word in words[1:]]
        try:
            [(done,)] = self.db.execute(f"SELECT {text}")
            if "untrack" in text and not done:
                return None  # another merge has dropped it meanwhile
        except sqlite3.Error as error:
            other = re.search(rf"is a counter in other files: {CALL} makes it one here$", str(error))
            if other:
                return self.call(other[1])
            taken = re.search(r"another column was called (\w+) when it was replicated, .*: rename this one$", str(error))
            if taken:
                self.rename(born[taken[1]], f"n{next(self.ids)}")
                return self.call(text)
            if "add 'opening=same', and only the greater value counts" not in str(error):
                assert str(error).endswith("is not tracked"), error  # another merge has said so meanwhile
                return None
            self.db.execute(f"SELECT {text[:-1]}, 'opening=same')").fetchall()
        if function == "counter_untrack":
            for column in columns:
                self.end_counter(column)
        elif function == "counter_replicate":
            self.replicate(columns)
        self.changed()

    def end_counter(self, column):
        for row in self.live().values():
            row.plain[column] = row.count(column)
        self.drop_counter(column)
        self.generations[column] += 1

    def drop_counter(self, column):
        for row in self.rows.values():
            row.counters.pop(column, None)
        if column in self.kinds:
            self.kinds[column] = "plain"

    def bear(self, column):
        """A column that neither counts nor is regular gets the name between files that it has here, but one that was a counter
        keeps its own."""
        born = self.shown[column] if column not in self.generations else column
        if born != column:
            self.kinds[born], self.shown[born] = self.kinds.pop(column), self.shown.pop(column)
            for row in self.rows.values():
                if column in row.plain:
                    row.plain[born] = row.plain.pop(column)
        return born

    def replicate(self, columns):
        self.replicated = True
        columns = [self.bear(column) if self.kinds[column] == "plain" else column for column in columns]
        for column in columns:
            values = {key: self.value(row, column) for key, row in self.live().items()}
            if self.generations.get(column, 0) % 2 == 0:
                self.generations[column] = self.generations.get(column, 0) + 1
            self.kinds[column] = "counter"
            for key, value in values.items():
                self.rows[key].columns.pop(column, None)
                self.rows[key].plain.pop(column, None)
                if value:
                    self.rows[key].counter(column)[1][next(self.ids)] = value
        for column in map(self.bear, self.of_kind("plain")):
            self.kinds[column] = "regular"
            for row in self.live().values():
                row.columns[column] = ((0, b""), row.plain.pop(column)) if row.plain.get(column) else None

    def migrate(self, draw):
        act = draw.choice(["count", "uncount", "add", "replicate", "rename"])
        column = draw.choice(COLUMNS)
        name = self.shown.get(column)
        if act == "count" and self.replicated and self.kinds.get(column) in ("regular", "plain"):
            self.call(f"counter_replicate('{self.name}', '{name}')")
        elif act == "uncount" and self.replicated and self.kinds.get(column) == "counter":
            self.call(f"counter_untrack('{self.name}', '{name}')")
            self.call(f"counter_replicate('{self.name}')")
        elif act == "add" and column not in self.kinds and column not in self.shown.values():
            self.db.execute(f"ALTER TABLE {self.name} ADD COLUMN {column} INTEGER NOT NULL DEFAULT 0")
            self.kinds[column], self.shown[column] = "plain", column
            self.changed()
        elif act == "replicate" and not self.replicated and draw.random() < .5:
            self.call(f"counter_replicate('{self.name}')")
        elif act == "rename" and self.kinds.get(column, "plain") != "plain":
            free = [each for each in COLUMNS if each not in self.kinds and each not in self.shown.values()]
            self.rename(column, draw.choice(free + [f"n{next(self.ids)}"]))

    def rename(self, column, to):
        self.db.execute(f"ALTER TABLE {self.name} RENAME COLUMN {self.shown[column]} TO {to}")
        self.shown[column] = to
        self.check()

    # ---- merges ----

    def disagrees(self, other):
        """Whether this one, which takes, and the other one disagree on a kind."""
        if self.replicated != other.replicated:
            return True
        if not self.replicated:
            return False
        for one, two in (self, other), (other, self):
            for column, generation in one.generations.items():
                if generation % 2 and two.kinds.get(column) == "regular" and (
                        generation > two.generations.get(column, 0) or one.kinds.get(column) == "counter"):
                    return True
        here = {shown: column for column, shown in self.shown.items()}
        return any(column in here and not (here[column] == column and self.kinds[column] == "regular")
                   and self.kinds.get(column) != "regular" for column in other.of_kind("regular"))

    def join(self, other):
        for column, generation in other.generations.items():
            if generation > self.generations.get(column, 0):
                self.generations[column] = generation
                if self.kinds.get(column) == "counter":
                    for row in self.live().values():
                        row.plain[column] = row.count(column)
                    self.drop_counter(column)
                else:
                    for row in self.rows.values():
                        row.counters.pop(column, None)
        counters = [c for c, g in other.generations.items() if g % 2 and g == self.generations[c]]
        for key, theirs in other.rows.items():
            mine = self.rows.setdefault(key, Row())
            if theirs.life > mine.life:
                stays = mine.plain if mine.life % 2 and theirs.life % 2 else {}  # no row was deleted here
                mine.life, mine.columns, mine.counters, mine.plain = theirs.life, {}, {}, stays
            if theirs.life != mine.life or mine.life % 2 == 0:
                continue
            for column in self.of_kind("regular"):
                cell = theirs.columns.get(column) if other.kinds.get(column) == "regular" else None
                if cell and (not mine.columns.get(column) or cell[0] > mine.columns[column][0]):
                    mine.columns[column] = cell
            for column in counters:
                for i, known in enumerate(theirs.counters.get(column, ())):
                    mine.counter(column)[i].update(known)


class File:
    def __init__(self, path):
        self.path, self.tables = str(path), {}
        self.db = connect(self.path)
        self.db.execute("PRAGMA synchronous = OFF")


class World:
    def __init__(self, draw, path):
        self.draw, self.seen, self.advice = draw, {}, []
        self.files = [File(path / f"{n}.db") for n in range(draw.choice([2, 2, 3]))]
        for n in range(draw.randint(1, 3)):
            first = self.kinds()
            for file in self.files:
                file.tables[f"t{n}"] = Table(file, f"t{n}", *(first if draw.random() < .6 else self.kinds()))

    def kinds(self):
        columns, replicated = self.draw.sample(COLUMNS, self.draw.randint(1, 3)), self.draw.random() < .8
        kinds = {column: self.draw.choice(["counter", "regular" if replicated else "plain"]) for column in columns}
        if not replicated and "counter" not in kinds.values():
            kinds[columns[0]] = "counter"
        return kinds, replicated

    def merge(self):
        """A pull, a push or a sync of two files: the directions, as (who takes, who gives), and what was noted."""
        return self.merge_two(*self.draw.sample(self.files, 2), self.draw.choice(["pull", "push", "sync"]))

    def merge_two(self, main, peer, way):
        directions = {"pull": [(main, peer)], "push": [(peer, main)], "sync": [(main, peer), (peer, main)]}[way]
        before = {(file, name): table.state() for file in (main, peer) for name, table in file.tables.items()}
        for _ in range(20):
            try:
                noted = rows(main.db, f"SELECT table_name, rows_read, rows_changed, note FROM counter_{way}(?)", peer.path)
                break
            except sqlite3.Error as error:
                for key, state in before.items():
                    assert state == key[0].tables[key[1]].state()
                self.answer(str(error), main, peer)
                before = {(file, name): table.state() for file in (main, peer) for name, table in file.tables.items()}
        else:
            raise AssertionError("the questions do not end")
        assert len(noted) == len(main.tables)
        for name, read, changed, note in noted:
            self.take(name, directions, (read, changed, note or ""), before)
            self.listen(main, peer, name, note or "")
        return noted

    def answer(self, error, main, peer):
        """Values that both files had are asked about, of which the greater one counts, and whose values win."""
        same = re.search(r"SELECT (counter_opening\('\w+', 'same'[^)]*\))", error)
        newest = re.search(r"table (\w+): two files began to replicate it apart.*(counter_replicate\('\w+', 'values=newest'\))", error)
        if same:
            main.db.execute(f"SELECT {same[1]}").fetchall()
        else:
            assert newest, error
            file = self.draw.choice([main, peer])
            file.db.execute(f"SELECT {newest[2]}").fetchall()
            file.tables[newest[1]].changed()

    def take(self, name, directions, result, before):
        read, changed, note = result
        passed = [direction for direction in directions if direction[0].tables[name].disagrees(direction[1].tables[name])]
        merged = [direction for direction in directions if direction not in passed]
        assert passed or "passed over" not in note, (name, note)
        for taker, giver in passed:
            news = self.seen.get((taker, giver, name), 0) != giver.tables[name].written
            assert "passed over" in note or not news, (name, note)
        if not merged:
            assert (read, changed) == (0, 0), (name, note)
            for file in directions[0]:
                assert file.tables[name].state() == before[file, name], (file.path, name, note)
        for taker, giver in merged:
            taker.tables[name].join(giver.tables[name])
            self.seen[taker, giver, name] = giver.tables[name].written
        for file in directions[0]:
            file.tables[name].check()

    # ---- advice ----

    def listen(self, main, peer, name, note):
        called = {"main": main, peer.path: peer, None: main}
        for sentence in note.split("; "):
            if sentence.startswith("passed over: "):
                self.advice.append((*self.read_advice(called, name, sentence), name))
            elif " wait" not in sentence and " differ" not in sentence and sentence:
                at_home = re.match(AT_HOME, sentence)
                assert at_home, sentence
                file = called[at_home[1] or at_home[3]]
                self.advice.append((file, [f"SELECT {at_home[2] or at_home[4]}"], name))

    def read_advice(self, called, name, sentence):
        for pattern, statements in ADVICE:
            said = re.search(pattern, sentence)
            if said and statements:
                groups = [None, *said.groups()[1:]]
                return called[said[1]], [statement.format(*groups) for statement in statements]
            if said:
                return called[said[2]], [f"ALTER TABLE {name} RENAME COLUMN {said[1]} TO n{next(Table.ids)}"]
        raise AssertionError(sentence)

    def forget(self, file, name):
        """What was advised in a file about a table is out of date behind a migration of it."""
        self.advice = [each for each in self.advice if (each[0], each[2]) != (file, name)]

    def follow(self):
        """Makes the calls of one note."""
        file, statements, name = self.advice.pop(self.draw.randrange(len(self.advice)))
        self.forget(file, name)
        table = file.tables[name]
        for statement in statements:
            renames = re.match(r"ALTER TABLE \w+ RENAME COLUMN (\w+) TO (\w+)$", statement)
            if renames:
                column, = [column for column, shown in table.shown.items() if shown == renames[1]]
                table.rename(column, f"n{next(Table.ids)}" if renames[2] == "free" else renames[2])
            else:
                table.call(statement.removeprefix("SELECT "))


@pytest.mark.parametrize("number", range(EXAMPLES))
def test_a_table_on_whose_kinds_files_disagree_is_passed_over_until_the_notes_are_followed(tmp_path, number):
    draw = random.Random(f"{SEED} kinds {number}")
    world = World(draw, tmp_path)
    for _ in range(draw.choice([15, 30, 60])):
        act, table = draw.random(), draw.choice(list(draw.choice(world.files).tables.values()))
        if act < .45:
            table.write(draw)
        elif act < .6:
            table.migrate(draw)
            world.forget(table.file, table.name)
        else:
            world.merge()
            world.advice = world.advice if draw.random() < .5 else []
        if world.advice and draw.random() < .1:
            world.follow()
    quiet = 0
    for n in range(300):
        if world.advice and draw.random() < .5:
            world.follow()
            quiet = 0
        elif n < 40 and draw.random() < .2:
            draw.choice(list(draw.choice(world.files).tables.values())).write(draw)
            quiet = 0
        else:
            quiet = quiet + 1 if not any(read or note for _, read, _, note in world.merge()) else 0
        if quiet > 15:
            break
    else:
        raise AssertionError(f"the notes do not end: {world.advice}")
    for one, other in itertools.permutations(world.files, 2):  # a third file may lack a column that these two have
        world.merge_two(one, other, "pull")
    for name in world.files[0].tables:
        tables = [file.tables[name] for file in world.files]
        for one, other in itertools.combinations(tables, 2):
            assert not one.disagrees(other) and not other.disagrees(one)
            for column in one.kinds.keys() & other.kinds.keys():
                if one.replicated or one.kinds[column] == other.kinds[column] == "counter":
                    assert one.kinds[column] == other.kinds[column] != "plain", (name, column)
                    assert {k: r[column] for k, r in one.table().items()} == {k: r[column] for k, r in other.table().items()}
