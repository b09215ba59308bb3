/* queue.c: see queue.h. */
#include "queue.h"

#include <assert.h>

static bool is_due_before(const void *a, const void *b)
{
    const bly_job *first = a;
    const bly_job *second = b;
    if (first->priority != second->priority) {
        return first->priority > second->priority;
    }
    if (first->start_ns != second->start_ns) {
        return first->start_ns < second->start_ns;
    }
    return first->seq < second->seq;
}

static bool is_earlier(const void *a, const void *b)
{
    const bly_job *first = a;
    const bly_job *second = b;
    if (first->start_ns != second->start_ns) {
        return first->start_ns < second->start_ns;
    }
    return first->seq < second->seq;
}

void bly_queue_init(struct bly_queue *queue)
{
    *queue = (struct bly_queue){.due = {.is_before = is_due_before},
                                .future = {.is_before = is_earlier}};
}

const char *bly_queue_put(struct bly_queue *queue, bly_job *job)
{
    const char *why = bly_limits_declare(&queue->limits, &job->limits);
    if (why == NULL) {
        bly_heap_push(&queue->future, job);
    }
    return why;
}

static void move_due(struct bly_queue *queue, int64_t now_ns)
{
    for (bly_job *job = bly_heap_first(&queue->future); job != NULL && job->start_ns <= now_ns;
         job = bly_heap_first(&queue->future)) {
        bly_heap_pop(&queue->future);
        bly_heap_push(&queue->due, job);
    }
}

/* A job whose permits have come back in the meantime. */
static bly_job *take_parked(struct bly_queue *queue)
{
    for (bly_job **at = &queue->parked; *at != NULL; at = &(*at)->next) {
        bly_job *job = *at;
        if (bly_limits_take(&queue->limits, &job->limits)) {
            *at = job->next;
            job->next = NULL;
            queue->parked_count--;
            return job;
        }
    }
    return NULL;
}

static void park(struct bly_queue *queue, bly_job *job)
{
    bly_job **at = &queue->parked;
    while (*at != NULL && !is_due_before(job, *at)) {
        at = &(*at)->next;
    }
    job->next = *at;
    *at = job;
    queue->parked_count++;
}

bly_job *bly_queue_take(struct bly_queue *queue, int64_t now_ns)
{
    move_due(queue, now_ns);
    bly_job *job = take_parked(queue);
    while (job == NULL) {
        job = bly_heap_pop(&queue->due);
        if (job == NULL) {
            return NULL;
        }
        if (!bly_limits_take(&queue->limits, &job->limits)) {
            park(queue, job);
            job = NULL;
        }
    }
    assert(job->start_ns <= now_ns);
    return job;
}

void bly_queue_give_permits(struct bly_queue *queue, const bly_job *job)
{
    bly_limits_give(&queue->limits, &job->limits);
}

int64_t bly_queue_next_ns(const struct bly_queue *queue)
{
    const bly_job *job = bly_heap_first(&queue->future);
    return job != NULL ? job->start_ns : INT64_MAX;
}

size_t bly_queue_count(const struct bly_queue *queue)
{
    return queue->due.count + queue->future.count + queue->parked_count;
}

static void free_all(struct bly_heap *heap)
{
    for (bly_job *job = bly_heap_pop(heap); job != NULL; job = bly_heap_pop(heap)) {
        bly_job_free(job);
    }
    bly_heap_free(heap);
}

void bly_queue_free(struct bly_queue *queue)
{
    free_all(&queue->due);
    free_all(&queue->future);
    while (queue->parked != NULL) {
        bly_job *job = queue->parked;
        queue->parked = job->next;
        bly_job_free(job);
    }
    bly_limits_free(&queue->limits);
}
