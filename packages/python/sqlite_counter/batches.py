"""batches.py - changes as lines of JSON: written, and taken in.

Each line is a batch, as docs/batches.md specifies it:

    {"format":1,"source":"… own","since":0,"upto":9,"changes":[{"table":"page_views", …}, …]}

What comes in is not trusted: each member is checked here, and only ever bound to a statement; the extension checks keys and
cells.
"""
from __future__ import annotations

import json
from typing import Any, Dict, Iterable, Iterator, List, NamedTuple, Optional, Union

from .database import SyncError, ask, is_database_error, open_cursor, text, told, transaction
from .parsing import NEWEST_FORMAT, Batch, Cell, Change, parse

NOTHING = ": nothing was taken in"
ENOUGH_CHANGES, ENOUGH_BYTES = 1000, 2**20  # of a line


class Applied(NamedTuple):
    """What was taken in: the number of changes, and the mark of each source, the number from which to ask for more."""
    changes: int
    marks: Dict[str, int]


# ---- who writes, and how far ----

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


def settle(connection: Any) -> str:
    """The id that the file will count under: a copy takes its own one now."""
    need_tables(connection)
    return text(ask(connection, "SELECT CAST(counter_settle() AS BLOB)")[0][0])


class End(NamedTuple):
    """The source of what a file gives, and the number below which all its changes are that have been committed."""
    source: str
    upto: int


def end_of_changes(connection: Any, own: bool = False, scope: Optional[str] = None) -> End:
    need_tables(connection)
    name, upto = ask(connection, "SELECT CAST(counter_source(?, ?) AS BLOB), counter_changes_end()", int(own), scope)[0]
    if name is None:  # the file has no id yet
        settle(connection)
        return end_of_changes(connection, own, scope)
    return End(text(name), upto)


# ---- writing ----

# Answers about openings come first, whatever their number: the rows may need them.
CHANGES = """\
SELECT CASE WHEN column_name IS NULL AND cell IS NOT NULL THEN 0 ELSE seq END, seq, upto, CAST(source AS BLOB),
       CAST(json_object(
         'table', table_name, 'key_columns', key_columns,
         'key', json(CASE WHEN length(key) > 0 THEN counter_key_json(key) END), 'packed', hex(key),
         'column', column_name, 'generation', generation,
         'cell', json(CASE WHEN coalesce(column_name, '') = '' THEN json_quote(nullif(hex(cell), ''))
                           ELSE counter_json(cell) END),
         'seq', seq) AS BLOB)
  FROM counter_changes(?) {where} ORDER BY 1"""


def line_of(source: str, since: int, upto: int, changes: List[str]) -> str:
    head = json.dumps({"format": NEWEST_FORMAT, "source": source, "since": since, "upto": upto}, ensure_ascii=False,
                      separators=(",", ":"))
    return f'{head[:-1]},"changes":[{",".join(changes)}]}}'


class Row(NamedTuple):
    """A change: a place in the order of numbers, its number, the mark of the whole, the source, the JSON."""
    place: int
    number: int
    upto: int
    source: bytes
    change: bytes


def read_rows(connection: Any, since: int, own: bool, scope: Optional[str]) -> Iterator[Row]:
    words = ["own = 1"] * own + ["scope = ?"] * (scope is not None)
    cursor = open_cursor(connection)
    try:
        where = f"WHERE {' AND '.join(words)}" if words else ""
        yield from map(Row._make, cursor.execute(CHANGES.format(where=where), [since] + [scope] * (scope is not None)))
    finally:
        cursor.close()


class Line(NamedTuple):
    """A batch that was written: its text, where it ends, its changes, and the highest number of these; 0 if what it brings comes
    every time."""
    text: str
    upto: int
    changes: int
    newest: int


class Writer:
    """Holds the changes of the next line."""

    def __init__(self, since: int) -> None:
        self.since = since
        self.rows: List[Row] = []
        self.size = self.whole = 0  # the bytes of all; how many of them are of numbers that have ended

    def is_full(self, row: Row) -> bool:
        return len(self.rows) >= ENOUGH_CHANGES or (self.size + len(row.change) > ENOUGH_BYTES and bool(self.rows))

    def add(self, row: Row) -> None:
        self.rows.append(row)
        self.size += len(row.change)

    def line(self, n: int, upto: int) -> Line:
        """One of the first n changes."""
        rows, self.rows = self.rows[:n], self.rows[n:]
        made = Line(line_of(text(rows[0].source), self.since, upto, [text(row.change) for row in rows]), upto,
                    len(rows), max(row.number for row in rows))
        self.since, self.whole, self.size = upto, 0, sum(len(row.change) for row in self.rows)
        return made


def read_lines(connection: Any, since: int, own: bool = False, scope: Optional[str] = None) -> Iterator[Line]:
    """A line ends where a number ends, and `upto` of one is `since` of the next. Where the changes of one number do not fit, all
    lines but its last one end where they begin: so a mark rises past no line that has not arrived."""
    writer = None
    for row in read_rows(connection, since, own, scope):
        writer = writer or Writer(since)
        if writer.rows and writer.rows[-1].place != row.place:
            writer.whole = len(writer.rows)
        if writer.is_full(row):
            next_place = (writer.rows + [row])[writer.whole].place
            yield writer.line(writer.whole or len(writer.rows), max(writer.since, next_place) if writer.whole else writer.since)
        writer.add(row)
    if writer:
        yield writer.line(len(writer.rows), max(writer.since, writer.rows[-1].upto))  # since may lie beyond the end


def read_news(connection: Any, since: int, own: bool) -> Iterator[Line]:
    """No line if all that it brings comes every time."""
    held: List[Line] = []
    for line in read_lines(connection, since, own):
        held.append(line)
        if line.newest >= since:
            yield from held
            held = []


def changes(connection: Any, since: int = 0, *, own: bool = False, scope: Scope = None) -> Iterator[str]:
    """The changes of a file from the number `since` on, as lines of JSON without line breaks; none if there are no changes.

    `own` gives only those that others cannot have from somebody else, for an upload; `scope`, such as ["store 7"], those of
    rows whose key begins with these values. Changes that were not committed are left out. `since` is 0 or what mark() returns in
    the file that takes them in."""
    with told():
        end = end_of_changes(connection).upto if since else 0
        if since > end:
            raise SyncError(f"{since} is not a mark of this file, whose changes end before {end}")
        for line in read_lines(connection, since, own, scope_text(scope)):
            yield line.text


# ---- taking in ----

COLUMNS = "INSERT INTO counter_changes(table_name, key, column_name, generation, seq, key_columns, source, scope, device, cell)"
INSERT_BYTES = f"{COLUMNS} VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
# A cell is collected from its shards; the row without an id brings its life, which is all that a deleted one has.
COLLECT = """\
SELECT counter_collect(id, clock, value, life)
  FROM (SELECT json_extract(value, '$.id') AS id, json_extract(value, '$.clock') AS clock,
               json_extract(value, '$.value') AS value
          FROM json_each(?)
        UNION ALL SELECT NULL, NULL, NULL),
       (SELECT ? AS life)"""
INSERT_CELL = f"{COLUMNS} VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ({COLLECT}))"


def why_refused(connection: Any, change: Change, error: Exception) -> str:
    """A change that was refused may be for a table that is not there."""
    if ask(connection, "SELECT 1 FROM counter_tables WHERE birth = ?", change.table):
        return str(error)
    name, column = (json.dumps(word, ensure_ascii=False) for word in (change.table, change.column or "COLUMN"))
    return (f"there is no counter table {name} here: create it as it is at the source; if it is a replicated or a tracked table there, "
            f"create the ordinary table, then call counter_replicate or counter_track for it and its counter {column}")


class Taking:
    """A transaction that takes in batches, or what of them is in a scope; those of a device that has a token do not set what the
    file itself has counted."""

    def __init__(self, connection: Any, scope: Optional[str] = None, device: Optional[str] = None) -> None:
        self.connection, self.cursor, self.scope, self.device = connection, open_cursor(connection), scope, device
        self.changes, self.marks = 0, {}  # type: int, Dict[str, int]

    def insert(self, source: str, change: Change) -> None:
        values = (change.table, change.key, change.column, change.generation, change.seq, change.key_columns, source, self.scope,
                  self.device)
        if isinstance(change.cell, Cell):
            self.cursor.execute(INSERT_CELL, (*values, *change.cell.collected()))
        else:
            self.cursor.execute(INSERT_BYTES, (*values, change.cell))

    def take(self, batch: Batch) -> None:
        for number, change in enumerate(batch.changes, 1):
            try:
                self.insert(batch.source, change)
            except Exception as error:
                if not is_database_error(error):
                    raise
                raise SyncError(f"change {number}: {why_refused(self.connection, change, error)}") from error
        self.changes += len(batch.changes)

    def raise_mark(self, batch: Batch) -> None:
        with told():
            self.marks[batch.source] = ask(
                self.connection, "SELECT counter_seen(?, ?, ?, ?)", batch.source, batch.since, batch.upto, self.scope)[0][0]


def take_lines(taking: Taking, lines: Iterable[Union[str, bytes]], prepare: Any = lambda batch: batch) -> None:
    """Within a transaction. `prepare` may leave out some of a batch."""
    for number, line in enumerate(lines, 1):
        try:
            batch = parse(line)
            if batch:
                batch = prepare(batch)
                taking.take(batch)
                taking.raise_mark(batch)
        except SyncError as error:
            raise type(error)(f"line {number}: {error}{NOTHING}") from error.__cause__


def apply(connection: Any, lines: Union[str, bytes, Iterable[Union[str, bytes]]], scope: Scope = None) -> Applied:
    """Takes in lines of changes(), of the command line or of another language, in one transaction or not at all: in a savepoint if
    one is open. They may come twice, late and in any order. With a `scope` other rows are passed over, and the mark is that of the
    source with this scope."""
    with told():
        need_tables(connection)
    if isinstance(lines, (str, bytes)):
        lines = lines.split("\n" if isinstance(lines, str) else b"\n")  # type: ignore[arg-type]
    with transaction(connection, NOTHING):
        taking = Taking(connection, scope_text(scope))
        take_lines(taking, lines)
    return Applied(taking.changes, taking.marks)


def mark(connection: Any, source: str, scope: Scope = None) -> int:
    """The number from which to ask for changes of a source, a name as it stands in its batches; 0: for all. A name with a scope
    in it has its own mark, as has a name with `scope`."""
    with told():
        return ask(connection, "SELECT counter_mark(?, ?)", source, scope_text(scope))[0][0]
