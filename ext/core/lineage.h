/* core/lineage.h - decides whether a database file is still the one that wrote its identity.
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
 * between the commit and the attribute causes this.
 */
#ifndef CTR_CORE_LINEAGE_H
#define CTR_CORE_LINEAGE_H

#include "counter_cell.h"

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

/* Returns "created", "copy", "restore", "conflict", "dropped table", "fork", "promoted". */
const char *ctr_lineage_why(ctr_why why);

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

#endif
