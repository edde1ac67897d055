"""test_merge_git.py - sqlite-counter merge as git's merge driver, and a database as text for git diff."""

import os
import shutil
import sqlite3
import subprocess

import pytest

from program import PROGRAM, fails, ok, run

pytestmark = pytest.mark.skipif(not shutil.which("git"), reason="needs git")

STOCK = """
CREATE TABLE item(id INTEGER PRIMARY KEY, name TEXT UNIQUE, n INTEGER);
INSERT INTO item VALUES (1, 'tea', 5), (2, 'rice', 6);
"""


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f"{PROGRAM.parent}:{os.environ['PATH']}")
    for name, value in {"HOME": str(tmp_path), "GIT_AUTHOR_NAME": "n", "GIT_AUTHOR_EMAIL": "e", "GIT_COMMITTER_NAME": "n", "GIT_COMMITTER_EMAIL": "e"}.items():
        monkeypatch.setenv(name, value)
    git("init", "-q", "-b", "main", ".")
    return tmp_path


def git(*words, status=0):
    done = subprocess.run(["git", *words], capture_output=True, text=True)
    assert done.returncode == status, (done.returncode, done.stdout, done.stderr)
    return done.stdout


def change(script, path="stock.db"):
    db = sqlite3.connect(path, isolation_level=None)
    db.executescript(script)
    db.close()


def commit(script):
    change(script)
    git("add", "-A")
    git("commit", "-qm", "change", "--allow-empty")


def fork(base, feature, main):
    ok("merge", "--install-git-driver")
    commit(base)
    git("checkout", "-qb", "feature")
    commit(feature)
    git("checkout", "-q", "main")
    commit(main)


def rows(sql):
    db = sqlite3.connect("stock.db")
    found = db.execute(sql).fetchall()
    assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    db.close()
    return found


def test_two_branches_merge():
    fork(STOCK, "INSERT INTO item VALUES (3, 'salt', 1); UPDATE item SET n = 4 WHERE id = 1", "INSERT INTO item VALUES (3, 'oil', 1); UPDATE item SET n = 3 WHERE id = 2")
    out = git("merge", "feature", "-m", "m")
    assert "item: 1 new, 1 changed, 1 renumbered (3→4)\n" in out and "adopt stock.db" in out
    assert rows("SELECT * FROM item") == [(1, "tea", 4), (2, "rice", 3), (3, "oil", 1), (4, "salt", 1)]
    assert git("status", "--short") == ""


def test_a_feature_that_goes_on_is_merged_again():
    fork(STOCK, "INSERT INTO item VALUES (3, 'salt', 1)", "INSERT INTO item VALUES (3, 'oil', 1)")
    git("merge", "-q", "feature", "-m", "m")
    git("checkout", "-q", "feature")
    commit("UPDATE item SET n = 9 WHERE id = 3; INSERT INTO item VALUES (4, 'egg', 1)")
    git("checkout", "-q", "main")
    git("merge", "-q", "feature", "-m", "m")
    assert rows("SELECT * FROM item WHERE id > 2") == [(3, "oil", 1), (4, "salt", 9), (5, "egg", 1)]
    git("checkout", "-q", "feature")
    git("merge", "-q", "main")  # by fast-forward
    assert rows("SELECT name FROM item WHERE id = 4") == [("salt",)]


def test_main_goes_on_and_is_merged_into_the_feature():
    """The numbers that main gave stand in it: merging the other way says so."""
    fork(STOCK, "INSERT INTO item VALUES (3, 'salt', 1)", "INSERT INTO item VALUES (3, 'oil', 1)")
    git("merge", "-q", "feature", "-m", "m")
    git("checkout", "-q", "feature")
    commit("UPDATE item SET n = 9 WHERE id = 3")
    done = subprocess.run(["git", "merge", "main", "-m", "m"], capture_output=True, text=True)
    assert done.returncode == 1 and "stock.db: item was renumbered since BASE (row 3 is 4 there now): merge this branch into the other one first" in done.stderr
    git("merge", "--abort")
    assert rows("SELECT * FROM item WHERE id > 2") == [(3, "salt", 9)]


def test_a_branch_is_rebased_again_and_merged():
    fork(STOCK, "INSERT INTO item VALUES (3, 'salt', 1)", "INSERT INTO item VALUES (3, 'oil', 1)")
    git("checkout", "-q", "feature")
    git("rebase", "-q", "main")
    commit("UPDATE item SET n = 2 WHERE name = 'salt'")
    git("checkout", "-q", "main")
    commit("INSERT INTO item VALUES (4, 'egg', 1)")
    git("branch", "later")
    git("merge", "-q", "feature", "-m", "m")
    assert rows("SELECT * FROM item WHERE id > 2") == [(3, "oil", 1), (4, "egg", 1), (5, "salt", 2)]
    git("checkout", "-q", "feature")
    git("rebase", "-q", "later")
    assert rows("SELECT * FROM item WHERE id > 2") == [(3, "oil", 1), (4, "egg", 1), (5, "salt", 2)]


def test_a_row_of_a_branch_that_both_have_merged_is_one_row():
    fork("CREATE TABLE item(id INTEGER PRIMARY KEY, name TEXT)", "INSERT INTO item VALUES (1, 'salt')", "INSERT INTO item VALUES (1, 'oil')")
    git("branch", "release")
    git("merge", "-q", "feature", "-m", "m")
    commit("UPDATE item SET name = 'sea salt' WHERE id = 2")
    git("checkout", "-q", "release")
    git("merge", "-q", "feature", "-m", "another commit")
    commit("INSERT INTO item VALUES (3, 'egg')")
    git("checkout", "-q", "main")
    assert "conflict  item 2 name: ours 'sea salt', theirs 'salt': took ours\n" in git("merge", "release", "-m", "m", status=1)
    assert rows("SELECT * FROM item") == [(1, "oil"), (2, "sea salt"), (3, "egg")]


def test_branches_that_merged_each_other_are_refused():
    fork("CREATE TABLE item(id INTEGER PRIMARY KEY, name TEXT)", "INSERT INTO item VALUES (1, 'salt')", "INSERT INTO item VALUES (1, 'oil')")
    git("branch", "before")
    git("merge", "-q", "feature", "-m", "m")
    git("checkout", "-q", "feature")
    git("merge", "-q", "before", "-m", "m")
    assert rows("SELECT * FROM item") == [(1, "salt"), (2, "oil")]
    done = subprocess.run(["git", "merge", "main", "-m", "m"], capture_output=True, text=True)
    assert done.returncode == 1 and "stock.db: item was renumbered since BASE" in done.stderr
    assert rows("SELECT * FROM item") == [(1, "salt"), (2, "oil")]


def test_conflicts_that_were_committed_are_named_and_stop_no_merge_once_they_are_dropped():
    fork(STOCK, "UPDATE item SET n = 4 WHERE id = 1", "UPDATE item SET n = 3 WHERE id = 1")
    git("merge", "-q", "feature", "-m", "m", status=1)
    git("commit", "-qam", "not looked at")
    git("checkout", "-qb", "other")
    commit("INSERT INTO item VALUES (3, 'salt', 1)")
    git("checkout", "-q", "main")
    commit("INSERT INTO item VALUES (3, 'oil', 1)")
    done = subprocess.run(["git", "merge", "other", "-m", "m"], capture_output=True, text=True)
    assert done.returncode == 1 and "merge: stock.db has conflicts of a merge before" in done.stderr
    git("merge", "--abort")
    commit("DROP TABLE _merge_conflicts")
    done = subprocess.run(["git", "merge", "other", "-m", "m"], capture_output=True, text=True)
    assert done.returncode == 1 and "merge: stock.db (theirs) has conflicts of a merge before" in done.stderr
    git("merge", "--abort")
    git("checkout", "-q", "other")
    commit("DROP TABLE _merge_conflicts")
    git("checkout", "-q", "main")
    git("merge", "-q", "other", "-m", "m")
    assert rows("SELECT name FROM item WHERE id > 2") == [("oil",), ("salt",)]


def test_a_conflict_is_one_for_git_and_stands_in_the_file():
    fork(STOCK, "UPDATE item SET n = 4 WHERE id = 1", "UPDATE item SET n = 3 WHERE id = 1; UPDATE item SET n = 0 WHERE id = 2")
    assert "conflict  item 1 n: base 5, ours 3, theirs 4: took ours\n" in git("merge", "feature", "-m", "m", status=1)
    assert git("status", "--short") == "UU stock.db\n"
    assert rows("SELECT n FROM item") == [(3,), (0,)]
    assert rows("SELECT table_name, row_key, column_name, theirs FROM _merge_conflicts") == [("item", "[1]", "n", 4)]
    change("DROP TABLE _merge_conflicts; UPDATE item SET n = 2 WHERE id = 1")
    git("commit", "-qam", "both")


def test_a_file_that_both_branches_added_is_merged():
    ok("merge", "--install-git-driver")
    git("add", "-A")
    git("commit", "-qm", "empty")
    git("checkout", "-qb", "feature")
    commit(STOCK)
    git("checkout", "-q", "main")
    commit(STOCK.replace("'rice', 6", "'oil', 1"))
    git("merge", "-q", "feature", "-m", "m")
    assert rows("SELECT name FROM item ORDER BY id") == [("tea",), ("oil",), ("rice",)]


def test_files_in_wal_mode_leave_nothing_behind(place):
    fork("PRAGMA journal_mode = wal;" + STOCK, "UPDATE item SET n = 4 WHERE id = 1", "UPDATE item SET n = 3 WHERE id = 2")
    git("merge", "-q", "feature", "-m", "m")
    assert rows("SELECT n FROM item") == [(4,), (3,)]
    assert not [name for name in os.listdir(place) if "merge_file" in name or "merging" in name or "-wal" in name]


def test_a_file_that_is_open_is_refused():
    fork("PRAGMA journal_mode = wal;" + STOCK, "UPDATE item SET n = 4 WHERE id = 1", "UPDATE item SET n = 3 WHERE id = 2")
    db = sqlite3.connect("stock.db", isolation_level=None)
    db.execute("UPDATE item SET n = 7 WHERE id = 2")
    before = open("stock.db", "rb").read()
    done = subprocess.run(["git", "merge", "feature", "-m", "m"], capture_output=True, text=True)
    assert done.returncode != 0
    status, out, error = run("merge", "--driver", "stock.db", "stock.db", "stock.db", "stock.db")
    assert open("stock.db", "rb").read() == before
    db.close()


def test_the_driver_refuses_a_file_whose_log_is_not_empty():
    for name in "base.db", "ours.db", "theirs.db":
        change(STOCK, name)
    change(STOCK)
    open("stock.db-wal", "w").write("something")
    fails("merge: stock.db-wal has what is not in the file yet: close the application that has it open first", "merge", "--driver", "base.db", "ours.db",
          "theirs.db", "stock.db", status=2)


def test_installing_twice_changes_nothing():
    ok("merge", "--install-git-driver", "*.db", "*.sqlite")
    before = [open(name).read() for name in (".gitattributes", ".gitignore")]
    ok("merge", "--install-git-driver", "*.db", "*.sqlite")
    assert [open(name).read() for name in (".gitattributes", ".gitignore")] == before
    assert before[0] == "*.db merge=sqlite-counter diff=sqlite-counter -text\n*.sqlite merge=sqlite-counter diff=sqlite-counter -text\n"


def test_where_there_is_no_git_it_says_so(tmp_path_factory, monkeypatch):
    monkeypatch.chdir(tmp_path_factory.mktemp("none"))
    fails("merge: --install-git-driver: this folder is in no work tree of git", "merge", "--install-git-driver", status=2)


def test_a_database_is_text_for_git_diff():
    fork(STOCK + "CREATE TABLE log(x); INSERT INTO log VALUES (x'00ff'), ('it''s')", "UPDATE item SET n = 4 WHERE id = 1", "")
    out = git("diff", "main", "feature")
    assert '-item {"id": 1, "name": "tea", "n": 5}\n+item {"id": 1, "name": "tea", "n": 4}\n' in out
    assert ok("merge", "--text", "stock.db") == """\
CREATE TABLE item(id INTEGER PRIMARY KEY, name TEXT UNIQUE, n INTEGER);
CREATE TABLE log(x);
item {"id": 1, "name": "tea", "n": 5}
item {"id": 2, "name": "rice", "n": 6}
log {"x": "it's"}
log {"x": {"hex": "00ff"}}
"""


def test_options_stand_in_the_top_folder():
    open(".sqlite-merge", "w").write("--add item.n\n")
    fork(STOCK, "UPDATE item SET n = n + 4 WHERE id = 1", "UPDATE item SET n = n + 3 WHERE id = 1")
    git("merge", "-q", "feature", "-m", "m")
    assert rows("SELECT n FROM item WHERE id = 1") == [(12,)]
