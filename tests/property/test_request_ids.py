"""test_request_ids.py - requests that are repeated: each counts once, whatever happens in
between."""

import os
import pathlib
import random
import re
import sqlite3
import subprocess
import sys
import time

import pytest

from conftest import SEED
from files import connect
from randomly import given, integers, lists, sampled_from, tuples

WORKER = str(pathlib.Path(__file__).with_name("worker.py"))
TABLE = "CREATE VIRTUAL TABLE t USING counter(k TEXT PRIMARY KEY, a COUNTER, b COUNTER)"
SQL = pathlib.Path(__file__).parents[2] / "sql"
SLOTS = {'"{keys}"': "k", '"{constraint}"': "k > :key", "{schema}": "main", "{table}": "t"}
INSERT = "INSERT {}INTO t(t, k, a, request_id) VALUES (?, ?, ?, ?)"

requests = tuples(sampled_from(["", "OR IGNORE "]), sampled_from([None, "reset"]),
                  sampled_from("xy"), integers(-3, 3),
                  sampled_from([None, "1", "2", "3", "4", b"1"]))
steps = lists(requests | sampled_from(["delete x", "delete y", "save", "back", "release"]),
              max_size=25)


class Model:
    """Values by key, None for a deleted row; what each request has asked for."""

    def __init__(self):
        self.values, self.asked, self.saved = {}, {}, []

    def save(self):
        self.saved.append((dict(self.values), dict(self.asked)))

    def back(self):
        self.values, self.asked = (dict(part) for part in self.saved[-1])

    def insert(self, conflict, command, key, n, request):
        """A request of a row that OR IGNORE skips is remembered. Returns the error that is to
        come, or None."""
        asks = (command, key, n)
        if request is not None and request in self.asked:
            return None if self.asked[request] == asks else "was taken before"
        live = self.values.get(key) is not None
        if command:
            self.values[key] = n
        elif not (live and conflict):
            self.values[key] = n + self.values[key] if live else n
        if request is not None:
            self.asked[request] = asks
        return None


def run_step(db, model, step):
    if isinstance(step, tuple):
        conflict, command, key, n, request = step
        expected = model.insert(*step)
        run = lambda: db.execute(INSERT.format(conflict), (command, key, n, request))
        if expected:
            with pytest.raises(sqlite3.Error, match=expected):
                run()
        else:
            run()
    elif step.startswith("delete"):
        db.execute("DELETE FROM t WHERE k = ?", (step[-1],))
        if step[-1] in model.values:
            model.values[step[-1]] = None
    elif step == "save":
        db.execute("SAVEPOINT s")
        model.save()
    elif model.saved and step == "back":
        db.execute("ROLLBACK TO s")
        model.back()
    elif model.saved and step == "release":
        db.execute("RELEASE s")
        model.saved.pop()


@given(todo=steps)
def test_requests_count_once_in_any_order_of_statements_and_savepoints(todo):
    db, model = connect(":memory:"), Model()
    db.execute(TABLE)
    for step in todo:
        run_step(db, model, step)
    live = {key: value for key, value in model.values.items() if value is not None}
    assert dict(db.execute("SELECT k, a FROM t")) == live
    assert {row[0] for row in db.execute("SELECT id FROM counter_requests")} == set(model.asked)
    db.close()


@pytest.mark.parametrize("journal", ["WAL", "DELETE"])
def test_after_kill_9_every_request_is_counted_once_when_it_is_repeated(tmp_path, journal):
    chance, done = random.Random(SEED), 0
    path = str(tmp_path / "one.db")
    db = connect(path)
    db.execute(f"PRAGMA journal_mode = {journal}")
    db.execute(TABLE)
    db.close()
    for _ in range(15):
        worker = subprocess.Popen([sys.executable, WORKER, "request", path, str(done)],
                                  stdout=subprocess.PIPE)
        os.read(worker.stdout.fileno(), 1)
        time.sleep(chance.uniform(0, 0.05))
        worker.kill()
        done += 1 + len(worker.communicate()[0])
    db = connect(path, timeout=5)
    for one in range(done + 1):  # the last that was acknowledged, and the one after it
        if one >= done - 1:
            db.execute("INSERT INTO t(k, a, request_id) VALUES ('k', 1, ?)", (f"r{one}",))
    assert db.execute("SELECT a, (SELECT count(*) FROM counter_requests) FROM t").fetchone() == (done + 1,) * 2
    db.close()


def test_nothing_else_is_looked_for_among_all_requests_after_analyze():
    """ANALYZE tells SQLite that nearly all rows are of one table and one kind, and that to search for these is no use."""
    db, plans = connect(":memory:"), {}
    db.execute(TABLE)
    for i in range(200):
        db.execute("INSERT INTO t(k, a, request_id) VALUES ('k', 1, ?)", [f"{i:036}"])
        db.execute("INSERT INTO counter_state(tab, kind, row, name, value) VALUES (1, 'pending', 1, ?, x'c101')", [f"{i:036}"])
    db.execute("ANALYZE")
    for path in SQL.glob("*.sql"):
        for name, text in re.findall(r"^-- name: (\w+)\n(SELECT .*?;)$", path.read_text(), re.DOTALL | re.MULTILINE):
            if not re.search(r"counter_(state|requests)\b", text) or name in ("STATE_CHECK", "REQUESTS_CHECK", "SCHEMA_DESCRIBE_STATE"):
                continue
            for slot, value in SLOTS.items():
                text = text.replace(slot, value)
            parameters = re.findall(r":\w+", text)
            plans[name] = [row[3] for row in db.execute(f"EXPLAIN QUERY PLAN {text}", {each[1:]: None for each in parameters})]
    assert {"REQUESTS_FIND", "COLUMNS_ALL", "FLOORS_READ", "APART_ANY", "SYNC_NEWEST", "OPENINGS_ANSWERS"} <= {*plans}
    assert [name for name, plan in plans.items() if any(re.search(r"SCAN.*counter_(state|requests)\b", step) for step in plan)] == []
    db.close()


def test_a_row_that_fails_after_its_request_was_written_spoils_the_transaction(tmp_path):
    db = connect(str(tmp_path / "one.db"))
    db.execute(TABLE)
    db.execute("INSERT INTO t VALUES ('x', 1, 1)")
    db.execute("BEGIN")
    db.execute("INSERT INTO t(k, a, request_id) VALUES ('y', 1, 'fine')")
    db.set_authorizer(lambda action, table, *_: sqlite3.SQLITE_DENY if
                      action == sqlite3.SQLITE_UPDATE and table == "t_cells" else sqlite3.SQLITE_OK)
    with pytest.raises(sqlite3.Error, match="not authorized"):
        db.execute("INSERT INTO t(t, k, a, request_id) VALUES ('reset', 'x', 5, 'r')")
    with pytest.raises(sqlite3.Error, match="failed half-way"):
        db.execute("COMMIT")
    assert not db.in_transaction
    assert db.execute("SELECT count(*) FROM counter_requests").fetchone() == (0,)
    db.set_authorizer(None)
    db.execute("INSERT INTO t(t, k, a, request_id) VALUES ('reset', 'x', 5, 'r')")
    assert db.execute("SELECT * FROM t").fetchall() == [("x", 5, 0)]
    db.close()


def test_another_request_with_the_same_id_is_an_integrity_error_and_is_never_skipped():
    with connect(":memory:") as db:
        db.execute(TABLE)
        insert = "INSERT {} INTO t(k, a, request_id) VALUES ('x', ?, 'r')"
        assert db.execute(insert.format(""), [1]).lastrowid == 1
        assert db.execute(insert.format(""), [1]).lastrowid == 0
        for clause, kind, code in ("", sqlite3.IntegrityError, 2067), ("OR FAIL", sqlite3.IntegrityError, 2067), \
                ("OR IGNORE", sqlite3.OperationalError, 1):
            with pytest.raises(kind, match="was taken before for 'x': a 1, not for 'x': a 2") as refused:
                db.execute(insert.format(clause), [2])
            assert getattr(refused.value, "sqlite_errorcode", code) == code
        assert db.execute("SELECT a FROM t").fetchall() == [(1,)]


def test_pulls_carry_no_requests(tmp_path):
    one, two = (connect(str(tmp_path / name)) for name in ("one.db", "two.db"))
    one.execute(TABLE)
    one.execute("INSERT INTO t(k, a, request_id) VALUES ('x', 1, 'r')")
    two.execute("SELECT * FROM counter_pull(?)", (str(tmp_path / "one.db"),)).fetchall()
    two.execute("INSERT INTO t(k, a, request_id) VALUES ('x', 1, 'r')")
    assert two.execute("SELECT a FROM t").fetchone() == (2,)
    one.close()
    two.close()


def test_two_connections_that_repeat_one_request_count_it_once(tmp_path):
    path = str(tmp_path / "one.db")
    one, two = connect(path), connect(path, timeout=5)
    one.execute(TABLE)
    for n in range(20):
        for db in (one, two):
            db.execute("INSERT INTO t(k, a, request_id) VALUES ('x', 1, ?)", (str(n),))
    assert one.execute("SELECT a FROM t").fetchone() == (20,)
    one.close()
    two.close()


# ---- counter_add ---------------------------------------------------------------------------------

@pytest.mark.parametrize("statement", [
    "SELECT x, x FROM (SELECT counter_add('t', 'a', 1, k) AS x FROM t)",
    "SELECT x FROM (SELECT counter_add('t', 'a', 1, k) AS x FROM t) WHERE x > 0",
    "SELECT x FROM (SELECT counter_add('t', 'a', 1, k) AS x FROM t) ORDER BY x + 1",
    "SELECT max(x), x FROM (SELECT counter_add('t', 'a', 1, k) AS x FROM t)",
    "SELECT x, x FROM (SELECT counter_add('t', 'a', 1, 'x') AS x)",
    "SELECT (SELECT counter_add('t', 'a', 1, 'x')) AS x FROM t WHERE x > 0",
    "SELECT counter_add('t', 'a', 1, 'x'), counter_add('t', 'a', 1, 'x')",
])
def test_wherever_it_stands_one_call_counts_once_or_is_refused(statement):
    with connect(":memory:") as db:
        db.execute(TABLE)
        db.execute("INSERT INTO t(k) VALUES ('x')")
        try:
            db.execute(statement).fetchall()
        except sqlite3.Error as error:
            assert "makes this call in two places" in str(error)
        assert db.execute("SELECT a FROM t").fetchall() == [(1,)]


@pytest.mark.skipif(sqlite3.sqlite_version_info < (3, 35), reason="no MATERIALIZED")
def test_a_materialized_call_counts_once_and_may_be_used_often():
    with connect(":memory:") as db:
        db.execute(TABLE)
        statement = "WITH made(x) AS MATERIALIZED (SELECT counter_add('t', 'a', 1, ?)) SELECT x, x FROM made WHERE x > 0"
        assert [db.execute(statement, ["x"]).fetchall() for _ in range(3)] == [[(n, n)] for n in (1, 2, 3)]


def test_calls_that_differ_count_and_so_does_one_call_row_by_row():
    long = "x" * 500
    with connect(":memory:") as db:
        db.execute(TABLE)
        row = db.execute("SELECT counter_add('t', 'a', 1, ?1 || '1'), counter_add('t', 'a', 1, ?1 || '2'), "
                         "counter_add('t', 'b', 1, ?1 || '1'), counter_add('t', 'a', 2, ?1 || '1')", [long]).fetchone()
        assert row == (1, 1, 1, 3)
        rows = db.execute("SELECT counter_add('t', 'a', 1, 'y') FROM (VALUES (1), (2), (3), (4))").fetchall()
        assert rows == [(n,) for n in range(1, 5)]
