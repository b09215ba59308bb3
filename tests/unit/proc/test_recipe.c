/* test_recipe.c: argv, environment and the files to try, from the strings of a frame. */
#include "proc/proc.h"
#include "proc/recipe_int.h"
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORD(text) ((char *)(uintptr_t)(text))

/* A spawn frame made by hand. */
typedef struct frame {
    bly_wire_spawn spawn;
    char text[4096];
} frame;

static void add(frame *f, const char *string)
{
    size_t size = strlen(string) + 1;
    memcpy(f->text + f->spawn.text_size, string, size);
    f->spawn.text_size += (uint32_t)size;
}

static frame frame_of(const char *name, const char *argument)
{
    frame f = {.spawn = {.argc = 1}};
    add(&f, name);
    if (argument != NULL) {
        add(&f, argument);
        f.spawn.argc++;
    }
    return f;
}

static void add_variable(frame *f, const char *variable)
{
    add(f, variable);
    f->spawn.addc++;
}

static char *base_env[] = {NULL, NULL, NULL, NULL};

static void open_recipe(bly_recipe *recipe)
{
    base_env[0] = WORD("HOME=/root");
    base_env[1] = WORD("PATH=/a:/b::/c");
    base_env[2] = WORD("LANG=C");
    bly_recipe_init(recipe, base_env);
}

static void read_frame(bly_recipe *recipe, const frame *f, bly_child *child)
{
    *child = (bly_child){.stage = 0};
    ck_assert_int_eq(bly_recipe_read(recipe, &f->spawn, child), 0);
}

static void check_words(char *const *words, const char *const *wanted)
{
    for (; *wanted != NULL; words++, wanted++) {
        ck_assert_ptr_nonnull(*words);
        ck_assert_str_eq(*words, *wanted);
    }
    ck_assert_ptr_null(*words);
}

#define CHECK_WORDS(words, ...)                                                                    \
    check_words((char *const *)(words), (const char *const[]){__VA_ARGS__, NULL})

START_TEST(a_name_is_looked_for_in_each_folder_of_path)
{
    bly_recipe recipe;
    bly_child child;
    open_recipe(&recipe);
    frame f = frame_of("true", "x y");
    read_frame(&recipe, &f, &child);
    CHECK_WORDS(child.argv, "true", "x y");
    CHECK_WORDS(child.paths, "/a/true", "/b/true", "true", "/c/true");
    CHECK_WORDS(child.envp, "HOME=/root", "PATH=/a:/b::/c", "LANG=C");
    ck_assert_ptr_null(child.cwd);
    ck_assert_int_eq(child.umask, -1);
    bly_recipe_free(&recipe);
}
END_TEST

START_TEST(a_name_with_a_slash_is_the_file)
{
    bly_recipe recipe;
    bly_child child;
    open_recipe(&recipe);
    frame f = frame_of("./true", NULL);
    read_frame(&recipe, &f, &child);
    CHECK_WORDS(child.paths, "./true");
    bly_recipe_free(&recipe);
}
END_TEST

START_TEST(an_empty_name_is_not_looked_for)
{
    bly_recipe recipe;
    bly_child child;
    open_recipe(&recipe);
    frame f = frame_of("", NULL);
    read_frame(&recipe, &f, &child);
    CHECK_WORDS(child.paths, "");
    bly_recipe_free(&recipe);
}
END_TEST

START_TEST(path_folder_and_umask_of_the_spec_count)
{
    bly_recipe recipe;
    bly_child child;
    open_recipe(&recipe);
    frame f = {.spawn = {.argc = 1, .has_path = 1, .has_cwd = 1, .flags = BLY_PROC_UMASK}};
    f.spawn.umask = 022;
    add(&f, "busybox");
    add(&f, "/tmp");
    add(&f, "sh");
    read_frame(&recipe, &f, &child);
    CHECK_WORDS(child.paths, "busybox");
    CHECK_WORDS(child.argv, "sh");
    ck_assert_str_eq(child.cwd, "/tmp");
    ck_assert_int_eq(child.umask, 022);
    bly_recipe_free(&recipe);
}
END_TEST

START_TEST(additions_replace_variables_of_the_same_name_alone)
{
    bly_recipe recipe;
    bly_child child;
    open_recipe(&recipe);
    frame f = frame_of("true", NULL);
    add_variable(&f, "LANG=de");
    add_variable(&f, "HOM=x");
    add_variable(&f, "HOMER=y");
    read_frame(&recipe, &f, &child);
    CHECK_WORDS(child.envp, "LANG=de", "HOM=x", "HOMER=y", "HOME=/root", "PATH=/a:/b::/c");
    bly_recipe_free(&recipe);
}
END_TEST

START_TEST(an_environment_of_its_own_replaces_the_whole)
{
    bly_recipe recipe;
    bly_child child;
    open_recipe(&recipe);
    frame f = frame_of("true", NULL);
    f.spawn.has_env = 1;
    f.spawn.envc = 2;
    add(&f, "PATH=/z");
    add(&f, "A=b");
    add_variable(&f, "A=c");
    read_frame(&recipe, &f, &child);
    CHECK_WORDS(child.envp, "A=c", "PATH=/z");
    CHECK_WORDS(child.paths, "/z/true");
    f = frame_of("true", NULL);
    f.spawn.has_env = 1;
    read_frame(&recipe, &f, &child);
    ck_assert_ptr_null(child.envp[0]);
    bly_recipe_free(&recipe);
}
END_TEST

START_TEST(a_found_command_is_tried_first_where_it_was)
{
    bly_recipe recipe;
    bly_child child;
    open_recipe(&recipe);
    frame f = frame_of("true", NULL);
    read_frame(&recipe, &f, &child);
    child.used = child.paths + 1;
    bly_recipe_learn(&recipe, &child);
    read_frame(&recipe, &f, &child);
    CHECK_WORDS(child.paths, "/b/true", "/a/true", "/b/true", "true", "/c/true");
    child.used = child.paths + 4; /* it has moved */
    bly_recipe_learn(&recipe, &child);
    read_frame(&recipe, &f, &child);
    CHECK_WORDS(child.paths, "/c/true", "/a/true", "/b/true", "true", "/c/true");
    bly_recipe_free(&recipe);
}
END_TEST

START_TEST(what_was_learnt_is_not_used_with_another_path)
{
    bly_recipe recipe;
    bly_child child;
    open_recipe(&recipe);
    frame f = frame_of("true", NULL);
    read_frame(&recipe, &f, &child);
    child.used = child.paths;
    bly_recipe_learn(&recipe, &child);
    add_variable(&f, "PATH=/z");
    read_frame(&recipe, &f, &child);
    CHECK_WORDS(child.paths, "/z/true");
    child.used = child.paths;
    bly_recipe_learn(&recipe, &child);
    f = frame_of("true", NULL);
    read_frame(&recipe, &f, &child);
    ck_assert_str_eq(child.paths[0], "/a/true");
    bly_recipe_free(&recipe);
}
END_TEST

START_TEST(one_in_the_current_folder_is_not_learnt)
{
    bly_recipe recipe;
    bly_child child;
    open_recipe(&recipe);
    frame f = frame_of("true", NULL);
    read_frame(&recipe, &f, &child);
    child.used = child.paths + 2;
    bly_recipe_learn(&recipe, &child);
    read_frame(&recipe, &f, &child);
    CHECK_WORDS(child.paths, "/a/true", "/b/true", "true", "/c/true");
    bly_recipe_free(&recipe);
}
END_TEST

START_TEST(more_commands_than_are_remembered_are_all_found)
{
    bly_recipe recipe;
    bly_child child;
    open_recipe(&recipe);
    for (int i = 0; i < 40; i++) {
        char name[16];
        char wanted[32];
        snprintf(name, sizeof name, "c%d", i % 20);
        snprintf(wanted, sizeof wanted, "/b/c%d", i % 20);
        frame f = frame_of(name, NULL);
        read_frame(&recipe, &f, &child);
        child.used = child.paths;
        while (strcmp(*child.used, wanted) != 0) {
            child.used++;
            ck_assert_ptr_nonnull(*child.used);
        }
        bly_recipe_learn(&recipe, &child);
        read_frame(&recipe, &f, &child);
        ck_assert_str_eq(child.paths[0], wanted);
    }
    bly_recipe_free(&recipe);
}
END_TEST

UNIT_MAIN("proc/recipe", a_name_is_looked_for_in_each_folder_of_path,
          a_name_with_a_slash_is_the_file, an_empty_name_is_not_looked_for,
          path_folder_and_umask_of_the_spec_count,
          additions_replace_variables_of_the_same_name_alone,
          an_environment_of_its_own_replaces_the_whole, a_found_command_is_tried_first_where_it_was,
          what_was_learnt_is_not_used_with_another_path, one_in_the_current_folder_is_not_learnt,
          more_commands_than_are_remembered_are_all_found)
