/*
 * life.c: see life.h.
 *
 * All moves of the word are acquire and release: whoever sees a count or a state sees what was done
 * before it was reached. So what a task did is visible after BELAY_EXEC_TERMINATED was seen.
 */
#include "exec/life.h"

#include "base/state.h"

#define STATE_SHIFT 62
#define IS_NOW      (UINT64_C(1) << 61)
#define COUNT_MASK  ((UINT64_C(1) << 48) - 1)

static const char *const names[] = {"ACCEPTING", "DRAINING", "STOPPING", "TERMINATED"};
static const uint32_t moves[] = {
    [BELAY_EXEC_ACCEPTING] = BLY_TO(BELAY_EXEC_DRAINING),
    [BELAY_EXEC_DRAINING] = BLY_TO(BELAY_EXEC_STOPPING),
    [BELAY_EXEC_STOPPING] = BLY_TO(BELAY_EXEC_TERMINATED),
    [BELAY_EXEC_TERMINATED] = 0,
};
static const bly_state_table states = {"executor", names, moves, bly_count(moves)};

static uint64_t get_word(const bly_life *life)
{
    return bly_load(&life->word, BLY_ACQUIRE); /* with the releases of replace */
}

static bool replace(bly_life *life, uint64_t *word, uint64_t with)
{
    return bly_cas(&life->word, word, with, BLY_ACQ_REL, BLY_ACQUIRE);
}

static belay_exec_state state_of(uint64_t word)
{
    return (belay_exec_state)(word >> STATE_SHIFT);
}

static uint64_t moved(uint64_t word, belay_exec_state to)
{
    bly_state_check(&states, state_of(word), to);
    return (word & (IS_NOW | COUNT_MASK)) | (uint64_t)to << STATE_SHIFT;
}

/*
 * Whether work of that kind is taken. A delivery with nothing outstanding finds nobody to run it.
 */
static bool is_open(uint64_t word, bly_work work)
{
    belay_exec_state state = state_of(word);
    if (state == BELAY_EXEC_DRAINING) {
        return work == BLY_DELIVERY || (work == BLY_CHILD && (word & IS_NOW) == 0);
    }
    return state == BELAY_EXEC_ACCEPTING;
}

int bly_life_admit(bly_life *life, bly_work work)
{
    uint64_t word = get_word(life);
    do {
        if (!is_open(word, work)) {
            return BELAY_ECLOSED;
        }
        bly_assert((word & COUNT_MASK) != COUNT_MASK);
    } while (!replace(life, &word, word + 1));
    return 0;
}

/* A draining pool with nothing outstanding stops; true when this call moved it. */
static bool stop_when_empty(bly_life *life, uint64_t word)
{
    while (state_of(word) == BELAY_EXEC_DRAINING && (word & COUNT_MASK) == 0) {
        if (replace(life, &word, moved(word, BELAY_EXEC_STOPPING))) {
            return true;
        }
    }
    return false;
}

bool bly_life_retire(bly_life *life)
{
    uint64_t before = bly_fetch_sub(&life->word, UINT64_C(1), BLY_ACQ_REL);
    bly_assert((before & COUNT_MASK) != 0);
    return stop_when_empty(life, before - 1);
}

bool bly_life_close(bly_life *life, bool is_now)
{
    uint64_t word = get_word(life);
    uint64_t closed;
    do {
        if (state_of(word) >= BELAY_EXEC_STOPPING) {
            return false;
        }
        closed = state_of(word) == BELAY_EXEC_ACCEPTING ? moved(word, BELAY_EXEC_DRAINING) : word;
        closed |= is_now ? IS_NOW : 0;
    } while (closed != word && !replace(life, &word, closed));
    return stop_when_empty(life, closed);
}

void bly_life_terminate(bly_life *life)
{
    uint64_t word = get_word(life);
    while (!replace(life, &word, moved(word, BELAY_EXEC_TERMINATED))) {
    }
}

belay_exec_state bly_life_state(const bly_life *life)
{
    return state_of(get_word(life));
}

uint64_t bly_life_outstanding(const bly_life *life)
{
    return get_word(life) & COUNT_MASK;
}

bool bly_life_is_now(const bly_life *life)
{
    return (get_word(life) & IS_NOW) != 0;
}
