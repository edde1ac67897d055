/* script.c - reads scripts line by line. */
#define _XOPEN_SOURCE 700

#include "script.h"

#include <sqlite3.h>

#include "system.h"

/* A script as it is read. */
typedef struct reader {
    script_file script;
    int line;
    system_text statement; /* the one being read; of no size between statements */
    int statement_line;
    bool too_new; /* the last case is */
} reader;

static void refuse(const reader *in, const char *what)
{
    fprintf(stderr, "%s:%d: %s\n", in->script.path, in->line, what);
    exit(2);
}

/* Room for one more element behind n of them, zeroed. */
static void *grow(void *array, size_t n, size_t size)
{
    char *grown = realloc(array, (n + 1) * size);
    if (!grown) abort();
    memset(grown + n * size, 0, size);
    return grown;
}

static script_case *last_case(const reader *in)
{
    return in->script.n ? &in->script.cases[in->script.n - 1] : NULL;
}

static script_step *last_step(const reader *in)
{
    script_case *c = last_case(in);
    return c && c->n ? &c->steps[c->n - 1] : NULL;
}

static void free_case(script_case *c)
{
    for (size_t i = 0; i < c->n; i++) {
        script_step *step = &c->steps[i];
        for (size_t k = 0; k < step->n; k++) free(step->answers[k].text);
        free(step->answers);
        free(step->text);
    }
    free(c->steps);
    free(c->name);
}

static void end_case(reader *in)
{
    if (in->statement.size) refuse(in, "the last statement has no end");
    if (in->too_new) free_case(&in->script.cases[--in->script.n]);
    in->too_new = false;
}

static void add_case(reader *in, const char *name)
{
    end_case(in);
    in->script.cases = grow(in->script.cases, in->script.n, sizeof *in->script.cases);
    in->script.cases[in->script.n++].name = strdup(name);
}

static void add_step(reader *in, bool is_directive, char *text, int line)
{
    script_case *c = last_case(in);
    c->steps = grow(c->steps, c->n, sizeof *c->steps);
    c->steps[c->n++] = (script_step){.is_directive = is_directive, .text = text, .line = line};
}

static void add_answer(reader *in, bool is_error, bool is_glob, const char *text)
{
    script_step *step = last_step(in);
    if (!step || step->is_directive) refuse(in, "no statement before");
    step->answers = grow(step->answers, step->n, sizeof *step->answers);
    step->answers[step->n++] = (script_answer){is_error, is_glob, strdup(text), in->line};
}

static void add_to_statement(reader *in, const char *text)
{
    size_t n = strlen(text);
    if (!in->statement.size) in->statement_line = in->line;
    system_append(&in->statement, text);
    system_append(&in->statement, "\n");
    if (n == 0 || text[n - 1] != ';' || !sqlite3_complete(in->statement.bytes)) return;
    add_step(in, false, in->statement.bytes, in->statement_line);
    in->statement = (system_text){0};
}

static void require_version(reader *in, const char *text)
{
    int major, minor;
    if (sscanf(text, "%d.%d", &major, &minor) != 2) refuse(in, "since which version?");
    in->too_new = sqlite3_libversion_number() < major * 1000000 + minor * 1000;
}

static void add_directive(reader *in, const char *text)
{
    script_case *c = last_case(in);
    if (strncmp(text, "since ", 6) == 0)
        require_version(in, text + 6);
    else if (strcmp(text, "shell-only") == 0)
        c->shell_only = true;
    else if (strcmp(text, "not-wal") == 0)
        c->not_wal = true;
    else if (strcmp(text, "not-utf-16") == 0)
        c->not_utf16 = true;
    else if (strcmp(text, "attributes") == 0)
        c->attributes = true;
    else if (strcmp(text, "journal") == 0)
        c->journal = true;
    else if (strcmp(text, "whole-sqlite") == 0)
        c->whole_sqlite = true;
    else if (strcmp(text, "process-only") != 0)
        add_step(in, true, strdup(text), in->line);
}

/* The text behind `prefix` and one space, NULL if the line does not begin so. */
static const char *after(const char *text, const char *prefix)
{
    size_t n = strlen(prefix);
    if (strncmp(text, prefix, n) != 0) return NULL;
    if (text[n] == 0) return text + n;
    return text[n] == ' ' ? text + n + 1 : NULL;
}

static bool is_marked(const char *text)
{
    return strncmp(text, "--", 2) == 0 && text[2] && strchr("=~!@", text[2]);
}

static void add_marked(reader *in, const char *text)
{
    const char *rest;
    if (in->statement.size) refuse(in, "the statement before has no end");
    if ((rest = after(text, "--@")))
        add_directive(in, rest);
    else if ((rest = after(text, "--=")) || (rest = after(text, "--~")))
        add_answer(in, false, text[2] == '~', rest);
    else if ((rest = after(text, "--!")) || (rest = after(text, "--!~")))
        add_answer(in, true, text[3] == '~', rest);
    else
        refuse(in, "not understood");
}

static void read_line(reader *in, const char *text)
{
    const char *name = after(text, "-- #");
    if (name) {
        add_case(in, name);
    } else if (!in->statement.size && (*text == 0 || after(text, "--"))) {
        return;
    } else if (!last_case(in)) {
        refuse(in, "a line outside of any case");
    } else if (is_marked(text)) {
        add_marked(in, text);
    } else {
        add_to_statement(in, text);
    }
}

script_file script_read(const char *path)
{
    reader in = {.script.path = path};
    FILE *file = fopen(path, "r");
    if (!file) refuse(&in, "cannot be read");
    char *text = NULL;
    size_t room = 0;
    long n;
    while ((n = system_getline(&text, &room, file)) >= 0) {
        in.line++;
        if (n > 0 && text[n - 1] == '\n') text[n - 1] = 0;
        read_line(&in, text);
    }
    end_case(&in);
    free(text);
    fclose(file);
    return in.script;
}

void script_free(script_file *script)
{
    for (size_t i = 0; i < script->n; i++) free_case(&script->cases[i]);
    free(script->cases);
    script->cases = NULL;
    script->n = 0;
}
