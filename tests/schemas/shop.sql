-- A shop: self-references, references in a circle, a key that is that of another row, totals kept by triggers.
CREATE TABLE departments(
  id INTEGER PRIMARY KEY, /* SQLite's */
  name TEXT NOT NULL UNIQUE,
  head_id INTEGER REFERENCES employees(id) DEFERRABLE INITIALLY DEFERRED);
CREATE TABLE employees(
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  name TEXT NOT NULL,
  manager_id INTEGER REFERENCES employees(id) ON DELETE SET NULL,
  department_id INTEGER NOT NULL REFERENCES departments(id) DEFERRABLE INITIALLY DEFERRED);
CREATE TABLE [categories](
  [id] INTEGER CONSTRAINT pk PRIMARY KEY ASC ON CONFLICT ABORT, -- of categories
  parent INTEGER REFERENCES categories(id),
  name TEXT NOT NULL,
  position INTEGER NOT NULL DEFAULT 0);
CREATE TABLE products(
  id INTEGER NOT NULL,
  sku TEXT NOT NULL,
  name TEXT NOT NULL,
  category_id INTEGER REFERENCES categories(id),
  price REAL NOT NULL CHECK (price >= 0),
  stock INTEGER NOT NULL DEFAULT 0,
  sold INTEGER NOT NULL DEFAULT 0,
  is_hidden INTEGER NOT NULL DEFAULT 0,
  version INTEGER NOT NULL DEFAULT 0,
  gross REAL AS (price * 1.2) STORED,
  updated_at TEXT,
  CONSTRAINT "the key" PRIMARY KEY (id /* given out */),
  UNIQUE (sku));
CREATE TABLE customers(
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  email TEXT COLLATE NOCASE UNIQUE,
  name TEXT NOT NULL);
CREATE TABLE customer_details(
  customer_id INTEGER PRIMARY KEY REFERENCES customers(id) ON DELETE CASCADE,
  address TEXT NOT NULL,
  points INTEGER NOT NULL DEFAULT 0);
CREATE TABLE orders(
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  customer_id INTEGER NOT NULL REFERENCES customers(id),
  status INTEGER NOT NULL DEFAULT 0,
  placed_at TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP);
CREATE TABLE order_items(
  order_id INTEGER NOT NULL REFERENCES orders(id) ON DELETE CASCADE,
  product_id INTEGER NOT NULL REFERENCES products(id),
  quantity INTEGER NOT NULL DEFAULT 1,
  PRIMARY KEY (order_id, product_id)) WITHOUT ROWID;
CREATE TABLE price_log(
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  product_id INTEGER NOT NULL,
  price REAL NOT NULL);
CREATE TABLE sessions(id TEXT PRIMARY KEY, data TEXT NOT NULL, expires INTEGER NOT NULL);
CREATE INDEX products_by_category ON products(category_id, price DESC);
CREATE INDEX open_orders ON orders(customer_id) WHERE status = 0;
CREATE VIEW stock_value AS SELECT sum(stock * price) AS value FROM products;
CREATE VIEW order_totals AS
SELECT o.id, sum(i.quantity * p.price) AS total
  FROM orders AS o JOIN order_items AS i ON i.order_id = o.id JOIN products AS p ON p.id = i.product_id GROUP BY o.id;
CREATE TRIGGER sell AFTER INSERT ON order_items BEGIN
  UPDATE products SET stock = stock - NEW.quantity, sold = sold + NEW.quantity WHERE id = NEW.product_id;
END;
CREATE TRIGGER log_price AFTER UPDATE OF price ON products WHEN NEW.price <> OLD.price BEGIN
  INSERT INTO price_log(product_id, price) VALUES (NEW.id, NEW.price);
END;
CREATE TRIGGER touch AFTER UPDATE OF name, price ON products BEGIN
  UPDATE products SET updated_at = datetime('now') WHERE id = NEW.id;
END;
BEGIN;
INSERT INTO departments(id, name, head_id) VALUES (1, 'Sales', 1), (2, 'Store', 3);
INSERT INTO employees(name, manager_id, department_id) VALUES ('Ann', NULL, 1), ('Bob', 1, 1), ('Cleo', 1, 2), ('Dora', 3, 2);
COMMIT;
INSERT INTO categories(id, parent, name, position) VALUES (1, NULL, 'Food', 1), (2, 1, 'Tea', 2), (3, 1, 'Jam', 3), (7, NULL, 'Books', 4);
INSERT INTO products(sku, name, category_id, price, stock) VALUES
  ('tea-1', 'Green tea', 2, 4.5, 100), ('tea-2', 'Black tea', 2, 3.9, 80), ('jam-1', 'Plum jam', 3, 3.2, 50), ('book', 'Cooking', 7, 19.9, 12);
INSERT INTO customers(email, name) VALUES ('eve@example.org', 'Eve'), ('finn@example.org', 'Finn'), (NULL, 'Walk-in');
INSERT INTO customer_details VALUES (1, 'First Street 1', 20), (2, 'Second Street 2', 0);
INSERT INTO orders(customer_id, status) VALUES (1, 0), (2, 1), (1, 2);
INSERT INTO order_items VALUES (1, 1, 3), (1, 3, 1), (2, 2, 5), (3, 4, 1);
UPDATE products SET price = 4.8 WHERE id = 1;
INSERT INTO sessions VALUES ('s1', '{}', 0);
ANALYZE;
