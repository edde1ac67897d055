"""test_house.py - the order of the house: folders, names, exported symbols, statements, the tests
that TESTING.md names."""
import collections
import pathlib
import re
import sqlite3
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
import places  # noqa: E402

EXTENSION = ROOT / "build" / "counter"
SOURCES = sorted((ROOT / "ext").rglob("*.[ch]"))
FOLDERS = ["core", "base", "file", "table", "counter", "tracked", "merge", "cluster", "functions"]
DOORS = FOLDERS[4:]
STANDARD = {"assert", "ctype", "errno", "inttypes", "limits", "stdarg", "stdbool", "stddef",
            "stdint", "stdio", "stdlib", "string"}


def name_of(path):
    return str(path.relative_to(ROOT))


def height_of(path):
    """core 0 ... functions 8, ext/counter.c 9."""
    folder = path.relative_to(ROOT / "ext").parts[0]
    return FOLDERS.index(folder) if folder in FOLDERS else len(FOLDERS)


def includes(path):
    return re.findall(r'^\s*#\s*include\s+(["<][^">]+)[">]', path.read_text(), re.M)


def without_comments(text):
    return re.sub(r"/\*.*?\*/", " ", text, flags=re.S)


def symbols(*args):
    out = subprocess.run(["nm", *args], capture_output=True, text=True, check=True).stdout
    return [line.split()[1:] for line in out.splitlines() if len(line.split()) == 3]


# ---- lines ----

def test_no_line_of_the_library_is_longer_than_100_columns():
    wrong = [f"{name_of(path)}:{number}" for path in SOURCES + sorted((ROOT / "include").glob("*.h"))
             for number, line in enumerate(path.read_text().splitlines(), 1) if len(line) > 100]
    assert not wrong, "\n".join(wrong)


# ---- values of statements ----

def arguments_of(call):
    """What stands between commas outside of parentheses and texts; `call` begins behind its first parenthesis."""
    found, depth, text = [""], 0, False
    for i, letter in enumerate(call):
        text ^= letter == '"' and call[i - 1] != "\\"
        depth += (letter in "([{") - (letter in ")]}") if not text else 0
        if depth < 0:
            break
        if letter == "," and depth == 0 and not text:
            found.append("")
        else:
            found[-1] += letter
    return [each.strip() for each in found]


def test_a_statement_gets_as_many_values_as_its_format_names():
    """A compiler does not count them."""
    calls, wrong = 0, []
    for path in SOURCES:
        text = without_comments(path.read_text())
        constants = dict(re.findall(r'static const char (\w+)\[\] = "(:[^"]+)";', text))
        for call in re.finditer(r"\b(?:ctr_run_with|ctr_tab_do)\((?!ctr_run \*|ctr_tab \*)", text):
            _, _, form, *values = arguments_of(text[call.end():])
            form = constants.get(form, form)
            if not form.startswith(('":', ":")):
                continue  # it has no values
            calls += 1
            expected = sum(2 if kind == "b" else 1 for kind in re.findall(r":\w+ (\w)", form))
            if len(values) != expected:
                wrong.append(f"{name_of(path)}: {form} with {values}")
    assert not wrong, "\n".join(wrong)
    assert calls > 40


# ---- folders ----

def test_includes_go_down_only():
    wrong = []
    for path in SOURCES:
        for include in includes(path):
            kind, name = include[0], include[1:]
            folder = name.split("/")[0]
            if kind == "<" or name in ("counter_cell.h", "counter.h", "statements.h"):
                continue
            if folder == "third_party" and name_of(path) == "ext/file/uuid.c":
                continue
            if "/" not in name or folder not in FOLDERS:
                wrong.append(f"{name_of(path)}: \"{name}\" does not name its folder")
            elif FOLDERS.index(folder) > height_of(path):
                wrong.append(f"{name_of(path)}: \"{name}\" is a folder above")
    assert not wrong, "\n".join(wrong)


def test_nothing_below_the_cluster_names_it():
    below = FOLDERS[:FOLDERS.index("cluster")]
    wrong = [f"{name_of(path)}:{number}: {line.strip()}" for path in SOURCES if path.parent.name in below
             for number, line in enumerate(path.read_text().splitlines(), 1) if re.search("cluster", line, re.I)]
    assert [re.sub(r":\d+:", ":", line) for line in wrong] == ["ext/core/core.h: enum { CTR_LEVEL_SITES = 64 /* replicas of a cluster, at most */ };"]


def test_core_knows_only_core_and_the_c_library():
    wrong = []
    for path in SOURCES:
        if height_of(path) > 0:
            continue
        for include in includes(path):
            standard = include[0] == "<" and include[1:].removesuffix(".h") in STANDARD
            if not (standard or include == '"counter_cell.h' or include.startswith('"core/')):
                wrong.append(f"{name_of(path)}: {include[1:]}")
    assert not wrong, "\n".join(wrong)


def test_sqlite_is_included_in_one_header():
    users = [name_of(path) for path in SOURCES
             if any(re.search(r"sqlite3(ext)?\.h$", include) for include in includes(path))]
    headers = [name for name in users if name != "ext/counter.c"]
    assert len(headers) == 1, headers
    assert headers == ["ext/base/sqlite.h"]


def test_the_api_pointer_is_defined_in_the_roof():
    users = [name_of(path) for path in SOURCES
             if "SQLITE_EXTENSION_INIT1" in without_comments(path.read_text())]
    assert users == ["ext/counter.c"]


# ---- symbols and names ----

def test_only_the_entry_points_are_exported():
    exported = symbols("-D", "--defined-only", f"{EXTENSION}.so")
    assert sorted(name for _, name in exported) == ["sqlite3_counter_folders_init", "sqlite3_counter_init", "sqlite3_extension_init"]


def test_the_extension_is_not_linked_with_sqlite():
    out = subprocess.run(["objdump", "-p", f"{EXTENSION}.so"], capture_output=True, text=True,
                         check=True).stdout
    assert "NEEDED" in out
    assert "libsqlite3" not in out


def external_names(*paths):
    """(path, kind, name) of what objects or archives define for others, by nm."""
    out = subprocess.run(["nm", "--print-file-name", "--defined-only", "--extern-only", *map(str, paths)], capture_output=True,
                         text=True, check=True).stdout
    return re.findall(r"^(.*?):\w+ (\w) (\S+)$", out, re.M)


def public_names():
    return {name for path in (ROOT / "include").glob("*.h") for name in re.findall(r"\b(\w+)\(", path.read_text())}


def told_in(folder):
    """name of a file -> the functions that the header of its folder tells under that banner."""
    text = without_inner_comments((ROOT / "ext" / folder / f"{folder}.h").read_text())
    parts = re.split(r"^/\* ==== (\w+)[.\w]*(?:: .*?)? =+ \*/$", text, flags=re.M)
    told = collections.defaultdict(set)
    for name, part in zip(parts[1::2], parts[2::2]):
        told[name] |= set(re.findall(r"\b(ctr_\w+)\(", part))
    return told


def without_inner_comments(text):
    return re.sub(r"/\*(?! ====).*?\*/", " ", text, flags=re.S)


def test_the_header_of_a_folder_tells_external_names_under_the_banner_of_their_file():
    wrong, public = [], public_names()
    told = {folder: told_in(folder) for folder in FOLDERS}
    for path, kind, name in external_names(*sorted((ROOT / "build" / "sanitized" / "ext").rglob("*.o"))):
        path = pathlib.Path(path.split("ext/", 1)[1])
        if kind != "T" or name in public or not (ROOT / "ext" / path.with_suffix(".c")).exists():
            assert kind != "T" or name in public or re.match("^ctr_|^sqlite3_|^__odr_asan", name), name
            continue
        folder, member = (path.parent.name, path.stem) if path.parent.name else ("", path.stem)
        if name.startswith("sqlite3_") or member == "uuid" and name.startswith("ctr_uuid_"):
            continue
        if name not in told[folder][member] and not (folder == "functions" and name in told[folder]["registration"]):
            wrong.append(f"{path}: {name}")
    assert not wrong, "\n".join(wrong)


def test_each_folder_has_one_header():
    headers = sorted(name_of(path) for path in SOURCES if path.suffix == ".h")
    aside = ["ext/base/sqlite.h", "ext/file/uuid.h"]  # the API of SQLite; what the command line shares
    assert headers == sorted([f"ext/{folder}/{folder}.h" for folder in FOLDERS] + aside)


def test_no_file_below_a_door_names_a_door():
    door = re.compile(rf"\b({'|'.join(DOORS)})/[a-z]")
    wrong = [f"{name_of(path)}:{number}: {line.strip()}" for path in SOURCES if height_of(path) < FOLDERS.index(DOORS[0])
             for number, line in enumerate(path.read_text().splitlines(), 1) if door.search(line)]
    assert not wrong, "\n".join(wrong)


def test_static_functions_have_one_name_each():
    definition = re.compile(r"^static\s[^;={}()]*?\b(\w+)\([^;{}]*\)\s*\{", re.M)
    where = collections.defaultdict(list)
    for path in SOURCES:
        for name in definition.findall(without_comments(path.read_text())):
            where[name].append(name_of(path))
    assert where
    wrong = [f"{name}: {', '.join(files)}" for name, files in where.items() if len(files) > 1]
    assert not wrong, "\n".join(wrong)


def test_nothing_is_left_undone():
    unwanted = re.compile(r"TODO|FIXME|XXX|#\s*if(def\s+|.*defined\W*)\w*TEST")
    wrong = [f"{name_of(path)}:{n}: {line.strip()}" for path in SOURCES
             for n, line in enumerate(path.read_text().splitlines(), 1) if unwanted.search(line)]
    assert not wrong, "\n".join(wrong)


def test_each_place_that_a_list_names_is_there(monkeypatch):
    """Places with reasons why no test reaches them, or notices an error there."""
    monkeypatch.chdir(ROOT)
    places.read.cache_clear()
    for name in "uncovered", "survivors":
        listed = places.entries(f"tests/{name}.txt")
        assert listed and all(listed.values())
        wrong = [place for place in listed if not any(places.lines_of(place.partition(" -> ")[0]))]
        assert not wrong, "\n".join(wrong)


# ---- tests/TESTING.md ----

NAMES = {".sql": r"^-- # (\S+)", ".py": r"^def (test_\w+)\(", ".c": r"^static void (\w+)\(void \*\*state\)",
         ".mjs": r"^\s*test\(['`]([^:,'`]+)"}


def what_was_found():
    """The last column of each row under that heading: files, each alone or with names of its tests."""
    text = (ROOT / "tests" / "TESTING.md").read_text().partition("\n## What was found\n")[2].partition("\n## ")[0]
    rows = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| ")]
    assert len(rows) > 20 and all(len(row) == 3 for row in rows)
    return [tests for _, _, tests in rows[1:]]


def test_each_test_that_testing_md_names_is_in_the_file_it_names():
    wrong = []
    for cell in what_was_found():
        path = None
        for part in re.split("[,;] ", cell.removesuffix(", by `make test-matrix`")):
            file, name = re.fullmatch(r"(?:`([\w/.]+)`)? ?(.*)", part).groups()
            path = ROOT / "tests" / file if file else path
            if not path.is_file() or name and name not in re.findall(NAMES[path.suffix], path.read_text(), re.M):
                wrong.append(part)
    assert not wrong, "\n".join(wrong)


def test_each_file_that_testing_md_names_is_there():
    """A name without a folder is in the folder of the one before."""
    wrong, folder = [], ROOT
    text = (ROOT / "tests" / "TESTING.md").read_text()
    for name in re.findall(r"`([\w/.]+(?:/|\.(?:py|c|h|sql|txt|tsv|mk)))`", text):
        found = [place / name for place in (ROOT, ROOT / "tests", folder) if (place / name).exists()]
        wrong += [name] * (not found)
        folder = found[0].parent if found else folder
    assert not wrong, "\n".join(wrong)


# ---- statements ----

def statements():
    """(file, name, text) of each named statement."""
    for path in sorted((ROOT / "sql").glob("*.sql")):
        name = None
        for line in path.read_text().splitlines():
            if line.startswith("-- name:"):
                name, text = line.split()[2], []
            elif name and not line.lstrip().startswith("--"):
                text.append(line)
                if line.rstrip().endswith(";"):
                    yield name_of(path), name, "\n".join(text)
                    name = None


def test_statements_have_one_name_each_and_are_used():
    names = [name for _, name, _ in statements()]
    assert names
    assert not [name for name, n in collections.Counter(names).items() if n > 1]
    code = "\n".join(without_comments(path.read_text()) for path in SOURCES)
    unused = [name for name in names if not re.search(rf"\bCTR_SQL_{name}\b", code)]
    assert not unused, "\n".join(unused)


@pytest.mark.parametrize("file, name, text", statements())
def test_statement_parses(file, name, text):
    db = sqlite3.connect(":memory:")
    for schema in sorted(set(re.findall(r'"(\{\w+\})"\s*\.', text))):
        db.execute(f"ATTACH ':memory:' AS \"{schema}\"")
    text = text.replace('SET "{changes}"', 'SET "{changes}" = NULL')  # no list can be valid there
    text = text.replace(' "{conflict}"', " OR ABORT")
    text = text.replace('UPDATE "{order}"', 'UPDATE OF "{order}"')    # nor there
    text = text.replace('"{name}" "{order}" BEGIN', '"{name}" WHEN "{order}" BEGIN')
    try:
        db.execute(text if text.startswith("EXPLAIN ") else "EXPLAIN " + text)
    except (sqlite3.Error, sqlite3.Warning) as error:
        assert not re.search("syntax error|unrecognized token|incomplete input|one statement",
                             str(error)), f"{file}: {name}: {error}"
    db.close()


CALLS = re.compile(r"\bcounter_(?:replicate|replicate_all|track|untrack|opening|bound)\(")


def test_a_statement_of_a_script_makes_one_call_that_changes_a_table_for_a_fault_may_come_between_two():
    several = [f"{path.name}:{number}" for path in sorted((ROOT / "tests" / "sql").glob("*.sql"))
               for number, line in enumerate(path.read_text().splitlines(), 1)
               if not line.startswith("--") and len(CALLS.findall(line)) > 1]
    assert not several
