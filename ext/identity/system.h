/* identity/system.h - what identity/os.c asks about a file where the system is not POSIX.
 *
 *     windows.c    the index of the file, which has a sequence number, and when it was created; the
 *                  attribute is an alternate data stream. On a volume without named streams, and
 *                  under Wine, a creation time may change: there is none then, nor an attribute
 *     browser.c    a random number that the VFS keeps beside the file, and the attribute with it
 *
 * Paths are UTF-8. Elsewhere this declares nothing.
 */
#ifndef CTR_IDENTITY_SYSTEM_H
#define CTR_IDENTITY_SYSTEM_H

#include "core/lineage.h"

#if defined(_WIN32) || defined(__EMSCRIPTEN__)
#define CTR_OWN_SYSTEM 1

/* Milliseconds since 1970. */
int64_t ctr_system_now(void);

/* Returns 0 or an errno. */
int ctr_system_stat(const char *path, ctr_fingerprint *fingerprint);

/* Do two paths lead to one file? No, if that cannot be told. */
bool ctr_system_is_same(const char *one, const char *two);

/* Reads the attribute, at most `size` bytes: how many, or -1 with errno: ENOENT if there is none,
 * ENOSYS if there cannot be, ERANGE if it is longer. */
long ctr_system_get(const char *path, uint8_t *value, size_t size);
void ctr_system_set(const char *path, const uint8_t *value, size_t size);

/* Makes a file durable; a missing one is no error. 0 or an errno. */
int ctr_system_sync(const char *path);

#endif
#endif
