-- The replacement of names: the epochs of names, and the files that a file knows.
--
-- counter_sources has two kinds of rows. If the holder is a text, it is a name that was replaced,
-- with its highest known epoch. If the holder is a BLOB, the row is a file that this file pulled
-- from; a file that takes over a name also has the files that others pulled from, in their last
-- known state. holder: the number that a file keeps when its id changes; if only an id is known,
-- the id or a random number. pending: the file counts, or will count, under the negated id of its
-- name; epoch: the epoch of the name. number, random: its witness in the newest snapshot; NULL if
-- another file reported it. pulled, lost: the time, as a number that rises within this file; 0:
-- never. final: it was retired when it was pulled. holds: a digest of the shards under my id in it
-- then, if it had all of them.
--
-- The file that holds a name has replaced all files with a lower epoch of it.

-- name: NAMES_ALL
SELECT holder, epoch FROM "{schema}".counter_sources WHERE typeof(holder) = 'text' ORDER BY holder;

-- name: NAMES_RAISE
INSERT INTO "{schema}".counter_sources(holder, id, epoch) VALUES (:name, x'', :epoch)
    ON CONFLICT (holder) DO UPDATE SET epoch = max(epoch, excluded.epoch);

-- name: NAMES_READ
SELECT epoch FROM "{schema}".counter_sources WHERE holder = :name;

-- The highest known epoch of a name, without the file itself.
-- name: NAMES_EPOCH
SELECT coalesce(max(epoch), 0) FROM "{schema}".counter_sources
 WHERE holder = :name OR (name = :name AND holder <> :holder);

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

-- The number of rows of a source, at most :most.
-- name: KNOWN_COUNT
SELECT count(*) FROM (SELECT 1 FROM "{schema}".counter_sources LIMIT :most);

-- name: KNOWN_READ
SELECT number, random, holder, id FROM "{schema}".counter_sources
 WHERE holder = :holder AND id = :id AND number IS NOT NULL;

-- name: KNOWN_WRITE
INSERT INTO "{schema}".counter_sources(holder, id, epoch, name, pending, number, random)
VALUES (:holder, :id, :epoch, :name, :pending, :number, :random)
    ON CONFLICT (holder) DO UPDATE SET id = excluded.id, epoch = excluded.epoch, name = excluded.name,
                                       pending = excluded.pending, number = excluded.number, random = excluded.random;

-- A file that another file reports. A row that is known already stays, unless the report is newer.
-- lost: the file was declared lost there. Here it may be lost, too, declared when only its id was
-- known.
-- name: KNOWN_REPORT
INSERT INTO "{schema}".counter_sources(holder, id, epoch, name, pending, lost)
VALUES (:holder, :id, :epoch, :name, :pending,
        CASE WHEN :lost OR EXISTS (SELECT 1 FROM "{schema}".counter_sources
                              WHERE holder = :id AND lost AND epoch >= :epoch)
             THEN (SELECT coalesce(max(max(pulled, lost)), 0) + 1 FROM "{schema}".counter_sources)
             ELSE 0 END)
    ON CONFLICT (holder) DO UPDATE
   SET id = CASE WHEN excluded.epoch > epoch OR excluded.pending < pending THEN excluded.id ELSE id END,
       pending = CASE WHEN excluded.epoch > epoch OR excluded.pending < pending THEN excluded.pending ELSE pending END,
       epoch = max(epoch, excluded.epoch),
       name = coalesce(name, excluded.name),
       lost = CASE WHEN lost = 0 THEN excluded.lost ELSE lost END;

-- name: KNOWN_ALL
SELECT holder, id, epoch, name, pending, lost FROM "{schema}".counter_sources
 WHERE typeof(holder) <> 'text' ORDER BY holder;

-- After a complete pull from the file. final: it was retired then; holds: the digest of the
-- shards it holds.
-- name: KNOWN_PULLED
UPDATE "{schema}".counter_sources
   SET pulled = (SELECT max(max(pulled, lost)) + 1 FROM "{schema}".counter_sources),
       final = :final, holds = :holds
 WHERE holder = :holder;

-- name: KNOWN_ANY_TO_LOSE
SELECT holder = :id, holder, name FROM "{schema}".counter_sources
 WHERE (id = :id OR holder = :id) AND lost = 0 AND holder <> :mine
 ORDER BY 1 DESC, 2;

-- name: KNOWN_LOST
UPDATE "{schema}".counter_sources
   SET lost = (SELECT max(max(pulled, lost)) + 1 FROM "{schema}".counter_sources)
 WHERE (id = :id OR holder = :id) AND lost = 0 AND holder <> :mine;

-- The steps that a pending file lacks before it may count. 0: pull from that file, again if a
-- pending one was lost since; 1: retire that other pending file, and pull from it; 2: pull from any
-- file, because this file has pulled from none and cannot know which others exist.
-- A file with the same id as this file is named by its holder.
-- name: KNOWN_MISSING_TO_COUNT
SELECT CASE WHEN id = :id THEN holder ELSE id END, name, id = :id
  FROM "{schema}".counter_sources AS s,
       (SELECT coalesce(max(lost), 0) AS gone FROM "{schema}".counter_sources WHERE id = :id)
 WHERE typeof(holder) = 'blob' AND NOT lost AND NOT final AND holder <> :holder
   AND (id = :id OR pulled <= gone)
   AND NOT EXISTS (SELECT 1 FROM "{schema}".counter_sources AS n
                    WHERE n.name = s.name AND NOT n.pending AND n.holder <> s.holder
                      AND (n.epoch > s.epoch OR s.holder = s.id AND NOT s.pending))
UNION ALL
SELECT NULL, NULL, 2 WHERE NOT EXISTS (SELECT 1 FROM "{schema}".counter_sources WHERE pulled)
 ORDER BY 3, 1;

-- The steps that it lacks before it takes over the name with the id :name_id. shards: the digest of
-- its own shards. 1: retire the file of that name, and pull from it; 2: pull, because that file was
-- lost since; 3: let the file pull from here, and pull from it.
-- name: KNOWN_MISSING_TO_PROMOTE
SELECT CASE WHEN id = :id THEN holder ELSE id END, name,
       CASE WHEN id = :name_id THEN 1 WHEN pulled <= gone THEN 2 ELSE 3 END
  FROM "{schema}".counter_sources AS s,
       (SELECT coalesce(max(lost), 0) AS gone FROM "{schema}".counter_sources WHERE id = :name_id)
 WHERE typeof(holder) = 'blob' AND NOT lost AND NOT final AND holder <> :holder
   AND (id = :name_id OR pulled <= gone OR holds IS NOT :shards)
   AND NOT EXISTS (SELECT 1 FROM "{schema}".counter_sources AS n
                    WHERE n.name = s.name AND NOT n.pending AND n.holder <> s.holder
                      AND (n.epoch > s.epoch OR s.holder = s.id AND NOT s.pending))
 ORDER BY 3, 1;
