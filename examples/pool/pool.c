/*
 * pool.c: see pool.h. The semaphore is the line of the borrowers; who holds a permit of it finds a
 * connection idle or may open one.
 */
#include "pool.h"

#include <stdlib.h>

struct pool {
    pool_opts opts;
    belay_sem *places;
    int idle[POOL_SIZE_MAX];
    uint32_t idle_count;
};

int pool_create(const pool_opts *opts, pool **ret_pool)
{
    if (opts->size == 0 || opts->size > POOL_SIZE_MAX) {
        return BELAY_EINVAL;
    }
    pool *self = calloc(1, sizeof *self);
    if (self == NULL) {
        return BELAY_ENOMEM;
    }
    self->opts = *opts;
    belay_sem_opts sem_opts = {.size = sizeof sem_opts,
                               .capacity = opts->size,
                               .clock = opts->clock,
                               .executor = opts->executor};
    int error = belay_sem_create(&sem_opts, &self->places);
    if (error != 0) {
        free(self);
        return error;
    }
    *ret_pool = self;
    return 0;
}

/* The loan has a place; now it needs a connection. */
static int connect_loan(loan *to)
{
    pool *self = to->from;
    to->connection = self->idle_count > 0 ? self->idle[--self->idle_count] : self->opts.open();
    if (to->connection >= 0) {
        return 0;
    }
    belay_lease_release(&to->lease);
    return BELAY_EIO;
}

static void on_place(belay_lease *lease, int result, void *arg)
{
    loan *to = arg;
    (void)lease;
    to->fn(to, result == 0 ? connect_loan(to) : result, to->arg);
}

int pool_borrow(pool *self, loan *to, int64_t deadline_ns, loan_fn *fn, void *arg)
{
    to->from = self;
    to->fn = fn;
    to->arg = arg;
    int result =
        belay_sem_acquire_async(self->places, &to->lease, 1, deadline_ns, NULL, on_place, to);
    return result == 0 ? connect_loan(to) : result;
}

void pool_return(loan *from)
{
    pool *self = from->from;
    self->idle[self->idle_count++] = from->connection;
    belay_lease_release(&from->lease);
}

int pool_destroy(pool *self)
{
    int error = belay_sem_destroy(self->places);
    if (error != 0) {
        return error;
    }
    while (self->idle_count > 0) {
        self->opts.close(self->idle[--self->idle_count]);
    }
    free(self);
    return 0;
}
