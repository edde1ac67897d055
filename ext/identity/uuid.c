/* identity/uuid.c - calls libuuid. */
#include "identity/uuid.h"

#include <string.h>
#include <uuid/uuid.h>

void ctr_uuid_random(uint8_t id[CTR_ID_SIZE])
{
    uuid_generate_random(id);
}

void ctr_uuid_of_name(const char *name, uint8_t id[CTR_ID_SIZE])
{
    uuid_generate_md5(id, *uuid_get_template("dns"), name, strlen(name));
}

void ctr_uuid_of_bytes(const uint8_t *bytes, size_t size, uint8_t digest[CTR_ID_SIZE])
{
    static const uuid_t CELLS = {0x8f, 0x4c, 0x7e, 0x52, 0x6a, 0x1d, 0x5b, 0x0e,
                                 0x9c, 0x37, 0x2d, 0x1e, 0x0a, 0x94, 0xb6, 0xf3};
    uuid_generate_sha1(digest, CELLS, (const char *)bytes, size);
}
