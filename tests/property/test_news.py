"""test_news.py - deltas find every row that has changed, and the news that tell of them
stay short."""
import random
import sqlite3

import pytest

from files import connect

KEYS = [f"key {i}" for i in range(3000)]


@pytest.fixture
def db(tmp_path):
    db = connect(tmp_path / "a.db")
    db.execute("PRAGMA synchronous = OFF")
    db.execute("CREATE VIRTUAL TABLE t USING counter(k TEXT PRIMARY KEY, n COUNTER)")
    yield db
    db.close()


def rise(db):
    """The next count takes a new number, as if a second had passed."""
    db.execute("UPDATE counter_replica SET risen = 0")


def number(db):
    return db.execute("SELECT sequence FROM counter_replica").fetchone()[0]


def changed_since(db, since):
    return {key for key, in db.execute("SELECT json_extract(counter_key_json(key), '$[0]') FROM counter_changes(?)",
                                       (since,))}


def check(db):
    db.execute("INSERT INTO t(t) VALUES ('integrity-check')")


def count(db, keys):
    db.execute("BEGIN")
    db.executemany("INSERT INTO t VALUES (?, 1)", ((key,) for key in keys))
    db.execute("COMMIT")


def ids_in_news(db):
    """A row id below 2^13 takes two bytes at most."""
    return db.execute("SELECT total(length(ids)) / 2 FROM t_news").fetchone()[0]


@pytest.mark.parametrize("batch", [1, 7, 500])
def test_the_news_of_many_changes_stay_in_proportion_to_the_rows(db, batch):
    """10 times as many changes as rows: without a sweep there would be 30,000 ids."""
    choose = random.Random(batch)
    for step in range(0, 10 * len(KEYS), batch):
        if step % 50 < batch:
            rise(db)
        count(db, choose.choices(KEYS, k=batch))
    check(db)
    assert ids_in_news(db) < 4 * len(KEYS) + 3000


def leb128(n):
    """A number of the news: zigzag, then LEB128."""
    n, out = 2 * n if n >= 0 else -2 * n - 1, b""
    while n >= 0x80:
        out, n = out + bytes([n & 0x7F | 0x80]), n >> 7
    return out + bytes([n])


def news(db):
    """_seq -> its ids, or how far the sweep has come."""
    return dict(db.execute("SELECT _seq, ids FROM t_news"))


def listed(ids):
    return b"".join(map(leb128, ids))


def ids_of(news):
    """The ids that a row of the news lists."""
    ids, n, shift = [], 0, 0
    for byte in news:
        n, shift = n | (byte & 0x7F) << shift, shift + 7
        if byte < 0x80:
            ids.append(n // 2 if n % 2 == 0 else -(n // 2) - 1)
            n, shift = 0, 0
    return ids


def all_ids(db):
    return [rowid for seq, ids in news(db).items() if seq > 0 for rowid in ids_of(ids)]


def replace_news(db, *rows):
    """Instead of all news: these, of the number at hand. Returns the first of them."""
    first = (number(db) << 12) + 1
    db.execute("DELETE FROM t_news")
    db.executemany("INSERT INTO t_news VALUES (?, ?)", ((first + i, ids) for i, ids in enumerate(rows)))
    return first


def live_rows(db):
    return [rowid for rowid, in db.execute("SELECT _id FROM t_cells ORDER BY _id")]


@pytest.mark.parametrize("stale, rows_seen", [(1000, 6), (250, 6), (249, 2), (0, 2)])
def test_a_sweep_looks_at_three_ids_for_two_and_goes_on_while_a_quarter_is_out_of_date(db, stale, rows_seen):
    """2,000 ids are appended, so that the chance in it makes no difference; a step looks at two rows of the news, and
    puts what it keeps of them into the second."""
    count(db, KEYS[:2000])
    live = live_rows(db)
    gone = [1000000 + i for i in range(stale)]
    kept = live[stale:1000] + live[1000 + stale:]
    pair = [listed(live[stale:1000] + gone), listed(live[1000 + stale:] + gone)]
    first = replace_news(db, *pair * 10, listed(live))
    rows = {seq: ids for seq, ids in news(db).items()}
    rise(db)
    count(db, KEYS[2000:] + [f"more {i}" for i in range(1000)])
    found = news(db)
    assert found[0] == leb128(first + rows_seen - 1)
    for i in range(0, rows_seen, 2):
        del rows[first + i]
        rows[first + i + 1] = listed(kept)
    assert {seq: ids for seq, ids in found.items() if first <= seq <= first + 20} == {
        seq: ids for seq, ids in rows.items() if ids}
    check(db)


def test_a_step_of_a_sweep_looks_at_half_as_many_ids_as_there_are_rows(db):
    """At 6,000 of 12,000 rows; two steps are due, but nothing is out of date, so there is no second one."""
    count(db, range(8000))
    live = live_rows(db)
    first = replace_news(db, *(listed(live[i:i + 1000]) for i in range(0, 8000, 1000)))
    rise(db)
    count(db, range(8000, 12000))
    found = news(db)
    assert found[0] == leb128(first + 5)
    assert found[first + 5] == listed(live[:6000])
    assert [seq for seq in found if first <= seq < first + 8] == [first + 5, first + 6, first + 7]
    check(db)


def test_a_step_of_a_sweep_looks_at_32768_ids_at_most(db):
    """Of a table whose last row id is a billion; 32,768 ids are appended for three steps."""
    count(db, KEYS[:1])
    db.execute("UPDATE t_cells SET _id = 1000000000")
    gone = listed(range(2000000000, 2000000900))
    first = replace_news(db, *[gone] * 120)
    rise(db)
    count(db, range(32768))
    found = news(db)
    assert found[0] == leb128(first + 107)
    assert [seq for seq in found if first <= seq < first + 120] == list(range(first + 108, first + 120))


def test_an_id_that_a_sweep_sees_twice_stays_once(db):
    count(db, KEYS[:500])
    live = live_rows(db)
    replace_news(db, listed(live), listed(live[::-1]))
    rise(db)
    count(db, KEYS[500:2500])
    assert sorted(all_ids(db)) == live_rows(db)
    check(db)


def test_a_sweep_keeps_the_rows_that_hold_wherever_they_stand(db):
    """Row ids near to each other and far apart, the first that there is, and as many of no row, among them the last."""
    choose = random.Random(7)
    spread = {*(choose.randrange(-2**63, 0) for _ in range(300)),
              *(choose.randrange(3000, 8000) for _ in range(600)), *(8 * i for i in range(1000, 1050))}
    ids = [-2**63, *choose.sample(sorted(spread), len(spread))]
    count(db, KEYS[:len(ids) // 2])
    db.executemany("UPDATE t_cells SET _id = ? WHERE _id = ?", zip(ids, live_rows(db)))
    replace_news(db, listed(ids + [2**63 - 1]))
    rise(db)
    db.execute("DELETE FROM t WHERE k IN (SELECT k FROM t LIMIT 100)")
    count(db, [f"more {i}" for i in range(2000)])
    assert sorted(all_ids(db)) == live_rows(db)
    check(db)


class Interrupt:
    """Comes so many looks of SQLite behind the first write of a sweep: mostly between two statements, where it takes
    nothing back."""

    def __init__(self, db, looks):
        self.db, self.looks, self.begun = db, looks, False
        db.set_trace_callback(self.see)
        db.set_progress_handler(self.look, 1)

    def see(self, sql):
        self.begun = self.begun or "t_news" in sql and ("INSERT OR REPLACE" in sql or "DELETE" in sql)

    def look(self):
        self.looks -= self.begun
        if self.begun and self.looks == 0:
            self.db.interrupt()


def test_a_sweep_that_is_interrupted_loses_no_row():
    """A feed of a database in memory writes the news of what the open transaction has taken, and an interrupt may
    end it alone."""
    went_on, columns = 0, "table_name, key, column_name, generation, cell, seq, source"
    peer = connect(":memory:")
    peer.execute("CREATE VIRTUAL TABLE t USING counter(k TEXT PRIMARY KEY, n COUNTER)")
    count(peer, KEYS[300:1000])
    changes = peer.execute(f"SELECT {columns} FROM counter_changes(0)").fetchall()
    peer.close()
    for looks in range(1, 60):
        db = connect(":memory:")
        db.execute("CREATE VIRTUAL TABLE t USING counter(k TEXT PRIMARY KEY, n COUNTER)")
        count(db, KEYS[:700])
        rise(db)
        db.execute("BEGIN")
        db.executemany(f"INSERT INTO counter_changes({columns}) VALUES (?, ?, ?, ?, ?, ?, ?)", changes)
        Interrupt(db, looks)
        with pytest.raises(sqlite3.OperationalError, match="interrupted"):
            db.execute("SELECT count(*) FROM counter_changes(1)").fetchall()
        db.set_progress_handler(None, 0)
        if db.in_transaction:
            db.execute("COMMIT")
            went_on += 1
        check(db)
        db.close()
    assert went_on > 0


def test_a_connection_that_takes_only_short_blobs_sweeps_in_short_steps(db):
    """With half as many ids as rows in a step one row of news would be longer than it takes."""
    keys = [f"key {i}" for i in range(40000)]
    db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 20000)
    for _ in range(3):
        rise(db)
        count(db, keys)
    check(db)
    assert db.execute("SELECT total(length(ids)) < 600000, max(length(ids)) <= 20000 FROM t_news").fetchall() == [(1, 1)]


def test_a_row_of_news_that_is_more_than_a_step_is_swept_by_itself(db):
    """The rows with the highest ids, by which a step is measured, go below a floor."""
    count(db, [f"key {i:05}" for i in range(20000, 0, -1)])
    for _ in range(2):
        rise(db)
        count(db, [f"key {i:05}" for i in range(1, 20001)])
    db.execute("INSERT INTO t(t, k) VALUES ('purge below', 'key 19000')")
    for _ in range(40):
        rise(db)
        count(db, [f"key {i:05}" for i in range(19001, 20001)])
    check(db)
    assert db.execute("SELECT max(length(ids)) FROM t_news").fetchone()[0] < 8000


def test_a_sweep_leaves_the_newest_number_alone_and_begins_again(db):
    """The appended rows all hold: those of the numbers before the newest come to stand in one."""
    count(db, KEYS[:2000])
    newest, = db.execute("SELECT max(_seq) FROM t_cells").fetchone()
    of_newest = [rowid for rowid, in db.execute("SELECT _id FROM t_cells WHERE _seq = ?", (newest,))]
    found = news(db)
    assert found[newest << 12] == b"".join(map(leb128, of_newest))
    assert 0 < len(of_newest) < 2000
    assert found[0] == leb128(0)
    assert len(found) == 3


def test_hot_rows_are_in_the_news_once_for_each_number(db):
    for _ in range(200):
        count(db, ["hot"])
    assert db.execute("SELECT total(length(ids)) FROM t_news WHERE _seq > 0").fetchone()[0] < 10


def test_a_delta_has_all_that_changed_since_and_little_more(db):
    choose = random.Random(1)
    marks = []  # (number, what has changed since)
    for _ in range(60):
        rise(db)
        keys = set(choose.choices(KEYS, k=choose.choice([1, 20, 400])))
        count(db, keys)
        for _, since in marks:
            since |= keys
        rise(db)
        count(db, ["ticks"])
        marks.append((number(db), {"ticks"}))
    for mark, since in marks:
        got = changed_since(db, mark)
        assert since <= got
        assert got <= since | {"ticks"}
    check(db)


def test_a_rollback_to_a_savepoint_loses_no_news(db):
    """Enough ids to be written down before the end of the transaction, then taken back."""
    mark = None
    many = [f"row {i}" for i in range(400000)]
    count(db, ["first"])
    rise(db)
    count(db, ["second"])
    mark = number(db)
    db.execute("BEGIN")
    db.executemany("INSERT INTO t VALUES (?, 1)", ((key,) for key in many[:1500]))
    db.execute("SAVEPOINT s")
    db.executemany("INSERT INTO t VALUES (?, 1)", ((key,) for key in many[1500:]))
    assert db.execute("SELECT count(*) FROM t_news WHERE _seq >= ? << 12", (mark,)).fetchone()[0] > 100
    db.execute("ROLLBACK TO s")
    db.execute("INSERT INTO t VALUES ('last', 1)")
    db.execute("COMMIT")
    assert changed_since(db, mark) >= {*many[:1500], "last"}
    check(db)


def test_after_a_rollback_to_a_savepoint_only_rows_of_the_transaction_are_looked_for(db):
    count(db, KEYS[:100])
    mark, = db.execute("SELECT max(_seq) + 1 FROM t_cells").fetchone()
    rise(db)
    db.execute("BEGIN")
    db.execute("INSERT INTO t VALUES ('first', 1)")
    db.execute("SAVEPOINT s")
    db.execute("INSERT INTO t VALUES ('taken back', 1)")
    check(db)  # writes the news down
    db.execute("ROLLBACK TO s")
    db.execute("INSERT INTO t VALUES ('last', 1)")
    db.execute("COMMIT")
    assert changed_since(db, mark) == {"first", "last"}
    assert sum(len(ids) for seq, ids in news(db).items() if seq >= mark << 12) < 20
    check(db)


def test_a_memory_database_gives_what_is_committed_and_nothing_before(tmp_path):
    db = connect(":memory:")
    db.execute("ATTACH ? AS other", (str(tmp_path / "b.db"),))
    db.execute("CREATE VIRTUAL TABLE t USING counter(k TEXT PRIMARY KEY, n COUNTER)")
    db.execute("INSERT INTO t VALUES ('a', 1)")
    db.execute("SELECT * FROM counter_push('other')").fetchall()
    rise(db)
    db.execute("BEGIN")
    db.execute("INSERT INTO t VALUES ('b', 1)")
    for give in ("SELECT * FROM counter_changes(0)", "SELECT * FROM counter_push('other')"):
        with pytest.raises(sqlite3.OperationalError, match="main has counted in this transaction"):
            db.execute(give).fetchall()
    db.execute("INSERT INTO t VALUES ('c', 1)")
    since = number(db)
    db.execute("COMMIT")
    assert changed_since(db, since) == {"b", "c"}
    assert db.execute("SELECT rows_changed FROM counter_push('other')").fetchall() == [(2,)]
    assert db.execute("SELECT k, n FROM other.t ORDER BY k").fetchall() == [("a", 1), ("b", 1), ("c", 1)]
    check(db)
    db.close()


def test_renames_and_drops_in_a_transaction_keep_the_news_apart(db):
    db.execute("BEGIN")
    db.execute("INSERT INTO t VALUES ('a', 1)")
    db.execute("ALTER TABLE t RENAME TO u")
    db.execute("INSERT INTO u VALUES ('b', 1)")
    db.execute("CREATE VIRTUAL TABLE w USING counter(k TEXT PRIMARY KEY, n COUNTER)")
    db.execute("INSERT INTO w VALUES ('c', 1)")
    db.execute("ALTER TABLE u RENAME TO t")
    db.execute("INSERT INTO t VALUES ('d', 1)")
    db.execute("DROP TABLE w")
    db.execute("COMMIT")
    check(db)
    assert changed_since(db, 1) == {"a", "b", "d"}


def test_a_table_whose_creation_is_taken_back_has_no_news(db):
    db.execute("BEGIN")
    db.execute("INSERT INTO t VALUES ('a', 1)")
    db.execute("SAVEPOINT s")
    db.execute("CREATE VIRTUAL TABLE w USING counter(k TEXT PRIMARY KEY, n COUNTER)")
    db.execute("INSERT INTO w VALUES ('b', 1)")
    db.execute("INSERT INTO t VALUES ('c', 1)")
    db.execute("ROLLBACK TO s")
    db.execute("COMMIT")
    check(db)
    assert changed_since(db, 1) == {"a"}


@pytest.mark.parametrize("taken_back", [
    ["CREATE TABLE u_cells(x)", "BEGIN", "INSERT INTO t VALUES ('a', 1)", "!ALTER TABLE t RENAME TO u"],
    ["BEGIN", "INSERT INTO t VALUES ('a', 1)", "SAVEPOINT s", "ALTER TABLE t RENAME TO u", "ROLLBACK TO s"],
    ["BEGIN", "INSERT INTO t VALUES ('a', 1)", "SAVEPOINT s", "DROP TABLE t", "ROLLBACK TO s"],
    ["CREATE TRIGGER no BEFORE DELETE ON counter_tables BEGIN SELECT raise(ABORT, 'no'); END",
     "BEGIN", "INSERT INTO t VALUES ('a', 1)", "!DROP TABLE t"]])
def test_a_rename_or_drop_that_is_taken_back_loses_no_news(db, taken_back):
    count(db, ["before"])
    rise(db)
    for sql in taken_back:
        if sql.startswith("!"):
            with pytest.raises(sqlite3.Error):
                db.execute(sql[1:])
        else:
            db.execute(sql)
    db.execute("COMMIT")
    check(db)
    assert "a" in changed_since(db, number(db))


def test_a_source_that_renames_between_counts_gives_all(db, tmp_path):
    peer = connect(tmp_path / "b.db")
    pull = f"SELECT * FROM counter_pull('{tmp_path / 'a.db'}')"
    name = "t"
    for step in range(40):
        rise(db)
        db.execute("BEGIN")
        db.execute(f"INSERT INTO {name} VALUES (?, 1)", (f"key {step}",))
        if step % 3 == 0:
            db.execute("SAVEPOINT s")
        other = "u" if name == "t" else "t"
        db.execute(f"ALTER TABLE {name} RENAME TO {other}")
        db.execute(f"INSERT INTO {other} VALUES (?, 1)", (f"other {step}",))
        if step % 3 == 0:
            db.execute("ROLLBACK TO s")
        else:
            name = other
        db.execute("COMMIT")
        peer.execute(pull).fetchall()
        assert (peer.execute("SELECT k, n FROM t ORDER BY k").fetchall()
                == db.execute(f"SELECT k, n FROM {name} ORDER BY k").fetchall())
    peer.close()


@pytest.mark.parametrize("end", ["COMMIT", "ROLLBACK"])
def test_a_table_dropped_in_an_attached_file_leaves_nothing_behind(db, tmp_path, end):
    db.execute("ATTACH ? AS o", (str(tmp_path / "o.db"),))
    db.execute("CREATE VIRTUAL TABLE o.t USING counter(k TEXT PRIMARY KEY, n COUNTER)")
    db.execute("BEGIN")
    db.execute("INSERT INTO o.t VALUES ('a', 1)")
    db.execute("DROP TABLE o.t")
    db.execute(end)
    db.execute("DETACH o")
    db.execute("INSERT INTO t VALUES ('b', 1)")
    check(db)
    db.execute("ATTACH ? AS o", (f"file:{tmp_path / 'o.db'}?mode=ro",))
    db.execute("INSERT INTO t VALUES ('c', 1)")
    check(db)


def test_a_table_that_is_counted_in_and_dropped_has_no_news(db):
    db.execute("BEGIN")
    db.execute("INSERT INTO t VALUES ('a', 1)")
    db.execute("DROP TABLE t")
    db.execute("COMMIT")


def test_a_rename_that_is_taken_back_is_followed_by_a_higher_number(db):
    db.execute("BEGIN")
    db.execute("INSERT INTO t VALUES ('a', 1)")
    db.execute("SAVEPOINT s")
    db.execute("ALTER TABLE t RENAME TO u")
    db.execute("ROLLBACK TO s")
    rise(db)
    db.execute("INSERT INTO t VALUES ('b', 1)")
    db.execute("COMMIT")
    check(db)


def test_no_row_has_a_higher_number_than_its_file(db):
    rise(db)
    db.execute("BEGIN")
    db.execute("SAVEPOINT s")
    db.execute("INSERT INTO t VALUES ('a', 1)")
    db.execute("ROLLBACK TO s")
    db.execute("INSERT INTO t VALUES ('b', 1)")
    db.execute("COMMIT")
    assert number(db) >= db.execute("SELECT max(_seq) FROM t_cells").fetchone()[0]


def test_a_number_is_given_to_a_thousand_rows_and_counts_a_hot_one_once(db):
    for i in range(4):
        count(db, [f"{i} {j}" for j in range(400)])
    assert db.execute("SELECT max(n) FROM (SELECT count(*) AS n FROM t_cells GROUP BY _seq)").fetchone()[0] <= 1000
    rise(db)
    before = db.execute("SELECT count(*) FROM t_news").fetchone()[0]
    count(db, ["hot"] * 1500)
    assert db.execute("SELECT count(*) FROM t_news").fetchone()[0] <= before + 1


def test_a_delta_shows_a_row_once(db):
    count(db, ["z"])
    rise(db)
    count(db, ["a"])
    mark = number(db)
    rise(db)
    count(db, ["a"])
    assert [key for key, in db.execute("SELECT counter_key_json(key) FROM counter_changes(?)", (mark,))] == ['["a"]']


def test_rows_of_two_numbers_in_one_transaction_are_found_by_both(db):
    count(db, [f"first {i}" for i in range(600)])
    count(db, [f"second {i}" for i in range(1400)])
    check(db)


def test_a_pull_of_many_keys_in_another_order_misses_none(db, tmp_path):
    """The taking file rests from following the other's order, and follows it again."""
    peer = connect(tmp_path / "b.db")
    peer.execute("CREATE VIRTUAL TABLE t USING counter(k TEXT PRIMARY KEY, n COUNTER)")
    count(db, random.Random(1).sample(KEYS, len(KEYS)))
    count(peer, KEYS[:2000] + ["another"] + KEYS[2000:])
    found = peer.execute("SELECT rows_read, rows_changed FROM counter_pull(?)", (str(tmp_path / "a.db"),)).fetchone()
    assert found == (len(KEYS), len(KEYS))
    assert peer.execute("SELECT count(*), sum(n), min(n) FROM t").fetchone() == (len(KEYS) + 1, 2 * len(KEYS) + 1, 1)
    check(peer)
    peer.close()
