/* faults.h - what can be made to fail below SQLite, one call at a time.
 *
 *     arm(n, ever, false)    from now on the n-th call fails, n = 1, 2, …; if `ever`, all behind it
 *     arm(n, ever, true)     by place: the first one behind the n-th that is made from where none has
 *                            failed yet with that `ever`, by a chain of calls in our own code
 *     disarm()               all succeed again; the number of the first that has failed, or 0
 *
 * A kind is installed once, before SQLite is used. One thread.
 */
#ifndef TESTS_FAULT_FAULTS_H
#define TESTS_FAULT_FAULTS_H

#include <stdbool.h>

typedef struct fault_kind {
    const char *name;
    void (*install)(void);
    void (*arm)(long n, bool ever, bool by_place);
    long (*disarm)(void);
    bool (*is_its_error)(int rc); /* may a statement end with this extended code? */
} fault_kind;

/* Allocations of SQLite and, through it, of the extension; lookaside is off. */
extern const fault_kind allocation_faults;

/* For all kinds: a VFS, "faulty", over the default one and in its place. It syncs nothing. */
void faults_install_disk(void);

/* Calls of the disk: opens, reads, writes, syncs, truncations, locks and shared memory. */
extern const fault_kind disk_faults;

/* Since it was armed: was it an open that failed? */
bool faults_failed_open(void);

/* A disk that has no more room: only writes are counted, the failing one writes its first half. */
extern const fault_kind room_faults;

#endif
