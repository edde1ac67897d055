"""spread_odds.py - how often two files give out one number ('keys=spread', tracked/spread.c), by simulation.

    python3 tests/model/spread_odds.py [FILES [ROWS [SYNCS]]]

FILES files, one after the other at random: each inserts ROWS rows, then syncs with another one. A file whose place has been passed
jumps before it inserts. Collisions are too rare to be counted, so each jump adds the chance that it lands in the numbers that
another file has at that time; with places that are drawn from a narrow range, where collisions are counted, too, both agree.
"""
import random
import sys

APART, STEP = 2**32, 20


def simulate(files, rows, syncs, most=2**53 - 1, step=STEP, apart=APART, seed=1):
    """Returns the expected collisions, those that were drawn, the jumps, and the greatest number."""
    draw = random.Random(seed)
    greatest = [apart] * files  # that each file knows
    place = [None] * files  # from where it counts on
    end = [apart] * files  # the next number of each
    expected, met, jumps = 0.0, 0, 0
    for _ in range(syncs):
        one, other = draw.sample(range(files), 2)
        if place[one] is None or greatest[one] >= end[one]:
            width = max(1, (most - greatest[one]) >> step)
            low, high = greatest[one] + 1, greatest[one] + width
            for j in range(files):
                if j != one and place[j] is not None:
                    expected += max(0, min(high, end[j] + rows - 1) - max(low, place[j] - rows + 1) + 1) / width
            place[one] = end[one] = draw.randint(low, high)
            met += any(place[one] < end[j] + rows and place[j] < place[one] + rows for j in range(files) if j != one and place[j] is not None)
            jumps += 1
        end[one] += rows
        greatest[one] = max(greatest[one], end[one] - 1)
        greatest[one] = greatest[other] = max(greatest[one], greatest[other])
    return expected, met, jumps, max(greatest)


def main(files=8, rows=10, syncs=1000000):
    expected, met, jumps, greatest = simulate(files, rows, syncs)
    print(f"{files} files, {rows} rows a sync, {syncs} syncs: {expected:.4f} expected collisions, {jumps} jumps, "
          f"{100 * greatest / 2**53:.1f} % of the numbers are passed")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
