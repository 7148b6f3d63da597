// Predecessors of all pairs from a matrix and its closure, by the rule of docs/routes.md, for a batch of n × n matrices.
//
// A warp computes entries P[i,j] of one target j and many sources i, contiguous in T = Dᵀ and Pᵀ. Tight edges, A[k,j] =
// D[k,j], are stored as bits: of a vertex' edges in, of those in with weight other than `one`, of those out. Each lane has
// the sources lane, lane + 32, … of its group.
//
// The prelude declares Algebra and Step, whose `mul` is right if no edge beats `one`; and: `least`, whether ⊕ selects the
// lesser; `rounds`, whether ⊗ rounds; `lengths`, whether ⊗ adds; `ahead`, edges per warp prefetched together; `resident`, its
// blocks per multiprocessor.
#include "algebra.cuh"
#include "rule.inl"
#include "tight.inl"
#include "edges_in.inl"
#include "nearest.inl"
#include "all_pairs.inl"
#include "edges_out.inl"
#include "searches.inl"

// The least open pair, i · n + j, over all matrices.
extern "C" __global__ void __launch_bounds__(threads)
    open_pair(const int* P, long long matrix, long long entries, unsigned long long* least_pair) {
    const long long step = gridDim.x * (long long)threads;
    for (long long index = blockIdx.x * (long long)threads + threadIdx.x; index < entries; index += step)
        if (P[index] == OPEN) atomicMin(least_pair, (unsigned long long)(index % matrix));
}
