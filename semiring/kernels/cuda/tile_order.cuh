// Order of thread blocks over the tiles of a product.
#pragma once

__device__ constexpr int ceil_div(int a, int b) { return (a + b - 1) / b; }

// The t-th tile: bands of `group` rows of tiles, column by column, so that concurrent reads stay in the L2 cache.
struct Place {
    int i, j;
};
__device__ inline Place place(int t, int rows, int columns, int group) {
    const int band = t / (group * columns), within = t % (group * columns), high = min(group, rows - band * group);
    return {band * group + within % high, within / high};
}
