-- Flash cards in the manner of Anki: numbers are times that the program gives, references are undeclared.
CREATE TABLE col(id integer PRIMARY KEY, crt integer NOT NULL, mod integer NOT NULL, conf text NOT NULL);
CREATE TABLE decks(id integer PRIMARY KEY NOT NULL, name text NOT NULL COLLATE NOCASE, mtime_secs integer NOT NULL);
CREATE UNIQUE INDEX idx_decks_name ON decks(name);
CREATE TABLE notes(id integer PRIMARY KEY, guid text NOT NULL, mid integer NOT NULL, mod integer NOT NULL, usn integer NOT NULL, tags text NOT NULL, flds text NOT NULL, sfld integer NOT NULL);
CREATE TABLE cards(id integer PRIMARY KEY, nid integer NOT NULL, did integer NOT NULL, ord integer NOT NULL, mod integer NOT NULL, usn integer NOT NULL, reps integer NOT NULL, lapses integer NOT NULL);
CREATE TABLE revlog(id integer PRIMARY KEY, cid integer NOT NULL, usn integer NOT NULL, ease integer NOT NULL);
CREATE TABLE graves(usn integer NOT NULL, oid integer NOT NULL, type integer NOT NULL);
CREATE TABLE tags(tag text NOT NULL PRIMARY KEY COLLATE NOCASE, usn integer NOT NULL) WITHOUT ROWID;
CREATE INDEX ix_cards_nid ON cards(nid);
CREATE INDEX ix_revlog_cid ON revlog(cid);
INSERT INTO col VALUES (1, 1600000000, 1600000000, '{}');
INSERT INTO decks VALUES (1, 'Default', 0), (1600000000001, 'French', 0);
INSERT INTO notes VALUES (1600000000100, 'aaaa', 1, 0, 0, '', 'chat', 0), (1600000000200, 'bbbb', 1, 0, 0, '', 'chien', 0);
INSERT INTO cards VALUES (1600000000101, 1600000000100, 1600000000001, 0, 0, 0, 3, 0), (1600000000201, 1600000000200, 1600000000001, 0, 0, 0, 5, 1);
INSERT INTO revlog VALUES (1600000000500, 1600000000101, 0, 3);
