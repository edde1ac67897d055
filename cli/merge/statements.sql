-- What sqlite-counter merge asks, by names; tools/embed.awk makes constants of them. Those with braces
-- are templates: cli/merge/table.c.

-- ---- the work ------------------------------------------------------------------------------------

-- name: MERGE_MAKE_CONFLICT
CREATE TEMP TABLE _merge_conflict(id INTEGER PRIMARY KEY, kind, tab, shown, row_key, col, base, ours, theirs, taken, note, place INT, n INT);

-- name: MERGE_MAKE_NOTE
CREATE TEMP TABLE _merge_note(id INTEGER PRIMARY KEY, text, is_question INT, UNIQUE (text));

-- Numbers of rows of THEIRS and what they are in OURS.
-- name: MERGE_MAKE_MOVES
CREATE TEMP TABLE _merge_moves(tab INT, theirs INT, ours INT, why TEXT, PRIMARY KEY (tab, theirs)) WITHOUT ROWID;

-- name: MERGE_INDEX_MOVES
CREATE INDEX temp._merge_moves_by_ours ON _merge_moves(tab, ours, why);

-- Columns that the files know by other names; NULL: the file lacks it. ours: whether OURS had it.
-- name: MERGE_MAKE_NAMES
CREATE TEMP TABLE _merge_names(tab TEXT COLLATE NOCASE, col TEXT COLLATE NOCASE, base TEXT, theirs TEXT, ours TEXT, PRIMARY KEY (tab, col)) WITHOUT ROWID;

-- Objects of the schemas, by type and name.
-- name: MERGE_MAKE_OBJECT
CREATE TEMP TABLE _merge_object AS
SELECT x.type, x.name COLLATE NOCASE AS name,
       (SELECT b.sql FROM base.sqlite_master AS b WHERE b.type = x.type AND b.name = x.name COLLATE NOCASE) AS base,
       (SELECT o.sql FROM main.sqlite_master AS o WHERE o.type = x.type AND o.name = x.name COLLATE NOCASE) AS ours,
       (SELECT t.sql FROM theirs.sqlite_master AS t WHERE t.type = x.type AND t.name = x.name COLLATE NOCASE) AS theirs,
       coalesce(x.sql LIKE 'CREATE VIRTUAL TABLE%', 0) AS is_virtual, 0 AS is_shadow, min(x.tbl_name) AS tbl
  FROM (SELECT type, name, tbl_name, sql FROM main.sqlite_master UNION ALL SELECT type, name, tbl_name, sql FROM theirs.sqlite_master
        UNION ALL SELECT type, name, tbl_name, sql FROM base.sqlite_master) AS x
 WHERE x.sql IS NOT NULL AND x.name NOT LIKE 'sqlite\_%' ESCAPE '\' AND x.name COLLATE NOCASE NOT IN ('_merge_numbers', '_merge_amounts', '_merge_conflicts')
 GROUP BY x.type, x.name COLLATE NOCASE
 ORDER BY x.type, x.name;

-- A virtual table stores its rows in tables of its name.
-- name: MERGE_FIND_SHADOWS
UPDATE temp._merge_object SET is_shadow = 1
 WHERE type = 'table' AND NOT is_virtual AND EXISTS (
       SELECT 1 FROM temp._merge_object AS v WHERE v.is_virtual AND lower(substr(_merge_object.name, 1, length(v.name) + 1)) = lower(v.name) || '_'
          AND lower(substr(_merge_object.name, length(v.name) + 2)) IN (
              'content', 'segments', 'segdir', 'docsize', 'stat', 'data', 'idx', 'config', 'node', 'rowid', 'parent'));

-- name: MERGE_HAS_COUNTERS
SELECT EXISTS (SELECT 1 FROM %s.sqlite_master WHERE name IN ('counter_replica', 'counter_tables', 'counter_state'))
    OR EXISTS (SELECT 1 FROM %s.sqlite_master WHERE sql LIKE 'CREATE VIRTUAL TABLE%%USING counter%%');

-- name: MERGE_HAS_TABLE
SELECT EXISTS (SELECT 1 FROM %s.sqlite_master WHERE type = 'table' AND name = %Q);

-- name: MERGE_COUNT_CONFLICTS
SELECT count(*) FROM %s._merge_conflicts;

-- ---- what tables are like ------------------------------------------------------------------------

-- name: MERGE_COUNT_TABLES
SELECT count(*) FROM temp._merge_object WHERE type = 'table';

-- name: MERGE_MOST_COLUMNS
SELECT coalesce(max(n), 0) FROM (SELECT count(*) AS n FROM main.sqlite_master AS s, pragma_table_xinfo(s.name, 'main')
 WHERE s.type = 'table' AND s.rootpage >= 0 AND s.name NOT LIKE 'sqlite\_%' ESCAPE '\' GROUP BY s.name);

-- Parents need not come first. Those of OURS alone may have children of rows that THEIRS deleted.
-- name: MERGE_TABLES
SELECT s.name, CASE WHEN NOT x.is_virtual THEN 0 WHEN x.ours LIKE '%USING rtree%' OR x.theirs LIKE '%USING rtree%' THEN 2 ELSE 1 END,
       s.sql LIKE '%AUTOINCREMENT%', x.base IS NOT NULL AND x.theirs IS NOT NULL, x.theirs IS NOT NULL
  FROM main.sqlite_master AS s JOIN temp._merge_object AS x ON x.type = 'table' AND x.name = s.name
 WHERE s.type = 'table' AND NOT x.is_shadow AND (NOT x.is_virtual OR (x.theirs IS NOT NULL AND merge_has_rows(s.name, s.sql)))
 ORDER BY s.rowid;

-- name: MERGE_COLUMNS
SELECT c.name, c.dflt_value, c.pk,
       c.type = '' OR upper(c.type) = 'ANY' OR (c.type LIKE '%BLOB%' AND NOT (c.type LIKE '%INT%' OR c.type LIKE '%CHAR%' OR c.type LIKE '%CLOB%' OR c.type LIKE '%TEXT%')),
       CASE WHEN n.tab IS NULL THEN c.name ELSE n.base END, CASE WHEN n.tab IS NULL THEN c.name ELSE n.theirs END,
       n.tab IS NULL OR n.ours IS NOT NULL
  FROM pragma_table_xinfo(?1, 'main') AS c LEFT JOIN temp._merge_names AS n ON n.tab = ?1 AND n.col = c.name
 WHERE c.hidden = 0 ORDER BY c.cid;

-- An INTEGER PRIMARY KEY that is the rowid has no index.
-- name: MERGE_IS_ROWID
SELECT upper(type) = 'INTEGER' AND NOT EXISTS (SELECT 1 FROM pragma_index_list(%Q, 'main') WHERE origin = 'pk')
  FROM pragma_table_xinfo(%Q, 'main') WHERE name = %Q;

-- name: MERGE_UNIQUES
SELECT l.name, x.name, x.coll FROM pragma_index_list(?1, 'main') AS l, pragma_index_xinfo(l.name, 'main') AS x
 WHERE l."unique" AND NOT l.partial AND x.key ORDER BY l.origin <> 'u', l.name, x.seqno;

-- name: MERGE_OTHER_KEY
SELECT x.name FROM pragma_index_list(?1, 'main') AS l, pragma_index_xinfo(l.name, 'main') AS x
 WHERE x.key AND l.seq = (
       SELECT max(u.seq) FROM pragma_index_list(?1, 'main') AS u
        WHERE u.origin = 'u' AND NOT EXISTS (
              SELECT 1 FROM pragma_index_xinfo(u.name, 'main') AS y LEFT JOIN pragma_table_xinfo(?1, 'main') AS c ON c.cid = y.cid
               WHERE y.key AND (c.cid IS NULL OR NOT c."notnull" OR c.hidden <> 0)))
 ORDER BY x.seqno;

-- name: MERGE_HAS_ONE_ROW
SELECT (SELECT count(*) FROM (SELECT 1 FROM {T} LIMIT 2)) = 1 AND (SELECT count(*) FROM (SELECT 1 FROM {B} LIMIT 2)) = 1
   AND (SELECT count(*) FROM (SELECT 1 FROM {H} LIMIT 2)) = 1;

-- name: MERGE_BASE_NULL_KEY
SELECT EXISTS (SELECT 1 FROM {B} AS b WHERE {K OR |@b IS NULL});

-- name: MERGE_THEIRS_NULL_KEY
SELECT EXISTS (SELECT 1 FROM {H} AS t WHERE {K OR |@t IS NULL});

-- name: MERGE_FOREIGN
SELECT id, "table", "from", "to" FROM pragma_foreign_key_list(?1, 'main') ORDER BY id, seq;

-- ---- rows in which THEIRS differs ----------------------------------------------------------------

-- op: I new, U changed, D gone, R to come back. how: 'joined' and 'same' with a row of OURS, 'new'. act: what is done in OURS.
-- name: MERGE_MAKE_ROWS
CREATE TEMP TABLE _merge_d{n}(n INTEGER PRIMARY KEY, op TEXT, rid INT, v, had INT, how TEXT, becomes INT, orid INT, prid INT,
 refused TEXT, stays TEXT, followed INT, {C, |b#, t#, o#},
 was INT AS (orid IS NOT NULL),
 {C, |r# AS (CASE WHEN refused IS NOT NULL THEN o# WHEN NOT was THEN t# WHEN op IN ('D', 'R') THEN o# WHEN op = 'U' AND ~t#~b#~ THEN o# WHEN op = 'U' AND ~o#~b#~ THEN t# WHEN @s THEN o# + (t# - CASE op WHEN 'U' THEN b# ELSE 0 END) WHEN ~o#~t#~ THEN o# ELSE @w END)},
 act TEXT AS (CASE WHEN refused IS NOT NULL THEN 'keep'
  WHEN op = 'D' THEN CASE WHEN was AND stays IS NULL AND {C AND |~o#~b#~} THEN 'take' ELSE 'keep' END
  WHEN NOT was THEN 'put' WHEN {C AND |~o#~r#~} THEN 'keep' ELSE 'put' END) STORED);

-- name: MERGE_FIND_CHANGED
INSERT INTO temp._merge_d{n}(op, rid, {C, |b#}, {C, |t#})
SELECT CASE WHEN {K OR |@b IS NULL} THEN 'I' ELSE 'U' END, {trid}, {C, |@b}, {C, |@t}
  FROM {H} AS t LEFT JOIN {B} AS b ON {K AND |@b = @t}
 WHERE ({K OR |@b IS NULL} OR {C OR |@b COLLATE BINARY IS NOT @t}{Y| OR typeof(@b) <> typeof(@t)}) AND {Z AND |@t IS NOT NULL};

-- name: MERGE_COUNT_GONE
SELECT (SELECT count(*) FROM {B}) - (SELECT count(*) FROM {H}) + (SELECT count(*) FROM temp._merge_d{n} WHERE op = 'I');

-- name: MERGE_FIND_GONE
INSERT INTO temp._merge_d{n}(op, {C, |b#}) SELECT 'D', {C, |@b} FROM {B} AS b WHERE {Z AND |@b IS NOT NULL} AND NOT EXISTS (SELECT 1 FROM {H} AS t WHERE {K AND |@b = @t});

-- Of rows without a key each value counts. Later copies are the new ones.
-- name: MERGE_FIND_MORE
INSERT INTO temp._merge_d{n}(op, rid, {C, |t#})
SELECT 'I', rid, {C, |t#}
  FROM (SELECT {trid} AS rid, {V|@t} AS v, row_number() OVER (PARTITION BY {V|@t} ORDER BY {trid}) AS i, {C, |@t AS t#} FROM {H} AS t WHERE NOT ({Z AND |@t IS NOT NULL})) AS x
  LEFT JOIN (SELECT {V|@b} AS v, count(*) AS had FROM {B} AS b GROUP BY 1) AS y ON y.v = x.v
 WHERE x.i > coalesce(y.had, 0) ORDER BY rid;

-- name: MERGE_FIND_FEWER
INSERT INTO temp._merge_d{n}(op, had, {C, |b#})
SELECT 'D', x.had, {C, |b#}
  FROM (SELECT {V|@b} AS v, row_number() OVER (PARTITION BY {V|@b} ORDER BY {brid}) AS i, count(*) OVER (PARTITION BY {V|@b}) AS had, {C, |@b AS b#} FROM {B} AS b WHERE NOT ({Z AND |@b IS NOT NULL})) AS x
  LEFT JOIN (SELECT {V|@t} AS v, count(*) AS has FROM {H} AS t GROUP BY 1) AS y ON y.v = x.v
 WHERE x.i > coalesce(y.has, 0);

-- name: MERGE_HAS_CHANGES
SELECT EXISTS (SELECT 1 FROM temp._merge_d{n});

-- ---- numbers -------------------------------------------------------------------------------------

-- name: MERGE_INDEX_NUMBERS
CREATE INDEX temp._merge_d{n}_by_number ON _merge_d{n}(t{k}) WHERE op = 'I';

-- name: MERGE_INDEX_BECOMES
CREATE INDEX temp._merge_d{n}_by_becomes ON _merge_d{n}(becomes) WHERE becomes IS NOT NULL;

-- name: MERGE_BASE_LACKS
NOT EXISTS (SELECT 1 FROM base._merge_numbers AS b WHERE b.table_name = x.table_name AND b.theirs = x.theirs AND b.row = x.row AND b.ours IS x.ours);

-- name: MERGE_OURS_LACKS
NOT EXISTS (SELECT 1 FROM main._merge_numbers AS o WHERE o.table_name = x.table_name AND o.theirs = x.theirs AND o.row = x.row AND o.ours IS x.ours);

-- Rows that have moved in THEIRS may be those of BASE and OURS, unless THEIRS has BASE's row under that number, as after a rebase.
-- name: MERGE_THEIRS_MOVED
SELECT x.theirs, x.ours FROM theirs._merge_numbers AS x
 WHERE x.table_name = {name} COLLATE NOCASE AND %s AND %s
   AND NOT coalesce((SELECT merge_digest({base_row}) FROM {B} AS b WHERE {base_key} = x.theirs) = (SELECT merge_digest({theirs_row}) FROM {H} AS t WHERE {theirs_key} = x.theirs), 0);

-- A number of another branch may be meant: BASE or THEIRS has the row that was merged under it.
-- name: MERGE_KNOWN_IN_BASE
INSERT OR IGNORE INTO temp._merge_moves SELECT {n}, x.theirs, x.ours, 'known' FROM main._merge_numbers AS x
 WHERE x.table_name = {name} COLLATE NOCASE AND %s AND x.row = (SELECT merge_digest({base_row}) FROM {B} AS b WHERE {base_key} = x.theirs);

-- name: MERGE_KNOWN_IN_THEIRS
INSERT OR IGNORE INTO temp._merge_moves SELECT {n}, x.theirs, x.ours, 'known' FROM main._merge_numbers AS x
 WHERE x.table_name = {name} COLLATE NOCASE AND %s AND x.row = (SELECT merge_digest({theirs_row}) FROM {H} AS t WHERE {theirs_key} = x.theirs);

-- Both have taken the same row of a third file, under the same number.
-- name: MERGE_KNOWN_IN_BOTH
INSERT OR IGNORE INTO temp._merge_moves SELECT {n}, x.ours, x.ours, 'known' FROM main._merge_numbers AS x JOIN theirs._merge_numbers AS y USING (table_name, theirs, row, ours)
 WHERE x.table_name = {name} COLLATE NOCASE AND %s AND NOT x.is_gone AND EXISTS (SELECT 1 FROM {T} AS o WHERE o.{key} = x.ours);

-- A row that is gone may come back under its number, to which rows may refer still, unless OURS has given it to another one.
-- name: MERGE_KNOWN_GONE
UPDATE temp._merge_moves AS m SET ours = ?1 + x.i
  FROM (SELECT theirs, row_number() OVER (ORDER BY theirs) AS i FROM temp._merge_moves AS k
         WHERE tab = {n} AND EXISTS (SELECT 1 FROM {T} AS o WHERE o.{key} = k.ours)
               AND EXISTS (SELECT 1 FROM main._merge_numbers AS g WHERE g.table_name = {name} COLLATE NOCASE AND g.theirs = k.theirs AND g.ours = k.ours AND g.is_gone)) AS x
 WHERE m.tab = {n} AND m.theirs = x.theirs;

-- name: MERGE_GREATEST_KNOWN
SELECT coalesce(max(ours), 0) FROM main._merge_numbers WHERE table_name = {name} COLLATE NOCASE;

-- Of numbers that moved in a merge before, which BASE does not know yet.
-- name: MERGE_KNOWN_JOINED
UPDATE temp._merge_d{n} SET how = 'joined', becomes = (SELECT ours FROM temp._merge_moves WHERE tab = {n} AND theirs = t{k})
 WHERE op = 'I' AND how IS NULL AND t{k} IN (SELECT theirs FROM temp._merge_moves WHERE tab = {n} AND why = 'known');

-- name: MERGE_JOIN_UNIQUE
UPDATE temp._merge_d{n} AS d
   SET how = 'joined', becomes = (SELECT o.{key} FROM {T} AS o WHERE {U AND |o.@o COLLATE @c = @m} AND {new_in_ours}
          AND NOT EXISTS (SELECT 1 FROM temp._merge_d{n} AS x WHERE x.becomes = o.{key} AND x.how <> 'new') LIMIT 1)
 WHERE op = 'I' AND how IS NULL AND {unique_ready} AND EXISTS (
       SELECT 1 FROM {T} AS o WHERE {U AND |o.@o COLLATE @c = @m} AND {new_in_ours}
          AND NOT EXISTS (SELECT 1 FROM temp._merge_d{n} AS x WHERE x.becomes = o.{key} AND x.how <> 'new'));

-- name: MERGE_JOIN_EQUAL
UPDATE temp._merge_d{n} AS d SET how = 'same', becomes = t{k}
 WHERE op = 'I' AND how IS NULL AND {ready} AND EXISTS (
       SELECT 1 FROM {T} AS o WHERE o.{key} = d.t{k} AND {new_in_ours}
          AND NOT EXISTS (SELECT 1 FROM temp._merge_d{n} AS x WHERE x.becomes = o.{key} AND x.how <> 'new') {N| AND ~o.@o COLLATE BINARY~@m~ AND (d.t# IS NULL OR @m IS NOT NULL)});

-- This may see rows that it has decided itself: nothing in OURS refers to a new one.
-- name: MERGE_DECIDE_NEW
UPDATE temp._merge_d{n} AS d SET how = 'new' WHERE op = 'I' AND how IS NULL AND {ready};

-- Rows in a circle: all are taken for those of OURS, and less and less, until each is equal to its row.
-- name: MERGE_ASSUME
UPDATE temp._merge_d{n} AS d SET how = 'maybe', becomes = t{k}
 WHERE op = 'I' AND how IS NULL AND EXISTS (
       SELECT 1 FROM {T} AS o WHERE o.{key} = d.t{k} AND {new_in_ours}
          AND NOT EXISTS (SELECT 1 FROM temp._merge_d{n} AS x WHERE x.becomes = o.{key} AND x.how <> 'new'));

-- name: MERGE_ASSUME_LESS
UPDATE temp._merge_d{n} AS d SET how = NULL, becomes = NULL
 WHERE how = 'maybe' AND NOT EXISTS (SELECT 1 FROM {T} AS o WHERE o.{key} = d.t{k} {N| AND ~o.@o COLLATE BINARY~@m~ AND (d.t# IS NULL OR @m IS NOT NULL)});

-- name: MERGE_ASSUMED
UPDATE temp._merge_d{n} SET how = 'same' WHERE how = 'maybe';

-- name: MERGE_DECIDE_REST
UPDATE temp._merge_d{n} SET how = 'new' WHERE op = 'I' AND how IS NULL;

-- name: MERGE_COUNT_UNDECIDED
SELECT count(*) FROM temp._merge_d{n} WHERE op = 'I' AND how IS NULL;

-- The first number that is taken: later rows move, too, so that their order stays.
-- name: MERGE_FIRST_TAKEN
SELECT min(t{k}) FROM temp._merge_d{n} AS d WHERE op = 'I' AND how = 'new'
   AND (EXISTS (SELECT 1 FROM {T} AS o WHERE o.{key} = d.t{k}) OR EXISTS (SELECT 1 FROM temp._merge_moves AS m WHERE m.tab = {n} AND m.ours = d.t{k} AND m.theirs <> m.ours));

-- AUTOINCREMENT: OURS has given it out, and the row is gone.
-- name: MERGE_FIRST_GIVEN
SELECT min(t{k}) FROM temp._merge_d{n} WHERE op = 'I' AND how = 'new' AND t{k} > ?1 AND t{k} <= ?2;

-- name: MERGE_FIRST_LEFT
SELECT min(d.t%d) FROM temp._merge_d%d AS d WHERE d.op = 'I' AND d.how = 'new' AND d.t%d IN (SELECT o.@o FROM {T} AS o);

-- name: MERGE_GREATEST
SELECT max(coalesce((SELECT max({key}) FROM {T}), 0), coalesce((SELECT max({base_key}) FROM {B} AS b), 0), coalesce((SELECT max({theirs_key}) FROM {H} AS t), 0),
 coalesce((SELECT max(ours) FROM temp._merge_moves WHERE tab = {n}), 0));

-- name: MERGE_SEQUENCE
SELECT coalesce(max(seq), 0) FROM %s.sqlite_sequence WHERE name = ?1 COLLATE NOCASE;

-- name: MERGE_MOVE
INSERT OR REPLACE INTO temp._merge_moves SELECT {n}, t{k}, ?2 + row_number() OVER (ORDER BY t{k}), 'moved' FROM temp._merge_d{n} WHERE op = 'I' AND how = 'new' AND t{k} >= ?1;

-- name: MERGE_MOVE_JOINED
INSERT OR IGNORE INTO temp._merge_moves SELECT {n}, t{k}, becomes, 'joined' FROM temp._merge_d{n} WHERE op = 'I' AND how IN ('joined', 'same') AND becomes <> t{k};

-- name: MERGE_SET_MOVED
UPDATE temp._merge_d{n} SET becomes = coalesce((SELECT ours FROM temp._merge_moves WHERE tab = {n} AND theirs = t{k}), t{k}) WHERE op = 'I' AND how = 'new';

-- References that stood in BASE already are not to a new row, unless the number was known as moved.
-- name: MERGE_FOLLOW
UPDATE temp._merge_d{n} SET t# = (SELECT ours FROM temp._merge_moves WHERE tab = ?1 AND theirs = t#)
 WHERE op <> 'D' AND t# IN (SELECT theirs FROM temp._merge_moves WHERE tab = ?1)
   AND (op = 'I' OR t# IS NOT b# OR (SELECT why FROM temp._merge_moves WHERE tab = ?1 AND theirs = t#) = 'known');

-- name: MERGE_FOLLOW_BASE
UPDATE temp._merge_d{n} SET b# = (SELECT ours FROM temp._merge_moves WHERE tab = ?1 AND theirs = b#)
 WHERE b# IN (SELECT theirs FROM temp._merge_moves WHERE tab = ?1 AND why = 'known');

-- The last rows of BASE, from the greatest number down, and how many values a file has kept.
-- name: MERGE_LAST_ROWS_THEIRS
SELECT {base_key}, {theirs_key} IS NULL, 0{N| + (@b COLLATE BINARY IS @t)} FROM {B} AS b LEFT JOIN {H} AS t ON {theirs_key} = {base_key} ORDER BY 1 DESC;

-- name: MERGE_LAST_ROWS_OURS
SELECT {base_key}, o.{key} IS NULL, 0{N| + (@b COLLATE BINARY IS o.@o)} FROM {B} AS b LEFT JOIN {T} AS o ON o.{key} = {now} ORDER BY 1 DESC;

-- name: MERGE_OURS_CHANGED
SELECT EXISTS (SELECT 1 FROM {B} AS b JOIN {T} AS o ON o.{key} = {now} WHERE {base_key} = ?1 AND NOT (1{N| AND ~o.@o COLLATE BINARY~@b~}));

-- name: MERGE_THEIRS_CHANGED
SELECT EXISTS (SELECT 1 FROM temp._merge_d{n} WHERE op = 'U' AND t{k} = ?1);

-- name: MERGE_THEIRS_REFERS
SELECT EXISTS (SELECT 1 FROM temp._merge_d{n} WHERE op IN ('I', 'U') AND t# = ?1 AND (op = 'I' OR t# IS NOT b#));

-- name: MERGE_OURS_REFERS
SELECT (SELECT count(*) FROM {T} AS o WHERE o.@o = coalesce((SELECT ours FROM temp._merge_moves WHERE tab = ?2 AND theirs = ?1), ?1)) > (SELECT count(*) FROM {B} AS b WHERE @b = ?1);

-- name: MERGE_LIST_AGAIN
INSERT INTO temp._merge_conflict(kind, tab, shown, row_key, base, ours, theirs, taken, note)
SELECT 'number', {name}, ?1, merge_list(?1), {J|@b}, CASE WHEN o.{key} IS NOT NULL THEN {J|o.@o} END, CASE WHEN {theirs_key} IS NOT NULL THEN {J|@t} END, 'both',
       'the number was used again in ' || ?2 || ', or the row was written anew: two rows'
  FROM {B} AS b LEFT JOIN {T} AS o ON o.{key} = {now} LEFT JOIN {H} AS t ON {theirs_key} = {base_key} WHERE {base_key} = ?1;

-- THEIRS has used the number again: its row is a new one, and the old one is gone.
-- name: MERGE_AGAIN_GONE
INSERT INTO temp._merge_d{n}(op, how, {C, |b#}) SELECT 'D', 'again', {C, |b#} FROM temp._merge_d{n} WHERE op = 'U' AND t{k} = ?1;

-- name: MERGE_AGAIN_NEW
UPDATE temp._merge_d{n} SET op = 'I', how = 'new' WHERE op = 'U' AND t{k} = ?1;

-- OURS has used the number again, and THEIRS refers to the row that it had.
-- name: MERGE_AGAIN_OLD
INSERT INTO temp._merge_d{n}(op, how, rid, {C, |t#}) SELECT 'I', 'new', {trid}, {C, |@t} FROM {H} AS t
 WHERE {theirs_key} = ?1 AND NOT EXISTS (SELECT 1 FROM temp._merge_d{n} WHERE t{k} = ?1);

-- ---- questions -----------------------------------------------------------------------------------

-- Does a column hold numbers that moved, and nothing but numbers of their table?
-- name: MERGE_HOLDS_MOVED
SELECT EXISTS (SELECT 1 FROM temp._merge_d{n} WHERE op IN ('I', 'U') AND (op = 'I' OR t# IS NOT b#) AND t# IN (SELECT theirs FROM temp._merge_moves WHERE tab = ?1));

-- name: MERGE_HOLDS_OTHERS
SELECT t# FROM temp._merge_d{n} WHERE op IN ('I', 'U') AND t# IS NOT NULL AND t# NOT IN (0, -1);

-- name: MERGE_HAS_NUMBER
SELECT EXISTS (SELECT 1 FROM {H} AS t WHERE {theirs_key} = ?1);

-- References of THEIRS to no row there, under a number that a new row of OURS has.
-- name: MERGE_COUNT_CAUGHT
SELECT count(*) FROM temp._merge_d{n} AS d WHERE op IN ('I', 'U') AND (op = 'I' OR t# IS NOT b#) AND t# IS NOT NULL
   AND NOT EXISTS (SELECT 1 FROM {PH} AS t WHERE {F AND |@q = d.t#}) AND EXISTS (SELECT 1 FROM {PT} AS o WHERE {F AND |o.@p = d.t#})
   AND NOT EXISTS (SELECT 1 FROM {PB} AS b WHERE {F AND |@r = d.t#});

-- ---- joining and writing -------------------------------------------------------------------------

-- name: MERGE_SET_VALUES
UPDATE temp._merge_d{n} SET v = {V|CASE op WHEN 'D' THEN b# ELSE t# END};

-- name: MERGE_LINK
UPDATE temp._merge_d{n} AS d SET (orid, {C, |o#}) = (SELECT {link}, {C, |o.@o} FROM {T} AS o WHERE {K AND |o.@o = CASE d.op WHEN 'D' THEN d.b# ELSE d.t# END});

-- Copies that THEIRS took away go, less those that OURS has taken away itself.
-- name: MERGE_LINK_COPIES
UPDATE temp._merge_d{n} AS d SET orid = x.rid, {C, |o# = d.b#}
  FROM (SELECT g.n AS gone, o.rid AS rid
          FROM (SELECT n, v, had, row_number() OVER (PARTITION BY v ORDER BY n) AS i, count(*) OVER (PARTITION BY v) AS fewer FROM temp._merge_d{n} WHERE op = 'D') AS g
          JOIN (SELECT v, rid, row_number() OVER (PARTITION BY v ORDER BY rid DESC) AS i, count(*) OVER (PARTITION BY v) AS has
                  FROM (SELECT {V|o.@o} AS v, {orid} AS rid FROM {T} AS o) WHERE v IN (SELECT v FROM temp._merge_d{n} WHERE op = 'D')) AS o
            ON o.v = g.v AND o.i = g.i
         WHERE g.i <= g.fewer - max(0, g.had - o.has)) AS x
 WHERE d.n = x.gone;

-- A new row keeps its rowid, or the one that it had in OURS, if that is free, or that of a row that is taken away: a row
-- without a key that THEIRS changed.
-- name: MERGE_KEEP_ROWIDS
UPDATE temp._merge_d{n} AS d SET prid = CASE WHEN x.i = 1 AND NOT EXISTS (
       SELECT 1 FROM {T} AS o WHERE {orid} = x.wanted
          AND {orid} NOT IN (SELECT orid FROM temp._merge_d{n} WHERE op = 'D' AND was AND stays IS NULL AND refused IS NULL AND {C AND |~o#~b#~})) THEN x.wanted END
  FROM (SELECT n, coalesce(m.ours, rid) AS wanted, row_number() OVER (PARTITION BY coalesce(m.ours, rid) ORDER BY m.ours IS NULL, n) AS i
          FROM temp._merge_d{n} LEFT JOIN temp._merge_moves AS m ON m.tab = {n} AND m.theirs = rid AND m.why = 'known' WHERE NOT was AND op <> 'D') AS x
 WHERE x.n = d.n AND (prid IS NULL OR prid = x.wanted);

-- name: MERGE_MOVE_ROWIDS
UPDATE temp._merge_d{n} AS d SET prid = x.rid
  FROM (SELECT n, max(coalesce((SELECT max({orid}) FROM {T} AS o), 0), coalesce((SELECT max(max(rid, coalesce(prid, 0))) FROM temp._merge_d{n}), 0)) + row_number() OVER (ORDER BY n) AS rid
          FROM temp._merge_d{n} WHERE NOT was AND op <> 'D' AND prid IS NULL) AS x
 WHERE d.n = x.n;

-- name: MERGE_ROWIDS_MOVED
INSERT OR IGNORE INTO temp._merge_moves SELECT {n}, rid, CASE WHEN was THEN orid ELSE prid END AS has, 'moved' FROM temp._merge_d{n} WHERE op = 'I' AND rid <> has;

-- name: MERGE_UNLINK
UPDATE temp._merge_d{n} SET orid = NULL, {C, |o# = NULL};

-- name: MERGE_TAKE
DELETE FROM {T} WHERE {rowid} IN (SELECT orid FROM temp._merge_d{n} WHERE was AND act IN ('put', 'take'));

-- name: MERGE_TAKE_BY_KEY
DELETE FROM {T} WHERE ({K, |@o}) IN (SELECT {K, |o#} FROM temp._merge_d{n} WHERE was AND act IN ('put', 'take'));

-- Rows that OURS has are put first, then those that come back, then new ones.
-- name: MERGE_PUT
INSERT OR ABORT INTO {T}({put_rowid}{C, |@o}) SELECT {put_value}{C, |r#} FROM temp._merge_d{n} WHERE CASE WHEN was THEN 0 WHEN op = 'R' THEN 1 ELSE 2 END = ?1 AND act = 'put' ORDER BY n;

-- name: MERGE_PUT_ONE
INSERT OR ABORT INTO {T}({put_rowid}{C, |@o}) SELECT {put_value}{C, |r#} FROM temp._merge_d{n} WHERE n = ?1;

-- name: MERGE_PUT_ORDER
SELECT n FROM temp._merge_d{n} WHERE CASE WHEN was THEN 0 WHEN op = 'R' THEN 1 ELSE 2 END = ?1 AND act = 'put' ORDER BY n;

-- name: MERGE_REFUSE
UPDATE temp._merge_d{n} SET refused = ?2 WHERE n = ?1;

-- ---- foreign keys --------------------------------------------------------------------------------

-- Rows that were written and have no parent, though there was one in some file.
-- name: MERGE_ORPHANS
SELECT d.n FROM temp._merge_d{n} AS d WHERE d.act = 'put' AND {F AND |d.r# IS NOT NULL} AND (NOT d.was OR {F OR |d.r# IS NOT d.o#})
   AND NOT EXISTS (SELECT 1 FROM {PT} AS p WHERE {F AND |p.@p = d.r#})
   AND (EXISTS (SELECT 1 FROM temp._merge_d{Pn} AS p WHERE {F AND |d.r# IN (p.t$, p.b$, p.o$)}) OR EXISTS (SELECT 1 FROM {PH} AS t WHERE {F AND |@g = d.r#}) OR (d.was AND ({F OR |d.r# IS NOT d.t#})));

-- Some columns of a foreign key are of OURS, the others of THEIRS.
-- name: MERGE_ORPHAN_OF_BOTH
SELECT d.n FROM temp._merge_d{n} AS d WHERE d.n = ?1 AND d.was AND ({F OR |d.r# IS NOT d.t#});

-- name: MERGE_ORPHAN_OF_GONE
SELECT p.n FROM temp._merge_d{Pn} AS p, temp._merge_d{n} AS d WHERE d.n = ?1 AND p.op = 'D' AND p.act = 'take' AND {F AND |p.o$ = d.r#};

-- name: MERGE_ORPHAN_OF_REFUSED
SELECT p.n FROM temp._merge_d{Pn} AS p, temp._merge_d{n} AS d WHERE d.n = ?1 AND p.op IN ('I', 'U') AND p.act = 'keep' AND p.refused IS NOT NULL AND {F AND |p.t$ = d.r#};

-- name: MERGE_RESTORE
INSERT INTO temp._merge_d{Pn}(op, rid, {PC, |t#}) SELECT 'R', {Ptrid}, {PC, |@f} FROM {PH} AS t, temp._merge_d{n} AS d
 WHERE d.n = ?1 AND {F AND |@g = d.t#} AND NOT EXISTS (SELECT 1 FROM temp._merge_d{Pn} AS p WHERE p.op IN ('I', 'U', 'R') AND {F AND |p.t$ = d.t#});

-- name: MERGE_RESTORED
SELECT p.n FROM temp._merge_d{Pn} AS p, temp._merge_d{n} AS d WHERE d.n = ?1 AND p.op IN ('I', 'U', 'R') AND p.refused IS NULL AND {F AND |p.t$ = d.t#};

-- Rows that lost their parent: which deletion or change was it?
-- name: MERGE_PARENTS_MISSED
SELECT DISTINCT p.n, p.act FROM temp._merge_d{Pn} AS p JOIN {T} AS c ON {F AND |c.@o = p.o$}
 WHERE p.was AND (p.act = 'take' OR (p.act = 'put' AND ({F OR |p.r$ IS NOT p.o$}))) AND NOT EXISTS (SELECT 1 FROM {PT} AS q WHERE {F AND |q.@p = c.@o});

-- name: MERGE_STAY
UPDATE temp._merge_d{n} SET stays = ?2 WHERE n = ?1;

-- name: MERGE_NUMBER_OF_NEW
SELECT coalesce(becomes, t{k}) FROM temp._merge_d{n} WHERE n = ?1 AND op IN ('I', 'U', 'R') AND NOT was;

-- The row that has the UNIQUE values of one that was refused.
-- name: MERGE_STANDIN
SELECT o.{key} FROM {T} AS o, temp._merge_d{n} AS d WHERE d.n = ?1 AND {U AND |o.@o COLLATE @c = d.r#};

-- name: MERGE_FOLLOW_STANDIN
UPDATE temp._merge_d{n} SET t# = ?2, followed = ?2 WHERE op IN ('I', 'U') AND t# = ?1 AND (op = 'I' OR t# IS NOT b#);

-- name: MERGE_COUNT_BROKEN
SELECT count(*) FROM pragma_foreign_key_check(%Q, %Q);

-- ---- lists ---------------------------------------------------------------------------------------

-- name: MERGE_LIST_COLUMN
INSERT INTO temp._merge_conflict(kind, place, n, tab, shown, row_key, col, base, ours, theirs, taken)
SELECT 'column', {n}, n, {name}, merge_shown({I, |o#}), merge_list({I, |o#}), @n, b#, o#, t#, CASE WHEN ~r#~t#~ THEN 'theirs' ELSE 'ours' END
  FROM temp._merge_d{n} WHERE refused IS NULL AND was AND ((op = 'U' AND NOT ~t#~b#~ AND NOT ~o#~b#~) OR op = 'I') AND NOT ~o#~t#~ AND NOT (@s) AND NOT @l ORDER BY n;

-- name: MERGE_LIST_ROWS
INSERT INTO temp._merge_conflict(kind, place, n, tab, shown, row_key, base, ours, theirs, taken, note)
SELECT kind, {n}, n, {name}, shown, row_key, base, ours, theirs, taken, note FROM (
 SELECT n, merge_shown({I, |coalesce(o#, t#, b#)}) AS shown, merge_list({I, |coalesce(o#, t#, b#)}) AS row_key,
  CASE WHEN op IN ('U', 'D') THEN {J|b#} END AS base, CASE WHEN was THEN {J|o#} END AS ours, CASE WHEN op <> 'D' THEN {J|t#} END AS theirs,
  CASE WHEN refused IS NOT NULL THEN CASE WHEN refused LIKE 'parent:%' THEN 'foreign key' ELSE 'constraint' END
       WHEN op = 'D' AND how = 'again' THEN NULL
       WHEN op = 'U' AND NOT was THEN 'delete' WHEN op = 'D' AND was AND stays IS NOT NULL THEN 'foreign key'
       WHEN op = 'D' AND was AND act = 'keep' THEN 'delete' WHEN op = 'R' AND act = 'put' THEN 'foreign key'
       WHEN op = 'I' AND how = 'joined' AND NOT was THEN 'delete' WHEN followed IS NOT NULL THEN 'foreign key' END AS kind,
  CASE WHEN refused IS NOT NULL THEN CASE WHEN was THEN 'ours' ELSE 'none' END WHEN op = 'D' THEN 'ours' ELSE 'theirs' END AS taken,
  CASE WHEN refused LIKE 'parent:%' THEN substr(refused, 8) WHEN refused IS NOT NULL THEN refused
       WHEN op = 'U' AND NOT was THEN 'deleted in ours, changed in theirs'
       WHEN op = 'D' AND stays IS NOT NULL THEN stays WHEN op = 'D' THEN 'deleted in theirs, changed in ours'
       WHEN op = 'R' THEN 'deleted in ours, but a row of theirs refers to it'
       WHEN followed IS NULL THEN 'merged before and deleted in ours since'
       ELSE 'refers to ' || followed || ' now, which has the UNIQUE values of a row that was refused' END AS note
  FROM temp._merge_d{n}) WHERE kind IS NOT NULL ORDER BY n;

-- A row without a key that UNIQUE refuses because OURS has it: they are one row.
-- name: MERGE_JOIN_REFUSED
UPDATE temp._merge_d{n} SET refused = NULL, orid = 0, {C, |o# = t#}
 WHERE op = 'I' AND refused IS NOT NULL AND v IN (SELECT {V|o.@o} FROM {T} AS o);

-- New, new in both, changed, deleted, changed alike.
-- name: MERGE_COUNT_ROWS
SELECT count(*) FILTER (WHERE act = 'put' AND op = 'I' AND NOT was), count(*) FILTER (WHERE op = 'I' AND was AND refused IS NULL),
       count(*) FILTER (WHERE act = 'put' AND op = 'U'), count(*) FILTER (WHERE act = 'take'),
       count(*) FILTER (WHERE act = 'keep' AND refused IS NULL AND ((op = 'D' AND NOT was AND how IS NOT 'again') OR (op = 'U' AND was AND {C AND |(~t#~b#~ OR ~o#~t#~)}) OR (op = 'I' AND was AND {C AND |~o#~t#~})))
  FROM temp._merge_d{n};

-- name: MERGE_HAS_NEW
SELECT EXISTS (SELECT 1 FROM temp._merge_d{n} WHERE op = 'I');

-- name: MERGE_COUNT_NEW
SELECT count(*) FROM temp._merge_d{n} WHERE op = 'I' AND how = 'new';

-- name: MERGE_COUNT_CHANGED_NUMBERS
SELECT count(*) FROM temp._merge_moves WHERE tab = {n} AND theirs <> ours AND why <> 'known';

-- name: MERGE_COUNT_CONFLICTS_OF
SELECT count(*) FROM temp._merge_conflict WHERE place = {n} OR (place IS NULL AND tab = {name});

-- Rows without a key that both sides took away, while both wrote others: was one changed on both?
-- name: MERGE_COUNT_BOTH_GONE
SELECT count(*) FROM temp._merge_d{n} WHERE op = 'D' AND NOT was
   AND EXISTS (SELECT 1 FROM temp._merge_d{n} WHERE op = 'I' AND act = 'put')
   AND (SELECT count(*) FROM {T}) > (SELECT count(*) FROM {B}) - (SELECT count(*) FROM temp._merge_d{n} WHERE op = 'D')
       + (SELECT count(*) FROM temp._merge_d{n} WHERE op = 'I' AND act = 'put');

-- name: MERGE_COUNT_MOVED
SELECT count(*) FROM temp._merge_moves WHERE tab = {n} AND why = 'moved';

-- name: MERGE_SHOW_MOVED
SELECT theirs, ours FROM temp._merge_moves WHERE tab = {n} AND why = 'moved' ORDER BY theirs;

-- Numbers that both sides changed, which might add up: INTEGER, no time, and no flag: a column with nothing but 0 and 1.
-- name: MERGE_GUESS_ADD
SELECT count(*) FROM temp._merge_d{n} WHERE op = 'U' AND was AND refused IS NULL AND NOT ~t#~b#~ AND NOT ~o#~b#~
 HAVING min(typeof(b#) = 'integer' AND typeof(o#) = 'integer' AND typeof(t#) = 'integer') AND max(max(abs(b#), abs(o#), abs(t#))) < 100000000
    AND EXISTS (SELECT 1 FROM (SELECT @b AS v FROM {B} AS b UNION ALL SELECT o.@o FROM {T} AS o) WHERE v NOT IN (0, 1));

-- name: MERGE_ADDED_UP
SELECT EXISTS (SELECT 1 FROM temp._merge_d{n} WHERE was AND refused IS NULL AND (op = 'I' OR (op = 'U' AND NOT ~t#~b#~ AND NOT ~o#~b#~)) AND @s);

-- row: a digest of the row of THEIRS. is_gone: it was left out, or OURS has deleted it.
-- name: MERGE_NUMBERS_MAKE
CREATE TABLE IF NOT EXISTS main._merge_numbers(table_name TEXT NOT NULL, theirs INTEGER NOT NULL, row INTEGER NOT NULL, ours INTEGER NOT NULL, is_gone INTEGER NOT NULL, PRIMARY KEY (table_name, theirs, row)) WITHOUT ROWID;

-- name: MERGE_RAISE_SEQUENCE
UPDATE main.sqlite_sequence SET seq = max(seq, CAST(?2 AS INTEGER)) WHERE name = ?1 COLLATE NOCASE;

-- name: MERGE_BEGIN_SEQUENCE
INSERT INTO main.sqlite_sequence(name, seq) SELECT ?1, CAST(?2 AS INTEGER) WHERE NOT EXISTS (SELECT 1 FROM main.sqlite_sequence WHERE name = ?1 COLLATE NOCASE);

-- name: MERGE_HAS_NUMBERS
SELECT EXISTS (SELECT 1 FROM temp._merge_moves WHERE tab = {n} AND (theirs <> ours OR why = 'known'))
    OR EXISTS (SELECT 1 FROM temp._merge_d{n} WHERE op = 'I' AND NOT was AND becomes IS NOT NULL AND (refused IS NOT NULL OR followed IS NOT NULL));

-- name: MERGE_NUMBERS_ADD
INSERT OR REPLACE INTO main._merge_numbers
SELECT {name}, m.theirs, (SELECT merge_digest({theirs_row}) FROM {H} AS t WHERE {theirs_key} = m.theirs) AS seen, m.ours, NOT EXISTS (SELECT 1 FROM {T} AS o WHERE o.{key} = m.ours)
  FROM temp._merge_moves AS m WHERE m.tab = {n} AND m.theirs <> m.ours AND seen IS NOT NULL;

-- A row that came back under another number, as BASE has it.
-- name: MERGE_NUMBERS_AGAIN
UPDATE main._merge_numbers AS x SET ours = m.ours, is_gone = NOT EXISTS (SELECT 1 FROM {T} AS o WHERE o.{key} = m.ours) FROM temp._merge_moves AS m
 WHERE x.table_name = {name} COLLATE NOCASE AND x.is_gone AND m.tab = {n} AND m.why = 'known' AND m.theirs = x.theirs AND m.ours <> x.ours
   AND x.row = (SELECT merge_digest({base_row}) FROM {B} AS b WHERE {base_key} = x.theirs);

-- Rows that are not in OURS, or have another parent there.
-- name: MERGE_NUMBERS_ADD_OTHERS
INSERT OR REPLACE INTO main._merge_numbers
SELECT {name}, d.becomes, (SELECT merge_digest({theirs_row}) FROM {H} AS t WHERE {theirs_key} = d.becomes) AS seen, d.becomes, d.refused IS NOT NULL FROM temp._merge_d{n} AS d
 WHERE d.op = 'I' AND NOT d.was AND (d.refused IS NOT NULL OR d.followed IS NOT NULL) AND seen IS NOT NULL AND NOT EXISTS (SELECT 1 FROM temp._merge_moves AS m WHERE m.tab = {n} AND (m.theirs = d.becomes OR m.ours = d.becomes));

-- A row that was gone is there again only if this merge has put it there.
-- name: MERGE_NUMBERS_GONE
UPDATE main._merge_numbers AS x SET is_gone = NOT EXISTS (SELECT 1 FROM {T} AS o WHERE o.{key} = x.ours)
    OR (is_gone AND NOT EXISTS (SELECT 1 FROM temp._merge_moves AS m WHERE m.tab = {n} AND m.theirs = x.theirs AND m.ours = x.ours))
 WHERE table_name = {name} COLLATE NOCASE;

-- name: MERGE_CONFLICTS_MAKE
CREATE TABLE main._merge_conflicts(id INTEGER PRIMARY KEY, kind TEXT, table_name TEXT, row_key TEXT, column_name TEXT, base, ours, theirs, taken TEXT, note TEXT);

-- name: MERGE_CONFLICTS_FILL
INSERT INTO main._merge_conflicts SELECT row_number() OVER (ORDER BY place, n, id), kind, tab, row_key, col, base, ours, theirs, taken, note FROM temp._merge_conflict;

-- name: MERGE_CONFLICTS
SELECT kind, tab, shown, row_key, col, base, ours, theirs, taken, note FROM temp._merge_conflict ORDER BY place, n, id;

-- name: MERGE_NOTES
SELECT text FROM temp._merge_note WHERE is_question = CAST(?1 AS INT) ORDER BY id;

-- ---- declarations --------------------------------------------------------------------------------

-- name: MERGE_NAMES_OF
SELECT name FROM pragma_table_xinfo(?1) WHERE hidden <> 1 ORDER BY cid;

-- name: MERGE_TEXT_OF
SELECT sql FROM sqlite_master WHERE type = 'table' AND name = ?1 COLLATE NOCASE;

-- name: MERGE_COUNT_OBJECTS
SELECT count(*) FROM temp._merge_object;

-- Tables in the order in which THEIRS made them.
-- name: MERGE_OBJECTS
SELECT type, name, base, ours, theirs, is_virtual, is_shadow FROM temp._merge_object AS x
 ORDER BY (SELECT s.rowid FROM theirs.sqlite_master AS s WHERE s.type = x.type AND s.name = x.name COLLATE NOCASE), x.rowid;

-- name: MERGE_DECLARED
SELECT sql FROM main.sqlite_master WHERE type = ?1 AND name = ?2 COLLATE NOCASE;

-- All values of a row; SQLite takes 127 arguments.
-- name: MERGE_ROW_BYTES
SELECT group_concat('merge_bytes(' || list || ')', ' || ') FROM (
SELECT group_concat('"' || replace(name, '"', '""') || '"', ', ') AS list
  FROM (SELECT name, row_number() OVER (ORDER BY cid) - 1 AS i FROM pragma_table_xinfo(?1, ?2) WHERE hidden = 0) GROUP BY i / 100);

-- name: MERGE_SAME_ROWS
SELECT (SELECT count(*) FROM %s."%w") = (SELECT count(*) FROM base."%w")
   AND NOT EXISTS (SELECT %s FROM %s."%w" EXCEPT SELECT %s FROM base."%w")
   AND NOT EXISTS (SELECT %s FROM base."%w" EXCEPT SELECT %s FROM %s."%w");

-- Values that OURS has written, and BASE has not.
-- name: MERGE_HAS_NEW_VALUES
SELECT EXISTS (SELECT v FROM (SELECT merge_bytes("%w") AS v, 1 AS n FROM main."%w" UNION ALL SELECT merge_bytes("%w"), -1 FROM base."%w") GROUP BY v HAVING sum(n) > 0);

-- How many values of a column of BASE and of one of another schema the other lacks.
-- name: MERGE_COUNT_OTHER_VALUES
SELECT coalesce(sum(abs(n)), 0) FROM (SELECT sum(n) AS n FROM (SELECT merge_bytes("%w") AS v, 1 AS n FROM base."%w" UNION ALL SELECT merge_bytes("%w"), -1 FROM %s."%w") GROUP BY v);

-- name: MERGE_ADD_NAME
INSERT OR REPLACE INTO temp._merge_names(tab, col, base, theirs, ours) VALUES (?1, ?2, ?3, ?4, ?5);

-- name: MERGE_HAS_COLUMN
SELECT 1 FROM pragma_table_xinfo(?1, ?2) WHERE name = ?3 COLLATE NOCASE;

-- name: MERGE_NAMES_IN_MAIN
SELECT name FROM pragma_table_xinfo(?1, 'main') WHERE hidden = 0 ORDER BY cid;

-- name: MERGE_RENAME_OLD
ALTER TABLE main."%w" RENAME TO _merge_old;

-- name: MERGE_COMMON_COLUMNS
SELECT group_concat('"' || replace(name, '"', '""') || '"', ', ') FROM (
 SELECT n.name FROM pragma_table_xinfo(?1, 'main') AS n JOIN pragma_table_xinfo('_merge_old', 'main') AS o ON o.name = n.name COLLATE NOCASE
  WHERE n.hidden = 0 AND o.hidden <> 1 ORDER BY n.cid);

-- name: MERGE_COPY_OLD
INSERT INTO main."%w"(%s%s) SELECT %s%s FROM main._merge_old;

-- name: MERGE_KEEP_SEQUENCE
UPDATE main.sqlite_sequence SET seq = max(seq, coalesce((SELECT seq FROM main.sqlite_sequence WHERE name = '_merge_old'), 0)) WHERE name = ?1 COLLATE NOCASE;

-- name: MERGE_DROP_OLD
DROP TABLE main._merge_old;

-- A table that has come back has no rows of BASE in OURS.
-- name: MERGE_IS_NEW
UPDATE temp._merge_object SET base = NULL WHERE type = 'table' AND name = ?1;

-- ---- virtual tables ------------------------------------------------------------------------------

-- name: MERGE_SHADOWS
SELECT name FROM temp._merge_object WHERE type = 'table' AND is_shadow AND (base IS NULL) = (ours IS NULL) AND theirs IS NOT NULL
   AND lower(substr(name, 1, length(?1) + 1)) = lower(?1) || '_';

-- name: MERGE_VIRTUAL
SELECT s.name, s.sql, x.ours IS NULL FROM main.sqlite_master AS s JOIN temp._merge_object AS x ON x.type = 'table' AND x.name = s.name
 WHERE x.is_virtual AND x.theirs IS NOT NULL;

-- ---- what is told --------------------------------------------------------------------------------

-- name: MERGE_ADD_NOTE
INSERT OR IGNORE INTO temp._merge_note(text, is_question) VALUES (?1, CAST(?2 AS INT));

-- name: MERGE_ADD_CONFLICT
INSERT INTO temp._merge_conflict(kind, tab, col, taken, note) VALUES (?1, ?2, ?3, ?4, ?5);

-- name: MERGE_COUNT_CONFLICT
SELECT count(*) FROM temp._merge_conflict;

-- Is BASE older than the fork, or was THEIRS merged before? 2: rows that are new or changed in one way on both sides, and known
-- by numbers that moved in a merge before; 1: others in which what adds up is alike; then what OURS lacked; all.
-- name: MERGE_COUNT_ALIKE
SELECT count(*) FILTER (WHERE alike = 2), count(*) FILTER (WHERE alike = 1), count(*) FILTER (WHERE is_lacking), count(*) FILTER (WHERE op <> 'D') FROM (
SELECT op,
       CASE WHEN op NOT IN ('I', 'U') OR NOT was THEN 0
            WHEN (how IS NOT 'joined' OR EXISTS (SELECT 1 FROM temp._merge_moves AS m WHERE m.tab = {n} AND m.ours = becomes AND m.why = 'known'))
             AND (op = 'I' OR {C OR |(NOT @a AND NOT ~t#~b#~ AND ~o#~t#~)}) AND {C AND |(@a OR (op = 'U' AND ~t#~b#~) OR ~o#~t#~)} THEN 2
            WHEN refused IS NULL AND ({C OR |(@a AND ~o#~t#~ AND CASE op WHEN 'I' THEN t# <> 0 ELSE NOT ~t#~b#~ END AND @s)}) THEN 1 ELSE 0 END AS alike,
       CASE WHEN act = 'take' THEN 1 WHEN act = 'keep' OR op = 'R' THEN 0 WHEN NOT was OR (op = 'U' AND ({C OR |(NOT ~t#~b#~ AND ~o#~b#~)})) THEN 1 ELSE 0 END AS is_lacking
  FROM temp._merge_d{n} WHERE op <> 'R');

-- Of rows without a key: when THEIRS' are written, OURS has more than one of it beside those of BASE.
-- name: MERGE_COUNT_ALIKE_COPIES
SELECT count(*) FILTER (WHERE is_alike), 0, count(*) FILTER (WHERE act = 'take' OR (act = 'put' AND NOT is_alike)), count(*) FILTER (WHERE op = 'I') FROM (
SELECT op, act, op = 'I' AND coalesce(o.n, 0) > 1 + coalesce(b.n, 0) AS is_alike
  FROM temp._merge_d{n} AS d
  LEFT JOIN (SELECT v, count(*) AS n FROM (SELECT {V|o.@o} AS v FROM {T} AS o) WHERE v IN (SELECT v FROM temp._merge_d{n}) GROUP BY v) AS o ON o.v = d.v
  LEFT JOIN (SELECT v, count(*) AS n FROM (SELECT {V|@b} AS v FROM {B} AS b) WHERE v IN (SELECT v FROM temp._merge_d{n}) GROUP BY v) AS b ON b.v = d.v);

-- name: MERGE_TOUCHED
SELECT EXISTS (SELECT 1 FROM temp._merge_d{n} WHERE act IN ('put', 'take'));

-- ---- what was added up before -------------------------------------------------------------------

-- name: MERGE_AMOUNTS_OF_THEIRS
SELECT merge_digest(merge_bytes({name}, @n, b#, t#) || merge_bytes({K, |b#})) FROM temp._merge_d{n} WHERE op = 'U' AND NOT ~t#~b#~;

-- name: MERGE_AMOUNTS_OF_OURS
SELECT merge_digest(merge_bytes({name}, @n, @b, o.@o) || merge_bytes({K, |@b})) FROM {T} AS o JOIN {B} AS b ON {K AND |@b = o.@o} WHERE NOT ~o.@o~@b~;

-- name: MERGE_AMOUNTS_MAKE
CREATE TABLE IF NOT EXISTS main._merge_amounts(digest INTEGER PRIMARY KEY);

-- name: MERGE_AMOUNTS_TAKE
INSERT OR IGNORE INTO main._merge_amounts SELECT digest FROM theirs._merge_amounts;

-- name: MERGE_AMOUNTS_ADD
INSERT OR IGNORE INTO main._merge_amounts VALUES (%lld);

-- name: MERGE_HAS_AMOUNTS
SELECT EXISTS (SELECT 1 FROM %s._merge_amounts WHERE digest = %lld);

-- ---- text for git diff ---------------------------------------------------------------------------

-- name: MERGE_TEXT_SCHEMA
SELECT sql || ';' FROM theirs.sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite\_%' ESCAPE '\' ORDER BY tbl_name, type <> 'table', name;

-- name: MERGE_TEXT_TABLES
SELECT name FROM theirs.sqlite_master WHERE type = 'table' AND rootpage > 0 AND name NOT LIKE 'sqlite\_%' ESCAPE '\' ORDER BY name;

-- name: MERGE_TEXT_COLUMNS
SELECT name FROM pragma_table_xinfo(?1, 'theirs') WHERE hidden = 0 ORDER BY cid;

-- name: MERGE_TEXT_ORDER
SELECT coalesce(group_concat('"' || replace(name, '"', '""') || '"', ', '), '1') FROM (SELECT name FROM pragma_table_xinfo(?1, 'theirs') WHERE pk > 0 ORDER BY pk);
