/* vtab/alter.c - the commands that add and drop a counter.
 *
 *     INSERT INTO t(t) VALUES ('add column errors')       also: 'add column "5xx errors" COUNTER'
 *     INSERT INTO t(t) VALUES ('drop column errors')
 *
 * A pull and counter_track also add and drop counters here, by ctr_columns_ask().
 *
 * SQLite notices that the stored table changed and connects to the table again, in every
 * connection. Each command reads the columns itself, because one statement may give several
 * commands.
 *
 * A file that drops a counter forgets its own shards. Within the table, the generation separates
 * them from all later ones; but their cells may have been copied into other tables, so the file
 * takes a new id. A file with a name keeps its id, because the name was chosen to stay.
 */
#include "table/columns.h"

#include "identity/replica.h"
#include "identity/succession.h"
#include "sync/merge.h"
#include "table/refuse.h"
#include "table/stored.h"
#include "vtab/table.h"

static int refuse_last(const char *name, ctr_problem *problem)
{
    return ctr_problem_set(problem, SQLITE_ERROR,
                           "column %s is the last counter: a counter table needs at least one",
                           name);
}

static int refuse_generations(const char *name, ctr_problem *problem)
{
    return ctr_problem_set(problem, SQLITE_ERROR,
                           "column %s was added and dropped %lld times, which is the limit", name,
                           (long long)CTR_GENERATION_MAX);
}

/* If the column exists neither before nor after, SQLite sees no change. */
static int64_t raise_counter_of(ctr_table *table, const ctr_shape *shape, const char *name,
                                int64_t generation, ctr_problem *problem)
{
    int64_t emptied = ctr_columns_raise(table->replica, table->db, table->schema, table->name,
                                        shape, name, generation, problem);
    bool changes = ctr_shape_counter(shape, name) >= 0 || generation % 2 == 1;
    if (changes && problem->rc == SQLITE_OK) table->altered = true;
    return emptied;
}

static void raise_here(ctr_table *table, const ctr_shape *shape, const char *name,
                       ctr_problem *problem)
{
    const char *spelling;
    int64_t generation = ctr_shape_generation(shape, name, &spelling) + 1;
    if (generation > CTR_GENERATION_MAX) refuse_generations(name, problem);
    if (problem->rc != SQLITE_OK) return;
    raise_counter_of(table, shape, name, generation, problem);
}

static void add_counter(ctr_table *table, const ctr_shape *shape, const char *clause,
                        ctr_problem *problem)
{
    char *name = ctr_declare_counter(table->name, clause, problem);
    if (!name) return;
    if (ctr_shape_counter(shape, name) >= 0)
        ctr_problem_set(problem, SQLITE_ERROR, "the counter %s exists already", name);
    ctr_columns_check(shape, table->db, table->name, name, problem);
    raise_here(table, shape, name, problem);
    sqlite3_free(name);
}

static void leave_id(ctr_table *table, ctr_problem *problem)
{
    const ctr_identity *identity = ctr_replica_identity(table->replica, problem);
    if (identity && !*identity->name)
        ctr_succession_lineage_changed(table->replica, CTR_WHY_DROPPED, problem);
}

/* The id is changed first: a new id does no harm if the drop fails. */
static void drop_counter(ctr_table *table, const ctr_shape *shape, const char *name,
                         ctr_problem *problem)
{
    int found = ctr_shape_counter_like(shape, name);
    if (found < 0) {
        ctr_commands_refuse_name(name, problem);
        return;
    }
    const char *counter = ctr_shape_counter_name(shape, found);
    if (shape->n_counters == 1 && refuse_last(counter, problem)) return;
    leave_id(table, problem);
    raise_here(table, shape, counter, problem);
}

/* Refuses triggers on the stored tables, which could see them change. */
static void read_shape(ctr_table *table, ctr_shape *shape, ctr_problem *problem)
{
    ctr_refuse_triggers(table->db, table->schema, table->name, false, problem);
    if (problem->rc == SQLITE_OK)
        ctr_stored_read(shape, table->db, table->schema, table->name, problem);
}

/* SQLite rolls a transaction back if a write returns SQLITE_INTERRUPT, but an interrupted inner
 * statement may return another code. The statements by which a pull is rolled back are renewed,
 * because the schema has changed. */
static void prefer_interrupt(ctr_table *table, ctr_problem *problem)
{
    if (problem->rc == SQLITE_OK) ctr_session_renew(table->sessions, problem);
    if (problem->rc == SQLITE_OK || problem->rc == SQLITE_INTERRUPT) return;
    ctr_problem now = {SQLITE_OK, NULL};
    ctr_run_busy_timeout(table->db, &now);
    if (now.rc == SQLITE_INTERRUPT) {
        ctr_problem_close(problem);
        *problem = now;
    } else {
        ctr_problem_close(&now);
    }
}

void ctr_alter_take(ctr_table *table, ctr_wanted *wanted, ctr_problem *problem)
{
    ctr_shape shape = {0};
    if (problem->rc == SQLITE_OK) read_shape(table, &shape, problem);
    if (problem->rc == SQLITE_OK)
        wanted->emptied =
            raise_counter_of(table, &shape, wanted->name, wanted->generation, problem);
    prefer_interrupt(table, problem);
    ctr_shape_close(&shape);
}

bool ctr_alter_run(ctr_table *table, sqlite3_value **columns, const char *command,
                   ctr_problem *problem)
{
    const char *to_add = ctr_commands_name(command, "add column"),
               *to_drop = ctr_commands_name(command, "drop column");
    ctr_shape shape = {0};
    if (!to_add && !to_drop) return false;
    if (table->tracked)
        ctr_problem_set(
            problem, SQLITE_ERROR,
            "'%s' is not a command for the counters of a tracked table: counter_track and "
            "counter_untrack add and drop its columns",
            command);
    ctr_commands_refuse_values(table, columns, command, problem);
    if (problem->rc == SQLITE_OK) read_shape(table, &shape, problem);
    if (problem->rc == SQLITE_OK && to_add) add_counter(table, &shape, to_add, problem);
    if (problem->rc == SQLITE_OK && to_drop) drop_counter(table, &shape, to_drop, problem);
    prefer_interrupt(table, problem);
    ctr_shape_close(&shape);
    return true;
}
