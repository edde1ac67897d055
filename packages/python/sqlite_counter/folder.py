"""folder.py - syncs a file with others through a folder that all of them see, as docs/batches.md specifies.

Each file writes its own changes into a subfolder of its own, and reads those of the others: so no service that copies the
folder between machines ever sees a conflict.
"""
from __future__ import annotations

import errno
import itertools
import os
import re
import time
from contextlib import closing
from typing import Any, Iterable, Iterator, List, Optional, Tuple

from .batches import NOTHING, Line, Scope, mark, need_tables, read_lines, scope_text, settle, source_of, take_lines
from .database import SyncError, ask, is_refusal, plain, told, transaction
from .files import (TEMPORARY, Bad, File, Folder, chain_of, fetch, is_folder, is_name, lines_of, list_files, next_files, publish,
                    write_lines)
from .results import Synced, count_apart, forget_warnings, need_no_transaction, tell_warnings

SOURCE = re.compile(r"([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})(?:-(?!0{16})([0-9a-f]{16}))?")
DAY = 86400

DAMAGED = "it may still be arriving; if it stays so, delete it where it was written, and sync there: then it is written anew"


# ---- what this file gives ----

def written(folder: Folder, news: Iterable[Line]) -> Tuple[str, int, int]:
    """A file with what is new, not published yet: its name, its end, the number of its changes."""
    upto = gave = 0

    def lines() -> Iterator[bytes]:
        nonlocal upto, gave
        for line in news:
            upto, gave = line.upto, gave + line.changes
            yield line.text.encode()

    return write_lines(folder, lines()), upto, gave


def taken_in(chain: List[File], size: int) -> List[File]:
    """The last files that the next one replaces: as long as each is not larger than all behind it."""
    replaced: List[File] = []
    while len(replaced) < len(chain) and chain[-1 - len(replaced)].size <= size:
        replaced.append(chain[-1 - len(replaced)])
        size += replaced[-1].size
    return replaced


def tidy(folder: Folder) -> None:
    """What a sync that was killed has left, a day ago or longer: another one of this file may be at work."""
    for name in folder.names():
        if name.startswith(TEMPORARY) and folder.stat(name).st_mtime < time.time() - DAY:
            folder.remove(name)


def give_into(connection: Any, folder: Folder, files: List[File], since: int, news: Iterable[Line]) -> int:
    name, upto, gave = written(folder, news)
    replaced = taken_in(chain_of(files), folder.stat(name).st_size)
    if replaced:
        since = replaced[-1].since
        folder.remove(name)
        with closing(read_lines(connection, since, own=True)) as all_of_them:
            name, upto, _ = written(folder, all_of_them)
    publish(folder, name, since, upto)
    for file in files:
        if since <= file.since and file.upto <= upto and (file.since, file.upto) != (since, upto):
            folder.remove(file.name)
    tidy(folder)
    return gave


def files_in(path: str) -> List[File]:
    try:
        with Folder(path) as folder:
            return list_files(folder).files
    except FileNotFoundError:
        return []


def make_folder(path: str) -> None:
    try:
        os.mkdir(path)
    except FileExistsError:
        pass


def give(connection: Any, path: str) -> int:
    """Writes what is new since the end of what stands in the folder. Returns how many changes that were."""
    files = files_in(path)
    chain = chain_of(files)
    since = chain[-1].upto if chain else 0
    [(end,)] = ask(connection, "SELECT counter_changes_end()")
    if since > end:
        raise SyncError(f"{path} has changes of this file below {since}, and the file has none from {end} on: it was replaced by an "
                        "older copy. SELECT counter_fork() gives it an id of its own, and its next sync a folder of its own")
    with closing(read_lines(connection, since, own=True)) as news:
        first = next(news, None)
        if first is None:
            return 0
        make_folder(path)
        with Folder(path) as folder:
            return give_into(connection, folder, files, since, itertools.chain([first], news))


# ---- what it takes ----

class Reader:
    """Reads the folders of others; what is wrong with one of them becomes a warning."""

    def __init__(self, connection: Any, scope: Optional[str]) -> None:
        self.connection, self.scope = connection, scope
        self.took = 0
        self.warnings: List[str] = []

    def take(self, folder: Folder, file: File, source: str) -> None:
        with fetch(folder, file.name) as copy, transaction(self.connection, NOTHING):
            taken = take_lines(self.connection, lines_of(copy), self.scope, source)
            if taken.marks.get(source, 0) < file.upto:
                raise Bad("it does not bring what its name says")
        self.took += taken.changes

    def take_first(self, folder: Folder, files: List[File], source: str) -> bool:
        """The first one that is whole; false if none is."""
        for file in files:
            try:
                self.take(folder, file, source)
                return True
            except FileNotFoundError:
                return True  # it was put together with others: look again
            except SyncError as error:
                path = folder.path_of(file.name)
                if error.__cause__ and not is_refusal(error.__cause__):
                    raise SyncError(f"{path}: {error}") from error.__cause__
                self.warnings.append(f"{path}: {error}" + (f"; {DAMAGED}" if isinstance(error, Bad) else ""))
        return False

    def take_source(self, folder: Folder, source: str) -> None:
        missed = 0
        while missed < 3:
            listing = list_files(folder)
            before = mark(self.connection, source, self.scope)
            following = next_files(listing.files, before)
            if not following or not self.take_first(folder, following, source):
                break
            missed = 0 if mark(self.connection, source, self.scope) > before else missed + 1
        self.warnings += [f"{folder.path_of(name)}: no sync writes {'a file of this name' if not is_name(name) else 'links or devices'}"
                          ": it was left alone" for name in listing.strangers]

    def take_all(self, directory: str, own: str) -> None:
        for name in sorted(os.listdir(directory)):
            path, found = os.path.join(directory, name), SOURCE.fullmatch(name)
            if name == own or name.startswith("."):
                continue
            try:
                if not found or not is_folder(path):
                    self.warnings.append(f"{path}: no sync writes here by this name: it was left alone")
                    continue
                with Folder(path) as folder:
                    self.take_source(folder, f"{found[1]}/{found[2]} own" if found[2] else f"{found[1]} own")
            except OSError as error:
                self.warnings.append(f"{path}: {error.strerror or error}")


def own_folder(connection: Any) -> str:
    """The name of the source with - in place of /."""
    settle(connection)
    return source_of(connection).replace("/", "-")


def check_folder(directory: str) -> None:
    if not os.path.isdir(directory):
        raise SyncError(f"{directory}: there is no such folder: make it, once, or mount what it is on")
    try:
        is_of_one = any(map(is_name, os.listdir(directory)))
    except OSError as error:
        raise SyncError(f"{directory}: {error.strerror or error}: sync again when it can be read") from error
    if is_of_one:  # this file would write its folder into that of a source
        raise SyncError(f"{directory}: it is the folder of one source: give the folder that it is in")


def give_if_possible(connection: Any, path: str) -> Tuple[int, Optional[SyncError]]:
    """How many changes it gave; why it could give none: what others have given can be taken all the same."""
    try:
        return give(connection, path), None
    except OSError as error:
        at = str(error.filename or path)
        why = f"{at if os.path.dirname(at) else os.path.join(path, at)}: {error.strerror or error}"  # a name alone is one in the folder
        if os.path.islink(path):
            why = f"{path}: it is a link, and a sync writes where no link leads: remove it"
        elif error.errno == errno.ENOTDIR:
            why = f"{path}: {os.strerror(errno.EEXIST)}"
        failed = SyncError(f"{why}: what this file has changed is not written yet; sync again when it can be")
        failed.__cause__ = error
        return 0, failed


def may_write(path: str) -> bool:
    return os.access(path if os.path.isdir(path) else os.path.dirname(path), os.W_OK)


def sync_folder(connection: Any, directory: Any, scope: Scope = None) -> Synced:
    """Writes what this file has changed into a folder that other machines see, and takes what is new there of the others; only
    rows of `scope`, if there is one. To be called outside of a transaction. The folder must be there: make it once, empty.
    Where it cannot be written, what is there is taken, and it is an error only if this file had something to give."""
    need_no_transaction(connection)
    directory = os.fspath(directory)
    with told():
        need_tables(connection)
        forget_warnings(connection)
        reader = Reader(connection, scope_text(scope))
        check_folder(directory)
        own = own_folder(connection)
        path = os.path.join(directory, own)
        gave, failed = give_if_possible(connection, path)
        try:
            reader.take_all(directory, own)
        except OSError as error:
            raise SyncError(f"{error.filename or directory}: {error.strerror or error}: sync again when it can be read") from error
        if failed:
            raise failed
        notes = () if gave or may_write(path) else (f"{directory}: it can only be read, and this file has nothing new to give",)
        apart = count_apart(connection)
        return Synced(gave, reader.took, 0, list(map(plain, reader.warnings)) + tell_warnings(connection), apart, notes)
