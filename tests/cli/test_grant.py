"""test_grant.py - sqlite-counter and bounded counters: grant, what status shows of them, and that sync levels."""

import re
import shutil
import threading
import time
import uuid

import pytest

from program import UUID, connect, fails, make, ok, rows, run, table

SEATS = ["CREATE TABLE seats(hall TEXT PRIMARY KEY, free INTEGER NOT NULL DEFAULT 0, sold INTEGER NOT NULL DEFAULT 0)",
         "INSERT INTO seats VALUES ('A', 500, 0), ('B', 40, 0)", "SELECT counter_replicate('seats', 'free', 'sold')",
         "SELECT counter_bound('seats', 'free')"]
NOBODY = "00000000-0000-0000-0000-000000000000"


@pytest.fixture
def doors(tmp_path, monkeypatch):
    """An office and a copy of its file, which has not counted yet."""
    monkeypatch.chdir(tmp_path)
    make("office.db", *SEATS)
    shutil.copy("office.db", "door.db")
    return tmp_path


def id_of(path):
    return rows(path, "SELECT counter_id()")[0][0]


def rights(path, key='["A"]'):
    return {id: n for id, n in rows(path, "SELECT id, rights FROM counter_rights('seats') WHERE key = ?", key)}


def sell(path, n, hall="A"):
    make(path, f"UPDATE seats SET free = free - {n}, sold = sold + {n} WHERE hall = '{hall}'")


def refused(path, n):
    db = connect(path)
    try:
        db.execute("UPDATE seats SET free = free - ? WHERE hall = 'A'", [n])
    except Exception as error:
        return str(error)
    finally:
        db.close()
    return None


# ---- grant ----

def test_a_file_is_granted_some_by_its_path_and_may_take_these_after_the_next_merge(doors):
    told = table(ok("grant", "office.db", "seats", "A", "150", "--to", "door.db"))
    assert told == [["office.db", id_of("office.db"), "350"], ["door.db", id_of("door.db"), "150"]]
    assert id_of("door.db") != id_of("office.db")
    assert refused("door.db", 1).endswith("this file may take none of the 500: have a file grant some, or sync with one")
    ok("sync", "office.db", "door.db")
    assert refused("door.db", 151).startswith("seats: row ('A'): column free: this file may take 150 more of the 500")
    sell("door.db", 150)
    sell("office.db", 350)
    ok("sync", "office.db", "door.db")
    assert rows("office.db", "SELECT free, sold FROM seats WHERE hall = 'A'") == [(0, 500)]


def test_a_file_is_granted_some_by_its_id_in_capitals_too(doors):
    id = str(uuid.uuid4())
    ok("grant", "office.db", "seats", "A", "20", "--to", id)
    assert table(ok("grant", "office.db", "seats", "A", "5", f"--to={id.upper()}"))[1] == [id.upper(), id, "25"]
    assert table(ok("grant", "office.db", "seats", "A", "7", "--to", NOBODY))[1][2] == "7"
    assert rights("office.db") == {id_of("office.db"): 468, id: 25, NOBODY: 7}


def test_a_key_is_a_plain_value_or_an_array_of_json(doors):
    make("office.db", "CREATE TABLE w(a INTEGER, b TEXT COLLATE NOCASE, n INTEGER, PRIMARY KEY (b, a))",
         "INSERT INTO w VALUES (7, 'X', 9), (8, '[y', 9)", "SELECT counter_track('w', 'n')", "SELECT counter_bound('w', 'n')",
         "CREATE VIRTUAL TABLE c USING counter(k, n COUNTER, PRIMARY KEY (k))", "SELECT counter_bound('c', 'n')",
         "INSERT INTO c VALUES (x'00ff', 9), ('[y', 9), (1.5, 9), ('7', 9)",
         "CREATE TABLE i(id INTEGER PRIMARY KEY, n INTEGER)", "INSERT INTO i VALUES (7, 9)",
         "SELECT counter_track('i', 'n', 'keys=assigned')", "SELECT counter_bound('i', 'n')")

    def grant(name, key):
        return [row[2] for row in table(ok("grant", "office.db", name, key, "2", "--to", NOBODY))]

    assert grant("seats", '["A"]') == ["498", "2"] and grant("SEATS", " A".strip()) == ["496", "4"]
    assert grant("seats_counters", "B") == ["38", "2"]
    assert grant("w", '["X", 7]') == ["7", "2"] and grant("w_counters", '["x","7"]') == ["5", "4"]
    assert grant("w", '["[y",8]') == ["7", "2"]
    assert grant("c", '[{"hex":"00ff"}]') == ["7", "2"] and grant("c", "[y") == ["7", "2"] and grant("c", "[1.5]") == ["7", "2"]
    assert grant("i", "7") == ["7", "2"] and grant("i", "[7]") == ["5", "4"]
    for key in "x", '["X"]', '["X",7,8]', "[]", '["X",{"hex":"0"}]', '["X",{"bytes":"00"}]', '["X",null]', '["X",[7]]':
        fails(f"office.db: {re.escape(key)} is no key of table w: give an array of JSON with the values of b, a, as counter_rights "
              "shows it", "grant", "office.db", "w", key, "1", "--to", NOBODY)


@pytest.mark.parametrize("words, sentence", [
    (["seats", "A", "501"], r"row \('A'\): column free: this file may grant 500 more of the 500: .*"),
    (["seats", "A", "0"], "column free: a grant is at least 1, not 0"),
    (["seats", "A", "many"], "column free: a counter takes an INTEGER, not TEXT 'many'"),
    (["seats", "C", "1"], r"there is no row \('C'\)"),
    (["seats", "A", "1", "--column", "sold"], "column sold has no bound, so everybody may take of it: counter_bound gives it one")])
def test_what_cannot_be_granted_is_told_and_nothing_is(doors, words, sentence):
    fails(f"office.db: seats_counters: {sentence}", "grant", "office.db", *words, "--to", "door.db")
    assert list(rights("office.db").values()) == [500]


def test_a_table_and_a_counter_that_are_not_there_are_told(doors):
    fails("office.db: there is no tracked table or counter table 'halls'", "grant", "office.db", "halls", "A", "1", "--to", "door.db")
    fails("office.db: table main.seats_counters has no column named full", "grant", "office.db", "seats", "A", "1", "--to", "door.db",
          "--column", "full")
    make("office.db", "CREATE VIRTUAL TABLE c USING counter(k TEXT PRIMARY KEY, n COUNTER, m COUNTER)", "INSERT INTO c VALUES ('a', 3, 3)")
    fails(r"office.db: table c has no bounded counter: SELECT counter_bound\('c', 'column'\) makes one",
          "grant", "office.db", "c", "a", "1", "--to", "door.db")
    make("office.db", "SELECT counter_bound('c', 'n'), counter_bound('c', 'm')")
    fails("office.db: table c has several bounded counters, m, n: --column says which", "grant", "office.db", "c", "a", "1", "--to", "door.db")
    assert [row[2] for row in table(ok("grant", "office.db", "c", "a", "1", "--to", "door.db", "--column", "m"))] == ["2", "1"]


def test_a_grantee_that_cannot_be_found_is_told_and_nothing_is_granted(doors):
    for to, sentence in [("no.db", "no.db: there is no such file"), (".", r"\.: is not a regular file"),
                         ("office.db", "office.db: seats_counters: 'grant' names this file, which has what it would get"),
                         ("00000000-0000-8000-8000-000000000000", "office.db: seats_counters: 'grant' names the id of a file, .*")]:
        fails(sentence, "grant", "office.db", "seats", "A", "1", "--to", to)
    make("plain.db", "CREATE TABLE t(a)")
    fails("plain.db: the file has no counter tables: .*", "grant", "office.db", "seats", "A", "1", "--to", "plain.db")
    assert list(rights("office.db").values()) == [500]


def test_a_copy_has_nothing_to_grant(doors):
    fails(r"door.db: seats_counters: row \('A'\): column free: this file may grant none of the 500: as a copy it has none of its own: .*",
          "grant", "door.db", "seats", "A", "1", "--to", "office.db")


def test_a_renamed_table_is_found_by_its_name(doors):
    make("office.db", "ALTER TABLE seats RENAME TO places")
    assert table(ok("grant", "office.db", "places", "A", "1", "--to", "door.db"))[1][2] == "1"


def test_a_file_that_is_read_only_grants_nothing(doors):
    (doors / "office.db").chmod(0o400)
    status, out, error = run("grant", "office.db", "seats", "A", "1", "--to", "door.db")
    if status:  # root may write it all the same
        assert (out, error) == ("", "sqlite-counter: office.db: the file cannot be written, it is read-only\n")


# ---- status and sync ----

def test_status_shows_where_a_file_may_take_where_it_owes_and_what_nobody_holds(doors):
    def bounded(path):
        return [row[1:] for row in table(ok("status", path)) if row[0] == "bounded"]

    assert bounded("office.db") == [["seats_counters", "free", "2", "0", "0"]]
    ok("grant", "office.db", "seats", "B", "40", "--to", NOBODY)
    assert bounded("office.db") == [["seats_counters", "free", "1", "0", "1"]]
    ok("sync", "office.db", "door.db")
    assert bounded("door.db") == [["seats_counters", "free", "1", "0", "1"]]
    make("office.db", "CREATE VIRTUAL TABLE c USING counter(k TEXT PRIMARY KEY, n COUNTER)", "SELECT counter_bound('c', 'n')")
    assert bounded("office.db")[0] == ["c", "n", "0", "0", "0"]
    make("office.db", "INSERT INTO c VALUES ('a', 3)")
    make("late.db", *SEATS[:1], "SELECT counter_replicate('seats', 'free', 'sold')",
         "CREATE VIRTUAL TABLE c USING counter(k TEXT PRIMARY KEY, n COUNTER)", "INSERT INTO c VALUES ('a', -4)")
    ok("sync", "office.db", "late.db")  # it has taken before it heard of the bound
    assert rows("office.db", "SELECT n FROM c") == [(-1,)] and bounded("late.db")[0] == ["c", "n", "0", "1", "0"]


def test_sync_levels_what_both_may_take(doors):
    ok("sync", "office.db", "door.db")
    assert sorted(rights("door.db").values()) == [250, 250]
    sell("office.db", 250)
    ok("sync", "door.db", "office.db")
    assert rights("office.db") == rights("door.db") == {id_of("office.db"): 125, id_of("door.db"): 125}
    told = table(ok("sync", "door.db", "office.db"))
    assert [row[:3] for row in told] == [["seats", "office.db", "door.db"], ["seats", "door.db", "office.db"]]
    assert [row[4] for row in told] == ["0", "0"]
    assert re.fullmatch(UUID, id_of("door.db"))


@pytest.mark.parametrize("order", [("office.db", "door.db"), ("door.db", "office.db")])
@pytest.mark.parametrize("granter, grantee", [("office.db", "door.db"), ("door.db", "office.db")])
def test_what_a_sync_brings_as_a_grant_stays_where_it_is_whichever_file_is_named_first(doors, order, granter, grantee):
    ok("grant", "office.db", "seats", "A", "450", "--to", "door.db")
    ok("sync", "office.db", "door.db")
    has = {"office.db": 50, "door.db": 450}[granter]
    ok("grant", granter, "seats", "A", str(has), "--to", grantee)
    lines = table(ok("sync", *order))
    assert [line[:3] for line in lines] == [["seats", order[1], order[0]], ["seats", order[0], order[1]]]
    assert [line[4] for line in lines] == (["0", "1"] if order[0] == granter else ["1", "0"])
    for name in order:
        assert {id: n for id, n in rights(name).items() if n} == {id_of(grantee): 500}


def test_a_note_names_the_files_as_the_command_does_whatever_their_names(doors):
    make("it is in main.db", "CREATE VIRTUAL TABLE c USING counter(k TEXT PRIMARY KEY, n COUNTER)", "INSERT INTO c VALUES ('a', 9)", "SELECT counter_bound('c', 'n')")
    make("x in main y.db")
    assert [line[6] for line in table(ok("sync", "it is in main.db", "x in main y.db"))] == ["created in x in main y.db, which was empty"]


def test_a_note_that_names_no_file_stands_on_the_line_of_the_file_that_it_is_about(doors):
    make("door.db", "ALTER TABLE seats ADD COLUMN row TEXT")
    status, said, _ = run("sync", "door.db", "office.db")
    to_door, to_office = table(said)
    assert status == 0 and to_door[2] == "door.db" and to_door[6].startswith("column row does not travel yet") and to_office[6] == ""


@pytest.mark.parametrize("locked", ["office.db", "door.db"])
def test_a_sync_that_levels_waits_for_the_locks_of_both_files(doors, locked):
    ok("sync", "office.db", "door.db")
    sell("office.db", 200)
    is_held = threading.Event()

    def hold():
        db = connect(locked)
        db.execute("BEGIN IMMEDIATE")
        is_held.set()
        time.sleep(0.5)
        db.execute("COMMIT")
        db.close()
    holder = threading.Thread(target=hold)
    holder.start()
    is_held.wait()
    ok("sync", "office.db", "door.db")
    holder.join()
    assert rows("door.db", "SELECT free FROM seats WHERE hall = 'A'") == [(300,)]
