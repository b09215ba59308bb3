/*
 * test_hash.c: hashes depend on everything they should, and spread.
 */
#include "unit.h"

#include "base/hash.h"

#include <string.h>

static const char text[] = "belay task runtime, thirty-three.";

START_TEST(equal_bytes_hash_alike_at_any_address)
{
    char copy[sizeof text + 8];
    for (size_t shift = 0; shift < 8; shift++) {
        memcpy(copy + shift, text, sizeof text);
        ck_assert_uint_eq(bly_hash_bytes(5, copy + shift, sizeof text),
                          bly_hash_bytes(5, text, sizeof text));
    }
}
END_TEST

START_TEST(each_bit_changes_the_hash)
{
    unsigned char bytes[sizeof text];
    memcpy(bytes, text, sizeof text);
    uint64_t original = bly_hash_bytes(5, bytes, sizeof bytes);
    for (size_t bit = 0; bit < 8 * sizeof bytes; bit++) {
        bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
        ck_assert_uint_ne(bly_hash_bytes(5, bytes, sizeof bytes), original);
        bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
    }
}
END_TEST

START_TEST(length_counts_even_where_bytes_are_zero)
{
    static const char zeros[32];
    for (size_t len = 0; len < sizeof zeros; len++) {
        for (size_t shorter = 0; shorter < len; shorter++) {
            ck_assert_uint_ne(bly_hash_bytes(5, zeros, len), bly_hash_bytes(5, zeros, shorter));
        }
    }
}
END_TEST

START_TEST(seeds_give_other_hashes)
{
    ck_assert_uint_ne(bly_hash_bytes(1, text, sizeof text), bly_hash_bytes(2, text, sizeof text));
    ck_assert_uint_ne(bly_hash_u64(1, 77), bly_hash_u64(2, 77));
}
END_TEST

/* Counts how unevenly the low bits of `hash` fall: the largest of 256 cells, 100 expected. */
static unsigned fullest_cell(uint64_t (*hash)(uint64_t number))
{
    unsigned cells[256] = {0};
    unsigned fullest = 0;
    for (uint64_t i = 0; i < 25600; i++) {
        unsigned count = ++cells[hash(i) & 255];
        fullest = count > fullest ? count : fullest;
    }
    return fullest;
}

static uint64_t of_small_numbers(uint64_t number)
{
    return bly_hash_u64(9, number);
}

static uint64_t of_high_bits(uint64_t number)
{
    return bly_hash_u64(9, number << 48);
}

static uint64_t of_bytes(uint64_t number)
{
    char id[24] = "job-";
    memcpy(id + 10, &number, sizeof number);
    return bly_hash_bytes(9, id, sizeof id);
}

START_TEST(low_bits_spread_evenly)
{
    ck_assert_uint_lt(fullest_cell(of_small_numbers), 160);
    ck_assert_uint_lt(fullest_cell(of_high_bits), 160);
    ck_assert_uint_lt(fullest_cell(of_bytes), 160);
}
END_TEST

UNIT_MAIN("base/hash", equal_bytes_hash_alike_at_any_address, each_bit_changes_the_hash,
          length_counts_even_where_bytes_are_zero, seeds_give_other_hashes, low_bits_spread_evenly)
