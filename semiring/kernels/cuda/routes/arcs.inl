// Arcs, and candidates for tight ones.

// An arc, loaded at once.
struct alignas(2 * sizeof(Index) + sizeof(T) <= 8 ? 8 : 16) Arc {
    Index tail, head;
    T weight;
};

// An entry that nothing beats.
template <class V> __device__ V best_of_all() { return least ? V(Limits<V>::low) : V(Limits<V>::high); }
template <> __device__ inline float best_of_all() { return least ? -INFINITY : INFINITY; }
template <> __device__ inline double best_of_all() { return least ? -INFINITY : INFINITY; }

// The worst sum equal to the distance `goal`.
__device__ inline W worst_of(W goal, W slack, W floor) {
    return goal == Algebra::zero() ? best_of_all<W>() : limit(goal, larger(goal, floor), slack);
}
