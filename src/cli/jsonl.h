/*
 * jsonl.h: one job from one line of JSON.
 *
 * The line is a string (a shell line), an array of strings (words, executed directly), or an
 * object:
 *   "cmd"       string or array as above; without a command on the command line
 *   "args"      array of strings; for the command of the command line
 *   "in", "at"  not before: a duration (string, or seconds), a moment (string)
 *   "priority"  integer; "tries" integer; "timeout" duration; "limits" array of limit strings
 *   "cwd"       string; "env" object of strings
 * Where a string may stand, {"b64": "…"} is the bytes that it decodes to. Unknown and repeated
 * members are refused.
 * Context: the command's only thread.
 */
#ifndef BLY_CLI_JSONL_H
#define BLY_CLI_JSONL_H

#include "hole.h"
#include "job.h"

/*
 * bly_jsonl_read: fills a job, whose defaults are set, from a line. has_template: the command
 * stands on the command line. 0, or -1 and what is wrong in ret_why.
 */
int bly_jsonl_read(struct bly_slice line, bool has_template, bly_job *job,
                   struct bly_bytes *ret_why);

#endif
