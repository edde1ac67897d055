/* adopt.c - the commands plan and adopt: an application's tables, all at once.
 *
 * adopt rebuilds nothing. It writes AUTOINCREMENT, or a PRIMARY KEY, into the declaration that
 * sqlite_master has, makes the index of such a key by CREATE UNIQUE INDEX, and gives it the name of
 * an index that a constraint has made, and no text. Rows, other indexes, triggers, views and
 * the statistics of ANALYZE stay untouched. SQLite reads the schema again, and then says whether it
 * means what it should. All is one transaction.
 */
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"

/* ---- plan ------------------------------------------------------------------------------------ */

/* Prints the rows of a query: as columns, or each as it is. */
static void print_rows(cli_file *file, const char *sql, bool as_lines, const char *titles)
{
    cli_rows rows = {0};
    sqlite3_stmt *row = cli_prepare(file, sql);
    while (cli_step(file, row)) {
        const char *line = as_lines ? (const char *)sqlite3_column_text(row, 0) : NULL;
        if (line) {
            cli_progress_erase(file->c);
            puts(line);
        }
        if (as_lines && !line) cli_fail(file->c, "out of memory");
        if (as_lines) continue;
        cli_rows_columns(&rows, row, 0, sqlite3_column_count(row));
        cli_rows_end(&rows);
    }
    sqlite3_finalize(row);
    if (file->c->failed) cli_rows_cut(&rows, 0);
    cli_rows_print(&rows, file->c, titles);
}

void cli_plan(cli *c, const cli_arguments *given)
{
    cli_file file;
    cli_open(&file, c, given->word[0]);
    cli_progress_begin(c, given->word[0], NULL);
    cli_run(&file, "BEGIN");
    if (given->json) {
        print_rows(&file, CLI_SQL_PLAN_JSON, true, NULL);
    } else {
        print_rows(&file, CLI_SQL_PLAN_TABLES, false, "table\twhat adopt does\tkey\twhy");
        if (!c->failed) putchar('\n');
        print_rows(&file, CLI_SQL_PLAN_REMEDIES, false, NULL);
    }
    cli_end(&file);
    cli_close(&file);
}

/* ---- adopt ----------------------------------------------------------------------------------- */

/* Runs a statement with texts for its parameters; the second may be NULL. */
static void run_with(cli_file *file, const char *sql, const char *one, const char *two)
{
    sqlite3_stmt *statement = cli_prepare_text(file, sql, one);
    if (statement && sqlite3_bind_parameter_count(statement) > 1)
        sqlite3_bind_text(statement, 2, two, -1, SQLITE_STATIC);
    cli_step(file, statement);
    sqlite3_finalize(statement);
}

/* Runs a statement with names in it. */
static void run_printed(cli_file *file, char *owned)
{
    if (!owned)
        cli_fail(file->c, "out of memory");
    else
        cli_run(file, owned);
    sqlite3_free(owned);
}

static void leave_tables(cli_file *file, const cli_arguments *given)
{
    for (int i = 0; i < given->n_asks; i++) {
        const char *table = given->asks[i] + strlen("leave=");
        if (strncmp(given->asks[i], "leave=", 6) != 0) continue;
        sqlite3_stmt *is = cli_prepare_text(file, CLI_SQL_ADOPT_IS_TABLE, table);
        if (!cli_step(file, is))
            cli_fail(file->c, "%s: --leave %s: there is no such table", file->path, table);
        sqlite3_finalize(is);
        run_with(file, CLI_SQL_ADOPT_LEAVE, table, NULL);
    }
    sqlite3_stmt *refused = cli_prepare(file, CLI_SQL_ADOPT_REFUSED);
    if (cli_step(file, refused)) {
        const char *name = (const char *)sqlite3_column_text(refused, 0);
        cli_fail(file->c, "%s: %s: %s: %s (--leave %s)", file->path, name,
                 sqlite3_column_text(refused, 1), sqlite3_column_text(refused, 2), name);
    }
    sqlite3_finalize(refused);
}

/* Writes the greatest number that a table has given out where SQLite looks for it. */
static void set_sequence(cli_file *file, const char *table, const char *key)
{
    sqlite3_stmt *row = cli_prepare_text(file, CLI_SQL_ADOPT_SEQUENCE, table);
    int64_t before = cli_step(file, row) ? sqlite3_column_int64(row, 0) : 0, greatest = 0;
    sqlite3_finalize(row);
    char *sql = sqlite3_mprintf("SELECT max(\"%w\") FROM main.\"%w\"", key, table), number[24];
    if (!sql) cli_fail(file->c, "out of memory");
    if (sql) greatest = cli_integer(file, sql);
    sqlite3_free(sql);
    if (before > greatest) greatest = before;
    sqlite3_snprintf(sizeof number, number, "%lld", (long long)greatest);
    run_with(file, CLI_SQL_ADOPT_FORGET_SEQUENCE, table, NULL);
    run_with(file, CLI_SQL_ADOPT_SET_SEQUENCE, table, number);
}

/* Writes the declaration of one table, the n-th. */
static void write_table(cli_file *file, sqlite3_stmt *row, int n)
{
    const char *table = (const char *)sqlite3_column_text(row, 0),
               *declaration = (const char *)sqlite3_column_text(row, 1),
               *columns = (const char *)sqlite3_column_text(row, 2),
               *kind = (const char *)sqlite3_column_text(row, 3),
               *key = (const char *)sqlite3_column_text(row, 4);
    if (!table || !declaration || !kind || !key) {
        cli_fail(file->c, "out of memory");
        return;
    }
    if (columns)
        run_printed(file, sqlite3_mprintf("CREATE UNIQUE INDEX main._adopting_key_%d ON \"%w\"(%s)",
                                          n, table, columns));
    cli_run(file, CLI_SQL_ADOPT_WRITABLE);
    if (columns) run_with(file, CLI_SQL_ADOPT_NAME_INDEX, table, NULL);
    run_with(file, CLI_SQL_ADOPT_WRITE, table, declaration);
    cli_run(file, CLI_SQL_ADOPT_NOT_WRITABLE);
    if (strcmp(kind, "autoincrement") == 0) set_sequence(file, table, key);
}

/* Writes what the plan wants, and lets SQLite say whether it has understood that. */
static void write_declarations(cli_file *file)
{
    int n = 0;
    if (cli_integer(file, CLI_SQL_ADOPT_COUNT_TEXTS) == 0) return;
    cli_run(file, CLI_SQL_ADOPT_TOUCH);
    sqlite3_stmt *row = cli_prepare(file, CLI_SQL_ADOPT_TEXTS);
    while (cli_step(file, row)) write_table(file, row, ++n);
    sqlite3_finalize(row);
    cli_run(file, CLI_SQL_ADOPT_LEGACY);
    cli_run(file, CLI_SQL_ADOPT_RELOAD);
    cli_run(file, CLI_SQL_ADOPT_TOUCHED);
    sqlite3_stmt *changed = cli_prepare(file, CLI_SQL_ADOPT_CHANGED_SHAPE);
    if (cli_step(file, changed))
        cli_fail(file->c, "%s: %s: SQLite understands its new declaration otherwise", file->path,
                 sqlite3_column_text(changed, 0));
    sqlite3_finalize(changed);
}

/* ---- views and triggers ---------------------------------------------------------------------- */

/* Notes that a statement on a view or table fails, or fails if it did not before. */
static void compile_one(cli_file *file, const char *name, const char *type, char *owned, bool notes)
{
    sqlite3_stmt *statement = NULL;
    if (!owned) cli_fail(file->c, "out of memory");
    if (file->c->failed) return;
    int rc = sqlite3_prepare_v2(file->db, owned, -1, &statement, NULL);
    if (rc != SQLITE_OK && (rc & 0xff) != SQLITE_ERROR) cli_fail_file(file, "");
    char *message = rc == SQLITE_OK ? NULL : sqlite3_mprintf("%s", sqlite3_errmsg(file->db));
    if (rc != SQLITE_OK && !message) cli_fail(file->c, "out of memory");
    sqlite3_finalize(statement);
    sqlite3_free(owned);
    if (message && notes) run_with(file, CLI_SQL_ADOPT_NOTE_BROKEN, name, message);
    if (message && !notes) {
        sqlite3_stmt *was = cli_prepare_text(file, CLI_SQL_ADOPT_WAS_BROKEN, name);
        if (was) sqlite3_bind_text(was, 2, message, -1, SQLITE_STATIC);
        if (!cli_step(file, was))
            cli_fail(file->c, "%s: %s of the %s %s no longer compile: %s", file->path,
                     strcmp(type, "view") == 0 ? "queries" : "triggers", type, name, message);
        sqlite3_finalize(was);
    }
    sqlite3_free(message);
}

/* Compiles queries of all views, and statements that fire all triggers. */
static void compile_all(cli_file *file, bool notes)
{
    sqlite3_stmt *row = cli_prepare(file, CLI_SQL_ADOPT_COMPILED);
    while (cli_step(file, row)) {
        const char *name = (const char *)sqlite3_column_text(row, 0),
                   *type = (const char *)sqlite3_column_text(row, 1),
                   *changes = (const char *)sqlite3_column_text(row, 2);
        if (!name || !type) continue;
        if (strcmp(type, "view") == 0)
            compile_one(file, name, type, sqlite3_mprintf("SELECT * FROM main.\"%w\"", name),
                        notes);
        compile_one(file, name, type,
                    sqlite3_mprintf("INSERT INTO main.\"%w\" DEFAULT VALUES", name), notes);
        compile_one(file, name, type, sqlite3_mprintf("DELETE FROM main.\"%w\"", name), notes);
        if (changes)
            compile_one(file, name, type,
                        sqlite3_mprintf("UPDATE main.\"%w\" SET %s", name, changes), notes);
    }
    sqlite3_finalize(row);
}

/* ---- the whole ------------------------------------------------------------------------------- */

/* Returns what the statement counts; -1 where SQLite cannot check: a foreign key refers to columns
 * that are no key, an index needs a function of the application. */
static int64_t count_faults(cli_file *file, const char *sql)
{
    sqlite3_stmt *statement = cli_prepare(file, sql);
    int rc = statement ? sqlite3_step(statement) : SQLITE_ERROR;
    int64_t n = rc == SQLITE_ROW ? sqlite3_column_int64(statement, 0) : -1;
    if (statement && rc != SQLITE_ROW && (rc & 0xff) != SQLITE_ERROR) cli_fail_file(file, "");
    sqlite3_finalize(statement);
    return n;
}

/* Fails if there are more faults than there were before. */
static void check_faults(cli_file *file, const char *sql, int64_t before, const char *what)
{
    if (before >= 0 && count_faults(file, sql) > before)
        cli_fail(file->c, "%s: %s", file->path, what);
}

void cli_adopt(cli *c, const cli_arguments *given)
{
    cli_file file;
    cli_open(&file, c, given->word[0]);
    cli_progress_begin(c, given->word[0], NULL);
    if (!c->failed) sqlite3_db_config(file.db, SQLITE_DBCONFIG_DEFENSIVE, 0, NULL);
    cli_begin(&file);
    cli_run(&file, CLI_SQL_ADOPT_OBJECTS);
    cli_run(&file, CLI_SQL_ADOPT_BROKEN);
    compile_all(&file, true);
    cli_run(&file, CLI_SQL_ADOPT_PLAN);
    leave_tables(&file, given);
    int64_t orphans = count_faults(&file, CLI_SQL_ADOPT_COUNT_ORPHANS);
    int64_t damage = count_faults(&file, CLI_SQL_ADOPT_COUNT_DAMAGE);
    write_declarations(&file);
    cli_call(&file, "counter_replicate_all", given->asks, given->n_asks);
    check_faults(&file, CLI_SQL_ADOPT_COUNT_DAMAGE, damage,
                 "PRAGMA integrity_check finds more in tables that got a key than before");
    check_faults(&file, CLI_SQL_ADOPT_COUNT_ORPHANS, orphans,
                 "rows lack their parents: PRAGMA foreign_key_check lists them");
    compile_all(&file, false);
    if (!given->dry_run) cli_end(&file);
    print_rows(&file, given->json ? CLI_SQL_ADOPT_DONE_JSON : CLI_SQL_ADOPT_DONE, given->json,
               "table\twhat was done\tkey");
    cli_rollback(&file);
    cli_close(&file);
}
