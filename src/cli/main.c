/* main.c: the command `belay`: which subcommand is meant. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "commands.h"
#include "files.h"
#include "say.h"

/* Longer than any "belay NAME". */
enum { SPEAKER_MAX = 40 };

/* --help and --version are commands too, as everywhere. */
static const char *meant(const char *word)
{
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
        return "help";
    }
    return strcmp(word, "--version") == 0 ? "version" : word;
}

int main(int argc, char **argv)
{
    static char speaker[SPEAKER_MAX] = "belay"; /* for all messages, to the end */
    bly_say_as(speaker);
    if (bly_files_occupy_standard() != 0) {
        return bly_say_about("/dev/null", "%s; a closed standard stream needs it", strerror(errno));
    }
    if (argc < 2) {
        return bly_command_help.run(1, argv);
    }
    const struct bly_command *command = bly_commands_find(meant(argv[1]));
    if (command == NULL) {
        return bly_say_about(argv[1], "there is no such command; see `belay help`");
    }
    snprintf(speaker, sizeof speaker, "belay %s", command->name);
    return command->run(argc - 1, argv + 1);
}
