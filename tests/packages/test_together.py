"""test_together.py - docs/batches.md is implemented by the command line, the Python and the npm package: whichever of them syncs
a file, through a folder or a server of either package, the files show the sums of all increments; and what one writes, the
others read."""
import contextlib
import gzip
import json
import os
import pathlib
import random
import shutil
import sqlite3
import threading
import time
from types import SimpleNamespace
from urllib.parse import quote

import pytest

from conftest import CLEAN, EXAMPLES, ROOT, SEED, batches_in, run, shared
from authority import Authority
from servers import Cutter, gunicorn, request, serving
from shops import Model, Shop
from test_npm import has, need
from test_npm_batches import SCRIPTS, packages  # noqa: F401
from together import PYTHON, Failed, Program, Worker

HERE = pathlib.Path(__file__).parent
NAMES = ["cli", "python", "node"]
DRIVER = "better-sqlite3"


IS_LONG = EXAMPLES > 100
STEPS = 40 if IS_LONG else 18


def scaled(n):
    """Of a hundred examples."""
    return max(1, n * EXAMPLES // 100)


def some(names, chance):
    """One of the clients; in longer runs all."""
    return names if IS_LONG else [chance.choice(names)]


def pairs(names, chance):
    """Each as a writer and as a reader; in longer runs each with each."""
    if IS_LONG:
        return [(writer, reader) for writer in names for reader in names]
    return list(zip(names, chance.sample(names, len(names))))


@pytest.fixture(scope="session")
def launch(package, request, tmp_path_factory):
    """Starts a process of an implementation; skips where there is none."""
    home = tmp_path_factory.mktemp("together")

    def start(name, **variables):
        environment = {**CLEAN, **variables}
        if name == "cli":
            return Program(ROOT / "build" / "sqlite-counter", environment)
        if name == "python":
            path = os.pathsep.join(map(str, [package, HERE, HERE.parent]))
            return Worker(name, [PYTHON, HERE / "together.py"], env={**environment, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"})
        if not (home / "node_modules").exists():
            if not shutil.which("node") or not has(DRIVER):
                pytest.skip(f"no node, or no {DRIVER} that it runs")
            shutil.copytree(request.getfixturevalue("packages"), home / "node_modules")
            need(DRIVER, home)
            for script in "common.mjs", "worker.mjs":
                shutil.copy(SCRIPTS / script, home)
        return Worker(name, ["node", "--no-warnings", "worker.mjs", DRIVER], cwd=home, env=environment)

    return start


@pytest.fixture(scope="session")
def ask(launch):
    """By its name, an implementation that goes on between tests."""
    running = {}

    def one(name):
        if name not in running:
            running[name] = launch(name)
        return running[name]

    yield one
    for each in running.values():
        each.close()


@pytest.fixture(scope="session")
def all_names(ask):
    """Those that are there: without Node, the two others."""
    try:
        ask("node")
    except pytest.skip.Exception:
        return NAMES[:2]
    return NAMES


def contents_of(folder):
    """What stands in the folder of each source, but what is on its way."""
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file() and not path.name.startswith(".")}


def digests(shop):
    return shop("SELECT counter_table_digest('hits'), counter_table_digest('products_counters')")


class Devices:
    """Files that are counted in, copied and restored, and synced by implementations drawn at random."""

    def __init__(self, shop, ask, launch, names, chance):
        self.shop, self.ask, self.launch, self.names, self.chance = shop, ask, launch, names, chance
        self.model, self.copies, self.backups = Model(), 0, {}
        self.all = [shop(f"device {i}") for i in range(chance.randrange(3, 6))]

    def draw(self):
        return self.chance.choice(self.all)

    def count(self, device):
        for _ in range(self.chance.randrange(1, 4)):
            self.model.step(device, self.chance)

    def duplicate(self, device):
        """The path of a copy."""
        self.copies += 1
        path = f"{device.path}.{self.copies}.db"
        if self.chance.random() < 0.3:
            device("VACUUM INTO ?", path)
        else:
            device.close()
            self.chance.choice([shutil.copy, shutil.copy2])(device.path, path)
            device.__init__(device.counter, device.path)
        return path

    def copy(self, device):
        """Before or after one of the two has counted on."""
        if self.chance.random() < 0.5:
            self.count(device)
        self.all.append(self.shop(None, self.duplicate(device)))
        return self.all[-1]

    def back_up(self, device):
        self.backups[device.path] = self.duplicate(device)

    def restore(self, device):
        """What was counted since the backup has been given to others."""
        backup = self.backups.pop(device.path)
        device.close()
        os.replace(backup, device.path)
        device.__init__(device.counter, device.path)

    def sync(self, verb, device, **given):
        """By two of them now and then, one after the other."""
        warnings = []
        for name in self.chance.sample(self.names, 2 if self.chance.random() < 0.2 else 1):
            warnings += self.ask(name)(verb, device.path, **given)["warnings"]
        return warnings

    def killed(self, verb, device, **given):
        worker = self.launch(self.chance.choice(self.names))
        worker.begin(verb, device.path, **given)
        time.sleep(self.chance.random() * 0.03)
        worker.kill()

    def agree(self, *more):
        for one in [*self.all, *more]:
            assert one.content() == self.model.content()
            assert one("PRAGMA integrity_check") == [("ok",)]
        assert len({tuple(digests(one)) for one in [*self.all, *more]}) == 1


# ---- a folder ----

class FolderWorld(Devices):
    """A service that carries the folder shows parts of files for a time, doubles some, and brings old ones back."""

    def __init__(self, folder, *given):
        super().__init__(*given)
        self.folder, self.late = str(folder), []

    def writers(self, devices, work):
        """Calls work(); what it changes lies in the folders of these devices."""
        before, ids = contents_of(pathlib.Path(self.folder)), {device.id() for device in devices}
        result = work()
        after = contents_of(pathlib.Path(self.folder))
        changed = {path.parts[0] for path in before.keys() | after.keys() if before.get(path) != after.get(path)}
        assert changed <= ids | {device.id() for device in devices}
        return result

    def meet(self, device, damaged="", **given):
        """What is warned of is damaged now, or of no file."""
        warnings = self.writers([device], lambda: self.sync("folder", device, folder=self.folder, **given))
        assert all("was left alone" in warning or (damaged and damaged in warning) for warning in warnings), warnings

    def meet_at_once(self, one, two):
        names = self.chance.choices(self.names, k=2)
        workers = [self.ask(names[0]), self.launch(names[1])]

        def both():
            for worker, device in zip(workers, (one, two)):
                worker.begin("folder", device.path, folder=self.folder)
            return [warning for worker in workers for warning in worker.end()["warnings"]]

        warnings = self.writers([one, two], both)
        assert all("was left alone" in warning for warning in warnings), warnings
        workers[1].close()

    def files(self):
        return [path for path in pathlib.Path(self.folder).glob("*/*.gz") if " " not in path.name]

    def cut(self, path, device):
        """It is not written by the device itself, which would take it for written."""
        whole = path.read_bytes()
        if path.parent.name == device.id():
            return
        path.write_bytes(whole[:self.chance.randrange(len(whole))])
        self.meet(device, damaged=str(path))
        path.write_bytes(whole)

    def step(self):
        device, what, files = self.draw(), self.chance.random(), self.files()
        if what < 0.4:
            self.count(device)
        elif what < 0.7:
            self.meet(device)
        elif what < 0.74:
            self.meet(device, scope=[self.chance.choice("xya")])
        elif what < 0.77 and len(self.all) < 8:
            self.copy(device)
        elif what < 0.80:
            self.back_up(device)
        elif what < 0.84 and device.path in self.backups:
            self.meet(device)
            self.restore(device)
        elif what < 0.88:
            self.writers([device], lambda: self.killed("folder", device, folder=self.folder))
        elif what < 0.92:
            self.meet_at_once(*self.chance.sample(self.all, 2))
        elif files and what < 0.96:
            self.cut(self.chance.choice(files), device)
        elif files and what < 0.98:
            path = self.chance.choice(files)
            self.late.append((path, path.read_bytes()))
            path.with_name(f"{path.stem} (conflicted copy).gz").write_bytes(path.read_bytes())
        elif self.late:
            path, content = self.late.pop()
            path.write_bytes(content)

    def end(self):
        for _ in range(2):
            for device in self.all:
                self.meet(device)
        self.agree()


@pytest.mark.parametrize("number", range(scaled(1)))
def test_whoever_syncs_a_file_with_a_folder_nothing_is_lost_or_doubled(shop, ask, launch, all_names, folder, number):
    world = FolderWorld(folder, shop, ask, launch, all_names, random.Random(f"{SEED} folder {number}"))
    for _ in range(STEPS):
        world.step()
    world.end()


@pytest.mark.parametrize("name", NAMES)
def test_a_file_writes_nothing_where_its_folder_is_ahead(shop, ask, folder, name):
    one = shop("one")
    one.count("tea")
    ask(name)("folder", one.path, folder=str(folder))
    path, = batches_in(folder / one.id())
    path.rename(path.with_name(f"{0:020}-{2**62:020}.gz"))
    one.count("tea")
    before = contents_of(folder)
    if name == "cli":
        warning, = ask(name)("folder", one.path, folder=str(folder))["warnings"]
    else:
        with pytest.raises(Failed) as failed:
            ask(name)("folder", one.path, folder=str(folder))
        warning = str(failed.value)
    assert "counter_fork() gives it an id of its own, and its next sync a directory of its own" in warning
    assert contents_of(folder) == before
    one("SELECT counter_fork()")
    assert ask(name)("folder", one.path, folder=str(folder))["gave"]


@pytest.mark.parametrize("name", NAMES)
def test_one_of_each_kind_takes_in_the_files_of_another(shop, ask, all_names, folder, name):
    """So that few files are left, whoever writes."""
    one, two = shop("one"), shop("two")
    ask(name)
    for i in range(12):
        one.hit("x", f"page {i}")
        ask(all_names[i % len(all_names)])("folder", one.path, folder=str(folder))
    files = [path.name for path in batches_in(folder / one.id())]
    assert len(files) <= 5 and files[0].startswith("0" * 20)
    assert all(a[21:41] == b[:20] for a, b in zip(files, files[1:]))
    ask(name)("folder", two.path, folder=str(folder))
    assert two.content() == one.content() and digests(two) == digests(one)


# ---- a server ----

class Served:
    """A file that an implementation serves, with a token for each device; its server may be killed, and is started again."""

    def __init__(self, shop, launch, kind, package, folder, **options):
        self.shop, self.launch, self.kind, self.package, self.folder, self.options = shop, launch, kind, package, folder, options
        self.tokens, self.worker, self.stack = {}, None, contextlib.ExitStack()
        self.start()

    def start(self):
        if self.kind == "gunicorn":
            url, self.kill_it = self.stack.enter_context(gunicorn(self.package, self.folder, self.shop.path, "--threads", "2"))
            self.url = url
        else:
            self.worker = self.launch(self.kind)
            self.url, self.kill_it = self.worker("serve", self.shop.path, **self.options), self.worker.kill

    def token(self, device):
        if device.path not in self.tokens:
            self.tokens[device.path] = self.shop.counter.add_token(self.shop.db, device.path)
        return self.tokens[device.path]

    def die(self):
        self.kill_it()
        self.stack.close()

    def ids(self):
        """device -> ids that are bound to its token"""
        return {device: ids for device, ids in self.shop.counter.tokens(self.shop.db)}

    def close(self):
        self.stack.close()
        if self.worker and self.worker.process.poll() is None:
            self.worker.close()


SERVERS = ["python", "node", "gunicorn"]
DRAWN = SERVERS if IS_LONG else [SERVERS[SEED % 2]]


@pytest.fixture
def served(shop, launch, package, tmp_path):
    made = []

    def make(kind, file=None, **options):
        if kind == "gunicorn" and not shutil.which("gunicorn"):
            pytest.skip("no gunicorn")
        made.append(Served(file or shop("served"), launch, kind, package, tmp_path, **options))
        return made[-1]

    yield make
    for one in made:
        one.close()


class ServerWorld(Devices):
    """Connections end anywhere; clients and the server die in the middle."""

    def __init__(self, server, *given):
        super().__init__(*given)
        self.server = server
        self.names = [*self.names, *self.names[1:]]  # curl, which the command line runs, takes most of the time

    def meet(self, device, **given):
        warnings = self.sync("http", device, url=self.server.url, token=self.server.token(device), **given)
        assert warnings == []

    def meet_by_cuts(self, device, **given):
        cutter = Cutter(self.server.url, self.chance)
        path = self.server.url.partition("//")[2].partition("/")[1:]
        with contextlib.closing(cutter), contextlib.suppress(Failed):
            self.sync("http", device, url=cutter.url + "".join(path), token=self.server.token(device), **given)

    def die(self, device):
        """While a client talks to it."""
        worker = self.launch(self.chance.choice(self.names))
        worker.begin("http", device.path, url=self.server.url, token=self.server.token(device))
        time.sleep(self.chance.random() * 0.05)
        self.server.die()
        with contextlib.suppress(Failed):
            worker.end()
        worker.close()
        self.server.start()

    def step(self):
        device, what = self.draw(), self.chance.random()
        if what < 0.4:
            self.count(device)
        elif what < 0.7:
            self.meet(device)
        elif what < 0.74:
            self.meet(device, scope=[self.chance.choice("xya")])
        elif what < 0.79 and len(self.all) < 8:
            copy = self.copy(device)
            if self.chance.random() < 0.5:
                self.count(copy)
                self.meet(copy)
        elif what < 0.83:
            other = self.draw()
            if other is not device:
                device("SELECT 1 FROM counter_pull(?)", other.path)
        elif what < 0.85:
            self.back_up(device)
        elif what < 0.88 and device.path in self.backups:
            self.meet(device)
            self.restore(device)
        elif what < 0.94:
            self.meet_by_cuts(device)
        elif what < 0.98:
            self.killed("http", device, url=self.server.url, token=self.server.token(device))
        else:
            self.die(device)

    def end(self):
        for _ in range(2):
            for device in self.all:
                self.meet(device)
        self.agree(self.server.shop)
        bound = self.server.ids()
        assert all(len(ids) <= 1 for ids in bound.values())
        assert len({id for ids in bound.values() for id in ids}) == sum(map(len, bound.values()))


@pytest.mark.parametrize("kind", DRAWN)
@pytest.mark.parametrize("number", range(scaled(1)))
def test_whoever_syncs_a_file_with_a_server_nothing_is_lost_or_doubled(shop, ask, launch, all_names, served, kind, number):
    world = ServerWorld(served(kind), shop, ask, launch, all_names, random.Random(f"{SEED} {kind} {number}"))
    for _ in range(STEPS):
        world.step()
    world.end()


@pytest.mark.parametrize("kind", SERVERS[:2])
def test_a_copy_that_uploads_first_does_not_take_the_id_of_its_original(shop, ask, all_names, served, kind, chance):
    server = served(kind)
    names = some(all_names, chance)
    for name in names:
        original = shop(f"{name} original")
        original.count("tea", 5)
        id = original.id()
        original.close()
        copy = shop(None, shutil.copy(original.path, f"{original.path}.copy"))
        original.__init__(original.counter, original.path)
        copy.count("tea", 7)
        for one in copy, original:
            assert ask(name)("http", one.path, url=server.url, token=server.token(one))["warnings"] == []
        original.count("tea", 11)
        for one in original, copy:
            assert ask(name)("http", one.path, url=server.url, token=server.token(one))["warnings"] == []
        assert server.ids()[original.path] == [id] and server.ids()[copy.path] == [copy.id()] != [id]
        assert copy.content() == original.content() == server.shop.content()
    assert server.shop.content()[0] == {"tea": 23 * len(names)}


def test_a_copy_that_keeps_the_name_of_its_original_uploads_nothing_and_takes_no_id(counter, shop, ask, all_names, served, tmp_path):
    server = served(SERVERS[0])
    for name in all_names:
        db = sqlite3.connect(tmp_path / f"{name}.db", isolation_level=None)
        counter.load(db)
        db.execute("SELECT counter_init(?)", [f"home:{name}"]).fetchall()
        db.close()
        original = shop(name)
        original.count(name, 5)
        original("VACUUM INTO ?", f"{original.path}.copy")
        copy = shop(None, f"{original.path}.copy")
        with pytest.raises(Failed, match="main is 'home:.*' and does not count, .* SELECT counter_fork\\('main'\\) gives it"):
            ask(name)("http", copy.path, url=server.url, token=server.token(copy))
        copy("SELECT counter_fork()")
        copy.count(name, 7)
        for one in copy, original, copy:
            assert ask(name)("http", one.path, url=server.url, token=server.token(one))["warnings"] == []
        assert server.shop.content()[0][name] == 12 and copy.content() == original.content()


def post(server, token, lines):
    status, _, answer = request(server.url, "POST", "".join(f"{line}\n" for line in lines).encode(), Authorization=f"Bearer {token}")
    assert status == 200, answer
    return {**json.loads(answer), "source": None}


def test_both_servers_skip_the_same_shards_of_others_and_say_the_same(shop, ask, all_names, served):
    """What the lines of each of the clients bring."""
    answers = []
    devices = [shop(i) for i in "abc"]
    for device, n in zip(devices, (3, 4, 5)):
        device.count("tea", n), device.hit("x", "1", n)
    a, b, _ = devices
    b("SELECT 1 FROM counter_pull(?)", a.path)
    everything = [ask(name)("lines", b.path) for name in all_names]
    forged = [line.replace(b.id(), b.id().upper()).replace(a.id(), a.id().upper()) for line in everything[0]]
    for kind in [name for name in all_names if name != "cli"]:
        server = served(kind)
        tokens = [server.token(device) for device in devices]
        said = [post(server, tokens[0], ask("cli")("lines", a.path, own=True))]
        said += [post(server, tokens[1], lines) for lines in everything]
        said += [post(server, tokens[2], lines) for lines in [ask("cli")("lines", devices[2].path, own=True), *everything, forged]]
        assert server.shop.content() == ({"tea": 12}, {"x 1": 12}), "what was skipped is that of a and b"
        answers.append((said, list(server.ids().values())))
        server.close()
        server.shop.close()
        os.remove(server.shop.path)
        for left in "-wal", "-shm":
            pathlib.Path(server.shop.path + left).unlink(missing_ok=True)
    assert answers[0][0][-1]["skipped"] > 0 and all(one == answers[0] for one in answers)


def behind_a_writer(url, path):
    """Between a server and a device: whenever an answer comes, somebody else has begun to write the file of the device."""

    def application(environ, start):
        writer = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        body = environ["wsgi.input"].read(int(environ["CONTENT_LENGTH"]))
        headers = {name: environ[f"HTTP_{name}".upper()] for name in ("Authorization", "Content_Encoding") if f"HTTP_{name}".upper() in environ}
        status, _, answer = request(f"{url}?{environ['QUERY_STRING']}", "POST", body, **headers)
        writer.execute("BEGIN IMMEDIATE")
        writer.execute("INSERT INTO notes VALUES (1)")
        threading.Timer(0.3, lambda: writer.execute("COMMIT")).start()
        start(f"{status} as the server says", [("Content-Type", "application/x-ndjson")])
        return [answer]

    return application


@pytest.mark.parametrize("kind", SERVERS[:2])
def test_a_client_of_a_file_that_has_no_counter_tables_is_told_so(counter, shop, ask, all_names, served, kind, tmp_path):
    bare = SimpleNamespace(counter=counter, path=str(tmp_path / "bare.db"), db=sqlite3.connect(tmp_path / "bare.db", isolation_level=None))
    counter.load(bare.db)
    bare.db.execute("CREATE TABLE products(sku TEXT PRIMARY KEY, name TEXT, stock INTEGER NOT NULL DEFAULT 0)")
    server = served(kind, bare)
    for name in all_names:
        one = shop(name)
        for _ in "no", "still no":  # the second time it has counted
            one.count("tea")
            with pytest.raises(Failed) as failed:
                ask(name)("http", one.path, url=server.url, token=server.token(one))
            assert str(failed.value).rstrip().endswith(
                "counter_receive: the served file has no counter tables: whoever runs the server creates those of the devices in it, or calls "
                "counter_replicate() or counter_track() for its tables")


@pytest.mark.parametrize("mode", ["wal", "delete"])
def test_a_client_waits_for_another_process_that_writes_its_file_while_an_answer_comes(shop, ask, all_names, served, mode):
    server = served(SERVERS[0])
    for name in all_names:
        one = shop(name)
        one(f"PRAGMA journal_mode = {mode}")
        one("CREATE TABLE notes(n)")
        with serving(behind_a_writer(server.url, one.path)) as url:
            for n in 1, 2:
                one.count(name)
                ask(name)("http", one.path, url=url, token=server.token(one))
                assert server.shop.content()[0][name] == n


@pytest.mark.parametrize("kind", DRAWN)
def test_a_client_whose_id_is_bound_to_another_token_is_told(shop, ask, all_names, served, kind, chance):
    server = served(kind)
    one, another = shop("one"), shop("another")
    one.count("tea")
    ask("python")("http", one.path, url=server.url, token=server.token(one))
    for name in some(all_names, chance):
        one.count("tea")
        warning, = ask(name)("http", one.path, url=server.url, token=server.token(another))["warnings"]
        assert "for the id of the file is bound to another token: whoever runs the server moves it" in warning
    assert server.shop.content()[0] == {"tea": 1}
    assert ask("cli")("http", one.path, url=server.url, token=server.token(one))["warnings"] == []
    assert server.shop.content() == one.content()


@pytest.mark.parametrize("kind", DRAWN)
def test_where_the_mark_of_a_server_lies_beyond_the_file_it_gets_everything(shop, ask, all_names, served, kind, chance):
    server = served(kind)
    one = shop("one")
    post(server, server.token(one), [json.dumps({"format": 1, "source": f"{one.id()} own", "since": 0, "upto": 2**62, "changes": []})])
    for name in some(all_names, chance):
        one.count("tea")
        ask(name)("http", one.path, url=server.url, token=server.token(one))
        assert server.shop.content() == one.content()


# ---- a CA of its own ----

TRUSTING = {"cli": "CURL_CA_BUNDLE", "python": "SSL_CERT_FILE", "node": "NODE_EXTRA_CA_CERTS"}
ADVICE = {"cli": "--ca names", "python": "SSL_CERT_FILE names", "node": "NODE_EXTRA_CA_CERTS names"}


@pytest.fixture(scope="session")
def authority(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture
def trusting(launch, authority):
    """Starts an implementation that is told of the CA."""
    made = []

    def start(name):
        made.append(launch(name, **{TRUSTING[name]: str(authority.ca)}))
        return made[-1]

    yield start
    for one in made:
        one.close()


@pytest.mark.parametrize("kind", SERVERS[:2])
def test_whoever_is_told_of_a_ca_syncs_with_its_server(shop, trusting, authority, all_names, served, kind):
    server = served(kind, certificate=str(authority.certify(kind)))
    assert server.url.startswith("https://")
    for number, name in enumerate(all_names, 1):
        one = shop(name)
        one.count("tea", 10**number)
        assert trusting(name)("http", one.path, url=server.url, token=server.token(one))["warnings"] == []
        assert one.content() == server.shop.content()
    one = shop("one")
    run(ROOT / "build" / "sqlite-counter", "sync", "--ca", authority.ca, one.path, server.url, env={**CLEAN, "SQLITE_COUNTER_TOKEN": server.token(one)})
    assert one.content() == server.shop.content()


@pytest.mark.parametrize("name", NAMES)
def test_a_server_that_cannot_prove_who_it_is_sees_no_token(shop, launch, trusting, authority, name):
    """Not even a request; and nobody asks it again."""
    one, seen = shop("one"), []
    one.count("tea")

    def application(environment, start):
        seen.append(environment["HTTP_AUTHORIZATION"])
        start("401 Unauthorized", [])
        return []

    here, elsewhere = authority.certify("here"), authority.certify("elsewhere", "DNS:sync.example")
    for certificate, client in (here, launch(name)), (elsewhere, trusting(name)):
        with serving(application, certificate) as url, contextlib.closing(client):
            with pytest.raises(Failed, match=f"{url}.*: its certificate is not accepted: .*: {ADVICE[name]} a file of certificates to trust"):
                client("http", one.path, url=url, token="secret")
    assert seen == []
    with serving(application, here) as url, pytest.raises(Failed, match="401"):
        trusting(name)("http", one.path, url=url, token="secret")
    assert seen == ["Bearer secret"]


# ---- bytes ----

ODD_TABLES = ["CREATE VIRTUAL TABLE odd USING counter(k PRIMARY KEY, n COUNTER, m COUNTER)",
              "CREATE VIRTUAL TABLE hours USING counter(page TEXT, hour INTEGER, n COUNTER, PRIMARY KEY (page, hour))",
              "CREATE TABLE stock(sku TEXT PRIMARY KEY NOT NULL, pieces INTEGER NOT NULL DEFAULT 0)",
              "INSERT INTO stock VALUES ('tea', 10), ('jam', 4)", "SELECT counter_track('stock', 'pieces')"]
KEYS = ["x''", "x'00ff'", "''", "'a' || char(0) || 'b'", "CAST(x'61ff' AS TEXT)", "CAST(x'c080ed' AS TEXT)", "'\"\\' || char(10, 13, 8232, 127)",
        "'\U0001f375'", "9e999", "-9e999", "0.1", "5e-324", "1e300", "-0.0", "0", "1", "1.5", "9223372036854775807", "-9223372036854775808",
        "9007199254740993", "9223372036854775807.0"]
AMOUNTS = [1, -1, 2**53 + 1, 2**63 - 1, -2**63]


def fill_odd(one, other):
    opening, = {id for id, in other("SELECT s.id FROM counter_cells('stock_counters') AS c, counter_shards(c.cell) AS s")}
    one("SELECT counter_opening('stock', 'same', ?)", opening)
    one("UPDATE stock SET pieces = pieces - 1 WHERE sku = 'tea'")
    for i, key in enumerate(KEYS):
        one(f"INSERT OR IGNORE INTO odd(k, n) VALUES ({key}, ?)", AMOUNTS[i % len(AMOUNTS)])
        one(f"INSERT OR IGNORE INTO products VALUES (CAST({key} AS TEXT), {key}, ?)", AMOUNTS[i % len(AMOUNTS)])
    one("DELETE FROM odd WHERE k IN (1.5, '')"), one("INSERT INTO odd(k, n) VALUES ('', 8)")
    one("DELETE FROM products WHERE sku IN ('1', '1.5')"), one("INSERT INTO products VALUES ('1', NULL, 2)")
    one("INSERT INTO hours SELECT 'p', value, 1 FROM json_each('[1,2,3,4,5]')")
    one("INSERT INTO hours(hours, hour) VALUES ('purge below', 4)")
    one("INSERT INTO odd(odd) VALUES ('add column extra')"), one("INSERT INTO odd(k, extra) VALUES ('new', 3)")
    one("INSERT INTO odd(odd) VALUES ('drop column m')"), one("INSERT INTO odd(odd) VALUES ('add column \"o p\"')")
    one("INSERT INTO hits WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 1100) SELECT 'x', i, i FROM c")
    one.hit("y", "last", 2**62)


def shown(one):
    return {table: one(f"SELECT {columns} FROM {table} ORDER BY 1, 2, 3") for table, columns in {
        "odd": "hex(k), typeof(k), hex(quote(k)), n, extra, \"o p\"", "hits": "hex(shop), hex(page), n", "hours": "page, hour, n",
        "stock": "sku, pieces, 0", "products": "hex(sku), hex(quote(name)), stock", "counter_floors('hours')": "column_name, floor, 0"}.items()}


def all_digests(one):
    return [one("SELECT counter_table_digest(?)", table)[0][0] for table in ("odd", "hits", "hours", "stock_counters", "products_counters")]


def changes_of(lines):
    """All changes of batches that follow on one another."""
    batches = [json.loads(line) for line in lines]
    assert all(len(batch["changes"]) <= 1000 for batch in batches) and len({batch["source"] for batch in batches}) == 1
    assert all(a["upto"] == b["since"] for a, b in zip(batches, batches[1:]))
    return batches[0]["source"], batches[0]["since"], batches[-1]["upto"], sum((batch["changes"] for batch in batches), [])


@pytest.fixture(scope="module")
def odd(counter, tmp_path_factory):
    """A file with all of that, and what makes copies of one that can take it in."""
    folder = tmp_path_factory.mktemp("odd")
    made = [Shop(counter, folder / name) for name in ("odd.db", "empty.db")]
    for one in made:
        for table in ODD_TABLES:
            one(table)
    fill_odd(*made)
    made[1].close()

    def target():
        made.append(Shop(counter, shutil.copy(made[1].path, folder / f"{len(made)}.db")))
        return made[-1]

    yield made[0], target
    for one in made:
        one.close()


def test_what_one_writes_the_others_read(ask, all_names, chance, odd):
    one, target = odd
    for own in False, True:
        written = {writer: ask(writer)("lines", one.path, own=own) for writer in all_names}
        assert len({json.dumps(changes_of(lines)) for lines in written.values()}) == 1
        source, _, upto, changes = changes_of(written["cli"])
        readers = []
        for writer, reader in pairs(all_names, chance):
            readers.append(target())
            taken = ask(reader)("apply", readers[-1].path, lines=written[writer])
            assert taken["changes"] == len(changes) and taken.get("marks", {source: str(upto)}) == {source: str(upto)}
            assert shown(readers[-1]) == shown(one)
            then = ask(writer)("lines", one.path, own=own, since=upto)
            assert all(change["seq"] < upto for line in then for change in json.loads(line)["changes"]), "answers and columns come each time"
        assert all(all_digests(reader) == all_digests(readers[0]) for reader in readers)


def test_the_files_of_one_are_read_by_the_others(ask, all_names, tmp_path, chance, odd):
    one, target = odd
    readers = []
    for writer, reader in pairs(all_names, chance):
        folder = shared(tmp_path / f"{writer} {reader}")
        ask(writer)("folder", one.path, folder=str(folder))
        path, = batches_in(folder / one.id())
        lines = gzip.decompress(path.read_bytes()).decode().split("\n")[:-1]
        changes = changes_of(lines[:-1])
        assert changes == changes_of(ask(writer)("lines", one.path, own=True))
        readers.append(target())
        done = ask(reader)("folder", readers[-1].path, folder=str(folder))
        assert done["warnings"] == [] and done["took"] == len(changes[3])
        assert shown(readers[-1]) == shown(one)
    assert all(all_digests(reader) == all_digests(readers[0]) for reader in readers)


def test_servers_give_the_same_and_refuse_the_same(counter, ask, all_names, served, odd):
    one, _ = odd
    source, *_ = changes_of(ask("python")("lines", one.path))
    last = json.loads(ask("python")("lines", one.path)[-1])
    good = json.dumps({**last, "changes": last["changes"][-1:]}, separators=(",", ":")).encode() + b"\n"
    bearer = {"Authorization": f"Bearer {counter.add_token(one.db, 'device')}"}
    for kind in all_names[1:]:
        server = served(kind, one)

        def answer(query):
            status, headers, body = request(f"{server.url}?{query}", "POST", **bearer)
            head, *lines = body.decode().split("\n")[:-1]
            assert status == 200 and headers["Content-Type"] == "application/x-ndjson"
            return json.loads(head), lines

        for scope in None, ["x"], ["🍵 +&%"]:
            query = "" if scope is None else f"&scope={quote(json.dumps(scope, ensure_ascii=False))}"
            expected = ask("cli")("lines", one.path, scope=scope)
            head, lines = answer(f"since=0&by={quote(source + ' own')}&mine=5{query}")
            given = changes_of(lines)
            assert given == changes_of(expected) or not expected
            (mark,), = one("SELECT counter_mark(?)", f"{source} own")
            head.pop("left_out")
            assert head == {"format": 1, "source": given[0], "more": False, "changes": 0, "skipped": 0, "marks": {f"{source} own": mark}, "warnings": []}
            of = f"&of={quote(given[0])}{query}"
            for other in f"since={2**63 - 1}{of}", f"since={given[2]}{query}", f"since={given[2]}&of={quote(OTHER)}{query}":
                assert changes_of(answer(other)[1]) == given, "a mark beyond the end, or of another source, is of a file that was replaced"
            assert answer(f"since={given[2]}{of}") == ({**head, "marks": {}}, [])
            assert answer(query[1:]) == ({**head, "more": True, "marks": {}}, [])
        for expected, method, path, body, more in REFUSED:
            status, headers, said = request(server.url + path, method, body(good) if body else None, **{**bearer, **more})
            assert status == expected and (status == 200 or list(json.loads(said)) == ["error"]), (kind, method, path, said)
            assert status != 405 or headers["Allow"] == "POST"
            assert status != 401 or headers["WWW-Authenticate"] == "Bearer"


OTHER = "44444444-4444-4444-8444-444444444444"
REFUSED = [
    (401, "POST", "", bytes, {"Authorization": "Bearer x"}), (401, "POST", "", bytes, {"Authorization": "Basic eDp4"}),
    (404, "POST", "/other", bytes, {}), (404, "POST", "x", bytes, {}), (404, "POST", "/changes", bytes, {}), (405, "GET", "", None, {}), (405, "DELETE", "", None, {}),
    (400, "POST", "?by=x", None, {}), (400, "POST", "?scope=x", None, {}), (400, "POST", "?since=-1", None, {}), (400, "POST", "?mine=-1", None, {}),
    (400, "POST", "?since=x", None, {}), (400, "POST", f"?since={2**63}", None, {}), (400, "POST", "?since=0&scope=7", None, {}),
    (400, "POST", "?since=", None, {}), (400, "POST", "?by=%ff", None, {}),
    (400, "POST", "", lambda good: good[:-9], {}), (400, "POST", "", lambda good: good + b"\xff\n", {}),
    (400, "POST", "", lambda good: good.replace(b'"format":1', b'"format":2'), {}), (400, "POST", "", lambda good: good + b"[]", {}),
    (400, "POST", "", lambda good: good.replace(b'"format":1', b'"format":"1"'), {}),
    (400, "POST", "", lambda good: good.replace(b'"since":', b'"since":-'), {}),
    (400, "POST", "", lambda good: good.replace(b'"upto":', b'"upto":1,"was":'), {}),
    (400, "POST", "", lambda good: good.replace(b'"source":"', b'"source":"x'), {}),
    (400, "POST", "", lambda good: good.replace(b'"table":"', b'"table":"x'), {}),
    (400, "POST", "", lambda good: good.replace(b'"packed":"', b'"packed":"x'), {}),
    (400, "POST", "", lambda good: good.replace(b'"change":"', b'"change":"x'), {}),
    (400, "POST", "", lambda good: good.replace(b'"change":"', b'"change":"00'), {}),
    (400, "POST", "", lambda good: good.replace(b'"change":"', b'"was":"'), {}),
    (400, "POST", "", lambda good: good.replace(b'"seq":', b'"seq":99999999999'), {}),
    (400, "POST", "", lambda good: good.replace(b'"format":1,', b''), {}),
    (400, "POST", "", lambda good: good, {"Content-Encoding": "gzip"}),
    (400, "POST", "", lambda good: gzip.compress(good)[:-9], {"Content-Encoding": "gzip"}),
    (413, "POST", "", lambda good: gzip.compress(bytes(2**24 + 1)), {"Content-Encoding": "gzip"}),
    (415, "POST", "", bytes, {"Content-Encoding": "br"}),
    (200, "POST", "", lambda good: b"", {}), (200, "POST", "", lambda good: b"\r\n \n" + good[:-1] + b"\r\n", {}),
    (200, "POST", "", gzip.compress, {"Content-Encoding": "gzip"}),
    (200, "POST", "", lambda good: good.replace(b'"format":1', b'"new":[1],"\\u0066ormat":1'), {}),
    (200, "POST", "?since=00", None, {}), (200, "POST", "/", None, {}), (200, "POST", "?by=" + OTHER, None, {}),
]


def test_a_client_that_is_ahead_of_a_server_takes_all_that_it_has(counter, ask, all_names, served, chance, odd):
    """The served file was replaced by an older copy."""
    one, target = odd
    for kind in all_names[1:]:
        server = served(kind, one)
        for name in some(all_names, chance):
            client = target()
            counter.apply(client.db, [json.dumps({"format": 1, "source": one.id(), "since": 0, "upto": 2**62, "changes": []})])
            token = counter.add_token(one.db, client.path)
            assert ask(name)("http", client.path, url=server.url, token=token)["warnings"] == []
            assert shown(client) == shown(one)
