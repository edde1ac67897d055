/* run_crashes.c - replicas that go down at random moments, and what is left of them:
 *
 *     run_crashes cut ROUNDS [SEED]     the power goes out, see crash.h
 *     run_crashes kill ROUNDS [SEED]    kill -9 of a process
 *
 * A round is one crash: three replicas count, pull and push (crash_steps.c) until it comes, often
 * in the middle of a commit. Then the files are opened again, sometimes to crash once more while
 * SQLite recovers them, and
 *
 *     PRAGMA integrity_check and our own find nothing
 *     each file holds, to the last amount, one of the states that it had, none older than was
 *     promised (crash_world.h)
 *     a replicated table shows all of its rows, each column as it was written last
 *     what a file knows of another one, that one has not forgotten
 *     a request that was interrupted, repeated, counts once
 *     from time to time, and in the end, everybody pulls from everybody: all have the same values
 *     and digests, those of the union of what each has kept; and nobody has met a conflict
 *
 * After some rounds there are new files, with the next journal mode; the first file always has it,
 * the others may have another one. What is printed: how many rounds came in the middle of a commit
 * or of a recovery; how many files lost something that they had not promised; how many requests
 * were repeated. The seed of a world is printed when something is wrong: run_crashes cut 8 SEED
 * plays it again.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <sqlite3.h>
#include <uuid/uuid.h>

#include "crash.h"
#include "crash_world.h"

enum { CUTS = 8, KILLS = 3, STEPS = 30, KILL_AFTER = 20000, WAIT_AT_MOST = 100000 };

/* Of the rounds in which the first file, which does most, has this mode; `lost` is of all files. */
typedef struct tally {
    long rounds, in_flight, in_recovery, lost, repeated, worlds, failed;
} tally;

static tally tallies[WORLD_MODES];
static world *played; /* shared with the processes that are killed */

/* Ids are as random as the world, and its clock goes by itself, so that a seed repeats it. */
void uuid_generate_random(uuid_t out)
{
    for (size_t i = 0; i < sizeof(uuid_t); i += 8) {
        uint64_t half = crash_random(&played->ids);
        memcpy(out + i, &half, 8);
    }
    out[6] = (uint8_t)((out[6] & 0x0f) | 0x40); /* those of version 8 are openings */
    out[8] = (uint8_t)((out[8] & 0x3f) | 0x80);
}

static void note(const world *w, tally *count)
{
    count->rounds++;
    count->repeated += w->repeated;
    for (int i = 0; i < MODEL_FILES; i++) tallies[w->files[i].mode].lost += w->lost[i];
}

int timespec_get(struct timespec *now, int base)
{
    played->clock += crash_random(&played->ids) % 4;
    *now =
        (struct timespec){(time_t)(played->clock / 1000), (long)(played->clock % 1000) * 1000000};
    return base;
}

/* ---- the power goes out ---------------------------------------------------------------------- */

static void lose_power(world *w)
{
    const char *folders[MODEL_FILES + 1];
    crash_now();
    world_fall(w);
    world_folders(w, folders);
    crash_power_on(folders);
}

/* Perhaps SQLite comes no further than into its recovery. */
static void reopen(world *w, tally *count)
{
    if (world_roll(w, 3) == 0) {
        crash_arm(1 + world_roll(w, 12));
        world_open(w);
        if (!crash_is_dead()) {
            char sql[] = "SELECT count(*) FROM sqlite_master";
            for (int i = 0; i < MODEL_FILES && !crash_is_dead(); i++) world_run(w, i, sql);
        }
        count->in_recovery += crash_is_dead();
        lose_power(w);
    }
    world_open(w);
}

static void crash_once(world *w, tally *count)
{
    crash_arm(1 + world_roll(w, world_roll(w, 2) ? 60 : 400));
    bool alive = world_create(w);
    for (int i = 0; i < STEPS && alive && !w->failed && !world_is_full(w); i++)
        alive = world_step(w);
    if (w->failed) return;
    count->in_flight += w->in_flight;
    lose_power(w);
    reopen(w, count);
    if (!w->failed) world_check(w);
    note(w, count);
}

static void play_cut(world *w, uint64_t seed, int mode, long crashes)
{
    tally *count = &tallies[mode];
    crash_begin(seed);
    sqlite3_test_control(SQLITE_TESTCTRL_PRNG_SEED, (int)seed | 1, NULL);
    world_begin(w, seed, mode, false);
    if (world_roll(w, 4) == 0) crash_arm(1 + world_roll(w, 60)); /* while they are made */
    if (!world_open(w) && !w->failed) {
        lose_power(w);
        world_open(w);
        world_check(w);
    }
    for (long i = 0; i < crashes && !w->failed; i++) {
        crash_once(w, count);
        if (!w->failed && (i == crashes - 1 || world_roll(w, 3) == 0))
            if (world_create(w)) world_converge(w);
    }
    crash_disarm();
    world_fall(w);
}

/* ---- kill -9 --------------------------------------------------------------------------------- */

static void be_killed(world *w)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* also when nobody is left to do it */
    bool alive = world_open(w) && world_create(w);
    w->begun = alive;
    while (alive && !w->failed && !world_is_full(w)) alive = world_step(w);
    for (;;) pause();
}

/* Mostly while it steps, however long it takes to come so far. */
static void kill_once(world *w, tally *count, bool is_last)
{
    int status = 0, after = world_roll(w, KILL_AFTER);
    bool waits = world_roll(w, 4) > 0;
    w->begun = false;
    pid_t child = fork();
    if (child < 0) {
        world_fail(w, "no process: %s", strerror(errno));
        return;
    }
    if (child == 0) be_killed(w);
    for (int i = 0; i < WAIT_AT_MOST && waits && !w->begun && !w->failed; i++) usleep(100);
    usleep((useconds_t)after);
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
    if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL)
        world_fail(w, "it ended by itself, with the status %d", status);
    count->in_flight += w->in_flight;
    if (!w->failed && world_open(w)) world_check(w);
    if (!w->failed && world_create(w) && (is_last || world_roll(w, 3) == 0)) world_converge(w);
    note(w, count);
    world_fall(w);
}

static void play_kill(world *w, uint64_t seed, int mode, long crashes)
{
    world_begin(w, seed, mode, true);
    for (long i = 0; i < crashes && !w->failed; i++) kill_once(w, &tallies[mode], i == crashes - 1);
}

/* ---- all of it ------------------------------------------------------------------------------- */

static void report(const char *what)
{
    int passed = 0, failed = 0;
    tally all = {0};
    printf("%-16s %7s %9s %11s %6s %9s\n", what, "rounds", "in commit", "in recovery", "lost",
           "repeated");
    for (int i = 0; i < WORLD_MODES; i++) {
        const tally *one = &tallies[i];
        printf("%-16s %7ld %9ld %11ld %6ld %9ld\n", world_modes[i].name, one->rounds,
               one->in_flight, one->in_recovery, one->lost, one->repeated);
        all.rounds += one->rounds, all.in_flight += one->in_flight;
        all.in_recovery += one->in_recovery, all.lost += one->lost, all.repeated += one->repeated;
        if (one->worlds > 0) one->failed ? failed++ : passed++;
    }
    printf("%-16s %7ld %9ld %11ld %6ld %9ld\n", "all", all.rounds, all.in_flight, all.in_recovery,
           all.lost, all.repeated);
    printf("%d passed, %d failed\n", passed, failed);
    exit(failed > 0 || passed == 0);
}

int main(int argc, char **argv)
{
    bool cuts = argc > 2 && strcmp(argv[1], "cut") == 0;
    long rounds = argc > 2 ? strtol(argv[2], NULL, 10) : 0;
    if (rounds < 1 || (!cuts && strcmp(argv[1], "kill") != 0)) {
        fputs("usage: run_crashes cut|kill ROUNDS [SEED]\n", stderr);
        return 2;
    }
    uint64_t seed = argc > 3 && *argv[3] ? strtoull(argv[3], NULL, 10) : (uint64_t)time(NULL);
    printf("seed %llu\n", (unsigned long long)seed);
    fflush(stdout);
    world *w = mmap(NULL, sizeof *w, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (w == MAP_FAILED) return 1;
    played = w;
    if (cuts) crash_install();
    long most = cuts ? CUTS : KILLS;
    for (long done = 0; done < rounds; done += most, seed += 1000003) {
        int mode = (int)(seed % WORLD_MODES);
        long crashes = rounds - done < most ? rounds - done : most;
        (cuts ? play_cut : play_kill)(w, seed, mode, crashes);
        tallies[mode].worlds++;
        tallies[mode].failed += w->failed;
        if (!w->failed) world_end(w);
        if (w->failed) printf("its files: %s\n", w->folder);
    }
    report(cuts ? "power cuts" : "kill -9");
}
