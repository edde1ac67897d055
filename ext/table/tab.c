/* table/tab.c - makes, finds and frees the tables of a file. */
#include "table/tab.h"

#include "table/batch.h"

static ctr_tab *make_tab(ctr_replica *replica, sqlite3 *db, const char *schema, const char *table,
                         int n_counters, ctr_problem *problem)
{
    ctr_tab *tab = sqlite3_malloc64(sizeof *tab);
    if (!tab) {
        ctr_problem_nomem(problem);
        return NULL;
    }
    *tab = (ctr_tab){.replica = replica,
                     .db = db,
                     .schema = sqlite3_mprintf("%s", schema),
                     .table = sqlite3_mprintf("%s", table),
                     .cache.n_counters = n_counters};
    if (tab->schema && tab->table) return tab;
    ctr_problem_nomem(problem);
    ctr_tab_free(tab);
    return NULL;
}

ctr_tab *ctr_tab_to_read(sqlite3 *db, const char *schema, const char *table, int n_counters,
                         ctr_problem *problem)
{
    return problem->rc == SQLITE_OK ? make_tab(NULL, db, schema, table, n_counters, problem) : NULL;
}

ctr_run ctr_tab_run(const ctr_tab *tab, ctr_problem *problem)
{
    return tab ? ctr_run_on(tab->db, tab->schema, tab->table, problem)
               : (ctr_run){.problem = problem};
}

void ctr_tab_release(ctr_tab *tab)
{
    ctr_transaction_close_kept(&tab->since);
    ctr_transaction_close_kept(&tab->append);
    ctr_transaction_close_kept(&tab->extend);
}

void ctr_tab_free(ctr_tab *tab)
{
    if (!tab) return;
    ctr_tab_release(tab);
    ctr_cache_clear(&tab->cache);
    ctr_cache_clear_amounts(&tab->amounts);
    sqlite3_free(tab->batch);
    sqlite3_free(tab->marks);
    sqlite3_free(tab->open.bytes);
    sqlite3_free(tab->schema);
    sqlite3_free(tab->table);
    sqlite3_free(tab);
}

static ctr_tab *find_tab(ctr_replica *replica, const char *table)
{
    ctr_tab *tab = replica->tabs;
    while (tab && sqlite3_stricmp(tab->table, table) != 0) tab = tab->next;
    return tab;
}

ctr_tab *ctr_tab_of(ctr_replica *replica, const char *table, int n_counters, ctr_problem *problem)
{
    ctr_tab *tab = find_tab(replica, table);
    if (problem->rc != SQLITE_OK) return NULL;
    if (!tab) {
        tab = make_tab(replica, replica->transaction->db, replica->schema, table, n_counters,
                       problem);
        if (!tab) return NULL;
        tab->next = replica->tabs;
        replica->tabs = tab;
    }
    if (tab->cache.n_counters != n_counters) {
        ctr_journal_drop(tab);
        tab->cache.n_counters = n_counters;
        tab->shapes++;
    }
    tab->doubtful = true;
    return tab;
}

void ctr_tab_forget(ctr_replica *replica, const char *table)
{
    ctr_tab *tab = find_tab(replica, table);
    if (tab && ctr_batch_pending(tab) == 0) ctr_journal_drop(tab);
}

void ctr_tab_close_all(ctr_replica *replica)
{
    replica->touched = NULL;
    while (replica->tabs) {
        ctr_tab *tab = replica->tabs;
        replica->tabs = tab->next;
        ctr_tab_free(tab);
    }
}
