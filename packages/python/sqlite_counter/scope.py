"""scope.py - which of the changes that others have written are of a scope."""
from __future__ import annotations

import json
import re
from typing import Any, Dict

from .database import SyncError, ask, is_database_error
from .parsing import Change


def loosely(value: Any) -> Any:
    """Equal for all values that an affinity of SQLite or one of its collations may call equal, and for some more."""
    if isinstance(value, str):
        try:
            return float(value)
        except ValueError:
            return value.rstrip(" ").lower()
    return float(value) if isinstance(value, (int, float)) else json.dumps(value)


class InScope:
    """Takes rather too much than too little: a row more does no harm."""

    def __init__(self, connection: Any, scope: str) -> None:
        self.connection, self.text = connection, scope
        self.values = [loosely(value) for value in json.loads(scope)]
        self.known: Dict[bytes, bool] = {}

    def has(self, change: Change) -> bool:
        """Those without the key of a row come with each scope, as do keys in collations of an application."""
        collations = set(re.findall(r" (\w+)(?:,|$)", change.key_columns or ""))
        if change.column is None or not change.key or not collations <= {"BINARY", "NOCASE", "RTRIM"}:
            return True
        if change.key not in self.known:
            self.known = {change.key: self.has_key(change.key)}
        return self.known[change.key]

    def has_key(self, key: bytes) -> bool:
        try:
            values = json.loads(ask(self.connection, "SELECT counter_key_json(?)", key)[0][0])
        except Exception as error:
            if not is_database_error(error):
                raise
            raise SyncError(f"a key is no key: {error}") from error
        return [loosely(value) for value in values[:len(self.values)]] == self.values
