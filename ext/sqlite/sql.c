/* sqlite/sql.c - puts names and lists into the embedded statements. */
#include "sqlite/sql.h"
#include "sqlite/sqlite.h"

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

static const char *const TEXTS[] = {
#define CTR_STATEMENT(name, text) text,
#include "statements.h"
#undef CTR_STATEMENT
};

static const struct slot {
    const char *name;
    size_t offset;
    bool list;
} SLOTS[] = {
    {"{schema}", offsetof(ctr_slots, schema), false},
    {"{table}", offsetof(ctr_slots, table), false},
    {"{name}", offsetof(ctr_slots, name), false},
    {"{columns}", offsetof(ctr_slots, columns), true},
    {"{keys}", offsetof(ctr_slots, keys), true},
    {"{definition}", offsetof(ctr_slots, definition), true},
    {"{constraint}", offsetof(ctr_slots, constraint), true},
    {"{values}", offsetof(ctr_slots, values), true},
    {"{changes}", offsetof(ctr_slots, changes), true},
    {"{order}", offsetof(ctr_slots, order), true},
    {"{value}", offsetof(ctr_slots, value), true},
};

static const struct slot *slot_at(const char *text)
{
    for (size_t i = 0; i < sizeof SLOTS / sizeof *SLOTS; i++)
        if (strncmp(text, SLOTS[i].name, strlen(SLOTS[i].name)) == 0) return &SLOTS[i];
    return NULL;
}

static const char *slot_text(const struct slot *slot, const ctr_slots *slots)
{
    const char *text;
    memcpy(&text, (const char *)slots + slot->offset, sizeof text);
    assert(text);
    return text;
}

char *ctr_sql_text(ctr_sql which, const ctr_slots *slots)
{
    sqlite3_str *out = sqlite3_str_new(NULL);
    const char *at = TEXTS[which];
    while (*at) {
        const struct slot *list = *at == '"' ? slot_at(at + 1) : NULL;
        const struct slot *name = *at == '{' ? slot_at(at) : NULL;
        if (list && list->list) {
            sqlite3_str_appendall(out, slot_text(list, slots));
            at += strlen(list->name) + 2;
        } else if (name) {
            sqlite3_str_appendf(out, "%w", slot_text(name, slots));
            at += strlen(name->name);
        } else {
            size_t size = 1 + strcspn(at + 1, "\"{");
            sqlite3_str_append(out, at, (int)size);
            at += size;
        }
    }
    return sqlite3_str_finish(out);
}
