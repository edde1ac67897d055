/* identity/instance.h - a random id and a witness for the lifetime of each memory database.
 *
 * A file has an inode; a memory database differs from a copy of its content only by its object in
 * this process. So the connections that share a memory database and count in it also share a second
 * one, named after the first. The first connection puts a random id into it. It lives until the
 * last of these connections closes. So several connections of one memory database are one replica.
 * Content that is loaded into another one, or after all of them have closed, is a copy.
 *
 * After DETACH the next memory database may have the same address. So we mark the open one by a
 * setting that is not part of its content: its journal_size_limit, which a memory database does
 * not use.
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

/* `file` is SQLite's object for the database, which connections of a shared cache share. `path` is
 * the name of a database that the VFS memdb shares, or NULL. The caller closes the instance, also
 * after a failure. */
int ctr_instance_open(ctr_instance *instance, const void *file, const char *path,
                      ctr_problem *problem);

/* Marks the schema's memory database as this instance; returns whether it still has the mark. */
void ctr_instance_mark(const ctr_instance *instance, sqlite3 *db, const char *schema,
                       ctr_problem *problem);
bool ctr_instance_is_marked(const ctr_instance *instance, sqlite3 *db, const char *schema,
                            ctr_problem *problem);

/* The witness replaces the attribute of a file; like that, it never falls. It counts as missing
 * while another thread writes it. */
int ctr_instance_read(ctr_instance *instance, ctr_attribute *witness, ctr_problem *problem);
void ctr_instance_write(ctr_instance *instance, const ctr_pair *pair);

/* A second call does nothing. */
void ctr_instance_close(ctr_instance *instance);

#endif
