/*
 * belay/detail/list.h: the two pointers by which an object stands in a list.
 *
 * Not for users. They are here so that objects in the caller's storage can hold them;
 * src/base/list.h says what is done with them.
 */
#ifndef BELAY_DETAIL_LIST_H
#define BELAY_DETAIL_LIST_H

typedef struct bly_list bly_list;

struct bly_list {
    bly_list *prev, *next; /* both NULL: in no list */
};

#endif
