-- Floors: a table never has rows below them again. value: a packed key; nothing is no floor.

-- name: FLOORS_READ
SELECT value, seq, rows, bytes FROM "{schema}".counter_state
 WHERE tab = :tab AND kind = 'floors' AND row = 0 AND name = '';

-- name: FLOORS_WRITE
INSERT INTO "{schema}".counter_state(tab, kind, value, seq, rows, bytes)
VALUES (:tab, 'floors', :floors, :number, :rows, :bytes)
    ON CONFLICT (tab, kind, row, name) DO UPDATE SET value = excluded.value, seq = excluded.seq,
       rows = rows + excluded.rows, bytes = bytes + excluded.bytes;

-- In these, the parameters of keys are in key order.

-- The number of rows below, and the bytes of their keys and cells.
-- name: FLOORS_COUNT
SELECT count(*), coalesce(sum("{columns}"), 0) FROM "{schema}"."{table}_cells" WHERE "{constraint}";

-- name: FLOORS_REMOVE
DELETE FROM "{schema}"."{table}_cells" WHERE "{constraint}";
