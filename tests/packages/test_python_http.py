"""test_python_http.py - sync_http() and the WSGI application of the Python package: files that meet at a server alone show the
sums of all increments, whatever breaks off; what is refused has a status and a sentence, and changes nothing."""
import contextlib
import gzip
import importlib
import itertools
import json
import os
import re
import shutil
import sqlite3
import threading
import zlib

from urllib.parse import parse_qsl, quote

import pytest

from conftest import CLEAN, EXAMPLES, ROOT, run
from servers import Cutter, gunicorn, need_gunicorn, raw, request, serving
from shops import Model, Shop


@pytest.fixture
def modules(counter, monkeypatch):
    """The client does not wait in tests before it asks again."""
    http, server = (importlib.import_module(f"sqlite_counter.{name}") for name in ("http", "server"))
    monkeypatch.setattr(http, "PAUSE", 0)
    return http, server


class Served:
    def __init__(self, shop, url, counter):
        self.shop, self.url, self.counter, self.tokens = shop, url, counter, {}

    def token(self, device):
        if device not in self.tokens:
            self.tokens[device] = self.counter.add_token(self.shop.db, device)
        return self.tokens[device]

    def sync(self, one, device=None, url=None, **options):
        return self.counter.sync_http(one.db, url or self.url, self.token(device or one.path), **options)

    def ask(self, body=b"", device="test", query="", method="POST", **headers):
        """Status and the first line of the answer, JSON."""
        status, _, answer = request(self.url + query, method, body, Authorization=f"Bearer {self.token(device)}", **headers)
        return status, json.loads(answer.partition(b"\n")[0])


@pytest.fixture
def served(modules, counter, shop):
    central = shop("central")
    with serving(modules[1].Application(central.path, max_body=5 * 2**20)) as url:
        yield Served(central, url, counter)


def lines_of(counter, one, since=0):
    return "".join(f"{line}\n" for line in counter.changes(one.db, since, own=True)).encode()


def batch_of(source, *changes, since=0, upto=1):
    """A line that nobody has counted."""
    return json.dumps({"format": 1, "source": f"{source} own", "since": since, "upto": upto, "changes": changes}, separators=(",", ":")).encode() + b"\n"


def forged(one, line, *shards):
    """The line, whose counters have these shards only, of an id, a clock and a value."""
    given = json.loads(line)
    for change in given["changes"]:
        told = json.loads(one("SELECT counter_change_json(?)", bytes.fromhex(change["change"]))[0][0])
        for column in told["columns"]:
            if column["kind"] == "counter":
                column["cell"]["shards"] = [dict(zip(("id", "clock", "value"), shard)) for shard in sorted(shards)]
        change["change"] = one("SELECT hex(counter_change_of(?))", json.dumps(told))[0][0]
    return json.dumps(given).encode()


# ---- by oracle ----

def test_files_that_meet_at_a_server_show_the_sums_of_all_increments(served, counter, shop, chance):
    model, shops = Model(), [served.shop, *(shop(i) for i in range(3))]
    for step in range(EXAMPLES):
        one = chance.choice(shops)
        if chance.random() < 0.5 or one is served.shop:
            model.step(one, chance)
        elif chance.random() < 0.1 and len(shops) < 7:
            one("VACUUM INTO ?", f"{one.path}.{step}.db")
            shops.append(shop(None, f"{one.path}.{step}.db"))
        else:
            served.sync(one)
    for one in 2 * shops[1:]:
        served.sync(one)  # of a copy shards are skipped that its original brings
    for one in shops:
        assert one.content() == model.content()
    assert all(served.sync(one).gave == 0 for one in shops[1:])


def test_a_connection_that_breaks_off_anywhere_loses_and_doubles_nothing(served, counter, shop, modules, chance, monkeypatch):
    monkeypatch.setattr(importlib.import_module("sqlite_counter.batches"), "ENOUGH_BYTES", 2000)
    monkeypatch.setattr(modules[1], "ENOUGH_BYTES", 2000)
    model, shops, broken = Model(), [shop(i) for i in range(3)], 0
    proxy = Cutter(served.url, chance)
    for number in itertools.count():
        if number > EXAMPLES // 2 and broken:  # by chance none of the first may break off
            break
        one = chance.choice(shops)
        for _ in range(chance.randrange(10)):
            model.step(one, chance)
        try:
            served.sync(one, url=proxy.url)
        except counter.SyncError as error:
            broken += 1
            assert str(error).startswith(f"{proxy.url}: ") and not one.db.in_transaction
    proxy.cuts = False
    for one in 2 * shops:
        served.sync(one, url=proxy.url)
    proxy.close()
    for one in [served.shop, *shops]:
        assert one.content() == model.content()


class Restores:
    """Devices that count and sync, whose connections break off; files are copied, forked, and go back to backups of theirs."""

    def __init__(self, served, shop, chance):
        self.served, self.shop, self.chance, self.model = served, shop, chance, Model()
        self.proxy, self.shops, self.backups = Cutter(served.url, chance), [shop(i) for i in range(3)], {}

    def sync(self, one):
        self.proxy.cuts = self.chance.random() < 0.3
        try:
            self.served.sync(one, url=self.proxy.url)
        except self.served.counter.SyncError as error:
            assert str(error).startswith(f"{self.proxy.url}: ") and self.proxy.cuts, error

    def back_up(self, one):
        self.backups[one] = sqlite3.connect(":memory:")
        one.db.backup(self.backups[one])

    def restore(self, one):
        """Whoever restores the served file gives out the tokens again that are newer."""
        tokens = one("SELECT * FROM counter_http_tokens") if one is self.served.shop else []
        self.backups[one].backup(one.db)
        for token in tokens:
            one("INSERT OR IGNORE INTO counter_http_tokens VALUES (?, ?)", *token)

    def step(self):
        one, what = self.chance.choice(self.shops), self.chance.random()
        if what < 0.45:
            self.model.step(one, self.chance)
        elif what < 0.9:
            self.sync(one)
        elif what < 0.93:
            one("SELECT counter_fork()")
        elif what < 0.96 and len(self.shops) < 6:
            one("VACUUM INTO ?", path := f"{one.path}.{len(self.shops)}.db")
            self.shops.append(self.shop(None, path))

    def end(self):
        self.proxy.cuts = False
        for one in 3 * self.shops:
            self.served.sync(one, url=self.proxy.url)
        for one in [self.served.shop, *self.shops]:
            assert one.content() == self.model.content()
        assert all(self.served.sync(one, url=self.proxy.url).gave == 0 for one in self.shops)
        self.proxy.close()


def test_a_server_that_goes_back_to_a_backup_gets_again_what_it_has_lost(served, counter, shop, chance):
    world = Restores(served, shop, chance)
    served.token("first"), world.back_up(served.shop)
    for _ in range(EXAMPLES):
        if chance.random() < 0.1:
            chance.choice([world.back_up, world.restore])(served.shop)
        world.step()
    world.end()


def test_a_device_that_goes_back_to_a_backup_loses_nothing_that_the_server_has(served, counter, shop, chance):
    """Whether the restore is noticed or not: a device may count only after it has heard from the server."""
    world = Restores(served, shop, chance)
    for _ in range(EXAMPLES):
        one = chance.choice(world.shops)
        if chance.random() < 0.05:
            world.back_up(one)
        elif chance.random() < 0.1 and one in world.backups:
            served.sync(one)
            world.restore(one)
            served.sync(one)
        world.step()
    world.end()


def test_a_sync_is_one_request_after_the_first(served, counter, shop, modules):
    one, asked = shop("one"), []
    with serving(lambda environ, start: asked.append(environ["QUERY_STRING"]) or modules[1].Application(served.shop.path)(environ, start)) as url:
        for n in 2, 1, 1:
            one.count("tea")
            served.shop.count("jam")
            served.sync(one, url=url)
            assert len(asked) == n and one.content() == served.shop.content()
            asked.clear()
        served.sync(one, url=url)
        assert len(asked) == 1 and f"&mine={counter.mark(served.shop.db, f'{one.id()} own')}&" in asked[0]


def test_what_is_remembered_of_a_server_is_that_of_the_file_at_a_url(served, counter, shop, modules):
    """Another file is served at the URL, then the first one again."""
    one, files = shop("one"), [served.shop, shop("another")]
    applications = [modules[1].Application(each.path) for each in files]
    for each in files:
        each.count(each.path)
    which = [0]
    tokens = [served.token("one"), counter.add_token(files[1].db, "one")]
    with serving(lambda environ, start: applications[which[0]](environ, start)) as url:
        for i in 0, 1, 0, 1:
            which[0] = i
            one.count("tea")
            counter.sync_http(one.db, url, tokens[i])
            assert files[i].content()[0]["tea"] == one.content()[0]["tea"]
    assert set(one.content()[0]) == {"tea", files[0].path, files[1].path}


def test_what_was_pulled_is_uploaded_and_what_came_in_batches_is_not(served, counter, shop, tmp_path):
    """A laptop uploads for the phone that it pulls. It does not carry from a folder to a server: both have everything from
    whoever counted it."""
    counter.make_folder(tmp_path / "folder")
    laptop, phone, third = shop("laptop"), shop("phone"), shop("third")
    laptop.count("tea", 1), phone.count("tea", 2), third.count("jam", 4)
    laptop("SELECT * FROM counter_pull(?)", phone.path)
    counter.sync_folder(third.db, tmp_path / "folder"), counter.sync_folder(laptop.db, tmp_path / "folder")
    served.sync(laptop)
    assert laptop.content() == ({"tea": 3, "jam": 4}, {}) and served.shop.content() == ({"tea": 3}, {})
    served.sync(third)
    assert served.shop.content() == third.content() == laptop.content()


def test_a_scope_is_uploaded_whole_and_downloaded_in_part(served, counter, shop):
    one, two = shop("one"), shop("two")
    one.hit("x", "1"), one.hit("y", "1"), two.hit("y", "2")
    served.sync(one)
    served.sync(two, scope=["x"])
    assert two.content()[1] == {"x 1": 1, "y 2": 1} and served.shop.content()[1] == {"x 1": 1, "y 1": 1, "y 2": 1}
    assert served.sync(two, scope='[ "x" ]') == counter.Synced(0, 0, 0, [])
    served.sync(two)
    assert two.content() == served.shop.content()


def test_many_changes_come_in_pages(served, counter, shop, modules, monkeypatch):
    monkeypatch.setattr(modules[1], "ENOUGH_BYTES", 50_000)
    one, two = shop("one"), shop("two")
    for i in range(3):
        one("BEGIN")
        for k in range(1500):
            one.hit("x", f"page {i} {k}")
        one("COMMIT")
    assert served.sync(one).gave == 4500
    status, headers, body = request(f"{served.url}?since=0", "POST", b"", Authorization=f"Bearer {served.token('test')}")
    assert status == 200 and headers["Content-Type"] == "application/x-ndjson" and len(body) < 800_000
    assert json.loads(body.partition(b"\n")[0])["more"]
    assert served.sync(two).took >= 4500 and two.content() == one.content()  # a page that ends within a transaction begins the next


# ---- who has a token ----

def test_shards_of_ids_of_another_token_are_skipped_and_counted(served, counter, shop):
    one, two, thief = shop("one"), shop("two"), shop("thief")
    one.count("tea", 1), two.count("tea", 2)
    served.sync(one, "one"), served.sync(two, "two")
    line = forged(one, lines_of(counter, one), (one.id(), 9, 99))
    for spelled in line, line.replace(one.id().encode(), one.id().upper().encode()):
        status, said = served.ask(spelled, "thief")
        assert (status, said["skipped"]) == (200, 1)
    assert served.shop.content() == ({"tea": 3}, {}) and [device.ids for device in counter.tokens(served.shop.db)][1:] == [[], [two.id()]]
    thief.count("tea", 4)
    thief("SELECT * FROM counter_pull(?)", one.path)
    synced = served.sync(thief, "thief")
    assert synced.skipped == 1 and served.shop.content() == thief.content() == ({"tea": 7}, {})
    assert counter.tokens(served.shop.db) == [("one", [one.id()]), ("thief", [thief.id()]), ("two", [two.id()])]


def test_a_mark_of_a_source_of_another_token_is_not_raised(served, counter, shop):
    one = shop("one")
    one.count("tea", 1)
    served.sync(one, "one")
    mark = counter.mark(served.shop.db, f"{one.id()} own")
    lie = batch_of(one.id(), upto=2**62)
    assert served.ask(lie, "thief")[1]["marks"] == {f"{one.id()} own": mark}
    one.count("tea", 2)
    served.sync(one, "one")
    assert served.shop.content() == ({"tea": 3}, {})


def test_a_server_that_says_it_has_what_it_has_not_gets_everything(served, counter, shop):
    """Somebody had a token before this device, and told of it what is not."""
    one, thief = shop("one"), shop("thief")
    one.count("tea", 1), thief.count("jam", 1)
    lie = batch_of(one.id(), upto=2**62)
    served.sync(thief, "thief")
    served.ask(lie, "thief")
    assert served.sync(one, "one").warnings == []
    assert served.shop.content() == ({"jam": 1, "tea": 1}, {})


def test_a_device_that_lost_its_token_is_told_that_its_counts_are_skipped(served, counter, shop):
    one = shop("one")
    one.count("tea", 1)
    assert served.sync(one, "old").warnings == []
    one.count("tea", 2)
    served.token("new")
    for _ in range(2):
        synced = served.sync(one, "new")
        assert synced.skipped == 1 and len(synced.warnings) == 1 and "bound to another token" in synced.warnings[0]
    counter.remove_token(served.shop.db, "old", to="new")
    synced = served.sync(one, "new")
    assert (synced.gave, synced.skipped, synced.warnings) == (1, 0, []) and served.shop.content() == ({"tea": 3}, {})


@pytest.mark.parametrize("device", ["restored", "gone", "late"])
def test_counts_of_another_device_are_sent_again_until_it_or_an_heir_has_brought_them(served, counter, shop, tmp_path, device):
    till, office = shop("till"), shop("office")
    till.count("tea", 1), office.count("tea", 1)
    served.sync(till, "till"), served.sync(office, "office")
    till("VACUUM INTO ?", str(tmp_path / "backup.db"))
    till.count("tea", 5)
    till("SELECT * FROM counter_sync(?)", office.path)
    office.count("tea", 10)
    for _ in range(2):
        synced = served.sync(office, "office")
        assert synced.skipped == 1 and synced.warnings == []  # a day is left to the other device
    assert served.shop.content() == ({"tea": 12}, {}) and office.content() == ({"tea": 17}, {})
    if device == "gone":  # as the warning says after a day
        counter.remove_token(served.shop.db, "till", to="office")
    elif device == "restored":
        till = shop("backup")
        till("SELECT * FROM counter_pull(?)", office.path)
        served.sync(till, "till")
    else:
        served.sync(till, "till")
    assert served.sync(office, "office").warnings == [] and served.sync(office, "office").gave == 0
    assert served.shop.content() == office.content() == ({"tea": 17}, {})


def test_a_copy_that_uploads_before_its_original_takes_no_id_from_it(served, counter, shop, tmp_path):
    original = shop("original")
    original.count("tea", 1)
    original("VACUUM INTO ?", str(tmp_path / "copy.db"))
    copy = shop("copy")
    copy.count("tea", 2)
    served.sync(copy, "copy")
    original.count("tea", 4)
    assert served.sync(original, "original").skipped == 0 and served.shop.content() == ({"tea": 7}, {})
    assert counter.tokens(served.shop.db) == [("copy", [copy.id()]), ("original", [original.id()])]


def test_a_device_with_a_new_id_gets_a_new_token_and_its_old_ids_move(served, counter, shop):
    one = shop("one")
    one.count("tea", 1)
    served.sync(one, "old")
    old = one.id()
    one("SELECT counter_fork()")
    one.count("tea", 2)
    served.sync(one, "old")
    assert served.shop.content() == ({"tea": 3}, {})
    one.count("tea", 4)
    served.sync(one, "new")
    counter.remove_token(served.shop.db, "old", to="new")
    assert counter.tokens(served.shop.db) == [("new", sorted([old, one.id()]))]
    with pytest.raises(counter.SyncError, match="HTTP 401: this server does not know the token"):
        served.sync(one, "old")


def test_what_was_skipped_arrives_once_the_ids_have_moved(served, counter, shop, tmp_path):
    """A laptop is replaced by a copy of its file, which has counts that were never uploaded."""
    old = shop("old")
    old.count("tea", 1)
    served.sync(old, "old")
    old.count("tea", 2)
    old("VACUUM INTO ?", str(tmp_path / "new.db"))
    new = shop("new")
    new.count("tea", 4)
    assert served.sync(new, "new").skipped == 1 and served.shop.content() == ({"tea": 5}, {})
    counter.remove_token(served.shop.db, "old", to="new")
    assert served.sync(new, "new").skipped == 0 and served.shop.content() == new.content() == ({"tea": 7}, {})
    assert served.sync(new, "new").gave == 0


def test_what_a_removed_device_has_counted_stays_and_nobody_counts_under_it(served, counter, shop):
    one = shop("one")
    one.count("tea", 1)
    served.sync(one, "one")
    token = served.token("one")
    counter.remove_token(served.shop.db, token)
    one.count("tea", 9)
    assert served.ask(lines_of(counter, one), "thief")[1]["skipped"] == 1
    assert served.shop.content() == ({"tea": 1}, {}) and [device.device for device in counter.tokens(served.shop.db)] == ["thief"]
    for wrong in "one", token, "":
        with pytest.raises(counter.SyncError, match="no token of that text, no device of that name and no such id"):
            counter.remove_token(served.shop.db, wrong)


def test_an_id_names_the_token_that_it_is_bound_to_also_when_that_was_removed(served, counter, shop):
    one, two = shop("one"), shop("two")
    one.count("tea", 1)
    served.sync(one, "one")
    counter.remove_token(served.shop.db, "one")
    one.count("tea", 9)
    two("SELECT * FROM counter_pull(?)", one.path)
    two.count("jam", 2)
    assert served.sync(two, "two").skipped == 1 and served.shop.content() == ({"jam": 2, "tea": 1}, {})
    counter.remove_token(served.shop.db, one.id(), to="two")
    assert served.sync(two, "two").skipped == 0 and served.shop.content() == two.content() == ({"jam": 2, "tea": 10}, {})


def test_what_follows_a_count_that_another_device_is_to_bring_is_uploaded_whatever_its_size(served, counter, modules, shop, monkeypatch):
    monkeypatch.setattr(modules[0], "ENOUGH_BYTES", 10_000)
    one, two = shop("one"), shop("two")
    one.count("tea", 1), two.count("tea", 1)
    served.sync(one, "one"), served.sync(two, "two")
    one.count("tea", 9)
    two("SELECT * FROM counter_pull(?)", one.path)
    for i in range(500):
        two.count(f"item {i}", 1)
    for _ in range(2):
        assert served.sync(two, "two").skipped == 1
    expected = {"tea": 2, **{f"item {i}": 1 for i in range(500)}}
    assert served.shop.content() == (expected, {})
    served.sync(one, "one")
    assert served.sync(two, "two").skipped == 1 and served.sync(two, "two").gave == 0
    assert served.shop.content() == two.content()


def test_tokens_are_random_and_only_their_digests_stand_in_the_file(served, counter):
    token = served.token("ann")
    assert len(token) == 43 and token != counter.add_token(served.shop.db, "bob")
    stored = str(served.shop("SELECT * FROM counter_http_tokens"))
    assert token not in stored and "ann" in stored
    with pytest.raises(counter.SyncError, match="ann has a token already"):
        counter.add_token(served.shop.db, "ann")
    for wrong in "", " ", None, 7:
        with pytest.raises(counter.SyncError, match="the name of a device must be a text"):
            counter.add_token(served.shop.db, wrong)


# ---- what is refused ----

@pytest.fixture
def unchanged(served, counter, shop):
    """A file that has something to send; nothing may have arrived in the end."""
    one = shop("one")
    one.count("tea", 1)
    yield one
    assert served.shop.content() == ({}, {}) and counter.mark(served.shop.db, f"{one.id()} own") == 0


def test_without_a_token_that_is_known_nothing_is_told(served, unchanged, counter):
    body = lines_of(counter, unchanged)
    for given in {}, {"Authorization": "Bearer "}, {"Authorization": "Bearer x"}, {"Authorization": f"Basic {served.token('test')}"}:
        for query in "", "?since=0":
            status, headers, said = request(served.url + query, "POST", body, **given)
            assert status == 401 and headers["WWW-Authenticate"] == "Bearer" and json.loads(said)["error"]
    with pytest.raises(counter.SyncError, match=f"^{served.url}: HTTP 401: this server does not know the token: ask whoever runs it for one$"):
        counter.sync_http(unchanged.db, served.url, "x" * 43)


@pytest.mark.parametrize("method, path, status, said", [
    ("POST", "/nothing", 404, "there is nothing here"), ("POST", "/changes", 404, "there is nothing here"),
    ("PUT", "", 405, "PUT is not for this URL"), ("GET", "?since=0", 405, "GET is not for this URL"),
    ("POST", "?since=-1", 400, "since must be a whole number"), ("POST", "?since=x", 400, "since must be"), ("POST", "?mine=x", 400, "mine must be"),
    ("POST", "?since=9223372036854775808", 400, "since must be"), ("POST", "?since=%FF", 400, "percent-encoded"),
    ("POST", "?scope=x", 400, "scope must be a JSON array"), ("POST", "?by=x", 400, "by must be the name of a file"),
    ("POST", "?since=0&scope=[]", 400, "scope must be a JSON array")])
def test_other_paths_methods_and_parameters_have_their_status(served, method, path, status, said):
    answered, sentence = served.ask(query=path, method=method)
    assert answered == status and said in sentence["error"]


@pytest.mark.parametrize("make, headers, status, said", [
    (lambda body: b"x" * (5 * 2**20 + 1), {}, 413, "must not be larger than 5242880 bytes"),
    (lambda body: gzip.compress(b"0" * 10**7), {"Content_Encoding": "gzip"}, 413, "must not be larger"),
    (lambda body: body, {"Content_Encoding": "gzip"}, 400, "the body is no gzip"),
    (lambda body: gzip.compress(body)[:-9], {"Content_Encoding": "gzip"}, 400, "the body was cut short"),
    (lambda body: body, {"Content_Encoding": "br"}, 415, "by gzip or not at all"),
    (lambda body: body[:-9], {}, 400, "counter_receive: it is cut short"),
    (lambda body: body + b"7", {}, 400, "counter_receive: line 2: it must be an object"),
    (lambda body: body.replace(b'"format":1', b'"format":2'), {}, 400, "install a newer sqlite-counter"),
    (lambda body: body.replace(b'"products"', b'"nothing"'), {}, 400, "counter_receive: change 1: table nothing: no table was replicated with this name here")])
def test_bodies_that_are_refused_change_nothing(served, unchanged, counter, make, headers, status, said):
    answered, sentence = served.ask(make(lines_of(counter, unchanged)), **headers)
    assert answered == status and said in sentence["error"]


def test_half_a_body_and_one_without_an_end_change_nothing(served, unchanged, counter):
    body, head = lines_of(counter, unchanged), f"POST / HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {served.token('test')}\r\n".encode()
    for more in b"Content-Length: %d\r\n\r\n" % (len(body) + 5), b"Content-Length: x\r\n\r\n", b"Transfer-Encoding: chunked\r\n\r\n":
        answer = raw(served.url, head + more + body)
        assert answer.startswith(b"HTTP/1.0 400 ") and b'{"error":"' in answer, answer


def test_a_file_that_is_locked_is_503_and_the_client_tries_again(served, unchanged, counter, modules, monkeypatch):
    monkeypatch.setattr(importlib.import_module("sqlite_counter.pool"), "SECONDS", 0)
    served.token("test"), served.token(unchanged.path)
    served.shop("BEGIN IMMEDIATE")
    status, headers, said = request(served.url, "POST", lines_of(counter, unchanged), Authorization=f"Bearer {served.token('test')}")
    assert (status, headers["Retry-After"]) == (503, "1") and json.loads(said) == {"error": "the file is locked: try again"}
    with pytest.raises(counter.SyncError, match="HTTP 503: the file is locked: try again"):
        served.sync(unchanged)
    assert served.ask(query="?since=0")[0] == 200  # readers do not wait
    served.shop("ROLLBACK")


# ---- what is answered ----

def test_answers_are_compressed_for_those_who_ask(served, counter, shop):
    one = shop("one")
    one.count("tea")
    served.sync(one)
    token = {"Authorization": f"Bearer {served.token('test')}"}
    plain = request(f"{served.url}?since=0", "POST", **token)
    status, headers, body = request(f"{served.url}?since=0", "POST", Accept_Encoding="br, gzip;q=0.5", **token)
    assert headers["Content-Encoding"] == "gzip" and zlib.decompress(body, 31) == plain[2] and plain[1]["Content-Encoding"] is None
    assert request(f"{served.url}?since=0", "POST", Accept_Encoding="gzip;q=0", **token)[1]["Content-Encoding"] is None
    two = shop("two")
    assert [counter.apply(two.db, plain[2].partition(b"\n")[2]).changes, two.content()] == [1, one.content()]


def test_an_answer_without_news_is_its_first_line_and_one_without_changes_raises_the_mark(served, counter, shop):
    token, two = {"Authorization": f"Bearer {served.token('test')}"}, shop("two")
    served.shop.count("tea")
    ask = lambda query: [json.loads(line) for line in request(served.url + query, "POST", **token)[2].splitlines()]  # noqa: E731
    (head, line), source = ask("?since=0"), served.shop.id()
    assert head == {"format": 1, "source": source, "more": False, "changes": 0, "skipped": 0, "marks": {}, "warnings": []}
    upto, name = line["upto"], f"{two.id()} own"
    assert ask(f"?since={upto}&of={source}") == [head] and ask("") == [{**head, "more": True}]
    assert ask(f"?by={quote(name)}&mine=7") == [{**head, "more": True, "left_out": 0, "marks": {name: 0}}]
    for query in f"?since={upto}", f"?since={upto}&of={two.id()}", f"?since={2**63 - 1}&of={source}":  # of another file, or an older one
        assert ask(query) == [head, line]
    scoped = f'{source} ["x"]'
    assert ask("?since=0&scope=[%22x%22]") == [{**head, "source": scoped}, {"format": 1, "source": scoped, "since": 0, "upto": upto, "changes": []}]
    source = scoped
    assert served.sync(two, scope=["x"]).took == 0 and counter.mark(two.db, source) == upto


def test_a_client_whose_mark_lies_beyond_the_changes_gets_all_of_them_at_once(served, counter, shop, modules, monkeypatch):
    """The served file was replaced by an older copy."""
    monkeypatch.setattr(modules[1], "ENOUGH_BYTES", 1)
    one, two = shop("one"), shop("two")
    for i in range(3):
        one("BEGIN")
        for k in range(1000):
            one.hit("x", f"page {i} {k}")
        one("COMMIT")
    served.sync(one)
    counter.apply(two.db, batch_of(served.shop.id(), upto=2**62).replace(b" own", b""))
    assert served.sync(two).took == 3000 and two.content() == one.content()


def test_a_file_that_was_put_in_place_of_the_served_one_is_served(served, counter, shop, tmp_path):
    one = shop("one")
    one.count("tea", 5)
    served.sync(one)
    served.shop("PRAGMA wal_checkpoint(TRUNCATE)")
    served.shop("VACUUM INTO ?", str(tmp_path / "new.db"))
    served.shop.close()
    for suffix in "-wal", "-shm":
        (tmp_path / f"central.db{suffix}").unlink(missing_ok=True)
    (tmp_path / "new.db").rename(tmp_path / "central.db")
    one.count("tea", 2)
    served.sync(one)
    with sqlite3.connect(tmp_path / "central.db") as db:
        counter.load(db)
        assert db.execute("SELECT stock FROM products").fetchall() == [(7,)]


def test_a_path_is_answered_below_a_prefix(modules, counter, shop):
    central, one = shop("central"), shop("one")
    one.count("tea")
    with serving(modules[1].Application(central.path, prefix="/sync/")) as url:
        token = counter.add_token(central.db, "one")
        counter.sync_http(one.db, f"{url}/sync/", token)
        assert central.content() == one.content()
        for elsewhere in url, f"{url}/syncing":
            with pytest.raises(counter.SyncError, match="HTTP 404: there is nothing here"):
                counter.sync_http(one.db, elsewhere, token)


def test_a_path_at_which_there_is_no_file_is_refused_when_it_is_given(modules, counter, tmp_path):
    typo = tmp_path / "typo.db"
    with pytest.raises(counter.SyncError, match=f"^{typo}: there is no such file$"):
        modules[1].Application(str(typo))
    assert not typo.exists()


def test_a_file_that_is_away_for_a_while_is_waited_for(served, shop, tmp_path):
    one, away = shop("one"), tmp_path / "away.db"
    one.count("tea")
    path = served.shop.path
    assert served.sync(one).gave == 1 and served.ask("")[0] == 200
    os.rename(path, away)
    assert served.ask("") == (503, {"error": "the file is not there: try again"})
    assert not os.path.exists(path)
    os.rename(away, path)
    assert served.ask("")[0] == 200


# ---- the client, and servers that are none ----

@pytest.mark.parametrize("url", ["ftp://x", "file:///etc/passwd", "x", "http://", "http://x/?a=1", "http://u:p@x", "http://[", None])
def test_what_is_no_url_of_a_server_is_refused(counter, shop, url):
    with pytest.raises(counter.SyncError, match="the URL of a server begins with https://"):
        counter.sync_http(shop("one").db, url, "x")


@pytest.mark.parametrize("token", ["", "a b", "a\r\nX: y", None, "\u00e9"])
def test_what_can_be_no_token_is_refused(counter, shop, token):
    with pytest.raises(counter.SyncError, match="the token has characters that no token has"):
        counter.sync_http(shop("one").db, "http://127.0.0.1:1", token)


def test_a_server_that_is_not_there_is_a_sentence(counter, shop):
    with pytest.raises(counter.SyncError, match="^http://127.0.0.1:1: it cannot be reached: .*refused"):
        counter.sync_http(shop("one").db, "http://127.0.0.1:1", "x")


def answers(status, body, *headers):
    seen = []

    def application(environ, start_response):
        seen.append(environ)
        environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))  # else a close resets the connection before all is read
        start_response(status, list(headers))
        return [body]

    application.seen = seen
    return application


@pytest.mark.parametrize("status, body, headers, said", [
    ("200 OK", b"<html>\n", [], "counter_heard: the answer .*: is this the URL of a server of sqlite-counter?"), ("200 OK", b"[]\n", [], "counter_heard: the answer must be"),
    ("200 OK", b'{"source":"x"}\n', [], "counter_heard: the member format"), ("200 OK", b'{"format":1,"source":"x"}\n', [], "counter_heard: the source 'x' is not"),
    ("200 OK", b"", [], "counter_heard: the answer is cut short"), ("200 OK", b"<html>", [], "the answer broke off: its last line has no end"),
    ("404 Not Found", b"<html>", [], "HTTP 404: Not Found; is this the URL of a server of sqlite-counter?"),
    ("500 Oops", b'{"error":"a\\u001b[31m\\nb"}', [], r"HTTP 500: a \[31m b$"), ("200 OK", b"0" * 2**21 + b"\n", [], "its answer is too long"),
    ("200 OK", gzip.compress(b"0" * 10**8), [("Content-Encoding", "gzip")], "a line of the answer is longer than"),
    ("200 OK", b"half", [("Content-Length", "99")], "the answer broke off: .*: sync again")])
def test_a_server_that_is_another_is_a_sentence(modules, counter, shop, status, body, headers, said):
    one = shop("one")
    one.content()
    with serving(answers(status, body, *headers)) as url, pytest.raises(counter.SyncError, match=f"^{url}: {said}"):
        counter.sync_http(one.db, url, "x")


@pytest.mark.parametrize("status", ["301 Moved", "302 Found", "307 Temporary Redirect", "308 Permanent Redirect"])
def test_a_server_that_sends_on_gets_no_token_to_another(modules, counter, shop, status):
    other = answers("200 OK", b"{}")
    with serving(other) as elsewhere, serving(answers(status, b"", ("Location", elsewhere))) as url:
        with pytest.raises(counter.SyncError, match=f"HTTP {status[:3]}: the server sends on to {elsewhere}: give that URL if"):
            counter.sync_http(shop("one").db, url, "x")
    assert other.seen == []


def test_a_line_that_is_refused_here_names_the_server(served, counter, shop, modules):
    served.shop.count("tea")
    served.shop("CREATE VIRTUAL TABLE more USING counter(k PRIMARY KEY, n COUNTER)")
    served.shop("INSERT INTO more VALUES (1, 1)")
    one = shop("one")
    with pytest.raises(counter.SyncError, match=f"^{served.url}: what it has sent was refused: counter_take: change .: table more: no counter table was created"):
        served.sync(one)
    one("CREATE VIRTUAL TABLE more USING counter(k PRIMARY KEY, n COUNTER)")
    assert served.sync(one).took and one.content() == served.shop.content()


# ---- gunicorn ----

def test_gunicorn_takes_chunks_and_no_half_bodies(counter, package, shop, tmp_path):
    need_gunicorn()
    central, one = shop("central"), shop("one")
    token = counter.add_token(central.db, "one")
    one.count("tea", 3)
    body = lines_of(counter, one)
    head = f"POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer {token}\r\n".encode()
    chunks = b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in (body[:50], body[50:]))
    with gunicorn(package, tmp_path, central.path, "--threads", "2") as (url, _):
        for cut in b"Content-Length: %d\r\n\r\n%s" % (len(body) + 1, body), b"Transfer-Encoding: chunked\r\n\r\n" + chunks[:-20]:
            assert raw(url, head + cut).startswith(b"HTTP/1.1 400 ")
        assert central.content() == ({}, {})
        assert raw(url, head + b"Transfer-Encoding: chunked\r\n\r\n" + chunks + b"0\r\n\r\n").startswith(b"HTTP/1.1 200 ")
        assert central.content() == one.content()


def test_a_sync_whose_server_is_killed_goes_on_when_it_is_there_again(counter, package, shop, tmp_path, chance, modules):
    need_gunicorn()
    central, one = shop("central"), shop("one")
    token = counter.add_token(central.db, "one")
    for i in range(max(2, EXAMPLES // 50)):
        one("BEGIN")
        for k in range(3000):
            one.hit("x", f"page {i} {k}")
        one("COMMIT")
        with gunicorn(package, tmp_path, central.path) as (url, kill):
            threading.Timer(chance.random() / 3, kill).start()
            try:
                counter.sync_http(one.db, url, token)
            except counter.SyncError as error:
                assert re.match(f"{url}: (it cannot be reached|the answer broke off)", str(error))
    with gunicorn(package, tmp_path, central.path) as (url, _):
        counter.sync_http(one.db, url, token)
    assert central.content() == one.content()


# ---- the command line ----

def test_the_command_line_syncs_with_this_server(served, counter, shop):
    one, two = shop("one"), shop("two")
    one.count("tea", 1), two.count("tea", 2), two.hit("x", "1")
    for _ in range(2):
        run(ROOT / "build" / "sqlite-counter", "sync", one.path, served.url, env={**CLEAN, "SQLITE_COUNTER_TOKEN": served.token("one")})
        served.sync(two)
    assert served.shop.content() == one.content() == two.content() == ({"tea": 3}, {"x 1": 1})
    assert ("one", [one.id()]) in counter.tokens(served.shop.db)


# ---- the served file's own counts ----

def counted_batch(counter, one):
    [line] = counter.changes(one.db, own=True)
    return line


def test_a_device_does_not_set_what_the_served_file_itself_has_counted(served, counter, shop):
    central, thief, honest = served.shop, shop("thief"), shop("honest")
    central.count("tea", 1000), thief.count("tea", 7)
    served.sync(honest, "honest")
    id = central.id()
    for source in f"{thief.id()} own", f"{id} own":  # even as the first batch of a token
        line = {**json.loads(forged(thief, counted_batch(counter, thief), (id, 99, 0), (thief.id(), 99, 0))), "source": source}
        status, said = served.ask(json.dumps(line).encode(), "thief")
        assert status == 200 and said["marks"] == {source: 0} and len(said["warnings"]) == 1
        assert "the device thief sent 1 count under an id of the served file itself" in said["warnings"][0]
    assert central.id() != id and central("SELECT why FROM counter_identity() WHERE state = 'current'") == [("conflict",)]
    assert central('SELECT id, clock, value, their_clock, their_value, why FROM counter_conflicts') == [(id, 1, 1000, 99, 0, "device thief")]
    assert id not in [each for device in counter.tokens(central.db) for each in device.ids]
    served.sync(honest, "honest")
    assert central.content() == honest.content() == ({"tea": 1000}, {})
    counter.apply(central.db, forged(thief, counted_batch(counter, thief), (id, 100, 5)))  # whoever runs it may
    assert central.content() == ({"tea": 5}, {})


def test_what_a_device_knows_of_the_served_file_comes_with_its_counts_and_says_nothing(served, counter, shop):
    one = shop("one")
    served.shop.count("tea", 10)
    served.sync(one, "one")
    one.count("tea", 1), served.shop.count("tea", 100)
    one("SELECT * FROM counter_pull(?)", served.shop.path)
    one.count("tea", 1000), served.shop.count("tea", 10000)
    assert served.sync(one, "one").warnings == []
    assert served.shop.content() == one.content() == ({"tea": 11111}, {}) and len(served.shop("SELECT * FROM counter_identity()")) == 1


def test_a_copy_that_is_served_takes_what_its_original_counts(served, counter, shop, tmp_path, modules):
    original, other = shop("original"), shop("other")
    original.count("tea", 1)
    original("VACUUM INTO ?", str(tmp_path / "copy.db"))
    copy = shop("copy")
    original.count("tea", 2), other.count("tea", 4)
    other("SELECT * FROM counter_pull(?)", original.path)
    with serving(modules[1].Application(copy.path)) as url:
        for one in other, original:  # by way of a device that has pulled from it, too
            assert counter.sync_http(one.db, url, counter.add_token(copy.db, one.path)).warnings == []
        assert counter.tokens(copy.db)[0].ids == [original.id()] or counter.tokens(copy.db)[1].ids == [original.id()]
    assert copy.content() == ({"tea": 7}, {})


def test_a_served_file_that_was_restored_says_so_and_gets_its_counts_back_by_an_import(served, counter, shop, tmp_path):
    """A restore that nothing notices: by SQL in the file itself."""
    central, one = served.shop, shop("one")
    central.hit("x", 1, 1)
    central("INSERT INTO hits(hits) VALUES ('optimize')")
    served.sync(one, "one")
    one.hit("x", 1, 10)
    central("CREATE TEMP TABLE backup AS SELECT n FROM hits_cells")
    central.hit("x", 1, 100)
    central("INSERT INTO hits(hits) VALUES ('optimize')")
    one("SELECT * FROM counter_pull(?)", central.path)
    central("UPDATE hits_cells SET n = (SELECT n FROM temp.backup)")
    one.hit("x", 1, 1000)
    for _ in range(2):
        warning, *others = served.sync(one, "one").warnings
        assert warning.startswith(f"{served.url}: the device one sent 1 count under an id of the served file itself"), warning
        assert all(f"{served.url}: the server has another id than before" in other for other in others) and len(others) <= 1
        assert central.content() == ({}, {"x 1": 1011})
    counter.apply(central.db, list(counter.changes(one.db)))
    assert served.sync(one, "one").warnings == [] and one.content() == central.content() == ({}, {"x 1": 1111})


def test_devices_say_that_a_server_was_restored_and_an_import_brings_back_what_it_had_counted(counter, shop, tmp_path, modules):
    path, bak = tmp_path / "central.db", tmp_path / "bak.db"
    devices, central, app = [shop("one"), shop("two")], Shop(counter, path), []
    tokens = [counter.add_token(central.db, one.path) for one in devices]

    def sync_all():
        app.append(modules[1].Application(str(path)))
        try:
            return [counter.sync_http(one.db, url, token).warnings for one, token in zip(devices, tokens)]
        finally:
            for lent in app.pop().pool.waiting:
                lent.close()

    with serving(lambda *request: app[0](*request)) as url:
        devices[0].count("tea", 1)
        assert sync_all() + sync_all() == 4 * [[]]
        central.close()
        shutil.copy(path, bak)
        central = Shop(counter, path)
        central.count("tea", 97)
        assert sync_all() == [[], []] and devices[1].content() == ({"tea": 98}, {})
        central.close()
        os.replace(bak, path)
        devices[0].count("tea", 1000)  # the server takes its new id when it first writes
        for warning, in sync_all():
            assert "the server has another id than before" in warning and "sqlite-counter export FILE | sqlite-counter import SERVED" in warning
        assert sync_all() == [[], []]
        central = Shop(counter, path)
        assert central.content() == ({"tea": 1001}, {})
        counter.apply(central.db, list(counter.changes(devices[1].db)))
        assert central.content() == ({"tea": 1098}, {}) and sync_all() == [[], []]
        central.close()


def test_random_shards_of_own_ids_never_change_what_the_served_file_has_counted(served, counter, shop, chance):
    """Against a model: of each id the highest clock that the file itself, or whoever may, has brought."""
    central, thief = served.shop, shop("thief")
    thief.count("tea", 1)
    line, total, own, shards = counted_batch(counter, thief), 0, [central.id()], {}
    for step in range(EXAMPLES):
        if chance.random() < 0.4:
            n = chance.randrange(-9, 10)
            central.count("tea", n)
            total += n
        if chance.random() < 0.1:
            central("SELECT counter_fork()")
        own.append(central.id())
        ids = {*chance.sample(own, min(len(own), 2)), thief.id()}
        clock, value = chance.randrange(1, 12), chance.randrange(-99, 99)
        status, said = served.ask(forged(thief, line, *((id, clock, value) for id in ids)), "thief")
        assert status == 200, said
        if (clock, value) > shards.get(thief.id(), (0, 0)):
            shards[thief.id()] = clock, value
        assert central.content() == ({"tea": total + shards[thief.id()][1]}, {}), step


# ---- large bodies ----

SHORT = {"table": "hits", "packed": "", "change": "03016e0101", "seq": 1}  # that n counts
IDS = [f"{i:08x}-0000-4000-8000-000000000000" for i in range(200_000)]

LARGE = {
    "changes": (413, lambda id: b"".join(batch_of(id, *[SHORT] * 1000) for _ in range(101))),
    "lines": (413, lambda id: b"\n" * 40_001),
    "sources": (413, lambda id: b"".join(map(batch_of, IDS[:1001]))),
    "empty changes": (400, lambda id: batch_of(id, *[{}] * 5_000_000)),
    "numbers": (400, lambda id: batch_of(id, *[1] * 8_000_000)),
    "empty arrays elsewhere": (200, lambda id: batch_of(id).replace(b'"since"', b'"x":[' + b",".join([b"[]"] * 5_000_000) + b'],"since"')),
    "nothing": (400, lambda id: bytes(2**24)),
}


@contextlib.contextmanager
def peak_of_memory():
    """How much the peak of this process lies above what it had."""
    def size(of):
        with open("/proc/self/status") as status:
            return 1024 * int(re.search(rf"{of}:\s+(\d+) kB", status.read())[1])

    with open("/proc/self/clear_refs", "w") as reset:
        reset.write("5")
    before, peak = size("VmRSS"), []
    yield peak
    peak.append(size("VmHWM") - before)


@pytest.mark.parametrize("kind", LARGE)
def test_a_body_of_more_than_is_taken_at_once_changes_nothing_and_takes_no_memory(modules, counter, shop, kind):
    central, (expected, body) = shop("central"), LARGE[kind]
    central.count("tea", 1)
    token, sent = counter.add_token(central.db, "till"), gzip.compress(body(shop("till").id()))
    with serving(modules[1].Application(central.path)) as url, peak_of_memory() as peak:
        status, _, said = request(url, "POST", sent, Authorization=f"Bearer {token}", Content_Encoding="gzip")
    assert status == expected and (status != 413 or "limit: send them in several parts" in json.loads(said)["error"]), said[:200]
    assert peak[0] < 80 * 2**20, peak
    assert central.content() == ({"tea": 1}, {}) and (status == 200 or counter.tokens(central.db) == [("till", [])])


def test_an_older_python_tells_by_its_class_that_a_body_is_too_large(package):
    database = importlib.import_module("sqlite_counter.database")
    error = sqlite3.DataError("counter_receive: there are more lines than the limit")
    assert not hasattr(error, "sqlite_errorcode") and database.is_refusal(error, database.TOO_BIG) and not database.is_refusal(error)


def test_the_largest_bodies_that_a_client_may_send_are_taken(modules, counter, shop):
    """4 MiB of changes that are as short as any, and a line of one counter that two hundred thousand have counted."""
    central, one = shop("central"), shop("one")
    token, id = counter.add_token(central.db, "till"), one.id()
    one.hit("x", "1")
    [line] = counter.changes(one.db)
    short = len(batch_of(id, *[SHORT] * 1000))
    wide = forged(one, line, *((each, 1, 1) for each in IDS))
    with serving(modules[1].Application(central.path)) as url:
        for body in batch_of(id, *[SHORT] * 1000) * (4 * 2**20 // short), wide:
            status, _, said = request(url, "POST", gzip.compress(body, 1), Authorization=f"Bearer {token}", Content_Encoding="gzip")
            assert status == 200, said
    assert central.content() == ({}, {"x 1": 200_000})


def test_a_token_brings_no_more_than_ten_thousand_sources(served, counter):
    for _ in range(2):
        assert served.ask(b"".join(map(batch_of, IDS[:3])))[0] == 200
    served.shop("WITH others AS (SELECT value FROM json_each(?)) INSERT INTO counter_http_sources SELECT token, value || ' own' FROM "
                "counter_http_tokens, others", json.dumps(IDS[3:10_000]))
    assert served.ask(b"".join(map(batch_of, IDS[9_990:10_000])))[0] == 200
    status, said = served.ask(batch_of(IDS[10_000]))
    assert status == 400 and "10000 sources" in said["error"], said
    assert served.ask(batch_of(IDS[10_000]), "another")[0] == 200
    counter.remove_token(served.shop.db, "test")
    assert served.shop("SELECT count(*) FROM counter_http_sources") == [(1,)]


# ---- what a server sends ----

class Speaks:
    """A server of these lines, behind a first line with these members."""

    def __init__(self, *lines, **members):
        self.lines, self.members = lines, members

    def __call__(self, environ, start_response):
        start_response("200 OK", [])
        by = dict(parse_qsl(environ["QUERY_STRING"]))["by"]
        head = {"format": 1, "more": False, "changes": 0, "skipped": 0, "marks": {by: 0}, "warnings": [], **self.members}
        return [json.dumps(head).encode() + b"\n", *self.lines]


def test_a_server_that_sends_the_changes_of_another_source_is_refused(modules, counter, shop):
    one, other, two = shop("one"), shop("other"), shop("two")
    other.count("tea", 5), two.content()
    lines = "".join(f"{line}\n" for line in counter.changes(other.db)).encode()
    with serving(Speaks(lines, source=one.id())) as url, pytest.raises(counter.SyncError, match=f"^{url}: what it has sent was refused: counter_take: it has changes of '{other.id()}'"):
        counter.sync_http(two.db, url, "x")
    assert two.content() == ({}, {})


@pytest.mark.parametrize("format", [2, "1", 0, None])
def test_a_server_that_speaks_another_format_is_refused(modules, counter, shop, format):
    one = shop("one")
    said = "the answer has the format 2" if format == 2 else "the member format must be a whole number"
    with serving(Speaks(source=one.id(), format=format)) as url, pytest.raises(counter.SyncError, match=f"^{url}: counter_heard: {said}, "):
        counter.sync_http(one.db, url, "x")


def test_no_sentence_has_control_characters_of_a_server(modules, counter, shop):
    one = shop("one")
    one.content()
    source = "7529cd67-394b-3247-8020-f2a7272fc8d9"
    line = json.dumps({"format": 1, "source": source, "since": 0, "upto": 1, "changes": [
        {"table": "a\x9b1m\u2028", "packed": "d1030178030132", "change": "03016e0101", "seq": 1}]}, ensure_ascii=False).encode()
    for said in Speaks(line + b"\n", source=source), Speaks(source=source, warnings=["a\x9b1m\u2028"]), Speaks(source="a\x9b1m\u2028"):
        with serving(said) as url:
            try:
                warning, = counter.sync_http(one.db, url, "x").warnings
            except counter.SyncError as error:
                warning = str(error)
        assert warning.startswith(url) and not re.search("[\x00-\x1f\x7f-\x9f\u2028]", warning), warning


def test_a_server_that_always_has_more_is_asked_until_no_mark_rises(modules, counter, shop):
    one = shop("one")
    one.content()
    with serving(Speaks(source="7529cd67-394b-3247-8020-f2a7272fc8d9", more=True)) as url:
        assert counter.sync_http(one.db, url, "x").warnings == []


def test_whatever_files_that_are_honest_do_nothing_of_them_is_refused(served, counter, shop, chance):
    """Copies of the served file and of each other, new ids, pulls by path, also from the served file and into it."""
    def refused_to(one):
        return [warning for warning in served.sync(one).warnings if "the server has another id than before" not in warning]

    model, shops = Model(), [served.shop, *(shop(i) for i in range(3))]
    for step in range(EXAMPLES):
        one, other, what = chance.choice(shops), chance.choice(shops), chance.random()
        if what < 0.45:
            model.step(one, chance)
        elif what < 0.5 and len(shops) < 7:
            one("VACUUM INTO ?", f"{one.path}.{step}.db")
            shops.append(shop(None, f"{one.path}.{step}.db"))
        elif what < 0.55:
            one("SELECT counter_fork()")
        elif what < 0.7 and one is not other:
            one("SELECT * FROM counter_pull(?)", other.path)
        elif one is not served.shop:
            assert refused_to(one) == []
    for one in 2 * shops[1:]:
        assert refused_to(one) == []
    for one in shops:
        assert one.content() == model.content()
    assert served.shop("SELECT * FROM counter_conflicts") == []
