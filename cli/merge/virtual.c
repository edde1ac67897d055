/* virtual.c - virtual tables: an index is made anew, what has rows of its own is merged row by row,
 * and of the others the tables in which they store their rows are taken whole.
 */
#include <ctype.h>
#include <string.h>

#include "cli/merge/merge.h"

/* The value of content= of a full-text table: NULL if there is none, "" if it keeps no content. */
static const char *content_of(merge *m, const char *sql)
{
    for (const char *s = sql; *s; s++) {
        if (sqlite3_strnicmp(s, "content", 7) != 0 || isalnum((unsigned char)s[-(s > sql)]))
            continue;
        const char *at = s + 7 + strspn(s + 7, " \t\r\n");
        if (*at != '=') continue;
        at += 1 + strspn(at + 1, " \t\r\n");
        bool is_quoted = *at && strchr("'\"`[", *at);
        const char *end =
            is_quoted ? strchr(at + 1, *at == '[' ? ']' : *at) : at + strcspn(at, " \t\r\n,)");
        if (!end) return "";
        return merge_text(m, "%.*s", (int)(end - at) - is_quoted, at + is_quoted);
    }
    return NULL;
}

/* FTS3, FTS4 or FTS5; fts4aux and fts5vocab have no rows of their own. */
static bool is_full_text(const char *sql)
{
    return sqlite3_strlike("%USING fts_%", sql, 0) == 0 &&
           sqlite3_strlike("%USING fts_aux%", sql, 0) != 0 &&
           sqlite3_strlike("%USING fts_vocab%", sql, 0) != 0;
}

/* Whether its module is here. */
static bool is_usable(merge *m, const char *name)
{
    char *sql = sqlite3_mprintf("SELECT 1 FROM main.\"%w\" LIMIT 1", name);
    sqlite3_stmt *row = NULL;
    bool is = sql && sqlite3_prepare_v2(m->into.db, sql, -1, &row, NULL) == SQLITE_OK;
    sqlite3_finalize(row);
    sqlite3_free(sql);
    return is;
}

bool merge_virtual_has_rows(merge *m, const char *name, const char *sql)
{
    bool has =
        (is_full_text(sql) && !content_of(m, sql)) || sqlite3_strlike("%USING rtree%", sql, 0) == 0;
    return has && is_usable(m, name);
}

bool merge_virtual_changed(merge *m, const char *name, const char *schema)
{
    bool changed = false;
    sqlite3_stmt *row = merge_prepare_texts(m, CLI_SQL_MERGE_SHADOWS, &name, 1);
    while (!changed && cli_step(&m->into, row))
        changed = !merge_has_rows_of_base(m, schema, (const char *)sqlite3_column_text(row, 0));
    sqlite3_finalize(row);
    return changed;
}

/* Takes all that THEIRS stores of it. */
static void take_whole(merge *m, const char *name)
{
    sqlite3_stmt *row = merge_prepare_texts(m, CLI_SQL_MERGE_SHADOWS, &name, 1);
    while (cli_step(&m->into, row)) {
        const char *table = (const char *)sqlite3_column_text(row, 0);
        cli_run(&m->into, merge_text(m, "DELETE FROM main.\"%w\"", table));
        cli_run(&m->into,
                merge_text(m, "INSERT INTO main.\"%w\" SELECT * FROM theirs.\"%w\"", table, table));
    }
    sqlite3_finalize(row);
}

static void merge_one(merge *m, const char *name, const char *sql, bool is_new)
{
    const char *content = is_full_text(sql) ? content_of(m, sql) : NULL;
    if (merge_table_find(m, name)) return; /* row by row */
    if (content && *content && is_usable(m, name)) {
        merge_table *of = merge_table_find(m, content);
        if (of && !is_new && !merge_integer(m, of, -1, CLI_SQL_MERGE_TOUCHED)) return;
        cli_run(&m->into,
                merge_text(m, "INSERT INTO main.\"%w\"(\"%w\") VALUES ('rebuild')", name, name));
        return;
    }
    bool theirs = is_new || merge_virtual_changed(m, name, "theirs"),
         ours = !is_new && merge_virtual_changed(m, name, "main");
    if (theirs && !ours) take_whole(m, name);
    if (theirs && ours)
        merge_conflict(m, "virtual", name, NULL, "ours",
                       "it was changed in both files, and its rows cannot be read one by one");
}

void merge_virtual(merge *m)
{
    sqlite3_stmt *row = cli_prepare(&m->into, CLI_SQL_MERGE_VIRTUAL);
    while (cli_step(&m->into, row)) {
        const char *name = merge_text(m, "%s", sqlite3_column_text(row, 0));
        const char *sql = merge_text(m, "%s", sqlite3_column_text(row, 1));
        merge_one(m, name, sql, sqlite3_column_int(row, 2));
    }
    sqlite3_finalize(row);
}
