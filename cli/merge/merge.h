/* merge.h - sqlite-counter merge: what its files share.
 *
 * Merges two descendants of one SQLite file that nobody prepared. One connection has all three:
 *
 *     main      OURS, or a copy of it; what is written, in one transaction
 *     base      BASE, attached; only read
 *     theirs    THEIRS, attached; only read
 *     temp      the work: _merge_d0, _merge_d1, ... the rows of each table in which THEIRS differs
 *               from BASE; _merge_object, _merge_names, _merge_moves, _merge_conflict, _merge_note
 *
 * A file is read top to bottom in this order: files.c opens and attaches; schema.c brings the
 * declarations of main up to those of THEIRS, for which alter.c explains how one came from another;
 * table.c reads what tables are like and writes SQL for them; numbers.c gives new rows of THEIRS
 * numbers that are free; amounts.c looks whether something would be added up twice; rows.c joins rows
 * and writes them; virtual.c does what is not a table; report.c prints.
 *
 * A row of _merge_d<i> has of each column, by its place #: b# what BASE has, t# what THEIRS has, o#
 * what OURS has, and r#, the result, which SQLite computes of them. Errors are sticky: see cli.h.
 */
#ifndef CLI_MERGE_MERGE_H
#define CLI_MERGE_MERGE_H

#include "cli/cli.h"

/* ---- what a merge is --------------------------------------------------------------------------- */

typedef enum merge_mode { MERGE_THREE_WAY, MERGE_COPIES, MERGE_UNRELATED } merge_mode;

typedef struct merge_column {
    const char *name, *quoted;       /* in the result; quoted also as SQL takes it */
    const char *in_base, *in_theirs; /* SQL over b and t: the column, its DEFAULT, or NULL */
    int key;                         /* its place in the key, from 1 on; 0: not in it */
    bool is_typed;                   /* may hold 1 and 1.0, which IS takes for equal */
    bool adds;                       /* --add */
    int of;                          /* the table whose numbers it holds, or -1 */
    bool is_said;                    /* --ref: of is no foreign key */
    bool is_no_reference;            /* --no-ref */
    bool ours_lacks, theirs_lacks;   /* added by the other side, or dropped and kept */
    bool is_kept;                    /* dropped by THEIRS, which does not say how it changed */
} merge_column;

/* Columns of a UNIQUE index, with the collations of the index. */
typedef struct merge_unique {
    int n;
    const int *column;
    const char *const *collation;
} merge_unique;

typedef struct merge_foreign {
    int parent; /* its place among the tables */
    int n;
    const int *from, *to; /* columns of the child, of the parent */
} merge_foreign;

typedef enum merge_key { KEY_NUMBER, KEY_COLUMNS, KEY_NONE } merge_key;

typedef struct merge_table {
    int i; /* its place among the tables */
    const char *name;
    const char *main, *base, *theirs; /* SQL: what stands behind FROM; an empty row set if absent */
    bool in_base, in_theirs;
    merge_key key;
    bool has_null_keys; /* rows with a NULL in their key are counted, as those without a key */
    bool is_virtual, is_rtree;
    const char *rowid;                 /* a name of the rowid that no column has, or NULL */
    const char *base_row, *theirs_row; /* SQL: all values of a row, if it gives numbers */
    bool gives_numbers;                /* its key is a number that SQLite has given out */
    bool gives_rowids;                 /* a column of another table may hold its hidden rowids */
    bool is_autoincrement;
    bool theirs_wins; /* --theirs */
    int number;       /* the column of the key, if it is a number; else -1 */
    merge_column *column;
    int n;
    merge_unique *unique;
    int n_unique;
    merge_foreign *foreign;
    int n_foreign;
    int64_t broken; /* rows of OURS that lack a parent; -1: that cannot be checked */
    const merge_unique *unique_now; /* those that {U} and {F} tell of */
    const merge_foreign *foreign_now;
} merge_table;

/* How a declaration came from another one: alter.c. */
typedef struct merge_step {
    enum { STEP_ADD, STEP_RENAME, STEP_DROP } what;
    const char *name, *to; /* to: the new name, or the words of the column */
    const char *sql;       /* what is behind ALTER TABLE "x" */
} merge_step;

typedef struct merge_steps {
    merge_step *step;
    int n;
    bool is_known; /* false: by other ways, such as a table made anew */
} merge_steps;

typedef struct merge {
    cli *c;
    cli_file into; /* main, base and theirs */
    const cli_arguments *given;
    merge_mode mode;
    const char *base_path, *ours_path, *theirs_path; /* as the user wrote them; base may be NULL */
    const char *driven_path;                         /* what git calls OURS, or NULL */
    char **option; /* lines of the file of options, as in cli_arguments.asks */
    int n_options;
    bool base_is_fork, conflict_table;
    int64_t amounts;     /* a digest of what THEIRS has added up since BASE; 0: nothing */
    sqlite3_str *output; /* what is printed when the merge stands */
    char *folder;        /* of copies of BASE and THEIRS, or NULL */
    const char *copy,
        *target; /* what is written instead of OURS, and its place at the end, or NULL */
    struct merge_seen *seen; /* what BASE and THEIRS were like when they were opened */
    merge_table *table;
    int n;
    bool asks;   /* there is something to be said by --ref first */
    void **kept; /* owned: all texts and arrays */
    size_t n_kept;
    struct merge_finding *finding; /* owned: of a round */
    size_t n_findings;
} merge;

/* ---- words that the user gave ------------------------------------------------------------------ */

/* The value of the k-th option of a name such as "add=", or NULL. */
const char *merge_asked(const merge *m, const char *prefix, int k);

/* Whether there is one with this value. */
bool merge_asks_for(const merge *m, const char *prefix, const char *value);

/* ---- memory: merge_keep and the like hand over what is freed at the end -------------------------- */

void *merge_keep(merge *m, void *owned);                   /* NULL: out of memory */
const char *merge_text(merge *m, const char *format, ...); /* "" after an error */
void *merge_array(merge *m, size_t n, size_t size);        /* zeros; NULL after an error */
void merge_free(merge *m);

/* ---- statements -------------------------------------------------------------------------------- */

/* SQL for a table: the template with its names; see table.c. `column`: of which @ and # tell outside
 * lists, or -1. "" after an error. */
const char *merge_sql(merge *m, merge_table *t, int column, const char *template);

/* Prepares it. The caller finalizes it; NULL after an error. */
sqlite3_stmt *merge_prepare(merge *m, merge_table *t, int column, const char *template);

/* Runs it to its end. Returns the rows that it changed. */
int64_t merge_run(merge *m, merge_table *t, int column, const char *template);

/* The integer of its first row, or 0. */
int64_t merge_integer(merge *m, merge_table *t, int column, const char *template);

/* The same with an integer for its first parameter. */
int64_t merge_integer_for(merge *m, merge_table *t, int column, const char *template, int64_t of);

/* Statements without a table; the texts are bound, NULL as NULL. */
void merge_run_texts(merge *m, const char *sql, const char *const *text, int n);
sqlite3_stmt *merge_prepare_texts(merge *m, const char *sql, const char *const *text, int n);
int64_t merge_integer_of(merge *m, const char *sql);

/* Whether a schema has a table, and whether a table of it has a column, also a generated one. */
bool merge_has_table(merge *m, const char *schema, const char *name);
bool merge_has_column(merge *m, const char *schema, const char *table, const char *column);

/* The names of a rowid where no column has them. */
enum { MERGE_ROWID_NAMES = 3 };
extern const char *const MERGE_ROWID_NAME[MERGE_ROWID_NAMES];

/* ---- files.c ----------------------------------------------------------------------------------- */

/* A path as messages name it: git hands over files of its own, which users do not know. */
const char *merge_name_of(merge *m, const char *path);

/* Opens what is written, and attaches the two others; begins the transaction. Fails if a file cannot
 * be read, is in use, counts by itself, or has conflicts of a merge before. */
void merge_open(merge *m);

/* Opens a file that is only read, as theirs. */
void merge_open_text(merge *m);

/* Commits if `is_done`, and puts the result into its place; else takes everything back. */
void merge_close(merge *m, bool is_done);

/* ---- schema.c ---------------------------------------------------------------------------------- */

/* Brings the tables of main up to those of THEIRS, and takes the indexes away that THEIRS took away. */
void merge_schema_begin(merge *m);

/* Indexes, views and triggers that THEIRS made or changed; after the rows. */
void merge_schema_end(merge *m);

/* How the declaration `to` of a table came from `from`. schema: what has it, if base has `from`, else
 * NULL. */
merge_steps merge_explain(merge *m, const char *table, const char *from, const char *to,
                          const char *schema);

/* SQL for all values of a row of a table in a schema; "NULL" if it has none. */
const char *merge_row_bytes(merge *m, const char *schema, const char *table);

/* Whether a table of BASE has the same rows in a schema. */
bool merge_has_rows_of_base(merge *m, const char *schema, const char *table);

/* ---- table.c ----------------------------------------------------------------------------------- */

/* Reads the tables that are merged row by row, with their keys and references. */
void merge_tables_read(merge *m);

/* The table of a name, or NULL. */
merge_table *merge_table_find(merge *m, const char *name);

/* Its column of a name, or -1. */
int merge_column_find(const merge_table *t, const char *name);

/* Whether a column that is not declared as a reference has a name like one to a rowid. */
bool merge_is_rowid_column(const merge_column *column);

/* ---- numbers.c --------------------------------------------------------------------------------- */

/* Decides which new rows of THEIRS are rows that OURS has, gives the others numbers that are free,
 * and lets references follow. May set `asks`. */
void merge_numbers(merge *m);

/* Writes down which numbers have moved, for the next merge, and what AUTOINCREMENT has given out. */
void merge_numbers_remember(merge *m);

/* ---- amounts.c --------------------------------------------------------------------------------- */

/* Fails if what THEIRS has added since BASE is in OURS from a merge before, or OURS' in THEIRS. */
void merge_amounts_read(merge *m);

/* Fails, or tells, if both sides have changed rows alike and numbers were added up: when rows are joined. */
void merge_amounts_check(merge *m);

/* Writes down what was merged. */
void merge_amounts_remember(merge *m);

/* ---- rows.c ------------------------------------------------------------------------------------ */

/* Finds the rows in which THEIRS differs from BASE. */
void merge_rows_find(merge *m);

/* Gives new rows of THEIRS rowids that are free, and notes which have moved. */
void merge_rows_place(merge *m, merge_table *t);

/* Joins them with those of OURS and writes what is new, in rounds, until nothing is refused. */
void merge_rows_join(merge *m);

/* ---- virtual.c --------------------------------------------------------------------------------- */

/* Virtual tables that are not merged row by row: makes indexes anew, or takes over what THEIRS stores. */
void merge_virtual(merge *m);

/* Whether a virtual table stores something else in a schema than in BASE. */
bool merge_virtual_changed(merge *m, const char *name, const char *schema);

/* Whether rows of this virtual table can be read and written by number. */
bool merge_virtual_has_rows(merge *m, const char *name, const char *sql);

/* ---- report.c ---------------------------------------------------------------------------------- */

/* The functions of SQL that the statements call. */
void merge_report_functions(merge *m);

/* What was merged, conflicts, notes; true if there are conflicts. */
bool merge_report(merge *m);

/* Questions, if there are any. */
void merge_report_asks(merge *m);

/* A sentence that is printed at the end, once. */
void merge_note(merge *m, const char *format, ...);

/* What must be said before anything is merged: an option. */
void merge_question(merge *m, const char *format, ...);

/* A conflict that is not of one row. */
void merge_conflict(merge *m, const char *kind, const char *table, const char *column,
                    const char *taken, const char *note);

/* Keeps the conflicts in the file: --conflict-table. */
void merge_report_keep(merge *m);

/* ---- git.c ------------------------------------------------------------------------------------- */

/* Writes the configuration of git for the work tree of the current folder; fails outside of one. */
void merge_install_driver(cli *c, const cli_arguments *given);

/* The folder at or above `from` that has `.git`; NULL if there is none. The caller frees it. */
char *merge_top_folder(const char *from);

/* A database as lines of text, for git diff. */
void merge_print_text(merge *m);

#endif
