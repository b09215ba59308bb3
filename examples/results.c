/*
 * results.c: how belay tells what happened. 0 is success; a positive result is a set of bits, such
 * as BELAY_PENDING; a negative one is an error with a name and a sentence.
 */
#include <belay/base.h>

#include <stdio.h>

int main(void)
{
    const int results[] = {0, BELAY_PENDING, BELAY_EFULL, BELAY_ETIMEDOUT};
    for (size_t i = 0; i < sizeof(results) / sizeof(results[0]); i++) {
        printf("%6d  %-16s %s\n", results[i], belay_err_name(results[i]),
               belay_strerror(results[i]));
    }
    return 0;
}
