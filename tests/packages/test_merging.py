"""test_merging.py - files that nobody prepared are merged by the calls of Python and Node, which tell what the program says."""
import os
import sqlite3

import pytest

from conftest import CLEAN, PROGRAM, run
from test_npm_batches import packages, project  # noqa: F401

MUSIC = """
CREATE TABLE song(id INTEGER PRIMARY KEY, title TEXT, plays INTEGER, cover);
CREATE TABLE tag(id INTEGER PRIMARY KEY, name TEXT UNIQUE);
CREATE TABLE note_tag(note TEXT, tag_id INTEGER, PRIMARY KEY (note, tag_id));
INSERT INTO song VALUES (1, 'Autumn', 12, x'00'), (2, 'Bolero', 3, 0);
"""
OURS = """
UPDATE song SET plays = plays + 2, cover = x'00ff' WHERE id = 1;
DELETE FROM song WHERE id = 2;
INSERT INTO tag VALUES (1, 'loud'), (2, 'calm');
"""
THEIRS = """
UPDATE song SET plays = plays + 5, cover = 9007199254740993 WHERE id = 1;
UPDATE song SET title = 'Boléro', cover = x'07' WHERE id = 2;
INSERT INTO tag VALUES (1, 'new'), (2, 'loud');
INSERT INTO note_tag VALUES ('x', 1);
"""


@pytest.fixture(autouse=True)
def beside(monkeypatch, tmp_path):
    """The program in PATH, as where no wheel was installed; three files."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "sqlite-counter").symlink_to(PROGRAM)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    monkeypatch.chdir(tmp_path)
    for name, script in ("base", ""), ("ours", OURS), ("theirs", THEIRS):
        db = sqlite3.connect(f"{name}.db", isolation_level=None)
        db.executescript(MUSIC + script)
        db.close()


def rows(path, sql="SELECT id, title, plays FROM song ORDER BY id"):
    db = sqlite3.connect(path)
    try:
        return db.execute(sql).fetchall()
    finally:
        db.close()


def test_python_merges(counter, tmp_path):
    files = [tmp_path / f"{name}.db" for name in ("base", "ours", "theirs")]
    before = files[1].read_bytes()
    with pytest.raises(counter.QuestionError, match="^merge asks before it does anything: --ref note_tag.tag_id=tag or --no-ref") as asked:
        counter.merge(*files)
    assert asked.value.questions == ["--ref note_tag.tag_id=tag or --no-ref note_tag.tag_id"] and isinstance(asked.value, counter.SyncError)
    words = {"add": ["song.plays"], "ref": ["note_tag.tag_id=tag"]}
    dry = counter.merge(*files, **words, dry_run=True)
    other = counter.merge(*files, **words, output=tmp_path / "new.db")
    assert files[1].read_bytes() == before
    merged = counter.merge(*files, **words, conflict_table=True)
    assert merged[:2] == dry[:2] == other[:2]
    assert [table for table in merged.tables if table.table == "tag"] == [("tag", 1, 0, 0, 1, 1, [(1, 3)])]
    cover, song = merged.conflicts
    assert cover == ("column", "song", [1], "cover", b"\x00", b"\x00\xff", 2**53 + 1, "ours", None)
    assert (song.kind, song.key, song.column, song.ours, song.taken) == ("delete", [2], None, None, "theirs")
    assert song.theirs == {"id": 2, "title": "Boléro", "plays": 3, "cover": b"\x07"}
    assert any("need no BASE" in note for note in merged.notes)
    assert rows("ours.db") == rows("new.db") == [(1, "Autumn", 19), (2, "Boléro", 3)]
    assert rows("ours.db", "SELECT count(*) FROM _merge_conflicts") == [(2,)] and rows("ours.db", "SELECT tag_id FROM note_tag") == [(3,)]


@pytest.mark.parametrize("options, plays", [({"theirs_wins": True}, 17), ({"theirs_wins": ["song"]}, 17), ({"theirs_wins": ["tag"]}, 14)])
def test_python_takes_theirs_where_it_is_told_to(counter, options, plays):
    counter.merge("base.db", "ours.db", "theirs.db", no_ref=["note_tag.tag_id"], base_is_fork=True, **options)
    assert rows("ours.db")[0] == (1, "Autumn", plays)


def test_python_merges_without_base(counter):
    with pytest.raises(counter.SyncError, match="^merge: without BASE deletions cannot be told from new rows: say --copies, .* or --unrelated"):
        counter.merge(None, "ours.db", "theirs.db")
    copies = counter.merge(None, "ours.db", "theirs.db", copies=True, output="copies.db")
    assert {conflict.kind for conflict in copies.conflicts} == {"column"} and rows("copies.db") == [(1, "Autumn", 14), (2, "Boléro", 3)]
    counter.merge(None, "ours.db", "theirs.db", unrelated=True, assigned=["tag"], no_ref=["note_tag.tag_id"])
    assert [title for _, title, _ in rows("ours.db")] == ["Autumn", "Autumn", "Boléro"]


def test_python_says_why_nothing_was_done(counter):
    before = open("ours.db", "rb").read()
    for sentence, files, options in (("^gone.db: there is no such file$", ("gone.db", "ours.db", "theirs.db"), {}),
                                     ("^merge: --add song.lost: there is no such column", ("base.db", "ours.db", "theirs.db"), {"add": ["song.lost"]})):
        with pytest.raises(counter.SyncError, match=sentence):
            counter.merge(*files, **options)
    with pytest.raises(TypeError, match="^sqlite_counter: add must be a list of texts, not 'song.plays'$"):
        counter.merge("base.db", "ours.db", "theirs.db", add="song.plays")
    assert open("ours.db", "rb").read() == before


def test_node_merges(project):  # noqa: F811
    (project / "merging.mjs").write_text("""
import assert from "assert";
import fs from "fs";
import { QuestionError, SyncError, merge } from "sqlite-counter";
const files = ["base.db", "ours.db", "theirs.db"];
const before = fs.readFileSync("ours.db");
await assert.rejects(merge(...files), (error) => error instanceof QuestionError && error instanceof SyncError &&
  /^sqlite-counter: merge asks before it does anything: --ref/.test(error.message) &&
  error.questions.join() === "--ref note_tag.tag_id=tag or --no-ref note_tag.tag_id");
await assert.rejects(merge("gone.db", "ours.db", "theirs.db"), { name: "SyncError", message: "sqlite-counter: gone.db: there is no such file" });
await assert.rejects(merge(null, "ours.db", "theirs.db"), /merge: without BASE/);
await assert.rejects(merge(...files, { add: "song.plays" }), /add must be an array of texts, not song.plays/);
const words = { add: ["song.plays"], ref: ["note_tag.tag_id=tag"] };
const dry = await merge(...files, { ...words, dryRun: true });
await merge(...files, { noRef: ["note_tag.tag_id"], theirsWins: true, baseIsFork: true, output: "new.db" });
await merge(null, "ours.db", "theirs.db", { copies: true, theirsWins: ["song"], output: "copies.db" });
await merge(null, "ours.db", "theirs.db", { unrelated: true, assigned: ["tag"], noRef: ["note_tag.tag_id"], output: "unrelated.db" });
assert.ok(before.equals(fs.readFileSync("ours.db")));
const { tables, conflicts, notes } = await merge(...files, { ...words, conflictTable: true });
assert.deepStrictEqual({ tables, conflicts }, { tables: dry.tables, conflicts: dry.conflicts });
assert.deepStrictEqual(tables.find(({ table }) => table === "tag"),
  { table: "tag", inserted: 1, updated: 0, deleted: 0, same: 1, joined: 1, renumbered: [[1, 3]] });
assert.deepStrictEqual(conflicts[0], { kind: "column", table: "song", key: [1], column: "cover", base: Buffer.of(0), ours: Buffer.of(0, 255),
  theirs: 9007199254740993n, taken: "ours", note: null });
assert.deepStrictEqual(conflicts[1].theirs, { id: 2, title: "Boléro", plays: 3, cover: Buffer.of(7) });
assert.ok(notes.some((note) => note.includes("need no BASE")));
console.log("held");
""")
    assert run("node", "--no-warnings", "merging.mjs", cwd=project, env=CLEAN) == "held\n"
    assert rows(project / "ours.db") == [(1, "Autumn", 19), (2, "Boléro", 3)]
    assert rows(project / "new.db")[0] == rows(project / "copies.db")[0] == (1, "Autumn", 17)
    assert len(rows(project / "unrelated.db")) == 3
