/* tag.c: see tag.h. */
#include "tag.h"

#include "say.h"

int bly_tag_open(struct bly_template *tag, const struct bly_runopts *opts)
{
    if (!opts->has_tag) {
        return 0;
    }
    struct bly_words words = {0};
    struct bly_template_opts how = {.whole = opts->whole};
    const char *text = opts->tag;
    if (text == NULL) {
        text = opts->whole != NULL ? opts->whole : "{}";
    }
    bly_words_text(&words, text);
    const char *why = bly_template_argv(tag, &words, &how);
    bly_words_free(&words);
    return why != NULL ? bly_say_about(text, "%s", why) : 0;
}

char *bly_tag_make(const struct bly_template *tag, const bly_job *job)
{
    if (tag->words == 0) {
        return NULL;
    }
    struct bly_words words = {0};
    struct bly_bytes text = {0};
    struct bly_filling filling = {.args = &job->args, .seq = job->seq, .slot = job->slot};
    bly_template_expand(tag, &filling, &words);
    for (size_t i = 0; i < words.count; i++) {
        bly_bytes_print(&text, "%s%s", i > 0 ? " " : "", bly_words_at(&words, i));
    }
    bly_words_free(&words);
    bly_bytes_room(&text, 0);
    text.at[text.len] = '\0';
    return text.at;
}
