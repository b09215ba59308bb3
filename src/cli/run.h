/* run.h: the subcommand `run`. Context: the main function. */
#ifndef BLY_CLI_RUN_H
#define BLY_CLI_RUN_H

/* bly_cli_run: `belay run`, argv[0] being "run". The exit status. */
int bly_cli_run(int argc, char **argv);

#endif
