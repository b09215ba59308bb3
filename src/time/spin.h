/*
 * spin.h: looking for a while before sleeping, where another CPU may bring the end.
 *
 * A thread that is woken from its sleep begins 20 to 30 us after the wake; one that looks sees the
 * end within a tenth of one. So who expects the end soon looks for BLY_SPIN_NS first, about as long
 * as a sleep and a wake keep the two CPUs busy. That helps only while the other thread runs: of n
 * CPUs at most n - 1 are looked from at one time, by the threads of this process.
 *
 *     if (bly_spin_begin(&spin, BLY_SPIN_NS)) {
 *         while (not ended && bly_spin_go_on(&spin)) {
 *         }
 *         bly_spin_end();
 *     }
 */
#ifndef BLY_TIME_SPIN_H
#define BLY_TIME_SPIN_H

#include <stdbool.h>
#include <stdint.h>

typedef struct bly_spin {
    uint32_t turns;
    int64_t limit_ns;
    int64_t end_ns; /* on the machine's clock; 0 before it was read */
} bly_spin;

/* bly_spin_prepare: finds out how many CPUs there are, once. Reads files; no lock is held. */
void bly_spin_prepare(void);

/*
 * bly_spin_begin: whether the calling thread may spin, for limit_ns; then bly_spin_end gives its
 * place back. 0: it may not.
 */
bool bly_spin_begin(bly_spin *spin, int64_t limit_ns);
void bly_spin_end(void);

/* bly_spin_go_on: a short pause; false when it is time to sleep. */
bool bly_spin_go_on(bly_spin *spin);

/* bly_spin_set_cpus: as if there were so many CPUs; for tests. Returns how many there were. */
uint32_t bly_spin_set_cpus(uint32_t count);

#endif
