/* system.c - folders, lines and texts that grow, where the C library may have none. */
#define _XOPEN_SOURCE 700

#include "system.h"

void system_append(system_text *text, const char *more)
{
    size_t size = strlen(more);
    if (text->size + size + 1 > text->room) {
        text->room = 2 * (text->size + size) + 80;
        text->bytes = realloc(text->bytes, text->room);
        if (!text->bytes) abort();
    }
    memcpy(text->bytes + text->size, more, size + 1);
    text->size += size;
}

long system_getline(char **line, size_t *room, FILE *file)
{
    size_t n = 0;
    int c = EOF;
    do {
        if (n + 2 > *room) *line = realloc(*line, *room = 2 * *room + 80);
        if (!*line) abort();
        c = getc(file);
        if (c != EOF) (*line)[n++] = (char)c;
    } while (c != EOF && c != '\n');
    (*line)[n] = '\0';
    return n > 0 ? (long)n : -1;
}

#ifndef _WIN32

#include <ftw.h>
#include <sys/stat.h>

int system_make_folder(char path[512])
{
    const char *parent = getenv("TMPDIR");
    snprintf(path, 512, "%.400s/counter-XXXXXX", parent ? parent : "/tmp");
    return mkdtemp(path) != NULL;
}

int system_make_directory(const char *path, const char *marker)
{
    char name[512];
    snprintf(name, sizeof name, "%s/%s", path, marker);
    FILE *made = mkdir(path, 0700) == 0 ? fopen(name, "w") : NULL;
    return made && fclose(made) == 0;
}

static int remove_one(const char *path, const struct stat *info, int kind, struct FTW *where)
{
    (void)info, (void)kind, (void)where;
    return remove(path);
}

#ifdef __EMSCRIPTEN__
extern void storage_clear(void) __attribute__((import_module("storage"), import_name("clear")));
#else
static void storage_clear(void)
{
}
#endif

int system_remove_folder(const char *path)
{
    storage_clear();
    return nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

#else

#include <direct.h>
#include <io.h>

int system_make_folder(char path[512])
{
    const char *parent = getenv("TEMP");
    snprintf(path, 512, "%s\\counter-XXXXXX", parent ? parent : ".");
    return _mktemp(path) && _mkdir(path) == 0;
}

int system_make_directory(const char *path, const char *marker)
{
    (void)path, (void)marker;
    return 0;
}

/* Scripts make no folders. */
int system_remove_folder(const char *path)
{
    char name[1024];
    struct _finddata_t found;
    snprintf(name, sizeof name, "%s\\*", path);
    intptr_t search = _findfirst(name, &found);
    for (int more = search != -1; more; more = _findnext(search, &found) == 0) {
        if (strcmp(found.name, ".") == 0 || strcmp(found.name, "..") == 0) continue;
        snprintf(name, sizeof name, "%s\\%s", path, found.name);
        remove(name);
    }
    if (search != -1) _findclose(search);
    return _rmdir(path);
}

#endif
