"""test_reference.py - docs/reference.md names all that there is, docs/errors.md nothing that no message says; figures stand in
one place."""
import pathlib
import json
import re
import sqlite3
import subprocess

import pytest

import messages

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXTENSION = ROOT / "build" / "counter"
REFERENCE = (ROOT / "docs" / "reference.md").read_text()
INTERNAL = {"counter_statements", "counter_witness"}
# Of pragma_function_list: deterministic, innocuous; only in direct statements.
PURE, INNOCUOUS, DIRECT = 0x200800, 0x200000, 0x80000


def load(path=":memory:"):
    db = sqlite3.connect(path, isolation_level=None)
    db.enable_load_extension(True)
    db.load_extension(str(EXTENSION))
    return db


def ours(pragma):
    before = sqlite3.connect(":memory:").execute(f"SELECT name FROM {pragma}").fetchall()
    return sorted({name for name, in load().execute(f"SELECT name FROM {pragma}")} - {name for name, in before})


def section(*headings):
    """The rows of tables below the first heading, up to the next of its kind."""
    text = REFERENCE
    for heading in headings:
        text = text.partition(f"\n{heading}\n")[2]
    level = headings[-1].split()[0]
    text = re.split(rf"\n#{{1,{len(level)}}} ", text)[0]
    return [[cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
            for line in text.splitlines() if line.startswith("| ") and not line.startswith("|--")]


def signatures(heading):
    """{name: [the numbers of arguments that it takes]}; -1: any from some number on."""
    found = {}
    for cell, *_ in section(heading):
        call = re.fullmatch(r"`(counter_\w+) ?(\[)?(?:\((.*)\))?\]?`", cell)
        if call:
            given = call[3] or ""
            least = len([word for word in re.split(r"[,\[]", given.partition("[")[0]) if word.strip(" ]")])
            found[call[1]] = {-1} if "…" in given else set(range(least - bool(call[2]), least + given.count("[") + 1))
    return found


def registered(kinds):
    """{name: numbers of arguments}"""
    found = {}
    for name, n in load().execute(f"SELECT name, narg FROM pragma_function_list WHERE name GLOB 'counter_*' AND type IN ({kinds})"):
        found.setdefault(name, set()).add(n)
    return found


def test_all_functions_are_there_with_their_arguments():
    assert signatures("## Functions") == registered("'s'")


def test_all_aggregates_are_there_with_their_arguments():
    assert signatures("## Aggregates") == registered("'a', 'w'")


def test_all_tables_are_there_with_their_arguments_and_columns():
    db, shown, before = load(), signatures("## Tables"), []
    columns_of = {re.match(r"`(\w+)", cell)[1]: re.findall(r"`(\w+)`", columns) for cell, columns, _ in section("## Tables")[1:]}
    modules = set(ours("pragma_module_list")) - INTERNAL - {"counter", "counter_cluster"}
    assert set(shown) == modules
    for name in shown:  # "the same" is that of the row above
        columns = db.execute(f"SELECT name, hidden FROM pragma_table_xinfo('{name}')").fetchall()
        visible = [column for column, hidden in columns if not hidden]
        before = columns_of[name] if columns_of[name] else before
        assert before == visible, name
        hidden = len(columns) - len(visible)
        hidden -= 6 * (name in ("counter_pull", "counter_push", "counter_sync"))  # source, upto, more, and what the peer took
        hidden -= 2 * (name == "counter_plan")  # declaration, key_index
        hidden -= 7 * (name == "counter_changes")  # upto, key_columns, own, scope, partial, of, mine are no arguments
        assert max(shown[name]) == hidden, name


def test_all_modules_are_there():
    named = set(re.findall(r"`(counter\w*)`", " ".join(row[0] for row in section("## Counter tables"))))
    assert named == INTERNAL | {"counter", "counter_cluster"}


def test_all_commands_are_there():
    db = load()
    db.execute("CREATE VIRTUAL TABLE t USING counter(k PRIMARY KEY, n COUNTER)")
    with pytest.raises(sqlite3.Error) as refused:
        db.execute("INSERT INTO t(t) VALUES ('no command')")
    known = set(re.findall(r"'([a-z<> -]+)'", str(refused.value).partition("the commands are")[2]))
    assert known == set(re.findall(r"`'([^']+)'`", " ".join(row[0] for row in section("## Commands"))))


def test_all_stored_tables_are_there(tmp_path):
    path = tmp_path / "main.db"
    db = load(path)
    db.execute("CREATE TABLE products(sku TEXT PRIMARY KEY, stock INTEGER, tax INTEGER)")
    db.execute("SELECT counter_track('products', 'stock')")
    db.execute("INSERT INTO products VALUES ('tea', 1, 1)")
    db.execute("CREATE VIRTUAL TABLE t USING counter(k INTEGER PRIMARY KEY, n COUNTER)")
    for command in "add column m", "drop column m":
        db.execute("INSERT INTO t(t) VALUES (?)", [command])
    db.execute("INSERT INTO t(k, n, request_id) VALUES (1, 1, 'x')")
    db.execute("INSERT INTO t(t, k) VALUES ('purge below', 0)")
    answer = {"format": 1, "source": "44444444-4444-4444-8444-444444444444", "more": False, "changes": 0, "skipped": 0, "warnings": [],
              "marks": {db.execute("SELECT counter_source(1)").fetchone()[0]: 0}}
    db.execute("SELECT * FROM counter_heard('https://there', ?)", [json.dumps(answer)]).fetchall()
    stored = set()
    for path in sorted((ROOT / "sql").glob("*.sql")):
        stored |= set(re.findall(r'CREATE TABLE (?:IF NOT EXISTS )?"\{schema\}"\."(\S+?)"\s*\(', path.read_text()))
    named = {re.match(r"`(.*)`", row[0])[1].replace("<table>", "{table}") for row in section("## Stored tables")[1:]}
    assert named == stored
    assert (sum(name.startswith("{table}") for name in stored), sum(name.startswith("counter_") for name in stored)) == (1, 11)
    there = {re.sub("^(products_counters|t)_", "{table}_", name)
             for name, in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")} - {"products", "products_counters", "t"}
    assert {name for name in there if not name.startswith("sqlite_")} <= named


# ---- what may stand where ----

def allowed():
    """{name: (in views, there with trusted_schema off)}, of the rows that name functions and tables."""
    found = {}
    for names, top, views, untrusted, indexes in section("## What may stand where")[1:]:
        assert top == "yes"
        for name in re.findall(r"`(counter_\w+)`", names):
            found.setdefault(name, []).append((views == "yes", untrusted == "yes", indexes == "yes"))
    return found


def test_functions_stand_where_the_table_says():
    by_row = allowed()
    for name, n, flags in load().execute("SELECT name, narg, flags FROM pragma_function_list WHERE name GLOB 'counter_*' AND type = 's'"):
        is_pure = flags & PURE == PURE
        expected = (True, True, True) if is_pure else (not flags & DIRECT, bool(flags & INNOCUOUS), False)
        if is_pure and name not in ("counter_inc", "counter_dec"):
            assert name not in by_row, f"{name} looks at its arguments alone"
        else:
            assert expected in by_row[name], f"{name} with {n} arguments"


def test_tables_stand_where_the_table_says(tmp_path):
    calls = {"counter_shards": "(NULL)", "counter_digests": "('t', 4)", "counter_identity": "", "counter_tracked": "", "counter_stats": "",
             "counter_changes": "(0)", "counter_cluster_status": "('c')", "counter_change": "(NULL)"}
    for name in signatures("## Tables"):
        db = load(tmp_path / f"{name}.db")
        db.execute("CREATE VIRTUAL TABLE t USING counter(k PRIMARY KEY, n COUNTER)")
        db.execute("CREATE VIRTUAL TABLE temp.c USING counter_cluster(t, replicas='main')")
        call = calls.get(name, "('t')")
        db.execute(f"CREATE VIEW v AS SELECT * FROM {name}{call}")
        for trusted, position in (1, 0), (0, 1):
            db.execute(f"PRAGMA trusted_schema = {trusted}")
            try:
                db.execute("SELECT * FROM v").fetchall()
                works = True
            except sqlite3.Error as error:
                works = "unsafe use" not in str(error)
            expected = (True, True) if name in ("counter_shards", "counter_change") else allowed()[name][0][:2]
            assert works == expected[position], (name, trusted)


# ---- errors ----

# Where the library is not loaded.
OF_SQLITE = {"no such module: counter", "no such function: counter_differs", "no such function: counter_…", "no such table: counter_…"}
PAGE = (ROOT / "docs" / "errors.md").read_text()


def errors(text):
    """The messages of these rows, parts of sentences, each with what to do."""
    rows = [re.split(r"(?<!\\) \| ", line.strip("| ")) for line in text.splitlines() if line.startswith("| `")]
    assert all(len(row) == 2 for row in rows)
    return [(message, action) for messages_of, action in rows for message in re.findall(r"`(.*?)`", messages_of)]


FREQUENT, OTHERS = PAGE.partition("\n## Damage\n")[::2]


# Frequent errors that are SQLite's own, each with a statement that it answers with.
BY_SQLITE = {
    "not authorized": "SELECT load_extension('counter')", "access permission denied": "DROP TABLE products_counters",
    "error in trigger …_counters_row after drop column: no such column: NEW.…":
        "ALTER TABLE products ADD price; SELECT counter_replicate('products'); ALTER TABLE products DROP price",
    "attempt to write a readonly database": "PRAGMA query_only = 1; DELETE FROM products",
    "no such function: counter_sync": "SELECT counter_sync('bob.db')",
    "unsafe use of counter_…": "PRAGMA trusted_schema = 0; CREATE VIEW v AS SELECT counter_id(); SELECT * FROM v"}


def test_beside_each_error_stands_what_to_do():
    assert len(errors(PAGE)) > 80
    assert [message for message, action in errors(PAGE) if not action.strip()] == []


def test_each_error_is_a_message_of_the_library():
    """A row has the part of a sentence by which one finds it, and no part has two rows of the other tables."""
    named, there = [message for message, _ in errors(OTHERS)], messages.in_sources()
    assert len(named) == len(set(named))
    assert [each for each in named if not any(each in sentence for sentence in there)] == []


@pytest.mark.parametrize("statement, message", [
    ("CREATE VIRTUAL TABLE t USING counter(k PRIMARY KEY, n COUNTER)", "no such module: counter"),
    ("SELECT counter_id()", "no such function: counter_id"), ("SELECT * FROM counter_sync('x')", "no such table: counter_sync")])
def test_where_the_library_is_not_loaded_sqlite_says_what_the_page_says(statement, message):
    with pytest.raises(sqlite3.Error) as refused:
        sqlite3.connect(":memory:").execute(statement)
    assert str(refused.value) == message
    assert any(re.fullmatch(re.escape(named).replace("…", ".*"), message) for named in OF_SQLITE)


def test_frequent_errors_are_said():
    of_others = {"load_extension", "cannot open shared object file", "database is locked", "database disk image is malformed", *OF_SQLITE, *BY_SQLITE}
    frequent, there = [message for message, _ in errors(FREQUENT)], messages.in_sources()
    assert len(frequent) > 20
    assert [each for each in frequent if each not in of_others and not any(each in sentence for sentence in there)] == []


@pytest.mark.parametrize("message", sorted(BY_SQLITE))
def test_sqlite_says_what_the_page_says(message):
    db = load()
    db.execute("CREATE TABLE products(sku TEXT PRIMARY KEY, stock INTEGER)")
    db.execute("SELECT counter_track('products', 'stock')")
    db.enable_load_extension(False)
    with pytest.raises(sqlite3.Error) as refused:
        for statement in BY_SQLITE[message].split("; "):
            db.execute(statement).fetchall()
    assert re.fullmatch(re.escape(message).replace("…", ".*"), str(refused.value))


# ---- figures ----

def test_the_figures_of_the_readme_are_those_of_the_results():
    speed = (ROOT / "README.md").read_text().partition("\n## Speed\n")[2].partition("\n## ")[0]
    quoted = re.findall(r"\b\d\.\d\d\b", speed)
    ratios = re.findall(r"\*\*(\d+\.\d+)\*\*", (ROOT / "docs" / "performance.md").read_text())
    assert len(quoted) >= 5 and not set(quoted) - set(ratios)


def test_the_plot_is_drawn_from_the_results(tmp_path):
    subprocess.run([ROOT / "tools" / "plot", tmp_path / "speed.svg"], check=True)
    assert (tmp_path / "speed.svg").read_text() == (ROOT / "docs" / "images" / "speed.svg").read_text(), "run tools/plot"
