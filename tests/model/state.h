/* state.h - a state of three files, and when two of them are the same.
 *
 * Of each file: its volume, the one that it had before its last change (the backup that a restore
 * puts back), its place, and what both must show.
 *
 * Two states are the same if whatever is done next has the same results. So the key of a state is
 * made of what the library compares, not of the numbers themselves:
 *
 *     replica ids, holders, tokens    are numbered in the order in which the files come; ids of
 *                                     which there are only shards left, by these shards
 *     witness (number, random)        how it compares with the attribute, and with what other
 *                                     files remember of it: lower, equal, another one with the
 *                                     same number, higher
 *     sequence numbers                their rank among those of the same volume; a mark: its
 *                                     place in the ranks of the volume that it is about
 *     amounts of the journal          those of the cells, which are complete, and of which the journal
 *                                     may still have a part
 *     inode and birth time            is the file in the place that its identity names?
 *
 * Marks and memories of an id that no volume has any more are dead, for no id comes back: left
 * out. The files have no order: of the six orders of them the one with the lowest hash gives the
 * key. The amounts of a file's own increments are the bits 8 * file ... 8 * file + 7, which move
 * with it.
 */
#ifndef MODEL_STATE_H
#define MODEL_STATE_H

#include "oracle.h"

enum { OPERATIONS_OF_A_FILE = 8 };

typedef struct state {
    struct state_file {
        uint32_t volume, before, place;
        oracle shows, showed; /* now, and before */
    } files[FILES];
} state;

typedef struct state_key {
    uint64_t low, high;
} state_key;

/* `contents` has one for each volume. */
state_key state_key_of(const state *of, const content *contents, int keys);

/* An amount that `file` may add next: 2 to this power is part of no sum. */
int state_free_operation(const state *of, int file);

#endif
