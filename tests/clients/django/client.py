"""client.py - Django's ORM; the extension is loaded by the signal `connection_created`."""
import io
import re

import django
from django.conf import settings
from django.core.management import call_command
from django.db import connection, models, transaction
from django.db.backends.signals import connection_created

import steps

settings.configure(DATABASES={"default": {
    "ENGINE": "django.db.backends.sqlite3", "NAME": "app.db", "OPTIONS": {"timeout": 10}}})
django.setup()


class PageView(models.Model):
    path = models.TextField(primary_key=True)
    hits = models.IntegerField(default=0)
    bytes = models.IntegerField(default=0)

    class Meta:
        app_label, db_table = "site", "page_views"


class Page(models.Model):
    path = models.TextField(primary_key=True)
    title = models.TextField()

    class Meta:
        app_label, db_table = "site", "pages"


class Order(models.Model):
    id = models.BigAutoField(primary_key=True)
    item = models.TextField()

    class Meta:
        app_label, db_table = "site", "orders"


class TakeBack(Exception):
    pass


class Django(steps.Client):
    def __init__(self, library, folder, mode):
        super().__init__(library, folder, mode)
        connection_created.connect(self.load)

    def load(self, connection, **_):
        connection.connection.enable_load_extension(True)
        connection.connection.load_extension(self.library)
        connection.connection.enable_load_extension(False)

    def version(self):
        return f"{django.get_version()} (SQLite {'.'.join(map(str, connection.Database.sqlite_version_info))})"

    def open(self, file):
        connection.settings_dict["NAME"] = file
        connection.connect()

    def close(self):
        connection.close()

    def execute(self, sql, *values):
        with connection.cursor() as cursor:
            cursor.execute(sql.replace("?", "%s"), values)
            return cursor.fetchall()

    def row(self, path):
        return PageView.objects.filter(path=path).values_list("path", "hits", "bytes")

    def create_ordinary(self):
        with connection.schema_editor() as editor:
            editor.create_model(PageView)

    def introspect(self):
        out = io.StringIO()
        call_command("inspectdb", "page_views", stdout=out)
        return re.findall(r"^    (\w+) = models\.(\w+)\(", out.getvalue(), re.M)

    def insert(self):
        PageView.objects.create(path="/", hits=1, bytes=100)
        return self.row("/")

    def insert_defaults(self):
        PageView.objects.create(path="/key-only")
        return self.row("/key-only")

    def bulk_insert(self):
        PageView.objects.bulk_create([PageView(path=path, hits=hits, bytes=size) for path, hits, size in steps.BULK])
        return PageView.objects.filter(path__range=("/a", "/e")).order_by("path").values_list("path", "hits", "bytes")

    def increment(self):
        return [(self.count("/", 1),), *self.row("/")]

    def count(self, path, n):
        return PageView.objects.filter(path=path).update(hits=models.F("hits") + n)

    def save(self):
        view = PageView.objects.get(path="/")
        view.hits = 42
        view.save()
        return self.row("/")

    def upsert(self):
        for _ in range(2):
            view, _ = PageView.objects.update_or_create(path="/upsert", defaults={"hits": 6})
        result = list(self.row("/upsert"))
        view.delete()
        return result

    def insert_or_ignore(self):
        PageView.objects.bulk_create([PageView(path="/", hits=5, bytes=5)], ignore_conflicts=True)
        return self.row("/")

    def replace(self):
        self.execute("INSERT OR REPLACE INTO page_views(path, hits, bytes) VALUES (?, ?, ?)", "/b", 7, 0)
        return self.row("/b")

    def returning(self):
        view = PageView.objects.create(path="/returning", hits=1)
        view.hits = models.F("hits") + 1
        view.save()
        view.refresh_from_db()
        result = [(view.hits,)]
        view.delete()
        return result

    def delete_and_create(self):
        deleted, _ = PageView.objects.get(path="/a").delete()
        PageView.objects.create(path="/a", hits=3)
        return [(deleted,), *self.row("/a")]

    def join(self):
        with connection.schema_editor() as editor:
            editor.create_model(Page)
        Page.objects.bulk_create([Page(path=path, title=title) for path, title in steps.PAGES])
        hits = PageView.objects.filter(path=models.OuterRef("path")).values("hits")
        return Page.objects.annotate(hits=models.Subquery(hits)).order_by("title").values_list("title", "hits")

    def add_order(self, item):
        return Order.objects.create(item=item).pk

    def order(self, key):
        return Order.objects.get(pk=key).item

    def paging(self):
        return PageView.objects.order_by("path").values_list("path", "hits")[2:4]

    def aggregate(self):
        return [PageView.objects.aggregate(hits=models.Sum("hits"), rows=models.Count("*")).values()]

    def nested(self):
        with transaction.atomic():
            self.count("/c", 1)
            try:
                with transaction.atomic():
                    self.count("/c", 10)
                    raise TakeBack
            except TakeBack:
                pass
            with transaction.atomic():
                self.count("/c", 100)
        return self.row("/c")

    def rollback(self):
        try:
            with transaction.atomic():
                self.count("/", 1000)
                raise TakeBack
        except TakeBack:
            return self.row("/")

    def contents(self):
        return PageView.objects.order_by("path").values_list("path", "hits", "bytes")

    def write(self, path):
        with transaction.atomic():
            self.count("/", 1)
            PageView.objects.create(path=path, hits=1)


steps.main(Django)
