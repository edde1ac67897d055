/* requests.c - the paths of a file of web requests.
 *
 * The lines are kept as they were read. A request is a number of its own, not that of its path:
 * texts may be equal.
 */
#include "requests.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_REQUESTS = 1000000, LINE_SIZE = 4096 };

/* Where the third field of a line begins, and how long it is; NULL if there is none. */
static const char *path_in(const char *line, int *size)
{
    for (int field = 0; field < 2; field++) {
        if (!(line = strchr(line, '\t'))) return NULL;
        line++;
    }
    *size = (int)strcspn(line, "\t\r\n");
    return line;
}

static void *must_have(void *made)
{
    if (made) return made;
    perror("bench: COUNTER_DATA");
    exit(1);
}

uint32_t requests_read(const char *path, uint32_t repeated, texts *paths, uint32_t **order)
{
    if (!path) return 0;
    FILE *in = must_have(fopen(path, "r"));
    texts read = {NULL, must_have(malloc(MOST_REQUESTS * sizeof *read.at)),
                  must_have(malloc(MOST_REQUESTS * sizeof *read.size)), 0};
    char line[LINE_SIZE];
    bool header = true;
    while (read.n < MOST_REQUESTS && fgets(line, sizeof line, in)) {
        int size;
        const char *found = path_in(line, &size);
        if (!header && found) {
            read.at[read.n] = memcpy(must_have(malloc((size_t)size + 1)), found, (size_t)size);
            read.size[read.n++] = size;
        }
        header = false;
    }
    fclose(in);
    *order = must_have(malloc((size_t)read.n * repeated * sizeof **order));
    for (uint32_t i = 0; i < read.n * repeated; i++) (*order)[i] = i % read.n;
    *paths = read;
    return read.n * repeated;
}

void requests_free(texts *paths, uint32_t *order)
{
    for (uint32_t i = 0; i < paths->n; i++) free((void *)paths->at[i]);
    texts_free(paths);
    free(order);
}
