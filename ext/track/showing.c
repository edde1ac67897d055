/* track/showing.c - writes the values of counters into the table that shows them. */
#include "track/showing.h"

#include <string.h>

static bool is_live(const ctr_showing *showing, const ctr_summary *states)
{
    for (int i = 0; i < showing->tracked->shape->n_counters; i++)
        if (ctr_summary_is_live(&states[i])) return true;
    return false;
}

bool ctr_showing_value(const ctr_showing *showing, int counter, const ctr_summary *state,
                       ctr_shown *shown)
{
    const ctr_tracked_column *column = ctr_tracked_column_of(showing->tracked, counter);
    *shown = column ? column->blank : (ctr_shown){.null = true};
    if (!ctr_summary_counts(state)) return true;
    shown->null = false;
    return ctr_sum_value(&state->sum, &shown->n) == CTR_OK;
}

int ctr_showing_set_apart(ctr_showing *showing, int64_t rowid, const ctr_shown *shown,
                          const ctr_summary *now, ctr_problem *problem)
{
    const ctr_shape *shape = showing->tracked->shape;
    bool live = is_live(showing, now);
    ctr_apart_remove(&showing->apart, rowid, problem);
    if (!shown) ctr_apart_add(&showing->apart, rowid, NULL, NULL, problem);
    for (int i = 0; shown && i < shape->n_counters; i++) {
        ctr_shown wanted;
        if (!ctr_tracked_column_of(showing->tracked, i)) continue;
        bool is = ctr_showing_value(showing, i, &now[i], &wanted);
        if (!is || !live || !ctr_tracked_same_shown(&shown[i], &wanted))
            ctr_apart_add(&showing->apart, rowid, ctr_shape_counter_name(shape, i), &shown[i],
                          problem);
    }
    return problem->rc;
}

static int refuse_uncounted(ctr_showing *showing, const char *what, ctr_problem *problem)
{
    const ctr_tracked *tracked = showing->tracked;
    char *key = ctr_problem_describe_key(showing->writing.keys, tracked->shape->n_keys);
    if (!key) return ctr_problem_nomem(problem);
    ctr_problem_set(problem, SQLITE_ERROR,
                    "the row %s of the tracked table %s %s while its triggers did not run: call "
                    "counter_track('%s', ...) again, which counts it",
                    key, tracked->table, what, tracked->table);
    sqlite3_free(key);
    return problem->rc;
}

/* Lists what the row shows now, if a trigger changed it while it was written. If a trigger deleted
 * it, its counters were deleted, too, and `now` is no longer their state. */
static void list_again(ctr_showing *showing, int64_t rowid, const ctr_summary *now,
                       ctr_problem *problem)
{
    const ctr_writing *written = &showing->writing;
    if (!written->aside || written->ended || problem->rc != SQLITE_OK) return;
    size_t n = (size_t)showing->tracked->shape->n_counters + 1;
    ctr_shown *shown = sqlite3_malloc64(n * sizeof *shown);
    if (!shown) ctr_problem_nomem(problem);
    if (shown && ctr_writing_look(&showing->writing, showing->writing.keys, shown, NULL, problem))
        ctr_showing_set_apart(showing, rowid, shown, now, problem);
    sqlite3_free(shown);
}

static bool update_row_shown(ctr_showing *showing, int64_t rowid, const ctr_shown *from,
                             const ctr_summary *now, ctr_problem *problem)
{
    bool taken = ctr_writing_update(&showing->writing, from, showing->to, problem);
    list_again(showing, rowid, now, problem);
    return taken;
}

static bool insert_row_shown(ctr_showing *showing, int64_t rowid, const ctr_summary *now,
                             ctr_problem *problem)
{
    bool taken = ctr_writing_insert(&showing->writing, showing->to, problem);
    list_again(showing, rowid, now, problem);
    return taken;
}

/* Deletes the row if one of its counters is deleted and none is live; else updates it. */
static void show_in_row(ctr_showing *showing, int64_t rowid, const ctr_shown *shown,
                        const ctr_summary *now, bool complete, ctr_problem *problem)
{
    bool deleted = false, taken = false;
    for (int i = 0; i < showing->tracked->shape->n_counters; i++)
        deleted = deleted || now[i].life % 2 == 0;
    ctr_apart_remove(&showing->apart, rowid, problem); /* a trigger may list it again */
    if (deleted && !is_live(showing, now))
        taken = ctr_writing_delete(&showing->writing, problem);
    else if (complete)
        taken = update_row_shown(showing, rowid, shown, now, problem);
    if (!taken && !showing->writing.ended && !showing->writing.aside)
        ctr_showing_set_apart(showing, rowid, shown, now, problem);
}

int ctr_showing_look_and_write(ctr_showing *showing, int64_t rowid, bool was_live,
                               const ctr_summary *now, bool complete, ctr_problem *problem)
{
    ctr_apart_row apart;
    bool is_integer;
    size_t n = (size_t)showing->tracked->shape->n_counters + 1;
    ctr_shown *shown = sqlite3_malloc64(n * sizeof *shown);
    if (!shown) ctr_problem_nomem(problem);
    showing->writing.aside = showing->writing.ended = false;
    ctr_apart_read(&showing->apart, rowid, &apart, problem);
    bool there = shown && ctr_writing_look(&showing->writing, showing->writing.keys, shown,
                                           &is_integer, problem);
    for (size_t i = 0; problem->rc == SQLITE_OK && i + 1 < n; i++)
        if (apart.differs_in[i])
            showing->from[i] = apart.shown[i];
        else if (apart.differs && there && ctr_tracked_column_of(showing->tracked, (int)i) &&
                 ctr_tracked_same_shown(&shown[i], &showing->to[i]))
            showing->from[i] = shown[i]; /* listed by a trigger, after the merge */
    if (problem->rc == SQLITE_OK && there) {
        if (is_integer && complete && is_live(showing, now) &&
            ctr_tracked_same_row(showing->tracked, shown, showing->to))
            ctr_apart_remove(&showing->apart, rowid, problem);
        else if (apart.waits || !is_integer ||
                 !ctr_tracked_same_row(showing->tracked, shown, showing->from))
            refuse_uncounted(showing, "was changed", problem);
        else
            show_in_row(showing, rowid, shown, now, complete, problem);
    } else if (problem->rc == SQLITE_OK) {
        bool live = is_live(showing, now);
        if (was_live && !apart.waits && live) {
            refuse_uncounted(showing, "was deleted", problem);
        } else {
            ctr_apart_remove(&showing->apart, rowid, problem);
            if (live && !(complete && insert_row_shown(showing, rowid, now, problem)))
                ctr_showing_set_apart(showing, rowid, NULL, now, problem);
        }
    }
    ctr_apart_close_row(&apart);
    sqlite3_free(shown);
    return problem->rc;
}

bool ctr_showing_take_wanted(ctr_showing *showing, const ctr_summary *now)
{
    bool complete = true;
    for (int i = 0; i < showing->tracked->shape->n_counters; i++)
        complete = ctr_showing_value(showing, i, &now[i], &showing->to[i]) && complete;
    return complete;
}

int ctr_showing_write(ctr_showing *showing, int64_t rowid, ctr_shown_before was, bool known,
                      const ctr_summary *now, ctr_problem *problem)
{
    showing->writing.rowid = rowid;
    showing->writing.aside = showing->writing.ended = false;
    bool complete = ctr_showing_take_wanted(showing, now);
    if (complete && known && is_live(showing, now) && problem->rc == SQLITE_OK) {
        if (was == CTR_SHOWN_NEW && insert_row_shown(showing, rowid, now, problem))
            return problem->rc;
        if (was == CTR_SHOWN_LIVE && update_row_shown(showing, rowid, showing->from, now, problem))
            return problem->rc;
    }
    if (showing->writing.ended || problem->rc != SQLITE_OK) return problem->rc;
    return ctr_showing_look_and_write(showing, rowid, was == CTR_SHOWN_LIVE, now, complete,
                                      problem);
}

ctr_shown_before ctr_showing_before(const ctr_showing *showing, const ctr_summary *before)
{
    if (is_live(showing, before)) return CTR_SHOWN_LIVE;
    bool touched = false;
    for (int i = 0; i < showing->tracked->shape->n_counters; i++)
        touched = touched || before[i].touched;
    return touched ? CTR_SHOWN_DELETED : CTR_SHOWN_NEW;
}

int ctr_showing_row(ctr_showing *showing, int64_t rowid, sqlite3_value **keys,
                    const ctr_shown *from, const ctr_summary *before, const ctr_summary *now,
                    ctr_problem *problem)
{
    bool known = true;
    if (problem->rc != SQLITE_OK) return problem->rc;
    showing->writing.keys = keys;
    for (int i = 0; i < showing->tracked->shape->n_counters; i++) {
        if (from)
            showing->from[i] = from[i];
        else
            known = ctr_showing_value(showing, i, &before[i], &showing->from[i]) && known;
    }
    ctr_shown_before was = from ? CTR_SHOWN_LIVE : ctr_showing_before(showing, before);
    return ctr_showing_write(showing, rowid, was, known, now, problem);
}

/* ---- the whole ------------------------------------------------------------------------------- */

/* Takes what the table tracks, if it is known. */
static int begin_showing(ctr_showing *showing, ctr_tab *tab, ctr_tracked *tracked,
                         ctr_problem *problem)
{
    size_t n = (size_t)tab->shape.n_counters + 1;
    *showing = (ctr_showing){.tracked = tracked,
                             .apart = {.tracked = tracked, .tab = tab},
                             .from = sqlite3_malloc64(n * sizeof *showing->from),
                             .to = sqlite3_malloc64(n * sizeof *showing->to)};
    if (!showing->from || !showing->to) ctr_problem_nomem(problem);
    if (tracked && tracked->table && problem->rc == SQLITE_OK)
        showing->writing = ctr_writing_on(tracked, tab);
    return problem->rc;
}

int ctr_showing_open(ctr_showing *showing, ctr_tab *tab, ctr_problem *problem)
{
    return begin_showing(showing, tab, ctr_triggers_hold(tab, problem), problem);
}

bool ctr_showing_look(ctr_showing *showing, ctr_tab *tab, ctr_problem *problem)
{
    if (begin_showing(showing, tab, ctr_tracked_hold(tab, problem), problem)) return false;
    bool known = showing->tracked->table != NULL;
    for (int i = 0; known && i < tab->shape.n_keys; i++)
        known = ctr_tracked_key(showing->tracked, i)->name != NULL;
    return known;
}

void ctr_showing_close(ctr_showing *showing)
{
    ctr_writing_close(&showing->writing);
    ctr_tracked_release(showing->tracked);
    sqlite3_free(showing->from);
    sqlite3_free(showing->to);
    *showing = (ctr_showing){0};
}
