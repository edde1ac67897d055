/* file/uuid.h - UUIDs, with or without libuuid; no other module knows which. */
#ifndef CTR_FILE_UUID_H
#define CTR_FILE_UUID_H

#include "core/core.h"

/* A random id (version 4). */
void ctr_uuid_random(uint8_t id[CTR_ID_SIZE]);

/* The id of a replica's name: version 3 (MD5) in the DNS namespace of RFC 4122. */
void ctr_uuid_of_name(const char *name, uint8_t id[CTR_ID_SIZE]);

/* The id of bytes in a name space: version 5 (SHA-1). */
void ctr_uuid_in(const uint8_t space[CTR_ID_SIZE], const uint8_t *bytes, size_t size,
                 uint8_t digest[CTR_ID_SIZE]);

/* The digest of a cell or of other bytes: version 5 (SHA-1) in the namespace of cells,
 * 8f4c7e52-6a1d-5b0e-9c37-2d1e0a94b6f3. */
void ctr_uuid_of_bytes(const uint8_t *bytes, size_t size, uint8_t digest[CTR_ID_SIZE]);

#endif
