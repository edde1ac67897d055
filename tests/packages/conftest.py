"""conftest.py - the library and the program of this machine as `packages/` takes it, and stand-ins for those of others; the seed of the
random tests, printed by every run and taken back as COUNTER_SEED=…"""
import importlib
import os
import pathlib
import platform
import random
import re
import shutil
import sqlite3
import struct
import subprocess
import sys
import zipfile

import pytest

from shops import Shop

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))  # authority.py

ROOT = pathlib.Path(__file__).resolve().parents[2]
LIBRARY = ROOT / "build" / "counter.so"
PROGRAM = ROOT / "build" / "sqlite-counter"
VERSION = re.search(r'COUNTER_VERSION "(.*)"', (ROOT / "include" / "counter.h").read_text())[1]
HERE = f"linux-{platform.machine()}"
SEED = int(os.environ.get("COUNTER_SEED") or random.SystemRandom().randrange(2**32))
EXAMPLES = int(os.environ.get("COUNTER_EXAMPLES") or 100)
# What a host does may depend on variables of its own, such as NODE_OPTIONS or PIP_INDEX_URL.
CLEAN = {name: os.environ[name] for name in ("PATH", "HOME", "TMPDIR", "LANG") if name in os.environ}
# What `make` builds needs libuuid, what is in a release does not.
ALLOW = {"COUNTER_ALLOW_LIBUUID": "1"}

# The class and the machine in the head of an ELF file.
ELF = {"linux-x86_64": b"\x01\x3e\x00", "linux-musl-x86_64": b"\x01\x3e\x00", "linux-aarch64": b"\x01\xb7\x00",
       "linux-s390x": b"\x02\x00\x16"}


def run(*command, ok=True, show=None, **options):
    """What a command prints; or, where it must fail or `show` asks for it, says."""
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True,
                          **{"env": CLEAN, "timeout": 120, **options})
    assert (done.returncode == 0) == ok, f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}"
    return getattr(done, show or ("stdout" if ok else "stderr"))


def broken_tool(folder, name):
    """Puts a program of that name, which only fails, into folder/bin."""
    at = folder / "bin" / name
    at.parent.mkdir()
    at.write_text("#!/bin/sh\nexit 3\n")
    at.chmod(0o755)


def put(libs, folder, built_for=None):
    """Puts the library of a platform into its folder or that of another one, and the program where there is one."""
    for name in "counter", "counter-folders":
        put_one(libs / folder / f"{name}.{'dll' if folder.startswith('windows') else 'so'}", built_for or folder)
    if folder in ELF:
        put_one(libs / folder / "sqlite-counter", built_for or folder, 20)
    return libs


def put_one(at, built_for, glibc=17):
    """Puts a file of this machine or one with the head of another, which asks for a version of glibc."""
    at.parent.mkdir(parents=True, exist_ok=True)
    if built_for == HERE:
        shutil.copy(PROGRAM if at.name == PROGRAM.name else LIBRARY.with_name(at.name), at)
    elif built_for.startswith("windows"):
        machine = {"windows-x86_64": 0x8664, "windows-aarch64": 0xaa64, "windows-x86": 0x14c}[built_for]
        at.write_bytes(b"MZ" + bytes(58) + struct.pack("<I", 0x180) + bytes(0x180 - 64) + b"PE\0\0" + struct.pack("<H", machine) + bytes(18))
    else:
        order, machine = ELF[built_for][:1], ELF[built_for][1:]
        names = b"" if "musl" in built_for else f"\0GLIBC_2.{glibc}\0GLIBC_2.4\0".encode()
        at.write_bytes(b"\x7fELF\x02" + order + bytes(12) + machine + bytes(100) + names)


def put_browser(folder):
    """Makes a folder with the module for browsers; where it has not been built, with two files of its names."""
    folder.mkdir(parents=True)
    made = ROOT / "build" / "browser" / "package"
    for name, stand_in in ("sqlite-counter.wasm", b"\0asm\1\0\0\0"), ("sqlite-counter.mjs", b"export const open = () => {};\n"):
        (folder / name).write_bytes((made / name).read_bytes() if (made / name).exists() else stand_in)
    return folder


@pytest.fixture(scope="session")
def libs(tmp_path_factory):
    """The library and the program of this machine."""
    if HERE not in ELF:
        pytest.skip(f"no packages for {HERE}")
    return put(tmp_path_factory.mktemp("libs"), HERE)


@pytest.fixture(scope="session")
def package(libs, tmp_path_factory):
    """The folder of an installed wheel, from which this process imports sqlite_counter."""
    built("python", libs, out := tmp_path_factory.mktemp("wheels"))
    zipfile.ZipFile(next(out.iterdir())).extractall(folder := tmp_path_factory.mktemp("installed"))
    sys.path.insert(0, str(folder))
    yield folder
    sys.path.remove(str(folder))


@pytest.fixture(scope="session")
def counter(package):
    return importlib.import_module("sqlite_counter")


@pytest.fixture
def shop(counter, tmp_path):
    """Makes files that count, and closes them."""
    made = []

    def make(name, path=None, **options):
        made.append(Shop(counter, path or tmp_path / f"{name}.db", **options))
        return made[-1]

    yield make
    for one in made:
        one.close()


@pytest.fixture
def folder(tmp_path):
    return shared(tmp_path / "folder")


def shared(path):
    """A folder that files sync through."""
    run(ROOT / "build" / "sqlite-counter", "folder", path)
    return path


def batches_in(of):
    """The files of batches in the directory of one device, from 0 on. It has nothing else but the empty file of its place."""
    others = [path for path in of.iterdir() if path.suffix != ".gz"]
    assert [re.fullmatch(r"\.place-[-0-9a-f]{36}", path.name) and path.stat().st_size for path in others] == [0], others
    return sorted(of.glob("*.gz"))


@pytest.fixture
def chance(request):
    """Random numbers of the test."""
    return random.Random(f"{SEED} {request.node.name}")


@pytest.fixture(scope="session")
def all_libs(tmp_path_factory):
    libs = tmp_path_factory.mktemp("all")
    for folder in [*ELF, "windows-x86_64"]:
        put(libs, folder)
    return libs


def check_program(*command, cwd):
    """The program tells its version and merges two files."""
    assert run(*command, "--version", cwd=cwd).startswith(f"sqlite-counter {VERSION}, SQLite ")
    till, office = cwd / "till.db", cwd / "office.db"
    execute(till, "CREATE TABLE products(sku TEXT PRIMARY KEY, stock INTEGER NOT NULL DEFAULT 0)", "INSERT INTO products VALUES ('tea', 10)",
            "SELECT counter_track('products', 'stock')", f"VACUUM INTO '{office}'", "UPDATE products SET stock = stock - 1")
    execute(office, "UPDATE products SET stock = stock + 20")
    run(*command, "sync", till, office, cwd=cwd)
    assert execute(till, "SELECT stock FROM products") == execute(office, "SELECT stock FROM products") == [(29,)]


def execute(path, *statements):
    """The rows of the last statement, of a connection of its own."""
    db = sqlite3.connect(path, isolation_level=None)
    db.enable_load_extension(True)
    db.load_extension(str(LIBRARY.with_suffix("")))
    for statement in statements:
        rows = db.execute(statement).fetchall()
    db.close()
    return rows


def files_named(page, kinds):
    """The names and patterns of files of a release in the commands of a page, those that end so."""
    [told] = re.findall(r"^```sh\n(.*?)^```$", (ROOT / page).read_text(), re.M | re.S)
    return re.findall(rf"(?:\./| )((?:sql\w+|libsqlite3)[-\w*.]*\.(?:{kinds}))", told)


def built(packages, libs, out, **options):
    """Name and bytes of all that packages/<packages>/build makes."""
    run(ROOT / "packages" / packages / "build", libs, out, **{**options, "env": {**CLEAN, **ALLOW, **options.get("env", {})}})
    return {path.name: path.read_bytes() for path in out.iterdir()}


def built_twice(packages, libs, tmp_path):
    """The second time by a user whose files nobody else may read, in another folder."""
    (tmp_path / "another").mkdir()
    one = built(packages, libs, tmp_path / "one")
    return one, built(packages, libs, tmp_path / "another" / "two", umask=0o077, cwd=tmp_path, env={"TZ": "Asia/Tokyo"})


def pytest_terminal_summary(terminalreporter):
    terminalreporter.write_line(f"repeat with COUNTER_SEED={SEED} COUNTER_EXAMPLES={EXAMPLES}")
