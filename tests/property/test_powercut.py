"""test_powercut.py - the VFS that remembers what was synced, on plain tables: does a cut leave what
the disk would have?

Each process dies without closing its connection, so that nothing is synced or deleted at the end.
"""

import ctypes
import os
import pathlib
import sqlite3
import subprocess
import sys

import pytest

import powercut

WORKER = """
import os, sys
sys.path.insert(0, sys.argv[1])
import powercut
db = powercut.connect(sys.argv[2])
for statement in sys.argv[3:]:
    if statement == "close":
        db.close()
    elif statement == "sync folder":
        os.fsync(os.open(os.path.dirname(sys.argv[2]), os.O_RDONLY))
    elif statement == "sync wal":
        os.fsync(os.open(sys.argv[2] + "-wal", os.O_RDONLY))
    else:
        db.execute(statement).fetchall()
os._exit(1)
"""

CREATE = "CREATE TABLE t(n)"
CHECKPOINT = "PRAGMA wal_checkpoint(TRUNCATE)"


def run_and_die(path, journal, synchronous, *statements, env=None):
    pragmas = f"PRAGMA journal_mode = {journal}", f"PRAGMA synchronous = {synchronous}"
    command = [sys.executable, "-c", WORKER, os.path.dirname(__file__), str(path), *pragmas]
    ended = subprocess.run(command + list(statements), env=env)
    assert ended.returncode == 1


def insert(*numbers):
    """One transaction each."""
    return [f"INSERT INTO t VALUES ({n})" for n in numbers]


def numbers_in(path):
    db = powercut.connect(path)
    assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    found = [n for n, in db.execute("SELECT n FROM t ORDER BY n")]
    db.close()
    return found


def after_cut(path):
    powercut.cut(path)
    return numbers_in(path)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "a b%20?#.db"


# ---- WAL ----

def test_wal_with_normal_loses_the_commits_since_the_checkpoint(path):
    run_and_die(path, "WAL", "NORMAL", CREATE, *insert(1, 2), CHECKPOINT, *insert(3, 4))
    assert after_cut(path) == [1, 2]


def test_wal_with_normal_keeps_them_without_a_cut(path):
    run_and_die(path, "WAL", "NORMAL", CREATE, *insert(1, 2), CHECKPOINT, *insert(3, 4))
    assert numbers_in(path) == [1, 2, 3, 4]


def test_wal_with_normal_and_no_checkpoint_loses_everything(path):
    run_and_die(path, "WAL", "NORMAL", CREATE, *insert(1, 2))
    powercut.cut(path)
    db = powercut.connect(path)
    assert db.execute("SELECT count(*) FROM sqlite_schema").fetchone() == (0,)
    db.close()


def test_another_process_that_opens_the_file_makes_nothing_durable(path):
    run_and_die(path, "WAL", "NORMAL", CREATE, *insert(1), CHECKPOINT, *insert(2))
    run_and_die(path, "WAL", "NORMAL", "SELECT * FROM t")
    assert after_cut(path) == [1]


def test_wal_with_full_loses_nothing(path):
    run_and_die(path, "WAL", "FULL", CREATE, *insert(1, 2), CHECKPOINT, *insert(3, 4))
    assert after_cut(path) == [1, 2, 3, 4]


def test_wal_with_normal_loses_what_follows_a_full_commit_and_no_more(path):
    run_and_die(path, "WAL", "FULL", CREATE, *insert(1), "PRAGMA synchronous = NORMAL",
                *insert(2, 3))
    assert after_cut(path) == [1]


def test_a_wal_deleted_by_the_last_close_comes_back_and_does_no_harm(path):
    run_and_die(path, "WAL", "FULL", CREATE, *insert(1, 2), "close")
    wal = pathlib.Path(f"{path}-wal")
    assert not wal.exists()
    powercut.cut(path)
    assert wal.stat().st_size > 0
    assert numbers_in(path) == [1, 2]


# ---- rollback journals ----

def test_delete_with_full_loses_the_last_commit_whose_journal_comes_back(path):
    run_and_die(path, "DELETE", "FULL", CREATE, *insert(1, 2, 3))
    assert not pathlib.Path(f"{path}-journal").exists()
    powercut.cut(path)
    assert pathlib.Path(f"{path}-journal").exists()
    assert numbers_in(path) == [1, 2]


@pytest.mark.parametrize("journal, synchronous", [
    ("DELETE", "EXTRA"), ("TRUNCATE", "FULL"), ("PERSIST", "FULL")])
def test_a_journal_whose_end_is_synced_loses_nothing(path, journal, synchronous):
    run_and_die(path, journal, synchronous, CREATE, *insert(1, 2, 3))
    assert after_cut(path) == [1, 2, 3]


def test_a_transaction_that_is_open_rolls_back_to_the_last_durable_one(path):
    run_and_die(path, "DELETE", "EXTRA", CREATE, *insert(1), "PRAGMA cache_size = 1", "BEGIN",
                "INSERT INTO t SELECT randomblob(3000) FROM sqlite_schema, json_each('[1,2,3,4]')")
    assert after_cut(path) == [1]


def test_synchronous_off_leaves_an_empty_file(path):
    run_and_die(path, "DELETE", "OFF", CREATE, *insert(1, 2))
    powercut.cut(path)
    assert path.stat().st_size == 0


def test_the_journal_of_a_new_transaction_does_not_hide_the_old_one_before_it_is_synced(path):
    run_and_die(path, "DELETE", "FULL", CREATE, *insert(1, 2), "BEGIN", *insert(3))
    assert pathlib.Path(f"{path}-journal").exists()
    assert after_cut(path) == [1]


def test_the_first_sync_of_a_new_wal_makes_an_earlier_deletion_durable(path):
    run_and_die(path, "DELETE", "FULL", CREATE, *insert(1, 2), "PRAGMA journal_mode = WAL",
                *insert(3))
    powercut.cut(path)
    assert not pathlib.Path(f"{path}-journal").exists()
    assert numbers_in(path) == [1, 2, 3]


# ---- what has not gone through SQLite ----

@pytest.mark.parametrize("is_preloaded, left", [(True, [1, 2]), (False, [1])])
def test_a_folder_synced_without_sqlite_is_seen_if_preloaded(path, is_preloaded, left):
    run_and_die(path, "DELETE", "FULL", CREATE, *insert(1, 2), "sync folder",
                env=powercut.preloaded() if is_preloaded else None)
    assert after_cut(path) == left


@pytest.mark.parametrize("is_preloaded, left", [(True, [1, 2]), (False, [1])])
def test_a_wal_synced_without_sqlite_is_seen_if_preloaded(path, is_preloaded, left):
    run_and_die(path, "WAL", "NORMAL", CREATE, *insert(1), CHECKPOINT, *insert(2), "sync wal",
                *insert(3), env=powercut.preloaded() if is_preloaded else None)
    assert after_cut(path) == left


def make_without_shim(path, *numbers):
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("PRAGMA journal_mode = WAL")
    for statement in [CREATE, *insert(*numbers)]:
        db.execute(statement)
    db.close()


def test_a_database_that_was_there_before_is_durable_as_it_stands(path):
    make_without_shim(path, 1, 2)
    run_and_die(path, "WAL", "NORMAL", *insert(3))
    assert after_cut(path) == [1, 2]


def test_a_new_database_inherits_nothing_from_an_old_one_of_its_name(path):
    run_and_die(path, "WAL", "FULL", CREATE, *insert(1, 2))
    for suffix in ("", "-wal", "-shm"):
        os.unlink(f"{path}{suffix}")
    run_and_die(path, "DELETE", "OFF", CREATE)
    powercut.cut(path)
    assert path.stat().st_size == 0
    assert not pathlib.Path(f"{path}-wal").exists()


def test_a_database_that_the_shim_has_never_seen_is_not_cut(path):
    make_without_shim(path, 1)
    with pytest.raises(FileNotFoundError):
        powercut.cut(path)
    assert numbers_in(path) == [1]


def test_forget_makes_a_change_by_other_ways_durable(path):
    run_and_die(path, "DELETE", "EXTRA", CREATE, *insert(1), "close")
    db = sqlite3.connect(path, isolation_level=None)
    db.execute(*insert(2))
    db.close()
    powercut.forget(path)
    run_and_die(path, "DELETE", "OFF", *insert(3))
    assert after_cut(path) == [1, 2]


# ---- the files themselves ----

def birth(path):
    return subprocess.run(["stat", "-c", "%i %w", path], capture_output=True, check=True).stdout


def test_a_cut_keeps_inode_birth_time_and_attributes(path):
    run_and_die(path, "WAL", "NORMAL", CREATE, *insert(1), CHECKPOINT, *insert(2))
    before = birth(path)
    try:
        os.setxattr(path, "user.test", b"newer")
    except OSError:
        pytest.skip("no extended attributes here")
    powercut.cut(path)
    assert birth(path) == before
    assert os.getxattr(path, "user.test") == b"newer"


def test_two_cuts_in_a_row_are_one(path):
    run_and_die(path, "WAL", "FULL", CREATE, *insert(1, 2))
    powercut.cut(path)
    contents = {name: name.read_bytes() for name in path.parent.iterdir()}
    powercut.cut(path)
    assert {name: name.read_bytes() for name in path.parent.iterdir()} == contents


def test_life_goes_on_after_a_cut(path):
    run_and_die(path, "WAL", "NORMAL", CREATE, *insert(1), CHECKPOINT, *insert(2))
    powercut.cut(path)
    run_and_die(path, "WAL", "FULL", *insert(3))
    assert after_cut(path) == [1, 3]


@pytest.mark.parametrize("journal", ["WAL", "DELETE"])
def test_a_sync_does_not_drop_the_lock(path, journal):
    """One that opened the database again and closed it would."""
    db = powercut.connect(path)
    for pragma in ("locking_mode = EXCLUSIVE", f"journal_mode = {journal}", "synchronous = FULL"):
        db.execute(f"PRAGMA {pragma}")
    db.execute(CREATE)
    db.execute("PRAGMA wal_checkpoint")
    busy = subprocess.run(["sqlite3", str(path), *insert(1)], capture_output=True, text=True)
    assert "locked" in busy.stderr
    db.close()


def test_its_name_stands_over_the_real_one(path):
    powercut.load_shim()
    library = ctypes.CDLL("libsqlite3.so.0")
    db, text = ctypes.c_void_p(), ctypes.c_char_p()
    assert library.sqlite3_open_v2(os.fsencode(path), ctypes.byref(db), 6, b"powercut") == 0
    assert library.sqlite3_file_control(db, b"main", 12, ctypes.byref(text)) == 0  # FCNTL_VFSNAME
    assert text.value == b"powercut/unix"
    library.sqlite3_free(text)
    assert library.sqlite3_close(db) == 0
