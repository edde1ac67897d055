/* countdown.h - which call fails: what the kinds of faults.h share. */
#ifndef TESTS_FAULT_COUNTDOWN_H
#define TESTS_FAULT_COUNTDOWN_H

#include <stdbool.h>

/* As in fault_kind. */
void countdown_arm(long n, bool ever, bool by_place);
long countdown_disarm(void);

/* Places are the same if their last n calls of the extension are, n = 5 unless this is called. */
void countdown_tell_places_by(int n);

/* From now on every place is a new one. */
void countdown_forget_places(void);

/* To be asked by each call: is it the one? */
bool countdown_ends(void);

#endif
