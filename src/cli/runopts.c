/* runopts.c: see runopts.h. */
#include "runopts.h"

#include <stdlib.h>
#include <string.h>

#include "belay/clock.h"
#include "duration.h"
#include "limitspec.h"
#include "name.h"
#include "when.h"

enum { BATCH_NAME_MAX = 190 };

/* A setter of one field that takes no value, or takes the text as it is. */
#define SETS(name, field, what)                                                                    \
    static const char *name(void *target, const char *value)                                       \
    {                                                                                              \
        struct bly_runopts *opts = target;                                                         \
        (void)value;                                                                               \
        opts->field = (what);                                                                      \
        return NULL;                                                                               \
    }

SETS(set_null, input.delimiter, '\0')
SETS(set_skip_blank, input.skips_blank, true)
SETS(set_end_at, input.end_at, value)
SETS(set_link, wraps, true)
SETS(set_shell, is_joined, true)
SETS(set_whole, whole, value)
SETS(set_colsep, colsep, value)
SETS(set_jsonl, jsonl, value)
SETS(set_filled, pack.is_filled, true)
SETS(set_cwd, cwd, value)
SETS(set_keep_children, keeps_children, true)
SETS(set_grouped, mode, BLY_OUTPUT_GROUPED)
SETS(set_lines, mode, BLY_OUTPUT_LINES)
SETS(set_raw, mode, BLY_OUTPUT_RAW)
SETS(set_keep_order, keeps_order, true)
SETS(set_tag, has_tag, true)
SETS(set_results, results, value)
SETS(set_joblog, joblog, value)
SETS(set_resume, resume, BLY_RESUME_REST)
SETS(set_resume_failed, resume, BLY_RESUME_FAILED)
SETS(set_retry_failed, resume, BLY_RETRY_FAILED)
SETS(set_fresh, is_fresh, true)
SETS(set_no_store, has_no_store, true)
SETS(set_store, store, value)
SETS(set_dry, is_dry, true)
SETS(set_trace, shows_commands_err, true)
SETS(set_verbose, shows_commands_out, true)
SETS(set_bar, shows_bar, true)
SETS(set_eta, shows_eta, true)
SETS(set_help, has_help, true)

/* The store's queue of the batch has a few letters more. */
static const char *set_name(void *target, const char *value)
{
    struct bly_runopts *opts = target;
    size_t len = strlen(value);
    opts->name = value;
    return len > BATCH_NAME_MAX ? "a batch's name has at most 190 bytes"
                                : bly_name_check(value, len);
}

static const char *set_nothing(void *target, const char *value)
{
    (void)target;
    (void)value;
    return NULL;
}

static const char *add_file(void *target, const char *value)
{
    struct bly_runopts *opts = target;
    bly_words_text(&opts->files, value);
    return NULL;
}

/* One byte: itself, \n \t \r \0 \\, \xHH or octal \NNN. */
static const char *set_delimiter(void *target, const char *value)
{
    struct bly_runopts *opts = target;
    static const char names[] = "ntr0\\";
    static const char bytes[] = {'\n', '\t', '\r', '\0', '\\'};
    if (value[0] != '\0' && value[1] == '\0') {
        opts->input.delimiter = value[0];
        return NULL;
    }
    if (value[0] == '\\' && value[1] != '\0') {
        const char *name = strchr(names, value[1]);
        if (name != NULL && value[2] == '\0') {
            opts->input.delimiter = bytes[name - names];
            return NULL;
        }
        char *end = NULL;
        bool is_hex = value[1] == 'x';
        unsigned long number = strtoul(value + (is_hex ? 2 : 1), &end, is_hex ? 16 : 8);
        if (*end == '\0' && end > value + (is_hex ? 2 : 1) && number < 256) {
            opts->input.delimiter = (char)number;
            return NULL;
        }
    }
    return "a delimiter is one byte, such as , or \\t or \\x1f";
}

static const char *set_rows_max(void *target, const char *value)
{
    struct bly_runopts *opts = target;
    uint64_t count = 0;
    const char *why = bly_number_parse(value, 0, UINT32_MAX, &count);
    if (why == NULL) {
        opts->pack.is_dropped = count == 0;
        opts->pack.rows_max = count == 0 ? 1 : count;
    }
    return why;
}

static const char *set_lines_max(void *target, const char *value)
{
    struct bly_runopts *opts = target;
    const char *why = set_rows_max(target, value);
    opts->input.joins_blank = why == NULL;
    opts->has_context = why == NULL;
    return why;
}

static const char *set_multiple(void *target, const char *value)
{
    struct bly_runopts *opts = target;
    (void)value;
    opts->pack.is_filled = true;
    opts->deals = true;
    return NULL;
}

static const char *set_context(void *target, const char *value)
{
    struct bly_runopts *opts = target;
    opts->has_context = true;
    return set_multiple(target, value);
}

static const char *set_length_max(void *target, const char *value)
{
    struct bly_runopts *opts = target;
    uint64_t bytes = 0;
    const char *why = bly_number_size(value, &bytes);
    if (why == NULL && bytes == 0) {
        why = "it is too small";
    }
    opts->pack.length_max = bytes < BLY_PACK_LENGTH_MAX ? (size_t)bytes : BLY_PACK_LENGTH_MAX;
    return why;
}

static const char *set_jobs(void *target, const char *value)
{
    struct bly_runopts *opts = target;
    return bly_number_amount(value, false, &opts->jobs);
}

static const char *set_load(void *target, const char *value)
{
    struct bly_runopts *opts = target;
    const char *why = bly_number_amount(value, true, &opts->load);
    bool is_signed = opts->load.kind == BLY_AMOUNT_PLUS || opts->load.kind == BLY_AMOUNT_MINUS;
    return why != NULL || is_signed ? "it is neither N nor N%, of the CPUs" : NULL;
}

static const char *set_memory_free(void *target, const char *value)
{
    struct bly_runopts *opts = target;
    return bly_number_size(value, &opts->memory_free);
}

static const char *set_delay(void *target, const char *value)
{
    struct bly_runopts *opts = target;
    return bly_duration_parse(value, &opts->delay_ns);
}

static const char *set_in(void *target, const char *value)
{
    struct bly_runopts *opts = target;
    opts->start_at_ns = 0;
    return bly_duration_parse(value, &opts->start_in_ns);
}

static const char *set_at(void *target, const char *value)
{
    struct bly_runopts *opts = target;
    opts->start_in_ns = 0;
    return bly_when_parse(value, belay_clock_wall(NULL), &opts->start_at_ns);
}

static const char *set_timeout(void *target, const char *value)
{
    struct bly_runopts *opts = target;
    size_t len = strlen(value);
    opts->timeout_ns = 0;
    opts->timeout_percent = 0;
    if (len > 0 && value[len - 1] == '%') {
        struct bly_amount amount = {0};
        const char *why = bly_number_amount(value, true, &amount);
        if (why != NULL || amount.kind != BLY_AMOUNT_PERCENT || amount.value <= 100) {
            return "a timeout in percent of the median run time is above 100%";
        }
        opts->timeout_percent = amount.value;
        return NULL;
    }
    return bly_duration_parse(value, &opts->timeout_ns);
}

static const char *set_tries(void *target, const char *value)
{
    struct bly_runopts *opts = target;
    return bly_number_parse(value, 1, UINT32_MAX, &opts->tries);
}

static const char *set_priority(void *target, const char *value)
{
    struct bly_runopts *opts = target;
    return bly_number_priority(value, &opts->priority);
}

static const char *add_limit(void *target, const char *value)
{
    struct bly_runopts *opts = target;
    struct bly_limitspec spec;
    const char *why = bly_limitspec_parse(value, &spec);
    if (why == NULL) {
        bly_words_text(&opts->limits, value);
    }
    return why;
}

static const char *set_halt(void *target, const char *value)
{
    struct bly_runopts *opts = target;
    return bly_halt_parse(value, &opts->halt);
}

static const char *set_tagstring(void *target, const char *value)
{
    struct bly_runopts *opts = target;
    opts->has_tag = true;
    opts->tag = value;
    return NULL;
}

#define USE_SSH     "start belay on the other machine: ssh HOST belay run ..."
#define USE_SPLIT   "cut the input into files with split(1) and give their names to belay run"
#define USE_WITH    "run `belay with NAME=N -- COMMAND`, or limit a batch by --limit NAME=N"
#define USE_STORE   "keep the batch in a store by --name, or add jobs by `belay add`"
#define USE_COPY    "copy files with rsync(1) or scp(1) in the command itself"
#define USE_COLUMNS "use --colsep and {1} {2} ..."

static const struct bly_option table[] = {
    {.help = "Input (beside ::: ARG..., :::: FILE..., and standard input):"},
    {"arg-file", 'a', "FILE", "read arguments from FILE, one a line (several: combined)", add_file,
     0},
    {"null", '0', NULL, "records end with a NUL byte, not a newline", set_null, 0},
    {"delimiter", 'd', "BYTE", "records end with this byte", set_delimiter, 0},
    {"colsep", 'C', "REGEX", "cut each record into columns {1} {2} ...", set_colsep, 0},
    {"link", 0, NULL, "combine sources record by record, the shorter begin again", set_link, 0},
    {"xapply", 0, NULL, NULL, set_link, 0},
    {"max-args", 'n', "N", "N records a job, {1} to {N}", set_rows_max, 0},
    {"max-replace-args", 'N', "N", "the same", set_rows_max, 0},
    {"max-lines", 'L', "N", "N lines a job; a trailing blank goes on", set_lines_max, 0},
    {NULL, 'm', NULL, "as many records a job as fit", set_multiple, 0},
    {NULL, 'X', NULL, "the same, repeating the word around {}", set_context, 0},
    {"xargs", 0, NULL, "as -m, without dealing the last ones out evenly", set_filled, 0},
    {"max-chars", 's', "N", "at most N bytes a command (with -m, -X, --xargs)", set_length_max, 0},
    {"replace", 'I', "TEXT", "TEXT instead of {}", set_whole, 0},
    {"no-run-if-empty", 'r', NULL, "blank records are no jobs", set_skip_blank, 0},
    {"eof", 'E', "TEXT", "the input ends at a record TEXT", set_end_at, 0},
    {"jsonl", 0, "FILE", "a job a line, as JSON", set_jsonl, 0},
    {"shell", 0, NULL, "join the words of the command to one shell line", set_shell, 0},
    {.help = "Jobs:"},
    {"jobs", 'j', "N", "N at once; N%, +N, -N of the CPUs; 0: as many as possible", set_jobs, 0},
    {"max-procs", 'P', "N", "the same", set_jobs, 0},
    {"timeout", 0, "TIME", "end a job after TIME, or after N% of the median", set_timeout, 0},
    {"tries", 0, "N", "run a job that fails up to N times", set_tries, 0},
    {"retries", 0, "N", "the same", set_tries, 0},
    {"halt", 0, "WHEN", "now|soon,fail|success|done=N|N%: stop early", set_halt, 0},
    {"halt-on-error", 0, "WHEN", NULL, set_halt, 0},
    {"limit", 0, "NAME", "take a permit of a limit; NAME:K takes K, NAME=N makes N", add_limit, 0},
    {"priority", 0, "N", "larger starts first among jobs that are due", set_priority, 0},
    {"delay", 0, "TIME", "so long between two starts", set_delay, 0},
    {"in", 0, "TIME", "start after TIME", set_in, 0},
    {"at", 0, "MOMENT", "start at HH:MM, a date with time, @SECONDS or now+TIME", set_at, 0},
    {"load", 0, "N", "start nothing while the load is above N or N% of the CPUs", set_load, 0},
    {"memfree", 0, "SIZE", "start nothing while less memory is available", set_memory_free, 0},
    {"workdir", 0, "DIR", "run the commands in DIR", set_cwd, 0},
    {"wd", 0, "DIR", NULL, set_cwd, 0},
    {"keep-children", 0, NULL, "leave what a job leaves behind running", set_keep_children, 0},
    {.help = "Output:"},
    {"keep-order", 'k', NULL, "in the order of the input", set_keep_order, 0},
    {"group", 0, NULL, "each job's output in one piece (the default)", set_grouped, 0},
    {"line-buffer", 0, NULL, "line by line, as it comes", set_lines, 0},
    {"linebuffer", 0, NULL, NULL, set_lines, 0},
    {"lb", 0, NULL, NULL, set_lines, 0},
    {"ungroup", 'u', NULL, "as the jobs write it", set_raw, 0},
    {"tag", 0, NULL, "begin each line with the arguments and a tab", set_tag, 0},
    {"tagstring", 0, "TEXT", "begin each line with TEXT and a tab", set_tagstring, 0},
    {"results", 0, "DIR", "keep outputs in DIR/NUMBER/stdout and stderr", set_results, 0},
    {"dry-run", 0, NULL, "print the commands, run none", set_dry, 0},
    {"dryrun", 0, NULL, NULL, set_dry, 0},
    {NULL, 't', NULL, "print each command to stderr before it runs", set_trace, 0},
    {"verbose", 'v', NULL, "print each command before its output", set_verbose, 0},
    {"bar", 0, NULL, "show a bar, on a terminal", set_bar, 0},
    {"eta", 0, NULL, "show the time that is left, on a terminal", set_eta, 0},
    {"progress", 0, NULL, NULL, set_eta, 0},
    {.help = "Record:"},
    {"joblog", 0, "FILE", "a line for each ended job", set_joblog, 0},
    {"name", 0, "NAME", "keep the batch in the store under a name", set_name, 0},
    {"resume", 0, NULL, "run what is not done by the store or the job log", set_resume, 0},
    {"resume-failed", 0, NULL, "run that, and what failed", set_resume_failed, 0},
    {"fresh", 0, NULL, "give an unfinished batch of the name up, and start over", set_fresh, 0},
    {"store", 0, "FILE", "the store (default: BELAY_STORE, or belay.db in the state folder)",
     set_store, 0},
    {"retry-failed", 0, NULL, "run what failed, by the commands in the job log", set_retry_failed,
     0},
    {"no-store", 0, NULL, "the job log is the only record (as without --name)", set_no_store, 0},
    {"help", 'h', NULL, "this text", set_help, 0},
    {"will-cite", 0, NULL, NULL, set_nothing, 0},
    {"quote", 'q', NULL, NULL, set_nothing, 0},
    {"exit", 'x', NULL, NULL, set_nothing, 0},
    /* Said no to, by name. */
    {"pipe", 0, NULL, NULL, NULL, USE_SPLIT},
    {"pipe-part", 0, NULL, NULL, NULL, USE_SPLIT},
    {"pipepart", 0, NULL, NULL, NULL, USE_SPLIT},
    {"spreadstdin", 0, NULL, NULL, NULL, USE_SPLIT},
    {"block", 0, "N", NULL, NULL, USE_SPLIT},
    {"recstart", 0, "TEXT", NULL, NULL, USE_SPLIT},
    {"recend", 0, "TEXT", NULL, NULL, USE_SPLIT},
    {"round-robin", 0, NULL, NULL, NULL, USE_SPLIT},
    {"cat", 0, NULL, NULL, NULL, USE_SPLIT},
    {"fifo", 0, NULL, NULL, NULL, USE_SPLIT},
    {"tee", 0, NULL, NULL, NULL, "use tee(1)"},
    {"sshlogin", 'S', "HOST", NULL, NULL, USE_SSH},
    {"sshloginfile", 0, "FILE", NULL, NULL, USE_SSH},
    {"slf", 0, "FILE", NULL, NULL, USE_SSH},
    {"controlmaster", 'M', NULL, NULL, NULL, USE_SSH},
    {"onall", 0, NULL, NULL, NULL, USE_SSH},
    {"nonall", 0, NULL, NULL, NULL, USE_SSH},
    {"transfer", 0, NULL, NULL, NULL, USE_COPY},
    {"transferfile", 0, "FILE", NULL, NULL, USE_COPY},
    {"return", 0, "FILE", NULL, NULL, USE_COPY},
    {"trc", 0, "FILE", NULL, NULL, USE_COPY},
    {"cleanup", 0, NULL, NULL, NULL, USE_COPY},
    {"basefile", 0, "FILE", NULL, NULL, USE_COPY},
    {"env", 0, "NAME", NULL, NULL,
     "jobs have the whole environment; shell functions are not passed"},
    {"semaphore", 0, NULL, NULL, NULL, USE_WITH},
    {"id", 0, "NAME", NULL, NULL, USE_WITH},
    {"fg", 0, NULL, NULL, NULL, USE_WITH},
    {"bg", 0, NULL, NULL, NULL, USE_WITH},
    {"wait", 0, NULL, NULL, NULL, USE_WITH},
    {"rpl", 0, "TEXT", NULL, NULL, "let the command itself change its argument"},
    {"plus", 0, NULL, NULL, NULL, "use {.} {/} {//} {/.}"},
    {"parens", 0, "TEXT", NULL, NULL, "Perl expressions are not evaluated; use {.} {/} {//} {/.}"},
    {"header", 0, "REGEX", NULL, NULL, USE_COLUMNS},
    {"csv", 0, NULL, NULL, NULL, USE_COLUMNS},
    {"trim", 0, "HOW", NULL, NULL, "blanks of the input are kept; cut them with sed(1)"},
    {"tmux", 0, NULL, NULL, NULL, "use --line-buffer to watch jobs"},
    {"tty", 0, NULL, NULL, NULL, "jobs have no terminal; use xargs -o"},
    {"interactive", 'p', NULL, NULL, NULL, "look at --dry-run first"},
    {"open-tty", 'o', NULL, NULL, NULL, "jobs have no terminal; use xargs -o"},
    {"files", 0, NULL, NULL, NULL, "use --results DIR"},
    {"compress", 0, NULL, NULL, NULL, "outputs that wait are in files in TMPDIR"},
    {"tmpdir", 0, "DIR", NULL, NULL, "set TMPDIR"},
    {"tempdir", 0, "DIR", NULL, NULL, "set TMPDIR"},
    {"nice", 0, "N", NULL, NULL, "use nice(1): nice -n N belay run ..."},
    {"noswap", 0, NULL, NULL, NULL, "use --memfree SIZE"},
    {"memsuspend", 0, "SIZE", NULL, NULL, "use --memfree SIZE"},
    {"shuf", 0, NULL, NULL, NULL, "use shuf(1) on the input"},
    {"shebang", 0, NULL, NULL, NULL, "write a script that calls belay run"},
    {"sqlmaster", 0, "URL", NULL, NULL, USE_STORE},
    {"sqlworker", 0, "URL", NULL, NULL, USE_STORE},
    {"sql", 0, "URL", NULL, NULL, USE_STORE},
    {"termseq", 0, "LIST", NULL, NULL,
     "a first signal waits, a second one ends jobs, a third kills them"},
    {"profile", 'J', "NAME", NULL, NULL, "write a shell function or a script with your options"},
    {"arg-sep", 0, "TEXT", NULL, NULL, "use --jsonl or -a for arguments that begin with :::"},
    {"process-slot-var", 0, "NAME", NULL, NULL, "use {%}"},
};

const struct bly_options bly_runopts_options = {
    .table = table, .count = sizeof table / sizeof table[0], .command = "run"};

void bly_runopts_free(struct bly_runopts *opts)
{
    bly_words_free(&opts->files);
    bly_words_free(&opts->limits);
}
