/*
 * limits.c: see limits.h.
 *
 * A job that finds all it wants free takes it at once. Otherwise it keeps nothing and stands in
 * line for the first limit it lacks; when its turn comes it tries the others again. Most jobs have
 * them then. One that has not gives back what it got and from then on goes through the limits in
 * their order, keeping each while it stands in line for the next. Giving back every time would let
 * jobs that want the same limits pass permits round among each other without end, and let newcomers
 * overtake for ever. Keeping cannot deadlock: a job that waits holds only limits before the one it
 * waits for, and a job that holds all it wants waits for no limit.
 */
#include "limits.h"

#include <assert.h>
#include <string.h>

#include "limitspec.h"
#include "sems.h"

struct bly_limit {
    char *name;
    uint32_t capacity;
    belay_sem *sem;
};

struct bly_want {
    belay_sem *sem;
    size_t limit; /* its place among the limits */
    uint32_t permits;
    bool is_held;
    belay_lease lease;
};

/*
 * Declaring.
 */

static size_t find(const struct bly_limits *limits, const struct bly_limitspec *spec)
{
    size_t at = 0;
    while (at < limits->count &&
           (strlen(limits->items[at].name) != spec->name_len ||
            memcmp(limits->items[at].name, spec->name, spec->name_len) != 0)) {
        at++;
    }
    return at;
}

static void add_limit(struct bly_limits *limits, const struct bly_limitspec *spec)
{
    assert(limits->count < BLY_LIMITS_MAX);
    uint32_t capacity = spec->capacity > 0 ? spec->capacity : 1;
    limits->items =
        bly_mem_grow(limits->items, &limits->max, limits->count + 1, sizeof *limits->items);
    limits->items[limits->count++] =
        (struct bly_limit){.name = bly_mem_text(spec->name, spec->name_len),
                           .capacity = capacity,
                           .sem = bly_sems_make(limits->timers, capacity)};
}

/* Adds to what is wanted of a limit, where the limit's place in the order is. */
static const char *add_want(struct bly_permits *permits, const struct bly_limit *limit,
                            size_t place, uint32_t count)
{
    size_t at = 0;
    while (at < permits->count && permits->wants[at].limit < place) {
        at++;
    }
    struct bly_want *want = &permits->wants[at];
    if (at == permits->count || want->limit != place) {
        memmove(want + 1, want, (permits->count - at) * sizeof *want);
        *want = (struct bly_want){.sem = limit->sem, .limit = place};
        permits->count++;
    }
    want->permits += count;
    return want->permits > limit->capacity
               ? "it wants more permits than the limit has; declare it by NAME=N"
               : NULL;
}

static const char *declare(struct bly_limits *limits, const char *text, struct bly_permits *permits)
{
    struct bly_limitspec spec = {0};
    const char *why = bly_limitspec_parse(text, &spec);
    assert(why == NULL);
    (void)why;
    size_t place = find(limits, &spec);
    if (place == BLY_LIMITS_MAX) {
        return "there are more than 1000 limits";
    }
    if (place == limits->count) {
        add_limit(limits, &spec);
    }
    const struct bly_limit *limit = &limits->items[place];
    if (spec.capacity > 0 && spec.capacity != limit->capacity) {
        return "the limit has another capacity already; write NAME=N once";
    }
    return add_want(permits, limit, place, spec.permits);
}

const char *bly_limits_declare(struct bly_limits *limits, const struct bly_words *specs,
                               struct bly_permits *ret_permits)
{
    struct bly_permits permits = {0};
    const char *why = NULL;
    if (specs->count > 0) {
        permits.wants = bly_mem((specs->count + 1) * sizeof *permits.wants);
    }
    for (size_t i = 0; i < specs->count && why == NULL; i++) {
        why = declare(limits, bly_words_at(specs, i), &permits);
    }
    if (why != NULL) {
        bly_permits_free(&permits);
        return why;
    }
    *ret_permits = permits;
    return NULL;
}

/*
 * Taking and waiting.
 */

void bly_permits_give(struct bly_permits *permits)
{
    for (size_t i = 0; i < permits->count; i++) {
        struct bly_want *want = &permits->wants[i];
        if (want->is_held) {
            want->is_held = false;
            int result = belay_lease_release(&want->lease);
            assert(result == 0);
            (void)result;
        }
    }
}

bool bly_permits_take(struct bly_permits *permits)
{
    for (size_t i = 0; i < permits->count; i++) {
        struct bly_want *want = &permits->wants[i];
        if (!want->is_held) {
            int result = belay_sem_acquire(want->sem, &want->lease, want->permits, BELAY_NOW, NULL);
            want->is_held = result == 0;
            if (!want->is_held) {
                assert(result == BELAY_EAGAIN || result == BELAY_ECLOSED);
                permits->lacking = i;
                bly_permits_give(permits);
                return false;
            }
        }
    }
    return true;
}

/* The wait is over. Last: fn may free the permits. */
static void tell(struct bly_permits *permits, bool is_had)
{
    if (!is_had) {
        bly_permits_give(permits);
    }
    permits->fn(permits->arg, is_had);
}

static void on_turn(belay_lease *lease, int result, void *arg);

/* Stands in line for the want that is lacking: 0, BELAY_PENDING or BELAY_ECLOSED. */
static int stand(struct bly_permits *permits)
{
    struct bly_want *want = &permits->wants[permits->lacking];
    assert(!want->is_held);
    int result = belay_sem_acquire_async(want->sem, &want->lease, want->permits, BELAY_FOREVER,
                                         NULL, on_turn, permits);
    if (result == 0) {
        want->is_held = true;
    }
    assert(result == 0 || result == BELAY_PENDING || result == BELAY_ECLOSED);
    return result;
}

/* Goes on through the limits in their order, from the first that is not held. */
static void collect(struct bly_permits *permits)
{
    int result = 0;
    for (size_t i = 0; i < permits->count && result == 0; i++) {
        if (!permits->wants[i].is_held) {
            permits->lacking = i;
            result = stand(permits);
        }
    }
    if (result != BELAY_PENDING) {
        tell(permits, result == 0);
    }
}

/* What was lacking is held now. */
static void go_on(struct bly_permits *permits)
{
    if (!permits->holds_some && bly_permits_take(permits)) {
        tell(permits, true);
        return;
    }
    permits->holds_some = true;
    collect(permits);
}

static void on_turn(belay_lease *lease, int result, void *arg)
{
    struct bly_permits *permits = arg;
    assert(lease == &permits->wants[permits->lacking].lease);
    (void)lease;
    if (result == 0) {
        permits->wants[permits->lacking].is_held = true;
        go_on(permits);
    } else {
        tell(permits, false);
    }
}

void bly_permits_await(struct bly_permits *permits, void (*fn)(void *arg, bool is_had), void *arg)
{
    assert(permits->lacking < permits->count);
    permits->fn = fn;
    permits->arg = arg;
    permits->holds_some = false;
    int result = stand(permits);
    if (result == 0) {
        go_on(permits);
    } else if (result != BELAY_PENDING) {
        tell(permits, false);
    }
}

/*
 * Ending.
 */

void bly_permits_free(struct bly_permits *permits)
{
    for (size_t i = 0; i < permits->count; i++) {
        assert(!permits->wants[i].is_held);
    }
    bly_mem_free(permits->wants);
    *permits = (struct bly_permits){0};
}

void bly_limits_close(struct bly_limits *limits)
{
    for (size_t i = 0; i < limits->count; i++) {
        int result = belay_sem_close(limits->items[i].sem);
        assert(result == 0);
        (void)result;
    }
}

void bly_limits_free(struct bly_limits *limits)
{
    for (size_t i = 0; i < limits->count; i++) {
        bly_mem_free(limits->items[i].name);
        bly_sems_end(limits->items[i].sem);
    }
    bly_mem_free(limits->items);
    *limits = (struct bly_limits){0};
}
