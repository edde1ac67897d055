"""Files that are no sound source of a pull: a sentence, and nothing changed."""
import os
import pathlib
import shutil
import sqlite3

import pytest

LIBRARY = pathlib.Path(__file__).parents[2] / "build" / "counter"


def connect(path):
    db = sqlite3.connect(path, isolation_level=None, uri=True)
    db.enable_load_extension(True)
    db.load_extension(str(LIBRARY))
    return db


@pytest.fixture
def main(tmp_path):
    os.chdir(tmp_path)
    db = connect("main.db")
    db.execute("CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER)")
    db.execute("INSERT INTO v VALUES('x', 1)")
    yield db
    assert db.execute("SELECT * FROM v").fetchall() == [("x", 1)]
    db.execute("INSERT INTO v(v) VALUES('integrity-check')")
    db.close()


def make_peer(path, rows=1000):
    db = connect(path)
    db.execute("CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER)")
    db.execute("BEGIN")
    db.executemany("INSERT INTO v VALUES(?, 1)", [(f"key{i}",) for i in range(rows)])
    db.execute("COMMIT")
    db.close()


def pull_fails(db, argument, words):
    with pytest.raises(sqlite3.Error) as error:
        db.execute("SELECT * FROM counter_pull(?)", (argument,)).fetchall()
    assert str(error.value).startswith("counter_pull: ")
    assert words in str(error.value)


def test_a_text_file_is_no_database(main):
    pathlib.Path("text").write_text("not a database, but long enough to have a header " * 40)
    pull_fails(main, "text", "file is not a database")


def test_an_encrypted_file_is_no_database(main):
    pathlib.Path("noise").write_bytes(os.urandom(8192))
    pull_fails(main, "noise", "file is not a database")


def test_a_folder_is_no_database(main):
    os.mkdir("folder")
    pull_fails(main, "folder", "'folder' is a directory, and this connection has no right to use one")


def test_an_empty_file_has_no_counter_tables(main):
    pathlib.Path("empty").touch()
    pull_fails(main, "empty", "has no counter tables")


def test_a_truncated_file_changes_nothing(main):
    make_peer("peer.db")
    whole = pathlib.Path("peer.db").read_bytes()
    for keep in (100, 4096, 3 * 4096 + 7, len(whole) - 4096):
        pathlib.Path("cut.db").write_bytes(whole[:keep])
        pull_fails(main, "cut.db", "malformed")


def test_damaged_pages_change_nothing(main):
    make_peer("peer.db")
    whole = bytearray(pathlib.Path("peer.db").read_bytes())
    refused = 0
    for page in range(2, len(whole) // 4096):
        damaged = bytearray(whole)
        damaged[page * 4096 : page * 4096 + 200] = b"\xff" * 200
        pathlib.Path("bad.db").write_bytes(damaged)
        main.execute("BEGIN")
        try:
            main.execute("SELECT * FROM counter_pull('bad.db')").fetchall()
        except sqlite3.Error as error:
            assert str(error).startswith("counter_pull: ")
            assert main.execute("SELECT * FROM v").fetchall() == [("x", 1)]
            refused += 1
        main.execute("ROLLBACK")  # a page of what is not pulled may be damaged
    assert refused > 5


def test_a_memdb_file_is_read_at_hand(main):
    main.execute("ATTACH 'file:/shared?vfs=memdb' AS mem")
    main.execute("CREATE VIRTUAL TABLE mem.v USING counter(k TEXT PRIMARY KEY, n COUNTER)")
    main.execute("INSERT INTO mem.v VALUES('x', 0)")
    assert main.execute("SELECT * FROM counter_pull('mem')").fetchall() == [("v", 1, 1, 0, None)]


def test_a_file_that_only_this_connection_has_is_read_unless_it_has_pending_changes(main):
    make_peer("peer.db", 0)
    main.execute("ATTACH 'peer.db' AS peer")
    main.execute("INSERT INTO peer.v VALUES('x', 0)")
    main.execute("BEGIN")
    main.execute("INSERT INTO peer.v VALUES('pending', 1)")
    os.unlink("peer.db")
    pull_fails(main, "peer", "only this connection can read the file of peer")
    main.execute("ROLLBACK")
    assert main.execute("SELECT * FROM counter_pull('peer')").fetchall() == [("v", 1, 1, 0, None)]


def test_a_wal_source_is_pulled_by_path_while_it_is_written(main):
    make_peer("peer.db", 0)
    writer = connect("peer.db")
    writer.execute("PRAGMA journal_mode = WAL")
    writer.execute("INSERT INTO v VALUES('x', 0)")
    writer.execute("BEGIN IMMEDIATE")
    writer.execute("INSERT INTO v VALUES('pending', 1)")
    assert main.execute("SELECT * FROM counter_pull('peer.db')").fetchall() == [("v", 1, 1, 0, None)]
    writer.execute("ROLLBACK")
    writer.close()


def test_a_source_that_is_locked_is_busy_at_once(main):
    make_peer("peer.db", 0)
    writer = connect("peer.db")
    writer.execute("BEGIN EXCLUSIVE")
    main.execute("PRAGMA busy_timeout = 0")
    pull_fails(main, "peer.db", "database is locked")
    writer.execute("ROLLBACK")
    writer.close()


@pytest.fixture
def cut_off(main):
    """A file whose writer lost power in a transaction: a hot journal stands beside it."""
    make_peer("peer.db")
    writer = connect("peer.db")
    writer.execute("PRAGMA cache_size = 2")
    writer.execute("BEGIN")
    writer.execute("UPDATE v_cells SET n = counter_inc(n)")
    for suffix in ("", "-journal"):
        shutil.copy("peer.db" + suffix, "cut.db" + suffix)
    writer.execute("ROLLBACK")
    writer.close()


def test_a_path_whose_journal_has_to_be_rolled_back_first_says_so(main, cut_off):
    for _ in range(2):
        pull_fails(main, "cut.db", "cut.db: its last transaction was cut off, and its journal "
                   "must be rolled back first, which a pull by path cannot do")
    connect("cut.db").execute("SELECT count(*) FROM v").fetchall()
    assert not pathlib.Path("cut.db-journal").exists()
    main.execute("BEGIN")
    assert main.execute("SELECT * FROM counter_pull('cut.db')").fetchall() == [("v", 1000, 1000, 0, None)]
    main.execute("ROLLBACK")


def test_an_attached_file_rolls_its_journal_back_when_it_is_pulled_from(main, cut_off):
    main.execute("ATTACH 'cut.db' AS cut")
    main.execute("BEGIN")
    assert main.execute("SELECT * FROM counter_pull('cut')").fetchall() == [("v", 1000, 1000, 0, None)]
    main.execute("ROLLBACK")


def test_a_path_leaves_the_source_byte_for_byte_as_it_was(main):
    make_peer("peer.db")
    before = pathlib.Path("peer.db").read_bytes()
    main.execute("BEGIN")
    main.execute("SELECT * FROM counter_pull('peer.db')").fetchall()
    main.execute("ROLLBACK")
    assert pathlib.Path("peer.db").read_bytes() == before
