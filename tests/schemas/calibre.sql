-- A library of books in the manner of calibre: link tables without declared references, UNIQUE names without case, triggers that check.
CREATE TABLE books(id INTEGER PRIMARY KEY AUTOINCREMENT, title TEXT NOT NULL DEFAULT 'Unknown' COLLATE NOCASE, sort TEXT COLLATE NOCASE, path TEXT NOT NULL DEFAULT '', uuid TEXT);
CREATE TABLE authors(id INTEGER PRIMARY KEY, name TEXT NOT NULL COLLATE NOCASE, sort TEXT COLLATE NOCASE, link TEXT NOT NULL DEFAULT '', UNIQUE(name));
CREATE TABLE tags(id INTEGER PRIMARY KEY, name TEXT NOT NULL COLLATE NOCASE, UNIQUE(name));
CREATE TABLE books_authors_link(id INTEGER PRIMARY KEY, book INTEGER NOT NULL, author INTEGER NOT NULL, UNIQUE(book, author));
CREATE TABLE books_tags_link(id INTEGER PRIMARY KEY, book INTEGER NOT NULL, tag INTEGER NOT NULL, UNIQUE(book, tag));
CREATE TABLE data(id INTEGER PRIMARY KEY, book INTEGER NOT NULL, format TEXT NOT NULL COLLATE NOCASE, uncompressed_size INTEGER NOT NULL, name TEXT NOT NULL, UNIQUE(book, format));
CREATE TABLE comments(id INTEGER PRIMARY KEY, book INTEGER NOT NULL, text TEXT NOT NULL COLLATE NOCASE, UNIQUE(book));
CREATE INDEX books_authors_link_aidx ON books_authors_link (author);
CREATE VIEW meta AS SELECT id, title, (SELECT group_concat(name) FROM books_authors_link AS bal JOIN authors ON author = authors.id WHERE book = books.id) AS authors FROM books;
CREATE TRIGGER fkc_insert_data BEFORE INSERT ON data BEGIN
  SELECT CASE WHEN (SELECT id FROM books WHERE id = NEW.book) IS NULL THEN RAISE(ABORT, 'Foreign key violation: book not in books') END;
END;
CREATE TRIGGER books_delete_trg AFTER DELETE ON books BEGIN
  DELETE FROM books_authors_link WHERE book = OLD.id;
  DELETE FROM books_tags_link WHERE book = OLD.id;
  DELETE FROM data WHERE book = OLD.id;
END;
INSERT INTO books VALUES (1, 'Emma', 'Emma', 'e/1', 'u-1'), (2, 'Persuasion', 'Persuasion', 'p/2', 'u-2');
INSERT INTO authors VALUES (1, 'Jane Austen', 'Austen, Jane', '');
INSERT INTO tags VALUES (1, 'novel');
INSERT INTO books_authors_link VALUES (1, 1, 1), (2, 2, 1);
INSERT INTO books_tags_link VALUES (1, 1, 1);
INSERT INTO data VALUES (1, 1, 'EPUB', 100, 'emma');
