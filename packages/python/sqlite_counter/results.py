"""results.py - what a sync by a folder or by HTTP has done."""
from __future__ import annotations

from typing import Any, List, NamedTuple

from .database import SyncError, in_transaction


class Synced(NamedTuple):
    """The changes that were given and taken; shards of other devices that a server has skipped, because these bring them
    themselves; sentences about what in a folder could not be read and was left alone, or what a server does not take."""
    given: int
    taken: int
    skipped: int
    warnings: List[str]


def need_no_transaction(connection: Any) -> None:
    """What is not committed does not travel, and nobody should wait for a network."""
    if in_transaction(connection):
        raise SyncError("a sync is not possible within a transaction: commit it first")
