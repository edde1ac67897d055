/* operations.c - runs them through the library, and holds what comes of it against the oracle. */
#include "operations.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "counter.h"
#include "grow.h"

/* Increments are INSERTs and, every other one, what an application does that sets values. */
enum { START = 1700000000, ASSIGN = FORK + 1, STATEMENTS };

static struct connection {
    sqlite3 *db;
    sqlite3_stmt *statements[STATEMENTS], *digest;
    content_reader reader;
} connections[FILES];

static int n_keys;
static content *contents;
static size_t n_contents;

/* What an operation does is a matter of the files and places that it is given, of time and dice.
 * So it is run once for each set of them, and remembered; one in REPEATED is run again and must
 * do the same. */
enum { REPEATED = 1000 };

typedef struct given {
    uint32_t kind, file, with, bit, depth;
    uint32_t volume, place, other_volume, other_place;
} given;

static struct {
    given *asked;
    struct done {
        uint32_t volume, place;
        int rc;
    } * done;
    size_t n_asked, n_done;
    lookup lookup;
    uint64_t repeats;
} known;

static char message[512];

const content *operations_contents(void)
{
    return contents;
}

/* ---- which there are ------------------------------------------------------------------------- */

static const char *const NAMES[] = {"increment", "delete", "reset",   "floor", "pull",
                                    "delta",     "copy",   "restore", "fork"};

static bool is_name(const char *word, size_t size)
{
    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++)
        if (strlen(NAMES[i]) == size && strncmp(NAMES[i], word, size) == 0) return true;
    return false;
}

bool operations_are_named(const char *only)
{
    for (only += strspn(only, " "); *only; only += strspn(only, " ")) {
        size_t size = strcspn(only, " ");
        if (!is_name(only, size)) return false;
        only += size;
    }
    return true;
}

static void list(operation_kind kind, int file, int with, const char *only, operation *to, int *n)
{
    if (!*only || strstr(only, NAMES[kind])) to[(*n)++] = (operation){kind, file, with};
}

int operations_list(int keys, const char *only, operation to[MOST_OPERATIONS])
{
    int n = 0;
    for (int file = 0; file < FILES; file++) {
        for (operation_kind kind = INCREMENT; kind <= RESET; kind++)
            for (int key = 0; key < keys; key++) list(kind, file, key, only, to, &n);
        list(FLOOR, file, 0, only, to, &n);
        list(RESTORE, file, 0, only, to, &n);
        for (int other = 0; other < FILES; other++) {
            if (other == file) continue;
            list(PULL, file, other, only, to, &n);
            list(DELTA, file, other, only, to, &n);
            list(COPY, file, other, only, to, &n);
            list(FORK, file, other, only, to, &n);
        }
    }
    return n;
}

const char *operation_text(const operation *one)
{
    static char text[32];
    char file = (char)('a' + one->file), other = (char)('a' + one->with);
    if (one->kind <= RESET)
        snprintf(text, sizeof text, "%s %c %d", NAMES[one->kind], file, one->with + 1);
    else if (one->kind == FLOOR || one->kind == RESTORE)
        snprintf(text, sizeof text, "%s %c", NAMES[one->kind], file);
    else
        snprintf(text, sizeof text, "%s %c<-%c", NAMES[one->kind], file, other);
    return text;
}

/* ---- connections ----------------------------------------------------------------------------- */

static const char *path_of(int file)
{
    static const char *const PATHS[FILES] = {DISK_FOLDER "a", DISK_FOLDER "b", DISK_FOLDER "c"};
    return PATHS[file];
}

static void insist(bool holds, const struct connection *in, const char *what)
{
    if (holds) return;
    fprintf(stderr, "%s: %s\n", what, sqlite3_errmsg(in->db));
    abort();
}

static sqlite3_stmt *prepared(struct connection *in, const char *sql)
{
    sqlite3_stmt *statement = NULL;
    int rc = sqlite3_prepare_v3(in->db, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, NULL);
    insist(rc == SQLITE_OK, in, sql);
    return statement;
}

static void prepare_all(struct connection *in)
{
    static const char *const SQL[STATEMENTS] = {
        [INCREMENT] = "INSERT INTO t VALUES (?1, ?2)",
        [DELETE] = "DELETE FROM t WHERE k = ?1",
        [RESET] = "INSERT INTO t(t, k) VALUES ('reset', ?1)",
        [FLOOR] = "INSERT INTO t(t, k) VALUES ('purge below', 2)",
        [PULL] = "SELECT * FROM counter_pull(?1, 'full')",
        [DELTA] = "SELECT * FROM counter_pull(?1)",
        [FORK] = "SELECT counter_fork()",
        [ASSIGN] = "REPLACE INTO t SELECT ?1, coalesce((SELECT n FROM t WHERE k = ?1), 0) + ?2",
    };
    for (int i = 0; i < STATEMENTS; i++)
        if (SQL[i]) in->statements[i] = prepared(in, SQL[i]);
    in->digest = prepared(in, "SELECT counter_table_digest('t')");
    content_open(&in->reader, in->db);
}

/* What happens at one depth happens at one time; times and draws of one path never come twice. */
static void set_time(int depth, int file)
{
    disk_now = START * INT64_C(1000) + (int64_t)depth * CLOCK_STEP;
    disk_roll(depth, file);
}

static void make_place(int depth, int file)
{
    memset(&disk_places[file], 0, sizeof disk_places[file]);
    disk_places[file].inode = 1000 * (depth + 1) + file;
    disk_places[file].birth = disk_now;
}

static void open_connection(int file)
{
    struct connection *in = &connections[file];
    set_time(0, file);
    make_place(0, file);
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
    insist(sqlite3_open_v2(path_of(file), &in->db, flags, "unix-model") == SQLITE_OK, in, "open");
    insist(sqlite3_counter_init(in->db, NULL, NULL) == SQLITE_OK, in, "init");
    insist(sqlite3_exec(in->db,
                        "PRAGMA page_size = 512; PRAGMA journal_mode = MEMORY;"
                        "PRAGMA temp_store = MEMORY; PRAGMA cache_spill = OFF;"
                        "CREATE VIRTUAL TABLE t USING counter(k INTEGER PRIMARY KEY, n COUNTER)",
                        NULL, NULL, NULL) == SQLITE_OK,
           in, "create");
    prepare_all(in);
}

/* The volume of a file as it is now, and its content. NULL or a sentence. */
static const char *keep(int file, uint32_t *volume)
{
    bool is_new;
    *volume = disk_keep(file, &is_new);
    if (!is_new) return NULL;
    content *to = grow(&contents, &n_contents, sizeof *to);
    const char *wrong = content_read(&connections[file].reader, n_keys, to);
    disk_keep(file, &is_new);
    return wrong ? wrong : is_new ? "reading has changed the file" : NULL;
}

void operations_open(int keys, state *first)
{
    n_keys = keys;
    sqlite3_config(SQLITE_CONFIG_SINGLETHREAD);
    disk_open();
    memset(first, 0, sizeof *first);
    for (int file = 0; file < FILES; file++) {
        struct state_file *one = &first->files[file];
        open_connection(file);
        const char *wrong = keep(file, &one->volume);
        insist(!wrong, &connections[file], "a new file");
        one->before = one->volume;
        one->shows = one->showed = oracle_empty();
    }
    for (int file = 0; file < FILES; file++) first->files[file].place = disk_keep_place(file);
}

void operations_close(void)
{
    for (int file = 0; file < FILES; file++) {
        struct connection *in = &connections[file];
        for (int i = 0; i < STATEMENTS; i++) sqlite3_finalize(in->statements[i]);
        sqlite3_finalize(in->digest);
        content_close(&in->reader);
        insist(sqlite3_close(in->db) == SQLITE_OK, in, "close");
    }
    memset(connections, 0, sizeof connections);
    free(contents);
    contents = NULL;
    n_contents = 0;
    free(known.asked);
    free(known.done);
    lookup_close(&known.lookup);
    memset(&known, 0, sizeof known);
    disk_close();
}

/* ---- one operation --------------------------------------------------------------------------- */

static int step_all(sqlite3_stmt *statement)
{
    while (sqlite3_step(statement) == SQLITE_ROW) continue;
    return sqlite3_reset(statement);
}

static int run(const given *what)
{
    bool assigns = what->kind == INCREMENT && what->bit % 2;
    sqlite3_stmt *statement =
        connections[what->file].statements[assigns ? (uint32_t)ASSIGN : what->kind];
    if (what->kind <= RESET) sqlite3_bind_int64(statement, 1, what->with + 1);
    if (what->kind == INCREMENT) sqlite3_bind_int64(statement, 2, (sqlite3_int64)1 << what->bit);
    if (what->kind == PULL || what->kind == DELTA)
        sqlite3_bind_text(statement, 1, path_of((int)what->with), -1, SQLITE_STATIC);
    return step_all(statement);
}

/* What is pulled from is read. */
static const char *check_source(const given *what)
{
    bool is_new;
    if (what->kind != PULL && what->kind != DELTA) return NULL;
    if (disk_keep((int)what->with, &is_new) != what->other_volume)
        return "a pull has written to its source";
    if (disk_keep_place((int)what->with) != what->other_place)
        return "a pull has marked its source";
    return NULL;
}

/* A connection brings what it knows up to date by the number of the last change, which is near to the
 * time. Here all of one depth happens at one time, so that files of several histories have equal
 * numbers, as in no place else: after a rollback it knows nothing. */
static const char *run_for_real(const given *what, struct done *to)
{
    int file = (int)what->file;
    sqlite3_exec(connections[file].db, "BEGIN; DELETE FROM t WHERE k = 0; ROLLBACK", NULL, NULL,
                 NULL);
    set_time((int)what->depth, file);
    disk_put(file, what->volume);
    disk_put_place(file, what->place);
    if (what->kind == PULL || what->kind == DELTA) {
        disk_put((int)what->with, what->other_volume);
        disk_put_place((int)what->with, what->other_place);
    }
    to->rc = run(what);
    const char *wrong = keep(file, &to->volume);
    to->place = disk_keep_place(file);
    return wrong ? wrong : check_source(what);
}

static bool same_given(const void *at, uint32_t number)
{
    return memcmp(&known.asked[number], at, sizeof(given)) == 0;
}

static const char *repeat(const given *what, const struct done *first)
{
    struct done again;
    const char *wrong = run_for_real(what, &again);
    if (wrong) return wrong;
    bool same =
        again.rc == first->rc && again.volume == first->volume && again.place == first->place;
    return same ? NULL : "the same operation on the same files has done something else";
}

static const char *run_once(const given *what, struct done *to)
{
    bool is_new;
    uint32_t number = lookup_find(&known.lookup, hash_bytes(what, sizeof *what), same_given, what,
                                  (uint32_t)known.n_asked, &is_new);
    if (!is_new) {
        *to = known.done[number];
        return ++known.repeats % REPEATED ? NULL : repeat(what, to);
    }
    const char *wrong = run_for_real(what, to);
    *(given *)grow(&known.asked, &known.n_asked, sizeof *known.asked) = *what;
    *(struct done *)grow(&known.done, &known.n_done, sizeof *known.done) = *to;
    return wrong;
}

static given given_of(const operation *one, int depth, const state *from)
{
    const struct state_file *file = &from->files[one->file], *other = &from->files[one->with];
    given what = {.kind = one->kind,
                  .file = (uint32_t)one->file,
                  .with = (uint32_t)one->with,
                  .depth = (uint32_t)depth,
                  .volume = file->volume,
                  .place = file->place};
    if (one->kind == INCREMENT) what.bit = (uint32_t)state_free_operation(from, one->file);
    if (one->kind == PULL || one->kind == DELTA) {
        what.other_volume = other->volume;
        what.other_place = other->place;
    }
    return what;
}

/* The same by the oracle; false: it must be refused. */
static bool ask_oracle(const given *what, const oracle *other, oracle *shows)
{
    switch (what->kind) {
    case INCREMENT: return oracle_increment(shows, (int)what->with, (int)what->bit);
    case DELETE: return oracle_delete(shows, (int)what->with);
    case RESET: return oracle_reset(shows, (int)what->with);
    case FLOOR: oracle_raise_floor(shows); return true;
    case PULL:
    case DELTA: oracle_merge(shows, other); return true;
    default: return true;
    }
}

static const char *check(int file, const state *to, uint32_t volume)
{
    const oracle *must = &to->files[file].shows;
    const content *is = &contents[volume];
    if (oracle_agrees(must, is, n_keys)) return NULL;
    size_t n = (size_t)snprintf(message, sizeof message, "%c shows", 'a' + file);
    for (int key = 0; key < n_keys; key++)
        n += (size_t)snprintf(
            message + n, sizeof message - n,
            " key %d: %s %lld in life %u, it must show %s %u in life %u;", key + 1,
            is->rows[key].shown ? "yes" : "no", (long long)is->rows[key].value, is->rows[key].life,
            oracle_shows(must, key) ? "yes" : "no", must->cells[key].set, must->cells[key].life);
    snprintf(message + n, sizeof message - n, " floor: %d, it must be %d", is->floor, must->floor);
    return message;
}

static const char *run_and_check(const operation *one, int depth, state *to)
{
    struct done done;
    struct state_file *file = &to->files[one->file];
    given what = given_of(one, depth, to);
    *message = '\0';
    bool may = ask_oracle(&what, &to->files[one->with].shows, &file->shows);
    const char *wrong = run_once(&what, &done);
    file->volume = done.volume;
    file->place = done.place;
    if (wrong) return wrong;
    if (may == (done.rc == SQLITE_OK) && (may || done.rc == SQLITE_CONSTRAINT))
        return check(one->file, to, file->volume);
    snprintf(message, sizeof message, "ended with %d", done.rc);
    return message;
}

/* A copy, or a clone, of the other file. */
static void take_bytes(const operation *one, int depth, state *to)
{
    struct state_file *file = &to->files[one->file];
    *file = to->files[one->with];
    file->before = file->volume;
    file->showed = file->shows;
    if (one->kind != COPY) return;
    make_place(depth, one->file);
    file->place = disk_keep_place(one->file);
}

const char *operations_do(const operation *one, int depth, const state *from, state *to,
                          bool *changed)
{
    const char *wrong = NULL;
    struct state_file *file = &to->files[one->file];
    *to = *from;
    set_time(depth, one->file);
    if (one->kind == COPY || one->kind == FORK) take_bytes(one, depth, to);
    struct state_file before = *file;
    if (one->kind == RESTORE) {
        file->volume = file->before;
        file->shows = file->showed;
    } else if (one->kind != COPY) {
        wrong = run_and_check(one, depth, to);
    }
    if (one->kind != RESTORE && file->volume != before.volume) {
        file->before = before.volume;
        file->showed = before.shows;
    }
    *changed = memcmp(to, from, sizeof *to) != 0;
    return wrong;
}

/* ---- everybody pulls from everybody ---------------------------------------------------------- */

static const char *compare_digests(const state *in)
{
    char first[64] = "";
    for (int file = 0; file < FILES; file++) {
        sqlite3_stmt *row = connections[file].digest;
        disk_put(file, in->files[file].volume);
        const char *text =
            sqlite3_step(row) == SQLITE_ROW ? (const char *)sqlite3_column_text(row, 0) : NULL;
        if (!file) snprintf(first, sizeof first, "%s", text ? text : "");
        bool same = text && strcmp(first, text) == 0;
        sqlite3_reset(row);
        if (!same) return "digests differ after everybody has pulled from everybody";
    }
    return NULL;
}

const char *operations_join(int depth, const state *from, uint64_t chance)
{
    state now = *from, next;
    oracle all = from->files[0].shows;
    for (int file = 1; file < FILES; file++) oracle_merge(&all, &from->files[file].shows);
    int hub = (int)(chance % FILES), one = (hub + 1 + (int)(chance >> 8 & 1)) % FILES;
    int other = FILES - hub - one;
    const int pulls[][2] = {{hub, one}, {hub, other}, {one, hub}, {other, hub}};
    for (size_t i = 0; i < sizeof pulls / sizeof *pulls; i++) {
        bool changed;
        operation pull = {chance >> (16 + i) & 1 ? PULL : DELTA, pulls[i][0], pulls[i][1]};
        const char *wrong = operations_do(&pull, depth + 1 + (int)i, &now, &next, &changed);
        if (wrong) return wrong;
        now = next;
    }
    for (int file = 0; file < FILES; file++)
        if (!oracle_same(&now.files[file].shows, &all)) return "the oracle differs from itself";
    return compare_digests(&now);
}
