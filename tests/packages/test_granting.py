"""test_granting.py - what may be taken of bounded counters, by the calls of Python, Node and Django: who may take how many, grants, and
refusals as the drivers and the ORM tell them."""
import os
import shutil
import sqlite3

import pytest

from conftest import CLEAN, run
from test_npm import need
from test_npm_batches import packages, project  # noqa: F401

SEATS = ["CREATE TABLE seats(hall TEXT, row INTEGER, free INTEGER NOT NULL, sold INTEGER NOT NULL DEFAULT 0, PRIMARY KEY (row, hall))",
         "INSERT INTO seats VALUES ('A', 1, 9, 0)", "SELECT counter_replicate('seats', 'free', 'sold')", "SELECT counter_bound('seats', 'free')",
         "CREATE VIRTUAL TABLE blobs USING counter(k PRIMARY KEY, n COUNTER, m COUNTER)", "INSERT INTO blobs VALUES (x'00ff', 5, 5)",
         "SELECT counter_bound('blobs', 'n') + counter_bound('blobs', 'm')"]


@pytest.fixture
def office(counter, tmp_path):
    db = connect(counter, tmp_path / "office.db")
    for sql in SEATS:
        db.execute(sql).fetchall()
    yield db
    db.close()


def connect(counter, path):
    db = sqlite3.connect(path, isolation_level=None)
    counter.load(db)
    return db


def test_python_grants_by_an_id_and_by_a_connection(counter, office, tmp_path):
    shutil.copy(tmp_path / "office.db", tmp_path / "door.db")
    door, far = connect(counter, tmp_path / "door.db"), "11111111-1111-4111-8111-111111111111"
    counter.grant(office, "seats", [1, "A"], door, 4)
    counter.grant(office, "seats", (1, "A"), far, 2, column="free")
    mine, = [right for right in counter.rights(office, "seats") if right.here]
    assert mine == ((1, "A"), "free", office.execute("SELECT counter_id()").fetchone()[0], 3, True)
    assert {(right.id, right.rights) for right in counter.rights(office, "seats") if not right.here} == {
        (door.execute("SELECT counter_id()").fetchone()[0], 4), (far, 2)}
    door.execute("SELECT * FROM counter_pull(?)", [str(tmp_path / "office.db")]).fetchall()
    with pytest.raises(sqlite3.IntegrityError, match=r"seats: row \(1, 'A'\): column free: this file may take 4 more of the 9"):
        door.execute("UPDATE seats SET free = free - 5, sold = sold + 5")
    assert door.execute("SELECT free, sold FROM seats").fetchall() == [(9, 0)]
    door.execute("UPDATE seats SET free = free - 4, sold = sold + 4")
    counter.grant(office, "blobs", b"\x00\xff", far, 1, column="m")
    assert ((b"\x00\xff",), "m", far, 1, False) in counter.rights(office, "blobs")
    door.close()


@pytest.mark.parametrize("granter", ["office.db", "door.db"])
@pytest.mark.parametrize("first", ["office.db", "door.db"])
def test_a_sync_by_python_leaves_what_was_granted_where_it_is(counter, office, tmp_path, granter, first):
    from sqlite_counter import anywhere
    shutil.copy(tmp_path / "office.db", tmp_path / "door.db")
    files = {"office.db": office, "door.db": connect(counter, tmp_path / "door.db")}
    second, = set(files) - {first}
    counter.grant(office, "seats", [1, "A"], files["door.db"], 8)
    anywhere.sync(files[first], str(tmp_path / second))
    assert mine(counter, files["door.db"]) == 8
    grantee, = set(files) - {granter}
    counter.grant(files[granter], "seats", [1, "A"], files[grantee], mine(counter, files[granter]))
    anywhere.sync(files[first], str(tmp_path / second))
    assert {name: mine(counter, db) for name, db in files.items()} == {granter: 0, grantee: 9}
    files["door.db"].close()


def mine(counter, db):
    return sum(right.rights for right in counter.rights(db, "seats") if right.here)


def test_python_grants_within_the_transaction_of_the_caller(counter, office):
    office.execute("BEGIN")
    counter.grant(office, "seats", [1, "A"], "11111111-1111-4111-8111-111111111111", 2)
    with pytest.raises(counter.SyncError):
        counter.grant(office, "seats", [1, "A"], "11111111-1111-4111-8111-111111111111", 8)
    assert sorted(right.rights for right in counter.rights(office, "seats")) == [2, 7]
    office.execute("ROLLBACK")
    assert [right.rights for right in counter.rights(office, "seats")] == [9]


@pytest.mark.parametrize("arguments, sentence", [
    (("halls", "A", 1), "^there is no tracked table or counter table 'halls'$"),
    (("seats", "A", 1), r"^the key of table seats is \(row, hall\), not 1 value$"),
    (("seats", [1, "A", 2], 1), r"^the key of table seats is \(row, hall\), not 3 values$"),
    (("seats", [1, "B"], 1), r"^seats_counters: there is no row \(1, 'B'\)$"),
    (("seats", [1, "A"], 10), r"this file may grant 9 more of the 9"), (("seats", [1, "A"], 0), "a grant is at least 1, not 0"),
    (("seats", [1, "A"], 1.5), "a counter takes an INTEGER, not REAL 1.5"), (("blobs", b"\x00\xff", 1), "^several counters are bounded, m, n: column says which$")])
def test_python_tells_what_cannot_be_granted(counter, office, arguments, sentence):
    table, key, n = arguments
    with pytest.raises(counter.SyncError, match=sentence):
        counter.grant(office, table, key, "11111111-1111-4111-8111-111111111111", n)
    assert [right.rights for right in counter.rights(office, "seats")] == [9]


def test_python_says_that_the_extension_is_missing(counter, tmp_path):
    db = sqlite3.connect(tmp_path / "app.db")
    with pytest.raises(counter.SyncError, match=r"call sqlite_counter.load\(\) for the connection first"):
        counter.rights(db, "seats")
    db.close()


@pytest.mark.parametrize("driver", ["better-sqlite3", "node:sqlite", "sqlite3"])
def test_node_grants_by_an_id_and_by_a_connection(project, driver):  # noqa: F811
    need(driver, project)
    (project / "granting.mjs").write_text("""
import assert from "assert";
import { grant, load, rights } from "sqlite-counter";
import { all, close, open, run } from "./common.mjs";
const FAR = "11111111-1111-4111-8111-111111111111";
const office = await open("office.db", `%s`);
await run(office, "VACUUM INTO 'door.db'");
const door = await open("door.db", "SELECT 1");
await grant(office, "seats", [1, "A"], door, 4);
await grant(office, "seats", [1n, "A"], FAR, 2n, { column: "free" });
const mine = (await rights(office, "seats")).find(({ here }) => here);
assert.deepStrictEqual({ ...mine, id: "" }, { key: [1, "A"], column: "free", id: "", rights: 3, here: true });
assert.deepStrictEqual((await rights(office, "seats")).map((one) => one.rights).sort(), [2, 3, 4]);
await all(door, "SELECT * FROM counter_pull('office.db')");
await assert.rejects(async () => run(door, "UPDATE seats SET free = free - 5"), /row \\(1, 'A'\\): column free: this file may take 4 more of the 9/);
await run(door, "UPDATE seats SET free = free - 4");
await grant(office, "blobs", new Uint8Array([0, 255]), FAR, 1, { column: "m" });
assert.deepStrictEqual((await rights(office, "blobs")).find(({ id }) => id === FAR).key, [new Uint8Array([0, 255])]);
const refused = (message, ...given) => assert.rejects(grant(office, ...given), (error) => error.message.includes(message));
await refused("there is no tracked table or counter table 'halls'", "halls", "A", FAR, 1);
await refused("the key of table seats is (row, hall), not 1 value", "seats", "A", FAR, 1);
await refused("there is no row (1, 'B')", "seats", [1, "B"], FAR, 1);
await refused("this file may grant 3 more of the 9", "seats", [1, "A"], FAR, 4);
await refused("several counters are bounded, m, n: column says which", "blobs", "x", FAR, 1);
assert.strictEqual((await rights(office, "seats")).find(({ here }) => here).rights, 3);
await close(office);
await close(door);
console.log("held");
""" % "; ".join(SEATS))
    assert run("node", "--no-warnings", "granting.mjs", driver, cwd=project, env=CLEAN).endswith("held\n")


def test_django_tells_a_refusal_as_an_integrity_error(package, tmp_path):
    pytest.importorskip("django")
    (tmp_path / "settings.py").write_text(
        'SECRET_KEY = "x"\nINSTALLED_APPS = ["sqlite_counter.django"]\nUSE_TZ = False\n'
        'DATABASES = {"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": "seats.db"}}\n')
    (tmp_path / "selling.py").write_text("""
import django
django.setup()
from django.db import IntegrityError, connection, models, transaction

class Seat(models.Model):
    hall = models.CharField(primary_key=True, max_length=9)
    free = models.IntegerField()

    class Meta:
        app_label = "shop"
        db_table = "seats"

with connection.schema_editor() as editor:
    editor.create_model(Seat)
Seat.objects.create(hall="A", free=3)
with connection.cursor() as cursor:
    cursor.execute("SELECT counter_replicate('seats', 'free')")
    cursor.execute("SELECT counter_bound('seats', 'free')")
try:
    with transaction.atomic():
        Seat.objects.filter(hall="A").update(free=models.F("free") - 4)
except IntegrityError as refused:
    print(str(refused).partition(": have")[0])
Seat.objects.filter(hall="A").update(free=models.F("free") - 3)
print(Seat.objects.get().free)
""")
    env = {**CLEAN, "PATH": os.environ["PATH"], "PYTHONPATH": f"{package}:{tmp_path}", "DJANGO_SETTINGS_MODULE": "settings",
           "PYTHONDONTWRITEBYTECODE": "1"}
    assert run("/usr/bin/python3", "selling.py", cwd=tmp_path, env=env).splitlines() == [
        "seats: row ('A'): column free: this file may take 3 more of the 3", "0"]
