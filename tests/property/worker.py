"""worker.py - another process that uses a file. Each word on standard output is an acknowledgement.

    worker.py count FILE TIMES       adds 1 to both counters of row 'k', '+' for each commit
    worker.py request FILE FIRST     adds 1 under the request ids from FIRST on, '+' for each commit
    worker.py alter FILE TIMES       adds the counter e and drops it again, '+' for each commit
    worker.py hold FILE SECONDS      takes the write lock, says 'locked', keeps it for SECONDS
"""

import itertools
import os
import sys
import time

from files import connect, is_locked


def insist(db, sql):
    """Runs a statement, again and again while the file is locked."""
    while True:
        try:
            return db.execute(sql)
        except Exception as error:
            if not is_locked(error):
                raise
            time.sleep(0.0002)


def count(db, times):
    for _ in range(times):
        insist(db, "INSERT INTO t(k, a, b) VALUES ('k', 1, 1)")
        os.write(1, b"+")


def request(db, first):
    for one in itertools.count(first):
        insist(db, f"INSERT INTO t(k, a, request_id) VALUES ('k', 1, 'r{one}')")
        os.write(1, b"+")


def alter(db, times):
    for _ in range(times):
        for verb in ("add", "drop"):
            insist(db, f"INSERT INTO t(t) VALUES ('{verb} column e')")
            os.write(1, b"+")


def hold(db, seconds):
    db.execute("BEGIN IMMEDIATE")
    os.write(1, b"locked")
    time.sleep(seconds)
    db.execute("COMMIT")


def main(what, path, argument):
    db = connect(path)
    insist(db, "PRAGMA synchronous = OFF")  # a killed process loses nothing that was written
    if what == "count":
        count(db, int(argument))
    elif what == "alter":
        alter(db, int(argument))
    elif what == "request":
        request(db, int(argument))
    else:
        hold(db, float(argument))
    db.close()


main(*sys.argv[1:])
