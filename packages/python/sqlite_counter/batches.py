"""batches.py - changes as lines of JSON, which the extension makes and takes: docs/batches.md. Nothing here looks into one."""
from __future__ import annotations

import json
from typing import Any, Callable, Dict, Iterable, Iterator, List, NamedTuple, Optional, Tuple, TypeVar, Union

from .database import SyncError, ask, open_cursor, text, told, transaction

NOTHING = ": nothing was taken in"
ENOUGH_BYTES = 4 * 2**20  # of what is sent or taken in at once

T = TypeVar("T")


class Applied(NamedTuple):
    """What was taken in: the number of changes, and the mark of each source, the number from which to ask for more."""
    changes: int
    marks: Dict[str, int]


Scope = Union[str, List[Any], None]  # '["store 7"]' or ["store 7"]


def blob_of(value: Any) -> Any:
    """As counter_key_json() writes it."""
    if isinstance(value, bytes):
        return {"hex": value.hex()}
    raise TypeError(f"sqlite_counter: a scope has the values of a key, not {value!r}")


def scope_text(scope: Scope) -> Optional[str]:
    """JSON, for the extension to check."""
    return scope if scope is None or isinstance(scope, str) else json.dumps(scope, ensure_ascii=False, default=blob_of)


def need_tables(connection: Any) -> None:
    if not ask(connection, "SELECT 1 FROM sqlite_master WHERE name = 'counter_tables'"):
        raise SyncError("there are no counter tables in this file: create those of the other files, or call counter_replicate() or "
                        "counter_track() for its tables")


def settle(connection: Any) -> None:
    """Gives the file the id that it will count under: a copy takes its own one now."""
    need_tables(connection)
    ask(connection, "SELECT counter_settle()")


class Line(NamedTuple):
    """What it brings: all changes from the number `since` on and below `upto`, and how many these are."""
    text: str
    since: int
    upto: int
    changes: int


def read_lines(connection: Any, since: int, own: bool = False, scope: Optional[str] = None, least: int = 1,
               left_out: Tuple[Optional[str], int] = (None, 0)) -> Iterator[Line]:
    """Lines of `least` changes or more, without what a source, the first of `left_out`, has brought up to its mark. A line without
    changes stands alone, and raises the mark of whoever takes it."""
    need_tables(connection)
    cursor = open_cursor(connection)
    try:
        of, mine = left_out if left_out[1] else (None, None)
        for line, *numbers in cursor.execute("SELECT line, since, upto, changes FROM counter_lines(?, ?, ?, ?, ?) WHERE changes >= ?",
                                             (since, int(own), scope, of, mine, least)):
            yield Line(text(line), *numbers)
    finally:
        cursor.close()


def gathered(lines: Iterable[T], size_of: Callable[[T], int]) -> Iterator[List[T]]:
    """As many lines as are sent or taken in at once, one at least."""
    held: List[T] = []
    size = 0
    for line in lines:
        if held and size + size_of(line) > ENOUGH_BYTES:
            yield held
            held, size = [], 0
        held.append(line)
        size += size_of(line)
    if held:
        yield held


def take_lines(connection: Any, lines: Iterable[bytes], scope: Optional[str] = None, source: Optional[str] = None) -> Applied:
    """Takes in lines, all or none; those of `source` alone, if one is given. An empty line stands for each that was taken
    before, so that a sentence about one has its number."""
    before, changes, marks = 0, 0, {}  # type: int, int, Dict[str, int]
    with transaction(connection, NOTHING):
        for some in gathered(lines, len):
            body = b"\n" * before + b"\n".join(some)
            with told(NOTHING):
                [(answer,)] = ask(connection, "SELECT counter_take(?, ?, ?)", body, scope, source)
            taken = json.loads(answer)
            before = body.count(b"\n") + 1
            changes += taken["changes"]
            marks.update(taken["marks"])
    return Applied(changes, marks)


# ---- for users ----

def changes(connection: Any, since: int = 0, *, own: bool = False, scope: Scope = None) -> Iterator[str]:
    """The changes of a file from the number `since` on, as lines of JSON without line breaks; none if there are no changes.

    `own` gives only those that others cannot have from somebody else, for an upload; `scope`, such as ["store 7"], those of
    rows whose key begins with these values. Changes that were not committed are left out. `since` is 0 or what mark() returns in
    the file that takes them in."""
    with told():
        for line in read_lines(connection, since, own, scope_text(scope)):
            yield line.text


def apply(connection: Any, lines: Union[str, bytes, Iterable[Union[str, bytes]]], scope: Scope = None) -> Applied:
    """Takes in lines of changes(), of the command line or of another language, in one transaction or not at all: in a savepoint if
    one is open. They may come twice, late and in any order. With a `scope` other rows are passed over, and the mark is that of the
    source with this scope."""
    with told():
        need_tables(connection)
    if isinstance(lines, (str, bytes)):
        lines = [lines]
    all_bytes = (line if isinstance(line, bytes) else line.encode(errors="surrogatepass") for line in lines)
    return take_lines(connection, (line.rstrip(b"\n") for line in all_bytes), scope_text(scope))


def mark(connection: Any, source: str, scope: Scope = None) -> int:
    """The number from which to ask for changes of a source, a name as it stands in its batches; 0: for all. A name with a scope
    in it has its own mark, as has a name with `scope`."""
    with told():
        return ask(connection, "SELECT counter_mark(?, ?)", source, scope_text(scope))[0][0]
