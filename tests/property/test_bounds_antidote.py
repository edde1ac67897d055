"""test_bounds_antidote.py - scenarios of Antidote's bounded counter, played by files.

They follow its unit tests (antidote_crdt_counter_b) and its suite of several data centres (bcountermgr): a data centre is a file,
a transfer is a grant, and what its manager asks other data centres for is levelled when two files sync.
"""

import sqlite3

import pytest

from files import connect


def rows(db, sql, *arguments):
    return db.execute(sql, arguments).fetchall()


class Centre:
    """A file with one bounded counter, n of row 'x'."""

    def __init__(self, path):
        self.path = str(path)
        self.db = connect(self.path)
        self.db.execute("CREATE VIRTUAL TABLE b USING counter(k TEXT PRIMARY KEY, n COUNTER)")
        rows(self.db, "SELECT counter_bound('b', 'n')")
        self.id = rows(self.db, "SELECT counter_id()")[0][0]

    def add(self, n):
        self.db.execute("INSERT INTO b VALUES ('x', ?)", [n])

    def refuses(self, n):
        with pytest.raises(sqlite3.IntegrityError, match="this file may take"):
            self.add(-n)
        return True

    def transfer(self, n, to):
        self.db.execute("INSERT INTO b(b, k, n) VALUES (?, 'x', ?)", [f"grant {to.id}", n])

    def refuses_transfer(self, n, to):
        with pytest.raises(sqlite3.IntegrityError, match="this file may grant"):
            self.transfer(n, to)
        return True

    def pull(self, other):
        rows(self.db, "SELECT * FROM counter_pull(?)", other.path)

    def sync(self, other):
        rows(self.db, "SELECT * FROM counter_sync(?)", other.path)

    @property
    def value(self):
        return sum(n for n, in rows(self.db, "SELECT n FROM b"))

    def may(self, who=None):
        return sum(n for n, in rows(self.db, "SELECT rights FROM counter_rights('b') WHERE id = ?", (who or self).id))


@pytest.fixture
def centres(tmp_path):
    made = [Centre(tmp_path / f"dc{n}.db") for n in (1, 2, 3)]
    yield made
    for centre in made: centre.db.close()


def test_new_a_counter_is_nothing_and_allows_nothing(centres):
    r1, _, _ = centres
    assert (r1.value, r1.may()) == (0, 0) and r1.refuses(1)


def test_increment_whoever_adds_may_take_that_much(centres):
    r1, r2, _ = centres
    r1.add(10)
    r2.add(5)
    r1.pull(r2)
    assert (r1.may(r2), r1.may(), r1.value) == (5, 10, 15)


def test_decrement_no_more_than_is_left(centres):
    r1, r2, _ = centres
    r1.add(10)
    r1.add(-6)
    assert (r1.value, r1.may(r2)) == (4, 0)
    assert r1.refuses(6) and r1.value == 4


def test_decrement_increment_another_one_may_when_this_one_may_not(centres):
    r1, r2, _ = centres
    r1.add(10)
    r1.add(-6)
    r2.add(6)
    r1.pull(r2)
    assert r1.value == 10 and r1.refuses(6)
    r2.pull(r1)
    r2.add(-6)
    assert r2.value == 4


def test_transfer_there_and_back(centres):
    r1, r2, _ = centres
    r1.add(10)
    r1.transfer(6, r2)
    assert (r1.may(), r1.may(r2), r1.value) == (4, 6, 10)
    assert r1.refuses_transfer(5, r2)
    r2.pull(r1)
    r2.transfer(5, r1)
    r1.pull(r2)
    assert (r1.may(), r1.may(r2), r1.value) == (9, 1, 10)


def test_dec_success_and_dec_fail_in_one_centre(centres):
    dc1, _, _ = centres
    dc1.add(10)
    dc1.add(-4)
    assert dc1.value == 6
    assert dc1.refuses(8) and dc1.value == 6


def test_dec_multi_a_centre_gets_what_others_added(centres):
    dc1, dc2, _ = centres
    dc1.add(10)
    dc2.pull(dc1)
    assert dc2.refuses(5)
    dc2.sync(dc1)
    dc2.add(-5)
    dc1.pull(dc2)
    assert (dc1.value, dc2.value) == (5, 5)


def test_dec_multi_all_centres_together_take_all_and_no_more(centres):
    centres[0].add(30)
    for _ in range(12):
        for centre in centres:
            for other in centres:
                if centre is not other: centre.sync(other)
            if centre.may() > 0: centre.add(-1)
    for _ in range(2):
        for centre in centres:
            for other in centres:
                if centre is not other: centre.sync(other)
    taken = 30 - centres[0].value
    assert taken == 30 or all(centre.may() <= 1 for centre in centres)
    left = [centre.may() for centre in centres]
    assert sum(left) == centres[0].value >= 0
    for centre in centres: assert centre.refuses(centre.may() + 1)


def test_conditional_write_of_two_centres_that_take_the_last_one_succeeds(centres):
    dc1, dc2, _ = centres
    dc1.add(1)
    dc2.pull(dc1)
    assert dc2.refuses(1)
    dc1.transfer(1, dc2)
    dc2.pull(dc1)
    assert dc1.refuses(1)
    dc2.add(-1)
    dc1.pull(dc2)
    assert (dc1.value, dc2.value) == (0, 0)


def test_a_grant_of_nearly_all_stays_with_the_file_to_which_a_sync_brings_it(centres):
    """A sync that brings a grant does not level it back; the next one levels what has changed since."""
    a, b, c = centres
    a.add(10)
    b.pull(a)
    a.transfer(9, b)
    a.sync(b)
    assert (a.may(), b.may()) == (1, 9)
    b.transfer(8, a)
    a.sync(b)
    assert (a.may(), b.may()) == (9, 1)
    a.transfer(9, b)
    c.sync(a)
    c.sync(b)
    assert (a.may(), b.may()) == (0, 5) and c.may() == 5
    a.sync(b)
    a.add(1)
    a.add(-1)
    a.sync(b)
    assert a.may() + b.may() == 5 and min(a.may(), b.may()) == 2


def test_what_else_changed_is_levelled_beside_a_grant(centres):
    a, b, _ = centres
    a.add(100)
    b.pull(a)
    a.transfer(3, b)
    a.sync(b)
    assert (a.may(), b.may()) == (50, 50)
