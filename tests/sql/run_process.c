/* run_process.c - runs the scripts of this folder in process.
 *
 *     run_process [-ajosu] [-c case | -x case] file.sql ...
 *
 * script.h tells what they say. After each case all of its connections must close with SQLITE_OK,
 * and SQLite must use as much memory as before. -c: only this case; -x: all but this one; -s: none
 * after the first that fails; -u: main.db has its texts in UTF-16, without the cases that are
 * "not-utf-16"; without those that need: -a: extended attributes; -j: a journal; -o: what SQLite
 * may omit.
 */
#define _XOPEN_SOURCE 700

#include "stage.h"
#include "system.h"

/* Measurements and other platforms are built without sanitizers. */
#if !defined(_WIN32)
void __sanitizer_set_death_callback(void (*callback)(void));
#pragma weak __sanitizer_set_death_callback
#endif

static const char *file, *case_name;
static int line;
static int cases_passed, cases_failed;
static const char *wanted, *unwanted;
static bool stops, in_utf16, without_attributes, without_journal, omits;

static void say_where(void)
{
    fprintf(stderr, "%s:%d: died in %s\n", file, line, case_name);
}

static void run_step(const script_step *step)
{
    line = step->line;
    if (step->is_directive) {
        stage_direct(step);
        return;
    }
    stage_outcome outcome;
    stage_run(step->text, &outcome);
    stage_check(step, &outcome, true);
    stage_forget(&outcome);
}

static void run_case(const script_case *c)
{
    case_name = c->name;
    stage_open(file, c->name);
    for (size_t i = 0; i < c->n; i++) run_step(&c->steps[i]);
    stage_close();
    if (stage_failed())
        cases_failed++;
    else
        cases_passed++;
}

static bool is_chosen(const script_case *c)
{
    if (c->shell_only || (in_utf16 && c->not_utf16) || (without_attributes && c->attributes) ||
        (without_journal && c->journal) || (omits && c->whole_sqlite) ||
        (stops && cases_failed > 0))
        return false;
    if (wanted && strcmp(wanted, c->name) != 0) return false;
    return !unwanted || strcmp(unwanted, c->name) != 0;
}

static void run_file(const char *path)
{
    script_file script = script_read(path);
    file = path;
    for (size_t i = 0; i < script.n; i++) {
        if (is_chosen(&script.cases[i])) run_case(&script.cases[i]);
    }
    case_name = "what its cases left";
    script_free(&script);
}

int main(int argc, char **argv)
{
    int option;
    setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
#if !defined(_WIN32)
    if (__sanitizer_set_death_callback) __sanitizer_set_death_callback(say_where);
#else
    (void)say_where;
#endif
    while ((option = getopt(argc, argv, "ajosuc:x:")) != -1) {
        switch (option) {
        case 'a': without_attributes = true; break;
        case 'j': without_journal = true; break;
        case 'o': omits = true; break;
        case 's': stops = true; break;
        case 'u':
            stage_begin_with("PRAGMA encoding = 'UTF-16'");
            in_utf16 = true;
            break;
        case 'c': wanted = optarg; break;
        case 'x': unwanted = optarg; break;
        default: return 2;
        }
    }
    stage_warm_up();
    for (int i = optind; i < argc; i++) run_file(argv[i]);
    printf("%d passed, %d failed\n", cases_passed, cases_failed);
    return cases_failed > 0 || cases_passed == 0;
}
