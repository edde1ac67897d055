"""client.py - pandas on a connection of Python's sqlite3: frames are appended, read, changed and written."""
import sqlite3

import pandas

import driver
import steps

COLUMNS = ["path", "hits", "bytes"]


class Pandas(driver.Driver):
    def version(self):
        return f"{pandas.__version__} (SQLite {sqlite3.sqlite_version})"

    def read(self, sql, *values):
        return pandas.read_sql(sql, self.db, params=values).itertuples(index=False)

    def row(self, path):
        return self.read("SELECT path, hits, bytes FROM page_views WHERE path = ?", path)

    def append(self, rows, columns=COLUMNS, table="page_views"):
        pandas.DataFrame(rows, columns=columns).to_sql(table, self.db, if_exists="append", index=False)

    def introspect(self):
        return [[name for name in pandas.read_sql("SELECT * FROM page_views", self.db).columns]]

    def insert(self):
        self.append([("/", 1, 100)])
        return self.row("/")

    def insert_defaults(self):
        self.append([("/key-only",)], ["path"])
        return self.row("/key-only")

    def bulk_insert(self):
        """A column that had a gap is one of floating point numbers."""
        frame = pandas.DataFrame(steps.BULK, columns=COLUMNS)
        gap = frame.reindex(range(6)).dropna()
        gap.to_sql("page_views", self.db, if_exists="append", index=False)
        return self.read("SELECT * FROM page_views WHERE path BETWEEN '/a' AND '/e' ORDER BY path")

    def save(self):
        frame = pandas.read_sql("SELECT * FROM page_views WHERE path = '/'", self.db)
        frame.loc[frame.path == "/", "hits"] = 42
        self.db.executemany("UPDATE page_views SET hits = ?, bytes = ? WHERE path = ?",
                            frame[["hits", "bytes", "path"]].astype(object).values.tolist())
        return self.row("/")

    def join(self):
        self.append(steps.PAGES, ["path", "title"], "pages")
        views = pandas.read_sql("SELECT path, hits FROM page_views", self.db)
        pages = pandas.read_sql("SELECT * FROM pages", self.db)
        return pages.merge(views, on="path").sort_values("title")[["title", "hits"]].itertuples(index=False)

    def paging(self):
        return self.read("SELECT path, hits FROM page_views ORDER BY path LIMIT ? OFFSET ?", 2, 2)

    def aggregate(self):
        frame = pandas.read_sql("SELECT * FROM page_views", self.db)
        return [(frame.hits.sum(), len(frame))]

    def contents(self):
        return self.read("SELECT * FROM page_views ORDER BY path")

    def write(self, path):
        with self.db:
            self.count("/", 1)
            self.append([(path, 1)], ["path", "hits"])


steps.main(Pandas)
