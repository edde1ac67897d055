"""steps.py - the steps of tests/clients/README.md, for clients written in Python.

`Client` runs the actions of the command line. `SqlClient` adds the steps of a driver, all by SQL with
bound values: a driver says how it connects and executes; a library with an interface of its own
overrides the steps that this interface has.
"""
import os
import shutil
import sys

STEPS = [
    "create", "introspect", "insert", "insert defaults", "bulk insert", "increment", "save", "upsert",
    "insert or ignore", "replace", "returning", "delete and create", "join", "paging", "aggregate",
    "nested", "rollback", "contents", "merge",
]
COUNTER_TABLE = """CREATE VIRTUAL TABLE page_views USING counter(
    path TEXT NOT NULL PRIMARY KEY, hits COUNTER NOT NULL DEFAULT 0, bytes COUNTER NOT NULL DEFAULT 0)"""
ORDINARY_TABLE = """CREATE TABLE page_views(
    path TEXT NOT NULL PRIMARY KEY, hits INTEGER NOT NULL DEFAULT 0, bytes INTEGER NOT NULL DEFAULT 0)"""
BULK = [(f"/{letter}", n, 10 * n) for n, letter in enumerate("abcde", 1)]
PAGES = [("/", "Home"), ("/c", "Chapter")]
VALUE = "SELECT hits FROM {}.page_views WHERE path = '/'"


def shown(result):
    """A text as it is; rows as `value|value;value|value`."""
    if isinstance(result, str):
        return result
    return ";".join("|".join("NULL" if value is None else str(value) for value in row) for row in result)


def first_line(error):
    return (str(error) or type(error).__name__).split("\n")[0]


class Client:
    """A client has open(file) and close(), execute(sql, *values), which returns rows as tuples,
    create_ordinary(), a method for each other step, count(path, n), which adds to hits, and write(path):
    a transaction that counts for '/' and inserts a row."""

    def __init__(self, library, folder, mode):
        self.library, self.folder, self.mode = library, folder, mode
        os.chdir(folder)

    def execute(self, sql, *values):
        raise NotImplementedError

    def commit(self):
        """Ends the transaction of a step, if the client begins one by itself."""

    def recover(self):
        """Ends a transaction that an error has left open."""

    def create(self):
        if self.mode == "counter":
            self.execute(COUNTER_TABLE)
        else:
            self.create_ordinary()
        if "CLIENT_TRACK" in os.environ:
            self.execute(os.environ["CLIENT_TRACK"])
        return "created"

    def merge(self):
        """Two copies count apart and are merged; an ordinary table counts in one file. Both values agree."""
        self.close()
        other = "app.db" if self.mode == "ordinary" else "other.db"
        if other != "app.db":
            shutil.copy("app.db", other)
        for file, n in ("app.db", 10), (other, 20):
            self.open(file)
            self.count("/", n)
            self.commit()
            self.close()
        self.open("app.db")
        self.execute("ATTACH ? AS other", other)
        if self.mode != "ordinary":
            self.execute("SELECT * FROM counter_sync('other')")
        return [self.execute(VALUE.format("main"))[0] + self.execute(VALUE.format("other"))[0]]

    def steps(self):
        self.open("app.db")
        for name in STEPS:
            try:
                result = shown(getattr(self, name.replace(" ", "_"))())
                self.commit()
            except Exception as error:
                self.recover()
                result = "error: " + first_line(error)
            print(name, result, sep="\t", flush=True)
        self.close()

    def keys(self):
        """Rows whose keys SQLite gives out, before a merge and after it, each read by the key that the client told: add_order(item)
        returns it, and order(key) the item."""
        self.open("app.db")
        keys = {}
        for item in "abcdef":
            if item == "d":
                self.execute("SELECT * FROM counter_sync('other.db')")
                self.commit()
            keys[item] = self.add_order(item)
            self.commit()
        for item, key in keys.items():
            print(item, f"{key}|{self.order(key)}", sep="\t")
        self.close()

    def pool(self):
        self.open("pool.db")
        self.execute("PRAGMA journal_mode = wal")
        self.create()
        self.execute("INSERT INTO page_views(path, hits, bytes) VALUES ('/', 0, 0)")
        self.commit()
        self.close()

    def writers(self, transactions):
        locked = others = 0
        for n in range(transactions):
            try:
                try:
                    self.open("pool.db")
                    self.write(f"/{os.getpid()}-{n}")
                finally:
                    self.close()
            except Exception as error:
                if "locked" in str(error).lower() or "busy" in str(error).lower():
                    locked += 1
                else:
                    others += 1
                    if others == 1:
                        print(first_line(error), file=sys.stderr)
        print("transactions", transactions, sep="\t")
        print("lock errors", locked, sep="\t")
        print("other errors", others, sep="\t")


class SqlClient(Client):
    """The steps in SQL. A driver adds open, close, execute, execute_many, change, which returns how many
    rows a statement has changed, and version."""

    def row(self, path):
        return self.execute("SELECT path, hits, bytes FROM page_views WHERE path = ?", path)

    def create_ordinary(self):
        self.execute(ORDINARY_TABLE)

    def introspect(self):
        return [row[1:3] for row in self.execute("PRAGMA table_info(page_views)")]

    def insert(self):
        self.execute("INSERT INTO page_views(path, hits, bytes) VALUES (?, ?, ?)", "/", 1, 100)
        return self.row("/")

    def insert_defaults(self):
        self.execute("INSERT INTO page_views(path) VALUES (?)", "/key-only")
        return self.row("/key-only")

    def bulk_insert(self):
        self.execute_many("INSERT INTO page_views(path, hits, bytes) VALUES (?, ?, ?)", BULK)
        return self.execute("SELECT * FROM page_views WHERE path BETWEEN '/a' AND '/e' ORDER BY path")

    def increment(self):
        return [(self.count("/", 1),), *self.row("/")]

    def count(self, path, n):
        return self.change("UPDATE page_views SET hits = hits + ? WHERE path = ?", n, path)

    def save(self):
        (path, hits, size), = self.row("/")
        self.execute("UPDATE page_views SET hits = ?, bytes = ? WHERE path = ?", 42, size, path)
        return self.row("/")

    def upsert(self):
        self.execute("INSERT INTO page_views(path, hits) VALUES (?, ?)", "/upsert", 1)
        try:
            self.execute("INSERT INTO page_views(path, hits) VALUES (?, ?) "
                         "ON CONFLICT (path) DO UPDATE SET hits = hits + excluded.hits", "/upsert", 5)
            return self.row("/upsert")
        finally:
            self.recover()
            self.execute("DELETE FROM page_views WHERE path = ?", "/upsert")
            self.commit()

    def insert_or_ignore(self):
        self.execute("INSERT OR IGNORE INTO page_views(path, hits, bytes) VALUES (?, ?, ?)", "/", 5, 5)
        return self.row("/")

    def replace(self):
        self.execute("INSERT OR REPLACE INTO page_views(path, hits) VALUES (?, ?)", "/b", 7)
        return self.row("/b")

    def returning(self):
        self.execute("INSERT INTO page_views(path, hits) VALUES (?, ?)", "/returning", 1)
        try:
            return self.execute("UPDATE page_views SET hits = hits + 1 WHERE path = ? RETURNING hits", "/returning")
        finally:
            self.recover()
            self.execute("DELETE FROM page_views WHERE path = ?", "/returning")
            self.commit()

    def delete_and_create(self):
        deleted = self.change("DELETE FROM page_views WHERE path = ?", "/a")
        self.execute("INSERT INTO page_views(path, hits) VALUES (?, ?)", "/a", 3)
        return [(deleted,), *self.row("/a")]

    def join(self):
        self.execute("CREATE TABLE pages(path TEXT NOT NULL PRIMARY KEY, title TEXT NOT NULL)")
        self.execute_many("INSERT INTO pages(path, title) VALUES (?, ?)", PAGES)
        return self.execute("SELECT title, hits FROM pages JOIN page_views USING (path) ORDER BY title")

    def paging(self):
        return self.execute("SELECT path, hits FROM page_views ORDER BY path LIMIT ? OFFSET ?", 2, 2)

    def aggregate(self):
        return self.execute("SELECT sum(hits), count(*) FROM page_views")

    def nested(self):
        self.execute("BEGIN")
        self.count("/c", 1)
        self.execute("SAVEPOINT inner")
        self.count("/c", 10)
        self.execute("ROLLBACK TO inner")
        self.execute("RELEASE inner")
        self.execute("SAVEPOINT inner")
        self.count("/c", 100)
        self.execute("RELEASE inner")
        self.execute("COMMIT")
        return self.row("/c")

    def rollback(self):
        self.execute("BEGIN")
        self.count("/", 1000)
        self.execute("ROLLBACK")
        return self.row("/")

    def contents(self):
        return self.execute("SELECT * FROM page_views ORDER BY path")

    def write(self, path):
        self.execute("BEGIN")
        self.count("/", 1)
        self.execute("INSERT INTO page_views(path, hits) VALUES (?, ?)", path, 1)
        self.execute("COMMIT")


def main(client):
    library, folder, mode, action, *rest = sys.argv[1:]
    client = client(library, folder, mode)
    if action == "version":
        print(client.version())
    else:
        getattr(client, action)(*map(int, rest))
