/* core/json.c - checks JSON, and walks what was checked. */
#include "core/core.h"

/* ---- UTF-8 ----------------------------------------------------------------------------------- */

/* Returns the size of the character at `at`, where `left` bytes remain; 0 if there is none. */
static size_t character_size(const unsigned char *at, size_t left)
{
    static const unsigned LEAST[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t size = at[0] < 0x80 ? 1 : at[0] < 0xe0 ? 2 : at[0] < 0xf0 ? 3 : 4;
    unsigned letter = size == 1 ? at[0] : at[0] & (0x7fU >> size);
    if (size > left || (at[0] & 0xc0) == 0x80 || at[0] >= 0xf8) return 0;
    for (size_t i = 1; i < size; i++) {
        if ((at[i] & 0xc0) != 0x80) return 0;
        letter = letter << 6 | (at[i] & 0x3fU);
    }
    bool is_surrogate = letter >= 0xd800 && letter <= 0xdfff;
    return letter < LEAST[size] || letter > 0x10ffff || is_surrogate ? 0 : size;
}

bool ctr_utf8_is(const void *bytes, size_t size)
{
    const unsigned char *at = bytes, *end = at + size;
    size_t one = 1;
    while (at < end && (one = character_size(at, (size_t)(end - at))) > 0) at += one;
    return one > 0;
}

int ctr_utf8_cut(ctr_span text, int most)
{
    if (text.size <= (size_t)most) return (int)text.size;
    while (most > 0 && ((unsigned char)text.text[most] & 0xc0) == 0x80) most--;
    return most;
}

/* Writes a character; returns the end. */
static char *put_character(char *out, uint32_t letter)
{
    static const unsigned char FIRST[] = {0, 0, 0xc0, 0xe0, 0xf0};
    size_t size = letter < 0x80 ? 1 : letter < 0x800 ? 2 : letter < 0x10000 ? 3 : 4;
    for (size_t i = size; i-- > 1; letter >>= 6) out[i] = (char)(0x80 | (letter & 0x3f));
    out[0] = (char)(FIRST[size] | letter);
    return out + size;
}

/* ---- what stands at a place ------------------------------------------------------------------ */

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static const char *skip_blanks(const char *at, const char *end)
{
    while (at < end && is_blank(*at)) at++;
    return at;
}

static const char *skip_digits(const char *at, const char *end)
{
    while (at < end && is_digit(*at)) at++;
    return at;
}

/* Reads the 4 digits of \u. Returns false if there are none. */
static bool take_unit(const char **at, const char *end, uint32_t *unit)
{
    *unit = 0;
    if (end - *at < 4) return false;
    for (int i = 0; i < 4; i++) {
        int digit = ctr_id_digit(*(*at)++);
        if (digit < 0) return false;
        *unit = 16 * *unit + (uint32_t)digit;
    }
    return true;
}

/* Reads what follows a backslash. Returns false for half of a surrogate pair, too. */
static bool take_escape(const char **at, const char *end, uint32_t *letter)
{
    static const char NAMES[] = "\"\\/bfnrt", MEANT[] = "\"\\/\b\f\n\r\t";
    uint32_t low;
    const char *found = *at < end ? memchr(NAMES, **at, sizeof NAMES - 1) : NULL;
    if (*at >= end) return false;
    char name = *(*at)++;
    if (found) *letter = (unsigned char)MEANT[found - NAMES];
    if (found || name != 'u') return found != NULL;
    if (!take_unit(at, end, letter)) return false;
    if (*letter < 0xd800 || *letter > 0xdfff) return true;
    if (*letter > 0xdbff || end - *at < 2 || (*at)[0] != '\\' || (*at)[1] != 'u') return false;
    *at += 2;
    if (!take_unit(at, end, &low) || low < 0xdc00 || low > 0xdfff) return false;
    *letter = 0x10000 + ((*letter - 0xd800) << 10) + (low - 0xdc00);
    return true;
}

/* ---- checking -------------------------------------------------------------------------------- */

typedef struct json_checking {
    const char *at, *end;
    int depth;
    const char *wrong; /* static; NULL: nothing so far */
} json_checking;

static void json_fails(json_checking *checking, const char *wrong)
{
    if (!checking->wrong) checking->wrong = wrong;
}

static void check_string(json_checking *checking)
{
    uint32_t letter;
    const char *end = checking->end;
    for (checking->at++; checking->at < end && *checking->at != '"';) {
        if (*checking->at == '\\') {
            checking->at++;
            if (take_escape(&checking->at, end, &letter)) continue;
            json_fails(checking, "has an escape that JSON does not have");
            return;
        }
        const unsigned char *here = (const unsigned char *)checking->at;
        size_t size = character_size(here, (size_t)(end - checking->at));
        if (size == 0 || *here < 0x20) {
            json_fails(checking, size == 0 ? "is not UTF-8" : "has a control character in a text");
            return;
        }
        checking->at += size;
    }
    if (checking->at == end) json_fails(checking, "is cut short");
    if (checking->at < end) checking->at++;
}

static void check_number(json_checking *checking)
{
    const char *at = checking->at, *end = checking->end;
    if (at < end && *at == '-') at++;
    const char *whole = at;
    at = skip_digits(at, end);
    bool good = at > whole && (*whole != '0' || at == whole + 1);
    if (at < end && *at == '.') {
        const char *part = ++at;
        at = skip_digits(at, end);
        good = good && at > part;
    }
    if (at < end && (*at == 'e' || *at == 'E')) {
        at++;
        if (at < end && (*at == '+' || *at == '-')) at++;
        const char *part = at;
        at = skip_digits(at, end);
        good = good && at > part;
    }
    if (!good) json_fails(checking, "has a number that JSON does not have");
    checking->at = at;
}

static void check_word(json_checking *checking, const char *word)
{
    size_t size = strlen(word);
    bool is =
        (size_t)(checking->end - checking->at) >= size && memcmp(checking->at, word, size) == 0;
    if (is) checking->at += size;
    if (!is) json_fails(checking, "has a word that JSON does not have");
}

/* Steps over blanks, then over the character if it is there. */
static bool takes(json_checking *checking, char c)
{
    checking->at = skip_blanks(checking->at, checking->end);
    bool is = checking->at < checking->end && *checking->at == c;
    checking->at += is;
    return is;
}

static void check_json_value(json_checking *checking);

static void check_json_member(json_checking *checking)
{
    checking->at = skip_blanks(checking->at, checking->end);
    if (checking->at == checking->end)
        json_fails(checking, "is cut short");
    else if (*checking->at != '"')
        json_fails(checking, "has a member without a name in quotes");
    if (!checking->wrong) check_string(checking);
    if (!checking->wrong && !takes(checking, ':')) json_fails(checking, "lacks a colon");
}

static void check_items(json_checking *checking, char closing)
{
    if (++checking->depth > CTR_JSON_DEPTH) json_fails(checking, "is nested too deep");
    checking->at++;
    for (bool any = false; !checking->wrong && !takes(checking, closing); any = true) {
        if (any && !takes(checking, ','))
            json_fails(checking, checking->at < checking->end ? "lacks a comma" : "is cut short");
        if (closing == '}' && !checking->wrong) check_json_member(checking);
        if (!checking->wrong) check_json_value(checking);
    }
    checking->depth--;
}

static void check_json_value(json_checking *checking)
{
    checking->at = skip_blanks(checking->at, checking->end);
    if (checking->at == checking->end) {
        json_fails(checking, "is cut short");
        return;
    }
    switch (*checking->at) {
    case '{': check_items(checking, '}'); break;
    case '[': check_items(checking, ']'); break;
    case '"': check_string(checking); break;
    case 't': check_word(checking, "true"); break;
    case 'f': check_word(checking, "false"); break;
    case 'n': check_word(checking, "null"); break;
    default:
        if (*checking->at == '-' || (*checking->at >= '0' && *checking->at <= '9'))
            check_number(checking);
        else
            json_fails(checking, "has a word that JSON does not have");
    }
}

const char *ctr_json_check(const char *text, size_t size, ctr_span *value)
{
    json_checking checking = {.at = text, .end = text + size};
    const char *begin = skip_blanks(text, checking.end);
    check_json_value(&checking);
    *value = (ctr_span){begin, (size_t)(checking.at - begin)};
    if (!checking.wrong && skip_blanks(checking.at, checking.end) < checking.end)
        json_fails(&checking, "has something behind its end");
    return checking.wrong;
}

/* ---- walking what was checked ---------------------------------------------------------------- */

static bool is_real(ctr_span number)
{
    for (size_t i = 0; i < number.size; i++)
        if (number.text[i] == '.' || number.text[i] == 'e' || number.text[i] == 'E') return true;
    return false;
}

ctr_json_type ctr_json_type_of(ctr_span value)
{
    switch (value.text[0]) {
    case '{': return CTR_JSON_OBJECT;
    case '[': return CTR_JSON_ARRAY;
    case '"': return CTR_JSON_TEXT;
    case 't': return CTR_JSON_TRUE;
    case 'f': return CTR_JSON_FALSE;
    case 'n': return CTR_JSON_NULL;
    default: return is_real(value) ? CTR_JSON_REAL : CTR_JSON_INTEGER;
    }
}

/* A quotation mark behind an odd number of backslashes is one of the text. */
static const char *end_of_string(const char *begin, const char *end)
{
    bool is_end = false;
    const char *at = begin;
    while (!is_end) {
        at = memchr(at + 1, '"', (size_t)(end - at - 1));
        const char *before = at;
        while (before[-1] == '\\') before--;
        is_end = (at - before) % 2 == 0;
    }
    return at + 1;
}

static const char *end_of_value(const char *at, const char *end)
{
    if (*at == '"') return end_of_string(at, end);
    if (*at != '{' && *at != '[') {
        while (at < end && !is_blank(*at) && *at != ',' && *at != ']' && *at != '}') at++;
        return at;
    }
    int depth = 0;
    do {
        depth += (*at == '{' || *at == '[') - (*at == '}' || *at == ']');
        at = *at == '"' ? end_of_string(at, end) : at + 1;
    } while (depth > 0);
    return at;
}

bool ctr_json_next(ctr_span parent, size_t *at, ctr_span *name, ctr_span *value)
{
    const char *end = parent.text + parent.size - 1; /* the bracket */
    const char *here = skip_blanks(parent.text + (*at > 0 ? *at : 1), end);
    *name = (ctr_span){here, 0};
    if (here < end && *here == ',') here = skip_blanks(here + 1, end);
    if (here == end) return false;
    if (parent.text[0] == '{') {
        const char *behind = end_of_string(here, end);
        *name = (ctr_span){here, (size_t)(behind - here)};
        here = skip_blanks(skip_blanks(behind, end) + 1, end); /* the colon */
    }
    const char *behind = end_of_value(here, end);
    *value = (ctr_span){here, (size_t)(behind - here)};
    *at = (size_t)(behind - parent.text);
    return true;
}

bool ctr_json_integer(ctr_span number, int64_t *n)
{
    bool negative = number.text[0] == '-';
    uint64_t most = (uint64_t)INT64_MAX + negative, whole = 0;
    for (size_t i = negative; i < number.size; i++) {
        unsigned digit = (unsigned)(number.text[i] - '0');
        if (whole > (most - digit) / 10) return false;
        whole = 10 * whole + digit;
    }
    *n = negative ? (int64_t)(0 - whole) : (int64_t)whole;
    return true;
}

size_t ctr_json_text(ctr_span string, char *out)
{
    char *to = out;
    uint32_t letter = 0;
    const char *at = string.text + 1, *end = string.text + string.size - 1;
    while (at < end) {
        if (*at != '\\') {
            *to++ = *at++;
            continue;
        }
        at++;
        take_escape(&at, end, &letter);
        to = put_character(to, letter);
    }
    return (size_t)(to - out);
}

bool ctr_json_hex(ctr_span string, uint8_t *out)
{
    if (string.text[0] != '"' || string.size % 2 != 0) return false;
    for (size_t i = 1; i + 1 < string.size; i += 2) {
        int high = ctr_id_digit(string.text[i]), low = ctr_id_digit(string.text[i + 1]);
        if (high < 0 || low < 0) return false;
        *out++ = (uint8_t)(16 * high + low);
    }
    return true;
}

bool ctr_json_is(ctr_span string, const char *text)
{
    char few[64];
    size_t size = strlen(text);
    if (string.size > sizeof few || string.text[0] != '"') return false; /* no name is as long */
    return ctr_json_text(string, few) == size && memcmp(few, text, size) == 0;
}
