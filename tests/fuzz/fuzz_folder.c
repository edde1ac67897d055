/* fuzz_folder.c - any file of another device in a directory: counter_pull.
 *
 *     byte 0     odd: the rest are the bytes of the file; even: its lines, which are
 *                compressed; with the bit 2 the last line follows, which says that they are whole
 *
 * What is not whole, or refused, changes no row. What changes one is told; it changes nothing more
 * when it is read again; the tables stay sound. The file stays as it is.
 */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "file/uuid.h"
#include "fuzz_sql.h"

static char folder[400], path[500];
static sqlite3 *db;
static sqlite3_stmt *pull, *digest, *check, *check_replicated;

static void make_file(const char *name)
{
    char of[500];
    snprintf(of, sizeof of, "%s/%s", folder, name);
    fclose(fopen(of, "w"));
}

static void remove_folder(void)
{
    char command[500];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    if (system(command) != 0) perror(folder);
}

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    const char *at = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%s/fuzz-folder-XXXXXX", at ? at : "/tmp");
    fuzz_assert(mkdtemp(folder) && atexit(remove_folder) == 0);
    make_file(COUNTER_FOLDER_MARKER);
    snprintf(path, sizeof path, "%s/00000000-0000-0000-0000-00000000000b", folder);
    fuzz_assert(mkdir(path, 0700) == 0);
    strcat(path, "/00000000000000000000-00000000000000000009.gz");
    fuzz_assert(sqlite3_open(":memory:", &db) == SQLITE_OK);
    fuzz_assert(sqlite3_counter_folders_init(db, NULL, NULL) == SQLITE_OK);
    run_all(db, "CREATE VIRTUAL TABLE v USING counter(k TEXT PRIMARY KEY, n COUNTER);"
                "CREATE TABLE r(k TEXT PRIMARY KEY NOT NULL, a TEXT, n INTEGER);"
                "SELECT counter_replicate('r', 'n');"
                "INSERT INTO v VALUES('a', 1); INSERT INTO r VALUES('a', 'A', 1)");
    prepare(db, "SELECT rows_changed FROM counter_pull(?1)", &pull);
    prepare(db, "SELECT counter_table_digest('v') || counter_table_digest('r_counters')", &digest);
    prepare(db, "INSERT INTO v(v) VALUES('integrity-check')", &check);
    prepare(db, "INSERT INTO r_counters(r_counters) VALUES('integrity-check')", &check_replicated);
    sqlite3_bind_text(pull, 1, folder, -1, SQLITE_STATIC);
    return 0;
}

/* Writes the lines, and behind them how many they are, and their digest. */
static void write_lines(const uint8_t *bytes, size_t size, bool whole)
{
    int n = 0;
    uint8_t space[CTR_ID_SIZE], of[CTR_ID_SIZE] = {0};
    char text[CTR_ID_TEXT_SIZE];
    gzFile file = gzopen(path, "wb1");
    if (size > 0) gzwrite(file, bytes, (unsigned)size);
    if (size > 0 && bytes[size - 1] != '\n') gzputc(file, '\n');
    for (size_t at = 0; whole && at < size; n++) {
        const uint8_t *end = memchr(bytes + at, '\n', size - at);
        size_t line = end ? (size_t)(end - bytes) - at : size - at;
        memcpy(space, of, CTR_ID_SIZE);
        ctr_uuid_in(space, bytes + at, line, of);
        at += line + 1;
    }
    ctr_id_to_text(of, text);
    if (whole) gzprintf(file, "{\"lines\":%d,\"digest\":\"%s\"}\n", n, text);
    fuzz_assert(gzclose(file) == Z_OK);
}

static void write_bytes(const uint8_t *bytes, size_t size)
{
    FILE *file = fopen(path, "wb");
    fuzz_assert(file && fwrite(bytes, 1, size, file) == size && fclose(file) == 0);
}

/* Returns whether something was taken. */
static bool is_taken(void)
{
    int rc;
    bool taken = false;
    while ((rc = sqlite3_step(pull)) == SQLITE_ROW)
        taken = taken || sqlite3_column_int(pull, 0) > 0;
    fuzz_assert(rc == SQLITE_DONE);
    fuzz_assert(sqlite3_reset(pull) == SQLITE_OK);
    return taken;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char before[DIGEST], once[DIGEST], twice[DIGEST];
    struct stat seen, still;
    if (size == 0) return 0;
    if (data[0] & 1)
        write_bytes(data + 1, size - 1);
    else
        write_lines(data + 1, size - 1, (data[0] & 2) != 0);
    fuzz_assert(stat(path, &seen) == 0);
    run_all(db, "BEGIN IMMEDIATE");
    read_digest(digest, before);
    bool taken = is_taken();
    read_digest(digest, once);
    fuzz_assert(taken || strcmp(before, once) == 0);
    is_taken();
    read_digest(digest, twice);
    fuzz_assert(strcmp(once, twice) == 0);
    fuzz_assert(run(check) == SQLITE_OK && run(check_replicated) == SQLITE_OK);
    fuzz_assert(stat(path, &still) == 0 && still.st_size == seen.st_size);
    run_all(db, "ROLLBACK");
    return 0;
}
