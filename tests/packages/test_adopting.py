"""test_adopting.py - an existing application is adopted by the calls of Python, Node and Django, which tell what the library and the
program say."""
import os
import shutil
import sqlite3

import pytest

from conftest import CLEAN, PROGRAM, ROOT, run
from test_npm import need, node
from test_npm_batches import packages, project  # noqa: F401
from test_python_commands import command  # noqa: F401

SCHEMAS = ROOT / "tests" / "schemas"


def application(path, name):
    db = sqlite3.connect(path, isolation_level=None)
    db.executescript((SCHEMAS / f"{name}.sql").read_text())
    db.close()
    return path


@pytest.fixture(autouse=True)
def beside(monkeypatch, tmp_path):
    """The program in PATH, as where no wheel was installed."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "sqlite-counter").symlink_to(PROGRAM)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")


def test_python_plans_and_adopts(counter, tmp_path):
    path = application(tmp_path / "app.db", "rails")
    db = sqlite3.connect(path, isolation_level=None)
    counter.load(db)
    matters = counter.plan(db)
    assert ("posts", "replicate", "id", "SQLite gives out the key id", "counter_replicate('posts', 'keys=spread')") in matters
    assert [one.column for one in matters if one.kind == "counter"] == ["comments_count", "sign_in_count"]
    with pytest.raises(counter.SyncError, match="memberships: it has no PRIMARY KEY, and no two rows are equal in group_id, user_id"):
        counter.replicate_all(db)
    with pytest.raises(counter.SyncError, match="^.*app.db: --leave lost: there is no such table$"):
        counter.adopt(path, leave=["lost"])
    dry = counter.adopt(path, dry_run=True)
    assert not [one for one in counter.plan(db) if one.kind == "done"]
    adopted = counter.adopt(path, counters=["posts.comments_count"], leave=["tags"])
    assert {one.table for one in dry} == {one.table for one in adopted}
    assert ("posts_tags", "key", "post_id, tag_id") in adopted and ("tags", "left", "id") in adopted
    assert db.execute("SELECT state FROM counter_tracked WHERE column_name = 'comments_count'").fetchall() == [("tracked",)]
    assert counter.replicate_all(db, "posts.comments_count") == 1  # tags
    assert counter.replicate_all(db, leave=["tags"]) == 0
    db.close()


def test_python_says_that_there_is_no_program(counter, tmp_path, monkeypatch):
    application(tmp_path / "app.db", "rails")
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setattr("sysconfig.get_path", lambda name: "/nowhere")  # make install may have put one there
    monkeypatch.setattr("sys.executable", "/nowhere/python3")
    with pytest.raises(counter.SyncError, match="^the program sqlite-counter is neither beside Python nor in PATH"):
        counter.adopt(tmp_path / "app.db")


def test_python_says_that_the_extension_is_missing(counter, tmp_path):
    db = sqlite3.connect(tmp_path / "app.db")
    with pytest.raises(counter.SyncError, match=r"call sqlite_counter.load\(\) for the connection first"):
        counter.plan(db)
    db.close()


@pytest.mark.parametrize("driver", ["better-sqlite3", "node:sqlite", "sqlite3"])
def test_node_plans_and_adopts(project, driver):  # noqa: F811
    need(driver, project)
    application(project / "app.db", "rails")
    (project / "adopting.mjs").write_text("""
import assert from "assert";
import { adopt, load, plan, replicateAll } from "sqlite-counter";
import { all, close, open } from "./common.mjs";
const db = await open("app.db", "SELECT 1");
const found = (await plan(db)).find(({ table, kind }) => table === "posts" && kind === "replicate");
assert.deepStrictEqual({ ...found }, { table: "posts", kind: "replicate", column: "id", finding: "SQLite gives out the key id",
  remedy: "counter_replicate('posts', 'keys=spread')" });
await assert.rejects(replicateAll(db), /memberships: it has no PRIMARY KEY/);
await assert.rejects(replicateAll(db, { leave: "tags" }), /leave must be an array of texts, not tags/);
await assert.rejects(adopt("app.db", { leave: ["lost"] }), { name: "SyncError", message: /app.db: --leave lost: there is no such table/ });
const dry = await adopt("app.db", { dryRun: true });
assert.ok(!(await plan(db)).some(({ kind }) => kind === "done"));
const adopted = await adopt("app.db", { counters: ["posts.comments_count"], leave: ["tags"] });
assert.strictEqual(dry.length, adopted.length);
assert.ok(adopted.some(({ table, kind, key }) => table === "posts_tags" && kind === "key" && key === "post_id, tag_id"));
assert.strictEqual(await replicateAll(db, { counters: ["posts.comments_count"] }), 1);
assert.strictEqual(await replicateAll(db, { leave: ["tags"] }), 0);
await close(db);
console.log("held");
""")
    assert run("node", "--no-warnings", "adopting.mjs", driver, cwd=project, env=CLEAN).endswith("held\n")


def test_django_plans_and_adopts(package, tmp_path):
    pytest.importorskip("django")
    application(tmp_path / "dj.db", "django")
    shutil.copy(tmp_path / "dj.db", tmp_path / "other.db")
    (tmp_path / "settings.py").write_text(
        'SECRET_KEY = "x"\nINSTALLED_APPS = ["sqlite_counter.django"]\nUSE_TZ = False\n'
        'DATABASES = {"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": "dj.db"},'
        ' "other": {"ENGINE": "django.db.backends.sqlite3", "NAME": "other.db"}}\n')
    env = {**CLEAN, "PATH": os.environ["PATH"], "PYTHONPATH": f"{package}:{tmp_path}", "DJANGO_SETTINGS_MODULE": "settings",
           "PYTHONDONTWRITEBYTECODE": "1"}

    def manage(*words, **options):
        return run("/usr/bin/python3", "-m", "django", *words, cwd=tmp_path, env=env, **options)

    told = manage("counter_plan").splitlines()
    assert "replicate\tlibrary_item(id): SQLite gives out the key id: counter_replicate('library_item', 'keys=spread')" in told
    assert any(line.startswith("each file\tauth_permission: ") for line in told)
    assert "there is no table for the counter 'lost.n'" in manage("counter_adopt", "--counter", "lost.n", ok=False)
    manage("counter_adopt", "--dry-run")
    assert manage("counter_plan").splitlines() == told
    adopted = manage("counter_adopt", "--counter", "library_item.stock", "--leave", "django_admin_log").splitlines()
    assert "library_item\treplicate\tid" in adopted and "django_admin_log\tleft\tid" in adopted
    assert "done\tlibrary_item(id): it is replicated" in manage("counter_plan").splitlines()
    assert manage("counter_plan", "--database", "other").splitlines() == told
