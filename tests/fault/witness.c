/* witness.c - looks at databases, through connections of its own where files are meant. */
#define _XOPEN_SOURCE 700

#include "witness.h"

#include <glob.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "counter.h"

/* SQLite calls a table a shadow table only once it has looked at the virtual one. */
#define TABLES                                                                                     \
    "SELECT '\"' || %Q || '\".\"' || m.name || '\"', m.name,"                                      \
    " m.sql LIKE 'CREATE VIRTUAL TABLE%%USING counter(%%' FROM \"%w\".sqlite_master AS m"          \
    " WHERE type = 'table' AND m.sql NOT LIKE 'CREATE VIRTUAL TABLE%%USING counter_cluster(%%'"    \
    " AND m.name NOT LIKE 'sqlite^_%%' ESCAPE '^' AND m.name NOT LIKE 'counter^_%%' ESCAPE '^'"    \
    " AND NOT EXISTS (SELECT 1 FROM \"%w\".sqlite_master AS v WHERE v.sql LIKE 'CREATE VIRTUAL%%'" \
    "   AND substr(m.name, 1, length(v.name) + 1) = v.name || '_')"                                \
    " ORDER BY m.name"

/* Writes the rows of a statement, which is freed. That it cannot be read is told without words:
 * they depend on what the connection has looked at before. */
static void write_rows(FILE *out, sqlite3 *db, char *sql)
{
    sqlite3_stmt *row = NULL;
    int rc = sqlite3_prepare_v2(db, sql, -1, &row, NULL);
    while (rc == SQLITE_OK && sqlite3_step(row) == SQLITE_ROW) {
        for (int i = 0; i < sqlite3_column_count(row); i++) {
            const char *text = (const char *)sqlite3_column_text(row, i);
            fprintf(out, "%s|", text ? text : "NULL");
        }
        fputc('\n', out);
    }
    if (rc == SQLITE_OK) rc = sqlite3_finalize(row);
    if (rc != SQLITE_OK) fprintf(out, "error\n");
    sqlite3_free(sql);
}

/* Writes the names of a table's columns; returns "1, 2, 3", their numbers, to order by all of them.
 * By the statement itself: a PRAGMA would lock all files. */
static char *write_columns(FILE *out, sqlite3 *db, const char *table)
{
    sqlite3_stmt *row = NULL;
    sqlite3_str *list = sqlite3_str_new(NULL);
    char *sql = sqlite3_mprintf("SELECT * FROM %s", table);
    sqlite3_prepare_v2(db, sql, -1, &row, NULL);
    sqlite3_str_appendall(list, "1");
    for (int i = 2; i <= sqlite3_column_count(row); i++) sqlite3_str_appendf(list, ", %d", i);
    for (int i = 0; i < sqlite3_column_count(row); i++)
        fprintf(out, "%s\n", sqlite3_column_name(row, i));
    sqlite3_finalize(row);
    sqlite3_free(sql);
    return sqlite3_str_finish(list);
}

/* Is it the file of an earlier schema? Who reads a file under one name cannot commit to it under
 * another. */
static bool is_second_name(sqlite3 *db, int n)
{
    const char *path = sqlite3_db_filename(db, sqlite3_db_name(db, n));
    for (int i = 0; i < n && path && *path; i++) {
        const char *other = sqlite3_db_filename(db, sqlite3_db_name(db, i));
        if (other && strcmp(other, path) == 0) return true;
    }
    return false;
}

/* Calls `visit` for the tables of all files: "schema"."table", its name, is it a
 * counter table? */
static void each_table(FILE *out, sqlite3 *db,
                       void (*visit)(FILE *, sqlite3 *, const char *, const char *, bool))
{
    for (int i = 0; sqlite3_db_name(db, i); i++) {
        const char *schema = sqlite3_db_name(db, i);
        if (is_second_name(db, i)) continue;
        char *sql = sqlite3_mprintf(TABLES, schema, schema, schema);
        sqlite3_stmt *tables = NULL;
        int rc = sqlite3_prepare_v2(db, sql, -1, &tables, NULL);
        while (rc == SQLITE_OK && sqlite3_step(tables) == SQLITE_ROW)
            visit(out, db, (const char *)sqlite3_column_text(tables, 0),
                  (const char *)sqlite3_column_text(tables, 1), sqlite3_column_int(tables, 2));
        if (rc == SQLITE_OK) rc = sqlite3_finalize(tables);
        if (rc != SQLITE_OK) fprintf(out, "%s: error\n", schema);
        sqlite3_free(sql);
    }
}

static void show_table(FILE *out, sqlite3 *db, const char *table, const char *name, bool counts)
{
    (void)counts, (void)name;
    fprintf(out, "%s\n", table);
    char *columns = write_columns(out, db, table);
    write_rows(out, db, sqlite3_mprintf("SELECT * FROM %s ORDER BY %s", table, columns));
    sqlite3_free(columns);
}

/* Writes what is wrong. */
static void check_table(FILE *out, sqlite3 *db, const char *table, const char *name, bool counts)
{
    char *error = NULL;
    char *sql = sqlite3_mprintf("INSERT INTO %s(\"%w\") VALUES ('integrity-check')", table, name);
    if (counts && sqlite3_exec(db, sql, NULL, NULL, &error) != SQLITE_OK)
        fprintf(out, "%s\n", error);
    sqlite3_free(error);
    sqlite3_free(sql);
}

static void write_damage(FILE *out, sqlite3 *db)
{
    write_rows(
        out, db,
        sqlite3_mprintf("SELECT * FROM pragma_integrity_check WHERE integrity_check <> 'ok'"));
    each_table(out, db, check_table);
}

static void write_seen(FILE *out, sqlite3 *db)
{
    each_table(out, db, show_table);
}

/* Writes about each file *.db of the working directory, by a connection of its own. */
static void each_file(FILE *out, void (*write)(FILE *, sqlite3 *))
{
    glob_t files = {0};
    if (glob("*.db", 0, NULL, &files) != 0) return;
    for (size_t i = 0; i < files.gl_pathc; i++) {
        sqlite3 *db;
        int rc = sqlite3_open_v2(files.gl_pathv[i], &db, SQLITE_OPEN_READWRITE, NULL);
        if (rc == SQLITE_OK) rc = sqlite3_counter_init(db, NULL, NULL);
        if (rc == SQLITE_OK) write(out, db);
        if (rc != SQLITE_OK) fprintf(out, "%s: %s\n", files.gl_pathv[i], sqlite3_errmsg(db));
        if (sqlite3_close(db) != SQLITE_OK) abort();
    }
    globfree(&files);
}

/* What `write` writes about a connection, or with NULL about all files. */
static char *text_of(sqlite3 *db, void (*write)(FILE *, sqlite3 *))
{
    char *text;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (!out) abort();
    if (db)
        write(out, db);
    else
        each_file(out, write);
    fclose(out);
    return text;
}

char *witness_seen(sqlite3 *db)
{
    return text_of(db, write_seen);
}

char *witness_committed(void)
{
    return text_of(NULL, write_seen);
}

char *witness_damage(void)
{
    return text_of(NULL, write_damage);
}
