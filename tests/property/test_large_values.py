"""test_large_values.py - a value that is too large for lines stops nothing: it is listed until a pull, or a later value, comes.

Files write values of random sizes, give each other lines and pull from each other at random. The model knows of each
value the operation that wrote it: what each file shows, and what it lists, follows from that alone.
"""
import random
import time

import pytest

from conftest import EXAMPLES, SEED
from files import connect

MOST = 4 << 20
COLUMNS = ["a", "b", "c"]
SIZES = [9, 1000, MOST // 2, MOST // 2 + 1, MOST - 1, MOST, MOST + 1]


class Row:
    """`values`: by column the number of the operation that wrote it, and its size; `missing`: the newest that was told without
    its value."""

    def __init__(self, life=0, values=None):
        self.life, self.values, self.missing = life, dict(values or {}), {}

    def take(self, other, by_lines):
        if other.life < self.life:
            return
        if other.life > self.life:
            self.__init__(other.life)
        told = 0
        listed = other.listed() if by_lines else {}
        for column in sorted({*other.values, *listed}):
            op, size = other.missing[column] if column in listed else other.values[column]
            is_told = column not in listed and (not by_lines or told + size <= MOST)
            told += size if is_told else 0
            if op <= self.values.get(column, (0,))[0]:
                continue
            if is_told:
                self.values[column] = op, size
            else:
                self.missing[column] = max((op, size), self.missing.get(column, (0, 0)))

    def listed(self):
        return {column: size for column, (op, size) in self.missing.items() if op > self.values.get(column, (0,))[0]}


class File:
    def __init__(self, path):
        self.path, self.rows = str(path), {}
        self.db = connect(self.path)
        self.db.execute("PRAGMA synchronous = OFF")
        self.db.execute("CREATE TABLE p(id TEXT PRIMARY KEY NOT NULL, c BLOB, a BLOB, n INTEGER NOT NULL DEFAULT 0, b BLOB)")
        self.db.execute("SELECT counter_replicate('p', 'n')")

    def write(self, op, draw):
        key = draw.choice("xyz")
        row = self.rows.setdefault(key, Row())
        time.sleep(0.002)  # so that its stamp is later than those before in other files
        if row.life % 2 == 0:
            self.db.execute("INSERT INTO p(id, a, b, c) VALUES (?, zeroblob(1), NULL, 'é')", [key])
            self.rows[key] = Row(row.life + 1, {"a": (op, 1), "b": (op, 0), "c": (op, 2)})
        elif draw.random() < 0.1:
            self.db.execute("DELETE FROM p WHERE id = ?", [key])
            self.rows[key] = Row(row.life + 1)
        elif draw.random() < 0.2:
            self.db.execute("UPDATE p SET n = n + 1 WHERE id = ?", [key])
        else:
            column, size = draw.choice(COLUMNS), draw.choice(SIZES)
            value = b"%9d" % op + bytes(size - 9)  # another one than that before
            self.db.execute(f"UPDATE p SET {column} = CAST(? AS {draw.choice(['TEXT', 'BLOB'])}) WHERE id = ?", [value, key])
            row.values[column] = op, size

    def take(self, other, by_lines):
        for key, row in other.rows.items():
            self.rows.setdefault(key, Row()).take(row, by_lines)

    def take_lines(self, other, draw):
        source, = other.db.execute("SELECT counter_source(0, NULL)").fetchone()
        since = self.db.execute("SELECT counter_mark(?)", [source]).fetchone()[0] if draw.random() < 0.7 else 0
        lines = [line for line, in other.db.execute("SELECT line FROM counter_lines(?)", [since])]
        assert all(len(line) < 3 * MOST for line in lines), "larger than a server takes"
        self.db.execute("SELECT counter_take(?)", ["\n".join(lines)]).fetchone()
        end, = other.db.execute("SELECT counter_changes_end()").fetchone()
        assert self.db.execute("SELECT counter_mark(?)", [source]).fetchone()[0] >= end, "the mark stays behind"
        self.take(other, True)

    def pull(self, other):
        self.db.execute("SELECT * FROM counter_pull(?)", [other.path]).fetchall()
        self.take(other, False)

    def check(self):
        shown = {key: dict(zip(COLUMNS, sizes)) for key, *sizes in self.db.execute(
            "SELECT id, coalesce(length(CAST(a AS BLOB)), 0), coalesce(length(CAST(b AS BLOB)), 0), coalesce(length(CAST(c AS BLOB)), 0) FROM p")}
        expected = {key: {column: row.values.get(column, (0, 0))[1] for column in COLUMNS} for key, row in self.rows.items() if row.life % 2}
        assert shown == expected
        listed = {(key[2:3], column): int(why.split(" bytes")[0].split()[-1]) for key, column, why in self.db.execute(
            "SELECT row_key, column_name, why FROM counter_tracked WHERE state = 'differs'")}
        assert listed == {(key, column): size for key, row in self.rows.items() if row.life % 2 for column, size in row.listed().items()}
        warned = [warning for kind, warning in self.db.execute("SELECT kind, warning FROM counter_warnings") if kind == "too large"]
        assert [int(warning.split()[0]) for warning in warned] == [len(listed)] * bool(listed)


@pytest.mark.parametrize("number", range(max(2, EXAMPLES // 25)))
def test_a_value_too_large_for_lines_is_listed_until_a_pull_or_a_later_value_comes(tmp_path, number):
    draw = random.Random(f"{SEED} large {number}")
    files = [File(tmp_path / f"{i}.db") for i in range(3)]
    for op in range(1, 60):
        one, other = draw.sample(files, 2)
        chance = draw.random()
        if chance < 0.6:
            one.write(op, draw)
        elif chance < 0.9:
            one.take_lines(other, draw)
        else:
            one.pull(other)
        one.check()
    for _ in range(2):
        for one in files:
            for other in files:
                if one is not other:
                    one.pull(other)
    for one in files:
        one.check()
        assert not any(row.listed() for row in one.rows.values() if row.life % 2)
        assert one.db.execute("SELECT * FROM counter_digests('p', 1)").fetchone() == files[0].db.execute("SELECT * FROM counter_digests('p', 1)").fetchone()
        assert one.db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


def test_who_gives_lines_without_a_value_hears_of_it_and_no_line_is_larger_than_a_server_takes(tmp_path):
    one = File(tmp_path / "one.db")
    key = "\x01" * (1 << 18)
    one.db.execute("INSERT INTO p(id, a, b, c) VALUES (?, zeroblob(?), 1, zeroblob(9))", [key, MOST - 9])
    assert one.db.execute("SELECT max(length(line)) < ? FROM counter_lines(0)", [16 << 20]).fetchone() == (1,)
    assert one.db.execute("SELECT * FROM counter_warnings").fetchall() == []
    one.db.execute("UPDATE p SET c = zeroblob(10)")
    for _ in range(2):
        one.db.execute("SELECT * FROM counter_lines(0)").fetchall()
        (table, kind, warning), = one.db.execute("SELECT * FROM counter_warnings")
        assert (table, kind) == ("p", "left out") and warning.startswith("1 value is larger than lines carry, 4194304 bytes of a row")
    one.db.execute("SELECT counter_warnings_reset()")
    assert one.db.execute("SELECT * FROM counter_warnings").fetchall() == []
