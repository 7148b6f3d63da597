// Predecessors of all pairs from a matrix and its closure, by the rule of docs/routes.md, for a batch of n × n matrices.
//
// Entries P[i,j] of one target j and many sources i are found by a warp: T = Dᵀ and Pᵀ have them contiguous. Which
// edges are tight, A[k,j] = D[k,j], is stored as bits: of a vertex's edges in, of those in that do not weigh `one`, of
// those out. Each lane has the sources lane, lane + 32, … of its group.
//
// The prelude declares Algebra and Step, whose `mul` is right where no edge beats `one`; and: `least`, whether ⊕ selects
// the lesser of two; `rounds`, whether ⊗ rounds; `lengths`, whether ⊗ adds; `ahead`, how many edges a warp fetches
// together; `resident`, how many of its blocks a multiprocessor should hold.
#include "algebra.cuh"
#include "rule.inl"
#include "tight.inl"
#include "edges_in.inl"
#include "nearest.inl"
#include "all_pairs.inl"
#include "edges_out.inl"
#include "searches.inl"

// The first pair that is still open, i · n + j, of all matrices: the least.
extern "C" __global__ void __launch_bounds__(threads)
    open_pair(const int* P, long long matrix, long long entries, unsigned long long* least_pair) {
    const long long step = gridDim.x * (long long)threads;
    for (long long index = blockIdx.x * (long long)threads + threadIdx.x; index < entries; index += step)
        if (P[index] == OPEN) atomicMin(least_pair, (unsigned long long)(index % matrix));
}
