"""bound.py - what comes with a token is taken in, but for shards of ids that are bound to another one."""
from __future__ import annotations

from typing import Any, Dict, Iterable, List, NamedTuple, Optional

from .batches import COLLECT, NOTHING, Taking, need_tables, take_lines
from .database import ask, transaction
from .parsing import Batch, Cell, Change
from .tokens import Binding


class Received(NamedTuple):
    changes: int
    skipped: int
    marks: Dict[str, int]


def id_of(batch: Batch) -> str:
    """The id of the source, which its name begins with."""
    return batch.source[:36].lower()


class BoundTaking(Taking):
    """A mark of a source whose id is bound to another token stays: else that device would upload nothing below it."""

    def __init__(self, connection: Any, digest: str) -> None:
        super().__init__(connection)
        self.binding, self.skipped = Binding(connection, digest), 0

    def without_others(self, change: Change) -> Optional[Change]:
        """None if nothing is left of a cell: its first life, without a shard, says nothing."""
        if not isinstance(change.cell, Cell):
            return change
        shards = [shard for shard in change.cell.shards if not self.binding.is_others(shard["id"])]
        if len(shards) == len(change.cell.shards):
            return change
        self.skipped += len(change.cell.shards) - len(shards)
        cell = Cell(change.cell.life, shards)
        left = shards or ask(self.connection, COLLECT, *cell.collected())[0][0] is not None
        return change._replace(cell=cell) if left else None

    def prepare(self, batch: Batch) -> Batch:
        self.binding.bind(id_of(batch))
        changes: List[Change] = list(filter(None, map(self.without_others, batch.changes)))
        return batch._replace(changes=changes)

    def raise_mark(self, batch: Batch) -> None:
        if not self.binding.is_others(id_of(batch)):
            super().raise_mark(batch)
        else:
            self.marks[batch.source] = ask(self.connection, "SELECT counter_mark(?)", batch.source)[0][0]


def receive(connection: Any, lines: Iterable[bytes], digest: str) -> Received:
    need_tables(connection)
    with transaction(connection, NOTHING):
        taking = BoundTaking(connection, digest)
        take_lines(taking, lines, taking.prepare)
    return Received(taking.changes, taking.skipped, taking.marks)
