/* witness.h - what databases hold, as a text that can be compared.
 *
 * Tables that users see: counter tables and plain ones, of all schemas; not the stored tables, not
 * those of the extension, not clusters, whose reads may repair replicas. What cannot be read is in
 * the text by its error.
 */
#ifndef TESTS_FAULT_WITNESS_H
#define TESTS_FAULT_WITNESS_H

#include <sqlite3.h>

/* What one connection sees. To be freed with free(). */
char *witness_seen(sqlite3 *db);

/* What was committed to all files *.db of the working directory, seen by connections of
 * their own. */
char *witness_committed(void);

/* What PRAGMA integrity_check and the command 'integrity-check' of all counter tables find wrong in
 * the same files, by connections of their own; "" if nothing is. To be freed, too. */
char *witness_damage(void);

#endif
