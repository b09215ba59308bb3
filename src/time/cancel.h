/*
 * cancel.h: registering with a token. See belay/cancel.h.
 *
 * A registration lives in the waiter's own storage and holds a reference of its token. Its function
 * is the library's: it takes one object's lock and queues a completion, no more.
 */
#ifndef BLY_TIME_CANCEL_H
#define BLY_TIME_CANCEL_H

#include "belay/cancel.h"
#include "belay/detail/cancel_reg.h"

/*
 * bly_cancel_register: fn(reg) will be called when the token fires. 0, or BELAY_ECANCELED when it
 * has fired already: then nothing is registered. Each success is ended by one unregister, whether
 * fn was called or not. fn may push completions: they are delivered when all functions of the fire
 * have been called. Context: no lock of an object is held.
 */
int bly_cancel_register(belay_cancel *token, bly_cancel_reg *reg, void (*fn)(bly_cancel_reg *));

/*
 * bly_cancel_unregister: fn will not be called after this returned, and does not run on another
 * thread; called from fn itself it returns at once. A registration that is not registered is
 * ignored. Context: no lock of an object is held, since fn may be waiting for it.
 */
void bly_cancel_unregister(bly_cancel_reg *reg);

#endif
