/*
 * jsonl.c: see jsonl.h. A table of members, each with its reader; readers append to job and answer
 * with NULL or what is wrong with the value.
 */
#include "jsonl.h"

#include <assert.h>
#include <inttypes.h>
#include <jansson.h>
#include <string.h>

#include "belay/clock.h"
#include "belay/sched.h"
#include "base64.h"
#include "duration.h"
#include "limitspec.h"
#include "when.h"

#define SECOND_NS 1000000000

/* Where a line is being read to. */
struct reading {
    bly_job *job;
    bool has_template;
    bool has_command;
    bool has_args;
};

/* A string, or {"b64": …}. Appends its bytes, which hold no NUL. */
static const char *read_bytes(const json_t *value, struct bly_bytes *to)
{
    size_t start = to->len;
    const char *why = NULL;
    if (json_is_string(value)) {
        bly_bytes_add(to, json_string_value(value), json_string_length(value));
    } else if (json_is_object(value) && json_object_size(value) == 1 &&
               json_is_string(json_object_get(value, "b64"))) {
        const char *letters = json_string_value(json_object_get(value, "b64"));
        why = bly_base64_decode(to, letters) ? NULL : "\"b64\" is not base64";
    } else {
        why = "it is neither a string nor {\"b64\": STRING}";
    }
    if (why == NULL && to->len > start && memchr(to->at + start, '\0', to->len - start) != NULL) {
        why = "it holds a NUL byte, which no argument can";
    }
    return why;
}

static const char *read_words(const json_t *value, struct bly_words *to)
{
    if (!json_is_array(value)) {
        return "it is not an array of strings";
    }
    const char *why = NULL;
    for (size_t i = 0; i < json_array_size(value) && why == NULL; i++) {
        bly_words_begin(to);
        why = read_bytes(json_array_get(value, i), &to->text);
        bly_words_end(to);
    }
    return why;
}

static const char *read_command(struct reading *reading, const json_t *value)
{
    static const struct bly_template_opts literal = {.is_literal = true};
    bly_job *job = reading->job;
    const char *why = NULL;
    if (json_is_array(value)) {
        struct bly_words words = {0};
        why = read_words(value, &words);
        if (why == NULL && words.count == 0) {
            why = "it is empty";
        }
        if (why == NULL) {
            why = bly_template_argv(&job->own, &words, &literal);
        }
        bly_words_free(&words);
    } else {
        struct bly_bytes line = {0};
        why = read_bytes(value, &line);
        if (why == NULL) {
            why = bly_template_line(&job->own, bly_bytes_c(&line), line.len, &literal);
        }
        bly_bytes_free(&line);
    }
    job->template = &job->own;
    reading->has_command = true;
    return why;
}

static const char *read_args(struct reading *reading, const json_t *value)
{
    reading->has_args = true;
    return read_words(value, &reading->job->args);
}

/* A duration as a string, or a number of seconds. */
static const char *read_duration(const json_t *value, int64_t *ret_ns)
{
    if (json_is_string(value)) {
        return bly_duration_parse(json_string_value(value), ret_ns);
    }
    double seconds = json_number_value(value);
    if (!json_is_number(value) || seconds < 0 || seconds > 1e9) {
        return "it is neither a duration such as \"90s\" nor a number of seconds";
    }
    *ret_ns = (int64_t)(seconds * SECOND_NS);
    return NULL;
}

static void start_after(bly_job *job, int64_t delay_ns)
{
    int64_t start_ns = 0;
    if (__builtin_add_overflow(belay_clock_now(NULL), delay_ns, &start_ns)) {
        start_ns = INT64_MAX;
    }
    job->start_ns = start_ns > job->start_ns ? start_ns : job->start_ns;
}

static const char *read_in(struct reading *reading, const json_t *value)
{
    int64_t delay_ns = 0;
    const char *why = read_duration(value, &delay_ns);
    if (why == NULL) {
        start_after(reading->job, delay_ns);
    }
    return why;
}

static const char *read_at(struct reading *reading, const json_t *value)
{
    int64_t now_ns = belay_clock_wall(NULL);
    int64_t moment_ns = 0;
    if (!json_is_string(value)) {
        return "it is not a string";
    }
    const char *why = bly_when_parse(json_string_value(value), now_ns, &moment_ns);
    if (why == NULL) {
        start_after(reading->job, moment_ns > now_ns ? moment_ns - now_ns : 0);
    }
    return why;
}

static const char *read_priority(struct reading *reading, const json_t *value)
{
    json_int_t number = json_integer_value(value);
    if (!json_is_integer(value) || number < -BELAY_PRIORITY_MAX || number > BELAY_PRIORITY_MAX) {
        return "it is not an integer from -32767 to 32767";
    }
    reading->job->priority = (int32_t)number;
    return NULL;
}

static const char *read_tries(struct reading *reading, const json_t *value)
{
    json_int_t number = json_integer_value(value);
    if (!json_is_integer(value) || number < 1 || number > UINT32_MAX) {
        return "it is not an integer of 1 or more";
    }
    reading->job->tries_max = (uint64_t)number;
    return NULL;
}

static const char *read_timeout(struct reading *reading, const json_t *value)
{
    return read_duration(value, &reading->job->timeout_ns);
}

static const char *read_limits(struct reading *reading, const json_t *value)
{
    struct bly_words *limits = &reading->job->limits;
    const char *why = read_words(value, limits);
    for (size_t i = 0; i < limits->count && why == NULL; i++) {
        struct bly_limitspec spec;
        why = bly_limitspec_parse(bly_words_at(limits, i), &spec);
    }
    return why;
}

static const char *read_cwd(struct reading *reading, const json_t *value)
{
    struct bly_bytes path = {0};
    const char *why = read_bytes(value, &path);
    if (why == NULL) {
        reading->job->own_cwd = bly_mem_text(bly_bytes_c(&path), path.len);
        reading->job->cwd = reading->job->own_cwd;
    }
    bly_bytes_free(&path);
    return why;
}

static const char *read_env(struct reading *reading, const json_t *value)
{
    struct bly_words *env = &reading->job->env;
    if (!json_is_object(value)) {
        return "it is not an object of strings";
    }
    const char *why = NULL;
    void *at = json_object_iter((json_t *)value);
    for (; at != NULL && why == NULL; at = json_object_iter_next((json_t *)value, at)) {
        const char *name = json_object_iter_key(at);
        if (name[0] == '\0' || strchr(name, '=') != NULL) {
            return "a name in it is empty or holds =";
        }
        bly_words_begin(env);
        bly_bytes_print(&env->text, "%s=", name);
        why = read_bytes(json_object_iter_value(at), &env->text);
        bly_words_end(env);
    }
    return why;
}

static const struct member {
    const char *name;
    const char *(*read)(struct reading *reading, const json_t *value);
} members[] = {
    {"cmd", read_command},     {"args", read_args},         {"in", read_in},
    {"at", read_at},           {"priority", read_priority}, {"tries", read_tries},
    {"timeout", read_timeout}, {"limits", read_limits},     {"cwd", read_cwd},
    {"env", read_env},
};

static const struct member *find_member(const char *name)
{
    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++) {
        if (strcmp(members[i].name, name) == 0) {
            return &members[i];
        }
    }
    return NULL;
}

static int fail(struct bly_bytes *ret_why, const char *name, const char *why)
{
    bly_bytes_print(ret_why, "%s: %s", name, why);
    return -1;
}

static int read_object(struct reading *reading, json_t *object, struct bly_bytes *ret_why)
{
    for (void *at = json_object_iter(object); at != NULL; at = json_object_iter_next(object, at)) {
        const char *name = json_object_iter_key(at);
        const struct member *member = find_member(name);
        const char *why = member == NULL ? "there is no such member; see JSON LINES in belay(1)"
                                         : member->read(reading, json_object_iter_value(at));
        if (why != NULL) {
            return fail(ret_why, name, why);
        }
    }
    return 0;
}

/* A command stands in exactly one place. */
static int check_command(const struct reading *reading, struct bly_bytes *ret_why)
{
    if (reading->has_command && reading->has_template) {
        return fail(ret_why, "cmd", "there is a command on the command line; give args here");
    }
    if (!reading->has_command && !reading->has_template) {
        return fail(ret_why, "cmd", "it is missing, and there is no command on the command line");
    }
    if (reading->has_args && !reading->has_template) {
        return fail(ret_why, "args", "there is no command on the command line to take them");
    }
    return 0;
}

int bly_jsonl_read(struct bly_slice line, bool has_template, bly_job *job,
                   struct bly_bytes *ret_why)
{
    assert(job->template != NULL);
    json_error_t error;
    size_t flags = JSON_REJECT_DUPLICATES | JSON_DECODE_ANY | JSON_ALLOW_NUL;
    json_t *value = json_loadb(line.at, line.len, flags, &error);
    if (value == NULL) {
        return fail(ret_why, "not JSON", error.text);
    }
    struct reading reading = {.job = job, .has_template = has_template};
    int failed = 0;
    if (json_is_object(value)) {
        failed = read_object(&reading, value, ret_why);
    } else {
        const char *why = has_template ? read_args(&reading, value) : read_command(&reading, value);
        failed = why != NULL ? fail(ret_why, "the line", why) : 0;
    }
    if (failed == 0) {
        failed = check_command(&reading, ret_why);
    }
    json_decref(value);
    return failed;
}
