/* identity/browser.h - what a VFS tells about its files where there is no file system.
 *
 * In a browser a file has no inode and no attributes. The VFS named CTR_BROWSER_VFS keeps a record
 * beside each file instead, in the same storage but outside of the file's bytes: a random number,
 * and the attribute. A file without a record gets one with a new number when it is asked for.
 */
#ifndef CTR_IDENTITY_BROWSER_H
#define CTR_IDENTITY_BROWSER_H

#include <stddef.h>
#include <stdint.h>

#define CTR_BROWSER_VFS "counter-browser"

/* pAppData of that VFS. */
typedef struct ctr_browser_files {
    /* The number, 16 bytes; 0 or an errno. */
    int (*number)(const char *path, uint8_t number[16]);

    /* The attribute: as ctr_system_get and ctr_system_set, see identity/system.h. */
    long (*get)(const char *path, uint8_t *value, size_t size);
    void (*set)(const char *path, const uint8_t *value, size_t size);
} ctr_browser_files;

#endif
