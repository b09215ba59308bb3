/*
 * pool.h: a pool of connections for a server with one thread. Borrowers wait in line, each until
 * its deadline; a connection is opened when it is first needed and kept for the next one.
 */
#ifndef EXAMPLE_POOL_H
#define EXAMPLE_POOL_H

#include <belay/sem.h>

#define POOL_SIZE_MAX 64

typedef struct pool pool;
typedef struct loan loan;

/* A loan has ended its wait: 0 = it has a connection, else why it has none. */
typedef void loan_fn(loan *self, int result, void *arg);

/* The borrower's storage, all zero before its first use. */
struct loan {
    belay_lease lease;
    pool *from;
    int connection;
    loan_fn *fn;
    void *arg;
};

typedef struct pool_opts {
    uint32_t size;     /* connections, at most POOL_SIZE_MAX */
    int (*open)(void); /* gives a connection, a number from 0, or an error */
    void (*close)(int connection);
    belay_executor *executor; /* runs the loans' functions */
    belay_clock *clock;       /* NULL: the system's */
} pool_opts;

int pool_create(const pool_opts *opts, pool **ret_pool);

/*
 * Borrows a connection. 0: the loan has it now. BELAY_PENDING: fn is called later, once. Else: an
 * error, such as BELAY_ETIMEDOUT.
 */
int pool_borrow(pool *self, loan *to, int64_t deadline_ns, loan_fn *fn, void *arg);

/* Takes the connection back, for the one who waits longest. */
void pool_return(loan *from);

/* Closes the connections. BELAY_EBUSY: some are borrowed, or waited for. */
int pool_destroy(pool *self);

#endif
