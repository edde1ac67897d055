/* counter/declare.c - turns the clauses of USING counter(...) into a shape, or refuses them. */
#include <string.h>

#include "counter/counter.h"

/* Each has a %s for the culprit and, in some, a second one for the word. */
static const char *const SENTENCES[] = {
    [CTR_REFUSE_SYNTAX] = "cannot read the declaration '%s'",
    [CTR_REFUSE_OPTION] = "unknown option '%s': a counter table has no options and no TTL",
    [CTR_REFUSE_TTL] = "column %s: a counter table cannot have a TTL",
    [CTR_REFUSE_PLAIN_COLUMN] = "column %s is neither a COUNTER nor part of the PRIMARY KEY; a "
                                "counter table has no plain columns",
    [CTR_REFUSE_COUNTER_IN_KEY] = "column %s: a COUNTER cannot be part of the PRIMARY KEY",
    [CTR_REFUSE_COUNTER_TYPE] = "column %s: the type COUNTER takes no other words",
    [CTR_REFUSE_COUNTER_COLLATED] = "column %s: a COUNTER is an integer and has no COLLATE",
    [CTR_REFUSE_TYPE] = "column %s: its type must be plain words, such as TEXT or VARCHAR(20)",
    [CTR_REFUSE_CONSTRAINT] =
        "column %s: %s is not possible in a counter table, which has only counters and their key",
    [CTR_REFUSE_DEFAULT] = "column %s: a counter begins at 0, so its DEFAULT cannot be %s",
    [CTR_REFUSE_TABLE_CONSTRAINT] =
        "'%s' is not possible in a counter table, whose only constraint is its PRIMARY KEY",
    [CTR_REFUSE_NAME_RESERVED] =
        "column %s: the names rowid, oid, request_id and those that begin with _ are reserved",
    [CTR_REFUSE_NAME_OF_TABLE] =
        "column %s has the name of the table, which is reserved for the command column",
    [CTR_REFUSE_NAME_TWICE] = "column %s is named twice",
    [CTR_REFUSE_KEY_NOT_LAST] = "PRIMARY KEY (...) must be the last clause; '%s' follows it",
    [CTR_REFUSE_KEY_TWICE] =
        "a second PRIMARY KEY at '%s'; write PRIMARY KEY (...) for several columns",
    [CTR_REFUSE_KEY_UNKNOWN] = "the PRIMARY KEY names %s, which is not a column",
    [CTR_REFUSE_KEY_REPEATED] = "the PRIMARY KEY names %s twice",
    [CTR_REFUSE_NO_KEY] = "a PRIMARY KEY is needed%s",
    [CTR_REFUSE_NO_COUNTER] = "at least one column must be a COUNTER%s",
    [CTR_REFUSE_NOT_A_COUNTER] = "column %s: only a COUNTER can be added",
};

static void refuse_declaration(const ctr_declaration *declaration, ctr_problem *problem)
{
    char *culprit = ctr_text_of(declaration->culprit, problem),
         *word = ctr_text_of(declaration->word, problem);
    ctr_problem_set(problem, SQLITE_ERROR, SENTENCES[declaration->refusal], culprit, word);
    sqlite3_free(culprit);
    sqlite3_free(word);
}

int ctr_declare_shape(ctr_shape *shape, const char *table, bool tracked, int n,
                      const char *const *clauses, ctr_problem *problem)
{
    if (problem->rc != SQLITE_OK) return problem->rc;
    ctr_declaration declaration;
    ctr_declared *room = sqlite3_malloc64(((size_t)n + 1) * sizeof *room);
    if (!room) return ctr_problem_nomem(problem);
    bool whole = ctr_declaration_parse(&declaration, room, table, clauses, n);
    if (tracked && !whole && declaration.refusal == CTR_REFUSE_NO_COUNTER) whole = true;
    if (whole)
        ctr_shape_open(shape, declaration.n_columns, problem);
    else
        refuse_declaration(&declaration, problem);
    for (int i = 0; whole && i < declaration.n_columns; i++) {
        const ctr_declared *column = &declaration.columns[i];
        char *name = ctr_text_unquoted(column->name, problem),
             *type = ctr_text_of(column->type, problem),
             *collation = ctr_text_unquoted(column->collation, problem);
        if (type) ctr_declaration_type(column->type, type);
        ctr_shape_add(shape, name, type, collation, column->key, problem);
        sqlite3_free(name);
        sqlite3_free(type);
        sqlite3_free(collation);
    }
    sqlite3_free(room);
    return problem->rc;
}

/* counter_track writes TRACKED "products" as the last clause. */
char *ctr_declare_tracked(int *n, const char *const *clauses, ctr_problem *problem)
{
    static const char TRACKED[] = "TRACKED \"";
    const char *last = *n > 0 ? clauses[*n - 1] : "";
    if (strncmp(last, TRACKED, sizeof TRACKED - 1) != 0) return NULL;
    last += sizeof TRACKED - 2;
    --*n;
    return ctr_text_unquoted((ctr_span){last, strlen(last)}, problem);
}

char *ctr_declare_counter(const char *table, const char *clause, ctr_problem *problem)
{
    ctr_declaration declaration;
    ctr_declared column;
    if (!ctr_declaration_counter(&declaration, &column, table, clause)) {
        refuse_declaration(&declaration, problem);
        return NULL;
    }
    return ctr_text_unquoted(column.name, problem);
}

/* Counters and hidden columns have a type, because some schema readers fail on a column without
 * one; a key has its declared type, or none. There is no PRIMARY KEY: SQLite would add an index to
 * a table that it does not store, and integrity_check of 3.40 to 3.53 fails on that. */
char *ctr_declare_vtab(const ctr_shape *shape, const char *table, bool tracked)
{
    sqlite3_str *out = sqlite3_str_new(NULL);
    sqlite3_str_appendf(out, "CREATE TABLE x(\"%w\" TEXT HIDDEN", table);
    for (int i = 0; i < shape->n_columns; i++) {
        const ctr_column *column = &shape->columns[i];
        if (column->key < 0)
            sqlite3_str_appendf(out, ", \"%w\" INTEGER", column->name);
        else
            sqlite3_str_appendf(out, ", \"%w\" %s COLLATE \"%w\" NOT NULL", column->name,
                                column->type, column->collation);
    }
    sqlite3_str_appendall(out, ", request_id BLOB HIDDEN");
    if (tracked) sqlite3_str_appendall(out, ", _event TEXT HIDDEN, _marks TEXT HIDDEN");
    for (int i = 0; tracked && i < shape->n_counters; i++)
        sqlite3_str_appendf(out, ", \"_was_%w\" INTEGER HIDDEN", ctr_shape_counter_name(shape, i));
    sqlite3_str_appendall(out, ")");
    return sqlite3_str_finish(out);
}
