"""test_directory_calls.py - each call of the system on a directory that files sync with fails, once and from then on: nothing is
lost or doubled, and the next sync does all."""
import ctypes
import os
import pathlib
import shutil
import sqlite3
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXTENSION = str(ROOT / "build" / "counter")


class File:
    """`sync` opens the file anew each time, for it is put back in between."""

    def __init__(self, path):
        self.path = path
        self.act("CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER)")

    def act(self, sql, before=lambda: None):
        db = sqlite3.connect(self.path, isolation_level=None)
        db.enable_load_extension(True)
        db.execute("SELECT load_extension(?, 'sqlite3_counter_folders_init')", (EXTENSION,))
        try:
            before()
            return db.execute(sql).fetchall()
        finally:
            db.close()

    def count(self, n):
        for _ in range(n):
            self.act("INSERT INTO v VALUES ('x', 1)")

    def sync(self, before=lambda: None):
        """Returns the notes."""
        return [row[4] for row in self.act("SELECT * FROM counter_sync('shared')", before) if row[4]]

    def value(self):
        return self.act("SELECT coalesce(sum(n), 0) FROM v")[0][0]

    def state(self):
        """What makes the file the same one for itself, as a virtual machine that goes back to a snapshot does."""
        return pathlib.Path(self.path).read_bytes(), {name: os.getxattr(self.path, name) for name in os.listxattr(self.path)}

    def put_back(self, state):
        with open(self.path, "r+b") as file:
            file.write(state[0])
            file.truncate()
        for name, mark in state[1].items():
            os.setxattr(self.path, name, mark)


# Each makes what is there before the sync of `a`.

def first(a, b):
    """A file gives for the first time, and takes what another one has given."""
    b.count(2)
    b.sync()
    a.count(3)


def joined(a, b):
    """It joins what it gives with what it gave, and takes two files."""
    for file, n in (a, 3), (a, 1), (b, 5), (b, 1):
        file.count(n)
        file.sync()
    a.count(1)


def restored(a, b, counts=0):
    """It was restored and does not know it; its directory knows more than it does."""
    a.count(2)
    a.sync()
    state = a.state()
    a.count(3)
    a.sync()
    a.put_back(state)
    a.count(counts)


def restored_and_counts(a, b):
    restored(a, b, 1)


SCENES = {scene.__name__: scene for scene in (first, joined, restored, restored_and_counts)}


def meet(a, b):
    """Two rounds, so that each has what the other one has taken."""
    for file in a, b, a, b:
        assert file.sync() == []
    return a.value(), b.value()


def play(scene, later):
    fail = ctypes.CDLL("./fail.so")
    os.mkdir("shared")
    pathlib.Path("shared/.sqlite-counter").touch()
    a, b = File("a.db"), File("b.db")
    SCENES[scene](a, b)
    shutil.copytree("shared", "kept")
    states = a.state(), b.state()

    def again():
        a.put_back(states[0])
        b.put_back(states[1])
        shutil.rmtree("shared")
        shutil.copytree("kept", "shared")

    expected, failed, nth, calls = meet(a, b), 0, 0, 0
    assert expected[0] == expected[1] > 0
    while nth <= calls:  # until a run meets no fault
        again()
        nth += 1
        try:
            said = a.sync(lambda: fail.fail_from(nth, later))
        except sqlite3.Error as error:
            said = [str(error)]
        finally:
            calls = fail.fail_end()
        failed += bool(said)
        values = meet(a, b)
        assert values == expected, f"call {nth}: {said}: {values} in place of {expected}"
    assert nth > 20 and failed > 5, (nth, failed)
    print(f"{nth} calls, {failed} of them told")


@pytest.mark.parametrize("later", [0, 1], ids=["once", "from then on"])
@pytest.mark.parametrize("scene", SCENES)
def test_whatever_call_on_a_directory_fails_nothing_is_lost_or_doubled(tmp_path, scene, later):
    made = subprocess.run(["cc", "-shared", "-fPIC", ROOT / "tests" / "fault" / "fail_call.c", "-o", "fail.so", "-ldl"], cwd=tmp_path, check=False)
    if made.returncode or not sys.platform.startswith("linux"):
        pytest.skip("needs a loader that lets a library stand before the C library")
    done = subprocess.run([sys.executable, __file__, scene, str(later)], cwd=tmp_path, capture_output=True, text=True, timeout=300,
                          env={**os.environ, "LD_PRELOAD": "./fail.so"})
    assert done.returncode == 0, done.stdout + done.stderr


if __name__ == "__main__":
    play(sys.argv[1], int(sys.argv[2]))
