/* course.c - plays a case twice and keeps what is the same. */
#include "course.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <uuid/uuid.h>

#include "witness.h"

static uint64_t next_id;

/* A later id is a greater one, so that a stage that begins again because of a fault draws others, of
 * which the same one wins. */
void uuid_generate_random(uuid_t out)
{
    uint64_t mixed = ++next_id * UINT64_C(0x9e3779b97f4a7c15);
    for (int i = 1; i < 4; i++) out[i] = (unsigned char)(next_id >> 8 * (3 - i));
    out[0] = 0x10; /* the ids of scripts begin with 0 */
    memcpy(out + 4, &next_id, 4);
    memcpy(out + 8, &mixed, sizeof mixed);
    out[6] = (unsigned char)((out[6] & 0x0f) | 0x40);
}

void course_begin(const char *file, const script_case *played)
{
    next_id = 0;
    stage_open(file, played->name);
}

bool course_play(const script_step *step, bool says, int *code)
{
    stage_outcome outcome;
    if (step->is_directive) {
        stage_direct(step);
        return true;
    }
    stage_run(step->text, &outcome);
    bool holds = stage_check(step, &outcome, says);
    if (code) *code = outcome.rc;
    stage_forget(&outcome);
    return holds;
}

bool course_is_in_transaction(void)
{
    for (int i = 0; stage_nth_db(i); i++) {
        if (!sqlite3_get_autocommit(stage_nth_db(i))) return true;
    }
    return false;
}

bool course_is_sound(void)
{
    char *damage = witness_damage();
    bool sound = !*damage;
    free(damage);
    return sound;
}

static void note(course *c, size_t step)
{
    if (!c->blind) c->seen[step] = witness_seen(stage_db());
    if (!c->blind) c->committed[step] = witness_committed();
    c->in_transaction[step] = !sqlite3_get_autocommit(stage_db());
}

/* Keeps a text only if it is the same in the second run, and all could be read: what cannot depends
 * on what the connection has looked at before. */
static void compare(char **kept, char *text)
{
    if (*kept && (strcmp(*kept, text) != 0 || strstr(text, "error\n"))) {
        free(*kept);
        *kept = NULL;
    }
    free(text);
}

course course_of(const char *file, const script_case *played, bool blind)
{
    size_t n = played->n + 1;
    course c = {.file = file,
                .played = played,
                .blind = blind,
                .seen = calloc(n, sizeof *c.seen),
                .committed = calloc(n, sizeof *c.committed),
                .sound = calloc(n, 1),
                .in_transaction = calloc(n, 1),
                .codes = calloc(n, sizeof *c.codes)};
    bool holds = true;
    course_begin(file, played);
    for (size_t i = 0; i < played->n; i++) {
        note(&c, i);
        holds = course_play(&played->steps[i], true, &c.codes[i]) && holds;
    }
    note(&c, played->n);
    stage_close();
    c.holds = holds && !stage_failed();

    course_begin(file, played);
    for (size_t i = 0; i <= played->n; i++) {
        if (!blind) compare(&c.seen[i], witness_seen(stage_db()));
        if (!blind) compare(&c.committed[i], witness_committed());
        c.sound[i] = !blind && (course_is_in_transaction() ? c.sound[i - 1] : course_is_sound());
        if (i < played->n) course_play(&played->steps[i], false, NULL);
    }
    stage_close();
    return c;
}

void course_free(course *c)
{
    for (size_t i = 0; i <= c->played->n; i++) {
        free(c->seen[i]);
        free(c->committed[i]);
    }
    free(c->seen);
    free(c->committed);
    free(c->sound);
    free(c->in_transaction);
    free(c->codes);
}

const char *course_seen_at_start(const course *c, size_t step)
{
    while (step > 0 && c->in_transaction[step]) step--;
    return stage_nth_db(1) ? NULL : c->seen[step];
}

char *course_seen_if_committed(const course *c, size_t step, bool *sound)
{
    char *seen = NULL;
    course_begin(c->file, c->played);
    for (size_t i = 0; i < step; i++) course_play(&c->played->steps[i], false, NULL);
    if (sqlite3_get_autocommit(stage_db()) ||
        sqlite3_exec(stage_db(), "COMMIT", NULL, NULL, NULL) == SQLITE_OK)
        seen = witness_seen(stage_db());
    stage_close_connections();
    *sound = course_is_sound();
    stage_close();
    if (seen && !c->seen[step]) {
        free(seen);
        seen = NULL;
    }
    return seen;
}
