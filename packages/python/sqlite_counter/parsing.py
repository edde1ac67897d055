"""parsing.py - a line of JSON becomes a batch whose members have the right types, or a sentence."""
from __future__ import annotations

import json
import re
from typing import Any, Dict, List, NamedTuple, Optional, Union

from .database import SyncError

NEWEST_FORMAT = 1
LARGEST = 2**63 - 1
MOST_VALUES, LEAST_BYTES = 2**20, 16  # of JSON in a text; one for each 16 bytes of a larger one
STRING = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*(?:"|\\?\Z)', re.DOTALL)
UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


class Cell(NamedTuple):
    """A counter of a row: its life, and the amounts of each file that counted, with the keys id, clock and value."""
    life: int
    shards: List[Dict[str, Any]]

    def collected(self) -> tuple[str, int]:
        return json.dumps(self.shards), self.life


class Change(NamedTuple):
    table: str
    key: bytes
    column: Optional[str]
    generation: int
    cell: Union[Cell, bytes, None]
    seq: int
    key_columns: Optional[str]


class Batch(NamedTuple):
    source: str
    since: int
    upto: int
    changes: List[Change]


class TooMuch(SyncError):
    """More than is taken in at once, whatever it says."""


# ---- before it is parsed ----

def marks_of_values(text: bytes) -> int:
    """Each value of JSON follows one of these characters, but for the first."""
    return sum(map(text.count, (b",", b"[", b"{")))


def check_values(text: bytes, most: int = MOST_VALUES) -> None:
    """A few bytes of JSON may be a hundred times as many in memory: two for an empty object. The lines of a batch have some ten
    bytes for each value, and a counter that thousands have counted more than 16."""
    most = max(most, len(text) // LEAST_BYTES)
    if len(text) > most and marks_of_values(text) > most and marks_of_values(STRING.sub(b"", text)) > most:
        raise TooMuch(f"it has more than {most} values of JSON")


# ---- numbers and words ----

def integer_of(digits: str) -> int:
    """Longer ones are no numbers of SQLite, and take long to read."""
    if len(digits) > 20:
        raise ValueError("a number is too large")
    return int(digits)


def refuse_constant(word: str) -> None:
    raise ValueError(f"{word} is no number")


DECODER = json.JSONDecoder(parse_int=integer_of, parse_constant=refuse_constant)


def shown(value: Any) -> str:
    words = json.dumps(value, ensure_ascii=True)
    return words if len(words) <= 80 else words[:80] + "…"


def wrong(name: str, wanted: str, value: Any) -> SyncError:
    return SyncError(f"{name} must be {wanted}, not {shown(value)}")


def whole_number(of: Dict[str, Any], name: str, least: int = 0) -> int:
    value = of.get(name)
    if type(value) is not int or not least <= value <= LARGEST:
        raise wrong(name, "a whole number" + ("" if least else ", 0 or more"), value)
    return value


def words(of: Dict[str, Any], name: str, optional: bool = False) -> Any:
    value = of.get(name)
    if value is None and optional:
        return None
    if not isinstance(value, str):
        raise wrong(name, "a text", value)
    try:
        value.encode()
    except UnicodeEncodeError:
        raise wrong(name, "a text in Unicode", value) from None
    return value


def hexadecimal(value: Any, name: str) -> bytes:
    if not isinstance(value, str) or not re.fullmatch("(?:[0-9A-Fa-f]{2})*", value):
        raise wrong(name, "hexadecimal", value)
    return bytes.fromhex(value)


def uuid(value: Any, name: str) -> str:
    """In the one spelling that ids are compared in."""
    found = value.lower() if isinstance(value, str) else ""
    if not UUID.fullmatch(found):
        raise wrong(name, "a UUID", value)
    return found


# ---- batches ----

def shard_of(given: Any) -> Dict[str, Any]:
    if not isinstance(given, dict):
        raise wrong("a shard", "an object", given)
    return {"id": uuid(given.get("id"), "the id of a shard"), "clock": whole_number(given, "clock", -LARGEST - 1),
            "value": whole_number(given, "value", -LARGEST - 1)}


def cell_of(given: Dict[str, Any]) -> Union[Cell, bytes, None]:
    """The bytes of a counter would carry shards that nobody has looked at."""
    cell = given.get("cell")
    if cell is None:
        return None
    if not given.get("column"):
        return hexadecimal(cell, "cell")
    if not isinstance(cell, dict) or not isinstance(cell.get("shards", []), list):
        raise wrong("the cell of a counter", "an object with its life and shards", cell)
    return Cell(whole_number(cell, "life"), [shard_of(shard) for shard in cell.get("shards", [])])


def change_of(given: Any) -> Change:
    if not isinstance(given, dict):
        raise SyncError(f"it is no object, but {shown(given)}")
    return Change(words(given, "table"), hexadecimal(given.get("packed"), "packed"), words(given, "column", True),
                  whole_number(given, "generation"), cell_of(given), whole_number(given, "seq"), words(given, "key_columns", True))


def check_format(given: Dict[str, Any]) -> None:
    found = given.get("format", 1)
    if type(found) is not int or found < 1:
        raise SyncError("its format must be a whole number from 1 on")
    if found > NEWEST_FORMAT:
        raise SyncError(f"it is of format {found}, this sqlite-counter knows {NEWEST_FORMAT}: install a newer one")


def decoded(line: Union[str, bytes]) -> Any:
    try:
        return DECODER.decode((line if isinstance(line, str) else line.decode()).strip(" \t\r\n"))
    except (ValueError, RecursionError):
        raise SyncError("it is not JSON, or was cut short") from None


def parse(line: Union[str, bytes]) -> Optional[Batch]:
    """None for a blank line."""
    if not isinstance(line, (str, bytes)):
        raise TypeError(f"sqlite_counter: a line is str or bytes, not {type(line).__name__}")
    if not line.strip():
        return None
    check_values(line if isinstance(line, bytes) else line.encode(errors="surrogatepass"))
    given = decoded(line)
    if isinstance(given, dict):
        check_format(given)
    if not isinstance(given, dict) or not isinstance(given.get("changes"), list):
        raise SyncError("it is not a batch, which has source, since, upto and changes")
    changes = []
    for number, change in enumerate(given["changes"], 1):
        try:
            changes.append(change_of(change))
        except SyncError as error:
            raise SyncError(f"change {number}: {error}") from None
    return Batch(words(given, "source"), whole_number(given, "since"), whole_number(given, "upto"), changes)
