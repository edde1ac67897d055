"""test_npm_batches.py - what the npm package does between files: batches, a folder, HTTP and its server. The claims stand
in npm/*.mjs, and each driver that is there plays them."""
import os
import shutil
import tarfile

import pytest

from conftest import CLEAN, ROOT, built, run
from test_npm import need, node

SCRIPTS = ROOT / "tests" / "packages" / "npm"
SETTINGS = {name: value for name, value in os.environ.items() if name.startswith("COUNTER_")}


@pytest.fixture(scope="session")
def packages(libs, tmp_path_factory):
    """The packages of this machine, as they are in node_modules."""
    folder = tmp_path_factory.mktemp("npm")
    for name in built("npm", libs, folder / "tgz"):
        at = folder / "node_modules" / name.rpartition("-")[0]
        with tarfile.open(folder / "tgz" / name) as tar:
            for member in tar:
                member.name = member.name.removeprefix("package/")
                tar.extract(member, at)
    return folder / "node_modules"


@pytest.fixture
def project(packages, tmp_path):
    if not shutil.which("node"):
        pytest.skip("no node")
    shutil.copytree(packages, tmp_path / "node_modules")
    for script in SCRIPTS.glob("*.mjs"):
        shutil.copy(script, tmp_path)
    return tmp_path


@pytest.mark.parametrize("driver", ["better-sqlite3", "node:sqlite", "sqlite3"])
@pytest.mark.parametrize("claims", ["batches", "folder", "http", "server", "world"])
def test_the_claims_hold(project, driver, claims):
    need(driver, project)
    said = run("node", "--no-warnings", f"{claims}.mjs", driver, cwd=project, env={**CLEAN, **SETTINGS})
    held = (SCRIPTS / f"{claims}.mjs").read_text().count('  async "')
    assert said.count("\nok ") == held > 0, said


def test_a_database_of_another_kind_is_told_which_there_are(project):
    assert node(project, """
        import { mark, tokens } from "sqlite-counter";
        for (const db of [{}, undefined, 5]) await mark(db, "x").catch((error) => console.log(error.message));
        await tokens("nowhere/x.db").catch((error) => console.log(error.message));
        """).startswith("sqlite-counter: this Object is no database; give a Database of better-sqlite3 or sqlite3, "
                        "or a DatabaseSync of node:sqlite\nsqlite-counter: this undefined is no database")
