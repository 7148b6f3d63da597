"""Kernels for a GPU, in CUDA C++, which `tests/emulated.py` runs on a processor."""

from . import Mutant

NETWORK = "tests/test_sparse_emulated.py::test_every_distance_of_a_network_is_scipys[float32-4]"

MUTANTS = [
    Mutant(
        "cuda-front-transposed",
        "semiring/cuda/kernels/fronts.cu",
        "up.at[c] = there ? front[(j + c) * (long long)pitch + k]",
        "up.at[c] = there ? front[(j + c + 1) * (long long)pitch + k]",
        NETWORK,
        "U is transposed a row off.",
    ),
    Mutant(
        "cuda-front-update",
        "semiring/cuda/kernels/fronts.cu",
        "update[i] = front[(w + i / r) * pitch + w + i % r];",
        "update[i] = front[(w + i % r) * pitch + w + i / r];",
        NETWORK,
        "An update is transposed.",
    ),
    Mutant(
        "cuda-front-skips-arcs",
        "semiring/cuda/kernels/fronts.cu",
        "for (int a = t.arcs[s]; a < t.arcs[s + 1]; ++a) {",
        "for (int a = t.arcs[s] + 1; a < t.arcs[s + 1]; ++a) {",
        NETWORK,
        "The first arc of a front is lost.",
    ),
    Mutant(
        "cuda-front-parts",
        "semiring/cuda/kernels/fronts.cu",
        "const int own = (m - part + parts - 1) / parts;",
        "const int own = (m - part) / parts;",
        NETWORK,
        "The last row of a part of a front keeps what was in memory.",
    ),
    Mutant(
        "cuda-climb-level-rest",
        "semiring/cuda/kernels/climb.inl",
        "for (int e = 0; e < each; ++e) x[c].at[e] = T(S::zero());",
        "for (int e = 0; e < each; ++e) x[c].at[e] = T(S::one());",
        NETWORK,
        "Columns beyond a supernode's are taken for a source.",
    ),
    Mutant(
        "cuda-climb-search",
        "semiring/cuda/kernels/climb.inl",
        "(before[middle] <= work ? low : high) = middle;",
        "(before[middle] < work ? low : high) = middle;",
        NETWORK,
        "The first piece of a supernode is looked for in the one before.",
    ),
    Mutant(
        "cuda-climb-edge",
        "semiring/cuda/kernels/climb.inl",
        "if (lane >= range.high || lane + each <= range.low) return;",
        "if (lane >= range.high || lane + each < range.low) return;",
        NETWORK,
        "Lanes just before a range are computed for nothing.",
        equivalent="What such lanes compute is not stored: each store asks for the range again.",
    ),
    Mutant(
        "cuda-level-stage",
        "semiring/cuda/kernels/level.inl",
        "wait_for_all_but<stages - 2>();",
        "wait_for_all_but<stages - 1>();",
        NETWORK,
        "A stage is read before it has arrived.",
    ),
    Mutant(
        "cuda-level-rest",
        "semiring/cuda/kernels/level.inl",
        "for (int k = 0; k < rest; k += 2) both<columns>",
        "for (int k = 0; k + 2 < rest; k += 2) both<columns>",
        NETWORK,
        "The last two rows of a ragged stage are left out.",
    ),
    Mutant(
        "cuda-level-columns",
        "semiring/cuda/kernels/level.inl",
        "if (c < wanted && inside) *y_of[labels[node.first + j + c]] = stored(y[c]);",
        "if (c <= wanted && inside) *y_of[labels[node.first + j + c]] = stored(y[c]);",
        NETWORK,
        "A tile writes a column of the next supernode.",
    ),
    Mutant(
        "cuda-level-warps",
        "semiring/cuda/kernels/level.inl",
        "unsigned char* mine = shared + warp * (stages * sizeof(Ring<most_strips>));",
        "unsigned char* mine = shared + warp * (stages * sizeof(Ring<1>));",
        NETWORK,
        "The rings of two warps overlap.",
    ),
]
