/* grant.c - the command grant: lets another file take of a bounded counter. */
#define _POSIX_C_SOURCE 200809L

#include <ctype.h>
#include <string.h>

#include "cli/cli.h"

enum { ID_LENGTH = 36, MOST_KEYS = 64 };

/* One call. All is owned but `given`. */
typedef struct granting {
    cli_file *file;
    const cli_arguments *given;
    char to[ID_LENGTH + 1];
    char *counters, *column; /* the counter table and the bounded counter */
    char *keys[MOST_KEYS];   /* its key columns, in the order of the key */
    int n_keys;
} granting;

enum { FILE_WORD, TABLE_WORD, KEY_WORD, N_WORD };

/* ---- the grantee ----------------------------------------------------------------------------- */

/* Returns whether the text is a UUID with hyphens; the library looks at it again. */
static bool is_id(const char *text)
{
    for (int i = 0; i < ID_LENGTH; i++) {
        bool is_hyphen = i == 8 || i == 13 || i == 18 || i == 23;
        if (is_hyphen ? text[i] != '-' : !isxdigit((unsigned char)text[i])) return false;
    }
    return text[ID_LENGTH] == '\0';
}

/* Reads the id of a file: a copy takes the one under which it will count. */
static void read_id(cli *c, const char *path, char to[ID_LENGTH + 1])
{
    cli_file file;
    cli_open(&file, c, path);
    cli_need_tables(&file);
    cli_need_write(&file);
    sqlite3_stmt *row = cli_prepare(&file, CLI_SQL_SETTLE);
    if (cli_step(&file, row))
        sqlite3_snprintf(ID_LENGTH + 1, to, "%s", sqlite3_column_text(row, 0));
    sqlite3_finalize(row);
    cli_close(&file);
}

static void find_grantee(cli *c, const char *device, char to[ID_LENGTH + 1])
{
    if (!device) {
        cli_fail(c, "grant needs --to, the path or the id of the file that may take then: see "
                    "sqlite-counter grant --help");
        c->status = 2;
    } else if (is_id(device)) {
        for (int i = 0; i <= ID_LENGTH; i++) to[i] = (char)tolower((unsigned char)device[i]);
    } else {
        read_id(c, device, to);
    }
}

/* ---- the counter ----------------------------------------------------------------------------- */

static char *copy_text(cli *c, const char *text)
{
    char *copy = text ? sqlite3_mprintf("%s", text) : NULL;
    if (!copy) cli_fail(c, "out of memory");
    return copy;
}

/* Sets call->counters. */
static void find_counters(granting *call)
{
    cli_file *file = call->file;
    const char *table = call->given->word[TABLE_WORD];
    sqlite3_stmt *row = cli_prepare_text(file, CLI_SQL_COUNTERS_OF, table);
    if (cli_step(file, row))
        call->counters = copy_text(file->c, (const char *)sqlite3_column_text(row, 0));
    else
        cli_fail(file->c, "%s: there is no tracked table or counter table '%s'", file->path, table);
    sqlite3_finalize(row);
}

/* Sets call->column. */
static void find_column(granting *call)
{
    cli_file *file = call->file;
    const char *table = call->given->word[TABLE_WORD];
    if (file->c->failed) return;
    if (call->given->column) {
        call->column = copy_text(file->c, call->given->column);
        return;
    }
    sqlite3_stmt *row = cli_prepare_text(file, CLI_SQL_BOUNDED_OF, call->counters);
    int n = cli_step(file, row) ? sqlite3_column_int(row, 0) : 0;
    if (n == 0)
        cli_fail(file->c,
                 "%s: table %s has no bounded counter: SELECT counter_bound('%s', 'column') makes "
                 "one",
                 file->path, table, table);
    else if (n > 1)
        cli_fail(file->c, "%s: table %s has several bounded counters, %s: --column says which",
                 file->path, table, sqlite3_column_text(row, 1));
    else
        call->column = copy_text(file->c, (const char *)sqlite3_column_text(row, 1));
    sqlite3_finalize(row);
}

/* ---- the key --------------------------------------------------------------------------------- */

static void find_keys(granting *call)
{
    cli_file *file = call->file;
    sqlite3_stmt *row = cli_prepare_text(file, CLI_SQL_KEYS_OF, call->counters);
    while (cli_step(file, row))
        if (call->n_keys < MOST_KEYS)
            call->keys[call->n_keys++] =
                copy_text(file->c, (const char *)sqlite3_column_text(row, 0));
    sqlite3_finalize(row);
}

static int digit(char c)
{
    return c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10;
}

/* Binds the bytes that hexadecimal digits name. */
static void bind_bytes(sqlite3_stmt *to, int at, const char *hex, bool is_text)
{
    size_t n = strlen(hex) / 2;
    unsigned char *bytes = sqlite3_malloc64(n + 1);
    if (!bytes) return; /* the parameter stays NULL, and a key has none */
    for (size_t i = 0; i < n; i++)
        bytes[i] = (unsigned char)(16 * digit(hex[2 * i]) + digit(hex[2 * i + 1]));
    if (is_text)
        sqlite3_bind_text64(to, at, (char *)bytes, n, sqlite3_free, SQLITE_UTF8);
    else
        sqlite3_bind_blob64(to, at, bytes, n, sqlite3_free);
}

/* Columns of CLI_SQL_KEY_VALUES. */
enum { VALUE, IS_KEY, AS_HEX, AS_TEXT };

/* Binds the values of a key, from a parameter on. It was checked. */
static void bind_key(granting *call, sqlite3_stmt *to, int at)
{
    cli_file *file = call->file;
    sqlite3_stmt *row = cli_prepare_text(file, CLI_SQL_KEY_VALUES, call->given->word[KEY_WORD]);
    while (to && cli_step(file, row)) {
        const char *hex = (const char *)sqlite3_column_text(row, AS_HEX);
        const char *text = (const char *)sqlite3_column_text(row, AS_TEXT);
        if (hex || text)
            bind_bytes(to, at++, hex ? hex : text, !hex);
        else
            sqlite3_bind_value(to, at++, sqlite3_column_value(row, VALUE));
    }
    sqlite3_finalize(row);
}

/* Fails if the key does not fit the table. */
static void check_key(granting *call)
{
    int n = 0;
    bool fits = true;
    cli_file *file = call->file;
    sqlite3_str *names = sqlite3_str_new(NULL);
    sqlite3_stmt *row = cli_prepare_text(file, CLI_SQL_KEY_VALUES, call->given->word[KEY_WORD]);
    for (; cli_step(file, row); n++) fits = fits && sqlite3_column_int(row, IS_KEY);
    sqlite3_finalize(row);
    for (int i = 0; i < call->n_keys; i++)
        sqlite3_str_appendf(names, "%s%s", i > 0 ? ", " : "", call->keys[i]);
    char *text = sqlite3_str_finish(names);
    if (n != call->n_keys || !fits)
        cli_fail(file->c,
                 "%s: %s is no key of table %s: give an array of JSON with the value%s of %s, as "
                 "counter_rights shows it",
                 file->path, call->given->word[KEY_WORD], call->given->word[TABLE_WORD],
                 call->n_keys == 1 ? "" : "s", text ? text : "its columns");
    sqlite3_free(text);
}

/* ---- granting -------------------------------------------------------------------------------- */

static sqlite3_stmt *prepare_made(cli_file *file, sqlite3_str *sql)
{
    char *text = sqlite3_str_finish(sql);
    if (!text) cli_fail(file->c, "out of memory");
    sqlite3_stmt *made = text ? cli_prepare(file, text) : NULL;
    sqlite3_free(text);
    return made;
}

static void give(granting *call)
{
    cli_file *file = call->file;
    if (file->c->failed) return;
    sqlite3_str *sql = sqlite3_str_new(NULL);
    sqlite3_str_appendf(sql, "INSERT INTO main.\"%w\"(\"%w\", \"%w\"", call->counters,
                        call->counters, call->column);
    for (int i = 0; i < call->n_keys; i++) sqlite3_str_appendf(sql, ", \"%w\"", call->keys[i]);
    sqlite3_str_appendall(sql, ") VALUES ('grant ' || ?1, ?2");
    for (int i = 0; i < call->n_keys; i++) sqlite3_str_appendf(sql, ", ?%d", i + 3);
    sqlite3_str_appendall(sql, ")");
    sqlite3_stmt *grant = prepare_made(file, sql);
    if (grant) sqlite3_bind_text(grant, 1, call->to, -1, SQLITE_STATIC);
    if (grant) sqlite3_bind_text(grant, 2, call->given->word[N_WORD], -1, SQLITE_STATIC);
    bind_key(call, grant, 3);
    cli_step(file, grant);
    sqlite3_finalize(grant);
}

/* Returns the key as JSON, as the table has it: the caller frees it. */
static char *stored_key(granting *call)
{
    cli_file *file = call->file;
    sqlite3_str *sql = sqlite3_str_new(NULL);
    sqlite3_str_appendall(sql, "SELECT counter_key_json(counter_key(");
    for (int i = 0; i < call->n_keys; i++)
        sqlite3_str_appendf(sql, "%s\"%w\"", i > 0 ? ", " : "", call->keys[i]);
    sqlite3_str_appendf(sql, ")) FROM main.\"%w\" WHERE ", call->counters);
    for (int i = 0; i < call->n_keys; i++)
        sqlite3_str_appendf(sql, "%s\"%w\" = ?%d", i > 0 ? " AND " : "", call->keys[i], i + 1);
    sqlite3_stmt *row = prepare_made(file, sql);
    bind_key(call, row, 1);
    char *key =
        cli_step(file, row) ? copy_text(file->c, (const char *)sqlite3_column_text(row, 0)) : NULL;
    sqlite3_finalize(row);
    return key;
}

/* Adds what both may take now. */
static void tell_rights(granting *call, cli_rows *rows)
{
    cli_file *file = call->file;
    char *key = file->c->failed ? NULL : stored_key(call);
    const char *const given[] = {call->counters, call->column, call->to, key};
    sqlite3_stmt *row = cli_prepare(file, CLI_SQL_RIGHTS_OF_BOTH);
    for (int i = 0; row && i < 4; i++) sqlite3_bind_text(row, i + 1, given[i], -1, SQLITE_STATIC);
    if (cli_step(file, row)) {
        cli_rows_text(rows, file->path);
        cli_rows_columns(rows, row, 0, 2);
        cli_rows_end(rows);
        cli_rows_text(rows, call->given->to);
        cli_rows_text(rows, call->to);
        cli_rows_columns(rows, row, 2, 3);
        cli_rows_end(rows);
    }
    sqlite3_finalize(row);
    sqlite3_free(key);
}

/* The id of the grantee is in its own file before anything is granted to it. */
void cli_grant(cli *c, const cli_arguments *given)
{
    cli_file file;
    cli_rows rows = {0};
    granting call = {.file = &file, .given = given};
    cli_open(&file, c, given->word[FILE_WORD]);
    cli_need_tables(&file);
    find_grantee(c, given->to, call.to);
    cli_begin(&file);
    find_counters(&call);
    find_column(&call);
    find_keys(&call);
    check_key(&call);
    give(&call);
    tell_rights(&call, &rows);
    cli_end(&file);
    if (c->failed) cli_rows_cut(&rows, 0);
    cli_rows_print(&rows, c, "file\tid\tmay take");
    cli_close(&file);
    sqlite3_free(call.counters);
    sqlite3_free(call.column);
    for (int i = 0; i < call.n_keys; i++) sqlite3_free(call.keys[i]);
}
