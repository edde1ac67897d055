"""client.py - sqlite-utils by its Python interface."""
import importlib.metadata
import sqlite3

import sqlite_utils

import driver
import steps


class SqliteUtils(driver.Driver):
    def version(self):
        return f"{importlib.metadata.version('sqlite-utils')} (SQLite {sqlite3.sqlite_version})"

    def open(self, file):
        super().open(file)
        self.utils = sqlite_utils.Database(self.db)
        self.views = self.utils.table("page_views", pk="path")

    def row(self, path):
        return [view.values() for view in self.views.rows_where("path = ?", [path])]

    def create_ordinary(self):
        self.views.create({"path": str, "hits": int, "bytes": int}, pk="path",
                          not_null={"path", "hits", "bytes"}, defaults={"hits": 0, "bytes": 0})

    def introspect(self):
        return [*((column.name, column.type) for column in self.views.columns), ("key", *self.views.pks)]

    def insert(self):
        self.views.insert({"path": "/", "hits": 1, "bytes": 100})
        return [[*self.row("/")[0], "last", self.views.last_pk]]

    def insert_defaults(self):
        self.views.insert({"path": "/key-only"})
        return self.row("/key-only")

    def bulk_insert(self):
        self.views.insert_all({"path": path, "hits": hits, "bytes": size} for path, hits, size in steps.BULK)
        return [view.values() for view in self.views.rows_where("path BETWEEN '/a' AND '/e'", order_by="path")]

    def save(self):
        view, = self.views.rows_where("path = ?", ["/"])
        view["hits"] = 42
        self.views.upsert(view)
        return self.row("/")

    def upsert(self):
        self.views.insert({"path": "/upsert", "hits": 1})
        try:
            self.views.upsert({"path": "/upsert", "hits": 6})
            return self.row("/upsert")
        finally:
            self.views.delete_where("path = ?", ["/upsert"])

    def insert_or_ignore(self):
        self.utils["page_views"].insert({"path": "/", "hits": 5, "bytes": 5}, ignore=True)
        return self.row("/")

    def replace(self):
        self.views.insert({"path": "/b", "hits": 7}, replace=True)
        return self.row("/b")

    def delete_and_create(self):
        self.views.delete_where("path = ?", ["/a"])
        self.views.insert({"path": "/a", "hits": 3})
        return self.row("/a")

    def join(self):
        self.utils["pages"].insert_all(({"path": path, "title": title} for path, title in steps.PAGES), pk="path")
        return [row.values() for row in self.utils.query(
            "SELECT title, hits FROM pages JOIN page_views USING (path) ORDER BY title")]

    def paging(self):
        return [view.values() for view in self.views.rows_where(
            select="path, hits", order_by="path", limit=2, offset=2)]

    def aggregate(self):
        hits, = self.utils.query("SELECT sum(hits) AS hits FROM page_views")
        return [(hits["hits"], self.views.count)]

    def contents(self):
        return [view.values() for view in self.views.rows_where(order_by="path")]

    def write(self, path):
        with self.db:
            self.count("/", 1)
            self.views.insert({"path": path, "hits": 1})


steps.main(SqliteUtils)
