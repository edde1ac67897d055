-- Proofs, found by merges, that a file has forgotten counts or has a twin.

-- name: CONFLICTS_CREATE
CREATE TABLE IF NOT EXISTS "{schema}"."counter_conflicts"(
  "when" TEXT NOT NULL,
  "table" TEXT NOT NULL,
  "key" TEXT NOT NULL,
  "column" TEXT NOT NULL,
  id TEXT NOT NULL,
  clock INTEGER,
  value INTEGER,
  their_clock INTEGER,
  their_value INTEGER,
  why TEXT NOT NULL);

-- Inserts nothing if the same proof is among the newest, because every merge finds it until both
-- files have the same shards.
-- name: CONFLICTS_INSERT
INSERT INTO "{schema}".counter_conflicts
SELECT strftime('%Y-%m-%d %H:%M:%f', 'now'), :table, :key, :column, :id,
       :clock, :value, :their_clock, :their_value, :why
 WHERE NOT EXISTS (
   SELECT 1 FROM "{schema}".counter_conflicts
    WHERE rowid > (SELECT max(rowid) FROM "{schema}".counter_conflicts) - 100
      AND ("table", "key", "column", id, why) = (:table, :key, :column, :id, :why)
      AND clock IS :clock AND value IS :value
      AND their_clock IS :their_clock AND their_value IS :their_value);

-- The former ids, the newest first; 1 if all that is listed under one came with tokens; why the next
-- id was taken.
-- name: CONFLICTS_GIVEN_UP
SELECT former.id,
       (SELECT min(why LIKE 'device %') FROM "{schema}".counter_conflicts
         WHERE upper(replace(id, '-', '')) = hex(former.id)),
       (SELECT why FROM "{schema}".counter_replica
         WHERE one = 1 OR one > former.one ORDER BY one > 1 DESC, one LIMIT 1)
  FROM "{schema}".counter_replica AS former
 WHERE one > 1
 ORDER BY one DESC;

-- The highest clock that is listed for a counter, or, without a key, for the table; 0: none is.
-- name: CONFLICTS_CLOCK
SELECT coalesce(max(their_clock), 0) FROM "{schema}".counter_conflicts
 WHERE "table" = :table AND (:key IS NULL OR ("key", "column") = (:key, :column))
   AND upper(replace(id, '-', '')) = hex(:id);

-- name: CONFLICTS_DISMISS
DELETE FROM "{schema}".counter_conflicts WHERE upper(replace(id, '-', '')) = hex(:id);
