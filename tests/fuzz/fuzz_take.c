/* fuzz_take.c - any changes, and any lines: INSERT INTO counter_changes, counter_take,
 * counter_receive.
 *
 *     byte 0     odd: the rest are lines for counter_take or, with the bit 2, counter_receive; even:
 *                changes, each
 *                a byte for the table (odd: r, a replicated one; else v), a byte for the size of the
 *                key, the key, two bytes for the size of the change, the change
 *
 * What is refused changes nothing; what is taken changes nothing more when it comes again; the
 * tables stay sound. What they have then, lines carry into another file.
 */
#include "fuzz_sql.h"

enum { CHANGES_MOST = 8 };

typedef struct input {
    const uint8_t *at;
    size_t left;
} input;

static sqlite3 *db, *other;
static sqlite3_stmt *insert, *take, *receive, *digest, *check, *check_replicated, *lines,
    *take_there, *arrived;

static const char SETUP[] =
    "CREATE VIRTUAL TABLE v USING counter(k TEXT COLLATE NOCASE, j INTEGER, n COUNTER, m COUNTER,"
    " PRIMARY KEY(k, j));"
    "CREATE TABLE r(k TEXT PRIMARY KEY COLLATE NOCASE NOT NULL, a TEXT NOT NULL DEFAULT '', b "
    "UNIQUE,"
    " n INTEGER CHECK (n < 1000), m INTEGER);"
    "SELECT counter_replicate('r', 'n', 'm');"
    "CREATE TRIGGER trim AFTER INSERT ON r WHEN length(NEW.a) > 2"
    " BEGIN UPDATE r SET a = substr(NEW.a, 1, 2) WHERE k = NEW.k; END;";

static const char ROWS[] =
    "INSERT INTO v VALUES('a', 1, 1, 2), ('b', 2, 3, NULL);"
    "INSERT INTO v(v) VALUES('add column o'), ('drop column m');"
    "INSERT INTO r VALUES('a', 'A', 1, 1, 2), ('b', 'B', 2.5, 3, NULL), ('c', 'long', x'00', 4, 5);"
    "UPDATE r SET b = 'x' WHERE k = 'a'; DELETE FROM r WHERE k = 'b';"
    "CREATE TABLE counter_http_tokens(token TEXT PRIMARY KEY, device TEXT NOT NULL UNIQUE);"
    "CREATE TABLE counter_http_ids(id TEXT PRIMARY KEY, token TEXT NOT NULL);"
    "INSERT INTO counter_http_tokens VALUES('aa', 'till'), ('bb', 'phone');"
    "INSERT INTO counter_http_ids VALUES('00000000-0000-0000-0000-00000000000a', 'bb');";

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    static const char DIGESTS[] =
        "SELECT counter_table_digest('v') || counter_table_digest('r_counters')";
    (void)argc, (void)argv;
    db = open_memory();
    other = open_memory();
    run_all(db, SETUP);
    run_all(other, SETUP);
    run_all(db, ROWS);
    prepare(db,
            "INSERT INTO counter_changes(table_name, key, change, seq, source)"
            " VALUES(?1, ?2, ?3, 1, '00000000-0000-0000-0000-00000000000a')",
            &insert);
    prepare(db, "SELECT counter_take(?1)", &take);
    prepare(db, "SELECT counter_receive('aa', ?1)", &receive);
    prepare(db, DIGESTS, &digest);
    prepare(db, "INSERT INTO v(v) VALUES('integrity-check')", &check);
    prepare(db, "INSERT INTO r_counters(r_counters) VALUES('integrity-check')", &check_replicated);
    prepare(db, "SELECT line FROM counter_lines(0)", &lines);
    prepare(other, "SELECT counter_take(?1)", &take_there);
    prepare(other, DIGESTS, &arrived);
    return 0;
}

static uint8_t take_byte(input *in)
{
    if (in->left == 0) return 0;
    in->left--;
    return *in->at++;
}

static void bind_piece(input *in, int parameter, size_t size)
{
    if (size > in->left) size = in->left;
    sqlite3_bind_blob(insert, parameter, size ? in->at : (const uint8_t *)"", (int)size,
                      SQLITE_STATIC);
    in->at += size;
    in->left -= size;
}

/* Runs it twice. Returns whether it has changed anything. */
static bool try_twice(sqlite3_stmt *statement)
{
    char before[DIGEST], once[DIGEST], twice[DIGEST];
    read_digest(digest, before);
    int rc = run(statement);
    if (sqlite3_get_autocommit(db)) return false;
    read_digest(digest, once);
    fuzz_assert(rc != SQLITE_CONSTRAINT && rc != SQLITE_NOMEM);
    fuzz_assert(rc == SQLITE_OK || strcmp(before, once) == 0);
    fuzz_assert(run(statement) == rc);
    read_digest(digest, twice);
    fuzz_assert(strcmp(once, twice) == 0);
    return strcmp(before, once) != 0;
}

/* Lines carry all into another file. */
static void carry_on(void)
{
    char here[DIGEST], there[DIGEST];
    read_digest(digest, here);
    run_all(other, "BEGIN");
    while (sqlite3_step(lines) == SQLITE_ROW) {
        sqlite3_bind_value(take_there, 1, sqlite3_column_value(lines, 0));
        fuzz_assert(run(take_there) == SQLITE_OK);
    }
    fuzz_assert(sqlite3_reset(lines) == SQLITE_OK);
    read_digest(arrived, there);
    fuzz_assert(strcmp(here, there) == 0);
    run_all(other, "ROLLBACK");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    input in = {data, size};
    bool changed = false;
    if (size == 0) return 0;
    run_all(db, "BEGIN");
    int way = take_byte(&in);
    if (way % 2 == 1) {
        sqlite3_stmt *taking = way & 2 ? receive : take;
        const char *text = in.left ? (const char *)in.at : "";
        sqlite3_bind_text(taking, 1, text, (int)in.left, SQLITE_STATIC);
        changed = try_twice(taking);
        in.left = 0;
    }
    for (int n = 0; in.left > 0 && n < CHANGES_MOST && !sqlite3_get_autocommit(db); n++) {
        sqlite3_bind_text(insert, 1, take_byte(&in) % 2 ? "r" : "v", -1, SQLITE_STATIC);
        bind_piece(&in, 2, take_byte(&in));
        size_t most = (size_t)take_byte(&in) << 8;
        bind_piece(&in, 3, most | take_byte(&in));
        changed |= try_twice(insert);
    }
    if (!sqlite3_get_autocommit(db)) {
        fuzz_assert(run(check) == SQLITE_OK);
        fuzz_assert(run(check_replicated) == SQLITE_OK);
        if (changed) carry_on();
    }
    sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
    return 0;
}
