/* crash.h - a machine that loses power at any moment, for databases of this process.
 *
 *     crash_install()      once: a VFS, "crash", over the default one and in its place
 *     crash_arm(n)         the power goes out at the n-th call from now on that changes the disk
 *     crash_now()          at once
 *     crash_is_dead()      it is out: every call fails, and has done nothing
 *     crash_power_on()     behind the close of all connections: now the files are what the disk
 *                          had, and calls succeed again
 *
 * Files are real, so that inode, birth time and attributes are. What the disk has of each database,
 * journal, super-journal and WAL is kept in memory:
 *
 *     content      as of the last sync, and what was done since. When the power goes out, each
 *                  sector of 512 bytes has seen the first n of the writes and truncations that
 *                  touch it, n being random: some are lost, kept, torn, or overtaken by later ones.
 *                  The size is random in the same way, and with it whether a truncation was done.
 *                  What has grown and was not written is zeros or garbage.
 *     names        which file a name stands for, and stood for since the last sync of the folder:
 *                  one of them. So files that were deleted may be back, new ones gone.
 *     attributes   of a database: one of the last CRASH_ATTRIBUTES that were set, for nothing that
 *                  SQLite does makes them durable.
 *
 * A journal may keep some order: all that is left of it is what was done up to some moment. That is
 * what SQLite needs for synchronous=NORMAL with a rollback journal, where the header says how many
 * pages there are before the pages are synced.
 *
 * Within a sector nothing is torn, for SQLite assumes that of the disk (powersafe overwrite).
 * Temporary files and shared memory have nothing that is durable. There is no memory mapping, and
 * nothing is synced in truth. fsync and setxattr are those of crash.c for the whole process. One
 * thread.
 */
#ifndef TESTS_FAULT_CRASH_H
#define TESTS_FAULT_CRASH_H

#include <stdbool.h>
#include <stdint.h>

enum { CRASH_SECTOR = 512, CRASH_ATTRIBUTES = 8 };

/* How a file loses what is not durable; each is drawn anew for each file and crash. */
typedef enum crash_manner {
    CRASH_NOTHING_IS_LEFT,
    CRASH_ALL_IS_LEFT,
    CRASH_ORDERED,         /* what was done up to some moment */
    CRASH_BLOCKS_ARE_LEFT, /* some blocks of eight sectors have seen more than others */
    CRASH_SECTORS_ARE_LEFT /* some sectors have */
} crash_manner;

void crash_install(void);

/* Forgets all files; what is drawn from now on depends on the seed alone. */
void crash_begin(uint64_t seed);

/* Is order kept in the journal of this database? */
void crash_order_journal(const char *database, bool ordered);

void crash_arm(long n);
void crash_disarm(void);
void crash_now(void);
bool crash_is_dead(void);

/* The folders of all databases, up to a NULL; shared memory in them is gone. */
void crash_power_on(const char *const *folders);

/* splitmix64 */
uint64_t crash_random(uint64_t *state);

#endif
