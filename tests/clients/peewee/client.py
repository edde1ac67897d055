"""client.py - peewee; SqliteExtDatabase loads the extension."""
import peewee
from playhouse import reflection, sqlite_ext

import steps

database = sqlite_ext.SqliteExtDatabase(None)


class Table(peewee.Model):
    class Meta:
        database = database


class PageView(Table):
    path = peewee.TextField(primary_key=True)
    hits = peewee.IntegerField(default=0, constraints=[peewee.SQL("DEFAULT 0")])
    bytes = peewee.IntegerField(default=0, constraints=[peewee.SQL("DEFAULT 0")])

    class Meta:
        table_name = "page_views"


class Page(Table):
    path = peewee.TextField(primary_key=True)
    title = peewee.TextField()

    class Meta:
        table_name = "pages"


class Order(Table):
    item = peewee.TextField()

    class Meta:
        table_name = "orders"


class Peewee(steps.Client):
    def version(self):
        return f"{peewee.__version__} (SQLite {'.'.join(map(str, peewee.sqlite3.sqlite_version_info))})"

    def open(self, file):
        database.init(file, timeout=10)
        database.load_extension(self.library)
        database.connect(reuse_if_open=True)

    def close(self):
        database.close()
        database.unload_extension(self.library)

    def execute(self, sql, *values):
        return database.execute_sql(sql, values).fetchall()

    def add_order(self, item):
        return Order.create(item=item).id

    def order(self, key):
        return Order.get_by_id(key).item

    def row(self, path):
        return PageView.select().where(PageView.path == path).tuples()

    def create_ordinary(self):
        database.create_tables([PageView])

    def introspect(self):
        columns = reflection.Introspector.from_database(database).introspect(["page_views"]).columns["page_views"]
        return [(name, column.field_class.__name__) for name, column in columns.items()]

    def insert(self):
        PageView.create(path="/", hits=1, bytes=100)
        return self.row("/")

    def insert_defaults(self):
        PageView.create(path="/key-only")
        return self.row("/key-only")

    def bulk_insert(self):
        PageView.insert_many(steps.BULK, fields=[PageView.path, PageView.hits, PageView.bytes]).execute()
        return PageView.select().where(PageView.path.between("/a", "/e")).order_by(PageView.path).tuples()

    def increment(self):
        return [(self.count("/", 1),), *self.row("/")]

    def count(self, path, n):
        return PageView.update(hits=PageView.hits + n).where(PageView.path == path).execute()

    def save(self):
        view = PageView.get_by_id("/")
        view.hits = 42
        view.save()
        return self.row("/")

    def upsert(self):
        PageView.create(path="/upsert", hits=1)
        try:
            PageView.insert(path="/upsert", hits=5).on_conflict(
                conflict_target=[PageView.path], update={PageView.hits: PageView.hits + peewee.EXCLUDED.hits}).execute()
            return list(self.row("/upsert"))
        finally:
            PageView.delete_by_id("/upsert")

    def insert_or_ignore(self):
        PageView.insert(path="/", hits=5, bytes=5).on_conflict_ignore().execute()
        return self.row("/")

    def replace(self):
        PageView.replace(path="/b", hits=7).execute()
        return self.row("/b")

    def returning(self):
        PageView.create(path="/returning", hits=1)
        try:
            return list(PageView.update(hits=PageView.hits + 1).where(PageView.path == "/returning")
                        .returning(PageView.hits).tuples().execute())
        finally:
            PageView.delete_by_id("/returning")

    def delete_and_create(self):
        deleted = PageView.get_by_id("/a").delete_instance()
        PageView.create(path="/a", hits=3)
        return [(deleted,), *self.row("/a")]

    def join(self):
        database.create_tables([Page])
        Page.insert_many(steps.PAGES, fields=[Page.path, Page.title]).execute()
        return (Page.select(Page.title, PageView.hits).join(PageView, on=PageView.path == Page.path)
                .order_by(Page.title).tuples())

    def paging(self):
        return PageView.select(PageView.path, PageView.hits).order_by(PageView.path).limit(2).offset(2).tuples()

    def aggregate(self):
        return PageView.select(peewee.fn.SUM(PageView.hits), peewee.fn.COUNT(peewee.SQL("*"))).tuples()

    def nested(self):
        with database.atomic():
            self.count("/c", 1)
            with database.atomic() as inner:
                self.count("/c", 10)
                inner.rollback()
            with database.atomic():
                self.count("/c", 100)
        return self.row("/c")

    def rollback(self):
        with database.atomic() as transaction:
            self.count("/", 1000)
            transaction.rollback()
        return self.row("/")

    def contents(self):
        return PageView.select().order_by(PageView.path).tuples()

    def write(self, path):
        with database.atomic():
            self.count("/", 1)
            PageView.create(path=path, hits=1)


steps.main(Peewee)
