/* git.c - merge as a merge driver of git, and a database as text for git diff.
 *
 *     .git/config       merge.sqlite-counter.driver, diff.sqlite-counter.textconv
 *     .gitattributes    *.db merge=sqlite-counter diff=sqlite-counter -text
 *     .gitignore        what SQLite keeps beside a file that is open
 */
#define _POSIX_C_SOURCE 200809L

#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/merge/merge.h"

extern char **environ;

/* ---- install ------------------------------------------------------------------------------------- */

static void set_config(cli *c, const char *name, const char *value)
{
    const char *const words[] = {"git", "config", "--local", name, value, NULL};
    pid_t child;
    int status = 0;
    if (c->failed) return;
    int rc = posix_spawnp(&child, "git", NULL, NULL, (char *const *)words, environ);
    if (rc != 0)
        cli_fail(c, "merge: git cannot be run: %s", strerror(rc));
    else if (waitpid(child, &status, 0) != child || status != 0)
        cli_fail(c, "merge: git config %s failed: is this folder in a work tree of git?", name);
}

/* The top folder of the work tree that the current folder is in: has `.git`. The caller frees it. */
static char *top_folder(cli *c)
{
    char *at = sqlite3_mprintf(".");
    for (int i = 0; at && i < 64; i++) {
        struct stat is, up;
        char *git = sqlite3_mprintf("%s/.git", at), *parent = sqlite3_mprintf("%s/..", at);
        bool is_top = git && stat(git, &is) == 0;
        bool is_root =
            parent && stat(at, &is) == 0 && stat(parent, &up) == 0 && is.st_ino == up.st_ino;
        sqlite3_free(git);
        if (is_top) sqlite3_free(parent);
        if (is_top) return at;
        sqlite3_free(at);
        at = parent;
        if (is_root) break;
    }
    sqlite3_free(at);
    cli_fail(c, "merge: --install-git-driver: this folder is in no work tree of git");
    return NULL;
}

/* The whole file and a zero byte; "" if there is none. The caller frees it. */
static char *read_text(cli *c, const char *path)
{
    FILE *file = fopen(path, "r");
    sqlite3_str *text = sqlite3_str_new(NULL);
    char block[4096];
    size_t n;
    if (!file && errno != ENOENT) cli_fail(c, "%s: %s", path, strerror(errno));
    while (file && (n = fread(block, 1, sizeof block, file)) > 0)
        sqlite3_str_append(text, block, (int)n);
    if (file) fclose(file);
    sqlite3_str_appendall(text, "");
    char *all = sqlite3_str_finish(text);
    return all ? all : sqlite3_mprintf("");
}

static bool has_line(const char *text, const char *line)
{
    size_t n = strlen(line);
    for (const char *s = text; s && *s; s = strchr(s, '\n') ? strchr(s, '\n') + 1 : NULL)
        if (strncmp(s, line, n) == 0 && (s[n] == '\n' || s[n] == '\r' || s[n] == '\0')) return true;
    return false;
}

/* Adds a line to a file of the top folder, unless it is there. */
static void add_line(cli *c, const char *folder, const char *name, const char *line)
{
    char *path = c->failed ? NULL : sqlite3_mprintf("%s/%s", folder, name);
    char *text = path ? read_text(c, path) : NULL;
    if (text && !c->failed && !has_line(text, line)) {
        FILE *file = fopen(path, "a");
        size_t n = strlen(text);
        if (file && n > 0 && text[n - 1] != '\n') fputc('\n', file);
        if (!file || fprintf(file, "%s\n", line) < 0 || fclose(file) != 0)
            cli_fail(c, "%s: %s", path, strerror(errno));
    }
    sqlite3_free(text);
    sqlite3_free(path);
}

/* Whether git will find the program by its name. */
static bool is_in_path(void)
{
    const char *at = getenv("PATH");
    while (at && *at) {
        size_t n = strcspn(at, ":");
        char *name = sqlite3_mprintf("%.*s/sqlite-counter", (int)n, at);
        bool is_there = name && access(name, X_OK) == 0;
        sqlite3_free(name);
        if (is_there) return true;
        at += n + (at[n] == ':');
    }
    return false;
}

void merge_install_driver(cli *c, const cli_arguments *given)
{
    static char *const USUAL[] = {"*.db"};
    static const char *const BESIDE[] = {"*-wal", "*-shm", "*-journal"};
    char *const *patterns = given->n > 0 ? given->word : USUAL;
    char *folder = top_folder(c);
    set_config(c, "merge.sqlite-counter.name", "merges SQLite databases row by row");
    set_config(c, "merge.sqlite-counter.driver", "sqlite-counter merge --driver %O %A %B %P");
    set_config(c, "merge.sqlite-counter.recursive", "binary");
    set_config(c, "diff.sqlite-counter.textconv", "sqlite-counter merge --text");
    for (int i = 0; i < (given->n > 0 ? given->n : 1); i++) {
        char *line =
            sqlite3_mprintf("%s merge=sqlite-counter diff=sqlite-counter -text", patterns[i]);
        if (line) add_line(c, folder, ".gitattributes", line);
        sqlite3_free(line);
    }
    for (int i = 0; i < 3; i++) add_line(c, folder, ".gitignore", BESIDE[i]);
    if (!c->failed)
        puts("git merges databases by sqlite-counter here: commit .gitattributes and .gitignore; "
             "who "
             "clones runs this once, too");
    if (!is_in_path())
        cli_warn(c, "merge: sqlite-counter is in no folder of PATH: git will not find it");
    sqlite3_free(folder);
}

/* ---- text ------------------------------------------------------------------------------------------ */

enum { PAIRS_AT_ONCE = 60 }; /* an SQL function takes 127 arguments */

static void print_rows_of(merge *m, sqlite3_stmt *row)
{
    while (cli_step(&m->into, row)) {
        const char *line = (const char *)sqlite3_column_text(row, 0);
        puts(line ? line : "");
    }
    sqlite3_finalize(row);
}

/* A line for each row: the table and a JSON object, in the order of the key. */
static void print_table_text(merge *m, const char *table)
{
    sqlite3_str *sql = sqlite3_str_new(NULL);
    sqlite3_stmt *row = merge_prepare_texts(m, CLI_SQL_MERGE_TEXT_COLUMNS, &table, 1);
    int n = 0;
    sqlite3_str_appendf(sql, "SELECT %Q || ' {' || merge_pairs(", table);
    for (; cli_step(&m->into, row); n++) {
        const char *between = n == 0                   ? ""
                              : n % PAIRS_AT_ONCE == 0 ? ") || ', ' || merge_pairs("
                                                       : ", ";
        const char *name = (const char *)sqlite3_column_text(row, 0);
        sqlite3_str_appendf(sql, "%s%Q, \"%w\"", between, name, name);
    }
    sqlite3_finalize(row);
    sqlite3_str_appendf(sql, ") || '}' FROM theirs.\"%w\" ORDER BY ", table);
    row = merge_prepare_texts(m, CLI_SQL_MERGE_TEXT_ORDER, &table, 1);
    if (cli_step(&m->into, row))
        sqlite3_str_appendall(sql, (const char *)sqlite3_column_text(row, 0));
    sqlite3_finalize(row);
    char *text = sqlite3_str_finish(sql);
    if (text && n > 0) print_rows_of(m, cli_prepare(&m->into, text));
    sqlite3_free(text);
}

void merge_print_text(merge *m)
{
    merge_open_text(m);
    print_rows_of(m, cli_prepare(&m->into, CLI_SQL_MERGE_TEXT_SCHEMA));
    sqlite3_stmt *row = cli_prepare(&m->into, CLI_SQL_MERGE_TEXT_TABLES);
    while (cli_step(&m->into, row))
        print_table_text(m, merge_text(m, "%s", sqlite3_column_text(row, 0)));
    sqlite3_finalize(row);
}
