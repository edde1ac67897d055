-- A music library in the manner of beets: albums and items, flexible attributes, undeclared references, plain integer keys.
CREATE TABLE items(id INTEGER PRIMARY KEY, path BLOB, album_id INTEGER, title TEXT, artist TEXT, track INTEGER, mtime REAL);
CREATE TABLE item_attributes(id INTEGER PRIMARY KEY, entity_id INTEGER, key TEXT, value TEXT, UNIQUE(entity_id, key) ON CONFLICT REPLACE);
CREATE INDEX item_attributes_by_entity ON item_attributes (entity_id);
CREATE TABLE albums(id INTEGER PRIMARY KEY, artpath BLOB, albumartist TEXT, album TEXT, year INTEGER);
CREATE TABLE album_attributes(id INTEGER PRIMARY KEY, entity_id INTEGER, key TEXT, value TEXT, UNIQUE(entity_id, key) ON CONFLICT REPLACE);
INSERT INTO albums VALUES (1, NULL, 'Can', 'Tago Mago', 1971);
INSERT INTO items VALUES (1, x'2f6d2f31', 1, 'Paperhouse', 'Can', 1, 1.0), (2, x'2f6d2f32', 1, 'Mushroom', 'Can', 2, 1.5);
INSERT INTO item_attributes VALUES (1, 1, 'mood', 'calm'), (2, 2, 'mood', 'odd');
