-- Names that are replaced: the epochs of names, and the replicas that a file knows of.
--
-- counter_names: the highest epoch met of each name that was ever replaced.
--
-- counter_sources: files that were pulled from, and for a pending file those that others have pulled from. epoch: that
-- of the file's name, 0 without one. number, random: its witness, as of the newest snapshot; NULL: known by hearsay.
-- pulled, lost: when, as numbers that rise within this file; 0: never. final: it was retired when it was pulled. holds:
-- a digest of the shards under my id that it had then, if it had them all.
--
-- A file that has taken over a name, or writes for it under a higher epoch, is superseding those before it.

-- name: NAMES_CREATE
CREATE TABLE IF NOT EXISTS "{schema}".counter_names(
  name TEXT NOT NULL PRIMARY KEY,
  epoch INTEGER NOT NULL);

-- name: NAMES_ALL
SELECT name, epoch FROM "{schema}".counter_names ORDER BY name;

-- name: NAMES_RAISE
INSERT INTO "{schema}".counter_names(name, epoch) VALUES (?1, ?2)
    ON CONFLICT (name) DO UPDATE SET epoch = max(epoch, excluded.epoch);

-- name: NAMES_READ
SELECT epoch FROM "{schema}".counter_names WHERE name = ?1;

-- The highest epoch met of a name, but for that of the file itself.
-- name: NAMES_EPOCH
SELECT max((SELECT coalesce(max(epoch), 0) FROM "{schema}".counter_names WHERE name = ?1),
           (SELECT coalesce(max(epoch), 0) FROM "{schema}".counter_sources
             WHERE name = ?1 AND NOT (id = ?2 AND epoch = ?3)));

-- name: KNOWN_CREATE
CREATE TABLE IF NOT EXISTS "{schema}".counter_sources(
  id BLOB NOT NULL,
  epoch INTEGER NOT NULL DEFAULT 0,
  name TEXT,
  pending INTEGER NOT NULL DEFAULT 0,
  number INTEGER,
  random INTEGER,
  pulled INTEGER NOT NULL DEFAULT 0,
  lost INTEGER NOT NULL DEFAULT 0,
  final INTEGER NOT NULL DEFAULT 0,
  holds BLOB,
  PRIMARY KEY (id, epoch));

-- name: KNOWN_READ
SELECT number, random FROM "{schema}".counter_sources WHERE id = ?1 AND epoch = ?2 AND number IS NOT NULL;

-- name: KNOWN_WRITE
INSERT INTO "{schema}".counter_sources(id, epoch, name, pending, number, random) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
    ON CONFLICT (id, epoch) DO UPDATE SET name = excluded.name, pending = excluded.pending, number = excluded.number,
                                          random = excluded.random;

-- Known by hearsay, unless it is known already. ?5: declared lost there.
-- name: KNOWN_HEAR
INSERT INTO "{schema}".counter_sources(id, epoch, name, pending, lost)
VALUES (?1, ?2, ?3, ?4, CASE WHEN ?5 THEN (SELECT coalesce(max(max(pulled, lost)), 0) + 1 FROM "{schema}".counter_sources)
                             ELSE 0 END)
    ON CONFLICT (id, epoch) DO UPDATE SET lost = CASE WHEN lost = 0 THEN excluded.lost ELSE lost END;

-- name: KNOWN_ALL
SELECT id, epoch, name, pending, lost FROM "{schema}".counter_sources ORDER BY id, epoch;

-- name: KNOWN_FORMER
SELECT id FROM "{schema}".counter_former ORDER BY id;

-- It was pulled from, whole. ?3: it was retired then; ?4: what it holds.
-- name: KNOWN_PULLED
UPDATE "{schema}".counter_sources
   SET pulled = (SELECT max(max(pulled, lost)) + 1 FROM "{schema}".counter_sources), final = ?3, holds = ?4
 WHERE id = ?1 AND epoch = ?2;

-- name: KNOWN_ANY_TO_LOSE
SELECT 1 FROM "{schema}".counter_sources WHERE id = ?1 AND lost = 0 AND NOT (id = ?2 AND epoch = ?3);

-- name: KNOWN_LOST
UPDATE "{schema}".counter_sources
   SET lost = (SELECT max(max(pulled, lost)) + 1 FROM "{schema}".counter_sources)
 WHERE id = ?1 AND lost = 0 AND NOT (id = ?2 AND epoch = ?3);

-- From whom a pending file, ?1 of epoch ?2, has still to pull before it may count: from all that count, and from an
-- earlier pending one after it was retired; or, if one was lost, from all since then. From nobody: it would not even
-- know of whom it does not know. The third column says which: 0, 1, 2.
-- name: KNOWN_MISSING_TO_COUNT
SELECT id, name, id = ?1
  FROM "{schema}".counter_sources AS s,
       (SELECT coalesce(max(lost), 0) AS gone FROM "{schema}".counter_sources WHERE id = ?1)
 WHERE NOT lost AND NOT (id = ?1 AND epoch = ?2)
   AND CASE WHEN id = ?1 THEN NOT final ELSE pulled <= gone AND NOT final END
   AND NOT EXISTS (SELECT 1 FROM "{schema}".counter_sources AS n
                    WHERE n.name = s.name AND ((n.id = s.id AND n.epoch > s.epoch) OR
                                               (s.pending AND NOT n.pending AND n.epoch >= s.epoch)))
UNION ALL
SELECT NULL, NULL, 2 WHERE NOT EXISTS (SELECT 1 FROM "{schema}".counter_sources WHERE pulled)
 ORDER BY 3, 1;

-- What is still to be done before a pending file, ?1 of epoch ?2, takes over the name whose id is ?3; ?4 is the digest of
-- its own shards. 1: the holder is to be retired, and pulled from after that; 2: pull, for somebody was lost since;
-- 3: that file is to pull from here, and be pulled from then.
-- name: KNOWN_MISSING_TO_PROMOTE
SELECT id, name, CASE WHEN id = ?3 THEN 1 WHEN pulled <= gone THEN 2 ELSE 3 END
  FROM "{schema}".counter_sources AS s,
       (SELECT coalesce(max(lost), 0) AS gone FROM "{schema}".counter_sources WHERE id = ?3)
 WHERE NOT lost AND NOT final AND NOT (id = ?1 AND epoch = ?2)
   AND (id = ?3 OR pulled <= gone OR holds IS NOT ?4)
   AND NOT EXISTS (SELECT 1 FROM "{schema}".counter_sources AS n
                    WHERE n.name = s.name AND ((n.id = s.id AND n.epoch > s.epoch) OR
                                               (s.pending AND NOT n.pending AND n.epoch >= s.epoch)))
 ORDER BY 3, epoch, id;
