/* identity/system.h - the facts about a file that identity/os.c needs if the system is not POSIX.
 *
 *     windows.c    the index of the file, which has a sequence number, and its creation time; the
 *                  attribute is an alternate data stream. On a volume without named streams, and
 *                  under Wine, creation times may change: we use none there, nor an attribute
 *     browser.c    a random number that the VFS keeps beside the file, and the attribute with it
 *
 * Paths are UTF-8. On POSIX this header declares nothing.
 */
#ifndef CTR_IDENTITY_SYSTEM_H
#define CTR_IDENTITY_SYSTEM_H

#include "core/lineage.h"

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
