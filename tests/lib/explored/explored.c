/*
 * explored.c: a test of somebody else, under the explorer.
 *
 *     explored right|wrong
 *
 * A table is made and published through an atomic pointer; its users share two permits of a
 * semaphore of belay. "wrong" publishes it by a relaxed store, which shows no fault on most
 * machines.
 */
#include <belay/model.h>
#include <belay/seam.h>
#include <belay/sem.h>

#include <stdio.h>
#include <string.h>

typedef struct table {
    int size;
} table;

static table made;
static table *published; /* atomic: written once by the maker, read by all */
static uint32_t inside;  /* atomic: users of the table now */
static belay_sem *permits;
static int publish_order;

static void make_table(void)
{
    belay_write(&made.size, 7);
    belay_store(&published, &made, publish_order);
}

static void use_table(void *arg)
{
    (void)arg;
    belay_lease lease = BELAY_LEASE_INIT;
    belay_model_check(belay_sem_acquire(permits, &lease, 1, BELAY_FOREVER, NULL) == 0);
    belay_model_check(belay_fetch_add(&inside, 1u, BELAY_ACQ_REL) < 2);
    table *found = belay_load(&published, BELAY_ACQUIRE);
    belay_model_check(found == NULL || belay_read(&found->size) == 7);
    belay_fetch_sub(&inside, 1u, BELAY_ACQ_REL);
    belay_model_check(belay_lease_release(&lease) == 0);
}

static void scenario(void *arg)
{
    (void)arg;
    belay_sem_opts opts = {.size = sizeof opts, .capacity = 2};
    made.size = 0;
    published = NULL;
    inside = 0;
    belay_model_check(belay_sem_create(&opts, &permits) == 0);
    int first = belay_model_start(use_table, NULL);
    int second = belay_model_start(use_table, NULL);
    make_table();
    use_table(NULL);
    belay_model_join(first);
    belay_model_join(second);
    belay_model_check(belay_sem_destroy(permits) == 0);
}

int main(int argc, char **argv)
{
    publish_order = argc > 1 && strcmp(argv[1], "wrong") == 0 ? BELAY_RELAXED : BELAY_RELEASE;
    belay_model_opts opts = {.size = sizeof opts, .preemptions = 1};
    belay_model_result result;
    int error = belay_model_run("table", &opts, &result, scenario, NULL);
    printf("%s: %s\n", belay_err_name(error), result.has_failed ? result.message : "nothing found");
    if (error != BELAY_ECANCELED) {
        return error == 0 && result.is_exhausted ? 0 : 2;
    }
    opts.replay = result.trace;
    opts.is_quiet = 1;
    belay_model_result again;
    error = belay_model_run("table", &opts, &again, scenario, NULL);
    puts(strcmp(again.message, result.message) == 0 ? "replayed" : "not replayed");
    return 1;
}
