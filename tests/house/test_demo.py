"""test_demo.py - the demonstration runs, and the agreement that it reports is a real comparison."""

import pathlib
import re
import sqlite3
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
DEMO = ROOT / "examples" / "demo.sh"


def run(*arguments, folder=ROOT):
    return subprocess.run([DEMO, *arguments], cwd=folder, capture_output=True, text=True)


@pytest.fixture
def files(tmp_path):
    """Two files that agree."""
    for name in "ab":
        db = sqlite3.connect(tmp_path / f"{name}.db", isolation_level=None)
        db.enable_load_extension(True)
        db.load_extension(str(ROOT / "build" / "counter"))
        db.execute("CREATE TABLE products(sku TEXT PRIMARY KEY, name TEXT NOT NULL, price REAL, stock INTEGER)")
        db.execute("SELECT counter_replicate('products', 'stock')").fetchall()
        if name == "a":
            db.execute("INSERT INTO products VALUES ('tea', 'Tea', 4.5, 1)")
        else:
            db.execute("ATTACH ? AS a", [str(tmp_path / "a.db")])
            db.execute("SELECT * FROM counter_sync('a')").fetchall()
        db.close()
    return tmp_path


def test_the_demo_ends_with_both_in_agreement(tmp_path):
    done = run(folder=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr == ""
    assert done.stdout.count("both agree") == 2
    assert done.stdout.rstrip().endswith("both agree.")


def test_the_demo_shows_rows_that_have_the_changes_of_both(tmp_path):
    told = run(folder=tmp_path).stdout
    assert len(re.findall(r"^jam +Plum jam +3.9 +12 *\n(?:.*\n){2}tea +Green tea +4.8 +7 *$", told, re.M)) == 2  # in both files
    assert re.search(r"^jam +Plum jam +3.9 +8 *\nsalt +Salt +1.5 +8 *\ntea +Green tea +5.2 +7 *$", told, re.M)


def test_the_demo_fits_two_screens(tmp_path):
    lines = run(folder=tmp_path).stdout.splitlines()
    assert len(lines) <= 100 and max(map(len, lines)) <= 120


def test_the_demo_leaves_nothing_behind(tmp_path):
    run(folder=tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_files_that_agree_are_said_to_agree(files):
    done = run("agree", "a.db", "b.db", folder=files)
    assert (done.returncode, done.stdout) == (0, "all 2 agree\n")


@pytest.mark.parametrize("sql", [
    "UPDATE products_counters_cells SET stock = x'c103'",  # another count
    "DROP TRIGGER products_counters_row; UPDATE products SET name = 'Black tea'",  # another name
    "DROP TRIGGER products_counters_before_delete; DROP TRIGGER products_counters_delete; DELETE FROM products",  # a row that is not shown
    "INSERT INTO products_counters_cells(sku, _row) VALUES ('x', x'02')",  # a deletion more
    "DELETE FROM products_counters_cells",  # a row less
    "DROP TABLE products_counters_cells"])  # a file that cannot be read
def test_files_that_differ_are_said_to_disagree(files, sql):
    with sqlite3.connect(files / "b.db") as db:
        db.executescript(sql)
    db.close()
    done = run("agree", "a.db", "b.db", folder=files)
    assert done.returncode != 0
    assert "agree\n" not in done.stdout


def test_the_seats_are_sold_and_none_twice(tmp_path):
    done = subprocess.run([DEMO.parent / "seats.sh"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr == "" and done.stdout.rstrip().endswith("twelve were sold, none twice.")
    assert done.stdout.count("have a file grant some, or sync with one") == 3
    assert list(tmp_path.iterdir()) == []


def test_the_shop_ends_with_all_three_in_agreement(tmp_path):
    done = subprocess.run([DEMO.parent / "shop.sh"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr == "" and done.stdout.rstrip().endswith("all agree.")
    assert list(tmp_path.iterdir()) == []
