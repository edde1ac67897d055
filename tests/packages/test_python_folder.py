"""test_python_folder.py - sync_folder() of the Python package: files that meet in a folder alone show the sums of all
increments, whatever a service that copies the folder does to it, and however a sync ends."""
import gzip
import hashlib
import json
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import textwrap
import uuid

import pytest

from conftest import CLEAN, EXAMPLES, ROOT, batches_in, run, shared
from shops import Model

PYTHON = "/usr/bin/python3"
COMMAND = ROOT / "build" / "sqlite-counter"


def listing(folder):
    """path -> size and time of all files"""
    return {str(path.relative_to(folder)): (path.stat().st_size, path.stat().st_mtime_ns) for path in folder.rglob("*") if path.is_file()}


def changed(before, after):
    return {name.split("/")[0] for name in before.keys() | after.keys() if before.get(name) != after.get(name)}


def sync_all(counter, shops, folder):
    for _ in range(2):
        for one in shops:
            assert counter.sync_folder(one.db, folder).warnings == []


# ---- by oracle ----

def test_files_that_meet_in_a_folder_show_the_sums_of_all_increments(counter, shop, folder, chance):
    """Some are copied, before and after they counted. Nobody writes in a folder that another file has written in."""
    model, shops, writer = Model(), [shop(i) for i in range(3)], {}
    for step in range(2 * EXAMPLES):
        one = chance.choice(shops)
        what = chance.random()
        if what < 0.5:
            model.step(one, chance)
        elif what < 0.53 and len(shops) < 6:
            path = f"{one.path}.{step}.db"
            one("VACUUM INTO ?", path) if chance.random() < 0.5 else copy(one, path)
            shops.append(shop(None, path))
        else:
            before = listing(folder)
            assert counter.sync_folder(one.db, folder).warnings == []
            touched = changed(before, listing(folder))
            assert len(touched) <= 1
            for name in touched:
                assert writer.setdefault(name, one) is one
    sync_all(counter, shops, folder)
    for one in shops:
        assert one.content() == model.content()


def copy(shop, path):
    shop.close()
    shutil.copy(shop.path, path)
    shop.__init__(shop.counter, shop.path)


def test_a_service_that_delays_cuts_and_doubles_files_harms_nothing(counter, shop, tmp_path, chance):
    """Each file sees a folder of its own; a service carries files between them, by and by, and sometimes a part of one."""
    for example in range(max(1, EXAMPLES // 50)):
        shops, model = [shop(f"{example} {i}") for i in range(3)], Model()
        folders = [tmp_path / f"{example} {i} folder" for i in range(3)]
        for each in folders:
            shared(each)

        def carry(chance_of_all):
            for giver, whose in zip(folders, shops):
                for path in list((giver / whose.id()).glob("*.gz")) if (giver / whose.id()).is_dir() else []:
                    for taker in folders:
                        if taker is giver or chance.random() > chance_of_all:
                            continue
                        at = taker / path.relative_to(giver)
                        at.parent.mkdir(exist_ok=True)
                        content = path.read_bytes()
                        if chance_of_all < 1 and chance.random() < 0.3:
                            content = content[:chance.randrange(len(content))]
                        elif chance_of_all < 1 and chance.random() < 0.1:
                            at = at.with_name(f"{at.stem} (conflicted copy).gz")
                        at.write_bytes(content)
                if chance_of_all == 1:  # what was deleted is deleted
                    for taker in folders:
                        for path in (taker / whose.id()).glob("*.gz") if taker is not giver else []:
                            if not (giver / path.relative_to(taker)).exists():
                                path.unlink()

        for _ in range(60):
            i = chance.randrange(3)
            if chance.random() < 0.5:
                model.step(shops[i], chance)
            else:
                counter.sync_folder(shops[i].db, folders[i])
            carry(0.15)
        for _ in range(2):
            for one, each in zip(shops, folders):
                counter.sync_folder(one.db, each)
            carry(1)
        for one, each in zip(shops, folders):
            assert counter.sync_folder(one.db, each).warnings == []
            assert one.content() == model.content()


LOOP = textwrap.dedent("""
    import sqlite3, sys, sqlite_counter
    db = sqlite3.connect(sys.argv[1], timeout=10, isolation_level=None)
    sqlite_counter.load(db)
    while True:
        for i in range(3):
            db.execute("INSERT INTO hits VALUES ('x', abs(random()) % 50, 1)")
        sqlite_counter.sync_folder(db, sys.argv[2])
        print(".", flush=True)
    """)


def test_kill_9_in_the_middle_of_a_sync_loses_nothing(counter, package, shop, folder, tmp_path, chance):
    shops = [shop(i) for i in range(2)]
    for one in shops:
        one.close()
    acknowledged = 0
    for _ in range(max(3, EXAMPLES // 33)):
        running = [subprocess.Popen([PYTHON, "-c", LOOP, one.path, folder], stdout=subprocess.PIPE, env={**CLEAN, "PYTHONPATH": str(package)})
                   for one in shops]
        for process in running:
            assert process.stdout.readline() == b".\n"
        for process in running:
            try:
                process.wait(chance.random() / 20)
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGKILL)
            process.wait()
            acknowledged += 3 * (1 + len(process.stdout.readlines()))
            process.stdout.close()
    shops = [shop(i) for i in range(2)]
    own = [sum(n for n, in one("SELECT value FROM counter_cells('hits') AS c, counter_shards(c.cell) AS s WHERE s.id = ?", one.id()))
           for one in shops]
    sync_all(counter, shops, folder)
    contents = [one.content()[1] for one in shops]
    assert contents[0] == contents[1] and sum(contents[0].values()) == sum(own) >= acknowledged


# ---- what stands in the folder ----

def ends(path):
    return tuple(map(int, re.fullmatch(r"(\d{20})-(\d{20})\.gz", path.name).groups()))


def test_many_small_syncs_leave_few_files(counter, shop, folder):
    one, two = shop("one"), shop("two")
    rounds = 2 * EXAMPLES
    for i in range(rounds):
        one.hit("x", f"page {i}")
        counter.sync_folder(one.db, folder)
    files = batches_in(folder / one.id())
    assert len(files) <= rounds.bit_length() + 2
    assert ends(files[0])[0] == 0 and all(ends(a)[1] == ends(b)[0] for a, b in zip(files, files[1:]))
    assert counter.sync_folder(two.db, folder).took == rounds and two.content() == one.content()
    before = listing(folder)
    assert counter.sync_folder(one.db, folder) == counter.sync_folder(two.db, folder) == counter.Synced(0, 0, 0, [])
    assert listing(folder) == before


def test_a_file_is_as_it_is_specified(counter, shop, folder):
    import uuid
    one = shop("one")
    one.count("tea"), one.hit("x", "1")
    counter.sync_folder(one.db, folder)
    path, = batches_in(folder / one.id())
    *lines, last = gzip.decompress(path.read_bytes()).decode().split("\n")[:-1]
    digest = uuid.UUID(int=0)
    for line in lines:
        digest = uuid.uuid5(digest, line)
    assert json.loads(last) == {"lines": len(lines), "digest": str(digest)}
    batches = [json.loads(line) for line in lines]
    assert (batches[0]["since"], batches[-1]["upto"]) == ends(path) and batches[0]["source"] == f"{one.id()} own"


def test_the_folder_that_is_gone_is_written_anew(counter, shop, folder):
    one, two = shop("one"), shop("two")
    one.count("tea", 3)
    counter.sync_folder(one.db, folder)
    shutil.rmtree(folder / one.id())
    one.count("tea", 4)
    assert counter.sync_folder(one.db, folder).gave == 1
    counter.sync_folder(two.db, folder)
    assert two.content() == one.content()


def test_what_a_killed_sync_has_left_is_removed_after_a_day(counter, shop, folder):
    one = shop("one")
    one.count("tea")
    counter.sync_folder(one.db, folder)
    old, new = folder / one.id() / ".tmp-old", folder / one.id() / ".tmp-new"
    old.touch(), new.touch()
    os.utime(old, (0, 0))
    one.count("tea")
    counter.sync_folder(one.db, folder)
    assert not old.exists() and new.exists()


def test_a_folder_that_is_ahead_of_its_file_is_told(counter, shop, folder):
    one = shop("one")
    one.count("tea")
    counter.sync_folder(one.db, folder)
    path, = batches_in(folder / one.id())
    path.rename(path.with_name(f"{0:020}-{2**62:020}.gz"))
    one.count("tea")
    with pytest.raises(counter.SyncError, match=r"counter_fork\(\) gives it an id of its own"):
        counter.sync_folder(one.db, folder)
    one("SELECT counter_fork()")
    assert counter.sync_folder(one.db, folder).gave


def test_a_scope_takes_the_rows_of_the_scope_and_no_others(counter, shop, folder):
    one, two = shop("one"), shop("two")
    for name in "x", "y":
        one.hit(name, "1"), one.count(name)
    counter.sync_folder(one.db, folder)
    assert counter.sync_folder(two.db, folder, scope=["x"]).warnings == [] and two.content() == ({"x": 1}, {"x 1": 1})
    one.hit("x", "2"), one.hit("y", "2")
    counter.sync_folder(one.db, folder), counter.sync_folder(two.db, folder, scope='["x"]')
    assert two.content()[1] == {"x 1": 1, "x 2": 1} and counter.mark(two.db, f"{one.id()} own") == 0
    counter.sync_folder(two.db, folder)
    assert two.content() == one.content()


# ---- files that are not right ----

def rewritten(path, change):
    lines = gzip.decompress(path.read_bytes()).split(b"\n")[:-1]
    path.write_bytes(gzip.compress(b"".join(line + b"\n" for line in change(lines))))


def sealed(counter, lines):
    digest = uuid.UUID(int=0)
    for line in lines:
        digest = uuid.UUID(bytes=hashlib.sha1(digest.bytes + line).digest()[:16], version=5)
    return [*lines, b'{"lines":%d,"digest":"%s"}' % (len(lines), str(digest).encode())]


DAMAGE = {
    "half": (lambda counter, path: path.write_bytes(path.read_bytes()[:-20]), "it is cut short or damaged"),
    "empty": (lambda counter, path: path.write_bytes(b""), "it is cut short or damaged"),
    "no gzip": (lambda counter, path: path.write_bytes(b"x" * 200), "it is cut short or damaged"),
    "wrong digest": (lambda counter, path: rewritten(path, lambda lines: [lines[0].replace(b'0106","seq"', b'0108","seq"'), lines[-1]]), "it is cut short or damaged"),
    "no last line": (lambda counter, path: rewritten(path, lambda lines: lines[:-1]), "it is cut short or damaged"),
    "newer format": (lambda counter, path: rewritten(path, lambda lines: sealed(counter, [lines[0].replace(b'"format":1', b'"format":2')])),
                     "it has the format 2, and this version reads 1: install a newer sqlite-counter"),
    "of another": (lambda counter, path: rewritten(path, lambda lines: sealed(counter, [lines[0].replace(b' own"', b'"')])), "it has changes of"),
    "refused": (lambda counter, path: rewritten(path, lambda lines: sealed(counter, [lines[0].replace(b'"products"', b'"gone"')])),
                "change 1: table gone: no table was replicated with this name here"),
}


@pytest.mark.parametrize("kind", DAMAGE)
def test_a_bad_file_of_one_is_told_and_the_files_of_others_are_taken(counter, shop, folder, kind):
    bad, good, reader = shop("bad"), shop("good"), shop("reader")
    bad.count("tea", 3), good.count("jam", 5)
    counter.sync_folder(bad.db, folder), counter.sync_folder(good.db, folder)
    path, = batches_in(folder / bad.id())
    whole = path.read_bytes()
    damage, said = DAMAGE[kind]
    damage(counter, path)
    synced = counter.sync_folder(reader.db, folder)
    assert len(synced.warnings) == 1 and said in synced.warnings[0] and str(path) in synced.warnings[0]
    assert reader.content() == ({"jam": 5}, {}) and counter.mark(reader.db, f"{bad.id()} own") == 0
    path.write_bytes(whole)
    assert counter.sync_folder(reader.db, folder).warnings == [] and reader.content() == ({"jam": 5, "tea": 3}, {})


def test_what_is_deleted_where_it_was_written_is_written_anew(counter, shop, folder):
    """As the sentence about a damaged file says."""
    one, two = shop("one"), shop("two")
    for n in 1, 2:
        one("INSERT INTO products VALUES (?, ?, 1)", f"tea {n}", "x" * 1000 if n == 1 else "")
        counter.sync_folder(one.db, folder)
    for path in reversed(batches_in(folder / one.id())):  # the other order takes the second one in
        path.unlink()
        counter.sync_folder(one.db, folder)
    counter.sync_folder(two.db, folder)
    assert two.content() == one.content()


def test_strangers_are_told_of_and_left_alone(counter, shop, folder):
    one, two = shop("one"), shop("two")
    one.count("tea")
    counter.sync_folder(one.db, folder)
    path, = batches_in(folder / one.id())
    for name in f"{path.stem} (conflicted copy 2).gz", f"{9:020}-{3:020}.gz", f"{0:020}-{'9' * 20}.gz", ".syncthing.tmp":
        (path.parent / name).write_bytes(b"x")
    (folder / "readme.txt").write_text("x")
    (folder / one.id().upper()).mkdir()
    (folder / ".stfolder").mkdir()
    assert counter.sync_folder(two.db, folder).warnings == []
    assert len(two("SELECT path FROM counter_folder(?) WHERE source IS NULL", str(folder))) == 5
    assert two.content() == one.content() and (folder / "readme.txt").exists()


# ---- folders that cannot be written ----

def test_a_folder_that_cannot_be_written_is_a_sentence(counter, shop, folder):
    one = shop("one")
    one.count("tea")
    with pytest.raises(counter.SyncError, match="^/proc: it has no file .sqlite-counter, so it is not mounted, or not yet a directory to sync with"):
        counter.sync_folder(one.db, "/proc")
    with pytest.raises(counter.SyncError, match="^/proc/.sqlite-counter: No such file"):
        counter.make_folder("/proc")
    assert counter.sync_folder(one.db, folder).gave == 1


def test_the_folder_of_a_source_is_refused_one_level_too_deep(counter, shop, folder):
    one, two = shop("one"), shop("two")
    one.count("tea")
    counter.sync_folder(one.db, folder)
    before, of_one, moved, empty = sorted(folder.rglob("*")), folder / one.id(), folder / "moved", folder / str(uuid.uuid4())

    def is_refused(path):
        with pytest.raises(counter.SyncError, match=f"^{path}: it is the directory of one device: give the one that it is in$"):
            counter.sync_folder(two.db, path)

    is_refused(of_one)
    of_one.rename(moved)  # files of batches tell it, too
    is_refused(moved)
    moved.rename(of_one)
    assert sorted(folder.rglob("*")) == before
    assert counter.sync_folder(two.db, folder).took == 1
    counter.make_folder(empty)  # a stick may have such a name
    assert counter.sync_folder(two.db, empty).warnings == []


def test_no_folder_a_file_in_its_place_and_a_transaction_are_sentences(counter, shop, folder):
    one = shop("one")
    one.count("tea")
    with pytest.raises(counter.SyncError, match="there is no such folder: make it once, by make_folder"):
        counter.sync_folder(one.db, folder / "nowhere")
    with pytest.raises(TypeError, match="sqlite_counter: this takes a connection of sqlite3 or apsw, not str$"):
        counter.sync_folder(one.path, folder)
    (folder / one.id()).write_text("x")
    with pytest.raises(counter.SyncError, match=f"{one.id()}: cannot be read: Not a directory"):
        counter.sync_folder(one.db, folder)
    (folder / one.id()).unlink()
    one("BEGIN")
    with pytest.raises(counter.SyncError, match="not possible within a transaction"):
        counter.sync_folder(one.db, folder)
    one("COMMIT")
    assert counter.sync_folder(one.db, folder).gave == 1


FULL = textwrap.dedent("""
    import resource, sqlite3, sys, sqlite_counter
    db = sqlite3.connect(sys.argv[1], isolation_level=None)
    sqlite_counter.load(db)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
    try:
        print(sqlite_counter.sync_folder(db, sys.argv[2]))
    except sqlite_counter.SyncError as error:
        print(error)
    """)


def test_a_disk_that_is_full_leaves_no_half_file(counter, package, shop, folder, chance):
    one, two = shop("one"), shop("two")
    one("BEGIN")
    for i in range(500):
        one.hit("x", chance.randbytes(20).hex())
    one("COMMIT")
    said = subprocess.run([PYTHON, "-c", FULL, one.path, folder], capture_output=True, text=True, env={**CLEAN, "PYTHONPATH": str(package)})
    assert "cannot be written: File too large" in said.stdout, said
    assert str(folder) in said.stdout, said
    assert {path.name for path in folder.iterdir()} == {".sqlite-counter", one.id()} and batches_in(folder / one.id()) == []
    counter.sync_folder(one.db, folder), counter.sync_folder(two.db, folder)
    assert two.content() == one.content()


def test_a_file_that_is_locked_stops_the_sync_and_the_next_one_goes_on(counter, shop, folder, tmp_path):
    one, two = shop("one"), shop("two")
    one.count("tea")
    counter.sync_folder(one.db, folder)
    two("PRAGMA busy_timeout = 0")
    other = shop("other", tmp_path / "two.db")
    other("BEGIN IMMEDIATE")
    with pytest.raises(counter.SyncError, match="database is locked"):
        counter.sync_folder(two.db, folder)
    other("COMMIT")
    counter.sync_folder(two.db, folder)
    assert two.content() == one.content()


# ---- the command line ----

def test_the_command_line_and_this_package_share_a_folder(counter, shop, folder, chance):
    model, shops = Model(), [shop(i) for i in range(3)]
    for _ in range(max(10, EXAMPLES // 5)):
        i = chance.randrange(3)
        model.step(shops[i], chance)
        if chance.random() < 0.5:
            counter.sync_folder(shops[i].db, folder)
        else:
            run(COMMAND, "sync", shops[i].path, folder)
    for _ in range(2):
        for one in shops:
            run(COMMAND, "sync", one.path, folder)
            assert counter.sync_folder(one.db, folder) == counter.Synced(0, 0, 0, [])
    for one in shops:
        assert one.content() == model.content()


def test_rows_that_a_constraint_refuses_are_told_by_their_number(counter, shop, folder, package):
    one, two = shop(1), shop(2)
    for each in one, two:
        each("CREATE UNIQUE INDEX by_name ON products(name)")
        each("SELECT counter_replicate('products')")
    one("INSERT INTO products VALUES ('tea', 'Tea', 1), ('jam', 'Jam', 1)")
    two("INSERT INTO products VALUES ('1', 'Tea', 1), ('2', 'Jam', 1)")
    assert counter.sync_folder(one.db, folder).apart == 0
    assert counter.sync_folder(two.db, folder).apart == 2
    two("UPDATE products SET name = 'Green tea' WHERE name = 'Tea'")
    said = [subprocess.run([PYTHON, "-m", "sqlite_counter", "sync", two.path, other], capture_output=True, text=True,
                           env={**CLEAN, "PYTHONPATH": str(package)}).stdout for other in (str(folder), one.path)]
    apart = "; 1 row waits or differs: SELECT * FROM counter_tracked\n"
    assert all(each.endswith(apart) for each in said), said


def test_a_scope_with_the_character_0_is_a_scope_by_each_transport(counter, shop, folder, tmp_path):
    one, scope = shop("one"), ["a\0b"]
    one.hit("a\0b", "1", 3), one.hit("a", "2", 4)
    counter.sync_folder(one.db, folder)
    takers = [shop(f"taker {i}") for i in range(3)]
    counter.sync_folder(takers[0].db, folder, scope=scope)
    counter.apply(takers[1].db, list(counter.changes(one.db)), scope=scope)
    lines = list(counter.changes(one.db, scope=scope))
    counter.apply(takers[2].db, lines)
    source = json.loads(lines[0])["source"]
    assert source.endswith(r' ["a\u0000b"]') and counter.mark(takers[2].db, source) > 0
    assert counter.mark(takers[1].db, one("SELECT counter_source()")[0][0], scope) > 0
    for taker in takers:
        assert taker("SELECT CAST(shop AS BLOB), n FROM hits") == [(b"a\0b", 3)]


# ---- links, pipes and devices ----

def of_a_stranger():
    return str(uuid.uuid4())


def in_seconds(seconds, call, *given):
    """A pipe that nobody writes into, and a device that has no end, would hang it."""
    def too_long(*_):
        raise AssertionError("it hangs")
    before = signal.signal(signal.SIGALRM, too_long)
    signal.alarm(seconds)
    try:
        return call(*given)
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def test_no_sync_writes_or_deletes_through_a_link_in_place_of_its_own_folder(counter, shop, folder, tmp_path):
    one, two, target = shop("one"), shop("two"), tmp_path / "target"
    one.count("tea", 3), two.count("jam", 5)
    counter.sync_folder(two.db, folder)
    target.mkdir()
    for name in ".tmp-precious", f"{0:020}-{1:020}.gz":
        (target / name).write_text("precious")
        os.utime(target / name, (0, 0))
    before = listing(target)
    (folder / one.id()).symlink_to(target)
    for _ in range(2):  # with something to give, and with nothing
        with pytest.raises(counter.SyncError, match=f"{folder}/{one.id()}: it is a link, and links are not followed"):
            counter.sync_folder(one.db, folder)
        assert listing(target) == before
    assert one.content() == ({"jam": 5, "tea": 3}, {})  # what others have given was taken
    (folder / one.id()).unlink()
    assert counter.sync_folder(one.db, folder).gave == 1 and listing(target) == before


def test_no_sync_reads_through_a_link_in_place_of_the_folder_or_a_file_of_another(counter, shop, folder, tmp_path):
    one, two = shop("one"), shop("two")
    one.count("tea", 3)
    counter.sync_folder(one.db, folder)
    of_one = folder / one.id()
    of_one.rename(tmp_path / "elsewhere")
    of_one.symlink_to(tmp_path / "elsewhere")
    assert [warning.split(": ")[0] for warning in counter.sync_folder(two.db, folder).warnings] == [str(of_one)]
    of_one.unlink()
    (tmp_path / "elsewhere").rename(of_one)
    path, = batches_in(of_one)
    path.rename(tmp_path / "file")
    path.symlink_to(tmp_path / "file")
    assert counter.sync_folder(two.db, folder).warnings == [] and two.content() == ({}, {})
    assert two("SELECT path FROM counter_folder(?) WHERE source IS NULL", str(folder)) == [(str(path),)]
    path.unlink()
    (tmp_path / "file").rename(path)
    assert counter.sync_folder(two.db, folder).warnings == [] and two.content() == one.content()


@pytest.mark.parametrize("place", ["another", "own"])
@pytest.mark.parametrize("kind", ["pipe", "device", "folder"])
def test_what_is_no_regular_file_hangs_nothing(counter, shop, folder, kind, place):
    one, two = shop("one"), shop("two")
    one.count("tea", 3), two.count("jam", 1)
    counter.sync_folder(one.db, folder)
    of = folder / (two.id() if place == "own" else of_a_stranger())
    of.mkdir()
    path = of / f"{0:020}-{99:020}.gz"
    os.mkfifo(path) if kind == "pipe" else path.symlink_to("/dev/zero") if kind == "device" else path.mkdir()
    synced = in_seconds(60, counter.sync_folder, two.db, folder)
    assert (synced.gave, synced.took, synced.warnings) == (1, 1, []), synced
    assert two.content() == ({"jam": 1, "tea": 3}, {})


def test_a_folder_whose_name_only_looks_like_that_of_a_source_is_told_of_and_the_others_are_taken(counter, shop, folder):
    one, two = shop("one"), shop("two")
    one.count("tea", 3)
    counter.sync_folder(one.db, folder)
    for name in f"00000000-0000-4000-8000-000000000000-{'0' * 16}", f"ffffffff-0000-4000-8000-000000000000-{'0' * 16}":
        (folder / name).mkdir()
    assert counter.sync_folder(two.db, folder).warnings == [] and two.content() == one.content()
    assert len(two("SELECT path FROM counter_folder(?) WHERE source IS NULL", str(folder))) == 2


# ---- a folder that can only be read ----

def as_one_who_may_not_write(*command):
    """Root may write anywhere, but for what it gives up."""
    give_up = ["setpriv", "--bounding-set=-dac_override", "--inh-caps=-all"] if os.geteuid() == 0 else []
    return subprocess.run([*give_up, *map(str, command)], capture_output=True, text=True)


def test_a_folder_that_can_only_be_read_gives_all_and_takes_nothing(counter, package, shop, folder):
    one, two = shop("one"), shop("two")
    one.count("tea", 3)
    counter.sync_folder(one.db, folder)

    def sync_two():
        code = f"import os, sys; sys.path.insert(0, {str(package)!r}); from sqlite_counter.__main__ import main; sys.exit(main(sys.argv[1:]))"
        folder.chmod(0o555)
        try:
            return as_one_who_may_not_write(PYTHON, "-c", code, "sync", two.path, folder)
        finally:
            folder.chmod(0o755)

    said = sync_two()
    assert (said.returncode, said.stderr) == (0, "") and said.stdout.splitlines() == [
        "0 changes given, 1 taken", f"{folder}/{two.id()}: cannot be written: Permission denied: nothing is given, and there is nothing new"], said
    one.count("tea", 1), two.count("jam", 5)
    counter.sync_folder(one.db, folder)
    said = sync_two()
    assert (said.returncode, said.stdout) == (1, "") and "what this file has counted stays here" in said.stderr, said
    assert two.content() == ({"jam": 5, "tea": 4}, {})
    assert counter.sync_folder(two.db, folder).gave == 1


# ---- tables ----

def test_a_sync_warns_of_what_it_has_deleted_and_of_columns_that_do_not_travel(counter, shop, folder):
    one, two = shop("one"), shop("two")
    for i in range(20):
        one.count(f"sku {i}")
    sync_all(counter, (one, two), folder)
    one("DELETE FROM products WHERE sku LIKE 'sku 1%'")
    two("ALTER TABLE products ADD COLUMN weight")
    assert counter.sync_folder(one.db, folder).warnings == []
    missing = "products: column weight does not travel yet: call counter_replicate('products')"
    assert counter.sync_folder(two.db, folder).warnings == [missing, "products: this merge deleted 11 of 20 rows"]
    assert counter.sync_folder(two.db, folder).warnings == [missing]
    two.close()
    command = [PYTHON, "-m", "sqlite_counter", "sync", two.path, folder]
    environment = {**CLEAN, "PYTHONPATH": os.path.dirname(os.path.dirname(counter.__file__))}
    assert run(*command, show="stderr", env=environment) == f"sqlite_counter: {missing}\n"


@pytest.mark.parametrize("answer, both", [("same", 11), ("add", 21)])
def test_an_answer_may_stand_behind_the_batch_that_needs_it(counter, tmp_path, folder, answer, both):
    files = []
    for i in range(2):
        db = sqlite3.connect(tmp_path / f"{i}.db", isolation_level=None)
        counter.load(db)
        db.execute("CREATE TABLE p(k TEXT PRIMARY KEY, stock INTEGER)")
        db.execute("INSERT INTO p VALUES ('tea', 10), ('jam', ?)", (i,))
        db.execute("SELECT counter_replicate('p', 'stock')").fetchone()
        files.append(db)
    one, two = files
    one.execute("UPDATE p SET stock = stock + 1 WHERE k = 'tea'")
    counter.sync_folder(one, folder)
    counter.sync_folder(two, folder)
    assert two.execute("SELECT stock FROM p WHERE k = 'tea'").fetchone() == (10,)
    why, = two.execute("SELECT why FROM counter_tracked WHERE row_key NOT NULL").fetchone()
    two.execute(re.search(rf"SELECT counter_opening\('p', '{answer}', '[0-9a-f-]*'\)", why)[0]).fetchone()
    assert two.execute("SELECT stock FROM p WHERE k = 'tea'").fetchone() == (both,)
    for _ in range(2):
        for db in files:
            assert counter.sync_folder(db, folder).warnings == []
    assert [db.execute("SELECT stock FROM p WHERE k = 'tea'").fetchone() for db in files] == [(both,)] * 2
    assert [db.execute("SELECT count(*) FROM counter_tracked WHERE row_key NOT NULL").fetchone() for db in files] == [(0,)] * 2


def test_a_row_that_two_files_began_to_replicate_apart_leaves_the_batch_alone_until_one_says_whose_values_win(counter, tmp_path, folder):
    files = []
    for price in 1, 2:
        db = sqlite3.connect(tmp_path / f"{price}.db", isolation_level=None)
        counter.load(db)
        db.execute("CREATE TABLE p(k TEXT PRIMARY KEY, price)")
        db.execute("INSERT INTO p VALUES ('tea', ?)", (price,))
        db.execute("SELECT counter_replicate('p')").fetchone()
        files.append(db)
    one, two = files
    counter.sync_folder(one, folder)
    for _ in range(2):
        done = counter.sync_folder(two, folder)
        assert done.took == 0 and len(done.warnings) == 1
        assert "table p: two files began to replicate it apart, and 1 row differs that both had: row ('tea'), column price: " \
            "INTEGER 2 here, INTEGER 1 in the change: call counter_replicate('p', 'values=newest') in the file " in done.warnings[0]
    assert len(counter.sync_folder(one, folder).warnings) == 1
    two.execute("SELECT counter_replicate('p', 'values=newest')").fetchone()
    for _ in range(2):
        for db in two, one:
            done = counter.sync_folder(db, folder)
    assert done.warnings == []
    assert [db.execute("SELECT price FROM p").fetchall() for db in files] == [[(2,)], [(2,)]]
