/*
 * wall.c: the watchers of the machine's wall clock.
 */
#include "time/wall.h"

#include "sync/sync.h"
#include "time/running.h"

static bly_mutex lock;
static belay_clock_watcher *watchers; /* lock */
static bly_running running;           /* lock: the watcher that is being called */

int bly_wall_watch(belay_clock_watcher *watcher)
{
    bly_mutex_lock(&lock);
    watcher->prev = NULL;
    watcher->next = watchers;
    if (watchers != NULL) {
        watchers->prev = watcher;
    }
    watchers = watcher;
    bly_mutex_unlock(&lock);
    return 0;
}

void bly_wall_unwatch(belay_clock_watcher *watcher)
{
    bly_mutex_lock(&lock);
    if (watcher->next != NULL) {
        watcher->next->prev = watcher->prev;
    }
    if (watcher->prev != NULL) {
        watcher->prev->next = watcher->next;
    } else {
        watchers = watcher->next;
    }
    bly_running_wait(&running, watcher, &lock);
    bly_mutex_unlock(&lock);
}
