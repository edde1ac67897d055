/* table/openings.h - openings: the values that a table held when tracking began.
 *
 * counter_track counts these values under an id of its own, an opening: a UUID of version 8, made
 * for the call. So a cell tells which of its shards are openings. An opening never counts again.
 *
 * If two files track copies of one table, their openings are the same values twice. Nobody but the
 * user knows, so a tracked table does not show the sum of two openings until an answer says what
 * they are:
 *
 *     same    one stock, of which both files had a copy: in each cell only the greatest counts
 *     add     two stocks, which add up
 *
 * Answers are a set that only grows: edges between openings. They belong to pairs, not to tables,
 * for {a, b} and {c, d} may be two stocks. Openings that are joined by edges 'same' are a group;
 * within a group 'add' has no effect, and 'add' between two openings holds for their groups. After
 * each merge, in each group all openings of a cell but the greatest, by value and then by id,
 * become (clock 2, value 0). So the result does not depend on when an answer comes, and an answer
 * repairs values that were added up by mistake.
 *
 * An answer is stored, and travels, as 34 bytes:
 *
 *     byte 0    0xB1: an answer (high half) of format 1 (low half)
 *     byte 1    1: same, 2: add
 *     a, b      the two openings, 16 bytes each, the lower first
 *
 * An opening can also be joined with the name under which its table was born: with an id that every
 * file computes from that name, and no cell has.
 *
 * A row whose merged deletion is not shown begins its next life when the application writes it. Its
 * counters go on with what they show: under an opening that every file computes from table, key
 * and life, so that two files which revive one row do not add it up. Of two values under it the
 * greater one wins, by the rule for equal clocks.
 */
#ifndef CTR_TABLE_OPENINGS_H
#define CTR_TABLE_OPENINGS_H

#include "table/pack.h"
#include "table/tab.h"

/* Makes a new opening, at random. */
void ctr_openings_new(uint8_t id[CTR_ID_SIZE]);

/* Writes the opening that all files compute from the name under which a table was born; the case of
 * ASCII letters does not matter. Fails with SQLITE_NOMEM. */
void ctr_openings_of_birth(const char *birth, uint8_t id[CTR_ID_SIZE], ctr_problem *problem);

/* Writes the opening that all files compute for a life of a row, with its packed key. */
void ctr_openings_of_life(const char *birth, const ctr_packed *key, uint32_t life,
                          uint8_t id[CTR_ID_SIZE], ctr_problem *problem);

typedef enum ctr_answer_to { CTR_UNANSWERED, CTR_SAME, CTR_ADD } ctr_answer_to;

enum { CTR_ANSWER_SIZE = 2 + 2 * CTR_ID_SIZE };

/* Writes an answer about two openings, which differ. */
void ctr_openings_write(uint8_t out[CTR_ANSWER_SIZE], const uint8_t *a, const uint8_t *b,
                        ctr_answer_to answer);

/* Fails with SQLITE_CORRUPT_VTAB if the bytes are no answer. */
int ctr_openings_check(const void *bytes, size_t size, ctr_problem *problem);

/* The answers of one table. */
typedef struct ctr_openings {
    uint8_t *answers; /* owned: n of CTR_ANSWER_SIZE bytes each */
    size_t n, room;
    uint8_t *own; /* owned: the ids of the openings that this file made */
    size_t n_own, room_own;

    /* Private: how many answers, from the first, are in order and grouped; the openings in those,
     * ascending by id, each with its group; and for the cell at hand its openings that count. */
    size_t n_grouped;
    struct opening_node *nodes;
    size_t n_nodes;
    ctr_shard *live;
    size_t n_live, room_live;
    ctr_packed decided; /* the ids of a cell whose openings are all answered */
} ctr_openings;

/* Lists the answers of a table with the number `since` or a higher one, without any groups. The
 * caller closes it, also after a failure. */
int ctr_openings_list(ctr_openings *openings, const ctr_tab *tab, int64_t since,
                      ctr_problem *problem);

/* Reads all answers of a table, and which openings this file made. The caller closes it, also after
 * a failure. */
int ctr_openings_read(ctr_openings *openings, const ctr_tab *tab, ctr_problem *problem);
void ctr_openings_close(ctr_openings *openings);

/* Adds an answer. Returns whether it is new. Groups are made when they are next needed, so that
 * many answers one after the other do not cost the square of their number. */
bool ctr_openings_add(ctr_openings *openings, const uint8_t answer[CTR_ANSWER_SIZE],
                      ctr_problem *problem);

/* Returns whether this file made the opening. */
bool ctr_openings_is_own(const ctr_openings *openings, const uint8_t id[CTR_ID_SIZE]);

/* Returns the number of openings in the cell that count. */
size_t ctr_openings_count(const ctr_cell *cell);

/* Writes the cell reduced: in each group of openings only the greatest counts. Returns false if
 * that changes nothing, or on a problem. Needs cell->size bytes. */
bool ctr_openings_reduce(ctr_openings *openings, const ctr_cell *cell, uint8_t *out, size_t *size,
                         ctr_problem *problem);

/* Returns whether two openings of the cell that count are unanswered, and sets them. They point
 * into the cell. */
bool ctr_openings_unanswered(ctr_openings *openings, const ctr_cell *cell, ctr_shard pair[2],
                             ctr_problem *problem);

/* Returns the call of counter_opening that gives an answer about an opening and, unless it is NULL,
 * a second one. The caller frees it with sqlite3_free; NULL: no memory. */
char *ctr_openings_call(const char *table, const char *answer, const uint8_t *other,
                        const uint8_t *second);

/* Records an opening that was made now, with the id of this file. Problems go to that of `run`. */
void ctr_openings_record(ctr_run *run, const uint8_t id[CTR_ID_SIZE],
                         const uint8_t file[CTR_ID_SIZE]);

/* Records a new answer, with the number of the change that brings it. */
void ctr_openings_record_answer(ctr_run *run, const uint8_t answer[CTR_ANSWER_SIZE],
                                int64_t number);

/* ---- while counter_track counts -------------------------------------------------------------- */

/* What a call of counter_replicate says of the values of regular columns: nothing; they win over
 * those that other files had when they began to replicate the table; they yield to those; or all
 * are written now, for a migration has changed them while the triggers did not run. */
typedef enum ctr_values_say {
    CTR_VALUES_NOTHING,
    CTR_VALUES_NEWEST,
    CTR_VALUES_OLDEST,
    CTR_VALUES_WRITTEN
} ctr_values_say;

/* The opening of a running call, in ctr_conn; its counter table takes values under it. */
typedef struct ctr_opening {
    const char *schema, *counters; /* borrowed */
    uint8_t id[CTR_ID_SIZE];
    const bool *opens; /* borrowed; by counter: its values are opening values */
    bool stamps;       /* of counter_replicate: rows without stamps get some */
    ctr_values_say values;
    ctr_answer_to answer; /* about openings of other files that stand in the cells already */
    int64_t n;            /* values that were counted under the id */
    uint8_t *met;         /* owned: the ids of those openings */
    size_t n_met, room_met;
} ctr_opening;

/* Notes an opening that stands in a cell already. */
void ctr_openings_meet(ctr_opening *opening, const uint8_t id[CTR_ID_SIZE], ctr_problem *problem);

#endif
