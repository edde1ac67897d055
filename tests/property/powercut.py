"""powercut.py - databases that can lose power: opened through the VFS of tests/fault/powercut.c.

    db = connect(path)      counts, commits, dies
    cut(path)               now the files are what the disk had

A process that is to be cut ends without closing its connection: os._exit, kill -9. If fsync without
SQLite is to count, it is started with env=preloaded().
"""

import os
import pathlib
import sqlite3
import urllib.parse

import files

SHIM = str(files.ROOT / "build" / "tests" / "powercut.so")
FILES = ("", "-wal", "-journal")

shim_is_loaded = False


def load_shim():
    """Into the process; it stays when the connection is closed."""
    global shim_is_loaded
    if shim_is_loaded:
        return
    db = sqlite3.connect(":memory:")
    db.enable_load_extension(True)
    db.load_extension(SHIM)
    db.close()
    shim_is_loaded = True


def connect(path, timeout=0.0):
    """As files.connect, and what is synced is remembered."""
    load_shim()
    uri = f"file:{urllib.parse.quote(str(path))}?vfs=powercut"
    db = sqlite3.connect(uri, timeout=timeout, isolation_level=None, uri=True)
    db.enable_load_extension(True)
    db.load_extension(files.EXTENSION)
    db.enable_load_extension(False)
    return db


def preloaded():
    """The environment of a process in which any fsync is seen."""
    return dict(os.environ, LD_PRELOAD=SHIM)


def durable(path):
    return pathlib.Path(f"{path}.durable")


def cut(path):
    """Puts back what was durable, into the same inodes; no process may have the files open."""
    durable(path).stat()  # without it the shim has never seen this database
    for name in (f"{path}{suffix}" for suffix in FILES):
        if durable(name).exists():
            overwrite(name, durable(name).read_bytes())
        else:
            pathlib.Path(name).unlink(missing_ok=True)
    pathlib.Path(f"{path}-shm").unlink(missing_ok=True)


def overwrite(path, content):
    with open(os.open(path, os.O_RDWR | os.O_CREAT, 0o644), "r+b") as file:
        file.write(content)
        file.truncate()


def forget(path):
    """What is there now counts as durable: after a change by other ways than connect."""
    for suffix in FILES:
        durable(f"{path}{suffix}").unlink(missing_ok=True)
