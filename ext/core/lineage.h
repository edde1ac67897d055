/* core/lineage.h - is this database file still the one that wrote its identity?
 *
 * An identity says where it was written, its fingerprint, and how far it had come, its witness:
 *
 *     fingerprint    inode and birth time of the file, in nanoseconds. Without a birth time, the
 *                    file's handle, which has the generation of the inode: another one each time
 *                    that the inode is used again. Without either, the inode and the device are
 *                    weak: a file that was removed and put back may have both. A memory database
 *                    has a random instance instead.
 *     witness        a pair (number, random), the same in the file and in an extended attribute of
 *                    it; renewed while the file counts, the file first, the attribute after the
 *                    commit.
 *
 * A copy has another fingerprint. Content restored in place has the fingerprint and an older pair,
 * or no attribute where the file has had one. The other way round, a file ahead of its attribute,
 * is what a crash between commit and attribute leaves, and innocent.
 */
#ifndef CTR_CORE_LINEAGE_H
#define CTR_CORE_LINEAGE_H

#include "counter_cell.h"

enum { CTR_HANDLE_MAX = 128 }; /* bytes of a file handle, as Linux has it */

typedef enum ctr_place { CTR_PLACE_UNKNOWN, CTR_PLACE_FILE, CTR_PLACE_MEMORY } ctr_place;

typedef struct ctr_fingerprint {
    ctr_place place;
    bool has_birth; /* of a file, as all but the last; in ns since 1970 */
    int64_t inode, birth;
    int64_t device;                 /* 0: unknown, or another one at each mount */
    int handle_size;                /* 0: unknown */
    uint8_t handle[CTR_HANDLE_MAX]; /* where there is no birth time */
    uint8_t instance[CTR_ID_SIZE];  /* of a memory database */
} ctr_fingerprint;

/* Numbers are 1 ... 2^62; after each event they leap, so that no older lineage overtakes. */
typedef struct ctr_pair {
    int64_t number, random;
} ctr_pair;

#define CTR_PAIR_MAX ((int64_t)1 << 62)

typedef enum ctr_attribute_state {
    CTR_ATTRIBUTE_UNARMED, /* there are none here */
    CTR_ATTRIBUTE_MISSING,
    CTR_ATTRIBUTE_FOREIGN, /* somebody else has written it */
    CTR_ATTRIBUTE_READ
} ctr_attribute_state;

typedef struct ctr_attribute {
    ctr_attribute_state state;
    ctr_pair pair; /* if read */
} ctr_attribute;

/* Why a file has taken an id. */
typedef enum ctr_why {
    CTR_WHY_NONE, /* it keeps the one it has */
    CTR_WHY_CREATED,
    CTR_WHY_COPY,
    CTR_WHY_RESTORE,
    CTR_WHY_CONFLICT,
    CTR_WHY_DROPPED,
    CTR_WHY_FORK,
    CTR_WHY_PROMOTED
} ctr_why;

/* "created", "copy", "restore", "conflict", "dropped table", "fork", "promoted". */
const char *ctr_lineage_why(ctr_why why);

/* What an identity says of its file. */
typedef struct ctr_lineage {
    ctr_fingerprint fingerprint;
    ctr_pair pair;
    bool witnessed;      /* its attribute has been seen, so it works here */
    bool trusts_witness; /* alone: an operator has said that the fingerprint means nothing */
} ctr_lineage;

typedef struct ctr_verdict {
    ctr_why why; /* NONE, COPY or RESTORE */
    bool alone;  /* a copy by the fingerprint alone, while the attribute came along: perhaps a file
                  * system that gives inodes other numbers. A copy that is born later is honest. */
} ctr_verdict;

/* Judges an identity by what is seen of the file now. */
ctr_verdict ctr_lineage_judge(const ctr_lineage *lineage, const ctr_fingerprint *seen,
                              const ctr_attribute *attribute);

bool ctr_lineage_same_place(const ctr_fingerprint *a, const ctr_fingerprint *b);

/* Is there nothing but the inode, and perhaps the device, to tell the file from another one? */
bool ctr_lineage_is_weak(const ctr_fingerprint *fingerprint);

/* Is the attribute to be written once `pair` is committed? Never is it lowered. */
bool ctr_lineage_outdates(const ctr_pair *pair, const ctr_attribute *attribute);

/* The number after an event: beyond everything seen so far. */
int64_t ctr_lineage_leap(int64_t number, const ctr_attribute *attribute);

#endif
