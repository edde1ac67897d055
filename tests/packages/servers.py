"""servers.py - what serves in the tests of HTTP: an application in this process, gunicorn, and a proxy that cuts connections."""
import contextlib
import http.client
import os
import shutil
import signal
import socket
import socketserver
import subprocess
import threading
import time
import wsgiref.simple_server
from urllib.parse import urlsplit

import pytest

from authority import behind_tls
from conftest import CLEAN

PYTHON = "/usr/bin/python3"


class Threads(socketserver.ThreadingMixIn, wsgiref.simple_server.WSGIServer):
    daemon_threads = True


class Silent(wsgiref.simple_server.WSGIRequestHandler):
    def log_message(self, *_):
        pass


@contextlib.contextmanager
def serving(application, certificate=None):
    """The URL of an application that this process serves; behind TLS, if there is a certificate."""
    server = wsgiref.simple_server.make_server("127.0.0.1", 0, application, Threads, Silent)
    if certificate:
        server.socket = behind_tls(server.socket, certificate)
    thread = threading.Thread(target=server.serve_forever, args=[0.01], daemon=True)
    thread.start()
    try:
        yield f"http{'s' if certificate else ''}://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def need_gunicorn():
    if not shutil.which("gunicorn"):
        pytest.skip("no gunicorn")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextlib.contextmanager
def gunicorn(package, folder, path, *options):
    """The URL of a file that gunicorn serves, and how to kill all its processes."""
    port = free_port()
    process = subprocess.Popen(["gunicorn", "--log-level", "error", "-b", f"127.0.0.1:{port}", *options, f"sqlite_counter.server:Application('{path}')"],
                               cwd=folder, env={**CLEAN, "PYTHONPATH": str(package), "PYTHONDONTWRITEBYTECODE": "1"}, start_new_session=True)
    try:
        for _ in range(500):
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                break
            except OSError:
                assert process.poll() is None
                time.sleep(0.02)
        yield f"http://127.0.0.1:{port}", lambda: os.killpg(process.pid, signal.SIGKILL)
    finally:
        process.terminate()
        process.wait()


class Cutter:
    """A proxy, of which each connection ends after a random number of bytes in either direction, for a time."""

    def __init__(self, url, chance):
        parts = urlsplit(url)
        self.server, self.chance, self.cuts = (parts.hostname, parts.port), chance, True
        self.listening = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listening.getsockname()[1]}"
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                client, _ = self.listening.accept()
            except OSError:
                return
            server = socket.create_connection(self.server)
            for a, b in (client, server), (server, client):
                budget = int(10 ** self.chance.uniform(1, 5)) if self.cuts and self.chance.random() < 0.5 else 10**9
                threading.Thread(target=self.carry, args=[a, b, budget], daemon=True).start()

    def carry(self, giver, taker, budget):
        try:
            while budget > 0:
                some = giver.recv(min(budget, 65536))
                if not some:
                    taker.shutdown(socket.SHUT_WR)
                    return
                taker.sendall(some)
                budget -= len(some)
        except OSError:
            pass
        for end in giver, taker:
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def close(self):
        self.listening.close()


def request(url, method="GET", body=None, **headers):
    """Status, headers and body."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=30)
    try:
        connection.request(method, parts.path + (f"?{parts.query}" if parts.query else ""), body,
                           {name.replace("_", "-"): value for name, value in headers.items()})
        answer = connection.getresponse()
        return answer.status, answer.headers, answer.read()
    finally:
        connection.close()


def raw(url, sent):
    """What a server answers to these bytes, after which nothing follows."""
    parts = urlsplit(url)
    with socket.create_connection((parts.hostname, parts.port), 30) as client:
        client.sendall(sent)
        client.shutdown(socket.SHUT_WR)
        answer = b""
        while some := client.recv(65536):
            answer += some
        return answer
