"""randomly.py - random tests: values that lean towards edges, runs of rules, the smallest failure.

    @given(n=integers(-3, 3), names=lists(sampled_from("ab")))
    @example(n=0, names=[])
    def test_a_claim(n, names): ...

    class Counting(Machine):            # run_machine(Counting, steps=30)
        @initialize(first=integers(0, 9))
        def start(self, first): ...

        @precondition(lambda self: self.count > 0)
        @rule(n=integers(0, 3))
        def take(self, n): ...

        @invariant()
        def count_is_not_negative(self): ...

Each test draws from COUNTER_SEED and its own name, so that it repeats alone. All values are made of
choices, numbers below a bound, of which the lowest stands for the simplest value. A run keeps its
choices and can be made again from any list of choices: where one is missing it is 0. So a failure
shrinks: steps and elements of lists are left out, in chunks and one by one, then single choices are
lowered, as long as the same line fails in the same way.

A run of rules leaves out a random set of them, for there are states that many of one kind must
reach. At 100 examples and more, a rule that no run reaches, nor any of four times as many runs
again, fails the test.
"""

import functools
import inspect
import os
import random
import time
import traceback

import pytest

from conftest import EXAMPLES, SEED

SHRINK_RUNS, SHRINK_SECONDS = 500, 60
FOLDER = os.path.dirname(os.path.abspath(__file__))
ENOUGH = 100  # examples by which each rule must have run


# ---- choices -------------------------------------------------------------------------------------

class Source:
    """Where values are drawn from: `given` choices first, then those of `chance`, or zeros.

    `groups` has for each list, and for the steps of a machine, where the choices of each element
    begin and end; `calls` what was drawn, as text."""

    def __init__(self, chance=None, given=()):
        self.chance, self.given = chance, list(reversed(given))
        self.choices, self.groups, self.calls, self.drawn = [], [], [], {}
        self.again = chance.choice([0.05, 0.1, 0.4]) if chance else 0

    @property
    def is_fresh(self):
        return self.chance is not None and not self.given

    def choose(self, bound, likely=None):
        """A number below the bound; a fresh one by likely(chance), else all are as likely."""
        if bound == 1:
            return 0
        if self.given:
            choice = min(self.given.pop(), bound - 1)
        elif self.chance is None:
            choice = 0
        else:
            choice = likely(self.chance) if likely else self.chance.randrange(bound)
        self.choices.append(choice)
        return choice

    def draw(self, values):
        """Sometimes what was drawn from these values before, or nearly that; in some runs often."""
        begin, earlier = len(self.choices), self.drawn.setdefault(values.kind, [])
        is_again = earlier and self.is_fresh and self.chance.random() < self.again
        if is_again:
            first, last = self.chance.choice(earlier)
            self.given = self.choices[first:last][::-1]
            if len(self.given) > 1 and self.chance.randrange(2):
                self.given[self.chance.randrange(len(self.given))] = self.chance.randrange(8)
        value = values.make(self)
        if is_again:
            self.given = []
        earlier.append((begin, len(self.choices)))
        return value

    def elements(self, least, most, size):
        """Yields once for each element to be drawn; a fresh source draws as many as size() says."""
        group, wanted = [], size(self.chance) if self.is_fresh else 0
        self.groups.append(group)
        while True:
            begin = len(self.choices)
            goes_on = self.choose(2, lambda _: int(len(group) < wanted))
            if len(group) == most or not goes_on and len(group) >= least:
                break
            yield
            group.append((begin, len(self.choices)))

    def call(self, name, arguments):
        told = ", ".join(f"{each}={value!r}" for each, value in arguments.items())
        self.calls.append(f"{name}({told})")


# ---- values --------------------------------------------------------------------------------------

class Values:
    """Some values; make(source) draws one. Those of one kind may repeat each other."""

    def __init__(self, make, kind=None):
        self.make, self.kind = make, kind or self

    def __or__(self, other):
        return one_of(self, other)

    def map(self, change):
        return Values(lambda source: change(source.draw(self)))


def just(value):
    return Values(lambda source: value)


def none():
    return just(None)


def sampled_from(several):
    several = list(several)
    return Values(lambda source: several[source.choose(len(several))])


def booleans():
    return sampled_from([False, True])


def one_of(*several):
    return Values(lambda source: source.draw(several[source.choose(len(several))]))


def tuples(*several):
    return Values(lambda source: tuple(source.draw(one) for one in several))


def integers(low, high):
    """How far from 0, or from the limit nearest to it, and in which direction."""
    nearest = min(max(0, low), high)

    def make(source):
        far = edgy(source.chance, low, high, nearest) - nearest if source.is_fresh else 0
        is_less = low < nearest and (
            nearest == high or source.choose(2, lambda chance: int(far < 0)))
        most = nearest - low if is_less else high - nearest
        distance = source.choose(most + 1, lambda chance: abs(far))
        return nearest - distance if is_less else nearest + distance
    return Values(make)


def edgy(chance, low, high, nearest):
    """Any, a small one, one of the limits, or one beside a power of two."""
    kind, sign, n = chance.randrange(4), chance.choice([1, -1]), low - 1
    if kind == 1:
        n = nearest + sign * chance.randrange(9)
    elif kind == 2:
        n = chance.choice([low, low + 1, nearest, high - 1, high])
    elif kind == 3:
        n = sign * 2**chance.randrange((high - low).bit_length() + 1) + chance.randrange(-1, 2)
    return n if low <= n <= high and high - low > 15 else chance.randint(low, high)


def lists(values, min_size=0, max_size=None):
    most = min_size + 8 if max_size is None else max_size

    def size(chance):
        """Few more often than many."""
        few = min(most, min_size + int(chance.expovariate(0.25)))
        return chance.choice([few, few, few, chance.randint(min_size, most), most])

    def make(source):
        return [source.draw(values) for _ in source.elements(min_size, most, size)]
    return Values(make)


def dictionaries(keys, values, max_size=None):
    return lists(tuples(keys, values), 0, max_size).map(dict)


def binary(min_size=0, max_size=None):
    some = one_of(integers(0, 255), sampled_from([0, 1, 0x7F, 0x80, 0xFF]))
    return lists(some, min_size, max_size).map(bytes)


def composite(function):
    """Values of a function that draws: `draw` is its first parameter."""
    def values(*arguments, **named):
        return Values(lambda source: function(source.draw, *arguments, **named), function)
    return values


# ---- tests of values -----------------------------------------------------------------------------

def given(examples=EXAMPLES, /, **values):
    """The test is run with that many examples of the values; other parameters are fixtures."""
    def decorate(test):
        @functools.wraps(test)
        def wrapper(**fixtures):
            def run(source):
                arguments = {name: source.draw(one) for name, one in values.items()}
                source.call(test.__name__, arguments)
                test(**fixtures, **arguments)
            for arguments in getattr(test, "examples", []):
                test(**fixtures, **arguments)
            play(run, examples)
        parameters = inspect.signature(test).parameters.items()
        wrapper.__signature__ = inspect.Signature(
            [parameter for name, parameter in parameters if name not in values])
        return wrapper
    return decorate


def example(**arguments):
    """Arguments that a test is always run with, before what is drawn: stands below @given."""
    def decorate(test):
        test.examples = [arguments, *getattr(test, "examples", [])]
        return test
    return decorate


# ---- tests of rules ------------------------------------------------------------------------------

def marked(what, value):
    def decorate(method):
        setattr(method, what, value)
        return method
    return decorate


def rule(**values):
    return marked("rule", values)


def initialize(**values):
    return marked("first", values)


def precondition(holds):
    return marked("holds", holds)


def invariant():
    return marked("invariant", True)


class Machine:
    """A run calls its initializing method, then rules, each as its precondition allows. Invariants
    are checked after each; finish() is called if nothing has failed, teardown() always."""

    def finish(self):
        pass

    def teardown(self):
        pass


def methods(cls, mark):
    names = {name: None for one in reversed(cls.__mro__) for name in vars(one)}
    return [name for name in names if hasattr(getattr(cls, name), mark)]


def is_ready(machine, name):
    return getattr(getattr(type(machine), name), "holds", lambda machine: True)(machine)


def take_step(machine, source, name, values):
    """Returns whether the rule was ready. While a failure shrinks, what makes it so is left out."""
    arguments = {each: source.draw(one) for each, one in values.items()}
    if not is_ready(machine, name):
        return False
    source.call(name, arguments)
    getattr(machine, name)(**arguments)
    for each in methods(type(machine), "invariant"):
        getattr(machine, each)()
    return True


def run_rules(machine, source, steps, reached):
    for name in methods(type(machine), "first"):
        take_step(machine, source, name, getattr(machine, name).first)
    rules = methods(type(machine), "rule")
    kept = some_of(source.chance, rules) if source.is_fresh else rules

    def likely(chance):
        ready = [name for name in kept if is_ready(machine, name)]
        ready = ready or [name for name in rules if is_ready(machine, name)]
        return rules.index(chance.choice(ready))
    for _ in source.elements(0, steps, lambda chance: steps):
        name = rules[source.choose(len(rules), likely)]
        if take_step(machine, source, name, getattr(machine, name).rule):
            reached.add(name)
    source.call("finish", {})
    machine.finish()


def some_of(chance, rules):
    """All of them for every third run."""
    rate = chance.choice([1, 1, 0.8, 0.6, 0.4, 0.2])
    return [name for name in rules if chance.random() < rate]


def run_machine(cls, examples=EXAMPLES, steps=50):
    reached, rules = set(), methods(cls, "rule")

    def run(source):
        machine = cls()
        try:
            run_rules(machine, source, steps, reached)
        finally:
            machine.teardown()
    play(run, examples, lambda: EXAMPLES < ENOUGH or len(reached) == len(rules))
    missed = [name for name in rules if name not in reached]
    assert EXAMPLES < ENOUGH or not missed, f"no run has reached {', '.join(missed)}"


# ---- runs, and the smallest failure --------------------------------------------------------------

def play(run, examples, is_enough=lambda: True):
    """Runs examples of what is drawn, and more unless these are enough. If one fails, shows the
    smallest failure that is found."""
    __tracebackhide__ = True
    test = os.environ["PYTEST_CURRENT_TEST"].split("::")[-1].removesuffix(" (call)")
    chance = random.Random(f"{SEED} {test}")
    for number in range(1, 5 * examples + 1):
        if number > examples and is_enough():
            break
        source = Source(random.Random(chance.getrandbits(64)))
        error = failure(run, source)
        if error:
            smallest = Smallest(run, source, error)
            repeats = smallest.search()
            print(f"example {number} of {test} fails; the smallest of {smallest.runs} more runs:")
            print(*(f"    {call}" for call in smallest.source.calls), sep="\n")
            if repeats:
                run(Source(given=smallest.source.choices))
            print("FLAKY: repeated as it was, it did not fail in the same way each time")
            raise error


def failure(run, source):
    """The exception of a run, None if it has none."""
    try:
        run(source)
    except (KeyboardInterrupt, SystemExit, pytest.skip.Exception):
        raise
    except BaseException as error:  # that of pytest.raises is no Exception
        return error
    return None


def where(error):
    """What fails alike: the same kind of error in the same line of a test."""
    places = [(one.filename, one.lineno) for one in traceback.extract_tb(error.__traceback__)]
    return type(error), [place for place in places if place[0].startswith(FOLDER)][-1]


class Smallest:
    """The source with the smallest choices that are known to fail alike."""

    def __init__(self, run, source, error):
        self.run, self.source, self.error = run, source, where(error)
        self.runs, self.end = 0, time.monotonic() + SHRINK_SECONDS

    def search(self):
        """Returns whether it fails again at all."""
        if not self.fails(self.source.choices):
            return False
        before = None
        while before is not self.source:
            before = self.source
            self.leave_out()
            self.lower()
        return True

    def fails(self, choices):
        """What fails with these is the smallest from now on."""
        if self.runs == SHRINK_RUNS or time.monotonic() > self.end and self.runs:
            return False
        self.runs += 1
        source = Source(given=choices)
        error = failure(self.run, source)
        is_alike = error is not None and where(error) == self.error
        if is_alike and size(source) < size(self.source):
            self.source = source
        return is_alike

    def leave_out(self):
        """Elements of lists, and steps: all, half of them, ... one by one, from the end."""
        number = 0
        while number < len(self.source.groups):
            length = len(self.source.groups[number])
            while length:
                for last in range(len(self.source.groups[number]), 0, -length):
                    self.leave_out_some(number, max(0, last - length), last)
                    if number >= len(self.source.groups):
                        return
                length //= 2
            number += 1

    def leave_out_some(self, number, first, last):
        choices, some = self.source.choices, self.source.groups[number][first:last]
        if some:
            self.fails(choices[:some[0][0]] + choices[some[-1][1]:])

    def lower(self):
        """Each choice, by as much as goes."""
        place = 0
        while place < len(self.source.choices):
            by = self.source.choices[place]
            while by and place < len(self.source.choices):
                choices = list(self.source.choices)
                choices[place] = max(0, choices[place] - by)
                if not choices < self.source.choices or not self.fails(choices):
                    by //= 2
            place += 1


def size(source):
    return len(source.choices), source.choices
