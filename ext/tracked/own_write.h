/* tracked/own_write.h - the row of a tracked table that the library is writing.
 *
 * Writing the table fires its triggers, which report the row. So the file knows the row being
 * written (tracked/writing.h), and does not count it again.
 */
#ifndef CTR_TRACKED_OWN_WRITE_H
#define CTR_TRACKED_OWN_WRITE_H

#include "tracked/tracked.h"

/* Returns whether the library is writing a row of the file. */
bool ctr_own_write_runs(const ctr_file *file);

/* Returns whether it is writing the row whose cells have this id. */
bool ctr_own_write_is_of_rowid(const ctr_file *file, const char *counters, int64_t rowid);

/* Return whether it is writing the row with this id, or with exactly this key and not ended, with
 * these values, by counter (NULL: it deletes the row). Then they note that our trigger has seen
 * them. */
bool ctr_own_write_is_rowid(const ctr_file *file, const char *counters, int64_t rowid,
                            const ctr_shown *shown);
bool ctr_own_write_is_row(const ctr_file *file, const char *counters, sqlite3_value **keys,
                          const ctr_shown *shown);

/* Returns whether our trigger must fail the statement that writes a row: only so can it be undone
 * while another statement writes, if it has broken a deferred foreign key. A trigger that would run
 * after ours and repair that comes too late. */
bool ctr_own_write_refuses(const ctr_file *file);

/* Note that a trigger changed or deleted a row, if it is the one that the library is writing. */
void ctr_own_write_note_aside(const ctr_file *file, const char *counters, int64_t rowid);
void ctr_own_write_note_ended(const ctr_file *file, const char *counters, int64_t rowid);

#endif
