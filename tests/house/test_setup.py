"""test_setup.py - what make asks for on a machine that has nothing: all that the target needs, and nothing else."""

import pathlib
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def bare(folder):
    """A PATH with what every machine has, and neither a compiler nor a manager of packages."""
    for name in "sh", "cat", "dirname", "id", "rm", "sed", "sort", "tr", "uname", "nproc", "find", "git", "awk", "make", "env":
        if shutil.which(name):
            (folder / name).symlink_to(shutil.which(name))
    return {"PATH": str(folder), "LC_ALL": "C"}


@pytest.mark.parametrize("purpose, needed, others", [
    ("demo", "gcc", "chromium python3 curl"), ("test", "gcc curl openssl python3-pytest", "chromium emscripten"),
    ("wheels", "gcc python3", "chromium curl"), ("wasm", "emscripten npm", "chromium"), ("browser", "emscripten chromium npm", "curl")])
def test_a_target_names_what_it_needs_and_nothing_else(tmp_path, purpose, needed, others):
    done = subprocess.run([ROOT / "tools" / "setup", purpose], env=bare(tmp_path), capture_output=True, text=True)
    lines = [line.split() for line in done.stderr.splitlines()]
    apt = next(line[2:] for line in lines if line[:2] == ["apt-get", "install"])
    assert done.returncode == 1 and set(needed.split()) <= set(apt) and not set(others.split()) & set(apt)


@pytest.mark.parametrize("target, asks", [("demo", "demo"), ("test", "test"), ("packages", "wheels"), ("wasm", "wasm")])
def test_make_says_nothing_of_a_missing_compiler_before_it_has_asked_for_one(tmp_path, target, asks):
    done = subprocess.run(["make", target], cwd=ROOT, env=bare(tmp_path), capture_output=True, text=True)
    said = subprocess.run([ROOT / "tools" / "setup", asks], env={"PATH": str(tmp_path), "LC_ALL": "C"}, capture_output=True, text=True).stderr
    assert done.returncode == 2 and said.startswith("missing: ") and done.stderr.startswith(said), done.stderr
