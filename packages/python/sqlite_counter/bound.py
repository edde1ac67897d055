"""bound.py - what comes with a token is taken in, but for shards of ids that are bound to another one, and of the ids that the
file itself counts or has counted under."""
from __future__ import annotations

from typing import Any, Dict, Iterable, List, NamedTuple, Optional

from .batches import COLLECT, NOTHING, Taking, need_tables, take_lines
from .database import ask, transaction
from .parsing import Batch, Cell, Change, TooMuch
from .tokens import Binding

MOST_LINES, MOST_CHANGES, MOST_SOURCES = 40_000, 100_000, 1_000  # of a body; docs/batches.md says so


class Received(NamedTuple):
    changes: int
    skipped: int
    marks: Dict[str, int]
    warnings: List[str]


def id_of(batch: Batch) -> str:
    """The id of the source, which its name begins with."""
    return batch.source[:36].lower()


class BoundTaking(Taking):
    """The mark of a source whose id is bound to another token stays: else that device would upload nothing below it. So does that
    of a batch of which something was refused: it comes again when the file has that."""

    def __init__(self, connection: Any, digest: str, device: str) -> None:
        super().__init__(connection, device=device)
        self.binding, self.skipped = Binding(connection, digest), 0
        self.came, self.refused_before, self.refused = 0, self.count_refused(), 0

    def count_refused(self) -> int:
        return ask(self.connection, "SELECT count FROM counter_stats WHERE figure = 'shards refused'")[0][0]

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
        self.came += len(batch.changes)
        if self.came > MOST_CHANGES:
            raise TooMuch(f"with it the body has more than {MOST_CHANGES} changes")
        if len({*self.marks, batch.source}) > MOST_SOURCES:
            raise TooMuch(f"with it the body has batches of more than {MOST_SOURCES} sources")
        self.binding.bind(id_of(batch))
        self.binding.note_source(batch.source)
        changes: List[Change] = list(filter(None, map(self.without_others, batch.changes)))
        return batch._replace(changes=changes)

    def raise_mark(self, batch: Batch) -> None:
        refused, self.refused = self.refused, self.count_refused() - self.refused_before
        if self.refused == refused and not self.binding.is_others(id_of(batch)):
            super().raise_mark(batch)
        else:
            self.marks[batch.source] = ask(self.connection, "SELECT counter_mark(?)", batch.source)[0][0]


def warnings_of(taking: BoundTaking) -> List[str]:
    if not taking.refused:
        return []
    return [f"the device {taking.device} sent {taking.refused} count{'s' * (taking.refused > 1)} under an id of the served file itself, or "
            "of its first values, that this file does not have: not taken, but listed in its counter_conflicts. If it was restored from a "
            "backup, whoever runs the server can import there what the device exports; if the file of the device is a copy of it, do "
            "not import that, but call counter_fork() in the copy"]


def receive(connection: Any, lines: Iterable[bytes], digest: str, device: str) -> Received:
    need_tables(connection)
    with transaction(connection, NOTHING):
        taking = BoundTaking(connection, digest, device)
        take_lines(taking, lines, taking.prepare)
    return Received(taking.changes, taking.skipped, taking.marks, warnings_of(taking))
