/* base64.c: see base64.h. */
#include "base64.h"

#include <string.h>

static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/* Three bytes are four letters; of one byte left there are two, of two three. */
static void add_group(struct bly_bytes *to, const unsigned char *at, size_t count)
{
    unsigned bits = (unsigned)at[0] << 16;
    bits |= count > 1 ? (unsigned)at[1] << 8 : 0;
    bits |= count > 2 ? at[2] : 0;
    for (size_t i = 0; i < 4; i++) {
        bly_bytes_byte(to, i <= count ? letters[bits >> (18 - 6 * i) & 0x3f] : '=');
    }
}

void bly_base64_add(struct bly_bytes *to, const char *from, size_t len)
{
    for (size_t i = 0; i < len; i += 3) {
        add_group(to, (const unsigned char *)from + i, len - i < 3 ? len - i : 3);
    }
}

static int sextet(char letter)
{
    const char *at = letter != '\0' ? strchr(letters, letter) : NULL;
    return at != NULL ? (int)(at - letters) : -1;
}

bool bly_base64_decode(struct bly_bytes *to, const char *text)
{
    size_t len = strlen(text);
    while (len > 0 && text[len - 1] == '=') {
        len--;
    }
    unsigned bits = 0;
    unsigned count = 0;
    for (size_t i = 0; i < len; i++) {
        int value = sextet(text[i]);
        if (value < 0) {
            return false;
        }
        bits = bits << 6 | (unsigned)value;
        count += 6;
        if (count >= 8) {
            count -= 8;
            bly_bytes_byte(to, (char)(bits >> count & 0xff));
        }
    }
    return len % 4 != 1;
}
