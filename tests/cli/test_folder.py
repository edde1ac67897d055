"""test_folder.py - files that sync through a directory: nothing is lost or doubled, nobody writes what is another's, and
what is wrong with a file there harms nothing."""

import calendar
import contextlib
import gzip
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import tempfile
import time
import uuid

import pytest

from program import PROGRAM, connect, fails, make, ok, rows, run, table

SEED = os.environ.get("COUNTER_SEED") or str(random.SystemRandom().randrange(2**32))
EXAMPLES = int(os.environ.get("COUNTER_EXAMPLES") or 100)
TABLES = ["CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER)",
          "CREATE TABLE p(k TEXT PRIMARY KEY NOT NULL, name TEXT, stock INTEGER NOT NULL DEFAULT 0)",
          "SELECT counter_replicate('p', 'stock')"]


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    make("a.db", *TABLES)
    shutil.copy("a.db", "b.db")
    make("a.db", "INSERT INTO v VALUES ('x', 1)")
    make("b.db", "INSERT INTO v VALUES ('x', 2)")
    ok("folder", "shared")
    return tmp_path


def files_of(directory):
    """Paths below a directory, but those on their way, with what stands in them."""
    return {path.relative_to(directory): path.read_bytes() for path in pathlib.Path(directory).rglob("*")
            if path.is_file() and not path.name.startswith(".")}


def own_folder(name):
    return pathlib.Path("shared") / rows(name, "SELECT counter_settle()")[0][0]


def own_file(name):
    [path] = own_folder(name).glob("*.gz")
    return path


def test_a_directory_asks_for_no_token(place):
    pathlib.Path("token").write_text("t" * 43)
    for other in "shared", "b.db", "none.db":
        fails(f"--token-file is for a server, and {other} is none", "sync", "--token-file", "token", "a.db", other)
    for other in "b.db", "none.db":
        fails(f"--watch is for a directory or a server, and {other} is neither", "sync", "--watch", "a.db", other)
        fails(f"--scope is for a directory or a server, and {other} is neither", "sync", "--scope", '["x"]', "a.db", other)
    assert files_of("shared") == {}


def test_two_files_meet_in_a_directory_and_then_have_nothing_more_to_say(place):
    mine = table(ok("sync", "a.db", "shared"))
    assert [row[:1] + row[2:3] for row in mine] == [["gave", "1"]]
    theirs = table(ok("sync", "b.db", "shared"))
    assert [row[0] for row in theirs] == ["took", "gave"] and theirs[0][1:] == mine[0][1:]
    assert [row[0] for row in table(ok("sync", "a.db", "shared"))] == ["took"]
    assert ok("sync", "a.db", "shared") == ok("sync", "b.db", "shared") == ""
    assert rows("a.db", "SELECT n FROM v") == rows("b.db", "SELECT n FROM v") == [(3,)]


def test_status_tells_what_others_have_written_and_what_is_strange(place):
    make("a.db", "INSERT INTO v VALUES ('y', 1)")
    upto = table(ok("sync", "a.db", "shared"))[0][3]
    (place / "shared" / "notes.txt").write_text("mine")
    shutil.copy(own_file("a.db"), own_folder("a.db") / "copy (conflicted).gz")

    def told():
        return [row for row in table(ok("status", "b.db", "shared")) if row[0] in ("other", "strange")]
    other, one, two = told()
    assert [one, two] == [["strange", f"{own_folder('a.db')}/copy (conflicted).gz"], ["strange", "shared/notes.txt"]]
    assert other[:2] + other[3:] == ["other", own_folder("a.db").name, upto, "0"]
    assert abs(time.time() - calendar.timegm(time.strptime(other[2], "%Y-%m-%d %H:%M:%S"))) < 100
    ok("sync", "b.db", "shared")
    assert told()[0][3:] == [upto, upto]
    assert not [row for row in table(ok("status", "a.db", "shared")) if row[:2] == ["other", own_folder("a.db").name]]


@pytest.mark.parametrize("harm", [
    lambda bytes: bytes[:len(bytes) // 2], lambda bytes: bytes[:-30] + b"x" * 30, lambda bytes: b"",
    lambda bytes: gzip.compress(gzip.decompress(bytes).replace(b'"since":0', b'"since":1')),
    lambda bytes: gzip.compress(gzip.decompress(bytes).split(b"\n")[0] + b"\n"),
], ids=["half", "the end", "empty", "a changed value", "no last line"])
def test_a_damaged_file_is_told_of_and_taken_once_it_is_whole(place, harm):
    make("a.db", "INSERT INTO v VALUES ('y', 1)")
    ok("sync", "a.db", "shared")
    path = own_file("a.db")
    whole = path.read_bytes()
    path.write_bytes(harm(whole))
    shutil.copy("b.db", "c.db")
    make("c.db", "INSERT INTO v VALUES ('x', 4)")
    run("sync", "c.db", "shared")
    status, out, error = run("sync", "b.db", "shared")
    assert status == 1 and error == f"sqlite-counter: {path}: it is cut short or damaged: nothing of it was taken\n"
    assert [row[0] for row in table(out)] == ["took", "gave"]  # what c.db has written was taken
    assert rows("b.db", "SELECT * FROM v") == [("x", 6)]
    path.write_bytes(whole)
    assert [row[0] for row in table(ok("sync", "b.db", "shared"))] == ["took"]
    assert rows("b.db", "SELECT * FROM v ORDER BY 1") == [("x", 7), ("y", 1)]


def digested(lines):
    digest = uuid.UUID(int=0)
    for line in lines:
        digest = uuid.uuid5(digest, line)
    return "".join(f"{line}\n" for line in [*lines, f'{{"lines":{len(lines)},"digest":"{digest}"}}'])


def test_a_newer_format_and_a_refused_change_are_told_of_and_change_nothing(place):
    ok("sync", "a.db", "shared")
    path = own_file("a.db")
    [line, last] = gzip.decompress(path.read_bytes()).decode().splitlines()
    assert digested([line]).splitlines()[1] == last
    for old, new, sentence in [('"format":1', '"format":2', "line 1: it has the format 2, and this version reads 1: install a newer sqlite-counter: nothing of it was taken"),
                               ('"table":"v"', '"table":"w"', "line 1: change 1: table w: no counter table was created with this name here: .*"),
                               ('"changes":[', '"changes":[7,', "line 1: change 1: .*"), ('"upto":', '"upto":"x","was":', "line 1: .*")]:
        path.write_bytes(gzip.compress(digested([line.replace(old, new)]).encode()))
        status, _, error = run("sync", "b.db", "shared")
        assert status == 1 and re.fullmatch(rf"sqlite-counter: {path}: {sentence}\n", error), error
        assert rows("b.db", "SELECT * FROM v") == [("x", 2)]


def test_a_file_whose_name_promises_too_much_raises_no_mark_past_what_it_has(place):
    ok("sync", "a.db", "shared")
    path = own_file("a.db")
    path.rename(path.with_name(f"{'0' * 20}-{9 * 10**18:020}.gz"))
    for _ in range(2):
        status, _, error = run("sync", "b.db", "shared")
        assert status == 1 and error.endswith(": its lines do not lead on as its name says, and raise no mark\n"), error
    make("a.db", "INSERT INTO v VALUES ('x', 4)")
    path.parent.joinpath(f"{'0' * 20}-{9 * 10**18:020}.gz").unlink()
    ok("sync", "a.db", "shared")
    ok("sync", "b.db", "shared")
    assert rows("b.db", "SELECT n FROM v") == [(7,)]


def test_lines_of_another_source_are_refused(place):
    ok("sync", "a.db", "shared")
    source = rows("a.db", "SELECT counter_source(1)")[0][0]
    forged = place / "shared" / "44444444-4444-4444-8444-444444444444"
    forged.mkdir()
    line = f'{{"format":1,"source":"{source}","since":0,"upto":{9 * 10**18},"changes":[]}}'
    (forged / f"{'0' * 20}-{'5':0>20}.gz").write_bytes(gzip.compress(digested([line]).encode()))
    status, _, error = run("sync", "b.db", "shared")
    assert status == 1 and f"line 1: it has changes of '{source}', not of '{forged.name} own': nothing of it was taken" in error
    make("a.db", "INSERT INTO v VALUES ('x', 4)")
    for name in "ab":
        run("sync", f"{name}.db", "shared")
    assert rows("b.db", "SELECT n FROM v") == [(7,)]


def test_a_damaged_file_that_promises_more_keeps_no_other_one_from_being_taken_but_its_file_from_giving(place):
    ok("sync", "a.db", "shared")
    path = own_file("a.db")
    more = path.with_name(f"{'0' * 20}-{8 * 10**18:020}.gz")
    more.write_bytes(path.read_bytes()[:40])
    status, out, error = run("sync", "b.db", "shared")
    assert status == 1 and error == f"sqlite-counter: {more}: it is cut short or damaged: nothing of it was taken\n"
    assert [row[0] for row in table(out)] == ["took", "gave"] and rows("b.db", "SELECT n FROM v") == [(3,)]
    make("a.db", "INSERT INTO v VALUES ('x', 4)")
    status, out, error = run("sync", "a.db", "shared")
    assert status == 1 and [row[0] for row in table(out)] == ["took"] and more.stat().st_size == 40
    assert error == f"sqlite-counter: a.db: {more}: it is cut short or damaged: nothing of it was taken; it is in the directory of this " \
        "file, and may have changes that this file has lost: nothing is given until it can be read. If nothing is to bring it whole " \
        "any more, SELECT counter_fork() gives this file an id and a directory of its own\n"
    make("a.db", "SELECT counter_fork()")  # as the message says
    assert [row[0] for row in table(run("sync", "a.db", "shared")[1])] == ["gave"] and more.exists()
    run("sync", "b.db", "shared")
    assert rows("b.db", "SELECT n FROM v") == [(7,)]


def test_an_older_copy_that_nobody_has_noticed_does_not_write_what_nobody_takes(place):
    make("a.db", "INSERT INTO v VALUES ('x', 4)")
    ok("sync", "a.db", "shared")
    path = own_file("a.db")
    since, upto = path.name[:20], 8 * 10**18
    line = gzip.decompress(path.read_bytes()).decode().splitlines()[0]
    path.with_name(f"{since}-{upto:020}.gz").write_bytes(gzip.compress(digested([line]).encode()))
    status, _, error = run("sync", "a.db", "shared")
    assert status == 1 and "it is an older copy. SELECT counter_fork() gives it an id of its own" in error


def test_a_link_in_place_of_the_own_folder_is_not_followed(place):
    (place / "elsewhere").mkdir()
    (place / "elsewhere" / f"{'5':0>20}-{'9':0>20}.gz").write_text("of somebody else")
    own_folder("a.db").symlink_to(place / "elsewhere", target_is_directory=True)
    status, _, error = run("sync", "a.db", "shared")
    assert status == 1 and "it is a link, and links are not followed" in error
    assert [path.read_text() for path in (place / "elsewhere").iterdir()] == ["of somebody else"]


def test_what_cannot_be_written_keeps_nobody_from_reading(place):
    ok("sync", "b.db", "shared")
    (place / "shared" / own_folder("a.db").name).write_text("in the way")
    status, out, error = run("sync", "a.db", "shared")
    assert status == 1 and "Not a directory" in error and [row[0] for row in table(out)] == ["took"]
    assert rows("a.db", "SELECT n FROM v") == [(3,)]


def test_a_directory_that_is_missing_or_cannot_be_used_is_a_sentence(place):
    fails(r"nowhere: there is no such file or directory", "sync", "a.db", "nowhere")
    (place / "shared" / own_folder("a.db").name).write_text("in the way")
    fails(rf"a\.db: {own_folder('a.db')}: cannot be read: Not a directory", "sync", "a.db", "shared")
    assert rows("a.db", "SELECT * FROM v") == [("x", 1)]


def test_the_folder_of_a_source_is_refused_one_level_too_deep(place):
    ok("sync", "a.db", "shared")
    of_a, before = own_folder("a.db"), sorted(place.rglob("*"))
    said = ": it is the directory of one device: give the one that it is in"
    for name in of_a, f"{of_a}/", f"./{of_a}/../{of_a.name}":
        fails(r"b\.db: " + re.escape(str(name)) + said, "sync", "b.db", name)
        fails(r"b\.db: " + re.escape(str(name)) + said, "sync", "--watch", "b.db", name)
    of_a.rename("moved")
    fails("b.db: moved" + said, "sync", "b.db", "moved")
    pathlib.Path("moved").rename(of_a)
    assert sorted(place.rglob("*")) == before
    ok("folder", "776b33c8-fdc4-3199-b06b-1fc19c5bcc63")  # a stick may have such a name
    ok("sync", "b.db", "776b33c8-fdc4-3199-b06b-1fc19c5bcc63")
    ok("sync", "b.db", "shared")


def test_a_disk_that_is_full_leaves_nothing_behind_and_the_next_sync_goes_on(place):
    make("a.db", "INSERT INTO v SELECT hex(randomblob(20)), 1 FROM (WITH RECURSIVE c(i) AS "
         "(VALUES (1) UNION ALL SELECT i + 1 FROM c WHERE i < 3000) SELECT i FROM c)")
    script = 'ulimit -f 40; trap "" XFSZ; exec "$@"'
    done = subprocess.run(["sh", "-c", script, "sh", PROGRAM, "sync", "a.db", "shared"], capture_output=True, text=True)
    assert done.returncode == 1 and re.search(r"\.tmp-[-0-9a-f]+: cannot be written: File too large", done.stderr)
    assert {path.name[:7] for path in own_folder("a.db").iterdir()} == {".place-"}
    ok("sync", "a.db", "shared")
    ok("sync", "b.db", "shared")
    assert rows("b.db", "SELECT sum(n) FROM v") == [(3003,)]


def test_a_scope_takes_its_rows_alone_and_everything_can_come_later(place):
    make("a.db", "INSERT INTO v VALUES ('y', 5)", "INSERT INTO p VALUES ('y', 'Y', 1), ('z', 'Z', 2)")
    ok("sync", "a.db", "shared")
    ok("sync", "--scope", '["y"]', "b.db", "shared")
    assert rows("b.db", "SELECT * FROM v ORDER BY 1") == [("x", 2), ("y", 5)]
    assert rows("b.db", "SELECT * FROM p ORDER BY 1") == [("y", "Y", 1)]
    assert ok("sync", "--scope", '["y"]', "b.db", "shared") == ""
    ok("sync", "b.db", "shared")
    assert rows("b.db", "SELECT * FROM v ORDER BY 1") == [("x", 3), ("y", 5)]
    fails(r"b\.db: scope must be a JSON array .*", "sync", "--scope", "y", "b.db", "shared")


def test_copies_that_count_settle_before_they_write(place):
    ok("sync", "a.db", "shared")
    for name in "cde":
        shutil.copy("a.db", f"{name}.db")
        if name != "e":
            make(f"{name}.db", "INSERT INTO v VALUES ('x', 10)")
    for name in "cdea":
        before = files_of("shared")
        ok("sync", f"{name}.db", "shared")
        changed = {path.parts[0] for path, bytes in files_of("shared").items() if before.get(path) != bytes}
        assert changed <= {own_folder(f"{name}.db").name}
    assert len({own_folder(f"{name}.db") for name in "acde"}) == 4
    for name in "bacde":
        ok("sync", f"{name}.db", "shared")
    assert [rows(f"{name}.db", "SELECT n FROM v") for name in "acde"] == 4 * [[(23,)]]


def test_many_small_batches_leave_few_files(place):
    n = max(20, EXAMPLES // 2)
    with contextlib.closing(connect("a.db")) as db:
        for i in range(n):
            db.execute("INSERT INTO v VALUES (?, 1)", [f"k{i}"])
            ok("sync", "a.db", "shared")
    assert len(list(own_folder("a.db").glob("*.gz"))) <= n.bit_length() + 1
    ok("sync", "b.db", "shared")
    assert rows("b.db", "SELECT sum(n), count(*) FROM v") == [(n + 3, n + 1)]


def test_watch_carries_on_until_it_is_told_to_stop(place):
    watching = [subprocess.Popen([PROGRAM, "sync", "--watch", f"{name}.db", "shared"], stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE) for name in "ab"]
    make("a.db", "INSERT INTO v VALUES ('x', 10)")
    until = time.monotonic() + 30
    while rows("b.db", "SELECT n FROM v") != [(13,)] and time.monotonic() < until:
        time.sleep(.05)
    make("b.db", "INSERT INTO v VALUES ('x', 20)")
    while rows("a.db", "SELECT n FROM v") != [(33,)] and time.monotonic() < until:
        time.sleep(.05)
    for process, how in zip(watching, [signal.SIGINT, signal.SIGTERM]):
        process.send_signal(how)
        assert process.wait(30) == 0 and process.stderr.read() == b""
    assert rows("a.db", "SELECT n FROM v") == rows("b.db", "SELECT n FROM v") == [(33,)]


def test_watch_shows_each_round_at_once_in_a_pipe_too(place):
    with subprocess.Popen([PROGRAM, "sync", "--watch", "a.db", "shared"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True) as watching:
        shown = watching.stdout.readline()
        runs = watching.poll() is None
        watching.send_signal(signal.SIGINT)
        assert watching.wait(30) == 0
        assert shown.startswith("gave\t") and runs


# ---- random worlds ----------------------------------------------------------------------------------------------------

class World:
    """Devices, each with its own copy of the directory, which a service carries: late, in parts, twice."""

    def __init__(self, draw, folder, n):
        self.draw, self.folder, self.n = draw, folder, n
        self.sums, self.copies = {}, 0
        make(folder / "0.db", *TABLES)
        for i in range(1, self.n):
            shutil.copy(folder / "0.db", self.path(i))
        for i in range(self.n):
            ok("folder", self.mirror(i))

    def path(self, i):
        return self.folder / f"{i}.db"

    def mirror(self, i):
        return self.folder / f"mirror{i}"

    def count(self, i):
        key, n = self.draw.choice("abcd"), self.draw.randint(-5, 9)
        table = self.draw.choice("vp")
        with contextlib.closing(connect(self.path(i))) as db:
            if table == "v":
                db.execute("INSERT INTO v VALUES (?, ?)", (key, n))
            else:
                db.execute("INSERT INTO p VALUES (?, ?, ?) ON CONFLICT(k) DO UPDATE SET stock = stock + excluded.stock",
                           (key, f"{i}", n))
        self.sums[table, key] = self.sums.get((table, key), 0) + n

    def sync(self, i, kill=False):
        before = files_of(self.mirror(i))
        process = subprocess.Popen([PROGRAM, "sync", self.path(i), self.mirror(i)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        if kill:
            time.sleep(self.draw.random() * .03)
            process.kill()
        error = process.communicate()[1].decode()
        assert kill or all("it is cut short or damaged" in line for line in error.splitlines()), error
        own = rows(self.path(i), "SELECT counter_settle()")[0][0]
        after = files_of(self.mirror(i))
        assert {path.parts[0] for path in before.keys() ^ after.keys()} | \
            {path.parts[0] for path in before.keys() & after.keys() if before[path] != after[path]} <= {own}

    def carry(self, i, j, part):
        """What i's files stand for, to j; or some of it, late, cut short, doubled."""
        for path, content in files_of(self.mirror(i)).items():
            if self.draw.random() > part:
                continue
            to = self.mirror(j) / path
            if path.parts[0] == rows(self.path(j), "SELECT counter_settle()")[0][0]:
                continue  # nobody brings a device its own folder
            to.parent.mkdir(exist_ok=True)
            chance = self.draw.random() if part < 1 else 1
            if chance < .1:
                content = content[:self.draw.randint(0, len(content))]
            elif chance < .15:
                to = to.with_name(to.name.replace(".gz", " (conflicted copy).gz"))
            to.write_bytes(content)
        source = rows(self.path(i), "SELECT counter_settle()")[0][0]
        gone = files_of(self.mirror(j)).keys() - files_of(self.mirror(i)).keys()
        for path in gone:
            if path.parts[0] == source and (part == 1 or self.draw.random() < .5):
                (self.mirror(j) / path).unlink()

    def end(self):
        for i in range(self.n):
            self.sync(i)
        for i in range(self.n):
            source = rows(self.path(i), "SELECT counter_settle()")[0][0]
            for j in range(self.n):
                if i != j:
                    shutil.rmtree(self.mirror(j) / source, ignore_errors=True)
                    if (self.mirror(i) / source).exists():
                        shutil.copytree(self.mirror(i) / source, self.mirror(j) / source)
        for i in range(self.n):
            assert run("sync", self.path(i), self.mirror(i))[0] == 0
        shown = [sorted(rows(self.path(i), "SELECT 'v', k, n FROM v UNION ALL SELECT 'p', k, stock FROM p")) for i in range(self.n)]
        assert shown[0] == sorted((table, key, n) for (table, key), n in self.sums.items())
        assert all(one == shown[0] for one in shown)
        assert len({rows(self.path(i), "SELECT counter_table_digest('v') || counter_table_digest('p_counters')")[0] for i in range(self.n)}) == 1


@pytest.mark.parametrize("number", range(max(3, EXAMPLES // 16)))
def test_devices_on_one_directory_lose_and_double_nothing_however_late_torn_and_killed(tmp_path, number):
    draw = random.Random(f"{SEED} folder {number}")
    world = World(draw, tmp_path, draw.randint(2, 4) if number else 10)
    for _ in range(40 if number else 120):
        i, j = draw.sample(range(world.n), 2)
        what = draw.random()
        if what < .4:
            world.count(i)
        elif what < .7:
            world.sync(i, kill=draw.random() < .2)
        else:
            world.carry(i, j, draw.choice([.3, .7, 1]))
    world.end()


# ---- strangers --------------------------------------------------------------------------------------------------------

def harmful(path, how):
    """Puts what is no regular file in the place of one, or of a folder."""
    aside = path.with_name(f"aside-{path.name}")
    if how != "pipe":
        aside = path.parents[2] / "elsewhere" / path.name if path.name.endswith(".gz") else path.parents[1] / "elsewhere"
        aside.parent.mkdir(exist_ok=True)
    aside = path.rename(aside).resolve()
    if how == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to("/dev/zero" if how == "device" else aside)


@pytest.mark.parametrize("how", ["link", "device", "pipe"])
def test_a_batch_that_is_no_regular_file_is_never_read(place, how):
    ok("sync", "a.db", "shared")
    path = own_file("a.db")
    harmful(path, how)
    assert ok("sync", "b.db", "shared", timeout=20).count("took") == 0
    assert rows("b.db", "SELECT n FROM v") == [(2,)]
    assert ["strange", str(path)] in table(ok("status", "b.db", "shared", timeout=20))
    if how == "pipe":  # nor by its own file, which writes its batches anew
        (path.parent / f"aside-{path.name}").unlink()
    assert [row[0] for row in table(ok("sync", "a.db", "shared", timeout=20))] == ["took", "gave"]
    assert [each for each in path.parent.glob("*.gz") if each.is_file() and not each.is_symlink()]
    ok("sync", "b.db", "shared")
    assert rows("b.db", "SELECT n FROM v") == [(3,)]


def test_the_folder_of_another_is_not_read_through_a_link(place):
    ok("sync", "a.db", "shared")
    folder = place / own_folder("a.db")
    harmful(folder, "link")
    link = own_folder("a.db")
    status, out, error = run("sync", "b.db", "shared")
    assert (status, error) == (1, f"sqlite-counter: {link}: it is a link, and links are not followed\n")
    assert [row[0] for row in table(out)] == ["gave"] and rows("b.db", "SELECT n FROM v") == [(2,)]
    told = table(ok("status", "b.db", "shared"))
    assert ["strange", str(link)] in told and not [row for row in told if row[0] == "other"]


def test_watch_reads_through_no_link_but_the_one_that_it_was_given(place):
    ok("sync", "a.db", "shared")
    harmful(place / own_folder("a.db"), "link")
    (place / "here").symlink_to("shared")
    with subprocess.Popen([PROGRAM, "sync", "--watch", "b.db", "here"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as watching:
        assert watching.stderr.readline().endswith("it is a link, and links are not followed\n")
        watching.send_signal(signal.SIGINT)
        watching.communicate(timeout=30)
    assert rows("b.db", "SELECT n FROM v") == [(2,)]


@pytest.mark.parametrize("name", ["{}-0000000000000000", "{}-00000000000000000", "{}-000000000000000G", "{}x", "x{}"])
def test_a_folder_whose_name_no_source_can_have_is_passed_over_and_listed(place, name):
    ok("sync", "a.db", "shared")
    path = pathlib.Path("shared") / name.format("44444444-4444-4444-8444-444444444444")
    path.mkdir()
    shutil.copy(own_file("a.db"), path)
    assert [row[0] for row in table(ok("sync", "b.db", "shared"))] == ["took", "gave"]
    assert ["strange", str(path)] in table(ok("status", "b.db", "shared"))


def lines_that_take_room():
    """Lines that are small in gzip, and what is wrong with them."""
    def batch(changes, more=""):
        return f'{{"format":1,"source":"SOURCE","since":0,"upto":5,{more}"changes":[{changes}]}}'
    many = ",".join(5_000_000 * ["{}"])
    yield batch(many), "change 1: .*"
    yield batch("", '"changes":[],"chang\\u0065s":[' + many + "],"), "the member changes is there twice"
    yield batch(f'{{"cell":{{"life":1,"shards":[{many}]}}}}'), "change 1: .*"
    yield f"[{many}]", "it must be an object of JSON"
    yield batch("", f"'\"':[{many}],"), "it .*"
    yield batch("", "[" * 1_000_000), "it .*"


@pytest.mark.parametrize("number", range(6))
def test_a_line_that_would_take_much_memory_in_a_parser_is_refused_without(place, number):
    ok("sync", "a.db", "shared")
    path, source = own_file("a.db"), rows("a.db", "SELECT counter_source(1)")[0][0]
    line, sentence = list(lines_that_take_room())[number]
    written = gzip.compress(digested([line.replace("SOURCE", source)]).encode(), 1)
    path.write_bytes(written)
    done = subprocess.run(["sh", "-c", 'ulimit -v 120000; exec "$@"', "sh", PROGRAM, "sync", "b.db", "shared"], capture_output=True, text=True)
    assert done.returncode == 1 and re.fullmatch(rf"sqlite-counter: {path}: line 1: {sentence}: nothing of it was taken\n", done.stderr), done.stderr
    assert rows("b.db", "SELECT n FROM v") == [(2,)]


def test_a_file_with_more_than_1000_empty_batches_is_refused(place):
    ok("sync", "a.db", "shared")
    path, source = own_file("a.db"), rows("a.db", "SELECT counter_source(1)")[0][0]
    upto = int(path.name[21:41])
    empty = f'{{"format":1,"source":"{source}","since":0,"upto":{upto},"changes":[]}}'
    for n, status in (1000, 0), (1001, 1):
        shutil.copy("b.db", "c.db")
        path.write_bytes(gzip.compress(digested(n * [empty]).encode()))
        done = run("sync", "c.db", "shared")
        assert done[0] == status and ("line 1001: it is one of more than 1000 without changes: nothing of it was taken" in done[2]) == (status == 1)


def test_lines_as_large_as_a_writer_makes_them_are_taken(place):
    make("a.db", "CREATE TABLE r(k TEXT PRIMARY KEY NOT NULL, b)", "SELECT counter_replicate('r')")
    shutil.copy("a.db", "b.db")
    make("a.db", "BEGIN", "INSERT INTO r SELECT value, 'x' FROM (WITH RECURSIVE c(value) AS (VALUES (1) UNION ALL SELECT value + 1 FROM c "
         "WHERE value < 2500) SELECT value FROM c)", "INSERT INTO r VALUES ('large', zeroblob(4194304)), ('text', replace(hex(zeroblob(400000)), '00', '\",[''/'))", "COMMIT")
    ok("sync", "a.db", "shared")
    ok("sync", "b.db", "shared")
    assert rows("b.db", "SELECT * FROM r ORDER BY k") == rows("a.db", "SELECT * FROM r ORDER BY k") != []


# ---- a directory that can only be read --------------------------------------------------------------------------------

@pytest.fixture
def read_only(monkeypatch):
    """A place that is not root's alone; calls the program there as somebody who can only read the directory."""
    other = {"user": "nobody"} if os.geteuid() == 0 else {}
    if other and subprocess.run(["su", "-s", "/bin/sh", "-c", f"test -x '{PROGRAM}'", "nobody"], capture_output=True).returncode:
        pytest.skip("another user cannot run the program")
    with tempfile.TemporaryDirectory() as folder:
        monkeypatch.chdir(folder)
        os.chmod(folder, 0o777)
        make("a.db", *TABLES)
        shutil.copy("a.db", "c.db")
        make("a.db", "INSERT INTO v VALUES ('x', 1)")
        ok("folder", "shared")

        def call(*words):
            for name in pathlib.Path().glob("*.db"):
                os.chmod(name, 0o666)
            folders = [pathlib.Path("shared"), *pathlib.Path("shared").iterdir()]
            for path in folders:
                os.chmod(path, 0o555)
            done = run(*words, **other)
            for path in folders:
                os.chmod(path, 0o755)
            return done
        yield call
        monkeypatch.undo()


def test_a_directory_that_can_only_be_read_is_taken_from_and_given_nothing(read_only):
    ok("sync", "a.db", "shared")
    told = re.escape(str(own_folder("c.db"))) + ": cannot be written: Permission denied: "
    for _ in range(2):
        status, out, error = read_only("sync", "c.db", "shared")
        assert status == 0 and re.fullmatch(f"sqlite-counter: {told}nothing is given, and there is nothing new\n", error), error
        assert rows("c.db", "SELECT n FROM v") == [(1,)] and not own_folder("c.db").exists()
    assert out == ""
    make("c.db", "INSERT INTO v VALUES ('x', 4)")
    make("a.db", "INSERT INTO v VALUES ('x', 8)")
    ok("sync", "a.db", "shared")
    status, out, error = read_only("sync", "c.db", "shared")
    assert status == 1 and re.fullmatch(rf"sqlite-counter: c\.db: {told}what this file has counted stays here\n", error), error
    assert [row[0] for row in table(out)] == ["took"] and rows("c.db", "SELECT n FROM v") == [(13,)]
    assert [row[0] for row in table(ok("sync", "c.db", "shared"))] == ["gave"]
    status, out, error = read_only("sync", "c.db", "shared")  # now its own folder is there
    assert status == 0 and re.fullmatch(f"sqlite-counter: {told}nothing is given, and there is nothing new\n", error), error
    make("c.db", "INSERT INTO v VALUES ('x', 16)")
    status, out, error = read_only("sync", "c.db", "shared")
    assert status == 1 and error.endswith("what this file has counted stays here\n")
    ok("sync", "c.db", "shared")
    ok("sync", "a.db", "shared")
    assert rows("a.db", "SELECT n FROM v") == [(29,)]


def test_a_file_of_one_that_cannot_be_read_keeps_nobody_from_taking_those_of_others(read_only):
    shutil.copy("a.db", "b.db")
    make("b.db", "INSERT INTO v VALUES ('x', 2)")
    for name in "ab":
        ok("sync", f"{name}.db", "shared")
    if os.geteuid() != 0:
        pytest.skip("another user would own it")
    own_file("b.db").chmod(0)
    status, out, error = read_only("sync", "c.db", "shared")
    assert status == 1 and "cannot be read: Permission denied: nothing of it was taken" in error, error
    assert [row[0] for row in table(out)] == ["took"] and rows("c.db", "SELECT n FROM v") == [(1,)]


def test_a_row_whose_number_another_row_had_comes_back_though_the_same_sync_gives_its_file_another_id(tmp_path, monkeypatch):
    """A backup that came back unnoticed has counted under the id that it had, as the file had after the backup."""
    monkeypatch.chdir(tmp_path)
    make("a.db", "CREATE TABLE p(k TEXT PRIMARY KEY, n INTEGER NOT NULL DEFAULT 0)", "CREATE TABLE s(id INTEGER PRIMARY KEY AUTOINCREMENT, note TEXT)",
         "INSERT INTO p VALUES ('y', 10)", "SELECT counter_replicate_all('p.n')")
    shutil.copy("a.db", "b.db")
    ok("folder", "shared")
    sync = lambda: [run("sync", f"{name}.db", "shared") for name in "baab"]
    make("b.db", "INSERT INTO s(note) VALUES ('b1')", "UPDATE p SET n = n + 1")
    sync()
    subprocess.run(["cp", "-a", "b.db", "backup.db"], check=True)
    make("b.db", "UPDATE p SET n = n - 7", "INSERT INTO s(note) VALUES ('b2')")
    sync()
    subprocess.run(["cp", "-a", "backup.db", "b.db"], check=True)
    make("b.db", "UPDATE p SET n = n - 5", "INSERT INTO s(note) VALUES ('b3')")
    for _ in range(2):
        sync()
    assert rows("b.db", "SELECT count(*) > 0 FROM counter_conflicts") == [(1,)]
    for name in "a.db", "b.db":
        assert rows(name, "SELECT note FROM s ORDER BY note") == [("b1",), ("b2",), ("b3",)]
