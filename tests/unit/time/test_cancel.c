#include "time/cancel.h"

#include "deliver/deliver.h"
#include "deliver/event.h"
#include "sync/sync.h"
#include "fault.h"
#include "unit.h"

#include <poll.h>

#define TREE_DEPTH  100000
#define RACE_ROUNDS 500

/* A registration that notes when it was called. */
typedef struct probe {
    bly_cancel_reg reg;
    belay_task task;
    int order;
    int delivered;
} probe;

static int calls;

static void note_call(bly_cancel_reg *reg)
{
    bly_container(reg, probe, reg)->order = ++calls;
}

static belay_cancel *new_token(belay_cancel *parent, unsigned flags)
{
    belay_cancel *token = NULL;
    ck_assert_int_eq(belay_cancel_create(parent, flags, &token), 0);
    return token;
}

static bool is_readable(int fd)
{
    struct pollfd polled = {.fd = fd, .events = POLLIN};
    ck_assert_int_ge(poll(&polled, 1, 0), 0);
    return (polled.revents & POLLIN) != 0;
}

START_TEST(create_refuses_bad_arguments)
{
    belay_cancel *token = NULL;
    ck_assert_int_eq(belay_cancel_create(NULL, 0, NULL), BELAY_EINVAL);
    ck_assert_int_eq(belay_cancel_create(NULL, 2, &token), BELAY_EINVAL);
    ck_assert_ptr_null(token);
}
END_TEST

START_TEST(null_is_no_token)
{
    ck_assert_int_eq(belay_cancel_fire(NULL), BELAY_EINVAL);
    ck_assert_int_eq(belay_cancel_fd(NULL), BELAY_EINVAL);
    ck_assert(!belay_cancel_is_fired(NULL));
    ck_assert_ptr_null(belay_cancel_ref(NULL));
    belay_cancel_unref(NULL);
}
END_TEST

START_TEST(fire_works_once)
{
    belay_cancel *token = new_token(NULL, 0);
    ck_assert(!belay_cancel_is_fired(token));
    ck_assert_int_eq(belay_cancel_fire(token), 0);
    ck_assert(belay_cancel_is_fired(token));
    ck_assert_int_eq(belay_cancel_fire(token), BELAY_ETOOLATE);
    belay_cancel_unref(token);
}
END_TEST

START_TEST(fire_calls_registrations_in_order)
{
    belay_cancel *token = new_token(NULL, 0);
    probe first = {0}, second = {0}, third = {0};
    ck_assert_int_eq(bly_cancel_register(token, &first.reg, note_call), 0);
    ck_assert_int_eq(bly_cancel_register(token, &second.reg, note_call), 0);
    ck_assert_int_eq(bly_cancel_register(token, &third.reg, note_call), 0);
    bly_cancel_unregister(&second.reg);
    ck_assert_int_eq(belay_cancel_fire(token), 0);
    ck_assert_int_eq(first.order, 1);
    ck_assert_int_eq(second.order, 0);
    ck_assert_int_eq(third.order, 2);
    bly_cancel_unregister(&first.reg);
    bly_cancel_unregister(&third.reg);
    belay_cancel_unref(token);
}
END_TEST

START_TEST(register_with_a_fired_token_is_refused)
{
    belay_cancel *token = new_token(NULL, 0);
    ck_assert_int_eq(belay_cancel_fire(token), 0);
    probe late = {0};
    ck_assert_int_eq(bly_cancel_register(token, &late.reg, note_call), BELAY_ECANCELED);
    ck_assert_ptr_null(late.reg.token);
    bly_cancel_unregister(&late.reg);
    ck_assert_int_eq(late.order, 0);
    belay_cancel_unref(token);
}
END_TEST

START_TEST(a_registration_holds_a_reference)
{
    belay_cancel *token = new_token(NULL, 0);
    probe holder = {0};
    ck_assert_int_eq(bly_cancel_register(token, &holder.reg, note_call), 0);
    belay_cancel_unref(token);
    ck_assert(!belay_cancel_is_fired(holder.reg.token));
    bly_cancel_unregister(&holder.reg);
}
END_TEST

START_TEST(a_registration_can_be_used_again)
{
    belay_cancel *token = new_token(NULL, 0);
    probe again = {0};
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(bly_cancel_register(token, &again.reg, note_call), 0);
        bly_cancel_unregister(&again.reg);
    }
    ck_assert_int_eq(bly_cancel_register(token, &again.reg, note_call), 0);
    ck_assert_int_eq(belay_cancel_fire(token), 0);
    ck_assert_int_eq(again.order, 1);
    bly_cancel_unregister(&again.reg);
    belay_cancel_unref(token);
}
END_TEST

static void unregister_itself(bly_cancel_reg *reg)
{
    note_call(reg);
    bly_cancel_unregister(reg);
}

START_TEST(unregister_from_its_own_function_returns_at_once)
{
    belay_cancel *token = new_token(NULL, 0);
    probe own = {0};
    ck_assert_int_eq(bly_cancel_register(token, &own.reg, unregister_itself), 0);
    belay_cancel *only_fired = belay_cancel_ref(token);
    belay_cancel_unref(token);
    ck_assert_int_eq(belay_cancel_fire(only_fired), 0);
    ck_assert_int_eq(own.order, 1);
    belay_cancel_unref(only_fired);
}
END_TEST

static void probe_deliver(belay_task *task)
{
    probe *self = bly_container(task, probe, task);
    self->delivered = ++calls;
    bly_cancel_unregister(&self->reg);
}

static void complete(bly_cancel_reg *reg)
{
    note_call(reg);
    probe *self = bly_container(reg, probe, reg);
    self->task.run = probe_deliver;
    bly_deliver_push(&self->task);
    bly_deliver_run();
}

START_TEST(fire_delivers_after_the_last_function_was_called)
{
    belay_cancel *token = new_token(NULL, 0);
    probe first = {0}, second = {0};
    ck_assert_int_eq(bly_cancel_register(token, &first.reg, complete), 0);
    ck_assert_int_eq(bly_cancel_register(token, &second.reg, complete), 0);
    ck_assert_int_eq(belay_cancel_fire(token), 0);
    ck_assert_int_eq(first.order, 1);
    ck_assert_int_eq(second.order, 2);
    ck_assert_int_eq(first.delivered, 3);
    ck_assert_int_eq(second.delivered, 4);
    belay_cancel_unref(token);
}
END_TEST

START_TEST(firing_a_parent_fires_children_and_grandchildren)
{
    belay_cancel *parent = new_token(NULL, 0);
    belay_cancel *child = new_token(parent, 0);
    belay_cancel *grandchild = new_token(child, 0);
    probe seen = {0};
    ck_assert_int_eq(bly_cancel_register(grandchild, &seen.reg, note_call), 0);
    ck_assert_int_eq(belay_cancel_fire(parent), 0);
    ck_assert(belay_cancel_is_fired(child));
    ck_assert(belay_cancel_is_fired(grandchild));
    ck_assert_int_eq(seen.order, 1);
    bly_cancel_unregister(&seen.reg);
    belay_cancel_unref(grandchild);
    belay_cancel_unref(child);
    belay_cancel_unref(parent);
}
END_TEST

START_TEST(firing_a_child_leaves_parent_and_sibling_alone)
{
    belay_cancel *parent = new_token(NULL, 0);
    belay_cancel *child = new_token(parent, 0), *sibling = new_token(parent, 0);
    ck_assert_int_eq(belay_cancel_fire(child), 0);
    ck_assert(!belay_cancel_is_fired(parent));
    ck_assert(!belay_cancel_is_fired(sibling));
    ck_assert_int_eq(belay_cancel_fire(parent), 0);
    ck_assert(belay_cancel_is_fired(sibling));
    belay_cancel_unref(child);
    belay_cancel_unref(sibling);
    belay_cancel_unref(parent);
}
END_TEST

START_TEST(a_shield_stops_the_parent_s_fire)
{
    belay_cancel *parent = new_token(NULL, 0);
    belay_cancel *shield = new_token(parent, BELAY_CANCEL_SHIELD);
    belay_cancel *below = new_token(shield, 0);
    ck_assert_int_eq(belay_cancel_fire(parent), 0);
    ck_assert(!belay_cancel_is_fired(shield));
    ck_assert(!belay_cancel_is_fired(below));
    ck_assert_int_eq(belay_cancel_fire(shield), 0);
    ck_assert(belay_cancel_is_fired(below));
    belay_cancel_unref(below);
    belay_cancel_unref(shield);
    belay_cancel_unref(parent);
}
END_TEST

START_TEST(a_child_of_a_fired_parent_is_born_fired)
{
    belay_cancel *parent = new_token(NULL, 0);
    ck_assert_int_eq(belay_cancel_fire(parent), 0);
    belay_cancel *child = new_token(parent, 0);
    belay_cancel *shield = new_token(parent, BELAY_CANCEL_SHIELD);
    ck_assert(belay_cancel_is_fired(child));
    ck_assert(!belay_cancel_is_fired(shield));
    ck_assert_int_eq(belay_cancel_fire(child), BELAY_ETOOLATE);
    belay_cancel_unref(child);
    belay_cancel_unref(shield);
    belay_cancel_unref(parent);
}
END_TEST

START_TEST(children_may_go_in_any_order_before_the_fire)
{
    belay_cancel *parent = new_token(NULL, 0);
    belay_cancel *child[4];
    for (int i = 0; i < 4; i++) {
        child[i] = new_token(parent, 0);
    }
    belay_cancel_unref(child[1]);
    belay_cancel_unref(child[0]);
    belay_cancel_unref(child[3]);
    ck_assert_int_eq(belay_cancel_fire(parent), 0);
    ck_assert(belay_cancel_is_fired(child[2]));
    belay_cancel_unref(child[2]);
    belay_cancel_unref(parent);
}
END_TEST

START_TEST(a_parent_may_be_given_up_before_its_children)
{
    belay_cancel *parent = new_token(NULL, 0);
    belay_cancel *child = new_token(parent, 0);
    belay_cancel_unref(parent);
    ck_assert_int_eq(belay_cancel_fire(child), 0);
    belay_cancel_unref(child);
}
END_TEST

START_TEST(a_deep_tree_is_fired_and_freed_without_recursion)
{
    belay_cancel *root = new_token(NULL, 0);
    belay_cancel *leaf = belay_cancel_ref(root);
    for (int i = 0; i < TREE_DEPTH; i++) {
        belay_cancel *below = new_token(leaf, 0);
        belay_cancel_unref(leaf);
        leaf = below;
    }
    ck_assert_int_eq(belay_cancel_fire(root), 0);
    ck_assert(belay_cancel_is_fired(leaf));
    belay_cancel_unref(root);
    belay_cancel_unref(leaf);
}
END_TEST

START_TEST(fd_is_readable_from_the_fire_on)
{
    belay_cancel *token = new_token(NULL, 0);
    int fd = belay_cancel_fd(token);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(belay_cancel_fd(token), fd);
    ck_assert(!is_readable(fd));
    ck_assert_int_eq(belay_cancel_fire(token), 0);
    ck_assert(is_readable(fd));
    belay_cancel_unref(token);
}
END_TEST

START_TEST(fd_of_a_fired_token_is_readable_at_once)
{
    belay_cancel *token = new_token(NULL, 0);
    ck_assert_int_eq(belay_cancel_fire(token), 0);
    ck_assert(is_readable(belay_cancel_fd(token)));
    belay_cancel_unref(token);
}
END_TEST

START_TEST(fd_of_a_child_is_readable_when_the_parent_fires)
{
    belay_cancel *parent = new_token(NULL, 0);
    belay_cancel *child = new_token(parent, 0);
    int fd = belay_cancel_fd(child);
    ck_assert_int_eq(belay_cancel_fire(parent), 0);
    ck_assert(is_readable(fd));
    belay_cancel_unref(child);
    belay_cancel_unref(parent);
}
END_TEST

static int no_descriptor(void)
{
    return BELAY_EIO;
}

START_TEST(fd_without_descriptors_is_an_error_and_leaves_the_token)
{
    static const bly_event_table broken = {.create = no_descriptor};
    const bly_event_table *native = bly_events;
    belay_cancel *token = new_token(NULL, 0);
    bly_events = &broken;
    ck_assert_int_eq(belay_cancel_fd(token), BELAY_EIO);
    bly_events = native;
    ck_assert_int_ge(belay_cancel_fd(token), 0);
    belay_cancel_unref(token);
}
END_TEST

/* Two threads that meet at a gate, round after round. */
typedef struct race {
    belay_cancel *token;
    belay_cancel *other;
    probe waiter;
    uint32_t gate; /* atomic: threads that have arrived */
} race;

static void meet(race *self)
{
    (void)bly_fetch_add(&self->gate, 1u, BLY_ACQ_REL);
    while (bly_load(&self->gate, BLY_ACQUIRE) < 2) {
        bly_yield();
    }
}

static void fire_at_the_gate(void *arg)
{
    race *self = arg;
    meet(self);
    (void)belay_cancel_fire(self->token);
}

START_TEST(unregister_races_fire_and_its_function_is_over_when_it_returns)
{
    for (int i = 0; i < RACE_ROUNDS; i++) {
        race round = {.token = new_token(NULL, 0)};
        probe *waiter = calloc(1, sizeof *waiter);
        ck_assert_int_eq(bly_cancel_register(round.token, &waiter->reg, note_call), 0);
        bly_thread thread;
        ck_assert_int_eq(bly_thread_create(&thread, NULL, fire_at_the_gate, &round), 0);
        meet(&round);
        bly_cancel_unregister(&waiter->reg);
        free(waiter);
        bly_thread_join(&thread);
        belay_cancel_unref(round.token);
    }
}
END_TEST

static void unref_child_at_the_gate(void *arg)
{
    race *self = arg;
    meet(self);
    belay_cancel_unref(self->other);
}

START_TEST(the_last_unref_of_a_child_races_its_parent_s_fire)
{
    for (int i = 0; i < RACE_ROUNDS; i++) {
        race round = {.token = new_token(NULL, 0)};
        round.other = new_token(round.token, 0);
        bly_thread thread;
        ck_assert_int_eq(bly_thread_create(&thread, NULL, unref_child_at_the_gate, &round), 0);
        meet(&round);
        ck_assert_int_eq(belay_cancel_fire(round.token), 0);
        belay_cancel_unref(round.token);
        bly_thread_join(&thread);
    }
}
END_TEST

START_TEST(create_without_memory_leaves_the_parent_alone)
{
    belay_cancel *parent = new_token(NULL, 0), *child = NULL;
    fault_alloc_once(1);
    ck_assert_int_eq(belay_cancel_create(parent, 0, &child), BELAY_ENOMEM);
    ck_assert_ptr_null(child);
    belay_cancel_unref(parent);
}
END_TEST

UNIT_MAIN("time/cancel", create_refuses_bad_arguments, null_is_no_token, fire_works_once,
          fire_calls_registrations_in_order, register_with_a_fired_token_is_refused,
          a_registration_holds_a_reference, a_registration_can_be_used_again,
          unregister_from_its_own_function_returns_at_once,
          fire_delivers_after_the_last_function_was_called,
          firing_a_parent_fires_children_and_grandchildren,
          firing_a_child_leaves_parent_and_sibling_alone, a_shield_stops_the_parent_s_fire,
          a_child_of_a_fired_parent_is_born_fired, children_may_go_in_any_order_before_the_fire,
          a_parent_may_be_given_up_before_its_children,
          a_deep_tree_is_fired_and_freed_without_recursion, fd_is_readable_from_the_fire_on,
          fd_of_a_fired_token_is_readable_at_once, fd_of_a_child_is_readable_when_the_parent_fires,
          fd_without_descriptors_is_an_error_and_leaves_the_token,
          unregister_races_fire_and_its_function_is_over_when_it_returns,
          the_last_unref_of_a_child_races_its_parent_s_fire,
          create_without_memory_leaves_the_parent_alone)
