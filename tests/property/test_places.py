"""test_places.py - file systems that tell little of a file: what is noticed of a restore there, and
what must not cost an id. places.c takes away what the file system below does tell."""

import json
import os
import pathlib
import subprocess
import sys

import pytest

from files import EXTENSION

HERE = pathlib.Path(__file__).parent
RUN = """
import json, sqlite3, sys
db = sqlite3.connect(sys.argv[1], isolation_level=None)
db.enable_load_extension(True)
db.load_extension(sys.argv[2])
print(json.dumps([db.execute(sql).fetchall() for sql in json.loads(sys.argv[3])][-1]))
"""
TABLE = "CREATE VIRTUAL TABLE t USING counter(k TEXT PRIMARY KEY, n COUNTER)"
PULL = "SELECT count(*) FROM counter_pull('{}')"


@pytest.fixture(scope="module")
def places(tmp_path_factory):
    library = tmp_path_factory.mktemp("places") / "places.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, HERE / "places.c", "-ldl"], check=True)
    return library


class Place:
    def __init__(self, library, folder, kind):
        self.folder, self.env = folder, {**os.environ, "LD_PRELOAD": str(library), "PLACES": kind}

    def path(self, name):
        return str(self.folder / f"{name}.db")

    def run(self, name, *statements):
        """The rows of the last statement, in a process of its own."""
        done = subprocess.run([sys.executable, "-c", RUN, self.path(name), EXTENSION, json.dumps(statements)],
                              env=self.env, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def add(self, name, n):
        self.run(name, f"INSERT INTO t VALUES ('a', {n})")

    def value(self, name):
        (n,), = self.run(name, "SELECT n FROM t")
        return n

    def whys(self, name):
        return [why for why, in self.run(name, "SELECT why FROM counter_identity()")]

    def fingerprint(self, name):
        return self.run(name, "SELECT fingerprint FROM counter_identity() WHERE state = 'current'")[0][0]

    def restore_in_the_same_inode(self, backup, name):
        """Removes the file, and copies the backup until that gets its inode."""
        inode = os.stat(self.path(name)).st_ino
        for _ in range(100):
            subprocess.run(["sh", "-c", 'rm "$2" && cp "$1" "$2"', "sh", self.path(backup), self.path(name)], check=True)
            if os.stat(self.path(name)).st_ino == inode:
                return
        pytest.skip("inodes are not used again at once here")


def begin(place):
    for name in ("app", "peer"):
        place.run(name, TABLE)
    place.add("app", 10)
    subprocess.run(["cp", place.path("app"), place.path("backup")], check=True)
    place.add("app", 16)
    place.run("peer", PULL.format(place.path("app")))


def test_a_handle_tells_a_file_that_was_removed_and_put_back(places, tmp_path):
    place = Place(places, tmp_path, "handle")
    begin(place)
    assert place.fingerprint("app") == "armed"
    place.restore_in_the_same_inode("backup", "app")
    place.add("app", 5)
    assert place.whys("app") == ["copy", "created"]
    place.run("app", PULL.format(place.path("peer")))
    place.run("peer", PULL.format(place.path("app")))
    assert place.value("app") == place.value("peer") == 31


@pytest.mark.parametrize("kind", ["inode", "user"])
def test_a_bare_inode_is_called_weak(places, tmp_path, kind):
    place = Place(places, tmp_path, kind)
    begin(place)
    assert place.fingerprint("app").startswith("weak: ")
    for n in range(4):
        place.add("app", n)
    assert place.whys("app") == ["created"]
    assert place.value("app") == 32


@pytest.mark.parametrize("kind", ["handle", "inode", "user"])
def test_a_device_that_each_mount_numbers_anew_costs_no_id_and_stops_no_name(places, tmp_path, kind):
    place = Place(places, tmp_path, kind)
    place.run("named", "SELECT counter_init('dc:till')", TABLE)
    for device in ("41", "42", "43", "44"):
        place.env["PLACES_DEVICE"] = device
        place.add("named", 1)
        if device == "41":
            place.run("random", TABLE)
        place.add("random", 1)
    assert place.value("named") == place.value("random") == 4
    assert place.whys("named") == place.whys("random") == ["created"]


def test_a_copy_on_such_a_file_system_counts_under_an_id_of_its_own(places, tmp_path):
    for kind in ("handle", "inode"):
        place = Place(places, tmp_path / kind, kind)
        place.folder.mkdir()
        begin(place)
        place.add("backup", 4)
        assert place.whys("backup") == ["copy", "created"]
        place.run("peer", PULL.format(place.path("backup")))
        assert place.value("peer") == 30


def test_a_file_that_gains_a_handle_keeps_its_id(places, tmp_path):
    place = Place(places, tmp_path, "inode")
    begin(place)
    place.env["PLACES"] = "handle"
    place.add("app", 1)
    assert place.whys("app") == ["created"]
