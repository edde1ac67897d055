-- Notes: full-text indexes with and without content of their own, tables WITHOUT ROWID, a join table, JSON.
PRAGMA user_version = 4;
CREATE TABLE notebooks(id TEXT PRIMARY KEY NOT NULL, title TEXT NOT NULL DEFAULT '', position INTEGER NOT NULL DEFAULT 0) WITHOUT ROWID;
CREATE TABLE notes(
  id INTEGER PRIMARY KEY,
  notebook_id TEXT NOT NULL REFERENCES notebooks(id) ON DELETE CASCADE,
  title TEXT NOT NULL DEFAULT '',
  body TEXT NOT NULL DEFAULT '',
  views INTEGER NOT NULL DEFAULT 0,
  created INTEGER NOT NULL DEFAULT (CAST(strftime('%s', 'now') AS INT)),
  words INTEGER GENERATED ALWAYS AS (length(body) - length(replace(body, ' ', '')) + 1) VIRTUAL);
CREATE TABLE tags(name TEXT PRIMARY KEY COLLATE NOCASE, colour TEXT) WITHOUT ROWID;
CREATE TABLE note_tags(note_id INTEGER NOT NULL, tag TEXT NOT NULL COLLATE NOCASE REFERENCES tags(name) ON UPDATE CASCADE,
  FOREIGN KEY (note_id) REFERENCES notes(id) ON DELETE CASCADE);
CREATE TABLE attachments(note_id INTEGER NOT NULL REFERENCES notes ON DELETE CASCADE, name TEXT NOT NULL, bytes BLOB,
  PRIMARY KEY (note_id, name)) WITHOUT ROWID;
CREATE VIRTUAL TABLE notes_fts USING fts5(title, body, content = 'notes', content_rowid = 'id');
CREATE VIRTUAL TABLE recent USING fts5(query);
CREATE TABLE schema_migrations(version INTEGER PRIMARY KEY);
CREATE TRIGGER notes_ai AFTER INSERT ON notes BEGIN
  INSERT INTO notes_fts(rowid, title, body) VALUES (new.id, new.title, new.body);
END;
CREATE TRIGGER notes_ad AFTER DELETE ON notes BEGIN
  INSERT INTO notes_fts(notes_fts, rowid, title, body) VALUES ('delete', old.id, old.title, old.body);
END;
CREATE TRIGGER notes_au AFTER UPDATE ON notes BEGIN
  INSERT INTO notes_fts(notes_fts, rowid, title, body) VALUES ('delete', old.id, old.title, old.body);
  INSERT INTO notes_fts(rowid, title, body) VALUES (new.id, new.title, new.body);
END;
CREATE VIEW tagged AS SELECT n.title, group_concat(t.tag) AS tags FROM notes AS n JOIN note_tags AS t ON t.note_id = n.id GROUP BY n.id;
INSERT INTO notebooks VALUES ('5f0e', 'Work', 1), ('9ab1', 'Home', 2);
INSERT INTO notes(notebook_id, title, body, views) VALUES
  ('5f0e', 'Plan', 'three tables and a view', 5), ('5f0e', 'Minutes', 'we met', 2), ('9ab1', 'Cake', 'eggs sugar flour', 9);
INSERT INTO tags VALUES ('todo', 'red'), ('recipe', 'green');
INSERT INTO note_tags VALUES (1, 'todo'), (2, 'todo'), (3, 'recipe');
INSERT INTO attachments VALUES (3, 'cake.jpg', x'ffd8');
INSERT INTO recent VALUES ('cake');
INSERT INTO schema_migrations VALUES (1), (2), (3), (4);
