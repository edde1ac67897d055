/* store/post.h - the inside of a guard, for the files that are it.
 *
 *     guard.c         posts, statements that are kept, joining a transaction and its end
 *     watch.c         looks whether the identity is still that of the file; renews
 *     succession.c    what follows when it is not: a new id, or a refusal
 *     journal.c       what the transaction has changed
 */
#ifndef CTR_STORE_POST_H
#define CTR_STORE_POST_H

#include "store/guard.h"
#include "store/medium.h"
#include "store/succession.h"
#include "store/watch.h"

/* What must be done with the attribute once the transaction has committed. */
typedef enum ctr_after_commit {
    CTR_AFTER_NOTHING,
    CTR_AFTER_READ, /* read the pair when it is about to commit */
    CTR_AFTER_WRITE
} ctr_after_commit;

struct ctr_post {
    ctr_guard *guard;
    char *schema;
    int holders;
    ctr_post *next;

    /* True for this transaction alone. */
    bool checked, renewed;
    bool counted; /* perhaps; a rollback to a savepoint does not clear it, nor the next */
    const ctr_post *taken_from; /* the file has what that one has counted; mostly NULL */
    ctr_identity identity;
    ctr_fingerprint seen;
    ctr_attribute attribute;
    ctr_after_commit after;
    ctr_pair pair; /* if `after` is CTR_AFTER_WRITE */

    /* The number for the next change, and the data version of the file for which it is known. */
    bool numbered;
    unsigned numbers_version;
    int64_t next_number;

    unsigned version; /* the data version of the file, while the identity is checked */

    /* `identity` is what the file says, as of a data version. */
    bool known;
    unsigned known_version;

    ctr_medium medium;
    sqlite3_stmt *read, *renew, *probe;
    struct ctr_journal *journals;      /* of its tables; see store/journal.h */
    const struct ctr_writing *writing; /* the row of a tracked table at work, or NULL */
};

struct ctr_guard {
    sqlite3 *db;
    ctr_post *posts;
    sqlite3_stmt *schema, *join;
    int (*renew_witness)(void *arg, int number);
    void *arg;
    int witnesses;  /* the number of the last one */
    bool is_memory; /* main was of the VFS "memdb" when the last transaction was joined */
    bool has_keeper, joined;
    int told;  /* tables that are told how the transaction goes */
    bool busy; /* with an identity; a trigger on it must not come back here */

    /* Savepoints that are open, as far as we were told; and how many were when a half-done
     * statement could not be taken back. */
    int depth;

    /* SQLite tells each table of each savepoint: all journals have marks of the levels below the
     * first number, and none has one from the second on. Has any noted something since nothing was
     * pending? */
    int marked_least, marked_most;
    bool noted;

    bool spoiled;
    int spoiled_depth;
    unsigned ended;     /* transactions */
    ctr_wanted *wanted; /* borrowed; mostly NULL */
    ctr_stats stats;
};

#define CTR_REFUSES_NUMBERS "inode numbers"

/* guard.c */

/* Takes the guard for one piece of work, or sets a problem. */
bool ctr_guard_enter(ctr_post *post, ctr_problem *problem);
int ctr_guard_leave(ctr_post *post, ctr_problem *problem);

/* Prepares what the keeper keeps, with a table or NULL; the first look at it calls it
 * into being. */
sqlite3_stmt *ctr_guard_keep(ctr_post *post, sqlite3_stmt **slot, const char *table, ctr_sql which,
                             ctr_problem *problem);

/* To be called once the statement has run: nothing can be kept where something else has the name of
 * the keeper. */
void ctr_guard_keep_no_more(ctr_post *post);

/* The data version of the file. Once the identity is checked the lock is held: it stays what it
 * was, and SQLite is not asked again. */
unsigned ctr_guard_version(ctr_post *post);

/* watch.c */

/* Reads the row into post->identity; absent is no problem. */
int ctr_watch_read(ctr_post *post, ctr_problem *problem);

/* What is seen of the file now, into post->seen and post->attribute. */
int ctr_watch_see(ctr_post *post, ctr_problem *problem);

/* succession.c */

/* The one place where a lineage changes; post->identity is the new one. */
void ctr_succession_follow(ctr_post *post, ctr_verdict verdict, ctr_problem *problem);

/* The file stops to count, and keeps its id. */
void ctr_succession_refuse(ctr_post *post, const char *why, ctr_problem *problem);

/* A random number that is not 0. */
int64_t ctr_succession_random(void);

#endif
