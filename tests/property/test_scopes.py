"""test_scopes.py - a scope of the feed has the rows whose leading key columns have its values, all of them and no
others, and the marks of scopes lose nothing.

Files count in a table of two or three key columns of random kinds, pull from each other, and a hub takes their feeds. A
device downloads scopes from it, by their marks, now and then everything. What an ordinary table with the same key
finds by the same values is what has to be there.
"""

import json
import random
import sqlite3

import pytest

from conftest import EXAMPLES, SEED
from files import connect

COLUMNS = "table_name, key, change, seq, source"
TAKE_IN_SCOPE = f"INSERT INTO counter_changes({COLUMNS}, scope) VALUES (?, ?, ?, ?, ?, ?)"
TAKE = f"INSERT INTO counter_changes({COLUMNS}) VALUES (?, ?, ?, ?, ?)"
KINDS = ["TEXT", "TEXT COLLATE NOCASE", "TEXT COLLATE RTRIM", "INTEGER", "REAL", "NUMERIC", "", "BLOB"]
VALUES = ["a", "A", "a ", "7", 7, 7.0, 7.5, "é", -1, 2**53 + 1, "", "a\0é\"", "a\\u0000"]


def rows(db, sql, *arguments):
    return db.execute(sql, arguments).fetchall()


class File:
    def __init__(self, path, kinds, replicated):
        self.path, self.db = str(path), connect(str(path))
        self.db.execute("PRAGMA synchronous = OFF")
        names = [f"k{i}" for i in range(len(kinds))]
        key = ", ".join(f"{name} {kind}" for name, kind in zip(names, kinds))
        if replicated:
            key = ", ".join(f"{name} {kind} NOT NULL" for name, kind in zip(names, kinds))
            rowid = " WITHOUT ROWID" if kinds == ["INTEGER"] else ""  # as a rowid it would take no other values
            self.db.execute(f"CREATE TABLE t({key}, v, n INTEGER DEFAULT 0, PRIMARY KEY ({', '.join(names)})){rowid}")
            rows(self.db, "SELECT counter_replicate('t', 'n')")
        else:
            self.db.execute(f"CREATE VIRTUAL TABLE t USING counter({key}, n COUNTER, PRIMARY KEY ({', '.join(names)}))")
        self.names, self.replicated = names, replicated
        self.key = f"CREATE TEMP TABLE model({key}, packed BLOB)"

    def act(self, draw, values):
        holes = ", ".join("?" * len(values))
        where = " AND ".join(f"{name} = ?" for name in self.names)
        what = draw.random()
        if what < .1:
            self.db.execute(f"DELETE FROM t WHERE {where}", values)
        elif what < .15:
            self.db.execute(f"INSERT INTO {'t_counters' if self.replicated else 't'}"
                            f"({'t_counters' if self.replicated else 't'}) VALUES ('optimize')")
        elif self.replicated:
            self.db.execute(f"INSERT INTO t VALUES ({holes}, ?, 1) ON CONFLICT({', '.join(self.names)}) DO UPDATE "
                            "SET n = n + 1, v = excluded.v", (*values, draw.random()))
        else:
            self.db.execute(f"INSERT INTO t VALUES ({holes}, ?)", (*values, draw.randint(-3, 9)))

    def feed(self, since, scope=None, own=0):
        return rows(self.db, f"SELECT {COLUMNS}, upto FROM counter_changes(?) WHERE scope = ? AND own = ?", since, scope, own) \
            if scope else rows(self.db, f"SELECT {COLUMNS}, upto FROM counter_changes(?) WHERE own = ?", since, own)

    def take(self, feed):
        for row in feed:
            self.db.execute(TAKE, row[:5])

    def cells(self):
        """Those of the counter n, also uncommitted ones, with their keys."""
        table = "t_counters" if self.replicated else "t"
        return set(rows(self.db, f"SELECT counter_key({', '.join(self.names)}), cell FROM {table}_cells JOIN counter_cells(?) AS c "
                        f"ON c.key = counter_key_json(counter_key({', '.join(self.names)}))", table))

    def in_scope(self, feed, scope):
        """The rows of a whole feed that an ordinary table finds by the values of the scope."""
        self.db.execute(self.key)
        values = self.db.execute("SELECT " + ", ".join("?" * len(scope)), scope).fetchone()
        for key in {row[1] for row in feed if is_row(row)}:
            parts = json.loads(rows(self.db, "SELECT counter_key_json(?)", key)[0][0])
            self.db.execute(f"INSERT INTO model VALUES ({', '.join('?' * (len(self.names) + 1))})", (*parts, key))
        where = " AND ".join(f"{name} = ?" for name in self.names[:len(scope)])
        found = {key for (key,) in rows(self.db, f"SELECT packed FROM model WHERE {where}", *values)}
        self.db.execute("DROP TABLE model")
        return [row for row in feed if not is_row(row) or row[1] in found]

    def close(self):
        self.db.close()


def values_of(draw, kinds):
    return [draw.choice(VALUES) for _ in kinds]


def is_row(row):
    """Of the feed: it tells of a row of the table, not of its floors, its columns, an answer."""
    return row[2][0] == 1


def plain(feed):
    """Without the source, which names the scope; the number of a row."""
    return sorted((row[:4] + row[5:] for row in feed), key=repr)


def upload(files, hub, draw):
    for file in files:
        hub.take(file.feed(0, own=draw.randint(0, 1)))


@pytest.mark.parametrize("number", range(EXAMPLES // 12))
def test_a_scope_has_the_rows_that_its_values_find_and_no_others(tmp_path, number):
    draw = random.Random(f"{SEED} scopes {number}")
    kinds, replicated = [draw.choice(KINDS) for _ in range(draw.choice([1, 2, 2, 3]))], draw.random() < .5
    files = [File(tmp_path / f"{i}.db", kinds, replicated) for i in range(2)]
    hub, device, passed = (File(tmp_path / f"{name}.db", kinds, replicated) for name in ("hub", "device", "passed"))
    scopes = [values_of(draw, kinds)[:draw.randint(1, len(kinds))] for _ in range(3)]
    sinces = [0]
    for _ in range(20):
        one, other = draw.sample(files, 2)
        one.act(draw, values_of(draw, kinds))
        if draw.random() < .2:
            rows(one.db, "SELECT * FROM counter_pull(?)", other.path)
        if draw.random() < .2:
            upload(files, hub, draw)
            sinces += [row[5] for row in hub.feed(0)[:1]]
        scope = draw.choice(scopes)
        text = json.dumps(scope)
        for since in sinces[-2:] + [0]:
            own = draw.randint(0, 1)
            source = draw.choice([hub, one])
            whole = source.feed(since, own=own)
            assert plain(source.feed(since, text, own)) == plain(source.in_scope(whole, scope))
        passed.db.execute("BEGIN")
        passed.db.executemany(TAKE_IN_SCOPE, [(*row[:5], text) for row in hub.feed(0)])
        assert passed.cells() == {(row[1], cell) for row in hub.in_scope(hub.feed(0), scope) if is_row(row) for cell, in rows(
            hub.db, "SELECT cell FROM counter_change(?) WHERE column_name = 'n'", row[2])}
        passed.db.execute("ROLLBACK")
        source = rows(hub.db, "SELECT id FROM counter_identity() WHERE state = 'current'")[0][0]
        asked = draw.choice([text, None]) if draw.random() < .3 else text
        since = rows(device.db, "SELECT counter_mark(?, ?)", source, asked)[0][0]
        feed = hub.feed(since, asked)
        device.take(feed)
        if feed:
            named = draw.choice([(feed[0][4], None), (source, asked)])
            rows(device.db, "SELECT counter_seen(?, ?, ?, ?)", named[0], since, feed[0][5], named[1])
        assert plain(strip(device.feed(0, text))) == plain(strip(hub.feed(0, text)))
    for file in (*files, hub, device, passed):
        file.close()


def strip(feed):
    """What is the same in every file: without numbers."""
    return [row[:3] + (0, row[4], 0) for row in feed]


def test_a_table_with_a_collation_of_the_application_is_refused_by_a_sentence(tmp_path):
    file = connect(str(tmp_path / "a.db"))
    file.create_collation("german", lambda a, b: (a > b) - (a < b))
    file.execute("CREATE VIRTUAL TABLE t USING counter(k TEXT COLLATE german PRIMARY KEY, n COUNTER)")
    file.execute("INSERT INTO t VALUES ('a', 1)")
    assert len(rows(file, "SELECT * FROM counter_changes(0)")) == 1
    with pytest.raises(sqlite3.OperationalError, match="table t: no such collation sequence: german"):
        rows(file, "SELECT * FROM counter_changes(0) WHERE scope = '[\"a\"]'")
    with pytest.raises(sqlite3.OperationalError, match="a scope needs the collations BINARY, NOCASE and RTRIM, and key column k has german"):
        rows(file, f"INSERT INTO counter_changes({COLUMNS}, scope) SELECT {COLUMNS}, '[\"a\"]' FROM counter_changes(0)")
