// Numerics of the predecessor rule: tight edges and attained sums.

using T = Algebra::T;
using W = Algebra::W;

// No predecessor; undecided. Predecessors found in the current level have the bit `REACHED` until it ends, so that a minimum
// keeps those of earlier levels.
constexpr int NONE = -9999, OPEN = 0x7fffffff, REACHED = 1 << 30;
constexpr int threads = 256, warps = threads / 32, searchers = 512;
// Groups of 32 sources per warp.
constexpr int groups = 4, sources = 32 * groups;
constexpr unsigned full_mask = ~0u;

// Facts about a matrix: whether an edge beats `one`, and the bits of its closure's largest finite |entry|.
struct Facts {
    unsigned long long largest;
    int improving, unused;
};

// Host report: open pairs exist; any found; any failed; number of tight edges.
enum Report { STILL_OPEN, FOUND, FAILED, EDGES };

__device__ inline bool better(W a, W b) { return least ? a < b : a > b; }

__device__ inline W size_of(W a) { return a < W(0) ? W(0) - a : a; }

// The worst entry equal to d: d itself if ⊗ is exact, else slack · |scale| and one subnormal worse.
__device__ inline W limit(W d, W scale, W slack) {
    if (!rounds) return d;
    const W digit = sizeof(W) == 4 ? W(__int_as_float(1)) : W(__longlong_as_double(1));
    const W away = slack * size_of(scale) + digit;
    return least ? d + away : d - away;
}

__device__ inline W larger(W a, W b) { return rounds && size_of(a) > size_of(b) ? a : b; }

// Whether an edge of weight a is a best path of weight d.
__device__ inline bool is_tight(W a, W d, W slack, W floor) {
    return a != Algebra::zero() && d != Algebra::zero() && !better(limit(d, larger(d, floor), slack), a);
}

template <class A = Algebra>
__device__ inline W times(W d, W w, bool mirrored) { return mirrored ? A::mul(w, d) : A::mul(d, w); }

// Whether d ⊗ w is as good as the goal; unless edges may be `improving`, d must be, too.
__device__ inline bool attained(W d, W w, W goal, bool improving, bool mirrored, W slack, W floor) {
    if (!improving && better(goal, d)) return false;
    const W worst = limit(goal, larger(larger(d, goal), floor), slack);
    return !better(worst, times(d, w, mirrored));
}

// If lengths of both signs cancel, a small sum may carry the rounding error of the largest; `wide`: any may.
__device__ inline W floor_of(const Facts& facts, bool wide) {
    if (!rounds || !(wide || (lengths && facts.improving))) return W(0);
    return W(__longlong_as_double((long long)facts.largest));
}
