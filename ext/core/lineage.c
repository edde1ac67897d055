/* core/lineage.c - compares fingerprint and witness: a copy, a restore, or neither. */
#include "core/core.h"

#include <string.h>

const char *ctr_lineage_why(ctr_why why)
{
    static const char *const TEXTS[] = {
        [CTR_WHY_NONE] = "none",         [CTR_WHY_CREATED] = "created",
        [CTR_WHY_COPY] = "copy",         [CTR_WHY_RESTORE] = "restore",
        [CTR_WHY_CONFLICT] = "conflict", [CTR_WHY_DROPPED] = "dropped table",
        [CTR_WHY_FORK] = "fork",         [CTR_WHY_PROMOTED] = "promoted",
    };
    return TEXTS[why];
}

bool ctr_lineage_same_place(const ctr_fingerprint *a, const ctr_fingerprint *b)
{
    if (a->place != b->place) return false;
    if (a->place == CTR_PLACE_UNKNOWN) return true;
    if (a->place == CTR_PLACE_MEMORY) return memcmp(a->instance, b->instance, CTR_ID_SIZE) == 0;
    if (a->has_birth != b->has_birth || a->inode != b->inode) return false;
    if (a->has_birth) return a->birth == b->birth;
    if (a->handle_size > 0 && b->handle_size > 0)
        return a->handle_size == b->handle_size &&
               memcmp(a->handle, b->handle, (size_t)a->handle_size) == 0;
    return a->device == b->device || a->device == 0 || b->device == 0;
}

bool ctr_lineage_is_weak(const ctr_fingerprint *fingerprint)
{
    return fingerprint->place == CTR_PLACE_FILE && !fingerprint->has_birth &&
           fingerprint->handle_size == 0;
}

static bool same_pair(const ctr_pair *a, const ctr_pair *b)
{
    return a->number == b->number && a->random == b->random;
}

/* Decides by the witness whether the content is the newest. The fingerprint matches, or is
 * ignored. */
static ctr_why judge_witness(const ctr_lineage *lineage, const ctr_attribute *attribute)
{
    bool due = lineage->trusts_witness || lineage->witnessed;
    switch (attribute->state) {
    case CTR_ATTRIBUTE_UNARMED: return lineage->trusts_witness ? CTR_WHY_RESTORE : CTR_WHY_NONE;
    case CTR_ATTRIBUTE_FOREIGN: return CTR_WHY_RESTORE;
    case CTR_ATTRIBUTE_MISSING: return due ? CTR_WHY_RESTORE : CTR_WHY_NONE;
    case CTR_ATTRIBUTE_READ: break;
    }
    if (attribute->pair.number < lineage->pair.number) return CTR_WHY_NONE;
    return same_pair(&attribute->pair, &lineage->pair) ? CTR_WHY_NONE : CTR_WHY_RESTORE;
}

ctr_verdict ctr_lineage_judge(const ctr_lineage *lineage, const ctr_fingerprint *seen,
                              const ctr_attribute *attribute)
{
    const ctr_fingerprint *written = &lineage->fingerprint;
    if (lineage->trusts_witness || ctr_lineage_same_place(written, seen))
        return (ctr_verdict){judge_witness(lineage, attribute), false};
    bool came_along =
        attribute->state == CTR_ATTRIBUTE_READ && same_pair(&attribute->pair, &lineage->pair);
    bool is_born_later = seen->has_birth && written->has_birth && seen->birth > written->birth;
    return (ctr_verdict){CTR_WHY_COPY, came_along && !is_born_later};
}

bool ctr_lineage_outdates(const ctr_pair *pair, const ctr_attribute *attribute)
{
    switch (attribute->state) {
    case CTR_ATTRIBUTE_UNARMED: return false;
    case CTR_ATTRIBUTE_READ: return attribute->pair.number < pair->number;
    default: return true;
    }
}

int64_t ctr_lineage_leap(int64_t number, const ctr_attribute *attribute)
{
    bool behind = attribute->state == CTR_ATTRIBUTE_READ && attribute->pair.number > number;
    return (behind ? attribute->pair.number : number) + ((int64_t)1 << 20);
}
