// Hub labels from the closed panels of a sparse elimination, parents first, and distances from labels; see
// semiring/sparse/hubs.py.
//
// A supernode has columns C, rows R, and P above it on its path to the root, R ⊂ P:
//
//   out_C,P = U A*_R,P      in_C,P = A*_P,R L      A*_C,C = D ⊕ out_C,R L
//
// Of two columns of a path, the lower one's labels hold the distances to and from the higher one.
#include "sparse.inl"

constexpr int threads = 128, line = 64 / sizeof(T); // block size; label alignment in entries

// A vertex' label offset in lines, its number in the tree, the bits of the numbers above, its columns on the path.
struct alignas(16) Place { unsigned line, number, above, length; };

__device__ inline long long begin(const Place& place) { return place.line * (long long)line; }

// Labels of supernodes[blockIdx.x], part blockIdx.y. Step 1: to and from all columns above; step 2, after that: among the
// supernode's own columns. `stages` has a bit for each.
extern "C" __global__ __launch_bounds__(threads) void label_supernodes(
    const int* supernodes, const Node* nodes, const int* parent, const int* slots, const int* rows, const int* labels, const Place* places,
    const T* lower, const T* upper, T* out, T* into, int stages) {
    const int s = supernodes[blockIdx.x], part = blockIdx.y * threads + threadIdx.x, parts = gridDim.y * threads;
    const Node node = nodes[s];
    const int w = node.width, b = node.base, r = even(node.rows), high = w + r;
    const Quad *D = reinterpret_cast<const Quad*>(lower) + node.panel, *L = D + w, *U = reinterpret_cast<const Quad*>(upper) + node.panel + w;
    slots += node.begin, rows += node.begin, labels += node.first;
    if (stages & 1 && b > 0) {
        for (Walk e(part, parts, b); e.row < (w + 3) / 4; ++e) { // four columns, and place p of the path
            const int p = e.column;
            long long lowest = -1; // start of the labels of the column at that place
            Word to[4], from[4];
#pragma unroll
            for (int c = 0; c < 4; ++c) to[c] = from[c] = S::nothing();
            for (int k = 0; k < r; k += 2) {
                Word x[2], y[2]; // A*[a, p] and A*[p, a] of two rows a
#pragma unroll
                for (int i = 0; i < 2; ++i) {
                    const Place a = places[rows[k + i]];
                    const bool above = p >= int(a.length);
                    if (above && lowest < 0) {
                        int t = parent[s];
                        while (nodes[t].base > p) t = parent[t];
                        lowest = begin(places[labels[nodes[t].first - node.first + p - nodes[t].base]]);
                    }
                    const long long position = above ? lowest + slots[k + i] : begin(a) + p;
                    x[i] = S::spread((above ? into : out)[position]), y[i] = S::spread((above ? out : into)[position]);
                }
                const Quad u[2] = {U[e.row * (long long)high + k], U[e.row * (long long)high + k + 1]};
                const Quad l[2] = {L[e.row * (long long)high + k], L[e.row * (long long)high + k + 1]};
#pragma unroll
                for (int c = 0; c < 4; ++c) {
                    S::step(to[c], S::spread(u[0].item[c]), x[0], S::spread(u[1].item[c]), x[1]);
                    S::step(from[c], y[0], S::spread(l[0].item[c]), y[1], S::spread(l[1].item[c]));
                }
            }
#pragma unroll
            for (int c = 0; c < 4; ++c) {
                if (4 * e.row + c >= w) break;
                const long long position = begin(places[labels[4 * e.row + c]]) + p;
                out[position] = T(S::lane(to[c], 0)), into[position] = T(S::lane(from[c], 0));
            }
        }
    }
    if (stages == 3) __syncthreads();
    if (!(stages & 2)) return;
    for (Walk e(part, parts, w); e.row < w; ++e) {
        const long long strip = e.column / 4 * (long long)high, mine = begin(places[labels[e.row]]);
        const int c = e.column % 4;
        Word sum = S::begin(S::spread(D[strip + e.row].item[c]));
        for (int k = 0; k < r; k += 2)
            S::step(sum, S::spread(out[mine + slots[k]]), S::spread(L[strip + k].item[c]), S::spread(out[mine + slots[k + 1]]),
                    S::spread(L[strip + k + 1].item[c]));
        const T value = T(S::lane(sum, 0));
        out[mine + b + e.column] = value, into[begin(places[labels[e.column]]) + b + e.row] = value;
    }
    for (Walk e(part, parts, line); e.row < w; ++e) { // pad to a line
        const int k = (b + w) / line * line + e.column;
        const long long position = begin(places[labels[e.row]]) + k;
        if (k >= b + w && (b + w) % line) out[position] = into[position] = T(S::zero());
    }
}

// Of the topmost supernode of a number: number of columns above it, and two ranges of the path that contain its rows.
struct alignas(32) Top {
    int end, low, low_end, high, high_end;
    __device__ int size() const { return low_end - low + high_end - high; }
};

// A pair's common columns end at the lowest supernode on both paths. Columns below it on one side are connected to the rest
// only through its rows, so that their ranges suffice. This is the end for one vertex of the pair.
__device__ inline Top side(const Place& vertex, unsigned common, const Top* tops) {
    if ((vertex.number & -vertex.number) == common) return Top{int(vertex.length), 0, int(vertex.length), 0, 0};  // its own supernode
    const unsigned k = 0x80000000u >> __clz(int(vertex.above & (common - 1)));
    return tops[(vertex.number & -2 * k) | k];
}

__device__ inline Top in_common(const Place& u, const Place& v, const Top* tops) {
    const int shorter = smaller(u.length, v.length);
    if (u.number == v.number) return Top{shorter, 0, shorter, 0, 0};
    const unsigned shared = u.above & v.above & -(0x80000000u >> __clz(int(u.number ^ v.number))), common = shared & -shared;
    const Top x = side(u, common, tops), y = side(v, common, tops);
    return x.end < y.end || (x.end == y.end && x.size() < y.size()) ? x : y;
}

// found[q] ← A*[sources[q], targets[q]], 2^bits threads per pair; `outside` ← 1 if a vertex is not in 0 … n − 1.
extern "C" __global__ __launch_bounds__(256, 8) void label_pairs(
    const void* sources, const void* targets, int bytes, long long count, const Place* places, const Top* tops, int n, const T* out, const T* into,
    T* found, int* outside, int bits) {
    constexpr int each = 16 / sizeof(T);
    using Chunk = Vector<T, each>;
    const long long q = (blockIdx.x * 256LL + threadIdx.x) >> bits, known = q < count ? q : count - 1;
    const int group = 1 << bits, thread = threadIdx.x & (group - 1);
    long long u = bytes == 8 ? static_cast<const long long*>(sources)[known] : static_cast<const int*>(sources)[known];
    long long v = bytes == 8 ? static_cast<const long long*>(targets)[known] : static_cast<const int*>(targets)[known];
    if (u < 0 || u >= n || v < 0 || v >= n) *outside = 1, u = v = 0;
    const Place a = places[u], b = places[v];
    const Top common = in_common(a, b, tops);
    const Chunk *x = reinterpret_cast<const Chunk*>(out + begin(a)), *y = reinterpret_cast<const Chunk*>(into + begin(b));
    const Word none = S::spread(T(S::zero()));
    // Entries around both ranges, before the end, are common, too: reading them is harmless.
    const int begins = common.low / each, first = (common.low_end + each - 1) / each - begins, again = max(common.high / each, begins + first);
    const int chunks = first + max(0, (common.high_end + each - 1) / each - again), gap = again - first;
    Word sum = S::nothing();
#pragma unroll 2
    for (int t = thread; t < chunks; t += group) {
        const int i = t + (t < first ? begins : gap);
        const Chunk left = x[i], right = y[i];
#pragma unroll
        for (int e = 0; e < each; e += 2)
            S::step(sum, i * each + e < common.end ? S::spread(left.item[e]) : none, S::spread(right.item[e]),
                    i * each + e + 1 < common.end ? S::spread(left.item[e + 1]) : none, S::spread(right.item[e + 1]));
    }
    W total = S::lane(sum, 0);
    for (int by = group / 2; by; by /= 2) total = S::add(total, __shfl_xor_sync(0xffffffffu, total, by));
    if (thread == 0 && q < count) found[q] = T(total);
}
