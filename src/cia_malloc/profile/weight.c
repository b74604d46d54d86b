/*
 * SPDX-License-Identifier: MIT
 *
 * See weight.h. Without libm, which is not this library's to load.
 */
#include "cia_malloc/profile/weight.h"

#include "base/random.h"

#include <string.h>

/* -ln(u), u in (0, 1]: u is m * 2^e with m in [1/2, 1), and ln m = 2 artanh((m - 1) / (m + 1)). */
static double minus_log(double u)
{
    enum { EXPONENT_SHIFT = 52, EXPONENT_OF_HALF = 1022, TERMS = 14 };
    const double ln_2 = 0.693147180559945309417;
    const uint64_t mantissa = ((uint64_t)1 << EXPONENT_SHIFT) - 1;
    double m, t, power, sum = 0;
    uint64_t bits;

    memcpy(&bits, &u, sizeof bits);
    int e = (int)(bits >> EXPONENT_SHIFT) - EXPONENT_OF_HALF;
    bits = (bits & mantissa) | (uint64_t)EXPONENT_OF_HALF << EXPONENT_SHIFT;
    memcpy(&m, &bits, sizeof m);
    power = t = (m - 1) / (m + 1);
    for (int i = 0; i < TERMS; i++, power *= t * t)
        sum += power / (2 * i + 1);
    return -(2 * sum + e * ln_2);
}

/* 1 - exp(-x), x >= 0: a series for x / 2^k, and then 1 - exp(-2y) = s (2 - s) from s for y. */
static double one_minus_exp(double x)
{
    int halvings = 0;

    if (x > 50)
        return 1;
    for (; x > 1.0 / 1024; x /= 2)
        halvings++;
    double s = x * (1 - x / 2 * (1 - x / 3 * (1 - x / 4)));
    for (; halvings > 0; halvings--)
        s *= 2 - s;
    return s;
}

uint64_t weight_draw(uint64_t *random, uint64_t interval)
{
    const double unit = 1.0 / ((uint64_t)1 << 53);

    if (interval == 1)
        return 0;
    return (uint64_t)(minus_log((double)((random_next(random) >> 11) + 1) * unit) *
                      (double)interval);
}

double weight_of(size_t bytes, uint64_t interval)
{
    return interval == 1 ? 1 : 1 / one_minus_exp(((double)bytes + 1) / (double)interval);
}
