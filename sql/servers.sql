-- What a file remembers of the servers that it syncs with: functions/server.c, docs/batches.md. source: what
-- the server gives, without a scope; own: the name of the file's own changes, for which alone the mark holds.

-- name: SERVERS_CREATE
CREATE TABLE IF NOT EXISTS "{schema}"."counter_servers"(
  url TEXT PRIMARY KEY,
  source TEXT NOT NULL,
  own TEXT NOT NULL,
  mark INTEGER NOT NULL,
  told INTEGER) WITHOUT ROWID;

-- name: SERVERS_READ
SELECT source, own, mark, told FROM "{schema}".counter_servers WHERE url = :url;

-- name: SERVERS_WRITE
INSERT OR REPLACE INTO "{schema}".counter_servers(url, source, own, mark, told)
VALUES (:url, :source, :own, :mark, nullif(:told, -1));
