/* file/os.h - the operating system's facts about a database file, by its path.
 *
 *     inode, birth time    statx on Linux, stat elsewhere; on Windows the file's index, which has
 *                          a sequence number, and its creation time
 *     handle               name_to_handle_at, Linux, where there is no birth time
 *     attribute            CTR_OS_ATTRIBUTE, Linux and macOS, and on Windows a stream of the file
 *                          with that name: C1, then number and random, 8 bytes each, big end first
 *
 * On POSIX nothing here opens the file, because closing any descriptor of it drops the locks that
 * SQLite holds in this process. On Windows closing a handle drops no lock of another handle. A
 * function that cannot find out a fact reports that; then fingerprint or witness is not armed.
 */
#ifndef CTR_FILE_OS_H
#define CTR_FILE_OS_H

#include "core/lineage.h"

#define CTR_OS_ATTRIBUTE "user.sqlite-counter"

/* Returns 0 or an errno. */
int ctr_os_stat(const char *path, ctr_fingerprint *fingerprint);

/* Returns whether two paths lead to one file, also by a hard link; false if that is unknown. */
bool ctr_os_is_same(const char *one, const char *two);

/* Reads the attribute. Its state is CTR_ATTRIBUTE_FOREIGN if it has another form than ours, and
 * UNARMED, with an errno, if attributes cannot be read here. */
int ctr_os_attribute(const char *path, ctr_attribute *attribute);

/* Writes the attribute. The next read shows whether that succeeded. */
void ctr_os_set_attribute(const char *path, const ctr_pair *pair);

/* Makes changes of a folder durable, such as a deleted journal. Returns 0 or an errno. */
int ctr_os_sync_folder_of(const char *path);

/* Makes durable a file that is neither a database nor its -shm; a missing one is no error. */
int ctr_os_sync_file(const char *path);

/* Makes a database or its WAL durable by its path on Windows, which syncs nothing through a
 * read-only handle. Elsewhere opens nothing and returns ENOSYS. */
int ctr_os_sync_read(const char *path);

/* Returns milliseconds since 1970. */
int64_t ctr_os_now(void);

/* The facts about a file that os.c needs if the system is not POSIX.
 *
 *     windows.c    the index of the file, which has a sequence number, and its creation time; the
 *                  attribute is an alternate data stream. On a volume without named streams, and
 *                  under Wine, creation times may change: we use none there, nor an attribute
 *     browser.c    a random number that the VFS keeps beside the file, and the attribute with it
 *
 * Paths are UTF-8. */
#if defined(_WIN32) || defined(__EMSCRIPTEN__)
#define CTR_OWN_SYSTEM 1

/* Returns milliseconds since 1970. */
int64_t ctr_system_now(void);

/* Returns 0 or an errno. */
int ctr_system_stat(const char *path, ctr_fingerprint *fingerprint);

/* Returns whether two paths lead to one file; false if that is unknown. */
bool ctr_system_is_same(const char *one, const char *two);

/* Reads the attribute, at most `size` bytes. Returns its size, or -1 with errno: ENOENT if there is
 * none, ENOSYS if there cannot be one, ERANGE if it is longer. */
long ctr_system_get(const char *path, uint8_t *value, size_t size);
void ctr_system_set(const char *path, const uint8_t *value, size_t size);

/* Makes a file durable; a missing one is no error. Returns 0 or an errno. */
int ctr_system_sync(const char *path);

#endif
#endif
