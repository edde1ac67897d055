"""cells.py - the cell format and its algebra once more: the oracle of every byte.

Written from the format, not from the C code, and as plainly as it goes. A cell is None, the counter
that nobody has touched, or Cell(life, shards) where shards maps a 16-byte id to (clock, value).
"""

import collections

Cell = collections.namedtuple("Cell", "life shards")

LIFE_MAX = 2**32 - 1
INT_MIN, INT_MAX = -2**63, 2**63 - 1


def life(cell):
    return 1 if cell is None else cell.life


def shards(cell):
    return {} if cell is None else cell.shards


def is_deleted(cell):
    return life(cell) % 2 == 0


def total(cell):
    """The exact sum of the shards; SQL can only show it if it is an int64."""
    return sum(value for _, value in shards(cell).values())


def increment(cell, replica, n):
    clock, value = shards(cell).get(replica, (0, 0))
    return Cell(life(cell), {**shards(cell), replica: (clock + 1, value + n)})


def delete(cell):
    return cell if is_deleted(cell) else Cell(life(cell) + 1, {})


def reset(cell):
    return Cell(life(cell) + (1 if is_deleted(cell) else 2), {})


def merge(a, b):
    if a is None or b is None:
        return b if a is None else a
    if a.life != b.life:
        return max(a, b, key=life)
    ids = {*a.shards, *b.shards}
    return Cell(a.life, {i: max(a.shards.get(i, (0, 0)), b.shards.get(i, (0, 0))) for i in ids})


def compare(a, b):
    if life(a) != life(b):
        return "greater" if life(a) > life(b) else "less"
    ids = {*shards(a), *shards(b)}
    clocks = [(shards(a).get(i, (0, 0)), shards(b).get(i, (0, 0))) for i in ids]
    if any(x[0] == y[0] and x[1] != y[1] for x, y in clocks):
        return "disjoint"
    more, less = any(x > y for x, y in clocks), any(x < y for x, y in clocks)
    return "disjoint" if more and less else "greater" if more else "less" if less else "equal"


def diff(cell, known):
    if cell is None or known is None or cell.life > life(known):
        return cell
    news = {i: s for i, s in cell.shards.items() if s > known.shards.get(i, (0, 0))}
    return Cell(cell.life, news) if cell.life == known.life and news else None


def varint(n):
    out = b""
    while n >= 0x80:
        out, n = out + bytes([n & 0x7F | 0x80]), n >> 7
    return out + bytes([n])


def zigzag(n):
    return 2 * n if n >= 0 else -2 * n - 1


def encode(cell):
    if cell is None:
        return None
    return b"\xc1" + varint(cell.life) + b"".join(
        i + varint(clock) + varint(zigzag(value))
        for i, (clock, value) in sorted(cell.shards.items()))


def read_varint(data):
    """The number at the front of `data` and what follows it."""
    n = 0
    for at, byte in enumerate(data):
        n |= (byte & 0x7F) << 7 * at
        if byte < 0x80:
            return n, data[at + 1:]
    raise ValueError("ends inside a number")


def decode(data):
    """ValueError unless `data` is the one encoding of some cell."""
    if data[:1] != b"\xc1":
        raise ValueError("no counter cell")
    number, rest = read_varint(data[1:])
    cell, last = Cell(number, {}), b""
    while rest:
        replica, (clock, rest) = rest[:16], read_varint(rest[16:])
        coded, rest = read_varint(rest)
        if replica <= last or not 1 <= clock <= INT_MAX or coded >= 2**64:
            raise ValueError("bad shard")
        cell.shards[replica] = clock, coded // 2 if coded % 2 == 0 else -(coded + 1) // 2
        last = replica
    if not 1 <= cell.life <= LIFE_MAX or is_deleted(cell) and cell.shards or cell == Cell(1, {}):
        raise ValueError("bad life")
    if encode(cell) != data:
        raise ValueError("not the shortest form")
    return cell
