-- Keys as JSON.

-- The values: table/shape.c.
-- name: KEY_JSON
SELECT json_type(:json), type, atom,
       CASE type WHEN 'object' THEN json_extract(value, '$.hex') END,
       CASE type WHEN 'object' THEN json_extract(value, '$.text') END
  FROM json_each(:json);
