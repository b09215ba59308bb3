/*
 * error.c: the names and sentences of results. See belay/base.h.
 */
#include "belay/base.h"

#include "base/assert.h"

typedef struct result_text {
    int result;
    const char *name;
    const char *sentence;
} result_text;

#define RESULT(code, sentence)                                                                     \
    {                                                                                              \
        code, #code, sentence                                                                      \
    }

static const result_text results[] = {
    {0, "BELAY_OK", "success"},
    RESULT(BELAY_PENDING, "a callback will come"),
    RESULT(BELAY_STILL_RUNNING, "told to stop, and still running"),
    RESULT(BELAY_REPLACED, "a pending version was replaced"),
    RESULT(BELAY_ENOENT, "there is nothing of that name or in that state"),
    RESULT(BELAY_EIO, "the system failed to read or write"),
    RESULT(BELAY_EAGAIN, "not possible now; trying later may succeed"),
    RESULT(BELAY_ENOMEM, "out of memory; nothing was changed"),
    RESULT(BELAY_EBUSY, "in use, attached, or queued already"),
    RESULT(BELAY_EEXIST, "the id is taken, and replacing was not allowed"),
    RESULT(BELAY_EINVAL, "an argument is outside its documented range"),
    RESULT(BELAY_EDEADLK, "waiting here could never end"),
    RESULT(BELAY_ETIMEDOUT, "the deadline passed"),
    RESULT(BELAY_ESTALE, "that version has ended or was replaced"),
    RESULT(BELAY_ECANCELED, "canceled by its owner or by its token"),
    RESULT(BELAY_ECLOSED, "closed; it takes no more"),
    RESULT(BELAY_EFULL, "full; a bound set by its owner is reached"),
    RESULT(BELAY_ERELEASED, "this lease was released before"),
    RESULT(BELAY_ENOTHELD, "this lease holds nothing"),
    RESULT(BELAY_ETOOBIG, "more permits than there will ever be"),
    RESULT(BELAY_ETOOLATE, "decided already"),
};

static const result_text unknown = {0, "BELAY_UNKNOWN", "not a result of belay"};

static const result_text *find(int result)
{
    for (size_t i = 0; i < bly_count(results); i++) {
        if (results[i].result == result) {
            return &results[i];
        }
    }
    return &unknown;
}

const char *belay_err_name(int result)
{
    return find(result)->name;
}

const char *belay_strerror(int result)
{
    return find(result)->sentence;
}
