/* identity/os.h - what the operating system says of a database file, by its path.
 *
 *     inode, birth time    statx on Linux, stat elsewhere; on Windows the file's index, which has
 *                          a sequence number, and its creation time
 *     handle               name_to_handle_at, Linux, where there is no birth time
 *     attribute            CTR_OS_ATTRIBUTE, Linux and macOS, and on Windows a stream of the file
 *                          with that name: C1, then number and random, 8 bytes each, big end first
 *
 * On POSIX nothing here opens the file: any descriptor of it that is closed drops the locks that
 * SQLite holds in this process; a handle that Windows closes drops no lock of another. Where a
 * function cannot tell, it says so, and the defence is not armed.
 */
#ifndef CTR_IDENTITY_OS_H
#define CTR_IDENTITY_OS_H

#include "core/lineage.h"

#define CTR_OS_ATTRIBUTE "user.sqlite-counter"

/* Returns 0 or an errno. */
int ctr_os_stat(const char *path, ctr_fingerprint *fingerprint);

/* Do two paths lead to one file, by a hard link, too? No, if that cannot be told. */
bool ctr_os_is_same(const char *one, const char *two);

/* The attribute as it stands. What has another form than ours is CTR_ATTRIBUTE_FOREIGN; UNARMED
 * with an errno where attributes cannot be read here. */
int ctr_os_attribute(const char *path, ctr_attribute *attribute);

/* Whether it could be written is told by the next look at it. */
void ctr_os_set_attribute(const char *path, const ctr_pair *pair);

/* Makes durable what was done to a folder, such as a journal that was deleted; 0 or an errno. */
int ctr_os_sync_folder_of(const char *path);

/* Makes durable a file that is neither a database nor its -shm; a missing one is no error. */
int ctr_os_sync_file(const char *path);

/* Windows syncs nothing through a handle that only reads: there a database, or its WAL, is made
 * durable by its path. Elsewhere ENOSYS, and nothing is opened. */
int ctr_os_sync_read(const char *path);

/* Milliseconds since 1970. */
int64_t ctr_os_now(void);

#endif
