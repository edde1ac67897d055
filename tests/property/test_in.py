"""test_in.py - IN on the columns of a key gives, updates and deletes the rows of an ordinary table.

The ordinary table has no key and no index, so that SQLite looks at each of its rows.
"""

import sqlite3

import pytest

from files import connect
from randomly import composite, given, lists, none, sampled_from, tuples

KEYS = {
    "text": ["TEXT"],
    "untyped": [""],
    "blob": ["BLOB"],
    "integer": ["INTEGER"],
    "nocase": ["TEXT COLLATE NOCASE"],
    "text and integer": ["TEXT", "INTEGER"],
    "integer and text": ["INTEGER", "TEXT"],
    "text and text": ["TEXT", "TEXT"],
    "untyped and text": ["", "TEXT"],
}
NAMES = ["a", "b"]

values = sampled_from(["1", "01", "1.0", "2", "x", "X", "", " 1", "1e0", 1, 2, 1.0, 1.5, 10,
                       b"1", b"x", b""])
elements = lists(none() | values, max_size=6)
affinities = sampled_from(["", "TEXT", "INTEGER", "REAL", "NUMERIC", "BLOB"])


@composite
def conditions(draw):
    """SQL, and its arguments; {0} and {1} stand for columns of the key."""
    column = draw(sampled_from(["{0}", "{1}"]))
    negation = draw(sampled_from(["", "", "", "NOT "]))
    kind = draw(sampled_from(["list", "select", "select", "select", "correlated", "compare"]))
    if kind == "list":
        several = draw(elements)
        return f"{column} {negation}IN ({', '.join('?' * len(several))})", several
    if kind == "compare":
        operator = draw(sampled_from(["=", "<", ">=", "IS"]))
        return f"{column} {operator} ?", [draw(values)]
    table = draw(sampled_from(["i", "j"]))
    if kind == "correlated":
        return f"{column} {negation}IN (SELECT x FROM {table} WHERE g = outside.g)", []
    wanted = draw(sampled_from(["", " WHERE x IS NOT NULL", " WHERE g > 1", " WHERE g = 9"]))
    return f"{column} {negation}IN (SELECT x FROM {table}{wanted})", []


@composite
def wheres(draw):
    parts = draw(lists(conditions(), min_size=1, max_size=3))
    glue = draw(sampled_from([" AND ", " AND ", " OR "]))
    return glue.join(sql for sql, _ in parts), [one for _, several in parts for one in several]


@pytest.fixture(scope="module")
def db():
    db = connect(":memory:")
    yield db
    db.close()


def fill(db, columns, rows, selected):
    """The tables anew: `t` that counts, the ordinary `o`, and those that an IN selects from."""
    declared = ", ".join(f"{name} {kind}" for name, kind in columns.items())
    db.execute(f"CREATE VIRTUAL TABLE t USING counter({declared}, n COUNTER, "
               f"PRIMARY KEY({', '.join(columns)}))")
    db.execute(f"CREATE TABLE o({declared}, n INTEGER)")
    places = ", ".join("?" * len(columns))
    for i, row in enumerate(rows):
        db.execute(f"INSERT INTO t VALUES({places}, ?)", [*row[:len(columns)], 1 << i])
    db.execute("INSERT INTO o SELECT * FROM t")
    for name, (affinity, several) in zip(["i", "j"], selected):
        db.execute(f"CREATE TABLE {name}(g INTEGER, x {affinity})")
        db.executemany(f"INSERT INTO {name} VALUES(?, ?)",
                       [(1 + i % 3, value) for i, value in enumerate(several)])


def same(db, sql, arguments=(), ordered=False):
    answers = [db.execute(sql.format(table), arguments).fetchall() for table in ["t", "o"]]
    if not ordered:
        answers = [sorted(answer, key=repr) for answer in answers]
    assert answers[0] == answers[1]


@pytest.mark.skipif(sqlite3.sqlite_version_info < (3, 38), reason="an IN is not told apart")
@pytest.mark.parametrize("key", KEYS)
@given(rows=lists(tuples(values, values), max_size=12),
       selected=tuples(*[tuples(affinities, elements)] * 2),
       queries=lists(wheres(), min_size=4, max_size=4))
def test_an_in_means_what_it_means_on_an_ordinary_table(db, key, rows, selected, queries):
    columns = dict(zip(NAMES, KEYS[key]))
    first, last = list(columns)[0], list(columns)[-1]
    queries = [(where.format(first, last), arguments) for where, arguments in queries]
    db.execute("BEGIN")
    try:
        fill(db, columns, rows, selected)
        for where, arguments in queries:
            once = where.replace("outside.g", "1")
            same(db, f"SELECT * FROM {{0}} WHERE {once}", arguments)
            for end in "", " DESC":  # no two rows have one key
                same(db, f"SELECT n FROM {{0}} WHERE {once} ORDER BY {', '.join(columns)}{end}", arguments,
                     ordered=True)
            same(db, "SELECT outside.g, n FROM (SELECT DISTINCT g FROM i) AS outside "
                     f"CROSS JOIN {{0}} WHERE {where}", arguments)
            same(db, "SELECT outside.g, (SELECT sum(n) FROM {0} WHERE " + where + ") "
                     "FROM (SELECT DISTINCT g FROM i) AS outside", arguments)
        for verb, (where, arguments) in zip(["UPDATE {} SET n = n + 1", "DELETE FROM {}"], queries):
            once = where.replace("outside.g", "1")
            for table in ["t", "o"]:
                db.execute(f"{verb.format(table)} WHERE {once}", arguments)
            same(db, "SELECT * FROM {}")
    finally:
        db.execute("ROLLBACK")
