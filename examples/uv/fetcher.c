/*
 * fetcher.c: fetches at a limited rate, on a libuv loop.
 *
 * At most BURST fetches begin in any PERIOD_MS: a lease is acquired before a fetch begins and given
 * back a period later, however long the fetch takes. The callbacks of the semaphore come through a
 * mailbox, whose descriptor the loop polls, so everything of the program runs on the loop's thread.
 * A timer of libuv stands for the request and its answer.
 */
#include <belay/sem.h>
#include <belay/task.h>

#include <stdio.h>
#include <stdlib.h>
#include <uv.h>

#define FETCHES   24
#define BURST     6
#define PERIOD_MS 20
#define ANSWER_MS 3
#define BATCH     64

typedef struct fetch {
    belay_lease lease;
    uv_timer_t answer;
    uv_timer_t period;
} fetch;

static fetch fetches[FETCHES];
static belay_sem *sem;
static belay_mailbox *mailbox;
static uv_poll_t mail_poll;
static uint64_t begun[FETCHES]; /* when, in the order of beginning */
static int begun_count, period_count;

static void must(int result)
{
    if (result < 0) {
        fprintf(stderr, "fetcher: %s\n", belay_strerror(result));
        exit(1);
    }
}

static void on_answer(uv_timer_t *timer)
{
    uv_close((uv_handle_t *)timer, NULL);
}

static void on_period(uv_timer_t *timer)
{
    fetch *self = timer->data;
    must(belay_lease_release(&self->lease));
    uv_close((uv_handle_t *)timer, NULL);
    if (++period_count == FETCHES) {
        uv_close((uv_handle_t *)&mail_poll, NULL); /* nothing is left for the loop */
    }
}

static void start(uv_timer_t *timer, uv_timer_cb fn, uint64_t delay_ms, fetch *self)
{
    timer->data = self;
    (void)uv_timer_init(uv_default_loop(), timer);
    (void)uv_timer_start(timer, fn, delay_ms, 0);
}

static void on_permit(belay_lease *lease, int result, void *arg)
{
    fetch *self = arg;
    (void)lease;
    must(result);
    uv_update_time(uv_default_loop());
    begun[begun_count++] = uv_now(uv_default_loop());
    start(&self->answer, on_answer, ANSWER_MS, self);
    start(&self->period, on_period, PERIOD_MS, self);
}

static void on_mail(uv_poll_t *handle, int status, int events)
{
    (void)handle;
    (void)events;
    if (status == 0) {
        must(belay_mailbox_run(mailbox, BATCH));
    }
}

int main(void)
{
    must(belay_mailbox_create(NULL, &mailbox));
    belay_sem_opts opts = {.size = sizeof opts,
                           .capacity = BURST,
                           .executor = belay_mailbox_executor(mailbox),
                           .name = "fetches"};
    must(belay_sem_create(&opts, &sem));
    (void)uv_poll_init(uv_default_loop(), &mail_poll, belay_mailbox_fd(mailbox));
    (void)uv_poll_start(&mail_poll, UV_READABLE, on_mail);
    for (int i = 0; i < FETCHES; i++) {
        fetch *self = &fetches[i];
        int result =
            belay_sem_acquire_async(sem, &self->lease, 1, BELAY_FOREVER, NULL, on_permit, self);
        must(result);
        if (result == 0) {
            on_permit(&self->lease, 0, self);
        }
    }
    (void)uv_run(uv_default_loop(), UV_RUN_DEFAULT);
    must(belay_sem_destroy(sem));
    must(belay_mailbox_destroy(mailbox));
    for (int i = BURST; i < FETCHES; i++) {
        if (begun[i] - begun[i - BURST] < PERIOD_MS) {
            fprintf(stderr, "fetcher: %d fetches within %d ms\n", BURST + 1, PERIOD_MS);
            return 1;
        }
    }
    printf("%d fetches, at most %d in %d ms\n", begun_count, BURST, PERIOD_MS);
    return uv_loop_close(uv_default_loop()) == 0 && begun_count == FETCHES ? 0 : 1;
}
