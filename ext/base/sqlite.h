/* base/sqlite.h - includes SQLite's API, for the loadable and the static build alike. */
#ifndef CTR_BASE_SQLITE_H
#define CTR_BASE_SQLITE_H

#include <stddef.h>

#include <sqlite3ext.h>
SQLITE_EXTENSION_INIT3

#endif
