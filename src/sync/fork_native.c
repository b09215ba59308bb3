/*
 * fork_native.c: fork handlers, and the generation that tells a forked child from its parent.
 *
 * Hooks are pushed on a list that only grows, newest first; `before` therefore walks it as it is,
 * and the other two go through it backwards by recursion. There is one hook for each folder that
 * has something to forget, so the depth is bounded by the number of folders.
 */
#include "sync/sync.h"

uint64_t bly_native_generation = 1;

static bly_fork_hook *hooks; /* atomic: pushed by bly_at_fork, read around a fork */
static bly_mutex watch_lock; /* makes one registration of the handlers */
static uint32_t is_watched;  /* atomic: 1 once the handlers are registered */

static void before_fork(void)
{
    /* acquire, with the release of bly_at_fork: the hook's fields are seen. */
    for (bly_fork_hook *hook = bly_load(&hooks, BLY_ACQUIRE); hook != NULL; hook = hook->next) {
        if (hook->before != NULL) {
            hook->before();
        }
    }
}

static void tell_parent(const bly_fork_hook *hook)
{
    if (hook != NULL) {
        tell_parent(hook->next);
        if (hook->parent != NULL) {
            hook->parent();
        }
    }
}

static void tell_child(const bly_fork_hook *hook)
{
    if (hook != NULL) {
        tell_child(hook->next);
        if (hook->child != NULL) {
            hook->child();
        }
    }
}

static void after_in_parent(void)
{
    tell_parent(bly_load(&hooks, BLY_ACQUIRE)); /* acquire: as in before_fork */
}

static void after_in_child(void)
{
    /* relaxed: the child has no other thread yet. */
    (void)bly_fetch_add(&bly_native_generation, UINT64_C(1), BLY_RELAXED);
    tell_child(bly_load(&hooks, BLY_ACQUIRE)); /* acquire: as in before_fork */
}

/* Tries again at the next call when the system has no memory for the handlers. */
static void watch_forks(void)
{
    bly_mutex_lock(&watch_lock);
    /* relaxed: the lock orders the only writers. release: with the acquire below. */
    if (bly_load(&is_watched, BLY_RELAXED) == 0 &&
        pthread_atfork(before_fork, after_in_parent, after_in_child) == 0) {
        bly_store(&is_watched, 1u, BLY_RELEASE);
    }
    bly_mutex_unlock(&watch_lock);
}

uint64_t bly_fork_generation(void)
{
    if (bly_load(&is_watched, BLY_ACQUIRE) == 0) {
        watch_forks();
    }
    return bly_load(&bly_native_generation, BLY_RELAXED); /* relaxed: see bly_forked_since */
}

void bly_at_fork(bly_fork_hook *hook)
{
    (void)bly_fork_generation();
    hook->next = bly_load(&hooks, BLY_RELAXED);
    /* release, with the acquires above. */
    while (!bly_cas(&hooks, &hook->next, hook, BLY_RELEASE, BLY_RELAXED)) {
    }
}
