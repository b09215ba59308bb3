/*
 * fiber_switch.S: the two functions that fiber.c declares. A switched-out fiber has the registers
 * that its caller expects to keep on top of its stack, and its stack pointer in bly_fiber.
 */
#if defined(__x86_64__)

    .text
    .globl bly_fiber_swap
    .hidden bly_fiber_swap
    .type bly_fiber_swap, @function
bly_fiber_swap:
    pushq %r15
    pushq %r14
    pushq %r13
    pushq %r12
    pushq %rbp
    pushq %rbx
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %rbx
    popq %rbp
    popq %r12
    popq %r13
    popq %r14
    popq %r15
    ret
    .size bly_fiber_swap, . - bly_fiber_swap

    .globl bly_fiber_enter
    .hidden bly_fiber_enter
    .type bly_fiber_enter, @function
bly_fiber_enter:
    callq *%rbx
    ud2
    .size bly_fiber_enter, . - bly_fiber_enter

#elif defined(__aarch64__)

    .text
    .globl bly_fiber_swap
    .hidden bly_fiber_swap
    .type bly_fiber_swap, %function
bly_fiber_swap:
    sub sp, sp, #160
    stp x19, x20, [sp, #0]
    stp x21, x22, [sp, #16]
    stp x23, x24, [sp, #32]
    stp x25, x26, [sp, #48]
    stp x27, x28, [sp, #64]
    stp x29, x30, [sp, #80]
    stp d8, d9, [sp, #96]
    stp d10, d11, [sp, #112]
    stp d12, d13, [sp, #128]
    stp d14, d15, [sp, #144]
    mov x9, sp
    str x9, [x0]
    mov sp, x1
    ldp x19, x20, [sp, #0]
    ldp x21, x22, [sp, #16]
    ldp x23, x24, [sp, #32]
    ldp x25, x26, [sp, #48]
    ldp x27, x28, [sp, #64]
    ldp x29, x30, [sp, #80]
    ldp d8, d9, [sp, #96]
    ldp d10, d11, [sp, #112]
    ldp d12, d13, [sp, #128]
    ldp d14, d15, [sp, #144]
    add sp, sp, #160
    ret
    .size bly_fiber_swap, . - bly_fiber_swap

    .globl bly_fiber_enter
    .hidden bly_fiber_enter
    .type bly_fiber_enter, %function
bly_fiber_enter:
    blr x19
    brk #1
    .size bly_fiber_enter, . - bly_fiber_enter

#endif

    .section .note.GNU-stack, "", %progbits
