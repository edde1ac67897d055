/* crash_world.h - three replicas, each in a folder of its own, that count, pull and push, and may
 * go down together at any moment.
 *
 *     world_begin(world, …)      new files
 *     world_open(world)          connections
 *     world_step(world)          something random; false once the power is out
 *     world_fall(world)          the connections are gone, in the middle of whatever it was
 *     world_check(world)         after the crash: what is there must have been there
 *     world_converge(world)      everybody pulls from everybody, and all hold the same
 *     world_end(world)
 *
 * Of each replica the world has the states that it may have: a history, of which the last is the
 * present one, and what was promised to outlive a crash, the floor. A state is entered before the
 * statement that would commit it; when the statement ends well the floor may rise, as the journal
 * mode promises:
 *
 *     WAL, FULL               to this state
 *     WAL, NORMAL             not: only when a checkpoint is complete
 *     DELETE, TRUNCATE        to the one before: a journal whose end was not synced comes back.
 *                             To this one if it is synced: TRUNCATE with FULL, DELETE with EXTRA
 *     PERSIST                 to this state
 *     all                     to this state, if a peer has learnt it
 *
 * A world has no pointers, so it can live in memory that a process shares with its killer.
 */
#ifndef TESTS_FAULT_CRASH_WORLD_H
#define TESTS_FAULT_CRASH_WORLD_H

#include "crash_model.h"

enum { WORLD_HISTORY = 96, WORLD_PATH = 512, WORLD_MODES = 9, WORLD_NO_SPILL = 1000 };

typedef struct world_mode {
    const char *name, *journal, *synchronous;
    int promise;   /* how many states before the last one are promised: 0, 1, or none */
    bool in_order; /* see crash.h */
} world_mode;

extern const world_mode world_modes[WORLD_MODES];

typedef struct world_file {
    char folder[WORLD_PATH], path[WORLD_PATH];
    int mode; /* of world_modes */
    model_state history[WORLD_HISTORY];
    volatile int n, floor, acknowledged; /* the last two are indices */
} world_file;

typedef struct world {
    world_file files[MODEL_FILES];
    char folder[WORLD_PATH];
    uint64_t chance, ids; /* states of crash_random */
    uint64_t clock;       /* in milliseconds */
    int ops;
    int page_size, cache, checkpoint, renewal;
    bool kills;              /* by kill -9: all that was written is left */
    volatile bool in_flight; /* a state was entered, and its statement has not ended */
    char request[256];       /* to be repeated after the crash, in file `asked`, for `asked_op` */
    int asked, asked_op, asked_row;
    bool lost[MODEL_FILES], repeated; /* by the last crash: what was acknowledged; a request */
    volatile bool begun;              /* what is killed has tables, and steps */
    volatile bool failed;
    uint64_t seed;
} world;

void world_begin(world *w, uint64_t seed, int mode, bool kills);
bool world_open(world *w);

/* Makes the tables where there are none. */
bool world_create(world *w);
bool world_step(world *w);
bool world_is_full(const world *w);
void world_fall(world *w);
void world_check(world *w);
void world_converge(world *w);
void world_end(world *w);

/* For crash_power_on. */
void world_folders(const world *w, const char *folders[MODEL_FILES + 1]);

/* ---- for crash_steps.c ----------------------------------------------------------------------- */

struct sqlite3 *world_db(int file);
bool world_reopen(world *w, int file);
int world_roll(world *w, int n); /* 0 ... n-1 */
model_state *world_last(world_file *file);
void world_fail(world *w, const char *format, ...);

/* Runs statements on the connection of a file. False if the power is out; anything else that goes
 * wrong is a failure of the world. */
bool world_run(world *w, int file, const char *sql);

/* The same, where a lock may be had by another one. */
bool world_try(world *w, int file, const char *sql, bool *locked);

/* Enters a state; false if it is the present one. Then it has happened, as promised, or, with the
 * number there was before, it has not. */
bool world_enter(world *w, int file, const model_state *next);
void world_acknowledge(world *w, int file);
void world_withdraw(world *w, int file);

/* The first n states of the history are over: what the n-th has must outlive a crash. */
void world_promise(world *w, int file, int n);

#endif
