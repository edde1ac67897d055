/* operations.h - what is done to the files, and the connections that do it.
 *
 *     increment   adds 2^i to a key of a file; i is new
 *     delete      DELETE of the key's row
 *     reset       the command 'reset' for the key, without a value
 *     floor       'purge below' 2: key 1 is gone for good, key 2 is not touched
 *     pull        of one file from another one by its path, all of it ('full')
 *     delta       the same pull of what is new
 *     copy        the bytes of one file become those of another one, a new file: it has another
 *                 inode, a later birth and no attribute. It does not count by itself; when it
 *                 does it must find out that it is a copy
 *     restore     the file goes back, in place, to what it was before its last change: its inode
 *                 and its attribute stay. What it had counted since, and nobody has pulled, is
 *                 lost
 *     fork        a clone that cannot be seen: bytes, inode, birth and attribute of one file
 *                 become those of another, as when a machine is copied whole. Then SELECT
 *                 counter_fork() is called in the clone, as the README asks for
 *
 * A copy and a fork have no backup but themselves. An operation that is refused where it must be,
 * and one that changes nothing, leads to the state that it came from.
 */
#ifndef MODEL_OPERATIONS_H
#define MODEL_OPERATIONS_H

#include "state.h"

typedef enum operation_kind {
    INCREMENT,
    DELETE,
    RESET,
    FLOOR,
    PULL,
    DELTA,
    COPY,
    RESTORE,
    FORK
} operation_kind;

typedef struct operation {
    operation_kind kind;
    int file; /* that changes */
    int with; /* a key of it, or the other file */
} operation;

/* From one depth to the next, in milliseconds: numbers of changes rise, and each renews the
 * witness. */
enum { MOST_OPERATIONS = 128, CLOCK_STEP = 400 };

/* Is there an operation for each word of `only`? They are parted by blanks. */
bool operations_are_named(const char *only);

/* All that there are, or those whose names `only` has. */
int operations_list(int keys, const char *only, operation to[MOST_OPERATIONS]);

/* "increment b 1", "pull a<-c" */
const char *operation_text(const operation *one);

/* Makes the three files, empty tables, and opens a connection to each. */
void operations_open(int keys, state *first);
void operations_close(void);

/* The contents of all volumes so far. */
const content *operations_contents(void);

/* Does one operation; `depth` is that of the state which it leads to, 1 ... Returns NULL and
 * whether the state is another one, or a sentence: what the file shows is not what it must. */
const char *operations_do(const operation *one, int depth, const state *from, state *to,
                          bool *changed);

/* Everybody pulls what there is, all at once or what is new, `chance` says in which order: do all
 * three show the union, and have one digest? NULL or a sentence. */
const char *operations_join(int depth, const state *from, uint64_t chance);

#endif
