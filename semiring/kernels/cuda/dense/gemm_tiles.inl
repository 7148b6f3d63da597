// Members of Gemm: tiles of A and B from global to shared memory.

    // Origins of the next tiles, uniform in a block, and this thread's byte offsets in them.
    const char *a_base, *b_base;
    unsigned a_offset, a_step, a_last, b_offset, b_step;
    long long ldb;
    int b_second;  // where a word's second lane is: 1 further, or 0 at an odd edge
    Word a_staged[a_async ? 1 : a_rows * a_parts], b_staged[b_async ? 1 : b_count];

    __device__ static int lane() { return threadIdx.x % 32; }
    __device__ static int warp() { return threadIdx.x / 32; }
    __device__ static int a_row(int i) { return 4 * (warp() + warps * i) + lane() / 8; }

    // This thread's reads of B: a fixed word of a row, every `b_stride`-th value of k.
    static constexpr int across = bn / b_words, b_stride = threads / across;
    __device__ static int b_k(int i) { return threadIdx.x / across + i * b_stride; }
    __device__ static int b_word() { return threadIdx.x % across * b_words; }

    // A thread's register tile. A warp has 4 rows × 8 columns of them, so that fragments take few 128-byte reads.
    template <class Index>
    __device__ static void seat(Index thread, int& x, int& y) {
        x = thread % threads_x, y = thread / threads_x;
        if constexpr (threads_x % 8 == 0 && threads_y % 4 == 0) {
            const Index warp = thread / 32, lane = thread % 32;
            x = warp % (threads_x / 8) * 8 + lane % 8;
            y = warp / (threads_x / 8) * 4 + lane / 8;
        }
    }

    // Start loading the tile of `depth` values of k (all bk unless `first`), and advance.
    template <bool first>
    __device__ void fetch(Stage& to, int depth) {
#pragma unroll
        for (int i = 0; i < a_rows; ++i) {
            const T* row = reinterpret_cast<const T*>(a_base + min(a_offset + i * a_step, a_last));
#pragma unroll
            for (int p = 0; p < a_parts; ++p) {
                const int k = 8 * p + lane() % 8;
                const bool inside = !first || k < depth;
                if constexpr (a_async) {
                    if (inside) copy_async<sizeof(T)>(&to.a[k][a_row(i)], row + 8 * p);
                    else to.a[k][a_row(i)] = S::nothing();
                } else {
                    a_staged[i * a_parts + p] = inside ? S::spread(row[8 * p]) : S::nothing();
                }
            }
        }
        a_base += depth * sizeof(T);
#pragma unroll
        for (int i = 0; i < b_count; ++i) {
            const T* from = reinterpret_cast<const T*>(b_base + (b_offset + i * b_step));
            const bool inside = !first || b_k(i) < depth;
            Word* word = &to.b[b_k(i)][b_word()];
            if constexpr (b_async) {
                if (inside) copy_async<b_words * sizeof(Word)>(word, from);
                else {
#pragma unroll
                    for (int j = 0; j < b_words; ++j) word[j] = S::nothing();
                }
            } else {
                b_staged[i] = inside ? S::gather(from, b_second) : S::nothing();
            }
        }
        b_base += depth * (ldb * sizeof(T));
    }

    // Move register-staged values to shared memory.
    __device__ void commit(Stage& to) {
        if constexpr (!a_async) {
            each_entry<a_rows, a_parts>([&](int i, int p) { to.a[8 * p + lane() % 8][a_row(i)] = a_staged[i * a_parts + p]; });
        }
        if constexpr (!b_async) {
#pragma unroll
            for (int i = 0; i < b_count; ++i) to.b[b_k(i)][b_word()] = b_staged[i];
        }
    }

    // Convert this thread's copied values to operands, if stored values are not.
    __device__ static void fix(Stage& s) {
        if constexpr (!S::raw && a_async)
            each_entry<a_rows, a_parts>([&](int i, int p) {
                Word& a = s.a[8 * p + lane() % 8][a_row(i)];
                a = S::fix(a);
            });
        if constexpr (!S::raw && b_async)
#pragma unroll
            for (int i = 0; i < b_count; ++i) {
                auto& b = *reinterpret_cast<Vector<Word, b_words>*>(&s.b[b_k(i)][b_word()]);
                auto v = b;
#pragma unroll
                for (int j = 0; j < b_words; ++j) v.item[j] = S::fix(v.item[j]);
                b = v;
            }
    }

    // Set this thread's read offsets for the tiles of A from row0 and of B from col0 on.
    __device__ void locate(const T* A, long long lda, const T* B, long long ldb_, int m, int n, int row0, int col0) {
        ldb = ldb_;
        a_base = reinterpret_cast<const char*>(A + row0 * lda);
        b_base = reinterpret_cast<const char*>(B);
        a_offset = (a_row(0) * unsigned(lda) + lane() % 8) * unsigned(sizeof(T));
        a_step = (a_row(1) - a_row(0)) * unsigned(lda) * unsigned(sizeof(T));
        // The tile's last row inside, relative to row0: only there is every row less than 4 GiB away.
        a_last = (min(m - 1 - row0, bm - 1) * unsigned(lda) + lane() % 8) * unsigned(sizeof(T));
        // Beyond the edge: the last column inside, or the last 16-byte group that begins inside.
        constexpr int group = b_words > 1 ? b_words * lanes : 1;
        const int col = min(col0 + b_word() * lanes, (n - 1) / group * group);
        b_offset = (b_k(0) * unsigned(ldb) + col) * unsigned(sizeof(T));
        b_step = b_stride * unsigned(ldb) * unsigned(sizeof(T));
        b_second = col + 1 < n ? 1 : 0;
    }
