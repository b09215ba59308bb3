/*
 * litmus.c: the explorer's memory model against the outcomes that C11 allows.
 *
 * Each test runs a few loads and stores on threads of their own and codes what was read as one
 * number. Exploring to the end must show each allowed outcome and no other. The names are those of
 * the literature (Alglave, Maranget, Tautschnig, "Herding Cats", 2014).
 */
#include "scenario.h"

#include <stdio.h>

typedef struct litmus {
    void (*threads[4])(void);
    uint32_t allowed; /* bit i: outcome i may be seen */
    uint32_t seen;
} litmus;

static uint32_t x, y;
static uint32_t read_a, read_b, read_c, read_d;

static void set(uint32_t *var, int order)
{
    bly_store(var, 1u, order);
}

static void run_thread(void *arg)
{
    ((void (*)(void))arg)();
}

static void run_litmus(void *arg)
{
    litmus *test = arg;
    int started[4];
    int count = 0;
    x = y = read_a = read_b = read_c = read_d = 0;
    while (count < 4 && test->threads[count] != NULL) {
        started[count] = belay_model_start(run_thread, (void *)test->threads[count]);
        count++;
    }
    for (int i = 0; i < count; i++) {
        belay_model_join(started[i]);
    }
    uint32_t outcome = 1u << (read_a | read_b << 1 | read_c << 2 | read_d << 3);
    belay_model_check((outcome & test->allowed) != 0);
    test->seen |= outcome;
}

static void forget(void *arg)
{
    ((litmus *)arg)->seen = 0;
}

static const char *compare(void *arg)
{
    static char text[128];
    const litmus *test = arg;
    if (test->seen == test->allowed) {
        return NULL;
    }
    snprintf(text, sizeof text, "outcomes %#x instead of %#x", test->seen, test->allowed);
    return text;
}

/* SB: store buffering. Outcome 0 (neither sees the other) is what x86 shows without a fence. */
#define SB(name, store_order, between, load_order)                                                 \
    static void name##_0(void)                                                                     \
    {                                                                                              \
        set(&x, store_order);                                                                      \
        between;                                                                                   \
        read_a = bly_load(&y, load_order);                                                         \
    }                                                                                              \
    static void name##_1(void)                                                                     \
    {                                                                                              \
        set(&y, store_order);                                                                      \
        between;                                                                                   \
        read_b = bly_load(&x, load_order);                                                         \
    }
#define NOTHING      ((void)0)
#define SC_FENCE     bly_fence(BLY_SEQ_CST)
#define ACQREL_FENCE bly_fence(BLY_ACQ_REL)

SB(sb_relaxed, BLY_RELAXED, NOTHING, BLY_RELAXED)
SB(sb_release_acquire, BLY_RELEASE, NOTHING, BLY_ACQUIRE)
SB(sb_seq_cst, BLY_SEQ_CST, NOTHING, BLY_SEQ_CST)
SB(sb_fences, BLY_RELAXED, SC_FENCE, BLY_RELAXED)
SB(sb_weak_fences, BLY_RELAXED, ACQREL_FENCE, BLY_RELAXED)

static uint32_t counter;

/* SB with a sequentially consistent read-modify-write elsewhere in place of a fence: no fence. */
SB(sb_rmw, BLY_RELAXED, (void)bly_fetch_add(&counter, 1u, BLY_RELAXED), BLY_RELAXED)

/* MP: message passing. Outcome 1 (flag seen, message not) is forbidden with release and acquire. */
#define MP(name, store_order, store_fence, load_order, load_fence)                                 \
    static void name##_0(void)                                                                     \
    {                                                                                              \
        set(&x, BLY_RELAXED);                                                                      \
        store_fence;                                                                               \
        set(&y, store_order);                                                                      \
    }                                                                                              \
    static void name##_1(void)                                                                     \
    {                                                                                              \
        read_a = bly_load(&y, load_order);                                                         \
        load_fence;                                                                                \
        read_b = bly_load(&x, BLY_RELAXED);                                                        \
    }

MP(mp_relaxed, BLY_RELAXED, NOTHING, BLY_RELAXED, NOTHING)
MP(mp_release_acquire, BLY_RELEASE, NOTHING, BLY_ACQUIRE, NOTHING)
MP(mp_release_only, BLY_RELEASE, NOTHING, BLY_RELAXED, NOTHING)
MP(mp_acquire_only, BLY_RELAXED, NOTHING, BLY_ACQUIRE, NOTHING)
MP(mp_fences, BLY_RELAXED, bly_fence(BLY_RELEASE), BLY_RELAXED, bly_fence(BLY_ACQUIRE))
MP(mp_release_fence_only, BLY_RELAXED, bly_fence(BLY_RELEASE), BLY_RELAXED, NOTHING)

/* CoRR: two reads of one variable by one thread never go back in its modification order. */
static void corr_0(void)
{
    set(&x, BLY_RELAXED);
}
static void corr_1(void)
{
    read_a = bly_load(&x, BLY_RELAXED);
    read_b = bly_load(&x, BLY_RELAXED);
}

/* WRC: what a thread read and then released is seen by who acquires from it. */
#define WRC(name, store_order, load_order)                                                         \
    static void name##_0(void)                                                                     \
    {                                                                                              \
        set(&x, BLY_RELAXED);                                                                      \
    }                                                                                              \
    static void name##_1(void)                                                                     \
    {                                                                                              \
        read_a = bly_load(&x, BLY_RELAXED);                                                        \
        set(&y, store_order);                                                                      \
    }                                                                                              \
    static void name##_2(void)                                                                     \
    {                                                                                              \
        read_b = bly_load(&y, load_order);                                                         \
        read_c = bly_load(&x, BLY_RELAXED);                                                        \
    }

WRC(wrc_relaxed, BLY_RELAXED, BLY_RELAXED)
WRC(wrc_release_acquire, BLY_RELEASE, BLY_ACQUIRE)

/* IRIW: two readers may disagree on the order of two independent writes, unless all is SC. */
#define IRIW(name, store_order, load_order)                                                        \
    static void name##_0(void)                                                                     \
    {                                                                                              \
        set(&x, store_order);                                                                      \
    }                                                                                              \
    static void name##_1(void)                                                                     \
    {                                                                                              \
        set(&y, store_order);                                                                      \
    }                                                                                              \
    static void name##_2(void)                                                                     \
    {                                                                                              \
        read_a = bly_load(&x, load_order);                                                         \
        read_b = bly_load(&y, load_order);                                                         \
    }                                                                                              \
    static void name##_3(void)                                                                     \
    {                                                                                              \
        read_c = bly_load(&y, load_order);                                                         \
        read_d = bly_load(&x, load_order);                                                         \
    }

IRIW(iriw_acquire, BLY_RELEASE, BLY_ACQUIRE)
IRIW(iriw_seq_cst, BLY_SEQ_CST, BLY_SEQ_CST)

/* Release sequence: who acquires from a relaxed read-modify-write sees the release before it. */
static void rmw_sequence_0(void)
{
    set(&x, BLY_RELAXED);
    set(&y, BLY_RELEASE);
}
static void rmw_sequence_1(void)
{
    uint32_t expected = 1;
    (void)bly_cas(&y, &expected, 2u, BLY_RELAXED, BLY_RELAXED);
}
static void rmw_sequence_2(void)
{
    read_a = bly_load(&y, BLY_ACQUIRE) == 2;
    read_b = bly_load(&x, BLY_RELAXED);
}

/* Two additions never read the same value. */
static void two_adds(void)
{
    uint32_t old = bly_fetch_add(&x, 1u, BLY_RELAXED);
    if (old == 1) {
        read_a = 1;
    }
}

#define ALL2 0xfu
#define OUTCOMES(name, allowed_mask, ...)                                                          \
    static litmus name = {.threads = {__VA_ARGS__}, .allowed = allowed_mask}

OUTCOMES(sb_relaxed, ALL2, sb_relaxed_0, sb_relaxed_1);
OUTCOMES(sb_release_acquire, ALL2, sb_release_acquire_0, sb_release_acquire_1);
OUTCOMES(sb_seq_cst, ALL2 & ~1u, sb_seq_cst_0, sb_seq_cst_1);
OUTCOMES(sb_fences, ALL2 & ~1u, sb_fences_0, sb_fences_1);
OUTCOMES(sb_weak_fences, ALL2, sb_weak_fences_0, sb_weak_fences_1);
OUTCOMES(sb_rmw, ALL2, sb_rmw_0, sb_rmw_1);
OUTCOMES(mp_relaxed, ALL2, mp_relaxed_0, mp_relaxed_1);
OUTCOMES(mp_release_acquire, ALL2 & ~2u, mp_release_acquire_0, mp_release_acquire_1);
OUTCOMES(mp_release_only, ALL2, mp_release_only_0, mp_release_only_1);
OUTCOMES(mp_acquire_only, ALL2, mp_acquire_only_0, mp_acquire_only_1);
OUTCOMES(mp_fences, ALL2 & ~2u, mp_fences_0, mp_fences_1);
OUTCOMES(mp_release_fence_only, ALL2, mp_release_fence_only_0, mp_release_fence_only_1);
OUTCOMES(corr, ALL2 & ~2u, corr_0, corr_1);
OUTCOMES(wrc_relaxed, 0xffu, wrc_relaxed_0, wrc_relaxed_1, wrc_relaxed_2);
OUTCOMES(wrc_release_acquire, 0xffu & ~(1u << 3), wrc_release_acquire_0, wrc_release_acquire_1,
         wrc_release_acquire_2);
OUTCOMES(iriw_acquire, 0xffffu, iriw_acquire_0, iriw_acquire_1, iriw_acquire_2, iriw_acquire_3);
OUTCOMES(iriw_seq_cst, 0xffffu & ~(1u << 5), iriw_seq_cst_0, iriw_seq_cst_1, iriw_seq_cst_2,
         iriw_seq_cst_3);
OUTCOMES(rmw_sequence, ALL2 & ~2u, rmw_sequence_0, rmw_sequence_1, rmw_sequence_2);
OUTCOMES(adds, 1u << 1, two_adds, two_adds);

#define LITMUS_WITHIN(title, test, bound)                                                          \
    {                                                                                              \
        .name = "litmus/" title, .fn = run_litmus, .arg = &(test),                                 \
        .opts = {.preemptions = bound, .stale_reads = bound}, .before = forget, .after = compare   \
    }

#define LITMUS(title, test) LITMUS_WITHIN(title, test, BELAY_UNBOUNDED)

const scenario litmus_scenarios[] = {
    LITMUS("sb-relaxed", sb_relaxed),
    LITMUS("sb-release-acquire", sb_release_acquire),
    LITMUS("sb-seq-cst", sb_seq_cst),
    LITMUS("sb-seq-cst-fences", sb_fences),
    LITMUS("sb-acq-rel-fences", sb_weak_fences),
    LITMUS("sb-rmw-is-no-fence", sb_rmw),
    LITMUS("mp-relaxed", mp_relaxed),
    LITMUS("mp-release-acquire", mp_release_acquire),
    LITMUS("mp-release-only", mp_release_only),
    LITMUS("mp-acquire-only", mp_acquire_only),
    LITMUS("mp-fences", mp_fences),
    LITMUS("mp-release-fence-only", mp_release_fence_only),
    LITMUS("corr", corr),
    LITMUS("wrc-relaxed", wrc_relaxed),
    LITMUS("wrc-release-acquire", wrc_release_acquire),
    LITMUS_WITHIN("iriw-acquire", iriw_acquire, 2),
    LITMUS_WITHIN("iriw-seq-cst", iriw_seq_cst, 2),
    LITMUS("release-sequence", rmw_sequence),
    LITMUS("two-adds", adds),
    {.name = NULL},
};
