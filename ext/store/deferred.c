/* store/deferred.c - decides which rows are kept, and writes them. */
#include "store/deferred.h"

#include <string.h>

#include "store/post.h"

/* ---- who keeps ------------------------------------------------------------------------------- */

int ctr_deferred_settle_others(ctr_rows *rows, ctr_problem *problem)
{
    ctr_rows *first = rows->post->keeping;
    if (!first || (first == rows && !first->next)) return problem->rc;
    for (ctr_rows *other = first; other; other = other->next)
        if (other != rows && sqlite3_stricmp(other->table, rows->table) == 0)
            return ctr_deferred_settle(rows->post, problem);
    return problem->rc;
}

static void link_rows(ctr_rows *rows)
{
    if (rows->keeps) return;
    rows->keeps = true;
    rows->next = rows->post->keeping;
    rows->post->keeping = rows;
}

static void unlink_rows(ctr_rows *rows)
{
    if (!rows->keeps) return;
    ctr_rows **at = &rows->post->keeping;
    while (*at != rows) at = &(*at)->next;
    *at = rows->next;
    rows->next = NULL;
    rows->keeps = false;
}

void ctr_deferred_close(ctr_rows *rows)
{
    if (rows->post) unlink_rows(rows);
    ctr_buffer_clear(&rows->buffer);
    sqlite3_free(rows->buffer.by_spelling);
    sqlite3_free(rows->buffer.entries);
    sqlite3_free(rows->spelling.bytes);
}

ctr_entry *ctr_deferred_key(ctr_rows *rows, sqlite3_value **keys, ctr_problem *problem)
{
    if (ctr_deferred_settle_others(rows, problem)) return NULL;
    if (ctr_pack_values(&rows->spelling, keys, rows->shape->n_keys, problem)) return NULL;
    rows->hash = ctr_buffer_hash(rows->spelling.bytes, rows->spelling.size);
    ctr_entry *entry =
        ctr_buffer_spelled(&rows->buffer, rows->hash, rows->spelling.bytes, rows->spelling.size);
    if (!entry && ctr_buffer_is_full(&rows->buffer)) ctr_deferred_settle(rows->post, problem);
    return entry;
}

/* ---- keeping --------------------------------------------------------------------------------- */

int ctr_deferred_change(ctr_rows *rows, ctr_problem *problem)
{
    for (int i = 0; i < rows->shape->n_counters; i++)
        if (rows->changes[i].set)
            ctr_buffer_reserve(&rows->buffer, rows->entry, i, rows->changes[i].size, problem);
    for (int i = 0; problem->rc == SQLITE_OK && i < rows->shape->n_counters; i++) {
        const struct ctr_new_cell *cell = &rows->changes[i];
        if (cell->set) ctr_buffer_set(rows->entry, i, rows->fresh.bytes + cell->offset, cell->size);
    }
    return problem->rc;
}

/* A row that has just been inserted, as it is stored. No memory for it is no problem. */
static void keep_new(ctr_rows *rows)
{
    ctr_problem problem = {SQLITE_OK, NULL};
    for (int i = 0; i < rows->shape->n_counters; i++) ctr_rows_staged(rows, i, &rows->cells[i]);
    ctr_buffer_add(&rows->buffer, rows->rowid, rows->number, rows->cells, rows->hash,
                   rows->spelling.bytes, rows->spelling.size, &problem);
    ctr_problem_close(&problem);
}

/* One that was not found by its key has no spelling. */
static int keep_found(ctr_rows *rows, ctr_problem *problem)
{
    size_t size = rows->spelled ? rows->spelling.size : 0;
    rows->entry = ctr_buffer_add(&rows->buffer, rows->rowid, rows->number, rows->cells, rows->hash,
                                 rows->spelling.bytes, size, problem);
    return rows->entry ? ctr_deferred_change(rows, problem) : problem->rc;
}

/* Where the buffer is full the row at hand is written by itself: to write the others would stand at
 * them. */
int ctr_deferred_write(ctr_rows *rows, sqlite3_value **keys, ctr_problem *problem)
{
    bool was_there = rows->found, full = ctr_buffer_is_full(&rows->buffer);
    if (rows->entry || !rows->defers || full || ctr_rows_have_triggers(rows, problem))
        return ctr_rows_write(rows, keys, problem);
    if (!was_there && ctr_rows_write(rows, keys, problem)) return problem->rc;
    link_rows(rows);
    if (was_there)
        keep_found(rows, problem);
    else if (rows->spelled)
        keep_new(rows);
    return problem->rc;
}

/* ---- writing --------------------------------------------------------------------------------- */

static int write_entry(ctr_rows *rows, ctr_entry *entry, ctr_problem *problem)
{
    ctr_rows_stand_at(rows, entry->rowid, entry->number);
    for (int i = 0; i < rows->shape->n_counters; i++) {
        const ctr_cell *cell = &entry->cells[i].cell;
        if (!entry->cells[i].dirty) continue;
        uint8_t *out = ctr_rows_room(rows, cell->size, problem);
        if (!out) return problem->rc;
        if (cell->size > 0) memcpy(out, cell->bytes, cell->size);
        ctr_rows_set(rows, i, cell->size);
    }
    if (ctr_rows_write(rows, NULL, problem)) return problem->rc;
    entry->dirty = false;
    return problem->rc;
}

static void forget_kept(ctr_rows *rows)
{
    unlink_rows(rows);
    rows->entry = NULL;
    ctr_buffer_clear(&rows->buffer);
}

/* What is written is not written again, if the rest fails and is tried once more. The row at hand
 * is still asked for its row id. */
static int write_kept(ctr_rows *rows, ctr_problem *problem)
{
    int64_t rowid = rows->rowid;
    ctr_buffer *buffer = &rows->buffer;
    ctr_buffer_sort(buffer);
    for (size_t i = 0; i < buffer->n && problem->rc == SQLITE_OK; i++)
        if (buffer->entries[i]->dirty) write_entry(rows, buffer->entries[i], problem);
    ctr_rows_stand_at(rows, rowid, 0);
    ctr_problem_where(problem, "%s", rows->table);
    return problem->rc;
}

/* A write that runs triggers has a savepoint of its own, which would begin that of the statement
 * at work too early: where that fails, the rows would be gone. */
static int check_triggers(ctr_rows *rows, ctr_problem *problem)
{
    if (ctr_rows_have_triggers_now(rows, problem))
        ctr_problem_set(problem, SQLITE_ERROR,
                        "%s has counted, and its stored table has got a trigger since: COMMIT "
                        "before this statement",
                        rows->table);
    return problem->rc;
}

static void end_work(ctr_rows *rows)
{
    rows->settling = false;
    if (rows->abandoned) rows->abandoned(rows->owner);
}

int ctr_deferred_settle_for_savepoint(ctr_post *post, ctr_problem *problem)
{
    ctr_rows *next;
    for (ctr_rows *rows = post->keeping; rows && problem->rc == SQLITE_OK; rows = next) {
        rows->settling = true;
        check_triggers(rows, problem);
        next = rows->next;
        end_work(rows);
    }
    return ctr_deferred_settle(post, problem);
}

/* A table that is being written is passed over: a trigger of somebody's looks on. */
static ctr_rows *next_to_write(const ctr_post *post)
{
    ctr_rows *rows = post->keeping;
    while (rows && rows->writing) rows = rows->next;
    return rows;
}

int ctr_deferred_settle(ctr_post *post, ctr_problem *problem)
{
    ctr_rows *rows;
    while (problem->rc == SQLITE_OK && (rows = next_to_write(post))) {
        rows->settling = true;
        if (write_kept(rows, problem) == SQLITE_OK) forget_kept(rows);
        end_work(rows);
    }
    return problem->rc;
}

bool ctr_deferred_outlives(ctr_rows *rows, void (*close)(void *owner), void *owner)
{
    if (!rows->settling) return false;
    rows->abandoned = close;
    rows->owner = owner;
    return true;
}

void ctr_deferred_discard(ctr_post *post)
{
    while (post->keeping) {
        ctr_rows *rows = post->keeping;
        forget_kept(rows);
    }
}
