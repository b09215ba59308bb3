/* input.c: see input.h. */
#include "input.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "files.h"

enum { READ_SIZE = 65536 };

int bly_input_open(struct bly_input *input, const char *name, const struct bly_input_opts *opts)
{
    *input = (struct bly_input){.name = name, .fd = STDIN_FILENO, .opts = *opts};
    if (strcmp(name, "-") == 0) {
        input->name = "standard input";
        return 0;
    }
    input->fd = open(name, O_RDONLY | O_CLOEXEC);
    input->owns_fd = input->fd >= 0;
    return input->fd >= 0 ? 0 : -1;
}

struct bly_words *bly_input_words(struct bly_input *input)
{
    *input = (struct bly_input){.name = "the command line", .fd = -1};
    return &input->words;
}

static enum bly_input_result broken(struct bly_input *input, const char *why)
{
    input->why = why;
    return BLY_INPUT_BROKEN;
}

/* Would a read answer at once? What cannot be polled (a file) always does. */
static bool is_readable(int fd)
{
    struct pollfd pollfd = {.fd = fd, .events = POLLIN};
    return poll(&pollfd, 1, 0) != 0;
}

/* Reads one more block behind what is there. RECORD: there is more to look at. */
static enum bly_input_result fill(struct bly_input *input)
{
    if (!is_readable(input->fd)) {
        return BLY_INPUT_WAIT;
    }
    struct bly_bytes *buffer = &input->buffer;
    if (input->start > 0) {
        memmove(buffer->at, buffer->at + input->start, buffer->len - input->start);
        buffer->len -= input->start;
        input->start = 0;
    }
    if (buffer->len > BLY_INPUT_RECORD_MAX) {
        return broken(input, "a record is longer than 256 MiB; is the delimiter right?");
    }
    bly_bytes_room(buffer, READ_SIZE);
    ssize_t got = bly_files_read(input->fd, buffer->at + buffer->len, READ_SIZE);
    if (got < 0) {
        return errno == EAGAIN ? BLY_INPUT_WAIT : broken(input, strerror(errno));
    }
    input->is_ended = got == 0;
    buffer->len += (size_t)got;
    return BLY_INPUT_RECORD;
}

/* The next piece up to a delimiter, or to the end. */
static enum bly_input_result next_piece(struct bly_input *input, struct bly_slice *ret_piece)
{
    for (;;) {
        size_t left = input->buffer.len - input->start;
        const char *from = input->buffer.at + input->start;
        const char *end =
            left > input->scanned
                ? memchr(from + input->scanned, input->opts.delimiter, left - input->scanned)
                : NULL;
        if (end != NULL || (input->is_ended && left > 0)) {
            size_t len = end != NULL ? (size_t)(end - from) : left;
            *ret_piece = (struct bly_slice){from, len};
            input->start += len + (end != NULL ? 1 : 0);
            input->scanned = 0;
            return BLY_INPUT_RECORD;
        }
        if (input->is_ended) {
            return BLY_INPUT_END;
        }
        input->scanned = left;
        enum bly_input_result result = fill(input);
        if (result != BLY_INPUT_RECORD) {
            return result;
        }
    }
}

static bool is_blank(char byte)
{
    return byte == ' ' || byte == '\t';
}

static bool is_all_blank(const struct bly_slice *piece)
{
    for (size_t i = 0; i < piece->len; i++) {
        if (!is_blank(piece->at[i])) {
            return false;
        }
    }
    return true;
}

/* Joins a piece to the ones before it. True when the record goes on behind it. */
static bool join(struct bly_input *input, struct bly_slice *piece)
{
    if (!input->opts.joins_blank) {
        return false;
    }
    bool goes_on = piece->len > 0 && is_blank(piece->at[piece->len - 1]);
    if (!input->is_joining) {
        bly_bytes_clear(&input->joined);
    }
    if (!goes_on && !input->is_joining) {
        return false;
    }
    bly_bytes_add(&input->joined, piece->at, piece->len);
    input->is_joining = goes_on;
    *piece = (struct bly_slice){input->joined.at, input->joined.len};
    return goes_on;
}

static enum bly_input_result next_of_words(struct bly_input *input, struct bly_slice *ret_record)
{
    if (input->next_word == input->words.count) {
        return BLY_INPUT_END;
    }
    ret_record->at = bly_words_at(&input->words, input->next_word);
    ret_record->len = bly_words_len(&input->words, input->next_word);
    input->next_word++;
    input->count++;
    return BLY_INPUT_RECORD;
}

/* Is this record the last one by -E? Then nothing behind it counts either. */
static bool is_end_mark(struct bly_input *input, const struct bly_slice *record)
{
    const char *mark = input->opts.end_at;
    bool is_mark =
        mark != NULL && strlen(mark) == record->len && memcmp(mark, record->at, record->len) == 0;
    if (is_mark) {
        input->is_ended = true;
        input->start = input->buffer.len;
    }
    return is_mark;
}

static enum bly_input_result next_of_file(struct bly_input *input, struct bly_slice *ret_record)
{
    for (;;) {
        enum bly_input_result result = next_piece(input, ret_record);
        if (result == BLY_INPUT_END && input->is_joining) {
            input->is_joining = false;
            *ret_record = (struct bly_slice){input->joined.at, input->joined.len};
            result = BLY_INPUT_RECORD;
        } else if (result == BLY_INPUT_RECORD && join(input, ret_record)) {
            continue;
        }
        if (result != BLY_INPUT_RECORD) {
            return result;
        }
        if (is_end_mark(input, ret_record)) {
            return BLY_INPUT_END;
        }
        if (!input->opts.skips_blank || !is_all_blank(ret_record)) {
            input->count++;
            return BLY_INPUT_RECORD;
        }
    }
}

enum bly_input_result bly_input_next(struct bly_input *input, struct bly_slice *ret_record)
{
    if (input->fd < 0) {
        return next_of_words(input, ret_record);
    }
    enum bly_input_result result = next_of_file(input, ret_record);
    if (result == BLY_INPUT_RECORD && memchr(ret_record->at, '\0', ret_record->len) != NULL) {
        input->count--;
        return broken(input, "a record holds a NUL byte, which no argument can; "
                             "use -0 if NUL bytes end the records");
    }
    assert(result != BLY_INPUT_RECORD || ret_record->at != NULL);
    return result;
}

void bly_input_close(struct bly_input *input)
{
    bly_words_free(&input->words);
    bly_bytes_free(&input->buffer);
    bly_bytes_free(&input->joined);
    if (input->owns_fd) {
        close(input->fd);
    }
    input->owns_fd = false;
}
