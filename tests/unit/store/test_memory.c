/*
 * Each allocation of each call fails once: the call says so, and changes nothing.
 */
#include "../fault.h"
#include "harness.h"

static harness h;

typedef int call_fn(void);

static uint64_t seq;
static uint64_t extra;

static int call_open(void)
{
    bly_store *store = NULL;
    bly_store_opts opts = {.size = sizeof opts, .clock = h.clock};
    int result = bly_store_open(h.path, &opts, &store, NULL);
    if (result == 0) {
        bly_store_close(store, BELAY_FOREVER);
    }
    return result;
}

static int call_add(void)
{
    bly_new_job job = harness_job("x");
    bly_added added;
    return harness_try_add(&h, &job, &added);
}

static int call_claim(void)
{
    bly_claim_result claimed;
    int result = bly_store_claim(h.store, h.session, 1, 0, &claimed);
    if (result == 0) {
        ck_assert_uint_eq(claimed.count, 1);
        return harness_end_claim(&h, claimed.first, BLY_DO_GIVE_BACK);
    }
    ck_assert_ptr_null(claimed.first);
    return result;
}

static int call_session(void)
{
    bly_session_opts opts = {.size = sizeof opts};
    int result = bly_store_session_begin(h.store, &opts, &extra);
    return result == 0 ? bly_store_session_end(h.store, extra) : result;
}

static int call_list(void)
{
    bly_rows *rows = NULL;
    bly_query query = {.flags = BLY_LIST_WHY | BLY_LIST_WORK};
    int result = bly_store_list(h.store, &query, &rows);
    bly_rows_free(result == 0 ? rows : NULL);
    return result;
}

static int call_find(void)
{
    bly_rows *rows = NULL;
    bly_job_ref ref = {.seq = seq};
    int result = bly_store_find(h.store, &ref, &rows);
    bly_rows_free(result == 0 ? rows : NULL);
    return result;
}

static int call_table(void)
{
    bly_table *table = NULL;
    int result = bly_store_table(h.store, BLY_TABLE_SESSIONS, &table);
    bly_table_free(result == 0 ? table : NULL);
    return result;
}

static int call_batch(void)
{
    bly_table *table = NULL;
    int result =
        bly_store_batch_begin(h.store, BLY_BYTES("b"), BLY_BYTES("d"), BLY_BATCH_FRESH, &table);
    bly_table_free(result == 0 ? table : NULL);
    return result;
}

static int call_cancel(void)
{
    bly_new_job job = harness_job("to be canceled");
    bly_added added;
    int result = harness_try_add(&h, &job, &added);
    bly_job_ref ref = {.seq = added.seq};
    return result == 0 ? bly_store_cancel(h.store, &ref) : result;
}

static int call_watch(void)
{
    bly_store_watch *watch = NULL;
    int result = bly_store_watch_create(h.store, &watch);
    bly_store_watch_destroy(result == 0 ? watch : NULL);
    return result;
}

static const struct {
    const char *name;
    call_fn *fn;
} calls[] = {{"open", call_open},   {"add", call_add},         {"claim", call_claim},
             {"list", call_list},   {"session", call_session}, {"find", call_find},
             {"table", call_table}, {"batch", call_batch},     {"cancel", call_cancel},
             {"watch", call_watch}};

START_TEST(each_call_reports_that_memory_is_out_and_works_afterwards)
{
    harness_begin(&h);
    seq = harness_add_plain(&h, "x");
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        uint32_t k = 0;
        int result;
        uint32_t failed;
        do {
            fault_alloc_once(++k);
            result = calls[i].fn();
            failed = fault_alloc_stop();
            ck_assert_msg(result == (failed != 0 ? BELAY_ENOMEM : 0), "%s, allocation %u: %s",
                          calls[i].name, k, belay_err_name(result));
            invariants_hold(h.path);
        } while (failed != 0);
    }
    harness_end(&h);
}
END_TEST

START_TEST(a_store_needs_its_thread)
{
    memset(&h, 0, sizeof h);
    harness_folder(&h);
    bly_store *store = NULL;
    bly_store_error error;
    fault_thread_once(1);
    ck_assert_int_eq(bly_store_open(h.path, NULL, &store, &error), BELAY_EAGAIN);
    ck_assert_uint_eq(fault_thread_stop(), 1);
    ck_assert_int_eq(bly_store_open(h.path, NULL, &store, &error), 0);
    bly_store_close(store, BELAY_FOREVER);
    harness_remove(&h);
}
END_TEST

UNIT_MAIN("store/memory", each_call_reports_that_memory_is_out_and_works_afterwards,
          a_store_needs_its_thread)
