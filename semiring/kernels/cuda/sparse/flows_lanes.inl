// Lengths, path counts and dependencies of a thread's lanes, and the units, strips and parts of the tree they walk.

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
    each_entry<4, each>([&](int c, int e) {
        const Number s = c < width ? best[c].s[e] : Number(1);
        g[c].item[e] = s > 0 ? g[c].item[e] * inverse(s) : 0;
    });
}

// Count the sources that do not reach each of four columns; update the farthest length and the most walks.
__device__ inline void survey(const Best (&best)[4], int width, Mine& mine, const int* members, int* missing) {
    bool all = true;
    each_entry<4, each>([&](int c, int e) {
        if (c >= width) return;
        const bool reached = best[c].y[e] < Length(INFINITY);
        mine.farthest = max(mine.farthest, reached ? best[c].y[e] : Length(0)), mine.most = max(mine.most, best[c].s[e]);
        all &= reached;
    });
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
