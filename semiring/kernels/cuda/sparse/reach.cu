// Whether vertices reach others, by the labels of semiring/kernels/cpu/sparse/reach.py alone; a thread a pair. Arithmetic
// without branches, so that both labels of a pair, which lie anywhere, are under way at a time.

struct Label {
    unsigned first, low, height, depth;
    unsigned long long below, above, to, of;
};

// Answers: 0, 1, or 2 where a search must tell.
extern "C" __global__ __launch_bounds__(256) void decide(
    const Label* labels, const unsigned* sources, const unsigned* targets, unsigned char* answers, long long count) {
    const long long k = blockIdx.x * 256LL + threadIdx.x;
    if (k >= count) return;
    const unsigned u = sources[k], v = targets[k];
    const Label U = labels[u], V = labels[v];
    const bool yes = (v <= u) & ((v >= U.first) | ((U.to & V.of) != 0));
    bool no = (v > u) | (v < U.low) | ((u != v) & ((U.height <= V.height) | (U.depth >= V.depth)));
    no |= ((V.below & ~U.below) | (U.above & ~V.above) | (V.to & ~U.to) | (U.of & ~V.of)) != 0;
    answers[k] = yes ? 1 : no ? 0 : 2;
}
