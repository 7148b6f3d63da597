// Lanes of a part of the tree, from those of the part above: sources below it individually, all others by classes.
//
// A lane outside the subtree enters it through the border alone: distance and path count of each border row. If two lanes'
// distances differ by a constant, with equal shares of paths, they take the same paths through the subtree, and flows
// there are equal up to a factor. So one lane stands for a class: at the farthest member's distance, with the greatest
// path count. Lengths are exact here, hence differences, too.
//
// A class is numbered by its first lane, and unordered sums are of integers: bitwise reproducible. Contributions of a
// warp's lanes to one class are combined first, as neighbours mostly share a class.

// Order-preserving unsigned encoding of lengths, for atomic maxima.
template <int bytes> struct Telling { using Word = unsigned; };
template <> struct Telling<8> { using Word = unsigned long long; };
using Word = Telling<sizeof(Length)>::Word;

// A part below another, with lanes of the upper part: `slots`, first a table place, then the first lane of the class, then
// the lane below; `borders`, distance of the nearest row, and its path count. The table has `mask` + 1 places. `order`: flags
// of classes' first lanes, then prefix counts, `before` of them in other parts. Per lane below: greatest distance of the
// nearest row, and greatest path count.
struct Cut {
    const int* rows;
    int* slots;
    Cell* borders;
    unsigned long long* keys;
    int *firsts, *order;
    Word *nearest, *most;
    int part, above, count, mask; // `count` border rows
    int low, high, near, used; // columns of the subtree; the first source there; lanes below without padding
    int classes, before, owed, flag; // rows of G and flags of the part above that hold dependencies
};

constexpr int NOWHERE = -1, BELOW = -2, abreast = 4;

__device__ inline Word told(float x) { return __float_as_uint(x); } // ≥ 0
__device__ inline Word told(double x) { return Word((long long)x + (1ll << 62)); } // of a length; 0 is none
__device__ inline Number number_told(Word x) {
    if constexpr (sizeof(Number) == 4) return __uint_as_float(x);
    else return __longlong_as_double((long long)x);
}
__device__ inline Word told_number(float x) { return __float_as_uint(x); }
__device__ inline Word told_number(double x) { return Word(__double_as_longlong(x)); }
__device__ inline Length length_told(Word x) {
    if constexpr (sizeof(Length) == 4) return __uint_as_float(x);
    else return Length((long long)x - (1ll << 62));
}

// The border as seen by a lane of the part above: `rows` of its column of Y, relative to the nearest.
struct Border {
    const Cell* Y;
    const int* rows;
    long long pitch;
    Cell near;
    __device__ Border(const Cut& cut, const Part& above, int lane) : Y(above.Y + lane), rows(cut.rows), pitch(above.lanes), near(cut.borders[lane]) {}
    __device__ Cell at(int k) const { return Y[rows[k] * pitch]; }
    __device__ Length further(const Cell& x) const { return x.y < Length(INFINITY) ? x.y - near.y : x.y; }
    __device__ double share(const Cell& x) const { return !(x.y < Length(INFINITY)) ? 0.0 : x.s == near.s ? 1.0 : double(x.s) / double(near.s); }
};

__device__ inline unsigned long long mixed(unsigned long long key, double x) {
    key = (key ^ (unsigned long long)__double_as_longlong(x)) * 0xff51afd7ed558ccdull;
    return key ^ key >> 32;
}

// slots[lane] ← table place of its border's key, which holds the first lane of that key.
extern "C" __global__ void __launch_bounds__(128) class_keys(const Cut* cuts, const Part* parts, int half) {
    const Cut cut = cuts[blockIdx.x];
    const Part above = parts[cut.above];
    const int lane = blockIdx.y * 128 + threadIdx.x, thread = threadIdx.x % 32;
    if (lane - thread >= above.lanes) return;
    const int source = above.starts[lane];
    const bool inside = source >= cut.low && source <= cut.high, out = !inside && above.members[lane] && !(half && source > cut.high);
    if (!out) cut.slots[lane] = inside ? BELOW : NOWHERE;
    if (!__any_sync(everyone, out)) return;
    Cell near{Length(INFINITY), 0};
    const Cell* const Y = above.Y + lane;
#pragma unroll 8
    for (int k = 0; k < cut.count; ++k)
        if (const Cell x = Y[cut.rows[k] * (long long)above.lanes]; x.y < near.y) near = x;
    cut.borders[lane] = near;
    const Border border(cut, above, lane);
    unsigned long long key = 0x9e3779b97f4a7c15ull;
#pragma unroll 8
    for (int k = 0; k < cut.count; ++k) {
        const Cell x = border.at(k);
        key = mixed(mixed(key, border.further(x)), border.share(x));
    }
    key = out ? key | 1 : 0; // 0 is none
    const unsigned same = __match_any_sync(everyone, key);
    int at = int(key >> 32) & cut.mask;
    if (out && thread == __ffs(same) - 1) {
        while (true) {
            const unsigned long long seen = atomicCAS(&cut.keys[at], 0ull, key);
            if (seen == 0 || seen == key) break;
            at = (at + 1) & cut.mask;
        }
        atomicMin(&cut.firsts[at], lane);
    }
    at = __shfl_sync(everyone, at, __ffs(same) - 1);
    if (out) cut.slots[lane] = at;
}

// slots[lane] ← the first lane of its class; order[lane] ← whether it is that. On a hash collision, each lane is a class.
extern "C" __global__ void __launch_bounds__(128) class_firsts(const Cut* cuts, const Part* parts) {
    const Cut cut = cuts[blockIdx.x];
    const Part above = parts[cut.above];
    const int lane = blockIdx.y * 128 + threadIdx.x;
    if (lane >= above.lanes) return;
    int first = cut.slots[lane];
    if (first >= 0) {
        first = cut.firsts[first];
        if (first != lane) {
            const Border mine(cut, above, lane), theirs(cut, above, first);
            bool differ = false;
#pragma unroll 4
            for (int k = 0; k < cut.count; ++k) {
                const Cell x = mine.at(k), y = theirs.at(k);
                differ |= mine.further(x) != theirs.further(y) || mine.share(x) != theirs.share(y);
            }
            if (differ) first = lane;
        }
        cut.slots[lane] = first;
    }
    cut.order[lane] = first == lane;
}

// ends[c] ← number of classes up to the last lane above the c-th part: differences of the prefix sums `order` of `flags`.
extern "C" __global__ void __launch_bounds__(128)
    class_ends(const Cut* cuts, const Part* parts, int count, const int* flags, const int* order, int* ends) {
    const int c = blockIdx.x * 128 + threadIdx.x;
    if (c >= count) return;
    const long long stop = cuts[c].order - flags + parts[cuts[c].above].lanes;
    ends[c] = stop ? order[stop - 1] : 0;
}

// Lane of the part below, by the first lane of its class.
__device__ inline int lane_below(const Cut& cut, const Part& above, int lane, int first) {
    if (first == BELOW) return cut.classes + above.origs[lane] - cut.near;
    return first < 0 ? NOWHERE : cut.order[first] - 1 - cut.before;
}

// Records of lanes below.
extern "C" __global__ void __launch_bounds__(128) class_lanes(const Cut* cuts, const Part* parts) {
    const Cut cut = cuts[blockIdx.x];
    const Part above = parts[cut.above], below = parts[cut.part];
    const int lane = blockIdx.y * 128 + threadIdx.x, thread = threadIdx.x % 32;
    if (lane - thread >= above.lanes) return;
    const int first = cut.slots[lane], to = lane_below(cut, above, lane, first);
    if (first == BELOW) below.starts[to] = above.starts[lane], below.origs[to] = above.origs[lane];
    const int members = to < 0 ? 0 : above.members[lane], times = to < 0 ? 0 : above.times[lane];
    Word nearest = 0, most = 0;
    if (first >= 0) {
        const Cell near = cut.borders[lane];
        if (near.y < Length(INFINITY)) nearest = told(near.y), most = told_number(near.s);
    }
    unsigned left = __ballot_sync(everyone, to >= 0);
    while (left) {
        const int which = __shfl_sync(everyone, to, __ffs(left) - 1);
        const bool mine = to == which;
        const unsigned same = __ballot_sync(everyone, mine);
        left &= ~same;
        const int count = __reduce_add_sync(everyone, mine ? members : 0), sum = __reduce_add_sync(everyone, mine ? times : 0);
        Word far = mine ? nearest : 0, many = mine ? most : 0;
        if constexpr (sizeof(Word) == 4) {
            far = __reduce_max_sync(everyone, unsigned(far)), many = __reduce_max_sync(everyone, unsigned(many));
        } else {
#pragma unroll
            for (int by = 16; by; by /= 2) {
                far = max(far, __shfl_xor_sync(everyone, far, by));
                many = max(many, __shfl_xor_sync(everyone, many, by));
            }
        }
        if (thread != __ffs(same) - 1) continue;
        atomicAdd(&below.members[which], count);
        atomicAdd(&below.times[which], sum);
        if (far) atomicMax(&cut.nearest[which], far);
        if (many) atomicMax(&cut.most[which], many);
    }
}

// Borders of lanes below; slots[lane] ← its lane below.
extern "C" __global__ void __launch_bounds__(128) class_borders(const Cut* cuts, const Part* parts) {
    const Cut cut = cuts[blockIdx.x];
    const Part above = parts[cut.above], below = parts[cut.part];
    const int lane = blockIdx.y * 128 + threadIdx.x;
    if (blockIdx.y == 0)
        for (int to = cut.used + threadIdx.x; to < below.lanes; to += 128)
            for (int k = 0; k < cut.count; ++k) below.Y[k * (long long)below.lanes + to] = {Length(INFINITY), Number(0)};
    if (lane >= above.lanes) return;
    const int first = cut.slots[lane], to = lane_below(cut, above, lane, first);
    cut.slots[lane] = to;
    if (first != BELOW && first != lane) return;
    const Cell* const from = above.Y + lane;
    Cell near{}, greatest{};
    if (first == lane) near = cut.borders[lane], greatest = {length_told(cut.nearest[to]), number_told(cut.most[to])};
    for (int begin = 0; begin < cut.count; begin += abreast) {
        Cell x[abreast];
#pragma unroll
        for (int i = 0; i < abreast; ++i)
            if (begin + i < cut.count) x[i] = from[cut.rows[begin + i] * (long long)above.lanes];
#pragma unroll
        for (int i = 0; i < abreast; ++i) {
            if (begin + i >= cut.count) break;
            if (first == lane && x[i].y < Length(INFINITY)) {
                x[i].y = x[i].y - near.y + greatest.y;
                if (greatest.s != near.s) {
                    const double all = double(x[i].s) * double(greatest.s);
                    x[i].s = Number(all < 9007199254740992.0 ? all / near.s : x[i].s * (double(greatest.s) / near.s));
                }
            }
            below.Y[(begin + i) * (long long)below.lanes + to] = x[i];
        }
    }
}

// Dependencies of a part passed to rows of the part above: each lane gets its share of its class's.
extern "C" __global__ void __launch_bounds__(128) class_owes(const Cut* cuts, const Part* parts) {
    const Cut cut = cuts[blockIdx.x];
    const Part above = parts[cut.above], below = parts[cut.part];
    const int index = blockIdx.y * 4 + threadIdx.x / 32, lane = index * group + threadIdx.x % 32 * each;
    if (index * group >= above.lanes) return;
    int to[each];
    double share[each];
    bool any = false;
#pragma unroll
    for (int e = 0; e < each; ++e) {
        to[e] = cut.slots[lane + e], share[e] = 0;
        if (to[e] < 0) continue;
        any = true;
        if (below.origs[to[e]] >= 0) share[e] = 1;
        else if (const double ways = cut.borders[lane + e].s; ways > 0)
            share[e] = double(above.times[lane + e]) / below.times[to[e]] * (double(number_told(cut.most[to[e]])) / ways);
    }
    if (!__any_sync(everyone, any)) return;
    Owed* const G = above.owed(lane);
#pragma unroll 4
    for (int k = 0; k < cut.count; ++k) {
        Owed sum;
        bool owes = false;
#pragma unroll
        for (int e = 0; e < each; ++e) {
            sum.item[e] = to[e] < 0 ? 0.0 : below.G[k * (long long)below.lanes + to[e]] * share[e];
            owes |= sum.item[e] != 0;
        }
        if (!__any_sync(everyone, owes)) continue;
        G[(cut.owed + k) * (long long)(above.lanes / each)] = sum;
        if (threadIdx.x % 32 == 0) above.taken[(cut.flag + k) * (long long)above.groups() + index] = 1;
    }
}
