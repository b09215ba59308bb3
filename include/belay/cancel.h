/*
 * belay/cancel.h: cancellation tokens.
 *
 * A token is fired once and stays fired. What was registered with it (a waiting acquire, a child
 * token, a group of tasks) is canceled then; what is started with it later is refused.
 */
#ifndef BELAY_CANCEL_H
#define BELAY_CANCEL_H

#include "belay/base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct belay_cancel belay_cancel;

/* Flags of belay_cancel_create. */
enum {
    BELAY_CANCEL_SHIELD = 1 /* firing the parent does not fire this token */
};

/*
 * belay_cancel_create: a token, below `parent` (NULL: none) in the tree. It is born fired when its
 * parent has fired and it is no shield. Gives one reference; belay_cancel_unref ends it.
 * Errors: BELAY_EINVAL, BELAY_ENOMEM. Context: any thread, never blocks.
 */
BELAY_API int belay_cancel_create(belay_cancel *parent, unsigned flags, belay_cancel **ret_token);

/*
 * belay_cancel_ref, belay_cancel_unref: one reference more, one fewer; the last frees the token.
 * NULL is allowed. ref returns the token. Errors: none. Context: any thread, never blocks.
 */
BELAY_API belay_cancel *belay_cancel_ref(belay_cancel *token);
BELAY_API void belay_cancel_unref(belay_cancel *token);

/*
 * belay_cancel_fire: fires the token and its unshielded descendants [G-BASE-15] [G-BASE-16].
 * Completions that this causes are delivered before it returns, or submitted to their executors.
 * Returns 0 the first time. Errors: BELAY_EINVAL, BELAY_ETOOLATE (fired before).
 * Context: any thread or callback; takes short locks only.
 */
BELAY_API int belay_cancel_fire(belay_cancel *token);

/*
 * belay_cancel_is_fired: true from the moment of the fire on; false for NULL. What the firing
 * thread did before it is visible to who sees true.
 * Errors: none. Context: any thread, never blocks.
 */
BELAY_API bool belay_cancel_is_fired(const belay_cancel *token);

/*
 * belay_cancel_fd: a descriptor that polls readable from the fire on [G-BASE-17]. Made at the first
 * call.
 * Lends it until the last unref. Returns the descriptor. Errors: BELAY_EINVAL, BELAY_EIO.
 * Context: any thread, never blocks.
 */
BELAY_API int belay_cancel_fd(belay_cancel *token);

#ifdef __cplusplus
}
#endif

#endif
