-- Names that are replaced: the epochs of names, and the files that a file knows of.
--
-- counter_sources has rows of two kinds. The holder is a text: a name that was ever replaced, and
-- the highest epoch met of it. It is a BLOB: files that were pulled from, and for one that is to
-- take over a name those that others have pulled from, as they were when last heard of. holder:
-- what a file keeps when its id changes; where all that is known is an id, the id itself or a random
-- number. pending: it writes, or will write, under the negated id of its name; epoch: that of the
-- name. number, random: its witness, as of the newest snapshot; NULL: known by hearsay. pulled,
-- lost: when, as numbers that rise within this file; 0: never. final: it was retired when it was
-- pulled. holds: a digest of the shards under my id that it had then, if it had them all.
--
-- Who holds a name has dealt with all that had a lower epoch of it: those are superseded.

-- name: NAMES_ALL
SELECT holder, epoch FROM "{schema}".counter_sources WHERE typeof(holder) = 'text' ORDER BY holder;

-- name: NAMES_RAISE
INSERT INTO "{schema}".counter_sources(holder, id, epoch) VALUES (?1, x'', ?2)
    ON CONFLICT (holder) DO UPDATE SET epoch = max(epoch, excluded.epoch);

-- name: NAMES_READ
SELECT epoch FROM "{schema}".counter_sources WHERE holder = ?1;

-- The highest epoch met of a name, but for that of the file itself, ?2.
-- name: NAMES_EPOCH
SELECT coalesce(max(epoch), 0) FROM "{schema}".counter_sources WHERE holder = ?1 OR (name = ?1 AND holder <> ?2);

-- name: KNOWN_CREATE
CREATE TABLE IF NOT EXISTS "{schema}"."counter_sources"(
  holder BLOB NOT NULL PRIMARY KEY,
  id BLOB NOT NULL,
  epoch INTEGER NOT NULL DEFAULT 0,
  name TEXT,
  pending INTEGER NOT NULL DEFAULT 0,
  number INTEGER,
  random INTEGER,
  pulled INTEGER NOT NULL DEFAULT 0,
  lost INTEGER NOT NULL DEFAULT 0,
  final INTEGER NOT NULL DEFAULT 0,
  holds BLOB);

-- Rows of what a source knows of others, no more than ?1.
-- name: KNOWN_COUNT
SELECT count(*) FROM (SELECT 1 FROM "{schema}".counter_sources LIMIT ?1);

-- name: KNOWN_READ
SELECT number, random FROM "{schema}".counter_sources WHERE holder = ?1 AND id = ?2 AND number IS NOT NULL;

-- name: KNOWN_WRITE
INSERT INTO "{schema}".counter_sources(holder, id, epoch, name, pending, number, random)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
    ON CONFLICT (holder) DO UPDATE SET id = excluded.id, epoch = excluded.epoch, name = excluded.name,
                                       pending = excluded.pending, number = excluded.number, random = excluded.random;

-- Known by hearsay; what is known of it already stands, unless it has gone on since. ?6: declared
-- lost there; here it may have been, when no more was known of it than the id.
-- name: KNOWN_HEAR
INSERT INTO "{schema}".counter_sources(holder, id, epoch, name, pending, lost)
VALUES (?1, ?2, ?3, ?4, ?5,
        CASE WHEN ?6 OR EXISTS (SELECT 1 FROM "{schema}".counter_sources
                                 WHERE holder = ?2 AND lost AND epoch >= ?3) THEN (SELECT coalesce(max(max(pulled, lost)), 0) + 1 FROM "{schema}".counter_sources) ELSE 0 END)
    ON CONFLICT (holder) DO UPDATE
   SET id = CASE WHEN excluded.epoch > epoch OR excluded.pending < pending THEN excluded.id ELSE id END,
       pending = CASE WHEN excluded.epoch > epoch OR excluded.pending < pending THEN excluded.pending ELSE pending END,
       epoch = max(epoch, excluded.epoch),
       name = coalesce(name, excluded.name),
       lost = CASE WHEN lost = 0 THEN excluded.lost ELSE lost END;

-- name: KNOWN_ALL
SELECT holder, id, epoch, name, pending, lost FROM "{schema}".counter_sources
 WHERE typeof(holder) <> 'text' ORDER BY holder;

-- It was pulled from, whole. ?2: it was retired then; ?3: what it holds.
-- name: KNOWN_PULLED
UPDATE "{schema}".counter_sources
   SET pulled = (SELECT max(max(pulled, lost)) + 1 FROM "{schema}".counter_sources), final = ?2, holds = ?3
 WHERE holder = ?1;

-- name: KNOWN_ANY_TO_LOSE
SELECT holder = ?1, holder, name FROM "{schema}".counter_sources
 WHERE (id = ?1 OR holder = ?1) AND lost = 0 AND holder <> ?2
 ORDER BY 1 DESC, 2;

-- name: KNOWN_LOST
UPDATE "{schema}".counter_sources
   SET lost = (SELECT max(max(pulled, lost)) + 1 FROM "{schema}".counter_sources)
 WHERE (id = ?1 OR holder = ?1) AND lost = 0 AND holder <> ?2;

-- What is still to be done before a pending file, ?2 with the id ?1, may count. 0: pull from that
-- one; 1: from another pending one after it was retired; or, if one was lost, from all since then.
-- 2: from anybody, for who knows of nobody does not know of whom it does not know. Those with the
-- same id as this file are told by what they keep.
-- name: KNOWN_MISSING_TO_COUNT
SELECT CASE WHEN id = ?1 THEN holder ELSE id END, name, id = ?1
  FROM "{schema}".counter_sources AS s,
       (SELECT coalesce(max(lost), 0) AS gone FROM "{schema}".counter_sources WHERE id = ?1)
 WHERE typeof(holder) = 'blob' AND NOT lost AND NOT final AND holder <> ?2 AND (id = ?1 OR pulled <= gone)
   AND NOT EXISTS (SELECT 1 FROM "{schema}".counter_sources AS n
                    WHERE n.name = s.name AND NOT n.pending AND n.holder <> s.holder
                      AND (n.epoch > s.epoch OR s.holder = s.id AND NOT s.pending))
UNION ALL
SELECT NULL, NULL, 2 WHERE NOT EXISTS (SELECT 1 FROM "{schema}".counter_sources WHERE pulled)
 ORDER BY 3, 1;

-- What is still to be done before it takes over the name whose id is ?3; ?4 is the digest of its
-- own shards. 1: the holder is to be retired, and pulled from after that; 2: pull, for the holder
-- was lost since; 3: that file is to pull from here, and be pulled from then.
-- name: KNOWN_MISSING_TO_PROMOTE
SELECT CASE WHEN id = ?1 THEN holder ELSE id END, name, CASE WHEN id = ?3 THEN 1 WHEN pulled <= gone THEN 2 ELSE 3 END
  FROM "{schema}".counter_sources AS s,
       (SELECT coalesce(max(lost), 0) AS gone FROM "{schema}".counter_sources WHERE id = ?3)
 WHERE typeof(holder) = 'blob' AND NOT lost AND NOT final AND holder <> ?2 AND (id = ?3 OR pulled <= gone OR holds IS NOT ?4)
   AND NOT EXISTS (SELECT 1 FROM "{schema}".counter_sources AS n
                    WHERE n.name = s.name AND NOT n.pending AND n.holder <> s.holder
                      AND (n.epoch > s.epoch OR s.holder = s.id AND NOT s.pending))
 ORDER BY 3, 1;
