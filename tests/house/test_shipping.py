"""test_shipping.py - what is installed, made into one file and told to packagers is the library
that was tested."""
import json
import os
import pathlib
import re
import shutil
import sqlite3
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXTENSION = ROOT / "build" / "counter"
FLAGS = ["-std=c11", "-fPIC", "-fvisibility=hidden", "-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion", "-Werror"]
INSTALLED = ["bin/sqlite-counter", "include/sqlite-counter/counter.h", "include/sqlite-counter/counter_cell.h", "lib/libcounter.a",
             "lib/pkgconfig/sqlite-counter.pc", "lib/sqlite3/counter-folders.so", "lib/sqlite3/counter-preload.so", "lib/sqlite3/counter.so",
             "share/man/man1/sqlite-counter.1"]


def run(*command, **options):
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, **options)
    assert done.returncode == 0, f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}"
    return done.stdout


def make(*arguments, cwd=ROOT):
    """A make of its own: it takes no part in the one that runs the tests."""
    own = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")}
    return run("make", "-s", "-j1", *arguments, cwd=cwd, env=own)


def files_below(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if not path.is_dir())


def version():
    return re.search(r'COUNTER_VERSION "(.*)"', (ROOT / "include" / "counter.h").read_text())[1]


def load(path):
    db = sqlite3.connect(":memory:")
    db.enable_load_extension(True)
    db.load_extension(str(path))
    return db


# ---- make install ----

PROGRAM = r"""
#include "counter.h"
#include "counter_cell.h"

static int is_four(void *answer, int n, char **values, char **names)
{
    (void)names;
    *(int *)answer = n == 1 && sqlite3_stricmp(values[0], "4") == 0;
    return 0;
}

int main(void)
{
    sqlite3 *db;
    int four = 0;
    if (sqlite3_open(":memory:", &db) || sqlite3_counter_init(db, NULL, NULL)) return 1;
    sqlite3_exec(db, "CREATE VIRTUAL TABLE v USING counter(k PRIMARY KEY, n COUNTER);"
                     "INSERT INTO v VALUES (1, 1), (1, 3); SELECT n FROM v", is_four, &four, NULL);
    ctr_cell untouched = ctr_cell_untouched();
    return sqlite3_close(db) || !four || !ctr_cell_is_untouched(&untouched);
}
"""


def test_install_puts_eight_files_below_destdir_and_prefix_and_uninstall_takes_them_away(tmp_path):
    where = [f"DESTDIR={tmp_path}/a root", "PREFIX=/opt/counter"]
    make("install", *where)
    root = tmp_path / "a root" / "opt" / "counter"
    assert files_below(tmp_path) == [f"a root/opt/counter/{name}" for name in INSTALLED]
    assert (root / "lib/sqlite3/counter.so").read_bytes() == EXTENSION.with_suffix(".so").read_bytes()
    assert run(root / "bin/sqlite-counter", "--version").startswith(f"sqlite-counter {version()}, SQLite ")
    told = (root / "lib/pkgconfig/sqlite-counter.pc").read_text()
    assert "prefix=/opt/counter\n" in told and str(tmp_path) not in told and "@" not in told
    make("uninstall", *where)
    assert files_below(tmp_path) == []


@pytest.mark.skipif(not shutil.which("pkg-config"), reason="no pkg-config")
def test_a_program_is_built_with_what_pkg_config_tells_about_an_installed_library(tmp_path):
    make("install", f"PREFIX={tmp_path}/usr")
    at = {**os.environ, "PKG_CONFIG_PATH": f"{tmp_path}/usr/lib/pkgconfig"}
    assert run("pkg-config", "--modversion", "sqlite-counter", env=at).strip() == version()
    told = run("pkg-config", "--cflags", "--libs", "sqlite-counter", env=at).split()
    (tmp_path / "program.c").write_text(PROGRAM)
    for compiler in filter(shutil.which, ["gcc", "clang"]):
        run(compiler, *FLAGS, tmp_path / "program.c", *told, "-o", tmp_path / "program")
        run(tmp_path / "program")

    loadable = run("pkg-config", "--variable=loadable", "sqlite-counter", env=at).strip()
    shown = run("sqlite3", "-batch", ":memory:", f".load '{loadable.removesuffix('.so')}'", "SELECT counter_version();")
    assert shown.strip() == version()


# ---- make amalgamation ----

@pytest.fixture(scope="module")
def one_file(tmp_path_factory):
    """The two files and what gcc makes of them, alone in a folder: to be loaded, and to be linked.
    check-warnings has those of its optimizer."""
    make("amalgamation")
    folder = tmp_path_factory.mktemp("one")
    for name in "counter.c", "counter.h":
        shutil.copy(ROOT / "build" / "amalgamation" / name, folder)
    run("gcc", *FLAGS, "-DSQLITE_CORE", "-c", "counter.c", "-o", "counter.o", cwd=folder)
    run("gcc", *FLAGS, "-shared", "-Wl,--no-undefined", "counter.c", "-luuid", "-o", "counter.so", cwd=folder)
    return folder


def defined(*arguments):
    return sorted(line.split()[2] for line in run("nm", "--defined-only", *arguments).splitlines())


@pytest.mark.long
def test_the_amalgamation_is_two_files_that_need_none_of_ours(one_file):
    for name in "counter.c", "counter.h":
        text = (one_file / name).read_text()
        assert set(re.findall(r'^\s*#\s*include\s+"(.*)"', text, re.M)) <= {"counter.h"}
        guards = re.findall(r"^#ifndef (\w+_H)$", text, re.M)
        assert guards and len(guards) == len(set(guards))


@pytest.mark.long
@pytest.mark.skipif(not shutil.which("clang"), reason="no clang")
@pytest.mark.parametrize("kind", ["-USQLITE_CORE", "-DSQLITE_CORE"])
def test_clang_compiles_the_amalgamation_without_a_warning(one_file, kind):
    run("clang", *FLAGS, kind, "-fsyntax-only", one_file / "counter.c")


@pytest.mark.long
def test_the_amalgamation_is_loaded_and_exports_only_the_entry_points(one_file):
    assert load(one_file / "counter").execute("SELECT counter_version()").fetchone() == (version(),)
    assert defined("-D", one_file / "counter.so") == ["sqlite3_counter_folders_init", "sqlite3_counter_init", "sqlite3_extension_init"]


@pytest.mark.long
def test_the_amalgamation_has_no_external_names_but_those_of_its_header(one_file):
    names, header = defined("-g", one_file / "counter.o"), (one_file / "counter.h").read_text()
    assert "sqlite3_counter_init" in names
    assert [name for name in names if not re.search(rf"\b{name}\(", header)] == []


@pytest.mark.long
def test_the_amalgamation_makes_ids_without_libuuid(one_file, tmp_path):
    """Here by the scripts about them; make test-platforms plays all with a library that has no libuuid."""
    runner = [ROOT / "tests" / "sql" / f"{name}.c" for name in ("run_process", "script", "stage", "system")]
    run("gcc", *FLAGS, "-DSQLITE_CORE", "-DCOUNTER_NO_LIBUUID",
        *runner, one_file / "counter.c", f"-I{one_file}", "-lsqlite3", "-o", tmp_path / "run_process")
    scripts = [ROOT / "tests" / "sql" / f"{name}.sql" for name in ("identity", "replicated", "sync", "table")]
    said = run(tmp_path / "run_process", *scripts, cwd=ROOT)
    assert re.search(r"^[1-9]\d{2,} passed, 0 failed$", said, re.M)


# ---- make packages ----

@pytest.mark.long
def test_the_lines_of_the_readme_build_and_install_packages(tmp_path):
    lines = re.search(r"^```sh\n(.*?)^```$", (ROOT / "README.md").read_text(), re.M | re.S)[1].splitlines()
    commands = [line.partition("#")[0].strip() for line in lines]
    assert [command.split()[0] for command in commands] == ["make", "npm", "pip"]
    make(*commands[0].split()[1:], "PACKAGED_O=-O0")
    assert "libuuid" not in run("objdump", "-p", *(ROOT / "build" / "packages" / "libs").glob("*/*"))
    (tmp_path / "build").symlink_to(ROOT / "build")
    own = {**os.environ, "PIP_NO_INDEX": "1", "PIP_TARGET": str(tmp_path / "python"), "npm_config_offline": "true"}
    if shutil.which("npm"):
        run("sh", "-c", commands[1], cwd=tmp_path, env=own)
        assert run("node", "-p", "require('sqlite-counter').getLoadablePath()", cwd=tmp_path).strip().endswith("counter.so")
        assert run("npx", "sqlite-counter", "--version", cwd=tmp_path, env=own).startswith(f"sqlite-counter {version()}, SQLite ")
    if subprocess.run(["/usr/bin/python3", "-m", "pip", "--version"], capture_output=True).returncode == 0:
        run("sh", "-c", f"/usr/bin/python3 -m {commands[2]}", cwd=tmp_path, env=own)
        assert (tmp_path / "python" / "sqlite_counter" / "counter.so").exists()
        assert run(tmp_path / "python" / "bin" / "sqlite-counter", "--version").startswith(f"sqlite-counter {version()}, SQLite ")


# ---- the same bytes ----

@pytest.mark.long
def test_two_builds_in_two_folders_have_the_same_bytes(tmp_path):
    built = []
    for name in "one", "another, with a longer name":
        folder = tmp_path / name
        folder.mkdir()
        for part in "Makefile", "ext", "cli", "include", "third_party", "sql", "tools", "tests":
            (shutil.copytree if (ROOT / part).is_dir() else shutil.copy)(ROOT / part, folder / part)
        make("CFLAGS=-std=c11 -g -O0 -fPIC -fvisibility=hidden", "all", "amalgamation", cwd=folder)
        built.append([(folder / "build" / product).read_bytes() for product in
                      ("counter.so", "counter-folders.so", "libcounter.a", "counter-preload.so", "sqlite-counter", "amalgamation/counter.c", "amalgamation/counter.h")])
    assert built[0] == built[1]


# ---- what `make` tells of itself ----

TOLD = re.findall(r"^#   make (\w+) .*?\b([A-Z]+)=(\d+)", (ROOT / "Makefile").read_text(), re.M)
assert TOLD


@pytest.mark.parametrize("target, name, value", TOLD)
def test_a_target_does_what_is_told_where_nothing_else_is_asked_for(target, name, value):
    assert re.search(rf"\b{value}\b", make("-n", target))
    assert re.search(r"\b4321\b", make("-n", target, f"{name}=4321"))


# ---- sqlpkg.json ----

def test_the_package_spec_tells_every_symbol():
    spec = json.loads((ROOT / "sqlpkg.json").read_text())
    names = "SELECT name FROM pragma_function_list UNION SELECT name FROM pragma_module_list"
    before = {name for name, in sqlite3.connect(":memory:").execute(names)}
    db = load(EXTENSION)
    ours = sorted({name for name, in db.execute(names)} - before)
    assert spec["symbols"] == ours and "counter" in ours and "counter_inc" in ours
    assert db.execute("SELECT counter_version()").fetchone() == (version(),)
    assert spec["license"] == (ROOT / "LICENSE").read_text().split()[0]
    assert spec["owner"] and spec["name"]
