/*
 * belay/detail/cancel_reg.h: a registration with a token, as it stands inside a caller's storage.
 *
 * Not for users. It is here so that a lease can hold one; src/time/cancel.h says what it does.
 */
#ifndef BELAY_DETAIL_CANCEL_REG_H
#define BELAY_DETAIL_CANCEL_REG_H

#include "belay/detail/list.h"

struct belay_cancel;

typedef struct bly_cancel_reg bly_cancel_reg;

struct bly_cancel_reg {
    bly_list link;                /* the token's lock */
    struct belay_cancel *token;   /* NULL while not registered; the owner's thread */
    void (*fn)(bly_cancel_reg *); /* called once, under no lock, when the token fires */
};

#endif
