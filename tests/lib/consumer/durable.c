/* Uses durable jobs as somebody else's program would. */
#include <belay/exec.h>
#include <belay/job.h>
#include <stdio.h>

static int say(belay_run *run, void *arg)
{
    (void)run;
    puts(arg);
    return 0;
}

int main(void)
{
    static char word[] = "a durable job ran";
    belay_jobs *jobs;
    belay_exec *pool;
    belay_jobs_added added;
    belay_jobs_ref ref;
    belay_jobs_new job = {0};
    job.size = sizeof job;
    job.work.handler = belay_bytes_text("say");
    if (belay_exec_create(NULL, &pool) != 0 || belay_jobs_open("memory:", NULL, &jobs, NULL) != 0 ||
        belay_jobs_handle(jobs, "say", NULL, say, word) != 0 ||
        belay_jobs_work(jobs, belay_exec_executor(pool), 1, NULL) != 0 ||
        belay_jobs_add(jobs, &job, &added) != 0) {
        return 1;
    }
    ref = belay_jobs_ref_seq(added.seq);
    return belay_jobs_wait(jobs, &ref, BELAY_FOREVER, NULL) != 0 ||
           belay_jobs_close(jobs, BELAY_FOREVER) != 0;
}
