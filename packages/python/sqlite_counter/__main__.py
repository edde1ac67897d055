"""__main__.py - python -m sqlite_counter: tokens of a served file, and a sync for scripts.

    python -m sqlite_counter token FILE DEVICE                      prints a new token for a device
    python -m sqlite_counter tokens FILE                            lists the devices, and the ids of each
    python -m sqlite_counter remove-token FILE DEVICE [--to DEVICE]
    python -m sqlite_counter folder DIRECTORY                       makes one that files sync through
    python -m sqlite_counter sync FILE URL|DIRECTORY|FILE [--token-file TOKEN]
"""
from __future__ import annotations

import argparse
import os
import sqlite3
import sys
from typing import Any, List, Optional

from . import SyncError, add_token, load, make_folder, remove_token, tokens
from .anywhere import sync
from .database import told


def open_file(path: str) -> Any:
    if not os.path.isfile(path):
        raise SyncError(f"{path}: there is no such file")
    connection = sqlite3.connect(path, timeout=10, isolation_level=None)
    load(connection)
    return connection


def arguments(words: Optional[List[str]]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m sqlite_counter", description="Tokens of a served file, and syncs.")
    verbs = parser.add_subparsers(dest="verb", required=True)
    for verb, what in (("token", "prints a new token for a device"), ("tokens", "lists the devices, and the ids of each"),
                       ("remove-token", "takes the token of a device away"), ("folder", "makes a folder that files sync through"),
                       ("sync", "syncs with a server, a folder or a file")):
        added = verbs.add_parser(verb, help=what, description=what)
        added.add_argument("file", metavar="DIRECTORY" if verb == "folder" else "FILE")
        if verb in ("token", "remove-token"):
            added.add_argument("device", metavar="DEVICE")
    verbs.choices["remove-token"].add_argument("--to", metavar="DEVICE", help="who takes its ids over")
    verbs.choices["sync"].add_argument("other", metavar="URL|DIRECTORY|FILE")
    verbs.choices["sync"].add_argument("--token-file", metavar="TOKEN", help="a file with the token; else SQLITE_COUNTER_TOKEN")
    return parser.parse_args(words)


def run(given: argparse.Namespace) -> int:
    if given.verb == "folder":
        make_folder(given.file)
        return 0
    connection = open_file(given.file)
    left: List[str] = []
    warnings: List[str] = []
    with told():
        if given.verb == "token":
            print(add_token(connection, given.device))
        elif given.verb == "tokens":
            for device in tokens(connection):
                print(device.device, *device.ids, sep="\t")
        elif given.verb == "remove-token":
            remove_token(connection, given.device, given.to)
        else:
            said, left, warnings = sync(connection, given.other, given.token_file)
            print(said)
    for warning in left + warnings:
        print(f"sqlite_counter: {warning}", file=sys.stderr)
    return 1 if left else 0


def main(words: Optional[List[str]] = None) -> int:
    try:
        return run(arguments(words))
    except SyncError as error:
        print(f"sqlite_counter: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
