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
from typing import Any, Callable, Dict, Iterator, List, Tuple, TypeVar
from urllib.parse import quote, urlencode, urlsplit

from .batches import Scope, gathered, mark, read_lines, scope_text, settle, source_of, take_lines
from .database import SyncError, plain, told
from .reading import TooLarge, Unreadable, bounded, gunzipped, parts_of
from .results import Synced, count_apart, forget_warnings, need_no_transaction, tell_warnings

MOST_JSON, MOST_LINE = 2**20, 2**26  # of an answer
MOST_WARNINGS = 100
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

    def ask(self, path: str, use: Callable[[Iterator[bytes]], T], body: bytes | None = None, **parameters: Any) -> T:
        """What `use` makes of the body of the answer. To ask twice does no harm: what has come before changes nothing."""
        url = f"{self.url}{path}?{urlencode(parameters, quote_via=quote)}" if parameters else self.url + path
        headers = {"Authorization": f"Bearer {self.token}", "Accept-Encoding": "gzip", "User-Agent": "sqlite-counter"}
        if body is not None:
            headers.update({"Content-Encoding": "gzip", "Content-Type": "application/x-ndjson"})
        for left in reversed(range(TRIES)):
            try:
                return self.once(urllib.request.Request(url, body, headers), use)
            except NoAnswer as error:
                if not left:
                    raise error.args[0] from error.__cause__
                time.sleep(PAUSE)
        raise AssertionError

    def json(self, parts: Iterator[bytes]) -> Dict[str, Any]:
        try:
            found = json.loads(b"".join(bounded(parts, MOST_JSON)))
        except (ValueError, RecursionError, TooLarge):
            found = None
        if not isinstance(found, dict):
            raise self.fail("the answer is no JSON of sqlite-counter: is this the URL of its server?")
        return found

    def warnings(self, answer: Dict[str, Any]) -> List[str]:
        given = answer.get("warnings", [])
        if not isinstance(given, list) or len(given) > MOST_WARNINGS or not all(isinstance(each, str) for each in given):
            raise self.fail("the answer has warnings that are no texts: is this the URL of a server of sqlite-counter?")
        return [f"{self.url}: {sentence(each)}" for each in given]

    def member(self, answer: Dict[str, Any], name: str, kind: type) -> Any:
        if type(answer.get(name)) is not kind or (kind is int and answer[name] < 0):
            raise self.fail(f"the answer has no {name}: is this the URL of a server of sqlite-counter?")
        return answer[name]

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

def gzipped(lines: List[bytes]) -> bytes:
    gzip = zlib.compressobj(5, zlib.DEFLATED, 31)
    return b"".join([*(gzip.compress(line) for line in lines), gzip.flush()])


SKIPPED = ("it skips what this file has counted, for the id of the file is bound to another token: whoever runs the server moves it "
           "to this one by remove_token(OLD, to=NEW); then everything is uploaded once more")


def ask_state(server: Server, own: str, scope: str | None) -> Dict[str, Any]:
    """What the server gives, and its mark of ours."""
    known = server.ask("", server.json, source=own, **({} if scope is None else {"scope": scope}))
    format = known.get("format", 1)
    if format != 1:
        raise server.fail(f"its answer has the format {sentence(json.dumps(format))}, and this sqlite-counter knows 1: install a newer one")
    return known


def upload(connection: Any, server: Server, scope: str | None) -> Tuple[str, Synced]:
    """The name of what the server gives, and what was given. The mark of the source stays where it was only if the id of this file is
    bound to another token."""
    settle(connection)
    own = source_of(connection, own=True)
    known = ask_state(server, own, scope)
    gave, skipped, upto, reached, warnings = 0, 0, 0, 0, []  # type: int, int, int, int, List[str]
    with closing(read_lines(connection, server.member(known, "mark", int), own=True)) as lines:
        for some in gathered(lines, lambda line: len(line.text)):
            answer = server.ask("/changes", server.json, gzipped([line.text.encode() + b"\n" for line in some]))
            gave += server.member(answer, "changes", int)
            skipped += server.member(answer, "skipped", int)
            upto, reached = some[-1].upto, server.member(server.member(answer, "marks", dict), own, int)
            warnings += [each for each in server.warnings(answer) if each not in warnings]
    if gave:  # a server that is a copy takes an id of its own when it first merges
        known = ask_state(server, own, scope)
    if reached < upto and not warnings:
        warnings = [f"{server.url}: {SKIPPED}"]
    return server.member(known, "source", str), Synced(gave, 0, skipped, warnings, 0)


def download(connection: Any, server: Server, source: str, scope: str | None) -> int:
    """How many changes were taken in."""
    took = 0

    def take(parts: Iterator[bytes]) -> None:
        nonlocal took
        for some in gathered(server.lines(parts), len):
            try:
                took += take_lines(connection, some, source=source).changes
            except SyncError as error:
                raise server.fail(f"what it has sent was refused: {plain(str(error))}") from error.__cause__

    try:
        before, now = -1, mark(connection, source)
    except Exception as error:
        raise server.fail(f"it gives changes of no file, but of {sentence(source)!r}") from error
    while now > before:
        server.ask("/changes", take, since=now, **({} if scope is None else {"scope": scope}))
        before, now = now, mark(connection, source)
    return took


def sync_http(connection: Any, url: str, token: str, scope: Scope = None) -> Synced:
    """Gives a server what this file has changed since the last time, and takes what is new there; only rows of `scope`, if there
    is one. To be called outside of a transaction. What breaks off goes on with the next call."""
    need_no_transaction(connection)
    server = Server(url, token)
    with told():
        words = scope_text(scope)
        forget_warnings(connection)
        source, synced = upload(connection, server, words)
        took = download(connection, server, source, words)
        apart = count_apart(connection)
        return synced._replace(took=took, apart=apart, warnings=synced.warnings + tell_warnings(connection))
