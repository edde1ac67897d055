"""worldly.py - the model of test_merge_worlds.py: what a file holds, and what a merge must hold.

The model reads a file into rows that know themselves: a row with a number is known by its mark; one
with a key by its key, in which numbers of other rows are replaced by those rows; rows without a key are
counted. A reference is the row that it leads to; one that leads to no row that any file had is loose:
another row may be given its number, so that nothing can be said of it, in this merge or a later one. So is
one that BASE has left to a row that it has not, nor OURS: a row that has moved is known by its values. So
the model never looks at a number, which is what a merge may change; it joins the rows of two branches by UNIQUE values, merges column by column, and brings
parents back. Where a constraint refuses a row, each row that differs from the model must be listed.
"""

import collections
import sqlite3

from worlds import canonical, quoted

MISSING = ("missing", None)


def folded(value, declared):
    """A value of a key, as = compares it."""
    kind, it = canonical(value)
    if isinstance(it, str) and "NOCASE" in declared:
        it = "".join(chr(ord(x) + 32) if "A" <= x <= "Z" else x for x in it)
        it = it.split("\0")[0] + "." * len(it.encode()) if "\0" in it else it  # NOCASE looks no further
    return ("number", it) if kind in ("int", "float") else (kind, it)


class State:
    """Rows of a file: rows[table][uid][column], uids of references; keyless[table] is a Counter."""

    def __init__(self, made, names, db, aliases, split=(), numbers_of_ours=None, gone=()):
        self.gone = gone  # rows of other files, of which a reference may be left
        self.made, self.names, self.aliases = made, names, aliases
        self.rows, self.keyless, self.rowids, self.uid_of = {}, {}, {}, {}
        self.tables = [t for t in made.tables if db.execute("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?", (t.name,)).fetchone()]
        self.twice = []
        self.loose = set()  # (table, uid, column); uid is None in tables of which rows are known by it
        raw = {t.name: self.read(db, t) for t in self.tables}
        for t in self.tables:
            if t.kind == "number":
                self.uid_of[t.name] = {}
                for rowid, values in raw[t.name]:
                    uid = ("mark", t.name, self.aliases.get((t.name, values[t.of("mark")[0]]), values[t.of("mark")[0]]))
                    number = values[t.columns[0]]
                    is_ours = numbers_of_ours is not None and numbers_of_ours.get(t.name, {}).get(number) == uid
                    if (t.name, uid[2]) in split and not is_ours:
                        uid = ("mark", t.name, uid[2] + "~")
                    if uid in self.uid_of[t.name].values():
                        self.twice.append((t.name, uid))
                    self.uid_of[t.name][number] = uid
        for t in self.tables:
            self.rows[t.name], self.rowids[t.name] = {}, {}
            if t.kind == "none":
                self.keyless[t.name] = collections.Counter(self.row_of(t, values, flat=True) for _, values in raw[t.name])
                self.find_loose(t, None, *(dict(row) for row in self.keyless[t.name]))
                continue
            for rowid, values in raw[t.name]:
                uid = self.uid(t, values)
                if uid in self.rows[t.name]:
                    self.twice.append((t.name, uid))
                self.rows[t.name][uid] = self.row_of(t, values)
                self.find_loose(t, uid, self.rows[t.name][uid])
                self.rowids[t.name][uid] = rowid

    def read(self, db, t):
        columns = [c for c in t.columns if c in self.names]
        taken = {self.names[c].lower() for c in columns}
        rowid = None if t.without_rowid else next((n for n in ("rowid", "_rowid_", "oid") if n not in taken), None)
        shown = ", ".join([rowid or "NULL"] + [quoted(self.names[c]) for c in columns])
        return [(row[0], dict(zip(columns, row[1:]))) for row in db.execute(f"SELECT {shown} FROM {quoted(t.name)} ORDER BY 1")]

    def refer(self, parent, value):
        if not isinstance(value, int):
            return canonical(value)
        known = [self.uid_of, *self.gone]
        return next((of[parent.name][value] for of in known if value in of.get(parent.name, {})), ("number", value))

    def uid(self, t, values):
        if t.kind == "number":
            return self.uid_of[t.name][values[t.columns[0]]]
        return ("key", t.name, tuple(self.refer(c.to, values[c]) if c.to else folded(values[c], c.declared) for c in t.of("key")))

    def find_loose(self, t, uid, *rows):
        for row in rows:
            self.loose |= {(t.name, None if c.role == "key" else uid, c) for c, value in row.items() if c.to and value[0] == "number"}

    def broken(self):
        """References by foreign keys that were not enforced to rows that the file itself has not."""
        return {(t.name, uid, c) for t in self.tables for uid, row in self.rows[t.name].items() for c, value in row.items()
                if c.to and c.is_declared and value[0] == "mark" and value not in self.rows.get(c.to.name, {})}

    def left(self, other):
        """References to rows that neither this file nor the other has."""
        return {(t.name, uid, c) for t in self.tables for uid, row in self.rows[t.name].items() for c, value in row.items()
                if c.to and value[0] == "mark" and not any(value in state.rows.get(c.to.name, {}) for state in (self, other))}

    def row_of(self, t, values, flat=False):
        row = {c: self.refer(c.to, v) if c.to else canonical(v) for c, v in values.items() if not c.generated and c.role != "id"}
        return tuple(row.items()) if flat else row


def name_of(c, base, ours, theirs, changed):
    """What the result calls a column."""
    before, mine, other = base.get(c), ours.get(c), theirs.get(c)
    if mine is None:
        return None if before is not None else other
    if other is None:
        return mine if before is None or changed else None
    return other if other != before else mine


class Merge:
    """What three files give; `problems` of a result that is another."""

    def __init__(self, made, base, ours, theirs, aliases, before=None, other=None):
        """before: the merge that has made OURS; other: the one that took BASE."""
        self.made, self.aliases, self.before, self.other = made, dict(aliases), before, other
        self.results = []
        self.branch = base, ours, theirs
        self.names = {}
        self.split, self.joined = set(), set()
        self.columns, self.deleted, self.foreign, self.schema = set(), set(), set(), set()
        self.read_all()
        self.join()
        self.find_loose()
        self.names_of_result()
        self.merged, self.keyless = {}, {}
        for t in made.tables:
            self.merge_table(t)
        self.is_broken = any(made.files[name].execute("PRAGMA foreign_key_check").fetchall() for name in (ours, theirs))
        if not self.is_broken:
            self.restore_parents()

    def read_all(self):
        made = self.made
        base, ours, theirs = self.branch
        ours_had = self.before.numbers_of_ours() if self.before else []
        theirs_had = self.other.numbers_of_theirs() if self.other else []
        self.base = State(made, made.schemas[base], made.files[base], self.aliases, gone=theirs_had)
        ours_had = ours_had if self.before else [self.base.uid_of]
        self.ours = State(made, made.schemas[ours], made.files[ours], self.aliases, gone=ours_had)
        self.theirs = State(made, made.schemas[theirs], made.files[theirs], self.aliases, self.split, gone=[self.base.uid_of, *theirs_had])

    def find_loose(self):
        """References that are loose, or have been in a merge before."""
        earlier = set().union(*(merge.loose for merge in (self.before, self.other) if merge))
        known = lambda uid: uid and (*uid[:2], self.aliases.get((uid[1], uid[2]), uid[2])) if uid and uid[0] == "mark" else uid
        self.loose = {(t, known(uid), c) for t, uid, c in earlier} | self.base.loose | self.ours.loose | self.theirs.loose | self.ours.broken() | self.theirs.broken()
        if self.before:
            self.loose |= self.base.left(self.ours)
        self.loose_rows = {(t, uid) for t, uid, _ in self.loose}

    def is_loose(self, t, uid):
        return (t, uid) in self.loose_rows or (t, None) in self.loose_rows

    def numbers_of_ours(self):
        """Which row a number of OURS meant."""
        return [*self.results, self.ours.uid_of, *self.ours.gone]

    def numbers_of_theirs(self):
        return [self.theirs.uid_of, *self.theirs.gone]

    # ---- rows that are one ----

    def join(self):
        """New rows of THEIRS that have the UNIQUE values of new rows of OURS, until there are no more;
        equal marks of rows that are not equal are two rows."""
        while True:
            found = self.next_join()
            if not found:
                break
            t, mine, other = found
            self.aliases[t.name, other[2]] = mine[2]
            self.read_all()
        while self.find_split():
            self.read_all()

    def find_split(self):
        before = len(self.split)
        for t in self.made.tables:
            if t.kind != "number" or t not in self.ours.tables or t not in self.theirs.tables:
                continue
            mine, other = self.ours, self.theirs
            for uid in set(mine.rows[t.name]) & set(other.rows[t.name]) - set(self.base.rows.get(t.name, {})):
                same = mine.rowids[t.name][uid] == other.rowids[t.name][uid] and all(
                    self.value(mine.rows[t.name][uid], c) == self.value(other.rows[t.name][uid], c) for c in t.columns if not c.generated and c.role != "id" and self.name_of(t, c))
                if not same and uid[2].startswith("common") and (t.name, uid) not in self.joined and not self.were_joined(t, uid):
                    self.split.add((t.name, uid[2]))
        return len(self.split) > before

    def were_joined(self, t, uid):
        return uid[2] in [to for (name, mark), to in self.aliases.items() if name == t.name and mark != to]

    def next_join(self):
        for t in self.made.tables:
            if t.kind != "number" or not t.uniques or t not in self.ours.tables or t not in self.theirs.tables:
                continue
            before = self.base.rows.get(t.name, {})
            mine = {uid: row for uid, row in self.ours.rows[t.name].items() if uid not in before}
            rowids = self.theirs.rowids[t.name]  # None: the table has no row ids
            for uid, row in sorted(self.theirs.rows[t.name].items(), key=lambda item: (rowids[item[0]] is None, rowids[item[0]] or 0)):
                if uid in before or (t.name, uid) in self.joined:
                    continue
                for unique in t.uniques:
                    for own, other in mine.items():
                        if (t.name, own) in self.joined:
                            continue
                        values = [(self.unique_value(c, other, own), self.unique_value(c, row, uid)) for c in unique]
                        if all(a == b and a[1] is not None for a, b in values):
                            self.joined.add((t.name, own))
                            if own != uid:
                                return t, own, uid
        return None

    def unique_value(self, c, row, own=None):
        value = row.get(c, (type(c.default).__name__, c.default))
        if value == own:
            return "itself", True
        return value if c.to else folded(value[1], c.declared)

    # ---- names ----

    def name_of(self, t, c):
        return name_of(c, *(self.made.schemas[name] for name in self.branch), self.was_changed(t, c, self.ours))

    def names_of_result(self):
        made = self.made
        base, ours, theirs = (made.schemas[name] for name in self.branch)
        for t in made.tables:
            for c in t.columns:
                name = self.name_of(t, c)
                if c in base and (c not in ours) != (c not in theirs) and t in self.ours.tables and t in self.theirs.tables:
                    if self.was_changed(t, c, self.ours if c in ours else self.theirs):
                        self.schema.add((t.name, base[c]))
                if t.kind == "none" and t in self.base.tables and t not in self.ours.tables:
                    name = theirs.get(c) if self.ours_dropped_and_theirs_changed(t) else None
                if t.kind == "none" and t in self.base.tables and t not in self.theirs.tables and t in self.ours.tables:
                    name = ours.get(c)
                if name is not None:
                    self.names[c] = name

    def ours_dropped_and_theirs_changed(self, t):
        if t not in self.theirs.tables:
            return False
        return self.base.keyless[t.name] != self.theirs.keyless[t.name] or self.was_altered(t, self.theirs)

    def was_altered(self, t, state):
        return any(self.base.names.get(c) != state.names.get(c) for c in t.columns)

    def was_changed(self, t, c, state):
        if state is self.ours and c in self.made.indexed[self.branch[1]]:
            return True  # an index needs it
        if c not in state.names or c not in self.base.names or c.generated or c.role == "id" or t not in self.base.tables or t not in state.tables:
            return False
        if t.kind == "none":
            values = lambda of: collections.Counter(dict(row).get(c) for row in of.keyless[t.name].elements())
            return values(state) != values(self.base)
        before, after = self.base.rows[t.name], state.rows[t.name]
        return collections.Counter(row[c] for row in before.values()) != collections.Counter(row[c] for row in after.values())

    # ---- merging ----

    def value(self, row, c):
        return None if row is None else row.get(c, canonical(c.default))

    def merge_table(self, t):
        if t.kind == "none":
            self.merge_keyless(t)
            return
        base, ours, theirs = (state.rows.get(t.name, {}) for state in (self.base, self.ours, self.theirs))
        rows = self.merged[t.name] = {}
        for uid in [*ours, *(uid for uid in theirs if uid not in ours)]:
            b, o, th = base.get(uid), ours.get(uid), theirs.get(uid)
            row = self.merge_row(t, uid, b, o, th)
            if row is not None:
                rows[uid] = row

    def columns_of(self, t):
        return [c for c in t.columns if c in self.names and not c.generated and c.role != "id"]

    def merge_row(self, t, uid, b, o, th):
        take = lambda row: {c: self.value(row, c) for c in self.columns_of(t)}
        if o is None or th is None:
            left = o if th is None else th
            if b is None:
                return take(left)
            if any(self.value(left, c) != self.value(b, c) for c in self.columns_of(t) if c in left):
                self.deleted.add((t.name, uid))
                return take(left if left is o else {**b, **left})
            return None
        row = {}
        for c in self.columns_of(t):
            vb, vo, vt = self.value(b, c), self.value(o, c), self.value(th, c)
            if c not in self.theirs.names:
                vt = vb if b is not None and c in self.base.names else vo
                vb = vt
            if b is not None and c not in self.ours.names and c not in self.base.names:
                vb = vo = canonical(c.default)
            if b is None and c not in self.ours.names:
                row[c] = vt
            elif b is not None and vt == vb:
                row[c] = vo
            elif b is not None and vo == vb:
                row[c] = vt
            elif c.adds and self.sums(b, vb, vo, vt, t.kind == "number" and b is None and (t.name, uid) not in self.joined):
                row[c] = ("int", vo[1] + vt[1] - (vb[1] if b is not None else 0))
            else:
                row[c] = vo
                if vo != vt:
                    self.columns.add((t.name, uid, c))
        return row

    def merge_single(self, base, ours, theirs):
        """A table with one row has that row in all files."""
        row = []
        for c in ours:
            vb, vo, vt = base[c], ours[c], theirs[c]
            if vo == vb:
                value = vt
            elif vt != vb and c.adds and self.sums(base, vb, vo, vt, False):
                value = ("int", vo[1] + vt[1] - vb[1])
            else:
                value = vo
            row.append((c, value))
        return tuple(row)

    def sums(self, b, vb, vo, vt, is_same):
        if is_same or vo[0] != "int" or vt[0] != "int" or (b is not None and vb[0] != "int"):
            return False
        return abs(vo[1] + vt[1] - (vb[1] if b is not None else 0)) < 2**63

    def merge_keyless(self, t):
        if t in self.base.tables and t not in self.ours.tables and t not in self.theirs.tables:
            self.keyless[t.name] = collections.Counter()
            return
        columns = [c for c in self.columns_of(t) if c in self.theirs.names or c not in self.base.names or t not in self.theirs.tables]
        def of(state):
            return collections.Counter(tuple((c, dict(row).get(c, canonical(c.default))) for c in columns) for row in state.keyless.get(t.name, collections.Counter()).elements())
        base, ours, theirs = of(self.base), of(self.ours), of(self.theirs)
        if t in self.base.tables and t not in self.ours.tables or t not in self.theirs.tables and t in self.base.tables:
            left = ours if t in self.ours.tables else theirs
            is_left = left != base or self.was_altered(t, self.ours if left is ours else self.theirs)
            self.keyless[t.name] = left if is_left else collections.Counter()
            if is_left:
                self.schema.add((t.name, None))
            return
        if t in self.base.tables and sum(base.values()) == sum(ours.values()) == sum(theirs.values()) == 1:
            self.keyless[t.name] = collections.Counter([self.merge_single(*(dict(*state) for state in (base, ours, theirs)))])
            return
        result = collections.Counter()
        for row in {**base, **ours, **theirs}:
            mine, other = ours[row] - base[row], theirs[row] - base[row]
            n = base[row] + max(0, mine) + max(0, other) - max(0, -mine, -other)
            if n > 0:
                result[row] = n
        self.keyless[t.name] = result

    # ---- foreign keys ----

    def restore_parents(self):
        """Parents of rows in the result that one side has deleted come back."""
        again = True
        while again:
            again = False
            for t, child, row in self.all_rows():
                for parent, uid in self.parents_of(t, row):
                    if parent.name in self.merged and uid not in self.merged[parent.name] and not self.is_mixed(t, child, row, parent):
                        again |= self.restore(parent, uid)

    def is_mixed(self, t, uid, row, parent):
        """Whether some columns of a foreign key are of OURS, the others of THEIRS: nobody has meant that parent."""
        if uid is None or not t.key_foreign or parent is not t.key_foreign[1]:
            return False
        sides = [state.rows.get(t.name, {}).get(uid) for state in (self.ours, self.theirs)]
        return not any(side and all(self.value(side, c) == row.get(c) for c in t.key_foreign[0]) for side in sides)

    def all_rows(self):
        for t in self.made.tables:
            if t.kind == "none":
                yield from ((t, None, dict(row)) for row in list(self.keyless[t.name]))
            else:
                yield from ((t, uid, row) for uid, row in list(self.merged[t.name].items()))

    def parents_of(self, t, row):
        for c in t.columns:
            if c in row and c.to and c.is_declared and row[c][0] == "mark":
                yield c.to, row[c]
        if t.key_foreign:
            mine, parent, keys = t.key_foreign
            values = [row.get(c, MISSING) for c in mine]
            if all(v[1] is not None for v in values):
                yield parent, ("key", parent.name, tuple(folded(v[1], k.declared) for v, k in zip(values, keys)))

    def restore(self, parent, uid):
        mine, other = self.ours.rows[parent.name].get(uid) if parent in self.ours.tables else None, self.theirs.rows[parent.name].get(uid) if parent in self.theirs.tables else None
        if mine is None and other is None:
            return False
        row = {**self.base.rows.get(parent.name, {}).get(uid, {}), **(mine if mine is not None else other)}
        self.merged[parent.name][uid] = {c: self.value(row, c) for c in self.columns_of(parent)}
        self.foreign.add((parent.name, uid))
        return True

    # ---- whether it stands ----

    def is_clean(self):
        """Whether no constraint refuses a row of the result, and no parent is missing."""
        if self.is_broken or any("unique" in changes for changes in self.made.changed.values()):
            return False
        for t, child, row in self.all_rows():
            for parent, uid in self.parents_of(t, row):
                if uid not in self.merged.get(parent.name, {}) or self.is_mixed(t, child, row, parent):
                    return False
            for c, value in row.items():
                if "NOT NULL" in c.declared and value[1] is None:
                    return False
                if "CHECK" in c.declared and ("< 50" in c.declared and value[0] == "int" and value[1] >= 50 or "IS NOT 'b'" in c.declared and value == ("str", "b")):
                    return False
                if value[0] == "number":
                    return False
        for t in self.made.tables:
            for unique in t.uniques:
                seen = set()
                for row in self.merged.get(t.name, {}).values():
                    values = tuple(self.unique_value(c, row) for c in unique)
                    if all(v[1] is not None for v in values):
                        if values in seen:
                            return False
                        seen.add(values)
        return True
