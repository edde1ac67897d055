/* fsyncs.c - one statement per transaction with synchronous=FULL, SQLite's default: how often
 * storage is synced, and what the statement costs then.
 *
 * SQLite calls fdatasync, or fsync, of the C library; those of this program stand before it.
 */
#define _GNU_SOURCE /* syscall */
#include "lines.h"
#include "pairs.h"

#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

static int synced; /* calls so far */

#define EXPORTED __attribute__((visibility("default")))

EXPORTED int fdatasync(int file)
{
    synced++;
    return (int)syscall(SYS_fdatasync, file);
}

EXPORTED int fsync(int file)
{
    synced++;
    return (int)syscall(SYS_fsync, file);
}

static const char *const modes[] = {"wal", "delete"};

/* What a statement of each side costs, one per transaction; `track` is run on the counter side. */
static void measure_mode(const char *what, const char *mode, const char *const declarations[2],
                         const char *track, const char *const statements[2])
{
    enum { ROWS = 1000, STATEMENTS = 300 };
    char names[2][100];
    snprintf(names[0], sizeof names[0], "%s, one per transaction, %s, FULL", what, mode);
    snprintf(names[1], sizeof names[1], "fsyncs of 300 x %s, %s, FULL", what, mode);
    result times = {names[0], RATE, {{0}}, 0}, counts = {names[1], COUNT, {{0}}, 0};
    if (!table_wants(names[0]) && !table_wants(names[1])) return;
    sqlite3 *files[2];
    for (side s = COUNTER; s <= PLAIN; s++) {
        files[s] = open_new("durable", s, NULL);
        run(files[s], declarations[s]);
        task_run(files[s], &(task){statements[s], &keys, NULL, ROWS, ROWS, NULL});
        if (s == COUNTER && track) run(files[s], track);
        char *sql = sqlite3_mprintf("PRAGMA journal_mode = %s; PRAGMA synchronous = FULL", mode);
        run(files[s], sql);
        sqlite3_free(sql);
    }
    for (int turn = 0; turn < TURNS; turn++) {
        for (side s = COUNTER; s <= PLAIN; s++) {
            int before = synced;
            task work = {statements[s], &keys, NULL, STATEMENTS, 1, NULL};
            times.value[s][turn] = task_run(files[s], &work);
            counts.value[s][turn] = synced - before;
        }
    }
    for (side s = COUNTER; s <= PLAIN; s++) close_db(files[s]);
    table_line(&times);
    table_line(&counts);
}

void measure_fsyncs(void)
{
    static const char *const counters[] = {COUNTED, UNCOUNTED}, *const plain[] = {UNCOUNTED,
                                                                                  UNCOUNTED};
    static const char *const upserts[] = {UPSERT, UPSERT};
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        measure_mode("INSERT", modes[i], counters, NULL, adds);
        measure_mode("tracked UPSERT", modes[i], plain, "SELECT counter_track('plain', 'n')",
                     upserts);
    }
}
