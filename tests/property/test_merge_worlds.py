"""test_merge_worlds.py - sqlite-counter merge against the model of worldly.py, in random worlds."""

import collections
import json
import os
import pathlib
import sqlite3
import subprocess

from randomly import given
from worldly import MISSING, Merge, State
from worlds import damaged_worlds, plain_worlds, quoted, worlds, worlds_of_three, worlds_without_adds

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = os.environ.get("SQLITE_COUNTER") or ROOT / "build" / "sqlite-counter"


def run(*words):
    """The program named by SQLITE_COUNTER, such as one with sanitizers, or that of the build."""
    done = subprocess.run([PROGRAM, "merge", *words], capture_output=True, timeout=60)
    return done.returncode, done.stdout.decode("utf-8", "surrogateescape"), done.stderr.decode("utf-8", "surrogateescape")


def content(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def value_of(it):
    return bytes.fromhex(it["hex"]) if isinstance(it, dict) else it


class Result:
    """A merge that was run, beside what it should have given."""

    def __init__(self, made, folder, base, ours, theirs, aliases=None, before=None, other=None, more=()):
        self.made, self.folder, self.branch, self.is_guess = made, folder, (base, ours, theirs), False
        self.expected = Merge(made, base, ours, theirs, aliases or {}, before, other)
        for name in self.branch:
            if (folder / name).exists():
                os.remove(folder / name)
            made.write(name, folder / name)
        before = content(folder)
        words = ["--json", "--base-is-fork", *made.options(base, ours, theirs), *more]
        paths = [str(folder / name) for name in self.branch]
        self.status, self.out, self.error = run(*words, *paths)
        self.asked = []
        if self.status == 2 and self.out:
            asked = self.asked = [json.loads(line)["ask"].split(" or --no-ref ")[1] for line in self.out.splitlines()]
            assert content(folder) == before, "asked, and written"
            self.status, self.out, self.error = run(*words, *(word for column in asked for word in ("--no-ref", column)), *paths)
        after = content(folder)
        assert self.status in (0, 1, 2), (self.status, self.error)
        assert set(after) == set(before), "left beside the files"
        assert after[base] == before[base] and after[theirs] == before[theirs], "BASE or THEIRS was written"
        if self.status == 2:
            assert after[ours] == before[ours], "refused, and written"
            self.lines = []
            return
        self.lines = [json.loads(line) for line in self.out.splitlines()]
        self.conflicts = [line["conflict"] for line in self.lines if "conflict" in line]
        assert self.status == (1 if self.conflicts else 0)
        db = sqlite3.connect(folder / ours, isolation_level=None)
        try:
            assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
            if not self.expected.is_broken:
                assert db.execute("PRAGMA foreign_key_check").fetchall() == []
            self.check(db)
        finally:
            db.close()

    def check(self, db):
        made, expected = self.made, self.expected
        for t in made.tables:
            if t.name in made.dropped[self.branch[1]] | made.dropped[self.branch[2]]:
                continue
            columns = {row[1] for row in db.execute(f"SELECT * FROM pragma_table_xinfo(?)", (t.name,))}
            if columns:
                wanted = {expected.names.get(c) for c in t.columns} - {None}
                assert columns == wanted, (t.name, columns, wanted)
        self.state = State(made, expected.names, db, expected.aliases, expected.split, expected.ours.uid_of, expected.numbers_of_ours())
        expected.results.append(self.state.uid_of)
        assert not self.state.twice or any(c["kind"] == "number" for c in self.conflicts), ("rows that are twice", self.state.twice)
        if any(c["kind"] == "number" for c in self.conflicts):
            self.is_guess = True  # a row that has changed in all its columns, perhaps
            return
        self.check_rowids()
        listed = self.listed()
        if expected.is_clean():
            self.check_clean(listed)
        else:
            self.check_dirty(listed)

    def check_rowids(self):
        for t in self.made.tables:
            if t.kind == "none" or t.without_rowid:
                continue
            for uid, rowid in self.state.rowids.get(t.name, {}).items():
                mine = self.expected.ours.rowids.get(t.name, {}).get(uid)
                assert mine is None or mine == rowid, ("a rowid of OURS has changed", t.name, uid, mine, rowid)

    def listed(self):
        """(kind, table, uid or None, column, taken) of each conflict."""
        found = []
        for c in self.conflicts:
            t = next((t for t in self.made.tables if t.name == c["table"]), None)
            uid = None
            if t is not None and c["key"] is not None and t.kind != "none":
                uid = self.uid_of(t, c)
            found.append((c["kind"], c["table"], uid, c["column"], c["taken"]))
        return found

    def uid_of(self, t, conflict):
        key = [value_of(it) for it in conflict["key"]]
        if t.kind == "number":
            if conflict["kind"] == "constraint" or conflict["kind"] == "foreign key":
                for side in "ours", "theirs":
                    whole = conflict[side]
                    if isinstance(whole, str):
                        whole = json.loads(whole)
                    if isinstance(whole, dict) and whole.get("mark"):
                        return ("mark", t.name, self.expected.aliases.get((t.name, whole["mark"]), whole["mark"]))
            return self.state.uid_of[t.name].get(key[0], ("number", key[0]))
        columns = [c for c in t.columns if c.role == "key"]
        return self.state.uid(t, dict(zip(columns, key)))

    def check_clean(self, listed):
        expected, names = self.expected, {c: n for c, n in self.expected.names.items()}
        columns = {(t, uid, column) for kind, t, uid, column, _ in listed if kind == "column" and uid}
        wanted = {(t, uid, names[c]) for t, uid, c in expected.columns}
        deleted = {(t, uid) for kind, t, uid, _, _ in listed if kind == "delete" and uid}
        foreign = {(t, uid) for kind, t, uid, _, _ in listed if kind == "foreign key" and uid}
        assert not [one for one in listed if one[0] == "constraint"], ("listed, and no constraint stands in its way", listed, self.conflicts)
        made_tables = self.made.tables
        schema = {(t, column) for kind, t, _, column, _ in listed if kind == "schema" and any(t == one.name for one in made_tables)}
        assert schema == expected.schema, ("columns that were dropped", schema, expected.schema)
        for t in self.made.tables:
            if t.kind == "none":
                self.check_keyless(t)
                continue
            has, should = self.state.rows.get(t.name, {}), expected.merged[t.name]
            lost, extra = set(should) - set(has), set(has) - set(should)
            lost, extra = ({uid for uid in several if not expected.is_loose(t.name, uid)} for several in (lost, extra))
            assert not lost, ("lost", t.name, lost)
            assert not extra, ("not expected", t.name, extra)
            for uid in set(has) & set(should):
                differs = self.differs(t, uid, should[uid], has[uid])
                assert not differs, ("differs", t.name, uid, "wanted, found", differs)
        assert foreign == expected.foreign or any(c.is_declared for _, _, c in expected.loose), ("parents", "listed", foreign, "wanted", expected.foreign)
        loose = {(t, uid, names[c]) for t, uid, c in expected.loose if c in names}
        assert columns - loose == wanted - loose, ("columns", "not listed", wanted - columns, "no conflict", columns - wanted)
        deleted, should = ({one for one in several if not expected.is_loose(*one)} for several in (deleted, expected.deleted))
        assert deleted == should, ("delete", deleted, should)

    def differs(self, t, uid, should, has):
        """Columns that are not as expected. A row that is gone may have another number, which nobody has."""
        rows = self.expected.merged
        is_gone = lambda c: c.to and has.get(c, MISSING)[0] == "number" and should[c][0] == "mark" and should[c] not in rows[c.to.name]
        return {c: (should[c], has.get(c)) for c in should if should[c] != has.get(c) and (t.name, uid, c) not in self.expected.loose and not is_gone(c)}

    def check_keyless(self, t):
        has = collections.Counter(tuple((c, dict(row)[c]) for c in self.expected.columns_of(t)) for row in self.state.keyless.get(t.name, collections.Counter()).elements())
        should = self.expected.keyless[t.name]
        states = self.expected.base, self.expected.ours, self.expected.theirs
        if any(sum(state.keyless.get(t.name, {}).values()) == 1 for state in states):
            return  # one row may be that of a table that always has one
        if (t.name, None) in self.expected.loose_rows:
            return  # its rows are known by all their values
        if any(c not in self.expected.theirs.names and c in self.expected.base.names for c in self.expected.columns_of(t)):
            return
        assert has == should, ("rows without a key", t.name, "missing", should - has, "too many", has - should)

    def check_dirty(self, listed):
        """Each row that is not as the model has it is listed."""
        expected = self.expected
        told = {(t, uid) for _, t, uid, _, _ in listed}
        told_uids = {uid for _, _, uid, _, _ in listed}
        left_out = {(t, uid) for _, t, uid, _, taken in listed if taken == "none"}  # the number of such a row stays where no foreign key is
        unique = {name for (_, name), changes in self.made.changed.items() if "unique" in changes}  # its rows may be one row
        for t in self.made.tables:
            if t.kind == "none" or expected.is_broken and any(c.to for c in t.of("key")) or t.name in unique:
                continue
            has, should = self.state.rows.get(t.name, {}), expected.merged[t.name]
            for uid in set(has) ^ set(should):
                if (t.name, uid) in expected.foreign or expected.is_loose(t.name, uid):
                    continue  # its children were left out, or it is not known who its parent is
                assert (t.name, uid) in told or self.leads_to_told(uid, told_uids), ("lost or extra, and not listed", t.name, uid, self.conflicts)
            for uid in set(has) & set(should):
                differs = {c: values for c, values in self.differs(t, uid, should[uid], has[uid]).items() if should[uid][c][0] != "number" and
                           not (c.to and (c.to.name in unique or (c.to.name, should[uid][c]) in left_out))}
                assert not differs or (t.name, uid) in told, ("differs, and is not listed", t.name, uid, differs, self.conflicts)
            for uid in {uid for name, uid, c in expected.columns if name == t.name and (name, uid, c) not in expected.loose} & set(has):
                assert (t.name, uid) in told, ("a column", t.name, uid)

    def leads_to_told(self, uid, told):
        return uid[0] == "key" and any(part in told for part in uid[2])


def accepted(made, result):
    """Refusals that a world may meet, by their sentences."""
    error = result.error
    both = lambda: any(made.changed[result.branch[1], t.name] and made.changed[result.branch[2], t.name] for t in made.tables)
    if "in ways that do not go together" in error:
        return both() or any(t.name in error for t in made.tables)
    if "no name is left for its rowid" in error:
        return any(t.kind == "none" and {"rowid", "oid", "_rowid_"} <= {c.name for c in t.columns} for t in made.tables)
    return False


@given(made=worlds)
def test_a_merge_holds_what_both_sides_have_done(tmp_path_factory, made):
    folder = tmp_path_factory.mktemp("world")
    result = Result(made, folder, "base", "ours", "theirs")
    if result.status == 2:
        assert accepted(made, result), (result.error, result.out)


def merged(made, folder, base, ours, theirs, to, before=None, other=None):
    """A merge after which `to` is a branch; None if it was refused."""
    result = Result(made, folder, base, ours, theirs, before and before.expected.aliases, before and before.expected, other and other.expected)
    assert result.status < 2 or accepted(made, result) or "merge the other way" in result.error, result.error
    if result.status == 2 or result.is_guess:
        return None
    made.take_in(to, folder / ours, result.expected.names, ours)
    return result


@given(made=plain_worlds)
def test_theirs_goes_on_after_a_merge_and_is_merged_again(tmp_path_factory, made):
    folder = tmp_path_factory.mktemp("world")
    first = merged(made, folder, "base", "ours", "theirs", "first")
    if not first:
        return
    made.fork("theirs", "theirs2")
    made.work("theirs2")
    made.work("first")
    second = merged(made, folder, "theirs", "first", "theirs2", "second", first, first)
    if not second:
        return
    made.fork("theirs2", "theirs3")
    made.work("theirs3")
    merged(made, folder, "theirs2", "second", "theirs3", "third", second, second)


@given(made=worlds_of_three)
def test_three_branches_are_merged_into_one_in_turn(tmp_path_factory, made):
    folder = tmp_path_factory.mktemp("world")
    last, into, took = None, "ours", {}
    base = {"theirs": "base", "third": "base"}
    for turn, branch in enumerate(["theirs", "third", "theirs", "third"]):
        now = f"{branch}{turn}"
        made.fork(branch if base[branch] == "base" else base[branch], now)
        if turn > 1:
            made.work(now, schema=False)
            made.work(into, schema=False)
        result = merged(made, folder, base[branch], into, now, f"merged{turn}", last, took.get(branch))
        if not result:
            return
        last, into, base[branch], took[branch] = result, f"merged{turn}", now, result


@given(made=worlds_without_adds)
def test_the_same_merge_again_doubles_no_row(tmp_path_factory, made):
    folder = tmp_path_factory.mktemp("world")
    first = merged(made, folder, "base", "ours", "theirs", "first")
    if first:
        merged(made, folder, "base", "first", "theirs", "second", first)


@given(made=plain_worlds)
def test_what_was_merged_before_is_added_no_second_time(tmp_path_factory, made):
    """First without --add, then with it, into the file that was merged: it is refused, or told in a note."""
    folder = tmp_path_factory.mktemp("world")
    adding = [c for t in made.tables for c in t.columns if c.adds]
    for c in adding:
        c.adds = False
    first = merged(made, folder, "base", "ours", "theirs", "first")
    for c in adding:
        c.adds = True
    if not first:
        return
    words = ["--json", *made.options("base", "ours", "theirs"), *(word for column in first.asked for word in ("--no-ref", column))]
    status, out, error = run(*words, *(str(folder / name) for name in ("base", "ours", "theirs")))
    assert status < 2 or out or "BASE is older than the fork, or this was merged before" in error, error
    if status == 2 or "changes were made on both sides alike" in out:
        return
    db = sqlite3.connect(folder / "ours")
    of = first.expected
    state = State(made, of.names, db, of.aliases, of.split, first.state.uid_of, of.numbers_of_ours())
    db.close()
    for t in made.tables:
        before, mine = (side.keyless.get(t.name, collections.Counter()) for side in (of.base, of.ours))
        if before == mine:  # else what OURS has changed may be what THEIRS has
            assert state.keyless.get(t.name) == first.state.keyless.get(t.name), ("added twice", t.name)
        for c in set(t.columns) & set(adding) if t.kind != "none" else ():
            for uid, row in of.theirs.rows.get(t.name, {}).items():
                before, mine = (side.rows.get(t.name, {}).get(uid, {}).get(c) for side in (of.base, of.ours))
                if before == mine != row.get(c) and uid in state.rows[t.name] and not of.is_loose(t.name, uid):
                    assert state.rows[t.name][uid][c] == row[c], ("added twice", t.name, uid, c)


@given(made=plain_worlds)
def test_a_merge_without_changes_changes_nothing(tmp_path_factory, made):
    folder = tmp_path_factory.mktemp("world")
    made.fork("theirs", "theirs2")
    result = Result(made, folder, "theirs", "ours", "theirs2")
    assert result.status == 0
    def dump(db):
        schema = db.execute("SELECT type, name, tbl_name, sql FROM sqlite_master").fetchall()
        return schema, [db.execute(f"SELECT * FROM {quoted(name)}").fetchall() for kind, name, _, _ in schema if kind == "table"]
    db = sqlite3.connect(folder / "ours")
    assert dump(db) == dump(made.files["ours"])
    db.close()


@given(made=plain_worlds)
def test_the_result_goes_back_into_theirs_or_says_what_to_do(tmp_path_factory, made):
    folder = tmp_path_factory.mktemp("world")
    first = merged(made, folder, "base", "ours", "theirs", "first")
    if not first:
        return
    made.fork("theirs", "theirs2")
    back = Result(made, folder, "theirs", "theirs2", "first", first.expected.aliases)
    assert back.status < 2 or "merge the other way" in back.error, back.error


@given(made=damaged_worlds)
def test_a_damaged_file_is_refused_or_merged(tmp_path_factory, made):
    folder = tmp_path_factory.mktemp("world")
    for name in "base", "ours", "theirs":
        made.write(name, folder / name)
    path = folder / made.damaged
    path.write_bytes(made.damage(path.read_bytes()))
    before = content(folder)
    status, out, error = run("--base-is-fork", *made.options("base", "ours", "theirs"), *(str(folder / name) for name in ("base", "ours", "theirs")))
    after = content(folder)
    assert status in (0, 1, 2) and "Sanitizer" not in error and "runtime error" not in error, (status, error)
    assert set(after) == set(before) and all(after[name] == before[name] for name in ("base", "theirs"))
    if status == 2:
        assert (error.startswith("sqlite-counter: ") or out) and after["ours"] == before["ours"], error
    elif made.damaged != "ours":
        db = sqlite3.connect(folder / "ours")
        assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        db.close()
