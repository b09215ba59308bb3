#include "harness.h"

#include <fcntl.h>

static harness h;

static void folder_only(void)
{
    memset(&h, 0, sizeof h);
    harness_folder(&h);
}

/* Opening fails with that problem, and says something that names the path. */
static void refuses(int problem)
{
    bly_store_error error;
    bly_store *store = NULL;
    int result = bly_store_open(h.path, NULL, &store, &error);
    ck_assert_int_eq(result, BELAY_EIO);
    ck_assert_ptr_null(store);
    ck_assert_int_eq(error.problem, problem);
    ck_assert_ptr_nonnull(strstr(error.text, h.folder));
}

static void make(void)
{
    ck_assert_int_eq(bly_store_open(h.path, NULL, &h.store, NULL), 0);
    bly_new_job job = harness_job("x");
    bly_added added;
    ck_assert_int_eq(harness_try_add(&h, &job, &added), 0);
    bly_store_close(h.store, BELAY_FOREVER);
}

static mode_t mode_of(const char *suffix)
{
    char name[200];
    struct stat found;
    snprintf(name, sizeof name, "%s%s", h.path, suffix);
    ck_assert_int_eq(stat(name, &found), 0);
    return found.st_mode & 0777;
}

START_TEST(files_are_for_their_owner_alone)
{
    folder_only();
    umask(022);
    snprintf(h.path, sizeof h.path, "%s/state/belay/jobs.db", h.folder);
    ck_assert_int_eq(bly_store_open(h.path, NULL, &h.store, NULL), 0);
    static const char *const suffixes[] = {"", "-wal", "-shm", ".lock", ".bell"};
    for (int i = 0; i < 5; i++) {
        ck_assert_int_eq(mode_of(suffixes[i]), 0600);
    }
    struct stat found;
    *strrchr(h.path, '/') = '\0';
    ck_assert_int_eq(stat(h.path, &found), 0);
    ck_assert_int_eq(found.st_mode & 0777, 0700);
    bly_store_close(h.store, BELAY_FOREVER);
    harness_remove(&h);
}
END_TEST

START_TEST(what_others_may_write_is_refused)
{
    folder_only();
    make();
    ck_assert_int_eq(chmod(h.path, 0620), 0);
    refuses(BLY_PROBLEM_UNSAFE);
    ck_assert_int_eq(chmod(h.path, 0600), 0);
    ck_assert_int_eq(chmod(h.folder, 0770), 0);
    refuses(BLY_PROBLEM_UNSAFE);
    ck_assert_int_eq(chmod(h.folder, 0700), 0);
    make();
    harness_remove(&h);
}
END_TEST

START_TEST(symbolic_links_in_the_state_folder_are_refused)
{
    static const char *const suffixes[] = {"", "-wal", "-shm", ".lock", ".bell"};
    char target[128];
    char link[200];
    for (int i = 0; i < 5; i++) {
        folder_only();
        snprintf(target, sizeof target, "%s/target", h.folder);
        snprintf(link, sizeof link, "%s%s", h.path, suffixes[i]);
        ck_assert_int_eq(symlink(target, link), 0);
        refuses(BLY_PROBLEM_SYMLINK);
        ck_assert_int_ne(access(target, F_OK), 0);
        harness_remove(&h);
    }
}
END_TEST

static void write_file(const char *text, size_t len, off_t at)
{
    int fd = open(h.path, O_RDWR | O_CREAT, 0600);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(pwrite(fd, text, len, at), (ssize_t)len);
    close(fd);
}

START_TEST(other_files_are_refused_and_left_alone)
{
    folder_only();
    char text[5000];
    memset(text, 'x', sizeof text);
    write_file(text, sizeof text, 0);
    refuses(BLY_PROBLEM_FOREIGN);
    ck_assert_int_eq(unlink(h.path), 0);
    sqlite3 *db = NULL;
    ck_assert_int_eq(sqlite3_open(h.path, &db), SQLITE_OK);
    ck_assert_int_eq(chmod(h.path, 0600), 0);
    ck_assert_int_eq(sqlite3_exec(db, "CREATE TABLE t (a)", NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
    refuses(BLY_PROBLEM_FOREIGN);
    harness_remove(&h);
}
END_TEST

START_TEST(a_store_of_a_newer_version_is_refused)
{
    folder_only();
    make();
    sqlite3 *db = NULL;
    ck_assert_int_eq(sqlite3_open(h.path, &db), SQLITE_OK);
    ck_assert_int_eq(sqlite3_exec(db, "PRAGMA user_version = 99", NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
    refuses(BLY_PROBLEM_NEWER);
    harness_remove(&h);
}
END_TEST

START_TEST(a_damaged_store_is_refused)
{
    folder_only();
    make();
    sqlite3 *db = NULL;
    ck_assert_int_eq(sqlite3_open(h.path, &db), SQLITE_OK);
    /* After a reboot the whole file is looked at. */
    ck_assert_int_eq(sqlite3_exec(db,
                                  "UPDATE meta SET words = x'00' WHERE name = 'boot';"
                                  "PRAGMA wal_checkpoint(TRUNCATE)",
                                  NULL, NULL, NULL),
                     SQLITE_OK);
    sqlite3_close(db);
    char noise[4096];
    memset(noise, 0x5a, sizeof noise);
    struct stat found;
    ck_assert_int_eq(stat(h.path, &found), 0);
    write_file(noise, sizeof noise, found.st_size - 4096);
    refuses(BLY_PROBLEM_DAMAGED);
    harness_remove(&h);
}
END_TEST

START_TEST(a_store_is_read_without_being_written)
{
    folder_only();
    bly_store_opts opts = {.size = sizeof opts, .is_read_only = true};
    bly_store_error error;
    ck_assert_int_eq(bly_store_open(h.path, &opts, &h.store, &error), BELAY_ENOENT);
    ck_assert_int_ne(access(h.path, F_OK), 0);
    make();
    ck_assert_int_eq(bly_store_open(h.path, &opts, &h.store, &error), 0);
    bly_new_job job = harness_job("x");
    bly_added added;
    ck_assert_int_eq(harness_try_add(&h, &job, &added), BELAY_ECLOSED);
    assert_state(&h, 1, BLY_JOB_READY);
    bly_store_close(h.store, BELAY_FOREVER);
    harness_remove(&h);
}
END_TEST

START_TEST(other_kinds_of_store_are_named)
{
    bly_store *store = NULL;
    bly_store_error error;
    ck_assert_int_eq(bly_store_open("postgres://db/x", NULL, &store, &error), BELAY_EIO);
    ck_assert_int_eq(error.problem, BLY_PROBLEM_SCHEME);
    ck_assert_int_eq(bly_store_open(NULL, NULL, &store, &error), BELAY_EINVAL);
    ck_assert_int_eq(bly_store_open("", NULL, &store, &error), BELAY_EIO);
    ck_assert_int_eq(bly_store_open("/nowhere-to-be/made\n/", NULL, &store, &error), BELAY_EIO);
}
END_TEST

START_TEST(a_store_in_memory_does_it_all)
{
    bly_store_error error;
    ck_assert_int_eq(bly_store_open("memory:", NULL, &h.store, &error), 0);
    ck_assert_str_eq(bly_store_path(h.store), "");
    bly_session_opts opts = {.size = sizeof opts};
    ck_assert_int_eq(bly_store_session_begin(h.store, &opts, &h.session), 0);
    bly_store_watch *watch = NULL;
    ck_assert_int_eq(bly_store_watch_create(h.store, &watch), 0);
    ck_assert(!bly_store_watch_check(watch));
    uint64_t seq = harness_add_plain(&h, "x");
    ck_assert_int_eq(bly_store_watch_wait(watch, BELAY_FOREVER), 0);
    harness_run(&h, seq);
    assert_state(&h, seq, BLY_JOB_DONE);
    bly_store_watch_destroy(watch);
    ck_assert_int_eq(bly_store_check(h.store), 0);
    bly_store_close(h.store, BELAY_FOREVER);
}
END_TEST

START_TEST(a_second_store_of_the_process_leaves_the_locks_of_the_first)
{
    harness_begin(&h);
    bly_store *second = harness_open(&h);
    bly_store_close(second, BELAY_FOREVER);
    /* Were the locks gone, another process could now reset the WAL under the first. */
    char command[400];
    snprintf(command, sizeof command,
             "python3 -c \"import fcntl, sys\nf = open('%s-shm', 'r+b')\ntry:\n"
             " fcntl.lockf(f, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, 128)\nexcept OSError:\n"
             " sys.exit(0)\nsys.exit(1)\"",
             h.path);
    ck_assert_int_eq(system(command), 0);
    harness_run(&h, harness_add_plain(&h, "x"));
    harness_end(&h);
}
END_TEST

UNIT_MAIN("store/open", files_are_for_their_owner_alone, what_others_may_write_is_refused,
          symbolic_links_in_the_state_folder_are_refused, other_files_are_refused_and_left_alone,
          a_store_of_a_newer_version_is_refused, a_damaged_store_is_refused,
          a_store_is_read_without_being_written, other_kinds_of_store_are_named,
          a_store_in_memory_does_it_all,
          a_second_store_of_the_process_leaves_the_locks_of_the_first)
