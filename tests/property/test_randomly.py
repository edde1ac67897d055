"""test_randomly.py - the random tests themselves: what they draw, that they find what is wrong and
show the least of it, that a rule which is never reached is a failure."""

import random

import pytest

import randomly
from randomly import (Machine, Source, binary, composite, dictionaries, example, given, initialize,
                      integers, invariant, just, lists, none, precondition, rule, run_machine,
                      sampled_from, tuples)


def drawn(values, times=1000, seed=7):
    chance = random.Random(seed)
    return [Source(random.Random(chance.getrandbits(64))).draw(values) for _ in range(times)]


# ---- values --------------------------------------------------------------------------------------

@pytest.mark.parametrize("low, high", [
    (0, 0), (-3, 3), (1, 2**32 - 1), (-2**63, 2**63 - 1), (-90, -20)])
def test_integers_are_within_their_limits_and_often_at_them(low, high):
    several = drawn(integers(low, high))
    nearest = min(max(low, 0), high)
    assert all(low <= n <= high for n in several)
    assert {low, high, nearest} <= {*several}
    assert len(drawn(integers(low, high)) * 2) > len({*several}) > min(high - low, 300)
    assert Source().draw(integers(low, high)) == nearest


def test_numbers_beside_powers_of_two_are_drawn():
    several = {*drawn(integers(-2**63, 2**63 - 1), 4000)}
    for exponent in 7, 8, 31, 32, 53, 62:
        assert {2**exponent - 1, 2**exponent, 2**exponent + 1} & several
        assert {-2**exponent - 1, -2**exponent, -2**exponent + 1} & several


def test_lists_have_all_lengths_and_few_elements_often():
    lengths = [len(one) for one in drawn(lists(just(1), min_size=1, max_size=30))]
    assert {*lengths} == {*range(1, 31)}
    assert sum(length <= 6 for length in lengths) > 400
    assert {len(one) for one in drawn(lists(just(1), max_size=2))} == {0, 1, 2}
    assert {len(one) for one in drawn(binary(min_size=16, max_size=16))} == {16}


def test_dictionaries_and_bytes_reach_their_edges():
    several = drawn(dictionaries(sampled_from("abcd"), none() | integers(0, 9)))
    assert {len(one) for one in several} == {0, 1, 2, 3, 4}
    assert {b"", b"\0", b"\xff"} <= {*drawn(binary(max_size=3))}


@composite
def pairs(draw):
    return draw(tuples(integers(0, 2**63), integers(0, 2**63)))


def test_what_was_drawn_before_comes_again_and_nearly_the_same():
    several = drawn(tuples(pairs(), pairs()))
    assert sum(a == b for a, b in several) > 10
    alike = [(a, b) for a, b in several if a != b and (a[0] == b[0] or a[1] == b[1])]
    assert sum(max(*a, *b) > 99 for a, b in alike) > 10


def test_choices_draw_the_same_again_and_any_others_draw_something():
    values = lists(tuples(pairs(), dictionaries(integers(0, 99), binary(max_size=9))))
    chance = random.Random(7)
    for _ in range(200):
        source = Source(random.Random(chance.random()))
        value = source.draw(values)
        assert Source(given=source.choices).draw(values) == value
        Source(given=[chance.randrange(300) for _ in range(30)]).draw(values)
    assert Source().draw(values) == []


# ---- tests of values -----------------------------------------------------------------------------

def test_one_seed_draws_the_same_for_a_test_and_another_one_for_its_neighbour(monkeypatch):
    seen = []

    @given(50, n=integers(0, 2**63))
    def claim(n):
        seen.append(n)
    for name in "one", "one", "two":
        monkeypatch.setenv("PYTEST_CURRENT_TEST", f"file.py::{name} (call)")
        claim()
    assert seen[:50] == seen[50:100] != seen[100:]


def test_a_failure_is_shown_by_the_smallest_values(capsys):
    @given(200, several=lists(integers(-2**31, 2**31), max_size=40), n=integers(0, 9))
    def claim(several, n):
        assert min(several, default=0) > -1000
    with pytest.raises(AssertionError):
        claim()
    assert "    claim(several=[-1000], n=0)\n" in capsys.readouterr().out


def test_examples_are_run_first_and_fixtures_are_handed_on():
    seen = []

    @given(3, n=integers(5, 9))
    @example(n=1)
    @example(n=2)
    def claim(tmp_path, n):
        seen.append((tmp_path, n))
    claim(tmp_path="here")
    assert seen[:2] == [("here", 1), ("here", 2)] and len(seen) == 5
    assert all(5 <= n <= 9 for _, n in seen[2:])


def test_what_fails_but_once_is_called_flaky_and_fails(capsys):
    times = []

    @given(200, n=integers(0, 9))
    def claim(n):
        times.append(n)
        assert len(times) != 20
    with pytest.raises(AssertionError):
        claim()
    assert "FLAKY" in capsys.readouterr().out and len(times) == 21


def test_the_search_for_a_smaller_failure_ends(monkeypatch):
    times = []

    @given(200, several=lists(integers(0, 2**60), min_size=300, max_size=300))
    def claim(several):
        times.append(several)
        assert len(times) < 5
    with pytest.raises(AssertionError):
        claim()
    assert len(times) <= 5 + randomly.SHRINK_RUNS + 1
    times.clear()
    monkeypatch.setattr(randomly, "SHRINK_SECONDS", 0)
    with pytest.raises(AssertionError):
        claim()
    assert len(times) <= 7


# ---- tests of rules ------------------------------------------------------------------------------

class Stack(Machine):
    """What is pushed comes back, unless 3 and later 5 were pushed and then one was dropped."""

    ended = []

    @initialize(first=integers(0, 2))
    def start(self, first):
        self.stack, self.is_wrong, self.stage = [first], False, 0

    @rule(n=integers(0, 9), noise=lists(integers(0, 99)))
    def push(self, n, noise):
        self.stack.append(n)
        self.stage += self.stage < 2 and n == [3, 5][self.stage]

    @precondition(lambda self: self.stack)
    @rule()
    def drop(self):
        self.stack.pop()
        self.is_wrong = self.is_wrong or self.stage == 2

    @rule(n=integers(0, 9))
    def look(self, n):
        pass

    @invariant()
    def is_right(self):
        assert not self.is_wrong

    def teardown(self):
        self.ended.append(1)


def steps_shown(capsys):
    lines = capsys.readouterr().out.splitlines()
    return [line.strip() for line in lines if line.startswith("    ")]


def test_a_fault_behind_three_steps_is_found_and_no_other_step_is_shown(capsys):
    with pytest.raises(AssertionError):
        run_machine(Stack, 400, steps=30)
    assert steps_shown(capsys) == [
        "start(first=0)", "push(n=3, noise=[])", "push(n=5, noise=[])", "drop()"]


class Sound(Stack):
    begun = 0

    def start(self, first):
        super().start(first)
        type(self).begun += 1
    start.first = Stack.start.first

    @invariant()
    def is_right(self):
        pass


def test_runs_end_and_are_as_many_as_was_said():
    Sound.ended.clear()
    run_machine(Sound, 30, steps=10)
    assert Sound.begun == 30 == len(Sound.ended)


class Unreached(Sound):
    @precondition(lambda self: len(self.stack) < 0)
    @rule()
    def never(self):
        pass


def test_a_rule_that_no_run_reaches_is_a_failure(monkeypatch):
    monkeypatch.setattr(randomly, "EXAMPLES", randomly.ENOUGH)
    with pytest.raises(AssertionError, match="no run has reached never"):
        run_machine(Unreached, 20, steps=10)
    monkeypatch.setattr(randomly, "EXAMPLES", randomly.ENOUGH - 1)
    run_machine(Unreached, 20, steps=10)


class Ends(Sound):
    def finish(self):
        assert len(self.stack) < 4


def test_what_fails_in_the_end_is_found_too(capsys):
    Ends.ended.clear()
    with pytest.raises(AssertionError):
        run_machine(Ends, 200, steps=10)
    assert steps_shown(capsys) == ["start(first=0)", *["push(n=0, noise=[])"] * 3, "finish()"]
    assert len(Ends.ended) > 10


class Rare(Machine):
    """Many of one kind, and none of the other."""

    @initialize()
    def start(self):
        self.ones = 0

    @rule()
    def one(self):
        self.ones += 1
        assert self.ones < 30

    @rule()
    def two(self):
        self.ones = 0

    @rule()
    def three(self):
        self.ones = 0


def test_runs_of_few_kinds_of_rules_are_among_all():
    with pytest.raises(AssertionError):
        run_machine(Rare, 400, steps=50)
