/* tracked/own_write.c - the row of a tracked table that the library is writing. */
#include "tracked/tracked.h"

#include <string.h>

bool ctr_own_write_runs(const ctr_file *file)
{
    return file->writing != NULL;
}

/* Returns whether these are the values to show, and notes that our trigger has seen them. */
static bool note_if_wanted(ctr_writing *writing, const ctr_shown *shown)
{
    bool is = !shown && !writing->want;
    if (shown && writing->want) is = ctr_tracked_same_row(writing->tracked, shown, writing->want);
    writing->reported = writing->reported || is;
    return is;
}

bool ctr_own_write_is_row(const ctr_file *file, const char *counters, sqlite3_value **keys,
                          const ctr_shown *shown)
{
    ctr_writing *writing = file->writing;
    if (!writing || strcmp(writing->tracked->counters, counters) != 0) return false;
    for (int i = 0; i < writing->tracked->shape->n_keys; i++)
        if (!ctr_text_alike(keys[i], writing->keys[i])) return false;
    return note_if_wanted(writing, shown) && !writing->ended;
}

bool ctr_own_write_is_of_rowid(const ctr_file *file, const char *counters, int64_t rowid)
{
    const ctr_writing *writing = file->writing;
    return writing && strcmp(writing->tracked->counters, counters) == 0 && writing->rowid == rowid;
}

bool ctr_own_write_is_rowid(const ctr_file *file, const char *counters, int64_t rowid,
                            const ctr_shown *shown)
{
    return ctr_own_write_is_of_rowid(file, counters, rowid) && note_if_wanted(file->writing, shown);
}

bool ctr_own_write_refuses(const ctr_file *file)
{
    const ctr_writing *writing = file->writing;
    return writing && writing->unsaved && ctr_foreign_broken(writing->tracked->db);
}

void ctr_own_write_note_aside(const ctr_file *file, const char *counters, int64_t rowid)
{
    if (ctr_own_write_is_of_rowid(file, counters, rowid)) file->writing->aside = true;
}

void ctr_own_write_note_ended(const ctr_file *file, const char *counters, int64_t rowid)
{
    if (ctr_own_write_is_of_rowid(file, counters, rowid)) file->writing->ended = true;
}
