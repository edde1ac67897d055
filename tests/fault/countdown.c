/* countdown.c - counts calls, and knows from where they are made. */
#include "countdown.h"

#include <execinfo.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* A place is the last calls before it: three from here to the one that failed, and those of the
 * extension. */
enum { DEPTH_MAX = 128, OWN_CALLS = 3, SLOTS = 1 << 18 };

static int calls = 5;

static long at, asked; /* the calls since it was armed */
static bool for_ever, by_place, armed;
static long failed; /* the first call that has */

/* Where calls have failed, each way once: an open hash table, 0 is free. */
static uint64_t places[SLOTS];
static long n_places;

/* What the linker knows: where this program begins and where its code ends. SQLite is elsewhere. */
extern const char __executable_start, etext;

static bool is_ours(const void *address)
{
    return (const char *)address >= &__executable_start && (const char *)address < &etext;
}

/* SQLite's calls do not count: with them there would be ten times as many. */
static uint64_t place(void)
{
    void *frames[DEPTH_MAX];
    int n = backtrace(frames, DEPTH_MAX);
    uint64_t hash = for_ever ? 2 : 1;
    for (int i = 0, ours = 0; i < n && ours < OWN_CALLS + calls; i++) {
        if (!is_ours(frames[i])) continue;
        ours++;
        hash = (hash ^ (uintptr_t)frames[i]) * UINT64_C(0x9e3779b97f4a7c15);
        hash ^= hash >> 29;
    }
    return hash ? hash : 1;
}

static bool is_new_place(void)
{
    uint64_t here = place();
    size_t slot = here % SLOTS;
    while (places[slot] && places[slot] != here) slot = (slot + 1) % SLOTS;
    if (places[slot]) return false;
    if (++n_places > SLOTS / 2) abort();
    places[slot] = here;
    return true;
}

void countdown_tell_places_by(int n)
{
    calls = n;
}

void countdown_forget_places(void)
{
    memset(places, 0, sizeof places);
    n_places = 0;
}

bool countdown_ends(void)
{
    if (!armed) return false;
    at++;
    if (failed) return for_ever;
    if (by_place ? at > asked && is_new_place() : at == asked) failed = at;
    return failed != 0;
}

void countdown_arm(long n, bool ever, bool places_only)
{
    asked = n;
    at = failed = 0;
    for_ever = ever;
    by_place = places_only;
    armed = true;
}

long countdown_disarm(void)
{
    armed = false;
    return failed;
}
