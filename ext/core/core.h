/* core/core.h - what can be said without SQLite: the algebra of counters and rows.
 *
 *     kind         what a column is: a counter, or a regular column
 *     cell         the state of a counter, and its merge: include/counter_cell.h
 *     row cell     the state of a row of a replicated table
 *     change       what a file tells others of a row, or of a table
 *     key          the values of a key, packed; an id of 16 bytes; numbers as bytes
 *     entries      a row of a journal
 *     lineage      whether a file is still the one that wrote its identity
 *     context      a counter of Cassandra
 *     level        how many replicas a read or a write needs
 *     words        SQL, word by word; declaration: the clauses of USING counter(...)
 *     json         JSON, value by value
 *
 * Objects are views of bytes that the caller holds, or write into a buffer whose bound they state.
 */
#ifndef CTR_CORE_CORE_H
#define CTR_CORE_CORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "counter_cell.h"

/* Which shards stay: is(with, shard) returns whether one does. */
typedef struct ctr_own_filter {
    bool (*is)(const void *with, const ctr_shard *shard);
    const void *with;
} ctr_own_filter;

/* The kinds of the columns that travel (core/kind.c).
 *
 *     a counter          its state is a cell: of two, the higher life wins whole; in one life of
 *                        each shard the higher clock. It shows the sum of the shards
 *     a regular column   its state is a stamp in the row cell: the higher one wins. It shows the
 *                        value that was written with it (a register, in papers)
 *
 * All cells begin with their kind and their life, and a later life of the row empties them. What
 * follows belongs to the kind. The first byte of a cell tells its kind, so ctr_cell_... work on
 * cells of all kinds; an untouched cell has the kind of its column. */

/* What a value means: an INSERT gives it, an UPDATE assigns it, or the trigger of a tracked table
 * reports that a column was changed from another value to it. */
typedef enum ctr_meaning { CTR_GIVEN, CTR_ASSIGNED, CTR_REPORTED } ctr_meaning;

enum {
    CTR_COUNTER_BYTE = 0xC1, /* the first byte of the cells of counters */
    CTR_GRANTS_BYTE = 0xC2   /* the same with grants: format 2 */
};

typedef struct ctr_kind {
    const char *word;   /* in the declaration of a counter table; NULL: no column of it */
    const char *noun;   /* in messages */
    const char *called; /* by counter_change and in its JSON */
    const char *stored; /* the type of its column in <table>_cells; NULL: it has no cells */
    uint8_t code;       /* in changes: never another one */

    /* Of a kind with cells. */
    uint8_t first; /* their first byte: the kind in the high half, the format in the low one */
    uint8_t last;  /* the same of their last format */
    bool adds;     /* the journal may hold a change, as an amount that a fold adds to the cell;
                      else a change is written into the cell */

    /* As ctr_cell_open, for the bytes behind the life; adds to `summary` unless that is NULL. */
    ctr_status (*check)(const uint8_t *at, const uint8_t *end, const uint8_t *id,
                        ctr_summary *summary);
    /* Adds what the cell shows. */
    void (*show)(const ctr_cell *cell, ctr_sum *sum);
    /* What a statement means for a counter that shows `sum`: by which difference it changes, if at
     * all. `from` is read for CTR_REPORTED alone; `difference` is set even on failure.
     * CTR_OVERFLOW: the result would be out of the range of int64; not so for CTR_GIVEN if `sum`
     * is out of range already, and n does not move it further out. */
    ctr_status (*meant)(ctr_meaning meaning, const ctr_sum *sum, int64_t from, int64_t n,
                        ctr_sum *difference);
    /* As ctr_cell_add: changes what the cell shows by a difference. */
    ctr_status (*change)(const ctr_cell *cell, const uint8_t *id, const ctr_sum *difference,
                         int64_t ticks, int64_t least, uint8_t *out, size_t *size);
    /* As the ctr_cell_ functions of these names, for cells of one life; join: of an odd one, both
     * touched and not the same. */
    size_t (*join)(const ctr_cell *a, const ctr_cell *b, uint8_t *out);
    ctr_order (*compare)(const ctr_cell *a, const ctr_cell *b);
    size_t (*diff)(const ctr_cell *cell, const ctr_cell *known, uint8_t *out);
    size_t (*own)(const ctr_cell *cell, const ctr_own_filter *own, uint8_t *out);
} ctr_kind;

/* The values of a row's key, packed into one blob that any transport can carry.
 *
 *     byte 0        0xD1: a packed key (high half) of format 1 (low half)
 *     each value    one byte for its type, then
 *                     0  nothing: a column without a floor, in packed floors; never in a key
 *                     1  INTEGER   zigzag LEB128 of minimal length
 *                     2  REAL      8 bytes, IEEE 754, the highest first; no NaN
 *                     3  TEXT      LEB128 of minimal length: bytes; then the text in UTF-8
 *                     4  BLOB      LEB128 of minimal length: bytes; then the bytes
 *
 * A key has at least one value. A tuple of values has exactly one encoding. */

enum { CTR_KEY_HEADER = 1, CTR_KEY_VALUE_MAX = 11 /* bytes besides those of a text or blob */ };

typedef enum ctr_key_type {
    CTR_KEY_NOTHING,
    CTR_KEY_INTEGER,
    CTR_KEY_REAL,
    CTR_KEY_TEXT,
    CTR_KEY_BLOB
} ctr_key_type;

typedef struct ctr_key_value {
    ctr_key_type type;
    int64_t integer;
    double real;
    const uint8_t *bytes; /* of a text or blob; borrowed */
    size_t size;
} ctr_key_value;

/* The state of a row of a replicated table: whether it lives, and who wrote each
 * of its regular columns last.
 *
 * A row is (L, K), compared lexicographically: the higher life L wins with its whole K. An even
 * life is deleted, and K is empty. In an odd one K is the stamp of the INSERT and, for each regular
 * column, a stamp and a value, of which the higher stamp wins; the counters of the row belong to K,
 * too (counter_cell.h). The values themselves stand in the tracked table alone.
 *
 * A stamp is (number, replica id). The number follows the time in milliseconds times 4096, as the
 * numbers of journals do, and is higher than that of the stamp that it replaces: a hybrid logical
 * clock. No number lies beyond the year 2200, so a clock in the future wins for a while, and no
 * longer.
 *
 * Of two equal stamps mine stays. Values are never compared: conversions, triggers and encodings
 * make them differ under one stamp, and two files would overwrite each other for ever.
 *
 * A row whose key SQLite has given out has a birth: the stamp of its first INSERT, which its
 * tombstone and its later lives keep. Two rows under one key with different births are two rows
 * that were given one number: the one that was born first wins whole, before lives are compared,
 * and none without a birth comes before all others. So the state is (B, L, K).
 *
 * As stored in <table>_cells, in the column _row:
 *
 *     life      varint, 1 ... 2^31-1; after an even one follows the birth, if there is one
 *     number    varint: the stamp of the INSERT
 *     writer    varint: the number that the file has given to the id (table/table.h)
 *     n         varint: 4 times the number of regular columns that the file knew, plus 1 if the
 *               stamp of the INSERT is the birth, 2 if there is another one. A column with a higher
 *               number has no stamp
 *     birth     the number and writer of another one
 *     columns whose stamp is another one, in ascending order:
 *         column    varint: twice its number among those of the file, plus 1 if it has no stamp
 *         number    varint and
 *         writer    varint, unless it has none */

/* Numbers of stamps in a millisecond. */
enum { CTR_STAMPS_IN_MS = 4096 };

/* The last number that a clock gives: the end of the year 2200. What is written over a stamp with
 * that number has a higher one; no file takes one beyond the second. */
#define CTR_STAMP_LAST (INT64_C(7289654400000) * CTR_STAMPS_IN_MS)
#define CTR_STAMP_MAX (CTR_STAMP_LAST + (INT64_C(1) << 40))

/* The last life of a row; it is live. In a feed a life stands in the high half of a generation. */
#define CTR_ROW_LIFE_MAX INT32_MAX

/* A column that was a counter has its generation (table/table.h) above the time of its stamps, so
 * that these win over all stamps of a lower one. A write has that of the file, or of the stamp that
 * it replaces, if that is higher. Highest and newest are said of the time alone. */
enum { CTR_STAMP_TIME_BITS = 55, CTR_STAMP_GENERATIONS = 255 };

static inline int64_t ctr_stamp_time(int64_t number)
{
    return number & ((INT64_C(1) << CTR_STAMP_TIME_BITS) - 1);
}

static inline int64_t ctr_stamp_generation(int64_t number)
{
    return 2 * (number >> CTR_STAMP_TIME_BITS);
}

/* Returns the number with this time and generation, which is even; all above the highest that fits
 * are one. */
static inline int64_t ctr_stamp_number(int64_t generation, int64_t time)
{
    int64_t n = generation / 2 < CTR_STAMP_GENERATIONS ? generation / 2 : CTR_STAMP_GENERATIONS;
    return n << CTR_STAMP_TIME_BITS | time;
}

/* The stamps of rows that were there when replication began have numbers below those of any clock.
 * One file has one such number, and an id of its call; it is raised or lowered if the user says
 * whose values win (ctr_row_cell_began_apart). */
enum { CTR_STAMP_BEGAN = 1, CTR_STAMP_BEGAN_MAX = CTR_STAMPS_IN_MS - 1 };

typedef struct ctr_stamp {
    int64_t number; /* its time is 0 ... CTR_STAMP_MAX */
    uint8_t id[CTR_ID_SIZE];
} ctr_stamp;

typedef enum ctr_stamp_kind {
    CTR_STAMP_OF_ROW, /* that of the INSERT */
    CTR_STAMP_OWN,
    CTR_STAMP_NONE /* the column was added later: it has no value to give */
} ctr_stamp_kind;

typedef struct ctr_column_stamp {
    ctr_stamp_kind kind;
    ctr_stamp own;
} ctr_column_stamp;

/* The row cell of a row, its columns by their numbers in the file. */
typedef struct ctr_row_cell {
    uint32_t life; /* 0: there never was such a row */
    bool born;     /* it has a birth */
    ctr_stamp birth;
    ctr_stamp row;
    int n;
    ctr_column_stamp *columns; /* n; the caller's */
} ctr_row_cell;

/* What a join with the row of another file does to mine. */
typedef enum ctr_row_outcome {
    CTR_ROW_STAYS,    /* nothing of mine has changed; counters are not merged, for I am ahead */
    CTR_ROW_MERGES,   /* the same life: the counters are merged, too */
    CTR_ROW_REPLACED, /* a higher life, or a row that was born before: the counters are theirs */
} ctr_row_outcome;

/* Turn ids into the numbers of writers and back. The second returns NULL for an unknown number. */
typedef struct ctr_writer_map {
    uint64_t (*number)(void *with, const uint8_t id[CTR_ID_SIZE]);
    const uint8_t *(*id)(void *with, uint64_t number);
    void *with;
} ctr_writer_map;

/* A change as it travels between files: a BLOB, which counter_changes gives beside the name of the
 * table and the key. Numbers are varints unless they are said to be bytes.
 *
 *     byte 0: what it tells
 *     1  a row        how many fields, at most 2 now; each a tag, its size, its bytes, in ascending
 *                     order of tags
 *                       1  of a replicated table: the life of the row; if that is odd, the stamp
 *                          of its INSERT
 *                       2  behind that, of a row with a birth: its stamp; nothing if it is that of
 *                          the INSERT
 *                     how many columns, in the order of their names and kinds; each
 *                       the size of the name, the name at birth in UTF-8
 *                       the generation; a byte: the code of the kind; the size of the rest
 *                       of a counter: its cell
 *                       of a regular column: a byte, ctr_stamp_kind; its own stamp if it has one;
 *                       its value as counter_key() packs it, without the first byte, or a byte 0
 *                       for NULL; nothing if it has no stamp
 *     2  floors       nothing: they stand in the key
 *     3  a column     that came or went: the size of its name, the name, the generation, the kind;
 *                     a regular column with the generation of the counter that it was
 *     4  an answer    about openings: its bytes (table/openings.c)
 *
 *     stamp: its time, 16 bytes of the id of its writer
 *
 * A column that a row does not have is not told: nothing is said of it. A counter without a cell is
 * untouched, and not told. A row is told as a whole by counter_changes; rows join point by point,
 * so parts of it may come alone, and in any order. What this version does not know, a tag, a kind,
 * a first byte below 64, is refused, never passed over. */
typedef enum ctr_change_what {
    CTR_TELLS_ROW = 1,
    CTR_TELLS_FLOORS,
    CTR_TELLS_COLUMN,
    CTR_TELLS_ANSWER,
    CTR_CHANGES_END = 64
} ctr_change_what;

#define CTR_GENERATION_MAX INT64_C(0xffffffff)

/* Of a replicated table: the row as a whole; else `is` is not set. */
typedef struct ctr_told_row {
    bool is;
    uint32_t life;
    ctr_stamp stamp; /* if it is live */
    bool born;
    ctr_stamp birth;
} ctr_told_row;

typedef struct ctr_told_column {
    const uint8_t *name; /* borrowed; name_size bytes */
    size_t name_size;
    int64_t generation;
    const ctr_kind *kind;
    ctr_column_stamp stamp; /* of a regular column */
    const uint8_t *state;   /* borrowed, `size` bytes: a cell; the value of a regular column */
    size_t size;
    uint64_t too_large; /* of a regular column: the value has so many bytes, and is not told; else
                           0 */
    bool bounded;       /* of a counter that came: it never goes below 0 */
} ctr_told_column;

/* A checked view of a change. */
typedef struct ctr_change_view {
    ctr_change_what what;
    ctr_told_row row;
    ctr_told_column column; /* that came, went or got a bound; state and size: an answer. After a
                               failure the column that is to blame; no name: none is */
    const char *wrong;      /* after a failure, a clause that follows a noun; static text */

    /* Private: the columns that are left. */
    uint64_t n;
    const uint8_t *at, *end;
} ctr_change_view;

/* Replica ids: 16 bytes, their text, their negation, and the names that they come from.
 *
 * An id is a UUID (RFC 4122), compared byte by byte as memcmp does. ScyllaDB once compared signed
 * bytes and doubled shards. */

enum { CTR_ID_TEXT_SIZE = 37 /* 36 characters and a NUL */ };

/* Numbers as bytes: 8 bytes, the highest first; or varints of 1 to 10 bytes. */

enum { CTR_VARINT_MAX = 10 /* bytes of the longest, a 64-bit number */ };

/* The rows of a journal: the changes of transactions, and their summaries.
 *
 * A transaction appends a row, with a group for each table that it changed, so that those of other
 * tables are passed over unread. A table may have several groups in a row, one after the other:
 *
 *     byte 0    0xE4: entries of a journal (high half) of format 4 (low half)
 *     table     varint, the number of a table: 1 ... 2^31-1
 *     size      varint: the bytes of the entries of the group, 1 or more
 *     entries   see below
 *
 * Beside it stand the tables of a row as a mask, with a bit for each: its number modulo 63.
 *
 * The entries of a group are in the order of the changes:
 *
 *     row       zigzag varint: the difference to the row of the previous entry, or to 0
 *     code      varint
 *                 0          the row is new, or has changed; the change was made here
 *                 1          all amounts and stamps before this were folded into the cells, or rows
 *                            were removed. Later ones in the same group were carried over: no
 *                            cell has them, and their change is older
 *                 2, 3       as 0: the change was pulled from a file, or came with a feed
 *                 4          regular columns of the row were written here: their stamps have the
 *                            number of this row of the journal, or their own (core/row_cell.c)
 *                 5          the row cell was written here: it has the stamps before this
 *                 6          no change: what came with a feed and follows in the group has the
 *                            source that stands here
 *                 16 + 8 c   counter c was incremented by n, at one tick of the clock
 *                 17 + 8 c   the same at several ticks
 *                 18 + 8 c   the cell of counter c was written: it has the amounts before this;
 *                            the change was made here
 *                 19 + 8 c   the same: it was pulled; 20 + 8 c: it came with a feed
 *                 others     of later versions
 *     part      varint, for what was pulled or fed: what has changed, CTR_PART_... below
 *     source    16 bytes, for code 6: the id in the name of the source; then varints: twice the
 *               `upto` of its line, plus 1 if it gives own changes; what follows the / in its
 *               name, or 0. All of them 0: unknown again
 *     n         zigzag varint, for an increment
 *     ticks     varint, 2 ... 2^63-1, for an increment at several ticks
 *     word      varint, for stamps: 2 w, plus 1 if a number follows the mask
 *     mask      varint, for stamps, 1 ... 2^60-1: bit b is regular column 60 w + b
 *     number    varint, for stamps that were carried over: 1 ... 2^63-1
 *
 * Segments, which summarize rows for one table, have no amounts. They list the changed rows with
 * the numbers of their last changes, the origins of all changes and the part of the row that has
 * changed, in groups of one number, the same origins and the same part, the highest number first,
 * in one number the lowest origins, then the lowest part:
 *
 *     byte 0    0xE4
 *     number    varint: the number of the group before minus this one; 0 in the first group, which
 *               has the number of the segment
 *     n         varint: 8 times the count of rows in the group, 1 or more; plus their origins, a
 *               sum of 1 (made here), 2 (pulled), 4 (came with a feed)
 *     part      varint: what has changed
 *     rows      the first as zigzag varint, each other as varint: its difference to the one before
 *
 * The bytes may come from anywhere: a walk finds every fault. */

enum {
    CTR_ENTRIES_HEADER = 1,
    CTR_GROUP_HEADER_MAX = 15,    /* bytes of the table and the size of a group */
    CTR_GROUP_TABLES = INT32_MAX, /* the highest number of a table */
    CTR_GROUP_BITS = 63,
    CTR_ENTRY_MAX = 40,           /* bytes of the longest entry, and of a row in a segment */
    CTR_FED_MAX = 40,             /* bytes of what names a source, before an entry */
    CTR_ENTRY_COUNTERS = 1 << 15, /* a counter, or a regular column, has a lower number than this */
    CTR_ENTRY_MASK = 60           /* regular columns in a mask */
};

typedef enum ctr_entry_kind {
    CTR_ENTRY_CHANGED,
    CTR_ENTRY_FOLDED,
    CTR_ENTRY_ADDED,
    CTR_ENTRY_WRITTEN,
    CTR_ENTRY_STAMPED,
    CTR_ENTRY_ROW_WRITTEN
} ctr_entry_kind;

/* The origins of a change: whoever takes a change from this file asks for some of them. */
typedef enum ctr_origin { CTR_MADE_HERE = 1, CTR_PULLED = 2, CTR_FED = 4 } ctr_origin;

/* What of a row has changed. Parts join by themselves, so who has the rest of a row needs only the
 * parts that changed since. From CTR_PART_WRITERS on: the shards of a writer, in all counters of
 * the row. It stands there with 20 bits of its id: two writers that share them are one part. */
enum {
    CTR_PART_WHOLE,   /* all of the row: it is new, or a life rose */
    CTR_PART_COLUMNS, /* its regular columns */
    CTR_PART_OWN,     /* the shards of this file, under its present id and former ones */
    CTR_PART_WRITERS = 8,
    CTR_PARTS = CTR_PART_WRITERS + (1 << 20)
};

/* What brought a change that came with a feed: a line of a source, which goes up to a number. */
typedef struct ctr_fed {
    uint8_t id[CTR_ID_SIZE]; /* of the source */
    int64_t twist;
    bool own;
    int64_t upto; /* 1 or more */
} ctr_fed;

typedef struct ctr_entry {
    int64_t row;
    ctr_entry_kind kind;
    ctr_origin origin;  /* CTR_MADE_HERE for all but CTR_ENTRY_CHANGED and CTR_ENTRY_WRITTEN */
    int part;           /* what has changed; if made here, it follows from the kind */
    const ctr_fed *fed; /* borrowed: of CTR_FED; NULL: unknown */
    int counter;        /* of CTR_ENTRY_ADDED and CTR_ENTRY_WRITTEN */
    int64_t n, ticks;   /* of CTR_ENTRY_ADDED */
    int word;           /* of CTR_ENTRY_STAMPED, with `mask` */
    uint64_t mask;
    int64_t number; /* 0: that of the row of the journal */
} ctr_entry;

/* Walks entries, the groups of a row, or a segment. */
typedef struct ctr_entries {
    const uint8_t *at, *end;
    ctr_status status; /* CTR_OK, or the fault that ended the walk */
    int64_t row;
    bool is_fed; /* the entries that came with a feed came with a line: `fed` */
    ctr_fed fed;
    int64_t tabs, seen; /* groups: the mask of the row; the bits of those that were passed */
    int64_t number;     /* in a segment: the number of the group */
    int origins, part;  /* in a segment: those of the group */
    uint64_t left;      /* rows that remain in the group */
    bool begun;         /* a segment: its first group has been entered */
} ctr_entries;

/* A part of a row, the number of its last change, and the origins of its changes: a sum of
 * ctr_origin. */
typedef struct ctr_change_of_row {
    int64_t row, number;
    int origins, part;
} ctr_change_of_row;

/* Cassandra's counter contexts, for import and export.
 *
 * A context is Cassandra's form of one counter cell (org.apache.cassandra.db.context.
 * CounterContext), big-endian:
 *
 *     int16    n              header elements
 *     int16    element        n times: the shard at index i is global: i - 32768, or local: i
 *     32 bytes shard          counter id (16), clock (int64), count (int64);
 *                             ascending by id, unsigned
 *
 * A shard without an element is remote. Cassandra since 2.1 and ScyllaDB write global shards; local
 * and remote ones are older:
 *
 *     global + global         the higher clock, then the higher count
 *     global + other          the global one, whatever the clocks
 *     local + local           clocks and counts are added
 *     local + remote          the local one
 *     remote + remote         the higher clock, then the higher count */

enum {
    CTR_CONTEXT_MOST = 32767, /* shards that can be written: each has an element */
    CTR_CONTEXT_HEAD = 2,
    CTR_CONTEXT_ELEMENT = 2,
    CTR_CONTEXT_SHARD = 32
};

typedef enum ctr_context_status {
    CTR_CONTEXT_OK,
    CTR_CONTEXT_SHORT,           /* shorter than its header */
    CTR_CONTEXT_CLEARS_LOCAL,    /* n is negative: a marker between old nodes */
    CTR_CONTEXT_UNEVEN,          /* no whole number of shards follows the header */
    CTR_CONTEXT_ELEMENT_BEYOND,  /* an element points beyond the last shard */
    CTR_CONTEXT_ELEMENT_DOUBLED, /* elements do not ascend */
    CTR_CONTEXT_UNSORTED,        /* ids do not ascend */
    CTR_CONTEXT_CLOCK            /* a clock that no cell can have: below 1 */
} ctr_context_status;

typedef enum ctr_context_kind {
    CTR_CONTEXT_REMOTE,
    CTR_CONTEXT_LOCAL,
    CTR_CONTEXT_GLOBAL
} ctr_context_kind;

/* The sums are exact, so that local shards merge equally in any order. */
typedef struct ctr_context_shard {
    ctr_shard shard; /* its id is lent by the context */
    ctr_context_kind kind;
    ctr_sum clock, count; /* of the local shards that were merged into it */
} ctr_context_shard;

/* SQL, word by word, with spaces and comments skipped.
 *
 * Words and names are compared in letters of either case. */

/* A piece of the caller's text. Names have their quotes. */
typedef struct ctr_span {
    const char *text;
    size_t size;
} ctr_span;

typedef enum ctr_word_kind {
    CTR_WORD_END,
    CTR_WORD_PLAIN,  /* a keyword, or a name without quotes */
    CTR_WORD_QUOTED, /* a name in quotes, or a text */
    CTR_WORD_NUMBER, /* digits, perhaps with a sign */
    CTR_WORD_MARK    /* one other character, such as a quote that does not end */
} ctr_word_kind;

typedef struct ctr_words {
    const char *at; /* behind the word */
    ctr_word_kind kind;
    ctr_span word;
} ctr_words;

/* JSON (RFC 8259), checked as a whole and then walked. Values are spans of the text, texts with
 * their quotes. Nothing is allocated. What RFC 8259 leaves open: it is valid UTF-8, no text has
 * half of a surrogate pair, and nesting ends at CTR_JSON_DEPTH; who walks an object sees a member
 * that is there twice. */
enum { CTR_JSON_DEPTH = 64 };

typedef enum ctr_json_type {
    CTR_JSON_NULL,
    CTR_JSON_FALSE,
    CTR_JSON_TRUE,
    CTR_JSON_INTEGER, /* of any size */
    CTR_JSON_REAL,    /* has a fraction or an exponent */
    CTR_JSON_TEXT,
    CTR_JSON_ARRAY,
    CTR_JSON_OBJECT
} ctr_json_type;

/* The clauses of CREATE VIRTUAL TABLE ... USING counter(...).
 *
 *     name type... [COLLATE collation] [NOT NULL] [PRIMARY KEY]      a key column
 *     name COUNTER [NOT NULL] [DEFAULT 0]                            a counter
 *     [CONSTRAINT name] PRIMARY KEY (name [ASC], ...)    the last clause, unless a column has it
 *
 * NOT NULL and DEFAULT 0 change nothing; tools write them. The parser refuses everything else, as
 * Cassandra and ScyllaDB do: a counter table holds only counters and their key. The parser reads
 * the texts of SQLite (one for each clause, with comments and spaces as written), allocates nothing
 * and lends spans of the caller's texts. */

typedef struct ctr_declared {
    ctr_span name;
    ctr_span type;      /* empty if none was written */
    ctr_span collation; /* empty if none was written */
    bool counter;
    int key; /* position in the key, 0 ...; -1: not in it */
} ctr_declared;

/* Why a declaration is refused; `culprit` is the clause, column or name that causes it. */
typedef enum ctr_refusal {
    CTR_ACCEPTED,
    CTR_REFUSE_SYNTAX,           /* culprit: the clause */
    CTR_REFUSE_OPTION,           /* culprit: the clause, such as ttl=60 */
    CTR_REFUSE_TTL,              /* culprit: column */
    CTR_REFUSE_PLAIN_COLUMN,     /* culprit: column */
    CTR_REFUSE_COUNTER_IN_KEY,   /* culprit: column */
    CTR_REFUSE_COUNTER_TYPE,     /* culprit: column; COUNTER with other words */
    CTR_REFUSE_COUNTER_COLLATED, /* culprit: column */
    CTR_REFUSE_TYPE,             /* culprit: column; a type that is not plain words */
    CTR_REFUSE_CONSTRAINT,       /* culprit: column; word: UNIQUE, CHECK, ... */
    CTR_REFUSE_DEFAULT,          /* culprit: column; word: the value other than 0 */
    CTR_REFUSE_TABLE_CONSTRAINT, /* culprit: the clause */
    CTR_REFUSE_NAME_RESERVED,    /* culprit: column */
    CTR_REFUSE_NAME_OF_TABLE,    /* culprit: column */
    CTR_REFUSE_NAME_TWICE,       /* culprit: column */
    CTR_REFUSE_KEY_NOT_LAST,     /* culprit: the clause after it */
    CTR_REFUSE_KEY_TWICE,        /* culprit: column or clause */
    CTR_REFUSE_KEY_UNKNOWN,      /* culprit: name in the PRIMARY KEY that is no column */
    CTR_REFUSE_KEY_REPEATED,     /* culprit: name that is twice in the PRIMARY KEY */
    CTR_REFUSE_NO_KEY,
    CTR_REFUSE_NO_COUNTER,
    CTR_REFUSE_NOT_A_COUNTER /* culprit: column */
} ctr_refusal;

typedef struct ctr_declaration {
    ctr_declared *columns;
    int n_columns, n_keys;
    ctr_refusal refusal;
    ctr_span culprit, word;
} ctr_declaration;

/* The column affinity of a type, by SQLite's rules ("Datatypes In SQLite", 3.1). */
typedef enum ctr_affinity {
    CTR_AFFINITY_BLOB,
    CTR_AFFINITY_TEXT,
    CTR_AFFINITY_NUMERIC,
    CTR_AFFINITY_INTEGER,
    CTR_AFFINITY_REAL
} ctr_affinity;

/* Decides whether a database file is still the one that wrote its identity.
 *
 * An identity records the file that wrote it, its fingerprint, and the file's progress, its
 * witness:
 *
 *     fingerprint    inode and birth time of the file, in nanoseconds. Without a birth time, the
 *                    file's handle, which has the generation of the inode: a new one each time that
 *                    the inode is reused. With neither, inode and device are a weak
 *                    fingerprint: a file that was removed and put back may have both. A memory
 *                    database has a random instance instead.
 *     witness        a pair (number, random), the same in the file and in an extended attribute of
 *                    it. A counting file renews it, first in the file, then, after the commit,
 *                    in the attribute. A new file, and a copy, get the attribute before, with the
 *                    number 0, to see whether attributes work here.
 *
 * A copy has another fingerprint. Content restored in place has the fingerprint and an older pair,
 * or no attribute although the file had one. A file ahead of its attribute is legitimate: a crash
 * between the commit and the attribute causes this. */

enum { CTR_HANDLE_MAX = 128 }; /* bytes of a file handle, as in Linux */

typedef enum ctr_place { CTR_PLACE_UNKNOWN, CTR_PLACE_FILE, CTR_PLACE_MEMORY } ctr_place;

typedef struct ctr_fingerprint {
    ctr_place place;
    bool has_birth; /* of a file, like all but the last; in ns since 1970 */
    int64_t inode, birth;
    int64_t device;                 /* 0: unknown, or it changes at each mount */
    int handle_size;                /* 0: unknown */
    uint8_t handle[CTR_HANDLE_MAX]; /* if there is no birth time */
    uint8_t instance[CTR_ID_SIZE];  /* of a memory database */
} ctr_fingerprint;

/* Numbers are 1 ... 2^62; 0 in an attribute is older than any content. After each event they leap,
 * so that no older lineage overtakes them. `random` is not 0. */
typedef struct ctr_pair {
    int64_t number, random;
} ctr_pair;

#define CTR_PAIR_MAX ((int64_t)1 << 62)

typedef enum ctr_attribute_state {
    CTR_ATTRIBUTE_UNARMED, /* not supported here */
    CTR_ATTRIBUTE_MISSING,
    CTR_ATTRIBUTE_FOREIGN, /* another program wrote it */
    CTR_ATTRIBUTE_READ
} ctr_attribute_state;

typedef struct ctr_attribute {
    ctr_attribute_state state;
    ctr_pair pair; /* if read */
} ctr_attribute;

/* Why a file took an id. */
typedef enum ctr_why {
    CTR_WHY_NONE, /* it keeps its id */
    CTR_WHY_CREATED,
    CTR_WHY_COPY,
    CTR_WHY_RESTORE,
    CTR_WHY_CONFLICT,
    CTR_WHY_DROPPED,
    CTR_WHY_FORK,
    CTR_WHY_PROMOTED
} ctr_why;

/* The facts about its file that an identity records. */
typedef struct ctr_lineage {
    ctr_fingerprint fingerprint;
    ctr_pair pair;
    bool witnessed;      /* its attribute was read once, so attributes work here */
    bool trusts_witness; /* alone: an operator declared the fingerprint meaningless */
} ctr_lineage;

typedef struct ctr_verdict {
    ctr_why why; /* NONE, COPY or RESTORE */
    bool alone;  /* a copy by the fingerprint alone, with the same attribute: perhaps a file system
                  * renumbers inodes. Not set if the file was born later: that is a copy. */
} ctr_verdict;

/* Consistency levels: the number of replicas, of n, that a read or a write needs.
 *
 *     ONE, TWO, THREE    that many
 *     QUORUM             more than half of all
 *     ALL                all
 *     LOCAL_ONE          one of the local data center
 *     LOCAL_QUORUM       more than half of the replicas of the local data center
 *     EACH_QUORUM        more than half of the replicas of each data center
 *
 * They have the same meaning in Cassandra (org.apache.cassandra.db.ConsistencyLevel). Its levels
 * ANY, a hint instead of a replica, and SERIAL, a round of Paxos, do not exist here. */

typedef enum ctr_level {
    CTR_LEVEL_ONE,
    CTR_LEVEL_TWO,
    CTR_LEVEL_THREE,
    CTR_LEVEL_QUORUM,
    CTR_LEVEL_ALL,
    CTR_LEVEL_LOCAL_ONE,
    CTR_LEVEL_LOCAL_QUORUM,
    CTR_LEVEL_EACH_QUORUM,
    CTR_LEVEL_NONE /* no level has this name */
} ctr_level;

enum { CTR_LEVEL_SITES = 64 /* replicas of a cluster, at most */ };

/* A replica. `dc` is the number of its data center, 0 is the local one. */
typedef struct ctr_site {
    int dc;
    bool available;
} ctr_site;

/* A lack of replicas: the level needs `needed` of the `n` replicas of data center `dc`, or of all
 * if `dc` is -1, and only `available` of them are available. */
typedef struct ctr_shortage {
    int dc, needed, n, available;
} ctr_shortage;

/* ==== kind.c ================================================================================== */

/* Return the kind of a counter; the kind of a regular column. */
const ctr_kind *ctr_kind_counter(void);
const ctr_kind *ctr_kind_regular(void);

/* Return the kind of which cells have this first byte, in any format; with this word in a
 * declaration; with this type in <table>_cells. NULL: there is none. */
const ctr_kind *ctr_kind_of_byte(uint8_t first);
const ctr_kind *ctr_kind_of_word(ctr_span word);
const ctr_kind *ctr_kind_of_code(uint8_t code);
const ctr_kind *ctr_kind_of_stored(const char *type);

/* ==== cell.c ================================================================================== */

/* Writes the beginning of the next life of a cell that is in `life`: the next odd one if `live`,
 * else the next even one; to delete a deleted cell leaves it in its life. CTR_LAST_LIFE: there is
 * none. Needs CTR_CELL_HEADER_MAX bytes. */
ctr_status ctr_kind_begin_life(const ctr_kind *kind, uint32_t life, bool live, uint8_t *out,
                               size_t *size);

/* Returns two cells without the shards at their beginning and their end that are the same in both,
 * if they are of one life and of at least 256 bytes each; else the cells as they are. The views
 * borrow the bytes of the two. They are for ctr_cell_next and for functions that compare shards;
 * they are no cells to store or to merge. */
typedef struct ctr_trimmed {
    ctr_cell a, b;
} ctr_trimmed;
ctr_trimmed ctr_cell_trim(const ctr_cell *a, const ctr_cell *b);

/* Writes the cell without what others have written; its life stays. Needs cell->size bytes, and
 * CTR_CELL_HEADER_MAX. */
size_t ctr_cell_own(const ctr_cell *cell, const ctr_own_filter *own, uint8_t *out);

/* ==== row_cell.c ============================================================================== */

static inline bool ctr_row_cell_is_live(const ctr_row_cell *cell)
{
    return cell->life % 2 == 1;
}

/* Returns whether a wins over b; the id decides between equal numbers. */
bool ctr_row_cell_beats(const ctr_stamp *a, const ctr_stamp *b);

/* Returns a number below 0 if a was born before b, above it if after; 0: they are one row. */
int ctr_row_cell_age(const ctr_row_cell *a, const ctr_row_cell *b);

/* Returns the stamp of a column of a live row; NULL: it has none. */
const ctr_stamp *ctr_row_cell_stamp(const ctr_row_cell *cell, int column);

/* Returns the highest stamp of a live row. */
const ctr_stamp *ctr_row_cell_newest(const ctr_row_cell *cell);

/* Return the highest number of the stamps that an INSERT, or a write of the columns in the mask
 * (a bool for each), would replace; 0: none. */
int64_t ctr_row_cell_highest(const ctr_row_cell *cell);
int64_t ctr_row_cell_highest_of(const ctr_row_cell *cell, const bool *mask);

/* An INSERT: begins the next life unless the row is live, and stamps all columns; a write of the
 * columns in the mask of a live row; a DELETE of a live row. They return CTR_LAST_LIFE, and change
 * nothing, if there is no further life. */
ctr_status ctr_row_cell_insert(ctr_row_cell *cell, const ctr_stamp *stamp);
void ctr_row_cell_set(ctr_row_cell *cell, const bool *mask, const ctr_stamp *stamp);
void ctr_row_cell_set_column(ctr_row_cell *cell, int column, const ctr_stamp *stamp);
ctr_status ctr_row_cell_delete(ctr_row_cell *cell);

/* Joins with the row of another file, which has the column map[i] for my column i, or -1. Sets
 * `taken`, a bool for each of my columns: its value is now that of the other file. */
ctr_row_outcome ctr_row_cell_join(ctr_row_cell *mine, const ctr_row_cell *theirs, const int *map,
                                  bool *taken);

/* Returns whether the other file has lost values of a row that I have, of the same life: it has no
 * stamp of a column that was there when the row was inserted, or of any. A column that was added
 * later is without one until it is written. Call it before the join. */
bool ctr_row_cell_lacks(const ctr_row_cell *mine, const ctr_row_cell *theirs, const int *map);

/* Sets `apart`, a bool for each of my columns: both files had the row when each began to replicate
 * it, so nobody knows which of two values is the newer one. Not so for a column that both have
 * added since: a migration gives it a value in each file. Returns whether there are any; if there
 * are none, it may leave `apart` as it is. Call it before the join. */
bool ctr_row_cell_began_apart(const ctr_row_cell *mine, const ctr_row_cell *theirs, const int *map,
                              bool *apart);

/* Raises the stamp of a column, if it has one, to this generation, unless it has a higher one. */
void ctr_row_cell_raise(ctr_row_cell *cell, int column, int64_t generation);

/* Gives the stamps of a live row from when replication began this id, and the next number or the
 * one before it. Returns whether there are any. */
bool ctr_row_cell_begin_again(ctr_row_cell *cell, bool next, const uint8_t id[CTR_ID_SIZE]);

/* ---- as stored ------------------------------------------------------------------------------- */

/* Bytes that a cell with n columns needs at most. */
static inline size_t ctr_row_cell_room(int n)
{
    return 60 + (size_t)n * 30;
}

/* Write a cell, and return its size; read one into a cell with room for cell->n columns. Those
 * beyond the ones that were known when it was written have no stamp. ctr_row_cell_read returns
 * CTR_TRUNCATED, CTR_TRAILING, CTR_OUT_OF_RANGE (also for an unknown writer) or CTR_UNSORTED if the
 * bytes are damaged. */
size_t ctr_row_cell_write(const ctr_row_cell *cell, const ctr_writer_map *writers, uint8_t *out);
ctr_status ctr_row_cell_read(ctr_row_cell *cell, const ctr_writer_map *writers,
                             const uint8_t *bytes, size_t size);

/* Returns a clause for a message that follows a noun: "is truncated". Static text. */
const char *ctr_row_cell_status_text(ctr_status status);

/* ==== change.c ================================================================================ */

/* Write a change; all return the end. Room: CTR_CHANGE_HEADER_MAX, and for each column that and its
 * name and state; for an answer its bytes. A row begins with the number of its columns, which are
 * put in the order of their names. */
enum { CTR_CHANGE_HEADER_MAX = 96 };
uint8_t *ctr_change_begin_row(uint8_t *out, const ctr_told_row *row, uint64_t n);
uint8_t *ctr_change_put_column(uint8_t *out, const ctr_told_column *column);
uint8_t *ctr_change_put_floors(uint8_t *out);
uint8_t *ctr_change_put_generation(uint8_t *out, const ctr_told_column *column);
uint8_t *ctr_change_put_answer(uint8_t *out, const uint8_t *answer, size_t size);

/* Compares two columns in the order in which a row has them. */
int ctr_change_order(const ctr_told_column *a, const ctr_told_column *b);

/* Checks all of the bytes, which the view borrows, but an answer. Fails with CTR_NOT_A_CELL,
 * CTR_NEWER_FORMAT or, if they are damaged, as ctr_cell_open, and then says what is wrong. Times of
 * stamps may lie beyond CTR_STAMP_MAX. */
ctr_status ctr_change_open(ctr_change_view *change, const uint8_t *bytes, size_t size);

/* Walks the columns of a row: call it until it returns false. */
bool ctr_change_next(ctr_change_view *change, ctr_told_column *column);

/* ==== key.c =================================================================================== */

/* Begin a key, and append a value to it; both return its end. Room: CTR_KEY_HEADER, and for each
 * value CTR_KEY_VALUE_MAX and its bytes. */
uint8_t *ctr_key_begin(uint8_t *out);
uint8_t *ctr_key_put(uint8_t *out, const ctr_key_value *value);

/* Checks all of `bytes`, and sets `n` to the number of values. `holes` allows CTR_KEY_NOTHING.
 * Returns CTR_NOT_A_CELL if it is no packed key. */
ctr_status ctr_key_check(const uint8_t *bytes, size_t size, bool holes, int *n);

/* Steps over one value without the beginning of a key, as ctr_key_check does. */
ctr_status ctr_key_take(const uint8_t **at, const uint8_t *end, bool holes);

/* Reads a value that was checked; returns its end. */
const uint8_t *ctr_key_read(const uint8_t *from, ctr_key_value *value);

/* Walks the values of a checked key: set `at` to 0, call until it returns false. */
bool ctr_key_next(const uint8_t *bytes, size_t size, size_t *at, ctr_key_value *value);

/* Makes values that SQLite compares as equal one: a REAL that is a whole number becomes an
 * INTEGER. */
void ctr_key_unify(ctr_key_value *value);

/* Returns a clause that follows a noun, for a status of a key. Static text. */
const char *ctr_key_status_text(ctr_status status);

/* Writes "4c5128aa-402c-31c8-9fc0-6c27b0f53f93", in lower case, with a NUL. */
void ctr_id_to_text(const uint8_t id[CTR_ID_SIZE], char text[CTR_ID_TEXT_SIZE]);

/* Reads the same form, in upper or lower case. Returns false for any other text. `size` counts the
 * characters without a NUL. */
bool ctr_id_from_text(const char *text, size_t size, uint8_t id[CTR_ID_SIZE]);

/* Returns what a hexadecimal digit stands for; -1 if it is none. */
int ctr_id_digit(char c);

/* Computes the id under which the pending holder of a name writes: bytes 8 and 9 XOR 3F FF, as in
 * ScyllaDB. Negating it again gives the id itself. */
void ctr_id_negate(const uint8_t id[CTR_ID_SIZE], uint8_t negated[CTR_ID_SIZE]);

/* Returns whether the id is an opening (table/table.h): a UUID of version 8. The second makes one
 * of an id of another version. */
static inline bool ctr_id_is_opening(const uint8_t id[CTR_ID_SIZE])
{
    return id[6] >> 4 == 8;
}

static inline void ctr_id_make_opening(uint8_t id[CTR_ID_SIZE])
{
    id[6] = (uint8_t)((id[6] & 0x0f) | 0x80);
}

/* Returns whether this is "dc:rack", with exactly one colon and both sides non-empty. */
bool ctr_id_is_name(const char *name, size_t size);

static inline uint64_t ctr_bytes_get(const uint8_t *bytes)
{
    uint64_t n = 0;
    for (int i = 0; i < 8; i++) n = n << 8 | bytes[i];
    return n;
}

static inline uint8_t *ctr_bytes_put(uint8_t *out, uint64_t n)
{
    for (int i = 0; i < 8; i++) out[i] = (uint8_t)(n >> (56 - 8 * i));
    return out + 8;
}

/* Two's complement. */
static inline int64_t ctr_bytes_get_signed(const uint8_t *bytes)
{
    uint64_t n = ctr_bytes_get(bytes);
    int64_t value;
    memcpy(&value, &n, sizeof value);
    return value;
}

/* Varints are LEB128 of minimal length, with the zigzag that keeps small negative values short.
 * They are inline, because cells consist of them. */

/* Writes n; returns its end. */
static inline uint8_t *ctr_varint_put(uint8_t *out, uint64_t n)
{
    while (n >= 0x80) {
        *out++ = (uint8_t)(n | 0x80);
        n >>= 7;
    }
    *out++ = (uint8_t)n;
    return out;
}

/* ==== entries.c =============================================================================== */

/* Returns the part of a writer, by the last 20 bits of the exclusive or of the words of its id. */
int ctr_entries_part_of(const uint8_t id[CTR_ID_SIZE]);

/* Begins a row of the journal, or a segment. Returns its end. */
uint8_t *ctr_entries_begin(uint8_t *out);

/* Appends an entry, after what names its source if that is another one; returns the end of the
 * entries. `last` is the entry before in the group, at first one of zeros; the source of the last
 * that came with a feed stays in it. Room: CTR_ENTRY_MAX, and CTR_FED_MAX if it came with a
 * feed. */
uint8_t *ctr_entries_put(uint8_t *out, ctr_entry *last, const ctr_entry *entry);

/* Returns whether two are of the same source, and up to the same number. */
bool ctr_fed_same(const ctr_fed *a, const ctr_fed *b);

/* Completes a group at `out`, whose `size` bytes of entries stand at out + CTR_GROUP_HEADER_MAX:
 * puts its table and size in front of them. Returns its end. */
uint8_t *ctr_entries_group_put(uint8_t *out, int64_t table, size_t size);

/* Returns the bit of a table. */
static inline int64_t ctr_entries_bit(int64_t table)
{
    return INT64_C(1) << table % CTR_GROUP_BITS;
}

/* Begins a walk through the groups of a row, with the mask beside it. Returns CTR_NOT_A_CELL if
 * these are no entries. */
ctr_status ctr_entries_open(ctr_entries *groups, const uint8_t *bytes, size_t size, int64_t tabs);

/* Goes to the next group, with its table and a walk through its entries. Returns false at the end
 * or at a fault: CTR_UNSORTED, if the mask is not that of the groups. */
bool ctr_entries_group_next(ctr_entries *groups, int64_t *table, ctr_entries *entries);

/* The same for the groups of one table. */
bool ctr_entries_group_of(ctr_entries *groups, int64_t table, ctr_entries *entries);

/* Reads the next entry, which may borrow from the walk. Returns false at the end or at a fault. */
bool ctr_entries_next(ctr_entries *entries, ctr_entry *entry);

/* The same for a segment with this number: open it, and read its rows one by one. */
ctr_status ctr_entries_segment_open(ctr_entries *entries, const uint8_t *bytes, size_t size,
                                    int64_t number);
bool ctr_entries_segment_next(ctr_entries *entries, ctr_change_of_row *change);

/* Passes over rows of the group at hand that are lower than `row`: the next one may still be. */
void ctr_entries_segment_pass(ctr_entries *entries, int64_t row);

/* Compares two changes of a segment: descending by number, then ascending by origins, by part, by
 * row. */
int ctr_entries_segment_order(const ctr_change_of_row *a, const ctr_change_of_row *b);

/* Writes a segment of n changes, 1 or more, in that order. Returns its size. Room:
 * CTR_ENTRIES_HEADER + n * CTR_ENTRY_MAX. */
size_t ctr_entries_segment_write(const ctr_change_of_row *changes, size_t n, uint8_t *out);

/* Returns a clause that follows a noun, for a status of entries. Static text. */
const char *ctr_entries_status_text(ctr_status status);

/* ==== context.c =============================================================================== */

/* Returns the most shards that `size` bytes have room for. */
size_t ctr_context_room(size_t size);

/* Checks all of `bytes` and reads them into `shards`, which has room for ctr_context_room(size):
 * *n shards, ascending by id. */
ctr_context_status ctr_context_open(const uint8_t *bytes, size_t size, ctr_context_shard *shards,
                                    size_t *n);

/* Merges an opened context and a list into `out`, which has room for both; all ascend by id.
 * Returns the number of shards in `out`. */
size_t ctr_context_merge(const ctr_context_shard *list, size_t n_list,
                         const ctr_context_shard *context, size_t n_context,
                         ctr_context_shard *out);

/* Computes the shard that results from a merge. Returns false if the sum of the clocks or of the
 * counts of local shards leaves int64. */
bool ctr_context_shard_of(const ctr_context_shard *merged, ctr_shard *shard);

/* Writes the shards of a cell as a context of global shards, without the cell's life. `out` has
 * ctr_context_size(n) bytes for n shards, at most CTR_CONTEXT_MOST. */
size_t ctr_context_size(size_t n);
size_t ctr_context_write(const ctr_cell *cell, uint8_t *out);

/* Returns a clause that follows a noun: "is shorter than its header says". Static text. */
const char *ctr_context_text(ctr_context_status status);

/* ==== words.c ================================================================================= */

/* Moves to the next word. Begin with {.at = sql}, before the first one. */
void ctr_word_next(ctr_words *words);

/* Return whether the words stand at this plain word, at this mark, at any name. */
bool ctr_word_at(const ctr_words *words, const char *word);
bool ctr_word_at_mark(const ctr_words *words, char mark);
bool ctr_word_at_name(const ctr_words *words);

/* Returns whether `sql` has the plain word `one`, with `other` right behind it unless that is
 * NULL. */
bool ctr_word_follow(const char *sql, const char *one, const char *other);

/* Return where a word goes into the CREATE text of a table, behind the end of another one: the word
 * AUTOINCREMENT behind its PRIMARY KEY, or into the parentheses of that, NULL if it is there or if
 * there is no such key; a further table constraint, NULL if the text has no columns. */
const char *ctr_word_before_autoincrement(const char *sql);
const char *ctr_word_before_constraint(const char *sql);

/* Returns whether the text is the word. */
bool ctr_word_is(ctr_span span, const char *word);

/* Returns whether the text has the word, also inside of another one: UNREPLACED has replace. The
 * word is not empty. */
bool ctr_word_is_in(const char *word, const char *text);

/* Writes a name without its quotes, doubled quotes as single ones, with a NUL. `out` has
 * span.size + 1 bytes. */
void ctr_word_unquote(ctr_span span, char *out);

/* Return whether two names are the same, whatever their quotes; the second has none. */
bool ctr_word_same_name(ctr_span a, ctr_span b);
bool ctr_word_names(ctr_span name, const char *text);

/* ==== json.c ================================================================================== */

/* Returns whether it is UTF-8 (RFC 3629). */
bool ctr_utf8_is(const void *bytes, size_t size);

/* Returns the longest beginning of UTF-8, of at most `most` bytes, that ends with a character. */
int ctr_utf8_cut(ctr_span text, int most);

/* Checks a text of one value, and sets `value` to it. Returns NULL or, if it is no such text, a
 * clause that follows a noun: "is cut short". Static text. */
const char *ctr_json_check(const char *text, size_t size, ctr_span *value);

/* The others take values that were checked. */
ctr_json_type ctr_json_type_of(ctr_span value);

/* Walks an array, or an object, whose members have names: set `at` to 0, call it until it returns
 * false. */
bool ctr_json_next(ctr_span parent, size_t *at, ctr_span *name, ctr_span *value);

/* Reads an integer. Returns false beyond 64 bits. */
bool ctr_json_integer(ctr_span number, int64_t *n);

/* Writes what a text says, in at most string.size bytes, without a NUL; returns how many. */
size_t ctr_json_text(ctr_span string, char *out);

/* Writes the bytes that a text of hexadecimal digits says, (string.size - 2) / 2; returns false for
 * any other value. */
bool ctr_json_hex(ctr_span string, uint8_t *out);

/* Returns whether a value is this text, of at most 60 characters. */
bool ctr_json_is(ctr_span string, const char *text);

/* ==== declaration.c =========================================================================== */

/* Returns the affinity of a declared type. */
ctr_affinity ctr_declaration_affinity(const char *type);

/* Parses n clauses into `room`, which has room for n columns and becomes declaration->columns.
 * Returns false, with the reason in declaration->refusal, if they are refused. */
bool ctr_declaration_parse(ctr_declaration *declaration, ctr_declared *room, const char *table,
                           const char *const *clauses, int n);

/* Parses one clause that adds a counter to an existing table, "errors" or "errors COUNTER", with
 * NOT NULL or DEFAULT 0. `room` has room for one column. */
bool ctr_declaration_counter(ctr_declaration *declaration, ctr_declared *room, const char *table,
                             const char *clause);

/* Writes the type in one spelling: words with one space between, then (n) or (n,m). `out` has
 * span.size + 1 bytes. */
void ctr_declaration_type(ctr_span span, char *out);

/* Returns whether a declaration can have this type. The caller checks the types of foreign files
 * before it uses them. */
bool ctr_declaration_is_plain(const char *type);

/* Returns whether no column may have this name: "", _..., rowid, oid, request_id. */
bool ctr_declaration_reserves(const char *name);

/* Returns whether no counter table may have this name: counter_... */
bool ctr_declaration_reserves_table(const char *table);

/* ==== lineage.c =============================================================================== */

/* Returns "created", "copy", "restore", "conflict", "dropped table", "fork", "promoted". */
const char *ctr_lineage_why(ctr_why why);

/* Compares an identity with the present fingerprint and attribute of the file. */
ctr_verdict ctr_lineage_judge(const ctr_lineage *lineage, const ctr_fingerprint *seen,
                              const ctr_attribute *attribute);

bool ctr_lineage_same_place(const ctr_fingerprint *a, const ctr_fingerprint *b);

/* Returns whether only the inode, and perhaps the device, distinguishes the file from another
 * one. */
bool ctr_lineage_is_weak(const ctr_fingerprint *fingerprint);

/* Returns whether the attribute must be written once `pair` is committed. It never falls. */
bool ctr_lineage_outdates(const ctr_pair *pair, const ctr_attribute *attribute);

/* Returns the number after an event: far above all numbers seen so far. */
int64_t ctr_lineage_leap(int64_t number, const ctr_attribute *attribute);

/* ==== level.c ================================================================================= */

/* Reads a name in upper or lower case. */
ctr_level ctr_level_from_text(const char *text);
const char *ctr_level_text(ctr_level level);

/* Return whether the level depends on the data center of each replica, and on the local one. */
bool ctr_level_needs_centers(ctr_level level);
bool ctr_level_is_local(ctr_level level);

/* Returns whether enough replicas are available; else fills `shortage`. */
bool ctr_level_is_met(ctr_level level, const ctr_site *sites, int n, ctr_shortage *shortage);

/* Writes the numbers of the replicas that a read contacts, the first available ones in the given
 * order, to `contacts`, which has room for n. Returns their count, or -1 if too few are
 * available. */
int ctr_level_contacts(ctr_level level, const ctr_site *sites, int n, int *contacts,
                       ctr_shortage *shortage);

/* =================================================================================================
 * Only files of this folder use what follows.
 */

/* ==== cell.c ================================================================================== */

/* What a counter answers as a kind: see ctr_kind. */
ctr_status ctr_shards_check(const uint8_t *at, const uint8_t *end, const uint8_t *id,
                            ctr_summary *summary);
ctr_status ctr_shards_meant(ctr_meaning meaning, const ctr_sum *sum, int64_t from, int64_t n,
                            ctr_sum *difference);
void ctr_shards_show(const ctr_cell *cell, ctr_sum *sum);
size_t ctr_shards_join(const ctr_cell *a, const ctr_cell *b, uint8_t *out);
ctr_order ctr_shards_compare(const ctr_cell *a, const ctr_cell *b);
size_t ctr_shards_diff(const ctr_cell *cell, const ctr_cell *known, uint8_t *out);
size_t ctr_shards_own(const ctr_cell *cell, const ctr_own_filter *own, uint8_t *out);

/* ==== key.c =================================================================================== */

/* Reads a varint, or returns its fault: CTR_TRUNCATED, CTR_NOT_MINIMAL, CTR_OUT_OF_RANGE. */
static inline ctr_status ctr_varint_take(const uint8_t **at, const uint8_t *end, uint64_t *n)
{
    uint64_t result = 0;
    if (*at < end && **at < 0x80) {
        *n = *(*at)++;
        return CTR_OK;
    }
    for (int i = 0; i < CTR_VARINT_MAX; i++) {
        if (*at == end) return CTR_TRUNCATED;
        uint8_t byte = *(*at)++;
        if (i == CTR_VARINT_MAX - 1 && byte > 1) return CTR_OUT_OF_RANGE;
        result |= (uint64_t)(byte & 0x7f) << (7 * i);
        if (byte & 0x80) continue;
        if (byte == 0 && i > 0) return CTR_NOT_MINIMAL;
        *n = result;
        return CTR_OK;
    }
    return CTR_OUT_OF_RANGE;
}

/* The same for bytes that ctr_varint_take has accepted before. Returns the end of the varint. */
static inline const uint8_t *ctr_varint_read(const uint8_t *at, uint64_t *n)
{
    uint64_t result = 0;
    int shift = 0;
    for (; *at & 0x80; shift += 7) result |= (uint64_t)(*at++ & 0x7f) << shift;
    *n = result | (uint64_t)*at++ << shift;
    return at;
}

/* 0, -1, 1, -2 become 0, 1, 2, 3. */
static inline uint64_t ctr_varint_zigzag(int64_t n)
{
    return (uint64_t)n << 1 ^ (n < 0 ? UINT64_MAX : 0);
}

static inline int64_t ctr_varint_unzigzag(uint64_t n)
{
    uint64_t bits = n >> 1 ^ (n & 1 ? UINT64_MAX : 0);
    int64_t value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

#endif
