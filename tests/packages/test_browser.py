"""test_browser.py - the npm package for browsers: the same bytes each time, and what its package.json names is in it.

What it does is tried in Chromium, by `make test-browser`."""
import json
import shutil
import tarfile

import pytest

from conftest import CLEAN, ROOT, VERSION, built_twice, put_browser, run

NAME = f"sqlite-counter-wasm-{VERSION}.tgz"
NEEDS_NPM = pytest.mark.skipif(not shutil.which("npm"), reason="no npm")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return put_browser(tmp_path_factory.mktemp("made") / "module")


@pytest.fixture(scope="module")
def package(made, tmp_path_factory):
    run(ROOT / "packages" / "browser" / "build", made, out := tmp_path_factory.mktemp("out"))
    return out / NAME


def test_the_same_files_give_the_same_bytes(made, tmp_path):
    one, two = built_twice("browser", made, tmp_path)
    assert one == two and list(one) == [NAME]
    assert sorted(path.name for path in made.iterdir()) == ["sqlite-counter.mjs", "sqlite-counter.wasm"], "it leaves nothing behind"


def test_what_the_package_names_is_in_it(package, made):
    with tarfile.open(package) as archive:
        files = {member.name.removeprefix("package/"): archive.extractfile(member).read() for member in archive if member.isreg()}
        assert {member.mode for member in archive if member.isreg()} == {0o644}
        assert {(member.uid, member.gid) for member in archive} == {(0, 0)}
    told = json.loads(files["package.json"])
    assert (told["name"], told["version"]) == ("sqlite-counter-wasm", VERSION)
    named = [told["types"], told["exports"]["./sqlite-counter.wasm"], told["exports"]["./package.json"], *told["exports"]["."].values()]
    assert {name.removeprefix("./") for name in named} <= set(files)
    assert files["sqlite-counter.wasm"] == (made / "sqlite-counter.wasm").read_bytes()
    assert files["sqlite-counter.d.ts"] == (ROOT / "packages" / "browser" / "index.d.ts").read_bytes()
    assert files["LICENSE"] == (ROOT / "LICENSE").read_bytes() and b"sqlite-counter-wasm" in files["README.md"]


@NEEDS_NPM
def test_npm_installs_it_and_node_is_told_that_it_has_no_workers(package, tmp_path):
    if not (ROOT / "build" / "browser" / "package" / "sqlite-counter.mjs").exists():
        pytest.skip("make wasm has not been run")
    run("npm", "install", "--silent", "--offline", "--no-audit", "--no-fund", package, cwd=tmp_path, env={**CLEAN, "npm_config_cache": str(tmp_path / "cache")})
    (tmp_path / "try.mjs").write_text("""
import { open, SqliteError } from 'sqlite-counter-wasm';
await open('x').catch((error) => console.log(error.message, error instanceof SqliteError));
""")
    assert run("node", "try.mjs", cwd=tmp_path) == "open: this browser has no workers, in which SQLite runs false\n"


def test_what_is_no_module_makes_no_package(tmp_path, made):
    build, out = ROOT / "packages" / "browser" / "build", tmp_path / "out"
    assert "packages/browser/build MADE OUT" in run(build, tmp_path, out, ok=False)
    assert "packages/browser/build MADE OUT" in run(build, made, ok=False)
    shutil.copytree(made, wrong := tmp_path / "wrong")
    (wrong / "sqlite-counter.wasm").write_bytes(b"not at all")
    assert run(build, wrong, out, ok=False) == f"packages/browser/build: {wrong}/sqlite-counter.wasm is no WebAssembly\n"
    assert not out.exists()
