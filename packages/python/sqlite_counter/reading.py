"""reading.py - the body of a request or of an answer: bounded, whole, decompressed."""
from __future__ import annotations

import zlib
from typing import Any, Callable, Dict, Iterator

PART = 2**16


class TooLarge(Exception):
    """More bytes than are taken, as they come or decompressed."""


class Unreadable(Exception):
    """A body that is no body, and the status that says so."""

    def __init__(self, sentence: str, status: str = "400 Bad Request") -> None:
        super().__init__(sentence)
        self.status = status


def gunzipped(parts: Iterator[bytes]) -> Iterator[bytes]:
    """Decompresses part by part, so that a few bytes never become many at once."""
    gzip = zlib.decompressobj(31)
    for part in parts:
        while part:
            if gzip.eof:  # one member may follow another
                gzip = zlib.decompressobj(31)
            try:
                yield gzip.decompress(part, PART)
            except zlib.error:
                raise Unreadable("the body is no gzip") from None
            part = gzip.unused_data if gzip.eof else gzip.unconsumed_tail
    if not gzip.eof:
        raise Unreadable("the body was cut short")


def bounded(parts: Iterator[bytes], most: int) -> Iterator[bytes]:
    size = 0
    for part in parts:
        size += len(part)
        if size > most:
            raise TooLarge
        yield part


def parts_of(read: Callable[[int], bytes], length: int | None) -> Iterator[bytes]:
    """`length` bytes; all that come if it is None."""
    while length is None or length > 0:
        try:
            part = read(PART if length is None else min(PART, length))
        except OSError:  # a server's word for chunks that were cut short
            part, length = b"", 1
        if not part:
            break
        length = None if length is None else length - len(part)
        yield part
    if length:
        raise Unreadable("the body was cut short")


def length_of(environ: Dict[str, Any]) -> int | None:
    given = environ.get("CONTENT_LENGTH") or ""
    if given:
        if not given.isascii() or not given.isdigit():
            raise Unreadable("the length of the body must be a whole number")
        return int(given)
    if environ.get("wsgi.input_terminated"):
        return None
    if environ.get("HTTP_TRANSFER_ENCODING"):
        raise Unreadable("this server takes no body in chunks: send its length")
    return 0


def body_of(environ: Dict[str, Any], most: int) -> bytes:
    """The body of an upload. One that is too large is read on for a while, so that the answer arrives at a client which sends
    first and listens then."""
    coding = environ.get("HTTP_CONTENT_ENCODING", "").strip().lower()
    if coding not in ("", "identity", "gzip", "x-gzip"):
        raise Unreadable(f"a body is compressed by gzip or not at all, not by {coding[:20]!r}", "415 Unsupported Media Type")
    length = length_of(environ)
    sent = parts_of(environ["wsgi.input"].read, length)
    try:
        if length is not None and length > most:
            raise TooLarge
        parts = bounded(sent, most)
        return b"".join(bounded(gunzipped(parts), most) if coding.endswith("gzip") else parts)
    except TooLarge:
        read_on(sent, most)
        raise


def read_on(parts: Iterator[bytes], most: int) -> None:
    try:
        for _ in bounded(parts, most):
            pass
    except (TooLarge, Unreadable):
        pass
