/*
 * check_int.h: what may be given to a store, whatever is behind it.
 */
#ifndef BLY_STORE_CHECK_INT_H
#define BLY_STORE_CHECK_INT_H

#include "store/store.h"

bool bly_check_bytes(bly_bytes bytes);      /* not longer than BLY_BYTES_MAX */
bool bly_check_name(bly_bytes name);        /* a name or an id, not empty */
bool bly_check_ref(const bly_job_ref *ref); /* a seq or an id */
bool bly_check_new(const bly_new_job *job); /* a job to add */
bool bly_check_wants(const bly_want *wants, uint32_t count);
bool bly_check_edit(const bly_edit *edit);

#endif
