// Fixed-point sums, scaled by a power of two so that none overflows: bitwise reproducible in any order. Amounts below 2^-61
// of the greatest, times their count, are lost; doubles are hardly better.
using Bits = unsigned long long;  // of |x|: they sort as numbers do, NaN last

__device__ inline Bits bits(double x) { return __double_as_longlong(fabs(x)); }

// Scale of numbers with sum `most`, so that it has 62 bits; NaN if not finite.
__device__ inline double scale_of(double most) {
    const double none = most - most;
    if (none != 0) return none;
    const int exponent = int(__double_as_longlong(most) >> 52) - 1022;  // most < 2^exponent
    return __longlong_as_double((long long)(1023 + min(62 - exponent, 1000)) << 52);
}

// Scale of `count` numbers, none above `greatest`.
__device__ inline double scale_of(Bits greatest, int count) { return scale_of(count * __longlong_as_double(greatest)); }

// 1 / scale, a power of two.
__device__ inline double inverse(double scale) {
    return scale != scale ? scale : __longlong_as_double((2046ll << 52) - __double_as_longlong(scale));
}

__device__ inline Bits scaled(double x, double scale) { return Bits(llrint(x * scale)); }
