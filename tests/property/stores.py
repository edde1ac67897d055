"""stores.py - what tests do to the store of a file, where it can be done: the first store knows no 'optimize', the one
with a journal gives each transaction a number of its own."""

import contextlib
import functools
import sqlite3

from files import connect


@functools.cache
def knows_optimize():
    with contextlib.closing(connect(":memory:")) as db:
        db.execute("CREATE VIRTUAL TABLE t USING counter(k TEXT PRIMARY KEY, n COUNTER)")
        try:
            db.execute("INSERT INTO t(t) VALUES ('optimize')")
        except sqlite3.OperationalError as error:
            assert "unknown command" in str(error)
            return False
    return True


def optimize(db, table):
    """Folds the journal of a table."""
    if knows_optimize():
        db.execute(f"INSERT INTO {table}({table}) VALUES ('optimize')")


def rise(db):
    """The next count is noted as newer, as if a second had passed: a pull does not read again what it has read."""
    try:
        db.execute("UPDATE counter_replica SET risen = 0")
    except sqlite3.OperationalError as error:
        assert "no such" in str(error)
