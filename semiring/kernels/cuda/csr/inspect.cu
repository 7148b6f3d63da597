// Check of CSR indices: found[0] ← number of entries, found[1] ← whether starts are not 0 or descend, found[2] ← largest
// index of these entries, as unsigned numbers; found is initially 0.
extern "C" __global__ __launch_bounds__(256) void inspect(
    const long long* starts, const Index* indices, long long rows, long long held, unsigned long long* found) {
    const long long first = blockIdx.x * 256LL + threadIdx.x, apart = gridDim.x * 256LL, used = min(starts[rows], held);
    bool wrong = starts[0] != 0;
    for (long long i = first; i < rows; i += apart) wrong |= starts[i + 1] < starts[i];
    Index largest = 0;
    for (long long p = first; p < used; p += apart) largest = max(largest, indices[p]);
    __shared__ unsigned long long most;
    if (threadIdx.x == 0) most = 0;
    __syncthreads();
    if (largest) atomicMax(&most, (unsigned long long)largest);
    if (wrong) found[1] = 1;
    __syncthreads();
    if (threadIdx.x == 0) {
        atomicMax(found + 2, most);
        if (blockIdx.x == 0) found[0] = starts[rows];
    }
}
