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
#include "common.cuh"
#include "flows_lanes.inl"
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
            each_entry<4, each>([&](int c, int e) { other |= best[c].y[e] != before[c].y[e] || best[c].s[e] != before[c].s[e]; });
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
        each_entry<4, each>([&](int c, int e) { g[c].item[e] += waiting[warp][c][thread].item[e]; });
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

#include "flows_climb.inl"

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
