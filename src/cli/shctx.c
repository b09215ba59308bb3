/*
 * shctx.c: the quoting context of a shell line.
 *
 * The open constructs are a stack: "…", $(…), (…), `…`, ${…} and $((…)). Single quotes, a
 * comment and a backslash are flags, since nothing nests in them. A value may stand where the stack
 * is only parentheses (quote it), or that plus one pair of double quotes on top (escape it), or in
 * single quotes at such a place. Everywhere else shells disagree, or evaluate once more (`…` and
 * arithmetic do), so the answer is a refusal, never a guess.
 *
 * Where this reader could lose its way, it says so rather than go on: quotes inside ${…} and
 * arithmetic mean different things in different shells, and the patterns of a case inside (…) close
 * parentheses that were never opened. From there on (`lost`) each value is refused. Nothing is ever
 * allowed on a doubt, and so an error here costs a refusal and not an injection.
 */
#include "shctx.h"

#include <assert.h>
#include <string.h>

enum frame { IN_PAREN = 1, IN_SUBST, IN_DOUBLE, IN_BACKQUOTE, IN_BRACE, IN_ARITH };

static enum frame top_frame(const struct bly_shctx *ctx)
{
    return ctx->depth > 0 ? (enum frame)ctx->frames[ctx->depth - 1] : IN_PAREN;
}

static void push(struct bly_shctx *ctx, enum frame frame)
{
    if (ctx->depth == BLY_SHCTX_DEPTH_MAX) {
        ctx->lost = "the line nests too deeply to be followed";
        return;
    }
    ctx->frames[ctx->depth] = (unsigned char)frame;
    ctx->parens[ctx->depth] = 0;
    ctx->depth++;
}

static void pop(struct bly_shctx *ctx)
{
    assert(ctx->depth > 0);
    ctx->depth--;
}

/* A word of code has ended: a case inside parentheses makes them uncountable. */
static void end_word(struct bly_shctx *ctx)
{
    bool is_case = ctx->word_len == 4 && memcmp(ctx->word, "case", 4) == 0;
    if (is_case && ctx->depth > 0) {
        ctx->lost = "the parentheses of a case inside (...) cannot be followed";
    }
    ctx->word_len = 0;
    ctx->in_word = false;
}

static void add_to_word(struct bly_shctx *ctx, char byte)
{
    ctx->in_word = true;
    if (ctx->word_len < BLY_SHCTX_WORD_MAX) {
        ctx->word[ctx->word_len++] = byte;
    }
}

static void open_paren(struct bly_shctx *ctx)
{
    enum frame around = top_frame(ctx);
    if (ctx->last == '(' && around == IN_SUBST) {
        ctx->frames[ctx->depth - 1] = IN_ARITH;
        ctx->parens[ctx->depth - 1] = 2;
    } else if (ctx->last == '(') {
        ctx->lost = "((...)) means different things in different shells";
    } else if (ctx->last == '<' || ctx->last == '>') {
        ctx->lost = "<(...) means different things in different shells";
    } else {
        push(ctx, IN_PAREN);
    }
}

/* `$` followed by `byte`: an expansion with brackets opens. True if `byte` is used up. */
static bool open_dollar(struct bly_shctx *ctx, char byte)
{
    if (ctx->last != '$') {
        return false;
    }
    if (byte == '(') {
        end_word(ctx);
        push(ctx, IN_SUBST);
        return true;
    }
    if (byte == '{') {
        push(ctx, IN_BRACE);
        return true;
    }
    return false;
}

static void feed_operator(struct bly_shctx *ctx, char byte)
{
    end_word(ctx);
    if (byte == '(') {
        open_paren(ctx);
    } else if (byte == ')' && ctx->depth > 0) {
        /* $(…) ends inside the word that it began in; behind (…) a comment may begin. */
        ctx->in_word = top_frame(ctx) == IN_SUBST;
        pop(ctx);
    } else if (byte == '<' && ctx->last == '<') {
        ctx->has_heredoc = true;
    }
}

/* A byte of code: outside quotes, at the top or in parentheses. */
static void feed_code(struct bly_shctx *ctx, char byte)
{
    if (open_dollar(ctx, byte)) {
        return;
    }
    if (byte == '\'') {
        ctx->in_single = true;
        ctx->in_word = true;
        if (ctx->last == '$') {
            ctx->lost = "$'...' means different things in different shells";
        }
    } else if (byte == '"') {
        push(ctx, IN_DOUBLE);
        ctx->in_word = true;
    } else if (byte == '`') {
        push(ctx, IN_BACKQUOTE);
        ctx->in_word = true;
    } else if (byte == '#' && !ctx->in_word) {
        ctx->in_comment = true;
    } else if (strchr(" \t\n", byte) != NULL) {
        end_word(ctx);
    } else if (strchr("();<>|&", byte) != NULL) {
        feed_operator(ctx, byte);
    } else {
        add_to_word(ctx, byte);
    }
}

static void feed_double(struct bly_shctx *ctx, char byte)
{
    if (open_dollar(ctx, byte)) {
        return;
    }
    if (byte == '"') {
        pop(ctx);
        ctx->in_word = true;
    } else if (byte == '`') {
        push(ctx, IN_BACKQUOTE);
    }
}

/*
 * Old style command substitution ends at the next backquote without a backslash, whatever is in
 * it.
 */
static void feed_backquote(struct bly_shctx *ctx, char byte)
{
    if (byte == '`') {
        pop(ctx);
        ctx->in_word = true;
    }
}

static void feed_brace(struct bly_shctx *ctx, char byte)
{
    if (byte == '}') {
        pop(ctx);
        ctx->in_word = true;
    } else if (strchr("'\"`{(\\", byte) != NULL) {
        ctx->lost = "quotes and brackets inside ${...} cannot be followed";
    }
}

static void feed_arith(struct bly_shctx *ctx, char byte)
{
    unsigned short *parens = &ctx->parens[ctx->depth - 1];
    if (byte == '(') {
        (*parens)++;
    } else if (byte == ')') {
        (*parens)--;
        if (*parens == 0) {
            pop(ctx);
            ctx->in_word = true;
        }
    } else if (strchr("'\"`{\\#", byte) != NULL) {
        ctx->lost = "quotes and brackets inside ((...)) cannot be followed";
    }
}

static void feed_byte(struct bly_shctx *ctx, char byte)
{
    switch (top_frame(ctx)) {
    case IN_PAREN:
    case IN_SUBST:
        feed_code(ctx, byte);
        break;
    case IN_DOUBLE:
        feed_double(ctx, byte);
        break;
    case IN_BACKQUOTE:
        feed_backquote(ctx, byte);
        break;
    case IN_BRACE:
        feed_brace(ctx, byte);
        break;
    case IN_ARITH:
        feed_arith(ctx, byte);
        break;
    }
    /* $$ is an expansion of its own: what follows it belongs to nothing. */
    ctx->last = byte == '$' && ctx->last == '$' ? '\0' : byte;
}

/*
 * The byte behind a backslash. A newline there is taken away with it, as if neither were written.
 */
static void feed_escaped(struct bly_shctx *ctx, char byte)
{
    ctx->is_escaped = false;
    if (byte == '\n') {
        return;
    }
    ctx->last = '\0';
    ctx->in_word = true;
    ctx->word_len = BLY_SHCTX_WORD_MAX;
}

void bly_shctx_feed(struct bly_shctx *ctx, const char *from, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        assert(ctx->depth <= BLY_SHCTX_DEPTH_MAX);
        if (from[i] == '\0') {
            ctx->lost = "it follows a NUL byte";
        } else if (ctx->in_single) {
            ctx->in_single = from[i] != '\'';
            ctx->last = '\0';
        } else if (ctx->in_comment) {
            ctx->in_comment = from[i] != '\n';
            ctx->last = from[i];
        } else if (ctx->is_escaped) {
            feed_escaped(ctx, from[i]);
        } else if (from[i] == '\\') {
            ctx->is_escaped = true;
        } else {
            feed_byte(ctx, from[i]);
        }
    }
}

/* Why no value may stand here, or NULL. */
static const char *refusal(const struct bly_shctx *ctx)
{
    if (ctx->lost != NULL) {
        return ctx->lost;
    }
    for (unsigned i = 0; i < ctx->depth; i++) {
        bool is_top = i + 1 == ctx->depth;
        switch ((enum frame)ctx->frames[i]) {
        case IN_PAREN:
        case IN_SUBST:
            break;
        case IN_DOUBLE:
            if (!is_top) {
                return "it stands in an expansion inside double quotes";
            }
            break;
        case IN_BACKQUOTE:
            return "it stands in backquotes";
        case IN_BRACE:
            return "it stands in ${...}";
        case IN_ARITH:
            return "it stands in arithmetic";
        }
    }
    if (ctx->has_heredoc) {
        return "it stands behind <<, in a here-document";
    }
    if (ctx->in_comment) {
        return "it stands in a comment";
    }
    if (ctx->is_escaped) {
        return "a backslash stands before it";
    }
    return ctx->last == '$' ? "a $ stands before it" : NULL;
}

const char *bly_shctx_hole(struct bly_shctx *ctx, enum bly_quote *ret_quote)
{
    const char *why = refusal(ctx);
    if (why != NULL) {
        return why;
    }
    if (ctx->in_single) {
        *ret_quote = BLY_QUOTE_SINGLE;
    } else {
        *ret_quote = top_frame(ctx) == IN_DOUBLE ? BLY_QUOTE_DOUBLE : BLY_QUOTE_BARE;
    }
    ctx->last = '\0';
    ctx->in_word = true;
    ctx->word_len = BLY_SHCTX_WORD_MAX;
    return NULL;
}
