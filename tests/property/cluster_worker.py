"""cluster_worker.py - another process that coordinates: counts through a cluster until it is
killed, or so many times.

    cluster_worker.py JSON      {"files": {"main": path, ...}, "options": {...}, "timeout": seconds,
                                 "row": text, "bits": [first, n], "seed": number, "times": number,
                                 "begin": [ways to begin a transaction]}

Says "ready" and waits for a line. Then it adds powers of two to both counters of the rows "row.0",
"row.1", ...: in each row those of its own bits, one after the other, in statements and, with
"begin", in transactions of one to three. Each further line on standard output is one of these: "a"
for acknowledged, "r" for refused, and how many increments.
"""

import json
import os
import random
import sqlite3
import sys
import time

from clusters import coordinator


class Counting:
    def __init__(self, job):
        self.row, (self.first, self.n) = job["row"], job["bits"]
        self.begin = job["begin"]
        self.db = self.open(job)
        self.chance = random.Random(job["seed"])
        self.done = 0

    def open(self, job):
        """Another process may be making good what a third one has left behind."""
        while True:
            try:
                return coordinator(job["files"], job["timeout"], **job["options"])
            except sqlite3.OperationalError as error:
                if "locked" not in str(error):
                    raise
                time.sleep(0.001)

    def add(self, i):
        key, amount = f"{self.row}.{i // self.n}", 1 << (self.first + i % self.n)
        self.db.execute("INSERT INTO traffic VALUES (?, 0, ?, ?)", [key, amount, amount])

    def run(self, count):
        if not self.begin or count == 1 and self.chance.random() < 0.7:
            return self.add(self.done)
        self.db.execute(self.chance.choice(self.begin))
        for i in range(self.done, self.done + count):
            self.add(i)
        self.db.execute("COMMIT")

    def step(self):
        count = self.chance.choice([1, 1, 1, 2, 3]) if self.begin else 1
        try:
            self.run(count)
            word = "a"
        except sqlite3.OperationalError as error:
            if "locked" not in str(error):
                raise
            if self.db.in_transaction:
                self.db.execute("ROLLBACK")
            word = "r"
        self.done += count
        os.write(1, f"{word} {count}\n".encode())


def main(job):
    counting = Counting(job)
    os.write(1, b"ready\n")
    sys.stdin.readline()
    while counting.done < job["times"]:
        counting.step()
    counting.db.close()


main(json.loads(sys.argv[1]))
