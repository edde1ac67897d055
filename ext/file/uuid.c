/* file/uuid.c - calls libuuid or, without it, the system's random numbers and third_party/.
 *
 * Linux and the BSDs have libuuid. COUNTER_NO_LIBUUID builds without it, as always on Windows,
 * macOS and in browsers. Both return the same bytes for the same name.
 */
#if defined(__linux__) && !defined(_GNU_SOURCE)
#define _GNU_SOURCE /* getentropy */
#endif
#if defined(_WIN32)
#define _CRT_RAND_S /* rand_s */
#endif
#if defined(_WIN32) || defined(__APPLE__) || defined(__EMSCRIPTEN__)
#undef COUNTER_NO_LIBUUID
#define COUNTER_NO_LIBUUID
#endif

#include "file/uuid.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const uint8_t CELLS[CTR_ID_SIZE] = {0x8f, 0x4c, 0x7e, 0x52, 0x6a, 0x1d, 0x5b, 0x0e,
                                           0x9c, 0x37, 0x2d, 0x1e, 0x0a, 0x94, 0xb6, 0xf3};

#if !defined(COUNTER_NO_LIBUUID)

#include <uuid/uuid.h>

void ctr_uuid_random(uint8_t id[CTR_ID_SIZE])
{
    uuid_generate_random(id);
}

void ctr_uuid_of_name(const char *name, uint8_t id[CTR_ID_SIZE])
{
    uuid_generate_md5(id, *uuid_get_template("dns"), name, strlen(name));
}

void ctr_uuid_in(const uint8_t space[CTR_ID_SIZE], const uint8_t *bytes, size_t size,
                 uint8_t digest[CTR_ID_SIZE])
{
    uuid_generate_sha1(digest, space, (const char *)bytes, size);
}

#else

#if !defined(_WIN32)
#include <sys/random.h>
#include <unistd.h> /* getentropy, of musl */
#endif

#include "third_party/digests.h"

/* RFC 4122: the version in the first four bits of byte 6, the variant in the first two of 8. */
static void set_version(uint8_t id[CTR_ID_SIZE], int version)
{
    id[6] = (uint8_t)((id[6] & 0x0f) | version << 4);
    id[8] = (uint8_t)((id[8] & 0x3f) | 0x80);
}

static bool fill_random(uint8_t *bytes, size_t size)
{
#if defined(_WIN32)
    for (size_t at = 0; at < size; at += sizeof(unsigned)) {
        unsigned number;
        if (rand_s(&number) != 0) return false;
        memcpy(bytes + at, &number, sizeof number);
    }
    return true;
#elif defined(__EMSCRIPTEN__)
    return getentropy(bytes, size) == 0;
#else
    if (getentropy(bytes, size) == 0) return true;
    FILE *device = fopen("/dev/urandom", "rb");
    bool is_read = device && fread(bytes, 1, size, device) == size;
    if (device) fclose(device);
    return is_read;
#endif
}

/* Aborts without random numbers: an id that another file has, too, would lose counts. */
void ctr_uuid_random(uint8_t id[CTR_ID_SIZE])
{
    if (!fill_random(id, CTR_ID_SIZE)) abort();
    set_version(id, 4);
}

void ctr_uuid_of_name(const char *name, uint8_t id[CTR_ID_SIZE])
{
    static const uint8_t DNS[CTR_ID_SIZE] = {0x6b, 0xa7, 0xb8, 0x10, 0x9d, 0xad, 0x11, 0xd1,
                                             0x80, 0xb4, 0x00, 0xc0, 0x4f, 0xd4, 0x30, 0xc8};
    struct UL_MD5Context md5;
    ul_MD5Init(&md5);
    ul_MD5Update(&md5, DNS, sizeof DNS);
    ul_MD5Update(&md5, (const uint8_t *)name, (unsigned)strlen(name));
    ul_MD5Final(id, &md5);
    set_version(id, 3);
}

void ctr_uuid_in(const uint8_t space[CTR_ID_SIZE], const uint8_t *bytes, size_t size,
                 uint8_t digest[CTR_ID_SIZE])
{
    UL_SHA1_CTX sha1;
    uint8_t whole[UL_SHA1LENGTH];
    ul_SHA1Init(&sha1);
    ul_SHA1Update(&sha1, space, CTR_ID_SIZE);
    ul_SHA1Update(&sha1, bytes, (uint32_t)size);
    ul_SHA1Final(whole, &sha1);
    memcpy(digest, whole, CTR_ID_SIZE);
    set_version(digest, 5);
}

#endif

void ctr_uuid_of_bytes(const uint8_t *bytes, size_t size, uint8_t digest[CTR_ID_SIZE])
{
    ctr_uuid_in(CELLS, bytes, size, digest);
}
