/* help.c: see help.h. */
#include "help.h"

#include <string.h>
#include <unistd.h>

#include "belay/base.h"
#include "files.h"
#include "mem.h"
#include "runopts.h"
#include "say.h"

static const char general[] =
    "belay runs shell commands in parallel, in order, on time and within limits.\n"
    "\n"
    "usage: belay COMMAND ...\n"
    "  run           run a command for each of many arguments\n"
    "  help [run]    this text, or all options of run\n"
    "  version       the version\n"
    "  completions   completions for bash: eval \"$(belay completions)\"\n"
    "\n"
    "  belay run gzip -9 {} ::: *.log        compress each file, as many at once as there are "
    "CPUs\n"
    "  find . -type f -print0 | belay run -0 -k sha256sum\n"
    "                                        hash each file, results in the order of the input\n"
    "\n"
    "A job may run more than once: when belay or the machine dies while it runs, the next "
    "--resume\n"
    "runs it again. Jobs find their number in BELAY_JOB and the try in BELAY_TRY.\n";

static const char about_run[] =
    "usage: belay run [OPTION...] [COMMAND...] [::: ARG...] [:::: FILE...]\n"
    "\n"
    "Runs the command for each argument: of ::: ARG..., of the lines of :::: FILE..., of -a FILE, "
    "or\n"
    "of standard input. Several sources are combined, :::+ and ::::+ go along with the one "
    "before.\n"
    "One word is a shell line; several words are executed as they are; without a command each "
    "line\n"
    "of the input is a shell line.\n"
    "\n"
    "In the command: {} the argument, {.} without extension, {/} base name, {//} folder, {/.} "
    "base\n"
    "name without extension, {#} job number, {%} slot, {1} {2} {1/.} ... of argument n. Without "
    "any\n"
    "of these, the argument is added at the end. Arguments are quoted where a shell reads them.\n";

static const char about_status[] = "\n"
                                   "Exit status: 0 all well; 1 to 100 so many jobs failed; 101 "
                                   "more; 255 an error of belay itself;\n"
                                   "with --halt the status of the job, or the percentage. A job's "
                                   "own: 124 its time ran out, 126 not\n"
                                   "runnable, 127 not found, 128+N ended by signal N.\n";

static int print(const struct bly_bytes *text)
{
    return bly_files_write(STDOUT_FILENO, text->at, text->len) == 0 ? 0 : BLY_SAY_OWN_ERROR;
}

int bly_cli_help(const char *topic)
{
    struct bly_bytes text = {0};
    if (topic == NULL) {
        bly_bytes_text(&text, general);
    } else if (strcmp(topic, "run") == 0) {
        bly_bytes_text(&text, about_run);
        bly_options_help(bly_runopts_table(), &text);
        bly_bytes_text(&text, about_status);
    } else {
        return bly_say_about(topic, "there is no help about it; see `belay help`");
    }
    int status = print(&text);
    bly_bytes_free(&text);
    return status;
}

int bly_help_version(void)
{
    struct bly_bytes text = {0};
    bly_bytes_print(&text, "belay %d.%d.%d\n", BELAY_VERSION_MAJOR, BELAY_VERSION_MINOR,
                    BELAY_VERSION_PATCH);
    int status = print(&text);
    bly_bytes_free(&text);
    return status;
}

int bly_help_completions(const char *shell)
{
    if (shell != NULL && strcmp(shell, "bash") != 0) {
        return bly_say_about(shell, "there are completions for bash only");
    }
    struct bly_bytes names = {0};
    struct bly_bytes valued = {0};
    struct bly_bytes text = {0};
    bly_options_names(bly_runopts_table(), &names, false);
    bly_options_names(bly_runopts_table(), &valued, true);
    bly_bytes_print(
        &text,
        "_belay() {\n"
        "    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}\n"
        "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
        "        COMPREPLY=($(compgen -W 'run help version completions' -- \"$word\"))\n"
        "        return\n"
        "    fi\n"
        "    case \" %s \" in\n"
        "    *\" $before \"*) COMPREPLY=($(compgen -f -- \"$word\")); return ;;\n"
        "    esac\n"
        "    case $word in\n"
        "    -*) COMPREPLY=($(compgen -W '%s' -- \"$word\")) ;;\n"
        "    *) COMPREPLY=($(compgen -c -f -- \"$word\")) ;;\n"
        "    esac\n"
        "}\n"
        "complete -o filenames -F _belay belay\n",
        bly_bytes_c(&valued), bly_bytes_c(&names));
    int status = print(&text);
    bly_bytes_free(&names);
    bly_bytes_free(&valued);
    bly_bytes_free(&text);
    return status;
}
