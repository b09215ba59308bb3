/* jsonout.c: see jsonout.h. */
#include "jsonout.h"

#include "base64.h"
#include "belay/base.h"
#include "when.h"

static json_t *have(json_t *value)
{
    bly_mem_check(value != NULL ? 0 : BELAY_ENOMEM);
    return value;
}

json_t *bly_json_object(void)
{
    return have(json_object());
}

void bly_json_set(json_t *object, const char *name, json_t *value)
{
    bly_mem_check(json_object_set_new(object, name, have(value)) == 0 ? 0 : BELAY_ENOMEM);
}

/* jansson refuses what is not UTF-8, which tells that apart. */
json_t *bly_json_bytes(const char *from, size_t len)
{
    json_t *text = json_stringn(len > 0 ? from : "", len);
    if (text != NULL) {
        return text;
    }
    struct bly_bytes letters = {0};
    bly_base64_add(&letters, from, len);
    json_t *object = bly_json_object();
    bly_json_set(object, "b64", json_stringn(bly_bytes_c(&letters), letters.len));
    bly_bytes_free(&letters);
    return object;
}

json_t *bly_json_moment(int64_t ns)
{
    if (ns == 0) {
        return json_null();
    }
    struct bly_bytes text = {0};
    bly_when_show(&text, ns);
    json_t *moment = have(json_string(bly_bytes_c(&text)));
    bly_bytes_free(&text);
    return moment;
}

json_t *bly_json_seconds(int64_t ns)
{
    return have(json_real((double)ns / 1e9));
}

static int add_piece(const char *piece, size_t len, void *to)
{
    bly_bytes_add(to, piece, len);
    return 0;
}

void bly_json_line(struct bly_bytes *to, json_t *object)
{
    bly_mem_check(
        json_dump_callback(object, add_piece, to, JSON_COMPACT | JSON_REAL_PRECISION(12)) == 0
            ? 0
            : BELAY_ENOMEM);
    bly_bytes_byte(to, '\n');
    json_decref(object);
}
