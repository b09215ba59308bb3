/*
 * sem_order.c: the order in which a semaphore grants and tells, beside releases on two threads.
 *
 * The semaphore leaves in each lease its place in the queue and its turn among the grants.
 */
#include "scenario.h"

#include "belay/sem.h"
#include "sem/sem_int.h"

#define REQUESTS 4

typedef struct request {
    belay_lease lease;
    uint32_t calls;
    int result;
} request;

/* An executor that runs its tasks one at a time, in the order of submission. */
typedef struct serial {
    belay_executor executor;
    bly_mutex lock;
    belay_task *tasks[REQUESTS]; /* lock */
    const request *of[REQUESTS]; /* lock: whose they are */
    uint32_t count;              /* lock */
} serial;

typedef struct world {
    belay_sem *sem;
    belay_timers *timers; /* polled by nobody */
    belay_lease held[2];
    request requests[REQUESTS];
    serial queue;
} world;

static world *now;

static void on_end(belay_lease *lease, int result, void *arg)
{
    request *self = arg;
    self->calls++;
    self->result = result;
    belay_model_check(result == 0 && belay_lease_release(lease) == 0);
}

static int ask(unsigned number, uint32_t permits)
{
    request *one = &now->requests[number];
    return belay_sem_acquire_async(now->sem, &one->lease, permits, BELAY_FOREVER, NULL, on_end,
                                   one);
}

static int submit(belay_executor *self, belay_task *task, unsigned flags)
{
    serial *into = bly_container(self, serial, executor);
    belay_model_check(flags == BELAY_DELIVERY);
    bly_mutex_lock(&into->lock);
    into->of[into->count] = bly_container(task, belay_lease, phase.task)->arg;
    into->tasks[into->count++] = task;
    bly_mutex_unlock(&into->lock);
    return 0;
}

/* All permits are held, half of them by each of two leases. */
static void open_world(uint32_t capacity, bool is_serial)
{
    belay_timers_opts polled = {.size = sizeof polled, .is_polled = 1};
    now = bly_alloc(sizeof *now);
    now->queue.executor.submit = submit;
    belay_model_check(belay_timers_create(&polled, &now->timers) == 0);
    belay_sem_opts opts = {.size = sizeof opts,
                           .capacity = capacity,
                           .timers = now->timers,
                           .executor = is_serial ? &now->queue.executor : NULL};
    belay_model_check(belay_sem_create(&opts, &now->sem) == 0);
    for (unsigned i = 0; i < 2; i++) {
        belay_model_check(
            belay_sem_acquire(now->sem, &now->held[i], capacity / 2, BELAY_NOW, NULL) == 0);
    }
}

static void close_world(void)
{
    belay_model_check(belay_sem_destroy(now->sem) == 0);
    belay_model_check(belay_timers_destroy(now->timers) == 0);
    bly_free(now);
}

static void release(void *lease)
{
    belay_model_check(belay_lease_release(lease) == 0);
}

static uint32_t turn_of(unsigned number)
{
    return (uint32_t)(now->requests[number].lease.mark >> 32);
}

/*
 * Two releases serve two requests that wait: the older one is granted first, whichever release
 * comes first, and a third that queues meanwhile is granted last.
 */
static void releases_serve_in_order(void *arg)
{
    (void)arg;
    open_world(2, false);
    belay_model_check(ask(0, 1) == BELAY_PENDING && ask(1, 2) == BELAY_PENDING);
    int first = belay_model_start(release, &now->held[0]);
    int second = belay_model_start(release, &now->held[1]);
    int result = ask(2, 1);
    belay_model_join(first);
    belay_model_join(second);
    for (unsigned i = 0; i < 2; i++) {
        belay_model_check(now->requests[i].calls == 1 && turn_of(i) == i + 1);
    }
    if (result == BELAY_PENDING) {
        belay_model_check(now->requests[2].calls == 1 && turn_of(2) == 3);
    } else {
        /* Nobody waited any more: both had been granted, and had given back. */
        belay_model_check(result == 0);
        release(&now->requests[2].lease);
    }
    close_world();
}

/*
 * Each of two releases grants two of four requests and submits their callbacks in the order of the
 * queue, whatever the other thread submits in between.
 */
static void serial_executor_from_two_threads(void *arg)
{
    unsigned places[REQUESTS] = {0};
    (void)arg;
    open_world(REQUESTS, true);
    for (unsigned i = 0; i < REQUESTS; i++) {
        belay_model_check(ask(i, 1) == BELAY_PENDING);
    }
    int first = belay_model_start(release, &now->held[0]);
    release(&now->held[1]);
    belay_model_join(first);
    belay_model_check(now->queue.count == REQUESTS);
    for (unsigned i = 0; i < REQUESTS; i++) {
        places[now->queue.of[i] - now->requests] = i;
    }
    belay_model_check(places[0] < places[1] && places[2] < places[3]);
    for (unsigned i = 0; i < REQUESTS; i++) {
        now->queue.tasks[i]->run(now->queue.tasks[i]);
    }
    for (unsigned i = 0; i < REQUESTS; i++) {
        belay_model_check(now->requests[i].calls == 1 && turn_of(i) == i + 1);
    }
    close_world();
}

const scenario sem_order_scenarios[] = {
    {.name = "sem/releases-serve-in-order",
     .fn = releases_serve_in_order,
     .opts = {.preemptions = 3, .spurious = 1}},
    {.name = "sem/serial-executor-from-two-threads",
     .fn = serial_executor_from_two_threads,
     .opts = {.preemptions = 3, .spurious = 1}},
    {0},
};
