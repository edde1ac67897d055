"""test_sqllogictest.py - the same scripts on ordinary tables and on ours, in the form of sqllogictest.

They follow sqllogictest (sqlite.org/sqllogictest): records of statements that succeed or fail and of queries with their results,
which an engine that is trusted completes and another one verifies. The trusted one is an ordinary table; a script is random,
and its queries are of the kind of select1.test to select5.test: CASE, correlated subqueries, EXISTS, BETWEEN, joins.
property/test_ordinary.py and test_tracked.py compare single statements with their changes(), triggers and savepoints; a
replicated table is compared here alone.
"""

import random
import sqlite3

import pytest

from peers import SEED, agree, differs

NUMBERS = ", ".join(f"{name} INTEGER NOT NULL DEFAULT 0 CHECK (typeof({name}) = 'integer')" for name in "bcde")
ORDINARY = [f"CREATE TABLE t1(a INTEGER PRIMARY KEY NOT NULL, {NUMBERS}{{more}})",
            "CREATE TABLE t2(x INTEGER, y TEXT)", "INSERT INTO t2 VALUES (1, 'one'), (2, 'two'), (5, 'five'), (8, NULL)"]
MORE = ", name TEXT, code INTEGER UNIQUE, CHECK (e > -400)"
# With any trigger for UPDATE, SQLite finds all rows before it changes the first one; before 3.41 only then.
ENGINES = {
    "ordinary": [sql.format(more="") for sql in ORDINARY],
    "counter": ["CREATE VIRTUAL TABLE t1 USING counter(a INTEGER PRIMARY KEY, b COUNTER, c COUNTER, d COUNTER, e COUNTER)", *ORDINARY[1:]],
    "ordinary with more": [*(sql.format(more=MORE) for sql in ORDINARY), "CREATE INDEX t1_d ON t1(d, name)",
                           "CREATE TRIGGER t1_any AFTER UPDATE ON t1 BEGIN SELECT 1; END"],
}
ENGINES["tracked"] = [*ENGINES["ordinary with more"], "SELECT counter_track('t1', 'b', 'c', 'd', 'e', 'keys=assigned')"]
ENGINES["replicated"] = [*ENGINES["ordinary with more"], "SELECT counter_replicate('t1', 'b', 'c', 'keys=assigned')"]


# ---- scripts ----

class Script:
    """Draws records: (conditions, kind, SQL). The kind of a statement is not known before it has run."""

    def __init__(self, chance, more):
        self.chance, self.more = chance, more
        self.open = False

    def number(self):
        return self.chance.choice([0, 1, 2, 7, 10, 100, 150, 231, self.chance.randint(-99, 250)])

    def value(self, depth=0):
        chance, column = self.chance, self.chance.choice("abcde")
        if depth == 2 or chance.random() < 0.3: return chance.choice([column, str(self.number())])
        one, two = self.value(depth + 1), self.value(depth + 1)
        return chance.choice([
            f"{one} + {two}", f"{one} - {two}", f"{column} * 2", f"abs({one} - {two})", f"({one} + {two}) / 3",
            f"CASE WHEN {self.condition(depth + 1)} THEN {one} ELSE {two} END", f"CASE {one} WHEN {two} THEN 333 ELSE 444 END",
            f"(SELECT count(*) FROM t1 AS x WHERE x.{column} < t1.{column})", f"coalesce((SELECT max(x) FROM t2 WHERE x < {one}), {two})"])

    def condition(self, depth=0):
        chance, column = self.chance, self.chance.choice("abcde")
        value = self.value(2)
        return chance.choice([
            f"{column} > {value}", f"{column} BETWEEN {self.number()} AND {self.number()}", f"{column} IN ({self.number()}, {value})",
            f"{column} NOT IN (SELECT x FROM t2 WHERE x < {self.number()})", f"a = {chance.randint(1, 12)}",
            f"EXISTS (SELECT 1 FROM t1 AS x WHERE x.b < t1.{column})", f"{column} > (SELECT avg({column}) FROM t1)",
            f"(c > d OR {column} <> {value})", f"NOT {column} = {value}"])

    def aside(self, draw):
        """A value or a condition that reads no other rows of a counter table, which an UPDATE would see as they were."""
        while True:
            sql = draw()
            if self.more or "FROM t1" not in sql: return sql

    def query(self):
        chance = self.chance
        values = ", ".join(self.value() for _ in range(chance.randint(1, 4)))
        where = f" WHERE {self.condition()}" + (f" {chance.choice(['AND', 'OR'])} {self.condition()}" if chance.random() < 0.5 else "")
        return chance.choice([
            f"SELECT {values} FROM t1{where}", f"SELECT a, b, c, d, e FROM t1{where} ORDER BY d DESC, a LIMIT 5",
            f"SELECT count(*), sum(b), min(c), max(d), total(e) FROM t1{where}", f"SELECT b % 5, count(*), sum({self.value(2)}) FROM t1 GROUP BY 1",
            "SELECT t1.a, y, b FROM t1 JOIN t2 ON x = a OR x = c", "SELECT l.a, r.a FROM t1 AS l LEFT JOIN t1 AS r ON r.a = l.b",
            f"SELECT a FROM t1{where} UNION SELECT b FROM t1 EXCEPT SELECT x FROM t2",
            f"WITH w AS (SELECT {self.value(2)} AS v FROM t1) SELECT v, count(*) FROM w GROUP BY v HAVING v > 3"])

    def key(self):
        return self.chance.randint(1, 12)

    def insert(self):
        """A plain INSERT on a key that is there adds in a counter table, which has no ON CONFLICT of its own."""
        key, numbers = self.key(), ", ".join(str(self.number()) for _ in "bcde")
        adds = ", ".join(f"{column} = {column} + excluded.{column}" for column in "bcde")
        insert = f"INSERT INTO t1(a, b, c, d, e) VALUES ({key}, {numbers})"
        return [("skipif counter", f"{insert} ON CONFLICT(a) DO UPDATE SET {adds}"), ("onlyif counter", insert)]

    def write(self):
        chance, column = self.chance, self.chance.choice("bcde")
        key, numbers = self.key(), ", ".join(str(self.number()) for _ in "bcde")
        kind, where = chance.random(), self.aside(self.condition)
        if kind < 0.25: return self.insert()
        if self.more and kind < 0.5:
            code, name = chance.choice(["NULL", "1", "2", "3", str(self.number())]), chance.choice(["NULL", "'ann'", "'bob'", "a || 'x'"])
            values = f"({key}, {numbers}, {name.replace('a ||', '7 ||')}, {code})"
            return [("", chance.choice([
                f"INSERT INTO t1 VALUES {values}", f"INSERT OR REPLACE INTO t1 VALUES {values}", f"INSERT OR IGNORE INTO t1 VALUES {values}",
                f"UPDATE t1 SET name = {name}, {column} = {self.value()} WHERE {self.condition()}",
                f"UPDATE t1 SET code = {code} WHERE a = {key}", f"UPDATE OR REPLACE t1 SET code = {code} WHERE a > {key}",
                f"UPDATE t1 SET a = {self.key()} WHERE a = {key}", f"UPDATE OR IGNORE t1 SET a = a + 1 WHERE {self.condition()}",
                f"INSERT INTO t1(a, b) VALUES ({key}, 1) ON CONFLICT DO NOTHING"]))]
        return [("", chance.choice([
            f"INSERT OR IGNORE INTO t1(a, {column}) VALUES ({key}, {self.number()})", f"REPLACE INTO t1 VALUES ({key}, {numbers})"
            if not self.more else f"REPLACE INTO t1(a, {column}) VALUES ({key}, {self.number()})",
            f"UPDATE t1 SET {column} = {column} + {self.number()} WHERE a = {key}", f"UPDATE t1 SET {column} = {self.number()} WHERE {where}",
            f"UPDATE t1 SET b = c, c = b WHERE {where}", f"UPDATE t1 SET {column} = {self.aside(self.value)} WHERE {where}", f"UPDATE t1 SET {column} = {column} + (SELECT x FROM t2 WHERE y = 'five')",
            f"UPDATE t1 SET {column} = 9223372036854775807 + abs({column}) + 1 WHERE a = {key}", f"UPDATE t1 SET {column} = 'five' WHERE a = {key}"
            if not self.more else f"UPDATE t1 SET {column} = '12' WHERE a = {key}",
            f"DELETE FROM t1 WHERE a = {key}", "DELETE FROM t1 WHERE b > c + 200", "UPDATE t1 SET nothing = 1"]))]

    def control(self):
        chance = self.chance
        if not self.open:
            self.open = True
            return "BEGIN"
        self.open = chance.random() < 0.5
        return chance.choice(["SAVEPOINT s", "SAVEPOINT s", "ROLLBACK TO s", "RELEASE s"]) if self.open else chance.choice(["COMMIT", "ROLLBACK"])

    def records(self, n):
        for _ in range(n):
            kind = self.chance.random()
            if kind < 0.4: yield "", "query", self.query()
            elif kind < 0.5: yield "", "statement", self.control()
            else:
                for condition, sql in self.write(): yield condition, "statement", sql
            if kind >= 0.5: yield "", "query", "SELECT * FROM t1"
        if self.open: yield "", "statement", "COMMIT"


# ---- engines ----

def answer(peer, sql):
    """None if it fails; rows as lines, sorted, as `rowsort` has them."""
    try:
        rows = peer.run(sql)
    except sqlite3.Error:
        return None
    return sorted(" ".join("NULL" if value is None else f"{value:.3f}" if isinstance(value, float) else str(value) for value in row) for row in rows)


def is_for(engine, condition):
    return condition != f"skipif {engine}" and (not condition.startswith("onlyif") or condition == f"onlyif {engine}")


def complete(peer, records):
    """The script as text, with what the trusted engine says."""
    parts, told = [], None
    for condition, kind, sql in records:
        if is_for("ordinary", condition): told = answer(peer, sql)
        if kind == "query" and told is not None: parts.append([f"query {'T' * len(told[0].split()) if told else 'T'} rowsort", sql, "----", *told])
        else: parts.append([f"statement {'error' if told is None else 'ok'}", sql])
        if condition: parts[-1].insert(0, condition)
    return "\n\n".join("\n".join(part) for part in parts)


def verify(peer, engine, text):
    """Runs a completed script; fails at the first record that ends otherwise."""
    for record in text.split("\n\n"):
        lines = record.split("\n")
        condition = lines.pop(0) if lines[0].startswith(("skipif", "onlyif")) else ""
        if not is_for(engine, condition): continue
        told = answer(peer, lines[1])
        if lines[0].startswith("query"): assert told == lines[3:], record
        else: assert (told is None) == (lines[0] == "statement error"), record


def script(peers, seed, trusted):
    [peer] = peers(1, *ENGINES[trusted])
    text = complete(peer, Script(random.Random(f"{SEED} {seed}"), trusted != "ordinary").records(120))
    return peer, text


SEEDS = range(4)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_script_ends_the_same_on_a_counter_table(peers, seed):
    _, text = script(peers, seed, "ordinary")
    verify(*peers(1, *ENGINES["counter"]), "counter", text)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_script_ends_the_same_on_a_tracked_table(peers, seed):
    _, text = script(peers, seed, "ordinary with more")
    verify(*peers(1, *ENGINES["tracked"]), "tracked", text)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_script_ends_the_same_on_a_replicated_table_and_in_a_file_that_has_merged_it(peers, seed):
    ordinary, text = script(peers, seed, "ordinary with more")
    one, two = peers(2, *ENGINES["replicated"])
    records = text.split("\n\n")
    middle = next((i for i in range(len(records) // 2, len(records)) if records[i].endswith(("COMMIT", "ROLLBACK"))), len(records))
    verify(one, "replicated", "\n\n".join(records[:middle]))
    if middle < len(records) and not one.db.in_transaction:  # the rest goes on in the file that has merged the first half
        two.pull(one)
        verify(two, "replicated", "\n\n".join(records[middle:]))
        one.pull(two)
    else:
        verify(one, "replicated", "\n\n".join(records[middle:]))
        two.pull(one)
    assert agree(one, two, table="t1") == ordinary.run("SELECT * FROM t1 ORDER BY 1")


@differs
def test_a_plain_insert_on_a_key_that_is_there_adds_in_a_counter_table(peers):
    text = "statement {}\nINSERT INTO t1(a, b) VALUES (1, 2)\n\nquery T rowsort\nSELECT b FROM t1\n----\n{}"
    for engine, told, b in ("ordinary", "error", 1), ("counter", "ok", 3):
        [peer] = peers(1, *ENGINES[engine], "INSERT INTO t1(a, b) VALUES (1, 1)")
        verify(peer, engine, text.format(told, b))


@differs
@pytest.mark.parametrize("value", ["'five'", "5.5", "x'05'"])
def test_a_counter_refuses_what_is_no_whole_number_where_a_column_takes_anything(peers, value):
    text = f"statement {{}}\nUPDATE t SET b = {value}"
    table = "CREATE TABLE t(a TEXT PRIMARY KEY, b INTEGER)"
    for told, *schema in (("ok", table), ("error", table, "SELECT counter_track('t', 'b')"),
                          ("error", table, "SELECT counter_replicate('t', 'b')"),
                          ("error", "CREATE VIRTUAL TABLE t USING counter(a TEXT PRIMARY KEY, b COUNTER)")):
        [peer] = peers(1, *schema, "INSERT INTO t VALUES ('x', 1)")
        verify(peer, "any", text.format(told))


@differs
def test_a_subquery_of_an_update_sees_a_counter_table_as_it_was(peers):
    """An ordinary table shows it the rows that the statement has changed already."""
    text = "statement ok\nUPDATE t1 SET b = (SELECT sum(b) FROM t1 AS x WHERE x.a <> t1.a)\n\nquery TT rowsort\nSELECT a, b FROM t1\n----\n1 2\n2 {}"
    for engine, b in ("ordinary", 2), ("counter", 1), ("tracked", 2), ("replicated", 2):
        [peer] = peers(1, *ENGINES[engine], "INSERT INTO t1(a, b) VALUES (1, 1), (2, 2)")
        verify(peer, engine, text.format(b))


@differs
def test_the_key_of_a_row_of_a_counter_table_stays(peers):
    text = "statement {}\nUPDATE t1 SET a = 2 WHERE a = 1"
    for engine, told in ("ordinary", "ok"), ("counter", "error"), ("tracked", "ok"), ("replicated", "ok"):
        [peer] = peers(1, *ENGINES[engine], "INSERT INTO t1(a, b) VALUES (1, 1)")
        verify(peer, engine, text.format(told))
