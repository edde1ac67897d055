-- A history in the manner of Firefox: counters, undeclared references in bookmarks, UNIQUE guids, an origin for each place.
CREATE TABLE moz_origins(id INTEGER PRIMARY KEY, prefix TEXT NOT NULL, host TEXT NOT NULL, frecency INTEGER NOT NULL, UNIQUE (prefix, host));
CREATE TABLE moz_places(id INTEGER PRIMARY KEY, url LONGVARCHAR, title LONGVARCHAR, visit_count INTEGER DEFAULT 0, guid TEXT, url_hash INTEGER DEFAULT 0 NOT NULL, origin_id INTEGER REFERENCES moz_origins(id));
CREATE UNIQUE INDEX moz_places_guid_uniqueindex ON moz_places (guid);
CREATE TABLE moz_historyvisits(id INTEGER PRIMARY KEY, from_visit INTEGER, place_id INTEGER, visit_date INTEGER, visit_type INTEGER);
CREATE TABLE moz_bookmarks(id INTEGER PRIMARY KEY, type INTEGER, fk INTEGER DEFAULT NULL, parent INTEGER, position INTEGER, title LONGVARCHAR, guid TEXT);
CREATE UNIQUE INDEX moz_bookmarks_guid_uniqueindex ON moz_bookmarks (guid);
CREATE TABLE moz_anno_attributes(id INTEGER PRIMARY KEY, name VARCHAR(32) UNIQUE NOT NULL);
CREATE TABLE moz_annos(id INTEGER PRIMARY KEY, place_id INTEGER NOT NULL, anno_attribute_id INTEGER, content LONGVARCHAR);
INSERT INTO moz_origins VALUES (1, 'https://', 'example.org', 10);
INSERT INTO moz_places VALUES (1, 'https://example.org/', 'Example', 3, 'g1', 47, 1);
INSERT INTO moz_historyvisits VALUES (1, 0, 1, 1600, 1), (2, 1, 1, 1700, 1);
INSERT INTO moz_bookmarks VALUES (1, 2, NULL, 0, 0, 'root', 'root________'), (2, 2, NULL, 1, 0, 'menu', 'menu________'), (3, 1, 1, 2, 0, 'Example', 'b1');
