// Hopper's TMA, shared-memory barriers and wgmma, as used by products.
#pragma once

struct alignas(64) TensorMap {
    unsigned long long opaque[16];
};

__device__ inline unsigned shared_address(const void* p) { return unsigned(__cvta_generic_to_shared(p)); }

// Shared-memory barriers; a phase ends once all arrivals and bytes have come.
__device__ inline void init(unsigned barrier, int arrivals) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals));
}
__device__ inline void expect(unsigned barrier, int bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}
__device__ inline void arrive(unsigned barrier, int rank) {
    asm volatile(
        "{\n.reg .b32 remote;\n"
        "mapa.shared::cluster.u32 remote, %0, %1;\n"
        "mbarrier.arrive.shared::cluster.b64 _, [remote];\n}" ::"r"(barrier), "r"(rank) : "memory");
}
__device__ inline void wait(unsigned barrier, unsigned phase) {
    asm volatile(
        "{\n.reg .pred done;\n"
        "again:\n"
        "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
        "@!done bra again;\n}" ::"r"(barrier), "r"(phase) : "memory");
}
__device__ inline void cluster_barrier() {
    asm volatile("barrier.cluster.arrive;\nbarrier.cluster.wait;" ::: "memory");
}

// Load a box of 128 bytes × n rows at byte x, row y of a matrix; outside reads as zero.
__device__ inline void fetch(unsigned to, const TensorMap& from, int x, int y, unsigned barrier) {
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(to),
        "l"(&from), "r"(x), "r"(y), "r"(barrier) : "memory");
}
// The same, multicast to all `cluster` blocks.
template <int cluster>
__device__ inline void fetch_for_all(unsigned to, const TensorMap& from, int x, int y, unsigned barrier) {
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster "
        "[%0], [%1, {%2, %3}], [%4], %5;" ::"r"(to),
        "l"(&from), "r"(x), "r"(y), "r"(barrier), "h"((unsigned short)((1 << cluster) - 1)) : "memory");
}

// Rows of 128 bytes with 128-byte swizzle, 1024 bytes between groups of eight rows.
using Descriptor = unsigned long long;
__device__ inline Descriptor descriptor(unsigned address) {
    return Descriptor((address & 0x3ffff) >> 4) | Descriptor(1) << 16 | Descriptor(1024 >> 4) << 32 | Descriptor(1) << 62;
}

__device__ inline void multiply_begin() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ inline void multiply_end() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int pending>
__device__ inline void multiply_wait() {
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(pending) : "memory");
}

// Operands of wgmma, ten at a time: the names %t0 … %t9, and the accumulators c[t0] … c[t9], "+r" or "+f".
#define TEN_NAMES(t) "%" #t "0, %" #t "1, %" #t "2, %" #t "3, %" #t "4, %" #t "5, %" #t "6, %" #t "7, %" #t "8, %" #t "9, "
#define TEN(kind, t) \
    kind(c[t##0]), kind(c[t##1]), kind(c[t##2]), kind(c[t##3]), kind(c[t##4]), kind(c[t##5]), kind(c[t##6]), \
        kind(c[t##7]), kind(c[t##8]), kind(c[t##9])

// Compiler barrier for c.
template <int n>
__device__ inline void hold(int (&c)[n]) {
#pragma unroll
    for (int i = 0; i < n; ++i) asm volatile("" : "+r"(c[i])::"memory");
}
template <int n>
__device__ inline void hold(float (&c)[n]) {
#pragma unroll
    for (int i = 0; i < n; ++i) asm volatile("" : "+f"(c[i])::"memory");
}

// Next pipeline stage, and its phase.
template <int stages>
struct PipelineState {
    int stage = 0;
    unsigned phase = 0;
    __device__ void advance() {
        if (++stage == stages) stage = 0, phase ^= 1;
    }
};
