/*
 * fiber.c: see fiber.h.
 *
 * A fiber that is switched out keeps its registers on its own stack, in the order in which
 * fiber_switch.S pops them; bly_fiber_start lays out the same picture for a function that has not
 * begun.
 */
#include "testkit/explorer/fiber.h"

#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include "base/assert.h"

#ifdef BLY_FIBER_UCONTEXT
#include <ucontext.h>
#endif

#define GUARD_SIZE ((size_t)4096)

bool bly_fiber_open(bly_fiber *fiber)
{
    char *area = mmap(NULL, GUARD_SIZE + BLY_FIBER_STACK_SIZE, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (area == MAP_FAILED) {
        return false;
    }
    if (mprotect(area, GUARD_SIZE, PROT_NONE) != 0) {
        munmap(area, GUARD_SIZE + BLY_FIBER_STACK_SIZE);
        return false;
    }
    fiber->stack = area + GUARD_SIZE;
    fiber->stack_pointer = NULL;
    fiber->fn = NULL;
    return true;
}

void bly_fiber_close(bly_fiber *fiber)
{
    if (fiber->stack != NULL) {
        munmap((char *)fiber->stack - GUARD_SIZE, GUARD_SIZE + BLY_FIBER_STACK_SIZE);
        fiber->stack = NULL;
    }
}

bool bly_fiber_has(const bly_fiber *fiber, const void *address)
{
    uintptr_t low = (uintptr_t)fiber->stack - GUARD_SIZE;
    return (uintptr_t)address >= low &&
           (uintptr_t)address < low + GUARD_SIZE + BLY_FIBER_STACK_SIZE;
}

#ifndef BLY_FIBER_UCONTEXT

#ifdef __x86_64__
#define SAVED_WORDS 7 /* rbx rbp r12 r13 r14 r15 and the return address */
#define RETURN_WORD 6
#else
#define SAVED_WORDS 20 /* x19-x30, d8-d15 */
#define RETURN_WORD 11
#endif

void bly_fiber_enter(void); /* fiber_switch.S: calls what it finds in a register */
void bly_fiber_swap(void **from_sp, void *to_sp); /* fiber_switch.S */

void bly_fiber_start(bly_fiber *fiber, void (*fn)(void))
{
    bly_assert(fiber->stack != NULL);
    uintptr_t top = ((uintptr_t)fiber->stack + BLY_FIBER_STACK_SIZE - 64) & ~(uintptr_t)15;
    uintptr_t *frame = (uintptr_t *)top - SAVED_WORDS;
    memset(frame, 0, SAVED_WORDS * sizeof *frame);
    frame[0] = (uintptr_t)fn;
    frame[RETURN_WORD] = (uintptr_t)bly_fiber_enter;
    fiber->fn = fn;
    fiber->stack_pointer = frame;
}

void bly_fiber_switch(bly_fiber *from, bly_fiber *to)
{
    bly_fiber_swap(&from->stack_pointer, to->stack_pointer);
}

#else

/* The context lives at the top of the fiber's stack, or in static memory for the first caller. */
static ucontext_t *fiber_context(bly_fiber *fiber)
{
    static ucontext_t outermost;
    if (fiber->stack == NULL) {
        return &outermost;
    }
    return (ucontext_t *)(((uintptr_t)fiber->stack + BLY_FIBER_STACK_SIZE - sizeof(ucontext_t)) &
                          ~(uintptr_t)63);
}

void bly_fiber_start(bly_fiber *fiber, void (*fn)(void))
{
    bly_assert(fiber->stack != NULL);
    ucontext_t *context = fiber_context(fiber);
    getcontext(context);
    context->uc_stack.ss_sp = fiber->stack;
    context->uc_stack.ss_size = (size_t)((char *)context - (char *)fiber->stack);
    context->uc_link = NULL;
    makecontext(context, fn, 0);
    fiber->fn = fn;
}

void bly_fiber_switch(bly_fiber *from, bly_fiber *to)
{
    swapcontext(fiber_context(from), fiber_context(to));
}

#endif
