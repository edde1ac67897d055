/* functions/opening.c - counter_opening: whether the values that two files had when they began to
 * track a table are one stock, or two.
 *
 *     SELECT counter_opening('products', 'same');          one stock in all files that say so
 *     SELECT counter_opening('products', 'same', id);      ours and those of another file are one
 *     SELECT counter_opening('products', 'add', id);       they add up
 *     SELECT counter_opening('products', 'same', a, b);    of two other files
 *
 * `id` is that of an opening (table/openings.h), as the error of a pull shows it. The result is the
 * number of rows that have another value now. Merges carry the answer to all files; the same answer
 * again changes nothing. 'same' beats 'add', so it also repairs values that were added up.
 *
 * `table` is a tracked table or a counter table, in temp, main or an attached database, or
 * 'schema.table'.
 */
#include <string.h>

#include "functions/functions.h"

static const char COUNTER_OPENING[] = "counter_opening";

/* One call. */
typedef struct answering {
    sqlite3 *db;
    ctr_conn *conn;
    char *schema;            /* owned */
    ctr_catalog_entry entry; /* of the counter table */
    bool tracks;             /* the table is tracked in this file */
    ctr_answer_to answer;
    int n_ids;
    uint8_t ids[2][CTR_ID_SIZE];
    uint8_t *answers; /* owned: n of CTR_ANSWER_SIZE bytes each */
    size_t n, room;
} answering;

/* Takes the counter table of a tracked table, or the counter table itself. */
static bool look_for_counters(void *with, const char *schema, const char *table,
                              ctr_problem *problem)
{
    answering *call = with;
    ctr_identity identity;
    if (ctr_identity_read(&identity, call->db, schema, problem)) return false;
    ctr_file *file = ctr_file_of(call->conn, schema);
    if (!file) ctr_problem_nomem(problem);
    char *counters = file ? ctr_triggers_counters(file, table, problem) : NULL;
    bool found =
        ctr_catalog_named(&call->entry, call->db, schema, counters ? counters : table, problem);
    call->tracks = counters != NULL;
    sqlite3_free(counters);
    if (found) call->schema = ctr_text_copy(schema, problem);
    return found;
}

static void add_answer(answering *call, const uint8_t *a, const uint8_t *b, ctr_problem *problem)
{
    uint8_t *answers =
        ctr_array_room(call->answers, &call->room, call->n + 1, CTR_ANSWER_SIZE, problem);
    if (!answers) return;
    call->answers = answers;
    ctr_openings_write(answers + call->n++ * CTR_ANSWER_SIZE, a, b, call->answer);
}

/* Makes the answers: about both given openings; else about each of ours and the given one, or the
 * one of the name. */
static void make_answers(answering *call, const ctr_openings *openings, ctr_problem *problem)
{
    uint8_t birth[CTR_ID_SIZE];
    const uint8_t *other = call->ids[0];
    if (call->n_ids == 2) {
        if (memcmp(call->ids[0], call->ids[1], CTR_ID_SIZE) == 0)
            ctr_problem_set(problem, SQLITE_ERROR, "the two openings must differ");
        add_answer(call, call->ids[0], call->ids[1], problem);
        return;
    }
    if (call->n_ids == 1 && ctr_openings_is_own(openings, other) && openings->n_own == 1)
        ctr_problem_set(problem, SQLITE_ERROR,
                        "the opening is that of this file: name the one of the other file");
    if (openings->n_own == 0 && (call->n_ids == 1 || !call->tracks))
        ctr_problem_set(problem, SQLITE_ERROR,
                        "this file has no opening values of its own: name two openings");
    if (call->n_ids == 0) {
        ctr_openings_of_birth(call->entry.birth, birth, problem);
        other = birth;
    }
    for (size_t i = 0; i < openings->n_own && problem->rc == SQLITE_OK; i++) {
        const uint8_t *own = openings->own + i * CTR_ID_SIZE;
        if (memcmp(own, other, CTR_ID_SIZE) != 0) add_answer(call, own, other, problem);
    }
}

/* Takes the answers as a merge would. */
static int64_t take_answers(answering *call, ctr_problem *problem)
{
    int64_t changed = 0;
    ctr_merge merge;
    ctr_file *file = ctr_file_of(call->conn, call->schema);
    ctr_conflicts conflicts = {.file = file};
    if (!file) ctr_problem_nomem(problem);
    ctr_run run = ctr_run_on(call->db, call->schema, call->entry.name, problem);
    ctr_run_do(&run, CTR_SQL_SYNC_JOIN, NULL);
    if (problem->rc == SQLITE_OK) ctr_file_identity(file, problem);
    if (problem->rc != SQLITE_OK) return 0;
    ctr_merge_open(&merge, file, call->entry.birth, &conflicts, problem);
    const ctr_openings *openings =
        problem->rc == SQLITE_OK ? ctr_merge_openings(&merge, problem) : NULL;
    if (openings) make_answers(call, openings, problem);
    if (problem->rc == SQLITE_OK)
        changed = ctr_answers_take(&merge, call->answers, call->n, problem);
    ctr_merge_close(&merge);
    if (problem->rc == SQLITE_OK) ctr_pull_show_apart(file, problem); /* rows that awaited it */
    return changed;
}

static int64_t answer_in_session(answering *call, const char *table, ctr_problem *problem)
{
    int64_t changed = 0, inserted = sqlite3_last_insert_rowid(call->db);
    ctr_session session;
    if (ctr_session_begin(&session, call->db, call->conn, problem) == SQLITE_OK) {
        if (!ctr_schema_find(call->db, table, look_for_counters, call, problem))
            ctr_problem_set(problem, SQLITE_ERROR, "there is no tracked table '%s'", table);
        if (problem->rc == SQLITE_OK) ctr_events_append(call->conn, problem);
        if (problem->rc == SQLITE_OK) changed = take_answers(call, problem);
        ctr_events_write_ahead(call->conn, problem);
    }
    ctr_session_end(&session, problem);
    sqlite3_set_last_insert_rowid(call->db, inserted);
    return changed;
}

static bool take_arguments(sqlite3_context *ctx, answering *call, int argc, sqlite3_value **argv)
{
    const char *answer = ctr_arg_text(ctx, COUNTER_OPENING, "the answer", argv[1]);
    if (!answer) return false;
    if (sqlite3_stricmp(answer, "same") == 0) call->answer = CTR_SAME;
    if (sqlite3_stricmp(answer, "add") == 0) call->answer = CTR_ADD;
    if (call->answer == CTR_UNANSWERED)
        return ctr_arg_refuse(ctx, COUNTER_OPENING, "the answer", "'same' or 'add'", argv[1]);
    if (call->answer == CTR_ADD && argc == 2) {
        ctr_arg_error(
            ctx, "%s: 'add' needs the opening of the other file, which the refused merge shows",
            COUNTER_OPENING);
        return false;
    }
    for (int i = 2; i < argc; i++) {
        if (!ctr_arg_id(ctx, COUNTER_OPENING, "an opening", argv[i], call->ids[call->n_ids]))
            return false;
        if (!ctr_id_is_opening(call->ids[call->n_ids++]))
            return ctr_arg_refuse(ctx, COUNTER_OPENING, "an opening",
                                  "a UUID of version 8, as a pull shows it", argv[i]);
    }
    return true;
}

static void fn_opening(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
    answering call = {.db = sqlite3_context_db_handle(ctx), .conn = sqlite3_user_data(ctx)};
    ctr_problem problem = {SQLITE_OK, NULL};
    const char *table = ctr_arg_text(ctx, COUNTER_OPENING, "the table", argv[0]);
    if (!table || !take_arguments(ctx, &call, argc, argv)) return;
    int64_t changed = answer_in_session(&call, table, &problem);
    if (ctr_arg_problem(ctx, COUNTER_OPENING, &problem)) sqlite3_result_int64(ctx, changed);
    ctr_catalog_close_entry(&call.entry);
    sqlite3_free(call.schema);
    sqlite3_free(call.answers);
}

int ctr_opening_register(sqlite3 *db, ctr_conn *conn)
{
    static const ctr_function FUNCTIONS[] = {{COUNTER_OPENING, 2, 4, CTR_ADMIN, fn_opening}};
    return ctr_shared_functions(db, conn, FUNCTIONS, sizeof FUNCTIONS / sizeof *FUNCTIONS);
}
