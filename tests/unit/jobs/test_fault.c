/*
 * test_fault.c: what is promised while memory, threads and the store fail.
 */
#include "jobs.h"

#include "../fault.h"
#include "jobs/worker_int.h"

static probe first;
static belay_jobs_session *session;

/* Calls of the store that fail: how many are left, and with what. */
static uint32_t claims_fail; /* atomic */
static uint32_t starts_fail; /* atomic */
static uint32_t begins_fail; /* atomic */
static int failure = BELAY_EIO;

static bool take(uint32_t *left)
{
    uint32_t before = bly_load(left, BLY_SEQ_CST);
    while (before != 0 && !bly_cas(left, &before, before - 1, BLY_SEQ_CST, BLY_SEQ_CST)) {
    }
    return before != 0;
}

int __real_bly_store_claim(bly_store *store, uint64_t owner, uint32_t max, uint32_t flags,
                           bly_claim_result *ret_result);
int __wrap_bly_store_claim(bly_store *store, uint64_t owner, uint32_t max, uint32_t flags,
                           bly_claim_result *ret_result);
int __real_bly_store_start(bly_store *store, bly_claim_ref *claims, uint32_t count);
int __wrap_bly_store_start(bly_store *store, bly_claim_ref *claims, uint32_t count);
int __real_bly_store_session_begin(bly_store *store, const bly_session_opts *opts,
                                   uint64_t *ret_session);
int __wrap_bly_store_session_begin(bly_store *store, const bly_session_opts *opts,
                                   uint64_t *ret_session);
void __real_bly_store_end(bly_store *store, bly_end *end);
void __wrap_bly_store_end(bly_store *store, bly_end *end);
void __real_bly_store_close(bly_store *store, int64_t deadline_ns);
void __wrap_bly_store_close(bly_store *store, int64_t deadline_ns);

int __wrap_bly_store_claim(bly_store *store, uint64_t owner, uint32_t max, uint32_t flags,
                           bly_claim_result *ret_result)
{
    return take(&claims_fail) ? failure
                              : __real_bly_store_claim(store, owner, max, flags, ret_result);
}

int __wrap_bly_store_start(bly_store *store, bly_claim_ref *claims, uint32_t count)
{
    return take(&starts_fail) ? failure : __real_bly_store_start(store, claims, count);
}

int __wrap_bly_store_session_begin(bly_store *store, const bly_session_opts *opts,
                                   uint64_t *ret_session)
{
    return take(&begins_fail) ? failure : __real_bly_store_session_begin(store, opts, ret_session);
}

/* Ends that are not reported before the close, as while a disk is full. */
static bool holds_ends;
static bly_end *held_end;
static uint32_t held_count; /* atomic */

void __wrap_bly_store_end(bly_store *store, bly_end *end)
{
    if (holds_ends) {
        held_end = end;
        word_raise(&held_count);
    } else {
        __real_bly_store_end(store, end);
    }
}

void __wrap_bly_store_close(bly_store *store, int64_t deadline_ns)
{
    if (held_end != NULL) {
        held_end->reported(held_end, BELAY_ECLOSED, held_end->arg);
    }
    __real_bly_store_close(store, deadline_ns);
}

static uint32_t logged; /* atomic */
static char last_message[512];

static void keep_message(const char *message, void *arg)
{
    (void)arg;
    (void)snprintf(last_message, sizeof last_message, "%s", message);
    word_raise(&logged);
}

static void open_logged(void)
{
    belay_jobs_opts opts = {.size = sizeof opts, .log = keep_message};
    open_at("memory:", &opts);
}

START_TEST(open_without_memory_leaves_nothing)
{
    uint32_t nth = 0;
    int result;
    do {
        fault_alloc_once(++nth);
        result = belay_jobs_open("memory:", NULL, &test_jobs, NULL);
        ck_assert(result == 0 || result == BELAY_ENOMEM);
        uint32_t failed = fault_alloc_stop();
        if (result == 0) {
            close_store();
        }
        if (failed == 0) {
            break;
        }
    } while (true);
    ck_assert_uint_gt(nth, 1);
}
END_TEST

START_TEST(open_without_a_thread_says_so)
{
    fault_thread_once(1);
    ck_assert_int_eq(belay_jobs_open("memory:", NULL, &test_jobs, NULL), BELAY_EAGAIN);
    (void)fault_thread_stop();
}
END_TEST

START_TEST(calls_without_memory_change_nothing)
{
    open_store();
    belay_bytes mail = belay_bytes_text("mail");
    belay_jobs_session_opts opts = {.size = sizeof opts, .queues = &mail, .queue_count = 1};
    belay_jobs_new job = new_job("mail", "letter");
    belay_run *run = NULL;
    belay_cancel *token = NULL;
    belay_jobs_watch *watch = NULL;
    uint32_t count = 0;
    int status = 1;
    belay_run_ending how = {
        .size = sizeof how, .what = BELAY_RUN_DONE, .result = belay_bytes_text("x")};
    struct {
        int step;
        uint32_t nth;
    } at = {0, 0};
    while (at.step < 8) {
        int result = 0;
        fault_alloc_once(++at.nth);
        switch (at.step) {
        case 0:
            result = belay_jobs_session_begin(test_jobs, &opts, &session);
            break;
        case 1:
            result = belay_jobs_add_many(test_jobs, &job, 1, NULL, NULL, NULL);
            break;
        case 2:
            result = belay_jobs_session_claim(session, 1, 0, &run, &count, NULL);
            break;
        case 3:
            result = belay_jobs_session_start(session, &run, 1, &status);
            break;
        case 4:
            result = belay_run_token(run, &token);
            break;
        case 5:
            result = belay_jobs_session_orders(session, &run, 1, &count);
            break;
        case 6:
            result = belay_run_end(run, &how);
            break;
        default:
            result = belay_jobs_watch_create(test_jobs, &watch);
            break;
        }
        (void)fault_alloc_stop();
        ck_assert_msg(result == 0 || result == BELAY_ENOMEM, "step %d: %d", at.step, result);
        if (result == 0) {
            at.step++;
            at.nth = 0;
        }
        if (at.step == 3 && at.nth == 0) {
            ck_assert_uint_eq(count, 1); /* the claims that failed had claimed nothing */
        }
    }
    ck_assert_int_eq(belay_jobs_flush(test_jobs, BELAY_FOREVER), 0);
    ck_assert_uint_eq(metrics().jobs[BELAY_JOBS_DONE], 1);
    ck_assert_uint_eq(metrics().claimed, 1);
    belay_jobs_watch_destroy(watch);
    ck_assert_int_eq(belay_jobs_session_end(session), 0);
    close_store();
}
END_TEST

START_TEST(work_without_memory_or_thread_can_be_begun_again)
{
    open_store();
    open_exec(1);
    handle("mail", &first);
    uint32_t nth = 0;
    int result;
    do {
        fault_alloc_once(++nth);
        result = belay_jobs_work(test_jobs, belay_exec_executor(test_exec), 1, NULL);
        (void)fault_alloc_stop();
        ck_assert(result == 0 || result == BELAY_ENOMEM);
    } while (result != 0);
    ck_assert_uint_gt(nth, 3);
    ck_assert_int_eq(belay_jobs_drain(test_jobs, BELAY_FOREVER), 0);
    fault_thread_from(1);
    ck_assert_int_eq(belay_jobs_work(test_jobs, belay_exec_executor(test_exec), 1, NULL),
                     BELAY_EAGAIN);
    (void)fault_thread_stop();
    begins_fail = 1;
    ck_assert_int_eq(belay_jobs_work(test_jobs, belay_exec_executor(test_exec), 1, NULL),
                     BELAY_EIO);
    work(1);
    ck_assert_uint_eq(await_end(add_plain("mail")).state, BELAY_JOBS_DONE);
    close_store();
    close_exec();
}
END_TEST

START_TEST(handlers_without_memory_are_not_kept)
{
    open_store();
    fault_alloc_once(1);
    ck_assert_int_eq(belay_jobs_handle(test_jobs, "mail", NULL, probe_fn, &first), BELAY_ENOMEM);
    (void)fault_alloc_stop();
    handle("mail", &first);
    close_store();
}
END_TEST

START_TEST(claims_that_fail_are_logged_and_made_again)
{
    open_logged();
    open_exec(1);
    handle("mail", &first);
    claims_fail = 1;
    work(1);
    uint64_t seq = add_plain("mail");
    ck_assert_uint_eq(await_end(seq).state, BELAY_JOBS_DONE);
    ck_assert_uint_eq(bly_load(&logged, BLY_SEQ_CST), 1);
    ck_assert_ptr_nonnull(strstr(last_message, "claiming jobs"));
    close_store();
    close_exec();
}
END_TEST

START_TEST(a_start_that_fails_gives_the_job_back)
{
    open_store();
    open_exec(1);
    handle("mail", &first);
    starts_fail = 1;
    work(1);
    belay_jobs_row row = await_end(add_plain("mail"));
    ck_assert_uint_eq(row.state, BELAY_JOBS_DONE);
    ck_assert_uint_eq(row.runs, 1);
    ck_assert_uint_eq(first.begun, 1);
    ck_assert_uint_eq(metrics().given_back, 1);
    close_store();
    close_exec();
}
END_TEST

START_TEST(a_session_that_cannot_begin_again_is_begun_later)
{
    open_logged();
    open_exec(1);
    handle("mail", &first);
    work(1);
    (void)await_end(add_plain("mail"));
    begins_fail = 1;
    ck_assert_int_eq(bly_store_session_end(test_jobs->store, test_jobs->worker->owner.session), 0);
    ck_assert_uint_eq(await_end(add_plain("mail")).state, BELAY_JOBS_DONE);
    ck_assert_uint_eq(bly_load(&begins_fail, BLY_SEQ_CST), 0);
    ck_assert_uint_ge(bly_load(&logged, BLY_SEQ_CST), 1);
    close_store();
    close_exec();
}
END_TEST

static uint32_t told_count; /* atomic */
static int told;

static void note(int result, void *arg)
{
    (void)arg;
    told = result;
    word_raise(&told_count);
}

static int end_with_report(belay_run *run, probe *self)
{
    (void)self;
    belay_run_ending how = {.size = sizeof how, .what = BELAY_RUN_DONE, .reported = note};
    ck_assert_int_eq(belay_run_end(run, &how), 0);
    return BELAY_PENDING;
}

START_TEST(a_close_gives_up_reports_at_its_deadline)
{
    open_store();
    open_exec(1);
    first.act = end_with_report;
    handle("mail", &first);
    holds_ends = true;
    work(1);
    (void)add_plain("mail");
    word_await(&held_count, 1);
    ck_assert_int_eq(belay_jobs_drain(test_jobs, BELAY_NOW), BELAY_ETIMEDOUT);
    /* The end is counted out just after the store has it; until then the run may seem to go on. */
    int result;
    while ((result = belay_jobs_close(test_jobs, BELAY_NOW)) == BELAY_ETIMEDOUT) {
        bly_yield();
    }
    ck_assert_int_eq(result, 0);
    word_await(&told_count, 1);
    ck_assert_int_eq(told, BELAY_ECLOSED);
    close_exec();
}
END_TEST

UNIT_MAIN("jobs/fault", open_without_memory_leaves_nothing, open_without_a_thread_says_so,
          calls_without_memory_change_nothing, work_without_memory_or_thread_can_be_begun_again,
          handlers_without_memory_are_not_kept, claims_that_fail_are_logged_and_made_again,
          a_start_that_fails_gives_the_job_back, a_session_that_cannot_begin_again_is_begun_later,
          a_close_gives_up_reports_at_its_deadline)
