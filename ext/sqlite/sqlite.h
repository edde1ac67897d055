/* sqlite/sqlite.h - includes SQLite's API, for the loadable and the static build alike. */
#ifndef CTR_SQLITE_SQLITE_H
#define CTR_SQLITE_SQLITE_H

#include <stddef.h>

#include <sqlite3ext.h>
SQLITE_EXTENSION_INIT3

#endif
