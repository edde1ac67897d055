"""test_bounds_model.py - all that three files can do in five steps with a stock of three: never is more taken than there was.

The steps are those of the library, on the cells of cells.py: take, add, grant, merge, go back to what a file was before and be
another one, and a sync that levels rights and may break off between its commits. The oracle is the sum of what was really done.
Each rule is left out once, to see that this finds it.
"""

import pytest

from cells import Cell, grant, granted, increment, merge, right, total

START, STEPS = 3, 5


IDS = [n.to_bytes(16, "big") for n in range(20)]


def adds_up(cell):
    return sum(right(cell, i) for i in IDS) == total(cell)


def share(a, b):
    """What one who may take a grants to one who may take b, to level them."""
    if a <= 0 or 3 * b >= a: return 0
    return min((a + b) // 2 - b, a)


class Rules:
    debits = True         # who grants has it no longer
    asks = True           # who takes needs a right
    commits_first = True  # the granter commits before the other one knows of it
    renews = True         # a file that was restored has another id


def steps(state, rules):
    """state: (files, done, next id); a file is (id, cell, the cell that a restore brings back)."""
    files, done, fresh = state

    def with_file(i, **changed):
        """The state with another cell of a file, or a restored one."""
        name, cell, before = files[i]
        new = (changed.get("name", name), changed.get("cell", cell), changed.get("before", before))
        return files[:i] + (new,) + files[i + 1:]

    def may(cell, who):
        return right(cell, who) + (0 if rules.debits else sum(granted(cell, who).values()))

    for i, (name, cell, before) in enumerate(files):
        for n in 1, 2:
            if not rules.asks or may(cell, name) >= n:
                yield (with_file(i, cell=increment(cell, name, -n)), done - n, fresh)
        yield (with_file(i, cell=increment(cell, name, 1)), done + 1, fresh)
        if before != cell:
            yield (with_file(i, before=cell), done, fresh)
            yield (with_file(i, cell=before, name=IDS[fresh] if rules.renews else name), done, fresh + rules.renews)
        for j, (other, theirs, _) in enumerate(files):
            if i == j: continue
            yield (with_file(i, cell=merge(cell, theirs)), done, fresh)
            if may(cell, name) >= 1:
                yield (with_file(i, cell=grant(cell, name, other, 1)), done, fresh)
            both = merge(cell, theirs)
            n = share(right(both, name), right(both, other))
            if n == 0: continue
            given = grant(both, name, other, n)
            yield (with_file(i, cell=given), done, fresh)  # it breaks off behind the first commit
            if not rules.commits_first:
                yield (with_file(j, cell=given), done, fresh)
            whole = with_file(i, cell=given)
            yield (whole[:j] + ((other, given, whole[j][2]),) + whole[j + 1:], done, fresh)


def key(state):
    def of(cell):
        return cell.life, tuple(sorted(cell.shards.items()))
    files, done, fresh = state
    return tuple((name, of(cell), of(before)) for name, cell, before in files), done, fresh


def walk(rules, depth):
    """Returns how many states there are, and the first in which more was taken than there was, or whose rights do not add up."""
    cell = increment(Cell(1, {}), IDS[0], START)
    states = {key(start): start for start in [(tuple((i, cell, cell) for i in IDS[:3]), START, 3)]}
    seen = set(states)
    for _ in range(depth):
        new = {}
        for state in states.values():
            for after in steps(state, rules):
                name = key(after)
                if name in seen: continue
                seen.add(name)
                files, done, _ = after
                if done < 0 or not all(adds_up(cell) for _, cell, _ in files):
                    return len(seen), after
                new[name] = after
        states = new
    return len(seen), None


def test_in_all_states_no_more_was_taken_than_there_was():
    count, wrong = walk(Rules(), STEPS)
    assert wrong is None, wrong
    assert count > 50000


@pytest.mark.parametrize("rule", ["debits", "asks", "commits_first", "renews"])
def test_each_rule_is_needed(rule):
    rules = Rules()
    setattr(rules, rule, False)
    _, wrong = walk(rules, STEPS)
    assert wrong is not None
