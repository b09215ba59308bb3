/* Which lines need a shell. */
#include "unit.h"

#include <string.h>

#include "cli/shline.h"

START_TEST(special_characters_need_a_shell)
{
    static const char special[] = "#;\"'*?[]&|<>(){}$`^~!\\\n";
    for (size_t i = 0; i < sizeof special - 1; i++) {
        char text[] = {'a', special[i], 'b'};
        ck_assert_msg(bly_shline_has_special(text, 3), "%c", special[i]);
    }
    ck_assert(!bly_shline_has_special("gzip -9 a_b.c=d:e,f/g%h@i+j\t", 28));
    ck_assert(!bly_shline_has_special("caf\xc3\xa9", 5));
    ck_assert(!bly_shline_has_special("", 0));
}
END_TEST

START_TEST(words_of_the_shell_need_a_shell)
{
    static const char *const words[] = {"cd", "exit", "if", "for", "export", ".", ":", "A=1"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        ck_assert_msg(bly_shline_is_shell_word(words[i], strlen(words[i])), "%s", words[i]);
    }
    static const char *const others[] = {"echo", "cdx", "c", "gzip", "true", "kill", "./if"};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        ck_assert_msg(!bly_shline_is_shell_word(others[i], strlen(others[i])), "%s", others[i]);
    }
}
END_TEST

UNIT_MAIN("cli/shline", special_characters_need_a_shell, words_of_the_shell_need_a_shell)
