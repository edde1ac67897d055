"""test_debian.py - the Debian packages: what is in them, what they ask for, what they do."""
import os
import pathlib
import re
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
VERSION = re.search(r'COUNTER_VERSION "(.*)"', (ROOT / "include" / "counter.h").read_text())[1]
NAME = "libsqlite3-ext-counter"

pytestmark = pytest.mark.skipif(not shutil.which("dh"), reason="no debhelper")


def run(*command):
    return subprocess.run([str(word) for word in command], cwd=ROOT, check=True, capture_output=True, text=True,
                          env={**os.environ, "SOURCE_DATE_EPOCH": "1700000000"}).stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """Packages by name."""
    out = tmp_path_factory.mktemp("out")
    run(ROOT / "packages" / "debian" / "build", out, out)
    return {path.name.split("_")[0]: path for path in out.glob("*.deb")}


def test_the_library_and_the_program_are_where_debian_has_such(built):
    listed = run("dpkg-deb", "-c", built[NAME])
    files = {line.split()[5] for line in listed.splitlines() if not line.startswith("d")}
    assert {name for name in files if "/doc/" not in name} == {
        "./usr/bin/sqlite-counter", "./usr/lib/sqlite3/counter.so", "./usr/lib/sqlite3/counter-preload.so",
        "./usr/share/man/man1/sqlite-counter.1.gz"}


def test_the_package_asks_for_what_the_library_is_linked_with(built):
    asked = run("dpkg-deb", "-f", built[NAME], "Version", "Depends")
    assert f"Version: {VERSION}\n" in asked
    assert {"libc6", "libsqlite3-0", "libuuid1"} <= set(re.findall(r"[\w-]+", asked))


def test_what_is_unpacked_counts(built, tmp_path):
    run("dpkg-deb", "-x", built[NAME], tmp_path)
    library = tmp_path / "usr" / "lib" / "sqlite3" / "counter"
    assert run("sqlite3", "-batch", ":memory:", f".load '{library}'", "SELECT counter_version();").strip() == VERSION
    assert VERSION in run(tmp_path / "usr" / "bin" / "sqlite-counter", "--version")
