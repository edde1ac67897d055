"""shops.py - files that count in the tests of transports, and what all of them must show in the end."""
import sqlite3

TABLES = ("CREATE TABLE IF NOT EXISTS products(sku TEXT PRIMARY KEY, name TEXT, stock INTEGER NOT NULL DEFAULT 0)",
          "CREATE VIRTUAL TABLE IF NOT EXISTS hits USING counter(shop, page, n COUNTER, PRIMARY KEY (shop, page))")


class Shop:
    """A file with a replicated table and a counter table."""

    def __init__(self, counter, path, timeout=10, connect=None):
        self.counter, self.path = counter, str(path)
        self.db = (connect or (lambda path: sqlite3.connect(path, timeout=timeout, isolation_level=None)))(self.path)
        counter.load(self.db)
        for table in TABLES:
            self(table)
        if not self("SELECT 1 FROM counter_tracked"):
            self("SELECT counter_replicate('products', 'stock')")

    def __call__(self, sql, *values):
        return list(self.db.cursor().execute(sql, values))

    def count(self, sku, n=1):
        self("INSERT INTO products(sku, stock) VALUES (?, ?) ON CONFLICT DO UPDATE SET stock = stock + excluded.stock", sku, n)

    def hit(self, shop, page, n=1):
        self("INSERT INTO hits VALUES (?, ?, ?)", shop, page, n)

    def content(self):
        return dict(self("SELECT sku, stock FROM products")), dict(self("SELECT shop || ' ' || page, n FROM hits"))

    def id(self):
        return self("SELECT counter_settle()")[0][0]

    def close(self):
        self.db.close()


class Model:
    """The sums of all increments that were acknowledged."""

    def __init__(self):
        self.products, self.hits = {}, {}

    def count(self, shop, sku, n):
        shop.count(sku, n)
        self.products[sku] = self.products.get(sku, 0) + n

    def hit(self, shop, name, page, n):
        shop.hit(name, page, n)
        self.hits[f"{name} {page}"] = self.hits.get(f"{name} {page}", 0) + n

    def step(self, shop, chance):
        if chance.random() < 0.5:
            self.count(shop, chance.choice("abcdef"), chance.randrange(-9, 10))
        else:
            self.hit(shop, chance.choice("xy"), chance.choice("123"), chance.randrange(1, 10))

    def content(self):
        return self.products, self.hits
