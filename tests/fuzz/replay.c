/* replay.c - runs a target over files, without libFuzzer: replay_<what> file ...
 *
 * A claim that does not hold, and what the sanitizers find, ends it; the file is named.
 */
#include <sanitizer/common_interface_defs.h>

#include "fuzz.h"

/* Measurements are built without sanitizers. */
#pragma weak __sanitizer_set_death_callback

int LLVMFuzzerInitialize(int *argc, char ***argv) __attribute__((weak));

static const char *path = "";

static void say_where(void)
{
    fprintf(stderr, "died at %s\n", path);
}

static void replay(void)
{
    static uint8_t bytes[1 << 20];
    FILE *file = fopen(path, "rb");
    if (!file) {
        perror(path);
        exit(2);
    }
    size_t size = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    uint8_t *copy = fuzz_copy(bytes, size);
    LLVMFuzzerTestOneInput(copy, size);
    free(copy);
}

int main(int argc, char **argv)
{
    if (__sanitizer_set_death_callback) __sanitizer_set_death_callback(say_where);
    if (LLVMFuzzerInitialize) LLVMFuzzerInitialize(&argc, &argv);
    for (int i = 1; i < argc; i++) {
        path = argv[i];
        replay();
    }
    printf("%d passed, 0 failed\n", argc - 1);
    return argc < 2;
}
