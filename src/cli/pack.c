/* pack.c: see pack.h. */
#include "pack.h"

#include <assert.h>

static size_t row_cost(const struct bly_pack *pack)
{
    size_t cost = 0;
    for (size_t i = 0; i < pack->row.count; i++) {
        cost += bly_template_cost(pack->template, bly_words_at(&pack->row, i),
                                  bly_words_len(&pack->row, i));
    }
    return cost;
}

static bool has_room(const struct bly_pack *pack, size_t cost)
{
    size_t max = pack->opts.length_max > 0 ? pack->opts.length_max : BLY_PACK_LENGTH_MAX;
    size_t used = bly_template_base(pack->template) + pack->gathered_bytes;
    return pack->gathered_rows == 0 || used + cost <= max;
}

/* Without a length that was asked for, the kernel decides about a row that is alone. */
static bool is_too_long(const struct bly_pack *pack, size_t cost)
{
    return pack->opts.is_filled && pack->opts.length_max > 0 &&
           bly_template_base(pack->template) + cost > pack->opts.length_max;
}

static uint64_t rows_wanted(const struct bly_pack *pack)
{
    if (pack->opts.rows_max > 0) {
        return pack->opts.rows_max;
    }
    return pack->opts.is_filled ? UINT64_MAX : 1;
}

/* Gathers rows until the job is full. RECORD: it is, or the input has ended. */
static enum bly_input_result gather(struct bly_pack *pack)
{
    uint64_t wanted = rows_wanted(pack);
    while (pack->gathered_rows < wanted && !pack->is_ended) {
        if (!pack->has_row) {
            bly_words_clear(&pack->row);
            enum bly_input_result result = bly_rows_next(pack->rows, &pack->row);
            if (result == BLY_INPUT_END) {
                pack->is_ended = true;
                break;
            }
            if (result != BLY_INPUT_RECORD) {
                return result;
            }
            pack->has_row = true;
        }
        size_t cost = row_cost(pack);
        if (is_too_long(pack, cost)) {
            pack->is_too_long = true;
            return pack->gathered_rows > 0 ? BLY_INPUT_RECORD : BLY_INPUT_BROKEN;
        }
        if (pack->opts.is_filled && !has_room(pack, cost)) {
            return BLY_INPUT_RECORD;
        }
        bly_words_copy(&pack->gathered, &pack->row);
        pack->gathered_rows++;
        pack->gathered_bytes += cost;
        pack->has_row = false;
    }
    return BLY_INPUT_RECORD;
}

static void start_anew(struct bly_pack *pack)
{
    bly_words_clear(&pack->gathered);
    pack->gathered_rows = 0;
    pack->gathered_bytes = 0;
}

/* Gives one job its share of what was gathered last. */
static void deal(struct bly_pack *pack, struct bly_words *ret_args)
{
    assert(pack->deal_jobs > 0);
    size_t left = pack->gathered.count - pack->dealt;
    size_t share = (left + pack->deal_jobs - 1) / pack->deal_jobs;
    for (size_t i = pack->dealt; i < pack->dealt + share; i++) {
        bly_words_add(ret_args, bly_words_at(&pack->gathered, i),
                      bly_words_len(&pack->gathered, i));
    }
    pack->dealt += share;
    pack->deal_jobs--;
    if (pack->dealt == pack->gathered.count) {
        pack->is_dealing = false;
        start_anew(pack);
    }
}

/* At the end of the input, -m and -X keep every slot busy. */
static void begin_to_deal(struct bly_pack *pack)
{
    bool can_deal = pack->is_ended && pack->opts.spread > 1 && pack->opts.rows_max == 0;
    if (can_deal && pack->gathered.count > 1) {
        size_t count = pack->gathered.count;
        pack->deal_jobs = count < pack->opts.spread ? (uint32_t)count : pack->opts.spread;
        pack->dealt = 0;
        pack->is_dealing = true;
    }
}

enum bly_input_result bly_pack_next(struct bly_pack *pack, struct bly_words *ret_args)
{
    bly_words_clear(ret_args);
    if (pack->is_dealing) {
        deal(pack, ret_args);
        return BLY_INPUT_RECORD;
    }
    enum bly_input_result result = gather(pack);
    if (result != BLY_INPUT_RECORD) {
        return result;
    }
    if (pack->gathered_rows == 0) {
        return BLY_INPUT_END;
    }
    begin_to_deal(pack);
    if (pack->is_dealing) {
        deal(pack, ret_args);
        return BLY_INPUT_RECORD;
    }
    if (!pack->opts.is_dropped) {
        bly_words_copy(ret_args, &pack->gathered);
    }
    start_anew(pack);
    return BLY_INPUT_RECORD;
}

void bly_pack_free(struct bly_pack *pack)
{
    bly_words_free(&pack->row);
    bly_words_free(&pack->gathered);
}
