/*
 * arena.c: the memory of one execution.
 *
 * Blocks are cut from one area and never used twice in an execution, so a block that was freed
 * stays recognisable: a shadow byte for every 16 bytes says whether they are in use. What is
 * still in use at the end is a leak. The area starts again with each execution, at the same
 * addresses, so that whatever depends on an address repeats. Each thread has a part of its own: an
 * address depends on what its thread allocated before, and not on what others did meanwhile.
 */
#include "testkit/explorer/engine.h"

#include <stdlib.h>
#include <string.h>

#define LANE_SIZE   ((size_t)4 << 20) /* of each thread */
#define ARENA_SIZE  (LANE_SIZE * MODEL_THREADS_MAX)
#define GRANULE     ((size_t)16)
#define POISON      0xdd
#define HEADER_MARK UINT64_C(0x62656c61792d6d64)

enum { SHADOW_NEVER, SHADOW_LIVE, SHADOW_HEADER, SHADOW_FREED };

/* Stands before each block. */
typedef struct header {
    uint64_t mark;
    size_t size;       /* as asked for */
    const char *where; /* the operation of the explorer that came before the allocation */
    size_t is_kept;    /* lives as long as the process: no leak */
} header;

static char *arena;
static uint8_t *shadow;
static size_t lane_ends[MODEL_THREADS_MAX]; /* offsets: each lane is used up to here */
static size_t arena_live;

bool model_arena_open(void)
{
    if (arena == NULL) {
        arena = aligned_alloc(4096, ARENA_SIZE);
        shadow = calloc(1, ARENA_SIZE / GRANULE);
    }
    if (arena == NULL || shadow == NULL) {
        free(arena);
        free(shadow);
        arena = NULL;
        shadow = NULL;
        return false;
    }
    return true;
}

void model_arena_reset(void)
{
    for (unsigned i = 0; i < MODEL_THREADS_MAX; i++) {
        size_t start = i * LANE_SIZE;
        if (lane_ends[i] > start) {
            memset(shadow + start / GRANULE, SHADOW_NEVER, (lane_ends[i] - start) / GRANULE);
        }
        lane_ends[i] = start;
    }
    arena_live = 0;
}

static size_t rounded(size_t size, size_t to)
{
    return (size + to - 1) & ~(to - 1);
}

static void *cut(size_t align, size_t size)
{
    unsigned lane = model.current->index;
    size_t used = lane_ends[lane];
    size_t start = rounded(used + sizeof(header), align);
    size_t end = start + rounded(size > 0 ? size : 1, GRANULE);
    if (size > LANE_SIZE || end > (lane + 1) * LANE_SIZE) {
        model_fail("one thread allocated more than %zu bytes in one execution", LANE_SIZE);
    }
    header *head = (header *)(void *)(arena + start - sizeof(header));
    *head = (header){.mark = HEADER_MARK, .size = size, .where = model.current->where};
    memset(shadow + used / GRANULE, SHADOW_HEADER, (start - used) / GRANULE);
    memset(shadow + start / GRANULE, SHADOW_LIVE, (end - start) / GRANULE);
    memset(arena + start, 0, end - start);
    lane_ends[lane] = end;
    arena_live++;
    return arena + start;
}

static bool allocation_fails(void)
{
    if (model.spent[MODEL_COST_ALLOC] >= model.budgets[MODEL_COST_ALLOC]) {
        return false;
    }
    model_decision options = {.kind = MODEL_KIND_ALLOC};
    options.counts[MODEL_COST_FREE] = 1;
    options.counts[MODEL_COST_ALLOC] = 1;
    return model_decide(&options, NULL) != 0;
}

void *bly_alloc(size_t size)
{
    return allocation_fails() ? NULL : cut(GRANULE, size);
}

void *bly_alloc_aligned(size_t align, size_t size)
{
    bly_assert((align & (align - 1)) == 0);
    return allocation_fails() ? NULL : cut(align > GRANULE ? align : GRANULE, size);
}

static header *header_of(void *block)
{
    header *head = (header *)(void *)((char *)block - sizeof(header));
    size_t offset = (size_t)((char *)block - arena);
    if (offset >= ARENA_SIZE || shadow[offset / GRANULE] == SHADOW_NEVER ||
        head->mark != HEADER_MARK) {
        model_fail("free of %p, which is no block of this execution", block);
    }
    if (shadow[offset / GRANULE] == SHADOW_FREED) {
        model_fail("double free of a block of %zu bytes, allocated near %s", head->size,
                   head->where);
    }
    return head;
}

void bly_free(void *block)
{
    if (block == NULL) {
        return;
    }
    header *head = header_of(block);
    size_t size = rounded(head->size > 0 ? head->size : 1, GRANULE);
    model_memory_check_free(block, size);
    memset(block, POISON, size);
    memset(shadow + (size_t)((char *)block - arena) / GRANULE, SHADOW_FREED, size / GRANULE);
    arena_live -= head->is_kept ? 0 : 1;
}

void *bly_realloc(void *block, size_t size)
{
    void *moved = bly_alloc(size);
    if (moved != NULL && block != NULL) {
        size_t old = header_of(block)->size;
        memcpy(moved, block, old < size ? old : size);
        bly_free(block);
    }
    return moved;
}

void bly_memory_keep(void *block)
{
    header *head = header_of(block);
    arena_live -= head->is_kept ? 0 : 1;
    head->is_kept = 1;
}

/* True for an address below its thread's stack pointer: the function that had it has returned. */
static bool is_dead_frame(const void *ptr)
{
    for (unsigned i = 0; i < model.thread_count; i++) {
        const model_thread *thread = &model.threads[i];
        if (bly_fiber_has(&thread->fiber, ptr)) {
            const void *top =
                thread == model.current ? __builtin_frame_address(0) : thread->fiber.stack_pointer;
            return thread->state == MODEL_ENDED || ptr < top;
        }
    }
    return false;
}

void model_arena_check_address(const void *ptr, const char *what)
{
    size_t offset = (size_t)((const char *)ptr - arena);
    if (offset < ARENA_SIZE) {
        if (shadow[offset / GRANULE] != SHADOW_LIVE) {
            model_fail("use after free: %s at %s of memory that is not in use", what,
                       model.current->where);
        }
    } else if ((uintptr_t)ptr >= model.stacks_low && (uintptr_t)ptr < model.stacks_high &&
               is_dead_frame(ptr)) {
        model_fail("use after return: %s at %s of a variable whose function has returned", what,
                   model.current->where);
    }
}

static const header *first_leak(size_t from, size_t end)
{
    for (size_t offset = from + sizeof(header); offset < end; offset += GRANULE) {
        const header *head = (const header *)(const void *)(arena + offset - sizeof(header));
        if (shadow[offset / GRANULE] == SHADOW_LIVE &&
            shadow[offset / GRANULE - 1] == SHADOW_HEADER && head->is_kept == 0) {
            return head;
        }
    }
    return NULL;
}

size_t model_arena_leaks(size_t *ret_first_size, const char **ret_where)
{
    for (unsigned i = 0; arena_live > 0 && i < MODEL_THREADS_MAX; i++) {
        const header *head = first_leak(i * LANE_SIZE, lane_ends[i]);
        if (head != NULL) {
            *ret_first_size = head->size;
            *ret_where = head->where;
            break;
        }
    }
    return arena_live;
}
