"""cells.py - the cell format and its algebra once more: the oracle of every byte.

Written from the format, not from the C code, and as plainly as it goes. A cell is None, the counter
that nobody has touched, or Cell(life, shards) where shards maps a 16-byte id to (clock, value), or to
(clock, value, granted): the grants of a bounded counter, as bytes, which so have the order of a merge.
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
    return sum(shard[1] for shard in shards(cell).values())


def granted(cell, replica):
    """What a replica has given to others: {id: how much}."""
    return read_granted(shards(cell).get(replica, (0, 0, b""))[2:])


def right(cell, replica):
    """What a replica may take: its value, less its grants, plus those to it."""
    given = sum(granted(cell, replica).values())
    return shards(cell).get(replica, (0, 0))[1] - given + sum(granted(cell, other).get(replica, 0) for other in shards(cell))


def grant(cell, giver, taker, n):
    clock, value = shards(cell).get(giver, (0, 0))[:2]
    now = granted(cell, giver)
    now[taker] = now.get(taker, 0) + n
    return Cell(life(cell), {**shards(cell), giver: (clock + 1, value, write_granted(now))})


def increment(cell, replica, n):
    clock, value, *grants = shards(cell).get(replica, (0, 0))
    return Cell(life(cell), {**shards(cell), replica: (clock + 1, value + n, *grants)})


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


def write_granted(given):
    return b"".join(taker + varint(n) for taker, n in sorted(given.items()))


def read_granted(shard_rest):
    """Of what follows clock and value in a shard."""
    data, given = (shard_rest[0] if shard_rest else b""), {}
    while data:
        taker = data[:16]
        given[taker], data = read_varint(data[16:])
    return given


def encode(cell):
    if cell is None:
        return None
    grants = b"".join(i + varint(len(shard[2])) + shard[2] for i, shard in sorted(cell.shards.items()) if len(shard) > 2)
    return (b"\xc2" if grants else b"\xc1") + varint(cell.life) + (varint(len(grants)) + grants if grants else b"") + b"".join(
        i + varint(shard[0]) + varint(zigzag(shard[1]))
        for i, shard in sorted(cell.shards.items()))


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
    if data[:1] not in (b"\xc1", b"\xc2"):
        raise ValueError("no counter cell")
    number, rest = read_varint(data[1:])
    cell, last, grants = Cell(number, {}), b"", {}
    if data[:1] == b"\xc2":
        size, rest = read_varint(rest)
        section, rest = rest[:size], rest[size:]
        while section:
            giver, (size, section) = section[:16], read_varint(section[16:])
            grants[giver], section = section[:size], section[size:]
    while rest:
        replica, (clock, rest) = rest[:16], read_varint(rest[16:])
        coded, rest = read_varint(rest)
        if replica <= last or not 1 <= clock <= INT_MAX or coded >= 2**64:
            raise ValueError("bad shard")
        cell.shards[replica] = clock, coded // 2 if coded % 2 == 0 else -(coded + 1) // 2, *([grants.pop(replica)] if replica in grants else [])
        last = replica
    if grants or any(replica in granted(cell, replica) or min(granted(cell, replica).values(), default=1) < 1 for replica in cell.shards):
        raise ValueError("bad grants")
    if not 1 <= cell.life <= LIFE_MAX or is_deleted(cell) and cell.shards or cell == Cell(1, {}):
        raise ValueError("bad life")
    if encode(cell) != data:
        raise ValueError("not the shortest form")
    return cell
