"""test_shell.py - a file that is made anew from what the shell prints of another, by .schema or by .dump, is a replica
like any other: it counts under an id of its own, and both agree after a sync."""

import sqlite3
import subprocess

import pytest

from files import EXTENSION, connect

FIRST = {
    "table": [],
    "id first": ["SELECT counter_init()"],
    "name first": ["SELECT counter_init('dc1:rack1')"],
    "ordinary table first": ["CREATE TABLE plain(x INTEGER PRIMARY KEY, y)", "INSERT INTO plain VALUES (1, 2)"],
}
THEN = [
    "CREATE VIRTUAL TABLE page_views USING counter(path TEXT NOT NULL, hour INTEGER, hits COUNTER NOT NULL DEFAULT 0, "
    "PRIMARY KEY (path, hour))",
    "CREATE VIRTUAL TABLE \"the \"\"votes\"\" of 'all'\" USING counter(topic COLLATE NOCASE PRIMARY KEY, up COUNTER)",
    "INSERT INTO page_views VALUES ('/', 12, 5), ('/a', 13, 6), ('/old', 1, 7)",
    "INSERT INTO page_views(page_views) VALUES ('add column errors')",
    "INSERT INTO page_views(page_views) VALUES ('add column gone')",
    "UPDATE page_views SET errors = 2, gone = 3",
    "INSERT INTO page_views(page_views) VALUES ('drop column gone')",
    "INSERT INTO page_views(page_views, hour) VALUES ('purge below', 10)",
    "INSERT INTO \"the \"\"votes\"\" of 'all'\" VALUES ('tea', 9)",
]
RENAME = "ALTER TABLE \"the \"\"votes\"\" of 'all'\" RENAME TO votes"


def shell(path, *commands, text=None):
    done = subprocess.run(["sqlite3", "-batch", "-bail", str(path), *commands], input=text, capture_output=True, text=True,
                          timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@pytest.mark.parametrize("how", [".schema", ".dump", ".schema --nosys"])
@pytest.mark.parametrize("loaded", [False, True])
@pytest.mark.parametrize("first", FIRST)
def test_what_the_shell_prints_of_a_file_makes_a_replica_of_it(tmp_path, first, loaded, how):
    load = f".load {EXTENSION}"
    one = connect(tmp_path / "one.db")
    for sql in FIRST[first] + THEN:
        one.execute(sql).fetchall()
    if how == ".dump":  # which tells the name that a table was created with; .schema cannot
        one.execute(RENAME)
    printed = shell(tmp_path / "one.db", *[load] * loaded, how)
    shell(tmp_path / "two.db", text=f"{load}\n{printed}")
    two = connect(tmp_path / "two.db")
    if first == "name first" and how == ".dump":  # a copy of a named file says so
        with pytest.raises(sqlite3.OperationalError, match="counter_fork"):
            two.execute("INSERT INTO page_views(path, hour, hits) VALUES ('/', 12, 1)")
        two.execute("SELECT counter_fork()").fetchall()
    two.execute("INSERT INTO page_views(path, hour, hits) VALUES ('/', 12, 100)")
    one.execute("INSERT INTO page_views(path, hour, hits) VALUES ('/', 12, 1000)")
    two.execute("ATTACH ? AS one", [str(tmp_path / "one.db")])
    for _ in range(2):
        done = two.execute("SELECT table_name, conflicts FROM counter_sync('one')").fetchall()
        assert {conflicts for _, conflicts in done} == {0} and len(done) == 2
    shown = {("/", 12, 1105, 2), ("/a", 13, 6, 2)}
    for schema in "main", "one":
        assert set(two.execute(f"SELECT path, hour, hits, errors FROM {schema}.page_views")) == shown
        votes, = one.execute("SELECT name FROM counter_tables WHERE name LIKE '%votes%'").fetchone()
        votes = votes.replace('"', '""')
        assert two.execute(f'SELECT * FROM {schema}."{votes}"').fetchall() == [("tea", 9)]
        two.execute(f"INSERT INTO {schema}.page_views(page_views) VALUES ('integrity-check')")
    assert two.execute("SELECT counter_id('main') <> counter_id('one'), counter_table_digest('page_views') = "
                       "counter_table_digest('page_views', 'one')").fetchone() == (1, 1)
    two.close()
    one.close()
