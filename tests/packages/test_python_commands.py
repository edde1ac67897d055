"""test_python_commands.py - python -m sqlite_counter, and the view and commands of Django, which docs/recipes/django.md plays:
what they print, what they refuse, and how they end."""
import contextlib
import json
import os
import re
import sqlite3
import subprocess
import textwrap

import pytest

from conftest import CLEAN
from servers import PYTHON, serving
from shops import Shop
from test_python import need


@pytest.fixture
def shop(counter, tmp_path):
    one = Shop(counter, tmp_path / "one.db")
    one.count("tea", 5)
    yield one
    one.close()


def command(package, folder, *words, **env):
    """Status, what it prints and says."""
    done = subprocess.run([PYTHON, "-m", "sqlite_counter", *map(str, words)], cwd=folder, capture_output=True, text=True, timeout=60,
                          env={**CLEAN, "PYTHONPATH": str(package), "PYTHONDONTWRITEBYTECODE": "1", **env})
    return done.returncode, done.stdout, done.stderr


def test_tokens_are_made_listed_and_removed(package, counter, shop, tmp_path):
    status, token, _ = command(package, tmp_path, "token", "one.db", "ann")
    assert status == 0 and re.fullmatch(r"[\w-]{43}\n", token)
    command(package, tmp_path, "token", "one.db", "bob")
    shop("INSERT INTO counter_http_ids SELECT 'some id', token FROM counter_http_tokens WHERE device = 'ann'")
    assert command(package, tmp_path, "tokens", "one.db") == (0, "ann\tsome id\nbob\n", "")
    assert command(package, tmp_path, "remove-token", "one.db", "ann", "--to", "bob") == (0, "", "")
    assert counter.tokens(shop.db) == [("bob", ["some id"])]
    assert command(package, tmp_path, "remove-token", "one.db", "ann") == (
        1, "", "sqlite_counter: this file has no token of that text, no device of that name and no such id: tokens() lists the devices\n")


def test_a_sync_goes_to_a_server_a_folder_or_a_file(package, counter, shop, tmp_path):
    from sqlite_counter.server import Application
    central = Shop(counter, tmp_path / "central.db")
    token = counter.add_token(central.db, "one")
    with serving(Application(central.path)) as url:
        assert command(package, tmp_path, "sync", "one.db", url, SQLITE_COUNTER_TOKEN=token) == (0, "1 change given, 1 taken\n", "")
        assert command(package, tmp_path, "sync", "one.db", url) == (
            1, "", "sqlite_counter: a server asks for a token: give a file with it by --token-file, or set SQLITE_COUNTER_TOKEN\n")
        assert command(package, tmp_path, "sync", "one.db", url, "--token-file", "no") == (
            1, "", "sqlite_counter: no: No such file or directory\n")
    assert command(package, tmp_path, "folder", "folder") == (0, "", "")
    of_another = tmp_path / "folder" / "44444444-4444-4444-8444-444444444444"
    of_another.mkdir()
    (of_another / f"{0:020}-{9:020}.gz").write_bytes(b"half a file")
    status, said, warned = command(package, tmp_path, "sync", "one.db", "folder")
    assert (status, said) == (1, "1 change given, 0 taken\n") and warned.startswith("sqlite_counter: ") and "it is cut short or damaged" in warned
    central.count("tea")
    assert command(package, tmp_path, "sync", "one.db", "central.db")[:2] == (0, "hits: 0 rows changed, products: 1 rows changed\n")
    assert shop.content() == central.content() == ({"tea": 6}, {})
    central.close()


@pytest.mark.parametrize("inside", [False, True])
def test_a_file_that_has_nothing_takes_another_in_parts_and_in_a_transaction_at_once(counter, tmp_path, monkeypatch, inside):
    from sqlite_counter import anywhere
    big, new = Shop(counter, tmp_path / "big.db"), Shop(counter, tmp_path / "new.db")
    big("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000) INSERT INTO products(sku, stock) SELECT hex(randomblob(8)), i FROM n")
    seen, look = [], sqlite3.connect(tmp_path / "new.db")
    monkeypatch.setattr(anywhere.time, "sleep", lambda _: seen.append(look.execute("SELECT count(*) FROM products").fetchone()[0]))
    if inside:
        new("ATTACH ? AS office", big.path)
        new("BEGIN")
    assert anywhere.sync(new.db, "office" if inside else big.path).said == "hits: 0 rows changed, products: 20000 rows changed"
    if inside:
        new("COMMIT")
    assert new.content() == big.content()
    assert seen == sorted(set(seen)) and (not seen if inside else seen and 0 < seen[0] <= seen[-1] < 20000)
    look.close()


def test_a_file_without_tables_takes_a_replicated_one_from_nobody_and_counters_from_whoever_syncs(counter, tmp_path):
    from sqlite_counter import anywhere
    with contextlib.closing(sqlite3.connect(tmp_path / "one.db", isolation_level=None)) as one, \
            contextlib.closing(sqlite3.connect(tmp_path / "empty.db")) as empty:
        counter.load(one)
        one.execute("CREATE VIRTUAL TABLE hits USING counter(page PRIMARY KEY, n COUNTER)")
        one.execute("INSERT INTO hits VALUES ('/', 3)")
        assert anywhere.sync(one, str(tmp_path / "empty.db")).said == "hits: 1 rows changed"
        counter.load(empty)
        assert empty.execute("SELECT * FROM hits").fetchall() == [("/", 3)]
        empty.execute("DROP TABLE hits")
        one.execute("DROP TABLE hits")
        with pytest.raises(counter.SyncError, match="counter_sync: neither .* nor main has counter tables"):
            anywhere.sync(one, str(tmp_path / "empty.db"))


def test_what_is_no_file_is_a_sentence(package, tmp_path):
    assert command(package, tmp_path, "tokens", "no.db") == (1, "", "sqlite_counter: no.db: there is no such file\n")
    (tmp_path / "text.db").write_text("no database" * 100)
    status, _, said = command(package, tmp_path, "token", "text.db", "x")
    assert status == 1 and said == "sqlite_counter: file is not a database\n"
    assert not os.path.exists(tmp_path / "no.db") and command(package, tmp_path)[0] == 2


# ---- Django ----

DJANGO = textwrap.dedent("""
    import asyncio, json, sys, django
    from django.conf import settings
    from django.urls import path
    from sqlite_counter.django.views import serve
    urlpatterns = [path("sync", serve), path("sync/", serve), path("other", serve, {"database": "other"}), path("typo", serve, {"database": "typo"})]
    settings.configure(SECRET_KEY="-", ROOT_URLCONF="__main__", INSTALLED_APPS=["sqlite_counter.django"], ALLOWED_HOSTS=["*"],
                       MIDDLEWARE=["django.middleware.csrf.CsrfViewMiddleware"],
                       DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": "one.db", "ATOMIC_REQUESTS": True},
                                  "typo": {"ENGINE": "django.db.backends.sqlite3", "NAME": "noe.db"},
                                  "other": {"ENGINE": "django.db.backends.dummy"}})
    django.setup()
    from django.core.management import CommandError, call_command
    from django.test import AsyncClient, Client
    import io
    out = io.StringIO()
    call_command("counter_token", "ann", stdout=out)
    token = out.getvalue().strip()
    batch = open("batch").read()
    told = []
    client = Client(enforce_csrf_checks=True)
    wsgi = {"HTTP_AUTHORIZATION": "Bearer " + token}
    post = lambda query, body: client.post("/sync" + query, body, "application/x-ndjson", **wsgi)
    lines = lambda answer: b"".join(answer.streaming_content).splitlines()
    told.append(client.post("/sync").status_code)
    told.append(client.get("/sync", **wsgi).status_code)
    told.append(json.loads(lines(post("", batch))[0])["changes"])
    told.append(post("", "half").status_code)
    told.append(len(lines(post("/?since=0", ""))))
    async def twice():
        client = AsyncClient(enforce_csrf_checks=True)
        answer = await client.post("/sync", batch, "application/x-ndjson", AUTHORIZATION="Bearer " + token)
        return answer.status_code, (await client.post("/sync")).status_code
    told.append(asyncio.run(twice()))
    for words in ("counter_sync", "nowhere/"), ("counter_sync", "nowhere"), ("counter_token", "ann"), ("counter_token", "--to", "ann"), ("counter_sync", "x", "--database", "other"):
        try:
            call_command(*words)
        except CommandError as error:
            told.append(str(error))
    typo = client.post("/typo", **wsgi)
    told.append([typo.status_code, typo.json()])
    print(json.dumps(told))
    """)


def test_django_serves_its_file_under_wsgi_and_asgi(package, counter, shop, tmp_path):
    need("django")
    two = Shop(counter, tmp_path / "two.db")
    two.count("jam", 2)
    (tmp_path / "batch").write_text("\n".join(counter.changes(two.db, own=True)))
    two.close()
    done = subprocess.run([PYTHON, "-W", "ignore", "-c", DJANGO], cwd=tmp_path, capture_output=True, text=True, timeout=60,
                          env={**CLEAN, "PYTHONPATH": str(package), "PYTHONDONTWRITEBYTECODE": "1"})
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told[:6] == [401, 405, 1, 400, 2, [200, 401]]
    assert told[6] == "nowhere/: there is no such folder: make it once, by make_folder(), or mount what it is on"
    assert told[7] == "nowhere: there is no such file, and no such directory: make that once, by python -m sqlite_counter folder"
    assert told[8].startswith("ann has a token already") and told[9].startswith("counter_token takes DEVICE, or --remove DEVICE")
    assert shop.content() == ({"jam": 2, "tea": 5}, {})
    assert told[10] == "the database other is of unknown, and counters are of SQLite: name another alias"
    assert told[11] == [503, {"error": "the file is not there: try again"}] and not (tmp_path / "noe.db").exists()
