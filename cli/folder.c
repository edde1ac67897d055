/* folder.c - syncs a file through a directory. */
#define _POSIX_C_SOURCE 200809L

#include "cli/folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cli/gzip.h"

static const char ASIDE[] = ".tmp-"; /* what the name of a file begins with that is on its way */

enum { ID_SIZE = CTR_ID_TEXT_SIZE - 1, TWIST_SIZE = 16, DIGITS = 20, NAME_SIZE = 48, OWN_SIZE = 4 };

/* ---- what stands there ----------------------------------------------------------------------- */

/* A file of batches. */
typedef struct batches {
    int64_t since, upto;
    off_t size;
    bool failed; /* it could not be taken */
} batches;

/* The folder of a source. Whoever writes in the directory may put a link in place of a folder at
 * any time: so it is opened once, never through a link, and its files are found in what was
 * opened. */
typedef struct folder {
    char *path;                            /* owned */
    int fd;                                /* owned; -1: it is not open */
    char source[ID_SIZE + TWIST_SIZE + 8]; /* the name of the source, of own changes */
    batches *files;                        /* owned: as they begin */
    size_t n, room;
    time_t written; /* when the last one was; 0: none was */
} folder;

static char *join(cli *c, const char *directory, const char *name)
{
    char *path = sqlite3_mprintf("%s/%s", directory, name);
    if (!path) cli_fail(c, "out of memory");
    return path;
}

static bool is_of(const char *text, size_t size, const char *letters)
{
    return strspn(text, letters) >= size;
}

/* Sets the source whose folder has this name; false if none can have it. */
static bool source_of(const char *name, folder *made)
{
    uint8_t id[CTR_ID_SIZE];
    char text[CTR_ID_TEXT_SIZE] = "";
    const char *twist = strlen(name) > ID_SIZE ? name + ID_SIZE + 1 : "";
    if (ctr_id_from_text(name, strnlen(name, ID_SIZE), id)) ctr_id_to_text(id, text);
    if (*text == '\0' || strncmp(name, text, ID_SIZE) != 0) return false;
    bool has_twist = name[ID_SIZE] == '-' && strlen(twist) == TWIST_SIZE &&
                     is_of(twist, TWIST_SIZE, "0123456789abcdef") &&
                     strspn(twist, "0") < TWIST_SIZE; /* a source has none of zeros */
    if (name[ID_SIZE] && !has_twist) return false;
    sqlite3_snprintf(sizeof made->source, made->source, "%s%s%s own", text, has_twist ? "/" : "",
                     twist);
    return true;
}

/* Reads "<since>-<upto>.gz". */
static bool is_batches(const char *name, batches *found)
{
    static const char DECIMAL[] = "0123456789";
    if (strlen(name) != 2 * DIGITS + 4 || !is_of(name, DIGITS, DECIMAL) || name[DIGITS] != '-' ||
        !is_of(name + DIGITS + 1, DIGITS, DECIMAL) || strcmp(name + 2 * DIGITS + 1, ".gz") != 0)
        return false;
    errno = 0;
    found->since = strtoll(name, NULL, 10);
    found->upto = strtoll(name + DIGITS + 1, NULL, 10);
    return errno == 0 && found->since < found->upto;
}

static void name_of(const batches *file, char name[NAME_SIZE])
{
    snprintf(name, NAME_SIZE, "%0*lld-%0*lld.gz", DIGITS, (long long)file->since, DIGITS,
             (long long)file->upto);
}

static char *path_of(cli *c, const folder *of, const batches *file)
{
    char name[NAME_SIZE];
    name_of(file, name);
    return join(c, of->path, name);
}

static int by_since(const void *a, const void *b)
{
    const batches *x = a, *y = b;
    if (x->since != y->since) return x->since < y->since ? -1 : 1;
    return (x->upto > y->upto) - (x->upto < y->upto);
}

static void add_file(cli *c, folder *to, batches file, const struct stat *seen)
{
    if (to->n == to->room) {
        size_t room = to->room ? 2 * to->room : 16;
        batches *files = sqlite3_realloc64(to->files, room * sizeof *files);
        if (!files) cli_fail(c, "out of memory");
        if (!files) return;
        to->files = files;
        to->room = room;
    }
    file.size = seen->st_size;
    file.failed = false;
    to->files[to->n++] = file;
    if (seen->st_mtime > to->written) to->written = seen->st_mtime;
}

/* Tells of a path that is nobody's, unless `strange` is NULL. Names with a dot in front are those
 * of files on their way, or of the service that carries the directory. */
static void tell_strange(cli_rows *strange, const char *path)
{
    if (!strange) return;
    cli_rows_text(strange, "strange");
    cli_rows_text(strange, path);
    cli_rows_end(strange);
}

static bool is_link(const char *path)
{
    struct stat seen;
    return path && lstat(path, &seen) == 0 && S_ISLNK(seen.st_mode);
}

static void open_folder(folder *of)
{
    if (of->fd >= 0) close(of->fd);
    of->fd = open(of->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* Begins to list it; NULL with errno. */
static DIR *list(const folder *of)
{
    int copy = openat(of->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *open = copy >= 0 ? fdopendir(copy) : NULL;
    if (copy >= 0 && !open) close(copy);
    return open;
}

/* Tells of a folder that could not be opened. */
static void tell_closed(cli *c, const folder *of, int error, cli_rows *strange)
{
    bool link = is_link(of->path);
    if ((link || error == ENOTDIR) && strange)
        tell_strange(strange, of->path);
    else if (link)
        cli_fail(c, "%s: it is a link, and links are not followed", of->path);
    else if (error != ENOENT)
        cli_fail(c, "%s: cannot be read: %s", of->path, strerror(error));
}

/* Lists the files of a source, whose folder need not be there. */
static void read_folder(cli *c, folder *of, cli_rows *strange)
{
    if (c->failed) return;
    open_folder(of);
    DIR *open = of->fd >= 0 ? list(of) : NULL;
    if (!open) tell_closed(c, of, errno, strange);
    struct dirent *entry = NULL;
    while (open && !c->failed && (errno = 0, entry = readdir(open))) {
        batches file;
        struct stat seen;
        char *path = join(c, of->path, entry->d_name);
        bool is = path && is_batches(entry->d_name, &file) &&
                  fstatat(of->fd, entry->d_name, &seen, AT_SYMLINK_NOFOLLOW) == 0;
        is = is && S_ISREG(seen.st_mode);
        if (is)
            add_file(c, of, file, &seen);
        else if (entry->d_name[0] != '.')
            tell_strange(strange, path);
        sqlite3_free(path);
    }
    if (open && !entry && errno != 0 && !c->failed)
        cli_fail(c, "%s: cannot be read: %s", of->path, strerror(errno));
    if (open) closedir(open);
    if (of->n > 0) qsort(of->files, of->n, sizeof *of->files, by_since);
}

static void close_folder(folder *of)
{
    if (of->fd >= 0) close(of->fd);
    sqlite3_free(of->path);
    sqlite3_free(of->files);
}

/* Returns the number up to which the files go from 0 on without a gap. */
static int64_t end_of_chain(const folder *of)
{
    int64_t end = 0;
    for (size_t i = 0; i < of->n; i++)
        if (of->files[i].since <= end && of->files[i].upto > end) end = of->files[i].upto;
    return end;
}

static void put_directory(cli *c, const folder *own)
{
    if (!c->failed && fsync(own->fd) != 0 && errno != EINVAL)
        cli_fail(c, "%s: cannot be written: %s", own->path, strerror(errno));
}

/* ---- giving ---------------------------------------------------------------------------------- */

/* What people call a source of own changes, to be freed. */
static char *id_of(const char *source)
{
    return sqlite3_mprintf("%.*s", (int)strlen(source) - OWN_SIZE, source);
}

static void add_row(cli_rows *rows, const char *what, const char *source, int64_t n, int64_t upto)
{
    char *id = id_of(source);
    cli_rows_moved(rows, what, id, n, upto);
    sqlite3_free(id);
}

static void put_line(void *to, const char *line)
{
    cli_lines_put(to, line);
}

/* Writes the changes from a number on beside the others, under the name `aside`. Returns their
 * number; 0: there is no such file then. */
static int64_t write_aside(cli_file *file, const folder *own, const char *aside, int64_t since,
                           batches *made)
{
    cli_lines lines;
    struct stat seen = {0};
    char *path = join(file->c, own->path, aside);
    *made = (batches){.since = since, .upto = since};
    cli_lines_create(&lines, file->c, own->fd, path);
    const cli_query query = {.since = since, .own = true};
    int64_t n = cli_give(file, &query, &made->upto, put_line, &lines);
    cli_lines_finish(&lines, true);
    if (!file->c->failed && fstatat(own->fd, aside, &seen, AT_SYMLINK_NOFOLLOW) != 0)
        cli_fail(file->c, "%s: %s", path, strerror(errno));
    made->size = seen.st_size;
    if (made->upto == since) n = 0;
    if (n == 0 || file->c->failed) unlinkat(own->fd, aside, 0);
    sqlite3_free(path);
    return n;
}

/* Deletes what killed syncs have left on its way. */
static void delete_leftovers(cli *c, const folder *own)
{
    enum { HOUR = 3600 };
    DIR *open = c->failed ? NULL : list(own);
    for (struct dirent *entry; open && (entry = readdir(open));) {
        struct stat seen;
        bool aside = strncmp(entry->d_name, ASIDE, sizeof ASIDE - 1) == 0;
        if (aside && fstatat(own->fd, entry->d_name, &seen, AT_SYMLINK_NOFOLLOW) == 0 &&
            seen.st_mtime < time(NULL) - HOUR)
            unlinkat(own->fd, entry->d_name, 0);
    }
    if (open) closedir(open);
}

/* Returns where a new file is to begin so that it takes in the last ones: as long as each is no
 * larger than all behind it. So each change is written again once for each time that their size
 * has doubled. */
static int64_t begin_of(const folder *of, const batches *made)
{
    off_t size = made->size;
    int64_t begin = made->since;
    for (size_t i = of->n; i > 0 && of->files[i - 1].size <= size; i--) {
        size += of->files[i - 1].size;
        if (of->files[i - 1].since < begin) begin = of->files[i - 1].since;
    }
    return begin;
}

/* Deletes own files that another own one has taken in. */
static void delete_covered(const folder *own, const batches *by)
{
    for (size_t i = 0; i < own->n; i++) {
        char name[NAME_SIZE];
        const batches *file = &own->files[i];
        bool is_same = file->since == by->since && file->upto == by->upto;
        name_of(file, name);
        if (!is_same && file->since >= by->since && file->upto <= by->upto)
            unlinkat(own->fd, name, 0);
    }
}

/* Fails if it cannot be read. */
static bool is_damaged(cli *c, const folder *own, const char *path)
{
    cli_lines lines;
    size_t size;
    cli quiet = {.command = c->command, .silent = true};
    cli_lines_open(&lines, &quiet, own->fd, path);
    while (cli_lines_next(&lines, &size)) continue;
    cli_lines_close(&lines);
    if (quiet.failed && !lines.damaged) cli_fail(c, "%s: cannot be read", path);
    return lines.damaged;
}

/* A file whose folder has more of it than it has itself would write what nobody takes. What is not
 * whole there is none of its files: deletes it. */
static void refuse_older(cli_file *file, folder *own)
{
    cli *c = file->c;
    size_t n = 0;
    int64_t end = end_of_chain(own), mine = end > 0 ? cli_end_of_changes(file) : 0;
    for (size_t i = 0; i < own->n && end > mine && !c->failed; i++) {
        char name[NAME_SIZE], *path = path_of(c, own, &own->files[i]);
        name_of(&own->files[i], name);
        bool stays = !path || own->files[i].upto <= mine || !is_damaged(c, own, path);
        if (stays) own->files[n++] = own->files[i];
        if (!stays) unlinkat(own->fd, name, 0);
        sqlite3_free(path);
    }
    if (end > mine) own->n = n;
    end = end_of_chain(own);
    if (end > mine)
        cli_fail(
            c,
            "%s: %s has its changes up to %lld, and the file ends at %lld: it is an older copy. "
            "SELECT counter_fork() gives it an id of its own, and its next sync a folder of its "
            "own",
            file->path, own->path, (long long)end, (long long)mine);
}

/* Makes the own folder unless it is there. Returns false if it cannot be written, as nothing in a
 * directory that can only be read; then errno says why. */
static bool make_own(cli *c, folder *own)
{
    if (c->failed) return true;
    if (own->fd < 0 && mkdir(own->path, 0777) != 0 && errno != EEXIST) {
        if (errno == EACCES || errno == EROFS || errno == EPERM) return false;
        cli_fail(c, "%s: cannot be made: %s", own->path, strerror(errno));
    }
    if (own->fd < 0 && !c->failed) open_folder(own);
    if (own->fd < 0)
        cli_fail(c, "%s: is no directory of its own, and nothing is written", own->path);
    if (c->failed || faccessat(own->fd, ".", W_OK | X_OK, 0) == 0) return true;
    return errno != EACCES && errno != EROFS;
}

static void drop_line(void *to, const char *line)
{
    (void)to;
    (void)line;
}

/* Fails if there is something to be written where nothing can be. */
static void give_nothing(cli_file *file, const folder *own, int why)
{
    int64_t upto, end = end_of_chain(own);
    const cli_query query = {.since = end, .own = true};
    int64_t n = cli_give(file, &query, &upto, drop_line, NULL);
    if (n > 0 && upto > end)
        cli_fail(file->c, "%s: cannot be written: %s: what %s has counted stays here", own->path,
                 strerror(why), file->path);
    else
        cli_warn(file->c, "%s: cannot be written: %s: nothing is given, and there is nothing new",
                 own->path, strerror(why));
}

/* Writes what the folder lacks. */
static void give(cli_file *file, folder *own, cli_rows *rows)
{
    cli *c = file->c;
    batches made;
    char aside[32], name[NAME_SIZE];
    bool writable = make_own(c, own);
    int why = errno;
    refuse_older(file, own);
    if (c->failed) return;
    if (!writable) {
        give_nothing(file, own, why);
        return;
    }
    delete_leftovers(c, own);
    snprintf(aside, sizeof aside, "%s%ld", ASIDE, (long)getpid());
    int64_t n = write_aside(file, own, aside, end_of_chain(own), &made);
    int64_t begin = n > 0 && !c->failed ? begin_of(own, &made) : 0;
    bool absorbs = n > 0 && !c->failed && begin < made.since;
    int64_t all = absorbs ? write_aside(file, own, aside, begin, &made) : n;
    if (all == 0 || c->failed) return;
    name_of(&made, name);
    if (renameat(own->fd, aside, own->fd, name) != 0)
        cli_fail(c, "%s/%s: cannot be written: %s", own->path, name, strerror(errno));
    put_directory(c, own);
    if (!c->failed) delete_covered(own, &made);
    if (!c->failed) add_row(rows, "gave", own->source, n, made.upto);
}

/* ---- taking ---------------------------------------------------------------------------------- */

/* Takes a file, whole or not at all. Returns the number of its changes; -1: its writer has joined
 * it with others. */
static int64_t take_file(cli_file *file, const folder *of, const char *path, const char *scope)
{
    int64_t n = 0;
    size_t size;
    cli_lines lines;
    cli_taking in;
    char *from = sqlite3_mprintf("%s: ", path);
    if (!from) cli_fail(file->c, "out of memory");
    cli_begin(file);
    cli_lines_open(&lines, file->c, of->fd, path);
    cli_taking_begin(&in, file, from, scope, of->source);
    while (cli_lines_next(&lines, &size)) cli_taking_line(&in, lines.line, size);
    n = in.changes;
    cli_taking_end(&in);
    cli_lines_close(&lines);
    cli_end(file);
    sqlite3_free(from);
    if (lines.is_gone) return -1;
    return file->c->failed ? 0 : n;
}

/* Returns the file that leads furthest from a mark, or NULL. */
static batches *next_of(const folder *of, int64_t mark)
{
    batches *found = NULL;
    for (size_t i = 0; i < of->n && of->files[i].since <= mark; i++) {
        batches *file = &of->files[i];
        if (!file->failed && file->upto > mark && (!found || file->upto > found->upto))
            found = file;
    }
    return found;
}

/* Takes files as long as one leads further. One that fails is told of, and another may lead on. */
static void take(cli_file *file, folder *of, const char *scope, cli_rows *rows)
{
    enum { RELISTED = 3 }; /* times; then the next sync goes on */
    cli *c = file->c;
    bool failed = c->failed;
    int relisted = 0;
    int64_t n = 0, mark = cli_mark(file, of->source, scope), before = mark;
    for (batches *next; !c->failed && relisted <= RELISTED && (next = next_of(of, mark)) &&
                        !cli_watch_is_stopped();) {
        char *path = path_of(c, of, next);
        int64_t taken = path ? take_file(file, of, path, scope) : 0;
        failed = failed || c->failed;
        c->failed = path == NULL;
        int64_t reached = cli_mark(file, of->source, scope);
        next->failed = reached <= mark;
        if (taken > 0) n += taken;
        if (taken < 0) {
            of->n = 0;
            read_folder(c, of, NULL);
            relisted++;
        }
        mark = reached;
        sqlite3_free(path);
    }
    if (mark > before) add_row(rows, "took", of->source, n, mark);
    c->failed = c->failed || failed;
}

/* ---- all of them ----------------------------------------------------------------------------- */

/* Copies the name of the file as a source of own changes; none if it has no id. */
static void name_own(cli_file *file, folder *own, const char *directory)
{
    sqlite3_stmt *row = cli_prepare(file, CLI_SQL_OWN_SOURCE);
    const char *source = cli_step(file, row) ? (const char *)sqlite3_column_text(row, 0) : NULL;
    if (source) {
        char name[sizeof own->source];
        sqlite3_snprintf(sizeof own->source, own->source, "%s", source);
        sqlite3_snprintf((int)(strlen(source) - OWN_SIZE + 1), name, "%s", source);
        if (name[ID_SIZE] == '/') name[ID_SIZE] = '-';
        own->path = join(file->c, directory, name);
    }
    sqlite3_finalize(row);
}

/* Calls `visit` for the folder of each source but one, in the order of their names. */
static void visit_others(cli_file *file, const char *directory, const folder *own,
                         cli_rows *strange, void (*visit)(cli_file *, folder *, void *), void *with)
{
    cli *c = file->c;
    struct dirent **names = NULL;
    int n = c->failed ? -1 : scandir(directory, &names, NULL, alphasort);
    if (n < 0 && !c->failed) cli_fail(c, "%s: cannot be read: %s", directory, strerror(errno));
    for (int i = 0; i < n; i++) {
        folder other = {.path = join(c, directory, names[i]->d_name), .fd = -1};
        bool is = source_of(names[i]->d_name, &other);
        if (!is && names[i]->d_name[0] != '.') tell_strange(strange, other.path);
        if (is && other.path && strcmp(other.source, own->source) != 0) {
            read_folder(c, &other, strange);
            if (other.fd >= 0 || c->failed) visit(file, &other, with);
        }
        close_folder(&other);
        free(names[i]);
    }
    free(names);
}

/* How others are taken, and whether one could not be. */
typedef struct taking {
    const char *scope;
    cli_watch *watch;
    cli_rows *rows;
    bool failed;
} taking;

/* An error with one of them is printed, and the others are taken. */
static void take_from(cli_file *file, folder *other, void *with)
{
    taking *how = with;
    if (how->watch) cli_watch_add(how->watch, other->path);
    take(file, other, how->scope, how->rows);
    how->failed = how->failed || file->c->failed;
    file->c->failed = false;
}

static void check_scope(cli_file *file, const char *scope)
{
    sqlite3_stmt *row = cli_prepare_text(file, CLI_SQL_CHECK_SCOPE, scope);
    cli_step(file, row);
    sqlite3_finalize(row);
}

void cli_folder_check(cli *c, const char *directory)
{
    batches file;
    DIR *open = opendir(directory);
    bool is = false;
    for (struct dirent *entry; open && !is && (entry = readdir(open));)
        is = is_batches(entry->d_name, &file);
    if (is)
        cli_fail(c, "%s: it is the folder of one source: give the directory that it is in",
                 directory);
    if (open) closedir(open);
}

void cli_folder_sync(cli_file *file, const char *directory, const char *scope, cli_watch *watch,
                     cli_rows *rows)
{
    folder own = {.fd = -1};
    taking how = {.scope = scope, .watch = watch, .rows = rows};
    cli_progress_begin(file->c, file->path, "changes");
    cli_run(file, "SELECT counter_settle()"); /* before the folder is named */
    name_own(file, &own, directory);
    char *here = watch ? join(file->c, directory, ".") : NULL; /* it may be a link itself */
    if (here) cli_watch_add(watch, here);
    sqlite3_free(here);
    if (scope && !file->c->failed) check_scope(file, scope);
    bool named = !file->c->failed;
    if (named && !is_link(own.path)) read_folder(file->c, &own, NULL);
    if (!file->c->failed) give(file, &own, rows);
    how.failed = file->c->failed;
    if (named) file->c->failed = false; /* what it cannot write does not keep it from reading */
    visit_others(file, directory, &own, NULL, take_from, &how);
    file->c->failed = file->c->failed || how.failed;
    cli_progress_erase(file->c);
    close_folder(&own);
}

/* ---- status ---------------------------------------------------------------------------------- */

static void tell_other(cli_file *file, folder *other, void *with)
{
    cli_rows *rows = with;
    char when[32] = "";
    struct tm utc;
    if (other->written && gmtime_r(&other->written, &utc))
        strftime(when, sizeof when, "%Y-%m-%d %H:%M:%S", &utc);
    cli_rows_text(rows, "other");
    char *id = id_of(other->source);
    cli_rows_text(rows, id);
    sqlite3_free(id);
    cli_rows_text(rows, when);
    cli_rows_integer(rows, end_of_chain(other));
    cli_rows_integer(rows, cli_mark(file, other->source, NULL));
    cli_rows_end(rows);
}

void cli_folder_tell(cli_file *file, const char *directory, cli_rows *rows)
{
    folder own = {.fd = -1};
    name_own(file, &own, directory);
    visit_others(file, directory, &own, rows, tell_other, rows);
    close_folder(&own);
}
