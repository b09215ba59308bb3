/*
 * name.h: names that users give: ids of jobs, names of limits, queues and batches.
 * Context: any; pure.
 */
#ifndef BLY_CLI_NAME_H
#define BLY_CLI_NAME_H

#include <stddef.h>
#include <stdint.h>

/* Bytes of a name. */
enum { BLY_CLI_NAME_MAX = 200 };

/* bly_name_check: NULL when it has 1 to 200 bytes, none of them a control character; or why not. */
const char *bly_name_check(const char *name, size_t len);

/* bly_name_check_id: the same for an id, which is not all digits: those are numbers of jobs. */
const char *bly_name_check_id(const char *name);

/* What a word that names a job is: its number, or its id. */
struct bly_jobname {
    uint64_t seq;   /* 0: it is an id */
    const char *id; /* borrows the word; NULL with a number */
};

/* bly_name_job: NULL and the name, or why the word is neither a number nor an id. */
const char *bly_name_job(const char *word, struct bly_jobname *ret_name);

#endif
