/* rows_of.h: sources of words for tests, written as one text: "a b|1 2" are two sources. */
#ifndef BELAY_TESTS_UNIT_CLI_ROWS_OF_H
#define BELAY_TESTS_UNIT_CLI_ROWS_OF_H

#include <check.h>
#include <string.h>

#include "cli/rows.h"

/* Adds the sources of a text; '+' instead of '|' links one to the source before. */
static inline void rows_of(struct bly_rows *rows, const char *text)
{
    bool is_linked = false;
    while (*text != '\0') {
        struct bly_input *input = bly_mem(sizeof *input);
        struct bly_words *words = bly_input_words(input);
        size_t source = strcspn(text, "|+");
        for (size_t at = 0; at < source;) {
            size_t word = strcspn(text + at, " |+");
            if (word > 0) {
                bly_words_add(words, text + at, word);
            }
            at += word + 1;
        }
        ck_assert_ptr_null(bly_rows_add(rows, input, is_linked));
        is_linked = text[source] == '+';
        text += source + (text[source] != '\0' ? 1 : 0);
    }
}

#endif
