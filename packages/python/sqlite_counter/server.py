"""server.py - a WSGI application that serves one file to those who have a token for it, as docs/batches.md specifies.

    application = sqlite_counter.server.Application("/srv/shop.db")            # gunicorn module:application

Any WSGI server runs it, with threads and processes. The file gets WAL as its journal mode.
"""
from __future__ import annotations

import json
import os
import zlib
from itertools import islice
from typing import Any, Callable, Dict, Iterable, Iterator, List, NamedTuple, Optional, Tuple
from urllib.parse import parse_qsl

from .batches import need_tables, read_lines, source_of
from .database import LARGEST, TOO_BIG, SyncError, ask, is_busy, is_refusal, transaction
from .pool import Lent, Pool
from .reading import TooLarge, Unreadable, body_of
from .tokens import digest_of, is_known

MAX_BODY = 16 * 2**20
ENOUGH_BYTES = 8 * 2**20  # of a download, before it was compressed
TYPES = {"json": "application/json", "lines": "application/x-ndjson"}


class Refused(Exception):
    """An answer other than 200."""

    def __init__(self, status: str, sentence: str, *headers: Tuple[str, str]) -> None:
        super().__init__(sentence)
        self.status, self.headers = status, list(headers)


class Answer(NamedTuple):
    kind: str
    body: Iterable[bytes]


def json_of(**members: Any) -> bytes:
    return json.dumps(members, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


# ---- requests ----

class Request:
    """What is asked for, once its token is known."""

    def __init__(self, connection: Any, environ: Dict[str, Any], max_body: int) -> None:
        self.connection, self.environ, self.max_body = connection, environ, max_body
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
        if kind.lower() != "bearer" or not is_known(self.connection, digest):
            raise Refused("401 Unauthorized", "this server does not know the token: ask whoever runs it for one",
                          ("WWW-Authenticate", "Bearer"))
        return digest

    def marks(self) -> Answer:
        source = source_of(self.connection, scope=self.given.get("scope"))
        mark = ask(self.connection, "SELECT counter_mark(?)", self.given["source"])[0][0] if "source" in self.given else 0
        return Answer("json", [json_of(format=1, source=source, mark=mark)])

    def download(self) -> Answer:
        since = self.given.get("since", "0")
        if not since.isascii() or not since.isdigit() or len(since) > 19 or int(since) > LARGEST:
            raise Refused("400 Bad Request", "since must be a whole number, 0 or more")
        lines = self.download_lines(int(since), self.given.get("scope"))
        first = list(islice(lines, 1))  # what cannot be read is an answer of its own
        return Answer("lines", chain(first, lines))

    def download_lines(self, since: int, scope: Optional[str]) -> Iterator[bytes]:
        """No line raises a mark that lies beyond them, of a file that was here before: then all come at once."""
        size = 0
        for line in read_lines(self.connection, since, scope=scope, least=0):
            line_bytes = line.text.encode() + b"\n"
            yield line_bytes
            size += len(line_bytes)
            if size >= ENOUGH_BYTES and line.upto > line.since >= since:
                return

    def upload(self) -> Answer:
        try:
            body = body_of(self.environ, self.max_body)
        except TooLarge:
            raise Refused("413 Content Too Large", f"a body must not be larger than {self.max_body} bytes, compressed or not") from None
        except Unreadable as error:
            raise Refused(error.status, str(error)) from None
        need_tables(self.connection)
        with transaction(self.connection):
            [(answer,)] = ask(self.connection, "SELECT counter_receive(?, ?)", self.digest, body)
        return Answer("json", [answer.encode() + b"\n"])


ROUTES: Dict[str, Dict[str, Callable[[Request], Answer]]] = {
    "": {"GET": Request.marks},
    "/changes": {"GET": Request.download, "POST": Request.upload},
}


def chain(first: List[bytes], rest: Iterator[bytes]) -> Iterator[bytes]:
    try:
        yield from first
        yield from rest
    finally:
        rest.close()  # type: ignore[attr-defined]


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


class Body:
    """The body of an answer, and the connection that it is read from until it is closed."""

    def __init__(self, body: Iterable[bytes], pool: Pool, lent: Lent) -> None:
        self.body, self.pool, self.lent, self.is_whole = iter(body), pool, lent, False

    def __iter__(self) -> Body:
        return self

    def __next__(self) -> bytes:
        try:
            return next(self.body)
        except StopIteration:
            self.is_whole = True
            raise

    def close(self) -> None:
        """A server calls it, also where the client has gone."""
        close_body = getattr(self.body, "close", None)
        if close_body:
            close_body()
        self.pool.give_back(self.lent, self.is_whole)


class Application:
    """Serves the file at `path`, which must be there. `max_body` bounds the bytes of an upload, as they come and decompressed.
    `prefix` is the path below which it answers, where the server gives the application whole paths: "/sync"."""

    def __init__(self, path: str, *, max_body: int = MAX_BODY, prefix: str = "") -> None:
        if not os.path.isfile(path):
            raise SyncError(f"{path}: there is no such file")
        self.max_body, self.prefix, self.pool = max_body, prefix.rstrip("/"), Pool(path)

    def route(self, environ: Dict[str, Any]) -> Callable[[Request], Answer]:
        path, method = environ.get("PATH_INFO", ""), environ["REQUEST_METHOD"]
        is_below = path == self.prefix or path.startswith(self.prefix + "/")
        methods = ROUTES.get(path[len(self.prefix):].rstrip("/")) if is_below else None
        if not methods:
            raise Refused("404 Not Found", "there is nothing here: give the URL of the server, without anything behind it")
        if method not in methods:
            raise Refused("405 Method Not Allowed", f"{method} is not for this path", ("Allow", ", ".join(sorted(methods))))
        return methods[method]

    def answer(self, connection: Any, environ: Dict[str, Any], handle: Callable[[Request], Answer]) -> Answer:
        """What the file refuses is said to the client; other errors are not his business, and the server logs them."""
        try:
            return handle(Request(connection, environ, self.max_body))
        except Exception as error:
            if is_busy(error):
                raise Refused("503 Service Unavailable", "the file is locked: try again", ("Retry-After", "1")) from error
            if is_refusal(error, TOO_BIG):
                raise Refused("413 Content Too Large", str(error)) from error
            if isinstance(error, SyncError) and not error.__cause__ or is_refusal(error) or is_refusal(error.__cause__):
                raise Refused("400 Bad Request", str(error)) from error
            raise

    def handle(self, environ: Dict[str, Any]) -> Tuple[Answer, Lent]:
        handle = self.route(environ)
        try:
            lent = self.pool.take()
        except FileNotFoundError as error:
            raise Refused("503 Service Unavailable", "the file is not there: try again", ("Retry-After", "1")) from error
        try:
            return self.answer(lent.connection, environ, handle), lent
        except BaseException:
            self.pool.give_back(lent)
            raise

    def __call__(self, environ: Dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        headers = [("Cache-Control", "no-store")]
        try:
            (kind, body), lent = self.handle(environ)
        except Refused as refused:
            answer = json_of(error=str(refused))
            headers += [("Content-Type", TYPES["json"]), ("Content-Length", str(len(answer))), *refused.headers]
            start_response(refused.status, headers)
            return [answer]
        headers.append(("Content-Type", TYPES[kind]))
        if takes_gzip(environ):
            headers += [("Content-Encoding", "gzip"), ("Vary", "Accept-Encoding")]
            body = compressed(body)
        start_response("200 OK", headers)
        return Body(body, self.pool, lent)
