/* functions/folder.c - a directory as the peer of counter_sync, counter_pull and counter_push, and
 * what stands in it.
 *
 *     SELECT * FROM counter_sync('/shared');     gives what main has counted, takes what is new
 *     SELECT * FROM counter_folder('/shared');   what others have given, and how far main has it
 *
 *     /shared/.sqlite-counter                    the marker: without it nothing is read or written
 *     /shared/7529cd67-.../                      one for each device, written only by its file
 *         00000000000000000000-00000000000000000512.gz     lines from 0 on and below 512
 *         00000000000000000512-00000000000000000519.gz
 *         .place-ab0c1d2e-...                        by which the file knows its own one again
 *
 * docs/batches.md specifies them. A file gives its own changes alone, so no service that copies the
 * directory between machines ever meets a conflict. What is wrong with the files of one device
 * becomes the note of its row, and the others are taken.
 *
 * Directories are a right of the connection, which SQL cannot give: an injected SELECT could call a
 * function where it cannot ATTACH. */
#include "functions/functions.h"

#include <string.h>

static const char COUNTER_FOLDER[] = "counter_folder";

#if defined(COUNTER_HAS_ZLIB)

#include <errno.h>
#include <stdlib.h>

#include "counter.h"
#include "file/uuid.h"

#define ASIDE ".tmp-"   /* what the name of a file begins with that is on its way */
#define PLACE ".place-" /* of the file that identifies a directory */

enum {
    FOLDER_ID_SIZE = CTR_ID_TEXT_SIZE - 1,
    FOLDER_TWIST_SIZE = 16,
    FOLDER_DIGITS = 20,
    FOLDER_NAME_SIZE = 2 * FOLDER_DIGITS + sizeof "-.gz",
    PLACE_NAME_SIZE = sizeof PLACE + CTR_ID_TEXT_SIZE,
    OWN_SIZE = sizeof " own" - 1,
    ABANDONED_AFTER = 86400, /* seconds: another sync of this file may be at work */
    RELISTED_MOST = 3,       /* times that files are gone because they were joined */
    EMPTY_LINES_MOST = 1000  /* each takes time, and a few bytes of gzip */
};

/* A file of lines. */
typedef struct batches {
    int64_t since, upto, size;
    bool failed; /* it could not be taken */
} batches;

/* The directory of a device. */
typedef struct device {
    ctr_folder at;
    uint8_t id[CTR_ID_SIZE];
    char name[FOLDER_ID_SIZE + FOLDER_TWIST_SIZE + 2];              /* of the directory */
    char source[FOLDER_ID_SIZE + FOLDER_TWIST_SIZE + OWN_SIZE + 2]; /* of its own changes */
    char place[CTR_ID_TEXT_SIZE];                                   /* an id; "": it has none */
    batches *files;                                                 /* owned: as they begin */
    size_t n, room;
    int64_t written; /* when the last one was; 0: none was */
    bool listed;     /* all of them were, or there is no directory */
    bool own;        /* it is of main, under an id that this has or had */
} device;

/* One call. */
typedef struct exchange_folder {
    ctr_answer *answer;
    ctr_conn *conn;
    ctr_folder at;
    device own;
    bool gives;       /* it is no pull */
    char *unread;     /* owned: what is wrong with own files that main does not know; or NULL */
    bool gap;         /* that one before it is missing: it can be read, and is not to be deleted */
    int64_t outdated; /* from where on own files tell what nobody can read; INT64_MAX: nowhere */
    sqlite3_value *scope; /* NULL: everything */
    ctr_own_ids ids;      /* owned */
} exchange_folder;

/* What was given or taken, as a row. */
typedef struct moved {
    int64_t read, changed, conflicts, upto;
    char *note; /* owned; NULL: there is none */
} moved;

/* ---- names ----------------------------------------------------------------------------------- */

static bool begins_with(const char *text, size_t size, const char *letters)
{
    return strspn(text, letters) >= size;
}

/* Sets the name and the source of a device; returns false if no device has such a directory. */
static bool device_of(const char *name, device *made)
{
    char text[CTR_ID_TEXT_SIZE] = "";
    const char *twist = strlen(name) > FOLDER_ID_SIZE ? name + FOLDER_ID_SIZE + 1 : "";
    if (ctr_id_from_text(name, strlen(name) < FOLDER_ID_SIZE ? 0 : FOLDER_ID_SIZE, made->id))
        ctr_id_to_text(made->id, text);
    if (*text == '\0' || strncmp(name, text, FOLDER_ID_SIZE) != 0) return false;
    bool has_twist = name[FOLDER_ID_SIZE] == '-' && strlen(twist) == FOLDER_TWIST_SIZE &&
                     begins_with(twist, FOLDER_TWIST_SIZE, "0123456789abcdef") &&
                     strspn(twist, "0") < FOLDER_TWIST_SIZE; /* a source has none of zeros */
    if (name[FOLDER_ID_SIZE] && !has_twist) return false;
    sqlite3_snprintf(sizeof made->name, made->name, "%s", name);
    sqlite3_snprintf(sizeof made->source, made->source, "%s%s%s own", text, has_twist ? "/" : "",
                     twist);
    return true;
}

/* Reads "<since>-<upto>.gz". */
static bool is_batches(const char *name, batches *found)
{
    static const char DECIMAL[] = "0123456789";
    if (strlen(name) != FOLDER_NAME_SIZE - 1 || !begins_with(name, FOLDER_DIGITS, DECIMAL) ||
        name[FOLDER_DIGITS] != '-' ||
        !begins_with(name + FOLDER_DIGITS + 1, FOLDER_DIGITS, DECIMAL) ||
        strcmp(name + 2 * FOLDER_DIGITS + 1, ".gz") != 0)
        return false;
    errno = 0;
    found->since = strtoll(name, NULL, 10);
    found->upto = strtoll(name + FOLDER_DIGITS + 1, NULL, 10);
    return errno == 0 && found->since < found->upto;
}

static void write_batches_name(const batches *file, char name[FOLDER_NAME_SIZE])
{
    sqlite3_snprintf(FOLDER_NAME_SIZE, name, "%020lld-%020lld.gz", (long long)file->since,
                     (long long)file->upto);
}

static int compare_batches(const void *a, const void *b)
{
    const batches *x = a, *y = b;
    if (x->since != y->since) return x->since < y->since ? -1 : 1;
    return (x->upto > y->upto) - (x->upto < y->upto);
}

static void fail_folder(ctr_conn *conn, const char *path, const char *what, int error)
{
    if (error == ENOMEM)
        ctr_problem_nomem(conn);
    else
        ctr_problem_set(conn, SQLITE_ERROR, "%s: cannot be %s: %s", path, what, strerror(error));
}

/* ---- what stands there ----------------------------------------------------------------------- */

typedef struct listing {
    ctr_conn *conn;
    device *of;
    void (*tell)(void *with, const char *path); /* of what is nobody's; NULL: nobody hears of it */
    void *with;
} listing;

/* Names with a dot in front are those of files on their way, or of the service that carries the
 * directory. */
static void report_other(const listing *to, const ctr_folder *in, const char *name)
{
    if (!to->tell || *name == '.') return;
    const char *path = ctr_text_print(to->conn, "%s/%s", in->path, name);
    to->tell(to->with, path);
}

/* A service that brings one late may leave several: the first by its letters counts. */
static void note_place(device *of, const char *name)
{
    uint8_t id[CTR_ID_SIZE];
    const char *place = name + sizeof PLACE - 1;
    if (strncmp(name, PLACE, sizeof PLACE - 1) == 0 && strlen(place) == FOLDER_ID_SIZE &&
        ctr_id_from_text(place, FOLDER_ID_SIZE, id) &&
        (*of->place == '\0' || strcmp(place, of->place) < 0))
        ctr_id_to_text(id, of->place);
}

static bool list_batches(void *with, const ctr_folder_entry *entry)
{
    const listing *to = with;
    device *of = to->of;
    batches file = {.size = entry->size};
    note_place(of, entry->name);
    if (entry->error && is_batches(entry->name, &file)) {
        fail_folder(to->conn, ctr_text_print(to->conn, "%s/%s", of->at.path, entry->name), "read",
                    entry->error);
        return false;
    }
    if (entry->kind != CTR_FOLDER_FILE || !is_batches(entry->name, &file)) {
        report_other(to, &of->at, entry->name);
        return ctr_rc(to->conn) == SQLITE_OK;
    }
    batches *files = ctr_array_room(to->conn, of->files, &of->room, of->n + 1, sizeof *files);
    if (!files) return false;
    of->files = files;
    files[of->n++] = file;
    if (entry->written > of->written) of->written = entry->written;
    return true;
}

/* Opens the directory of a device, and lists its files. Does nothing if it is not there. */
static void open_device(const listing *to, const ctr_folder *in)
{
    ctr_conn *conn = to->conn;
    device *of = to->of;
    if (ctr_rc(conn) != SQLITE_OK) return;
    ctr_folder_close(&of->at);
    of->n = 0;
    of->written = 0;
    of->listed = false;
    *of->place = '\0';
    int error = ctr_folder_open_in(&of->at, in, of->name);
    if (error == ENOENT) of->listed = true;
    if (error == ENOENT) return;
    ctr_folder_entry seen = {.kind = CTR_FOLDER_OTHER};
    if (error) ctr_folder_look(in, of->name, &seen);
    if (error && seen.kind == CTR_FOLDER_LINK && !to->tell)
        ctr_problem_set(conn, SQLITE_ERROR, "%s: it is a link, and links are not followed",
                        of->at.path);
    else if (error && (seen.kind == CTR_FOLDER_LINK || error == ENOTDIR) && to->tell)
        report_other(to, in, of->name);
    else if (error)
        fail_folder(conn, of->at.path, "read", error);
    if (error) return;
    error = ctr_folder_list(&of->at, list_batches, (void *)to);
    if (error) fail_folder(conn, of->at.path, "read", error);
    of->listed = ctr_rc(conn) == SQLITE_OK;
    if (of->n > 0) qsort(of->files, of->n, sizeof *of->files, compare_batches);
}

static bool is_open(const device *of)
{
    return of->at.path && of->at.fd >= 0;
}

static void close_device(device *of)
{
    ctr_folder_close(&of->at);
    sqlite3_free(of->files);
    of->files = NULL;
}

/* Returns the highest end of the files, behind a gap, too. */
static int64_t end_of_files(const device *of)
{
    int64_t end = 0;
    for (size_t i = 0; i < of->n; i++)
        if (of->files[i].upto > end) end = of->files[i].upto;
    return end;
}

/* Returns the number up to which the files go from 0 on without a gap. */
static int64_t end_of_chain(const device *of)
{
    int64_t end = 0;
    for (size_t i = 0; i < of->n; i++)
        if (of->files[i].since <= end && of->files[i].upto > end) end = of->files[i].upto;
    return end;
}

typedef struct entry_names {
    ctr_conn *conn;
    char **name; /* owned, as each of them is */
    size_t n, room;
} entry_names;

static bool note_name(void *with, const ctr_folder_entry *entry)
{
    entry_names *to = with;
    char **name = ctr_array_room(to->conn, to->name, &to->room, to->n + 1, sizeof *name);
    if (!name) return false;
    to->name = name;
    name[to->n] = ctr_text_copy(to->conn, entry->name);
    if (name[to->n]) to->n++;
    return ctr_rc(to->conn) == SQLITE_OK;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Calls `visit` for the directory of each device but our own, in the order of their names, after it
 * was opened. An error of one is left to `visit`. */
static void visit_others(exchange_folder *x, listing *to,
                         void (*visit)(exchange_folder *, device *))
{
    entry_names list = {.conn = x->conn};
    int error = ctr_rc(x->conn) == SQLITE_OK ? ctr_folder_list(&x->at, note_name, &list) : 0;
    if (error) fail_folder(x->conn, x->at.path, "read", error);
    if (list.n > 0) qsort(list.name, list.n, sizeof *list.name, compare_names);
    for (size_t i = 0; i < list.n && ctr_rc(x->conn) == SQLITE_OK; i++) {
        device other = {.at = {.fd = -1}};
        bool is = device_of(list.name[i], &other);
        to->of = &other;
        if (!is) report_other(to, &x->at, list.name[i]);
        if (is && strcmp(other.name, x->own.name) != 0) visit(x, &other);
        close_device(&other);
    }
    for (size_t i = 0; i < list.n; i++) sqlite3_free(list.name[i]);
    sqlite3_free(list.name);
}

/* ---- the answer ------------------------------------------------------------------------------ */

static void append_moved(const exchange_folder *x, const device *of, const moved *row)
{
    ctr_answer *answer = x->answer;
    ctr_answer_text(answer, of->at.path);
    ctr_answer_integer(answer, row->read);
    ctr_answer_integer(answer, row->changed);
    ctr_answer_integer(answer, row->conflicts);
    ctr_answer_text(answer, row->note);
    ctr_answer_span(answer, (ctr_span){of->source, strlen(of->source) - OWN_SIZE});
    ctr_answer_integer(answer, row->upto);
    for (int i = 0; i < 4; i++) ctr_answer_integer(answer, 0); /* no more, and no peer that took */
}

/* Adds what went wrong with something to the note, and what came of that. */
static void note_problem(ctr_conn *conn, moved *row, const char *problem, const char *then)
{
    char *note = sqlite3_mprintf("%s%s%s%s", row->note ? row->note : "", row->note ? "; " : "",
                                 problem ? problem : "out of memory", then);
    if (!note) ctr_problem_nomem(conn);
    if (!note) return;
    sqlite3_free(row->note);
    row->note = note;
}

/* What main gave to one directory says nothing of another: an earlier state of it may have given
 * there something else under the same numbers. */
static ctr_marks_source source_in(const device *own)
{
    ctr_marks_source source;
    ctr_marks_source_of(own->source, strlen(own->source), &source);
    source.place = *own->place ? own->place : NULL;
    return source;
}

static int64_t mark_of_device(const exchange_folder *x, const device *of)
{
    if (ctr_rc(x->conn) != SQLITE_OK) return 0;
    const ctr_marks_source source = source_in(of);
    if (of == &x->own) return ctr_marks_highest(x->conn, &source);
    return of->own ? ctr_marks_of_feed(x->conn, &source)
                   : ctr_exchange_mark(x->conn, of->source, x->scope);
}

/* Raises the mark of an own directory for all tables, also for a new one: main had what it gave. */
static void raise_in(const exchange_folder *x, const device *own, int64_t since, int64_t upto)
{
    const ctr_marks_source source = source_in(own);
    if (mark_of_device(x, own) >= since && ctr_rc(x->conn) == SQLITE_OK)
        ctr_marks_raise(x->conn, &source, 0, upto);
}

/* ---- giving ---------------------------------------------------------------------------------- */

/* Fails if a line is of another source than the directory: lines have what is committed, and main
 * has taken a new id since. */
static void check_line_source(const exchange_folder *x, const char *line)
{
    const char *head = ctr_text_print(x->conn, "{\"format\":%d,\"source\":\"%s\"", CTR_LINES_FORMAT,
                                      x->own.source);
    if (strncmp(line, head, strlen(head)) != 0)
        ctr_problem_set(x->conn, SQLITE_ERROR,
                        "main has taken an id of its own in this transaction: COMMIT first");
}

/* Writes the lines from a number on as a file of the name `aside`; without one only counts what
 * there is. Returns the number of changes; 0: there is no such file then. */
static int64_t write_lines(exchange_folder *x, const char *aside, int64_t since, batches *made)
{
    ctr_conn *conn = x->conn;
    ctr_gzip file = {.fd = -1};
    int64_t n = 0;
    bool begun = false;
    *made = (batches){.since = since, .upto = since};
    ctr_run run = ctr_run_on(conn, "main", NULL);
    sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_LINES_OWN);
    ctr_run_bind_int(&run, row, ":since", since);
    while (ctr_run_row(&run, row)) {
        const char *line = ctr_text_column(conn, row, 0);
        int64_t changes = sqlite3_column_int64(row, 2);
        made->upto = sqlite3_column_int64(row, 1);
        n += changes;
        if (line) check_line_source(x, line);
        if (changes == 0 || !aside || !line) continue;
        if (!begun) ctr_gzip_create(&file, conn, &x->own.at, aside);
        begun = true;
        ctr_gzip_put(&file, line, (size_t)sqlite3_column_bytes(row, 0));
    }
    sqlite3_finalize(row);
    if (begun) ctr_gzip_finish(&file);
    ctr_folder_entry seen;
    int error = begun ? ctr_folder_look(&x->own.at, aside, &seen) : 0;
    if (error) fail_folder(conn, x->own.at.path, "read", error);
    if (begun && !error) made->size = seen.size;
    if (made->upto == since) n = 0;
    if (begun && (n == 0 || ctr_rc(conn) != SQLITE_OK)) ctr_folder_remove(&x->own.at, aside);
    return n;
}

typedef struct leftovers {
    const ctr_folder *in;
    int64_t before;
} leftovers;

static bool remove_leftover(void *with, const ctr_folder_entry *entry)
{
    const leftovers *of = with;
    if (strncmp(entry->name, ASIDE, sizeof ASIDE - 1) == 0 && !entry->error &&
        entry->written < of->before)
        ctr_folder_remove(of->in, entry->name);
    return true;
}

/* Returns where a new file is to begin so that it takes in the last ones: as long as each is no
 * larger than all behind it. So each change is written again once for each time that their size
 * has doubled. */
static int64_t begin_of(const device *of, const batches *made)
{
    int64_t size = made->size, begin = made->since;
    for (size_t i = of->n; i > 0 && of->files[i - 1].size <= size; i--) {
        size += of->files[i - 1].size;
        if (of->files[i - 1].since < begin) begin = of->files[i - 1].since;
    }
    return begin;
}

/* Deletes own files that another own one has taken in. */
static void remove_covered(const device *own, const batches *by)
{
    for (size_t i = 0; i < own->n; i++) {
        char name[FOLDER_NAME_SIZE];
        const batches *file = &own->files[i];
        bool is_same = file->since == by->since && file->upto == by->upto;
        write_batches_name(file, name);
        if (!is_same && file->since >= by->since && file->upto <= by->upto)
            ctr_folder_remove(&own->at, name);
    }
}

/* Returns where the next file begins: at the end of the chain, or where it is outdated. */
static int64_t end_of_given(const exchange_folder *x)
{
    const int64_t end = end_of_chain(&x->own);
    return x->outdated < end ? x->outdated : end;
}

/* A file whose directory has more of it than it has itself would write what nobody takes. */
static void refuse_older(const exchange_folder *x)
{
    const device *own = &x->own;
    const int64_t there = end_of_files(own);
    const int64_t mine = there > 0 && ctr_rc(x->conn) == SQLITE_OK ? ctr_feed_end(x->conn) : 0;
    if (there > mine)
        ctr_problem_set(x->conn, SQLITE_ERROR,
                        "%s has changes of this file up to %lld, and the file ends at %lld: it is "
                        "an older copy. SELECT counter_fork() gives it an id of its own, and its "
                        "next sync a directory of its own",
                        own->at.path, (long long)there, (long long)mine);
}

/* Fails if there is something to be written where nothing can be. */
static void give_nothing(exchange_folder *x, int why)
{
    batches none;
    moved row = {.upto = end_of_given(x)};
    int64_t n = write_lines(x, NULL, row.upto, &none);
    const char *path = x->own.at.path;
    if (n > 0 && none.upto > row.upto)
        ctr_problem_set(x->conn, SQLITE_ERROR,
                        "%s: cannot be written: %s: what this file has counted stays here", path,
                        strerror(why));
    const char *wrong = ctr_text_print(x->conn, "%s: cannot be written: %s", path, strerror(why));
    note_problem(x->conn, &row, wrong, ": nothing is given, and there is nothing new");
    if (ctr_rc(x->conn) == SQLITE_OK) append_moved(x, &x->own, &row);
    sqlite3_free(row.note);
}

/* Notes up to where main has given. If that cannot be written now, the next sync reads its own
 * files again, which changes nothing. */
static void note_given(const exchange_folder *x, int64_t upto)
{
    ctr_problem ignored;
    ctr_session session;
    ctr_problem_try(x->conn, &ignored);
    if (ctr_session_begin(&session, x->conn, false) == SQLITE_OK) {
        ctr_session_lock(&session, "main");
        ctr_exchange_raise(x->conn, x->own.source, NULL, 0, upto);
        raise_in(x, &x->own, 0, upto);
    }
    ctr_session_end(&session);
    ctr_problem_close(&ignored);
}

/* Writes what the directory lacks under another name, and renames it. */
static void write_new_batches(exchange_folder *x)
{
    batches made;
    device *own = &x->own;
    char aside[sizeof ASIDE + CTR_ID_TEXT_SIZE], id[CTR_ID_TEXT_SIZE], name[FOLDER_NAME_SIZE];
    uint8_t random[CTR_ID_SIZE];
    const leftovers old = {&own->at, ctr_os_now() / 1000 - ABANDONED_AFTER};
    ctr_folder_list(&own->at, remove_leftover, (void *)&old);
    ctr_uuid_random(random);
    ctr_id_to_text(random, id);
    sqlite3_snprintf(sizeof aside, aside, "%s%s", ASIDE, id);
    int64_t n = write_lines(x, aside, end_of_given(x), &made);
    if (n == 0 || ctr_rc(x->conn) != SQLITE_OK) return;
    int64_t begin = begin_of(own, &made);
    if (begin < made.since) {
        ctr_folder_remove(&own->at, aside);
        write_lines(x, aside, begin, &made);
    }
    if (ctr_rc(x->conn) != SQLITE_OK) return;
    write_batches_name(&made, name);
    int error = ctr_folder_rename(&own->at, aside, name);
    if (error) fail_folder(x->conn, own->at.path, "written", error);
    if (error) ctr_folder_remove(&own->at, aside);
    if (error) return;
    remove_covered(own, &made);
    note_given(x, made.upto);
    append_moved(x, own, &(moved){.read = n, .changed = n, .upto = made.upto});
}

static void write_place_name(const device *own, char name[PLACE_NAME_SIZE])
{
    sqlite3_snprintf(PLACE_NAME_SIZE, name, "%s%s", PLACE, own->place);
}

/* Gives the own directory a place, if it has none. */
static void make_place(exchange_folder *x)
{
    int fd;
    uint8_t id[CTR_ID_SIZE];
    char name[PLACE_NAME_SIZE];
    device *own = &x->own;
    if (*own->place || ctr_rc(x->conn) != SQLITE_OK) return;
    ctr_uuid_random(id);
    ctr_id_to_text(id, own->place);
    write_place_name(own, name);
    int error = ctr_folder_create(&own->at, name, &fd);
    if (!error) error = ctr_folder_finish(fd);
    if (error) fail_folder(x->conn, own->at.path, "written", error);
}

static void make_own(exchange_folder *x)
{
    device *own = &x->own;
    const listing to = {.conn = x->conn, .of = own};
    int error = ctr_folder_make(&x->at, own->name);
    if (error)
        fail_folder(x->conn, own->at.path, "made", error);
    else
        open_device(&to, &x->at);
}

/* An own file that cannot be read may be what main has lost, and a service is still bringing it: if
 * main gave now, its mark would pass over that, and it would never learn that it was restored. */
static void refuse_unread(const exchange_folder *x)
{
    if (x->unread && ctr_rc(x->conn) == SQLITE_OK)
        ctr_problem_set(x->conn, SQLITE_ERROR,
                        x->gap ? "%s: the file before it is missing, and both may have changes "
                                 "that this file has lost: nothing is given until that is there. "
                                 "If nothing is to bring it any more, SELECT counter_fork() gives "
                                 "this file an id and a directory of its own"
                               : "%s; it is in the directory of this file, and may have changes "
                                 "that this file has lost: nothing is given until it can be read. "
                                 "If nothing is to bring it whole any more, SELECT counter_fork() "
                                 "gives this file an id and a directory of its own",
                        x->unread);
}

/* A file that has counted nothing gets no directory. */
static void give(exchange_folder *x)
{
    batches none;
    device *own = &x->own;
    const listing to = {.conn = x->conn, .of = own};
    open_device(&to, &x->at);
    refuse_unread(x);
    refuse_older(x);
    if (ctr_rc(x->conn) != SQLITE_OK) return;
    int why = ctr_folder_may_write(is_open(own) ? &own->at : &x->at);
    if (why) {
        give_nothing(x, why);
        return;
    }
    if (!is_open(own) && write_lines(x, NULL, 0, &none) > 0) make_own(x);
    if (is_open(own)) make_place(x);
    if (is_open(own) && ctr_rc(x->conn) == SQLITE_OK) write_new_batches(x);
}

/* ---- taking ---------------------------------------------------------------------------------- */

/* Takes a file, whole or not at all. Returns false if it is gone: its writer has joined it with
 * others. */
static bool take_file(exchange_folder *x, const device *of, const char *name, moved *row)
{
    ctr_conn *conn = x->conn;
    ctr_gzip file;
    size_t size;
    int empty = 0;
    int64_t line = 0;
    const int64_t conflicts = conn->stats.conflicts;
    ctr_taker to = {.conn = conn, .only = of->source, .scope = x->scope};
    if (!ctr_gzip_open(&file, conn, &of->at, name)) {
        ctr_gzip_close(&file);
        return ctr_rc(conn) != SQLITE_OK;
    }
    ctr_taker_begin(&to, NULL);
    while (ctr_gzip_next(&file, &size)) {
        const int64_t came = to.came;
        ctr_taker_line(&to, (ctr_span){file.line, size});
        line++;
        if (to.came == came && ++empty > EMPTY_LINES_MOST)
            ctr_problem_set(conn, SQLITE_ERROR, "it is one of more than %d without changes",
                            EMPTY_LINES_MOST);
        if (ctr_rc(conn) == SQLITE_OK) continue;
        ctr_problem_where(conn, "line %lld", (long long)line);
        ctr_problem_where(conn, "%s/%s", of->at.path, name);
    }
    ctr_taker_end(&to);
    if (ctr_rc(conn) == SQLITE_OK) {
        row->read += to.came;
        row->changed += to.changes;
        row->conflicts += conn->stats.conflicts - conflicts;
    }
    for (size_t i = 0; of->own && i < to.n; i++)
        raise_in(x, of, to.sources[i].since, to.sources[i].upto);
    ctr_taker_close(&to);
    ctr_gzip_close(&file);
    return true;
}

/* Returns the file that leads furthest from a mark, or NULL. */
static batches *next_of(const device *of, int64_t mark)
{
    batches *found = NULL;
    for (size_t i = 0; i < of->n && of->files[i].since <= mark; i++) {
        batches *file = &of->files[i];
        if (!file->failed && file->upto > mark && (!found || file->upto > found->upto))
            found = file;
    }
    return found;
}

/* Returns whether an error is about what has come, and not about main, the memory or the call. */
static bool is_of_content(int rc)
{
    return rc == SQLITE_ERROR || rc == SQLITE_CONSTRAINT || rc == SQLITE_MISMATCH ||
           rc == SQLITE_TOOBIG;
}

/* Takes files as long as one leads further. One that fails is noted, and another may lead on. */
static void take_files(exchange_folder *x, device *of, moved *row)
{
    ctr_conn *conn = x->conn;
    int relisted = 0;
    const listing to = {.conn = conn, .of = of};
    for (batches *next; relisted <= RELISTED_MOST && ctr_rc(conn) == SQLITE_OK &&
                        (next = next_of(of, row->upto));) {
        char name[FOLDER_NAME_SIZE];
        ctr_problem problem;
        write_batches_name(next, name);
        ctr_problem_try(conn, &problem);
        bool is_there = take_file(x, of, name, row);
        ctr_problem_end(&problem);
        bool is_taken = problem.rc == SQLITE_OK;
        if (is_of_content(problem.rc & 0xff))
            note_problem(conn, row, problem.text, ": nothing of it was taken");
        ctr_problem_raise_if(conn, &problem, !is_of_content(problem.rc & 0xff));
        int64_t reached = mark_of_device(x, of);
        next->failed = reached <= row->upto;
        if (is_there && is_taken && next->failed && of != &x->own)
            note_problem(conn, row, ctr_text_print(conn, "%s/%s", of->at.path, name),
                         ": its lines do not lead on as its name says, and raise no mark");
        row->upto = reached;
        if (!is_there) relisted++;
        if (!is_there) open_device(&to, &x->at);
    }
}

/* Looks what a device has given, and how far main has that; what is wrong becomes the note. */
static bool list_device(exchange_folder *x, device *of, moved *row)
{
    ctr_conn *conn = x->conn;
    ctr_problem problem;
    const listing to = {.conn = conn, .of = of};
    ctr_problem_try(conn, &problem);
    open_device(&to, &x->at);
    ctr_problem_end(&problem);
    bool is_wrong = is_of_content(problem.rc & 0xff);
    if (is_wrong) note_problem(conn, row, problem.text, "");
    ctr_problem_raise_if(conn, &problem, !is_wrong);
    row->upto = mark_of_device(x, of);
    return !is_wrong && ctr_rc(conn) == SQLITE_OK;
}

/* Takes the own changes of main without the scope of the call, which is about those of others. */
static void take_own_files(exchange_folder *x, device *of, moved *row)
{
    sqlite3_value *scope = x->scope;
    x->scope = NULL;
    take_files(x, of, row);
    x->scope = scope;
}

/* Returns whether main has counted under the id of the device itself. */
static bool was_own(const exchange_folder *x, const device *of)
{
    for (size_t i = 0; i < x->ids.n; i++)
        if (memcmp(x->ids.ids + i * CTR_ID_SIZE, of->id, CTR_ID_SIZE) == 0) return true;
    return false;
}

static void take_device(exchange_folder *x, device *of)
{
    moved row = {0};
    of->own = was_own(x, of);
    bool is_listed = list_device(x, of, &row);
    const int64_t before = row.upto;
    if (is_listed && of->own) take_own_files(x, of, &row);
    if (is_listed && !of->own) take_files(x, of, &row);
    bool is_told = row.upto > before || row.note;
    if (is_told && ctr_rc(x->conn) == SQLITE_OK) append_moved(x, of, &row);
    sqlite3_free(row.note);
}

static void name_own(exchange_folder *x)
{
    char *source = ctr_exchange_source(x->conn, true, NULL);
    if (source && strlen(source) > OWN_SIZE) {
        source[strlen(source) - OWN_SIZE] = '\0';
        if (source[FOLDER_ID_SIZE] == '/') source[FOLDER_ID_SIZE] = '-';
        device_of(source, &x->own);
        x->own.own = true;
    }
    sqlite3_free(source);
}

/* Notes what is wrong: an own file cannot be read, or what leads up to it is missing. */
static void note_unread(exchange_folder *x, const char *wrong, const batches *behind)
{
    char name[FOLDER_NAME_SIZE] = "";
    if (behind) write_batches_name(behind, name);
    x->gap = !wrong;
    x->unread =
        wrong ? sqlite3_mprintf("%s", wrong) : sqlite3_mprintf("%s/%s", x->own.at.path, name);
    if (!x->unread) ctr_problem_nomem(x->conn);
}

/* Looks at the own files. What those up to `given` tell, main has: they are outdated if it cannot
 * read them, or if they are from before columns became other kinds, so that others cannot. Any
 * other one that main has not taken may have what it has lost: giving fails then. */
static void look_at_own(exchange_folder *x, const moved *row, int64_t given)
{
    const device *own = &x->own;
    const batches *lost = NULL;
    ctr_run run = ctr_run_on(x->conn, "main", NULL);
    const int64_t changed = ctr_run_number(&run, CTR_SQL_COLUMNS_KINDS_CHANGED);
    for (size_t i = 0; i < own->n; i++) {
        const batches *file = &own->files[i];
        const bool is_taken = file->upto <= row->upto, is_unlike = file->upto <= changed;
        if (file->upto <= given && (!is_taken || is_unlike) && file->since < x->outdated)
            x->outdated = file->since;
        if (file->upto > given && !is_taken && !lost && (row->note || file->since > row->upto))
            lost = file;
    }
    if (lost || !own->listed) note_unread(x, row->note, lost);
}

/* Names the own directory again. What is wrong with one under an id that was given up matters no
 * more. */
static void follow_id(exchange_folder *x)
{
    const char *name = ctr_text_print(x->conn, "%s", x->own.name);
    name_own(x);
    if (ctr_rc(x->conn) != SQLITE_OK || strcmp(name, x->own.name) == 0) return;
    sqlite3_free(x->unread);
    x->unread = NULL;
    x->outdated = INT64_MAX;
}

/* Where nothing tells what main has given to its directory, as where somebody has taken the place
 * away, or copied the directory before main gave more to the original, all of it is read before
 * main gives there. A pull writes nothing into it. */
static void settle_place(exchange_folder *x, moved *row)
{
    device *own = &x->own;
    if (!x->gives || own->n == 0 || ctr_folder_may_write(&own->at)) return;
    if (*own->place) {
        char name[PLACE_NAME_SIZE];
        if (end_of_files(own) >= row->upto) return;
        write_place_name(own, name);
        ctr_folder_remove(&own->at, name);
        *own->place = '\0';
    }
    make_place(x);
    row->upto = mark_of_device(x, own);
}

/* Takes from the own directory what main does not know to have given: all of it, if main was
 * restored to a state before that. Then it learns so by its own counts, and takes another id. */
static void take_own(exchange_folder *x)
{
    moved row = {0};
    ctr_folder_entry seen;
    int error = ctr_folder_look(&x->at, x->own.name, &seen);
    if (error == ENOENT || (!error && seen.kind != CTR_FOLDER_FOLDER)) return;
    bool is_listed = list_device(x, &x->own, &row);
    if (is_listed) settle_place(x, &row);
    const int64_t given = row.upto;
    if (is_listed) take_own_files(x, &x->own, &row);
    if (ctr_rc(x->conn) == SQLITE_OK) look_at_own(x, &row, given);
    sqlite3_free(row.note);
    follow_id(x);
}

/* ---- the directory --------------------------------------------------------------------------- */

static void check_right(ctr_conn *conn, const char *directory)
{
    if (ctr_rc(conn) == SQLITE_OK && !conn->may_use_folders)
        ctr_problem_set(conn, SQLITE_AUTH,
                        "%Q is a directory, and this connection has no right to use one: its "
                        "program gives it by loading the library through the entry point "
                        "sqlite3_counter_folders_init",
                        directory);
    if (ctr_rc(conn) == SQLITE_OK) ctr_source_check_allowed(conn, directory);
}

static bool is_not_batches(void *with, const ctr_folder_entry *entry)
{
    batches file;
    bool *is = with;
    *is = is_batches(entry->name, &file);
    return !*is;
}

static void check_marker(const exchange_folder *x)
{
    ctr_folder_entry seen = {.kind = CTR_FOLDER_OTHER};
    bool is_device = false;
    int error = ctr_folder_look(&x->at, COUNTER_FOLDER_MARKER, &seen);
    if (!error && seen.kind == CTR_FOLDER_FILE) return;
    int unlisted = ctr_folder_list(&x->at, is_not_batches, &is_device);
    if (error == 0 || error == ENOENT) error = unlisted ? unlisted : error;
    if (is_device)
        ctr_problem_set(x->conn, SQLITE_ERROR,
                        "%s: it is the directory of one device: give the one that it is in",
                        x->at.path);
    else if (error && error != ENOENT)
        fail_folder(x->conn, x->at.path, "read", error);
    else
        ctr_problem_set(x->conn, SQLITE_ERROR,
                        "%s: it has no file .sqlite-counter, so it is not mounted, or not yet a "
                        "directory to sync with: sqlite-counter folder '%s' makes it one",
                        x->at.path, x->at.path);
}

/* Opens the directory, if this connection may use it. */
static void open_peer(exchange_folder *x, const char *directory)
{
    ctr_conn *conn = x->conn;
    x->at.fd = x->own.at.fd = -1;
    check_right(conn, directory);
    if (ctr_rc(conn) != SQLITE_OK) return;
    int error = ctr_folder_open(&x->at, directory);
    if (error) fail_folder(conn, directory, "read", error);
    if (!error) check_marker(x);
}

static void close_peer(exchange_folder *x)
{
    sqlite3_free(x->unread);
    ctr_conflicts_close_own(&x->ids);
    close_device(&x->own);
    ctr_folder_close(&x->at);
}

static void check_scope(ctr_conn *conn, sqlite3_value *scope)
{
    ctr_scope checked = {0};
    ctr_scope_open(&checked, conn, scope);
    ctr_scope_close(&checked);
}

/* Another device may prove that main has a twin. What waits is tried, though nothing has come. */
static void take_others(exchange_folder *x, ctr_file *file)
{
    listing quiet = {.conn = x->conn};
    if (ctr_rc(x->conn) != SQLITE_OK || ctr_conflicts_read_own(&x->ids, file)) return;
    visit_others(x, &quiet, take_device);
    follow_id(x);
    ctr_exchange_show_apart(x->conn);
}

/* Gives main the id that it will count under, since its directory is named after it, and takes, in
 * one transaction. If a SELECT committed several, it would keep the snapshot of the first, and the
 * next would fail as soon as somebody else has written. */
static void settle_and_take(exchange_folder *x, bool takes)
{
    ctr_conn *conn = x->conn;
    ctr_session session;
    ctr_file *file = ctr_file_of(conn, "main");
    if (!file) ctr_problem_nomem(conn);
    if (ctr_session_begin(&session, conn, false) == SQLITE_OK) {
        ctr_session_lock(&session, "main");
        ctr_conn_join(conn);
        if (ctr_rc(conn) == SQLITE_OK) ctr_file_identity(file);
        if (ctr_rc(conn) == SQLITE_OK) name_own(x);
        if (ctr_rc(conn) == SQLITE_OK) take_own(x);
        if (takes) take_others(x, file);
    }
    ctr_session_end(&session);
}

void ctr_folder_exchange(ctr_answer *answer, const char *directory, bool takes, bool gives,
                         sqlite3_value *scope)
{
    ctr_conn *conn = answer->conn;
    exchange_folder x = {
        .answer = answer, .conn = conn, .scope = scope, .gives = gives, .outdated = INT64_MAX};
    if (gives) ctr_exchange_check_may_write(conn, directory, false);
    open_peer(&x, directory);
    if (ctr_rc(conn) == SQLITE_OK && scope) check_scope(conn, scope);
    if (ctr_rc(conn) == SQLITE_OK) ctr_exchange_check_tables(conn);
    if (ctr_rc(conn) == SQLITE_OK) settle_and_take(&x, takes);
    bool taken = takes && ctr_rc(conn) == SQLITE_OK;
    if (gives && ctr_rc(conn) == SQLITE_OK) give(&x);
    if (taken && ctr_rc(conn) != SQLITE_OK)
        ctr_problem_where(conn, "what others have given was taken, but not the reverse");
    close_peer(&x);
}

bool ctr_folder_is_peer(ctr_conn *conn, const char *peer)
{
    ctr_folder folder;
    if (ctr_run_has_schema(conn->db, peer)) return false;
    int wrong = ctr_folder_open(&folder, peer);
    ctr_folder_close(&folder);
    if (wrong == ENOMEM) ctr_problem_nomem(conn);
    return wrong == 0;
}

/* ---- what stands in a directory -------------------------------------------------------------- */

static void append_other(void *with, const char *path)
{
    ctr_answer *answer = with;
    ctr_answer_text(answer, path);
    for (int i = 0; i < 4; i++) ctr_answer_text(answer, NULL);
}

static void append_device(exchange_folder *x, device *of)
{
    ctr_answer *answer = x->answer;
    ctr_problem problem;
    const listing to = {.conn = x->conn, .of = of, .tell = append_other, .with = answer};
    ctr_problem_try(x->conn, &problem);
    open_device(&to, &x->at);
    ctr_problem_end(&problem);
    bool is_unread = is_of_content(problem.rc & 0xff);
    ctr_problem_raise_if(x->conn, &problem, !is_unread);
    if (is_unread) report_other(&to, &x->at, of->name);
    if (is_unread || !is_open(of)) return;
    ctr_answer_text(answer, of->at.path);
    ctr_answer_span(answer, (ctr_span){of->source, strlen(of->source) - OWN_SIZE});
    if (of->written)
        ctr_answer_integer(answer, of->written);
    else
        ctr_answer_text(answer, NULL);
    ctr_answer_integer(answer, end_of_files(of));
    ctr_answer_integer(answer, mark_of_device(x, of));
}

void ctr_folder_tell(ctr_answer *answer, const char *directory)
{
    exchange_folder x = {.answer = answer, .conn = answer->conn};
    listing to = {.conn = answer->conn, .tell = append_other, .with = answer};
    open_peer(&x, directory);
    if (ctr_rc(x.conn) == SQLITE_OK) name_own(&x);
    visit_others(&x, &to, append_device);
    close_peer(&x);
}

#else

static void fail_without_zlib(ctr_conn *conn, const char *directory)
{
    ctr_problem_set(conn, SQLITE_ERROR,
                    "%Q: this library was built without zlib, which directories need", directory);
}

void ctr_folder_exchange(ctr_answer *answer, const char *directory, bool takes, bool gives,
                         sqlite3_value *scope)
{
    (void)takes, (void)gives, (void)scope;
    fail_without_zlib(answer->conn, directory);
}

/* Without zlib the file system is not asked; SQLite cannot open a directory as a file. */
bool ctr_folder_is_peer(ctr_conn *conn, const char *peer)
{
    (void)conn, (void)peer;
    return false;
}

void ctr_folder_tell(ctr_answer *answer, const char *directory)
{
    fail_without_zlib(answer->conn, directory);
}

#endif

static void fill_folder(ctr_answer *answer, sqlite3_value **args)
{
    const char *directory = ctr_answer_arg(answer->conn, args[0], "the directory", NULL);
    if (directory) ctr_folder_tell(answer, directory);
}

/* ---- the right ------------------------------------------------------------------------------- */

/* SQL cannot make a pointer, so only C can call this: ext/counter.c. */
static void fn_folders(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
    ctr_conn *conn = sqlite3_user_data(ctx);
    (void)argc;
    if (sqlite3_value_pointer(argv[0], CTR_FOLDERS_RIGHT))
        conn->may_use_folders = true;
    else
        ctr_arg_error(ctx, "counter_folders: SQL cannot give a connection the right to use "
                           "directories: its program loads the library through the entry point "
                           "sqlite3_counter_folders_init");
}

int ctr_folder_register(sqlite3 *db, ctr_conn *conn)
{
    static const ctr_answer_kind ANSWERS[] = {
        {.name = COUNTER_FOLDER,
         .columns = "path TEXT, source TEXT, written INTEGER, upto INTEGER, mark INTEGER",
         .args = "directory HIDDEN",
         .n_needed = 1,
         .usage = "one argument is needed, a directory",
         .works = true,
         .fill = fill_folder}};
    static const ctr_function FUNCTIONS[] = {{"counter_folders", 1, 1, CTR_ADMIN, fn_folders}};
    int rc = ctr_shared_functions(db, conn, FUNCTIONS, sizeof FUNCTIONS / sizeof *FUNCTIONS);
    if (rc != SQLITE_OK) return rc;
    return ctr_answer_register(db, conn, ANSWERS, sizeof ANSWERS / sizeof *ANSWERS);
}
