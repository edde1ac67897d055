-- hourly.sql - time buckets: hits by hour, the last 24 hours, and an end to old ones. Run it from
-- the root of the project:
--
--     sqlite3 main.db < examples/hourly.sql
--
-- A bucket is the hour since 1970, strftime('%s', 'now') / 3600. It comes first in the key: then a
-- range of hours is a range of the key, whether it is read, newest first, or removed.

.load build/counter
CREATE VIRTUAL TABLE IF NOT EXISTS hourly USING counter(hour INTEGER, page TEXT, hits COUNTER, PRIMARY KEY (hour, page));

-- Here the time stands still, so that the answers are always the same: it is hour 500000.
CREATE TEMP TABLE clock AS SELECT 500000 AS now;

-- Every hit adds to the bucket of its hour: here 50 hours of made-up hits. If the script runs again
-- they count again, but for those below the floor that its end has set, which are passed over.
WITH RECURSIVE ago(n) AS (VALUES (0) UNION ALL SELECT n + 1 FROM ago WHERE n < 49),
made(hour, page, hits) AS (
  SELECT now - n, '/', n + 1 FROM clock, ago
  UNION ALL
  SELECT now - n, '/contact', 1 FROM clock, ago WHERE n % 2 = 0)
INSERT INTO hourly(hour, page, hits)
SELECT * FROM made WHERE hour >= coalesce((SELECT floor FROM counter_floors('hourly')), 0);

-- The last 24 hours, newest first: a range of the key, read backwards.
SELECT 'all pages', hour, page, hits
  FROM hourly
 WHERE hour > (SELECT now - 24 FROM clock)
 ORDER BY hour DESC, page DESC;

-- One page: a look-up of the whole key for each hour.
WITH RECURSIVE last(hour) AS (SELECT now FROM clock UNION ALL SELECT hour - 1 FROM last, clock WHERE hour > now - 23)
SELECT 'one page', last.hour, hits
  FROM last CROSS JOIN hourly ON hourly.hour = last.hour AND hourly.page = '/contact';

-- Totals of the last 24 hours.
SELECT 'totals', page, sum(hits) FROM hourly WHERE hour > (SELECT now - 24 FROM clock) GROUP BY page;

-- What is older than 30 hours goes, in all files that hear of it, and never comes back.
INSERT INTO hourly(hourly, hour) SELECT 'purge below', now - 30 FROM clock;
SELECT 'left', count(*), min(hour) FROM hourly;
