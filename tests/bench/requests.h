/* requests.h - the paths of a file of web requests. */
#ifndef REQUESTS_H
#define REQUESTS_H

#include "common.h"

/* The different paths, and which of them was asked for, in the order of the file, the whole of it
 * `repeated` times. Returns how many requests that makes; 0, and nothing to free, if `path` is
 * NULL. A path is the third of the fields that tabs part; the first line is a header. */
uint32_t requests_read(const char *path, uint32_t repeated, texts *paths, uint32_t **order);
void requests_free(texts *paths, uint32_t *order);

#endif
