/*
 * version.c: the version of the library as text. See belay/base.h.
 */
#include "belay/base.h"

#define TEXT(number)                TEXT_OF(number)
#define TEXT_OF(number)             #number
#define DOTTED(major, minor, patch) TEXT(major) "." TEXT(minor) "." TEXT(patch)

const char *belay_version(void)
{
    return DOTTED(BELAY_VERSION_MAJOR, BELAY_VERSION_MINOR, BELAY_VERSION_PATCH);
}
