"""test_counting_ways.py - every way of counting writes the witness.

The witness is a number that stands in the file and in its extended attribute. After a commit that has counted the two
agree, and both are newer than before; else older content that comes back into the file goes unnoticed, and the file
uses its clocks again. Here is the list of all ways of counting that README has. A new one belongs here.
"""

import contextlib
import shutil

import pytest

import clusters
from test_copies import TABLE, attribute, connect, journals, renew_always, rows

ORDINARY = "CREATE TABLE {s}.p(k TEXT PRIMARY KEY, n)"

# Each begins with a row ('k', 10) and leaves the sum that stands behind it. {s} is the schema.
COUNTER_TABLE = {
    "INSERT of a row": (["INSERT INTO {s}.t VALUES ('new', 5)"], 15),
    "INSERT of a key": (["INSERT INTO {s}.t(k) VALUES ('new')"], 10),
    "INSERT that adds": (["INSERT INTO {s}.t VALUES ('k', 5)"], 15),
    "INSERT of several rows": (["INSERT INTO {s}.t VALUES ('k', 5), ('l', 6), ('k', 7)"], 28),
    "INSERT ... SELECT": (["INSERT INTO {s}.t SELECT k, 3 FROM {s}.t"], 13),
    "INSERT OR IGNORE": (["INSERT OR IGNORE INTO {s}.t VALUES ('new', 5)"], 15),
    "INSERT after DELETE": (["DELETE FROM {s}.t", "INSERT INTO {s}.t VALUES ('k', 5)"], 5),
    "INSERT with request_id": (["INSERT INTO {s}.t(k, n, request_id) VALUES ('k', 5, 'r')"], 15),
    "INSERT in a trigger": (["CREATE TRIGGER {s}.counts AFTER INSERT ON p BEGIN INSERT INTO t VALUES ('k', 5); END",
                             "INSERT INTO {s}.p(k) VALUES ('new')"], 15),
    "REPLACE of a row": (["REPLACE INTO {s}.t VALUES ('new', 5)"], 15),
    "REPLACE that sets": (["REPLACE INTO {s}.t VALUES ('k', 42)"], 42),
    "REPLACE with request_id": (["REPLACE INTO {s}.t(k, n, request_id) VALUES ('k', 42, 'r')"], 42),
    "UPDATE that adds": (["UPDATE {s}.t SET n = n + 5 WHERE k = 'k'"], 15),
    "UPDATE that sets": (["UPDATE {s}.t SET n = 42"], 42),
    "UPDATE ... FROM": (["UPDATE {s}.t SET n = n + more FROM (SELECT 'k' AS key, 5 AS more) WHERE k = key"], 15),
    "UPDATE in a trigger": (["CREATE TRIGGER {s}.counts AFTER INSERT ON p BEGIN UPDATE t SET n = n + 5; END",
                             "INSERT INTO {s}.p(k) VALUES ('new')"], 15),
    "reset to a value": (["INSERT INTO {s}.t(t, k, n) VALUES ('reset', 'k', 5)"], 5),
    "reset of one counter": (["INSERT INTO {s}.t(t, k, n) VALUES ('reset n', 'k', 5)"], 5),
    "reset of a missing row": (["INSERT INTO {s}.t(t, k, n) VALUES ('reset', 'new', 5)"], 15),
    "reset with request_id": (["INSERT INTO {s}.t(t, k, n, request_id) VALUES ('reset', 'k', 5, 'r')"], 5),
    "a counter that was added": (["INSERT INTO {s}.t(t) VALUES ('add column m')",
                                  "INSERT INTO {s}.t(k, m) VALUES ('k', 5)",
                                  "UPDATE {s}.t SET n = n + m"], 15),
    "a table that was renamed": (["ALTER TABLE {s}.t RENAME TO u", "INSERT INTO {s}.u VALUES ('k', 5)",
                                  "ALTER TABLE {s}.u RENAME TO t"], 15),
    "a table made again": (["DROP TABLE {s}.t", TABLE.replace(" t ", " {s}.t "),
                            "INSERT INTO {s}.t VALUES ('k', 5)"], 5),
    "counter_add": (["SELECT counter_add('{s}.t', 'n', 5, 'k')"], 15),
    "counter_add of a row": (["SELECT counter_add('{s}.t', 'n', 5, 'new')"], 15),
}

# These take a new life and no id; what they leave must agree all the same.
UNCOUNTED = {
    "DELETE": (["DELETE FROM {s}.t WHERE k = 'k'"], None),
    "delete of one counter": (["INSERT INTO {s}.t(t, k) VALUES ('delete n', 'k')"], None),
    "reset": (["INSERT INTO {s}.t(t, k) VALUES ('reset', 'k')"], 0),
    "purge below": (["INSERT INTO {s}.t(t, k) VALUES ('purge below', 'z')"], None),
    "drop column": (["INSERT INTO {s}.t(t) VALUES ('add column m')", "INSERT INTO {s}.t(k, m) VALUES ('k', 5)",
                     "INSERT INTO {s}.t(t) VALUES ('drop column m')"], 10),
}

# {id} ends a call that names the file under whose id it counts.
CELLS = {
    "INSERT": (["INSERT INTO {s}.p VALUES ('new', counter_inc(NULL, 5{id}))"], 15),
    "INSERT ... SELECT": (["INSERT INTO {s}.p SELECT k || 'l', counter_inc(NULL, 5{id}) FROM {s}.p"], 15),
    "UPSERT": (["INSERT INTO {s}.p VALUES ('k', counter_inc(NULL, 5{id}))"
                " ON CONFLICT(k) DO UPDATE SET n = counter_inc(n, 5{id})"], 15),
    "UPDATE": (["UPDATE {s}.p SET n = counter_inc(n, 5{id}) WHERE k = 'k'"], 15),
    "UPDATE RETURNING": (["UPDATE {s}.p SET n = counter_inc(n, 5{id}) RETURNING counter_value(n)"], 15),
    "counter_dec": (["UPDATE {s}.p SET n = counter_dec(n, -5{id})"], 15),
    "counter_reset": (["UPDATE {s}.p SET n = counter_inc(counter_reset(n), 5{id})"], 5),
    "a trigger": (["CREATE TRIGGER {s}.counts AFTER UPDATE OF k ON p"
                   " BEGIN UPDATE p SET n = counter_inc(n, 5{id}) WHERE k = new.k; END",
                   "UPDATE {s}.p SET k = 'l'"], 15),
    "a view": (["CREATE VIEW {s}.more AS SELECT k, counter_inc(n, 5{id}) AS n FROM p",
                "UPDATE {s}.p SET n = (SELECT n FROM {s}.more)"], 15),
    "CREATE TABLE ... AS": (["CREATE TABLE {s}.q AS SELECT k, counter_inc(n, 5{id}) AS n FROM {s}.p",
                             "UPDATE {s}.p SET n = (SELECT n FROM {s}.q)"], 15),
}
ONE_BY_ONE = {
    "UPDATE by 1": (["UPDATE {s}.p SET n = counter_inc(n)"], 11),
    "counter_dec by 1": (["UPDATE {s}.p SET n = counter_dec(n)"], 9),
}

# In front of main and east, or of east alone, whose rows have ('k', 10).
CLUSTER = {
    "INSERT": (["INSERT INTO traffic VALUES ('k', 5)"], 15),
    "INSERT of a row": (["INSERT INTO traffic VALUES ('new', 5)"], 15),
    "REPLACE": (["REPLACE INTO traffic VALUES ('k', 42)"], 42),
    "UPDATE that adds": (["UPDATE traffic SET n = n + 5 WHERE k = 'k'"], 15),
    "UPDATE that sets": (["UPDATE traffic SET n = 42 WHERE k = 'k'"], 42),
    "reset to a value": (["INSERT INTO traffic(traffic, k, n) VALUES ('reset', 'k', 5)"], 5),
    "counter_add": (["SELECT counter_add('traffic', 'n', 5, 'k')"], 15),
}

TRANSACTIONS = {"alone": ([], []), "BEGIN": (["BEGIN"], ["COMMIT"]), "SAVEPOINT": (["SAVEPOINT s"], ["RELEASE s"])}
transactions = pytest.mark.parametrize("transaction", TRANSACTIONS)
schemas = pytest.mark.parametrize("schema", ["main", "other"])


def ways(*lists):
    return pytest.mark.parametrize("statements, total", [
        pytest.param(*way, id=name) for one in lists for name, way in one.items()])


# How counter_inc is told the file under whose id it counts: by nothing, that is main, or by name.
named_ids = pytest.mark.parametrize("schema, id", [
    ("main", ""), ("main", ", counter_id()"), ("main", ", counter_id('main')"), ("temp", ""),
    ("other", ", counter_id('other')")])


def new_file(path, journal):
    """With a row in either table, and a witness that each commit renews."""
    with contextlib.closing(connect(path)) as db:
        db.execute(f"PRAGMA journal_mode = {journal}")
        db.execute(TABLE)
        db.execute(ORDINARY.format(s="main"))
        renew_always(db)
        db.execute("INSERT INTO t VALUES ('k', 10)")
        db.execute("INSERT INTO p VALUES ('k', counter_inc(NULL, 10))")
    return str(path)


class Files:
    """Files by the names of their schemas, and a connection that has them all."""

    def __init__(self, paths):
        self.paths = paths
        self.open()

    def open(self):
        self.db = clusters.open_files(self.paths)
        clusters.set_durable(self.db, self.paths, "OFF")  # no power is cut here

    def run(self, statements, transaction="alone", **words):
        before, after = TRANSACTIONS[transaction]
        for sql in before + statements + after:
            rows(self.db, sql.format(**words))

    def agree(self):
        """The witness of each file, by its name."""
        pairs = {name: rows(self.db, f"SELECT number, random FROM {name}.counter_replica WHERE one = 1")[0] for name in self.paths}
        assert {name: attribute(path) for name, path in self.paths.items()} == pairs
        return pairs

    def sum(self, table, schema):
        value = "n" if table == "t" else "counter_value(n)"
        return rows(self.db, f"SELECT sum({value}) FROM {schema}.{table}")[0][0]


@pytest.fixture(params=["WAL", "DELETE"])
def files(request, tmp_path):
    files = Files({name: new_file(tmp_path / f"{name}.db", request.param) for name in ("main", "other")})
    yield files
    files.db.close()


def check(files, statements, transaction, counting, **words):
    """The file under whose id is counted has a newer witness, and all have the one that their attribute has."""
    before = files.agree()
    files.run(statements, transaction, **words)
    after = files.agree()
    renewed = {name for name in after if after[name] != before[name]}
    assert set(counting) <= renewed, "the witness is as old as before the count"


# ---- the witness ----

@schemas
@transactions
@ways(COUNTER_TABLE)
def test_counting_in_a_counter_table_writes_the_witness(files, schema, transaction, statements, total):
    check(files, statements, transaction, [schema], s=schema)
    assert files.sum("t", schema) == total


@schemas
@transactions
@ways(UNCOUNTED)
def test_what_counts_nothing_leaves_a_witness_that_agrees(files, schema, transaction, statements, total):
    check(files, statements, transaction, [], s=schema)
    assert files.sum("t", schema) == total


@transactions
@ways(COUNTER_TABLE)
def test_counting_in_temp_counts_and_leaves_the_witness_of_the_files_alone(files, transaction, statements, total):
    for sql in (TABLE.replace(" t ", " temp.t "), ORDINARY.format(s="temp"), "INSERT INTO temp.t VALUES ('k', 10)"):
        files.db.execute(sql)
    check(files, statements, transaction, [], s="temp")
    assert files.sum("t", "temp") == total


@named_ids
@transactions
@ways(CELLS)
def test_counting_in_an_ordinary_table_writes_the_witness(files, schema, id, transaction, statements, total):
    if schema == "temp":
        files.db.execute("CREATE TABLE temp.p AS SELECT * FROM main.p")
        files.db.execute("CREATE UNIQUE INDEX temp.only_one ON p(k)")
    check(files, statements, transaction, ["main" if schema == "temp" else schema], s=schema, id=id)
    assert files.sum("p", schema) == total


@transactions
@ways(ONE_BY_ONE)
def test_counting_one_in_an_ordinary_table_writes_the_witness(files, transaction, statements, total):
    check(files, statements, transaction, ["main"], s="main")
    assert files.sum("p", "main") == total


@transactions
def test_a_cell_that_a_query_makes_writes_the_witness(files, transaction):
    """The application reads it, and stores it in another statement."""
    check(files, ["SELECT counter_inc(n, 5) FROM p"], transaction, ["main"])


@transactions
@ways({name: way for name, way in CELLS.items() if "CREATE" not in way[0][0]})
def test_counting_in_an_attached_table_under_the_id_of_main_writes_the_witness_of_main(
        files, transaction, statements, total):
    """README advises against it; it counts all the same."""
    check(files, statements, transaction, ["main"], s="other", id="")
    assert files.sum("p", "other") == total


@transactions
def test_counting_in_all_files_at_once_writes_the_witness_of_each(files, transaction):
    statements = ["INSERT INTO main.t VALUES ('k', 1)", "INSERT INTO other.t VALUES ('k', 1)",
                  "UPDATE main.p SET n = counter_inc(n)", "UPDATE other.t SET n = n + 1"]
    check(files, statements, transaction, ["main", "other"])


@pytest.mark.parametrize("undo", ["ROLLBACK TO s", "ROLLBACK"])
@pytest.mark.parametrize("way", ["INSERT INTO other.t VALUES ('k', 5)",
                                 "UPDATE other.p SET n = counter_inc(n, 5, counter_id('other'))"])
def test_a_count_around_one_that_is_taken_back_writes_the_witness(files, way, undo):
    before = files.agree()
    files.db.execute("BEGIN")
    files.db.execute(way)
    files.db.execute("SAVEPOINT s")
    files.db.execute(way)
    files.db.execute(undo)
    if files.db.in_transaction:
        files.db.execute("COMMIT")
    after = files.agree()
    assert (after["other"] == before["other"]) == (undo == "ROLLBACK")
    files.run([way])
    assert files.agree()["other"] != after["other"]


@pytest.mark.parametrize("leader", ["main", "east"])
@transactions
@ways(CLUSTER)
@journals
def test_counting_in_a_cluster_writes_the_witness_of_its_leader(
        tmp_path, journal, leader, transaction, statements, total):
    """Of main, or of east where main is a database in memory."""
    names = ["main", "east", "west"] if leader == "main" else ["east", "west"]
    files = Files(clusters.new_files(tmp_path, names, journal, TABLE))
    for name in names:
        files.db.execute(f"UPDATE {name}.counter_replica SET renewal = 0")
    clusters.set_durable(files.db, names)
    clusters.create(files.db, names, "t", write="ALL")
    files.db.execute("INSERT INTO traffic VALUES ('k', 10)")
    for name in names[1:]:  # those that have only taken may have none yet
        files.db.execute(f"INSERT INTO {name}.t VALUES ('of {name}', 0)")
    check(files, statements, transaction, [leader])
    assert rows(files.db, "SELECT sum(n) FROM traffic") == [(total,)]
    files.db.close()


# ---- what it is for ----

def check_that_a_restore_costs_the_id(files, schema, statements, **words):
    """Counts, and once more when the content from before has come back into the same inode."""
    files.db.close()
    path = files.paths[schema]
    shutil.copyfile(path, path + ".backup")
    files.open()
    files.run(statements, **words)
    lost = rows(files.db, "SELECT counter_id(?)", schema)
    files.db.close()
    shutil.copyfile(path + ".backup", path)
    files.open()
    files.run(statements, **words)
    assert rows(files.db, "SELECT counter_id(?)", schema) != lost, "the id is used again"


@schemas
@ways(COUNTER_TABLE)
def test_after_a_restore_in_place_a_counter_table_counts_under_a_new_id(files, schema, statements, total):
    check_that_a_restore_costs_the_id(files, schema, statements, s=schema)


@pytest.mark.parametrize("schema, id", [
    ("main", ""), ("main", ", counter_id()"), ("other", ", counter_id('other')")])
@ways(CELLS)
def test_after_a_restore_in_place_an_ordinary_table_counts_under_a_new_id(files, schema, id, statements, total):
    check_that_a_restore_costs_the_id(files, schema, statements, s=schema, id=id)


def test_what_was_counted_in_an_attached_table_before_a_restore_and_behind_it_adds_up(tmp_path):
    """The example: 1 is in the backup, 50 are lost with the content and known to a peer, 8 come behind the restore.
    Used again, the id has clock 2 twice, and 9 are left of 59."""
    main, phone = (new_file(tmp_path / f"{name}.db", "WAL") for name in ("main", "phone"))
    count = "INSERT INTO phone.p VALUES ('/', counter_inc(NULL, {0}, counter_id('phone'))) " \
            "ON CONFLICT(k) DO UPDATE SET n = counter_inc(n, {0}, counter_id('phone'))"

    def run(*statements):
        with contextlib.closing(clusters.open_files({"main": main, "phone": phone})) as db:
            return [rows(db, sql) for sql in statements][-1]

    run(count.format(1))
    shutil.copyfile(phone, phone + ".backup")
    run(count.format(50), "INSERT INTO main.p SELECT k, n FROM phone.p WHERE k = '/'")
    shutil.copyfile(phone + ".backup", phone)
    run(count.format(8))
    merged = run("SELECT counter_value(counter_merge(a.n, b.n)) FROM main.p AS a JOIN phone.p AS b USING (k)"
                 " WHERE k = '/'")
    assert merged == [(59,)]
