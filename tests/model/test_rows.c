/* test_rows.c - all states of a row of a replicated table in three files that can be reached by a
 * few operations, breadth first.
 *
 *     test_rows [DEPTH [JOINED [EVERY]]]    2 1 4, if nothing is said
 *
 *     insert    INSERT of the row, with new values and a count; refused where the row is there
 *     name      UPDATE of one regular column, to a new value
 *     price     UPDATE of the other one
 *     count     adds 2^i to the counter; i is new
 *     delete    DELETE of the row
 *     pull      of what is new in another file
 *
 * It begins with files that are empty, with a row that b has, that a has from b, and that c has,
 * too; then a has written the name, c the price, and a has pulled from c. The clock of each file
 * stands still: that of b is ahead of a's, that of c behind it. So what is written over a value of
 * b is just above it, in two files by equal numbers, and what is done in one file does not depend
 * on what was done in others meanwhile: two states are the same if all bytes of their files are.
 *
 * A second search has a table that refuses a row if its two values are too far apart: a write of
 * its own never is, but what a and c have written apart is. Then the row waits, or shows what it
 * showed before, and is listed; a pull shows it as soon as the table takes it.
 *
 * The oracle has of each file what the row must be: its life, the stamp and the value of each
 * regular column, and the set of counts. Stamps are read from the feed of the file that has
 * written them. They must be its own, and higher than those that they replace; whatever the stamps
 * are, of two files that meet the higher life wins, in one life the higher stamp of each column,
 * and counts are united. After each operation the file must show that, or list it where the table
 * refuses it, and pass its integrity check. In every state that is found within JOINED operations,
 * and in one of EVERY others, all files pull from each other, and must show the union of what they
 * had and one digest.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "core/core.h"
#include "counter.h"
#include "disk.h"
#include "grow.h"

enum { REGULAR = 2, COUNTS = 10, VALUES = 32, APART = 2 * VALUES, HOUR = 3600000 };

static const int64_t CLOCKS[FILES] = {INT64_C(1700000000000), INT64_C(1700000000000) + HOUR,
                                      INT64_C(1700000000000) - HOUR};
static const char *const PATHS[FILES] = {DISK_FOLDER "a", DISK_FOLDER "b", DISK_FOLDER "c"};

/* ---- the oracle ------------------------------------------------------------------------------ */

/* What was merged in a file, or must have been; a value of 0 is none. */
typedef struct row {
    uint32_t life, counts; /* life 0: there never was such a row */
    ctr_stamp stamps[REGULAR];
    int64_t values[REGULAR];
} row;

static bool lives(const row *one)
{
    return one->life % 2 == 1;
}

static bool same_row(const row *a, const row *b)
{
    return memcmp(a, b, sizeof *a) == 0;
}

static void join(row *into, const row *from)
{
    if (from->life > into->life) *into = *from;
    if (from->life != into->life) return;
    into->counts |= from->counts;
    for (int i = 0; i < REGULAR; i++) {
        int order = memcmp(from->stamps[i].id, into->stamps[i].id, CTR_ID_SIZE);
        int64_t ahead = from->stamps[i].number - into->stamps[i].number;
        if (ahead < 0 || (ahead == 0 && order <= 0)) continue;
        into->stamps[i] = from->stamps[i];
        into->values[i] = from->values[i];
    }
}

/* ---- files and states ------------------------------------------------------------------------ */

typedef struct state {
    struct state_file {
        uint32_t volume, place;
        row must;
    } files[FILES];
} state;

typedef enum operation_kind { INSERT, NAME, PRICE, COUNT, DELETE, PULL, FULL } operation_kind;

typedef struct operation {
    operation_kind kind;
    int file, with; /* that changes; that is pulled from */
} operation;

static const char *const SQL[] = {
    [INSERT] = "INSERT INTO r VALUES ('k', ?1, ?1, ?2)",
    [NAME] = "UPDATE r SET name = ?1",
    [PRICE] = "UPDATE r SET price = ?1",
    [COUNT] = "UPDATE r SET n = n + ?2",
    [DELETE] = "DELETE FROM r",
    [PULL] = "SELECT * FROM counter_pull(?3)",
    [FULL] = "SELECT * FROM counter_pull(?3, 'full')",
};
static const char *const KINDS[] = {"insert", "name", "price", "count", "delete", "pull", "full"};

static struct connection {
    sqlite3 *db;
    uint8_t id[CTR_ID_SIZE];
    sqlite3_stmt *statements[FULL + 1], *shown, *fed, *counted, *listed, *check, *digest;
} connections[FILES];

/* What a file says of the row, and what its table shows. */
typedef struct seen {
    row merged;
    bool there, listed;
    uint32_t counts;
    int64_t values[REGULAR];
} seen;

static struct {
    seen *rows; /* of each volume */
    size_t n;
    bool refuses; /* the table refuses rows */
} shown;

static void insist(bool holds, const struct connection *in, const char *what)
{
    if (holds) return;
    fprintf(stderr, "%s: %s\n", what, sqlite3_errmsg(in->db));
    abort();
}

static sqlite3_stmt *prepared(struct connection *in, const char *sql)
{
    sqlite3_stmt *statement = NULL;
    insist(sqlite3_prepare_v3(in->db, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, NULL) ==
               SQLITE_OK,
           in, sql);
    return statement;
}

static void run_all(struct connection *in, const char *sql)
{
    insist(sqlite3_exec(in->db, sql, NULL, NULL, NULL) == SQLITE_OK, in, sql);
}

/* ---- what a file shows ----------------------------------------------------------------------- */

/* The parts of the row in the feed, if there is one: first the row itself, then its regular columns
 * in the order of their names. */
static bool read_fed(sqlite3_stmt *fed, row *to)
{
    int n = 0;
    if (sqlite3_step(fed) == SQLITE_ROW) to->life = (uint32_t)sqlite3_column_int64(fed, 0);
    for (; sqlite3_step(fed) == SQLITE_ROW; n++) {
        const char *writer = (const char *)sqlite3_column_text(fed, 2);
        if (n == REGULAR || !writer) break;
        if (!ctr_id_from_text(writer, strlen(writer), to->stamps[n].id)) break;
        to->stamps[n].number = sqlite3_column_int64(fed, 1);
        to->values[n] = sqlite3_column_int64(fed, 3);
    }
    return sqlite3_reset(fed) == SQLITE_OK && n == (lives(to) ? REGULAR : 0);
}

/* The first number of the row of a statement; none: 0. */
static int64_t number_of(sqlite3_stmt *statement)
{
    int64_t number = sqlite3_step(statement) == SQLITE_ROW ? sqlite3_column_int64(statement, 0) : 0;
    sqlite3_reset(statement);
    return number;
}

/* NULL, or a sentence. */
static const char *read_row(struct connection *in, seen *to)
{
    memset(to, 0, sizeof *to);
    bool good = read_fed(in->fed, &to->merged);
    if (sqlite3_step(in->shown) == SQLITE_ROW) {
        to->there = true;
        for (int i = 0; i < REGULAR; i++) to->values[i] = sqlite3_column_int64(in->shown, i);
        to->counts = (uint32_t)sqlite3_column_int64(in->shown, REGULAR);
    }
    to->merged.counts = (uint32_t)number_of(in->counted);
    to->listed = number_of(in->listed) > 0;
    good = good && sqlite3_reset(in->shown) == SQLITE_OK;
    if (!good) return "its feed cannot be read";
    int rc = sqlite3_step(in->check);
    sqlite3_reset(in->check);
    return rc == SQLITE_DONE ? NULL : sqlite3_errmsg(in->db);
}

static bool takes(int64_t a, int64_t b)
{
    return !shown.refuses || llabs(a - b) < APART;
}

static bool shows_merged(const seen *in)
{
    if (in->there != lives(&in->merged)) return false;
    return !in->there || (in->counts == in->merged.counts &&
                          memcmp(in->values, in->merged.values, sizeof in->values) == 0);
}

/* Is what it shows what it must show, with or without a pull that has tried the row again? */
static const char *check_shown(const seen *in, bool tried)
{
    if (shows_merged(in)) return in->listed ? "it lists a row that it shows" : NULL;
    if (!lives(&in->merged)) return "it shows a row that has ended";
    bool takes_it = takes(in->merged.values[0], in->merged.values[1]);
    if (takes_it && (tried || !shown.refuses)) return "it does not show a row that it takes";
    return in->listed ? NULL : "it shows another row than it has, and does not list it";
}

/* The volume of a file as it is now, read once. */
static const char *keep(int file, uint32_t *volume)
{
    bool is_new;
    *volume = disk_keep(file, &is_new);
    if (!is_new) return NULL;
    const char *wrong = read_row(&connections[file], grow(&shown.rows, &shown.n, sizeof(seen)));
    disk_keep(file, &is_new);
    return wrong ? wrong : is_new ? "reading has changed the file" : NULL;
}

static void open_connection(int file)
{
    struct connection *in = &connections[file];
    disk_now = CLOCKS[file];
    disk_roll(0, file);
    disk_places[file] = (disk_place){.inode = 1000 + file, .birth = disk_now};
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
    insist(sqlite3_open_v2(PATHS[file], &in->db, flags, "unix-model") == SQLITE_OK, in, "open");
    insist(sqlite3_counter_init(in->db, NULL, NULL) == SQLITE_OK, in, "init");
    run_all(in, "PRAGMA page_size = 512; PRAGMA journal_mode = MEMORY; PRAGMA temp_store = MEMORY;"
                "PRAGMA cache_spill = OFF");
    run_all(in, shown.refuses ? "CREATE TABLE r(k TEXT PRIMARY KEY NOT NULL, name, price,"
                                " n INTEGER NOT NULL, CHECK (abs(name - price) < 64))"
                              : "CREATE TABLE r(k TEXT PRIMARY KEY NOT NULL, name, price,"
                                " n INTEGER NOT NULL)");
    run_all(in, "SELECT counter_replicate('r', 'n')");
    for (operation_kind kind = INSERT; kind <= FULL; kind++)
        in->statements[kind] = prepared(in, SQL[kind]);
    in->shown = prepared(in, "SELECT name, price, n FROM r");
    in->fed = prepared(in, "SELECT c.life, c.stamp, c.writer, c.value FROM counter_changes(0) AS f,"
                           " counter_change(f.change) AS c WHERE c.kind <> 'counter'");
    in->counted = prepared(in, "SELECT n FROM r_counters");
    in->listed = prepared(in, "SELECT count(*) FROM counter_tracked WHERE row_key IS NOT NULL");
    in->check = prepared(in, "INSERT INTO r_counters(r_counters) VALUES ('integrity-check')");
    in->digest = prepared(in, "SELECT counter_table_digest('r_counters')");
    sqlite3_stmt *id = prepared(in, "SELECT id FROM counter_replica WHERE one = 1");
    insist(sqlite3_step(id) == SQLITE_ROW && sqlite3_column_bytes(id, 0) == CTR_ID_SIZE, in, "id");
    memcpy(in->id, sqlite3_column_blob(id, 0), CTR_ID_SIZE);
    sqlite3_finalize(id);
}

static void open_all(state *first)
{
    sqlite3_config(SQLITE_CONFIG_SINGLETHREAD);
    disk_open();
    memset(first, 0, sizeof *first);
    for (int file = 0; file < FILES; file++) {
        open_connection(file);
        const char *wrong = keep(file, &first->files[file].volume);
        insist(!wrong, &connections[file], "a new file");
    }
    for (int file = 0; file < FILES; file++) first->files[file].place = disk_keep_place(file);
}

static void close_all(void)
{
    for (int file = 0; file < FILES; file++) {
        struct connection *in = &connections[file];
        sqlite3_stmt *others[] = {in->shown,  in->fed,   in->counted,
                                  in->listed, in->check, in->digest};
        for (int kind = 0; kind <= FULL; kind++) sqlite3_finalize(in->statements[kind]);
        for (size_t i = 0; i < sizeof others / sizeof *others; i++) sqlite3_finalize(others[i]);
        insist(sqlite3_close(in->db) == SQLITE_OK, in, "close");
    }
    free(shown.rows);
    memset(&shown, 0, sizeof shown);
    memset(connections, 0, sizeof connections);
    disk_close();
}

/* ---- one operation --------------------------------------------------------------------------- */

/* What it does is a matter of the files that it is given: it is run once for each set of them. */
typedef struct given {
    uint32_t kind, file, with, count;
    uint32_t volume, place, other_volume, other_place;
    int64_t value;
} given;

static struct {
    given *asked;
    struct done {
        uint32_t volume, place;
        int rc;
    } * done;
    size_t n_asked, n_done;
    lookup lookup;
} known;

static bool same_given(const void *at, uint32_t number)
{
    return memcmp(&known.asked[number], at, sizeof(given)) == 0;
}

/* A value, and a count, of a file that is part of no state. */
static int64_t free_value(const state *in, int file)
{
    for (int64_t value = VALUES * file + 1;; value++) {
        bool used = false;
        for (int i = 0; i < FILES; i++)
            for (int k = 0; k < REGULAR; k++)
                used |= in->files[i].must.values[k] == value ||
                        shown.rows[in->files[i].volume].values[k] == value;
        if (!used) return value;
    }
}

static uint32_t free_count(const state *in, int file)
{
    uint32_t used = 0, at = (uint32_t)(COUNTS * file);
    for (int i = 0; i < FILES; i++) used |= in->files[i].must.counts;
    while (used >> at & 1) at++;
    return (uint32_t)1 << at;
}

static void put(int file, uint32_t volume, uint32_t place)
{
    disk_put(file, volume);
    disk_put_place(file, place);
}

/* The same for a file that is to be used. Numbers of changes do not tell the files of several
 * histories apart, for time stands still: after a rollback a connection knows nothing. */
static void put_to_use(int file, uint32_t volume, uint32_t place)
{
    put(file, volume, place);
    run_all(&connections[file], "BEGIN; INSERT INTO r VALUES ('none', 1, 1, 1); ROLLBACK");
    put(file, volume, place);
}

static const char *run_for_real(const given *what, struct done *to)
{
    int file = (int)what->file, with = (int)what->with;
    bool pulls = what->kind >= PULL, is_new;
    struct connection *in = &connections[file];
    disk_now = CLOCKS[file];
    disk_roll(1, file);
    put_to_use(file, what->volume, what->place);
    if (pulls) put(with, what->other_volume, what->other_place);
    sqlite3_stmt *statement = in->statements[what->kind];
    sqlite3_bind_int64(statement, 1, what->value);
    sqlite3_bind_int64(statement, 2, what->count);
    sqlite3_bind_text(statement, 3, PATHS[with], -1, SQLITE_STATIC);
    while (sqlite3_step(statement) == SQLITE_ROW) continue;
    to->rc = sqlite3_reset(statement);
    const char *wrong = keep(file, &to->volume);
    to->place = disk_keep_place(file);
    if (wrong || !pulls) return wrong;
    bool touched = disk_keep(with, &is_new) != what->other_volume ||
                   disk_keep_place(with) != what->other_place;
    return touched ? "a pull has written to its source" : NULL;
}

static const char *run_once(const given *what, struct done *to)
{
    bool is_new;
    uint32_t number = lookup_find(&known.lookup, hash_bytes(what, sizeof *what), same_given, what,
                                  (uint32_t)known.n_asked, &is_new);
    if (!is_new) {
        *to = known.done[number];
        return NULL;
    }
    const char *wrong = run_for_real(what, to);
    *(given *)grow(&known.asked, &known.n_asked, sizeof *known.asked) = *what;
    *(struct done *)grow(&known.done, &known.n_done, sizeof *known.done) = *to;
    return wrong;
}

/* Takes the stamps of the columns that were written; NULL, or a sentence. */
static const char *stamp(row *must, const row *is, const row *before, const uint8_t *id, int mask)
{
    for (int i = 0; i < REGULAR; i++) {
        if (!(mask >> i & 1)) continue;
        bool replaces = before->life == must->life;
        if (memcmp(is->stamps[i].id, id, CTR_ID_SIZE) != 0) return "a stamp is not its writer's";
        if (replaces && is->stamps[i].number <= before->stamps[i].number)
            return "a stamp is not above the one that it replaces";
        must->stamps[i] = is->stamps[i];
    }
    return NULL;
}

/* Must the table refuse it? */
static bool is_refused(const operation *one, const given *what, const seen *before)
{
    if (one->kind == INSERT) return before->there;
    if (one->kind == NAME) return before->there && !takes(what->value, before->values[1]);
    return one->kind == PRICE && before->there && !takes(before->values[0], what->value);
}

/* Does to the row what the operation must do; returns the mask of the columns that it writes. An
 * INSERT of a row that waits is a write to it; other statements do not find one. */
static int expect(const operation *one, const given *what, const seen *before, const row *other,
                  row *must)
{
    static const int MASKS[FULL + 1] = {[INSERT] = 3, [NAME] = 1, [PRICE] = 2};
    if (one->kind >= PULL) join(must, other);
    if (one->kind >= PULL || before->there == (one->kind == INSERT)) return 0;
    int mask = MASKS[one->kind];
    if (one->kind == DELETE) *must = (row){.life = must->life + 1};
    if (one->kind == INSERT && !lives(must)) *must = (row){.life = must->life + 1};
    for (int i = 0; i < REGULAR; i++)
        if (mask >> i & 1) must->values[i] = what->value;
    if (one->kind == INSERT || one->kind == COUNT) must->counts |= what->count;
    return mask;
}

static char message[512];

static const char *describe(const row *is, const row *must)
{
    size_t n = 0;
    const row *both[] = {is, must};
    for (int which = 0; which < 2; which++) {
        n += (size_t)snprintf(message + n, sizeof message - n, "%s life %u, counts %x,",
                              which ? " and must have" : "it has", both[which]->life,
                              both[which]->counts);
        for (int i = 0; i < REGULAR; i++)
            n += (size_t)snprintf(message + n, sizeof message - n, " %lld stamped %lld %02x",
                                  (long long)both[which]->values[i],
                                  (long long)both[which]->stamps[i].number,
                                  both[which]->stamps[i].id[0]);
    }
    return message;
}

/* Returns NULL, or a sentence: the file does not show what it must. */
static const char *operate(const operation *one, const state *from, state *to)
{
    struct done done;
    *to = *from;
    struct state_file *file = &to->files[one->file];
    const struct state_file *other = &to->files[one->with];
    const row before = file->must;
    given what = {.kind = one->kind,
                  .file = (uint32_t)one->file,
                  .volume = file->volume,
                  .place = file->place};
    if (one->kind == COUNT || one->kind == INSERT) what.count = free_count(from, one->file);
    if (one->kind <= PRICE) what.value = free_value(from, one->file);
    if (one->kind >= PULL) {
        what.with = (uint32_t)one->with;
        what.other_volume = other->volume;
        what.other_place = other->place;
    }
    const char *wrong = run_once(&what, &done);
    if (wrong) return wrong;
    const seen showed = shown.rows[what.volume], *is = &shown.rows[done.volume];
    bool refused = is_refused(one, &what, &showed);
    int wanted = refused ? SQLITE_CONSTRAINT : SQLITE_OK;
    snprintf(message, sizeof message, "it ended with %d", done.rc);
    if (done.rc != wanted) return message;
    file->volume = done.volume;
    file->place = done.place;
    int mask = refused ? 0 : expect(one, &what, &showed, &other->must, &file->must);
    wrong = stamp(&file->must, &is->merged, &before, connections[one->file].id, mask);
    if (!wrong && !same_row(&file->must, &is->merged)) wrong = describe(&is->merged, &file->must);
    return wrong ? wrong : check_shown(is, one->kind >= PULL);
}

/* ---- everybody pulls from everybody ---------------------------------------------------------- */

static const char *compare_digests(const state *in)
{
    char first[64] = "";
    for (int file = 0; file < FILES; file++) {
        sqlite3_stmt *digest = connections[file].digest;
        put_to_use(file, in->files[file].volume, in->files[file].place);
        const char *text = sqlite3_step(digest) == SQLITE_ROW
                               ? (const char *)sqlite3_column_text(digest, 0)
                               : NULL;
        if (!file) snprintf(first, sizeof first, "%s", text ? text : "");
        bool same = text && strcmp(first, text) == 0;
        sqlite3_reset(digest);
        if (!same) return "digests differ after everybody has pulled from everybody";
    }
    return NULL;
}

static const char *join_all(const state *from, uint64_t chance)
{
    state now = *from, next;
    row all = from->files[0].must;
    for (int file = 1; file < FILES; file++) join(&all, &from->files[file].must);
    int hub = (int)(chance % FILES), one = (hub + 1 + (int)(chance >> 8 & 1)) % FILES;
    int other = FILES - hub - one;
    const int pulls[][2] = {{hub, one}, {hub, other}, {one, hub}, {other, hub}};
    for (size_t i = 0; i < sizeof pulls / sizeof *pulls; i++) {
        operation pull = {chance >> (16 + i) & 1 ? PULL : FULL, pulls[i][0], pulls[i][1]};
        const char *wrong = operate(&pull, &now, &next);
        if (wrong) return wrong;
        now = next;
    }
    for (int file = 0; file < FILES; file++)
        if (!same_row(&now.files[file].must, &all)) return "the oracle differs from itself";
    return compare_digests(&now);
}

/* ---- the search ------------------------------------------------------------------------------ */

static struct {
    int depth, joined;
    uint64_t every;
} wanted = {2, 1, 4};

/* Those of depth d stand behind those of d - 1. */
static struct {
    operation operations[FILES * (PULL + FILES - 1)];
    int n_operations;
    state *states;
    struct step {
        uint32_t parent;
        int operation;
    } * steps;
    size_t n_states, n_steps;
    lookup lookup;
    uint64_t operated, joins, listed; /* states in which a row is listed */
} search;

static void list_operations(void)
{
    for (int file = 0; file < FILES; file++) {
        for (operation_kind kind = INSERT; kind < PULL; kind++)
            search.operations[search.n_operations++] = (operation){kind, file, file};
        for (int with = 0; with < FILES; with++)
            if (with != file)
                search.operations[search.n_operations++] = (operation){PULL, file, with};
    }
}

static void print_path(uint32_t at, int last)
{
    if (at) print_path(search.steps[at].parent, search.steps[at].operation);
    if (last < 0) return;
    const operation *one = &search.operations[last];
    print_error("  %s %c", KINDS[one->kind], 'a' + one->file);
    if (one->kind == PULL) print_error("<-%c", 'a' + one->with);
    print_error("\n");
}

static void fail_at(uint32_t parent, int last, const char *wrong, const char *behind)
{
    print_error("after\n");
    print_path(parent, last);
    print_error("%s", behind);
    fail_msg("%s", wrong);
}

static uint64_t hash_state(const state *one)
{
    uint32_t numbers[2 * FILES];
    for (int i = 0; i < FILES; i++) {
        numbers[2 * i] = one->files[i].volume;
        numbers[2 * i + 1] = one->files[i].place;
    }
    return hash_bytes(numbers, sizeof numbers);
}

static bool same_files(const void *at, uint32_t number)
{
    const state *one = at, *other = &search.states[number];
    for (int i = 0; i < FILES; i++)
        if (one->files[i].volume != other->files[i].volume ||
            one->files[i].place != other->files[i].place)
            return false;
    return true;
}

static void enter(const state *one, uint32_t parent, int number, int depth)
{
    bool is_new;
    uint64_t hash = hash_state(one);
    uint32_t at =
        lookup_find(&search.lookup, hash, same_files, one, (uint32_t)search.n_states, &is_new);
    if (!is_new) {
        for (int i = 0; i < FILES; i++)
            if (!same_row(&one->files[i].must, &search.states[at].files[i].must))
                fail_at(parent, number, "the same files must show something else", "");
        return;
    }
    *(state *)grow(&search.states, &search.n_states, sizeof *search.states) = *one;
    *(struct step *)grow(&search.steps, &search.n_steps, sizeof *search.steps) =
        (struct step){parent, number};
    bool listed = false;
    for (int i = 0; i < FILES; i++) listed |= shown.rows[one->files[i].volume].listed;
    search.listed += listed;
    if (depth > wanted.joined && hash % wanted.every != 0) return;
    search.joins++;
    const char *wrong = join_all(one, hash);
    if (wrong) fail_at(parent, number, wrong, "  all pull from each other\n");
}

static void operate_and_enter(size_t at, int number, int depth)
{
    state from = search.states[at], to;
    const char *wrong = operate(&search.operations[number], &from, &to);
    search.operated++;
    if (wrong) fail_at((uint32_t)at, number, wrong, "");
    enter(&to, (uint32_t)at, number, depth);
}

/* The states that it begins with; each leads to the next one. */
static void begin(void)
{
    static const operation LEADS[] = {{INSERT, 1, 1}, {PULL, 0, 1},  {PULL, 2, 1},
                                      {NAME, 0, 0},   {PRICE, 2, 2}, {PULL, 0, 2}};
    state first;
    open_all(&first);
    enter(&first, 0, -1, 0);
    for (size_t i = 0; i < sizeof LEADS / sizeof *LEADS; i++)
        for (int number = 0; number < search.n_operations; number++)
            if (memcmp(&search.operations[number], &LEADS[i], sizeof *LEADS) == 0)
                operate_and_enter(i, number, 0);
}

static void advance(int depth, size_t first)
{
    struct timespec began, ended;
    size_t behind = search.n_states;
    uint64_t operated = search.operated, joins = search.joins;
    clock_gettime(CLOCK_MONOTONIC, &began);
    for (size_t at = first; at < behind; at++)
        for (int number = 0; number < search.n_operations; number++)
            operate_and_enter(at, number, depth);
    clock_gettime(CLOCK_MONOTONIC, &ended);
    print_message("depth %d: %zu states, %llu operations, %llu joined; %.1f s\n", depth,
                  search.n_states - behind, (unsigned long long)(search.operated - operated),
                  (unsigned long long)(search.joins - joins),
                  (double)(ended.tv_sec - began.tv_sec) +
                      (double)(ended.tv_nsec - began.tv_nsec) / 1e9);
}

static void search_all(bool refuses)
{
    size_t begins = 0;
    shown.refuses = refuses;
    list_operations();
    begin();
    for (int depth = 1; depth <= wanted.depth; depth++) {
        size_t behind = search.n_states;
        advance(depth, begins);
        begins = behind;
    }
    print_message("%zu states of 3 files, in %llu a row is listed; %llu operations; %u volumes of"
                  " %u pages\n",
                  search.n_states, (unsigned long long)search.listed,
                  (unsigned long long)search.operated, disk_volumes(), disk_pages());
    close_all();
    assert_int_equal(sqlite3_memory_used(), 0);
    free(known.asked);
    free(known.done);
    lookup_close(&known.lookup);
    free(search.states);
    free(search.steps);
    lookup_close(&search.lookup);
    memset(&search, 0, sizeof search);
    memset(&known, 0, sizeof known);
}

static void
in_every_state_the_row_is_what_was_written_last_and_all_agree_once_they_have_pulled(void **unused)
{
    (void)unused;
    search_all(false);
}

static void
a_row_that_the_table_refuses_is_listed_and_travels_and_is_shown_once_it_is_taken(void **unused)
{
    (void)unused;
    search_all(true);
}

int main(int argc, char **argv)
{
    if (argc > 1) wanted.depth = atoi(argv[1]);
    if (argc > 2) wanted.joined = atoi(argv[2]);
    if (argc > 3) wanted.every = strtoull(argv[3], NULL, 10);
    if (wanted.depth < 1 || !wanted.every) return 2;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            in_every_state_the_row_is_what_was_written_last_and_all_agree_once_they_have_pulled),
        cmocka_unit_test(
            a_row_that_the_table_refuses_is_listed_and_travels_and_is_shown_once_it_is_taken)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
