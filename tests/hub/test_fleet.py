"""test_fleet.py - the commands in docs/recipes/fleet.md, with a hub, print what they show."""
import os
import sys

import pytest

from conftest import ROOT

sys.path.insert(0, str(ROOT / "tests" / "house"))
import test_docs  # noqa: E402
from test_docs import packages  # noqa: E402, F401


@pytest.fixture
def place(tmp_path, packages):  # noqa: F811
    return test_docs.furnish(tmp_path, packages)


def test_the_recipe_for_a_fleet_prints_what_it_shows(server, place, packages):  # noqa: F811
    socket, programs = server
    env = test_docs.environment(place, packages)
    env.update(PATH=f"{place}/.bin:{programs}:{os.environ['PATH']}", PGHOST=str(socket), PGUSER="hub", PGDATABASE="counters")
    assert test_docs.run_console(ROOT / "docs" / "recipes" / "fleet.md", place, env) > 10
