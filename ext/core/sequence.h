/* core/sequence.h - the number with which a file marks the rows that it changes.
 *
 * A peer that has read a file up to a number asks for the rows from that number on, and reads those
 * of the number itself again. So a number is shared by what changes within a second, so that hot
 * rows are in the news once, and by CTR_SEQUENCE_ROWS rows at most, which bounds what is read
 * twice. It is of the size of the time in milliseconds, so that it tends to rise even where a file
 * was restored.
 */
#ifndef CTR_CORE_SEQUENCE_H
#define CTR_CORE_SEQUENCE_H

#include <stdbool.h>
#include <stdint.h>

enum { CTR_SEQUENCE_SPAN = 1000 /* milliseconds */, CTR_SEQUENCE_ROWS = 1000 };

#define CTR_SEQUENCE_MAX ((int64_t)1 << 50) /* so that there is room behind it: store/news.h */

typedef struct ctr_sequence {
    int64_t number;  /* 1 ... CTR_SEQUENCE_MAX */
    int64_t risen;   /* when it rose last, in ms since 1970 */
    int64_t stamped; /* rows that were given this number */
} ctr_sequence;

/* Must it rise before the next row? A clock that was set back counts as time that has passed. */
static inline bool ctr_sequence_is_due(const ctr_sequence *sequence, int64_t now)
{
    int64_t passed = now - sequence->risen;
    return passed >= CTR_SEQUENCE_SPAN || -passed >= CTR_SEQUENCE_SPAN ||
           sequence->stamped >= CTR_SEQUENCE_ROWS;
}

static inline void ctr_sequence_rise(ctr_sequence *sequence, int64_t now)
{
    int64_t next = sequence->number + 1;
    *sequence = (ctr_sequence){.number = now > next ? now : next, .risen = now};
}

#endif
