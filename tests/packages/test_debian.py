"""test_debian.py - the Debian packages: what is in them, what they ask for, what they do."""
import os
import re
import shutil

import pytest

from conftest import CLEAN, HERE, ROOT, VERSION, files_named, run

NAME = "libsqlite3-ext-counter"

pytestmark = pytest.mark.skipif(not shutil.which("dh"), reason="no debhelper")


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """Packages by name. make test-packages optimizes them as users get them, which takes twice as long."""
    out = tmp_path_factory.mktemp("out")
    run(ROOT / "packages" / "debian" / "build", out, out, env={**CLEAN, "FASTER": "-O1", "SOURCE_DATE_EPOCH": "1700000000"}, timeout=600)
    return {path.name.split("_")[0]: path for path in out.glob("*.deb")}


@pytest.fixture(scope="module")
def unpacked(built, tmp_path_factory):
    """What both packages put into /usr, which they share."""
    folder = tmp_path_factory.mktemp("root")
    for name in NAME, f"{NAME}-dev":
        run("dpkg-deb", "-x", built[name], folder)
    return folder / "usr"


def files(package):
    listed = run("dpkg-deb", "-c", package).splitlines()
    return {line.split()[5].removeprefix("./usr/") for line in listed if not line.startswith("d")}


def test_files_are_where_debian_has_such(built):
    assert {name for name in files(built[NAME]) if not name.startswith("share/doc/")} == {
        "bin/sqlite-counter", "lib/sqlite3/counter.so", "lib/sqlite3/counter-folders.so", "lib/sqlite3/counter-preload.so", "share/man/man1/sqlite-counter.1.gz"}
    assert f"share/doc/{NAME}/README.md.gz" in files(built[NAME])
    assert {name for name in files(built[f"{NAME}-dev"]) if not name.startswith("share/doc/")} == {
        "include/sqlite-counter/counter.h", "include/sqlite-counter/counter_cell.h", "lib/libcounter.a",
        "lib/pkgconfig/sqlite-counter.pc"}
    assert sum(name.endswith(".debug") and "build-id" in name for name in files(built[f"{NAME}-dbgsym"])) == 4


@pytest.mark.skipif(HERE != "linux-x86_64", reason="the page names the files of another machine")
def test_the_page_names_packages_that_are_built(built):
    [name] = files_named("docs/install.md", "deb")
    assert [path.name for path in built.values() if path.match(name)] == [built[NAME].name]


def test_the_readme_of_the_package_tells_what_to_load(unpacked):
    told = (unpacked / "share" / "doc" / NAME / "README.Debian").read_text()
    paths = {path.removesuffix(".so") for path in re.findall(r"/usr/lib/sqlite3/[-.\w]+\w", told)}
    assert paths == {f"/usr/lib/sqlite3/counter{end}" for end in ("", "-preload", "-folders")}
    assert all((unpacked.parent / f"{path.removeprefix('/')}.so").exists() for path in paths)


def test_the_package_asks_for_what_the_library_is_linked_with(built):
    asked = run("dpkg-deb", "-f", built[NAME], "Version", "Depends")
    assert f"Version: {VERSION}\n" in asked
    assert {"libc6", "libsqlite3-0", "libuuid1", "zlib1g"} <= set(re.findall(r"[\w-]+", asked))
    asked = run("dpkg-deb", "-f", built[f"{NAME}-dev"], "Depends")
    assert f"{NAME} (= {VERSION})" in asked and {"libsqlite3-dev", "uuid-dev", "zlib1g-dev"} <= set(re.findall(r"[\w-]+", asked))


def test_what_is_unpacked_counts(unpacked):
    sql = "SELECT counter_version();"
    assert run("sqlite3", "-batch", ":memory:", f".load '{unpacked / 'lib/sqlite3/counter'}'", sql).strip() == VERSION
    preloaded = {**CLEAN, "LD_PRELOAD": str(unpacked / "lib/sqlite3/counter-preload.so")}
    assert run("sqlite3", "-batch", ":memory:", sql, env=preloaded).splitlines()[-1] == VERSION
    assert VERSION in run(unpacked / "bin" / "sqlite-counter", "--version")


@pytest.mark.skipif(not shutil.which("pkg-config"), reason="no pkg-config")
def test_a_program_is_linked_with_the_library_for_development(unpacked, tmp_path):
    (tmp_path / "program.c").write_text("""
        #include "counter.h"
        int main(void)
        {
            sqlite3 *db;
            return sqlite3_open(":memory:", &db) || sqlite3_counter_init(db, 0, 0) ||
                   sqlite3_exec(db, "SELECT counter_version()", 0, 0, 0) || sqlite3_close(db);
        }
        """)
    told = run("pkg-config", "--cflags", "--libs", f"--define-variable=prefix={unpacked}", "sqlite-counter",
               env={**CLEAN, "PKG_CONFIG_PATH": str(unpacked / "lib" / "pkgconfig")}).split()
    assert f"-L{unpacked}/lib" in told
    run("gcc", tmp_path / "program.c", *told, "-o", tmp_path / "program")
    run(tmp_path / "program")


@pytest.mark.skipif(not shutil.which("readelf"), reason="no readelf")
@pytest.mark.parametrize("name", ["lib/sqlite3/counter.so", "lib/sqlite3/counter-folders.so", "lib/sqlite3/counter-preload.so", "bin/sqlite-counter"])
def test_what_is_built_is_hardened_as_debian_asks(unpacked, name):
    told = run("readelf", "-W", "-d", "-l", "--dyn-syms", unpacked / name)
    assert "GNU_RELRO" in told and re.search(r"\bNOW\b", told) and "__stack_chk_fail" in told
    if "folders" not in name:  # which calls nothing that has a checked form
        assert re.search(r"__\w+_chk@", told.replace("__stack_chk_fail", "")), "no _FORTIFY_SOURCE"
    assert os.path.getsize(unpacked / name) < 2**20, "not stripped"
