"""test_rekeyed.py - a migration gives a table another key, in each file at its own time: 'keys=changed'."""
import collections
import random

import pytest

from conftest import EXAMPLES, SEED
from files import connect

REBUILD = ["BEGIN", "CREATE TABLE new(shop TEXT NOT NULL, k TEXT NOT NULL, n INTEGER NOT NULL DEFAULT 0, m INTEGER, name TEXT, PRIMARY KEY (shop, k)) {rowid}",
           "INSERT INTO new(shop, k, n, m, name) SELECT k || k, k, n, m, name FROM t ORDER BY {order}",
           "DROP TABLE t", "ALTER TABLE new RENAME TO t"]


def run(db, *statements):
    return [row for statement in statements for row in db.execute(statement).fetchall()]


class World:
    def __init__(self, draw, folder, kind):
        self.draw, self.folder, self.kind = draw, folder, kind
        self.db, self.has, self.rekeyed = [], [], []
        self.ids, self.amounts = 0, {}
        first = connect(folder / "0.db")
        run(first, "CREATE TABLE t(k TEXT PRIMARY KEY NOT NULL, shop TEXT, n INTEGER NOT NULL DEFAULT 0, m INTEGER, name TEXT)",
            f"SELECT counter_{kind}('t', 'n', 'm')")
        for i in range(3):
            if i:
                run(first, f"VACUUM INTO '{folder / str(i)}.db'")
            self.db.append(connect(folder / f"{i}.db"))
            self.has.append(collections.defaultdict(set))
            self.rekeyed.append(False)

    def count(self, i):
        key, n = self.draw.choice("abcdef"), self.draw.randint(-9, 9)
        found = run(self.db[i], f"SELECT 1 FROM t WHERE k = '{key}'")
        if not found and self.kind == "track":
            run(self.db[i], f"INSERT INTO t(k, shop, n) VALUES ('{key}', '{key * 2}', {n})")
        elif not found:
            run(self.db[i], f"INSERT INTO t(k, shop, n, name) VALUES ('{key}', '{key * 2}', {n}, 'x')")
        else:
            run(self.db[i], f"UPDATE t SET n = n + {n} WHERE k = '{key}'")
        self.ids += 1
        self.amounts[self.ids] = n
        self.has[i][key].add(self.ids)

    def merge(self, i, j):
        """Files with different keys leave the table alone."""
        try:
            run(self.db[i], f"SELECT * FROM counter_sync('{self.folder / str(j)}.db')")
        except Exception as error:
            assert self.rekeyed[i] != self.rekeyed[j] and "key" in str(error), error
            return
        if self.rekeyed[i] != self.rekeyed[j]:
            return
        for key in {*self.has[i], *self.has[j]}:
            self.has[i][key], self.has[j][key] = self.has[i][key] | self.has[j][key], self.has[j][key] | self.has[i][key]

    def rekey(self, i):
        rowid, order = self.draw.choice(["", "WITHOUT ROWID"]), self.draw.choice(["k", "k DESC", "n"])
        run(self.db[i], *(step.format(rowid=rowid, order=order) for step in REBUILD))
        with pytest.raises(Exception, match="if a migration has changed it, add 'keys=changed' to the call"):
            run(self.db[i], f"SELECT counter_{self.kind}('t', 'n')")
        values = f", 'values={'oldest' if i else 'newest'}'" if self.kind == "replicate" else ""
        run(self.db[i], f"SELECT counter_{self.kind}('t', 'n', 'keys=changed'{values})", "COMMIT")
        assert run(self.db[i], f"SELECT counter_{self.kind}('t', 'n', 'keys=changed')") == [(0,)]
        self.rekeyed[i] = True

    def check(self, i):
        shown = dict(run(self.db[i], "SELECT k, n FROM t"))
        assert shown == {key: sum(self.amounts[one] for one in ids) for key, ids in self.has[i].items() if ids}, i
        run(self.db[i], "INSERT INTO t_counters(t_counters) VALUES ('integrity-check')")


@pytest.mark.parametrize("kind", ["track", "replicate"])
@pytest.mark.parametrize("nth", range(EXAMPLES))
def test_counts_are_neither_doubled_nor_lost_when_the_key_changes(tmp_path, nth, kind):
    draw = random.Random(f"{SEED} {nth} {kind}")
    world = World(draw, tmp_path, kind)
    for part in range(2):
        for _ in range(draw.randint(1, 25)):
            i, j = draw.sample(range(3), 2)
            step = draw.random()
            if step < .6:
                world.count(i)
            elif step < .8 or not part or world.rekeyed[i]:
                world.merge(i, j)
            else:
                world.rekey(i)
            world.check(i)
    for i in range(3):
        if not world.rekeyed[i]:
            world.rekey(i)
    for i, j in [(0, 1), (1, 2), (2, 0), (0, 1)] if draw.random() < .5 else [(2, 1), (0, 2), (1, 0), (1, 2)]:
        world.merge(i, j)
    for i in range(3):
        world.check(i)
    assert len({run(db, "SELECT counter_table_digest('t_counters')")[0] for db in world.db}) == 1
