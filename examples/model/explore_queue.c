/*
 * explore_queue.c: the queue of queue.h under every schedule with at most three preemptions.
 * `./dev build model` makes it as build/model/bin/explore_queue.
 */
#include "queue.h"

#include <belay/model.h>
#include <stdio.h>

static queue shared;
static node stub, nodes[3];

static void produce_one(void *arg)
{
    node *mine = arg;
    belay_write(&mine->value, (int)(mine - nodes) + 1);
    queue_push(&shared, mine);
}

static void produce_two(void *arg)
{
    (void)arg;
    produce_one(&nodes[1]);
    produce_one(&nodes[2]);
}

static void scenario(void *arg)
{
    (void)arg;
    queue_init(&shared, &stub);
    int first = belay_model_start(produce_one, &nodes[0]);
    int second = belay_model_start(produce_two, NULL);
    int seen = 0, last_of_second = 0;
    for (int count = 0; count < 3;) {
        int value = 0;
        if (!queue_pop(&shared, &value)) {
            belay_spin();
            continue;
        }
        belay_model_check((seen & 1 << value) == 0);             /* once */
        belay_model_check(value == 1 || value > last_of_second); /* in each producer's order */
        last_of_second = value == 1 ? last_of_second : value;
        seen |= 1 << value;
        count++;
    }
    belay_model_join(first);
    belay_model_join(second);
}

int main(void)
{
    belay_model_opts opts = {.size = sizeof opts, .preemptions = 3, .stale_reads = 2};
    belay_model_result result;
    int error = belay_model_run("queue", &opts, &result, scenario, NULL);
    printf("%llu executions%s\n", (unsigned long long)result.executions,
           result.is_exhausted ? ", which are all" : "");
    return error == 0 && result.is_exhausted ? 0 : 1;
}
