"""files.py - database files with the extension, as an application opens them."""

import ctypes
import os
import pathlib
import shutil
import sqlite3
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXTENSION = str(ROOT / "build" / "counter")
# Keeps the library loaded: each test's first connection would load it anew, as it does in tests/house.
LIBRARY = ctypes.CDLL(EXTENSION + (".dylib" if sys.platform == "darwin" else ".so"))


def connect(path, timeout=0.0, uri=False):
    """A connection in autocommit; transactions are written out as SQL."""
    db = sqlite3.connect(path, timeout=timeout, isolation_level=None, uri=uri)
    db.enable_load_extension(True)
    db.load_extension(EXTENSION)
    db.enable_load_extension(False)
    return db


def is_locked(error):
    return isinstance(error, sqlite3.OperationalError) and "database is locked" in str(error)


def copy_live(path, to):
    """Copies a file that this process has open: in another process, for a descriptor closed here
    would drop SQLite's locks. The WAL comes along, without it the copy would be older than the last
    commit."""
    child = os.fork()
    if child == 0:
        try:
            shutil.copyfile(path, to)
            if os.path.exists(f"{path}-wal"):
                shutil.copyfile(f"{path}-wal", f"{to}-wal")
            os._exit(0)
        finally:
            os._exit(1)
    assert os.waitpid(child, 0)[1] == 0


def optimize(db, table):
    """Folds the journal of a table."""
    db.execute(f"INSERT INTO {table}({table}) VALUES ('optimize')")


def varint(data, at):
    number = shift = 0
    while True:
        number |= (data[at] & 127) << shift
        at, shift = at + 1, shift + 7
        if data[at - 1] < 128:
            return number, at


def groups(row):
    """The groups in the entries of a row of counter_journal: the number of a table, and its entries."""
    assert row[0] == 0xE4
    at = 1
    while at < len(row):
        table, at = varint(row, at)
        size, at = varint(row, at)
        yield table, row[at:at + size]
        at += size
