/*
 * test_hist.c: the histogram against sorted samples.
 */
#include "unit.h"

#include "base/hist.h"

#include <string.h>

#define SAMPLES 5000

static bly_hist hist;
static uint64_t samples[SAMPLES];

static int compare(const void *left, const void *right)
{
    const uint64_t *a = left;
    const uint64_t *b = right;
    return (*a > *b) - (*a < *b);
}

START_TEST(empty_histogram_is_all_zero)
{
    ck_assert_uint_eq(bly_hist_quantile(&hist, 500), 0);
    ck_assert_uint_eq(bly_hist_quantile(&hist, 1000), 0);
    ck_assert_uint_eq(hist.max, 0);
}
END_TEST

START_TEST(small_numbers_are_exact)
{
    for (uint64_t value = 0; value < 16; value++) {
        memset(&hist, 0, sizeof hist);
        bly_hist_add(&hist, value);
        bly_hist_add(&hist, 1000);
        ck_assert_uint_eq(bly_hist_quantile(&hist, 500), value);
        ck_assert_uint_eq(bly_hist_quantile(&hist, 1000), 1000);
    }
}
END_TEST

START_TEST(one_number_is_every_quantile)
{
    bly_hist_add(&hist, 123456789);
    ck_assert_uint_eq(bly_hist_quantile(&hist, 0), 123456789);
    ck_assert_uint_eq(bly_hist_quantile(&hist, 500), 123456789);
    ck_assert_uint_eq(bly_hist_quantile(&hist, 990), 123456789);
    ck_assert_uint_eq(hist.count, 1);
}
END_TEST

START_TEST(quantiles_are_within_an_eighth_of_the_sorted_samples)
{
    static const unsigned quantiles[] = {1, 100, 500, 900, 990, 999, 1000};
    uint64_t state = 3;
    for (int i = 0; i < SAMPLES; i++) {
        state = state * UINT64_C(6364136223846793005) + 1;
        samples[i] = state >> (8 + i % 50);
        bly_hist_add(&hist, samples[i]);
    }
    qsort(samples, SAMPLES, sizeof samples[0], compare);
    for (size_t i = 0; i < sizeof quantiles / sizeof quantiles[0]; i++) {
        uint64_t exact = samples[(SAMPLES * quantiles[i] + 999) / 1000 - 1];
        uint64_t got = bly_hist_quantile(&hist, quantiles[i]);
        ck_assert_uint_ge(got, exact);
        ck_assert_uint_le(got, exact + exact / 8);
    }
    ck_assert_uint_eq(hist.max, samples[SAMPLES - 1]);
}
END_TEST

START_TEST(edges_of_powers_of_two_keep_their_order)
{
    uint64_t last = 0;
    for (unsigned bit = 4; bit < 64; bit++) {
        for (int off = -1; off <= 1; off++) {
            memset(&hist, 0, sizeof hist);
            bly_hist_add(&hist, (UINT64_C(1) << bit) + (uint64_t)(int64_t)off);
            bly_hist_add(&hist, UINT64_MAX);
            uint64_t got = bly_hist_quantile(&hist, 500);
            ck_assert_uint_ge(got, (UINT64_C(1) << bit) + (uint64_t)(int64_t)off);
            ck_assert_uint_ge(got, last);
            last = got;
        }
    }
    ck_assert_uint_eq(bly_hist_quantile(&hist, 1000), UINT64_MAX);
}
END_TEST

UNIT_MAIN("base/hist", empty_histogram_is_all_zero, small_numbers_are_exact,
          one_number_is_every_quantile, quantiles_are_within_an_eighth_of_the_sorted_samples,
          edges_of_powers_of_two_keep_their_order)
