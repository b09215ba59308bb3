/*
 * list_int.h: a list that is being read, for list.c and why.c.
 */
#ifndef BLY_STORE_LIST_INT_H
#define BLY_STORE_LIST_INT_H

#include "store/block_int.h"
#include "store/sqlite_int.h"

typedef struct bly_listing {
    const bly_query *query;
    const bly_job_ref *ref;
    uint32_t flags, max, count;
    bool has_more;
    bly_block block; /* the bly_rows stands at its start */
    size_t rows;     /* offset of the array */
} bly_listing;

void bly_listing_begin(bly_listing *self);

/* bly_why_fill: wants, after and why of the row of that index; bytes as offsets. */
int bly_why_fill(bly_tx *tx, bly_listing *self, uint32_t index);

#endif
