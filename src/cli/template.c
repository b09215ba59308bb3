/*
 * template.c: commands with replacement strings.
 *
 * A template is a list of words, a word a list of parts, a part a literal or a hole. A shell line
 * that needs the shell is one word, each of whose holes knows how it must be quoted; it never has
 * more than that word, so all text of the user that a shell reads went through shctx.c. Everything
 * else is executed without a shell, where quoting is no question.
 */
#include "template.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "shctx.h"
#include "shline.h"

static void add_part(struct bly_template *t, struct bly_part part)
{
    t->parts = bly_mem_grow(t->parts, &t->max, t->count + 1, sizeof *t->parts);
    t->parts[t->count++] = part;
}

static void add_literal(struct bly_template *t, const char *from, size_t len)
{
    if (len > 0) {
        add_part(t, (struct bly_part){.start = t->text.len, .len = len});
        bly_bytes_add(&t->text, from, len);
    }
}

static void add_hole(struct bly_template *t, struct bly_hole hole)
{
    add_part(t, (struct bly_part){.is_hole = true, .hole = hole});
}

static void end_word(struct bly_template *t)
{
    t->ends = bly_mem_grow(t->ends, &t->words_max, t->words + 1, sizeof *t->ends);
    t->ends[t->words++] = t->count;
}

/* Splits a text into literals and holes. NULL, or why a replacement string is refused. */
static const char *scan(struct bly_template *t, const char *from, size_t len,
                        const struct bly_template_opts *opts)
{
    size_t start = 0;
    const char *why = NULL;
    for (size_t i = 0; i < len && !opts->is_literal;) {
        struct bly_hole hole;
        size_t hole_len = bly_hole_scan(from + i, opts->whole, &hole, &why);
        if (why != NULL) {
            return why;
        }
        if (hole_len == 0) {
            i++;
            continue;
        }
        add_literal(t, from + start, i - start);
        add_hole(t, hole);
        i += hole_len;
        start = i;
    }
    add_literal(t, from + start, len - start);
    return NULL;
}

bool bly_template_has_holes(const struct bly_template *t)
{
    for (size_t i = 0; i < t->count; i++) {
        if (t->parts[i].is_hole) {
            return true;
        }
    }
    return false;
}

bool bly_template_has_slot(const struct bly_template *t)
{
    for (size_t i = 0; i < t->count; i++) {
        if (t->parts[i].is_hole && t->parts[i].hole.kind == BLY_HOLE_SLOT) {
            return true;
        }
    }
    return false;
}

const char *bly_template_argv(struct bly_template *t, const struct bly_words *words,
                              const struct bly_template_opts *opts)
{
    assert(t->words == 0 && words->count > 0);
    for (size_t i = 0; i < words->count; i++) {
        const char *why = scan(t, bly_words_at(words, i), bly_words_len(words, i), opts);
        if (why != NULL) {
            return why;
        }
        end_word(t);
    }
    if (opts->appends && !bly_template_has_holes(t)) {
        add_hole(t, (struct bly_hole){BLY_HOLE_WHOLE, 0});
        end_word(t);
    }
    return NULL;
}

static bool is_number(const struct bly_part *part)
{
    return part->hole.kind == BLY_HOLE_SEQ || part->hole.kind == BLY_HOLE_SLOT;
}

/* Does a hole of a line stand by itself, between blanks or the ends of a command? */
static bool stands_alone(const struct bly_template *t, size_t index)
{
    char before = ' ';
    char behind = ' ';
    if (index > 0) {
        const struct bly_part *part = &t->parts[index - 1];
        before = part->is_hole ? 'x' : t->text.at[part->start + part->len - 1];
    }
    if (index + 1 < t->count) {
        const struct bly_part *part = &t->parts[index + 1];
        behind = part->is_hole ? 'x' : t->text.at[part->start];
    }
    return strchr(" \t\n", before) != NULL && strchr(" \t\n;", behind) != NULL;
}

/* Finds how each hole of a shell line is to be quoted. NULL, or why one cannot be. */
static const char *find_quotes(struct bly_template *t)
{
    struct bly_shctx ctx = {0};
    for (size_t i = 0; i < t->count; i++) {
        struct bly_part *part = &t->parts[i];
        if (!part->is_hole) {
            bly_shctx_feed(&ctx, t->text.at + part->start, part->len);
        } else if (is_number(part)) {
            part->quote = BLY_QUOTE_NONE;
            bly_shctx_feed(&ctx, "1", 1);
        } else {
            const char *why = bly_shctx_hole(&ctx, &part->quote);
            if (why != NULL) {
                return why;
            }
            if (part->quote == BLY_QUOTE_BARE && stands_alone(t, i)) {
                part->quote = BLY_QUOTE_WORD;
            }
        }
    }
    return NULL;
}

/* Can the line be split at blanks and executed without a shell? */
static bool needs_no_shell(const struct bly_template *t)
{
    if (t->count == 0 || t->parts[0].is_hole) {
        return false;
    }
    for (size_t i = 0; i < t->count; i++) {
        const struct bly_part *part = &t->parts[i];
        if (!part->is_hole && bly_shline_has_special(t->text.at + part->start, part->len)) {
            return false;
        }
    }
    const char *first = t->text.at + t->parts[0].start;
    size_t blanks = 0;
    while (blanks < t->parts[0].len && (first[blanks] == ' ' || first[blanks] == '\t')) {
        blanks++;
    }
    size_t end = blanks;
    while (end < t->parts[0].len && first[end] != ' ' && first[end] != '\t') {
        end++;
    }
    bool runs_into_hole = end == t->parts[0].len && t->count > 1 && t->parts[1].is_hole;
    return end > blanks && !runs_into_hole &&
           !bly_shline_is_shell_word(first + blanks, end - blanks);
}

static bool is_blank(char byte)
{
    return byte == ' ' || byte == '\t';
}

/* Copies a literal of a line to `to`, ending a word at each run of blanks. */
static void split_literal(struct bly_template *to, const char *from, size_t len)
{
    size_t i = 0;
    while (i < len) {
        size_t start = i;
        while (i < len && !is_blank(from[i])) {
            i++;
        }
        add_literal(to, from + start, i - start);
        bool has_word = to->count > (to->words > 0 ? to->ends[to->words - 1] : 0);
        if (i < len && has_word) {
            end_word(to);
        }
        while (i < len && is_blank(from[i])) {
            i++;
        }
    }
}

/* Makes words of a line that needs no shell. */
static void split(struct bly_template *t)
{
    struct bly_template words = {0};
    for (size_t i = 0; i < t->count; i++) {
        if (t->parts[i].is_hole) {
            add_hole(&words, t->parts[i].hole);
        } else {
            split_literal(&words, t->text.at + t->parts[i].start, t->parts[i].len);
        }
    }
    if (words.count > (words.words > 0 ? words.ends[words.words - 1] : 0)) {
        end_word(&words);
    }
    bly_template_free(t);
    *t = words;
}

const char *bly_template_line(struct bly_template *t, const char *line, size_t len,
                              const struct bly_template_opts *opts)
{
    assert(t->words == 0);
    const char *why = scan(t, line, len, opts);
    if (why != NULL) {
        return why;
    }
    if (opts->appends && !bly_template_has_holes(t)) {
        add_literal(t, " ", 1);
        add_hole(t, (struct bly_hole){BLY_HOLE_WHOLE, 0});
    }
    why = find_quotes(t);
    if (why != NULL) {
        return why;
    }
    if (needs_no_shell(t)) {
        split(t);
    } else {
        end_word(t);
        t->is_shell = true;
    }
    return NULL;
}

/* Argument `position` as the hole counts, or SIZE_MAX when the job has no such one. */
static size_t find_argument(const struct bly_words *args, int position)
{
    size_t away = (size_t)(position < 0 ? -position : position);
    if (away > args->count) {
        return SIZE_MAX;
    }
    return position < 0 ? args->count - away : away - 1;
}

static void put_argument(const struct bly_part *part, const struct bly_words *args, size_t index,
                         struct bly_bytes *to)
{
    struct bly_slice piece =
        bly_hole_cut(part->hole.kind, bly_words_at(args, index), bly_words_len(args, index));
    bly_quote_add(to, part->quote, piece.at, piece.len);
}

static void put_number(const struct bly_part *part, const struct bly_filling *filling,
                       struct bly_bytes *to)
{
    uint64_t number = part->hole.kind == BLY_HOLE_SEQ ? filling->seq : filling->slot;
    bly_bytes_print(to, "%" PRIu64, number);
}

/* Which arguments a hole takes: from *ret_first, so many. */
static size_t take_arguments(const struct bly_part *part, const struct bly_words *args,
                             size_t *ret_first)
{
    *ret_first = 0;
    if (part->hole.position == 0) {
        return args->count;
    }
    *ret_first = find_argument(args, part->hole.position);
    return *ret_first == SIZE_MAX ? 0 : 1;
}

/* Writes the script of a shell line. */
static void expand_line(const struct bly_template *t, const struct bly_filling *filling,
                        struct bly_bytes *to)
{
    for (size_t i = 0; i < t->count; i++) {
        const struct bly_part *part = &t->parts[i];
        if (!part->is_hole) {
            bly_bytes_add(to, t->text.at + part->start, part->len);
            continue;
        }
        if (is_number(part)) {
            put_number(part, filling, to);
            continue;
        }
        size_t first = 0;
        size_t count = take_arguments(part, filling->args, &first);
        for (size_t k = 0; k < count; k++) {
            if (k > 0) {
                bly_bytes_byte(to, ' ');
            }
            put_argument(part, filling->args, first + k, to);
        }
    }
}

/*
 * Writes one word. Several arguments at one hole become several words, the first joined to what
 * stands before the hole and the last to what stands behind, as a shell would split them; a word
 * that is nothing but holes without arguments becomes none. With `only`, a hole for every argument
 * takes that one alone.
 */
static void expand_word(const struct bly_template *t, size_t from, size_t end,
                        const struct bly_filling *filling, const size_t *only,
                        struct bly_words *words)
{
    bool has_something = from == end;
    bly_words_begin(words);
    for (size_t i = from; i < end; i++) {
        const struct bly_part *part = &t->parts[i];
        if (!part->is_hole) {
            bly_bytes_add(&words->text, t->text.at + part->start, part->len);
            has_something = true;
            continue;
        }
        if (is_number(part)) {
            put_number(part, filling, &words->text);
            has_something = true;
            continue;
        }
        size_t first = 0;
        size_t count = take_arguments(part, filling->args, &first);
        if (only != NULL && part->hole.position == 0) {
            first = *only;
            count = 1;
        }
        for (size_t k = 0; k < count; k++) {
            if (k > 0) {
                bly_words_end(words);
                bly_words_begin(words);
            }
            put_argument(part, filling->args, first + k, &words->text);
            has_something = true;
        }
    }
    if (has_something) {
        bly_words_end(words);
    }
}

static bool takes_every(const struct bly_template *t, size_t from, size_t end)
{
    for (size_t i = from; i < end; i++) {
        bool is_every = t->parts[i].is_hole && t->parts[i].hole.position == 0;
        if (is_every && !is_number(&t->parts[i])) {
            return true;
        }
    }
    return false;
}

static void expand_words(const struct bly_template *t, const struct bly_filling *filling,
                         struct bly_words *words)
{
    size_t from = 0;
    for (size_t i = 0; i < t->words; i++) {
        if (t->has_context && takes_every(t, from, t->ends[i])) {
            for (size_t k = 0; k < filling->args->count; k++) {
                expand_word(t, from, t->ends[i], filling, &k, words);
            }
        } else {
            expand_word(t, from, t->ends[i], filling, NULL, words);
        }
        from = t->ends[i];
    }
}

void bly_template_expand(const struct bly_template *t, const struct bly_filling *filling,
                         struct bly_words *ret_argv)
{
    if (!t->is_shell) {
        expand_words(t, filling, ret_argv);
        return;
    }
    bly_words_text(ret_argv, "/bin/sh");
    bly_words_text(ret_argv, "-c");
    bly_words_begin(ret_argv);
    expand_line(t, filling, &ret_argv->text);
    bly_words_end(ret_argv);
}

void bly_template_show(const struct bly_template *t, const struct bly_filling *filling,
                       struct bly_bytes *to)
{
    struct bly_words words = {0};
    if (t->is_shell) {
        expand_line(t, filling, to);
        return;
    }
    expand_words(t, filling, &words);
    bly_quote_argv(to, &words);
    bly_words_free(&words);
}

/* At most how long an argument is where it is put in, with the blank or the end behind it. */
static size_t cost_of_one(const struct bly_template *t, const char *argument, size_t len)
{
    size_t cost = len + 1;
    if (t->is_shell) {
        cost += 2;
        for (size_t i = 0; i < len; i++) {
            cost += argument[i] == '\'' ? 3 : strchr("$`\"\\", argument[i]) != NULL;
        }
    }
    return cost;
}

size_t bly_template_cost(const struct bly_template *t, const char *argument, size_t len)
{
    size_t one = cost_of_one(t, argument, len);
    size_t cost = 0;
    size_t from = 0;
    for (size_t i = 0; i < t->words; i++) {
        size_t around = 0;
        for (size_t k = from; k < t->ends[i]; k++) {
            bool is_every = t->parts[k].is_hole && t->parts[k].hole.position == 0;
            if (is_every && !is_number(&t->parts[k])) {
                cost += one;
            } else if (t->has_context) {
                around += t->parts[k].len;
            }
        }
        cost += takes_every(t, from, t->ends[i]) ? around : 0;
        from = t->ends[i];
    }
    return cost;
}

size_t bly_template_base(const struct bly_template *t)
{
    return t->text.len + t->words + (t->is_shell ? sizeof "/bin/sh -c " : 0);
}

void bly_template_free(struct bly_template *t)
{
    bly_bytes_free(&t->text);
    bly_mem_free(t->parts);
    bly_mem_free(t->ends);
    *t = (struct bly_template){0};
}
