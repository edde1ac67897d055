/* file/file.h - the files of a connection, with the state of each in this transaction.
 *
 * The first count of a transaction compares the identity with the file; later ones rely on that. If
 * they differ, it takes a new id in the same transaction, or refuses (file/succession.h). While
 * nobody else has committed, the stat is enough until the witness is due:
 *
 *     transaction begins --> ctr_file_identity: read, stat, getxattr --> checked --> counts, merges
 *                                                                         |
 *           rollback, rollback to, commit: nothing is remembered <--------'
 *
 * The caller holds the write lock of the schema. The first write of a transaction renews the
 * witness in the row; its attribute is written after the commit, so a file may be ahead of its
 * attribute, never behind.
 */
#ifndef CTR_FILE_FILE_H
#define CTR_FILE_FILE_H

#include "file/identity.h"
#include "file/storage.h"
#include "base/conn.h"
#include "base/schema.h"

/* What to do with the attribute after the transaction has committed. */
typedef enum ctr_after_commit {
    CTR_AFTER_NOTHING,
    CTR_AFTER_READ, /* read the pair when it is about to commit */
    CTR_AFTER_WRITE
} ctr_after_commit;

/* A prepared statement takes about 2 KB. So only these many tables of a file keep more than those
 * that append to their journals: the ones that prepared theirs last. */
enum { CTR_TABS_KEPT = 32 };

/* Statements on the tables of a file, each prepared at its first use and kept. */
typedef enum ctr_file_sql {
    CTR_FILE_READ,
    CTR_FILE_RENEW,
    CTR_FILE_PROBE,
    CTR_FILE_SCHEMA,
    CTR_FILE_LIST, /* its counter tables */
    CTR_FILE_MARK, /* merge/marks.h */
    CTR_FILE_SET_MARK,
    CTR_FILE_SOURCE, /* the witness of a source: file/names.h */
    CTR_FILE_SET_SOURCE,
    CTR_FILE_STATEMENTS
} ctr_file_sql;

/* Under whom a file counts: the id of the shards that it writes, and the lowest clock under it. */
typedef struct ctr_leader {
    uint8_t id[CTR_ID_SIZE];
    int64_t least;
} ctr_leader;

typedef struct ctr_file {
    ctr_conn *conn;
    char *schema;
    int holders;
    struct ctr_file *next;

    /* Rises when what was checked may hold no longer: when a transaction ends or is rolled back to
     * a savepoint, and when the identity changes. While it stays, the write lock is held, so nobody
     * else commits, and those who noted it need not check again. At first 1. */
    unsigned version;
    ctr_leader leader;
    unsigned leads_at; /* the version for which `leader` was checked */

    /* True for this transaction alone. */
    bool checked, renewed;
    bool counted; /* the id was handed out; ROLLBACK TO clears neither this nor the next */
    const struct ctr_file *taken_from; /* the file took counts of that one; usually NULL */
    ctr_identity identity;
    ctr_fingerprint seen;
    ctr_attribute attribute;
    ctr_after_commit after;
    ctr_pair pair; /* if `after` is CTR_AFTER_WRITE */

    /* The number for the next change, and the data version of the file for which it is known. */
    bool numbered;
    unsigned numbers_version;
    int64_t next_number;
    int64_t learned; /* the highest number of a stamp that this transaction wrote into a cell */

    unsigned data_version; /* of the file, while the identity is checked */

    /* `identity` is that of the file at a data version. */
    bool known;
    unsigned known_data_version;
    int64_t looked; /* milliseconds: when `seen` and `attribute` were read */

    ctr_storage storage;
    ctr_kept statements[CTR_FILE_STATEMENTS];
    bool has_objects;        /* the next was read, and is valid until the schema changes */
    ctr_objects objects;     /* owned; lent by ctr_file_objects */
    unsigned schemas;        /* how often they were read anew */
    struct ctr_tab *tabs;    /* its tables: table/tab.h */
    struct ctr_tab *touched; /* those with a batch or with rows of this transaction */
    struct ctr_tab *keepers[CTR_TABS_KEPT]; /* the tables whose statements are kept */
    unsigned n_keepers;                     /* how often a table has become one */
    bool spills_safely;                     /* in this transaction; see file/spill.h */
    int spill;                   /* cache_spill of the file, to restore when it ends; 0: nothing */
    struct ctr_writing *writing; /* the row of a tracked table being written, or NULL */
    bool held;                   /* it is a snapshot, which nobody changes */
    bool raised;                 /* a pull could not lower the cache again; see file/session.h */

    /* Its foreign keys, owned, and what frees them: tracked/foreign.h. */
    struct ctr_foreign_keys *foreign;
    void (*free_foreign)(struct ctr_file *);
} ctr_file;

/* Hooks of a file's counter tables: for a change of its identity, and when it is closed. */
typedef struct ctr_file_tables {
    int (*fold)(ctr_file *, ctr_problem *);        /* before the id changes */
    void (*void_marks)(ctr_file *, ctr_problem *); /* that other files have for these tables */
    void (*close)(ctr_file *);
} ctr_file_tables;

/* Returns the file of a schema, lent until the running statement ends; NULL without memory. A
 * caller that needs it for longer holds it: a detached file without holders is closed. */
ctr_file *ctr_file_of(ctr_conn *conn, const char *schema);
ctr_file *ctr_file_hold(ctr_conn *conn, const char *schema);
void ctr_file_release(ctr_file *file); /* NULL is harmless */

/* Closes all files of a connection. */
void ctr_file_close_all(ctr_conn *conn);

/* Returns a run of statements on the tables of the file. */
ctr_run ctr_file_run(const ctr_file *file, ctr_problem *problem);

/* Take a statement, and give it back: ctr_conn_take. */
sqlite3_stmt *ctr_file_take(ctr_file *file, ctr_file_sql which, ctr_problem *problem);
void ctr_file_give_back(ctr_file *file, ctr_file_sql which, sqlite3_stmt *statement,
                        const ctr_problem *problem);

/* Returns the data version of the file. Once the identity is checked, the lock is held and the
 * version cannot change, so SQLite is not asked again. */
unsigned ctr_file_data_version(ctr_file *file);

/* Returns the objects of the schema, with the triggers in temp, lent until the next call; NULL on a
 * problem. Reads them again only if SQLite prepares a statement on the schema again, as it does
 * after each change of it, by whichever connection, also one that was rolled back. */
ctr_objects *ctr_file_objects(ctr_file *file, ctr_problem *problem);

/* The same after the caller has created tables and changed nothing else: reads only these. */
ctr_objects *ctr_file_objects_read_on(ctr_file *file, ctr_problem *problem);

/* Forgets that the identity was checked, for it has changed or was rolled back. */
void ctr_file_uncheck(ctr_file *file);

/* Forgets the state of a file, if SQLite will call no table at the end of the transaction. */
void ctr_file_forget(ctr_file *file);

/* Forgets the identity, whose table may be dropped. */
void ctr_file_removed(ctr_file *file);

/* ---- the check of the identity: in each transaction once, before it counts ---- */

/* Reads the row into file->identity, or only into `identity`. An absent row is not an error. */
int ctr_file_read(ctr_file *file, ctr_problem *problem);
int ctr_file_peek(ctr_file *file, ctr_identity *identity, ctr_problem *problem);

/* Reads the present fingerprint and attribute into file->seen and file->attribute. */
int ctr_file_look(ctr_file *file, ctr_problem *problem);

/* Returns the id if this transaction has checked that the file may count, else NULL. Reads memory
 * only. */
const uint8_t *ctr_file_known_id(const ctr_file *file);

/* Returns under whom to count in this transaction; it is valid until the transaction ends. Renews
 * the witness if it is due. Fails, with NULL, if there is no id or the file must not count. */
const ctr_leader *ctr_file_leader(ctr_file *file, ctr_problem *problem);

/* Does the same without noting that the file has counted: to choose a file to count in. Returns
 * whether it may. */
bool ctr_file_prepare_to_count(ctr_file *file, ctr_problem *problem);

/* Returns whether the file is known to have counted under its id in this transaction. */
bool ctr_file_has_counted(const ctr_file *file);

/* Notes that the file takes counts from `giver` that this transaction made, there or in a file that
 * `giver` took them from. ctr_file_taken_from returns the schema of the last such giver, which
 * commits last; NULL if there is none. */
void ctr_file_note_taken(ctr_file *file, const ctr_file *giver);
const char *ctr_file_taken_from(const ctr_file *file);

/* Returns whether the file has uncommitted counts, its own or those of others. */
bool ctr_file_is_pending(const ctr_file *file);

/* Returns the identity, checked in this transaction, before a merge into the file. A file that
 * refuses to count may still merge. Lent like the id. */
const ctr_identity *ctr_file_identity(ctr_file *file, ctr_problem *problem);

/* The caller calls this before it writes a row, whichever replica counted in it. The first call in
 * a transaction renews the witness. */
int ctr_file_before_write(ctr_file *file, ctr_problem *problem);

#endif
