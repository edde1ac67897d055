/* lines.h - the parts of the benchmark that have files of their own. */
#ifndef LINES_H
#define LINES_H

void measure_tracked(void); /* tracked.c: tracked columns */
void measure_keys(void);    /* tracked.c: tables with INTEGER PRIMARY KEY */
void measure_tables(void);  /* tables.c: files of many tables */
void measure_fsyncs(void);  /* fsyncs.c: one statement per transaction, on durable storage */

#endif
