/* feed.c: see feed.h. */
#include "feed.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "belay/clock.h"
#include "jsonl.h"
#include "say.h"
#include "sources.h"

/* --shell: the words as one line, as parallel joins them. */
static const char *join_line(struct bly_feed *feed, const struct bly_template_opts *opts)
{
    struct bly_bytes line = {0};
    for (size_t i = 0; i < feed->command.count; i++) {
        bly_bytes_print(&line, "%s%s", i > 0 ? " " : "", bly_words_at(&feed->command, i));
    }
    const char *why = bly_template_line(&feed->template, bly_bytes_c(&line), line.len, opts);
    bly_bytes_free(&line);
    return why;
}

/* A word that would be syntax in a shell line is most likely meant as that. */
static void warn_about_operators(const struct bly_words *command)
{
    static const char *const operators[] = {"|",  ">", ">>", "<",  "&&",
                                            "||", ";", "&",  "2>", "2>&1"};
    for (size_t i = 1; i < command->count; i++) {
        for (size_t k = 0; k < sizeof operators / sizeof operators[0]; k++) {
            if (strcmp(bly_words_at(command, i), operators[k]) == 0) {
                bly_say("the word %s is passed on as it is; for a shell line write one quoted "
                        "word, or --shell",
                        operators[k]);
                return;
            }
        }
    }
}

static int make_template(struct bly_feed *feed)
{
    struct bly_template_opts opts = {.whole = feed->opts->whole, .appends = true};
    if (feed->command.count == 0) {
        return 0;
    }
    const char *why = NULL;
    if (feed->opts->is_joined || feed->command.count == 1) {
        why = join_line(feed, &opts);
    } else {
        why = bly_template_argv(&feed->template, &feed->command, &opts);
        warn_about_operators(&feed->command);
    }
    if (why != NULL) {
        return bly_say_about(bly_words_at(&feed->command, feed->command.count - 1),
                             "the argument cannot be put in safely: %s; give the command as "
                             "several words, such as sh -c 'SCRIPT WITH \"$1\"' sh {}",
                             why);
    }
    feed->has_template = true;
    feed->template.has_context = feed->opts->has_context && !feed->template.is_shell;
    return 0;
}

static bool is_jsonl(const char *name)
{
    const char *dot = strrchr(name, '.');
    return dot != NULL && strcmp(dot, ".jsonl") == 0;
}

/* Cuts `:::: NAME.jsonl` off the end of the words, where that is their only source. */
static const char *cut_jsonl(char **words)
{
    size_t count = 0;
    while (words[count] != NULL && strncmp(words[count], ":::", 3) != 0) {
        count++;
    }
    bool is_last = words[count] != NULL && strcmp(words[count], "::::") == 0 &&
                   words[count + 1] != NULL && words[count + 2] == NULL;
    if (!is_last || !is_jsonl(words[count + 1])) {
        return NULL;
    }
    words[count] = NULL;
    return words[count + 1];
}

/* The file of JSON Lines that the batch is read from, NULL for other sources. */
static const char *jsonl_name(const struct bly_runopts *opts, char **words)
{
    if (opts->jsonl != NULL) {
        return opts->jsonl;
    }
    if (opts->files.count == 1) {
        const char *name = bly_words_at(&opts->files, 0);
        return is_jsonl(name) ? name : NULL;
    }
    return opts->files.count == 0 ? cut_jsonl(words) : NULL;
}

/* What looks like a file of JSON Lines and would silently be read as something else. */
static int refuse_lost_jsonl(const struct bly_runopts *opts, char **words)
{
    for (size_t i = 0; i < opts->files.count; i++) {
        const char *name = bly_words_at(&opts->files, i);
        if (is_jsonl(name)) {
            return bly_say_about(name, "a file of JSON Lines is a batch's only source; "
                                       "leave the other -a out, or rename the file");
        }
    }
    bool is_alone = words[0] != NULL && words[1] == NULL && opts->files.count == 0;
    if (is_alone && is_jsonl(words[0]) && strchr(words[0], ' ') == NULL) {
        return bly_say_about(words[0], "a command of that name, without arguments? "
                                       "a file of jobs is run by --jsonl FILE");
    }
    return 0;
}

static int open_lines(struct bly_feed *feed, const char *name, char **words)
{
    for (; *words != NULL; words++) {
        bly_words_text(&feed->command, *words);
    }
    struct bly_input_opts opts = {.delimiter = '\n', .skips_blank = true};
    feed->lines = bly_mem(sizeof *feed->lines);
    if (bly_input_open(feed->lines, name, &opts) != 0) {
        return bly_say_about(name, "%s; is the name right?", strerror(errno));
    }
    return 0;
}

/* When the batch begins, on the monotonic clock. */
static int64_t find_start(const struct bly_runopts *opts)
{
    int64_t now_ns = belay_clock_now(NULL);
    int64_t delay_ns = opts->start_in_ns;
    if (opts->start_at_ns != 0) {
        delay_ns = opts->start_at_ns - belay_clock_wall(NULL);
    }
    int64_t start_ns = 0;
    if (delay_ns <= 0) {
        return now_ns;
    }
    return __builtin_add_overflow(now_ns, delay_ns, &start_ns) ? INT64_MAX : start_ns;
}

int bly_feed_open(struct bly_feed *feed, const struct bly_runopts *opts, char **words,
                  uint32_t jobs)
{
    *feed = (struct bly_feed){.opts = opts, .start_ns = find_start(opts)};
    const char *jsonl = jsonl_name(opts, words);
    int status = 0;
    if (jsonl != NULL) {
        status = open_lines(feed, jsonl, words);
    } else {
        status = refuse_lost_jsonl(opts, words);
        status = status == 0 ? bly_sources_build(opts, words, &feed->command, &feed->rows) : status;
    }
    if (status == 0) {
        status = make_template(feed);
    }
    feed->pack =
        (struct bly_pack){.opts = opts->pack, .rows = &feed->rows, .template = &feed->template};
    feed->pack.opts.spread = opts->deals ? jobs : 0;
    return status;
}

void bly_feed_open_log(struct bly_feed *feed, const struct bly_runopts *opts,
                       const struct bly_joblog *log)
{
    *feed = (struct bly_feed){.opts = opts, .log = log, .start_ns = find_start(opts)};
}

/* What the batch asks for on behalf of every job. */
static bly_job *make_job(struct bly_feed *feed, uint64_t seq)
{
    const struct bly_runopts *opts = feed->opts;
    bly_job *job = bly_job_make(seq);
    feed->count++;
    job->template = &feed->template;
    job->start_ns = feed->start_ns;
    job->priority = opts->priority;
    job->timeout_ns = opts->timeout_ns;
    job->tries_max = opts->tries > 0 ? opts->tries : 1;
    job->cwd = opts->cwd;
    bly_words_copy(&job->limits, &opts->limits);
    return job;
}

static void set_line(bly_job *job, const char *line, size_t len)
{
    static const struct bly_template_opts literal = {.is_literal = true};
    const char *why = bly_template_line(&job->own, line, len, &literal);
    assert(why == NULL);
    (void)why;
    job->template = &job->own;
}

/* Without a command, the arguments are the line. */
static void make_line(struct bly_feed *feed, bly_job *job)
{
    bly_bytes_clear(&feed->line);
    for (size_t i = 0; i < job->args.count; i++) {
        if (i > 0) {
            bly_bytes_byte(&feed->line, ' ');
        }
        bly_bytes_add(&feed->line, bly_words_at(&job->args, i), bly_words_len(&job->args, i));
    }
    set_line(job, bly_bytes_c(&feed->line), feed->line.len);
}

static enum bly_input_result next_of_log(struct bly_feed *feed, bly_job **ret_job)
{
    const struct bly_joblog *log = feed->log;
    while (feed->log_next < log->count && log->known[feed->log_next].is_done) {
        feed->log_next++;
    }
    if (feed->log_next == log->count) {
        return BLY_INPUT_END;
    }
    const struct bly_joblog_known *known = &log->known[feed->log_next++];
    bly_bytes_clear(&feed->line);
    bly_bytes_add(&feed->line, bly_bytes_c(&log->commands) + known->command, known->command_len);
    *ret_job = make_job(feed, known->seq);
    set_line(*ret_job, bly_bytes_c(&feed->line), feed->line.len);
    return BLY_INPUT_RECORD;
}

static enum bly_input_result say_broken(const struct bly_input *input)
{
    bly_say_about(input->name, "record %" PRIu64 ": %s", input->count + 1, input->why);
    return BLY_INPUT_BROKEN;
}

static enum bly_input_result next_of_lines(struct bly_feed *feed, bly_job **ret_job)
{
    struct bly_slice line;
    enum bly_input_result result = bly_input_next(feed->lines, &line);
    if (result == BLY_INPUT_BROKEN) {
        return say_broken(feed->lines);
    }
    if (result != BLY_INPUT_RECORD) {
        return result;
    }
    bly_job *job = make_job(feed, feed->count + 1);
    struct bly_bytes why = {0};
    if (bly_jsonl_read(line, feed->has_template, job, &why) != 0) {
        bly_say_about(feed->lines->name, "line %" PRIu64 ": %s", feed->lines->count,
                      bly_bytes_c(&why));
        bly_bytes_free(&why);
        bly_job_free(job);
        return BLY_INPUT_BROKEN;
    }
    *ret_job = job;
    return BLY_INPUT_RECORD;
}

static enum bly_input_result say_too_long(const struct bly_feed *feed)
{
    const struct bly_words *row = &feed->pack.row;
    assert(row->count > 0);
    bly_say_about(bly_words_at(row, 0),
                  "with it alone, the command is longer than the %zu bytes of --max-chars",
                  feed->pack.opts.length_max);
    return BLY_INPUT_BROKEN;
}

enum bly_input_result bly_feed_next(struct bly_feed *feed, bly_job **ret_job)
{
    if (feed->log != NULL) {
        return next_of_log(feed, ret_job);
    }
    if (feed->lines != NULL) {
        return next_of_lines(feed, ret_job);
    }
    enum bly_input_result result = bly_pack_next(&feed->pack, &feed->args);
    if (result == BLY_INPUT_BROKEN) {
        return feed->pack.is_too_long ? say_too_long(feed) : say_broken(feed->rows.held);
    }
    if (result != BLY_INPUT_RECORD) {
        return result;
    }
    bly_job *job = make_job(feed, feed->count + 1);
    bly_words_copy(&job->args, &feed->args);
    if (!feed->has_template) {
        make_line(feed, job);
    }
    *ret_job = job;
    return BLY_INPUT_RECORD;
}

int bly_feed_fd(const struct bly_feed *feed)
{
    return feed->lines != NULL ? feed->lines->fd : feed->rows.held->fd;
}

void bly_feed_close(struct bly_feed *feed)
{
    if (feed->lines != NULL) {
        bly_input_close(feed->lines);
        bly_mem_free(feed->lines);
    }
    bly_pack_free(&feed->pack);
    bly_rows_destroy(&feed->rows);
    bly_template_free(&feed->template);
    bly_words_free(&feed->command);
    bly_words_free(&feed->args);
    bly_bytes_free(&feed->line);
}
