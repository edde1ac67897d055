"""test_maelstrom.py - the workloads of Maelstrom that an offline file can take part in, and their checkers.

They follow jepsen-io/maelstrom: src/maelstrom/workload/pn_counter.clj, g_counter.clj, g_set.clj and unique_ids.clj. A node is
a file; the network are pulls and lines, which arrive late, twice or never, and which a partition stops. An operation is
known to have happened, or indeterminate: the process that wrote was killed, and nobody knows whether it had committed.
The other workloads need an order of all operations (lin-kv, txn-*, kafka), which files that are apart do not have.
"""

import random
import shutil
import subprocess
import time

import pytest

from files import EXTENSION
from peers import SEED, differs, meet

KINDS = {
    "counter table": ["CREATE VIRTUAL TABLE t USING counter(k TEXT PRIMARY KEY, n COUNTER)"],
    "tracked column": ["CREATE TABLE t(k TEXT PRIMARY KEY, n INTEGER NOT NULL DEFAULT 0)", "SELECT counter_track('t', 'n')"],
    "replicated column": ["CREATE TABLE t(k TEXT PRIMARY KEY, n INTEGER NOT NULL DEFAULT 0)", "SELECT counter_replicate('t', 'n')"],
}
NEEDS_SHELL = pytest.mark.skipif(not shutil.which("sqlite3"), reason="no sqlite3")


def upsert(kind, n):
    clause = "" if kind == "counter table" else " ON CONFLICT DO UPDATE SET n = n + excluded.n"
    return f"INSERT INTO t(k, n) VALUES ('x', {n}){clause}"


def acceptable(definite, indeterminate):
    """All sums of what has happened and of any of what may have."""
    sums = {sum(definite)}
    for n in indeterminate: sums |= {have + n for have in sums}
    return sums


class Network:
    """Nodes that hear of each other now and then, and of nothing beyond a partition."""

    def __init__(self, chance, nodes):
        self.chance, self.nodes, self.late = chance, nodes, []
        self.heal()

    def heal(self):
        self.parts = {node: 0 for node in self.nodes}

    def split(self):
        self.parts = {node: self.chance.randrange(2) for node in self.nodes}

    def step(self):
        """A message, lines that are lost, doubled or kept for later, or a change of the partition."""
        chance = self.chance
        to, of = chance.sample(self.nodes, 2)
        if chance.random() < 0.1: self.split() if chance.random() < 0.6 else self.heal()
        if self.parts[to] != self.parts[of]: return
        way = chance.random()
        if way < 0.4:
            to.pull(of)
        elif way < 0.8:
            lines = of.lines(chance.choice([0, to.one("SELECT counter_mark(?)", of.one("SELECT counter_source()"))]))
            for _ in range(chance.choice([0, 1, 1, 2])): to.take(lines)
            self.late.append((to, lines))
        elif self.late:
            to, lines = self.late.pop(chance.randrange(len(self.late)))
            to.take(lines)

    def settle(self):
        self.heal()
        meet(*self.nodes)


def add_and_die(chance, node, sql):
    """A process of its own writes, and is killed at some moment. Returns whether it has ended well before."""
    with subprocess.Popen(["sqlite3", "-cmd", f".load {EXTENSION}", "-cmd", ".timeout 1000", node.path, sql],
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        time.sleep(chance.uniform(0.002, 0.02))
        process.kill()
    return process.returncode == 0


def play(chance, nodes, kind, deltas, operations=120, deaths=10):
    """Returns what was added for certain, and what perhaps. The adds that may be killed are so large that the sum tells which
    of them have happened."""
    network, definite, indeterminate = Network(chance, nodes), [], []
    deadly = {i: 1000 << n for n, i in enumerate(chance.sample(range(operations), deaths))}
    for i in range(operations):
        node, n = chance.choice(nodes), deadly.get(i) or chance.choice(deltas)
        if i in deadly:
            (definite if add_and_die(chance, node, upsert(kind, n)) else indeterminate).append(n)
        else:
            node.run(upsert(kind, n))
            definite.append(n)
        network.step()
    network.settle()
    return definite, indeterminate


def reads(nodes):
    return [node.one("SELECT coalesce(sum(n), 0) FROM t") for node in nodes]


@NEEDS_SHELL
@pytest.mark.parametrize("kind", KINDS)
def test_pn_counter_the_final_reads_agree_and_are_acceptable(peers, kind):
    chance = random.Random(f"{SEED} pn {kind}")
    nodes = peers(5, *KINDS[kind])
    definite, indeterminate = play(chance, nodes, kind, range(-5, 5))
    final = reads(nodes)
    assert len(set(final)) == 1 and final[0] in acceptable(definite, indeterminate), (final, definite, indeterminate)


@NEEDS_SHELL
@pytest.mark.parametrize("kind", KINDS)
def test_g_counter_the_final_reads_agree_and_are_acceptable(peers, kind):
    chance = random.Random(f"{SEED} g {kind}")
    nodes = peers(3, *KINDS[kind])
    definite, indeterminate = play(chance, nodes, kind, range(5), operations=60, deaths=5)
    final = reads(nodes)
    assert len(set(final)) == 1 and final[0] in acceptable(definite, indeterminate), (final, definite, indeterminate)


@differs
def test_pn_counter_the_checker_finds_that_a_regular_column_is_no_counter(peers):
    """The last write wins there, as for any column that the call does not name."""
    nodes = peers(3, "CREATE TABLE t(k TEXT PRIMARY KEY, n INTEGER NOT NULL DEFAULT 0)", "SELECT counter_replicate('t')")
    definite = [1, 2, 4]
    for node, n in zip(nodes, definite): node.run(upsert("replicated column", n))
    meet(*nodes)
    final = reads(nodes)
    assert len(set(final)) == 1 and final[0] not in acceptable(definite, []) and final[0] in definite


@NEEDS_SHELL
def test_pn_counter_an_indeterminate_add_that_is_repeated_under_its_request_id_counts_once(peers):
    chance = random.Random(f"{SEED} requests")
    nodes = peers(3, *KINDS["counter table"])
    network, added = Network(chance, nodes), []
    for i in range(40):
        node, n = chance.choice(nodes), chance.randint(-5, 4)
        sql = f"INSERT INTO t(k, n, request_id) VALUES ('x', {n}, 'add {i}')"
        if i % 4 == 0: add_and_die(chance, node, sql)
        for _ in range(chance.randint(1, 2)): node.run(sql)
        added.append(n)
        network.step()
    network.settle()
    assert reads(nodes) == [sum(added)] * 3


@NEEDS_SHELL
def test_g_set_all_nodes_have_all_elements_that_were_acknowledged(peers):
    chance = random.Random(f"{SEED} set")
    nodes = peers(4, "CREATE TABLE t(element INTEGER PRIMARY KEY)", "SELECT counter_replicate('t', 'keys=assigned')")
    network, definite, indeterminate = Network(chance, nodes), set(), set()
    for i in range(80):
        node, sql = chance.choice(nodes), f"INSERT INTO t VALUES ({i})"
        if i % 8 == 0:
            (definite if add_and_die(chance, node, sql) else indeterminate).add(i)
        else:
            node.run(sql)
            definite.add(i)
        network.step()
    network.settle()
    final = [{element for element, in node.run("SELECT element FROM t")} for node in nodes]
    assert all(elements == final[0] for elements in final) and definite <= final[0] <= definite | indeterminate


def test_unique_ids_no_two_nodes_give_out_one_key(peers):
    chance = random.Random(f"{SEED} ids")
    [first] = peers(1, "CREATE TABLE t(id INTEGER PRIMARY KEY AUTOINCREMENT, node)", "SELECT counter_replicate('t', 'keys=spread')")
    nodes = [first, *peers(3, "CREATE TABLE t(id INTEGER PRIMARY KEY AUTOINCREMENT, node)",
                           "SELECT counter_replicate('t', 'keys=spread')")]
    network, given = Network(chance, nodes), []
    for _ in range(120):
        node = chance.choice(nodes)
        given.append(node.db.execute("INSERT INTO t(node) VALUES (?)", [node.path]).lastrowid)
        network.step()
    network.settle()
    assert len(set(given)) == len(given)
    assert all([key for key, in node.run("SELECT id FROM t ORDER BY id")] == sorted(given) for node in nodes)
