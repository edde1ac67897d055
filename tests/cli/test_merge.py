"""test_merge.py - sqlite-counter merge: files that nobody prepared, and what each rule gives."""

import json
import os
import pathlib
import sqlite3
import stat
import time

import pytest

import program
from program import fails, run

SONGS = """
CREATE TABLE song(id INTEGER PRIMARY KEY, title TEXT UNIQUE, plays INTEGER, rating INTEGER);
CREATE TABLE tag(id INTEGER PRIMARY KEY, name TEXT UNIQUE);
CREATE TABLE song_tag(song INTEGER REFERENCES song, tag INTEGER REFERENCES tag, PRIMARY KEY (song, tag));
INSERT INTO song VALUES (1, 'a', 5, 1), (2, 'b', 6, 2), (3, 'c', 7, 3);
INSERT INTO tag VALUES (1, 'x'), (2, 'y');
INSERT INTO song_tag VALUES (1, 1), (2, 2);
"""


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def make(path, *scripts):
    db = sqlite3.connect(path, isolation_level=None)
    for script in scripts:
        db.executescript(script)
    db.close()


def files(base, ours="", theirs=""):
    for path in "base.db", "ours.db", "theirs.db":
        if os.path.exists(path):
            os.remove(path)
    make("base.db", base)
    make("ours.db", base, ours)
    make("theirs.db", base, theirs)


def content(path):
    """The bytes of a file and of what stands beside it."""
    return {name: open(name, "rb").read() for name in sorted(os.listdir(".")) if name.startswith(path)}


def rows(sql, path="ours.db"):
    db = sqlite3.connect(path)
    found = db.execute(sql).fetchall()
    assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    db.close()
    return found


def merge(*options, status=0):
    """Merges, and returns the objects of --json; BASE and THEIRS stay as they were."""
    before = content("base.db"), content("theirs.db")
    seen, out, error = run("merge", "--json", *options, "base.db", "ours.db", "theirs.db")
    assert (seen, error) == (status, ""), (seen, out, error)
    assert (content("base.db"), content("theirs.db")) == before
    return [json.loads(line) for line in out.splitlines()]


def conflicts(lines):
    return [line["conflict"] for line in lines if "conflict" in line]


def of_table(lines, name):
    return next(line for line in lines if line.get("table") == name)


def refused(sentence, *options, words=("base.db", "ours.db", "theirs.db")):
    """Nothing is changed; what stands beside the files stays, too."""
    before = {name: open(name, "rb").read() for name in os.listdir(".") if os.path.isfile(name)}
    fails(sentence, "merge", *options, *words, status=2)
    assert {name: open(name, "rb").read() for name in os.listdir(".") if os.path.isfile(name)} == before


# ---- rows ----

def test_a_column_takes_the_side_that_changed_it():
    files(SONGS, "UPDATE song SET title = 'A' WHERE id = 1", "UPDATE song SET rating = 9 WHERE id = 1")
    lines = merge()
    assert rows("SELECT * FROM song WHERE id = 1") == [(1, "A", 5, 9)]
    assert not conflicts(lines) and of_table(lines, "song")["updated"] == 1


def test_where_both_changed_a_column_ours_stays_and_the_conflict_is_listed():
    files(SONGS, "UPDATE song SET title = 'A' WHERE id = 1", "UPDATE song SET title = 'B' WHERE id = 1")
    found, = conflicts(merge(status=1))
    assert (found["base"], found["ours"], found["theirs"], found["taken"]) == ("a", "A", "B", "ours")
    assert (found["table"], found["key"], found["column"], found["kind"]) == ("song", [1], "title", "column")
    assert rows("SELECT title FROM song WHERE id = 1") == [("A",)]


@pytest.mark.parametrize("option", ["--theirs", "--theirs=song"])
def test_theirs_stays_if_that_was_asked_for(option):
    files(SONGS, "UPDATE song SET title = 'A' WHERE id = 1", "UPDATE song SET title = 'B' WHERE id = 1")
    found, = conflicts(merge(option, status=1))
    assert found["taken"] == "theirs" and rows("SELECT title FROM song WHERE id = 1") == [("B",)]


def test_numbers_that_were_named_add_up_and_equal_changes_are_two():
    files(SONGS, "UPDATE song SET plays = plays + 2 WHERE id IN (1, 2)", "UPDATE song SET plays = plays + 2 WHERE id IN (1, 3)")
    merge("--add", "song.plays")
    assert rows("SELECT id, plays FROM song") == [(1, 9), (2, 8), (3, 9)]


def test_a_sum_that_is_no_integer_is_a_conflict():
    files(SONGS, "UPDATE song SET plays = 9223372036854775807 WHERE id = 1", "UPDATE song SET plays = 100 WHERE id = 1")
    found, = conflicts(merge("--add=song.plays", status=1))
    assert found["column"] == "plays" and rows("SELECT plays FROM song WHERE id = 1") == [(2**63 - 1,)]


def test_a_row_that_was_deleted_and_changed_stays_or_comes_back():
    files(SONGS, "DELETE FROM song WHERE id = 3; UPDATE song SET title = 'B' WHERE id = 2; DELETE FROM song_tag",
          "UPDATE song SET title = 'C' WHERE id = 3; DELETE FROM song WHERE id = 2; DELETE FROM song_tag")
    found = conflicts(merge(status=1))
    assert sorted((c["kind"], c["key"], c["taken"]) for c in found) == [("delete", [2], "ours"), ("delete", [3], "theirs")]
    assert rows("SELECT id, title FROM song ORDER BY id") == [(1, "a"), (2, "B"), (3, "C")]


def test_rows_without_a_key_are_counted():
    files("CREATE TABLE log(x); INSERT INTO log VALUES (1), (1), (1), (2), (3)",
          "DELETE FROM log WHERE rowid = 1; INSERT INTO log VALUES (4)",
          "DELETE FROM log WHERE rowid IN (1, 2); INSERT INTO log VALUES (4), (5); DELETE FROM log WHERE x = 2")
    merge("--base-is-fork")
    assert rows("SELECT x FROM log ORDER BY x") == [(1,), (3,), (4,), (4,), (5,)]


def test_many_rows_without_a_key_are_counted_once():
    many = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {}) INSERT INTO log SELECT i, '{} ' || i FROM n"
    files("CREATE TABLE log(x, y);" + many.format(30000, "base"), many.format(2000, "ours"), many.format(2000, "theirs"))
    began = time.monotonic()
    assert of_table(merge(), "log")["inserted"] == 2000 and time.monotonic() - began < 20


def test_one_and_one_point_zero_are_two_values_where_both_may_stand():
    files("CREATE TABLE t(k TEXT PRIMARY KEY, v); INSERT INTO t VALUES ('a', 1)", "", "UPDATE t SET v = 1.0")
    merge()
    assert rows("SELECT v, typeof(v) FROM t") == [(1.0, "real")]


def test_a_key_that_is_spelled_otherwise_is_the_same_key():
    files("CREATE TABLE t(k TEXT PRIMARY KEY COLLATE NOCASE, v); INSERT INTO t VALUES ('a', 1)", "UPDATE t SET v = 2", "UPDATE t SET k = 'A'")
    merge()
    assert rows("SELECT * FROM t") == [("A", 2)]


def test_rows_with_null_in_their_key_are_counted_and_the_others_are_found_by_it():
    files("CREATE TABLE t(k TEXT PRIMARY KEY, v, w); INSERT INTO t VALUES ('a', 1, 1), ('b', 2, 2), (NULL, 3, 3), (NULL, 3, 3), (NULL, 4, 4)",
          "UPDATE t SET v = 10 WHERE k = 'a'; INSERT INTO t VALUES (NULL, 5, 5); DELETE FROM t WHERE v = 4", "UPDATE t SET w = 20 WHERE k = 'a'; DELETE FROM t WHERE k = 'b' OR rowid = 3; INSERT INTO t VALUES (NULL, 5, 5), ('c', 6, 6)")
    merge("--base-is-fork")
    assert rows("SELECT * FROM t ORDER BY k, v") == [(None, 3, 3), (None, 5, 5), (None, 5, 5), ("a", 10, 20), ("c", 6, 6)]


@pytest.mark.parametrize("declaration", ["PRIMARY KEY (a, b)", "PRIMARY KEY (a, b)) WITHOUT ROWID --", "UNIQUE (a, b)"])
def test_keys_of_several_columns(declaration):
    files(f"CREATE TABLE t(a TEXT NOT NULL, b INT NOT NULL, v, w, {declaration}\n); INSERT INTO t VALUES ('x', 1, 1, 1), ('x', 2, 2, 2)".replace("--\n)", "--\n"),
          "UPDATE t SET v = 9 WHERE b = 1; DELETE FROM t WHERE b = 2", "UPDATE t SET w = 8 WHERE b = 1; INSERT INTO t VALUES ('y', 1, 0, 0)")
    merge()
    assert rows("SELECT * FROM t ORDER BY a, b") == [("x", 1, 9, 8), ("y", 1, 0, 0)]


def test_rowids_of_ours_stay():
    files("CREATE TABLE t(k TEXT PRIMARY KEY, v); INSERT INTO t(rowid, k, v) VALUES (7, 'a', 1)", "INSERT INTO t(rowid, k) VALUES (9, 'o')",
          "UPDATE t SET v = 2; INSERT INTO t(rowid, k) VALUES (9, 't'), (12, 'u')")
    merge()
    assert rows("SELECT rowid, k, v FROM t ORDER BY k") == [(7, "a", 2), (9, "o", None), (13, "t", None), (12, "u", None)]


def test_a_row_without_a_key_keeps_its_rowid_if_theirs_has_changed_it():
    files("CREATE TABLE note(v); INSERT INTO note VALUES ('a'), ('b')", "INSERT INTO note VALUES ('o')", "UPDATE note SET v = 'A' WHERE v = 'a'")
    merge()
    assert rows("SELECT rowid, v FROM note") == [(1, "A"), (2, "b"), (3, "o")]


def test_a_row_that_has_the_rowid_of_one_that_stays_moves():
    files("CREATE TABLE page(name TEXT PRIMARY KEY); CREATE TABLE link(page TEXT REFERENCES page, page_rowid); INSERT INTO page VALUES ('a')",
          "INSERT INTO link VALUES ('a', NULL)", "UPDATE page SET name = 'b'")
    found, = conflicts(merge(status=1))
    assert (found["kind"], found["key"]) == ("foreign key", ["a"]) and rows("SELECT rowid, name FROM page") == [(1, "a"), (2, "b")]


LINKS = "CREATE TABLE note(v); CREATE TABLE link(id INTEGER PRIMARY KEY, note_rowid INTEGER, url TEXT); INSERT INTO note VALUES ('a'), ('b'); INSERT INTO link VALUES (1, 1, 'to a');"


def test_a_row_whose_rowid_has_moved_is_found_by_references_of_later_merges():
    files(LINKS, "INSERT INTO note VALUES ('o')", "INSERT INTO note VALUES ('t')")
    merge()
    make("theirs.db", "INSERT INTO note VALUES ('u')")
    os.remove("base.db")
    make("base.db", LINKS, "INSERT INTO note VALUES ('t')")
    make("theirs.db", "INSERT INTO link VALUES (2, 3, 'to t'), (3, 4, 'to u')")
    merge("--ref", "link.note_rowid=note")
    found = rows("SELECT url, v FROM link JOIN note ON note.rowid = note_rowid ORDER BY 1")
    assert found == [("to a", "a"), ("to t", "t"), ("to u", "u")]
    os.replace("theirs.db", "base.db")
    make("theirs.db", LINKS, "INSERT INTO note VALUES ('t'), ('u')", "INSERT INTO link VALUES (2, 3, 'to t'), (3, 4, 'to u')", "INSERT INTO link VALUES (4, 4, 'to u again')")
    merge("--ref", "link.note_rowid=note")
    assert rows("SELECT url, v FROM link JOIN note ON note.rowid = note_rowid ORDER BY 1") == found + [("to u again", "u")]


def test_a_row_that_has_the_rowid_of_one_that_has_moved_before_is_not_lost():
    schema, goes_on = "CREATE TABLE note(v, of_rowid);", ["INSERT INTO note(v) VALUES ('t')", "INSERT INTO note(v) VALUES ('u')", "UPDATE note SET v = 'U' WHERE v = 'u'; INSERT INTO note(v) VALUES ('x')"]
    files(schema, "INSERT INTO note(v) VALUES ('o')", goes_on[0])
    merge()
    for n in 1, 2:
        make("next.db", schema, *goes_on[:n])
        os.replace("next.db", "base.db")
        make("theirs.db", goes_on[n])
        merge()
    assert rows("SELECT rowid, v FROM note") == [(1, "o"), (2, "t"), (3, "U"), (4, "x")]


def test_a_column_that_is_called_rowid_is_asked_about():
    files(LINKS, "INSERT INTO note VALUES ('o'); INSERT INTO link VALUES (2, 3, 'to o')", "INSERT INTO note VALUES ('t'); INSERT INTO link VALUES (2, 3, 'to t'), (3, 1, 'to a, too')")
    assert merge(status=2) == [{"ask": "--ref link.note_rowid=note or --no-ref link.note_rowid"}]
    merge("--ref", "link.note_rowid=note")
    assert rows("SELECT url, v FROM link JOIN note ON note.rowid = note_rowid") == [("to a", "a"), ("to o", "o"), ("to t", "t"), ("to a, too", "a")]


def test_a_reference_leads_to_a_table_with_numbers():
    files(LINKS + "CREATE TABLE page(name TEXT PRIMARY KEY) WITHOUT ROWID")
    refused("merge: --ref link.note_rowid=page: rows of page have no numbers", "--ref", "link.note_rowid=page")


def test_a_column_called_rowid_may_be_renamed():
    files("CREATE TABLE t(k TEXT PRIMARY KEY, rowid)", "ALTER TABLE t RENAME COLUMN rowid TO place", "INSERT INTO t VALUES ('a', 'x')")
    merge()
    assert rows("SELECT k, place FROM t") == [("a", "x")]


def test_columns_may_have_all_names_of_the_rowid():
    files("CREATE TABLE t(id INTEGER PRIMARY KEY, rowid, _rowid_, oid); INSERT INTO t VALUES (1, 1, 1, 1), (2, 2, 2, 2)",
          "UPDATE t SET oid = 5; INSERT INTO t VALUES (3, 3, 3, 3)", "UPDATE t SET rowid = 9 WHERE id = 1; DELETE FROM t WHERE id = 2; INSERT INTO t VALUES (3, 4, 4, 4)")
    merge(status=1)
    assert rows("SELECT * FROM t") == [(1, 9, 1, 5), (2, 2, 2, 5), (3, 3, 3, 3), (4, 4, 4, 4)]


def test_a_table_without_a_key_and_a_name_for_its_rowid_is_merged_if_theirs_has_not_changed_it():
    files("CREATE TABLE t(rowid, oid, _rowid_); CREATE TABLE n(id INTEGER PRIMARY KEY)", "INSERT INTO t VALUES (1, 2, 3)", "INSERT INTO n VALUES (1)")
    merge()
    assert rows("SELECT * FROM t") == [(1, 2, 3)] and rows("SELECT * FROM n") == [(1,)]
    make("theirs.db", "INSERT INTO t VALUES (4, 5, 6)")
    refused("merge: t: the table has no key, and no name is left for its rowid")


def test_rowids_of_ours_stay_in_a_table_made_anew():
    files("CREATE TABLE t(k TEXT PRIMARY KEY, v); INSERT INTO t(rowid, k, v) VALUES (7, 'a', 1), (9, 'b', 2)", "DELETE FROM t WHERE k = 'a'",
          "CREATE TABLE n(k TEXT PRIMARY KEY, v CHECK (1)); INSERT INTO n SELECT * FROM t; DROP TABLE t; ALTER TABLE n RENAME TO t")
    merge()
    assert rows("SELECT rowid, k FROM t") == [(9, "b")]


def test_a_generated_column_may_be_called_rowid():
    files("CREATE TABLE t(k TEXT PRIMARY KEY, v, rowid AS (length(k)))", "INSERT INTO t VALUES ('a', 1)", "INSERT INTO t VALUES ('bc', 2)")
    merge()
    assert rows("SELECT k, v, rowid FROM t") == [("a", 1, 1), ("bc", 2, 2)]


def test_a_table_with_one_row_has_that_row_in_all_files():
    files("CREATE TABLE settings(a, b); INSERT INTO settings VALUES (1, 2)", "UPDATE settings SET a = 10", "UPDATE settings SET b = 20")
    merge()
    assert rows("SELECT * FROM settings") == [(10, 20)]


def test_the_row_of_a_table_with_one_row_may_be_in_conflict():
    files("CREATE TABLE total(n); INSERT INTO total VALUES (1)", "UPDATE total SET n = 10", "UPDATE total SET n = 20")
    status, out, error = run("merge", "base.db", "ours.db", "theirs.db")
    assert (status, out, error) == (1, "total: 1 conflict\nconflict  total n: base 1, ours 10, theirs 20: took ours\n1 number of total.n was changed on both sides: --add total.n adds them up, if OURS is as it was before this merge\n", "")
    merge("--add", "total.n")
    assert rows("SELECT n FROM total") == [(29,)]


def test_a_row_without_a_key_that_both_changed_is_noted():
    files("CREATE TABLE log(x, y); INSERT INTO log VALUES (1, 1), (2, 2)", "UPDATE log SET y = 10 WHERE x = 1", "UPDATE log SET y = 20 WHERE x = 1")
    notes = [line["note"] for line in merge() if "note" in line]
    assert "1 row of log, which has no key, went on both sides, and others came: one that was changed on both sides is two rows now" in notes
    assert sorted(rows("SELECT y FROM log")) == [(2,), (10,), (20,)]


# ---- numbers ----

def test_a_new_row_whose_number_is_taken_moves_and_references_follow():
    files(SONGS, "INSERT INTO song VALUES (4, 'ours', 0, 0); INSERT INTO tag VALUES (3, 'o'); INSERT INTO song_tag VALUES (4, 3)",
          "INSERT INTO song VALUES (4, 'theirs', 0, 0), (5, 'last', 0, 0); INSERT INTO tag VALUES (3, 't'); INSERT INTO song_tag VALUES (4, 3), (5, 1)")
    lines = merge()
    assert of_table(lines, "song")["renumbered"] == [[4, 6], [5, 7]]
    assert rows("SELECT s.title, t.name FROM song_tag JOIN song AS s ON s.id = song JOIN tag AS t ON t.id = tag ORDER BY s.id") == [
        ("a", "x"), ("b", "y"), ("ours", "o"), ("theirs", "t"), ("last", "x")]


def test_a_new_row_with_the_unique_values_of_a_new_row_is_that_row():
    files(SONGS, "INSERT INTO tag VALUES (3, 'rock'), (4, 'pop'); INSERT INTO song_tag VALUES (1, 3)",
          "INSERT INTO tag VALUES (3, 'pop'), (4, 'rock'); INSERT INTO song_tag VALUES (2, 4)")
    lines = merge()
    assert of_table(lines, "tag")["joined"] == 2
    assert rows("SELECT song, name FROM song_tag JOIN tag ON tag.id = tag ORDER BY 1, 2") == [(1, "rock"), (1, "x"), (2, "rock"), (2, "y")]


def test_a_row_that_refers_to_itself_is_none_that_base_has():
    files("CREATE TABLE c(id INTEGER PRIMARY KEY, name TEXT, up INT UNIQUE REFERENCES c); INSERT INTO c VALUES (1, 'top', 1)", *2 * ["INSERT INTO c VALUES (2, 'new', 2)"])
    lines = merge()
    assert of_table(lines, "c")["joined"] == 1 and rows("SELECT * FROM c") == [(1, "top", 1), (2, "new", 2)]


def test_a_child_of_a_new_row_may_have_the_unique_values_of_a_new_row():
    files("CREATE TABLE c(id INTEGER PRIMARY KEY, parent INT REFERENCES c, name TEXT UNIQUE)", "INSERT INTO c VALUES (1, NULL, 'a')",
          "INSERT INTO c VALUES (1, NULL, 'b'), (2, 1, 'a')")
    lines = merge(status=1)
    assert [(c["kind"], c["key"], c["column"]) for c in conflicts(lines)] == [("column", [1], "parent")]
    assert rows("SELECT * FROM c") == [(1, None, "a"), (3, None, "b")]


def test_a_child_that_stands_before_its_parent_is_known_by_unique_values():
    files("CREATE TABLE c(id INTEGER PRIMARY KEY, parent INT REFERENCES c, name TEXT, UNIQUE (parent, name)); INSERT INTO c VALUES (1, NULL, 'top')",
          "INSERT INTO c VALUES (2, 1, 'x'), (3, 4, 'child'), (4, 2, 'root')", "INSERT INTO c VALUES (2, 3, 'child'), (3, 4, 'root'), (4, 1, 'x')")
    assert of_table(merge(), "c")["joined"] == 3
    assert rows("SELECT * FROM c") == [(1, None, "top"), (2, 1, "x"), (3, 4, "child"), (4, 2, "root")]


def test_a_row_that_refers_to_a_row_of_theirs_alone_is_not_equal_to_one_without():
    files("CREATE TABLE t(id INTEGER PRIMARY KEY, up INT REFERENCES t, v)", "INSERT INTO t VALUES (1, NULL, 'a')", "INSERT INTO t VALUES (1, 2, 'a'), (2, NULL, 'b')")
    merge()
    assert rows("SELECT * FROM t") == [(1, None, "a"), (3, 4, "a"), (4, None, "b")]


def test_equal_new_rows_that_refer_to_each_other_are_one_row_each():
    files("CREATE TABLE t(id INTEGER PRIMARY KEY, up INT REFERENCES t, v)", *2 * ["INSERT INTO t VALUES (1, 2, 'a'), (2, 1, 'b'), (3, 3, 'c')"])
    assert of_table(merge(), "t")["same"] == 3
    assert rows("SELECT * FROM t") == [(1, 2, "a"), (2, 1, "b"), (3, 3, "c")]
    make("ours.db", "UPDATE t SET v = 'z' WHERE id = 2")
    merge()
    assert rows("SELECT * FROM t") == [(1, 2, "a"), (2, 1, "z"), (3, 3, "c"), (4, 5, "a"), (5, 4, "b")]


def test_equal_new_rows_are_one_row():
    files("CREATE TABLE t(id INTEGER PRIMARY KEY, a, b)", "INSERT INTO t VALUES (1, 'a', 2)", "INSERT INTO t VALUES (1, 'a', 2)")
    assert of_table(merge(), "t")["same"] == 1
    assert rows("SELECT * FROM t") == [(1, "a", 2)]


def test_children_of_rows_that_moved_are_no_rows_of_the_others():
    files("CREATE TABLE o(id INTEGER PRIMARY KEY, who); CREATE TABLE line(id INTEGER PRIMARY KEY, o INT REFERENCES o, name TEXT, n INT, UNIQUE (o, name))",
          "INSERT INTO o VALUES (1, 'ann'); INSERT INTO line VALUES (1, 1, 'tea', 2)",
          "INSERT INTO o VALUES (1, 'bob'); INSERT INTO line VALUES (1, 1, 'tea', 5)")
    merge()
    assert rows("SELECT who, name, n FROM line JOIN o ON o.id = o ORDER BY who") == [("ann", "tea", 2), ("bob", "tea", 5)]


def test_rows_of_a_tree_follow_their_parents():
    files("CREATE TABLE c(id INTEGER PRIMARY KEY, parent INT REFERENCES c, name TEXT, UNIQUE (parent, name)); INSERT INTO c VALUES (1, NULL, 'root')",
          "INSERT INTO c VALUES (2, 1, 'a'), (3, 2, 'b'), (4, 3, 'ours')",
          "INSERT INTO c VALUES (2, 1, 'z'), (3, 1, 'a'), (4, 3, 'b'), (5, 4, 'theirs')")
    merge()
    path = "WITH RECURSIVE p(id, path) AS (SELECT id, name FROM c WHERE parent IS NULL UNION ALL SELECT c.id, path || '/' || name FROM c JOIN p ON c.parent = p.id) "
    assert rows(path + "SELECT path FROM p ORDER BY 1") == [("root",), ("root/a",), ("root/a/b",), ("root/a/b/ours",), ("root/a/b/theirs",), ("root/z",)]


def test_one_to_one_rows_follow_their_parent():
    files("CREATE TABLE u(id INTEGER PRIMARY KEY, name); CREATE TABLE profile(u INTEGER PRIMARY KEY REFERENCES u, bio)",
          "INSERT INTO u VALUES (1, 'ann'); INSERT INTO profile VALUES (1, 'A')", "INSERT INTO u VALUES (1, 'bob'); INSERT INTO profile VALUES (1, 'B')")
    merge()
    assert rows("SELECT name, bio FROM u JOIN profile ON u = id ORDER BY 1") == [("ann", "A"), ("bob", "B")]


def test_assigned_numbers_are_one_row():
    files("CREATE TABLE t(id INTEGER PRIMARY KEY, a, b)", "INSERT INTO t VALUES (7, 'o', 1)", "INSERT INTO t VALUES (7, 't', 1)")
    found, = conflicts(merge("--assigned", "t", status=1))
    assert found["column"] == "a" and rows("SELECT * FROM t") == [(7, "o", 1)]


UNDECLARED = "CREATE TABLE tag(id INTEGER PRIMARY KEY, name); CREATE TABLE note_tag(note TEXT, tag_id INTEGER, n INT)"


def test_what_looks_like_a_reference_is_asked_and_never_guessed():
    files(UNDECLARED, "INSERT INTO tag VALUES (1, 'o')", "INSERT INTO tag VALUES (1, 't'); INSERT INTO note_tag VALUES ('x', 1, 1)")
    before = content("ours.db")
    lines = merge(status=2)
    assert lines == [{"ask": "--ref note_tag.tag_id=tag or --no-ref note_tag.tag_id"}]
    assert content("ours.db") == before
    status, out, error = run("merge", "base.db", "ours.db", "theirs.db")
    assert (status, out, error) == (2, "--ref note_tag.tag_id=tag or --no-ref note_tag.tag_id\n", "")


def test_the_answer_to_the_question_is_taken():
    files(UNDECLARED, "INSERT INTO tag VALUES (1, 'o')", "INSERT INTO tag VALUES (1, 't'); INSERT INTO note_tag VALUES ('x', 1, 1)")
    merge("--ref", "note_tag.tag_id=tag")
    assert rows("SELECT name FROM note_tag JOIN tag ON tag_id = id") == [("t",)]


def test_a_number_that_autoincrement_has_given_out_is_not_given_again():
    files("CREATE TABLE t(id INTEGER PRIMARY KEY AUTOINCREMENT, name)", "INSERT INTO t VALUES (1, 'gone'); DELETE FROM t", "INSERT INTO t VALUES (1, 'new')")
    merge()
    assert rows("SELECT * FROM t") == [(2, "new")]


def test_the_greater_sequence_of_autoincrement_stays():
    files("CREATE TABLE note(id INTEGER PRIMARY KEY AUTOINCREMENT, v); CREATE TABLE page(id INTEGER PRIMARY KEY AUTOINCREMENT); INSERT INTO note(v) VALUES (1)",
          "INSERT INTO note(v) VALUES (2)", "INSERT INTO note(v) VALUES (3), (4), (5); DELETE FROM note WHERE id > 1; INSERT INTO page VALUES (7); DELETE FROM page")
    merge()
    assert rows("SELECT * FROM sqlite_sequence ORDER BY name") == [("note", 4), ("page", 7)]


def test_what_refers_to_a_row_that_is_gone_does_not_refer_to_a_new_one():
    files(UNDECLARED, "INSERT INTO tag VALUES (1, 'o'), (2, 'gone'); INSERT INTO note_tag VALUES ('x', 2, 1); DELETE FROM tag WHERE id = 2", "INSERT INTO tag VALUES (2, 't'); INSERT INTO note_tag VALUES ('y', 2, 1)")
    merge("--ref", "note_tag.tag_id=tag")
    assert rows("SELECT note, name FROM note_tag LEFT JOIN tag ON tag_id = id ORDER BY 1") == [("x", None), ("y", "t")]


def test_what_refers_to_a_row_that_is_gone_by_a_foreign_key_that_was_not_enforced_does_not_refer_to_a_new_one():
    files(THINGS, "INSERT INTO child VALUES ('x', 1)", "INSERT INTO t VALUES (1, 'new', 0); INSERT INTO child VALUES ('y', 1)")
    merge()
    assert rows("SELECT n, name FROM child LEFT JOIN t ON id = t ORDER BY n") == [("x", None), ("y", "new")]


def test_the_answer_may_be_no():
    files(UNDECLARED, "INSERT INTO tag VALUES (1, 'o')", "INSERT INTO tag VALUES (1, 't'); INSERT INTO note_tag VALUES ('x', 1, 1)")
    merge("--no-ref", "note_tag.tag_id")
    assert rows("SELECT tag_id FROM note_tag") == [(1,)]


def test_answers_may_stand_in_a_file_beside_ours():
    files(UNDECLARED, "INSERT INTO tag VALUES (1, 'o')", "INSERT INTO tag VALUES (1, 't'); INSERT INTO note_tag VALUES ('x', 1, 1)")
    open(".sqlite-merge", "w").write("# tags\n--ref note_tag.tag_id=tag\n\n")
    merge()
    assert rows("SELECT name FROM note_tag JOIN tag ON tag_id = id") == [("t",)]


def test_a_number_that_adds_up_is_no_reference():
    files(SONGS, "INSERT INTO song VALUES (4, 'd', 0, 0)", "INSERT INTO song VALUES (4, 'e', 4, 0)")
    assert not [line for line in merge("--add", "song.plays") if "song.plays" in line.get("note", "")]


def test_what_was_renumbered_once_is_found_again():
    files(SONGS, "INSERT INTO song VALUES (4, 'ours', 0, 0)", "INSERT INTO song VALUES (4, 'theirs', 0, 0)")
    merge()
    make("next.db")
    os.replace("theirs.db", "base.db")
    make("theirs.db", SONGS, "INSERT INTO song VALUES (4, 'theirs', 0, 0)", "UPDATE song SET rating = 5 WHERE id = 4; INSERT INTO song VALUES (5, 'more', 1, 1); INSERT INTO song_tag VALUES (4, 1)")
    merge()
    assert rows("SELECT id, title, rating FROM song WHERE id > 3") == [(4, "ours", 0), (5, "theirs", 5), (6, "more", 1)]
    assert rows("SELECT title FROM song_tag JOIN song ON id = song WHERE tag = 1 ORDER BY 1") == [("a",), ("theirs",)]


def test_a_number_that_moved_is_none_that_was_used_again():
    schema = "CREATE TABLE t(id INTEGER PRIMARY KEY, name, v, w)"
    goes_on = ["INSERT INTO t VALUES (1, 'theirs', 1, 1)", "INSERT INTO t VALUES (2, 'more', 2, 2)", "UPDATE t SET w = 9 WHERE id = 2; UPDATE t SET w = 5 WHERE id = 1"]
    files(schema, "INSERT INTO t VALUES (1, 'ours', 0, 0)", goes_on[0])
    merge()
    for change in goes_on[1:]:
        make("next.db", schema, *goes_on[:goes_on.index(change)])
        os.replace("next.db", "base.db")
        make("theirs.db", change)
        lines = merge("--add", "t.v")
    assert not conflicts(lines)
    assert rows("SELECT * FROM t") == [(1, "ours", 0, 0), (2, "theirs", 1, 5), (3, "more", 2, 9)]


THINGS = "CREATE TABLE t(id INTEGER PRIMARY KEY, name TEXT UNIQUE, v); CREATE TABLE child(n TEXT PRIMARY KEY, t INT REFERENCES t)"


def goes_on(*changes):
    """BASE is what was merged last; THEIRS has one more change."""
    for name in "base.db", "theirs.db":
        if os.path.exists(name):
            os.remove(name)
    make("base.db", THINGS, *changes[:-1])
    make("theirs.db", THINGS, *changes)


def test_rows_of_three_branches_under_one_number_are_three_rows():
    files(THINGS, "INSERT INTO t VALUES (1, 'ours', 0)")
    goes_on("INSERT INTO t VALUES (1, 'second', 0)")
    merge()
    goes_on("INSERT INTO t VALUES (1, 'third', 0)")
    merge()
    assert rows("SELECT * FROM t") == [(1, "ours", 0), (2, "second", 0), (3, "third", 0)]
    goes_on("INSERT INTO t VALUES (1, 'second', 0)", "UPDATE t SET v = 2; INSERT INTO t VALUES (2, 'more', 1); INSERT INTO child VALUES ('a', 1)")
    merge()
    goes_on("INSERT INTO t VALUES (1, 'third', 0)", "UPDATE t SET v = 3; INSERT INTO t VALUES (2, 'most', 1); INSERT INTO child VALUES ('b', 1)")
    merge()
    assert rows("SELECT * FROM t") == [(1, "ours", 0), (2, "second", 2), (3, "third", 3), (4, "more", 1), (5, "most", 1)]
    assert rows("SELECT n, name FROM child JOIN t ON id = t ORDER BY n") == [("a", "second"), ("b", "third")]


def test_a_new_row_is_none_that_was_merged_before_under_another_number():
    files(THINGS, "INSERT INTO t VALUES (1, 'ours', 0)")
    goes_on("INSERT INTO t VALUES (1, 'theirs', 0)")
    merge()
    make("ours.db", "UPDATE t SET v = 1 WHERE id = 2")
    goes_on("INSERT INTO t VALUES (1, 'theirs', 0)", "DELETE FROM t; INSERT INTO t VALUES (2, 'theirs', 7)")
    found = conflicts(merge(status=1))
    assert sorted(c["kind"] for c in found) == ["constraint", "delete"]


def test_a_row_that_was_left_out_is_none_that_ours_has_inserted_since():
    files(THINGS, "INSERT INTO t VALUES (1, 'a', 0)")
    goes_on("INSERT INTO t VALUES (1, 'a', 0)")
    merge()
    make("ours.db", "UPDATE t SET name = 'b'")
    goes_on("INSERT INTO t VALUES (1, 'a', 0)", "INSERT INTO t VALUES (2, 'b', 7)")
    merge(status=1)
    make("ours.db", "INSERT INTO t VALUES (2, 'ours', 1)")
    goes_on("INSERT INTO t VALUES (1, 'a', 0)", "INSERT INTO t VALUES (2, 'b', 7)", "UPDATE t SET v = 8, name = 'c' WHERE id = 2; INSERT INTO child VALUES ('x', 2)")
    merge(status=1)
    assert rows("SELECT id, name, v FROM t") == [(1, "b", 0), (2, "ours", 1), (3, "c", 8)]
    assert rows("SELECT n, name FROM child JOIN t ON id = t") == [("x", "c")]


def test_a_child_that_follows_another_parent_is_known_in_the_same_merge_again():
    files("CREATE TABLE t(id INTEGER PRIMARY KEY, name TEXT UNIQUE); CREATE TABLE c(id INTEGER PRIMARY KEY, t INT REFERENCES t); INSERT INTO t VALUES (1, 'a')",
          "UPDATE t SET name = 'b'", "INSERT INTO t VALUES (2, 'b'); INSERT INTO c VALUES (1, 2)")
    merge(status=1)
    merge(status=1)
    assert rows("SELECT * FROM c") == [(1, 1)]


def test_a_row_that_refers_to_one_that_was_left_out_is_known_in_the_same_merge_again():
    files("CREATE TABLE note(id INTEGER PRIMARY KEY, up INT REFERENCES note); CREATE TABLE mark(id INTEGER PRIMARY KEY, ref INT); INSERT INTO note VALUES (1, NULL), (2, NULL)",
          "DELETE FROM note WHERE id = 1", "INSERT INTO note VALUES (3, 1); INSERT INTO mark VALUES (1, 3); DELETE FROM note WHERE id = 1")
    for _ in range(3):
        left_out, = conflicts(merge("--ref", "mark.ref=note", status=1))
        assert left_out["key"] == [3]
        assert rows("SELECT * FROM note, mark") == [(2, None, 1, 3)]


def test_a_file_that_has_left_a_row_out_is_not_merged_into_the_one_that_has_it():
    files("CREATE TABLE note(id INTEGER PRIMARY KEY, up INT REFERENCES note); INSERT INTO note VALUES (1, NULL), (2, NULL)",
          "DELETE FROM note WHERE id = 1", "INSERT INTO note VALUES (3, 1); DELETE FROM note WHERE id = 1")
    merge(status=1)
    status, out, error = run("merge", "base.db", "theirs.db", "ours.db")
    assert (status, out) == (2, "")
    assert error == "sqlite-counter: merge: ours.db: note has left out row 3, or given it another parent, since BASE: merge the other way: sqlite-counter merge BASE ours.db theirs.db\n"


def test_a_row_that_was_left_out_comes_back_to_those_that_refer_to_it():
    table = "CREATE TABLE note(id INTEGER PRIMARY KEY, up INT REFERENCES note); CREATE TABLE mark(id INTEGER PRIMARY KEY, ref INT); INSERT INTO note VALUES (1, NULL), (2, NULL);"
    left_out = "INSERT INTO note VALUES (3, 1); INSERT INTO mark VALUES (1, 3); DELETE FROM note WHERE id = 1"
    files(table, "DELETE FROM note WHERE id = 1", left_out)
    merge("--ref", "mark.ref=note", status=1)
    os.replace("theirs.db", "base.db")
    make("theirs.db", table, left_out, "UPDATE note SET up = 2 WHERE id = 3")
    for status in 1, 0:
        merge("--ref", "mark.ref=note", status=status)
        assert rows("SELECT * FROM note ORDER BY id") == [(2, None), (3, 2)]
        assert rows("SELECT * FROM mark") == [(1, 3)]


def test_a_row_that_comes_back_under_another_number_is_known_in_the_same_merge_again():
    table = "CREATE TABLE t(id INTEGER PRIMARY KEY, name TEXT, v INT); INSERT INTO t VALUES (1, 'x', 0);"
    files(table, "INSERT INTO t VALUES (2, 'ours', 0)", "INSERT INTO t VALUES (2, 'a', 0)")
    merge()
    make("ours.db", "DELETE FROM t WHERE name = 'a'")
    os.replace("theirs.db", "base.db")
    make("theirs.db", table, "INSERT INTO t VALUES (2, 'a', 0), (3, 'b', 0)")
    merge()
    make("ours.db", "INSERT INTO t VALUES (3, 'new', 0)")
    os.replace("theirs.db", "base.db")
    make("theirs.db", table, "INSERT INTO t VALUES (2, 'a', 7), (3, 'b', 0)")
    for status in 1, 0:
        merge(status=status)
        assert rows("SELECT name, v FROM t ORDER BY name") == [("a", 7), ("b", 0), ("new", 0), ("ours", 0), ("x", 0)]


def test_a_parent_that_has_moved_before_comes_back():
    files(THINGS, "INSERT INTO t VALUES (1, 'ours', 0)")
    goes_on("INSERT INTO t VALUES (1, 'theirs', 5), (2, 'other', 6)")
    merge()
    make("ours.db", "DELETE FROM t WHERE name = 'theirs'")
    goes_on("INSERT INTO t VALUES (1, 'theirs', 5), (2, 'other', 6)", "INSERT INTO child VALUES ('x', 1)")
    found, = conflicts(merge(status=1))
    assert (found["kind"], found["table"], found["key"]) == ("foreign key", "t", [3])
    assert rows("SELECT n, name, v FROM child JOIN t ON id = t") == [("x", "theirs", 5)]


def test_a_new_row_does_not_take_the_number_of_one_that_comes_back():
    files(THINGS, "INSERT INTO t VALUES (1, 'ours', 0)")
    goes_on("INSERT INTO t VALUES (1, 'theirs', 5)")
    merge()
    make("ours.db", "DELETE FROM t WHERE name = 'theirs'")
    goes_on("INSERT INTO t VALUES (1, 'theirs', 5)", "UPDATE t SET v = 6; INSERT INTO t VALUES (2, 'new', 1)")
    merge(status=1)
    assert rows("SELECT * FROM t") == [(1, "ours", 0), (2, "theirs", 6), (3, "new", 1)]


def test_a_column_that_came_after_a_merge_does_not_hide_which_row_was_meant():
    files(THINGS, "INSERT INTO t VALUES (1, 'ours', 0)")
    goes_on("INSERT INTO t VALUES (1, 'theirs', 5)")
    merge()
    goes_on("INSERT INTO t VALUES (1, 'theirs', 5)", "ALTER TABLE t ADD COLUMN w DEFAULT 3; UPDATE t SET v = 6")
    merge()
    goes_on("INSERT INTO t VALUES (1, 'theirs', 5)", "ALTER TABLE t ADD COLUMN w DEFAULT 3; UPDATE t SET v = 6", "UPDATE t SET w = 4")
    merge()
    assert rows("SELECT * FROM t") == [(1, "ours", 0, 3), (2, "theirs", 6, 4)]


def test_a_number_that_was_used_again_is_two_rows_and_listed_with_both():
    files("CREATE TABLE t(id INTEGER PRIMARY KEY, a, b, c); INSERT INTO t VALUES (1, 1, 1, 1), (2, 'x', 'y', 'z')", "UPDATE t SET a = 'X' WHERE id = 2", "DELETE FROM t WHERE id = 2; INSERT INTO t VALUES (2, 7, 8, 9)")
    found = conflicts(merge(status=1))
    assert [(c["kind"], c["key"], c["taken"], c["base"], c["ours"], c["theirs"]) for c in found if c["kind"] == "number"] == [
        ("number", [2], "both", {"id": 2, "a": "x", "b": "y", "c": "z"}, {"id": 2, "a": "X", "b": "y", "c": "z"}, {"id": 2, "a": 7, "b": 8, "c": 9})]
    assert rows("SELECT * FROM t") == [(1, 1, 1, 1), (2, "X", "y", "z"), (3, 7, 8, 9)]


# ---- constraints and foreign keys ----

def test_exchanged_unique_values_pass():
    files(SONGS, "", "UPDATE song SET title = 'q' WHERE id = 1; UPDATE song SET title = 'a' WHERE id = 2; UPDATE song SET title = 'b' WHERE id = 1")
    merge()
    assert rows("SELECT title FROM song ORDER BY id") == [("b",), ("a",), ("c",)]


def test_a_row_that_a_constraint_refuses_is_left_out_and_listed_whole():
    files(SONGS, "UPDATE tag SET name = 'new' WHERE id = 1", "INSERT INTO tag VALUES (3, 'new'); INSERT INTO song_tag VALUES (3, 3)")
    found = conflicts(merge(status=1))
    assert [(c["kind"], c["table"], c["taken"]) for c in found] == [("constraint", "tag", "none"), ("foreign key", "song_tag", "theirs")]
    assert found[0]["theirs"] == {"id": 3, "name": "new"} and "UNIQUE" in found[0]["note"]
    assert rows("SELECT name FROM song_tag JOIN tag ON id = tag WHERE song = 3") == [("new",)]


def test_an_equal_row_without_a_key_that_unique_refuses_is_one_row():
    files("CREATE TABLE song_tag(song INTEGER, tag TEXT, UNIQUE (song, tag))", "INSERT INTO song_tag VALUES (1, 'x')", "INSERT INTO song_tag VALUES (1, 'x'), (1, 'y')")
    assert of_table(merge(), "song_tag")["joined"] == 1
    assert rows("SELECT * FROM song_tag") == [(1, "x"), (1, "y")]


def test_a_parent_that_a_child_needs_comes_back():
    files(SONGS, "DELETE FROM song WHERE id = 3", "INSERT INTO song_tag VALUES (3, 1)")
    found, = conflicts(merge(status=1))
    assert (found["kind"], found["table"], found["key"], found["taken"]) == ("foreign key", "song", [3], "theirs")
    assert rows("PRAGMA foreign_key_check") == [] and rows("SELECT title FROM song WHERE id = 3") == [("c",)]


def test_a_deletion_is_cancelled_if_ours_refers_to_the_row():
    files(SONGS, "INSERT INTO song_tag VALUES (3, 1)", "DELETE FROM song WHERE id = 3")
    found, = conflicts(merge(status=1))
    assert (found["kind"], found["table"], found["key"], found["taken"]) == ("foreign key", "song", [3], "ours")
    assert rows("PRAGMA foreign_key_check") == [] and rows("SELECT title FROM song WHERE id = 3") == [("c",)]


@pytest.mark.parametrize("table, ours, theirs", [("", "CREATE TABLE c(s INT REFERENCES song); INSERT INTO c VALUES (3)", ""), ("CREATE TABLE c(s INT REFERENCES song);", "INSERT INTO c VALUES (3)", "DROP TABLE c;")])
def test_a_row_stays_to_which_a_table_refers_that_ours_alone_has(table, ours, theirs):
    files(SONGS + table, ours, theirs + "DELETE FROM song WHERE id = 3")
    found = conflicts(merge(status=1))
    assert (found[-1]["kind"], found[-1]["table"], found[-1]["key"]) == ("foreign key", "song", [3])
    assert rows("PRAGMA foreign_key_check") == [] and rows("SELECT title FROM c JOIN song ON id = s") == [("c",)]


def test_a_foreign_key_that_cannot_be_checked_is_passed_over():
    files("CREATE TABLE p(a, b); CREATE TABLE c(id INTEGER PRIMARY KEY, a REFERENCES p(a)); CREATE TABLE d(id INTEGER PRIMARY KEY, x REFERENCES nowhere); INSERT INTO p VALUES (1, 1); INSERT INTO c VALUES (1, 1)",
          "INSERT INTO c VALUES (2, 1)", "INSERT INTO c VALUES (2, 1), (3, 7); INSERT INTO d VALUES (1, 1)")
    merge()
    assert rows("SELECT * FROM c") == [(1, 1), (2, 1), (3, 7)] and rows("SELECT * FROM d") == [(1, 1)]


def test_a_foreign_key_of_which_each_side_has_changed_a_column_stays_as_in_ours():
    files("CREATE TABLE p(a, b, PRIMARY KEY (a, b)); CREATE TABLE c(k TEXT PRIMARY KEY, a, b, FOREIGN KEY (a, b) REFERENCES p); INSERT INTO p VALUES (1, 1), (1, 2), (2, 1); INSERT INTO c VALUES ('x', 1, 1)",
          "UPDATE c SET a = 2", "UPDATE c SET b = 2")
    found, = conflicts(merge(status=1))
    assert (found["kind"], found["table"], found["key"], found["taken"]) == ("foreign key", "c", ["x"], "ours")
    assert rows("SELECT * FROM c") == [("x", 2, 1)]


def test_a_parent_of_several_columns_comes_back_whatever_else_has_changed():
    files("PRAGMA foreign_keys = ON; CREATE TABLE p(a, b, PRIMARY KEY (a, b)); CREATE TABLE c(x, a, b, FOREIGN KEY (a, b) REFERENCES p); INSERT INTO p VALUES (1, 2); INSERT INTO c VALUES (1, NULL, 2), (2, 1, 2), (3, NULL, NULL)",
          "DELETE FROM c WHERE x = 2; DELETE FROM p", "UPDATE c SET a = 1 WHERE x = 1")
    assert [(c["kind"], c["table"], c["taken"]) for c in conflicts(merge(status=1))] == [("foreign key", "p", "theirs")]
    assert rows("SELECT * FROM c ORDER BY x") == [(1, 1, 2), (3, None, None)] and rows("SELECT * FROM p") == [(1, 2)]


def test_no_trigger_fires():
    schema = SONGS + "CREATE TABLE total(n); INSERT INTO total VALUES (3); CREATE TRIGGER t AFTER INSERT ON song BEGIN UPDATE total SET n = n + 1; END;"
    files(schema, "", "INSERT INTO song VALUES (4, 'd', 0, 0)")
    merge()
    assert rows("SELECT n FROM total") == [(4,)]


# ---- declarations ----

def test_columns_that_both_have_added_stay():
    files(SONGS, "ALTER TABLE song ADD COLUMN mine TEXT DEFAULT 'm'; UPDATE song SET mine = 'o' WHERE id = 1",
          "ALTER TABLE song ADD COLUMN year INT DEFAULT 1900; UPDATE song SET year = 1999 WHERE id = 1; INSERT INTO song VALUES (4, 'd', 0, 0, 2000)")
    merge()
    assert rows("SELECT id, mine, year FROM song") == [(1, "o", 1999), (2, "m", 1900), (3, "m", 1900), (4, "m", 2000)]


def test_a_renamed_column_keeps_what_the_other_side_wrote():
    for ours, theirs in ("RENAME", "UPDATE"), ("UPDATE", "RENAME"):
        for name in "base.db", "ours.db", "theirs.db":
            if os.path.exists(name):
                os.remove(name)
        how = {"RENAME": "ALTER TABLE song RENAME COLUMN rating TO stars; UPDATE song SET stars = 7 WHERE id = 2", "UPDATE": "UPDATE song SET rating = 8 WHERE id = 1"}
        files(SONGS, how[ours], how[theirs])
        merge()
        assert rows("SELECT stars FROM song") == [(8,), (7,), (3,)]


def test_columns_beside_a_renamed_and_an_added_one_keep_what_both_sides_wrote():
    files("CREATE TABLE t(id INTEGER PRIMARY KEY, a, b); INSERT INTO t VALUES (1, 'a', 'b')", "UPDATE t SET b = 'ours'",
          "ALTER TABLE t RENAME COLUMN a TO c; ALTER TABLE t ADD COLUMN d; UPDATE t SET d = 'theirs'")
    merge()
    assert rows("SELECT id, c, b, d FROM t") == [(1, "a", "ours", "theirs")]


@pytest.mark.parametrize("declaration", ["", " WITHOUT ROWID"])
@pytest.mark.parametrize("dropped, renamed", [("v", "w"), ("w", "v")])
def test_values_tell_which_column_was_renamed_if_the_one_beside_it_was_dropped(declaration, dropped, renamed):
    schema = f"CREATE TABLE t(k TEXT PRIMARY KEY, v, w){declaration}; INSERT INTO t VALUES ('a', 1, 'x'), ('b', 2, 'y'), ('c', 3, 'z');"
    alter = f"ALTER TABLE t RENAME {renamed} TO n; ALTER TABLE t DROP {dropped}; DELETE FROM t WHERE k = 'c'"
    change = f"UPDATE t SET {renamed} = 9 WHERE k = 'a'"
    for ours, theirs in (alter, change), (change, alter):
        for name in "base.db", "ours.db", "theirs.db":
            if os.path.exists(name):
                os.remove(name)
        files(schema, ours, theirs)
        merge()
        assert rows("SELECT * FROM t") == [("a", 9), ("b", 2 if renamed == "v" else "y")]


def test_a_dropped_column_goes_unless_the_other_side_has_changed_it():
    files(SONGS, "", "ALTER TABLE song DROP COLUMN rating; UPDATE song SET plays = 1 WHERE id = 1")
    merge()
    assert rows("SELECT * FROM song WHERE id = 1") == [(1, "a", 1)]


def test_a_column_that_both_have_dropped_is_gone():
    drop = "ALTER TABLE song DROP COLUMN rating;"
    files(SONGS, drop, drop + "ALTER TABLE song ADD COLUMN mood DEFAULT 1")
    merge()
    assert rows("SELECT * FROM song WHERE id = 1") == [(1, "a", 5, 1)]


def test_a_dropped_column_that_was_changed_stays_and_is_listed():
    files(SONGS, "UPDATE song SET rating = 9 WHERE id = 1", "ALTER TABLE song DROP COLUMN rating; UPDATE song SET plays = 1 WHERE id = 1")
    found, = conflicts(merge(status=1))
    assert (found["kind"], found["column"]) == ("schema", "rating") and rows("SELECT * FROM song WHERE id = 1") == [(1, "a", 1, 9)]


def test_a_column_that_one_side_has_added_is_no_conflict_in_a_row_that_is_new_in_both():
    for ours, theirs in ("ALTER TABLE t ADD COLUMN x DEFAULT 1; INSERT INTO t VALUES ('a', 2, 3)", "INSERT INTO t VALUES ('a', 2)"), ("INSERT INTO t VALUES ('a', 2)", "ALTER TABLE t ADD COLUMN x DEFAULT 1; INSERT INTO t VALUES ('a', 2, 3)"):
        for name in "base.db", "ours.db", "theirs.db":
            if os.path.exists(name):
                os.remove(name)
        files("CREATE TABLE t(k TEXT PRIMARY KEY, v)", ours, theirs)
        merge()
        assert rows("SELECT * FROM t") == [("a", 2, 3)]


@pytest.mark.parametrize("key", ["TEXT PRIMARY KEY", "TEXT"])
def test_rows_are_deleted_though_a_dropped_column_stays(key):
    files(f"CREATE TABLE t(k {key}, v); INSERT INTO t VALUES ('a', 1), ('b', 2)", "UPDATE t SET v = 3 WHERE k = 'a'", "ALTER TABLE t DROP COLUMN v; DELETE FROM t WHERE k = 'b'; INSERT INTO t VALUES ('c')")
    found, = conflicts(merge(status=1))
    assert (found["kind"], found["column"]) == ("schema", "v")
    assert rows("SELECT * FROM t") == [("a", 3), ("c", None)]


def test_a_table_made_anew_takes_the_rows_of_ours():
    files("CREATE TABLE t(id INTEGER PRIMARY KEY, a, b); CREATE INDEX i ON t(a); INSERT INTO t VALUES (1, 'x', 1)", "INSERT INTO t VALUES (2, 'o', 5)",
          "CREATE TABLE n(id INTEGER PRIMARY KEY, a TEXT NOT NULL DEFAULT 'q', b INT CHECK (b < 10)); INSERT INTO n SELECT * FROM t; DROP TABLE t; ALTER TABLE n RENAME TO t; CREATE INDEX i ON t(a); INSERT INTO t VALUES (2, 't', 6)")
    merge()
    assert rows("SELECT * FROM t") == [(1, "x", 1), (2, "o", 5), (3, "t", 6)]
    assert rows("SELECT name FROM sqlite_master WHERE type = 'index'") == [("i",)]


def test_declarations_that_do_not_go_together_are_refused():
    files(SONGS, "ALTER TABLE song ADD COLUMN year INT", "ALTER TABLE song ADD COLUMN year TEXT")
    refused("merge: song: its declaration was changed in both files .*")
    os.remove("ours.db")
    os.remove("theirs.db")
    make("ours.db", SONGS, "ALTER TABLE song RENAME COLUMN plays TO n")
    make("theirs.db", SONGS, "ALTER TABLE song RENAME COLUMN rating TO n")
    refused("merge: song: its declaration was changed in both files .*")


def test_new_tables_indexes_views_and_triggers_come():
    files(SONGS, "", """CREATE TABLE album(id INTEGER PRIMARY KEY, name); INSERT INTO album VALUES (1, 'A');
        CREATE INDEX by_plays ON song(plays); CREATE VIEW loud AS SELECT * FROM song; CREATE TRIGGER t AFTER DELETE ON song BEGIN SELECT 1; END""")
    merge()
    assert rows("SELECT name FROM sqlite_master WHERE name IN ('album', 'by_plays', 'loud', 't') ORDER BY 1") == [("album",), ("by_plays",), ("loud",), ("t",)]
    assert rows("SELECT * FROM album") == [(1, "A")]


def test_a_dropped_table_goes_unless_its_rows_were_changed():
    files(SONGS + "CREATE TABLE a(x); INSERT INTO a VALUES (1); CREATE TABLE b(x); INSERT INTO b VALUES (1); CREATE TABLE c(x); INSERT INTO c VALUES (1)",
          "INSERT INTO b VALUES (2); DROP TABLE c", "DROP TABLE a; DROP TABLE b; INSERT INTO c VALUES (3)")
    found = conflicts(merge(status=1))
    assert [(c["kind"], c["table"], c["taken"]) for c in found] == [("schema", "b", "ours"), ("schema", "c", "theirs")]
    assert rows("SELECT name FROM sqlite_master WHERE name IN ('a', 'b', 'c')") == [("b",), ("c",)] and rows("SELECT x FROM c") == [(1,), (3,)]


def test_a_unique_index_that_the_rows_refuse_is_listed():
    files(SONGS, "INSERT INTO song VALUES (4, 'd', 5, 0)", "CREATE UNIQUE INDEX u ON song(plays)")
    found, = conflicts(merge(status=1))
    assert (found["kind"], found["table"], found["taken"]) == ("schema", "u", "none")

# ---- what adds up, again ----

def test_what_was_merged_before_does_not_add_up_again():
    files(SONGS, "UPDATE song SET plays = plays + 1 WHERE id = 1", "UPDATE song SET plays = plays + 2 WHERE id < 3; INSERT INTO song VALUES (4, 'd', 4, 0)")
    merge(status=1)
    refused("merge: 2 of 3 changes of theirs.db are in ours.db, too: .* or this was merged before, .*", "--add", "song.plays")
    assert rows("SELECT id, plays FROM song") == [(1, 6), (2, 8), (3, 7), (4, 4)]
    merge("--add", "song.plays", "--base-is-fork")
    assert rows("SELECT id, plays FROM song") == [(1, 8), (2, 10), (3, 7), (4, 8)]


def test_a_row_that_could_not_be_merged_does_not_hide_what_was():
    files(SONGS, "UPDATE tag SET name = 'z' WHERE id = 1", "UPDATE song SET plays = 9 WHERE id = 1; UPDATE tag SET name = 'z' WHERE id = 2")
    merge(status=1)
    refused("merge: 1 of 2 changes of theirs.db are in ours.db, too: .*", "--add", "song.plays")


def test_rows_that_were_merged_before_tell_that_base_is_older():
    files(SONGS, "INSERT INTO song VALUES (4, 'ours', 0, 0); UPDATE song SET plays = plays + 1 WHERE id = 1", "INSERT INTO song VALUES (4, 'theirs', 0, 0); UPDATE song SET plays = plays + 2 WHERE id = 1")
    merge("--add", "song.plays")
    make("theirs.db", "UPDATE song SET rating = 9 WHERE id = 2; UPDATE song SET plays = plays + 1 WHERE id = 1")
    refused("merge: 2 of 3 changes of theirs.db are in ours.db, too: BASE is older than the fork, .*", "--add", "song.plays")
    assert rows("SELECT plays FROM song WHERE id = 1") == [(8,)]


OLD = "UPDATE song SET plays = plays + 3;"


def test_numbers_that_most_changes_have_made_alike_are_older_than_the_fork():
    files(SONGS, OLD, OLD + "UPDATE tag SET name = 'z' WHERE id = 1")
    refused("merge: 3 of 4 changes of theirs.db are in ours.db, too: BASE is older than the fork, .*", "--add", "song.plays")


def test_numbers_that_some_changes_have_made_alike_add_up_and_are_noted():
    files(SONGS, OLD, OLD + "UPDATE tag SET name = 'z'||id")
    notes = [line["note"] for line in merge("--add", "song.plays") if "note" in line]
    assert "3 of 5 changes were made on both sides alike: if BASE is older than the fork, numbers were added up twice" in notes
    assert rows("SELECT plays FROM song") == [(11,), (12,), (13,)]


def test_numbers_that_both_have_changed_add_up_though_theirs_has_changed_nothing_else():
    files("CREATE TABLE stock(what TEXT PRIMARY KEY, n INT); INSERT INTO stock VALUES ('tea', 9), ('milk', 9)", "UPDATE stock SET n = n - 1", "UPDATE stock SET n = n - 2")
    merge("--add", "stock.n")
    assert rows("SELECT n FROM stock") == [(6,), (6,)]


def test_a_reference_that_theirs_changes_follows_though_ours_has_deleted_the_row_to_which_it_led():
    """Merged before: the rows of THEIRS have other numbers in OURS."""
    files("CREATE TABLE t(id INTEGER PRIMARY KEY, name TEXT, ref INT)", "INSERT INTO t VALUES (1, 'ours', NULL)", "INSERT INTO t VALUES (1, 'a', NULL), (2, 'b', 1)")
    merge("--ref", "t.ref=t")
    make("ours.db", "DELETE FROM t WHERE name = 'a'")
    os.replace("theirs.db", "base.db")
    make("theirs.db", "ATTACH 'base.db' AS old; CREATE TABLE t(id INTEGER PRIMARY KEY, name TEXT, ref INT); INSERT INTO t SELECT * FROM old.t; UPDATE t SET ref = 2 WHERE name = 'b'")
    merge("--ref", "t.ref=t")
    assert rows("SELECT name, ref = id FROM t") == [("ours", None), ("b", 1)]


def test_a_row_that_comes_back_does_not_take_the_number_that_ours_has_given_out_again():
    table = "CREATE TABLE t(id INTEGER PRIMARY KEY, name TEXT, v INT); INSERT INTO t VALUES (1, 'x', 0);"
    files(table, "INSERT INTO t VALUES (2, 'ours', 0)", "INSERT INTO t VALUES (2, 'a', 0)")
    merge()
    make("ours.db", "DELETE FROM t WHERE name = 'a'")
    os.replace("theirs.db", "base.db")
    make("theirs.db", table, "INSERT INTO t VALUES (2, 'a', 0), (3, 'b', 0)")
    merge()
    make("ours.db", "DELETE FROM t WHERE name = 'b'; INSERT INTO t VALUES (3, 'new', 0)")
    os.replace("theirs.db", "base.db")
    make("theirs.db", table, "INSERT INTO t VALUES (2, 'a', 7), (3, 'b', 0)")
    merge(status=1)
    assert rows("SELECT name, v FROM t ORDER BY name") == [("a", 7), ("new", 0), ("ours", 0), ("x", 0)]


STOCK = "CREATE TABLE stock(what TEXT PRIMARY KEY, n INT); INSERT INTO stock VALUES ('tea', 9), ('milk', 9)"
TWICE = "merge: {} has what was added in {} already, from a merge before, and it would count twice: as BASE give {} as it was at that merge"


def sold():
    files(STOCK, "UPDATE stock SET n = n - 1", "UPDATE stock SET n = n - 2 WHERE what = 'tea'")


def test_what_was_added_up_once_is_not_added_up_again():
    sold()
    merge("--add", "stock.n")
    refused(TWICE.format("ours.db", "theirs.db", "theirs.db"), "--add", "stock.n")
    merge("--add", "stock.n", "--base-is-fork")
    assert rows("SELECT n FROM stock") == [(4,), (8,)]


def test_what_a_message_of_amounts_advises_counts_once():
    sold()
    merge("--add", "stock.n")
    os.replace("theirs.db", "base.db")
    make("theirs.db", STOCK, "UPDATE stock SET n = n - 4 WHERE what = 'tea'")
    merge("--add", "stock.n")
    assert rows("SELECT n FROM stock") == [(4,), (8,)]


def test_what_theirs_has_taken_from_ours_is_not_added_up_again():
    sold()
    merge("--add", "stock.n")
    os.rename("ours.db", "both.db")
    os.rename("theirs.db", "ours.db")
    os.rename("both.db", "theirs.db")
    refused(TWICE.format("theirs.db", "ours.db", "ours.db"), "--add", "stock.n")
    os.replace("base.db", "old.db")
    make("base.db", STOCK, "UPDATE stock SET n = n - 2 WHERE what = 'tea'")
    merge("--add", "stock.n")
    assert rows("SELECT n FROM stock") == [(6,), (8,)]


def test_what_theirs_has_taken_from_a_third_file_is_not_added_up_again():
    sold()
    make("third.db", STOCK, "UPDATE stock SET n = n - 5 WHERE what = 'milk'")
    run("merge", "--add", "stock.n", "base.db", "theirs.db", "third.db")
    merge("--add", "stock.n")
    os.replace("third.db", "theirs.db")
    refused(TWICE.format("ours.db", "theirs.db", "theirs.db"), "--add", "stock.n")
    assert rows("SELECT n FROM stock") == [(6,), (3,)]


def test_equal_amounts_add_up_once_more_if_base_knows_the_merge_before():
    sold()
    merge("--add", "stock.n")
    make("ours.db", "UPDATE stock SET n = 9")
    for path in "base.db", "theirs.db":
        os.remove(path)
        db = sqlite3.connect("ours.db")
        db.execute("VACUUM INTO ?", (path,))
        db.close()
    make("theirs.db", "UPDATE stock SET n = n - 2 WHERE what = 'tea'")
    make("ours.db", "UPDATE stock SET n = n - 1")
    merge("--add", "stock.n")
    assert rows("SELECT n FROM stock") == [(6,), (8,)]


def test_a_number_that_went_from_0_to_1_on_both_sides_is_told_unless_its_column_is_a_flag():
    files(SONGS + "UPDATE song SET plays = 0 WHERE id = 1", "UPDATE song SET plays = 1 WHERE id = 1", "UPDATE song SET plays = 1 WHERE id = 1; UPDATE song SET title = 'z' WHERE id = 2")
    notes = [line["note"] for line in merge() if "note" in line]
    assert "1 number of song.plays was changed on both sides: --add song.plays adds them up, if OURS is as it was before this merge" in notes
    files(SONGS + "UPDATE song SET rating = 0", "UPDATE song SET rating = 1 WHERE id = 1", "UPDATE song SET rating = 1 WHERE id = 1; UPDATE song SET title = 'z' WHERE id = 2")
    assert not [line for line in merge() if "note" in line]


def test_a_new_row_of_both_adds_up_if_theirs_has_something_else():
    files(SONGS, "INSERT INTO song VALUES (4, 'd', 4, 0)", "INSERT INTO song VALUES (5, 'd', 4, 0), (6, 'e', 1, 0)")
    merge("--add", "song.plays")
    assert rows("SELECT title, plays FROM song WHERE id > 3") == [("d", 8), ("e", 1)]


# ---- virtual tables ----

def test_a_full_text_index_of_a_table_is_made_anew():
    files("CREATE TABLE note(id INTEGER PRIMARY KEY, body); CREATE VIRTUAL TABLE find USING fts5(body, content='note', content_rowid='id'); INSERT INTO note VALUES (1, 'one'); INSERT INTO find(rowid, body) VALUES (1, 'one')",
          "INSERT INTO note VALUES (2, 'ours'); INSERT INTO find(rowid, body) VALUES (2, 'ours')", "INSERT INTO note VALUES (2, 'theirs'); INSERT INTO find(rowid, body) VALUES (2, 'theirs')")
    merge()
    assert rows("SELECT rowid FROM find WHERE find MATCH 'theirs'") == [(3,)] and rows("SELECT rowid FROM find WHERE find MATCH 'ours'") == [(2,)]


@pytest.mark.parametrize("module", ["fts5", "fts4"])
def test_rows_of_a_full_text_table_are_merged_one_by_one(module):
    files(f"CREATE VIRTUAL TABLE find USING {module}(title, body); INSERT INTO find(rowid, title, body) VALUES (1, 'a', 'one'), (2, 'b', 'two')",
          "UPDATE find SET title = 'A' WHERE rowid = 1; INSERT INTO find(rowid, title) VALUES (7, 'seven')", "UPDATE find SET body = 'One' WHERE rowid = 1; DELETE FROM find WHERE rowid = 2; INSERT INTO find(rowid, title) VALUES (8, 'eight')")
    merge()
    assert rows("SELECT rowid, title, body FROM find ORDER BY 1") == [(1, "A", "One"), (7, "seven", None), (8, "eight", None)]
    assert rows("SELECT rowid FROM find WHERE find MATCH 'eight'") == [(8,)]


def test_a_full_text_index_that_theirs_has_made_is_filled():
    files("CREATE TABLE note(id INTEGER PRIMARY KEY, body); INSERT INTO note VALUES (1, 'one')", "INSERT INTO note VALUES (2, 'ours')",
          "CREATE VIRTUAL TABLE find USING fts5(body, content='note', content_rowid='id'); INSERT INTO find(find) VALUES ('rebuild');"
          "CREATE VIRTUAL TABLE bare USING fts5(body, content=''); INSERT INTO bare(rowid, body) VALUES (7, 'bare')")
    merge()
    assert rows("SELECT rowid FROM find WHERE find MATCH 'one OR ours'") == [(1,), (2,)] and rows("SELECT rowid FROM bare WHERE bare MATCH 'bare'") == [(7,)]


def test_the_words_of_a_full_text_index_are_no_rows():
    files("CREATE VIRTUAL TABLE find USING fts5(body); CREATE VIRTUAL TABLE words USING fts5vocab('find', 'row'); CREATE VIRTUAL TABLE old USING fts4(body); CREATE VIRTUAL TABLE terms USING fts4aux('old')",
          "", "INSERT INTO find VALUES ('one two'); INSERT INTO old VALUES ('three')")
    merge()
    assert rows("SELECT term FROM words") == [("one",), ("two",)] and rows("SELECT DISTINCT term FROM terms") == [("three",)]


def test_rows_of_an_r_tree_are_merged_one_by_one():
    files("CREATE VIRTUAL TABLE box USING rtree(id, x0, x1); INSERT INTO box VALUES (1, 0, 1), (2, 1, 2)", "INSERT INTO box VALUES (3, 3, 4)", "UPDATE box SET x1 = 9 WHERE id = 1; DELETE FROM box WHERE id = 2; INSERT INTO box VALUES (4, 5, 6)")
    merge()
    assert rows("SELECT id, x1 FROM box ORDER BY 1") == [(1, 9.0), (3, 4.0), (4, 6.0)]


def test_a_full_text_table_without_content_is_taken_whole_or_listed():
    schema = "CREATE VIRTUAL TABLE find USING fts5(body, content=''); INSERT INTO find(rowid, body) VALUES (1, 'one')"
    files(schema, "", "INSERT INTO find(rowid, body) VALUES (2, 'two')")
    merge()
    assert rows("SELECT rowid FROM find WHERE find MATCH 'two'") == [(2,)]


# ---- files ----

def test_a_base_that_is_too_old_is_refused_if_numbers_add_up():
    old = "UPDATE song SET plays = plays + 3 WHERE id = 2; UPDATE song SET rating = 9 WHERE id IN (1, 2, 3);"
    files(SONGS, old, old + "UPDATE song SET plays = plays + 1 WHERE id = 2")
    refused("merge: 3 of 3 changes of theirs.db are in ours.db, too: BASE is older .*", "--add", "song.plays")
    merge("--add", "song.plays", "--base-is-fork")


def test_files_that_cannot_be_read_are_named():
    files(SONGS)
    open("junk.db", "w").write("this is no database, by far, though it is longer than a header of one" * 9)
    refused("junk.db: is not an SQLite database, or it is encrypted", words=("base.db", "ours.db", "junk.db"))
    refused("gone.db: there is no such file", words=("gone.db", "ours.db", "theirs.db"))
    refused("merge: THEIRS and OURS are one file: ours.db", words=("base.db", "ours.db", "ours.db"))


def test_without_base_it_says_what_may_be_meant():
    files(SONGS)
    refused("merge: without BASE .* --copies, .* or --unrelated, .*", words=("ours.db", "theirs.db"))
    refused(r"merge takes \[OPTION...\] BASE OURS THEIRS, not 1 argument: .*", words=("ours.db",))


def test_copies_without_base():
    files(SONGS, "UPDATE song SET title = 'A' WHERE id = 1; DELETE FROM song_tag", "DELETE FROM song_tag; INSERT INTO song VALUES (9, 'new', 0, 0)")
    seen, out, _ = run("merge", "--json", "--copies", "ours.db", "theirs.db")
    assert seen == 1 and rows("SELECT id, title FROM song") == [(1, "A"), (2, "b"), (3, "c"), (9, "new")]


def test_copies_hold_rows_without_a_key_as_often_as_the_one_that_has_more():
    make("ours.db", "CREATE TABLE log(x); CREATE TABLE settings(a, b); INSERT INTO log VALUES (1), (1), (2), (5); INSERT INTO settings VALUES (1, NULL)")
    make("theirs.db", "CREATE TABLE log(x); CREATE TABLE settings(a, b); INSERT INTO log VALUES (1), (2), (2), (7); INSERT INTO settings VALUES (1, 3)")
    seen, out, error = run("merge", "--json", "--copies", "ours.db", "theirs.db")
    found, = conflicts(json.loads(line) for line in out.splitlines())
    assert (seen, error, found["table"], found["column"], found["taken"]) == (1, "", "settings", "b", "ours")
    assert rows("SELECT x FROM log ORDER BY x") == [(1,), (1,), (2,), (2,), (5,), (7,)] and rows("SELECT * FROM settings") == [(1, None)]


def test_unrelated_files_without_base():
    make("ours.db", SONGS)
    make("theirs.db", SONGS.replace("'b'", "'z'"))
    seen, out, error = run("merge", "--unrelated", "ours.db", "theirs.db")
    assert (seen, error) == (0, ""), out
    assert rows("SELECT title FROM song ORDER BY id") == [("a",), ("b",), ("c",), ("z",)]
    assert rows("SELECT count(*) FROM song_tag JOIN song ON song.id = song WHERE title = 'z'") == [(1,)]


def test_names_of_files_may_have_any_letters():
    for name in ("b äö.db", "о'ur?s#%41.db", "-t \"q\" 表.db"):
        make(name, SONGS)
    make("-t \"q\" 表.db", "UPDATE song SET plays = 9 WHERE id = 1")
    status, _, error = run("merge", "b äö.db", "о'ur?s#%41.db", "./-t \"q\" 表.db")
    assert (status, error) == (0, "") and rows("SELECT plays FROM song WHERE id = 1", "о'ur?s#%41.db") == [(9,)]


def test_files_in_wal_mode_stay_as_they_are_and_nothing_is_left_beside_them(place):
    files(SONGS, "PRAGMA journal_mode = wal; UPDATE song SET title = 'A' WHERE id = 1", "PRAGMA journal_mode = wal; UPDATE song SET rating = 9 WHERE id = 1")
    make("base.db", "PRAGMA journal_mode = wal")
    merge()
    assert rows("SELECT title, rating FROM song WHERE id = 1") == [("A", 9)] and rows("PRAGMA journal_mode") == [("wal",)]
    assert sorted(os.listdir(".")) == ["base.db", "ours.db", "theirs.db"]


@pytest.mark.parametrize("at", [18, 19])
def test_a_file_whose_header_asks_for_a_log_only_to_read_or_only_to_write_leaves_nothing_beside_it(place, at):
    files(SONGS, "", "UPDATE song SET rating = 9 WHERE id = 1")
    for name in "base.db", "theirs.db":
        data = bytearray(pathlib.Path(name).read_bytes())
        data[at] = 2
        pathlib.Path(name).write_bytes(data)
    merge()
    assert rows("SELECT rating FROM song WHERE id = 1") == [(9,)]
    assert sorted(os.listdir(".")) == ["base.db", "ours.db", "theirs.db"]


def test_what_stands_in_a_write_ahead_log_is_merged():
    files(SONGS)
    db = sqlite3.connect("theirs.db", isolation_level=None)
    db.execute("PRAGMA journal_mode = wal")
    db.execute("UPDATE song SET rating = 9 WHERE id = 1")
    merge()
    db.close()
    assert rows("SELECT rating FROM song WHERE id = 1") == [(9,)]


def test_read_only_files_can_be_merged_from(place):
    files(SONGS, "", "UPDATE song SET rating = 9 WHERE id = 1")
    folder = place / "locked"
    folder.mkdir()
    for name in "base.db", "theirs.db":
        os.rename(name, folder / name)
        os.chmod(folder / name, stat.S_IRUSR)
    os.chmod(folder, stat.S_IRUSR | stat.S_IXUSR)
    try:
        seen, out, error = run("merge", folder / "base.db", "ours.db", folder / "theirs.db")
    finally:
        os.chmod(folder, stat.S_IRWXU)
    assert (seen, error) == (0, "") and rows("SELECT rating FROM song WHERE id = 1") == [(9,)]


def test_output_leaves_ours_as_it_was():
    files(SONGS, "", "UPDATE song SET rating = 9 WHERE id = 1")
    before = content("ours.db")
    merge("--output", "new.db")
    assert content("ours.db") == before and rows("SELECT rating FROM song WHERE id = 1", "new.db") == [(9,)]
    assert sorted(os.listdir(".")) == ["base.db", "new.db", "ours.db", "theirs.db"]


def test_a_dry_run_changes_nothing():
    files(SONGS, "", "UPDATE song SET rating = 9 WHERE id = 1")
    before = content("ours.db")
    assert of_table(merge("--dry-run"), "song")["updated"] == 1 and content("ours.db") == before


def test_conflicts_can_be_kept_in_the_file():
    files(SONGS, "UPDATE song SET title = 'A' WHERE id = 1", "UPDATE song SET title = 'B' WHERE id = 1")
    merge("--conflict-table", status=1)
    assert rows("SELECT kind, table_name, row_key, column_name, base, ours, theirs, taken FROM _merge_conflicts") == [("column", "song", "[1]", "title", "a", "A", "B", "ours")]
    refused("merge: ours.db has conflicts of a merge before: .*")
    refused("merge: ours.db has conflicts of a merge before: .*", words=("base.db", "theirs.db", "ours.db"))


def test_conflicts_that_base_has_kept_are_resolved_in_both():
    kept = "CREATE TABLE _merge_conflicts(id INTEGER PRIMARY KEY); INSERT INTO _merge_conflicts VALUES (1);"
    files(SONGS + kept, "DROP TABLE _merge_conflicts", "DELETE FROM _merge_conflicts; UPDATE song SET plays = 9 WHERE id = 1")
    merge()
    assert rows("SELECT plays FROM song WHERE id = 1") == [(9,)] and rows("SELECT name FROM sqlite_master WHERE name LIKE '%conflicts'") == []


def test_files_that_count_are_left_to_sync():
    make_counting = program.make
    files(SONGS)
    make_counting("ours.db", "CREATE VIRTUAL TABLE views USING counter(page PRIMARY KEY, n COUNTER)")
    refused("merge: ours.db counts already: files that do need no BASE: sqlite-counter sync ours.db theirs.db")


def test_encodings_must_be_one():
    make("base.db", "PRAGMA encoding = 'UTF-16le'", SONGS)
    make("theirs.db", "PRAGMA encoding = 'UTF-16le'", SONGS)
    make("ours.db", SONGS)
    refused("merge: theirs.db has texts in UTF-16le, ours.db in UTF-8: files of one encoding can be merged")
    make("ours16.db", "PRAGMA encoding = 'UTF-16le'", SONGS)
    make("theirs.db", "UPDATE song SET title = 'ä' WHERE id = 1")
    assert run("merge", "base.db", "ours16.db", "theirs.db")[0] == 0 and rows("SELECT title FROM song WHERE id = 1", "ours16.db") == [("ä",)]


def test_a_file_that_somebody_writes_is_refused_and_stays_theirs():
    files(SONGS, "", "UPDATE song SET rating = 9 WHERE id = 1")
    writer = sqlite3.connect("ours.db", isolation_level=None)
    writer.execute("BEGIN IMMEDIATE")
    writer.execute("UPDATE song SET rating = 5 WHERE id = 1")
    status, out, error = run("merge", "base.db", "ours.db", "theirs.db")
    assert (status, out) == (2, "") and error.startswith("sqlite-counter: ours.db: busy for ")
    writer.execute("COMMIT")
    writer.close()
    assert rows("SELECT rating FROM song WHERE id = 1") == [(5,)]
    assert conflicts(merge(status=1))[0]["column"] == "rating"


def test_a_dropped_column_that_an_index_of_ours_needs_stays_and_is_listed():
    files(SONGS, "CREATE INDEX i ON song(rating)", "ALTER TABLE song DROP COLUMN rating; UPDATE song SET plays = 1 WHERE id = 1")
    found, = conflicts(merge(status=1))
    assert (found["kind"], found["table"], found["column"], found["taken"]) == ("schema", "song", "rating", "ours")
    assert rows("SELECT * FROM song WHERE id = 1") == [(1, "a", 1, 1)] and rows("SELECT name FROM sqlite_master WHERE name = 'i'") == [("i",)]


def test_a_reference_that_led_nowhere_and_meets_a_row_of_ours_is_noted():
    files(UNDECLARED, "INSERT INTO tag VALUES (7, 'o')", "INSERT INTO note_tag VALUES ('x', 7, 1)")
    notes = [line["note"] for line in merge("--ref", "note_tag.tag_id=tag") if "note" in line]
    assert notes == ["1 value of note_tag.tag_id led to no row of tag in theirs, and has the number of a new row of ours"]


@pytest.mark.parametrize("ours, listed", [("UPDATE t SET b = 9", 1), ("INSERT INTO t VALUES (2, 'o', 8)", 1), ("DELETE FROM t", 0)])
def test_values_of_a_column_that_a_table_made_anew_lacks_are_listed(ours, listed):
    files("CREATE TABLE t(id INTEGER PRIMARY KEY, a, b); INSERT INTO t VALUES (1, 'x', 1)", ours,
          "CREATE TABLE n(id INTEGER PRIMARY KEY, a TEXT NOT NULL); INSERT INTO n SELECT id, a FROM t; DROP TABLE t; ALTER TABLE n RENAME TO t")
    found = conflicts(merge(status=listed))
    assert [(one["kind"], one["table"], one["column"], one["taken"]) for one in found] == listed * [("schema", "t", "b", "theirs")]
