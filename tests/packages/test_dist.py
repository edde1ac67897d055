"""test_dist.py - a release, made of the library of this machine alone: the same bytes each time, all
of it under checksums, its version from one place."""
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import tarfile
import zipfile

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PLATFORM = "linux-x86_64"
VERSION = re.search(r'COUNTER_VERSION "(.*)"', (ROOT / "include" / "counter.h").read_text())[1]

pytestmark = pytest.mark.skipif(not shutil.which("zip") or not (ROOT / ".git").exists(),
                                reason="no zip, or no git checkout, to make a release of")


@pytest.fixture(scope="module")
def release(tmp_path_factory):
    """Two folders, each made by tools/dist."""
    subprocess.run(["make", "-s", "all", "amalgamation"], cwd=ROOT, check=True, stdin=subprocess.DEVNULL)
    libraries = tmp_path_factory.mktemp("libraries")
    (libraries / PLATFORM).mkdir()
    shutil.copy(ROOT / "build" / "counter.so", libraries / PLATFORM)
    made = []
    for name in "one", "two":
        out = tmp_path_factory.mktemp(name)
        subprocess.run([ROOT / "tools" / "dist", VERSION, libraries, out, PLATFORM], check=True, cwd=ROOT,
                       env={**os.environ, "SOURCE_DATE_EPOCH": "1700000000"}, capture_output=True)
        made.append(out)
    return made


def test_two_releases_of_a_commit_have_the_same_bytes(release):
    one, two = ({path.name: path.read_bytes() for path in out.iterdir()} for out in release)
    assert len(one) >= 5 and one == two


def test_each_file_of_a_release_has_its_checksum(release):
    lines = dict(reversed(line.split()) for line in (release[0] / "SHA256SUMS").read_text().splitlines())
    assert lines == {path.name: hashlib.sha256(path.read_bytes()).hexdigest()
                     for path in release[0].iterdir() if path.name != "SHA256SUMS"}


def test_the_sources_of_a_release_build_what_is_in_it(release, tmp_path):
    with tarfile.open(release[0] / f"sqlite-counter-{VERSION}.tar.gz") as archive:
        archive.extractall(tmp_path)
    [folder] = tmp_path.iterdir()
    assert folder.name == f"sqlite-counter-{VERSION}"
    subprocess.run(["make", "-s", "amalgamation"], cwd=folder, check=True, stdin=subprocess.DEVNULL)
    with zipfile.ZipFile(release[0] / f"sqlite-counter-amalgamation-{VERSION}.zip") as archive:
        for name in "counter.c", "counter.h":
            whole = archive.read(f"sqlite-counter-amalgamation-{VERSION}/{name}")
            assert whole == (folder / "build" / "amalgamation" / name).read_bytes() \
                or subprocess.run(["git", "diff", "--quiet", "HEAD"], cwd=ROOT, check=False).returncode != 0


def test_sqlpkg_has_one_asset_for_each_platform_and_its_checksum(release):
    spec = json.loads((release[0] / "sqlpkg.json").read_text())
    assert spec["version"] == VERSION and set(spec["assets"]["files"]) == {"linux-amd64"}
    name = spec["assets"]["files"]["linux-amd64"]
    digest = hashlib.sha256((release[0] / name).read_bytes()).hexdigest()
    assert spec["assets"]["checksums"] == {name: f"sha256-{digest}"}
    with tarfile.open(release[0] / name) as archive:
        assert archive.extractfile(f"sqlite-counter-{VERSION}-{PLATFORM}/counter.so").read() \
            == (ROOT / "build" / "counter.so").read_bytes()


def test_the_changelog_begins_with_the_version():
    text = (ROOT / "CHANGELOG.md").read_text()
    assert re.search(r"^## \[(.+?)\]", text, re.M)[1] == VERSION
