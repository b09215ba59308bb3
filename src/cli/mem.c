/* mem.c: see mem.h. */
#include "mem.h"

#include <assert.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "belay/base.h"

enum { OWN_ERROR = 255, FIRST_MAX = 64 };

__attribute__((noreturn)) static void out_of_memory(void)
{
    static const char text[] = "belay: out of memory; run fewer jobs at once or shorter lines\n";
    ssize_t ignored = write(STDERR_FILENO, text, sizeof text - 1);
    (void)ignored;
    _exit(OWN_ERROR);
}

void bly_mem_check(int result)
{
    assert(result >= 0 || result == BELAY_ENOMEM);
    if (result == BELAY_ENOMEM) {
        out_of_memory();
    }
}

void *bly_mem(size_t size)
{
    void *block = calloc(1, size > 0 ? size : 1);
    if (block == NULL) {
        out_of_memory();
    }
    return block;
}

void *bly_mem_grow(void *old, size_t *max, size_t need, size_t each)
{
    assert(each > 0);
    if (need <= *max && old != NULL) {
        return old;
    }
    size_t wanted = *max * 2 > need ? *max * 2 : need;
    wanted = wanted < FIRST_MAX / each ? FIRST_MAX / each : wanted;
    void *block = reallocarray(old, wanted, each);
    if (block == NULL) {
        out_of_memory();
    }
    *max = wanted;
    return block;
}

char *bly_mem_text(const char *from, size_t len)
{
    char *text = bly_mem(len + 1);
    memcpy(text, from, len);
    return text;
}

void bly_mem_free(void *block)
{
    free(block);
}

void bly_bytes_room(struct bly_bytes *bytes, size_t more)
{
    if (more >= SIZE_MAX - bytes->len) {
        out_of_memory();
    }
    bytes->at = bly_mem_grow(bytes->at, &bytes->max, bytes->len + more + 1, 1);
}

void bly_bytes_add(struct bly_bytes *bytes, const char *from, size_t len)
{
    bly_bytes_room(bytes, len);
    if (len > 0) {
        memcpy(bytes->at + bytes->len, from, len);
    }
    bytes->len += len;
    bytes->at[bytes->len] = '\0';
}

void bly_bytes_text(struct bly_bytes *bytes, const char *text)
{
    bly_bytes_add(bytes, text, strlen(text));
}

void bly_bytes_byte(struct bly_bytes *bytes, char byte)
{
    bly_bytes_add(bytes, &byte, 1);
}

void bly_bytes_print(struct bly_bytes *bytes, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    int len = vsnprintf(NULL, 0, format, values);
    va_end(values);
    assert(len >= 0);
    bly_bytes_room(bytes, (size_t)len);
    va_start(values, format);
    vsnprintf(bytes->at + bytes->len, (size_t)len + 1, format, values);
    va_end(values);
    bytes->len += (size_t)len;
}

void bly_bytes_clear(struct bly_bytes *bytes)
{
    bytes->len = 0;
    if (bytes->at != NULL) {
        bytes->at[0] = '\0';
    }
}

void bly_bytes_free(struct bly_bytes *bytes)
{
    bly_mem_free(bytes->at);
    *bytes = (struct bly_bytes){0};
}

const char *bly_bytes_c(const struct bly_bytes *bytes)
{
    return bytes->at != NULL ? bytes->at : "";
}

void bly_words_begin(struct bly_words *words)
{
    words->starts =
        bly_mem_grow(words->starts, &words->max, words->count + 1, sizeof *words->starts);
    words->starts[words->count] = words->text.len;
}

void bly_words_end(struct bly_words *words)
{
    assert(words->text.len >= words->starts[words->count]);
    bly_bytes_byte(&words->text, '\0');
    words->count++;
}

void bly_words_add(struct bly_words *words, const char *from, size_t len)
{
    bly_words_begin(words);
    bly_bytes_add(&words->text, from, len);
    bly_words_end(words);
}

void bly_words_text(struct bly_words *words, const char *word)
{
    bly_words_add(words, word, strlen(word));
}

void bly_words_copy(struct bly_words *words, const struct bly_words *from)
{
    assert(words != from);
    for (size_t i = 0; i < from->count; i++) {
        bly_words_add(words, bly_words_at(from, i), bly_words_len(from, i));
    }
}

const char *bly_words_at(const struct bly_words *words, size_t index)
{
    assert(index < words->count);
    return words->text.at + words->starts[index];
}

size_t bly_words_len(const struct bly_words *words, size_t index)
{
    assert(index < words->count);
    size_t end = index + 1 < words->count ? words->starts[index + 1] : words->text.len;
    return end - words->starts[index] - 1;
}

char **bly_words_argv(struct bly_words *words)
{
    words->argv =
        bly_mem_grow(words->argv, &words->argv_max, words->count + 1, sizeof *words->argv);
    for (size_t i = 0; i < words->count; i++) {
        words->argv[i] = words->text.at + words->starts[i];
    }
    words->argv[words->count] = NULL;
    return words->argv;
}

void bly_words_clear(struct bly_words *words)
{
    words->count = 0;
    bly_bytes_clear(&words->text);
}

void bly_words_free(struct bly_words *words)
{
    bly_bytes_free(&words->text);
    bly_mem_free(words->starts);
    bly_mem_free(words->argv);
    *words = (struct bly_words){0};
}
