"""test_origins.py - the journal says of each changed row who changed it: this file, a pull, a feed; folds keep it.

The bytes of the journal are read as ext/core/core.h tells them.
"""

import contextlib
import random

from conftest import EXAMPLES, SEED
from files import connect, groups, optimize

HERE, PULLED, FED = 1, 2, 4
TABLE = "CREATE VIRTUAL TABLE t USING counter(k TEXT PRIMARY KEY, n COUNTER, m COUNTER)"
KEYS = [f"key {i}" for i in range(8)]


def varints(bytes_):
    n = shift = 0
    for byte in bytes_:
        n |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            yield n
            n = shift = 0


def zigzag(n):
    return n >> 1 ^ -(n & 1)


def of_transaction(numbers):
    """The rows of a group of the journal, with the origin of each change."""
    row, carried = 0, False
    for difference in numbers:
        row += zigzag(difference)
        code = next(numbers)
        of_counter = code >= 16
        counted = of_counter and code % 8 < 2
        if counted:
            next(numbers)
            if code % 8 == 1:
                next(numbers)
        if code in (2, 3) or of_counter and code % 8 in (3, 4):
            next(numbers)  # the part that has changed
        if code == 1:
            carried = True
        elif not of_counter:
            yield row, {0: HERE, 2: PULLED, 3: FED}[code]
        elif not (counted and carried):
            yield row, {3: PULLED, 4: FED}.get(code % 8, HERE)


def of_segment(numbers):
    for _ in numbers:
        count, origins = divmod(next(numbers), 8)
        next(numbers)  # the part that has changed
        row = zigzag(next(numbers))
        yield row, origins
        for _ in range(count - 1):
            difference = next(numbers)
            assert 0 < difference < 2**63, "the rows of a group ascend"
            row += difference
            yield row, origins


def origins(db):
    """By key: all origins that the journal has for it."""
    found, keys = {}, dict(db.execute("SELECT _id, k FROM t_cells"))
    parts = []
    for table, entries in db.execute("SELECT NULL, entries FROM counter_journal UNION ALL SELECT tab, entries FROM counter_segments"):
        assert entries[0] == 0xE4
        parts += [of_segment(varints(entries[1:]))] if table else [of_transaction(varints(group)) for _, group in groups(entries)]
    for part in parts:
        for row, origin in part:
            found[keys[row]] = found.get(keys[row], 0) | origin
    return found


def count(db, chance):
    key, column = chance.choice(KEYS), chance.choice("nm")
    db.execute(f"INSERT INTO t(k, {column}) VALUES (?, 1)", [key])
    return {key}


def changed(db, then):
    """The keys whose cells are others after it."""
    before = dict((key, cell) for *key, cell in db.execute("SELECT key, column_name, cell FROM counter_cells('t')")
                  for key in [tuple(key)])
    then()
    after = dict((tuple(key), cell) for *key, cell in db.execute("SELECT key, column_name, cell FROM counter_cells('t')"))
    return {key[2:-2] for (key, name), cell in after.items() if before.get((key, name)) != cell}


def feed(db, source):
    with contextlib.closing(connect(source)) as giver:
        rows = giver.execute("SELECT table_name, key, change, seq, source "
                             "FROM counter_changes(0)").fetchall()
    db.executemany("INSERT INTO counter_changes(table_name, key, change, seq, source) "
                   "VALUES (?, ?, ?, ?, ?)", rows)


def test_the_journal_has_the_origins_of_all_changes_of_a_row_whatever_is_folded(tmp_path):
    chance = random.Random(SEED)
    for number in range(max(4, EXAMPLES // 20)):
        paths = [str(tmp_path / f"{number} {name}.db") for name in ("here", "peer", "fed")]
        here, peer, fed = files = [connect(path) for path in paths]
        for db in files:
            db.execute(TABLE)
        expected = {}
        for _ in range(200):
            what = chance.choice(["here", "here", "here", "peer", "peer", "fed", "fed", "pull", "feed", "fold", "fold"])
            keys, origin = set(), HERE
            if what == "here":
                keys = count(here, chance)
            elif what in ("peer", "fed"):
                count(peer if what == "peer" else fed, chance)
            elif what == "pull":
                keys, origin = changed(here, lambda: here.execute("SELECT * FROM counter_pull(?)", [paths[1]]).fetchall()), PULLED
            elif what == "feed":
                keys, origin = changed(here, lambda: feed(here, paths[2])), FED
            else:
                optimize(here, "t")
            for key in keys:
                expected[key] = expected.get(key, 0) | origin
            assert origins(here) == expected
        for db in files:
            db.close()
