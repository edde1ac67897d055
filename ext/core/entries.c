/* core/entries.c - writes and reads rows of a journal, and segments. */
#include "core/core.h"

enum { ENTRIES_FORMAT = 0xE4, ENTRIES_KIND = 0xE0 };

/* Codes: those without a counter, and from CODE_FIRST on CODES for each counter. */
enum {
    CODE_CHANGED,
    CODE_FOLDED,
    CODE_PULLED,
    CODE_FED,
    CODE_STAMPED,
    CODE_ROW,
    CODE_SOURCE,
    CODE_NEWER
};
enum { ONE_TICK, SEVERAL_TICKS, CELL_WRITTEN, CELL_PULLED, CELL_FED, CELL_NEWER };
enum { CODE_FIRST = 16, CODES = 8 };

enum { ORIGINS = 8 /* more than all origins together */ };

int ctr_entries_part_of(const uint8_t id[CTR_ID_SIZE])
{
    const int bits = (id[1] ^ id[5] ^ id[9] ^ id[13]) % 16 << 16 |
                     (id[2] ^ id[6] ^ id[10] ^ id[14]) << 8 | (id[3] ^ id[7] ^ id[11] ^ id[15]);
    return CTR_PART_WRITERS + bits;
}

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

bool ctr_fed_same(const ctr_fed *a, const ctr_fed *b)
{
    if (!a || !b) return a == b;
    return memcmp(a->id, b->id, CTR_ID_SIZE) == 0 && a->twist == b->twist && a->own == b->own &&
           a->upto == b->upto;
}

/* Names the source of the entries that follow, or that none is known. */
static uint8_t *put_fed(uint8_t *out, const ctr_fed *fed)
{
    const ctr_fed none = {.upto = 0}, *source = fed ? fed : &none;
    *out++ = 0; /* the row stays */
    *out++ = CODE_SOURCE;
    memcpy(out, source->id, CTR_ID_SIZE);
    out = ctr_varint_put(out + CTR_ID_SIZE, 2 * (uint64_t)source->upto + source->own);
    uint64_t twist;
    memcpy(&twist, &source->twist, sizeof twist);
    return ctr_varint_put(out, twist);
}

uint8_t *ctr_entries_put(uint8_t *out, ctr_entry *last, const ctr_entry *entry)
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
    if (fed && !ctr_fed_same(last->fed, entry->fed)) out = put_fed(out, entry->fed);
    if (fed) last->fed = entry->fed;
    out = ctr_varint_put(out, ctr_varint_zigzag(moved_by(0, less_between(entry->row, last->row))));
    out = ctr_varint_put(out, code);
    bool changes = entry->kind == CTR_ENTRY_CHANGED || entry->kind == CTR_ENTRY_WRITTEN;
    if (changes && (pulled || fed)) out = ctr_varint_put(out, (uint64_t)entry->part);
    if (entry->kind == CTR_ENTRY_ADDED) {
        out = ctr_varint_put(out, ctr_varint_zigzag(entry->n));
        if (entry->ticks != 1) out = ctr_varint_put(out, (uint64_t)entry->ticks);
    }
    if (entry->kind == CTR_ENTRY_STAMPED) {
        out = ctr_varint_put(out, 2 * (uint64_t)entry->word + (entry->number > 0));
        out = ctr_varint_put(out, entry->mask);
        if (entry->number > 0) out = ctr_varint_put(out, (uint64_t)entry->number);
    }
    last->row = entry->row;
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

int ctr_entries_segment_order(const ctr_change_of_row *a, const ctr_change_of_row *b)
{
    if (a->number != b->number) return a->number < b->number ? 1 : -1;
    if (a->origins != b->origins) return a->origins < b->origins ? -1 : 1;
    if (a->part != b->part) return a->part < b->part ? -1 : 1;
    return (a->row > b->row) - (a->row < b->row);
}

static bool is_of_group(const ctr_change_of_row *a, const ctr_change_of_row *b)
{
    return a->number == b->number && a->origins == b->origins && a->part == b->part;
}

/* Appends n changes of one group. */
static uint8_t *put_group(uint8_t *out, const ctr_change_of_row *changes, size_t n, uint64_t less)
{
    out = ctr_varint_put(out, less);
    out = ctr_varint_put(out, n * ORIGINS + (uint64_t)changes->origins);
    out = ctr_varint_put(out, (uint64_t)changes->part);
    out = ctr_varint_put(out, ctr_varint_zigzag(changes->row));
    for (size_t i = 1; i < n; i++)
        out = ctr_varint_put(out, less_between(changes[i].row, changes[i - 1].row));
    return out;
}

size_t ctr_entries_segment_write(const ctr_change_of_row *changes, size_t n, uint8_t *out)
{
    uint8_t *end = ctr_entries_begin(out);
    int64_t number = changes[0].number;
    for (size_t i = 0, next; i < n; i = next) {
        for (next = i + 1; next < n && is_of_group(&changes[i], &changes[next]); next++) continue;
        end = put_group(end, &changes[i], next - i, less_between(number, changes[i].number));
        number = changes[i].number;
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

/* Takes what names the source of the entries that follow: another one than before. */
static bool take_fed(ctr_entries *entries)
{
    ctr_fed before = entries->fed, *fed = &entries->fed;
    uint64_t upto, twist;
    static const uint8_t NONE[CTR_ID_SIZE];
    bool was = entries->is_fed;
    if (entries->end - entries->at < CTR_ID_SIZE) return refuse_entries(entries, CTR_TRUNCATED);
    memcpy(fed->id, entries->at, CTR_ID_SIZE);
    entries->at += CTR_ID_SIZE;
    if (!take_number(entries, &upto) || !take_number(entries, &twist)) return false;
    fed->own = upto % 2 == 1;
    fed->upto = (int64_t)(upto / 2);
    memcpy(&fed->twist, &twist, sizeof twist);
    entries->is_fed = upto > 0;
    bool is_none = memcmp(fed->id, NONE, CTR_ID_SIZE) == 0 && upto == 0 && twist == 0;
    bool same = ctr_fed_same(was ? &before : NULL, entries->is_fed ? fed : NULL);
    if (same || (entries->is_fed ? fed->upto == 0 : !is_none))
        return refuse_entries(entries, CTR_OUT_OF_RANGE);
    return true;
}

static bool take_part(ctr_entries *entries, int *part)
{
    uint64_t n;
    if (!take_number(entries, &n)) return false;
    if (n >= CTR_PARTS) return refuse_entries(entries, CTR_OUT_OF_RANGE);
    if (n > CTR_PART_OWN && n < CTR_PART_WRITERS) return refuse_entries(entries, CTR_NEWER_FORMAT);
    *part = (int)n;
    return true;
}

/* What an entry of an increment or of written columns has changed. */
static int part_of_kind(ctr_entry_kind kind)
{
    switch (kind) {
    case CTR_ENTRY_ADDED: return CTR_PART_OWN;
    case CTR_ENTRY_STAMPED:
    case CTR_ENTRY_ROW_WRITTEN: return CTR_PART_COLUMNS;
    default: return CTR_PART_WHOLE;
    }
}

static bool next_entry(ctr_entries *entries, ctr_entry *entry, uint64_t row, uint64_t code)
{
    entries->row = moved_by(entries->row, (uint64_t)ctr_varint_unzigzag(row));
    *entry = (ctr_entry){.row = entries->row, .origin = CTR_MADE_HERE};
    if (code == CODE_STAMPED || code == CODE_ROW) {
        entry->kind = code == CODE_ROW ? CTR_ENTRY_ROW_WRITTEN : CTR_ENTRY_STAMPED;
        entry->part = part_of_kind(entry->kind);
        return code == CODE_ROW || take_mask(entries, entry);
    }
    bool is_newer = code < CODE_FIRST ? code >= CODE_NEWER : code % CODES >= CELL_NEWER;
    if (is_newer) return refuse_entries(entries, CTR_NEWER_FORMAT);
    if (code < CODE_FIRST) {
        entry->kind = code == CODE_FOLDED ? CTR_ENTRY_FOLDED : CTR_ENTRY_CHANGED;
        if (code == CODE_PULLED) entry->origin = CTR_PULLED;
        if (code == CODE_FED) entry->origin = CTR_FED;
        return entry->origin == CTR_MADE_HERE || take_part(entries, &entry->part);
    }
    code -= CODE_FIRST;
    if (code / CODES >= CTR_ENTRY_COUNTERS) return refuse_entries(entries, CTR_OUT_OF_RANGE);
    entry->counter = (int)(code / CODES);
    code %= CODES;
    entry->kind = code >= CELL_WRITTEN ? CTR_ENTRY_WRITTEN : CTR_ENTRY_ADDED;
    if (code == CELL_PULLED) entry->origin = CTR_PULLED;
    if (code == CELL_FED) entry->origin = CTR_FED;
    entry->part = part_of_kind(entry->kind);
    if (entry->kind == CTR_ENTRY_WRITTEN)
        return entry->origin == CTR_MADE_HERE || take_part(entries, &entry->part);
    uint64_t n, ticks = 1;
    bool several = code == SEVERAL_TICKS;
    if (!take_number(entries, &n) || (several && !take_number(entries, &ticks))) return false;
    if (ticks > INT64_MAX || (several && ticks < 2))
        return refuse_entries(entries, CTR_OUT_OF_RANGE);
    entry->n = ctr_varint_unzigzag(n);
    entry->ticks = (int64_t)ticks;
    return true;
}

/* What names a source stands before an entry that came from there. */
bool ctr_entries_next(ctr_entries *entries, ctr_entry *entry)
{
    uint64_t row, code;
    if (entries->status != CTR_OK || entries->at == entries->end) return false;
    if (!take_number(entries, &row) || !take_number(entries, &code)) return false;
    bool names = code == CODE_SOURCE;
    if (names && row != 0) return refuse_entries(entries, CTR_OUT_OF_RANGE);
    if (names &&
        (!take_fed(entries) || !take_number(entries, &row) || !take_number(entries, &code)))
        return false;
    if (names && code == CODE_SOURCE) return refuse_entries(entries, CTR_OUT_OF_RANGE);
    if (!next_entry(entries, entry, row, code)) return false;
    if (names && entry->origin != CTR_FED) return refuse_entries(entries, CTR_OUT_OF_RANGE);
    if (entry->origin == CTR_FED && entries->is_fed) entry->fed = &entries->fed;
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
        int part;
        if (!take_number(entries, &less) || !take_number(entries, &entries->left) ||
            !take_part(entries, &part) || !take_number(entries, &row))
            return false;
        int origins = (int)(entries->left % ORIGINS);
        bool rises =
            origins > entries->origins || (origins == entries->origins && part > entries->part);
        bool follows = !entries->begun ? less == 0 : less > 0 || rises;
        entries->left /= ORIGINS;
        if (entries->left == 0 || origins == 0 || !follows || less > (uint64_t)entries->number)
            return refuse_entries(entries, CTR_OUT_OF_RANGE);
        entries->begun = true;
        entries->origins = origins;
        entries->part = part;
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
    *change = (ctr_change_of_row){entries->row, entries->number, entries->origins, entries->part};
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
