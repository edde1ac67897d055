/* functions/gzip.c - files of lines, compressed by zlib, whole or not there.
 *
 * The last line of a file, {"lines":2,"digest":"..."}, says how many lines came before it. The
 * digest chains UUIDs of version 5: that of a line is the UUID of its bytes in the name space of
 * the digest of the line before, at first the nil UUID. */
#include "functions/functions.h"

#if defined(COUNTER_HAS_ZLIB)

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <zlib.h>

#ifdef _WIN32
#include <io.h>
#else
#include <unistd.h>
#endif

#include "file/uuid.h"

enum { LAST_LINE_MAX = 96, READ_PART = 1 << 16, LINE_SIZE_MOST = 1 << 28 };

/* SQLITE_ERROR, for what is wrong is not the database. */
static void fail_gzip(const ctr_gzip *file, const char *how, const char *why)
{
    ctr_problem_set(file->conn, SQLITE_ERROR, "%s/%s: cannot be %s: %s", file->folder->path,
                    file->name, how, why);
}

static void digest_line(ctr_gzip *file, const char *line, size_t size)
{
    uint8_t space[CTR_ID_SIZE];
    memcpy(space, file->digest, CTR_ID_SIZE);
    ctr_uuid_in(space, (const uint8_t *)line, size, file->digest);
    file->n++;
}

static void write_last_line(const ctr_gzip *file, char text[LAST_LINE_MAX])
{
    char digest[CTR_ID_TEXT_SIZE];
    ctr_id_to_text(file->digest, digest);
    sqlite3_snprintf(LAST_LINE_MAX, text, "{\"lines\":%lld,\"digest\":\"%s\"}", (long long)file->n,
                     digest);
}

/* ---- writing --------------------------------------------------------------------------------- */

static void fail_writing(const ctr_gzip *file)
{
    int rc = Z_OK;
    const char *why = file->gz ? gzerror(file->gz, &rc) : NULL;
    fail_gzip(file, "written", rc == Z_OK || rc == Z_ERRNO || !why ? strerror(errno) : why);
}

void ctr_gzip_create(ctr_gzip *file, ctr_conn *conn, const ctr_folder *folder, const char *name)
{
    *file = (ctr_gzip){.conn = conn, .folder = folder, .name = name, .fd = -1};
    if (ctr_rc(conn) != SQLITE_OK) return;
    int error = ctr_folder_create(folder, name, &file->fd);
    int copy = error ? -1 : dup(file->fd); /* gzclose closes one, the other is synced */
    file->gz = copy >= 0 ? gzdopen(copy, "wb") : NULL;
    if (!file->gz) fail_gzip(file, "written", strerror(error ? error : errno));
    if (!file->gz && copy >= 0) close(copy);
}

static void write_line(const ctr_gzip *file, const char *line, size_t size)
{
    if (ctr_rc(file->conn) != SQLITE_OK) return;
    bool written = size < UINT_MAX && gzwrite(file->gz, line, (unsigned)size) == (int)size &&
                   gzputc(file->gz, '\n') == '\n';
    if (!written) fail_writing(file);
}

void ctr_gzip_put(ctr_gzip *file, const char *line, size_t size)
{
    digest_line(file, line, size);
    write_line(file, line, size);
}

void ctr_gzip_finish(ctr_gzip *file)
{
    char text[LAST_LINE_MAX];
    write_last_line(file, text);
    write_line(file, text, strlen(text));
    if (file->gz && gzclose(file->gz) != Z_OK) {
        file->gz = NULL;
        fail_writing(file);
    }
    file->gz = NULL;
    int error = file->fd >= 0 ? ctr_folder_finish(file->fd) : 0;
    file->fd = -1;
    if (error) fail_gzip(file, "written", strerror(error));
}

/* ---- reading --------------------------------------------------------------------------------- */

bool ctr_gzip_open(ctr_gzip *file, ctr_conn *conn, const ctr_folder *folder, const char *name)
{
    int fd = -1;
    *file = (ctr_gzip){.conn = conn, .folder = folder, .name = name, .fd = -1};
    int error = ctr_folder_read(folder, name, &fd);
    file->gz = error ? NULL : gzdopen(fd, "rb");
    if (!error && !file->gz) ctr_problem_nomem(conn);
    if (!error && !file->gz) close(fd);
    if (error == EINVAL)
        fail_gzip(file, "read", "it is not a regular file");
    else if (error && error != ENOENT)
        fail_gzip(file, "read", strerror(error));
    return file->gz != NULL;
}

/* Makes room for one more part of a line. */
static bool widen_line(ctr_gzip *file, size_t size)
{
    if (file->room - size >= READ_PART) return true;
    char *line = sqlite3_realloc64(file->line, 2 * file->room + READ_PART);
    if (!line) ctr_problem_nomem(file->conn);
    if (!line) return false;
    file->line = line;
    file->room = 2 * file->room + READ_PART;
    return true;
}

/* Reads on to the end of a line. Returns false at the end of the file, and if it is damaged. */
static bool read_line(ctr_gzip *file, size_t *size)
{
    const char *wrong = NULL;
    *size = 0;
    while (ctr_rc(file->conn) == SQLITE_OK && widen_line(file, *size)) {
        char *part = file->line + *size;
        z_off_t before = gztell(file->gz);
        if (!gzgets(file->gz, part, READ_PART)) return false;
        size_t more = strlen(part);
        *size += more;
        bool ends = more > 0 && part[more - 1] == '\n';
        if (gztell(file->gz) - before != (z_off_t)more) wrong = "it has a zero byte";
        if (!wrong && *size > LINE_SIZE_MOST) wrong = "it is too long";
        if (wrong)
            ctr_problem_set(file->conn, SQLITE_ERROR, "%s/%s: line %lld: %s", file->folder->path,
                            file->name, (long long)file->n + 1, wrong);
        if (ends && !wrong) file->line[--*size] = '\0';
        if (ends) return !wrong;
    }
    return false;
}

/* The file ends without its last line. */
static void fail_end(ctr_gzip *file)
{
    int rc = Z_OK;
    gzerror(file->gz, &rc);
    if (rc == Z_ERRNO) fail_gzip(file, "read", strerror(errno));
    if (rc == Z_MEM_ERROR) ctr_problem_nomem(file->conn);
    if (ctr_rc(file->conn) != SQLITE_OK) return;
    ctr_problem_set(file->conn, SQLITE_ERROR, "%s/%s: it is cut short or damaged",
                    file->folder->path, file->name);
}

bool ctr_gzip_next(ctr_gzip *file, size_t *size)
{
    static const char LAST[] = "{\"lines\":";
    char text[LAST_LINE_MAX];
    if (ctr_rc(file->conn) != SQLITE_OK || file->whole || !file->gz) return false;
    bool is_line = read_line(file, size);
    if (ctr_rc(file->conn) != SQLITE_OK) return false;
    write_last_line(file, text);
    file->whole = is_line && strcmp(file->line, text) == 0;
    if (file->whole) return false;
    if (!is_line || strncmp(file->line, LAST, sizeof LAST - 1) == 0)
        fail_end(file);
    else
        digest_line(file, file->line, *size);
    return ctr_rc(file->conn) == SQLITE_OK;
}

void ctr_gzip_close(ctr_gzip *file)
{
    if (file->gz) gzclose(file->gz);
    sqlite3_free(file->line);
    file->gz = NULL;
    file->line = NULL;
}

#endif
