"""Closures after entries change: what may lead over an arc, and its repair."""

from . import Mutant

HOST, DEVICE = "semiring/kernels/cpu/routes/changed.py", "semiring/kernels/cuda/routes/changed.cu"
CHANGES = "semiring/dense/changes.py"
SEQUENCES = "tests/test_updates.py::test_any_sequence_equals_a_closure_by_loops"
ON_A_GPU = "tests/test_updates.py::test_on_a_gpu_as_on_the_processor"

MUTANTS = [
    Mutant(
        "updates-closure-of-the-few-forgotten",
        HOST,
        "row(kind, m, found.ctypes.data + r * m * size, reached[t], K.ctypes.data + t * m * size)",
        "found[r, t] = reached[t]",
        SEQUENCES,
        "After a best walk has left the entries that stay it takes one edge at most.",
    ),
    Mutant(
        "updates-from-rows-that-do-not-stay",
        HOST,
        "kept(kind, D, k, times(kind, D[k, u], w), v, slack, floor, chosen, d, at)",
        "at[:] = at",
        SEQUENCES,
        "An entry is computed anew from one that may itself lead over the arc.",
    ),
    Mutant(
        "updates-other-arcs-as-they-were",
        CHANGES,
        "put(part, {ends: x for ends, x in zip(at, changed.values(), strict=True) if min(ends) >= 0})",
        "put(part, {})",
        SEQUENCES,
        "The arc that gets worse is used with its weight of before.",
    ),
    Mutant(
        "updates-gpu-diagonal",
        DEVICE,
        "return i != j && tight(Algebra::mul(a, at(v, j)), i, j);",
        "return tight(Algebra::mul(a, at(v, j)), i, j);",
        ON_A_GPU,
        "The empty walk leads over an arc.",
    ),
    Mutant(
        "updates-gpu-kept",
        DEVICE,
        "arc.leads(a, i, j) ? T(Algebra::zero()) : D[(long long)i * n + j]",
        "D[(long long)i * n + j]",
        ON_A_GPU,
        "On a GPU an entry is computed anew from one that may itself lead over the arc.",
    ),
    Mutant(
        "updates-gpu-cycle",
        DEVICE,
        "if (i == 0 && threadIdx.x == 0) *improved = -1;",
        "if (i == 0 && threadIdx.x == 0) *improved = 0;",
        "tests/test_updates.py::test_on_a_gpu_a_cycle_is_refused",
        "An edge that closes a cycle better than `one` on a GPU is no cycle.",
    ),
]
