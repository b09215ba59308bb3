/*
 * completions.c: `belay completions`: scripts for bash, zsh and fish, made from the tables of
 * commands and options. Nothing in them calls belay.
 */
#include <string.h>

#include "commands.h"
#include "help.h"
#include "say.h"

static void each_command(struct bly_bytes *to,
                         void (*add)(struct bly_bytes *to, const struct bly_command *command))
{
    for (const struct bly_command_group *group = bly_commands(); group->commands != NULL; group++) {
        for (size_t i = 0; group->commands[i] != NULL; i++) {
            add(to, group->commands[i]);
        }
    }
}

static void add_name(struct bly_bytes *to, const struct bly_command *command)
{
    bly_bytes_print(to, "%s%s", to->len > 0 ? " " : "", command->name);
}

/* What completes the operands of a command. */
static const char *words_of(const struct bly_command *command, const char *a_command,
                            const char *topics, const char *shells)
{
    switch (command->operands) {
    case BLY_OPERANDS_COMMAND:
        return a_command;
    case BLY_OPERANDS_TOPIC:
        return topics;
    case BLY_OPERANDS_SHELL:
        return shells;
    case BLY_OPERANDS_NONE:
    case BLY_OPERANDS_WORDS:
        break;
    }
    return NULL;
}

/*
 * bash
 */

static void add_bash(struct bly_bytes *to, const struct bly_command *command)
{
    struct bly_bytes names = {0};
    struct bly_bytes valued = {0};
    if (command->options != NULL) {
        bly_options_names(command->options, &names, false);
        bly_options_names(command->options, &valued, true);
    }
    const char *words = words_of(command, "-c -f", "-W \"$commands\"", "-W 'bash zsh fish'");
    bly_bytes_print(to, "    %s)\n        options='%s'\n        valued='%s'\n", command->name,
                    bly_bytes_c(&names), bly_bytes_c(&valued));
    if (words != NULL) {
        bly_bytes_print(to, "        words=(%s)\n", words);
    }
    bly_bytes_text(to, "        ;;\n");
    bly_bytes_free(&names);
    bly_bytes_free(&valued);
}

static void make_bash(struct bly_bytes *to)
{
    struct bly_bytes names = {0};
    each_command(&names, add_name);
    bly_bytes_print(to,
                    "_belay() {\n"
                    "    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}\n"
                    "    local commands='%s' options='' valued=''\n"
                    "    local -a words=()\n"
                    "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
                    "        COMPREPLY=($(compgen -W \"$commands\" -- \"$word\"))\n"
                    "        return\n"
                    "    fi\n"
                    "    case ${COMP_WORDS[1]} in\n",
                    bly_bytes_c(&names));
    each_command(to, add_bash);
    bly_bytes_text(to, "    esac\n"
                       "    case \" $valued \" in\n"
                       "    *\" $before \"*) COMPREPLY=($(compgen -f -- \"$word\")); return ;;\n"
                       "    esac\n"
                       "    case $word in\n"
                       "    -*) COMPREPLY=($(compgen -W \"$options\" -- \"$word\")) ;;\n"
                       "    *) [ ${#words[@]} -eq 0 ] ||\n"
                       "        COMPREPLY=($(compgen \"${words[@]}\" -- \"$word\")) ;;\n"
                       "    esac\n"
                       "}\n"
                       "complete -o filenames -F _belay belay\n");
    bly_bytes_free(&names);
}

/*
 * zsh
 */

/* In single quotes, where brackets, colons and backslashes of a specification are escaped. */
static void add_zsh_text(struct bly_bytes *to, const char *text)
{
    for (; *text != '\0'; text++) {
        if (*text == '\'') {
            bly_bytes_text(to, "'\\''");
            continue;
        }
        if (strchr("[]:\\", *text) != NULL) {
            bly_bytes_byte(to, '\\');
        }
        bly_bytes_byte(to, *text);
    }
}

static void add_zsh_option(struct bly_bytes *to, const struct bly_option *option,
                           const char *dashes, const char *name)
{
    bly_bytes_print(to, "            '*%s%s[", dashes, name);
    add_zsh_text(to, option->help);
    bly_bytes_byte(to, ']');
    if (option->arg != NULL) {
        bly_bytes_byte(to, ':');
        add_zsh_text(to, option->arg);
        bly_bytes_text(to, ":_files");
    }
    bly_bytes_text(to, "'\n");
}

static void add_zsh(struct bly_bytes *to, const struct bly_command *command)
{
    bly_bytes_print(to, "    %s)\n        specs=(\n", command->name);
    const struct bly_options *options = command->options != NULL ? command->options : NULL;
    for (size_t i = 0; options != NULL && i < options->count; i++) {
        const struct bly_option *option = &options->table[i];
        if (bly_option_is_listed(option) && option->name != NULL) {
            add_zsh_option(to, option, "--", option->name);
        }
        if (bly_option_is_listed(option) && option->letter != 0) {
            add_zsh_option(to, option, "-", (char[]){option->letter, '\0'});
        }
    }
    const char *words = words_of(command, "'*:::command:_normal'", "'1:command:_belay_commands'",
                                 "'1:shell:(bash zsh fish)'");
    if (words != NULL) {
        bly_bytes_print(to, "            %s\n", words);
    }
    bly_bytes_text(to, "        )\n        ;;\n");
}

static void add_zsh_name(struct bly_bytes *to, const struct bly_command *command)
{
    bly_bytes_print(to, "        '%s:", command->name);
    add_zsh_text(to, command->summary);
    bly_bytes_text(to, "'\n");
}

static void make_zsh(struct bly_bytes *to)
{
    bly_bytes_text(to, "#compdef belay\n"
                       "_belay_commands() {\n"
                       "    local -a commands=(\n");
    each_command(to, add_zsh_name);
    bly_bytes_text(to, "    )\n"
                       "    _describe command commands\n"
                       "}\n"
                       "_belay() {\n"
                       "    if (( CURRENT == 2 )); then\n"
                       "        _belay_commands\n"
                       "        return\n"
                       "    fi\n"
                       "    local -a specs=()\n"
                       "    case $words[2] in\n");
    each_command(to, add_zsh);
    bly_bytes_text(to, "    esac\n"
                       "    (( ${#specs} )) || return\n"
                       "    shift words\n"
                       "    (( CURRENT-- ))\n"
                       "    _arguments -S -s $specs\n"
                       "}\n"
                       "compdef _belay belay\n");
}

/*
 * fish
 */

/* In single quotes, where backslashes and quotes are escaped. */
static void add_fish_text(struct bly_bytes *to, const char *text)
{
    for (; *text != '\0'; text++) {
        if (*text == '\'' || *text == '\\') {
            bly_bytes_byte(to, '\\');
        }
        bly_bytes_byte(to, *text);
    }
}

static void begin_fish(struct bly_bytes *to, const struct bly_command *command)
{
    bly_bytes_print(to, "complete -c belay -n '__belay_is %s'", command->name);
}

static void add_fish_option(struct bly_bytes *to, const struct bly_command *command,
                            const struct bly_option *option)
{
    begin_fish(to, command);
    if (option->name != NULL) {
        bly_bytes_print(to, " -l %s", option->name);
    }
    if (option->letter != 0) {
        bly_bytes_print(to, " -s %c", option->letter);
    }
    bly_bytes_text(to, option->arg != NULL ? " -r -F -d '" : " -d '");
    add_fish_text(to, option->help);
    bly_bytes_text(to, "'\n");
}

static void add_fish(struct bly_bytes *to, const struct bly_command *command)
{
    bly_bytes_print(to, "complete -c belay -n __belay_is_first -a %s -d '", command->name);
    add_fish_text(to, command->summary);
    bly_bytes_text(to, "'\n");
    const struct bly_options *options = command->options != NULL ? command->options : NULL;
    for (size_t i = 0; options != NULL && i < options->count; i++) {
        if (bly_option_is_listed(&options->table[i])) {
            add_fish_option(to, command, &options->table[i]);
        }
    }
    struct bly_bytes names = {0};
    each_command(&names, add_name);
    const char *words = words_of(command, "(__fish_complete_subcommand --fcs-skip=2)",
                                 bly_bytes_c(&names), "bash zsh fish");
    if (words != NULL) {
        begin_fish(to, command);
        bly_bytes_print(to, " -a '%s'\n", words);
    }
    bly_bytes_free(&names);
}

static void make_fish(struct bly_bytes *to)
{
    bly_bytes_text(to, "function __belay_is_first\n"
                       "    test (count (commandline -opc)) -eq 1\n"
                       "end\n"
                       "function __belay_is\n"
                       "    set -l words (commandline -opc)\n"
                       "    test (count $words) -gt 1; and test $words[2] = $argv[1]\n"
                       "end\n"
                       "complete -c belay -f\n");
    each_command(to, add_fish);
}

static const struct shell {
    const char *name;
    void (*make)(struct bly_bytes *to);
} shells[] = {{"bash", make_bash}, {"zsh", make_zsh}, {"fish", make_fish}};

static int completions(int argc, char **argv)
{
    const char *wanted = argc > 1 ? argv[1] : "bash";
    for (size_t i = 0; i < sizeof shells / sizeof shells[0]; i++) {
        if (strcmp(shells[i].name, wanted) == 0) {
            struct bly_bytes text = {0};
            shells[i].make(&text);
            int status = bly_help_print(&text);
            bly_bytes_free(&text);
            return status;
        }
    }
    return bly_say_about(wanted, "there are completions for bash, zsh and fish");
}

const struct bly_command bly_command_completions = {
    .name = "completions",
    .summary = "completions for bash, zsh or fish",
    .usage = "[bash|zsh|fish]",
    .about = "Prints a script that completes the commands and options of belay:\n"
             "\n"
             "  bash   eval \"$(belay completions bash)\"      in ~/.bashrc\n"
             "  zsh    eval \"$(belay completions zsh)\"       in ~/.zshrc, behind compinit\n"
             "  fish   belay completions fish | source       in ~/.config/fish/config.fish\n",
    .operands = BLY_OPERANDS_SHELL,
    .run = completions,
};
