"""client.py - SQLAlchemy's ORM; the extension is loaded by the event `connect`."""
import sqlite3

import sqlalchemy as sa
from sqlalchemy import orm
from sqlalchemy.dialects.sqlite import insert

import steps

Base = orm.declarative_base()


class PageView(Base):
    __tablename__ = "page_views"
    path = sa.Column(sa.Text, primary_key=True)
    hits = sa.Column(sa.Integer, nullable=False, default=0, server_default="0")
    bytes = sa.Column(sa.Integer, nullable=False, default=0, server_default="0")


class Page(Base):
    __tablename__ = "pages"
    path = sa.Column(sa.Text, primary_key=True)
    title = sa.Column(sa.Text, nullable=False)


class Order(Base):
    __tablename__ = "orders"
    __table_args__ = {"sqlite_autoincrement": True}
    id = sa.Column(sa.Integer, primary_key=True)
    item = sa.Column(sa.Text)


class SqlAlchemy(steps.Client):
    def version(self):
        return f"{sa.__version__} (SQLite {sqlite3.sqlite_version})"

    def open(self, file):
        self.engine = sa.create_engine(f"sqlite:///{file}", connect_args={"timeout": 10}, future=True)

        @sa.event.listens_for(self.engine, "connect")
        def load(connection, record):
            connection.enable_load_extension(True)
            connection.load_extension(self.library)
            connection.enable_load_extension(False)

        self.session = orm.Session(self.engine, future=True)

    def close(self):
        self.session.close()
        self.engine.dispose()

    def execute(self, sql, *values):
        parts = sql.split("?")
        names = [f"value{n}" for n in range(len(values))]
        text = parts[0] + "".join(f":{name}{part}" for name, part in zip(names, parts[1:]))
        result = self.session.execute(sa.text(text), dict(zip(names, values)))
        return [tuple(row) for row in result] if result.returns_rows else []

    def commit(self):
        self.session.commit()

    def recover(self):
        self.session.rollback()

    def add_order(self, item):
        self.session.add(order := Order(item=item))
        self.session.flush()
        return order.id

    def order(self, key):
        self.session.expunge_all()
        return self.session.get(Order, key).item

    def row(self, path):
        self.session.commit()
        view = self.session.get(PageView, path)
        return [(view.path, view.hits, view.bytes)]

    def create_ordinary(self):
        Base.metadata.create_all(self.engine, tables=[PageView.__table__])

    def introspect(self):
        return [(column["name"], column["type"]) for column in sa.inspect(self.engine).get_columns("page_views")]

    def insert(self):
        self.session.add(PageView(path="/", hits=1, bytes=100))
        return self.row("/")

    def insert_defaults(self):
        self.session.execute(sa.insert(PageView.__table__).values(path="/key-only").inline())
        return self.row("/key-only")

    def bulk_insert(self):
        self.session.bulk_save_objects([PageView(path=path, hits=hits, bytes=size) for path, hits, size in steps.BULK])
        return self.session.execute(sa.select(PageView.path, PageView.hits, PageView.bytes)
                                    .where(PageView.path.between("/a", "/e")).order_by(PageView.path))

    def increment(self):
        self.count("/", 1)
        return self.row("/")

    def count(self, path, n):
        self.session.get(PageView, path).hits = PageView.hits + n
        self.session.flush()

    def save(self):
        view = self.session.get(PageView, "/")
        view.hits = 42
        orm.attributes.flag_modified(view, "bytes")
        return self.row("/")

    def upsert(self):
        self.session.add(PageView(path="/upsert", hits=1))
        self.session.commit()
        try:
            new = insert(PageView).values(path="/upsert", hits=5, bytes=0)
            self.session.execute(new.on_conflict_do_update(
                index_elements=["path"], set_={"hits": PageView.hits + new.excluded.hits}))
            return self.row("/upsert")
        finally:
            self.session.rollback()
            self.session.execute(sa.delete(PageView).where(PageView.path == "/upsert"))
            self.session.commit()

    def insert_or_ignore(self):
        self.session.execute(sa.insert(PageView).prefix_with("OR IGNORE").values(path="/", hits=5, bytes=5))
        return self.row("/")

    def replace(self):
        self.session.execute(sa.insert(PageView).prefix_with("OR REPLACE").values(path="/b", hits=7))
        return self.row("/b")

    def returning(self):
        view = PageView(path="/returning", hits=1)
        self.session.add(view)
        self.session.flush()
        view.hits = PageView.hits + 1
        self.session.flush()
        self.session.refresh(view)
        result = [(view.hits,)]
        self.session.delete(view)
        return result

    def delete_and_create(self):
        self.session.delete(self.session.get(PageView, "/a"))
        self.session.flush()
        self.session.add(PageView(path="/a", hits=3))
        return self.row("/a")

    def join(self):
        self.session.commit()
        Base.metadata.create_all(self.engine)
        self.session.add_all([Page(path=path, title=title) for path, title in steps.PAGES])
        return self.session.execute(sa.select(Page.title, PageView.hits)
                                    .join(PageView, PageView.path == Page.path).order_by(Page.title))

    def paging(self):
        return self.session.execute(sa.select(PageView.path, PageView.hits)
                                    .order_by(PageView.path).limit(2).offset(2))

    def aggregate(self):
        return self.session.execute(sa.select(sa.func.sum(PageView.hits), sa.func.count()).select_from(PageView))

    def nested(self):
        self.count("/c", 1)
        inner = self.session.begin_nested()
        self.count("/c", 10)
        inner.rollback()
        with self.session.begin_nested():
            self.count("/c", 100)
        return self.row("/c")

    def rollback(self):
        self.count("/", 1000)
        self.session.rollback()
        return self.row("/")

    def contents(self):
        return [(view.path, view.hits, view.bytes)
                for view in self.session.scalars(sa.select(PageView).order_by(PageView.path))]

    def write(self, path):
        with self.session.begin():
            self.session.execute(sa.update(PageView).where(PageView.path == "/").values(hits=PageView.hits + 1))
            self.session.add(PageView(path=path, hits=1))


steps.main(SqlAlchemy)
