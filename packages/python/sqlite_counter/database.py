"""database.py - connections of sqlite3 and of apsw, used alike; the error of this package."""
from __future__ import annotations

import contextlib
import re
from typing import Any, Iterator, List, Optional, Tuple

ERROR, BUSY, LOCKED, CONSTRAINT, MISMATCH = 1, 5, 6, 19, 20  # SQLite's codes


class SyncError(Exception):
    """A sentence: what could not be sent or taken in, why, and what to do. The file is as it was before."""


def open_cursor(connection: Any) -> Any:
    """A cursor whose rows are tuples, whatever the connection makes of those of others."""
    cursor = connection.cursor()
    if hasattr(cursor, "setrowtrace"):
        cursor.setrowtrace(lambda _, row: row)
    else:
        cursor.row_factory = None
    return cursor


def ask(connection: Any, sql: str, *values: Any) -> List[Tuple[Any, ...]]:
    """All rows of a statement."""
    cursor = open_cursor(connection)
    try:
        return list(cursor.execute(sql, values))
    finally:
        cursor.close()


def text(value: Any) -> str:
    """A text that a statement has cast to a BLOB, since a connection may make anything of texts. Bytes that are no UTF-8
    can only stand where people read them."""
    return bytes(value).decode(errors="replace")


@contextlib.contextmanager
def told(after: str = "") -> Iterator[None]:
    """Makes a sentence of an error of SQLite."""
    try:
        yield
    except Exception as error:
        if not is_database_error(error):
            raise
        is_loaded = not re.search("no such (function|table): counter_(?!http|tables)", str(error))
        raise SyncError(str(error) + (after if is_loaded else ": call sqlite_counter.load() for the connection first")) from error


def in_transaction(connection: Any) -> bool:
    if hasattr(connection, "in_transaction"):
        return bool(connection.in_transaction)
    return not connection.getautocommit()


def code_of(error: BaseException) -> int:
    """SQLite's primary code; 1 if the module does not tell it."""
    return getattr(error, "sqlite_errorcode", getattr(error, "extendedresult", 1)) & 0xff


def is_busy(error: Optional[BaseException]) -> bool:
    """Whether somebody else had locked the file."""
    return error is not None and (code_of(error) in (BUSY, LOCKED) or "database is locked" in str(error) or is_busy(error.__cause__))


def is_refusal(error: Optional[BaseException]) -> bool:
    """Whether the extension has refused what it was given; not if a disk was full, or the file locked."""
    return error is not None and str(error).startswith("counter_") and code_of(error) in (ERROR, CONSTRAINT, MISMATCH)


@contextlib.contextmanager
def told(after: str = "") -> Iterator[None]:
    """Makes a sentence of an error of SQLite."""
    try:
        yield
    except Exception as error:
        if not is_database_error(error):
            raise
        is_loaded = not re.search("no such (function|table): counter_(?!http|tables)", str(error))
        raise SyncError(str(error) + (after if is_loaded else ": call sqlite_counter.load() for the connection first")) from error


def in_transaction(connection: Any) -> bool:
    if hasattr(connection, "in_transaction"):
        return bool(connection.in_transaction)
    return not connection.getautocommit()


def is_busy(error: BaseException | None) -> bool:
    """Whether somebody else had locked the file; the exceptions of both modules say so in other ways."""
    if error is None:
        return False
    code = getattr(error, "sqlite_errorcode", getattr(error, "extendedresult", 0))
    return code & 0xff in (BUSY, LOCKED) or "database is locked" in str(error) or is_busy(error.__cause__)


def is_database_error(error: BaseException) -> bool:
    """Both modules call the class that their errors have in common `Error`."""
    return any(kind.__name__ == "Error" and kind.__module__ in ("sqlite3", "apsw") for kind in type(error).__mro__)


@contextlib.contextmanager
def transaction(connection: Any) -> Iterator[None]:
    """All or nothing: a transaction that can write from its beginning, or a savepoint in the one of the caller."""
    inside, failed = in_transaction(connection), ": nothing was taken in"
    begin, end = ("SAVEPOINT sqlite_counter", "RELEASE sqlite_counter") if inside else ("BEGIN IMMEDIATE", "COMMIT")
    with told(failed):
        ask(connection, begin)
    try:
        yield
        with told(failed):
            ask(connection, end)
    except BaseException:
        if in_transaction(connection):  # some errors end it by themselves
            for back in ("ROLLBACK TO sqlite_counter", "RELEASE sqlite_counter") if inside else ("ROLLBACK",):
                ask(connection, back)
        raise
