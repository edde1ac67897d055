/* store/clock.h - a clock for durations. */
#ifndef CTR_STORE_CLOCK_H
#define CTR_STORE_CLOCK_H

#include <stdint.h>

/* Nanoseconds since some moment; does not leap with the time of day where the system has a clock
 * that does not. */
int64_t ctr_clock_now(void);

#endif
