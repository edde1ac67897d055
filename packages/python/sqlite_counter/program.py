"""program.py - runs the program sqlite-counter, for what SQL cannot do."""
from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
from typing import Any, Dict, Iterable, List

from .database import SyncError

NAME = "sqlite-counter"


def program_path() -> str:
    """The program that pip has put beside Python, or the first in PATH."""
    for folder in (sysconfig.get_path("scripts"), os.path.dirname(sys.executable)):
        path = os.path.join(folder, NAME)
        if os.access(path, os.X_OK):
            return path
    found = shutil.which(NAME)
    if not found:
        raise SyncError(f"the program {NAME} is neither beside Python nor in PATH: install the wheel of this platform, or run it elsewhere")
    return found


def listed(name: str, values: Iterable[str]) -> List[str]:
    """A text alone would be taken letter by letter."""
    if isinstance(values, str):
        raise TypeError(f"sqlite_counter: {name} must be a list of texts, not {values!r}")
    return list(values)


def run_program(command: str, words: Iterable[str], files: Iterable[Any]) -> List[Dict[str, Any]]:
    """The objects that a command prints with --json. Its sentence is the error; a status without one is left to the objects."""
    done = subprocess.run([program_path(), command, "--json", *words, "--", *map(os.fspath, files)], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8", errors="replace", check=False)
    told = done.stderr.strip().replace(f"{NAME}: ", "", 1)
    if done.returncode != 0 and (told or not done.stdout):
        raise SyncError(told or f"{NAME} ended with the status {done.returncode}")
    return [json.loads(line) for line in done.stdout.splitlines()]
