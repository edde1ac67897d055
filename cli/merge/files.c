/* files.c - opens the three files of a merge, and puts the result into its place.
 *
 * BASE and THEIRS are never written, and nothing is left beside them: a file in WAL mode without a
 * write-ahead log is opened as immutable; one with a log, or with the journal of a transaction that
 * was cut off, is copied with it into a private folder first.
 *
 * OURS is written in one transaction of SQLite, which is there whole or not at all. With --output, and
 * for git, a copy is written instead, which takes the place of its target when it is complete.
 */
#define _POSIX_C_SOURCE 200809L

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/merge/merge.h"

enum { HEADER = 100, WAL_AT = 19, COUNTER_AT = 24, ENCODING_AT = 59, BLOCK = 1 << 20 };

static const unsigned char JOURNAL_MAGIC[8] = {0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7};

/* ---- looking ------------------------------------------------------------------------------------- */

/* What stands in a file and beside it, to see whether it has changed. */
typedef struct merge_seen {
    off_t size, beside; /* bytes; of its log or journal, 0 if there is none */
    time_t changed, beside_changed;
    unsigned char header[HEADER]; /* zeros if it is empty */
} merge_seen;

const char *merge_name_of(merge *m, const char *path)
{
    if (!m->driven_path) return path;
    if (path == m->ours_path) return m->driven_path;
    if (path == m->base_path) return merge_text(m, "%s (base)", m->driven_path);
    if (path == m->theirs_path) return merge_text(m, "%s (theirs)", m->driven_path);
    return path;
}

static bool read_start(const char *path, void *into, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, into, size);
    if (fd >= 0) close(fd);
    return n == (ssize_t)size;
}

static const char *beside(merge *m, const char *path, const merge_seen *of)
{
    return merge_text(m, "%s-%s", path, of->header[WAL_AT] == 2 ? "wal" : "journal");
}

/* Fails if it is no database. */
static merge_seen look(merge *m, const char *path)
{
    merge_seen found = {0};
    struct stat is;
    const char *name = merge_name_of(m, path);
    if (m->c->failed || !cli_is_there(m->c, path, name) || stat(path, &is) != 0) return found;
    found.size = is.st_size;
    found.changed = is.st_mtime;
    if (is.st_size == 0) return found;
    bool is_read = read_start(path, found.header, HEADER);
    if (!is_read && is.st_size >= HEADER)
        cli_fail(m->c, "%s: %s", name, strerror(errno));
    else if (!is_read || memcmp(found.header, "SQLite format 3", 16) != 0)
        cli_fail(m->c, "%s: is not an SQLite database, or it is encrypted", name);
    if (!m->c->failed && stat(beside(m, path, &found), &is) == 0) {
        found.beside = is.st_size;
        found.beside_changed = is.st_mtime;
    }
    return found;
}

static bool is_same(const merge_seen *a, const merge_seen *b)
{
    return a->size == b->size && a->beside == b->beside && a->changed == b->changed &&
           a->beside_changed == b->beside_changed &&
           memcmp(a->header + COUNTER_AT, b->header + COUNTER_AT, 4) == 0;
}

/* Whether what stands beside a file is to be read, too: a log, or the journal of a transaction that
 * did not end. */
static bool needs_beside(merge *m, const char *path, const merge_seen *of)
{
    unsigned char magic[8];
    if (of->beside == 0) return false;
    return of->header[WAL_AT] == 2 || (read_start(beside(m, path, of), magic, sizeof magic) &&
                                       memcmp(magic, JOURNAL_MAGIC, sizeof magic) == 0);
}

/* ---- copies ---------------------------------------------------------------------------------------- */

static bool copy_bytes(int from, int to)
{
    char *block = malloc(BLOCK);
    ssize_t n = block ? 1 : -1;
    while (n > 0 && (n = read(from, block, BLOCK)) > 0)
        for (ssize_t written = 0; written < n;) {
            ssize_t k = write(to, block + written, (size_t)(n - written));
            if (k < 0) {
                free(block);
                return false;
            }
            written += k;
        }
    free(block);
    return n == 0;
}

static void copy_file(merge *m, const char *from, const char *to, mode_t mode)
{
    if (m->c->failed) return;
    int in = open(from, O_RDONLY | O_CLOEXEC),
        out = in < 0 ? -1 : open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    if (out < 0 || !copy_bytes(in, out))
        cli_fail(m->c, "%s: cannot be copied to %s: %s", from, to, strerror(errno));
    if (in >= 0) close(in);
    if (out >= 0 && close(out) != 0) cli_fail(m->c, "%s: %s", to, strerror(errno));
}

/* Copies a database with what stands beside it. */
static void copy_database(merge *m, const char *from, const char *to, mode_t mode)
{
    merge_seen before = look(m, from);
    copy_file(m, from, to, mode);
    if (needs_beside(m, from, &before))
        copy_file(m, beside(m, from, &before), beside(m, to, &before), 0600);
    merge_seen after = look(m, from);
    if (!m->c->failed && !is_same(&before, &after))
        cli_fail(m->c, "%s: the file was changed while it was read: try again", from);
}

static void make_folder(merge *m)
{
    const char *place = getenv("TMPDIR");
    if (m->folder || m->c->failed) return;
    m->folder = merge_keep(
        m, sqlite3_mprintf("%s/sqlite-counter-XXXXXX", place && *place ? place : "/tmp"));
    if (m->folder && !mkdtemp(m->folder)) {
        cli_fail(m->c, "%s: %s", m->folder, strerror(errno));
        m->folder = NULL;
    }
}

/* Removes a database with all that SQLite may have left beside it. */
static void remove_database(const char *path)
{
    static const char *const ENDS[] = {"", "-wal", "-shm", "-journal"};
    for (int i = 0; i < 4; i++) {
        char *name = sqlite3_mprintf("%s%s", path, ENDS[i]);
        if (name) unlink(name);
        sqlite3_free(name);
    }
}

/* ---- attaching ------------------------------------------------------------------------------------- */

/* A path as a URI that SQLite takes. */
static const char *uri_of(merge *m, const char *path, const char *how)
{
    sqlite3_str *uri = sqlite3_str_new(NULL);
    sqlite3_str_appendf(uri, "file:%s", *path == '/' ? "" : "./");
    for (const char *s = path; *s; s++) {
        if (strchr("?#%", *s))
            sqlite3_str_appendf(uri, "%%%02x", *s);
        else
            sqlite3_str_append(uri, s, 1);
    }
    sqlite3_str_appendf(uri, "?%s", how);
    const char *text = merge_keep(m, sqlite3_str_finish(uri));
    return text ? text : "";
}

static void attach(merge *m, const char *path, const char *schema)
{
    if (!path) {
        cli_run(&m->into, "ATTACH ':memory:' AS base");
        return;
    }
    merge_seen found = look(m, path);
    const char *from = path, *how = found.header[WAL_AT] == 2 ? "immutable=1" : "mode=ro";
    if (needs_beside(m, path, &found)) {
        make_folder(m);
        from = merge_text(m, "%s/%s", m->folder ? m->folder : "", schema);
        copy_database(m, path, from, 0600);
        how = "mode=rw";
    }
    cli_file named = m->into; /* errors name this file */
    named.path = merge_name_of(m, path);
    merge_run_texts(m, merge_text(m, "ATTACH ?1 AS %s", schema),
                    &(const char *){uri_of(m, from, how)}, 1);
    cli_integer(&named, merge_text(m, "SELECT count(*) FROM %s.sqlite_master", schema));
}

/* ---- what is refused ------------------------------------------------------------------------------- */

static void refuse_one_file(merge *m, const char *a, const char *a_name, const char *b,
                            const char *b_name)
{
    struct stat one, two;
    if (a && b && stat(a, &one) == 0 && stat(b, &two) == 0 && one.st_dev == two.st_dev &&
        one.st_ino == two.st_ino)
        cli_fail(m->c, "merge: %s and %s are one file: %s", a_name, b_name, a);
}

static void refuse_encodings(merge *m, const char *path, merge_seen *ours)
{
    static const char *const NAMES[] = {"UTF-8", "UTF-8", "UTF-16le", "UTF-16be"};
    if (!path) return;
    merge_seen other = look(m, path);
    int encoding = other.header[ENCODING_AT] & 3, own = ours->header[ENCODING_AT] & 3;
    if (other.size == 0 || encoding == own || m->c->failed) return;
    if (ours->size > 0) {
        cli_fail(m->c, "merge: %s has texts in %s, %s in %s: files of one encoding can be merged",
                 merge_name_of(m, path), NAMES[encoding], m->into.path, NAMES[own]);
        return;
    }
    cli_run(&m->into, merge_text(m, "PRAGMA encoding = '%s'", NAMES[encoding]));
    ours->header[ENCODING_AT] = other.header[ENCODING_AT];
}

/* A log or journal that would be beside the result, of an application that has the file open. */
static void refuse_open_file(merge *m, const char *path)
{
    static const char *const ENDS[] = {"-wal", "-journal"};
    struct stat is;
    for (int i = 0; i < 2 && path; i++) {
        const char *name = merge_text(m, "%s%s", path, ENDS[i]);
        if (stat(name, &is) == 0 && is.st_size > 0)
            cli_fail(m->c,
                     "merge: %s has what is not in the file yet: close the application that has it "
                     "open first",
                     name);
    }
}

static void refuse_counters(merge *m)
{
    static const char *const SCHEMAS[] = {"main", "base", "theirs"};
    const char *const paths[] = {m->ours_path, m->base_path, m->theirs_path};
    for (int i = 0; i < 3 && !m->c->failed; i++)
        if (merge_integer_of(m, merge_text(m, CLI_SQL_MERGE_HAS_COUNTERS, SCHEMAS[i], SCHEMAS[i])))
            cli_fail(
                m->c,
                "merge: %s counts already: files that do need no BASE: sqlite-counter sync %s %s",
                merge_name_of(m, paths[i]), merge_name_of(m, m->ours_path),
                merge_name_of(m, m->theirs_path));
}

/* Conflicts of BASE were resolved where OURS and THEIRS have none; BASE cannot be changed. */
static void refuse_conflicts(merge *m, const char *schema, const char *path)
{
    if (merge_has_table(m, schema, "_merge_conflicts") &&
        merge_integer_of(m, merge_text(m, CLI_SQL_MERGE_COUNT_CONFLICTS, schema)))
        cli_fail(m->c,
                 "merge: %s has conflicts of a merge before: look at its table _merge_conflicts, "
                 "and drop it",
                 merge_name_of(m, path));
}

/* ---- open and close -------------------------------------------------------------------------------- */

/* The file that is written: OURS, or a copy that takes a place at the end. */
static const char *written_path(merge *m)
{
    const char *target = m->given->output ? m->given->output : m->driven_path ? m->ours_path : NULL;
    if (!target) return m->ours_path;
    m->target = target;
    m->copy = merge_text(m, "%s.merging-%lld", target, (long long)getpid());
    struct stat is;
    mode_t mode = stat(m->ours_path, &is) == 0 ? is.st_mode & 0777 : 0644;
    remove_database(m->copy);
    copy_database(m, m->ours_path, m->copy, mode | 0600);
    return m->copy;
}

static void set_up(merge *m)
{
    sqlite3_extended_result_codes(m->into.db, 1);
    sqlite3_busy_timeout(m->into.db, CLI_BUSY_SECONDS * 1000);
    sqlite3_db_config(m->into.db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
    sqlite3_db_config(m->into.db, SQLITE_DBCONFIG_DEFENSIVE, 0, NULL);
    merge_report_functions(m);
    cli_run(&m->into, "PRAGMA foreign_keys = OFF");
    cli_run(&m->into, "PRAGMA legacy_alter_table = ON");
    cli_run(&m->into, "PRAGMA ignore_check_constraints = OFF");
    cli_run(&m->into, "PRAGMA recursive_triggers = OFF");
    cli_run(&m->into, "PRAGMA main.cache_size = -16000"); /* KB */
    cli_run(&m->into, "PRAGMA temp.cache_size = -16000");
}

void merge_open(merge *m)
{
    refuse_one_file(m, m->base_path, "BASE", m->ours_path, "OURS");
    refuse_one_file(m, m->theirs_path, "THEIRS", m->ours_path, "OURS");
    refuse_open_file(m, m->driven_path);
    merge_seen ours = look(m, m->ours_path);
    m->seen = merge_array(m, 2, sizeof *m->seen);
    if (m->seen && m->base_path) m->seen[0] = look(m, m->base_path);
    if (m->seen) m->seen[1] = look(m, m->theirs_path);
    const char *path = m->c->failed ? NULL : written_path(m);
    if (m->c->failed) return;
    char *name = cli_path(path);
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_URI;
    m->into.asked_at = cli_seconds();
    if (!name)
        cli_fail(m->c, "out of memory");
    else if (sqlite3_open_v2(name, &m->into.db, flags, NULL) != SQLITE_OK)
        cli_fail_file(&m->into, "");
    sqlite3_free(name);
    if (m->c->failed) return;
    cli_progress_begin(m->c, m->ours_path, NULL);
    cli_progress_follow(&m->into);
    set_up(m);
    refuse_encodings(m, m->theirs_path, &ours);
    refuse_encodings(m, m->base_path, &ours);
    attach(m, m->base_path, "base");
    attach(m, m->theirs_path, "theirs");
    cli_need_write(&m->into);
    cli_run(&m->into, "BEGIN IMMEDIATE");
    refuse_counters(m);
    refuse_conflicts(m, "main", m->ours_path);
    refuse_conflicts(m, "theirs", m->theirs_path);
}

void merge_open_text(merge *m)
{
    m->theirs_path = m->into.path;
    if (sqlite3_open_v2(":memory:", &m->into.db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_URI, NULL) !=
        SQLITE_OK)
        cli_fail_file(&m->into, "");
    set_up(m);
    merge_seen file = look(m, m->theirs_path), none = {0};
    if (file.size > 0) refuse_encodings(m, m->theirs_path, &none);
    attach(m, m->theirs_path, "theirs");
}

/* Nothing has locked a file that was opened as immutable, or copied. */
static void check_unchanged(merge *m, const char *path, const merge_seen *before)
{
    if (m->c->failed || !path) return;
    merge_seen now = look(m, path);
    if (!m->c->failed && !is_same(before, &now))
        cli_fail(m->c, "%s: the file was changed while it was read: try again",
                 merge_name_of(m, path));
}

void merge_close(merge *m, bool is_done)
{
    if (is_done) check_unchanged(m, m->base_path, &m->seen[0]);
    if (is_done) check_unchanged(m, m->theirs_path, &m->seen[1]);
    if (is_done) cli_run(&m->into, "COMMIT");
    cli_rollback(&m->into);
    if (m->into.db && sqlite3_close(m->into.db) != SQLITE_OK) cli_fail_file(&m->into, "");
    m->into.db = NULL;
    if (m->copy && is_done && !m->c->failed && rename(m->copy, m->target) != 0)
        cli_fail(m->c, "%s: %s", m->target, strerror(errno));
    if (m->copy) remove_database(m->copy);
    if (m->folder) {
        remove_database(merge_text(m, "%s/base", m->folder));
        remove_database(merge_text(m, "%s/theirs", m->folder));
        rmdir(m->folder);
    }
}
