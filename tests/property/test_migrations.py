"""test_migrations.py - Django's and alembic's own migrations of a tracked table: followed, or noticed and mended by
calling counter_track again, with nothing lost."""

import sqlite3

import pytest

from files import EXTENSION, connect


def rows(db, sql, *arguments):
    return db.execute(sql, arguments).fetchall()


def load(connection, *_):
    connection.enable_load_extension(True)
    connection.load_extension(EXTENSION)
    connection.enable_load_extension(False)


def broken(db):
    return [state for state, in rows(db, "SELECT state FROM counter_tracked")] == ["broken"]


# ---- Django ----

@pytest.fixture(scope="module")
def django():
    django = pytest.importorskip("django")
    from django.conf import settings
    from django.db.backends.signals import connection_created
    settings.configure(DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}})
    django.setup()
    connection_created.connect(lambda connection, **_: load(connection.connection), weak=False)
    return django


def django_migrations():
    """A model from its creation to another name, with every operation that rebuilds a table on the way."""
    from django.db import migrations, models
    yield "shop_product", migrations.CreateModel("Product", [
        ("sku", models.CharField(max_length=40, primary_key=True)), ("name", models.CharField(max_length=40)),
        ("stock", models.IntegerField(default=0))])
    yield "shop_product", migrations.AddField("Product", "price", models.FloatField(default=1.5))
    yield "shop_product", migrations.AlterField("Product", "name", models.CharField(max_length=80, null=True))
    yield "shop_product", migrations.AddIndex("Product", models.Index(fields=["stock"], name="by_stock"))
    yield "shop_product", migrations.AddConstraint("Product", models.CheckConstraint(
        check=models.Q(stock__gte=-1000), name="not_too_few"))
    yield "shop_product", migrations.RenameField("Product", "name", "title")
    yield "shop_item", migrations.RenameModel("Product", "Item")
    yield "shop_item", migrations.AlterField("Item", "stock", models.BigIntegerField(default=0))
    yield "shop_item", migrations.RemoveField("Item", "price")
    yield "shop_item", migrations.AlterUniqueTogether("Item", {("sku", "title")})


def test_django_migrates_a_tracked_table(django, tmp_path):
    from django.db import connection
    from django.db.migrations.state import ProjectState
    connection.settings_dict["NAME"] = str(tmp_path / "shop.db")
    connection.close()
    other, state, sum_of_all, mended = None, ProjectState(), 10, 0
    for n, (table, operation) in enumerate(django_migrations(), 1):
        after = state.clone()
        operation.state_forwards("shop", after)
        with connection.schema_editor() as editor:
            operation.database_forwards("shop", editor, state, after)
        state = after
        with connection.cursor() as cursor:
            if n == 1:
                cursor.execute("INSERT INTO shop_product(sku, name, stock) VALUES ('tea', 'Tea', 10)")
                cursor.execute("SELECT counter_track('shop_product', 'stock')")
                cursor.execute("VACUUM INTO %s", [str(tmp_path / "other.db")])
                other = connect(tmp_path / "other.db")
            cursor.execute(f"UPDATE {table} SET stock = stock + %s", [n])
            cursor.execute("SELECT state FROM counter_tracked")
            if cursor.fetchall() == [("broken",)]:
                mended += 1
                cursor.execute(f"SELECT counter_track('{table}')")
                assert cursor.fetchall() in ([(1,)], [(0,)])  # 0: the triggers have run, a UNIQUE index is new
            other.execute("UPDATE shop_product SET stock = stock + ?", (100 * n,))
            sum_of_all += 101 * n
            cursor.execute("SELECT * FROM counter_sync(%s)", [str(tmp_path / "other.db")])
            cursor.fetchall()
            cursor.execute(f"SELECT sku, stock FROM {table}")
            assert cursor.fetchall() == rows(other, "SELECT sku, stock FROM shop_product") == [("tea", sum_of_all)]
    assert mended >= 4
    connection.close()


# ---- alembic ----

def test_alembic_migrates_a_tracked_table(tmp_path):
    pytest.importorskip("alembic")
    import sqlalchemy as sa
    from alembic.migration import MigrationContext
    from alembic.operations import Operations
    engine = sa.create_engine(f"sqlite:///{tmp_path / 'shop.db'}", future=True)
    sa.event.listen(engine, "connect", load)
    db = engine.connect()

    def run(sql, *arguments):
        result = db.exec_driver_sql(sql, arguments)
        return [tuple(row) for row in result] if result.returns_rows else []

    operations = Operations(MigrationContext.configure(db))
    operations.create_table("products", sa.Column("sku", sa.Text, primary_key=True), sa.Column("name", sa.Text),
                            sa.Column("stock", sa.Integer, nullable=False, server_default="0"))
    run("INSERT INTO products VALUES ('tea', 'Tea', 10)")
    run("SELECT counter_track('products', 'stock')")
    db.commit()
    raw = connect(tmp_path / "shop.db")
    raw.execute("VACUUM INTO ?", (str(tmp_path / "other.db"),))
    raw.close()
    other = connect(tmp_path / "other.db")

    def add_column():
        operations.add_column("products", sa.Column("price", sa.Float))

    def batch_alter():
        with operations.batch_alter_table("products") as batch:
            batch.alter_column("name", existing_type=sa.Text, nullable=False)
            batch.create_check_constraint("few", "stock > -1000")

    def batch_again():
        with operations.batch_alter_table("products", recreate="always") as batch:
            batch.alter_column("stock", existing_type=sa.Integer, type_=sa.BigInteger)
            batch.drop_column("price")

    def rename():
        operations.rename_table("products", "items")

    def batch_renamed():
        with operations.batch_alter_table("items", recreate="always") as batch:
            batch.add_column(sa.Column("note", sa.Text))

    sum_of_all, mended = 10, 0
    for n, (table, migrate) in enumerate([("products", add_column), ("products", batch_alter), ("products", batch_again),
                                          ("items", rename), ("items", batch_renamed)], 1):
        migrate()
        run(f"UPDATE {table} SET stock = stock + ?", n)
        if run("SELECT state FROM counter_tracked") == [("broken",)]:
            mended += 1
            assert run(f"SELECT counter_track('{table}', 'stock')") == [(1,)]
        db.commit()
        other.execute("UPDATE products SET stock = stock + ?", (100 * n,))
        sum_of_all += 101 * n
        run("SELECT * FROM counter_sync(?)", str(tmp_path / "other.db"))
        assert run(f"SELECT sku, stock FROM {table}") == rows(other, "SELECT sku, stock FROM products")
        assert rows(other, "SELECT stock FROM products") == [(sum_of_all,)]
        db.commit()
    assert mended == 3
    db.close()


# ---- what no tool is needed for ----

@pytest.mark.parametrize("foreign_keys", [False, True])
@pytest.mark.parametrize("old_first", [False, True])
def test_a_rebuild_in_either_order_is_mended(tmp_path, foreign_keys, old_first):
    one = connect(tmp_path / "one.db")
    one.execute(f"PRAGMA foreign_keys = {foreign_keys:d}")
    one.execute("CREATE TABLE t(k INTEGER PRIMARY KEY, n INTEGER NOT NULL DEFAULT 0)")
    one.execute("CREATE TABLE child(k INTEGER REFERENCES t ON DELETE CASCADE)")
    one.execute("INSERT INTO t VALUES (1, 10), (2, 20)")
    rows(one, "SELECT counter_track('t', 'n', 'keys=assigned')")
    one.execute("VACUUM INTO ?", (str(tmp_path / "two.db"),))
    two = connect(tmp_path / "two.db")
    if old_first:
        one.execute("ALTER TABLE t RENAME TO t_old")
        one.execute("CREATE TABLE t(k INTEGER PRIMARY KEY, n INTEGER NOT NULL DEFAULT 0, m TEXT)")
        one.execute("INSERT INTO t(k, n) SELECT k, n FROM t_old")
        one.execute("DROP TABLE t_old")
    else:
        one.execute("CREATE TABLE t_new(k INTEGER PRIMARY KEY, n INTEGER NOT NULL DEFAULT 0, m TEXT)")
        one.execute("INSERT INTO t_new(k, n) SELECT k, n FROM t")
        one.execute("DROP TABLE t")
        one.execute("ALTER TABLE t_new RENAME TO t")
    assert broken(one)
    one.execute("UPDATE t SET n = n + 1")
    one.execute("DELETE FROM t WHERE k = 2")
    two.execute("UPDATE t SET n = n + 100")
    with pytest.raises(sqlite3.Error, match=r"counter_track\('t', \.\.\.\) again"):
        rows(one, "SELECT * FROM counter_pull(?)", str(tmp_path / "two.db"))
    assert rows(one, "SELECT counter_track('t')") == [(2,)]
    rows(one, "SELECT * FROM counter_sync(?)", str(tmp_path / "two.db"))
    assert rows(one, "SELECT k, n FROM t") == rows(two, "SELECT k, n FROM t") == [(1, 111)]


def test_vacuum_and_a_dump_that_is_read_again_keep_a_tracked_table(tmp_path):
    import subprocess
    one = connect(tmp_path / "one.db")
    one.execute("CREATE TABLE t(k TEXT PRIMARY KEY, n INTEGER)")
    one.execute("INSERT INTO t VALUES ('a', 1), ('b', NULL)")
    rows(one, "SELECT counter_track('t', 'n')")
    one.execute("UPDATE t SET n = n + 1")
    one.execute("VACUUM")
    one.execute("UPDATE t SET n = n + 1")
    one.close()
    shell = ["sqlite3", "-batch", "-init", "/dev/null", "-cmd", f".load {EXTENSION}"]
    dump = subprocess.run([*shell, tmp_path / "one.db", ".dump"], capture_output=True, text=True, check=True).stdout
    subprocess.run([*shell, tmp_path / "two.db"], input=dump, capture_output=True, text=True, check=True)
    one, two = connect(tmp_path / "one.db"), connect(tmp_path / "two.db")
    one.execute("UPDATE t SET n = n + 10 WHERE k = 'a'")
    two.execute("UPDATE t SET n = n + 100 WHERE k = 'a'")
    rows(one, "SELECT * FROM counter_sync(?)", str(tmp_path / "two.db"))
    for db in one, two:
        assert rows(db, "SELECT * FROM t") == [("a", 113), ("b", None)]
        assert rows(db, "SELECT state FROM counter_tracked") == [("tracked",)]
