-- Openings of a table, and answers: whether two of them are the same values. A row of <table>_state
-- is, by its _kind:
--   'opening'   an opening that this file made: its id; the id of the file then
--   'answer'    an answer, as table/openings.c has it; the number when it came

-- name: OPENINGS_OWN
SELECT _name FROM "{schema}"."{table}_state" WHERE _kind BETWEEN 'opening' AND 'opening';

-- name: OPENINGS_MADE
INSERT INTO "{schema}"."{table}_state"(_kind, _name, _value) VALUES ('opening', :opening, :file);

-- name: OPENINGS_ANSWERS
SELECT _name, _seq FROM "{schema}"."{table}_state"
 WHERE _kind BETWEEN 'answer' AND 'answer' AND _seq >= :number ORDER BY _name;

-- name: OPENINGS_ANSWER
INSERT INTO "{schema}"."{table}_state"(_kind, _name, _seq) VALUES ('answer', :answer, :number);
