/* crash_disk.h - what the disk has: the floor below crash.c, without SQLite.
 *
 * A name stands for a file, and has stood for others since the last sync of its folder. A file is
 * its content as of its last sync, and the changes since. Names live until disk_begin(),
 * files until a disk_lose() at which no name has stood for them.
 */
#ifndef TESTS_FAULT_CRASH_DISK_H
#define TESTS_FAULT_CRASH_DISK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct disk_file disk_file;

/* Forgets everything. */
void disk_begin(uint64_t seed);

/* The file that a name stands for now; NULL if there is none. */
disk_file *disk_at(const char *path);

/* A new one, which the folder does not have before it is synced. A database keeps its name. */
disk_file *disk_create(const char *path);
void disk_delete(const char *path);

void disk_write(disk_file *file, const void *bytes, size_t size, int64_t at);
void disk_truncate(disk_file *file, int64_t size);
void disk_sync(disk_file *file);

/* Of "folder/name", and by its own path. */
void disk_sync_folder_of(const char *path);
void disk_sync_folder(const char *folder);

/* Of a file that is known here; for others, false. */
bool disk_set_attribute(const char *path, const char *attribute, const void *bytes, size_t size);

/* What is done to this file stays in order. */
void disk_order(const char *path, bool ordered);

/* Writes to all paths what is left. Nobody may have them open. */
void disk_lose(void);

#endif
