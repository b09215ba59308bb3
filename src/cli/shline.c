/* shline.c: see shline.h. */
#include "shline.h"

#include <string.h>

/* The words that POSIX gives to the shell, and what common shells add. `kill`, `echo`, `test` and
 * their like are programs as well, and work as such. */
static const char *const shell_words[] = {
    "!",       ".",       ":",       "[[",      "alias",    "bg",     "bind",    "break",
    "builtin", "case",    "cd",      "command", "continue", "coproc", "declare", "dirs",
    "disown",  "do",      "done",    "elif",    "else",     "enable", "esac",    "eval",
    "exec",    "exit",    "export",  "fc",      "fg",       "fi",     "for",     "function",
    "getopts", "hash",    "history", "if",      "in",       "jobs",   "let",     "local",
    "logout",  "popd",    "pushd",   "read",    "readonly", "return", "select",  "set",
    "shift",   "shopt",   "source",  "suspend", "then",     "time",   "times",   "trap",
    "type",    "typeset", "ulimit",  "umask",   "unalias",  "unset",  "until",   "wait",
    "while",
};

bool bly_shline_has_special(const char *from, size_t len)
{
    static const char special[] = "#;\"'*?[]&|<>(){}$`^~!\\\n";
    for (size_t i = 0; i < len; i++) {
        if (from[i] == '\0' || strchr(special, from[i]) != NULL) {
            return true;
        }
    }
    return false;
}

bool bly_shline_is_shell_word(const char *word, size_t len)
{
    if (memchr(word, '=', len) != NULL) {
        return true;
    }
    for (size_t i = 0; i < sizeof shell_words / sizeof shell_words[0]; i++) {
        if (strlen(shell_words[i]) == len && memcmp(shell_words[i], word, len) == 0) {
            return true;
        }
    }
    return false;
}
