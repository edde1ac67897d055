"""results.py - what a sync by a folder or by HTTP has done."""
from __future__ import annotations

from typing import Any, List, NamedTuple, Tuple

from .database import SyncError, ask, in_transaction, is_database_error

APART = """SELECT count(*) FROM (SELECT DISTINCT table_name, row_key FROM counter_tracked
  WHERE state IN ('waits', 'differs', 'refused'))"""

# What a sync tells of a table. Foreign keys are told by Django's check and by `sqlite-counter status`: they stay as they are.
WARNINGS = "SELECT table_name || ': ' || warning FROM counter_warnings WHERE kind <> 'foreign key'"
FORGET_WARNINGS = "SELECT counter_warnings_reset()"

RETRY = "SELECT counter_take('')"  # tries again what is apart


class Synced(NamedTuple):
    """How many changes it gave and took; shards of other devices that a server has skipped, because these bring them
    themselves; sentences about what in a folder could not be read and was left alone, or what a server does not take, then about
    tables: columns that do not travel yet, many rows that the sync has deleted, conflicts, clocks that are ahead; how many rows
    of this file are apart now: a constraint refuses them, so they wait or differ, and counter_tracked lists them; sentences
    about what is worth knowing, though all was done."""
    gave: int
    took: int
    skipped: int
    warnings: List[str]
    apart: int = 0
    notes: Tuple[str, ...] = ()


def count_apart(connection: Any) -> int:
    """After another attempt, for a table may take them since; where that cannot be made now, the next sync does."""
    apart = ask(connection, APART)
    if apart != [(0,)]:
        try:
            ask(connection, RETRY)
        except Exception as error:
            if not is_database_error(error):
                raise
        apart = ask(connection, APART)
    return int(apart[0][0])


def forget_warnings(connection: Any) -> None:
    ask(connection, FORGET_WARNINGS)


def tell_warnings(connection: Any) -> List[str]:
    """What the merges of this connection have brought since they were forgotten, and what of its tables does not travel."""
    return [warning for warning, in ask(connection, WARNINGS)]


def need_no_transaction(connection: Any) -> None:
    """What is not committed does not travel, and nobody should wait for a network."""
    if in_transaction(connection):
        raise SyncError("a sync is not possible within a transaction: commit it first")
