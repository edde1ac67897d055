"""test_adoption.py - what counter_plan writes into declarations, which SQLite itself reads as an oracle: the table is the
same but for the word AUTOINCREMENT, or but for its key, and so is the text."""

import random
import sqlite3

from conftest import EXAMPLES, SEED
from files import connect

BLANKS = [" ", "  ", "\n", "\t", "\r\n", "/**/", "/* PRIMARY KEY ( */", "-- AUTOINCREMENT )\n", " /* ' */ ", "--\n", "/* \" [ */"]
NAMES = ["a", "b1", "Zahl_ä", '"primary key"', "[AUTOINCREMENT]", '"x)y"', "`ke`", '"say ""no"""', "[(]", '"--"', "key", "\"/*\"", "$x"]
TYPES = ["", "TEXT", "INTEGER", "varchar(20)", "DECIMAL(10, 2)", "double precision", "BLOB", '"text"', "int", "NUMERIC"]
CLAUSES = ["NOT NULL", "NOT NULL ON CONFLICT ABORT", "UNIQUE", "UNIQUE ON CONFLICT IGNORE", "DEFAULT 'PRIMARY KEY'", "DEFAULT -1",
           "DEFAULT (1 + (2))", "CHECK (1 <> ')' )", "COLLATE NOCASE", "REFERENCES other(a) ON DELETE SET NULL", "CONSTRAINT c CHECK (1)",
           "REFERENCES other DEFERRABLE INITIALLY DEFERRED", "DEFAULT x'00'", "CONSTRAINT \"PRIMARY\" NOT NULL", "DEFAULT \"KEY\"", "NULL"]
FURTHER = ["CHECK (1 IN (1, 2))", "CONSTRAINT [PRIMARY KEY (] CHECK ('PRIMARY KEY' <> '')", "FOREIGN KEY (%s) REFERENCES other(a)",
           "UNIQUE (%s)", "CONSTRAINT u UNIQUE (%s COLLATE NOCASE DESC) ON CONFLICT ROLLBACK", "CHECK (coalesce(%s, 1) <> 'AUTOINCREMENT')"]
KEYS = ["id", '"id"', "[id]", "`id`", '"the ""id"""', "[i)d]", "ID", "\"PRIMARY\"", "$i"]


def blanks(r):
    return "".join(r.choice(BLANKS) for _ in range(r.choice([0, 0, 1, 2])))


def spread(r, text):
    """Blanks and comments between the words of the text that are not within quotes."""
    out, quote = "", ""
    for c in text:
        if quote:
            quote = "" if c == quote else quote
        elif c in "'\"`[":
            quote = "]" if c == "[" else c
        if c == " " and not quote:
            out += r.choice(BLANKS) + blanks(r)
        elif c in "()," and not quote:
            out += blanks(r) + c + blanks(r)
        else:
            out += c
    return out


def columns(r):
    names = r.sample(NAMES, r.randrange(4))
    return [(name, f"{name} {r.choice(TYPES)} {' '.join(r.choice(CLAUSES) for _ in range(r.randrange(3)))}".rstrip()) for name in names]


def declare(r, with_key):
    """CREATE TABLE t, of columns, the key among them, and table constraints."""
    others, key = columns(r), r.choice(KEYS)
    further = [text % others[0][0] if "%s" in text else text
               for text in r.sample(FURTHER, r.randrange(3)) if others or "%s" not in text]
    if with_key == "column":
        clause = r.choice(["PRIMARY KEY", "primary Key", "CONSTRAINT \"PRIMARY KEY\" PRIMARY KEY"]) + r.choice(["", "", " ASC", " asc", " DESC"])
        clause += r.choice(["", "", " ON CONFLICT REPLACE", " on conflict ABORT"])
        before = r.choice(["", " NOT NULL", " CHECK (1)", " DEFAULT 0"])
        after = r.choice(["", "", " NOT NULL", " CHECK (1 <> 2)", " UNIQUE"])
        others.insert(r.randrange(len(others) + 1), (key, f"{key} INTEGER{before} {clause}{after}"))
    elif with_key == "table":
        others.insert(r.randrange(len(others) + 1), (key, f"{key} integer{r.choice(['', ' NOT NULL', ' CHECK (1)'])}"))
        name = r.choice(["", "", "CONSTRAINT pk ", "CONSTRAINT [KEY (] "])
        order = r.choice(["", "", " ASC", " DESC", " COLLATE BINARY"])
        further.insert(r.randrange(len(further) + 1), f"{name}PRIMARY KEY ({key}{order}){r.choice(['', ' ON CONFLICT FAIL'])}")
    else:
        others = [("a_id", "a_id INT" + r.choice(["", " NOT NULL"])), ("\"b_id\"", "\"b_id\" TEXT")] + [
            pair for pair in others if "UNIQUE" not in pair[1]]
        further = [text for text in further if "UNIQUE" not in text]
    table = r.choice(["t", '"t"', "[t]", "main.t", "main . [t]"])
    return spread(r, f"CREATE TABLE {table} ({', '.join([text for _, text in others] + further)})")


def shape(db, with_keys=True):
    of = [row if with_keys else row[:5] + row[6:] for row in db.execute("PRAGMA table_xinfo(t)").fetchall()]
    return of, [row[1:] for row in db.execute("PRAGMA index_list(t)").fetchall() if with_keys or row[3] != "pk"], \
        db.execute("PRAGMA foreign_key_list(t)").fetchall()


def made(r, with_key):
    """A database with such a table, and what SQLite stores of its text; None where it takes no such table."""
    db = connect(":memory:")
    try:
        db.execute("CREATE TABLE other(a TEXT PRIMARY KEY)")
        db.execute(declare(r, with_key))
        if r.randrange(4) == 0:
            db.execute(spread(r, "ALTER TABLE t ADD COLUMN later TEXT DEFAULT ')'"))
        if r.randrange(8) == 0:
            db.execute("ALTER TABLE t RENAME COLUMN later TO \"PRIMARY KEY\"")
        if r.randrange(4) == 0:
            db.execute("ALTER TABLE t RENAME TO t2")
            db.execute("ALTER TABLE t2 RENAME TO t")
    except sqlite3.Error:
        if not db.execute("SELECT 1 FROM sqlite_master WHERE name = 't'").fetchone():
            return None
    return db


def plan(db):
    return db.execute("SELECT kind, declaration, finding FROM counter_plan WHERE table_name = 't'"
                      " AND kind IN ('replicate', 'autoincrement', 'key', 'refused')").fetchone()


def text_of(db):
    return db.execute("SELECT sql FROM sqlite_master WHERE name = 't'").fetchone()[0]


def test_autoincrement_is_the_only_difference():
    """Also in tables that have no key of SQLite's numbers: there nothing is written."""
    r, written, others = random.Random(f"{SEED} autoincrement"), 0, 0
    for _ in range(20 * EXAMPLES):
        db = made(r, r.choice(["column", "table"]))
        if db is None:
            continue
        kind, declaration, finding = plan(db)
        sql = text_of(db)
        gives_numbers = not any(row[3] == "pk" for row in db.execute("PRAGMA index_list(t)"))
        assert (kind == "autoincrement") == gives_numbers, (sql, kind, finding)
        others += not gives_numbers
        if gives_numbers:
            at = next(i for i in range(len(declaration)) if declaration[i] != sql[i:i + 1])
            at = max(i for i in range(at + 1) if declaration == sql[:i] + " AUTOINCREMENT" + sql[i:])
            other = sqlite3.connect(":memory:")
            other.execute("CREATE TABLE other(a TEXT PRIMARY KEY)")
            other.execute(declaration)
            assert other.execute("SELECT 1 FROM sqlite_master WHERE name = 'sqlite_sequence'").fetchone(), declaration
            assert shape(db) == shape(other), (sql, declaration)
            written += 1
            other.execute("DROP TABLE t")
            again = connect(":memory:")
            again.execute(declaration)
            assert plan(again)[0] == "replicate" and plan(again)[1] is None, declaration
            again.close()
        db.close()
    assert written > 5 * EXAMPLES and others > 0, (written, others)


def test_a_key_is_the_only_difference():
    r, written = random.Random(f"{SEED} key"), 0
    for _ in range(5 * EXAMPLES):
        db = made(r, None)
        if db is None:
            continue
        kind, declaration, finding = plan(db)
        sql = text_of(db)
        if kind == "key":
            key = ', PRIMARY KEY ("a_id", "b_id")'
            assert declaration.replace(key, "", 1) == sql and key in declaration, (sql, declaration)
            other = sqlite3.connect(":memory:")
            other.execute("CREATE TABLE other(a TEXT PRIMARY KEY)")
            other.execute(declaration)
            assert shape(db, False) == shape(other, False), (sql, declaration)
            assert [row[1] for row in other.execute("PRAGMA table_info(t)") if row[5]] == ["a_id", "b_id"]
            written += 1
        else:
            assert kind == "refused" and declaration is None, (sql, kind, finding)
        db.close()
    assert written > EXAMPLES, written
