"""program.py - for the tests of sqlite-counter: how they run it, make files, and look into them."""

import pathlib
import re
import sqlite3
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = ROOT / "build" / "sqlite-counter"
PAGE = ROOT / "cli" / "sqlite-counter.1"
UUID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
COMMANDS = ["sync", "status", "plan", "adopt", "merge", "track", "replicate", "opening", "grant", "check", "export", "import"]
OF_COUNTERS = [command for command in COMMANDS if command != "merge"]  # test_merge.py has that one
ON_ONE_FILE = ["status", "check", "export", "import"]


def run(*words, text="", folder=None, **options):
    """With the streams piped; the three things that a script sees."""
    done = subprocess.run([PROGRAM, *map(str, words)], input=text, cwd=folder, capture_output=True, text=True, **options)
    return done.returncode, done.stdout, done.stderr


def ok(*words, **options):
    status, out, error = run(*words, **options)
    assert (status, error) == (0, ""), error
    return out


def table(text):
    return [line.split("\t") for line in text.splitlines()]


def fails(sentence, *words, status=1, **options):
    """The sentence is a pattern; nothing is printed beside it."""
    seen, out, error = run(*words, **options)
    assert (seen, out) == (status, "")
    assert re.fullmatch(f"sqlite-counter: {sentence}\n", error), error


def connect(path, timeout=5.0):
    db = sqlite3.connect(path, timeout=timeout, isolation_level=None)
    db.enable_load_extension(True)
    db.load_extension(str(ROOT / "build" / "counter"))
    return db


def make(path, *sql):
    db = connect(path)
    for statement in sql:
        db.execute(statement).fetchall()
    db.close()


VIEWS = "CREATE VIRTUAL TABLE views USING counter(path TEXT PRIMARY KEY, hits COUNTER, bytes COUNTER)"
PRODUCTS = "CREATE TABLE products(sku TEXT PRIMARY KEY, name TEXT, stock INTEGER NOT NULL DEFAULT 0 CHECK (stock >= 0))"


def digest(path, name="views"):
    db = connect(path)
    try:
        return db.execute("SELECT counter_table_digest(?)", [name]).fetchone()[0]
    finally:
        db.close()


def rows(path, sql="SELECT path, hits, bytes FROM views ORDER BY path", *values):
    db = connect(path)
    try:
        return db.execute(sql, values).fetchall()
    finally:
        db.close()
