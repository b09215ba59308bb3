/* dry.c: see dry.h. */
#include "dry.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "feed.h"
#include "files.h"
#include "joblog.h"
#include "mem.h"
#include "resume.h"
#include "say.h"
#include "tag.h"

enum { STATUS_OUTPUT_GONE = 141 };

static void wait_for(int fd)
{
    struct pollfd pollfd = {.fd = fd, .events = POLLIN};
    (void)poll(&pollfd, 1, -1);
}

static int print(const bly_job *job, const struct bly_template *tag, struct bly_bytes *text)
{
    char *mark = bly_tag_make(tag, job);
    bly_bytes_clear(text);
    if (mark != NULL) {
        bly_bytes_print(text, "%s\t", mark);
        bly_mem_free(mark);
    }
    bly_job_show(job, text);
    bly_bytes_byte(text, '\n');
    if (bly_files_write(STDOUT_FILENO, text->at, text->len) == 0) {
        return 0;
    }
    if (errno == EPIPE) {
        return STATUS_OUTPUT_GONE;
    }
    return bly_say_about("standard output", "%s", strerror(errno));
}

static int print_all(const struct bly_runopts *opts, struct bly_feed *feed,
                     const struct bly_joblog *log)
{
    struct bly_bytes text = {0};
    struct bly_template tag = {0};
    int status = bly_tag_open(&tag, opts);
    enum bly_input_result result = BLY_INPUT_WAIT;
    while (status == 0 && result != BLY_INPUT_END) {
        bly_job *job = NULL;
        result = bly_feed_next(feed, &job);
        if (result == BLY_INPUT_RECORD) {
            job->slot = 1;
            if (bly_resume_verdict(opts->resume, log, job, &text) != BLY_RESUME_SKIP) {
                status = print(job, &tag, &text);
            }
            bly_job_free(job);
        } else if (result == BLY_INPUT_WAIT) {
            wait_for(bly_feed_fd(feed));
        } else if (result == BLY_INPUT_BROKEN) {
            status = BLY_SAY_OWN_ERROR;
        }
    }
    bly_template_free(&tag);
    bly_bytes_free(&text);
    return status;
}

int bly_dry_run(const struct bly_runopts *opts, char **words, uint32_t jobs)
{
    struct bly_joblog log = {0};
    struct bly_feed feed = {0};
    int status = 0;
    if (opts->resume != BLY_RESUME_NO) {
        status = bly_joblog_open(&log, opts->joblog, BLY_JOBLOG_LOOK);
    }
    if (status == 0 && opts->resume == BLY_RETRY_FAILED) {
        bly_feed_open_log(&feed, opts, &log);
    } else if (status == 0) {
        status = bly_feed_open(&feed, opts, words, jobs);
    }
    if (status == 0) {
        status = print_all(opts, &feed, &log);
    }
    bly_feed_close(&feed);
    bly_joblog_close(&log);
    return status;
}
