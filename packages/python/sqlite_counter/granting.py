"""granting.py - bounded counters, which never go below 0 in all files together: who may take how many, and giving some to another file."""
from __future__ import annotations

import json
from typing import Any, List, NamedTuple, Optional, Tuple

from .database import SyncError, ask, text, told, transaction

COUNTERS = """
SELECT name FROM counter_tables AS t
 WHERE name = ?1 COLLATE NOCASE
    OR EXISTS (SELECT 1 FROM sqlite_master
                WHERE type = 'trigger' AND tbl_name = ?1 COLLATE NOCASE AND name = t.name || '_insert')"""
BOUNDED = """
SELECT name FROM counter_state
 WHERE tab = (SELECT number FROM counter_tables WHERE name = ?1) AND kind = 'counter' AND rows = 1 AND value % 2 = 1"""
KEYS = """
SELECT c.name FROM pragma_table_info(?1) AS c
  LEFT JOIN (SELECT i.name, i.seqno FROM pragma_index_list(?1 || '_cells') AS l, pragma_index_info(l.name) AS i
              WHERE l."unique") AS k ON k.name = c.name
 WHERE c."notnull" ORDER BY k.seqno"""
RIGHTS = "SELECT key, column_name, id, rights, here FROM counter_rights(?)"


class Right(NamedTuple):
    """What a file, named by its id, may take of a counter of a row; below 0: it owes. As far as this file has heard."""
    key: Tuple[Any, ...]
    column: str
    id: str
    rights: int
    here: bool


def rights(connection: Any, table: str) -> List[Right]:
    """Who may take how many of the bounded counters of a table."""
    with told():
        return [Right(_key(text(key)), text(column), text(id), int(n), bool(here))
                for key, column, id, n, here in ask(connection, RIGHTS, table)]


def grant(connection: Any, table: str, key: Any, to: Any, n: int, column: Optional[str] = None) -> None:
    """Lets another file take n more of a bounded counter, and this file so much less. `key` is a value, or a list of them; `to` is the id of
    the other file, or a connection to it; `column` is needed if several counters of the table are bounded."""
    with told():
        if hasattr(to, "cursor"):
            to = text(ask(to, "SELECT counter_settle()")[0][0])
        with transaction(connection):
            counters = _one(ask(connection, COUNTERS, table), f"there is no tracked table or counter table '{table}'")
            column = column or _one(ask(connection, BOUNDED, counters), f"table {table} has no bounded counter", "column says which")
            names = [text(name) for name, in ask(connection, KEYS, counters)]
            values = list(key) if isinstance(key, (list, tuple)) else [key]
            if len(values) != len(names):
                raise SyncError(f"the key of table {table} is ({', '.join(names)}), not {len(values)} value{'s' * (len(values) != 1)}")
            listed = ", ".join(map(_quoted, [counters, column, *names]))
            ask(connection, f"INSERT INTO main.{_quoted(counters)}({listed}) VALUES ('grant ' || ?, {', '.join('?' * (1 + len(values)))})",
                str(to), n, *values)


def _one(found: List[Tuple[Any, ...]], missing: str, many: str = "") -> str:
    if not found:
        raise SyncError(missing)
    if len(found) > 1:
        raise SyncError(f"several counters are bounded, {', '.join(text(name) for name, in found)}: {many}")
    return text(found[0][0])


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _key(shown: str) -> Tuple[Any, ...]:
    return tuple(bytes.fromhex(value["hex"]) if isinstance(value, dict) and "hex" in value else value for value in json.loads(shown))
