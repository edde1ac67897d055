"""test_pull_parts.py - a first merge in parts: what the giver writes meanwhile, where it stops, and in which order the tables
come, the file ends as by one pull."""
import os
import random
import shutil
import sqlite3
import threading
import time

import pytest

from conftest import EXAMPLES, SEED
from files import connect

PART = "SELECT rows_read, rows_changed, note, more FROM counter_pull('giver.db', 'part')"
TABLES = ["CREATE TABLE customers(id TEXT PRIMARY KEY NOT NULL, name TEXT, visits INTEGER NOT NULL DEFAULT 0)",
          "CREATE TABLE orders(id TEXT PRIMARY KEY NOT NULL, customer TEXT REFERENCES customers(id), parent TEXT, total INTEGER)",
          "CREATE TABLE a_lines(id INTEGER PRIMARY KEY, parcel TEXT REFERENCES orders(id), said TEXT, n INTEGER NOT NULL DEFAULT 0)",
          "CREATE TABLE folders(id TEXT PRIMARY KEY NOT NULL, inside TEXT REFERENCES folders(id), size INTEGER NOT NULL DEFAULT 0)",
          "CREATE TABLE stock(sku TEXT PRIMARY KEY NOT NULL, n INTEGER NOT NULL DEFAULT 0, place TEXT)",
          "CREATE VIRTUAL TABLE hits USING counter(page TEXT PRIMARY KEY, n COUNTER)"]
CALLS = ["counter_replicate('customers', 'visits')", "counter_replicate('orders', 'total')", "counter_replicate('a_lines', 'n', 'keys=assigned')",
         "counter_replicate('folders', 'size')", "counter_track('stock', 'n')"]
NAMES = ["customers", "orders", "a_lines", "folders", "stock", "hits"]


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    db = connect("giver.db")
    for sql in TABLES:
        db.execute(sql)
    for call in CALLS:
        db.execute(f"SELECT {call}")
    db.close()
    shutil.copy("giver.db", "taker.db")
    return tmp_path


def opened(path):
    db = connect(path, timeout=30)
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("PRAGMA synchronous = OFF")
    db.execute("PRAGMA foreign_keys = ON")
    return db


def fill(db, draw, n):
    """Ids at random, so that rows do not lie in the order of their keys; lines and orders before what they refer to."""
    db.execute("BEGIN")
    customers = [f"c{draw.getrandbits(48):x}" for _ in range(n // 4)]
    orders = [f"o{draw.getrandbits(48):x}" for _ in range(n // 2)]
    db.executemany("INSERT INTO customers VALUES (?, ?, ?)", [(id, f"name of {id}", draw.randint(0, 9)) for id in customers])
    db.executemany("INSERT INTO orders VALUES (?, ?, ?, ?)", [(id, draw.choice(customers), None, draw.randint(0, 9)) for id in orders])
    db.executemany("INSERT INTO a_lines(parcel, said, n) VALUES (?, ?, ?)", [(draw.choice(orders), "x" * 30, draw.randint(0, 9)) for _ in range(n)])
    folders = [None]
    for i in range(50):
        db.execute("INSERT INTO folders VALUES (?, ?, 1)", (f"f{draw.getrandbits(48):x}", draw.choice(folders)))
        folders = [id for id, in db.execute("SELECT id FROM folders")]
    db.executemany("INSERT INTO stock VALUES (?, ?, 'here')", [(f"s{draw.getrandbits(48):x}", draw.randint(-9, 9)) for _ in range(n // 4)])
    db.executemany("INSERT INTO hits VALUES (?, ?)", [(f"/{i}", draw.randint(-9, 9)) for i in range(n // 4)])
    db.execute("DELETE FROM a_lines WHERE abs(random()) % 20 = 0")
    db.execute("DELETE FROM hits WHERE abs(random()) % 20 = 0")
    db.execute("COMMIT")


def write(db, draw):
    """What somebody does in the giver between two parts."""
    one = {name: db.execute(f"SELECT * FROM {name} LIMIT 1 OFFSET ?", (draw.randrange(50),)).fetchone() for name in NAMES}
    sql = draw.choice([
        lambda: ("INSERT INTO customers VALUES (?, 'new', 1)", [f"c{draw.getrandbits(48):x}"]),
        lambda: ("INSERT INTO orders VALUES (?, ?, NULL, 2)", [f"o{draw.getrandbits(48):x}", one["customers"][0]]),
        lambda: ("INSERT INTO a_lines(id, parcel, n) VALUES (?, ?, 3)", [draw.choice([None, -draw.randint(1, 10**6), draw.randint(10**6, 10**9)]), one["orders"][0]]),
        lambda: ("UPDATE customers SET visits = visits + 1, name = name || '!' WHERE id = ?", [one["customers"][0]]),
        lambda: ("UPDATE a_lines SET n = n - 1 WHERE id % 7 = 1", []),
        lambda: ("DELETE FROM a_lines WHERE id = ?", [one["a_lines"][0]]),
        lambda: ("UPDATE a_lines SET parcel = NULL WHERE parcel = ?", [one["orders"][0]]),
        lambda: ("INSERT INTO folders VALUES (?, ?, 4)", [f"f{draw.getrandbits(48):x}", one["folders"][0]]),
        lambda: ("UPDATE stock SET n = n + 5 WHERE sku = ?", [one["stock"][0]]),
        lambda: ("DELETE FROM stock WHERE sku = ?", [one["stock"][0]]),
        lambda: ("UPDATE hits SET n = n + 1", []), lambda: ("DELETE FROM hits WHERE page = ?", [one["hits"][0]]),
        lambda: ("INSERT INTO hits(hits) VALUES ('optimize')", []), lambda: ("VACUUM", []),
        lambda: ("REPLACE INTO stock VALUES (?, 7, 'elsewhere')", [one["stock"][0]])])()
    db.execute(*sql)


def content(db):
    """The place of a stock stays in its file."""
    return {name: sorted(db.execute(f"SELECT {'sku, n' if name == 'stock' else '*'} FROM {name}"), key=repr) for name in NAMES}


def left_over(db):
    """How many rows say how far a table was read."""
    return db.execute("SELECT count(*) FROM counter_peers WHERE mark < 0 OR length(theirs) <> 16").fetchone()[0]


def digests(db):
    return [db.execute("SELECT counter_table_digest(?)", (name,)).fetchone()[0] for name in NAMES]


@pytest.mark.parametrize("number", range(max(2, EXAMPLES // 25)))
def test_parts_end_as_one_pull_does_whatever_the_giver_writes_meanwhile(place, number):
    draw = random.Random(f"{SEED} parts of a pull {number}")
    giver, taker = opened("giver.db"), opened("taker.db")
    fill(giver, draw, 20000)
    parts, read = 0, 0
    while True:
        taker.execute("BEGIN IMMEDIATE")
        rows = taker.execute(PART).fetchall()
        taker.execute(draw.choices(["COMMIT", "ROLLBACK"], [9, 1])[0])
        parts += 1
        read += sum(row[0] for row in rows)
        if not rows[0][3]:
            if not taker.execute("SELECT count(*) FROM counter_peers WHERE mark < 0").fetchone()[0]:
                break
            continue
        for _ in range(draw.randrange(4)):
            write(giver, draw)
        if draw.random() < 0.2:
            taker.close()
            taker = opened("taker.db")
        if draw.random() < 0.03:
            taker.execute("SELECT * FROM counter_pull('giver.db')").fetchall()
    assert parts > 1
    taker.execute("SELECT * FROM counter_pull('giver.db')").fetchall()
    assert digests(taker) == digests(giver)
    assert content(taker) == content(giver)
    assert taker.execute("PRAGMA foreign_key_check").fetchall() == []
    assert taker.execute("SELECT rows_read FROM counter_pull('giver.db')").fetchall() == [(0,)] * len(NAMES)
    assert left_over(taker) == 0
    for db in giver, taker:
        for name in NAMES:
            counters = name if name == "hits" else f"{name}_counters"
            db.execute(f"INSERT INTO {counters}({counters}) VALUES ('integrity-check')")


@pytest.mark.parametrize("has", ["rows", "a mark"])
def test_a_file_that_has_rows_or_a_mark_takes_all_at_once(place, has):
    giver, taker = opened("giver.db"), opened("taker.db")
    if has == "rows":
        taker.execute("INSERT INTO customers VALUES ('mine', 'a', 1)")
    else:
        giver.execute("INSERT INTO hits VALUES ('/', 1)")
        taker.execute("SELECT * FROM counter_pull('giver.db')").fetchall()
    fill(giver, random.Random(SEED), 20000)
    assert {more for *_, more in taker.execute(PART)} == {0}
    assert content(taker)["orders"] == content(giver)["orders"]


def test_a_table_that_the_source_made_later_comes_with_the_changes_of_the_others(place):
    giver, taker = opened("giver.db"), opened("taker.db")
    giver.execute("INSERT INTO hits VALUES ('/', 1)")
    taker.execute("SELECT * FROM counter_pull('giver.db')").fetchall()
    giver.execute("CREATE VIRTUAL TABLE a_new USING counter(page TEXT PRIMARY KEY, n COUNTER)")
    giver.execute("BEGIN")
    giver.executemany("INSERT INTO a_new VALUES (?, 1)", [(f"/{i}",) for i in range(40000)])
    giver.execute("INSERT INTO hits VALUES ('/', 1)")
    giver.execute("COMMIT")
    assert {more for *_, more in taker.execute(PART)} == {0}
    assert content(taker) == content(giver)
    assert taker.execute("SELECT count(*) FROM a_new").fetchone() == (40000,)


def test_tables_that_are_not_there_yet_come_in_parts(place):
    giver, taker = opened("other.db"), opened("empty.db")
    for name in "ab":
        giver.execute(f"CREATE VIRTUAL TABLE {name}_new USING counter(page TEXT PRIMARY KEY, n COUNTER)")
        giver.execute("BEGIN")
        giver.executemany(f"INSERT INTO {name}_new VALUES (?, 1)", [(f"/{i}",) for i in range(40000)])
        giver.execute("COMMIT")
    part = PART.replace("giver", "other")
    more, most = {1}, 0
    while more == {1}:
        rows = taker.execute(part).fetchall()
        more, most = {row[3] for row in rows}, max(most, *(row[1] for row in rows))
    assert most < 40000
    for name in "ab":
        assert taker.execute(f"SELECT count(*), sum(n) FROM {name}_new").fetchone() == (40000, 40000)


def test_a_part_stays_one_where_another_file_has_brought_the_rows(place):
    giver, taker, other = opened("giver.db"), opened("taker.db"), opened("other.db")
    other.execute("CREATE VIRTUAL TABLE hits USING counter(page TEXT PRIMARY KEY, n COUNTER)")
    other.execute("BEGIN")
    other.executemany("INSERT INTO hits VALUES (?, 1)", [(f"{i:07}",) for i in range(150000)])
    other.execute("COMMIT")
    giver.execute("SELECT * FROM counter_pull('other.db')").fetchall()
    giver.execute("UPDATE hits SET n = n + 1")
    parts = [sum(row[0] for row in taker.execute(PART))]
    taker.execute("SELECT * FROM counter_pull('other.db')").fetchall()
    more = {1}
    while more == {1}:
        rows = taker.execute(PART).fetchall()
        parts.append(sum(row[0] for row in rows))
        more = {row[3] for row in rows}
    assert max(parts) < 120000 and taker.execute("SELECT sum(n) FROM hits").fetchone() == (300000,)


@pytest.mark.parametrize("how", [None, "full"])
def test_a_pull_between_two_parts_takes_all(place, how):
    giver, taker = opened("giver.db"), opened("taker.db")
    fill(giver, random.Random(SEED), 20000)
    assert {more for *_, more in taker.execute(PART)} == {1}
    taker.execute("SELECT * FROM counter_pull('giver.db', ?)", (how,)).fetchall()
    assert content(taker) == content(giver)
    assert left_over(taker) == 0
    assert {more for *_, more in taker.execute(PART)} == {0}
    assert content(taker) == content(giver)


@pytest.mark.parametrize("how", ["part", None])
def test_a_giver_that_took_another_id_is_read_at_once_and_leaves_nothing_of_its_parts(place, how):
    giver, taker = opened("giver.db"), opened("taker.db")
    fill(giver, random.Random(SEED), 20000)
    assert {more for *_, more in taker.execute(PART)} == {1} and left_over(taker) > 0
    giver.execute("SELECT counter_fork()")
    giver.execute("UPDATE customers SET visits = visits + 1")
    assert {more for *_, more in taker.execute(PART.replace("'part'", f"'{how}'" if how else "NULL"))} == {0}
    assert left_over(taker) == 0
    giver.execute("SELECT * FROM counter_pull('taker.db')").fetchall()
    assert content(taker) == content(giver) and digests(taker) == digests(giver)
    assert {read for read, *_ in taker.execute("SELECT rows_read FROM counter_pull('giver.db')")} == {0}


def test_an_older_giver_is_read_at_once_and_in_full(place):
    giver, taker = opened("giver.db"), opened("taker.db")
    fill(giver, random.Random(SEED), 20000)
    giver.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    giver.close()
    shutil.copy("giver.db", "older.db")
    giver = opened("giver.db")
    giver.execute("UPDATE customers SET visits = visits + 1")
    assert {more for *_, more in taker.execute(PART)} == {1}
    giver.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    giver.close()
    for name in os.listdir():
        if name.startswith("giver.db"):
            os.unlink(name)
    shutil.copy("older.db", "giver.db")
    assert {more for *_, more in taker.execute(PART)} == {0} and left_over(taker) == 0
    giver = opened("giver.db")
    giver.execute("UPDATE customers SET visits = visits + 10")
    for _ in range(2):
        for one, other in (taker, "giver.db"), (giver, "taker.db"):
            one.execute(f"SELECT * FROM counter_pull('{other}')").fetchall()
    assert content(taker) == content(giver) and digests(taker) == digests(giver)


def test_others_write_between_parts_and_lose_nothing(place):
    giver, taker = opened("giver.db"), opened("taker.db")
    fill(giver, random.Random(SEED), 20000)
    written, done = [], threading.Event()
    taker.execute(PART).fetchall()

    def work():
        db = opened("taker.db")
        while not done.is_set():
            db.execute("INSERT INTO stock VALUES (?, 1, 'there')", (f"w{len(written)}",))
            written.append(len(written))
            time.sleep(0.002)
        db.close()

    writer = threading.Thread(target=work)
    writer.start()
    more, parts = {1}, 1
    while more == {1}:
        taker.execute("BEGIN IMMEDIATE")
        more = {row[3] for row in taker.execute(PART)}
        taker.execute("COMMIT")
        parts += 1
        time.sleep(0.1)
    done.set()
    writer.join()
    assert parts > 3 and len(written) > 3
    taker.execute("SELECT * FROM counter_pull('giver.db')").fetchall()
    assert set(content(giver)["stock"]) <= set(content(taker)["stock"])
    assert taker.execute("SELECT count(*) FROM stock WHERE sku LIKE 'w%'").fetchone() == (len(written),)


def test_a_table_that_is_passed_over_leaves_nothing_that_makes_parts_of_a_later_pull(place):
    giver, taker = opened("giver.db"), opened("taker.db")
    giver.execute("INSERT INTO customers VALUES ('a', 'a', 1)")
    for db, counter in (giver, ", 'n'"), (taker, ""):
        db.execute("CREATE TABLE kinds(k TEXT PRIMARY KEY NOT NULL, n INTEGER NOT NULL DEFAULT 0)")
        db.execute(f"SELECT counter_replicate('kinds'{counter})")
    giver.execute("INSERT INTO kinds VALUES ('x', 3)")
    assert [note for _, _, note, _ in taker.execute(PART) if note and "passed over" in note]
    assert left_over(taker) == 0


def test_a_sync_in_parts_gives_with_the_last_one(place):
    giver, taker = opened("giver.db"), opened("taker.db")
    fill(giver, random.Random(SEED), 20000)
    parts, more = 0, {1}
    while more == {1}:
        if parts == 1:
            taker.execute("INSERT INTO hits VALUES ('of the taker', 1)")
        rows = taker.execute("SELECT more, read_there, changed_there FROM counter_sync('giver.db', 'part')").fetchall()
        more, gave, parts = {row[0] for row in rows}, sum(row[2] for row in rows), parts + 1
        assert more == {0} or sum(row[1] for row in rows) == gave == 0
    assert parts > 2 and gave == 1
    assert digests(taker) == digests(giver) and content(taker) == content(giver)
    assert left_over(taker) == left_over(giver) == 0


@pytest.mark.parametrize("inside", [False, True])
def test_a_sync_that_levels_takes_all_at_once(place, inside):
    """Within a transaction, which levels nothing, it takes parts."""
    giver, taker = opened("giver.db"), opened("taker.db")
    fill(giver, random.Random(SEED), 20000)
    giver.execute("UPDATE stock SET n = 9")
    giver.execute("SELECT counter_bound('stock', 'n')")
    id, = taker.execute("SELECT counter_settle()").fetchone()
    giver.execute("INSERT INTO stock VALUES ('tea', 500, 'here')")
    giver.execute("INSERT INTO stock_counters(stock_counters, sku, n) VALUES (?, 'tea', 450)", (f"grant {id}",))
    if inside:
        taker.execute("ATTACH 'giver.db' AS giver")
        taker.execute("BEGIN")
    more = {more for more, in taker.execute("SELECT more FROM counter_sync(?, 'part')", ("giver" if inside else "giver.db",))}
    if inside:
        taker.execute("COMMIT")
    assert more == {int(inside)}
    if not inside:
        assert content(taker) == content(giver)
        assert sorted(giver.execute("SELECT rights FROM counter_rights('stock') WHERE key = '[\"tea\"]'")) == [(50,), (450,)]


@pytest.mark.parametrize("call, error", [
    ("SELECT * FROM counter_push('giver.db', 'part')", "counter_push: 'part' is of what is taken, and a push takes nothing"),
    ("SELECT * FROM counter_pull('giver.db', 'part, full')", "counter_pull: 'part' and 'full' exclude each other")])
def test_what_has_no_parts_says_so(place, call, error):
    with pytest.raises(sqlite3.OperationalError, match=error):
        opened("taker.db").execute(call).fetchall()
