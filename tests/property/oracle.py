"""oracle.py - what counter tables must show, told without numbers, clocks or shards.

A counter is a life and the set of increments that it has seen: each is an id, and Increments
remembers its amount. Merge is set union within a life. A table is a dict from key to a tuple of
counters; nothing in it is ever changed in place, so that a copy of the dict is a snapshot. A
floor is a value of one part of the key: rows below it are gone, and whatever comes there is
refused or dropped.
"""

import collections
import itertools

Counter = collections.namedtuple("Counter", "life seen")
UNTOUCHED = Counter(1, frozenset())


class Refused(Exception):
    """The statement must fail and change nothing; `kind` is "constraint" or "error"."""

    def __init__(self, kind):
        super().__init__(kind)
        self.kind = kind


def is_live(counter):
    return counter.life % 2 == 1 and counter != UNTOUCHED


def is_deleted(counter):
    return counter.life % 2 == 0


def delete(counter):
    return counter if is_deleted(counter) else Counter(counter.life + 1, frozenset())


def reset(counter):
    return Counter(counter.life + (1 if is_deleted(counter) else 2), frozenset())


def merge(a, b):
    return Counter(a.life, a.seen | b.seen) if a.life == b.life else max(a, b, key=lambda c: c.life)


class Increments:
    """Hands out the ids of increments and knows their amounts."""

    def __init__(self):
        self.amounts = {}
        self.ids = itertools.count()

    def add(self, counter, amount):
        one = next(self.ids)
        self.amounts[one] = amount
        return Counter(counter.life, counter.seen | {one})

    def value(self, counter):
        """What a visible row shows."""
        return None if is_deleted(counter) else sum(self.amounts[one] for one in counter.seen)


class Table:
    """The statements of counter tables. `rows` holds every row that has ever been, deleted or not,
    and is not below a floor; `floors` maps a position in the key to its floor."""

    def __init__(self, increments, width, rows=(), floors=()):
        self.increments, self.width, self.rows = increments, width, dict(rows)
        self.floors = dict(floors)

    def copy(self):
        return Table(self.increments, self.width, self.rows, self.floors)

    def is_below(self, key):
        return any(key[i] < floor for i, floor in self.floors.items())

    def raise_floors(self, floors):
        """Returns how many rows that removed."""
        for i, floor in floors.items():
            self.floors[i] = max(floor, self.floors.get(i, floor))
        before = len(self.rows)
        self.rows = {key: row for key, row in self.rows.items() if not self.is_below(key)}
        return before - len(self.rows)

    def row(self, key):
        return self.rows.get(key, (UNTOUCHED,) * self.width)

    def is_visible(self, key):
        return any(map(is_live, self.row(key)))

    def visible(self):
        return {key: tuple(map(self.increments.value, row))
                for key, row in self.rows.items() if self.is_visible(key)}

    def insert(self, key, amounts, conflict):
        """Adds amounts (None: not given) to a row that is there, or sets them by REPLACE; one that
        was deleted begins its next life. Returns whether the statement counts the row."""
        visible, row = self.is_visible(key), self.row(key)
        if visible and conflict == "IGNORE":
            return False
        if self.is_below(key):
            if conflict == "IGNORE":
                return False
            raise Refused("constraint")
        begins = not visible and any(map(is_deleted, row))
        if visible and conflict == "REPLACE":
            self.begin(key, [is_deleted(c) for c in row], amounts)
            self.assign(key, [None if is_deleted(c) else n or 0 for c, n in zip(row, amounts)])
        elif visible or begins:
            lives = [is_deleted(c) and (begins or n is not None) for c, n in zip(row, amounts)]
            self.begin(key, lives, amounts)
            self.add(key, [None if life else n for life, n in zip(lives, amounts)])
        elif all(amount is None for amount in amounts):
            self.add(key, [0] * self.width)
        else:
            self.add(key, amounts)
        return True

    def begin(self, key, lives, amounts):
        """The next lives of some counters, with their amounts."""
        self.rows[key] = tuple(reset(c) if life else c for life, c in zip(lives, self.row(key)))
        self.add(key, [n if life else None for life, n in zip(lives, amounts)])

    def add(self, key, amounts):
        self.rows[key] = tuple(c if n is None else self.increments.add(c, n)
                               for c, n in zip(self.row(key), amounts))

    def update(self, key, amounts):
        """SET c = c + amount: one deleted alone reads NULL and stays so, adding 0 changes
        nothing."""
        self.add(key, [None if is_deleted(c) or n == 0 else n
                       for c, n in zip(self.row(key), amounts)])

    def assign(self, key, values):
        """SET c = value (None: not assigned): the difference is counted; one deleted alone begins
        its next life."""
        row = self.row(key)
        self.begin(key, [is_deleted(c) and n is not None for c, n in zip(row, values)], values)
        self.update(key, [0 if n is None or is_deleted(c) else n - self.increments.value(c)
                          for c, n in zip(row, values)])

    def delete(self, key):
        self.rows[key] = tuple(map(delete, self.row(key)))

    def command(self, key, verb, named, amounts):
        """`reset` or `delete` of the named counters (indexes), with amounts for those reset."""
        takes = named if verb == "reset" else []
        if any(n is not None and i not in takes for i, n in enumerate(amounts)):
            raise Refused("error")
        if verb == "delete" and key not in self.rows:
            return
        if self.is_below(key):
            raise Refused("constraint")
        change = reset if verb == "reset" else delete
        self.rows[key] = tuple(change(c) if i in named else c for i, c in enumerate(self.row(key)))
        self.add(key, amounts)

    def merge(self, other):
        """Takes in another table. Returns how many rows that removed or changed."""
        removed, before = self.raise_floors(other.floors), dict(self.rows)
        for key, row in other.rows.items():
            if not self.is_below(key):
                self.rows[key] = tuple(map(merge, self.row(key), row))
        return removed + sum(before.get(key) != row for key, row in self.rows.items())

    def merge_cell(self, key, i, counter):
        """Takes in one counter of a row."""
        if not self.is_below(key):
            row = self.row(key)
            self.rows[key] = (*row[:i], merge(row[i], counter), *row[i + 1:])

    def has_all_of(self, other):
        merged = self.copy()
        return merged.merge(other) == 0 and merged.floors == self.floors
