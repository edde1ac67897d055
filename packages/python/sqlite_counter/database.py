"""database.py - connections of sqlite3 and of apsw, used alike; the error of this package."""
from __future__ import annotations

import contextlib
import re
from typing import Any, Iterator, List, Optional, Tuple

ERROR, BUSY, LOCKED, TOO_BIG, CONSTRAINT, MISMATCH, OTHER = 1, 5, 6, 18, 19, 20, 0xff  # SQLite's codes
LARGEST = 2**63 - 1  # of its integers


class SyncError(Exception):
    """A sentence: what could not be sent or taken in, why, and what to do. The file is as it was before."""


CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]+")


def plain(text: str) -> str:
    """What comes from elsewhere, on one line: a terminal would obey its control characters."""
    return CONTROLS.sub(" ", text)


# ---- connections ----

def loading(connection: Any) -> Tuple[Any, Any]:
    """The methods by which sqlite3 and apsw enable loading and load."""
    return (getattr(connection, "enable_load_extension", None) or getattr(connection, "enableloadextension", None),
            getattr(connection, "load_extension", None) or getattr(connection, "loadextension", None))


def no_connection(given: Any, who: str) -> TypeError:
    kind = type(given)
    name = kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
    hint = "; its attribute connection is one" if all(loading(getattr(given, "connection", None))) else ""
    return TypeError(f"sqlite_counter: {who} a connection of sqlite3 or apsw, not {name}{hint}")


def need_connection(given: Any) -> None:
    """A path in its place, for instance, is no error of SQLite."""
    if not hasattr(given, "cursor") or not (hasattr(given, "in_transaction") or hasattr(given, "getautocommit")):
        raise no_connection(given, "this takes")


def open_cursor(connection: Any) -> Any:
    """A cursor whose rows are tuples, whatever the connection makes of those of others."""
    need_connection(connection)
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
    """What a connection that makes bytes of texts has made of one."""
    return value if isinstance(value, str) else bytes(value).decode()


# ---- errors ----

def is_database_error(error: BaseException) -> bool:
    """Both modules call the class that their errors have in common `Error`."""
    return any(kind.__name__ == "Error" and kind.__module__ in ("sqlite3", "apsw") for kind in type(error).__mro__)


def code_of(error: BaseException) -> int:
    """SQLite's primary code; sqlite3 tells it since Python 3.11, before that its class and the words must do."""
    code = getattr(error, "sqlite_errorcode", getattr(error, "extendedresult", None))
    if code is not None:
        return code & 0xff
    if type(error).__name__ == "DataError":
        return TOO_BIG
    if "database is locked" in str(error):
        return BUSY
    return OTHER if re.search("disk|readonly|malformed|out of memory", str(error)) else ERROR


def is_busy(error: Optional[BaseException]) -> bool:
    """Whether somebody else had locked the file."""
    return error is not None and (is_database_error(error) and code_of(error) in (BUSY, LOCKED) or is_busy(error.__cause__))


def is_refusal(error: Optional[BaseException], *codes: int) -> bool:
    """Whether the extension has refused what it was given, with one of these codes; not if a disk was full, or the file locked."""
    return error is not None and str(error).startswith("counter_") and code_of(error) in (codes or (ERROR, CONSTRAINT, MISMATCH))


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


# ---- transactions ----

def in_transaction(connection: Any) -> bool:
    need_connection(connection)
    if hasattr(connection, "in_transaction"):
        return bool(connection.in_transaction)
    return not connection.getautocommit()


@contextlib.contextmanager
def transaction(connection: Any, failed: str = "") -> Iterator[None]:
    """All or nothing: a transaction that can write from its beginning, or a savepoint in the one of the caller. `failed` ends the
    sentence if it cannot begin or end."""
    inside = in_transaction(connection)
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
