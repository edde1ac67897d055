"""sqlite_counter - finds the library of sqlite-counter that came with this package, and loads it into a connection; lets
files exchange their changes, through a folder, a server or any other transport of lines of JSON; merges files that nobody prepared; grants what may be taken of bounded
counters."""
import typing

from .adopting import Adopted, Matter, adopt, plan, replicate_all
from .batches import Applied, apply, changes, mark
from .database import SyncError
from .folder import make_folder, sync_folder
from .granting import Right, grant, rights
from .library import load, loadable_path
from .merging import Conflict, Merged, MergedTable, QuestionError, merge
from .results import Synced
from .tokens import Device, add_token, remove_token, tokens

if typing.TYPE_CHECKING:
    from .http import sync_http

__all__ = ["loadable_path", "load", "changes", "apply", "mark", "make_folder", "sync_folder", "sync_http", "add_token", "remove_token",
           "tokens", "plan", "replicate_all", "adopt", "merge", "grant", "rights", "Adopted", "Applied", "Conflict", "Device",
           "Matter", "Merged", "MergedTable", "QuestionError", "Right", "SyncError", "Synced"]
__version__ = "@VERSION@"


def __getattr__(name: str):
    """What a program that only counts needs not wait for: to import urllib takes longer than all else here."""
    if name == "sync_http":
        from .http import sync_http
        return sync_http
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
