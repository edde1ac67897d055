"""test_python_fleet.py - clients that all sync at once with one file under gunicorn, in WAL: no error, and the sums of all
increments. `make test-fleet` does it with COUNTER_CLIENTS=100, and prints how many syncs that are in a second, and in one of the
server's CPU."""
import contextlib
import json
import os
import pathlib
import shutil
import subprocess
import textwrap
import time

from conftest import CLEAN, EXAMPLES
from servers import PYTHON, gunicorn, need_gunicorn
from shops import Shop

CLIENTS = int(os.environ.get("COUNTER_CLIENTS") or 10)
ROUNDS = max(2, EXAMPLES // 33)
PROCESSES = max(2, CLIENTS // 10)
COUNTS = 3  # before each sync

CLIENT = textwrap.dedent("""
    import json, sqlite3, sys, threading, sqlite_counter
    url, rounds, counts, clients = json.loads(sys.argv[1])
    errors = []
    def run(path, token):
        try:
            db = sqlite3.connect(path, isolation_level=None)
            sqlite_counter.load(db)
            for i in range(rounds):
                for page in range(counts):
                    db.execute("INSERT INTO hits VALUES ('x', ?, 1)", (page,))
                db.execute("INSERT INTO hits VALUES (?, 'own', 1)", (path,))
                sqlite_counter.sync_http(db, url, token)
        except Exception as error:
            errors.append(f"{type(error).__name__}: {error}")
    threads = [threading.Thread(target=run, args=client) for client in clients]
    sys.stdin.readline()
    for thread in threads: thread.start()
    for thread in threads: thread.join()
    print(json.dumps(errors))
    """)


def run_clients(package, url, clients):
    """Errors, and the seconds that it took."""
    running = [subprocess.Popen([PYTHON, "-c", CLIENT, json.dumps([url, ROUNDS, COUNTS, clients[i::PROCESSES]])], stdin=subprocess.PIPE,
                                stdout=subprocess.PIPE, text=True, env={**CLEAN, "PYTHONPATH": str(package)}) for i in range(PROCESSES)]
    begun = time.monotonic()
    for process in running:
        process.stdin.write("\n")
        process.stdin.flush()
    errors = [error for process in running for error in json.loads(process.communicate()[0])]
    return errors, time.monotonic() - begun


def cpu_of(path):
    """Seconds of CPU that gunicorn has used for a file."""
    ticks = 0
    for one in pathlib.Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            words = (one / "cmdline").read_bytes()
            if b"gunicorn" in words and os.fsencode(path) in words:
                ticks += sum(map(int, (one / "stat").read_text().rpartition(")")[2].split()[11:13]))
    return ticks / os.sysconf("SC_CLK_TCK")


def test_clients_that_sync_at_once_meet_no_error_and_agree(counter, package, tmp_path):
    need_gunicorn()
    central = Shop(counter, tmp_path / "central.db")
    for i in range(CLIENTS):
        shutil.copy(central.path, tmp_path / f"{i}.db")
    clients = [(str(tmp_path / f"{i}.db"), counter.add_token(central.db, f"client {i}")) for i in range(CLIENTS)]
    with gunicorn(package, tmp_path, central.path, "--workers", "2", "--threads", "8", "--timeout", "300") as (url, _):
        before = cpu_of(central.path)
        errors, took = run_clients(package, url, clients)
        used = cpu_of(central.path) - before
        assert errors == []
        for path, token in clients[:3]:
            one = Shop(counter, path)
            assert counter.sync_http(one.db, url, token).gave == 0
            assert one.content() == central.content()
            one.close()
    expected = {f"x {page}": CLIENTS * ROUNDS for page in range(COUNTS)}
    expected.update({f"{path} own": ROUNDS for path, _ in clients})
    assert central.content() == ({}, expected) and central("PRAGMA journal_mode") == [("wal",)]
    assert len(counter.tokens(central.db)) == CLIENTS and all(device.ids for device in counter.tokens(central.db))
    central.close()
    print(f"\n{CLIENTS} clients at once: {CLIENTS * ROUNDS / took:.0f} syncs/s, {CLIENTS * ROUNDS * (COUNTS + 1) / took:.0f} increments/s, "
          f"{CLIENTS * ROUNDS / used:.0f} syncs per second of the server's CPU")
