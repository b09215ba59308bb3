/* limits.c: see limits.h. */
#include "limits.h"

#include <assert.h>
#include <string.h>

#include "limitspec.h"

struct bly_limit {
    char *name;
    uint32_t capacity;
    uint32_t in_use;
};

static struct bly_limit *find(const struct bly_limits *limits, const struct bly_limitspec *spec)
{
    for (size_t i = 0; i < limits->count; i++) {
        struct bly_limit *limit = &limits->items[i];
        if (strlen(limit->name) == spec->name_len &&
            memcmp(limit->name, spec->name, spec->name_len) == 0) {
            return limit;
        }
    }
    return NULL;
}

static struct bly_limitspec parse(const struct bly_words *specs, size_t index)
{
    struct bly_limitspec spec = {0};
    const char *why = bly_limitspec_parse(bly_words_at(specs, index), &spec);
    assert(why == NULL);
    (void)why;
    return spec;
}

static const char *declare(struct bly_limits *limits, const struct bly_limitspec *spec)
{
    struct bly_limit *limit = find(limits, spec);
    if (limit == NULL) {
        if (limits->count == BLY_LIMITS_MAX) {
            return "there are more than 1000 limits";
        }
        limits->items =
            bly_mem_grow(limits->items, &limits->max, limits->count + 1, sizeof *limits->items);
        limit = &limits->items[limits->count++];
        *limit = (struct bly_limit){.name = bly_mem_text(spec->name, spec->name_len),
                                    .capacity = spec->capacity > 0 ? spec->capacity : 1};
    }
    if (spec->capacity > 0 && spec->capacity != limit->capacity) {
        return "the limit has another capacity already; write NAME=N once";
    }
    if (spec->permits > limit->capacity) {
        return "it wants more permits than the limit has; declare it by NAME=N";
    }
    return NULL;
}

const char *bly_limits_declare(struct bly_limits *limits, const struct bly_words *specs)
{
    for (size_t i = 0; i < specs->count; i++) {
        struct bly_limitspec spec = parse(specs, i);
        const char *why = declare(limits, &spec);
        if (why != NULL) {
            return why;
        }
    }
    return NULL;
}

static void give_first(struct bly_limits *limits, const struct bly_words *specs, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct bly_limitspec spec = parse(specs, i);
        struct bly_limit *limit = find(limits, &spec);
        assert(limit != NULL && limit->in_use >= spec.permits);
        limit->in_use -= spec.permits;
    }
}

bool bly_limits_take(struct bly_limits *limits, const struct bly_words *specs)
{
    for (size_t i = 0; i < specs->count; i++) {
        struct bly_limitspec spec = parse(specs, i);
        struct bly_limit *limit = find(limits, &spec);
        assert(limit != NULL);
        if (limit->in_use + spec.permits > limit->capacity) {
            give_first(limits, specs, i);
            return false;
        }
        limit->in_use += spec.permits;
    }
    return true;
}

void bly_limits_give(struct bly_limits *limits, const struct bly_words *specs)
{
    give_first(limits, specs, specs->count);
}

void bly_limits_free(struct bly_limits *limits)
{
    for (size_t i = 0; i < limits->count; i++) {
        bly_mem_free(limits->items[i].name);
    }
    bly_mem_free(limits->items);
    *limits = (struct bly_limits){0};
}
