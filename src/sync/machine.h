/*
 * machine.h: what is asked of the machine once in a while, under the explorer as well.
 */
#ifndef BLY_SYNC_MACHINE_H
#define BLY_SYNC_MACHINE_H

#include <stddef.h>
#include <stdint.h>

/* bly_machine_cpus_allowed: CPUs in the calling thread's affinity mask; 0 when that is unknown. */
uint32_t bly_machine_cpus_allowed(void);

/*
 * bly_machine_read_file: reads a small file from its beginning, at most size - 1 bytes, and ends
 * them with a zero. Returns how many, or BELAY_EIO.
 */
int bly_machine_read_file(const char *path, char *ret_text, size_t size);

#endif
