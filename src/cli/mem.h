/*
 * mem.h: the command's memory: allocation that cannot fail, byte strings and word lists that grow.
 *
 * The command is one process with one batch: when memory runs out it says so and leaves with 255,
 * and its keeper ends the jobs. Nothing else in src/cli calls malloc, realloc or free. Context of
 * all: the command's only thread.
 */
#ifndef BLY_CLI_MEM_H
#define BLY_CLI_MEM_H

#include <stdbool.h>
#include <stddef.h>

/* bly_mem: gives `size` zeroed bytes; never NULL. bly_mem_free ends it. */
void *bly_mem(size_t size);

/* bly_mem_check: `result` of a call of libbelay that can fail for want of memory alone; leaves. */
void bly_mem_check(int result);

/*
 * bly_mem_grow: makes room for `need` items of `each` bytes in the block `old` (NULL: none yet), of
 * which *max fit now; at least doubles it, updates *max, takes `old` and gives the new block.
 */
void *bly_mem_grow(void *old, size_t *max, size_t need, size_t each);

/* bly_mem_text: gives a copy of `len` bytes at `from`, ended by a NUL byte. */
char *bly_mem_text(const char *from, size_t len);

/* bly_mem_free: takes what bly_mem, bly_mem_grow or bly_mem_text gave, or NULL. */
void bly_mem_free(void *block);

/* A byte string. All zero is an empty one. `at`, where not NULL, has a NUL byte after `len`. */
struct bly_bytes {
    char *at;
    size_t len;
    size_t max;
};

/* bly_bytes_add: appends `len` bytes; `from` must not lie inside `bytes`. */
void bly_bytes_add(struct bly_bytes *bytes, const char *from, size_t len);

/* bly_bytes_text: appends a NUL-ended text. */
void bly_bytes_text(struct bly_bytes *bytes, const char *text);

/* bly_bytes_byte: appends one byte. */
void bly_bytes_byte(struct bly_bytes *bytes, char byte);

/* bly_bytes_print: appends what printf would print. */
void bly_bytes_print(struct bly_bytes *bytes, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* bly_bytes_room: makes sure that `more` bytes can be written at at + len. */
void bly_bytes_room(struct bly_bytes *bytes, size_t more);

/* bly_bytes_clear: makes it empty and keeps its memory. */
void bly_bytes_clear(struct bly_bytes *bytes);

/* bly_bytes_free: makes it empty and gives its memory back. */
void bly_bytes_free(struct bly_bytes *bytes);

/* bly_bytes_c: the bytes as a NUL-ended text, "" when empty; borrowed until the next change. */
const char *bly_bytes_c(const struct bly_bytes *bytes);

/*
 * A list of words, each without NUL bytes, packed end to end in one text: two blocks however many
 * words, both kept by bly_words_clear, so that filling it again allocates nothing. All zero is
 * empty.
 */
struct bly_words {
    struct bly_bytes text;
    size_t *starts;
    size_t count;
    size_t max;
    char **argv; /* built by bly_words_argv */
    size_t argv_max;
};

/* bly_words_add: appends a word of `len` bytes. */
void bly_words_add(struct bly_words *words, const char *from, size_t len);

/* bly_words_text: appends a NUL-ended word. */
void bly_words_text(struct bly_words *words, const char *word);

/*
 * bly_words_begin, bly_words_end: between them a word is written through bly_bytes_… on
 * words->text.
 */
void bly_words_begin(struct bly_words *words);
void bly_words_end(struct bly_words *words);

/* bly_words_copy: appends every word of `from`. */
void bly_words_copy(struct bly_words *words, const struct bly_words *from);

/* bly_words_at: word `index`, which must be less than count; borrowed until the next change. */
const char *bly_words_at(const struct bly_words *words, size_t index);

/* bly_words_len: how many bytes word `index` has. */
size_t bly_words_len(const struct bly_words *words, size_t index);

/* bly_words_argv: a NULL-ended array of the words, borrowed until the next change. */
char **bly_words_argv(struct bly_words *words);

void bly_words_clear(struct bly_words *words);
void bly_words_free(struct bly_words *words);

#endif
