-- Openings of a table, and answers: whether two of them are the same values. A row of counter_state
-- is, by its kind:
--   'opening'   an opening that this file made: its id; the id of the file then
--   'answer'    an answer, or who holds an opening, as table/openings.c has it; the number when it
--               came

-- name: OPENINGS_OWN
SELECT name, value FROM "{schema}".counter_state
 WHERE tab = :tab AND kind BETWEEN 'opening' AND 'opening';

-- name: OPENINGS_MADE
INSERT INTO "{schema}".counter_state(tab, kind, name, value)
VALUES (:tab, 'opening', :opening, :file);

-- While a table is made anew under another key, they belong to no table.
-- name: OPENINGS_KEEP
UPDATE "{schema}".counter_state SET tab = -1 WHERE tab = :tab AND kind IN ('opening', 'answer');

-- name: OPENINGS_GIVE_BACK
UPDATE "{schema}".counter_state SET tab = :tab WHERE tab = -1;

-- name: OPENINGS_ANSWERS
SELECT name, seq FROM "{schema}".counter_state
 WHERE tab = :tab AND kind BETWEEN 'answer' AND 'answer' AND seq >= :number ORDER BY name;

-- name: OPENINGS_ANSWER
INSERT INTO "{schema}".counter_state(tab, kind, name, seq)
VALUES (:tab, 'answer', :answer, :number);
