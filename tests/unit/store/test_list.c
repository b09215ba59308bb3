#include "harness.h"

static harness h;

START_TEST(a_list_has_pages_in_both_orders)
{
    harness_begin(&h);
    for (int i = 0; i < 25; i++) {
        (void)harness_add_plain(&h, "x");
    }
    bly_query query = {.rows_max = 10};
    uint64_t expected = 1;
    for (int page = 0; page < 3; page++) {
        bly_rows *rows = NULL;
        ck_assert_int_eq(bly_store_list(h.store, &query, &rows), 0);
        ck_assert_uint_eq(rows->count, page < 2 ? 10 : 5);
        ck_assert_int_eq(rows->has_more, page < 2);
        for (uint32_t i = 0; i < rows->count; i++) {
            ck_assert_uint_eq(rows->row[i].seq, expected++);
        }
        query.after_seq = rows->row[rows->count - 1].seq;
        bly_rows_free(rows);
    }
    bly_rows *rows = NULL;
    query = (bly_query){.rows_max = 3, .order = BLY_LIST_NEWEST, .after_seq = 20};
    ck_assert_int_eq(bly_store_list(h.store, &query, &rows), 0);
    ck_assert_uint_eq(rows->row[0].seq, 19);
    ck_assert_uint_eq(rows->row[2].seq, 17);
    bly_rows_free(rows);
    harness_end(&h);
}
END_TEST

START_TEST(a_list_is_of_states_queues_ids_and_sessions)
{
    harness_begin(&h);
    bly_new_job job = harness_job("x");
    job.queue = BLY_BYTES("gpu");
    uint64_t gpu = harness_add(&h, &job);
    job = harness_job("x");
    job.id = BLY_BYTES("nightly");
    uint64_t named = harness_add(&h, &job);
    uint64_t plain = harness_add_plain(&h, "x");
    ck_assert_uint_eq(harness_claim_seq(&h), named);
    const struct {
        bly_query query;
        uint64_t seq;
    } cases[] = {
        {{.queue = BLY_BYTES("gpu")}, gpu},
        {{.id = BLY_BYTES("nightly")}, named},
        {{.session = h.session}, named},
        {{.states = BLY_JOB_IN(BLY_JOB_RUNNING)}, named},
        {{.states = BLY_JOB_IN(BLY_JOB_READY), .queue = BLY_BYTES("default")}, plain},
        {{.states = BLY_JOB_LIVE, .after_seq = named}, plain},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        bly_rows *rows = NULL;
        ck_assert_int_eq(bly_store_list(h.store, &cases[i].query, &rows), 0);
        ck_assert_msg(rows->count == 1, "case %zu: %u rows", i, rows->count);
        ck_assert_uint_eq(rows->row[0].seq, cases[i].seq);
        bly_rows_free(rows);
    }
    bly_rows *rows = NULL;
    bly_query none = {.queue = BLY_BYTES("nobody")};
    ck_assert_int_eq(bly_store_list(h.store, &none, &rows), 0);
    ck_assert_uint_eq(rows->count, 0);
    bly_rows_free(rows);
    none = (bly_query){.rows_max = 10001};
    ck_assert_int_eq(bly_store_list(h.store, &none, &rows), BELAY_EINVAL);
    harness_end(&h);
}
END_TEST

START_TEST(the_last_ended_come_first)
{
    harness_begin(&h);
    for (uint64_t i = 1; i <= 5; i++) {
        (void)harness_add_plain(&h, "x");
    }
    for (uint64_t i = 1; i <= 4; i++) {
        harness_pass(&h, SECOND);
        harness_run(&h, i);
    }
    bly_rows *rows = NULL;
    bly_query query = {.order = BLY_LIST_LAST_ENDED, .rows_max = 3};
    ck_assert_int_eq(bly_store_list(h.store, &query, &rows), 0);
    ck_assert_uint_eq(rows->count, 3);
    ck_assert_uint_eq(rows->row[0].seq, 4);
    ck_assert_uint_eq(rows->row[2].seq, 2);
    bly_rows_free(rows);
    harness_end(&h);
}
END_TEST

START_TEST(a_live_list_says_why_each_job_waits)
{
    harness_begin(&h);
    for (int i = 0; i < 50; i++) {
        harness_run(&h, harness_add_plain(&h, "x"));
    }
    bly_new_job job = harness_job("x");
    job.flags = BLY_NEW_PAUSED;
    uint64_t paused = harness_add(&h, &job);
    job = harness_job("x");
    job.run_at_ns = START + SECOND;
    uint64_t later = harness_add(&h, &job);
    bly_after after = {.job = {.seq = later}};
    job.run_at_ns = 0;
    job.after = &after;
    job.after_count = 1;
    uint64_t waiting = harness_add(&h, &job);
    bly_rows *rows = NULL;
    bly_query query = {.states = BLY_JOB_LIVE, .flags = BLY_LIST_WHY};
    ck_assert_int_eq(bly_store_list(h.store, &query, &rows), 0);
    ck_assert_uint_eq(rows->count, 3);
    ck_assert_uint_eq(rows->row[0].seq, paused);
    ck_assert_int_eq(rows->row[0].why.kind, BLY_WHY_PAUSED);
    ck_assert_int_eq(rows->row[1].why.kind, BLY_WHY_AT);
    ck_assert_uint_eq(rows->row[2].seq, waiting);
    ck_assert_int_eq(rows->row[2].why.kind, BLY_WHY_AFTER);
    ck_assert_uint_eq(rows->row[2].why.seq, later);
    ck_assert_uint_eq(rows->row[2].why.state, BLY_JOB_SCHEDULED);
    bly_rows_free(rows);
    harness_end(&h);
}
END_TEST

START_TEST(who_holds_a_limit_is_named)
{
    harness_begin(&h);
    bly_want want = {.name = BLY_BYTES("db"), .permits = 1, .capacity = 3};
    bly_new_job job = harness_job("x");
    job.wants = &want;
    job.want_count = 1;
    for (int i = 0; i < 4; i++) {
        (void)harness_add(&h, &job);
    }
    bly_claim_result result;
    ck_assert_int_eq(bly_store_claim(h.store, h.session, 9, BLY_CLAIM_START, &result), 0);
    ck_assert_uint_eq(result.count, 3);
    bly_rows *rows = harness_find(&h, 4);
    const bly_why *why = &rows->row[0].why;
    ck_assert_int_eq(why->kind, BLY_WHY_LIMIT);
    ck_assert_int_eq(why->used, 3);
    ck_assert_int_eq(why->capacity, 3);
    ck_assert_uint_eq(why->holders[0], 1);
    ck_assert_uint_eq(why->holders[2], 3);
    ck_assert_uint_eq(why->holders[3], 0);
    ck_assert_mem_eq(why->name.data, "db", 2);
    ck_assert_uint_eq(rows->row[0].want_count, 1);
    ck_assert_mem_eq(rows->row[0].wants[0].name.data, "db", 2);
    bly_rows_free(rows);
    bly_table *table = NULL;
    ck_assert_int_eq(bly_store_table(h.store, BLY_TABLE_LIMITS, &table), 0);
    ck_assert_uint_eq(table->count, 1);
    ck_assert_int_eq(table->of.limit[0].used, 3);
    ck_assert_uint_eq(table->of.limit[0].waiting, 1);
    bly_table_free(table);
    ck_assert_int_eq(bly_store_table(h.store, BLY_TABLE_QUEUES, &table), 0);
    ck_assert_uint_eq(table->count, 1);
    ck_assert_int_eq(table->of.limit[0].used, 3);
    ck_assert_uint_eq(table->of.limit[0].sessions, 1);
    bly_table_free(table);
    while (result.first != NULL) {
        bly_claimed *one = result.first;
        result.first = one->next;
        bly_claimed_free(one);
    }
    harness_end(&h);
}
END_TEST

START_TEST(a_batch_is_resumed_or_begun_afresh)
{
    harness_begin(&h);
    bly_table *table = NULL;
    bly_bytes name = BLY_BYTES("images");
    bly_bytes digest = BLY_BYTES("convert {}");
    ck_assert_int_eq(bly_store_batch_begin(h.store, name, digest, 0, &table), 0);
    uint64_t batch = table->of.batch[0].batch;
    bly_table_free(table);
    bly_new_job job = harness_job("x");
    job.batch = batch;
    uint64_t first = harness_add(&h, &job);
    uint64_t second = harness_add(&h, &job);
    harness_run(&h, first);
    ck_assert_int_eq(bly_store_batch_begin(h.store, name, digest, 0, &table), BELAY_EEXIST);
    ck_assert_uint_eq(table->of.batch[0].batch, batch);
    ck_assert_uint_eq(table->of.batch[0].counts[BLY_JOB_DONE], 1);
    ck_assert_uint_eq(table->of.batch[0].counts[BLY_JOB_READY], 1);
    bly_table_free(table);
    ck_assert_int_eq(
        bly_store_batch_begin(h.store, name, BLY_BYTES("other"), BLY_BATCH_RESUME, &table),
        BELAY_ESTALE);
    bly_table_free(table);
    ck_assert_int_eq(bly_store_batch_begin(h.store, name, digest, BLY_BATCH_RESUME, &table), 0);
    ck_assert_uint_eq(table->of.batch[0].batch, batch);
    ck_assert(table->of.batch[0].is_open);
    bly_table_free(table);
    bly_claimed *running = harness_claim(&h);
    ck_assert_uint_eq(running->batch, batch);
    ck_assert_int_eq(bly_store_batch_begin(h.store, name, digest, BLY_BATCH_FRESH, &table),
                     BELAY_EBUSY);
    bly_table_free(table);
    ck_assert_int_eq(harness_end_claim(&h, running, BLY_DO_GIVE_BACK), 0);
    ck_assert_int_eq(bly_store_batch_begin(h.store, name, digest, BLY_BATCH_FRESH, &table), 0);
    ck_assert_uint_ne(table->of.batch[0].batch, batch);
    bly_table_free(table);
    assert_state(&h, second, BLY_JOB_CANCELED);
    ck_assert_int_eq(bly_store_batch_end(h.store, batch + 1, 12), 0);
    ck_assert_int_eq(bly_store_batch_end(h.store, batch + 7, 12), BELAY_ENOENT);
    harness_end(&h);
}
END_TEST

START_TEST(a_batch_is_canceled_as_a_whole)
{
    harness_begin(&h);
    bly_table *table = NULL;
    ck_assert_int_eq(bly_store_batch_begin(h.store, BLY_BYTES("b"), BLY_BYTES("d"), 0, &table), 0);
    bly_new_job job = harness_job("x");
    job.batch = table->of.batch[0].batch;
    bly_table_free(table);
    for (int i = 0; i < 5; i++) {
        (void)harness_add(&h, &job);
    }
    bly_claimed *running = harness_claim(&h);
    uint64_t canceled = 0;
    uint64_t told = 0;
    ck_assert_int_eq(bly_store_cancel_batch(h.store, job.batch, &canceled, &told), 0);
    ck_assert_uint_eq(canceled, 4);
    ck_assert_uint_eq(told, 1);
    ck_assert_int_eq(harness_end_claim(&h, running, BLY_DO_CANCELED), 0);
    harness_end(&h);
}
END_TEST

START_TEST(an_unreadable_row_is_set_aside_and_the_others_run)
{
    harness_begin(&h);
    uint64_t broken = harness_add_plain(&h, "x");
    uint64_t sound = harness_add_plain(&h, "y");
    sqlite3 *db = NULL;
    ck_assert_int_eq(sqlite3_open(h.path, &db), SQLITE_OK);
    ck_assert_int_eq(sqlite3_exec(db, "UPDATE job SET tries = 0 WHERE seq = 1", NULL, NULL, NULL),
                     SQLITE_OK);
    sqlite3_close(db);
    harness_run(&h, sound);
    bly_rows *rows = harness_find(&h, broken);
    ck_assert(rows->row[0].is_quarantined);
    ck_assert_int_eq(rows->row[0].why.kind, BLY_WHY_UNREADABLE);
    bly_rows_free(rows);
    bly_store_stats stats;
    ck_assert_int_eq(bly_store_stats_get(h.store, &stats), 0);
    ck_assert_uint_eq(stats.quarantined, 1);
    ck_assert_uint_eq(stats.jobs[BLY_JOB_READY], 1);
    ck_assert_uint_eq(stats.jobs[BLY_JOB_DONE], 1);
    bly_job_ref ref = {.seq = broken};
    ck_assert_int_eq(bly_store_cancel(h.store, &ref), 0);
    harness_end(&h);
}
END_TEST

START_TEST(gc_removes_what_ended_long_ago_and_shrinks_the_file)
{
    harness_begin(&h);
    static char big[20000];
    bly_new_job job = harness_job("x");
    job.work.detail = (bly_bytes){big, sizeof big};
    uint64_t last = 0;
    for (int i = 0; i < 200; i++) {
        last = harness_add(&h, &job);
        harness_run(&h, last);
    }
    bly_after after = {.job = {.seq = last}, .is_any = true};
    job = harness_job("later");
    job.after = &after;
    job.after_count = 1;
    job.run_at_ns = START + 100 * 86400 * SECOND;
    uint64_t live = harness_add(&h, &job);
    bly_gc_opts opts = {.size = sizeof opts, .keep_ns = 86400 * SECOND};
    bly_gc_result result;
    ck_assert_int_eq(bly_store_gc(h.store, &opts, &result), 0);
    ck_assert_uint_eq(result.jobs, 0);
    harness_pass(&h, 2 * 86400 * SECOND);
    bly_store_stats before;
    ck_assert_int_eq(bly_store_stats_get(h.store, &before), 0);
    opts.jobs_max = 150;
    ck_assert_int_eq(bly_store_gc(h.store, &opts, &result), 0);
    ck_assert_uint_eq(result.jobs, 150);
    ck_assert(result.has_more);
    opts.jobs_max = 0;
    ck_assert_int_eq(bly_store_gc(h.store, &opts, &result), 0);
    ck_assert_uint_eq(result.jobs, 50);
    ck_assert(!result.has_more);
    bly_store_stats stats;
    ck_assert_int_eq(bly_store_stats_get(h.store, &stats), 0);
    ck_assert_uint_lt(stats.store_bytes, before.store_bytes / 4);
    ck_assert_uint_eq(stats.free_bytes, 0);
    assert_state(&h, live, BLY_JOB_SCHEDULED);
    ck_assert_int_eq(bly_store_check(h.store), 0);
    ck_assert_uint_gt(harness_add_plain(&h, "x"), live); /* numbers are not used again */
    harness_end(&h);
}
END_TEST

START_TEST(a_broken_rule_is_found_and_named)
{
    harness_begin(&h);
    (void)harness_add_plain(&h, "x");
    ck_assert_int_eq(bly_store_check(h.store), 0);
    sqlite3 *db = NULL;
    ck_assert_int_eq(sqlite3_open(h.path, &db), SQLITE_OK);
    ck_assert_int_eq(sqlite3_exec(db, "UPDATE job SET state = 4", NULL, NULL, NULL), SQLITE_OK);
    ck_assert_int_eq(bly_store_check(h.store), BELAY_EIO);
    bly_store_error error;
    bly_store_problem(h.store, &error);
    ck_assert_int_eq(error.problem, BLY_PROBLEM_DAMAGED);
    ck_assert_ptr_nonnull(strstr(error.text, "token"));
    ck_assert_int_eq(sqlite3_exec(db, "UPDATE job SET state = 2", NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
    harness_end(&h);
}
END_TEST

UNIT_MAIN("store/list", a_list_has_pages_in_both_orders,
          a_list_is_of_states_queues_ids_and_sessions, the_last_ended_come_first,
          a_live_list_says_why_each_job_waits, who_holds_a_limit_is_named,
          a_batch_is_resumed_or_begun_afresh, a_batch_is_canceled_as_a_whole,
          an_unreadable_row_is_set_aside_and_the_others_run,
          gc_removes_what_ended_long_ago_and_shrinks_the_file, a_broken_rule_is_found_and_named)
