/*
 * bounded.c: an executor with a bound on some of its work.
 *
 * The pool has all workers of the machine, but the work of one kind, say the rendering of pages,
 * may take only two of them at a time, so that the rest stays free for others. Each piece of it
 * first acquires a lease, is submitted to the pool when it has one, and gives it back as its last
 * act. No thread waits for permits: what has to wait is a lease in the queue of the semaphore.
 */
#include <belay/exec.h>
#include <belay/sem.h>

#include <stdio.h>
#include <stdlib.h>

#define PAGES       64
#define AT_ONCE_MAX 2

typedef struct page {
    belay_lease lease;
    belay_task task;
    int number;
    unsigned long sum;
} page;

static page pages[PAGES];
static belay_sem *sem;
static belay_exec *pool;

static void must(int result)
{
    if (result < 0) {
        fprintf(stderr, "bounded: %s\n", belay_strerror(result));
        exit(1);
    }
}

static void render(belay_task *task)
{
    page *self = (page *)((char *)task - offsetof(page, task));
    for (unsigned long i = 0; i < 100000; i++) {
        self->sum += i % (unsigned long)(self->number + 1);
    }
    must(belay_lease_release(&self->lease));
}

/* On the thread that gave the permit back, so it only submits. */
static void on_permit(belay_lease *lease, int result, void *arg)
{
    page *self = arg;
    (void)lease;
    must(result);
    must(belay_exec_submit(pool, &self->task));
}

static void begin(page *self)
{
    self->task.run = render;
    int result =
        belay_sem_acquire_async(sem, &self->lease, 1, BELAY_FOREVER, NULL, on_permit, self);
    must(result);
    if (result == 0) {
        on_permit(&self->lease, 0, self);
    }
}

int main(void)
{
    belay_sem_opts opts = {.size = sizeof opts, .capacity = AT_ONCE_MAX, .name = "render"};
    must(belay_sem_create(&opts, &sem));
    must(belay_exec_create(NULL, &pool));
    for (int i = 0; i < PAGES; i++) {
        pages[i].number = i;
        begin(&pages[i]);
    }
    /* Idle: every lease was given back, so every page has been rendered. */
    must(belay_sem_await_idle(sem, BELAY_FOREVER));
    belay_sem_metrics metrics = {.size = sizeof metrics};
    must(belay_sem_stats(sem, &metrics));
    printf("%d pages, at most %d at once, %llu had to wait\n", PAGES, AT_ONCE_MAX,
           (unsigned long long)metrics.granted_waiting);
    must(belay_exec_shutdown(pool));
    must(belay_exec_await_termination(pool, BELAY_FOREVER));
    must(belay_exec_destroy(pool));
    must(belay_sem_destroy(sem));
    return pages[PAGES - 1].sum != 0 ? 0 : 1;
}
