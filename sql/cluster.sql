-- A cluster: several replicas behind one table of a connection.

-- SQLite prepares it again if the schema has changed.
-- name: CLUSTER_SCHEMA
SELECT 1 FROM "{schema}".sqlite_master LIMIT 0;

-- Is a replica still the file that it was?
-- name: CLUSTER_LOOK
SELECT t.name, t.token, r.id, r.name, r.refuses
  FROM "{schema}".counter_tables AS t, "{schema}".counter_replica AS r
 WHERE t.birth = :birth AND r.one = 1;

-- Changes nothing. It could write many rows and fail, so SQLite opens a savepoint for it in the
-- file. That includes the savepoint of the running statement, which is open only in temp.
-- name: CLUSTER_MARK
INSERT INTO "{schema}".counter_replica SELECT * FROM "{schema}".counter_replica WHERE 0;

-- name: DURABLE_SYNCHRONOUS
PRAGMA "{schema}".synchronous;

-- name: CLUSTER_CHECK
INSERT INTO "{schema}"."{table}"("{table}") VALUES ('integrity-check');

-- name: CLUSTER_ROWS
SELECT count(*) FROM "{schema}"."{table}_cells";
