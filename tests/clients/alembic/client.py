"""client.py - alembic migrates, and SQLAlchemy's core, without the ORM, counts."""
import pathlib
import sqlite3

import alembic
import sqlalchemy as sa
from alembic import autogenerate, command, config, migration
from sqlalchemy.dialects.sqlite import insert

import steps

metadata = sa.MetaData()
views = sa.Table(
    "page_views", metadata, sa.Column("path", sa.Text, primary_key=True, nullable=False),
    sa.Column("hits", sa.Integer, nullable=False, server_default="0"),
    sa.Column("bytes", sa.Integer, nullable=False, server_default="0"))
pages = sa.Table(
    "pages", metadata, sa.Column("path", sa.Text, primary_key=True, nullable=False),
    sa.Column("title", sa.Text, nullable=False))


class Alembic(steps.SqlClient):
    def version(self):
        return f"{alembic.__version__} (SQLite {sqlite3.sqlite_version})"

    def open(self, file):
        self.engine = sa.create_engine(f"sqlite:///{file}", connect_args={"timeout": 10}, future=True)

        @sa.event.listens_for(self.engine, "connect")
        def load(connection, record):
            connection.enable_load_extension(True)
            connection.load_extension(self.library)
            connection.enable_load_extension(False)

        self.db = self.engine.connect()

    def close(self):
        self.db.close()
        self.engine.dispose()

    def execute(self, sql, *values):
        result = self.db.exec_driver_sql(sql, values)
        return [tuple(row) for row in result] if result.returns_rows else []

    def change(self, sql, *values):
        return self.db.exec_driver_sql(sql, values).rowcount

    def commit(self):
        self.db.commit()

    def recover(self):
        self.db.rollback()

    def migrate(self, revision):
        settings = config.Config()
        settings.set_main_option("script_location", str(pathlib.Path(__file__).parent / "migrations"))
        settings.attributes.update(connection=self.db, mode=self.mode)
        command.upgrade(settings, revision)
        self.db.commit()

    def create(self):
        self.migrate("1")
        return "created"

    def introspect(self):
        """What autogenerate would change; without the option it would remove the tables of the extension."""
        context = migration.MigrationContext.configure(self.db, opts={
            "compare_type": True, "compare_server_default": True,
            "include_name": lambda name, kind, parents: kind != "table" or name in metadata.tables})
        changes = autogenerate.compare_metadata(context, metadata)
        return [(change[0][0], change[0][3]) if isinstance(change, list) else (change[0], change[1].name)
                for change in changes]

    def insert(self):
        self.db.execute(sa.insert(views), {"path": "/", "hits": 1, "bytes": 100})
        return self.row("/")

    def insert_defaults(self):
        self.db.execute(sa.insert(views), {"path": "/key-only"})
        return self.row("/key-only")

    def bulk_insert(self):
        self.db.execute(sa.insert(views), [dict(zip(("path", "hits", "bytes"), row)) for row in steps.BULK])
        return self.db.execute(sa.select(views).where(views.c.path.between("/a", "/e")).order_by(views.c.path))

    def count(self, path, n):
        return self.db.execute(sa.update(views).where(views.c.path == path).values(hits=views.c.hits + n)).rowcount

    def save(self):
        self.db.execute(sa.update(views).where(views.c.path == "/").values(hits=42, bytes=views.c.bytes))
        return self.row("/")

    def upsert(self):
        self.db.execute(sa.insert(views), {"path": "/upsert", "hits": 1})
        self.db.commit()
        try:
            new = insert(views).values(path="/upsert", hits=5)
            self.db.execute(new.on_conflict_do_update(
                index_elements=["path"], set_={"hits": views.c.hits + new.excluded.hits}))
            return self.row("/upsert")
        finally:
            self.db.rollback()
            self.db.execute(sa.delete(views).where(views.c.path == "/upsert"))
            self.db.commit()

    def join(self):
        self.db.commit()
        self.migrate("head")
        self.db.execute(sa.insert(pages), [{"path": path, "title": title} for path, title in steps.PAGES])
        return self.db.execute(sa.select(pages.c.title, views.c.hits)
                               .join_from(pages, views, pages.c.path == views.c.path).order_by(pages.c.title))

    def nested(self):
        self.count("/c", 1)
        inner = self.db.begin_nested()
        self.count("/c", 10)
        inner.rollback()
        with self.db.begin_nested():
            self.count("/c", 100)
        return self.row("/c")

    def rollback(self):
        self.count("/", 1000)
        self.db.rollback()
        return self.row("/")

    def write(self, path):
        with self.db.begin():
            self.count("/", 1)
            self.db.execute(sa.insert(views), {"path": path, "hits": 1})


steps.main(Alembic)
