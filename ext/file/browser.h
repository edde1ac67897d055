/* file/browser.h - the identity of files in a VFS without a file system.
 *
 * In a browser a file has no inode and no attributes. The VFS named CTR_BROWSER_VFS keeps a record
 * beside each file instead, in the same storage but outside of the file's bytes. The record has a
 * random number and the attribute. The first request for the record of a file creates it.
 */
#ifndef CTR_FILE_BROWSER_H
#define CTR_FILE_BROWSER_H

#include <stddef.h>
#include <stdint.h>

#define CTR_BROWSER_VFS "counter-browser"

/* pAppData of that VFS. */
typedef struct ctr_browser_files {
    /* Reads the number, 16 bytes. Returns 0 or an errno. */
    int (*number)(const char *path, uint8_t number[16]);

    /* Read and write the attribute, like ctr_system_get and ctr_system_set (file/os.h). */
    long (*get)(const char *path, uint8_t *value, size_t size);
    void (*set)(const char *path, const uint8_t *value, size_t size);
} ctr_browser_files;

#endif
