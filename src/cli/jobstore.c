/* jobstore.c: see jobstore.h. */
#include "jobstore.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "belay/clock.h"
#include "help.h"
#include "say.h"

/* How long the last reports may take when a command leaves. */
#define CLOSE_NS INT64_C(10000000000)

/* How long news are waited for before somebody looks for dead workers again. */
#define LOOK_NS INT64_C(1000000000)

enum { MS_NS = 1000000 };

const char *bly_jobopts_set_store(void *target, const char *value)
{
    ((struct bly_jobopts *)target)->store = value;
    return value[0] == '\0' ? "the name is empty" : NULL;
}

const char *bly_jobopts_set_json(void *target, const char *value)
{
    (void)value;
    ((struct bly_jobopts *)target)->is_json = true;
    return NULL;
}

const char *bly_jobopts_set_help(void *target, const char *value)
{
    (void)value;
    ((struct bly_jobopts *)target)->has_help = true;
    return NULL;
}

bool bly_jobopts_take(const struct bly_command *command, int argc, char **argv, void *target,
                      int *ret_rest, int *ret_status)
{
    const struct bly_jobopts *common = target;
    if (bly_options_parse(command->options, argc, argv, target, ret_rest) != 0) {
        *ret_status = BLY_SAY_OWN_ERROR;
        return false;
    }
    if (common->has_help) {
        *ret_status = bly_help_command(command);
        return false;
    }
    return true;
}

static const char *variable(const char *name)
{
    const char *value = getenv(name);
    return value != NULL && value[0] != '\0' ? value : NULL;
}

int bly_jobstore_path(struct bly_bytes *to, const char *given)
{
    const char *path = given != NULL ? given : variable("BELAY_STORE");
    if (path != NULL) {
        bly_bytes_text(to, path);
        return 0;
    }
    const char *state = variable("XDG_STATE_HOME");
    const char *home = variable("HOME");
    if (state != NULL && state[0] == '/') {
        bly_bytes_print(to, "%s/belay/belay.db", state);
    } else if (home != NULL) {
        bly_bytes_print(to, "%s/.local/state/belay/belay.db", home);
    } else {
        return bly_say_about("HOME", "it is not set; name a store by --store or BELAY_STORE");
    }
    return 0;
}

/* A store that is only looked at is not made. */
static int open_at(const char *path, enum bly_jobstore_mode mode, belay_jobs **ret_jobs,
                   belay_jobs_error *ret_error)
{
    belay_jobs_opts opts = {.size = sizeof opts};
    if (mode != BLY_JOBSTORE_WRITE && access(path, F_OK) != 0 && errno == ENOENT) {
        return BELAY_ENOENT;
    }
    int result = belay_jobs_open(path, &opts, ret_jobs, ret_error);
    if (mode != BLY_JOBSTORE_WRITE && result == BELAY_EIO &&
        ret_error->problem == BELAY_JOBS_PROBLEM_READ_ONLY) {
        opts.is_read_only = 1;
        result = belay_jobs_open(path, &opts, ret_jobs, ret_error);
    }
    return result;
}

int bly_jobstore_open(const char *given, enum bly_jobstore_mode mode, belay_jobs **ret_jobs)
{
    struct bly_bytes path = {0};
    belay_jobs_error error = {0};
    *ret_jobs = NULL;
    int status = bly_jobstore_path(&path, given);
    int result = status == 0 ? open_at(bly_bytes_c(&path), mode, ret_jobs, &error) : 0;
    bly_mem_check(result == BELAY_ENOMEM ? result : 0);
    if (result == BELAY_ENOENT && mode == BLY_JOBSTORE_READ) {
        status = bly_say_about(bly_bytes_c(&path), "there is no store yet; belay add makes one");
    } else if (result != 0 && result != BELAY_ENOENT) {
        status = bly_say_about(bly_bytes_c(&path), "%s",
                               error.text[0] != '\0' ? error.text : belay_strerror(result));
    }
    if (*ret_jobs != NULL) {
        (void)belay_jobs_rescue(*ret_jobs, NULL, NULL);
    }
    bly_bytes_free(&path);
    return status;
}

void bly_jobstore_close(belay_jobs *jobs)
{
    (void)belay_jobs_close(jobs, belay_time_add(belay_clock_now(NULL), CLOSE_NS));
}

int bly_jobstore_failed(belay_jobs *jobs, int result)
{
    belay_jobs_error error = {0};
    (void)belay_jobs_problem(jobs, &error);
    bool is_store = result == BELAY_EIO || result == BELAY_EFULL;
    return bly_say_about(belay_jobs_path(jobs), "%s",
                         is_store && error.text[0] != '\0' ? error.text : belay_strerror(result));
}

belay_bytes bly_jobstore_bytes(const char *text)
{
    return (belay_bytes){text, text != NULL ? strlen(text) : 0};
}

int bly_jobstore_ref(const char *word, belay_jobs_ref *ret_ref)
{
    struct bly_jobname name = {0};
    const char *why = bly_name_job(word, &name);
    if (why != NULL) {
        return bly_say_about(word, "%s; see `belay ls`", why);
    }
    *ret_ref = (belay_jobs_ref){.seq = name.seq, .id = bly_jobstore_bytes(name.id)};
    return 0;
}

int bly_jobstore_find(belay_jobs *jobs, const char *word, belay_jobs_rows **ret_rows)
{
    belay_jobs_ref ref;
    int status = bly_jobstore_ref(word, &ref);
    if (status != 0) {
        return status;
    }
    int result = belay_jobs_query(jobs, &ref, ret_rows);
    if (result == BELAY_ENOENT) {
        return bly_say_about(word, "there is no such job; see `belay ls --all`");
    }
    return result != 0 ? bly_jobstore_failed(jobs, result) : 0;
}

int bly_jobstore_batch(belay_jobs *jobs, const char *name, uint64_t *ret_batch)
{
    belay_jobs_table *table = NULL;
    uint64_t batch = 0;
    int result = belay_jobs_list_table(jobs, BELAY_JOBS_BATCHES, &table);
    if (result != 0) {
        return bly_jobstore_failed(jobs, result);
    }
    for (uint32_t i = 0; i < table->count; i++) {
        const belay_jobs_batch_row *row = &table->of.batch[i];
        bool is_it =
            row->name.len == strlen(name) && memcmp(row->name.data, name, row->name.len) == 0;
        batch = is_it && row->batch > batch ? row->batch : batch;
    }
    belay_jobs_table_free(table);
    *ret_batch = batch;
    return batch != 0 ? 0 : bly_say_about(name, "there is no such batch; see `belay ls --batches`");
}

int bly_jobstore_batch_failures(belay_jobs *jobs, uint64_t batch, uint64_t *ret_count)
{
    belay_jobs_table *table = NULL;
    int result = belay_jobs_list_table(jobs, BELAY_JOBS_BATCHES, &table);
    if (result != 0) {
        return bly_jobstore_failed(jobs, result);
    }
    for (uint32_t i = 0; i < table->count; i++) {
        const belay_jobs_batch_row *row = &table->of.batch[i];
        if (row->batch == batch) {
            *ret_count = row->counts[BELAY_JOBS_FAILED] + row->counts[BELAY_JOBS_CANCELED] +
                         row->counts[BELAY_JOBS_SKIPPED];
        }
    }
    belay_jobs_table_free(table);
    return 0;
}

/* Milliseconds until a monotonic time, rounded up, but at most a watch's period. */
static int poll_ms(int64_t until_ns)
{
    int64_t left_ns = until_ns - belay_clock_now(NULL);
    if (left_ns > BELAY_JOBS_WATCH_PERIOD_NS) {
        left_ns = BELAY_JOBS_WATCH_PERIOD_NS;
    }
    return left_ns <= 0 ? 0 : (int)((left_ns + MS_NS - 1) / MS_NS);
}

bool bly_jobstore_await(belay_jobs *jobs, belay_jobs_watch *watch, int64_t deadline_ns)
{
    int64_t now_ns = belay_clock_now(NULL);
    int64_t look_ns = belay_time_add(now_ns, LOOK_NS);
    int64_t until_ns = look_ns < deadline_ns ? look_ns : deadline_ns;
    struct pollfd fd = {.fd = belay_jobs_watch_fd(watch), .events = POLLIN};
    if (now_ns >= deadline_ns) {
        return false;
    }
    do {
        (void)poll(&fd, 1, poll_ms(until_ns));
    } while (!belay_jobs_watch_check(watch) && belay_clock_now(NULL) < until_ns);
    (void)belay_jobs_rescue(jobs, NULL, NULL);
    return true;
}
