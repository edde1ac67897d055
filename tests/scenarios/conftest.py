"""conftest.py - a table of the scenarios: how many hold, and how many end differently by design."""

import collections
import pathlib

import pytest

from peers import SEED, Peer

ORIGINS = {
    "test_cr_sqlite": "cr-sqlite", "test_sqlite_sync": "sqlite-sync", "test_maelstrom": "Maelstrom", "test_tpcc": "TPC-C",
    "test_bounds_antidote": "Antidote", "test_sqllogictest": "sqllogictest",
}


def pytest_configure(config):
    config.addinivalue_line("markers", "differs: ends differently here, by design")


@pytest.fixture
def peers(tmp_path):
    """Makes files of one schema; closes them all."""
    made = []

    def make(n, *schema):
        new = [Peer(tmp_path / f"peer{len(made) + i + 1}.db", *schema) for i in range(n)]
        made.extend(new)
        return new

    yield make
    for peer in made: peer.db.close()


def pytest_terminal_summary(terminalreporter):
    """A scenario with several ways or seeds is one; it holds if all of them passed."""
    seen, failed = {}, set()
    for status in "passed", "failed", "error":
        for report in terminalreporter.stats.get(status, []):
            name = report.nodeid.partition("[")[0]
            seen[name] = "differs" in report.keywords
            if status != "passed": failed.add(name)
    table = collections.defaultdict(collections.Counter)
    for name, differs in seen.items():
        origin = ORIGINS.get(pathlib.Path(name.partition("::")[0]).stem)
        if origin: table[origin]["failed" if name in failed else "differ" if differs else "hold"] += 1
    terminalreporter.write_line(f"repeat with COUNTER_SEED={SEED}")
    terminalreporter.write_line(f"{'origin':14}{'scenarios':>9}{'hold':>6}{'differ by design':>18}")
    for origin in ORIGINS.values():
        if origin in table:
            row = table[origin]
            told = f"{row['failed']:4} FAILED" if row["failed"] else ""
            terminalreporter.write_line(f"{origin:14}{sum(row.values()):9}{row['hold']:6}{row['differ']:18}{told}")
