/* identity/instance.h - a random id, and a witness, for each memory database, as long as it lives.
 *
 * A file has an inode; a memory database has nothing that a copy of its content would not have too,
 * but for being the same object in this process. The rule: the connections that count in one memory
 * database, and share it, hold a second one of their own, named after the first, in which the first
 * of them puts a random id. It lives as long as one of them does. So several connections of one
 * memory database are one replica, and content that is loaded into another, or after all of them
 * have closed, is a copy.
 *
 * After DETACH the next memory database may stand at the same address. So the open one is marked,
 * by a setting that is not part of its content: its journal_size_limit, which memory has no use
 * for.
 */
#ifndef CTR_IDENTITY_INSTANCE_H
#define CTR_IDENTITY_INSTANCE_H

#include "core/id.h"
#include "core/lineage.h"
#include "sqlite/problem.h"

typedef struct ctr_instance {
    uint8_t id[CTR_ID_SIZE];

    sqlite3 *db; /* private, owned, as are the statements */
    sqlite3_stmt *read, *write;
} ctr_instance;

/* `file` is what SQLite has for the database, shared by a shared cache; `path` is the name of one
 * that the VFS memdb shares, or NULL. To be closed whatever is returned. */
int ctr_instance_open(ctr_instance *instance, const void *file, const char *path,
                      ctr_problem *problem);

/* Marks the schema's memory database as this instance; does it still have the mark? */
void ctr_instance_mark(const ctr_instance *instance, sqlite3 *db, const char *schema,
                       ctr_problem *problem);
bool ctr_instance_is_marked(const ctr_instance *instance, sqlite3 *db, const char *schema,
                            ctr_problem *problem);

/* The witness stands for the attribute of a file, and is as little lowered as that. While another
 * thread writes it, it counts as missing. */
int ctr_instance_read(ctr_instance *instance, ctr_attribute *witness, ctr_problem *problem);
void ctr_instance_write(ctr_instance *instance, const ctr_pair *pair);

/* Twice is harmless. */
void ctr_instance_close(ctr_instance *instance);

#endif
