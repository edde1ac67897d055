"""test_own.py - what files upload by their own changes, to a hub which gives everything to all, is all that they know.

Files count, reset, delete, write rows of a replicated table, pull from each other, upload to a hub since a mark and
download from it. The hub is a file that only takes feeds. In the end it, and all files that have downloaded, hold what
files hold that have pulled everything from everybody.
"""

import random
import shutil

import pytest

from conftest import EXAMPLES, SEED
from files import connect

TAKE = "INSERT INTO counter_changes VALUES (?, ?, ?, ?, ?)"


def rows(db, sql, *arguments):
    return db.execute(sql, arguments).fetchall()


class File:
    def __init__(self, path):
        self.path, self.mark, self.db = str(path), 0, connect(str(path))
        self.db.execute("PRAGMA synchronous = OFF")
        self.db.execute("CREATE VIRTUAL TABLE t USING counter(k TEXT PRIMARY KEY, n COUNTER, m COUNTER)")
        self.db.execute("CREATE TABLE r(k TEXT PRIMARY KEY, v, n INTEGER)")
        rows(self.db, "SELECT counter_replicate('r', 'n')")

    def act(self, draw):
        key = draw.choice("abc")
        sql, arguments = draw.choice([
            ("INSERT INTO t VALUES (?, ?, ?)", (key, draw.randint(-5, 9), draw.randint(1, 9))),
            ("INSERT INTO t VALUES (?, ?, ?)", (key, draw.randint(-5, 9), draw.randint(1, 9))),
            ("INSERT INTO t(t, k) VALUES ('reset', ?)", (key,)), ("DELETE FROM t WHERE k = ?", (key,)),
            ("INSERT OR IGNORE INTO r VALUES (?, ?, ?)", (key, draw.random(), draw.randint(0, 9))),
            ("UPDATE r SET v = ? WHERE k = ?", (draw.random(), key)), ("UPDATE r SET n = n + 3 WHERE k = ?", (key,)),
            ("DELETE FROM r WHERE k = ?", (key,)), ("INSERT INTO t(t) VALUES ('optimize')", ())])
        self.db.execute(sql, arguments)

    def upload(self, hub):
        feed = rows(self.db, "SELECT table_name, key, change, seq, source, upto "
                    "FROM counter_changes(?) WHERE own = 1", self.mark)
        hub.db.execute("BEGIN")
        for row in feed:
            hub.db.execute(TAKE, row[:5])
        hub.db.execute("COMMIT")
        if feed:
            self.mark = feed[0][5]

    def download(self, hub):
        for row in rows(hub.db, "SELECT * FROM counter_changes(0)"):
            self.db.execute(TAKE, row[:5])

    def shows(self):
        return [sorted(rows(self.db, f"SELECT * FROM {table}"), key=repr) for table in ("t", "r")]


@pytest.mark.parametrize("number", range(EXAMPLES // 4))
def test_a_hub_that_gets_the_own_changes_of_all_has_everything(tmp_path, number):
    draw = random.Random(f"{SEED} own {number}")
    files = [File(tmp_path / f"{i}.db") for i in range(draw.randint(2, 4))]
    hub = File(tmp_path / "hub.db")
    for _ in range(draw.choice([10, 40])):
        one, other = draw.sample(files, 2)
        what = draw.random()
        if what < .6:
            one.act(draw)
        elif what < .7:
            rows(one.db, "SELECT * FROM counter_pull(?)", other.path)
        elif what < .85:
            one.upload(hub)
        else:
            one.download(hub)
    copies = []
    for i, file in enumerate(files):  # that pull from each other
        shutil.copy(file.path, tmp_path / f"copy{i}.db")
        copies.append(connect(str(tmp_path / f"copy{i}.db")))
    for _ in range(2):
        for i in range(len(files)):
            for other in range(len(files)):
                if i != other:
                    rows(copies[i], "SELECT * FROM counter_pull(?, 'full')", str(tmp_path / f"copy{other}.db"))
    for file in files:
        file.upload(hub)
    for file in files:
        file.download(hub)
    wanted = [sorted(rows(copies[0], f"SELECT * FROM {table}"), key=repr) for table in ("t", "r")]
    assert [file.shows() for file in [hub, *files]] == [wanted] * (len(files) + 1)


def test_one_increment_among_many_devices_is_one_small_row(tmp_path):
    hub = File(tmp_path / "hub.db")
    file = File(tmp_path / "a.db")
    many = rows(hub.db, "SELECT counter_collect(printf('00000000-0000-4000-8000-%012x', value), 1, 1, 1) FROM "
                "(WITH RECURSIVE r(value) AS (SELECT 1 UNION ALL SELECT value + 1 FROM r WHERE value < 1000) SELECT value FROM r)")
    file.db.execute("""INSERT INTO counter_changes VALUES ('t', counter_key('a'), counter_change_of(
        '{"tells":"row","columns":[{"name":"n","kind":"counter","generation":1,"cell":' || counter_json(?) || '}]}'),
        1, '00000000-0000-4000-8000-000000000001')""", many[0])
    mark = rows(file.db, "SELECT upto FROM counter_changes(0)")[0][0]
    assert rows(file.db, "SELECT count(*) FROM counter_changes(0) WHERE own = 1") == [(0,)]
    file.db.execute("INSERT INTO t(k, n) VALUES ('a', 1)")
    (size, whole), = rows(file.db, "SELECT length(key) + length(change), (SELECT length(change) FROM counter_changes(?)) "
                          "FROM counter_changes(?) WHERE own = 1", mark, mark)
    assert size < 200 and whole > 15000
