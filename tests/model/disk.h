/* disk.h - what the files stand on: three files in memory, a clock and dice that the model holds.
 *
 * SQLite reads and writes through the VFS "unix-model", whose files are the three buffers of this
 * disk. What the library asks the operating system itself, the linker sends here (--wrap):
 *
 *     statx, getxattr, setxattr    inode, birth time and attribute of a file: disk_place
 *     timespec_get                 disk_now, which stands still until the model moves it
 *     uuid_generate_random         numbers that follow from what disk_roll was given
 *
 * So one operation on the same files is the same every time, byte by byte, and a file is put back
 * by a copy of its pages. The name of the VFS begins with "unix", for the library looks at places
 * on such a one only.
 *
 * A volume is the content of a file that has been kept, a number. Pages that are equal are kept
 * once. SQLite's change counter is no part of it: it is raised whenever a file is put back, as if
 * another process had written it, so that a connection may stay open meanwhile.
 */
#ifndef MODEL_DISK_H
#define MODEL_DISK_H

#include <stdbool.h>
#include <stdint.h>

enum { FILES = 3, PAGE_SIZE = 512, ATTRIBUTE_SIZE = 17 };

#define DISK_FOLDER "/model/" /* the files are DISK_FOLDER a, b, c; there is no such folder */

/* What is seen of a file by its path. */
typedef struct disk_place {
    int64_t inode, birth;
    uint8_t attribute_size; /* 0: none */
    uint8_t attribute[ATTRIBUTE_SIZE];
} disk_place;

extern int64_t disk_now; /* milliseconds since 1970 */
extern disk_place disk_places[FILES];

/* Registers the VFS; the files are empty then. */
void disk_open(void);
void disk_close(void);

/* What is drawn from now on follows from these two numbers. */
void disk_roll(int depth, int file);

/* The volume that a file has now; `is_new` if it was not kept before. */
uint32_t disk_keep(int file, bool *is_new);

/* Puts a volume into a file, in place. */
void disk_put(int file, uint32_t volume);

/* The same for what is seen of a file. */
uint32_t disk_keep_place(int file);
void disk_put_place(int file, uint32_t place);
const disk_place *disk_kept_place(uint32_t place);

/* How many there are. */
uint32_t disk_volumes(void);
uint32_t disk_pages(void);

#endif
