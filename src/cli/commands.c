/* commands.c: see commands.h. */
#include "commands.h"

#include <string.h>

static const struct bly_command *const here[] = {&bly_command_run, &bly_command_with, NULL};

static const struct bly_command *const later[] = {&bly_command_add,
                                                  &bly_command_work,
                                                  &bly_command_wait,
                                                  &bly_command_ls,
                                                  &bly_command_show,
                                                  &bly_command_logs,
                                                  NULL};

static const struct bly_command *const change[] = {
    &bly_command_cancel,  &bly_command_retry, &bly_command_edit,  &bly_command_pause,
    &bly_command_unpause, &bly_command_limit, &bly_command_queue, NULL};

static const struct bly_command *const store[] = {&bly_command_stats, &bly_command_gc, NULL};

static const struct bly_command *const about[] = {&bly_command_help, &bly_command_version,
                                                  &bly_command_completions, NULL};

static const struct bly_command_group groups[] = {
    {"Now", here},          {"Later, whatever happens to this terminal or machine", later},
    {"What waits", change}, {"The store", store},
    {"About belay", about}, {0},
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
