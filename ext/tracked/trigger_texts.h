/* tracked/trigger_texts.h - the texts of the triggers that pass the changes of a tracked table on.
 *
 *     CREATE TRIGGER "products_counters_insert" AFTER INSERT ON "products" BEGIN
 *       INSERT INTO "products_counters"(_event, "sku", "stock")
 *       VALUES ('inserted', NEW."sku", NEW."stock");
 *     END
 *
 * tracked/trigger_rows.c takes what they insert. The templates are in sql/track.sql.
 */
#ifndef CTR_TRACKED_TRIGGER_TEXTS_H
#define CTR_TRACKED_TRIGGER_TEXTS_H

#include "tracked/tracked.h"

enum { CTR_N_TRIGGERS = 8 };

/* The trigger on UPDATE of regular columns hands over a mask of those that have changed, made by
 * counter_differs: 5 is the columns number 0 and 2. One number has this many columns, because a
 * function has at most 100 arguments; more of them are a text, '5,0,1'. */
enum { CTR_MASK_COLUMNS = 50 };

/* Returns what stands behind the name of the counter table and _ in the name of a trigger, which is
 * 0 ... CTR_N_TRIGGERS - 1. */
const char *ctr_trigger_texts_suffix(int trigger);

/* Returns the text of a trigger; the caller frees it with sqlite3_free. NULL: the table does not
 * need it, or there is a problem. */
char *ctr_trigger_texts_get(const ctr_tracked *tracked, int trigger, ctr_problem *problem);

#endif
