"""connecting.py - the connection of sqlite3 behind an alias of Django."""
from django.db import connections

from ..database import SyncError


def sqlite_of(alias):
    found = connections[alias]
    if found.vendor != "sqlite":
        raise SyncError(f"the database {alias} is of {found.vendor}, and counters are of SQLite: name another alias")
    return found


def connection_of(alias):
    found = sqlite_of(alias)
    found.ensure_connection()
    return found.connection
