"""conftest.py - the seed of the random tests: printed by every run, taken back as COUNTER_SEED=…"""

import contextlib
import os
import random

import pytest
from files import connect

SEED = int(os.environ.get("COUNTER_SEED") or random.SystemRandom().randrange(2**32))
EXAMPLES = int(os.environ.get("COUNTER_EXAMPLES") or 100)


def keeps_journal():
    """Not with those limits of make test-bounds by which each commit folds, or nearly each."""
    with contextlib.closing(connect(":memory:")) as db:
        db.execute("CREATE VIRTUAL TABLE t USING counter(k TEXT PRIMARY KEY, n COUNTER)")
        for _ in range(10):
            db.execute("INSERT INTO t VALUES ('a', 1)")
        return db.execute("SELECT count(*) FROM counter_journal").fetchone()[0] > 9


needs_journal = pytest.mark.skipif(not keeps_journal(), reason="the limits of make test-bounds leave no long journal")


def pytest_terminal_summary(terminalreporter):
    terminalreporter.write_line(f"repeat with COUNTER_SEED={SEED} COUNTER_EXAMPLES={EXAMPLES}")
