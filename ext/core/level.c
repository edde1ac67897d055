/* core/level.c - computes consistency levels. */
#include "core/core.h"

#include <stddef.h>

static const char *const LEVEL_NAMES[CTR_LEVEL_NONE] = {
    [CTR_LEVEL_ONE] = "ONE",
    [CTR_LEVEL_TWO] = "TWO",
    [CTR_LEVEL_THREE] = "THREE",
    [CTR_LEVEL_QUORUM] = "QUORUM",
    [CTR_LEVEL_ALL] = "ALL",
    [CTR_LEVEL_LOCAL_ONE] = "LOCAL_ONE",
    [CTR_LEVEL_LOCAL_QUORUM] = "LOCAL_QUORUM",
    [CTR_LEVEL_EACH_QUORUM] = "EACH_QUORUM",
};

static bool is_same_word(const char *word, const char *text)
{
    while (*word &&
           (*word == *text || (*text >= 'a' && *text <= 'z' && *text - 'a' + 'A' == *word)))
        word++, text++;
    return *word == '\0' && *text == '\0';
}

ctr_level ctr_level_from_text(const char *text)
{
    int level = 0;
    while (level < CTR_LEVEL_NONE && !is_same_word(LEVEL_NAMES[level], text)) level++;
    return (ctr_level)level;
}

const char *ctr_level_text(ctr_level level)
{
    return LEVEL_NAMES[level];
}

bool ctr_level_is_local(ctr_level level)
{
    return level == CTR_LEVEL_LOCAL_ONE || level == CTR_LEVEL_LOCAL_QUORUM;
}

bool ctr_level_needs_centers(ctr_level level)
{
    return ctr_level_is_local(level) || level == CTR_LEVEL_EACH_QUORUM;
}

/* Returns the number of replicas, of n, that the level needs. */
static int needed_of(ctr_level level, int n)
{
    switch (level) {
    case CTR_LEVEL_ONE:
    case CTR_LEVEL_LOCAL_ONE: return 1;
    case CTR_LEVEL_TWO: return 2;
    case CTR_LEVEL_THREE: return 3;
    case CTR_LEVEL_ALL: return n;
    default: return n / 2 + 1;
    }
}

static bool is_in(const ctr_site *site, int dc)
{
    return dc < 0 || site->dc == dc;
}

/* Takes the first available replicas of a data center; -1: of all. Returns false if they are too
 * few. */
static bool take(ctr_level level, const ctr_site *sites, int n, int dc, int *contacts, int *taken,
                 ctr_shortage *shortage)
{
    *shortage = (ctr_shortage){.dc = dc};
    for (int i = 0; i < n; i++) shortage->n += is_in(&sites[i], dc);
    shortage->needed = needed_of(level, shortage->n);
    for (int i = 0; i < n; i++) {
        if (!is_in(&sites[i], dc) || !sites[i].available) continue;
        if (shortage->available++ < shortage->needed) contacts[(*taken)++] = i;
    }
    return shortage->available >= shortage->needed;
}

static bool has_replicas(const ctr_site *sites, int n, int dc)
{
    for (int i = 0; i < n; i++)
        if (sites[i].dc == dc) return true;
    return false;
}

int ctr_level_contacts(ctr_level level, const ctr_site *sites, int n, int *contacts,
                       ctr_shortage *shortage)
{
    int taken = 0;
    if (level != CTR_LEVEL_EACH_QUORUM) {
        int dc = ctr_level_is_local(level) ? 0 : -1;
        return take(level, sites, n, dc, contacts, &taken, shortage) ? taken : -1;
    }
    int highest = 0;
    for (int i = 0; i < n; i++)
        if (sites[i].dc > highest) highest = sites[i].dc;
    for (int dc = 0; dc <= highest; dc++)
        if (has_replicas(sites, n, dc) && !take(level, sites, n, dc, contacts, &taken, shortage))
            return -1;
    return taken;
}

bool ctr_level_is_met(ctr_level level, const ctr_site *sites, int n, ctr_shortage *shortage)
{
    int contacts[CTR_LEVEL_SITES];
    return ctr_level_contacts(level, sites, n, contacts, shortage) >= 0;
}
