/* quote.c: see quote.h. */
#include "quote.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "shline.h"

/* In single quotes nothing is special but the quote itself: end them, write one, begin again. */
static void add_single(struct bly_bytes *to, const char *from, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (from[i] == '\'') {
            bly_bytes_add(to, "'\\''", 4);
        } else {
            bly_bytes_byte(to, from[i]);
        }
    }
}

/* In double quotes four characters are special, and a backslash before each takes that away. */
static void add_double(struct bly_bytes *to, const char *from, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (from[i] == '$' || from[i] == '`' || from[i] == '"' || from[i] == '\\') {
            bly_bytes_byte(to, '\\');
        }
        bly_bytes_byte(to, from[i]);
    }
}

static void add_bare(struct bly_bytes *to, const char *from, size_t len)
{
    bly_bytes_byte(to, '\'');
    add_single(to, from, len);
    bly_bytes_byte(to, '\'');
}

static bool is_safe(const char *from, size_t len)
{
    static const char safe[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                               "0123456789_-+=:,./@%";
    for (size_t i = 0; i < len; i++) {
        if (from[i] == '\0' || strchr(safe, from[i]) == NULL) {
            return false;
        }
    }
    return len > 0;
}

/* A word that the shell could take for an assignment or a keyword is quoted too. */
static void add_word(struct bly_bytes *to, const char *from, size_t len)
{
    if (is_safe(from, len) && !bly_shline_is_shell_word(from, len)) {
        bly_bytes_add(to, from, len);
    } else {
        add_bare(to, from, len);
    }
}

void bly_quote_add(struct bly_bytes *to, enum bly_quote quote, const char *from, size_t len)
{
    switch (quote) {
    case BLY_QUOTE_NONE:
        bly_bytes_add(to, from, len);
        return;
    case BLY_QUOTE_BARE:
        add_bare(to, from, len);
        return;
    case BLY_QUOTE_WORD:
        add_word(to, from, len);
        return;
    case BLY_QUOTE_SINGLE:
        add_single(to, from, len);
        return;
    case BLY_QUOTE_DOUBLE:
        add_double(to, from, len);
        return;
    }
}

void bly_quote_word(struct bly_bytes *to, const char *from, size_t len)
{
    if (is_safe(from, len)) {
        bly_bytes_add(to, from, len);
    } else {
        add_bare(to, from, len);
    }
}

void bly_quote_argv(struct bly_bytes *to, const struct bly_words *words)
{
    for (size_t i = 0; i < words->count; i++) {
        if (i > 0) {
            bly_bytes_byte(to, ' ');
        }
        const char *word = bly_words_at(words, i);
        if (i == 0) {
            add_word(to, word, bly_words_len(words, i));
        } else {
            bly_quote_word(to, word, bly_words_len(words, i));
        }
    }
}

/* The length that the first byte of a UTF-8 character announces, 0 if it cannot be a first byte. */
static size_t utf8_announced(unsigned char first)
{
    if (first < 0x80) {
        return 1;
    }
    if (first >= 0xc2 && first <= 0xdf) {
        return 2;
    }
    if (first >= 0xe0 && first <= 0xef) {
        return 3;
    }
    return first >= 0xf0 && first <= 0xf4 ? 4 : 0;
}

/* Decodes one character; gives its length, or 0 when the bytes are not UTF-8. */
static size_t utf8_decode(const unsigned char *at, size_t len, uint32_t *ret_point)
{
    size_t need = utf8_announced(at[0]);
    if (need == 0 || need > len) {
        return 0;
    }
    uint32_t point = need == 1 ? at[0] : at[0] & (0xffU >> (need + 1));
    for (size_t i = 1; i < need; i++) {
        if ((at[i] & 0xc0) != 0x80) {
            return 0;
        }
        point = point << 6 | (at[i] & 0x3fU);
    }
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    bool is_surrogate = point >= 0xd800 && point <= 0xdfff;
    if (point < least[need] || point > 0x10ffff || is_surrogate) {
        return 0;
    }
    *ret_point = point;
    return need;
}

/* Characters that are controls, or that turn or hide text around them. */
static bool is_tricky(uint32_t point)
{
    return point < 0x20 || (point >= 0x7f && point < 0xa0) || point == 0x61c ||
           (point >= 0x200b && point <= 0x200f) || (point >= 0x2028 && point <= 0x202e) ||
           (point >= 0x2060 && point <= 0x2069) || point == 0xfeff;
}

static void show_escaped(struct bly_bytes *to, const unsigned char *at, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (at[i] == '\n') {
            bly_bytes_text(to, "\\n");
        } else if (at[i] == '\t') {
            bly_bytes_text(to, "\\t");
        } else {
            bly_bytes_print(to, "\\x%02x", at[i]);
        }
    }
}

void bly_quote_show(struct bly_bytes *to, const char *from, size_t len, size_t max)
{
    const unsigned char *at = (const unsigned char *)from;
    size_t i = 0;
    while (i < len && i < max) {
        uint32_t point = 0;
        size_t step = utf8_decode(at + i, len - i, &point);
        if (step == 0 || is_tricky(point)) {
            step = step == 0 ? 1 : step;
            show_escaped(to, at + i, step);
        } else {
            bly_bytes_add(to, from + i, step);
        }
        i += step;
    }
    if (i < len) {
        bly_bytes_text(to, "...");
    }
}
