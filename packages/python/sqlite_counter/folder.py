"""folder.py - syncs a file with others through a folder that all of them see: docs/batches.md. The library reads and writes it."""
from __future__ import annotations

import os
import re
from typing import Any, List, Tuple

from .batches import Scope, need_tables, scope_text, source_of
from .database import SyncError, ask, plain, text, told
from .library import allow_folders
from .results import Synced, count_apart, forget_warnings, need_no_transaction, tell_warnings

MARKER = ".sqlite-counter"
NO_RIGHT = "this connection has no right to use one"

SYNC = "SELECT source, rows_read, note FROM counter_sync(?, NULL, ?)"


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


def exchange(connection: Any, directory: str, scope: Any) -> List[Tuple[Any, ...]]:
    """The right is given when it is missed: a program that calls sync_folder() means it."""
    try:
        return ask(connection, SYNC, directory, scope)
    except Exception as error:
        if NO_RIGHT not in str(error):
            raise
    allow_folders(connection)
    return ask(connection, SYNC, directory, scope)


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
        try:
            rows = exchange(connection, directory, scope_text(scope))
        except Exception as error:
            said = re.sub("^counter_sync: ", "", str(error))
            if said == str(error):
                raise
            raise SyncError(said) from error
        own = source_of(connection)
        gave = sum(n for source, n, _ in rows if text(source) == own)
        took = sum(n for source, n, _ in rows if text(source) != own)
        told_of = [(text(source) == own, plain(text(note))) for source, _, note in rows if note]
        return Synced(gave, took, 0, [note for is_own, note in told_of if not is_own] + tell_warnings(connection),
                      count_apart(connection), tuple(note for is_own, note in told_of if is_own))
