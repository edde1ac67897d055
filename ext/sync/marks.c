/* sync/marks.c - reads and writes marks. */
#include "sync/marks.h"

#include <stdio.h>
#include <string.h>

#include "sqlite/run.h"

enum { TWIST_DIGITS = 16 };

static void bind_tables(ctr_run *run, sqlite3_stmt *row, const ctr_identity *source,
                        const ctr_catalog_entry *theirs, const ctr_catalog_entry *mine)
{
    ctr_run_bind_id(run, row, ":id", source->id);
    ctr_run_bind_id(run, row, ":theirs", theirs->token);
    ctr_run_bind_id(run, row, ":mine", mine->token);
}

int64_t ctr_marks_read(ctr_file *file, const ctr_identity *source, const ctr_catalog_entry *theirs,
                       const ctr_catalog_entry *mine, ctr_problem *problem)
{
    ctr_problem missing = {SQLITE_OK, NULL};
    ctr_run run = ctr_file_run(file, &missing);
    if (problem->rc != SQLITE_OK) return 0;
    sqlite3_stmt *row = ctr_file_take(file, CTR_FILE_MARK, &missing);
    bind_tables(&run, row, source, theirs, mine);
    int64_t mark = ctr_run_row(&run, row) ? sqlite3_column_int64(row, 0) : 0;
    if (mark == 0) ctr_run_refuse_hidden(&run, row, 4, "counter_peers");
    ctr_file_give_back(file, CTR_FILE_MARK, row, &missing);
    if (missing.rc != SQLITE_OK && missing.rc != SQLITE_ERROR)
        *problem = missing;
    else
        ctr_problem_close(&missing); /* the table was dropped: there are no marks */
    return mark > 0 && mark <= source->next ? mark : 0;
}

int ctr_marks_write(ctr_file *file, const ctr_identity *source, const ctr_catalog_entry *theirs,
                    const ctr_catalog_entry *mine, bool first, ctr_problem *problem)
{
    ctr_run run = ctr_file_run(file, problem);
    if (first) ctr_run_do(&run, CTR_SQL_MARKS_CREATE, NULL);
    if (first) ctr_run_do(&run, CTR_SQL_MARKS_FORGET, NULL);
    sqlite3_stmt *row = ctr_file_take(file, CTR_FILE_SET_MARK, problem);
    bind_tables(&run, row, source, theirs, mine);
    ctr_run_bind_int(&run, row, ":mark", source->next);
    ctr_run_row(&run, row);
    ctr_file_give_back(file, CTR_FILE_SET_MARK, row, problem);
    return problem->rc;
}

/* ---- the feed -------------------------------------------------------------------------------- */

void ctr_marks_source_to_text(const uint8_t id[CTR_ID_SIZE], int64_t twist,
                              char text[CTR_MARKS_SOURCE_SIZE])
{
    ctr_id_to_text(id, text);
    if (twist)
        snprintf(text + strlen(text), CTR_MARKS_SOURCE_SIZE - strlen(text), "/%016llx",
                 (unsigned long long)twist);
}

bool ctr_marks_source_from_text(const char *text, size_t size, uint8_t id[CTR_ID_SIZE],
                                int64_t *twist)
{
    static const char DIGITS[] = "0123456789abcdef";
    const size_t id_size = CTR_ID_TEXT_SIZE - 1;
    uint64_t bits = 0;
    *twist = 0;
    if (size == id_size) return ctr_id_from_text(text, size, id);
    if (size != id_size + 1 + TWIST_DIGITS || text[id_size] != '/') return false;
    for (size_t i = id_size + 1; i < size; i++) {
        const char *digit = text[i] ? strchr(DIGITS, text[i]) : NULL;
        if (!digit) return false;
        bits = bits << 4 | (uint64_t)(digit - DIGITS);
    }
    memcpy(twist, &bits, sizeof bits);
    return *twist != 0 && ctr_id_from_text(text, id_size, id);
}

int64_t ctr_marks_of_feed(sqlite3 *db, const uint8_t id[CTR_ID_SIZE], int64_t twist,
                          ctr_problem *problem)
{
    ctr_run run = ctr_run_on(db, "main", NULL, problem);
    sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_MARKS_LEAST);
    ctr_run_bind_id(&run, row, ":id", id);
    ctr_run_bind_int(&run, row, ":theirs", twist);
    int64_t mark = ctr_run_row(&run, row) ? sqlite3_column_int64(row, 0) : 0;
    sqlite3_finalize(row);
    return mark > 0 ? mark : 0;
}

int ctr_marks_raise_feed(sqlite3 *db, const uint8_t id[CTR_ID_SIZE], int64_t twist, int64_t upto,
                         ctr_problem *problem)
{
    ctr_run run = ctr_run_on(db, "main", NULL, problem);
    ctr_run_do(&run, CTR_SQL_MARKS_FORGET, NULL);
    sqlite3_stmt *row = ctr_run_prepare(&run, CTR_SQL_MARKS_RAISE);
    ctr_run_bind_id(&run, row, ":id", id);
    ctr_run_bind_int(&run, row, ":theirs", twist);
    ctr_run_bind_int(&run, row, ":mark", upto);
    ctr_run_once(&run, row);
    return problem->rc;
}
