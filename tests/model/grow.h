/* grow.h - arrays that grow, a lookup by hash, and the hash. */
#ifndef MODEL_GROW_H
#define MODEL_GROW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static inline void *reach(void *at, size_t size)
{
    void *is = realloc(at, size);
    if (is) return is;
    fputs("out of memory\n", stderr);
    abort();
}

/* Room for one more element behind *n; `array` points to the pointer. Doubles at powers of two. */
static inline void *grow(void *array, size_t *n, size_t size)
{
    uint8_t *at;
    memcpy(&at, array, sizeof at);
    if ((*n & (*n - 1)) == 0) {
        at = reach(at, (*n ? *n * 2 : 1) * size);
        memcpy(array, &at, sizeof at);
    }
    return at + (*n)++ * size;
}

static inline uint64_t hash_mix(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * UINT64_C(0x9E3779B97F4A7C15);
    return hash ^ hash >> 29;
}

static inline uint64_t hash_end(uint64_t hash)
{
    hash = (hash ^ hash >> 32) * UINT64_C(0xD6E8FEB86659FD93);
    return (hash ^ hash >> 32) * UINT64_C(0xD6E8FEB86659FD93) ^ hash >> 31;
}

static inline uint64_t hash_seeded(uint64_t hash, const void *bytes, size_t n)
{
    const uint8_t *at = bytes;
    uint64_t word;
    for (; n >= sizeof word; n -= sizeof word, at += sizeof word) {
        memcpy(&word, at, sizeof word);
        hash = hash_mix(hash, word);
    }
    word = n;
    memcpy(&word, at, n);
    return hash_end(hash_mix(hash_mix(hash, word), n));
}

static inline uint64_t hash_bytes(const void *bytes, size_t n)
{
    return hash_seeded(UINT64_C(0x8C905F13D6C2B9A7), bytes, n);
}

/* Numbers of things by the hash of what they are; the things are kept elsewhere. */
typedef struct lookup {
    struct lookup_entry {
        uint64_t hash;
        uint32_t number; /* + 1; 0: free */
    } * entries;
    size_t n, room;
} lookup;

static inline void lookup_widen(lookup *in)
{
    struct lookup_entry *old = in->entries;
    size_t room = in->room;
    in->room = room ? room * 2 : 1024;
    in->entries = calloc(in->room, sizeof *in->entries);
    if (!in->entries) abort();
    for (size_t i = 0; i < room; i++) {
        size_t at = old[i].hash & (in->room - 1);
        if (!old[i].number) continue;
        while (in->entries[at].number) at = (at + 1) & (in->room - 1);
        in->entries[at] = old[i];
    }
    free(old);
}

/* The number of the thing that is `same` as `what`; `next` if it is new. */
static inline uint32_t lookup_find(lookup *in, uint64_t hash, bool (*same)(const void *, uint32_t),
                                   const void *what, uint32_t next, bool *is_new)
{
    if (in->n * 2 >= in->room) lookup_widen(in);
    size_t at = hash & (in->room - 1);
    *is_new = false;
    for (; in->entries[at].number; at = (at + 1) & (in->room - 1)) {
        const struct lookup_entry *entry = &in->entries[at];
        if (entry->hash == hash && same(what, entry->number - 1)) return entry->number - 1;
    }
    in->entries[at] = (struct lookup_entry){hash, next + 1};
    in->n++;
    *is_new = true;
    return next;
}

static inline void lookup_close(lookup *in)
{
    free(in->entries);
    *in = (lookup){0};
}

#endif
