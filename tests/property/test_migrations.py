"""test_migrations.py - Django's and alembic's own migrations of a tracked table: followed, or noticed and mended by
calling counter_track again, with nothing lost."""

import random
import sqlite3

import pytest

from conftest import EXAMPLES, SEED
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
    with pytest.raises(sqlite3.Error, match=r"1 of its rows is missing, \(2\)"):
        rows(one, "SELECT counter_track('t')")
    assert rows(one, "SELECT counter_track('t', 'missing=deleted')") == [(2,)]
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


# ---- columns that come, go, and change their names ----

def pull(db, other):
    return rows(db, "SELECT * FROM counter_pull(?)", str(other))


def pair(tmp_path, *statements):
    """Two files with the same tables, each replicated by the same statements."""
    files = [connect(tmp_path / "a.db"), connect(tmp_path / "b.db")]
    for db in files:
        for statement in statements:
            rows(db, statement)
    return files


def feed(one, other):
    """All that `other` gives, as changes."""
    for row in rows(other, "SELECT * FROM counter_changes(0)"):
        one.execute("INSERT INTO counter_changes VALUES (?, ?, ?, ?, ?)", row[:5])
    rows(one, "SELECT counter_seen(counter_id(), 0, 0)")


def test_a_new_counter_and_a_new_column_in_one_call_leave_each_column_its_name(tmp_path):
    one, two = pair(tmp_path, "CREATE TABLE t(k TEXT PRIMARY KEY NOT NULL, sold INTEGER, price INTEGER)",
                    "SELECT counter_replicate('t')", "ALTER TABLE t ADD COLUMN weight INTEGER",
                    "SELECT counter_replicate('t', 'sold')")
    one.execute("INSERT INTO t VALUES ('tea', 1, 500, 20)")
    pull(two, tmp_path / "a.db")
    assert rows(two, "SELECT * FROM t") == [("tea", 1, 500, 20)]
    two.execute("UPDATE t SET price = 501")
    pull(one, tmp_path / "b.db")
    assert rows(one, "SELECT * FROM t") == [("tea", 1, 501, 20)]


def test_a_renamed_column_travels_on_when_another_one_becomes_a_counter(tmp_path):
    one, two = pair(tmp_path, "CREATE TABLE t(k TEXT PRIMARY KEY NOT NULL, x INTEGER, y TEXT)", "SELECT counter_replicate('t')")
    one.execute("INSERT INTO t VALUES ('tea', 0, 'old')")
    pull(two, tmp_path / "a.db")
    one.execute("ALTER TABLE t RENAME COLUMN y TO yy")
    rows(one, "SELECT counter_replicate('t', 'x')")
    rows(two, "SELECT counter_replicate('t', 'x')")
    one.execute("UPDATE t SET yy = 'new'")
    pull(two, tmp_path / "a.db")
    assert rows(two, "SELECT * FROM t") == [("tea", 0, "new")]


@pytest.mark.parametrize("call", ["SELECT counter_replicate('t', 'n')", "SELECT counter_untrack('t', 'n')"])
def test_columns_that_have_exchanged_their_names_keep_their_values(tmp_path, call):
    one, two = pair(tmp_path, "CREATE TABLE t(k TEXT PRIMARY KEY NOT NULL, n INTEGER, x TEXT, y TEXT)",
                    "SELECT counter_replicate('t')")
    one.execute("INSERT INTO t VALUES ('tea', 0, 'x', 'y')")
    pull(two, tmp_path / "a.db")
    for old, new in ("x", "z"), ("y", "x"), ("z", "y"):
        one.execute(f"ALTER TABLE t RENAME COLUMN {old} TO {new}")
    rows(one, call)
    rows(two, call)
    two.execute("UPDATE t SET x = 'x2'")
    one.execute("UPDATE t SET x = 'y2'")  # what was y
    rows(one, "SELECT * FROM counter_sync(?)", str(tmp_path / "b.db"))
    assert rows(one, "SELECT y, x FROM t") == rows(two, "SELECT x, y FROM t") == [("x2", "y2")]


def test_names_are_followed_in_a_table_with_more_columns_than_a_mask_has_bits(tmp_path):
    names = [f"c{n}" for n in range(130)]
    one, two = pair(tmp_path, f"CREATE TABLE t(k TEXT PRIMARY KEY NOT NULL, {', '.join(names)})", "SELECT counter_replicate('t')",
                    f"SELECT counter_untrack('t', {', '.join(f'{name!r}' for name in names[48:101])})")
    for n in 0, 47, 101, 129:
        one.execute(f"ALTER TABLE t RENAME COLUMN c{n} TO z{n}")
    one.execute("ALTER TABLE t ADD COLUMN more INTEGER")
    rows(one, "SELECT counter_replicate('t', 'c46')")
    rows(two, "SELECT counter_replicate('t', 'c46')")
    one.execute("INSERT INTO t(k, z0, c1, c46, z47, z101, c102, z129, more) VALUES ('tea', 0, 1, 46, 47, 101, 102, 129, 1)")
    pull(two, tmp_path / "a.db")
    assert rows(two, "SELECT c0, c1, c46, c47, c101, c102, c129 FROM t") == [(0, 1, 46, 47, 101, 102, 129)]
    two.execute("UPDATE t SET c47 = 'new', c129 = 'last', c50 = 'stays'")
    pull(one, tmp_path / "b.db")
    assert rows(one, "SELECT z0, c1, c46, z47, z101, c102, z129, more, c50 FROM t") == [(0, 1, 46, "new", 101, 102, "last", 1, "stays")]


def test_a_backfill_before_the_call_travels(tmp_path):
    one, two = pair(tmp_path, "CREATE TABLE t(k TEXT PRIMARY KEY NOT NULL, name TEXT)", "SELECT counter_replicate('t')")
    one.execute("INSERT INTO t VALUES ('tea', 'Tea'), ('jam', 'Jam')")
    pull(two, tmp_path / "a.db")
    one.execute("ALTER TABLE t ADD COLUMN slug TEXT")
    one.execute("UPDATE t SET slug = lower(name), name = name || '!'")
    assert rows(one, "SELECT counter_replicate('t')") == [(2,)]
    two.execute("ALTER TABLE t ADD COLUMN slug TEXT")
    rows(two, "SELECT counter_replicate('t')")
    pull(two, tmp_path / "a.db")
    assert rows(two, "SELECT * FROM t ORDER BY k") == [("jam", "Jam!", "jam"), ("tea", "Tea!", "tea")]


KINDS = {
    "without rowid": "(k TEXT PRIMARY KEY NOT NULL, m INTEGER, n INTEGER, x TEXT, y TEXT) WITHOUT ROWID; "
                     "CREATE INDEX i ON t(n, m)",
    "a covering index": "(k TEXT PRIMARY KEY NOT NULL, m INTEGER, n INTEGER, x TEXT, y TEXT); CREATE INDEX i ON t(n, k, m)",
    "an integer key": "(k INTEGER PRIMARY KEY, m INTEGER, n INTEGER)",
    "a trigger that inserts": "(k TEXT PRIMARY KEY NOT NULL, m INTEGER, n INTEGER); CREATE TRIGGER more AFTER UPDATE ON t "
                              "WHEN NEW.k = '1' BEGIN INSERT OR IGNORE INTO t VALUES ('3', 0, 3); END",
    "a trigger that updates": "(k TEXT PRIMARY KEY NOT NULL, m INTEGER, n INTEGER); CREATE TRIGGER more AFTER UPDATE OF n ON t "
                              "WHEN NEW.k = '1' BEGIN UPDATE t SET n = n + 100 WHERE k = '2'; END"}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("answer, mine, shown", [("", "NULL", [5, 7]), ("", "0", [5, 7]), ("same", "6", [6, 7]),
                                                 ("add", "6", [11, 13])])
def test_a_column_whose_counts_a_pull_has_brought_is_counted_once(tmp_path, kind, answer, mine, shown):
    one, two = connect(tmp_path / "a.db"), connect(tmp_path / "b.db")
    one.executescript(f"CREATE TABLE t{KINDS[kind].split(';')[0]}")
    two.executescript(f"CREATE TABLE t{KINDS[kind]}")
    one.execute("INSERT INTO t(k, m, n) VALUES ('1', 0, 5), ('2', 0, 7)")
    two.execute(f"INSERT INTO t(k, m, n) VALUES ('1', 0, {mine}), ('2', 0, {mine})")
    rows(one, "SELECT counter_track('t', 'm', 'n', 'keys=assigned')")
    rows(two, "SELECT counter_track('t', 'm', 'keys=assigned')")
    pull(two, tmp_path / "a.db")
    rows(two, "SELECT counter_track('t', 'n'%s)" % (f", 'opening={answer}'" if answer else ""))
    for path in "b.db", "a.db":
        rows(two, "SELECT * FROM counter_sync(?)", str(tmp_path / "a.db"))
        assert [n for n, in rows(two, "SELECT n FROM t WHERE k < '3' ORDER BY k")] == shown
        assert [n for n, in rows(one, "SELECT n FROM t WHERE k < '3' ORDER BY k")] == shown
        one.execute("UPDATE t SET n = n + 1 WHERE k = '1'")
        shown = [shown[0] + 1, shown[1]]
    rows(two, "SELECT * FROM counter_sync(?)", str(tmp_path / "a.db"))
    assert [n for n, in rows(two, "SELECT n FROM t WHERE k < '3' ORDER BY k")] == shown
    assert rows(two, "SELECT * FROM counter_tracked WHERE state <> 'tracked'") == []


INDEXES = ["ON t(n, k, m)", "ON t(n, m)", "ON t(m, n, k)", "ON t(n DESC, k, m)", "ON t(k, n, m)", "ON t(n) WHERE n > 3"]


@pytest.mark.parametrize("number", range(EXAMPLES))
def test_tables_of_any_kind_count_each_row_once_that_another_file_has_counted(tmp_path, number):
    draw = random.Random(f"{SEED} once {number}")
    one, two = connect(tmp_path / "a.db"), connect(tmp_path / "b.db")
    wide = draw.choice(["", ", x TEXT, y TEXT, z TEXT"])
    for db in one, two:
        key = draw.choice(["k TEXT PRIMARY KEY NOT NULL", "k INTEGER PRIMARY KEY", "k PRIMARY KEY NOT NULL"])
        key = key if db is one else declared
        declared, kind = key, draw.choice(["", "WITHOUT ROWID"])
        db.execute(f"CREATE TABLE t({key}, m INTEGER NOT NULL DEFAULT 0, n INTEGER NOT NULL DEFAULT 0{wide}) {kind}")
        for i, index in enumerate(draw.sample(INDEXES, draw.randint(0, 3))):
            db.execute(f"CREATE INDEX i{i} {index}")
    n, both = draw.choice([1, 5, 60]), {}
    for k in range(n):
        theirs, mine = draw.randint(0, 9), draw.choice([None, 0, 0, draw.randint(1, 9)])
        one.execute("INSERT INTO t(k, m, n) VALUES (?, 1, ?)", (k, theirs))
        if mine is not None:
            two.execute("INSERT INTO t(k, n) VALUES (?, ?)", (k, mine))
        both[k] = theirs, mine or 0
    rows(one, "SELECT counter_track('t', 'm', 'n', 'keys=assigned')")
    rows(two, "SELECT counter_track('t', 'm', 'keys=assigned')")
    pull(two, tmp_path / "a.db")
    counted = {k: draw.randint(-5, 5) for k in draw.sample(range(n), n // 2)}
    for k, more in counted.items():
        one.execute("UPDATE t SET n = n + ? WHERE k = ?", (more, k))
    if draw.random() < .5:
        pull(two, tmp_path / "a.db")
    answer = draw.choice(["same", "add"])
    rows(two, f"SELECT counter_track('t', 'n', 'opening={answer}')")
    wanted = [(str(k), (max(pair) if answer == "same" else sum(pair)) + counted.get(k, 0)) for k, pair in both.items()]
    for _ in range(2):
        rows(two, "SELECT * FROM counter_sync(?)", str(tmp_path / "a.db"))
        for db in one, two:
            assert sorted(rows(db, "SELECT CAST(k AS TEXT), n FROM t")) == sorted(wanted)
            assert sorted(rows(db, "SELECT CAST(k AS TEXT), n FROM t_counters")) == sorted(wanted)
    assert rows(two, "SELECT * FROM counter_tracked WHERE state <> 'tracked'") == []


@pytest.mark.parametrize("kind", list(KINDS)[:2])
def test_a_new_counter_of_a_replicated_table_shows_what_a_pull_has_brought(tmp_path, kind):
    one, two = connect(tmp_path / "a.db"), connect(tmp_path / "b.db")
    one.executescript(f"CREATE TABLE t{KINDS[kind]}")
    two.executescript(f"CREATE TABLE t{KINDS[kind].replace(', n INTEGER', '').replace('(n, ', '(')}")
    one.execute("INSERT INTO t(k, m, n) VALUES ('1', 0, 5), ('2', 0, 7)")
    rows(one, "SELECT counter_replicate('t', 'm', 'n')")
    rows(two, "SELECT counter_replicate('t', 'm')")
    pull(two, tmp_path / "a.db")
    two.execute("ALTER TABLE t ADD COLUMN n INTEGER NOT NULL DEFAULT 0")
    two.execute("CREATE INDEX j ON t(n, k, m)")
    rows(two, "SELECT counter_replicate('t', 'n')")
    assert rows(two, "SELECT k, m, n FROM t ORDER BY k") == [("1", 0, 5), ("2", 0, 7)]


# ---- a column that is a counter here and a regular one there ----

@pytest.mark.parametrize("way", ["pull", "push", "feed"])
@pytest.mark.parametrize("counts", [True, False])
@pytest.mark.parametrize("was_regular", [True, False])
def test_a_column_that_counts_in_one_file_alone_keeps_its_table_from_merging(tmp_path, way, counts, was_regular):
    one, two = pair(tmp_path, "CREATE TABLE t(k TEXT PRIMARY KEY NOT NULL, x INTEGER, y TEXT)")
    for db in one, two:
        if was_regular or db is (two if counts else one):
            rows(db, "SELECT counter_replicate('t')")
    one.execute("INSERT INTO t VALUES ('tea', 1, 'one')")
    paths = {one: str(tmp_path / "a.db"), two: str(tmp_path / "b.db")}
    if was_regular:
        pull(two, tmp_path / "a.db")
    counter, regular = (one, two) if counts else (two, one)
    rows(counter, "SELECT counter_replicate('t', 'x')")
    rows(regular, "UPDATE t SET x = 6")
    rows(counter, "UPDATE t SET x = x + 100")
    if way == "feed" and not counts:  # perhaps an old batch of a file that has made x a counter, too
        one.execute("UPDATE t SET y = 'two'")
        feed(two, one)
        assert rows(two, "SELECT y FROM t") == [("two",)]
        rows(two, "INSERT INTO t VALUES ('jam', 3, '')")
        one, two = two, one
    before = rows(two, "SELECT * FROM t"), rows(two, "SELECT * FROM counter_tracked")
    if way == "feed":
        with pytest.raises(sqlite3.Error, match=r"column x is a counter at the source .*counter_replicate\('t', 'x'\)"):
            two.execute("BEGIN")
            feed(two, one)
        two.execute("ROLLBACK")
    else:
        notes = pull(two, paths[one]) if way == "pull" else rows(one, "SELECT * FROM counter_push(?)", paths[two])
        names = {one: paths[one], two: "main"} if way == "pull" else {one: "main", two: paths[two]}
        assert notes == [("t", 0, 0, 0, f"passed over: column x is a counter in {names[counter]} and a regular column in "
                          f"{names[regular]}: counter_replicate('t', 'x') there makes it a counter")]
    assert (rows(two, "SELECT * FROM t"), rows(two, "SELECT * FROM counter_tracked")) == before
    rows(regular, "SELECT counter_replicate('t', 'x', 'opening=same')")  # the call that the message names
    rows(counter, "SELECT counter_opening('t', 'same')")
    rows(one, "SELECT * FROM counter_sync(?)", paths[two])
    assert rows(one, "SELECT x FROM t ORDER BY k") == rows(two, "SELECT x FROM t ORDER BY k")


def test_a_renamed_column_that_becomes_a_counter_keeps_its_name_between_files(tmp_path):
    one, two = pair(tmp_path, "CREATE TABLE t(k TEXT PRIMARY KEY NOT NULL, x INTEGER)", "SELECT counter_replicate('t')")
    one.execute("INSERT INTO t VALUES ('tea', 0)")
    pull(two, tmp_path / "a.db")
    one.execute("ALTER TABLE t RENAME COLUMN x TO xx")
    rows(one, "SELECT counter_replicate('t', 'xx')")
    one.execute("UPDATE t SET xx = xx + 5")
    assert "column x is a counter in" in pull(two, tmp_path / "a.db")[0][4]
    rows(two, "SELECT counter_replicate('t', 'x')")
    two.execute("UPDATE t SET x = x + 1")
    rows(two, "SELECT * FROM counter_sync(?)", str(tmp_path / "a.db"))
    assert rows(one, "SELECT xx FROM t") == rows(two, "SELECT x FROM t") == [(6,)]


@pytest.mark.parametrize("first, second", [("", ", 'x'"), (", 'x'", ""), ("", "")])
def test_a_new_column_has_no_name_by_which_other_files_know_another_one(tmp_path, first, second):
    one, = pair(tmp_path, "CREATE TABLE t(k TEXT PRIMARY KEY NOT NULL, x INTEGER)", f"SELECT counter_replicate('t'{first})",
                "ALTER TABLE t RENAME COLUMN x TO y", "ALTER TABLE t ADD COLUMN x INTEGER")[:1]
    with pytest.raises(sqlite3.Error, match="t: another column was called x when it was replicated"):
        rows(one, f"SELECT counter_replicate('t'{second})")


def test_counter_track_refuses_a_regular_column(tmp_path):
    one, = pair(tmp_path, "CREATE TABLE t(k TEXT PRIMARY KEY NOT NULL, x INTEGER, y INTEGER)",
                "SELECT counter_replicate('t', 'y')")[:1]
    with pytest.raises(sqlite3.Error, match=r"counter_track: t: column x is a regular column: counter_replicate\('t', 'x'\) makes it a"):
        rows(one, "SELECT counter_track('t', 'x')")
    assert rows(one, "SELECT column_name, state FROM counter_tracked") == [("y", "tracked"), ("x", "regular")]


# ---- DROP COLUMN and new lives ----

@pytest.mark.skipif(sqlite3.sqlite_version_info < (3, 35), reason="DROP COLUMN came with 3.35")
@pytest.mark.parametrize("kind", ["VIRTUAL", "STORED"])
@pytest.mark.parametrize("function", ["counter_track", "counter_replicate"])
def test_a_column_can_be_dropped_beside_a_generated_one(tmp_path, kind, function):
    one, two = pair(tmp_path, 'CREATE TABLE t(k TEXT PRIMARY KEY NOT NULL, n INTEGER, mail TEXT, "an other" TEXT, low TEXT '
                    f"GENERATED ALWAYS AS (lower(mail)) {kind} UNIQUE, twice AS (low || low), size DECIMAL(4, 2) "
                    "DEFAULT (CAST(1 AS INTEGER)))", f"SELECT {function}('t', 'n')")
    if function == "counter_replicate":
        rows(one, "SELECT counter_untrack('t', 'an other')")
        rows(one, "SELECT counter_untrack('t', 'size')")
    one.execute('ALTER TABLE t DROP COLUMN "an other"')
    one.execute('ALTER TABLE t DROP COLUMN size')
    one.execute("INSERT INTO t(k, n, mail) VALUES ('p', 1, 'Ann@x'), ('q', 2, 'Bob@x')")
    pull(two, tmp_path / "a.db")
    one.execute("UPDATE OR REPLACE t SET mail = 'ANN@X' WHERE k = 'q'")  # removes p, by the generated column
    assert rows(one, "SELECT k, n FROM t") == [("q", 2)]
    assert rows(one, "SELECT k FROM t_counters WHERE n IS NOT NULL") == [("q",)]
    pull(two, tmp_path / "a.db")
    assert rows(two, "SELECT k, n FROM t") == [("q", 2)]


@pytest.mark.skipif(sqlite3.sqlite_version_info < (3, 35), reason="DROP COLUMN came with 3.35")
def test_a_column_can_be_dropped_whose_name_is_in_a_word_of_an_index(tmp_path):
    one, _ = pair(tmp_path, "CREATE TABLE t(k TEXT PRIMARY KEY NOT NULL, n INTEGER, mail TEXT, mai TEXT, low TEXT)",
                  "CREATE UNIQUE INDEX i ON t(lower(mail)) WHERE mail IS NOT NULL", "SELECT counter_track('t', 'n')")
    one.execute("ALTER TABLE t DROP COLUMN mai")
    one.execute("ALTER TABLE t DROP COLUMN low")
    one.execute("INSERT INTO t VALUES ('p', 1, 'Ann')")
    one.execute("REPLACE INTO t VALUES ('q', 2, 'ann')")
    assert rows(one, "SELECT k, n FROM t_counters") == rows(one, "SELECT k, n FROM t") == [("q", 2)]


@pytest.mark.parametrize("way", ["pull", "feed"])
@pytest.mark.parametrize("default, shown", [("'none'", "none"), ("(1 + 1)", "2"), (None, None)])
def test_a_new_life_begins_the_columns_too_that_the_giver_lacks(tmp_path, way, default, shown):
    declared = f"e TEXT DEFAULT {default}" if default else "e TEXT"
    a, b, c = (connect(tmp_path / f"{name}.db") for name in "abc")
    for db in a, b, c:
        rows(db, f"CREATE TABLE t(k TEXT PRIMARY KEY NOT NULL, a TEXT{'' if db is b else ', ' + declared})")
        rows(db, "SELECT counter_replicate('t')")
    a.execute("INSERT INTO t VALUES ('x', 'old', 'secret')")

    def meet(taker, giver, name):
        pull(taker, tmp_path / f"{name}.db") if way == "pull" else feed(taker, giver)

    meet(b, a, "a")
    b.execute("DELETE FROM t")
    b.execute("INSERT INTO t VALUES ('x', 'new')")
    meet(a, b, "b")
    meet(c, b, "b")
    assert rows(a, "SELECT * FROM t") == rows(c, "SELECT * FROM t") == [("x", "new", shown)]
    a.execute("UPDATE t SET e = 'mine'")
    meet(c, a, "a")
    assert rows(c, "SELECT * FROM t") == [("x", "new", "mine")]


# ---- rows that are missing after a rebuild ----

REBUILT = "CREATE TABLE products(sku TEXT PRIMARY KEY NOT NULL, name TEXT NOT NULL, note TEXT, stock INTEGER NOT NULL DEFAULT 0)"


def shop(tmp_path, function):
    one = connect(tmp_path / "a.db")
    rows(one, REBUILT)
    one.execute("INSERT INTO products VALUES ('tea', 'Tea', 'n', 10), ('jam', 'Jam', 'n', 5), ('salt', 'Salt', NULL, 1)")
    rows(one, f"SELECT {function}('products', 'stock')")
    one.execute("VACUUM INTO ?", (str(tmp_path / "b.db"),))
    return one, connect(tmp_path / "b.db")


@pytest.mark.parametrize("function", ["counter_track", "counter_replicate"])
def test_a_table_that_was_dropped_and_made_again_deletes_no_row_in_other_files_unasked(tmp_path, function):
    one, two = shop(tmp_path, function)
    all_rows = rows(two, "SELECT * FROM products ORDER BY sku")
    rows(one, "DROP TABLE products")
    rows(one, REBUILT)
    one.execute("INSERT INTO products VALUES ('tea', 'Tea', 'n', 10), ('oil', 'Oil', 'n', 2)")
    with pytest.raises(sqlite3.Error, match="has lost its triggers"):
        pull(one, tmp_path / "b.db")
    for call in f"SELECT {function}('products')", f"SELECT {function}('products', 'stock')":
        with pytest.raises(sqlite3.Error, match=r"products: 2 of its rows are missing, such as \('jam'\), and .*'missing=restored'.*'missing=deleted'"):
            rows(one, call)
    two.execute("UPDATE products SET stock = stock + 100 WHERE sku = 'jam'")
    assert rows(one, f"SELECT {function}('products', 'missing=restored')") == [(3,)]
    rows(one, "SELECT * FROM counter_sync(?)", str(tmp_path / "b.db"))
    assert rows(two, "SELECT sku, stock FROM products WHERE sku <> 'oil' ORDER BY sku") == [("jam", 105), ("salt", 1), ("tea", 10)]
    if function == "counter_replicate":
        assert rows(one, "SELECT * FROM products ORDER BY sku") == rows(two, "SELECT * FROM products ORDER BY sku")
        assert [(*row[:3], row[3] - 100 * (row[0] == "jam")) for row in rows(one, "SELECT * FROM products WHERE sku <> 'oil' "
                                                                             "ORDER BY sku")] == all_rows


@pytest.mark.parametrize("function", ["counter_track", "counter_replicate"])
def test_missing_rows_are_deleted_everywhere_if_the_call_says_so(tmp_path, function):
    one, two = shop(tmp_path, function)
    rows(one, "DROP TABLE products")
    rows(one, REBUILT)
    one.execute("INSERT INTO products VALUES ('tea', 'Tea', 'n', 10)")
    assert rows(one, f"SELECT {function}('products', 'missing=deleted')") == [(2,)]
    pull(two, tmp_path / "a.db")
    assert rows(two, "SELECT sku FROM products") == [("tea",)]


@pytest.mark.parametrize("answer, left", [("deleted", ["tea"]), ("restored", ["jam", "salt", "tea"])])
def test_an_untracked_column_of_a_rebuilt_table_needs_the_same_answer(tmp_path, answer, left):
    one, two = shop(tmp_path, "counter_replicate")
    rows(one, "DROP TABLE products")
    rows(one, REBUILT.replace("note TEXT, ", "").replace("name TEXT NOT NULL", "name TEXT NOT NULL DEFAULT ''"))
    one.execute("INSERT INTO products VALUES ('tea', 'Tea', 10)")
    with pytest.raises(sqlite3.Error, match="the replicated column note is missing"):
        rows(one, "SELECT counter_replicate('products')")
    with pytest.raises(sqlite3.Error, match=r"counter_untrack: products: 2 of its rows are missing.*'missing=restored'"):
        rows(one, "SELECT counter_untrack('products', 'note')")
    assert rows(one, f"SELECT counter_untrack('products', 'note', 'missing={answer}')") == [(1,)]
    rows(one, "SELECT * FROM counter_sync(?)", str(tmp_path / "b.db"))
    for db in one, two:
        assert [sku for sku, in rows(db, "SELECT sku FROM products ORDER BY sku")] == left


def test_rows_that_were_deleted_while_the_triggers_did_not_run_are_not_deleted_elsewhere_unasked(tmp_path):
    one, two = shop(tmp_path, "counter_replicate")
    for trigger, sql in rows(one, "SELECT name, sql FROM sqlite_master WHERE type = 'trigger'"):
        one.execute(f"DROP TRIGGER {trigger}")
    one.execute("DELETE FROM products WHERE sku = 'jam'")
    with pytest.raises(sqlite3.Error, match=r"products: 1 of its rows is missing, \('jam'\)"):
        rows(one, "SELECT counter_replicate('products')")
    rows(one, "SELECT counter_replicate('products', 'missing=restored')")
    pull(one, tmp_path / "b.db")
    assert rows(one, "SELECT name, note, stock FROM products WHERE sku = 'jam'") == [("Jam", "n", 5)]


def give_own(one, other):
    """What one file has changed itself, as a folder has it."""
    source, = rows(one, "SELECT counter_source(1)")[0]
    since, = rows(other, "SELECT counter_mark(?)", source)[0]
    given = rows(one, "SELECT table_name, key, change, seq, source, key_columns, upto FROM counter_changes(?) "
                      "WHERE own = 1", since)
    other.execute("BEGIN")
    other.executemany("INSERT INTO counter_changes(table_name, key, change, seq, source, key_columns) "
                      "VALUES (?, ?, ?, ?, ?, ?)", [row[:6] for row in given])
    if given:
        rows(other, "SELECT counter_seen(?, ?, ?)", source, since, given[-1][6])
    other.execute("COMMIT")
    return len(given)


@pytest.mark.parametrize("refuses", [True, False])
def test_missing_rows_get_their_values_back_from_files_that_give_only_what_they_have_changed(tmp_path, refuses):
    """Only the file that has lost a value had given it."""
    files = connect(tmp_path / "a.db"), connect(tmp_path / "b.db"), connect(tmp_path / "c.db")
    one, two, three = files
    table = f"CREATE TABLE products(sku TEXT PRIMARY KEY NOT NULL, name TEXT{' NOT NULL' * refuses}, stock INTEGER NOT NULL DEFAULT 0)"
    for db in files:
        rows(db, table)
        rows(db, "SELECT counter_replicate('products', 'stock')")
    one.execute("INSERT INTO products VALUES ('tea', 'Tea', 10)")
    for db in two, three:
        give_own(one, db)
    rows(one, "DROP TABLE products")
    rows(one, table)
    assert rows(one, "SELECT counter_replicate('products', 'missing=restored')") == [(1,)]
    given = [sum(give_own(a, b) for a in files for b in files if a is not b) for _ in range(4)]
    assert [rows(db, "SELECT * FROM products") for db in files] == 3 * [[("tea", "Tea", 10)]]
    assert len({rows(db, "SELECT counter_table_digest('products')")[0] for db in files}) == 1
    assert given[-1] == 0  # and nobody goes on giving it back


def test_a_rebuilt_table_with_all_its_rows_is_taken_without_an_answer(tmp_path):
    one, two = shop(tmp_path, "counter_replicate")
    one.execute("CREATE TABLE other AS SELECT * FROM products")
    rows(one, "DROP TABLE products")
    rows(one, REBUILT)
    one.execute("INSERT INTO products SELECT * FROM other")
    one.execute("UPDATE products SET stock = stock + 1")
    assert rows(one, "SELECT counter_replicate('products')") == [(3,)]
    pull(two, tmp_path / "a.db")
    assert rows(two, "SELECT sku, stock FROM products ORDER BY sku") == [("jam", 6), ("salt", 2), ("tea", 11)]
