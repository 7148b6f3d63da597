// Lists of entries of F that are distances: flags, prefix sums, lists. `order`[k] − order[0] is the number of kept entries of
// a list before number k.

__device__ inline bool any_kept(const int4& four, const unsigned char* kept) {
    return (four.x >= 0 && kept[four.x]) || (four.y >= 0 && kept[four.y]) || (four.z >= 0 && kept[four.z]) || (four.w >= 0 && kept[four.w]);
}

// flags[k] ← whether any of four entries is a distance; −1 is none.
extern "C" __global__ void __launch_bounds__(256) flag_items(const int4* entries, int count, const unsigned char* kept, int* flags) {
    const int k = blockIdx.x * 256 + threadIdx.x;
    if (k < count) flags[k] = any_kept(entries[k], kept);
}

// flags[k] ← whether an entry is a distance; −1 is always kept.
extern "C" __global__ void __launch_bounds__(256)
    flag_entries(const int* entries, int count, int apart, const unsigned char* kept, int* flags) {
    const int k = blockIdx.x * 256 + threadIdx.x;
    if (k >= count) return;
    const int entry = entries[k * (long long)apart];
    flags[k] = entry < 0 || kept[entry];
}

// begin[i] ← start of compacted list i, whose uncompacted start is starts[i].
extern "C" __global__ void __launch_bounds__(256) fill_begins(const int* starts, int count, const int* order, int* begin) {
    const int i = blockIdx.x * 256 + threadIdx.x;
    if (i < count) begin[i] = order[starts[i]] - order[0];
}

// ends[k] ← end of the sums of strip k, after `before`: 8 per strip, 4 per item.
extern "C" __global__ void __launch_bounds__(256) fill_sums(const int* lists, int strips, int before, int* ends) {
    const int k = blockIdx.x * 256 + threadIdx.x;
    if (k < strips) ends[k] = before + 8 * (k + 1) + 4 * lists[k + 1];
}

// Length and count of an entry, if it is a distance.
struct Values {
    const unsigned char* kept;
    const double *lengths, *numbers;
    __device__ bool there(int entry) const { return entry >= 0 && kept[entry]; }
    __device__ Length length(int entry) const { return there(entry) ? Length(lengths[entry]) : Length(INFINITY); }
    __device__ Number number(int entry) const { return there(entry) ? Number(numbers[entry]) : Number(1); }
};

// Items of strips: rows, lengths and counts; flags of strips with entries of several walks; position in F and owner of each
// sum, numbered from `first`; units met.
extern "C" __global__ void __launch_bounds__(256)
    fill_items(const int4* entries, const int* rows, const int* strips, int count, const int* order, const unsigned char* kept,
               const double* lengths, const double* numbers, int* out_rows, Quad* out_lengths, Quad* out_numbers, int* several, int* places,
               int* owners, int first, const int* units, int* referenced) {
    const int k = blockIdx.x * 256 + threadIdx.x;
    if (k >= count || order[k + 1] == order[k]) return;
    const int at = order[k] - order[0], strip = strips[k];
    const Values values{kept, lengths, numbers};
    const int4 given = entries[k];
    const int four[4] = {given.x, given.y, given.z, given.w};
    out_rows[at] = rows[k];
    bool many = false;
#pragma unroll
    for (int c = 0; c < 4; ++c) {
        const Number number = values.number(four[c]);
        many |= number != 1;
        out_lengths[at].item[c] = values.length(four[c]), out_numbers[at].item[c] = number;
        const long long place = 8 * (strip + 1ll) + 4ll * at + c;
        places[place] = values.there(four[c]) ? four[c] : -1, owners[place] = first + strip;
    }
    if (many) several[strip] = 1;
    if (units && units[k] >= 0) referenced[units[k]] = 1;
}

// Strips: starts of their items, and the entries among their columns.
extern "C" __global__ void __launch_bounds__(256)
    fill_strips(const int* corner, const int* starts, int count, const int* order, const unsigned char* kept, const double* lengths,
                const double* numbers, Length* out_lengths, Number* out_numbers, int* lists, int* several, int* places, int* owners, int first) {
    const int strip = blockIdx.x * 256 + threadIdx.x;
    if (strip > count) return;
    const int begin = lists[strip] = order[starts[strip]] - order[0];
    if (strip == count) return;
    const Values values{kept, lengths, numbers};
    bool many = false;
    for (int e = 0; e < 8; ++e) {
        const int entry = e < 6 ? corner[6 * strip + e] : -1;
        const long long place = 8ll * strip + 4ll * begin + e;
        places[place] = values.there(entry) ? entry : -1, owners[place] = first + strip;
        if (e >= 6) continue;
        const Number number = values.number(entry);
        many |= number != 1;
        out_lengths[6 * strip + e] = values.length(entry), out_numbers[6 * strip + e] = number;
    }
    if (many) several[strip] = 1;
}

// Entries of the climb, column by column.
extern "C" __global__ void __launch_bounds__(256)
    fill_climb(const int* entries, const int* slots, const int* columns, int count, const int* order, const unsigned char* kept,
               const double* lengths, const double* numbers, Entry* out, Number* out_numbers, int* places, int* owners) {
    const int k = blockIdx.x * 256 + threadIdx.x;
    if (k >= count || order[k + 1] == order[k]) return;
    const int at = order[k] - order[0], entry = entries[k];
    out[at] = {Length(lengths[entry]), slots[k]}, out_numbers[at] = Number(numbers[entry]);
    places[at] = entry, owners[at] = columns[k];
}

// A dependency whose entry may be a distance; entry −1: of a part below. Its item and column there, its row and kind; its
// part, its number among dependencies of parts below, and its strip.
struct alignas(16) Owing { int entry, item, column, row, what, part, owed, strip; };

extern "C" __global__ void __launch_bounds__(256)
    fill_debts(const Owing* owing, int count, const int* order, const int* items_order, const int* part_items, const double* lengths,
               const double* numbers, Debt* out, Length* out_lengths, Number* out_numbers) {
    const int k = blockIdx.x * 256 + threadIdx.x;
    if (k >= count || order[k + 1] == order[k]) return;
    const int at = order[k] - order[0];
    const Owing own = owing[k];
    const int low = part_items[own.part];
    if (own.entry < 0) {
        out[at] = {part_items[own.part + 1] - low + own.owed, own.row, own.what, -1};
        out_lengths[at] = 0, out_numbers[at] = 0;
        return;
    }
    const int item = items_order[own.item] - items_order[0];
    out[at] = {item - low, own.row, own.what, 8 * (own.strip + 1) + 4 * item + own.column};
    out_lengths[at] = Length(lengths[own.entry]), out_numbers[at] = Number(numbers[own.entry]);
}

// Units: next one above, first column, its place, strip, number of columns, and stack place.
extern "C" __global__ void __launch_bounds__(256)
    fill_units(const int* given, int count, const int* lists, const int* several, const int* referenced, Unit* units) {
    const int k = blockIdx.x * 256 + threadIdx.x;
    if (k >= count) return;
    const int* const own = given + 6ll * k;
    const int strip = own[3], begin = lists[strip], many = several[strip];
    units[k] = {begin, own[0], own[1], own[2], strip, short(lists[strip + 1] - begin), short(referenced[k] ? own[5] : -1), short(own[4]), short(many), 0};
}
