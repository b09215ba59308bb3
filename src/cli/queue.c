/* queue.c: see queue.h. */
#include "queue.h"

#include <assert.h>

void bly_queue_init(struct bly_queue *queue, belay_timers *timers, belay_clock *clock)
{
    *queue = (struct bly_queue){.limits = {.timers = timers}};
    queue->ready_end = &queue->ready;
    belay_sched_opts opts = {.size = sizeof opts,
                             .pending_max = BELAY_UNBOUNDED,
                             .clock = clock,
                             .aging_ns_per_priority = BELAY_FOREVER};
    bly_mem_check(belay_sched_create(&opts, &queue->sched));
}

/* The scheduler's part of a job ends with its claim: what runs it later is src/proc. */
static int on_claimed(belay_claim *claim, void *arg)
{
    bly_job *job = arg;
    (void)claim;
    assert(job->queue->claimed == NULL);
    job->queue->claimed = job;
    return 0;
}

static void on_dropped(void *arg, int why)
{
    (void)why;
    bly_job_free(arg);
}

const char *bly_queue_put(struct bly_queue *queue, bly_job *job)
{
    if (job->permits.count == 0) {
        const char *why = bly_limits_declare(&queue->limits, &job->limits, &job->permits);
        if (why != NULL) {
            return why;
        }
    }
    job->queue = queue;
    belay_job work = {.size = sizeof work,
                      .priority = job->priority,
                      .run_at_ns = job->start_ns - (job->tries > 0 ? 1 : 0),
                      .fn = on_claimed,
                      .arg = job,
                      .drop = on_dropped};
    bly_mem_check(belay_sched_schedule(queue->sched, BELAY_NO_ID, &work, NULL));
    queue->count++;
    return NULL;
}

/* A job that waited for limits has got them, or will not. */
static void on_permits(void *arg, bool is_had)
{
    bly_job *job = arg;
    struct bly_queue *queue = job->queue;
    if (is_had) {
        *queue->ready_end = job;
        queue->ready_end = &job->next;
    } else {
        bly_job_free(job);
    }
}

static bly_job *take_ready(struct bly_queue *queue)
{
    bly_job *job = queue->ready;
    if (job != NULL) {
        queue->ready = job->next;
        queue->ready_end = queue->ready == NULL ? &queue->ready : queue->ready_end;
        job->next = NULL;
    }
    return job;
}

static bly_job *take_due(struct bly_queue *queue, int64_t *ret_next_ns)
{
    belay_claim *claim = NULL;
    int result = belay_sched_next(queue->sched, BELAY_NOW, &claim, ret_next_ns);
    if (result == BELAY_EAGAIN) {
        return NULL;
    }
    bly_mem_check(result);
    result = belay_claim_run(claim);
    assert(result == 0 && queue->claimed != NULL);
    (void)result;
    bly_job *job = queue->claimed;
    queue->claimed = NULL;
    return job;
}

bly_job *bly_queue_take(struct bly_queue *queue, int64_t *ret_next_ns)
{
    bly_job *job = take_ready(queue);
    while (job == NULL) {
        job = take_due(queue, ret_next_ns);
        if (job == NULL) {
            return NULL;
        }
        if (!bly_permits_take(&job->permits)) {
            bly_permits_await(&job->permits, on_permits, job);
            job = take_ready(queue);
        }
    }
    assert(queue->count > 0);
    queue->count--;
    return job;
}

void bly_queue_give_permits(bly_job *job)
{
    bly_permits_give(&job->permits);
}

size_t bly_queue_count(const struct bly_queue *queue)
{
    return queue->count;
}

void bly_queue_free(struct bly_queue *queue)
{
    bly_limits_close(&queue->limits);
    for (bly_job *job = take_ready(queue); job != NULL; job = take_ready(queue)) {
        bly_permits_give(&job->permits);
        bly_job_free(job);
    }
    int result = belay_sched_close(queue->sched, BELAY_CLOSE_DISCARD);
    assert(result == 0);
    result = belay_sched_destroy(queue->sched);
    assert(result == 0);
    (void)result;
    bly_limits_free(&queue->limits);
}
