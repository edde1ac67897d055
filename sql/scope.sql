-- Scopes of the feed.

-- The values of a key as JSON: table/key_json.h.
-- name: KEY_JSON
SELECT json_type(:json), type, atom,
       CASE type WHEN 'object' THEN json_extract(value, '$.hex') END,
       CASE type WHEN 'object' THEN json_extract(value, '$.text') END
  FROM json_each(:json);

-- The rows whose leading key columns have these values.
-- name: SCOPE_ROWS
SELECT _id FROM "{schema}"."{table}_cells" WHERE "{constraint}" ORDER BY _id;
