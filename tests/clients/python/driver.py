"""driver.py - Python's sqlite3, in its default mode: it begins a transaction before the first write."""
import sqlite3
import sys

import steps


class Driver(steps.SqlClient):
    def version(self):
        return f"{sys.version.split()[0]} (SQLite {sqlite3.sqlite_version})"

    def open(self, file):
        self.db = sqlite3.connect(file, timeout=10)
        self.db.enable_load_extension(True)
        self.db.load_extension(self.library)
        self.db.enable_load_extension(False)

    def close(self):
        self.db.close()

    def execute(self, sql, *values):
        return self.db.execute(sql, values).fetchall()

    def change(self, sql, *values):
        return self.db.execute(sql, values).rowcount

    def execute_many(self, sql, rows):
        self.db.executemany(sql, rows)

    def commit(self):
        self.db.commit()

    def recover(self):
        self.db.rollback()

    def write(self, path):
        with self.db:
            self.count("/", 1)
            self.execute("INSERT INTO page_views(path, hits) VALUES (?, ?)", path, 1)
