/* consumer.c: a program of somebody else; says which library it runs with. */
#include <belay/base.h>

#include <stdio.h>

int main(void)
{
    printf("belay %s: %s\n", belay_version(), belay_err_name(BELAY_ECLOSED));
    return 0;
}
