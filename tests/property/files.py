"""files.py - database files with the extension, as an application opens them."""

import pathlib
import sqlite3
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXTENSION = str(ROOT / "build" / "counter")


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
    subprocess.run(["sh", "-c", 'cp "$1" "$2"; if [ -f "$1-wal" ]; then cp "$1-wal" "$2-wal"; fi',
                    "sh", str(path), str(to)], check=True)


def optimize(db, table):
    """Folds the journal of a table."""
    db.execute(f"INSERT INTO {table}({table}) VALUES ('optimize')")
