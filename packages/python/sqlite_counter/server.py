"""server.py - a WSGI application that serves one file to those who have a token for it, as docs/batches.md specifies.

    application = sqlite_counter.server.Application("/srv/shop.db")            # gunicorn module:application

Any WSGI server runs it, with threads and processes. The file gets WAL as its journal mode.
"""
from __future__ import annotations

import json
import os
import zlib
from contextlib import closing
from io import BytesIO
from itertools import chain
from tempfile import SpooledTemporaryFile
from typing import IO, Any, Callable, Dict, Iterable, Iterator, Optional, Tuple
from urllib.parse import parse_qsl

from .batches import read_lines
from .database import LARGEST, TOO_BIG, SyncError, ask, is_busy, is_refusal
from .pool import Lent, Pool, snapshot
from .reading import PART, TooLarge, Unreadable, body_of
from .tokens import digest_of, is_known

MAX_BODY = 16 * 2**20
ENOUGH_BYTES = 8 * 2**20  # of the lines of an answer, before it was compressed


class Refused(Exception):
    """An answer other than 200."""

    def __init__(self, status: str, sentence: str, *headers: Tuple[str, str]) -> None:
        super().__init__(sentence)
        self.status, self.headers = status, list(headers)


def json_of(**members: Any) -> bytes:
    return json.dumps(members, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


class Request:
    """What is asked for, once its token is known."""

    def __init__(self, lent: Lent, environ: Dict[str, Any], max_body: int) -> None:
        self.lent, self.environ, self.max_body = lent, environ, max_body
        try:
            pairs = parse_qsl(environ.get("QUERY_STRING", ""), keep_blank_values=True, errors="strict", max_num_fields=16)
        except ValueError:
            raise Refused("400 Bad Request", "the parameters are not percent-encoded UTF-8") from None
        self.given = dict(pairs)
        self.digest = self.check_token()

    def check_token(self) -> str:
        """It is looked up by its digest, so how long that takes tells nothing of the tokens that there are."""
        kind, _, token = self.environ.get("HTTP_AUTHORIZATION", "").partition(" ")
        digest = digest_of(token.strip())
        if kind.lower() != "bearer" or not is_known(self.lent.reads, digest):
            raise Refused("401 Unauthorized", "this server does not know the token: ask whoever runs it for one",
                          ("WWW-Authenticate", "Bearer"))
        return digest

    def number(self, name: str) -> Optional[int]:
        given = self.given.get(name)
        if given is not None and (not given.isascii() or not given.isdigit() or len(given) > 19 or int(given) > LARGEST):
            raise Refused("400 Bad Request", f"{name} must be a whole number, 0 or more")
        return None if given is None else int(given)

    def body(self) -> bytes:
        try:
            return body_of(self.environ, self.max_body)
        except TooLarge:
            raise Refused("413 Content Too Large", f"a body must not be larger than {self.max_body} bytes, compressed or not") from None
        except Unreadable as error:
            raise Refused(error.status, str(error)) from None

    def answer(self) -> Iterator[bytes]:
        """Its first line, then lines of changes. What is there now was read before the first is sent: nobody who reads slowly holds
        the file."""
        since, by, mine = self.number("since"), self.given.get("by"), self.number("mine")
        body = self.body()
        takes = self.lent.writes if body else self.lent.reads
        [(received,)] = ask(takes, "SELECT counter_receive(?, ?, ?, ?)", self.digest, body, by, mine)
        with snapshot(self.lent.reads):
            [(source,)] = ask(self.lent.reads, "SELECT counter_source(0, ?)", self.given.get("scope"))
            left_out = by, json.loads(received).get("left_out", 0)
            more, lines = self.lines(source, since, left_out) if since is not None else (True, BytesIO())
        head = json_of(format=1, source=source, more=more)
        return chain([head[:-2] + b"," + received[1:].encode() + b"\n"], iter(lambda: lines.read(PART), b""))

    def lines(self, source: str, since: int, left_out: Tuple[Optional[str], int]) -> Tuple[bool, IO[bytes]]:
        """Whether more follow, and lines; on disk if they are many, for those of one transaction come together. No line raises a mark
        that lies beyond them, of a file that was here before: then all come at once."""
        lines: IO[bytes] = SpooledTemporaryFile(ENOUGH_BYTES)  # type: ignore[assignment]
        begin = since if self.given.get("of") == source else 0
        with closing(read_lines(self.lent.reads, begin, scope=self.given.get("scope"), least=0,
                                left_out=left_out)) as given:
            for line in given:
                lines.write(line.text.encode() + b"\n")
                if lines.tell() >= ENOUGH_BYTES and line.upto > line.since >= begin:
                    break
            more = next(given, None) is not None
        lines.seek(0)
        return more, lines


# ---- answers ----

def takes_gzip(environ: Dict[str, Any]) -> bool:
    for word in environ.get("HTTP_ACCEPT_ENCODING", "").split(","):
        coding, _, weight = word.partition(";")
        if coding.strip().lower() in ("gzip", "x-gzip", "*"):
            return weight.replace(" ", "") not in ("q=0", "q=0.0", "q=0.00", "q=0.000")
    return False


def compressed(body: Iterable[bytes]) -> Iterator[bytes]:
    gzip = zlib.compressobj(5, zlib.DEFLATED, 31)
    for part in body:
        some = gzip.compress(part)
        if some:
            yield some
    yield gzip.flush()


class Application:
    """Serves the file at `path`, which must be there. `max_body` bounds the bytes of an upload, as they come and decompressed.
    `prefix` is the path below which it answers, where the server gives the application whole paths: "/sync"."""

    def __init__(self, path: str, *, max_body: int = MAX_BODY, prefix: str = "") -> None:
        if not os.path.isfile(path):
            raise SyncError(f"{path}: there is no such file")
        self.max_body, self.prefix, self.pool = max_body, prefix.rstrip("/"), Pool(path)

    def check(self, environ: Dict[str, Any]) -> None:
        if environ.get("PATH_INFO", "").rstrip("/") != self.prefix:
            raise Refused("404 Not Found", "there is nothing here: give the URL of the server, without anything behind it")
        if environ["REQUEST_METHOD"] != "POST":
            raise Refused("405 Method Not Allowed", f"{environ['REQUEST_METHOD']} is not for this URL", ("Allow", "POST"))

    def answer(self, lent: Lent, environ: Dict[str, Any]) -> Iterator[bytes]:
        """What the file refuses is said to the client; other errors are not his business, and the server logs them."""
        try:
            return Request(lent, environ, self.max_body).answer()
        except Exception as error:
            if is_busy(error):
                raise Refused("503 Service Unavailable", "the file is locked: try again", ("Retry-After", "1")) from error
            if is_refusal(error, TOO_BIG):
                raise Refused("413 Content Too Large", str(error)) from error
            if isinstance(error, SyncError) and not error.__cause__ or is_refusal(error) or is_refusal(error.__cause__):
                raise Refused("400 Bad Request", str(error)) from error
            raise

    def handle(self, environ: Dict[str, Any]) -> Iterator[bytes]:
        self.check(environ)
        try:
            lent = self.pool.take()
        except FileNotFoundError as error:
            raise Refused("503 Service Unavailable", "the file is not there: try again", ("Retry-After", "1")) from error
        try:
            return self.answer(lent, environ)
        finally:
            self.pool.give_back(lent)

    def __call__(self, environ: Dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        headers = [("Cache-Control", "no-store")]
        try:
            body = self.handle(environ)
        except Refused as refused:
            answer = json_of(error=str(refused))
            headers += [("Content-Type", "application/json"), ("Content-Length", str(len(answer))), *refused.headers]
            start_response(refused.status, headers)
            return [answer]
        headers.append(("Content-Type", "application/x-ndjson"))
        if takes_gzip(environ):
            headers += [("Content-Encoding", "gzip"), ("Vary", "Accept-Encoding")]
            body = compressed(body)
        start_response("200 OK", headers)
        return body
