"""test_dist.py - a release, made of the library of this machine alone: the same bytes each time, all
of it under checksums, its version from one place, of a commit and nothing else."""
import hashlib
import io
import json
import re
import shutil
import sqlite3
import tarfile
import zipfile

import pytest

from conftest import ALLOW, CLEAN, ELF, HERE, LIBRARY, PROGRAM, ROOT, VERSION, broken_tool, files_named, put, put_browser, run

SQLPKG = {"linux-x86_64": "linux-amd64", "linux-aarch64": "linux-arm64", "linux-s390x": "linux-s390x", "windows-x86_64": "windows-amd64"}
# Debian's packages take a minute: test_debian.py builds them once, make test-packages twice and compares them.
ENVIRONMENT = {**CLEAN, **ALLOW, "SOURCE_DATE_EPOCH": "1700000000", "COUNTER_SKIP_DEBIAN": "1"}

pytestmark = pytest.mark.skipif(not shutil.which("zip") or not (ROOT / ".git").exists(), reason="no zip, or no git checkout")


def copy_of_sources(folder):
    """What a commit of the checkout, as it is now, would have."""
    for name in run("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", cwd=ROOT).split("\0"):
        if name and (ROOT / name).exists():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name, follow_symlinks=False)
    return folder


@pytest.fixture(scope="module")
def libraries(tmp_path_factory):
    if HERE not in ELF:
        pytest.skip(f"no packages for {HERE}")
    return put(tmp_path_factory.mktemp("libraries"), HERE)


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    folder = copy_of_sources(tmp_path_factory.mktemp("sources"))
    run("make", "-s", "amalgamation", cwd=folder)
    put_browser(folder / "build" / "browser" / "package")
    return folder


@pytest.fixture(scope="module")
def release(sources, libraries, tmp_path_factory):
    """Two folders, each made by tools/dist of sources in another place."""
    shutil.copytree(sources, another := tmp_path_factory.mktemp("another") / "place with a longer name", symlinks=True)
    made = []
    for folder, umask in (sources, 0o022), (another, 0o077):
        made.append(tmp_path_factory.mktemp("out"))
        (made[-1] / "old.zip").write_text("")
        run(folder / "tools" / "dist", VERSION, libraries, made[-1], HERE, "browser", env=ENVIRONMENT, umask=umask, timeout=600)
    return made


def test_two_releases_of_the_same_sources_have_the_same_bytes(release):
    one, two = ({path.name: path.read_bytes() for path in out.iterdir()} for out in release)
    assert one == two and "old.zip" not in one
    assert {name.split(VERSION)[0] for name in one} >= {
        "sqlite-counter-", "sqlite-counter-amalgamation-", "sqlite-counter-wasm-", "sqlite_counter-", "sqlpkg.json", "SHA256SUMS"}


def test_each_file_of_a_release_has_its_checksum(release):
    lines = dict(reversed(line.split()) for line in (release[0] / "SHA256SUMS").read_text().splitlines())
    assert lines == {path.name: hashlib.sha256(path.read_bytes()).hexdigest()
                     for path in release[0].iterdir() if path.name != "SHA256SUMS"}


def test_the_sources_of_a_release_build_what_is_in_it(release, tmp_path):
    with tarfile.open(release[0] / f"sqlite-counter-{VERSION}.tar.gz") as archive:
        archive.extractall(tmp_path)
    [folder] = tmp_path.iterdir()
    assert folder.name == f"sqlite-counter-{VERSION}" and not (folder / "build").exists()
    run("make", "-s", "amalgamation", cwd=folder)
    with zipfile.ZipFile(release[0] / f"sqlite-counter-amalgamation-{VERSION}.zip") as archive:
        for name in "counter.c", "counter.h":
            whole = archive.read(f"sqlite-counter-amalgamation-{VERSION}/{name}")
            assert whole == (folder / "build" / "amalgamation" / name).read_bytes()


def test_a_release_has_the_package_for_browsers_if_it_is_named(release, sources, libraries, tmp_path):
    with tarfile.open(release[0] / f"sqlite-counter-wasm-{VERSION}.tgz") as archive:
        assert archive.extractfile("package/sqlite-counter.wasm").read() == (sources / "build" / "browser" / "package" / "sqlite-counter.wasm").read_bytes()
    assert "browser" not in (release[0] / "sqlpkg.json").read_text()
    run(sources / "tools" / "dist", VERSION, libraries, tmp_path / "out", HERE, env=ENVIRONMENT)
    assert not list((tmp_path / "out").glob("*wasm*"))


def test_the_archive_of_a_platform_has_the_library_the_program_and_what_to_read(release):
    with tarfile.open(release[0] / f"sqlite-counter-{VERSION}-{HERE}.tar.gz") as archive:
        assert archive.getnames() == ["counter.so", "counter-folders.so", "sqlite-counter", "LICENSE", "README.md"]
        for file in LIBRARY, PROGRAM:
            assert archive.extractfile(file.name).read() == file.read_bytes()
        assert archive.getmember("sqlite-counter").mode == 0o755


@pytest.mark.skipif(HERE != "linux-x86_64", reason="the page names the files of another machine")
def test_the_page_names_files_of_the_release(release):
    names = files_named("docs/install.md", "tgz|whl|json|tar\\.gz")
    assert len(names) == 5 and all(len(list(release[0].glob(name))) == 1 for name in names)


# ---- sqlpkg ----

def test_sqlpkg_installs_the_archive_of_this_machine(release, tmp_path):
    """As github.com/nalgeon/sqlpkg-cli does, from the folder of the release: what `path` and `files` name is unpacked
    without making a folder, and loaded."""
    spec = json.loads((release[0] / "sqlpkg.json").read_text())
    assert spec["version"] == VERSION and list(spec["assets"]["files"]) == [SQLPKG[HERE]]
    name = spec["assets"]["files"][SQLPKG[HERE]]
    content = (release[0] / spec["assets"]["path"] / name).read_bytes()
    assert spec["assets"]["checksums"] == {name: f"sha256-{hashlib.sha256(content).hexdigest()}"}
    with tarfile.open(fileobj=io.BytesIO(content)) as archive:
        for member in archive:
            if member.isreg():
                (tmp_path / member.name).write_bytes(archive.extractfile(member).read())
    db = sqlite3.connect(":memory:")
    db.enable_load_extension(True)
    db.load_extension(str(tmp_path / "counter"))
    assert db.execute("SELECT counter_version()").fetchone() == (VERSION,)


def test_sqlpkg_has_names_for_all_platforms_but_musl_and_says_else_what_the_project_says(tmp_path):
    for platform in [*ELF, "windows-x86_64"]:
        (tmp_path / f"sqlite-counter-{VERSION}-{platform}.tar.gz").write_text(platform)
    tool = ROOT / "tools" / "sqlpkg"
    spec = json.loads(run(tool, VERSION, tmp_path, *ELF, "windows-x86_64"))
    assert spec["assets"]["files"] == {name: f"sqlite-counter-{VERSION}-{platform}.tar.gz" for platform, name in SQLPKG.items()}
    assert set(spec["assets"]["checksums"]) == set(spec["assets"]["files"].values())
    said_once = json.loads((ROOT / "sqlpkg.json").read_text())
    assert {**said_once, "version": VERSION, "assets": spec["assets"]} == spec and not {"version", "assets"} & set(said_once)
    assert run(tool, VERSION, tmp_path, "plan9-x86_64", ok=False) == "tools/sqlpkg: plan9-x86_64 has no name among Go's\n"


# ---- what cannot become a release ----

@pytest.mark.parametrize("tool", ["tar", "gzip", "zip", "find", "sort"])
def test_a_tool_that_fails_fails_the_release(sources, libraries, tmp_path, tool):
    broken_tool(tmp_path, tool)
    run(sources / "tools" / "dist", VERSION, libraries, tmp_path / "out", HERE, ok=False,
        env={**ENVIRONMENT, "PATH": f"{tmp_path / 'bin'}:{CLEAN['PATH']}"})
    assert not (tmp_path / "out" / "SHA256SUMS").exists()


def test_a_release_without_debhelper_is_refused_unless_asked_for(tmp_path):
    for name in "dirname", "mkdir":
        (tmp_path / name).symlink_to(shutil.which(name))
    build = ["/bin/sh", ROOT / "packages" / "debian" / "build", tmp_path, tmp_path / "out"]
    assert run(*build, ok=False, env={"PATH": str(tmp_path)}) == (
        "packages/debian/build: there is no debhelper; COUNTER_SKIP_DEBIAN=1 makes no Debian packages\n")
    run(*build, env={"PATH": str(tmp_path), "COUNTER_SKIP_DEBIAN": "1"})
    assert list((tmp_path / "out").iterdir()) == []


@pytest.fixture
def checkout(tmp_path):
    copy_of_sources(tmp_path)
    git = ["git", "-c", "user.name=test", "-c", "user.email=test@example.org", "-c", "core.hooksPath=/dev/null"]
    run(*git, "init", "-q", cwd=tmp_path)
    run(*git, "add", "-A", cwd=tmp_path)
    run(*git, "commit", "-q", "-m", "all", cwd=tmp_path)
    return tmp_path


@pytest.mark.parametrize("change, told", [
    (lambda folder: (folder / "ext" / "core" / "stray.c").write_text("int stray;\n"), "?? ext/core/stray.c"),
    (lambda folder: (folder / "ext" / "counter.c").unlink(), " D ext/counter.c"),
    (lambda folder: (folder / "README.md").write_text("else\n"), " M README.md")], ids=["untracked", "deleted", "changed"])
def test_a_checkout_with_what_is_not_committed_makes_no_release(checkout, change, told):
    change(checkout)
    assert f"dist: the checkout has what is not committed:\n{told}\n" in run("make", "-s", "dist", cwd=checkout, ok=False)
    assert "this is a checkout" in run(checkout / "tools" / "dist", VERSION, checkout, checkout / "out", HERE, ok=False, env=ENVIRONMENT)


def test_sources_without_git_make_no_release(sources):
    assert "dist: a release is made of a commit, and this is no git checkout\n" in run("make", "-s", "dist", cwd=sources, ok=False)


@pytest.mark.parametrize("target", ["all", "amalgamation", "tests"])
def test_what_is_made_already_is_made_in_silence(target):
    """`make demo` and `make dist` begin with it. Make says nothing where there is a recipe, if one that does nothing."""
    assert re.search(rf"^{target}: .*\n\t@:$", (ROOT / "Makefile").read_text(), re.M)


def test_the_changelog_begins_with_the_version():
    text = (ROOT / "CHANGELOG.md").read_text()
    assert re.search(r"^## \[(.+?)\]", text, re.M)[1] == VERSION
