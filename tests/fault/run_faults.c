/* run_faults.c - runs the scripts of tests/sql/ with faults:
 *
 *     run_faults allocation|disk|room [option ...] file.sql ...
 *
 * Each statement of each case is run with its 1st, 2nd, 3rd … call failing, once, until a run meets
 * no fault; then all over with that call and every later one failing. Behind the 1,000th the gaps
 * grow, n/20 at the n-th, for statements that go over many rows.
 *
 *     -s stride    of 10: the n-th, n+10-th, …, n differing from statement to statement: a tenth of
 *                  the work
 *     -p           by place: each chain of calls in the extension that leads to such a call is cut
 *                  off once in the whole run, and once for good; -a: all anew in each case
 *     -k calls     chains are told apart by so many of their last calls, in place of 5
 *     -n nth       only the nth of each statement, to repeat one fault
 *     -e every     only every nth case
 *     -c case      only this one, and those of other -c
 *     -x case      all but this one, and those of other -x
 *     -b           blind: no database is looked at between the steps, for scripts about what looking
 *                  costs
 *     -u           main.db has its texts in UTF-16; without the cases that are "not-utf-16"
 *     -w           main.db is under WAL; without the cases that are "not-wal"
 *
 * After a fault the statement
 *
 *     has ended by the error of that fault, or well: with what the script says; a sync that could
 *     not open main a second time may have read more rows, but no more than twice as many
 *     outside of a transaction: has done all or nothing, as seen by its own connection and as
 *     committed. If nothing, it is run again and gives what the script says
 *     inside of one: has done nothing, or the transaction cannot be committed, and nothing of it is
 *     there then
 *
 * and no file is damaged, all connections close, no memory is left. What the statement does is
 * known from course.h. Not asked for all or nothing are several statements in one step, a commit to
 * several files under WAL, and a cluster whose disk fails, for it goes on without that replica.
 */
#define _XOPEN_SOURCE 700

#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sanitizer/common_interface_defs.h>

#include "countdown.h"
#include "course.h"
#include "faults.h"
#include "witness.h"

/* Measurements are built without sanitizers. */
#pragma weak __sanitizer_set_death_callback

/* Cases by their names. */
typedef struct case_names {
    const char *names[32];
    bool met[32];
    size_t n;
} case_names;

static case_names wanted, unwanted; /* nothing wanted: all of them are */
static const fault_kind *kind;
static const char *file;
static const script_case *played;
static long stride = 1, first, only, faults_made;
static size_t at;       /* the step that is tried */
static size_t position; /* the step before which the stage stands */
static bool for_ever, blind, by_place, anew, under_wal, in_utf16;
static char *kept[2];      /* what is seen if all before the step, or with it, is committed */
static bool kept_sound[2]; /* is there no damage then? */
static long nth;
static int cases_met, every = 1, cases_passed, cases_failed;

static void say_where(void)
{
    if (!played) return;
    long failed = kind->disarm();
    fprintf(stderr, "%s:%d: died in %s, %s %ld%s\n", file, played->steps[at].line, played->name,
            kind->name, failed, for_ever ? " and all later ones" : "");
}

static void fail(const char *what, const char *detail)
{
    stage_fail(played->steps[at].line, "%s %ld%s: %s%s", kind->name, nth,
               for_ever ? " and all later ones" : "", what, detail);
}

/* ---- faults ---- */

enum { NOWHERE = SIZE_MAX };

static void leave(void)
{
    if (position != NOWHERE) stage_close();
    position = NOWHERE;
}

/* Brings the stage before the step that is tried. */
static void go_there(void)
{
    if (position != NOWHERE && position > at) leave();
    if (position == NOWHERE) {
        course_begin(file, played);
        position = 0;
    }
    for (; position < at; position++) course_play(&played->steps[position], false, NULL);
}

static bool is_either(const char *text, const char *one, const char *other)
{
    return !one || !other || strcmp(text, one) == 0 || strcmp(text, other) == 0;
}

static bool is_sound(const course *c)
{
    return c->sound[at] && c->sound[at + 1];
}

/* Compares what the connection sees with what it may see; is it as if the statement had not run?
 * Where there is damage without a fault, a table can be read or not, by what was read before. */
static bool check_seen(const course *c, const char *before, const char *after)
{
    if (blind) return true;
    char *seen = witness_seen(stage_db());
    bool is_before = before && strcmp(seen, before) == 0;
    bool unreadable = !is_sound(c) && strstr(seen, "error\n");
    if (!unreadable && !is_either(seen, before, after))
        fail("neither all nor nothing was done:\n", seen);
    free(seen);
    return is_before;
}

/* `sound`: is there no damage without a fault? */
static void check_files(const char *before, const char *after, bool sound)
{
    stage_close_connections();
    if (blind) return;
    char *committed = witness_committed();
    if (!is_either(committed, before, after))
        fail("neither all nor nothing was committed:\n", committed);
    free(committed);

    char *damage = witness_damage();
    if (*damage && sound) fail("damage: ", damage);
    free(damage);
}

/* A fault in a transaction: what can be committed of it is as if the statement had not been run. A
 * RELEASE that would have committed and fails is rolled back by SQLite, which leaves the savepoint
 * open, with nothing in it. */
static void end_transaction(const course *c, bool ended_well)
{
    const char *start = course_seen_at_start(c, at), *after = c->seen[at + 1];
    bool is_open = !sqlite3_get_autocommit(stage_db()) &&
                   sqlite3_txn_state(stage_db(), NULL) != SQLITE_TXN_NONE;
    if (is_open && sqlite3_exec(stage_db(), "COMMIT", NULL, NULL, NULL) == SQLITE_OK) {
        check_seen(c, kept[ended_well], kept[ended_well]);
        check_files(NULL, NULL, kept_sound[ended_well]);
        return;
    }
    if (!sqlite3_get_autocommit(stage_db())) sqlite3_exec(stage_db(), "ROLLBACK", NULL, NULL, NULL);
    check_seen(c, start, c->in_transaction[at + 1] ? start : after);
    check_files(NULL, NULL, is_sound(c));
}

/* What a fault outside of a transaction has not done is done now. A BEGIN may have failed behind
 * the point at which it began. */
static void run_again(void)
{
    const script_step *step = &played->steps[at];
    if (!sqlite3_get_autocommit(stage_db())) sqlite3_exec(stage_db(), "ROLLBACK", NULL, NULL, NULL);
    stage_outcome again;
    stage_run(step->text, &again);
    if (!stage_check(step, &again, false))
        fail("run again it does not give what the script says: ",
             again.error ? again.error : again.rows);
    stage_forget(&again);
}

/* Errors that quote one of the disk: of a cluster whose replicas cannot be had, and of PRAGMA
 * integrity_check, which takes a page that it cannot read for damage. And SQLite takes the schema
 * for what it was if it cannot look whether it has changed, and a file whose size it cannot ask for
 * as one with something in it. */
static bool is_by_fault(const stage_outcome *outcome)
{
    static const int codes[] = {SQLITE_IOERR, SQLITE_CANTOPEN, SQLITE_FULL, SQLITE_BUSY};
    if (outcome->rc == SQLITE_OK) return false;
    if (kind->is_its_error(outcome->rc)) return true;
    for (size_t i = 0; kind != &allocation_faults && i < sizeof codes / sizeof *codes; i++)
        if (strstr(outcome->error, sqlite3_errstr(codes[i]))) return true;
    return kind == &disk_faults && (strstr(outcome->error, "unable to get the page") ||
                                    strstr(outcome->error, "no such table") ||
                                    strstr(outcome->error, "output file already exists") ||
                                    strstr(outcome->error, "has no column named"));
}

/* Where there is no memory SQLite keeps the code of an error and may forget its words: those of a
 * statement, and those of a statement that a function has run and quotes behind its own name. */
static bool has_lost_its_words(const stage_outcome *outcome)
{
    const char *words = sqlite3_errstr(outcome->rc);
    size_t size = strlen(outcome->error), n = strlen(words);
    if (size < n || strcmp(outcome->error + size - n, words) != 0) return false;
    return size == n || (size > n + 2 && strncmp(outcome->error + size - n - 2, ": ", 2) == 0);
}

/* Has it done what it does? What is done by a SELECT is done before its first row, so the fault's
 * error behind the last one comes too late. */
static bool is_as_told(const course *c, const stage_outcome *outcome)
{
    const stage_outcome rows = {.rows = outcome->rows};
    if (stage_check(&played->steps[at], outcome, false)) return true;
    if (*outcome->rows && is_by_fault(outcome) && stage_check(&played->steps[at], &rows, false))
        return true;
    return outcome->rc != SQLITE_OK && outcome->rc == c->codes[at] && has_lost_its_words(outcome);
}

/* As told, but for rows_read: at least what is told, and at most twice that. */
static bool is_row_of_more(const char *told, const char *got, size_t size)
{
    char table[2][64], rest[2][64], line[256];
    long read[2];
    if (size >= sizeof line) return false;
    memcpy(line, got, size);
    line[size] = 0;
    const char *texts[] = {told, line};
    for (int i = 0; i < 2; i++) {
        char more;
        if (sscanf(texts[i], "%63[^|]|%ld|%63[0-9|NUL]%c", table[i], &read[i], rest[i], &more) != 3)
            return false;
    }
    return strcmp(table[0], table[1]) == 0 && strcmp(rest[0], rest[1]) == 0 &&
           strchr(rest[0], '|') && read[0] <= read[1] && read[1] <= 2 * read[0];
}

/* A sync for which main could not be opened a second time reads it through the connection at hand:
 * with what it has just taken, so that it reads rows of the peer twice. All else is as told. */
static bool has_read_at_hand(const stage_outcome *outcome)
{
    const script_step *step = &played->steps[at];
    const char *row = outcome->rows;
    if (kind != &disk_faults || !faults_failed_open() || outcome->rc != SQLITE_OK) return false;
    if (!strstr(step->text, "counter_sync(")) return false;
    for (size_t i = 0; i < step->n; i++) {
        size_t size = strcspn(row, "\n");
        if (!row[size] || !is_row_of_more(step->answers[i].text, row, size)) return false;
        row += size + 1;
    }
    return !*row;
}

/* Several statements in one step, of which the first ones may have been done? */
static bool is_compound(const script_step *step)
{
    const char *end = strchr(step->text, ';');
    return end[strspn(end, "; \n")] && !strstr(step->text, "TRIGGER");
}

/* Would it be seen if the statement had been done? */
static bool is_visible(const course *c)
{
    const char *before = c->seen[at], *after = c->seen[at + 1];
    return before && after && strcmp(before, after) != 0;
}

/* Can the next fault be tried from here? Where there was no memory, for what is on the disk is then
 * as SQLite knows it; if a SELECT was tried that has given no row yet, for one that has, such as that
 * of a sync, may have committed marks; or something that is known not to have been done. */
static bool stands_as_before(const course *c, const stage_outcome *outcome)
{
    bool is_select = strncmp(played->steps[at].text, "SELECT", 6) == 0;
    return kind == &allocation_faults && !blind && !course_is_in_transaction() &&
           ((is_select && !*outcome->rows) || is_visible(c));
}

static bool has_cluster(void)
{
    for (size_t i = 0; i < at; i++)
        if (strstr(played->steps[i].text, "USING counter_cluster(")) return true;
    return false;
}

/* Under WAL SQLite commits file by file, so some may have what others have not; a cluster goes on
 * without a replica whose disk fails. */
static bool is_by_files(void)
{
    if (has_cluster() && kind == &disk_faults) return true;
    sqlite3_stmt *mode = NULL;
    bool several = sqlite3_db_name(stage_db(), 2) != NULL, wal = false;
    if (sqlite3_prepare_v2(stage_db(), "PRAGMA main.journal_mode", -1, &mode, NULL) == SQLITE_OK &&
        sqlite3_step(mode) == SQLITE_ROW)
        wal = strcmp((const char *)sqlite3_column_text(mode, 0), "wal") == 0;
    sqlite3_finalize(mode);
    return several && wal;
}

/* A sync that has come to one file is completed by repeating it. */
static bool is_repeatable(void)
{
    const script_step *step = &played->steps[at];
    bool fails = step->n > 0 && step->answers[step->n - 1].is_error;
    return !fails && !stage_nth_db(1) && strstr(step->text, "counter_sync(");
}

static void repeat(const course *c)
{
    stage_outcome again;
    stage_run(played->steps[at].text, &again);
    bool is_locked =
        (again.rc & 0xff) == SQLITE_BUSY; /* by what was cut short: to be opened anew */
    if (again.error && !is_locked) fail("it cannot be repeated: ", again.error);
    stage_forget(&again);
    if (!is_locked) check_seen(c, c->seen[at + 1], c->seen[at + 1]);
}

/* Looks at what a fault has left, and leaves it unless all stands before the step as it did. */
static void judge(const course *c, const stage_outcome *outcome)
{
    bool at_hand = has_read_at_hand(outcome), as_told = at_hand || is_as_told(c, outcome);
    bool stays_open = c->in_transaction[at] && c->in_transaction[at + 1];
    if (!as_told && !is_by_fault(outcome))
        fail("ended by ", outcome->error ? outcome->error : outcome->rows);
    if (at_hand) check_seen(c, c->seen[at + 1], c->seen[at + 1]);

    if (is_compound(&played->steps[at])) {
        check_files(NULL, NULL, is_sound(c));
    } else if (is_by_files() && !stays_open) {
        if (!as_told && is_repeatable()) repeat(c);
        check_files(NULL, NULL, is_sound(c));
    } else if (c->in_transaction[at]) {
        end_transaction(c, as_told);
    } else {
        bool nothing = check_seen(c, c->seen[at], c->seen[at + 1]) && !as_told;
        if (nothing && stands_as_before(c, outcome)) return;
        if (nothing && is_visible(c)) run_again();
        check_files(c->committed[at], c->committed[at + 1], is_sound(c));
    }
    leave();
}

/* A run that has met no fault: what the ones before have left does not disturb it. */
static void check_last_run(const course *c, const stage_outcome *outcome)
{
    position++;
    if (!stage_check(&played->steps[at], outcome, false))
        fail("not met, after those before: ", outcome->error ? outcome->error : outcome->rows);
    if (c->sound[at + 1] && !course_is_in_transaction() && !course_is_sound())
        fail("there is damage", "");
}

/* Runs the step that is tried with its nth call failing; did it have so many? */
static bool run_with_fault(const course *c)
{
    stage_outcome outcome;
    go_there();
    kind->arm(nth, for_ever, by_place);
    stage_run(played->steps[at].text, &outcome);
    nth = kind->disarm();
    faults_made += nth > 0;
    if (nth > 0)
        judge(c, &outcome);
    else
        check_last_run(c, &outcome);
    stage_forget(&outcome);
    return nth > 0;
}

static long next_after(long n)
{
    if (by_place) return n;
    if (only) return LONG_MAX;
    return n + stride + (n > 1000 ? n / 20 : 0);
}

static void try_step(const course *c)
{
    bool compares = !blind && c->in_transaction[at];
    if (compares) leave();
    for (int i = 0; i < 2; i++) {
        free(kept[i]);
        kept[i] = compares ? course_seen_if_committed(c, at + (size_t)i, &kept_sound[i]) : NULL;
    }
    for (int mode = 0; mode < 2; mode++) {
        for_ever = mode;
        first = first % stride + 1;
        nth = by_place ? 0 : only ? only : first;
        while (!stage_failed() && run_with_fault(c)) nth = next_after(nth);
    }
}

static bool run_case(void)
{
    course c = course_of(file, played, blind);
    position = NOWHERE;
    if (anew) countdown_forget_places();
    bool holds = c.holds;
    for (at = 0; at < played->n && holds; at++) {
        if (!played->steps[at].is_directive) try_step(&c);
        holds = !stage_failed();
    }
    leave();
    course_free(&c);
    return holds && !stage_failed();
}

static bool is_one_of(case_names *choice, const char *name)
{
    for (size_t i = 0; i < choice->n; i++)
        if (strcmp(choice->names[i], name) == 0) return choice->met[i] = true;
    return false;
}

static bool is_wanted(const script_case *c)
{
    if (c->shell_only || (under_wal && c->not_wal) || (in_utf16 && c->not_utf16)) return false;
    return !is_one_of(&unwanted, c->name) && (wanted.n == 0 || is_one_of(&wanted, c->name));
}

/* A name that no script has is a case that nobody tries. */
static int count_unmet(const case_names *choice)
{
    int unmet = 0;
    for (size_t i = 0; i < choice->n; i++) {
        if (choice->met[i]) continue;
        fprintf(stderr, "run_faults: no script has a case %s\n", choice->names[i]);
        unmet++;
    }
    return unmet;
}

static void run_file(const char *path)
{
    script_file script = script_read(path);
    long before = faults_made;
    file = path;
    for (size_t i = 0; i < script.n; i++) {
        played = &script.cases[i];
        if (!is_wanted(played)) continue;
        if (cases_met++ % every != 0) continue;
        if (run_case())
            cases_passed++;
        else
            cases_failed++;
    }
    printf("%s: %ld faults\n", path, faults_made - before);
    played = NULL;
    script_free(&script);
}

static const fault_kind *kind_named(const char *name)
{
    static const fault_kind *const kinds[] = {&allocation_faults, &disk_faults, &room_faults};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (name && strcmp(kinds[i]->name, name) == 0) return kinds[i];
    }
    fprintf(stderr, "run_faults allocation|disk|room [-abpuw] [-k calls] [-e every] [-s stride] "
                    "[-n nth] [-c case ...] [-x case ...] file.sql ...\n");
    exit(2);
}

static void choose(case_names *choice, const char *name)
{
    if (choice->n == sizeof choice->names / sizeof *choice->names) {
        fprintf(stderr, "run_faults: more than %zu cases by name\n", choice->n);
        exit(2);
    }
    choice->names[choice->n++] = name;
}

static void read_options(int argc, char **argv)
{
    int option;
    while ((option = getopt(argc, argv, "abpuwk:c:x:e:s:n:")) != -1) {
        switch (option) {
        case 'a': anew = true; break;
        case 'b': blind = true; break;
        case 'p': by_place = true; break;
        case 'u':
            stage_begin_with("PRAGMA encoding = 'UTF-16'");
            in_utf16 = true;
            break;
        case 'w':
            stage_begin_with("PRAGMA journal_mode = WAL");
            under_wal = true;
            break;
        case 'c': choose(&wanted, optarg); break;
        case 'x': choose(&unwanted, optarg); break;
        case 'k': countdown_tell_places_by(atoi(optarg)); break;
        case 'e': every = atoi(optarg); break;
        case 's': stride = atol(optarg); break;
        case 'n': only = atol(optarg); break;
        default: kind_named(NULL);
        }
    }
}

int main(int argc, char **argv)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (__sanitizer_set_death_callback) __sanitizer_set_death_callback(say_where);
    kind = kind_named(argc > 1 ? argv[1] : NULL);
    kind->install();
    faults_install_disk();
    stage_warm_up();
    read_options(argc - 1, argv + 1);
    for (char **path = argv + 1 + optind; *path; path++) run_file(*path);
    cases_failed += count_unmet(&wanted) + count_unmet(&unwanted);
    printf("%ld faults\n%d passed, %d failed\n", faults_made, cases_passed, cases_failed);
    return cases_failed > 0 || cases_passed == 0;
}
