// Members of Gemm: which part of a split k a block has, and the order in which parts are added.

    struct Share { unsigned tile, part; };
    __device__ static Share share(unsigned unsplit, unsigned split) {
        Share mine = {blockIdx.x, 0};
        if (P::split_k)
            while (mine.tile >= unsplit + split) mine.tile -= split, ++mine.part;
        return mine;
    }
    __device__ static void wait(const unsigned* done, unsigned count) {
        if (threadIdx.x == 0) {
            while (acquire(done) != count);
        }
        __syncthreads();
    }
    __device__ static void publish(unsigned* done, unsigned count) {
        __syncthreads();
        if (threadIdx.x == 0) {
            __threadfence();
            asm volatile("st.release.gpu.u32 [%0], %1;" ::"l"(done), "r"(count) : "memory");
        }
    }
