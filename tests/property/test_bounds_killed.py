"""test_bounds_killed.py - processes that level rights are killed at any moment: nobody may sell what somebody else may, too.

Two files sell and sync, each in a process that is killed. Then each file sells all that it may, before it hears of the other.
Together they have never sold more than there was.
"""

import os
import random
import signal
import sqlite3
import time

import pytest

from conftest import EXAMPLES, SEED
from files import connect

SEATS = 60


def rows(db, sql, *arguments):
    return db.execute(sql, arguments).fetchall()


def sell_and_sync(paths, log, seed):
    """Never returns. Notes each sale before it, and once it is committed."""
    draw = random.Random(seed)
    os.setpgid(0, 0)
    while True:
        mine, other = draw.sample(paths, 2)
        db = connect(mine, timeout=1)
        for _ in range(draw.randrange(3)):
            n = draw.randrange(1, 4)
            os.write(log, f"?{n}\n".encode())
            try:
                db.execute("UPDATE seats SET free = free - ? WHERE hall = 'A'", [n])
                os.write(log, f"!{n}\n".encode())
            except sqlite3.Error:
                os.write(log, b"-\n")
        try:
            rows(db, "SELECT * FROM counter_sync(?)", other)
        except sqlite3.Error:
            pass
        db.close()


def sell_all(path):
    """Sells one by one until it is refused. Returns how many."""
    sold, db = 0, connect(path)
    while True:
        try:
            db.execute("UPDATE seats SET free = free - 1 WHERE hall = 'A'")
            sold += 1
        except sqlite3.Error as error:
            assert "this file may take none" in str(error), error
            db.close()
            return sold


def sold_of(log):
    """The sales that are certain, and one that may have been committed when the process was killed."""
    sure, open_one = 0, 0
    for line in log.split():
        if line.startswith("?"): open_one = int(line[1:])
        if line.startswith("!"): sure += int(line[1:])
        if not line.startswith("?"): open_one = 0
    return sure, open_one


@pytest.mark.parametrize("mode", ["wal", "delete"])
def test_a_process_that_is_killed_while_rights_move_leaves_none_with_two_files(tmp_path, mode):
    draw = random.Random(f"{SEED} {mode}")
    for example in range(max(10, EXAMPLES // 4)):
        paths = [str(tmp_path / f"{example}-{name}.db") for name in "abc"]
        db = connect(paths[0])
        db.execute(f"PRAGMA journal_mode = {mode}")
        db.execute("CREATE TABLE seats(hall TEXT PRIMARY KEY, free INTEGER)")
        db.execute("INSERT INTO seats VALUES ('A', ?)", [SEATS])
        rows(db, "SELECT counter_replicate('seats', 'free'), counter_bound('seats', 'free')")
        for path in paths[1:]:
            db.execute("VACUUM INTO ?", [path])
            other = connect(path)
            other.execute(f"PRAGMA journal_mode = {mode}")
            rows(other, "SELECT counter_settle()")
            rows(db, "SELECT * FROM counter_sync(?)", path)
            other.close()
        db.close()
        log = os.open(tmp_path / "log", os.O_RDWR | os.O_CREAT | os.O_TRUNC)
        child = os.fork()
        if child == 0:
            try:
                sell_and_sync(paths, log, draw.random())
            finally:
                os._exit(1)
        time.sleep(draw.random() * 0.12)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        os.lseek(log, 0, 0)
        sure, perhaps = sold_of(os.read(log, 1 << 20).decode())
        os.close(log)
        later = sum(sell_all(path) for path in paths)
        assert sure + later <= SEATS, (sure, perhaps, later)
        db = connect(paths[0])
        for path in paths[1:] + paths[1:]: rows(db, "SELECT * FROM counter_sync(?)", path)
        free = rows(db, "SELECT free FROM seats")[0][0]
        assert free >= 0 and free in (SEATS - sure - later, SEATS - sure - perhaps - later), (free, sure, perhaps, later)
        assert rows(db, "SELECT * FROM counter_rights('seats') WHERE rights < 0") == []
        db.close()
