#define _XOPEN_SOURCE 700

#include "witness.h"

#include <glob.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "counter.h"

#define TABLES                                                                                  \
    "SELECT '\"' || l.schema || '\".\"' || l.name || '\"', l.name,"                             \
    " m.sql LIKE 'CREATE VIRTUAL TABLE%%USING counter(%%' FROM pragma_table_list AS l"          \
    " JOIN \"%w\".sqlite_master AS m ON m.name = l.name AND m.type = 'table'"                   \
    " WHERE l.schema = %Q AND l.type IN ('table', 'virtual')"                                   \
    " AND m.sql NOT LIKE 'CREATE VIRTUAL TABLE%%USING counter_cluster(%%'"                      \
    " AND l.name NOT LIKE 'sqlite^_%%' ESCAPE '^' AND l.name NOT LIKE 'counter^_%%' ESCAPE '^'" \
    " ORDER BY l.name"

/* Writes what a statement made by format gives, or its error; false if it has one. */
static bool write_rows(FILE *out, sqlite3 *db, const char *format, const char *name,
                       const char *second)
{
    char *sql = sqlite3_mprintf(format, name, second);
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
    if (rc != SQLITE_OK) fprintf(out, "error: %s\n", sqlite3_errmsg(db));
    sqlite3_free(sql);
    return rc == SQLITE_OK;
}

/* Calls `visit` for the tables of all schemas: "schema"."table", its name, is it a counter table? */
static void each_table(FILE *out, sqlite3 *db,
                       void (*visit)(FILE *, sqlite3 *, const char *, const char *, bool))
{
    for (int i = 0; sqlite3_db_name(db, i); i++) {
        const char *schema = sqlite3_db_name(db, i);
        char *sql = sqlite3_mprintf(TABLES, schema, schema);
        sqlite3_stmt *tables = NULL;
        int rc = sqlite3_prepare_v2(db, sql, -1, &tables, NULL);
        while (rc == SQLITE_OK && sqlite3_step(tables) == SQLITE_ROW)
            visit(out, db, (const char *)sqlite3_column_text(tables, 0),
                  (const char *)sqlite3_column_text(tables, 1), sqlite3_column_int(tables, 2));
        if (rc == SQLITE_OK) rc = sqlite3_finalize(tables);
        if (rc != SQLITE_OK) fprintf(out, "%s: error: %s\n", schema, sqlite3_errmsg(db));
        sqlite3_free(sql);
    }
}

static void show_table(FILE *out, sqlite3 *db, const char *table, const char *name, bool counts)
{
    (void)counts;
    fprintf(out, "%s\n", table);
    write_rows(out, db, "SELECT group_concat(name) FROM pragma_table_info(%Q)", name, NULL);
    write_rows(out, db, "SELECT * FROM %s", table, NULL);
}

/* Writes what is wrong. */
static void check_table(FILE *out, sqlite3 *db, const char *table, const char *name, bool counts)
{
    if (counts)
        write_rows(out, db, "INSERT INTO %s(\"%w\") VALUES ('integrity-check')", table, name);
}

static void write_damage(FILE *out, sqlite3 *db)
{
    write_rows(out, db, "SELECT * FROM pragma_integrity_check WHERE integrity_check <> 'ok'%s%s",
               "", "");
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
