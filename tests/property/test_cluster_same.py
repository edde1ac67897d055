"""test_cluster_same.py - a cluster behaves as the counter table that it fronts: the same statements
on both give the same rows, the same refusals, the same plans.

The cluster stands in temp under the name of the table, so that the statements are the same to the
letter.
"""

import contextlib
import random
import re
import sqlite3

import pytest

import clusters
from clusters import rows
from conftest import EXAMPLES, SEED
from files import connect

# Declaration of the key, its columns, and values that mean the same key now and then.
KEYS = {
    "pair": ("path TEXT, hour INTEGER, PRIMARY KEY (path, hour)", ["path", "hour"],
             [["'/'", "'/a'", "'/A'", "12", "'12'", "x'2f'"], ["1", "2", "'2'", "2.0", "-1", "'x'"]]),
    "nocase": ("path TEXT COLLATE NOCASE PRIMARY KEY", ["path"], [["'/a'", "'/A'", "'/b'", "'/B'", "5"]]),
    "rtrim": ("path TEXT COLLATE RTRIM, hour, PRIMARY KEY (hour, path)", ["path", "hour"],
              [["'/a'", "'/a '", "'/b'"], ["1", "'1'", "1.5", "x'31'"]]),
    "integer": ("hour INTEGER PRIMARY KEY", ["hour"], [["1", "2", "'2'", "3", "-1", "1.5", "'x'"]]),
    "real": ("at REAL PRIMARY KEY", ["at"], [["1", "1.5", "'1.5'", "-0.0", "1e300", "'x'"]]),
    "any": ("k PRIMARY KEY", ["k"], [["1", "'1'", "1.0", "x'31'", "'a'", "2.5"]]),
    "numeric": ("k NUMERIC PRIMARY KEY", ["k"], [["1", "'1'", "'1.0'", "'a'", "2.5"]]),
}
AMOUNTS = ["1", "2", "-3", "0", "NULL", "5"] * 3 + ["'five'", "1.5", "x'01'", "9223372036854775807"]


def declaration(key):
    columns, *rest = KEYS[key][0].split(", PRIMARY KEY")
    tail = f", PRIMARY KEY{rest[0]}" if rest else ""
    return f"CREATE VIRTUAL TABLE page_views USING counter({columns}, hits COUNTER, bytes COUNTER{tail})"


class Twins:
    """A counter table, and a cluster of three replicas."""

    def __init__(self, folder, key):
        names = ["main", "east", "west"]
        table = declaration(key)
        self.plain = connect(clusters.new_file(folder / "plain.db", table=table))
        self.files = clusters.new_files(folder, names, table=table)
        self.cluster = clusters.open_files(self.files)
        clusters.set_durable(self.cluster, names)
        self.cluster.execute("CREATE VIRTUAL TABLE temp.page_views USING counter_cluster("
                             "page_views, replicas='main east west')")
        self.away = None

    def close(self):
        self.plain.close()
        self.cluster.close()

    def run(self, sql, seen_as=lambda value: value):
        outcomes = [outcome(db, sql, seen_as) for db in (self.plain, self.cluster)]
        assert outcomes[0] == outcomes[1], sql
        assert self.plain.in_transaction == self.cluster.in_transaction, sql

    def change(self, sql):
        self.run(sql)
        self.run("SELECT * FROM page_views")

    def change_some(self, sql):
        """Of a random statement over many rows no more is asked than that both do it or
        both do not."""
        outcomes = [outcome(db, sql) for db in (self.plain, self.cluster)]
        are_refused = [isinstance(one[0], type) for one in outcomes]
        assert are_refused[0] == are_refused[1], sql
        assert outcomes[0] == outcomes[1] or are_refused[0] and over_many(sql), sql
        self.run("SELECT * FROM page_views")

    def take_away(self, chance):
        """A replica goes, and the one that was away comes back."""
        if self.cluster.in_transaction:
            return
        if self.away:
            self.cluster.execute(f"ATTACH ? AS {self.away}", [self.files[self.away]])
            clusters.set_durable(self.cluster, [self.away])
        self.away = chance.choice([None, "east", "west"])
        if self.away:
            self.cluster.execute(f"DETACH {self.away}")


def outcome(db, sql, seen_as=lambda value: value):
    try:
        cursor = db.execute(sql)
        found = [tuple(map(seen_as, row)) for row in cursor.fetchall()]
    except sqlite3.Error as error:
        return type(error), told(sql, str(error))
    ordered = "ORDER BY" in sql
    return cursor.rowcount, found if ordered else sorted(found, key=repr)


def plainly(value):
    """One spelling for what is one key, by its collation or as a number."""
    if isinstance(value, str):
        return value.lower().rstrip()
    return int(value) if isinstance(value, float) and value == int(value) else value


def told(sql, message):
    """Which row a statement over many meets first is not promised, and a cluster has more commands
    and names the replica that it checks."""
    message = message.replace("'read=', 'write=', 'read_repair=', ", "")
    message = message.replace(", 'optimize', 'add column <counter>', 'grant <id>', 'forget requests <n>', 'forget requests older than <n> days'", "").replace("'drop column <counter>', ", "")
    message = re.sub(r"replica \w+: (page_views: )?", "", message)
    return re.sub(r"\(.*\)", "(...)", message) if over_many(sql) else message


def over_many(sql):
    return sql.startswith(("UPDATE", "DELETE"))


# ---- statements ----

@contextlib.contextmanager
def twins_of(folder, key):
    twins = Twins(folder, key)
    try:
        yield twins
    finally:
        twins.close()


STATEMENTS = """
INSERT INTO page_views VALUES ('/', 12, 1, 5120)
INSERT INTO page_views(path, hour, hits) VALUES ('/', 12, 1), ('/', 13, 2), ('/a', 12, 3), ('/a', 14, NULL)
INSERT INTO page_views(path, hour, hits) VALUES ('/', 12, 1), ('/', 13, 2), ('/a', 12, 3), ('/b', 14, 0)
INSERT INTO page_views(path, hour) VALUES ('/', 12)
INSERT INTO page_views(path, hits) VALUES ('/', 12)
INSERT INTO page_views VALUES (NULL, 12, 1, 1)
INSERT INTO page_views VALUES ('/', 'noon', 1, 1)
INSERT INTO page_views VALUES ('/', 12, 1.0, 1)
INSERT INTO page_views VALUES ('/', 12, '1', 1)
INSERT INTO page_views VALUES ('/', 12, 9223372036854775807, 0)
INSERT INTO page_views(rowid, path, hour, hits) VALUES (7, '/', 12, 1)
INSERT INTO page_views(path, hour, hits, _hits) VALUES ('/', 12, 1, 1)
INSERT INTO page_views VALUES ('/', 15, 1, 1) RETURNING *
REPLACE INTO page_views VALUES ('/', 12, 1, 1)
REPLACE INTO page_views VALUES ('/c', 12, 1, 1)
INSERT OR IGNORE INTO page_views VALUES ('/c', 12, 1, 1)
UPDATE page_views SET hits = hits + 1 WHERE path = '/'
UPDATE page_views SET hits = hits + 1, bytes = bytes - 7 WHERE path = '/' AND hour = 12
UPDATE page_views SET hits = 5 WHERE path = '/'
UPDATE page_views SET hits = bytes + 1 WHERE path = '/'
UPDATE page_views SET hits = hits + 0
UPDATE page_views SET hits = NULL WHERE hour = 12
UPDATE page_views SET path = '/z' WHERE hour = 12
UPDATE page_views SET path = path, hits = hits + 1 WHERE hour = 12
UPDATE page_views SET path = NULL WHERE hour = 12
UPDATE page_views SET rowid = rowid + 1 WHERE hour = 12
UPDATE page_views SET _hits = 1 WHERE hour = 12
UPDATE page_views SET page_views = 'reset' WHERE hour = 12
UPDATE page_views SET hits = hits + v.n FROM (SELECT 12 AS h, 4 AS n UNION ALL SELECT 13, 5) AS v WHERE hour = v.h
UPDATE page_views SET (hits, bytes) = (hits + 1, bytes + 2) WHERE path = '/a'
UPDATE OR REPLACE page_views SET hits = hits + 1 WHERE path = '/a'
UPDATE page_views SET hits = hits + 1 WHERE rowid IN (SELECT rowid FROM page_views WHERE path = '/a')
SELECT path, hour, hits, bytes FROM page_views ORDER BY path, hour
SELECT * FROM page_views ORDER BY path DESC, hour DESC
SELECT * FROM page_views WHERE path = '/' ORDER BY hour DESC LIMIT 2
SELECT * FROM page_views WHERE path IN ('/', '/a', 'nothing') AND hour > 12 ORDER BY path, hour
SELECT * FROM page_views WHERE path IN (SELECT 12 UNION SELECT '/a') AND hour IN (12, 13) ORDER BY path, hour
SELECT path, hits FROM page_views WHERE hour = 12 AND path IN ('/', '/a', NULL) ORDER BY path DESC
SELECT * FROM page_views WHERE path > '/' AND path <= '/b' ORDER BY path, hour
SELECT * FROM page_views WHERE path = '/' AND hour = '12'
SELECT * FROM page_views WHERE path = '/' AND hour = 12.0
SELECT * FROM page_views WHERE path = '/' AND hour = 12.5
SELECT * FROM page_views WHERE path = '/A' COLLATE NOCASE
SELECT * FROM page_views WHERE path IS NULL
SELECT path, sum(hits), count(*) FROM page_views GROUP BY path ORDER BY path
SELECT a.path, b.hour FROM page_views AS a JOIN page_views AS b ON a.path = b.path ORDER BY 1, 2
SELECT hits, page_views FROM page_views WHERE hour = 12 ORDER BY path
DELETE FROM page_views WHERE path = '/a' AND hour = 12
INSERT INTO page_views VALUES ('/a', 12, 1, 1)
INSERT OR IGNORE INTO page_views VALUES ('/a', 12, 1, 1), ('/a', 16, 1, 1)
REPLACE INTO page_views VALUES ('/a', 12, 1, 1)
UPDATE page_views SET hits = hits + 1 WHERE path = '/a' AND hour = 12
INSERT INTO page_views(page_views, path, hour, hits) VALUES ('reset', '/a', 12, 5)
INSERT INTO page_views(page_views, path, hour) VALUES ('delete hits', '/a', 12)
INSERT INTO page_views(path, hour, hits) VALUES ('/a', 12, 1)
INSERT OR IGNORE INTO page_views VALUES ('/a', 12, 1, 1)
UPDATE page_views SET hits = hits + 1, bytes = bytes + 1 WHERE path = '/a' AND hour = 12
UPDATE page_views SET hits = 1 WHERE path = '/a' AND hour = 12
INSERT INTO page_views(page_views, path, hour, bytes) VALUES ('reset hits', '/a', 12, 5)
INSERT INTO page_views(page_views, path, hour, hits) VALUES ('reset hits', '/a', 12, 5)
INSERT INTO page_views(page_views, path, hour) VALUES ('delete nothing', '/a', 12)
INSERT INTO page_views(page_views, path, hour) VALUES ('delete bytes', '/missing', 12)
INSERT INTO page_views(page_views, path, hour) VALUES ('reset', '/missing', 12)
INSERT INTO page_views(page_views, path) VALUES ('reset', '/missing')
INSERT INTO page_views(page_views) VALUES ('integrity-check')
INSERT INTO page_views(page_views, path) VALUES ('integrity-check', '/')
INSERT INTO page_views(page_views) VALUES ('vacuum')
INSERT INTO page_views(page_views) VALUES (5)
INSERT INTO page_views(page_views, path, hour) VALUES ('purge below', '/', 12)
INSERT INTO page_views(page_views, hour) VALUES ('purge below', 13)
INSERT INTO page_views VALUES ('/', 12, 1, 1)
INSERT OR IGNORE INTO page_views VALUES ('/', 12, 1, 1)
INSERT INTO page_views(page_views, path, hour) VALUES ('reset', '/', 12)
INSERT INTO page_views(page_views, hour) VALUES ('purge below', 'noon')
BEGIN
INSERT INTO page_views VALUES ('/t', 20, 1, 1)
SAVEPOINT one
INSERT INTO page_views VALUES ('/t', 20, 1, 1), ('/t', 21, 1, 1)
UPDATE page_views SET hits = hits + 1
INSERT INTO page_views VALUES ('/t', 22, 1, 1), ('/t', 23, 1.5, 1)
ROLLBACK TO one
DELETE FROM page_views WHERE path = '/t'
RELEASE one
COMMIT
BEGIN
INSERT OR ROLLBACK INTO page_views VALUES ('/t', 20, 1, 1)
INSERT OR FAIL INTO page_views VALUES ('/u', 20, 1, 1), ('/t', 20, 1, 1)
BEGIN
INSERT INTO page_views VALUES ('/v', 20, 1, 1)
ROLLBACK
CREATE TEMP TABLE visit(path, hour)
CREATE TEMP TRIGGER visited AFTER INSERT ON visit BEGIN INSERT INTO page_views(path, hour, hits) VALUES (new.path, new.hour, 1); END
INSERT INTO visit VALUES ('/w', 20), ('/w', 20), ('/x', 21)
INSERT INTO visit VALUES ('/w', 20), ('/t', 20)
INSERT INTO visit VALUES (NULL, 20)
REPLACE INTO visit VALUES ('/w', 20)
INSERT OR IGNORE INTO visit VALUES ('/t', 20)
INSERT INTO page_views SELECT path, hour + 100, hits, bytes FROM page_views
DELETE FROM page_views
SELECT count(*) FROM page_views
"""


@pytest.mark.parametrize("away", [None, "east", "west"])
def test_every_kind_of_statement_does_the_same(tmp_path, away):
    with twins_of(tmp_path, "pair") as twins:
        if away:
            twins.cluster.execute(f"DETACH {away}")
        for sql in STATEMENTS.strip().splitlines():
            if not (away and "integrity-check" in sql):
                twins.change(sql)


def without_keys(seen):
    """A scan of one file leaves the keys out where nobody asks for them; a cluster merges by them."""
    return seen.rstrip("#") if isinstance(seen, str) else seen


@pytest.mark.parametrize("key", KEYS)
def test_queries_have_the_same_plans(tmp_path, key):
    columns = KEYS[key][1]
    orders = ", ".join(columns), ", ".join(f"{c} DESC" for c in columns)
    equal = " AND ".join(f"{c} = 1" for c in columns)
    with twins_of(tmp_path, key) as twins:
        for where in ("1", equal, f"{columns[0]} = 'a'", f"{columns[0]} IN (1, 'a')",
                      f"{columns[0]} > 1 AND {columns[0]} < 5", f"{columns[-1]} BETWEEN 1 AND 3",
                      f"{columns[0]} = 'A' COLLATE NOCASE", "hits > 3", "rowid = 1"):
            for order in orders:
                twins.run(f"EXPLAIN QUERY PLAN SELECT * FROM page_views WHERE {where} ORDER BY {order}")
            twins.run(f"EXPLAIN QUERY PLAN UPDATE page_views SET hits = hits + 1 WHERE {where}")
            twins.run(f"EXPLAIN QUERY PLAN DELETE FROM page_views WHERE {where}", without_keys)


# ---- random statements ----

class Author:
    def __init__(self, chance, key):
        self.chance = chance
        self.columns, self.values = KEYS[key][1:]

    def key(self):
        return ", ".join(self.value(i) for i in range(len(self.columns)))

    def value(self, i):
        return self.chance.choice(self.values[i] + ["NULL"] * (self.chance.random() < 0.05))

    def amounts(self):
        return ", ".join(self.chance.choices(AMOUNTS, k=2))

    def condition(self):
        i = self.chance.randrange(len(self.columns))
        column, value, other = self.columns[i], self.value(i), self.value(i)
        return self.chance.choice([
            f"{column} = {value}", f"{column} = {value}", f"{column} IN ({value}, {other})",
            f"{column} > {value}", f"{column} >= {value} AND {column} < {other}",
            f"{column} BETWEEN {value} AND {other}", f"{column} = {value} COLLATE NOCASE",
            f"{column} IS {value}", f"{column} <> {value}", "hits > 1", "bytes IS NULL", "1",
            " AND ".join(f"{c} = {self.value(n)}" for n, c in enumerate(self.columns))])

    def insert(self):
        how = self.chance.choice(["INSERT"] * 4 + [
            "INSERT OR IGNORE", "INSERT OR REPLACE", "INSERT OR FAIL", "INSERT OR ROLLBACK"])
        some = ", ".join(f"({self.key()}, {self.amounts()})" for _ in range(self.chance.choice([1, 1, 3])))
        return f"{how} INTO page_views({', '.join(self.columns)}, hits, bytes) VALUES {some}"

    def update(self):
        sets = self.chance.choice(["hits = hits + 1", "hits = hits + 2, bytes = bytes - 1",
                                   "bytes = bytes * 2", "hits = 5",
                                   f"{self.columns[0]} = {self.value(0)}, hits = hits + 1"])
        return f"UPDATE page_views SET {sets} WHERE {self.condition()}"

    def command(self):
        verb = self.chance.choice(["reset", "reset hits", "delete bytes", "delete hits"])
        value = self.chance.choice(["NULL", "NULL", "4"])
        return (f"INSERT INTO page_views(page_views, {', '.join(self.columns)}, hits) "
                f"VALUES ('{verb}', {self.key()}, {value})")

    def purge(self):
        i = self.chance.randrange(len(self.columns))
        return (f"INSERT INTO page_views(page_views, {self.columns[i]}) "
                f"VALUES ('purge below', {self.value(i)})")

    def select(self):
        way = self.chance.choice(["", " DESC"])
        order = ", ".join(f"{column}{way}" for column in self.columns)
        return f"SELECT * FROM page_views WHERE {self.condition()} ORDER BY {order}"

    def statement(self):
        kinds = [self.insert] * 5 + [self.update] * 3 + [self.command] * 2 + [self.select] * 5
        return self.chance.choice(kinds + [
            lambda: f"DELETE FROM page_views WHERE {self.condition()}",
            lambda: "BEGIN", lambda: "SAVEPOINT s", lambda: "ROLLBACK TO s", lambda: "RELEASE s",
            lambda: "COMMIT", lambda: "ROLLBACK",
            self.purge if self.chance.random() < 0.2 else self.select])()


@pytest.mark.parametrize("key", KEYS)
def test_random_statements_do_the_same(tmp_path, key):
    chance = random.Random(f"{SEED} {key}")
    author = Author(chance, key)
    for number in range(3):
        folder = tmp_path / str(number)
        folder.mkdir()
        with twins_of(folder, key) as twins:
            for _ in range(EXAMPLES // 5):
                twins.change_some(author.statement())
                if chance.random() < 0.1:
                    twins.take_away(chance)


# ---- replicas that hold different rows ----

@pytest.mark.parametrize("key", ["pair", "nocase", "any"])
def test_a_scan_shows_the_rows_of_all_replicas_in_key_order(tmp_path, key):
    chance = random.Random(f"{SEED} {key}")
    author = Author(chance, key)
    with twins_of(tmp_path, key) as twins:
        twins.cluster.execute("INSERT INTO page_views(page_views) VALUES ('read=ALL')")
        for _ in range(60):
            sql = f"INSERT INTO {{}}page_views VALUES ({author.key()}, 1, 0)"
            where = chance.choice(["main.", "east.", "west."])
            assert outcome(twins.plain, sql.format(""))[0] == \
                outcome(twins.cluster, sql.format(where))[0]
        for _ in range(100):
            twins.run(author.select(), plainly)
            twins.run(f"SELECT * FROM page_views WHERE {author.condition()}", plainly)
        assert len(rows(twins.cluster, "SELECT * FROM page_views")) > 1
