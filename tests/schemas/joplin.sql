-- Notes in the manner of Joplin: all keys are texts that the program draws, and a full-text table with a rowid of its own.
CREATE TABLE folders(id TEXT PRIMARY KEY, title TEXT NOT NULL DEFAULT '', created_time INT NOT NULL, parent_id TEXT NOT NULL DEFAULT '');
CREATE TABLE notes(id TEXT PRIMARY KEY, parent_id TEXT NOT NULL DEFAULT '', title TEXT NOT NULL DEFAULT '', body TEXT NOT NULL DEFAULT '', updated_time INT NOT NULL, is_todo INT NOT NULL DEFAULT 0);
CREATE TABLE tags(id TEXT PRIMARY KEY, title TEXT NOT NULL DEFAULT '', updated_time INT NOT NULL);
CREATE TABLE note_tags(id TEXT PRIMARY KEY, note_id TEXT NOT NULL, tag_id TEXT NOT NULL);
CREATE TABLE settings(key TEXT PRIMARY KEY, value TEXT);
CREATE TABLE notes_normalized(id TEXT NOT NULL, title TEXT NOT NULL DEFAULT '', body TEXT NOT NULL DEFAULT '');
CREATE VIRTUAL TABLE notes_fts USING fts4(content="notes_normalized", notindexed="id", id, title, body);
CREATE TRIGGER notes_after_insert AFTER INSERT ON notes_normalized BEGIN
  INSERT INTO notes_fts(docid, id, title, body) SELECT rowid, id, title, body FROM notes_normalized WHERE NEW.rowid = notes_normalized.rowid;
END;
INSERT INTO folders VALUES ('f1', 'Home', 1, '');
INSERT INTO notes VALUES ('n1', 'f1', 'Cake', 'eggs', 1, 0), ('n2', 'f1', 'Tea', 'leaves', 1, 0);
INSERT INTO tags VALUES ('t1', 'recipe', 1);
INSERT INTO note_tags VALUES ('x1', 'n1', 't1');
INSERT INTO notes_normalized SELECT id, title, body FROM notes;
