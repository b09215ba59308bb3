/* main.c: the command `belay`: which subcommand is meant. */
#include <errno.h>
#include <string.h>

#include "files.h"
#include "help.h"
#include "run.h"
#include "say.h"

int main(int argc, char **argv)
{
    const char *command = argc > 1 ? argv[1] : "help";
    const char *topic = argc > 2 ? argv[2] : NULL;
    if (bly_files_occupy_standard() != 0) {
        return bly_say_about("/dev/null", "%s; a closed standard stream needs it", strerror(errno));
    }
    if (strcmp(command, "run") == 0) {
        return bly_cli_run(argc - 1, argv + 1);
    }
    bly_say_as("belay");
    if (strcmp(command, "help") == 0 || strcmp(command, "--help") == 0 ||
        strcmp(command, "-h") == 0) {
        return bly_cli_help(topic);
    }
    if (strcmp(command, "version") == 0 || strcmp(command, "--version") == 0) {
        return bly_help_version();
    }
    if (strcmp(command, "completions") == 0) {
        return bly_help_completions(topic);
    }
    return bly_say_about(command, "there is no such command; see `belay help`");
}
