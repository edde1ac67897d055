/* core/entries.c - writes and reads rows of a journal, and segments. */
#include "core/core.h"

enum { ENTRIES_FORMAT = 0xE3, ENTRIES_KIND = 0xE0 };

/* Codes: those without a counter, and from CODE_FIRST on CODES for each counter. */
enum { CODE_CHANGED, CODE_FOLDED, CODE_PULLED, CODE_FED, CODE_STAMPED, CODE_ROW, CODE_NEWER };
enum { ONE_TICK, SEVERAL_TICKS, CELL_WRITTEN, CELL_PULLED, CELL_FED, CELL_NEWER };
enum { CODE_FIRST = 16, CODES = 8 };

enum { ORIGINS = 8 /* more than all origins together */ };

/* ---- writing --------------------------------------------------------------------------------- */

static uint64_t less_between(int64_t to, int64_t from)
{
    return (uint64_t)to - (uint64_t)from;
}

static int64_t moved_by(int64_t from, uint64_t more)
{
    uint64_t bits = (uint64_t)from + more;
    int64_t sum;
    memcpy(&sum, &bits, sizeof sum);
    return sum;
}

uint8_t *ctr_entries_begin(uint8_t *out)
{
    *out = ENTRIES_FORMAT;
    return out + CTR_ENTRIES_HEADER;
}

uint8_t *ctr_entries_put(uint8_t *out, int64_t *last, const ctr_entry *entry)
{
    bool pulled = entry->origin == CTR_PULLED, fed = entry->origin == CTR_FED;
    uint64_t code = pulled ? CODE_PULLED
                    : fed  ? CODE_FED
                           : CODE_CHANGED,
             first = CODE_FIRST + CODES * (uint64_t)entry->counter;
    if (entry->kind == CTR_ENTRY_ADDED)
        code = first + (entry->ticks == 1 ? ONE_TICK : SEVERAL_TICKS);
    else if (entry->kind == CTR_ENTRY_WRITTEN)
        code = first + (pulled ? CELL_PULLED : fed ? CELL_FED : CELL_WRITTEN);
    else if (entry->kind == CTR_ENTRY_FOLDED)
        code = CODE_FOLDED;
    else if (entry->kind == CTR_ENTRY_STAMPED)
        code = CODE_STAMPED;
    else if (entry->kind == CTR_ENTRY_ROW_WRITTEN)
        code = CODE_ROW;
    out = ctr_varint_put(out, ctr_varint_zigzag(moved_by(0, less_between(entry->row, *last))));
    out = ctr_varint_put(out, code);
    if (entry->kind == CTR_ENTRY_ADDED) {
        out = ctr_varint_put(out, ctr_varint_zigzag(entry->n));
        if (entry->ticks != 1) out = ctr_varint_put(out, (uint64_t)entry->ticks);
    }
    if (entry->kind == CTR_ENTRY_STAMPED) {
        out = ctr_varint_put(out, 2 * (uint64_t)entry->word + (entry->number > 0));
        out = ctr_varint_put(out, entry->mask);
        if (entry->number > 0) out = ctr_varint_put(out, (uint64_t)entry->number);
    }
    *last = entry->row;
    return out;
}

uint8_t *ctr_entries_group_put(uint8_t *out, int64_t table, size_t size)
{
    const uint8_t *entries = out + CTR_GROUP_HEADER_MAX;
    out = ctr_varint_put(out, (uint64_t)table);
    out = ctr_varint_put(out, size);
    memmove(out, entries, size);
    return out + size;
}

/* Appends the changes of one number and these origins as a group, if there are any. */
static uint8_t *put_group(uint8_t *out, const ctr_change_of_row *changes, size_t n, int origins,
                          uint64_t less)
{
    size_t rows = 0;
    for (size_t i = 0; i < n; i++) rows += changes[i].origins == origins;
    if (rows == 0) return out;
    out = ctr_varint_put(out, less);
    out = ctr_varint_put(out, rows * ORIGINS + (uint64_t)origins);
    const ctr_change_of_row *last = NULL;
    for (size_t i = 0; i < n; i++) {
        if (changes[i].origins != origins) continue;
        out = ctr_varint_put(out, last ? less_between(changes[i].row, last->row)
                                       : ctr_varint_zigzag(changes[i].row));
        last = &changes[i];
    }
    return out;
}

size_t ctr_entries_segment_write(const ctr_change_of_row *changes, size_t n, uint8_t *out)
{
    uint8_t *end = ctr_entries_begin(out);
    int64_t number = changes[0].number;
    for (size_t i = 0, next; i < n; i = next) {
        int all = changes[i].origins;
        for (next = i + 1; next < n && changes[next].number == changes[i].number; next++)
            all |= changes[next].origins;
        for (int origins = 1; origins <= all; origins++) {
            uint8_t *group = end;
            end = put_group(end, &changes[i], next - i, origins,
                            less_between(number, changes[i].number));
            if (end != group) number = changes[i].number;
        }
    }
    return (size_t)(end - out);
}

/* ---- reading --------------------------------------------------------------------------------- */

static ctr_status open_bytes(ctr_entries *entries, const uint8_t *bytes, size_t size)
{
    *entries = (ctr_entries){.at = bytes, .end = bytes};
    if (size == 0 || (bytes[0] & 0xf0) != ENTRIES_KIND || bytes[0] < ENTRIES_FORMAT)
        entries->status = CTR_NOT_A_CELL;
    else if (bytes[0] != ENTRIES_FORMAT)
        entries->status = CTR_NEWER_FORMAT;
    else
        *entries = (ctr_entries){.at = bytes + CTR_ENTRIES_HEADER, .end = bytes + size};
    return entries->status;
}

static bool take_number(ctr_entries *entries, uint64_t *n)
{
    entries->status = ctr_varint_take(&entries->at, entries->end, n);
    return entries->status == CTR_OK;
}

static bool refuse_entries(ctr_entries *entries, ctr_status status)
{
    entries->status = status;
    return false;
}

ctr_status ctr_entries_open(ctr_entries *groups, const uint8_t *bytes, size_t size, int64_t tabs)
{
    ctr_status status = open_bytes(groups, bytes, size);
    groups->tabs = tabs;
    return status;
}

bool ctr_entries_group_next(ctr_entries *groups, int64_t *table, ctr_entries *entries)
{
    uint64_t number, size;
    if (groups->status != CTR_OK) return false;
    if (groups->at == groups->end) {
        if (groups->seen != groups->tabs) groups->status = CTR_UNSORTED;
        return false;
    }
    if (!take_number(groups, &number) || !take_number(groups, &size)) return false;
    if (size > (uint64_t)(groups->end - groups->at)) return refuse_entries(groups, CTR_TRUNCATED);
    if (number < 1 || number > CTR_GROUP_TABLES || size == 0)
        return refuse_entries(groups, CTR_OUT_OF_RANGE);
    *table = (int64_t)number;
    *entries = (ctr_entries){.at = groups->at, .end = groups->at + size};
    groups->at += size;
    groups->seen |= ctr_entries_bit(*table);
    return true;
}

bool ctr_entries_group_of(ctr_entries *groups, int64_t table, ctr_entries *entries)
{
    int64_t other;
    while (ctr_entries_group_next(groups, &other, entries))
        if (other == table) return true;
    return false;
}

static bool take_mask(ctr_entries *entries, ctr_entry *entry)
{
    uint64_t word, number = 0;
    if (!take_number(entries, &word) || !take_number(entries, &entry->mask)) return false;
    bool own = word % 2 == 1;
    if (own && !take_number(entries, &number)) return false;
    word /= 2;
    if (word >= CTR_ENTRY_COUNTERS / CTR_ENTRY_MASK || entry->mask == 0 ||
        entry->mask >> CTR_ENTRY_MASK != 0 || number > INT64_MAX || (own && number == 0))
        return refuse_entries(entries, CTR_OUT_OF_RANGE);
    entry->word = (int)word;
    entry->number = (int64_t)number;
    return true;
}

bool ctr_entries_next(ctr_entries *entries, ctr_entry *entry)
{
    uint64_t row, code;
    if (entries->status != CTR_OK || entries->at == entries->end) return false;
    if (!take_number(entries, &row) || !take_number(entries, &code)) return false;
    entries->row = moved_by(entries->row, (uint64_t)ctr_varint_unzigzag(row));
    *entry = (ctr_entry){.row = entries->row, .origin = CTR_MADE_HERE};
    if (code == CODE_STAMPED || code == CODE_ROW) {
        entry->kind = code == CODE_ROW ? CTR_ENTRY_ROW_WRITTEN : CTR_ENTRY_STAMPED;
        return code == CODE_ROW || take_mask(entries, entry);
    }
    bool is_newer = code < CODE_FIRST ? code >= CODE_NEWER : code % CODES >= CELL_NEWER;
    if (is_newer) return refuse_entries(entries, CTR_NEWER_FORMAT);
    if (code < CODE_FIRST) {
        entry->kind = code == CODE_FOLDED ? CTR_ENTRY_FOLDED : CTR_ENTRY_CHANGED;
        if (code == CODE_PULLED) entry->origin = CTR_PULLED;
        if (code == CODE_FED) entry->origin = CTR_FED;
        return true;
    }
    code -= CODE_FIRST;
    if (code / CODES >= CTR_ENTRY_COUNTERS) return refuse_entries(entries, CTR_OUT_OF_RANGE);
    entry->counter = (int)(code / CODES);
    code %= CODES;
    entry->kind = code >= CELL_WRITTEN ? CTR_ENTRY_WRITTEN : CTR_ENTRY_ADDED;
    if (code == CELL_PULLED) entry->origin = CTR_PULLED;
    if (code == CELL_FED) entry->origin = CTR_FED;
    if (entry->kind == CTR_ENTRY_WRITTEN) return true;
    uint64_t n, ticks = 1;
    bool several = code == SEVERAL_TICKS;
    if (!take_number(entries, &n) || (several && !take_number(entries, &ticks))) return false;
    if (ticks > INT64_MAX || (several && ticks < 2))
        return refuse_entries(entries, CTR_OUT_OF_RANGE);
    entry->n = ctr_varint_unzigzag(n);
    entry->ticks = (int64_t)ticks;
    return true;
}

ctr_status ctr_entries_segment_open(ctr_entries *entries, const uint8_t *bytes, size_t size,
                                    int64_t number)
{
    ctr_status status = open_bytes(entries, bytes, size);
    entries->number = number;
    return status;
}

bool ctr_entries_segment_next(ctr_entries *entries, ctr_change_of_row *change)
{
    uint64_t more;
    if (entries->status != CTR_OK) return false;
    if (entries->left == 0 && entries->at == entries->end) return false;
    if (entries->left == 0) { /* the first row of a group */
        uint64_t less, row;
        if (!take_number(entries, &less) || !take_number(entries, &entries->left) ||
            !take_number(entries, &row))
            return false;
        int origins = (int)(entries->left % ORIGINS);
        bool follows = !entries->begun ? less == 0 : less > 0 || origins > entries->origins;
        entries->left /= ORIGINS;
        if (entries->left == 0 || origins == 0 || !follows || less > (uint64_t)entries->number)
            return refuse_entries(entries, CTR_OUT_OF_RANGE);
        entries->begun = true;
        entries->origins = origins;
        entries->number -= (int64_t)less;
        entries->row = ctr_varint_unzigzag(row);
    } else {
        if (!take_number(entries, &more)) return false;
        if (more == 0) return refuse_entries(entries, CTR_DOUBLED);
        if (more > less_between(INT64_MAX, entries->row))
            return refuse_entries(entries, CTR_OUT_OF_RANGE);
        entries->row = moved_by(entries->row, more);
    }
    entries->left--;
    *change = (ctr_change_of_row){entries->row, entries->number, entries->origins};
    return true;
}

/* Passes over neighbours, whose differences are 1, eight at a time. */
static void pass_neighbours(ctr_entries *entries, uint64_t below)
{
    const uint64_t EIGHT = 8, ONES = UINT64_C(0x0101010101010101);
    uint64_t n = entries->left, bytes = (uint64_t)(entries->end - entries->at), word, passed = 0;
    if (n > bytes) n = bytes;
    if (n > below - 1) n = below - 1;
    for (; passed + EIGHT <= n; passed += EIGHT) {
        memcpy(&word, entries->at + passed, sizeof word);
        if (word != ONES) break;
    }
    entries->at += passed;
    entries->left -= passed;
    entries->row += (int64_t)passed;
}

void ctr_entries_segment_pass(ctr_entries *entries, int64_t row)
{
    enum { ONE_BYTE = 0x80 };
    while (entries->left > 0 && entries->at < entries->end && entries->row < row) {
        pass_neighbours(entries, less_between(row, entries->row));
        uint64_t below = less_between(row, entries->row);
        uint64_t more = entries->at < entries->end && entries->left > 0 ? *entries->at : 0;
        if (more == 0 || more >= ONE_BYTE || more >= below) break;
        entries->row += (int64_t)more;
        entries->at++;
        entries->left--;
    }
}

const char *ctr_entries_status_text(ctr_status status)
{
    switch (status) {
    case CTR_NOT_A_CELL: return "has no entries";
    case CTR_NEWER_FORMAT: return "has entries of a newer version";
    case CTR_DOUBLED: return "has a row twice in one number";
    case CTR_UNSORTED: return "has groups of other tables than it says";
    default: return ctr_status_text(status);
    }
}
