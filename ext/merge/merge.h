/* merge/merge.h - another file, a batch of changes: what they bring into this one, what goes out.
 *
 *     ctr_source        a snapshot of the file that a pull reads
 *     ctr_pull          merges all tables of a source
 *     ctr_merge         rows of another file on their way into a table
 *     ctr_conflicts     what a merge finds that proves a faulty identity
 *     ctr_kinds         the kinds of the columns of a table, in one of two files
 *     ctr_feed          the changes of a file as rows; ctr_apply: such rows on their way in
 *     ctr_scope         the rows that a feed is limited to
 *     ctr_marks_source  the source of a feed, as its marks name it
 *     ctr_digest        equal for equal contents of two tables
 */
#ifndef CTR_MERGE_MERGE_H
#define CTR_MERGE_MERGE_H

#include <stdbool.h>
#include <stdint.h>

#include "tracked/tracked.h"

/* The source of a pull: a snapshot of its committed content.
 *
 * We read it through a read-only connection of its own, and so never publish pending content of the
 * host's connection. Under WAL a transaction over several files commits file by file, and a crash
 * in between would make a file reuse clocks that another has seen.
 *
 * Some content is visible to no other connection: a memory or temp database, a file that needs a
 * key or a private VFS, or that is locked exclusively. We read it through the host's connection;
 * such a file only while it has nothing pending, except rows that a sync has just taken and that go
 * back to their origin.
 *
 * A source is untrusted. We read only ordinary tables of the expected shape, and never run its
 * views, triggers and functions. */

/* The newest numbers of a table. */
typedef struct ctr_newest {
    int64_t last, floors, answers; /* the last numbers of its rows, of its floors, and of answers
                                    * about openings; 0: it has none */
    bool has_columns;              /* it has generations of counters */
} ctr_newest;

typedef struct ctr_source {
    sqlite3 *db; /* its own, or the host's */
    bool own;
    ctr_conn *conn;             /* of `db`; owned if it is its own */
    ctr_file *file;             /* lent; NULL: it could not be opened */
    const char *schema;         /* of the file */
    const char *path;           /* the path that opened it, borrowed; or NULL */
    const char *called;         /* its name in messages, borrowed; set by the owner */
    const ctr_objects *objects; /* of the snapshot, lent by the file */
    ctr_catalog catalog;        /* after ctr_source_read */
    ctr_newest *newest;         /* owned; of the tables in the catalog, after ctr_source_read */
} ctr_source;

/* Makes content that a peer has seen outlive a power cut.
 *
 * A power cut may undo the last commits under WAL with synchronous=NORMAL. With a rollback journal
 * it may undo the end of a commit, the deletion or truncation of the journal. So the source is made
 * durable after its snapshot begins and before the taking file commits. */

/* The order of commits in a transaction over several databases. EARLY: under WAL or without any
 * journal. LATE: with a rollback journal on disk or in memory, or if it is no file; SQLite can roll
 * it back until all early ones have committed. */
typedef enum ctr_commit { CTR_COMMIT_EARLY, CTR_COMMIT_LATE } ctr_commit;

/* A file's progress in reading others: the marks in its counter_peers.
 *
 * A mark is the sequence number in the identity row of the source in the snapshot that was read;
 * everything with a lower number is here. A mark holds for one id of the source, one token of its
 * table and one token of the table here. If one of them differs, a pull reads everything.
 *
 * The change feed has its own marks, one for all tables. Instead of a token they hold for the twist
 * of the source; of its own changes or of a scope, for what follows the id in its name, as TEXT. */

/* A source of a feed has a name:
 *
 *     7529cd67-394b-3247-8020-f2a7272fc8d9                 the id of the file
 *     7529cd67-.../00000000000000f3                        and its twist, unless that is 0
 *     7529cd67-... own                                     its own changes alone
 *     7529cd67-... ["store 7"], 7529cd67-... own [1,2]     a scope (merge/feed.c)
 *
 * Each of them has its own mark, so that a mark never covers what was not read. What a file gave to
 * a directory of its own, and knows to be there, has a mark for that directory.
 */
typedef struct ctr_marks_source {
    uint8_t id[CTR_ID_SIZE];
    int64_t twist;
    bool own;
    const char *scope; /* borrowed, as ctr_scope has it; NULL: everything */
    const char *place; /* borrowed: the one directory that the mark is about; NULL: any */
} ctr_marks_source;

/* Which side is main. */
typedef enum ctr_side { CTR_MAIN_TAKES, CTR_MAIN_GIVES } ctr_side;

/* What merges have brought into a table that its user should hear of.
 *
 * A pull keeps it in its report; for all merges into main the connection keeps it, until
 * counter_warnings_reset(). functions/status.c makes sentences of it. */

typedef struct ctr_brought {
    int64_t deleted;   /* rows that lived before */
    int64_t replaced;  /* rows whose number another row had first */
    int64_t met;       /* rows that are one with a row of main which was inserted apart */
    int64_t conflicts; /* rows of counter_conflicts */
    int64_t left_out;  /* values that are too large for lines: the most that one reader left out */
    ctr_stamp ahead;   /* the highest one more than a day ahead of this machine; number 0: none */
} ctr_brought;

/* A table that a pull has passed over (ctr_kinds). */
typedef struct ctr_passed {
    char *birth, *peer; /* owned: of the table, and the other file as the call named it */
    ctr_side side;      /* of main */
    char *why;          /* owned: the sentence */
} ctr_passed;

/* What merges have brought, by table, and what they have passed over. Zero it; close it. */
typedef struct ctr_brought_list {
    struct ctr_brought_table {
        char *birth; /* owned */
        ctr_brought brought;
        ctr_brought open; /* in the transaction of the connection that is open */
    } * tables;           /* owned: n, in the order in which they came */
    size_t n, room;
    ctr_passed *passed; /* owned: n_passed, one for each table, file and direction */
    size_t n_passed, room_passed;
} ctr_brought_list;

/* Shards in a merge that prove a faulty identity, and their record.
 *
 *     own        a shard under my current id that is ahead of mine: I forgot it, or a twin wrote it
 *
 *     source     the same under the id of the source, whose witness went back since its last pull
 *
 *     values     one clock with two values, under any id: two files have written it
 *
 *     device D   a shard under an id that I count or have counted under, ahead of mine, in a change
 *                that came with the token of the device D; or an opening that I know, which never
 *                counts again (table/table.h), unless it makes way for a greater one
 *
 * Under a replaced name, lower clocks belong to the file that had the name before, and prove
 * nothing; clocks of a higher epoch belong to a successor.
 *
 * The merge follows its rule all the same, but for the last: who has a token would set what this
 * file itself has counted. That shard is left out, and whoever runs this file may merge it. Each
 * conflict is one row in counter_conflicts of the taking file; its user may read and clear them.
 * counter_sources has the last witness of each source. */

typedef struct ctr_conflicts {
    ctr_file *file;              /* the taking one; borrowed */
    uint8_t mine[CTR_ID_SIZE];   /* its current id */
    int64_t least, beyond;       /* clocks under that id that prove something: [least, beyond) */
    uint8_t theirs[CTR_ID_SIZE]; /* the source's */
    bool went_back;              /* the witness of the source went back */
    bool own;                    /* found: a shard under my id that is ahead of mine */
    bool replaced;               /* found: a shard that a successor of mine wrote */
} ctr_conflicts;

/* Merges rows of another file into a counter table, from a pull or a feed.
 *
 *     ctr_merge_find(merge, keys)                  false: the row is below a floor
 *     ctr_merge_row(merge, &row, map, giver)       of a replicated table: its row cell
 *     ctr_merge_cell(merge, counter, &cell)        for each cell of the row
 *     ctr_merge_write(merge)                       one write; true if the row changed
 *
 * Where the row cell stays as it is, ctr_merge_counters stands in place of ctr_merge_row.
 *
 * Conflicts between cells go to counter_conflicts first (merge/merge.c). */

/* Rows of a tracked table that would show the sum of two openings without an answer. */
typedef struct ctr_unanswered {
    int64_t rows;
    char *key; /* owned; of the first row, as a message shows it */
    uint8_t ids[2][CTR_ID_SIZE];
    int64_t values[2];
    bool is_here[2]; /* it was in the cell before the merge */
} ctr_unanswered;

/* Rows that two files began to replicate apart, and that differ (merge/merge.c). */
typedef struct ctr_drift {
    int64_t rows;
    char *key, *column; /* owned; of the first row, as a message shows it */
    char *values[2];    /* owned: mine and the other one */
} ctr_drift;

typedef struct ctr_merge {
    ctr_conn *conn;
    ctr_catalog_entry entry; /* owned; the table by its names */
    ctr_shape shape;
    ctr_row row;
    ctr_floors floors;
    ctr_conflicts *conflicts; /* borrowed */
    sqlite3_value **keys;     /* of the row found last; borrowed */
    bool within, deferred;    /* in an UPDATE, which cannot record conflicts; one was found */
    ctr_stats stats;          /* before the UPDATE */
    ctr_brought brought;      /* by all rows that were written */
    int64_t tomorrow;         /* as of the opening of the merge (merge/merge.c) */
    ctr_stamp newest;         /* of the row at hand in the other file; number 0: none is taken */
    bool ends;                /* the merge ends a life of the row at hand */

    ctr_openings openings;     /* lent by ctr_merge_openings */
    unsigned openings_read_at; /* the number of answers recorded by then, plus 1; 0: not read */
    int64_t number;            /* that of the answers which came last */
    ctr_packed reduced;        /* room for a cell */
    ctr_unanswered unanswered; /* until answers_refuse_missing */
    bool row_unanswered;       /* the row at hand is one of them */

    /* Of a replicated table. */
    int64_t giver;   /* the id of the row at hand among the cells of the source; 0: no values are
                      * read from the source */
    ctr_drift drift; /* until ctr_drift_refuse */
    ctr_row_values mine; /* private: reads my values; not open unless it has a tab */
    ctr_spread spread;   /* where the table takes its numbers */

    /* Of a tracked table. */
    bool tracked;
    ctr_showing showing;
    ctr_later *later; /* borrowed; notes rows to show later; NULL: show at once */
} ctr_merge;

/* The kinds of the columns of a table in one of two files that merge.
 *
 * Files disagree on them during a migration: a column counts in one file alone, or one file alone
 * replicates the table. A pull passes over such a table and names the call that makes the files
 * agree; all others are merged. The mark of the table stays, and so the pull behind that call
 * brings everything. */
typedef struct ctr_kinds {
    const char *called;     /* the file, in messages; borrowed as all others */
    const ctr_shape *shape; /* of its counters */
    ctr_tab *tab;
    const ctr_tracked *tracked; /* NULL: a counter table */
} ctr_kinds;

/* Merges all counter tables of one file into another.
 *
 * Tables belong together by the name they were created with, and must agree in their columns
 * (table/shape.c). A table that only the source has is created.
 *
 * A later pull of a table reads only the rows that the source has changed since (merge/marks.c). */

/* How a pull works; 0: it reads only changes, and creates only tables that the source does not
 * track. */
enum {
    CTR_PULL_WHOLE = 1,   /* reads everything, whatever the marks */
    CTR_PULL_CREATES = 2, /* a table that the source tracks becomes a counter table */
    CTR_PULL_PART = 4     /* one part, if the target has nothing yet (merge/pull.c) */
};

/* The rows of tables with a bounded counter that two files which sync have read of each other. By
 * side: main has CTR_MAIN_TAKES, the other file CTR_MAIN_GIVES. Zero it; close it. */
typedef struct ctr_levelling {
    struct ctr_levelled {
        char *birth;          /* owned: of the table */
        sqlite3_value **keys; /* owned: n_keys */
        int n_keys;
        int64_t rowid;   /* in main, once it was looked up */
        bool granted[2]; /* this side was granted some by the other, and hears of it by this sync */
        bool due[2];     /* this side should grant some; set by ctr_levelling_look */
    } * rows;            /* owned: n */
    size_t n, room;
} ctr_levelling;

/* The work done, by table; sums if several pulls share a report. */
typedef struct ctr_report {
    struct ctr_report_row {
        char *birth, *name; /* owned: the name it was created with, and the one it has in main */
        char *counters[2];  /* owned: the counter table in main and in the peer; or NULL */
        struct ctr_report_done {
            int64_t read, changed, conflicts;
        } done[2];              /* numbers of rows, by the side that took */
        bool created, in_empty; /* the pull created the table; the taking file was empty */
        ctr_side created_by;
        struct ctr_report_apart {
            int64_t wait, differ;
        } apart[2];      /* rows of the tracked table, by the side that took */
        char *passed[2]; /* owned: by that side, why the table was passed over; or NULL */
        ctr_brought brought[2];
    } * rows;
    int n;
    size_t room;
    bool more;             /* the pull was only a part */
    ctr_levelling *levels; /* set by the caller, borrowed: gets the rows; NULL: nobody asks */
} ctr_report;

/* After this time a part of a pull has merged enough rows. To show them takes up to five times as
 * long; in all no other writer is to wait for more than a quarter of a second. */
#ifndef CTR_PULL_MILLISECONDS
#define CTR_PULL_MILLISECONDS 25
#endif

/* How far a table of a source was read in parts: below the row id `from`. What is there since
 * `end`, its end when the first part was read, is read again once all are. */
typedef struct ctr_progress {
    int64_t end; /* 0: it is not read in parts, or has to be read anew */
    int64_t from;
    bool was_begun;
} ctr_progress;

/* A merge into a table. If it is a tracked one, the merge stays open until all tables are merged,
 * for then its rows are shown. */
typedef struct ctr_pull_merge {
    ctr_merge to;
    ctr_later later; /* the rows to show */
    struct ctr_pull_merge *next;
} ctr_pull_merge;

typedef struct ctr_pull {
    /* Set by the caller. */
    const ctr_source *source;
    const ctr_identity *giver; /* of the source; NULL: nothing is merged */
    ctr_file *file;            /* the target */
    const char *called;        /* its name in messages */
    int how;
    ctr_side side;
    ctr_report *report;

    /* The state that its tables share. */
    ctr_objects *mine; /* the objects of the target; borrowed from its ctr_file */
    ctr_catalog here;  /* owned: its tables */
    int *order;        /* owned: their numbers, parents before children, once all are merged */
    ctr_conflicts conflicts;
    ctr_identity taker; /* the target's, before the pull */
    bool checked;       /* the target's identity, in this transaction */
    bool durable;       /* the source has been synced */
    bool marked;        /* the first mark for a table was written */
    bool asked;         /* for a larger cache of the target */
    bool in_empty;      /* the target was empty before the pull */
    bool deletions;     /* rows of replicated tables that have ended are deleted now */
    bool renumbered;    /* rows were inserted again under another number */
    bool passed;        /* some table was passed over */
    int64_t began;      /* milliseconds */
    bool in_parts;      /* the target had nothing when the first part was read */
    bool were_parts;    /* counter_peers says how far tables were read */
    ctr_pull_merge *first,
        **last; /* owned: those of tracked tables, in order; where the next goes */
} ctr_pull;

/* Equal digests for equal contents, whatever the order of the rows.
 *
 * A row hashes its folded key (table/table.h), then name and cell of each touched counter, in the
 * order of the names; SHA-1 as in counter_digest, 122 bits. The hashes are added up modulo 2^128. A
 * last hash covers the sum, the number of rows, the floors, and the generations of counters other
 * than 1, in the order of the names. Deleted rows are rows.
 *
 * A digest detects accidental differences, but not rows that an attacker makes up.
 *
 * A table can be digested in parts, so that two files find their differences with a few hundred
 * bytes. A hash of its folded key puts a row into its bucket: the same one in each file. */

enum { CTR_BUCKETS_MAX = 65536 };

/* One of `of` parts of a table; `of` 0: all of it. */
typedef struct ctr_bucket {
    int64_t number, of;
} ctr_bucket;

typedef struct ctr_digest {
    uint64_t high, low;
    int64_t rows;
} ctr_digest;

/* The scope of a feed: the rows whose leading key columns have given values.
 *
 *     '["store 7"]', counter_key('store 7')      store = 'store 7', whatever follows in the key
 *
 * SQLite compares a value with a column, by its affinity and collation. A table whose key has fewer
 * columns has no row of the scope. */

typedef struct ctr_scope {
    int n;                  /* values; 0: no scope, everything */
    sqlite3_value **values; /* owned */
    char *text;             /* owned: as JSON, one for all spellings of the values; NULL: none */
    ctr_packed key, folded; /* owned; of the table that was entered: ctr_scope_enter */
} ctr_scope;

/* Rows of replicated tables in a feed and in a digest. */
typedef struct ctr_row_giver {
    ctr_row_values values;
    ctr_row_cell cell; /* of the row read last; owned columns */
    int room;          /* for columns of `cell` */
    int *order;        /* owned: the regular columns that are given, by number, in order of names */
    int n;
    ctr_packed value;   /* owned: room for a value */
    ctr_packed regular; /* owned: the row as a change without counters */
} ctr_row_giver;

/* A row of a table that has come: its state by my columns, and its values in their order; the next
 * one takes its place. Zero it; close it with the table. */
typedef struct ctr_taken_row {
    ctr_row_cell cell;     /* owned columns */
    int *map;              /* owned: each of my columns is that of the same number; -1: not given */
    int *places;           /* owned: for each of my columns its place among the values, or -1 */
    sqlite3_value **given; /* owned: for each of my columns its value, or NULL */
    int64_t *too_large;    /* owned: for each of my columns the bytes of a value that is not told */
    bool any_too_large;
    ctr_packed packed;    /* owned: the values */
    sqlite3_stmt *values; /* owned: a row of the n_values of them */
    int n_values;
    sqlite3_value **shown; /* owned: by regular column of the table: those to be shown */
    int room;              /* for so many of my columns */
} ctr_taken_row;

/* Gives the changes of main, for any transport to carry.
 *
 *     table      the name the table was created with
 *     key        packed (core/core.h); that of floors has a value for each key column with a floor,
 *                and nothing for the others; empty if the change is of the table
 *     change     as bytes (core/core.h)
 *     number     the sequence number of the change
 *     key_text   the key columns in words, so that the taker can compare them with its own
 *
 * Of each table first its floors, counters that came or went, and answers about openings
 * (table/table.h), whatever the bucket; then one change for each row.
 *
 * Its own changes alone are those that others cannot have from somebody else: of a row that was
 * changed here the shards of its own ids, present and former, and openings; all of a row that was
 * pulled, for a file uploads for those that it pulls; nothing of a row that came with a feed. Lives
 * and row cells have no owner and go whole.
 *
 * A partial feed tells of a row only the parts that have changed (core/core.h): of each counter the
 * shards of some writers, and regular columns only if one was written. Who has everything below
 * `since` needs no more. A row goes whole if it is new, a life of it rose, or one of its counters
 * got its first shards; if older changes were listed no longer by writer; and if `since` is 0. The
 * number of such a row is that of the oldest change of its parts: a mark that lies between two of
 * them must not leave the older one behind.
 *
 * Of the values of a row, in the order of their names, a partial feed tells as many as have
 * CTR_LINE_VALUES_MOST bytes together: what carries lines bounds them. Of each that goes beyond, it
 * tells that it is too large. The taker lists it, and does not take its stamp into the row: a pull
 * brings the value.
 *
 * A source that asks need not be told what it has brought itself. It says which mark main has of
 * it, and if that is so, what came by lines of it up to that mark is left out; if `since` is 0,
 * nothing is. A file that was restored since, or a twin of it, believes in another mark.
 *
 * In a scope are rows whose leading key columns have given values, found by the index of the key;
 * counters that were added or dropped, answers and floors come with each scope.
 *
 * The feed has committed content only: it reads main like the source of a push, and syncs it to
 * disk before the first row. If main is no file, it is read through the connection of the host.
 * Then later rows include counts made since the start, and reading fails while there are
 * uncommitted counts. */

#ifndef CTR_LINE_VALUES_MOST
#define CTR_LINE_VALUES_MOST (4 << 20)
#endif

/* What is asked for. */
typedef struct ctr_feed_query {
    int64_t since;
    ctr_bucket bucket;
    bool own;             /* only its own changes */
    bool partial;         /* of a row only the parts that have changed, unless `since` is 0 */
    const char *of;       /* the source that asks; NULL: unknown. Borrowed by ctr_feed_open */
    int64_t mine;         /* the mark that it says main has of it */
    sqlite3_value *scope; /* merge/feed.c; NULL: everything. Borrowed by ctr_feed_open */
} ctr_feed_query;

typedef struct ctr_feed {
    /* The current row; lent until the next one. */
    bool eof;
    const char *table;
    int64_t number;
    ctr_packed key, change; /* owned */
    char *key_text;         /* of the table: ctr_shape_key_text */

    /* As of the snapshot. */
    ctr_identity giver;
    char *name; /* owned: that of the source in marks */

    /* Private: the query, and the current table. */
    ctr_feed_query query;
    ctr_scope scope; /* owned: query.scope */
    ctr_source source;
    int entry;
    sqlite3_stmt *came, *answers; /* owned: counters that came or went; answers */
    ctr_shape shape;
    ctr_row row;
    sqlite3_value **keys;
    ctr_walk walk;
    uint8_t *ids; /* owned: n_ids of its own */
    size_t n_ids, room_ids;
    ctr_conn *asks;   /* borrowed; the source may be read through a connection of its own */
    int64_t left_out; /* values of the table that were too large */
    ctr_cell cell;    /* of the counter at hand */
    ctr_packed few;   /* owned: room for a cell with some of its shards */
    ctr_fed except;   /* what the source that asks has brought; upto 0: nothing */
    bool parts;       /* only the parts of the row at hand that have changed are told */
    bool whole;       /* all of the row at hand is told */
    bool own;         /* of its shards only own ones and openings */
    bool columns;     /* its regular columns are told */
    ctr_packed told;  /* owned: room for the columns of a row */
    struct ctr_told_place {
        const char *name; /* borrowed, while they are sorted */
        int counter;      /* or -1 */
        int regular;      /* its number */
    } * places;           /* owned: the n_places columns that a row tells, in order of names */
    int n_places;
    ctr_row_giver row_giver; /* of a replicated table */
} ctr_feed;

/* Merges the changes of a feed (merge/feed.c) into main, one at a time, in any order.
 *
 * Each row passes the checks of a pull: main must have the table, the column and the kinds of the
 * key's values, and the cell must be well-formed. A table stays open between two rows, because rows
 * of one table usually follow each other; it is opened again if its entry in counter_tables or any
 * schema has changed. */

/* A change that has come. */
/* What may come with a token. */
typedef struct ctr_bringing {
    ctr_own_filter may;
    int64_t skipped;            /* shards that may not; ctr_apply_change adds to both */
    int64_t missing;            /* those of them that this file does not have */
    uint8_t first[CTR_ID_SIZE]; /* the id of the first of these */
} ctr_bringing;

typedef struct ctr_change {
    const char *table;  /* the name the table was created with */
    const uint8_t *key; /* packed, unchecked; empty if the change is of the table */
    size_t key_size;
    const uint8_t *bytes; /* unchecked */
    size_t size;
    ctr_change_view told; /* what `bytes` say: set by ctr_apply_change; checked, except an answer */
    const char *key_text; /* the key columns at the source; NULL: not given */
    ctr_fed fed;          /* what brought it; upto 0: unknown */
    sqlite3_value *scope; /* a row outside of it is passed over (merge/feed.c); NULL: none is */
    bool passed_over;     /* set by ctr_apply_change */
    const char *device;   /* it came with its token: shards of the own ids of main are left out, as
                             in merge/merge.c; NULL: whoever runs this file gives it */
    ctr_bringing *bringing; /* borrowed; of that token */
} ctr_change;

/* ==== source.c ================================================================================ */

/* Returns when a commit of the schema can be undone no more. */
ctr_commit ctr_durable_commit(ctr_conn *conn, const char *schema);

/* Opens `schema`, attached to the host. The caller closes the source, also after a failure. */
int ctr_source_open(ctr_source *source, ctr_conn *host, const char *schema);

/* Opens a file by its path, which is borrowed; ctr_source_hold fails if it is no database. The
 * caller refuses the file of main (ctr_source_is_file_of). */
int ctr_source_open_path(ctr_source *source, ctr_conn *host, const char *path);

/* Reads the objects, the tables, and the identity of the source, with the next number, for the
 * marks. Fails if one of our tables is no ordinary table, or has generated columns, because reading
 * them runs a stranger's expressions. The caller calls this before it reads anything else of the
 * source, and before the transaction writes anything, because marks must describe committed
 * content. */
int ctr_source_read(ctr_source *source, ctr_identity *giver);

/* Begins the snapshot. The caller first locks the files that it will write: with a rollback journal
 * no other connection could commit to this file while the caller waits for those locks. */
int ctr_source_hold(ctr_source *source);

/* Opens a writing connection to an existing database file by its path. It enforces foreign keys,
 * and trusts the schema, if `host` does. The caller closes it, also after a failure. */
int ctr_source_open_to_write(sqlite3 **db, ctr_conn *host, const char *path);

/* Appends the pending batches of a source that is read through the host's connection. Fails if it
 * has uncommitted counts, because a file that takes them may commit although this one is rolled
 * back. */
int ctr_source_append(const ctr_source *source);

/* Fails if the authorizer of the host does not let it ATTACH a path. */
void ctr_source_check_allowed(ctr_conn *conn, const char *path);

/* Returns whether two attached schemas are one file. */
bool ctr_source_same_file(sqlite3 *host, const char *schema, const char *other);

/* Returns whether `db`, a connection of its own, has the file of main. `db` may be NULL. */
bool ctr_source_is_file_of(sqlite3 *db, sqlite3 *host);

/* Ends the snapshot; a second call does nothing. The caller calls this before it writes and commits
 * to the same file, which would wait for the snapshot. */
void ctr_source_close(ctr_source *source);

/* Syncs the files of the snapshot: the WAL; or the file, its journal and its folder. Does nothing
 * for a memory database. */
void ctr_durable_source(const ctr_source *source);

/* Returns whether the schema has a rollback journal on disk that SQLite syncs. */
bool ctr_durable_has_journal(ctr_conn *conn, const char *schema);

/* Fails, naming the pragma, if a power cut could undo the commit of the schema in this transaction.
 * `as_one`: it commits together with other files, which SQLite makes durable. */
void ctr_durable_check_leader(ctr_conn *conn, const char *schema, bool as_one);

/* ==== marks.c ================================================================================= */

/* ---- the feed -------------------------------------------------------------------------------- */

/* Returns the name of a source. The caller frees it with sqlite3_free; NULL without memory. */
char *ctr_marks_name(const ctr_marks_source *source);

/* Reads a name; source->scope is the part of the text that spells the scope. */
bool ctr_marks_source_of(const char *name, size_t size, ctr_marks_source *source);

/* Returns the origin of a change that came with this source; `upto` becomes 0 if that has a
 * scope. */
ctr_fed ctr_marks_fed(const ctr_marks_source *source, int64_t upto);

/* Returns the mark of a feed in main, the least over all tables; 0 if there is none. A mark of
 * everything holds for own changes and for each scope, too, but not for a place. */
int64_t ctr_marks_of_feed(ctr_conn *conn, const ctr_marks_source *source);

/* Returns the highest mark of a feed in main that any table has or had. */
#if defined(COUNTER_HAS_ZLIB)
int64_t ctr_marks_highest(ctr_conn *conn, const ctr_marks_source *source);
#endif

/* Raises the mark of a feed to `upto`, unless it is below `since` or there already. Returns the
 * mark. */
int64_t ctr_marks_raise(ctr_conn *conn, const ctr_marks_source *source, int64_t since,
                        int64_t upto);

/* ==== merge.c ================================================================================= */

/* Adds to the table that was born with this name. The list of the connection forgets what is added
 * in a transaction if that is rolled back. */
void ctr_brought_list_add(ctr_conn *conn, ctr_brought_list *list, const char *birth,
                          const ctr_brought *more);
void ctr_brought_list_close(ctr_brought_list *list);

/* Notes whether the last merge of the table of `row` with the file `peer` has passed over it, with
 * main on this side. */
void ctr_brought_list_pass(ctr_conn *conn, ctr_brought_list *list, const struct ctr_report_row *row,
                           const char *peer, ctr_side side);

/* Returns the list of the connection, NULL without memory. The connection frees it. */
ctr_brought_list *ctr_brought_of(ctr_conn *conn);

/* Sets the identity of the taking file. */
void ctr_conflicts_set_mine(ctr_conflicts *conflicts, const ctr_identity *mine);

/* Acts on the conflicts found: the taking file takes another id, or stops counting. */
void ctr_conflicts_change_identity(ctr_conflicts *conflicts, ctr_file *file);

/* Open the table with the birth name `birth`, or `entry`; refuse triggers on it. Return false,
 * without an error, if there is none. The caller closes the merge, also after a failure, and does
 * not move it while it is open. */
bool ctr_merge_open(ctr_merge *merge, ctr_file *file, const char *birth, ctr_conflicts *conflicts);
bool ctr_merge_open_table(ctr_merge *merge, ctr_file *file, const ctr_catalog_entry *entry,
                          ctr_conflicts *conflicts);
void ctr_merge_close(ctr_merge *merge);

bool ctr_merge_find(ctr_merge *merge, sqlite3_value **keys);
int ctr_merge_cell(ctr_merge *merge, int counter, const ctr_cell *theirs);
bool ctr_merge_write(ctr_merge *merge);

/* Returns the answers about openings of the table, lent; NULL on error. They are read when they are
 * first needed, and again when this connection has recorded others. */
ctr_openings *ctr_merge_openings(ctr_merge *merge);

/* Answers about openings, in a merge: whether the values that two files had when they began to
 * track a table are one, or add up (table/table.h). */

/* Takes n answers about openings, of CTR_ANSWER_SIZE bytes each, which were checked: records those
 * that are new, and reduces all rows by them (table/openings.c). Returns the number of rows that
 * changed. Call it before rows are merged. */
int64_t ctr_answers_take(ctr_merge *merge, const uint8_t *answers, size_t n);

/* Says of each opening that this file made who holds its rights (table/rights.c), when a counter of
 * the table gets a bound, or the opening is made. */
void ctr_answers_declare_holders(ctr_merge *merge);

/* The same for a table by its present name, within a session. */
void ctr_answers_declare_in(ctr_file *file, const char *table);

/* ==== renumber.c ============================================================================== */

/* Whose row it is that was born under an id. */
typedef enum ctr_birthplace {
    CTR_BORN_ELSEWHERE, /* another file's */
    CTR_BORN_BEFORE,    /* this one's, before it was copied, moved or restored: perhaps another's */
    CTR_BORN_HERE       /* this file's, which alone goes on from the id */
} ctr_birthplace;

/* Returns it in a file with the id `mine`. A merge that finds that another file counts under the
 * present one takes a new id before it lists anything. */
ctr_birthplace ctr_renumber_birthplace(ctr_tab *tab, const uint8_t mine[CTR_ID_SIZE],
                                       const uint8_t id[CTR_ID_SIZE]);

/* Lists the row at hand, whose number another row had first, before that takes its place. */
void ctr_renumber_list(ctr_merge *merge);

/* Leaves those that are listed and not yet inserted again: this file has another id, because
 * another one counts under the former, and has the same rows. */
void ctr_renumber_leave(ctr_file *file);

/* Inserts again the rows that this file had inserted and that are listed. When a merge is done, and
 * deletions were shown, it also takes those off the table that still stand under their numbers.
 * Returns whether there were any: then a row that they kept from being shown may be. */
bool ctr_renumber_insert(ctr_file *file, bool takes_off);

/* ==== pull.c ================================================================================== */

void ctr_pull_report_close(ctr_report *report);

/* Merges the changes in the source, as `how` says, into the target. Checks the identity of the
 * target first, and makes the source durable if it takes anything. The caller makes the pull all or
 * nothing, and has appended the batches of the source. */
void ctr_pull_all(ctr_pull *pull);

/* Tries again to show the rows of tracked tables that are apart, as a pull does. Rows of a feed
 * come one by one, and a table may refuse one until another is there. */
void ctr_pull_show_apart(ctr_file *file);

/* ==== levelling.c ============================================================================= */

/* Adds a row of n keys. */
void ctr_levelling_add(ctr_levelling *levels, ctr_conn *conn, const char *birth,
                       sqlite3_value **keys, int n);
void ctr_levelling_close(ctr_levelling *levels);

/* A counter of a row before it is merged, in the file that takes, and the one that is merged, with
 * the ids of the files that give and take. */
typedef struct ctr_levelling_cells {
    const ctr_cell *mine, *theirs; /* borrowed */
    const uint8_t *from, *to;      /* borrowed */
} ctr_levelling_cells;

/* Notes whether the row added last brings a grant to the file that takes it, on this side. */
void ctr_levelling_note(ctr_levelling *levels, ctr_side side, const ctr_levelling_cells *cells);

/* Looks in main which of two ids should grant to the other, and makes one row of those that are
 * one. Returns whether any should. */
bool ctr_levelling_look(ctr_levelling *levels, ctr_file *file, const uint8_t mine[CTR_ID_SIZE],
                        const uint8_t theirs[CTR_ID_SIZE]);

/* Grants to an id what levels the rows that are due, within a transaction that the file of this
 * side writes. Passes over those that wait there, for the other side, too. Returns how many grants
 * there are. */
int64_t ctr_levelling_grant(ctr_levelling *levels, ctr_file *file, ctr_side side,
                            const uint8_t to[CTR_ID_SIZE]);

/* ==== digest.c ================================================================================ */

/* Adds up the rows of a table, each in the digest of its bucket. Zeroes the n digests first. */
void ctr_digest_rows(ctr_digest *digests, int64_t n, ctr_row *row);

/* Writes the digest as users see it, with the floors and the generations of a table unless they are
 * NULL or empty. */
void ctr_digest_finish(const ctr_digest *digest, const ctr_packed *floors,
                       const ctr_packed *columns, uint8_t out[CTR_ID_SIZE]);

/* Writes the digest of a whole table, with its floors and generations. */
int ctr_digest_table(uint8_t out[CTR_ID_SIZE], ctr_row *row);

/* Computes the digest of all shards under `id` in a file. Unless `source` is NULL, returns whether
 * the source has them all too, or later lives.
 *
 * Before a file takes over a name, every replica must have its shards under the negated id, because
 * no file writes them again. Each pull from a replica checks that it has them. The digest proves
 * that none was added since. */
bool ctr_digest_shards(const ctr_source *source, ctr_file *file, const uint8_t id[CTR_ID_SIZE],
                       uint8_t digest[CTR_ID_SIZE]);

/* ==== feed.c ================================================================================== */

/* Takes the values of a JSON array, TEXT, or of a packed key, a BLOB. The caller closes the scope,
 * also after a failure. Fails with SQLITE_MISMATCH. */
int ctr_scope_open(ctr_scope *scope, ctr_conn *conn, sqlite3_value *given);
void ctr_scope_close(ctr_scope *scope);

/* ==== apply.c ================================================================================= */

int ctr_changes_register(sqlite3 *db, ctr_conn *conn); /* counter_changes */

/* =================================================================================================
 * Only files of this folder use what follows.
 */

/* ==== source.c ================================================================================ */

/* Reads the newest numbers of a table with ordinary stored tables. That of its rows may be that of
 * another table with its bit in the journal (core/core.h). */
int ctr_source_look(const ctr_source *source, const char *table, ctr_newest *newest);

/* ==== marks.c ================================================================================= */

/* A table of a source, and ours that it is merged into. */
typedef struct ctr_table_pair {
    const ctr_identity *source;
    const ctr_catalog_entry *theirs, *mine;
} ctr_table_pair;

/* Returns the mark; 0 if there is none, or if the source has not reached it. Sets how far the table
 * was read in parts; all zero if it was not. */
int64_t ctr_marks_read(ctr_file *file, const ctr_table_pair *pair, ctr_progress *progress);

/* Creates the table of marks, if need be, before the first mark of a source, and removes the marks
 * of tables that no longer exist. */
void ctr_marks_begin(ctr_file *file, const ctr_identity *source);

/* Writes the mark when the table, or the last part of it, was read. */
void ctr_marks_write(ctr_file *file, const ctr_table_pair *pair, const ctr_progress *progress);

/* Writes how far it was read, after any other part. */
void ctr_marks_write_part(ctr_file *file, const ctr_table_pair *pair, const ctr_progress *progress);

/* Forgets how far tables of a source were read in parts, when all are read: under its id, and under
 * those that it had, for it may have taken another one between two parts. */
void ctr_marks_end_parts(ctr_file *file, ctr_file *source);

/* ==== merge.c ================================================================================= */

void ctr_brought_add(ctr_brought *to, const ctr_brought *more);

/* A cell that came with a token, with its place and mine. */
typedef struct ctr_sent_cell {
    const char *device; /* the name of the device that had the token */
    const char *table, *column;
    ctr_row *row;         /* borrowed: mine, perhaps not found */
    sqlite3_value **keys; /* as they were sent: a collation may take them for those of the row */
    int n_keys;
    const ctr_cell *mine, *theirs;
} ctr_sent_cell;

/* The ids that a file itself counts or has counted under. */
typedef struct ctr_own_ids {
    uint8_t *ids; /* owned, one behind the other */
    size_t n, room;
    unsigned read_at; /* the version of the file; 0: not read */
} ctr_own_ids;

/* Reads them, unless they are known. ctr_conflicts_close_own frees them. */
int ctr_conflicts_read_own(ctr_own_ids *own, ctr_file *file);
void ctr_conflicts_close_own(ctr_own_ids *own);

/* Opens for one merge: compares the witness of the source with that of the last merge, and records
 * it in counter_sources, which is created unless `objects` has it. */
void ctr_conflicts_open(ctr_conflicts *conflicts, ctr_file *file, const ctr_objects *objects,
                        const ctr_identity *mine, const ctr_identity *source);

/* Writes the cell that came to `out`, of its size and CTR_CELL_HEADER_MAX, without the shards under
 * my own ids and openings that were changed. One under my ids that is not ahead of mine tells
 * nothing new; the others are recorded. Returns the size. */
size_t ctr_conflicts_leave_out(ctr_conn *conn, ctr_conflicts *conflicts, const ctr_own_ids *own,
                               const ctr_sent_cell *sent, uint8_t *out);

/* Refuses a key with a character that UTF-16 cannot keep, if the files of `conn` are in UTF-16. */
int ctr_merge_refuse_key(ctr_conn *conn);

/* Refuses a key that this file cannot keep. ctr_merge_find does this. */
int ctr_merge_check_key(ctr_merge *merge, sqlite3_value **keys);

/* Refuses a number of a stamp beyond CTR_STAMP_MAX, in the row whose key was checked last.
 * ctr_merge_row does this. */
void ctr_merge_check_stamp(const ctr_merge *merge, int64_t number);

/* Refuses a clock beyond CTR_CLOCK_MAX: the file that has that id could not count on.
 * ctr_merge_cell does this for the shards that differ from mine. */
int ctr_merge_check_clocks(ctr_conn *conn, const ctr_cell *theirs);

/* Notes a number of another file that is at or above the place of this one. */
void ctr_merge_note_number(ctr_merge *merge);

/* Does as ctr_merge_write with the values of regular columns that came with the row, in the order
 * of the columns; NULL: none. A pull reads them later, from the table of the source. */
bool ctr_merge_write_values(ctr_merge *merge, sqlite3_value **values);

/* The second half of ctr_merge_find, for a row that was not found. */
bool ctr_merge_is_wanted(ctr_merge *merge, sqlite3_value **keys);

/* Begin and end a merge within an UPDATE, which writes the staged cells (table/stream.c). The end
 * returns false if there is something to record: then nothing was merged, and the caller merges
 * by ctr_merge_find, ctr_merge_cell and ctr_merge_write. */
void ctr_merge_begin(ctr_merge *merge);
bool ctr_merge_end(ctr_merge *merge);

/* Joins the row cell of a row of a replicated table that was found, or is missing, with that of
 * another file, which has the regular column map[i] for my column i, or -1. Call it before the
 * cells are merged; if it returns CTR_ROW_STAYS, also on error, they are not. Fails with
 * SQLITE_ERROR on a stamp beyond CTR_STAMP_MAX. */
ctr_row_outcome ctr_merge_row(ctr_merge *merge, const ctr_row_cell *theirs, const int *map,
                              int64_t giver);

/* Begins with cells of a row of a replicated table that was found, whose row cell does not
 * change. */
void ctr_merge_counters(ctr_merge *merge);

/* Raises floors; returns the number of rows removed. */
int64_t ctr_merge_floors(ctr_merge *merge, sqlite3_value **values);

/* Rows that two files began to replicate apart, and that differ.
 *
 * Such rows were there before each file called counter_replicate, and nobody knows which of two
 * values is the newer one (core/core.h). A merge that meets them is refused until one of the files
 * says whose values win, by 'values=newest' or 'values=oldest'. */

/* Call it after ctr_merge_row, before the row is written, if row.join.asks: compares the values of
 * both files, and notes the row if some differ. That of my column i in the other file is
 * theirs[map[i]], NULL: there is none. */
void ctr_drift_compare(ctr_merge *merge, sqlite3_value *const *theirs, const int *map);

/* Fails if rows were noted. `here` and `there` name the two files, `table` is the name of the table
 * in main; values that are here are those of main or, if `gives`, of the other file. */
void ctr_drift_refuse(ctr_merge *merge, const char *table, const char *here, const char *there,
                      bool gives);

/* ==== kinds.c ================================================================================= */

/* Returns a sentence that begins with the column, names both files, and ends with the call that
 * makes them agree; NULL: they agree, or there was an error. `mine` is that of the taking file, and
 * `gives` tells that the other one is main: a sync has one sentence for both directions. The text
 * is short-lived (base/base.h). */
const char *ctr_kinds_differ(const ctr_kinds *mine, const ctr_kinds *theirs, bool gives);

/* Refuses a birth name that something else has in the schema, which messages call `called`: a
 * counter table that was created under another name, an ordinary table, or anything else.
 * `has_life`: the other file replicates the table. */
int ctr_kinds_refuse_name(ctr_file *file, const char *called, const char *birth, bool has_life);

/* Refuses a change of a row that comes with a life to a table that is not replicated, and one that
 * comes without to one that is. */
void ctr_kinds_check_life(ctr_conn *conn, const ctr_shape *shape, const char *birth, bool has_life);

/* ==== pull.c ================================================================================== */

/* ==== circles.c =============================================================================== */

/* Rows of replicated tables that refer to each other, or take over what others have.
 *
 *     team.lead -> person, person.team -> team
 *     two rows have swapped values of a UNIQUE index
 *
 * One by one, no table would take them: each waits for its parent, for the value of another row, or
 * is kept by its child. So when all else is shown, rows that need each other are shown together, or
 * deleted together, or not at all, after those that they need besides:
 *
 *     a row that lives      needs the listed rows that it refers to, and those that have what it is
 *                           to have in a UNIQUE index
 *     a row that has ended  needs the rows that refer to it, which have ended or are to refer to
 *                           another one; any other row that refers to it keeps it
 *     one that gives up what others refer to by a UNIQUE column
 *                           needs them, or the row that is to have that
 *
 * Foreign keys are deferred meanwhile. Where RESTRICT or UNIQUE still demands an order, rows let go
 * of what others wait for: they have NULL for a while, or a number that no row has. */

/* Tries this with all listed rows that have ended, that a UNIQUE index refuses or a row that refers
 * to them, and with those that wait in tables that refer to themselves, perhaps through others. The
 * caller has shown what can be shown alone. Returns whether any row was shown or deleted. */
bool ctr_circles_show(ctr_pull *pull);

/* ==== digest.c ================================================================================ */

/* Returns whether the key is in the bucket. `of` must not be 0. */
bool ctr_digest_bucket_has(const ctr_bucket *bucket, const ctr_packed *folded_key);

/* ==== feed.c ================================================================================== */

/* Enters a table: compares keys of its columns from now on. Fails with SQLITE_ERROR if one of them
 * has a collation of the application. */
void ctr_scope_enter(ctr_scope *scope, ctr_conn *conn, const ctr_shape *shape);

/* Returns whether a row with these keys, of the table that was entered, is in the scope. */
bool ctr_scope_has(ctr_conn *conn, ctr_scope *scope, const ctr_shape *shape, sqlite3_value **keys);

/* ---- giving ---------------------------------------------------------------------------------- */

/* Opens a giver of the rows of a replicated table. The caller closes it, even if this fails. */
void ctr_row_feed_open(ctr_row_giver *giver, ctr_tab *tab);
void ctr_row_feed_close(ctr_row_giver *giver);

/* Reads the row on which a walk stands into giver->regular, lent until the next one. Returns false
 * if it has no row cell, or on error. */
bool ctr_row_feed_read(ctr_conn *conn, ctr_row_giver *giver, sqlite3_stmt *stands,
                       sqlite3_value **keys);

/* Appends the change that tells all of a row, found whole. */
void ctr_row_feed_tell(ctr_tab *tab, const ctr_row *row, sqlite3_value **keys, ctr_packed *change);

/* ---- taking ---------------------------------------------------------------------------------- */

/* Fails if the table has a regular column of this name that this file does not replicate yet. */
void ctr_row_feed_refuse_regular(const ctr_merge *merge, const ctr_told_column *told);

/* Joins the row of a change with the one at hand. Returns whether there is something to write: then
 * the caller merges the counters, and writes the row. It ends `row` in any case. */
bool ctr_row_feed_join_told(ctr_merge *merge, const ctr_change_view *change, ctr_taken_row *row);
void ctr_row_feed_write_taken(ctr_merge *merge, ctr_taken_row *row);
void ctr_row_feed_end_taken(ctr_taken_row *row);
void ctr_row_feed_close_taken(ctr_taken_row *row);

/* Opens the feed at its first row. The caller closes it, also after a failure, and does not move
 * it. */
int ctr_feed_open(ctr_feed *feed, ctr_conn *conn, const ctr_feed_query *query);
void ctr_feed_next(ctr_feed *feed);

/* Returns the number below which all changes of main are, 0 if it has no id; reads no change. */
int64_t ctr_feed_end(ctr_conn *conn);
void ctr_feed_close(ctr_feed *feed);

/* ==== apply.c ================================================================================= */

/* Changes on their way in, one after the other, in a transaction that the connection has joined:
 *
 *     ctr_apply apply = {.conn = conn, .at_once = true};
 *     ctr_apply_change(&apply, &change);      for each, until one fails
 *     ctr_apply_release(&apply);              in the transaction
 *     ctr_apply_keep(&apply);                 or _forget: when the statement has ended
 */
typedef struct ctr_apply {
    ctr_conn *conn;
    ctr_conflicts conflicts;
    bool at_once;     /* set by the owner: no statement of the application runs before it is
                         released, so strays may be kept */
    bool open;        /* `merge` has a table */
    bool busy, ended; /* a change is being merged; the transaction ended meanwhile */
    ctr_merge merge;
    ctr_taken_row taken; /* owned; of the open table */
    sqlite3_stmt *born;  /* looks the table up again at each row */
    sqlite3_stmt *values;
    sqlite3_value **keys;
    sqlite3_value *scoped;    /* owned: the scope of the last change, and what it says */
    ctr_scope scope;          /* owned; has entered the open table */
    ctr_own_ids own;          /* owned */
    ctr_packed left, may;     /* room for cells */
    ctr_brought_list brought; /* owned: by changes that are not committed yet */
} ctr_apply;

/* Merges one change, and sets change->told. If a statement runs out of memory, SQLite may roll the
 * transaction back before this returns; then the table is closed, and what was brought is
 * forgotten. */
int ctr_apply_change(ctr_apply *apply, ctr_change *change);

/* Closes the open table. */
void ctr_apply_release(ctr_apply *apply);

/* Both release it, too. What the changes have brought becomes that of the connection, or is
 * forgotten. */
void ctr_apply_keep(ctr_apply *apply);
void ctr_apply_forget(ctr_apply *apply);

#endif
