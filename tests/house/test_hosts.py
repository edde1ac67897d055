"""test_hosts.py - the README's programs run in each host that is there, and print what they say
that they print."""
import os
import pathlib
import re
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
MAIN = r"""
int main(void)
{
    sqlite3 *db;
    char *text = NULL;
    %s
    if (sqlite3_open("main.db", &db) != SQLITE_OK) return 1;
    %s
    sqlite3_stmt *row;
    if (sqlite3_prepare_v2(db, "SELECT counter_version()", -1, &row, NULL) != SQLITE_OK) return 2;
    if (sqlite3_step(row) == SQLITE_ROW) printf("%%s\n", sqlite3_column_text(row, 0));
    sqlite3_finalize(row);
    (void)text;
    return sqlite3_close(db);
}
"""


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```$", (ROOT / "README.md").read_text(), re.M | re.S)


def run(folder, *command, **options):
    done = subprocess.run(list(map(str, command)), cwd=folder, capture_output=True, text=True, timeout=60, **options)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr
    return done.stdout.rstrip("\n")


def has(*command):
    return shutil.which(command[0]) and subprocess.run(command, capture_output=True).returncode == 0


def promised(program):
    """The comment behind the last line: what it prints."""
    return re.search(r"  ;?(?:#|//) (.*)\n\Z", program)[1]


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "build").symlink_to(ROOT / "build")
    (tmp_path / "include").symlink_to(ROOT / "include")
    return tmp_path


# Name, language of the block, what tells it from others, how it is run, what fails without it.
HOSTS = [
    ("python", "python", "", ["/usr/bin/python3"], ["/usr/bin/python3", "-c", "import sqlite3; sqlite3.Connection.load_extension"]),
    ("perl", "perl", "", ["perl"], ["perl", "-MDBD::SQLite", "-e", "1"]),
    ("tcl", "tcl", "", ["tclsh"], ["sh", "-c", "echo 'if {[catch {package require sqlite3}]} {exit 1}' | tclsh"]),
    ("node-sqlite3", "js", 'require("sqlite3")', ["node"], ["node", "-e", "require('sqlite3')"]),
    ("better-sqlite3", "js", 'require("better-sqlite3")', ["node"], ["node", "-e", "require('better-sqlite3')(':memory:')"]),
    ("php", "php", "", ["php", "-d", f"sqlite3.extension_dir={(ROOT / 'build').resolve()}"],
     ["php", "-r", "new SQLite3(':memory:');"]),
]


@pytest.mark.parametrize("host, language, words, command, check", HOSTS, ids=[host[0] for host in HOSTS])
def test_the_program_of_the_readme_counts(folder, host, language, words, command, check):
    program, = [block for block in blocks(language) if words in block]
    if not has(*check):
        pytest.skip(f"no {host}")
    (folder / f"program.{language}").write_text(program)
    assert run(folder, *command, f"program.{language}") == promised(program)
    table = "SELECT hits FROM page_views"
    assert run(folder, "sqlite3", "-batch", "main.db", ".load build/counter", table) == "1"


def version():
    return re.search(r'COUNTER_VERSION "(.*)"', (ROOT / "include" / "counter.h").read_text())[1]


def test_the_c_fragments_of_the_readme_load_and_link(folder):
    loaded, linked = blocks("c")
    include, call = linked.split("\n\n")
    one, all_that_come = call.rstrip().split("\n")
    link = re.search(r"^\*\*C, linked:\*\* `(.*)`$", (ROOT / "README.md").read_text(), re.M)[1].split()
    sources = {
        "loaded": "#include <sqlite3.h>\n" + MAIN % ("", loaded),
        "one": include + MAIN % ("char *message = NULL;", one),
        "all": include + MAIN % (all_that_come, ""),
    }
    for name, source in sources.items():
        (folder / "app.c").write_text("#include <stdio.h>\n" + source)
        how = ["cc", "app.c", "-lsqlite3"] if name == "loaded" else link
        run(folder, *how, "-o", name)
        assert run(folder, f"./{name}") == version()


def test_the_amalgamation_is_compiled_as_the_readme_says(folder):
    own = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")}
    subprocess.run(["make", "-s", "amalgamation"], cwd=ROOT, env=own, check=True)
    for name in "counter.c", "counter.h":
        shutil.copy(ROOT / "build" / "amalgamation" / name, folder)
    command = re.search(r"`(cc [^`]* -o counter\.so)`", (ROOT / "README.md").read_text())[1]
    run(folder, *command.replace("-O2", "-O0").split())
    assert run(folder, "sqlite3", "-batch", ":memory:", ".load ./counter", "SELECT counter_version()") == version()
