// Sums of products, and logarithms of sums of exponentials, from operands that are scaled row by row (column by column).
//
// log Σₖ exp(aᵢₖ + bₖⱼ) = αᵢ + βⱼ + log Σₖ exp(aᵢₖ − αᵢ) exp(bₖⱼ − βⱼ), where αᵢ is row i's maximum and βⱼ column j's.
// The scaled entries are 1 at most. What is far below 1 is kept with an absolute error instead of a relative one, so a sum
// in which such entries could matter is recognized by its size, and its tile of C is computed again by other means.
#pragma once
#include "algebra.cuh"

// Of a row of A, or a column of B: its maximum (0 where all is −∞), the sum of its scaled entries, and whether any entry
// is so small that its scaled value has an absolute error: 1 or 0.
template <class T>
struct alignas(4 * sizeof(T)) Scale {
    T shift, total, tiny, unused;
};

// `floor`: what a sum must be in relation to all that it may have lost.
template <class T>
__device__ inline bool unreliable(T sum, const Scale<T>& a, const Scale<T>& b, T floor) {
    return !(sum >= floor * (a.tiny * b.total + b.tiny * a.total));
}

// a + b, and what its rounding has lost.
__device__ inline float two_sum(float a, float b, float& lost) {
    const float sum = a + b, rest = sum - a;
    lost = (a - (sum - rest)) + (b - rest);
    return sum;
}

// The sum's logarithm at its true height. In float32 the exponent's part, exact in 16 bits of log 2, and what sums lose go
// apart, so that the error is that of the mantissa's logarithm, whatever cancels.
__device__ inline double height(double sum, const Scale<double>& a, const Scale<double>& b) {
    return sum > 0 ? a.shift + b.shift + log(sum) : -INFINITY;
}
__device__ inline float height(float sum, const Scale<float>& a, const Scale<float>& b) {
    const int exponent = (__float_as_int(sum) - 0x3f3504f3) >> 23;
    const float mantissa = __int_as_float(__float_as_int(sum) - exponent * (1 << 23));
    float lost, also_lost;
    const float shifts = two_sum(a.shift, b.shift, lost);
    const float high = two_sum(shifts, exponent * 0.693145751953125f, also_lost);
    const float value = high + (lost + also_lost + (logf(mantissa) + exponent * 1.42860682e-06f));
    return sum > 0 ? value : -INFINITY;
}
