"""conftest.py - what most tests of sqlite-counter begin with."""

import pathlib
import sys

import pytest

from program import VIEWS, make

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))  # authority.py


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder with two files of their own that have counted."""
    monkeypatch.chdir(tmp_path)
    make("a.db", VIEWS, "INSERT INTO views VALUES ('/', 1, 10), ('/a', 2, 20)")
    make("b.db", VIEWS, "INSERT INTO views VALUES ('/', 4, 40)")
    return tmp_path
