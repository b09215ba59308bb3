/*
 * memory.c: atomics under C11's rules, and races on marked plain data.
 *
 * The newest value of an atomic is in the memory itself. Beside it the explorer keeps its last few
 * stores, in modification order, which is the order of execution. A load may read any of them that
 * is not ruled out; which one is a decision, 0 being the newest. Ruled out are stores older than
 *   - one that this thread has read or written, or that another had when something happened there
 *     that happened before this load, or that a sequentially consistent fence made visible
 *     (coherence: a store remembers at which of its events each thread saw it first),
 *   - for a sequentially consistent load, the last sequentially consistent store, and all that
 *     such fences of other threads have published.
 * A sequentially consistent access is otherwise no fence: treating it as one hides real faults. A
 * read-modify-write and a compare-and-swap see the newest store. A thread reads a stale store at
 * most twice, as no machine keeps one for ever, and spin loops would not end otherwise.
 *
 * A store carries what its thread released with it; a load that acquires learns it at once, any
 * other at its next acquire fence. Read-modify-writes continue a release sequence. The rules follow
 * C11 7.17.3 and N2480; the views are those of Kang and others, "A Promising Semantics" (2017),
 * without promises.
 *
 * Memory that the program initialised by plain stores has no history: the first operation on it
 * starts one with the value found. A value that is not the newest store's was written plainly
 * since, which starts a new history.
 */
#include "testkit/explorer/engine.h"

#include <string.h>

#define LOCATIONS_MAX 512 /* of one execution, a power of two */
#define HISTORY       4   /* stores kept of one atomic, a power of two */
#define NOT_SEEN      INT16_MAX
#define STALE_MAX     2 /* times one thread reads stores of one atomic that are not the newest */

typedef struct store {
    model_view released;    /* what a reader that acquires learns */
    model_clock first_seen; /* each thread's event of making or first reading it; NOT_SEEN */
    uint64_t value;
    uint64_t past;     /* of the thread that made it */
    uint32_t sc_epoch; /* when it was sequentially consistent; 0: it was not */
} store;

typedef struct location {
    const void *address;
    model_clock accesses; /* the last by each thread */
    model_clock writes;   /* of them, those that were no loads */
    uint32_t generation;  /* of the execution it belongs to */
    uint32_t newest;      /* number of the newest store; the first has 0 */
    store history[HISTORY];
    uint8_t stale[MODEL_THREADS_MAX]; /* reads of stores that were not the newest, by each thread */
} location;

typedef struct plain {
    model_clock reads; /* the last read by each thread */
    const void *address;
    const char *read_where;
    const char *write_where;
    uint32_t generation;
    int16_t write_event; /* 0: not written so far */
    uint8_t write_thread;
} plain;

static const model_clock NOBODY = {NOT_SEEN, NOT_SEEN, NOT_SEEN, NOT_SEEN,
                                   NOT_SEEN, NOT_SEEN, NOT_SEEN, NOT_SEEN};

static location locations[LOCATIONS_MAX];
static plain plains[LOCATIONS_MAX];
static location *used_locations[LOCATIONS_MAX]; /* those of this execution */
static plain *used_plains[LOCATIONS_MAX];
static uint32_t generation = 1;
static uint32_t location_count;
static uint32_t plain_count;

void model_memory_reset(void)
{
    generation++;
    location_count = 0;
    plain_count = 0;
}

static uint64_t raw_load(const void *ptr, unsigned size)
{
    switch (size) {
    case 1:
        return *(const uint8_t *)ptr;
    case 2:
        return *(const uint16_t *)ptr;
    case 4:
        return *(const uint32_t *)ptr;
    default:
        return *(const uint64_t *)ptr;
    }
}

static void raw_store(void *ptr, uint64_t value, unsigned size)
{
    switch (size) {
    case 1:
        *(uint8_t *)ptr = (uint8_t)value;
        break;
    case 2:
        *(uint16_t *)ptr = (uint16_t)value;
        break;
    case 4:
        *(uint32_t *)ptr = (uint32_t)value;
        break;
    default:
        *(uint64_t *)ptr = value;
        break;
    }
}

static uint64_t truncated(uint64_t value, unsigned size)
{
    return size >= 8 ? value : value & ((UINT64_C(1) << (8 * size)) - 1);
}

static unsigned hash_address(const void *ptr)
{
    return (unsigned)(((uintptr_t)ptr >> 2) * UINT64_C(0x9e3779b97f4a7c15) >> 48) &
           (LOCATIONS_MAX - 1);
}

/* A history of one store, known to everybody. */
static void begin_history(location *place, const void *ptr, uint64_t value)
{
    place->address = ptr;
    place->generation = generation;
    place->newest = 0;
    memset(&place->history[0], 0, sizeof place->history[0]);
    place->history[0].value = value;
    place->history[0].past = value;
    memset(place->stale, 0, sizeof place->stale);
}

static location *find_location(const void *ptr, unsigned size)
{
    unsigned slot = hash_address(ptr);
    while (locations[slot].generation == generation && locations[slot].address != ptr) {
        slot = (slot + 1) & (LOCATIONS_MAX - 1);
    }
    location *place = &locations[slot];
    uint64_t value = raw_load(ptr, size);
    if (place->generation != generation) {
        if (++location_count > LOCATIONS_MAX * 3 / 4) {
            model_fail("more than %d atomic locations in one execution", LOCATIONS_MAX * 3 / 4);
        }
        used_locations[location_count - 1] = place;
        memset(&place->accesses, 0, sizeof place->accesses);
        memset(&place->writes, 0, sizeof place->writes);
        begin_history(place, ptr, value);
    } else if (place->history[place->newest & (HISTORY - 1)].value != value) {
        begin_history(place, ptr, value);
    }
    return place;
}

static bool is_acquire(int order)
{
    return order == BLY_ACQUIRE || order == BLY_ACQ_REL || order == BLY_SEQ_CST;
}

static bool is_release(int order)
{
    return order == BLY_RELEASE || order == BLY_ACQ_REL || order == BLY_SEQ_CST;
}

/* True when one of the events at which a thread first saw the store is within the clock. */
static bool knows(model_clock clock, const store *made)
{
    model_clock lanes = made->first_seen <= clock;
    uint64_t halves[2];
    memcpy(halves, &lanes, sizeof halves);
    return (halves[0] | halves[1]) != 0;
}

/* True when no store older than this one may be read by the thread. */
static bool rules_out_older(const model_thread *self, const store *made, int order)
{
    if (knows(self->view.visible, made)) {
        return true;
    }
    if (made->sc_epoch != 0 && made->sc_epoch <= self->fence_epoch) {
        return true;
    }
    return order == BLY_SEQ_CST && (made->sc_epoch != 0 || knows(model.sc_fences, made));
}

/* The number of the store that the load reads: a decision where several are allowed. */
static uint32_t choose_store(model_thread *self, location *place, int order)
{
    uint32_t oldest = place->newest >= HISTORY ? place->newest - (HISTORY - 1) : 0;
    if (oldest == place->newest || place->stale[self->index] >= STALE_MAX ||
        model.spent[MODEL_COST_STALE] >= model.budgets[MODEL_COST_STALE]) {
        return place->newest;
    }
    uint32_t number = place->newest;
    while (number > oldest &&
           !rules_out_older(self, &place->history[number & (HISTORY - 1)], order)) {
        number--;
    }
    model_decision options = {.kind = MODEL_KIND_READ};
    options.counts[MODEL_COST_FREE] = 1;
    options.counts[MODEL_COST_STALE] = (uint8_t)(place->newest - number);
    uint32_t chosen = place->newest - model_decide(&options, NULL);
    if (chosen != place->newest) {
        place->stale[self->index]++;
    }
    return chosen;
}

/* A new event of the thread. */
static int16_t tick(model_thread *self)
{
    int16_t event = ++self->view.happened[self->index];
    if (event == NOT_SEEN) {
        model_fail("more than %d events of one thread in one execution", NOT_SEEN);
    }
    self->view.visible[self->index] = event;
    return event;
}

/* An event of its own, so that what was released before does not cover it. */
static void note_load(model_thread *self, location *place)
{
    place->accesses[self->index] = tick(self);
}

/* Before an operation: what others did there that did not happen before it contends with it. */
static void note_contention(const model_thread *self, const location *place, bool is_load)
{
    if (model.is_reducing &&
        model_clock_exceeds(is_load ? place->writes : place->accesses, self->view.happened)) {
        model_note_contention(place->address);
    }
}

/* Who acts on an atomic sees its newest store and, in sequentially consistent order, the last
 * fence. */
static void see_newest(const location *place, int order)
{
    model_saw(place->history[place->newest & (HISTORY - 1)].past);
    if (order == BLY_SEQ_CST) {
        model_saw(model.fences_past);
    }
}

static void learn(model_thread *self, store *made, int order)
{
    if (made->first_seen[self->index] == NOT_SEEN) {
        made->first_seen[self->index] = tick(self);
    }
    model_view_join(is_acquire(order) ? &self->view : &self->read, &made->released);
}

/* Appends a store to the history. `continues` is the store whose release sequence goes on. */
static void append_store(model_thread *self, location *place, uint64_t value, int order,
                         const store *continues)
{
    model_view released = is_release(order) ? self->view : self->released;
    if (continues != NULL) {
        model_view_join(&released, &continues->released);
    }
    int16_t event = tick(self);
    if (is_release(order)) {
        released.happened[self->index] = event;
        released.visible[self->index] = event;
    }
    place->newest++;
    store *made = &place->history[place->newest & (HISTORY - 1)];
    *made = (store){.released = released,
                    .first_seen = NOBODY,
                    .value = value,
                    .past = self->past,
                    .sc_epoch = order == BLY_SEQ_CST ? ++model.sc_epoch : 0};
    made->first_seen[self->index] = event;
    place->accesses[self->index] = event;
    place->writes[self->index] = event;
}

static void enter(const char *operation, const void *ptr, int order, const char *where)
{
    if (order == BLY_SEQ_CST) {
        model_point(operation, where);
    } else {
        model_point_on(ptr, operation, where);
    }
    model_arena_check_address(ptr, operation);
}

static void log_access(const char *operation, const void *ptr, uint64_t value, const char *note)
{
    if (model.is_logging && !model.is_observing) {
        model_log(operation, ptr, value, note);
    }
}

uint64_t bly_model_load(const void *ptr, unsigned size, int order, const char *where)
{
    enter("load", ptr, order, where);
    if (model.is_raw) {
        return raw_load(ptr, size);
    }
    model_thread *self = model.current;
    location *place = find_location(ptr, size);
    see_newest(place, order);
    note_contention(self, place, true);
    uint32_t number = choose_store(self, place, order);
    store *made = &place->history[number & (HISTORY - 1)];
    learn(self, made, order);
    note_load(self, place);
    log_access("load", ptr, made->value, number == place->newest ? "" : "stale");
    return made->value;
}

void bly_model_store(void *ptr, uint64_t value, unsigned size, int order, const char *where)
{
    enter("store", ptr, order, where);
    value = truncated(value, size);
    if (!model.is_raw) {
        location *place = find_location(ptr, size);
        see_newest(place, order);
        note_contention(model.current, place, false);
        append_store(model.current, place, value, order, NULL);
    }
    raw_store(ptr, value, size);
    log_access("store", ptr, value, "");
}

static uint64_t apply(enum bly_model_rmw op, uint64_t old, uint64_t operand)
{
    switch (op) {
    case BLY_MODEL_ADD:
        return old + operand;
    case BLY_MODEL_SUB:
        return old - operand;
    case BLY_MODEL_OR:
        return old | operand;
    case BLY_MODEL_AND:
        return old & operand;
    default:
        return operand;
    }
}

/* The common part of a read-modify-write that has read `old`, the newest value. */
static void replace(void *ptr, uint64_t value, unsigned size, int order)
{
    if (!model.is_raw) {
        model_thread *self = model.current;
        location *place = find_location(ptr, size);
        store *read = &place->history[place->newest & (HISTORY - 1)];
        see_newest(place, order);
        note_contention(self, place, false);
        learn(self, read, order);
        append_store(self, place, value, order, read);
    }
    raw_store(ptr, value, size);
}

uint64_t bly_model_rmw(void *ptr, enum bly_model_rmw op, uint64_t operand, unsigned size, int order,
                       const char *where)
{
    enter("update", ptr, order, where);
    uint64_t old = raw_load(ptr, size);
    uint64_t value = truncated(apply(op, old, operand), size);
    replace(ptr, value, size, order);
    log_access("update", ptr, value, "");
    return old;
}

bool bly_model_cas(void *ptr, void *expected, uint64_t desired, unsigned size, int ok_order,
                   int fail_order, const char *where)
{
    enter("cas", ptr, ok_order == BLY_SEQ_CST ? ok_order : fail_order, where);
    uint64_t old = raw_load(ptr, size);
    bool is_equal = old == raw_load(expected, size);
    if (is_equal) {
        replace(ptr, truncated(desired, size), size, ok_order);
    } else {
        if (!model.is_raw) {
            location *place = find_location(ptr, size);
            see_newest(place, fail_order);
            note_contention(model.current, place, true);
            learn(model.current, &place->history[place->newest & (HISTORY - 1)], fail_order);
            note_load(model.current, place);
        }
        raw_store(expected, old, size);
    }
    log_access("cas", ptr, raw_load(ptr, size), is_equal ? "" : "failed");
    return is_equal;
}

void bly_model_fence(int order, const char *where)
{
    model.is_local = model.is_reducing && order != BLY_SEQ_CST && !model_is_contended(&model);
    model_point("fence", where);
    model.is_local = false;
    if (model.is_raw) {
        return;
    }
    model_thread *self = model.current;
    if (is_acquire(order)) {
        model_view_join(&self->view, &self->read);
    }
    if (order == BLY_SEQ_CST) {
        self->view.visible = model_clock_join(self->view.visible, model.sc_fences);
        model.sc_fences = self->view.visible;
        self->fence_epoch = ++model.sc_epoch;
        model_saw(model.fences_past);
        model.fences_past = self->past;
    }
    if (is_release(order)) {
        self->released = self->view;
    }
    log_access("fence", NULL, (uint64_t)order, "");
}

static plain *find_plain(const void *ptr)
{
    unsigned slot = hash_address(ptr);
    while (plains[slot].generation == generation && plains[slot].address != ptr) {
        slot = (slot + 1) & (LOCATIONS_MAX - 1);
    }
    plain *place = &plains[slot];
    if (place->generation != generation) {
        if (++plain_count > LOCATIONS_MAX * 3 / 4) {
            model_fail("more than %d marked plain locations in one execution",
                       LOCATIONS_MAX * 3 / 4);
        }
        used_plains[plain_count - 1] = place;
        memset(place, 0, sizeof *place);
        place->address = ptr;
        place->generation = generation;
    }
    return place;
}

/* Fails when an access of another thread that this one must not race with did not happen before. */
static void check_race(const plain *place, bool is_write, const char *where)
{
    model_clock known = model.current->view.happened;
    if (place->write_event != 0 && place->write_event > known[place->write_thread]) {
        model_fail("data race: %s at %s against the write at %s", is_write ? "write" : "read",
                   where, place->write_where);
    }
    for (unsigned i = 0; is_write && i < MODEL_THREADS_MAX; i++) {
        if (place->reads[i] > known[i]) {
            model_fail("data race: write at %s against the read at %s", where, place->read_where);
        }
    }
}

void bly_model_plain(const void *ptr, unsigned size, bool is_write, const char *where)
{
    (void)size;
    model_arena_check_address(ptr, is_write ? "write" : "read");
    if (model.is_raw) {
        return;
    }
    model_thread *self = model.current;
    plain *place = find_plain(ptr);
    check_race(place, is_write, where);
    int16_t event = tick(self);
    if (is_write) {
        place->write_event = event;
        place->write_thread = (uint8_t)self->index;
        place->write_where = where;
    } else {
        place->reads[self->index] = event;
        place->read_where = where;
    }
}

/* A wait on a word looks at its newest value, and learns nothing by that. */
void model_memory_note_wait(const uint32_t *word)
{
    if (!model.is_raw) {
        location *place = find_location(word, sizeof *word);
        note_contention(model.current, place, true);
        note_load(model.current, place);
    }
}

static bool is_inside(const void *address, const void *block, size_t size)
{
    return (uintptr_t)address - (uintptr_t)block < size;
}

void model_memory_check_free(const void *block, size_t size)
{
    const model_thread *self = model.current;
    for (uint32_t i = 0; i < location_count; i++) {
        const location *place = used_locations[i];
        for (unsigned other = 0;
             is_inside(place->address, block, size) && other < MODEL_THREADS_MAX; other++) {
            if (place->accesses[other] > self->view.happened[other]) {
                model_fail("free at %s is not ordered after the last access of thread %u",
                           self->where, other);
            }
        }
    }
    for (uint32_t i = 0; i < plain_count; i++) {
        if (is_inside(used_plains[i]->address, block, size)) {
            check_race(used_plains[i], true, self->where);
        }
    }
}
