"""test_hosts.py - the programs of docs/languages.md run in each host that is there, and print what they say that they
print; those of docs/install.md are compiled."""
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


LANGUAGES, INSTALL = ((ROOT / "docs" / name).read_text() for name in ("languages.md", "install.md"))


def blocks(language, page=LANGUAGES):
    return re.findall(rf"^```{language}\n(.*?)^```$", page, re.M | re.S)


# What a host prints may depend on variables of its own, such as NODE_EXTRA_CA_CERTS.
CLEAN = {name: os.environ[name] for name in ("PATH", "HOME", "TMPDIR", "LANG") if name in os.environ}


def run(folder, *command):
    done = subprocess.run(list(map(str, command)), cwd=folder, env=CLEAN, capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr
    return done.stdout.rstrip("\n")


def has(*command):
    return shutil.which(command[0]) and subprocess.run(command, env=CLEAN, capture_output=True).returncode == 0


def promised(program):
    """The comment behind the last line: what it prints."""
    return re.search(r"  ;?(?:#|//) (.*)\n\Z", program)[1]


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "build").symlink_to(ROOT / "build")
    (tmp_path / "include").symlink_to(ROOT / "include")
    return tmp_path


# Debian's Go packages, with its SQLite as a shared library.
GO = ["env", "GO111MODULE=off", "GOPATH=/usr/share/gocode", "GOFLAGS=-tags=libsqlite3", "go"]

# Name, language of the block, what tells it from others, how it is run, what fails without it.
HOSTS = [
    ("perl", "perl", "", ["perl"], ["perl", "-MDBD::SQLite", "-e", "1"]),
    ("tcl", "tcl", "", ["tclsh"], ["sh", "-c", "echo 'if {[catch {package require sqlite3}]} {exit 1}' | tclsh"]),
    ("better-sqlite3", "js", 'require("better-sqlite3")("main.db")', ["node"], ["node", "-e", "require('better-sqlite3')(':memory:')"]),
    ("php", "php", "new SQLite3", ["php", "-d", f"sqlite3.extension_dir={(ROOT / 'build').resolve()}"],
     ["php", "-r", "new SQLite3(':memory:');"]),
    ("ruby", "ruby", "", ["ruby"], ["ruby", "-rsqlite3", "-e", "1"]),
    ("go", "go", "", [*GO, "run"], [*GO, "list", "github.com/mattn/go-sqlite3"]),
    ("rust", "rust", "", ["sh", str(ROOT / "tests" / "house" / "rust.sh")], ["ls", "/usr/share/cargo/registry/rusqlite-0.28.0"]),
    ("php-pdo", "php", "new PDO", ["env", "LD_PRELOAD=build/counter-preload.so", "php"],
     ["php", "-r", "new PDO('sqlite::memory:');"]),
]


@pytest.mark.parametrize("host, language, words, command, check", HOSTS, ids=[host[0] for host in HOSTS])
def test_the_program_of_the_page_counts(folder, host, language, words, command, check):
    program, = [block for block in blocks(language) if words in block]
    if not has(*check):
        pytest.skip(f"no {host}")
    (folder / f"program.{language}").write_text(program)
    assert run(folder, *command, f"program.{language}") == promised(program)
    table = "SELECT hits FROM page_views"
    assert run(folder, "sqlite3", "-batch", "main.db", ".load build/counter", table) == "1"


def test_each_connection_of_a_process_with_the_preloaded_library_has_the_extension(folder):
    program = """import sqlite3
one = sqlite3.connect("main.db", isolation_level=None)
one.execute("CREATE VIRTUAL TABLE t USING counter(k PRIMARY KEY, n COUNTER)")
one.execute("INSERT INTO t VALUES ('x', 1)")
two = sqlite3.connect(":memory:", isolation_level=None)
two.execute("ATTACH 'main.db' AS one")
two.execute("INSERT INTO one.t VALUES ('x', 2)")
print(one.execute("SELECT k, n FROM t").fetchone())
"""
    preload = f"LD_PRELOAD={ROOT / 'build' / 'counter-preload.so'}"
    assert run(folder, "env", preload, "/usr/bin/python3", "-c", program) == "('x', 3)"


TWO_LIBRARIES = """
import ctypes, sqlite3, sys
extension, copy = sys.argv[1:]
first = sqlite3.connect(":memory:")
first.enable_load_extension(True)
first.load_extension(extension)
library = ctypes.CDLL(copy)
second, message = ctypes.c_void_p(), ctypes.c_char_p()
assert library.sqlite3_open(b":memory:", ctypes.byref(second)) == 0
library.sqlite3_enable_load_extension(second, 1)
print(library.sqlite3_load_extension(second, extension.encode(), None, ctypes.byref(message)))
print(message.value.decode())
print(first.execute("SELECT counter_value(counter_inc(NULL, 5, zeroblob(16)))").fetchone()[0])
first.close()
print(library.sqlite3_load_extension(second, extension.encode(), None, ctypes.byref(message)))
print(library.sqlite3_close(second))
"""


def test_a_second_sqlite_library_in_a_process_is_refused_by_a_sentence_until_the_first_is_done(folder):
    lines = run(folder, "/usr/bin/python3", "-c", "import sqlite3\nfor line in open('/proc/self/maps'): print(line.split()[-1])")
    library = next((line for line in lines.split("\n") if "libsqlite3.so" in line), None)
    if not library:
        pytest.skip("Python's SQLite is no shared library")
    shutil.copy(library, folder / "another.so")
    refused, message, counted, taken, closed = run(
        folder, "/usr/bin/python3", "-c", TWO_LIBRARIES, ROOT / "build" / "counter", "./another.so").split("\n")
    assert (refused, counted, taken, closed) == ("1", "5", "0", "0")
    assert re.search("sqlite-counter: another SQLite library of this process, version 3[.0-9]*, has loaded it, .* use one SQLite "
                     "library in a process", message)


def version():
    return re.search(r'COUNTER_VERSION "(.*)"', (ROOT / "include" / "counter.h").read_text())[1]


def test_the_fragments_in_c_load_and_link(folder):
    loaded, linked = blocks("c", INSTALL)
    include, call = linked.split("\n\n")
    one, all_that_come = call.rstrip().split("\n")
    link = re.search(r"^\*\*C, linked:\*\* `(.*)`$", INSTALL, re.M)[1].split()
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


def test_the_amalgamation_is_compiled_as_the_page_says(folder):
    own = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")}
    subprocess.run(["make", "-s", "amalgamation"], cwd=ROOT, env=own, check=True)
    for name in "counter.c", "counter.h":
        shutil.copy(ROOT / "build" / "amalgamation" / name, folder)
    command = re.search(r"`(cc [^`]* -o counter\.so)`", INSTALL)[1]
    run(folder, *command.replace("-O2", "-O0").split())
    assert run(folder, "sqlite3", "-batch", ":memory:", ".load ./counter", "SELECT counter_version()") == version()
