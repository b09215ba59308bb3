#include "harness.h"

#include <sys/file.h>
#include <sys/vfs.h>

static harness h;
static long type;           /* of every file system; 0: its own */
static uint32_t lock_errno; /* atomic: of every flock that waits; 0: it works */

int __real_statfs(const char *path, struct statfs *ret_found);
int __wrap_statfs(const char *path, struct statfs *ret_found);
int __real_flock(int fd, int operation);
int __wrap_flock(int fd, int operation);

int __wrap_statfs(const char *path, struct statfs *ret_found)
{
    int result = __real_statfs(path, ret_found);
    if (type != 0) {
        ret_found->f_type = type;
    }
    return result;
}

int __wrap_flock(int fd, int operation)
{
    uint32_t fails = bly_load(&lock_errno, BLY_SEQ_CST);
    if (operation == LOCK_EX && fails != 0) {
        errno = (int)fails;
        return -1;
    }
    return __real_flock(fd, operation);
}

START_TEST(network_file_systems_are_refused_unless_the_user_knows_better)
{
    memset(&h, 0, sizeof h);
    harness_folder(&h);
    static const struct {
        long type;
        const char *name;
    } systems[] = {{0x6969, "NFS"},
                   {(long)0xff534d42, "CIFS"},
                   {(long)0xfe534d42, "SMB2"},
                   {0x01021997, "9p"},
                   {0x65735546, "FUSE"}};
    for (size_t i = 0; i < sizeof systems / sizeof *systems; i++) {
        bly_store *store = NULL;
        bly_store_error error;
        bly_store_opts opts = {.size = sizeof opts};
        type = systems[i].type;
        ck_assert_int_eq(bly_store_open(h.path, &opts, &store, &error), BELAY_EIO);
        ck_assert_int_eq(error.problem, BLY_PROBLEM_NETWORK);
        ck_assert_ptr_nonnull(strstr(error.text, systems[i].name));
        ck_assert_int_ne(access(h.path, F_OK), 0);
        opts.may_be_network = true;
        ck_assert_int_eq(bly_store_open(h.path, &opts, &store, &error), 0);
        bly_store_close(store, BELAY_FOREVER);
        ck_assert_int_eq(unlink(h.path), 0);
    }
    harness_remove(&h);
}
END_TEST

START_TEST(a_writer_lock_that_fails_is_a_problem_and_passes)
{
    harness_begin(&h);
    bly_new_job job = harness_job("x");
    bly_added added;
    bly_store_error error;
    bly_store(&lock_errno, (uint32_t)ENOLCK, BLY_SEQ_CST);
    ck_assert_int_eq(harness_try_add(&h, &job, &added), BELAY_EIO);
    bly_store_problem(h.store, &error);
    ck_assert_int_eq(error.problem, BLY_PROBLEM_IO);
    ck_assert_ptr_nonnull(strstr(error.text, strerror(ENOLCK)));
    bly_store *store = NULL;
    ck_assert_int_eq(bly_store_open(h.path, NULL, &store, &error), BELAY_EIO);
    ck_assert_ptr_nonnull(strstr(error.text, ".lock"));
    bly_store(&lock_errno, 0u, BLY_SEQ_CST);
    ck_assert_int_eq(harness_try_add(&h, &job, &added), 0);
    bly_store_problem(h.store, &error);
    ck_assert_int_eq(error.problem, BLY_PROBLEM_NONE);
    harness_end(&h);
}
END_TEST

START_TEST(a_report_waits_until_the_store_can_be_written)
{
    harness_begin(&h);
    uint64_t seq = harness_add_plain(&h, "x");
    int result = 1;
    bly_end end = harness_claim_done(&h, &result);
    bly_store(&lock_errno, (uint32_t)ENOLCK, BLY_SEQ_CST);
    bly_store_end(h.store, &end);
    bly_store_error error = {0};
    while (error.problem == BLY_PROBLEM_NONE) {
        bly_store_problem(h.store, &error);
    }
    ck_assert_int_eq(bly_store_flush(h.store, BELAY_NOW), BELAY_ETIMEDOUT);
    bly_store(&lock_errno, 0u, BLY_SEQ_CST);
    ck_assert_int_eq(bly_store_flush(h.store, BELAY_FOREVER), 0);
    ck_assert_int_eq(result, 0);
    assert_state(&h, seq, BLY_JOB_DONE);
    harness_end(&h);
}
END_TEST

START_TEST(a_report_that_cannot_be_stored_is_given_back_by_close)
{
    harness_begin(&h);
    uint64_t seq = harness_add_plain(&h, "x");
    int result = 1;
    bly_end end = harness_claim_done(&h, &result);
    bly_store(&lock_errno, (uint32_t)ENOLCK, BLY_SEQ_CST);
    bly_store_end(h.store, &end);
    bly_store_close(h.store, BELAY_NOW);
    ck_assert_int_eq(result, BELAY_ECLOSED);
    bly_store(&lock_errno, 0u, BLY_SEQ_CST);
    h.store = harness_open(&h);
    assert_state(&h, seq, BLY_JOB_RUNNING);
    uint32_t rescued = 0;
    ck_assert_int_eq(bly_store_rescue(h.store, &rescued, NULL), 0);
    ck_assert_uint_eq(rescued, 1);
    assert_state(&h, seq, BLY_JOB_READY);
    harness_end(&h);
}
END_TEST

UNIT_MAIN("store/files", network_file_systems_are_refused_unless_the_user_knows_better,
          a_writer_lock_that_fails_is_a_problem_and_passes,
          a_report_waits_until_the_store_can_be_written,
          a_report_that_cannot_be_stored_is_given_back_by_close)
