/* startwork.c: see startwork.h. */
#include "startwork.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "jobtext.h"
#include "say.h"

static bool takes(const belay_jobs_session_row *session, const char *queue)
{
    struct bly_words queues = {0};
    bool is_it = false;
    bly_jobtext_words(&queues, session->queues);
    for (size_t i = 0; i < queues.count; i++) {
        is_it = is_it || strcmp(bly_words_at(&queues, i), queue) == 0;
    }
    bly_words_free(&queues);
    return is_it;
}

bool bly_startwork_is_there(belay_jobs *jobs, const char *queue)
{
    belay_jobs_table *table = NULL;
    bool is_there = false;
    if (belay_jobs_list_table(jobs, BELAY_JOBS_SESSIONS, &table) != 0) {
        return true; /* what is not known is not said */
    }
    for (uint32_t i = 0; i < table->count; i++) {
        is_there =
            is_there || takes(&table->of.session[i], queue != NULL ? queue : BLY_STARTWORK_QUEUE);
    }
    belay_jobs_table_free(table);
    return is_there;
}

/* In the child: the worker, cut off from the terminal and from who started it. */
__attribute__((noreturn)) static void become_worker(const char *store, const char *queue)
{
    char *const argv[] = {(char[]){"belay"},
                          (char[]){"work"},
                          (char[]){"--until-idle"},
                          (char[]){"--queue"},
                          (char *)queue,
                          store != NULL ? (char[]){"--store"} : NULL,
                          (char *)store,
                          NULL};
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    setsid();
    if (null >= 0) {
        dup2(null, STDIN_FILENO);
        dup2(null, STDOUT_FILENO);
        dup2(null, STDERR_FILENO);
    }
    execv("/proc/self/exe", argv);
    _exit(BLY_SAY_OWN_ERROR);
}

int bly_startwork(const char *store, const char *queue)
{
    pid_t child = fork();
    if (child == 0) {
        become_worker(store, queue);
    }
    if (child < 0) {
        return bly_say_about("belay work", "it cannot be started: %s", strerror(errno));
    }
    return 0;
}
