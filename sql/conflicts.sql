-- What merges have proved: that a file has forgotten something, or has a twin.

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

-- name: CONFLICTS_INSERT
INSERT INTO "{schema}".counter_conflicts VALUES (
  strftime('%Y-%m-%d %H:%M:%f', 'now'), ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9);
