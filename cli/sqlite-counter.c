/* sqlite-counter.c - the command line: which command is meant, and with what.
 *
 * Exit status: 0 done; 1 it failed, or found something damaged; 2 wrong usage; merge has its own. The
 * page of the manual, cli/sqlite-counter.1, says what each command prints.
 */
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "counter.h"

enum { DONE, FAILED, WRONG_USAGE };

typedef struct command {
    const char *name, *synopsis;
    int least, most; /* arguments; most -1: any number */
    int options;     /* a sum of OPTION_... */
    void (*run)(cli *c, const cli_arguments *given);
    const char *summary, *help;
} command;

enum {
    OPTION_SINCE = 1,
    OPTION_OWN = 2,
    OPTION_SCOPE = 4,
    OPTION_CREATE_TABLES = 8,
    OPTION_WATCH = 16,
    OPTION_TOKEN_FILE = 32,
    OPTION_CA = 64,
    OPTION_COUNTER = 128,
    OPTION_LEAVE = 256,
    OPTION_DRY_RUN = 512,
    OPTION_JSON = 1024,
    OPTION_GRANT = 2048, /* those that only grant has */
    OPTION_MERGE = 4096  /* those that only merge has */
};

static const command COMMANDS[] = {
    {"sync", "[OPTION...] FILE OTHER", 2, 2,
     OPTION_CREATE_TABLES | OPTION_SCOPE | OPTION_WATCH | OPTION_TOKEN_FILE | OPTION_CA, cli_sync,
     "merges a file with another, a directory or a server",
     "Merges FILE with another file, both ways, with all that sync with the same directory, or "
     "with\n"
     "a server, https://...\n"
     "\n"
     "A file: FILE takes what OTHER has counted, then OTHER what FILE has. Prints a line for each\n"
     "counter table and direction: the table, the file that gave, the file that took, rows read,\n"
     "rows changed, conflicts, and a note where the table was created, or where rows wait or "
     "differ.\n"
     "Fails if one file tracks a table that the other one lacks. With --create-tables that file\n"
     "gets a counter table instead, which can be read, and in whose place none can be tracked.\n"
     "\n"
     "A directory, which sqlite-counter folder has made and a service such as Syncthing carries "
     "to\n"
     "other machines: writes what FILE has\n"
     "counted since the last sync, and takes what others have written. Prints a line for each "
     "file\n"
     "that gave or took something: 'gave' or 'took', its id, changes, and the number up to which\n"
     "they go. --watch goes on until it is interrupted. A damaged batch, or one that FILE refuses, "
     "is\n"
     "reported, and the others are taken; the next sync tries it again.\n"
     "\n"
     "A server: the same by HTTP. The token of the device stands in the file of --token-file, or "
     "in\n"
     "the environment variable SQLITE_COUNTER_TOKEN. With --ca FILE the certificates in FILE, in "
     "PEM,\n"
     "such as that of a CA of your own, are trusted instead of those of the machine.\n"
     "\n"
     "With --scope '[\"store 7\"]' FILE takes only rows with these first values of the key.\n"
     "Warns if a tracked table does not take a row or a value, and of what status warns of.\n"},
    {"folder", "DIRECTORY", 1, 1, 0, cli_folder, "makes a directory one that files sync with",
     "Makes a directory, unless it is there, and puts the file .sqlite-counter into it, without "
     "which\n"
     "nothing reads or writes it: so nobody syncs with a wrong directory, or one that is not "
     "mounted.\n"},
    {"status", "FILE [DIRECTORY]", 1, 2, 0, cli_status,
     "shows the identity of a file and what it holds",
     "Shows the identity of a file and what it holds. Each line begins with its kind: id, name,\n"
     "fingerprint, witness, refuses, table, counter, tracked, regular, broken, waits, differs, "
     "bounded,\n"
     "warning, conflicts.\n"
     "\n"
     "With a directory of sqlite-counter sync a line for each file that has written into it: "
     "other,\n"
     "its id, when it last did, in UTC, the number up to which its changes go, and that up to "
     "which\n"
     "FILE has them; and a line for what is in the way there: strange, with the path.\n"},
    {"plan", "[--json] FILE", 1, 1, OPTION_JSON, cli_plan,
     "says what adopt would do, and what to think of",
     "Looks at all tables of an application, and changes nothing. Prints a line for each table: "
     "the\n"
     "table, what adopt would do with it, its key, and why:\n"
     "\n"
     "  replicate      its rows travel\n"
     "  autoincrement  the same, after AUTOINCREMENT was written into its declaration\n"
     "  key            the same, after it got a key\n"
     "  home           it stays in its file: migrations that ran, sessions, caches, queues\n"
     "  virtual        a virtual table, or a table in which one stores its rows\n"
     "  done           it counts already\n"
     "  refused        it cannot be adopted as it is\n"
     "\n"
     "Then, behind an empty line, a sentence for each matter to think of: what is the case, and "
     "what\n"
     "to do about it. Columns that look like counters are proposed: name those that are to add up "
     "in\n"
     "the call of adopt. With --json an object for each line.\n"},
    {"adopt", "[OPTION...] FILE", 1, 1,
     OPTION_COUNTER | OPTION_LEAVE | OPTION_DRY_RUN | OPTION_JSON, cli_adopt,
     "makes all tables of an application replicated ones",
     "Replicates all tables of an application, as plan says, in one transaction: all or nothing. "
     "Adopt\n"
     "one file, then copy it. A second call does what is new. Prints a line for each table: the "
     "table,\n"
     "what was done, its key; with --json an object for each.\n"
     "\n"
     "  --counter products.stock   the column counts: changes made apart add up (repeatable)\n"
     "  --leave logs               the table stays at home (repeatable)\n"
     "  --missing deleted          rows that no DELETE has taken are deleted in all files;\n"
     "                             restored: they come back\n"
     "  --dry-run                  does all of it, and takes it back\n"},
    {"merge", "[OPTION...] BASE OURS THEIRS", 0, -1, OPTION_MERGE | OPTION_DRY_RUN | OPTION_JSON,
     cli_merge, "merges two copies of a file that nobody prepared",
     "Merges THEIRS into OURS: two descendants of BASE, as git merge-file does. No file needs "
     "counters;\n"
     "those that have some are merged by sync, without BASE. A row is found by its key; a column\n"
     "takes the side that changed it, and where both did OURS stays, and the conflict is listed. "
     "New\n"
     "rows whose number is taken get another one, and references follow. OURS is as it was, or\n"
     "complete. Prints a line for each table, then conflicts, then notes.\n"
     "\n"
     "  --add song.plays        the number adds up what both sides added (repeatable, as all "
     "below)\n"
     "  --ref tagged.song=song  the column holds numbers of that table; --no-ref: it does not\n"
     "  --assigned song         the application gives the numbers: one number is one row\n"
     "  --theirs[=song]         where both changed a column, THEIRS stays\n"
     "  --conflict-table        keeps the conflicts in OURS, in the table _merge_conflicts\n"
     "  --base-is-fork          BASE is the fork: what both changed alike is chance\n"
     "  --output FILE           writes FILE instead of OURS\n"
     "  --dry-run, --json       changes nothing; an object for each line\n"
     "  --options FILE          more options, one a line; else .sqlite-merge beside OURS, or in "
     "the\n"
     "                          top folder of a work tree of git\n"
     "  --copies OURS THEIRS    without BASE: one key is one row, nothing is deleted\n"
     "  --unrelated OURS THEIRS without BASE: each file has given its own numbers\n"
     "  --install-git-driver ['*.db'...]\n"
     "                          git merges such files by this, and shows them as text\n"
     "  --text FILE             prints a file as text, for git diff\n"
     "\n"
     "Exit status: 0 merged; 1 merged, and conflicts are listed; 2 nothing was done.\n"},
    {"track", "FILE TABLE COLUMN...", 3, -1, 0, cli_track, "makes columns of a table counters",
     "Makes INTEGER columns of an ordinary table counters that merge. Track first, then copy the\n"
     "file. Prints the table and the number of rows in which something was counted.\n"
     "\n"
     "Rows with one key are one row in all files. An INTEGER PRIMARY KEY is refused, because two\n"
     "files give the same number to different rows, unless a further word is keys=assigned: only\n"
     "one file makes rows, or the application assigns keys that no two files share.\n"
     "\n"
     "Where each of several files tracks the table, a further word opening=same says that their\n"
     "values are copies of one, opening=add that they add up: see sqlite-counter opening "
     "--help.\n"},
    {"replicate", "FILE TABLE [COLUMN...]", 2, -1, 0, cli_replicate,
     "makes a table one whose whole rows merge",
     "Makes an ordinary table one whose rows merge whole: the INTEGER columns named are counters\n"
     "that add up, and of all others the last write wins. Replicate first, then copy the file; "
     "each\n"
     "file must replicate it. Prints the table and the number of rows in which something was "
     "counted\n"
     "or stamped. The further words are those of sqlite-counter track.\n"},
    {"opening", "FILE TABLE same|add [ID...]", 3, 5, 0, cli_opening,
     "says whether two files had one stock or two",
     "Says of the values that two files had when they began to track a table whether they are "
     "one,\n"
     "same, as those of copies are, or whether they add up. Merges carry the answer to all files,\n"
     "and same also repairs values that were added up. Prints the table and the number of rows "
     "that\n"
     "have another value now.\n"
     "\n"
     "ID is the opening of the other file, as the error of sync and import shows it; two are "
     "those\n"
     "of two other files. Without one, same says it of all files that do.\n"},
    {"grant", "FILE TABLE KEY N --to DEVICE", 4, 4, OPTION_GRANT, cli_grant,
     "lets another file take of a bounded counter",
     "Lets another file take N more of a bounded counter, and FILE so much less: SELECT "
     "counter_bound\n"
     "makes a counter one that never goes below 0 in all files together. DEVICE learns of it by "
     "the\n"
     "next merge. Prints a line for each of the two: the file, its id, and what it may take now, "
     "as\n"
     "far as FILE has heard.\n"
     "\n"
     "KEY is an array of JSON, such as '[\"A\", 7]', or the plain value of a key of one column.\n"
     "\n"
     "  --to DEVICE      the path of the other file, which must be written for that if it is a "
     "copy;\n"
     "                   or its id, as status shows it there once it has counted\n"
     "  --column NAME    the counter, if several are bounded\n"},
    {"check", "FILE", 1, 1, 0, cli_check, "looks for damage in every counter table",
     "Looks for damage. Prints each counter table with 'ok', or 'damaged' and what was found, and\n"
     "each tracked table whose triggers are not whole. Exit status 1 if there is any of that.\n"
     "Changes nothing; checks a temporary copy of a file that is read-only.\n"},
    {"export", "[OPTION...] FILE", 1, 1, OPTION_SINCE | OPTION_OWN | OPTION_SCOPE, cli_export,
     "prints changes as lines of JSON",
     "Prints the changes of a file as lines of JSON, for import. With --since N only those from a\n"
     "mark on, which import has printed; with --own only those that FILE has made or taken from\n"
     "another file, not what it has imported; with --scope '[\"store 7\"]' only rows with these\n"
     "first values of the key. Own changes and each scope have separate marks.\n"},
    {"import", "FILE < BATCHES", 1, 1, 0, cli_import, "takes in the lines of export",
     "Takes in the lines of export from standard input, all or nothing; they may be repeated.\n"
     "Prints a line for each file that they come from: its id, the number of changes, and the "
     "mark\n"
     "to export from next time. Warns if a tracked table does not take a row or a value, and of "
     "what\n"
     "status warns of.\n"},
};
enum { COMMAND_COUNT = sizeof COMMANDS / sizeof *COMMANDS };

static int print_help(void)
{
    puts("usage: sqlite-counter COMMAND ARGUMENT...\n"
         "\n"
         "Merges SQLite files with counters, and looks into them.\n");
    for (int i = 0; i < COMMAND_COUNT; i++)
        printf("  %-9s %-28s %s\n", COMMANDS[i].name, COMMANDS[i].synopsis, COMMANDS[i].summary);
    puts("\n"
         "  sqlite-counter COMMAND --help    says more about one\n"
         "  sqlite-counter --version         prints the version\n"
         "\n"
         "Exit status: 0 done, 1 failed or something is damaged, 2 wrong usage.");
    return DONE;
}

static int print_command_help(const command *of)
{
    printf("usage: sqlite-counter %s %s\n\n%s", of->name, of->synopsis, of->help);
    return DONE;
}

static const command *find_command(const char *name)
{
    for (int i = 0; i < COMMAND_COUNT; i++)
        if (strcmp(COMMANDS[i].name, name) == 0) return &COMMANDS[i];
    return NULL;
}

static bool is_mark(const char *text)
{
    size_t n = strspn(text, "0123456789");
    return n > 0 && text[n] == '\0' &&
           (n < 19 || (n == 19 && strcmp(text, "9223372036854775807") <= 0));
}

/* An option: where its value goes, or its flag; one that may be repeated has a prefix instead, with
 * which its values are listed, and may have one without value_of. */
typedef struct option {
    int which;
    const char *name, *value_of; /* what its value is, or NULL: it has none */
    const char **value;
    bool *flag;
    const char *prefix;
} option;

/* Frees nothing if there is no memory for one more. */
static void add_ask(cli *c, cli_arguments *given, const char *prefix, const char *value)
{
    size_t size = (size_t)(given->n_asks + 1) * sizeof *given->asks;
    char *text = sqlite3_mprintf("%s%s", prefix, value),
         **asks = text ? sqlite3_realloc64(given->asks, size) : NULL;
    if (asks) given->asks = asks;
    if (asks) given->asks[given->n_asks++] = text;
    if (!asks) sqlite3_free(text);
    if (!asks) cli_fail(c, "out of memory");
}

/* An option at words[*i], which may take the next word, too. */
static void read_option(cli *c, const command *of, cli_arguments *given, char **words, int n,
                        int *i)
{
    const option OPTIONS[] = {
        {OPTION_SINCE, "--since", "a mark, such as --since 0", &given->since, NULL, NULL},
        {OPTION_OWN, "--own", NULL, NULL, &given->own, NULL},
        {OPTION_SCOPE, "--scope", "the first values of a key, such as --scope '[\"store 7\"]'",
         &given->scope, NULL, NULL},
        {OPTION_CREATE_TABLES, "--create-tables", NULL, NULL, &given->create_tables, NULL},
        {OPTION_WATCH, "--watch", NULL, NULL, &given->watch, NULL},
        {OPTION_TOKEN_FILE, "--token-file", "a file with a token in it", &given->token_file, NULL,
         NULL},
        {OPTION_CA, "--ca", "a file of certificates to trust", &given->ca, NULL, NULL},
        {OPTION_COUNTER, "--counter", "a table and a column, such as --counter products.stock",
         NULL, NULL, ""},
        {OPTION_LEAVE, "--leave", "the name of a table", NULL, NULL, "leave="},
        {OPTION_LEAVE, "--missing", "deleted or restored", NULL, NULL, "missing="},
        {OPTION_DRY_RUN, "--dry-run", NULL, NULL, &given->dry_run, NULL},
        {OPTION_JSON, "--json", NULL, NULL, &given->json, NULL},
        {OPTION_GRANT, "--to", "the path or the id of a file", &given->to, NULL, NULL},
        {OPTION_GRANT, "--column", "the name of a counter", &given->column, NULL, NULL},
        {OPTION_MERGE, "--add", "a table and a column, such as --add song.plays", NULL, NULL,
         "add="},
        {OPTION_MERGE, "--ref", "a column and a table, such as --ref tagged.song=song", NULL, NULL,
         "ref="},
        {OPTION_MERGE, "--no-ref", "a column, such as --no-ref tagged.song", NULL, NULL, "no-ref="},
        {OPTION_MERGE, "--assigned", "the name of a table", NULL, NULL, "assigned="},
        {OPTION_MERGE, "--theirs", NULL, NULL, NULL, "theirs="},
        {OPTION_MERGE, "--output", "the name of a file", &given->output, NULL, NULL},
        {OPTION_MERGE, "--options", "the name of a file", &given->options, NULL, NULL},
        {OPTION_MERGE, "--conflict-table", NULL, NULL, &given->conflict_table, NULL},
        {OPTION_MERGE, "--base-is-fork", NULL, NULL, &given->base_is_fork, NULL},
        {OPTION_MERGE, "--copies", NULL, NULL, &given->copies, NULL},
        {OPTION_MERGE, "--unrelated", NULL, NULL, &given->unrelated, NULL},
        {OPTION_MERGE, "--driver", NULL, NULL, &given->driver, NULL},
        {OPTION_MERGE, "--install-git-driver", NULL, NULL, &given->install, NULL},
        {OPTION_MERGE, "--text", NULL, NULL, &given->as_text, NULL},
    };
    const char *word = words[*i], *equals = strchr(word, '=');
    size_t size = equals ? (size_t)(equals - word) : strlen(word);
    const option *found = NULL;
    for (size_t k = 0; k < sizeof OPTIONS / sizeof *OPTIONS; k++)
        if ((of->options & OPTIONS[k].which) && strlen(OPTIONS[k].name) == size &&
            strncmp(word, OPTIONS[k].name, size) == 0 && (!OPTIONS[k].flag || !equals))
            found = &OPTIONS[k];
    if (!found) {
        cli_fail(c, "%s has no option %s: see sqlite-counter %s --help", of->name, word, of->name);
    } else if (found->flag) {
        *found->flag = true;
    } else if (!found->value_of) { /* a value only behind an equals sign */
        add_ask(c, given, found->prefix, equals ? equals + 1 : "");
    } else if (!equals && *i + 1 == n) {
        cli_fail(c, "%s needs %s", found->name, found->value_of);
    } else if (found->prefix) {
        add_ask(c, given, found->prefix, equals ? equals + 1 : words[++*i]);
    } else if (*found->value) {
        cli_fail(c, "%s is given twice", found->name);
    } else {
        *found->value = equals ? equals + 1 : words[++*i];
        if (found->which == OPTION_SINCE && !is_mark(given->since))
            cli_fail(c, "--since needs a whole number from 0 to 9223372036854775807, not '%s'",
                     given->since);
    }
}

/* Moves the words that are not options to the front. */
static void read_arguments(cli *c, const command *of, cli_arguments *given, char **words, int n)
{
    bool options = true;
    given->word = words;
    for (int i = 0; i < n && !c->failed; i++) {
        if (options && strcmp(words[i], "--") == 0)
            options = false;
        else if (options && words[i][0] == '-')
            read_option(c, of, given, words, n, &i);
        else
            words[given->n++] = words[i];
    }
    if (given->n < of->least || (of->most >= 0 && given->n > of->most))
        cli_fail(c, "%s takes %s, not %d argument%s: see sqlite-counter %s --help", of->name,
                 of->synopsis, given->n, given->n == 1 ? "" : "s", of->name);
}

static bool is_help_option(const char *word)
{
    return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
}

static bool asks_for_help(char **words, int n)
{
    for (int i = 0; i < n && strcmp(words[i], "--") != 0; i++)
        if (is_help_option(words[i])) return true;
    return false;
}

static int run_command(cli *c, const command *of, char **words, int n)
{
    cli_arguments given = {0};
    if (asks_for_help(words, n)) return print_command_help(of);
    read_arguments(c, of, &given, words, n);
    bool is_understood = !c->failed;
    c->command = of->name;
    if (is_understood) of->run(c, &given);
    for (int i = 0; i < given.n_asks; i++) sqlite3_free(given.asks[i]);
    sqlite3_free(given.asks);
    return !is_understood ? WRONG_USAGE : c->status > 0 ? c->status : c->failed ? FAILED : DONE;
}

static int run_words(cli *c, char **words, int n)
{
    if (n == 0) {
        cli_fail(c, "a command is missing: see sqlite-counter --help");
        return WRONG_USAGE;
    }
    if (strcmp(words[0], "--version") == 0) {
        printf("sqlite-counter %s, SQLite %s\n", COUNTER_VERSION, sqlite3_libversion());
        return DONE;
    }
    bool is_help = strcmp(words[0], "help") == 0;
    if (is_help_option(words[0]) || (is_help && n == 1)) return print_help();
    const char *name = words[is_help ? 1 : 0];
    const command *of = find_command(name);
    if (of && is_help) return print_command_help(of);
    if (of) return run_command(c, of, words + 1, n - 1);
    cli_fail(c, "there is no command '%s': see sqlite-counter --help", name);
    return WRONG_USAGE;
}

int main(int argc, char **argv)
{
    cli c = {.command = ""};
    int status = run_words(&c, argv + 1, argc > 0 ? argc - 1 : 0);
    if (fflush(stdout) == 0 && !ferror(stdout)) return status;
    cli_fail(&c, "standard output cannot be written");
    return status == DONE ? FAILED : status;
}
