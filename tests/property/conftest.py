"""conftest.py - the seed of the random tests: printed by every run, taken back as COUNTER_SEED=…"""

import os
import random

import hypothesis

SEED = int(os.environ.get("COUNTER_SEED") or random.SystemRandom().randrange(2**32))
EXAMPLES = int(os.environ.get("COUNTER_EXAMPLES") or 200)

hypothesis.settings.register_profile(
    "counter", max_examples=EXAMPLES, deadline=None, derandomize=False, print_blob=True,
    database=None, suppress_health_check=list(hypothesis.HealthCheck))
hypothesis.settings.load_profile("counter")


def pytest_itemcollected(item):
    """Every @given test draws from the one seed."""
    if getattr(item.obj, "is_hypothesis_test", False):
        hypothesis.seed(SEED)(item.obj)


def pytest_terminal_summary(terminalreporter):
    terminalreporter.write_line(f"repeat with COUNTER_SEED={SEED} COUNTER_EXAMPLES={EXAMPLES}")
