"""sqlite_counter - finds the library of sqlite-counter that came with this package, and loads it into a connection; lets
files exchange their changes, through a folder, a server or any other transport of lines of JSON."""
import os
import platform
import typing

from .batches import Applied, apply, changes, mark
from .database import SyncError, loading, no_connection
from .folder import sync_folder
from .results import Synced
from .tokens import Device, add_token, remove_token, tokens

if typing.TYPE_CHECKING:
    from .http import sync_http

__all__ = ["loadable_path", "load", "changes", "apply", "mark", "sync_folder", "sync_http", "add_token", "remove_token", "tokens",
           "Applied", "Device", "SyncError", "Synced"]
__version__ = "@VERSION@"


def __getattr__(name: str):
    """What a program that only counts needs not wait for: to import urllib takes longer than all else here."""
    if name == "sync_http":
        from .http import sync_http
        return sync_http
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def loadable_path() -> str:
    """The path of the library, to be given to load_extension()."""
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "counter.dll" if os.name == "nt" else "counter.so")
    if not os.path.exists(path):
        raise FileNotFoundError(
            f"sqlite_counter: {path} is missing; install the wheel for {platform.system()} on {platform.machine()} again or, if there "
            "is none, build the library from source and give its path to load_extension()")
    return path


def load(connection) -> None:
    """Loads sqlite-counter into a connection of sqlite3 or apsw. Loading extensions, which SQL may do while it is
    enabled, is disabled afterwards."""
    enable, load_extension = loading(connection)
    if not enable or not load_extension:
        if any(kind.__module__ == "sqlite3" and kind.__name__ == "Connection" for kind in type(connection).__mro__):
            raise RuntimeError(
                "sqlite_counter: the sqlite3 module of this Python was built without loading of extensions; use a Python that "
                "has it, such as Homebrew's, conda's or Debian's, or the package apsw")
        raise no_connection(connection, "load() takes")
    path = loadable_path()
    enable(True)
    try:
        load_extension(path)
    finally:
        enable(False)
