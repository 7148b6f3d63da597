// Common parts of the sweep kernels: lanes and places, steps, rows of y.
#include "sparse.inl"

using Lanes = Vector<T, each>;

struct alignas(8) Range { int low, high; };

__device__ inline void commit_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int groups>
__device__ inline void wait_for_all_but() { asm volatile("cp.async.wait_group %0;" ::"n"(groups) : "memory"); }

__device__ inline void step(Word& c, Word x0, Word p0, Word x1, Word p1) {
    if constexpr (mirrored) S::step(c, p0, x0, p1, x1);
    else S::step(c, x0, p0, x1, p1);
}

__device__ inline Word nil() { return S::spread(T(S::zero())); }

// Initial sums of `columns` columns: v, for lanes below the supernode; `any_on_path`: whether the warp has any.
template <int columns>
__device__ inline void begin(Word (&y)[columns][each], bool any_on_path, const int (&place)[each], Range range, const T* v, long long pitch, int wanted = columns) {
    each_entry<columns, each>([&](int c, int e) { y[c][e] = S::nothing(); });
    if (!any_on_path) return;
#pragma unroll
    for (int c = 0; c < columns; ++c)
#pragma unroll
        for (int e = 0; e < each; ++e)
            if (c < wanted && place[e] >= range.low && place[e] < range.high) y[c][e] = S::begin(S::spread(v[c * pitch + place[e]]));
}

// y ← y ⊕ x₀ ⊗ p₀ ⊕ x₁ ⊗ p₁ for columns of one or more strips.
template <int columns>
__device__ inline void both(Word (&y)[columns][each], const Lanes& x0, const Lanes& x1, const Quad* p0, const Quad* p1) {
#pragma unroll
    for (int c = 0; c < columns; ++c)
#pragma unroll
        for (int e = 0; e < each; ++e)
            step(y[c][e], S::spread(x0.item[e]), S::spread(p0[c / 4].item[c % 4]), S::spread(x1.item[e]), S::spread(p1[c / 4].item[c % 4]));
}

__device__ inline Lanes stored(const Word* y) {
    Lanes v;
#pragma unroll
    for (int e = 0; e < each; ++e) v.item[e] = T(S::lane(y[e], 0));
    return v;
}

__device__ inline void places_of(int (&place)[each], const int* places, int lane, bool inside) {
#pragma unroll
    for (int e = 0; e < each; ++e) place[e] = inside ? places[lane + e] : -1;
}

__device__ inline bool on_path(const int (&place)[each], Range range) {
    bool any = false;
#pragma unroll
    for (int e = 0; e < each; ++e) any |= place[e] >= range.low && place[e] < range.high;
    return __any_sync(0xffffffffu, any);
}

// Rows of y, z or v at a thread's lanes; a row is less than 4 GiB (checked by sweep.py).
struct Rows {
    T* begin;
    unsigned apart;  // bytes
    __device__ Rows(T* begin, long long pitch) : begin(begin), apart(unsigned(pitch * sizeof(T))) {}
    __device__ Lanes* operator[](int row) const {
        return reinterpret_cast<Lanes*>(reinterpret_cast<char*>(begin) + (unsigned long long)(unsigned)row * apart);
    }
};

// Asynchronous copy of one item to shared memory; a plain load if too small.
template <class V>
__device__ inline void request(V* to, const V* from) {
    if constexpr (sizeof(V) < 4) *to = *from;
    else {
        constexpr int part = smaller(sizeof(V), 16);
#pragma unroll
        for (int i = 0; i < int(sizeof(V)); i += part)
            copy_async<part>(reinterpret_cast<char*>(to) + i, reinterpret_cast<const char*>(from) + i);
    }
}

// Columns of a supernode computed together in the top, in strips of four.
struct Tile { int supernode, first, strips; };
