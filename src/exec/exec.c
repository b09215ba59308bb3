/*
 * exec.c: making a pool and freeing it.
 *
 * Threads start at a gate (run_first_thread in worker.c): no hook runs before all threads could be
 * made, and a failure leaves nothing behind.
 */
#include "base/opts.h"
#include "sync/cpus.h"
#include "exec/exec_int.h"

#define SPIN_DEFAULT 20u
#define HELP_DEFAULT 16u

bly_exec_tuning bly_exec_tuning_default(void)
{
    return (bly_exec_tuning){.deque = &bly_deque_locked,
                             .spin = SPIN_DEFAULT,
                             .steal_max = BLY_STEAL_MAX,
                             .forced_inbox = BLY_NO_WORKER,
                             .help_max = HELP_DEFAULT};
}

static int read_opts(const belay_exec_opts *opts, belay_exec_opts *ret_opts)
{
    int result = bly_opts_read(ret_opts, sizeof *ret_opts, opts);
    if (result != 0) {
        return result;
    }
    bool is_small = ret_opts->stack_size != 0 && ret_opts->stack_size < BELAY_EXEC_STACK_MIN;
    if (ret_opts->workers > BELAY_EXEC_WORKERS_MAX || ret_opts->reserved != 0 || is_small) {
        return BELAY_EINVAL;
    }
    if (ret_opts->workers == 0) {
        ret_opts->workers = bly_cpus_usable(&bly_cpus_of_machine);
    }
    return 0;
}

static void check_tuning(const belay_exec *exec)
{
    const bly_exec_tuning *tuning = &exec->tuning;
    bly_assert(tuning->deque != NULL && tuning->spin <= BLY_SPIN_MAX);
    bly_assert(tuning->steal_max != 0 && tuning->steal_max <= BLY_STEAL_MAX);
    bly_assert(tuning->help_max <= BLY_HELP_MAX);
    bly_assert(tuning->forced_inbox == BLY_NO_WORKER || tuning->forced_inbox < exec->worker_count);
}

/* Frees what was made of a pool that has no threads; its options die with it. */
static void free_exec(belay_exec *exec)
{
    for (uint32_t i = 0; exec->workers != NULL && i < exec->worker_count; i++) {
        bly_worker_destroy(exec->workers[i]);
    }
    bly_free(exec->workers);
    bly_idle_destroy(&exec->idle);
    bly_free(exec);
}

static int make_workers(belay_exec *exec)
{
    exec->workers = bly_alloc(exec->worker_count * sizeof *exec->workers);
    if (exec->workers == NULL || bly_idle_init(&exec->idle, exec->worker_count) != 0) {
        return BELAY_ENOMEM;
    }
    for (uint32_t i = 0; i < exec->worker_count; i++) {
        exec->workers[i] = bly_worker_create(exec, i);
        if (exec->workers[i] == NULL) {
            return BELAY_ENOMEM;
        }
        exec->idle.beds[i] = &exec->workers[i]->bed;
    }
    return 0;
}

static void open_gate(belay_exec *exec, uint32_t start)
{
    bly_store(&exec->start, start, BLY_RELEASE); /* with the acquires of run_first_thread */
    bly_futex_wake(&exec->start, BLY_WAKE_ALL);
}

static int start_threads(belay_exec *exec)
{
    bly_store(&exec->alive, exec->worker_count, BLY_RELAXED); /* relaxed: ordered by the gate */
    for (uint32_t i = 0; i < exec->worker_count; i++) {
        int result = bly_worker_start(exec->workers[i]);
        if (result != 0) {
            open_gate(exec, BLY_START_ABORT);
            while (i-- > 0) {
                bly_worker_join(exec->workers[i]);
            }
            return result;
        }
    }
    open_gate(exec, BLY_START_GO);
    return 0;
}

int bly_exec_create_tuned(const belay_exec_opts *opts, const bly_exec_tuning *tuning,
                          belay_exec **ret_exec)
{
    belay_exec_opts read;
    int result = ret_exec != NULL ? read_opts(opts, &read) : BELAY_EINVAL;
    if (result != 0) {
        return result;
    }
    belay_exec *exec = bly_alloc(sizeof *exec);
    if (exec == NULL) {
        return BELAY_ENOMEM;
    }
    exec->opts = read;
    exec->tuning = *tuning;
    exec->tuning.seed = tuning->seed != 0 ? tuning->seed : bly_random_seed();
    exec->worker_count = read.workers;
    exec->fork_generation = bly_fork_generation();
    check_tuning(exec);
    bly_exec_init_executor(exec);
    result = make_workers(exec);
    if (result == 0) {
        exec->opts.name = NULL; /* the workers have copied it */
        result = start_threads(exec);
    }
    if (result != 0) {
        free_exec(exec);
        return result;
    }
    *ret_exec = exec;
    return 0;
}

int belay_exec_create(const belay_exec_opts *opts, belay_exec **ret_exec)
{
    bly_exec_tuning tuning = bly_exec_tuning_default();
    return bly_exec_create_tuned(opts, &tuning, ret_exec);
}

int belay_exec_destroy(belay_exec *exec)
{
    if (exec == NULL) {
        return 0;
    }
    bly_assert_debug(!bly_forked_since(exec->fork_generation));
    /* acquire, with the release of attach: the last object has done all that it wanted. */
    if (bly_life_state(&exec->life) != BELAY_EXEC_TERMINATED ||
        bly_load(&exec->attached, BLY_ACQUIRE) != 0) {
        return BELAY_EBUSY;
    }
    if (bly_worker_of(exec) != NULL) {
        return BELAY_EDEADLK;
    }
    bly_exec_join(exec);
    bly_exec_wait_left(exec);
    free_exec(exec);
    return 0;
}
