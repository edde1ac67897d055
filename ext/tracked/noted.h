/* tracked/noted.h - the names of a tracked table and of its columns, as <counters>_state notes them.
 *
 * The triggers have the present names. If they are missing, as after a rebuild of the table, the
 * notes tell which table and which columns were counted.
 */
#ifndef CTR_TRACKED_NOTED_H
#define CTR_TRACKED_NOTED_H

#include "tracked/tracked.h"

/* Take the names of key columns and counters that are not known yet; the regular columns. */
void ctr_noted_read(ctr_tracked *tracked, ctr_problem *problem);
void ctr_noted_read_regular(ctr_tracked *tracked, ctr_problem *problem);

/* Notes the names that are known, if the notes differ. Returns whether it wrote. */
bool ctr_noted_write(const ctr_tracked *tracked, ctr_file *file, ctr_problem *problem);

#endif
