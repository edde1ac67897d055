/* functions/functions.h - SQL functions and table-valued functions.
 *
 *     ctr_answer    a table-valued function that makes all rows before it returns the first
 *     ctr_warnings  what the user of a file should hear of
 */
#ifndef CTR_FUNCTIONS_FUNCTIONS_H
#define CTR_FUNCTIONS_FUNCTIONS_H

#include "cluster/cluster.h"

typedef struct ctr_warnings {
    struct ctr_warning {
        const char *kind; /* static */
        char *sentence;   /* owned */
    } * items;            /* owned */
    int n;
    size_t room;
} ctr_warnings;

/* ==== registration ============================================================================ */

int ctr_aggregates_register(sqlite3 *db, ctr_conn *conn); /* counter_merge(cell), _sum, _collect */
int ctr_keys_register(sqlite3 *db, ctr_conn *conn);       /* counter_key to counter_differs */
int ctr_cells_register(sqlite3 *db, ctr_conn *conn);      /* functions of cells, _shards */
int ctr_change_register(sqlite3 *db, ctr_conn *conn);     /* counter_change, _json, _of */
int ctr_lines_register(sqlite3 *db, ctr_conn *conn);      /* counter_lines */
int ctr_take_register(sqlite3 *db, ctr_conn *conn);       /* counter_take, counter_receive */
int ctr_server_register(sqlite3 *db, ctr_conn *conn);     /* counter_request, counter_heard */
int ctr_increment_register(sqlite3 *db, ctr_conn *conn);  /* counter_inc, _dec, _id, _add */
int ctr_admin_register(sqlite3 *db, ctr_conn *conn);      /* counter_init, ..., _identity */
int ctr_exchange_register(sqlite3 *db, ctr_conn *conn);   /* counter_pull, _push, _sync */
int ctr_contents_register(sqlite3 *db, ctr_conn *conn); /* digests, floors, cells, rights, sizes */
int ctr_status_register(sqlite3 *db, ctr_conn *conn);   /* counter_cluster_status, _stats, ... */
int ctr_folder_register(sqlite3 *db, ctr_conn *conn);   /* counter_folder, counter_folders */
int ctr_track_register(sqlite3 *db, ctr_conn *conn);    /* counter_track, _replicate, _untrack */
int ctr_adoption_register(sqlite3 *db, ctr_conn *conn); /* counter_plan, counter_replicate_all */
int ctr_opening_register(sqlite3 *db, ctr_conn *conn);  /* counter_opening */
int ctr_bound_register(sqlite3 *db, ctr_conn *conn);    /* counter_bound, counter_dismiss */
int ctr_warnings_register(sqlite3 *db, ctr_conn *conn); /* counter_warnings, _reset */
int ctr_internal_register(sqlite3 *db, ctr_conn *conn); /* counter_witness, counter_statements */

/* Registers one more counter_witness, for a new schema of main. */
int ctr_internal_renew_witness(ctr_conn *conn, const char *name);

/* =================================================================================================
 * Only files of this folder use what follows.
 */

/* ==== answer.c: table-valued functions that make all rows before they return the first ======== */

/* Each of them is a description and one function that makes the rows:
 *
 *     static void fill(ctr_answer *answer, sqlite3_value **args);
 *
 * The function receives an argument or NULL for each hidden column, and appends values column by
 * column. A cursor calls it once for the same arguments, because the planner may put the table into
 * an inner loop.
 */
typedef struct ctr_answer ctr_answer;

typedef struct ctr_answer_kind {
    const char *name;
    const char *columns; /* "a TEXT, b INTEGER" */
    const char *args;    /* "x HIDDEN, y HIDDEN"; "" for none */
    const char *hidden; /* "c HIDDEN": columns that SELECT * leaves out; NULL: none. The values of a
                            row are those of `columns`, then these */
    int n_needed;       /* arguments */
    const char *usage;  /* the message if arguments are missing */
    bool works;         /* it changes something: expensive, and not for views and triggers */
    bool pure;          /* its rows depend on the arguments alone: cheap, and in all schemas;
                        row ids begin at 1 */
    void (*fill)(ctr_answer *answer, sqlite3_value **args); /* NULL: no rows */
    void (*extend)(sqlite3_module *module); /* sets more methods; NULL: there are none */
} ctr_answer_kind;

enum { CTR_ANSWER_ARGS = 4 };

struct ctr_answer {
    sqlite3_vtab_cursor base;
    ctr_conn *conn; /* borrowed */
    const ctr_answer_kind *kind;

    /* Private. */
    bool filled;
    sqlite3_value *args[CTR_ANSWER_ARGS]; /* owned; NULL: not given */
    struct answer_item *items;            /* owned; row by row */
    size_t n, room, row;
};

/* Append a copy of a value. A NULL text becomes NULL; so does an empty BLOB, but not in
 * ctr_answer_bytes. */
void ctr_answer_text(ctr_answer *answer, const char *text);
void ctr_answer_span(ctr_answer *answer, ctr_span text);
void ctr_answer_integer(ctr_answer *answer, int64_t n);
void ctr_answer_real(ctr_answer *answer, double x);
void ctr_answer_blob(ctr_answer *answer, const uint8_t *bytes, size_t size);
void ctr_answer_bytes(ctr_answer *answer, const uint8_t *bytes, size_t size);
void ctr_answer_value(ctr_answer *answer, sqlite3_value *value);
void ctr_answer_id(ctr_answer *answer, const uint8_t *id); /* as text */

/* Appends to a text of the first row, a column of TEXT, with "; " between; NULL becomes the
 * text. */
void ctr_answer_add_to_text(ctr_answer *answer, int column, const char *text);

/* Returns the schema that an argument names, or main if it is missing. Fails, with NULL, if there
 * is no such schema. */
const char *ctr_answer_schema(const ctr_answer *answer, sqlite3_value *value);

/* Returns an argument as text, or `missing` if it was not given. Fails, with NULL, if it is not
 * TEXT. */
const char *ctr_answer_arg(ctr_conn *conn, sqlite3_value *value, const char *what,
                           const char *missing);

/* Registers n functions; `kinds` are static. */
int ctr_answer_register(sqlite3 *db, ctr_conn *conn, const ctr_answer_kind *kinds, size_t n);

/* ==== adoption.c ============================================================================== */

/* Returns whether a column has the declaration and the name of a number that is counted. */
bool ctr_adoption_sounds_counted(const ctr_described *column);

/* ==== change.c ================================================================================ */

/* Appends a change as counter_change_json shows it. */
void ctr_change_append_json(sqlite3_str *out, ctr_change_view *change);

/* Fails with "the member <name> must be <wanted>, not <value>"; without a text it is missing. */
void ctr_member_refuse(ctr_conn *conn, const char *name, const char *wanted, ctr_span value);

/* ==== cells.c ================================================================================= */

/* Reads a BLOB that holds a cell, or NULL, the untouched cell. `cell` is valid as long as `value`.
 * Fails as ctr_arg_refuse does. */
bool ctr_arg_cell(sqlite3_context *ctx, const char *function, sqlite3_value *value, ctr_cell *cell);

/* Appends {"life":1,"value":5,"shards":[...]}; value null: it does not fit into 64 bits. */
void ctr_cell_append_json(sqlite3_str *out, const ctr_cell *cell);

/* Makes a built text the result, or the error of building it. */
void ctr_arg_result_built(sqlite3_context *ctx, sqlite3_str *out);

/* Makes a cell of shards in any order; of two with one id the one that a merge would keep. The
 * caller frees it with sqlite3_free; NULL: no memory. 0 bytes are the untouched counter. */
typedef struct ctr_collected_shard {
    uint8_t id[CTR_ID_SIZE];
    int64_t clock, value;
} ctr_collected_shard;
uint8_t *ctr_cell_collect(uint32_t life, ctr_collected_shard *collected, size_t n, size_t *size);

/* ==== lines.c ================================================================================= */

enum { CTR_LINES_FORMAT = 1 };

/* Appends a text as JSON. */
void ctr_lines_append_text(sqlite3_str *out, const char *text);

/* ==== sender.c ================================================================================ */

/* Who has a token, while lines are taken that came with it. Zero it; close it. */
typedef struct ctr_sender {
    ctr_conn *conn;
    const char *digest;    /* of the token; borrowed */
    char *device;          /* owned: the name of who has it */
    ctr_bringing bringing; /* what it may bring, and what of that was skipped */

    /* Private. */
    bool bound;      /* an id is bound to it */
    int64_t sources; /* how many it has brought; -1: not counted yet */
    sqlite3_stmt *is_foreign;
} ctr_sender;

/* Both fail if nobody has the token, or main has no counter tables; the caller closes the sender in
 * any case. ctr_sender_find finds the device; ctr_sender_open, within a session, makes the table of
 * sources, too, and lines may be taken. */
int ctr_sender_find(ctr_sender *from, ctr_conn *conn, const char *digest);
int ctr_sender_open(ctr_sender *from, ctr_conn *conn, const char *digest);
void ctr_sender_close(ctr_sender *from);

/* Notes that a line names its source, the checked name of a file: the first binds the token to the
 * id in it. */
void ctr_sender_names(ctr_sender *from, const char *source);

/* Returns whether an id, or the one in the name of a source, is bound to another token. */
bool ctr_sender_is_foreign(const ctr_sender *from, const uint8_t id[CTR_ID_SIZE]);
bool ctr_sender_is_foreign_source(const ctr_sender *from, const char *source);

/* ==== take.c ================================================================================== */

/* Finds members of an object of JSON by their names, a list that ends with NULL, and passes over
 * others; those that are missing have no text. Fails if one is there twice. */
void ctr_members_find(ctr_conn *conn, ctr_span object, const char *const *names, ctr_span *values);

/* Return the text of a member, in the arena, NULL on an error, and a whole number of at least
 * `least`. They fail as ctr_member_refuse does. */
const char *ctr_member_text(ctr_conn *conn, const char *name, ctr_span value);
int64_t ctr_member_number(ctr_conn *conn, const char *name, ctr_span value, int64_t least);

/* Takes lines, all of them or, after an error, none:
 *
 *     ctr_taker to = {.conn = conn, .only = source};
 *     ctr_taker_begin(&to, NULL);
 *     ctr_taker_line(&to, line);      for each
 *     ctr_taker_end(&to);             merges and commits, or rolls back
 *     ctr_taker_close(&to); */
typedef struct ctr_taker {
    ctr_conn *conn;
    const char *only;     /* borrowed: the source of all lines; NULL: any */
    sqlite3_value *scope; /* borrowed; NULL: everything is taken */
    ctr_sender *sender;   /* borrowed; NULL: whoever runs this file gives them */
    const char *by;       /* borrowed: a source whose mark is wanted; NULL: there is none */
    int64_t mine;         /* what it believes its mark to be; -1: that is not known */
    int64_t
        left_out;    /* up to where an answer may leave out what `by` has brought: set at the end */
    int64_t came;    /* changes that came */
    int64_t changes; /* changes that were merged */
    int64_t refused; /* shards of the own ids of main; set at the end */

    /* How far a source has come. Of one that is held, the mark stays, because something of it was
     * refused, or is for another device to bring. */
    struct ctr_taken {
        char *name; /* owned */
        int64_t since, upto, mark;
        bool held;
        bool follows; /* its lines begin where the mark was */
    } * sources;      /* owned: n ways, of n_names sources */
    size_t n, room, n_names;

    /* Private. */
    ctr_session session;
    char foreign[CTR_ID_TEXT_SIZE]; /* the id of a source, bound to another token; "": none is */
    int64_t overdue;                /* shards that another device should have brought a day ago */
    int64_t began;          /* where the first line begins: the mark, which such shards hold */
    int64_t yesterday;      /* the number of changes then */
    bool is_known;          /* `mine` was the mark of `by` before the lines were taken */
    ctr_apply apply;        /* owned */
    ctr_packed bytes;       /* owned: room for what hexadecimal digits say */
    int64_t refused_before; /* the figure of the connection */
    sqlite3_int64 inserted; /* the last row id of the host */
} ctr_taker;

/* `digest` is that of the token with which the lines come, or NULL. */
void ctr_taker_begin(ctr_taker *to, const char *digest);
void ctr_taker_line(ctr_taker *to, ctr_span line);
void ctr_taker_end(ctr_taker *to);
void ctr_taker_close(ctr_taker *to);

/* ==== gzip.c ================================================================================== */

#if defined(COUNTER_HAS_ZLIB)

/* A compressed file of lines in a directory, whole or not there: its last line tells how many there
 * are, and their digest (docs/batches.md). */
typedef struct ctr_gzip {
    ctr_conn *conn;
    const ctr_folder *folder; /* borrowed, as is the name */
    const char *name;
    char *line; /* owned: the line that was read */

    /* Private. */
    void *gz; /* owned: a gzFile */
    int fd;   /* owned: that it is written to */
    size_t room;
    int64_t n;                   /* lines */
    uint8_t digest[CTR_ID_SIZE]; /* of them */
    bool whole;                  /* the last line was read */
} ctr_gzip;

/* Create a file, put lines into it, and make it durable with its last line. The end is called after
 * an error, too, and leaves a file that is not whole: the caller removes it. */
void ctr_gzip_create(ctr_gzip *file, ctr_conn *conn, const ctr_folder *folder, const char *name);
void ctr_gzip_put(ctr_gzip *file, const char *line, size_t size);
void ctr_gzip_finish(ctr_gzip *file);

/* Opens a file to be read. Returns false, without an error, if it is gone. The caller closes it in
 * any case. */
bool ctr_gzip_open(ctr_gzip *file, ctr_conn *conn, const ctr_folder *folder, const char *name);

/* Reads the next line. Returns false behind the last one, and after an error: fails if the file is
 * cut short or damaged. */
bool ctr_gzip_next(ctr_gzip *file, size_t *size);
void ctr_gzip_close(ctr_gzip *file);

#endif

/* ==== folder.c ================================================================================ */

#define CTR_FOLDERS_RIGHT "sqlite-counter folders" /* the type of the pointer that gives it */

/* Returns whether the peer of a counter_sync is a directory, which is not an attached database. */
bool ctr_folder_is_peer(ctr_conn *conn, const char *peer);

/* Gives a directory what main has counted, or takes what is new there, or both; of a scope unless
 * that is NULL. Appends a row for each device. */
void ctr_folder_exchange(ctr_answer *answer, const char *directory, bool takes, bool gives,
                         sqlite3_value *scope);

/* Appends a row for each device that has written into a directory, and for each path that is none
 * of theirs. */
void ctr_folder_tell(ctr_answer *answer, const char *directory);

/* ==== tracking.c ============================================================================== */

/* Within a session: does what counter_replicate does for a table of a schema, with counters, one
 * option, and what becomes of rows that are missing, "deleted" or "restored"; each may be NULL. */
void ctr_track_replicate(ctr_conn *conn, const char *schema, const char *table,
                         const char *const *counters, int n, const char *option,
                         const char *missing);

/* ==== exchange.c ============================================================================== */

/* Returns the name of what main has to give, of a scope unless that is NULL; NULL: it has no
 * identity, or an error. The caller frees it with sqlite3_free. */
char *ctr_exchange_source(ctr_conn *conn, bool own, sqlite3_value *scope);

/* Fails unless main has counter tables. */
bool ctr_exchange_check_tables(ctr_conn *conn);

/* Fails if this connection must not write what is at a path: a file, or a directory. */
void ctr_exchange_check_may_write(ctr_conn *conn, const char *path, bool is_file);

#if defined(COUNTER_HAS_ZLIB)
/* Returns the mark of a source, the checked name of a file, of a scope unless that is NULL. */
int64_t ctr_exchange_mark(ctr_conn *conn, const char *name, sqlite3_value *scope);
#endif

/* Within a session that has locked main: tries rows that are apart again; raises the mark of a
 * source, the checked name of a file, of a scope unless that is NULL, from `since` to `upto`, and
 * returns it. */
void ctr_exchange_show_apart(ctr_conn *conn);
int64_t ctr_exchange_raise(ctr_conn *conn, const char *name, sqlite3_value *scope, int64_t since,
                           int64_t upto);

/* ==== status.c ================================================================================ */

void ctr_warnings_close(ctr_warnings *list);

/* Returns what to say of columns of a replicated table that do not travel, and that the next call
 * of counter_replicate would take: "column weight does not travel yet"; NULL: there is none. */
const char *ctr_warnings_of_columns(const ctr_tracked *tracked, ctr_tab *tab);

/* Adds the warnings about the columns of a replicated table and, if wanted, its foreign keys;
 * `counters` is its counter table, and may be that of any table. */
void ctr_warnings_of_table(ctr_warnings *list, ctr_file *file, const char *counters,
                           bool foreign_keys);

/* Adds that a table was passed over (merge/merge.h), and why, unless the list says so already. */
void ctr_warnings_of_passed(ctr_conn *conn, ctr_warnings *list, const char *why);

/* Adds those about what a merge has brought into `table`, a counter table or a replicated one. */
void ctr_warnings_of_merge(ctr_warnings *list, ctr_file *file, const char *table,
                           const ctr_brought *brought);

#endif
