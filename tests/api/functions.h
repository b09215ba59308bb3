/*
 * functions.h: every function of libbelay, with a call in the world of test_memory.c, what the call
 * gives when there is memory, and whether it allocates. Included with FUNCTION defined.
 *
 *   FUNCTION(name, allocates, result, call)
 *
 * NEVER: it works without memory. ALWAYS: without memory it says so and changes nothing.
 * IF_IT_WAITS: as ALWAYS, when it comes to sleep for the first time on its thread.
 */

/* Results, times, clocks. */
FUNCTION(belay_version, NEVER, 0, belay_version() == NULL)
FUNCTION(belay_strerror, NEVER, 0, belay_strerror(BELAY_ENOMEM) == NULL)
FUNCTION(belay_err_name, NEVER, 0, belay_err_name(BELAY_ENOMEM) == NULL)
FUNCTION(belay_time_add, NEVER, 0, belay_time_add(1, 2) != 3)
FUNCTION(belay_clock_system, NEVER, 0, belay_clock_system() == NULL)
FUNCTION(belay_clock_now, NEVER, 0, belay_clock_now(NULL) < 0)
FUNCTION(belay_clock_wall, NEVER, 0, belay_clock_wall(NULL) < 0)

/* Timers, tokens, tasks, mailbox. */
FUNCTION(belay_timers_create, ALWAYS, 0, belay_timers_create(NULL, &w->made.timers))
FUNCTION(belay_timers_poll, NEVER, 0, belay_timers_poll(w->timers, 1))
FUNCTION(belay_timers_next_deadline, NEVER, 0,
         belay_timers_next_deadline(w->timers) != BELAY_FOREVER)
FUNCTION(belay_timers_stats, NEVER, 0,
         belay_timers_stats(w->timers,
                            &(belay_timers_metrics){.size = sizeof(belay_timers_metrics)}))
FUNCTION(belay_timers_destroy, NEVER, 0, gone(belay_timers_destroy(w->timers), &w->timers))
FUNCTION(belay_cancel_create, ALWAYS, 0, belay_cancel_create(w->token, 0, &w->made.token))
FUNCTION(belay_cancel_ref, NEVER, 0, belay_cancel_ref(NULL) != NULL)
FUNCTION(belay_cancel_unref, NEVER, 0, (belay_cancel_unref(NULL), 0))
FUNCTION(belay_cancel_fd, NEVER, 0, belay_cancel_fd(w->token) < 0)
FUNCTION(belay_cancel_is_fired, NEVER, 0, belay_cancel_is_fired(w->token))
FUNCTION(belay_cancel_fire, NEVER, 0, belay_cancel_fire(w->token))
FUNCTION(belay_inline, NEVER, 0, belay_inline() == NULL)
FUNCTION(belay_executor_submit, NEVER, 0, belay_executor_submit(belay_inline(), &w->task, 0))
FUNCTION(belay_mailbox_create, ALWAYS, 0, belay_mailbox_create(NULL, &w->made.mailbox))
FUNCTION(belay_mailbox_executor, NEVER, 0, belay_mailbox_executor(w->mailbox) == NULL)
FUNCTION(belay_mailbox_fd, NEVER, 0, belay_mailbox_fd(w->mailbox) < 0)
FUNCTION(belay_mailbox_run, NEVER, 0, belay_mailbox_run(w->mailbox, 0))
FUNCTION(belay_mailbox_destroy, NEVER, 0, gone(belay_mailbox_destroy(w->mailbox), &w->mailbox))

/* The semaphore: of two permits, one held. */
FUNCTION(belay_sem_create, ALWAYS, 0, belay_sem_create(&one_permit, &w->made.sem))
FUNCTION(belay_sem_acquire, IF_IT_WAITS, BELAY_ETIMEDOUT,
         belay_sem_acquire(w->sem, &w->lease, 2, soon(), NULL))
FUNCTION(belay_sem_acquire_async, NEVER, BELAY_PENDING,
         belay_sem_acquire_async(w->sem, &w->lease, 2, BELAY_FOREVER, w->token, on_lease, NULL))
FUNCTION(belay_sem_with, IF_IT_WAITS, BELAY_ETIMEDOUT,
         belay_sem_with(w->sem, 2, soon(), NULL, no_call, NULL))
FUNCTION(belay_sem_resize, NEVER, 0, belay_sem_resize(w->sem, 3))
FUNCTION(belay_sem_close, NEVER, 0, belay_sem_close(w->sem))
FUNCTION(belay_sem_await_idle, IF_IT_WAITS, BELAY_ETIMEDOUT, belay_sem_await_idle(w->sem, soon()))
FUNCTION(belay_sem_stats, NEVER, 0,
         belay_sem_stats(w->sem, &(belay_sem_metrics){.size = sizeof(belay_sem_metrics)}))
FUNCTION(belay_sem_holders, NEVER, 1,
         belay_sem_holders(w->sem, &(belay_sem_holder){.permits = 0}, 1))
FUNCTION(belay_sem_destroy, NEVER, BELAY_EBUSY, belay_sem_destroy(w->sem))
FUNCTION(belay_lease_release, NEVER, 0, belay_lease_release(&w->held))
FUNCTION(belay_lease_cancel, NEVER, BELAY_ETOOLATE, belay_lease_cancel(&w->held))
FUNCTION(belay_lease_move, NEVER, 0, move_there_and_back(w))

/* The pool: of one worker. */
FUNCTION(belay_exec_create, ALWAYS, 0, belay_exec_create(&one_worker, &w->made.exec))
FUNCTION(belay_exec_executor, NEVER, 0, belay_exec_executor(w->exec) == NULL)
FUNCTION(belay_exec_current, NEVER, 0, belay_exec_current() != NULL)
FUNCTION(belay_exec_submit, NEVER, 0, belay_exec_submit(w->exec, &w->task))
FUNCTION(belay_exec_call, ALWAYS, 0,
         belay_exec_call(w->exec, no_call, NULL, NULL, NULL, &w->made.future))
FUNCTION(belay_exec_stats, NEVER, 0,
         belay_exec_stats(w->exec, &(belay_exec_stats_data){.size = sizeof(belay_exec_stats_data)}))
FUNCTION(belay_exec_worker_stats, NEVER, 0, worker_stats(w->exec))
FUNCTION(belay_exec_shutdown, NEVER, 0, belay_exec_shutdown(w->exec))
FUNCTION(belay_exec_shutdown_now, NEVER, 0, belay_exec_shutdown_now(w->exec))
FUNCTION(belay_exec_await_termination, NEVER, BELAY_ETIMEDOUT,
         belay_exec_await_termination(w->exec, soon()))
FUNCTION(belay_exec_destroy, NEVER, BELAY_EBUSY, belay_exec_destroy(w->exec))
FUNCTION(belay_future_ref, NEVER, 0, belay_future_ref(NULL) != NULL)
FUNCTION(belay_future_unref, NEVER, 0, (belay_future_unref(NULL), 0))
FUNCTION(belay_future_wait, NEVER, BELAY_ETIMEDOUT, belay_future_wait(w->future, soon(), NULL))
FUNCTION(belay_future_then, NEVER, 0, belay_future_then(w->future, belay_inline(), on_future, NULL))
FUNCTION(belay_future_cancel, NEVER, BELAY_ETOOLATE, belay_future_cancel(w->future))
FUNCTION(belay_group_create, ALWAYS, 0, belay_group_create(w->exec, NULL, 0, &w->made.group))
FUNCTION(belay_group_spawn, ALWAYS, 0, belay_group_spawn(w->group, no_call, NULL, NULL))
FUNCTION(belay_group_token, NEVER, 0, belay_group_token(w->group) == NULL)
FUNCTION(belay_group_cancel, NEVER, 0, belay_group_cancel(w->group))
FUNCTION(belay_group_wait, ALWAYS, 0, cancel_and_wait(w->group))
FUNCTION(belay_group_destroy, NEVER, 0, gone(belay_group_destroy(w->group), &w->group))

/* The scheduler: driven by hand, a job claimed, one due and one for later. */
FUNCTION(belay_sched_create, ALWAYS, 0, belay_sched_create(NULL, &w->made.sched))
FUNCTION(belay_sched_schedule, ALWAYS, 0, schedule(w->sched, BELAY_ID(9), BELAY_FOREVER - 1))
FUNCTION(belay_sched_cancel, NEVER, 0, belay_sched_cancel(w->sched, BELAY_ID(LATER)))
FUNCTION(belay_sched_cancel_handle, NEVER, 0, belay_sched_cancel_handle(w->sched, w->handle))
FUNCTION(belay_sched_query, NEVER, 0,
         belay_sched_query(w->sched, BELAY_ID(LATER),
                           &(belay_job_info){.size = sizeof(belay_job_info)}))
FUNCTION(belay_sched_next, ALWAYS, 0, belay_sched_next(w->sched, BELAY_NOW, &w->made.claim, NULL))
FUNCTION(belay_sched_start, ALWAYS, 0, belay_sched_start(w->idle_sched, belay_inline(), 1))
FUNCTION(belay_sched_resize, NEVER, BELAY_EBUSY, belay_sched_resize(w->sched, 2))
FUNCTION(belay_sched_stats, NEVER, 0,
         belay_sched_stats(w->sched, &(belay_sched_metrics){.size = sizeof(belay_sched_metrics)}))
FUNCTION(belay_sched_close, NEVER, 0, belay_sched_close(w->sched, BELAY_CLOSE_DISCARD))
FUNCTION(belay_sched_await, NEVER, BELAY_ETIMEDOUT, belay_sched_await(w->sched, soon()))
FUNCTION(belay_sched_destroy, NEVER, BELAY_EBUSY, belay_sched_destroy(w->sched))
FUNCTION(belay_claim_token, ALWAYS, 0, token_of(w->claim))
FUNCTION(belay_claim_info, NEVER, 0,
         belay_claim_info(w->claim, &(belay_claim_details){.size = sizeof(belay_claim_details)}))
FUNCTION(belay_claim_is_canceled, NEVER, 0, belay_claim_is_canceled(w->claim))
FUNCTION(belay_claim_ref, NEVER, 0, refer_twice(w->claim))
FUNCTION(belay_claim_unref, NEVER, 0, (belay_claim_unref(belay_claim_ref(w->claim)), 0))
FUNCTION(belay_claim_run, NEVER, 0, gone(belay_claim_run(w->claim), &w->claim))
FUNCTION(belay_claim_done, NEVER, 0, gone(belay_claim_done(w->claim, 0), &w->claim))
FUNCTION(belay_every, NEVER, 0, belay_every(&period_ns, 5, 5) != 5 + period_ns)
FUNCTION(belay_after_each, NEVER, 0, belay_after_each(&period_ns, 5, 7) != 7 + period_ns)
