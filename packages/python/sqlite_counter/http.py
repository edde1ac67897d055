"""http.py - syncs a file with a server (server.py, or that of the npm package), as docs/batches.md specifies."""
from __future__ import annotations

import json
import re
import time
import urllib.error
import urllib.request
import zlib
from contextlib import closing
from http.client import HTTPException
from typing import Any, Callable, Iterable, Iterator, List, NamedTuple, Optional, Tuple, TypeVar
from urllib.parse import urlsplit

from .batches import Scope, gathered, read_lines, scope_text, settle, take_lines
from .database import SyncError, ask, is_refusal, plain, told, transaction
from .reading import TooLarge, Unreadable, bounded, gunzipped, parts_of
from .results import Synced, count_apart, forget_warnings, need_no_transaction, tell_warnings

MOST_JSON, MOST_LINE = 2**20, 2**26  # of an answer
MOST_WARNINGS = 100
ENOUGH_BYTES = 2**26                # of own changes that are held compressed
SECONDS = 60                        # without a byte from the server
TRIES, PAUSE = 3, 1.0

T = TypeVar("T")


class NoRedirect(urllib.request.HTTPRedirectHandler):
    """The token is for the server that the caller has named."""

    def redirect_request(self, *_: Any) -> None:
        return None


class NoAnswer(Exception):
    """The server was there, and then was not; or it was busy. To be tried again."""


def sentence(text: str) -> str:
    return plain(text)[:500]


def unreached(reason: Any) -> str:
    """`verify_message` has the error of a certificate alone; a Python without TLS has no class of it."""
    said = getattr(reason, "verify_message", None)
    if said is None:
        return f"it cannot be reached: {reason}"
    return f"its certificate is not accepted: {sentence(str(said)).rstrip('.')}: SSL_CERT_FILE names a file of certificates to trust"


class Server:
    def __init__(self, url: str, token: str) -> None:
        try:
            parts = urlsplit(url)
            is_url = parts.scheme in ("http", "https") and parts.hostname and not (parts.query or parts.fragment or "@" in parts.netloc)
        except (ValueError, AttributeError, TypeError):
            is_url = False
        if not is_url:
            raise SyncError(f"the URL of a server begins with https://, and has no ? in it: {url!r} is none")
        if not isinstance(token, str) or not re.fullmatch(r"[\x21-\x7e]+", token):
            raise SyncError(f"{url}: the token has characters that no token has, or none: give it as add_token() has returned it")
        self.url, self.token = url.rstrip("/"), token
        self.opener = urllib.request.build_opener(NoRedirect)

    def fail(self, what: str) -> SyncError:
        return SyncError(f"{self.url}: {what}")

    def refused(self, error: urllib.error.HTTPError) -> SyncError:
        """The server's sentence, if it has one."""
        if error.code in (301, 302, 303, 307, 308):
            return self.fail(f"HTTP {error.code}: the server sends on to {sentence(error.headers.get('Location') or 'another place')}: "
                             "give that URL if it is the one that you mean")
        try:
            said = json.loads(b"".join(bounded(self.parts(error), MOST_JSON)))["error"]
        except (ValueError, LookupError, TypeError, OSError, HTTPException, TooLarge, Unreadable):
            said = f"{error.reason}; is this the URL of a server of sqlite-counter?"
        return self.fail(f"HTTP {error.code}: {sentence(str(said))}")

    def whole(self, answer: Any) -> Iterator[bytes]:
        yield from parts_of(answer.read, None)
        if answer.length:
            raise Unreadable("it is shorter than it says")

    def parts(self, answer: Any) -> Iterator[bytes]:
        parts = self.whole(answer)
        return gunzipped(parts) if (answer.headers.get("Content-Encoding") or "").lower() == "gzip" else parts

    def once(self, request: urllib.request.Request, use: Callable[[Iterator[bytes]], T]) -> T:
        try:
            with self.opener.open(request, timeout=SECONDS) as answer:
                return use(self.parts(answer))
        except urllib.error.HTTPError as error:
            with error:
                if error.code == 503:
                    raise NoAnswer(self.refused(error)) from None
                raise self.refused(error) from None
        except urllib.error.URLError as error:
            raise self.fail(unreached(error.reason)) from error
        except (OSError, HTTPException, Unreadable) as error:
            raise NoAnswer(self.fail(f"the answer broke off: {sentence(str(error)) or type(error).__name__}: sync again")) from error

    def post(self, parameters: str, body: bytes, use: Callable[[Iterator[bytes]], T]) -> T:
        """What `use` makes of the answer. To ask twice does no harm: what has come before changes nothing."""
        headers = {"Authorization": f"Bearer {self.token}", "Accept-Encoding": "gzip", "User-Agent": "sqlite-counter",
                   "Content-Encoding": "gzip", "Content-Type": "application/x-ndjson"}
        for left in reversed(range(TRIES)):
            try:
                return self.once(urllib.request.Request(f"{self.url}?{parameters}", body, headers), use)
            except NoAnswer as error:
                if not left:
                    raise error.args[0] from error.__cause__
                time.sleep(PAUSE)
        raise AssertionError

    def lines(self, parts: Iterator[bytes]) -> Iterator[bytes]:
        """Whole lines; what follows the last line break was cut short."""
        held: List[bytes] = []
        size = 0
        for part in parts:
            *whole, rest = part.split(b"\n")
            for end in whole:
                yield b"".join([*held, end])
                held, size = [], 0
            held.append(rest)
            size += len(rest)
            if size > MOST_LINE:
                raise self.fail(f"a line of the answer is longer than {MOST_LINE} bytes")
        if size:
            raise Unreadable("its last line has no end")


# ---- both ways ----

def gzipped(lines: Iterable[str]) -> bytes:
    gzip = zlib.compressobj(5, zlib.DEFLATED, 31)
    return b"".join([*(gzip.compress(line.encode() + b"\n") for line in lines), gzip.flush()])


def source_named_in(line: bytes) -> Optional[str]:
    """None if it is no answer of a server of sqlite-counter, or a newer one: hear() says so."""
    try:
        answer = json.loads(line)
        format, source, more = answer["format"], answer["source"], answer["more"]
    except (ValueError, LookupError, TypeError, RecursionError):
        return None
    return source if format == 1 and isinstance(source, str) and isinstance(more, bool) else None


class Request(NamedTuple):
    """Parameters: without and with a question for changes. The source is None if the file knows nothing of the server."""
    upload: str
    query: Optional[str]
    source: Optional[str]
    mine: int


class Heard(NamedTuple):
    source: str
    mine: int
    more: int
    changes: int
    skipped: int
    warnings: str


class Sync:
    """What is remembered of the server, the extension keeps in the file."""

    def __init__(self, connection: Any, server: Server, scope: Optional[str]) -> None:
        self.connection, self.server, self.scope = connection, server, scope
        self.gave = self.took = self.skipped = 0
        self.warnings: List[str] = []

    def request(self) -> Request:
        [row] = ask(self.connection, "SELECT upload, query, source, mine FROM counter_request(?, ?)", self.server.url, self.scope)
        return Request(*row)

    def hear(self, line: bytes, sent: Optional[int]) -> Heard:
        """It writes, and a SELECT that writes does not wait for a lock: the transaction does."""
        if len(line) > MOST_JSON:
            raise self.server.fail("its answer is too long: is this the URL of a server of sqlite-counter?")
        try:
            with transaction(self.connection):
                [row] = ask(self.connection, "SELECT source, mine, more, changes, skipped, warnings FROM counter_heard(?, ?, ?, ?)",
                            self.server.url, line.decode(errors="replace"), sent, self.scope)
        except Exception as error:
            if not is_refusal(error):
                raise
            raise self.server.fail(f"{plain(str(error))}: is this the URL of a server of sqlite-counter?") from error
        return Heard(*row)

    def note(self, heard: Heard) -> None:
        self.gave += heard.changes
        self.skipped += heard.skipped
        given = [each for each in json.loads(heard.warnings)[:MOST_WARNINGS] if isinstance(each, str)]
        sentences = [f"{self.server.url}: {sentence(each)}" for each in given]
        self.warnings += [each for each in sentences if each not in self.warnings]

    def take(self, source: str, lines: Iterable[bytes]) -> None:
        for some in gathered(lines, len):
            try:
                self.took += take_lines(self.connection, some, source=source).changes
            except SyncError as error:
                raise self.server.fail(f"what it has sent was refused: {plain(str(error))}") from error.__cause__

    def post(self, parameters: Optional[str], body: bytes, sent: Optional[int]) -> Heard:
        """Own changes up to `sent` are uploaded then. What the server says of them is kept when all that it has given is taken: it
        leaves out what this file has brought, if the file knows how far that goes."""
        def use(parts: Iterator[bytes]) -> Heard:
            lines = self.server.lines(parts)
            first = next(lines, b"")
            source = source_named_in(first)
            if source is not None:
                self.take(source, lines)
            return self.hear(first, sent)

        heard = self.server.post(parameters or "", body, use)
        self.note(heard)
        return heard

    def bodies(self, since: int) -> Tuple[List[Tuple[bytes, int]], bool]:
        """Own changes, each body with where it ends; an empty one if there are none; and whether these are all. They are read before
        the first is sent, because an answer is written into the file."""
        made: List[Tuple[bytes, int]] = []
        size = 0
        with closing(read_lines(self.connection, since, own=True)) as lines:
            for some in gathered(lines, lambda line: len(line.text)):
                made.append((gzipped(line.text for line in some), some[-1].upto))
                size += sum(len(line.text) for line in some)
                if size >= ENOUGH_BYTES and some[-1].upto > some[-1].since:
                    return made, False
        return made or [(gzipped([]), since)], True

    def give(self) -> Heard:
        """Uploads own changes, from where the server has them; the last body asks for its changes. A server that has less than it has
        said was restored, or is another: once, it gets all from there."""
        went_back, is_all = False, False
        if self.request().source is None:
            self.post(self.request().upload, gzipped([]), None)
        since = began = self.request().mine
        while True:
            (*some, (last, upto)), is_all = self.bodies(since)
            for body, end in some:
                self.post(self.request().upload, body, end)
            heard = self.post(self.request().query, last, upto)
            since = upto
            if heard.mine < began and not went_back:
                went_back, self.gave, since = True, 0, heard.mine
            elif is_all:
                return heard

    def run(self) -> None:
        heard, asked = self.give(), self.request()
        while heard.more:
            heard, before = self.post(asked.query, gzipped([]), asked.mine), asked
            asked = self.request()
            if asked == before:  # no line has raised the mark
                break


def sync_http(connection: Any, url: str, token: str, scope: Scope = None) -> Synced:
    """Gives a server what this file has changed since the last time, and takes what is new there; only rows of `scope`, if there
    is one. To be called outside of a transaction. What breaks off goes on with the next call."""
    need_no_transaction(connection)
    server = Server(url, token)
    with told():
        sync = Sync(connection, server, scope_text(scope))
        forget_warnings(connection)
        settle(connection)
        sync.run()
        apart = count_apart(connection)
        return Synced(sync.gave, sync.took, sync.skipped, sync.warnings + tell_warnings(connection), apart)
