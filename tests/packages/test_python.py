"""test_python.py - the wheels: built twice they are the same, pip installs them, sqlite3, apsw, SQLAlchemy and
Django load the library by them, and what cannot work is one sentence."""
import base64
import contextlib
import csv
import hashlib
import io
import json
import pathlib
import re
import shutil
import sqlite3
import subprocess
import tempfile
import textwrap
import zipfile

import pytest

from conftest import CLEAN, HERE, LIBRARY, PROGRAM, ROOT, VERSION, built, built_twice, check_program, run

PYTHON = "/usr/bin/python3"


@pytest.fixture(scope="module")
def wheel(libs, tmp_path_factory):
    built("python", libs, out := tmp_path_factory.mktemp("wheels"))
    return next(out.iterdir())


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
    """What installing is: the wheel unpacked, and its modules compiled."""
    zipfile.ZipFile(wheel).extractall(folder := tmp_path_factory.mktemp("installed"))
    run(PYTHON, "-m", "compileall", "-q", folder)
    return folder


def python(installed, folder, *command, ok=True, path=()):
    return run(PYTHON, *command, ok=ok, cwd=folder,
               env={**CLEAN, "PYTHONPATH": ":".join(map(str, [installed, *path])), "PYTHONDONTWRITEBYTECODE": "1"})


def need(module):
    try:
        run(PYTHON, "-c", f"import {module}")
    except AssertionError:
        pytest.skip(f"no {module} for {PYTHON}")


def program(text):
    return textwrap.dedent(text)


# ---- building ----

def test_two_builds_have_the_same_bytes(libs, tmp_path):
    one, two = built_twice("python", libs, tmp_path)
    assert one == two and len(one) == 1


def test_each_platform_has_a_wheel_with_its_tag(all_libs, tmp_path):
    wheels = built("python", all_libs, tmp_path)
    tags = {re.fullmatch(rf"sqlite_counter-{VERSION}-(py3-none-\w+)\.whl", name)[1]: zipfile.ZipFile(io.BytesIO(wheel))
            for name, wheel in wheels.items()}
    others = {"py3-none-manylinux_2_20_aarch64": "linux-aarch64", "py3-none-manylinux_2_20_s390x": "linux-s390x",
              "py3-none-manylinux_2_20_x86_64": "linux-x86_64", "py3-none-musllinux_1_2_x86_64": "linux-musl-x86_64",
              "py3-none-win_amd64": "windows-x86_64"}
    assert len(tags) == len(others)
    for tag, wheel in tags.items():
        assert f"\nTag: {tag}\n" in wheel.read(f"sqlite_counter-{VERSION}.dist-info/WHEEL").decode()
        folder = others.get(tag, HERE)
        library = "counter.dll" if folder.startswith("windows") else "counter.so"
        assert wheel.read(f"sqlite_counter/{library}") == (all_libs / folder / library).read_bytes()
        program = f"sqlite_counter-{VERSION}.data/scripts/sqlite-counter"
        if folder.startswith("windows"):
            assert program not in wheel.namelist()
        else:
            assert wheel.read(program) == (all_libs / folder / "sqlite-counter").read_bytes()
            assert wheel.getinfo(program).external_attr >> 16 == 0o100755


@pytest.mark.skipif(not shutil.which("objdump"), reason="no objdump")
def test_the_tag_names_the_newest_version_of_glibc_that_the_library_or_the_program_asks_for(wheel):
    asked = re.findall(r"\(?GLIBC_2\.(\d+)", run("objdump", "-T", LIBRARY, PROGRAM))
    assert f"-manylinux_2_{max(17, *map(int, asked))}_" in wheel.name


def test_the_record_tells_of_each_file(wheel):
    with zipfile.ZipFile(wheel) as opened:
        names = opened.namelist()
        record = f"sqlite_counter-{VERSION}.dist-info/RECORD"
        lines = list(csv.reader(io.StringIO(opened.read(record).decode())))
        assert [line[0] for line in lines] == names and lines[-1] == [record, "", ""]
        for name, digest, size in lines[:-1]:
            content = opened.read(name)
            assert digest == "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(content).digest()).decode().rstrip("=")
            assert int(size) == len(content)


def test_pip_installs_the_wheel(wheel, tmp_path):
    need("pip")
    run(PYTHON, "-m", "pip", "install", "-q", "--no-index", "--no-cache-dir", "--disable-pip-version-check",
        "--root-user-action=ignore", "--target", tmp_path / "target", wheel)
    assert python(tmp_path / "target", tmp_path, "-c", program("""
        import importlib.metadata, sqlite3, sqlite_counter
        db = sqlite3.connect(":memory:")
        sqlite_counter.load(db)
        print(importlib.metadata.version("sqlite-counter"), sqlite_counter.__version__, db.execute("SELECT counter_version()").fetchone()[0])
        """)) == f"{VERSION} {VERSION} {VERSION}\n"


def test_pip_puts_the_program_beside_python(wheel, tmp_path):
    need("pip, venv")
    run(PYTHON, "-m", "venv", "--without-pip", tmp_path / "venv")
    run(PYTHON, "-m", "pip", "--python", tmp_path / "venv", "install", "-q", "--no-index", "--no-cache-dir", "--disable-pip-version-check",
        wheel)
    check_program(tmp_path / "venv" / "bin" / "sqlite-counter", cwd=tmp_path)


# ---- loading ----

CONNECT = {
    "sqlite3": "import sqlite3; connect = lambda file: sqlite3.connect(file, isolation_level=None)",
    "apsw": "import apsw; connect = apsw.Connection",
}
MERGE = """
import sqlite_counter
def open(file):
    db = connect(file)
    sqlite_counter.load(db)
    sqlite_counter.load(db)
    return lambda sql, *values: list(db.cursor().execute(sql, values))
till = open("till.db")
till("CREATE TABLE products(sku TEXT PRIMARY KEY, stock INTEGER NOT NULL DEFAULT 0)")
till("INSERT INTO products VALUES ('tea', 10)")
till("SELECT counter_track('products', 'stock')")
till("VACUUM INTO 'office.db'")
office = open("office.db")
till("UPDATE products SET stock = stock - ?", 1)
office("UPDATE products SET stock = stock + ?", 20)
till("SELECT * FROM counter_sync('office.db')")
print(till("SELECT stock FROM products"), office("SELECT stock FROM products"))
try:
    till("SELECT load_extension('nowhere')")
except Exception as error:
    print(str(error).removeprefix("SQLError: "))
"""


@pytest.mark.parametrize("driver", CONNECT)
def test_two_files_count_and_merge_and_sql_cannot_load_extensions(installed, tmp_path, driver):
    need(driver)
    assert python(installed, tmp_path, "-c", CONNECT[driver] + MERGE) == "[(29,)] [(29,)]\nnot authorized\n"


def blocks(path, language="python"):
    return re.findall(rf"^```{language}\n(.*?)^```$", path.read_text(), re.M | re.S)


def test_the_program_of_the_packages_readme_counts(installed, tmp_path):
    text, = blocks(ROOT / "packages" / "python" / "README.md")
    assert "/mnt/office.db" in text
    text = text.replace("/mnt", str(tmp_path))
    assert "database file that can be opened" in python(installed, tmp_path, "-c", text, ok=False)
    shutil.copy(tmp_path / "till.db", tmp_path / "office.db")
    python(installed, tmp_path, "-c", text)


def test_the_session_of_the_packages_readme_prints_what_is_shown(installed, tmp_path):
    if not shutil.which("gunicorn"):
        pytest.skip("no gunicorn")
    steps = []
    for line in "".join(blocks(ROOT / "packages" / "python" / "README.md", "console")).splitlines():
        if line.startswith("$ "):
            steps.append([line[2:], ""])
        else:
            steps[-1][0 if line.startswith("> ") else 1] += f"\n{line[2:]}" if line.startswith("> ") else f"{line}\n"
    env = {**CLEAN, "PATH": f"{tmp_path}/bin:{CLEAN['PATH']}", "PYTHONPATH": str(installed), "PYTHONDONTWRITEBYTECODE": "1"}
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python3").symlink_to(PYTHON)
    for command, shown in steps:
        assert run("sh", "-c", command, cwd=tmp_path, env=env) == shown, command


def test_the_program_of_the_page_on_languages_counts(installed, tmp_path):
    text, = [block for block in blocks(ROOT / "docs" / "languages.md") if "sqlite_counter.load(db)" in block]
    assert python(installed, tmp_path, "-c", text) == re.search(r"  # (.*\n)\Z", text)[1]


# ---- what cannot work ----

def error(installed, folder, text):
    return python(installed, folder, "-c", program(text), ok=False).splitlines()[-1]


def test_a_python_without_extension_loading_is_told_which_have_it(installed, tmp_path):
    assert error(installed, tmp_path, """
        import sqlite_counter
        class Connection: pass
        Connection.__module__ = "sqlite3"
        sqlite_counter.load(type("MyConnection", (Connection,), {})())
        """) == ("RuntimeError: sqlite_counter: the sqlite3 module of this Python was built without loading of extensions; use a "
                 "Python that has it, such as Homebrew's, conda's or Debian's, or the package apsw")


def test_what_is_no_connection_is_named(installed, tmp_path):
    for given, name in ("'main.db'", "str"), ("sqlite3.connect(':memory:').cursor()", "sqlite3.Cursor; its attribute connection is one"):
        assert error(installed, tmp_path, f"import sqlite3, sqlite_counter; sqlite_counter.load({given})") == (
            f"TypeError: sqlite_counter: load() takes a connection of sqlite3 or apsw, not {name}")


def test_a_connection_of_sqlalchemy_is_told_where_its_own_is(installed, tmp_path):
    need("sqlalchemy")
    of_engine = "import sqlalchemy, sqlite_counter; db = sqlalchemy.create_engine('sqlite://').connect(); sqlite_counter.load("
    assert error(installed, tmp_path, of_engine + "db)") == (
        "TypeError: sqlite_counter: load() takes a connection of sqlite3 or apsw, not sqlalchemy.engine.base.Connection; its attribute "
        "connection is one")
    assert python(installed, tmp_path, "-c", of_engine + "db.connection); print(db.execute(sqlalchemy.text('SELECT counter_version()')).scalar())"
                  ) == f"{VERSION}\n"


def test_an_installation_without_a_library_says_so_and_leaves_loading_disabled(installed, tmp_path):
    package = tmp_path / "without"
    shutil.copytree(installed, package)
    (package / "sqlite_counter" / "counter.so").unlink()
    said = error(package, tmp_path, """
        import platform, sqlite3, sqlite_counter
        platform.machine = lambda: "riscv64"
        db = sqlite3.connect(":memory:")
        try:
            sqlite_counter.load(db)
        finally:
            try:
                db.execute("SELECT load_extension('nowhere')")
            except sqlite3.Error as error:
                assert str(error) == "not authorized"
        """)
    assert said == (f"FileNotFoundError: sqlite_counter: {package}/sqlite_counter/counter.so is missing; install the wheel for Linux on "
                    "riscv64 again or, if there is none, build the library from source and give its path to load_extension()")


def test_an_error_of_the_library_is_passed_on_and_loading_disabled(installed, tmp_path):
    package = tmp_path / "broken"
    shutil.copytree(installed, package)
    (package / "sqlite_counter" / "counter.so").write_bytes(b"no library")
    assert python(package, tmp_path, "-c", program("""
        import sqlite3, sqlite_counter
        db = sqlite3.connect(":memory:")
        for call in lambda: sqlite_counter.load(db), lambda: db.execute("SELECT load_extension('nowhere')"):
            try:
                call()
            except sqlite3.OperationalError as error:
                print(error)
        """)).endswith("not authorized\n")


def test_two_copies_of_the_package_count_in_one_process(installed, tmp_path):
    """On one connection, and on several of one file in threads."""
    shutil.copytree(installed / "sqlite_counter", tmp_path / "copy" / "vendored")
    assert python(installed, tmp_path, "-c", program("""
        import sqlite3, sqlite_counter, threading, vendored
        assert sqlite_counter.loadable_path() != vendored.loadable_path()
        def open(*packages):
            db = sqlite3.connect("main.db", isolation_level=None, timeout=60, check_same_thread=False)
            for package in packages:
                package.load(db)
            return db
        dbs = open(sqlite_counter), open(vendored), open(sqlite_counter, vendored), open(vendored, sqlite_counter)
        dbs[0].execute("CREATE VIRTUAL TABLE t USING counter(k PRIMARY KEY, n COUNTER)")
        def count(db):
            for _ in range(50):
                db.execute("INSERT INTO t VALUES ('x', 1)")
        threads = [threading.Thread(target=count, args=[db]) for db in dbs]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
        print([db.execute("SELECT n FROM t").fetchone() for db in dbs], dbs[0].execute("SELECT count(*) FROM counter_ids('t')").fetchone())
        """), path=[tmp_path / "copy"]) == "[(200,), (200,), (200,), (200,)] (1,)\n"


# ---- Django ----

SETTINGS = """
SECRET_KEY = "-"
USE_TZ = True
DEFAULT_AUTO_FIELD = "django.db.models.AutoField"
DATABASES = {"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": "till.db"}}
INSTALLED_APPS = ["sqlite_counter.django", "shop"]
"""
MODELS = """
from django.db import models

class Product(models.Model):
    sku = models.CharField(max_length=40, primary_key=True)
    name = models.CharField(max_length=40)
    shop = models.CharField(max_length=40, default="here")
    stock = models.IntegerField(default=0)
    sold = models.IntegerField(default=0, db_column="n sold")

    class Meta:
        unique_together = [("shop", "name")]
"""
SHOW = """
import django; django.setup()
from django.db import connection
from shop.models import Product
def rows(sql, *values):
    with connection.cursor() as cursor:
        cursor.execute(sql, values)
        return cursor.fetchall()
"""


class Forks:
    """Commands of Python in processes of their own, which forks.py gives Django to begin with."""

    def __init__(self):
        modules = ["core.cache.backends.locmem", "db.backends.sqlite3.base", "db.migrations.writer", "db.models.sql.compiler", "views.csrf",
                   "views.debug"]
        for name in "check", "makemigrations", "migrate", "sqlmigrate", "squashmigrations":
            modules.append(f"core.management.commands.{name}")
        self.server = subprocess.Popen(
            [PYTHON, ROOT / "tests" / "packages" / "forks.py", *(f"django.{name}" for name in modules)],
            env=CLEAN, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def run(self, *command, folder, env, ok=True, show=None):
        with tempfile.TemporaryDirectory() as printed:
            files = [f"{printed}/stdout", f"{printed}/stderr"]
            asked = json.dumps([command, str(folder), env, *files, 120])
            print(asked, file=self.server.stdin, flush=True)
            status = int(self.server.stdout.readline())
            out, errors = (pathlib.Path(file).read_text() for file in files)
        assert (status == 0) == ok, f"{command}\n{out}{errors}"
        return {"stdout": out, "stderr": errors}[show or ("stdout" if ok else "stderr")]

    def close(self):
        self.server.stdin.close()
        assert self.server.wait() == 0


class Project:
    """A project with one app; each command is a process of its own."""

    def __init__(self, forks, installed, folder):
        self.forks, self.installed, self.folder = forks, installed, folder
        self.migrations = folder / "shop" / "migrations"
        self.migrations.mkdir(parents=True)
        for name, text in {"settings.py": SETTINGS, "shop/__init__.py": "", "shop/models.py": MODELS,
                           "shop/migrations/__init__.py": ""}.items():
            (folder / name).write_text(text)

    def __call__(self, *command, **options):
        return self.forks.run(*command, folder=self.folder, **options, env={
            **CLEAN, "PYTHONPATH": f"{self.installed}:{self.folder}", "DJANGO_SETTINGS_MODULE": "settings", "PYTHONDONTWRITEBYTECODE": "1"})

    def manage(self, *command, **options):
        return self("-m", "django", *command, **options)

    def model(self, old, new):
        models = self.folder / "shop" / "models.py"
        assert old in (text := models.read_text())
        models.write_text(text.replace(old, new))

    def migration(self, name, after, *operations):
        """Writes one, or what makemigrations finds behind these operations."""
        (self.migrations / f"{name}.py").write_text(f"""
from django.db import migrations, models
from sqlite_counter.django import ReplicateAll, ReplicateTable, TrackCounter, UnreplicateTable, UntrackCounter

class Migration(migrations.Migration):
    dependencies = [("shop", "{after}")]
    operations = [{", ".join(operations)}]
""")

    def rows(self, sql):
        """What another program reads or writes, which does not know of Django."""
        with contextlib.closing(sqlite3.connect(self.folder / "till.db", isolation_level=None)) as db:
            db.enable_load_extension(True)
            db.load_extension(str(LIBRARY))
            return db.execute(sql).fetchall()

    def by_hand(self, *what):
        """Runs what sqlmigrate prints, and notes the migration as done."""
        at = f"{int(what[-1]) - 1:04}" if "--backwards" in what else what[-1]
        return self("-c", SHOW + program(f"""
            from django.core.management import call_command
            printed = call_command("sqlmigrate", *{what!r})
            connection.ensure_connection()
            connection.connection.executescript(printed)
            call_command("migrate", "shop", {at!r}, verbosity=0, fake=True)
            """))

    def tracked(self):
        return self.rows("SELECT column_name, state FROM counter_tracked WHERE state IN ('tracked', 'broken') ORDER BY 1")


@pytest.fixture(scope="module")
def forks():
    need("django")
    yield (forks := Forks())
    forks.close()


@pytest.fixture(scope="module")
def initial_migration(forks, installed, tmp_path_factory):
    project = Project(forks, installed, tmp_path_factory.mktemp("initial"))
    project.manage("makemigrations", "-v0", "-n", "initial", "shop")
    return (project.migrations / "0001_initial.py").read_text()


@pytest.fixture
def project(forks, installed, initial_migration, tmp_path):
    project = Project(forks, installed, tmp_path)
    (project.migrations / "0001_initial.py").write_text(initial_migration)
    return project


def test_django_tracks_counts_rebuilds_and_untracks(project):
    project.migration("0002_tracking", "0001_initial", 'TrackCounter("Product", "stock")')
    project.manage("migrate", "-v0", "shop", "0001")
    project("-c", SHOW + "Product.objects.create(sku='tea', name='Tea', stock=10)")
    assert "Track stock of Product as a counter" in project.manage("migrate", "--plan")
    project.manage("migrate", "-v0")
    assert project.tracked() == [("stock", "tracked")]
    assert project("-c", SHOW + program("""
        import sqlite3, sqlite_counter
        from django.db.models import F
        rows("VACUUM INTO 'office.db'")
        office = sqlite3.connect("office.db", isolation_level=None)
        sqlite_counter.load(office)
        office.execute("UPDATE shop_product SET stock = stock + 20")
        Product.objects.update(stock=F("stock") - 1)
        rows("SELECT * FROM counter_sync('office.db')")
        print(Product.objects.get().stock, office.execute("SELECT stock FROM shop_product").fetchall())
        """)) == "29 [(29,)]\n"

    project.model("shop = models.CharField(max_length=40,", "shop = models.CharField(max_length=80, null=True,")
    project.manage("makemigrations", "-v0", "-n", "longer", "shop")
    project.manage("migrate", "-v0")
    assert project.tracked() == [("stock", "tracked")]
    project.manage("migrate", "-v0", "shop", "0002")
    assert project.tracked() == [("stock", "tracked")]
    project("-c", SHOW + "Product.objects.update(stock=7); rows(\"SELECT * FROM counter_sync('office.db')\")")
    project.manage("migrate", "-v0", "shop", "0001")
    assert project.tracked() == [] and project.rows("SELECT sku, stock FROM shop_product") == [("tea", 7)]
    project.manage("migrate", "-v0", "shop", "zero")
    assert project.rows("SELECT name FROM sqlite_schema WHERE name LIKE 'shop%'") == []


def test_the_only_column_beside_the_key_of_a_replicated_model_is_removed(project):
    project.manage("migrate", "-v0")
    project.migration("0002_tags", "0001_initial", "migrations.CreateModel('Tag', [('name', models.CharField(max_length=9, primary_key=True)), "
                      "('votes', models.IntegerField(default=0))])", "ReplicateTable('Tag', counters=['votes'])")
    project.migration("0003_none", "0002_tags", "UntrackCounter('Tag', 'votes')", "migrations.RemoveField('Tag', 'votes')")
    project.manage("migrate", "-v0")
    assert [name for _, name, *_ in project.rows("PRAGMA table_info(shop_tag)")] == ["name"]


def test_a_column_is_tracked_in_the_migration_that_makes_it_and_untracked_in_that_which_removes_it(project):
    initial = project.migrations / "0001_initial.py"
    initial.write_text("from sqlite_counter.django import TrackCounter\n" + re.sub(
        r"\n    \]\n\Z", '\n        TrackCounter("Product", "stock"),\n        TrackCounter("product", "sold"),\n    ]\n',
        initial.read_text()))
    project.manage("migrate", "-v0")
    assert project.tracked() == [("n sold", "tracked"), ("stock", "tracked")]
    assert "unique" in str(project.rows("SELECT sql FROM sqlite_schema WHERE tbl_name = 'shop_product'")).lower()
    project("-c", SHOW + "Product.objects.create(sku='tea', name='Tea', stock=10, sold=5)")

    project.migration("0002_less", "0001_initial", "UntrackCounter('Product', 'sold')", "migrations.RemoveField('Product', 'sold')")
    project.model("sold = ", "# sold = ")
    project.manage("migrate", "-v0")
    assert project.tracked() == [("stock", "tracked")]
    project.migration("0003_none", "0002_less", "UntrackCounter('Product', 'stock')", "migrations.RemoveField('Product', 'stock')")
    project.model("stock = ", "# stock = ")
    project.manage("migrate", "-v0")
    assert project.tracked() == []
    project.manage("migrate", "-v0", "shop", "0001")
    assert project.tracked() == [("n sold", "tracked"), ("stock", "tracked")]
    assert project.rows('SELECT sku, stock, "n sold" FROM shop_product') == [("tea", 0, 0)]
    project.manage("migrate", "-v0", "shop", "zero")


def test_what_is_rebuilt_and_then_renamed_in_one_go_stays_tracked(project):
    """As in each new file, where all migrations run at once."""
    project.migration("0002_track", "0001_initial", "TrackCounter('Product', 'stock')", "TrackCounter('Product', 'sold')")
    project.migration("0003_change", "0002_track", *[f"migrations.{operation}" for operation in (
        "AlterField('Product', 'stock', models.BigIntegerField(default=0))", "RenameField('Product', 'stock', 'count')",
        "AlterField('Product', 'count', models.IntegerField(default=1))", "RenameModel('Product', 'Item')",
        "AlterUniqueTogether('Item', set())", "AddField('Item', 'at', models.DateField(null=True))",
        "AddField('Item', 'price', models.FloatField(default=1.5))", "RemoveField('Item', 'shop')")])
    project.manage("migrate", "-v0")
    assert project.tracked() == [("count", "tracked"), ("n sold", "tracked")]
    project.rows("INSERT INTO shop_item(sku, name, count, \"n sold\", price) VALUES ('tea', 'Tea', 3, 4, 1)")
    project.manage("migrate", "-v0", "shop", "0002")
    assert project.tracked() == [("n sold", "tracked"), ("stock", "tracked")]
    assert project.rows('SELECT stock, "n sold" FROM shop_product') == project.rows(
        'SELECT stock, "n sold" FROM shop_product_counters') == [(3, 4)]


@pytest.mark.parametrize("operation", ["RemoveField('Product', 'sold')", "DeleteModel('Product')"])
def test_a_migration_that_removes_a_tracked_column_changes_nothing_and_says_what_to_write(project, operation):
    project.migration("0002_track", "0001_initial", "TrackCounter('Product', 'sold')")
    project.manage("migrate", "-v0")
    project.migration("0003_remove", "0002_track", f"migrations.{operation}")
    assert project.manage("migrate", "-v0", ok=False).splitlines()[-1] == (
        "django.db.utils.NotSupportedError: sqlite_counter: the column n sold of shop_product is tracked; put "
        'UntrackCounter("Product", "sold") before this operation')
    assert project.tracked() == [("n sold", "tracked")]
    project.migration("0003_remove", "0002_track", "UntrackCounter('Product', 'sold')", f"migrations.{operation}")
    project.manage("migrate", "-v0")
    project.manage("migrate", "-v0", "shop", "0002")
    assert project.tracked() == [("n sold", "tracked")]
    printed = project.manage("sqlmigrate", "shop", "0003")
    assert "SELECT counter_untrack('main.shop_product');" in printed and 'DROP TABLE "shop_product";' in printed
    assert ("INSERT INTO" in printed) == operation.startswith("RemoveField")


def statements(printed):
    """Those of ours in what sqlmigrate prints."""
    return [line for line in printed.splitlines() if "counter_" in line]


@pytest.mark.long
def test_what_sqlmigrate_prints_untracks_one_column_of_several(project):
    """Whether the database is at that migration or not."""
    project.migration("0002_track", "0001_initial", "TrackCounter('Product', 'stock')")
    project.migration("0003_another", "0002_track", "TrackCounter('product', 'sold')")
    project.migration("0004_one_less", "0003_another", "UntrackCounter('Product', 'stock')", "UntrackCounter('Product', 'sold')")
    for _ in "before", "after":
        assert statements(project.manage("sqlmigrate", "--backwards", "shop", "0003")) == [
            "SELECT counter_untrack('main.shop_product', 'n sold');"]
        assert statements(project.manage("sqlmigrate", "--backwards", "shop", "0002")) == [
            "SELECT counter_untrack('main.shop_product');"]
        assert statements(project.manage("sqlmigrate", "shop", "0004")) == [
            "SELECT counter_untrack('main.shop_product', 'stock');", "SELECT counter_untrack('main.shop_product');"]
        assert statements(project.manage("sqlmigrate", "--backwards", "shop", "0004")) == [
            "SELECT counter_track('main.shop_product', 'n sold');", "SELECT counter_track('main.shop_product', 'stock');"]
        project.manage("migrate", "-v0")
    project.manage("migrate", "-v0", "shop", "0003")
    project.by_hand("--backwards", "shop", "0003")
    assert project.tracked() == [("stock", "tracked")]


@pytest.mark.long
def test_what_sqlmigrate_prints_tracks_a_table_again_as_migrate_does(project):
    """Rebuilt, renamed in place and indexed anew; each printed statement is run on a database at that migration."""
    project.migration("0002_track", "0001_initial", "TrackCounter('Product', 'stock')", "TrackCounter('Product', 'sold')")
    project.migration("0003_change", "0002_track", *[f"migrations.{operation}" for operation in (
        "AddField('Product', 'at', models.DateField(null=True))", "AlterField('Product', 'name', models.CharField(max_length=90))",
        "RenameField('Product', 'stock', 'count')", "AlterField('Product', 'count', models.BigIntegerField(default=0))",
        "AlterUniqueTogether('Product', set())", "RenameModel('Product', 'Item')")])
    project.migration("0004_less", "0003_change", "UntrackCounter('Item', 'sold')", "migrations.RemoveField('Item', 'sold')")
    project.manage("migrate", "-v0", "shop", "0001")
    for name in "0002", "0003", "0004":
        printed = statements(project.by_hand("shop", name))
        if name == "0003":
            assert printed[:3] == ["SELECT counter_track('main.shop_product');"] * 3
        assert project.tracked() == [
            [("n sold", "tracked"), ("stock", "tracked")], [("count", "tracked"), ("n sold", "tracked")], [("count", "tracked")],
        ][int(name) - 2]
    for name in "0004", "0003", "0002":
        project.by_hand("--backwards", "shop", name)
    assert project.tracked() == []


@pytest.mark.long
def test_what_sqlmigrate_prints_of_a_table_that_is_made_and_tracked_at_once(project):
    initial = project.migrations / "0001_initial.py"
    initial.write_text("from sqlite_counter.django import TrackCounter\n" + re.sub(
        r"\n    \]\n\Z", '\n        TrackCounter("Product", "stock"),\n    ]\n', initial.read_text()))
    project.by_hand("shop", "0001")
    assert project.tracked() == [("stock", "tracked")]


@pytest.mark.parametrize("kind", ["CharField(max_length=9)", "FloatField()"])
def test_a_tracked_column_that_is_altered_to_hold_no_integers_is_told_what_to_write(project, kind):
    project.migration("0002_track", "0001_initial", "TrackCounter('Product', 'stock')")
    project.migration("0003_alter", "0002_track", f"migrations.AlterField('Product', 'stock', models.{kind})")
    assert project.manage("migrate", "-v0", ok=False).splitlines()[-1] == (
        f"django.db.utils.NotSupportedError: sqlite_counter: the column stock of shop_product is tracked, and {kind.split('(')[0]} is "
        'not for integers; put UntrackCounter("Product", "stock") before this operation')
    project.migration("0003_alter", "0002_track", "UntrackCounter('Product', 'stock')",
                      f"migrations.AlterField('Product', 'stock', models.{kind})")
    project.manage("migrate", "-v0")
    assert project.tracked() == []


def test_names_may_differ_in_case_from_those_in_the_database(project):
    """SQLite takes them for the same, but for letters beyond ASCII."""
    project.migration("0002_track", "0001_initial", "TrackCounter('Product', 'stock')", "TrackCounter('Product', 'sold')")
    project.manage("migrate", "-v0")
    initial = project.migrations / "0001_initial.py"
    initial.write_text(initial.read_text().replace("'n sold'", "'N SOLD'").replace(
        "'unique_together'", "'db_table': 'Shop_PRODUCT', 'unique_together'"))
    assert "Shop_PRODUCT" in initial.read_text() and "N SOLD" in initial.read_text()
    project.migration("0003_remove", "0002_track", "migrations.RemoveField('Product', 'sold')")
    assert "NotSupportedError: sqlite_counter: the column N SOLD of Shop_PRODUCT is tracked" in project.manage("migrate", "-v0", ok=False)
    project.migration("0003_remove", "0002_track", "UntrackCounter('Product', 'sold')", "migrations.RemoveField('Product', 'sold')")
    project.manage("migrate", "-v0")
    assert project.tracked() == [("stock", "tracked")]
    project.migration("0004_again", "0003_remove", "TrackCounter('Product', 'stock')", "UntrackCounter('Product', 'stock')")
    project.manage("migrate", "-v0")
    assert project.tracked() == []


def test_the_first_schema_editor_of_a_connection_is_ours_in_each_thread(project):
    project.migration("0002_track", "0001_initial", "TrackCounter('Product', 'stock')")
    project.manage("migrate", "-v0")
    assert project("-c", program("""
        import django; django.setup()
        import threading
        from django.db import connection
        from shop.models import Product
        def remove():
            try:
                with connection.schema_editor() as editor:
                    editor.remove_field(Product, Product._meta.get_field("stock"))
            except Exception as error:
                print(type(error).__name__)
            connection.close()
        remove()
        thread = threading.Thread(target=remove)
        thread.start()
        thread.join()
        """)) == "NotSupportedError\nNotSupportedError\n"


def test_a_schema_editor_that_cannot_begin_leaves_no_transaction_open(project):
    assert project("-c", SHOW + program("""
        from sqlite_counter.django import schema
        def broken(editor):
            raise RuntimeError("broken")
        schema.broken_tables = broken
        try:
            with connection.schema_editor():
                print("entered")
        except RuntimeError as error:
            print(error, connection.in_atomic_block)
        """)) == "broken False\n"


@pytest.mark.parametrize("given, what", [("'Product', ['stock']", "field, not ['stock']"), ("('Product',), 'stock'", "model, not ('Product',)")])
def test_an_operation_takes_one_name(project, given, what):
    project.migration("0002_track", "0001_initial", f"TrackCounter({given})")
    assert project.manage("migrate", "-v0", ok=False).splitlines()[-1] == (
        f"TypeError: sqlite_counter: TrackCounter takes the name of one {what}; write an operation for each field")


@pytest.mark.parametrize("keys", ["given", True, ""])
def test_an_operation_takes_one_word_about_keys(project, keys):
    project.migration("0002_track", "0001_initial", f"TrackCounter('Product', 'stock', keys={keys!r})")
    assert project.manage("migrate", "-v0", ok=False).splitlines()[-1] == (
        f'TypeError: sqlite_counter: TrackCounter takes keys="assigned" or no keys, not {keys!r}')


@pytest.mark.parametrize("values", ["newest", True, ""])
def test_an_operation_takes_one_word_about_values_that_counted_before(project, values):
    project.migration("0002_track", "0001_initial", f"TrackCounter('Product', 'stock', values={values!r})")
    assert project.manage("migrate", "-v0", ok=False).splitlines()[-1] == (
        f'TypeError: sqlite_counter: TrackCounter takes values="again" or no values, not {values!r}')


def test_a_migration_that_is_reversed_and_run_again_does_not_count_values_twice_unasked(project):
    project.migration("0002_track", "0001_initial", "TrackCounter('Product', 'stock', opening='same')")
    project.manage("migrate", "-v0")
    project("-c", SHOW + "Product.objects.create(sku='tea', name='Tea', stock=10)")
    project.manage("migrate", "-v0", "shop", "0001")
    assert "shop_product: stock was tracked in this file before, and the values in 1 of its rows would be counted again" in (
        project.manage("migrate", "-v0", ok=False))
    assert project.tracked() == [] and project.rows("SELECT stock FROM shop_product") == [(10,)]
    project.migration("0002_track", "0001_initial", "TrackCounter('Product', 'stock', opening='same', values='again')")
    project.manage("migrate", "-v0")
    assert project.tracked() == [("stock", "tracked")] and project.rows("SELECT stock FROM shop_product") == [(10,)]


@pytest.mark.parametrize("opening", ["both", True, ""])
def test_an_operation_takes_one_word_about_opening_values(project, opening):
    project.migration("0002_track", "0001_initial", f"TrackCounter('Product', 'stock', opening={opening!r})")
    assert project.manage("migrate", "-v0", ok=False).splitlines()[-1] == (
        f'TypeError: sqlite_counter: TrackCounter takes opening="same", opening="add" or no opening, not {opening!r}')


@pytest.mark.long
def test_a_migration_that_runs_on_every_device_says_that_their_values_are_one(project):
    project.migration("0002_track", "0001_initial", "TrackCounter('Product', 'stock', opening='same')", "TrackCounter('Product', 'sold')")
    project.migration("0003_untrack", "0002_track", "UntrackCounter('Product', 'stock', values='again')",
                      "UntrackCounter('Product', 'sold')")
    project.manage("migrate", "-v0", "shop", "0001")
    project("-c", SHOW + "Product.objects.create(sku='tea', name='Tea', stock=10)")
    shutil.copy(project.folder / "till.db", project.folder / "before.db")
    project.rows("SELECT counter_track('shop_product', 'stock', 'opening=same')")
    project.rows("UPDATE shop_product SET stock = stock + 20")
    shutil.move(project.folder / "till.db", project.folder / "office.db")
    shutil.move(project.folder / "before.db", project.folder / "till.db")
    project.manage("migrate", "-v0", "shop", "0002")
    project("-c", SHOW + "rows(\"SELECT * FROM counter_pull('office.db')\")")
    assert project.rows("SELECT stock FROM shop_product") == [(30,)]
    for name in "0003", "0002":
        project.manage("migrate", "-v0", "shop", name)
    assert project.tracked() == [("n sold", "tracked"), ("stock", "tracked")]
    assert "SELECT counter_track('main.shop_product', 'stock', 'opening=same');" in project.manage("sqlmigrate", "shop", "0002")
    backwards = project.manage("sqlmigrate", "--backwards", "shop", "0003")
    assert "SELECT counter_track('main.shop_product', 'stock', 'opening=same', 'values=again');" in backwards
    assert "SELECT counter_track('main.shop_product', 'n sold');" in backwards
    assert "No changes detected" in project.manage("makemigrations", "--check", "--dry-run", "shop")


# ---- Django, replicated tables ----

OFFICE = """
import sqlite3, sqlite_counter
office = sqlite3.connect("office.db", isolation_level=None)
sqlite_counter.load(office)
"""
STOCK = 'ReplicateTable("Product", counters=["stock"])'


def test_django_replicates_rows_through_migrations_of_all_kinds(project):
    """Rebuilt, renamed in place, with columns that come and go; the other file runs the same migrations."""
    project.migration("0002_replicate", "0001_initial", STOCK)
    project.manage("migrate", "-v0", "shop", "0001")
    project("-c", SHOW + "Product.objects.create(sku='tea', name='Tea', stock=10)")
    assert "Replicate Product with the counters stock" in project.manage("migrate", "--plan")
    project.manage("migrate", "-v0")
    assert project.tracked() == [("stock", "tracked")]
    shutil.copy(project.folder / "till.db", project.folder / "office.db")
    assert project("-c", SHOW + OFFICE + program("""
        from django.db.models import F
        office.execute("UPDATE shop_product SET stock = stock + 20, name = 'Green tea'")
        office.execute("INSERT INTO shop_product(sku, name, shop, stock, \\"n sold\\") VALUES ('jam', 'Jam', 'there', 5, 2)")
        Product.objects.filter(sku="tea").update(stock=F("stock") - 1, sold=1)
        rows("SELECT * FROM counter_sync('office.db')")
        print(rows("SELECT * FROM shop_product ORDER BY sku") == office.execute("SELECT * FROM shop_product ORDER BY sku").fetchall())
        print([(p.sku, p.name, p.shop, p.stock, p.sold) for p in Product.objects.order_by("sku")])
        """)) == "True\n[('jam', 'Jam', 'there', 5, 2), ('tea', 'Green tea', 'here', 29, 1)]\n"

    project.migration("0003_change", "0002_replicate", *[f"migrations.{operation}" for operation in (
        "AddField('Product', 'at', models.DateField(null=True))", "AddField('Product', 'price', models.FloatField(default=1.5))",
        "AlterField('Product', 'name', models.CharField(max_length=90))", "RenameField('Product', 'stock', 'count')",
        "RenameField('Product', 'name', 'title')", "RemoveField('Product', 'sold')", "RenameModel('Product', 'Item')")])
    columns = project.folder / "columns.db"
    for name in "till.db", "office.db":
        if name == "office.db":
            shutil.move(project.folder / "till.db", columns)
            shutil.move(project.folder / "office.db", project.folder / "till.db")
        project.manage("migrate", "-v0")
        assert project.tracked() == [("count", "tracked")]
    shutil.move(project.folder / "till.db", project.folder / "office.db")
    shutil.move(columns, project.folder / "till.db")
    office = OFFICE + "merge = lambda: rows(\"SELECT * FROM counter_sync('office.db')\")\n"
    assert project("-c", SHOW.replace("from shop.models import Product\n", "") + office + program("""
        rows("UPDATE shop_item SET price = 4.5, title = 'Black tea' WHERE sku = 'tea'")
        office.execute("UPDATE shop_item SET at = '2026-11-24', count = count + 1 WHERE sku = 'tea'")
        merge()
        for found in rows("SELECT sku, title, price, at, count FROM shop_item ORDER BY sku"), office.execute(
                "SELECT sku, title, price, at, count FROM shop_item ORDER BY sku").fetchall():
            print([tuple(map(str, row)) for row in found])
        """)) == 2 * "[('jam', 'Jam', '1.5', 'None', '5'), ('tea', 'Black tea', '4.5', '2026-11-24', '30')]\n"
    project.manage("migrate", "-v0", "shop", "0002")
    assert project.tracked() == [("stock", "tracked")]


def test_a_table_without_counters_is_replicated_and_no_longer(project):
    project.migration("0002_replicate", "0001_initial", "ReplicateTable('Product')")
    project.migration("0003_field", "0002_replicate", "migrations.AddField('Product', 'price', models.FloatField(default=1.5))")
    project.migration("0004_end", "0003_field", "UnreplicateTable('Product')", "migrations.DeleteModel('Product')")
    project.manage("migrate", "-v0", "shop", "0003")
    shutil.copy(project.folder / "till.db", project.folder / "office.db")
    project.rows("INSERT INTO shop_product(sku, name, shop, stock, \"n sold\", price) VALUES ('tea', 'Tea', 'here', 3, 4, 2.5)")
    project("-c", SHOW + "rows(\"SELECT * FROM counter_sync('office.db')\")")
    assert project("-c", SHOW + OFFICE + "print(office.execute('SELECT name, stock, price FROM shop_product').fetchall())") == "[('Tea', 3, 2.5)]\n"
    project.manage("migrate", "-v0", "shop", "0004")
    assert project.rows("SELECT name FROM sqlite_schema WHERE name LIKE 'shop%'") == []
    project.manage("migrate", "-v0", "shop", "0003")
    assert len(project.rows("SELECT 1 FROM sqlite_schema WHERE name = 'shop_product_counters'")) == 1
    project.manage("migrate", "-v0", "shop", "0001")
    assert project.rows("SELECT name FROM sqlite_schema WHERE name LIKE 'shop_product_counters%'") == []


def test_a_tracked_table_becomes_a_replicated_one_and_does_not_go_back(project):
    project.migration("0002_track", "0001_initial", "TrackCounter('Product', 'stock')", "TrackCounter('Product', 'sold')")
    project.migration("0003_replicate", "0002_track", "ReplicateTable('Product', counters=['sold'])")
    project.manage("migrate", "-v0")
    assert project.tracked() == [("n sold", "tracked"), ("stock", "tracked")]
    project.rows("INSERT INTO shop_product(sku, name, shop, stock, \"n sold\") VALUES ('tea', 'Tea', 'here', 3, 4)")
    assert project.manage("migrate", "-v0", "shop", "0002", ok=False).splitlines()[-1] == (
        "django.db.utils.NotSupportedError: sqlite_counter: shop_product was tracked before it was replicated, and cannot be tracked as "
        "it was; restore a backup of the file")
    project.migration("0004_less", "0003_replicate", "UntrackCounter('Product', 'sold')", "migrations.RemoveField('Product', 'sold')")
    project.manage("migrate", "-v0")
    assert project.tracked() == [("stock", "tracked")]
    assert len(project.rows("SELECT 1 FROM sqlite_schema WHERE name = 'shop_product_counters_row'")) == 1
    assert statements(project.manage("sqlmigrate", "shop", "0004")).count("SELECT counter_untrack('main.shop_product', 'n sold');") == 1


@pytest.mark.long
def test_what_sqlmigrate_prints_replicates_as_migrate_does(project):
    project.migration("0002_replicate", "0001_initial", 'ReplicateTable("Product", ["stock"], opening="same")')
    project.migration("0003_change", "0002_replicate", "migrations.AddField('Product', 'at', models.DateField(null=True))",
                      "migrations.RemoveField('Product', 'sold')")
    project.migration("0004_end", "0003_change", "UnreplicateTable('Product', values='again')")
    project.manage("migrate", "-v0", "shop", "0001")
    assert statements(project.by_hand("shop", "0002")) == ["SELECT counter_replicate('main.shop_product', 'stock', 'opening=same');"]
    printed = statements(project.by_hand("shop", "0003"))
    assert printed[0] == "SELECT counter_replicate('main.shop_product');" and "SELECT counter_untrack('main.shop_product', 'n sold');" in printed
    assert project.tracked() == [("stock", "tracked")]
    assert statements(project.by_hand("shop", "0004")) == ["SELECT counter_untrack('main.shop_product');"]
    assert project.tracked() == []
    assert statements(project.by_hand("--backwards", "shop", "0004")) == [
        "SELECT counter_replicate('main.shop_product', 'stock', 'opening=same', 'values=again');"]
    assert project.tracked() == [("stock", "tracked")]


def test_a_migration_that_removes_a_replicated_table_says_what_to_write(project):
    project.migration("0002_replicate", "0001_initial", "ReplicateTable('Product')")
    project.migration("0003_remove", "0002_replicate", "migrations.DeleteModel('Product')")
    assert project.manage("migrate", "-v0", ok=False).splitlines()[-1] == (
        "django.db.utils.NotSupportedError: sqlite_counter: the table shop_product is replicated; put "
        'UnreplicateTable("Product") before this operation')


@pytest.mark.parametrize("given, said", [
    ("['Product']", "one model, not ['Product']; write an operation for each model"),
    ("'Product', 'stock'", "a list of the names of fields, such as counters=[\"stock\"], not 'stock'"),
    ("'Product', keys='given'", "keys=\"assigned\" or no keys, not 'given'")])
def test_a_replication_with_other_arguments_is_told_what_it_takes(project, given, said):
    project.migration("0002_replicate", "0001_initial", f"ReplicateTable({given})")
    told = project.manage("migrate", "-v0", ok=False).splitlines()[-1]
    assert told.startswith("TypeError: sqlite_counter: ReplicateTable takes ") and told.endswith(said.removeprefix("one model").removeprefix("a list"))


def test_a_replicated_model_whose_keys_are_given_out_by_each_file_is_warned_of(project):
    project.migration("0002_replicate", "0001_initial", "ReplicateTable('Product')")
    project.model("sku = models.CharField(max_length=40, primary_key=True)", "sku = models.CharField(max_length=40)")
    assert "Product is replicated, and its key is AutoField: two files give the same number to different rows, and a merge makes one row of " \
        'theirs.\n\tHINT: Give the model a natural key or a UUIDField with primary_key=True. If only one file makes rows, or you assign ' \
        'keys that no two files share, write ReplicateTable(..., keys="assigned").\n' in project.manage("check", show="stderr")
    project.migration("0002_replicate", "0001_initial", "ReplicateTable('Product', keys='assigned')")
    assert "W001" not in project.manage("check", show="stderr")


def test_a_replicated_model_whose_references_do_not_travel_is_warned_of(project):
    models = project.folder / "shop" / "models.py"
    models.write_text(models.read_text() + program("""
        class Shelf(models.Model):
            name = models.CharField(max_length=9, primary_key=True)

        class Person(models.Model):
            mail = models.CharField(max_length=9, unique=True)

        class Sale(models.Model):
            name = models.CharField(max_length=9, primary_key=True)
            shelf = models.ForeignKey(Shelf, models.CASCADE)
            person = models.ForeignKey(Person, models.CASCADE, related_name="+")
            mail = models.ForeignKey(Person, models.CASCADE, to_field="mail", related_name="+")
            before = models.ForeignKey("self", models.CASCADE, null=True)
            people = models.ManyToManyField(Person)
        """))
    project.manage("makemigrations", "-v0", "-n", "sales", "shop")
    project.migration("0003_replicate", "0002_sales", "ReplicateTable('Sale')")
    said = project.manage("check", show="stderr")
    assert said.count("W002") == 4 and "W003" not in said
    for field, parent in [("shelf", "Shelf"), ("person", "Person"), ("mail", "Person")]:
        assert f"shop.Sale: (sqlite_counter.W002) Sale.{field} refers to {parent}, which is not replicated: rows of other files may " \
            f'have no parent here.\n\tHINT: Write ReplicateTable("{parent}") in a migration' in said
    assert 'Sale.people refers to Person, which is not replicated: rows of other files may have no parent here.\n\tHINT: Write ' \
        'ReplicateTable("Person") in a migration' in said
    project.migration("0003_replicate", "0002_sales", "ReplicateTable('Sale')", "ReplicateTable('Shelf')",
                      "ReplicateTable('Person', keys='assigned')")
    said = project.manage("check", show="stderr")
    assert "W002" not in said and said.count("W003") == 1
    assert "shop.Sale: (sqlite_counter.W003) Sale.person refers to Person, whose key is AutoField: where two files gave one number, its " \
        "rows have another parent.\n\tHINT: Give Person a natural key" in said
    project.migration("0003_replicate", "0002_sales", "ReplicateTable('Sale')", "ReplicateTable('Shelf')", "ReplicateTable('Person')")
    assert "W00" not in project.manage("check", show="stderr")
    project.model("models.ManyToManyField(Person)", "models.ManyToManyField(Person, through='Role')")
    models.write_text(models.read_text() + program("""
        class Role(models.Model):
            sale = models.ForeignKey(Sale, models.CASCADE)
            person = models.ForeignKey(Person, models.CASCADE)
        """))
    said = project.manage("check", show="stderr")
    assert "Sale.people has its rows in shop_role, which is not replicated: they stay in their file.\n\tHINT: Write ReplicateTable(" \
        '"Role") in a migration.\n' in said
    project.migration("0003_replicate", "0002_sales", "ReplicateTable('Shelf')")
    assert "W00" not in project.manage("check", show="stderr")


def test_a_reference_to_a_table_that_the_file_replicates_is_not_warned_of(numbered):
    """As counter_adopt does it, which no migration tells. In a file that cannot be read nobody knows."""
    models = numbered.folder / "shop" / "models.py"
    models.write_text(models.read_text() + program("""
        class Note(models.Model):
            text = models.CharField(max_length=9, primary_key=True)
            product = models.ForeignKey(Product, models.CASCADE)
        """))
    numbered.manage("makemigrations", "-v0", "-n", "note", "shop")
    numbered.migration("0003_replicate", "0002_note", "ReplicateTable('Note')")
    (numbered.folder / "till.db").unlink()
    assert "Note.product refers to Product, which is not replicated" in numbered.manage("check", show="stderr")
    assert not (numbered.folder / "till.db").exists()
    numbered.manage("migrate", "-v0", "shop", "0001")
    assert "W002" in numbered.manage("check", show="stderr")
    numbered.rows("SELECT counter_replicate_all('shop_product.stock')")
    assert "W00" not in numbered.manage("check", show="stderr")
    assert "W00" not in numbered.manage("migrate", show="stderr")
    numbered.rows("SELECT counter_untrack('shop_product')")
    assert "W002" in numbered.manage("check", show="stderr")
    (numbered.folder / "till.db").write_bytes(b"no database" * 1000)
    assert "W00" not in numbered.manage("check", show="stderr")


def test_a_tracked_model_whose_keys_are_given_out_by_each_file_is_warned_of(project):
    project.migration("0002_track", "0001_initial", "TrackCounter('Product', 'stock')")
    assert "W001" not in project.manage("check", show="stderr")
    project.model("sku = models.CharField(max_length=40, primary_key=True)", "sku = models.CharField(max_length=40)")
    said = project.manage("check", show="stderr")
    assert said.count("W001") == 1 and "\nshop.Product: (sqlite_counter.W001) Product has tracked columns, and its key is AutoField: two " \
        "files give the same number to different rows, and a merge makes one counter of theirs.\n\tHINT: Give the model a natural key or a " \
        'UUIDField with primary_key=True. If only one file makes rows, or you assign keys that no two files share, write ' \
        'TrackCounter(..., keys="assigned").\n' in said
    project.migration("0002_track", "0001_initial", 'TrackCounter("Product", "stock", keys="assigned")')
    assert "W001" not in project.manage("check", show="stderr")
    project.migration("0002_track", "0001_initial", 'TrackCounter("Product", "stock")')
    project.model("sku = models.CharField(max_length=40)", "sku = models.IntegerField(primary_key=True)")
    assert "its key is IntegerField" in project.manage("check", show="stderr")
    project.model("sku = models.IntegerField(", "sku = models.UUIDField(")
    assert "W001" not in project.manage("check", show="stderr")
    project.model("sku = models.UUIDField(primary_key=True)", "sku = models.CharField(max_length=40)")
    project.migration("0003_untrack", "0002_track", "UntrackCounter('Product', 'stock')")
    assert "W001" not in project.manage("check", show="stderr")
    project.migration("0003_untrack", "0002_nowhere")
    assert "W001" not in project.manage("check", show="stderr")


INTEGER_KEY = 'sku = models.CharField(max_length=40, primary_key=True)', 'sku = models.CharField(max_length=40)'


@pytest.fixture
def numbered(project):
    """The project with an AutoField as its key."""
    project.model(*INTEGER_KEY)
    (project.migrations / "0001_initial.py").unlink()
    project.manage("makemigrations", "-v0", "-n", "initial", "shop")
    return project


@pytest.mark.long
def test_keys_that_sqlite_gives_out_need_the_word_that_they_are_assigned(numbered):
    numbered.migration("0002_track", "0001_initial", 'TrackCounter("Product", "stock")')
    assert "counter_track: shop_product: SQLite gives out the key id by itself" in numbered.manage("migrate", "-v0", ok=False)
    assert numbered.tracked() == []
    numbered.migration("0002_track", "0001_initial", 'TrackCounter("Product", "stock", keys="assigned")', 'TrackCounter("Product", "sold")')
    numbered.manage("migrate", "-v0")
    assert numbered.tracked() == [("n sold", "tracked"), ("stock", "tracked")]
    numbered("-c", SHOW + "Product(name='Tea', sku='tea', stock=5).save()")
    assert numbered.rows("SELECT id, stock FROM shop_product_counters") == [(1, 5)]
    assert "No changes detected" in numbered.manage("makemigrations", "--check", "--dry-run", "shop")
    numbered.model("stock = models.IntegerField(default=0)", "stock = models.PositiveIntegerField(default=1)")
    numbered.manage("makemigrations", "-v0", "-n", "rebuilt", "shop")
    numbered.manage("migrate", "-v0")
    assert numbered.tracked() == [("n sold", "tracked"), ("stock", "tracked")]
    numbered.rows("UPDATE shop_product SET stock = 0")
    for name in "0001", "0003", "0001":
        numbered.manage("migrate", "-v0", "shop", name)
    assert numbered.tracked() == []


@pytest.mark.long
def test_what_untracks_a_table_with_assigned_keys_tracks_it_again_with_them(numbered):
    numbered.migration("0002_track", "0001_initial", "TrackCounter('Product', 'stock', 'assigned')", "TrackCounter('Product', 'sold')")
    numbered.migration("0003_untrack", "0002_track", "UntrackCounter('Product', 'stock')", "UntrackCounter('Product', 'sold')")
    numbered.migration("0004_again", "0003_untrack", "TrackCounter('Product', 'sold')")
    assert "SQLite gives out the key id by itself" in numbered.manage("migrate", "-v0", ok=False)
    numbered.manage("migrate", "-v0", "shop", "0003")
    assert numbered.tracked() == []
    numbered.manage("migrate", "-v0", "shop", "0002")
    assert numbered.tracked() == [("n sold", "tracked"), ("stock", "tracked")]
    assert "SELECT counter_track('main.shop_product', 'stock', 'keys=assigned');" in numbered.manage("sqlmigrate", "shop", "0002")
    assert "SELECT counter_track('main.shop_product', 'n sold', 'keys=assigned');" in numbered.manage(
        "sqlmigrate", "--backwards", "shop", "0003")
    assert numbered.by_hand("--backwards", "shop", "0002").count("counter_untrack") == 2


def test_keys_that_sqlite_gives_out_are_spread_in_a_replicated_table_if_nothing_is_said(numbered):
    numbered.migration("0002_replicate", "0001_initial", STOCK)
    numbered.migration("0003_more", "0002_replicate", "ReplicateTable('Product', ['sold'])",
                       "migrations.AlterField('Product', 'name', models.CharField(max_length=90))")
    numbered.migration("0004_end", "0003_more", "UnreplicateTable('Product', values='again')")
    assert "W001" not in numbered.manage("check", show="stderr")
    assert statements(numbered.manage("sqlmigrate", "shop", "0002")) == ["SELECT counter_replicate('main.shop_product', 'stock', 'keys=spread');"]
    assert "SELECT counter_replicate('main.shop_product', 'n sold');" in numbered.manage("sqlmigrate", "shop", "0003")
    numbered.manage("migrate", "-v0", "shop", "0001")
    numbered("-c", SHOW + "Product.objects.create(sku='tea', name='Tea', stock=10)")
    numbered.manage("migrate", "-v0", "shop", "0003")
    shutil.copy(numbered.folder / "till.db", numbered.folder / "office.db")
    assert numbered("-c", SHOW + OFFICE + program("""
        jam = Product.objects.create(sku="jam", name="Jam", stock=1)
        office.execute("INSERT INTO shop_product(sku, name, shop, stock, \\"n sold\\") VALUES ('rice', 'Rice', 'there', 5, 2)")
        rows("SELECT * FROM counter_sync('office.db')")
        print(Product.objects.get(pk=jam.pk).name, jam.pk > 2**32, sorted(Product.objects.values_list("sku", flat=True)))
        print(rows("SELECT * FROM shop_product ORDER BY id") == office.execute("SELECT * FROM shop_product ORDER BY id").fetchall())
        """)) == "Jam True ['jam', 'rice', 'tea']\nTrue\n"
    for name in "0004", "0003", "0004":
        numbered.manage("migrate", "-v0", "shop", name)
    assert numbered.tracked() == []
    assert statements(numbered.manage("sqlmigrate", "--backwards", "shop", "0004")) == [
        "SELECT counter_replicate('main.shop_product', 'stock', 'n sold', 'keys=spread', 'values=again');"]


def test_keys_that_were_said_to_be_assigned_stay_so(numbered):
    numbered.migration("0002_track", "0001_initial", 'TrackCounter("Product", "stock", keys="assigned")')
    numbered.migration("0003_replicate", "0002_track", STOCK)
    assert "SELECT counter_replicate('main.shop_product', 'stock');" in numbered.manage("sqlmigrate", "shop", "0003")
    numbered.manage("migrate", "-v0")
    assert numbered.rows("SELECT count(*) FROM counter_tracked WHERE state = 'spread'") == [(0,)]


def test_a_key_that_is_that_of_another_row_follows_it(numbered):
    models = numbered.folder / "shop" / "models.py"
    models.write_text(models.read_text() + program("""
        class Bundle(Product):
            pieces = models.IntegerField(default=0)

        class Picture(models.Model):
            product = models.OneToOneField(Product, models.CASCADE, primary_key=True)
        """))
    numbered.manage("makemigrations", "-v0", "-n", "more", "shop")
    numbered.migration("0003_replicate", "0002_more", "ReplicateTable('Bundle', ['pieces'])", STOCK, "ReplicateTable('Picture')")
    assert "W00" not in numbered.manage("check", show="stderr")
    numbered.manage("migrate", "-v0")
    shutil.copy(numbered.folder / "till.db", numbered.folder / "office.db")
    assert numbered("-c", SHOW + OFFICE + program("""
        from shop.models import Bundle, Picture
        Picture.objects.create(product=Bundle.objects.create(sku="box", name="Box", pieces=3))
        rows("SELECT * FROM counter_sync('office.db')")
        print(office.execute("SELECT id = product_ptr_id, pieces, id = product_id FROM shop_product, shop_bundle, shop_picture").fetchall())
        """)) == "[(1, 3, 1)]\n"


TAGS = """
class Tag(models.Model):
    word = models.CharField(max_length=40, primary_key=True)
"""


@pytest.fixture
def tagged(numbered):
    """Its products have tags, in a table that Django makes."""
    models = numbered.folder / "shop" / "models.py"
    models.write_text(models.read_text().replace("    class Meta", "    tags = models.ManyToManyField('Tag')\n\n    class Meta") + TAGS)
    (numbered.migrations / "0001_initial.py").unlink()
    numbered.manage("makemigrations", "-v0", "-n", "initial", "shop")
    numbered.migration("0002_replicate", "0001_initial", "ReplicateTable('Tag')", STOCK)
    return numbered


SPREAD = "SELECT group_concat(table_name, ' ') FROM (SELECT table_name FROM counter_tracked WHERE state = 'spread' ORDER BY 1)"


def test_the_table_of_a_many_to_many_field_travels_with_its_model(tagged):
    tagged.manage("migrate", "-v0")
    assert tagged.rows(SPREAD) == [("shop_product shop_product_tags",)]
    tagged("-c", SHOW + "from shop.models import Tag\nfor word in 'hot', 'new': Tag(word).save()\nProduct(sku='tea', name='Tea').save()")
    shutil.copy(tagged.folder / "till.db", tagged.folder / "office.db")
    assert tagged("-c", SHOW + OFFICE + program("""
        tea = Product.objects.get()
        tea.tags.add("hot")
        office.execute("INSERT INTO shop_product_tags(product_id, tag_id) VALUES (?, 'new')", (tea.pk,))
        rows("SELECT * FROM counter_sync('office.db')")
        print(sorted(tea.tags.values_list("pk", flat=True)), office.execute("SELECT count(*) FROM shop_product_tags").fetchall())
        tea.tags.remove("new")
        rows("SELECT * FROM counter_sync('office.db')")
        print(office.execute("SELECT tag_id FROM shop_product_tags").fetchall())
        tea.tags.set(["new"])
        tea.delete()
        rows("SELECT * FROM counter_sync('office.db')")
        print(office.execute("SELECT count(*) FROM shop_product_tags").fetchall())
        """)) == "['hot', 'new'] [(2,)]\n[('hot',)]\n[(0,)]\n"


@pytest.mark.parametrize("greater", ["till", "office"])
def test_a_pair_that_two_files_have_added_is_one_row_and_removed_once(tagged, greater):
    """Whichever file inserted the greater key."""
    tagged.manage("migrate", "-v0")
    tagged("-c", SHOW + "from shop.models import Tag\nfor word in 'hot', 'new': Tag(word).save()\nProduct(sku='tea', name='Tea').save()")
    for name in "office.db", "shelf.db":
        shutil.copy(tagged.folder / "till.db", tagged.folder / name)
    tagged("-c", SHOW + OFFICE + program(f"""
        tea = Product.objects.get()
        tea.tags.add("hot")
        key = tea.tags.through.objects.get().pk {"+" if greater == "office" else "-"} 1
        office.execute("INSERT INTO shop_product_tags VALUES (?, ?, 'hot')", (key, tea.pk))
        """))
    told = tagged.manage("counter_sync", "office.db").splitlines()
    assert "; 1 row waits or differs" in told[0] and "waits" not in told[2]
    assert told[1] == "1 pair of a ManyToManyField was added in two files, as two rows: one of the two was deleted, and the sync runs again"
    tagged.manage("counter_sync", "shelf.db")
    show = "SELECT id, tag_id FROM shop_product_tags"
    assert len(tagged.rows(show)) == 1
    for name in "office.db", "shelf.db":
        with contextlib.closing(sqlite3.connect(tagged.folder / name)) as db:
            assert db.execute(show).fetchall() == tagged.rows(show)
    tagged("-c", SHOW + "Product.objects.get().tags.remove('hot')")
    assert "waits" not in tagged.manage("counter_sync", "office.db")
    with contextlib.closing(sqlite3.connect(tagged.folder / "office.db")) as db:
        assert db.execute(show).fetchall() == tagged.rows(show) == []


def test_the_table_of_a_many_to_many_field_follows_migrations_of_all_kinds(tagged):
    """It is renamed with its field or model, and keeps its rows; one that comes later is replicated, too."""
    tagged.migration("0003_rename", "0002_replicate", "migrations.RenameField('Product', 'tags', 'labels')",
                     "migrations.RenameModel('Product', 'Item')", "migrations.RenameModel('Tag', 'Label')",
                     "migrations.AddField('Item', 'more', models.ManyToManyField('Label', related_name='+'))")
    tagged.migration("0004_less", "0003_rename", "migrations.AlterField('Item', 'more', models.ManyToManyField('Item'))",
                     "migrations.RemoveField('Item', 'labels')")
    tagged.migration("0005_end", "0004_less", "UnreplicateTable('Item')", "migrations.DeleteModel('Item')")
    tagged.manage("migrate", "-v0", "shop", "0002")
    tagged.rows("INSERT INTO shop_tag VALUES ('hot')")
    tagged("-c", SHOW + "Product.objects.create(sku='tea', name='Tea').tags.add('hot')")
    before = tagged.rows("SELECT * FROM shop_product_tags")
    printed = statements(tagged.manage("sqlmigrate", "shop", "0003"))
    assert "SELECT counter_replicate('main.shop_item_more', 'keys=spread');" in printed
    assert not [line for line in printed if "DROP TABLE \"shop_product_tags" in line]
    tagged.manage("migrate", "-v0", "shop", "0003")
    assert tagged.rows(SPREAD) == [("shop_item shop_item_labels shop_item_more",)]
    assert tagged.rows("SELECT id, item_id, label_id FROM shop_item_labels") == before
    assert [name for name, in tagged.rows("SELECT column_name FROM counter_tracked WHERE table_name = 'shop_item_labels' AND state = 'regular'")] == [
        "item_id", "label_id"]
    assert tagged.rows("SELECT count(*) FROM counter_tracked WHERE state = 'broken'") == [(0,)]
    tagged.manage("migrate", "-v0", "shop", "0004")
    assert tagged.rows(SPREAD) == [("shop_item shop_item_more",)]
    assert tagged.rows("SELECT name FROM sqlite_schema WHERE name LIKE 'shop_item_labels%'") == []
    tagged.manage("migrate", "-v0", "shop", "0005")
    assert tagged.rows("SELECT name FROM sqlite_schema WHERE name LIKE 'shop_item%'") == []
    tagged.manage("migrate", "-v0", "shop", "0001")
    assert tagged.tracked() == [] and tagged.rows(SPREAD) == [(None,)]


def test_all_tables_are_replicated_at_once(tagged):
    settings = tagged.folder / "settings.py"
    settings.write_text(settings.read_text() + "INSTALLED_APPS += [f'django.contrib.{name}' for name in "
                        "('auth', 'contenttypes', 'sessions')]\n")
    tagged.migration("0002_replicate", "0001_initial",
                     "ReplicateAll(counters=['shop_product.stock', 'shop_product.n sold'], leave=['django_content_type', 'auth_permission'])")
    tagged.migration("0003_rebuilt", "0002_replicate", "migrations.AlterField('Product', 'name', models.CharField(max_length=90))")
    for app in "auth", "contenttypes", "sessions":
        tagged.manage("migrate", "-v0", app)
    assert "Replicate all tables with the counters shop_product.stock, shop_product.n sold" in tagged.manage("migrate", "--plan")
    assert "W00" not in tagged.manage("check", show="stderr").replace("W002) Permission.content_type", "").replace(
        "W002) Group.permissions", "").replace("W002) User.user_permissions", "")
    assert statements(tagged.manage("sqlmigrate", "shop", "0002")) == [
        "SELECT counter_replicate_all('shop_product.stock', 'shop_product.n sold', 'leave=django_content_type', 'leave=auth_permission');"]
    assert "SELECT counter_replicate('main.shop_product');" in tagged.manage("sqlmigrate", "shop", "0003")
    tagged.manage("migrate", "-v0")
    assert tagged.tracked() == [("n sold", "tracked"), ("stock", "tracked")]
    assert tagged.rows(SPREAD) == [(
        "auth_group auth_group_permissions auth_user auth_user_groups auth_user_user_permissions shop_product shop_product_tags",)]
    tagged.manage("migrate", "-v0", "shop", "0001")
    assert tagged.rows("SELECT count(*) FROM counter_tracked") == [(0,)]


def test_a_new_model_comes_to_files_that_replicate_content_types_and_permissions(numbered):
    """One file makes its rows there before the table is replicated, and the others find them."""
    settings = numbered.folder / "settings.py"
    settings.write_text(settings.read_text() + "INSTALLED_APPS += ['django.contrib.auth', 'django.contrib.contenttypes']\n"
                        "DATABASES['office'] = {**DATABASES['default'], 'NAME': 'office.db'}\n")
    for app in "auth", "contenttypes":
        numbered.manage("migrate", "-v0", app)
    numbered.migration("0002_all", "0001_initial", "ReplicateAll()")
    numbered.manage("migrate", "-v0")
    shutil.copy(numbered.folder / "till.db", numbered.folder / "office.db")
    numbered.migration("0003_note", "0002_all", "migrations.CreateModel('Note', [('id', models.AutoField(primary_key=True))])")
    numbered.migration("0004_replicate", "0003_note", "ReplicateTable('Note')")
    numbered.manage("migrate", "-v0", "shop", "0003")
    assert "waits" not in numbered.manage("counter_sync", "office.db")
    numbered.manage("migrate", "-v0")
    assert "and office.db has no such table" in numbered.manage("counter_sync", "office.db", ok=False)
    numbered.manage("migrate", "-v0", "--database=office")
    said = numbered.manage("counter_sync", "office.db")
    assert "shop_note: 0 rows changed" in said and "wait" not in said
    assert numbered.rows("SELECT count(*) FROM django_content_type WHERE model = 'note'") == [(1,)]
    assert numbered.rows("SELECT count(*) FROM auth_permission WHERE codename LIKE '%note'") == [(4,)]


@pytest.mark.parametrize("given", ["'shop_product.stock'", "counters='shop_product.stock'", "leave=[1]"])
def test_a_replication_of_all_tables_takes_lists_of_names(project, given):
    project.migration("0002_replicate", "0001_initial", f"ReplicateAll({given})")
    assert project.manage("migrate", "-v0", ok=False).splitlines()[-1].startswith(
        "TypeError: sqlite_counter: ReplicateAll takes a list of names as ")


def test_a_column_that_is_tracked_already_stays_so_and_one_that_is_not_has_nothing_to_untrack(project):
    project.migration("0002_track", "0001_initial", "TrackCounter('Product', 'stock')")
    project.manage("migrate", "-v0", "shop", "0001")
    project.rows("SELECT counter_track('shop_product', 'stock')")
    project.manage("migrate", "-v0")
    assert project.tracked() == [("stock", "tracked")]
    project.rows("SELECT counter_untrack('shop_product')")
    project.manage("migrate", "-v0", "shop", "0001")
    assert project.tracked() == []


def test_django_writes_prints_and_names_the_operation(project):
    project.migration("0002_track", "0001_initial", "TrackCounter('Product', 'stock')")
    project.migration("0003_untrack", "0002_track", "UntrackCounter('Product', 'stock')")
    assert "SELECT counter_track('main.shop_product', 'stock');" in project.manage("sqlmigrate", "shop", "0002")
    assert "SELECT counter_untrack('main.shop_product');" in project.manage("sqlmigrate", "shop", "0003")
    assert project("-c", SHOW + program("""
        from django.db.migrations.writer import OperationWriter
        from sqlite_counter.django import ReplicateAll, ReplicateTable, TrackCounter, UnreplicateTable, UntrackCounter
        for operation in TrackCounter("Product", "stock"), TrackCounter("Product", "stock", keys="assigned"), \
                TrackCounter("Product", "stock", "assigned", "same"), UntrackCounter("Product", "stock"), \
                ReplicateTable("Product", ["stock", "sold"], opening="same"), ReplicateTable("Product"), UnreplicateTable("Product"), \
                ReplicateAll(["shop_product.stock"], ["shop_tag"]), ReplicateAll():
            text, imports = OperationWriter(operation, indentation=0).serialize()
            for line in imports: exec(line)
            again, = eval(text)
            print(again.deconstruct() == operation.deconstruct(), operation.describe(), operation.migration_name_fragment)
        """)) == (3 * "True Track stock of Product as a counter track_product_stock\n" +
                  "True Track stock of Product no longer untrack_product_stock\n"
                  "True Replicate Product with the counters stock, sold replicate_product\n"
                  "True Replicate Product replicate_product\nTrue Replicate Product no longer unreplicate_product\n"
                  "True Replicate all tables with the counters shop_product.stock replicate_all\nTrue Replicate all tables replicate_all\n")
    project.manage("squashmigrations", "--noinput", "shop", "0003")
    for name in "0001_initial", "0002_track", "0003_untrack":
        (project.migrations / f"{name}.py").unlink()
    project.manage("migrate", "-v0")
    assert project.tracked() == []


def test_other_databases_are_left_alone(project):
    assert project("-c", SHOW + program("""
        from django.apps import apps
        from django.db.migrations.state import ProjectState
        from sqlite_counter.django import ReplicateAll, ReplicateTable, TrackCounter, UnreplicateTable
        from sqlite_counter.django.apps import set_up
        class Other:
            vendor, alias = "postgresql", "default"
        class Editor:
            connection = Other()
        state = ProjectState.from_apps(apps)
        for operation in TrackCounter("Product", "stock"), ReplicateTable("Product"), UnreplicateTable("Product"), ReplicateAll():
            operation.database_forwards("shop", Editor(), state, state)
            operation.database_backwards("shop", Editor(), state, state)
        set_up(Other())
        print("nothing")
        """)) == "nothing\n"


def test_a_project_without_the_app_is_told_to_install_it(project):
    settings = project.folder / "settings.py"
    settings.write_text(settings.read_text().replace('"sqlite_counter.django", ', ""))
    project.migration("0002_track", "0001_initial", "TrackCounter('Product', 'stock')")
    assert project.manage("migrate", "-v0", ok=False).splitlines()[-1] == (
        'django.core.exceptions.ImproperlyConfigured: sqlite_counter: put "sqlite_counter.django" into INSTALLED_APPS, for it loads '
        "the extension into each connection")
