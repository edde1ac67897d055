"""files.py - the files of one source in a folder: their names, their digest, the chain that they make.

    00000000000000000000-00000000000000000512.gz       batches from 0 on and below 512, then {"lines":…,"digest":"…"}
    00000000000000000512-00000000000000000519.gz
"""
from __future__ import annotations

import gzip
import hashlib
import json
import os
import re
import secrets
import tempfile
import uuid
import zlib
from typing import IO, Iterable, Iterator, List, NamedTuple, Optional, Tuple

from .database import SyncError
from .parsing import LARGEST

NAME = re.compile(r"(\d{20})-(\d{20})\.gz", re.ASCII)
TEMPORARY = ".tmp-"
MOST_LINE = 2**26
KEPT_IN_MEMORY = 2**24


class File(NamedTuple):
    since: int
    upto: int
    path: str
    size: int


class Listing(NamedTuple):
    files: List[File]
    strangers: List[str]  # paths of what has another name, but for names that begin with a dot


def is_name(name: str) -> bool:
    found = NAME.fullmatch(name)
    return found is not None and int(found[1]) < int(found[2]) <= LARGEST


def list_files(folder: str) -> Listing:
    files, strangers = [], []
    for name in sorted(os.listdir(folder)):
        path = os.path.join(folder, name)
        if is_name(name):
            try:
                files.append(File(int(name[:20]), int(name[21:41]), path, os.stat(path).st_size))
            except FileNotFoundError:  # its writer has put it together with others meanwhile
                pass
        elif not name.startswith("."):
            strangers.append(path)
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


def flush_folder(folder: str) -> None:
    if os.name != "nt":
        at = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(at)
        finally:
            os.close(at)


def write_lines(folder: str, lines: Iterable[bytes]) -> str:
    """Writes a file below a name that nobody reads, and returns its path; the caller renames or removes it."""
    path = os.path.join(folder, TEMPORARY + secrets.token_hex(8))
    try:
        with open(path, "xb") as file:
            digest = Digest()
            with gzip.GzipFile("", "wb", 6, file, mtime=0) as out:
                for line in lines:
                    digest.add(line)
                    out.write(line + b"\n")
                out.write(digest.last_line() + b"\n")
            flush_to_disk(file)
    except BaseException:
        remove(path)
        raise
    return path


def publish(path: str, since: int, upto: int) -> str:
    folder = os.path.dirname(path)
    final = os.path.join(folder, f"{since:020}-{upto:020}.gz")
    os.replace(path, final)
    flush_folder(folder)
    return final


def remove(path: str) -> None:
    try:
        os.unlink(path)
    except FileNotFoundError:
        pass


# ---- reading ----

class Bad(SyncError):
    """A file that is not whole, or not what its name says."""


def fetch(path: str) -> IO[bytes]:
    """A copy that nobody changes while it is taken in; a slow folder locks nobody out."""
    copy = tempfile.SpooledTemporaryFile(KEPT_IN_MEMORY)
    try:
        with open(path, "rb") as file:
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
