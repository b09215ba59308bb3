/*
 * queue.h: the jobs that wait: which one starts next, and when.
 *
 * The only place that decides order (priority, then time, then number), time (not before start_ns)
 * and limits. A job whose limits are taken waits outside the order, so that others start.
 * Context: the command's only thread.
 */
#ifndef BLY_CLI_QUEUE_H
#define BLY_CLI_QUEUE_H

#include "heap.h"
#include "job.h"
#include "limits.h"

struct bly_queue {
    struct bly_heap due;    /* by priority, time, number */
    struct bly_heap future; /* by time */
    bly_job *parked;        /* their limits were taken, in the order in which they wait */
    size_t parked_count;
    struct bly_limits limits;
};

/* bly_queue_init: makes an empty queue; bly_queue_free ends it and frees the jobs in it. */
void bly_queue_init(struct bly_queue *queue);

/* bly_queue_put: takes a job. NULL, or why its limits cannot be had (the job is not taken then). */
const char *bly_queue_put(struct bly_queue *queue, bly_job *job);

/*
 * bly_queue_take: gives the job to start now, with the permits it wants, or NULL. `now_ns` is
 * monotonic. Its permits go back by bly_queue_give_permits.
 */
bly_job *bly_queue_take(struct bly_queue *queue, int64_t now_ns);

/* bly_queue_give_permits: gives back the permits of a job that was taken. */
void bly_queue_give_permits(struct bly_queue *queue, const bly_job *job);

/* bly_queue_next_ns: when the next job that waits for its time is due; INT64_MAX without one. */
int64_t bly_queue_next_ns(const struct bly_queue *queue);

/* bly_queue_count: jobs in it. */
size_t bly_queue_count(const struct bly_queue *queue);

void bly_queue_free(struct bly_queue *queue);

#endif
