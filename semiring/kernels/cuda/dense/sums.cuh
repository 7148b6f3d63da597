// Sums of products, and log-sum-exp, from operands scaled by rows (columns).
//
// log Σₖ exp(aᵢₖ + bₖⱼ) = αᵢ + βⱼ + log Σₖ exp(aᵢₖ − αᵢ) exp(bₖⱼ − βⱼ), where αᵢ is row i's maximum and βⱼ column j's.
// Scaled entries are at most 1; those far below have an absolute instead of a relative error. A sum in which these could
// matter is recognised by its size, and its tile of C is recomputed by other means.
#pragma once
#include "algebra.cuh"

// Of a row of A, or a column of B: maximum (0 if all are −∞), sum of scaled entries, and 1 if any scaled entry has an
// absolute error, else 0.
template <class T>
struct alignas(4 * sizeof(T)) Scale {
    T shift, total, tiny, unused;
};

// `floor`: least ratio of a reliable sum to its possible loss.
template <class T>
__device__ inline bool unreliable(T sum, const Scale<T>& a, const Scale<T>& b, T floor) {
    return !(sum >= floor * (a.tiny * b.total + b.tiny * a.total));
}

// a + b and its rounding error.
__device__ inline float two_sum(float a, float b, float& lost) {
    const float sum = a + b, rest = sum - a;
    lost = (a - (sum - rest)) + (b - rest);
    return sum;
}

// The logarithm of an unscaled sum. In float32 the exponent's part, exact in 16 bits of log 2, and rounding errors are added
// separately, so that the error is that of the mantissa's logarithm, despite cancellation.
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
