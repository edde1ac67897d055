"""test_docs.py - every block of README.md and docs/ runs and shows what happens, every link leads somewhere, and the
reference names all that there is.

What a block is, its language tells:

    sqlite-session  lines of the sqlite3 shell and what it prints. Each begins in an empty folder; `continue` goes on
                    with the session before, `here` begins in the folder of the page
    sql             statements that must run, all of a page in one connection
    console         commands of a shell, each behind "$ " and perhaps lines with "> ", and what they print; all of a page
                    in one folder
    python, js, ... a program; it prints what the comment at its end says
    text            a drawing or a format: nothing that could be run

A block below a line with nothing but a file's name, `shop/models.py`:, is that file, in the folder of the page; with
`append` it is added to the file's end. UUIDs and numbers of 16 digits may differ from those that are shown, and a line
of "..." stands for any lines."""
import os
import pathlib
import re
import shutil
import sqlite3
import subprocess
import sys

import pytest

import pages
from pages import GUIDES, OTHERS, ROOT, name_of

sys.path.insert(0, str(ROOT / "tests" / "sql"))
import run_shell  # noqa: E402

EXTENSION = ROOT / "build" / "counter"
AMALGAMATION = ROOT / "build" / "amalgamation"
NODE_MODULES = ROOT / "build" / "clients" / "node" / "node_modules"  # where tests/clients installs
UUID = re.compile(r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b")
CLEAN = {name: os.environ[name] for name in ("HOME", "TMPDIR", "LANG") if name in os.environ}

# Blocks that other tests run, by page and language: these name the page.
ELSEWHERE = {
    ("README.md", "sh"): "tests/house/test_shipping.py",
    ("docs/install.md", "sh"): "tests/packages/test_dist.py",
    ("docs/install.md", "c"): "tests/house/test_hosts.py",
    **{("docs/languages.md", language): "tests/house/test_hosts.py" for language in ("perl", "tcl", "js", "php", "ruby", "go", "rust")},
    ("docs/recipes/browser.md", "js"): "tests/browser/readme.test.mjs",
    ("docs/recipes/existing-application.md", "js"): "tests/clients/prisma/client.js",
    ("docs/recipes/fleet.md", "console"): "tests/hub/test_fleet.py",
    ("docs/scenarios.md", "console"): "tests/house/test_scenarios.py",
}
# Blocks that nothing runs, and why.
NOT_RUN = {("docs/recipes/cassandra.md", "cql"): "it needs Cassandra, and is called a description"}
# What a page needs beside the sqlite3 shell, in words, and a command that succeeds if it is there.
NEEDS = {
    "docs/recipes/django.md": ("gunicorn and Django", "sh", "-c", "gunicorn --version && /usr/bin/python3 -c 'import django'"),
    "docs/recipes/sqlalchemy.md": ("SQLAlchemy", "/usr/bin/python3", "-c", "import sqlalchemy"),
    "docs/recipes/rails.md": ("Ruby with ActiveRecord and sqlite3", "ruby", "-ractive_record", "-rsqlite3", "-e", "1"),
    "docs/recipes/node.md": ("Node and better-sqlite3", "sh", "-c", f"node --version && test -d '{NODE_MODULES}/better-sqlite3'"),
    "docs/recipes/electron.md": ("Node and better-sqlite3", "sh", "-c", f"node --version && test -d '{NODE_MODULES}/better-sqlite3'"),
    "docs/recipes/phones.md": ("cmake and the sources of SQLite", "sh", "-c", f"cmake --version && ls '{ROOT}'/build/matrix/*/sqlite3.c"),
}
RUN = {"python": ["/usr/bin/python3"], "ruby": ["ruby"]}


# ---- the folder of a page ----

def has(*command):
    return bool(shutil.which(command[0])) and subprocess.run(command, capture_output=True).returncode == 0


@pytest.fixture(scope="session")
def packages(tmp_path_factory):
    """The packages of Python and npm, as users have them installed."""
    folder = tmp_path_factory.mktemp("packages")
    shutil.copytree(ROOT / "packages" / "python" / "sqlite_counter", folder / "python" / "sqlite_counter",
                    ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(f"{EXTENSION}.so", folder / "python" / "sqlite_counter")
    if shutil.which("node"):
        machine = os.uname().machine
        libs = folder / "libs" / f"linux-{machine}"
        libs.mkdir(parents=True)
        for name in f"{EXTENSION}.so", f"{EXTENSION}-folders.so":
            shutil.copy(name, libs)
        (folder / "tgz").mkdir()
        subprocess.run([ROOT / "packages" / "npm" / "build", folder / "libs", folder / "tgz"], capture_output=True,
                       env={**os.environ, "COUNTER_ALLOW_LIBUUID": "1"})  # it fails on platforms without packages
        for tgz in sorted((folder / "tgz").glob("*.tgz")):
            name = re.sub(r"-\d[\d.]*$", "", tgz.stem)
            (folder / "npm" / name).mkdir(parents=True)
            subprocess.run(["tar", "xf", tgz, "--strip-components=1", "-C", folder / "npm" / name], check=True)
    return folder


def furnish(folder, packages):
    """The folder has what the pages name: build/counter, examples/, python3, the program as it is installed, the packages."""
    for name in "build", "examples", "include", "sql":
        (folder / name).symlink_to(ROOT / name)
    (folder / "counter.so").symlink_to(f"{EXTENSION}.so")
    for file in sorted([*AMALGAMATION.glob("*.[ch]"), *ROOT.glob("build/matrix/*/sqlite3.[ch]")]):  # the last is the newest
        (folder / file.name).unlink(missing_ok=True)
        (folder / file.name).symlink_to(file)
    (folder / ".bin").mkdir()
    for name in "python", "python3":
        (folder / ".bin" / name).symlink_to("/usr/bin/python3")
    (folder / ".bin" / "sqlite-counter").symlink_to(ROOT / "build" / "sqlite-counter")
    (folder / "node_modules").mkdir()
    for module in NODE_MODULES.glob("*"):
        (folder / "node_modules" / module.name).symlink_to(module)
    for module in (packages / "npm").glob("*"):  # Node looks for what a module needs beside the module itself
        shutil.copytree(module, folder / "node_modules" / module.name)
    return folder


def environment(folder, packages):
    return {**CLEAN, "PATH": f"{folder}/.bin:{os.environ['PATH']}", "PYTHONPATH": str(packages / "python"),
            "PYTHONDONTWRITEBYTECODE": "1", "PYTHONWARNINGS": "ignore", "LC_ALL": "C.UTF-8"}


@pytest.fixture
def place(tmp_path, packages, request):
    name = request.node.callspec.params.get("name")
    if name in NEEDS and not has(*NEEDS[name][1:]):
        pytest.skip(f"{name} needs {NEEDS[name][0]}")
    return furnish(tmp_path, packages)


def pages_with(wanted):
    return [name_of(page) for page in GUIDES if any(wanted(block) for block in pages.blocks(page))]


def is_elsewhere(block):
    return (name_of(block.page), block.language) in ELSEWHERE


# ---- every block is run ----

KINDS = {"sqlite-session", "sql", "console", "text", "python", "ruby"}


def test_every_block_is_of_a_kind_that_is_run():
    wrong = []
    for page in GUIDES:
        for block in pages.blocks(page):
            if not (block.language in KINDS or block.file or is_elsewhere(block)
                    or (name_of(page), block.language) in NOT_RUN):
                wrong.append(f"{block.place}: {block.language or 'no language'}")
            if block.language == "text" and re.search(r"^(\$|sqlite>) |^(SELECT|INSERT|UPDATE|CREATE) ", block.text, re.M):
                wrong.append(f"{block.place}: something that could be run")
            if set(block.words) - {"continue", "here", "append"}:
                wrong.append(f"{block.place}: {block.words}")
        for number, line in pages.prose(page):
            if re.match(r" {4,}\S", line) and not re.match(r" *([*-]|\d+\.) ", line):
                wrong.append(f"{name_of(page)}:{number}: a block without a fence")
    assert not wrong, "\n".join(wrong)


def test_what_other_tests_run_they_name():
    for (page, language), test in ELSEWHERE.items():
        assert pages.blocks(ROOT / page, language), f"{page} has no {language} block"
        name = "README.md" if page == "README.md" else pathlib.Path(page).name
        assert name in (ROOT / test).read_text(), f"{test} does not name {page}"


def test_the_adapter_of_prisma_is_the_one_that_is_tried():
    block, = pages.blocks(ROOT / "docs" / "recipes" / "existing-application.md", "js")
    assert block.text in (ROOT / "tests" / "clients" / "prisma" / "client.js").read_text()


# ---- sqlite-session ----

def session_steps(block):
    """[line, input lines, expected output]"""
    steps = []
    for number, line in enumerate(block.lines, block.line + 1):
        if line.startswith("sqlite> "):
            steps.append([number, [line[8:]], ""])
        elif line.startswith("   ...> "):
            steps[-1][1].append(line[8:])
        else:
            steps[-1][2] += line + "\n"
    return steps


def pattern_of(shown):
    """A regular expression: UUIDs, long numbers and lines of ... may be others."""
    text = "[0-9a-f-]{36}".join(map(re.escape, UUID.split(shown)))
    text = re.sub(r"(?<!\d)\d{16}(?!\d)", r"\\d{16}", text)
    return re.sub(r"^\\\.\\\.\\\.\\?\n", r"(?:.*\\n)*?", text, flags=re.M)


def same_output(expected, output, error):
    """Does the block show the rows and, as an interactive shell does, the error without a line number?"""
    if error is not None:
        shown = re.search(r"^(?:Parse error|Runtime error|Error): ", expected, re.M)
        if not shown or not re.fullmatch(pattern_of(expected[shown.end():].rstrip() + "\n"), error.rstrip() + "\n"):
            return False
        expected = expected[:shown.start()]
    return re.fullmatch(pattern_of(expected.rstrip() + "\n"), output.rstrip() + "\n") is not None


@pytest.mark.parametrize("name", pages_with(lambda block: block.language == "sqlite-session"))
def test_sessions_show_what_happens(name, place, packages):
    write_files(ROOT / name, place)
    sessions = []
    for block in pages.blocks(ROOT / name, "sqlite-session"):
        if "continue" not in block.words or not sessions:
            sessions.append(("here" in block.words, []))
        sessions[-1][1].extend(session_steps(block))
    for n, (here, steps) in enumerate(sessions):
        folder = place
        if not here:
            folder = place / str(n)
            folder.mkdir()
            furnish(folder, packages)
        loads = any(".load" in line for _, text, _ in steps for line in text)
        results, stray = run_shell.drive([text for _, text, _ in steps], folder, [] if loads else [f".load {EXTENSION}"])
        assert not stray, stray
        for (line, _, expected), (output, error) in zip(steps, results):
            assert same_output(expected, output, error), \
                f"{name}:{line}: shows {expected!r}, the shell said {output!r} {error!r}"


# ---- sql ----

def load(db):
    db.enable_load_extension(True)
    db.execute("SELECT load_extension(?)", (str(EXTENSION),))
    return db


@pytest.mark.parametrize("name", pages_with(lambda block: block.language == "sql" and not block.file))
def test_statements_run(name, place, monkeypatch):
    """Where a page attaches phone.db or east.db, these have its counter tables, or one."""
    monkeypatch.chdir(place)
    found = [block for block in pages.blocks(ROOT / name, "sql") if not block.file]
    text = "\n".join(block.text for block in found)
    tables = re.findall(r"CREATE VIRTUAL TABLE(?! temp)[^;]*?USING counter\b[^;]*;", text)
    tables = tables or ["CREATE VIRTUAL TABLE page_views USING counter(path TEXT PRIMARY KEY, hits COUNTER)"]
    for file in ("phone.db", "east.db"):
        other = load(sqlite3.connect(file))
        for table in tables:
            other.execute(table)
        other.commit()
        other.close()

    db = load(sqlite3.connect("page.db", isolation_level=None))
    for block in found:
        statement = []
        for number, line in enumerate(block.lines, block.line + 1):
            statement.append(line)
            if not sqlite3.complete_statement("\n".join(statement)):
                continue
            try:
                db.execute("\n".join(statement)).fetchall()
            except sqlite3.Error as error:
                pytest.fail(f"{name}:{number}: {error}")
            statement = []
        assert not re.sub("--.*", "", "\n".join(statement)).strip(), f"{block.place}: a statement without an end"
    db.close()


# ---- console, and files ----

def write_files(page, folder):
    for block in pages.blocks(page):
        if block.file:
            write_file(block, folder)


def write_file(block, folder):
    path = folder / block.file
    path.parent.mkdir(parents=True, exist_ok=True)
    if "append" in block.words:
        path.write_text(path.read_text() + "\n" + block.text)
    else:
        path.write_text(block.text)


def plain(text):
    """Without what versions of the shell put before an error, each in another way."""
    return re.sub(r"^(?:(?:Runtime|Parse) error near line \d+: |Error: (?:stepping, |in prepare, |near line \d+: )?)", "Error: ", text, flags=re.M)


def commands(block):
    """(line, command, what it prints); a command goes on in lines that begin with "> "."""
    found = []
    for number, line in enumerate(block.lines, block.line + 1):
        if line.startswith("$ "):
            found.append([number, line[2:], ""])
        elif line.startswith("> ") and not found[-1][2]:
            found[-1][1] += "\n" + line[2:]
        else:
            found[-1][2] += line + "\n"
    return found


def run_console(page, folder, env):
    """Plays the files and commands of a page in the order in which they stand there."""
    played = 0
    for block in pages.blocks(page):
        if block.file:
            write_file(block, folder)
        elif block.language == "console":
            for number, command, shown in commands(block):
                done = subprocess.run(["sh", "-c", command], cwd=folder, env=env, text=True, stdin=subprocess.DEVNULL,
                                      stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300)
                seen = "".join(line.rstrip() + "\n" for line in done.stdout.splitlines())
                assert re.fullmatch(pattern_of(plain(shown)), plain(seen)), f"{name_of(page)}:{number}: {command}\nshows {shown}\nprints {seen}"
                assert done.returncode == 0 or "rror" in shown, f"{name_of(page)}:{number}: {command} fails"
                played += 1
    return played


@pytest.mark.parametrize("name", [name for name in pages_with(lambda block: block.language == "console" or block.file)
                                  if (name, "console") not in ELSEWHERE])
def test_commands_print_what_is_shown(name, place, packages):
    assert run_console(ROOT / name, place, environment(place, packages))


# ---- programs ----

PROGRAMS = [block for page in GUIDES for block in pages.blocks(page)
            if block.language in RUN and not block.file and not is_elsewhere(block)]


@pytest.mark.parametrize("block", PROGRAMS, ids=[block.place for block in PROGRAMS])
def test_programs_print_what_they_say(block, tmp_path, packages):
    name = name_of(block.page)
    if name in NEEDS and not has(*NEEDS[name][1:]):
        pytest.skip(f"{name} needs {NEEDS[name][0]}")
    for module in re.findall(r"^(?:import|from) (sqlalchemy|apsw|django)", block.text, re.M):
        if not has("/usr/bin/python3", "-c", f"import {module}"):
            pytest.skip(f"no {module}")
    if block.language == "ruby" and not has(*NEEDS["docs/recipes/rails.md"][1:]):
        pytest.skip("no Ruby with ActiveRecord and sqlite3")
    furnish(tmp_path, packages)
    (tmp_path / "program").write_text(block.text)
    done = subprocess.run([*RUN[block.language], "program"], cwd=tmp_path, env=environment(tmp_path, packages), text=True,
                          capture_output=True, timeout=300)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr
    promised = re.search(r"  # (.*)\n\Z", block.text)
    assert promised, f"{block.place}: the last line does not say what it prints"
    assert done.stdout.rstrip("\n") == promised[1]


# ---- links ----

@pytest.mark.parametrize("name", [name_of(page) for page in GUIDES + OTHERS])
def test_links_lead_somewhere(name):
    page, wrong = ROOT / name, []
    for number, target in pages.links(page):
        if re.match(r"https://[\w.-]+\.\w+(/|$)", target):
            continue
        path, _, anchor = target.partition("#")
        to = (page.parent / path).resolve() if path else page
        if not to.is_relative_to(ROOT) or not to.exists():
            wrong.append(f"{name}:{number}: {target}: there is no such file")
        elif anchor and (to.suffix != ".md" or anchor not in pages.anchors(to)):
            wrong.append(f"{name}:{number}: {target}: there is no such heading")
    assert not wrong, "\n".join(wrong)


def test_the_readme_leads_to_every_page():
    linked = {(ROOT / target.partition("#")[0]).resolve() for _, target in pages.links(ROOT / "README.md")}
    assert not [name_of(page) for page in GUIDES[1:] if page.resolve() not in linked]


# ---- the README ----

def test_the_readme_says_first_what_a_stranger_asks_first():
    lines = (ROOT / "README.md").read_text().splitlines()
    first = "\n".join(lines[:45]).lower()
    assert len(lines) <= 250
    assert not [words for words in ("crdt", "status", "limits", "why not cr-sqlite") if words not in first]
