/* scan.h - bounds what a line of a batch holds, before it is parsed.
 *
 * A parser needs many times the room of a line such as {"changes":[{},{},...]}, and a few
 * kilobytes of gzip are hundreds of megabytes of that. So the bytes of a line that comes from
 * elsewhere are counted as they arrive.
 * */
#ifndef CLI_SCAN_H
#define CLI_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    CLI_LINE_CHANGES = 1000,   /* of a line, by docs/batches.md */
    CLI_LINE_VALUES = 2000000, /* those of a cell with 250,000 shards */
};

typedef struct cli_scan {
    bool in_text, escaped;
    int depth;
    bool in_array;     /* of the batch itself, such as its changes */
    int64_t separated; /* elements of that array, but the last one */
    int64_t values;
} cli_scan;

/* Reads on. Returns NULL, or what is wrong with the line. Outside of its texts nothing may stand
 * that JSON does not know: the parser takes more, such as texts in other quotes and comments. */
const char *cli_scan_bytes(cli_scan *scan, const char *bytes, size_t size);

#endif
