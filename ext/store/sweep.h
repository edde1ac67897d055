/* store/sweep.h - takes out of <table>_news what is out of date.
 *
 * Three ids are looked at for two that are appended, and those stay whose rows have not changed
 * since. They are looked at in steps, round and round, from the oldest to the newest; the row 0 of
 * the news says how far it has come. To look at a row costs more than anything else here where the
 * table does not fit into the page cache, and least where many that stand near to each other are
 * looked at together. So a step takes up to half as many ids as there are rows, within bounds, and
 * goes through them in the order of storage; where little is appended it comes by chance, in one
 * commit of many.
 */
#ifndef CTR_STORE_SWEEP_H
#define CTR_STORE_SWEEP_H

#include <stddef.h>
#include <stdint.h>

#include "store/run.h"

/* For so many ids that were appended; `newest`: the number at hand. `run` is on the table. */
void ctr_sweep_news(ctr_run *run, size_t appended, int64_t newest);

#endif
