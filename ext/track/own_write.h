/* track/own_write.h - the row of a tracked table that the library is writing.
 *
 * Writing the table fires its triggers, which report the row. So the file knows the row being
 * written (track/writing.h), and does not count it again.
 */
#ifndef CTR_TRACK_OWN_WRITE_H
#define CTR_TRACK_OWN_WRITE_H

#include "track/tracked.h"

/* Return whether the library is writing a row of the schema; the row with this id; the row with
 * this id, or with exactly this key and not ended, and with these values (NULL: deleted). */
bool ctr_own_write_runs(const ctr_file *file);
bool ctr_own_write_is_of_rowid(const ctr_file *file, const char *counters, int64_t rowid);
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
