/* common.c - what the programs of this folder share. */
#define _POSIX_C_SOURCE 200809L

#include "common.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

int sqlite3_counter_init(sqlite3 *db, char **error, const struct sqlite3_api_routines *api);

enum { MOST_FILES = 64, MOST_LINES = 64 };

static char folder[512];
static char *files[MOST_FILES];
static int file_count;
static FILE *drawn[2]; /* where more is better, where less is */
static const char *wanted = "";

static void fail(const char *what)
{
    fprintf(stderr, "bench: %s (files are left in %s)\n", what, folder);
    exit(1);
}

static void *room(size_t n)
{
    void *made = malloc(n);
    if (!made) fail("out of memory");
    return made;
}

double now(void)
{
    struct timespec t;
    static int of_cpu = -1;
    const char *clock = of_cpu < 0 ? getenv("COUNTER_CLOCK") : NULL;
    if (of_cpu < 0) of_cpu = clock && strcmp(clock, "cpu") == 0;
    clock_gettime(of_cpu ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* ---- files ---------------------------------------------------------------------------------- */

static const char *const tails[] = {"", "-wal", "-shm"};

void folder_make(const char *parent)
{
    snprintf(folder, sizeof folder, "%s/XXXXXX", parent);
    if (mkdtemp(folder)) return;
    perror(folder);
    exit(1);
}

const char *folder_name(void)
{
    return folder;
}

static void remove_path(const char *path)
{
    for (size_t i = 0; i < sizeof tails / sizeof *tails; i++) {
        char whole[620];
        snprintf(whole, sizeof whole, "%s%s", path, tails[i]);
        unlink(whole);
    }
}

void folder_remove(void)
{
    for (int i = 0; i < file_count; i++) {
        remove_path(files[i]);
        free(files[i]);
    }
    file_count = 0;
    rmdir(folder);
}

void path_of(const char *name, side which, char path[600])
{
    snprintf(path, 600, "%s/%s-%s.db", folder, name, which == COUNTER ? "counter" : "plain");
}

static void remember_file(const char *path)
{
    for (int i = 0; i < file_count; i++)
        if (strcmp(files[i], path) == 0) return;
    if (file_count == MOST_FILES) fail("too many files");
    files[file_count++] = strcpy(room(strlen(path) + 1), path);
}

static sqlite3 *open_path(const char *path, const char *vfs)
{
    sqlite3 *db;
    remember_file(path);
    int rc = sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, vfs);
    must(db, rc);
    must(db, sqlite3_counter_init(db, NULL, NULL));
    run(db, "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL");
    return db;
}

sqlite3 *open_new(const char *name, side which, const char *vfs)
{
    char path[600];
    path_of(name, which, path);
    remove_path(path);
    return open_path(path, vfs);
}

sqlite3 *open_again(const char *name, side which)
{
    char path[600];
    path_of(name, which, path);
    return open_path(path, NULL);
}

void copy_file(const char *from, const char *to, side which)
{
    enum { PIECE = 1 << 20 };
    char path[600], *piece = room(PIECE);
    size_t n;
    path_of(from, which, path);
    FILE *in = fopen(path, "rb");
    path_of(to, which, path);
    remove_path(path);
    remember_file(path);
    FILE *out = fopen(path, "wb");
    if (!in || !out) fail(path);
    while ((n = fread(piece, 1, PIECE, in)) > 0)
        if (fwrite(piece, 1, n, out) != n) fail(path);
    if (fflush(out) || fsync(fileno(out)) || fclose(out) || fclose(in)) fail(path);
    free(piece);
}

int must(sqlite3 *db, int rc)
{
    if (rc != SQLITE_OK && rc != SQLITE_ROW && rc != SQLITE_DONE) fail(sqlite3_errmsg(db));
    return rc;
}

void close_db(sqlite3 *db)
{
    must(db, sqlite3_close(db));
}

void run(sqlite3 *db, const char *sql)
{
    must(db, sqlite3_exec(db, sql, NULL, NULL, NULL));
}

void run_with_path(sqlite3 *db, const char *format, const char *path)
{
    char *sql = sqlite3_mprintf(format, path);
    if (!sql) fail("out of memory");
    run(db, sql);
    sqlite3_free(sql);
}

double time_sql(sqlite3 *db, const char *sql)
{
    double began = now();
    run(db, sql);
    return now() - began;
}

int64_t number_of(sqlite3 *db, const char *sql)
{
    sqlite3_stmt *statement;
    must(db, sqlite3_prepare_v2(db, sql, -1, &statement, NULL));
    must(db, sqlite3_step(statement));
    int64_t number = sqlite3_column_int64(statement, 0);
    must(db, sqlite3_finalize(statement));
    return number;
}

void checkpoint(sqlite3 *db)
{
    run(db, "PRAGMA wal_checkpoint(TRUNCATE)");
}

/* ---- keys and tasks -------------------------------------------------------------------------- */

uint64_t next_random(uint64_t *state)
{
    uint64_t z = (*state += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

uint64_t new_seed(void)
{
    static uint64_t state;
    static bool begun;
    if (!begun) {
        const char *given = getenv("COUNTER_SEED");
        if (given)
            state = strtoull(given, NULL, 10);
        else
            sqlite3_randomness(sizeof state, &state);
        fprintf(stderr, "COUNTER_SEED=%" PRIu64 "\n", state);
        begun = true;
    }
    return next_random(&state);
}

texts keys_new(uint32_t n)
{
    texts made = {room((size_t)n * KEY_SIZE + 1), room(n * sizeof *made.at),
                  room(n * sizeof *made.size), n};
    uint64_t state = new_seed();
    for (uint32_t i = 0; i < n; i++) {
        char *text = made.bytes + (size_t)i * KEY_SIZE;
        snprintf(text, KEY_SIZE + 1, "/page/%018" PRIx64, next_random(&state));
        made.at[i] = text;
        made.size[i] = KEY_SIZE;
    }
    return made;
}

void texts_free(texts *t)
{
    free(t->bytes);
    free(t->at);
    free(t->size);
}

uint32_t *order_uniform(uint32_t n, uint32_t keys, uint64_t seed)
{
    uint32_t *order = room(n * sizeof *order);
    for (uint32_t i = 0; i < n; i++) order[i] = (uint32_t)(next_random(&seed) % keys);
    return order;
}

uint32_t *order_zipf(uint32_t n, uint32_t keys, uint64_t seed)
{
    uint32_t *order = room(n * sizeof *order);
    double *below = room(keys * sizeof *below), sum = 0;
    for (uint32_t i = 0; i < keys; i++) below[i] = sum += 1.0 / (i + 1);
    for (uint32_t i = 0; i < n; i++) {
        double drawn_at = sum * (double)(next_random(&seed) >> 11) / 9007199254740992.0;
        uint32_t low = 0, high = keys - 1;
        while (low < high) {
            uint32_t middle = (low + high) / 2;
            if (below[middle] < drawn_at)
                low = middle + 1;
            else
                high = middle;
        }
        order[i] = low;
    }
    free(below);
    return order;
}

uint32_t *order_once(uint32_t keys, uint32_t step)
{
    uint32_t *order = room(keys * sizeof *order);
    for (uint32_t i = 0; i < keys; i++) order[i] = (uint32_t)((uint64_t)i * step % keys);
    return order;
}

uint32_t *order_shuffled(uint32_t keys, uint64_t seed)
{
    uint32_t *order = order_once(keys, 1);
    for (uint32_t i = keys; i > 1; i--) {
        uint32_t other = (uint32_t)(next_random(&seed) % i), kept = order[i - 1];
        order[i - 1] = order[other];
        order[other] = kept;
    }
    return order;
}

void order_shift(uint32_t *order, uint32_t n, uint64_t by, uint32_t keys)
{
    for (uint32_t i = 0; i < n; i++) order[i] = (uint32_t)((order[i] + by % keys) % keys);
}

static void commit(sqlite3 *db, double *longest)
{
    double began = now();
    run(db, "COMMIT");
    double took = (now() - began) * 1e3;
    if (longest && took > *longest) *longest = took;
}

double task_run(sqlite3 *db, const task *of)
{
    sqlite3_stmt *statement;
    must(db, sqlite3_prepare_v2(db, of->sql, -1, &statement, NULL));
    bool counts = sqlite3_bind_parameter_count(statement) > 1;
    if (of->longest) *of->longest = 0;
    double began = now();
    for (uint32_t i = 0; i < of->n; i++) {
        if (of->batch > 1 && i % of->batch == 0) {
            if (i) commit(db, of->longest);
            run(db, "BEGIN");
        }
        uint32_t key = of->order ? of->order[i] : i % of->keys->n;
        if (of->keys->at)
            sqlite3_bind_text(statement, 1, of->keys->at[key], of->keys->size[key], SQLITE_STATIC);
        else
            sqlite3_bind_int64(statement, 1, (int64_t)key + 1);
        if (counts) sqlite3_bind_int64(statement, 2, i % 100 + 1);
        while (must(db, sqlite3_step(statement)) == SQLITE_ROW) sqlite3_column_int64(statement, 0);
        must(db, sqlite3_reset(statement));
    }
    if (of->batch > 1) commit(db, of->longest);
    double took = (now() - began) * 1e9 / of->n;
    sqlite3_finalize(statement);
    return took;
}

/* ---- results --------------------------------------------------------------------------------- */

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

spread spread_of(const double *numbers, int n)
{
    double sorted[MOST_LINES];
    memcpy(sorted, numbers, (size_t)n * sizeof *sorted);
    qsort(sorted, (size_t)n, sizeof *sorted, by_size);
    return (spread){sorted[n / 2], sorted[0], sorted[n - 1]};
}

FILE *create_text(const char *parent, const char *name)
{
    char path[600];
    snprintf(path, sizeof path, "%s/%s", parent, name);
    FILE *file = fopen(path, "w");
    if (!file) fail(path);
    return file;
}

void table_begin(const char *beside, const char *parent, const char *only)
{
    char left[32];
    if (only) wanted = only;
    if (parent) {
        drawn[0] = create_text(parent, "rates.tsv");
        drawn[1] = create_text(parent, "costs.tsv");
    }
    snprintf(left, sizeof left, "%s, ns/op", beside);
    printf("| %-56s | %16s | %16s | %-40s |\n", "", left, "counter, ns/op",
           "ratio, median of pairs [min-max]");
    printf("|%.58s|%.17s:|%.17s:|%.42s|\n",
           "--------------------------------------------------------------", "------------------",
           "------------------", "--------------------------------------------");
}

bool table_wants(const char *name)
{
    return strstr(name, wanted) != NULL;
}

static void print_value(kind of, const double *values, int turns)
{
    static const char *const formats[] = {"%.0f", "%.0f", "%.1f B/row", "%.2f ms", "%.0f", "%.2fx"};
    char text[32];
    spread all = spread_of(values, turns);
    snprintf(text, sizeof text, formats[of], of == LONGEST ? all.most : all.median);
    printf(" %16s |", text);
}

static spread ratio_of(const result *of, int turns)
{
    double ratios[TURNS];
    side above = of->kind == RATE ? PLAIN : COUNTER, below = of->kind == RATE ? COUNTER : PLAIN;
    for (int i = 0; i < turns; i++) ratios[i] = of->value[above][i] / of->value[below][i];
    return spread_of(ratios, turns);
}

void table_line(const result *of)
{
    if (!table_wants(of->name)) return;
    int turns = of->turns ? of->turns : TURNS;
    bool less = of->kind != RATE;
    spread ratio = ratio_of(of, turns);
    char text[64];
    int size =
        snprintf(text, sizeof text, "**%.2f** times the %s", ratio.median, less ? "cost" : "rate");
    if (turns > 1)
        snprintf(text + size, sizeof text - (size_t)size, " [%.2f-%.2f]", ratio.least, ratio.most);
    printf("| %-56s |", of->name);
    print_value(of->kind, of->value[PLAIN], turns);
    print_value(of->kind, of->value[COUNTER], turns);
    printf(" %-40s |\n", text);
    fflush(stdout);
    if (drawn[less] && of->kind != LONGEST && of->kind != COUNT)
        fprintf(drawn[less], "%s\t%.4f\t%.4f\t%.4f\n", of->name, ratio.median, ratio.least,
                ratio.most);
}

void table_end(void)
{
    for (int i = 0; i < 2; i++) {
        if (drawn[i] && fclose(drawn[i])) fail("a result cannot be written");
        drawn[i] = NULL;
    }
}
