/* file/file.h - who a file is, and whether it may count.
 *
 *     ctr_file      a file of a connection: what this transaction knows of it, and its tables
 *     ctr_identity  the row of counter_replica: id, name, witness
 *     ctr_storage   what a fingerprint and an attribute are read from: a path, a memory database
 *     ctr_session   the savepoint around a call that changes a file
 *
 * Nothing but this folder knows how an id is made or kept.
 */
#ifndef CTR_FILE_FILE_H
#define CTR_FILE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/base.h"

/* The identity of a database file: its replica id, kept in the file.
 *
 *     counter_replica      row 1: the current id, its reason and date, the fingerprint of the file
 *                          that wrote it, and its witness; see core/core.h. The other rows: the
 *                          ids that the file had before
 *
 * `format` is the format of everything we store in the file; we refuse any other. `name` is NULL
 * for a random id. A named id is the type-3 UUID of "dc:rack" in the DNS namespace, so that
 * `uuidgen --md5 --namespace @dns --name dc1:rack1` gives the same, as in ScyllaDB.
 *
 * file/identity.c reads and writes the rows; file/file.c checks whether they are still true. */

enum {
    CTR_FILE_FORMAT = 3,
    CTR_NAME_MAX = 255,            /* bytes of a replica's name */
    CTR_REFUSAL_MAX = 31,          /* bytes of the stored reason not to count */
    CTR_EPOCH_MAX = (1 << 30) - 1, /* so that no clock exceeds CTR_CLOCK_MAX */
    CTR_RENEWAL = 10               /* milliseconds between two renewals of the witness */
};

/* The progress of a file that takes over a name. */
typedef enum ctr_turn {
    CTR_TURN_NONE,  /* it holds its name, or has none */
    CTR_TURN_WAITS, /* it must not count yet */
    CTR_TURN_COUNTS /* under the negated id */
} ctr_turn;

typedef struct ctr_identity {
    bool present;
    uint8_t id[CTR_ID_SIZE];
    char name[CTR_NAME_MAX + 1]; /* "" for a random id */
    ctr_lineage lineage;
    int64_t renewed, renewal;          /* milliseconds: time and duration of a renewal */
    char refuses[CTR_REFUSAL_MAX + 1]; /* why it does not count; "" if it does */
    int64_t twist;  /* new if the lineage changes without the id, or two files may share the id */
    int64_t next;   /* above all numbers of the file that others have read */
    int64_t floors; /* new whenever a floor rises; 0: the file has no floors */

    /* Of a name; see file/identity.c. */
    int64_t epoch; /* how often the name has been replaced; 0 ... CTR_EPOCH_MAX */
    ctr_turn turn;
    int64_t names;               /* equal in files that know the same epochs; 0: none */
    uint8_t holder[CTR_ID_SIZE]; /* stays when the id changes, unless this is a copy */
} ctr_identity;

/* The fingerprint and the attribute of the storage of a schema.
 *
 *     a file on a unix VFS    by its path: fingerprint and attribute, see file/os.c
 *     a memory database       its instance as fingerprint, and the witness kept there as attribute,
 *                             see below
 *     anything else           neither: CTR_PLACE_UNKNOWN, CTR_ATTRIBUTE_UNARMED
 *
 * A file has an inode; a memory database differs from a copy of its content only by its object in
 * this process. So the connections that share a memory database and count in it also share a second
 * one, named after the first. The first connection puts a random id into it. It lives until the
 * last of these connections closes. So several connections of one memory database are one replica.
 * Content that is loaded into another one, or after all of them have closed, is a copy.
 *
 * After DETACH the next memory database may have the same address. So we mark the open one by a
 * setting that is not part of its content: its journal_size_limit, which a memory database does
 * not use.
 *
 * A file that is open here but no longer at its path is refused: all writes to it would be lost,
 * and under WAL SQLite keeps writing. */

/* A random id for the lifetime of a memory database. */
typedef struct ctr_instance {
    uint8_t id[CTR_ID_SIZE];

    sqlite3 *db; /* private, owned, as are the statements */
    sqlite3_stmt *read, *write;
} ctr_instance;

typedef enum ctr_storage_kind {
    CTR_STORAGE_UNASKED,
    CTR_STORAGE_FILE,
    CTR_STORAGE_MEMORY,
    CTR_STORAGE_OTHER
} ctr_storage_kind;

/* Zero it first. */
typedef struct ctr_storage {
    ctr_storage_kind kind;
    int error; /* why the attribute could not be read: an errno, or 0 */

    /* Private: about the open file, until `file` changes. */
    void *file;
    sqlite3_vfs *vfs;
    const char *path; /* of main; lent by SQLite */
    int64_t inode;    /* 0: not known yet */
    ctr_instance instance;
} ctr_storage;

/* The files of a connection, with the state of each in this transaction.
 *
 * The first count of a transaction compares the identity with the file; later ones rely on that. If
 * they differ, it takes a new id in the same transaction, or refuses (file/identity.c). While
 * nobody else has committed, the stat is enough until the witness is due:
 *
 *     transaction begins --> ctr_file_identity: read, stat, getxattr --> checked --> counts, merges
 *                                                                         |
 *           rollback, rollback to, commit: nothing is remembered <--------'
 *
 * The caller holds the write lock of the schema. The first write of a transaction renews the
 * witness in the row; its attribute is written after the commit, so a file may be ahead of its
 * attribute, never behind. */

/* What to do with the attribute after the transaction has committed. */
typedef enum ctr_after_commit {
    CTR_AFTER_NOTHING,
    CTR_AFTER_READ, /* read the pair when it is about to commit */
    CTR_AFTER_WRITE
} ctr_after_commit;

/* A prepared statement takes about 2 KB. So only these many tables of a file keep theirs: the ones
 * that prepared one last. */
enum { CTR_TABS_KEPT = 32 };

/* Statements on the tables of a file, each prepared at its first use and kept. */
typedef enum ctr_file_sql {
    CTR_FILE_READ,
    CTR_FILE_RENEW,
    CTR_FILE_PROBE,
    CTR_FILE_SCHEMA,
    CTR_FILE_LIST, /* its counter tables */
    CTR_FILE_MARK, /* of another file that was read */
    CTR_FILE_SET_MARK,
    CTR_FILE_SOURCE, /* the witness of a source: file/identity.c */
    CTR_FILE_SET_SOURCE,
    CTR_FILE_NUMBER, /* of a table; this and the others on the journal: table/journal.c */
    CTR_FILE_JOURNAL,
    CTR_FILE_APPEND,
    CTR_FILE_CHANGE,
    CTR_FILE_COUNT,
    /* On the state and the requests of one table: ctr_tab_take_of. */
    CTR_FILE_COUNTERS, /* that were added or dropped */
    CTR_FILE_FLOORS,
    CTR_FILE_REQUEST, /* a request that was taken */
    CTR_FILE_SET_REQUEST,
    CTR_FILE_APART, /* entries of rows of the tracked table that are apart: of one row */
    CTR_FILE_APART_ANY,
    CTR_FILE_APART_ADD,
    CTR_FILE_APART_REMOVE,
    CTR_FILE_APART_COUNT,
    CTR_FILE_HOME,     /* for which schema the places of cells hold */
    CTR_FILE_MASKS,    /* of the journal, as a source of others */
    CTR_FILE_NEWEST,   /* numbers of a table */
    CTR_FILE_SPREAD,   /* from where SQLite gives out the keys of a table */
    CTR_FILE_SEQUENCE, /* the last one that it gave out */
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
    bool follows; /* it has taken a new id, which goes with a rollback */
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
    int64_t learned; /* the highest number of a stamp that this transaction wrote into a cell, or
                        has to exceed */
    int64_t drawn;   /* the number of stamps that are not appended yet, or 0 */
    int64_t came;    /* the number of columns that came or went in the transaction `came_in` */
    unsigned came_in;

    /* Its journal. */
    int64_t open_number, open_tabs;  /* the row appended last, if it can grow, or 0; its mask */
    ctr_packed open;                 /* its bytes */
    int64_t last_number;             /* of the last row that this connection committed */
    unsigned own_since, own_version; /* nobody else committed from this data version to that one */
    unsigned writes;                 /* how often this connection changed or took back a row */
    struct ctr_index *index;         /* owned: table/journal.c; NULL: there is none */
    int uncounted;                   /* transactions until its rows are counted */
    int64_t passed;                  /* of what is older, no table could be carried over */
    bool reads_entries;              /* CTR_FILE_JOURNAL has read some: they are not hidden */

    /* The data version that is on disk, where this connection gives changes to others. */
    bool synced;
    unsigned synced_version;

    /* Where all changes end, and the data version for which that is known. */
    bool ends;
    unsigned ends_version;
    int64_t end;

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
    struct ctr_tab *tabs;    /* its tables: table/tab.c */
    struct ctr_tab *touched; /* those with a batch or with rows of this transaction */
    struct ctr_fed_list {
        ctr_fed fed;
        struct ctr_fed_list *next;
    } * fed; /* owned: the sources of changes that came in this transaction */
    struct ctr_tab *keepers[CTR_TABS_KEPT]; /* the tables whose statements are kept */
    unsigned n_keepers;                     /* how often a table has become one */
    bool spills_safely;                     /* in this transaction; see file/file.c */
    int spill;                   /* cache_spill of the file, to restore when it ends; 0: nothing */
    struct ctr_writing *writing; /* the row of a tracked table being written, or NULL */
    bool held;                   /* it is a snapshot, which nobody changes */
    bool raised;                 /* the cache is, until it can be lowered; see file/session.c */

    /* Its foreign keys, owned, and what frees them. */
    struct ctr_foreign_keys *foreign;
    void (*free_foreign)(struct ctr_file *);
} ctr_file;

/* Hooks of a file's counter tables: for a change of its identity, and when it is closed. */
typedef struct ctr_file_tables {
    int (*fold)(ctr_file *);        /* before the id changes */
    void (*void_marks)(ctr_file *); /* that other files have for these tables */
    void (*close)(ctr_file *);
} ctr_file_tables;

/* All or nothing: the savepoint around a sync.
 *
 * A sync is a part of the caller's transaction, or else a transaction of its own. SQLite opens no
 * savepoint inside a statement that writes, so a sync fails there.
 *
 * After sqlite3_interrupt() even ROLLBACK TO is interrupted, and half the work would stay in an
 * open transaction. SQLite guarantees that an interrupted write rolls the transaction back. So we
 * prepare a write that changes nothing beforehand, and the statements that end the savepoint,
 * because there may be no memory later. CREATE VIRTUAL TABLE expires all prepared statements just
 * before it calls xCreate, so xCreate prepares them again. An interrupt there interrupts the
 * CREATE, too, which is a write. */

typedef struct ctr_session {
    ctr_conn *conn; /* borrowed */
    sqlite3_stmt *write_nothing, *release, *roll_back;
    bool syncs;       /* it locks main, and may create virtual tables */
    bool open, alone; /* alone: in no transaction of the caller */
    bool locks;       /* its writes lock main */
    int spill;        /* cache_spill of main, to restore; 0: nothing */
} ctr_session;

/* The operating system's facts about a database file, by its path.
 *
 *     inode, birth time    statx on Linux, stat elsewhere; on Windows the file's index, which has
 *                          a sequence number, and its creation time
 *     handle               name_to_handle_at, Linux, where there is no birth time
 *     attribute            CTR_OS_ATTRIBUTE, Linux and macOS, and on Windows a stream of the file
 *                          with that name: C1, then number and random, 8 bytes each, big end first
 *
 * On POSIX nothing here opens the file, because closing any descriptor of it drops the locks that
 * SQLite holds in this process. On Windows closing a handle drops no lock of another handle. A
 * function that cannot find out a fact reports that; then fingerprint or witness is not armed. */

#define CTR_OS_ATTRIBUTE "user.sqlite-counter"

/* The identity of files in a VFS without a file system.
 *
 * In a browser a file has no inode and no attributes. The VFS named CTR_BROWSER_VFS keeps a record
 * beside each file instead, in the same storage but outside of the file's bytes. The record has a
 * random number and the attribute. The first request for the record of a file creates it. */

#define CTR_BROWSER_VFS "counter-browser"

/* pAppData of that VFS. */
typedef struct ctr_browser_files {
    /* Reads the number, 16 bytes. Returns 0 or an errno. */
    int (*number)(const char *path, uint8_t number[16]);

    /* Read and write the attribute, like ctr_system_get and ctr_system_set (file/os.c). */
    long (*get)(const char *path, uint8_t *value, size_t size);
    void (*set)(const char *path, const uint8_t *value, size_t size);
} ctr_browser_files;

/* ==== file.c ================================================================================== */

/* Returns the file of a schema, lent until the running statement ends; NULL without memory. A
 * caller that needs it for longer holds it: a detached file without holders is closed. */
ctr_file *ctr_file_of(ctr_conn *conn, const char *schema);
ctr_file *ctr_file_hold(ctr_conn *conn, const char *schema);
void ctr_file_release(ctr_file *file); /* NULL is harmless */

/* Closes all files of a connection. */
void ctr_file_close_all(ctr_conn *conn);

/* Returns a run of statements on the tables of the file. */
ctr_run ctr_file_run(const ctr_file *file);

/* Take a statement, and give it back: ctr_conn_take. */
sqlite3_stmt *ctr_file_take(ctr_file *file, ctr_file_sql which);
void ctr_file_give_back(ctr_file *file, ctr_file_sql which, sqlite3_stmt *statement);

/* Returns the data version of the file. Once the identity is checked, the lock is held and the
 * version cannot change, so SQLite is not asked again. */
unsigned ctr_file_data_version(ctr_file *file);

/* Returns the objects of the schema, with the triggers in temp, lent until the next call; NULL on
 * error. Reads them again only if SQLite prepares a statement on the schema again, as it does after
 * each change of it, by whichever connection, also one that was rolled back. */
ctr_objects *ctr_file_objects(ctr_file *file);

/* The same after the caller has created tables and changed nothing else: reads only these. */
ctr_objects *ctr_file_objects_read_on(ctr_file *file);

/* Forgets that the identity was checked, for it has changed or was rolled back. */
void ctr_file_uncheck(ctr_file *file);

/* Forgets the state of a file, if SQLite will call no table at the end of the transaction. */
void ctr_file_forget(ctr_file *file);

/* Forgets the identity, whose table may be dropped. */
void ctr_file_removed(ctr_file *file);

/* ---- the check of the identity: in each transaction once, before it counts ---- */

/* Reads the row into file->identity, or only into `identity`. An absent row is not an error. */
int ctr_file_read(ctr_file *file);
int ctr_file_peek(ctr_file *file, ctr_identity *identity);

/* Returns the id if this transaction has checked that the file may count, else NULL. Reads memory
 * only. */
const uint8_t *ctr_file_known_id(const ctr_file *file);

/* Returns under whom to count in this transaction; it is valid until the transaction ends. Renews
 * the witness if it is due. Fails, with NULL, if there is no id or the file must not count. */
const ctr_leader *ctr_file_leader(ctr_file *file);

/* Does the same without noting that the file has counted: to choose a file to count in. Returns
 * whether it may. */
bool ctr_file_prepare_to_count(ctr_file *file);

/* Returns whether the file is known to have counted under its id in this transaction. */
bool ctr_file_has_counted(const ctr_file *file);

/* Returns whether the file has taken its id in this transaction, in place of another one. */
bool ctr_file_is_new(const ctr_file *file);

/* Notes that the file takes counts from `giver` that this transaction made, there or in a file that
 * `giver` took them from. ctr_file_taken_from returns the schema of the last such giver, which
 * commits last; NULL if there is none. */
void ctr_file_note_taken(ctr_file *file, const ctr_file *giver);
const char *ctr_file_taken_from(const ctr_file *file);

/* Returns whether the file has uncommitted counts, its own or those of others. */
bool ctr_file_is_pending(const ctr_file *file);

/* Returns the identity, checked in this transaction, before a merge into the file. A file that
 * refuses to count may still merge. Lent like the id. */
const ctr_identity *ctr_file_identity(ctr_file *file);

/* The caller calls this before it writes a row, whichever replica counted in it. The first call in
 * a transaction renews the witness. */
int ctr_file_before_write(ctr_file *file);

/* One wait for a lock in one statement.
 *
 * With a rollback journal, SQLite writes changed pages early when its cache is full. First it waits
 * for the readers of the file, as long as the busy timeout. If they stay, it does not wait again in
 * the same statement. But each statement of ours within it begins to wait anew. So after a wait in
 * vain, changed pages stay in memory until the transaction ends. */

/* Keeps changed pages in memory if SQLite has waited in vain. The caller calls this before a
 * statement of ours runs within one of the host; the write lock is held. Ignores errors. */
void ctr_spill_check(ctr_file *file);

/* Keeps changed pages in memory while the transaction ends; the commit waits by itself. Where
 * `waited` says that the running statement may have waited before, takes the exclusive lock at
 * once, and returns SQLITE_BUSY if a reader is still there. */
int ctr_spill_before_commit(ctr_file *file, bool waited);

/* Restores the setting of the file. Called when the transaction is about to end, and at its end. */
void ctr_spill_restore(ctr_file *file);

/* ==== identity.c ============================================================================== */

/* Reads the identity of an attached schema. Fails if it is damaged or newer, not if absent. */
int ctr_identity_read(ctr_identity *identity, ctr_conn *conn, const char *schema);

/* Returns the lowest clock to write under the id. It wins over all shards of a predecessor,
 * wherever they come from. */
static inline int64_t ctr_identity_least_clock(const ctr_identity *identity)
{
    return identity->epoch > 0 ? identity->epoch << 32 : 1;
}

/* Returns the first clock of a successor under the name. */
static inline int64_t ctr_identity_beyond(const ctr_identity *identity)
{
    return *identity->name ? (identity->epoch + 1) << 32 : INT64_MAX;
}

/* Fails if the identity has another name than `name`. NULL accepts any name. */
int ctr_identity_check_name(ctr_conn *conn, const ctr_identity *identity, const char *schema,
                            const char *name);

/* Adds a hint to the error at hand if counter_fork() would repair a damaged identity. */
void ctr_identity_offer_fork(ctr_conn *conn, const char *schema);

/* Fails with "no replica id: run SELECT counter_init() ...". */
int ctr_identity_missing(ctr_conn *conn, const char *schema);

/* Fails with the reason why a file does not count, and how it does again. */
void ctr_identity_say_refusal(ctr_conn *conn, const ctr_identity *identity, const char *schema);

/* Returns whether the id is that of another file: this one has a name and is a copy, which does not
 * count until it gets an id of its own. */
bool ctr_identity_is_of_original(const ctr_identity *identity);

/* The replicas and the epochs of names that a file knows: counter_sources.
 *
 * It has the files that this file pulled from, with their witnesses; in a file that is about to
 * replace another, also the files that others know, and the work that is left; and the highest
 * known epoch of each name that was ever replaced. */

/* Reads the witness of a replica as of the last pull; returns false if there was none. The second
 * writes it. */
bool ctr_names_witness(ctr_file *file, const ctr_identity *source, ctr_pair *pair);
void ctr_names_write(ctr_file *file, const ctr_identity *source);

/* Records a complete pull from a source. `holds` is a digest of the shards under my id that the
 * source has, NULL if it lacks some. */
void ctr_names_pulled(ctr_run *run, const ctr_identity *source, const uint8_t *holds);

/* Copies the sources that `from`, an untrusted file, knows. */
void ctr_names_take_over(ctr_run *run, ctr_run *from);

/* Returns the highest known epoch of a name that was replaced. */
int64_t ctr_names_named_epoch(ctr_run *run, const char *name);

/* Creates and replaces identities, stops files from counting, and lets one
 * replace another under its name.
 *
 * A disk dies, a machine is replaced. The new file continues under the name of the old one, so that
 * a cell has two ids for each name at most, however often that happens. For some time, neither file
 * has all counts under the name. So the new one begins under the negated id, as in ScyllaDB:
 *
 *     pending      it has not pulled yet. It must not count: another file may have shards of the
 *                  negated id from an earlier replacement
 *     counting     it has pulled from every replica that is known and not lost, and continues from
 *                  the merged shards of the negated id. The old holder may count too
 *     promoted     it has pulled from the retired old holder; or the old holder is lost, and it has
 *                  pulled from every replica since. Every replica has its shards of the negated
 *                  id. It goes on from the merged shards of the name
 *
 * A name has an epoch. Each replacement raises it, and every contact passes it on. Clocks begin at
 * epoch times 2^32, so no shard of an earlier holder can win, even if its disk comes back. A file
 * that meets a higher epoch of its own name stops counting. */

/* Creates a missing identity, random or with `name`; checks the name of an existing one. */
int ctr_succession_create(ctr_file *file, const char *name);

/* Reacts to a changed lineage: the file forgot its own shards, or has a twin. A new id replaces a
 * random one; a named file refuses to count from now on. */
int ctr_succession_lineage_changed(ctr_file *file, ctr_why why);

/* Gives the file a new random id, whatever the old identity was, even if it is damaged. */
int ctr_succession_fork(ctr_file *file);

/* Makes the witness alone decide from now on. Fails if there is none. */
int ctr_succession_trust_witness(ctr_file *file);

/* Records that a floor of a table in this file has risen. */
void ctr_succession_floors_rose(ctr_file *file);

/* ---- a name that another file takes over ---- */

/* Copies the epochs that another file knows, and stops counting if its own name has a higher one.
 * The identity was checked in this transaction. `other` was read from `schema` of
 * `other_conn`. */
int ctr_succession_meet(ctr_file *file, ctr_conn *other_conn, const char *schema,
                        const ctr_identity *other);

/* Notes that a waiting file has pulled, or that a replica was declared lost. The first call gives
 * it the next epoch, so that if this file is lost, its successor has a higher one. If no step is
 * missing, the file may count from now on, and its epoch is passed on. */
int ctr_succession_note(ctr_file *file);

/* Creates the identity of a new file that is to take over a name. */
void ctr_succession_create_pending(ctr_file *file, const char *name);

/* Takes over the name. `holds` is a digest of the file's shards under the negated id. */
int ctr_succession_promote(ctr_file *file, const uint8_t holds[CTR_ID_SIZE]);

/* Notes that another file has counted under the name, or its negated id, in a higher epoch. */
int ctr_succession_yield(ctr_file *file);

/* Stops the file from counting. */
int ctr_succession_retire(ctr_file *file);

/* Declares a replica lost; no file waits for it any more. */
int ctr_succession_lose(ctr_file *file, const uint8_t id[CTR_ID_SIZE]);

/* ==== storage.c =============================================================================== */

/* Reads the fingerprint and the attribute of the schema's storage; with NULL `attribute`, only the
 * fingerprint. `anew`: the schema may be another file than at the last call, at the same
 * address. */
int ctr_storage_see(ctr_storage *storage, ctr_conn *conn, const char *schema, bool anew,
                    ctr_fingerprint *seen, ctr_attribute *attribute);

/* Writes the attribute of the file seen last, unless it is at least as new already or the path
 * leads to another file. The next read shows whether that succeeded. */
void ctr_storage_write(ctr_storage *storage, ctr_conn *conn, const char *schema,
                       const ctr_fingerprint *seen, const ctr_pair *pair);

/* Returns whether the bottom VFS of the schema's stack is one of the operating system's, so that
 * the name of the file is a path. Fails without memory. */
bool ctr_storage_is_file(ctr_conn *conn, const char *schema);

/* A second call does nothing. */
void ctr_storage_close(ctr_storage *storage);

/* ==== session.c =============================================================================== */

/* Begins a session. `syncs`: it locks main, and may create virtual tables. */
int ctr_session_begin(ctr_session *session, ctr_conn *conn, bool syncs);

/* Takes the write lock of a schema that has counter tables. The caller calls this before it reads
 * the schema: SQLite does not wait for a lock once it reads. */
int ctr_session_lock(ctr_session *session, const char *schema);

/* Keeps the changed pages of main in memory while a snapshot of the same file is open. If SQLite
 * wrote them early, it would wait for the snapshot each time, as long as the busy timeout. */
int ctr_session_keep_pages(ctr_session *session);

/* Raises the cache of a file from SQLite's 2 MB to 32 MB, unless the host has set a size, because a
 * merge that writes many rows in any order would read most of them from the disk. Whoever has
 * written CTR_SESSION_MANY rows calls it. ctr_session_lower_cache restores SQLite's size if it was
 * raised; after an interrupt, which stops every PRAGMA, the next merge does so. */
enum { CTR_SESSION_MANY = 1000 };

void ctr_session_raise_cache(ctr_file *file);
void ctr_session_lower_cache(ctr_file *file);

/* Prepares the statements again. xCreate of a virtual table calls this. */
int ctr_session_renew(ctr_conn *conn);

/* Commits the work if there is no error, else rolls it back. A failed commit becomes the error at
 * hand. */
void ctr_session_end(ctr_session *session);

/* ==== os.c ==================================================================================== */

/* Returns whether two paths lead to one file, also by a hard link; false if that is unknown. */
bool ctr_os_is_same(const char *one, const char *two);

/* Makes changes of a folder durable, such as a deleted journal. Returns 0 or an errno. */
int ctr_os_sync_folder_of(const char *path);

/* Makes durable a file that is neither a database nor its -shm; a missing one is no error. */
int ctr_os_sync_file(const char *path);

/* Makes a database or its WAL durable by its path on Windows, which syncs nothing through a
 * read-only handle. Elsewhere opens nothing and returns ENOSYS. */
int ctr_os_sync_read(const char *path);

/* Returns milliseconds since 1970. */
int64_t ctr_os_now(void);

/* ==== folder.c: directories that several machines see ========================================= */

#if defined(COUNTER_HAS_ZLIB)

/* A directory that is held open: whoever puts a link in its place meanwhile leads nothing astray.
 * The functions return 0 or an errno. */
typedef struct ctr_folder {
    char *path; /* owned; NULL: it is closed */
    int fd;     /* -1: it is not open */
} ctr_folder;

typedef struct ctr_folder_entry {
    const char *name; /* borrowed */
    enum { CTR_FOLDER_FILE, CTR_FOLDER_FOLDER, CTR_FOLDER_LINK, CTR_FOLDER_OTHER } kind;
    int64_t size;
    int64_t written; /* seconds since 1970 */
    int error;       /* why nothing but its name is known; 0: it is */
} ctr_folder_entry;

/* Open a directory by its path, which may be a link, or one within it, which may not: ELOOP or
 * ENOTDIR. The caller closes it, also after a failure: then it has its path. */
int ctr_folder_open(ctr_folder *opened, const char *path);
int ctr_folder_open_in(ctr_folder *opened, const ctr_folder *in, const char *name);
void ctr_folder_close(ctr_folder *opened);

/* Looks at one entry, or calls `visit` for each in any order, as long as it returns true. */
int ctr_folder_look(const ctr_folder *in, const char *name, ctr_folder_entry *seen);
int ctr_folder_list(const ctr_folder *of, bool (*visit)(void *with, const ctr_folder_entry *entry),
                    void *with);

/* Makes a directory unless there is something of this name. */
int ctr_folder_make(const ctr_folder *in, const char *name);

/* Returns 0, or why nothing can be written into it. On Windows always 0. */
int ctr_folder_may_write(const ctr_folder *in);

/* Create a file that is not there, or open a regular one to be read: EINVAL if it is something
 * else. The caller closes the descriptor; ctr_folder_finish makes it durable before. */
int ctr_folder_create(const ctr_folder *in, const char *name, int *fd);
int ctr_folder_read(const ctr_folder *in, const char *name, int *fd);
int ctr_folder_finish(int fd);

/* Renames a file durably, in place of another one. */
int ctr_folder_rename(const ctr_folder *in, const char *from, const char *to);
void ctr_folder_remove(const ctr_folder *in, const char *name); /* if it can */

#endif

/* =================================================================================================
 * Only files of this folder use what follows.
 */

/* ==== file.c ================================================================================== */

/* ---- the check of the identity: in each transaction once, before it counts ---- */

/* Reads the present fingerprint and attribute into file->seen and file->attribute. */
int ctr_file_look(ctr_file *file);

/* ==== identity.c ============================================================================== */

/* Reasons not to count that other files test. */
#define CTR_REFUSES_RETIRED "retired"
#define CTR_REFUSES_REPLACED "replaced"

/* Reads the identity from CTR_SQL_IDENTITY_READ, prepared on the schema; resets the statement. */
void ctr_identity_take(ctr_conn *conn, ctr_identity *identity, sqlite3_stmt *rows);

/* If it could not be prepared because counter_replica lacks a column, says what the file may be:
 * some files of development, which had the number 3, too, lack one. */
void ctr_identity_refuse_unreleased(ctr_conn *conn);

/* The only function that changes a lineage. file->identity becomes the new one. */
void ctr_succession_follow(ctr_file *file, ctr_verdict verdict);

/* Stops the file from counting; it keeps its id. */
#define CTR_REFUSES_NUMBERS "inode numbers"
void ctr_succession_refuse(ctr_file *file, const char *why);

/* Returns a random number other than 0. */
int64_t ctr_succession_random(void);

/* ---- a name that another file takes over ---- */

/* Lets a pending file count from now on. Fails, naming the missing steps, if it lacks some. The
 * caller has entered the transaction. */
void ctr_succession_start(ctr_file *file);

/* ==== storage.c =============================================================================== */

/* Returns whether the schema keeps this file as long as its VFS is the same. Other schemas can be
 * detached; sqlite3_deserialize, which can replace main, leaves it in the VFS "memdb". */
bool ctr_storage_stays(const ctr_storage *storage, const char *schema);

/* ==== os.c ==================================================================================== */

/* Returns 0 or an errno. */
int ctr_os_stat(const char *path, ctr_fingerprint *fingerprint);

/* Reads the attribute. Its state is CTR_ATTRIBUTE_FOREIGN if it has another form than ours, and
 * UNARMED, with an errno, if attributes cannot be read here. */
int ctr_os_attribute(const char *path, ctr_attribute *attribute);

/* Writes the attribute. The next read shows whether that succeeded. */
void ctr_os_set_attribute(const char *path, const ctr_pair *pair);

/* The facts about a file that file/os.c needs if the system is not POSIX.
 *
 *     windows.c    the index of the file, which has a sequence number, and its creation time; the
 *                  attribute is an alternate data stream. On a volume without named streams, and
 *                  under Wine, creation times may change: we use none there, nor an attribute
 *     browser.c    a random number that the VFS keeps beside the file, and the attribute with it
 *
 * Paths are UTF-8. */
#if defined(_WIN32) || defined(__EMSCRIPTEN__)
#define CTR_OWN_SYSTEM 1

/* Returns milliseconds since 1970. */
int64_t ctr_system_now(void);

/* Returns 0 or an errno. */
int ctr_system_stat(const char *path, ctr_fingerprint *fingerprint);

/* Returns whether two paths lead to one file; false if that is unknown. */
bool ctr_system_is_same(const char *one, const char *two);

/* Reads the attribute, at most `size` bytes. Returns its size, or -1 with errno: ENOENT if there is
 * none, ENOSYS if there cannot be one, ERANGE if it is longer. */
long ctr_system_get(const char *path, uint8_t *value, size_t size);
void ctr_system_set(const char *path, const uint8_t *value, size_t size);

/* Makes a file durable; a missing one is no error. Returns 0 or an errno. */
int ctr_system_sync(const char *path);

#endif

#endif
