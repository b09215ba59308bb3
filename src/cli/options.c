/* options.c: see options.h. */
#include "options.h"

#include <assert.h>
#include <getopt.h>
#include <string.h>

#include "say.h"

/* Long options are numbered from here, out of the way of the letters. */
enum { FIRST_CODE = 256, HELP_COLUMN = 27 };

struct made {
    struct option longs[BLY_OPTIONS_MAX + 1];
    char letters[2 * BLY_OPTIONS_MAX + 3];
};

/*
 * What getopt_long wants to know. "+" stops at the first word, "-" would give words as options; ":"
 * tells a missing value apart.
 */
static void make(const struct bly_options *options, struct made *made)
{
    assert(options->count <= BLY_OPTIONS_MAX);
    size_t longs = 0;
    size_t letters = 0;
    if (!options->are_anywhere) {
        made->letters[letters++] = '+';
    }
    made->letters[letters++] = ':';
    for (size_t i = 0; i < options->count; i++) {
        const struct bly_option *option = &options->table[i];
        if (option->name != NULL) {
            made->longs[longs++] =
                (struct option){.name = option->name,
                                .has_arg = option->arg != NULL ? required_argument : no_argument,
                                .val = FIRST_CODE + (int)i};
        }
        if (option->letter != 0) {
            made->letters[letters++] = option->letter;
            if (option->arg != NULL) {
                made->letters[letters++] = ':';
            }
        }
    }
    made->longs[longs] = (struct option){0};
    made->letters[letters] = '\0';
}

static const struct bly_option *find(const struct bly_options *options, int code)
{
    if (code >= FIRST_CODE) {
        return &options->table[code - FIRST_CODE];
    }
    for (size_t i = 0; i < options->count; i++) {
        if (options->table[i].letter == code) {
            return &options->table[i];
        }
    }
    return NULL;
}

/* As typed by most: --name, or -x where there is no name. */
static void add_name(const struct bly_option *option, struct bly_bytes *to)
{
    if (option->name != NULL) {
        bly_bytes_print(to, "--%s", option->name);
    } else {
        bly_bytes_print(to, "-%c", option->letter);
    }
}

static int refuse(const struct bly_options *options, const struct bly_option *option,
                  const char *value, const char *why)
{
    struct bly_bytes thing = {0};
    add_name(option, &thing);
    if (value != NULL) {
        bly_bytes_byte(&thing, ' ');
        bly_bytes_text(&thing, value);
    }
    bly_say_about(thing.at, "%s; see `belay help %s`", why, options->command);
    bly_bytes_free(&thing);
    return -1;
}

/* The names that begin with `start`, each behind a blank. */
static size_t add_names(const struct bly_options *options, const char *start, size_t len,
                        struct bly_bytes *to)
{
    size_t count = 0;
    for (size_t i = 0; i < options->count; i++) {
        const char *name = options->table[i].name;
        if (name != NULL && strncmp(name, start, len) == 0) {
            bly_bytes_print(to, " --%s", name);
            count++;
        }
    }
    return count;
}

/* Is one the other but for one letter that is wrong, missing, too much, or changed places? */
static bool is_slip(const char *name, const char *typed, size_t len)
{
    size_t name_len = strlen(name);
    size_t head = 0;
    while (head < name_len && head < len && name[head] == typed[head]) {
        head++;
    }
    size_t tail = 0;
    while (tail < name_len - head && tail < len - head &&
           name[name_len - tail - 1] == typed[len - tail - 1]) {
        tail++;
    }
    size_t name_left = name_len - head - tail;
    size_t typed_left = len - head - tail;
    bool is_swap = name_left == 2 && typed_left == 2 && name[head] == typed[head + 1] &&
                   name[head + 1] == typed[head];
    return is_swap || (name_left <= 1 && typed_left <= 1);
}

/* The listed option that was probably meant, NULL for none. */
static const char *find_meant(const struct bly_options *options, const char *typed, size_t len)
{
    enum { LEAST = 3 }; /* shorter ones are a slip away from too much */
    for (size_t i = 0; len >= LEAST && i < options->count; i++) {
        const struct bly_option *option = &options->table[i];
        if (option->name != NULL && option->instead == NULL && is_slip(option->name, typed, len)) {
            return option->name;
        }
    }
    return NULL;
}

/* `word` is --NAME or --NAME=VALUE; no option has that name, or several begin with it. */
static int refuse_name(const struct bly_options *options, const char *word)
{
    assert(strncmp(word, "--", 2) == 0);
    struct bly_bytes names = {0};
    size_t len = strcspn(word + 2, "=");
    const char *meant = find_meant(options, word + 2, len);
    if (add_names(options, word + 2, len, &names) > 0) {
        bly_say_about(word, "several options begin so:%s", bly_bytes_c(&names));
    } else if (meant != NULL) {
        bly_say_about(word, "there is no such option; did you mean --%s?", meant);
    } else {
        bly_say_about(word, "there is no such option; see `belay help %s`", options->command);
    }
    bly_bytes_free(&names);
    return -1;
}

/* What getopt_long could not take: `code` is a letter, an option that got a value, or 0. */
static int refuse_unknown(const struct bly_options *options, const char *word, int code)
{
    if (code >= FIRST_CODE) {
        return refuse(options, find(options, code), NULL, "it takes no value");
    }
    if (code == 0) {
        return refuse_name(options, word);
    }
    bly_say("-%c: there is no such option; see `belay help %s`", code, options->command);
    return -1;
}

static int take(const struct bly_options *options, const struct bly_option *option, void *target,
                const char *value)
{
    if (option->instead != NULL) {
        struct bly_bytes thing = {0};
        add_name(option, &thing);
        bly_say("%s: belay does not do this; %s", thing.at, option->instead);
        bly_bytes_free(&thing);
        return -1;
    }
    const char *why = option->set(target, value);
    return why == NULL ? 0 : refuse(options, option, value, why);
}

int bly_options_parse(const struct bly_options *options, int argc, char **argv, void *target,
                      int *ret_rest)
{
    struct made made;
    make(options, &made);
    opterr = 0;
    optind = 0; /* 0 makes glibc begin anew */
    for (;;) {
        int code = getopt_long(argc, argv, made.letters, made.longs, NULL);
        if (code == -1) {
            break;
        }
        if (code == '?') {
            return refuse_unknown(options, argv[optind - 1], optopt);
        }
        const struct bly_option *option = find(options, code == ':' ? optopt : code);
        assert(option != NULL);
        if (code == ':') {
            return refuse(options, option, NULL, "its value is missing");
        }
        if (take(options, option, target, optarg) != 0) {
            return -1;
        }
    }
    *ret_rest = optind;
    return 0;
}

static void add_line(const struct bly_option *option, struct bly_bytes *to)
{
    size_t start = to->len;
    if (option->letter != 0) {
        bly_bytes_print(to, "  -%c%s", option->letter, option->name != NULL ? ", " : "  ");
    } else {
        bly_bytes_text(to, "      ");
    }
    if (option->name != NULL) {
        bly_bytes_print(to, "--%s", option->name);
    }
    if (option->arg != NULL) {
        bly_bytes_print(to, " %s", option->arg);
    }
    if (to->len - start >= HELP_COLUMN) {
        bly_bytes_byte(to, '\n');
        start = to->len;
    }
    while (to->len - start < HELP_COLUMN) {
        bly_bytes_byte(to, ' ');
    }
    bly_bytes_print(to, "%s\n", option->help);
}

bool bly_option_is_listed(const struct bly_option *option)
{
    bool is_option = option->name != NULL || option->letter != 0;
    return is_option && option->help != NULL && option->instead == NULL;
}

void bly_options_help(const struct bly_options *options, struct bly_bytes *to)
{
    for (size_t i = 0; i < options->count; i++) {
        const struct bly_option *option = &options->table[i];
        if (option->name == NULL && option->letter == 0) {
            bly_bytes_print(to, "\n%s\n", option->help);
        } else if (bly_option_is_listed(option)) {
            add_line(option, to);
        }
    }
}

void bly_options_names(const struct bly_options *options, struct bly_bytes *to, bool with_value)
{
    for (size_t i = 0; i < options->count; i++) {
        const struct bly_option *option = &options->table[i];
        if (!bly_option_is_listed(option) || (with_value && option->arg == NULL)) {
            continue;
        }
        if (option->name != NULL) {
            bly_bytes_print(to, "%s--%s", to->len > 0 ? " " : "", option->name);
        }
        if (option->letter != 0) {
            bly_bytes_print(to, "%s-%c", to->len > 0 ? " " : "", option->letter);
        }
    }
}
