/* core/change.c - writes and reads a change as it travels between files. */
#include "core/core.h"

/* ---- the parts ------------------------------------------------------------------------------- */

enum { TAG_OF_ROW = 1, TAG_OF_BIRTH };

/* Follows a counter that came, if it is bounded. */
enum { IS_BOUNDED = 1 };

/* Added to the kind of the stamp of a regular column whose value is too large to be told. */
enum { IS_TOO_LARGE = 4 };

static uint8_t *put_sized(uint8_t *out, const uint8_t *bytes, size_t size)
{
    out = ctr_varint_put(out, size);
    if (size > 0) memcpy(out, bytes, size);
    return out + size;
}

static uint8_t *put_told_stamp(uint8_t *out, const ctr_stamp *stamp)
{
    out = ctr_varint_put(out, (uint64_t)ctr_stamp_time(stamp->number));
    memcpy(out, stamp->id, CTR_ID_SIZE);
    return out + CTR_ID_SIZE;
}

static ctr_status take_between(const uint8_t **at, const uint8_t *end, uint64_t least,
                               uint64_t most, uint64_t *n)
{
    ctr_status status = ctr_varint_take(at, end, n);
    return status == CTR_OK && (*n < least || *n > most) ? CTR_OUT_OF_RANGE : status;
}

/* Takes as many bytes as the number before them says. */
static ctr_status take_sized(const uint8_t **at, const uint8_t *end, const uint8_t **bytes,
                             size_t *size)
{
    uint64_t n;
    ctr_status status = ctr_varint_take(at, end, &n);
    if (status == CTR_OK && n > (uint64_t)(end - *at)) status = CTR_TRUNCATED;
    if (status != CTR_OK) return status;
    *bytes = *at;
    *size = (size_t)n;
    *at += n;
    return CTR_OK;
}

static ctr_status take_told_stamp(const uint8_t **at, const uint8_t *end, ctr_stamp *stamp)
{
    uint64_t number;
    ctr_status status = take_between(at, end, 0, (UINT64_C(1) << CTR_STAMP_TIME_BITS) - 1, &number);
    if (status == CTR_OK && end - *at < CTR_ID_SIZE) status = CTR_TRUNCATED;
    if (status != CTR_OK) return status;
    stamp->number = (int64_t)number;
    memcpy(stamp->id, *at, CTR_ID_SIZE);
    *at += CTR_ID_SIZE;
    return CTR_OK;
}

/* ---- writing --------------------------------------------------------------------------------- */

/* Returns whether the birth of a row is told by itself: it is not the stamp of the INSERT. */
static bool is_birth_told(const ctr_told_row *row)
{
    return row->life % 2 == 0 || row->birth.number != row->stamp.number ||
           memcmp(row->birth.id, row->stamp.id, CTR_ID_SIZE) != 0;
}

uint8_t *ctr_change_begin_row(uint8_t *out, const ctr_told_row *row, uint64_t n)
{
    uint8_t state[CTR_CHANGE_HEADER_MAX], *end = state;
    *out++ = CTR_TELLS_ROW;
    *out++ = (uint8_t)(row->is + (row->is && row->born));
    if (row->is) {
        end = ctr_varint_put(end, row->life);
        if (row->life % 2 == 1) end = put_told_stamp(end, &row->stamp);
        *out++ = TAG_OF_ROW;
        out = put_sized(out, state, (size_t)(end - state));
    }
    if (row->is && row->born) {
        end = is_birth_told(row) ? put_told_stamp(state, &row->birth) : state;
        *out++ = TAG_OF_BIRTH;
        out = put_sized(out, state, (size_t)(end - state));
    }
    return ctr_varint_put(out, n);
}

static uint8_t *put_told_name(uint8_t *out, const ctr_told_column *column)
{
    out = put_sized(out, column->name, column->name_size);
    out = ctr_varint_put(out, (uint64_t)column->generation);
    *out++ = column->kind->code;
    return out;
}

uint8_t *ctr_change_put_column(uint8_t *out, const ctr_told_column *column)
{
    out = put_told_name(out, column);
    if (column->kind->stored) return put_sized(out, column->state, column->size);
    uint8_t stamp[CTR_CHANGE_HEADER_MAX], *end = stamp;
    *end++ = (uint8_t)(column->stamp.kind + (column->too_large > 0 ? IS_TOO_LARGE : 0));
    if (column->stamp.kind == CTR_STAMP_OWN) end = put_told_stamp(end, &column->stamp.own);
    if (column->too_large > 0) end = ctr_varint_put(end, column->too_large);
    out = ctr_varint_put(out, (uint64_t)(end - stamp) + column->size);
    memcpy(out, stamp, (size_t)(end - stamp));
    out += end - stamp;
    if (column->size > 0) memcpy(out, column->state, column->size);
    return out + column->size;
}

uint8_t *ctr_change_put_floors(uint8_t *out)
{
    *out++ = CTR_TELLS_FLOORS;
    return out;
}

uint8_t *ctr_change_put_generation(uint8_t *out, const ctr_told_column *column)
{
    *out++ = CTR_TELLS_COLUMN;
    out = put_told_name(out, column);
    if (column->bounded) *out++ = IS_BOUNDED;
    return out;
}

uint8_t *ctr_change_put_answer(uint8_t *out, const uint8_t *answer, size_t size)
{
    *out++ = CTR_TELLS_ANSWER;
    memcpy(out, answer, size);
    return out + size;
}

/* ---- reading --------------------------------------------------------------------------------- */

/* Notes what is wrong, and with which column, unless something is noted. */
static ctr_status change_fails(ctr_change_view *change, const ctr_told_column *column,
                               ctr_status status, const char *wrong)
{
    if (status == CTR_OK || change->wrong) return status;
    change->wrong = wrong;
    if (column && column->kind) change->column = *column;
    return status;
}

static bool is_name(const ctr_told_column *column)
{
    return column->name_size > 0 && !memchr(column->name, '\0', column->name_size) &&
           ctr_utf8_is(column->name, column->name_size);
}

static ctr_status take_told_name(ctr_change_view *change, const uint8_t **at,
                                 ctr_told_column *column)
{
    uint64_t generation;
    ctr_status status = take_sized(at, change->end, &column->name, &column->name_size);
    if (status == CTR_OK && !is_name(column)) {
        column->name = NULL; /* no message can show it */
        column->name_size = 0;
        return change_fails(change, NULL, CTR_OUT_OF_RANGE,
                            "has a column whose name is empty, has a U+0000 or is not UTF-8");
    }
    if (status == CTR_OK)
        status = take_between(at, change->end, 0, CTR_GENERATION_MAX, &generation);
    if (status == CTR_OK && *at == change->end) status = CTR_TRUNCATED;
    if (status != CTR_OK) return status;
    column->generation = (int64_t)generation;
    column->kind = ctr_kind_of_code(*(*at)++);
    return column->kind ? CTR_OK : CTR_NEWER_FORMAT;
}

/* Of a regular column: its stamp, then its value, unless it has none; or the size of the value. */
static ctr_status open_regular(ctr_told_column *column)
{
    const uint8_t *at = column->state, *end = at + column->size;
    if (at == end) return CTR_TRUNCATED;
    bool is_too_large = *at >= IS_TOO_LARGE;
    column->stamp.kind = (ctr_stamp_kind)(*at++ - (is_too_large ? IS_TOO_LARGE : 0));
    if (column->stamp.kind > (is_too_large ? CTR_STAMP_OWN : CTR_STAMP_NONE))
        return CTR_OUT_OF_RANGE;
    ctr_status status = CTR_OK;
    if (column->stamp.kind == CTR_STAMP_OWN) status = take_told_stamp(&at, end, &column->stamp.own);
    int64_t generation = column->generation, *number = &column->stamp.own.number;
    if (status == CTR_OK && column->stamp.kind == CTR_STAMP_OWN)
        *number = ctr_stamp_number(generation, *number);
    if (status == CTR_OK && generation != ctr_stamp_generation(*number)) return CTR_OUT_OF_RANGE;
    if (status == CTR_OK && is_too_large)
        status = take_between(&at, end, 1, INT64_MAX, &column->too_large);
    column->state = at;
    column->size = (size_t)(end - at);
    if (status != CTR_OK || column->stamp.kind == CTR_STAMP_NONE || is_too_large)
        return status == CTR_OK && column->size > 0 ? CTR_TRAILING : status;
    if (column->size == 0) return CTR_TRUNCATED;
    status = ctr_key_take(&at, end, true);
    return status == CTR_OK && at < end ? CTR_TRAILING : status;
}

static ctr_status take_told_column(ctr_change_view *change, const uint8_t **at,
                                   ctr_told_column *column)
{
    ctr_cell cell;
    *column = (ctr_told_column){.name = NULL};
    ctr_status status = take_told_name(change, at, column);
    if (status == CTR_OK) status = take_sized(at, change->end, &column->state, &column->size);
    if (status != CTR_OK) return status;
    if (!column->kind->stored && !change->row.is)
        return change_fails(change, column, CTR_OUT_OF_RANGE,
                            "is regular, and the row is not that of a replicated table");
    if (!column->kind->stored)
        return change_fails(change, column, open_regular(column),
                            "has no stamp and value of a regular column, or another generation "
                            "than its stamp");
    if (column->generation % 2 == 0)
        return change_fails(change, column, CTR_OUT_OF_RANGE,
                            "is a counter with a cell, and its generation must be odd");
    status = ctr_cell_open(&cell, column->state, column->size);
    if (status == CTR_OK && ctr_kind_of_byte(column->state[0]) != column->kind)
        status = CTR_NOT_A_CELL;
    if (status == CTR_NEWER_FORMAT) return status;
    return change_fails(change, column, status, "has no well-formed cell");
}

int ctr_change_order(const ctr_told_column *a, const ctr_told_column *b)
{
    size_t least = a->name_size < b->name_size ? a->name_size : b->name_size;
    int order = least > 0 ? memcmp(a->name, b->name, least) : 0;
    if (order != 0) return order;
    if (a->name_size != b->name_size) return a->name_size < b->name_size ? -1 : 1;
    return (int)a->kind->code - (int)b->kind->code;
}

static ctr_status take_row_state(ctr_told_row *row, const uint8_t *at, const uint8_t *end)
{
    uint64_t life;
    row->is = true;
    ctr_status status = take_between(&at, end, 1, CTR_ROW_LIFE_MAX, &life);
    row->life = status == CTR_OK ? (uint32_t)life : 0;
    if (status == CTR_OK && life % 2 == 1) status = take_told_stamp(&at, end, &row->stamp);
    return status == CTR_OK && at < end ? CTR_TRAILING : status;
}

static ctr_status take_birth(ctr_told_row *row, const uint8_t *at, const uint8_t *end)
{
    row->born = true;
    row->birth = row->stamp;
    if (at == end && row->life % 2 == 1) return CTR_OK;
    ctr_status status = take_told_stamp(&at, end, &row->birth);
    if (status == CTR_OK && !is_birth_told(row)) status = CTR_OUT_OF_RANGE;
    return status == CTR_OK && at < end ? CTR_TRAILING : status;
}

/* Takes what is known of the row as a whole, each with a tag. */
static ctr_status take_row_fields(ctr_change_view *change, const uint8_t **at, const uint8_t *end)
{
    size_t size;
    uint64_t n = 0, tag;
    const uint8_t *bytes;
    ctr_status status = ctr_varint_take(at, end, &n);
    if (status == CTR_OK && n > TAG_OF_BIRTH) status = CTR_NEWER_FORMAT;
    for (uint64_t i = TAG_OF_ROW; i <= n && status == CTR_OK; i++) {
        status = ctr_varint_take(at, end, &tag);
        if (status == CTR_OK && tag != i)
            status = tag > TAG_OF_BIRTH ? CTR_NEWER_FORMAT : CTR_OUT_OF_RANGE;
        if (status == CTR_OK) status = take_sized(at, end, &bytes, &size);
        if (status == CTR_OK)
            status = i == TAG_OF_ROW ? take_row_state(&change->row, bytes, bytes + size)
                                     : take_birth(&change->row, bytes, bytes + size);
    }
    return status;
}

static ctr_status open_told_row(ctr_change_view *change, const uint8_t *at)
{
    ctr_told_column before = {0}, column;
    ctr_status status = take_row_fields(change, &at, change->end);
    if (status == CTR_OK) status = ctr_varint_take(&at, change->end, &change->n);
    change->at = at;
    const ctr_told_row *row = &change->row;
    if (status == CTR_OK && change->n > 0 && row->is && row->life % 2 == 0)
        return change_fails(change, NULL, CTR_OUT_OF_RANGE, "tells columns of a deleted row");
    for (uint64_t i = 0; i < change->n && status == CTR_OK; i++, before = column) {
        status = take_told_column(change, &at, &column);
        if (status == CTR_OK && i > 0 && ctr_change_order(&before, &column) >= 0)
            status = change_fails(change, &column, CTR_UNSORTED,
                                  "is not behind the others in the order of names");
    }
    return status == CTR_OK && at < change->end ? CTR_TRAILING : status;
}

static ctr_status open_change_bytes(ctr_change_view *change, const uint8_t *bytes, size_t size)
{
    if (size == 0) return change_fails(change, NULL, CTR_NOT_A_CELL, "is empty");
    const uint8_t *at = bytes + 1;
    change->what = (ctr_change_what)bytes[0];
    switch (bytes[0]) {
    case CTR_TELLS_ROW: return open_told_row(change, at);
    case CTR_TELLS_FLOORS: return size > 1 ? CTR_TRAILING : CTR_OK;
    case CTR_TELLS_ANSWER:
        change->column.state = at;
        change->column.size = size - 1;
        return CTR_OK;
    case CTR_TELLS_COLUMN: break;
    default: return bytes[0] > 0 && bytes[0] < CTR_CHANGES_END ? CTR_NEWER_FORMAT : CTR_NOT_A_CELL;
    }
    ctr_told_column *column = &change->column;
    ctr_status status = take_told_name(change, &at, column);
    if (status != CTR_OK) return status;
    if (column->generation == 0 || (!column->kind->stored && column->generation % 2 == 1))
        return change_fails(change, column, CTR_OUT_OF_RANGE,
                            "came or went, and its generation must be 1 or more, that of a regular "
                            "column even");
    column->bounded = at < change->end && *at == IS_BOUNDED;
    at += column->bounded;
    if (column->bounded && (!column->kind->stored || column->generation % 2 == 0))
        return change_fails(change, column, CTR_OUT_OF_RANGE,
                            "is bounded, and no counter that is there");
    return at < change->end ? CTR_TRAILING : CTR_OK;
}

/* What is wrong with the whole. */
static const char *wrong_change(ctr_status status)
{
    switch (status) {
    case CTR_NEWER_FORMAT:
        return "was made by a newer version of sqlite-counter: install it here, too";
    case CTR_NOT_A_CELL: return "is none: its first byte is that of something else";
    case CTR_TRUNCATED: return "is cut short";
    case CTR_TRAILING: return "has bytes behind its end";
    case CTR_NOT_MINIMAL: return "has a number of needless length";
    default: return "has a number out of range";
    }
}

ctr_status ctr_change_open(ctr_change_view *change, const uint8_t *bytes, size_t size)
{
    *change = (ctr_change_view){.end = bytes + size};
    ctr_status status = open_change_bytes(change, bytes, size);
    if (status == CTR_OK || change->wrong) return status;
    if (change->what != CTR_TELLS_ROW) change->column = (ctr_told_column){.name = NULL};
    change->wrong = wrong_change(status);
    return status;
}

bool ctr_change_next(ctr_change_view *change, ctr_told_column *column)
{
    if (change->n == 0) return false;
    change->n--;
    return take_told_column(change, &change->at, column) == CTR_OK;
}
