"""test_npm.py - the npm packages: built twice they are the same, npm installs them, each driver loads
the library by them, and what cannot work is one sentence."""
import io
import json
import os
import pathlib
import re
import shutil
import socket
import tarfile

import pytest

from conftest import ALLOW, CLEAN, HERE, ROOT, VERSION, broken_tool, built, built_twice, check_program, run

NODE_MODULES = ROOT / "build" / "clients" / "node" / "node_modules"  # where tests/clients installs
NAMES = {"linux-x86_64": "linux-x64", "linux-aarch64": "linux-arm64", "linux-s390x": "linux-s390x",
         "linux-musl-x86_64": "linux-x64-musl", "windows-x86_64": "windows-x64"}
NAME = NAMES.get(HERE)

DRIVERS = {
    "better-sqlite3": """
        import Database from "better-sqlite3";
        const open = (file) => new Database(file);
        const all = (db, sql, ...values) => {
            const statement = db.prepare(sql);
            return statement.reader ? statement.all(...values) : statement.run(...values);
        };""",
    "sqlite3": """
        import sqlite3 from "sqlite3";
        const open = (file) => new sqlite3.Database(file);
        const all = (db, sql, ...values) => new Promise((resolve, reject) =>
            db.all(sql, ...values, (error, rows) => (error ? reject(error) : resolve(rows))));""",
    "sqlite": """
        import sqlite3 from "sqlite3";
        import * as sqlite from "sqlite";
        const open = (filename) => sqlite.open({ filename, driver: sqlite3.Database });
        const all = (db, sql, ...values) => db.all(sql, ...values);""",
    "node:sqlite": """
        import { DatabaseSync } from "node:sqlite";
        const open = (file) => new DatabaseSync(file, { allowExtension: true });
        const all = (db, sql, ...values) => db.prepare(sql).all(...values);""",
}
MERGE = """
    import { load } from "sqlite-counter";
    const till = await open("till.db");
    await load(till);
    await all(till, "CREATE TABLE products(sku TEXT PRIMARY KEY, stock INTEGER NOT NULL DEFAULT 0)");
    await all(till, "INSERT INTO products VALUES ('tea', 10)");
    await all(till, "SELECT counter_track('products', 'stock')");
    await all(till, "VACUUM INTO 'office.db'");
    const office = await open("office.db");
    await load(office);
    await load(office);
    await all(till, "UPDATE products SET stock = stock - ?", 1);
    await all(office, "UPDATE products SET stock = stock + ?", 20);
    await all(till, "SELECT * FROM counter_sync('office.db')");
    for (const db of [till, office]) console.log((await all(db, "SELECT stock FROM products"))[0].stock);
"""

MEMORY = """
    import { load } from "sqlite-counter";
    const db = await open(":memory:");
    await load(db);
    await all(db, "CREATE VIRTUAL TABLE hits USING counter(k TEXT PRIMARY KEY, n COUNTER)");
    const count = async (db) => {
        await all(db, "INSERT INTO hits VALUES ('x', 1)");
        const [row] = await all(db, "SELECT id || '|' || fingerprint || '|' || witness AS told FROM counter_identity LIMIT 1");
        console.log(row.told.replaceAll(" ", "_"));
    };
    for (let i = 0; i < 3; i++) await count(db);
    if (db.serialize) {
        const copy = new db.constructor(db.serialize());
        load(copy);
        await count(copy);
    }
"""


def contents(tgz):
    with tarfile.open(fileobj=io.BytesIO(tgz)) as tar:
        return {member.name.removeprefix("package/"): tar.extractfile(member).read() for member in tar if member.isfile()}


@pytest.fixture(scope="module")
def installed(libs, tmp_path_factory):
    if not shutil.which("npm"):
        pytest.skip("no npm")
    folder = tmp_path_factory.mktemp("project")
    built("npm", libs, folder / "tgz")
    (folder / "package.json").write_text('{"private": true}')
    run("npm", "install", "--offline", "--no-audit", "--no-fund", f"--cache={folder / 'cache'}",
        *sorted((folder / "tgz").iterdir()), cwd=folder)
    return folder


@pytest.fixture
def project(installed, tmp_path):
    """A project of its own in which the packages are installed."""
    shutil.copytree(installed / "node_modules", tmp_path / "node_modules", symlinks=True)
    return tmp_path


def has(driver):
    """Whether this node opens a database by it; npm's drivers where they are installed for other tests."""
    name = driver if ":" in driver else str(NODE_MODULES / driver)
    if driver == "sqlite":
        return (NODE_MODULES / driver).exists() and has("sqlite3")
    try:
        run("node", "-e", f"const m = require({json.dumps(name)}); new (m.DatabaseSync ?? m.Database ?? m)(':memory:')")
    except AssertionError:
        return False
    return True


def need(driver, project):
    if not has(driver):
        pytest.skip(f"no {driver} that this node runs")
    for name in {"node:sqlite": [], "sqlite": ["sqlite", "sqlite3"]}.get(driver, [driver]):
        (project / "node_modules" / name).symlink_to(NODE_MODULES / name)


def node(project, program, ok=True, name="program.mjs"):
    (project / name).write_text(program)
    return run("node", "--no-warnings", name, ok=ok, cwd=project)


# ---- building ----

def test_two_builds_have_the_same_bytes(libs, tmp_path):
    one, two = built_twice("npm", libs, tmp_path)
    assert one == two and sorted(one) == [f"sqlite-counter-{VERSION}.tgz", f"sqlite-counter-{NAME}-{VERSION}.tgz"]


def test_each_platform_has_a_package_that_the_first_one_names(all_libs, tmp_path):
    packages = {name: contents(tgz) for name, tgz in built("npm", all_libs, tmp_path).items()}
    described = {name: json.loads(files["package.json"]) for name, files in packages.items()}
    first = described.pop(f"sqlite-counter-{VERSION}.tgz")
    assert first["optionalDependencies"] == {f"sqlite-counter-{name}": VERSION for name in NAMES.values()}
    assert sorted(packages[f"sqlite-counter-{VERSION}.tgz"]) == [
        "LICENSE", "README.md", *sorted([*(path.name for path in (ROOT / "packages" / "npm").glob("*.*s")), "package.json"])]
    for folder, name in NAMES.items():
        of_platform = described[f"sqlite-counter-{name}-{VERSION}.tgz"]
        library = "counter.dll" if folder.startswith("windows") else "counter.so"
        right = library.replace("counter", "counter-folders")
        program = [] if folder.startswith("windows") else ["sqlite-counter"]
        files = packages[f"sqlite-counter-{name}-{VERSION}.tgz"]
        assert sorted(files) == sorted(["LICENSE", library, right, "package.json", *program])
        assert all(files[file] == (all_libs / folder / file).read_bytes() for file in [library, right, *program])
        assert of_platform["version"] == first["version"] == VERSION
        assert (*of_platform["os"], *of_platform["cpu"], *of_platform.get("libc", ["-"])) == {
            "linux-x64": ("linux", "x64", "glibc"), "linux-arm64": ("linux", "arm64", "glibc"), "linux-s390x": ("linux", "s390x", "glibc"),
            "linux-x64-musl": ("linux", "x64", "musl"), "windows-x64": ("win32", "x64", "-")}[name]


# ---- loading ----

@pytest.mark.parametrize("driver", DRIVERS)
def test_two_files_count_and_merge(project, driver):
    need(driver, project)
    assert node(project, DRIVERS[driver] + MERGE) == "29\n29\n"


@pytest.mark.parametrize("driver", DRIVERS)
def test_a_database_in_memory_is_no_copy_and_one_that_was_made_of_it_is(project, driver):
    need(driver, project)
    said = node(project, DRIVERS[driver] + MEMORY).split()
    assert len(said) > 2 and set(said[:3]) == {said[0]} and said[0].endswith("|armed|armed")
    for id, fingerprint, _ in (each.split("|") for each in said[3:]):
        assert fingerprint == "armed" and id != said[0].split("|")[0]


def test_require_and_import_give_the_same(project):
    library = project / "node_modules" / f"sqlite-counter-{NAME}" / "counter.so"
    program = """
        import { createRequire } from "node:module";
        import * as imported from "sqlite-counter";
        import counter from "sqlite-counter";
        const required = createRequire(import.meta.url)("sqlite-counter");
        console.log(counter === required, required.load === imported.load, Object.keys(required).join(), required.getLoadablePath());"""
    names = ("QuestionError,SyncError,addToken,adopt,apply,changes,getLoadablePath,grant,handler,load,makeFolder,mark,merge,plan,removeToken,"
             "replicateAll,rights,syncFolder,syncHttp,tokens")
    assert node(project, program) == f"true true {names} {library}\n"


def test_in_a_packed_electron_app_the_library_is_looked_for_outside_of_the_archive(project):
    packed = project / "app.asar"
    packed.mkdir()
    (project / "node_modules").rename(packed / "node_modules")
    found = node(packed, "import { getLoadablePath } from 'sqlite-counter'; console.log(getLoadablePath());")
    assert found == f"{project}/app.asar.unpacked/node_modules/sqlite-counter-{NAME}/counter.so\n"


def test_the_program_of_the_page_on_languages_counts(project):
    program, = [block for block in re.findall(r"^```js\n(.*?)^```$", (ROOT / "docs" / "languages.md").read_text(), re.M | re.S)
                if '"sqlite-counter"' in block]
    need("better-sqlite3", project)
    assert node(project, program) == re.search(r"  // (.*\n)\Z", program)[1]


def test_the_programs_of_the_packages_readme_count(project):
    """Merging, a folder, a server."""
    merges, folder, server = re.findall(r"^```js\n(.*?)^```$", (ROOT / "packages" / "npm" / "README.md").read_text(), re.M | re.S)
    need("better-sqlite3", project)
    assert "/mnt/office.db" in merges and "/mnt/shared" in folder
    merges = merges.replace("/mnt", str(project))
    node(project, merges, ok=False)  # the office has no file yet
    shutil.copy(project / "till.db", project / "office.db")
    node(project, merges)
    (project / "shared").mkdir()
    folder = folder.replace("/mnt", str(project)).replace("load(db);", """load(db); db.exec("INSERT INTO products VALUES ('tea', 'Tea', 1)");""")
    assert node(project, folder + "console.log(gave, took);") == "1 0\n"
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    assert node(project, server.replace("8080", port) + "server.close(); server.closeAllConnections?.();") == server.rpartition(" // ")[2]


@pytest.mark.parametrize("file, imports", [
    ("program.mts", 'import counter, { getLoadablePath, load } from "sqlite-counter"; const again: typeof load = counter.load;'),
    ("program.cts", 'import counter = require("sqlite-counter"); const { getLoadablePath, load } = counter;')], ids=["import", "require"])
def test_the_types_are_right(project, file, imports):
    tsc = shutil.which("tsc") or NODE_MODULES / ".bin" / "tsc"
    if not pathlib.Path(tsc).exists():
        pytest.skip("no tsc")
    (project / file).write_text(imports + """
        const nothing: void = load({ loadExtension(path: string) { return this; } });
        const later: Promise<void> = load({ loadExtension() { return this; }, parallelize() {} });
        const afterwards: Promise<void> = load({ async loadExtension() {} });
        const path: string = getLoadablePath();
        const db = { loadExtension() { return this; } };
        async function every() {
        for await (const line of counter.changes(db, { since: 5n, own: true, scope: ["store 7", 7, 8n] })) { const text: string = line; }
        const applied: { changes: number; marks: Map<string, bigint> } = await counter.apply(db, ["a"]);
        const mark: bigint = await counter.mark(db, "id", ["store 7"]);
        const folder: { gave: number; took: number; warnings: ({ file: string; message: string } | { table: string; message: string })[] } = await counter.syncFolder(db, "d", { scope: "[]" });
        const http: { gave: number; took: number; skipped: number } = await counter.syncHttp(db, "https://x/sync", "token");
        const serve: (request: { url: string; headers: {} }, response: { headersSent: boolean; writeHead(status: number): void; end(text: string): void }) => unknown =
            counter.handler("path", { maxBody: 1, prefix: "/sync" });
        const merged: counter.Merged = await counter.merge(null, "ours.db", "theirs.db", { add: ["a.b"], theirsWins: ["a"], copies: true });
        const taken: "ours" | "theirs" | "both" | "none" = merged.conflicts[0].taken;
        const questions: string[] = new counter.QuestionError().questions;
        const token: string = await counter.addToken(db, "device");
        await counter.removeToken(db, "device", { to: "other" });
        const ids: string[] = (await counter.tokens(db))[0].ids;
        const status: number | undefined = new counter.SyncError("x").status;
        // @ts-expect-error
        counter.mark(db);
        // @ts-expect-error
        counter.changes(db, { since: true });
        }
        // @ts-expect-error
        load({});
        """)
    run(tsc, "--noEmit", "--strict", "--module", "nodenext", "--target", "es2022", file, cwd=project)


# ---- the program ----

def test_npx_runs_the_program(project):
    check_program("npx", "--offline", "sqlite-counter", cwd=project)
    assert run("npx", "--offline", "sqlite-counter", "check", cwd=project, ok=False).startswith("sqlite-counter: check takes FILE")


def test_a_package_without_the_program_is_told(project):
    os.remove(project / "node_modules" / f"sqlite-counter-{NAME}" / "sqlite-counter")
    said = run("npx", "--offline", "sqlite-counter", "--version", cwd=project, ok=False)
    assert "the package of this platform has no program" in said and said.count("\n") == 1


def test_windows_is_told_that_there_is_no_program(project):
    as_if = 'Object.defineProperty(process, "platform", { value: "win32" });'
    assert node(project, f"{as_if} await import('./node_modules/sqlite-counter/program.cjs');", ok=False) == (
        "sqlite-counter: there is no program for Windows: call syncFolder() or syncHttp(), or run it in WSL\n")


# ---- what cannot work ----

SAYS = """
    import { createRequire } from "node:module";
    const require = createRequire(import.meta.url);
    const says = async (call) => { try { await call(); console.log("nothing"); } catch (error) { console.log(error.message); } };
"""
LOADS = "await says(() => require('sqlite-counter').getLoadablePath());"


@pytest.mark.parametrize("platform, arch, glibc, name", [
    ("darwin", "arm64", "undefined", "darwin-arm64"), ("linux", "x64", "undefined", "linux-x64-musl"),
    ("linux", "riscv64", "'2.36'", "linux-riscv64"), ("win32", "arm64", "undefined", "windows-arm64")])
def test_a_platform_without_a_package_is_told_which_there_are(project, platform, arch, glibc, name):
    as_if = f"""
        Object.defineProperty(process, "platform", {{ value: "{platform}" }});
        Object.defineProperty(process, "arch", {{ value: "{arch}" }});
        process.report.getReport = () => ({{ header: {{ glibcVersionRuntime: {glibc} }} }});"""
    assert node(project, SAYS + as_if + LOADS) == (
        f"sqlite-counter: there is no package for {name}, only for {NAME}; build the library from source and give its path to "
        "loadExtension()\n")


def test_a_platform_package_that_is_not_installed_is_told_with_the_command(project):
    shutil.rmtree(project / "node_modules" / f"sqlite-counter-{NAME}")
    assert node(project, SAYS + LOADS) == (f"sqlite-counter: the package sqlite-counter-{NAME} is not installed; "
                                           "run: npm install --include=optional sqlite-counter; from .tgz files, install both packages "
                                           "by one command\n")


@pytest.mark.parametrize("database, called", [
    ("new (class Knex {})", "Knex"), ("undefined", "undefined"), ("null", "object"), ("Object.create(null)", "object")])
def test_a_driver_without_extension_loading_is_told_which_have_it(project, database, called):
    assert node(project, SAYS + f"await says(() => require('sqlite-counter').load({database}));") == (
        f"sqlite-counter: this {called} has no loadExtension(); give load() a Database of better-sqlite3 or sqlite3, or a "
        "DatabaseSync of node:sqlite from Node 22.13 on\n")


# As node:sqlite does, in the versions that have it.
SYNC = """
    class DatabaseSync {
        constructor(allowed) { this.allowed = this.enabled = allowed; }
        enableLoadExtension(enabled) {
            if (enabled && !this.allowed) throw new Error("Cannot enable extension loading because it was disabled");
            this.enabled = enabled;
        }
        loadExtension(path) {
            if (!this.enabled) throw new Error("extension loading is not allowed");
            if (this.broken) throw new Error("broken");
            console.log("loaded");
        }
    }
    const { load } = require("sqlite-counter"), db = new DatabaseSync(true);
"""


def test_a_database_of_node_loads_extensions_afterwards_if_it_did_so_before(project):
    assert node(project, SAYS + SYNC + """
        console.log(load(db), db.enabled);
        db.enabled = false;
        console.log(load(db), db.enabled);
        db.broken = true;
        await says(() => load(db));
        console.log(db.enabled);
        """) == "loaded\nundefined true\nloaded\nundefined false\nbroken\nfalse\n"


def test_a_database_of_node_that_must_not_load_extensions_is_told_how_to_open_it(project):
    said = "sqlite-counter: this database must not load extensions; open it by new DatabaseSync(path, { allowExtension: true })\n"
    assert node(project, SAYS + SYNC + "await says(() => load(new DatabaseSync(false)));") == said
    if has("node:sqlite"):
        assert node(project, SAYS + "const { DatabaseSync } = require('node:sqlite');"
                    "await says(() => require('sqlite-counter').load(new DatabaseSync(':memory:')));") == said


def test_an_error_of_an_asynchronous_driver_rejects_the_promise(project):
    assert node(project, SAYS + """
        const db = { parallelize() {}, loadExtension(path, callback) { setTimeout(callback, 1, this.error); return this; } };
        await says(() => require("sqlite-counter").load(db));
        db.error = new Error("broken");
        await says(() => require("sqlite-counter").load(db));
        """) == "nothing\nbroken\n"


def test_a_driver_whose_methods_give_promises_is_waited_for(project):
    """As `sqlite` does, whose parallelize() only throws, and which calls nothing back."""
    assert node(project, SAYS + """
        const db = { parallelize() { throw new Error("not implemented"); }, async loadExtension(path) { if (this.error) throw this.error; } };
        console.log(await require("sqlite-counter").load(db));
        db.error = new Error("broken");
        await says(() => require("sqlite-counter").load(db));
        """) == "undefined\nbroken\n"


# As sqlite3 does: a database that is not open keeps what it is asked for ever.
CLOSED = """
    import { EventEmitter } from "node:events";
    class Database extends EventEmitter {
        open = false;
        parallelize() {}
        loadExtension(path, callback) {
            this.once("open", () => setImmediate(callback, null));
            return this;
        }
    }
    const { load } = require("sqlite-counter"), db = new Database();
"""


def test_a_database_that_could_not_be_opened_rejects_the_promise(project):
    assert node(project, SAYS + CLOSED + """
        setImmediate(() => db.emit("error", new Error("cannot open")));
        await says(() => load(db));
        console.log(db.listenerCount("error"));
        const later = globalThis.setTimeout;
        globalThis.setTimeout = (call, milliseconds) => later(call, milliseconds / 100);
        await says(() => load(db));  // it was told to another
        """) == ("cannot open\n0\nsqlite-counter: the database is not open; the callback of its constructor is told why\n")


def test_a_database_that_is_being_opened_is_waited_for(project):
    assert node(project, SAYS + CLOSED + """
        setImmediate(() => { db.open = true; db.emit("open"); });
        await says(() => load(db));
        console.log(db.listenerCount("error"), db.listenerCount("open"), process.getActiveResourcesInfo().includes("Timeout"));
        """) == "nothing\n0 0 false\n"


def test_a_file_of_sqlite3_that_cannot_be_opened_rejects_the_promise(project):
    need("sqlite3", project)
    assert node(project, SAYS + """
        const { Database } = require("sqlite3"), { load } = require("sqlite-counter");
        await says(() => load(new Database("nowhere/main.db")));
        const db = new Database("nowhere/main.db", () => {});
        await says(() => load(db));
        """) == ("SQLITE_CANTOPEN: unable to open database file\n"
                 "sqlite-counter: the database is not open; the callback of its constructor is told why\n")


@pytest.mark.parametrize("tool", ["tar", "gzip"])
def test_a_tool_that_fails_fails_the_build(libs, tmp_path, tool):
    broken_tool(tmp_path, tool)
    run(ROOT / "packages" / "npm" / "build", libs, tmp_path / "out", ok=False,
        env={**CLEAN, **ALLOW, "PATH": f"{tmp_path / 'bin'}:{CLEAN['PATH']}"})
    assert list((tmp_path / "out").iterdir()) == []
