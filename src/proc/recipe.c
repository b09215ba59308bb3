/*
 * recipe.c: a command without a slash is looked up in the PATH of its own environment, folder by
 * folder, by executing; the folder that had it last is tried first the next time, which spares a
 * failing execve for each folder before it. A command that has gone from there is looked up anew.
 */
#include "proc/recipe_int.h"

#include "proc/proc.h"
#include "sync/sync.h"

#include <string.h>

#define PATH_DEFAULT "/bin:/usr/bin"

/* The strings behind a spawn frame, taken one by one. */
typedef struct strings {
    const char *next;
    const char *end;
} strings;

static char *take_string(strings *strings_left)
{
    const char *first = strings_left->next;
    const char *nul = memchr(first, '\0', (size_t)(strings_left->end - first));
    bly_assert(nul != NULL);
    strings_left->next = nul + 1;
    return (char *)(uintptr_t)first;
}

static void take_strings(strings *strings_left, char **words, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        words[i] = take_string(strings_left);
    }
}

void bly_recipe_init(bly_recipe *recipe, char *const *base)
{
    memset(recipe, 0, sizeof *recipe);
    recipe->base = base;
    recipe->base_path = PATH_DEFAULT;
    for (; base[recipe->base_count] != NULL; recipe->base_count++) {
        if (strncmp(base[recipe->base_count], "PATH=", 5) == 0) {
            recipe->base_path = base[recipe->base_count] + 5;
        }
    }
}

void bly_recipe_free(bly_recipe *recipe)
{
    bly_buf_free(&recipe->paths);
    bly_buf_free(&recipe->words);
    bly_buf_free(&recipe->text);
}

/* Does one of the additions set the variable of `word`. */
static bool is_replaced(const char *word, char *const *added, uint32_t count)
{
    const char *equals = strchr(word, '=');
    size_t length = equals == NULL ? strlen(word) : (size_t)(equals - word);
    for (uint32_t i = 0; i < count; i++) {
        if (strncmp(added[i], word, length) == 0 && added[i][length] == '=') {
            return true;
        }
    }
    return false;
}

/* Writes the environment at `words`; the additions are there already, at its beginning. */
static void lay_env(char **words, uint32_t added, char *const *env, uint32_t count)
{
    char **next = words + added;
    for (uint32_t i = 0; i < count; i++) {
        if (!is_replaced(env[i], words, added)) {
            *next++ = env[i];
        }
    }
    *next = NULL;
}

/* The PATH that counts for this command; base_path itself when it is the base environment's. */
static const char *path_of(const bly_recipe *recipe, char *const *envp)
{
    for (; *envp != NULL; envp++) {
        if (strncmp(*envp, "PATH=", 5) == 0) {
            return *envp + 5;
        }
    }
    return recipe->base_path;
}

static uint32_t folders_of(const char *path)
{
    uint32_t count = 1;
    for (; *path != '\0'; path++) {
        count += *path == ':';
    }
    return count;
}

static const char *seen_path(const bly_recipe *recipe, const char *name)
{
    for (uint32_t i = 0; i < BLY_RECIPE_SEEN; i++) {
        if (recipe->seen[i].name[0] != '\0' && strcmp(recipe->seen[i].name, name) == 0) {
            return recipe->seen[i].path;
        }
    }
    return NULL;
}

/* FOLDER/NAME for each folder of PATH, an empty folder being the current one. */
static const char **lay_folders(const char **paths, char *text, const char *path, const char *name)
{
    size_t name_size = strlen(name) + 1;
    for (;;) {
        size_t length = strcspn(path, ":");
        *paths++ = text;
        memcpy(text, path, length);
        text += length;
        if (length > 0) {
            *text++ = '/';
        }
        memcpy(text, name, name_size);
        text += name_size;
        if (path[length] == '\0') {
            return paths;
        }
        path += length + 1;
    }
}

static int lay_paths(bly_recipe *recipe, const char *path)
{
    const char *name = recipe->name;
    size_t folders = folders_of(path);
    bly_buf_take(&recipe->text, bly_buf_used(&recipe->text));
    if (bly_buf_room(&recipe->text, strlen(path) + folders * (strlen(name) + 2)) != 0 ||
        bly_buf_room(&recipe->paths, (folders + 2) * sizeof(char *)) != 0) {
        return BELAY_ENOMEM;
    }
    const char **paths = (void *)recipe->paths.bytes;
    recipe->can_learn = path == recipe->base_path;
    const char *seen = recipe->can_learn ? seen_path(recipe, name) : NULL;
    if (seen != NULL) {
        *paths++ = seen;
    }
    *lay_folders(paths, recipe->text.bytes, path, name) = NULL;
    return 0;
}

static int lay_one_path(bly_recipe *recipe)
{
    if (bly_buf_room(&recipe->paths, 2 * sizeof(char *)) != 0) {
        return BELAY_ENOMEM;
    }
    const char **paths = (void *)recipe->paths.bytes;
    paths[0] = recipe->name;
    paths[1] = NULL;
    recipe->can_learn = false;
    return 0;
}

/* Room for argv and the environment of one spawn. */
static char **words_for(bly_recipe *recipe, size_t count)
{
    bly_buf_take(&recipe->words, bly_buf_used(&recipe->words));
    if (bly_buf_room(&recipe->words, count * sizeof(char *)) != 0) {
        return NULL;
    }
    return (void *)recipe->words.bytes;
}

int bly_recipe_read(bly_recipe *recipe, const bly_wire_spawn *spawn, bly_child *child)
{
    bly_assert(spawn->argc > 0);
    strings left = {.next = (const char *)(spawn + 1)};
    left.end = left.next + spawn->text_size;
    uint32_t env_count = spawn->has_env != 0 ? spawn->envc : recipe->base_count;
    char **words =
        words_for(recipe, 3 + (size_t)spawn->argc + spawn->envc + spawn->addc + env_count);
    if (words == NULL) {
        return BELAY_ENOMEM;
    }
    const char *file = spawn->has_path != 0 ? take_string(&left) : NULL;
    child->cwd = spawn->has_cwd != 0 ? take_string(&left) : NULL;
    child->umask = (spawn->flags & BLY_PROC_UMASK) != 0 ? (int)spawn->umask : -1;
    child->argv = words + 1;
    take_strings(&left, child->argv, spawn->argc);
    child->argv[spawn->argc] = NULL;
    char **env = child->argv + spawn->argc + 1;
    take_strings(&left, env, spawn->envc);
    char **envp = env + spawn->envc;
    take_strings(&left, envp, spawn->addc);
    lay_env(envp, spawn->addc, spawn->has_env != 0 ? env : recipe->base, env_count);
    child->envp = envp;
    recipe->name = file != NULL ? file : child->argv[0];
    bool has_place = file != NULL || strchr(recipe->name, '/') != NULL || recipe->name[0] == '\0';
    int laid = has_place ? lay_one_path(recipe) : lay_paths(recipe, path_of(recipe, envp));
    child->paths = (void *)recipe->paths.bytes;
    return laid;
}

void bly_recipe_learn(bly_recipe *recipe, const bly_child *child)
{
    const char *name = recipe->name;
    const char *path = *child->used;
    if (!recipe->can_learn || path[0] != '/' || strlen(name) >= BLY_RECIPE_SEEN_NAME ||
        strlen(path) >= BLY_RECIPE_SEEN_PATH) {
        return;
    }
    const char *seen = seen_path(recipe, name);
    if (seen != NULL && strcmp(seen, path) == 0) {
        return;
    }
    bly_recipe_seen *entry = &recipe->seen[recipe->seen_next];
    for (uint32_t i = 0; i < BLY_RECIPE_SEEN; i++) {
        entry = strcmp(recipe->seen[i].name, name) == 0 ? &recipe->seen[i] : entry;
    }
    recipe->seen_next = (recipe->seen_next + (seen == NULL)) % BLY_RECIPE_SEEN;
    strcpy(entry->name, name);
    strcpy(entry->path, path);
}
