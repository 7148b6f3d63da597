// Members of Gemm: C ← c or C ← C ⊕ c, 16 bytes at a time where C is aligned.

    // A chunk of a row as in memory: at most 16 bytes, in words if those have several lanes.
    using Stored = Vector<typename Choice<(lanes > 1), Word, T>::type, chunk_n>;
    template <bool accumulate>
    __device__ static void merge(Stored& v, const Word* c) {
#pragma unroll
        for (int j = 0; j < chunk_n; ++j) {
            if constexpr (lanes > 1) v.item[j] = accumulate ? S::merge(v.item[j], c[j]) : S::stored(c[j]);
            else v.item[j] = T(accumulate ? S::add(W(v.item[j]), S::lane(c[j], 0)) : S::lane(c[j], 0));
        }
    }
    __device__ static bool aligned_chunks(const T* C) { return reinterpret_cast<unsigned long long>(C) % sizeof(Stored) == 0; }

    // Store the first `inside` columns of one chunk of C.
    template <bool accumulate>
    __device__ static void store(T* C, const Word* c, int inside) {
        if (inside >= chunk_n * lanes && aligned_chunks(C)) {
            Stored v;
            if (accumulate) v = *reinterpret_cast<const Stored*>(C);
            merge<accumulate>(v, c);
            *reinterpret_cast<Stored*>(C) = v;
        } else {
#pragma unroll
            for (int j = 0; j < chunk_n * lanes; ++j) {
                const W sum = S::lane(c[j / lanes], j % lanes);
                if (j < inside) C[j] = T(accumulate ? S::add(W(C[j]), sum) : sum);
            }
        }
    }

    // Store a whole tile at C. Inside and 16-byte aligned, many loads are in flight at once.
    __device__ static void put(T* C, long long ldc, const Word (&c)[tm][tn], int x, int y, int rows, int columns, bool accumulate) {
        constexpr bool spare = 65536 / (threads * P::blocks) > 2 * tm * tn;  // registers for the reads of all of C
        constexpr int batch = smaller(tm, lanes > 1 && spare ? 8 : 4);
        const auto place = [&](int i, int q) {
            return C + (i / chunk_m * (bm / chunks_m) + y * chunk_m + i % chunk_m) * ldc + (q * (bn / chunks_n) + x * chunk_n) * lanes;
        };
        const bool aligned = aligned_chunks(C) && ldc * sizeof(T) % sizeof(Stored) == 0;
        if (accumulate && aligned && rows >= bm && columns >= bn * lanes) {
#pragma unroll
            for (int i0 = 0; i0 < tm; i0 += batch) {
                Stored v[batch][chunks_n];
#pragma unroll
                for (int i = 0; i < batch; ++i)
#pragma unroll
                    for (int q = 0; q < chunks_n; ++q) v[i][q] = *reinterpret_cast<const Stored*>(place(i0 + i, q));
#pragma unroll
                for (int i = 0; i < batch; ++i)
#pragma unroll
                    for (int q = 0; q < chunks_n; ++q) {
                        merge<true>(v[i][q], &c[i0 + i][q * chunk_n]);
                        *reinterpret_cast<Stored*>(place(i0 + i, q)) = v[i][q];
                    }
            }
            return;
        }
#pragma unroll
        for (int i = 0; i < tm; ++i) {
            if (i / chunk_m * (bm / chunks_m) + y * chunk_m + i % chunk_m >= rows) continue;
#pragma unroll
            for (int q = 0; q < chunks_n; ++q) {
                const int inside = columns - (q * (bn / chunks_n) + x * chunk_n) * lanes;
                if (inside <= 0) continue;
                if (accumulate) store<true>(place(i, q), &c[i][q * chunk_n], inside);
                else store<false>(place(i, q), &c[i][q * chunk_n], inside);
            }
        }
    }
