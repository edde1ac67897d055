/* run_process.c - runs the scripts of this folder in process: run_process [-u] [-c case] file.sql ...
 *
 * script.h tells what they say. With -u main.db has its texts in UTF-16. After each case all of its connections must close with SQLITE_OK,
 * and SQLite must use as much memory as before.
 */
#include <stdio.h>
#include <string.h>
#include <sanitizer/common_interface_defs.h>

#include "stage.h"

/* Measurements are built without sanitizers. */
#pragma weak __sanitizer_set_death_callback

static const char *file, *case_name;
static int line;
static int cases_passed, cases_failed;

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

static void run_file(const char *path, const char *wanted)
{
    script_file script = script_read(path);
    file = path;
    for (size_t i = 0; i < script.n; i++) {
        const script_case *c = &script.cases[i];
        if (!c->shell_only && (!wanted || strcmp(wanted, c->name) == 0)) run_case(c);
    }
    script_free(&script);
}

int main(int argc, char **argv)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (__sanitizer_set_death_callback) __sanitizer_set_death_callback(say_where);
    stage_warm_up();
    const char *wanted = NULL;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "-u") == 0)
            stage_begin_with("PRAGMA encoding = 'UTF-16'");
        else if (strcmp(argv[i], "-c") == 0 && i + 1 < argc)
            wanted = argv[++i];
        else
            run_file(argv[i], wanted);
    }
    printf("%d passed, %d failed\n", cases_passed, cases_failed);
    return cases_failed > 0 || cases_passed == 0;
}
