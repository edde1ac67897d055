/* functions/exchange.c - merging with another file: counter_pull, counter_push and counter_sync;
 * keys and marks of the change feed; counter_opening.
 *
 *     SELECT * FROM counter_pull('phone');       phone -> main
 *     SELECT * FROM counter_push('phone');       main -> phone
 *     SELECT * FROM counter_sync('phone');       both ways
 *     SELECT * FROM counter_pull('phone', 'full');    everything, not only changes
 *     SELECT * FROM counter_pull('phone', 'create tables');
 *         a table that phone tracks becomes a counter table here; 'full, create tables' means both
 *     SELECT rows_read, more FROM counter_pull('phone', 'part');
 *         a part of a first merge, about a quarter of a second; again while more is 1; a sync gives
 *         with the last one
 *     SELECT * FROM counter_pull('/shared', NULL, '["store 7"]');    a directory, and a scope
 *
 * 'phone' is an attached database, or the path of a directory (functions/folder.c), which are
 * merged in the caller's transaction, or the path of a file, which is opened by its own connection
 * outside it.
 *
 * One row for each counter table: table_name, rows_read, rows_changed, conflicts, and a note of
 * where the table was created, why it was passed over (merge/merge.h), how many of its rows wait or
 * differ, and what functions/status.c warns of, in each file. All work is done before the first row
 * is returned. On an error nothing has changed, with one exception, which the error reports: a sync
 * by path whose second COMMIT fails. A directory has one row for each device, whose directory
 * stands in table_name; the hidden columns tell its source, and how far its changes go. Of a file
 * they tell whether a part leaves more, and how many of the numbers are those of the peer, which
 * took. */
#include "functions/functions.h"

#include <string.h>

enum { COLUMN_NOTE = 4 };

/* The three directions, by function. */
typedef struct exchange_direction {
    const char *function;
    bool takes, gives; /* main takes, main gives */
} exchange_direction;

static const exchange_direction directions[] = {
    {"counter_pull", true, false}, {"counter_push", false, true}, {"counter_sync", true, true}};

/* ---- the work -------------------------------------------------------------------------------- */

/* A taking file: main, an attached one, or a path with its own connection. */
typedef struct taker {
    ctr_conn *conn;
    sqlite3 *db; /* its own, owned; or NULL */
    const char *schema;
    bool own;
    ctr_session session; /* not open if it is the session of main */
} taker;

/* One call. */
typedef struct exchange {
    const exchange_direction *way;
    const char *peer;
    int how; /* CTR_PULL_... */
    taker main, other;
    ctr_source theirs, ours;
    ctr_identity their_identity, our_identity;
    const char *locked_out; /* the schema or path that could not be locked, or NULL */
    bool reads_it;          /* the transaction already reads it */
    bool alone;             /* the caller has no transaction */
} exchange;

static int refuse_main(ctr_conn *conn)
{
    return ctr_problem_set(conn, SQLITE_ERROR, "main cannot be merged with itself");
}

/* Returns whether the host lets attached files be created and written, as SQLite 3.49 asks. */
static bool may_write_attached(sqlite3 *db)
{
    enum { ENABLE_ATTACH_CREATE = 1020, ENABLE_ATTACH_WRITE = 1021 }; /* as in sqlite3.h */
    int creates = 1, writes = 1;
    sqlite3_db_config(db, ENABLE_ATTACH_CREATE, -1, &creates);
    sqlite3_db_config(db, ENABLE_ATTACH_WRITE, -1, &writes);
    return creates && writes;
}

/* A path must not be a way around a connection that writes nothing. Of a read-only main nobody can
 * tell whether its connection may write others, but ATTACH can. */
void ctr_exchange_check_may_write(ctr_conn *conn, const char *path, bool is_file)
{
    sqlite3 *host = conn->db;
    ctr_run run = ctr_run_on(conn, "main", NULL);
    if (ctr_run_number(&run, CTR_SQL_SYNC_QUERY_ONLY) != 0)
        ctr_problem_set(conn, SQLITE_READONLY,
                        "%Q cannot be written: PRAGMA query_only of this connection is on", path);
    else if (ctr_rc(conn) == SQLITE_OK && !may_write_attached(host))
        ctr_problem_set(conn, SQLITE_READONLY,
                        "%Q cannot be written: this connection must not create or write attached "
                        "files (SQLITE_DBCONFIG_ENABLE_ATTACH_CREATE, _WRITE)",
                        path);
    if (ctr_rc(conn) != SQLITE_OK || sqlite3_db_readonly(host, "main") != 1) return;
    if (is_file)
        ctr_problem_set(conn, SQLITE_READONLY,
                        "%Q cannot be written by its path, because main is read-only here: ATTACH "
                        "it, and name the attached database",
                        path);
    else
        ctr_problem_set(conn, SQLITE_READONLY, "main is read-only here, and gives nothing to %Q",
                        path);
}

static void open_taker(exchange *x)
{
    sqlite3 *host = x->main.conn->db;
    taker *other = &x->other;
    if (ctr_rc(x->main.conn) == SQLITE_OK && !sqlite3_get_autocommit(host))
        ctr_problem_set(x->main.conn, SQLITE_ERROR,
                        "a path is written by its own connection, outside this transaction: "
                        "ATTACH %Q, or COMMIT first",
                        x->peer);
    if (ctr_rc(x->main.conn) == SQLITE_OK)
        ctr_exchange_check_may_write(x->main.conn, x->peer, true);
    if (ctr_rc(x->main.conn) != SQLITE_OK) return;
    *other = (taker){.schema = "main", .own = true};
    if (ctr_source_open_to_write(&other->db, x->main.conn, x->peer)) return;
    if (ctr_source_is_file_of(other->db, host)) {
        refuse_main(x->main.conn);
        return;
    }
    int rc = x->main.conn->above.register_all(other->db, &other->conn);
    ctr_problem_of(x->main.conn, other->db, rc);
    if (rc == SQLITE_OK) other->conn->errors = x->main.conn->errors; /* else it is freed */
}

/* Notes a lock of another connection. Within a transaction, it may be the transaction's own
 * lock. */
static void note_lock(exchange *x, const char *name)
{
    bool busy = (ctr_rc(x->main.conn) & 0xff) == SQLITE_BUSY && x->alone;
    if (busy && !x->locked_out) x->locked_out = name;
}

/* Opens the peer to be written, if it has its own connection, and the sources: the peer for a pull
 * and a sync, main for a push and a sync. */
static void open_files(exchange *x)
{
    x->theirs.conn = x->ours.conn = x->main.conn;
    sqlite3 *db = x->main.conn->db;
    ctr_conn *conn = x->main.conn;
    bool attached = ctr_run_has_schema(db, x->peer);
    if (sqlite3_stricmp(x->peer, "main") == 0 ||
        (attached && ctr_source_same_file(db, x->peer, "main"))) {
        refuse_main(x->main.conn);
        return;
    }
    if (!attached && x->way->gives) open_taker(x);
    note_lock(x, x->peer);
    if (ctr_rc(x->main.conn) != SQLITE_OK) return;
    if (!attached && x->way->takes) ctr_source_open_path(&x->theirs, conn, x->peer);
    if (attached && x->way->takes) ctr_source_open(&x->theirs, conn, x->peer);
    note_lock(x, x->peer);
    if (x->way->gives) ctr_source_open(&x->ours, conn, "main");
    x->theirs.called = x->peer;
    x->ours.called = "main";
    note_lock(x, "main");
    if (ctr_rc(x->main.conn) == SQLITE_OK && x->theirs.own &&
        ctr_source_is_file_of(x->theirs.conn->db, db))
        refuse_main(x->main.conn);
}

static void lock_taker(exchange *x, const taker *to, ctr_session *session)
{
    if (ctr_rc(x->main.conn) != SQLITE_OK) return;
    if ((ctr_session_lock(session, to->schema) & 0xff) != SQLITE_BUSY) return;
    x->locked_out = to->own ? x->peer : to->schema;
    x->reads_it = !to->own && ctr_run_transaction(to->conn->db, to->schema) != CTR_TXN_NONE;
}

/* Takes all locks before the first read, main before the peer, and begins the snapshots before
 * anything is written. */
static void begin_work(exchange *x)
{
    ctr_conn *conn = x->main.conn;
    taker *main = &x->main, *other = &x->other;
    if (ctr_rc(conn) == SQLITE_OK) ctr_session_begin(&main->session, main->conn, true);
    if (ctr_rc(conn) == SQLITE_OK && other->own)
        ctr_session_begin(&other->session, other->conn, true);
    if (x->way->takes) lock_taker(x, main, &main->session);
    if (x->way->gives) lock_taker(x, other, other->own ? &other->session : &main->session);
    if (x->way->takes && x->way->gives && ctr_rc(conn) == SQLITE_OK)
        ctr_session_keep_pages(&main->session);
    if (x->way->takes && ctr_source_hold(&x->theirs) == SQLITE_OK)
        ctr_source_read(&x->theirs, &x->their_identity);
    note_lock(x, x->peer);
    if (x->way->gives && ctr_source_hold(&x->ours) == SQLITE_OK)
        ctr_source_read(&x->ours, &x->our_identity);
    note_lock(x, "main");
}

static void merge_into(const exchange *x, ctr_side side, ctr_report *report)
{
    bool takes = side == CTR_MAIN_TAKES;
    const taker *to = takes ? &x->main : &x->other;
    const ctr_source *from = takes ? &x->theirs : &x->ours;
    if (ctr_source_append(from)) return;
    ctr_file *file = ctr_file_of(to->conn, to->schema);
    ctr_pull pull = {.source = from,
                     .giver = takes ? &x->their_identity : &x->our_identity,
                     .file = file,
                     .called = to->own ? x->peer : to->schema,
                     .how = x->how,
                     .side = side,
                     .report = report};
    if (file)
        ctr_pull_all(&pull);
    else
        ctr_problem_nomem(x->main.conn);
    ctr_events_write_ahead(to->conn);
}

/* If main is read through the host's connection, it has the merged rows now, and its identity is
 * read again. Its next number stays that from before the merge. If it had no identity before, it
 * has nothing to give: returns false. */
static bool look_again_at_ours(exchange *x)
{
    int64_t before = x->our_identity.next;
    if (x->ours.own || !x->way->takes || ctr_rc(x->main.conn) != SQLITE_OK) return true;
    if (!x->our_identity.present) return false;
    ctr_source_read(&x->ours, &x->our_identity);
    x->our_identity.next = before;
    return true;
}

/* Sets the message for a lock. SQLite does not wait for the lock of a file that the transaction
 * already reads; for other files it has waited. */
static void say_locked(const exchange *x)
{
    ctr_conn *conn = x->main.conn;
    ctr_problem ignored;
    ctr_problem_clear(conn);
    ctr_problem_try(conn, &ignored);
    int timeout = ctr_run_busy_timeout(conn);
    ctr_problem_close(&ignored);
    if (x->reads_it)
        ctr_problem_set(conn, SQLITE_BUSY,
                        "database is locked: another connection is writing %s, or has written it "
                        "since this one began to read it: %s%s BEGIN IMMEDIATE, which waits, and "
                        "repeat the call",
                        x->locked_out, x->other.own ? "ATTACH the other file, " : "",
                        x->alone ? "run" : "end the transaction, run");
    else if (x->locked_out)
        ctr_problem_set(conn, SQLITE_BUSY,
                        "database is locked: another connection has kept %s locked for longer "
                        "than the busy timeout, %d ms",
                        x->locked_out, timeout);
    else
        ctr_problem_set(conn, SQLITE_BUSY, "database is locked: %s",
                        x->alone
                            ? "run BEGIN IMMEDIATE, which waits, and repeat the call"
                            : "by another connection, or by this transaction: COMMIT it first");
}

/* "2 rows wait, 1 row differs: see counter_tracked()" */
static void note_apart(const exchange *x, ctr_side side, const struct ctr_report_apart *apart,
                       sqlite3_str *note)
{
    const long long wait = apart->wait, differ = apart->differ;
    if (wait == 0 && differ == 0) return;
    if (sqlite3_str_length(note)) sqlite3_str_appendall(note, "; ");
    if (wait) sqlite3_str_appendf(note, "%lld row%s", wait, wait == 1 ? " waits" : "s wait");
    if (wait && differ) sqlite3_str_appendall(note, ", ");
    if (differ)
        sqlite3_str_appendf(note, "%lld row%s", differ, differ == 1 ? " differs" : "s differ");
    if (side == CTR_MAIN_TAKES)
        sqlite3_str_appendall(note, ": see counter_tracked()");
    else if (x->other.own)
        sqlite3_str_appendf(note, " in %s: see counter_tracked() there", x->peer);
    else
        sqlite3_str_appendf(note, " in %s: see counter_tracked(%Q)", x->peer, x->peer);
}

/* Closes the list. `peer`: the file that they are about, NULL: main. */
static void append_warnings(ctr_warnings *list, const char *peer, sqlite3_str *note)
{
    for (int i = 0; i < list->n; i++) {
        if (sqlite3_str_length(note)) sqlite3_str_appendall(note, "; ");
        if (peer) sqlite3_str_appendf(note, "in %s: ", peer);
        sqlite3_str_appendall(note, list->items[i].sentence);
    }
    ctr_warnings_close(list);
}

/* Those about columns wait until the table is merged: the call that merges it may be theirs.
 *
 * "in phone: column weight does not travel yet: call counter_replicate('products')" */
static void note_warnings(const exchange *x, ctr_side side, const struct ctr_report_row *row,
                          sqlite3_str *note)
{
    const taker *of = side == CTR_MAIN_TAKES ? &x->main : &x->other;
    const char *counters = row->counters[side];
    ctr_warnings list = {0};
    bool reads = side == CTR_MAIN_GIVES && !x->way->gives; /* it is the source of a pull */
    bool changed = row->done[CTR_MAIN_TAKES].changed + row->done[CTR_MAIN_GIVES].changed > 0;
    ctr_file *file = reads ? x->theirs.file : ctr_file_of(of->conn, of->schema);
    const ctr_objects *objects = file && counters ? ctr_file_objects(file) : NULL;
    if (!objects) return;
    const char *table =
        ctr_tracked_is_among(objects, counters) ? ctr_triggers_table(objects, counters) : counters;
    if (!row->passed[CTR_MAIN_TAKES] && !row->passed[CTR_MAIN_GIVES])
        ctr_warnings_of_table(&list, file, counters, changed && !reads);
    if (table) ctr_warnings_of_merge(&list, file, table, &row->brought[side]);
    append_warnings(&list, side == CTR_MAIN_GIVES ? x->peer : NULL, note);
}

/* "passed over: column sold is a counter in main and a regular column in phone: ..." */
static void note_passed(ctr_conn *conn, const struct ctr_report_row *row, sqlite3_str *note)
{
    ctr_warnings list = {0};
    for (int side = 0; side < 2; side++)
        if (row->passed[side]) ctr_warnings_of_passed(conn, &list, row->passed[side]);
    append_warnings(&list, NULL, note);
}

/* Returns the note of a table, or NULL. The caller frees it. */
static char *note_of(const exchange *x, const struct ctr_report_row *row)
{
    sqlite3_str *note = sqlite3_str_new(NULL);
    if (row->created) /* "created in phone, which was empty": its name may be misspelled */
        sqlite3_str_appendf(note, "created in %s%s",
                            row->created_by == CTR_MAIN_TAKES ? "main" : x->peer,
                            row->in_empty ? ", which was empty" : "");
    note_passed(x->main.conn, row, note);
    note_apart(x, CTR_MAIN_TAKES, &row->apart[CTR_MAIN_TAKES], note);
    note_apart(x, CTR_MAIN_GIVES, &row->apart[CTR_MAIN_GIVES], note);
    note_warnings(x, CTR_MAIN_TAKES, row, note);
    note_warnings(x, CTR_MAIN_GIVES, row, note);
    if (sqlite3_str_errcode(note) != SQLITE_OK) ctr_problem_nomem(x->main.conn);
    return sqlite3_str_finish(note);
}

static void fill_answer(ctr_answer *answer, const exchange *x, const ctr_report *report)
{
    for (int i = 0; i < report->n && ctr_rc(answer->conn) == SQLITE_OK; i++) {
        const struct ctr_report_row *row = &report->rows[i];
        const struct ctr_report_done *took = &row->done[CTR_MAIN_TAKES],
                                     *gave = &row->done[CTR_MAIN_GIVES];
        char *note = note_of(x, row);
        ctr_answer_text(answer, row->name);
        ctr_answer_integer(answer, took->read + gave->read);
        ctr_answer_integer(answer, took->changed + gave->changed);
        ctr_answer_integer(answer, took->conflicts + gave->conflicts);
        ctr_answer_text(answer, note);
        ctr_answer_text(answer, NULL);
        ctr_answer_text(answer, NULL);
        ctr_answer_integer(answer, report->more);
        ctr_answer_integer(answer, gave->read);
        ctr_answer_integer(answer, gave->changed);
        ctr_answer_integer(answer, gave->conflicts);
        sqlite3_free(note);
    }
}

/* What main has taken, and what was passed over on either side, is what counter_warnings tells
 * until it is reset. */
static void keep_brought(const exchange *x, const ctr_report *report)
{
    ctr_conn *conn = x->main.conn;
    ctr_problem none;
    ctr_problem_try(conn, &none); /* without memory there is no warning */
    ctr_brought_list *list = ctr_brought_of(conn);
    for (int i = 0; list && i < report->n; i++) {
        const struct ctr_report_row *row = &report->rows[i];
        if (x->way->takes) ctr_brought_list_pass(conn, list, row, x->peer, CTR_MAIN_TAKES);
        if (x->way->gives) ctr_brought_list_pass(conn, list, row, x->peer, CTR_MAIN_GIVES);
        if (x->way->takes)
            ctr_brought_list_add(conn, list, row->birth, &row->brought[CTR_MAIN_TAKES]);
    }
    ctr_problem_close(&none);
}

/* ---- rights ---------------------------------------------------------------------------------- */

/* Names the file whose lock has kept rights where they are. */
static void name_lock(exchange *x)
{
    ctr_conn *conn = x->main.conn;
    note_lock(x, x->peer);
    if ((ctr_rc(conn) & 0xff) != SQLITE_BUSY) return;
    ctr_problem_clear(conn);
    ctr_problem_set(conn, SQLITE_BUSY,
                    "database is locked: another connection is writing %s, or has written it "
                    "meanwhile",
                    x->locked_out);
}

/* Pulls or pushes what the granter has committed; main also grants to the other file. Returns how
 * many grants that were. */
static int64_t pass_grants_on(const exchange *x, const exchange_direction *way,
                              ctr_levelling *levels, const uint8_t *to)
{
    int64_t n = 0;
    ctr_report report = {0};
    exchange y = {.way = way, .peer = x->peer, .alone = true};
    y.main = (taker){.conn = x->main.conn, .schema = "main"};
    y.other = (taker){.conn = x->main.conn, .schema = x->peer};
    open_files(&y);
    begin_work(&y);
    merge_into(&y, way->takes ? CTR_MAIN_TAKES : CTR_MAIN_GIVES, &report);
    if (way->takes && ctr_rc(x->main.conn) == SQLITE_OK)
        n = ctr_levelling_grant(levels, ctr_file_of(x->main.conn, "main"), CTR_MAIN_TAKES, to);
    ctr_events_write_ahead(x->main.conn);
    ctr_source_close(&y.ours);
    ctr_source_close(&y.theirs);
    ctr_session_end(&y.main.session);
    note_lock(&y, "main");
    if (y.other.own) ctr_session_end(&y.other.session);
    if (y.other.own) sqlite3_close(y.other.db);
    ctr_pull_report_close(&report);
    name_lock(&y);
    return ctr_rc(x->main.conn) == SQLITE_OK ? n : 0;
}

/* The other file grants to main, and commits. Sets its id. Returns whether anything is to be moved,
 * in either direction. */
static bool let_other_grant(const exchange *x, ctr_levelling *levels, const uint8_t *mine,
                            uint8_t *theirs)
{
    bool due = false;
    exchange y = {.way = x->way, .peer = x->peer, .alone = true};
    y.main = (taker){.conn = x->main.conn, .schema = "main"};
    y.other = (taker){.conn = x->main.conn, .schema = x->peer};
    if (!ctr_run_has_schema(x->main.conn->db, x->peer)) open_taker(&y);
    taker *other = &y.other;
    ctr_file *main = ctr_file_of(x->main.conn, "main");
    if (ctr_rc(x->main.conn) == SQLITE_OK &&
        ctr_session_begin(&other->session, other->conn, false) == SQLITE_OK) {
        lock_taker(&y, other, &other->session);
        ctr_file *file = ctr_file_of(other->conn, other->schema);
        const ctr_identity *identity = file ? ctr_file_identity(file) : NULL;
        if (identity) memcpy(theirs, identity->id, CTR_ID_SIZE);
        if (main && identity && ctr_rc(x->main.conn) == SQLITE_OK)
            due = ctr_levelling_look(levels, main, mine, theirs);
        if (due) ctr_levelling_grant(levels, file, CTR_MAIN_GIVES, mine);
        ctr_events_write_ahead(other->conn);
    }
    ctr_session_end(&other->session);
    if (other->own) sqlite3_close(other->db);
    name_lock(&y);
    return due && ctr_rc(x->main.conn) == SQLITE_OK;
}

/* Levels the rights to what a sync has read (merge/levelling.c): the other file grants and commits,
 * main pulls that, grants and commits, and the other file pulls. What fails stays where it is, and
 * the next sync moves it. Returns why it failed, in the arena, or NULL. */
static const char *level_rights(const exchange *x, ctr_levelling *levels)
{
    ctr_identity mine;
    uint8_t theirs[CTR_ID_SIZE];
    ctr_conn *conn = x->main.conn;
    ctr_problem failed;
    if (levels->n == 0 || ctr_rc(conn) != SQLITE_OK) return NULL;
    ctr_problem_try(conn, &failed);
    if (ctr_identity_read(&mine, conn, "main") == SQLITE_OK &&
        let_other_grant(x, levels, mine.id, theirs) &&
        pass_grants_on(x, &directions[0], levels, theirs) > 0)
        pass_grants_on(x, &directions[1], levels, theirs);
    ctr_problem_end(&failed);
    const char *why = NULL;
    if (failed.rc != SQLITE_OK && !ctr_problem_rolls_back(failed.rc))
        why = ctr_text_print(conn, "rights to bounded counters were not moved: %s",
                             ctr_problem_text(&failed));
    ctr_problem_close(&failed);
    return why;
}

/* Begins the savepoints, takes the locks, opens the snapshots, merges, answers, ends. A snapshot
 * closes before its file is written, except for that of main in a sync, and all close before the
 * commits, which would wait for them. Of two transactions, that of main commits first; if the other
 * fails, the next call merges what that file lacks. */
static void run_exchange(exchange *x, ctr_answer *answer)
{
    ctr_levelling levels = {.rows = NULL};
    bool both = x->way->takes && x->way->gives;
    ctr_report report = {.levels = both && x->alone ? &levels : NULL};
    open_files(x);
    begin_work(x);
    if (x->way->takes) merge_into(x, CTR_MAIN_TAKES, &report);
    if (x->way->gives) ctr_source_close(&x->theirs);
    if (x->way->gives && !report.more && look_again_at_ours(x))
        merge_into(x, CTR_MAIN_GIVES, &report);
    if (report.n == 0)
        ctr_problem_set(answer->conn, SQLITE_ERROR,
                        both ? "neither %s nor main has counter tables"
                             : "%s has no counter tables",
                        x->way->takes ? x->peer : "main");
    ctr_source_close(&x->ours);
    fill_answer(answer, x, &report);
    ctr_source_close(&x->theirs);
    ctr_session_end(&x->main.session);
    bool done = ctr_rc(x->main.conn) == SQLITE_OK, half = done && x->way->takes;
    if (done) keep_brought(x, &report);
    ctr_pull_report_close(&report);
    note_lock(x, "main");
    if (x->other.own) {
        ctr_session_end(&x->other.session);
        sqlite3_close(x->other.db);
        note_lock(x, x->peer);
    }
    if ((ctr_rc(answer->conn) & 0xff) == SQLITE_BUSY) say_locked(x);
    if (half) ctr_problem_where(answer->conn, "main has merged the changes, %s has not", x->peer);
    const char *why = level_rights(x, &levels);
    if (why) ctr_answer_add_to_text(answer, COLUMN_NOTE, why);
    ctr_levelling_close(&levels);
}

/* ---- the answer ------------------------------------------------------------------------------ */

/* Takes 'full, create tables'. */
static int take_how(ctr_conn *conn, const char *text)
{
    static const struct {
        const char *word;
        int how;
    } WORDS[] = {
        {"full", CTR_PULL_WHOLE}, {"create tables", CTR_PULL_CREATES}, {"part", CTR_PULL_PART}};
    int how = 0;
    bool more = *text != '\0';
    while (more && ctr_rc(conn) == SQLITE_OK) {
        const char *from = text + strspn(text, " "), *end = from + strcspn(from, ",");
        more = *end == ',';
        text = end + 1;
        while (end > from && end[-1] == ' ') end--;
        int n = (int)(end - from), known = 0;
        for (size_t i = 0; i < sizeof WORDS / sizeof *WORDS; i++)
            if (sqlite3_strnicmp(from, WORDS[i].word, n) == 0 && WORDS[i].word[n] == '\0')
                known = WORDS[i].how;
        how |= known;
        if (!known)
            ctr_problem_set(conn, SQLITE_ERROR,
                            "the second argument takes 'full', 'part' and 'create tables', with "
                            "a comma between them, not '%.*s'",
                            n, from);
    }
    return how;
}

static void check_part(const exchange *x)
{
    if (!x->way->takes)
        ctr_problem_set(x->main.conn, SQLITE_ERROR,
                        "'part' is of what is taken, and a push takes nothing");
    else if (x->how & CTR_PULL_WHOLE)
        ctr_problem_set(x->main.conn, SQLITE_ERROR, "'part' and 'full' exclude each other");
}

static void exchange_with_folder(ctr_answer *answer, const exchange *x, sqlite3_value *scope)
{
    if (x->how)
        ctr_problem_set(answer->conn, SQLITE_ERROR,
                        "the second argument is for a file, and %Q is a directory", x->peer);
    else if (scope && !x->way->takes)
        ctr_problem_set(answer->conn, SQLITE_ERROR,
                        "a scope is of what is taken, and a push takes nothing");
    else
        ctr_folder_exchange(answer, x->peer, x->way->takes, x->way->gives, scope);
}

/* Returns an argument, or NULL for one that is NULL or missing. */
static sqlite3_value *given(sqlite3_value *value)
{
    return value && sqlite3_value_type(value) != SQLITE_NULL ? value : NULL;
}

static void report_exchange(ctr_answer *answer, sqlite3_value **args)
{
    sqlite3 *db = answer->conn->db;
    ctr_conn *conn = answer->conn;
    exchange x = {.way = directions};
    while (strcmp(x.way->function, answer->kind->name) != 0) x.way++;
    x.peer = ctr_answer_arg(answer->conn, args[0], "the argument", NULL);
    sqlite3_value *how_value = given(args[1]), *scope = given(args[2]);
    const char *how = ctr_answer_arg(conn, how_value, "the second argument", "");
    if (how) x.how = take_how(conn, how);
    if (ctr_rc(conn) == SQLITE_OK && ctr_folder_is_peer(conn, x.peer)) {
        exchange_with_folder(answer, &x, scope);
        return;
    }
    if (ctr_rc(conn) == SQLITE_OK && scope)
        ctr_problem_set(conn, SQLITE_ERROR, "a scope is for a directory, and %Q is none", x.peer);
    x.alone = sqlite3_get_autocommit(db);
    x.main = (taker){.conn = conn, .schema = "main"};
    x.other = (taker){.conn = conn, .schema = x.peer};
    if (x.how & CTR_PULL_PART && ctr_rc(conn) == SQLITE_OK) check_part(&x);
    if (ctr_rc(answer->conn) == SQLITE_OK) run_exchange(&x, answer);
}

#define EXCHANGE(function)                                                              \
    {                                                                                   \
        .name = function,                                                               \
        .columns = "table_name TEXT, rows_read INTEGER, rows_changed INTEGER, "         \
                   "conflicts INTEGER, note TEXT",                                      \
        .args = "peer HIDDEN, how HIDDEN, scope HIDDEN",                                \
        .hidden = "source TEXT HIDDEN, upto INTEGER HIDDEN, more INTEGER HIDDEN, "      \
                  "read_there INTEGER HIDDEN, changed_there INTEGER HIDDEN, "           \
                  "conflicts_there INTEGER HIDDEN",                                     \
        .n_needed = 1,                                                                  \
        .usage = "one argument is needed, an attached database, a file or a directory", \
        .works = true, .fill = report_exchange                                          \
    }

int ctr_exchange_register(sqlite3 *db, ctr_conn *conn)
{
    static const ctr_answer_kind ANSWERS[] = {
        EXCHANGE("counter_pull"),
        EXCHANGE("counter_push"),
        EXCHANGE("counter_sync"),
    };
    return ctr_answer_register(db, conn, ANSWERS, sizeof ANSWERS / sizeof *ANSWERS);
}

/* =================================================================================================
 * keys - packed keys, and the marks of the change feed.
 *
 *     counter_key(a, b, ...)               the values of a row's key, in key order, as one BLOB
 *     counter_key_json(key)                the key as JSON; a BLOB is {"hex":"00ff"}, a TEXT that
 *                                            is not valid UTF-8 {"text":"61ff"}, a missing floor
 *                                            null, the empty key NULL
 *     counter_source([own [, scope]])      the name of main as a source of the feed; NULL if it has
 *                                            no id
 *     counter_changes_end()                all changes of main have numbers below this; 0 if it has
 *                                            no id
 *     counter_mark(source [, scope])       the number from which to read a source's feed; 0: all
 *     counter_seen(source, since, upto [, scope])
 *                                            the changes were merged: tries rows that are apart
 *                                            again, raises the mark, returns it
 *     counter_differs(a, b, c, d, ...)     for triggers: which of up to 50 pairs differ in type or
 *                                            bytes, pair n as 2^n */

/* ---- keys ------------------------------------------------------------------------------------ */

static void fn_key(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
    ctr_packed packed = {NULL, 0, 0};
    ctr_problem problem;
    ctr_problem_begin(sqlite3_user_data(ctx), &problem);
    if (argc == 0)
        ctr_problem_set(sqlite3_user_data(ctx), SQLITE_ERROR, "a key has at least one value");
    for (int i = 0; i < argc; i++)
        if (sqlite3_value_type(argv[i]) == SQLITE_NULL)
            ctr_problem_set(sqlite3_user_data(ctx), SQLITE_MISMATCH,
                            "value %d is NULL, and a key has no NULL", i + 1);
    if (problem.rc == SQLITE_OK) ctr_pack_values(sqlite3_user_data(ctx), &packed, argv, argc);
    if (ctr_arg_problem(ctx, "counter_key", &problem))
        sqlite3_result_blob64(ctx, packed.bytes, packed.size, SQLITE_TRANSIENT);
    sqlite3_free(packed.bytes);
}

static void fn_key_json(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
    static const char NAME[] = "counter_key_json";
    (void)argc;
    if (sqlite3_value_type(argv[0]) == SQLITE_NULL) return;
    const uint8_t *key = NULL;
    if (sqlite3_value_type(argv[0]) == SQLITE_BLOB) key = sqlite3_value_blob(argv[0]);
    size_t size = (size_t)sqlite3_value_bytes(argv[0]);
    int n;
    if (sqlite3_value_type(argv[0]) == SQLITE_BLOB && size == 0) return;
    if (!key) size = 0;
    ctr_status status = ctr_key_check(key, size, true, &n);
    if (status != CTR_OK) {
        ctr_arg_refuse(ctx, NAME, "the key", "a packed key, from counter_key or counter_changes",
                       argv[0]);
        return;
    }
    char *text = ctr_key_json_write(key, size);
    if (text)
        sqlite3_result_text(ctx, text, -1, sqlite3_free);
    else
        sqlite3_result_error_nomem(ctx);
}

/* ---- marks ----------------------------------------------------------------------------------- */

/* A source that was named, with its scope. */
typedef struct named_source {
    ctr_marks_source source;
    ctr_scope scope;
} named_source;

/* The scope may stand in the name of the source, and be given: then it must be the same. */
static void give_scope(ctr_conn *conn, named_source *named, sqlite3_value *scope)
{
    if (ctr_scope_open(&named->scope, conn, scope) == SQLITE_OK && named->source.scope &&
        strcmp(named->source.scope, named->scope.text) != 0)
        ctr_problem_set(conn, SQLITE_ERROR,
                        "the source has the scope %s in its name, and %s was given as its scope",
                        named->source.scope, named->scope.text);
    named->source.scope = named->scope.text;
}

/* The caller closes the scope if this returns true. */
static bool take_source(sqlite3_context *ctx, const char *function, int argc, sqlite3_value **argv,
                        int scope, named_source *named)
{
    ctr_conn *conn = sqlite3_user_data(ctx);
    ctr_problem problem;
    ctr_problem_begin(conn, &problem);
    *named = (named_source){.scope.n = 0};
    const char *text = ctr_text_value(conn, argv[0]);
    if (!ctr_arg_problem(ctx, function, &problem)) return false;
    if (!text || !ctr_marks_source_of(text, (size_t)sqlite3_value_bytes(argv[0]), &named->source))
        return ctr_arg_refuse(ctx, function, "source",
                              "TEXT from counter_changes, the UUID of a file", argv[0]);
    if (argc <= scope || sqlite3_value_type(argv[scope]) == SQLITE_NULL) return true;
    ctr_problem_begin(conn, &problem);
    give_scope(conn, named, argv[scope]);
    bool taken = ctr_arg_problem(ctx, function, &problem);
    if (!taken) ctr_scope_close(&named->scope);
    return taken;
}

bool ctr_exchange_check_tables(ctr_conn *conn)
{
    ctr_catalog catalog = {0};
    ctr_file *file = ctr_file_of(conn, "main");
    if (!file) ctr_problem_nomem(conn);
    if (file) ctr_catalog_read(&catalog, file);
    if (ctr_rc(conn) == SQLITE_OK && catalog.n == 0)
        ctr_problem_set(conn, SQLITE_ERROR, "main has no counter tables");
    ctr_catalog_close(&catalog);
    return ctr_rc(conn) == SQLITE_OK;
}

static void fn_mark(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
    static const char NAME[] = "counter_mark";
    named_source named;
    if (!take_source(ctx, NAME, argc, argv, 1, &named)) return;
    ctr_problem problem;
    ctr_problem_begin(sqlite3_user_data(ctx), &problem);
    int64_t mark = 0;
    if (ctr_exchange_check_tables(sqlite3_user_data(ctx)))
        mark = ctr_marks_of_feed(sqlite3_user_data(ctx), &named.source);
    if (ctr_arg_problem(ctx, NAME, &problem)) sqlite3_result_int64(ctx, mark);
    ctr_scope_close(&named.scope);
}

char *ctr_exchange_source(ctr_conn *conn, bool own, sqlite3_value *given)
{
    ctr_scope scope = {0};
    ctr_identity identity = {0};
    if (given && sqlite3_value_type(given) != SQLITE_NULL) ctr_scope_open(&scope, conn, given);
    ctr_identity_read(&identity, conn, "main");
    ctr_marks_source source = {.twist = identity.twist, .own = own, .scope = scope.text};
    memcpy(source.id, identity.id, CTR_ID_SIZE);
    bool has = identity.present && ctr_rc(conn) == SQLITE_OK;
    char *name = has ? ctr_marks_name(&source) : NULL;
    if (has && !name) ctr_problem_nomem(conn);
    ctr_scope_close(&scope);
    return name;
}

/* Of everything that main has to give or, by arguments, of its own changes, of a scope. */
static void fn_source(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
    static const char NAME[] = "counter_source";
    int64_t own = 0;
    if (argc > 0 && !ctr_arg_integer(ctx, NAME, "own", argv[0], 0, 1, &own)) return;
    ctr_problem problem;
    ctr_problem_begin(sqlite3_user_data(ctx), &problem);
    char *name = ctr_exchange_source(sqlite3_user_data(ctx), own != 0, argc > 1 ? argv[1] : NULL);
    if (ctr_arg_problem(ctx, NAME, &problem) && name)
        sqlite3_result_text(ctx, name, -1, SQLITE_TRANSIENT);
    sqlite3_free(name);
}

static void fn_end(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
    (void)argc;
    (void)argv;
    ctr_problem problem;
    ctr_problem_begin(sqlite3_user_data(ctx), &problem);
    int64_t end = ctr_feed_end(sqlite3_user_data(ctx));
    if (ctr_arg_problem(ctx, "counter_changes_end", &problem)) sqlite3_result_int64(ctx, end);
}

void ctr_exchange_show_apart(ctr_conn *conn)
{
    if (ctr_rc(conn) == SQLITE_OK) ctr_events_append(conn);
    if (ctr_rc(conn) == SQLITE_OK) ctr_pull_show_apart(ctr_file_of(conn, "main"));
    ctr_events_write_ahead(conn);
}

/* Names a source, the checked name of a file, of a scope unless that is NULL. The caller closes the
 * scope. */
static void name_given_source(ctr_conn *conn, named_source *named, const char *name,
                              sqlite3_value *scope)
{
    *named = (named_source){.scope.n = 0};
    ctr_marks_source_of(name, strlen(name), &named->source);
    if (scope) give_scope(conn, named, scope);
}

#if defined(COUNTER_HAS_ZLIB)

int64_t ctr_exchange_mark(ctr_conn *conn, const char *name, sqlite3_value *scope)
{
    named_source named;
    name_given_source(conn, &named, name, scope);
    int64_t mark = ctr_rc(conn) == SQLITE_OK ? ctr_marks_of_feed(conn, &named.source) : 0;
    ctr_scope_close(&named.scope);
    return mark;
}

#endif

int64_t ctr_exchange_raise(ctr_conn *conn, const char *name, sqlite3_value *scope, int64_t since,
                           int64_t upto)
{
    named_source named;
    if (ctr_rc(conn) != SQLITE_OK) return 0;
    name_given_source(conn, &named, name, scope);
    int64_t mark =
        ctr_rc(conn) == SQLITE_OK ? ctr_marks_raise(conn, &named.source, since, upto) : 0;
    ctr_scope_close(&named.scope);
    return mark;
}

/* Shows rows that are apart, and raises the mark from `since` to `upto`. Returns the mark. */
static int64_t see(ctr_conn *conn, const ctr_marks_source *source, int64_t since, int64_t upto)
{
    int64_t mark = 0;
    ctr_session session = {0};
    if (ctr_exchange_check_tables(conn) && ctr_session_begin(&session, conn, false) == SQLITE_OK) {
        ctr_session_lock(&session, "main");
        ctr_exchange_show_apart(conn);
        mark = ctr_marks_raise(conn, source, since, upto);
    }
    ctr_session_end(&session);
    return mark;
}

static void fn_seen(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
    static const char NAME[] = "counter_seen";
    named_source named;
    int64_t since, upto;
    if (!take_source(ctx, NAME, argc, argv, 3, &named)) return;
    if (ctr_arg_integer(ctx, NAME, "since", argv[1], 0, INT64_MAX, &since) &&
        ctr_arg_integer(ctx, NAME, "upto", argv[2], since, INT64_MAX, &upto)) {
        ctr_problem problem;
        ctr_problem_begin(sqlite3_user_data(ctx), &problem);
        int64_t mark = see(sqlite3_user_data(ctx), &named.source, since, upto);
        if (ctr_arg_problem(ctx, NAME, &problem)) sqlite3_result_int64(ctx, mark);
    }
    ctr_scope_close(&named.scope);
}

/* ---- values ---------------------------------------------------------------------------------- */

static void fn_differs(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
    enum { MOST = 100 };
    int64_t mask = 0;
    ctr_problem problem;
    ctr_problem_begin(sqlite3_user_data(ctx), &problem);
    if (argc % 2 != 0 || argc > MOST)
        ctr_problem_set(sqlite3_user_data(ctx), SQLITE_ERROR,
                        "it compares pairs of values, at most %d: %d values were given", MOST / 2,
                        argc);
    for (int i = 0; i + 1 < argc && problem.rc == SQLITE_OK; i += 2)
        mask |= (int64_t)!ctr_text_same(argv[i], argv[i + 1]) << i / 2;
    if (ctr_arg_problem(ctx, "counter_differs", &problem)) sqlite3_result_int64(ctx, mask);
}

int ctr_keys_register(sqlite3 *db, ctr_conn *conn)
{
    static const ctr_function FUNCTIONS[] = {
        {"counter_key", -1, -1, CTR_PURE, fn_key},
        {"counter_key_json", 1, 1, CTR_PURE, fn_key_json},
        {"counter_differs", -1, -1, CTR_PURE, fn_differs},
        {"counter_source", 0, 2, CTR_READS, fn_source},
        {"counter_changes_end", 0, 0, CTR_READS, fn_end},
        {"counter_mark", 1, 2, CTR_READS, fn_mark},
        {"counter_seen", 3, 4, CTR_ADMIN, fn_seen},
    };
    return ctr_shared_functions(db, conn, FUNCTIONS, sizeof FUNCTIONS / sizeof *FUNCTIONS);
}

/* =================================================================================================
 * opening - counter_opening: whether the values that two files had when they began to track a
 * table are one stock, or two.
 *
 *     SELECT counter_opening('products', 'same');          one stock in all files that say so
 *     SELECT counter_opening('products', 'same', id);      ours and those of another file are one
 *     SELECT counter_opening('products', 'add', id);       they add up
 *     SELECT counter_opening('products', 'same', a, b);    of two other files
 *
 * `id` is that of an opening (table/table.h), as the error of a pull shows it. The result is the
 * number of rows that have another value now. Merges carry the answer to all files; the same answer
 * again changes nothing. 'same' beats 'add', so it also repairs values that were added up.
 *
 * `table` is a tracked table or a counter table, in temp, main or an attached database, or
 * 'schema.table'. */

static const char COUNTER_OPENING[] = "counter_opening";

/* One call. */
typedef struct answering {
    ctr_conn *conn;
    char *schema;            /* owned */
    ctr_catalog_entry entry; /* of the counter table */
    bool tracks;             /* the table is tracked in this file */
    ctr_answer_to answer;
    int n_ids;
    uint8_t ids[2][CTR_ID_SIZE];
    uint8_t *answers; /* owned: n of CTR_ANSWER_SIZE bytes each */
    size_t n, room;
} answering;

/* Takes the counter table of a tracked table, or the counter table itself. */
static bool look_for_counters(void *with, const char *schema, const char *table)
{
    answering *call = with;
    ctr_identity identity;
    if (ctr_identity_read(&identity, call->conn, schema)) return false;
    ctr_file *file = ctr_file_of(call->conn, schema);
    if (!file) ctr_problem_nomem(call->conn);
    char *counters = file ? ctr_triggers_counters(file, table) : NULL;
    bool found = ctr_catalog_named(&call->entry, call->conn, schema, counters ? counters : table);
    call->tracks = counters != NULL;
    sqlite3_free(counters);
    if (found) call->schema = ctr_text_copy(call->conn, schema);
    return found;
}

static void add_answer(answering *call, const uint8_t *a, const uint8_t *b)
{
    uint8_t *answers =
        ctr_array_room(call->conn, call->answers, &call->room, call->n + 1, CTR_ANSWER_SIZE);
    if (!answers) return;
    call->answers = answers;
    ctr_openings_write(answers + call->n++ * CTR_ANSWER_SIZE, a, b, call->answer);
}

/* Makes the answers: about both given openings; else about each of ours and the given one, or the
 * one of the name. */
static void make_answers(answering *call, const ctr_openings *openings)
{
    uint8_t birth[CTR_ID_SIZE];
    const uint8_t *other = call->ids[0];
    if (call->n_ids == 2) {
        if (memcmp(call->ids[0], call->ids[1], CTR_ID_SIZE) == 0)
            ctr_problem_set(call->conn, SQLITE_ERROR, "the two openings must differ");
        add_answer(call, call->ids[0], call->ids[1]);
        return;
    }
    if (call->n_ids == 1 && ctr_openings_is_own(openings, other) && openings->n_own == 1)
        ctr_problem_set(call->conn, SQLITE_ERROR,
                        "the opening is that of this file: name the one of the other file");
    if (openings->n_own == 0 && (call->n_ids == 1 || !call->tracks))
        ctr_problem_set(call->conn, SQLITE_ERROR,
                        "this file has no opening values of its own: name two openings");
    if (call->n_ids == 0) {
        ctr_openings_of_birth(call->conn, call->entry.birth, birth);
        other = birth;
    }
    for (size_t i = 0; i < openings->n_own && ctr_rc(call->conn) == SQLITE_OK; i++) {
        const uint8_t *own = openings->own + i * CTR_ID_SIZE;
        if (memcmp(own, other, CTR_ID_SIZE) != 0) add_answer(call, own, other);
    }
}

/* Takes the answers as a merge would. */
static int64_t take_answers(answering *call)
{
    int64_t changed = 0;
    ctr_merge merge;
    ctr_file *file = ctr_file_of(call->conn, call->schema);
    ctr_conflicts conflicts = {.file = file};
    if (!file) ctr_problem_nomem(call->conn);
    ctr_run run = ctr_run_on(call->conn, call->schema, call->entry.name);
    ctr_run_do(&run, CTR_SQL_SYNC_JOIN, NULL);
    if (ctr_rc(call->conn) == SQLITE_OK) ctr_file_identity(file);
    if (ctr_rc(call->conn) != SQLITE_OK) return 0;
    ctr_merge_open(&merge, file, call->entry.birth, &conflicts);
    const ctr_openings *openings =
        ctr_rc(call->conn) == SQLITE_OK ? ctr_merge_openings(&merge) : NULL;
    if (openings) make_answers(call, openings);
    if (ctr_rc(call->conn) == SQLITE_OK) changed = ctr_answers_take(&merge, call->answers, call->n);
    ctr_merge_close(&merge);
    if (ctr_rc(call->conn) == SQLITE_OK) ctr_pull_show_apart(file); /* rows that awaited it */
    return changed;
}

static int64_t answer_in_session(answering *call, const char *table)
{
    int64_t changed = 0, inserted = sqlite3_last_insert_rowid(call->conn->db);
    ctr_session session;
    if (ctr_session_begin(&session, call->conn, true) == SQLITE_OK) {
        if (!ctr_schema_find(call->conn, table, look_for_counters, call))
            ctr_problem_set(call->conn, SQLITE_ERROR, "there is no tracked table '%s'", table);
        if (ctr_rc(call->conn) == SQLITE_OK) ctr_events_append(call->conn);
        if (ctr_rc(call->conn) == SQLITE_OK) changed = take_answers(call);
        ctr_events_write_ahead(call->conn);
    }
    ctr_session_end(&session);
    sqlite3_set_last_insert_rowid(call->conn->db, inserted);
    return changed;
}

static bool take_arguments(sqlite3_context *ctx, answering *call, int argc, sqlite3_value **argv)
{
    const char *answer = ctr_arg_text(ctx, COUNTER_OPENING, "the answer", argv[1]);
    if (!answer) return false;
    if (sqlite3_stricmp(answer, "same") == 0) call->answer = CTR_SAME;
    if (sqlite3_stricmp(answer, "add") == 0) call->answer = CTR_ADD;
    if (call->answer == CTR_UNANSWERED)
        return ctr_arg_refuse(ctx, COUNTER_OPENING, "the answer", "'same' or 'add'", argv[1]);
    if (call->answer == CTR_ADD && argc == 2) {
        ctr_arg_error(
            ctx, "%s: 'add' needs the opening of the other file, which the refused merge shows",
            COUNTER_OPENING);
        return false;
    }
    for (int i = 2; i < argc; i++) {
        if (!ctr_arg_id(ctx, COUNTER_OPENING, "an opening", argv[i], call->ids[call->n_ids]))
            return false;
        if (!ctr_id_is_opening(call->ids[call->n_ids++]))
            return ctr_arg_refuse(ctx, COUNTER_OPENING, "an opening",
                                  "a UUID of version 8, as a pull shows it", argv[i]);
    }
    return true;
}

static void fn_opening(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
    answering call = {.conn = sqlite3_user_data(ctx)};
    ctr_problem problem;
    const char *table = ctr_arg_text(ctx, COUNTER_OPENING, "the table", argv[0]);
    if (!table || !take_arguments(ctx, &call, argc, argv)) return;
    ctr_problem_begin(call.conn, &problem);
    int64_t changed = answer_in_session(&call, table);
    if (ctr_arg_problem(ctx, COUNTER_OPENING, &problem)) sqlite3_result_int64(ctx, changed);
    ctr_catalog_close_entry(&call.entry);
    sqlite3_free(call.schema);
    sqlite3_free(call.answers);
}

int ctr_opening_register(sqlite3 *db, ctr_conn *conn)
{
    static const ctr_function FUNCTIONS[] = {{COUNTER_OPENING, 2, 4, CTR_ADMIN, fn_opening}};
    return ctr_shared_functions(db, conn, FUNCTIONS, sizeof FUNCTIONS / sizeof *FUNCTIONS);
}
