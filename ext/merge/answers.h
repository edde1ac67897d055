/* merge/answers.h - answers about openings, in a merge: whether the values that two files had when
 * they began to track a table are one, or add up (table/openings.h).
 */
#ifndef CTR_MERGE_ANSWERS_H
#define CTR_MERGE_ANSWERS_H

#include "merge/merge.h"

/* Takes n answers about openings, of CTR_ANSWER_SIZE bytes each, which were checked: records those
 * that are new, and reduces all rows by them (table/openings.h). Returns the number of rows that
 * changed. Call it before rows are merged. */
int64_t ctr_answers_take(ctr_merge *merge, const uint8_t *answers, size_t n, ctr_problem *problem);

/* Fails if rows would show the sum of unanswered openings. `here` and `there` name the two files;
 * `table` is the name of the table in main, and openings that are here are those of main, or, if
 * `gives`, of the other file. */
int ctr_answers_refuse_missing(ctr_merge *merge, const char *table, const char *here,
                               const char *there, bool gives, ctr_problem *problem);

#endif
