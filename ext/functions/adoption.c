/* functions/adoption.c - counter_plan and counter_replicate_all: what it takes to replicate all
 * tables of an application.
 *
 *     SELECT * FROM counter_plan;                      of main
 *     SELECT * FROM counter_plan('phone');             of an attached database
 *     SELECT counter_replicate_all('products.stock');  replicates what the plan says: tables
 *
 * The plan has one row for each table, and below it one for each matter to think of:
 *
 *     table_name   the present name of the table
 *     kind         of the first row, what would be done:
 *                  'replicate'      counter_replicate takes the table as it is
 *                  'autoincrement'  ... after AUTOINCREMENT was written into its declaration
 *                  'key'            ... after it got a key
 *                  'home'           it stays in its file
 *                  'virtual'        a virtual table, or a table in which one stores its rows
 *                  'done'           it counts already
 *                  'refused'        it cannot be replicated
 *                  of the others: 'counter', 'key values', 'each file', 'clients', 'foreign key',
 *                  'reference', 'trigger', 'unique'
 *     column_name  the columns; of the first row, the key
 *     finding      what is the case
 *     remedy       what to do about it; NULL: nothing
 *
 * and in hidden columns, for sqlite-counter adopt, of an 'autoincrement' or 'key' the declaration
 * that takes the place of the present one, and the columns of an index that this needs. */
#include "functions/functions.h"

#include <string.h>

/* What would be done with a table. */
typedef enum adoption_step {
    ADOPTION_REPLICATE,
    ADOPTION_AUTOINCREMENT,
    ADOPTION_KEY,
    ADOPTION_HOME,
    ADOPTION_VIRTUAL,
    ADOPTION_DONE,
    ADOPTION_REFUSED
} adoption_step;

/* A table. All texts but the names are in the arena of the connection. */
typedef struct adoptee {
    const char *name, *sql; /* lent by the schema */
    ctr_ordinary ordinary;
    adoption_step step;
    const char *keys;   /* its key, or the one that it gets: "order_id, item_id"; "" */
    const char *option; /* of counter_replicate, or NULL */
    const char *finding, *remedy, *declaration, *index; /* or NULL */
    bool gives_numbers;                                 /* SQLite gives out its keys */
    bool replicated;                                    /* it is */
    bool left;                                          /* the call leaves it at home */
    const char **counters; /* owned: lent names, which the call gives */
    int n_counters;
    size_t room;
} adoptee;

/* A foreign key of one column, or the first column of another one. */
typedef struct adoption_link {
    size_t child;
    const char *from, *to, *parent;
    bool forbids;  /* NO ACTION or RESTRICT */
    bool is_whole; /* one column */
} adoption_link;

/* What a trigger does to a table of the application. */
typedef struct adoption_write {
    enum { WRITE_INSERT, WRITE_UPDATE, WRITE_TOTAL, WRITE_DELETE } verb;
    const char *trigger; /* lent by the schema */
    size_t on, table;
    const char *column; /* of a total */
} adoption_write;

typedef struct adoption {
    ctr_conn *conn;
    const char *schema;
    ctr_file *file;             /* borrowed */
    const ctr_objects *objects; /* borrowed */
    ctr_catalog catalog;        /* owned */
    adoptee *tables;            /* owned */
    adoption_link *links;       /* owned */
    adoption_write *writes;     /* owned */
    size_t n, n_links, n_writes, room, room_links, room_writes;
    ctr_answer *answer;  /* of counter_plan */
    const char *missing; /* of counter_replicate_all: what becomes of rows that are missing */
} adoption;

/* The keys that SQLite gives out, and how counter_replicate takes them. */
static const char OF_NUMBERS[] = "keys=spread";

/* ---- tables by their names ------------------------------------------------------------------- */

/* A name ends with * if others begin so; with a column, a table of this name must have it. */
typedef struct known_table {
    const char *name, *column;
} known_table;

static const known_table BOOKKEEPING[] = {
    {"django_migrations", NULL},
    {"schema_migrations", NULL},
    {"ar_internal_metadata", NULL},
    {"_prisma_migrations", NULL},
    {"__drizzle_migrations", NULL},
    {"knex_migrations", NULL},
    {"knex_migrations_lock", NULL},
    {"alembic_version", NULL},
    {"__EFMigrationsHistory", NULL},
    {"__EFMigrationsLock", NULL},
    {"room_master_table", NULL},
    {"grdb_migrations", NULL},
    {"_sqlx_migrations", NULL},
    {"typeorm_metadata", NULL},
    {"migrations", "timestamp"},
    {"migrations", "batch"},
    {"SequelizeMeta", NULL},
    {"mikro_orm_migrations", NULL},
    {"kysely_migration", NULL},
    {"kysely_migration_lock", NULL},
    {"flyway_schema_history", NULL},
    {"android_metadata", NULL},
    {"goose_db_version", NULL},
    {"__diesel_schema_migrations", NULL},
    {"phinxlog", NULL},
    {"doctrine_migration_versions", NULL},
    {"migratehistory", NULL},
    {"d1_migrations", NULL},
    {"Z_METADATA", NULL},
    {"Z_PRIMARYKEY", NULL},
    {"Z_MODELCACHE", NULL},
};

static const known_table OF_MERGES[] = {
    {"_merge_numbers", NULL},
    {"_merge_amounts", NULL},
    {"_merge_conflicts", NULL},
};

static const known_table SHORT_LIVED[] = {
    {"django_session", NULL},  {"sessions", "data"},
    {"sessions", "payload"},   {"sessions", "sess"},
    {"sessions", "expires"},   {"session", "data"},
    {"session", "payload"},    {"session", "sess"},
    {"session", "expires"},    {"cache", "value"},
    {"caches", "value"},       {"cache_entries", NULL},
    {"cache_locks", NULL},     {"jobs", "payload"},
    {"failed_jobs", NULL},     {"job_batches", NULL},
    {"delayed_jobs", NULL},    {"queue", "payload"},
    {"solid_queue_*", NULL},   {"solid_cache_*", NULL},
    {"solid_cable_*", NULL},   {"good_job*", NULL},
    {"oban_*", NULL},          {"celery_task*", NULL},
    {"password_resets", NULL}, {"password_reset_tokens", NULL},
};

static const known_table MADE_IN_EACH_FILE[] = {
    {"django_content_type", NULL},
    {"auth_permission", NULL},
};

static const known_table OF_31_BITS[] = {
    {"_prisma_migrations", NULL},
    {"__EFMigrationsHistory", NULL},
};

static bool is_known_table(const adoptee *table, const known_table *known, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        size_t size = strlen(known[i].name);
        bool begins = known[i].name[size - 1] == '*';
        bool is = begins ? sqlite3_strnicmp(table->name, known[i].name, (int)size - 1) == 0
                         : sqlite3_stricmp(table->name, known[i].name) == 0;
        if (is && (!known[i].column || ctr_ordinary_column(&table->ordinary, known[i].column)))
            return true;
    }
    return false;
}
#define IS_KNOWN(table, known) is_known_table(table, known, sizeof(known) / sizeof *(known))

static adoptee *find_adoptee(const adoption *all, const char *name)
{
    for (size_t i = 0; i < all->n; i++)
        if (sqlite3_stricmp(all->tables[i].name, name) == 0) return &all->tables[i];
    return NULL;
}

/* Returns whether the rows of a table travel now, or would. */
static bool would_travel(const adoptee *table)
{
    return table->step <= ADOPTION_KEY || table->step == ADOPTION_DONE;
}

static void decide(adoptee *table, adoption_step step, const char *finding, const char *remedy)
{
    table->step = step;
    table->finding = finding;
    table->remedy = remedy;
}

/* ---- virtual tables -------------------------------------------------------------------------- */

/* Returns the name of the module, in the arena; "" if the text has none. */
static const char *module_of(ctr_conn *conn, const char *sql)
{
    ctr_words words = {.at = sql ? sql : ""};
    do {
        ctr_word_next(&words);
    } while (words.kind != CTR_WORD_END && !ctr_word_at(&words, "USING"));
    ctr_word_next(&words);
    char *name = ctr_text_unquoted(conn, words.word);
    const char *module = ctr_text_print(conn, "%s", name ? name : "");
    sqlite3_free(name);
    return module;
}

/* Returns whether a virtual table of this module stores rows in <table>_<suffix>. Of a module that
 * is not known here, all such tables may be its own. */
static bool is_suffix_of(const char *module, const char *suffix)
{
    static const struct {
        const char *module, *suffixes[6];
    } STORED[] = {{"fts5", {"data", "idx", "content", "docsize", "config"}},
                  {"fts4", {"content", "segments", "segdir", "docsize", "stat"}},
                  {"fts3", {"content", "segments", "segdir", "docsize", "stat"}},
                  {"rtree", {"node", "rowid", "parent"}},
                  {"rtree_i32", {"node", "rowid", "parent"}},
                  {"geopoly", {"node", "rowid", "parent"}},
                  {"spellfix1", {"vocab"}},
                  {"fts5vocab", {NULL}},
                  {"fts4aux", {NULL}},
                  {"dbstat", {NULL}},
                  {"csv", {NULL}},
                  {"counter", {NULL}}};
    for (size_t i = 0; i < sizeof STORED / sizeof *STORED; i++) {
        if (sqlite3_stricmp(STORED[i].module, module) != 0) continue;
        for (const char *const *known = STORED[i].suffixes; *known; known++)
            if (sqlite3_stricmp(*known, suffix) == 0) return true;
        return false;
    }
    return true;
}

/* Returns the virtual table that stores rows in this one, or NULL. */
static const char *stored_by(const adoption *all, const char *table)
{
    for (size_t i = 0; i < all->objects->n; i++) {
        const ctr_named *named = &all->objects->named[i];
        size_t size = strlen(named->name);
        if (named->object == CTR_OBJECT_VIRTUAL_TABLE &&
            sqlite3_strnicmp(table, named->name, (int)size) == 0 && table[size] == '_' &&
            is_suffix_of(module_of(all->conn, named->sql), table + size + 1))
            return named->name;
    }
    return NULL;
}

static void decide_virtual(const adoption *all, adoptee *table)
{
    const char *module = module_of(all->conn, table->sql);
    if (sqlite3_stricmp(module, "counter") == 0)
        decide(table, ADOPTION_DONE, "it is a counter table, and merges", NULL);
    else
        decide(table, ADOPTION_VIRTUAL,
               ctr_text_print(all->conn, "it is a virtual table of the module %s", module),
               "let triggers fill it from a table whose rows travel, or fill it in each file");
}

/* ---- keys ------------------------------------------------------------------------------------ */

static bool ask_of_table(const adoption *all, const adoptee *table, ctr_sql which, const char *keys,
                         const char *constraint)
{
    ctr_run run = ctr_run_on(all->conn, all->schema, NULL);
    run.slots.name = table->name;
    run.slots.keys = run.slots.value = keys;
    run.slots.constraint = constraint;
    return ctr_run_number(&run, which) != 0;
}

/* A list of columns: for people, as SQL, and as a condition that one is NULL. */
typedef struct adopted_columns {
    sqlite3_str *names, *quoted, *nulls;
    const char *as_names, *as_quoted, *as_nulls;
    int n;
} adopted_columns;

static void begin_columns(adopted_columns *list)
{
    *list = (adopted_columns){sqlite3_str_new(NULL), sqlite3_str_new(NULL), sqlite3_str_new(NULL),
                              .as_names = ""};
}

static void add_column(adopted_columns *list, const char *name)
{
    sqlite3_str_appendf(list->names, "%s%s", list->n ? ", " : "", name);
    sqlite3_str_appendf(list->quoted, "%s\"%w\"", list->n ? ", " : "", name);
    sqlite3_str_appendf(list->nulls, "%s\"%w\" IS NULL", list->n ? " OR " : "", name);
    list->n++;
}

static void end_columns(ctr_conn *conn, adopted_columns *list)
{
    list->as_names = ctr_text_built(conn, list->names);
    list->as_quoted = ctr_text_built(conn, list->quoted);
    list->as_nulls = ctr_text_built(conn, list->nulls);
}

static void list_key(ctr_conn *conn, const adoptee *table, adopted_columns *list)
{
    const char *name;
    begin_columns(list);
    for (int i = 0; (name = ctr_ordinary_key(&table->ordinary, i)); i++) add_column(list, name);
    end_columns(conn, list);
}

/* Returns the foreign key of the column, or NULL. */
static const adoption_link *link_from(const adoption *all, const adoptee *table, const char *column)
{
    for (size_t i = 0; i < all->n_links; i++)
        if (all->links[i].child == (size_t)(table - all->tables) &&
            sqlite3_stricmp(all->links[i].from, column) == 0)
            return &all->links[i];
    return NULL;
}

/* Writes something into the declaration of a table, behind `at`. */
static const char *written_at(ctr_conn *conn, const char *sql, const char *at, const char *what)
{
    return at ? ctr_text_print(conn, "%.*s%s%s", (int)(at - sql), sql, what, at) : NULL;
}

static void refuse_text(adoptee *table)
{
    decide(table, ADOPTION_REFUSED, "its declaration cannot be read word by word",
           "declare it anew");
}

static void decide_autoincrement(ctr_conn *conn, adoptee *table, const char *finding,
                                 const char *remedy)
{
    table->declaration =
        written_at(conn, table->sql, ctr_word_before_autoincrement(table->sql), " AUTOINCREMENT");
    decide(table, ADOPTION_AUTOINCREMENT, finding, remedy);
    if (!table->declaration) refuse_text(table);
}

/* One whose keys SQLite gives out. */
static void decide_numbers(const adoption *all, adoptee *table, const char *quoted)
{
    ctr_conn *conn = all->conn;
    int autoincrement = 0;
    const adoption_link *link = link_from(all, table, table->keys);
    if (link && link->is_whole && sqlite3_stricmp(link->parent, table->name) != 0) {
        table->option = "keys=assigned";
        decide(
            table, ADOPTION_REPLICATE,
            ctr_text_print(conn, "its key %s is that of its row of %s", table->keys, link->parent),
            NULL);
        return;
    }
    table->gives_numbers = true;
    table->option = OF_NUMBERS;
    ctr_run run = ctr_run_on(conn, all->schema, NULL);
    run.slots.name = table->name;
    run.slots.keys = quoted;
    int64_t greatest = ctr_run_number(&run, CTR_SQL_ADOPTION_GREATEST);
    ctr_problem_sqlite(conn, sqlite3_table_column_metadata(conn->db, all->schema, table->name,
                                                           table->keys, NULL, NULL, NULL, NULL,
                                                           &autoincrement));
    if (!ctr_spread_has_room(greatest, CTR_SPREAD_BITS)) {
        decide(table, ADOPTION_REFUSED,
               ctr_text_print(conn, "it has the key %lld, and files give out keys below 2^53",
                              (long long)greatest),
               autoincrement
                   ? ctr_text_print(conn,
                                    "give its rows smaller keys, or call counter_replicate(%Q, "
                                    "'keys=spread 63'), whose keys JavaScript rounds",
                                    table->name)
                   : "give its rows smaller keys");
    } else if (autoincrement) {
        decide(table, ADOPTION_REPLICATE,
               ctr_text_print(conn, "SQLite gives out the key %s", table->keys), NULL);
    } else {
        decide_autoincrement(conn, table,
                             ctr_text_print(conn,
                                            "SQLite gives out the key %s, and without "
                                            "AUTOINCREMENT a number again whose row was deleted",
                                            table->keys),
                             "sqlite-counter adopt writes AUTOINCREMENT into its declaration");
    }
}

/* Returns a name that a column of the key must not have, or NULL. */
static const char *reserved_key(const adoptee *table)
{
    const char *name;
    for (int i = 0; (name = ctr_ordinary_key(&table->ordinary, i)); i++)
        if (ctr_declaration_reserves(name)) return name;
    return NULL;
}

/* Refuses what counter_replicate would refuse. Returns whether it takes the columns and the key,
 * which the table has or gets. */
static bool takes_columns(const adoption *all, adoptee *table, bool gets_key)
{
    ctr_problem wrong;
    ctr_shape shape = {0};
    ctr_conn *conn = all->conn;
    const ctr_tracked none = {.conn = conn};
    const char *reserved = reserved_key(table);
    if (reserved) {
        decide(table, ADOPTION_REFUSED,
               ctr_text_print(conn, "the column name %s is reserved", reserved),
               "rename the column, here and in the other files");
        return false;
    }
    ctr_problem_try(conn, &wrong);
    if (gets_key)
        ctr_constraints_read_key(&shape, conn, all->schema, table->name, &table->ordinary);
    else
        ctr_constraints_read_shape(&shape, conn, all->schema, table->name, NULL, 0, &none);
    if (ctr_rc(conn) == SQLITE_OK) ctr_constraints_refuse_collations(conn, &shape, table->name);
    ctr_problem_end(&wrong);
    if (wrong.rc == SQLITE_ERROR) {
        const char *why = ctr_problem_text(&wrong);
        size_t size = strlen(table->name);
        bool names = strncmp(why, table->name, size) == 0 && strncmp(why + size, ": ", 2) == 0;
        decide(table, ADOPTION_REFUSED, ctr_text_print(conn, "%s", why + (names ? size + 2 : 0)),
               "change its declaration");
    }
    ctr_shape_close(&shape);
    bool takes = wrong.rc == SQLITE_OK;
    ctr_problem_raise_if(conn, &wrong, wrong.rc != SQLITE_ERROR);
    return takes;
}

/* Returns the collation of a column, in the arena; NULL on error. */
static const char *collation_of(const adoption *all, const adoptee *table, const char *column)
{
    const char *collation = NULL;
    ctr_conn *conn = all->conn;
    ctr_problem_sqlite(conn,
                       sqlite3_table_column_metadata(conn->db, all->schema, table->name, column,
                                                     NULL, &collation, NULL, NULL, NULL));
    return collation && ctr_rc(conn) == SQLITE_OK ? ctr_text_print(conn, "%s", collation) : NULL;
}

/* Returns the collation of some column that this connection lacks, in the arena, or NULL. */
static const char *missing_collation(const adoption *all, const adoptee *table)
{
    const char *missing = NULL;
    ctr_conn *conn = all->conn;
    for (size_t i = 0; i < table->ordinary.n && !missing && ctr_rc(conn) == SQLITE_OK; i++) {
        ctr_problem lacks;
        const char *name = collation_of(all, table, table->ordinary.columns[i].name);
        if (!name || ctr_pack_folds(name)) continue;
        ctr_run run = ctr_run_on(conn, all->schema, NULL);
        run.slots.name = name;
        ctr_problem_try(conn, &lacks);
        ctr_run_do(&run, CTR_SQL_ADOPTION_COMPARE, NULL);
        if ((lacks.rc & 0xff) == SQLITE_ERROR) missing = name;
        ctr_problem_raise_if(conn, &lacks, (lacks.rc & 0xff) != SQLITE_ERROR);
    }
    return missing;
}

/* ---- tables without a key -------------------------------------------------------------------- */

/* Returns what a column is called that refers to a row of another table: "author_id", "AuthorId";
 * the rest of its name, or 0 if it is not called so. */
static size_t reference_size(const char *column)
{
    size_t size = strlen(column);
    if (size > 3 && sqlite3_stricmp(column + size - 3, "_id") == 0) return size - 3;
    if (size > 2 && (strcmp(column + size - 2, "Id") == 0 || strcmp(column + size - 2, "ID") == 0))
        return size - 2;
    return 0;
}

/* Appends a column to the key that the table gets. */
static void add_key_column(adoptee *table, adopted_columns *list, const char *name)
{
    for (size_t i = 0; i < table->ordinary.n; i++)
        if (sqlite3_stricmp(table->ordinary.columns[i].name, name) == 0)
            table->ordinary.columns[i].key = list->n;
    add_column(list, name);
}

/* Returns the number of columns of the index that begins with a term. */
static size_t index_size(const ctr_ordinary *ordinary, size_t first)
{
    size_t n = 1;
    while (first + n < ordinary->n_terms && ordinary->terms[first + n].number > 0) n++;
    return n;
}

/* Returns whether the terms of an index are columns that are never NULL. */
static bool identifies(const ctr_ordinary *ordinary, const ctr_term *terms, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const ctr_described *column =
            terms[i].name ? ctr_ordinary_column(ordinary, terms[i].name) : NULL;
        if (!column || !column->not_null || column->generated || terms[i].is_partial) return false;
    }
    return true;
}

/* Returns why the columns of a UNIQUE index, which are never NULL, cannot be a PRIMARY KEY, or
 * NULL. They can if they differ wherever the index says so; BINARY tells apart what any collation
 * does. */
static const char *why_no_key(const adoption *all, const adoptee *table, const ctr_term *terms,
                              size_t n)
{
    ctr_conn *conn = all->conn;
    const ctr_described *first = ctr_ordinary_column(&table->ordinary, terms->name);
    if (n == 1 && first && first->type && sqlite3_stricmp(first->type, "INTEGER") == 0)
        return ctr_text_print(conn, "as one the INTEGER %s would replace the row ids", terms->name);
    for (size_t i = 0; i < n && ctr_rc(conn) == SQLITE_OK; i++) {
        const char *collation = collation_of(all, table, terms[i].name);
        if (!collation || !terms[i].collation || sqlite3_stricmp(collation, "BINARY") == 0 ||
            sqlite3_stricmp(collation, terms[i].collation) == 0)
            continue;
        return ctr_text_print(conn, "its UNIQUE index compares %s by %s, the column itself by %s",
                              terms[i].name, terms[i].collation, collation);
    }
    return NULL;
}

/* Lists the columns of a UNIQUE index that could be a key. Returns why there is none if an index
 * only seems to be one. */
static const char *list_unique(const adoption *all, adoptee *table, adopted_columns *list)
{
    const char *why = NULL;
    const ctr_ordinary *ordinary = &table->ordinary;
    for (size_t i = 0, n = 0; i < ordinary->n_terms; i += n) {
        const ctr_term *terms = &ordinary->terms[i];
        n = index_size(ordinary, i);
        if (!identifies(ordinary, terms, n)) continue;
        const char *because = why_no_key(all, table, terms, n);
        for (size_t k = 0; !because && k < n; k++) add_key_column(table, list, terms[k].name);
        if (!because) return NULL;
        why = because;
    }
    return why;
}

/* Returns whether a UNIQUE constraint has the index that a PRIMARY KEY on the listed columns needs:
 * SQLite makes one index for both. */
static bool has_constraint(const adoption *all, const adoptee *table)
{
    const ctr_ordinary *ordinary = &table->ordinary;
    for (size_t i = 0, n = 0; i < ordinary->n_terms; i += n) {
        const ctr_term *terms = &ordinary->terms[i];
        n = index_size(ordinary, i);
        bool is = strncmp(terms->index, "sqlite_autoindex_", 17) == 0 &&
                  !ctr_ordinary_key(ordinary, (int)n);
        for (size_t k = 0; is && k < n; k++) {
            const char *name = ctr_ordinary_key(ordinary, (int)k);
            const char *collation = name ? collation_of(all, table, name) : NULL;
            is = collation && terms[k].name && terms[k].collation &&
                 sqlite3_stricmp(name, terms[k].name) == 0 &&
                 sqlite3_stricmp(collation, terms[k].collation) == 0;
        }
        if (is) return true;
    }
    return false;
}

/* The columns that a table of pairs, or of links with further columns, is about. */
static void list_pair(const adoption *all, adoptee *table, adopted_columns *list)
{
    const ctr_ordinary *ordinary = &table->ordinary;
    for (size_t i = 0; i < ordinary->n; i++) {
        const ctr_described *column = &ordinary->columns[i];
        if (!column->generated && (ordinary->n == 2 || link_from(all, table, column->name) ||
                                   reference_size(column->name) > 0))
            add_key_column(table, list, column->name);
    }
}

/* Decides for a table whose rows the listed columns identify. */
static void decide_listed(const adoption *all, adoptee *table, const adopted_columns *list)
{
    ctr_conn *conn = all->conn;
    const char *key = ctr_text_print(conn, ", PRIMARY KEY (%s)", list->as_quoted);
    if (!takes_columns(all, table, true)) return;
    table->declaration = written_at(conn, table->sql, ctr_word_before_constraint(table->sql), key);
    table->index = has_constraint(all, table) ? NULL : list->as_quoted;
    decide(
        table, ADOPTION_KEY,
        ctr_text_print(conn, "it has no PRIMARY KEY, and no two rows are equal in %s", table->keys),
        ctr_text_print(conn, "sqlite-counter adopt makes (%s) its key", table->keys));
    if (!table->declaration) refuse_text(table);
}

static void decide_key(const adoption *all, adoptee *table)
{
    adopted_columns list;
    ctr_conn *conn = all->conn;
    begin_columns(&list);
    const char *why = list_unique(all, table, &list);
    bool is_unique = list.n > 0;
    if (!is_unique && !why) list_pair(all, table, &list);
    end_columns(conn, &list);
    if (ctr_rc(conn) != SQLITE_OK) return;
    table->keys = list.as_names;
    if (why) {
        decide(table, ADOPTION_REFUSED, ctr_text_print(conn, "it has no PRIMARY KEY, and %s", why),
               "create it anew with a PRIMARY KEY");
    } else if (!is_unique && list.n != 2) {
        table->keys = "";
        decide(table, ADOPTION_REFUSED, "it has no PRIMARY KEY, which identifies rows in all files",
               "give it a key");
    } else if (ask_of_table(all, table, CTR_SQL_ADOPTION_HAS_NULL, NULL, list.as_nulls)) {
        decide(table, ADOPTION_REFUSED,
               ctr_text_print(conn, "it has no PRIMARY KEY, and NULL in %s", table->keys),
               "give it a key");
    } else if (!is_unique &&
               ask_of_table(all, table, CTR_SQL_ADOPTION_HAS_TWINS, list.as_quoted, "")) {
        decide(table, ADOPTION_REFUSED,
               ctr_text_print(conn, "it has no PRIMARY KEY, and rows that are equal in %s",
                              table->keys),
               "make these rows differ");
    } else if (ctr_rc(conn) == SQLITE_OK) {
        decide_listed(all, table, &list);
    }
}

/* ---- one table ------------------------------------------------------------------------------- */

/* Refuses a table for which triggers cannot be made. Returns whether it is refused. */
static bool is_trigger_taken(const adoption *all, adoptee *table, const char *counters)
{
    const ctr_named *taken = ctr_triggers_taken(all->objects, counters);
    if (taken)
        decide(
            table, ADOPTION_REFUSED,
            ctr_text_print(all->conn, "there is another trigger %s, on %s", taken->name, taken->on),
            "create it under another name");
    return taken != NULL;
}

static void decide_ordinary(const adoption *all, adoptee *table)
{
    adopted_columns key;
    ctr_conn *conn = all->conn;
    const char *owner = stored_by(all, table->name), *collation;
    const char *counters = ctr_text_print(conn, "%s_counters", table->name);
    list_key(conn, table, &key);
    table->keys = key.as_names;
    if (ctr_rc(conn) != SQLITE_OK) return;
    if (owner)
        decide(table, ADOPTION_VIRTUAL,
               ctr_text_print(conn, "the virtual table %s stores its rows in it", owner), NULL);
    else if (IS_KNOWN(table, BOOKKEEPING))
        decide(table, ADOPTION_HOME,
               "it says which migrations ran in this file: if its rows travelled, another file "
               "would believe that they ran there",
               NULL);
    else if (IS_KNOWN(table, OF_MERGES))
        decide(table, ADOPTION_HOME, "sqlite-counter merge notes in it what this file has merged",
               NULL);
    else if (IS_KNOWN(table, SHORT_LIVED))
        decide(table, ADOPTION_HOME, "sessions, caches and queues belong to one machine", NULL);
    else if ((collation = missing_collation(all, table)))
        decide(
            table, ADOPTION_REFUSED,
            ctr_text_print(conn, "it has the collation %s, which this connection lacks", collation),
            "call counter_replicate_all in the application");
    else if (ctr_declaration_reserves_table(table->name))
        decide(table, ADOPTION_REFUSED, "names that begin with counter_ are reserved", "rename it");
    else if (ctr_schema_objects_find(all->objects, counters))
        decide(table, ADOPTION_REFUSED,
               ctr_text_print(conn, "another table has the name %s", counters),
               "rename that table");
    else if (is_trigger_taken(all, table, counters))
        return;
    else if (key.n == 0)
        decide_key(all, table);
    else if (!takes_columns(all, table, false))
        return;
    else if (ctr_constraints_numbers_keys(&table->ordinary))
        decide_numbers(all, table, key.as_quoted);
    else if (ask_of_table(all, table, CTR_SQL_ADOPTION_HAS_NULL, NULL, key.as_nulls))
        decide(table, ADOPTION_REFUSED,
               ctr_text_print(conn, "it has rows with NULL in the key %s", table->keys),
               "give these rows a key");
    else
        decide(table, ADOPTION_REPLICATE, ctr_text_print(conn, "its key is (%s)", table->keys),
               NULL);
}

/* Returns whether it is a table of ours: one in which counters or the state of the file are. */
static bool is_own_table(const adoption *all, const ctr_named *named)
{
    static const char *const MORE[] = {"counter_servers", "counter_http_sources",
                                       "counter_http_tokens", "counter_http_ids", NULL};
    const char *const *lists[] = {ctr_stored_of_file(), MORE};
    if (sqlite3_strnicmp(named->name, "sqlite_", 7) == 0) return true;
    for (int i = 0; i < 2; i++)
        for (const char *const *name = lists[i]; *name; name++)
            if (sqlite3_stricmp(*name, named->name) == 0) return true;
    for (int i = 0; i < all->catalog.n; i++) {
        const char *counters = all->catalog.entries[i].name;
        size_t size = strlen(counters);
        bool is_named = sqlite3_strnicmp(named->name, counters, (int)size) == 0;
        if (is_named && sqlite3_stricmp(named->name + size, "_cells") == 0) return true;
        if (is_named && !named->name[size] && ctr_tracked_is_among(all->objects, counters))
            return true;
    }
    return false;
}

/* Returns the table that has had the counters, and has no triggers any more, or NULL: a migration
 * has built it anew. */
static adoptee *find_rebuilt(const adoption *all, const char *counters)
{
    adoptee *rebuilt = NULL;
    for (size_t i = 0; i < all->n && !rebuilt && ctr_rc(all->conn) == SQLITE_OK; i++) {
        char *of = ctr_triggers_counters(all->file, all->tables[i].name);
        if (of && sqlite3_stricmp(of, counters) == 0) rebuilt = &all->tables[i];
        sqlite3_free(of);
    }
    return rebuilt;
}

/* Decides for a table that is tracked or replicated. Without a reason it is done. */
static void decide_tracked(const adoption *all, adoptee *table, ctr_tab *tab, const char *missing)
{
    ctr_conn *conn = all->conn;
    const char *lost = ctr_spread_lost(tab, table->name), *columns = NULL;
    table->replicated = tab->shape.replicated;
    ctr_tracked *tracked = missing || !table->replicated ? NULL : ctr_tracked_hold(tab);
    if (tracked) columns = ctr_warnings_of_columns(tracked, tab);
    ctr_tracked_release(tracked);
    if (missing && is_trigger_taken(all, table, tab->table)) return;
    if (lost && ctr_constraints_numbers_keys(&table->ordinary))
        decide_autoincrement(conn, table, lost,
                             "declare it again in the migration, or call sqlite-counter adopt, "
                             "which writes AUTOINCREMENT into its declaration");
    else if (missing && table->replicated)
        decide(table, ADOPTION_REPLICATE,
               ctr_text_print(conn, "it is replicated, and its triggers %s", missing), NULL);
    else if (missing)
        decide(table, ADOPTION_REFUSED,
               ctr_text_print(conn, "its counters are tracked, and its triggers %s", missing),
               ctr_text_print(conn, "call counter_track(%Q), which makes them again", table->name));
    else if (columns)
        decide(table, ADOPTION_REPLICATE, ctr_text_print(conn, "it is replicated, and %s", columns),
               NULL);
    else
        decide(table, ADOPTION_DONE,
               table->replicated ? "it is replicated" : "its counters are tracked, and merge",
               NULL);
}

/* Marks the tables that are tracked or replicated. */
static void mark_done(const adoption *all)
{
    for (int i = 0; i < all->catalog.n && ctr_rc(all->conn) == SQLITE_OK; i++) {
        adopted_columns key;
        const char *counters = all->catalog.entries[i].name;
        bool is_tracked = ctr_tracked_is_among(all->objects, counters);
        const char *name = is_tracked ? ctr_triggers_table(all->objects, counters) : NULL;
        adoptee *table = name         ? find_adoptee(all, name)
                         : is_tracked ? find_rebuilt(all, counters)
                                      : NULL;
        ctr_tab *tab = table ? ctr_tab_read(all->file, counters) : NULL;
        if (!tab) continue;
        const char *missing = !name ? "are missing"
                              : ctr_triggers_are_whole(all->file, counters)
                                  ? NULL
                                  : "are not those that it needs now";
        decide_tracked(all, table, tab, missing);
        list_key(all->conn, table, &key);
        table->keys = key.as_names;
    }
}

/* ---- reading --------------------------------------------------------------------------------- */

static void add_adoptee(adoption *all, const ctr_named *named)
{
    adoptee *tables =
        ctr_array_room(all->conn, all->tables, &all->room, all->n + 1, sizeof *tables);
    if (!tables) return;
    all->tables = tables;
    adoptee *table = &tables[all->n++];
    *table = (adoptee){.name = named->name,
                       .sql = named->sql ? named->sql : "",
                       .keys = "",
                       .step = named->object == CTR_OBJECT_VIRTUAL_TABLE ? ADOPTION_VIRTUAL
                                                                         : ADOPTION_REPLICATE};
    if (table->step == ADOPTION_VIRTUAL) return;
    ctr_ordinary_read(&table->ordinary, all->conn, all->schema, table->name);
    ctr_ordinary_read_terms(&table->ordinary, all->conn, all->schema, table->name);
}

/* Returns a copy of the text, in the arena; NULL of none. */
static const char *kept_text(ctr_conn *conn, sqlite3_stmt *row, int column)
{
    const char *text = ctr_text_column(conn, row, column);
    return text ? ctr_text_print(conn, "%s", text) : NULL;
}

static void read_links(adoption *all, size_t child)
{
    ctr_conn *conn = all->conn;
    ctr_run run = ctr_run_on(conn, all->schema, NULL);
    run.slots.name = all->tables[child].name;
    sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_TRACK_FOREIGN_KEYS);
    while (ctr_run_row(&run, row)) {
        if (sqlite3_column_int(row, 1) > 0) { /* a further column of the last one */
            if (all->n_links > 0) all->links[all->n_links - 1].is_whole = false;
            continue;
        }
        adoption_link *links =
            ctr_array_room(conn, all->links, &all->room_links, all->n_links + 1, sizeof *links);
        if (!links) break;
        all->links = links;
        const char *action = ctr_text_column(conn, row, 6);
        bool acts = action && (strcmp(action, "CASCADE") == 0 || strncmp(action, "SET", 3) == 0);
        links[all->n_links] = (adoption_link){.child = child,
                                              .parent = kept_text(conn, row, 2),
                                              .from = kept_text(conn, row, 3),
                                              .to = kept_text(conn, row, 4),
                                              .forbids = !acts,
                                              .is_whole = true};
        if (links[all->n_links].parent && links[all->n_links].from) all->n_links++;
    }
    sqlite3_finalize(row);
}

/* ---- triggers -------------------------------------------------------------------------------- */

static void add_write(adoption *all, const ctr_named *trigger, const adoption_write *found)
{
    for (size_t i = 0; i < all->n_writes; i++) {
        const adoption_write *known = &all->writes[i];
        if (known->trigger == trigger->name && known->verb == found->verb &&
            known->table == found->table &&
            (!found->column || sqlite3_stricmp(known->column, found->column) == 0))
            return;
    }
    adoption_write *writes = ctr_array_room(all->conn, all->writes, &all->room_writes,
                                            all->n_writes + 1, sizeof *writes);
    if (!writes) return;
    all->writes = writes;
    writes[all->n_writes++] = *found;
}

/* Reads [schema.]table. Returns the table of the application, or NULL. */
static const adoptee *read_target(const adoption *all, ctr_words *words)
{
    ctr_span name = words->word;
    if (!ctr_word_at_name(words)) return NULL;
    ctr_word_next(words);
    if (ctr_word_at_mark(words, '.')) {
        ctr_word_next(words);
        name = words->word;
        ctr_word_next(words);
    }
    for (size_t i = 0; i < all->n; i++)
        if (ctr_word_names(name, all->tables[i].name)) return &all->tables[i];
    return NULL;
}

/* Returns whether behind c stands = c + ..., or = ifnull(c, 0) + ...; '+1' is one word. */
static bool is_adding_to(ctr_words words, ctr_span column)
{
    if (!ctr_word_at_mark(&words, '=')) return false;
    ctr_word_next(&words);
    bool wraps = ctr_word_at(&words, "ifnull") || ctr_word_at(&words, "coalesce");
    for (int i = 0; wraps && i < 2; i++) ctr_word_next(&words);
    if (!ctr_word_at_name(&words) || !ctr_word_same_name(words.word, column)) return false;
    for (int i = 0; wraps && i < 3; i++) ctr_word_next(&words);
    ctr_word_next(&words);
    return ctr_word_at_mark(&words, '+') || ctr_word_at_mark(&words, '-') ||
           (words.kind == CTR_WORD_NUMBER && strchr("+-", *words.word.text));
}

/* UPDATE t SET a = a + 1, b = 2: notes the totals among its columns, and whether there are
 * others. */
static void plan_update(adoption *all, const ctr_named *trigger, ctr_words *words,
                        adoption_write *found)
{
    bool others = false;
    for (int depth = 0; words->kind != CTR_WORD_END && !ctr_word_at_mark(words, ';');) {
        ctr_span column = words->word;
        bool is_name = ctr_word_at_name(words);
        ctr_word_next(words);
        depth += ctr_word_at_mark(words, '(') - ctr_word_at_mark(words, ')');
        if (depth == 0 && (ctr_word_at(words, "WHERE") || ctr_word_at(words, "FROM"))) break;
        if (depth > 0 || !ctr_word_at_mark(words, '=')) continue;
        if (is_name && is_adding_to(*words, column)) {
            char *name = ctr_text_unquoted(all->conn, column);
            found->verb = WRITE_TOTAL;
            found->column = ctr_text_print(all->conn, "%s", name ? name : "");
            sqlite3_free(name);
            add_write(all, trigger, found);
        } else {
            others = true;
        }
    }
    found->verb = WRITE_UPDATE;
    found->column = NULL;
    if (others) add_write(all, trigger, found);
}

static void plan_trigger(adoption *all, const ctr_named *trigger)
{
    const adoptee *on = trigger->on ? find_adoptee(all, trigger->on) : NULL;
    if (!on || !trigger->sql) return;
    ctr_words words = {.at = trigger->sql};
    do ctr_word_next(&words);
    while (words.kind != CTR_WORD_END && !ctr_word_at(&words, "BEGIN"));
    while (words.kind != CTR_WORD_END && ctr_rc(all->conn) == SQLITE_OK) {
        bool inserts = ctr_word_at(&words, "INTO"), updates = ctr_word_at(&words, "UPDATE"),
             deletes = ctr_word_at(&words, "DELETE");
        ctr_word_next(&words);
        if (!inserts && !updates && !deletes) continue;
        if (deletes) ctr_word_next(&words);         /* FROM */
        if (updates && ctr_word_at(&words, "OR")) { /* OR IGNORE */
            ctr_word_next(&words);
            ctr_word_next(&words);
        }
        const adoptee *table = read_target(all, &words);
        if (!table) continue;
        adoption_write found = {.verb = inserts ? WRITE_INSERT : WRITE_DELETE,
                                .trigger = trigger->name,
                                .on = (size_t)(on - all->tables),
                                .table = (size_t)(table - all->tables)};
        if (updates)
            plan_update(all, trigger, &words, &found);
        else
            add_write(all, trigger, &found);
    }
}

/* ---- the whole ------------------------------------------------------------------------------- */

/* The caller closes it, also after a failure. */
static void read_adoption(adoption *all, ctr_conn *conn, const char *schema)
{
    *all = (adoption){.conn = conn, .schema = schema};
    all->file = ctr_rc(conn) == SQLITE_OK ? ctr_file_of(conn, schema) : NULL;
    if (!all->file) ctr_problem_nomem(conn);
    if (ctr_rc(conn) == SQLITE_OK) ctr_catalog_read(&all->catalog, all->file);
    all->objects = ctr_rc(conn) == SQLITE_OK ? ctr_file_objects(all->file) : NULL;
    for (size_t i = 0; all->objects && i < all->objects->n; i++) {
        const ctr_named *named = &all->objects->named[i];
        if ((named->object == CTR_OBJECT_TABLE || named->object == CTR_OBJECT_VIRTUAL_TABLE) &&
            ctr_rc(conn) == SQLITE_OK && !is_own_table(all, named))
            add_adoptee(all, named);
    }
    for (size_t i = 0; i < all->n && ctr_rc(conn) == SQLITE_OK; i++)
        if (all->tables[i].step != ADOPTION_VIRTUAL) read_links(all, i);
    if (ctr_rc(conn) == SQLITE_OK) mark_done(all);
    for (size_t i = 0; i < all->n && ctr_rc(conn) == SQLITE_OK; i++) {
        adoptee *table = &all->tables[i];
        if (table->step == ADOPTION_VIRTUAL) decide_virtual(all, table);
        if (table->step == ADOPTION_REPLICATE && !table->finding) decide_ordinary(all, table);
    }
}

static void close_adoption(adoption *all)
{
    for (size_t i = 0; i < all->n; i++) {
        ctr_ordinary_close(&all->tables[i].ordinary);
        sqlite3_free(all->tables[i].counters);
    }
    ctr_catalog_close(&all->catalog);
    sqlite3_free(all->tables);
    sqlite3_free(all->links);
    sqlite3_free(all->writes);
}

/* =================================================================================================
 * counter_plan */

static void plan_row(const adoption *all, const adoptee *table, const char *kind,
                     const char *column, const char *finding, const char *remedy)
{
    ctr_answer_text(all->answer, table->name);
    ctr_answer_text(all->answer, kind);
    ctr_answer_text(all->answer, column);
    ctr_answer_text(all->answer, finding);
    ctr_answer_text(all->answer, remedy);
    ctr_answer_text(all->answer, NULL);
    ctr_answer_text(all->answer, NULL);
}

static void plan_table(const adoption *all, const adoptee *table)
{
    static const char *const STEPS[] = {"replicate", "autoincrement", "key",    "home",
                                        "virtual",   "done",          "refused"};
    const char *call = table->remedy;
    if (table->step == ADOPTION_REPLICATE)
        call = table->option ? ctr_text_print(all->conn, "counter_replicate(%Q, %Q)", table->name,
                                              table->option)
                             : ctr_text_print(all->conn, "counter_replicate(%Q)", table->name);
    if (table->step == ADOPTION_REFUSED)
        call = ctr_text_print(all->conn, "%s, or leave it at home", table->remedy);
    ctr_answer_text(all->answer, table->name);
    ctr_answer_text(all->answer, STEPS[table->step]);
    ctr_answer_text(all->answer, *table->keys ? table->keys : NULL);
    ctr_answer_text(all->answer, table->finding);
    ctr_answer_text(all->answer, call);
    ctr_answer_text(all->answer, table->declaration);
    ctr_answer_text(all->answer, table->index);
}

/* ---- counters -------------------------------------------------------------------------------- */

/* Returns whether a word of the name, which underscores and capitals divide, is one of the list. */
static bool has_word_of(const char *name, const char *const *list)
{
    for (const char *at = name; *at;) {
        size_t size = strspn(at, "ABCDEFGHIJKLMNOPQRSTUVWXYZ");
        size += strcspn(at + size, "_ ABCDEFGHIJKLMNOPQRSTUVWXYZ");
        for (int i = 0; size > 0 && list[i]; i++)
            if (strlen(list[i]) == size && sqlite3_strnicmp(list[i], at, (int)size) == 0)
                return true;
        at += size + (size == 0 || at[size] == '_' || at[size] == ' ');
    }
    return false;
}

static bool is_unique_column(const adoptee *table, const char *column)
{
    for (size_t i = 0; i < table->ordinary.n_terms; i++) {
        const ctr_term *term = &table->ordinary.terms[i];
        if (term->name && sqlite3_stricmp(term->name, column) == 0) return true;
    }
    return false;
}

static bool is_total(const adoption *all, const adoptee *table, const char *column)
{
    for (size_t i = 0; i < all->n_writes; i++) {
        const adoption_write *write = &all->writes[i];
        if (write->verb == WRITE_TOTAL && write->table == (size_t)(table - all->tables) &&
            sqlite3_stricmp(write->column, column) == 0)
            return true;
    }
    return false;
}

/* Returns whether a column is declared as a counter would be, whatever its name. */
static bool is_declared_like_counter(const ctr_described *column)
{
    static const char *const NEVER[] = {"version", "position", "status", "year", "order",
                                        "rank",    "sort",     "level",  "type", NULL};
    return column->not_null && (!column->value || strcmp(column->value, "0") == 0) &&
           column->key < 0 && !column->generated && column->type &&
           ctr_declaration_affinity(column->type) == CTR_AFFINITY_INTEGER &&
           !has_word_of(column->name, NEVER);
}

static bool is_named_like_counter(const ctr_described *column)
{
    static const char *const COUNTED[] = {
        "stock",    "count",   "counts",    "counter",   "likes",  "views",   "hits",
        "votes",    "upvotes", "downvotes", "balance",   "total",  "sold",    "clicks",
        "visits",   "plays",   "downloads", "inventory", "points", "credits", "reserved",
        "quantity", "qty",     "available", "karma",     NULL};
    return has_word_of(column->name, COUNTED);
}

bool ctr_adoption_sounds_counted(const ctr_described *column)
{
    return column->value && is_declared_like_counter(column) && is_named_like_counter(column);
}

/* Returns whether a column could be a counter: by its declaration, its name or a trigger, and its
 * values. */
static bool is_like_counter(const adoption *all, const adoptee *table, const ctr_described *column)
{
    if (!is_declared_like_counter(column) || link_from(all, table, column->name) ||
        is_unique_column(table, column->name) ||
        (!is_total(all, table, column->name) && !is_named_like_counter(column)))
        return false;
    const char *quoted = ctr_text_print(all->conn, "\"%w\"", column->name);
    return ask_of_table(all, table, CTR_SQL_ADOPTION_IS_NUMBER, quoted, "");
}

/* Counters are proposed, never chosen. */
static void propose_counters(const adoption *all, const adoptee *table)
{
    for (size_t i = 0; i < table->ordinary.n && ctr_rc(all->conn) == SQLITE_OK; i++) {
        const ctr_described *column = &table->ordinary.columns[i];
        if (!is_like_counter(all, table, column)) continue;
        bool totals = is_total(all, table, column->name);
        plan_row(all, table, "counter", column->name,
                 totals
                     ? "a trigger adds to it, and the sum is right in all files only as a counter"
                     : "it looks like a number that is counted",
                 ctr_text_print(all->conn,
                                "name it as a counter, '%s.%s', if changes made apart are to add "
                                "up: else the last write wins",
                                table->name, column->name));
    }
}

/* ---- foreign keys and references ------------------------------------------------------------- */

static void plan_link(const adoption *all, const adoptee *table, const adoption_link *link)
{
    const adoptee *parent = find_adoptee(all, link->parent);
    bool travels = would_travel(table), goes = parent && would_travel(parent);
    if (travels && !parent)
        plan_row(all, table, "foreign key", link->from,
                 ctr_text_print(all->conn, "it refers to %s, which is missing", link->parent),
                 ctr_text_print(all->conn, "create %s, or leave this table at home", link->parent));
    else if (travels && !goes)
        plan_row(
            all, table, "foreign key", link->from,
            ctr_text_print(all->conn,
                           "it refers to %s, whose rows do not travel: rows of other files "
                           "may have no parent here",
                           link->parent),
            ctr_text_print(all->conn, "replicate %s, too, or leave both at home", link->parent));
    if (!travels && goes && link->forbids)
        plan_row(all, table, "foreign key", link->from,
                 ctr_text_print(all->conn,
                                "it refers to %s, whose rows travel: a row that another file "
                                "deletes stays here while one of this table refers to it",
                                link->parent),
                 "declare ON DELETE CASCADE or SET NULL, or delete these rows, too");
}

/* Returns the table whose name a column has before _id: user_id belongs to user, users. */
static const adoptee *referred_table(const adoption *all, const char *column)
{
    size_t size = reference_size(column);
    for (size_t i = 0; size > 0 && i < all->n; i++) {
        const char *name = all->tables[i].name, *rest = name + size;
        bool begins = sqlite3_strnicmp(name, column, (int)size) == 0;
        if (begins && (!*rest || !sqlite3_stricmp(rest, "s") || !sqlite3_stricmp(rest, "es")))
            return &all->tables[i];
        if (size > 1 && (column[size - 1] | 0x20) == 'y' &&
            sqlite3_strnicmp(name, column, (int)size - 1) == 0 && strlen(name) > size &&
            sqlite3_stricmp(name + size - 1, "ies") == 0)
            return &all->tables[i];
    }
    return NULL;
}

static void tell_references(const adoption *all, const adoptee *table)
{
    for (size_t i = 0; i < table->ordinary.n; i++) {
        const char *column = table->ordinary.columns[i].name;
        const adoptee *parent = link_from(all, table, column) ? NULL : referred_table(all, column);
        if (!parent || parent == table) continue;
        if (would_travel(parent))
            plan_row(all, table, "reference", column,
                     ctr_text_print(all->conn,
                                    "it seems to refer to %s, and declares no foreign key: a merge "
                                    "shows a row without waiting for its parent",
                                    parent->name),
                     "declare the foreign key, if it is one");
        else
            plan_row(all, table, "reference", column,
                     ctr_text_print(all->conn,
                                    "it seems to refer to %s, whose rows do not travel: in "
                                    "another file it may mean another row",
                                    parent->name),
                     ctr_text_print(all->conn, "replicate %s, too, or leave both at home",
                                    parent->name));
    }
}

/* ---- triggers and constraints ---------------------------------------------------------------- */

static void plan_write(const adoption *all, const adoption_write *write)
{
    const adoptee *on = &all->tables[write->on], *table = &all->tables[write->table];
    ctr_conn *conn = all->conn;
    const char *remedy = ctr_text_print(
        conn, "give it the condition WHEN NOT counter_merging(), or leave %s at home", table->name);
    if (!would_travel(on) || !would_travel(table)) return;
    const ctr_described *total =
        write->verb == WRITE_TOTAL ? ctr_ordinary_column(&table->ordinary, write->column) : NULL;
    if (total && is_like_counter(all, table, total)) return;
    if (write->verb == WRITE_TOTAL)
        plan_row(all, on, "trigger", write->column,
                 ctr_text_print(conn,
                                "%s keeps a total in %s.%s, which is right in all files only "
                                "as a counter",
                                write->trigger, table->name, write->column),
                 ctr_text_print(conn, "name it as a counter, '%s.%s'", table->name, write->column));
    else if (write->verb == WRITE_INSERT)
        plan_row(all, on, "trigger", NULL,
                 ctr_text_print(conn,
                                "%s inserts into %s: each file that merges a change adds a row of "
                                "its own",
                                write->trigger, table->name),
                 remedy);
    else if (on == table && write->verb == WRITE_UPDATE)
        plan_row(all, on, "trigger", NULL,
                 ctr_text_print(conn,
                                "%s writes rows of its own table: what it writes when a change is "
                                "merged may differ from file to file, as the time does",
                                write->trigger),
                 "give it the condition WHEN NOT counter_merging()");
    else if (on != table)
        plan_row(all, on, "trigger", NULL,
                 ctr_text_print(conn,
                                "%s %s rows of %s: each file that merges a change does so once "
                                "more, later than all others",
                                write->trigger, write->verb == WRITE_DELETE ? "deletes" : "writes",
                                table->name),
                 remedy);
}

/* The columns of each UNIQUE index beside the key. */
static void plan_unique(const adoption *all, const adoptee *table)
{
    const ctr_ordinary *ordinary = &table->ordinary;
    for (size_t i = 0; i < ordinary->n_terms;) {
        adopted_columns list;
        const ctr_term *first = &ordinary->terms[i];
        begin_columns(&list);
        do {
            const char *name = ordinary->terms[i].name;
            add_column(&list, name ? name : "an expression");
        } while (++i < ordinary->n_terms && ordinary->terms[i].number > 0);
        end_columns(all->conn, &list);
        if (first->is_primary || strcmp(list.as_names, table->keys) == 0) continue;
        plan_row(all, table, "unique", list.as_names,
                 "two files may give one value to different rows: one of these waits then in each "
                 "file",
                 "change or delete one of the two rows after the merge: counter_tracked lists "
                 "those that wait");
    }
}

/* Whole numbers as keys, of which only the application knows who gives them out. */
static void tell_key_values(const adoption *all, const adoptee *table)
{
    const char *name = ctr_ordinary_key(&table->ordinary, 0);
    const ctr_described *column = name ? ctr_ordinary_column(&table->ordinary, name) : NULL;
    if (!column || !column->type || ctr_ordinary_key(&table->ordinary, 1) || table->option ||
        ctr_declaration_affinity(column->type) != CTR_AFFINITY_INTEGER ||
        link_from(all, table, name))
        return;
    plan_row(all, table, "key values", name,
             "the application gives out its numbers: two rows that got one number in two files "
             "become one row",
             "let SQLite give them out, by INTEGER PRIMARY KEY AUTOINCREMENT, or use UUIDs");
}

static void tell_adoptee(const adoption *all, const adoptee *table)
{
    plan_table(all, table);
    if (IS_KNOWN(table, OF_31_BITS))
        plan_row(all, table, "clients", NULL,
                 "Prisma up to version 6, and int in EF Core, read whole numbers of 31 bits, and "
                 "keys that several files give out are larger",
                 "declare keys as BigInt in Prisma, as long in EF Core");
    for (size_t i = 0; i < all->n_links; i++)
        if (&all->tables[all->links[i].child] == table && table->step != ADOPTION_VIRTUAL)
            plan_link(all, table, &all->links[i]);
    if (table->step > ADOPTION_KEY || table->replicated) return;
    if (IS_KNOWN(table, MADE_IN_EACH_FILE))
        plan_row(all, table, "each file", NULL,
                 "a migration makes rows in each file where it runs, under keys of its own",
                 "run the migration in one file, merge, and run it in the others then");
    tell_key_values(all, table);
    plan_unique(all, table);
    tell_references(all, table);
    propose_counters(all, table);
    for (size_t i = 0; i < all->n_writes; i++)
        if (&all->tables[all->writes[i].on] == table) plan_write(all, &all->writes[i]);
}

static void show_plan(ctr_answer *answer, sqlite3_value **args)
{
    adoption all = {0};
    const char *schema = ctr_answer_schema(answer, args[0]);
    ctr_run run = ctr_run_on(answer->conn, schema, NULL);
    sqlite3_stmt *snapshot = schema ? ctr_run_hold(&run) : NULL;
    if (schema) read_adoption(&all, answer->conn, schema);
    all.answer = answer;
    for (size_t i = 0; schema && all.objects && i < all.objects->n_triggers; i++) {
        const ctr_named *trigger = &all.objects->triggers[i];
        if (!trigger->sql || !ctr_word_is_in("counter_merging", trigger->sql))
            plan_trigger(&all, trigger);
    }
    for (size_t i = 0; i < all.n && ctr_rc(answer->conn) == SQLITE_OK; i++)
        tell_adoptee(&all, &all.tables[i]);
    close_adoption(&all);
    sqlite3_finalize(snapshot);
}

/* =================================================================================================
 * counter_replicate_all - all or nothing.
 *
 * Its arguments:
 *
 *     'products.stock'  a counter
 *     'leave=logs'      a table that stays at home
 *     'missing=…'       what becomes of rows that are missing, as of counter_replicate
 *
 * It replicates each table of main that the plan says to replicate, and passes over those that stay
 * at home, that are virtual, and that count already, unless they lack a named counter. Others must
 * be left: else it fails. */

static const char COUNTER_REPLICATE_ALL[] = "counter_replicate_all";

/* Notes a counter, whose table and column the argument names. */
static void take_counter(const adoption *all, const char *given)
{
    adoptee *table = NULL;
    const char *column = NULL, *name = NULL;
    for (const char *dot = strchr(given, '.'); dot && !table; dot = strchr(dot + 1, '.')) {
        name = ctr_text_print(all->conn, "%.*s", (int)(dot - given), given);
        table = find_adoptee(all, name);
        column = dot + 1;
    }
    if (!name)
        ctr_problem_set(all->conn, SQLITE_ERROR,
                        "a counter must be a table and a column, such as 'products.stock', not "
                        "'%s'",
                        given);
    else if (!table)
        ctr_problem_set(all->conn, SQLITE_ERROR, "there is no table for the counter '%s'", given);
    if (!table || ctr_rc(all->conn) != SQLITE_OK) return;
    if (table->step == ADOPTION_HOME || table->step == ADOPTION_VIRTUAL)
        ctr_problem_set(all->conn, SQLITE_ERROR, "%s: its rows do not travel, so %s cannot count",
                        table->name, column);
    const char **counters = ctr_array_room(all->conn, table->counters, &table->room,
                                           (size_t)table->n_counters + 1, sizeof *counters);
    if (!counters) return;
    table->counters = counters;
    counters[table->n_counters++] = column;
}

static void take_missing_rows(adoption *all, const char *given)
{
    bool is = sqlite3_stricmp(given, "deleted") == 0 || sqlite3_stricmp(given, "restored") == 0;
    bool again = all->missing && sqlite3_stricmp(all->missing, given) != 0;
    if (!is || again)
        ctr_problem_set(all->conn, SQLITE_ERROR,
                        is ? "'missing=%s' contradicts the option before it"
                           : "rows that are missing are 'missing=deleted' or 'missing=restored', "
                             "not 'missing=%s'",
                        given);
    all->missing = given;
}

static void take_word(adoption *all, const char *given)
{
    bool leaves = sqlite3_strnicmp(given, "leave=", 6) == 0;
    if (sqlite3_strnicmp(given, "missing=", 8) == 0) {
        take_missing_rows(all, given + 8);
        return;
    }
    adoptee *table = leaves ? find_adoptee(all, given + 6) : NULL;
    if (table) table->left = true;
    if (leaves && !table)
        ctr_problem_set(all->conn, SQLITE_ERROR, "%s: there is no such table", given);
    if (!leaves) take_counter(all, given);
}

/* Takes the counters that the table has already out of its list. Fails if it only tracks some. */
static void keep_new_counters(const adoption *all, adoptee *table)
{
    char *counters = ctr_triggers_counters(all->file, table->name);
    ctr_tab *tab = counters ? ctr_tab_read(all->file, counters) : NULL;
    ctr_tracked *tracked = tab ? ctr_tracked_hold(tab) : NULL;
    int n = 0;
    for (int i = 0; tracked && i < table->n_counters; i++)
        if (ctr_tracked_counter(tracked, table->counters[i]) < 0)
            table->counters[n++] = table->counters[i];
    if (tracked) table->n_counters = n;
    if (table->n_counters > 0 && (!tab || !tab->shape.replicated))
        ctr_problem_set(all->conn, SQLITE_ERROR,
                        "%s: it is not replicated, but tracked: counter_track(%Q, %Q) makes %s a "
                        "counter",
                        table->name, table->name, table->counters[0], table->counters[0]);
    ctr_tracked_release(tracked);
    sqlite3_free(counters);
}

/* Returns whether the call has something to do with the table. */
static bool is_to_replicate(const adoption *all, adoptee *table)
{
    if (ctr_rc(all->conn) != SQLITE_OK) return false;
    if (table->left && table->n_counters > 0)
        ctr_problem_set(all->conn, SQLITE_ERROR, "%s: it is left, so %s cannot count", table->name,
                        table->counters[0]);
    if (table->left || table->step == ADOPTION_HOME || table->step == ADOPTION_VIRTUAL)
        return false;
    if (table->step == ADOPTION_REPLICATE) return true;
    if (table->step == ADOPTION_DONE && table->n_counters > 0) {
        keep_new_counters(all, table);
        return table->n_counters > 0;
    }
    if (table->step != ADOPTION_DONE && table->replicated)
        ctr_problem_set(all->conn, SQLITE_ERROR, "%s: %s: %s", table->name, table->finding,
                        table->remedy);
    else if (table->step != ADOPTION_DONE)
        ctr_problem_set(all->conn, SQLITE_ERROR, "%s: %s: %s; 'leave=%s' leaves it at home",
                        table->name, table->finding, table->remedy, table->name);
    return false;
}

/* Notes the names of a table with which there is nothing else to do: after a rename the table may
 * be built anew, with another column or beside another table of the former name. */
static void note_names(const adoption *all, const adoptee *table)
{
    char *counters = ctr_triggers_counters(all->file, table->name);
    ctr_tab *tab = counters ? ctr_tab_read(all->file, counters) : NULL;
    if (tab && ctr_triggers_are_whole(all->file, counters))
        ctr_tracked_note(all->file, counters, &tab->shape);
    sqlite3_free(counters);
}

/* Returns the number of tables. The schema that lends their names changes with the first. */
static int64_t replicate_tables(adoption *all)
{
    int64_t n = 0;
    for (size_t i = 0; i < all->n; i++)
        all->tables[i].name = ctr_text_print(all->conn, "%s", all->tables[i].name);
    for (size_t i = 0; i < all->n; i++)
        all->tables[i].left = !is_to_replicate(all, &all->tables[i]);
    for (size_t i = 0; i < all->n && ctr_rc(all->conn) == SQLITE_OK; i++) {
        const adoptee *table = &all->tables[i];
        if (table->step == ADOPTION_DONE) note_names(all, table);
        if (table->left) continue;
        ctr_track_replicate(all->conn, all->schema, table->name, table->counters, table->n_counters,
                            table->option, all->missing);
        n++;
    }
    return n;
}

static void fn_replicate_all(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
    int64_t n = 0;
    adoption all = {0};
    ctr_session session;
    ctr_problem problem;
    ctr_conn *conn = sqlite3_user_data(ctx);
    sqlite3_int64 inserted = sqlite3_last_insert_rowid(conn->db);
    for (int i = 0; i < argc; i++)
        if (!ctr_arg_text(ctx, COUNTER_REPLICATE_ALL, "a counter or an option", argv[i])) return;
    ctr_problem_begin(conn, &problem);
    if (ctr_session_begin(&session, conn, true) == SQLITE_OK) {
        ctr_session_lock(&session, "main");
        read_adoption(&all, conn, "main");
        for (int i = 0; i < argc && ctr_rc(conn) == SQLITE_OK; i++)
            take_word(&all, (const char *)sqlite3_value_text(argv[i]));
        n = replicate_tables(&all);
    }
    ctr_session_end(&session);
    close_adoption(&all);
    sqlite3_set_last_insert_rowid(conn->db, inserted);
    if (ctr_arg_problem(ctx, COUNTER_REPLICATE_ALL, &problem)) sqlite3_result_int64(ctx, n);
}

int ctr_adoption_register(sqlite3 *db, ctr_conn *conn)
{
    static const ctr_answer_kind PLAN = {.name = "counter_plan",
                                         .columns = "table_name TEXT, kind TEXT, column_name TEXT, "
                                                    "finding TEXT, remedy TEXT",
                                         .args = "schema HIDDEN",
                                         .hidden = "declaration HIDDEN, key_index HIDDEN",
                                         .fill = show_plan};
    static const ctr_function ALL = {COUNTER_REPLICATE_ALL, -1, -1, CTR_ADMIN, fn_replicate_all};
    int rc = ctr_shared_functions(db, conn, &ALL, 1);
    if (rc != SQLITE_OK) return rc;
    return ctr_answer_register(db, conn, &PLAN, 1);
}
