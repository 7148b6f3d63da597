// Entries as keys: unsigned integers, less for better entries, 0 for the semiring's 1, `nothing` for its 0.

__device__ inline float value_of(unsigned key, float) { return __uint_as_float(key); }
__device__ inline double value_of(unsigned long long key, double) { return __longlong_as_double((long long)key); }
__device__ inline int value_of(unsigned key, int) { return int(key); }
__device__ inline long long value_of(unsigned long long key, long long) { return (long long)key; }
__device__ inline unsigned bits_of(float x) { return __float_as_uint(x); }
__device__ inline unsigned long long bits_of(double x) { return (unsigned long long)__double_as_longlong(x); }
__device__ inline unsigned bits_of(int x) { return unsigned(x); }
__device__ inline unsigned long long bits_of(long long x) { return (unsigned long long)x; }

// The entry of a key, in the number type of weights.
__device__ inline Weight number(Key key) {
    if (products) return value_of(greatest ? origin - key : origin + key, Weight());
    return value_of(key, Weight());
}

// The key of an entry ⊗ w, at least the entry's; integer `nothing` does not wrap.
__device__ inline Key extended(Key key, Weight w) {
    if (ranks) return max(key, Key(w));
    if (products) return greatest ? origin - bits_of(Weight(number(key) * w)) : bits_of(Weight(number(key) * w)) - origin;
    return floating ? bits_of(Weight(number(key) + w)) : key + Key(w);
}

// The key of a matrix entry that is a sum, `absent` if there is no arc.
__device__ inline Key key_of(Entry x, Entry absent) {
    return x == absent ? nothing : Key(bits_of(Weight(greatest ? Weight(0) - Weight(x) : Weight(x) + Weight(0))));
}
