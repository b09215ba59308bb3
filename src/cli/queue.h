/*
 * queue.h: the jobs that wait: which one starts next, and when.
 *
 * The only place that decides order (priority, then time, then number), time (not before start_ns)
 * and limits. A scheduler holds the jobs that wait for their time or their turn. A job whose limits
 * are taken leaves it and waits for them outside the order, so that others start; when it has got
 * them it goes before all that is in the scheduler.
 * Context: the command's only thread.
 */
#ifndef BLY_CLI_QUEUE_H
#define BLY_CLI_QUEUE_H

#include "belay/sched.h"
#include "job.h"
#include "limits.h"

/* At one address from bly_queue_init to bly_queue_free. */
struct bly_queue {
    belay_sched *sched;
    bly_job *claimed;    /* what the scheduler has just given */
    bly_job *ready;      /* they hold their permits, in the order in which they got them */
    bly_job **ready_end; /* where the next one goes */
    size_t count;        /* in the scheduler, waiting for limits, and ready */
    struct bly_limits limits;
};

/*
 * bly_queue_init: makes an empty queue; bly_queue_free ends it and frees the jobs in it; what it
 * gave has to have ended before that.
 * timers: of the limits, from bly_sems_open; clock: NULL is the system's; both are borrowed.
 */
void bly_queue_init(struct bly_queue *queue, belay_timers *timers, belay_clock *clock);

/*
 * bly_queue_put: takes a job. NULL, or why its limits cannot be had (the job is not taken then). A
 * job that was run before goes before those of its time that were not.
 */
const char *bly_queue_put(struct bly_queue *queue, bly_job *job);

/*
 * bly_queue_take: gives the job to start now, with the permits it wants, or NULL and when the next
 * job that waits for its time is due: BELAY_FOREVER without one. Its permits go back by
 * bly_queue_give_permits.
 */
bly_job *bly_queue_take(struct bly_queue *queue, int64_t *ret_next_ns);

/* bly_queue_give_permits: gives back the permits of a job that was taken. */
void bly_queue_give_permits(bly_job *job);

/* bly_queue_count: jobs in it. */
size_t bly_queue_count(const struct bly_queue *queue);

void bly_queue_free(struct bly_queue *queue);

#endif
