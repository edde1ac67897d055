/* http.c - speaks to a server by running curl, which reads what to do from its standard input, so
 * that no token stands in a list of processes. */
#define _POSIX_C_SOURCE 200809L

#include "cli/http.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/gzip.h"

enum {
    BODY_BYTES = 4 << 20,        /* of a body that goes up */
    ANSWER_BYTES_MOST = 1 << 28, /* bytes, as they come */
    STATUS_SIZE = 4,             /* of a line of its own */
    OK = 200,
    BUSY = 503,
    TRIES = 3,   /* of a request, as the packages do */
    PAUSE = 1000 /* milliseconds between them: what a server that is locked asks for */
};

/* Exit statuses of curl. */
enum {
    CURL_CUT_SHORT = 18,
    CURL_TIMEOUT = 28,
    CURL_WRONG_NAME = 51, /* of curls before 7.62 */
    CURL_NO_ANSWER = 52,
    CURL_NOT_SENT = 55,
    CURL_NOT_RECEIVED = 56,
    CURL_NOT_TRUSTED = 60,
    CURL_BAD_CA = 77,
    CURL_STREAM_ENDED = 92
};

extern char **environ;

typedef struct server {
    cli_file *file;
    const char *url;
    const char *ca;               /* what the user calls the file of --ca, or NULL */
    char *token;                  /* owned */
    const char *scope;            /* JSON, or NULL */
    char *place;                  /* owned: a temporary folder */
    char *answer, *errors;        /* owned: paths in it */
    char *trusted, *nothing;      /* owned: the certificates of --ca, an empty folder */
    int ended;                    /* the exit status of the last curl */
    struct upload *bodies;        /* owned: what goes up */
    size_t n_bodies, room_bodies; /* how many of them */

    /* What counter_request says. */
    char *tells, *query; /* owned: parameters without and with a question for changes */
    int64_t mine;        /* up to where the server has what the file gives */

    /* What it has answered. */
    char *source;   /* owned: what it gives */
    bool more;      /* it has more of that */
    int64_t n_took; /* changes of it that were taken */
    bool rose;      /* they have raised the mark of the source */
} server;

/* A body that goes up. */
typedef struct upload {
    char *path;   /* owned */
    int64_t upto; /* where its changes end */
} upload;

/* ---- requests -------------------------------------------------------------------------------- */

/* Appends an option of curl, quoted as its configuration wants it: what follows the end of a line
 * would be another option. */
static void add_option(sqlite3_str *config, const char *option, const char *value)
{
    sqlite3_str_appendf(config, "%s = \"", option);
    for (; *value; value++) {
        if (strchr("\"\\\n\r", *value)) sqlite3_str_appendchar(config, 1, '\\');
        sqlite3_str_appendchar(config, 1, *value == '\n' ? 'n' : *value == '\r' ? 'r' : *value);
    }
    sqlite3_str_appendall(config, "\"\n");
}

/* Writes all of the text, unless the reader has ended, then closes the pipe. */
static void feed_pipe(int fd, const char *text)
{
    size_t left = strlen(text);
    ssize_t n;
    struct sigaction before, ignored = {.sa_handler = SIG_IGN};
    sigemptyset(&ignored.sa_mask);
    sigaction(SIGPIPE, &ignored, &before);
    while (left > 0 && (n = write(fd, text, left)) > 0) {
        text += n;
        left -= (size_t)n;
    }
    sigaction(SIGPIPE, &before, NULL);
    close(fd);
}

/* Appends all that comes to the answer. Returns its size, or ANSWER_BYTES_MOST if it has more. */
static int64_t save_answer(server *s, int from)
{
    char bytes[1 << 16];
    ssize_t n = 0;
    int64_t size = 0;
    FILE *answer = fopen(s->answer, "wb");
    bool written = answer != NULL;
    while (written && size < ANSWER_BYTES_MOST && (n = read(from, bytes, sizeof bytes)) > 0) {
        written = fwrite(bytes, 1, (size_t)n, answer) == (size_t)n;
        size += n;
    }
    if (answer && fclose(answer) != 0) written = false;
    if (!written) cli_fail(s->file->c, "%s: cannot be written: %s", s->answer, strerror(errno));
    if (written && size >= ANSWER_BYTES_MOST)
        cli_fail(s->file->c, "%s: the answer has more than %d bytes", s->url, ANSWER_BYTES_MOST);
    return size;
}

/* Takes the status, which curl has printed behind the answer, off that. Returns 0 if there is
 * none. */
static int cut_status(server *s, int64_t size)
{
    char text[STATUS_SIZE + 1] = "";
    FILE *answer = size >= STATUS_SIZE ? fopen(s->answer, "r+b") : NULL;
    if (!answer) return 0;
    bool cut = fseeko(answer, (off_t)(size - STATUS_SIZE), SEEK_SET) == 0 &&
               fread(text, 1, STATUS_SIZE, answer) == STATUS_SIZE &&
               ftruncate(fileno(answer), (off_t)(size - STATUS_SIZE)) == 0;
    fclose(answer);
    return cut && *text == '\n' ? atoi(text + 1) : 0;
}

/* Runs curl, whose answer is then in s->answer, and what went wrong in s->errors. Returns the
 * status; 0: there is no whole answer. The answer comes through a pipe as the server has sent it,
 * so that its size is bounded here: curl bounds none that it decompresses, and older ones none in
 * parts. */
static int run_curl(server *s, const char *config)
{
    cli *c = s->file->c;
    int ended = -1;
    int in[2], out[2];
    pid_t child;
    char *const words[] = {"curl", "-q", "-K", "-", NULL};
    posix_spawn_file_actions_t actions;
    if (c->failed) return 0;
    bool has_in = pipe(in) == 0;
    if (!has_in || pipe(out) != 0) {
        cli_fail(c, "no pipe can be made: %s", strerror(errno));
        if (has_in) close(in[0]);
        if (has_in) close(in[1]);
        return 0;
    }
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, s->errors,
                                     O_WRONLY | O_CREAT | O_TRUNC, 0600);
    posix_spawn_file_actions_addclose(&actions, in[1]);
    posix_spawn_file_actions_addclose(&actions, out[0]);
    int rc = posix_spawnp(&child, "curl", &actions, NULL, words, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(in[0]);
    close(out[1]);
    if (rc != 0)
        cli_fail(c, "a server needs the program curl, which cannot be run: %s", strerror(rc));
    feed_pipe(in[1], rc == 0 ? config : "");
    int64_t size = rc == 0 ? save_answer(s, out[0]) : 0;
    close(out[0]);
    if (rc == 0) waitpid(child, &ended, 0);
    int status = c->failed ? 0 : cut_status(s, size);
    s->ended = WIFEXITED(ended) ? WEXITSTATUS(ended) : -1;
    return s->ended == 0 ? status : 0;
}

/* Returns the first bytes of a file as a text, to be freed; NULL if there are none. */
static char *text_of_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    char text[CLI_TEXT_MAX];
    size_t n = file ? fread(text, 1, CLI_TEXT_MAX - 1, file) : 0;
    if (file) fclose(file);
    text[n] = '\0';
    return n > 0 ? sqlite3_mprintf("%s", text) : NULL;
}

/* Fails with the sentence of curl, which has no answer of the server. */
static void fail_curl(server *s)
{
    cli *c = s->file->c;
    char *text = text_of_file(s->errors);
    const char *said = text ? text : "curl says nothing";
    int size = (int)strcspn(said, "\n");
    if (s->ca && s->ended == CURL_BAD_CA)
        cli_fail(c, "%s: its certificates cannot be read: %.*s", s->ca, size, said);
    else if (s->ended == CURL_NOT_TRUSTED || s->ended == CURL_WRONG_NAME)
        cli_fail(c, "%s: its certificate is not accepted: %.*s%s", s->url, size, said,
                 s->ca ? "" : ": --ca names a file of certificates to trust");
    else if (text)
        cli_fail(c, "%s: %.*s", s->url, size, said);
    else
        cli_fail(c, "%s: no answer came", s->url);
    sqlite3_free(text);
}

/* Fails with the sentence of the server, if it has one. */
static void fail_request(server *s, int status)
{
    cli *c = s->file->c;
    char *answer = cli_lines_text(c, s->answer), *sentence = NULL;
    sqlite3_stmt *row = cli_prepare_text(s->file, CLI_SQL_SENTENCE, answer);
    if (cli_step(s->file, row)) sentence = sqlite3_mprintf("%s", sqlite3_column_text(row, 0));
    sqlite3_finalize(row);
    if (sentence)
        cli_fail(c, "%s: %d: %s", s->url, status, sentence);
    else
        cli_fail(c,
                 "%s: answers with the status %d, but not as a server of sqlite-counter does: is "
                 "that the URL of one?",
                 s->url, status);
    sqlite3_free(answer);
    sqlite3_free(sentence);
}

/* Returns whether the server was there and gave no answer, or was busy: to ask twice does no harm,
 * for what has come before changes nothing. */
static bool is_to_be_repeated(const server *s, int status)
{
    switch (s->ended) {
    case 0: return status == BUSY;
    case CURL_CUT_SHORT:
    case CURL_TIMEOUT:
    case CURL_NO_ANSWER:
    case CURL_NOT_SENT:
    case CURL_NOT_RECEIVED:
    case CURL_STREAM_ENDED: return true;
    default: return false;
    }
}

/* Runs curl, again while the server is busy or gives no answer, a few times. Returns the status; 0:
 * there is no whole answer. */
static int run_curl_patiently(server *s, const char *config)
{
    int status = run_curl(s, config);
    for (int tried = 1; tried < TRIES && !s->file->c->failed && is_to_be_repeated(s, status);
         tried++) {
        sqlite3_sleep(PAUSE);
        status = run_curl(s, config);
    }
    return status;
}

/* Asks the server; its answer is then in s->answer. `body`: a file to send, or NULL: nothing. */
static void request(server *s, const char *parameters, const char *body)
{
    cli *c = s->file->c;
    if (c->failed) return;
    sqlite3_str *config = sqlite3_str_new(NULL);
    size_t size = strlen(s->url);
    while (size > 0 && s->url[size - 1] == '/') size--;
    char *url = sqlite3_mprintf("%.*s?%s", (int)size, s->url, parameters);
    char *bearer = sqlite3_mprintf("Authorization: Bearer %s", s->token);
    char *data = sqlite3_mprintf("%s%s", body ? "@" : "", body ? body : "");
    add_option(config, "url", url ? url : "");
    add_option(config, "header", bearer ? bearer : "");
    add_option(config, "proto", "=http,https");
    add_option(config, "header", "Accept-Encoding: gzip");
    add_option(config, "write-out", "\\n%{http_code}");
    add_option(config, "connect-timeout", "30");
    add_option(config, "speed-limit", "1"); /* a server that says nothing for that long is gone */
    add_option(config, "speed-time", "300");
    sqlite3_str_appendall(config, "silent\nshow-error\n");
    if (s->ca) {
        add_option(config, "cacert", s->trusted);
        add_option(config, "capath", s->nothing); /* instead of that of the machine */
    }
    add_option(config, "header", "Content-Type: application/x-ndjson");
    if (body) add_option(config, "header", "Content-Encoding: gzip");
    add_option(config, "header", "Expect:");
    add_option(config, "data-binary", data ? data : "");
    char *text = sqlite3_str_finish(config);
    if (!text || !url || !bearer || !data) cli_fail(c, "out of memory");
    int status = run_curl_patiently(s, text ? text : "");
    if (!c->failed && status == 0) fail_curl(s);
    if (!c->failed && status != OK) fail_request(s, status);
    sqlite3_free(text);
    sqlite3_free(url);
    sqlite3_free(bearer);
    sqlite3_free(data);
}

/* ---- answers --------------------------------------------------------------------------------- */

enum { KNEW_NOTHING = -1 }; /* in place of up to where own changes were sent */

static char *copy_column(sqlite3_stmt *row, int column)
{
    const char *text = (const char *)sqlite3_column_text(row, column);
    return text ? sqlite3_mprintf("%s", text) : NULL;
}

static void show_warnings(server *s, const char *list)
{
    sqlite3_stmt *row = cli_prepare_text(s->file, CLI_SQL_WARNED, list);
    while (cli_step(s->file, row))
        cli_warn(s->file->c, "%s: %s", s->url, sqlite3_column_text(row, 0));
    sqlite3_finalize(row);
}

/* Takes the first line of an answer to a body with own changes up to `sent`. */
static void hear(server *s, const char *line, size_t size, int64_t sent)
{
    cli_file *file = s->file;
    sqlite3_stmt *row = cli_prepare_text(file, CLI_SQL_HEARD, s->url);
    if (!row) return;
    sqlite3_bind_text64(row, 2, line, size, SQLITE_STATIC, SQLITE_UTF8);
    if (sent != KNEW_NOTHING) sqlite3_bind_int64(row, 3, sent);
    sqlite3_bind_text(row, 4, s->scope, -1, SQLITE_STATIC);
    int rc = sqlite3_step(row);
    if (rc == SQLITE_ROW) {
        sqlite3_free(s->source);
        s->source = copy_column(row, 0);
        s->mine = sqlite3_column_int64(row, 1);
        s->more = sqlite3_column_int(row, 2) != 0;
        show_warnings(s, (const char *)sqlite3_column_text(row, 3));
        if (!s->source) cli_fail(file->c, "out of memory");
    } else {
        cli_fail(file->c, "%s: %s%s", s->url, cli_message(file->db),
                 rc == SQLITE_ERROR ? ": is that the URL of a server of sqlite-counter?" : "");
    }
    sqlite3_finalize(row);
}

/* Takes an answer, all of it or nothing. */
static void take_answer(server *s, int64_t sent)
{
    cli_file *file = s->file;
    char *from = sqlite3_mprintf("%s: ", s->url);
    cli_taking in;
    cli_lines lines;
    size_t size = 0;
    if (!from) cli_fail(file->c, "out of memory");
    cli_begin(file);
    cli_lines_open(&lines, file->c, s->answer, s->url);
    bool has_line = cli_lines_next(&lines, &size);
    if (!file->c->failed) hear(s, has_line ? lines.line : "", has_line ? size : 0, sent);
    int64_t before = file->c->failed ? 0 : cli_mark(file, s->source);
    cli_taking_begin(&in, file, from ? from : "", s->source);
    while (cli_lines_next(&lines, &size)) cli_taking_line(&in, lines.line, size);
    s->n_took += in.changes;
    cli_taking_end(&in);
    cli_lines_close(&lines);
    cli_end(file);
    if (!file->c->failed && cli_mark(file, s->source) > before) s->rose = true;
    sqlite3_free(from);
}

/* ---- requests of a sync ---------------------------------------------------------------------- */

/* Reads what the file says to the server next. */
static void prepare(server *s)
{
    sqlite3_stmt *row = cli_prepare_text(s->file, CLI_SQL_REQUEST, s->url);
    sqlite3_free(s->tells);
    sqlite3_free(s->query);
    s->tells = s->query = NULL;
    if (row) sqlite3_bind_text(row, 2, s->scope, -1, SQLITE_STATIC);
    if (cli_step(s->file, row)) {
        s->tells = copy_column(row, 0);
        s->query = copy_column(row, 1);
        s->mine = sqlite3_column_int64(row, 2);
    }
    sqlite3_finalize(row);
}

/* Sends a body with own changes up to `sent`, or none, and takes the answer. `asks`: for changes of
 * the server, too. */
static void post(server *s, bool asks, const char *path, int64_t sent)
{
    prepare(s);
    const char *parameters = asks ? s->query : s->tells;
    if (!parameters) cli_fail(s->file->c, "out of memory");
    request(s, parameters ? parameters : "", path);
    if (!s->file->c->failed) take_answer(s, sent);
}

/* Begins a body. */
static void add_body(server *s, cli_lines *lines)
{
    if (s->n_bodies == s->room_bodies) {
        size_t room = s->room_bodies ? 2 * s->room_bodies : 4;
        upload *bodies = sqlite3_realloc64(s->bodies, room * sizeof *bodies);
        if (!bodies) {
            cli_fail(s->file->c, "out of memory");
            return;
        }
        s->bodies = bodies;
        s->room_bodies = room;
    }
    char *path = sqlite3_mprintf("%s/body%llu", s->place, (unsigned long long)s->n_bodies);
    if (!path) cli_fail(s->file->c, "out of memory");
    if (!path) return;
    s->bodies[s->n_bodies++] = (upload){.path = path};
    cli_lines_create(lines, s->file->c, path);
}

/* Puts own changes from s->mine on into files, because an answer is written into the file that they
 * are read from. Returns how many there are. */
static int64_t make_bodies(server *s)
{
    cli_file *file = s->file;
    int64_t n = 0;
    size_t bytes = BODY_BYTES;
    cli_lines lines = {.c = file->c};
    sqlite3_stmt *row = cli_prepare(file, CLI_SQL_LINES);
    if (row) sqlite3_bind_int64(row, 1, s->mine);
    if (row) sqlite3_bind_int(row, 2, 1);
    while (cli_step(file, row)) {
        const char *line = (const char *)sqlite3_column_text(row, 0);
        int64_t changes = sqlite3_column_int64(row, 2);
        size_t size = line ? strlen(line) + 1 : 0;
        if (!line) cli_fail(file->c, "out of memory");
        if (!line || changes == 0) continue;
        if (bytes + size > BODY_BYTES) {
            if (s->n_bodies > 0) cli_lines_finish(&lines);
            add_body(s, &lines);
            bytes = 0;
        }
        if (file->c->failed) break;
        cli_lines_put(&lines, line);
        s->bodies[s->n_bodies - 1].upto = sqlite3_column_int64(row, 1);
        bytes += size;
        n += changes;
        cli_progress_add(file->c, changes);
    }
    if (s->n_bodies > 0) cli_lines_finish(&lines);
    sqlite3_finalize(row);
    return n;
}

static void drop_bodies(server *s)
{
    while (s->n_bodies > 0) {
        upload *last = &s->bodies[--s->n_bodies];
        unlink(last->path);
        sqlite3_free(last->path);
    }
}

/* Uploads own changes from where the server has them; the last body asks for its changes. Returns
 * whether the server has less than it has said: it was restored, or is another file. */
static bool give(server *s, cli_rows *rows)
{
    prepare(s);
    int64_t began = s->mine, upto = began, n = make_bodies(s);
    for (size_t i = 0; i + 1 < s->n_bodies; i++)
        post(s, false, s->bodies[i].path, s->bodies[i].upto);
    if (s->n_bodies > 0) upto = s->bodies[s->n_bodies - 1].upto;
    post(s, true, s->n_bodies > 0 ? s->bodies[s->n_bodies - 1].path : NULL, upto);
    drop_bodies(s);
    if (s->file->c->failed) return false;
    if (s->mine < began) return true;
    if (n > 0) cli_rows_moved(rows, "gave", s->url, n, upto);
    return false;
}

/* Asks for the rest of what the server gives, until no line raises the mark of that. */
static void take(server *s, cli_rows *rows)
{
    char *asked = NULL;
    prepare(s);
    while (s->more && !s->file->c->failed && !(asked && s->query && strcmp(asked, s->query) == 0)) {
        sqlite3_free(asked);
        asked = s->query ? sqlite3_mprintf("%s", s->query) : NULL;
        post(s, true, NULL, s->mine);
        prepare(s);
    }
    sqlite3_free(asked);
    if (s->rose) cli_rows_moved(rows, "took", s->url, s->n_took, cli_mark(s->file, s->source));
}

/* ---- all of it ------------------------------------------------------------------------------- */

/* Reads the token, which must be one that can stand in a header. */
static void read_token(server *s, const char *path)
{
    static const char LETTERS[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~+/=";
    cli *c = s->file->c;
    const char *given = getenv("SQLITE_COUNTER_TOKEN");
    if (path)
        s->token = text_of_file(path);
    else
        s->token = sqlite3_mprintf("%s", given ? given : "");
    size_t size = s->token ? strcspn(s->token, " \t\r\n") : 0;
    if (s->token) s->token[size] = '\0';
    if (path && size == 0)
        cli_fail(c, "%s: there is no such file, or no token in it", path);
    else if (size == 0)
        cli_fail(c, "a server needs a token: in the file of --token-file, or in the environment "
                    "variable SQLITE_COUNTER_TOKEN");
    else if (strspn(s->token, LETTERS) != size)
        cli_fail(c, "the token has a letter that no token has");
}

/* Copies the certificates in PEM, and leaves the keys that may stand beside them. Returns whether
 * there are any. */
static bool copy_certificates(FILE *from, FILE *to)
{
    char *line = NULL;
    size_t room = 0;
    bool inside = false, has_any = false;
    while (getline(&line, &room, from) >= 0) {
        bool ends = strncmp(line, "-----END ", 9) == 0;
        if (strncmp(line, "-----BEGIN ", 11) == 0)
            inside = strstr(line, "CERTIFICATE-----") != NULL;
        if (inside) fputs(line, to);
        has_any = has_any || (inside && ends);
        inside = inside && !ends;
    }
    free(line);
    return has_any;
}

/* Takes the certificates of --ca for all requests, because its file may be a pipe. */
static void read_ca(server *s)
{
    cli *c = s->file->c;
    if (!s->ca || c->failed) return;
    FILE *from = fopen(s->ca, "rb");
    if (!from) {
        cli_fail(c, "%s: cannot be read: %s", s->ca, strerror(errno));
        return;
    }
    FILE *to = mkdir(s->nothing, 0700) == 0 ? fopen(s->trusted, "wb") : NULL;
    bool has_any = to && copy_certificates(from, to);
    int unread = ferror(from) ? errno : 0;
    bool is_written = to && !ferror(to);
    if (to && fclose(to) != 0) is_written = false;
    if (unread)
        cli_fail(c, "%s: cannot be read: %s", s->ca, strerror(unread));
    else if (!is_written)
        cli_fail(c, "%s: cannot be written: %s", s->trusted, strerror(errno));
    else if (!has_any)
        cli_fail(c, "%s: has no certificate in PEM, which -----BEGIN CERTIFICATE----- begins",
                 s->ca);
    fclose(from);
}

/* A folder that nobody else can look into, for what goes up and comes down. */
static void make_place(server *s)
{
    const char *folder = getenv("TMPDIR");
    s->place = sqlite3_mprintf("%s/sqlite-counter-XXXXXX", folder && *folder ? folder : "/tmp");
    if (!s->place || !mkdtemp(s->place))
        cli_fail(s->file->c, "no temporary folder can be made: %s", strerror(errno));
    s->answer = sqlite3_mprintf("%s/answer", s->place);
    s->errors = sqlite3_mprintf("%s/errors", s->place);
    s->trusted = sqlite3_mprintf("%s/trusted", s->place);
    s->nothing = sqlite3_mprintf("%s/nothing", s->place);
    if (!s->answer || !s->errors || !s->trusted || !s->nothing)
        cli_fail(s->file->c, "out of memory");
}

static void leave_place(server *s)
{
    drop_bodies(s);
    if (s->answer) unlink(s->answer);
    if (s->errors) unlink(s->errors);
    if (s->trusted) unlink(s->trusted);
    if (s->nothing) rmdir(s->nothing);
    if (s->place) rmdir(s->place);
    sqlite3_free(s->bodies);
    sqlite3_free(s->answer);
    sqlite3_free(s->errors);
    sqlite3_free(s->trusted);
    sqlite3_free(s->nothing);
    sqlite3_free(s->place);
}

void cli_http_sync(cli_file *file, const cli_arguments *given, cli_rows *rows)
{
    server s = {.file = file, .url = given->word[1], .ca = given->ca, .scope = given->scope};
    make_place(&s);
    read_ca(&s);
    read_token(&s, given->token_file);
    cli_progress_begin(file->c, file->path, "changes");
    cli_run(file, "SELECT counter_settle()"); /* before the token is bound to its id */
    prepare(&s);
    if (!s.query) post(&s, false, NULL, KNEW_NOTHING);
    if (give(&s, rows)) give(&s, rows);
    take(&s, rows);
    cli_progress_erase(file->c);
    leave_place(&s);
    sqlite3_free(s.token);
    sqlite3_free(s.tells);
    sqlite3_free(s.query);
    sqlite3_free(s.source);
}
