// Climb of all lanes along their root paths, and its adjoint: in regions column by column, above them level by level.

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
            each_entry<4, each>([&](int c, int e) { any |= owed.item[e] != 0 && best[c].y[e] + length.item[c] == above.y[e]; });
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
