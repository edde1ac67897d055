#include "countdown.h"

static long left; /* to the call that fails; 0: none does */
static bool for_ever, armed;
static bool has_failed;

bool countdown_ends(void)
{
    if (!armed || left == 0) return false;
    if (left > 1) {
        left--;
        return false;
    }
    if (!for_ever) left = 0;
    has_failed = true;
    return true;
}

void countdown_arm(long n, bool ever)
{
    left = n;
    for_ever = ever;
    has_failed = false;
    armed = true;
}

bool countdown_disarm(void)
{
    armed = false;
    return has_failed;
}
