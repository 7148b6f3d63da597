// Elements in memory (T) and in registers (W), and the step c ⊕ a ⊗ b.
//
// semiring/kernels/cuda/algebra.py writes `struct Algebra` from a Semiring. Step structs build on it: they define the unit of a
// product's inner loop (a Word of one or more lanes) and how two values of k enter it.
#pragma once
#include "common.cuh"

template <class V>
__device__ V logaddexp(V a, V b) {
    const V high = max(a, b), low = min(a, b);
    return low == -V(INFINITY) ? high : high + log1p(exp(low - high));
}
// float32: y = exp(low − high) by 2ˣ and 1 / x instructions; log(1 + y) = 2 artanh z, z = y / (2 + y), by a polynomial in z²
// up to 1/9, error 4·10⁻⁹. A third of the code: kernels with many copies wait for instructions.
__device__ inline float logaddexp(float a, float b) {
    const float high = max(a, b), low = min(a, b);
    float y, inverse;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"((low - high) * 1.4426950408889634f));
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(inverse) : "f"(2.0f + y));
    const float z = y * inverse, w = z * z;
    const float series = (((0.281577796f * w + 0.279651582f) * w + 0.400245965f) * w + 0.666663229f) * w + 2.0f;
    return low == -INFINITY ? high : high + z * series;
}

// Extreme values of an integer dtype, which represent ±∞.
template <class T> struct Limits {
    using Value = decltype(T() + T());
    static constexpr bool has_sign = T(-1) < T(0);
    static constexpr Value high = Value(~0ULL >> (64 - 8 * sizeof(T) + has_sign)), low = has_sign ? -high - 1 : 0;
};

// Clamp a wide sum or product to the dtype's range.
template <class T, class Wide>
__device__ auto clamp(Wide x) {
    using L = Limits<T>;
    const Wide low = L::low, high = L::high;
    return decltype(L::low)(x < low ? low : x > high ? high : x);
}

// Any semiring: one lane a word, ⊕ and ⊗ as declared.
template <class A>
struct General : A {
    using typename A::T;
    using typename A::W;
    using Word = W;
    static constexpr int lanes = 1;
    static constexpr bool two_pipes = false;  // whether `other_step` is faster for half of a product's steps
    static constexpr bool direct = true;      // whether a Word is a plain value
    static constexpr bool raw = true;         // whether words are copied from memory unchanged, else through `fix`
    static constexpr bool star_is_one = false;

    static __device__ Word spread(T a) { return W(a); }
    static __device__ Word gather(const T* b, int) { return W(*b); }
    static __device__ Word nothing() { return A::zero(); }
    static __device__ W lane(Word c, int) { return c; }
    static __device__ Word begin(Word b) { return b; }  // a sum so far, from an operand
    static __device__ Word operand(Word c) { return spread(lane(c, 0)); }  // an operand, from a sum
    static __device__ Word fix(Word b) { return b; }                       // an operand, from a value in memory
    // Words of several lanes also have stored(c), a sum in memory format, and merge(was, c): was ⊕ c in that format.

    // c ← c ⊕ a₀ ⊗ b₀ ⊕ a₁ ⊗ b₁
    static __device__ void step(Word& c, Word a0, Word b0, Word a1, Word b1) {
        c = A::add(A::add(c, A::mul(a0, b0)), A::mul(a1, b1));
    }
    static __device__ void other_step(Word& c, Word a0, Word b0, Word a1, Word b1, int) { step(c, a0, b0, a1, b1); }
};

// a + b on the multiplication pipe, as a · one + b with a `one` opaque to the compiler. Otherwise it fuses the sum into
// the following minimum, on the only pipe with DPX instructions.
__device__ inline unsigned other_sum(unsigned a, unsigned b, int one) {
    unsigned sum;
    asm("mad.lo.u32 %0, %1, %2, %3;" : "=r"(sum) : "r"(a), "r"(one), "r"(b));
    return sum;
}

// c ← c ⊕ a ⊗ b for two values of k: the inner loop of products. Blocks of walk × wide sums are traversed down one column
// and up the next, so that consecutive instructions share an operand: a register file delivers two words a cycle.
template <class S, int walk, int wide, int tm, int tn, class Word>
__device__ inline void outer_products(Word (&c)[tm][tn], const Word (&a)[2][tm], const Word (&b)[2][tn], int one) {
#pragma unroll
    for (int p = 0; p < tm; p += walk)
#pragma unroll
        for (int q = 0; q < tn; q += wide)
#pragma unroll
            for (int s = 0; s < wide; ++s)
#pragma unroll
                for (int r = 0; r < walk; ++r) {
                    const int j = (p / walk % 2 ? tn - wide - q : q) + s, i = p + (s % 2 ? walk - 1 - r : r);
                    if (S::two_pipes && (i + j) % 2)
                        S::other_step(c[i][j], a[0][i], b[0][j], a[1][i], b[1][j], one);
                    else
                        S::step(c[i][j], a[0][i], b[0][j], a[1][i], b[1][j]);
                }
}

template <class A, class T = typename A::T> struct MinPlusNonnegative;
template <class A, class T = typename A::T> struct MaxPlusNonnegative;
template <class A, bool max_min, class T = typename A::T> struct Bottleneck;
template <class A> using MaxMin = Bottleneck<A, true>;
template <class A> using MinMax = Bottleneck<A, false>;
template <class A, class T = typename A::T> struct MinTimes;
template <class A, class T = typename A::T> struct MaxTimes;

// Bit patterns of non-negative floats sort like integers, +∞ included: one three-way integer minimum takes two sums.
template <class A>
struct MinPlusNonnegative<A, float> : General<A> {
    static constexpr bool star_is_one = true;
    static __device__ void step(float& c, float a0, float b0, float a1, float b1) {
        c = __int_as_float(__vimin3_s32(__float_as_int(c), __float_as_int(a0 + b0), __float_as_int(a1 + b1)));
    }
};

// −∞ has the sign bit, so it is below all of them. −0 would be, too: it is no non-negative weight here.
template <class A>
struct MaxPlusNonnegative<A, float> : General<A> {
    static __device__ void step(float& c, float a0, float b0, float a1, float b1) {
        c = __int_as_float(__vimax3_s32(__float_as_int(c), __float_as_int(a0 + b0), __float_as_int(a1 + b1)));
    }
};

// Bottlenecks sort the same way: one three-way maximum takes two minima, or the other way round.
template <class A, bool max_min>
struct Bottleneck<A, max_min, float> : General<A> {
    static constexpr bool star_is_one = true;
    static __device__ void step(float& c, float a0, float b0, float a1, float b1) {
        const int x0 = __float_as_int(a0), y0 = __float_as_int(b0), x1 = __float_as_int(a1), y1 = __float_as_int(b1);
        if constexpr (max_min) c = __int_as_float(__vimax3_s32(__float_as_int(c), min(x0, y0), min(x1, y1)));
        else c = __int_as_float(__vimin3_s32(__float_as_int(c), max(x0, y0), max(x1, y1)));
    }
};

// Products of non-negative floats sort the same way; 0 · ∞, after underflow, is a NaN of pattern 7fffffff, which loses to
// ∞, as in fminf.
template <class A>
struct MinTimes<A, float> : General<A> {
    static __device__ void step(float& c, float a0, float b0, float a1, float b1) {
        c = __int_as_float(__vimin3_s32(__float_as_int(c), __float_as_int(a0 * b0), __float_as_int(a1 * b1)));
    }
};

// c is negated: −a · b has a pattern of at least 80000000 that grows with a · b, so that an unsigned maximum finds the
// largest; the NaN of 0 · ∞, after overflow, loses, as in fmaxf.
template <class A>
struct MaxTimes<A, float> : General<A> {
    static constexpr bool direct = false;
    static __device__ float nothing() { return -0.0f; }
    static __device__ float lane(float c, int) { return -c; }
    static __device__ float begin(float b) { return -b; }
    static __device__ float operand(float c) { return -c; }
    static __device__ void step(float& c, float a0, float b0, float a1, float b1) {
        c = __uint_as_float(__vimax3_u32(__float_as_uint(c), __float_as_uint(-a0 * b0), __float_as_uint(-a1 * b1)));
    }
};

// Comparisons of doubles, of three instructions where fmin takes eight; a NaN of 0 · ∞ loses.
template <class A>
struct MinTimes<A, double> : General<A> {
    static __device__ void step(double& c, double a0, double b0, double a1, double b1) {
        const double first = a0 * b0, second = a1 * b1;
        c = first < c ? first : c;
        c = second < c ? second : c;
    }
};
template <class A>
struct MaxTimes<A, double> : General<A> {
    static __device__ void step(double& c, double a0, double b0, double a1, double b1) {
        const double first = a0 * b0, second = a1 * b1;
        c = first > c ? first : c;
        c = second > c ? second : c;
    }
};

// ∞ is 2³¹ − 1: the unsigned sum of two distances cannot wrap, and a sum beyond ∞ loses to ∞.
template <class A>
struct MinPlusNonnegative<A, int> : General<A> {
    static constexpr bool star_is_one = true;
    static __device__ int mul(int a, int b) { return int(__viaddmin_u32(a, b, A::zero())); }
    static __device__ void step(int& c, int a0, int b0, int a1, int b1) {
        c = int(__viaddmin_u32(a1, b1, __viaddmin_u32(a0, b0, c)));
    }
    static constexpr bool two_pipes = true;
    static __device__ void other_step(int& c, int a0, int b0, int a1, int b1, int one) {
        c = int(__vimin3_u32(c, other_sum(a0, b0, one), other_sum(a1, b1, one)));
    }
};

template <class A>
struct MinPlusNonnegative<A, long long> : General<A> {
    static constexpr bool star_is_one = true;
    static __device__ long long sum(long long a, long long b) { return (unsigned long long)a + b; }
    static __device__ long long least(unsigned long long a, unsigned long long b) { return min(a, b); }
    static __device__ long long mul(long long a, long long b) { return least(sum(a, b), A::zero()); }
    static __device__ void step(long long& c, long long a0, long long b0, long long a1, long long b1) {
        c = least(least(c, sum(a0, b0)), sum(a1, b1));
    }
};

// 16-bit entries, two columns per word; an element of A is duplicated in both halves.
template <class A>
struct Halves : General<A> {
    using Word = unsigned;
    static constexpr int lanes = 2;
    static constexpr bool direct = false, star_is_one = true;

    static __device__ Word spread(short a) { return 0x10001u * (unsigned short)a; }
    static __device__ Word gather(const short* b, int second) {
        return (unsigned short)b[0] | unsigned((unsigned short)b[second]) << 16;
    }
    static __device__ Word nothing() { return spread(short(A::zero())); }
    static __device__ int lane(Word c, int i) { return short(c >> (16 * i)); }
    static __device__ Word operand(Word c) { return c; }
};

// The same on 16 bits.
template <class A>
struct MinPlusNonnegative<A, short> : Halves<A> {
    using Word = unsigned;

    // c in a new register: 16-byte stores need adjacent registers, in which sums would conflict with operands' banks
    // throughout the loop.
    static __device__ Word stored(Word c) { return __vminu2(c, Halves<A>::nothing()); }
    static __device__ Word merge(Word was, Word c) { return __vminu2(was, c); }
    static __device__ int mul(int a, int b) { return min(a + b, A::zero()); }
    static __device__ void step(Word& c, Word a0, Word b0, Word a1, Word b1) {
        c = __viaddmin_u16x2(a1, b1, __viaddmin_u16x2(a0, b0, c));
    }
    // No half of a sum of two distances carries into the other.
    static constexpr bool two_pipes = true;
    static __device__ void other_step(Word& c, Word a0, Word b0, Word a1, Word b1, int one) {
        c = __vimin3_u16x2(c, other_sum(a0, b0, one), other_sum(a1, b1, one));
    }
};

// −∞ is −2³¹, and a sum of two would wrap. So it is −2³⁰ as an operand, and as a sum anything below 0: entries are too
// small (see dtypes.fast) for a sum with −∞ to reach 0, or 2³¹.
template <class A>
struct MaxPlusNonnegative<A, int> : General<A> {
    static constexpr bool direct = false, raw = false;
    static __device__ int mul(int a, int b) { return (a | b) < 0 ? A::zero() : a + b; }
    static __device__ int fix(int b) { return max(b, -(1 << 30)); }
    static __device__ int spread(int a) { return fix(a); }
    static __device__ int gather(const int* b, int) { return fix(*b); }
    static __device__ int nothing() { return -(1 << 30); }
    static __device__ int lane(int c, int) { return c < 0 ? A::zero() : c; }
    static __device__ int operand(int c) { return c < 0 ? nothing() : c; }
    static __device__ void step(int& c, int a0, int b0, int a1, int b1) {
        c = __viaddmax_s32(a1, b1, __viaddmax_s32(a0, b0, c));
    }
    static constexpr bool two_pipes = true;
    static __device__ void other_step(int& c, int a0, int b0, int a1, int b1, int one) {
        c = __vimax3_s32(c, int(other_sum(a0, b0, one)), int(other_sum(a1, b1, one)));
    }
};

// The same on 16 bits, two columns a word, biased: operands by 2¹⁴, sums by 2¹⁵, −∞ is 0 in both. So no half is negative,
// and none carries into the other.
template <class A>
struct MaxPlusNonnegative<A, short> : General<A> {
    using Word = unsigned;
    static constexpr int lanes = 2;
    static constexpr bool direct = false, raw = false;

    static __device__ int mul(int a, int b) { return (a | b) < 0 ? A::zero() : a + b; }
    static __device__ Word fix(Word b) { return (b | 0x40004000u) & ~negative(b); }
    static __device__ Word spread(short a) { return fix(0x10001u * (unsigned short)a); }
    static __device__ Word gather(const short* b, int second) {
        return fix((unsigned short)b[0] | unsigned((unsigned short)b[second]) << 16);
    }
    static __device__ Word nothing() { return 0; }
    static __device__ int lane(Word c, int i) {
        const int value = int(c >> (16 * i) & 0xffff) - (1 << 15);
        return value < 0 ? A::zero() : value;
    }
    static __device__ Word stored(Word c) { return (c & negative(c)) ^ 0x80008000u; }
    static __device__ Word merge(Word was, Word c) { return stored(__vmaxu2(was ^ 0x80008000u, c)); }
    static __device__ Word begin(Word b) { return (b & 0x40004000u) << 1 | (b & 0x3fff3fffu); }
    static __device__ Word operand(Word c) { return ((c & 0x3fff3fffu) | 0x40004000u) & negative(c); }
    static __device__ void step(Word& c, Word a0, Word b0, Word a1, Word b1) {
        c = __viaddmax_u16x2(a1, b1, __viaddmax_u16x2(a0, b0, c));
    }
    static constexpr bool two_pipes = true;
    static __device__ void other_step(Word& c, Word a0, Word b0, Word a1, Word b1, int one) {
        c = __vimax3_u16x2(c, other_sum(a0, b0, one), other_sum(a1, b1, one));
    }

    // All ones in a half whose highest bit is set.
    static __device__ Word negative(Word b) { return (b >> 15 & 0x10001u) * 0xffffu; }
};

template <class A, bool max_min>
struct Bottleneck<A, max_min, short> : Halves<A> {
    static __device__ unsigned merge(unsigned was, unsigned c) { return max_min ? __vmaxs2(was, c) : __vmins2(was, c); }
    static __device__ unsigned stored(unsigned c) { return merge(c, Halves<A>::nothing()); }  // moved, as above
    static __device__ void step(unsigned& c, unsigned a0, unsigned b0, unsigned a1, unsigned b1) {
        if constexpr (max_min) c = __vimax3_s16x2(c, __vmins2(a0, b0), __vmins2(a1, b1));
        else c = __vimin3_s16x2(c, __vmaxs2(a0, b0), __vmaxs2(a1, b1));
    }
    static __device__ void other_step(unsigned& c, unsigned a0, unsigned b0, unsigned a1, unsigned b1, int) {
        step(c, a0, b0, a1, b1);
    }
};
