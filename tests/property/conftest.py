"""conftest.py - the seed of the random tests: printed by every run, taken back as COUNTER_SEED=…"""

import os
import pathlib
import random

import pytest

SEED = int(os.environ.get("COUNTER_SEED") or random.SystemRandom().randrange(2**32))
EXAMPLES = int(os.environ.get("COUNTER_EXAMPLES") or 100)

needs_journal = pytest.mark.skipif("bounds" in pathlib.Path(__file__).parts,
                                   reason="with the limits of make test-bounds a file has no long journal")


def pytest_terminal_summary(terminalreporter):
    terminalreporter.write_line(f"repeat with COUNTER_SEED={SEED} COUNTER_EXAMPLES={EXAMPLES}")
