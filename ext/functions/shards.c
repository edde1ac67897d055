/* functions/shards.c - counter_shards(cell): the shards of a cell as rows.
 *
 *     SELECT id, clock, value FROM counter_shards(cell);
 *
 * One row for each shard, ascending by id, which is text. No row for NULL and for a deleted cell.
 */
#include <string.h>

#include "core/id.h"
#include "functions/register.h"
#include "sqlite/args.h"

enum { SHARD_ID, SHARD_CLOCK, SHARD_VALUE, SHARD_CELL };

typedef struct shards_cursor {
    sqlite3_vtab_cursor base;
    uint8_t *bytes; /* owned copy of the argument */
    ctr_cell cell;  /* on bytes */
    ctr_shard shard;
    size_t at;
    int64_t row;
    bool eof;
} shards_cursor;

static int shards_connect(sqlite3 *db, void *aux, int argc, const char *const *argv,
                          sqlite3_vtab **table, char **message)
{
    (void)aux;
    (void)argc;
    (void)argv;
    (void)message;
    int rc = sqlite3_declare_vtab(
        db, "CREATE TABLE x(id TEXT, clock INTEGER, value INTEGER, cell HIDDEN)");
    if (rc != SQLITE_OK) return rc;
    sqlite3_vtab_config(db, SQLITE_VTAB_INNOCUOUS);
    *table = sqlite3_malloc64(sizeof **table);
    if (!*table) return SQLITE_NOMEM;
    memset(*table, 0, sizeof **table);
    return SQLITE_OK;
}

static int shards_disconnect(sqlite3_vtab *table)
{
    sqlite3_free(table);
    return SQLITE_OK;
}

/* The argument is a constraint on the hidden column. A plan that cannot use it is refused. */
static int shards_best_index(sqlite3_vtab *table, sqlite3_index_info *info)
{
    bool asked = false;
    for (int i = 0; i < info->nConstraint; i++) {
        if (info->aConstraint[i].iColumn != SHARD_CELL) continue;
        if (info->aConstraint[i].op != SQLITE_INDEX_CONSTRAINT_EQ) continue;
        asked = true;
        if (!info->aConstraint[i].usable) continue;
        info->aConstraintUsage[i].argvIndex = 1;
        info->aConstraintUsage[i].omit = 1;
        info->estimatedCost = 10;
        info->estimatedRows = 10;
        return SQLITE_OK;
    }
    if (asked) return SQLITE_CONSTRAINT;
    sqlite3_free(table->zErrMsg);
    table->zErrMsg = sqlite3_mprintf("counter_shards: one argument is needed, a cell");
    return SQLITE_ERROR;
}

static int shards_open(sqlite3_vtab *table, sqlite3_vtab_cursor **cursor)
{
    (void)table;
    shards_cursor *made = sqlite3_malloc64(sizeof *made);
    if (!made) return SQLITE_NOMEM;
    memset(made, 0, sizeof *made);
    *cursor = &made->base;
    return SQLITE_OK;
}

static int shards_close(sqlite3_vtab_cursor *base)
{
    shards_cursor *cursor = (shards_cursor *)base;
    sqlite3_free(cursor->bytes);
    sqlite3_free(cursor);
    return SQLITE_OK;
}

static int shards_next(sqlite3_vtab_cursor *base)
{
    shards_cursor *cursor = (shards_cursor *)base;
    cursor->eof = !ctr_cell_next(&cursor->cell, &cursor->at, &cursor->shard);
    cursor->row++;
    return SQLITE_OK;
}

static int refuse_cell(sqlite3_vtab *table, const char *what)
{
    sqlite3_free(table->zErrMsg);
    table->zErrMsg = sqlite3_mprintf("counter_shards: the cell %s", what);
    return table->zErrMsg ? SQLITE_ERROR : SQLITE_NOMEM;
}

/* Starts a scan. The cursor keeps a copy of the cell, because argv is valid only during this
 * call. */
static int shards_filter(sqlite3_vtab_cursor *base, int plan, const char *plan_text, int argc,
                         sqlite3_value **argv)
{
    (void)plan;
    (void)plan_text;
    (void)argc;
    shards_cursor *cursor = (shards_cursor *)base;
    sqlite3_free(cursor->bytes);
    cursor->bytes = NULL;
    cursor->cell = ctr_cell_untouched();
    cursor->at = 0;
    cursor->row = 0;
    int type = sqlite3_value_type(argv[0]);
    if (type == SQLITE_NULL) return shards_next(base);
    if (type != SQLITE_BLOB) return refuse_cell(base->pVtab, "must be a BLOB or NULL");

    size_t size = (size_t)sqlite3_value_bytes(argv[0]);
    const void *bytes = sqlite3_value_blob(argv[0]);
    cursor->bytes = sqlite3_malloc64(size + 1);
    if (!cursor->bytes || (!bytes && size > 0)) return SQLITE_NOMEM;
    if (size > 0) memcpy(cursor->bytes, bytes, size);
    ctr_status status = ctr_cell_open(&cursor->cell, cursor->bytes, size);
    if (status != CTR_OK) return refuse_cell(base->pVtab, ctr_status_text(status));
    return shards_next(base);
}

static int shards_eof(sqlite3_vtab_cursor *base)
{
    return ((shards_cursor *)base)->eof;
}

static int shards_column(sqlite3_vtab_cursor *base, sqlite3_context *ctx, int column)
{
    const shards_cursor *cursor = (shards_cursor *)base;
    char id[CTR_ID_TEXT_SIZE];
    switch (column) {
    case SHARD_ID:
        ctr_id_to_text(cursor->shard.id, id);
        sqlite3_result_text(ctx, id, -1, SQLITE_TRANSIENT);
        break;
    case SHARD_CLOCK: sqlite3_result_int64(ctx, cursor->shard.clock); break;
    case SHARD_VALUE: sqlite3_result_int64(ctx, cursor->shard.value); break;
    default: sqlite3_result_blob64(ctx, cursor->cell.bytes, cursor->cell.size, SQLITE_TRANSIENT);
    }
    return SQLITE_OK;
}

static int shards_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *rowid)
{
    *rowid = ((shards_cursor *)base)->row;
    return SQLITE_OK;
}

int ctr_shards_register(sqlite3 *db)
{
    /* No xCreate: the table exists in every schema by itself and cannot be created. */
    static const sqlite3_module MODULE = {.xConnect = shards_connect,
                                          .xBestIndex = shards_best_index,
                                          .xDisconnect = shards_disconnect,
                                          .xOpen = shards_open,
                                          .xClose = shards_close,
                                          .xFilter = shards_filter,
                                          .xNext = shards_next,
                                          .xEof = shards_eof,
                                          .xColumn = shards_column,
                                          .xRowid = shards_rowid};
    return sqlite3_create_module_v2(db, "counter_shards", &MODULE, NULL, NULL);
}
