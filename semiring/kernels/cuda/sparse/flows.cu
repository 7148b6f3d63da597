// Flow over arcs, from sums over best paths: counting climb and sweep, and their adjoints; see
// semiring/kernels/cpu/sparse/counted.py for the quantities.
//
// A lane is a source; each thread has `each` adjacent lanes, sorted by their columns, a warp a group of them. F(k, c) is the
// length of walks through vertices eliminated before both; only entries that are distances are listed.
//
//   climb, each lane on its own root path:   z_k ← z_k ⊕ z_c + F(c, k)          c < k
//   sweep, parents first, everywhere:        y_c = z_c ⊕ y_k + F(k, c)          (z_c = ∞ off the path)
//   adjoint: a least length passes its dependency to both of its parts.
//
// Low subtrees are *regions*: a warp walks one for its lanes, with the path from its root in shared memory, and passes a
// column's dependencies on once its subtree is done. Above, supernodes go level by level, first down, then up. Sums over
// lanes have a fixed order: within threads, within warps, then over groups.
//
// Sources outside a subtree whose distances to its border differ by a constant take the same paths in it: they share a
// lane. So the tree is cut into parts with their own lanes: the sources below, and classes of the lanes of the part above;
// see classes.inl.
//
// If all arcs have equal weights both ways, and every vertex is a source, best paths from s to t are those from t to s, and
// `half` of them suffice: a lane has demand only at columns after its own, so that a group skips all supernodes before its
// first source. The sum of an entry's two directions is then its flow either way, over all pairs.
//
// The prelude declares Length and Number: float or double.
#ifndef INFINITY
#define INFINITY __int_as_float(0x7f800000)
#endif

struct alignas(2 * sizeof(Length)) Cell { Length y; Number s; };
struct alignas(each == 1 ? 2 * sizeof(Length) : 16) Cells { Cell item[each]; };
struct alignas(each == 1 ? 8 : 16) Owed { double item[each]; };
struct alignas(2 * sizeof(Length)) Entry { Length length; int row; };

// Up to four columns of a supernode in a region: items; the next unit above, or ~root; the first column, its place on the
// path from the root and on the stack (−1: never read), one less for each further column; strip; whether an entry stands for
// several walks.
struct alignas(16) Unit { int begin, up, first, base, strip; short count, own, width, several; int unused; };
struct Region { int low, high; }; // units, and strips
struct Root { int rows, count, first, unused; }; // start of its row list; start of its dependencies
// A supernode above the regions: first column, first row of Y, width, first strip of four columns, part. Or a part's border,
// whose rows come first.
struct alignas(16) Node { int first, row, width, strip, part, border, unused, unused2; };
// Strips of the top: items are rows of Y with a length for each of four columns, ∞ if none or no distance; and the six
// lengths among the columns, those to the first one first.
struct alignas(16) Quad { Length item[4]; };
struct Strips {
    const int* rows;
    const Quad *lengths, *numbers;
    const int *lists, *several;
    const Length *corner, *corner_numbers;
};

// A possible dependency on a row of a strip, from a row of G, if bit (what >> 2) & 3 of the group's `flag` is set. `what` & 3
// is the row; with 16 it comes from a part below, else from a column along an entry, with the sum at `place`.
struct alignas(16) Debt { int flag, row, what, place; };

// Index of the entry between columns c and k > c of four.
__device__ constexpr int corner_of(int c, int k) { return c == 0 ? k - 1 : c + k; }

constexpr unsigned everyone = 0xffffffffu;
constexpr int group = 32 * each;
// Whether lengths are exact, so that lanes may be merged.
constexpr bool classes = !slack;

// A part of the tree. Rows of Y are its border's, then its columns; G adds dependencies of parts below. `taken`: flags of its
// items, from `item` on, then of dependencies; `partial`: sums, from number `sum` on, `sums` per group. Per lane: column,
// source number or −1, number of sources it stands for, and their multiplicity.
struct Part {
    Cell* Y;
    double* G;
    unsigned char* taken;
    double* partial;
    int *starts, *origs, *members, *times;
    int lanes, item, sum, sums;
    __device__ Cells* cells(int lane) const { return reinterpret_cast<Cells*>(Y + lane); }
    __device__ Owed* owed(int lane) const { return reinterpret_cast<Owed*>(G + lane); }
    __device__ int groups() const { return lanes / group; }
    __device__ Owed times_of(int lane) const {
        Owed found;
#pragma unroll
        for (int e = 0; e < each; ++e) found.item[e] = times[lane + e];
        return found;
    }
};

// Sums are stored in fours.
__device__ inline long long fours(int count) { return (count + 3ll) / 4 * 4; }

// Sums of four numbers over a warp's lanes; thread 8 i gets that of x[i]. Each step halves a thread's numbers.
__device__ inline double added_up(const double (&x)[4]) {
    const bool last = threadIdx.x & 16, odd = threadIdx.x & 8;
    const double even_sum = (last ? x[2] : x[0]) + __shfl_xor_sync(everyone, last ? x[0] : x[2], 16);
    const double odd_sum = (last ? x[3] : x[1]) + __shfl_xor_sync(everyone, last ? x[1] : x[3], 16);
    double total = (odd ? odd_sum : even_sum) + __shfl_xor_sync(everyone, odd ? even_sum : odd_sum, 8);
#pragma unroll
    for (int by = 4; by; by /= 2) total += __shfl_xor_sync(everyone, total, by);
    return total;
}

// Consecutive stores of such sums.
struct Sums {
    double* out;
    __device__ explicit Sums(double* out) : out(out) {}
    __device__ void put(const double (&x)[4]) {
        const double total = added_up(x);
        if (threadIdx.x % 8 == 0) out[threadIdx.x % 32 / 8] = total;
        out += 4;
    }
    __device__ void put_none() {
        if (threadIdx.x % 8 == 0) out[threadIdx.x % 32 / 8] = 0;
        out += 4;
    }
    // For sums that are often all zero.
    __device__ void put_any(const double (&x)[4]) {
        if (__any_sync(everyone, x[0] != 0 || x[1] != 0 || x[2] != 0 || x[3] != 0)) put(x);
        else put_none();
    }
};

// A thread's lanes: columns (−1: none); last column that not all of the warp's demand; greatest length so far.
struct Mine {
    int lane, source[each], last = -1;
    const int* origs = nullptr;
    Length farthest = 0;
    Number most = 1;
    __device__ Mine(const Part& part, int index, bool half = false) : Mine(index, part.starts, half) { origs = part.origs + lane; }
    __device__ Mine(int index, const int* starts, bool half = false) : lane(index * group + threadIdx.x % 32 * each) {
#pragma unroll
        for (int e = 0; e < each; ++e) {
            source[e] = starts[lane + e];
            if (half) last = max(last, source[e]);
        }
        if (half) last = int(__reduce_max_sync(everyone, unsigned(last + 1))) - 1;
    }
    __device__ bool below(int e, int low, int high) const { return source[e] >= low && source[e] <= high; }
    __device__ bool any(int low, int high) const {
        bool found = false;
#pragma unroll
        for (int e = 0; e < each; ++e) found |= below(e, low, high);
        return found;
    }
    __device__ void tell(double* greatest) {
#pragma unroll
        for (int by = 16; by; by /= 2) {
            farthest = max(farthest, __shfl_xor_sync(everyone, farthest, by));
            most = max(most, __shfl_xor_sync(everyone, most, by));
        }
        if (threadIdx.x % 32) return;
        auto* const bits = reinterpret_cast<unsigned long long*>(greatest);
        if (double(farthest) > __ldcg(greatest)) atomicMax(bits, (unsigned long long)__double_as_longlong(double(farthest)));
        if (double(most) > __ldcg(greatest + 1)) atomicMax(bits + 1, (unsigned long long)__double_as_longlong(double(most)));
    }
};

// Lengths and path counts of a thread's lanes.
struct Best {
    Length y[each];
    Number s[each];
    __device__ Best() {
#pragma unroll
        for (int e = 0; e < each; ++e) y[e] = Length(INFINITY), s[e] = 0;
    }
    __device__ explicit Best(const Cells& cells) {
#pragma unroll
        for (int e = 0; e < each; ++e) y[e] = cells.item[e].y, s[e] = cells.item[e].s;
    }
    __device__ Cells cells() const {
        Cells made;
#pragma unroll
        for (int e = 0; e < each; ++e) made.item[e].y = y[e], made.item[e].s = s[e];
        return made;
    }
    __device__ void meet(const Cells& x, Length length, Number number) {
#pragma unroll
        for (int e = 0; e < each; ++e) meet(e, x.item[e].y + length, number * x.item[e].s);
    }
    __device__ void meet(int e, Length t, Number number) {
        const Length least = min(t, y[e]);
        if constexpr (slack) {
            const Length most = least * Length(scale);
            s[e] = (y[e] <= most ? s[e] : Number(0)) + (t <= most ? number : Number(0));
        } else {
            if (t < y[e]) s[e] = 0;
            if (t == least) s[e] += number;
        }
        y[e] = least;
    }
    // An unreached column gets a NaN length, equal to none.
    __device__ void drop_unreached() {
#pragma unroll
        for (int e = 0; e < each; ++e)
            if (!(y[e] < Length(INFINITY))) y[e] = Length(INFINITY) - Length(INFINITY);
    }
    __device__ bool alike(const Cells& x, Length length) const {
        bool any = false;
#pragma unroll
        for (int e = 0; e < each; ++e) any |= x.item[e].y + length == y[e];
        return any;
    }
    // z, for lanes below the column.
    __device__ void begin(const Mine& mine, const Cell* z, int low, int high) {
#pragma unroll
        for (int e = 0; e < each; ++e)
            if (mine.below(e, low, high)) {
                const Cell cell = z[mine.origs[e]];
                y[e] = cell.y, s[e] = cell.s;
            }
    }
    // Dependencies of the climb: of walks that end on the path.
    __device__ void leave(const Mine& mine, const Owed& g, const Cell* z, double* owed, int low, int high) const {
#pragma unroll
        for (int e = 0; e < each; ++e)
            if (mine.below(e, low, high)) owed[mine.origs[e]] = z[mine.origs[e]].y == y[e] ? g.item[e] : 0;
    }
    // Pass dependencies to a part with lengths x and counts `ways`, where it is as long; returns the entry's flow per walk.
    __device__ double back(const Cells& x, const Owed& ways, Length length, double number, const Owed& g, Owed& owed) const {
        double sum = 0;
#pragma unroll
        for (int e = 0; e < each; ++e)
            if (x.item[e].y + length == y[e]) owed.item[e] += number * g.item[e], sum += ways.item[e] * g.item[e];
        return sum;
    }
};

__device__ inline Owed ways_of(const Cells& x) {
    Owed found;
#pragma unroll
    for (int e = 0; e < each; ++e) found.item[e] = double(x.item[e].s);
    return found;
}

// 1 / s, to the last bit or two, by two Newton steps; exact for 1.
__device__ inline double inverse(float s) {
    const double x = s, guess = 1.0f / s, better = guess + guess * (1 - x * guess);
    return better + better * (1 - x * better);
}
__device__ inline double inverse(double s) { return 1 / s; }

// Demand at four columns from `column` on, per walk of each lane that reaches them: `wanted` times the multiplicity.
__device__ inline void ask(const Best (&best)[4], int column, int width, const double* wanted, const Owed& times, const Mine& mine, Owed (&g)[4]) {
    bool one = true;
#pragma unroll
    for (int c = 0; c < 4; ++c) {
        const double demand = c < width ? wanted[c] : 0.0;
#pragma unroll
        for (int e = 0; e < each; ++e) {
            g[c].item[e] = demand * times.item[e], one &= c >= width || best[c].s[e] == 1;
        }
    }
    if (column <= mine.last) {
#pragma unroll
        for (int c = 0; c < 4; ++c)
#pragma unroll
            for (int e = 0; e < each; ++e)
                if (mine.source[e] >= column + c) g[c].item[e] = 0;
    }
    if (!__any_sync(everyone, !one)) return;
#pragma unroll
    for (int c = 0; c < 4; ++c)
#pragma unroll
        for (int e = 0; e < each; ++e) {
            const Number s = c < width ? best[c].s[e] : Number(1);
            g[c].item[e] = s > 0 ? g[c].item[e] * inverse(s) : 0;
        }
}

// Count the sources that do not reach each of four columns; update the farthest length and the most walks.
__device__ inline void survey(const Best (&best)[4], int width, Mine& mine, const int* members, int* missing) {
    bool all = true;
#pragma unroll
    for (int c = 0; c < 4; ++c)
#pragma unroll
        for (int e = 0; e < each; ++e) {
            if (c >= width) continue;
            const bool reached = best[c].y[e] < Length(INFINITY);
            mine.farthest = max(mine.farthest, reached ? best[c].y[e] : Length(0)), mine.most = max(mine.most, best[c].s[e]);
            all &= reached;
        }
    if (!__any_sync(everyone, !all)) return;
#pragma unroll
    for (int c = 0; c < 4; ++c) {
        int lost = 0;
#pragma unroll
        for (int e = 0; e < each; ++e) lost += c < width && !(best[c].y[e] < Length(INFINITY)) ? members[mine.lane + e] : 0;
        lost = __reduce_add_sync(everyone, lost);
        if (lost && threadIdx.x % 32 == 0) atomicAdd(missing + c, lost);
    }
}

// Dependencies among four columns, the first one first.
__device__ inline void corner_back(const Best (&best)[4], Owed (&g)[4], const Length* corner, const Number* numbers, Sums& sums) {
    double found[6];
#pragma unroll
    for (int c = 0; c < 3; ++c)
#pragma unroll
        for (int k = c + 1; k < 4; ++k) {
            const int entry = corner_of(c, k);
            const Cells x = best[k].cells();
            found[entry] = best[c].back(x, ways_of(x), corner[entry], numbers ? double(numbers[entry]) : 1.0, g[c], g[k]);
        }
    sums.put_any({found[0], found[1], found[2], found[3]});
    sums.put_any({found[4], found[5], 0, 0});
}

// Dependencies of four columns on a row above them.
__device__ inline void row_back(const Best (&best)[4], const Owed (&g)[4], const Cells& x, const Quad& length, const Quad* numbers, Owed& owed, Sums& sums) {
    const Owed ways = ways_of(x);
    double found[4];
#pragma unroll
    for (int c = 0; c < 4; ++c) found[c] = best[c].back(x, ways, length.item[c], numbers ? double(numbers->item[c]) : 1.0, g[c], owed);
    sums.put(found);
}

template <class V> __device__ inline void bring(V* to, const V* from, int count) {
    for (int i = threadIdx.x; i < count; i += blockDim.x) to[i] = from[i];
}

// y and counts of four columns, from rows above.
template <int together, class Above>
__device__ inline void descend_rows(Best (&best)[4], int begin, int end, const Quad* lengths, const Quad* numbers, Above above) {
#pragma unroll together
    for (int k = begin; k < end; ++k) {
        const Cells x = above(k);
        const Quad length = lengths[k];
#pragma unroll
        for (int c = 0; c < 4; ++c) best[c].meet(x, length.item[c], numbers ? numbers[k].item[c] : Number(1));
    }
}

// And from one another, the last one first.
__device__ inline void descend_corner(Best (&best)[4], const Length* corner, const Number* numbers) {
#pragma unroll
    for (int c = 3; c >= 0; --c) {
#pragma unroll
        for (int k = 3; k > c; --k) {
            const int entry = corner_of(c, k);
            best[c].meet(best[k].cells(), corner[entry], numbers ? numbers[entry] : Number(1));
        }
#pragma unroll
        for (int e = 0; e < each; ++e)
            if (!(best[c].y[e] < Length(INFINITY))) best[c].s[e] = 0;
    }
}

#include "lists.inl"
#include "classes.inl"

extern "C" __global__ void __launch_bounds__(32 * warps)
    walk_regions(const Region* regions, const int* part_of, int count, const Unit* units, const int* item_slots, const Quad* item_lengths,
                 const Quad* item_numbers, const int* lists, const Length* corners, const Length* corner_numbers, const Root* roots, const int* rows,
                 const double* wanted, const int* lowest, const Part* parts, const Cell* z, double* z_owed, int all, int* missing, double* greatest,
                 int half, int stack) {
    extern __shared__ __align__(16) unsigned char shared[];
    const Region region = regions[blockIdx.x % count];
    const Part part = parts[part_of[blockIdx.x % count]];
    const int warp = threadIdx.x / 32, thread = threadIdx.x % 32, index = blockIdx.x / count * warps + warp, pitch = part.lanes / each;
    const int first = lists[region.low], many = lists[region.high] - first, high = region.high - region.low;
    const int last = units[region.high - 1].first + units[region.high - 1].width - 1, begun = blockIdx.x / count * warps * group;
    if (begun >= part.lanes || (half && part.starts[begun] > last)) return;
    auto* const paths = reinterpret_cast<Cells*>(shared);
    auto* const owes = reinterpret_cast<Owed*>(paths + warps * stack * 32);
    auto* const asked = reinterpret_cast<double*>(owes + warps * stack * 32);
    auto* const own_units = reinterpret_cast<Unit*>(asked + 4 * high);
    auto* lengths = reinterpret_cast<Quad*>(own_units + high);
    auto* own_corners = reinterpret_cast<Length*>(lengths + many);
    auto* slots = reinterpret_cast<int*>(own_corners + 6 * high);
    for (int i = threadIdx.x; i < 4 * high; i += blockDim.x) {
        const Unit& unit = units[region.low + i / 4];
        asked[i] = i % 4 < unit.width ? wanted[unit.first + i % 4] : 0;
    }
    bring(own_units, units + region.low, high);
    bring(lengths, item_lengths + first, many);
    bring(own_corners, corners + 6 * region.low, 6 * high);
    bring(slots, item_slots + first, many);
    __syncthreads();
    if (index * group >= part.lanes || (half && part.starts[index * group] > last)) return;
    lengths -= first, slots -= first, own_corners -= 6 * region.low;
    Cells* const path = paths + warp * stack * 32 + thread;
    Owed* const owed = owes + warp * stack * 32 + thread;
    Mine mine(part, index, half);
    const Owed times = part.times_of(mine.lane);
    const Cells* const Y = part.cells(mine.lane);
    Owed* const G = part.owed(mine.lane);
    const bool near = __any_sync(everyone, mine.any(own_units[0].first, last));
    Sums sums(part.partial + index * (long long)part.sums + (4ll * first + 8ll * region.low - part.sum));
    int opened = high, closed = high, next = -1; // units from `closed` up to `next` are finished before another is opened
#pragma unroll 1
    while (true) {
        const bool closing = closed < high && closed + region.low != next;
        if (!closing && opened == 0) break;
        const int now = closing ? closed : --opened;
        const Unit unit = own_units[now];
        if (!closing) {
            closed = now, next = now > 0 ? own_units[now - 1].up : -1;
            if (unit.up < 0) {
                const Root root = roots[~unit.up];
#pragma unroll 4
                for (int k = 0; k < root.count; ++k) {
                    path[k * 32] = Y[rows[root.rows + k] * (long long)pitch];
                    owed[k * 32] = Owed{};
                }
            }
            if (unit.own < 0) continue; // y is computed when it is finished
        }
        Best best[4];
        Owed g[4];
        if (closing && unit.own >= 0) {
#pragma unroll
            for (int c = 0; c < 4; ++c)
                if (c < unit.width) best[c] = Best(path[(unit.own - c) * 32]), g[c] = owed[(unit.own - c) * 32];
                else g[c] = Owed{};
        } else {
            if (near) {
#pragma unroll
                for (int c = 0; c < 4; ++c)
                    if (c < unit.width) best[c].begin(mine, z + (unit.base - c) * (long long)all, lowest[unit.first + c], unit.first + c);
            }
            descend_rows<2>(best, unit.begin, unit.begin + unit.count, lengths, unit.several ? item_numbers : nullptr,
                            [&](int k) { return path[slots[k] * 32]; });
            descend_corner(best, own_corners + 6 * unit.strip, unit.several ? corner_numbers + 6 * unit.strip : nullptr);
            survey(best, unit.width, mine, part.members, missing + unit.first);
            ask(best, unit.first, unit.width, asked + 4 * now, times, mine, g);
        }
        if (!closing) {
#pragma unroll
            for (int c = 0; c < 4; ++c)
                if (c < unit.width) path[(unit.own - c) * 32] = best[c].cells(), owed[(unit.own - c) * 32] = g[c];
            continue;
        }
        corner_back(best, g, own_corners + 6 * unit.strip, unit.several ? corner_numbers + 6 * unit.strip : nullptr, sums);
        if (near) {
#pragma unroll
            for (int c = 0; c < 4; ++c) {
                const long long place = (unit.base - c) * (long long)all;
                if (c < unit.width) best[c].leave(mine, g[c], z + place, z_owed + place, lowest[unit.first + c], unit.first + c);
            }
        }
#pragma unroll
        for (int c = 0; c < 4; ++c) best[c].drop_unreached();
#pragma unroll 1
        for (int k = unit.begin; k < unit.begin + unit.count; ++k) {
            const int slot = slots[k] * 32;
            const Cells x = path[slot];
            const Quad length = lengths[k];
            bool any = false;
#pragma unroll
            for (int c = 0; c < 4; ++c) any |= best[c].alike(x, length.item[c]);
            if (!__any_sync(everyone, any)) { // true of most rows
                sums.put_none();
                continue;
            }
            Owed above = owed[slot];
            row_back(best, g, x, length, unit.several ? item_numbers + k : nullptr, above, sums);
            owed[slot] = above;
        }
        closed = unit.up >= 0 ? unit.up - region.low : high;
        if (unit.up >= 0) continue;
        const Root root = roots[~unit.up];
        for (int k = 0; k < root.count; ++k) {
            const Owed sum = owed[k * 32];
            bool any = false;
#pragma unroll
            for (int e = 0; e < each; ++e) any |= sum.item[e] != 0;
            any = __any_sync(everyone, any);
            if (any || classes) G[(root.first + k) * (long long)pitch] = sum;
            if (thread == 0) part.taken[(root.first + k) * (long long)part.groups() + index] = any;
        }
    }
    mine.tell(greatest);
}

// y of the supernodes of a level of the top, four columns at a time. Bit c of taken[k, group] (initially 0) is set if a lane
// of the group takes item k to column c: few do.
extern "C" __global__ void __launch_bounds__(128)
    sweep_down(const Node* nodes, int count, const int* strip_rows, const Quad* strip_lengths, const Quad* strip_numbers, const int* strip_lists,
               const int* several_in, const Length* corner, const Length* corner_numbers,
               const int* lowest, const int* base, const Part* parts, const Cell* z, int all, int* missing, double* greatest, int half) {
    const Node node = nodes[blockIdx.x % count];
    const Part part = parts[node.part];
    const int index = blockIdx.x / count * 4 + threadIdx.x / 32, pitch = part.lanes / each;
    if (index * group >= part.lanes || (half && part.starts[index * group] >= node.first + node.width)) return;
    const Strips strips{strip_rows, strip_lengths, strip_numbers, strip_lists, several_in, corner, corner_numbers};
    Mine mine(part, index);
    Cells* const Y = part.cells(mine.lane);
    unsigned char* const taken = part.taken + index - part.item * (long long)part.groups();
    for (int strip = (node.width - 1) / 4; strip >= 0; --strip) {
        const int at = node.strip + strip, first = 4 * strip, begin = strips.lists[at], end = strips.lists[at + 1];
        const bool several = strips.several[at];
        Best best[4];
#pragma unroll
        for (int c = 0; c < 4; ++c) {
            const int column = node.first + min(first + c, node.width - 1);
            if (first + c < node.width) best[c].begin(mine, z + (long long)base[column] * all, lowest[column], column);
        }
        const auto above = [&](int k) { return Y[strips.rows[k] * (long long)pitch]; };
        // Spans of rows in which any entry improved or tied; elsewhere no lane takes a row.
        const int span = max(8, (end - begin + 31) / 32);
        unsigned changed = 0;
        for (int start = begin, turn = 0; start < end; start += span, ++turn) {
            const Best before[4] = {best[0], best[1], best[2], best[3]};
            descend_rows<4>(best, start, min(start + span, end), strips.lengths, several ? strips.numbers : nullptr, above);
            bool other = false;
#pragma unroll
            for (int c = 0; c < 4; ++c)
#pragma unroll
                for (int e = 0; e < each; ++e) other |= best[c].y[e] != before[c].y[e] || best[c].s[e] != before[c].s[e];
            changed |= unsigned(__any_sync(everyone, other) != 0) << turn;
        }
        descend_corner(best, strips.corner + 6 * at, several ? strips.corner_numbers + 6 * at : nullptr);
        survey(best, min(4, node.width - first), mine, part.members, missing + node.first + first);
#pragma unroll
        for (int c = 0; c < 4; ++c)
            if (first + c < node.width) Y[(node.row + first + c) * (long long)pitch] = best[c].cells();
#pragma unroll
        for (int c = 0; c < 4; ++c) best[c].drop_unreached();
        for (; changed; changed &= changed - 1) {
            const int low = begin + (__ffs(changed) - 1) * span, high = min(low + span, end);
            for (int start = low; start < high; start += 32) {
                unsigned own = 0;
#pragma unroll 4
                for (int k = start; k < min(start + 32, high); ++k) {
                    const Cells x = above(k);
                    const Quad length = strips.lengths[k];
                    unsigned found = 0;
#pragma unroll
                    for (int c = 0; c < 4; ++c) found |= unsigned(__any_sync(everyone, best[c].alike(x, length.item[c])) != 0) << c;
                    if (k - start == threadIdx.x % 32) own = found;
                }
                if (start + threadIdx.x % 32 < high) taken[(start + threadIdx.x % 32) * (long long)part.groups()] = own;
            }
        }
    }
    mine.tell(greatest);
}

// Dependencies on the columns of a level of the top, once all below are done, or on a part's border: gathered from candidates
// in a fixed order, four at a time; few are set.
extern "C" __global__ void __launch_bounds__(128)
    sweep_up(const Node* nodes, int count, const int* strip_rows, const Quad* strip_lengths, const Quad* strip_numbers, const int* strip_lists,
             const int* several_in, const Length* corner, const Length* corner_numbers,
             const double* wanted, const Debt* debts, const Length* debt_lengths, const Number* debt_numbers, const int* debt_lists,
             const int* lowest, const int* base, const Part* parts, const Cell* z, double* z_owed, int all, int half) {
    __shared__ Cells cells[4][4][32];
    __shared__ Owed waiting[4][4][32];
    const Node node = nodes[blockIdx.x % count];
    const Part part = parts[node.part];
    const int warp = threadIdx.x / 32, thread = threadIdx.x % 32, index = blockIdx.x / count * 4 + warp, pitch = part.lanes / each, groups = part.groups();
    if (index * group >= part.lanes || (half && !node.border && part.starts[index * group] >= node.first + node.width)) return;
    const Mine mine(part, index, half);
    const Owed times = part.times_of(mine.lane);
    const Cells* const Y = part.cells(mine.lane);
    Owed* const G = part.owed(mine.lane);
    const unsigned char* const taken = part.taken + index;
    double* const partial = part.partial + index * (long long)part.sums - part.sum;
#pragma unroll 1
    for (int strip = 0; 4 * strip < node.width; ++strip) {
        const int at = node.strip + strip, first = 4 * strip, width = min(4, node.width - first), column = node.first + first;
        Best best[4];
        Owed g[4];
#pragma unroll
        for (int c = 0; c < 4; ++c) {
            if (c < width) best[c] = Best(Y[(node.row + first + c) * (long long)pitch]);
            cells[warp][c][thread] = best[c].cells(), waiting[warp][c][thread] = Owed{};
        }
        const int end = debt_lists[at + 1];
#pragma unroll 1
        for (int k = debt_lists[at] + thread; k - thread < end; k += 32) {
            const Debt own = k < end ? debts[k] : Debt{};
            const Length own_length = k < end ? debt_lengths[k] : Length(0);
            const Number own_number = k < end ? debt_numbers[k] : Number(0);
            unsigned left = __ballot_sync(everyone, k < end && taken[own.flag * (long long)groups] >> (own.what >> 2 & 3) & 1);
#pragma unroll 1
            while (left) {
                int from[4], what[4];
                Cells x[4];
                Owed owed[4];
#pragma unroll
                for (int i = 0; i < 4; ++i) {
                    from[i] = __ffs(left) - 1, left &= left - 1; // −1 is none
                    what[i] = __shfl_sync(everyone, own.what, from[i] & 31);
                    const long long row = __shfl_sync(everyone, own.row, from[i] & 31) * (long long)pitch;
                    if (from[i] < 0) continue;
                    owed[i] = G[row];
                    if (what[i] < 16) x[i] = Y[row];
                }
                double found[4] = {};
                int place = -1;
#pragma unroll
                for (int i = 0; i < 4; ++i) {
                    const Length length = __shfl_sync(everyone, own_length, from[i] & 31);
                    const double number = __shfl_sync(everyone, own_number, from[i] & 31);
                    const int there = __shfl_sync(everyone, own.place, from[i] & 31);
                    if (from[i] < 0) continue;
                    if (thread == 8 * i) place = there;
                    const Cells here = cells[warp][what[i] & 3][thread];
                    Owed total = waiting[warp][what[i] & 3][thread];
#pragma unroll
                    for (int e = 0; e < each; ++e) {
                        if (what[i] >= 16) total.item[e] += owed[i].item[e];
                        else if (here.item[e].y + length == x[i].item[e].y)
                            total.item[e] += number * owed[i].item[e], found[i] += double(here.item[e].s) * owed[i].item[e];
                    }
                    waiting[warp][what[i] & 3][thread] = total;
                }
                const double sum = added_up(found);
                if (place >= 0) partial[place] = sum;
            }
        }
        if (node.border) {
#pragma unroll
            for (int c = 0; c < 4; ++c)
                if (c < width) G[(first + c) * (long long)pitch] = waiting[warp][c][thread];
            continue;
        }
        ask(best, column, width, wanted + column, times, mine, g);
#pragma unroll
        for (int c = 0; c < 4; ++c)
#pragma unroll
            for (int e = 0; e < each; ++e) g[c].item[e] += waiting[warp][c][thread].item[e];
        Sums sums(partial + 4ll * strip_lists[at] + 8ll * at);
        corner_back(best, g, corner + 6 * at, several_in[at] ? corner_numbers + 6 * at : nullptr, sums);
#pragma unroll
        for (int c = 0; c < 4; ++c) {
            if (c >= width) continue;
            const long long place = (long long)base[column + c] * all;
            best[c].leave(mine, g[c], z + place, z_owed + place, lowest[column + c], column + c);
            G[(node.row + first + c) * (long long)pitch] = g[c];
        }
    }
}

// z of all lanes on their root paths, up to the top, and the region columns there; ∞ further up.
extern "C" __global__ void __launch_bounds__(128)
    climb(const Entry* entries, const Number* numbers, const int* lists, const int* above, const int* base, const int* bottom, const int* which,
          const int* starts, Cells* z, Owed* z_owed, int* path, int lanes) {
    const int index = blockIdx.x * 4 + threadIdx.x / 32, pitch = lanes / each;
    if (index * group >= lanes) return;
    Mine mine(index, starts);
    const int lane = mine.lane / each;
    z += lane, z_owed += lane, path += mine.lane;
    const Best none;
    int deepest = 0, now[each];
#pragma unroll
    for (int e = 0; e < each; ++e) deepest = max(deepest, mine.source[e] >= 0 ? bottom[mine.source[e]] + 1 : 0);
    for (int k = 0; k < deepest; ++k) {
        z[k * (long long)pitch] = none.cells(), z_owed[k * (long long)pitch] = Owed{};
#pragma unroll
        for (int e = 0; e < each; ++e) path[k * (long long)lanes + e] = -1;
    }
#pragma unroll
    for (int e = 0; e < each; ++e) {
        now[e] = -1;
        if (mine.source[e] < 0) continue;
        Cell& own = z[base[mine.source[e]] * (long long)pitch].item[e];
        own.y = 0, own.s = 1;
        if (which[mine.source[e]] >= 0) now[e] = mine.source[e];
    }
#pragma unroll 1
    while (true) {
        unsigned least = everyone;
#pragma unroll
        for (int e = 0; e < each; ++e) least = min(least, unsigned(now[e]));
        least = __reduce_min_sync(everyone, least);
        if (least == everyone) return;
        const int c = least, begin = lists[c], end = lists[c + 1];
        bool active[each], any = false;
#pragma unroll
        for (int e = 0; e < each; ++e) active[e] = now[e] == c, any |= active[e];
        if (!any) continue;
        const Cells here = z[base[c] * (long long)pitch];
        for (int k = begin; k < end; ++k) {
            const Entry entry = entries[k];
            Best best(z[entry.row * (long long)pitch]);
#pragma unroll
            for (int e = 0; e < each; ++e)
                if (active[e]) best.meet(e, here.item[e].y + entry.length, numbers[k] * here.item[e].s);
            z[entry.row * (long long)pitch] = best.cells();
        }
        const int next = above[c];
#pragma unroll
        for (int e = 0; e < each; ++e)
            if (active[e]) path[base[c] * (long long)lanes + e] = c, now[e] = next >= 0 && which[next] >= 0 ? next : -1;
    }
}

// A warp's path state for lanes below one supernode of the top; other lanes are ∞, without dependencies, and stay unchanged.
struct Path {
    Cells* z;
    Owed* owed;
    bool active[each];
    long long pitch;
    __device__ bool find(const Mine& mine, int low, int high) {
        bool any = false;
#pragma unroll
        for (int e = 0; e < each; ++e) active[e] = mine.below(e, low, high), any |= active[e];
        return __any_sync(everyone, any);
    }
    __device__ Best best(int place) const {
        Best found(z[place * pitch]);
#pragma unroll
        for (int e = 0; e < each; ++e)
            if (!active[e]) found.y[e] = Length(INFINITY), found.s[e] = 0;
        return found;
    }
    __device__ Owed owes(int place) const {
        Owed found = owed[place * pitch];
#pragma unroll
        for (int e = 0; e < each; ++e)
            if (!active[e]) found.item[e] = 0;
        return found;
    }
    __device__ void put(int place, const Best& best) {
#pragma unroll
        for (int e = 0; e < each; ++e)
            if (active[e]) {
                Cell& to = z[place * pitch].item[e];
                to.y = best.y[e], to.s = best.y[e] < Length(INFINITY) ? best.s[e] : Number(0);
            }
    }
    __device__ void put(int place, const Owed& g) {
#pragma unroll
        for (int e = 0; e < each; ++e)
            if (active[e]) owed[place * pitch].item[e] = g.item[e];
    }
};

// The climb through the supernodes of a level of the top, for the lanes below each.
extern "C" __global__ void __launch_bounds__(128)
    climb_level(const Node* nodes, int count, const int* strip_rows, const Quad* strip_lengths, const Quad* strip_numbers, const int* strip_lists,
                const int* several_in, const Length* corner, const Length* corner_numbers, const int* lowest, const int* base, const int* starts,
                Cells* z, Owed* z_owed, int lanes) {
    const Node node = nodes[blockIdx.x % count];
    const int index = blockIdx.x / count * 4 + threadIdx.x / 32;
    if (index * group >= lanes) return;
    const Strips strips{strip_rows, strip_lengths, strip_numbers, strip_lists, several_in, corner, corner_numbers};
    const Mine mine(index, starts);
    Path path{z + mine.lane / each, z_owed + mine.lane / each, {}, lanes / each};
    if (!path.find(mine, lowest[node.first], node.first + node.width - 1)) return;
    const int top = base[node.first + node.width - 1] + node.width - 1; // place of column c: top − c
    for (int strip = 0; 4 * strip < node.width; ++strip) {
        const int at = node.strip + strip, first = 4 * strip, begin = strips.lists[at], end = strips.lists[at + 1];
        const bool several = strips.several[at];
        Best best[4];
#pragma unroll
        for (int c = 0; c < 4; ++c)
            if (first + c < node.width) best[c] = path.best(top - first - c);
#pragma unroll
        for (int c = 0; c < 4; ++c) {
#pragma unroll
            for (int k = c + 1; k < 4; ++k) {
                const int entry = 6 * at + corner_of(c, k);
                best[k].meet(best[c].cells(), strips.corner[entry], several ? strips.corner_numbers[entry] : Number(1));
            }
            if (first + c < node.width) path.put(top - first - c, best[c]);
#pragma unroll
            for (int e = 0; e < each; ++e)
                if (!(best[c].y[e] < Length(INFINITY))) best[c].s[e] = 0;
        }
#pragma unroll 2
        for (int k = begin; k < end; ++k) {
            const int place = strips.rows[k];
            const Quad length = strips.lengths[k];
            Best above = path.best(place);
#pragma unroll
            for (int c = 0; c < 4; ++c) above.meet(best[c].cells(), length.item[c], several ? strips.numbers[k].item[c] : Number(1));
            path.put(place, above);
        }
    }
}

// Adjoint of `climb_level`, parents first. Sums of a strip begin at places[strip], group by group.
extern "C" __global__ void __launch_bounds__(128)
    climb_back_level(const Node* nodes, int count, const int* strip_rows, const Quad* strip_lengths, const Quad* strip_numbers, const int* strip_lists,
                     const int* several_in, const Length* corner, const Length* corner_numbers, const int* lowest, const int* base, const int* starts,
                     Cells* z, Owed* z_owed, int lanes, const long long* places, const int* first_group, double* partial) {
    const Node node = nodes[blockIdx.x % count];
    const int index = blockIdx.x / count * 4 + threadIdx.x / 32;
    if (index * group >= lanes) return;
    const Strips strips{strip_rows, strip_lengths, strip_numbers, strip_lists, several_in, corner, corner_numbers};
    const Mine mine(index, starts);
    Path path{z + mine.lane / each, z_owed + mine.lane / each, {}, lanes / each};
    if (!path.find(mine, lowest[node.first], node.first + node.width - 1)) return;
    const int top = base[node.first + node.width - 1] + node.width - 1;
    for (int strip = (node.width - 1) / 4; strip >= 0; --strip) {
        const int at = node.strip + strip, first = 4 * strip, begin = strips.lists[at], end = strips.lists[at + 1];
        const bool several = strips.several[at];
        double* const out = partial + places[at] + (index - first_group[at]) * (4ll * (end - begin) + 8);
        Best best[4];
        Owed g[4];
#pragma unroll
        for (int c = 0; c < 4; ++c) {
            g[c] = Owed{};
            if (first + c < node.width) best[c] = path.best(top - first - c), g[c] = path.owes(top - first - c);
        }
        Owed ways[4];
#pragma unroll
        for (int c = 0; c < 4; ++c) ways[c] = ways_of(best[c].cells());
        Sums sums(out + 8);
#pragma unroll 2
        for (int k = begin; k < end; ++k) {
            const int place = strips.rows[k];
            const Quad length = strips.lengths[k];
            Best above = path.best(place);
            const Owed owed = path.owes(place);
            above.drop_unreached();
            bool any = false;
#pragma unroll
            for (int c = 0; c < 4; ++c)
#pragma unroll
                for (int e = 0; e < each; ++e) any |= owed.item[e] != 0 && best[c].y[e] + length.item[c] == above.y[e];
            if (!__any_sync(everyone, any)) { // true of most rows
                sums.put_none();
                continue;
            }
            double found[4];
#pragma unroll
            for (int c = 0; c < 4; ++c) {
                const double number = several ? double(strips.numbers[k].item[c]) : 1.0;
                found[c] = above.back(best[c].cells(), ways[c], length.item[c], number, owed, g[c]);
            }
            sums.put(found);
        }
        double found[8];
        found[6] = found[7] = 0;
#pragma unroll
        for (int c = 2; c >= 0; --c)
#pragma unroll
            for (int k = c + 1; k < 4; ++k) {
                const int entry = corner_of(c, k);
                const double number = several ? double(strips.corner_numbers[6 * at + entry]) : 1.0;
                found[entry] = best[k].back(best[c].cells(), ways[c], strips.corner[6 * at + entry], number, g[k], g[c]);
            }
        sums.out = out;
        sums.put({found[0], found[1], found[2], found[3]});
        sums.put({found[4], found[5], found[6], found[7]});
#pragma unroll
        for (int c = 0; c < 4; ++c)
            if (first + c < node.width) path.put(top - first - c, g[c]);
    }
}

// Adjoint of the climb in regions. Sums of column c begin at places[c], group by group.
extern "C" __global__ void __launch_bounds__(128)
    climb_back(const Entry* entries, const Number* numbers, const int* lists, const int* base, const int* starts, const Cells* z, Owed* z_owed,
               const int* path, int lanes, const long long* places, const int* first_group, double* partial) {
    const int index = blockIdx.x * 4 + threadIdx.x / 32, pitch = lanes / each;
    if (index * group >= lanes) return;
    const Mine mine(index, starts);
    const int lane = mine.lane / each;
    z += lane, z_owed += lane, path += mine.lane;
    int last[each], deepest = -1;
#pragma unroll
    for (int e = 0; e < each; ++e) last[e] = mine.source[e] >= 0 ? base[mine.source[e]] : -1, deepest = max(deepest, last[e]);
    deepest = int(__reduce_max_sync(everyone, unsigned(deepest + 1)));
#pragma unroll 1
    for (int place = 0; place < deepest; ++place) {
        int now[each];
#pragma unroll
        for (int e = 0; e < each; ++e) now[e] = place <= last[e] ? path[place * (long long)lanes + e] : -1;
#pragma unroll 1
        while (true) { // columns at this place of the path, in turn
            unsigned least = everyone;
#pragma unroll
            for (int e = 0; e < each; ++e) least = min(least, unsigned(now[e]));
            least = __reduce_min_sync(everyone, least);
            if (least == everyone) break;
            const int c = least, begin = lists[c], end = lists[c + 1];
            Sums sums(partial + places[c] + (index - first_group[c]) * fours(end - begin));
            const Cells here = z[place * (long long)pitch];
            Owed total = z_owed[place * (long long)pitch];
            for (int k = begin; k < end; k += 4) {
                double sum[4] = {};
#pragma unroll
                for (int i = 0; i < 4; ++i) {
                    if (k + i >= end) break;
                    const Entry entry = entries[k + i];
                    const Cells above = z[entry.row * (long long)pitch];
                    const Owed owed = z_owed[entry.row * (long long)pitch];
#pragma unroll
                    for (int e = 0; e < each; ++e)
                        if (now[e] == c && here.item[e].y + entry.length == above.item[e].y) {
                            total.item[e] += double(numbers[k + i]) * owed.item[e];
                            sum[i] += double(here.item[e].s) * owed.item[e];
                        }
                }
                sums.put(sum);
            }
            z_owed[place * (long long)pitch] = total;
#pragma unroll
            for (int e = 0; e < each; ++e)
                if (now[e] == c) now[e] = -1;
        }
    }
}

// Ordered sums over groups, for any number of batches: of an entry's part; for half of the pairs, of groups that begin before
// the last column that meets its strip.
extern "C" __global__ void __launch_bounds__(256)
    join_groups(const Part* parts, const int* part_of, const int* strips, const int* last, int count, const int* to, double* sums, int half) {
    const int k = blockIdx.x * 256 + threadIdx.x;
    if (k >= count || to[k] < 0) return;
    const Part part = parts[part_of[strips[k]]];
    int many = part.groups();
    if (half)
        for (int low = 0; low < many;) {
            const int middle = (low + many) / 2;
            if (part.starts[middle * group] <= last[strips[k]]) low = middle + 1;
            else many = middle;
        }
    const double* const from = part.partial + (k - part.sum);
    double total = sums[to[k]];
#pragma unroll 8
    for (int i = 0; i < many; ++i) total += from[i * (long long)part.sums];
    sums[to[k]] = total;
}

// Ordered sums over groups of the climb: entries of a list, over groups with lanes below it.
extern "C" __global__ void __launch_bounds__(256)
    join_climbs(const double* partial, const int* lists, const int* owners, int count, const long long* places, const int* groups, const int* to,
                double* sums) {
    const int k = blockIdx.x * 256 + threadIdx.x;
    if (k >= count || to[k] < 0) return;
    const int c = owners[k];
    const long long apart = fours(lists[c + 1] - lists[c]);
    const double* from = partial + places[c] + k - lists[c];
    double total = sums[to[k]];
#pragma unroll 8
    for (int i = 0; i < groups[c]; ++i) total += from[i * apart];
    sums[to[k]] = total;
}
