/* fuzz.h - what the targets of this folder share.
 *
 * Each fuzz_<what>.c is one program for libFuzzer; its head tells how it reads the bytes. A claim
 * that does not hold aborts. Bytes are copied before use, so that a read behind them is seen.
 */
#ifndef TESTS_FUZZ_FUZZ_H
#define TESTS_FUZZ_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define fuzz_assert(claim)                                   \
    do {                                                     \
        if (!(claim)) fuzz_fail(#claim, __FILE__, __LINE__); \
    } while (0)

static inline void fuzz_fail(const char *claim, const char *file, int line)
{
    fprintf(stderr, "%s:%d: does not hold: %s\n", file, line, claim);
    abort();
}

static inline void *fuzz_room(size_t n, size_t size)
{
    void *room = calloc(n ? n : 1, size);
    if (!room) abort();
    return room;
}

static inline uint8_t *fuzz_copy(const uint8_t *bytes, size_t size)
{
    uint8_t *copy = malloc(size);
    if (size && !copy) abort();
    if (size) memcpy(copy, bytes, size);
    return copy;
}

static inline bool fuzz_same(const uint8_t *a, size_t a_size, const uint8_t *b, size_t b_size)
{
    return a_size == b_size && (a_size == 0 || memcmp(a, b, a_size) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
