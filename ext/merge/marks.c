/* merge/marks.c - reads and writes marks. */
#include "merge/merge.h"

#include <string.h>

enum { TWIST_DIGITS = 16 };

/* counter_peers has for a table of a source its mark. While it is read in parts, that is below 0,
 * minus `end`, and a second row, whose `theirs` has a zero byte behind the token, has `from`. */
typedef enum kept_number { KEEPS_MARK, KEEPS_PLACE } kept_number;

/* `theirs` is lent to the statement. */
static void bind_tables(ctr_run *run, sqlite3_stmt *row, const ctr_table_pair *pair,
                        kept_number which, uint8_t theirs[CTR_ID_SIZE + 1])
{
    memcpy(theirs, pair->theirs->token, CTR_ID_SIZE);
    theirs[CTR_ID_SIZE] = 0;
    ctr_run_bind_id(run, row, ":id", pair->source->id);
    ctr_run_bind_blob(run, row, ":theirs", theirs, CTR_ID_SIZE + (which == KEEPS_PLACE));
    ctr_run_bind_id(run, row, ":mine", pair->mine->token);
}

static bool read_number(ctr_file *file, const ctr_table_pair *pair, kept_number which, int64_t *n)
{
    uint8_t theirs[CTR_ID_SIZE + 1];
    ctr_run run = ctr_file_run(file);
    sqlite3_stmt *row = ctr_file_take(file, CTR_FILE_MARK);
    bind_tables(&run, row, pair, which, theirs);
    bool found = ctr_run_row(&run, row);
    *n = found ? sqlite3_column_int64(row, 0) : 0;
    if (*n == 0) ctr_run_refuse_hidden(&run, row, 4, "counter_peers");
    ctr_file_give_back(file, CTR_FILE_MARK, row);
    return found;
}

static void write_number(ctr_file *file, const ctr_table_pair *pair, kept_number which, int64_t n)
{
    uint8_t theirs[CTR_ID_SIZE + 1];
    ctr_run run = ctr_file_run(file);
    sqlite3_stmt *row = ctr_file_take(file, CTR_FILE_SET_MARK);
    bind_tables(&run, row, pair, which, theirs);
    ctr_run_bind_int(&run, row, ":mark", n);
    ctr_run_row(&run, row);
    ctr_file_give_back(file, CTR_FILE_SET_MARK, row);
}

int64_t ctr_marks_read(ctr_file *file, const ctr_table_pair *pair, ctr_progress *progress)
{
    ctr_problem missing;
    int64_t mark;
    *progress = (ctr_progress){.end = 0};
    if (ctr_rc(file->conn) != SQLITE_OK) return 0;
    ctr_problem_try(file->conn, &missing);
    read_number(file, pair, KEEPS_MARK, &mark);
    progress->was_begun = mark < 0;
    bool in_parts = mark < 0 && mark >= -pair->source->next &&
                    read_number(file, pair, KEEPS_PLACE, &progress->from);
    if (in_parts) progress->end = -mark;
    /* If the table was dropped, there are no marks. */
    ctr_problem_raise_if(file->conn, &missing, missing.rc != SQLITE_ERROR);
    return mark > 0 && mark <= pair->source->next ? mark : 0;
}

static void forget_dropped(ctr_run *run, const ctr_identity *source)
{
    ctr_run_with(run, CTR_SQL_MARKS_FORGET, ":id d", source->id);
}

void ctr_marks_begin(ctr_file *file, const ctr_identity *source)
{
    ctr_run run = ctr_file_run(file);
    ctr_run_do(&run, CTR_SQL_MARKS_CREATE, NULL);
    forget_dropped(&run, source);
}

void ctr_marks_write(ctr_file *file, const ctr_table_pair *pair, const ctr_progress *progress)
{
    write_number(file, pair, KEEPS_MARK, progress->end > 0 ? progress->end : pair->source->next);
}

void ctr_marks_end_parts(ctr_file *file, ctr_file *source)
{
    ctr_run run = ctr_file_run(file), theirs = ctr_file_run(source);
    sqlite3_stmt *row = ctr_run_prepare(&theirs, CTR_SQL_IDENTITY_IDS);
    while (ctr_run_row(&theirs, row)) {
        const void *id = sqlite3_column_blob(row, 0);
        if (id && sqlite3_column_bytes(row, 0) == CTR_ID_SIZE)
            ctr_run_with(&run, CTR_SQL_MARKS_END_PARTS, ":id d", id);
    }
    sqlite3_finalize(row);
}

void ctr_marks_write_part(ctr_file *file, const ctr_table_pair *pair, const ctr_progress *progress)
{
    write_number(file, pair, KEEPS_MARK, -progress->end);
    write_number(file, pair, KEEPS_PLACE, progress->from);
}

/* ---- the feed -------------------------------------------------------------------------------- */

static const char OWN[] = " own";

/* Returns what follows the id. */
static char *suffix_of(const ctr_marks_source *source)
{
    char twist[CTR_ID_TEXT_SIZE] = "";
    if (source->twist)
        sqlite3_snprintf(sizeof twist, twist, "/%016llx", (unsigned long long)source->twist);
    const char *rest = source->place ? source->place : source->scope;
    return sqlite3_mprintf("%s%s%s%s", twist, source->own ? OWN : "", rest ? " " : "",
                           rest ? rest : "");
}

char *ctr_marks_name(const ctr_marks_source *source)
{
    char id[CTR_ID_TEXT_SIZE], *suffix = suffix_of(source);
    ctr_id_to_text(source->id, id);
    char *name = suffix ? sqlite3_mprintf("%s%s", id, suffix) : NULL;
    sqlite3_free(suffix);
    return name;
}

/* Returns the end of the twist that `at` begins with; NULL if it is none. */
static const char *take_twist(const char *at, const char *end, int64_t *twist)
{
    static const char DIGITS[] = "0123456789abcdef";
    uint64_t bits = 0;
    if (end - at <= TWIST_DIGITS) return NULL;
    for (int i = 0; i < TWIST_DIGITS; i++) {
        const char *digit = *++at ? strchr(DIGITS, *at) : NULL;
        if (!digit) return NULL;
        bits = bits << 4 | (uint64_t)(digit - DIGITS);
    }
    memcpy(twist, &bits, sizeof bits);
    return *twist != 0 ? at + 1 : NULL;
}

bool ctr_marks_source_of(const char *name, size_t size, ctr_marks_source *source)
{
    enum { ID_SIZE = CTR_ID_TEXT_SIZE - 1, OWN_SIZE = sizeof OWN - 1 };
    *source = (ctr_marks_source){.twist = 0};
    if (size < ID_SIZE || strlen(name) != size || !ctr_id_from_text(name, ID_SIZE, source->id))
        return false;
    const char *at = name + ID_SIZE, *end = name + size;
    if (*at == '/' && !(at = take_twist(at, end, &source->twist))) return false;
    source->own = strncmp(at, OWN, OWN_SIZE) == 0 && strchr(" ", at[OWN_SIZE]);
    if (source->own) at += OWN_SIZE;
    if (*at) source->scope = at + 1;
    return !*at || (at[0] == ' ' && at[1] == '[' && end[-1] == ']');
}

ctr_fed ctr_marks_fed(const ctr_marks_source *source, int64_t upto)
{
    ctr_fed fed = {.twist = source->twist, .own = source->own, .upto = source->scope ? 0 : upto};
    memcpy(fed.id, source->id, CTR_ID_SIZE);
    return fed;
}

/* A whole feed has the twist in place of a token. */
static void bind_feed(ctr_run *run, sqlite3_stmt *row, const ctr_marks_source *source)
{
    char *suffix = source->own || source->scope ? suffix_of(source) : NULL;
    ctr_run_bind_id(run, row, ":id", source->id);
    if (!source->own && !source->scope)
        ctr_run_bind_int(run, row, ":theirs", source->twist);
    else if (suffix)
        ctr_run_bind_text(run, row, ":theirs", suffix);
    else
        ctr_problem_nomem(run->conn);
    sqlite3_free(suffix);
}

static int64_t read_mark(ctr_conn *conn, ctr_sql which, const ctr_marks_source *source)
{
    ctr_run run = ctr_run_on(conn, "main", NULL);
    sqlite3_stmt *row = ctr_run_prepare(&run, which);
    bind_feed(&run, row, source);
    int64_t mark = ctr_run_row(&run, row) ? sqlite3_column_int64(row, 0) : 0;
    sqlite3_finalize(row);
    return mark > 0 ? mark : 0;
}

static int64_t least_mark(ctr_conn *conn, const ctr_marks_source *source)
{
    return read_mark(conn, CTR_SQL_MARKS_LEAST, source);
}

#if defined(COUNTER_HAS_ZLIB)

int64_t ctr_marks_highest(ctr_conn *conn, const ctr_marks_source *source)
{
    return read_mark(conn, CTR_SQL_MARKS_HIGHEST, source);
}

#endif

int64_t ctr_marks_of_feed(ctr_conn *conn, const ctr_marks_source *source)
{
    int64_t mark = least_mark(conn, source), more;
    ctr_marks_source all = *source;
    if (source->place) return mark;
    all.scope = NULL;
    if (source->scope && (more = least_mark(conn, &all)) > mark) mark = more;
    all = *source;
    all.own = false;
    if (source->own && (more = ctr_marks_of_feed(conn, &all)) > mark) mark = more;
    return mark;
}

int64_t ctr_marks_raise(ctr_conn *conn, const ctr_marks_source *source, int64_t since, int64_t upto)
{
    int64_t mark = ctr_marks_of_feed(conn, source);
    if (mark < since || mark >= upto) return mark;
    ctr_run run = ctr_run_on(conn, "main", NULL);
    sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_MARKS_FORGET_FEED);
    bind_feed(&run, row, source);
    ctr_run_bind_int(&run, row, ":mark", upto);
    ctr_run_once(&run, row);
    row = ctr_run_prepare(&run, CTR_SQL_MARKS_RAISE);
    bind_feed(&run, row, source);
    ctr_run_bind_int(&run, row, ":mark", upto);
    ctr_run_once(&run, row);
    return upto;
}
