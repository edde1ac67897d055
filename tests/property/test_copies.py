"""test_copies.py - whatever is done to a file by copying, restoring, moving: every count is there
once, a copy takes an id of its own, and what is no copy keeps the id it has."""

import contextlib
import os
import random
import shutil
import signal
import sqlite3
import struct
import subprocess
import sys
import time

import pytest

import files
from conftest import EXAMPLES, SEED
from files import copy_live

ATTRIBUTE = "user.sqlite-counter"
DAY = 86400 * 1000
TABLE = "CREATE VIRTUAL TABLE t USING counter(k TEXT PRIMARY KEY, n COUNTER)"
COUNTERS = "t"  # the counter table
MAKE = []  # what makes the table a counted one
ADD = "INSERT INTO t VALUES ('k', ?)"
VALUE = "SELECT n FROM t WHERE k = 'k'"
CHECK = "INSERT INTO t(t) VALUES ('integrity-check')"
SHARDS = "SELECT s.id FROM counter_cells('t') AS c, counter_shards(c.cell) AS s WHERE c.key = '[\"k\"]'"

journals = pytest.mark.parametrize("journal", ["WAL", "DELETE"])


def named(ways):
    return [pytest.param(way, id=way.__name__) for way in ways]


def connect(path, timeout=0.0):
    db = files.connect(str(path), timeout)
    db.execute("PRAGMA synchronous = OFF")  # no power is cut here
    return db


def sh(script, *arguments):
    """In a process of its own, so that nothing closed here drops SQLite's locks."""
    command = ["sh", "-ec", script, "sh", *map(str, arguments)]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def shell(path, *commands):
    """The shell of SQLite, with the extension."""
    command = ["sqlite3", "-bail", str(path), f".load {files.EXTENSION}", *commands]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def rows(db, sql, *values):
    return db.execute(sql, values).fetchall()


def renew_always(db):
    """Else a restore could be less than a renewal younger than the content, which nobody sees."""
    db.execute("UPDATE counter_replica SET renewal = 0")


def pair(db):
    return rows(db, "SELECT number, random FROM counter_replica WHERE one = 1")[0]


def attribute(path):
    return struct.unpack(">xqq", os.getxattr(path, ATTRIBUTE))


def identity(db):
    return (rows(db, "SELECT id FROM counter_replica WHERE one = 1"),
            rows(db, "SELECT id FROM counter_replica WHERE one > 1 ORDER BY id"))


def whys(db):
    """Why the ids of this file were taken, the newest first."""
    return [why for (why,) in rows(db, "SELECT why FROM counter_identity()")]


class Fleet:
    """Files that count powers of two: each count has its bit in the sum."""

    def __init__(self, folder, journal):
        self.folder, self.journal = folder, journal
        self.names, self.live = [], {}
        self.sum, self.next = 0, 1

    def path(self, name):
        return str(self.folder / f"{name}.db")

    def new(self, *names):
        for name in names:
            with contextlib.closing(connect(self.path(name))) as db:
                db.execute(f"PRAGMA journal_mode = {self.journal}")
                db.execute(TABLE)
                for sql in MAKE:
                    rows(db, sql)
                renew_always(db)
            self.join(name)

    def join(self, *names):
        """Files that somebody else has made."""
        self.names += names

    def open(self, name):
        """Until close() all is done through one connection."""
        self.live[name] = connect(self.path(name))
        return self.live[name]

    def close(self):
        for db in self.live.values():
            db.close()
        self.live = {}

    @contextlib.contextmanager
    def use(self, name):
        if name in self.live:
            yield self.live[name]
            return
        with contextlib.closing(connect(self.path(name))) as db:
            yield db

    def amount(self):
        """The next power of two, to be counted by the caller."""
        amount = self.next
        self.sum, self.next = self.sum + amount, 2 * amount
        return amount

    def count(self, *names):
        """One count in each; the amount of the last."""
        for name in names:
            with self.use(name) as db:
                db.execute(ADD, [self.next])
                amount = self.amount()  # if it was acknowledged
        return amount

    def forget(self, *amounts):
        """Restored content does not have them, and nobody else does."""
        self.sum -= sum(amounts)

    def pull(self, name, *sources):
        for source in sources:
            with self.use(name) as db:
                rows(db, "SELECT * FROM counter_pull(?)", self.path(source))

    def push(self, name, target):
        with contextlib.closing(connect(self.path(name))) as db:
            db.execute("ATTACH ? AS target", [self.path(target)])
            rows(db, "SELECT * FROM counter_push('target')")

    def everybody_pulls(self):
        for _ in range(2):
            for name in self.names:
                self.pull(name, *(other for other in self.names if other != name))

    def see(self, name):
        """Ids of all shards, after a look at the value."""
        with self.use(name) as db:
            value = rows(db, VALUE)[0][0]
            assert f"{value:b}" == f"{self.sum:b}", f"{name}: bits are lost or doubled"
            db.execute(CHECK)
            return {id for (id,) in rows(db, SHARDS)}

    def check(self, files, events):
        """All have all; as many files have counted at first, as many events may cost a shard."""
        self.everybody_pulls()
        shards = [self.see(name) for name in self.names]
        assert all(ids == shards[0] for ids in shards)
        assert len(shards[0]) <= files + events

    def identity(self, name):
        with self.use(name) as db:
            return identity(db)

    def whys(self, name):
        with self.use(name) as db:
            return whys(db)

    @contextlib.contextmanager
    def no_event(self, name, now=None):
        """What happens within does not change who the file is; nor does a count after it, which
        would be the first to notice. It may be called something else `now`."""
        before = self.identity(name)
        yield
        self.count(now or name)
        assert self.identity(now or name) == before
        assert len(self.see(now or name)) == 1
        with self.use(now or name) as db:
            assert attribute(self.path(now or name)) == pair(db), "the last commit did not repair"


@pytest.fixture(params=["WAL", "DELETE"])
def fleet(request, tmp_path):
    fleet = Fleet(tmp_path, request.param)
    yield fleet
    fleet.close()


# ---- copies --------------------------------------------------------------------------------------

def cp(source, target):
    sh('cp "$1" "$2"', source, target)


def cp_a(source, target):
    sh('cp -a "$1" "$2"', source, target)


def cp_a_with_wal(source, target):
    sh('for i in "" -wal; do if [ -f "$1$i" ]; then cp -a "$1$i" "$2$i"; fi; done', source, target)


def backup_of_the_shell(source, target):
    sh('sqlite3 "$1" ".backup \'$2\'"', source, target)


def backup_api(source, target):
    with contextlib.closing(connect(source)) as db, contextlib.closing(connect(target)) as to:
        db.backup(to)


def vacuum_into(source, target):
    with contextlib.closing(connect(source)) as db:
        db.execute("VACUUM INTO ?", [str(target)])


def dump(source, target):
    sh('sqlite3 "$1" .dump | sqlite3 -bail -cmd ".load $3" "$2"', source, target, files.EXTENSION)


def memory_and_back(source, target):
    with contextlib.closing(connect(":memory:")) as memory:
        with contextlib.closing(connect(source)) as db:
            db.backup(memory)
        with contextlib.closing(connect(target)) as to:
            memory.backup(to)


CLOSED = named([cp, cp_a, backup_of_the_shell, backup_api, vacuum_into, dump, memory_and_back])
LIVE = named([copy_live, cp, cp_a, cp_a_with_wal, backup_of_the_shell, backup_api, vacuum_into,
              dump, memory_and_back])
orders = pytest.mark.parametrize("first, then", [("one", "copy"), ("copy", "one")])


@orders
@pytest.mark.parametrize("way", CLOSED)
def test_a_copy_of_a_closed_file_takes_an_id_of_its_own(fleet, way, first, then):
    fleet.new("one", "peer")
    fleet.count("one", "one", "peer")
    way(fleet.path("one"), fleet.path("copy"))
    fleet.join("copy")
    fleet.count(first, then, then, "peer", first, first)
    assert fleet.whys("copy") == ["copy", "created"]
    assert fleet.whys("one") == ["created"]
    fleet.check(files=2, events=1)


@orders
@pytest.mark.parametrize("way", LIVE)
def test_a_copy_of_a_live_file_takes_an_id_of_its_own(fleet, way, first, then):
    fleet.new("one", "peer")
    fleet.count("one", "peer")
    fleet.open("one")
    fleet.count("one", "one")  # in the WAL, and lacking in a copy without it
    way(fleet.path("one"), fleet.path("copy"))
    fleet.join("copy")
    fleet.count(first, then, then, "peer", first, first)
    assert fleet.whys("copy") == ["copy", "created"]
    assert fleet.whys("one") == ["created"]
    fleet.check(files=2, events=1)


@pytest.mark.parametrize("way", CLOSED)
def test_a_copy_that_merges_before_it_counts_has_its_own_id_too(fleet, way):
    fleet.new("one")
    fleet.count("one")
    way(fleet.path("one"), fleet.path("copy"))
    fleet.join("copy")
    fleet.count("one")
    fleet.pull("copy", "one")
    fleet.count("copy", "one", "copy")
    fleet.pull("one", "copy")
    fleet.count("one", "copy")
    fleet.check(files=1, events=1)


@pytest.mark.parametrize("way", named([backup_of_the_shell, backup_api, cp]))
@pytest.mark.parametrize("known", [False, True])
def test_a_replica_that_is_overwritten_by_another_one_takes_a_new_id(fleet, way, known):
    fleet.new("one", "two")
    fleet.count("one", "two", "one")
    fleet.pull("one", "two")
    last = fleet.count("two")
    fleet.pull("two", "one")
    if known:
        fleet.pull("one", "two")
    else:
        fleet.forget(last)
    way(fleet.path("one"), fleet.path("two"))
    fleet.count("two", "one", "two", "one")
    assert fleet.whys("two")[0] == "copy"
    fleet.check(files=2, events=1)


def test_a_backup_into_the_connection_of_another_replica_gives_that_a_new_id(fleet):
    fleet.new("one", "two")
    fleet.count("one", "two")
    fleet.pull("one", "two")
    one, two = fleet.open("one"), fleet.open("two")
    fleet.forget(fleet.count("two"))
    one.backup(two)
    fleet.count("two", "one", "two", "one")
    fleet.check(files=2, events=1)


def test_a_memory_database_between_two_backups_counts_under_its_own_id(fleet):
    fleet.new("one", "peer")
    fleet.count("one")
    one, memory = fleet.open("one"), connect(":memory:")
    one.backup(memory)
    memory.execute(ADD, [fleet.amount()])
    fleet.count("one")
    fleet.pull("peer", "one")
    fleet.forget(fleet.count("one"))
    memory.backup(one)
    memory.execute(ADD, [lost := fleet.amount()])
    fleet.forget(lost)
    memory.close()
    fleet.count("one", "peer", "one")
    assert fleet.whys("one") == ["copy", "copy", "created"]
    fleet.check(files=2, events=2)


@pytest.mark.parametrize("way", CLOSED)
@pytest.mark.parametrize("middle_counts", [False, True])
def test_a_clone_of_a_clone_takes_an_id_of_its_own(fleet, way, middle_counts):
    fleet.new("one")
    fleet.count("one")
    way(fleet.path("one"), fleet.path("two"))
    fleet.join("two")
    if middle_counts:
        fleet.count("two")
    way(fleet.path("two"), fleet.path("three"))
    fleet.join("three")
    fleet.count("three", "one", "two", "three", "two", "one")
    fleet.check(files=1, events=2)


@pytest.mark.parametrize("way", CLOSED)
def test_two_clones_meet_only_through_a_third_file(fleet, way):
    fleet.new("one", "hub")
    fleet.count("one", "one")
    way(fleet.path("one"), fleet.path("two"))
    fleet.join("two")
    fleet.count("one", "two", "two", "one", "one")
    for _ in range(2):
        fleet.pull("hub", "two")
        fleet.pull("hub", "one")
        fleet.pull("one", "hub")
        fleet.pull("two", "hub")
    assert [len(fleet.see(name)) for name in ("one", "two", "hub")] == [2, 2, 2]
    fleet.count("hub", "two", "one")
    fleet.check(files=2, events=1)


def test_a_long_honest_chain_of_copies_counts_on(fleet):
    fleet.new("0")
    fleet.count("0")
    for n in range(6):
        cp_a(fleet.path(n), fleet.path(n + 1))
        fleet.join(str(n + 1))
        fleet.count(str(n + 1), str(n))
    fleet.check(files=1, events=6)


def test_copies_under_one_schema_name_are_told_apart(fleet):
    fleet.new("main", "one")
    fleet.count("main", "one")
    cp(fleet.path("one"), fleet.path("copy"))
    fleet.join("copy")
    main = fleet.open("main")
    for name in ("one", "copy", "one", "copy"):
        main.execute("ATTACH ? AS other", [fleet.path(name)])
        for _ in range(2):
            main.execute(ADD.replace("INTO t", "INTO other.t"), [fleet.amount()])
        main.execute("DETACH other")
    assert fleet.whys("copy") == ["copy", "created"]
    assert fleet.whys("one") == ["created"]
    fleet.check(files=2, events=1)


@pytest.mark.parametrize("undo", ["ROLLBACK TO s", "ROLLBACK"])
@pytest.mark.parametrize("way", CLOSED)
def test_a_copy_whose_first_count_is_rolled_back_counts_under_one_id_of_its_own(fleet, way, undo):
    fleet.new("one")
    fleet.count("one")
    way(fleet.path("one"), fleet.path("copy"))
    fleet.join("copy")
    copy = fleet.open("copy")
    copy.execute("BEGIN")
    copy.execute("SAVEPOINT s")
    copy.execute(ADD, [1])
    copy.execute(undo)
    fleet.count("copy", "copy")
    if copy.in_transaction:
        copy.execute("COMMIT")
    fleet.count("one", "copy")
    ids = set(rows(copy, SHARDS))
    assert ids <= set(rows(copy, "SELECT id FROM counter_identity()")), "an id that was taken back"
    fleet.check(files=1, events=1)


# ---- restores ------------------------------------------------------------------------------------

def read_and_forget(reader):
    reader.execute("BEGIN")
    reader.execute(ADD, [0])
    reader.execute("ROLLBACK")


@pytest.mark.parametrize("before", [lambda reader: None, read_and_forget], ids=["reads", "counts and rolls back"])
def test_a_connection_that_read_a_copy_first_reads_the_id_that_it_takes_afterwards(fleet, before):
    def cells(db):
        return rows(db, "SELECT counter_table_digest(?)", COUNTERS), rows(db, "SELECT * FROM counter_cells(?)", COUNTERS)

    fleet.new("one")
    fleet.count("one")
    cp(fleet.path("one"), fleet.path("two"))
    fleet.join("two")
    with contextlib.closing(connect(fleet.path("two"))) as reader:
        before(reader)
        cells(reader)
        for _ in range(2):
            fleet.count("two", "two")
            with fleet.use("two") as fresh:
                assert cells(reader) == cells(fresh)
    fleet.check(files=2, events=0)


def restore_by_cp(backup, path):
    sh('cp "$1" "$2"', backup, path)


def restore_of_the_shell(backup, path):
    sh('sqlite3 "$2" ".restore \'$1\'"', backup, path)


def restore_by_rename(backup, path):
    sh('cp "$1" "$2.new"; mv "$2.new" "$2"', backup, path)


def restore_by_rm_and_cp(backup, path):
    sh('rm "$2"; cp "$1" "$2"', backup, path)


def restore_by_rm_and_cp_a(backup, path):
    sh('rm "$2"; cp -a "$1" "$2"', backup, path)


def restore_by_backup_api(backup, path):
    backup_api(backup, path)


def restore_by_mv(backup, path):
    sh('mv "$1" "$2"', backup, path)


RESTORES = named([restore_by_cp, restore_of_the_shell, restore_by_rename, restore_by_rm_and_cp,
                  restore_by_rm_and_cp_a, restore_by_backup_api, restore_by_mv])


@pytest.mark.parametrize("way", RESTORES)
@pytest.mark.parametrize("first", ["counts", "pulls", "peer pulls", "peer pushes"])
def test_a_restored_file_takes_a_new_id(fleet, way, first):
    fleet.new("one", "peer")
    fleet.count("one", "peer", "one")
    cp(fleet.path("one"), fleet.path("backup"))
    fleet.count("one", "one")
    fleet.pull("peer", "one")
    fleet.forget(fleet.count("one"))
    way(fleet.path("backup"), fleet.path("one"))
    if first == "pulls":
        fleet.pull("one", "peer")
    elif first == "peer pulls":
        fleet.pull("peer", "one")
    elif first == "peer pushes":
        fleet.push("peer", "one")
    fleet.count("one", "peer", "one")
    assert fleet.whys("one")[0] in ("restore", "copy")
    fleet.check(files=2, events=1)


@pytest.mark.parametrize("way", RESTORES)
@pytest.mark.parametrize("pulled", [False, True])
def test_a_restore_is_followed_by_many_more_counts_than_were_lost(fleet, way, pulled):
    fleet.new("one", "peer")
    fleet.count("one", "peer")
    cp(fleet.path("one"), fleet.path("backup"))
    lost = [fleet.count("one") for _ in range(2)]
    if pulled:
        fleet.pull("peer", "one")
    else:
        fleet.forget(*lost)
    way(fleet.path("backup"), fleet.path("one"))
    fleet.open("one")
    fleet.count(*["one"] * 30)
    fleet.check(files=2, events=1)


def test_one_backup_is_restored_again_and_again(fleet):
    fleet.new("one", "peer")
    fleet.count("one", "peer")
    cp(fleet.path("one"), fleet.path("backup"))
    for _ in range(5):
        fleet.count("one", "one")
        fleet.pull("peer", "one")
        fleet.forget(fleet.count("one"))
        restore_by_cp(fleet.path("backup"), fleet.path("one"))
    fleet.count("one", "peer")
    assert fleet.whys("one") == ["restore", "created"]  # the backup knows nothing of those between
    fleet.check(files=2, events=5)


def test_the_shell_restores_on_its_own_connection_and_counts_on(fleet):
    fleet.new("one", "peer")
    fleet.count("one", "peer")
    cp(fleet.path("one"), fleet.path("backup"))
    fleet.count("one")
    fleet.pull("peer", "one")
    add = [ADD.replace("?", str(fleet.amount())) for _ in range(3)]
    fleet.forget(fleet.next // 8)  # the first of the three, counted before the restore
    shell(fleet.path("one"), add[0], f".restore '{fleet.path('backup')}'", *add[1:])
    assert fleet.whys("one") == ["restore", "created"]
    fleet.count("one")
    fleet.check(files=2, events=1)


def test_a_restore_through_the_connection_that_counts_is_noticed(fleet):
    fleet.new("one", "peer")
    fleet.count("one", "peer")
    one = fleet.open("one")
    with contextlib.closing(connect(":memory:")) as backup:
        one.backup(backup)
        fleet.count("one")
        fleet.pull("peer", "one")
        fleet.forget(fleet.count("one"))
        backup.backup(one)
    fleet.count("one", "one", "peer")
    assert fleet.whys("one") == ["restore", "created"]
    fleet.check(files=2, events=1)


def test_without_an_attribute_the_merge_proves_that_the_file_forgot(fleet):
    fleet.new("one", "peer")
    fleet.count("one", "peer")
    cp(fleet.path("one"), fleet.path("backup"))
    fleet.count("one")
    fleet.pull("peer", "one")
    restore_by_cp(fleet.path("backup"), fleet.path("one"))
    os.removexattr(fleet.path("one"), ATTRIBUTE)
    with fleet.use("one") as db:
        db.execute("UPDATE counter_replica SET witnessed = 0")  # as where there are no attributes
    fleet.pull("one", "peer")
    assert fleet.whys("one") == ["conflict", "created"]
    fleet.count("one", "one", "peer")
    fleet.check(files=2, events=1)


@pytest.mark.parametrize("first", ["counts", "pulls"])
@pytest.mark.parametrize("transaction", [False, True])
def test_a_dropped_and_created_table_counts_under_a_new_id(fleet, first, transaction):
    fleet.new("one", "peer")
    fleet.count("one", "peer", "one")
    fleet.pull("peer", "one")
    fleet.forget(fleet.count("one"))
    one = fleet.open("one")
    one.execute("BEGIN") if transaction else None
    one.execute("DROP TABLE t")
    one.execute(TABLE)
    one.execute("COMMIT") if transaction else None
    if first == "pulls":
        fleet.pull("one", "peer")
    fleet.count("one", "one", "peer")
    assert fleet.whys("one") == ["dropped table", "created"]
    fleet.check(files=2, events=1)


@pytest.mark.parametrize("way", named([cp, restore_by_cp]))
def test_an_ordinary_table_counts_under_the_new_id_too(fleet, way):
    """The same through counter_inc: a cell is counted by one, copied or restored, counted on."""
    path, other = fleet.path("one"), fleet.path("other")
    one = connect(path)
    one.execute(f"PRAGMA journal_mode = {fleet.journal}")
    one.execute("SELECT counter_init()").fetchone()
    renew_always(one)
    one.execute("CREATE TABLE p(k PRIMARY KEY, n)")
    one.execute("INSERT INTO p VALUES (1, counter_inc(NULL, 1))")
    one.close()
    cp(path, other)
    one = connect(path)
    one.execute("UPDATE p SET n = counter_inc(n, 2)")
    first = rows(one, "SELECT n FROM p")[0][0]
    one.close()
    if way is restore_by_cp:
        way(other, path)
        other = path
    with contextlib.closing(connect(other)) as db:
        db.execute("UPDATE p SET n = counter_inc(n, 4)")
        db.execute("UPDATE p SET n = counter_inc(n, 8)")
        assert rows(db, "SELECT counter_value(counter_merge(n, ?)) FROM p", first) == [(15,)]
        assert whys(db)[0] in ("restore", "copy")


# ---- what is no event ----------------------------------------------------------------------------

def child(path, times):
    """A process that counts 1, '+' on a pipe for each commit. It is forked, since 200 of them are
    wanted; the file must not be open here."""
    acknowledged, out = os.pipe()
    process = os.fork()
    if process:
        os.close(out)
        return process, acknowledged
    try:
        db = connect(path, timeout=20)
        for _ in range(times):
            db.execute(ADD, [1])
            os.write(out, b"+")
    finally:
        os._exit(0)


def words(acknowledged):
    with open(acknowledged, "rb") as pipe:
        return len(pipe.read())


def counting_children(path, processes, times):
    started = [child(path, times) for _ in range(processes)]
    assert [words(acknowledged) for _, acknowledged in started] == [times] * processes
    for process, _ in started:
        os.waitpid(process, 0)


def test_1000_rounds_of_open_count_close_keep_the_id(fleet):
    fleet.new("one")
    with fleet.no_event("one"):
        for _ in range(1000):
            with fleet.use("one") as db:
                db.execute(ADD, [1])
        fleet.sum, fleet.next = 1000, 1024


@journals
def test_rounds_ended_by_kill_9_keep_the_id(tmp_path, journal):
    chance, fleet, least = random.Random(SEED), Fleet(tmp_path, journal), 0
    fleet.new("one")
    with fleet.use("one") as db:
        db.execute("UPDATE counter_replica SET renewal = 1")  # some commits renew, some do not
        before = identity(db)
    for number in range(EXAMPLES):
        process, acknowledged = child(fleet.path("one"), 10**6)
        if number % 10 == 0:  # else a busy machine may never come so far
            least += len(os.read(acknowledged, 1))
        time.sleep(chance.uniform(0, 0.03))
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)
        least += words(acknowledged)
    with fleet.use("one") as db:
        db.execute(ADD, [0])
        assert identity(db) == before
        assert 0 < least <= rows(db, VALUE)[0][0] <= least + EXAMPLES
        assert len(rows(db, SHARDS)) == 1


def rollback(db, add):
    db.execute("BEGIN")
    add()
    db.execute("ROLLBACK")


def rollback_to(db, add):
    db.execute("BEGIN")
    db.execute("SAVEPOINT s")
    add()
    db.execute("ROLLBACK TO s")
    db.execute("COMMIT")


def rollback_to_outermost(db, add):
    db.execute("SAVEPOINT s")
    add()
    db.execute("ROLLBACK TO s")
    db.execute("RELEASE s")


def rollback_to_twice(db, add):
    db.execute("BEGIN")
    for _ in range(2):
        db.execute("SAVEPOINT s")
        add()
        db.execute("ROLLBACK TO s")
        add()
        db.execute("ROLLBACK TO s")
        db.execute("RELEASE s")
    db.execute("COMMIT")


def rolled_back_statement(db, add):
    db.execute("BEGIN")
    with pytest.raises(sqlite3.DatabaseError):
        db.execute("INSERT INTO t VALUES ('k', 1), ('other', NULL), (NULL, 'x')")
    db.execute("COMMIT")


def rolled_back_drop(db, add):
    db.execute("BEGIN")
    add()
    db.execute("DROP TABLE t")
    db.execute("ROLLBACK")


def rolled_back_fork(db, add):
    db.execute("BEGIN")
    rows(db, "SELECT counter_fork()")
    add()
    db.execute("ROLLBACK")


@pytest.mark.parametrize("way", named([rollback, rollback_to, rollback_to_outermost,
                                       rollback_to_twice, rolled_back_statement, rolled_back_drop,
                                       rolled_back_fork]))
def test_what_is_rolled_back_does_not_make_an_event(fleet, way):
    fleet.new("one")
    fleet.count("one")
    db = fleet.open("one")
    with fleet.no_event("one"):
        for _ in range(5):
            way(db, lambda: db.execute(ADD, [1]))
            number, mark = attribute(fleet.path("one"))
            assert (number, mark) == pair(db) or number < pair(db)[0], "ahead of the file"
            fleet.count("one")


def test_what_is_counted_around_a_rollback_to_is_witnessed(fleet):
    fleet.new("one")
    db = fleet.open("one")
    with fleet.no_event("one"):
        for _ in range(5):
            db.execute("BEGIN")
            db.execute(ADD, [fleet.amount()])
            db.execute("SAVEPOINT s")
            db.execute(ADD, [1])
            db.execute("ROLLBACK TO s")
            db.execute(ADD, [fleet.amount()])
            db.execute("COMMIT")
            assert attribute(fleet.path("one")) == pair(db)


@pytest.mark.parametrize("processes, times", [(2, 300), (10, 30)])
def test_processes_that_renew_in_turn_keep_the_id(fleet, processes, times):
    fleet.new("one")
    with fleet.no_event("one"):
        counting_children(fleet.path("one"), processes, times)
        fleet.sum, fleet.next = processes * times, 1024


def test_two_connections_that_renew_in_turn_keep_the_id(fleet):
    fleet.new("one")
    fleet.count("one")
    one, two = fleet.open("one"), connect(fleet.path("one"))
    with fleet.no_event("one"):
        for n in range(40):
            (one, two)[n % 2].execute(ADD, [fleet.amount()])
    two.close()


def test_a_late_attribute_write_keeps_the_id_and_is_repaired(fleet):
    fleet.new("one")
    fleet.count("one")
    with fleet.no_event("one"):
        for _ in range(5):
            late = os.getxattr(fleet.path("one"), ATTRIBUTE)
            fleet.count("one", "one")
            os.setxattr(fleet.path("one"), ATTRIBUTE, late)
            fleet.count("one")
            with fleet.use("one") as db:
                assert attribute(fleet.path("one")) == pair(db)


def test_a_late_attribute_is_repaired_by_a_commit_that_does_not_renew(fleet):
    fleet.new("one")
    fleet.count("one")
    with fleet.use("one") as db:
        late = os.getxattr(fleet.path("one"), ATTRIBUTE)
        fleet.count("one")
        db.execute("UPDATE counter_replica SET renewal = ?", [DAY])
    os.setxattr(fleet.path("one"), ATTRIBUTE, late)
    with fleet.no_event("one"):
        fleet.count("one")
        with fleet.use("one") as db:
            assert attribute(fleet.path("one")) == pair(db)


def test_an_attribute_that_was_lost_is_noticed_before_it_is_written_anew(tmp_path):
    """By a connection that has looked at the file since it wrote the attribute, and renewed nothing."""
    path = tmp_path / "main.db"
    with contextlib.closing(connect(path)) as db:
        db.execute("CREATE VIRTUAL TABLE t USING counter(k TEXT PRIMARY KEY, n COUNTER)")
        db.execute("INSERT INTO t VALUES ('a', 1)")
        db.execute("UPDATE counter_replica SET renewal = 200")
        time.sleep(0.25)
        db.execute("INSERT INTO t VALUES ('a', 1)")  # renews the witness
        time.sleep(0.25)
        db.execute("INSERT OR IGNORE INTO t VALUES ('a', 1)")  # looks, and writes nothing
        os.removexattr(path, ATTRIBUTE)
        db.execute("INSERT INTO t VALUES ('a', 1)")
        assert [why for why, in db.execute("SELECT why FROM counter_identity()")] == ["restore", "created"]


def test_a_lost_attribute_is_a_restore_and_is_written_anew(fleet):
    fleet.new("one", "peer")
    fleet.count("one", "peer", "one")
    os.removexattr(fleet.path("one"), ATTRIBUTE)
    fleet.count("one")
    assert fleet.whys("one") == ["restore", "created"]
    with fleet.use("one") as db:
        assert attribute(fleet.path("one")) == pair(db)
    fleet.count("one")
    fleet.check(files=2, events=1)


@pytest.mark.parametrize("what", ["created", "copy", "restore", "fork"])
def test_a_backup_that_is_older_than_the_first_renewal_is_a_restore_without_the_attribute(tmp_path, what):
    """The content of the backup was written before anybody had read the attribute of the file."""
    path, at_hand = tmp_path / "one.db", tmp_path / "backup.db"
    with contextlib.closing(connect(path)) as db:
        rows(db, TABLE)
        if what != "created":
            rows(db, ADD, 1)
    if what == "copy":
        shutil.copy(path, tmp_path / "copy.db")
        path = tmp_path / "copy.db"
    elif what == "restore":
        shutil.copy(path, tmp_path / "older.db")
        with contextlib.closing(connect(path)) as db:
            time.sleep(0.02)
            rows(db, ADD, 1)
        sh('cat "$1" > "$2"', tmp_path / "older.db", path)
    with contextlib.closing(connect(path)) as db, contextlib.closing(connect(at_hand)) as backup:
        if what == "fork":
            rows(db, "SELECT counter_fork()")
        if what != "created":
            rows(db, ADD, 10)
        db.backup(backup)
        time.sleep(0.02)
        rows(db, ADD, 100)
        total = rows(db, VALUE)[0][0]
        with contextlib.closing(connect(tmp_path / "peer.db")) as peer:
            rows(peer, TABLE)
            rows(peer, "SELECT * FROM counter_pull(?)", str(path))
        os.removexattr(path, ATTRIBUTE)
        backup.backup(db)
        rows(db, ADD, 1000)
        whys = [why for why, in rows(db, "SELECT why FROM counter_identity()")]
        assert whys == ["restore"] + [what] * (what != "created") + ["created"]
    with contextlib.closing(connect(tmp_path / "peer.db")) as peer:
        rows(peer, "SELECT * FROM counter_pull(?)", str(path))
        assert rows(peer, VALUE) == [(total + 1000,)]


def test_an_attribute_that_was_never_seen_is_not_missed(fleet):
    fleet.new("one")
    fleet.count("one")
    with fleet.no_event("one"):
        with fleet.use("one") as db:
            db.execute("UPDATE counter_replica SET witnessed = 0")
        os.removexattr(fleet.path("one"), ATTRIBUTE)


@pytest.mark.parametrize("way", ["later", "earlier"])
def test_a_clock_that_was_set_keeps_the_id_and_renews(fleet, way):
    fleet.new("one")
    fleet.count("one")
    with fleet.no_event("one"):
        with fleet.use("one") as db:
            shift = 10**10 if way == "earlier" else -10**10  # set back: renewed in the future
            db.execute("UPDATE counter_replica SET renewal = 10, renewed = renewed + ?", [shift])
            before = pair(db)
        fleet.count("one")
        with fleet.use("one") as db:
            assert pair(db)[0] == before[0] + 1


def test_another_device_number_keeps_the_id(fleet):
    fleet.new("one")
    fleet.count("one")
    with fleet.no_event("one"):
        with fleet.use("one") as db:
            if rows(db, "SELECT birth FROM counter_replica") == [(None,)]:
                pytest.skip("no birth times here, so the device is part of the fingerprint")
            db.execute("UPDATE counter_replica SET device = coalesce(device, 0) + 1")
        fleet.count("one")


def test_a_file_that_is_moved_keeps_the_id(fleet):
    fleet.new("one")
    fleet.count("one")
    with fleet.no_event("one", now="moved"):
        sh('mv "$1" "$2"', fleet.path("one"), fleet.path("moved"))


def test_a_file_in_a_renamed_folder_keeps_the_id(fleet):
    (fleet.folder / "a").mkdir()
    fleet.new("a/one")
    fleet.count("a/one")
    with fleet.no_event("a/one", now="b/one"):
        (fleet.folder / "a").rename(fleet.folder / "b")


def test_a_file_behind_a_symbolic_link_keeps_the_id(fleet):
    fleet.new("one")
    os.symlink(fleet.path("one"), fleet.path("link"))
    fleet.count("one")
    with fleet.no_event("one"):
        fleet.count("link", "one", "link")
        with fleet.use("link") as by_link:
            by_link.execute(ADD, [fleet.amount()])
            fleet.count("one")
            by_link.execute(ADD, [fleet.amount()])


@pytest.mark.parametrize("sql", [
    "VACUUM", "PRAGMA wal_checkpoint", "PRAGMA wal_checkpoint(TRUNCATE)",
    "PRAGMA journal_mode = DELETE", "PRAGMA journal_mode = WAL", "PRAGMA journal_mode = TRUNCATE",
    "PRAGMA journal_mode = PERSIST", "PRAGMA journal_mode = MEMORY", "REINDEX",
    "SELECT * FROM counter_identity()", "SELECT counter_id()", "SELECT counter_init()",
    "ALTER TABLE t RENAME TO u; ALTER TABLE u RENAME TO t",
    "DELETE FROM t WHERE k = 'no such row'",
])
def test_maintenance_keeps_the_id(fleet, sql):
    fleet.new("one")
    fleet.count("one")
    db = fleet.open("one")
    with fleet.no_event("one"):
        fleet.count("one")
        for statement in sql.split("; "):
            rows(db, statement)
        fleet.count("one")
        with contextlib.closing(connect(fleet.path("one"))) as other:
            other.execute(ADD, [fleet.amount()])


def test_a_vacuum_with_another_page_size_keeps_the_id(tmp_path):
    fleet = Fleet(tmp_path, "DELETE")
    fleet.new("one")
    fleet.count("one")
    with fleet.no_event("one"):
        shell(fleet.path("one"), "PRAGMA page_size = 1024", "VACUUM")


def test_a_reader_that_may_not_write_sees_the_file_and_changes_nothing(fleet):
    fleet.new("one")
    fleet.count("one")
    with fleet.no_event("one"):
        reader = sqlite3.connect(f"file:{fleet.path('one')}?mode=ro", uri=True,
                                 isolation_level=None)
        reader.enable_load_extension(True)
        reader.load_extension(files.EXTENSION)
        before = os.getxattr(fleet.path("one"), ATTRIBUTE)
        for _ in range(3):
            assert rows(reader, VALUE) == [(fleet.sum,)]
            assert whys(reader) == ["created"]
            with pytest.raises(sqlite3.OperationalError, match="readonly"):
                reader.execute(ADD, [1])
        assert os.getxattr(fleet.path("one"), ATTRIBUTE) == before
        fleet.count("one")
        assert rows(reader, VALUE) == [(fleet.sum,)]
        reader.close()


def test_who_only_reads_a_copy_does_not_change_it(fleet):
    fleet.new("one")
    fleet.count("one")
    cp_a(fleet.path("one"), fleet.path("copy"))
    before = fleet.identity("copy")
    fleet.see("copy")
    with fleet.use("one") as db:
        rows(db, "SELECT * FROM counter_pull(?)", fleet.path("copy"))
    with fleet.use("copy") as db:
        state = rows(db, "SELECT fingerprint FROM counter_identity() WHERE state = 'current'")
    assert "copy" in state[0][0]
    assert fleet.identity("copy") == before


# ---- bad input -----------------------------------------------------------------------------------

def refused(db, sentence, sql=ADD, values=(1,)):
    with pytest.raises(sqlite3.Error, match=sentence) as raised:
        db.execute(sql, values)
    return str(raised.value)


@pytest.mark.parametrize("garbage", [
    b"", b"x", b"\xc1", b"\xc1" + bytes(16), b"\xc1" + b"\xff" * 16, b"\xc2" + bytes(16),
    b"\xc1" + b"\x00" * 7 + b"\x01" + bytes(9), b"z" * 2000])
def test_an_attribute_of_someone_else_makes_the_file_count_on_under_a_new_id(fleet, garbage):
    fleet.new("one", "peer")
    fleet.count("one", "peer")
    before = fleet.identity("one")
    os.setxattr(fleet.path("one"), ATTRIBUTE, garbage)
    fleet.count("one", "one")
    assert fleet.identity("one")[0] != before[0]
    with fleet.use("one") as db:
        assert attribute(fleet.path("one")) == pair(db)
    fleet.check(files=2, events=1)


@pytest.mark.parametrize("number, is_taken", [(2**62 // 3 + 2**30, True), (2**61, False)])
def test_a_witness_up_to_half_of_its_range_is_taken_for_one(fleet, number, is_taken):
    fleet.new("one")
    fleet.count("one")
    before = fleet.identity("one")
    os.setxattr(fleet.path("one"), ATTRIBUTE, struct.pack(">Bqq", 0xC1, number, 1))
    if is_taken:
        fleet.count("one")
        assert fleet.identity("one")[0] != before[0]
        with fleet.use("one") as db:
            assert attribute(fleet.path("one")) == pair(db) and pair(db)[0] > number
    else:
        with fleet.use("one") as db:
            refused(db, "the witness of main has reached its maximum")


def short_id(db):
    db.execute("UPDATE counter_replica SET id = substr(id, 1, 15)")


def two_current_rows(db):
    db.execute("CREATE TABLE loose AS SELECT * FROM counter_replica")
    db.execute("DROP TABLE counter_replica")
    db.execute("ALTER TABLE loose RENAME TO counter_replica")
    db.execute("INSERT INTO counter_replica SELECT * FROM counter_replica")
    db.execute("UPDATE counter_replica SET id = randomblob(16) WHERE rowid = 2")


@pytest.mark.parametrize("known", [False, True])  # does the connection know the table already?
@pytest.mark.parametrize("damage", named([short_id, two_current_rows]))
def test_a_damaged_identity_stops_counting_until_counter_fork_mends_it(fleet, damage, known):
    fleet.new("one", "peer")
    fleet.count("one", "peer")
    with fleet.use("one") as db:
        if known:
            rows(db, VALUE)
        damage(db)
        refused(db, "counter_fork")
        refused(db, "counter_fork", "SELECT * FROM counter_pull(?)", [fleet.path("peer")])
        rows(db, "SELECT counter_fork()")
        assert rows(db, "SELECT count(*), max(length(id)) FROM counter_replica WHERE one = 1") == [(1, 16)]
    fleet.count("one", "one")
    fleet.check(files=2, events=1)


def test_a_lost_identity_stops_counting_until_counter_init_makes_another(fleet):
    fleet.new("one", "peer")
    fleet.count("one", "peer", "one")
    with fleet.use("one") as db:
        db.execute("DELETE FROM counter_replica")
        refused(db, "counter_init")
    with fleet.use("one") as db:
        refused(db, "counter_init")
        rows(db, "SELECT counter_init()")
    fleet.count("one", "one")
    fleet.check(files=2, events=1)


def moved_away(path):
    sh('mv "$1" "$1.away"', path)


def deleted(path):
    sh('rm "$1"', path)


def replaced(path):
    sh('cp "$1" "$1.new"; mv "$1.new" "$1"', path)


def folder_renamed(path):
    folder = os.path.dirname(path)
    sh('mv "$1" "$1.away"', folder)


def test_the_birth_of_a_file_is_kept_in_nanoseconds(fleet):
    fleet.new("one")
    birth = sh('stat -c %.9W "$1"', fleet.path("one")).strip().replace(".", "")
    with fleet.use("one") as db:
        stored = rows(db, "SELECT birth FROM counter_replica")
    assert stored == [(int(birth),)] or int(birth) == 0 and stored == [(None,)]


def test_a_file_that_is_put_in_the_place_of_one_that_commits_keeps_its_witness(fleet):
    fleet.new("one", "other")
    fleet.count("one", "other")
    db = fleet.open("one")
    other = attribute(fleet.path("other"))
    db.execute("BEGIN")
    fleet.count("one")
    moved_away(fleet.path("one"))
    sh('cp --preserve=xattr "$1" "$2"', fleet.path("other"), fleet.path("one"))
    with contextlib.suppress(sqlite3.Error):
        db.execute("COMMIT")
    assert attribute(fleet.path("one")) == other


@pytest.mark.parametrize("counted_before", [False, True])
@pytest.mark.parametrize("way", named([moved_away, deleted, replaced, folder_renamed]))
def test_a_file_that_went_away_under_its_connection_refuses_to_count(fleet, way, counted_before):
    (fleet.folder / "in").mkdir()
    fleet.new("in/one", "peer")
    fleet.count("in/one", "peer")
    db = fleet.open("in/one")
    rows(db, VALUE)
    if counted_before:
        fleet.count("in/one")
    way(fleet.path("in/one"))
    # SQLite itself refuses where it wants a rollback journal and the folder is gone.
    by_sqlite = fleet.journal == "DELETE" and way is folder_renamed
    sentence = "" if by_sqlite else "moved or replaced"
    refused(db, sentence)
    refused(db, sentence)
    refused(db, sentence, "SELECT * FROM counter_pull(?)", [fleet.path("peer")])
    assert rows(db, VALUE) == [(fleet.sum - 2,)]  # without the count of the peer


def test_a_file_that_came_back_counts_on(fleet):
    fleet.new("one")
    fleet.count("one")
    fleet.open("one")
    with fleet.no_event("one"):
        fleet.count("one")
        moved_away(fleet.path("one"))
        refused(fleet.live["one"], "moved or replaced")
        sh('mv "$1.away" "$1"', fleet.path("one"))


def new_named(fleet, name):
    with contextlib.closing(connect(fleet.path(name))) as db:
        db.execute(f"PRAGMA journal_mode = {fleet.journal}")
        rows(db, "SELECT counter_init('dc:rack')")
        db.execute(TABLE)
        renew_always(db)
    fleet.join(name)


@pytest.mark.parametrize("pulls_first", [False, True])
@pytest.mark.parametrize("way", CLOSED)
def test_a_copy_of_a_named_file_counts_only_after_counter_fork(fleet, way, pulls_first):
    new_named(fleet, "one")
    fleet.count("one")
    way(fleet.path("one"), fleet.path("copy"))
    fleet.join("copy")
    fleet.count("one")
    if pulls_first:
        fleet.pull("copy", "one")
    for _ in range(2):
        with fleet.use("copy") as db:
            assert "dc:rack" in refused(db, "counter_fork")
    fleet.pull("copy", "one")
    fleet.see("copy")
    with fleet.use("copy") as db:
        said = rows(db, "SELECT name, refuses IS NULL FROM counter_identity()")
        assert said == [("dc:rack", 0)], "what refused is stored"
        refused(db, "counter_fork")
        rows(db, "SELECT counter_fork()")
    fleet.count("copy", "one", "copy")
    assert fleet.whys("copy") == ["fork", "created"]
    fleet.check(files=1, events=1)


@pytest.mark.parametrize("way", RESTORES)
def test_a_restored_named_file_counts_only_after_counter_fork(fleet, way):
    new_named(fleet, "one")
    fleet.new("peer")
    fleet.count("one", "peer")
    cp(fleet.path("one"), fleet.path("backup"))
    fleet.count("one")
    fleet.pull("peer", "one")
    way(fleet.path("backup"), fleet.path("one"))
    with fleet.use("one") as db:
        refused(db, "counter_fork")
    fleet.pull("one", "peer")
    fleet.see("one")
    with fleet.use("one") as db:
        refused(db, "counter_fork")  # it has all its shards again, and may still have a twin
        rows(db, "SELECT counter_fork()")
    fleet.count("one", "peer")
    fleet.check(files=2, events=1)


def renumber(fleet, name):
    """As a file system does that gives inodes other numbers at each mount."""
    with fleet.use(name) as db:
        db.execute("UPDATE counter_replica SET inode = inode + 1")


def test_the_third_id_that_the_fingerprint_alone_costs_in_a_day_is_left_to_the_operator(fleet):
    fleet.new("one")
    fleet.count("one")
    for _ in range(2):
        renumber(fleet, "one")
        fleet.count("one")
    assert fleet.whys("one") == ["copy", "copy", "created"]
    renumber(fleet, "one")
    for _ in range(2):
        with fleet.use("one") as db:
            assert "counter_fork" in refused(db, "counter_trust_witness")
    with fleet.use("one") as db:
        rows(db, "SELECT counter_trust_witness()")
    fleet.count("one")
    before = fleet.identity("one")
    for _ in range(3):
        renumber(fleet, "one")
        fleet.count("one")
    assert fleet.identity("one") == before
    assert len(fleet.see("one")) == 3


def test_counter_fork_is_the_other_way_out(fleet):
    fleet.new("one")
    fleet.count("one")
    for _ in range(2):
        renumber(fleet, "one")
        fleet.count("one")
    renumber(fleet, "one")
    with fleet.use("one") as db:
        refused(db, "counter_trust_witness")
        rows(db, "SELECT counter_fork()")
    fleet.count("one", "one")
    assert len(fleet.see("one")) == 4


def test_days_that_passed_give_the_fingerprint_its_ids_back(fleet):
    fleet.new("one")
    fleet.count("one")
    for _ in range(5):
        renumber(fleet, "one")
        fleet.count("one")
        with fleet.use("one") as db:
            db.execute("UPDATE counter_replica SET since = since - ?", [DAY])
    assert len(fleet.see("one")) == 6


@pytest.mark.parametrize("way", named([restore_by_cp, restore_of_the_shell, restore_by_rm_and_cp,
                                       restore_by_rename]))
def test_who_trusts_the_witness_alone_still_notices_a_restore(fleet, way):
    fleet.new("one", "peer")
    fleet.count("one", "peer")
    with fleet.use("one") as db:
        rows(db, "SELECT counter_trust_witness()")
    cp(fleet.path("one"), fleet.path("backup"))
    fleet.count("one")
    fleet.pull("peer", "one")
    way(fleet.path("backup"), fleet.path("one"))
    fleet.count("one", "one")
    assert fleet.whys("one")[0] == "restore"
    fleet.check(files=2, events=1)


def test_a_witness_that_is_not_there_cannot_be_trusted(fleet):
    fleet.new("one")
    fleet.count("one")
    os.removexattr(fleet.path("one"), ATTRIBUTE)
    with fleet.use("one") as db:
        refused(db, "witness", "SELECT counter_trust_witness()", [])
    fleet.count("one")
    assert fleet.whys("one") == ["restore", "created"]


def trust_is_refused(fleet, name):
    """A witness tells a restore, and nothing of who else counts under a name."""
    for _ in range(2):
        with fleet.use(name) as db:
            refused(db, "counter_fork", "SELECT counter_trust_witness()", [])
            refused(db, "counter_fork")
    with fleet.use(name) as db:
        assert rows(db, "SELECT name, refuses IS NULL FROM counter_identity()")[0] == ("dc:rack", 0)
        rows(db, "SELECT counter_fork()")


@pytest.mark.parametrize("meanwhile", ["nothing", "pull", "count"])
@pytest.mark.parametrize("way", CLOSED)
def test_a_witness_does_not_make_a_named_copy_count(fleet, way, meanwhile):
    new_named(fleet, "one")
    fleet.count("one")
    way(fleet.path("one"), fleet.path("copy"))
    fleet.join("copy")
    fleet.count("one")
    with fleet.use("copy") as db:
        if meanwhile == "pull":
            rows(db, "SELECT * FROM counter_pull(?)", fleet.path("one"))
        elif meanwhile == "count":
            refused(db, "counter_fork")
        refused(db, "counter_fork", "SELECT counter_trust_witness()", [])
    fleet.pull("copy", "one")
    trust_is_refused(fleet, "copy")
    fleet.count("copy", "one")
    fleet.check(files=1, events=1)


@pytest.mark.parametrize("way", RESTORES)
def test_a_witness_does_not_make_a_restored_named_file_count(fleet, way):
    new_named(fleet, "one")
    fleet.new("peer")
    fleet.count("one", "peer")
    cp(fleet.path("one"), fleet.path("backup"))
    fleet.count("one")
    fleet.pull("peer", "one")
    way(fleet.path("backup"), fleet.path("one"))
    fleet.pull("one", "peer")
    trust_is_refused(fleet, "one")
    fleet.count("one", "peer")
    fleet.check(files=2, events=1)


def test_a_witness_does_not_make_a_named_file_count_that_has_dropped_a_table(fleet):
    new_named(fleet, "one")
    fleet.new("peer")
    fleet.count("one", "peer")
    fleet.pull("peer", "one")
    with fleet.use("one") as db:
        db.execute("DROP TABLE t")
        db.execute(TABLE)
    trust_is_refused(fleet, "one")
    fleet.count("one", "peer")
    fleet.check(files=2, events=1)


def test_a_named_file_may_trust_its_witness_and_refuses_all_the_same_when_it_is_restored(fleet):
    new_named(fleet, "one")
    fleet.new("peer")
    fleet.count("one", "peer")
    with fleet.use("one") as db:
        rows(db, "SELECT counter_trust_witness()")
    fleet.count("one")
    cp(fleet.path("one"), fleet.path("backup"))
    fleet.count("one")
    fleet.pull("peer", "one")
    restore_by_cp(fleet.path("backup"), fleet.path("one"))
    fleet.pull("one", "peer")
    trust_is_refused(fleet, "one")
    fleet.count("one", "peer")
    fleet.check(files=2, events=1)


# ---- memory databases ----------------------------------------------------------------------------

in_wal = pytest.mark.parametrize("fleet", ["WAL"], indirect=True)


def new_memory(uri=":memory:"):
    db = sqlite3.connect(uri, isolation_level=None, uri=True)
    db.enable_load_extension(True)
    db.load_extension(files.EXTENSION)
    return db


def push(db, path):
    db.execute("ATTACH ? AS target", [f"file:{path}?vfs=unix"])
    rows(db, "SELECT * FROM counter_push('target')")
    db.execute("DETACH target")


@in_wal
def test_a_memory_database_that_was_serialised_has_its_own_id(fleet):
    fleet.new("hub")
    one = new_memory()
    one.execute(TABLE)
    one.execute(ADD, [fleet.amount()])
    two, three = new_memory(), new_memory()
    two.deserialize(one.serialize())
    for db in (one, two, two, one, one):
        db.execute(ADD, [fleet.amount()])
    three.deserialize(two.serialize())
    for db in (two, three, three, one):
        db.execute(ADD, [fleet.amount()])
    for db in (three, one, two):
        push(db, fleet.path("hub"))
    assert len(fleet.see("hub")) == 3
    fleet.count("hub")
    fleet.see("hub")
    assert [whys(db) for db in (one, two)] == [["created"], ["copy", "created"]]


def test_a_serialised_file_has_its_own_id(fleet):
    fleet.new("one", "peer")
    fleet.count("one")
    one, memory = fleet.open("one"), new_memory()
    if fleet.journal == "WAL":  # which a memory database cannot be
        rows(one, "PRAGMA journal_mode = DELETE")
    memory.deserialize(one.serialize())
    memory.execute(ADD, [fleet.amount()])
    fleet.count("one")
    memory.execute(ADD, [fleet.amount()])
    push(memory, fleet.path("peer"))
    fleet.pull("peer", "one")
    assert len(fleet.see("peer")) == 2


def test_an_increment_under_the_id_of_a_copy_that_takes_its_own_is_refused(fleet, tmp_path):
    fleet.new("one")
    fleet.count("one")
    shutil.copyfile(fleet.path("one"), tmp_path / "copy.db")
    with contextlib.closing(new_memory()) as db:
        db.execute("ATTACH ? AS twin", [f"file:{tmp_path}/copy.db?vfs=unix"])
        (before,), = rows(db, "SELECT id FROM twin.counter_replica WHERE one = 1")
        increment = "SELECT counter_value(counter_inc(NULL, 1, ?))"
        with pytest.raises(sqlite3.Error, match="former id of twin, which has just taken another one"):
            rows(db, increment, before)
        (after,), = rows(db, "SELECT counter_id('twin')")
        assert rows(db, increment, after) == [(1,)]


def test_content_that_replaces_an_open_file_has_its_own_id(fleet):
    """A few writes give it the version of the data that the connection knew of the file."""
    fleet.new("peer", "one")
    whole = fleet.open("one")
    if fleet.journal == "WAL":
        rows(whole, "PRAGMA journal_mode = DELETE")
    whole.execute("CREATE TABLE plain(x)")
    content = whole.serialize()
    for writes in range(8):
        db = connect(fleet.path("one"))
        db.execute(ADD, [fleet.amount()])
        db.deserialize(content)
        for _ in range(writes):
            db.execute("INSERT INTO plain VALUES (1)")
        for _ in range(2):
            db.execute(ADD, [fleet.amount()])
        assert whys(db)[0] == "copy"
        push(db, fleet.path("peer"))
        db.close()
    fleet.pull("peer", "one")
    fleet.see("peer")


def deserialize_own(db, older):
    db.deserialize(older)


def backup_own(db, older):
    with contextlib.closing(new_memory()) as source:
        source.deserialize(older)
        source.backup(db)


@pytest.mark.parametrize("way", named([deserialize_own, backup_own]))
@in_wal
def test_older_content_of_a_memory_database_takes_a_new_id(fleet, way):
    fleet.new("hub")
    db = new_memory()
    db.execute(TABLE)
    renew_always(db)
    db.execute(ADD, [fleet.amount()])
    older = db.serialize()
    db.execute(ADD, [fleet.amount()])
    push(db, fleet.path("hub"))
    way(db, older)
    for _ in range(3):
        db.execute(ADD, [fleet.amount()])
    assert whys(db)[0] in ("restore", "copy")
    with contextlib.closing(new_memory()) as content:  # what db has; see the next test
        content.deserialize(db.serialize())
        push(content, fleet.path("hub"))
    assert len(fleet.see("hub")) == 2


DESERIALIZE = """
import sqlite3, sys
db = sqlite3.connect(":memory:", isolation_level=None)
db.enable_load_extension(True)
db.load_extension(sys.argv[1])
for sql in sys.argv[3:]:
    db.execute(sql)
db.execute("SELECT counter_init()").fetchall()
db.execute("CREATE TABLE p(k, n)")
db.execute("INSERT INTO p VALUES (1, counter_inc(NULL, 1))")
db.execute("CREATE VIRTUAL TABLE t USING counter(k TEXT PRIMARY KEY, n COUNTER)")
db.execute("CREATE TABLE s(k TEXT PRIMARY KEY, code TEXT UNIQUE, n INTEGER DEFAULT 0, m INTEGER)")
db.execute("SELECT counter_track('s', 'n')").fetchall()
older = db.serialize()
db.execute("ATTACH ':memory:' AS x")
db.execute("DETACH x")
db.deserialize(older)
db.execute("ATTACH ':memory:' AS x")
for sql in sys.argv[2].split(";"):
    db.execute(sql).fetchall()
"""


COUNTS = [*(";".join(3 * [sql]) for sql in (
              "UPDATE p SET n = counter_inc(n, 2)", "INSERT INTO t VALUES ('k', 1)",
              "INSERT INTO s(k, n) VALUES('k', 1) ON CONFLICT DO UPDATE SET n = n + 1")),
          "SELECT counter_track('s', 'm');SELECT counter_untrack('s', 'm')"]
NAME_TAKEN = ["CREATE TABLE counter_statements(x)", "CREATE VIEW counter_statements AS SELECT 1"]


@pytest.mark.parametrize("sql", COUNTS)
@pytest.mark.parametrize("also", [[], *([name] for name in NAME_TAKEN)], ids=str)
def test_a_connection_that_counted_and_deserialises_counts_on(sql, also):
    """In a process that may crash: SQLite 3.40 forgets to tell tables without CREATE, json_each and
    counter_push among them, that the schema of main is another one then. Counting needs none."""
    command = [sys.executable, "-c", DESERIALIZE, files.EXTENSION, sql, *also]
    done = subprocess.run(command, stderr=subprocess.PIPE, text=True)
    assert (done.returncode, done.stderr) == (0, "")


SHARED = ["file:{}?mode=memory&cache=shared", "file:/{}?vfs=memdb"]


@pytest.mark.parametrize("uri", SHARED)
def test_connections_to_one_memory_database_are_one_replica(uri, tmp_path):
    uri = uri.format(tmp_path.name + "-shared")
    one, two = new_memory(uri), new_memory(uri)
    one.execute(TABLE)
    renew_always(one)
    before = identity(one)
    for n in range(20):
        (one, two)[n % 2].execute(ADD, [1])
    one.close()
    three = new_memory(uri)
    for n in range(20):
        (three, two)[n % 2].execute(ADD, [1])
    assert rows(two, VALUE) == [(40,)]
    assert identity(two) == before
    two.close()
    three.close()


@pytest.mark.parametrize("uri", SHARED)
@pytest.mark.parametrize("counted", [False, True])
@in_wal
def test_older_content_that_another_connection_brings_is_noticed(fleet, uri, counted):
    fleet.new("hub")
    uri = uri.format(fleet.folder.name + "-older")
    one, two = new_memory(uri), new_memory(uri)
    one.execute(TABLE)
    renew_always(one)
    one.execute(ADD, [fleet.amount()])
    if counted:
        two.execute(ADD, [fleet.amount()])
    older = new_memory()
    one.backup(older)
    one.execute(ADD, [fleet.amount()])
    push(one, fleet.path("hub"))
    older.backup(two)
    older.close()
    two.execute(ADD, [fleet.amount()])
    push(two, fleet.path("hub"))
    fleet.see("hub")
    one.close()
    two.close()


@in_wal
def test_memory_databases_of_one_name_after_one_another_are_two_replicas(fleet):
    fleet.new("hub")
    uri = SHARED[0].format(fleet.folder.name + "-again")
    one = new_memory(uri)
    one.execute(TABLE)
    one.execute(ADD, [fleet.amount()])
    content = one.serialize()
    one.execute(ADD, [fleet.amount()])
    push(one, fleet.path("hub"))
    one.close()
    two, source = new_memory(uri), new_memory()
    source.deserialize(content)
    source.backup(two)
    source.close()
    two.execute(ADD, [fleet.amount()])
    push(two, fleet.path("hub"))
    assert len(fleet.see("hub")) == 2
    two.close()


# ---- the end of a transaction that nobody was told of --------------------------------------------

def test_a_table_that_a_transaction_pulls_and_drops_leaves_nothing_checked(tmp_path):
    """SQLite does not tell a dropped table that the transaction has ended."""
    fleet = Fleet(tmp_path, "DELETE")
    fleet.new("one", "peer")
    with contextlib.closing(connect(fleet.path("empty"))) as db:
        db.execute("CREATE VIRTUAL TABLE e USING counter(k PRIMARY KEY, n COUNTER)")
    one = fleet.open("one")
    fleet.count("one")
    sh('cp "$1" "$1.backup"', fleet.path("one"))
    fleet.count("one")
    fleet.pull("peer", "one")
    one.execute("BEGIN")
    rows(one, "SELECT * FROM counter_pull(?)", fleet.path("empty"))
    one.execute("DROP TABLE e")
    one.execute("COMMIT")
    sh('cat "$1.backup" > "$1"', fleet.path("one"))
    fleet.count("one")
    assert fleet.whys("one")[0] == "restore"
    fleet.check(files=1, events=1)
    fleet.close()


def test_a_name_that_a_restore_made_forget_is_not_taken_again(fleet):
    with contextlib.closing(connect(fleet.path("one"))) as db:
        db.execute("CREATE TABLE plain(x)")
    sh('cp "$1" "$1.backup"', fleet.path("one"))
    with contextlib.closing(connect(fleet.path("one"))) as db:
        rows(db, "SELECT counter_init('dc:rack')")
    sh('cat "$1.backup" > "$1"', fleet.path("one"))
    with contextlib.closing(connect(fleet.path("one"))) as db:
        refused(db, "without a name", "SELECT counter_init('dc:rack')", [])
        rows(db, "SELECT counter_init()")


def test_each_time_that_the_attribute_goes_away_costs_one_id(fleet):
    fleet.new("one", "peer")
    fleet.count("one", "peer", "one")
    with fleet.use("one") as db:
        rows(db, "SELECT counter_trust_witness()")
        os.removexattr(fleet.path("one"), ATTRIBUTE)
    for _ in range(4):
        fleet.count("one")
        os.removexattr(fleet.path("one"), ATTRIBUTE)
    fleet.check(files=2, events=4)


def test_loading_twice_leaves_one_guard(fleet):
    fleet.new("one", "peer")
    one = fleet.open("one")
    fleet.count("one", "peer")
    one.enable_load_extension(True)
    one.load_extension(files.EXTENSION)
    one.execute("BEGIN")
    fleet.count("one")
    rows(one, "SELECT counter_fork()")
    fleet.count("one")
    one.execute("COMMIT")
    assert len(rows(one, SHARDS)) == 2
    fleet.check(files=2, events=1)
