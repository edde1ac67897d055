"""test_full_text.py - an index of FTS5 that triggers of the application keep beside a replicated table, made before or after
it was replicated: whatever is merged and written by hand, the index has the words of the rows, and no count is lost."""

import random

import pytest

from conftest import EXAMPLES, SEED
from files import connect

WORDS = ["tea", "jam", "oat", "rye", "fig"]
TABLE = ("CREATE TABLE docs(k TEXT PRIMARY KEY NOT NULL, code TEXT UNIQUE, body TEXT,"
         " n INTEGER NOT NULL DEFAULT 0 CHECK (n >= 0))")
REPLICATE = "SELECT counter_replicate('docs', 'n')"
INDEX = [
    "CREATE VIRTUAL TABLE fts USING fts5(body, n, content = 'docs')",
    "CREATE TRIGGER indexes AFTER INSERT ON docs BEGIN INSERT INTO fts(rowid, body, n) VALUES (NEW.rowid, NEW.body, NEW.n); END",
    "CREATE TRIGGER forgets AFTER DELETE ON docs BEGIN INSERT INTO fts(fts, rowid, body, n) VALUES ('delete', OLD.rowid, OLD.body, OLD.n); END",
    "CREATE TRIGGER renews AFTER UPDATE ON docs BEGIN INSERT INTO fts(fts, rowid, body, n) VALUES ('delete', OLD.rowid, OLD.body, OLD.n);"
    " INSERT INTO fts(rowid, body, n) VALUES (NEW.rowid, NEW.body, NEW.n); END"]


def new_file(path, *statements):
    db = connect(path)
    for sql in [*statements, "CREATE VIRTUAL TABLE temp.words USING fts5vocab(main, fts, instance)"]:
        db.execute(sql).fetchall()
    return db


def check_index(db):
    """The index knows each word of each row, and no other one."""
    indexed = sorted(db.execute("SELECT doc, col, term FROM words"))
    shown = db.execute("SELECT rowid, body, n FROM docs").fetchall()
    assert indexed == sorted([(rowid, "body", word) for rowid, body, _ in shown for word in (body or "").split()] +
                             [(rowid, "n", str(n)) for rowid, _, n in shown])
    db.execute("INSERT INTO fts(fts) VALUES ('integrity-check')")


def apart(db):
    return db.execute("SELECT state, column_name, row_key, shown, merged FROM counter_tracked WHERE row_key IS NOT NULL ORDER BY 1, 2, 3").fetchall()


@pytest.fixture(params=["older", "newer", "one older"])
def pair(tmp_path, request):
    """Two files, the path of the first one, and whether the trigger of an INSERT, then of an UPDATE, is older than those of
    the library in the second one."""
    order = {"older": [*INDEX, REPLICATE], "newer": [REPLICATE, *INDEX],
             "one older": [INDEX[0], INDEX[1], REPLICATE, INDEX[2], INDEX[3]]}[request.param]
    one, two = new_file(tmp_path / "a.db", TABLE, *INDEX, REPLICATE), new_file(tmp_path / "b.db", TABLE, *order)
    yield one, two, str(tmp_path / "a.db"), (request.param != "newer", request.param == "older")
    one.close()
    two.close()


def test_a_row_that_waits_is_inserted_by_hand_and_the_index_stays_right(pair):
    one, two, path, (is_older, is_update_older) = pair
    one.execute("INSERT INTO docs VALUES ('x', 'same', 'tea jam', 5)")
    two.execute("INSERT INTO docs VALUES ('y', 'same', 'oat', 1)")
    two.execute("SELECT * FROM counter_pull(?)", [path]).fetchall()
    assert ("waits", "n", "('x')", None, 5) in apart(two)
    two.execute("INSERT INTO docs VALUES ('x', 'other', 'rye fig', 2)")
    check_index(two)
    assert two.execute("SELECT * FROM docs WHERE k = 'x'").fetchall() == [("x", "other", "rye fig", 2 if is_older else 7)]
    assert apart(two) == ([("differs", "n", "('x')", 2, 7)] if is_older else [])
    two.execute("UPDATE docs SET n = n + 1, body = 'fig' WHERE k = 'x'")  # counts from what it shows
    check_index(two)
    assert apart(two) == ([("differs", "n", "('x')", 3, 8)] if is_update_older else [])
    two.execute("SELECT counter_seen(counter_source(), 0, 0)").fetchall()
    check_index(two)
    assert two.execute("SELECT n FROM docs WHERE k = 'x'").fetchall() == [(8,)] and apart(two) == []


def test_a_row_that_differs_is_changed_by_hand_and_the_index_stays_right(pair):
    one, two, path, (_, is_older) = pair
    one.execute("INSERT INTO docs VALUES ('x', 'c', 'tea jam', 5)")
    two.execute("SELECT * FROM counter_sync(?)", [path]).fetchall()
    for db in one, two:
        db.execute("UPDATE docs SET n = n - 4 WHERE k = 'x'")
    two.execute("SELECT * FROM counter_pull(?)", [path]).fetchall()
    assert apart(two) == [("differs", "n", "('x')", 1, -3)]
    two.execute("UPDATE docs SET n = n + 6, body = 'oat' WHERE k = 'x'")
    check_index(two)
    assert apart(two) == ([("differs", "n", "('x')", 7, 3)] if is_older else [])
    two.execute("SELECT * FROM counter_pull(?)", [path]).fetchall()
    check_index(two)
    assert two.execute("SELECT * FROM docs").fetchall() == [("x", "c", "oat", 3)] and apart(two) == []


class World:
    """Files that write, count and merge; what each statement changed a count by, by its key."""

    def __init__(self, draw, folder):
        self.draw, self.sums = draw, {}
        self.paths = [str(folder / f"{i}.db") for i in range(3)]
        orders = [[*INDEX, REPLICATE], [REPLICATE, *INDEX], [*INDEX[:3], REPLICATE, INDEX[3]]]
        draw.shuffle(orders)
        self.files = [new_file(path, TABLE, *order) for path, order in zip(self.paths, orders)]

    def write(self, db):
        k, code, n = self.draw.choice("abcd"), self.draw.choice(["p", "q", "r", "s", None]), self.draw.randint(-3, 6)
        body = " ".join(self.draw.sample(WORDS, self.draw.randint(0, 3)))
        was = db.execute("SELECT n FROM docs WHERE k = ?", [k]).fetchone()
        how = self.draw.choice(["INSERT", "INSERT", "UPDATE", "count", "code"])
        if how == "INSERT":
            sql, arguments, now = "INSERT OR IGNORE INTO docs VALUES (?, ?, ?, ?)", [k, code, body, n], n
        elif how == "UPDATE":
            sql, arguments, now = "UPDATE OR IGNORE docs SET body = ?, n = ? WHERE k = ?", [body, n, k], n
        elif how == "count":
            sql, arguments, now = "UPDATE OR IGNORE docs SET n = n + ? WHERE k = ?", [n, k], (was or [0])[0] + n
        else:
            sql, arguments, now = "UPDATE OR IGNORE docs SET code = ? WHERE k = ?", [code, k], (was or [0])[0]
        if db.execute(sql, arguments).rowcount > 0:
            self.sums[k] = self.sums.get(k, 0) + now - (was or [0])[0]

    def merge(self, i, j):
        db, how = self.files[i], self.draw.choice(["pull", "sync", "feed", "seen"])
        if how == "feed":
            feed = self.files[j].execute("SELECT table_name, key, change, seq, source FROM counter_changes(?)", [0]).fetchall()
            db.execute("BEGIN")
            for change in feed:
                db.execute(f"INSERT INTO counter_changes(table_name, key, change, seq, source) VALUES ({','.join('?' * len(change))})", change)
            db.execute("COMMIT")
        elif how == "seen":
            db.execute("SELECT counter_seen(counter_source(), 0, 0)").fetchall()
        else:
            db.execute(f"SELECT * FROM counter_{how}(?)", [self.paths[j]]).fetchall()

    def play(self, steps):
        for _ in range(steps):
            i, j = self.draw.sample(range(3), 2)
            if self.draw.random() < .6:
                self.write(self.files[i])
            else:
                self.merge(i, j)
            for db in self.files:
                check_index(db)

    def end(self):
        for _ in range(2):
            for i, j in (0, 1), (1, 2), (2, 0):
                self.files[i].execute("SELECT * FROM counter_sync(?)", [self.paths[j]]).fetchall()
        for db in self.files:
            db.execute("SELECT counter_seen(counter_source(), 0, 0)").fetchall()
            check_index(db)
            assert dict(db.execute("SELECT k, n FROM docs_counters")) == self.sums
            hidden = {key for _, _, key, _, _ in apart(db)}
            assert {k: n for k, n in db.execute("SELECT k, n FROM docs") if f"('{k}')" not in hidden}.items() <= self.sums.items()
            assert {f"('{k}')" for k in self.sums} - {f"('{k}')" for k, in db.execute("SELECT k FROM docs")} <= hidden
            db.close()


@pytest.mark.parametrize("number", range(max(3, EXAMPLES // 4)))
def test_the_index_has_the_words_of_the_rows_whatever_is_merged_and_written(tmp_path, number):
    world = World(random.Random(f"{SEED} full text {number}"), tmp_path)
    world.play(60)
    world.end()
