// CUDA's cooperative groups: the block, tiles of its warps; of the grid the numbers alone, for it has no barrier here.
#pragma once
#define MEMBER __attribute__((always_inline)) inline
namespace cooperative_groups {
struct thread_group {
    unsigned width;  // of a tile; 0 is the block
    MEMBER unsigned num_threads() const { return width ? width : blockDim.x * blockDim.y * blockDim.z; }
    MEMBER unsigned size() const { return num_threads(); }
    MEMBER unsigned thread_rank() const { return emulated::self % num_threads(); }
    MEMBER unsigned first() const { return emulated::first_of(width); }
    MEMBER unsigned lanes() const { return ~0u >> (32 - width) << first(); }
    MEMBER void sync() const {
        if (width) __syncwarp(lanes());
        else __syncthreads();
    }
};
struct thread_block : thread_group {
    MEMBER uint3 thread_index() const { return threadIdx; }
    MEMBER uint3 group_index() const { return blockIdx; }
    MEMBER dim3 group_dim() const { return blockDim; }
    MEMBER dim3 dim_threads() const { return blockDim; }
};
template <unsigned n, class Parent = void> struct thread_block_tile : thread_group {
    static_assert(0 < n && n <= 32 && (n & n - 1) == 0, "a tile has 1, 2, 4, 8, 16 or 32 threads");
    MEMBER unsigned meta_group_rank() const { return emulated::self / n; }
    MEMBER unsigned meta_group_size() const { return (blockDim.x * blockDim.y * blockDim.z + n - 1) / n; }
    template <class V> MEMBER V shfl(V own, int from) const { return __shfl_sync(lanes(), own, from, n); }
    template <class V> MEMBER V shfl_up(V own, int by) const { return __shfl_up_sync(lanes(), own, by, n); }
    template <class V> MEMBER V shfl_down(V own, int by) const { return __shfl_down_sync(lanes(), own, by, n); }
    template <class V> MEMBER V shfl_xor(V own, int by) const { return __shfl_xor_sync(lanes(), own, by, n); }
    template <class V> MEMBER unsigned match_any(V own) const { return __match_any_sync(lanes(), own) >> first(); }
    MEMBER unsigned ballot(int own) const { return __ballot_sync(lanes(), own) >> first(); }
    MEMBER int any(int own) const { return __any_sync(lanes(), own); }
    MEMBER int all(int own) const { return __all_sync(lanes(), own); }
};
struct grid_group {
    MEMBER unsigned long long num_threads() const { return size(); }
    MEMBER unsigned long long size() const { return 1ull * gridDim.x * gridDim.y * gridDim.z * thread_group{}.size(); }
    MEMBER unsigned long long thread_rank() const {
        return ((1ull * blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x) * thread_group{}.size() + emulated::self;
    }
};
MEMBER thread_block this_thread_block() { return {}; }
MEMBER grid_group this_grid() { return {}; }
template <unsigned n, class P> MEMBER thread_block_tile<n, P> tiled_partition(const P&) { return {{n}}; }
MEMBER thread_group tiled_partition(const thread_group&, unsigned width) { return {width}; }
MEMBER void sync(const thread_group& group) { group.sync(); }
}  // namespace cooperative_groups
#undef MEMBER
