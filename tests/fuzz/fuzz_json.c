/* fuzz_json.c - any bytes as JSON: what passes the check SQLite takes for JSON, too, and a walk
 * meets as many items as SQLite counts. */
#include <sqlite3.h>

#include "core/core.h"
#include "fuzz.h"

static sqlite3_stmt *oracle(void)
{
    static sqlite3 *db;
    static sqlite3_stmt *asks;
    if (!db) sqlite3_open(":memory:", &db);
    if (!asks)
        sqlite3_prepare_v2(db, "SELECT json_valid(?1), (SELECT count(*) FROM json_tree(?1))", -1,
                           &asks, NULL);
    sqlite3_reset(asks);
    return asks;
}

/* Returns how many values there are. */
static int walk(ctr_span value)
{
    size_t at = 0;
    int n = 1;
    int64_t whole;
    ctr_span name, item;
    ctr_json_type type = ctr_json_type_of(value);
    if (type == CTR_JSON_INTEGER) ctr_json_integer(value, &whole);
    if (type == CTR_JSON_TEXT) {
        char *out = fuzz_room(value.size, 1);
        size_t size = ctr_json_text(value, out);
        fuzz_assert(size <= value.size - 2 && ctr_utf8_is(out, size));
        free(out);
    }
    if (type != CTR_JSON_ARRAY && type != CTR_JSON_OBJECT) return 1;
    while (ctr_json_next(value, &at, &name, &item)) {
        fuzz_assert((type == CTR_JSON_OBJECT) == (name.size > 0));
        n += walk(item);
    }
    return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ctr_span whole;
    char *text = (char *)fuzz_copy(data, size);
    if (!ctr_json_check(text, size, &whole)) {
        int n = walk(whole);
        sqlite3_stmt *asks = oracle();
        sqlite3_bind_text(asks, 1, text, (int)size, SQLITE_STATIC);
        fuzz_assert(sqlite3_step(asks) == SQLITE_ROW);
        fuzz_assert(sqlite3_column_int(asks, 0) == 1);
        fuzz_assert(sqlite3_column_int(asks, 1) == n);
        sqlite3_reset(asks);
    }
    free(text);
    return 0;
}
