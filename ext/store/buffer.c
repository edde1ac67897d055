/* store/buffer.c - two hash tables over entries that stand in blocks. */
#include "store/buffer.h"
#include "store/sqlite.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_SLOTS = 64, SMALL_BLOCK_SIZE = 1 << 10, BLOCK_SIZE = 32 << 10 };

struct ctr_block {
    struct ctr_block *next;
    size_t used, size;
};

/* ---- blocks ---------------------------------------------------------------------------------- */

/* For structs and bytes: all begin where a struct may. */
static void *carve(ctr_buffer *buffer, size_t size, ctr_problem *problem)
{
    enum { STEP = 8 };
    size = (size + STEP - 1) / STEP * STEP;
    struct ctr_block *block = buffer->blocks;
    if (!block || block->size - block->used < size) {
        size_t least = buffer->n < FIRST_SLOTS / 2 ? SMALL_BLOCK_SIZE : BLOCK_SIZE;
        size_t room = sizeof *block + size > least ? sizeof *block + size : least;
        block = sqlite3_malloc64(room);
        if (!block) {
            ctr_problem_nomem(problem);
            return NULL;
        }
        *block = (struct ctr_block){.next = buffer->blocks, .used = sizeof *block, .size = room};
        buffer->blocks = block;
        buffer->bytes += room;
    }
    uint8_t *at = (uint8_t *)block + block->used;
    block->used += size;
    return at;
}

/* ---- slots ----------------------------------------------------------------------------------- */

uint64_t ctr_buffer_hash(const uint8_t *spelling, size_t size)
{
    uint64_t hash = size;
    for (; size >= 8; size -= 8, spelling += 8) {
        uint64_t word;
        memcpy(&word, spelling, sizeof word);
        hash = (hash ^ word) * UINT64_C(0x9E3779B97F4A7C15);
        hash ^= hash >> 32;
    }
    for (; size > 0; size--) hash = (hash ^ *spelling++) * UINT64_C(0x100000001B3);
    return hash ^ hash >> 29;
}

static size_t rowid_slot(const ctr_buffer *buffer, int64_t rowid)
{
    return (size_t)(((uint64_t)rowid * UINT64_C(0x9E3779B97F4A7C15)) >> 32) & (buffer->slots - 1);
}

ctr_entry *ctr_buffer_spelled(const ctr_buffer *buffer, uint64_t hash, const uint8_t *spelling,
                              size_t size)
{
    if (buffer->n == 0) return NULL;
    for (size_t at = hash & (buffer->slots - 1);; at = (at + 1) & (buffer->slots - 1)) {
        ctr_entry *entry = buffer->by_spelling[at];
        if (!entry) return NULL;
        if (entry->hash == hash && entry->spelling_size == size &&
            memcmp(entry->spelling, spelling, size) == 0)
            return entry;
    }
}

ctr_entry *ctr_buffer_row(const ctr_buffer *buffer, int64_t rowid)
{
    if (buffer->n == 0) return NULL;
    for (size_t at = rowid_slot(buffer, rowid);; at = (at + 1) & (buffer->slots - 1)) {
        ctr_entry *entry = buffer->by_rowid[at];
        if (!entry || entry->rowid == rowid) return entry;
    }
}

static void put_in_slots(ctr_buffer *buffer, ctr_entry *entry)
{
    size_t at = entry->hash & (buffer->slots - 1);
    while (buffer->by_spelling[at]) at = (at + 1) & (buffer->slots - 1);
    if (entry->spelling_size > 0) buffer->by_spelling[at] = entry;
    at = rowid_slot(buffer, entry->rowid);
    while (buffer->by_rowid[at]) at = (at + 1) & (buffer->slots - 1);
    buffer->by_rowid[at] = entry;
}

/* Half of the slots stay empty. */
static int grow(ctr_buffer *buffer, ctr_problem *problem)
{
    if (2 * (buffer->n + 1) <= buffer->slots) return SQLITE_OK;
    size_t slots = buffer->slots ? 2 * buffer->slots : FIRST_SLOTS;
    ctr_entry **made = sqlite3_malloc64(2 * slots * sizeof(ctr_entry *));
    ctr_entry **entries = sqlite3_realloc64(buffer->entries, slots / 2 * sizeof(ctr_entry *));
    if (entries) buffer->entries = entries;
    if (!made || !entries) {
        sqlite3_free(made);
        return ctr_problem_nomem(problem);
    }
    memset(made, 0, 2 * slots * sizeof(ctr_entry *));
    sqlite3_free(buffer->by_spelling);
    buffer->by_spelling = made;
    buffer->by_rowid = made + slots;
    buffer->slots = slots;
    for (size_t i = 0; i < buffer->n; i++) put_in_slots(buffer, buffer->entries[i]);
    return SQLITE_OK;
}

/* ---- entries --------------------------------------------------------------------------------- */

/* Cells mostly grow by one shard, once. */
static int make_room(ctr_buffer *buffer, struct ctr_kept_cell *kept, size_t size,
                     ctr_problem *problem)
{
    if (size <= kept->capacity) return problem->rc;
    size_t capacity = size + CTR_CELL_HEADER_MAX + CTR_SHARD_MAX;
    uint8_t *room = carve(buffer, capacity, problem);
    if (!room) return problem->rc;
    if (kept->cell.size > 0) memcpy(room, kept->cell.bytes, kept->cell.size);
    if (kept->cell.size > 0) kept->cell.bytes = room;
    kept->room = room;
    kept->capacity = capacity;
    return problem->rc;
}

static void put_cell(struct ctr_kept_cell *kept, const uint8_t *bytes, size_t size)
{
    if (size > 0) memcpy(kept->room, bytes, size);
    kept->cell = ctr_cell_written(kept->room, size);
}

ctr_entry *ctr_buffer_add(ctr_buffer *buffer, int64_t rowid, int64_t number, const ctr_cell *cells,
                          uint64_t hash, const uint8_t *spelling, size_t size, ctr_problem *problem)
{
    size_t n = (size_t)buffer->n_counters;
    if (problem->rc != SQLITE_OK || grow(buffer, problem)) return NULL;
    ctr_entry *entry = carve(buffer, sizeof *entry + n * sizeof *entry->cells, problem);
    uint8_t *copy = carve(buffer, size, problem);
    if (!entry || !copy) return NULL;
    if (size > 0) memcpy(copy, spelling, size);
    *entry = (ctr_entry){
        .rowid = rowid, .number = number, .hash = hash, .spelling = copy, .spelling_size = size};
    for (size_t i = 0; i < n; i++) {
        entry->cells[i] = (struct ctr_kept_cell){.cell = ctr_cell_untouched()};
        if (make_room(buffer, &entry->cells[i], cells[i].size, problem)) return NULL;
        put_cell(&entry->cells[i], cells[i].bytes, cells[i].size);
    }
    buffer->entries[buffer->n++] = entry;
    put_in_slots(buffer, entry);
    return entry;
}

int ctr_buffer_reserve(ctr_buffer *buffer, ctr_entry *entry, int counter, size_t size,
                       ctr_problem *problem)
{
    return make_room(buffer, &entry->cells[counter], size, problem);
}

void ctr_buffer_set(ctr_entry *entry, int counter, const uint8_t *bytes, size_t size)
{
    put_cell(&entry->cells[counter], bytes, size);
    entry->cells[counter].dirty = entry->dirty = true;
}

bool ctr_buffer_is_full(const ctr_buffer *buffer)
{
    return buffer->n >= CTR_BUFFER_ROWS || buffer->bytes >= CTR_BUFFER_BYTES;
}

static int by_rowid(const void *a, const void *b)
{
    const ctr_entry *one, *two;
    memcpy(&one, a, sizeof one);
    memcpy(&two, b, sizeof two);
    return (one->rowid > two->rowid) - (one->rowid < two->rowid);
}

void ctr_buffer_sort(ctr_buffer *buffer)
{
    if (buffer->n > 1) qsort(buffer->entries, buffer->n, sizeof *buffer->entries, by_rowid);
}

void ctr_buffer_clear(ctr_buffer *buffer)
{
    while (buffer->blocks) {
        struct ctr_block *block = buffer->blocks;
        buffer->blocks = block->next;
        sqlite3_free(block);
    }
    buffer->n = buffer->bytes = 0;
    if (buffer->slots == FIRST_SLOTS) {
        memset(buffer->by_spelling, 0, 2 * FIRST_SLOTS * sizeof *buffer->by_spelling);
        return;
    }
    sqlite3_free(buffer->by_spelling);
    sqlite3_free(buffer->entries);
    *buffer = (ctr_buffer){.n_counters = buffer->n_counters};
}
