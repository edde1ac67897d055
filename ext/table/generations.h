/* table/generations.h - the generations of the counters of one table, as they are stored.
 *
 * What they mean stands in table/columns.h.
 */
#ifndef CTR_TABLE_GENERATIONS_H
#define CTR_TABLE_GENERATIONS_H

#include "table/shape.h"

/* For ctr_shape_read, which has read the columns: adds what <table>_columns says. A row that is not
 * true of the stored cells is a problem of `run`. */
void ctr_generations_read(ctr_shape *shape, ctr_run *run);

#endif
