/*
 * deadlines.c: an index of deadlines that is exact to the nanosecond and allocates nothing.
 *
 * A hierarchical wheel after Varghese and Lauck ("Hashed and Hierarchical Timing Wheels", 1987),
 * driven as a radix heap (Ahuja et al., 1990): there is no tick, time jumps to the next slot that
 * has an entry. A deadline is a 64-bit key of 16 digits. An entry stands at the level of the
 * highest digit in which its key differs from `base`, in the slot of that digit; so at each level
 * only slots after base's own digit are used, the lowest level in use holds the earliest entries,
 * and its lowest slot the earliest of those. A slot of level 0 holds equal keys, first added first.
 *
 * When the earliest slot lies above level 0, base moves to its start and its entries spill into
 * lower levels, in order. Each entry spills at most once a level. Spilling is bounded by the
 * caller's budget: while it is unfinished `spilling` names the slot, and nothing is taken out
 * before it is empty. Equal keys stand in one slot at any time and keep the order in which they
 * were added, except that one added while theirs is spilling may pass the rest of it.
 *
 * A slot that lies before now as a whole is emptied as it stands: the time of spilling would be
 * spent on an order among entries that are all late. So entries come out in the order of their
 * deadlines while the caller looks in time, and slot by slot when it comes late.
 *
 * Adding and removing are O(1). Base never passes an entry, and an entry that is added before base,
 * by a caller whose clock reading is older, stands at base: it has expired already.
 */
#include "sem/deadlines.h"

#include "base/list.h"

/* Entries that bly_deadlines_next looks at to name the exact deadline of a slot. */
#define LOOK_MAX 8

static uint64_t key_of(int64_t time_ns)
{
    return (uint64_t)time_ns ^ (UINT64_C(1) << 63);
}

static int64_t time_of(uint64_t key)
{
    return (int64_t)(key ^ (UINT64_C(1) << 63));
}

static belay_lease *lease_of(bly_list *link)
{
    return bly_container(link, belay_lease, phase.timing.link);
}

void bly_deadlines_init(bly_deadlines *deadlines)
{
    *deadlines = (bly_deadlines){0};
    for (uint32_t level = 0; level < BLY_DEADLINES_LEVELS; level++) {
        for (uint32_t slot = 0; slot < BLY_DEADLINES_SLOTS; slot++) {
            bly_list_init(&deadlines->slots[level][slot]);
        }
    }
}

/* Puts a lease that is in no slot where its deadline belongs. */
static void place(bly_deadlines *deadlines, belay_lease *lease)
{
    uint64_t key = key_of(lease->phase.timing.deadline_ns);
    uint64_t base = deadlines->base;
    uint32_t level = 0;
    if (key <= base) {
        key = base;
    } else {
        level = (63u - (uint32_t)__builtin_clzll(key ^ base)) / BLY_DEADLINES_BITS;
    }
    uint32_t slot = (uint32_t)(key >> (level * BLY_DEADLINES_BITS)) & (BLY_DEADLINES_SLOTS - 1);
    bly_list_push_back(&deadlines->slots[level][slot], &lease->phase.timing.link);
    deadlines->levels_used |= 1u << level;
    deadlines->slots_used[level] = (uint16_t)(deadlines->slots_used[level] | (1u << slot));
}

/* Takes a lease out of its slot, and notes that the slot is empty if it is. */
static void displace(bly_deadlines *deadlines, belay_lease *lease)
{
    bly_list *link = &lease->phase.timing.link;
    bly_list *head = link->next;
    bool is_last = link->prev == head;
    bly_list_remove(link);
    if (!is_last) {
        return;
    }
    uint32_t index = (uint32_t)(head - &deadlines->slots[0][0]);
    uint32_t level = index / BLY_DEADLINES_SLOTS;
    bly_assert(level < BLY_DEADLINES_LEVELS && bly_list_is_empty(head));
    uint16_t used = (uint16_t)(deadlines->slots_used[level] & ~(1u << index % BLY_DEADLINES_SLOTS));
    deadlines->slots_used[level] = used;
    if (used == 0) {
        deadlines->levels_used &= ~(1u << level);
    }
    if (deadlines->spilling == head) {
        deadlines->spilling = NULL;
    }
}

void bly_deadlines_add(bly_deadlines *deadlines, belay_lease *lease, int64_t now_ns)
{
    bly_assert(lease->phase.timing.deadline_ns != BELAY_FOREVER);
    if (deadlines->count == 0) {
        deadlines->base = key_of(now_ns);
    }
    place(deadlines, lease);
    deadlines->count++;
}

void bly_deadlines_remove(bly_deadlines *deadlines, belay_lease *lease)
{
    if (bly_list_is_linked(&lease->phase.timing.link)) {
        bly_assert(deadlines->count > 0);
        deadlines->count--;
        displace(deadlines, lease);
    }
}

/* The earliest slot in use. There is an entry, and no slot is spilling. */
static uint32_t earliest_slot(const bly_deadlines *deadlines, uint32_t *ret_level,
                              uint64_t *ret_start)
{
    uint32_t level = (uint32_t)__builtin_ctz(deadlines->levels_used);
    uint32_t slot = (uint32_t)__builtin_ctz(deadlines->slots_used[level]);
    uint32_t shift = level * BLY_DEADLINES_BITS;
    /* base with the digits up to `level` set to zero, then that digit set to the slot. */
    uint64_t above = deadlines->base >> shift >> BLY_DEADLINES_BITS << BLY_DEADLINES_BITS;
    *ret_start = (above | slot) << shift;
    *ret_level = level;
    bly_assert_debug(*ret_start >= deadlines->base);
    return slot;
}

/* The last place in a slot of the level, counted from its first. */
static uint64_t last_of(uint32_t level)
{
    return (UINT64_C(1) << level * BLY_DEADLINES_BITS) - 1;
}

belay_lease *bly_deadlines_expired(bly_deadlines *deadlines, int64_t now_ns, uint32_t *budget)
{
    /* A reading that steps back is as good as the last one. */
    uint64_t now = key_of(now_ns) > deadlines->base ? key_of(now_ns) : deadlines->base;
    for (; deadlines->count > 0 && *budget > 0; (*budget)--) {
        if (deadlines->spilling != NULL) {
            belay_lease *lease = lease_of(deadlines->spilling->next);
            displace(deadlines, lease);
            place(deadlines, lease);
            continue;
        }
        uint32_t level;
        uint64_t start;
        uint32_t slot = earliest_slot(deadlines, &level, &start);
        if (start > now) {
            deadlines->base = now;
            return NULL;
        }
        if (level > 0 && now - start < last_of(level)) {
            deadlines->base = start;
            deadlines->spilling = &deadlines->slots[level][slot];
            continue;
        }
        belay_lease *lease = lease_of(deadlines->slots[level][slot].next);
        bly_deadlines_remove(deadlines, lease);
        return lease;
    }
    return NULL;
}

int64_t bly_deadlines_next(const bly_deadlines *deadlines)
{
    if (deadlines->count == 0) {
        return BELAY_FOREVER;
    }
    if (deadlines->spilling != NULL) {
        return time_of(deadlines->base);
    }
    uint32_t level;
    uint64_t start;
    uint32_t slot = earliest_slot(deadlines, &level, &start);
    if (level == 0) {
        return time_of(start);
    }
    uint64_t earliest = UINT64_MAX;
    uint32_t seen = 0;
    bly_list_each (link, &deadlines->slots[level][slot]) {
        uint64_t key = key_of(lease_of(link)->phase.timing.deadline_ns);
        earliest = key < earliest ? key : earliest;
        if (++seen == LOOK_MAX && link->next != &deadlines->slots[level][slot]) {
            return time_of(start);
        }
    }
    return time_of(earliest);
}
