/*
 * group.h: a group whose members are the calls of call.h.
 */
#ifndef BELAY_TESTS_EXEC_GROUP_H
#define BELAY_TESTS_EXEC_GROUP_H

#include "call.h"

static inline belay_group *group_below(belay_exec *exec, belay_cancel *parent, unsigned flags)
{
    belay_group *group = NULL;
    ck_assert_int_eq(belay_group_create(exec, parent, flags, &group), 0);
    ck_assert_ptr_nonnull(group);
    return group;
}

static inline void spawn(belay_group *group, call *self)
{
    ck_assert_int_eq(belay_group_spawn(group, call_run, self, call_drop), 0);
}

static inline int status_of(belay_group *group)
{
    int status = 77;
    ck_assert_int_eq(belay_group_wait(group, BELAY_FOREVER, &status), 0);
    return status;
}

#endif
