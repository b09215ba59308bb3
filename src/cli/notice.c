/* notice.c: see notice.h. */
#include "notice.h"

#include <inttypes.h>

#include "jobtext.h"
#include "mem.h"

static void on_end(const bly_proc_end *end, void *arg)
{
    bool *has_ended = arg;
    *has_ended = true;
    bly_output_free(end->out);
    bly_output_free(end->err);
}

/* The state that the job comes to; 0 when it is tried again. */
static uint32_t state_of(const belay_run_details *info, const belay_run_ending *end)
{
    switch (end->what) {
    case BELAY_RUN_DONE:
        return BELAY_JOBS_DONE;
    case BELAY_RUN_CANCELED:
        return BELAY_JOBS_CANCELED;
    case BELAY_RUN_FAIL:
        return info->tried + 1 >= info->tries ? BELAY_JOBS_FAILED : 0;
    default:
        return 0;
    }
}

static void add_word(struct bly_words *to, const char *name, const char *value)
{
    bly_words_begin(to);
    bly_bytes_print(&to->text, "%s=%s", name, value);
    bly_words_end(to);
}

void bly_notice_send(bly_proc *proc, const belay_run_details *info, const belay_run_ending *end,
                     bool *has_ended)
{
    belay_jobs_row row = {.state = state_of(info, end), .how = end->how, .code = end->code};
    struct bly_bytes text = {0};
    struct bly_words env = {0};
    if (row.state == 0 || info->work.detail.len == 0) {
        return;
    }
    bly_bytes_print(&text, "%" PRIu64, info->seq);
    add_word(&env, "BELAY_JOB", bly_bytes_c(&text));
    add_word(&env, "BELAY_STATE", belay_jobs_state_name(row.state));
    bly_bytes_clear(&text);
    bly_bytes_print(&text, "%d", bly_jobtext_status(&row));
    add_word(&env, "BELAY_STATUS", bly_bytes_c(&text));
    bly_bytes_clear(&text);
    bly_bytes_add(&text, info->work.detail.data, info->work.detail.len);
    char *const argv[] = {(char[]){"/bin/sh"}, (char[]){"-c"}, text.at, NULL};
    struct bly_bytes cwd = {0};
    bly_bytes_add(&cwd, info->work.cwd.data, info->work.cwd.len);
    bly_proc_spec spec = {.size = sizeof spec,
                          .argv = argv,
                          .env_add = bly_words_argv(&env),
                          .cwd = cwd.len > 0 ? bly_bytes_c(&cwd) : NULL,
                          .out = {.kind = BLY_PROC_NULL},
                          .err = {.kind = BLY_PROC_NULL},
                          .ended = on_end,
                          .arg = has_ended};
    (void)bly_proc_spawn(proc, &spec, NULL);
    bly_bytes_free(&text);
    bly_bytes_free(&cwd);
    bly_words_free(&env);
}
