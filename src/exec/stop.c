/*
 * stop.c: how a pool ends.
 *
 * Whoever brings outstanding to 0 in a pool that drains, or closes one that has nothing
 * outstanding, moves it to STOPPING and wakes all sleepers; a worker leaves its loop when it finds
 * that state and no work. Each runs its stop hook and counts itself off; the last moves the pool to
 * TERMINATED, calls on_terminated, and stores has_ended, its last touch of the pool. The first
 * awaiter (or destroy) after that joins the threads, the others wait for it to have done so.
 */
#include "deliver/deliver.h"
#include "exec/exec_int.h"
#include "exec/wait.h"

void bly_exec_retire(belay_exec *exec)
{
    if (bly_life_retire(&exec->life)) {
        bly_idle_wake_all(&exec->idle);
    }
}

void bly_exec_worker_left(belay_exec *exec)
{
    /* acquire and release: the last one has seen what the others' hooks did. */
    uint32_t before = bly_fetch_sub(&exec->alive, 1u, BLY_ACQ_REL);
    bly_assert(before != 0);
    if (before != 1) {
        return;
    }
    bly_assert(!bly_find_visible(exec));
    bly_life_terminate(&exec->life);
    if (exec->opts.on_terminated != NULL) {
        exec->opts.on_terminated(exec->opts.arg);
    }
    uint32_t *has_ended = &exec->has_ended;
    bly_store(has_ended, 1u, BLY_RELEASE); /* with the acquire of wait_ended */
    bly_futex_wake(has_ended, BLY_WAKE_ALL);
}

/*
 * Callbacks of what the tokens complete wait until this thread has left the pool: they may destroy
 * it, and destroy waits for those who are inside.
 */
static int close_down(belay_exec *exec, bool is_now)
{
    if (exec == NULL) {
        return BELAY_EINVAL;
    }
    bly_assert_debug(!bly_forked_since(exec->fork_generation));
    bool is_worker = bly_worker_of(exec) != NULL;
    if (!is_worker) {
        bly_exec_enter(exec);
    }
    bool is_outermost = bly_deliver_hold();
    if (bly_life_close(&exec->life, is_now)) {
        bly_idle_wake_all(&exec->idle);
    }
    for (uint32_t i = 0; is_now && i < exec->worker_count; i++) {
        bly_frames_fire(exec->workers[i]);
    }
    if (!is_worker) {
        bly_exec_leave(exec);
    }
    bly_deliver_release(is_outermost);
    return 0;
}

int belay_exec_shutdown(belay_exec *exec)
{
    return close_down(exec, false);
}

int belay_exec_shutdown_now(belay_exec *exec)
{
    return close_down(exec, true);
}

static int wait_ended(belay_exec *exec, int64_t deadline_ns)
{
    while (bly_load(&exec->has_ended, BLY_ACQUIRE) == 0) {
        int result = bly_wait_check(deadline_ns);
        if (result != 0) {
            return result;
        }
        bly_wait_on(&exec->has_ended, 0, deadline_ns);
    }
    return 0;
}

void bly_exec_join(belay_exec *exec)
{
    bly_assert(bly_life_state(&exec->life) == BELAY_EXEC_TERMINATED);
    uint32_t join = BLY_JOIN_NONE;
    /* acquire, with the release below: who comes later sees the threads joined. */
    if (bly_cas(&exec->join, &join, BLY_JOIN_RUNNING, BLY_ACQUIRE, BLY_ACQUIRE)) {
        for (uint32_t i = 0; i < exec->worker_count; i++) {
            bly_worker_join(exec->workers[i]);
        }
        bly_assert(bly_load(&exec->has_ended, BLY_ACQUIRE) == 1);
        bly_store(&exec->join, BLY_JOIN_DONE, BLY_RELEASE);
        bly_futex_wake(&exec->join, BLY_WAKE_ALL);
        return;
    }
    while (join != BLY_JOIN_DONE) {
        (void)bly_futex_wait(&exec->join, BLY_JOIN_RUNNING, BELAY_FOREVER);
        join = bly_load(&exec->join, BLY_ACQUIRE);
    }
}

int belay_exec_await_termination(belay_exec *exec, int64_t deadline_ns)
{
    if (exec == NULL) {
        return BELAY_EINVAL;
    }
    if (bly_worker_of(exec) != NULL) {
        return BELAY_EDEADLK;
    }
    bly_assert_debug(!bly_forked_since(exec->fork_generation));
    bly_exec_enter(exec);
    int result = wait_ended(exec, deadline_ns);
    if (result == 0) {
        bly_exec_join(exec);
    }
    bly_exec_leave(exec);
    return result;
}
