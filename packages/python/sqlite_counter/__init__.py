"""sqlite_counter - finds the library of sqlite-counter that came with this package, and loads it into a connection."""
import os
import platform

__all__ = ["loadable_path", "load"]


def loadable_path() -> str:
    """The path of the library, to be given to load_extension()."""
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "counter.dll" if os.name == "nt" else "counter.so")
    if not os.path.exists(path):
        raise FileNotFoundError(
            f"sqlite_counter: this installation has no library, for there is no wheel for {platform.system()} on "
            f"{platform.machine()} or it was installed without one; install a wheel, or build the library from source and "
            "give its path to load_extension()")
    return path


def load(connection) -> None:
    """Loads sqlite-counter into a connection of sqlite3 or apsw. Loading extensions, which SQL may do while it is
    enabled, is disabled afterwards."""
    enable = getattr(connection, "enable_load_extension", None) or getattr(connection, "enableloadextension", None)
    load_extension = getattr(connection, "load_extension", None) or getattr(connection, "loadextension", None)
    if not enable or not load_extension:
        if any(kind.__module__ == "sqlite3" for kind in type(connection).__mro__):
            raise RuntimeError(
                "sqlite_counter: the sqlite3 module of this Python was built without loading of extensions; use a Python that "
                "has it, such as Homebrew's, conda's or Debian's, or the package apsw")
        raise TypeError(f"sqlite_counter: load() takes a connection of sqlite3 or apsw, not {type(connection).__name__}")
    path = loadable_path()
    enable(True)
    try:
        load_extension(path)
    finally:
        enable(False)
