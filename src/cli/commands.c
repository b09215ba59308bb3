/* commands.c: see commands.h. */
#include "commands.h"

#include <string.h>

static const struct bly_command *const here[] = {&bly_command_run, NULL};

static const struct bly_command *const about[] = {&bly_command_help, &bly_command_version,
                                                  &bly_command_completions, NULL};

static const struct bly_command_group groups[] = {
    {"Run commands", here},
    {"About belay", about},
    {0},
};

const struct bly_command_group *bly_commands(void)
{
    return groups;
}

const struct bly_command *bly_commands_find(const char *name)
{
    for (const struct bly_command_group *group = groups; group->commands != NULL; group++) {
        for (size_t i = 0; group->commands[i] != NULL; i++) {
            if (strcmp(group->commands[i]->name, name) == 0) {
                return group->commands[i];
            }
        }
    }
    return NULL;
}
