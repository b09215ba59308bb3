/*
 * recipe_int.h: from the strings of a spawn frame to what execve wants: argv, the environment with
 * its additions, and the files to try. The keeper's; memory is used again for the next spawn.
 */
#ifndef BLY_PROC_RECIPE_INT_H
#define BLY_PROC_RECIPE_INT_H

#include "proc/child_int.h"
#include "proc/wire_int.h"

#define BLY_RECIPE_SEEN      8u   /* commands whose place in PATH is remembered */
#define BLY_RECIPE_SEEN_NAME 32u  /* longer names are looked up each time */
#define BLY_RECIPE_SEEN_PATH 128u /* so are those in folders with longer names */

/* A command found in the PATH of the base environment before. */
typedef struct bly_recipe_seen {
    char name[BLY_RECIPE_SEEN_NAME]; /* "": none */
    char path[BLY_RECIPE_SEEN_PATH];
} bly_recipe_seen;

typedef struct bly_recipe {
    char *const *base; /* the environment of specs without one of their own; constant */
    uint32_t base_count;
    const char *base_path; /* PATH of base */
    bly_buf words;         /* argv and environment of the spawn being made */
    bly_buf paths;         /* the files it tries */
    bly_buf text;          /* their names, where they come from PATH */
    const char *name;      /* its command */
    bool can_learn;        /* it is looked up in base_path */
    uint32_t seen_next;    /* the one to forget next */
    bly_recipe_seen seen[BLY_RECIPE_SEEN];
} bly_recipe;

/* bly_recipe_init: over an environment that is borrowed until bly_recipe_free. */
void bly_recipe_init(bly_recipe *recipe, char *const *base);
void bly_recipe_free(bly_recipe *recipe);

/*
 * bly_recipe_read: fills paths, argv, envp, cwd and umask of child from a frame, which must live as
 * long as they are used, as must the recipe. Errors: BELAY_ENOMEM.
 */
int bly_recipe_read(bly_recipe *recipe, const bly_wire_spawn *spawn, bly_child *child);

/* bly_recipe_learn: the child started; remembers which file it was. */
void bly_recipe_learn(bly_recipe *recipe, const bly_child *child);

#endif
