/* pairs.c - implements pairs.h. */
#include "pairs.h"

#include <stdlib.h>

static const char *const declarations[] = {COUNTED, UNCOUNTED};
const char *const adds[] = {ADD, UPSERT};
const char *const look_ups[] = {LOOK_UP("counted"), LOOK_UP("plain")};

texts keys;

void load(sqlite3 *db, const char *sql, uint32_t n, uint32_t step)
{
    uint32_t *order = order_once(n, step);
    task_run(db, &(task){sql, &keys, order, n, n, NULL});
    free(order);
}

sqlite3 *create(const char *name, side which, uint32_t rows, uint32_t step)
{
    sqlite3 *db = open_new(name, which, NULL);
    run(db, declarations[which]);
    if (rows) load(db, adds[which], rows, step);
    return db;
}

void need(pair *files)
{
    for (side s = COUNTER; s <= PLAIN && !files->made; s++)
        close_db(create(files->name, s, files->rows, AN_ORDER));
    files->made = true;
}

double run_task(const pair *files, side which, const task *of)
{
    sqlite3 *db = open_again(files->name, which);
    double time = task_run(db, of);
    close_db(db);
    return time;
}

void attach_source(sqlite3 *db, const char *name, side which)
{
    char path[600];
    path_of(name, which, path);
    run_with_path(db, "ATTACH %Q AS source", path);
}

void measure_pull(result *found, double rows, const char *merge)
{
    const char *const takes[] = {PULL, merge};
    for (int turn = 0; turn < TURNS; turn++) {
        for (side s = COUNTER; s <= PLAIN; s++) {
            copy_file("before", "target", s);
            sqlite3 *db = open_again("target", s);
            attach_source(db, "third", s);
            found->value[s][turn] = time_sql(db, takes[s]) * 1e9 / rows;
            close_db(db);
        }
    }
    table_line(found);
}
