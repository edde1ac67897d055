-- What a file says to a server, and remembers of it: counter_request, counter_heard; and what a server reads.

-- # a-file-that-knows-nothing-of-a-server-asks-for-nothing-yet
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES('a', 1);
SELECT replace(upload, replace(replace(counter_source(1), ' ', '%20'), '/', '%2F'), 'ME'), query, source, mine FROM counter_request('https://h/s');
--= by=ME|NULL|NULL|0
SELECT replace(upload, replace(counter_source(1), ' ', '%20'), 'ME'), query FROM counter_request('https://h/s', '["ä", 7]');
--= by=ME&scope=%5B%22%C3%A4%22%2C7%5D|NULL
SELECT count(*) FROM sqlite_master WHERE name = 'counter_servers';
--= 0

-- # what-was-heard-of-a-server-is-what-the-next-request-says
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES('a', 1);
INSERT INTO v VALUES('b', 1);
CREATE TEMP TABLE said AS SELECT json_object('format', 1, 'source', '00000000-0000-0000-0000-00000000000b', 'more', json('true'), 'changes', 3, 'skipped', 2, 'marks', json_object(counter_source(1), 2), 'warnings', json_array('x')) AS line;
SELECT h.* FROM said, counter_heard('https://h/s/', line) AS h;
--= 00000000-0000-0000-0000-00000000000b|2|1|3|2|["x"]
SELECT replace(query, replace(counter_source(1), ' ', '%20'), 'ME'), source, mine FROM counter_request('https://h/s');
--= by=ME&since=0&of=00000000-0000-0000-0000-00000000000b|00000000-0000-0000-0000-00000000000b|2
-- what the server leaves out must be known: it has told everything
SELECT h.mine FROM said, counter_heard('https://h/s', replace(replace(line, '"more":true', '"more":false'), ':2}', ':1}')) AS h;
--= 1
SELECT replace(query, replace(counter_source(1), ' ', '%20'), 'ME'), mine FROM counter_request('https://h/s');
--= by=ME&mine=1&since=0&of=00000000-0000-0000-0000-00000000000b|1
SELECT h.mine FROM said, counter_heard('https://h/s', line) AS h;
--= 2
SELECT replace(query, replace(counter_source(1), ' ', '%20'), 'ME'), mine FROM counter_request('https://h/s');
--= by=ME&mine=1&since=0&of=00000000-0000-0000-0000-00000000000b|2
SELECT replace(query, replace(counter_source(1), ' ', '%20'), 'ME'), source FROM counter_request('https://h/s//', '["a"]');
--= by=ME&scope=%5B%22a%22%5D&since=0&of=00000000-0000-0000-0000-00000000000b%20%5B%22a%22%5D|00000000-0000-0000-0000-00000000000b ["a"]
SELECT counter_seen('00000000-0000-0000-0000-00000000000b', 0, 77);
--= 77
SELECT substr(query, instr(query, '&since')) FROM counter_request('https://h/s');
--= &since=77&of=00000000-0000-0000-0000-00000000000b
SELECT query FROM counter_request('https://h');
--= NULL

-- # of-its-own-changes-a-file-believes-a-server-no-more-than-it-has-sent
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES('a', 1);
CREATE TEMP TABLE said AS SELECT json_object('format', 1, 'source', '00000000-0000-0000-0000-00000000000b', 'more', json('false'), 'changes', 0, 'skipped', 0, 'marks', json_object(counter_source(1), 9223372036854775807), 'warnings', json_array()) AS line;
SELECT mine FROM said, counter_heard('u', line);
--= 0
SELECT mine = counter_changes_end() FROM said, counter_heard('u', line, counter_changes_end());
--= 1
SELECT mine FROM said, counter_heard('u', replace(line, ':9223372036854775807', ':1'), counter_changes_end());
--= 1
SELECT mine FROM counter_request('u');
--= 1
SELECT mine FROM said, counter_heard('u', line, 7);
--= 7

-- # what-was-heard-holds-for-the-name-of-the-own-changes-alone
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES('a', 1);
CREATE TEMP TABLE said AS SELECT json_object('format', 1, 'source', '00000000-0000-0000-0000-00000000000b', 'more', json('false'), 'changes', 0, 'skipped', 0, 'marks', json_object(counter_source(1), 2), 'warnings', json_array()) AS line;
SELECT mine FROM said, counter_heard('u', line);
--= 2
SELECT length(counter_fork());
--= 36
SELECT mine, source FROM counter_request('u');
--= 0|00000000-0000-0000-0000-00000000000b

-- # the-same-answer-again-writes-nothing
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES('a', 1);
CREATE TEMP TABLE said AS SELECT json_object('format', 1, 'source', '00000000-0000-0000-0000-00000000000b', 'more', json('false'), 'changes', 0, 'skipped', 0, 'marks', json_object(counter_source(1), 2), 'warnings', json_array()) AS line;
SELECT mine FROM said, counter_heard('u', line, 2);
--= 2
PRAGMA query_only = ON;
SELECT mine FROM said, counter_heard('u', line, 2);
--= 2

-- # an-answer-that-is-none-is-refused
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES('a', 1);
CREATE TEMP TABLE said AS SELECT json_object('format', 1, 'source', '00000000-0000-0000-0000-00000000000b', 'more', json('false'), 'changes', 0, 'skipped', 0, 'marks', json_object(counter_source(1), 2), 'warnings', json_array()) AS line;
SELECT * FROM counter_heard('u', '<html>');
--! counter_heard: the answer has a word that JSON does not have
SELECT * FROM counter_heard('u', '[]');
--! counter_heard: the answer must be an object of JSON
SELECT * FROM counter_heard('u', '{}');
--! counter_heard: the member format must be a whole number, 1 or more, not missing
SELECT h.* FROM said, counter_heard('u', replace(line, '"format":1', '"format":2')) AS h;
--! counter_heard: the answer has the format 2, and this version reads 1: install a newer sqlite-counter
SELECT h.* FROM said, counter_heard('u', replace(line, '"source":"', '"source":"x')) AS h;
--! counter_heard: the source 'x00000000-0000-0000-0000-00000000000b' is not the name of a file
SELECT h.* FROM said, counter_heard('u', replace(line, 'b"', 'b own"')) AS h;
--! counter_heard: the source '00000000-0000-0000-0000-00000000000b own' is not the name of a file
SELECT h.* FROM said, counter_heard('u', line, NULL, '["a"]') AS h;
--! counter_heard: the source '00000000-0000-0000-0000-00000000000b' is not the name of a file, with the scope ["a"]
SELECT h.* FROM said, counter_heard('u', replace(line, 'b"', 'b [\"a\"]"')) AS h;
--! counter_heard: the source '00000000-0000-0000-0000-00000000000b ["a"]' is not the name of a file
SELECT h.* FROM said, counter_heard('u', replace(line, '":2}', '":-2}')) AS h;
--! counter_heard: the member marks must be a whole number, 0 or more, not -2
SELECT h.* FROM said, counter_heard('u', replace(line, '"more":false,', '')) AS h;
--! counter_heard: the member more must be true or false, not missing
SELECT h.* FROM said, counter_heard('u', replace(line, '"warnings":[]', '"warnings":7')) AS h;
--! counter_heard: the member warnings must be an array, not 7
SELECT h.* FROM said, counter_heard('u', line, -1) AS h;
--! counter_heard: sent must be an INTEGER, 0 or more, not INTEGER -1
SELECT count(*) FROM sqlite_master WHERE name = 'counter_servers';
--= 0
SELECT h.mine FROM said, counter_heard('u', replace(line, counter_source(1), 'x')) AS h;
--= 0
SELECT * FROM counter_heard('u');
--! counter_heard: two arguments are needed, the URL of a server and the first line of its answer
SELECT * FROM counter_request(7);
--! counter_request: the URL must be TEXT, not INTEGER 7

-- # a-file-without-counter-tables-says-nothing-to-a-server
SELECT * FROM counter_request('u');
--! counter_request: main has no replica id: run SELECT counter_init() once

-- # a-connection-that-writes-nothing-reads-its-changes-itself-and-sees-what-is-committed
CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);
INSERT INTO v VALUES('a', 1);
CREATE TEMP TABLE ends(place);
INSERT INTO ends VALUES (counter_changes_end());
PRAGMA query_only = ON;
SELECT changes, upto = counter_changes_end() FROM counter_lines(0);
--= 1|1
BEGIN;
SELECT changes, upto = counter_changes_end() FROM counter_lines(0);
--= 1|1
SELECT count(*) FROM ends, counter_lines(place);
--= 0
COMMIT;
PRAGMA query_only = OFF;
INSERT INTO v VALUES('b', 1);
PRAGMA query_only = ON;
SELECT changes, upto = counter_changes_end() FROM ends, counter_lines(place);
--= 1|1
PRAGMA query_only = OFF;
BEGIN;
INSERT INTO v VALUES('c', 1);
PRAGMA query_only = ON;
SELECT changes, upto = counter_changes_end() FROM counter_lines(0);
--= 2|1
ROLLBACK;

-- # what-is-new-lies-at-the-end-whatever-it-is-and-behind-the-end-lies-nothing
CREATE VIRTUAL TABLE v USING counter(d INTEGER, k TEXT, n COUNTER, PRIMARY KEY (d, k));
CREATE TABLE p(k TEXT PRIMARY KEY, t TEXT, n INTEGER NOT NULL DEFAULT 5);
INSERT INTO p(k) VALUES ('a');
SELECT counter_replicate('p', 'n');
--= 1
INSERT INTO v VALUES(1, 'a', 1);
CREATE TEMP TABLE ends(place);
INSERT INTO ends VALUES (counter_changes_end());
SELECT count(*) FROM ends, counter_lines(place);
--= 0
INSERT INTO v(v, d) VALUES ('purge below', 1);
SELECT changes, upto = counter_changes_end() FROM ends, counter_lines(place);
--= 1|1
UPDATE ends SET place = counter_changes_end();
SELECT count(*) FROM ends, counter_lines(place);
--= 0
INSERT INTO v(v) VALUES ('add column m');
SELECT changes, upto = counter_changes_end() FROM ends, counter_lines(place);
--= 1|1
UPDATE ends SET place = counter_changes_end();
SELECT count(*) FROM ends, counter_lines(place);
--= 0
INSERT INTO v(v) VALUES ('drop column m');
SELECT changes, upto = counter_changes_end() FROM ends, counter_lines(place);
--= 1|1
UPDATE ends SET place = counter_changes_end();
SELECT count(*) FROM ends, counter_lines(place);
--= 0
SELECT counter_opening('p', 'same');
--= 0
SELECT changes, upto = counter_changes_end() FROM ends, counter_lines(place);
--= 1|1
UPDATE ends SET place = counter_changes_end();
SELECT count(*) FROM ends, counter_lines(place);
--= 0
