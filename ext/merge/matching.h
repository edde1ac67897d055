/* merge/matching.h - matches the regular columns of a replicated table with those of a source.
 *
 * Columns belong together by the names that they had when they were replicated first
 * (table/regular.h), whatever their numbers and present names. One that only we have is not merged.
 * One that only the source has is not merged if our table has no such column. One that is a counter
 * on one side and a regular column on the other is refused.
 */
#ifndef CTR_MERGE_MATCHING_H
#define CTR_MERGE_MATCHING_H

#include "merge/merge.h"

/* Sets later->map, and opens later->values at the table that `from` counts, for the replicated
 * table that `to` merges into; messages call its file `called`. ctr_later_close closes both. Fails
 * with SQLITE_ERROR if two columns differ in their affinity, because values would be converted, or
 * if our table has a column of the source that is not replicated here yet. */
int ctr_matching_open(ctr_later *later, const ctr_merge *to, ctr_tab *from, const char *called,
                      ctr_problem *problem);

/* Fails with SQLITE_ERROR if a counter of the source, whose shape is `from`, is a regular column of
 * the table that `to` merges into. */
void ctr_matching_refuse_counters(const ctr_merge *to, const ctr_shape *from, const char *called,
                                  ctr_problem *problem);

/* Appends the regular columns of the table that `from` counts, as it declares them: "name TEXT NOT
 * NULL, ", for a message. */
void ctr_matching_list_declared(ctr_tab *from, sqlite3_str *out, ctr_problem *problem);

#endif
