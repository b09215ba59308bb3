/* help.c: `belay help` and `belay version`. See help.h. */
#include "help.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "belay/base.h"
#include "files.h"
#include "mem.h"
#include "say.h"

enum { STATUS_OUTPUT_GONE = 141 };

static const char about_belay[] =
    "belay runs shell commands in parallel, in order, on time and within limits.\n"
    "\n"
    "usage: belay COMMAND ...   (belay help COMMAND: all about one of them)\n";

static const char examples[] =
    "\n"
    "  belay run gzip -9 {} ::: *.log\n"
    "      compress each file, as many at once as there are CPUs\n"
    "  find . -type f -print0 | belay run -0 -k sha256sum\n"
    "      hash each file, results in the order of the input\n"
    "\n"
    "  belay add --at 02:00 backup /home; belay work\n"
    "      store a command for two o'clock; run what is stored\n"
    "\n"
    "A job is run at least once: when belay or the machine dies while it runs, it runs again, by\n"
    "the next worker or --resume. Jobs find their number in BELAY_JOB and the try in BELAY_TRY.\n";

int bly_help_print(const struct bly_bytes *text)
{
    if (bly_files_write(STDOUT_FILENO, text->at, text->len) == 0) {
        return 0;
    }
    if (errno == EPIPE) {
        return STATUS_OUTPUT_GONE;
    }
    return bly_say_about("standard output", "%s", strerror(errno));
}

static int print_belay(void)
{
    struct bly_bytes text = {0};
    bly_bytes_text(&text, about_belay);
    for (const struct bly_command_group *group = bly_commands(); group->commands != NULL; group++) {
        bly_bytes_print(&text, "\n%s:\n", group->heading);
        for (size_t i = 0; group->commands[i] != NULL; i++) {
            bly_bytes_print(&text, "  %-13s %s\n", group->commands[i]->name,
                            group->commands[i]->summary);
        }
    }
    bly_bytes_text(&text, examples);
    int status = bly_help_print(&text);
    bly_bytes_free(&text);
    return status;
}

int bly_help_command(const struct bly_command *command)
{
    struct bly_bytes text = {0};
    bly_bytes_print(&text, "usage: belay %s%s%s\n\n%s", command->name,
                    command->usage[0] != '\0' ? " " : "", command->usage, command->about);
    if (command->options != NULL) {
        bly_options_help(command->options, &text);
    }
    if (command->about_status != NULL) {
        bly_bytes_print(&text, "\n%s", command->about_status);
    }
    int status = bly_help_print(&text);
    bly_bytes_free(&text);
    return status;
}

static int help(int argc, char **argv)
{
    if (argc < 2) {
        return print_belay();
    }
    const struct bly_command *command = bly_commands_find(argv[1]);
    if (command == NULL) {
        return bly_say_about(argv[1], "there is no help about it; see `belay help`");
    }
    return bly_help_command(command);
}

const struct bly_command bly_command_help = {
    .name = "help",
    .summary = "this text, or all about a command",
    .usage = "[COMMAND]",
    .about = "Lists the commands, or tells what one of them does and takes.\n",
    .operands = BLY_OPERANDS_TOPIC,
    .run = help,
};

static int version(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    struct bly_bytes text = {0};
    bly_bytes_print(&text, "belay %d.%d.%d\n", BELAY_VERSION_MAJOR, BELAY_VERSION_MINOR,
                    BELAY_VERSION_PATCH);
    int status = bly_help_print(&text);
    bly_bytes_free(&text);
    return status;
}

const struct bly_command bly_command_version = {
    .name = "version",
    .summary = "the version",
    .usage = "",
    .about = "Prints the version.\n",
    .run = version,
};
