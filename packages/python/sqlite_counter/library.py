"""library.py - finds the library that came with this package, and loads it into a connection."""
import os
import platform

from .database import ask, loading, no_connection


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


def allow_folders(connection) -> None:
    """Gives a connection the right to use directories, which SQL cannot give. SQL names the entry point, because sqlite3 does so only
    since Python 3.12."""
    enable, _ = loading(connection)
    enable(True)
    try:
        ask(connection, "SELECT load_extension(?, 'sqlite3_counter_folders_init')", loadable_path())
    finally:
        enable(False)
