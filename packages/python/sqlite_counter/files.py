"""files.py - the files of one source in a folder: their names, their digest, the chain that they make.

    00000000000000000000-00000000000000000512.gz       batches from 0 on and below 512, then {"lines":…,"digest":"…"}
    00000000000000000512-00000000000000000519.gz
"""
from __future__ import annotations

import errno
import gzip
import hashlib
import json
import os
import re
import secrets
import stat
import tempfile
import uuid
import zlib
from typing import IO, Any, Iterable, Iterator, List, NamedTuple, Optional, Tuple

from .database import LARGEST, SyncError

NAME = re.compile(r"(\d{20})-(\d{20})\.gz", re.ASCII)
TEMPORARY = ".tmp-"
MOST_LINE = 2**26
KEPT_IN_MEMORY = 2**24


class File(NamedTuple):
    since: int
    upto: int
    name: str
    size: int


class Listing(NamedTuple):
    files: List[File]
    strangers: List[str]  # names of what has another name, or is no regular file; but for names that begin with a dot


def is_name(name: str) -> bool:
    found = NAME.fullmatch(name)
    return found is not None and int(found[1]) < int(found[2]) <= LARGEST


# ---- folders ----

IS_HELD = os.open in os.supports_dir_fd  # Windows holds no folders
NO_LINK = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)


class Folder:
    """A folder that is no link, held open: whoever puts a link in its place meanwhile leads nothing astray. Neither are links
    followed in it."""

    def __init__(self, path: str) -> None:
        self.path, self.at = path, None  # type: str, Optional[int]
        if IS_HELD:
            self.at = os.open(path, os.O_RDONLY | os.O_DIRECTORY | NO_LINK)
        elif not is_folder(path):
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), path)

    def __enter__(self) -> Folder:
        return self

    def __exit__(self, *_: Any) -> None:
        if self.at is not None:
            os.close(self.at)

    def path_of(self, name: str) -> str:
        return os.path.join(self.path, name)

    def reached(self, name: str) -> str:
        return name if IS_HELD else self.path_of(name)

    def names(self) -> List[str]:
        return sorted(os.listdir(self.path if self.at is None else self.at))

    def stat(self, name: str) -> os.stat_result:
        return os.stat(self.reached(name), dir_fd=self.at, follow_symlinks=False)

    def open(self, name: str, flags: int) -> int:
        return os.open(self.reached(name), flags | NO_LINK, 0o666, dir_fd=self.at)

    def rename(self, name: str, to: str) -> None:
        os.replace(self.reached(name), self.reached(to), src_dir_fd=self.at, dst_dir_fd=self.at)

    def remove(self, name: str) -> None:
        try:
            os.unlink(self.reached(name), dir_fd=self.at)
        except FileNotFoundError:
            pass

    def flush(self) -> None:
        if self.at is not None:
            os.fsync(self.at)


def is_folder(path: str) -> bool:
    """And no link to one."""
    return stat.S_ISDIR(os.lstat(path).st_mode) and not is_reparsed(path)


def is_reparsed(path: str) -> bool:
    """A junction of Windows is a folder for lstat()."""
    return bool(getattr(os.lstat(path), "st_file_attributes", 0) & getattr(stat, "FILE_ATTRIBUTE_REPARSE_POINT", 0))


def list_files(folder: Folder) -> Listing:
    files, strangers = [], []
    for name in folder.names():
        try:
            found = folder.stat(name)
        except FileNotFoundError:  # its writer has put it together with others meanwhile
            continue
        if is_name(name) and stat.S_ISREG(found.st_mode):
            files.append(File(int(name[:20]), int(name[21:41]), name, found.st_size))
        elif not name.startswith("."):
            strangers.append(name)
    return Listing(files, strangers)


def next_files(files: Iterable[File], mark: int) -> List[File]:
    """Those that lead on from a mark, the one that leads furthest first."""
    return sorted((file for file in files if file.since <= mark < file.upto), key=lambda file: -file.upto)


def chain_of(files: Iterable[File]) -> List[File]:
    """The files that a reader takes who begins at 0. One without bytes does not stand there."""
    chain: List[File] = []
    candidates = [file for file in files if file.size]
    while True:
        following = next_files(candidates, chain[-1].upto if chain else 0)
        if not following:
            return chain
        chain.append(following[0])


# ---- digests ----

class Digest:
    """Of lines without their line breaks: each is a UUID of version 5 in the name space of the one before."""

    def __init__(self) -> None:
        self.value, self.lines = uuid.UUID(int=0), 0

    def add(self, line: bytes) -> None:
        self.value = uuid.UUID(bytes=hashlib.sha1(self.value.bytes + line).digest()[:16], version=5)
        self.lines += 1

    def last_line(self) -> bytes:
        return b'{"lines":%d,"digest":"%s"}' % (self.lines, str(self.value).encode())

    def is_right(self, line: bytes) -> bool:
        try:
            said = json.loads(line)
            return isinstance(said, dict) and said.get("lines") == self.lines and said.get("digest") == str(self.value)
        except (ValueError, RecursionError):
            return False


# ---- writing ----

def flush_to_disk(file: IO[bytes]) -> None:
    file.flush()
    os.fsync(file.fileno())


def write_lines(folder: Folder, lines: Iterable[bytes]) -> str:
    """Writes a file below a name that nobody reads, and returns the name; the caller renames or removes it."""
    name = TEMPORARY + secrets.token_hex(8)
    try:
        with os.fdopen(folder.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL), "wb") as file:
            digest = Digest()
            with gzip.GzipFile("", "wb", 6, file, mtime=0) as out:
                for line in lines:
                    digest.add(line)
                    out.write(line + b"\n")
                out.write(digest.last_line() + b"\n")
            flush_to_disk(file)
    except BaseException:
        folder.remove(name)
        raise
    return name


def publish(folder: Folder, name: str, since: int, upto: int) -> None:
    folder.rename(name, f"{since:020}-{upto:020}.gz")
    folder.flush()


# ---- reading ----

class Bad(SyncError):
    """A file that is not whole, or not what its name says."""


def fetch(folder: Folder, name: str) -> IO[bytes]:
    """A copy that nobody changes while it is taken in; a slow folder locks nobody out. A pipe or a device, which may never end,
    is no file; to open one does not wait."""
    copy = tempfile.SpooledTemporaryFile(KEPT_IN_MEMORY)
    try:
        with os.fdopen(folder.open(name, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)), "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise Bad("it is no regular file")
            while True:
                part = file.read(2**20)
                if not part:
                    break
                copy.write(part)
        copy.seek(0)
    except BaseException:
        copy.close()
        raise
    return copy  # type: ignore[return-value]


def lines_of(copy: IO[bytes]) -> Iterator[bytes]:
    """Its lines but the last one. Fails in the end, if that is not right: what was taken in is then taken back."""
    digest, held = Digest(), None  # type: Tuple[Digest, Optional[bytes]]
    try:
        with gzip.GzipFile(fileobj=copy, mode="rb") as file:
            while True:
                line = file.readline(MOST_LINE)
                if not line.endswith(b"\n"):
                    break
                if held is not None:
                    digest.add(held)
                    yield held
                held = line[:-1]
    except (OSError, EOFError, zlib.error):
        raise Bad("it is no whole gzip") from None
    if line or held is None or not digest.is_right(held):
        raise Bad("its last line is not right")
