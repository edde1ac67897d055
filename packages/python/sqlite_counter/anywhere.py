"""anywhere.py - a sync with whatever a command names: a server, a folder or another file."""
from __future__ import annotations

import os
import time
from typing import Any, Dict, List, NamedTuple, Optional

from .database import SyncError, ask, in_transaction, is_busy, told
from .folder import sync_folder
from .results import count_apart, forget_warnings, tell_warnings


def read_token(path: Optional[str]) -> str:
    """From a file, else from the environment: an argument would stand in the list of processes."""
    if path:
        try:
            with open(path) as file:
                return file.read().strip()
        except (OSError, ValueError) as error:
            raise SyncError(f"{path}: {getattr(error, 'strerror', None) or error}") from error
    token = os.environ.get("SQLITE_COUNTER_TOKEN", "").strip()
    if not token:
        raise SyncError("a server asks for a token: give a file with it by --token-file, or set SQLITE_COUNTER_TOKEN")
    return token


def tell_apart(n: int) -> str:
    return f"; {n} row{' waits or differs' if n == 1 else 's wait or differ'}: SELECT * FROM counter_tracked" if n else ""


PAUSE = 0.1  # seconds, in which others get the lock of the file that takes: SQLite looks every 100 ms at least


def sync_part(connection: Any, other: str, how: Optional[str]) -> List[Any]:
    """SQLite waits for no lock of a file that the statement reads already, so it is tried again until the busy timeout is over."""
    until = time.monotonic() + ask(connection, "PRAGMA busy_timeout")[0][0] / 1000
    while True:
        try:
            return ask(connection, "SELECT table_name, rows_changed, more FROM counter_sync(?, ?)", other, how)
        except Exception as error:
            if in_transaction(connection) or not is_busy(error) or time.monotonic() >= until:
                raise
        time.sleep(PAUSE / 2)


def sync_file(connection: Any, other: str) -> Dict[str, int]:
    """Syncs with another file: the rows that have changed, by table. A file that has nothing yet takes it in parts, so that others who
    write it wait for none of them long; outside of a transaction, for they are ones of their own."""
    changed: Dict[str, int] = {}
    in_parts, more = not in_transaction(connection), True
    while more:
        rows = sync_part(connection, other, "part" if in_parts else None)
        more = any(left for _, _, left in rows)
        for table, n, _ in rows:
            changed[table] = changed.get(table, 0) + n
        if more:
            time.sleep(PAUSE)
    return changed


class Told(NamedTuple):
    """What was done, and how many rows a constraint keeps apart; what was left alone or not taken; warnings about tables."""
    said: str
    left: List[str]
    warnings: List[str]


def sync(connection: Any, other: str, token_file: Optional[str] = None) -> Told:
    """Syncs with a server, a folder or another file."""
    if other.startswith(("http://", "https://")):
        from .http import sync_http
        done = sync_http(connection, other, read_token(token_file))
    elif os.path.isdir(other) or other.endswith(os.sep):
        done = sync_folder(connection, other)
    else:
        with told():
            attached = (name.lower() for _, name, _ in ask(connection, "PRAGMA database_list"))
            if not os.path.exists(other) and not other.startswith("file:") and other.lower() not in attached:
                raise SyncError(f"{other}: there is no such file, and no such directory: make that once, by python -m sqlite_counter folder")
            forget_warnings(connection)
            said = ", ".join(f"{table}: {changed} rows changed" for table, changed in sync_file(connection, other).items())
            return Told(said + tell_apart(count_apart(connection)), [], tell_warnings(connection))
    skipped = f", {done.skipped} shards of others skipped" if done.skipped else ""
    with told():
        warnings = tell_warnings(connection)
    left = [warning for warning in done.warnings if warning not in warnings]
    gave = f"{done.gave} change{'' if done.gave == 1 else 's'} given"
    said = "\n".join([f"{gave}, {done.took} taken{skipped}{tell_apart(done.apart)}", *done.notes])
    return Told(said, left, warnings)
