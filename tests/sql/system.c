/* system.c - folders, and streams in memory where the C library has none. */
#define _XOPEN_SOURCE 700

#include "system.h"

#ifndef _WIN32

#include <ftw.h>

int system_make_folder(char path[512])
{
    strcpy(path, "/tmp/counter-XXXXXX");
    return mkdtemp(path) != NULL;
}

static int remove_one(const char *path, const struct stat *info, int kind, struct FTW *where)
{
    (void)info, (void)kind, (void)where;
    return remove(path);
}

int system_remove_folder(const char *path)
{
    return nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

#else

#undef fclose
#include <direct.h>
#include <io.h>

int system_make_folder(char path[512])
{
    const char *parent = getenv("TEMP");
    snprintf(path, 512, "%s\\counter-XXXXXX", parent ? parent : ".");
    return _mktemp(path) && _mkdir(path) == 0;
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

long system_getline(char **line, size_t *room, FILE *file)
{
    size_t n = 0;
    int c = EOF;
    do {
        if (n + 2 > *room) *line = realloc(*line, *room = 2 * *room + 80);
        if (!*line) exit(2);
        c = getc(file);
        if (c != EOF) (*line)[n++] = (char)c;
    } while (c != EOF && c != '\n');
    (*line)[n] = '\0';
    return n > 0 ? (long)n : -1;
}

/* At most two at a time: one of the script that is read, one of the statement that is run. */
enum { STREAMS = 2 };

static struct {
    FILE *file;
    char **text;
    size_t *size;
} streams[STREAMS];

FILE *system_open_memstream(char **text, size_t *size)
{
    for (int i = 0; i < STREAMS; i++) {
        if (streams[i].file) continue;
        streams[i].text = text;
        streams[i].size = size;
        return streams[i].file = tmpfile();
    }
    return NULL;
}

static void take_text(FILE *file, char **text, size_t *size)
{
    long end = ftell(file);
    *size = end > 0 ? (size_t)end : 0;
    *text = malloc(*size + 1);
    if (!*text) exit(2);
    rewind(file);
    *size = fread(*text, 1, *size, file);
    (*text)[*size] = '\0';
}

int system_close_memstream(FILE *file)
{
    for (int i = 0; i < STREAMS; i++) {
        if (streams[i].file != file) continue;
        take_text(file, streams[i].text, streams[i].size);
        streams[i].file = NULL;
    }
    return fclose(file);
}

#endif
