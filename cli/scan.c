/* scan.c - counts what a line of a batch holds. */
#include "cli/scan.h"

/* The batch itself is at the depth 1, its members at 2. */
enum { OF_BATCH = 2 };

static void read_text(cli_scan *scan, char byte)
{
    if (scan->escaped)
        scan->escaped = false;
    else if (byte == '\\')
        scan->escaped = true;
    else if (byte == '"')
        scan->in_text = false;
}

/* Returns whether JSON may have the byte outside of a text. */
static bool read_structure(cli_scan *scan, char byte)
{
    switch (byte) {
    case '"': scan->in_text = true; return true;
    case '[':
    case '{':
        scan->values++;
        if (++scan->depth != OF_BATCH) return true;
        scan->in_array = byte == '[';
        scan->separated = 0;
        return true;
    case ']':
    case '}': scan->depth--; return true;
    case ',':
        scan->separated += scan->depth == OF_BATCH && scan->in_array;
        scan->values++;
        return true;
    case ':': scan->values++; return true;
    case '\'':
    case '/': return false;
    default: return true;
    }
}

const char *cli_scan_bytes(cli_scan *scan, const char *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        if (scan->in_text)
            read_text(scan, bytes[i]);
        else if (!read_structure(scan, bytes[i]))
            return "it is not JSON, or was cut short";
        if (scan->separated >= CLI_LINE_CHANGES)
            return "it has more than 1000 changes, the limit of a line";
        if (scan->values > CLI_LINE_VALUES)
            return "it has more than 2000000 values, the limit of a line";
    }
    return NULL;
}
