/*
 * belay/job.h: durable jobs (libbelay-jobs).
 *
 * A store keeps jobs until they have ended well, whoever is killed whenever. Programs add jobs and
 * work on them, any number of processes at once; a job is worked on by one of them at a time.
 *
 * Delivery is at least once. A job whose process died runs again (unless it says otherwise), so
 * what it did before may be done twice: let a handler be repeatable, or let what it writes to check
 * the fence (belay_run_fence) [G-JOBS-2].
 *
 * There are two ways to work:
 * - With handlers: belay_jobs_handle gives functions to names, belay_jobs_work lets an executor run
 *   them. One thread of the library claims jobs for it.
 * - Driven by the program's own loop: a session (belay_jobs_session_begin) claims when it is asked
 *   to, and the program starts and ends what it was given. This is for jobs that are processes.
 * Either way a claimed job is a belay_run: from the claim until belay_run_done or belay_run_end.
 *
 * Errors of each call that reaches the store, after those that it lists: BELAY_ENOMEM, BELAY_EFULL
 * (the disk is full), BELAY_EIO (it cannot be read or written), BELAY_ECLOSED. Nothing was changed
 * then; but after an EIO it may not be known whether it was, and belay_jobs_add_many with a key,
 * and what names a run, may be repeated. belay_jobs_problem says what is wrong, in a sentence.
 *
 * Unless a function says otherwise it may be called from any thread and blocks until what it
 * changed is committed; with a store in memory, briefly. No call may be made from a fork of the
 * process, and the process must not fork while a store is open: it would break its locks. Start
 * processes by a helper that was forked before, or by vfork and exec.
 */
#ifndef BELAY_JOB_H
#define BELAY_JOB_H

#include "belay/job_row.h"   /* the values */
#include "belay/job_run.h"   /* working on jobs */
#include "belay/job_store.h" /* the store: adding, control, looking */

#endif
