/*
 * wall.c: the watchers of the machine's wall clock.
 */
#include "time/wall.h"

#include "base/list.h"
#include "sync/sync.h"
#include "time/running.h"

static bly_mutex lock;
static bly_list watchers = {&watchers, &watchers}; /* lock */
static bly_running running;                        /* lock: the watcher that is being called */

int bly_wall_watch(belay_clock_watcher *watcher)
{
    bly_mutex_lock(&lock);
    bly_list_push_back(&watchers, &watcher->link);
    bly_mutex_unlock(&lock);
    return 0;
}

void bly_wall_unwatch(belay_clock_watcher *watcher)
{
    bly_mutex_lock(&lock);
    bly_list_remove(&watcher->link);
    bly_running_wait(&running, watcher, &lock);
    bly_mutex_unlock(&lock);
}
