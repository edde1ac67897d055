/* merge/brought.c - adds up what merges have brought. */
#include "merge/merge.h"

bool ctr_brought_any(const ctr_brought *brought)
{
    return brought->deleted > 0 || brought->conflicts > 0 || brought->ahead.number > 0;
}

int64_t ctr_brought_tomorrow(void)
{
    return ctr_regular_number(0) + INT64_C(86400000) * CTR_STAMPS_IN_MS;
}

void ctr_brought_stamp(ctr_brought *to, const ctr_stamp *stamp, int64_t tomorrow)
{
    if (stamp->number > tomorrow && stamp->number > to->ahead.number) to->ahead = *stamp;
}

void ctr_brought_add(ctr_brought *to, const ctr_brought *more)
{
    to->deleted += more->deleted;
    to->conflicts += more->conflicts;
    if (more->ahead.number > to->ahead.number) to->ahead = more->ahead;
}

void ctr_brought_list_add(ctr_brought_list *list, const char *birth, const ctr_brought *more,
                          ctr_problem *problem)
{
    size_t i = 0;
    if (!ctr_brought_any(more)) return;
    while (i < list->n && sqlite3_stricmp(list->tables[i].birth, birth) != 0) i++;
    struct ctr_brought_table *tables =
        ctr_array_room(list->tables, &list->room, i + 1, sizeof *tables, problem);
    if (!tables) return;
    list->tables = tables;
    if (i == list->n) {
        tables[i] = (struct ctr_brought_table){.birth = sqlite3_mprintf("%s", birth)};
        if (!tables[i].birth) {
            ctr_problem_nomem(problem);
            return;
        }
        list->n++;
    }
    ctr_brought_add(&tables[i].brought, more);
}

void ctr_brought_list_close(ctr_brought_list *list)
{
    for (size_t i = 0; i < list->n; i++) sqlite3_free(list->tables[i].birth);
    sqlite3_free(list->tables);
    *list = (ctr_brought_list){0};
}

static void close_brought(void *list)
{
    ctr_brought_list_close(list);
    sqlite3_free(list);
}

ctr_brought_list *ctr_brought_of(ctr_conn *conn)
{
    if (!conn->brought) {
        conn->brought = sqlite3_malloc64(sizeof(ctr_brought_list));
        if (conn->brought) *(ctr_brought_list *)conn->brought = (ctr_brought_list){0};
        conn->close_brought = close_brought;
    }
    return conn->brought;
}
