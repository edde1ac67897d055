"""test_npm_fleet.py - a hundred clients at once against the server of the npm package, by each driver that is there: no
error, sums are exact, and the rate is printed. COUNTER_CLIENTS=n takes other numbers."""
import os
import pathlib
import re
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "packages"))
from conftest import CLEAN, libs, run  # noqa: E402, F401
from test_npm import need  # noqa: E402
from test_npm_batches import packages, project  # noqa: E402, F401


@pytest.mark.parametrize("driver", ["better-sqlite3", "node:sqlite", "sqlite3"])
def test_a_hundred_clients_at_once_agree(project, driver, capfd):  # noqa: F811
    need(driver, project)
    said = run("node", "--no-warnings", "http.mjs", driver, cwd=project, timeout=900,
               env={**CLEAN, "COUNTER_CLIENTS": os.environ.get("COUNTER_CLIENTS", "100")})
    with capfd.disabled():
        print(re.search(r".* clients at once, .*", said)[0])
