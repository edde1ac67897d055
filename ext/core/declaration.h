/* core/declaration.h - the clauses of CREATE VIRTUAL TABLE ... USING counter(...).
 *
 *     name type... [COLLATE collation] [NOT NULL] [PRIMARY KEY]      a key column
 *     name COUNTER [NOT NULL] [DEFAULT 0]                            a counter
 *     [CONSTRAINT name] PRIMARY KEY (name [ASC], ...)    the last clause, unless a column has it
 *
 * NOT NULL and DEFAULT 0 change nothing; tools write them. The parser refuses everything else, as
 * Cassandra and ScyllaDB do: a counter table holds only counters and their key. The parser reads
 * the texts of SQLite (one for each clause, with comments and spaces as written), allocates nothing
 * and lends spans of the caller's texts.
 */
#ifndef CTR_CORE_DECLARATION_H
#define CTR_CORE_DECLARATION_H

#include "core/words.h"

typedef struct ctr_declared {
    ctr_span name;
    ctr_span type;      /* empty if none was written */
    ctr_span collation; /* empty if none was written */
    bool counter;
    int key; /* position in the key, 0 ...; -1: not in it */
} ctr_declared;

/* Why a declaration is refused; `culprit` is the clause, column or name that causes it. */
typedef enum ctr_refusal {
    CTR_ACCEPTED,
    CTR_REFUSE_SYNTAX,           /* culprit: the clause */
    CTR_REFUSE_OPTION,           /* culprit: the clause, such as ttl=60 */
    CTR_REFUSE_TTL,              /* culprit: column */
    CTR_REFUSE_PLAIN_COLUMN,     /* culprit: column */
    CTR_REFUSE_COUNTER_IN_KEY,   /* culprit: column */
    CTR_REFUSE_COUNTER_TYPE,     /* culprit: column; COUNTER with other words */
    CTR_REFUSE_COUNTER_COLLATED, /* culprit: column */
    CTR_REFUSE_TYPE,             /* culprit: column; a type that is not plain words */
    CTR_REFUSE_CONSTRAINT,       /* culprit: column; word: UNIQUE, CHECK, ... */
    CTR_REFUSE_DEFAULT,          /* culprit: column; word: the value other than 0 */
    CTR_REFUSE_TABLE_CONSTRAINT, /* culprit: the clause */
    CTR_REFUSE_NAME_RESERVED,    /* culprit: column */
    CTR_REFUSE_NAME_OF_TABLE,    /* culprit: column */
    CTR_REFUSE_NAME_TWICE,       /* culprit: column */
    CTR_REFUSE_KEY_NOT_LAST,     /* culprit: the clause after it */
    CTR_REFUSE_KEY_TWICE,        /* culprit: column or clause */
    CTR_REFUSE_KEY_UNKNOWN,      /* culprit: name in the PRIMARY KEY that is no column */
    CTR_REFUSE_KEY_REPEATED,     /* culprit: name that is twice in the PRIMARY KEY */
    CTR_REFUSE_NO_KEY,
    CTR_REFUSE_NO_COUNTER,
    CTR_REFUSE_NOT_A_COUNTER /* culprit: column */
} ctr_refusal;

typedef struct ctr_declaration {
    ctr_declared *columns;
    int n_columns, n_keys;
    ctr_refusal refusal;
    ctr_span culprit, word;
} ctr_declaration;

/* Parses n clauses into `room`, which has room for n columns and becomes declaration->columns.
 * Returns false, with the reason in `refusal`, if they are refused. */
bool ctr_declaration_parse(ctr_declaration *declaration, ctr_declared *room, const char *table,
                           const char *const *clauses, int n);

/* Parses one clause that adds a counter to an existing table, "errors" or "errors COUNTER", with
 * NOT NULL or DEFAULT 0. `room` has room for one column. */
bool ctr_declaration_counter(ctr_declaration *declaration, ctr_declared *room, const char *table,
                             const char *clause);

/* Writes the type in one spelling: words with one space between, then (n) or (n,m). `out` has
 * span.size + 1 bytes. */
void ctr_declaration_type(ctr_span span, char *out);

/* Returns whether a declaration can have this type. The caller checks the types of foreign files
 * before it uses them. */
bool ctr_declaration_is_plain(const char *type);

/* The column affinity of a type, by SQLite's rules ("Datatypes In SQLite", 3.1). */
typedef enum ctr_affinity {
    CTR_AFFINITY_BLOB,
    CTR_AFFINITY_TEXT,
    CTR_AFFINITY_NUMERIC,
    CTR_AFFINITY_INTEGER,
    CTR_AFFINITY_REAL
} ctr_affinity;
ctr_affinity ctr_declaration_affinity(const char *type);

/* Returns whether no column may have this name: "", _..., rowid, oid, request_id. */
bool ctr_declaration_reserves(const char *name);

/* Returns whether no counter table may have this name: counter_... */
bool ctr_declaration_reserves_table(const char *table);

#endif
