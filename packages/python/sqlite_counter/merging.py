"""merging.py - two descendants of a file that nobody prepared become one, by the program; docs/merge.md has the rules."""
from __future__ import annotations

from typing import Any, Dict, Iterable, List, NamedTuple, Optional, Tuple, Union

from .database import SyncError
from .program import listed, run_program


class MergedTable(NamedTuple):
    """How many rows theirs brought; how many new rows both had, equal or joined by their UNIQUE values; numbers that moved, (17, 21)."""
    table: str
    inserted: int
    updated: int
    deleted: int
    same: int
    joined: int
    renumbered: List[Tuple[int, int]]


class Conflict(NamedTuple):
    """What was not merged by itself. Of a column base, ours and theirs are its values; else they are whole rows, dicts. `taken` is the
    side that stays: `ours`, `theirs`, `both`, `none`."""
    kind: str
    table: str
    key: Optional[List[Any]]
    column: Optional[str]
    base: Any
    ours: Any
    theirs: Any
    taken: str
    note: Optional[str]


class Merged(NamedTuple):
    tables: List[MergedTable]
    conflicts: List[Conflict]
    notes: List[str]


class QuestionError(SyncError):
    """What a merge must be told first; nothing was done. Each question names its two answers: `--ref note_tag.tag_id=tag or --no-ref
    note_tag.tag_id`."""

    def __init__(self, questions: List[str]) -> None:
        super().__init__("merge asks before it does anything: " + "; ".join(questions))
        self.questions = questions


def merge(base: Any, ours: Any, theirs: Any, *, add: Iterable[str] = (), ref: Iterable[str] = (), no_ref: Iterable[str] = (),
          assigned: Iterable[str] = (), theirs_wins: Union[bool, Iterable[str]] = False, copies: bool = False, unrelated: bool = False,
          base_is_fork: bool = False, conflict_table: bool = False, output: Any = None, dry_run: bool = False) -> Merged:
    """Merges theirs into ours, paths of files, as the command `sqlite-counter merge`; with copies or unrelated base is None. Columns
    are "song.plays", references "tagged.song=song"; theirs_wins is True, or the tables of which it is."""
    named = {"add": add, "ref": ref, "no-ref": no_ref, "assigned": assigned, "theirs": [] if isinstance(theirs_wins, bool) else theirs_wins}
    switches = {"theirs": theirs_wins is True, "copies": copies, "unrelated": unrelated, "base-is-fork": base_is_fork,
                "conflict-table": conflict_table, "dry-run": dry_run}
    words = [f"--{name}={value}" for name, values in named.items() for value in listed(name, values)]
    words += [f"--{name}" for name, is_on in switches.items() if is_on]
    words += [] if output is None else [f"--output={output}"]
    lines = run_program("merge", words, [path for path in (base, ours, theirs) if path is not None])
    questions = [line["ask"] for line in lines if "ask" in line]
    if questions:
        raise QuestionError(questions)
    return Merged([table_of(line) for line in lines if "table" in line],
                  [conflict_of(line["conflict"]) for line in lines if "conflict" in line],
                  [line["note"] for line in lines if "note" in line])


def table_of(line: Dict[str, Any]) -> MergedTable:
    return MergedTable(**{**line, "renumbered": [(old, new) for old, new in line["renumbered"]]})


def conflict_of(line: Dict[str, Any]) -> Conflict:
    of_field = value_of if line["column"] is not None else row_of
    sides = {side: of_field(line[side]) for side in ("base", "ours", "theirs")}
    return Conflict(**{**line, **sides, "key": None if line["key"] is None else [value_of(value) for value in line["key"]]})


def row_of(row: Any) -> Any:
    return {name: value_of(value) for name, value in row.items()} if isinstance(row, dict) else row


def value_of(value: Any) -> Any:
    """JSON has no BLOBs."""
    return bytes.fromhex(value["hex"]) if isinstance(value, dict) else value
