/*
 * manual_clock.c: a clock that a test moves by hand.
 *
 * Three kinds wait for it: timer services, through their drivers; threads asleep in blocking calls;
 * and watchers, who are told after a move. advance takes the earliest deadline of the first two
 * again and again, sets the clock to it and fires or wakes. Numbers drawn from `order`, by armed
 * timers and by sleepers alike, decide between equal deadlines.
 *
 * Sleepers stand on their own stacks, in a list ordered by deadline. Whoever takes one off decides
 * its result under the lock and wakes it afterwards; it may be gone by then, which a futex allows.
 * A wake is not lost: a sleeper looks at its word under the lock that wake takes after the word was
 * changed.
 *
 * Drivers and watchers are called under no lock, and may go away at any time: running.h.
 *
 * Lock order: this lock, then a timer service's.
 */
#include "belay/test.h"

#include "base/list.h"
#include "sync/sync.h"
#include "time/running.h"
#include "time/watchers.h"

/* The result of a sleep that has not ended. */
#define ASLEEP  1u
#define WOKEN   0u
#define EXPIRED 2u

typedef struct sleeper {
    bly_list link;       /* lock: by (deadline, order) */
    uint32_t *word;      /* constant */
    int64_t deadline_ns; /* constant */
    uint64_t order;      /* constant */
    uint32_t state;      /* atomic: written under the lock, slept on by its thread */
} sleeper;

typedef struct manual_clock {
    belay_clock clock;          /* constant after create */
    int64_t now_ns;             /* atomic: written under the lock by who moves the clock */
    int64_t wall_offset_ns;     /* atomic: written under the lock by who moves the clock */
    uint64_t order;             /* atomic: the last number given */
    bly_mutex lock;             /* of what follows */
    bool is_moving;             /* lock */
    bly_list sleepers;          /* lock */
    uint32_t sleeper_count;     /* lock */
    uint32_t sleeper_changes;   /* atomic: written under the lock, slept on by await_sleepers */
    bly_list drivers;           /* lock */
    bly_running driver_running; /* lock */
    bly_watchers watchers;      /* lock */
} manual_clock;

static manual_clock *manual_of(belay_clock *clock)
{
    return bly_container(clock, manual_clock, clock);
}

static int64_t manual_now(belay_clock *clock)
{
    /* acquire, with the release of set_now_locked: what came before the move is seen. */
    return bly_load(&manual_of(clock)->now_ns, BLY_ACQUIRE);
}

static int64_t manual_wall(belay_clock *clock)
{
    manual_clock *self = manual_of(clock);
    /* relaxed: a reading between two moves may show either. */
    return belay_time_add(manual_now(clock), bly_load(&self->wall_offset_ns, BLY_RELAXED));
}

static uint64_t manual_order(belay_clock *clock)
{
    /* relaxed: only the number matters. */
    return bly_fetch_add(&manual_of(clock)->order, UINT64_C(1), BLY_RELAXED) + 1;
}

static void set_now_locked(manual_clock *self, int64_t now_ns)
{
    if (now_ns > bly_load(&self->now_ns, BLY_RELAXED)) { /* relaxed: written under the lock */
        bly_store(&self->now_ns, now_ns, BLY_RELEASE); /* release, with the acquire of manual_now */
    }
}

/* Sleepers. */

static sleeper *sleeper_of(bly_list *link)
{
    return bly_container(link, sleeper, link);
}

static void add_sleeper_locked(manual_clock *self, sleeper *added)
{
    bly_list *place = &self->sleepers;
    while (place->prev != &self->sleepers &&
           sleeper_of(place->prev)->deadline_ns > added->deadline_ns) {
        place = place->prev;
    }
    bly_list_insert_before(place, &added->link);
    self->sleeper_count++;
    /* relaxed: the lock orders it. */
    (void)bly_fetch_add(&self->sleeper_changes, 1u, BLY_RELAXED);
}

/* Ends a sleep; after unlocking bly_futex_wake(&it->state) must follow. */
static void remove_sleeper_locked(manual_clock *self, sleeper *it, uint32_t state)
{
    bly_list_remove(&it->link);
    self->sleeper_count--;
    /* release, with the acquire of sleep: what the waker did before is seen. */
    bly_store(&it->state, state, BLY_RELEASE);
}

static int sleep_on(sleeper *it)
{
    uint32_t state;
    /* acquire, with the release of remove_sleeper_locked. */
    while ((state = bly_load(&it->state, BLY_ACQUIRE)) == ASLEEP) {
        (void)bly_futex_wait(&it->state, ASLEEP, BELAY_FOREVER);
    }
    return state == WOKEN ? 0 : BELAY_ETIMEDOUT;
}

static int manual_wait(belay_clock *clock, uint32_t *word, uint32_t expected, int64_t until_ns)
{
    manual_clock *self = manual_of(clock);
    sleeper it = {
        .word = word, .deadline_ns = until_ns, .order = manual_order(clock), .state = ASLEEP};
    bly_mutex_lock(&self->lock);
    bool is_late = until_ns <= manual_now(clock);
    /* acquire, with the release of the word's writer, where that has one. */
    bool is_awake = bly_load(word, BLY_ACQUIRE) != expected;
    if (!is_late && !is_awake) {
        add_sleeper_locked(self, &it);
    }
    bly_mutex_unlock(&self->lock);
    if (is_awake) {
        return 0;
    }
    if (is_late) {
        return BELAY_ETIMEDOUT;
    }
    bly_futex_wake(&self->sleeper_changes, BLY_WAKE_ALL);
    return sleep_on(&it);
}

/* The first sleeper on the word that began before `order`; NULL when there is none. */
static sleeper *find_sleeper_locked(manual_clock *self, const uint32_t *word, uint64_t order)
{
    bly_list_each (node, &self->sleepers) {
        sleeper *it = sleeper_of(node);
        if (it->word == word && it->order <= order) {
            return it;
        }
    }
    return NULL;
}

/* Wakes one sleeper of the word that began before `order`; false when there is none. */
static bool wake_one(manual_clock *self, const uint32_t *word, uint64_t order)
{
    bly_mutex_lock(&self->lock);
    sleeper *found = find_sleeper_locked(self, word, order);
    if (found != NULL) {
        remove_sleeper_locked(self, found, WOKEN);
    }
    bly_mutex_unlock(&self->lock);
    if (found != NULL) {
        bly_futex_wake(&found->state, 1);
    }
    return found != NULL;
}

static void manual_wake(belay_clock *clock, uint32_t *word, uint32_t count)
{
    manual_clock *self = manual_of(clock);
    uint64_t order = manual_order(clock);
    while (count > 0 && wake_one(self, word, order)) {
        count--;
    }
}

/* Watchers and drivers. */

static int manual_watch(belay_clock *clock, belay_clock_watcher *watcher)
{
    manual_clock *self = manual_of(clock);
    bly_mutex_lock(&self->lock);
    bly_watchers_add(&self->watchers, watcher);
    bly_mutex_unlock(&self->lock);
    return 0;
}

static void manual_unwatch(belay_clock *clock, belay_clock_watcher *watcher)
{
    manual_clock *self = manual_of(clock);
    bly_mutex_lock(&self->lock);
    bly_watchers_remove(&self->watchers, watcher, &self->lock);
    bly_mutex_unlock(&self->lock);
}

static void manual_drive(belay_clock *clock, belay_clock_driver *driver)
{
    manual_clock *self = manual_of(clock);
    bly_mutex_lock(&self->lock);
    bly_list_push_back(&self->drivers, &driver->link);
    bly_mutex_unlock(&self->lock);
}

static void manual_undrive(belay_clock *clock, belay_clock_driver *driver)
{
    manual_clock *self = manual_of(clock);
    bly_mutex_lock(&self->lock);
    bly_list_remove(&driver->link);
    bly_running_wait(&self->driver_running, driver, &self->lock);
    bly_mutex_unlock(&self->lock);
}

/* The driver whose first timer comes first; NULL when none has one. */
static belay_clock_driver *first_driver_locked(manual_clock *self, int64_t *ret_deadline_ns,
                                               uint64_t *ret_order)
{
    belay_clock_driver *first = NULL;
    *ret_deadline_ns = BELAY_FOREVER;
    bly_list_each (node, &self->drivers) {
        belay_clock_driver *driver = bly_container(node, belay_clock_driver, link);
        uint64_t order = 0;
        int64_t deadline_ns = driver->earliest(driver, &order);
        if (deadline_ns < *ret_deadline_ns ||
            (first != NULL && deadline_ns == *ret_deadline_ns && order < *ret_order)) {
            first = driver;
            *ret_deadline_ns = deadline_ns;
            *ret_order = order;
        }
    }
    return first;
}

static void fire_unlock(manual_clock *self, belay_clock_driver *driver, int64_t deadline_ns)
{
    void (*finish)(bool) = driver->finish;
    set_now_locked(self, deadline_ns);
    bly_running_begin(&self->driver_running, driver);
    bly_mutex_unlock(&self->lock);
    bool fired = driver->fire(driver, manual_now(&self->clock));
    bly_mutex_lock(&self->lock);
    bool is_waited_for = bly_running_end(&self->driver_running);
    bly_mutex_unlock(&self->lock);
    if (is_waited_for) {
        bly_running_wake(&self->driver_running);
    }
    finish(fired);
}

static void expire_unlock(manual_clock *self, sleeper *it)
{
    set_now_locked(self, it->deadline_ns);
    remove_sleeper_locked(self, it, EXPIRED);
    bly_mutex_unlock(&self->lock);
    bly_futex_wake(&it->state, 1);
}

/* One deadline: fires or wakes the first that is at or before to_ns. False when there is none. */
static bool step(manual_clock *self, int64_t to_ns)
{
    int64_t deadline_ns = BELAY_FOREVER;
    uint64_t order = UINT64_MAX;
    bly_mutex_lock(&self->lock);
    belay_clock_driver *driver = first_driver_locked(self, &deadline_ns, &order);
    bly_list *first = bly_list_first(&self->sleepers);
    sleeper *it = first != NULL ? sleeper_of(first) : NULL;
    bool is_sleeper = it != NULL && (it->deadline_ns < deadline_ns ||
                                     (it->deadline_ns == deadline_ns && it->order < order));
    if (is_sleeper && it->deadline_ns <= to_ns) {
        expire_unlock(self, it);
        return true;
    }
    if (!is_sleeper && driver != NULL && deadline_ns <= to_ns) {
        fire_unlock(self, driver, deadline_ns);
        return true;
    }
    set_now_locked(self, to_ns);
    bly_mutex_unlock(&self->lock);
    return false;
}

/* The exclusive right to move the clock; BELAY_EBUSY when somebody has it. */
static int begin_move(manual_clock *self)
{
    bly_mutex_lock(&self->lock);
    bool was_moving = self->is_moving;
    self->is_moving = true;
    bly_mutex_unlock(&self->lock);
    return was_moving ? BELAY_EBUSY : 0;
}

static void end_move(manual_clock *self)
{
    bly_mutex_lock(&self->lock);
    self->is_moving = false;
    bly_mutex_unlock(&self->lock);
}

static bool is_manual(const belay_clock *clock)
{
    return clock != NULL && clock->now == manual_now;
}

int belay_manual_clock_create(int64_t now_ns, int64_t wall_ns, belay_clock **ret_clock)
{
    if (ret_clock == NULL || now_ns == BELAY_NOW || now_ns == BELAY_FOREVER) {
        return BELAY_EINVAL;
    }
    manual_clock *self = bly_alloc(sizeof *self);
    if (self == NULL) {
        return BELAY_ENOMEM;
    }
    self->clock = (belay_clock){.now = manual_now,
                                .now_coarse = manual_now,
                                .wall = manual_wall,
                                .wait = manual_wait,
                                .wake = manual_wake,
                                .watch = manual_watch,
                                .unwatch = manual_unwatch,
                                .drive = manual_drive,
                                .undrive = manual_undrive,
                                .order = manual_order};
    self->now_ns = now_ns;
    self->wall_offset_ns = belay_time_add(wall_ns, -now_ns);
    bly_list_init(&self->sleepers);
    bly_list_init(&self->drivers);
    bly_watchers_init(&self->watchers);
    *ret_clock = &self->clock;
    return 0;
}

int belay_manual_clock_advance(belay_clock *clock, int64_t to_ns)
{
    if (!is_manual(clock) || to_ns == BELAY_FOREVER || to_ns < manual_now(clock)) {
        return BELAY_EINVAL;
    }
    manual_clock *self = manual_of(clock);
    int result = begin_move(self);
    if (result != 0) {
        return result;
    }
    while (step(self, to_ns)) {
    }
    bly_watchers_tell(&self->watchers, &self->lock);
    end_move(self);
    return 0;
}

int belay_manual_clock_set_wall(belay_clock *clock, int64_t wall_ns)
{
    if (!is_manual(clock)) {
        return BELAY_EINVAL;
    }
    manual_clock *self = manual_of(clock);
    int result = begin_move(self);
    if (result != 0) {
        return result;
    }
    /* relaxed: see manual_wall. */
    bly_store(&self->wall_offset_ns, belay_time_add(wall_ns, -manual_now(clock)), BLY_RELAXED);
    bly_watchers_tell(&self->watchers, &self->lock);
    end_move(self);
    return 0;
}

int64_t belay_manual_clock_next_deadline(belay_clock *clock)
{
    if (!is_manual(clock)) {
        return BELAY_FOREVER;
    }
    manual_clock *self = manual_of(clock);
    int64_t deadline_ns = BELAY_FOREVER;
    uint64_t order = 0;
    bly_mutex_lock(&self->lock);
    (void)first_driver_locked(self, &deadline_ns, &order);
    bly_list *first = bly_list_first(&self->sleepers);
    if (first != NULL && sleeper_of(first)->deadline_ns < deadline_ns) {
        deadline_ns = sleeper_of(first)->deadline_ns;
    }
    bly_mutex_unlock(&self->lock);
    return deadline_ns;
}

int belay_manual_clock_await_sleepers(belay_clock *clock, uint32_t count)
{
    if (!is_manual(clock)) {
        return BELAY_EINVAL;
    }
    manual_clock *self = manual_of(clock);
    for (;;) {
        bly_mutex_lock(&self->lock);
        bool is_enough = self->sleeper_count >= count;
        uint32_t changes = bly_load(&self->sleeper_changes, BLY_RELAXED); /* relaxed: the lock */
        bly_mutex_unlock(&self->lock);
        if (is_enough) {
            return 0;
        }
        (void)bly_futex_wait(&self->sleeper_changes, changes, BELAY_FOREVER);
    }
}

int belay_manual_clock_destroy(belay_clock *clock)
{
    if (clock == NULL) {
        return 0;
    }
    if (!is_manual(clock)) {
        return BELAY_EINVAL;
    }
    manual_clock *self = manual_of(clock);
    bly_mutex_lock(&self->lock);
    bool is_busy = self->is_moving || self->sleeper_count != 0 ||
                   !bly_list_is_empty(&self->drivers) || !bly_list_is_empty(&self->watchers.list);
    bly_mutex_unlock(&self->lock);
    if (is_busy) {
        return BELAY_EBUSY;
    }
    bly_mutex_destroy(&self->lock);
    bly_free(self);
    return 0;
}
