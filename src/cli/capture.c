/* capture.c: see capture.h. */
#include "capture.h"

#include <string.h>
#include <strings.h>

#include "quote.h"
#include "template.h"

static size_t name_len(const char *word)
{
    return strcspn(word, "=");
}

static bool is_same_name(const char *left, const char *right)
{
    size_t len = name_len(left);
    return len == name_len(right) && memcmp(left, right, len) == 0;
}

static bool has_part(const char *name, size_t len, const char *part)
{
    size_t part_len = strlen(part);
    for (size_t i = 0; i + part_len <= len; i++) {
        if (strncasecmp(name + i, part, part_len) == 0) {
            return true;
        }
    }
    return false;
}

static bool has_end(const char *name, size_t len, const char *end)
{
    size_t end_len = strlen(end);
    return len >= end_len && strncasecmp(name + len - end_len, end, end_len) == 0;
}

/* scheme://user:password@host */
static bool has_password(const char *value)
{
    const char *at = strstr(value, "://");
    if (at == NULL) {
        return false;
    }
    at += 3;
    size_t user = strcspn(at, ":/@");
    return at[user] == ':' && at[user + strcspn(at + user, "/@")] == '@';
}

bool bly_capture_looks_secret(const char *word)
{
    static const char *const parts[] = {"SECRET",     "TOKEN",  "PASSW",   "PASSPHRASE",
                                        "CREDENTIAL", "APIKEY", "API_KEY", "PRIVATE"};
    static const char *const ends[] = {"_KEY", "_PASS", "_PAT", "_PW", "_AUTH", "COOKIE"};
    size_t len = name_len(word);
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        if (has_part(word, len, parts[i])) {
            return true;
        }
    }
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        if (has_end(word, len, ends[i])) {
            return true;
        }
    }
    return word[len] == '=' && has_password(word + len + 1);
}

const char *bly_capture_env_check(const char *word)
{
    return name_len(word) == 0 ? "it begins with no name; write NAME or NAME=VALUE" : NULL;
}

static const char *find(const struct bly_words *words, const char *name)
{
    for (size_t i = 0; i < words->count; i++) {
        if (is_same_name(bly_words_at(words, i), name)) {
            return bly_words_at(words, i);
        }
    }
    return NULL;
}

/* The store's place and the outer job's number mean nothing to the job. */
static bool is_left_behind(const char *word)
{
    return strncmp(word, "BELAY_", 6) == 0 || strncmp(word, "_=", 2) == 0 ||
           word[name_len(word)] == '\0' || word[0] == '=';
}

static void add_name(struct bly_words *to, const char *word)
{
    bly_words_add(to, word, name_len(word));
}

void bly_capture_env(struct bly_words *to, char *const *env, const struct bly_words *stored,
                     const struct bly_words *from_worker)
{
    for (; *env != NULL; env++) {
        const char *asked = find(stored, *env);
        bool has_value = asked != NULL && asked[name_len(asked)] == '=';
        if (has_value || find(from_worker, *env) != NULL || is_left_behind(*env)) {
            continue;
        }
        if (asked == NULL && bly_capture_looks_secret(*env)) {
            add_name(to, *env);
        } else {
            bly_words_text(to, *env);
        }
    }
    for (size_t i = 0; i < stored->count; i++) {
        const char *word = bly_words_at(stored, i);
        if (word[name_len(word)] == '=') {
            bly_words_text(to, word);
        }
    }
    for (size_t i = 0; i < from_worker->count; i++) {
        add_name(to, bly_words_at(from_worker, i));
    }
}

void bly_capture_restore(struct bly_words *to, const struct bly_words *words, char *const *env)
{
    for (size_t i = 0; i < words->count; i++) {
        const char *word = bly_words_at(words, i);
        if (word[name_len(word)] == '=') {
            bly_words_text(to, word);
            continue;
        }
        for (char *const *at = env; *at != NULL; at++) {
            if (is_same_name(*at, word)) {
                bly_words_text(to, *at);
                break;
            }
        }
    }
}

const char *bly_capture_command(struct bly_words *to, char *const *words)
{
    if (words[1] != NULL) {
        for (; *words != NULL; words++) {
            bly_words_text(to, *words);
        }
        return NULL;
    }
    if (words[0][strspn(words[0], " \t\n")] == '\0') {
        return "there is no command in it";
    }
    static const struct bly_words no_args = {0};
    struct bly_template line = {0};
    struct bly_template_opts opts = {.is_literal = true};
    struct bly_filling filling = {.args = &no_args, .seq = 1, .slot = 1};
    const char *why = bly_template_line(&line, words[0], strlen(words[0]), &opts);
    if (why == NULL) {
        bly_template_expand(&line, &filling, to);
    }
    bly_template_free(&line);
    return why;
}

/* What was one shell line is shown as that. */
void bly_capture_show(struct bly_bytes *to, const struct bly_words *argv)
{
    if (argv->count == 3 && strcmp(bly_words_at(argv, 0), "/bin/sh") == 0 &&
        strcmp(bly_words_at(argv, 1), "-c") == 0) {
        bly_bytes_text(to, bly_words_at(argv, 2));
    } else {
        bly_quote_argv(to, argv);
    }
}
