"""conftest.py - what most tests of sqlite-counter begin with."""

import pytest

from program import VIEWS, make


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder with two files of their own that have counted."""
    monkeypatch.chdir(tmp_path)
    make("a.db", VIEWS, "INSERT INTO views VALUES ('/', 1, 10), ('/a', 2, 20)")
    make("b.db", VIEWS, "INSERT INTO views VALUES ('/', 4, 40)")
    return tmp_path
