"""conftest.py - the seed of the random tests, and one PostgreSQL for the folder: a private one,
reached by a UNIX socket alone."""

import glob
import os
import pathlib
import pwd
import random
import shutil
import subprocess
import sys
import tempfile

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "property"))  # files.py

SEED = int(os.environ.get("COUNTER_SEED") or random.SystemRandom().randrange(2**32))
EXAMPLES = int(os.environ.get("COUNTER_EXAMPLES") or 100)


def pytest_terminal_summary(terminalreporter):
    terminalreporter.write_line(f"repeat with COUNTER_SEED={SEED} COUNTER_EXAMPLES={EXAMPLES}")


@pytest.fixture
def chance(request):
    return random.Random(f"{SEED} {request.node.name}")


def folder_of_programs():
    for found in sorted(glob.glob("/usr/lib/postgresql/*/bin/initdb"), reverse=True) + [shutil.which("initdb")]:
        if found and shutil.which("psql"):
            return pathlib.Path(found).parent
    pytest.skip("no PostgreSQL")


@pytest.fixture(scope="session")
def server():
    """Yields the folder of the socket, and that of PostgreSQL's programs. PostgreSQL refuses root; as root it runs as
    postgres or nobody."""
    programs, prefix, user = folder_of_programs(), [], None
    # Not in tmp_path: only its owner may enter that, and the path of a socket must be short.
    folder = pathlib.Path(tempfile.mkdtemp(prefix="hub-", dir="/tmp"))
    if os.getuid() == 0:
        names = {entry.pw_name: entry for entry in pwd.getpwall()}
        user = names.get("postgres") or names["nobody"]
        shutil.chown(folder, user.pw_uid, user.pw_gid)
        prefix = ["setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups"]

    def run(program, *args):
        done = subprocess.run([*prefix, programs / program, *args], cwd=folder, text=True, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              env={**os.environ, "LC_ALL": "C", "HOME": str(folder)})
        assert done.returncode == 0, done.stdout

    data = folder / "data"
    try:
        run("initdb", "-D", data, "-U", "hub", "-A", "trust", "-E", "UTF8", "--no-locale", "--no-sync")
        run("pg_ctl", "-D", data, "-w", "-l", folder / "log", "-o",
            f"-c listen_addresses= -k {folder} -F -c full_page_writes=off -c jit=off -c autovacuum=off", "start")
        yield folder, programs
        run("pg_ctl", "-D", data, "-w", "-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
