/*
 * history.c: what many threads saw, recorded while they run and judged when they have ended.
 *
 * Recording must not order the threads more than their own work does, so it takes no lock: an entry
 * is claimed with one addition, and its fields are written by the one who claimed it, who ended it
 * first or who released it first. One counter of the history stamps the ends with a grant and the
 * releases. The end is recorded after the acquire has returned and the release before it is called,
 * so between the two stamps the permits were surely held, and the sum of such intervals at any one
 * stamp is a lower bound of what was out. What a late recorder adds makes intervals shorter only:
 * there are no false alarms.
 *
 * The order of a queue cannot be seen from outside: numbers taken before or after a call may be in
 * another order than the calls. It is judged by numbers that the object gave under its own lock.
 */
#include "belay/test.h"

#include "base/memory.h"
#include "sync/sync.h"

#include <stdint.h>
#include <string.h>

typedef struct entry {
    uint32_t permits;  /* who began it; 0: a task */
    int32_t result;    /* who ended it first */
    uint32_t ends;     /* atomic: whoever ends it */
    uint32_t releases; /* atomic: whoever releases it */
    uint64_t from;     /* who ended it first: the stamp of its grant; 0: none */
    uint64_t until;    /* who released it first: the stamp; 0: none */
    uint64_t place;    /* who gives the order: in the queue */
    uint64_t turn;     /* who gives the order: of the grant, from 1; 0: none */
} entry;

struct belay_history {
    uint64_t capacity;    /* constant after create */
    uint32_t entries_max; /* constant after create */
    uint32_t begun;       /* atomic: those who begin, even in vain */
    uint64_t stamp;       /* atomic: the last one given */
    int64_t *changes;     /* who checks: of the permits held, at each stamp */
    uint32_t *by_turn;    /* who checks: the entry of each turn, plus 1 */
    entry entries[];
};

int belay_history_create(uint64_t capacity, uint32_t entries_max, belay_history **ret_history)
{
    if (ret_history == NULL || entries_max == 0 || entries_max > INT32_MAX) {
        return BELAY_EINVAL;
    }
    size_t count = entries_max;
    belay_history *self = bly_alloc(sizeof *self + count * sizeof(entry));
    if (self == NULL) {
        return BELAY_ENOMEM;
    }
    self->capacity = capacity;
    self->entries_max = entries_max;
    self->changes = bly_alloc((2 * count + 1) * sizeof *self->changes);
    self->by_turn = bly_alloc((count + 1) * sizeof *self->by_turn);
    if (self->changes == NULL || self->by_turn == NULL) {
        belay_history_destroy(self);
        return BELAY_ENOMEM;
    }
    *ret_history = self;
    return 0;
}

void belay_history_destroy(belay_history *history)
{
    if (history != NULL) {
        bly_free(history->changes);
        bly_free(history->by_turn);
        bly_free(history);
    }
}

static uint32_t count_of(const belay_history *self)
{
    uint32_t begun = bly_load(&self->begun, BLY_SEQ_CST);
    return begun < self->entries_max ? begun : self->entries_max;
}

/* NULL when there is no such entry. */
static entry *entry_at(belay_history *self, int number)
{
    return number >= 0 && (uint32_t)number < count_of(self) ? &self->entries[number] : NULL;
}

static uint64_t next_stamp(belay_history *self)
{
    return bly_fetch_add(&self->stamp, UINT64_C(1), BLY_SEQ_CST) + 1;
}

int belay_history_begin(belay_history *history, uint32_t permits)
{
    uint32_t number = bly_load(&history->begun, BLY_SEQ_CST);
    do {
        if (number == history->entries_max) {
            return BELAY_EFULL;
        }
    } while (!bly_cas(&history->begun, &number, number + 1, BLY_SEQ_CST, BLY_SEQ_CST));
    history->entries[number].permits = permits;
    return (int)number;
}

int belay_history_end(belay_history *history, int number, int result)
{
    entry *self = entry_at(history, number);
    if (self == NULL) {
        return BELAY_EINVAL;
    }
    if (bly_fetch_add(&self->ends, 1u, BLY_SEQ_CST) == 0) {
        self->result = result;
        self->from = result == 0 && self->permits != 0 ? next_stamp(history) : 0;
    }
    return 0;
}

int belay_history_release(belay_history *history, int number)
{
    entry *self = entry_at(history, number);
    if (self == NULL) {
        return BELAY_EINVAL;
    }
    if (bly_fetch_add(&self->releases, 1u, BLY_SEQ_CST) == 0) {
        self->until = next_stamp(history);
    }
    return 0;
}

int belay_history_order(belay_history *history, int number, uint64_t place, uint64_t turn)
{
    entry *self = entry_at(history, number);
    if (self == NULL || turn == 0) {
        return BELAY_EINVAL;
    }
    self->place = place;
    self->turn = turn;
    return 0;
}

uint64_t belay_history_count(const belay_history *history, int result)
{
    uint64_t found = 0;
    for (uint32_t i = 0; i < count_of(history); i++) {
        found += history->entries[i].ends != 0 && history->entries[i].result == result;
    }
    return found;
}

/* --- The rules. Each gives its name when the history breaks it, and an entry that shows it. --- */

static const char *name_of_ends(const entry *self)
{
    bool is_task = self->permits == 0;
    if (self->ends == 0) {
        return is_task ? "task lost" : "no outcome";
    }
    if (self->ends > 1) {
        return is_task ? "task twice" : "two outcomes";
    }
    bool is_granted = !is_task && self->result == 0;
    if (self->releases > (is_granted ? 1u : 0u)) {
        return is_granted ? "released twice" : "release without a grant";
    }
    return self->turn != 0 && self->result != 0 ? "turn without a grant" : NULL;
}

static const char *check_entries(const belay_history *self, uint32_t *ret_entry)
{
    const char *name = NULL;
    for (uint32_t i = 0; i < count_of(self) && name == NULL; i++) {
        name = name_of_ends(&self->entries[i]);
        *ret_entry = i;
    }
    return name;
}

static void note_interval(belay_history *self, const entry *held)
{
    if (held->until == 0 || held->until > held->from) {
        self->changes[held->from] = held->permits;
        self->changes[held->until] = -(int64_t)held->permits; /* stamp 0 is not looked at */
    }
}

static const char *check_capacity(belay_history *self, uint32_t *ret_entry)
{
    uint64_t stamps = bly_load(&self->stamp, BLY_SEQ_CST);
    memset(self->changes, 0, (stamps + 1) * sizeof *self->changes);
    for (uint32_t i = 0; i < count_of(self); i++) {
        if (self->entries[i].from != 0) {
            note_interval(self, &self->entries[i]);
        }
    }
    uint64_t held = 0; /* never less than 0: an interval begins before it ends */
    uint64_t stamp = 0;
    while (stamp < stamps && held <= self->capacity) {
        held += (uint64_t)self->changes[++stamp];
    }
    if (held <= self->capacity) {
        return NULL;
    }
    for (uint32_t i = 0; i < count_of(self); i++) {
        if (self->entries[i].from == stamp) {
            *ret_entry = i;
        }
    }
    return "over capacity";
}

/* Fills by_turn, in which there is then no gap. */
static const char *sort_turns(belay_history *self, uint32_t ordered, uint32_t *ret_entry)
{
    memset(self->by_turn, 0, ((size_t)self->entries_max + 1) * sizeof *self->by_turn);
    for (uint32_t i = 0; i < count_of(self); i++) {
        uint64_t turn = self->entries[i].turn;
        if (turn == 0) {
            continue;
        }
        *ret_entry = i;
        if (turn > ordered) {
            return "turn left out";
        }
        if (self->by_turn[turn] != 0) {
            return "turn twice";
        }
        self->by_turn[turn] = i + 1;
    }
    return NULL;
}

static const char *check_order(belay_history *self, uint32_t *ret_entry)
{
    uint32_t ordered = 0;
    for (uint32_t i = 0; i < count_of(self); i++) {
        ordered += self->entries[i].turn != 0;
    }
    const char *name = sort_turns(self, ordered, ret_entry);
    for (uint32_t turn = 2; turn <= ordered && name == NULL; turn++) {
        uint32_t before = self->by_turn[turn - 1] - 1;
        uint32_t after = self->by_turn[turn] - 1;
        if (self->entries[after].place <= self->entries[before].place) {
            *ret_entry = after;
            name = "out of order";
        }
    }
    return name;
}

const char *belay_history_check(belay_history *history, uint32_t *ret_entry)
{
    uint32_t shown = 0;
    const char *name = check_entries(history, &shown);
    if (name == NULL) {
        name = check_capacity(history, &shown);
    }
    if (name == NULL) {
        name = check_order(history, &shown);
    }
    if (name != NULL && ret_entry != NULL) {
        *ret_entry = shown;
    }
    return name;
}
