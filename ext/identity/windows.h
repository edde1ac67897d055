/* identity/windows.h - what Windows says of a file, for identity/os.c; paths are UTF-8.
 *
 * The attribute is an alternate data stream of the file, named CTR_OS_ATTRIBUTE; there is none
 * where the volume has no named streams, such as FAT. Elsewhere this declares nothing.
 */
#ifndef CTR_IDENTITY_WINDOWS_H
#define CTR_IDENTITY_WINDOWS_H

#include "core/lineage.h"

#ifdef _WIN32

/* Milliseconds since 1970. */
int64_t ctr_windows_now(void);

/* The index of the file, which has a sequence number, and when it was created; 0 or an errno. On a
 * volume without named streams, and under Wine, a creation time may change: there is none then. */
int ctr_windows_stat(const char *path, ctr_fingerprint *fingerprint);

/* Do two paths lead to one file? No, if that cannot be told. */
bool ctr_windows_is_same(const char *one, const char *two);

/* Reads the attribute, at most `size` bytes: how many, or -1 with errno: ENOENT if there is none,
 * ENOSYS if there cannot be, ERANGE if it is longer. */
long ctr_windows_get(const char *path, uint8_t *value, size_t size);
void ctr_windows_set(const char *path, const uint8_t *value, size_t size);

/* Makes a file durable; a missing one is no error. 0 or an errno. */
int ctr_windows_sync(const char *path);

#endif
#endif
