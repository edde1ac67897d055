"""adopting.py - the tables of an existing application, all at once: what it takes, and doing it."""
from __future__ import annotations

from typing import Any, Iterable, List, NamedTuple, Optional

from .database import ask, told
from .program import listed, run_program

PLAN = "SELECT table_name, kind, column_name, finding, remedy FROM counter_plan"


class Matter(NamedTuple):
    """A row of counter_plan: of a table first what would be done, then what to think of; docs/reference.md has the kinds."""
    table: str
    kind: str
    column: Optional[str]
    finding: str
    remedy: Optional[str]


class Adopted(NamedTuple):
    """A table: what was done, `replicate`, `autoincrement`, `key`, `left`, `home`, `virtual` or, before, `done`; its key."""
    table: str
    kind: str
    key: Optional[str]


def plan(connection: Any) -> List[Matter]:
    """What it takes to replicate all tables, and what to think of before. Changes nothing."""
    with told():
        return [Matter(*row) for row in ask(connection, PLAN)]


def replicate_all(connection: Any, *counters: str, leave: Iterable[str] = ()) -> int:
    """Replicates all tables but those to leave, all or nothing, and returns their number; counters are columns, "products.stock". A
    table whose declaration must be changed first is an error: adopt() changes it."""
    given = [*counters, *(f"leave={table}" for table in leave)]
    with told():
        return int(ask(connection, f"SELECT counter_replicate_all({', '.join('?' * len(given))})", *given)[0][0])


def adopt(path: str, counters: Iterable[str] = (), leave: Iterable[str] = (), dry_run: bool = False) -> List[Adopted]:
    """Replicates all tables of a file, all or nothing, as the command `sqlite-counter adopt`: it writes AUTOINCREMENT and keys into
    declarations where they are needed. With dry_run it takes all of it back."""
    words = [f"--counter={counter}" for counter in listed("counters", counters)] + [f"--leave={table}" for table in listed("leave", leave)]
    words += ["--dry-run"] if dry_run else []
    return [Adopted(**line) for line in run_program("adopt", words, [path])]
