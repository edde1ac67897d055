/* functions/history.c - counter_identity([schema]): the present and former ids of a file.
 *
 *     SELECT id, name, state, since, why, fingerprint, witness, refuses FROM counter_identity();
 *
 *     state          current or former
 *     since, why     UTC; created, copy, restore, conflict, dropped table or fork
 *     fingerprint    of the current id: 'armed', 'weak' (a restore may go unnoticed), or why not
 *     witness        the same
 *     refuses        why the file does not count; NULL if it does
 *
 * Newest first. It changes nothing; the next count acts on a copy or a restore.
 */
#include <string.h>

#include "functions/answer.h"
#include "identity/identity.h"
#include "identity/os.h"
#include "identity/storage.h"
#include "sqlite/text.h"

/* ---- fingerprint and witness ----------------------------------------------------------------- */

static const char UNKNOWN_VFS[] = "not armed: the VFS is not a unix one";

/* A random id is replaced by a new one; a file with a name stops counting. */
static const char *what_follows(const ctr_identity *identity)
{
    return *identity->name ? "the file refuses to count" : "the next count takes a new id";
}

static char *fingerprint_state(const ctr_storage *storage, const ctr_identity *identity,
                               const ctr_fingerprint *seen)
{
    const ctr_lineage *lineage = &identity->lineage;
    const char *state = "armed";
    if (lineage->trusts_witness)
        state = "not armed: the witness alone is trusted";
    else if (storage->kind == CTR_STORAGE_OTHER)
        state = UNKNOWN_VFS;
    else if (!ctr_lineage_same_place(seen, &lineage->fingerprint))
        return sqlite3_mprintf("this is a copy: %s", what_follows(identity));
    else if (ctr_lineage_is_weak(seen))
        state = "weak: the file system gives only the inode, which another file may get";
    return sqlite3_mprintf("%s", state);
}

static char *witness_state(const ctr_storage *storage, const ctr_identity *identity,
                           const ctr_fingerprint *seen, const ctr_attribute *attribute)
{
    if (storage->kind == CTR_STORAGE_MEMORY) return sqlite3_mprintf("armed");
    if (storage->kind == CTR_STORAGE_OTHER) return sqlite3_mprintf("%s", UNKNOWN_VFS);
    switch (attribute->state) {
    case CTR_ATTRIBUTE_UNARMED:
        return sqlite3_mprintf("not armed: extended attributes: %s", strerror(storage->error));
    case CTR_ATTRIBUTE_MISSING:
        return sqlite3_mprintf("not armed: the attribute " CTR_OS_ATTRIBUTE " is not there");
    case CTR_ATTRIBUTE_FOREIGN:
        return sqlite3_mprintf(
            "not armed: another program has written the attribute " CTR_OS_ATTRIBUTE);
    case CTR_ATTRIBUTE_READ: break;
    }
    if (ctr_lineage_judge(&identity->lineage, seen, attribute).why == CTR_WHY_NONE)
        return sqlite3_mprintf("armed");
    return sqlite3_mprintf("this is older content, or a copy: %s", what_follows(identity));
}

/* The present state of the file. */
typedef struct states {
    char *fingerprint, *witness; /* owned */
} states;

static void take_states(states *now, sqlite3 *db, const char *schema, const ctr_identity *identity,
                        ctr_problem *problem)
{
    ctr_storage storage = {.kind = CTR_STORAGE_UNASKED};
    ctr_fingerprint seen;
    ctr_attribute attribute;
    if (ctr_storage_see(&storage, db, schema, true, &seen, &attribute, problem) == SQLITE_OK) {
        now->fingerprint = fingerprint_state(&storage, identity, &seen);
        now->witness = witness_state(&storage, identity, &seen, &attribute);
        if (!now->fingerprint || !now->witness) ctr_problem_nomem(problem);
    }
    ctr_storage_close(&storage);
}

/* ---- the answer ------------------------------------------------------------------------------ */

/* Columns of CTR_SQL_IDENTITY_HISTORY. */
enum { HISTORY_ID, HISTORY_NAME, HISTORY_STATE, HISTORY_SINCE, HISTORY_WHY, HISTORY_REFUSES };

static void show_id(ctr_answer *answer, sqlite3_stmt *row, ctr_problem *problem)
{
    char text[CTR_ID_TEXT_SIZE];
    const void *id = sqlite3_column_blob(row, HISTORY_ID);
    bool whole = id && sqlite3_column_bytes(row, HISTORY_ID) == CTR_ID_SIZE;
    if (whole) ctr_id_to_text(id, text);
    ctr_answer_text(answer, whole ? text : NULL, problem);
}

static void show_row(ctr_answer *answer, sqlite3_stmt *row, const states *now, ctr_problem *problem)
{
    const char *state = ctr_text_column(row, HISTORY_STATE, problem);
    bool current = state && strcmp(state, "former") != 0;
    show_id(answer, row, problem);
    for (int i = HISTORY_NAME; i <= HISTORY_WHY; i++)
        ctr_answer_value(answer, sqlite3_column_value(row, i), problem);
    ctr_answer_text(answer, current ? now->fingerprint : NULL, problem);
    ctr_answer_text(answer, current ? now->witness : NULL, problem);
    ctr_answer_value(answer, sqlite3_column_value(row, HISTORY_REFUSES), problem);
}

/* A file without an identity has no rows. */
static void show_history(ctr_answer *answer, sqlite3_value **args, ctr_problem *problem)
{
    ctr_identity identity;
    states now = {NULL, NULL};
    sqlite3 *db = ctr_answer_db(answer);
    const char *schema = ctr_answer_schema(answer, args[0], problem);
    if (!schema || ctr_identity_read(&identity, db, schema, problem) || !identity.present) return;
    take_states(&now, db, schema, &identity, problem);
    ctr_run run = ctr_run_on(db, schema, NULL, problem);
    sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_IDENTITY_HISTORY);
    while (ctr_run_row(&run, row)) show_row(answer, row, &now, problem);
    sqlite3_finalize(row);
    sqlite3_free(now.fingerprint);
    sqlite3_free(now.witness);
}

int ctr_history_register(sqlite3 *db, ctr_shared *shared)
{
    static const ctr_answer_kind KIND = {
        .name = "counter_identity",
        .columns = "id TEXT, name TEXT, state TEXT, since TEXT, why TEXT, fingerprint TEXT, "
                   "witness TEXT, refuses TEXT",
        .args = "schema HIDDEN",
        .n_columns = 8,
        .n_args = 1,
        .fill = show_history};
    return ctr_answer_register(db, shared, &KIND, 1);
}
