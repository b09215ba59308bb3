/*
 * thread_native.c: threads and their slots on pthread.
 *
 * The end of a thread made here is noticed by a cleanup handler, that of any other thread by the
 * destructor of one pthread key, which is set when the thread first sets a slot. Both call the
 * slots' functions lowest first. A function may set slots again, its own included; the key is set
 * anew then, and pthread calls the destructor again, a bounded number of times
 * (PTHREAD_DESTRUCTOR_ITERATIONS). Where the system has no key or no memory left for it, the end of
 * such a thread goes unnoticed: what its slots hold is not reused, and nothing else is lost.
 */
#include "sync/sync.h"

#include <limits.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

_Thread_local bly_native_thread bly_native_self;

static uint64_t last_id;                                /* atomic: counted up by each new thread */
static void (*exit_functions[BLY_LOCAL_COUNT])(void *); /* atomic: set once, read at thread ends */
static pthread_key_t exit_key;                          /* constant after exit_once */
static bool exit_key_exists;                            /* constant after exit_once */
static bly_once exit_once;

uint64_t bly_native_thread_new_id(void)
{
    /* relaxed: only the number matters. */
    bly_native_self.id = bly_fetch_add(&last_id, UINT64_C(1), BLY_RELAXED) + 1;
    return bly_native_self.id;
}

static void leave_thread(void *unused)
{
    (void)unused;
    bly_native_self.has_exit = false;
    for (int slot = 0; slot < BLY_LOCAL_COUNT; slot++) {
        void *value = bly_native_self.local[slot];
        /* acquire, with the release of bly_local_at_exit. */
        void (*fn)(void *) = bly_load(&exit_functions[slot], BLY_ACQUIRE);
        if (value != NULL && fn != NULL) {
            bly_native_self.local[slot] = NULL;
            fn(value);
        }
    }
}

static void make_exit_key(void)
{
    exit_key_exists = pthread_key_create(&exit_key, leave_thread) == 0;
}

void bly_native_thread_watch(void)
{
    bly_once_run(&exit_once, make_exit_key);
    bly_native_self.has_exit =
        exit_key_exists && pthread_setspecific(exit_key, &bly_native_self) == 0;
}

void bly_local_at_exit(bly_local slot, void (*fn)(void *))
{
    bly_assert(slot < BLY_LOCAL_COUNT && fn != NULL);
    /* release, with the acquire of leave_thread. */
    void (*old)(void *) = bly_exchange(&exit_functions[slot], fn, BLY_ACQ_REL);
    bly_assert(old == NULL || old == fn);
}

static void *run_thread(void *arg)
{
    bly_thread *thread = arg;
    if (thread->name[0] != '\0') {
        (void)pthread_setname_np(pthread_self(), thread->name);
    }
    pthread_cleanup_push(leave_thread, NULL);
    thread->fn(thread->arg);
    pthread_cleanup_pop(1);
    return NULL;
}

/* A stack of at least the system's least, in whole pages. */
static size_t stack_size(size_t wanted)
{
    size_t least = (size_t)sysconf(_SC_THREAD_STACK_MIN);
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t size = wanted < least ? least : wanted;
    return (size + page - 1) / page * page;
}

/* Creates with every signal blocked, so that handlers run on the program's own threads only. */
static int create_masked(bly_thread *thread, const pthread_attr_t *attr)
{
    sigset_t all, old;
    sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &old);
    int failed = pthread_create(&thread->native, attr, run_thread, thread);
    (void)pthread_sigmask(SIG_SETMASK, &old, NULL);
    return failed == 0 ? 0 : BELAY_EAGAIN;
}

int bly_thread_create(bly_thread *thread, const bly_thread_opts *opts, void (*fn)(void *),
                      void *arg)
{
    bly_assert(fn != NULL);
    *thread = (bly_thread){.fn = fn, .arg = arg};
    if (opts != NULL && opts->name != NULL) {
        (void)strncpy(thread->name, opts->name, sizeof thread->name - 1);
    }
    pthread_attr_t attr;
    if (pthread_attr_init(&attr) != 0) {
        return BELAY_EAGAIN;
    }
    int result = 0;
    if (opts != NULL && opts->stack_size != 0 &&
        pthread_attr_setstacksize(&attr, stack_size(opts->stack_size)) != 0) {
        result = BELAY_EAGAIN;
    }
    if (result == 0) {
        result = create_masked(thread, &attr);
    }
    (void)pthread_attr_destroy(&attr);
    return result;
}

void bly_thread_join(bly_thread *thread)
{
    int failed = pthread_join(thread->native, NULL);
    bly_assert(failed == 0);
}

void bly_thread_detach(bly_thread *thread)
{
    int failed = pthread_detach(thread->native);
    bly_assert(failed == 0);
}

void bly_thread_slack_least(void)
{
    /* 1 ns; 0 would be the default of 50 us. It cannot fail, and waits would only end later. */
    (void)prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
}
