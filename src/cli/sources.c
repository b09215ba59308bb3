/* sources.c: see sources.h. */
#include "sources.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "say.h"

/* What a separator begins. */
static const struct separator {
    const char *text;
    bool are_files;
    bool is_linked;
} separators[] = {
    {":::", false, false},
    {":::+", false, true},
    {"::::", true, false},
    {"::::+", true, true},
};

static const struct separator *find_separator(const char *word)
{
    for (size_t i = 0; i < sizeof separators / sizeof separators[0]; i++) {
        if (strcmp(word, separators[i].text) == 0) {
            return &separators[i];
        }
    }
    return NULL;
}

static int add(struct bly_rows *rows, struct bly_input *input, bool is_linked)
{
    const char *why = bly_rows_add(rows, input, is_linked);
    if (why != NULL) {
        bly_say_about(input->name, "%s", why);
        bly_input_close(input);
        bly_mem_free(input);
        return BLY_SAY_OWN_ERROR;
    }
    return 0;
}

static int add_file(const struct bly_runopts *opts, struct bly_rows *rows, const char *name,
                    bool is_linked)
{
    struct bly_input *input = bly_mem(sizeof *input);
    if (bly_input_open(input, name, &opts->input) != 0) {
        bly_mem_free(input);
        return bly_say_about(name, "%s; is the name right?", strerror(errno));
    }
    return add(rows, input, is_linked);
}

/* One separator with its words, up to the next one. Moves *words behind them. */
static int add_separated(const struct bly_runopts *opts, struct bly_rows *rows, char ***words)
{
    const struct separator *separator = find_separator(**words);
    assert(separator != NULL);
    (*words)++;
    struct bly_input *input = NULL;
    if (!separator->are_files) {
        input = bly_mem(sizeof *input);
        bly_input_words(input);
    }
    bool is_linked = separator->is_linked;
    int status = 0;
    for (; **words != NULL && find_separator(**words) == NULL; (*words)++) {
        if (input != NULL) {
            bly_words_text(&input->words, **words);
        } else if (status == 0) {
            status = add_file(opts, rows, **words, is_linked);
        }
    }
    return input != NULL ? add(rows, input, is_linked) : status;
}

static int add_option_files(const struct bly_runopts *opts, struct bly_rows *rows)
{
    for (size_t i = 0; i < opts->files.count; i++) {
        int status = add_file(opts, rows, bly_words_at(&opts->files, i), false);
        if (status != 0) {
            return status;
        }
    }
    return 0;
}

static int add_standard_input(const struct bly_runopts *opts, const struct bly_words *command,
                              struct bly_rows *rows)
{
    if (isatty(STDIN_FILENO)) {
        if (command->count == 0) {
            bly_say("usage: belay run [OPTION...] [COMMAND...] [::: ARG...] [:::: FILE...]");
        }
        bly_say("standard input: a terminal, and there are no arguments; "
                "write belay run CMD ::: ARG..., or see `belay help run`");
        return BLY_SAY_OWN_ERROR;
    }
    return add_file(opts, rows, "-", false);
}

int bly_sources_build(const struct bly_runopts *opts, char **words, struct bly_words *command,
                      struct bly_rows *rows)
{
    for (; *words != NULL && find_separator(*words) == NULL; words++) {
        bly_words_text(command, *words);
    }
    rows->wraps = opts->wraps;
    if (opts->colsep != NULL) {
        const char *why = bly_rows_colsep(rows, opts->colsep);
        if (why != NULL) {
            return bly_say_about(opts->colsep, "%s", why);
        }
    }
    int status = add_option_files(opts, rows);
    while (status == 0 && *words != NULL) {
        status = add_separated(opts, rows, &words);
    }
    if (status == 0 && rows->source_count == 0) {
        status = add_standard_input(opts, command, rows);
    }
    return status;
}
