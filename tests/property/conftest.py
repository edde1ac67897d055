"""conftest.py - the seed of the random tests: printed by every run, taken back as COUNTER_SEED=…"""

import os
import random

SEED = int(os.environ.get("COUNTER_SEED") or random.SystemRandom().randrange(2**32))
EXAMPLES = int(os.environ.get("COUNTER_EXAMPLES") or 100)


def pytest_terminal_summary(terminalreporter):
    terminalreporter.write_line(f"repeat with COUNTER_SEED={SEED} COUNTER_EXAMPLES={EXAMPLES}")
