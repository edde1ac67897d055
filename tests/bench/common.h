/* common.h - what the programs of this folder share: files, keys, tasks, and the table they print.
 *
 * Two sides do the same work by turns, A B A B, in one process, in files of one folder. A figure is
 * the median of the ratios of TURNS such pairs, with the smallest and the largest. Each turn draws
 * its keys anew, from a seed that is printed; the environment variable COUNTER_SEED repeats one.
 * Nothing here returns an error: an error ends the program with a sentence.
 */
#ifndef COMMON_H
#define COMMON_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum { TURNS = 7, KEY_SIZE = 24 };

typedef enum side { COUNTER, PLAIN } side;

double now(void); /* seconds; COUNTER_CLOCK=cpu: those of the processor */

/* ---- files ---- */

/* A new folder inside `parent`, for all databases; folder_remove removes those that were opened. */
void folder_make(const char *parent);
void folder_remove(void);
const char *folder_name(void);

void path_of(const char *name, side which, char path[600]);

/* A new file, or the one that is there, in a new connection: WAL, synchronous=NORMAL, with the
 * extension. `vfs` NULL: SQLite's own. */
sqlite3 *open_new(const char *name, side which, const char *vfs);
sqlite3 *open_again(const char *name, side which);
void copy_file(const char *from, const char *to, side which); /* closed files */
void close_db(sqlite3 *db);

/* Ends the program unless rc is one of the good ones. */
int must(sqlite3 *db, int rc);
void run(sqlite3 *db, const char *sql);
void run_with_path(sqlite3 *db, const char *format, const char *path); /* a %Q in the format */
double time_sql(sqlite3 *db, const char *sql);                         /* seconds */
int64_t number_of(sqlite3 *db, const char *sql);
void checkpoint(sqlite3 *db);

/* ---- keys and tasks ---- */

/* Keys in memory, so that making them is not measured: texts, or, if `at` is NULL, the numbers from
 * 1 to n. */
typedef struct texts {
    char *bytes;
    const char **at;
    int *size;
    uint32_t n;
} texts;

texts keys_new(uint32_t n); /* of KEY_SIZE bytes; neighbours by number are far apart in an index */
void texts_free(texts *t);

uint64_t next_random(uint64_t *state);
uint64_t new_seed(void); /* another one at each call; the first call prints what repeats them all */

/* Which keys, as numbers below `keys`; to be freed. */
uint32_t *order_uniform(uint32_t n, uint32_t keys, uint64_t seed);
uint32_t *order_zipf(uint32_t n, uint32_t keys, uint64_t seed); /* exponent 1 */
uint32_t *order_once(uint32_t keys, uint32_t step);     /* each once; steps: primes above 5 */
uint32_t *order_shuffled(uint32_t keys, uint64_t seed); /* each once */

/* Adds `by` to each number, modulo `keys`, so that other keys are the hot ones. */
void order_shift(uint32_t *order, uint32_t n, uint64_t by, uint32_t keys);

/* A statement that is run for many keys. */
typedef struct task {
    const char *sql; /* ?1 is the key, ?2, if it is there, a number from 1 to 100 */
    const texts *keys;
    const uint32_t *order; /* NULL: the keys as they come */
    uint32_t n, batch;     /* statements, and how many to a transaction; 1: no BEGIN */
    double *longest;       /* NULL, or receives the milliseconds of the longest COMMIT */
} task;

double task_run(sqlite3 *db, const task *of); /* nanoseconds for each statement */

/* ---- results ---- */

/* What the two values are, and so what the ratio is. */
typedef enum kind {
    RATE,    /* ns for each operation; the ratio is that of the rates: more is better */
    COST,    /* the same, but the ratio is that of the times: less is better; so in the others */
    BYTES,   /* for each row */
    LONGEST, /* ms; printed are the longest of all turns */
    COUNT,   /* how many */
    TIMES    /* a multiple */
} kind;

typedef struct result {
    const char *name;
    kind kind;
    double value[2][TURNS];
    int turns; /* 0: TURNS */
} result;

typedef struct spread {
    double median, least, most;
} spread;

spread spread_of(const double *numbers, int n);

FILE *create_text(const char *parent, const char *name); /* a file that is written anew */

/* The table is Markdown, and holds the lines whose name contains `only`; NULL: all. Ratios of RATE,
 * COST, BYTES and TIMES go to files in `parent`, too, as tab-separated values to be drawn:
 * rates.tsv where more is better, costs.tsv where less is: name, median, least, most. `parent`
 * NULL: none. */
void table_begin(const char *beside, const char *parent, const char *only);
bool table_wants(const char *name);
void table_line(const result *of); /* does nothing with a line that is not wanted */
void table_end(void);

#endif
