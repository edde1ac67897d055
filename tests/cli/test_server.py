"""test_server.py - what a server may answer to sqlite-counter: nothing that it says costs memory, disk or a row."""

import contextlib
import gzip
import http.server
import itertools
import json
import os
import re
import shutil
import subprocess
import threading
import zlib
from urllib.parse import parse_qsl

import pytest

from authority import behind_tls
from program import PROGRAM, make, rows, run, table

TABLES = ["CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER)"]
OTHER = "44444444-4444-4444-8444-444444444444"
TOKEN = {"env": {**os.environ, "SQLITE_COUNTER_TOKEN": "token"}}


class Server:
    """Answers with its first line, and with the lines that it was told to if it is asked for changes."""

    def __init__(self):
        self.source, self.head, self.lines, self.headers, self.whole, self.seen = OTHER, {}, None, {}, None, []
        self.failures = []  # answers that come first; None: the connection ends without one

    def first(self, by):
        return json.dumps({"format": 1, "source": self.source, "more": False, "changes": 0, "skipped": 0, "marks": {by: 2**62}, "warnings": [],
                           **self.head}).encode() + b"\n"

    def answer(self, method, path, headers):
        self.seen.append((method, path, headers))
        given = dict(parse_qsl(path.partition("?")[2]))
        if self.failures:
            return self.failures.pop(0)
        if self.whole and (self.whole[3] or "since" in given):
            return self.whole[:3]
        lines = (self.batch() if self.lines is None else self.lines) if "since" in given else b""
        body = self.first(given["by"]) + lines
        return 200, self.headers, gzip.compress(body) if self.headers else body

    def batch(self, changes="", **members):
        head = json.dumps({"format": 1, "source": self.source, "since": 0, "upto": 5, **members})[:-1]
        return f'{head}, "changes": [{changes}]}}\n'.encode()


@contextlib.contextmanager
def serving(certificate=None):
    """A Server; behind TLS, if there is a certificate."""
    made = Server()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            answer = made.answer(self.command, self.path, self.headers)
            if answer is None:
                return
            status, headers, body = answer
            with contextlib.suppress(ConnectionError):
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                if isinstance(body, bytes):
                    self.send_header("Content-Length", str(len(body)))
                    body = [body]
                self.end_headers()
                for part in body:
                    self.wfile.write(part)

        do_POST = do_GET

        def log_message(self, *_):
            pass

    served = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    if certificate:
        served.socket = behind_tls(served.socket, certificate)
    made.url = f"http{'s' if certificate else ''}://127.0.0.1:{served.server_port}/sync"
    thread = threading.Thread(target=served.serve_forever, args=[0.01], daemon=True)
    thread.start()
    yield made
    served.shutdown()
    served.server_close()


@pytest.fixture
def files(tmp_path, monkeypatch):
    if not shutil.which("curl"):
        pytest.skip("no curl")
    monkeypatch.chdir(tmp_path)
    make("a.db", *TABLES)
    shutil.copy("a.db", "b.db")
    make("a.db", "INSERT INTO v VALUES ('x', 1)")


@pytest.fixture
def server(files):
    with serving() as made:
        yield made


def fails(server, sentence, limit=""):
    """The sentence is a pattern; nothing was taken, and nothing is left behind."""
    os.makedirs("tmp", exist_ok=True)
    done = subprocess.run(["sh", "-c", limit + 'exec "$@"', "sh", PROGRAM, "sync", "b.db", server.url], capture_output=True, text=True,
                          env={**TOKEN["env"], "TMPDIR": "tmp"}, timeout=120)
    assert done.returncode == 1 and re.fullmatch(f"sqlite-counter: {sentence}\n", done.stderr), done.stderr
    assert rows("b.db", "SELECT * FROM v") == [] and os.listdir("tmp") == []


def test_a_server_is_synced_with_whether_it_compresses_or_not(server):
    change = [line for line in run("export", "a.db")[1].splitlines() if line]
    batch = "".join(change).encode()
    server.source = json.loads(batch)["source"]
    for server.headers, server.lines in ({}, batch), ({"Content-Encoding": "gzip"}, batch + b"\n"):
        shutil.copy("b.db", "c.db")
        status, out, error = run("sync", "c.db", server.url, **TOKEN)
        assert (status, error) == (0, "") and [row[0] for row in table(out)] == ["took"]
        assert rows("c.db", "SELECT * FROM v") == [("x", 1)]
    assert all("gzip" in headers["Accept-Encoding"] for _, _, headers in server.seen)


@pytest.mark.parametrize("known", [{"format": 2}, {"format": "1"}, {"format": 0}, {"format": None}, {"format": 1.0}])
def test_a_server_of_a_format_that_is_not_known_is_refused(server, known):
    server.head = known
    fails(server, re.escape(server.url) + ": (the answer has the format 2, .*|the member format must be .*): is that the URL of a server of sqlite-counter\\?")
    server.head, server.lines = {}, server.batch(**known)
    fails(server, re.escape(f"b.db: {server.url}: line 1: ") + "(it has the format 2, .*|the member format must be .*): nothing was imported")


def test_batches_of_another_source_than_the_server_s_are_refused(server):
    server.lines = server.batch() + server.batch(source=OTHER.replace("8", "9", 1))
    fails(server, re.escape(f"b.db: {server.url}: line 2: ") + f"it has changes of '{OTHER.replace('8', '9', 1)}', not of '{OTHER}': nothing was imported")


def test_what_a_server_warns_of_is_shown_without_its_control_characters(server):
    said = ["it did not take 1 count of till 3", "a\x1b[2Jb", 5]
    server.head = {"warnings": said}
    status, _, error = run("sync", "a.db", server.url, **TOKEN)
    assert status == 0
    assert {*error.splitlines()} == {f"sqlite-counter: {server.url}: it did not take 1 count of till 3", f"sqlite-counter: {server.url}: a?[2Jb"}


@pytest.mark.parametrize("at_once", [True, False])
def test_no_control_character_of_a_server_is_printed(server, at_once):
    said = "a\x1b[2Jb\x07\x9b2J\u202e\nc"
    server.whole = 500, {}, json.dumps({"error": said}).encode(), at_once
    fails(server, re.escape(server.url) + r": 500: a\?\[2Jb\?\?2J.?\?c")
    server.whole = 500, {}, b'{"error":"a\x9b2J\xe2\x82\x9b"}', at_once
    done = subprocess.run([PROGRAM, "sync", "b.db", server.url], capture_output=True, **TOKEN)
    assert done.stderr == f"sqlite-counter: {server.url}: 500: a?2J\u209b\n".encode()


LOCKED = 503, {"Retry-After": "1"}, b'{"error":"the file is locked"}'
GONE = 503, {}, b"<html>"


@pytest.mark.parametrize("failure", [None, LOCKED, GONE], ids=["no answer", "locked", "gone"])
def test_a_request_without_an_answer_or_to_a_busy_server_is_repeated_twice(server, failure):
    server.failures = [failure] * 2
    status, out, error = run("sync", "a.db", server.url, **TOKEN)
    assert (status, error) == (0, "") and [row[0] for row in table(out)] == ["gave", "took"]
    (_, first, _), (_, second, _), (_, third, _), (_, fourth, _) = server.seen
    assert first == second == third != fourth


@pytest.mark.parametrize("answer, sentence", [
    (None, ": curl: .*52.*"), (LOCKED, ": 503: the file is locked"), (GONE, ": answers with the status 503, but not as a server of sqlite-counter does: is that the URL of one\\?"),
], ids=["no answer", "locked", "gone"])
def test_after_three_tries_a_server_that_does_not_answer_is_a_sentence(server, answer, sentence):
    server.failures = [answer] * 4
    fails(server, re.escape(server.url) + sentence)
    assert len(server.seen) == 3


@pytest.mark.parametrize("status, body, sentence", [
    (400, b'{"error":"no"}', ": 400: no"), (400, b"<html>", ": answers with the status 400, but not as .*"), (500, b"", ": answers with the status 500, but not as .*"),
])
def test_a_server_that_refuses_is_asked_once(server, status, body, sentence):
    server.whole = status, {}, body, True
    fails(server, re.escape(server.url) + sentence)
    assert len(server.seen) == 1


def bombs():
    """Answers that are small and become large, as they come, and what is said of them."""
    def zipped(line, times, part=2**20):
        packer = zlib.compressobj(9, zlib.DEFLATED, 31)
        for _ in range(times):
            yield packer.compress(line * part)
        yield packer.flush()
    yield "one long line", lambda: zipped(b"a", 400), r"line \d: it is too long: nothing of it was taken"
    yield "empty objects", lambda: zipped(b"{},", 100), r"line \d: .*: nothing of it was taken"
    yield "blank lines", lambda: zipped(b"\n", 400), "line 1001: it is one of more than 1000 without changes: nothing was imported"
    yield "not compressed", lambda: (b" " * 2**20 for _ in range(400)), "the answer has more than 268435456 bytes"


@pytest.mark.parametrize("name, answer, sentence", bombs(), ids=lambda each: each if isinstance(each, str) and " " in each and ":" not in each else "")
def test_an_answer_that_becomes_large_takes_neither_memory_nor_disk(server, name, answer, sentence):
    [(id,)] = rows("b.db", "SELECT counter_settle()")
    head = server.first(f"{id} own")
    zipped = zlib.compressobj(9, zlib.DEFLATED, 31)
    first = head if name == "not compressed" else zipped.compress(head) + zipped.flush()
    server.whole = 200, {} if name == "not compressed" else {"Content-Encoding": "gzip"}, itertools.chain([first], answer()), False
    fails(server, f"(b.db: )?{re.escape(server.url)}: {sentence}", limit="ulimit -v 300000; ulimit -f 600000; ")
    server.whole = (*server.whole[:2], answer(), True)
    fails(server, f"(b.db: )?{re.escape(server.url)}: .*", limit="ulimit -v 300000; ulimit -f 600000; ")
