/* tag.h: --tag and --tagstring: what each line of a job's output begins with. Context: pure. */
#ifndef BLY_CLI_TAG_H
#define BLY_CLI_TAG_H

#include "job.h"
#include "runopts.h"

/* bly_tag_open: makes the template of the tags. 0, or BLY_SAY_OWN_ERROR after a message. */
int bly_tag_open(struct bly_template *tag, const struct bly_runopts *opts);

/* bly_tag_make: gives the tag of a job in its slot; NULL when lines have none. For bly_mem_free. */
char *bly_tag_make(const struct bly_template *tag, const bly_job *job);

#endif
