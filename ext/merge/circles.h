/* merge/circles.h - rows of replicated tables that refer to each other.
 *
 *     team.lead -> person, person.team -> team
 *
 * One by one, no table would take them: each waits for its parent, or each is kept by its child. So
 * when all else is shown, they are shown together, or deleted together, or not at all:
 *
 *     a row that waits      with the rows that wait and that it refers to, and so on
 *     a row that has ended  with the rows that have ended and refer to it, and so on; any other row
 *                           that refers to one of them keeps them all
 *
 * An immediate foreign key permits that only if one of its columns may be NULL: it is written last,
 * or cleared first.
 */
#ifndef CTR_MERGE_CIRCLES_H
#define CTR_MERGE_CIRCLES_H

#include "merge/pull.h"

/* Tries it with all listed rows of tables that refer to themselves, perhaps through others. The
 * caller has shown what can be shown alone. Returns whether any row was shown or deleted. */
bool ctr_circles_show(ctr_pull *pull, ctr_problem *problem);

#endif
