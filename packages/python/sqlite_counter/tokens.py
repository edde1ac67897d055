"""tokens.py - who may talk to the server of a file: tokens, and the ids that each of them counts under.

The served file keeps the digest of a token, never the token. counter_receive() binds it to the id of its sender
(docs/batches.md).
"""
from __future__ import annotations

import base64
import hashlib
import secrets
from typing import Any, List, NamedTuple, Optional

from .database import SyncError, ask, transaction

TABLES = ("CREATE TABLE IF NOT EXISTS counter_http_tokens(token TEXT PRIMARY KEY, device TEXT NOT NULL UNIQUE)",
          "CREATE TABLE IF NOT EXISTS counter_http_ids(id TEXT PRIMARY KEY, token TEXT NOT NULL)")


class Device(NamedTuple):
    """Who has a token: a name for people, and the ids that nobody else can count under."""
    device: str
    ids: List[str]


def digest_of(token: str) -> str:
    return hashlib.sha256(token.encode(errors="surrogatepass")).hexdigest()


def has_tables(connection: Any) -> bool:
    return ask(connection, "SELECT count(*) FROM sqlite_master WHERE name IN ('counter_http_tokens', 'counter_http_ids')") == [(2,)]


def is_known(connection: Any, digest: str) -> bool:
    return has_tables(connection) and bool(ask(connection, "SELECT 1 FROM counter_http_tokens WHERE token = ?", digest))


# ---- for who serves a file ----

def add_token(connection: Any, device: str) -> str:
    """Makes a token for a device, and returns it. It can never be read again: hand it over now."""
    if not isinstance(device, str) or not device.strip():
        raise SyncError(f"the name of a device must be a text that says which it is, not {device!r}")
    token = base64.urlsafe_b64encode(secrets.token_bytes(32)).rstrip(b"=").decode()
    with transaction(connection):
        for table in TABLES:
            ask(connection, table)
        if ask(connection, "SELECT 1 FROM counter_http_tokens WHERE device = ?", device):
            raise SyncError(f"{device} has a token already: remove that, or give the device another name")
        ask(connection, "INSERT INTO counter_http_tokens(token, device) VALUES (?, ?)", digest_of(token), device)
    return token


def find(connection: Any, token_or_device: str) -> str:
    """The digest of a token, also of one that was removed: ids stay bound to it."""
    found = has_tables(connection) and ask(
        connection, "SELECT token, 0 AS nth FROM counter_http_tokens WHERE device = ?1 UNION ALL "
        "SELECT token, 1 FROM counter_http_tokens WHERE token = ?2 UNION ALL "
        "SELECT token, 2 FROM counter_http_ids WHERE id = lower(?1) ORDER BY nth LIMIT 1", token_or_device, digest_of(token_or_device))
    if not found:
        raise SyncError("this file has no token of that text, no device of that name and no such id: tokens() lists the devices")
    return found[0][0]


def forget_marks(connection: Any, digest: str) -> None:
    """The heir may have uploaded shards of these ids, which were skipped: now it uploads everything once more."""
    if ask(connection, "SELECT 1 FROM sqlite_master WHERE name = 'counter_peers'"):
        ask(connection, "DELETE FROM counter_peers WHERE lower(hex(id)) NOT IN (SELECT replace(id, '-', '') FROM counter_http_ids WHERE "
            "token <> ?)", digest)


def remove_token(connection: Any, token_or_device: str, to: Optional[str] = None) -> None:
    """Takes a token away; what its device has counted stays. Its ids stay bound to it, so that nobody else can count under
    them, unless `to`, the token or the name of another device, takes them over. Such an id names the token, too, also after it was
    removed."""
    with transaction(connection):
        digest = find(connection, token_or_device)
        heir = None if to is None else find(connection, to)
        if heir and not ask(connection, "SELECT 1 FROM counter_http_tokens WHERE token = ?", heir):
            raise SyncError(f"the token to which {to} is bound was removed: give the ids to a device that has one")
        if heir == digest:
            raise SyncError("a token cannot hand its ids on to itself")
        if heir:
            ask(connection, "UPDATE counter_http_ids SET token = ? WHERE token = ?", heir, digest)
            forget_marks(connection, heir)
        if ask(connection, "SELECT 1 FROM sqlite_master WHERE name = 'counter_http_sources'"):
            ask(connection, "DELETE FROM counter_http_sources WHERE token = ?", digest)
        ask(connection, "DELETE FROM counter_http_tokens WHERE token = ?", digest)


def tokens(connection: Any) -> List[Device]:
    """The devices that have a token, with the ids that are bound to it: none until it has uploaded."""
    if not has_tables(connection):
        return []
    return [Device(device, [id for id, in ask(connection, "SELECT id FROM counter_http_ids WHERE token = ? ORDER BY id", token)])
            for token, device in ask(connection, "SELECT token, device FROM counter_http_tokens ORDER BY device")]
