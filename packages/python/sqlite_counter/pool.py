"""pool.py - connections of a server to its file, each used by one request at a time."""
from __future__ import annotations

import os
import sqlite3
from collections import deque
from contextlib import contextmanager
from typing import Any, Deque, Iterator, NamedTuple, Tuple

from .database import ask, in_transaction, is_database_error

SECONDS = 10  # to wait for others
KEPT = 16     # connections that wait for a request


@contextmanager
def snapshot(connection: Any) -> Iterator[None]:
    ask(connection, "BEGIN")
    try:
        yield
    finally:
        if in_transaction(connection):  # some errors end it by themselves
            ask(connection, "ROLLBACK")


class Lent(NamedTuple):
    """Two connections, for one that cannot write reads its changes itself, without another one. To switch one to and fro would take
    SQLite more time: it prepares all statements anew then."""
    writes: Any
    reads: Any
    file: Tuple[int, int]

    def close(self) -> None:
        self.reads.close()
        self.writes.close()


class Pool:
    """A connection that waits belongs to this process, and to the file that is at the path now: one that was put there later,
    from a backup say, is another one."""

    def __init__(self, path: str) -> None:
        self.path, self.process = os.path.abspath(path), os.getpid()
        self.waiting: Deque[Lent] = deque()
        self.inherited: Any = None

    def connect(self) -> Any:
        from . import load
        connection = sqlite3.connect(self.path, timeout=SECONDS, isolation_level=None, check_same_thread=False)
        try:
            load(connection)
            ask(connection, "PRAGMA foreign_keys = ON")  # as the program sqlite-counter and most drivers have it
            self.use_wal(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def open(self, file: Tuple[int, int]) -> Lent:
        lent = Lent(self.connect(), self.connect(), file)
        ask(lent.reads, "PRAGMA query_only = ON")
        return lent

    def use_wal(self, connection: Any) -> None:
        """Readers and a writer do not wait for each other then. It stays as it is where the file is in use, or cannot have one."""
        try:
            if ask(connection, "PRAGMA journal_mode") != [("wal",)]:
                ask(connection, "PRAGMA journal_mode = WAL")
        except Exception as error:
            if not is_database_error(error):
                raise

    def take(self) -> Lent:
        """Fails if there is no file: SQLite would make an empty one."""
        found = os.stat(self.path)
        if self.process != os.getpid():  # after a fork those of the parent must not even be closed
            self.inherited, self.waiting, self.process = self.waiting, deque(), os.getpid()
        while True:
            try:
                lent = self.waiting.pop()
            except IndexError:
                return self.open((found.st_dev, found.st_ino))
            if lent.file == (found.st_dev, found.st_ino):
                return lent
            lent.close()

    def give_back(self, lent: Lent) -> None:
        if not in_transaction(lent.writes) and not in_transaction(lent.reads) and len(self.waiting) < KEPT:
            self.waiting.append(lent)
        else:
            lent.close()
