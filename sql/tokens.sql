-- The tokens of a served file, the ids that are bound to them, and the sources that each has brought:
-- functions/sender.c, docs/batches.md. The packages make the first two tables.

-- name: TOKENS_DEVICE
SELECT device FROM main.counter_http_tokens WHERE token = :token;

-- name: TOKENS_HAS_ID
SELECT 1 FROM main.counter_http_ids WHERE token = :token LIMIT 1;

-- A row if the id is bound to another token.
-- name: TOKENS_IS_FOREIGN
SELECT 1 FROM main.counter_http_ids WHERE id = :id AND token <> :token;

-- name: TOKENS_BIND
INSERT INTO main.counter_http_ids(id, token) VALUES (:id, :token);

-- name: TOKENS_CREATE_SOURCES
CREATE TABLE main.counter_http_sources(token TEXT, source TEXT, PRIMARY KEY (token, source)) WITHOUT ROWID;

-- name: TOKENS_IS_SOURCE
SELECT 1 FROM main.counter_http_sources WHERE token = :token AND source = :source;

-- name: TOKENS_COUNT_SOURCES
SELECT count(*) FROM main.counter_http_sources WHERE token = :token;

-- name: TOKENS_NOTE_SOURCE
INSERT INTO main.counter_http_sources(token, source) VALUES (:token, :source);
