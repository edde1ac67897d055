/* course.h - what a case does without faults, step by step.
 *
 * Known from two runs: a step after which they differ, for it shows the time, or after which not
 * all can be read, is compared with nothing.
 */
#ifndef TESTS_FAULT_COURSE_H
#define TESTS_FAULT_COURSE_H

#include "../sql/stage.h"

/* By step: what is there before it; and behind the last. */
typedef struct course {
    const char *file; /* borrowed, like the case */
    const script_case *played;
    bool blind;               /* nothing is looked at between the steps */
    bool holds;               /* the case passes */
    char **seen, **committed; /* NULL: not to be compared */
    bool *sound;              /* no file is damaged; in a transaction: or was before it */
    bool *in_transaction;     /* the connection at hand is */
    int *codes;               /* how the statement ended */
} course;

course course_of(const char *file, const script_case *played, bool blind);
void course_free(course *course);

/* Opens the stage. Ids are the same each time, not random: uuid_generate_random is ours. */
void course_begin(const char *file, const script_case *played);

/* Returns whether the step gives what the script says; `code`, if wanted, takes how it ended. */
bool course_play(const script_step *step, bool says, int *code);

/* Is any connection in a transaction? */
bool course_is_in_transaction(void);

/* Is there no damage in any file? */
bool course_is_sound(void);

/* What can be seen at the last step at which no transaction was open; NULL where connections go
 * side by side. */
const char *course_seen_at_start(const course *course, size_t step);

/* What can be seen if the transaction is committed before a step, for a COMMIT may run triggers; to
 * be freed. NULL: it cannot be committed, or it is not to be compared. `sound`: is there no damage
 * then? The stage must be free. */
char *course_seen_if_committed(const course *course, size_t step, bool *sound);

#endif
