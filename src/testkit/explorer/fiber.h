/*
 * fiber.h: stacks that the explorer switches between, the threads of an explored program.
 *
 * The switch is a few instructions of assembly on x86-64 and aarch64, and ucontext elsewhere or
 * where BLY_FIBER_UCONTEXT is defined. Only registers that a call preserves are saved: every switch
 * is a function call.
 */
#ifndef BLY_TESTKIT_FIBER_H
#define BLY_TESTKIT_FIBER_H

#include <stdbool.h>
#include <stddef.h>

#if !defined(BLY_FIBER_UCONTEXT) && !defined(__x86_64__) && !defined(__aarch64__)
#define BLY_FIBER_UCONTEXT 1
#endif

#define BLY_FIBER_STACK_SIZE ((size_t)128 * 1024)

typedef struct bly_fiber {
    void *stack;         /* lowest address that may be used; a guard page lies below */
    void *stack_pointer; /* while switched out; a ucontext_t in the portable body */
    void (*fn)(void);
} bly_fiber;

/* bly_fiber_open: gives a fiber its stack; false when there is no memory. */
bool bly_fiber_open(bly_fiber *fiber);

/* bly_fiber_close: takes the stack back. */
void bly_fiber_close(bly_fiber *fiber);

/* bly_fiber_start: forgets what the fiber was doing; its next switch enters fn, which stays. */
void bly_fiber_start(bly_fiber *fiber, void (*fn)(void));

/* bly_fiber_switch: saves the caller in `from` and goes on in `to`. */
void bly_fiber_switch(bly_fiber *from, bly_fiber *to);

/* bly_fiber_has: true when the address lies in the fiber's stack or its guard page. */
bool bly_fiber_has(const bly_fiber *fiber, const void *address);

#endif
