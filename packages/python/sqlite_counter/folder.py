"""folder.py - syncs a file with others through a folder that all of them see: docs/batches.md. The library reads and writes it."""
from __future__ import annotations

import os
import re
from typing import Any, List, Tuple

from .batches import Scope, need_tables, scope_text, settle
from .database import SyncError, ask, plain, text, told, transaction
from .library import allow_folders
from .results import Synced, count_apart, forget_warnings, need_no_transaction, tell_warnings

MARKER = ".sqlite-counter"
NO_RIGHT = "sqlite3_counter_folders_init"  # what the error about the missing right names

PULL = "SELECT rows_read, note FROM counter_pull(?, NULL, ?)"
PUSH = "SELECT rows_read, note FROM counter_push(?)"


def make_folder(directory: Any) -> None:
    """Makes a folder one that files sync through, unless it is one: without its marker nothing is read or written there, so that
    nobody syncs with a wrong folder, or with one that is not mounted."""
    directory = os.fspath(directory)
    try:
        os.makedirs(directory, exist_ok=True)
        with open(os.path.join(directory, MARKER), "a"):
            pass
    except OSError as error:
        raise SyncError(f"{error.filename or directory}: {error.strerror or error}") from error


def move(connection: Any, sql: str, *values: Any) -> Tuple[int, List[str]]:
    """How many changes were moved, and notes. BEGIN waits for others that write the file."""
    with transaction(connection):
        rows = ask(connection, sql, *values)
    return sum(n for n, _ in rows), [plain(text(note)) for _, note in rows if note]


def move_with_right(connection: Any, sql: str, *values: Any) -> Tuple[int, List[str]]:
    """The right is given when it is missed: a program that calls sync_folder() means it."""
    try:
        return move(connection, sql, *values)
    except Exception as error:
        if NO_RIGHT not in str(error):
            raise
    allow_folders(connection)
    return move(connection, sql, *values)


def sync_folder(connection: Any, directory: Any, scope: Scope = None) -> Synced:
    """Writes what this file has changed into a folder that make_folder() has made and other machines see, and takes what is new there
    of the others; only rows of `scope`, if there is one. To be called outside of a transaction. Where the folder cannot be written,
    what is there is taken, and it is an error only if this file had something to give."""
    need_no_transaction(connection)
    directory = os.fspath(directory)
    if not os.path.isdir(directory):
        raise SyncError(f"{directory}: there is no such folder: make it once, by make_folder(), or mount what it is on")
    with told():
        need_tables(connection)
        forget_warnings(connection)
        settle(connection)  # before its folder is named
        try:
            took, warnings = move_with_right(connection, PULL, directory, scope_text(scope))
            gave, notes = move_with_right(connection, PUSH, directory)
        except Exception as error:
            said = re.sub("^counter_pu(ll|sh): ", "", str(error))
            if said == str(error):
                raise
            raise SyncError(said) from error
        return Synced(gave, took, 0, warnings + tell_warnings(connection), count_apart(connection), tuple(notes))
